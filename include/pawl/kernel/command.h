/* command.h - the open commands and waits of a run. Included by pawl/kernel.h. */
#ifndef PAWL_KERNEL_COMMAND_H
#define PAWL_KERNEL_COMMAND_H

#include "pawl/kernel/run.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pawl_retry {       /* E7; delay before attempt n+1 = min(initial * factor^(n-1), max) */
    uint32_t max_attempts;        /* the total number of calls; 0: as 1 */
    uint32_t initial_ms, max_ms;
    double factor;                /* 0: as 2 */
    bool jitter;                  /* full: uniform in [0, delay] */
} pawl_retry;

typedef struct pawl_limits {      /* what stands in a command's record (E5, E8) */
    pawl_class cls;
    pawl_retry retry;
    uint32_t attempt_timeout_ms, total_timeout_ms, heartbeat_ms; /* 0: none */
    const char *inverse;          /* of compensable ones: the effect that undoes it, told {"args","id","receipt"}; NULL: none.
                                   * A receipt null is of what was given up: it may have happened, or not */
    const char *on_unknown;       /* of those of class once and compensable: the effect that finds out what came of it, told
                                     {"args","effect","id","known"}; it replies {"done":V}, {"failed":TEXT} or "again", as a
                                     person would answer who is asked when it cannot, or when this is NULL */
    pawl_cost cost;               /* what a call reserves of a budget. calls 0: as many as it may have attempts; of class pure: none */
} pawl_limits;

typedef struct pawl_command {
    const char *id;               /* essay-1~9f3a.../2.review.1.0: the same on every replay */
    pawl_command_kind kind;
    const char *effect;           /* which handler: "llm", ...; of a spawn the machine; NULL for a sleep */
    const pawl_value *args;       /* every reference resolved but secrets; NULL for a sleep */
    int64_t due_ms;               /* of a sleep */
    pawl_limits limits;
    uint32_t cleared;             /* attempts that are known not to have happened: a person answered "again" */
    pawl_caps share;              /* of a spawn: the child's budget, */
    const char *child;            /* and its name, where one was said; else NULL */
} pawl_command;

typedef struct pawl_wait {        /* W1 */
    const char *id;
    const char *slot;             /* unique among the open ones */
    const char *node;             /* who asks; "" when the machine itself does */
    pawl_wait_kind kind;
    const pawl_value *prompt, *schema, *options; /* NULL when there is none; options as in pawl_question */
    const char *asked_of;         /* NULL: anyone */
    int64_t asked_ms, expires_ms; /* 0: no deadline */
    const pawl_value *otherwise;  /* what it resolves to at its deadline; NULL: it stays open */
    const pawl_value *about;      /* what the answer is bound to, as the asking code gave it; NULL: nothing */
} pawl_wait;

PAWL_API size_t pawl_state_commands(const pawl_state *st);
PAWL_API size_t pawl_state_waits(const pawl_state *st);
/* The `index`-th open one, in task order; what it points to lives in `step` until it is used again.
 * A secret stands in args as null, and `secret` (may be NULL) gets the references still to be put in: an array of
 * [path, spec], or NULL when there are none. */
PAWL_API PAWL_MUST_USE pawl_code pawl_state_command(pawl_state *st, size_t index, pawl_step *step,
                                                    pawl_command *out, const pawl_value **secrets, pawl_err *err);
PAWL_API PAWL_MUST_USE pawl_code pawl_state_wait(pawl_state *st, size_t index, pawl_step *step, pawl_wait *out, pawl_err *err);

#ifdef __cplusplus
}
#endif
#endif
