/* scheduler.c - drives many runs at once: each takes a step, one commit stores all steps, and so on (E3).
 *
 * Called on the driving thread; the store is used under the engine's lock. Owns the batch of runs that a call drives. Invariants: a run is in at
 * most one batch (pass_table); a run waits only for its own step to be stored, never for the work of another run. */
#include "engine/child/child.h"
#include "engine/command/outbox.h"
#include "engine/run/anchor.h"
#include "engine/run/run.h"
#include "engine/run/stream_ring.h"
#include "engine/scheduler/scheduler.h"
#include "engine/run/owner.h"

#include <stdio.h>
#include <string.h>

enum { RUNS_MAX = 256, WAITING_MAX = 120 };      /* fewer than half of a batch may wait for a place in a rate limit, so that other runs get in */
enum { LOOK_MAX = 1024, POLL_MS = 10, REFUSALS_MAX = 2, FILLS_MAX = 512, RECLAIM_MS = 500 };

typedef struct run_batch {
    cached_run *runs[RUNS_MAX];
    cached_run *some[RUNS_MAX];       /* the runs of the next claim, commit or release */
    pawl_claim claims[RUNS_MAX];
    size_t n, nsome;
    int64_t looked_ms;          /* when the store was last asked for due runs */
    pawl_due deep;              /* position of the search behind the first LOOK_MAX due runs */
    bool clean;                 /* the search behind them has found no run to claim so far */
    bool whole;                 /* the search saw all due runs at store version `version`; the next one starts at `since_ms` */
    uint64_t version;
    int64_t since_ms;
    bool moved;                 /* a run made progress in this pass */
    unsigned fills;             /* number of fills in a row without progress */
    int64_t pass_ms;            /* when this pass began */
    int64_t postponed_ms;       /* the latest time to which this call postponed a run that waits for a place */
} run_batch;

/* An error of the machine or the store, not of a run: it ends pawl_work(). */
static bool is_machine_error(pawl_code rc)
{
    return rc == PAWL_NOMEM || rc == PAWL_IO || rc == PAWL_TRANSIENT;
}

static int64_t stored_now(pawl_engine *e)
{
    int64_t now;

    pthread_mutex_lock(&e->lock);
    now = e->store->verbs->now(e->store);
    pthread_mutex_unlock(&e->lock);
    return now;
}

/* ---- the batch is filled ------------------------------------------------------------------------------------ */

typedef struct due_page {
    const pawl_engine *e;
    buf ids;                    /* ids of the runs to claim */
    size_t n, room, seen;
    int64_t now_ms;
    pawl_due last;
    bool full;                  /* more than `room` runs were found */
} due_page;

static bool see_due(void *ctx, const pawl_head *head)
{
    due_page *l = ctx;

    l->seen++;
    if (machine_named(l->e, head->machine) != NULL && !backlog_has(l->e, head, l->now_ms)) {
        if ((l->full = l->n == l->room))
            return false;
        buf_put(&l->ids, head->run, strlen(head->run) + 1);
        l->n++;
    }
    l->last = (pawl_due){ head->look_ms, head->no };
    return !l->ids.failed;
}

/* Reads one page of due runs. *end: no due run follows. */
static pawl_code page_scan(pawl_engine *e, due_page *l, const pawl_due *after, bool *end, pawl_err *err)
{
    pawl_code rc;

    l->seen = 0;
    pthread_mutex_lock(&e->lock);
    rc = e->store->verbs->due(e->store, l->now_ms, after, LOOK_MAX, see_due, l, err);
    pthread_mutex_unlock(&e->lock);
    *end = !l->full && l->seen < LOOK_MAX;
    return rc == PAWL_OK && l->ids.failed ? fail(err, PAWL_NOMEM, "no memory for the runs that are due") : rc;
}

