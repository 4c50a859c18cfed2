/* prove.h - whether a command that may destroy something can be dispatched without the approval of a person: a search over all that a graph can do.
 *
 * A state is what is next in the graph and the mode. Whatever values would decide is left open: every way on may be taken, every
 * expression may fail, every hook may say anything, a text that is not known may fit any rule and none. So what is proved holds for every
 * run; a path that is found is one that the graph allows, and prove_replay looks whether values lead there. */
#ifndef PROOF_PROVE_H
#define PROOF_PROVE_H

#include "file/reader.h"

enum {
    PROVE_STATES_MAX = 1000000,     /* of one search; more is not decided */
    PROVE_RULES_MAX = 10000         /* of one policy */
};

typedef enum prove_verdict { PROVE_UNDECIDED = 0, PROVE_PROVED = 1, PROVE_BROKEN = 2 } prove_verdict;

typedef struct prove_ask {
    unsigned modes;                 /* that may be given, 1u << PAWL_PLAN and so on; 0: all but bypassPermissions */
    const char *const *except;      /* nodes that may act all the same: "write", of an inner graph "sub/write" */
    size_t nexcept;
    const pawl_value *policy;       /* as in "@policy"; NULL: no rules */
    const pawl_value *grants;       /* as in "@grants"; NULL: none */
    bool hooks_ask;                 /* a hook that answers is taken to ask or to deny; what fails counts by its profile */
    size_t states_max;              /* 0: PROVE_STATES_MAX */
} prove_ask;

typedef struct prove_result {
    prove_verdict verdict;
    uint64_t states, transitions;
    const pawl_value *json;         /* the certificate, or {"proved":false,"path":[..]} */
    const char *why;                /* PROVE_BROKEN: its last line; PROVE_UNDECIDED: which limit */
} prove_result;

/* Of the machine that build.c made of `a`; what is found is in `mem`. PAWL_OK, and *out says what; PAWL_INVALID: `q` names what is not there
 * or rules that cannot be read; PAWL_NOMEM. */
PAWL_MUST_USE pawl_code file_prove(const agent_file *a, const pawl_machine *m, const prove_ask *q, arena *mem, prove_result *out, pawl_err *err);

/* prove_replay.c: drive the machine along `path`, the "path" of a result, by kernel steps alone. *left: the command that it ends with left
 * without a yes; else *why says where the machine went otherwise. */
PAWL_MUST_USE pawl_code prove_replay(const agent_file *a, const pawl_machine *m, const pawl_value *policy, const pawl_value *path, arena *mem,
                                     bool *left,
                                     const char **why, pawl_err *err);

#endif
