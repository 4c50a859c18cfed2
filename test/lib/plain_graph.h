/* plain_graph.h - nodes, routes and conditions for graphs that do nothing, and the findings of a report as text. */
#ifndef TEST_LIB_PLAIN_GRAPH_H
#define TEST_LIB_PLAIN_GRAPH_H

#include "pawl/graph.h"

pawl_code node_follows(pawl_step *s, void *arg);        /* does nothing */
const char *node_routes(pawl_step *s, void *arg);       /* returns the node that `arg` names */
bool node_holds(pawl_step *s, void *arg);               /* true unless `arg` is NULL */
void nodes_add(pawl_graph *g, const char *names);       /* "a b c": adds nodes that do nothing */
const char *report_text(const pawl_report *r);          /* one line for each finding; valid until the next call */

#endif
