/* machines.h - small machines for tests: each node is a line of script.
 *
 *     static const part parts[] = {
 *         { "draft", NULL, "call llm {\"about\":\"sky\"} -> draft" },
 *         { "review", "draft", "ask \"good?\" -> verdict | count=1" },
 *         { 0 } };
 *     world_begin(&w, script_machine("essay", 1, channels, parts), NULL);
 *
 * A node is reached from `after`: NULL is @start, "a b" are two nodes, "-" is none (it is reached by a send). A node
 * without a successor ends its branch. Statements are separated by " | ":
 *     x=JSON  x+=JSON  x:=JSON                   merge, extend, overwrite
 *     call EFFECT JSON [-> x]                    its receipt is written to x; so for the others
 *     ref EFFECT CHANNEL [-> x]                  a call whose argument is {"it": the channel by reference}
 *     ask JSON [-> x]   signal NAME [-> x]   spawn MACHINE JSON [-> x]   sleep MS   select [-> x]
 *     interrupt JSON [-> x]                      and no statement after it
 *     get NAME -> x                              what the node sees in channel NAME, or null
 *     emit NAME JSON    send NODE [JSON]    goto NODE    halt    fail CODE TEXT
 * A command with `also` before it does not stop the node: those behind it are out at the same time. */
#ifndef TEST_LIB_MACHINES_H
#define TEST_LIB_MACHINES_H

#include "world.h"

typedef struct part { const char *node, *after, *script; } part;

/* Both arrays end with {0}. `channels` NULL: none is declared. */
pawl_graph *script_graph(const char *name, uint32_t version, const pawl_channel *channels, const part *parts);
pawl_machine *script_machine(const char *name, uint32_t version, const pawl_channel *channels, const part *parts);
pawl_machine *script_compile(pawl_graph *g);        /* fails the test with the first error */
/* Runs a script as a node: for nodes that are added by hand, or do more. */
pawl_node_fn script_node;

/* The n-th line of a journal (0: the base), copied, without its newline; NULL after the last. Lives until the next call. */
const char *line_of(const world *w, size_t n);
size_t times_in(const char *text, const char *what);
/* The world as it was after entry `seq` (0: at the base), task records of the superstep then open cut off too. */
void world_back(world *w, uint64_t seq);
/* The journal so far as text. Lives until the journal grows. */
const char *journal_of(world *w);

#endif
