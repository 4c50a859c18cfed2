/* drive.c - drives one run: feeds an event, then steps the machine and performs commands until nothing is left to do.
 *
 * Called by engine.c and begin.c on the driving thread, without a lock. Invariant: before the call returns, all lines that the event led to are
 * stored, and the run is released, or its lease is kept for attempts that still run. */
#include "engine/child/child.h"
#include "engine/command/outbox.h"
#include "engine/run/run.h"
#include "kernel/state.h"

#include <string.h>

static pawl_code feed_one(pawl_engine *e, cached_run *r, const pawl_event *ev, pawl_err *err)
{
    pawl_code rc = open_commands_known(e, r, err), next = rc == PAWL_OK ? run_feed(e, r, ev, err) : rc;

    if (next < 0 || next == PAWL_IGNORED)
        return next;
    rc = runs_commit(e, &r, 1, false, err);
    return rc == PAWL_OK ? next : rc;
}

/* Whether the next step can be stored with the receipts before it in one commit (E2): all receipts that the machine waited for are folded, and the
 * step is pure. Not for a receipt of class once, whose loss would make a person decide about a command that was performed. Not when steps are
 * gathered (G9), since the receipt would wait in memory. */
static bool step_is_due(const pawl_engine *e, const cached_run *r)
{
    if (e->durability != PAWL_DURABLE_SYNC || r->st == NULL || r->fence == 0 || r->sql != NULL || r->ntaken > 0 || pawl_state_next(r->st) != PAWL_OK)
        return false;
    for (const outbox_entry *entry = outbox_first(&r->outbox, ENTRY_FED); entry != NULL; entry = entry_next(entry))
        if (entry_limits(entry)->cls == PAWL_CLASS_ONCE)
            return false;
    return true;
}

/* Makes one step for the run. *next: the state of the machine before the step; *did: there may be more to do. */
static pawl_code drive_once(pawl_engine *e, cached_run *r, pawl_code *next, bool *did, pawl_err *err)
{
    pawl_event tick = { .kind = PAWL_EV_TICK };
    bool late = false;
    waited came;
    pawl_code rc;

    *did = true;
    *next = pawl_state_next(r->st);
    outbox_drop_leftovers(e, r, *next);
    if (*next == PAWL_PENDING) {
        rc = dispatch_and_wait(e, r, &came, err);
        *did = came == WAITED_MORE;
        if (rc == PAWL_OK && came == WAITED_CHILDREN_ASK)
            *next = PAWL_INTERRUPTED;
        return rc == PAWL_OK && !step_is_due(e, r) ? store_as_due(e, r, err) : rc;
    }
    if (*next == PAWL_HALTED && child_must_notify(r))
        return (rc = child_notify(e, r, err)) == PAWL_OK ? runs_commit(e, &r, 1, false, err) : rc;
    if (*next != PAWL_OK) {
        int64_t first;

        *did = false;
        rc = *next == PAWL_INTERRUPTED ? timers_fire(e, r, &first, did, err) : PAWL_OK;
        return rc == PAWL_OK && *did ? runs_commit(e, &r, 1, false, err) : rc;
    }
    if ((rc = deadline_keep(e, r, &late, err)) != PAWL_OK || late)
        return rc == PAWL_OK ? runs_commit(e, &r, 1, false, err) : rc;
    tick.time_ms = engine_now(e);
    rc = run_feed(e, r, &tick, err);
    if (rc == PAWL_IGNORED)
        return fail(err, PAWL_CORRUPT, "%s: its machine says that a step is due, and ignores the tick", r->id);
    return rc < 0 ? rc : store_as_due(e, r, err);
}

/* The store has the run as parked, but this engine could drive it: a commit clears that, unless an earlier one did. */
static pawl_code unpark(pawl_engine *e, cached_run *r, pawl_err *err)
{
    return r->head == HEAD_PARKED && r->fence != 0 && r->st != NULL && run_fits(r) ? runs_commit(e, &r, 1, false, err) : PAWL_OK;
}

