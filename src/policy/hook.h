/* hook.h - hooks, the pure part (P4, P5): which hooks a call is given to, their input, what their answers mean, and how several merge.
 *
 * Pure: a hook is run by the handler of the effect "hook", and its result is a receipt. Used by the layers above and by this folder; texts and
 * values belong to the arena that is given. Any thread. */
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
    HOOK_TEXT_BYTES = 10000         /* of a reason, context or message; longer ones are cut */
};

typedef enum hook_profile { HOOK_STRICT = 1, HOOK_CLAUDE = 2 } hook_profile;
/* Around a call of a tool or a node, and in the life cycle of an agent; "deny" says what a deny does there. */
typedef enum hook_point {
    HOOK_NOWHERE = 0, HOOK_PRE = 1, HOOK_POST = 2, HOOK_POST_FAILURE = 3,
    HOOK_PROMPT,                    /* an input would begin a turn; deny: the model does not get it */
    HOOK_STOP,                      /* a turn would end with an answer; deny: it goes on, and the model gets the reason */
    HOOK_SUBAGENT_STOP,             /* the same for a sub-agent */
    HOOK_PRE_COMPACT,               /* the conversation would be compacted; deny: it is not */
    HOOK_SESSION_START, HOOK_SESSION_END,
    HOOK_ANSWER,                    /* the model has answered; before its tool calls */
    HOOK_NOTICE,                    /* a question to a person was opened */
    HOOK_POINTS
} hook_point;

/* hook_point.c */
const char *hook_point_name(hook_point p);          /* "PreToolUse" */
bool hook_point_may_deny(hook_point p);             /* a deny prevents something there */
const char *hook_point_matches(hook_point p);       /* what a matcher is compared with: "tools", "a source"; NULL: it fits always */
hook_point hook_point_named(const char *name);      /* "before" and "after" too; HOOK_NOWHERE: no such; may be NULL */

/* What Claude Code calls a tool of this name; the name itself where it is the same. May be NULL. */
const char *hook_tool_elsewhere(const char *tool);
/* Its own name for what Claude Code calls so; NULL: there is no other name. */
const char *hook_tool_here(const char *tool, size_t size);

/* ---- hook.c: verdicts ------------------------------------------------------------------------------ */

typedef struct verdict {
    pawl_behavior behavior;         /* PAWL_BEHAVIOR_OPEN: no opinion */
    bool defers;                    /* wait for the signal `defer_name`: its value is the verdict; behavior is PAWL_BEHAVIOR_ASK */
    bool stops;                     /* ends the run or turn; behavior is PAWL_BEHAVIOR_DENY */
    bool open;                      /* it failed and was let through: `reason` goes to the journal */
    const char *defer_name;
    const pawl_value *input;        /* the new input as a whole; NULL: none, here and below */
    const pawl_value *result;       /* before: used in place of running the node or tool; after: replaces the result */
    const pawl_value *go;           /* after: the next nodes, a list of names */
    const pawl_value *prompt, *options;     /* of an ask */
    const char *context;            /* for the model */
    const char *message;            /* for the person */
    const char *reason;
} verdict;

/* The verdict of one hook at `point` ("PreToolUse", ...) from its receipt:
 *   {"status","signal"?,"stdout","stderr","cut"?}      of a command; stdout_base64 and stderr_base64 where it is not UTF-8
 *   {"status","body" | "body_json" | "body_base64","cut"?}     of an HTTP hook
 *   {"failed": CODE, "text"}                           it did not start, timed out, or gave no answer
 *   {"verdict", ...}                                   of a C hook: docs/INTERFACES.md, "Verdicts of a hook"
 * HOOK_STRICT denies when anything is unclear; HOOK_CLAUDE is as Claude Code documents it, and marks what it lets through.
 * PAWL_INVALID: there is no such point or profile. PAWL_NOMEM. Else PAWL_OK. */
PAWL_MUST_USE pawl_code hook_verdict(arena *mem, hook_profile profile, const char *point, const pawl_value *receipt, verdict *out,
                                     pawl_err *err);
/* Adds the verdict of one more hook to `all`, which begins as {0}: deny over ask (a defer over a plain ask) over allow over open. Reason, prompt and
 * the like are of the first hook with the winning behavior; input, result and go are of the last one. A deny has none of those. */
PAWL_MUST_USE pawl_code hook_merge(arena *mem, verdict *all, const verdict *one);

/* The input of a hook, on stdin or as the body of its request. NULL: left out. */
typedef struct hook_call {
    hook_point point;
    const char *run, *node, *cwd, *mode, *tool, *tool_use_id;
    const pawl_value *input;        /* of the tool, or the arguments of the node */
    const pawl_value *response;     /* after: the result */
    const char *error;              /* HOOK_POST_FAILURE */
    int64_t duration_ms;            /* below 0: unknown */
    const pawl_value *moment;       /* life cycle: further members, in place of a tool */
} hook_call;
const pawl_value *hook_input(arena *mem, const hook_call *c);   /* NULL: no memory, bad UTF-8 or no such point */

/* ---- hook_claude.c: answers in JSON -------------------------------------------------------------------------- */