/* Finds the runs that are due first. When this engine cannot drive any of the first LOOK_MAX, each call reads the next page behind them. */
static pawl_code find_due(pawl_engine *e, run_batch *c, due_page *l, pawl_err *err)
{
    bool again = !c->whole || e->backlog_cleared || l->now_ms >= e->backlog_again_ms, end;
    uint64_t version;
    int64_t now = stored_now(e);
    pawl_due since = { c->since_ms, 0 };
    pawl_code rc;

    pthread_mutex_lock(&e->lock);
    version = e->store->verbs->version(e->store);
    pthread_mutex_unlock(&e->lock);
    if (ring_here(e) != NULL)
        ring_check(ring_here(e), version == 0 || version != c->version);
    again = again || version == 0 || version != c->version;
    if (again) {
        e->backlog_cleared = false;
        if (l->now_ms >= e->backlog_again_ms)
            e->backlog_again_ms = INT64_MAX;
    }
    if ((rc = page_scan(e, l, again ? NULL : &since, &end, err)) != PAWL_OK)
        return rc;
    if (!end && !l->full) {
        if (c->deep.no == 0) {
            c->deep = l->last;
            c->clean = true;
        }
        rc = page_scan(e, l, &c->deep, &end, err);
        c->clean = c->clean && l->n == 0 && !l->full;
        c->deep = end ? (pawl_due){ 0, 0 } : l->last;
        end = end && c->clean;
    }
    c->whole = end;
    c->version = version;
    c->since_ms = now < l->now_ms ? now : l->now_ms;
    return rc;
}

/* Parks a run that cannot go on; the other runs continue. */
static pawl_code run_failed(pawl_engine *e, cached_run *r, pawl_code rc, const pawl_err *why, pawl_err *err)
{
    if (is_machine_error(rc))
        return fail(err, rc, "%s", why->text);
    (void)store_all(e, r, NULL);        /* stores the steps before the failed one */
    return run_park(e, r, why->text, err);
}

/* A refused release is no news; a head that cannot be anchored is (P12). `rc`: the result of the call so far. */
static pawl_code some_release(pawl_engine *e, run_batch *c, size_t n, pawl_code rc, pawl_err *err)
{
    pawl_err why = { PAWL_OK, "" };
    const pawl_code one = runs_release(e, c->some, n, &why);

    return e->anchor != NULL && rc == PAWL_OK && is_machine_error(one) ? fail(err, one, "%s", why.text) : rc;
}

/* Claims the runs of `some` in one transaction. A run leaves the batch when another engine holds its lease, or this engine lacks its machine. */
static pawl_code batch_claim(pawl_engine *e, run_batch *c, int64_t now_ms, pawl_err *err)
{
    pawl_err claiming = { PAWL_OK, "" };
    pawl_code rc = c->nsome == 0 ? PAWL_OK : runs_claim(e, c->some, c->claims, c->nsome, &claiming);
    int64_t stored_ms = stored_now(e);
    size_t left = 0;

    if (rc != PAWL_OK)
        fail(err, rc, "%s", claiming.text);
    for (size_t i = 0; i < c->nsome; i++) {
        cached_run *r = c->some[i];
        pawl_err why = { PAWL_OK, "" };
        pawl_code one = rc == PAWL_OK ? c->claims[i].rc : rc;

        if (one == PAWL_OK && (one = run_enter(e, r, &why)) == PAWL_OK && run_fits(r)) {
            mailbox_move(r, r->mail == 0 ? MAILBOX_EMPTY : MAILBOX_UNREAD);
            r->heard = 0;
            r->admitted = false;
            c->runs[c->n++] = r;
            continue;
        }
        if (r->fence != 0 && (one == PAWL_OK || one == PAWL_INVALID))
            backlog_put(e, r, now_ms, stored_ms);
        else if (r->fence != 0 && rc == PAWL_OK)
            rc = run_failed(e, r, one, &why, err);
        c->some[left++] = r;
    }
    anchor_untouched(c->some, left);
    rc = some_release(e, c, left, rc, err);
    for (size_t i = 0; i < left; i++) {
        pass_move(c->some[i], PASS_OUT);
        run_keep_released(e, c->some[i]);
    }
    return rc;
}

static pawl_code batch_fill(pawl_engine *e, run_batch *c, pawl_err *err)
{
    due_page l = { .e = e, .room = RUNS_MAX - c->n, .now_ms = engine_now(e) };
    const char *id;
    pawl_code rc;

    if (c->n > RUNS_MAX / 2 || (c->moved && l.now_ms == c->looked_ms) || (c->n > 0 && BROKEN(BROKEN_BATCH_CLOSED))) {
        c->whole = false;
        return PAWL_OK;
    }
    e->delivered = false;
    c->looked_ms = l.now_ms;
    c->fills = c->moved ? 0 : c->fills + 1;
    c->nsome = 0;
    buf_init(&l.ids, &e->alloc);
    rc = find_due(e, c, &l, err);
    id = l.ids.data;
    for (size_t k = 0; k < l.n && rc == PAWL_OK; k++, id += strlen(id) + 1) {
        cached_run *r = run_cached(e, id, err);

        if (r == NULL) {
            rc = PAWL_NOMEM;
        } else if (r->pass == PASS_OUT) {
            pass_move(r, PASS_IN);
            c->some[c->nsome++] = r;
        }
    }
    buf_free(&l.ids);
    if (rc == PAWL_OK)
        return batch_claim(e, c, l.now_ms, err);
    for (size_t i = 0; i < c->nsome; i++)
        pass_move(c->some[i], PASS_OUT);
    return rc;
}