pawl_code drive_failed(pawl_engine *e, cached_run *r, pawl_code rc, const pawl_err *why, pawl_err *err)
{
    if (r->fence != 0 && outbox_is_idle(r)) {
        run_drop_state(e, r);
        if (rc == PAWL_CORRUPT)
            (void)run_park(e, r, why->text, NULL);
        (void)run_release(e, r, NULL);
    }
    return why->code == PAWL_OK ? rc : fail(err, rc, "%s", why->text);
}

/* While the engine drains, a run is driven only for attempts that still run. */
static bool goes_on(const pawl_engine *e, const cached_run *r)
{
    return !e->stopping && !(e->draining && outbox_tree_idle(e, r));
}

/* The engine stopped between two steps. A drained run is released, so that another engine can claim it. */
static pawl_code stopped_between_steps(pawl_engine *e, cached_run *r, pawl_code *next, pawl_err *err)
{
    if (r->st != NULL)
        *next = pawl_state_next(r->st);
    counts_close(e, r);
    return r->fence != 0 && e->draining && !e->abandoned && outbox_tree_idle(e, r) ? run_release(e, r, err) : PAWL_OK;
}

static pawl_code event_take(pawl_engine *e, cached_run *r, const pawl_event *first, pawl_err *err)
{
    pawl_event ev = *first;
    pawl_code rc;

    if (ev.time_ms == 0)
        ev.time_ms = engine_now(e);
    if (ev.kind == PAWL_EV_RECEIPT)
        outbox_note_receipt(r, ev.id);
    if ((rc = cancel_again(e, r, &ev, err)) == PAWL_OK && (rc = answer_in_time(e, r, &ev, err)) == PAWL_OK)
        rc = feed_one(e, r, &ev, err);
    if (rc != PAWL_IGNORED || r->nlines == 0)
        return rc;
    rc = runs_commit(e, &r, 1, false, err);        /* cancel_again() or answer_in_time() has fed what ended the run */
    return rc == PAWL_OK && ev.kind == PAWL_EV_ANSWER ? PAWL_IGNORED : rc;
}

/* Takes an event for a run at rest whose state is cached: claims the run and stores the lines in one transaction. *took false: nothing has changed,
 * because the run is not at rest or another engine was faster. */
static pawl_code event_take_at_rest(pawl_engine *e, cached_run *r, const pawl_event *first, bool *took, pawl_err *err)
{
    pawl_err why = { PAWL_OK, "" };
    pawl_code rc;

    *took = false;
    if (first->kind != PAWL_EV_ANSWER || !run_is_at_rest(e, r))
        return PAWL_OK;
    r->parent_notified = false;
    rc = event_take(e, r, first, &why);
    *took = r->st != NULL || (rc != PAWL_FENCED && rc != PAWL_HELD && rc != PAWL_CONFLICT && rc != PAWL_GONE);
    if (*took && why.code != PAWL_OK)
        fail(err, why.code, "%s", why.text);
    return *took ? rc : PAWL_OK;
}

