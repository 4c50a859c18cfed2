/* glob.c - the tool `glob`: files by a pattern of their path.
 *
 * Called by call.c. Owns what was found until the reply is made. */
#include "effect/tool/tool.h"
#include "net/net.h"

#include <stdlib.h>

enum { FOUND_MAX = 1000, KEPT_MAX = 100000, GLOB_MS = 20000 };

typedef struct found_file { const char *path; struct timespec when; } found_file;
typedef struct globbing {
    tool_call *c;
    pattern p;
    found_file *all;
    size_t n, cap;
    bool full, nomem;
} globbing;

static bool wants(void *ctx, const char *path)
{
    const globbing *g = ctx;

    return pattern_fits(&g->p, path);
}

static bool take(void *ctx, const walked *w)
{
    globbing *g = ctx;
    void *all = g->all;

    if (opened_hides(g->c, w->whole, -1, -1, NULL))
        return true;
    if (g->n == KEPT_MAX) {
        g->full = true;
        return false;
    }
    g->nomem = !arena_room(&g->c->mem, &all, &g->cap, g->n, sizeof *g->all);
    g->all = all;
    if (g->nomem || (g->all[g->n].path = arena_text(&g->c->mem, w->path)) == NULL) {
        g->nomem = true;
        return false;
    }
    g->all[g->n++].when = w->st->st_mtim;
    return true;
}

static int newest(const void *a, const void *b)
{
    const found_file *x = a, *y = b;

    if (x->when.tv_sec != y->when.tv_sec)
        return x->when.tv_sec > y->when.tv_sec ? -1 : 1;
    if (x->when.tv_nsec != y->when.tv_nsec)
        return x->when.tv_nsec > y->when.tv_nsec ? -1 : 1;
    return strcmp(x->path, y->path);
}

static pawl_code matches_report(globbing *g, const walk *w, const file_place *at, const roots *r)
{
    const char *sort = input_text(g->c, "sort");
    buf *out = &g->c->out;

    if (g->n > 0 && (sort == NULL || strcmp(sort, "newest") == 0))
        qsort(g->all, g->n, sizeof *g->all, newest);
    for (size_t i = 0; i < g->n && i < FOUND_MAX; i++) {
        place_put(out, r, at, g->all[i].path);
        buf_char(out, '\n');
    }
    if (g->n == 0)
        buf_text(out, "(no file fits)\n");
    if (g->n > FOUND_MAX)
        buf_fmt(out, "[truncated: %d of %s%zu files are shown]\n", FOUND_MAX, g->full ? "more than " : "", g->n);
    opened_hidden_put(g->c);
    walk_ignored_put(w);
    if (w->cut != NULL)
        buf_fmt(out, "[not all was looked at: %s; give a narrower path]\n", w->cut);
    return tool_text(g->c, CUT_END, false);
}

/* A pattern may be absolute: the workspace's path is removed. */
static const char *from_here(const roots *r, const char *text)
{
    for (int real = 0; real < 2; real++) {
        const char *folder = real ? r->all[0].real : r->all[0].said;
        size_t n = strlen(folder);

        if (n > 1 && strncmp(text, folder, n) == 0 && text[n] == '/' && text[n + 1] != '\0')
            return text + n;
    }
    return text;
}

pawl_code tool_glob(tool_call *c)
{
    const char *path = input_text(c, "path"), *text = input_text(c, "pattern"), *wrong;
    globbing *g = arena_zero(&c->mem, sizeof *g);
    roots *r;
    walk w = { .c = c, .fn = take, .wants = wants, .ctx = g, .until_ms = clock_ms() + GLOB_MS, .all = input_flag(c, "no_ignore") };
    pawl_code rc = PAWL_OK;
    bool replied = false;
    file_place p;

    if (g == NULL)
        return tool_nomem(c);
    g->c = c;
    if ((r = roots_open(c, &rc)) == NULL)
        return rc;
    if ((wrong = pattern_make(&c->mem, path == NULL ? from_here(r, text) : text, &g->p)) != NULL) {
        rc = c->mem.failed ? tool_nomem(c) : tool_error(c, "Invalid arguments: pattern: %s", wrong);
    } else {
        if (place_seek(c, r, path != NULL ? path : ".", MISSING_IS_ERROR, &p, &rc)) {
            if (!S_ISDIR(p.st.st_mode))
                rc = tool_error(c, "Invalid arguments: %s: it is no folder", path);
            else if ((rc = walk_below(&w, &p, path != NULL ? path : ".", &replied)) == PAWL_OK && !replied)
                rc = g->nomem ? tool_nomem(c) : matches_report(g, &w, &p, r);
        }
        place_free(&p);
    }
    roots_close(r);
    return rc;
}
