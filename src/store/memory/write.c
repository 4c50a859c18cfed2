/* write.c - writes of the holder: appends, attempt counts, pruning. All memory is allocated first, then nothing can fail: an append
 * is stored whole or not at all (S3).
 *
 * Owns the staged copies until they are put into the run. Called through the verbs append, mark, marks and prune, and by create; one thread
 * at a time. */
#include "store/memory/memory.h"

enum { FEW = 4 };               /* appends that are staged without asking for memory */

typedef struct staged {         /* of one append */
    run *r;                     /* NULL: it is refused */
    uint64_t entries;
    node *waits, *blobs, *marks;        /* chained by next, in the order of the append */
    pawl_bytes snapshot;
    const char *parked;
} staged;

/* ---- what an append needs ------------------------------------------------------------------------------ */

static node *wait_new(const pawl_alloc *alloc, const pawl_waiting *w)
{
    pawl_bytes from = w->over ? w->answer : w->spec;
    size_t n = from.size;
    waiting *made = n > PTRDIFF_MAX / 2 ? NULL : node_new(alloc, sizeof *made + n, w->id);

    if (made == NULL)
        return NULL;
    if (n > 0)
        memcpy(made + 1, from.data, n);
    made->text = (pawl_bytes){ n == 0 ? NULL : (const char *)(made + 1), n };
    made->asked_ms = w->asked_ms;
    return &made->at;
}

static node *blob_new(const pawl_alloc *alloc, const pawl_blob *b)
{
    size_t n = b->bytes.size;
    blob *made = n > PTRDIFF_MAX / 2 ? NULL : node_new(alloc, sizeof *made + n, b->digest);

    if (made == NULL)
        return NULL;
    if (n > 0)
        memcpy(made + 1, b->bytes.data, n);
    made->bytes = (pawl_bytes){ (const char *)(made + 1), n };
    return &made->at;
}

/* Room for all that the appends at hand bring to the run. */
static bool run_room(memory *m, run *r)
{
    size_t cap = r->ends_cap == 0 ? 8 : r->ends_cap;
    size_t *ends;

    if (!buf_room(&r->text, r->due.text)) {
        r->text.failed = false;
        return false;
    }
    if (!table_room(&m->alloc, &r->open, r->due.waits) || !table_room(&m->alloc, &r->over, r->due.waits) ||
        !table_room(&m->alloc, &r->blobs, r->due.blobs) || !table_room(&m->alloc, &r->marks, r->due.marks))
        return false;
    while (cap < r->nends + r->due.entries)
        cap *= 2;
    if (cap == r->ends_cap || r->due.entries == 0)
        return true;
    if ((ends = mem_grow(&m->alloc, r->ends, r->ends_cap * sizeof *ends, cap * sizeof *ends)) == NULL)
        return false;
    r->ends = ends;
    r->ends_cap = cap;
    return true;
}

static bool nodes_stage(memory *m, const pawl_append *a, staged *g)
{
    node **last = &g->waits;

    for (size_t i = 0; i < a->nwaits; i++, last = &(*last)->next)
        if ((*last = wait_new(&m->alloc, &a->waits[i])) == NULL)
            return false;
    last = &g->blobs;
    for (size_t i = 0; i < a->nblobs; i++, last = &(*last)->next)
        if ((*last = blob_new(&m->alloc, &a->blobs[i])) == NULL)
            return false;
    last = &g->marks;
    for (size_t i = 0; i < a->nmarks; i++, last = &(*last)->next)
        if ((*last = node_new(&m->alloc, sizeof(attempts), a->marks[i].id)) == NULL)
            return false;
    return true;
}

static bool append_stage(memory *m, const pawl_append *a, staged *g)
{
    pawl_bytes parked = { a->parked, a->moves && a->parked != NULL ? strlen(a->parked) : 0 }, text;
    run *r = g->r;

    for (size_t i = 0; i < a->nlines; i++)
        r->due.text += a->lines[i].size + 1;
    r->due.entries += g->entries;
    r->due.waits += a->nwaits;
    r->due.blobs += a->nblobs;
    r->due.marks += a->nmarks;
    if (!run_room(m, r) || !nodes_stage(m, a, g) || !bytes_copy(&m->alloc, parked, &text))
        return false;
    g->parked = text.data;
    return bytes_copy(&m->alloc, a->snapshot, &g->snapshot);
}

static void nodes_free(memory *m, node *n)
{
    for (node *next; n != NULL; n = next) {
        next = n->next;
        node_free(&m->alloc, n);
    }
}

static void staged_free(memory *m, staged *g)
{
    nodes_free(m, g->waits);
    nodes_free(m, g->blobs);
    nodes_free(m, g->marks);
    text_free(&m->alloc, g->parked);
    bytes_free(&m->alloc, &g->snapshot);
}