/* ---- one pass ---------------------------------------------------------------------------------------- */

static pawl_code step_once(pawl_engine *e, cached_run *r, run_batch *c, pawl_err *err)
{
    pawl_event tick = { .kind = PAWL_EV_TICK };
    pawl_code next, rc;
    size_t before = r->nlines;
    pawl_err why = { PAWL_OK, "" };
    dispatched sent;
    bool did = false, took;

    if (r->lease_lost) {
        run_lease_lost(e, r);
        return PAWL_OK;
    }
    pass_move(r, PASS_IN);
    rc = deliveries_feed(e, r, err);
    took = rc == PAWL_OK && (r->nlines > before || r->ntaken > 0);
    if (took)
        pass_move(r, PASS_STEPPED);
    c->moved = c->moved || took;
    if (rc != PAWL_OK || r->fence == 0 || took)      /* the commit must store the deliveries before commands of the run leave */
        return rc;
    if ((rc = admission(e, r, err)) != PAWL_OK)
        return rc;
    if (r->nlines > before) {       /* the settings of the host: stored before commands leave */
        c->moved = true;
        return PAWL_OK;
    }
    next = pawl_state_next(r->st);
    outbox_drop_leftovers(e, r, next);
    if (next == PAWL_HALTED && child_must_notify(r)) {
        rc = child_notify(e, r, err);
        c->moved = c->moved || rc == PAWL_OK;   /* the mailbox of its parent may be full: then it is parked, and nothing has moved */
        return rc;
    }
    if (next == PAWL_PENDING) {
        rc = dispatch(e, r, false, &sent, &why);
        if (rc == PAWL_FENCED)
            return PAWL_OK;     /* another engine holds the run */
        if (rc != PAWL_OK)
            fail(err, rc, "%s", why.text);
    } else if (next == PAWL_INTERRUPTED) {
        int64_t first;

        rc = timers_fire(e, r, &first, &did, err);
    } else if (next == PAWL_OK && (rc = deadline_keep(e, r, &did, err)) == PAWL_OK && !did) {
        tick.time_ms = engine_now(e);
        rc = run_feed(e, r, &tick, err);
        rc = rc < 0 ? rc : PAWL_OK;
    }
    c->moved = c->moved || r->nlines > before || r->sql != NULL;
    return rc;
}

/* When one run must be stored, stores all runs with folded lines in the same commit. */
static pawl_code batch_store(pawl_engine *e, run_batch *c, bool all, pawl_err *err)
{
    pawl_err why = { PAWL_OK, "" };
    pawl_code rc;

    c->nsome = 0;
    for (size_t i = 0; i < c->n; i++) {
        cached_run *r = c->runs[i];
        const bool notified = r->st != NULL && r->fence != 0 && child_was_notified(r);

        PAWL_ASSERT(r->st == NULL || r->fence != 0 || !run_has_news(r), "E3: what waits for the commit of a batch is held");
        if (r->st != NULL && r->fence != 0 && (run_has_news(r) || notified))
            c->some[c->nsome++] = r;
        all = all || notified || store_due(e, r);
    }
    if (c->nsome == 0)
        return PAWL_OK;
    if (!all) {
        renewal_begin(e);        /* no append renews the leases for a while, so the lease thread must */
        return PAWL_OK;
    }
    for (size_t i = 0; BROKEN(BROKEN_COMMIT) && i < c->nsome; i++)
        (void)dispatch(e, c->some[i], false, &(dispatched){ .did = false }, &why);
    rc = runs_commit(e, c->some, c->nsome, true, &why);
    return is_machine_error(rc) ? fail(err, rc, "%s", why.text) : PAWL_OK;
}

