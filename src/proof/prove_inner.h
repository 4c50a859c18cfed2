/* prove_inner.h - the structures that the files of the prover share. Private to this folder; everything is in the arena of one search, on one thread. */
#ifndef PROOF_PROVE_INNER_H
#define PROOF_PROVE_INNER_H

#include "file/run/permission.h"
#include "proof/prove.h"
#include "graph/search.h"

/* prove_call.c: what may become of one node's call. */
typedef struct rules {              /* of the whole search */
    arena *mem;
    const prove_ask *q;
    const pawl_value *policy;       /* with the grants; NULL: none */
    hook_list hooks;
    const int64_t *times;           /* moments between which no rule ends; */
    size_t ntimes;
    uint64_t decided;               /* how many decisions were made */
} rules;

typedef struct trace {              /* why a call passes without an approval */
    pawl_ground ground;
    const char *rule;               /* NULL: none */
    const char *unfit;              /* an ask rule that a text need not fit; NULL */
    const char *text;               /* an unknown text that may be this one; NULL */
    const char *hook, *outcome;     /* the last hook with an effect; NULL: none */
    bool opened;                    /* the hook failed, and its profile lets the call pass */
} trace;

typedef struct node_judgement {             /* of one node in one mode */
    bool acts;                      /* it may change something, and is not in `except` */
    bool asks, denies;
    bool passes;                    /* it acts without an approval: see `how` */
    bool replaced;                  /* a hook replaces its result */
    bool slips;                     /* after an approval it is called with the arguments of a hook */
    bool reroutes;                  /* a hook chooses the next node */
    trace how, asked;               /* asked: by which hook, if by one */
} node_judgement;

pawl_code rules_read(rules *r, pawl_err *err);
pawl_code call_judge(rules *r, const file_node *n, pawl_mode mode, node_judgement *out, pawl_err *err);
bool form_unknown(const form *f);                               /* an expression is in it */
const char *call_words(arena *mem, const file_node *n);         /* "run find ." for people; NULL: no memory */

/* prove_visit.c */
enum { WAY_ON = 1, WAY_NO = 2, WAY_ERROR = 4, WAY_ROUTED = 8 };
typedef struct visiting {
    unsigned ways;                  /* how it may leave */
    bool broken;                    /* a command was dispatched without an approval */
    const char *slip;               /* by this event; NULL: by the decision */
    uint32_t states, transitions;
} visiting;
void visit_explore(const file_node *n, const node_judgement *j, visiting *out);

/* prove_constant.c: what an expression is in every run. */
typedef enum constant_truth { CONSTANT_OPEN, CONSTANT_NO, CONSTANT_YES } constant_truth;
constant_truth constant_condition(arena *mem, const expression *e);     /* e NULL: an `else` */
constant_truth constant_list(arena *mem, const expression *e);          /* whether it has an element */

/* prove.c: what was searched. */
typedef struct seen_node {          /* one node in one mode */
    bool known;
    node_judgement j;
    visiting v;
    unsigned char *ways;            /* of each option of its exit: WAY_ON, ... */
} seen_node;
typedef struct seen_graph seen_graph;
typedef struct graph_search_result {              /* a graph, searched in one mode, or in all that there are */
    bool known, completes, broken;
    size_t cost;                    /* steps to the hole */
    uint32_t hole, end;             /* states: where it is, and one where the graph is done */
    size_t node;                    /* of the hole */
    check_set states;               /* each with its mode behind it */
    uint32_t *parents, *depths;
    size_t parents_cap, depths_cap;
} graph_search_result;
enum { PROVE_MODES = PAWL_MODE_BYPASS + 1 };
struct seen_graph {
    const agent_file *a;
    const pawl_graph *g;
    const char *prefix;             /* "sub/" */
    search s;
    check_exit *exits;              /* that the search itself made; */
    check_exit *own[PROVE_MODES];   /* and those of each mode. NULL: not yet */
    seen_node *nodes[PROVE_MODES];
    seen_graph **inner;             /* by node; NULL: none, or not yet */
    graph_search_result in[PROVE_MODES];          /* [0]: with switches */
};
typedef struct proving {
    const prove_ask *q;
    rules rules;
    arena *mem;
    pawl_err *err;
    pawl_code rc;
    unsigned modes;
    uint64_t states, transitions;
    size_t limit;
    const char *cut;                /* which limit ended it; NULL: none */
    const char *apart;              /* a node of which nothing is proved, and why; NULL: none */
    seen_graph *root;
} proving;
/* prove_path.c: the node of the file at index `at` of the graph; of a choice, the node that evaluates it; NULL: @start. */
const file_node *seen_file_node(const seen_graph *g, size_t at);
/* The steps to the hole, appended to `steps`; or, without `hole`, until the graph is done. NULL: no memory. */
const pawl_value *path_steps(proving *p, seen_graph *g, const graph_search_result *f, bool hole, const pawl_value *steps);
const char *path_why(arena *mem, const seen_graph *g, size_t node, pawl_mode mode);

#endif
