/* read.c - read_file and list_files.
 *
 * Called by call.c. Owns nothing after the reply. */
#include "base/base64.h"
#include "effect/tool/tool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    LINES = 2000,
    LINE_BYTES = 2000,          /* shown of a line */
    TEXT_BYTES = 1 << 20,       /* shown of a file */
    IMAGE_BYTES = 3932160,      /* 5 MiB in base64 */
    LIST_MAX = 1000,
    LIST_LOOKED_MAX = 100000
};

/* ---- images ------------------------------------------------------------------------------------------ */

static const char *image_type(const char *data, size_t size)
{
    if (size >= 8 && memcmp(data, "\x89PNG\r\n\x1a\n", 8) == 0)
        return "image/png";
    if (size >= 3 && memcmp(data, "\xff\xd8\xff", 3) == 0)
        return "image/jpeg";
    if (size >= 6 && (memcmp(data, "GIF87a", 6) == 0 || memcmp(data, "GIF89a", 6) == 0))
        return "image/gif";
    if (size >= 12 && memcmp(data, "RIFF", 4) == 0 && memcmp(data + 8, "WEBP", 4) == 0)
        return "image/webp";
    return NULL;
}

static pawl_code image(tool_call *c, const file_place *p, const char *path, const char *type)
{
    struct stat st;
    pawl_code rc;
    buf data;

    buf_init(&data, &c->r->alloc);
    if (place_load(c, p, path, IMAGE_BYTES, &data, &st, &rc)) {
        seen_bytes(c, p, data.data, data.size);
        buf_text(&c->out, "[{\"type\":\"image\",\"media_type\":\"");
        buf_text(&c->out, type);
        buf_text(&c->out, "\",\"data\":\"");
        base64_put(&c->out, data.data, data.size);
        buf_text(&c->out, "\"}]");
        rc = tool_blocks(c);
    }
    buf_free(&data);
    return rc;
}

/* ---- text ------------------------------------------------------------------------------------------------ */

typedef struct read_page {
    tool_call *c;
    int64_t first, limit;       /* the requested lines */
    int64_t line;               /* the current line, from 1 */
    int64_t shown, last;        /* number of lines shown, and number of the last one */
    size_t most;                /* limit of the whole output */
    size_t used;                /* bytes of the current line */
    char text[LINE_BYTES];
    size_t over;                /* its bytes that are not shown */
    bool full, begun;
} read_page;

static void line_end(read_page *g)
{
    buf *out = &g->c->out;

    if (g->begun && g->line >= g->first && !g->full) {
        size_t n = g->over > 0 ? cut_end(g->text, g->used) : g->used;

        if (g->over == 0 && n > 0 && g->text[n - 1] == '\r')
            n--;
        if (g->shown == g->limit || (g->shown > 0 && out->size + n + 40 > g->most)) {
            g->full = true;
        } else {
            buf_fmt(out, "%6lld\t", (long long)g->line);
            plain_put(out, g->text, n);
            if (g->over > 0)
                buf_fmt(out, " [%zu bytes more in this line]", g->over + g->used - n);
            buf_char(out, '\n');
            g->shown++;
            g->last = g->line;
        }
    }
    g->used = g->over = 0;
    g->begun = false;
    if (!g->full)
        g->line++;
}

static void feed(read_page *g, const char *data, size_t size)
{
    while (size > 0 && !g->full) {
        const char *end = memchr(data, '\n', size);
        size_t n = end != NULL ? (size_t)(end - data) : size, room = sizeof g->text - g->used;

        g->begun = true;
        if (g->line >= g->first) {
            memcpy(g->text + g->used, data, n < room ? n : room);
            g->used += n < room ? n : room;
            g->over += n < room ? 0 : n - room;
        }
        if (end == NULL)
            return;
        line_end(g);
        data += n + 1;
        size -= n + 1;
    }
}

static pawl_code page_report(read_page *g, const char *path, const struct stat *st)
{
    tool_call *c = g->c;

    if (g->line == 1 && g->shown == 0)
        buf_text(&c->out, "(the file is empty)");
    else if (g->shown == 0)
        return tool_error(c, "Invalid arguments: %s: it has %lld lines, and none from %lld on", path, (long long)(g->line - 1), (long long)g->first);
    if (g->full)
        buf_fmt(&c->out, "\n[truncated: lines %lld to %lld of %lld bytes; go on with offset %lld]", (long long)g->first, (long long)g->last,
                (long long)st->st_size, (long long)g->last + 1);
    return tool_text(c, CUT_END, false);
}

static pawl_code text(tool_call *c, int fd, const char *path, const struct stat *st)
{
    read_page *g = arena_zero(&c->mem, sizeof *g);
    char chunk[16384];
    ssize_t n = 1;
    pawl_code rc = PAWL_OK;

    if (g == NULL)
        return tool_nomem(c);
    g->c = c;
    g->first = input_count(c, "offset", 1);
    g->limit = input_count(c, "limit", LINES);
    g->line = 1;
    g->most = c->tool->output_bytes < TEXT_BYTES ? c->tool->output_bytes : TEXT_BYTES;
    g->most -= g->most > 200 ? 100 : 0;     /* reserved for the note */
    while (n != 0 && !g->full && (rc = tool_stop(c)) == PAWL_OK)
        if ((n = read(fd, chunk, sizeof chunk)) > 0)
            feed(g, chunk, (size_t)n);
        else if (n < 0 && errno != EINTR)
            return tool_error(c, "IO error: %s (errno %d)", path, errno);
    if (rc == PAWL_OK && g->begun)
        line_end(g);
    seen_still(c, fd, st);
    return rc == PAWL_OK ? page_report(g, path, st) : rc;
}

