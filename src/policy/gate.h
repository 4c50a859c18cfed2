/* gate.h - whether a tool may be called, or a node may act: rules, hooks, the mode and a person, in their order (P2, P4, P5, W6).
 *
 * A pure function, written from top to bottom. What it needs from outside it asks through gate_world: a question that was answered before returns
 * the same answer at once; the first open one ends the function (PAWL_PENDING), which is called again from the top when the answer is there. So the
 * result depends on the answers in the journal alone. Used by src/agent and src/file, on the thread that drives the run. */
#ifndef POLICY_GATE_H
#define POLICY_GATE_H

#include "policy/hook.h"

typedef struct gate_asks {      /* a question to a person: true, false, or {"approve","input","note"} where the world allows changes */
    const char *prompt;
    const pawl_value *about;    /* what the answer is bound to: the digest of the call, and what is shown of it; NULL: no call */
    int64_t timeout_ms;         /* 0: none; else the answer is no after it */
    const pawl_value *approvers;        /* {"keys","need"}: whose signatures count (P11); NULL: anybody's answer does */
} gate_asks;

typedef struct gate_yes {       /* the approval of a person */
    bool given;
    const pawl_value *digest;   /* of the call that was approved; NULL: a node without a call */
    const char *law;            /* digest of the rules at the time of the question; NULL: no rules */
    const pawl_value *proof;    /* its signatures; NULL: nobody had to sign */
} gate_yes;

/* Callbacks. Each returns PAWL_OK with the answer, PAWL_PENDING or PAWL_INTERRUPTED when there is none yet, or an error. */
typedef struct gate_world {
    pawl_code (*call)(void *ctx, const char *effect, const pawl_value *args,
                      const pawl_value **receipt);     /* "hook", "links"; PAWL_EFFECT: it failed, with why */
    pawl_code (*signal)(void *ctx, const char *name, const pawl_value **value);
    pawl_code (*ask)(void *ctx, const gate_asks *q, const pawl_value **answer);
    void *ctx;
    /* Completes the request for the current input. NULL: nothing to add. */
    void (*request)(void *ctx, pawl_request *q);
    /* After an approval: puts rules that changed meanwhile into the gate; *changed: decide again. NULL: the caller starts a new gate then. */
    pawl_code (*renew)(void *ctx, bool *changed);
} gate_world;

typedef struct tool_gate {
    /* in */
    arena *mem;
    gate_world world;
    const pawl_policy *policy;  /* NULL: no rules and no hooks */
    const hook_list *hooks;
    const pawl_value *limits;   /* the JSON of the policy, for its other members; NULL: none */
    const char *run, *cwd;      /* cwd NULL: unknown */
    const char *at;             /* the folder that the call itself names, absolute; NULL: `cwd`. Links are resolved from `cwd` alone */
    const char *node;           /* its name, which rules and hooks may name, too; NULL: a tool of an agent */
    const char *tool;           /* as in rules and hooks: "Bash"; NULL: a node that calls nothing */
    const char *call;           /* id of the tool call; NULL: a node */
    const char *graph;          /* the machine's hash */
    pawl_permission cls;
    pawl_mode mode;
    bool read_only;             /* it runs where it can only read: plan mode allows it */
    bool asks;                  /* a person is asked whatever allows it, unless it is denied */
    const char *prompt;         /* the text of that question; NULL: the reason why it is asked */
    int64_t time_ms;
    const pawl_value *approvers;        /* {"need","of":[NAME..]} of its author; NULL: those of the policy, if it has some */
    const pawl_value *with;     /* part of the call that is not in its input; NULL: none */
    const pawl_value *input;    /* in and out: hooks and people may change it. NULL: none */
    /* out */
    bool changed;               /* the input was changed */
    const pawl_value *result;   /* of a hook, in place of running the tool; NULL: run it */
    const pawl_value *digest;   /* of the call that a person approved; NULL: no person was asked */
    pawl_decision decided;
    const char *reason;         /* of a denial */
    bool stops;                 /* a hook ends the run or turn */
    bool by_person;             /* a person denied it */
    verdict said;               /* of the hooks: before the call, or after it */
    const hook_entry *hook;     /* the one that decided; NULL: none */
    const char *fed;            /* of hooks in the manner of Claude Code: for the model, beside the result; NULL: nothing, here and below */
    const char *shown;          /* of them: for the person */
    /* state */
    const pawl_value *links;    /* symbolic links of its paths, resolved */
    const pawl_value *linked;   /* the input for which `links` is valid */
    bool unlooked;              /* it has more paths than were looked up */
    const pawl_value *edit;     /* the input as a person changed it; NULL: unchanged */
    gate_yes yes;
} tool_gate;

