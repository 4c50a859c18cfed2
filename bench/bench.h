/* bench.h - what a figure is, and the small tools with which one is measured.
 *
 * A figure is measured in rounds. Each round measures the thing itself and, in turns with it, something plain
 * beside it: the machine that runs this may be busy, so the ratio of the two says more than either. What is
 * told of all rounds is the median. */
#ifndef BENCH_H
#define BENCH_H

#include "pawl/pawl.h"

#include <stddef.h>
#include <stdint.h>

typedef struct reading {
    double value, base;         /* of the thing, and of what it is measured against; same unit */
} reading;

/* One round. False: it could not be measured, and that was told on stderr. */
typedef bool figure_fn(reading *out);

typedef struct figure {
    const char *name, *unit;
    const char *against;        /* what `base` is */
    double target;
    bool floor;                 /* the value should be at least the target; else at most */
    int rounds;
    figure_fn *measure;
} figure;

extern const figure memory_figures[], size_figures[], journal_figures[]; /* the last one has no name */

/* tools.c */
double bench_ns(void);                  /* the clock */
bool bench_wrong(const char *what, const pawl_err *err); /* told on stderr; false */
double bench_malloc_ns(size_t calls);   /* of one call through a pointer, with a malloc and a free */
size_t bench_resident(void);            /* bytes of this process in memory */

/* One run, driven by hand. */
typedef struct run {
    const pawl_machine *m;
    pawl_state *st;
    pawl_step *step;
    pawl_code rc;               /* of the last feed */
    char *journal;              /* what was added to it, when it is kept */
    size_t journal_size, journal_cap;
    bool keep;
} run;

pawl_machine *bench_compile(pawl_graph *g);     /* NULL: told */
bool run_begin(run *r, const pawl_machine *m, unsigned flags, pawl_step *step, const pawl_alloc *alloc);
bool run_feed(run *r, const pawl_event *ev);    /* and apply */
bool run_tick(run *r);
bool run_to_end(run *r);                        /* ticks until it is over */
void run_end(run *r);                           /* the step stays */

/* nodes that several figures use */
pawl_code node_count(pawl_step *s, void *arg);  /* adds 1 to the channel "count" */
pawl_machine *bench_chain(size_t nodes);        /* n0 -> n1 -> ... -> @end, each of them node_count */

#endif
