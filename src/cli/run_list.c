/* run_list.c - the runs of a store, newest first; a run whose children have open questions counts as one that asks.
 *
 * Called by `pawl ls`, on the main thread. The store knows only the waits of each run itself. Parents are found from their waiting children: a child
 * starts after its parent, so once all waiting runs newer than some run were read, every parent newer than it is known. */
#include "cli/run_list.h"
#include "host/open_questions.h"

#include <stdlib.h>
#include <string.h>

enum { PORTION = 200 };         /* heads that are read at once */

typedef struct portion {        /* a listing of the store, some heads at a time */
    pawl_filter f;
    arena mem;                  /* for the texts of these heads */
    pawl_head all[PORTION];
    size_t n, at;
    bool last, failed;
} portion;

typedef struct list_wait {      /* all waiting runs, as far as they were read */
    pawl_filter f;
    uint64_t upto;              /* runs with a smaller number are not read yet */
    arena mem;
    const char *parents[PORTION];
    size_t n;
    bool reached, last;
} list_wait;

typedef struct asking_parent {  /* a run with a waiting child; the run was not returned yet */
    arena mem;
    pawl_head head;
} asking_parent;

typedef struct run_listing {
    pawl_store *store;
    const pawl_filter *f;
    portion own;                /* the runs that match the filter */
    list_wait waiting;
    asking_parent **all;        /* sorted by number, the newest last */
    size_t n, cap;
    pawl_head_fn *want, *fn;
    void *ctx;
    size_t left;
    bool with_children;         /* the waits of children are read, too */
    bool stopped;               /* the limit is reached, or `fn` returned false */
    arena mem;                  /* of the current run */
    pawl_err *err;
} run_listing;

/* ---- heads ------------------------------------------------------------------------------------------ */

static void head_keep(arena *mem, pawl_head *out, const pawl_head *h)
{
    *out = *h;
    out->run = arena_text(mem, h->run);
    out->machine = arena_text(mem, h->machine);
    out->context = arena_text(mem, h->context);
    out->parent = arena_text(mem, h->parent);
    out->owner = arena_text(mem, h->owner);
    out->parked = arena_text(mem, h->parked);
}

static bool head_add(void *ctx, const pawl_head *h)
{
    portion *p = ctx;

    head_keep(&p->mem, &p->all[p->n++], h);
    p->failed = p->mem.failed;
    return p->n < PORTION && !p->failed;
}

/* The next head; *out NULL: there is none. Valid until the next call. */
static pawl_code portion_next(run_listing *l, portion *p, const pawl_head **out)
{
    pawl_code rc = PAWL_OK;

    if (p->at == p->n && !p->last) {
        arena_reset(&p->mem);
        p->at = p->n = 0;
        rc = l->store->verbs->list(l->store, &p->f, head_add, p, l->err);
        if (rc == PAWL_OK && p->failed)
            rc = fail(l->err, PAWL_NOMEM, "no memory for the list");
        if (rc != PAWL_OK)
            return rc;
        p->last = p->n < p->f.limit;
        p->f.before = p->n > 0 ? p->all[p->n - 1].no : p->f.before;
        p->f.limit = PORTION;
    }
    *out = p->at < p->n ? &p->all[p->at] : NULL;
    return rc;
}

/* ---- parents of waiting runs ------------------------------------------------------------------------------ */

static void parent_free(asking_parent *a)
{
    if (a != NULL)
        arena_free(&a->mem);
    free(a);
}

