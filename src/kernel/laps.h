/* laps.h - the last calls of each graph with their results, as digests.
 *
 * Each frame keeps the last laps of its calls, in task order: a lap is a command and what it came to, both as digests. It
 * grows as a superstep is closed, so no order of arrival shows in it. A run without `no_progress` in its record has none.
 * The folds are called inside a transaction; loop_guard.c reads the laps as a node makes a call. */
#ifndef KERNEL_LAPS_H
#define KERNEL_LAPS_H

#include "json/json.h"
#include "kernel/cost.h"
#include "pawl/kernel.h"

struct call;
struct task;
struct frame;

enum {
    NO_PROGRESS_MAX = 100,      /* times in a row */
    CYCLE_MAX = 4,              /* calls in a cycle that is seen as one */
    LAP_BYTES = 16,             /* of a digest: there are some hundred at most */
    SAYS_BYTES = 128,           /* of a call as a person reads it */
    SAYS_NODE_BYTES = 65        /* of the name of its node */
};

typedef struct lap {
    unsigned char command[LAP_BYTES], result[LAP_BYTES];
    amounts cost;
    bool told;                  /* its result is known */
    bool beside;                /* the same command of its visit was open when it was made: that is no repetition */
    bool fresh;                 /* no call: a person said go on, and what was before counts no more */
    char says[SAYS_BYTES];      /* EFFECT(ARGUMENTS), cut */
    char node[SAYS_NODE_BYTES]; /* whose it is; "": of a run whose laps do not say */
} lap;

typedef struct laps { uint32_t n; lap of[]; } laps;     /* never changed once it is there */

/* The folds; none is asked where it is off. `c` is the call that comes next in the visit. */
pawl_code progress_call(pawl_state *st, const struct task *tk, struct call *c);
pawl_code progress_told(pawl_state *st, struct call *c, pawl_outcome outcome, const pawl_value *value, const pawl_value *more);
pawl_code progress_over(pawl_state *st, struct task *tk);      /* a visit is, before what is in it goes */
pawl_code progress_close(pawl_state *st, struct frame *f);
void laps_free(pawl_state *st, const laps *l);

/* Of a fold: [[PATH,LAPS]...] of the frames and of tasks that had visits before; a fork has the run's only. */
bool progress_any(const pawl_state *st, bool fork);
void progress_code(const pawl_state *st, buf *b, bool fork);
pawl_code progress_read(pawl_state *st, const pawl_value *v, pawl_err *err);
/* What an open superstep's receipt has to say again when it is folded from a snapshot. NULL: no memory. */
const pawl_value *progress_more(arena *a, const lap *l);

/* For the loop guard. The last laps, oldest first; `cap` of them are kept. */
typedef struct window { const lap **at; uint32_t n, cap; } window;
bool window_begin(const pawl_state *st, arena *a, window *w);   /* false: no memory */
void window_add(window *w, const lap *l);
void window_all(window *w, const laps *l);
bool command_same(const lap *a, const lap *b);
bool lap_same(const lap *a, const lap *b);      /* and its result */
/* The lap of the command with this SPEC. *counts: it is a call that does something, or may. */
pawl_code lap_of(pawl_state *st, arena *a, const struct task *tk, const char *text, size_t size, lap *l, bool *counts);
bool guard_asks(arena *a, const struct call *c);   /* whether it is the wait of a loop guard */
void digest_hex(const unsigned char digest[LAP_BYTES], char out[HASH_HEX + 1]);
const pawl_value *cost_value(arena *a, const amounts *c);

#endif
