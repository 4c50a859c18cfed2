/* policy.h - what a run may do: modes, rules and decisions, each with the rule that decided (P1 to P5).
 *
 * Pure functions: no clock, no I/O. Symbolic links are resolved by the caller and passed in. A policy is constant once read: any thread may use it. */
#ifndef PAWL_POLICY_H
#define PAWL_POLICY_H

#include "pawl/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- modes (P1) ------------------------------------------------------------------------------------------ */

typedef enum pawl_mode { PAWL_MODE_NONE = 0, PAWL_MODE_PLAN = 1, PAWL_MODE_DEFAULT = 2, PAWL_MODE_ACCEPT_EDITS = 3, PAWL_MODE_BYPASS = 4 } pawl_mode;
typedef enum pawl_permission { PAWL_PERMISSION_READ = 1, PAWL_PERMISSION_EDIT = 2, PAWL_PERMISSION_EXEC = 3, PAWL_PERMISSION_NET = 4,
    PAWL_PERMISSION_OTHER = 5 } pawl_permission;   /* a tool's class */
/* In ascending precedence; PAWL_BEHAVIOR_OPEN: not decided. */
typedef enum pawl_behavior { PAWL_BEHAVIOR_OPEN = 0, PAWL_BEHAVIOR_ALLOW = 1, PAWL_BEHAVIOR_ASK = 2, PAWL_BEHAVIOR_DENY = 3 } pawl_behavior;

PAWL_API const char *pawl_mode_name(pawl_mode m);                  /* "acceptEdits"; "": PAWL_MODE_NONE */
PAWL_API pawl_mode pawl_mode_named(const char *name);              /* PAWL_MODE_NONE: no such mode; `name` may be NULL */
PAWL_API const char *pawl_permission_name(pawl_permission cls);    /* "edit"; "": unknown */
PAWL_API const char *pawl_behavior_name(pawl_behavior b);          /* "open", "allow", "ask", "deny" */
/* `now` has at least the rights of `required`. False: one of them is PAWL_MODE_NONE. */
PAWL_API bool pawl_mode_permits(pawl_mode now, pawl_mode required);
/* What the mode decides for a tool of that class; `inside`: it edits in the workspace. PAWL_BEHAVIOR_OPEN: the rules decide. */
PAWL_API pawl_behavior pawl_mode_decision(pawl_mode m, pawl_permission cls, bool inside);

/* ---- rules (P3) -------------------------------------------------------------------------------------------- */

/* Compiled rules of several sources. Free with pawl_policy_free. In every call but pawl_policy_digest NULL is a policy without rules. */
typedef struct pawl_policy pawl_policy;

/* `json`: {"allow","ask","deny": lists of rules, each "Tool", "Tool(spec)" or {"rule","from","base","until"}; "cwd": the workspace,
 * "directories": further folders of it, "home": what ~ means, "protected": paths whose edits are asked as those of .git, "whole": true if an allow
 * rule "Bash" without a pattern also covers commands that cannot be read for sure, where no deny or ask rule might be about them}; "hooks" and "expires_ms" are
 * for the caller, and part of the digest. `from` names the file of a rule, `base` the folder that / means in it, `until` (ms since 1970) its end. A rule
 * that cannot be read is an error that names it. NULL: see err (PAWL_INVALID, PAWL_LIMIT, PAWL_NOMEM). `alloc` may be NULL: malloc. */
PAWL_API pawl_policy *pawl_policy_read(const pawl_alloc *alloc, const char *json, size_t size, pawl_err *err);
PAWL_API void pawl_policy_free(pawl_policy *p);                    /* may be NULL */
/* SHA-256 of its canonical JSON, in hex: approvals are bound to it. Lent as long as the policy. */
PAWL_API const char *pawl_policy_digest(const pawl_policy *p);
PAWL_API size_t pawl_policy_count(const pawl_policy *p);           /* rules: deny, then ask, then allow, each in the order given */
typedef struct pawl_rule_info {
    pawl_behavior behavior;
    const char *text, *from;    /* lent; from "": not given */
    int64_t until_ms;           /* 0: no end */
} pawl_rule_info;
PAWL_API pawl_rule_info pawl_policy_rule(const pawl_policy *p, size_t index);      /* text "" beyond the last */

/* ---- a decision (P2) ----------------------------------------------------------------------------------------- */

