/* workers.c - the turns of workers; a turn of one may happen inside a turn of another, between any two actions.
 *
 * Owns the engines of the workers. Called by sim.c, and by points.c through w->rival; on the thread of pawl_sim. A dead worker has no engine after its
 * turn, and gets a new one with a new name at the next. */
#include "sim/sim.h"

#include <string.h>

enum { PORTIONS = 50, PORTION_POINTS = 60, CALM_POINTS = 5000, CALM_ROUNDS = 400, QUIET_ROUNDS = 2, CALM_PHASE_POINTS = 100000, TAIL_BYTES = 256,
       BLOB_BYTES = 24, THREADS_MAX = 4 };         /* a larger value becomes a blob */

/* ---- what an engine takes for the system ------------------------------------------------------------- */

static int64_t now_ms(void *ctx)
{
    worker *k = ctx;

    (void)point(k);
    return k->w->now;
}

static void sleep_until(void *ctx, int64_t time_ms)
{
    worker *k = ctx;

    (void)point(k);
    if (time_ms > k->w->now)
        k->w->now = time_ms;
}

/* The seed of a run affects its result and is drawn with its life: it must be the same in both worlds. */
static bool drawn(void *ctx, uint64_t out[2])
{
    world *w = ((worker *)ctx)->w;

    out[0] = sim_draw(w) | 1;
    out[1] = w->starting != NULL ? w->starting->seed : sim_draw(w);
    return true;
}

/* ---- started and stopped ------------------------------------------------------------------------------ */

pawl_code machines_lend(world *w, pawl_engine *e)
{
    pawl_code rc = PAWL_OK;

    for (unsigned i = 0; i < w->nmore && rc == PAWL_OK; i++) {
        pawl_machine *m = w->more[i];

        if ((rc = pawl_engine_add(e, m, &w->err)) == PAWL_OK)
            continue;
        while (++i < w->nmore)          /* that one was taken in any case */
            w->more[i - 1] = w->more[i];
        w->nmore--;
    }
    return rc;
}

static bool worker_start(world *w, worker *k)
{
    const pawl_clock clock = { now_ms, sleep_until, k };
    buf name = { .data = k->name, .cap = sizeof k->name - 1 };
    pawl_store *s;

    if (k->e != NULL)
        return true;
    memset(k->name, 0, sizeof k->name);
    buf_text(&name, "w");
    buf_uint(&name, k->number);
    buf_char(&name, '.');
    buf_uint(&name, ++k->life);
    k->dead = false;
    if ((s = worker_store(k)) == NULL || (k->e = pawl_engine_new(w->m, s, &w->err)) == NULL) {
        if (s != NULL)
            w->m = NULL;        /* it was taken */
        sim_nomem(w);
        return false;
    }
    pawl_engine_clock(k->e, &clock);
    pawl_engine_lease(k->e, k->name, w->t.lease_ms);
    k->e->drawn = drawn;
    k->e->drawn_ctx = k;
    pawl_engine_threads(k->e, w->plain ? 0 : (unsigned)sim_below(w, THREADS_MAX + 1));
    pawl_engine_durability(k->e, w->durability);
    k->e->tail_bytes_least = TAIL_BYTES;
    pawl_engine_blobs(k->e, BLOB_BYTES);
    if (machines_lend(w, k->e) != PAWL_OK)
        oracle_failed(w, "setup", NULL, NULL, "%s", w->err.text);
    for (unsigned i = 0; i < w->neffects && !w->over; i++)
        handler_give(w, k, w->effects[i]);
    return !w->over;
}

void worker_stop(world *w, worker *k)
{
    pawl_engine *e = k->e;

    (void)w;
    if (e == NULL)
        return;
    e->m = NULL;                /* they belong to the world */
    e->nmore = 0;
    pawl_engine_free(e);
    k->e = NULL;
}

/* ---- portions -------------------------------------------------------------------------------------------- */

typedef void turn_fn(world *w, worker *k, void *arg);

