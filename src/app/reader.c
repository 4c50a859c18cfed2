/* reader.c - reads the texts of an agent file and of the files that it names, from disk or from the copy in a run.
 *
 * Called while a session loads, on its thread. Texts belong to the session's arena. */
#define _XOPEN_SOURCE 700       /* realpath */
#include "app/session.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

const char *path_beside(arena *mem, const char *from, const char *name)
{
    const char *slash = from != NULL ? strrchr(from, '/') : NULL;
    size_t head = slash != NULL ? (size_t)(slash - from) + 1 : 0, n = strlen(name);
    char *out, *to;

    if (*name == '/' || (out = arena_get(mem, head + n + 2)) == NULL)
        return *name == '/' ? name : NULL;
    if (head > 0)
        memcpy(out, from, head);
    memcpy(out + head, name, n + 1);
    to = out;                   /* removes "./" and "x/../", so that a file has one name */
    for (const char *at = out; *at != '\0';) {
        size_t part = strcspn(at, "/"), whole = part + (at[part] == '/');

        if ((part == 1 && at[0] == '.') || part == 0) {
            at += part == 0 ? 1 : whole;
            if (part == 0 && to == out && at == out + 1)
                *to++ = '/';
            continue;
        }
        if (part == 2 && at[0] == '.' && at[1] == '.' && to > out + (*out == '/') && !(to >= out + 3 && memcmp(to - 3, "../", 3) == 0)) {
            for (to--; to > out && to[-1] != '/'; to--)
                ;
            at += whole;
            continue;
        }
        memmove(to, at, whole);
        to += whole;
        at += whole;
    }
    if (to == out)
        *to++ = '.';
    *to = '\0';
    return out;
}

/* The initial buffer: a file has a size, a pipe has not. */
static size_t room_for(const struct stat *st)
{
    return S_ISREG(st->st_mode) && st->st_size < FILE_BYTES_MAX ? (size_t)st->st_size + 1 : FILE_BYTES_MAX + 1;
}

static pawl_code read_open(arena *mem, const char *path, FILE *f, pawl_bytes *text, pawl_err *err)
{
    struct stat st;
    size_t n = 0, got, room;
    char *data;

    if (fstat(fileno(f), &st) != 0)
        return fail(err, PAWL_IO, "%s: %s", path, strerror(errno));
    if (S_ISDIR(st.st_mode))
        return fail(err, PAWL_INVALID, "%s: it is a folder, and no file", path);
    room = room_for(&st);
    if ((data = arena_get(mem, room + 1)) == NULL)
        return fail(err, PAWL_NOMEM, "%s: no memory", path);
    while (n < room && (got = fread(data + n, 1, room - n, f)) > 0)
        n += got;
    if (ferror(f))
        return fail(err, PAWL_IO, "%s: %s", path, strerror(errno));
    if (n > FILE_BYTES_MAX)
        return fail(err, PAWL_LIMIT, "%s: it has more than %d bytes (FILE_BYTES_MAX)", path, FILE_BYTES_MAX);
    data[n] = '\0';
    *text = (pawl_bytes){ data, n };
    return PAWL_OK;
}

pawl_code read_disk(arena *mem, const char *path, pawl_bytes *text, pawl_err *err)
{
    FILE *f = fopen(path, "rb");
    pawl_code rc;

    if (f == NULL)
        return fail(err, PAWL_IO, errno == ENOENT ? "%s: there is no such file" : "%s: %s", path, strerror(errno));
    rc = read_open(mem, path, f, text, err);
    fclose(f);
    return rc;
}

pawl_code session_read(void *ctx, arena *mem, const char *from, const char *name, const char **path, pawl_bytes *text, pawl_err *err)
{
    session *s = ctx;
    const pawl_value *kept;

    if ((*path = path_beside(mem, from, name)) == NULL)
        return fail(err, PAWL_NOMEM, "%s: no memory", name);
    if (s->first.data != NULL && from == NULL) {
        *text = s->first;
        return PAWL_OK;
    }
    if (s->kept == NULL)
        return read_disk(mem, *path, text, err);
    kept = pawl_value_get(pawl_value_get(s->kept, "files"), *path);
    if (kept == NULL)
        return fail(err, PAWL_GONE, "%s: the run has kept no such file", *path);
    *text = (pawl_bytes){ pawl_value_string(kept), pawl_value_size(kept) };
    return PAWL_OK;
}
