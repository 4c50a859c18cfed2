/* settings_file.c - reads and writes the small JSON files of the settings folder, and says where they lie.
 *
 * Called by settings.c, claude_settings.c, trust.c and signers.c, on the thread of a verb. */
#define _XOPEN_SOURCE 700       /* fileno, fsync */
#include "app/settings.h"
#include "effect/reach.h"
#include "effect/script_digest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const pawl_value *settings_read_digest(arena *mem, const char *path, char *digest, pawl_err *err)
{
    const pawl_value *v = NULL;
    struct stat st;
    pawl_bytes text = {0};

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
    if (v != NULL)
        text_digest(text.data, text.size, digest);
    return v;
}

const pawl_value *settings_read(arena *mem, const char *path, pawl_err *err)
{
    char digest[SCRIPT_DIGEST_BYTES];

    return settings_read_digest(mem, path, digest, err);
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

pawl_code settings_no_link(arena *mem, const char *project, const char *name, pawl_err *err)
{
    const char *path = settings_in(mem, project, name);
    struct stat st;

    if (path == NULL)
        return fail(err, PAWL_NOMEM, "%s: its path is too long", project);
    return lstat(path, &st) != 0 || !S_ISLNK(st.st_mode) ? PAWL_OK
               : fail(err, PAWL_INVALID, "%s is a symbolic link, and settings are read from a folder that lies there itself: put the folder in its place",
                      path);
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

/* ---- members --------------------------------------------------------------------------------------------------- */

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