static void worker_turn(world *w, worker *k, turn_fn *fn, void *arg)
{
    if (w->over || k->active || !worker_start(w, k))
        return;
    w->report->portions++;
    k->active = true;
    w->depth++;
    k->left = w->calm ? CALM_POINTS : 2 + (unsigned)sim_below(w, PORTION_POINTS);
    k->e->stopping = false;
    pool_simulate(k->e, w->calm);
    fn(w, k, arg);
    if (!k->dead && sim_happens(w, w->t.restart)) {
        trace_line(w, k, "is closed");
        w->report->restarts++;
        k->left = 0;
        worker_stop(w, k);
    }
    if (k->dead)
        worker_stop(w, k);
    w->depth--;
    k->active = false;
}

static void do_work(world *w, worker *k, void *arg)
{
    pawl_err err = { PAWL_OK, "" };
    int64_t until = w->now + (sim_happens(w, 250) ? (int64_t)sim_below(w, 500) : 0);

    (void)arg;
    k->working = true;
    if (pawl_work(k->e, until, &err) != PAWL_OK)
        trace_line(w, k, "work: %s", err.text);
    k->working = false;
}

void rival_turn(world *w, const worker *k)
{
    unsigned n = (unsigned)sim_below(w, w->nworkers);

    for (unsigned i = 0; i < w->nworkers; i++) {
        worker *other = &w->workers[(n + i) % w->nworkers];

        if (other->active || other == k)
            continue;
        w->report->rivals++;
        worker_turn(w, other, do_work, NULL);
        return;
    }
}

static void do_act(world *w, worker *k, void *arg)
{
    *(bool *)arg = client_acts(w, k);
}

static bool all_settled(world *w)
{
    for (unsigned i = 0; i < w->nruns; i++)
        if (!sim_run_settled(w, &w->runs[i]))
            return false;
    return true;
}

void trouble_phase(world *w)
{
    for (int i = 0; i < PORTIONS && !w->over && !all_settled(w); i++) {
        worker *k = &w->workers[sim_below(w, w->nworkers)];
        bool said = true;

        if (sim_below(w, 3) == 0)
            worker_turn(w, k, do_act, &said);
        else
            worker_turn(w, k, do_work, NULL);
        (void)late_reply_send(w);
        if (sim_below(w, 4) == 0)
            w->now += (int64_t)sim_below(w, (uint64_t)w->t.lease_ms);
    }
}

static void calm_round(world *w)
{
    w->round++;
    for (unsigned i = 0; i < w->nworkers && !w->over; i++) {
        bool said = true;

        for (unsigned n = 0; said && n < 4 * w->nruns && !w->over; n++)
            worker_turn(w, &w->workers[i], do_act, &said);
        worker_turn(w, &w->workers[i], do_work, NULL);
    }
    while (!w->over && late_reply_send(w))
        continue;
}

void calm_phase(world *w)
{
    uint32_t until = w->report->points + CALM_PHASE_POINTS, appends = 0, quiet = 0;

    if (!w->calm)
        trace_line(w, NULL, "no trouble from here on");
    w->calm = true;
    for (int i = 0; i < CALM_ROUNDS && w->report->points < until && !w->over; i++) {
        int64_t next;

        calm_round(w);
        if (w->over || (all_settled(w) && w->nlate == 0))
            break;
        next = w->store->verbs->next_due(w->store);
        quiet = w->report->appends == appends ? quiet + 1 : 0;
        appends = w->report->appends;
        if (next > w->now && (next < w->now + w->t.lease_ms || quiet > QUIET_ROUNDS))     /* all leases have expired: it is a timer, however late */
            w->now = next;
        else
            w->now += w->t.lease_ms;
    }
    for (unsigned i = 0; i < w->nruns && !w->over; i++) {
        sim_run *y = &w->runs[i];

        sim_holds(w, PROMISE_END, sim_run_settled(w, y), y, NULL, "%s: it is stuck: %s, %zu commands and %zu waits open", y->id,
                  y->st != NULL ? pawl_status_name(pawl_state_status(y->st)) : "not begun", y->st != NULL ? pawl_state_commands(y->st) : 0,
                  y->st != NULL ? pawl_state_waits(y->st) : 0);
    }
}