/* Its position in the sorted list, or where to insert it. */
static size_t parent_place(const run_listing *l, uint64_t no)
{
    size_t from = 0, to = l->n;

    while (from < to) {
        const size_t mid = from + (to - from) / 2;

        if (l->all[mid]->head.no < no)
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

/* False: it is already there, with all its parents; or there is no memory. */
static bool parent_add(run_listing *l, const pawl_head *h)
{
    const size_t at = parent_place(l, h->no);
    asking_parent *one;

    if (at < l->n && l->all[at]->head.no == h->no)
        return false;
    if (l->n == l->cap) {
        const size_t cap = l->cap == 0 ? 16 : 2 * l->cap;
        asking_parent **all = realloc(l->all, cap * sizeof *all);

        if (all == NULL)
            return !(l->mem.failed = true);
        l->all = all;
        l->cap = cap;
    }
    if ((one = calloc(1, sizeof *one)) == NULL)
        return !(l->mem.failed = true);
    arena_init(&one->mem, NULL, 256);
    head_keep(&one->mem, &one->head, h);
    l->mem.failed = l->mem.failed || one->mem.failed;
    memmove(l->all + at + 1, l->all + at, (l->n - at) * sizeof *l->all);
    l->all[at] = one;
    l->n++;
    return true;
}

/* A run that has ended waits for nobody, and no parent waits for its children. */
static bool parent_see(void *ctx, const pawl_head *h) { return !h->over && parent_add(ctx, h); }

static void parents_find(run_listing *l, const char *parent) { (void)!asks_climb(l->store, parent, parent_see, l, NULL); }

static bool waiting_add(void *ctx, const pawl_head *h)
{
    list_wait *w = ctx;

    w->reached = h->no <= w->upto;
    if (w->reached)
        return false;
    w->f.before = h->no;
    if (h->parent != NULL)
        w->parents[w->n++] = arena_text(&w->mem, h->parent);
    return w->n < PORTION && !w->mem.failed;
}

/* Reads waiting runs down to `no`: afterwards all parents of waiting runs that are newer than `no` are known. */
static pawl_code parents_find_upto(run_listing *l, uint64_t no)
{
    list_wait *w = &l->waiting;
    pawl_code rc = PAWL_OK;

    w->upto = no;
    w->reached = false;
    while (rc == PAWL_OK && !w->reached && !w->last) {
        arena_reset(&w->mem);
        w->n = 0;
        rc = l->store->verbs->list(l->store, &w->f, waiting_add, w, l->err);
        w->last = !w->reached && w->n < PORTION;
        for (size_t i = 0; rc == PAWL_OK && i < w->n && !w->mem.failed; i++)
            parents_find(l, w->parents[i]);
        if (rc == PAWL_OK && (l->mem.failed || w->mem.failed))
            rc = fail(l->err, PAWL_NOMEM, "no memory for the list");
    }
    return rc;
}

/* ---- runs that are returned --------------------------------------------------------------------------------------------- */

static bool same(const char *wanted, const char *is)
{
    return wanted == NULL || (is != NULL && strcmp(wanted, is) == 0);
}

/* Conditions of the filter that the store did not check for a parent that it did not list. */
static bool fits(const pawl_filter *f, const pawl_head *h)
{
    return same(f->machine, h->machine) && same(f->context, h->context) && (!f->parked || h->parked != NULL) && h->changed_ms >= f->changed_since_ms &&
           (f->before == 0 || h->no < f->before) && (f->status == 0 || h->status == f->status - 1) && (!f->waiting || h->waits > 0);
}

static void run_return(run_listing *l, const pawl_head *as_stored)
{
    pawl_head h = *as_stored;
    asks all;

    if (l->want != NULL && !l->want(l->ctx, as_stored))
        return;
    if (l->with_children && h.status == PAWL_STATUS_WORKING && asks_read(l->store, &l->mem, h.run, &all, NULL) == PAWL_OK) {
        h.status = (uint8_t)asks_status(&all, PAWL_STATUS_WORKING);
        h.waits = (uint32_t)all.n;
    }
    arena_reset(&l->mem);
    if (!fits(l->f, &h))
        return;
    l->stopped = !l->fn(l->ctx, &h) || --l->left == 0;
}

/* Returns the parents that come before the next run of the store's listing, or all that are left. */
static pawl_code parents_return(run_listing *l, const pawl_head *next)
{
    const pawl_code rc = parents_find_upto(l, next != NULL ? next->no : 0);

    while (rc == PAWL_OK && !l->stopped && l->n > 0 && (next == NULL || l->all[l->n - 1]->head.no >= next->no)) {
        asking_parent *one = l->all[--l->n];

        if (next == NULL || one->head.no > next->no)
            run_return(l, &one->head);
        parent_free(one);
    }
    return rc;
}

static pawl_code runs_return(run_listing *l)
{
    const bool asked = l->f->waiting || l->f->status == 1 + PAWL_STATUS_INPUT_REQUIRED;
    const pawl_head *next = NULL;
    pawl_code rc;

    do {
        rc = portion_next(l, &l->own, &next);
        if (rc == PAWL_OK && asked)
            rc = parents_return(l, next);
        if (rc == PAWL_OK && !l->stopped && next != NULL) {
            run_return(l, next);
            l->own.at++;
        }
    } while (rc == PAWL_OK && !l->stopped && next != NULL);
    return rc;
}

pawl_code runs_listed(pawl_store *store, const pawl_filter *f, bool ids, pawl_head_fn *want, pawl_head_fn *fn, void *ctx, pawl_err *err)
{
    run_listing *l = calloc(1, sizeof *l);
    pawl_code rc;

    if (l == NULL)
        return fail(err, PAWL_NOMEM, "no memory for the list");
    *l = (run_listing){ .store = store, .f = f, .own.f = *f, .waiting.f = { .waiting = true, .limit = SIZE_MAX }, .want = want, .fn = fn, .ctx = ctx,
                     .left = f->limit, .with_children = !ids || f->status != 0 || f->waiting, .err = err };
    arena_init(&l->mem, NULL, 4096);
    arena_init(&l->own.mem, NULL, 4096);
    arena_init(&l->waiting.mem, NULL, 4096);
    l->own.f.limit = f->limit < PORTION ? f->limit : PORTION;
    rc = runs_return(l);
    while (l->n > 0)
        parent_free(l->all[--l->n]);
    free(l->all);
    arena_free(&l->own.mem);
    arena_free(&l->waiting.mem);
    arena_free(&l->mem);
    free(l);
    return rc;
}
