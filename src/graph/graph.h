/* graph.h - inside the graph: the structures that the builder makes, and the functions that drive them.
 *
 * A graph is owned by its author while it is built, then by its machine; it is immutable after compile. Everything that drives a run is called inside
 * one step, on the thread that owns the step. */
#ifndef GRAPH_GRAPH_H
#define GRAPH_GRAPH_H

#include "kernel/frame.h"
#include "kernel/item.h"
#include "kernel/machine.h"
#include "kernel/task_index.h"
#include "pawl/graph.h"

enum { START_INDEX = 0 };       /* @start is a node that never runs */

typedef enum way_kind { WAY_EDGE = 1, WAY_ROUTE = 2, WAY_WHEN = 3 } way_kind;

typedef struct way {            /* an edge, a route or a condition of a node */
    struct way *next;
    way_kind kind;
    const char *to;             /* edge, when: the target */
    uint32_t index;             /* edge: index of the target, set by compile; for @end START_INDEX */
    pawl_route_fn *route;
    pawl_when_fn *when;         /* NULL: the else branch */
    void *arg;
    const char *otherwise;      /* route: the target when no other matches; NULL: none */
    const char **targets;
    uint32_t ntargets;
} way;

typedef struct hook {
    struct hook *next;
    const char *effect;
    uint8_t phase;
    bool state;                 /* its arguments have the state */
} hook;

typedef struct map {
    struct map *next;
    const char *outer, *inner;
    bool in, out;
} map;

typedef enum gnode_kind { GNODE_START = 0, GNODE_PURE = 1, GNODE_WORK = 2, GNODE_SUB = 3 } gnode_kind;

typedef struct gnode {
    const char *name;
    uint32_t hash;
    uint32_t size;              /* bytes of the name */
    uint8_t kind;
    bool before, after, defer;
    uint8_t requires;           /* mode_rank; RANK_NONE: not declared */
    pawl_node_fn *fn;
    void *arg;
    const char *effect, *error_to, *no_to;      /* of a work node; those of `gotos` to which a failure and a no lead, for drawings, NULL: none */
    pawl_graph *sub;
    map *maps;
    way *ways, *last_way;
    const char **gotos;         /* declared targets of goto and send */
    uint32_t ngotos;
    const char **writes;        /* channels that the node declares to write */
    uint32_t nwrites;
    const char *gate, *gate_no;
    bool gate_waits;            /* a no is journaled, and asked again */
    const char *note;           /* its label in pictures; NULL: its kind */
    bool has_retry, has_limits;
    pawl_retry retry;
    pawl_limits limits;         /* of a work node's command */
    uint32_t attempt_ms, total_ms;
    hook *hooks, *last_hook;    /* of this node; compile puts the graph's hooks before them */
    bool has_routes;                /* has a route or a condition */
    uint32_t index;             /* in the graph's nodes */
    bool plain;                 /* has exactly one edge: see plan_plain() */
    bool bare;                  /* has only a function: no hook, gate, interrupt, retry or limits */
    bool asks;                  /* its first pass always issues commands, so opening its superstep early is useful */
} gnode;

typedef struct join {
    struct join *next;
    const char *name;           /* "a+b:target" */
    const char *to;
    const char **from;
    uint32_t nfrom, k;
    uint8_t rest;
    uint32_t *at;               /* indexes of `from`; compile sets them and to_at */
    uint32_t to_at;
    bool *again;                /* by source, if not all are needed: the target may lead to it, so that it comes again in the next round */
    bool *leads, *passes;       /* by node, if the graph settles: it may still lead to a source; it may lead past them to `to` */
} join;

typedef struct fault {
    struct fault *next;
    pawl_finding f;
} fault;

struct pawl_graph {
    arena mem;                  /* owns the graph, and the machine made from it */
    pawl_alloc alloc;
    const char *name;
    const char *where;          /* "" or the path of a subgraph, set by compile */
    uint32_t version;
    gnode **nodes;              /* [0] is @start */
    size_t nnodes, nodes_cap;
    hash_index by_name;         /* of the nodes */
    machine_channel *channels;
    size_t nchannels, channels_cap;
    hash_index channel_names;
    bool essay;                 /* no declared channels: nodes and inputs declare them */
    effect_decl *effects;
    size_t neffects, effects_cap;
    join *joins, *last_join;
    hook *hooks, *last_hook;    /* for all nodes */
    fault *faults, *last_fault;
    pawl_retry retry;           /* the default */
    bool has_retry;
    uint32_t attempt_ms, total_ms;
    const char *turns;          /* the prompt for the input of a turn; NULL: no turns */
    const char *source;         /* digest of the source of its nodes; NULL: not given */
    uint32_t max_steps, max_concurrency, max_calls, max_tasks;
    uint32_t no_progress;       /* 0: off */
    bool patterns;              /* answers are checked by `pattern` of their schema */
    bool settles;               /* branches that were not taken count as done for joins */
    bool shows_undo;            /* its gates show the inverse of a command, and an approval is of it, too */
    bool modes, mode_denies;    /* it obeys the mode of its run; a node that requires more is denied, and not asked for. Set for subgraphs by compile */
    bool plain;                 /* no joins, no deferred nodes, no interrupts after a node, no channel with a user's function */
    bool holds;                 /* a node has an interrupt after it */
    bool asks;                  /* a node has `asks` */
    bool has_routes;                /* a node has a route or a condition */
    bool failed;                /* no memory */
};