static bool has_work(const cached_run *r)
{
    return outbox_count(&r->outbox, ENTRIES_WORK) > 0 || r->pass == PASS_STEPPED || pawl_state_next(r->st) == PAWL_OK || child_must_notify(r);
}

/* The run can make no progress now. Puts it into `some` when the store does not have its first timer or its work flag yet, so that the next commit
 * stores them. A run that is still due goes to the backlog, so that it is not tried again at once. */
static pawl_code rest(pawl_engine *e, cached_run *r, run_batch *c, int64_t stored_ms, pawl_err *err)
{
    bool works;
    int64_t wake;

    if (r->fence == 0)
        return PAWL_OK;
    if (r->st == NULL) {
        char why[200];

        snprintf(why, sizeof why, "%.128s: the store refuses each of its appends", r->id);
        return r->refused >= REFUSALS_MAX ? run_park(e, r, why, err) : PAWL_OK;
    }
    wake = wait_index_wake(e, r, &works);
    if (works || r->mail > 0 || (wake != 0 && wake <= c->pass_ms))
        backlog_put(e, r, c->pass_ms, stored_ms);
    if (wake != r->wake_ms || works != r->work || r->nlines > 0)       /* a back-off has started, or folded lines must be stored before the run is left */
        c->some[c->nsome++] = r;
    return PAWL_OK;
}

/* Sends a run that waits for a place back to the store. Work that was due when pawl_work() was called stays due for that call, unless the run waits
 * for a token of a rate, which counts as a timer. */
static void postpone(pawl_engine *e, cached_run *r, run_batch *c)
{
    const bool for_token = budgets_next(e) > 0;
    int64_t wake;

    outbox_postpone(e, r, c->pass_ms);
    wake = wait_index_wake(e, r, &(bool){ false });
    if (!for_token && wake > c->postponed_ms)
        c->postponed_ms = wake;
}

/* Removes runs from the batch that were released or lost, or that only wait: the store has their timers. */
static pawl_code batch_sift(pawl_engine *e, run_batch *c, pawl_err *err)
{
    int64_t stored_ms = stored_now(e);
    pawl_code rc = PAWL_OK;
    size_t kept = 0, left = 0, waiting = 0;
    cached_run *gone[RUNS_MAX];

    c->nsome = 0;
    for (size_t i = 0; i < c->n; i++) {
        cached_run *r = c->runs[i];

        if (r->fence != 0 && r->st != NULL && r->pass != PASS_STEPPED && outbox_only_queued(r) && ++waiting > WAITING_MAX)
            postpone(e, r, c);
        if (r->fence != 0 && r->st != NULL && has_work(r)) {
            c->runs[kept++] = r;
            continue;
        }
        gone[left++] = r;
        outbox_unqueue(e, r);
        if (r->fence != 0 && r->st != NULL)
            (void)backoffs_store(e, r, NULL);       /* of attempts that returned after the run's step (E7, E13) */
        if (rc == PAWL_OK)
            rc = rest(e, r, c, stored_ms, err);
    }
    c->n = kept;
    if (rc == PAWL_OK && c->nsome > 0) {
        pawl_err why = { PAWL_OK, "" };
        pawl_code stored = runs_commit(e, c->some, c->nsome, true, &why);

        rc = is_machine_error(stored) ? fail(err, stored, "%s", why.text) : PAWL_OK;
    }
    if (left > 0) {             /* also after an error, since the leases of these runs are not renewed any more */
        pawl_code released = runs_release(e, gone, left, rc == PAWL_OK ? err : NULL);

        rc = rc == PAWL_OK ? released : rc;
    }
    for (size_t i = 0; i < left; i++) {
        pass_move(gone[i], PASS_OUT);       /* only now: run_keep_released() may free another run of `gone` */
        if (gone[i]->fence == 0)
            outbox_forget(e, gone[i]);
        run_keep_released(e, gone[i]);
    }
    return rc;
}

static pawl_code pass(pawl_engine *e, run_batch *c, pawl_err *err)
{
    pawl_code rc = PAWL_OK, stored;

    c->moved = false;
    c->pass_ms = engine_now(e);
    for (size_t i = 0; i < c->n && rc == PAWL_OK; i++) {
        pawl_err why = { PAWL_OK, "" };
        const bool starves = BROKEN(BROKEN_PASS_FIRST) && c->moved && c->runs[i]->st != NULL && pawl_state_next(c->runs[i]->st) == PAWL_OK;
        pawl_code one = starves || (e->draining && outbox_open_idle(c->runs[i])) ? PAWL_OK : step_once(e, c->runs[i], c, &why);

        if (one == PAWL_FENCED)
            run_lease_lost(e, c->runs[i]);
        else if (one != PAWL_OK)
            rc = run_failed(e, c->runs[i], one, &why, err);
    }
    stored = batch_store(e, c, rc != PAWL_OK, err);
    rc = rc == PAWL_OK ? stored : rc;
    return rc == PAWL_OK ? batch_sift(e, c, err) : rc;
}

