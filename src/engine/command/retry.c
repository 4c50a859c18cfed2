/* retry.c - one command, several attempts: how often, how long each, and when the next (E7, E8).
 *
 * Called on the driving thread; attempt_run() on the thread of the handler, where it sees nothing but the entry. */
#include "engine/command/entry.h"
#include "engine/run/stream_ring.h"

#include <string.h>

bool entry_is_in_doubt(const outbox_entry *entry)
{
    uint32_t made = entry->job.attempt - entry->cleared, most = entry->limits.retry.max_attempts;

    if (entry->h != NULL && entry->h->sql && entry->limits.cls != PAWL_ONCE)
        return false;           /* a count of such a one is its own, and without a receipt it has not happened */
    return entry->in_doubt && entry->resolution != RESOLUTION_ASKING && made > 0 &&
           ((entry->limits.cls == PAWL_ONCE && (most <= 1 || !BROKEN(BROKEN_ONCE_RETRY))) || (most > 1 && made >= most));
}

/* ---- limits ------------------------------------------------------------------------------------ */

/* What it waited for a thread is no part of its attempt. */
static void start_look(const pawl_engine *e, outbox_entry *entry, int64_t now)
{
    int64_t called = entry->attempt.called_ms;

    if (entry->attempt.start_seen)
        return;
    entry->attempt.start_seen = called > 0;
    if (called == 0)
        entry->attempt.started_ms = entry->attempt.beat_ms = now;
    else if (e->clock.now_ms == NULL)
        entry->attempt.started_ms = entry->attempt.beat_ms = now - (steady_ms() - called);
}

/* The limit that it is over now; NULL: none. */
static const char *limit_over(const outbox_entry *entry, int64_t now)
{
    const pawl_limits *l = &entry->limits;
    const struct { const char *name; uint32_t ms; int64_t took; } limits[] = {
        { "total_timeout_ms", l->total_timeout_ms, now - entry->first_ms },
        { "attempt_timeout_ms", l->attempt_timeout_ms, now - entry->attempt.started_ms },
        { "heartbeat_ms", entry_is(entry, ENTRIES_RUNNING) ? l->heartbeat_ms : 0, now - entry->attempt.beat_ms },
    };

    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        if (limits[i].ms > 0 && limits[i].took > limits[i].ms)
            return limits[i].name;
    }
    return NULL;
}

bool entry_has_expired(const outbox_entry *entry, int64_t now)
{
    return !BROKEN(BROKEN_TOTAL_TIMEOUT) && entry->limits.total_timeout_ms > 0 && entry->first_ms > 0 && now - entry->first_ms > entry->limits.total_timeout_ms;
}

const char *nearest_limit(const pawl_limits *l, int64_t gone, int64_t *left)
{
    const char *name = l->total_timeout_ms > 0 ? "total_timeout_ms" : NULL;

    *left = l->total_timeout_ms > 0 ? l->total_timeout_ms - gone : 0;
    if (l->attempt_timeout_ms > 0 && (name == NULL || l->attempt_timeout_ms < *left)) {
        *left = l->attempt_timeout_ms;
        name = "attempt_timeout_ms";
    }
    if (name != NULL && *left < 1)
        *left = 1;
    return name;
}

void attempt_limits_check(pawl_engine *e, outbox_entry *entry, int64_t now)
{
    const char *over;
    int64_t left;

    start_look(e, entry, now);
    over = entry->attempt.exceeded != NULL ? entry->attempt.exceeded : limit_over(entry, now);
    if (over == NULL && entry->attempt.overran)
        over = nearest_limit(&entry->limits, entry->attempt.started_ms - entry->first_ms, &left);
    if (over != NULL)
        entry->rc = pawl_reply_fail(&entry->reply, PAWL_TIMEOUT, "%s: it took longer than its %s allows", entry->job.effect, over);
}

/* Once in a millisecond at most, for as many as have a limit. */
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
        start_look(e, entry, now);
        if (a->beats != a->beats_seen) {
            a->beats_seen = a->beats;
            a->beat_ms = now;
        }
        if ((a->exceeded = limit_over(entry, now)) != NULL)
            entry_stop(entry);
    }
}

/* ---- made -------------------------------------------------------------------------------------- */

bool has_limit(const pawl_limits *l)
{
    return l->attempt_timeout_ms > 0 || l->total_timeout_ms > 0 || l->heartbeat_ms > 0;
}

/* What may be done can change while a command waits for its turn, or for its next attempt: its handler is told (P1). */
static void mode_look(outbox_entry *entry, pawl_state *st)
{
    const pawl_value *coming = pawl_state_coming(st, "@mode");
    const char *mode = pawl_value_string(coming != NULL ? coming : pawl_state_get(st, "@mode"));

    entry->job.mode = NULL;
    if (mode == NULL || strlen(mode) >= sizeof entry->attempt.mode)
        return;
    memcpy(entry->attempt.mode, mode, strlen(mode) + 1);
    entry->job.mode = entry->attempt.mode;
}

