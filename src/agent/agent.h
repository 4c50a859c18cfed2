/* agent.h - the functions that the files of this folder share, from the lowest file to the highest: a file calls only those above its own section here.
 *
 * The core (core.h) knows requests, tool results and retries. The wrapper around it adds permissions, questions, sub-agents, interrupts,
 * compaction and the queue of inputs (A3); the core gets input only when it waits for it. Everything runs inside one call of agent_reduce(),
 * which is pure: no clock, no I/O, no thread; the step that the event is fed with owns all memory. */
#ifndef AGENT_AGENT_H
#define AGENT_AGENT_H

#include "agent/turn.h"

enum { QUEUE_MAX = 1000, DEPTH_DEFAULT = 3, STOPS_MAX = 8 };
enum { BESIDE_MAX = 200 };      /* calls that run side by side; all may start in one event, with three commands each (PAWL_FLOW_COMMANDS_MAX) */

/* ---- states.c: the movers ------------------------------------------------------------------------------------------ */

/* The only functions that change a phase or the stage of a call. A move that is not in the table fails the run (PAWL_CORRUPT), and so does a
 * move after which an invariant does not hold. */
void phase_move(turn *t, phase to);
void phase_reset(turn *t);              /* a run that failed is opened again: PHASE_IDLE from any phase, without tool calls */
void call_move(turn *t, uint32_t k, call_stage to);
void turn_check_begin(turn *t);         /* before an event: whether the invariants hold */
void turn_check(turn *t);               /* all invariants, if they held before the event */

/* ---- next_step.c: how the turn goes on -------------------------------------------------------------------------------- */

/* Each chooses the step that runs when the caller has returned; the caller does nothing more. */
void next_step(turn *t, turn_step step);                /* one that needs nothing */
void next_begin(turn *t, const pawl_value *message);
void next_open(turn *t, const pawl_value *message);
void next_continue(turn *t, const char *text);
void next_act(turn *t, core_action action, const char *why);
void next_end(turn *t, const char *how, const char *error);
bool next_chosen(const turn *t);

/* ---- input.c: messages from people ---------------------------------------------------------------------------- */

const pawl_value *message_of_input(turn *t, const pawl_value *v);       /* NULL: pawl_agent_input refuses it */
pawl_code blocks_check(const pawl_value *blocks, pawl_err *err);        /* PAWL_INVALID: a block that a request may not hold */
pawl_code input_check(const pawl_value *input, pawl_err *err);          /* an input for some machine; PAWL_INVALID: it is an agent's, and wrong */

/* ---- turn_read.c: tools and texts; channels with the changes of this event -------------------------------------------- */

extern const pawl_agent_tool tool_gone; /* what a call has as its tool if this version of the machine does not have it */
const pawl_agent_tool *tool_of(const agent_def *d, const char *name);   /* NULL: none */
const char *tag_of(turn *t, const char *what, uint32_t k);      /* "tool:7.2": of call 2 in round 7 */
const pawl_value *content_text(turn *t, const char *text);      /* {"content":text}; NULL: `text` is NULL */
const char *text_cut(turn *t, const char *text, size_t most);   /* at most that many bytes, cut between characters; NULL is "" */
const pawl_value *rules_now(turn *t);   /* @policy; NULL: never set */
bool end_may_retry(const char *end, bool error);        /* a turn that ended so may be tried again */
bool turn_may_retry(const turn *t);     /* the last turn failed, or reached a limit, and its message is in the conversation */
const pawl_value *tools_now(turn *t);   /* @tools */
const pawl_value *pinned_now(turn *t);  /* @pinned; NULL: nothing is pinned */
pawl_mode mode_in_channel(turn *t, const char *name, pawl_mode otherwise);
pawl_mode mode_now(turn *t);
bool unasked_now(turn *t);      /* what would be asked is denied: nobody is there, or the rules say so in the default mode */
pawl_mode mode_cap_now(turn *t);        /* the lowest cap that the parent sent */
const char *child_run_of(turn *t, uint32_t k);  /* the run id of the sub-agent of call k, started or not */

/* ---- persist.c: between two events ---------------------------------------------------------------------------- */

