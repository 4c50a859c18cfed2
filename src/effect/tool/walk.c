/* walk.c - visits all files below a folder, in the order of their names.
 *
 * Called by glob.c and grep.c, on the thread of the job. Each folder is opened from its parent, never through a link. */
#define _DEFAULT_SOURCE         /* d_type */
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

/* A folder that is being visited. */
typedef struct walk_folder {
    int fd;
    size_t size;                /* of its path */
    unsigned depth;
    bool top, rules;            /* it has a .git, and a .gitignore */
    const ignore_list *ignore;  /* what is left out in it; NULL: nothing */
    arena mem;
} walk_folder;

/* A name, after its type: one byte, DT_UNKNOWN where the file system does not say. */
static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a + 1, *(const char *const *)b + 1);
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

/* The names in a folder. */
static char **names_of(walk_step *s, walk_folder *f, DIR *dir, size_t *n)
{
    void *names = NULL;
    size_t cap = 0;
    struct dirent *e;

    while (!enough(s) && (e = readdir(dir)) != NULL) {
        char *name;

        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        f->rules = f->rules || strcmp(e->d_name, ".gitignore") == 0;
        if (strcmp(e->d_name, ".git") == 0) {
            f->top = true;
            continue;
        }
        s->w->seen++;
        if (!arena_room(&f->mem, &names, &cap, *n, sizeof(char *)) || (name = arena_get(&f->mem, strlen(e->d_name) + 2)) == NULL) {
            s->rc = tool_nomem(s->w->c);
            break;
        }
        name[0] = (char)e->d_type;
        memcpy(name + 1, e->d_name, strlen(e->d_name) + 1);
        ((char **)names)[(*n)++] = name;
    }
    if (*n > 0)
        qsort(names, *n, sizeof(char *), by_name);
    return names;
}

static void folder_walk(walk_step *s, walk_folder *f);

static void folder_enter(walk_step *s, const walk_folder *f, const char *name, size_t size)
{
    walk_folder next = { .size = size, .depth = f->depth + 1, .ignore = f->ignore };

    if (opened_hides(s->w->c, s->path, -1, -1, NULL))
        return;
    if (f->depth == DEPTH_OF_FOLDERS)
        s->w->deep = true;
    else if ((next.fd = openat(f->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) >= 0)
        folder_walk(s, &next);
}

/* Whether the search wants the file at s->path. The name alone says so, unless git's rules must be asked about it. */
static bool wanted(walk_step *s, const walk_folder *f, size_t size)
{
    if (s->w->wants != NULL && !s->w->wants(s->w->ctx, s->path + s->begin))
        return false;
    if (!ignore_fits(f->ignore, s->path, size, false))
        return true;
    s->w->ignored++;
    return false;
}

static void file_visit(walk_step *s, const walk_folder *f, const char *name, size_t size, const struct stat *st)
{
    const walked w = { .dir = f->fd, .name = name, .path = s->path + s->begin, .whole = s->path, .st = st };

    if (wanted(s, f, size))
        s->w->done = !s->w->fn(s->w->ctx, &w);
}

/* One name of a folder. What has too long a path, is gone, is forbidden to tools, is not wanted, or is left out by git is skipped. */
static void name_visit(walk_step *s, const walk_folder *f, const char *typed)
{
    const char *name = typed + 1;
    const size_t n = strlen(name), size = f->size + 1 + n;
    const bool file = (unsigned char)*typed == DT_REG;
    struct stat st;

    if (size + 1 > sizeof s->path)
        return;
    s->path[f->size] = '/';
    memcpy(s->path + f->size + 1, name, n + 1);
    if (file && s->w->opens) {
        file_visit(s, f, name, size, NULL);
        return;
    }
    if ((file && s->w->wants != NULL && !s->w->wants(s->w->ctx, s->path + s->begin)) || fstatat(f->fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
        reach_forbids(s->w->c->reach, f->fd, name, &st))
        return;
    if (S_ISREG(st.st_mode))
        file_visit(s, f, name, size, &st);
    else if (S_ISDIR(st.st_mode) && ignore_fits(f->ignore, s->path, size, true))
        s->w->ignored++;
    else if (S_ISDIR(st.st_mode))
        folder_enter(s, f, name, size);
}

/* A folder with a .git is a worktree of its own, in which the rules around it say nothing. */
static void folder_rules(walk_step *s, walk_folder *f)
{
    tool_call *c = s->w->c;
    const ignore_list *top;

    if (s->w->all)
        return;
    if (f->top && f->depth > 1 && (top = git_rules_top(c, &f->mem, f->fd, f->size + 1)) != NULL)
        f->ignore = top;
    if (f->rules && f->ignore != NULL)
        f->ignore = git_rules_in(c, &f->mem, f->ignore, f->fd, s->path, f->size);
    if (f->mem.failed)
        s->rc = tool_nomem(c);
}

/* Takes its descriptor. */
static void folder_walk(walk_step *s, walk_folder *f)
{
    DIR *dir = fdopendir(f->fd);
    char **names;
    size_t n = 0;

    if (dir == NULL) {
        close(f->fd);
        return;
    }
    arena_init(&f->mem, &s->w->c->r->alloc, 4096);
    names = names_of(s, f, dir, &n);
    folder_rules(s, f);
    for (size_t i = 0; i < n && !enough(s); i++)
        name_visit(s, f, names[i]);
    arena_free(&f->mem);
    closedir(dir);
}

pawl_code walk_below(walk *w, const file_place *from, const char *asked, bool *replied)
{
    walk_step *s = arena_zero(&w->c->mem, sizeof *s);
    const size_t n = strcmp(from->path, "/") == 0 ? 0 : strlen(from->path);
    struct stat st;
    int fd;

    *replied = false;

    if (s == NULL)
        return tool_nomem(w->c);
    s->w = w;
    memcpy(s->path, from->path, n);
    s->begin = n + 1;
    fd = openat(from->dir, from->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0) {
        w->cut = "the folder cannot be read";
    } else if (!place_allowed(w->c, from, asked, fd, &st, &s->rc)) {
        *replied = true;
        close(fd);
        return s->rc;
    } else {
        walk_folder top = { .fd = fd, .size = n, .depth = 1, .ignore = w->all ? NULL : git_rules_above(w->c, &w->c->mem, s->path, n) };

        if (w->c->mem.failed)
            s->rc = tool_nomem(w->c);
        folder_walk(s, &top);
        fd = -1;
    }
    if (fd >= 0)
        close(fd);
    if (w->cut == NULL && w->deep)
        w->cut = "there are folders that are too deep";
    return s->rc;
}

void walk_ignored_put(const walk *w)
{
    if (w->ignored > 0)
        buf_fmt(&w->c->out, "[%zu left out as git ignores %s; \"no_ignore\":true looks there, too]\n", w->ignored, w->ignored == 1 ? "it" : "them");
}
