/* sim.c - runs the world of a seed: first without faults, so that the expected end is known, then with faults.
 *
 * Called by pawl_sim(); everything is on its thread. */
#include "kernel/machine.h"
#include "kernel/names.h"
#include "sim/sim.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_MS = 1000000 };    /* the time at which a world begins */

/* ---- a world ---------------------------------------------------------------------------------------- */

static pawl_code machines_make(world *w)
{
    const pawl_sim_setup *setup = w->setup;
    pawl_err why = { PAWL_OK, "" };

    w->m = setup->machine(setup->ctx, &why);
    while (w->m != NULL && setup->more != NULL && w->nmore < SIM_MACHINES_MAX) {
        if ((w->more[w->nmore] = setup->more(setup->ctx, w->nmore, &why)) == NULL)
            break;
        w->nmore++;
    }
    if (w->m != NULL && why.code >= 0)
        return PAWL_OK;
    return fail(&w->err, why.code < 0 ? why.code : PAWL_INVALID, "%s", why.code < 0 ? why.text : "the setup makes no machine");
}

static pawl_code auditor_make(world *w)
{
    pawl_machine *m = w->m;
    pawl_store *s = plain_store(w);

    w->auditor = pawl_engine_new(m, s, &w->err);
    if (w->auditor == NULL)
        w->m = NULL;                    /* it was taken */
    if (w->auditor == NULL)
        return fail(&w->err, PAWL_NOMEM, "no memory to simulate");
    return machines_lend(w, w->auditor);
}

static void auditor_end(world *w)
{
    if (w->auditor != NULL) {
        w->auditor->m = NULL;           /* they belong to the world */
        w->auditor->nmore = 0;
    }
    pawl_engine_free(w->auditor);
    w->auditor = NULL;
}

/* The auditor, an engine that loads runs as a worker does, also dies: it remembers what the store has lost. */
static void world_power_cut(world *w)
{
    power_cut(w);
    auditor_end(w);
    if (!w->over && auditor_make(w) != PAWL_OK)
        sim_nomem(w);
}

/* Some faults hide others: each seed omits some kinds, and has more of others. */
static void mix(world *w)
{
    pawl_sim_trouble *t = &w->t;
    unsigned *rates[] = { &t->kill, &t->power, &t->restart, &t->fail, &t->unsure, &t->delay, &t->rival, &t->refuse, &t->lose, &t->late, &t->slow };

    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        uint64_t n = sim_below(w, 4);

        *rates[i] = n == 0 ? 0 : n == 1 ? *rates[i] * 3 : *rates[i];
    }
}

static void sim_runs_begin(world *w)
{
    const pawl_sim_setup *setup = w->setup;
    unsigned runs = setup->runs > 0 ? setup->runs : 2;

    for (w->nruns = 0; w->nruns < runs; w->nruns++) {
        sim_run *y = &w->runs[w->nruns];
        buf id = { .data = y->id, .cap = sizeof y->id - 1 };

        buf_text(&id, "r");
        buf_uint(&id, w->nruns);
        y->input = setup->ninputs > 0 ? setup->inputs[w->nruns % setup->ninputs] : NULL;
        y->seed = sim_draw(w);
        y->cancel = sim_below(w, 1000) < setup->cancel;
        y->cancel_ms = w->now + (int64_t)sim_below(w, 2000);
    }
}

