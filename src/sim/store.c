/* store.c - a handle on the one store of a world, through which verbs fail, before or after they were carried out; and what a
 * power cut leaves of it. */
#include "sim/sim.h"

#include <string.h>

typedef struct handle {
    pawl_store store;
    world *w;
    worker *k;                  /* NULL: nothing goes wrong with it */
    arena texts;                /* of the heads that were asked for last */
} handle;

static handle *handle_of(pawl_store *s) { return (handle *)(void *)s; }
static pawl_store *store_of(const handle *h) { return h->w->store; }

/* ---- what was written, where it may be forgotten --------------------------------------------------- */

typedef enum write_kind { WRITE_CREATE, WRITE_CLAIM, WRITE_RENEW, WRITE_RELEASE, WRITE_APPEND, WRITE_MARK, WRITE_DELIVER, WRITE_PRUNE,
    WRITE_REMOVE } write_kind;

struct write_record {                  /* a verb, and all that it was given */
    write_record *next;
    write_kind kind;
    arena mem;
    int64_t now_ms, ttl_ms;
    const char *run, *owner;
    uint64_t fence, seq;
    pawl_bytes base;
    pawl_append *all;
    pawl_claim *claims;
    pawl_hold *holds;
    pawl_mark *marks;
    size_t n;
    pawl_delivery d;
};

static const char *text_copied(arena *a, const char *text)
{
    return text == NULL ? NULL : arena_strdup(a, text, strlen(text));
}

static pawl_bytes bytes_copied(arena *a, pawl_bytes b)
{
    return b.data == NULL ? b : (pawl_bytes){ arena_strdup(a, b.data, b.size), b.size };
}

static void *copied(arena *a, const void *from, size_t n, size_t size)
{
    void *to = arena_get(a, (n + 1) * size);

    if (to != NULL && n > 0)
        memcpy(to, from, n * size);
    return to;
}

static void append_copied(arena *a, pawl_append *to)
{
    pawl_bytes *lines = copied(a, to->lines, to->nlines, sizeof *lines);
    pawl_waiting *waits = copied(a, to->waits, to->nwaits, sizeof *waits);
    pawl_blob *blobs = copied(a, to->blobs, to->nblobs, sizeof *blobs);

    for (size_t i = 0; i < to->nlines && lines != NULL; i++)
        lines[i] = bytes_copied(a, lines[i]);
    for (size_t i = 0; i < to->nwaits && waits != NULL; i++) {
        waits[i].id = text_copied(a, waits[i].id);
        waits[i].spec = bytes_copied(a, waits[i].spec);
        waits[i].answer = bytes_copied(a, waits[i].answer);
    }
    for (size_t i = 0; i < to->nblobs && blobs != NULL; i++)
        blobs[i] = (pawl_blob){ text_copied(a, blobs[i].digest), bytes_copied(a, blobs[i].bytes) };
    to->run = text_copied(a, to->run);
    to->parked = text_copied(a, to->parked);
    to->taken = copied(a, to->taken, to->ntaken, sizeof *to->taken);
    to->snapshot = bytes_copied(a, to->snapshot);
    to->lines = lines;
    to->waits = waits;
    to->blobs = blobs;
}

static void all_copied(arena *a, write_record *to)
{
    to->run = text_copied(a, to->run);
    to->owner = text_copied(a, to->owner);
    to->base = bytes_copied(a, to->base);
    to->all = copied(a, to->all, to->all != NULL ? to->n : 0, sizeof *to->all);
    to->claims = copied(a, to->claims, to->claims != NULL ? to->n : 0, sizeof *to->claims);
    to->holds = copied(a, to->holds, to->holds != NULL ? to->n : 0, sizeof *to->holds);
    to->marks = copied(a, to->marks, to->marks != NULL ? to->n : 0, sizeof *to->marks);
    to->d.id = text_copied(a, to->d.id);
    to->d.name = text_copied(a, to->d.name);
    to->d.by = text_copied(a, to->d.by);
    to->d.note = text_copied(a, to->d.note);
    to->d.trace = text_copied(a, to->d.trace);
    to->d.value = bytes_copied(a, to->d.value);
    to->d.update = bytes_copied(a, to->d.update);
    for (size_t i = 0; i < to->n && !a->failed; i++) {
        if (to->kind == WRITE_APPEND || to->kind == WRITE_CREATE)
            append_copied(a, &to->all[i]);
        if (to->kind == WRITE_CLAIM)
            to->claims[i].run = text_copied(a, to->claims[i].run);
        if (to->kind == WRITE_RENEW || to->kind == WRITE_RELEASE)
            to->holds[i].run = text_copied(a, to->holds[i].run);
        if (to->kind == WRITE_MARK) {
            to->marks[i].run = text_copied(a, to->marks[i].run);
            to->marks[i].id = text_copied(a, to->marks[i].id);
        }
    }
}

