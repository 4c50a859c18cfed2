/* gate.h - may a tool be called, or a node do what it does, as it is about to? Rules, hooks, the mode and a person, in their order (P2, P4,
 * P5, W6).
 *
 * One pure process, written from top to bottom. What it has to know of the world it asks of its world, below: a question that was answered
 * before is answered at once, with the same; the first that was not ends the process, which is begun anew when the answer is there. So it
 * is a function of what was said, and of nothing else. */
#ifndef POLICY_GATE_H
#define POLICY_GATE_H

#include "policy/hook.h"

typedef struct gate_asks {      /* of a person, who says true, false, or {"approve","input","note"}, the last two where the world lets him */
    const char *prompt;
    const pawl_value *about;    /* what the answer is bound to: the digest of the call, and all that is shown of it; NULL: there is no call */
    int64_t timeout_ms;         /* 0: none; else a no after it */
} gate_asks;

typedef struct gate_yes {       /* of a person: */
    bool given;
    const pawl_value *digest;   /* to which call; NULL: to a node that has none */
    const char *law;            /* the digest of the rules that he was asked by; NULL: there were none */
} gate_yes;

/* Each returns PAWL_OK with the answer, PAWL_PENDING or PAWL_INTERRUPTED where there is none yet, or what is wrong. */
typedef struct gate_world {
    pawl_code (*call)(void *ctx, const char *effect, const pawl_value *args,
                      const pawl_value **receipt);     /* "hook", "links"; PAWL_EFFECT: it failed, with why */
    pawl_code (*signal)(void *ctx, const char *name, const pawl_value **value);
    pawl_code (*ask)(void *ctx, const gate_asks *q, const pawl_value **answer);
    void *ctx;
    /* What else is known of the call with the input that it has now. NULL: nothing. */
    void (*request)(void *ctx, pawl_request *q);
    /* After a yes: rules that came since are in the gate from here on; *changed: some did, and decide anew. NULL: whoever has the gate begins
     * another one then. */
    pawl_code (*renew)(void *ctx, bool *changed);
} gate_world;

typedef struct tool_gate {
    /* given */
    arena *mem;
    gate_world world;
    const pawl_policy *policy;  /* NULL: there are no rules, and no hooks */
    const hook_list *hooks;
    const pawl_value *limits;   /* what the policy was read from, for its other members; NULL: nothing */
    const char *run, *cwd;      /* cwd NULL: not known */
    const char *node;           /* its name, by which rules and hooks speak of it, too; NULL: it is an agent's tool */
    const char *tool;           /* as rules and hooks have it: "Bash"; NULL: a node that calls nothing */
    const char *call;           /* the tool call's id; NULL: of a node */
    const char *graph;          /* the machine's hash */
    pawl_permission cls;
    pawl_mode mode;
    bool read_only;             /* where it runs it can only read: plan mode lets it */
    bool asks;                  /* whatever else was said, a person is asked, unless it is denied */
    const char *prompt;         /* what is asked then; NULL: why it is asked */
    int64_t time_ms;
    const pawl_value *with;     /* what belongs to the call, and its input does not say; NULL: nothing */
    const pawl_value *input;    /* from here on what hooks and people make of it; NULL: it has none, or nobody looks at it */
    /* what came of it */
    bool changed;               /* they have */
    const pawl_value *result;   /* a hook's: the tool does not run, this is what came of it; NULL: it runs */
    const pawl_value *digest;   /* of the call that a person let in; NULL: nobody was asked */
    pawl_decision decided;
    const char *reason;         /* of a denial */
    bool stops;                 /* a hook ends everything */
    bool by_person;             /* the denial is one */
    verdict said;               /* of the hooks before it, or after it; */
    const hook_entry *hook;     /* and which of them decided */
    /* on the way */
    const pawl_value *links;    /* where its paths lead; */
    const pawl_value *linked;   /* of which input that was asked */
    const pawl_value *edit;     /* what a person has made of it; NULL: nothing */
    gate_yes yes;
} tool_gate;

/* The parts of a policy; policy_cache_get() puts them together. `policy` with what was allowed in the run alone; NULL: there are no rules. */
const pawl_value *gate_rules(arena *mem, const pawl_value *policy, const pawl_value *grants);
/* What `rules` say, compiled: free it. NULL: see err, and `rules` NULL is PAWL_NOMEM. */
pawl_policy *gate_policy(const pawl_alloc *alloc, const pawl_value *rules, pawl_err *err);
/* The hooks of `rules`; none where `rules` is NULL. */
pawl_code gate_hooks(arena *mem, const pawl_value *rules, hook_list *hooks, pawl_err *err);

/* The folders of the workspace beside the one that a tool runs in, for its handler: `args` with "directories", and "read_only", those of them in which
 * a deny rule lets nobody edit; `args` itself where there are none. NULL: no memory. */
const pawl_value *gate_folders(arena *mem, const pawl_value *rules, const pawl_policy *p, const pawl_value *args);

/* Rules speak of a call, and of a node by its name, {"name"}; the stricter of the two counts, and an allow of either where nothing else was
 * said. `name` NULL: it is no node. `first`: the deny rules alone. */
void gate_decided(const pawl_policy *p, const pawl_request *q, const pawl_value *name, bool first, pawl_decision *out);

/* Before it runs. PAWL_OK: it may, with `input`, or `result` stands for it. PAWL_DENIED: `reason`. Else as the world has it, or what is wrong:
 * then err is set. */
pawl_code gate_enter(tool_gate *g, pawl_err *err);
/* After it: *result may be another one, and `said` is what the hooks came to. `failed`: it is an error. PAWL_DENIED: `reason`, by `hook`. */
pawl_code gate_leave(tool_gate *g, bool failed, const pawl_value **result, pawl_err *err);
/* How it came to be allowed, for the journal; NULL: no memory. */
const pawl_value *gate_decision(const tool_gate *g);

/* ---- a moment in the life of an agent ---------------------------------------------------------------------- */

/* No call, and so no rules: hooks alone. The same process, of its world's `call`. */
typedef struct moment_gate {
    /* given */
    arena *mem;
    gate_world world;
    const hook_list *hooks;
    hook_point point;
    const char *run, *cwd;      /* cwd NULL: not known */
    pawl_mode mode;
    const pawl_value *about;    /* an object: what is to be said of it; from here on with the prompt that hooks have made of it */
    /* what came of it: a deny only where there can be one */
    verdict said;
    bool changed;               /* the prompt was */
} moment_gate;
const char *moment_of(hook_point point, const pawl_value *about);       /* what matchers are held against; NULL: nothing */
bool moment_wanted(const moment_gate *g);       /* some hook is to be asked */
pawl_code gate_moment(moment_gate *g, pawl_err *err);
/* What `h` is asked with: the arguments of the effect `hook`; NULL: no memory. */
const pawl_value *moment_order(const moment_gate *g, const hook_entry *h);

#endif
