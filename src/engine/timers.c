/* timers.c - timers that are due are fed (E9). */
#include "engine/engine.h"

#include <stdio.h>

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
    if (at > t->now && !(t->canceling && c->kind == CALL_SLEEP))
        return true;
    snprintf(t->id, sizeof t->id, "%llu.%s.%u.%u", (unsigned long long)c->superstep, path, (unsigned)(tk != NULL ? tk->visit : c->visit), (unsigned)n);
    t->due = true;
    return false;
}

pawl_code timers_fire(pawl_engine *e, live *r, int64_t *first, bool *did, pawl_err *err)
{
    due_timer t = { .e = e, .now = engine_now(e) };
    bool late = false;
    pawl_code rc = deadline_keep(e, r, &late, err);

    *did = *did || late;
    if (rc < 0 || late)
        return rc;
    do {
        t.canceling = r->st->canceling;
        t.due = false;
        t.first = 0;
        state_each_call(r->st, see_due, &t);
        if (t.due) {
            const pawl_event ev = { .kind = PAWL_EV_TIMER, .id = t.id, .time_ms = t.now };

            rc = run_feed(e, r, &ev, err);
            r->hurry = true;
            *did = *did || rc >= 0;
        }
    } while (t.due && rc >= 0 && rc != PAWL_IGNORED);
    *first = t.first;
    return rc < 0 ? rc : PAWL_OK;
}
