/* policy.h - who may do what: pure functions, whose every answer says which rule gave it (P1 to P5). No clock, no I/O: what has to be
 * looked up in the world (where a link leads) is looked up before, and given. */
#ifndef PAWL_POLICY_H
#define PAWL_POLICY_H

#include "pawl/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- modes (P1) ------------------------------------------------------------------------------------------ */

typedef enum pawl_mode { PAWL_MODE_NONE = 0, PAWL_PLAN = 1, PAWL_DEFAULT = 2, PAWL_ACCEPT_EDITS = 3, PAWL_BYPASS = 4 } pawl_mode;
typedef enum pawl_permission { PAWL_READ = 1, PAWL_EDIT = 2, PAWL_EXEC = 3, PAWL_NET = 4, PAWL_OTHER = 5 } pawl_permission;   /* a tool's class */
/* In the order in which they win. */
typedef enum pawl_behavior { PAWL_OPEN = 0, PAWL_ALLOW = 1, PAWL_ASK = 2, PAWL_DENY = 3 } pawl_behavior;

PAWL_API const char *pawl_mode_name(pawl_mode m);                  /* "acceptEdits"; "" of none */
PAWL_API pawl_mode pawl_mode_named(const char *name);              /* PAWL_MODE_NONE: no such mode; `name` may be NULL */
PAWL_API const char *pawl_permission_name(pawl_permission cls);    /* "edit"; "" of none */
PAWL_API const char *pawl_behavior_name(pawl_behavior b);          /* "open", "allow", "ask", "deny" */
PAWL_API bool pawl_mode_permits(pawl_mode now, pawl_mode required);    /* 10 of the 16 pairs */
/* What a mode says of a tool of that class; `inside`: what it edits lies in the workspace. PAWL_OPEN: the rules say. */
PAWL_API pawl_behavior pawl_mode_says(pawl_mode m, pawl_permission cls, bool inside);

/* ---- rules (P3) -------------------------------------------------------------------------------------------- */

/* Rules of several sources, read once and then asked by any thread. */
typedef struct pawl_policy pawl_policy;

/* `json`: {"allow","ask","deny": lists of rules, each "Tool", "Tool(spec)" or {"rule","from","base","until"}; "cwd": the workspace,
 * "directories": more that belong to it, "home": what ~ is}; "hooks" and "expires_ms" are for whoever decides by it, and
 * count for its digest. `from` names where a rule was written, and `base` the folder that / stands for in it; `until` (ms since 1970) is
 * when it ends. No rule is dropped: one that cannot be read is an error that names it. NULL: see err
 * (PAWL_INVALID, PAWL_LIMIT, PAWL_NOMEM). `alloc` may be NULL. */
PAWL_API pawl_policy *pawl_policy_read(const pawl_alloc *alloc, const char *json, size_t size, pawl_err *err);
PAWL_API void pawl_policy_free(pawl_policy *p);                    /* may be NULL */
/* SHA-256 of its canonical JSON, in hex: what an approval is bound to. */
PAWL_API const char *pawl_policy_digest(const pawl_policy *p);
PAWL_API size_t pawl_policy_count(const pawl_policy *p);           /* rules: deny ones first, then ask, then allow, each as they were given */
typedef struct pawl_rule_info {
    pawl_behavior behavior;
    const char *text, *from;    /* from "": not said */
    int64_t until_ms;           /* 0: for ever */
} pawl_rule_info;
PAWL_API pawl_rule_info pawl_policy_rule(const pawl_policy *p, size_t index);

/* ---- a decision (P2) ----------------------------------------------------------------------------------------- */