static pawl_code world_begin(world *w, const pawl_sim_setup *setup, uint64_t seed, bool plain, pawl_sim_report *report)
{
    pawl_code rc;

    *w = (world){ .setup = setup, .t = setup->trouble != NULL ? *setup->trouble : pawl_sim_trouble_default(), .report = report,
                  .rand = { seed }, .again = { seed ^ UINT64_C(0xA6A1A) }, .now = FIRST_MS, .plain = plain, .calm = plain,
                  .handler = remote_act, .rival = rival_turn, .power_cut = world_power_cut };
    w->alloc = mem_or_default(NULL);
    buf_init(&w->trace, &w->alloc);
    w->nworkers = plain ? 1 : setup->workers > 0 ? setup->workers : 2;
    for (unsigned i = 0; i < w->nworkers; i++)
        w->workers[i] = (worker){ .w = w, .number = i };
    if ((rc = machines_make(w)) != PAWL_OK)
        return rc;
    if ((w->look = pawl_step_new(NULL)) == NULL || (w->look_specs = pawl_step_new(NULL)) == NULL || !store_begin(w, seed))
        return fail(&w->err, PAWL_NOMEM, "no memory to simulate");
    if ((rc = auditor_make(w)) != PAWL_OK)
        return rc;
    for (size_t i = 0; i < setup->neffects; i++)
        effect_register(w, setup->effects[i].name, strlen(setup->effects[i].name));
    for (uint32_t i = 0; i < w->m->neffects; i++)
        effect_register(w, w->m->effects[i].name, strlen(w->m->effects[i].name));
    for (unsigned k = 0; k < w->nmore; k++)
        for (uint32_t i = 0; i < w->more[k]->neffects; i++)
            effect_register(w, w->more[k]->effects[i].name, strlen(w->more[k]->effects[i].name));
    sim_runs_begin(w);
    if (setup->trouble == NULL)
        mix(w);
    w->durability = plain ? PAWL_DURABLE_SYNC : (pawl_durability)sim_below(w, 3);
    return w->err.code;
}

static void world_end(world *w)
{
    w->calm = true;             /* no fault while everything is freed */
    for (unsigned i = 0; i < w->nworkers; i++) {
        w->workers[i].dead = true;
        worker_stop(w, &w->workers[i]);
    }
    auditor_end(w);
    store_end(w);
    for (unsigned i = 0; i < w->nruns; i++)
        sim_run_free(w, &w->runs[i]);
    for (unsigned i = 0; i < w->neffects; i++)
        mem_free(&w->alloc, w->effects[i], strlen(w->effects[i]) + 1);
    mem_free(&w->alloc, w->late, w->late_cap * sizeof *w->late);
    mem_free(&w->alloc, w->stale, w->stale_cap * sizeof *w->stale);
    writes_free(w);
    pawl_step_free(w->look);
    pawl_step_free(w->look_specs);
    pawl_machine_free(w->m);
    for (unsigned i = 0; i < w->nmore; i++)
        pawl_machine_free(w->more[i]);
    buf_free(&w->trace);
}

/* ---- the two worlds ------------------------------------------------------------------------------------- */

/* How everything ends without faults. */
static pawl_code undisturbed(world *w, const pawl_sim_setup *setup, uint64_t seed, pawl_sim_report *report)
{
    pawl_code rc = world_begin(w, setup, seed, true, report);

    if (rc == PAWL_OK)
        calm_phase(w);
    if (w->report->oracle != NULL) {    /* a promise that is broken without faults is an error of the call, not a finding */
        pawl_err why = w->err;

        w->err = (pawl_err){ PAWL_OK, "" };
        fail(&w->err, PAWL_INVALID, "undisturbed, %s", why.text);
    }
    for (unsigned i = 0; i < w->nruns && w->err.code == PAWL_OK; i++) {
        const char *json = pawl_state_json(w->runs[i].st, w->look, &w->err);

        if (json == NULL)
            break;
        w->runs[i].status = (uint8_t)pawl_state_status(w->runs[i].st);
        w->runs[i].json_size = strlen(json) + 1;
        if ((w->runs[i].json = mem_grow(&w->alloc, NULL, 0, w->runs[i].json_size)) == NULL)
            return fail(&w->err, PAWL_NOMEM, "no memory to simulate");
        memcpy(w->runs[i].json, json, w->runs[i].json_size);
    }
    return w->err.code;
}