typedef struct graph_machine {
    pawl_machine m;
    pawl_graph *g;
} graph_machine;

struct pawl_report {
    arena mem;
    fault *first, *last;
    size_t count;
    bool exhaustive;
};

/* build.c */
machine_channel *graph_channel(const pawl_graph *g, const char *name);   /* NULL: the graph declares no channel of that name */
void graph_shows_undo(pawl_graph *g);            /* its gates show the inverse of a command (P10): files do */
void graph_goto_after(pawl_graph *g, const char *node, bool no, const char *to);     /* a goto, which is drawn as the way of a no, or else of a failure */
void graph_settles(pawl_graph *g);               /* branches that were not taken count as done for joins (G3): files do */
void graph_patterns(pawl_graph *g);              /* answers are checked by `pattern` of their schema: files do */
gnode *node_find(const pawl_graph *g, const char *name);
/* join_index.c: the joins by number, in the order in which they were declared. Those with node i as a source are numbers[first[i]] up to
 * numbers[first[i + 1]], a join as often as it names the node. */
typedef struct join_index { const join **joins; uint32_t njoins, *first, *numbers; } join_index;
/* `meant`: the node of each source, of one join after another; one that is no node is left out. NULL: those that compile set. False: no memory. */
bool join_index_make(join_index *x, arena *mem, const pawl_graph *g, const uint32_t *meant);
int node_index(const pawl_graph *g, const char *name);
/* The node of a task; NULL: this machine has no node of that name. */
gnode *node_search(const pawl_graph *g, task *tk);
static inline gnode *node_of_task(const pawl_graph *g, task *tk)
{
    gnode *n = g->nodes[tk->node_hint < g->nnodes ? tk->node_hint : START_INDEX];

    /* the hint of a task may be the start, and a damaged journal may call a task by its name: nothing can run it */
    return n->size == tk->node_size && memcmp(n->name, tk->name, n->size) == 0 && n->kind != GNODE_START ? n : node_search(g, tk);
}
void fault_add(pawl_graph *g, pawl_severity severity, const char *kind, const char *path, const char *fmt, ...) PAWL_PRINTF(5, 6);

/* validate.c: adds the faults of a graph and of its subgraphs to `r`; each text starts with `label`. False: no memory. */
bool graph_validate(const pawl_graph *g, const char *label, pawl_report *r);
enum { SECRET_PLACE_BYTES = 4096 };
bool secret_valid(const char *secret);          /* "env:NAME" and the like: the name of one variable, a path or a name without control characters */
const char *first_due(pawl_rule rule, pawl_type type);     /* the type that a first value must have; NULL: `type` is valid */

/* graph.c */
const pawl_graph *graph_of(const pawl_machine *m);      /* NULL: the machine is not a graph */
extern const char graph_kind[];                         /* machine_ops.kind of a graph's machine */
const pawl_graph *graph_at(const pawl_machine *m, const char *where);
/* report.c */
void report_add(pawl_report *r, pawl_severity severity, const char *kind, const char *text, const char *path);
pawl_report *report_new(const pawl_alloc *alloc);
void report_printf(pawl_report *r, pawl_severity severity, const char *kind, const char *path, const char *fmt, ...) PAWL_PRINTF(5, 6);
/* graph.c: calls `see` for each declared target of `n`, including PAWL_END. */
typedef void see_target_fn(void *ctx, const char *to, const way *w);
void each_target(const pawl_graph *g, const gnode *n, see_target_fn *see, void *ctx);

