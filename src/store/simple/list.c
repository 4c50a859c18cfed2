/* list.c - lists over the runs of a store of three methods: by filter, by the time when they are due, by their waits.
 *
 * Owns the briefs of a handle: what it keeps of each head that it has listed, with the version. Called through the verbs list, due, next_due and waits.
 * Invariant: a brief is used only while the store lists its run with the same version. */
#include "store/simple/simple.h"

#include <stdio.h>
#include <stdlib.h>

static void brief_clear(simple_handle *h, simple_brief *b)
{
    mem_free(&h->alloc, b->block, b->block_bytes);
    *b = (simple_brief){ .block = NULL };
}

void briefs_free(simple_handle *h)
{
    for (size_t i = 0; i < h->nbriefs; i++)
        brief_clear(h, &h->briefs[i]);
    mem_free(&h->alloc, h->briefs, h->briefs_cap * sizeof *h->briefs);
    hash_index_free(&h->brief_index, &h->alloc);
}

static size_t text_bytes(const char *text)
{
    return text == NULL ? 0 : strlen(text) + 1;
}

static void text_move(char **to, const char **text)
{
    size_t n = text_bytes(*text);

    if (n > 0)
        *text = memcpy(*to, *text, n);
    *to += n;
}

static bool brief_fill(simple_handle *h, simple_brief *b, const simple_run *r)
{
    pawl_head head = r->head;
    const char **texts[] = { &head.run, &head.machine, &head.context, &head.parent, &head.owner, &head.parked };
    size_t bytes = 0;
    char *to;

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        bytes += text_bytes(*texts[i]);
    for (size_t i = 0; i < r->nlabels; i++)
        bytes += text_bytes(r->labels[i]);
    if ((to = mem_new(&h->alloc, bytes)) == NULL)
        return false;
    brief_clear(h, b);
    b->block = to;
    b->block_bytes = bytes;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        text_move(&to, texts[i]);
    memcpy(b->labels, r->labels, sizeof b->labels);
    for (size_t i = 0; i < r->nlabels; i++)
        text_move(&to, &b->labels[i]);
    b->nlabels = r->nlabels;
    b->head = head;
    b->version = r->version;
    b->listed = true;
    return true;
}

static simple_brief *brief_find(simple_handle *h, const char *run)
{
    const uint32_t key = simple_hash(run);
    uint32_t at = hash_index_first(&h->brief_index, key), i;

    while ((i = hash_index_next(&h->brief_index, key, &at)) != UINT32_MAX)
        if (strcmp(h->briefs[i].head.run, run) == 0)
            return &h->briefs[i];
    return NULL;
}

static pawl_code brief_load(simple_handle *h, const char *run, pawl_err *err)
{
    pawl_err why = { PAWL_OK, "" };
    simple_brief *b = brief_find(h, run);
    simple_run r;
    pawl_code rc = run_open(h, run, true, &r, &why);

    if (rc == PAWL_GONE)
        return PAWL_OK;         /* it was removed meanwhile, or is not begun */
    if (rc != PAWL_OK)
        return fail(err, rc, "%s", why.text);
    if (b == NULL) {
        if (!mem_room(&h->alloc, (void **)&h->briefs, &h->briefs_cap, h->nbriefs, sizeof *b) ||
            !hash_index_add(&h->brief_index, &h->alloc, simple_hash(run), (uint32_t)h->nbriefs))
            return fail(err, PAWL_NOMEM, "no memory for a list of runs");
        b = &h->briefs[h->nbriefs++];
        *b = (simple_brief){ .head = { .run = "" } };
    }
    return brief_fill(h, b, &r) ? PAWL_OK : fail(err, PAWL_NOMEM, "no memory for a list of runs");
}

/* Drops the briefs of runs that are not there any more. */
static void briefs_sweep(simple_handle *h)
{
    for (size_t i = 0; i < h->nbriefs;) {
        simple_brief *b = &h->briefs[i], *last = &h->briefs[h->nbriefs - 1];

        if (b->listed) {
            i++;
            continue;
        }
        hash_index_remove(&h->brief_index, simple_hash(b->head.run), (uint32_t)i);
        brief_clear(h, b);
        if (b != last) {
            hash_index_remove(&h->brief_index, simple_hash(last->head.run), (uint32_t)(h->nbriefs - 1));
            *b = *last;
            (void)hash_index_add(&h->brief_index, &h->alloc, simple_hash(b->head.run), (uint32_t)i);    /* a place was just freed */
        }
        h->nbriefs--;
    }
}