/* The promises that are kept before anything leaves. */
static void leave_check(const pawl_engine *e, const outbox_entry *entry)
{
    const cached_run *r = entry->run;

    PAWL_ASSERT(BROKEN(BROKEN_COMMIT) || r->fence != 0, "S2: a command leaves for a run that this engine holds");
    PAWL_ASSERT(BROKEN(BROKEN_COMMIT) || r->nlines == 0 || (entry->limits.cls == PAWL_PURE && e->durability != PAWL_DURABLE_SYNC),
                "E1: what led to a command is stored before it leaves");
    PAWL_ASSERT(!attempt_is_counted(entry) || entry->count == COUNT_STORED || entry->count == COUNT_TAKE_BACK,
                "E13: an attempt is counted before it leaves");
    PAWL_ASSERT(!entry_is_in_doubt(entry), "E5: once is not performed again in doubt");
}

void attempt_start(pawl_engine *e, outbox_entry *entry, int64_t now)
{
    const cached_run *r = entry->run;
    entry_attempt *a = &entry->attempt;
    int64_t left;

    renewal_begin(e);
    leave_check(e, entry);
    if (entry->count == COUNT_STORED || entry->count == COUNT_TAKE_BACK)
        count_move(entry, COUNT_USED);
    else
        count_clear(entry);
    budget_started(e, entry);
    entry->place.had_to_wait = false;
    entry->job.attempt++;
    partial_begin(entry);
    entry->job.fence = r->fence;
    entry->job.alone = false;
    mode_look(entry, r->st);
    entry->was_in_doubt = entry->in_doubt;
    entry->in_doubt = false;
    left = entry->limits.total_timeout_ms - (now - entry->first_ms);
    a->total_until_ms = entry->limits.total_timeout_ms > 0 ? steady_ms() + (left > 1 ? left : 1) : 0;
    a->started_ms = a->beat_ms = a->dispatched_ms = now;
    a->overran = a->start_seen = false;
    a->called_ms = 0;
    a->exceeded = NULL;
    a->stop = a->lease_lost = a->not_started = false;
    a->thread_replaced = false;
    a->stop_ms = 0;
    entry_move(entry, ENTRY_RUNNING);
    if (ring_here(e) != NULL)
        ring_attempt_started(ring_here(e), r, entry);
}

pawl_code attempt_code(outbox_entry *entry, pawl_code rc)
{
    return rc <= 0 ? rc : pawl_reply_fail(&entry->reply, PAWL_INVALID, "%s: its handler returned \"%s\", which is no result%s", entry->job.effect,
                                          pawl_code_name(rc), rc == PAWL_PENDING ? ": it announced no later answer" : "");
}

/* On any thread: it sees nothing but the outbox_entry. */
pawl_code attempt_run(outbox_entry *entry)
{
    int64_t now = steady_ms(), until = entry->attempt.total_until_ms;

    reply_reset(&entry->reply);
    entry->attempt.called_ms = now;         /* first: who has it stopped looks at this afterwards */
    /* a command in SQL is fenced by its transaction */
    entry->attempt.not_started =
        !entry->h->sql && (entry->e->draining || (!leases_valid(entry->e) && !BROKEN(BROKEN_LEASE_DISPATCH) && !BROKEN(BROKEN_LEASE_LONE)));
    if (entry->attempt.stop || entry->attempt.not_started) {      /* while it waited for a thread */
        entry->attempt.called_ms = 0;
        pawl_reply_untouched(&entry->reply);
        return pawl_reply_fail(&entry->reply, PAWL_CANCELED, "%s: called off before it began", entry->job.effect);
    }
    if (entry->limits.attempt_timeout_ms > 0 && (until == 0 || now + entry->limits.attempt_timeout_ms < until))
        until = now + entry->limits.attempt_timeout_ms;
    entry->attempt.until_ms = until;
    entry->job.deadline_ms = until > 0 ? system_ms() + (until - now) : 0;
    entry->job.later = entry->h->sql ? NULL : job_later;
    return entry->h->fn(&entry->job, &entry->reply, entry->h->arg);
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

bool is_retryable(pawl_code code)
{
    return code == PAWL_TRANSIENT || code == PAWL_TIMEOUT || code == PAWL_IO;
}

bool entry_retry(const pawl_engine *e, outbox_entry *entry, int64_t now)
{
    const pawl_limits *l = &entry->limits;
    uint32_t most = l->retry.max_attempts > 0 ? l->retry.max_attempts : 1;
    uint32_t made = entry->job.attempt - (entry->resolution != RESOLUTION_ASKING ? entry->cleared : 0);
    int64_t delay = delay_before(e, &l->retry, made);

    if (entry->rc >= 0 || !is_retryable(entry->rc) || made >= most + BROKEN(BROKEN_ATTEMPTS) ||
        (l->cls == PAWL_ONCE && !entry->reply.untouched) || (entry->attempt.stop && entry->attempt.exceeded == NULL))
        return false;
    if (entry->reply.retry_after_ms > delay)
        delay = entry->reply.retry_after_ms;
    if (l->total_timeout_ms > 0 && now + delay - entry->first_ms > l->total_timeout_ms && !BROKEN(BROKEN_TOTAL_TIMEOUT))
        return false;
    entry->not_before_ms = now + (BROKEN(BROKEN_BACKOFF_SKIPPED) ? 0 : delay);
    if (delay > 0 && attempt_is_counted(entry) && !BROKEN(BROKEN_BACKOFF_LOST))
        count_move(entry, COUNT_BACKOFF);
    else
        count_clear(entry);
    entry_wait(entry);
    return true;
}
