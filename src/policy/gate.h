/* gate.h - may a tool be called as it is about to be? Rules, hooks, the mode and a person, in their order (P2, P4, P5, W6).
 *
 * One pure process, written from top to bottom. What it has to know of the world it asks of its world, below: a question that was answered
 * before is answered at once, with the same; the first that was not ends the process, which is begun anew when the answer is there. So it
 * is a function of what was said, and of nothing else. */
#ifndef POLICY_GATE_H
#define POLICY_GATE_H

#include "policy/hook.h"

typedef struct gate_asks {      /* of a person */
    const char *prompt;
    const pawl_value *schema, *about;   /* what the answer is bound to: the digest of the call, and all that is shown of it */
    int64_t timeout_ms;         /* 0: none; else a no after it */
} gate_asks;

/* Each returns PAWL_OK with the answer, PAWL_PENDING where there is none yet, or what is wrong. */
typedef struct gate_world {
    pawl_code (*call)(void *ctx, const char *effect, const pawl_value *args, const pawl_value **receipt);     /* "hook", "links"; PAWL_EFFECT: it failed, with why */
    pawl_code (*signal)(void *ctx, const char *name, const pawl_value **value);
    pawl_code (*ask)(void *ctx, const gate_asks *q, const pawl_value **answer);
    void *ctx;
} gate_world;

typedef struct tool_gate {
    /* given */
    arena *mem;
    gate_world world;
    const pawl_policy *policy;  /* NULL: there are no rules */
    const hook_list *hooks;
    const pawl_value *limits;   /* what the policy was read from, for its other members; NULL: nothing */
    const char *run, *cwd;      /* cwd NULL: not known */
    const char *tool;           /* as rules and hooks have it: "Bash" */
    const char *call;           /* the tool call's id */
    const char *graph;          /* the machine's hash */
    pawl_permission cls;
    pawl_mode mode;
    bool read_only;             /* where it runs it can only read: plan mode lets it */
    bool asks;                  /* whatever else was said, a person is asked, unless it is denied */
    const char *prompt;         /* what is asked then; NULL: why it is asked */
    int64_t time_ms;
    const pawl_value *input;    /* from here on what hooks and people make of it */
    /* what came of it */
    bool changed;               /* they have */
    const pawl_value *result;   /* a hook's: the tool does not run, this is what came of it; NULL: it runs */
    const pawl_value *digest;   /* of the call that a person let in; NULL: nobody was asked */
    pawl_decision decided;
    const char *reason;         /* of a denial */
    bool stops;                 /* a hook ends everything */
    bool by_person;             /* the denial is one */
    /* on the way */
    const pawl_value *links, *linked;
    verdict said;
    const hook_entry *hook;
} tool_gate;

/* The hooks of `rules`, and the policy that they are; `grants` are what was allowed to the run alone. *policy NULL: there are no rules. Free it. */
pawl_code gate_read(arena *mem, const pawl_value *rules, const pawl_value *grants, pawl_policy **policy, hook_list *hooks, pawl_err *err);
/* `policy` with what was allowed in the run alone. NULL: there are no rules. */
const pawl_value *gate_rules(arena *mem, const pawl_value *policy, const pawl_value *grants);

/* Before the tool runs. PAWL_OK: it may, with `input`, or `result` stands for it. PAWL_DENIED: `reason`. PAWL_PENDING; or what is wrong. */
pawl_code gate_enter(tool_gate *g, pawl_err *err);
/* After it: *result may be another one. `failed`: it is an error. PAWL_DENIED: `reason`. */
pawl_code gate_leave(tool_gate *g, bool failed, const pawl_value **result, pawl_err *err);
/* How it came to be allowed, for the journal; NULL: no memory. */
const pawl_value *gate_decision(const tool_gate *g);

#endif