/* The heads of all runs as they are now. */
static pawl_code briefs_read(simple_handle *h, pawl_err *err)
{
    char prefix[PAWL_KEY_BYTES_MAX + 1];
    simple_keys keys;
    pawl_code rc;

    simple_begin(h);
    head_key(h, "", prefix);
    if ((rc = record_list(h, prefix, &keys, err)) != PAWL_OK)
        return rc;
    for (size_t i = 0; i < h->nbriefs; i++)
        h->briefs[i].listed = false;
    for (size_t i = 0; i < keys.n && rc == PAWL_OK; i++) {
        const char *run = keys.all[i].key + strlen(prefix);
        simple_brief *b = brief_find(h, run);

        if (b != NULL && keys.all[i].version != 0 && b->version == keys.all[i].version)
            b->listed = true;
        else
            rc = brief_load(h, run, err);
    }
    if (rc == PAWL_OK)
        briefs_sweep(h);
    return rc;
}

/* ---- orders ---------------------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)      /* newest first */
{
    const pawl_head *x = &(*(simple_brief *const *)a)->head, *y = &(*(simple_brief *const *)b)->head;

    return (x->no < y->no) - (x->no > y->no);
}

static int by_due(const void *a, const void *b)
{
    const pawl_head *x = &(*(simple_brief *const *)a)->head, *y = &(*(simple_brief *const *)b)->head;

    return x->look_ms != y->look_ms ? (x->look_ms > y->look_ms) - (x->look_ms < y->look_ms) : (x->no > y->no) - (x->no < y->no);
}

typedef bool brief_fits_fn(const simple_brief *b, const void *ctx);

/* Those that fit, in that order, in h->work. */
static pawl_code briefs_pick(simple_handle *h, brief_fits_fn *fits, const void *ctx, int (*order)(const void *, const void *), simple_brief ***out,
                             size_t *n, pawl_err *err)
{
    pawl_code rc = briefs_read(h, err);

    *n = 0;
    if (rc != PAWL_OK || h->nbriefs == 0)
        return rc;
    if ((*out = arena_get(&h->work, h->nbriefs * sizeof **out)) == NULL)
        return fail(err, PAWL_NOMEM, "no memory for a list of runs");
    for (size_t i = 0; i < h->nbriefs; i++)
        if (fits(&h->briefs[i], ctx))
            (*out)[(*n)++] = &h->briefs[i];
    if (*n > 1)
        qsort(*out, *n, sizeof **out, order);
    return PAWL_OK;
}

/* ---- by filter --------------------------------------------------------------------------------------------- */

static bool text_matches(const char *asked, const char *text)
{
    return asked == NULL || (text != NULL && strcmp(asked, text) == 0);
}

static bool has_label(const simple_brief *b, const char *label)
{
    for (size_t i = 0; i < b->nlabels; i++)
        if (strcmp(label, b->labels[i]) == 0)
            return true;
    return false;
}

static bool filter_fits(const simple_brief *b, const void *ctx)
{
    const pawl_filter *f = ctx;
    const pawl_head *d = &b->head;

    return (f->before == 0 || d->no < f->before) && (f->begins == NULL || strncmp(d->run, f->begins, strlen(f->begins)) == 0) &&
           text_matches(f->machine, d->machine) && text_matches(f->context, d->context) && text_matches(f->parent, d->parent) &&
           (f->label == NULL || has_label(b, f->label)) && (f->status == 0 || f->status == 1 + d->status) && (!f->waiting || d->waits > 0) &&
           (!f->parked || d->parked != NULL) && (!f->held || d->owner != NULL) && d->changed_ms >= f->changed_since_ms;
}

