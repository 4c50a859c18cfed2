/* write.c - writes of the lease holder to a store in memory: appends, attempt counts, pruning.
 *
 * Owns the staged copies until they are in the run. Called through the verbs append, mark, marks and prune, and by create; one thread at a time.
 * Invariant (S3): everything is allocated before the first change, so an append is stored whole or not at all. */
#include "store/memory/memory.h"

enum { STAGED_INLINE = 4 };               /* so many appends are staged on the stack */

typedef struct staged {         /* of one append */
    stored_run *r;                     /* NULL: it is refused */
    uint64_t entries;
    node *waits, *blobs, *marks;        /* chained by next, in the order of the append */
    pawl_bytes snapshot;
    const char *parked;
} staged;

/* ---- staging: all that needs memory ------------------------------------------------------------------------------ */

static node *wait_new(const pawl_alloc *alloc, const pawl_waiting *w)
{
    pawl_bytes from = w->over ? w->answer : w->spec;
    size_t n = from.size;
    stored_wait *made = n > PTRDIFF_MAX / 2 ? NULL : node_new(alloc, sizeof *made + n, w->id);

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
    stored_blob *made = n > PTRDIFF_MAX / 2 ? NULL : node_new(alloc, sizeof *made + n, b->digest);

    if (made == NULL)
        return NULL;
    if (n > 0)
        memcpy(made + 1, b->bytes.data, n);
    made->bytes = (pawl_bytes){ (const char *)(made + 1), n };
    return &made->at;
}

/* Room for all appends of this call to the run: `need` is their sum so far. */
static bool run_room(memory_space *m, stored_run *r)
{
    size_t cap = r->entry_ends_cap == 0 ? 8 : r->entry_ends_cap;
    size_t *ends;

    if (!buf_room(&r->text, r->need.text)) {
        r->text.failed = false;
        return false;
    }
    if (!table_room(&m->alloc, &r->open, r->need.waits) || !table_room(&m->alloc, &r->over, r->need.waits) ||
        !table_room(&m->alloc, &r->blobs, r->need.blobs) || !table_room(&m->alloc, &r->marks, r->need.marks))
        return false;
    while (cap < r->nentries + r->need.entries)
        cap *= 2;
    if (cap == r->entry_ends_cap || r->need.entries == 0)
        return true;
    if ((ends = mem_grow(&m->alloc, r->entry_ends, r->entry_ends_cap * sizeof *ends, cap * sizeof *ends)) == NULL)
        return false;
    r->entry_ends = ends;
    r->entry_ends_cap = cap;
    return true;
}

static bool nodes_stage(memory_space *m, const pawl_append *a, staged *g)
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
        if ((*last = node_new(&m->alloc, sizeof(stored_attempts), a->marks[i].id)) == NULL)
            return false;
    return true;
}

static bool append_stage(memory_space *m, const pawl_append *a, staged *g)
{
    pawl_bytes parked = { a->parked, a->moves && a->parked != NULL ? strlen(a->parked) : 0 }, text;
    stored_run *r = g->r;

    for (size_t i = 0; i < a->nlines; i++)
        r->need.text += a->lines[i].size + 1;
    r->need.entries += g->entries;
    r->need.waits += a->nwaits;
    r->need.blobs += a->nblobs;
    r->need.marks += a->nmarks;
    if (!run_room(m, r) || !nodes_stage(m, a, g) || !bytes_copy(&m->alloc, parked, &text))
        return false;
    g->parked = text.data;
    return bytes_copy(&m->alloc, a->snapshot, &g->snapshot);
}

static void nodes_free(memory_space *m, node *n)
{
    for (node *next; n != NULL; n = next) {
        next = n->next;
        node_free(&m->alloc, n);
    }
}

static void staged_free(memory_space *m, staged *g)
{
    nodes_free(m, g->waits);
    nodes_free(m, g->blobs);
    nodes_free(m, g->marks);
    text_free(&m->alloc, g->parked);
    bytes_free(&m->alloc, &g->snapshot);
}

/* ---- checking --------------------------------------------------------------------------------- */

static bool line_at(const stored_run *r, size_t *at, pawl_bytes line)
{
    if (line.size >= r->text.size - *at || memcmp(r->text.data + *at, line.data, line.size) != 0 ||
        r->text.data[*at + line.size] != '\n')
        return false;
    *at += line.size + 1;
    return true;
}

