/* trials.h - machines of every kind, ready to be simulated. */
#ifndef TEST_LIB_TRIALS_H
#define TEST_LIB_TRIALS_H

#include "pawl/sim.h"

typedef struct trial {
    const char *name;
    pawl_sim_setup setup;
} trial;

enum { TRIALS_MORE = 10, TRIALS = 12 + TRIALS_MORE };
extern const trial trials_more[TRIALS_MORE];     /* trials_more.c */
const trial *trial_at(unsigned index);
/* Seed n belongs to trial n modulo TRIALS. */
pawl_code trial_run(uint64_t seed, pawl_sim_report *report, pawl_err *err);

#endif
