/* git_rules.c - finds the .gitignore files that count in a folder, and .git/info/exclude.
 *
 * Called by walk.c, on the thread of the job. A file of rules is read only where a search may read it, and never through a link: whether a name fits would
 * otherwise tell what stands in a file that a rule denies. */
#include "effect/tool/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum {
    IGNORE_BYTES_MAX = 1 << 20, /* of a .gitignore; what follows is not read */
    GITDIR_BYTES = 4096
};

/* ---- files ------------------------------------------------------------------------------------------------ */

/* Reads up to `most` bytes in `mem`; NULL: none, or no memory (mem->failed). */
static char *bytes_of(arena *mem, int fd, size_t most, size_t *size)
{
    struct stat st;
    size_t room;
    ssize_t n = 1;
    char *data;

    *size = 0;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size <= 0)
        return NULL;
    room = (size_t)st.st_size < most ? (size_t)st.st_size : most;
    if ((data = arena_get(mem, room + 1)) == NULL)
        return NULL;
    while (*size < room && n != 0) {
        n = read(fd, data + *size, room - *size);
        if (n < 0 && errno != EINTR)
            return NULL;
        *size += n > 0 ? (size_t)n : 0;
    }
    data[*size] = '\0';
    return data;
}

/* Adds the rules of the file `name` in the folder `dir` to those of `up`. `at`: the true path of the file; `base`: see ignore_list. */
static const ignore_list *rules_of(tool_call *c, arena *mem, const ignore_list *up, int dir, const char *name, const char *at, size_t base)
{
    const size_t hidden = c->hidden;
    const int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    ignore_list *l = NULL;
    struct stat st;
    char *text;
    size_t size;

    if (fd < 0)
        return up;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && !reach_forbids(c->reach, dir, name, &st) && !opened_hides(c, at, dir, fd, &st) &&
        (text = bytes_of(mem, fd, IGNORE_BYTES_MAX, &size)) != NULL && (l = arena_zero(mem, sizeof *l)) != NULL) {
        l->up = up;
        l->base = base;
        ignore_read(mem, text, size, l);        /* without memory the arena says so */
    }
    c->hidden = hidden;         /* it is no result */
    close(fd);
    return l != NULL ? l : up;
}

/* ---- the worktree ------------------------------------------------------------------------------------------- */

/* The folder that a file names after `word`, seen from `dir`; -1: none. */
static int folder_named(arena *mem, int dir, const char *file, const char *word)
{
    const int fd = openat(dir, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    const size_t skip = strlen(word);
    char *text = NULL;
    size_t size = 0;

    if (fd >= 0) {
        text = bytes_of(mem, fd, GITDIR_BYTES - 1, &size);
        close(fd);
    }
    if (text == NULL || strncmp(text, word, skip) != 0)
        return -1;
    while (size > 0 && (text[size - 1] == '\n' || text[size - 1] == '\r'))
        text[--size] = '\0';
    return text[skip] == '\0' ? -1 : openat(dir, text + skip, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* The folder with HEAD of the worktree whose folder is `dir`, for linked worktrees the one that they share; -1: it is no worktree. */
static int repository(arena *mem, int dir)
{
    struct stat st;
    int fd, shared;

    if (fstatat(dir, ".git", &st, AT_SYMLINK_NOFOLLOW) != 0)
        return -1;
    fd = S_ISREG(st.st_mode) ? folder_named(mem, dir, ".git", "gitdir: ") : openat(dir, ".git", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && fstatat(fd, "HEAD", &st, AT_SYMLINK_NOFOLLOW) != 0) {
        close(fd);
        return -1;
    }
    if (fd >= 0 && (shared = folder_named(mem, fd, "commondir", "")) >= 0) {
        close(fd);
        return shared;
    }
    return fd;
}

const ignore_list *git_rules_top(tool_call *c, arena *mem, int dir, size_t base)
{
    const int git = repository(mem, dir), info = git < 0 ? -1 : openat(git, "info", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    const ignore_list *l = NULL;
    ignore_list *none;
    char at[TOOL_PATH_BYTES];
    size_t n;

    if (git >= 0 && (none = arena_zero(mem, sizeof *none)) != NULL) {
        none->base = base;
        l = none;
    }
    if (l != NULL && info >= 0 && fd_path(info, at) && (n = strlen(at)) + sizeof "/exclude" < sizeof at) {
        memcpy(at + n, "/exclude", sizeof "/exclude");
        l = rules_of(c, mem, l, info, "exclude", at, base);
    }
    if (info >= 0)
        close(info);
    if (git >= 0)
        close(git);
    return l;
}

const ignore_list *git_rules_in(tool_call *c, arena *mem, const ignore_list *up, int dir, const char *path, size_t size)
{
    char at[TOOL_PATH_BYTES];

    if (size + sizeof "/.gitignore" > sizeof at)
        return up;
    memcpy(at, path, size);
    memcpy(at + size, "/.gitignore", sizeof "/.gitignore");
    return rules_of(c, mem, up, dir, ".gitignore", at, size + 1);
}

/* Bytes of the path of the innermost folder at or above `path` that is a worktree, whose descriptor is *fd; SIZE_MAX: none. */
static size_t worktree(arena *mem, const char *path, size_t size, int *fd)
{
    char at[TOOL_PATH_BYTES];
    int git;

    memcpy(at, path, size);
    for (;;) {
        at[size] = '\0';
        if ((*fd = open(size > 0 ? at : "/", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) >= 0) {
            if ((git = repository(mem, *fd)) >= 0) {
                close(git);
                return size;
            }
            close(*fd);
        }
        if (size == 0)
            return SIZE_MAX;
        while (at[--size] != '/')
            continue;
    }
}

const ignore_list *git_rules_above(tool_call *c, arena *mem, const char *path, size_t size)
{
    char name[NAME_BYTES];
    int fd, next;
    size_t at = worktree(mem, path, size, &fd);
    const ignore_list *l;

    if (at == SIZE_MAX)
        return NULL;
    l = git_rules_top(c, mem, fd, at + 1);
    while (fd >= 0 && at < size) {
        const char *end = memchr(path + at + 1, '/', size - at - 1);
        const size_t until = end != NULL ? (size_t)(end - path) : size, n = until - at - 1;

        l = git_rules_in(c, mem, l, fd, path, at);
        if (n >= sizeof name || ignore_fits(l, path, until, true)) {
            l = NULL;           /* it is left out, and was asked for: then all that it has was */
            break;
        }
        memcpy(name, path + at + 1, n);
        name[n] = '\0';
        next = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        close(fd);
        fd = next;
        at = until;
    }
    if (fd >= 0)
        close(fd);
    return l;
}