pawl_code turn_load(turn *t, pawl_step *s, const agent_def *d, const pawl_input_event *h);
void turn_save(turn *t);
void message_add(turn *t, const pawl_value *message);
void queue_put(turn *t, const pawl_value *message);
const pawl_value *queue_take(turn *t);  /* NULL: it is empty */
void result_put(turn *t, uint32_t k, const pawl_value *result, bool failed);
const pawl_value *result_of(turn *t, uint32_t k);       /* NULL: none yet */
void results_drop(turn *t);
void gate_answer_add(turn *t, uint32_t k, const pawl_value *v, bool failed);
void gate_answers_clear(turn *t, uint32_t k);           /* the gate starts again */
void turn_calls(turn *t, const pawl_value *blocks);     /* the tool calls among the blocks become the current ones */

/* ---- display_state.c ------------------------------------------------------------------------------------------- */

void display_update(turn *t);           /* emits an event for readers when the display state changed */

/* ---- model_answer.c ---------------------------------------------------------------------------------------------- */

/* The message as the conversation keeps it; `message` itself when nothing has to be repaired. NULL: no valid answer, *wrong says why; or no memory. */
const pawl_value *message_of_answer(turn *t, const pawl_value *message, const char **wrong);

/* ---- model_retry.c ------------------------------------------------------------------------------------------------ */

bool reply_too_long(const turn *t);     /* the model refused the request because it is too long */
const char *reply_error(turn *t);       /* why a request failed, for people */
/* True: a retry timer is set (A2). False: do *then; *why says as well how many attempts were made. */
bool retry_later(turn *t, const char **why, core_action *then);

/* ---- prompt_cache.c: the beginning of requests ---------------------------------------------------------------------------- */

bool prefix_changed(turn *t);           /* the beginning differs from that of the last request */
void prefix_check(turn *t);             /* before a request: reports a break of the provider's cache to readers */

/* ---- model_request.c ------------------------------------------------------------------------------------------------ */

size_t canon_bytes(turn *t, const pawl_value *v);       /* bytes of its canonical JSON; NULL: 0 */
/* A request by reference (K7). `then`: what the user says after the first `summary_upto` messages; NULL: the whole conversation. */
const pawl_value *request_make(turn *t, const pawl_value *then);
pawl_code request_call(turn *t, const char *tag, const pawl_value *args);   /* PAWL_LIMIT: the budget refused it */

/* ---- truncate.c: single messages that are too long. `all` are the n messages ------------------------------------------- */

bool cut_can(turn *t, const pawl_value **all, uint32_t n);
const pawl_value *cut_longest(turn *t, const pawl_value **all, uint32_t n);     /* all messages, the longest truncated; NULL: nothing to truncate */
const char *cut_sizes(turn *t, const pawl_value **all, uint32_t n);

/* ---- seen.c: which content of which file the run has seen -------------------------------------------------------------------- */

const pawl_value *with_seen(turn *t, uint32_t k, const pawl_value *args);       /* for the handler of the call; NULL: no memory */
void seen_keep(turn *t, uint32_t k, const pawl_value *result);

/* ---- tool_calls.c: the end of calls ------------------------------------------------------------------------------------- */

void call_done(turn *t, uint32_t k, const pawl_value *result, bool failed);
const pawl_value *result_fed(turn *t, const pawl_value *result, const char *text);      /* with more text for the model behind it */
void call_fail(turn *t, uint32_t k, const char *text);  /* the model gets `text` as an error result */
void call_drop_commands(turn *t, uint32_t k);           /* drops the commands and waits of the call */
void calls_abort(turn *t, const char *text);            /* every call that is not done ends with `text`; its commands are dropped */
void calls_reauthorize(turn *t);        /* approved calls that have not started are decided again */
bool calls_all_done(const turn *t);

/* ---- rights.c: a sub-agent has no more rights than its parent (P1, E11) ------------------------------------------------------ */

bool child_assign_name(turn *t, uint32_t k);            /* false: a sub-agent of that id is running (A6) */
void rights_changed(turn *t);           /* mode, rules or grants may have changed: sub-agents get them */

/* ---- lifecycle_hooks.c: hooks at the start, at an input, an answer, a stop, a compaction, the end ---------------------------------- */