static pawl_code read_it(tool_call *c, const file_place *p, const char *path)
{
    char head[PROBE_BYTES];
    struct stat st;
    const char *type;
    ssize_t n;
    pawl_code rc = PAWL_OK;
    int fd = place_read(c, p, path, &st, &rc);

    if (fd < 0)
        return rc;
    n = read(fd, head, sizeof head);
    if (n < 0 || lseek(fd, 0, SEEK_SET) < 0)
        rc = tool_error(c, "IO error: %s (errno %d)", path, errno);
    else if ((type = image_type(head, (size_t)n)) != NULL)
        rc = image(c, p, path, type);
    else if (plain_binary(head, (size_t)n))
        rc = tool_error(c, "Invalid arguments: %s: it is no text, and no image that can be shown (%lld bytes)", path, (long long)st.st_size);
    else {
        seen_open(c, p, fd, &st);
        rc = text(c, fd, path, &st);
    }
    close(fd);
    return rc;
}

pawl_code tool_read(tool_call *c)
{
    const char *path = input_text(c, "file_path");
    pawl_code rc = PAWL_OK;
    roots *r;
    file_place p;

    if ((r = roots_open(c, &rc)) == NULL)
        return rc;
    if (place_seek(c, r, path, MISSING_IS_ERROR, &p, &rc))
        rc = read_it(c, &p, path);
    place_free(&p);
    roots_close(r);
    return rc;
}

/* ---- folders --------------------------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The names in a folder, each with a mark for its kind; *all: how many there are; *rc: not PAWL_OK to stop. */
static char **names_of(tool_call *c, int fd, DIR *dir, size_t *n, pawl_code *rc)
{
    void *names = NULL;
    size_t cap = 0;
    struct dirent *e;
    struct stat st;
    bool there;

    while (*n < LIST_LOOKED_MAX && (*rc = tool_stop(c)) == PAWL_OK && (e = readdir(dir)) != NULL) {
        size_t size = strlen(e->d_name);
        char *name;

        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        there = fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0;
        if (reach_forbids(c->reach, fd, e->d_name, there ? &st : NULL))
            continue;
        if (!arena_room(&c->mem, &names, &cap, *n, sizeof(char *)) || (name = arena_get(&c->mem, size + 2)) == NULL) {
            *rc = tool_nomem(c);
            return NULL;
        }
        memcpy(name, e->d_name, size + 1);
        if (there && (S_ISDIR(st.st_mode) || S_ISLNK(st.st_mode))) {
            name[size] = S_ISDIR(st.st_mode) ? '/' : '@';
            name[size + 1] = '\0';
        }
        ((char **)names)[(*n)++] = name;
    }
    return names;
}

static pawl_code listed(tool_call *c, int fd, DIR *dir)
{
    pawl_code rc = PAWL_OK;
    size_t n = 0;
    char **names = names_of(c, fd, dir, &n, &rc);

    if (rc != PAWL_OK)
        return rc;
    if (n > 0)
        qsort(names, n, sizeof *names, by_name);
    for (size_t i = 0; i < n && i < LIST_MAX; i++) {
        plain_put(&c->out, names[i], strlen(names[i]));
        buf_char(&c->out, '\n');
    }
    if (n == 0)
        buf_text(&c->out, "(the folder is empty)\n");
    if (n > LIST_MAX)
        buf_fmt(&c->out, "[truncated: %d of %s%zu are shown]\n", LIST_MAX, n == LIST_LOOKED_MAX ? "more than " : "", n);
    return tool_text(c, CUT_END, false);
}

pawl_code tool_list(tool_call *c)
{
    const char *path = input_text(c, "path");
    pawl_code rc = PAWL_OK;
    roots *r;
    DIR *dir = NULL;
    struct stat st;
    file_place p;
    int fd;

    path = path != NULL ? path : ".";
    if ((r = roots_open(c, &rc)) == NULL)
        return rc;
    if (place_seek(c, r, path, MISSING_IS_ERROR, &p, &rc)) {
        fd = openat(p.dir, p.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd >= 0 && !place_allowed(c, &p, path, fd, fstat(fd, &st) == 0 ? &st : NULL, &rc)) {
            close(fd);
        } else if (fd < 0 || (dir = fdopendir(fd)) == NULL) {
            rc = tool_error(c, errno == ENOTDIR ? "Invalid arguments: %s: it is no folder" : "IO error: %s: it cannot be read", path);
            if (fd >= 0)
                close(fd);
        } else {
            rc = listed(c, fd, dir);
            closedir(dir);
        }
    }
    place_free(&p);
    roots_close(r);
    return rc;
}
