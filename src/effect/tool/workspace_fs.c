/* workspace_fs.c - finds, reads and writes files of the workspace, name by name from an open folder, so that a link that is created between check and
 * use cannot lead out of it.
 *
 * Called by the tools, on the thread of the job. No name that could be a link is opened: a link is read, and its target walked. A target, or `..`, that
 * leaves the root is looked up among the roots by its text, like any absolute path. */
#define _GNU_SOURCE             /* O_PATH */
#include "effect/resolve_links.h"
#include "effect/tool/tool.h"
#include "net/net.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef O_PATH
#define O_STEP O_PATH
#else
#define O_STEP O_RDONLY
#endif

#define OUT_OF_REACH "Permission denied: %s: stores and settings of Pawl are out of reach for tools"

enum { TRIES_MAX = 100 };       /* tries to find a free name for a temporary file */

/* ---- roots ----------------------------------------------------------------------------------------------- */

void roots_close(roots *r)
{
    while (r->n > 0)
        close(r->all[--r->n].fd);
}

/* False: the folder does not exist. */
static bool root_add(tool_call *c, roots *r, const char *path)
{
    root *one = &r->all[r->n];
    char real[PATH_MAX];
    size_t n = strlen(path);

    while (n > 1 && path[n - 1] == '/')
        n--;
    if (n >= TOOL_PATH_BYTES || realpath(path, real) == NULL || strlen(real) >= TOOL_PATH_BYTES || reach_encloses(c->reach, real) ||
        (one->fd = open(real, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
        return false;
    one->read_only = false;
    one->said = arena_strdup(&c->mem, path, n);
    one->real = arena_text(&c->mem, real);
    r->n++;
    return true;
}

static bool listed(const pawl_value *list, const pawl_value *text)
{
    pawl_iter it = pawl_iter_of(list);
    const pawl_value *one;

    while ((one = pawl_iter_next(&it, NULL)) != NULL)
        if (pawl_value_equal(one, text))
            return true;
    return false;
}

roots *roots_open(tool_call *c, pawl_code *rc)
{
    roots *r = arena_get(&c->mem, sizeof *r);
    const pawl_value *list = pawl_value_get(c->job->args, "directories"), *only = pawl_value_get(c->job->args, "read_only"), *one;
    pawl_iter it = pawl_iter_of(list);

    if (r == NULL || (c->reach = reach_read(&c->mem)) == NULL) {
        *rc = tool_nomem(c);
        return NULL;
    }
    r->n = 0;
    if (!root_add(c, r, c->cwd)) {
        *rc = tool_error(c, "File not found: %s: the workspace is no folder that can be read", c->cwd);
        return NULL;
    }
    while (pawl_value_type(list) == PAWL_TYPE_ARRAY && (one = pawl_iter_next(&it, NULL)) != NULL) {
        if (!text_whole(one) || pawl_value_string(one)[0] != '/') {
            *rc = tool_error(c, "Invalid arguments: \"directories\" are no absolute paths");
        } else if (r->n == ROOTS_MAX) {
            *rc = tool_error(c, "Invalid arguments: more than %d \"directories\"", ROOTS_MAX - 1);
        } else {
            if (root_add(c, r, pawl_value_string(one)))     /* a missing folder is ignored */
                r->all[r->n - 1].read_only = listed(only, one);
            continue;
        }
        roots_close(r);
        return NULL;
    }
    if (!c->mem.failed)
        return r;
    *rc = tool_nomem(c);
    roots_close(r);
    return NULL;
}

/* Skips slashes and names that are a dot. */
static const char *past(const char *p)
{
    while (*p == '/' || (p[0] == '.' && (p[1] == '/' || p[1] == '\0')))
        p++;
    return p;
}

/* The rest of an absolute path below `folder`, by names; NULL: not below it. */
static const char *below(const char *folder, const char *path)
{
    for (;;) {
        size_t n;

        folder += strspn(folder, "/");
        if (*folder == '\0')
            return path;
        path = past(path);
        n = strcspn(folder, "/");
        if (strncmp(folder, path, n) != 0 || (path[n] != '/' && path[n] != '\0'))
            return NULL;
        folder += n;
        path += n;
    }
}

/* The innermost root that contains an absolute path. */
static const root *root_of(const roots *r, const char *path, const char **rest)
{
    const root *best = NULL;
    size_t most = 0;

    for (size_t i = 0; i < r->n; i++)
        for (int real = 0; real < 2; real++) {
            const char *folder = real ? r->all[i].real : r->all[i].said, *left = below(folder, path);

            if (left != NULL && (best == NULL || strlen(folder) > most)) {
                best = &r->all[i];
                most = strlen(folder);
                *rest = left;
            }
        }
    return best;
}

/* ---- the walk ---------------------------------------------------------------------------------------------- */

typedef struct walk_way {
    tool_call *c;
    const roots *r;
    const char *asked;          /* for messages */
    if_missing missing;
    const root *root;
    int fd;                     /* the current folder; -1: none */
    char at[TOOL_PATH_BYTES];   /* its path from the root: "a/b", without links */
    char rest[TOOL_PATH_BYTES]; /* still to walk */
    unsigned links;
} walk_way;

typedef enum went { WENT_ON, WENT_HOME, WENT_WRONG } went;

static went wrong(const walk_way *w, pawl_code *rc, const char *what, const char *why)
{
    *rc = tool_error(w->c, "%s: %s%s", what, w->asked, why);
    return WENT_WRONG;
}

static went wrong_errno(const walk_way *w, pawl_code *rc)
{
    switch (errno) {
    case ENOENT:
    case ENOTDIR: return wrong(w, rc, "File not found", "");
    case EACCES:
    case EPERM: return wrong(w, rc, "IO error", ": permission denied");
    case ENAMETOOLONG: return wrong(w, rc, "Invalid arguments", ": the path is too long");
    case ELOOP: return wrong(w, rc, "IO error", ": it was changed while it was looked at");
    case ENOSPC: return wrong(w, rc, "IO error", ": the disk is full");
    case EROFS: return wrong(w, rc, "IO error", ": it lies where nothing can be written");
    default: *rc = tool_error(w->c, "IO error: %s (errno %d)", w->asked, errno); return WENT_WRONG;
    }
}

static void stand(walk_way *w, int fd)
{
    if (w->fd >= 0)
        close(w->fd);
    w->fd = fd;
}

/* Walks again from the root along `at`, which has no links: a link found there now was created meanwhile. */
static bool stand_again(walk_way *w)
{
    char name[NAME_BYTES];
    const char *p = w->at;
    int fd = openat(w->root->fd, ".", O_STEP | O_DIRECTORY | O_CLOEXEC), next;

    while (fd >= 0 && *p != '\0') {
        size_t n = strcspn(p, "/");

        memcpy(name, p, n);
        name[n] = '\0';
        next = openat(fd, name, O_STEP | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        close(fd);
        fd = next;
        p += n + (p[n] == '/');
    }
    stand(w, fd);
    return fd >= 0;
}

/* `path` is absolute: starts again in its root. It may be w->rest. */
static went begin(walk_way *w, const char *path, pawl_code *rc)
{
    const char *rest = NULL;

    if ((w->root = root_of(w->r, path, &rest)) == NULL)
        return wrong(w, rc, "Path outside workspace", "");
    memmove(w->rest, rest, strlen(rest) + 1);
    w->at[0] = '\0';
    return stand_again(w) ? WENT_ON : wrong_errno(w, rc);
}

/* Puts `head` before the rest, which is empty or begins with a slash; false: too long. */
static bool rest_set(walk_way *w, const char *head)
{
    size_t n = strlen(head), k = strlen(w->rest);

    if (n + k + 1 > sizeof w->rest)
        return false;
    memmove(w->rest + n, w->rest, k + 1);
    memcpy(w->rest, head, n);
    return true;
}

static went up(walk_way *w, pawl_code *rc)
{
    char *slash = strrchr(w->at, '/');

    if (w->at[0] == '\0') {     /* above the root: perhaps in another root */
        char parent[TOOL_PATH_BYTES];

        memcpy(parent, w->root->real, strlen(w->root->real) + 1);
        *strrchr(parent, '/') = '\0';
        if (!rest_set(w, parent))
            return wrong(w, rc, "Invalid arguments", ": the path is too long");
        return begin(w, w->rest, rc);
    }
    *(slash != NULL ? slash : w->at) = '\0';
    return stand_again(w) ? WENT_ON : wrong_errno(w, rc);
}

static went follow(walk_way *w, const char *name, pawl_code *rc)
{
    char target[TOOL_PATH_BYTES];
    ssize_t n = readlinkat(w->fd, name, target, sizeof target);

    if (n < 0) {
        errno = errno == EINVAL ? ELOOP : errno;    /* it is no longer a link */
        return wrong_errno(w, rc);
    }
    if (n == 0 || (size_t)n == sizeof target || ++w->links > LINKS_MAX)
        return wrong(w, rc, "IO error", ": its links are too many, or too long");
    target[n] = '\0';
    if (!rest_set(w, target))
        return wrong(w, rc, "Invalid arguments", ": the path is too long");
    if (target[0] == '/')
        return begin(w, w->rest, rc);
    return WENT_ON;
}

static went into(walk_way *w, const char *name, pawl_code *rc)
{
    size_t n = strlen(w->at), m = strlen(name);
    int fd = openat(w->fd, name, O_STEP | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return wrong_errno(w, rc);
    if (n + m + 2 > sizeof w->at) {
        close(fd);
        return wrong(w, rc, "Invalid arguments", ": the path is too long");
    }
    if (n > 0)
        w->at[n++] = '/';
    memcpy(w->at + n, name, m + 1);
    stand(w, fd);
    return WENT_ON;
}

/* The last name: not a link. */
static went arrived(walk_way *w, const char *name, file_place *p, pawl_code *rc)
{
    const char *slash = strcmp(w->root->real, "/") == 0 ? "" : w->root->real;
    buf path;

    buf_init(&path, &w->c->r->alloc);
    buf_text(&path, slash);
    if (w->at[0] != '\0') {
        buf_char(&path, '/');
        buf_text(&path, w->at);
    }
    if (strcmp(name, ".") != 0 || path.size == 0) {
        buf_char(&path, '/');
        buf_text(&path, strcmp(name, ".") != 0 ? name : "");
    }
    if (path.failed || path.size >= sizeof p->path) {
        *rc = path.failed ? tool_nomem(w->c) : tool_error(w->c, "Invalid arguments: %s: the path is too long", w->asked);
        buf_free(&path);
        return WENT_WRONG;
    }
    memcpy(p->path, path.data, path.size);
    p->path[path.size] = '\0';
    buf_free(&path);
    memcpy(p->name, name, strlen(name) + 1);
    p->root = w->root;
    p->dir = w->fd;
    w->fd = -1;
    return WENT_HOME;
}

/* Takes the first name off the rest. */
static bool name_take(walk_way *w, char name[NAME_BYTES])
{
    const char *p = w->rest + strspn(w->rest, "/");
    size_t n = strcspn(p, "/");

    if (n >= NAME_BYTES)
        return false;
    memcpy(name, p, n);
    name[n] = '\0';
    memmove(w->rest, p + n, strlen(p + n) + 1);
    return true;
}

/* False: it is Pawl's own, and the reply has the error (P9). */
static bool reaches(tool_call *c, int dir, const char *name, const struct stat *st, const char *path, pawl_code *rc)
{
    if (!reach_forbids(c->reach, dir, name, st))
        return true;
    *rc = tool_error(c, OUT_OF_REACH, path);
    return false;
}

/* Whether the rules allow the file for which a folder is about to be made. */
static bool may_make(const walk_way *w, const char *name, pawl_code *rc)
{
    char whole[TOOL_PATH_BYTES], path[TOOL_PATH_BYTES];

    if (snprintf(whole, sizeof whole, "%s/%s/%s/%s", w->root->real, w->at, name, w->rest) >= (int)sizeof whole) {
        (void)wrong(w, rc, "Invalid arguments", ": the path is too long");
        return false;
    }
    path_plainly(whole, path);
    return opened_allowed(w->c, &(opened_file){ .root = w->root, .path = path, .asked = w->asked, .dir = -1, .fd = -1, .name = name }, rc);
}

static went step(walk_way *w, file_place *p, pawl_code *rc)
{
    char name[NAME_BYTES];
    bool last, there;
    int why;

    if (!name_take(w, name))
        return wrong(w, rc, "Invalid arguments", ": a name in the path is too long");
    if (strcmp(name, "..") == 0)
        return up(w, rc);
    last = w->rest[strspn(w->rest, "/")] == '\0';
    if (name[0] == '\0' || strcmp(name, ".") == 0) {
        if (!last)
            return WENT_ON;
        p->there = fstat(w->fd, &p->st) == 0;
        return p->there ? arrived(w, ".", p, rc) : wrong_errno(w, rc);
    }
    there = fstatat(w->fd, name, &p->st, AT_SYMLINK_NOFOLLOW) == 0;
    why = errno;
    if (!reaches(w->c, w->fd, name, there ? &p->st : NULL, w->asked, rc))
        return WENT_WRONG;
    errno = why;
    if (!there) {
        if (errno != ENOENT || w->missing == MISSING_IS_ERROR || (!last && w->missing == MISSING_IS_FINE))
            return wrong_errno(w, rc);
        p->there = false;
        if (last)
            return w->rest[0] == '/' ? wrong(w, rc, "Invalid arguments", ": a file does not end in /") : arrived(w, name, p, rc);
        if (!may_make(w, name, rc))
            return WENT_WRONG;
        if (mkdirat(w->fd, name, 0777) != 0 && errno != EEXIST)
            return wrong_errno(w, rc);
        return into(w, name, rc);
    }
    if (S_ISLNK(p->st.st_mode))
        return follow(w, name, rc);
    p->there = true;
    if (!last)
        return into(w, name, rc);
    if (w->rest[0] == '/' && !S_ISDIR(p->st.st_mode)) {
        errno = ENOTDIR;
        return wrong_errno(w, rc);
    }
    return arrived(w, name, p, rc);
}

/* By the kernel. *rc: the code to return where the reply has the error. */
static went seek_beneath(tool_call *c, const roots *r, const char *path, file_place *p, pawl_code *rc)
{
    const char *rest = path;
    const root *in = *path == '/' ? root_of(r, path, &rest) : &r->all[0];
    char folder[TOOL_PATH_BYTES];

    if (in == NULL || !beneath_seek(in, past(rest), p))
        return WENT_ON;
    snprintf(folder, sizeof folder, "%.*s", strcmp(p->name, ".") == 0 ? (int)strlen(p->path) : (int)(strrchr(p->path, '/') - p->path), p->path);
    if (!reach_encloses(c->reach, folder) && !reach_forbids(c->reach, p->dir, p->name, &p->st))
        return WENT_HOME;
    *rc = tool_error(c, OUT_OF_REACH, path);
    return WENT_WRONG;
}

bool place_seek(tool_call *c, const roots *r, const char *path, if_missing missing, file_place *p, pawl_code *rc)
{
    walk_way w = { .c = c, .r = r, .asked = path, .missing = missing, .fd = -1, .root = &r->all[0] };
    went how;

    *p = (file_place){ .dir = -1 };
    if (strlen(path) + 2 <= sizeof w.rest && (how = seek_beneath(c, r, path, p, rc)) != WENT_ON)
        return how == WENT_HOME;
    place_free(p);
    *p = (file_place){ .dir = -1 };
    if (strlen(path) + 2 > sizeof w.rest) {
        *rc = tool_error(c, "Invalid arguments: the path is over %d bytes", TOOL_PATH_BYTES);
        return false;
    }
    memcpy(w.rest, path, strlen(path) + 1);
    if (path[0] == '/')
        how = begin(&w, w.rest, rc);
    else
        how = stand_again(&w) ? WENT_ON : wrong_errno(&w, rc);
    while (how == WENT_ON)
        how = (*rc = tool_stop(c)) == PAWL_OK ? step(&w, p, rc) : WENT_WRONG;
    stand(&w, -1);
    return how == WENT_HOME;
}

void place_free(file_place *p)
{
    if (p->dir >= 0)
        close(p->dir);
    p->dir = -1;
}

/* ---- read and written ----------------------------------------------------------------------------------------------------- */

static bool errno_to_reply(tool_call *c, const char *path, pawl_code *rc)
{
    const walk_way w = { .c = c, .asked = path };

    (void)wrong_errno(&w, rc);
    return false;
}

static const char *kind_of(mode_t mode)
{
    return S_ISDIR(mode) ? "a folder" : S_ISFIFO(mode) ? "a pipe" : S_ISSOCK(mode) ? "a socket" : S_ISLNK(mode) ? "a link" : "a device";
}

static bool regular(tool_call *c, const char *path, mode_t mode, pawl_code *rc)
{
    if (S_ISREG(mode))
        return true;
    *rc = tool_error(c, "Invalid arguments: %s: it is %s, not a file", path, kind_of(mode));
    return false;
}

bool place_allowed(tool_call *c, const file_place *p, const char *path, int fd, const struct stat *st, pawl_code *rc)
{
    return opened_allowed(c, &(opened_file){ .root = p->root, .path = p->path, .asked = path, .dir = p->dir, .fd = fd, .name = p->name, .st = st }, rc);
}

int place_read(tool_call *c, const file_place *p, const char *path, struct stat *st, pawl_code *rc)
{
    int fd;

    if (p->there && !regular(c, path, p->st.st_mode, rc))
        return -1;
    if ((fd = openat(p->dir, p->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)) < 0 || fstat(fd, st) != 0)
        errno_to_reply(c, path, rc);
    else if (regular(c, path, st->st_mode, rc) && reaches(c, p->dir, p->name, st, path, rc) && place_allowed(c, p, path, fd, st, rc))
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

bool place_load(tool_call *c, const file_place *p, const char *path, size_t most, buf *out, struct stat *st, pawl_code *rc)
{
    char chunk[65536];
    int fd = place_read(c, p, path, st, rc);
    bool fine = false;
    ssize_t n = 1;

    if (fd < 0)
        return false;
    while (n != 0 && (*rc = tool_stop(c)) == PAWL_OK && out->size <= most) {
        if ((n = read(fd, chunk, sizeof chunk)) > 0)
            buf_put(out, chunk, (size_t)n);
        else if (n < 0 && errno != EINTR)
            break;
    }
    if (n < 0)
        errno_to_reply(c, path, rc);
    else if (out->failed)
        *rc = tool_nomem(c);
    else if (out->size > most)
        *rc = tool_error(c, "Invalid arguments: %s: it has more than %zu bytes", path, most);
    else
        fine = *rc == PAWL_OK;
    close(fd);
    return fine;
}

/* Creates a temporary file beside the target; returns its name. */
static int fresh(const file_place *p, char name[NAME_BYTES], mode_t mode)
{
    static const char stem[] = ".pawl-tmp-";
    const uint64_t now = (uint64_t)epoch_ms();
    int fd = -1;

    for (unsigned i = 0; i < TRIES_MAX && fd < 0; i++) {
        uint64_t n = (now << 20 ^ (uint64_t)getpid() << 8) + i;
        size_t at = sizeof stem - 1;

        memcpy(name, stem, sizeof stem);
        at += uint_text(n, name + at);
        name[at] = '\0';
        fd = openat(p->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    return fd;
}

static bool fill(int fd, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t n = write(fd, data, size);

        if (n < 0 && errno != EINTR)
            return false;
        if (n > 0) {
            data += n;
            size -= (size_t)n;
        }
    }
    return fsync(fd) == 0;
}

/* Whether this user may write to the existing file: a rename would not check. */
static bool writable(const file_place *p)
{
    int fd = openat(p->dir, p->name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

    if (fd < 0)
        return false;
    close(fd);
    return true;
}

bool place_write(tool_call *c, const file_place *p, const char *path, const char *data, size_t size, pawl_code *rc)
{
    char name[NAME_BYTES];
    bool fine;
    int fd, why;

    if (p->there && !regular(c, path, p->st.st_mode, rc))
        return false;
    if (!place_allowed(c, p, path, -1, p->there ? &p->st : NULL, rc))
        return false;
    if (p->there && !writable(p))
        return errno_to_reply(c, path, rc);
    if ((fd = fresh(p, name, p->there ? 0600 : 0666)) < 0)
        return errno_to_reply(c, path, rc);
    if (p->there && fchown(fd, p->st.st_uid, p->st.st_gid) != 0)
        errno = 0;              /* the new file now belongs to us */
    fine = (!p->there || fchmod(fd, p->st.st_mode & 0777) == 0) && fill(fd, data, size);
    why = errno;
    fine = close(fd) == 0 && fine && renameat(p->dir, name, p->dir, p->name) == 0;
    if (!fine) {
        why = why != 0 ? why : errno;
        unlinkat(p->dir, name, 0);
        errno = why;
        return errno_to_reply(c, path, rc);
    }
    if ((fd = openat(p->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) >= 0) {
        (void)fsync(fd);        /* some file systems do not support it */
        close(fd);
    }
    return true;
}

void place_put(buf *out, const roots *r, const file_place *p, const char *more)
{
    const char *home = r->all[0].real, *path = p->path;
    size_t n = strcmp(home, "/") == 0 ? 0 : strlen(home);

    if (strncmp(path, home, n) == 0 && (path[n] == '/' || path[n] == '\0'))
        path += n + (path[n] == '/');
    plain_put(out, path, strlen(path));
    if (more == NULL && *path == '\0')
        buf_char(out, '.');
    if (more == NULL)
        return;
    if (*path != '\0')
        buf_char(out, '/');
    plain_put(out, more, strlen(more));
}