/* Kept only where a power cut may take it back. Now and then all so far reaches the disk. */
static void write_log(world *w, write_record what)
{
    write_record *one;

    if (!w->t.normal || w->plain)
        return;
    if ((one = mem_new(&w->alloc, sizeof *one)) == NULL) {
        sim_nomem(w);
        return;
    }
    *one = what;
    one->now_ms = w->now;
    arena_init(&one->mem, &w->alloc, 1024);
    all_copied(&one->mem, one);
    if (one->mem.failed)
        sim_nomem(w);
    if (w->last != NULL)
        w->last->next = one;
    else
        w->first = one;
    w->last = one;
    w->nwrites++;
    if (sim_happens(w, 100))
        w->nsafe = w->nwrites;
}

static void writes_drop(world *w, write_record *from)
{
    for (write_record *next; from != NULL; from = next) {
        next = from->next;
        arena_free(&from->mem);
        mem_free(&w->alloc, from, sizeof *from);
    }
}

void writes_free(world *w)
{
    writes_drop(w, w->first);
    w->first = w->last = NULL;
}

/* The same verbs with the same arguments at the same times end the same; what some of them refused, they refuse again. */
static void do_again(pawl_store *s, write_record *one)
{
    const pawl_store_verbs *v = s->verbs;

    switch (one->kind) {
    case WRITE_CREATE:
        (void)v->create(s, one->base, &(pawl_beginning){ .owner = one->owner, .ttl_ms = one->ttl_ms, .first = one->n > 0 ? one->all : NULL,
                                                         .left = one->d.id != NULL ? &one->d : NULL }, NULL);
        break;
    case WRITE_CLAIM:   (void)v->claim(s, one->owner, one->ttl_ms, one->claims, one->n, NULL); break;
    case WRITE_RENEW:   (void)v->renew(s, one->ttl_ms, one->holds, one->n, NULL); break;
    case WRITE_RELEASE: (void)v->release(s, one->holds, one->n, NULL); break;
    case WRITE_APPEND:  (void)v->append(s, one->all, one->n, NULL); break;
    case WRITE_MARK:    (void)v->mark(s, one->marks, one->n, NULL); break;
    case WRITE_DELIVER: (void)v->deliver(s, one->run, &one->d, NULL); break;
    case WRITE_PRUNE:   (void)v->prune(s, one->run, one->fence, one->seq, one->base, NULL); break;
    case WRITE_REMOVE:  (void)v->remove(s, one->run, one->fence, NULL); break;
    }
}

static int64_t then_ms(void *ctx) { return *(const int64_t *)ctx; }
static int64_t now_ms(void *ctx) { return ((const world *)ctx)->now; }

/* What did not reach the disk is gone: some of the last, and nothing before it. */
static void lose_writes(world *w)
{
    size_t kept = w->nsafe + (size_t)sim_below(w, w->nwrites - w->nsafe + 1), n = 0;
    pawl_store *s;
    int64_t then = 0;
    write_record **at = &w->first;

    if (kept == w->nwrites)
        return;
    w->lost_writes = true;
    w->report->forgotten += (uint32_t)(w->nwrites - kept);
    if ((s = pawl_store_memory(&w->err)) == NULL) {
        sim_nomem(w);
        return;
    }
    store_memory_clock(s, then_ms, &then);
    for (w->last = NULL; n < kept; n++, at = &(*at)->next) {
        then = (*at)->now_ms;
        do_again(s, *at);
        w->last = *at;
    }
    writes_drop(w, *at);
    *at = NULL;
    w->nwrites = kept;
    store_memory_clock(s, now_ms, w);
    pawl_store_free(w->store);
    w->store = s;
    for (unsigned i = 0; i < w->nruns; i++)
        sim_run_refold(w, &w->runs[i]);
}

void power_cut(world *w)
{
    size_t before = w->nwrites;

    w->report->power_cuts++;
    for (unsigned i = 0; i < w->nworkers; i++)
        w->workers[i].dead = true;
    if (w->t.normal)
        lose_writes(w);
    trace_line(w, NULL, "power cut, %zu writes are gone", before - w->nwrites);
}

