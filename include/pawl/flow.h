/* flow.h - three more ways to write a machine: a reducer, a step table, linear steps (F1).
 *
 * All three are journaled, resumed, forked and verified in the same way. Choose the one that reads best:
 *   reducer    one function from (state, event) to a step; no code runs twice
 *   steps      named functions that pass a payload on; each may call and ask inline
 *   linear     one function, top to bottom; its calls are known by their position */
#ifndef PAWL_FLOW_H
#define PAWL_FLOW_H

#include "pawl/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PAWL_FLOW_COMMANDS_MAX = 1000 };       /* of a reducer for one event; more fail the run with PAWL_LIMIT */

/* ---- reducer --------------------------------------------------------------------------------- */

/* What the reducer receives. A receipt has the tag of its command. */
typedef struct pawl_input_event {
    pawl_event_kind kind;       /* START, RECEIPT, TIMER, SIGNAL, ANSWER, UPDATE, REOPEN */
    const char *tag;            /* of the command or the wait; the signal's name ("input" for input that no wait asked for); else NULL */
    pawl_outcome outcome;       /* of a receipt */
    const pawl_value *value;    /* may be NULL; of a signal or a timer that brings none: null */
    int64_t time_ms;
} pawl_input_event;

/* Pure. Reads with pawl_get, writes with pawl_set (kept at once), pawl_flow_call and the like for commands. Returns
 * PAWL_OK, PAWL_IGNORED (nothing is kept), what pawl_flow_complete or pawl_flow_reject return, or below 0: the run fails. */
typedef pawl_code pawl_reducer_fn(pawl_step *s, const pawl_input_event *h, void *arg);

PAWL_API PAWL_MUST_USE pawl_machine *pawl_flow_reducer(const char *name, uint32_t version, const pawl_channel *channels, size_t n,
                                                       pawl_reducer_fn *fn, void *arg, const pawl_alloc *alloc, pawl_err *err);
/* Commands of a reducer: performed once the entry is stored; their receipts come back as input events with `tag`. */
PAWL_API void pawl_flow_call(pawl_step *s, const char *tag, const char *effect, const pawl_value *args);
/* The same with what it may cost at most (A8); NULL: as its effect declares. PAWL_LIMIT: there is no budget for it, and it is not made; with
 * pawl_flow_call the run fails then. PAWL_INVALID: the call is wrong; the step keeps the fault, and the run fails with it. */
PAWL_API PAWL_MUST_USE pawl_code pawl_flow_call_with(pawl_step *s, const char *tag, const char *effect, const pawl_value *args,
                                                     const pawl_cost *cost);
PAWL_API void pawl_flow_sleep(pawl_step *s, const char *tag, int64_t ms);
typedef struct pawl_flow_child {
    /* its run is RUN.sub-NAME, characters that no id has as '-', or where that is too long RUN.DIGITS made of both; NULL: made of its invocation */
    const char *name;
    const pawl_caps *share;     /* as with pawl_spawn_with */
} pawl_flow_child;
/* A child run of `machine` (E11); `child` may be NULL. PAWL_LIMIT and PAWL_INVALID as with pawl_flow_call_with. */
PAWL_API PAWL_MUST_USE pawl_code pawl_flow_spawn(pawl_step *s, const char *tag, const char *machine, const pawl_value *input,
                                                 const pawl_flow_child *child);
/* Cancels all open commands and waits with `tag`, except those that this event made: a running handler is stopped, a child run is canceled, and later
 * results are ignored. */
PAWL_API void pawl_flow_drop(pawl_step *s, const char *tag);
/* The slot of the wait is that of `q`, else `tag`; if a wait with that slot is open, a number is added: "rate.2". */
PAWL_API void pawl_flow_ask(pawl_step *s, const char *tag, const pawl_question *q);
/* Ends the run, and cancels everything that is open. */
PAWL_API pawl_code pawl_flow_complete(pawl_step *s);
PAWL_API pawl_code pawl_flow_reject(pawl_step *s, const char *reason);

/* ---- step table ---------------------------------------------------------------------------------- */