/* `stored`: the caller has stored the event already. */
static pawl_code drive_on(pawl_engine *e, cached_run *r, const pawl_event *first, bool stored, pawl_code *next, pawl_err *err)
{
    bool did = true, took = false;
    pawl_code rc = first != NULL ? event_take_at_rest(e, r, first, &took, err) : PAWL_OK;

    if (!stored && !took)
        rc = run_hold(e, r, err);
    if (rc == PAWL_OK && first != NULL && !took && (rc = deliveries_take(e, r, err)) == PAWL_OK && (rc = run_hold(e, r, err)) == PAWL_OK) {
        took = true;
        rc = event_take(e, r, first, err);
    }
    if (rc == PAWL_IGNORED && (rc = unpark(e, r, err)) == PAWL_OK) {
        if (outbox_is_idle(r))
            (void)run_release(e, r, NULL);
        *next = PAWL_IGNORED;
        return PAWL_OK;
    }
    while (rc >= 0 && did && goes_on(e, r)) {
        if (r->fence == 0 && r->st != NULL && !has_deliveries(e, r)) {
            *next = pawl_state_next(r->st);     /* the commit released the run: it has ended, or waits for a person */
            return PAWL_OK;
        }
        if ((rc = run_hold(e, r, err)) == PAWL_HELD && (first != NULL || stored)) {
            *err = (pawl_err){ PAWL_OK, "" };   /* the event is stored: the caller must not deliver it once more */
            *next = PAWL_PENDING;
            return PAWL_OK;
        }
        if (rc == PAWL_OK && (rc = deliveries_take(e, r, err)) == PAWL_OK && r->fence != 0)
            rc = drive_once(e, r, next, &did, err);
    }
    if (rc >= 0)
        rc = store_all(e, r, err);      /* the caller may read the state from the store now */
    else
        (void)store_all(e, r, NULL);
    if (rc >= 0)
        rc = unpark(e, r, err);
    if (rc >= 0 && did)
        rc = stopped_between_steps(e, r, next, err);
    if (rc >= 0 && r->fence != 0 && (*next == PAWL_HALTED || *next == PAWL_INTERRUPTED || !did))
        rc = run_release(e, r, err);
    return rc;
}

/* One line of the reason, without the end of a text that has several; what a handler said of a failed command stands in its receipt. */
static void reason_text(const cached_run *r, pawl_code code, const char *how, pawl_err *err)
{
    const pawl_value *reason = pawl_state_reason(r->st);
    const char *text = pawl_value_string(pawl_value_get(reason, "text")), *said = pawl_value_string(pawl_value_find(reason, "/receipt/text"));

    if (text == NULL)
        fail(err, code, "%s: %s", r->id, how);
    else if (said == NULL)
        fail(err, code, "%s: %s: %.*s", r->id, how, (int)strcspn(text, "\r\n"), text);
    else
        fail(err, code, "%s: %s: %.*s: %.*s", r->id, how, (int)strcspn(text, "\r\n"), text, (int)strcspn(said, "\r\n"), said);
}

/* If a run ended otherwise than completed, the caller that drove it gets an error (X1). The code is that of its reason. */
static void end_error(const cached_run *r, pawl_err *err)
{
    const char *name;

    if (r->st == NULL || r->st->status == PAWL_STATUS_COMPLETED)
        return;
    name = pawl_value_string(pawl_value_get(pawl_state_reason(r->st), "code"));
    if (r->st->status == PAWL_STATUS_FAILED)
        reason_text(r, name == NULL || pawl_code_named(name) >= 0 ? PAWL_EFFECT : pawl_code_named(name), "failed", err);
    else if (r->st->status == PAWL_STATUS_REJECTED)
        reason_text(r, PAWL_DENIED, "rejected", err);
    else if (r->st->status == PAWL_STATUS_CANCELED)
        reason_text(r, PAWL_CANCELED, "canceled", err);
}

static pawl_code drive_from(pawl_engine *e, cached_run *r, const pawl_event *first, bool stored, pawl_err *err)
{
    pawl_err why = { PAWL_OK, "" };
    pawl_code next = PAWL_PENDING, rc;

    PAWL_ASSERT(!stored || !run_is_folded(r), "E14: a run that was accepted is stored before it is driven");
    completions_heard(e);
    rc = drive_on(e, r, first, stored, &next, &why);

    outbox_unqueue(e, r);
    if (rc < 0)
        return drive_failed(e, r, rc, &why, err);
    if (why.code != PAWL_OK)
        fail(err, why.code, "%s", why.text);
    if (next == PAWL_HALTED)
        end_error(r, err);
    return next;
}

pawl_code drive(pawl_engine *e, cached_run *r, const pawl_event *first, pawl_err *err)
{
    return drive_from(e, r, first, false, err);
}

pawl_code drive_begun(pawl_engine *e, cached_run *r, pawl_err *err)
{
    return drive_from(e, r, NULL, true, err);
}