/* *wrong: why it is refused, and *out is unchanged; NULL: it is accepted. PAWL_NOMEM or PAWL_OK. */
pawl_code hook_answer(arena *mem, hook_profile profile, hook_point point, const pawl_value *json, verdict *out, const char **wrong);
pawl_code hook_own_verdict(arena *mem, hook_point point, const pawl_value *json, verdict *out, const char **wrong);
const char *hook_text(arena *mem, const char *text, size_t size, size_t lines);     /* its beginning, within HOOK_TEXT_BYTES; lines 0: any */
const char *hook_words(arena *mem, const char *fmt, ...) PAWL_PRINTF(2, 3);         /* one line */

/* ---- hook_read.c: the `hooks` of settings --------------------------------------------------------------------- */

#define HOOKS_OF_CLIENT "client"        /* `from` of the hooks that a connected client has registered: only there a hook is a callback */
typedef enum hook_type { HOOK_COMMAND = 1, HOOK_HTTP = 2, HOOK_CALLBACK = 3 } hook_type;

typedef struct hook_entry {
    const char *name;               /* for messages: settings.json: PreToolUse[0].hooks[1] */
    const char *from;               /* the file */
    hook_point point;
    bool nodes;                     /* `before` and `after`: the matcher is compared with nodes, not tools */
    const char *matcher;            /* "": all */
    const char *rule;               /* `if`; NULL: none */
    hook_type type;
    hook_profile profile;
    const char *command;            /* for sh -c; NULL: `run` has the words */
    const pawl_value *run;
    const pawl_value *env;          /* names of secret variables that a command gets; NULL: none */
    const char *url;
    const pawl_value *headers;      /* an object of strings; NULL: none */
    const char *callback;           /* the client's id of it; "": its client is gone */
    uint32_t timeout_s;
    const char *project;            /* it is in the manner of Claude Code: the folder for CLAUDE_PROJECT_DIR; NULL: in Pawl's own */
    bool async;                     /* its answer decides nothing */
    const pawl_value *scripts;      /* of a trusted project: the digests of the files that it may run; NULL: any */
} hook_entry;
typedef struct hook_list {
    hook_entry *items;              /* in the order in which they are asked */
    size_t count, cap;
} hook_list;

/* Adds the hooks of {"PreToolUse":[{"matcher":"Bash|Edit","hooks":[{"type":"command","command":"check"}]}]} to `out`, which begins as {0}.
 * A hook that cannot be read is an error that names it; then none is added. PAWL_INVALID, PAWL_LIMIT, PAWL_NOMEM. */
PAWL_MUST_USE pawl_code hooks_read(arena *mem, const pawl_value *hooks, const char *from, hook_list *out, pawl_err *err);
/* The same for those of "@policy", which may have `scripts`: in the manner of Claude Code, as hooks_of_claude wrote them; `project` NULL: in Pawl's own. */
PAWL_MUST_USE pawl_code hooks_read_in(arena *mem, const pawl_value *hooks, const char *from, const char *project, hook_list *out, pawl_err *err);
bool hook_event_elsewhere(const char *name);        /* Claude Code has it, and this has not */
/* For a node of this name (NULL: not a node), or a tool of this name (NULL: none is called). `if` is not evaluated. */
bool hook_wanted(const hook_entry *h, hook_point p, const char *node, const char *tool);
/* Life cycle: `of` is compared with the matcher. */
bool hook_wanted_at(const hook_entry *h, hook_point p, const char *of);

/* ---- hook_foreign.c: the `hooks` of Claude Code's settings ------------------------------------------------------- */

typedef struct hook_foreign {
    const char *from, *project;     /* the file, and the folder that hooks get as CLAUDE_PROJECT_DIR */
    const pawl_value *ignored;      /* the person's list of what is left out though it may restrict: "hooks.EVENT"; NULL: none */
    void (*told)(void *ctx, const char *text);      /* what is left out or counts otherwise, one line each */
    void *ctx;
} hook_foreign;
/* The hooks for hooks_read_in. Hooks that only add and are not supported are reported and left out; those that may deny are refused by name. NULL: see err. */
const pawl_value *hooks_of_claude(arena *mem, const pawl_value *hooks, const hook_foreign *f, pawl_err *err);

/* ---- hook_scripts.c: what a hook runs ----------------------------------------------------------------------------- */

/* The absolute paths, each once, of the files of `project` that the command of this hook runs as far as its text says: where a program stands, or behind
 * an interpreter. Relative ones are of `cwd`. NULL: no memory. */
const pawl_value *hook_scripts(arena *mem, const pawl_value *hook, const char *project, const char *cwd);

/* ---- hook_match.c: matchers ------------------------------------------------------------------------------------ */

/* "" or "*": all. Only letters, digits, _ blank , | -: a list of names. Else a regular expression, searched in the name.
 * A matcher that cannot be read fits all, so that its hook is not skipped. Either may be NULL, which is "". */
bool hook_fits(const char *matcher, const char *tool);
bool hook_matcher_reads(const char *matcher, const char **why);     /* false: *why, a static text */

#endif
