/* graph.h - a machine written as a graph: nodes, edges, joins, pauses.
 *
 * A superstep runs its tasks against one snapshot of the state, merges what they wrote in task
 * order, and follows their edges to the next. A node is a pure function that reads top to
 * bottom and says how it leaves:
 *
 *     static pawl_code review(pawl_step *s, void *arg)
 *     {
 *         const pawl_value *notes;
 *         pawl_code rc = pawl_call(s, "llm", pawl_pack(s, "{s:v}", "draft", pawl_get(s, "draft")), &notes);
 *         if (rc != PAWL_OK)
 *             return rc;                       // runs again from its top, with the receipt
 *         pawl_set(s, "notes", notes);
 *         return pawl_follow(s);
 *     }
 *
 * Building never fails midway: every mistake is kept for pawl_graph_compile, which tells them all.
 * NULL flows through. Names are copied; functions and their arguments must outlive the machine. */
#ifndef PAWL_GRAPH_H
#define PAWL_GRAPH_H

#include "pawl/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PAWL_START "@start"     /* names that begin with @ are Pawl's own */
#define PAWL_END "@end"

typedef struct pawl_graph pawl_graph;

/* A node. Pure: may run again from its top until it leaves. Returning PAWL_OK without a word leaves by the edges. */
typedef pawl_code pawl_node_fn(pawl_step *s, void *arg);
/* Which way on, after the node `from` has left: the name of a declared target, or NULL for the `else`. Pure; sees the
 * merged state, and the task's arguments; may pawl_send to declared targets. */
typedef const char *pawl_route_fn(pawl_step *s, void *arg);
/* Whether an edge is taken. */
typedef bool pawl_when_fn(pawl_step *s, void *arg);

/* ---- build ------------------------------------------------------------------------------- */

/* Raise `version` when runs in flight must not go on under the new shape. `alloc` may be NULL. */
PAWL_API pawl_graph *pawl_graph_new(const char *name, uint32_t version);
PAWL_API pawl_graph *pawl_graph_new_in(const char *name, uint32_t version, const pawl_alloc *alloc);
PAWL_API void pawl_graph_free(pawl_graph *g);           /* what is never compiled */

/* Channels. One that a node writes must be declared, but for essays: a graph that declares none at all
 * takes every channel it is given by pawl_graph_node (one of its name) and pawl_graph_input, rule last. */
PAWL_API void pawl_graph_channel(pawl_graph *g, const char *name, pawl_rule rule);
PAWL_API void pawl_graph_channel_with(pawl_graph *g, const pawl_channel *c);
PAWL_API void pawl_graph_fields(pawl_graph *g, const pawl_field *fields, size_t n);  /* K9 */
PAWL_API PAWL_SENTINEL void pawl_graph_input(pawl_graph *g, const char *name, ... /* NULL */);

PAWL_API void pawl_graph_node(pawl_graph *g, const char *name, pawl_node_fn *fn, void *arg);
/* A node that simply is work: one call of `effect` with {"args","state"}: what it was sent, and every channel by reference;
 * its receipt, an object, is merged as its writes. */
PAWL_API void pawl_graph_work(pawl_graph *g, const char *name, const char *effect);
/* A graph as a node (G6). Takes `inner`, also on failure. Its channels are its own; see pawl_graph_map. The members of an
 * object that is sent to it lie over these, each in the inner channel of its name. */
PAWL_API void pawl_graph_sub(pawl_graph *g, const char *name, pawl_graph *inner);
/* Share by name: at entry the inner channel starts from the outer one; at the end the outer gets the inner's value
 * as a write (for rules that add, what the inner added). Either way may be switched off. */
PAWL_API void pawl_graph_map(pawl_graph *g, const char *sub, const char *outer, const char *inner, bool in, bool out);

PAWL_API void pawl_graph_edge(pawl_graph *g, const char *from, const char *to);
PAWL_API PAWL_SENTINEL void pawl_graph_chain(pawl_graph *g, const char *from, const char *to, ... /* NULL */);
/* Nodes and the edges between them, in order: name, fn, arg triples; the first from PAWL_START, the last to PAWL_END. */
typedef struct pawl_sequence { const char *name; pawl_node_fn *fn; void *arg; } pawl_sequence;
PAWL_API void pawl_graph_sequence(pawl_graph *g, const pawl_sequence *nodes, size_t n);
/* Conditional: targets are declared; `otherwise` may be NULL: then a route that gives none is an error that names the values. */
PAWL_API PAWL_SENTINEL void pawl_graph_route(pawl_graph *g, const char *from, pawl_route_fn *fn, void *arg,
                                             const char *otherwise, ... /* targets, NULL */);
