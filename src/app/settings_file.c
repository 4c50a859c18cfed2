/* settings_file.c - reads and writes the small JSON files of the settings folder.
 *
 * Called by settings.c and signers.c, on the thread of a verb. */
#define _XOPEN_SOURCE 700       /* fileno, fsync */
#include "app/settings.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BESIDE_BYTES = 4096 };

const pawl_value *settings_read(arena *mem, const char *path, pawl_err *err)
{
    const pawl_value *v = NULL;
    pawl_bytes text;

    if (path == NULL || (access(path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR)))
        return NULL;
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
    char *folder = arena_text(mem, path), beside[BESIDE_BYTES];
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
