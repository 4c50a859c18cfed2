/* list.c - lists over the runs of a store of three methods: by filter, by the time when they are due, by their waits.
 *
 * A list takes the keys of all heads and of all hints. A run at rest whose hint says that it is not asked for is left out; of the others the heads are read,
 * as far as the list goes. Owns the briefs of a handle: what it keeps of each head that it has read, with the version. Called through the verbs list, due,
 * next_due and waits. Invariant: a brief, and a hint, is used only while the store lists the head of its run with the same version. */
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

/* A run that a list may give. */
typedef struct candidate {
    const char *run;
    uint64_t version;           /* of its head; 0: not known */
    uint64_t no;                /* its number */
    int64_t look_ms, wake_ms;
    bool hinted;                /* `hint` is true of that version */
    simple_hint hint;
} candidate;
typedef struct candidates { candidate *all; size_t n; } candidates;

/* Reads the head, and gives the run a hint if it has none. *out NULL: it was removed meanwhile, or is not begun. */
static pawl_code brief_read(simple_handle *h, const candidate *c, simple_brief **out, pawl_err *err)
{
    pawl_err why = { PAWL_OK, "" };
    simple_brief *b = brief_find(h, c->run);
    simple_run r;
    pawl_code rc = run_open(h, c->run, true, &r, &why);

    *out = NULL;
    if (rc == PAWL_GONE)
        return PAWL_OK;
    if (rc != PAWL_OK)
        return fail(err, rc, "%s", why.text);
    if (b == NULL) {
        if (!mem_room(&h->alloc, (void **)&h->briefs, &h->briefs_cap, h->nbriefs, sizeof *b) ||
            !hash_index_add(&h->brief_index, &h->alloc, simple_hash(c->run), (uint32_t)h->nbriefs))
            return fail(err, PAWL_NOMEM, "no memory for a list of runs");
        b = &h->briefs[h->nbriefs++];
        *b = (simple_brief){ .head = { .run = "" } };
    }
    if (!brief_fill(h, b, &r))
        return fail(err, PAWL_NOMEM, "no memory for a list of runs");
    if (!c->hinted && !h->blind)
        h->blind = !hint_add(&r);       /* it cannot be stored: the rest of this list tries no more */
    *out = b;
    return PAWL_OK;
}