static pawl_code disturbed(world *w, world *plain, const pawl_sim_setup *setup, uint64_t seed, pawl_sim_report *report)
{
    pawl_code rc = world_begin(w, setup, seed, false, report);

    if (rc != PAWL_OK)
        return rc;
    for (unsigned i = 0; i < w->nruns && i < plain->nruns; i++) {
        w->runs[i].status = plain->runs[i].status;
        w->runs[i].json = plain->runs[i].json;
        w->runs[i].json_size = plain->runs[i].json_size;
        plain->runs[i].json = NULL;
    }
    trouble_phase(w);
    calm_phase(w);
    for (unsigned i = 0; i < w->nruns && !w->over; i++)
        sim_run_judge(w, &w->runs[i]);
    for (unsigned i = 0; i < w->nruns; i++)
        report->children += w->runs[i].child;
    report->took_ms = w->now - FIRST_MS;
    buf_char(&w->trace, '\0');
    if (!w->trace.failed && (report->trace = malloc(w->trace.size)) != NULL) {
        memcpy(report->trace, w->trace.data, w->trace.size);
        report->trace_size = w->trace.size - 1;
    }
    return w->err.code;
}

static pawl_code setup_check(const pawl_sim_setup *setup, pawl_err *err)
{
    if (setup == NULL || setup->machine == NULL)
        return fail(err, PAWL_INVALID, "a simulation needs a machine");
    if (setup->workers > SIM_WORKERS_MAX || setup->runs > SIM_RUNS_MAX || setup->neffects > SIM_EFFECTS_MAX)
        return fail(err, PAWL_INVALID, "a simulation has at most %d workers, %d runs and %d effects", (int)SIM_WORKERS_MAX, (int)SIM_RUNS_MAX,
                    (int)SIM_EFFECTS_MAX);
    for (size_t i = 0; i < setup->neffects; i++)
        if (!name_valid(setup->effects[i].name) || setup->effects[i].fn == NULL)
            return fail(err, PAWL_INVALID, "effect %zu of the simulation has no name, or no function", i);
    if (setup->otherwise != NULL && setup->otherwise->fn == NULL)
        return fail(err, PAWL_INVALID, "the effect of the simulation that stands for all others has no function");
    for (size_t i = 0; i < setup->nsignals; i++)
        if (setup->signals[i].name == NULL && setup->signals[i].value == NULL)
            return fail(err, PAWL_INVALID, "signal %zu of the simulation has no name, and is no update", i);
    if (setup->trouble != NULL && setup->trouble->lease_ms <= 0)
        return fail(err, PAWL_INVALID, "the workers of a simulation need a lease above 0 ms");
    return PAWL_OK;
}

pawl_code pawl_sim(const pawl_sim_setup *setup, uint64_t seed, pawl_sim_report *report, pawl_err *err)
{
    pawl_sim_report own, *r = report != NULL ? report : &own;
    pawl_alloc alloc = mem_or_default(NULL);
    world *worlds;
    pawl_code rc;

    *r = (pawl_sim_report){ .seed = seed };
    if ((rc = setup_check(setup, err)) != PAWL_OK)
        return rc;
    if ((worlds = mem_new(&alloc, 2 * sizeof *worlds)) == NULL)
        return fail(err, PAWL_NOMEM, "no memory to simulate");
    worlds[0].alloc = worlds[1].alloc = alloc;
    rc = undisturbed(&worlds[0], setup, seed, r);
    if (rc == PAWL_OK) {
        *r = (pawl_sim_report){ .seed = seed };
        rc = disturbed(&worlds[1], &worlds[0], setup, seed, r);
    }
    for (int i = 0; i < 2; i++) {
        if (worlds[i].err.code != PAWL_OK)
            fail(err, worlds[i].err.code, "%s", worlds[i].err.text);
        if (worlds[i].setup != NULL)
            world_end(&worlds[i]);
    }
    mem_free(&alloc, worlds, 2 * sizeof *worlds);
    if (report == NULL)
        pawl_sim_report_free(&own);
    return rc;
}

void pawl_sim_report_free(pawl_sim_report *report)
{
    if (report == NULL)
        return;
    free(report->trace);
    report->trace = NULL;
    report->trace_size = 0;
}

pawl_sim_trouble pawl_sim_trouble_default(void)
{
    return (pawl_sim_trouble){ .kill = 6, .power = 1, .restart = 50, .fail = 10, .unsure = 15, .delay = 15, .rival = 30, .refuse = 80, .lose = 80,
                               .late = 80, .slow = 80, .delay_ms = 1500, .late_ms = 2000, .slow_ms = 400, .lease_ms = 1000 };
}
