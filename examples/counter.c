/* counter.c - a loop in a graph that ends by a condition, or at its limit. */
#include <pawl/pawl.h>
#include <stdio.h>

static pawl_code count(pawl_step *s, void *arg)
{
    (void)arg;
    pawl_set_int(s, "n", 1);            /* the rule adds it to what is there */
    return pawl_follow(s);
}

static bool wants_more(pawl_step *s, void *upto)    /* sees the state after the merge */
{
    return pawl_get_int(s, "n") < *(const int64_t *)upto;
}

static pawl_engine *counter(int64_t *upto, pawl_err *err)
{
    pawl_graph *g = pawl_graph_new("counter", 1);

    pawl_graph_channel(g, "n", PAWL_RULE_SUM);
    pawl_graph_node(g, "count", count, NULL);
    pawl_graph_edge(g, PAWL_START, "count");
    pawl_graph_when(g, "count", wants_more, upto, "count");
    pawl_graph_when(g, "count", NULL, NULL, PAWL_END);          /* else */
    pawl_graph_max_steps(g, 10);
    return pawl_engine_new(pawl_graph_compile(g, err), pawl_store_memory(err), err);
}

static int run(int64_t upto)
{
    pawl_err err = {0};
    pawl_engine *e = counter(&upto, &err);
    pawl_code rc = pawl_run(e, "counter-1", NULL, &err);
    const pawl_state *st = pawl_run_state(e, "counter-1", &err);

    if (rc < 0) {
        puts(err.text);
    } else {
        printf("up to %d: n is %s after %d supersteps: %s\n", (int)upto, pawl_run_get(e, "counter-1", "n"),
               (int)pawl_state_steps(st), pawl_status_name(pawl_state_status(st)));
        if (pawl_state_reason(st) != NULL)
            printf("    %s\n", pawl_value_string(pawl_value_get(pawl_state_reason(st), "text")));
    }
    pawl_engine_free(e);
    return rc < 0;
}

int main(void)
{
    return run(5) || run(10) || run(1000);
}
