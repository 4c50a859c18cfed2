/* instructions_seen.c - tells which instructions of a folder are not those of its last run (P8). It is a notice: nothing is refused by it.
 *
 * Called by begin.c when a run of an agent is settled, on the thread of its caller. Owns instructions.json in the folder of the stores, which no tool of
 * an agent reaches: {"folders": {FOLDER: {"files": {PATH: DIGEST}, "seen_s"}}}. Several processes may write it: the last one wins, and the others' folders
 * are then told once more, or once less. */
#define _XOPEN_SOURCE 700       /* S_IRWXU */
#include "app/settings.h"
#include "effect/reach.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

enum {
    FOLDERS_MAX = 500,          /* that are known; the one that was seen first is forgotten */
    NAMES_MAX = 5               /* in the line */
};

/* NULL: there is no place for it. */
static const char *record_path(arena *mem)
{
    char folder[OWN_PATH_BYTES];

    return own_folder_path(OWN_STATE, folder) ? settings_in(mem, folder, "instructions.json") : NULL;
}

/* Stores lie in its folder, so nobody else may look into it. */
static void folder_make(arena *mem, const char *path)
{
    char *folder = arena_text(mem, path);

    for (char *at = folder != NULL ? folder + 1 : NULL; at != NULL && *at != '\0'; at++)
        if (*at == '/') {
            *at = '\0';
            (void)!mkdir(folder, S_IRWXU);
            *at = '/';
        }
}

static const pawl_value *one_of(arena *mem, const char *path, const char *was)
{
    return value_pack(mem, NULL, "{s:s,s:s}", "path", path, "was", was);
}

/* [{"path","was"}]: how `now` differs from `had`, both {PATH: DIGEST}. */
static const pawl_value *differences(arena *mem, const pawl_value *had, const pawl_value *now)
{
    const pawl_value *out = value_pack(mem, NULL, "[]"), *key, *v, *old;
    pawl_iter it = pawl_iter_of(now);

    while ((v = pawl_iter_next(&it, &key)) != NULL) {
        old = pawl_value_get(had, pawl_value_string(key));
        if (old == NULL || !pawl_value_equal(old, v))
            out = value_push(mem, out, one_of(mem, pawl_value_string(key), old == NULL ? "new" : "changed"));
    }
    for (it = pawl_iter_of(had); pawl_iter_next(&it, &key) != NULL;)
        if (pawl_value_get(now, pawl_value_string(key)) == NULL)
            out = value_push(mem, out, one_of(mem, pawl_value_string(key), "gone"));
    return out;
}

static void told(const app_caller *caller, const char *folder, const pawl_value *all)
{
    static const struct { const char *was, *words; } says[] = { { "new", "is new" }, { "changed", "has changed" }, { "gone", "is not read any more" } };
    const size_t n = pawl_value_size(all);
    buf b;

    buf_init(&b, NULL);
    for (size_t i = 0; i < n && i < NAMES_MAX; i++) {
        const pawl_value *one = pawl_value_at(all, i);

        for (size_t k = 0; k < sizeof says / sizeof *says; k++)
            if (strcmp(pawl_value_string(pawl_value_get(one, "was")), says[k].was) == 0)
                buf_fmt(&b, "%s%s %s", i > 0 ? ", " : "", pawl_value_string(pawl_value_get(one, "path")), says[k].words);
    }
    if (n > NAMES_MAX)
        buf_fmt(&b, ", and %zu more", n - NAMES_MAX);
    buf_char(&b, '\0');
    if (!b.failed)
        app_note(caller, "%s: its instructions are not those that its last run began with: %s", folder, b.data);
    buf_free(&b);
}

/* {FOLDER: ...} without the one that was seen first, if there are too many. */
static const pawl_value *without_first(arena *mem, const pawl_value *folders)
{
    const pawl_value *out = value_pack(mem, NULL, "{}"), *key, *v, *first = NULL;
    int64_t least = INT64_MAX;
    pawl_iter it;

    if (pawl_value_size(folders) < FOLDERS_MAX)
        return folders;
    for (it = pawl_iter_of(folders); (v = pawl_iter_next(&it, &key)) != NULL;)
        if (pawl_value_int(pawl_value_get(v, "seen_s")) < least) {
            least = pawl_value_int(pawl_value_get(v, "seen_s"));
            first = key;
        }
    for (it = pawl_iter_of(folders); (v = pawl_iter_next(&it, &key)) != NULL;)
        if (key != first)
            out = value_with(mem, out, pawl_value_string(key), v);
    return out;
}

const pawl_value *instructions_changed(const app_caller *caller, arena *mem, const char *folder, const pawl_value *files)
{
    const char *path = record_path(mem);
    pawl_err why = { PAWL_OK, "" };
    const pawl_value *record = settings_read(mem, path, &why), *folders = pawl_value_get(record, "folders"), *had, *all = NULL;

    if (path == NULL || files == NULL)
        return NULL;
    if (folders == NULL || pawl_value_type(folders) != PAWL_TYPE_OBJECT)
        folders = value_pack(mem, NULL, "{}");
    had = pawl_value_get(pawl_value_get(folders, folder), "files");
    if (had != NULL && pawl_value_equal(had, files))
        return NULL;
    if (why.code != PAWL_OK)
        app_note(caller, "%s; it is made anew, and changed instructions are not noticed this once", why.text);
    if (had != NULL && pawl_value_size(all = differences(mem, had, files)) > 0)
        told(caller, folder, all);
    why = (pawl_err){ PAWL_OK, "" };
    folders = value_with(mem, had != NULL ? folders : without_first(mem, folders), folder,
                         value_pack(mem, NULL, "{s:v,s:i}", "files", files, "seen_s", (int64_t)time(NULL)));
    folder_make(mem, path);
    if (settings_write(mem, path, value_pack(mem, NULL, "{s:v}", "folders", folders), &why) != PAWL_OK)
        app_note(caller, "changed instructions will not be noticed: %s", why.text);
    return all;
}
