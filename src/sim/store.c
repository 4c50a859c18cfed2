/* store.c - the store of a world, and the handles on it, through which verbs fail before or after they took effect.
 *
 * Owns the handles, and the SQLite connection of each. Called by the engines through the verbs, and by sim.c; on the thread of pawl_sim. A write is
 * recorded (writes.c), folded (oracle.c) and checked (checks.c) before the worker gets its result. */
#include "sim/sim.h"

#include <stdio.h>
#include <string.h>

typedef struct handle {
    pawl_store store;
    world *w;
    worker *k;                  /* NULL: a handle without faults */
    pawl_store *own;            /* its SQLite connection; NULL: it shares the world's store */
    arena texts;                /* of the heads that were returned last */
} handle;

static handle *handle_of(pawl_store *s) { return (handle *)(void *)s; }
static pawl_store *store_of(const handle *h) { return h->own != NULL ? h->own : h->w->store; }

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
    h->k->faults++;
    trace_line(w, h->k, "%s %s fails", verb, run != NULL ? run : "");
    return fail(err, PAWL_IO, "%s: %s: the store is not there", run != NULL ? run : "the store", verb);
}

static pawl_code seems_to_fail(handle *h, const char *verb, const char *run, pawl_err *err)
{
    h->w->report->unsure++;
    h->k->faults++;
    trace_line(h->w, h->k, "%s %s is done, and seems to fail", verb, run != NULL ? run : "");
    return fail(err, PAWL_IO, "%s: %s: the store did not say how it went", run != NULL ? run : "the store", verb);
}

static pawl_code after(handle *h, const char *verb, const char *run, pawl_code rc, bool writes, pawl_err *err)
{
    world *w = h->w;

    if (h->k == NULL)
        return rc;
    if (writes)
        trace_line(w, h->k, "%s %s: %s", verb, run != NULL ? run : "", pawl_code_name(rc));
    if (writes && rc == PAWL_OK && sim_happens(w, w->t.unsure))
        rc = seems_to_fail(h, verb, run, err);
    return point(h->k) ? rc : fail(err, PAWL_IO, "%s: %s: the worker is dead", run != NULL ? run : "the store", verb);
}

/* Texts of a head are lent until the next call on this handle, but other handles may be called before. */
static bool head_kept(handle *h, pawl_head *head)
{
    head->owner = arena_text(&h->texts, head->owner);
    head->parked = arena_text(&h->texts, head->parked);
    if (h->texts.failed)
        sim_nomem(h->w);
    return !h->texts.failed;
}

/* ---- the verbs ----------------------------------------------------------------------------------------- */

static void sim_close(pawl_store *s)
{
    handle *h = handle_of(s);

    pawl_store_free(h->own);
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
        if (all[i].rc == PAWL_OK && w->store->verbs->head(w->store, all[i].run, &head, NULL) == PAWL_OK)
            sim_holds(w, PROMISE_S2_WRITE, head.fence == all[i].fence, sim_run_find(w, all[i].run), NULL,
                      "%s: a write of fence %llu is taken, and %llu is the newest", all[i].run, (unsigned long long)all[i].fence,
                      (unsigned long long)head.fence);
}

static write_record create_record(pawl_bytes base, const pawl_beginning *with)
{
    write_record one = { .kind = WRITE_CREATE, .base = base };

    if (with == NULL)
        return one;
    one.owner = with->owner;
    one.ttl_ms = with->ttl_ms;
    one.fence = with->fence;
    one.all = with->first;
    one.n = with->first != NULL;
    if (with->left != NULL)
        one.d = *with->left;
    return one;
}

/* It was claimed and written in the transaction that created it. */
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
    if (y == NULL)
        return;
    sim_run_follow(h->w, y);
    timers_check(h->w, y);
    sim_run_snapshot_check(h->w, y);
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

enum { CLAIMS_MAX = 32 };       /* more claims at once are not checked */

