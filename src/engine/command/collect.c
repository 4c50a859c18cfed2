/* collect.c - takes attempts that have returned: each becomes a receipt, or waits for its next attempt.
 *
 * Called by dispatch.c, cancel.c, the scheduler and dispatch_wait.c, on the driving thread, without a lock; attempts of all runs come back here. */
#include "engine/command/attempt.h"
#include "engine/run/stream_ring.h"

void entry_not_started(pawl_engine *e, outbox_entry *entry)
{
    if (entry->state == ENTRY_STRAY) {
        entry_free(e, entry);
        return;
    }
    if (entry->attempt.lease_lost || entry->state == ENTRY_UNWANTED) {
        if (entry->attempt.lease_lost) {        /* another engine may have counted since, so no count is taken back */
            entry->run->commands_moved = true;
            entry->run->marked_fence = 0;
        }
        entry_remove(e, entry);
        return;
    }
    budget_leave(e, entry);
    entry->job.attempt--;
    if (entry->count == COUNT_USED)
        count_move(entry, COUNT_TAKE_BACK);
    entry->in_doubt = entry->was_in_doubt;
    if (entry->job.attempt == entry->cleared)
        entry->first_ms = 0;    /* the first attempt has not started either */
    entry_move(entry, ENTRY_READY);     /* not ENTRY_BACKOFF: its back-off had passed, and no timer wakes a run for a time in the past */
}

void entry_returned(pawl_engine *e, outbox_entry *entry)
{
    int64_t now = engine_now(e);
    cached_run *r = entry->run;
    const entry_attempt *a = &entry->attempt;
    const bool lost = a->lease_lost || r->lease_lost || (e->abandoned && !a->not_started);

    budget_leave(e, entry);
    if (!a->not_started) {
        attempt_limits_check(e, entry, now);
        reply_limit(e, entry);
    }
    if (lost && entry->rc < 0) {        /* stopped or too late: the new holder performs the command, with counts that are unknown here (S2, E13) */
        entry_remove(e, entry);
        r->commands_moved = true;
        r->marked_fence = 0;
        return;
    }
    if (a->not_started) {
        entry_not_started(e, entry);
        return;
    }
    cost_add(entry);
    if (entry_goes_on(e, entry, now))
        return;
    if (!entry_retry(e, entry, now))
        receipt_make(e, entry);
    else if (ring_here(e) != NULL)
        ring_attempt_failed(ring_here(e), entry);
}

bool outbox_collect(pawl_engine *e, int64_t wait_ms)
{
    outbox_entry *first;

    if (completions_out(e) == 0)
        return false;
    pool_tend(e, wait_ms > 0);
    first = completions_take(e, wait_ms);
    for (outbox_entry *entry = first, *next; entry != NULL; entry = next) {
        next = entry->queued;
        if (entry->state == ENTRY_STRAY) {
            e->late += entry->attempt.called_ms > 0;
            entry_free(e, entry);
        } else if (entry->state == ENTRY_UNWANTED) {
            entry_remove(e, entry);
        } else {
            entry_returned(e, entry);
        }
    }
    return first != NULL;
}

/* Takes finished attempts before the entries that no thread has started. */
void outbox_end_pool(pawl_engine *e)
{
    outbox_entry *unstarted = pool_end(e);

    (void)outbox_collect(e, 0);
    for (outbox_entry *entry = unstarted, *next; entry != NULL; entry = next) {
        next = entry->queued;
        completions_expect(e, -1);
        entry_not_started(e, entry);
    }
}

void outbox_end_held(pawl_engine *e)
{
    if (e->completions == NULL)
        return;
    completions_wait(e);
    (void)outbox_collect(e, 0);
}
