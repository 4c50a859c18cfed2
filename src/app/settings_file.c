/* settings_file.c - reads and writes the small JSON files of the settings folder: where they lie, and which projects are trusted.
 *
 * Called by settings.c, claude_settings.c and signers.c, on the thread of a verb. */
#define _XOPEN_SOURCE 700       /* fileno, fsync, realpath */
#include "app/settings.h"
#include "effect/reach.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const pawl_value *settings_read(arena *mem, const char *path, pawl_err *err)
{
    const pawl_value *v = NULL;
    struct stat st;
    pawl_bytes text;

    if (path == NULL || (stat(path, &st) != 0 && (errno == ENOENT || errno == ENOTDIR)))
        return NULL;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {     /* a pipe would hold up every verb */
        fail(err, PAWL_INVALID, "%s: settings are a file, and that is none", path);
        return NULL;
    }
    if (read_disk(mem, path, &text, err) == PAWL_OK)
        v = value_parse(mem, text.data, text.size, path, err);
    if (v != NULL && pawl_value_type(v) != PAWL_TYPE_OBJECT) {
        fail(err, PAWL_INVALID, "%s: settings are an object, such as {\"permissions\": {\"deny\": [\"Bash(git push:*)\"]}}", path);
        v = NULL;
    }
    return v;
}

pawl_code settings_write(arena *mem, const char *path, const pawl_value *v, pawl_err *err)
{
    char *folder = arena_text(mem, path), beside[SETTINGS_PATH_MAX];
    pawl_code rc = PAWL_OK;
    FILE *f = NULL;
    buf b;

    if (folder == NULL || v == NULL)
        return fail(err, PAWL_NOMEM, "%s: no memory", path);
    for (char *at = folder + 1; *at != '\0'; at++)
        if (*at == '/') {
            *at = '\0';
            (void)!mkdir(folder, 0777);
            *at = '/';
        }
    snprintf(beside, sizeof beside, "%s.%ld", path, (long)getpid());
    buf_init(&b, NULL);
    canon(&b, v);
    buf_char(&b, '\n');
    if (b.failed)
        rc = fail(err, PAWL_NOMEM, "%s: no memory", path);
    else if ((f = fopen(beside, "wb")) == NULL || fwrite(b.data, 1, b.size, f) != b.size || fflush(f) != 0 || fsync(fileno(f)) != 0)
        rc = fail(err, PAWL_IO, "%s: %s", beside, strerror(errno));
    if (f != NULL && fclose(f) != 0 && rc == PAWL_OK)
        rc = fail(err, PAWL_IO, "%s: %s", beside, strerror(errno));
    if (rc == PAWL_OK && rename(beside, path) != 0)
        rc = fail(err, PAWL_IO, "%s: %s", path, strerror(errno));
    if (rc != PAWL_OK)
        (void)unlink(beside);
    buf_free(&b);
    return rc;
}

/* ---- where they lie ----------------------------------------------------------------------------------- */

const char *settings_in(arena *mem, const char *folder, const char *name)
{
    char path[SETTINGS_PATH_MAX];

    if (snprintf(path, sizeof path, "%s/%s", strcmp(folder, "/") == 0 ? "" : folder, name) >= (int)sizeof path)
        return NULL;
    return arena_text(mem, path);
}

const char *settings_folder(arena *mem)
{
    char folder[OWN_PATH_BYTES];

    return own_folder_path(OWN_CONFIG, folder) ? arena_text(mem, folder) : NULL;
}

const char *settings_of_person(arena *mem)
{
    const char *folder = settings_folder(mem);

    return folder == NULL ? NULL : settings_in(mem, folder, "settings.json");
}

const char *settings_path(arena *mem, const char *path)
{
    const char *home = getenv("HOME");
    const char *out;
    buf b;

    if (path == NULL || strncmp(path, "~/", 2) != 0 || home == NULL)
        return path;
    buf_init(&b, NULL);
    buf_fmt(&b, "%s%s", home, path + 1);
    out = b.failed ? NULL : arena_strdup(mem, b.data, b.size);
    buf_free(&b);
    return out;
}

