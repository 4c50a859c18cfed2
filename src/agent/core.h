/* core.h - the core of an agent: seven states, ten events, seven actions and one transition table (A1).
 *
 * Pure. The core only counts messages and tools; the wrapper in agent.h performs the actions. Called inside agent_reduce(), on one thread. */
#ifndef AGENT_CORE_H
#define AGENT_CORE_H

#include "json/json.h"

typedef enum core_at {
    CORE_WAITING_FOR_USER_INPUT = 1, CORE_CALLING_LLM, CORE_PROCESSING_LLM_RESPONSE, CORE_EXECUTING_TOOLS, CORE_POST_TOOLS_HOOK, CORE_ERROR,
    CORE_SHUTTING_DOWN, CORE_STATES
} core_at;

typedef enum core_event {
    CORE_USER_INPUT = 1, CORE_TEXT_DELTA, CORE_TOOL_CALL_DELTA, CORE_COMPLETED, CORE_LLM_ERROR, CORE_TOOL_PROGRESS, CORE_TOOL_COMPLETED,
    CORE_POST_TOOLS_HOOK_COMPLETED, CORE_RETRY_TIMEOUT_FIRED, CORE_SHUTDOWN_REQUESTED, CORE_EVENTS
} core_event;

typedef enum core_action {
    CORE_WAIT_FOR_INPUT = 1, CORE_SEND_LLM_REQUEST, CORE_EXECUTE_TOOLS, CORE_RUN_POST_TOOLS_HOOK, CORE_DISPLAY_MESSAGE, CORE_DISPLAY_ERROR,
    CORE_SHUTDOWN, CORE_ACTIONS
} core_action;

typedef struct core {
    core_at at;
    uint32_t retries;           /* model calls of this request that have failed */
    uint32_t max_retries;       /* calls in total, as the source counts: 0 and 1 both mean one call */
    uint32_t open;              /* tools that have not finished */
    bool mutated;               /* a tool that may change files has succeeded */
} core;

typedef struct core_input {
    core_event event;
    uint32_t calls;             /* of CORE_COMPLETED: number of tool calls in the answer */
    bool permanent;             /* of CORE_LLM_ERROR: a retry would fail in the same way */
    bool mutating;              /* of CORE_TOOL_COMPLETED: a tool that may change files has succeeded */
} core_input;

void core_begin(core *c, uint32_t max_retries);
/* Feeds an event; returns the action. *ignored (may be NULL): the state has no transition for the event; it does not change, and the action is
 * CORE_WAIT_FOR_INPUT. */
core_action core_feed(core *c, const core_input *in, bool *ignored);

/* The two moves of the wrapper: it sends the request again, after a compaction or because the request was too long; it ends the turn. Apart from
 * these and core_feed(), nothing changes the state of a core. */
void core_resend(core *c);
void core_rest(core *c);

const char *core_at_name(core_at at);           /* "CallingLlm"; "": not a state */
core_at core_at_named(const char *name);        /* 0: none; `name` may be NULL */
const char *core_event_name(core_event event);  /* "UserInput" */
const char *core_action_name(core_action action);       /* "SendLlmRequest" */

typedef struct core_row { uint8_t at, event, when, next, action; } core_row;
extern const core_row core_rows[];              /* the first matching row counts; at 0: any state */
extern const size_t core_row_count;
const char *core_when_name(unsigned when);      /* "has tool calls"; "": always */

#endif