/* ---- trouble ------------------------------------------------------------------------------------------- */

static pawl_code before(handle *h, const char *verb, const char *run, pawl_err *err)
{
    world *w = h->w;

    if (h->k == NULL)
        return PAWL_OK;
    if (!point(h->k))
        return fail(err, PAWL_IO, "%s: %s: the worker is dead", run != NULL ? run : "the store", verb);
    if (!sim_happens(w, w->t.fail))
        return PAWL_OK;
    w->report->failed++;
    trace_line(w, h->k, "%s %s fails", verb, run != NULL ? run : "");
    return fail(err, PAWL_IO, "%s: %s: the store is not there", run != NULL ? run : "the store", verb);
}

static pawl_code after(handle *h, const char *verb, const char *run, pawl_code rc, bool writes, pawl_err *err)
{
    world *w = h->w;

    if (h->k == NULL)
        return rc;
    if (writes)
        trace_line(w, h->k, "%s %s: %s", verb, run != NULL ? run : "", pawl_code_name(rc));
    if (writes && rc == PAWL_OK && sim_happens(w, w->t.unsure)) {
        w->report->unsure++;
        trace_line(w, h->k, "%s %s is done, and seems to fail", verb, run != NULL ? run : "");
        rc = fail(err, PAWL_IO, "%s: %s: the store did not say how it went", run != NULL ? run : "the store", verb);
    }
    return point(h->k) ? rc : fail(err, PAWL_IO, "%s: %s: the worker is dead", run != NULL ? run : "the store", verb);
}

/* Texts of a head are lent until the next call on this handle, and other handles may be called before. */
static bool head_kept(handle *h, pawl_head *head)
{
    head->owner = text_copied(&h->texts, head->owner);
    head->parked = text_copied(&h->texts, head->parked);
    if (h->texts.failed)
        sim_nomem(h->w);
    return !h->texts.failed;
}

/* ---- the verbs ----------------------------------------------------------------------------------------- */

static void sim_close(pawl_store *s)
{
    handle *h = handle_of(s);

    arena_free(&h->texts);
    mem_free(&h->w->alloc, h, sizeof *h);
}

static int64_t sim_now(pawl_store *s)
{
    const handle *h = handle_of(s);

    if (h->k != NULL)
        (void)point(h->k);
    return h->w->now;
}

static uint64_t sim_version(pawl_store *s) { return store_of(handle_of(s))->verbs->version(store_of(handle_of(s))); }
static int64_t sim_next_due(pawl_store *s) { return store_of(handle_of(s))->verbs->next_due(store_of(handle_of(s))); }

static void fences_check(world *w, const pawl_append *all, size_t n)
{
    pawl_head head;

    for (size_t i = 0; i < n; i++)
        if (all[i].rc == PAWL_OK && w->store->verbs->head(w->store, all[i].run, &head, NULL) == PAWL_OK && head.fence != all[i].fence)
            oracle_failed(w, "S2", sim_run_find(w, all[i].run), NULL, "%s: a write of fence %llu is taken, and %llu is the newest", all[i].run,
                       (unsigned long long)all[i].fence, (unsigned long long)head.fence);
}

static write_record create_record(pawl_bytes base, const pawl_beginning *with)
{
    write_record one = { .kind = WRITE_CREATE, .base = base };

    if (with == NULL)
        return one;
    one.owner = with->owner;
    one.ttl_ms = with->ttl_ms;
    one.all = with->first;
    one.n = with->first != NULL;
    if (with->left != NULL)
        one.d = *with->left;
    return one;
}

/* It was claimed and written to in the transaction that created it. */
static void begun_follow(handle *h, pawl_beginning *with)
{
    sim_run *y = with->first == NULL ? NULL : sim_run_find(h->w, with->first->run);

    if (with->owner != NULL && h->k != NULL && !h->texts.failed)
        trace_line(h->w, h->k, "%s: claimed, fence %llu", with->head.run, (unsigned long long)with->head.fence);
    if (with->first == NULL)
        return;
    h->w->report->appends++;
    fences_check(h->w, with->first, 1);
    trace_line(h->w, h->k, "%s: %zu lines after entry %llu, fence %llu: %s", with->first->run, with->first->nlines,
               (unsigned long long)with->first->seq, (unsigned long long)with->first->fence, pawl_code_name(with->first->rc));
    if (y != NULL)
        sim_run_follow(h->w, y);
}

