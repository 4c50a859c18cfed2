/* commit.c - stores folded lines: many runs in one transaction (E3).
 *
 * Called by flush_policy.c, deliveries.c, drive.c, cancel.c and the scheduler, on the driving thread; the store is used, and a lease is released,
 * under the engine's lock. Invariant: when a commit fails, the cached state is dropped together with the folded lines, and loaded again when
 * needed. */
#include "engine/child/child.h"
#include "engine/command/outbox.h"
#include "engine/run/run.h"
#include "engine/run/stream_ring.h"
#include "kernel/journal/codec.h"
#include "kernel/state.h"

#include <string.h>

enum { SNAPSHOTS_MAX = 8, PUT_OFF_MAX = 32 };   /* of one commit; of one run: 256 runs of a batch, 8 in each commit */

/* The entry after the snapshot, which names it (K11). Its time is that of the entry before, so that a journal does not say when snapshots were made.
 * Without it there is no snapshot. */
static void snapshot_name(pawl_engine *e, cached_run *r)
{
    pawl_event ev = { .kind = PAWL_EV_UPDATE, .by = "@engine" };
    const size_t before = r->nlines;
    buf value;

    buf_init(&value, &e->alloc);
    snapshot_naming(&value, r->st);
    ev.value = value.data;
    ev.value_size = value.size;
    if (!value.failed)
        (void)run_feed(e, r, &ev, NULL);
    if (r->nlines != before + 1)
        buf_reset(&r->snapshot);
    buf_free(&value);
}

/* A snapshot is of a run that goes on: one that ended, or that is being canceled, takes no further entry. */
static bool snapshot_wanted(const pawl_engine *e, const cached_run *r)
{
    return r->nlines > 0 && r->records_fed == 0 && r->tail_bytes >= e->tail_bytes_least && r->sql == NULL && pawl_state_snapshot_due(r->st) &&
           !status_is_terminal(r->st->status) && !state_canceling(r->st) && r->st->unwind == 0 && run_fits(r);
}

/* Runs of one machine that began together are due in the same commit, and each of them waits for the snapshots of all. So a commit makes a few, and
 * the next ones make the others. */
static bool snapshot_put_off(cached_run *r, size_t *made)
{
    if (*made >= SNAPSHOTS_MAX && r->snapshot_put_off < PUT_OFF_MAX) {
        r->snapshot_put_off++;
        return true;
    }
    r->snapshot_put_off = 0;
    ++*made;
    return false;
}

/* Makes a snapshot of the state after the lines of this commit. A snapshot is a cache: without memory a later commit makes one. `made`: number of
 * snapshots of this commit. */
static void snapshot_take(pawl_engine *e, cached_run *r, size_t *made)
{
    pawl_bytes bytes;

    buf_reset(&r->snapshot);
    if (!snapshot_wanted(e, r) || snapshot_put_off(r, made) || pawl_state_snapshot(r->st, e->look, &bytes, NULL) != PAWL_OK ||
        blobs_hold(e, r, e->look) != PAWL_OK)
        return;
    buf_put(&r->snapshot, bytes.data, bytes.size);
    if (!r->snapshot.failed)
        snapshot_name(e, r);
    else
        buf_reset(&r->snapshot);
    r->tail_bytes = 0;
}

static void watcher_call(pawl_engine *e, cached_run *r)
{
    const char *at = r->lines.data, *end = r->nlines > 0 ? at + r->lines.size : at;

    for (const char *nl; e->watch != NULL && at < end; at = nl + 1) {
        pawl_entry *entry;

        nl = memchr(at, '\n', (size_t)(end - at));
        if (pawl_entry_read((pawl_bytes){ at, (size_t)(nl - at) }, e->look, &entry, NULL) == PAWL_OK &&
            pawl_entry_load(r->st, entry, NULL) != PAWL_NOMEM)
            e->watch(e->watch_ctx, r->st, entry);
    }
}