static pawl_code batch_release(pawl_engine *e, run_batch *c, pawl_err *err)
{
    pawl_code rc = batch_store(e, c, true, err);

    c->nsome = 0;
    for (size_t i = 0; i < c->n; i++) {
        cached_run *r = c->runs[i];

        pass_move(r, PASS_OUT);
        outbox_unqueue(e, r);
        counts_close(e, r);
        if (outbox_is_idle(r) || (e->draining && outbox_open_idle(r)))       /* else this engine keeps the lease until the attempts return */
            c->some[c->nsome++] = r;
    }
    rc = some_release(e, c, c->nsome, rc, err);
    c->n = 0;
    return rc;
}

/* ---- a parked run ------------------------------------------------------------------------------------------ */

/* PAWL_OK: the run is parked with the reason, or another engine holds it. */
static pawl_code parked_failed(pawl_engine *e, cached_run *r, pawl_code rc, const pawl_err *why, pawl_err *err)
{
    if (is_machine_error(rc)) {
        run_drop_state(e, r);
        return fail(err, rc, "%s", why->text);
    }
    return r->fence == 0 || rc == PAWL_FENCED ? PAWL_OK : run_failed(e, r, rc, why, err);
}

static pawl_code parked_admit(pawl_engine *e, cached_run *r, pawl_err *err)
{
    pawl_err why = { PAWL_OK, "" };
    pawl_code rc;

    mailbox_move(r, MAILBOX_UNREAD);
    r->heard = 0;
    r->admitted = false;
    rc = deliveries_feed(e, r, &why);
    if (rc == PAWL_OK)
        rc = admission(e, r, &why);
    if (rc == PAWL_OK)
        rc = runs_commit(e, &r, 1, false, &why);
    return rc == PAWL_OK ? PAWL_OK : parked_failed(e, r, rc, &why, err);
}

pawl_code parked_try(pawl_engine *e, const char *run, pawl_err *err)
{
    pawl_err why = { PAWL_OK, "" };
    cached_run *r;
    pawl_code rc = run_known(e, run, &r, err), released;

    if (rc != PAWL_OK || r->pass != PASS_OUT)
        return rc;
    rc = run_hold(e, r, &why);
    if (rc != PAWL_OK)
        rc = parked_failed(e, r, rc, &why, err);
    else if (run_fits(r)) {
        pass_move(r, PASS_IN);
        rc = parked_admit(e, r, err);
        pass_move(r, PASS_OUT);
    }
    if (r->fence != 0 && outbox_is_idle(r)) {
        released = run_release(e, r, rc == PAWL_OK ? err : NULL);
        rc = rc == PAWL_OK ? released : rc;
    }
    run_keep_released(e, r);
    return rc;
}

/* ---- between passes ---------------------------------------------------------------------------------------- */

static bool batch_any_running(const run_batch *c)
{
    for (size_t i = 0; i < c->n; i++)
        if (outbox_any_running(c->runs[i]))
            return true;
    return false;
}

/* Whether a run has a receipt to fold: its attempt returned while another run took a step. */
static bool batch_has_receipt(const run_batch *c)
{
    for (size_t i = 0; i < c->n; i++)
        if (outbox_first(&c->runs[i]->outbox, ENTRY_DONE) != NULL)
            return true;
    return false;
}

/* Whether no attempt runs and every receipt is stored. */
static bool batch_is_idle(const run_batch *c)
{
    for (size_t i = 0; i < c->n; i++)
        if (!outbox_open_idle(c->runs[i]))
            return false;
    return true;
}

