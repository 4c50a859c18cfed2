/* graph.h - a machine written as a graph: nodes, edges, joins, pauses.
 *
 * A run of a graph goes in supersteps. All tasks of a superstep see the same state; when they are done, their writes are merged in task order, and their
 * edges lead to the tasks of the next superstep. A node is a pure function that reads top to bottom and returns how it leaves:
 *
 *     static pawl_code review(pawl_step *s, void *arg)
 *     {
 *         const pawl_value *notes;
 *         pawl_code rc = pawl_call(s, "llm", pawl_pack(s, "{s:v}", "draft", pawl_get(s, "draft")), &notes);
 *         if (rc != PAWL_OK)
 *             return rc;                       // PAWL_PENDING: it runs again from its top, with the receipt
 *         pawl_set(s, "notes", notes);
 *         return pawl_follow(s);
 *     }
 *
 * Building: declare channels, nodes and edges, then compile. No call of the builder fails: mistakes, and a lack of memory, are kept for pawl_graph_compile.
 * With a NULL graph a call does nothing. Nodes must be declared before anything about them; targets of edges may come later. Texts are copied; functions
 * and their `arg` must outlive the machine.
 *
 *   threads  a graph belongs to one thread at a time; the machine may be shared, and then its functions are called on any thread, several at once */
#ifndef PAWL_GRAPH_H
#define PAWL_GRAPH_H

#include "pawl/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PAWL_START "@start"     /* where runs begin, and end; names that begin with @ are Pawl's own */
#define PAWL_END "@end"

typedef struct pawl_graph pawl_graph;

/* A node: reads and writes channels and issues commands (kernel/node.h). Pure: it runs again from its top until its commands are answered. Returns PAWL_OK
 * (it leaves, by its edges unless it called pawl_goto), PAWL_PENDING or PAWL_INTERRUPTED as a command returned it, or a code below 0: the node failed. With
 * PAWL_TRANSIENT, PAWL_TIMEOUT or PAWL_IO it is tried again, if it has a retry; else the run fails, or is rejected with PAWL_DENIED. */
typedef pawl_code pawl_node_fn(pawl_step *s, void *arg);
/* A route: returns the name of a target of its declaration, or NULL for `otherwise`. Pure. It is called when the superstep of the node has closed: pawl_get
 * reads the merged state, pawl_args the arguments of the task. It may pawl_send to targets of its node, see pawl_graph_goto, and nothing else. */
typedef const char *pawl_route_fn(pawl_step *s, void *arg);
/* A condition: whether an edge is taken. Pure; sees what a route sees. */
typedef bool pawl_when_fn(pawl_step *s, void *arg);

/* ---- build ------------------------------------------------------------------------------- */

/* Begins a graph. `name`: [A-Za-z0-9_-]{1,64}, that of the machine. `version` stands for its functions in the hash: raise it when you change what they do,
 * so that open runs must adopt the new machine (F5). `alloc` may be NULL: malloc. NULL: no memory. */
PAWL_API pawl_graph *pawl_graph_new(const char *name, uint32_t version);
PAWL_API pawl_graph *pawl_graph_new_in(const char *name, uint32_t version, const pawl_alloc *alloc);
PAWL_API void pawl_graph_free(pawl_graph *g);           /* only one that is never compiled; NULL: nothing */

/* Declares channels (kernel/channel.h). pawl_graph_input declares channels of rule last. A graph that uses only pawl_graph_input, or declares nothing, has
 * beside these one channel of rule last for each node, with the name of the node. */
PAWL_API void pawl_graph_channel(pawl_graph *g, const char *name, pawl_rule rule);
PAWL_API void pawl_graph_channel_with(pawl_graph *g, const pawl_channel *c);
PAWL_API void pawl_graph_fields(pawl_graph *g, const pawl_field *fields, size_t n);  /* of a struct (K9) */
PAWL_API PAWL_SENTINEL void pawl_graph_input(pawl_graph *g, const char *name, ... /* NULL */);

/* A node that runs `fn`. `name`: [A-Za-z0-9_-]{1,64}, not beginning with '-'. */
PAWL_API void pawl_graph_node(pawl_graph *g, const char *name, pawl_node_fn *fn, void *arg);
/* A node that is one call of `effect`, with the arguments {"args","state"}: the arguments of the task or null, and an object of all channels, by reference.
 * Its result is an object of channels, which the node writes, or null. */
PAWL_API void pawl_graph_work(pawl_graph *g, const char *name, const char *effect);
/* A node that is a graph (G6). Takes ownership of `inner`, also on failure. Its channels are its own: they begin empty, with the values of pawl_graph_map,
 * and over these with the members of the object that pawl_send gave to the node, each in the channel of its name. At most 8 graphs inside each other. */
