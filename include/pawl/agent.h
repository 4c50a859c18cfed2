/* agent.h - a machine that is an agent: a model that drives itself with tools (A1 to A8).
 *
 * It is a machine like any other: journaled, forked, replayed and simulated in the same way. Its conversation is the append channel `messages`, its
 * last answer is the channel `output`. The program that runs it binds these effects:
 *
 *   llm          calls a model               (pawl/llm.h)
 *   tool-NAME    runs a tool                 (pawl/tool.h)
 *   hook, links  as the policy requires
 *   post-tools   runs after tools that changed something: {"calls":[{"id","name","input"}],"cwd","tools":[{"succeeded","tool_name","tool_input"?}]}.
 *                `tools` has the order of `calls`, with the input that a call ran with where it differs from the model's. Its reply and its
 *                failure change nothing
 *   tell         sends a signal or an update to a child run: pawl_engine_add_tell
 *
 * Events that it takes: input, as PAWL_EV_INPUT or the signal "input" (queued while a turn is running): a text, {"input": TEXT or BLOCKS} or
 * a message that is not empty (pawl_agent_input); the signals "interrupt", "shutdown" and
 * "retry_turn" (pawl_agent_can_retry); answers; and updates of its own channels (@mode, @policy,
 * @grants, @config). Its running children never have a higher mode than it has, and every change of its rules and grants reaches them (P1, E11). */
#ifndef PAWL_AGENT_H
#define PAWL_AGENT_H

#include "pawl/graph.h"
#include "pawl/policy.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum pawl_own_tool {    /* a tool that the machine performs itself; no effect */
    PAWL_OWN_NOT = 0, PAWL_OWN_TODO, PAWL_OWN_ASK_USER, PAWL_OWN_SPAWN_AGENT, PAWL_OWN_PLAN_ENTER, PAWL_OWN_PLAN_EXIT, PAWL_OWN_TOOL_SEARCH
} pawl_own_tool;

typedef struct pawl_agent_tool {    /* a tool (A5) */
    const char *name;           /* [A-Za-z0-9_-]{1,56}, and no dash first */
    const char *rule;           /* its name in rules and hooks: "Read"; NULL: `name` */
    const char *description;
    const char *schema;         /* JSON schema of its input, as text */
    pawl_permission cls;
    pawl_class effect;          /* whether it is repeated after a crash (E5) */
    uint32_t timeout_ms;        /* of one call; 0: none */
    pawl_own_tool own;
    bool beside;                /* may run in parallel with others; tools of class read may anyway, unless the machine performs them */
    bool alone;                 /* never runs in parallel */
    bool mutates;               /* after a success `post-tools` runs */
    bool deferred;              /* shown to the model only after it searched for the tool */
    const char *hint;           /* more words for that search; NULL: none */
    bool usual_args, seen;      /* as in pawl_tool */
} pawl_agent_tool;

typedef struct pawl_agent_helper { const char *name, *description; } pawl_agent_helper;    /* a machine that it may spawn, and its purpose */

typedef enum pawl_denied { PAWL_DENIED_AUTO = 0, PAWL_DENIED_ENDS = 1, PAWL_DENIED_TELLS = 2 } pawl_denied;

typedef struct pawl_agent {     /* texts are copied; 0 and NULL: the default */
    const char *name;           /* of the machine */
    uint32_t version;
    const char *model, *system;
    const pawl_agent_tool *tools;
    size_t ntools;
    const pawl_agent_helper *helpers;
    size_t nhelpers;
    uint32_t max_tokens;        /* of an answer: 4096 */
    const char *options;        /* JSON text of an object: members that are added to every request ("temperature", "thinking"); NULL: none */
    uint32_t max_retries;       /* attempts of a request in all: 3, with retry_total_ms 10; 1: no retry */
    uint32_t max_iterations;    /* requests in one turn: 100 */
    uint32_t max_depth;         /* children of children: 3 */
    uint32_t llm_timeout_ms;    /* 120,000 */
    uint32_t retry_initial_ms, retry_max_ms;    /* 200 and 5,000, with retry_total_ms 1,000 and 60,000; the delay doubles each time */
    int64_t compact_tokens;     /* a summary replaces older messages once a request had that many tokens; 0: once the model refuses the length */
    bool compact_drops;         /* shortens by dropping tool results instead of a summary by the model */
    bool post_tools;            /* `post-tools` runs */
    pawl_denied denied;         /* a denial ends the turn, or the model gets it as a result; auto: a person's denial without a note ends it */
    int64_t price_input, price_output;  /* millionths of a currency unit per million tokens; for budgets of money */
    /* Not 0: a request is tried again over minutes, with delays that are drawn from the seed of the run, between half and the whole of those above, and no
     * attempt begins later than this after the first failure. It is a part of the machine's hash. 0: exact delays, bounded by max_retries alone. */
    uint32_t retry_total_ms;
} pawl_agent;

