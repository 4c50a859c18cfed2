/* further.c - further attempts that a handler asks for itself: one request did not do, and the next one is counted and charged like any attempt (A9).
 *
 * job_again() is called on the thread of a handler, the rest on the driving thread, without a lock: it reads what the handler has written once the attempt
 * has returned. Invariant: what a handler keeps is freed once, and no attempt is under way then. */
#include "engine/command/attempt.h"

pawl_code job_again(const pawl_job *job, void *kept, pawl_drop_fn *drop)
{
    outbox_entry *entry = job->ctx;

    if (entry->attempt.stop)
        return PAWL_CANCELED;
    if (entry->attempt.again)
        return PAWL_INVALID;
    further_drop(entry);
    entry->attempt.again = true;
    entry->job.kept = kept;
    entry->drop = drop;
    return PAWL_OK;
}

void further_drop(outbox_entry *entry)
{
    if (entry->drop != NULL)
        entry->drop(entry->job.kept);
    entry->drop = NULL;
    entry->job.kept = NULL;
}

/* The end of a back-off is stored for a command that must not be repeated in doubt: a crash before the next attempt is counted then leaves none (E5). */
bool further_begin(outbox_entry *entry, int64_t now)
{
    const bool doubtful = entry->limits.cls == PAWL_CLASS_ONCE || entry->limits.cls == PAWL_CLASS_COMPENSABLE;

    if (!entry->attempt.again || entry->rc != PAWL_TRANSIENT)
        return false;
    entry->further++;
    entry->not_before_ms = doubtful ? now : 0;
    if (doubtful)
        count_move(entry, COUNT_BACKOFF);
    else
        count_clear(entry);
    entry_wait(entry);
    return true;
}