PAWL_API void pawl_graph_sub(pawl_graph *g, const char *name, pawl_graph *inner);
/* Connects a channel of the subgraph with one of the graph around it. `in`: at the beginning the inner channel gets the value of the outer one. `out`: at
 * the end the value of the inner channel is written to the outer one; of a list or a sum that it got by `in`, only what was added. `inner` NULL: the same
 * name as `outer`. */
PAWL_API void pawl_graph_map(pawl_graph *g, const char *sub, const char *outer, const char *inner, bool in, bool out);

/* Edges: after `from`, `to` is next. All edges of a node are taken, its conditions and routes beside them. A chain is an edge from each name to the next. */
PAWL_API void pawl_graph_edge(pawl_graph *g, const char *from, const char *to);
PAWL_API PAWL_SENTINEL void pawl_graph_chain(pawl_graph *g, const char *from, const char *to, ... /* NULL */);
/* Declares nodes and the chain PAWL_START, nodes in order, PAWL_END. */
typedef struct pawl_sequence { const char *name; pawl_node_fn *fn; void *arg; } pawl_sequence;
PAWL_API void pawl_graph_sequence(pawl_graph *g, const pawl_sequence *nodes, size_t n);
/* A route after `from`, with the list of its targets. `otherwise`: the target when the route returns NULL. With `otherwise` NULL a route that returns NULL
 * and sends nothing fails the run, as does one that returns a name that is not listed; the error has the values of the channels. */
PAWL_API PAWL_SENTINEL void pawl_graph_route(pawl_graph *g, const char *from, pawl_route_fn *fn, void *arg,
                                             const char *otherwise, ... /* targets, NULL */);
PAWL_API void pawl_graph_route_of(pawl_graph *g, const char *from, pawl_route_fn *fn, void *arg, const char *otherwise,
                                  const char *const *to, size_t n);
/* Conditional edges: of all that are declared for `from` the first whose condition holds is taken, in order of declaration. `fn` NULL: always, which is the
 * else. When none holds, the run fails. */
PAWL_API void pawl_graph_when(pawl_graph *g, const char *from, pawl_when_fn *fn, void *arg, const char *to);
/* Targets that the function of a node may name in pawl_goto and pawl_send, and its routes in pawl_send. Those of its routes are declared by them already;
 * pawl_graph_check takes a route to lead to one of its targets, and tries what several sends lead to only for targets that are named here. */
PAWL_API PAWL_SENTINEL void pawl_graph_goto(pawl_graph *g, const char *from, const char *to, ... /* NULL */);

/* The channels that a node writes. Optional, changes no run: with it pawl_graph_check finds two writers of a channel in one superstep. */
PAWL_API PAWL_SENTINEL void pawl_graph_writes(pawl_graph *g, const char *node, const char *channel, ... /* NULL */);

typedef enum pawl_join_rest { PAWL_JOIN_IGNORES_REST = 0, PAWL_JOIN_CANCELS_REST = 1 } pawl_join_rest;
/* A join: `to` runs once when all nodes of `from` are done, in whatever supersteps, and once more when all are done again. At most 256 nodes. */
PAWL_API PAWL_SENTINEL void pawl_graph_join(pawl_graph *g, const char *to, const char *from, ... /* NULL */);
/* The same when `k` of the `n` nodes are done (0: all). The others are ignored until all are done, which ends the round;
 * with PAWL_JOIN_CANCELS_REST the tasks that can lead only to them are canceled, and the round ends at once. In a loop a node that is done again after `to` ran
 * counts for the next round. The run fails if nothing is left to run, and a round has begun and left nodes out. */
PAWL_API void pawl_graph_join_of(pawl_graph *g, const char *to, const char *const *from, size_t n, size_t k, pawl_join_rest rest);

/* ---- pauses (G5), hooks, limits -------------------------------------------------------------- */

/* A gate: before the node runs a person says yes or no; with no the run is rejected. `prompt` NULL: "Go on?" */
PAWL_API void pawl_graph_gate(pawl_graph *g, const char *node, const char *prompt);
PAWL_API void pawl_graph_gate_no(pawl_graph *g, const char *node, const char *to);  /* instead a no leads to `to` */
/* Instead a no means "not now": it is journaled, with who, when and the note, and the question is asked again, as the next wait of the same visit (W9). Only
 * a yes lets the node run. Not together with pawl_graph_gate_no. */