/* ---- what an append may do --------------------------------------------------------------------------------- */

static bool line_at(const run *r, size_t *at, pawl_bytes line)
{
    if (line.size >= r->text.size - *at || memcmp(r->text.data + *at, line.data, line.size) != 0 ||
        r->text.data[*at + line.size] != '\n')
        return false;
    *at += line.size + 1;
    return true;
}

/* Whether these very lines are the last ones: the newest entry is among them, so they can be told from others like them. */
static bool is_repeated(const run *r, const pawl_append *a, uint64_t entries)
{
    size_t last = a->nlines, bytes = 0, at;

    if (entries == 0 || r->nends < entries || a->seq + entries != r->head.seq)
        return false;
    while (store_line_is_record(a->lines[last - 1]))
        last--;
    for (size_t i = 0; i < last; i++)
        bytes += a->lines[i].size + 1;
    at = r->ends[r->nends - 1];
    if (bytes > at || (bytes < at && r->text.data[at - bytes - 1] != '\n'))
        return false;
    at -= bytes;
    for (size_t i = 0; i < a->nlines; i++)
        if (!line_at(r, &at, a->lines[i]))
            return false;
    return true;
}

/* Deliveries are taken in order, mostly. */
static bool taken_found(run *r, const pawl_append *a)
{
    delivery *d = r->first;
    size_t i;

    for (i = 0; i < a->ntaken; i++) {
        delivery *from = d;

        while (d != NULL && d->d.no != a->taken[i])
            d = d->after;
        if (d == NULL)
            for (d = r->first; d != from && d->d.no != a->taken[i];)
                d = d->after;
        if (d == NULL || d->d.no != a->taken[i] || d->leaving)
            break;
        d->leaving = true;
    }
    if (i < a->ntaken)
        for (d = r->first; d != NULL; d = d->after)
            d->leaving = false;
    return i == a->ntaken;
}

static pawl_code append_judge(run *r, const pawl_append *a, uint64_t entries, bool *again)
{
    *again = false;
    if (a->fence == 0 || (a->fence != r->head.fence && !BROKEN(BROKEN_FENCE) && !(BROKEN(BROKEN_FENCE_NEAR) && a->fence + 1 == r->head.fence)))
        return PAWL_FENCED;
    if ((*again = is_repeated(r, a, entries)))
        return PAWL_OK;
    return a->seq == r->head.seq && taken_found(r, a) ? PAWL_OK : PAWL_CONFLICT;
}

/* ---- doing it --------------------------------------------------------------------------------------------------- */

static void lines_put(run *r, const pawl_append *a)
{
    for (size_t i = 0; i < a->nlines; i++) {
        buf_put(&r->text, a->lines[i].data, a->lines[i].size);
        buf_char(&r->text, '\n');
        if (store_line_is_record(a->lines[i]))
            continue;
        r->ends[r->nends++] = r->text.size;
        r->head.seq++;
    }
}

static void wait_forget(memory *m, const run *r, table *t, waiting *now)
{
    waiting *old = (waiting *)table_find(t, now->at.key);

    if (old == NULL)
        return;
    now->given = t == &r->open ? old->given : NULL;     /* one that was over is asked anew */
    if (now->asked_ms == 0)
        now->asked_ms = old->asked_ms;
    table_take(t, &old->at);
    node_free(&m->alloc, old);
}

static void waits_put(memory *m, run *r, const pawl_append *a, staged *g)
{
    node *n = g->waits, *next;

    g->waits = NULL;
    for (size_t i = 0; i < a->nwaits; i++, n = next) {
        next = n->next;
        wait_forget(m, r, &r->open, (waiting *)n);
        wait_forget(m, r, &r->over, (waiting *)n);
        table_put(a->waits[i].over ? &r->over : &r->open, n);
    }
    r->head.waits = (uint32_t)r->open.count;
}

static void blobs_put(memory *m, run *r, staged *g)
{
    for (node *n = g->blobs, *next; n != NULL; n = next) {
        next = n->next;
        if (table_find(&r->blobs, n->key) != NULL)
            node_free(&m->alloc, n);
        else
            table_put(&r->blobs, n);
    }
    g->blobs = NULL;
}

static void mark_do(memory *m, run *r, node *made, const pawl_mark *mark)
{
    node *n = table_find(&r->marks, made->key);
    attempts *a;

    if (n != NULL)
        node_free(&m->alloc, made);
    else
        table_put(&r->marks, n = made);
    a = (attempts *)n;
    if (!mark->unbegun)
        a->count += mark->again_ms == 0;
    else if (a->count > 0)
        a->count--;
    a->first_ms = mark->first_ms > 0 ? mark->first_ms : a->first_ms;
    a->again_ms = mark->again_ms;
    m->all->version++;
    if (mark->unbegun && a->count == 0) {
        table_take(&r->marks, n);
        node_free(&m->alloc, n);
    }
}