static pawl_code sim_create(pawl_store *s, pawl_bytes base, pawl_beginning *with, pawl_err *err)
{
    handle *h = handle_of(s);
    pawl_code rc = before(h, "create", NULL, err);

    if (rc != PAWL_OK)
        return rc;
    rc = store_of(h)->verbs->create(store_of(h), base, with, err);
    arena_reset(&h->texts);
    if (rc == PAWL_OK && with != NULL && with->owner != NULL)
        (void)head_kept(h, &with->head);
    write_log(h->w, create_record(base, with));
    if (rc == PAWL_OK)
        sim_run_created(h->w, base);
    if (rc == PAWL_OK && with != NULL)
        begun_follow(h, with);
    for (unsigned i = 0; i < h->w->nruns; i++)
        if (h->w->runs[i].st == NULL)
            sim_run_follow(h->w, &h->w->runs[i]);
    return after(h, "create", NULL, rc, true, err);
}

static pawl_code sim_claim(pawl_store *s, const char *owner, int64_t ttl_ms, pawl_claim *all, size_t n, pawl_err *err)
{
    handle *h = handle_of(s);
    pawl_code rc = before(h, "claim", n > 0 ? all[0].run : NULL, err);

    if (rc != PAWL_OK)
        return rc;
    rc = store_of(h)->verbs->claim(store_of(h), owner, ttl_ms, all, n, err);
    write_log(h->w, (write_record){ .kind = WRITE_CLAIM, .owner = owner, .ttl_ms = ttl_ms, .claims = all, .n = n });
    arena_reset(&h->texts);
    for (size_t i = 0; i < n && rc == PAWL_OK; i++)
        if (h->k != NULL && (all[i].rc == PAWL_OK || all[i].rc == PAWL_HELD) && head_kept(h, &all[i].head))
            trace_line(h->w, h->k, "%s: %s, fence %llu", all[i].run, all[i].rc == PAWL_OK ? "claimed" : "held",
                     (unsigned long long)all[i].head.fence);
    return after(h, "claim", n > 0 ? all[0].run : NULL, rc, true, err);
}

static pawl_code sim_renew(pawl_store *s, int64_t ttl_ms, pawl_hold *all, size_t n, pawl_err *err)
{
    handle *h = handle_of(s);
    pawl_code rc = before(h, "renew", n > 0 ? all[0].run : NULL, err);

    if (rc != PAWL_OK)
        return rc;
    rc = store_of(h)->verbs->renew(store_of(h), ttl_ms, all, n, err);
    write_log(h->w, (write_record){ .kind = WRITE_RENEW, .ttl_ms = ttl_ms, .holds = all, .n = n });
    return after(h, "renew", n > 0 ? all[0].run : NULL, rc, true, err);
}

static pawl_code sim_release(pawl_store *s, pawl_hold *all, size_t n, pawl_err *err)
{
    handle *h = handle_of(s);
    pawl_code rc = before(h, "release", n > 0 ? all[0].run : NULL, err);

    if (rc != PAWL_OK)
        return rc;
    rc = store_of(h)->verbs->release(store_of(h), all, n, err);
    write_log(h->w, (write_record){ .kind = WRITE_RELEASE, .holds = all, .n = n });
    for (size_t i = 0; i < n && rc == PAWL_OK; i++)
        trace_line(h->w, h->k, "%s: let go of: %s", all[i].run, pawl_code_name(all[i].rc));
    return after(h, "release", n > 0 ? all[0].run : NULL, rc, true, err);
}

/* All of it is there, or none is: what was torn was dropped by the store. */
static pawl_code sim_append(pawl_store *s, pawl_append *all, size_t n, pawl_err *err)
{
    handle *h = handle_of(s);
    world *w = h->w;
    pawl_code rc = before(h, "append", n > 0 ? all[0].run : NULL, err);

    if (rc != PAWL_OK)
        return rc;
    rc = store_of(h)->verbs->append(store_of(h), all, n, err);
    write_log(w, (write_record){ .kind = WRITE_APPEND, .all = all, .n = n });
    w->report->appends++;
    if (rc == PAWL_OK)
        fences_check(w, all, n);
    for (size_t i = 0; i < n && rc == PAWL_OK; i++) {
        sim_run *y = sim_run_find(w, all[i].run);

        trace_line(w, h->k, "%s: %zu lines after entry %llu, fence %llu: %s", all[i].run, all[i].nlines, (unsigned long long)all[i].seq,
                 (unsigned long long)all[i].fence, pawl_code_name(all[i].rc));
        w->report->fenced += all[i].rc == PAWL_FENCED;
        if (all[i].moves && all[i].parked != NULL)
            trace_line(w, h->k, "%s: it is parked: %s", all[i].run, all[i].parked);
        if (y == NULL || all[i].rc != PAWL_OK)
            continue;
        sim_run_follow(w, y);
        if (all[i].snapshot.size > 0) {
            w->report->snapshots++;
            sim_run_audit(w, y);
        }
    }
    return after(h, "append", n > 0 ? all[0].run : NULL, rc, true, err);
}