PAWL_API void pawl_graph_route_of(pawl_graph *g, const char *from, pawl_route_fn *fn, void *arg, const char *otherwise,
                                  const char *const *to, size_t n);
/* The first edge whose condition holds, in order of declaration; `fn` NULL: else. */
PAWL_API void pawl_graph_when(pawl_graph *g, const char *from, pawl_when_fn *fn, void *arg, const char *to);
/* What a node (or its route) may pawl_goto or pawl_send to. */
PAWL_API PAWL_SENTINEL void pawl_graph_goto(pawl_graph *g, const char *from, const char *to, ... /* NULL */);

/* Channels that a node writes. Optional: pawl_graph_check then finds two writers in one superstep. */
PAWL_API PAWL_SENTINEL void pawl_graph_writes(pawl_graph *g, const char *node, const char *channel, ... /* NULL */);

typedef enum pawl_join_rest { PAWL_IGNORE_REST = 0, PAWL_CANCEL_REST = 1 } pawl_join_rest;
/* `to` runs once, when all of `from` are done (also on branches of different length), and again when they all are again. */
PAWL_API PAWL_SENTINEL void pawl_graph_join(pawl_graph *g, const char *to, const char *from, ... /* NULL */);
/* The same when `k` of them are (0: all), counted by superstep. The rest is ignored until the round is over, or
 * cancelled: tasks that can only go on to a source that is no longer needed are dropped. */
PAWL_API void pawl_graph_join_of(pawl_graph *g, const char *to, const char *const *from, size_t n, size_t k, pawl_join_rest rest);

/* ---- pauses (G5), hooks, limits -------------------------------------------------------------- */

PAWL_API void pawl_graph_gate(pawl_graph *g, const char *node, const char *prompt); /* a person approves it; no: the run is rejected */
PAWL_API void pawl_graph_gate_no(pawl_graph *g, const char *node, const char *to);  /* where a no leads instead */
PAWL_API void pawl_graph_interrupt_before(pawl_graph *g, const char *node);  /* any answer goes on */
PAWL_API void pawl_graph_interrupt_after(pawl_graph *g, const char *node);   /* its writes are merged; then it waits */

/* A command of the visit before or after the body (or every node's, `node` NULL), asked in order of
 * declaration; its receipt is a verdict (docs/INTERFACES.md): proceed, modify, replace, deny, ask, defer. */
typedef enum pawl_phase { PAWL_BEFORE = 1, PAWL_AFTER = 2 } pawl_phase;
PAWL_API void pawl_graph_hook(pawl_graph *g, const char *node, pawl_phase phase, const char *effect);

PAWL_API void pawl_graph_effect(pawl_graph *g, const char *effect, const pawl_limits *limits); /* class, retry, timeouts (E5) */
PAWL_API void pawl_graph_retry(pawl_graph *g, const char *node, const pawl_retry *retry); /* NULL node: the default */
PAWL_API void pawl_graph_timeout(pawl_graph *g, const char *node, uint32_t attempt_ms, uint32_t total_ms);
/* What the picture says that a node is, in a word or two, where "pure" says too little. Changes no run. */
PAWL_API void pawl_graph_note(pawl_graph *g, const char *node, const char *note);
/* What its nodes were made from: a file, and whatever else decides what they do. The machine's hash covers it (F5). */
PAWL_API void pawl_graph_source(pawl_graph *g, pawl_bytes source);
PAWL_API void pawl_graph_defer(pawl_graph *g, const char *node);   /* runs when all else is quiet */
PAWL_API void pawl_graph_turns(pawl_graph *g, const char *prompt); /* instead of completing, wait for input (G13) */
PAWL_API void pawl_graph_max_steps(pawl_graph *g, uint32_t supersteps);     /* 0: 1000 */
PAWL_API void pawl_graph_max_concurrency(pawl_graph *g, uint32_t tasks);    /* default 0: no bound */
PAWL_API void pawl_graph_max_calls(pawl_graph *g, uint32_t calls);          /* of one visit; 0: 1000 */
PAWL_API void pawl_graph_max_tasks(pawl_graph *g, uint32_t tasks);          /* of one superstep; 0: 100000 */
/* When the same call has come to the same `times` times in a row, or a cycle of up to four calls has, a person is asked before it leaves once
 * more: a wait for an approval, `about` {"cost","cycle","times"}. Yes lets it go on for as many rounds; no rejects the run. Same: effect and
 * arguments, outcome and result, in visit after visit; what stands side by side in one superstep is no round, and what is pure is not
 * counted. Up to 100; 0, the default: off. Of the graph that is compiled, and a part of the record of a run that it begins. */
