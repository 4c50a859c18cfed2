/* node_api.h - what the graph asks of a pass besides the public calls; the names are the machine's. */
#ifndef KERNEL_NODE_API_H
#define KERNEL_NODE_API_H

#include "pawl/kernel.h"

bool worth_naming(const pawl_value *v);          /* by reference, since it is longer than one */
void node_send(pawl_step *s, const char *node, const pawl_value *v);
void node_goto(pawl_step *s, const char *node);

#endif
