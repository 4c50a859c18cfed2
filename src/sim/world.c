/* world.c - random choices, the trace, failures of oracles, and look-up of runs, machines and effects.
 *
 * Owns the trace and the list of effects. Called by all files of the simulator, on the thread of pawl_sim. After the first failure every worker is dead
 * and no further failure is recorded. */
#include "kernel/names.h"
#include "sim/sim.h"

#include <assert.h>
#include <string.h>

/* ---- chance ------------------------------------------------------------------------------------- */

uint64_t rng_draw(rng *c)
{
    uint64_t z = c->at += UINT64_C(0x9E3779B97F4A7C15);

    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

uint64_t rng_below(rng *c, uint64_t n) { return n == 0 ? 0 : rng_draw(c) % n; }

uint64_t sim_draw(world *w) { return rng_draw(&w->rand); }
uint64_t sim_below(world *w, uint64_t n) { return n == 0 ? 0 : sim_draw(w) % n; }

bool sim_happens(world *w, unsigned of_thousand)
{
    return !w->calm && of_thousand > 0 && sim_below(w, 1000) < of_thousand;
}

/* ---- telling -------------------------------------------------------------------------------------- */

void trace_line(world *w, const worker *k, const char *fmt, ...)
{
    va_list args;

    if (w->plain || w->trace.size > SIM_TRACE_BYTES_MAX)
        return;
    buf_int(&w->trace, w->now);
    buf_char(&w->trace, ' ');
    buf_text(&w->trace, k != NULL ? k->name : "-");
    buf_char(&w->trace, ' ');
    va_start(args, fmt);
    buf_fmtv(&w->trace, fmt, args);
    va_end(args);
    buf_char(&w->trace, '\n');
}

static void name_keep(char *to, size_t size, const char *name)
{
    size_t n = strlen(name);

    n = n < size ? n : size - 1;
    memcpy(to, name, n);
    to[n] = '\0';
}

static void all_stop(world *w)
{
    w->over = true;
    for (unsigned i = 0; i < w->nworkers; i++)
        w->workers[i].dead = true;
}

static void failure(world *w, const char *name, const sim_run *y, const char *id, const char *fmt, va_list args)
{
    pawl_err why = { PAWL_OK, "" };

    failv(&why, PAWL_CORRUPT, fmt, args);
    if (!w->over && w->report->oracle == NULL) {
        w->report->oracle = name;
        name_keep(w->report->run, sizeof w->report->run, y != NULL ? y->id : "");
        name_keep(w->report->command, sizeof w->report->command, id != NULL ? id : "");
        trace_line(w, NULL, "%s: %s", name, why.text);
        fail(&w->err, PAWL_CORRUPT, "seed %llu: %s: %s", (unsigned long long)w->report->seed, name, why.text);
    }
    all_stop(w);
}

void oracle_failed(world *w, const char *name, const sim_run *y, const char *id, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    failure(w, name, y, id, fmt, args);
    va_end(args);
}

#define X(name, number, what) { number, what },
static const struct { const char *number, *what; } promises[] = { PROMISES(X) };
#undef X
static_assert((int)PROMISE_COUNT <= (int)PAWL_SIM_PROMISES_MAX, "a report counts each promise");

bool sim_holds(world *w, sim_promise p, bool holds, const sim_run *y, const char *id, const char *fmt, ...)
{
    va_list args;

    w->report->checked[p]++;
    if (holds)
        return true;
    va_start(args, fmt);
    failure(w, promises[p].number, y, id, fmt, args);
    va_end(args);
    return false;
}

const char *pawl_sim_promise(unsigned index, const char **what)
{
    if (index >= PROMISE_COUNT)
        return NULL;
    if (what != NULL)
        *what = promises[index].what;
    return promises[index].number;
}

void sim_nomem(world *w)
{
    fail(&w->err, PAWL_NOMEM, "seed %llu: no memory to simulate", (unsigned long long)w->report->seed);
    all_stop(w);
}

/* ---- its runs and machines ---------------------------------------------------------------------- */

sim_run *sim_run_find(world *w, const char *run)
{
    for (unsigned i = 0; i < w->nruns && run != NULL; i++)
        if (strcmp(w->runs[i].id, run) == 0)
            return &w->runs[i];
    return NULL;
}

pawl_machine *machine_of(world *w, const char *name)
{
    for (unsigned i = 0; i < w->nmore; i++)
        if (strcmp(pawl_machine_name(w->more[i]), name) == 0)
            return w->more[i];
    return w->m;
}

/* ---- commands ---------------------------------------------------------------------------------------- */

sim_command *command_find(world *w, sim_run *y, const char *id, bool make)
{
    uint32_t h = name_hash(id);
    size_t n = strlen(id) + 1;
    sim_command *d;

    for (d = y->commands; d != NULL; d = d->next)
        if (d->hash == h && strcmp(d->id, id) == 0)
            return d;
    if (!make)
        return NULL;
    if ((d = mem_new(&w->alloc, sizeof *d + n)) == NULL) {
        sim_nomem(w);
        return NULL;
    }
    memcpy(d->id, id, n);
    d->hash = h;
    d->next = y->commands;
    y->commands = d;
    return d;
}

sim_command *command_local(world *w, sim_run *y, const char *id)
{
    sim_command *d = NULL;
    buf b;

    buf_init(&b, &w->alloc);
    buf_fmt(&b, "%s~%016llx/%s", y->id, (unsigned long long)pawl_state_life(y->st), id);
    buf_char(&b, '\0');
    if (b.failed)
        sim_nomem(w);
    else
        d = command_find(w, y, b.data, false);
    buf_free(&b);
    return d;
}

/* ---- effects ------------------------------------------------------------------------------------- */

void handler_give(world *w, worker *k, const char *name)
{
    pawl_class cls = PAWL_CLASS_AT_LEAST_ONCE;
    bool declared = pawl_machine_effect(w->m, name, &cls);

    for (unsigned i = 0; i < w->nmore && !declared; i++)
        declared = pawl_machine_effect(w->more[i], name, &cls);
    if (!declared)
        cls = PAWL_CLASS_AT_LEAST_ONCE;
    if (pawl_engine_effect(k->e, name, w->handler, k, cls, &w->err) != PAWL_OK)
        sim_nomem(w);
}

void effect_register(world *w, const char *name, size_t size)
{
    char *copy;

    for (unsigned i = 0; i < w->neffects; i++)
        if (strlen(w->effects[i]) == size && memcmp(w->effects[i], name, size) == 0)
            return;
    if (w->neffects == SIM_EFFECTS_MAX)
        return;                 /* nobody performs it: the run is stuck, which is reported */
    if ((copy = mem_new(&w->alloc, size + 1)) == NULL) {
        sim_nomem(w);
        return;
    }
    memcpy(copy, name, size);
    w->effects[w->neffects++] = copy;
    for (unsigned i = 0; i < w->nworkers; i++)
        if (w->workers[i].e != NULL && w->workers[i].e->m != NULL)  /* it is not being closed */
            handler_give(w, &w->workers[i], copy);
}
