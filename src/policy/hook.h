/* hook.h - hooks, the pure part (P4, P5): which of them are asked of a call, what they are told, what their answers come to,
 * and how the answers of several merge. Who runs them is the host; what came of one is a receipt. */
#ifndef POLICY_HOOK_H
#define POLICY_HOOK_H

#include "json/json.h"
#include "pawl/policy.h"

enum {
    HOOKS_MAX = 256,                /* of one list */
    HOOK_MATCHER_BYTES = 512, HOOK_COMMAND_BYTES = 32768, HOOK_RULE_BYTES = 512, HOOK_URL_BYTES = 2048,
    HOOK_RUN_WORDS = 64, HOOK_HEADERS = 32, HOOK_ENV_NAMES = 64,
    HOOK_TIMEOUT_S = 60, HOOK_TIMEOUT_S_MAX = 600,
    HOOK_REASON_LINES = 20,         /* of stderr */
    HOOK_TEXT_BYTES = 10000         /* of one reason, context or message; the rest is left out */
};

typedef enum hook_profile { HOOK_STRICT = 1, HOOK_CLAUDE = 2 } hook_profile;
/* Around a call of a tool or a node; and in the life of an agent, which may be told no where it says so: */
typedef enum hook_point {
    HOOK_NOWHERE = 0, HOOK_PRE = 1, HOOK_POST = 2, HOOK_POST_FAILURE = 3,
    HOOK_PROMPT,                    /* an input would begin a turn; no: it is not given to the model */
    HOOK_STOP,                      /* a turn would end with an answer; no: it goes on, and the model is told why */
    HOOK_SUBAGENT_STOP,             /* the same of a sub-agent */
    HOOK_PRE_COMPACT,               /* the conversation would be summed up; no: it is not */
    HOOK_SESSION_START, HOOK_SESSION_END,
    HOOK_ANSWER,                    /* the model has answered, and no tool of it was used yet */
    HOOK_NOTICE,                    /* a person is asked something, or is waited for */
    HOOK_POINTS
} hook_point;

/* hook_point.c */
const char *hook_point_name(hook_point p);          /* "PreToolUse" */
bool hook_point_may_deny(hook_point p);             /* a no there keeps something from happening */
const char *hook_point_matches(hook_point p);       /* what a matcher is held against: "tools", "a source"; NULL: nothing, it fits all */
hook_point hook_point_named(const char *name);      /* "before" and "after" too; HOOK_NOWHERE: no such; may be NULL */

/* ---- hook.c: what a hook says ------------------------------------------------------------------------------ */

typedef struct verdict {
    pawl_behavior behavior;         /* PAWL_OPEN: goes on */
    bool defers;                    /* a wait for the signal `defer_name`, whose value is then the verdict; behavior is PAWL_ASK */
    bool stops;                     /* ends everything; behavior is PAWL_DENY */
    bool open;                      /* it failed and was let through; `reason` says why, and the journal has to */
    const char *defer_name;
    const pawl_value *input;        /* a new input, whole; NULL: none. So with all that follow */
    const pawl_value *result;       /* before: the node or tool does not run, this is what came of it; after: this instead */
    const pawl_value *go;           /* after: the next nodes, a list of names */
    const pawl_value *prompt, *options;     /* of an ask */
    const char *context;            /* for the model */
    const char *message;            /* for the person */
    const char *reason;
} verdict;

/* What the receipt of one hook at `point` ("PreToolUse", ...) comes to:
 *   {"status","signal"?,"stdout","stderr","cut"?}      of a command; stdout_base64 and stderr_base64 of what is no UTF-8
 *   {"status","body" | "body_json" | "body_base64","cut"?}     of an HTTP hook
 *   {"failed": CODE, "text"}                           it did not start, did not end in time, or there was no answer
 *   {"verdict", ...}                                   of a C hook: docs/INTERFACES.md, "Verdicts of a hook"
 * HOOK_STRICT denies what it cannot read for sure; HOOK_CLAUDE is as Claude Code documents it, and marks what it lets through.
 * PAWL_INVALID: there is no such point or profile. PAWL_NOMEM. Else PAWL_OK, and *out is what was said. */
