/* retention.c - how long a run may take, and how long it is kept when it is over. */
#include "engine/run/run.h"

/* ---- its deadline ---------------------------------------------------------------------------- */

int64_t deadline_ms(const cached_run *r)
{
    return r->st->canceling || r->st->unwind != 0 || pawl_status_terminal((pawl_status)r->st->status) ? 0 : r->st->deadline_ms;
}

pawl_code deadline_keep(pawl_engine *e, cached_run *r, bool *did, pawl_err *err)
{
    pawl_event ev = { .kind = PAWL_EV_CANCEL, .by = BY_DEADLINE };
    int64_t at = deadline_ms(r);
    pawl_code rc;

    if (at <= 0 || !run_fits(r) || (ev.time_ms = engine_now(e)) < at)
        return PAWL_OK;
    rc = run_feed(e, r, &ev, err);
    r->hurry = true;
    *did = *did || (rc >= 0 && rc != PAWL_IGNORED);
    return rc < 0 ? rc : PAWL_OK;
}

/* ---- its end (G10) ----------------------------------------------------------------------------- */

/* Of a run that is over: false, it is kept for ever, as is one whose retention nobody understands. */
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

/* What it came to stays readable here. Should it fail, its timer in the store is due, and whoever finds it does it. */
pawl_code run_remove(pawl_engine *e, cached_run *r, pawl_err *err)
{
    pawl_code rc;

    pthread_mutex_lock(&e->lock);
    rc = e->store->verbs->remove(e->store, r->id, r->fence, err);
    if (rc == PAWL_OK)
        lease_move(r, LEASE_NONE, 0);
    pthread_mutex_unlock(&e->lock);
    r->gone = rc == PAWL_OK;
    if (rc != PAWL_OK)
        (void)run_release(e, r, NULL);
    return rc;
}