pawl_code simple_list(pawl_store *s, const pawl_filter *f, pawl_head_fn *fn, void *ctx, pawl_err *err)
{
    static const pawl_filter any;
    simple_brief **all;
    pawl_code rc;
    size_t n, limit;

    if (fn == NULL)
        return fail(err, PAWL_INVALID, "a list needs a callback");
    if (f == NULL)
        f = &any;
    limit = f->limit == 0 ? STORE_LIST_LIMIT : f->limit;
    rc = briefs_pick(simple_of(s), filter_fits, f, by_number, &all, &n, err);
    for (size_t i = 0; i < n && i < limit && rc == PAWL_OK; i++)
        if (!fn(ctx, &all[i]->head))
            break;
    return rc;
}

/* ---- by time ------------------------------------------------------------------------------------------------- */

typedef struct due_question { int64_t asked_ms, now_ms; const pawl_due *after; } due_question;

static bool due_fits(const simple_brief *b, const void *ctx)
{
    const due_question *q = ctx;
    const pawl_head *d = &b->head;

    if (d->look_ms == 0 || !store_is_due(d, q->asked_ms, q->now_ms))
        return false;
    return q->after == NULL || d->look_ms > q->after->look_ms || (d->look_ms == q->after->look_ms && d->no > q->after->no);
}

pawl_code simple_due(pawl_store *s, int64_t now_ms, const pawl_due *after, size_t limit, pawl_head_fn *fn, void *ctx, pawl_err *err)
{
    const due_question q = { now_ms, simple_now(s), after };
    simple_brief **all;
    pawl_code rc;
    size_t n;

    if (fn == NULL)
        return fail(err, PAWL_INVALID, "a list of due runs needs a callback");
    rc = briefs_pick(simple_of(s), due_fits, &q, by_due, &all, &n, err);
    for (size_t i = 0; i < n && i < limit && rc == PAWL_OK; i++)
        if (!fn(ctx, &all[i]->head))
            break;
    return rc;
}

int64_t simple_next_due(pawl_store *s)
{
    simple_handle *h = simple_of(s);
    int64_t first = 0;

    if (briefs_read(h, NULL) != PAWL_OK)
        return 0;
    for (size_t i = 0; i < h->nbriefs; i++) {
        int64_t at = h->briefs[i].head.wake_ms;

        first = at != 0 && (first == 0 || at < first) ? at : first;
    }
    return first;
}

/* ---- waits ------------------------------------------------------------------------------------------------------ */

typedef struct wait_reading { pawl_waiting_fn *fn; void *ctx; bool stopped; } wait_reading;

static pawl_code waits_emit(simple_run *r, void *ctx, pawl_err *err)
{
    wait_reading *g = ctx;
    pawl_code rc = PAWL_OK;

    for (size_t i = 0; i < r->nwaits && rc == PAWL_OK; i++)     /* all of them, before the callback is called */
        rc = lump_get(r, &r->waits[i].spec, &r->waits[i].spec.bytes, err);
    for (size_t i = 0; i < r->nwaits && rc == PAWL_OK && !g->stopped; i++) {
        const simple_wait *w = &r->waits[i];

        g->stopped = !g->fn(g->ctx, r->head.run, &(pawl_waiting){ .id = w->id, .spec = w->spec.bytes, .asked_ms = w->asked_ms, .answered = w->answer != 0 });
    }
    return rc;
}

static bool waits_fit(const simple_brief *b, const void *ctx)
{
    (void)ctx;
    return b->head.waits > 0;
}

pawl_code simple_waits(pawl_store *s, const char *run, pawl_waiting_fn *fn, void *ctx, pawl_err *err)
{
    simple_handle *h = simple_of(s);
    wait_reading g = { fn, ctx, false };
    simple_brief **all;
    pawl_code rc;
    size_t n;

    if (fn == NULL)
        return fail(err, PAWL_INVALID, "a list of waits needs a callback");
    if (run != NULL) {
        simple_begin(h);
        return run_query(h, run, waits_emit, &g, err);
    }
    rc = briefs_pick(h, waits_fit, NULL, by_number, &all, &n, err);
    for (size_t i = n; i-- > 0 && rc == PAWL_OK && !g.stopped;) {       /* the oldest run first */
        pawl_err why = { PAWL_OK, "" };

        rc = run_query(h, all[i]->head.run, waits_emit, &g, &why);
        if (rc == PAWL_GONE)
            rc = PAWL_OK;
        else if (rc != PAWL_OK)
            fail(err, rc, "%s", why.text);
    }
    return rc;
}
