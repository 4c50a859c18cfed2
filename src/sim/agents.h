/* agents.h - inside the simulation of agents: what models, tools, hooks and people say, and what is held against it. */
#ifndef SIM_AGENTS_H
#define SIM_AGENTS_H

#include "agent/agent.h"
#include "sim/sim.h"

enum { AGENT_SIGNALS_MAX = 8 };

typedef struct marks { uint64_t *all; size_t n, cap; } marks;       /* a set of what has a name */

typedef struct agents {
    const pawl_sim_setup *given;
    uint64_t seed;
    pawl_alloc alloc;
    arena mem;                  /* of one look; begun anew with each */
    pawl_step *step;            /* commands are looked at by it */
    const pawl_agent *known[SIM_MACHINES_MAX + 1];      /* of the machines that are agents; */
    const char *names[SIM_MACHINES_MAX + 1];            /* what they are called */
    pawl_machine *machines[SIM_MACHINES_MAX + 1];       /* kept for that */
    unsigned nknown;
    bool root;                  /* what begins from outside is one */
    bool same_ids;              /* its models call every first call of an answer the same */
    char signal_text[AGENT_SIGNALS_MAX][48];
    pawl_sim_signal signals[AGENT_SIGNALS_MAX];
    pawl_caps budget;
    buf said;                   /* what a person has answered last */
    marks yes;                  /* calls that a person lets in, by their digests; and those that he would change */
    marks seen;                 /* calls that were looked at when they began */
    marks asked;                /* requests to models, once each; */
    uint64_t requests[SIM_RUNS_MAX];        /* and of each run that is begun from outside, with its children */
    pawl_sim_report *report;
    bool no_memory;
} agents;

/* ---- agents.c ---------------------------------------------------------------------------------------- */

rng rng_of(const agents *a, const char *what, const pawl_value *v);    /* the same for the same */
uint64_t mark_of(const char *kind, const char *text, const pawl_value *v);
bool mark_is(const marks *m, uint64_t one);
void mark_set(agents *a, marks *m, uint64_t one);
const pawl_agent *agent_named(const agents *a, const char *machine);        /* NULL: no agent */
const pawl_agent_tool *agent_tool(const pawl_agent *is, const char *name);  /* NULL: it has none */

/* ---- model.c --------------------------------------------------------------------------------------------- */

pawl_handler_fn agents_act;     /* performs whatever an agent asks for; its argument is the agents */

/* ---- rules.c --------------------------------------------------------------------------------------------- */

bool agents_performed(void *ctx, const pawl_job *job, const char **oracle, pawl_err *err);
bool agents_stored(void *ctx, pawl_state *st, const pawl_entry *entry, const char **oracle, pawl_err *err);

#endif