/* ---- trust --------------------------------------------------------------------------------------------------- */

static const char *trust_path(arena *mem)
{
    const char *folder = settings_folder(mem);

    return folder == NULL ? NULL : settings_in(mem, folder, "trusted.json");
}

static bool names(const pawl_value *folders, const char *project)
{
    pawl_iter it = pawl_iter_of(folders);
    const pawl_value *one;

    while ((one = pawl_iter_next(&it, NULL)) != NULL)
        if (pawl_value_string(one) != NULL && strcmp(pawl_value_string(one), project) == 0)
            return true;
    return false;
}

/* Links are resolved: a link to a trusted folder is that folder, and nothing more. */
static const char *real_folder(arena *mem, const char *project)
{
    char *real = realpath(project, NULL);
    const char *out = real == NULL ? project : arena_text(mem, real);

    free(real);
    return out;
}

static const char *const trust_lists[] = { [TRUST_OWN] = "folders", [TRUST_CLAUDE] = "claude" };

bool settings_trusts(arena *mem, const char *project, settings_kind kind, pawl_err *err)
{
    const pawl_value *v = settings_read(mem, trust_path(mem), err);

    return v != NULL && names(pawl_value_get(v, trust_lists[kind]), real_folder(mem, project));
}

/* Whether the project has settings of that kind. */
static bool has_kind(arena *mem, const char *project, settings_kind kind)
{
    static const char *const files[] = { ".pawl/settings.json", ".claude/settings.json", ".claude/settings.local.json" };
    const size_t from = kind == TRUST_OWN ? 0 : 1, to = kind == TRUST_OWN ? 1 : 3;

    for (size_t i = from; i < to; i++) {
        const char *path = settings_in(mem, project, files[i]);

        if (path != NULL && access(path, F_OK) == 0)
            return true;
    }
    return false;
}

bool settings_there(arena *mem, const char *project)
{
    return has_kind(mem, project, TRUST_OWN) || has_kind(mem, project, TRUST_CLAUDE);
}

/* The list with the folder, or without it. */
static const pawl_value *list_settled(arena *mem, const pawl_value *list, const char *real, bool with)
{
    const pawl_value *kept = value_pack(mem, NULL, "[]"), *one;
    pawl_iter it = pawl_iter_of(list);

    while ((one = pawl_iter_next(&it, NULL)) != NULL)
        if (pawl_value_string(one) != NULL && strcmp(pawl_value_string(one), real) != 0)
            kept = value_push(mem, kept, one);
    return with ? value_push(mem, kept, value_string(mem, real, strlen(real))) : kept;
}

/* Settings of a kind that is not there are not trusted: a command of an agent might make them later. */
pawl_code settings_trust(arena *mem, const char *project, bool trusted, pawl_err *err)
{
    const char *path = trust_path(mem), *real = real_folder(mem, project);
    const pawl_value *v;

    if (path == NULL)
        return fail(err, PAWL_INVALID, "there is no HOME, and nowhere to keep which folders are trusted");
    v = settings_read(mem, path, err);
    if (v == NULL && err->code != PAWL_OK)
        return err->code;
    v = v != NULL ? v : value_pack(mem, NULL, "{}");
    for (int kind = TRUST_OWN; kind <= TRUST_CLAUDE; kind++) {
        const pawl_value *list = pawl_value_get(v, trust_lists[kind]);
        const bool with = trusted && has_kind(mem, project, (settings_kind)kind);

        if (with || list != NULL)
            v = value_with(mem, v, trust_lists[kind], list_settled(mem, list, real, with));
    }
    return settings_write(mem, path, v, err);
}

const char *settings_unknown(const pawl_value *object, const char *const *known)
{
    pawl_iter it = pawl_iter_of(object);
    const pawl_value *key;

    while (pawl_iter_next(&it, &key) != NULL) {
        size_t i = 0;

        while (known[i] != NULL && strcmp(pawl_value_string(key), known[i]) != 0)
            i++;
        if (known[i] == NULL)
            return pawl_value_string(key);
    }
    return NULL;
}
