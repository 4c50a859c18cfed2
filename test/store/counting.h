/* counting.h - a run of four commands of class once that count how often each was performed. */
#ifndef TEST_STORE_COUNTING_H
#define TEST_STORE_COUNTING_H

#include "pawl/engine.h"
#include "pawl/graph.h"

enum { CALLS = 4 };

static pawl_code asks_once(pawl_step *s, void *arg)
{
    (void)arg;
    for (int64_t i = 0; i < CALLS; i++) {
        pawl_code rc = pawl_call(s, "count", pawl_pack(s, "i", i), NULL);

        if (rc != PAWL_OK)
            return rc;
    }
    pawl_set(s, "done", pawl_pack(s, "b", 1));
    return PAWL_OK;
}

static pawl_machine *counting(void)
{
    pawl_graph *g = pawl_graph_new("counting", 1);

    pawl_graph_channel(g, "done", PAWL_RULE_LAST);
    pawl_graph_effect(g, "count", &(pawl_limits){ .cls = PAWL_CLASS_ONCE });
    pawl_graph_node(g, "all", asks_once, NULL);
    pawl_graph_chain(g, PAWL_START, "all", PAWL_END, NULL);
    return pawl_graph_compile(g, NULL);
}

static pawl_code count_it(const pawl_job *job, pawl_reply *reply, void *arg)
{
    ((int *)arg)[pawl_value_int(job->args)]++;
    return pawl_reply_int(reply, 1);
}

#endif