static void marks_put(memory *m, run *r, const pawl_append *a, staged *g)
{
    node *n = g->marks, *next;

    g->marks = NULL;
    for (size_t i = 0; i < a->nmarks; i++, n = next) {
        next = n->next;
        mark_do(m, r, n, &(pawl_mark){ .first_ms = a->marks[i].first_ms });
    }
}

static void append_do(memory *m, const pawl_append *a, staged *g, int64_t now_ms)
{
    run *r = g->r;

    lines_put(r, a);
    if (a->moves) {
        r->head.status = a->status;
        r->head.over = a->over;
        r->head.work = a->work;
        r->head.wake_ms = a->wake_ms;
        text_free(&m->alloc, r->head.parked);
        r->head.parked = g->parked;
        g->parked = NULL;
    }
    waits_put(m, r, a, g);
    blobs_put(m, r, g);
    marks_put(m, r, a, g);
    for (delivery *d = a->ntaken == 0 ? NULL : r->first, *after; d != NULL; d = after) {
        after = d->after;
        if (d->leaving)
            delivery_take(m, r, d);
    }
    if (g->snapshot.size > 0) {
        bytes_free(&m->alloc, &r->snapshot);
        r->snapshot = g->snapshot;
        r->snapshot_seq = r->head.seq;
        g->snapshot = (pawl_bytes){0};
    }
    r->head.changed_ms = now_ms;
    if (a->release)
        run_let_go(m, r);
    order_set(m, r);
    m->all->version++;
}

/* It was there; whether it was let go of is not in its lines. */
static void append_again(memory *m, const pawl_append *a, run *r)
{
    if (!a->release || r->head.owner == NULL)
        return;
    run_let_go(m, r);
    order_set(m, r);
    m->all->version++;
}

static pawl_code all_stage(memory *m, pawl_append *all, size_t n, staged *g, pawl_err *err)
{
    for (size_t i = 0; i < n; i++) {
        all[i].rc = all[i].within != NULL ? PAWL_INVALID : store_append_check(&all[i], &g[i].entries, NULL);
        if (all[i].rc == PAWL_OK)
            all[i].rc = run_find(m, all[i].run, &g[i].r, NULL);
        if (all[i].rc == PAWL_OK && !append_stage(m, &all[i], &g[i]))
            return fail(err, PAWL_NOMEM, "%s: no memory for its journal", all[i].run);
    }
    return PAWL_OK;
}

pawl_code memory_append(pawl_store *s, pawl_append *all, size_t n, pawl_err *err)
{
    memory *m = memory_of(s);
    int64_t now = memory_now(s);
    staged few[FEW], *g = few;
    pawl_code rc;
    bool again;

    if (n == 0)
        return PAWL_OK;
    if (all == NULL)
        return fail(err, PAWL_INVALID, "an append of nothing");
    if (n <= FEW)
        memset(few, 0, n * sizeof *few);
    else
        g = n <= PTRDIFF_MAX / sizeof *g ? mem_new(&m->alloc, n * sizeof *g) : NULL;
    rc = g == NULL ? fail(err, PAWL_NOMEM, "no memory for %zu appends", n) : all_stage(m, all, n, g, err);
    for (size_t i = 0; i < n; i++) {
        if (rc != PAWL_OK) {
            all[i].rc = rc;
        } else if (all[i].rc == PAWL_OK) {
            all[i].rc = append_judge(g[i].r, &all[i], g[i].entries, &again);
            if (all[i].rc == PAWL_OK && again)
                append_again(m, &all[i], g[i].r);
            else if (all[i].rc == PAWL_OK)
                append_do(m, &all[i], &g[i], now);
            all[i].quiet = g[i].r->first == NULL;
        }
    }
    for (size_t i = 0; g != NULL && i < n; i++) {
        if (g[i].r != NULL)
            memset(&g[i].r->due, 0, sizeof g[i].r->due);
        staged_free(m, &g[i]);
    }
    if (g != few)
        mem_free(&m->alloc, g, n * sizeof *g);
    return rc;
}

/* ---- marks (E13) -------------------------------------------------------------------------------------------------- */

static pawl_code mark_stage(memory *m, pawl_mark *mark, run **r, node **made, pawl_err *err)
{
    mark->rc = store_id_valid(mark->id) && mark->first_ms >= 0 && mark->again_ms >= 0 ? run_held(m, mark->run, mark->fence, r, NULL) : PAWL_INVALID;
    if (mark->rc != PAWL_OK) {
        *r = NULL;
        return PAWL_OK;
    }
    (*r)->due.marks++;
    if (!table_room(&m->alloc, &(*r)->marks, (*r)->due.marks) || (*made = node_new(&m->alloc, sizeof(attempts), mark->id)) == NULL)
        return fail(err, PAWL_NOMEM, "%s: no memory for a mark", mark->run);
    return PAWL_OK;
}

