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

typedef struct denied_file { dev_t dev; ino_t ino; const char *path; } denied_file;

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
    unsigned within;            /* folders around, that are only denied to edit */
    const char **places;        /* from which it searches; none lies in another */
    size_t nplaces, places_cap, seen;
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

/* What is denied at s->path: true, if to read. */
static bool top_note(denied_search *s)
{
    const file_use u = { .tool = "Read", .cls = PAWL_READ, .time_ms = s->u->time_ms };
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

/* Also a file that has one name now: it may get another until the result is used. */
static void file_note(denied_search *s, const struct stat *st)
{
    denied_files *d = s->out;
    void *all = d->all;

    if (s->tops != NULL && S_ISREG(st->st_mode)) {
        (void)top_note(s);
        return;
    }
    if (!S_ISREG(st->st_mode) || !arena_room(s->mem, &all, &d->cap, d->n, sizeof *d->all))
        return;
    d->all = all;
    d->all[d->n] = (denied_file){ st->st_dev, st->st_ino, arena_text(s->mem, s->path) };
    d->n += d->all[d->n].path != NULL;
}

static bool enough(denied_search *s)
{
    if (++s->seen > DENIED_SEEN_MAX || (s->seen % 256 == 0 && s->stop != NULL && s->stop(s->ctx)))
        s->out->cut = true;
    return s->out->cut || s->mem->failed;
}

static void folder_search(denied_search *s, int fd, size_t size, unsigned depth);

static void name_look(denied_search *s, int dir, const struct dirent *e, size_t size, unsigned depth)
{
    const size_t n = strlen(e->d_name);
    bool within = false;
    struct stat st;
    int fd;

    if (size + n + 2 > sizeof s->path) {
        s->out->cut = true;
        return;
    }
    s->path[size] = '/';
    memcpy(s->path + size + 1, e->d_name, n + 1);
    if (e->d_type != DT_DIR && e->d_type != DT_UNKNOWN) {
        if (e->d_type == DT_REG && file_rule_denies(s->p, s->u, s->path) != NULL && fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
            file_note(s, &st);
        return;
    }
    if (fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return;
    if (S_ISREG(st.st_mode) && file_rule_denies(s->p, s->u, s->path) != NULL)
        file_note(s, &st);
    if (!S_ISDIR(st.st_mode))
        return;
    if (s->tops != NULL && file_rule_denies(s->p, s->u, s->path) != NULL) {
        if (top_note(s))
            return;             /* and all that lies in it */
        within = true;
    }
    s->within += within;
    if (depth == FOLDERS_DEEP)
        s->out->cut = true;
    else if ((fd = openat(dir, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) >= 0)
        folder_search(s, fd, size + 1 + n, depth + 1);
    s->within -= within;
}

/* Takes `fd`. A folder that cannot be read by us cannot be linked from by us either. */
static void folder_search(denied_search *s, int fd, size_t size, unsigned depth)
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
            name_look(s, fd, e, size, depth);
    closedir(dir);
}

static void place_search(denied_search *s, const char *path)
{
    const size_t n = strcmp(path, "/") == 0 ? 0 : strlen(path);
    bool within = false;
    struct stat st;
    int fd;

    if (n >= sizeof s->path || stat(path, &st) != 0)
        return;
    memcpy(s->path, path, n);
    s->path[n] = '\0';
    if (S_ISREG(st.st_mode) && file_rule_denies(s->p, s->u, path) != NULL)
        file_note(s, &st);
    if (!S_ISDIR(st.st_mode))
        return;
    if (s->tops != NULL && file_rule_denies(s->p, s->u, path) != NULL) {
        if (top_note(s))
            return;
        within = true;
    }
    s->within += within;
    if ((fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) >= 0)
        folder_search(s, fd, n, 1);
    s->within -= within;
}

static int by_inode(const void *a, const void *b)
{
    const denied_file *x = a, *y = b;

    if (x->dev != y->dev)
        return x->dev < y->dev ? -1 : 1;
    return x->ino != y->ino ? (x->ino < y->ino ? -1 : 1) : 0;
}

/* ---- found ---------------------------------------------------------------------------------------------------- */

static denied_search *search_all(arena *mem, const pawl_policy *p, const file_use *u, bool tops, denied_stop_fn *stop, void *ctx)
{
    denied_search *s = arena_zero(mem, sizeof *s);

    if (s == NULL || (s->out = arena_zero(mem, sizeof *s->out)) == NULL)
        return NULL;
    if (tops && (s->tops = arena_zero(mem, (DENIED_TOPS_MAX + 1) * sizeof *s->tops)) == NULL)
        return NULL;
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
    denied_search *s = search_all(mem, p, u, false, stop, ctx);

    if (s != NULL && s->out->n > 0)
        qsort(s->out->all, s->out->n, sizeof *s->out->all, by_inode);
    return s != NULL ? s->out : NULL;
}

const denied_top *denied_tops_find(arena *mem, const pawl_policy *p, const file_use *u, denied_stop_fn *stop, void *ctx, size_t *n, bool *cut)
{
    denied_search *s = search_all(mem, p, u, true, stop, ctx);

    *n = s != NULL ? s->ntops : 0;
    *cut = s == NULL || s->out->cut;
    return s != NULL ? s->tops : NULL;
}

const char *denied_files_twin(const denied_files *d, const struct stat *st)
{
    const denied_file key = { st->st_dev, st->st_ino, NULL }, *found = d->n == 0 ? NULL : bsearch(&key, d->all, d->n, sizeof key, by_inode);

    return found != NULL ? found->path : NULL;
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
