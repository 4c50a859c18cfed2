/* attempt.c - an attempt of a command: starts on the driving thread, and calls the handler on any thread.
 *
 * attempt_start() is called by dispatch.c and sql_command.c, on the driving thread, without a lock. attempt_run() is called on the thread of the
 * handler, and reads nothing but the entry. Invariants: those that leave_check() asserts before an attempt starts (S2, E1, E13, E5). */
#include "base/trace_id.h"
#include "engine/command/attempt.h"
#include "engine/run/stream_ring.h"
#include "kernel/rights.h"
#include "kernel/state.h"

#include <string.h>

static bool bytes_have(pawl_bytes in, const char *what, size_t size)
{
    for (const char *at = in.data, *end = in.data + in.size; size <= (size_t)(end - at); at++) {
        if ((at = memchr(at, what[0], (size_t)(end - at) - size + 1)) == NULL)
            return false;
        if (memcmp(at, what, size) == 0)
            return true;
    }
    return false;
}

/* Sets the job's mode to the current one, since the mode can change while a command waits (P1). */
static void job_mode_set(outbox_entry *entry, pawl_state *st)
{
    const pawl_value *coming = pawl_state_coming(st, "@mode");
    const char *mode = pawl_value_string(coming != NULL ? coming : pawl_state_get(st, "@mode"));

    entry->job.mode = NULL;
    if (mode_ranked(mode) != RANK_NONE)
        mode = mode_text(run_mode(st, true));
    if (mode == NULL || strlen(mode) >= sizeof entry->attempt.mode)
        return;
    memcpy(entry->attempt.mode, mode, strlen(mode) + 1);
    entry->job.mode = entry->attempt.mode;
}

/* The trace with which the run was begun: its base has it, and most have none. */
static void job_trace_set(outbox_entry *entry, const pawl_state *st)
{
    static const char member[] = "\"trace\":\"";
    const pawl_value *base;
    trace_id trace;
    span_id span;
    const char *text;
    arena mem;

    entry->job.trace = NULL;
    if (!bytes_have(st->base, member, sizeof member - 1))
        return;
    arena_init(&mem, NULL, 4096);
    base = value_read(&mem, st->base.data, st->base.size, "a base", NULL);
    text = pawl_value_string(pawl_value_get(base, "trace"));
    if (traceparent_read(text, &trace, &span)) {
        traceparent_write(&trace, &span, entry->attempt.trace);
        entry->job.trace = entry->attempt.trace;
    }
    arena_free(&mem);
}

/* Asserts the promises that must hold before an attempt starts. */
static void leave_check(const pawl_engine *e, const outbox_entry *entry)
{
    const cached_run *r = entry->run;

    PAWL_ASSERT(BROKEN(BROKEN_COMMIT) || r->fence != 0, "S2: a command leaves for a run that this engine holds");
    PAWL_ASSERT(BROKEN(BROKEN_COMMIT) || r->nlines == 0 || (entry->limits.cls == PAWL_CLASS_PURE && e->durability != PAWL_DURABLE_SYNC),
                "E1: what led to a command is stored before it leaves");
    PAWL_ASSERT(!attempt_is_counted(entry) || entry->count == COUNT_STORED || entry->count == COUNT_TAKE_BACK,
                "E13: an attempt is counted before it leaves");
    PAWL_ASSERT(!entry_is_in_doubt(entry), "E5: once is not performed again in doubt");
    PAWL_ASSERT(BROKEN(BROKEN_CANCEL) || !state_canceling(r->st), "E10: nothing leaves once the cancel of its run is folded");
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
    job_mode_set(entry, r->st);
    job_trace_set(entry, r->st);
    entry->was_in_doubt = entry->in_doubt;
    entry->in_doubt = false;
    left = entry->limits.total_timeout_ms - (now - entry->first_ms);
    a->total_until_ms = entry->limits.total_timeout_ms > 0 ? steady_of(e) + (left > 1 ? left : 1) : 0;
    a->budget_until_ms = charge_ends_ms(r) > 0 && e->clock.now_ms == NULL ? steady_of(e) + (charge_ends_ms(r) > now ? charge_ends_ms(r) - now : 1) : 0;
    a->started_ms = a->beat_ms = a->dispatched_ms = now;
    a->overran = a->start_seen = false;
    a->called_ms = 0;
    a->exceeded = NULL;
    a->stop = a->lease_lost = a->not_started = false;
    a->planned = a->again = false;
    a->thread_replaced = false;
    a->stop_ms = 0;
    entry_move(entry, ENTRY_RUNNING);
    if (ring_here(e) != NULL)
        ring_attempt_started(ring_here(e), r, entry);
}

/* Any thread: reads nothing but the entry. */
pawl_code attempt_run(outbox_entry *entry)
{
    int64_t now = steady_of(entry->e), until = entry->attempt.total_until_ms;

    reply_reset(&entry->reply);
    entry->attempt.called_ms = now;         /* first: outbox_stop_unstarted() sets `stop` and reads this */
    /* a command in SQL is fenced by its transaction */
    entry->attempt.not_started =
        !entry->h->sql && (entry->e->draining || (entry->attempt.budget_until_ms > 0 && now >= entry->attempt.budget_until_ms) ||
                           (!leases_valid(entry->e) && !BROKEN(BROKEN_LEASE_DISPATCH) && !BROKEN(BROKEN_LEASE_LONE)));
    if (entry->attempt.stop || entry->attempt.not_started) {      /* stopped while it waited for a thread */
        entry->attempt.called_ms = 0;
        pawl_reply_untouched(&entry->reply);
        return pawl_reply_fail(&entry->reply, PAWL_CANCELED, "%s: called off before it began", entry->job.effect);
    }
    if (entry->limits.attempt_timeout_ms > 0 && (until == 0 || now + entry->limits.attempt_timeout_ms < until))
        until = now + entry->limits.attempt_timeout_ms;
    entry->attempt.until_ms = until;
    entry->job.deadline_ms = until > 0 ? system_ms() + (until - now) : 0;
    entry->job.later = entry->h->sql ? NULL : job_later;
    entry->job.again = entry->h->sql || entry->resolution == RESOLUTION_ASKING ? NULL : job_again;
    return entry->h->fn(&entry->job, &entry->reply, entry->h->arg);
}
