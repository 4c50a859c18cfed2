/* walk.c - visits all files below a folder, in the order of their names.
 *
 * Called by glob.c and grep.c, on the thread of the job. Each folder is opened from its parent, never through a link. */
#include "effect/tool/tool.h"
#include "net/net.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    DEPTH_OF_FOLDERS = 64,      /* as many are open at a time */
    SEEN_MAX = 1000000          /* names */
};

typedef struct walk_step {
    walk *w;
    char path[TOOL_PATH_BYTES]; /* absolute; from `begin` on relative to the start */
    size_t begin;
    pawl_code rc;
} walk_step;

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* tool_stop() counts its calls in `looks`: the clock is read at one of sixteen. */
static bool enough(walk_step *s)
{
    walk *w = s->w;

    if (s->rc != PAWL_OK || w->done || w->cut != NULL || (s->rc = tool_stop(w->c)) != PAWL_OK)
        return true;
    if (w->seen > SEEN_MAX)
        w->cut = "there are too many files";
    else if (w->c->looks % 16 == 1 && clock_ms() >= w->until_ms)
        w->cut = "it took too long";
    return w->cut != NULL;
}

/* The names in a folder, in `mem`. */
static char **names_of(walk_step *s, arena *mem, DIR *dir, size_t *n)
{
    void *names = NULL;
    size_t cap = 0;
    struct dirent *e;

    while (!enough(s) && (e = readdir(dir)) != NULL) {
        char *name;

        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 || strcmp(e->d_name, ".git") == 0)
            continue;
        s->w->seen++;
        if (!arena_room(mem, &names, &cap, *n, sizeof(char *)) || (name = arena_text(mem, e->d_name)) == NULL) {
            s->rc = tool_nomem(s->w->c);
            break;
        }
        ((char **)names)[(*n)++] = name;
    }
    if (*n > 0)
        qsort(names, *n, sizeof(char *), by_name);
    return names;
}

static void folder_walk(walk_step *s, int fd, size_t size, unsigned depth);

/* One name of the folder `fd`, whose path has `size` bytes. What has too long a path, is gone, or is forbidden to tools is skipped. */
static void name_visit(walk_step *s, int fd, const char *name, size_t size, unsigned depth)
{
    size_t n = strlen(name);
    struct stat st;
    int next;

    if (size + n + 2 > sizeof s->path || fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || reach_forbids(s->w->c->reach, fd, name, &st))
        return;
    s->path[size++] = '/';
    memcpy(s->path + size, name, n + 1);
    if (S_ISREG(st.st_mode)) {
        const walked w = { .dir = fd, .name = name, .path = s->path + s->begin, .whole = s->path, .st = &st };

        s->w->done = !s->w->fn(s->w->ctx, &w);
    } else if (S_ISDIR(st.st_mode) && !opened_hides(s->w->c, s->path, -1, -1, NULL)) {
        if (depth == DEPTH_OF_FOLDERS)
            s->w->deep = true;
        else if ((next = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) >= 0)
            folder_walk(s, next, size + n, depth + 1);
    }
}

/* Takes `fd`. */
static void folder_walk(walk_step *s, int fd, size_t size, unsigned depth)
{
    DIR *dir = fdopendir(fd);
    char **names;
    size_t n = 0;
    arena mem;

    if (dir == NULL) {
        close(fd);
        return;
    }
    arena_init(&mem, &s->w->c->r->alloc, 4096);
    names = names_of(s, &mem, dir, &n);
    for (size_t i = 0; i < n && !enough(s); i++)
        name_visit(s, fd, names[i], size, depth);
    arena_free(&mem);
    closedir(dir);
}

pawl_code walk_below(walk *w, const file_place *from, const char *asked, bool *told)
{
    walk_step *s = arena_zero(&w->c->mem, sizeof *s);
    const size_t n = strcmp(from->path, "/") == 0 ? 0 : strlen(from->path);
    struct stat st;
    int fd;

    *told = false;

    if (s == NULL)
        return tool_nomem(w->c);
    s->w = w;
    memcpy(s->path, from->path, n);
    s->begin = n + 1;
    fd = openat(from->dir, from->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0) {
        w->cut = "the folder cannot be read";
    } else if (!place_allowed(w->c, from, asked, fd, &st, &s->rc)) {
        *told = true;
        close(fd);
        return s->rc;
    } else {
        folder_walk(s, fd, n, 1);
        fd = -1;
    }
    if (fd >= 0)
        close(fd);
    if (w->cut == NULL && w->deep)
        w->cut = "there are folders that are too deep";
    return s->rc;
}
