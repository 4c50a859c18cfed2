/* hard_links.c - see hard_links.h.
 *
 * Called by the tools and by the effect `links`, on any thread, for a file that has more than one name. The kernel does not tell the names of a file, so
 * those of the denied files are looked for: first the plain paths of the rules, and where a rule has wildcards all names below its first plain folders.
 * Links are not followed there: what they lead to has a name of its own. */
#define _GNU_SOURCE             /* d_type, realpath */
#include "effect/hard_links.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

enum { FOLDERS_DEEP = 64 };     /* as many are open at a time */

typedef struct denied_file { dev_t dev; ino_t ino; const char *path; bool read; } denied_file;

struct denied_files {
    denied_file *all;
    size_t n, cap;
    bool cut;
};

typedef struct denied_search {
    arena *mem;
    const pawl_policy *p;
    const file_use *u;
    denied_stop_fn *stop;
    void *ctx;
    denied_files *out;
    denied_top *tops;           /* these are looked for instead of files; NULL: not */
    size_t ntops;
    unsigned within, inside;    /* folders around, that are only denied to edit; to read */
    const char *const *shown;   /* folders in which other names of what is denied are looked for, too */
    size_t nshown;
    const char **places;        /* from which it searches; none lies in another */
    size_t nplaces, places_cap, seen, seen_inside;
    bool inside_cut;
    char path[PATH_MAX];
} denied_search;

