/* points.c - points: the beginnings and ends of a worker's actions, where faults happen.
 *
 * Owns nothing. Called by the clock, the store and the remote service of each worker, on the thread of pawl_sim. A dead worker gets no further than its
 * next point: its engine is stopped, and its verbs fail. */
#include "sim/sim.h"

enum { DEPTH = 3, POINTS_MAX = 1000000 };

static void die(world *w, worker *k)
{
    trace_line(w, k, "is killed");
    w->report->kills++;
    k->dead = true;
}

static void trouble(world *w, worker *k)
{
    if (sim_happens(w, w->t.delay)) {
        w->now += 1 + (int64_t)sim_below(w, (uint64_t)w->t.delay_ms);
        w->report->delays++;
    }
    if (w->depth < DEPTH && sim_happens(w, w->t.rival))
        w->rival(w, k);
    if (!k->dead && sim_happens(w, w->t.kill))
        die(w, k);
    if (sim_happens(w, w->t.power))
        w->power_cut(w);
}

bool point(worker *k)
{
    world *w = k->w;

    if (!k->dead && ++w->report->points > POINTS_MAX)
        sim_holds(w, PROMISE_END, false, NULL, NULL, "%s works without end", k->name);
    if (!k->dead && k->left > 0 && --k->left == 0 && k->e != NULL)
        k->e->stopping = true;
    if (!k->dead && !w->calm)
        trouble(w, k);
    if (k->dead && k->e != NULL)
        k->e->stopping = true;
    return !k->dead;
}
