/* run_feed.c - folds an event: its lines, blobs and waits are kept in the cached run for the next commit.
 *
 * Called by deliveries.c, receipt_feed.c, timers.c, drive.c, begin.c and the scheduler, on the driving thread, without a lock. Invariant: either the event is
 * folded and its lines, blobs and waits are all kept for the commit, or the state of the run is dropped. */
#include "engine/command/outbox.h"
#include "engine/run/run.h"

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

pawl_code run_feed(pawl_engine *e, cached_run *r, const pawl_event *ev, pawl_err *err)
{
    pawl_code rc = r->borrowed ? args_copy_all(e, r, err) : PAWL_OK, next;
    pawl_bytes line;

    if (rc != PAWL_OK)
        return rc;
    PAWL_ASSERT(ev->kind != PAWL_EV_TICK || r->fence != 0, "E14: a run is stored, and held, before its first step");
    next = partial_wanted(r, ev) ? interrupt_feed(e, r, ev, err) : pawl_advance(r->m, r->st, ev, e->step, err);
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