PAWL_MUST_USE pawl_code hook_verdict(arena *mem, hook_profile profile, const char *point, const pawl_value *receipt, verdict *out,
                                     pawl_err *err);
/* Add what one more hook said to `all`, which began as {0}: deny over ask (a defer over a mere ask) over allow over open. What only one
 * can have is that of the first who gave the winning behavior; input, result and go are the last ones. A deny has none of them. */
PAWL_MUST_USE pawl_code hook_merge(arena *mem, verdict *all, const verdict *one);

/* What a hook gets on stdin or as the body of its request. NULL in a field: it is not there. */
typedef struct hook_call {
    hook_point point;
    const char *run, *node, *cwd, *mode, *tool, *tool_use_id;
    const pawl_value *input;        /* of the tool, or the arguments of the node */
    const pawl_value *response;     /* after: what came of it */
    const char *error;              /* HOOK_POST_FAILURE */
    int64_t duration_ms;            /* below 0: not known */
    const pawl_value *moment;       /* in the life of an agent: an object of what else there is to say, in place of a tool */
} hook_call;
const pawl_value *hook_input(arena *mem, const hook_call *c);   /* NULL: no memory, bad UTF-8 or no such point */

/* ---- hook_claude.c: answers in JSON -------------------------------------------------------------------------- */

/* *wrong: why it cannot be taken, and then *out is as it was. PAWL_NOMEM or PAWL_OK. */
pawl_code hook_answer(arena *mem, hook_profile profile, hook_point point, const pawl_value *json, verdict *out, const char **wrong);
pawl_code hook_own_verdict(arena *mem, hook_point point, const pawl_value *json, verdict *out, const char **wrong);
const char *hook_text(arena *mem, const char *text, size_t size, size_t lines);     /* its beginning, within HOOK_TEXT_BYTES; lines 0: any */
const char *hook_words(arena *mem, const char *fmt, ...) PAWL_PRINTF(2, 3);         /* one line */

/* ---- hook_read.c: the `hooks` of settings --------------------------------------------------------------------- */

typedef enum hook_type { HOOK_COMMAND = 1, HOOK_HTTP = 2 } hook_type;

typedef struct hook_entry {
    const char *name;               /* for people: settings.json: PreToolUse[0].hooks[1] */
    const char *from;               /* where it was written */
    hook_point point;
    bool nodes;                     /* `before` and `after`: the matcher is of nodes, not of tools */
    const char *matcher;            /* "": all */
    const char *rule;               /* `if`; NULL: none */
    hook_type type;
    hook_profile profile;
    const char *command;            /* for sh -c; NULL: `run` has the words */
    const pawl_value *run;
    const pawl_value *env;          /* of a command: keys that it gets from the environment, a list of names; NULL: none */
    const char *url;
    const pawl_value *headers;      /* an object of strings; NULL: none */
    uint32_t timeout_s;
} hook_entry;
typedef struct hook_list {
    hook_entry *items;              /* in the order in which they are asked */
    size_t count, cap;
} hook_list;

/* Add the hooks of {"PreToolUse":[{"matcher":"Bash|Edit","hooks":[{"type":"command","command":"check"}]}]} to `out`, which began as {0}.
 * No hook is dropped: one that cannot be read is an error that names it, and then none is added. PAWL_INVALID, PAWL_LIMIT, PAWL_NOMEM. */
PAWL_MUST_USE pawl_code hooks_read(arena *mem, const pawl_value *hooks, const char *from, hook_list *out, pawl_err *err);
/* Of a node with that name (NULL: it is none), or of a tool with that (NULL: none is called). `if` is not looked at. */
bool hook_wanted(const hook_entry *h, hook_point p, const char *node, const char *tool);
/* In the life of an agent: `of` is what a matcher is held against there. */
bool hook_wanted_at(const hook_entry *h, hook_point p, const char *of);

/* ---- hook_match.c: matchers ------------------------------------------------------------------------------------ */

/* "" or "*": all. Only letters, digits, _ blank , | -: a list of names. Else a regular expression that is found somewhere in the name.
 * A matcher that cannot be read fits all: the hook is rather asked than missed. Either may be NULL, which is "". */
bool hook_fits(const char *matcher, const char *tool);
bool hook_matcher_reads(const char *matcher, const char **why);     /* false: *why it cannot be read, static */

#endif