/* drive.c */
pawl_code graph_drive(const pawl_machine *m, pawl_step *s, pawl_err *err);
typedef enum reach { REACH_WAITS = 0, REACH_DONE = 1, REACH_FAILED = 2 } reach;
static inline reach reach_of(const task *tk)
{
    return tk->at == TASK_LEFT ? REACH_DONE : tk->at == TASK_FAILED ? REACH_FAILED : REACH_WAITS;
}
/* frame_run.c: runs every task of the frame as far as possible. */
pawl_code frame_run(pawl_step *s, const pawl_graph *g, frame *f, const char *prefix, reach *out, pawl_err *err);

/* node_phases.c: one pass of a task. bare_pass(): of a node that has only a function. */
pawl_code bare_pass(pawl_step *s, const pawl_graph *g, const gnode *n, frame *f, task *tk, const char *path, pawl_err *err);
/* The same for the run's lone task, to find out whether it waits. When it leaves at once, the pass adds no item; else the head is saved first. */
pawl_code bare_try(pawl_step *s, const pawl_graph *g, const gnode *n, frame *f, reach *how, pawl_err *err);
pawl_code task_pass(pawl_step *s, const pawl_graph *g, frame *f, task *tk, const char *path, pawl_err *err);

/* pauses.c: waits between two supersteps */
typedef struct held { struct held *next; item *it; } held;
pawl_code holds_find(pawl_step *s, const pawl_graph *g, frame *f, const char *prefix, uint64_t superstep, held **out, pawl_err *err);
pawl_code holds_add(pawl_step *s, held *h, pawl_err *err);
const char *path_join(pawl_step *s, const char *prefix, const char *name);      /* NULL: longer than PATH_BYTES_MAX, or no memory */
const char *path_below(pawl_step *s, const char *path, const task *tk);         /* the prefix of the paths of its inner tasks */

/* subgraph.c */
pawl_code sub_enter(pawl_step *s, const gnode *n, task *tk, const char *path, pawl_err *err);
/* Fails the outer task because of an error of the subgraph itself: a merge, a route, a limit. */
pawl_code sub_fails(pawl_step *s, task *tk, const char *path, const pawl_err *why, pawl_err *err);
static inline bool sub_fault(pawl_code rc) { return rc == PAWL_INVALID || rc == PAWL_LIMIT; }
void sub_outputs(pawl_step *s, const gnode *n, frame *inner);   /* adds the mapped channels as writes of the visit */

/* next.c: plans the next superstep. Evaluates routes over the merged state. */
/* Fast path after a lone task of node `n` that left in this step. False: use plan_next(). */
static inline bool plan_plain(const pawl_graph *g, const frame *f, const gnode *n, closing *cl)
{
    const leave *l = f->tasks->leave;

    if (!g->plain || !n->plain || f->defer != NULL || l == NULL || (l->ngotos | l->nsends) > 0 || l->halt || l->hold != NULL)
        return false;
    cl->next = &n->ways->to;
    cl->hints = &n->ways->index;
    cl->nnext = n->ways->index != START_INDEX;
    return true;
}
pawl_code plan_next(pawl_step *s, const pawl_graph *g, frame *f, const char *path, closing *cl, bool *holds, pawl_err *err);
pawl_code plan_start(pawl_step *s, const pawl_graph *g, frame *f, closing *cl, pawl_err *err);
pawl_code plan_from(pawl_step *s, const pawl_graph *g, frame *f, const gnode *n, closing *cl, pawl_err *err);

bool joins_prepare(pawl_graph *g);               /* settle.c: once compile has numbered the nodes; false: no memory */
#define JOIN_FIRED "!"          /* marks in the list of what a join has seen: it has fired; a way led past its sources */
#define JOIN_PASSED "~"
enum { JOIN_AGAIN = '+' };      /* before a name: that source came again, in the next round */
bool join_has(const pawl_value *seen, const char *name), join_has_again(const pawl_value *seen, const char *name);
uint32_t join_again(const pawl_value *seen);             /* how many came again */
bool join_begun(const pawl_value *seen);                 /* in its round something came, and it has not fired */
bool join_stuck(const pawl_graph *g, const frame *f, bool rounds, pawl_err *err);       /* one has begun, and nothing is left to run */
bool join_later(const join *j, const join *other);       /* the target of `other` may still lead to a source of `j` */

/* draw_tables.c: helpers of all drawings */
extern const char draw_dot_head[];
bool draw_may(pawl_picture format, const pawl_step *s, pawl_err *err);
const char *draw_done(pawl_step *s, buf *b, const char *name, pawl_err *err);
/* Draws a table; the text is in `step` until the step is used again. NULL: see err. */
const char *draw_sm(const sm_table *t, pawl_picture format, pawl_step *step, pawl_err *err);

#endif
