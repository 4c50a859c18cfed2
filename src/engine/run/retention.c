/* retention.c - the deadline of a run, and the end of its retention after it has ended (G10).
 *
 * Called on the driving thread. Pure: reads the state of a cached run. */
#include "engine/run/run.h"
#include "kernel/state.h"

/* ---- its deadline ---------------------------------------------------------------------------- */

int64_t deadline_ms(const cached_run *r)
{
    return state_canceling(r->st) || r->st->unwind != 0 || pawl_status_terminal((pawl_status)r->st->status) ? 0 : r->st->deadline_ms;
}

/* ---- its end (G10) ----------------------------------------------------------------------------- */

/* False: the run has not ended, or is kept for ever; an unknown retention counts as for ever. */
static bool kept_for(const cached_run *r, int64_t *ms)
{
    return pawl_status_terminal((pawl_status)r->st->status) && store_retention_read(r->st->retention, ms) && *ms < INT64_MAX;
}

/* Counted from the time of the last entry, so that all engines agree. */
int64_t run_retires_ms(const cached_run *r)
{
    int64_t ms, at = r->st->time_ms > 0 ? r->st->time_ms : 1;

    return !kept_for(r, &ms) ? 0 : ms < INT64_MAX - at ? at + ms : INT64_MAX;
}

bool run_is_retired(pawl_engine *e, const cached_run *r)
{
    int64_t ms;

    return kept_for(r, &ms) && (ms == 0 || run_retires_ms(r) <= engine_now(e));
}
