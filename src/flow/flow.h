/* flow.h - inside the flows; src/agent also uses flow_withdraw(), flow_made() and flow_owner(). Called inside a step, on the thread that owns the step. */
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
/* Withdraws what this event has made with `tag`, as if it had never been made: commands, waits, and what belongs to them by flow_owner().
 * pawl_flow_drop() only drops what earlier events made. */
void flow_withdraw(pawl_step *s, const char *tag);
bool flow_made(pawl_step *s, const char *tag);  /* whether flow_withdraw() would withdraw a command or a wait */
/* The calls and emissions that follow belong to what has `tag`, which is lent until the event has ended. NULL: to nothing. */
void flow_owner(pawl_step *s, const char *tag);

#endif
