/* reference.h - what a random graph comes to, said as plainly as can be.
 *
 * Knows nothing of Pawl: no journal, no crash, no order of arrival. It runs tasks one after another, the world answers at
 * once, and every superstep is written down. Where it and the kernel differ, one of them is wrong. */
#ifndef TEST_SIM_REFERENCE_H
#define TEST_SIM_REFERENCE_H

#include "sim/generate.h"

typedef struct ref_note { char *key, *text; } ref_note;

typedef struct ref_run {
    /* Each superstep as it stood ready: its tasks in order with their arguments, and the channels. The key of the run's
     * own is its number: "3"; of a subgraph's "3:PATH/VISIT/NUMBER". */
    ref_note *notes;
    size_t count, cap;
    unsigned long supersteps;   /* the run's own */
    const char *status;         /* "completed", "failed", "rejected" */
    const char *code;           /* why: "invalid", "limit", "transient", "effect", "denied"; "" when completed */
    char *channels;             /* at the end: canonical text of one object */
    void **pool;                /* all memory */
    size_t pooled, pool_cap;
} ref_run;

/* `told` in the order in which it was. */
ref_run *ref_play(const sim_graph *g, const sim_told *told, size_t n);
const char *ref_note_of(const ref_run *r, const char *key); /* NULL: there was none such */
void ref_free(ref_run *r);

#endif