static void stored(pawl_engine *e, cached_run *r, const pawl_append *a)
{
    stream_ring *h = ring_here(e);
    uint64_t records = r->records;

    PAWL_ASSERT(pawl_state_seq(r->st) >= a->seq && pawl_state_seq(r->st) - a->seq <= a->nlines, "E2: each entry of the state is a line of its commit");
    r->seq = r->head_seq = pawl_state_seq(r->st);
    r->records = r->records_fed;
    mailbox_move(r, a->quiet ? MAILBOX_EMPTY_AT_APPEND : MAILBOX_UNREAD);
    if (a->release) {
        r->looked = a->version;
        r->rest_fence = a->quiet ? r->last_fence : 0;
    }
    r->changed_ms = 0;
    r->refused = 0;
    if (a->moves) {
        head_move(r, HEAD_KNOWN);
        r->status = a->status;
        r->work = a->work;
        r->wake_ms = a->wake_ms;
    }
    if (h != NULL)
        ring_stored(h, r, a->seq, records);
    watcher_call(e, r);
    left_committed(e, r->id, r->st);
    outbox_plan_mark(r);
    blobs_stored(e, r);
    buf_reset(&r->lines);
    buf_reset(&r->snapshot);
    r->nlines = 0;
    run_move(r, RUN_LOADED);
    wait_index_clear(e, r);
    counts_committed(r, a);
    outbox_stored(e, r);
    if (state_canceling(r->st))
        outbox_stop_unstarted(r);       /* the cancel is stored: no attempt starts from here on (E10) */
    outbox_drop_leftovers(e, r, pawl_state_next(r->st));     /* cancels children that lost a race, since the run may be released now */
}

/* A failed append may have released these leases all the same: no handler starts until the store has renewed them (S2). */
static void leases_doubt(pawl_engine *e, cached_run **runs, const pawl_append *all, size_t n)
{
    for (size_t i = 0; i < n && !BROKEN(BROKEN_LEASE_UNSURE); i++)
        if (all[i].release && runs[i]->fence != 0) {
            runs[i]->lease_ms = 0;
            e->leases_until_ms = 0;
        }
}

/* Appends and moves the leases under one lock, since the lease thread must not mistake a released lease for a lost one. */
static pawl_code append_all(pawl_engine *e, cached_run **runs, pawl_append *all, size_t n, pawl_err *err)
{
    pawl_code rc;

    pthread_mutex_lock(&e->lock);
    rc = e->store->verbs->append(e->store, all, n, err);
    for (size_t i = 0; i < n && rc == PAWL_OK; i++)
        if (all[i].rc == PAWL_OK && all[i].release)
            lease_move(runs[i], LEASE_NONE, 0);
    if (rc != PAWL_OK)
        leases_doubt(e, runs, all, n);
    pthread_mutex_unlock(&e->lock);
    return rc;
}

/* A failed create may have stored the run all the same, with a lease that no engine renews: claims the run and releases it. */
static void lease_in_doubt(pawl_engine *e, cached_run *r)
{
    pawl_claim one;

    run_drop_state(e, r);
    if (runs_claim(e, &r, &one, 1, NULL) == PAWL_OK && one.rc == PAWL_OK)
        (void)run_release(e, r, NULL);
}

/* Stores the lines and claims the run in one transaction; a new run with its base. The run is new or at rest, so no engine has started an attempt of
 * an open command (E13). */
static pawl_code create_with(pawl_engine *e, cached_run *r, pawl_append *a, pawl_err *err)
{
    pawl_beginning with = { .owner = e->owner, .ttl_ms = e->ttl_ms, .fence = r->rest_fence, .first = a };
    pawl_code rc;

    pthread_mutex_lock(&e->lock);
    rc = e->store->verbs->create(e->store, pawl_state_base(r->st), &with, err);
    if (rc == PAWL_OK) {
        run_claimed(e, r, &with.head);
        r->marked_fence = r->fence;
        if (a->release)
            lease_move(r, LEASE_NONE, 0);
    }
    pthread_mutex_unlock(&e->lock);
    left_end_lost(e);
    if (rc == PAWL_IO || rc == PAWL_TRANSIENT)
        lease_in_doubt(e, r);
    return rc;
}