typedef struct pawl_request {
    const char *tool;           /* "Bash", "Read", "Edit", "WebFetch", "mcp__server__tool", ... */
    const pawl_value *args;     /* after all changes: "command" (a text, or a list of words), "file_path" or "path", "url", ...; for a node also
                                 * "node", its name; NULL: none */
    /* {"PATH": "the path that it leads to"}, or {"PATH": {"to", "same": another name of that file, which a deny rule fits}}. PATH is as in the arguments,
     * or absolute without . and ..; a path that is not in it is not a link; NULL: none is. */
    const pawl_value *links;
    const char *cwd;            /* where its relative paths begin, absolute; NULL: at the policy's "cwd" */
    bool unlooked;              /* not all of its paths were looked up in the file system: asked, unless it is denied */
    pawl_permission cls;
    pawl_mode mode;             /* PAWL_MODE_NONE: as PAWL_MODE_DEFAULT */
    pawl_mode requires;         /* of a node; PAWL_MODE_NONE: none */
    bool node;                  /* a node of the graph: allowed when nothing decides; false, a tool of a model: asked then */
    bool read_only;             /* it runs where it can only read: plan mode allows it */
    bool deny_gate;             /* a mode below `requires` denies; false: it asks */
    bool edited;                /* a person changed the arguments: a hook that rewrites them then denies */
    bool rewritten;             /* a hook changed the arguments */
    pawl_behavior hook;         /* the merged verdict of the hooks; PAWL_BEHAVIOR_OPEN: none */
    const char *hook_name, *hook_reason;    /* of the hook that decided; NULL: none */
    int64_t time_ms;            /* now, for rules with an end */
} pawl_request;

typedef enum pawl_ground {      /* what decided */
    PAWL_GROUND_DEFAULT = 1, PAWL_GROUND_ALLOW_RULE = 2, PAWL_GROUND_HOOK = 3, PAWL_GROUND_MODE = 4, PAWL_GROUND_ASK_RULE = 5, PAWL_GROUND_DENY_RULE = 6,
    PAWL_GROUND_SYNTAX = 7          /* a command, path or URL that cannot be read for certain is asked */
} pawl_ground;
PAWL_API const char *pawl_ground_name(pawl_ground g);              /* "deny rule" */

typedef struct pawl_decision {
    pawl_behavior behavior;     /* PAWL_BEHAVIOR_OPEN: only from pawl_decide_first, no deny rule fits */
    pawl_ground ground;
    size_t rule;                /* its index; SIZE_MAX: no rule */
    char part[160];             /* the part of a compound command that decided; "": the whole call */
    char reason[320];           /* one line: the decision, what decided, and the call */
} pawl_decision;

/* The deny rules alone (PAWL_BEHAVIOR_DENY or PAWL_BEHAVIOR_OPEN): called before the hooks, so that no hook delays a deny. */
PAWL_API void pawl_decide_first(const pawl_policy *p, const pawl_request *q, pawl_decision *out);
PAWL_API void pawl_decide(const pawl_policy *p, const pawl_request *q, pawl_decision *out);

/* Calls `fn` with each path that the decision depends on, as its key in `links`; a path may come more than once. `fn` returns false to stop. */
typedef bool pawl_path_fn(void *ctx, const char *path);
PAWL_API void pawl_policy_paths(const pawl_policy *p, const pawl_request *q, pawl_path_fn *fn, void *ctx);

/* Whether a command of a model may connect to that port of `host` from its sandbox (P13): an allow rule Network(HOST:PORT) fits, and no deny or ask rule
 * does. *by_name: an allow rule names that very host, so it may be a private one. `p` may be NULL: no rules. */
PAWL_API bool pawl_policy_network(const pawl_policy *p, const char *host, uint16_t port, int64_t time_ms, bool *by_name);
PAWL_API bool pawl_policy_networks(const pawl_policy *p);          /* some allow rule is about the network; `p` may be NULL */

/* ---- explaining ------------------------------------------------------------------------------------------------ */

/* The decision, and `fn` with each rule that fits the call, in order of precedence; `decides`: this rule decided. `fn` may be NULL, and returns
 * false to stop. */
typedef bool pawl_fits_fn(void *ctx, size_t rule, const char *part, bool decides);
PAWL_API void pawl_policy_why(const pawl_policy *p, const pawl_request *q, pawl_decision *out, pawl_fits_fn *fn, void *ctx);
/* Calls `fn` with each rule that can never decide, because rule `by` always decides before it. */
typedef bool pawl_shadow_fn(void *ctx, size_t rule, size_t by);
PAWL_API void pawl_policy_shadowed(const pawl_policy *p, pawl_shadow_fn *fn, void *ctx);
/* Calls `fn` with sample calls, made from the rules of both, that the two policies decide differently. `tool` and `spec`: the call, as a rule names it.
 * PAWL_OK, also when there are none, or PAWL_NOMEM. */
typedef bool pawl_differs_fn(void *ctx, const char *tool, const char *spec, const pawl_decision *a, const pawl_decision *b);
PAWL_API PAWL_MUST_USE pawl_code pawl_policy_diff(const pawl_policy *a, const pawl_policy *b, pawl_mode mode, pawl_differs_fn *fn, void *ctx);
/* The rules that would allow this call from now on, for the answer "always": at most 5, NUL-terminated. Returns how many; 0: rules cannot express the
 * whole call. */
enum { PAWL_ALWAYS_MAX = 5, PAWL_RULE_BYTES = 512 };
PAWL_API size_t pawl_policy_always(const pawl_policy *p, const pawl_request *q, char rules[PAWL_ALWAYS_MAX][PAWL_RULE_BYTES]);

#ifdef __cplusplus
}
#endif

#endif