/* NULL: see err. Free it as any machine. */
PAWL_API PAWL_MUST_USE pawl_machine *pawl_agent_machine(const pawl_agent *agent, const pawl_alloc *alloc, pawl_err *err);

/* Checks an input before it is sent: PAWL_OK, or PAWL_INVALID with the fault in err. An input without any word is invalid, because providers refuse
 * it; a list of blocks may have only the blocks that a message of a user may have (docs/MODELS.md). An agent that gets an invalid input begins no turn
 * and emits the reason. */
PAWL_API pawl_code pawl_agent_input(const pawl_value *input, pawl_err *err);

/* ---- the display state (A3) -------------------------------------------------------------------------------- */

typedef enum pawl_shown {
    PAWL_SHOWN_NOTHING = 0, PAWL_SHOWN_IDLE, PAWL_SHOWN_PROCESSING, PAWL_SHOWN_WAITING_FOR_PERMISSION, PAWL_SHOWN_EXECUTING_TOOL,
    PAWL_SHOWN_WAITING_FOR_SUB_AGENT, PAWL_SHOWN_WAITING_FOR_USER_INPUT, PAWL_SHOWN_DONE, PAWL_SHOWN_ERROR
} pawl_shown;

typedef struct pawl_agent_view {
    pawl_shown state;
    const char *tool_name, *tool_use_id;        /* of a tool, a permission or a question; else NULL */
    const pawl_value *input;    /* of these: the input from the model */
    const char *session_id;     /* of a sub-agent: its run */
    const char *request_id;     /* of a question or a permission: the wait's slot */
    const char *message;        /* of an error */
    /* A request to the model has failed and is made again (pawl_agent.retry_total_ms): when, which attempt of how many that is, and why. again_ms 0: none. */
    int64_t again_ms;
    uint32_t attempt, max_attempts;
    const char *again_why;
} pawl_agent_view;
/* The display state of a run; its texts are valid until the state changes. A run that has not begun is PAWL_SHOWN_NOTHING, a failed run is
 * PAWL_SHOWN_ERROR, every other run that has ended is PAWL_SHOWN_DONE. PAWL_INVALID: the run is not an agent's. */
PAWL_API pawl_code pawl_agent_display(pawl_state *st, pawl_agent_view *out, pawl_err *err);
/* Whether it is an agent that only waits for the next message, however its last turn ended. */
PAWL_API bool pawl_agent_idle(pawl_state *st);
/* Whether the signal "retry_turn" tries something again: the last turn of an agent that is idle, which failed or reached its budget or its limit of
 * requests, with the message that is in the conversation; or now the request whose next attempt the agent waits for. */
PAWL_API bool pawl_agent_can_retry(pawl_state *st);
/* The tool calls of the current answer, in order: the stage of number `index` ("settling", "running", ...), and in *said (may be NULL) the call as the
 * model made it, {"id","input","name"} and more. Both are valid as long as the state. NULL: there are no more. */
PAWL_API const char *pawl_agent_call(pawl_state *st, size_t index, const pawl_value **said);
/* pawl_agent_unknown: the wait asks a person for the unknown outcome of a command that was interrupted (E5). pawl_agent_unknown_call: the tool call of
 * that command, {"id","input","name"} and more, valid as long as the state; NULL: it is not such a wait, or not of a tool, or one of several calls that ran
 * in parallel. Such a wait makes the display state "waiting for user input" (pawl_handle_state), although the machine itself knows nothing of it. */
PAWL_API bool pawl_agent_unknown(const pawl_wait *w);
PAWL_API const pawl_value *pawl_agent_unknown_call(pawl_state *st, const pawl_wait *w);
PAWL_API const char *pawl_shown_name(pawl_shown s);     /* "executing_tool"; "" of nothing */
typedef struct pawl_badge { const char *text, *color; } pawl_badge;
PAWL_API pawl_badge pawl_shown_badge(pawl_shown s);     /* {"Using tool", "purple"} */

/* The state of the agent's core (A1), which its display state is made from: "WaitingForUserInput", "CallingLlm", "ProcessingLlmResponse", "ExecutingTools",
 * "PostToolsHook", "Error" or "ShuttingDown"; "": the run has not begun, or is not an agent's. */
PAWL_API const char *pawl_agent_core(pawl_state *st);

/* The state tables of an agent as pictures: 0 the core, 1 the wrapper, 2 a tool call, 3 the display state; NULL after the last, with err.code PAWL_OK.
 * The text is owned by `step` and valid until its next use. */
PAWL_API const char *pawl_agent_draw(size_t index, pawl_picture format, pawl_step *step, pawl_err *err);

#ifdef __cplusplus
}
#endif
#endif
