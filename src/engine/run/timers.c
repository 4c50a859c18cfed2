/* timers.c - timers that are due are fed (E9), among them the deadline of the run.
 *
 * Called on the driving thread, without a lock, by all that drives a run. */
#include "engine/run/run.h"
#include "kernel/frame.h"
#include "kernel/names.h"
#include "kernel/state.h"

#include <stdio.h>
#include <string.h>

static bool is_due(int64_t at_ms, int64_t now_ms)
{
    return at_ms - (BROKEN(BROKEN_SLEEP_EARLY) ? 1000 : 0) <= now_ms;
}

static pawl_code timer_feed(pawl_engine *e, cached_run *r, const char *id, int64_t now_ms, pawl_err *err)
{
    const pawl_event ev = { .kind = PAWL_EV_TIMER, .id = id, .time_ms = now_ms };

    return run_feed(e, r, &ev, err);
}

/* ---- answers after a deadline ---------------------------------------------------------------------- */

typedef struct overdue { const pawl_engine *e; int64_t now_ms; arena mem; const char **ids; size_t count, cap; pawl_code rc; } overdue;

static bool see_overdue(void *ctx, const frame *f, const task *tk, const char *path, const call *c, uint32_t n)
{
    overdue *o = ctx;
    char id[ID_BYTES_MAX + 1];
    int64_t at = 0;

    (void)f;
    if (c->kind == CALL_ASK && c->wait == PAWL_WAIT_APPROVAL)
        o->rc = timer_at(o->e, c, &at);
    if (at == 0 || !is_due(at, o->now_ms))
        return o->rc == PAWL_OK;
    snprintf(id, sizeof id, "%llu.%s.%u.%u", (unsigned long long)c->superstep, path, (unsigned)(tk != NULL ? tk->visit : c->visit), (unsigned)n);
    if (!arena_room(&o->mem, (void **)&o->ids, &o->cap, o->count, sizeof *o->ids) || (o->ids[o->count++] = arena_text(&o->mem, id)) == NULL)
        o->rc = PAWL_NOMEM;
    return o->rc == PAWL_OK;
}

/* The overdue approvals that an answer to `wait` may mean: that of the id; for a slot, a node's name or NULL, each of the run. */
static pawl_code overdue_find(cached_run *r, const char *wait, overdue *o)
{
    char path[PATH_BYTES_MAX + 1];
    uint64_t superstep;
    uint32_t visit_no, n;
    frame *in;
    task *tk;
    const call *c;

    if (wait == NULL || !state_id_parse(r->st, wait, path, &superstep, &visit_no, &n))
        state_each_call(r->st, see_overdue, o);
    else if ((c = call_find(r->st, superstep, path, visit_no, n, &in, &tk)) != NULL && call_is_open(c))
        see_overdue(o, in, tk, path, c, n);
    return o->rc;
}

/* No timer fires while the run is not driven: a yes after the deadline of an approval finds the no that is due (W5). */
pawl_code answer_in_time(pawl_engine *e, cached_run *r, const pawl_event *ev, pawl_err *err)
{
    overdue o = { .e = e, .now_ms = ev->time_ms, .rc = PAWL_OK };
    const timer *first = ev->kind == PAWL_EV_ANSWER && r->st != NULL ? timer_first(e, r) : NULL;
    pawl_code rc;

    if (first == NULL || !is_due(first->at_ms, o.now_ms) || BROKEN(BROKEN_LATE_YES))
        return PAWL_OK;
    arena_init(&o.mem, &e->alloc, 512);
    rc = overdue_find(r, ev->id, &o);
    for (size_t i = 0; rc >= 0 && i < o.count; i++)
        rc = timer_feed(e, r, o.ids[i], o.now_ms, err);     /* PAWL_IGNORED: the one before it ended this one too */
    arena_free(&o.mem);
    return rc < 0 ? rc : PAWL_OK;
}

/* ---- timers ---------------------------------------------------------------------------------------------- */

pawl_code deadline_keep(pawl_engine *e, cached_run *r, bool *did, pawl_err *err)
{
    pawl_event ev = { .kind = PAWL_EV_CANCEL, .by = BY_DEADLINE };
    int64_t at = deadline_ms(r);
    pawl_code rc;

    if (at <= 0 || !run_fits(r) || (ev.time_ms = engine_now(e)) < at)
        return PAWL_OK;
    rc = run_feed(e, r, &ev, err);
    run_mark_urgent(r);
    *did = *did || (rc >= 0 && rc != PAWL_IGNORED);
    return rc < 0 ? rc : PAWL_OK;
}

/* The first that is due comes first, as if each had been fired in time. A run that is canceled sleeps no more; of its questions none is open. */
static bool due_take(pawl_engine *e, cached_run *r, int64_t now_ms, int64_t *first, char *id, size_t size)
{
    const timer *t = timer_first(e, r);

    *first = t != NULL ? t->at_ms : 0;
    if (t == NULL || !(is_due(t->at_ms, now_ms) || (t->sleeps && state_canceling(r->st))))
        return false;
    snprintf(id, size, "%s", t->id);        /* the step frees it */
    return true;
}

pawl_code timers_fire(pawl_engine *e, cached_run *r, int64_t *first, bool *did, pawl_err *err)
{
    const int64_t now = engine_now(e);
    char id[ID_BYTES_MAX + 1];
    bool late = false;
    pawl_code rc = deadline_keep(e, r, &late, err);

    *did = *did || late;
    if (rc < 0 || late)
        return rc;
    while (rc >= 0 && rc != PAWL_IGNORED && due_take(e, r, now, first, id, sizeof id)) {
        rc = timer_feed(e, r, id, now, err);
        run_mark_urgent(r);
        *did = *did || rc >= 0;
    }
    return rc < 0 ? rc : PAWL_OK;
}