static pawl_code sim_mark(pawl_store *s, pawl_mark *all, size_t n, pawl_err *err)
{
    handle *h = handle_of(s);
    pawl_code rc = before(h, "mark", n > 0 ? all[0].run : NULL, err);

    if (rc != PAWL_OK)
        return rc;
    rc = store_of(h)->verbs->mark(store_of(h), all, n, err);
    write_log(h->w, (write_record){ .kind = WRITE_MARK, .marks = all, .n = n });
    for (size_t i = 0; i < n; i++)
        h->w->report->fenced += all[i].rc == PAWL_FENCED;
    return after(h, "mark", n > 0 ? all[0].run : NULL, rc, true, err);
}

static pawl_code sim_marks(pawl_store *s, const char *run, pawl_mark_fn *fn, void *ctx, pawl_err *err)
{
    handle *h = handle_of(s);
    pawl_code rc = before(h, "marks", run, err);

    return rc != PAWL_OK ? rc : after(h, "marks", run, store_of(h)->verbs->marks(store_of(h), run, fn, ctx, err), false, err);
}

static pawl_code sim_deliver(pawl_store *s, const char *run, pawl_delivery *d, pawl_err *err)
{
    handle *h = handle_of(s);
    pawl_code rc = before(h, "deliver", run, err);

    if (rc != PAWL_OK)
        return rc;
    rc = store_of(h)->verbs->deliver(store_of(h), run, d, err);
    write_log(h->w, (write_record){ .kind = WRITE_DELIVER, .run = run, .d = *d });
    return after(h, "deliver", run, rc, true, err);
}

static pawl_code sim_deliveries(pawl_store *s, const char *run, pawl_delivery_fn *fn, void *ctx, pawl_err *err)
{
    handle *h = handle_of(s);
    pawl_code rc = before(h, "deliveries", run, err);

    return rc != PAWL_OK ? rc : after(h, "deliveries", run, store_of(h)->verbs->deliveries(store_of(h), run, fn, ctx, err), false, err);
}

static pawl_code sim_load(pawl_store *s, const char *run, pawl_line_fn *fn, void *ctx, pawl_err *err)
{
    handle *h = handle_of(s);
    pawl_code rc = before(h, "load", run, err);

    return rc != PAWL_OK ? rc : after(h, "load", run, store_of(h)->verbs->load(store_of(h), run, fn, ctx, err), false, err);
}

static pawl_code sim_snapshot(pawl_store *s, const char *run, pawl_line_fn *fn, void *ctx, pawl_err *err)
{
    handle *h = handle_of(s);
    pawl_code rc = before(h, "snapshot", run, err);

    return rc != PAWL_OK ? rc : after(h, "snapshot", run, store_of(h)->verbs->snapshot(store_of(h), run, fn, ctx, err), false, err);
}

static pawl_code sim_read(pawl_store *s, const char *run, uint64_t from, uint64_t upto, pawl_line_fn *fn, void *ctx, pawl_err *err)
{
    handle *h = handle_of(s);
    pawl_code rc = before(h, "read", run, err);

    return rc != PAWL_OK ? rc : after(h, "read", run, store_of(h)->verbs->read(store_of(h), run, from, upto, fn, ctx, err), false, err);
}

static pawl_code sim_blob(pawl_store *s, const char *run, const char *digest, pawl_line_fn *fn, void *ctx, pawl_err *err)
{
    handle *h = handle_of(s);
    pawl_code rc = before(h, "blob", run, err);

    return rc != PAWL_OK ? rc : after(h, "blob", run, store_of(h)->verbs->blob(store_of(h), run, digest, fn, ctx, err), false, err);
}

