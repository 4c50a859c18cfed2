/* fairness.c - checks that no run that could continue is passed over while its worker stores others again and again.
 *
 * Owns the counters. Called by store.c after each append, and by remote.c for each attempt; on the thread of pawl_sim. Only appends of pawl_work count,
 * because a caller that drives one run drives no other. A worker looks for due runs when its clock has moved, so appends at the same time count only for
 * runs that it holds. */
#include "sim/sim.h"

#include <string.h>

enum { PASSES_MAX = 6 };        /* appends of other runs; a fair worker needs two */

void run_served(sim_run *y)
{
    y->passed.count = 0;
    y->passed.ready_ms = 0;
}

/* The worker knowingly holds it; or it is due and not held. */
static bool is_within_reach(world *w, const worker *k, const sim_run *y, bool *held)
{
    pawl_head head;

    *held = false;
    if (w->store->verbs->head(w->store, y->id, &head, NULL) != PAWL_OK || head.parked != NULL || head.over)
        return false;
    if (head.owner != NULL && store_held(&head, w->now)) {
        *held = strcmp(head.owner, k->name) == 0 && head.fence != y->unknown_fence;
        return *held;
    }
    return store_is_due(&head, w->now, w->now);
}

/* It has a step to do, or a due timer. */
static bool could_go_on(world *w, const sim_run *y)
{
    int64_t timer;

    if (y->st == NULL || pawl_state_seq(y->st) == 0)
        return false;
    if (pawl_state_next(y->st) == PAWL_OK)
        return true;
    timer = first_timer_ms(w, y);
    return timer > 0 && timer <= w->now;
}

static bool is_among(const pawl_append *all, size_t n, const sim_run *y)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(all[i].run, y->id) == 0)
            return true;
    return false;
}

static bool any_moved(const pawl_append *all, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (all[i].rc == PAWL_OK && all[i].nlines > 0)
            return true;
    return false;
}

void fairness_check(world *w, const worker *k, const pawl_append *all, size_t n)
{
    if (!k->working || !any_moved(all, n))
        return;
    for (unsigned i = 0; i < w->nruns && !w->over; i++) {
        sim_run *y = &w->runs[i];
        bool held;

        if (is_among(all, n, y) || !could_go_on(w, y) || !is_within_reach(w, k, y, &held)) {
            run_served(y);
            continue;
        }
        y->passed.ready_ms = y->passed.ready_ms > 0 ? y->passed.ready_ms : w->now;
        y->passed.count += w->now > y->passed.ready_ms || held;
        sim_holds(w, PROMISE_FAIR, y->passed.count <= PASSES_MAX, y, NULL,
                  "%s: it could go on since %lld, and %s has stored others %u times since", y->id, (long long)y->passed.ready_ms, k->name,
                  y->passed.count);
    }
}
