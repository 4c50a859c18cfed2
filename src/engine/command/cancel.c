/* cancel.c - commands that end without the result of their handler: canceled, given up, or left at the end of the engine (E8, E10).
 *
 * Called by dispatch.c, deliveries.c and engine.c on the driving thread, without a lock. Invariant: each command that is canceled ends in its
 * own receipt. */
#include "engine/command/attempt.h"
#include "kernel/state.h"

/* ---- canceled --------------------------------------------------------------------------------------------------- */

/* Stops a running attempt, which ends in its own receipt. A child ends in its own end, unless the run does not wait for it. */
static void entry_cancel(pawl_engine *e, outbox_entry *entry, bool wait)
{
    if (entry_is(entry, ENTRIES_RUNNING))
        entry_stop(entry);
    entry->attempt.stop = true;
    if (!entry_is(entry, ENTRIES_CALL_WAITS | ENTRIES_CHILD) || (entry->child != NULL && child_cancel(e, entry) && wait))
        return;
    if (entry->in_doubt && entry->job.attempt > entry->cleared && entry->limits.cls != PAWL_CLASS_PURE)
        entry->rc = pawl_reply_fail(&entry->reply, PAWL_UNKNOWN, "%s: it was begun, and nobody knows what came of it", entry->job.effect);
    else
        entry->rc = pawl_reply_fail(&entry->reply, PAWL_CANCELED, "%s: called off before it began", entry->job.effect != NULL ? entry->job.effect : "");
    if (entry->resolution == RESOLUTION_OPEN)
        resolution_move(entry, RESOLUTION_CLOSED);      /* no further effect may start */
    receipt_make(e, entry);
}

void outbox_cancel(pawl_engine *e, cached_run *r, bool wait)
{
    static const entry_state last[] = { ENTRY_CHILD_RELEASED, ENTRY_CHILD_STARTED, ENTRY_CHILD_NEW };

    for (unsigned s = 0; s < ENTRY_STATES; s++)
        if ((ENTRIES_CHILD >> s & 1) == 0)
            OUTBOX_EACH(r, entry, next, s)
                entry_cancel(e, entry, wait);
    for (size_t i = wait ? 1 : 0; i < sizeof last / sizeof *last; i++)
        OUTBOX_EACH(r, child, following, last[i])
            entry_cancel(e, child, wait);
}

/* ---- given up ---------------------------------------------------------------------------------------------------- */

static void end_called_off(pawl_engine *e, const outbox_entry *entry, outbox_entry *end)
{
    if (entry->attempt.called_ms == 0)
        end->rc = pawl_reply_fail(&end->reply, PAWL_CANCELED, "%s: called off before it began", end->job.effect);
    else if (end->limits.cls == PAWL_CLASS_PURE)
        end->rc = pawl_reply_fail(&end->reply, PAWL_CANCELED, "%s: called off, and not waited for", end->job.effect);
    else
        end->rc = pawl_reply_fail(&end->reply, PAWL_UNKNOWN, "%s: called off, it did not stop in time, and nobody knows what comes of it",
                                  end->job.effect);
    receipt_make(e, end);
}

/* The attempt has exceeded a limit (E8): treated as if it had returned now. `held`: a handler was told to stop. */
static void end_late(pawl_engine *e, const outbox_entry *entry, outbox_entry *end, bool held)
{
    if (entry->resolution == RESOLUTION_ASKING) {
        end->rc = pawl_reply_fail(&end->reply, PAWL_UNKNOWN, "%s: who was asked what came of it does not answer", end->job.effect);
    } else {
        end->rc = pawl_reply_fail(&end->reply, PAWL_TIMEOUT, "%s: it took longer than its %s allows, and %s", end->job.effect, entry->attempt.exceeded,
                                  held ? "did not stop" : "nobody answered");
    }
    if (!entry_retry(e, end, engine_now(e)))
        receipt_make(e, end);
}

/* Gives up an attempt. Another entry takes its place in the outbox, or none when the lease was lost; a late result is dropped. False: no memory, so
 * the engine keeps waiting for the attempt. */
static bool entry_give_up(pawl_engine *e, cached_run *r, outbox_entry *entry)
{
    const bool lost = entry->attempt.lease_lost && !state_canceling(r->st), unheld = later_unheld(entry);
    outbox_entry *end = lost ? NULL : entry_copy(e, entry);

    if (!lost && end == NULL)
        return false;
    outbox_take_out(entry);
    entry_move(entry, ENTRY_STRAY);
    if (lost) {                 /* the new holder of the run performs the command */
        r->commands_moved = true;
        r->marked_fence = 0;
    } else {
        (void)outbox_add(r, end);       /* cannot fail: the index has room since an entry left */
        if (state_canceling(r->st))
            end_called_off(e, entry, end);
        else
            end_late(e, entry, end, !unheld);
    }
    budget_leave(e, entry);
    if (later_drop(entry))
        entry_free(e, entry);   /* no thread will return the entry */
    else
        later_unlist(entry);
    pool_replace(e);
    return true;
}

/* The grace is for a handler that was told to stop. An attempt over a limit that no handler holds ends at once. */
static bool give_up_due(const cached_run *r, outbox_entry *entry, int64_t now, int64_t grace_ms)
{
    const entry_attempt *a = &entry->attempt;

    if (a->stop_ms == 0 || (a->exceeded == NULL && !a->lease_lost && !state_canceling(r->st)))
        return false;
    return now - a->stop_ms >= grace_ms || (a->exceeded != NULL && later_unheld(entry));
}

bool outbox_give_up(pawl_engine *e, cached_run *r, int64_t grace_ms)
{
    bool moved = outbox_any_running(r) && outbox_collect(e, 0);         /* an attempt that has returned is not given up */
    int64_t now;

    if (!r->outbox.stops && !state_canceling(r->st))
        return moved;
    now = steady_of(e);
    OUTBOX_EACH(r, entry, next, ENTRY_RUNNING)
        moved = (give_up_due(r, entry, now, grace_ms) && entry_give_up(e, r, entry)) || moved;
    r->outbox.stops = outbox_any_running(r);
    return moved;
}

pawl_code outbox_end_all(pawl_engine *e, cached_run *r, pawl_err *err)
{
    bool did = false;
    pawl_code rc = outbox_reconcile(e, r, NULL, err);

    if (rc != PAWL_OK)
        return rc;
    outbox_cancel(e, r, false);
    (void)outbox_give_up(e, r, 0);
    return receipts_feed(e, r, &did, err);
}

/* ---- the engine ends --------------------------------------------------------------------------------------------- */

void outbox_finish(pawl_engine *e, cached_run *r)
{
    bool did = false;

    if (r->fence == 0 || r->st == NULL || r->lease_lost)
        return;
    OUTBOX_EACH(r, entry, next, ENTRY_DONE)
        if (entry->outcome != PAWL_OUTCOME_DONE && entry->attempt.stop) {
            entry_remove(e, entry);
            r->commands_moved = true;    /* the command is open, so the run stays due */
        }
    (void)backoffs_store(e, r, NULL);   /* the outcome of an attempt that did not start must not be in doubt */
    if (receipts_feed(e, r, &did, NULL) == PAWL_OK && r->nlines > 0)
        (void)runs_commit(e, &r, 1, false, NULL);
}