/* Each returns false when no hook is interested, and the caller continues. True: the agent waits for the hooks, or they have chosen the next step. */
bool lifecycle_start(turn *t, const char *source, const pawl_value *message);   /* message NULL: no input yet */
bool lifecycle_prompt(turn *t, const pawl_value *message);
bool lifecycle_answer(turn *t);
bool lifecycle_stop(turn *t);
bool lifecycle_compact(turn *t, bool overflow);
bool lifecycle_end(turn *t);
bool lifecycle_in_turn(const lifecycle *l);     /* a turn is open at that moment */
bool lifecycle_drop(turn *t);                   /* stops asking; true: the moment was the end of the agent */
void report_hook_text(turn *t, hook_point point, const char *text);    /* to the person; NULL: nothing */
void on_lifecycle_hook(turn *t);
void on_lifecycle_update(turn *t);
void notify_hooks(turn *t, const char *type, const char *message);      /* the agent does not wait for the answers */
void on_notification(turn *t);

/* ---- builtin_tools.c: tools that the machine performs itself ------------------------------------------------------------------------ */

const char *builtin_input_error(const pawl_agent_tool *tool, const pawl_value *input);  /* beyond the schema; NULL: the input is fine */
void builtin_begin(turn *t, uint32_t k);
/* True: *result and *failed are what the hooks after the call get; false: the call is done. */
bool builtin_result(turn *t, uint32_t k, const pawl_value **result, bool *failed);
void questions_unasked(turn *t);        /* closes open questions when no person is available any more */
const pawl_value *questions_schema(turn *t, const pawl_value *questions);

/* ---- authorize.c: permissions ---------------------------------------------------------------------------------------------- */

void authorize_next(turn *t);           /* decides calls in request order until one has to wait; then STEP_START_TOOLS */
void authorize_again(turn *t);          /* the same while tools are running */
void on_gate_answer(turn *t);
void on_gate_answer_using_tools(turn *t);
void on_update_authorizing(turn *t);
void on_update_using_tools(turn *t);
bool after_begin(turn *t, uint32_t k, const pawl_value *result, bool failed);   /* the hooks after a call; false: they end the turn */
void on_after_hook(turn *t);

/* ---- interrupt.c ------------------------------------------------------------------------------------------------------------------------ */

void on_interrupt(turn *t);
void on_shutdown(turn *t);
void interrupt_end(turn *t);            /* every call is done */

/* ---- tool_runs.c ---------------------------------------------------------------------------------------------------------------- */

void tools_start_next(turn *t);         /* STEP_START_TOOLS: starts the calls that may run now */
void on_tool_result(turn *t);
void on_update_stopping(turn *t);

/* ---- compact.c: conversations that are too long ------------------------------------------------------------------------ */

bool compact_due(turn *t);
bool compact_can(turn *t, bool overflow);       /* something can be left out; `overflow`: the model itself says that it is too long */
void compact_begin(turn *t);            /* STEP_COMPACT */
void compact_again(turn *t);            /* asks for the summary once more */
void compact_continue(turn *t);         /* STEP_COMPACTED */
void on_summary(turn *t);
const char *compact_sizes(turn *t);     /* for people: what takes the most room, and what to do about it */

/* ---- turn.c: from input to answer. Most are steps; see turn_step ------------------------------------------------------------- */

void turn_begin(turn *t, const pawl_value *message);
void turn_open(turn *t, const pawl_value *message);
void turn_again(turn *t);
void turn_continue(turn *t, const char *text);
void turn_request(turn *t);
void turn_send(turn *t);
void turn_use_answer(turn *t);
void turn_act(turn *t, core_action action, const char *why);
void turn_end(turn *t, const char *how, const char *error);
void turn_wait(turn *t);
void run_close(turn *t);                /* a sub-agent or one-shot has ended */
void on_model_reply(turn *t);
void on_retry_timer(turn *t);
void on_post_tools(turn *t);

/* ---- reduce.c, machine.c ---------------------------------------------------------------------------------------- */

pawl_code agent_reduce(pawl_step *s, const pawl_input_event *h, void *arg);   /* one event; `arg` is the agent_def */
const pawl_agent *agent_of(const pawl_machine *m);  /* its description without name, options and system; NULL: no agent. `m` may be NULL */

#endif