PAWL_API void pawl_graph_gate_waits(pawl_graph *g, const char *node);
PAWL_API void pawl_graph_interrupt_before(pawl_graph *g, const char *node);  /* waits before it; any answer continues */
PAWL_API void pawl_graph_interrupt_after(pawl_graph *g, const char *node);   /* waits after it, when its writes are merged */

/* Modes (P1): "plan", "default", "acceptEdits", "bypassPermissions", each with the rights of those before it. The graph has modes: the channels @mode and
 * @rights (pawl_run_info.mode and rights), which its children get, too. In plan mode a new call of an effect that is not of class pure is denied. `otherwise`:
 * what happens to a node that requires a higher mode: a person is asked, or it is denied; in plan mode it is denied. Set it on the graph that is compiled. */
typedef enum pawl_mode_gate { PAWL_GATE_ASKS = 0, PAWL_GATE_DENIES = 1 } pawl_mode_gate;
PAWL_API void pawl_graph_modes(pawl_graph *g, pawl_mode_gate otherwise);
/* The lowest mode in which `node` runs without asking; the graph then has modes. A gate of the node is that question. "plan": it changes nothing outside, and
 * its calls are made in plan mode, too. */
PAWL_API void pawl_graph_requires(pawl_graph *g, const char *node, const char *mode);

/* A hook: a call of `effect` before or after the function of `node` (NULL: of every node), in order of declaration, those of every node first. Its result is
 * a verdict: proceed, modify, replace, deny, ask or defer ("Verdicts of a hook" in docs/INTERFACES.md). */
typedef enum pawl_phase { PAWL_PHASE_BEFORE = 1, PAWL_PHASE_AFTER = 2 } pawl_phase;
PAWL_API void pawl_graph_hook(pawl_graph *g, const char *node, pawl_phase phase, const char *effect);
/* The same; its arguments also have "state", an object of all channels, by reference, and "mode", the mode of a graph with modes, else null. */
PAWL_API void pawl_graph_hook_state(pawl_graph *g, const char *node, pawl_phase phase, const char *effect);

/* Declares class, retry, limits and cost of an effect (E5); NULL: the defaults. An effect that is declared twice, also in subgraphs, must be declared alike. */
PAWL_API void pawl_graph_effect(pawl_graph *g, const char *effect, const pawl_limits *limits);
/* The retry of a node, and its limits in ms (0: none). Of a work node both hold for its command. Of any other node a retry is a new visit after the delay,
 * when its function returns PAWL_TRANSIENT, PAWL_TIMEOUT or PAWL_IO; a command that fails is not made again by it (PAWL_EFFECT): declare its retry by
 * pawl_graph_effect. The limits hold for its commands whose effect declares nothing. `node` NULL: of all nodes that have none of their own. */
PAWL_API void pawl_graph_retry(pawl_graph *g, const char *node, const pawl_retry *retry);
PAWL_API void pawl_graph_timeout(pawl_graph *g, const char *node, uint32_t attempt_ms, uint32_t total_ms);
/* A word or two that the picture shows for the node in place of "pure". Changes no run. */
PAWL_API void pawl_graph_note(pawl_graph *g, const char *node, const char *note);
/* The text from which the functions of its nodes were made, such as a file: the hash of the machine covers it (F5). Only its SHA-256 is kept. */
PAWL_API void pawl_graph_source(pawl_graph *g, pawl_bytes source);
PAWL_API void pawl_graph_defer(pawl_graph *g, const char *node);   /* it runs when no other task is next */
PAWL_API void pawl_graph_turns(pawl_graph *g, const char *prompt); /* at its end the run waits for input, and begins again with it (G13); NULL: no text */
PAWL_API void pawl_graph_max_steps(pawl_graph *g, uint32_t supersteps);     /* of one turn; more fail the run. 0: 1000 */
PAWL_API void pawl_graph_max_concurrency(pawl_graph *g, uint32_t tasks);    /* that are open at once. 0, the default: no limit */
PAWL_API void pawl_graph_max_calls(pawl_graph *g, uint32_t calls);          /* commands of one visit. 0: 1000 */
PAWL_API void pawl_graph_max_tasks(pawl_graph *g, uint32_t tasks);          /* of one superstep. 0: 100000 */
/* Asks a person when a run makes no progress: when the same call, or the same cycle of up to four calls, had the same result `times` times in a row, an
 * approval is open before it is made once more, with `about` {"cost","cycle","times"}. Yes allows as many further rounds; no rejects the run. "The same":
 * effect, arguments, outcome and result, in one visit after another. Calls side by side in one superstep count once, those of class pure not at all. At
 * most 100; 0, the default: off. Set it on the graph that is compiled, not on a subgraph; a run keeps the number with which it was started. */