static pawl_code sim_head(pawl_store *s, const char *run, pawl_head *head, pawl_err *err)
{
    handle *h = handle_of(s);
    pawl_code rc = before(h, "head", run, err);

    if (rc != PAWL_OK)
        return rc;
    rc = store_of(h)->verbs->head(store_of(h), run, head, err);
    arena_reset(&h->texts);
    if (rc == PAWL_OK && h->k != NULL)
        (void)head_kept(h, head);
    return after(h, "head", run, rc, false, err);
}

static pawl_code sim_list(pawl_store *s, const pawl_filter *f, pawl_head_fn *fn, void *ctx, pawl_err *err)
{
    handle *h = handle_of(s);
    pawl_code rc = before(h, "list", NULL, err);

    return rc != PAWL_OK ? rc : after(h, "list", NULL, store_of(h)->verbs->list(store_of(h), f, fn, ctx, err), false, err);
}

static pawl_code sim_waits(pawl_store *s, const char *run, pawl_waiting_fn *fn, void *ctx, pawl_err *err)
{
    handle *h = handle_of(s);
    pawl_code rc = before(h, "waits", run, err);

    return rc != PAWL_OK ? rc : after(h, "waits", run, store_of(h)->verbs->waits(store_of(h), run, fn, ctx, err), false, err);
}

static pawl_code sim_due(pawl_store *s, int64_t when_ms, const pawl_due *from, size_t limit, pawl_head_fn *fn, void *ctx, pawl_err *err)
{
    handle *h = handle_of(s);
    pawl_code rc = before(h, "due", NULL, err);

    return rc != PAWL_OK ? rc : after(h, "due", NULL, store_of(h)->verbs->due(store_of(h), when_ms, from, limit, fn, ctx, err), false, err);
}

static pawl_code sim_prune(pawl_store *s, const char *run, uint64_t fence, uint64_t seq, pawl_bytes base, pawl_err *err)
{
    handle *h = handle_of(s);
    pawl_code rc = before(h, "prune", run, err);

    if (rc != PAWL_OK)
        return rc;
    rc = store_of(h)->verbs->prune(store_of(h), run, fence, seq, base, err);
    write_log(h->w, (write_record){ .kind = WRITE_PRUNE, .run = run, .fence = fence, .seq = seq, .base = base });
    return after(h, "prune", run, rc, true, err);
}

static pawl_code sim_remove(pawl_store *s, const char *run, uint64_t fence, pawl_err *err)
{
    handle *h = handle_of(s);
    pawl_code rc = before(h, "remove", run, err);

    if (rc != PAWL_OK)
        return rc;
    rc = store_of(h)->verbs->remove(store_of(h), run, fence, err);
    write_log(h->w, (write_record){ .kind = WRITE_REMOVE, .run = run, .fence = fence });
    return after(h, "remove", run, rc, true, err);
}

static pawl_code sim_check(pawl_store *s, pawl_err *err) { return store_of(handle_of(s))->verbs->check(store_of(handle_of(s)), err); }
static pawl_code sim_vacuum(pawl_store *s, pawl_err *err) { return store_of(handle_of(s))->verbs->vacuum(store_of(handle_of(s)), err); }

static pawl_code sim_backup(pawl_store *s, const char *path, pawl_err *err)
{
    return store_of(handle_of(s))->verbs->backup(store_of(handle_of(s)), path, err);
}

static const pawl_store_verbs verbs = {
    .name = "sim", .close = sim_close, .now = sim_now, .version = sim_version, .create = sim_create, .claim = sim_claim, .renew = sim_renew,
    .release = sim_release, .append = sim_append, .mark = sim_mark, .marks = sim_marks, .deliver = sim_deliver, .deliveries = sim_deliveries,
    .load = sim_load, .snapshot = sim_snapshot, .read = sim_read, .blob = sim_blob, .head = sim_head, .list = sim_list, .waits = sim_waits, .due = sim_due,
    .next_due = sim_next_due, .prune = sim_prune, .remove = sim_remove, .check = sim_check, .backup = sim_backup, .vacuum = sim_vacuum,
};

static pawl_store *handle_made(world *w, worker *k)
{
    handle *h = mem_new(&w->alloc, sizeof *h);

    if (h == NULL)
        return NULL;
    h->store.verbs = &verbs;
    h->w = w;
    h->k = k;
    arena_init(&h->texts, &w->alloc, 512);
    return &h->store;
}

pawl_store *worker_store(worker *k) { return handle_made(k->w, k); }
pawl_store *plain_store(world *w) { return handle_made(w, NULL); }
