/* dispatch_wait.c - the wait of a run that is driven alone: starts its commands, drives its children, and sleeps until an attempt returns.
 *
 * Called by drive.c on the driving thread, without a lock. Many runs at once wait in the scheduler instead. Invariant: all folded lines are stored
 * while the thread sleeps for a timer or a place. */
#include "engine/child/child.h"
#include "engine/command/attempt.h"
#include "engine/scheduler/scheduler.h"

enum { REST_MS = 20 };         /* interval of reading the mailbox */

static void report_missing(pawl_engine *e, const cached_run *r, pawl_err *why)
{
    for (const outbox_entry *entry = outbox_first(&r->outbox, ENTRY_UNHANDLED); entry != NULL; entry = entry->next)
        fail(why, PAWL_PENDING, "%s: no handler for effect \"%s\"", entry->job.id, entry->job.effect != NULL ? entry->job.effect : "");
    children_why(e, r, why);
}

static int64_t sooner(int64_t a, int64_t b)
{
    return a == 0 || (b > 0 && b < a) ? b : a;
}

/* The earliest of the timer `sleep`, the back-offs, the next token, and the time limits of queued entries and of the budget; 0: none. */
static int64_t soonest(const pawl_engine *e, const cached_run *r, int64_t sleep)
{
    const entry_list *queued = &r->outbox.in_state[ENTRY_QUEUED];
    int64_t first = sooner(sleep, outbox_wake_ms(r));

    for (const outbox_entry *entry = queued->limited > 0 ? queued->first : NULL; entry != NULL; entry = entry->next)
        if (entry->limited)
            first = sooner(first, entry->first_ms + entry->limits.total_timeout_ms + 1);
    if (outbox_any_queued(r) && charge_ends_ms(r) > 0)
        first = sooner(first, charge_ends_ms(r));
    return outbox_any_queued(r) ? sooner(first, budgets_next(e)) : first;
}

/* Sleeps until a timer is due or an attempt returns, but at most REST_MS, after which the mailbox is read. `waits`: an entry waits for a place.
 * False: nothing to wait for. */
static bool rest(pawl_engine *e, const cached_run *r, int64_t until, bool waits)
{
    int64_t now = engine_now(e), left;
    bool given = e->clock.sleep_until != NULL;

    if (until > 0)
        until = sooner(until, deadline_ms(r));
    left = until - now;
    if (outbox_any_running(r) || (waits && until == 0 && completions_out(e) > 0)) {
        (void)outbox_collect(e, given || until == 0 || left > REST_MS ? REST_MS : left > 1 ? left : 1);
        return true;
    }
    if (until == 0 && !waits)
        return false;
    renewal_begin(e);
    engine_sleep(e, until > 0 && (given || left < REST_MS) ? until : now + REST_MS);
    return true;
}

/* While the engine drains, waits for running attempts only, not for timers. */
static pawl_code rest_drained(pawl_engine *e, cached_run *r, pawl_err *err)
{
    bool did;

    if (outbox_any_running(r))
        (void)outbox_collect(e, REST_MS);
    return receipts_feed(e, r, &did, err);
}

static pawl_code wait_held(pawl_engine *e, cached_run *r, dispatched *d, waited *out, pawl_err *err)
{
    const int64_t until = soonest(e, r, d->timer_ms);
    const bool waits = outbox_any_queued(r);
    int64_t wake = 0;
    bool did = false;
    pawl_code rc;

    *out = WAITED_MORE;
    if (children_open(r)) {
        outbox_unqueue(e, r);  /* while its children are driven, this run keeps no place in a queue */
        if ((rc = children_drive(e, r, &did, &wake, err)) != PAWL_OK || did)
            return rc;
    }
    if (e->draining)
        return rest_drained(e, r, err);
    if ((until > 0 || wake > 0 || waits) && (rc = store_all(e, r, err)) != PAWL_OK)     /* the thread may sleep, so folded lines must be readable */
        return rc;
    if (rest(e, r, sooner(until, wake), waits))
        return receipts_feed(e, r, &did, err);
    report_missing(e, r, &d->missing);
    *out = d->missing.code == PAWL_OK && children_open(r) ? WAITED_CHILDREN_ASK : WAITED_NOTHING;
    if (d->missing.code != PAWL_OK)
        fail(err, d->missing.code, "%s", d->missing.text);
    return PAWL_OK;
}

pawl_code dispatch_and_wait(pawl_engine *e, cached_run *r, waited *out, pawl_err *err)
{
    dispatched d;
    pawl_code rc = dispatch(e, r, true, &d, err);

    *out = WAITED_MORE;
    if (rc != PAWL_OK || d.did || d.again)
        return rc;
    rc = wait_held(e, r, &d, out, err);
    if (rc == PAWL_FENCED)
        run_lease_lost(e, r);
    return rc;
}
