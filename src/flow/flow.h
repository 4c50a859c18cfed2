/* flow.h - inside the flows. */
#ifndef FLOW_FLOW_H
#define FLOW_FLOW_H

#include "graph/graph.h"
#include "pawl/flow.h"

typedef struct reducer_machine {
    pawl_machine m;
    arena mem;
    pawl_reducer_fn *fn;
    void *arg;
} reducer_machine;

extern const machine_ops reducer_ops;
bool in_reducer(const pawl_step *s);
/* Takes back the calls and waits that this very event has made under `tag`: as if they had not been asked for. pawl_flow_drop() leaves those alone. */
void flow_withdraw(pawl_step *s, const char *tag);

#endif