/* Whether this append was stored before and its result was lost: the newest entry is among these lines, which identifies them. */
static bool is_repeated(const stored_run *r, const pawl_append *a, uint64_t entries)
{
    size_t last = a->nlines, bytes = 0, at;

    if (entries == 0 || r->nentries < entries || a->seq + entries != r->head.seq)
        return false;
    while (store_line_is_record(a->lines[last - 1]))
        last--;
    for (size_t i = 0; i < last; i++)
        bytes += a->lines[i].size + 1;
    at = r->entry_ends[r->nentries - 1];
    if (bytes > at || (bytes < at && r->text.data[at - bytes - 1] != '\n'))
        return false;
    at -= bytes;
    for (size_t i = 0; i < a->nlines; i++)
        if (!line_at(r, &at, a->lines[i]))
            return false;
    return true;
}

/* Marks the deliveries that `a` takes. Each search starts at the previous delivery, since they are mostly taken in order. */
static bool mark_taken(stored_run *r, const pawl_append *a)
{
    stored_delivery *d = r->mail_first;
    size_t i;

    for (i = 0; i < a->ntaken; i++) {
        stored_delivery *from = d;

        while (d != NULL && d->d.no != a->taken[i])
            d = d->after;
        if (d == NULL)
            for (d = r->mail_first; d != from && d->d.no != a->taken[i];)
                d = d->after;
        if (d == NULL || d->d.no != a->taken[i] || d->taken_now)
            break;
        d->taken_now = true;
    }
    if (i < a->ntaken)
        for (d = r->mail_first; d != NULL; d = d->after)
            d->taken_now = false;
    return i == a->ntaken;
}

static pawl_code append_check(stored_run *r, const pawl_append *a, uint64_t entries, bool *repeated)
{
    *repeated = false;
    if (a->fence == 0 || (a->fence != r->head.fence && !BROKEN(BROKEN_FENCE) && !(BROKEN(BROKEN_FENCE_NEAR) && a->fence + 1 == r->head.fence)))
        return PAWL_FENCED;
    if ((*repeated = is_repeated(r, a, entries)))
        return PAWL_OK;
    return a->seq == r->head.seq && mark_taken(r, a) ? PAWL_OK : PAWL_CONFLICT;
}

/* ---- applying: cannot fail --------------------------------------------------------------------------------------------------- */

static void lines_put(stored_run *r, const pawl_append *a)
{
    PAWL_ASSERT(a->seq == r->head.seq, "S2: an append follows the sequence that it expects");
    for (size_t i = 0; i < a->nlines; i++) {
        buf_put(&r->text, a->lines[i].data, a->lines[i].size);
        buf_char(&r->text, '\n');
        if (store_line_is_record(a->lines[i]))
            continue;
        PAWL_ASSERT(r->nentries < r->entry_ends_cap, "S3: an append has its room before the first change");
        r->entry_ends[r->nentries++] = r->text.size;
        r->head.seq++;
    }
    PAWL_ASSERT(!r->text.failed && r->head.seq == r->base.seq + r->nentries, "K5: each entry is one of the sequence");
}

static bool wait_replace(memory_space *m, const stored_run *r, table *t, stored_wait *now)
{
    stored_wait *old = (stored_wait *)table_same(t, &now->at);

    if (old == NULL)
        return false;
    now->answer = t == &r->open ? old->answer : NULL;     /* a closed wait that is opened again has no answer yet */
    if (now->asked_ms == 0)
        now->asked_ms = old->asked_ms;
    table_remove(t, &old->at);
    node_free(&m->alloc, old);
    return true;
}

/* A wait is in one of the two tables: the second is searched only when it is not in the first. */
static void waits_put(memory_space *m, stored_run *r, const pawl_append *a, staged *g)
{
    node *n = g->waits, *next;

    g->waits = NULL;
    for (size_t i = 0; i < a->nwaits; i++, n = next) {
        next = n->next;
        if (!wait_replace(m, r, &r->open, (stored_wait *)n))
            (void)wait_replace(m, r, &r->over, (stored_wait *)n);
        table_put(a->waits[i].over ? &r->over : &r->open, n);
    }
    r->head.waits = (uint32_t)r->open.count;
}