/* Stores all runs in one transaction. Returns PAWL_OK or the first error; drops the state of each run that was not stored. `creates`: the only run
 * is not in the store yet. A run at rest is claimed in the same transaction. */
static pawl_code commit(pawl_engine *e, cached_run **runs, size_t n, bool release_sleeping, bool creates, pawl_err *err)
{
    pawl_append few[4], *all = few;
    pawl_err why = { PAWL_OK, "" };
    pawl_code rc = PAWL_OK, first = PAWL_OK;
    size_t snapshots = 0;
    arena mem;

    creates = creates || (n == 1 && runs[0]->fence == 0 && runs[0]->rest_fence != 0);
    arena_init(&mem, &e->alloc, 1024);
    if (n > sizeof few / sizeof *few && (all = arena_get(&mem, n * sizeof *all)) == NULL)
        rc = PAWL_NOMEM;
    if (e->waiting > 0 && !e->draining)
        budgets_grant(e, engine_now(e));
    for (size_t i = 0; i < n && rc == PAWL_OK; i++) {
        snapshot_take(e, runs[i], &snapshots);
        if (runs[i]->st == NULL)
            rc = PAWL_NOMEM;
        else if ((rc = append_fill(e, runs[i], release_sleeping, &all[i], &mem)) == PAWL_OK && runs[i]->sql != NULL)
            sql_into_append(runs[i], release_sleeping, &all[i], &mem);
    }
    if (rc == PAWL_OK)
        rc = creates ? create_with(e, runs[0], &all[0], &why) : append_all(e, runs, all, n, &why);
    e->sql_ms = 0;
    for (size_t i = 0; i < n; i++) {
        pawl_code one = rc == PAWL_OK ? all[i].rc : rc;

        if (one == PAWL_OK)
            stored(e, runs[i], &all[i]);
        else if (one == PAWL_FENCED)
            run_lease_lost(e, runs[i]);
        else {
            run_drop_state(e, runs[i]);
            if (runs[i]->head == HEAD_KNOWN)
                head_move(runs[i], HEAD_UNSURE);
        }
        if (one == PAWL_OK && all[i].over && runs[i]->fence != 0 && run_may_release(runs[i], false) && !child_must_notify(runs[i]) &&
            run_is_retired(e, runs[i]))
            (void)run_remove(e, runs[i], NULL);
        PAWL_ASSERT(!run_has_news(runs[i]), "E3: after a commit a run waits for no other commit");
        runs[i]->refused += rc == PAWL_OK && one != PAWL_OK && one != PAWL_FENCED;
        if (one != PAWL_OK && first == PAWL_OK)
            first = why.code != PAWL_OK ? fail(err, one, "%s", why.text)
                                        : fail(err, one, "%s: %s", runs[i]->id, one == PAWL_FENCED ? "another engine holds it now" :
                                               one == PAWL_NOMEM ? "no memory for a commit" : pawl_code_name(one));
    }
    arena_free(&mem);
    return first;
}

pawl_code runs_commit(pawl_engine *e, cached_run **runs, size_t n, bool release_sleeping, pawl_err *err)
{
    return commit(e, runs, n, release_sleeping, false, err);
}

pawl_code run_create(pawl_engine *e, cached_run *r, pawl_err *err)
{
    return commit(e, &r, 1, false, true, err);
}

pawl_code run_park(pawl_engine *e, cached_run *r, const char *reason, pawl_err *err)
{
    pawl_append a = { .run = r->id, .fence = r->fence, .seq = r->head_seq, .moves = true, .status = r->status, .over = run_has_ended(r),
                      .work = r->work, .wake_ms = r->wake_ms, .parked = reason, .release = e->anchor == NULL };
    pawl_code rc = PAWL_OK;

    run_drop_state(e, r);
    r->refused = 0;
    if (r->fence != 0)
        rc = append_all(e, &r, &a, 1, err);
    if (rc == PAWL_OK && a.rc != PAWL_OK && r->fence != 0)
        run_lease_lost(e, r);        /* another engine has the lease, and parks the run itself */
    else if (rc == PAWL_OK && r->fence != 0)
        rc = run_release(e, r, err);
    return rc;
}