/* After a pass without progress: waits for the pool, a token, a timer or a delivery. False: nothing to wait for before `until_ms`. */
static bool wait_some(pawl_engine *e, const run_batch *c, int64_t until_ms)
{
    int64_t now = engine_now(e), until = now + POLL_MS, token = budgets_next(e), next;
    bool given = e->clock.sleep_until != NULL;

    if (e->draining) {
        (void)outbox_collect(e, POLL_MS);
        return true;
    }
    if (e->granted > 0 || batch_has_receipt(c))
        return true;            /* a run took its step before it got a place, or before its receipt arrived */
    if (c->n > 0 && (e->waiting == 0 || batch_any_running(c) || (token == 0 && completions_out(e) > 0))) {
        (void)outbox_collect(e, given || token == 0 || token > until ? POLL_MS : token > now ? token - now : 1);
        return true;
    }
    if (c->n == 0 && !c->whole && c->fills < FILLS_MAX)
        return true;
    pthread_mutex_lock(&e->lock);
    next = e->store->verbs->next_due(e->store);
    pthread_mutex_unlock(&e->lock);
    if (now >= until_ms && c->looked_ms >= c->postponed_ms)
        return false;
    if (token > 0 && (next <= now || token < next))
        next = token;
    if ((until > until_ms && until_ms > now) || (given && token > 0))
        until = until_ms;
    engine_sleep(e, next > now && next < until ? next : until);
    return true;
}

/* Adds the runs that an earlier call left with running attempts, or could not store. This engine still has their leases, so the store does not list
 * them as due. PAWL_OK, or an error that ends pawl_work(). */
static pawl_code held_again(pawl_engine *e, run_batch *c, pawl_err *err)
{
    pawl_code rc = PAWL_OK;

    for (size_t i = 0; i < e->run_slots; i++)
        for (cached_run *r = e->runs[i]; r != NULL && rc == PAWL_OK; r = r->next) {
            pawl_err why = { PAWL_OK, "" };
            pawl_code one;

            if (r->fence == 0 || r->pass != PASS_OUT || c->n == RUNS_MAX)
                continue;
            if (r->lease_lost) {
                run_lease_lost(e, r);
                continue;
            }
            if ((one = run_load(e, r, &why)) != PAWL_OK) {
                rc = run_failed(e, r, one, &why, err);
                continue;
            }
            pass_move(r, PASS_IN);
            r->heard = 0;
            r->admitted = false;
            if (r->mailbox == MAILBOX_EMPTY)
                mailbox_move(r, MAILBOX_UNREAD);
            c->runs[c->n++] = r;
        }
    return rc;
}

unsigned engine_active(const pawl_engine *e)
{
    return e->active;
}

pawl_code pawl_work(pawl_engine *e, int64_t until_ms, pawl_err *err)
{
    run_batch *c = e == NULL ? NULL : mem_new(&e->alloc, sizeof *c);
    pawl_code rc = c == NULL ? fail(err, e == NULL ? PAWL_INVALID : PAWL_NOMEM, "no engine, or no memory, to work with") : PAWL_OK;

    if (rc == PAWL_OK)
        rc = held_again(e, c, err);
    for (int64_t reclaimed = 0; rc == PAWL_OK && !e->stopping && !(e->draining && batch_is_idle(c));) {
        int64_t now = steady_ms();

        completions_heard(e);
        if (reclaimed == 0 || now - reclaimed >= RECLAIM_MS) {
            reclaimed = now;
            left_check_leases(e);
            if ((rc = dead_owners_release(e, err)) != PAWL_OK)
                break;
        }
        if ((!e->draining && (rc = batch_fill(e, c, err)) != PAWL_OK) || (rc = pass(e, c, err)) != PAWL_OK)
            break;
        e->active = (unsigned)c->n;
        if (!c->moved && !(c->n == 0 && e->delivered) && !wait_some(e, c, until_ms))
            break;
    }
    if (c != NULL) {
        pawl_code left = batch_release(e, c, rc == PAWL_OK ? err : NULL);

        e->active = 0;

        rc = rc == PAWL_OK ? left : rc;
        mem_free(&e->alloc, c, sizeof *c);
    }
    return rc;
}

/* ---- the children of one run ------------------------------------------------------------------------------ */

typedef struct family { run_batch *c; int64_t wake_ms; bool fresh; } family;

static bool is_full(const family *f) { return f->c->n + f->c->nsome == RUNS_MAX; }