/* Texts belong to the oracle's handle until it reads another head: only the owner's name is copied. */
static void heads_before(world *w, const pawl_claim *all, pawl_claim *to, char (*owners)[SIM_OWNER_BYTES], size_t n)
{
    for (size_t i = 0; i < n && i < CLAIMS_MAX; i++) {
        to[i].rc = w->store->verbs->head(w->store, all[i].run, &to[i].head, NULL);
        if (to[i].rc != PAWL_OK || to[i].head.owner == NULL)
            continue;
        snprintf(owners[i], sizeof owners[i], "%s", to[i].head.owner);
        to[i].head.owner = owners[i];
    }
}

/* The store has a lease of which the worker does not know: a claim that seemed to fail, or a failed release. */
static void lease_unknown(world *w, const char *run, uint64_t fence)
{
    sim_run *y = sim_run_find(w, run);

    if (y != NULL)
        y->unknown_fence = fence;
}

static pawl_code sim_claim(pawl_store *s, const char *owner, int64_t ttl_ms, pawl_claim *all, size_t n, pawl_err *err)
{
    handle *h = handle_of(s);
    pawl_claim before_claim[CLAIMS_MAX];
    char owners[CLAIMS_MAX][SIM_OWNER_BYTES];
    pawl_code rc = before(h, "claim", n > 0 ? all[0].run : NULL, err), said;

    if (rc != PAWL_OK)
        return rc;
    heads_before(h->w, all, before_claim, owners, n);
    rc = store_of(h)->verbs->claim(store_of(h), owner, ttl_ms, all, n, err);
    if (rc == PAWL_OK)
        claims_check(h->w, owner, before_claim, all, n < CLAIMS_MAX ? n : CLAIMS_MAX);
    write_log(h->w, (write_record){ .kind = WRITE_CLAIM, .owner = owner, .ttl_ms = ttl_ms, .claims = all, .n = n });
    arena_reset(&h->texts);
    for (size_t i = 0; i < n && rc == PAWL_OK; i++)
        if (h->k != NULL && (all[i].rc == PAWL_OK || all[i].rc == PAWL_HELD) && head_kept(h, &all[i].head))
            trace_line(h->w, h->k, "%s: %s, fence %llu", all[i].run, all[i].rc == PAWL_OK ? "claimed" : "held",
                     (unsigned long long)all[i].head.fence);
    said = after(h, "claim", n > 0 ? all[0].run : NULL, rc, true, err);
    for (size_t i = 0; i < n && rc == PAWL_OK && said != PAWL_OK; i++)
        if (all[i].rc == PAWL_OK)
            lease_unknown(h->w, all[i].run, all[i].head.fence);
    return said;
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

static void let_go(handle *h, const pawl_hold *hold)
{
    sim_run *y = sim_run_find(h->w, hold->run);

    trace_line(h->w, h->k, "%s: let go of: %s", hold->run, pawl_code_name(hold->rc));
    if (y == NULL || hold->rc != PAWL_OK)
        return;
    if (h->k != NULL)
        backoffs_handed_on(h->k, y, hold->fence);
    timers_check(h->w, y);
}

static pawl_code sim_release(pawl_store *s, pawl_hold *all, size_t n, pawl_err *err)
{
    handle *h = handle_of(s);
    pawl_code rc = before(h, "release", n > 0 ? all[0].run : NULL, err);

    for (size_t i = 0; i < n && rc != PAWL_OK; i++)
        lease_unknown(h->w, all[i].run, all[i].fence);
    if (rc != PAWL_OK)
        return rc;
    rc = store_of(h)->verbs->release(store_of(h), all, n, err);
    write_log(h->w, (write_record){ .kind = WRITE_RELEASE, .holds = all, .n = n });
    for (size_t i = 0; i < n && rc == PAWL_OK; i++)
        let_go(h, &all[i]);
    return after(h, "release", n > 0 ? all[0].run : NULL, rc, true, err);
}

static bool any_released(const pawl_append *all, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (all[i].release && all[i].rc == PAWL_OK)
            return true;
    return false;
}

/* More often than for other verbs: the worker must find out who holds the run (S2). */
static bool release_is_unsure(world *w)
{
    return !w->calm && rng_below(&w->again, 1000) < (uint64_t)w->t.unsure * 5;
}

/* All or nothing: the store drops a torn write. */
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
        timers_check(w, y);
        sim_run_snapshot_check(w, y);
        stale_receipts_check(w, y, &all[i]);
        if (all[i].release && h->k != NULL)
            backoffs_handed_on(h->k, y, all[i].fence);
        if (all[i].snapshot.size > 0) {
            w->report->snapshots++;
            sim_run_audit(w, y);
        }
    }
    if (rc == PAWL_OK && h->k != NULL && !w->over)
        fairness_check(w, h->k, all, n);
    rc = after(h, "append", n > 0 ? all[0].run : NULL, rc, true, err);
    return rc == PAWL_OK && h->k != NULL && any_released(all, n) && release_is_unsure(w) ? seems_to_fail(h, "append", all[0].run, err) : rc;
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
    sim_run *y;

    if (rc != PAWL_OK)
        return rc;
    rc = store_of(h)->verbs->deliver(store_of(h), run, d, err);
    write_log(h->w, (write_record){ .kind = WRITE_DELIVER, .run = run, .d = *d });
    if (rc == PAWL_OK && d->kind == PAWL_DELIVER_ANSWER && (y = sim_run_find(h->w, run)) != NULL)
        sim_run_answered(h->w, y, d);
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

