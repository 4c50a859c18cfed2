/* agents.h - inside the simulation of agents: answers of models, tools, hooks and people, and the rules that are checked. */
#ifndef SIM_AGENTS_H
#define SIM_AGENTS_H

#include "agent/agent.h"
#include "sim/sim.h"

enum { AGENT_SIGNALS_MAX = 8 };

typedef struct marks { uint64_t *all; size_t n, cap; } marks;       /* a set of digests */

typedef struct agents {
    const pawl_sim_setup *given;
    uint64_t seed;
    pawl_alloc alloc;
    arena mem;                  /* for one check; reset before each */
    pawl_step *step;            /* for reading commands */
    const pawl_agent *known[SIM_MACHINES_MAX + 1];      /* the machines that are agents */
    const char *names[SIM_MACHINES_MAX + 1];            /* their names */
    pawl_machine *machines[SIM_MACHINES_MAX + 1];       /* owned for `known` */
    unsigned nknown;
    bool root;                  /* the run that starts from outside is an agent */
    bool same_ids;              /* its models give the first call of every answer the same id */
    char signal_text[AGENT_SIGNALS_MAX][48];
    pawl_sim_signal signals[AGENT_SIGNALS_MAX];
    pawl_caps budget;
    buf said;                   /* the last answer of a person */
    marks yes;                  /* digests of calls that a person approves, and of those that he changes */
    marks seen;                 /* calls that were checked when they started */
    marks asked;                /* requests to models, each once */
    uint64_t requests[SIM_RUNS_MAX];        /* the number of requests of each top-level run, with its children */
    pawl_sim_report *report;
    bool no_memory;
} agents;

/* ---- agents.c ---------------------------------------------------------------------------------------- */

rng rng_of(const agents *a, const char *what, const pawl_value *v);    /* the same for the same value */
uint64_t mark_of(const char *kind, const char *text, const pawl_value *v);
bool mark_is(const marks *m, uint64_t one);
void mark_set(agents *a, marks *m, uint64_t one);
const pawl_agent *agent_named(const agents *a, const char *machine);        /* NULL: not an agent */
const pawl_agent_tool *agent_tool(const pawl_agent *is, const char *name);  /* NULL: no such tool */

/* ---- model.c --------------------------------------------------------------------------------------------- */

pawl_handler_fn agents_act;     /* the handler of all effects of agents; its argument is the agents */

/* ---- rules.c --------------------------------------------------------------------------------------------- */

bool agents_performed(void *ctx, const pawl_job *job, const char **oracle, pawl_err *err);
bool agents_stored(void *ctx, pawl_state *st, const pawl_entry *entry, const char **oracle, pawl_err *err);

#endif
