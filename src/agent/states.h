/* states.h - the states of an agent and of its tool calls, the kinds of input, and the steps of a turn.
 *
 * The names in the rows are stored in journals: never change them. `pawl_agent_draw` prints the tables. */
#ifndef AGENT_STATES_H
#define AGENT_STATES_H

#include "base/sm.h"

/* The wrapper around the core (A3). PHASE_AUTHORIZE: permissions of all tool calls are decided, in request order. PHASE_LIFECYCLE: hooks at a
 * moment of the agent's life are asked. PHASE_STOPPING: interrupted, and a tool that edits may still finish. */
typedef enum phase {
    PHASE_IDLE, PHASE_COMPACT, PHASE_MODEL, PHASE_RETRY, PHASE_AUTHORIZE, PHASE_TOOLS, PHASE_AFTER_TOOLS, PHASE_STOPPING, PHASE_LIFECYCLE, PHASE_OVER, PHASES
} phase;
extern const sm_row phase_rows[PHASES];
extern const sm_table phase_table;

/* One tool call: proposed by the model, checked against rules, hooks and a person, approved, running, after-hooks, done. */
typedef enum call_stage { STAGE_PROPOSED, STAGE_CHECKING, STAGE_APPROVED, STAGE_RUNNING, STAGE_AFTER_HOOKS, STAGE_DONE, STAGES } call_stage;
extern const sm_row stage_rows[STAGES];
extern const sm_table stage_table;

/* What an event means to the wrapper: the kind of the event, the name of a signal, or the tag of the command that it answers. */
typedef enum agent_input {
    INPUT_NONE, INPUT_START, INPUT_MESSAGE, INPUT_INTERRUPT, INPUT_SHUTDOWN, INPUT_MODEL_REPLY, INPUT_SUMMARY, INPUT_RETRY_TIMER, INPUT_GATE_ANSWER,
    INPUT_TOOL_RESULT, INPUT_AFTER_HOOK, INPUT_POST_TOOLS, INPUT_LIFECYCLE_HOOK, INPUT_NOTIFICATION, INPUT_UPDATE, INPUT_REOPEN,
    INPUT_RETRY_TURN, AGENT_INPUTS
} agent_input;

/* What a turn does next, once the function that chose it has returned (next_step.c). */
typedef enum turn_step {
    STEP_NONE,
    STEP_BEGIN,                 /* a turn begins with a message; hooks see it first */
    STEP_OPEN,                  /* the hooks accepted the message: it is in the conversation */
    STEP_AGAIN,                 /* the failed turn is tried again: what is in the conversation goes to the model */
    STEP_CONTINUE,              /* a hook keeps the turn open: the model gets a text */
    STEP_ACT,                   /* what the core decided */
    STEP_SEND,                  /* a request, after a compaction if one is due */
    STEP_REQUEST,               /* a request, without a compaction */
    STEP_USE_ANSWER,            /* the hooks have seen the answer of the model: act on it */
    STEP_COMPACT,               /* the conversation is made shorter */
    STEP_COMPACTED,             /* the conversation is shorter: send the request that waited for that */
    STEP_START_TOOLS,           /* calls that may run now are started */
    STEP_END,                   /* the turn ends: then the next input of the queue, or a wait for input */
    STEP_WAIT,                  /* a wait for input */
    STEP_CLOSE,                 /* the run ends */
    TURN_STEPS
} turn_step;

/* What people see (A3). */
extern const sm_row shown_rows[];
extern const sm_table shown_table;

#endif