PAWL_API void pawl_graph_no_progress(pawl_graph *g, uint32_t times);

/* ---- compile ----------------------------------------------------------------------------------- */

typedef enum pawl_severity { PAWL_SEVERITY_FAULT = 1, PAWL_SEVERITY_WARNING = 2 } pawl_severity;
typedef struct pawl_finding {
    pawl_severity severity;
    const char *kind;           /* "unknown-target", "unreachable", "join-never-fires", ...; see docs/ERRORS.md */
    const char *text;           /* one line for people, with the names */
    const char *path;           /* how a run gets there: "@start -> a -> b"; "": no path */
} pawl_finding;
typedef struct pawl_report pawl_report;
/* The findings are owned by the report. */
PAWL_API size_t pawl_report_count(const pawl_report *r);                /* NULL: 0 */
PAWL_API const pawl_finding *pawl_report_at(const pawl_report *r, size_t index);    /* NULL: no such index */
PAWL_API bool pawl_report_exhaustive(const pawl_report *r); /* false: the search stopped at its limit, or NULL */
PAWL_API void pawl_report_free(pawl_report *r);                         /* NULL: does nothing */

/* Checks the graph and makes the machine. Takes ownership of `g`, also on failure. Returns NULL: PAWL_INVALID, and err has the first fault; or PAWL_NOMEM.
 * *report (may be NULL) gets all faults and warnings, also on success, and is to be freed; it is NULL without memory. Free the machine with
 * pawl_machine_free, unless an engine takes it. */
PAWL_API PAWL_MUST_USE pawl_machine *pawl_graph_compile(pawl_graph *g, pawl_err *err);
PAWL_API PAWL_MUST_USE pawl_machine *pawl_graph_compile_report(pawl_graph *g, pawl_report **report, pawl_err *err);
/* Searches the states that the graph can reach, by which tasks are next and which joins are half full, for states in which it hangs and the like
 * (docs/ERRORS.md). At most `max_states` of them; 0: 100,000. The report is to be freed. NULL: PAWL_INVALID, `m` is no graph; PAWL_NOMEM. */
PAWL_API PAWL_MUST_USE pawl_report *pawl_graph_check(const pawl_machine *m, size_t max_states, pawl_err *err);

/* ---- picture (G12) ------------------------------------------------------------------------------- */

typedef enum pawl_picture { PAWL_PICTURE_TEXT = 1, PAWL_PICTURE_MERMAID = 2, PAWL_PICTURE_DOT = 3 } pawl_picture;
/* Draws the graph, with the position of the run `st` in it (NULL: without). The text is owned by `step` and valid until its next use. NULL: PAWL_INVALID, `m`
 * is no graph or there is no such format; PAWL_CONFLICT, the run is of another machine; PAWL_NOMEM. */
PAWL_API PAWL_MUST_USE const char *pawl_draw(const pawl_machine *m, pawl_state *st, pawl_picture format,
                                             pawl_step *step, pawl_err *err);
/* Draws a state table of the kernel: 0 a run, 1 a task, 2 a command or wait, 3 the end of a run; NULL after the last, with err as it was. */
PAWL_API const char *pawl_draw_own(size_t index, pawl_picture format, pawl_step *step, pawl_err *err);

/* ---- inside a node: how it leaves ------------------------------------------------------------------ */

PAWL_API pawl_code pawl_follow(pawl_step *s);                   /* by its edges: returns PAWL_OK */
PAWL_API pawl_code pawl_goto(pawl_step *s, const char *node);   /* to this target and not by its edges; several calls: to all. PAWL_END: nowhere */
PAWL_API pawl_code pawl_halt(pawl_step *s);                     /* the run completes when this superstep closes */
/* Sends a task: `node` runs in the next superstep, once for each call, with these arguments (pawl_args; NULL: none). The node leaves as usual: by its edges
 * too, unless it calls pawl_goto(s, PAWL_END). `node` must be a target of pawl_graph_goto or of a route of this node. */
PAWL_API void pawl_send(pawl_step *s, const char *node, const pawl_value *args);
/* Leaves with a question: the writes of the node are merged, and the run continues by its edges or pawl_goto once the question is answered. The answer is
 * written to channel `to` (NULL: nowhere). Returns PAWL_OK, to be returned from the node. PAWL_INVALID: no such channel, or a secret. */
PAWL_API pawl_code pawl_interrupt(pawl_step *s, const pawl_value *prompt, const char *to);

#ifdef __cplusplus
}
#endif
#endif
