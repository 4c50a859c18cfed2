/* dispatch.c - one pass over the outbox of a run: attempts that came back are fed, and attempts leave. It never waits.
 *
 * Called by dispatch_wait.c for a run that is driven alone, and by the scheduler for many, on the driving thread; the pool, the store and the leases
 * are used under their locks. Invariants: what led to a command is stored before it leaves (E1), and so is the count of its attempt (E13); what a
 * person said to it is anchored (P12). */
#include "engine/run/anchor.h"
#include "engine/child/child.h"
#include "engine/command/attempt.h"
#include "kernel/state.h"

enum { BATCH_MS = 1 };

/* ---- attempts leave -------------------------------------------------------------------------------------------- */

static void backoffs_end(cached_run *r, int64_t now)
{
    outbox_entry *entry;

    while ((entry = outbox_first(&r->outbox, ENTRY_BACKOFF)) != NULL && entry->not_before_ms <= now)
        entry_move(entry, ENTRY_READY);
}

static size_t ready_count(const cached_run *r)
{
    return outbox_count(&r->outbox, ENTRY_IN(ENTRY_READY) | ENTRY_IN(ENTRY_GRANTED) | ENTRY_IN(ENTRY_SQL_READY));
}

/* Between two attempts, or while it waited: there is no next one. The budget of its run is compared last, just before the attempt is counted (A9). */
static bool expire(pawl_engine *e, outbox_entry *entry, int64_t now)
{
    if (!entry_has_expired(entry, now)) {
        if (!charge_is_refused(entry, now))
            return false;
        receipt_make(e, entry);
        cost_report_unbegun(entry);
        return true;
    }
    pawl_reply_untouched(&entry->reply);
    entry->rc = pawl_reply_fail(&entry->reply, PAWL_TIMEOUT, "%s: it took longer than its total_timeout_ms allows", entry->job.effect);
    receipt_make(e, entry);
    return true;
}

/* Commands that must not begin any more end here; the others ask for a place in their budget. */
static pawl_code entries_ask(pawl_engine *e, cached_run *r, int64_t now, pawl_err *err)
{
    OUTBOX_EACH(r, entry, next, ENTRY_READY) {
        if (entry_is_in_doubt(entry)) {
            entry->rc = pawl_reply_fail(&entry->reply, PAWL_UNKNOWN, "%s: it was begun, and nobody knows what came of it", entry->job.effect);
            receipt_make(e, entry);
        } else if (expire(e, entry, now)) {
            continue;
        } else if (entry->h->sql) {
            entry_move(entry, ENTRY_SQL_READY);
        } else if (budget_enter(e, entry) != PAWL_OK) {
            return fail(err, PAWL_NOMEM, "%s: no memory to have it wait", entry->job.id);
        }
    }
    if (r->outbox.in_state[ENTRY_QUEUED].limited > 0 || charge_ends_ms(r) > 0)
        OUTBOX_EACH(r, queued, following, ENTRY_QUEUED)
            (void)expire(e, queued, now);
    budgets_grant(e, now);
    e->asks++;
    return PAWL_OK;
}

/* After an error: no attempt has begun, and the entries keep their places. */
static void leaving_undo(cached_run *r)
{
    OUTBOX_EACH(r, entry, next, ENTRY_LEAVING)
        entry_move(entry, entry->h->sql ? ENTRY_SQL_READY : ENTRY_GRANTED);
}

/* To the pool: all of them, or those alone that have a limit. *held: arguments stay in the state until a thread is near, so that they are not copied
 * for all at once. */
static pawl_code entries_to_pool(pawl_engine *e, cached_run *r, bool all, bool *held, int64_t now, pawl_err *err)
{
    size_t room = pool_room(e);
    pawl_code rc = PAWL_OK;

    OUTBOX_EACH(r, granted, following, ENTRY_GRANTED) {
        if ((!all && !has_limit(&granted->limits)) || expire(e, granted, now))
            continue;
        if (room == 0 && args_borrow(granted) && (outbox_any_running(r) || outbox_first(&r->outbox, ENTRY_LEAVING) != NULL)) {
            *held = true;
            break;
        }
        room -= room > 0;
        if ((rc = args_copy(e, granted, err)) != PAWL_OK)
            break;
        if (approval_ends(e, granted, &rc, err))
            continue;
        if (rc != PAWL_OK || (rc = entry_rules_set(e, granted, err)) != PAWL_OK)
            break;
        entry_move(granted, ENTRY_LEAVING);
    }
    if (rc == PAWL_OK)
        rc = counts_store(e, r, now, err);
    if (rc == PAWL_OK)
        OUTBOX_EACH(r, entry, next, ENTRY_LEAVING) {
            attempt_start(e, entry, now);
            (void)pool_put(e, entry);
        }
    return rc;
}

/* Performs one entry on this thread. */
static pawl_code entry_perform(pawl_engine *e, cached_run *r, outbox_entry *entry, bool alone, int64_t now, pawl_err *err)
{
    pawl_code rc = args_lend(e, entry, err), did;

    if (rc != PAWL_OK || approval_ends(e, entry, &rc, err))
        return rc;
    if (rc != PAWL_OK || (rc = entry_rules_set(e, entry, err)) != PAWL_OK) {
        args_return(entry);
        return rc;
    }
    entry_move(entry, ENTRY_LEAVING);
    if ((rc = counts_store(e, r, now, err)) != PAWL_OK) {
        args_return(entry);
        return rc;
    }
    attempt_start(e, entry, now);
    entry->job.alone = alone;
    renewal_watch(e, entry);
    did = attempt_run(entry);
    renewal_watch(e, NULL);
    args_return(entry);
    if (attempt_returned(e, entry, did))
        entry_returned(e, entry);
    else
        completions_expect(e, 1);
    return PAWL_OK;
}

