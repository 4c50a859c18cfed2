/* run_feed.c - folds an event: its lines, blobs and waits are kept in the cached run for the next commit.
 *
 * Called by deliveries.c, receipt_feed.c, timers.c, drive.c, begin.c and the scheduler, on the driving thread, without a lock. Invariant: either the event is
 * folded and its lines, blobs and waits are all kept for the commit, or the state of the run is dropped. */
#include "engine/command/outbox.h"
#include "engine/run/anchor.h"
#include "engine/run/record_rights.h"
#include "engine/run/run.h"
#include "kernel/journal/codec.h"
#include "kernel/state.h"

static pawl_code interrupt_feed(pawl_engine *e, cached_run *r, const pawl_event *ev, pawl_err *err)
{
    pawl_event with = *ev;
    pawl_code rc;
    buf value;

    buf_init(&value, &e->alloc);
    if ((rc = partial_event_value(r, ev, &value, err)) == PAWL_OK) {
        with.value = value.size > 0 ? value.data : NULL;
        with.value_size = value.size;
        rc = pawl_advance(r->m, r->st, &with, e->step, err);
    }
    buf_free(&value);
    return rc;
}

/* Arguments that wait in the state are copied before it changes, and not for an event that changes no channel. */
static pawl_code lent_feed(pawl_engine *e, cached_run *r, const pawl_event *ev, pawl_err *err)
{
    pawl_code next = pawl_feed(r->m, r->st, ev, e->step, err), rc = PAWL_OK;

    if (next < 0 || next == PAWL_IGNORED)
        return next;
    if (!args_stay(pawl_step_entry(e->step)))
        rc = args_copy_all(e, r, err);
    if (rc == PAWL_OK)
        rc = pawl_apply(r->st, pawl_step_entry(e->step), err);
    return rc == PAWL_OK ? next : rc;
}

static pawl_code event_feed_as(pawl_engine *e, cached_run *r, const pawl_event *ev, pawl_err *err)
{
    const bool said = partial_wanted(r, ev);
    pawl_code rc;

    if (!said && args_wait(r))
        return lent_feed(e, r, ev, err);
    if (r->borrowed && (rc = args_copy_all(e, r, err)) != PAWL_OK)
        return rc;
    return said ? interrupt_feed(e, r, ev, err) : pawl_advance(r->m, r->st, ev, e->step, err);
}

/* Events from a person or another run: an answer gives a right, an update may change the mode or the budget. */
static bool from_outside(pawl_event_kind kind)
{
    switch (kind) {
    case PAWL_EV_ANSWER: case PAWL_EV_UPDATE: case PAWL_EV_SIGNAL: case PAWL_EV_INPUT: case PAWL_EV_REOPEN: case PAWL_EV_ADOPT: return true;
    case PAWL_EV_START: case PAWL_EV_TICK: case PAWL_EV_RECEIPT: case PAWL_EV_TIMER: case PAWL_EV_CANCEL: break;
    }
    return false;
}

/* The name of a snapshot comes from this engine. */
static void anchor_heard(pawl_engine *e, cached_run *r, const pawl_event *ev)
{
    if (from_outside(ev->kind) && !entry_names_snapshot(pawl_step_entry(e->step)))
        anchor_move(r, ANCHOR_DUE);
    else if (r->anchor == ANCHOR_DONE)
        anchor_move(r, ANCHOR_NONE);
}

/* Whoever sent the event: the mode and the rights of the run's record hold. */
static pawl_code event_feed(pawl_engine *e, cached_run *r, const pawl_event *given, pawl_err *err)
{
    pawl_event ev = *given;
    pawl_code rc;
    buf text;

    buf_init(&text, &e->alloc);
    if ((rc = record_rights(r->m, pawl_state_base(r->st), r->st->parent != NULL, &ev, &text, err)) == PAWL_OK)
        rc = event_feed_as(e, r, &ev, err);
    buf_free(&text);
    return rc;
}

pawl_code run_feed(pawl_engine *e, cached_run *r, const pawl_event *ev, pawl_err *err)
{
    pawl_code next, rc;
    pawl_bytes line;

    PAWL_ASSERT(ev->kind != PAWL_EV_TICK || r->fence != 0, "E14: a run is stored, and held, before its first step");
    if ((rc = answer_counts(e, r, ev, err)) != PAWL_OK)
        return rc;
    next = event_feed(e, r, ev, err);
    line = pawl_step_bytes(e->step);
    if (next < 0 || next == PAWL_IGNORED)
        return next;
    if (r->nlines == 0 && e->durability == PAWL_DURABLE_ASYNC)
        r->gathers_since = steady_of(e);
    buf_put(&r->lines, line.data, line.size);
    buf_char(&r->lines, '\n');
    r->nlines++;
    run_move(r, r->state == RUN_URGENT ? RUN_URGENT : RUN_FOLDED);
    if (r->pass == PASS_IN)
        pass_move(r, PASS_STEPPED);
    if (e->anchor != NULL)
        anchor_heard(e, r, ev);
    r->records_fed = pawl_entry_is_record(pawl_step_entry(e->step)) ? r->records_fed + 1 : 0;
    r->tail_bytes += line.size;
    rc = r->lines.failed ? PAWL_NOMEM : blobs_hold(e, r, e->step);
    if (rc == PAWL_OK)
        rc = wait_index_step(e, r);
    if (rc != PAWL_OK) {
        run_drop_state(e, r);
        return fail(err, rc, rc == PAWL_IO ? "%s: a delivery to one of its children failed" : "%s: no memory for the result of a step", r->id);
    }
    return next;
}
