/* outbox.c - what is done with the entries of a run's outbox: freed, stopped, forgotten, taken back.
 *
 * Called on the driving thread, without a lock, but for entry_stop_here(). The entries meet the invariants O1 to O5 of entry.c. */
#include "engine/command/attempt.h"
#include "engine/run/stream_ring.h"

#include <string.h>

/* ---- freed ---------------------------------------------------------------------------------------------------- */

void entry_free(pawl_engine *e, outbox_entry *entry)
{
    stream_ring *h = ring_here(e);

    if (h != NULL && entry->job.id != NULL)
        ring_command_over(h, entry);
    budget_leave(e, entry);
    further_drop(entry);
    reply_free(&entry->reply);
    buf_free(&entry->cost.usage);
    buf_free(&entry->output);
    args_drop(entry);
    entry_rules_drop(e, entry);
    arena_free(&entry->mem);
    mem_free(&e->alloc, entry, entry->bytes);
}

void entry_remove(pawl_engine *e, outbox_entry *entry)
{
    budget_leave(e, entry);
    outbox_take_out(entry);
    entry_free(e, entry);
}

void outbox_free(pawl_engine *e, cached_run *r)
{
    for (unsigned s = 0; s < ENTRY_STATES; s++)
        OUTBOX_EACH(r, entry, next, s) {
            entry->attempt.stop = true;
            if (!entry_is(entry, ENTRIES_RUNNING) || later_drop(entry)) {
                entry_remove(e, entry);
                continue;
            }
            outbox_take_out(entry);
            entry_move(entry, ENTRY_STRAY);
        }
    buf_reset(&r->outbox.received);
    id_index_free(&r->outbox.index, &e->alloc);
}

/* Drops the entries when nothing has begun for any of them: they are made again when the run is driven again. */
void outbox_forget(pawl_engine *e, cached_run *r)
{
    const uint32_t may_go = ENTRIES_CALL_WAITS & ~ENTRY_IN(ENTRY_QUEUED);

    if (outbox_count(&r->outbox, ~may_go) > 0)
        return;
    for (unsigned s = 0; s < ENTRY_STATES; s++)
        OUTBOX_EACH(r, entry, next, s)
            if (entry->place.key != NULL || entry->job.attempt > 0 || entry->first_ms > 0 || entry->resolution == RESOLUTION_ASKING)
                return;
    if (r->outbox.index.count > 0)
        r->commands_moved = true;
    outbox_free(e, r);
}

/* ---- budgets, seen from a run ------------------------------------------------------------------------------------ */

void outbox_unqueue(pawl_engine *e, cached_run *r)
{
    OUTBOX_EACH(r, queued, next, ENTRY_QUEUED)
        budget_leave(e, queued);
    OUTBOX_EACH(r, granted, following, ENTRY_GRANTED)
        budget_leave(e, granted);
}

void outbox_postpone(pawl_engine *e, cached_run *r, int64_t now)
{
    OUTBOX_EACH(r, entry, next, ENTRY_QUEUED) {
        entry->not_before_ms = budget_guess(entry, now);
        budget_leave(e, entry);
        entry_wait(entry);
    }
}

/* ---- stopped ----------------------------------------------------------------------------------------------------- */

void attempt_stop(outbox_entry *entry)
{
    if (entry->attempt.stop_ms == 0)
        entry->attempt.stop_ms = steady_of(entry->e);
    entry->attempt.stop = true;
    if (entry_is(entry, ENTRIES_RUNNING))
        later_stop(entry);
}

void entry_stop(outbox_entry *entry)
{
    attempt_stop(entry);
    entry->run->outbox.stops = true;
}

/* On the lease thread: the entry's own thread, which drives, is in its handler. */
void entry_stop_here(outbox_entry *entry, const char *exceeded, bool lease_lost)
{
    if (exceeded != NULL)
        entry->attempt.exceeded = exceeded;
    if (lease_lost)
        entry->attempt.lease_lost = true;
    attempt_stop(entry);
}