static bool below_or_same(const char *folder, const char *path)
{
    const size_t n = strcmp(folder, "/") == 0 ? 0 : strlen(folder);

    return strncmp(folder, path, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

/* ---- places ------------------------------------------------------------------------------------------------ */

static bool place_note(void *ctx, const char *path)
{
    denied_search *s = ctx;
    void *places = s->places;
    size_t n = strlen(path);

    while (n > 1 && path[n - 1] == '/')
        n--;
    if ((path = arena_strdup(s->mem, path, n)) == NULL)
        return false;
    for (size_t i = 0; i < s->nplaces; i++) {
        if (below_or_same(s->places[i], path))
            return true;
        if (below_or_same(path, s->places[i]))
            s->places[i--] = s->places[--s->nplaces];
    }
    if (!arena_room(s->mem, &places, &s->places_cap, s->nplaces, sizeof *s->places))
        return false;
    s->places = places;
    s->places[s->nplaces++] = path;
    return true;
}

/* ---- names --------------------------------------------------------------------------------------------------- */

/* What the rules deny at s->path; true: reading. */
static bool top_note(denied_search *s)
{
    const file_use u = { .tool = "Read", .cls = PAWL_PERMISSION_READ, .time_ms = s->u->time_ms };
    const bool read = file_rule_denies(s->p, &u, s->path) != NULL;
    char real[PATH_MAX];

    if (!read && s->within > 0)
        return false;
    if (s->ntops == DENIED_TOPS_MAX) {
        s->out->cut = true;
    } else if (realpath(s->path, real) != NULL) {
        s->tops[s->ntops] = (denied_top){ arena_text(s->mem, real), read };
        s->ntops += s->tops[s->ntops].path != NULL;
    }
    return read;
}

static void file_put(denied_search *s, const struct stat *st, bool read)
{
    denied_files *d = s->out;
    void *all = d->all;

    if (!arena_room(s->mem, &all, &d->cap, d->n, sizeof *d->all))
        return;
    d->all = all;
    d->all[d->n] = (denied_file){ st->st_dev, st->st_ino, arena_text(s->mem, s->path), read };
    d->n += d->all[d->n].path != NULL;
}

/* Of files also one that has one name now: it may get another until the result is used. Of tops only others may be anywhere else. */
static void file_note(denied_search *s, const struct stat *st)
{
    bool read = true;

    if (!S_ISREG(st->st_mode))
        return;
    if (s->tops != NULL && s->inside == 0)
        read = top_note(s);
    if (s->tops == NULL || st->st_nlink > 1)
        file_put(s, st, read);
}

static bool denies(const denied_search *s)
{
    return s->inside > 0 || file_rule_denies(s->p, s->u, s->path) != NULL;
}

/* A folder at s->path. Of one that is shown and denied to read, the files that have other names are of interest. False: nothing in it is. */
static bool folder_note(denied_search *s, bool *within, bool *inside)
{
    *within = *inside = false;
    if (s->tops == NULL || s->inside > 0 || !denies(s))
        return true;
    *inside = top_note(s);
    *within = !*inside;
    for (size_t i = 0; *inside && i < s->nshown; i++)
        if (below_or_same(s->shown[i], s->path))
            return true;
    return !*inside;
}

static bool is_stopped(denied_search *s, size_t seen)
{
    return seen % 256 == 0 && s->stop != NULL && s->stop(s->ctx);
}

/* Names inside of what is denied to read have their own number: the places of other rules are looked at all the same. */
static bool enough(denied_search *s)
{
    if (s->inside > 0) {
        s->inside_cut = s->inside_cut || ++s->seen_inside > DENIED_INSIDE_MAX || is_stopped(s, s->seen_inside);
        return s->inside_cut || s->mem->failed;
    }
    if (++s->seen > DENIED_SEEN_MAX || is_stopped(s, s->seen))
        s->out->cut = true;
    return s->out->cut || s->mem->failed;
}

/* A look at one name of the folder `dir`, which lies at the first `size` bytes of s->path. */
typedef void name_fn(denied_search *s, int dir, const struct dirent *e, size_t size, unsigned depth);

/* Takes `fd`. A folder that cannot be read by us cannot be linked from by us either. */
static void folder_each(denied_search *s, int fd, size_t size, unsigned depth, name_fn *look)
{
    DIR *dir = fdopendir(fd);
    struct dirent *e;

    if (dir == NULL) {
        close(fd);
        s->out->cut = true;
        return;
    }
    while (!enough(s) && (e = readdir(dir)) != NULL)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            look(s, fd, e, size, depth);
    closedir(dir);
}

static void name_check(denied_search *s, int dir, const struct dirent *e, size_t size, unsigned depth)
{
    const size_t n = strlen(e->d_name);
    bool within, inside;
    struct stat st;
    int fd;

    if (size + n + 2 > sizeof s->path) {
        s->out->cut = true;
        return;
    }
    s->path[size] = '/';
    memcpy(s->path + size + 1, e->d_name, n + 1);
    if (e->d_type != DT_DIR && e->d_type != DT_UNKNOWN) {
        if (e->d_type == DT_REG && denies(s) && fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
            file_note(s, &st);
        return;
    }
    if (fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return;
    if (S_ISREG(st.st_mode) && denies(s))
        file_note(s, &st);
    if (!S_ISDIR(st.st_mode) || !folder_note(s, &within, &inside))
        return;
    s->within += within;
    s->inside += inside;
    if (depth == FOLDERS_DEEP)
        s->out->cut = true;
    else if ((fd = openat(dir, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) >= 0)
        folder_each(s, fd, size + 1 + n, depth + 1, name_check);
    s->within -= within;
    s->inside -= inside;
}

static void place_search(denied_search *s, const char *path)
{
    const size_t n = strcmp(path, "/") == 0 ? 0 : strlen(path);
    bool within, inside;
    struct stat st;
    int fd;

    if (n >= sizeof s->path || stat(path, &st) != 0)
        return;
    memcpy(s->path, path, n);
    s->path[n] = '\0';
    if (S_ISREG(st.st_mode) && denies(s))
        file_note(s, &st);
    if (!S_ISDIR(st.st_mode) || !folder_note(s, &within, &inside))
        return;
    s->within += within;
    s->inside += inside;
    if ((fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) >= 0)
        folder_each(s, fd, n, 1, name_check);
    s->within -= within;
    s->inside -= inside;
}

static int by_inode(const void *a, const void *b)
{
    const denied_file *x = a, *y = b;

    if (x->dev != y->dev)
        return x->dev < y->dev ? -1 : 1;
    return x->ino != y->ino ? (x->ino < y->ino ? -1 : 1) : 0;
}

/* ---- found ---------------------------------------------------------------------------------------------------- */

static denied_search *search_all(arena *mem, const pawl_policy *p, const file_use *u, const denied_shown *shown, denied_stop_fn *stop, void *ctx)
{
    denied_search *s = arena_zero(mem, sizeof *s);

    if (s == NULL || (s->out = arena_zero(mem, sizeof *s->out)) == NULL)
        return NULL;
    if (shown != NULL && (s->tops = arena_zero(mem, (DENIED_TOPS_MAX + 1) * sizeof *s->tops)) == NULL)
        return NULL;
    if (shown != NULL) {
        s->shown = shown->folders;
        s->nshown = shown->n;
    }
    s->mem = mem;
    s->p = p;
    s->u = u;
    s->stop = stop;
    s->ctx = ctx;
    file_rule_places(p, u, place_note, s);
    for (size_t i = 0; i < s->nplaces && !s->out->cut; i++)
        place_search(s, s->places[i]);
    return mem->failed ? NULL : s;
}

denied_files *denied_files_find(arena *mem, const pawl_policy *p, const file_use *u, denied_stop_fn *stop, void *ctx)
{
    denied_search *s = search_all(mem, p, u, NULL, stop, ctx);

    if (s != NULL && s->out->n > 0)
        qsort(s->out->all, s->out->n, sizeof *s->out->all, by_inode);
    return s != NULL ? s->out : NULL;
}

const char *denied_files_twin(const denied_files *d, const struct stat *st)
{
    const denied_file key = { .dev = st->st_dev, .ino = st->st_ino }, *found = d->n == 0 ? NULL : bsearch(&key, d->all, d->n, sizeof key, by_inode);

    return found != NULL ? found->path : NULL;
}

/* ---- other names, anywhere in the folders that are shown ------------------------------------------------------------ */

static void twin_check(denied_search *s, int dir, const struct dirent *e, size_t size, unsigned depth)
{
    const size_t n = strlen(e->d_name);
    file_use u = *s->u;
    const denied_file *found;
    denied_file key;
    struct stat st;
    int fd;

    if ((e->d_type != DT_DIR && e->d_type != DT_REG && e->d_type != DT_UNKNOWN) || fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return;
    if (size + n + 2 > sizeof s->path) {
        s->out->cut = true;
        return;
    }
    s->path[size] = '/';
    memcpy(s->path + size + 1, e->d_name, n + 1);
    if (S_ISDIR(st.st_mode) && depth == FOLDERS_DEEP)
        s->out->cut = true;
    else if (S_ISDIR(st.st_mode) && (fd = openat(dir, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) >= 0)
        folder_each(s, fd, size + 1 + n, depth + 1, twin_check);
    if (!S_ISREG(st.st_mode) || st.st_nlink < 2)
        return;
    key = (denied_file){ .dev = st.st_dev, .ino = st.st_ino };
    if ((found = bsearch(&key, s->out->all, s->out->n, sizeof key, by_inode)) == NULL)
        return;
    if (found->read)
        u = (file_use){ .tool = "Read", .cls = PAWL_PERMISSION_READ, .time_ms = u.time_ms };
    if (file_rule_denies(s->p, &u, s->path) != NULL)
        return;                 /* by its own name */
    if (s->ntops == DENIED_TOPS_MAX)
        s->out->cut = true;
    else if ((s->tops[s->ntops].path = arena_text(s->mem, s->path)) != NULL)
        s->tops[s->ntops++].read = found->read;
}

/* Only where a denied file has another name: then it is looked for, for a program may find it, too. */
static void twins_find(denied_search *s)
{
    if (s->out->n == 0)
        return;
    qsort(s->out->all, s->out->n, sizeof *s->out->all, by_inode);
    for (size_t i = 1; i < s->out->n; i++)      /* of names that are denied in different ways the stricter counts */
        for (size_t k = i; k > 0 && by_inode(&s->out->all[k], &s->out->all[k - 1]) == 0 && s->out->all[k].read != s->out->all[k - 1].read; k--)
            s->out->all[k].read = s->out->all[k - 1].read = true;
    for (size_t i = 0; i < s->nshown; i++) {
        const size_t n = strcmp(s->shown[i], "/") == 0 ? 0 : strlen(s->shown[i]);
        int fd;

        if (n >= sizeof s->path || (fd = open(s->shown[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
            continue;
        memcpy(s->path, s->shown[i], n);
        folder_each(s, fd, n, 1, twin_check);
    }
}

const denied_top *denied_tops_find(arena *mem, const pawl_policy *p, const file_use *u, const denied_shown *shown, denied_stop_fn *stop, void *ctx, size_t *n,
                                   bool *cut)
{
    denied_search *s = search_all(mem, p, u, shown, stop, ctx);

    if (s != NULL)
        twins_find(s);
    *n = s != NULL ? s->ntops : 0;
    *cut = s == NULL || s->out->cut || s->inside_cut;
    return s != NULL ? s->tops : NULL;
}

/* ---- links in rules --------------------------------------------------------------------------------------------- */

typedef struct denied_way { const char *said, *real; } denied_way;

struct denied_ways {
    arena *mem;
    const pawl_policy *p;
    file_use u;
    denied_way *all;
    size_t n, cap;
};

static bool way_note(void *ctx, const char *place)
{
    denied_ways *w = ctx;
    void *all = w->all;
    char real[PATH_MAX];
    size_t n = strlen(place);

    while (n > 1 && place[n - 1] == '/')
        n--;
    if (realpath(place, real) == NULL || (strlen(real) == n && memcmp(real, place, n) == 0))
        return true;
    if (!arena_room(w->mem, &all, &w->cap, w->n, sizeof *w->all))
        return false;
    w->all = all;
    w->all[w->n++] = (denied_way){ arena_strdup(w->mem, place, n), arena_text(w->mem, real) };
    return !w->mem->failed;
}

denied_ways *denied_ways_find(arena *mem, const pawl_policy *p, const file_use *u)
{
    denied_ways *w = arena_zero(mem, sizeof *w);

    if (w == NULL)
        return NULL;
    w->mem = mem;
    w->p = p;
    w->u = *u;
    file_rule_places(p, u, way_note, w);
    return mem->failed ? NULL : w;
}

const char *denied_ways_name(const denied_ways *w, arena *mem, const char *path)
{
    char name[2 * PATH_MAX];

    for (size_t i = 0; i < w->n; i++) {
        const char *real = w->all[i].real;
        const size_t n = strcmp(real, "/") == 0 ? 0 : strlen(real);

        if (!below_or_same(real, path))
            continue;
        if (snprintf(name, sizeof name, "%s%s", w->all[i].said, path + n) < (int)sizeof name && file_rule_denies(w->p, &w->u, name) != NULL)
            return arena_text(mem, name);
    }
    return NULL;
}

bool denied_files_cut(const denied_files *d)
{
    return d->cut;
}