typedef struct pawl_request {
    const char *tool;           /* "Bash", "Read", "Edit", "WebFetch", "mcp__server__tool", ... */
    const pawl_value *args;     /* the final ones: "command" (a text, or a list of words), "file_path" or "path", "url", ... ; of a node also
                                 * "node", its name; NULL: none */
    const pawl_value *links;    /* {"PATH as in the arguments": "where it leads"}; NULL, or not in it: it is no link */
    pawl_permission cls;
    pawl_mode mode;             /* PAWL_MODE_NONE: PAWL_DEFAULT */
    pawl_mode requires;         /* of a node; PAWL_MODE_NONE: it said nothing */
    bool node;                  /* written by the author and started by the person: what nothing speaks of is allowed; else it is asked */
    bool read_only;             /* it runs where it can only read: plan mode lets it run */
    bool deny_gate;             /* what `requires` and the mode does not permit is denied, not asked */
    bool edited;                /* by a person: a hook that has rewritten it since denies */
    bool rewritten;             /* by a hook */
    pawl_behavior hook;         /* what the hooks came to; PAWL_OPEN: nothing, or there are none */
    const char *hook_name, *hook_reason;    /* of the one that gave it; NULL: none */
    int64_t time_ms;            /* for rules that end */
} pawl_request;

typedef enum pawl_ground {      /* what decided */
    PAWL_BY_DEFAULT = 1, PAWL_BY_ALLOW_RULE = 2, PAWL_BY_HOOK = 3, PAWL_BY_MODE = 4, PAWL_BY_ASK_RULE = 5, PAWL_BY_DENY_RULE = 6,
    PAWL_BY_SYNTAX = 7          /* a command, path or address that cannot be read for sure is asked */
} pawl_ground;
PAWL_API const char *pawl_ground_name(pawl_ground g);              /* "deny rule" */

typedef struct pawl_decision {
    pawl_behavior behavior;     /* never PAWL_OPEN */
    pawl_ground ground;
    size_t rule;                /* its index; SIZE_MAX: no rule */
    char part[160];             /* the part of a compound command that decided; "": all of it */
    char reason[320];           /* one line: what was decided, by what, and of what */
} pawl_decision;

/* Before the hooks: the deny rules alone (PAWL_DENY, or PAWL_OPEN), so that no hook delays a deny. */
PAWL_API void pawl_decide_first(const pawl_policy *p, const pawl_request *q, pawl_decision *out);
PAWL_API void pawl_decide(const pawl_policy *p, const pawl_request *q, pawl_decision *out);     /* `p` may be NULL: no rules */

/* The paths that the decision looks at, as they have to stand in `links`, some of them more than once; none where no rule is about paths.
 * False: no more. */
typedef bool pawl_path_fn(void *ctx, const char *path);
PAWL_API void pawl_policy_paths(const pawl_policy *p, const pawl_request *q, pawl_path_fn *fn, void *ctx);

/* ---- looked at ------------------------------------------------------------------------------------------------ */

/* Every rule that fits the call, in the order in which they were asked; `decides`: it gave the answer, the others lost. False: no more. */
typedef bool pawl_fits_fn(void *ctx, size_t rule, const char *part, bool decides);
PAWL_API void pawl_policy_why(const pawl_policy *p, const pawl_request *q, pawl_decision *out, pawl_fits_fn *fn, void *ctx);
/* Rules that never decide, since `by` always does before them. False: no more. */
typedef bool pawl_shadow_fn(void *ctx, size_t rule, size_t by);
PAWL_API void pawl_policy_shadowed(const pawl_policy *p, pawl_shadow_fn *fn, void *ctx);
/* Calls, made from the rules of both, that the two decide differently. `tool`, `spec`: the call, as a rule would name it. PAWL_NOMEM. */
typedef bool pawl_differs_fn(void *ctx, const char *tool, const char *spec, const pawl_decision *a, const pawl_decision *b);
PAWL_API PAWL_MUST_USE pawl_code pawl_policy_diff(const pawl_policy *a, const pawl_policy *b, pawl_mode mode, pawl_differs_fn *fn, void *ctx);
/* The rules that would allow this call from now on: for "always". At most 5, and none when the call cannot be told by rules (then 0): what
 * is not told whole is not offered. Each is written to `rules`, with its NUL. */
enum { PAWL_ALWAYS_MAX = 5, PAWL_RULE_BYTES = 512 };
PAWL_API size_t pawl_policy_always(const pawl_policy *p, const pawl_request *q, char rules[PAWL_ALWAYS_MAX][PAWL_RULE_BYTES]);

#ifdef __cplusplus
}
#endif

#endif
