/* core.c - the transition table of the core, and the function that reads it (A1). */
#include "agent/core.h"

enum { ALWAYS = 0, HAS_CALLS, MAY_RETRY, SOME_OPEN, MUTATED, WHENS };
enum { COMES_BY_ITSELF = 0 };   /* an automatic transition: no event is needed */

const core_row core_rows[] = {
    { 0, CORE_SHUTDOWN_REQUESTED, ALWAYS, CORE_SHUTTING_DOWN, CORE_SHUTDOWN },
    { CORE_WAITING_FOR_USER_INPUT, CORE_USER_INPUT, ALWAYS, CORE_CALLING_LLM, CORE_SEND_LLM_REQUEST },
    { CORE_CALLING_LLM, CORE_TEXT_DELTA, ALWAYS, CORE_CALLING_LLM, CORE_DISPLAY_MESSAGE },
    { CORE_CALLING_LLM, CORE_TOOL_CALL_DELTA, ALWAYS, CORE_CALLING_LLM, CORE_WAIT_FOR_INPUT },
    { CORE_CALLING_LLM, CORE_COMPLETED, ALWAYS, CORE_PROCESSING_LLM_RESPONSE, 0 },
    { CORE_PROCESSING_LLM_RESPONSE, COMES_BY_ITSELF, HAS_CALLS, CORE_EXECUTING_TOOLS, CORE_EXECUTE_TOOLS },
    { CORE_PROCESSING_LLM_RESPONSE, COMES_BY_ITSELF, ALWAYS, CORE_WAITING_FOR_USER_INPUT, CORE_WAIT_FOR_INPUT },
    { CORE_CALLING_LLM, CORE_LLM_ERROR, MAY_RETRY, CORE_ERROR, CORE_WAIT_FOR_INPUT },
    { CORE_CALLING_LLM, CORE_LLM_ERROR, ALWAYS, CORE_WAITING_FOR_USER_INPUT, CORE_DISPLAY_ERROR },
    { CORE_ERROR, CORE_RETRY_TIMEOUT_FIRED, ALWAYS, CORE_CALLING_LLM, CORE_SEND_LLM_REQUEST },
    { CORE_EXECUTING_TOOLS, CORE_TOOL_PROGRESS, ALWAYS, CORE_EXECUTING_TOOLS, CORE_WAIT_FOR_INPUT },
    { CORE_EXECUTING_TOOLS, CORE_TOOL_COMPLETED, SOME_OPEN, CORE_EXECUTING_TOOLS, CORE_WAIT_FOR_INPUT },
    { CORE_EXECUTING_TOOLS, CORE_TOOL_COMPLETED, MUTATED, CORE_POST_TOOLS_HOOK, CORE_RUN_POST_TOOLS_HOOK },
    { CORE_EXECUTING_TOOLS, CORE_TOOL_COMPLETED, ALWAYS, CORE_CALLING_LLM, CORE_SEND_LLM_REQUEST },
    { CORE_POST_TOOLS_HOOK, CORE_POST_TOOLS_HOOK_COMPLETED, ALWAYS, CORE_CALLING_LLM, CORE_SEND_LLM_REQUEST },
};
const size_t core_row_count = sizeof core_rows / sizeof *core_rows;

static const char *const at_names[CORE_STATES] = { "", "WaitingForUserInput", "CallingLlm", "ProcessingLlmResponse", "ExecutingTools", "PostToolsHook",
                                                   "Error", "ShuttingDown" };
static const char *const event_names[CORE_EVENTS] = { "", "UserInput", "TextDelta", "ToolCallDelta", "Completed", "LlmError", "ToolProgress", "ToolCompleted",
                                                      "PostToolsHookCompleted", "RetryTimeoutFired", "ShutdownRequested" };
static const char *const action_names[CORE_ACTIONS] = { "", "WaitForInput", "SendLlmRequest", "ExecuteTools", "RunPostToolsHook", "DisplayMessage",
                                                        "DisplayError", "Shutdown" };
static const char *const when_names[WHENS] = { "", "has tool calls", "retries < max", "some pending", "a mutation" };

const char *core_at_name(core_at at) { return at > 0 && at < CORE_STATES ? at_names[at] : ""; }
const char *core_event_name(core_event event) { return event > 0 && event < CORE_EVENTS ? event_names[event] : ""; }
const char *core_action_name(core_action action) { return action > 0 && action < CORE_ACTIONS ? action_names[action] : ""; }
const char *core_when_name(unsigned when) { return when < WHENS ? when_names[when] : ""; }

core_at core_at_named(const char *name)
{
    for (int at = 1; name != NULL && at < CORE_STATES; at++)
        if (strcmp(name, at_names[at]) == 0)
            return (core_at)at;
    return (core_at)0;
}

void core_begin(core *c, uint32_t max_retries)
{
    *c = (core){ .at = CORE_WAITING_FOR_USER_INPUT, .max_retries = max_retries };
}

static bool holds(const core *c, const core_input *in, unsigned when)
{
    switch (when) {
    case HAS_CALLS: return in->calls > 0;
    case MAY_RETRY: return !in->permanent && c->retries + 1 < c->max_retries;
    case SOME_OPEN: return c->open > 1;
    case MUTATED:   return c->mutated || in->mutating;
    default:        return true;
    }
}

static const core_row *row_of(const core *c, const core_input *in, unsigned event)
{
    for (size_t i = 0; i < core_row_count; i++)
        if (core_rows[i].event == event && (core_rows[i].at == 0 || core_rows[i].at == c->at) && holds(c, in, core_rows[i].when))
            return &core_rows[i];
    return NULL;
}

/* The counters that a transition changes. */
static void count(core *c, const core_input *in, const core_row *row)
{
    if (in->event == CORE_LLM_ERROR)
        c->retries++;
    if (in->event == CORE_TOOL_COMPLETED) {
        c->open -= c->open > 0;
        c->mutated = c->mutated || in->mutating;
    }
    if (row->next == CORE_EXECUTING_TOOLS && row->at == CORE_PROCESSING_LLM_RESPONSE) {
        c->open = in->calls;
        c->mutated = false;
    }
    if (row->action == CORE_SEND_LLM_REQUEST && row->at != CORE_ERROR)
        c->retries = 0;
}

void core_resend(core *c) { c->at = CORE_CALLING_LLM; }
void core_rest(core *c) { c->at = CORE_WAITING_FOR_USER_INPUT; }

core_action core_feed(core *c, const core_input *in, bool *ignored)
{
    const core_row *row = (int)in->event == COMES_BY_ITSELF ? NULL : row_of(c, in, in->event);

    if (ignored != NULL)
        *ignored = row == NULL;
    if (row == NULL)
        return CORE_WAIT_FOR_INPUT;
    for (;; row = row_of(c, in, COMES_BY_ITSELF)) {
        count(c, in, row);
        c->at = (core_at)row->next;
        if (row->action != 0)
            return (core_action)row->action;
    }
}
