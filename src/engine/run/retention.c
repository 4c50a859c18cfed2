/* retention.c - until when a run may take, and until when it is kept when it is over.
 *
 * Called on the driving thread. It looks at the state of a run, and changes nothing. */
#include "engine/run/run.h"

/* ---- its deadline ---------------------------------------------------------------------------- */

int64_t deadline_ms(const cached_run *r)
{
    return state_canceling(r->st) || r->st->unwind != 0 || pawl_status_terminal((pawl_status)r->st->status) ? 0 : r->st->deadline_ms;
}

/* ---- its end (G10) ----------------------------------------------------------------------------- */

/* False: the run is not over, or is kept for ever, as is one with an unknown retention. */
static bool kept_for(const cached_run *r, int64_t *ms)
{
    return pawl_status_terminal((pawl_status)r->st->status) && store_retention_read(r->st->retention, ms) && *ms < INT64_MAX;
}

/* By the time of its last entry, so that all agree. */
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