pawl_code memory_mark(pawl_store *s, pawl_mark *all, size_t n, pawl_err *err)
{
    typedef struct { run *r; node *made; } place;
    memory *m = memory_of(s);
    place *g = NULL;
    pawl_code rc = PAWL_OK;

    if (n == 0)
        return PAWL_OK;
    if (all == NULL)
        return fail(err, PAWL_INVALID, "a mark of nothing");
    if (n <= PTRDIFF_MAX / sizeof *g)
        g = mem_new(&m->alloc, n * sizeof *g);
    if (g == NULL)
        rc = fail(err, PAWL_NOMEM, "no memory for %zu marks", n);
    for (size_t i = 0; i < n && rc == PAWL_OK; i++)
        rc = mark_stage(m, &all[i], &g[i].r, &g[i].made, err);
    for (size_t i = 0; i < n; i++) {
        if (rc != PAWL_OK)
            all[i].rc = rc;
        if (g == NULL || g[i].r == NULL)
            continue;
        g[i].r->due.marks = 0;
        if (rc != PAWL_OK)
            node_free(&m->alloc, g[i].made);
        else
            mark_do(m, g[i].r, g[i].made, &all[i]);
    }
    mem_free(&m->alloc, g, n * sizeof *g);
    return rc;
}

pawl_code memory_marks(pawl_store *s, const char *id, pawl_mark_fn *fn, void *ctx, pawl_err *err)
{
    run *r;
    pawl_code rc = run_find(memory_of(s), id, &r, err);

    if (rc == PAWL_OK && fn == NULL)
        return fail(err, PAWL_INVALID, "%s: its marks are told to nobody", id);
    for (node *n = rc == PAWL_OK ? r->marks.first : NULL; n != NULL; n = n->next) {
        const attempts *a = (const attempts *)n;

        if (!fn(ctx, &(pawl_mark){ .id = n->key, .first_ms = a->first_ms, .again_ms = a->again_ms, .attempts = a->count }))
            break;
    }
    return rc;
}

/* ---- pruning (K10) --------------------------------------------------------------------------------------------------- */

static pawl_code prune_check(memory *m, const run *r, uint64_t seq, pawl_bytes base, pawl_err *err)
{
    const char *id = r->at.key;
    store_base b;
    arena mem;
    pawl_code rc;

    if (seq < r->base.seq)
        return fail(err, PAWL_GONE, "%s: entry %llu was pruned, it begins at %llu", id, (unsigned long long)seq,
                    (unsigned long long)r->base.seq);
    if (seq == 0 || seq > r->head.seq)
        return fail(err, PAWL_INVALID, "%s: there is no entry %llu to begin at", id, (unsigned long long)seq);
    arena_init(&mem, &m->alloc, base.size);
    rc = store_base_read(&mem, base, &b, err);
    if (rc == PAWL_OK && (strcmp(b.run, id) != 0 || b.life != r->base.life || b.seq != seq))
        rc = fail(err, PAWL_INVALID, "%s: the base is another run's, or of another entry than %llu", id, (unsigned long long)seq);
    arena_free(&mem);
    return rc;
}

pawl_code memory_prune(pawl_store *s, const char *id, uint64_t fence, uint64_t seq, pawl_bytes base, pawl_err *err)
{
    memory *m = memory_of(s);
    pawl_bytes text;
    pawl_code rc;
    size_t gone, n;
    bool stands;
    run *r;

    if ((rc = run_held(m, id, fence, &r, err)) != PAWL_OK || (rc = prune_check(m, r, seq, base, err)) != PAWL_OK)
        return rc;
    if (seq == r->base.seq) {
        if (base.size != r->base_text.size || memcmp(base.data, r->base_text.data, base.size) != 0)
            rc = fail(err, PAWL_CONFLICT, "%s: it begins at entry %llu, with another base", id, (unsigned long long)seq);
        return rc;
    }
    if ((rc = store_snapshot_stands(&m->alloc, r->snapshot, r->snapshot_seq, seq, &stands)) != PAWL_OK || !bytes_copy(&m->alloc, base, &text))
        return fail(err, PAWL_NOMEM, "%s: no memory for a base", id);
    bytes_free(&m->alloc, &r->base_text);
    r->base_text = text;
    gone = run_end_of(r, seq);
    n = (size_t)(seq - r->base.seq);
    r->text.size -= gone;
    memmove(r->text.data, r->text.data + gone, r->text.size);
    r->nends -= n;
    for (size_t i = 0; i < r->nends; i++)
        r->ends[i] = r->ends[i + n] - gone;
    r->base.seq = seq;
    if (!stands)
        bytes_free(&m->alloc, &r->snapshot);
    m->all->version++;
    return PAWL_OK;
}