/* The parts of a policy; policy_cache_get() puts them together. `policy` with the grants of this run; NULL: no rules. */
const pawl_value *gate_rules(arena *mem, const pawl_value *policy, const pawl_value *grants);
enum { POLICY_PROTECTED_MAX = 1000 };   /* paths in "protected" */
/* Compiled; free it with pawl_policy_free. NULL: see err; `rules` NULL is PAWL_NOMEM. */
pawl_policy *gate_policy(const pawl_alloc *alloc, const pawl_value *rules, pawl_err *err);
/* The hooks of `rules`; none where `rules` is NULL. */
pawl_code gate_hooks(arena *mem, const pawl_value *rules, hook_list *hooks, pawl_err *err);

/* For the handler of a tool: `args` with "directories", the folders of the workspace beside the working folder, and "read_only", those of them in
 * which a deny rule forbids edits; `args` itself where there are none. NULL: no memory. */
const pawl_value *gate_folders(arena *mem, const pawl_value *rules, const pawl_policy *p, const pawl_value *args);

/* A path of a call as text alone makes it absolute, without . and ..; links are not looked at. NULL: it cannot be, or there is no memory. */
const char *gate_path(arena *mem, const pawl_value *path, const char *cwd);

/* Decides by rules and mode. Rules may name a call, and a node by {"name"}: the stricter decision counts, and an allow of either when nothing else
 * decides. `name` NULL: not a node. `first`: deny rules alone. */
void gate_decided(const pawl_policy *p, const pawl_request *q, const pawl_value *name, bool first, pawl_decision *out);

/* Before the call. PAWL_OK: run it with `input`, or take `result` in its place. PAWL_DENIED: `reason`. Else PAWL_PENDING, PAWL_INTERRUPTED, or an error
 * in err. */
pawl_code gate_enter(tool_gate *g, pawl_err *err);
/* After the call: hooks may replace *result; `said` is their verdict. `failed`: the result is an error. PAWL_DENIED: `reason`, by `hook`. */
pawl_code gate_leave(tool_gate *g, bool failed, const pawl_value **result, pawl_err *err);
/* Why it was allowed, for the journal; NULL: no memory. */
const pawl_value *gate_decision(const tool_gate *g);

/* ---- life cycle hooks of an agent ---------------------------------------------------------------------- */

/* No call, so no rules: hooks alone, through the world's `call`. */
typedef struct moment_gate {
    /* in */
    arena *mem;
    gate_world world;
    const hook_list *hooks;
    hook_point point;
    const char *run, *cwd;      /* cwd NULL: unknown */
    pawl_mode mode;
    bool unasked;               /* what would be asked is denied, which Claude Code calls a mode */
    const pawl_value *about;    /* in and out: an object for the hooks; they may change its prompt */
    /* out; a deny only at points where a hook may deny */
    verdict said;
    bool changed;               /* the prompt was changed */
} moment_gate;
const char *moment_of(hook_point point, const pawl_value *about);       /* what matchers are compared with; NULL: nothing */
bool moment_wanted(const moment_gate *g);       /* at least one hook fits */
pawl_code gate_moment(moment_gate *g, pawl_err *err);
/* The arguments of the effect "hook" for `h`; NULL: no memory. */
const pawl_value *moment_order(const moment_gate *g, const hook_entry *h);

#endif
