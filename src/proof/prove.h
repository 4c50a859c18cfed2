/* prove.h - proves that no destructive command of a graph is dispatched without a person's approval, or finds a counterexample, by a search.
 *
 * A state is the set of next nodes and the mode. Decisions that depend on values are left open: every edge may be taken, every expression may fail,
 * every hook may give any verdict, an unknown text may fit any rule or none. So a proof holds for every run. A path to a counterexample is possible
 * in the graph; prove_replay() finds out whether values lead along it. Pure; one thread. */
#ifndef PROOF_PROVE_H
#define PROOF_PROVE_H

#include "file/reader.h"

enum {
    PROVE_STATES_MAX = 1000000,     /* of one search; with more the result is undecided */
    PROVE_RULES_MAX = 10000         /* rules of one policy */
};

typedef enum prove_verdict { PROVE_UNDECIDED = 0, PROVE_PROVED = 1, PROVE_BROKEN = 2 } prove_verdict;

typedef struct prove_ask {
    unsigned modes;                 /* modes that the run may have, 1u << PAWL_MODE_PLAN and so on; 0: all except bypassPermissions */
    const char *const *except;      /* nodes that may act without approval: "write", in a subgraph "sub/write" */
    size_t nexcept;
    const pawl_value *policy;       /* as in "@policy"; NULL: no rules */
    const pawl_value *grants;       /* as in "@grants"; NULL: none */
    bool hooks_ask;                 /* assume that a hook that answers asks or denies; a failed hook counts by its profile */
    size_t states_max;              /* 0: PROVE_STATES_MAX */
} prove_ask;

typedef struct prove_result {
    prove_verdict verdict;
    uint64_t states, transitions;
    const pawl_value *json;         /* the certificate, or {"proved":false,"path":[..]} */
    const char *why;                /* PROVE_BROKEN: the last line of the path; PROVE_UNDECIDED: the limit that was reached */
} prove_result;

/* Proves the machine that build.c made from `a`; the result is in `mem`. PAWL_OK: *out is the result; PAWL_INVALID: `q` names a node that does not
 * exist, or rules that cannot be read; PAWL_NOMEM. */
PAWL_MUST_USE pawl_code file_prove(const agent_file *a, const pawl_machine *m, const prove_ask *q, arena *mem, prove_result *out, pawl_err *err);

/* prove_replay.c: drives the machine along `path`, the "path" of a result, by kernel steps alone. *left: the last command was dispatched without an
 * approval; else *why says where the machine left the path. */
PAWL_MUST_USE pawl_code prove_replay(const agent_file *a, const pawl_machine *m, const pawl_value *policy, const pawl_value *path, arena *mem,
                                     bool *left,
                                     const char **why, pawl_err *err);

#endif