/* Those that run, and no others: what came back before has its own outcome, which is stored. */
void outbox_stop_all(cached_run *r)
{
    for (unsigned s = 0; s < ENTRY_STATES; s++)
        if ((ENTRIES_RUNNING >> s & 1) != 0)
            OUTBOX_EACH(r, entry, next, s)
                entry_stop(entry);
}

void outbox_stop_unstarted(cached_run *r)
{
    static const entry_state out[] = { ENTRY_RUNNING, ENTRY_UNWANTED };

    for (size_t i = 0; i < sizeof out / sizeof *out; i++)
        OUTBOX_EACH(r, entry, next, out[i])
            if (entry->attempt.called_ms == 0)
                entry_stop(entry);
}

/* Another engine holds the run. It continues the counts of the store, and takes back attempts that did not begin, so the counts that were read here are
 * not valid any more (E13). */
static void attempts_forget(outbox_entry *entry)
{
    count_clear(entry);
    if (!attempt_is_counted(entry))
        return;
    entry->job.attempt = entry->cleared;
    entry->first_ms = entry->not_before_ms = 0;
    entry->in_doubt = false;
    entry_wait(entry);
}

void outbox_lease_lost(cached_run *r)
{
    for (unsigned s = 0; s < ENTRY_STATES; s++)
        OUTBOX_EACH(r, entry, next, s)
            if (entry_is(entry, ENTRIES_RUNNING)) {
                entry->attempt.lease_lost = true;
                entry_stop(entry);
                if (later_drop(entry))
                    entry_remove(r->e, entry);
            } else {
                budget_leave(r->e, entry);
                if (entry_is(entry, ENTRIES_CALL_WAITS))
                    attempts_forget(entry);
            }
}

/* ---- thrown away ---------------------------------------------------------------------------------------------- */

/* The transaction was not stored: the command is performed again, and this attempt is not counted twice. */
static void sql_undo(outbox_entry *entry)
{
    if (entry->h == NULL || !entry->h->sql)
        return;
    entry->attempt.stop = entry->attempt.lease_lost = false;
    entry->job.attempt--;
    cost_take_back(entry);
    if (entry->count == COUNT_USED)
        count_move(entry, COUNT_STORED);
    entry_move(entry, ENTRY_SQL_READY);
}

static void sql_state_dropped(cached_run *r)
{
    static const entry_state states[] = { ENTRY_RUNNING, ENTRY_DONE, ENTRY_FED };

    r->sql = NULL;
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        OUTBOX_EACH(r, entry, next, states[i])
            sql_undo(entry);
}

/* The command of the entry was folded and is not known to be stored: another engine may have stored another command under the same id, so nothing of the
 * entry is used. A command that is not pure has not begun (E1, G9), nor has a child run in ENTRY_CHILD_NEW. */
static void entry_unmake(outbox_entry *entry)
{
    pawl_engine *e = entry->e;

    if (entry_is(entry, ENTRIES_RUNNING))
        entry_stop(entry);
    if (!entry_is(entry, ENTRIES_RUNNING) || later_drop(entry)) {
        entry_remove(e, entry);
        return;
    }
    outbox_take_out(entry);
    entry_move(entry, ENTRY_STRAY);
    budget_leave(e, entry);
    later_unlist(entry);
}

static void unstored_drop(cached_run *r)
{
    for (unsigned s = 0; s < ENTRY_STATES && r->outbox.stored < r->outbox.orders; s++)
        if (s != ENTRY_CHILD_STARTED && s != ENTRY_CHILD_RELEASED)
            OUTBOX_EACH(r, entry, next, s)
                if (entry->order > r->outbox.stored)
                    entry_unmake(entry);
}

void outbox_state_dropped(cached_run *r)
{
    r->commands_moved = true;
    buf_reset(&r->outbox.received);
    OUTBOX_EACH(r, fed, next, ENTRY_FED)
        if (!BROKEN(BROKEN_RECEIPT_DROPPED))
            entry_move(fed, ENTRY_DONE);        /* the state with the receipt is dropped, the receipt is fed again */
    OUTBOX_EACH(r, granted, following, ENTRY_GRANTED)
        if (granted->count == COUNT_IN_COMMIT)
            count_clear(granted);
    sql_state_dropped(r);
    unstored_drop(r);
}
