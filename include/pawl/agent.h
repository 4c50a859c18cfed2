/* agent.h - a machine that is an agent: a model that drives itself with tools (A1 to A8).
 *
 * It is a machine like any other, journaled, forked, replayed and simulated as they are. Its conversation is the append channel `messages`, its
 * last answer the channel `output`. Whoever runs it binds these effects:
 *
 *   llm          a model is asked            (pawl/llm.h)
 *   tool-NAME    a tool is used              (pawl/tool.h)
 *   hook, links  as the policy asks for them
 *   post-tools   after tools that changed something: {"calls":[{"id","name","input"}],"cwd","tools":[{"succeeded","tool_name","tool_input"?}]}, `tools` in the
 *                order of `calls`, with the input that a call was made with where it is not what the model said; what it replies, and whether it
 *                fails, changes nothing
 *   tell         a child run is told a signal, or what it may do now: pawl_engine_tell
 *
 * What it is told: input, as PAWL_EV_INPUT or the signal "input" (it queues while a turn is under way): a text, {"input": TEXT or BLOCKS} or
 * a message, which says something (pawl_agent_input); the signals "interrupt" and "shutdown"; answers; and updates of its own channels (@mode, @policy,
 * @grants, @config). Its children at work have no higher mode than it has, and go by its rules and grants as they become (P1, E11). */
#ifndef PAWL_AGENT_H
#define PAWL_AGENT_H

#include "pawl/graph.h"
#include "pawl/policy.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum pawl_own_tool {    /* what the machine itself does; no effect is performed */
    PAWL_OWN_NOT = 0, PAWL_OWN_TODO, PAWL_OWN_ASK_USER, PAWL_OWN_SPAWN_AGENT, PAWL_OWN_PLAN_ENTER, PAWL_OWN_PLAN_EXIT, PAWL_OWN_TOOL_SEARCH
} pawl_own_tool;

typedef struct pawl_agent_tool {    /* a tool, as the machine knows it (A5) */
    const char *name;           /* [A-Za-z0-9_-]{1,56}, and no dash first */
    const char *rule;           /* what rules and hooks call it: "Read"; NULL: its name */
    const char *description;
    const char *schema;         /* of its input, JSON text */
    pawl_permission cls;
    pawl_class effect;          /* what a crash makes of it (E5) */
    uint32_t timeout_ms;        /* of one use; 0: none */
    pawl_own_tool own;
    bool beside;                /* may run beside others, as those of class read do anyhow unless the machine itself does them, */
    bool alone;                 /* and this one never */
    bool mutates;               /* its success calls for `post-tools` */
    bool deferred;              /* shown to the model when it was searched for, */
    const char *hint;           /* by these words among others; NULL: none */
} pawl_agent_tool;

typedef struct pawl_agent_helper { const char *name, *description; } pawl_agent_helper;    /* a machine that it may spawn, and what for */

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
    const char *options;        /* an object, JSON text: more members for every request ("temperature", "thinking"); NULL: none */
    uint32_t max_retries;       /* calls in all of a request that fails, as the source counts: 3; one alone is 1 */
    uint32_t max_iterations;    /* requests in one turn: 100 */
    uint32_t max_depth;         /* children of children: 3 */
    uint32_t llm_timeout_ms;    /* 120,000 */
    uint32_t retry_initial_ms, retry_max_ms;    /* 200 and 5,000; twice as long each time */
    int64_t compact_tokens;     /* what is settled is summed up before a request when the last one had so many; 0: where it does not fit the model */
    bool compact_drops;         /* not by the model: results of tools are dropped */
    bool post_tools;            /* `post-tools` is performed */
    pawl_denied denied;         /* a denial ends the turn, or the model is told; auto: a person's no without a note ends it */
    int64_t price_input, price_output;  /* millionths of money for a million tokens, for a budget of money */
} pawl_agent;

/* NULL: see err. Free it as any machine. */
PAWL_API PAWL_MUST_USE pawl_machine *pawl_agent_machine(const pawl_agent *agent, const pawl_alloc *alloc, pawl_err *err);

/* Whether that can be said to an agent, for whoever wants to know before he says it: PAWL_OK, or PAWL_INVALID and what is wrong. It is empty where there is
 * no word in it, as providers take no such text; and a list of blocks may have those alone that a message of a user may have (docs/MODELS.md). Where it is
 * said all the same, the machine begins no turn, and tells readers why. */
PAWL_API pawl_code pawl_agent_input(const pawl_value *input, pawl_err *err);

/* ---- what is shown of it (A3) -------------------------------------------------------------------------------- */

typedef enum pawl_shown {
    PAWL_SHOWN_NOTHING = 0, PAWL_SHOWN_IDLE, PAWL_SHOWN_PROCESSING, PAWL_SHOWN_WAITING_FOR_PERMISSION, PAWL_SHOWN_EXECUTING_TOOL,
    PAWL_SHOWN_WAITING_FOR_SUB_AGENT, PAWL_SHOWN_WAITING_FOR_USER_INPUT, PAWL_SHOWN_DONE, PAWL_SHOWN_ERROR
} pawl_shown;

typedef struct pawl_agent_view {
    pawl_shown state;
    const char *tool_name, *tool_use_id;        /* of a tool, of a permission and of a question; else NULL */
    const pawl_value *input;    /* of these: what the model gives the tool */
    const char *session_id;     /* of a sub-agent: its run */
    const char *request_id;     /* of a question or a permission: the wait's slot */
    const char *message;        /* of an error */
} pawl_agent_view;
/* How it stands; texts live until the state changes. One that has not begun is nothing; a run that failed is an error, and one that is over
 * by any other way done. PAWL_INVALID: it is no agent's. */
PAWL_API pawl_code pawl_agent_look(pawl_state *st, pawl_agent_view *out, pawl_err *err);
/* The tool calls of the answer at hand, in their order: how the `index`-th stands ("settling", "running", ...), and in *said (may be NULL) what the model
 * said of it, {"id","input","name"} and more; both live as the state. NULL: there are no more. */
PAWL_API const char *pawl_agent_call(pawl_state *st, size_t index, const pawl_value **said);
/* A wait that asks what came of a command which was cut off (E5), and of which tool call that was: {"id","input","name"} and more; it lives as the state.
 * What is shown of the agent to who looks is then that it waits for an answer (pawl_handle_state): the machine itself is not told. NULL: it is no such wait,
 * or of no tool, or of one of several that are used at once. pawl_agent_unknown: it is such a wait, of whatever command. */
PAWL_API bool pawl_agent_unknown(const pawl_wait *w);
PAWL_API const pawl_value *pawl_agent_unknown_call(pawl_state *st, const pawl_wait *w);
PAWL_API const char *pawl_shown_name(pawl_shown s);     /* "executing_tool"; "" of nothing */
typedef struct pawl_badge { const char *text, *color; } pawl_badge;
PAWL_API pawl_badge pawl_shown_badge(pawl_shown s);     /* {"Using tool", "purple"} */

/* The tables that an agent is, as pictures: 0 its core, 1 the wrapper, 2 a tool call, 3 what is shown; NULL after the last, with err.code PAWL_OK.
 * Lives in `step` until it is used again. */
PAWL_API const char *pawl_agent_draw(size_t index, pawl_picture format, pawl_step *step, pawl_err *err);

#ifdef __cplusplus
}
#endif
#endif
