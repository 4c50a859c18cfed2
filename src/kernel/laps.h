/* laps.h - the history of calls that the loop guard compares: the digest of each command and of its result.
 *
 * Each frame keeps the last laps of its calls in task order; the close of a superstep appends them, so the order of arrival has no
 * influence. A run without `no_progress` in its base keeps none. The folds are called inside a transaction; loop_guard.c reads the laps when
 * a node makes a call. Invariant: a `laps` block never changes once it is linked. */
#ifndef KERNEL_LAPS_H
#define KERNEL_LAPS_H

#include "json/json.h"
#include "kernel/cost.h"
#include "pawl/kernel.h"

struct call;
struct task;
struct frame;

enum {
    NO_PROGRESS_MAX = 100,      /* repetitions */
    CYCLE_MAX = 4,              /* calls of the longest cycle that the guard recognizes */
    LAP_BYTES = 16,             /* of a truncated digest: enough, since at most a few hundred are compared */
    SAYS_BYTES = 128,           /* of the text of a call for the question */
    SAYS_NODE_BYTES = 65        /* of the name of its node with NUL */
};

typedef struct lap {
    unsigned char command[LAP_BYTES], result[LAP_BYTES];
    amounts cost;
    bool done;                  /* the result is known */
    bool beside;                /* the same command of this visit was open when this one was made: calls side by side are no repetition */
    bool fresh;                 /* not a call: a person said "go on", so earlier laps do not count any more */
    char says[SAYS_BYTES];      /* EFFECT(ARGUMENTS), truncated */
    char node[SAYS_NODE_BYTES]; /* the node that made the call; "": an older run, which does not store it */
} lap;

typedef struct laps { uint32_t n; lap of[]; } laps;     /* immutable once it is linked */

/* The folds; called only when st->no_progress > 0. `c` is the newest call of the visit. */
pawl_code progress_call(pawl_state *st, const struct task *tk, struct call *c);
pawl_code progress_receipt(pawl_state *st, struct call *c, pawl_outcome outcome, const pawl_value *value, const pawl_value *more);
pawl_code progress_visit_end(pawl_state *st, struct task *tk);      /* at the end of a visit, before its calls are freed: appends their laps to the task */
pawl_code progress_close(pawl_state *st, struct frame *f);
void laps_free(pawl_state *st, const laps *l);

/* In a stored state: [[PATH,LAPS]...] of the frames, and of tasks with earlier visits; a fork stores those of the run only. */
bool progress_any(const pawl_state *st, bool fork);
void progress_code(const pawl_state *st, buf *b, bool fork);
pawl_code progress_read(pawl_state *st, const pawl_value *v, pawl_err *err);
/* The members of a receipt that a snapshot must repeat, so that the fold makes the same lap again. NULL: no memory. */
const pawl_value *progress_more(arena *a, const lap *l);

/* For the loop guard: the last `cap` laps, oldest first. */
typedef struct window { const lap **at; uint32_t n, cap; } window;
bool window_begin(const pawl_state *st, arena *a, window *w);   /* false: no memory */
void window_add(window *w, const lap *l);
void window_all(window *w, const laps *l);
bool command_same(const lap *a, const lap *b);
bool lap_same(const lap *a, const lap *b);      /* the same command with the same result */
/* The lap of the command with this SPEC. *counts: the guard counts the command; false for pure ones and for unknown arguments. */
pawl_code lap_of(pawl_state *st, arena *a, const struct task *tk, const char *text, size_t size, lap *l, bool *counts);
bool loop_guard_asked(arena *a, const struct call *c);   /* whether the call is a question of the loop guard */
void digest_hex(const unsigned char digest[LAP_BYTES], char out[HASH_HEX + 1]);
const pawl_value *cost_value(arena *a, const amounts *c);

#endif
