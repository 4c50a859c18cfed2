/* timers.c - timers that are due are fed (E9), among them the deadline of the run.
 *
 * Called on the driving thread, without a lock, by all that drives a run. */
#include "engine/run/run.h"
#include "kernel/frame.h"
#include "kernel/names.h"
#include "kernel/state.h"

#include <stdio.h>
#include <string.h>

typedef struct due_timer { pawl_engine *e; int64_t now, first; char id[ID_BYTES_MAX + 1]; bool due, canceling; } due_timer;

static bool see_due(void *ctx, const frame *f, const task *tk, const char *path, const call *c, uint32_t n)
{
    due_timer *t = ctx;
    int64_t at = timer_at(t->e, c);

    (void)f;
    if (at == 0)
        return true;
    if (t->first == 0 || at < t->first)
        t->first = at;
    if (at - (BROKEN(BROKEN_SLEEP_EARLY) ? 1000 : 0) > t->now && !(t->canceling && c->kind == CALL_SLEEP))
        return true;
    snprintf(t->id, sizeof t->id, "%llu.%s.%u.%u", (unsigned long long)c->superstep, path, (unsigned)(tk != NULL ? tk->visit : c->visit), (unsigned)n);
    t->due = true;
    return false;
}

/* ---- answers after a deadline ---------------------------------------------------------------------- */

typedef struct overdue { due_timer t; const char *given; } overdue;

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);

    return n >= m && strcmp(text + n - m, end) == 0;
}

static bool see_overdue(void *ctx, const frame *f, const task *tk, const char *path, const call *c, uint32_t n)
{
    overdue *o = ctx;

    if (c->kind != CALL_ASK || c->wait != PAWL_WAIT_APPROVAL || see_due(&o->t, f, tk, path, c, n))
        return true;
    o->t.due = o->given == NULL || ends_with(o->given, o->t.id);
    return !o->t.due;
}

/* No timer fires while the run is not driven: a yes after the deadline of an approval finds the no that is due (W5). */
pawl_code answer_in_time(pawl_engine *e, cached_run *r, const pawl_event *ev, pawl_err *err)
{
    overdue o = { .t = { .e = e, .now = ev->time_ms }, .given = ev->id };
    pawl_code rc = PAWL_OK;

    if (ev->kind != PAWL_EV_ANSWER || r->st == NULL || r->no_timers || BROKEN(BROKEN_LATE_YES))
        return PAWL_OK;
    state_each_call(r->st, see_overdue, &o);
    if (o.t.due) {
        const pawl_event due = { .kind = PAWL_EV_TIMER, .id = o.t.id, .time_ms = ev->time_ms };

        rc = run_feed(e, r, &due, err);
    }
    return rc < 0 ? rc : PAWL_OK;
}

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

pawl_code timers_fire(pawl_engine *e, cached_run *r, int64_t *first, bool *did, pawl_err *err)
{
    due_timer t = { .e = e, .now = engine_now(e) };
    bool late = false;
    pawl_code rc = deadline_keep(e, r, &late, err);

    *did = *did || late;
    if (rc < 0 || late)
        return rc;
    do {
        t.canceling = state_canceling(r->st);
        t.due = false;
        t.first = 0;
        if (!r->no_timers)
            state_each_call(r->st, see_due, &t);
        if (t.due) {
            const pawl_event ev = { .kind = PAWL_EV_TIMER, .id = t.id, .time_ms = t.now };

            rc = run_feed(e, r, &ev, err);
            run_mark_urgent(r);
            *did = *did || rc >= 0;
        }
    } while (t.due && rc >= 0 && rc != PAWL_IGNORED);
    *first = t.first;
    return rc < 0 ? rc : PAWL_OK;
}
