/* retry.c - stops attempts that have exceeded a limit (E8), and decides whether a failed attempt is made again (E7).
 *
 * Called by dispatch.c, collect.c, cancel.c and sql_command.c, on the driving thread, without a lock. */
#include "engine/command/attempt.h"
#include "kernel/state.h"

/* ---- limits ------------------------------------------------------------------------------------ */

/* The wait for a thread does not count as part of the attempt. */
static void start_check(const pawl_engine *e, outbox_entry *entry, int64_t now)
{
    int64_t called = entry->attempt.called_ms;

    if (entry->attempt.start_seen)
        return;
    entry->attempt.start_seen = called > 0;
    if (called == 0)
        entry->attempt.started_ms = entry->attempt.beat_ms = now;
    else if (e->clock.now_ms == NULL)
        entry->attempt.started_ms = entry->attempt.beat_ms = now - (steady_of(e) - called);
}

void attempt_limits_check(pawl_engine *e, outbox_entry *entry, int64_t now)
{
    const char *over;
    int64_t left;

    start_check(e, entry, now);
    over = entry->attempt.exceeded != NULL ? entry->attempt.exceeded : limit_over(entry, now);
    if (over == NULL && entry->attempt.overran)
        over = nearest_limit(&entry->limits, entry->attempt.started_ms - entry->first_ms, &left);
    if (over != NULL)
        entry->rc = pawl_reply_fail(&entry->reply, PAWL_TIMEOUT, "%s: it took longer than its %s allows", entry->job.effect, over);
}

/* Checks the entries with a limit, at most once in a millisecond. */
void outbox_watch(pawl_engine *e, cached_run *r, int64_t now)
{
    outbox *o = &r->outbox;

    if (o->in_state[ENTRY_RUNNING].limited == 0 || o->watched_ms == now)
        return;
    o->watched_ms = now;
    OUTBOX_EACH(r, entry, next, ENTRY_RUNNING) {
        entry_attempt *a = &entry->attempt;

        if (a->exceeded != NULL)
            continue;
        start_check(e, entry, now);
        if (a->beats != a->beats_seen) {
            a->beats_seen = a->beats;
            a->beat_ms = now;
        }
        if ((a->exceeded = limit_over(entry, now)) != NULL)
            entry_stop(entry);
    }
}

/* ---- tried again ------------------------------------------------------------------------------- */

static int64_t delay_before(const pawl_engine *e, const pawl_retry *r, uint32_t attempt)
{
    double ms = r->initial_ms, factor = r->factor > 0 ? r->factor : 2, most = r->max_ms > 0 ? r->max_ms : 86400000.0;
    uint64_t drawn[2] = {0};

    for (uint32_t i = 1; i < attempt && ms < most; i++)
        ms *= factor;
    ms = ms < most ? ms : most;
    if (r->jitter && chance(e, drawn))
        ms = ms * (double)(drawn[1] >> 11) / 9007199254740992.0;
    return (int64_t)ms;
}

static bool is_stopped(const outbox_entry *entry) { return entry->attempt.stop && entry->attempt.exceeded == NULL; }

/* Whether the attempt was stopped because the engine drains. Then the command waits for its next attempt, which another engine makes, or for the end of
 * its time limit there. */
static bool is_stopped_by_close(const pawl_engine *e, const outbox_entry *entry)
{
    const cached_run *r = entry->run;

    return is_stopped(entry) && e->draining && r->st != NULL && !state_canceling(r->st) && !BROKEN(BROKEN_BACKOFF_CLOSED);
}

bool entry_retry(const pawl_engine *e, outbox_entry *entry, int64_t now)
{
    const pawl_limits *l = &entry->limits;
    uint32_t most = l->retry.max_attempts > 0 ? l->retry.max_attempts : 1;
    uint32_t made = entry->job.attempt - (entry->resolution != RESOLUTION_ASKING ? entry->cleared + entry->further : 0);
    int64_t delay = delay_before(e, &l->retry, made);
    const bool closes = is_stopped_by_close(e, entry);

    if (entry->rc >= 0 || !is_retryable(entry->rc) || made >= most + BROKEN(BROKEN_ATTEMPTS) ||
        (l->cls == PAWL_CLASS_ONCE && !entry->reply.untouched) || (is_stopped(entry) && !closes))
        return false;
    if (entry->reply.retry_after_ms > delay)
        delay = entry->reply.retry_after_ms;
    if (l->total_timeout_ms > 0 && now + delay - entry->first_ms > l->total_timeout_ms && !closes && !BROKEN(BROKEN_TOTAL_TIMEOUT))
        return false;
    entry->not_before_ms = now + (BROKEN(BROKEN_BACKOFF_SKIPPED) ? 0 : delay);
    if (delay > 0 && attempt_is_counted(entry) && !BROKEN(BROKEN_BACKOFF_LOST))
        count_move(entry, COUNT_BACKOFF);
    else
        count_clear(entry);
    entry_wait(entry);
    return true;
}

bool entry_goes_on(const pawl_engine *e, outbox_entry *entry, int64_t now)
{
    return (!is_stopped(entry) || is_stopped_by_close(e, entry)) && further_begin(entry, now);
}