PAWL_API void pawl_graph_no_progress(pawl_graph *g, uint32_t times);

/* ---- compile ----------------------------------------------------------------------------------- */

typedef enum pawl_severity { PAWL_FAULT = 1, PAWL_WARNING = 2 } pawl_severity;
typedef struct pawl_finding {
    pawl_severity severity;
    const char *kind;           /* "unknown-target", "unreachable", "join-never-fires", ...; see docs/ERRORS.md */
    const char *text;           /* one line, names in it */
    const char *path;           /* what shows it: "@start -> a -> b", or "" */
} pawl_finding;
typedef struct pawl_report pawl_report;
PAWL_API size_t pawl_report_count(const pawl_report *r);                /* NULL: 0 */
PAWL_API const pawl_finding *pawl_report_at(const pawl_report *r, size_t index);
PAWL_API bool pawl_report_exhaustive(const pawl_report *r); /* false: the search was cut off at its bound */
PAWL_API void pawl_report_free(pawl_report *r);

/* Check the shape and freeze it. Takes `g`, also on failure: NULL, and err has the first fault, `report` (may be
 * NULL; yours to free) all of them. */
PAWL_API PAWL_MUST_USE pawl_machine *pawl_graph_compile(pawl_graph *g, pawl_err *err);
PAWL_API PAWL_MUST_USE pawl_machine *pawl_graph_compile_report(pawl_graph *g, pawl_report **report, pawl_err *err);
/* Search the states that the graph itself can be in (which tasks are next, which joins half full), up to
 * `max_states` (0: 100,000). Findings with the path that shows each. NULL: no memory. */
PAWL_API PAWL_MUST_USE pawl_report *pawl_graph_check(const pawl_machine *m, size_t max_states, pawl_err *err);

/* ---- picture (G12) ------------------------------------------------------------------------------- */

typedef enum pawl_picture { PAWL_PICTURE_TEXT = 1, PAWL_PICTURE_MERMAID = 2, PAWL_PICTURE_DOT = 3 } pawl_picture;
/* Draw the graph, and where `st` (may be NULL) is in it. The text lives in `step` until it is used again. */
PAWL_API PAWL_MUST_USE const char *pawl_draw(const pawl_machine *m, pawl_state *st, pawl_picture format,
                                             pawl_step *step, pawl_err *err);
/* The life cycles of a run, a task, a command or wait, and of how a run ends, by index, drawn from the tables in the code; NULL after the last. */
PAWL_API const char *pawl_draw_own(size_t index, pawl_picture format, pawl_step *step, pawl_err *err);

/* ---- inside a node: how it leaves ------------------------------------------------------------------ */

PAWL_API pawl_code pawl_follow(pawl_step *s);                   /* along the node's edges */
PAWL_API pawl_code pawl_goto(pawl_step *s, const char *node);   /* past them; may be said several times; PAWL_END ends the branch */
PAWL_API pawl_code pawl_halt(pawl_step *s);                     /* the run is complete when this superstep closes */
/* One task of `node` with these arguments, in the next superstep; then leave (a node that only sends returns PAWL_OK
 * after pawl_goto(s, PAWL_END), or follows its edges as well). */
PAWL_API void pawl_send(pawl_step *s, const char *node, const pawl_value *args);
/* The node is done, its writes are kept; the run goes on at its edges (or at what it said with pawl_goto)
 * when this question is answered; the answer goes to channel `to` (NULL: nowhere). */
PAWL_API pawl_code pawl_interrupt(pawl_step *s, const pawl_value *prompt, const char *to);

#ifdef __cplusplus
}
#endif
#endif