static void blobs_put(memory_space *m, stored_run *r, staged *g)
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

static void mark_apply(memory_space *m, stored_run *r, node *made, const pawl_mark *mark)
{
    node *n = table_find(&r->marks, made->key);
    stored_attempts *a;

    if (n != NULL)
        node_free(&m->alloc, made);
    else
        table_put(&r->marks, n = made);
    a = (stored_attempts *)n;
    if (!mark->unbegun)
        a->count += mark->again_ms == 0;
    else if (a->count > 0)
        a->count--;
    a->first_ms = mark->first_ms > 0 ? mark->first_ms : a->first_ms;
    a->again_ms = mark->again_ms;
    m->all->version++;
    if (mark->unbegun && a->count == 0) {
        table_remove(&r->marks, n);
        node_free(&m->alloc, n);
    }
}

static void marks_put(memory_space *m, stored_run *r, const pawl_append *a, staged *g)
{
    node *n = g->marks, *next;

    g->marks = NULL;
    for (size_t i = 0; i < a->nmarks; i++, n = next) {
        next = n->next;
        mark_apply(m, r, n, &(pawl_mark){ .first_ms = a->marks[i].first_ms });
    }
}

static void append_apply(memory_space *m, const pawl_append *a, staged *g, int64_t now_ms)
{
    stored_run *r = g->r;

    PAWL_ASSERT(a->fence == r->head.fence || BROKEN(BROKEN_FENCE) || BROKEN(BROKEN_FENCE_NEAR), "S2: only the newest fence writes");
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
    for (stored_delivery *d = a->ntaken == 0 ? NULL : r->mail_first, *after; d != NULL; d = after) {
        after = d->after;
        if (d->taken_now)
            delivery_remove(m, r, d);
    }
    if (g->snapshot.size > 0) {
        bytes_free(&m->alloc, &r->snapshot);
        r->snapshot = g->snapshot;
        r->snapshot_seq = r->head.seq;
        for (size_t i = a->nlines - a->nafter; i < a->nlines; i++)
            r->snapshot_seq -= !store_line_is_record(a->lines[i]);
        g->snapshot = (pawl_bytes){0};
    }
    r->head.changed_ms = now_ms;
    if (a->release)
        run_unlease(m, r);
    order_update(m, r);
    m->all->version++;
}

/* The repeated append asked for a release, and that the lines do not show. */
static void append_release(memory_space *m, const pawl_append *a, stored_run *r)
{
    if (!a->release || r->head.owner == NULL)
        return;
    run_unlease(m, r);
    order_update(m, r);
    m->all->version++;
}

static pawl_code all_stage(memory_space *m, pawl_append *all, size_t n, staged *g, pawl_err *err)
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
    memory_space *m = space_of(s);
    int64_t now = memory_now(s);
    staged inline_staged[STAGED_INLINE], *g = inline_staged;
    pawl_code rc;
    bool repeated;

    if (n == 0)
        return PAWL_OK;
    if (all == NULL)
        return fail(err, PAWL_INVALID, "a count of appends without an array");
    if (n <= STAGED_INLINE)
        memset(inline_staged, 0, n * sizeof *inline_staged);
    else
        g = n <= PTRDIFF_MAX / sizeof *g ? mem_new(&m->alloc, n * sizeof *g) : NULL;
    rc = g == NULL ? fail(err, PAWL_NOMEM, "no memory for %zu appends", n) : all_stage(m, all, n, g, err);
    for (size_t i = 0; i < n; i++) {
        if (rc != PAWL_OK) {
            all[i].rc = rc;
        } else if (all[i].rc == PAWL_OK) {
            all[i].rc = append_check(g[i].r, &all[i], g[i].entries, &repeated);
            if (all[i].rc == PAWL_OK && repeated)
                append_release(m, &all[i], g[i].r);
            else if (all[i].rc == PAWL_OK)
                append_apply(m, &all[i], &g[i], now);
            all[i].quiet = g[i].r->mail_first == NULL;
        }
    }
    for (size_t i = 0; i < n; i++)
        all[i].version = rc == PAWL_OK ? m->all->version : 0;
    for (size_t i = 0; g != NULL && i < n; i++) {
        if (g[i].r != NULL)
            memset(&g[i].r->need, 0, sizeof g[i].r->need);
        staged_free(m, &g[i]);
    }
    if (g != inline_staged)
        mem_free(&m->alloc, g, n * sizeof *g);
    return rc;
}