/* `payload` is what the step before passed on; on the first call (F2) the first value of the channel "payload", if one is
 * declared, else NULL. `input`, of a step that takes input or resumes: the member "input" of the start event's value, or
 * the answer; else NULL. */
typedef pawl_code pawl_flow_step_fn(pawl_step *s, const pawl_value *payload, const pawl_value *input, void *arg);

typedef struct pawl_flow_step {
    const char *name;
    pawl_flow_step_fn *fn;
    bool start;                 /* exactly one step has it */
    bool takes_input;
    const char *resumes_from;   /* the step whose pawl_flow_await this one takes up; NULL: none */
} pawl_flow_step;

/* The payload is kept in the channel "payload". Further channels may be declared. */
PAWL_API PAWL_MUST_USE pawl_machine *pawl_flow_steps(const char *name, uint32_t version, const pawl_flow_step *steps, size_t n,
                                                     const pawl_channel *channels, size_t channel_count, void *arg,
                                                     const pawl_alloc *alloc, pawl_err *err);
/* Continues at `step` with `payload`; NULL: with the stored one. PAWL_END ends the flow, as pawl_flow_complete does. */
PAWL_API pawl_code pawl_flow_goto(pawl_step *s, const char *step, const pawl_value *payload);
/* Waits for input in `slot`; the step that resumes from this one continues with `payload` and the answer. */
PAWL_API pawl_code pawl_flow_await(pawl_step *s, const char *slot, const pawl_value *prompt, const pawl_value *payload);
/* The same with all of a question (pawl/kernel/node.h; lent for the call, NULL: an empty one): the answer must match its schema or be one of its options.
 * Any other answer is refused with one line, and the wait stays open (W3). Its kind is input (0) or a question; PAWL_INVALID: another kind. */
PAWL_API pawl_code pawl_flow_await_with(pawl_step *s, const pawl_question *q, const pawl_value *payload);

/* ---- linear --------------------------------------------------------------------------------------- */

/* One node, one visit: pawl_call and pawl_ask in plain C, loops and all; returning PAWL_OK completes the run. `input` is
 * the start event's value: one channel, "input". At most `max_calls` calls (0: 1000): write an endless loop as a graph. */
typedef pawl_code pawl_flow_linear_fn(pawl_step *s, const pawl_value *input, void *arg);
PAWL_API PAWL_MUST_USE pawl_machine *pawl_flow_linear(const char *name, uint32_t version, const pawl_channel *channels, size_t n,
                                                      pawl_flow_linear_fn *fn, void *arg, uint32_t max_calls,
                                                      const pawl_alloc *alloc, pawl_err *err);

/* ---- effects ---------------------------------------------------------------------------------------- */

/* Declare an effect of a flow's machine before its first run: class, retry, timeouts (E5). It is part of the machine's hash,
 * so always in the same order. One that is not declared is at-least-once. PAWL_INVALID: twice, or no class. */
PAWL_API pawl_code pawl_flow_effect(pawl_machine *m, const char *effect, const pawl_limits *limits, pawl_err *err);

/* Sets the result that a run of the machine gives to its parent: the value of that channel, null when it was never set. Without this call it is an object
 * of all channels. Call it before the first run; it is part of the hash. PAWL_INVALID: there is no such channel, or it was called before. */
PAWL_API pawl_code pawl_flow_output(pawl_machine *m, const char *channel, pawl_err *err);

/* Sets the signal that interrupts a run of the machine. While commands are running it reaches the engine at once, also from inside a handler, which is
 * stopped. Its value, an object or null, gets the member "said": {INVOCATION ID: TEXT}, the output of the handlers so far (PAWL_DELTA_TEXT,
 * or messages {"type":"text_delta","text"}). The machine drops the commands that are to end. Input
 * that no wait asked for arrives as the signal "input". Call it before the first run; it is part of the hash. PAWL_INVALID: no name, or a second call. */
PAWL_API pawl_code pawl_flow_interrupt(pawl_machine *m, const char *signal, pawl_err *err);

#ifdef __cplusplus
}
#endif
#endif