static pawl_code sim_look(pawl_store *s, const char *run, pawl_look *look, pawl_err *err)
{
    handle *h = handle_of(s);
    pawl_code rc = before(h, "look", run, err);

    if (rc != PAWL_OK)
        return rc;
    rc = store_of(h)->verbs->look(store_of(h), run, look, err);
    arena_reset(&h->texts);
    if (look->head.run != NULL && h->k != NULL)
        (void)head_kept(h, &look->head);
    return after(h, "look", run, rc, false, err);
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

/* ---- what is due ------------------------------------------------------------------------------------- */

typedef struct due_list { pawl_head_fn *fn; void *ctx; world *w; int64_t when_ms, last_ms, first_ms; uint64_t last_no; } due_list;

static bool see_due(void *ctx, const pawl_head *head)
{
    due_list *l = ctx;
    bool ordered = head->look_ms > l->last_ms || (head->look_ms == l->last_ms && head->no > l->last_no);

    sim_holds(l->w, PROMISE_DUE, ordered, sim_run_find(l->w, head->run), NULL, "%s: due since %lld, and listed after one that is due since %lld",
              head->run, (long long)head->look_ms, (long long)l->last_ms);
    l->first_ms = l->last_no == 0 ? head->look_ms : l->first_ms;
    l->last_ms = head->look_ms;
    l->last_no = head->no;
    return l->fn(l->ctx, head);
}

/* From the first row of the order: no due run precedes the first that is listed. */
static void first_due_check(world *w, const due_list *l)
{
    pawl_head head;

    for (unsigned i = 0; i < w->nruns; i++)
        if (w->store->verbs->head(w->store, w->runs[i].id, &head, NULL) == PAWL_OK && head.look_ms > 0 && head.parked == NULL &&
            head.look_ms <= w->now && store_is_due(&head, l->when_ms, w->now))
            sim_holds(w, PROMISE_DUE, l->last_no > 0 && l->first_ms <= head.look_ms, &w->runs[i], NULL,
                      "%s: due since %lld, and what is due is listed from %lld on", w->runs[i].id, (long long)head.look_ms, (long long)l->first_ms);
}

static pawl_code sim_due(pawl_store *s, int64_t when_ms, const pawl_due *from, size_t limit, pawl_head_fn *fn, void *ctx, pawl_err *err)
{
    handle *h = handle_of(s);
    due_list l = { fn, ctx, h->w, when_ms, INT64_MIN, 0, 0 };
    pawl_code rc = before(h, "due", NULL, err);

    if (rc != PAWL_OK)
        return rc;
    rc = store_of(h)->verbs->due(store_of(h), when_ms, from, limit, see_due, &l, err);
    if (rc == PAWL_OK && from == NULL && limit > 0 && !h->w->over)
        first_due_check(h->w, &l);
    return after(h, "due", NULL, rc, false, err);
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
    .look = sim_look,
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
    if (*w->path != '\0' && k != NULL && (h->own = store_connect(w)) == NULL) {
        sim_close(&h->store);
        return NULL;
    }
    return &h->store;
}

pawl_store *worker_store(worker *k) { return handle_made(k->w, k); }
pawl_store *plain_store(world *w) { return handle_made(w, NULL); }