/* Adds a child to the batch when it is due, or when it was not tried since the last handler was added. */
static pawl_code child_joins(pawl_engine *e, family *f, const char *id, pawl_err *err)
{
    cached_run *r = run_cached(e, id, err);
    int64_t now = engine_now(e), store_ms;
    pawl_head head;
    pawl_code rc;
    bool due, fresh, held, dead = false;

    if (r == NULL)
        return PAWL_NOMEM;
    if (r->pass != PASS_OUT || is_full(f))
        return PAWL_OK;
    if (r->fence != 0 && r->st != NULL) {       /* claimed already: attempts of the child run */
        pass_move(r, PASS_IN);
        f->c->runs[f->c->n++] = r;
        return PAWL_OK;
    }
    if (e->draining)
        return PAWL_OK;
    pthread_mutex_lock(&e->lock);
    store_ms = e->store->verbs->now(e->store);
    rc = e->store->verbs->head(e->store, id, &head, NULL);
    held = rc == PAWL_OK && head.owner != NULL && store_held(&head, store_ms) && !(dead = owner_dead(head.owner));
    due = rc == PAWL_OK && (dead || store_is_due(&head, now, store_ms));
    pthread_mutex_unlock(&e->lock);
    if (rc != PAWL_OK)
        return rc == PAWL_GONE ? PAWL_OK : fail(err, rc, "%s: its head cannot be read from the store", id);
    fresh = r->tried != e->tries && !head.over;     /* also one that cannot be loaded is tried once only */
    if (!held && (due || fresh)) {
        f->fresh = f->fresh || fresh;
        r->tried = e->tries;
        pass_move(r, PASS_IN);
        f->c->some[f->c->nsome++] = r;
        return PAWL_OK;
    }
    if (held)
        head.wake_ms = now + POLL_MS;
    if (head.wake_ms > 0 && (f->wake_ms == 0 || head.wake_ms < f->wake_ms))
        f->wake_ms = head.wake_ms;
    return PAWL_OK;
}

/* Looks at no more children than the batch takes: there may be very many, and one batch after another is made. */
static pawl_code children_join(pawl_engine *e, family *f, const cached_run *r, pawl_err *err)
{
    static const entry_state started[] = { ENTRY_CHILD_STARTED, ENTRY_CHILD_RELEASED };
    pawl_code rc = PAWL_OK;

    for (size_t i = 0; i < sizeof started / sizeof *started; i++)
        for (const outbox_entry *entry = outbox_first(&r->outbox, started[i]); entry != NULL && rc == PAWL_OK && !is_full(f); entry = entry_next(entry)) {
            const cached_run *child = cached_run_find(e, entry_child(entry));

            rc = child_joins(e, f, entry_child(entry), err);
            if (rc == PAWL_OK && child != NULL)
                rc = children_join(e, f, child, err);
        }
    return rc;
}

/* Whether the children wait only for a token of a rate limit. */
static bool children_wait_for_token(pawl_engine *e, const run_batch *c, int64_t *wake)
{
    int64_t token = e->granted > 0 || batch_any_running(c) ? 0 : budgets_next(e);

    if (token > 0 && (*wake == 0 || token < *wake))
        *wake = token;
    return token > 0;
}

pawl_code children_drive(pawl_engine *e, cached_run *r, bool *did, int64_t *wake, pawl_err *err)
{
    family f = { .c = mem_new(&e->alloc, sizeof *f.c) };
    pawl_code rc = f.c == NULL ? fail(err, PAWL_NOMEM, "%s: no memory to drive its children", r->id) : PAWL_OK;

    do {
        if (rc != PAWL_OK)
            break;
        f.wake_ms = 0;
        f.fresh = e->delivered = false;
        f.c->nsome = 0;
        if ((rc = children_join(e, &f, r, err)) == PAWL_OK && (rc = batch_claim(e, f.c, engine_now(e), err)) == PAWL_OK)
            rc = pass(e, f.c, err);
        *did = *did || f.c->moved;
    } while (rc == PAWL_OK && (f.c->moved || f.fresh || e->delivered) && !e->stopping && !r->lease_lost && !has_deliveries(e, r));
    *wake = f.wake_ms;
    if (rc == PAWL_OK && !*did && f.c->n > 0 && !children_wait_for_token(e, f.c, wake))
        (void)outbox_collect(e, POLL_MS), *did = true;
    if (f.c != NULL) {
        pawl_code left = batch_release(e, f.c, rc == PAWL_OK ? err : NULL);

        rc = rc == PAWL_OK ? left : rc;
        mem_free(&e->alloc, f.c, sizeof *f.c);
    }
    return rc;
}
