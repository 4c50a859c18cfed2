/* trials.h - setups for the simulator: machines of every kind, with their inputs and effects. */
#ifndef TEST_LIB_TRIALS_H
#define TEST_LIB_TRIALS_H

#include "pawl/graph.h"
#include "pawl/sim.h"

typedef struct trial {
    const char *name;
    pawl_sim_setup setup;
} trial;

enum { TRIALS_MORE = 10, TRIALS = 12 + TRIALS_MORE };
extern const trial trials_more[TRIALS_MORE];     /* trials_more.c */
/* For trials.c and trials_more.c. A node that calls the effect that `arg` names, and writes the result or fails with it. The effect "refused" always fails. */
pawl_node_fn trial_call, trial_must;
extern const pawl_sim_effect trial_refusals[1];
const trial *trial_at(unsigned index);
/* Simulates seed n with trial n % TRIALS. */
pawl_code trial_run(uint64_t seed, pawl_sim_report *report, pawl_err *err);
/* Gates that two of two sign; what somebody else signed in their names comes as well, and before (P11). */
pawl_code trial_signed(uint64_t seed, pawl_sim_report *report, pawl_err *err);
pawl_code trial_crowd(uint64_t seed, pawl_sim_report *report, pawl_err *err);     /* a separate setup: many long runs */

#endif
