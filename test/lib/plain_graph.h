/* plain_graph.h - graphs whose nodes do nothing, and what is found in a graph, as text. */
#ifndef TEST_LIB_PLAIN_GRAPH_H
#define TEST_LIB_PLAIN_GRAPH_H

#include "pawl/graph.h"

pawl_code node_follows(pawl_step *s, void *arg);        /* does nothing */
const char *node_routes(pawl_step *s, void *arg);       /* to the node that `arg` names */
bool node_holds(pawl_step *s, void *arg);               /* unless `arg` is NULL */
void nodes_add(pawl_graph *g, const char *names);       /* "a b c": each does nothing */
const char *report_text(const pawl_report *r);          /* a line a finding; until the next call */

#endif
