/* flow.h - inside the flows; src/agent also uses flow_withdraw(). Called inside a step, on the thread that owns the step. */
#ifndef FLOW_FLOW_H
#define FLOW_FLOW_H

#include "graph/graph.h"
#include "kernel/machine.h"
#include "pawl/flow.h"

typedef struct reducer_machine {
    pawl_machine m;
    arena mem;
    pawl_reducer_fn *fn;
    void *arg;
} reducer_machine;

extern const machine_ops reducer_ops;
bool in_reducer(const pawl_step *s);
/* Withdraws the calls and waits with `tag` that this event has made, as if they had never been made. pawl_flow_drop() only drops earlier ones. */
void flow_withdraw(pawl_step *s, const char *tag);

#endif
