/* node_api.h - calls for a pass of a node that only the graph layer makes; the public ones are in pawl/kernel.h. The machine owns the names. */
#ifndef KERNEL_NODE_API_H
#define KERNEL_NODE_API_H

#include "kernel/rights.h"

bool worth_naming(const pawl_value *v);          /* the value is longer than a reference to it */
void node_send(pawl_step *s, const char *node, const pawl_value *v);
void node_goto(pawl_step *s, const char *node);
pawl_code visit_mode_denies(pawl_step *s, mode_rank requires, mode_rank now);     /* PAWL_DENIED, with the sentence for the node of the visit */

#endif
