/* command.h - the open commands and waits of a run: how to list them, and what each contains. Included by pawl/kernel.h. */
#ifndef PAWL_KERNEL_COMMAND_H
#define PAWL_KERNEL_COMMAND_H

#include "pawl/kernel/run.h"
#include "pawl/sign.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pawl_retry {       /* how often a failed command is tried (E7). The delay before attempt n+1 is min(initial_ms * factor^(n-1), max_ms) */
    uint32_t max_attempts;        /* with the first one; 0: as 1, no retry */
    uint32_t initial_ms, max_ms;  /* max_ms 0: one day */
    double factor;                /* 0: as 2 */
    bool jitter;                  /* the delay is drawn uniformly from [0, delay] */
} pawl_retry;

typedef struct pawl_limits {      /* of an effect; stored with each of its commands (E5, E8) */
    pawl_class cls;
    pawl_retry retry;
    uint32_t attempt_timeout_ms, total_timeout_ms, heartbeat_ms; /* of one attempt; of all of them; between two heartbeats of a handler. 0: no limit.
                                   * When a command ends by them: pawl_engine_threads */
    const char *inverse;          /* of class compensable: the effect that undoes it; its arguments are {"args","id","receipt"} of the command. A receipt
                                   * of null: the command was given up, and may have happened or not. NULL: none */
    const char *on_unknown;       /* of classes once and compensable: the effect that finds out the unknown outcome of a command. Its arguments are
                                   * {"args","effect","id","known"}; it replies {"done":RESULT}, {"failed":TEXT} or "again" (it has not happened:
                                   * perform it). When it fails, or with NULL, a person is asked, and answers one of these */
    pawl_cost cost;               /* the most that a call may cost: what it reserves of a budget (A8). calls 0: as many as max_attempts; of class pure: none */
} pawl_limits;

typedef struct pawl_command {
    const char *id;               /* the invocation id, "essay-1~9f3a.../2.review.1.0": the same in every replay */
    pawl_command_kind kind;
    const char *effect;           /* the name of the effect ("llm"); of a spawn, that of the machine; of a sleep NULL */
    const pawl_value *args;       /* with the values of all references, but for secrets, which are null; of a sleep NULL */
    int64_t due_ms;               /* of a sleep: when it is over, ms since 1970 */
    pawl_limits limits;
    uint32_t cleared;             /* how many attempts are known not to have happened: a person or on_unknown answered "again" */
    pawl_caps share;              /* of a spawn: the budget of the child */
    const char *child;            /* of a spawn: the name of pawl_flow_child; NULL: none was given */
} pawl_command;

typedef struct pawl_wait {        /* an open wait (W1); NULL: the wait has none */
    const char *id;               /* its invocation id */
    const char *slot;             /* a short name, unique among the open waits of the run */
    const char *node;             /* the node that waits; "": the machine itself */
    pawl_wait_kind kind;
    const pawl_value *prompt, *schema, *options; /* as in pawl_question (node.h), as is all that follows */
    const char *asked_of;         /* NULL: anyone may answer */
    int64_t asked_ms, expires_ms; /* ms since 1970; expires_ms 0: no deadline */
    const pawl_value *otherwise;  /* its answer when the deadline passes; NULL: it stays open */
    const pawl_value *about;      /* what it asks about, for readers and for the digest of an approval (W6) */
    const pawl_value *approvers;  /* of those whose signatures count, as in pawl_question; NULL: it takes an answer that nobody signs */
    const pawl_value *element;    /* what a send gave to its task: {NAME: VALUE} of a fan-out; NULL: nothing */
    const pawl_value *signed_by;  /* [{"more","value"}...]: the signed answers that came so far, "value" with name, key and time; NULL: none */
} pawl_wait;

/* How many commands, and how many waits, are open. */
PAWL_API size_t pawl_state_commands(const pawl_state *st);
PAWL_API size_t pawl_state_waits(const pawl_state *st);
/* Sets *out to the open command, or the open wait, of number `index` in task order. What *out points to is owned by `step`, and valid until `step` is used
 * again. A command with secrets has null in their places of args, and *secrets (may be NULL) is an array of [JSON POINTER, "env:NAME"...], one for each
 * secret that the caller must put in; NULL: there are none. PAWL_INVALID: no such index; PAWL_IO and others: a value could not be loaded; PAWL_NOMEM. */
PAWL_API PAWL_MUST_USE pawl_code pawl_state_command(pawl_state *st, size_t index, pawl_step *step,
                                                    pawl_command *out, const pawl_value **secrets, pawl_err *err);
PAWL_API PAWL_MUST_USE pawl_code pawl_state_wait(pawl_state *st, size_t index, pawl_step *step, pawl_wait *out, pawl_err *err);
/* Signs an answer to a wait that names approvers. Returns the `value` of its PAWL_EV_ANSWER, or of pawl_answer; update and note of the event are signed,
 * too, and must be these. `answer`: true, false, or {"approve":BOOL} with "input" and "note" as the schema allows. `name`: whose key it is, among the
 * approvers; `seed`: its secret. Lent until `step`, which is another one than that of the wait, is used again. NULL: see err; PAWL_INVALID, PAWL_NOMEM. */
PAWL_API const char *pawl_wait_sign(const pawl_wait *w, const char *answer, const char *update, const char *note, const char *name,
                                    const uint8_t seed[PAWL_SEED_BYTES], int64_t time_ms, pawl_step *step, pawl_err *err);

#ifdef __cplusplus
}
#endif
#endif
