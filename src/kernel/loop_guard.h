/* loop_guard.h - the same call with the same result again: before it leaves once more, somebody is asked.
 *
 * Each frame keeps the last laps of its calls, in task order: a lap is a command and what it came to, both as digests. It
 * grows as a superstep is closed, so no order of arrival shows in it. A run without `no_progress` in its record has none. */
#ifndef KERNEL_PROGRESS_H
#define KERNEL_PROGRESS_H

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

/* Asked before the call of this SPEC is made. PAWL_INTERRUPTED: a wait stands in its place; PAWL_DENIED: told; PAWL_OK: it may be made. */
pawl_code progress_asks(pawl_step *s, const char *spec, size_t size);
/* The number of a command as its node counts them: these waits are none of its own. */
uint32_t progress_counted(pawl_step *s, uint32_t n);
bool progress_wait(pawl_step *s, const struct call *c);        /* whether it is such a wait */

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

#endif
