/* open_beneath.c - finds what exists in the workspace by openat2(), where the kernel has it: the kernel follows all links of a path at once, and leads
 * nowhere above the root.
 *
 * Called by workspace_fs.c. It gives no error of its own: whatever it does not find, the walk looks for, name by name, and says what is wrong. */
#define _GNU_SOURCE             /* O_PATH, syscall */
#include "effect/tool/tool.h"

#include <fcntl.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/syscall.h>
#endif

bool seek_by_walk_only;

#if defined(__linux__) && defined(O_PATH)

#ifndef SYS_openat2
#define SYS_openat2 437         /* the same on all architectures */
#endif

enum { NO_MAGIC_LINKS = 0x02, NO_LINKS = 0x04, BENEATH = 0x08 };        /* RESOLVE_* of linux/openat2.h, which older systems lack */

static int open_beneath(int dir, const char *path, int flags, uint64_t resolve)
{
    const struct { uint64_t flags, mode, resolve; } how = { (uint64_t)(flags | O_PATH | O_CLOEXEC), 0, resolve | BENEATH | NO_MAGIC_LINKS };

    return (int)syscall(SYS_openat2, dir, path, &how, sizeof how);
}

/* The path below the root; NULL: not below it. */
static const char *below_root(const root *top, const char *path)
{
    const size_t n = strcmp(top->real, "/") == 0 ? 0 : strlen(top->real);

    return strncmp(path, top->real, n) == 0 && (path[n] == '/' || path[n] == '\0') ? path + n + (path[n] == '/') : NULL;
}

/* A file is given by its folder and name. */
static bool in_folder(const root *top, file_place *p)
{
    const char *rest = below_root(top, p->path), *name = strrchr(p->path, '/') + 1;
    char folder[TOOL_PATH_BYTES] = ".";
    struct stat st;

    if (rest == NULL || *rest == '\0' || strlen(name) >= sizeof p->name)
        return false;
    if (name > rest)
        snprintf(folder, sizeof folder, "%.*s", (int)(name - 1 - rest), rest);
    if ((p->dir = open_beneath(top->fd, folder, O_DIRECTORY, NO_LINKS)) < 0)
        return false;
    if (fstatat(p->dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_dev == p->st.st_dev && st.st_ino == p->st.st_ino) {
        memcpy(p->name, name, strlen(name) + 1);
        return true;
    }
    close(p->dir);
    p->dir = -1;
    return false;
}

bool beneath_seek(const root *top, const char *path, file_place *p)
{
    bool found = false;
    int fd;

    if (seek_by_walk_only || (fd = open_beneath(top->fd, *path != '\0' ? path : ".", 0, 0)) < 0)
        return false;
    if (fstat(fd, &p->st) != 0 || !fd_path(fd, p->path) || below_root(top, p->path) == NULL) {
        ;
    } else if (S_ISDIR(p->st.st_mode)) {
        memcpy(p->name, ".", 2);
        p->dir = fd;
        found = true;
    } else {
        found = in_folder(top, p);
    }
    if (!found || p->dir != fd)
        close(fd);
    p->there = found;
    p->root = top;
    return found;
}

#else

bool beneath_seek(const root *top, const char *path, file_place *p)
{
    (void)top;
    (void)path;
    (void)p;
    return false;
}

#endif