/* Handlers are called one after another, as long as they are short. */
static pawl_code entries_perform(pawl_engine *e, cached_run *r, bool alone, int64_t now, pawl_err *err)
{
    const int64_t begun = now;
    outbox_entry *entry;
    pawl_code rc = PAWL_OK;

    while (rc == PAWL_OK && (entry = outbox_first(&r->outbox, ENTRY_GRANTED)) != NULL && !e->draining) {
        const bool once = entry->limits.cls == PAWL_CLASS_ONCE;

        if (expire(e, entry, now))
            continue;
        rc = entry_perform(e, r, entry, alone, now, err);
        now = engine_now(e);
        budgets_grant(e, now);
        if (now - begun >= BATCH_MS || once || r->lease_lost)
            break;              /* its receipt is stored before another attempt begins */
    }
    return rc;
}

/* All that are ready leave: to the pool when there are several or other runs wait, else here. */
static pawl_code entries_leave(pawl_engine *e, cached_run *r, bool only_run, bool *held, pawl_err *err)
{
    int64_t now = engine_now(e);
    pawl_code rc;

    if (e->draining) {
        counts_take_back(r);
        return PAWL_OK;
    }
    backoffs_end(r, now);
    if ((rc = entries_ask(e, r, now, err)) == PAWL_OK)
        rc = counts_wait_for_lines(e, r) ? store_all(e, r, err) : PAWL_OK;
    if (rc == PAWL_OK && ready_count(r) > 0)
        leases_check(e);
    if (rc == PAWL_OK && pool_size(e) > 0)
        rc = entries_to_pool(e, r, !only_run || ready_count(r) > 1 || outbox_any_queued(r) || outbox_any_running(r) || pawl_state_waits(r->st) > 0, held,
                             now, err);
    if (rc == PAWL_OK && !*held)
        rc = entries_perform(e, r, only_run && ready_count(r) == 1 && !outbox_any_running(r), now, err);
    if (rc != PAWL_OK)
        leaving_undo(r);
    return rc;
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

/* Whether the lease thread stopped the handler of a finished attempt: then a cancel or an interrupt is in the mailbox. */
static bool stopped_early(const cached_run *r)
{
    for (const outbox_entry *entry = outbox_first(&r->outbox, ENTRY_DONE); entry != NULL && !state_canceling(r->st); entry = entry->next)
        if (entry->attempt.stop && entry->attempt.exceeded == NULL)
            return true;
    return false;
}

/* An event from a person or another run is anchored before anything is done because of it (P12). */
static pawl_code anchor_as_due(pawl_engine *e, cached_run *r, pawl_err *err)
{
    pawl_code rc = e->anchor != NULL && r->anchor == ANCHOR_DUE ? store_all(e, r, err) : PAWL_IGNORED;

    return rc == PAWL_OK ? runs_anchor(e, &r, 1, err) : rc == PAWL_IGNORED ? PAWL_OK : rc;
}

static pawl_code dispatch_held(pawl_engine *e, cached_run *r, bool only_run, dispatched *out, pawl_err *err)
{
    bool came, held = false;
    pawl_code rc;

    if (!run_fits(r))          /* it could not fold a receipt */
        return fail(err, PAWL_CONFLICT, "%s: it runs under machine %s %u, and this is another %s %u: adopt it before anything is performed",
                    r->id, r->st->machine, (unsigned)r->st->version, pawl_machine_name(r->m), (unsigned)pawl_machine_version(r->m));
    if ((rc = anchor_as_due(e, r, err)) != PAWL_OK || (rc = outbox_reconcile(e, r, &out->missing, err)) != PAWL_OK)
        return rc;
    if ((rc = backoffs_store(e, r, err)) != PAWL_OK)        /* of attempts that came back while other runs were driven */
        return rc;
    handlers_find(e, r);
    if (!e->draining && (rc = children_begin(e, r, &out->missing, err)) != PAWL_OK)
        return rc;
    outbox_watch(e, r, engine_now(e));
    came = outbox_give_up(e, r, e->grace_ms);
    if (state_canceling(r->st) && !BROKEN(BROKEN_CANCEL))
        outbox_cancel(e, r, true);      /* after that: what came back and had not begun is not to leave again (E10) */
    if ((rc = receipts_feed(e, r, &out->did, err)) != PAWL_OK || out->did)        /* of an append that failed */
        return rc;
    if ((rc = timers_fire(e, r, &out->timer_ms, &out->did, err)) != PAWL_OK || out->did)
        return rc;
    if ((rc = entries_leave(e, r, only_run, &held, err)) != PAWL_OK)
        return rc;
    came = outbox_collect(e, 0) || came;
    if ((rc = backoffs_store(e, r, err)) != PAWL_OK)
        return rc;
    if (r->lease_lost || stopped_early(r)) {
        out->did = true;        /* the delivery that stopped it is folded first */
        return PAWL_OK;
    }
    if ((rc = receipts_feed(e, r, &out->did, err)) == PAWL_OK && !out->did && !e->draining)
        rc = sql_start(e, r, &out->did, err);
    out->again = !out->did && (came || (ready_count(r) > 0 && !held && !e->draining));
    return rc;
}

pawl_code dispatch(pawl_engine *e, cached_run *r, bool only_run, dispatched *out, pawl_err *err)
{
    pawl_code rc;

    *out = (dispatched){ .missing = { PAWL_OK, "" } };
    rc = dispatch_held(e, r, only_run, out, err);
    if (rc == PAWL_FENCED)
        run_lease_lost(e, r);        /* nothing more leaves, and running attempts stop (S2) */
    return rc;
}