/* ---- marks (E13) -------------------------------------------------------------------------------------------------- */

static pawl_code mark_stage(memory_space *m, pawl_mark *mark, stored_run **r, node **made, pawl_err *err)
{
    mark->rc = store_id_valid(mark->id) && mark->first_ms >= 0 && mark->again_ms >= 0 ? run_find_held(m, mark->run, mark->fence, r, NULL) : PAWL_INVALID;
    if (mark->rc != PAWL_OK) {
        *r = NULL;
        return PAWL_OK;
    }
    (*r)->need.marks++;
    if (!table_room(&m->alloc, &(*r)->marks, (*r)->need.marks) || (*made = node_new(&m->alloc, sizeof(stored_attempts), mark->id)) == NULL)
        return fail(err, PAWL_NOMEM, "%s: no memory for a mark", mark->run);
    return PAWL_OK;
}

pawl_code memory_mark(pawl_store *s, pawl_mark *all, size_t n, pawl_err *err)
{
    typedef struct { stored_run *r; node *made; } staged_mark;
    memory_space *m = space_of(s);
    staged_mark *g = NULL;
    pawl_code rc = PAWL_OK;

    if (n == 0)
        return PAWL_OK;
    if (all == NULL)
        return fail(err, PAWL_INVALID, "a count of marks without an array");
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
        g[i].r->need.marks = 0;
        if (rc != PAWL_OK)
            node_free(&m->alloc, g[i].made);
        else
            mark_apply(m, g[i].r, g[i].made, &all[i]);
    }
    mem_free(&m->alloc, g, n * sizeof *g);
    return rc;
}

pawl_code memory_marks(pawl_store *s, const char *id, pawl_mark_fn *fn, void *ctx, pawl_err *err)
{
    stored_run *r;
    pawl_code rc = run_find(space_of(s), id, &r, err);

    if (rc == PAWL_OK && fn == NULL)
        return fail(err, PAWL_INVALID, "%s: a list of marks needs a callback", id);
    for (node *n = rc == PAWL_OK ? r->marks.first : NULL; n != NULL; n = n->next) {
        const stored_attempts *a = (const stored_attempts *)n;

        if (!fn(ctx, &(pawl_mark){ .id = n->key, .first_ms = a->first_ms, .again_ms = a->again_ms, .attempts = a->count }))
            break;
    }
    return rc;
}

/* ---- pruning (K10) --------------------------------------------------------------------------------------------------- */

static pawl_code prune_check(memory_space *m, const stored_run *r, uint64_t seq, pawl_bytes base, pawl_err *err)
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
    memory_space *m = space_of(s);
    pawl_bytes text;
    pawl_code rc;
    size_t gone, n;
    bool survives;
    stored_run *r;

    if ((rc = run_find_held(m, id, fence, &r, err)) != PAWL_OK || (rc = prune_check(m, r, seq, base, err)) != PAWL_OK)
        return rc;
    if (seq == r->base.seq) {
        if (base.size != r->base_text.size || memcmp(base.data, r->base_text.data, base.size) != 0)
            rc = fail(err, PAWL_CONFLICT, "%s: it begins at entry %llu, with another base", id, (unsigned long long)seq);
        return rc;
    }
    if ((rc = store_snapshot_survives(&m->alloc, r->snapshot, r->snapshot_seq, seq, &survives)) != PAWL_OK || !bytes_copy(&m->alloc, base, &text))
        return fail(err, PAWL_NOMEM, "%s: no memory for a base", id);
    bytes_free(&m->alloc, &r->base_text);
    r->base_text = text;
    gone = run_end_of(r, seq);
    n = (size_t)(seq - r->base.seq);
    r->text.size -= gone;
    memmove(r->text.data, r->text.data + gone, r->text.size);
    r->nentries -= n;
    for (size_t i = 0; i < r->nentries; i++)
        r->entry_ends[i] = r->entry_ends[i + n] - gone;
    r->base.seq = seq;
    if (!survives)
        bytes_free(&m->alloc, &r->snapshot);
    m->all->version++;
    return PAWL_OK;
}