/* Lent until the next one is asked for. */
static pawl_code brief_get(simple_handle *h, const candidate *c, simple_brief **out, pawl_err *err)
{
    *out = brief_find(h, c->run);
    return *out != NULL && c->version != 0 && (*out)->version == c->version ? PAWL_OK : brief_read(h, c, out, err);
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

static void briefs_mark(simple_handle *h, const candidates *c)
{
    for (size_t i = 0; i < h->nbriefs; i++)
        h->briefs[i].listed = false;
    for (size_t i = 0; i < c->n; i++) {
        simple_brief *b = brief_find(h, c->all[i].run);

        if (b != NULL)
            b->listed = true;
    }
    briefs_sweep(h);
}

/* ---- the runs, and what hints say of them ------------------------------------------------------------------- */

static int by_run(const void *key, const void *one)
{
    return strcmp(key, ((const candidate *)one)->run);
}

/* `facts`: of a hint for `run`, which ends before it. */
static void hint_take(const candidates *c, const char *run, const char *facts, uint64_t version)
{
    char name[STORE_RUN_BYTES_MAX + 1];
    const size_t n = (size_t)(facts - 1 - run);
    candidate *one;
    simple_hint is;

    if (n > STORE_RUN_BYTES_MAX || version == 0)
        return;
    memcpy(name, run, n);
    name[n] = '\0';
    one = bsearch(name, c->all, c->n, sizeof *c->all, by_run);
    if (one == NULL || one->version != version || !hint_read(facts, &is))
        return;
    one->hinted = true;
    one->hint = is;
    one->wake_ms = is.wake_ms;
    one->look_ms = is.parked ? 0 : is.wake_ms;
}

/* All runs whose id begins so, ordered by it, in h->work. */
static pawl_code candidates_read(simple_handle *h, const char *begins, candidates *out, pawl_err *err)
{
    char prefix[PAWL_KEY_BYTES_MAX + 1];
    simple_keys heads, hints;
    size_t space;
    pawl_code rc;

    *out = (candidates){ .n = 0 };
    simple_begin(h);
    head_key(h, "", prefix);
    space = strlen(prefix);
    if (begins != NULL) {
        if (strlen(begins) > STORE_RUN_BYTES_MAX)
            return PAWL_OK;
        head_key(h, begins, prefix);
    }
    if ((rc = record_list(h, prefix, &heads, err)) != PAWL_OK || heads.n == 0)
        return rc;
    if ((out->all = arena_zero(&h->work, heads.n * sizeof *out->all)) == NULL)
        return fail(err, PAWL_NOMEM, "no memory for a list of runs");
    h->blind = false;
    for (size_t i = 0; i < heads.n; i++) {
        const simple_key *k = &heads.all[i];

        out->all[out->n++] = (candidate){ .run = k->key + space, .version = k->version, .no = k->version >> 32 };
        h->blind = h->blind || k->version == 0;
    }
    if (begins == NULL)
        briefs_mark(h, out);
    if (h->blind)
        return PAWL_OK;
    *prefix = 'm';
    if ((rc = record_list(h, prefix, &hints, err)) != PAWL_OK)
        return rc;
    for (size_t i = 0; i < hints.n; i++) {
        const char *run = hints.all[i].key + space, *facts = strchr(run, '~');

        if (facts != NULL)
            hint_take(out, run, facts + 1, hints.all[i].version);
    }
    return PAWL_OK;
}

typedef bool candidate_fits_fn(const candidate *c, const void *ctx);

/* Leaves out those that do not fit by what their hints say. Of the others each has its number, and with `whole` its times: where these are not known, the
 * head is read. */
static pawl_code candidates_pick(simple_handle *h, const char *begins, candidate_fits_fn *may_fit, const void *ctx, bool whole, candidates *out, pawl_err *err)
{
    pawl_code rc = candidates_read(h, begins, out, err);
    size_t n = 0;

    for (size_t i = 0; i < out->n && rc == PAWL_OK; i++) {
        candidate *c = &out->all[i];
        simple_brief *b = NULL;

        if (c->hinted && !may_fit(c, ctx))
            continue;
        if (c->version == 0 || (whole && !c->hinted)) {
            if ((rc = brief_get(h, c, &b, err)) != PAWL_OK || b == NULL)
                continue;
            c->version = b->version;
            c->no = b->head.no;
            c->look_ms = b->head.look_ms;
            c->wake_ms = b->head.wake_ms;
        }
        out->all[n++] = *c;
    }
    out->n = n;
    return rc;
}

pawl_code hints_complete(simple_handle *h, pawl_err *err)
{
    candidates c;
    simple_brief *b;
    pawl_code rc = candidates_read(h, NULL, &c, err);

    for (size_t i = 0; i < c.n && rc == PAWL_OK && !h->blind; i++)
        if (!c.all[i].hinted)
            rc = brief_read(h, &c.all[i], &b, err);
    return rc;
}

static int by_number(const void *a, const void *b)      /* newest first */
{
    const candidate *x = a, *y = b;

    return (x->no < y->no) - (x->no > y->no);
}

static int by_due(const void *a, const void *b)
{
    const candidate *x = a, *y = b;

    return x->look_ms != y->look_ms ? (x->look_ms > y->look_ms) - (x->look_ms < y->look_ms) : (x->no > y->no) - (x->no < y->no);
}

static void candidates_sort(candidates *c, int (*order)(const void *, const void *))
{
    if (c->n > 1)
        qsort(c->all, c->n, sizeof *c->all, order);
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

static bool filter_may_fit(const candidate *c, const void *ctx)
{
    const pawl_filter *f = ctx;

    return (f->before == 0 || c->no < f->before) && hint_may_fit(&c->hint, f);
}

static bool filter_fits(const simple_brief *b, const pawl_filter *f)
{
    const pawl_head *d = &b->head;

    return (f->before == 0 || d->no < f->before) && (f->begins == NULL || strncmp(d->run, f->begins, strlen(f->begins)) == 0) &&
           text_matches(f->machine, d->machine) && text_matches(f->context, d->context) && text_matches(f->parent, d->parent) &&
           (f->label == NULL || has_label(b, f->label)) && (f->status == 0 || f->status == 1 + d->status) && (!f->waiting || d->waits > 0) &&
           (!f->parked || d->parked != NULL) && (!f->held || d->owner != NULL) && d->changed_ms >= f->changed_since_ms;
}

pawl_code simple_list(pawl_store *s, const pawl_filter *f, pawl_head_fn *fn, void *ctx, pawl_err *err)
{
    static const pawl_filter any;
    simple_handle *h = simple_of(s);
    size_t given = 0, limit;
    candidates c;
    pawl_code rc;

    if (fn == NULL)
        return fail(err, PAWL_INVALID, "a list needs a callback");
    if (f == NULL)
        f = &any;
    limit = f->limit == 0 ? STORE_LIST_LIMIT : f->limit;
    if ((rc = candidates_pick(h, f->begins, filter_may_fit, f, false, &c, err)) != PAWL_OK)
        return rc;
    candidates_sort(&c, by_number);
    for (size_t i = 0; i < c.n && given < limit; i++) {
        simple_brief *b;

        if (f->before != 0 && c.all[i].no >= f->before)
            continue;
        if ((rc = brief_get(h, &c.all[i], &b, err)) != PAWL_OK)
            return rc;
        if (b == NULL || b->head.no != c.all[i].no || !filter_fits(b, f))       /* another number: it was removed, and one of its id began */
            continue;
        given++;
        if (!fn(ctx, &b->head))
            break;
    }
    return PAWL_OK;
}

/* ---- by time ------------------------------------------------------------------------------------------------- */

typedef struct due_question { int64_t asked_ms, now_ms; const pawl_due *after; } due_question;

static bool is_after(int64_t look_ms, uint64_t no, const pawl_due *after)
{
    return after == NULL || look_ms > after->look_ms || (look_ms == after->look_ms && no > after->no);
}

static bool due_may_fit(const candidate *c, const void *ctx)
{
    const due_question *q = ctx;

    return c->look_ms != 0 && c->look_ms <= q->asked_ms && is_after(c->look_ms, c->no, q->after);
}

pawl_code simple_due(pawl_store *s, int64_t now_ms, const pawl_due *after, size_t limit, pawl_head_fn *fn, void *ctx, pawl_err *err)
{
    const due_question q = { now_ms, simple_now(s), after };
    simple_handle *h = simple_of(s);
    size_t given = 0;
    candidates c;
    pawl_code rc;

    if (fn == NULL)
        return fail(err, PAWL_INVALID, "a list of due runs needs a callback");
    if ((rc = candidates_pick(h, NULL, due_may_fit, &q, true, &c, err)) != PAWL_OK)
        return rc;
    candidates_sort(&c, by_due);
    for (size_t i = 0; i < c.n && given < limit; i++) {
        const candidate *one = &c.all[i];
        simple_brief *b;

        if (one->look_ms == 0 || !is_after(one->look_ms, one->no, after))
            continue;
        if ((rc = brief_get(h, one, &b, err)) != PAWL_OK)
            return rc;
        if (b == NULL || b->head.look_ms != one->look_ms || !store_is_due(&b->head, q.asked_ms, q.now_ms))      /* moved meanwhile: the next look sees it */
            continue;
        given++;
        if (!fn(ctx, &b->head))
            break;
    }
    return PAWL_OK;
}

static bool timer_may_fit(const candidate *c, const void *ctx)
{
    (void)ctx;
    return c->wake_ms != 0;
}

int64_t simple_next_due(pawl_store *s)
{
    int64_t first = 0;
    candidates c;

    if (candidates_pick(simple_of(s), NULL, timer_may_fit, NULL, true, &c, NULL) != PAWL_OK)
        return 0;
    for (size_t i = 0; i < c.n; i++) {
        int64_t at = c.all[i].wake_ms;

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

static bool waits_may_fit(const candidate *c, const void *ctx)
{
    (void)ctx;
    return c->hint.waits;
}

pawl_code simple_waits(pawl_store *s, const char *run, pawl_waiting_fn *fn, void *ctx, pawl_err *err)
{
    simple_handle *h = simple_of(s);
    wait_reading g = { fn, ctx, false };
    candidates c;
    pawl_code rc;

    if (fn == NULL)
        return fail(err, PAWL_INVALID, "a list of waits needs a callback");
    if (run != NULL) {
        simple_begin(h);
        return run_query(h, run, waits_emit, &g, err);
    }
    if ((rc = candidates_pick(h, NULL, waits_may_fit, NULL, false, &c, err)) != PAWL_OK)
        return rc;
    candidates_sort(&c, by_number);
    for (size_t i = c.n; i-- > 0 && rc == PAWL_OK && !g.stopped;) {     /* the oldest run first */
        pawl_err why = { PAWL_OK, "" };

        rc = run_query(h, c.all[i].run, waits_emit, &g, &why);
        if (rc == PAWL_GONE)
            rc = PAWL_OK;
        else if (rc != PAWL_OK)
            fail(err, rc, "%s", why.text);
    }
    return rc;
}
