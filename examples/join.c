/* join.c - two workers side by side, and a join. */
#include <pawl/pawl.h>
#include <stdio.h>
static pawl_code work(pawl_step *s, void *did) { if (did != NULL) pawl_set_string(s, "done", did); return pawl_follow(s); }

int main(void)
{
    pawl_graph *g = pawl_graph_new("join", 1);
    pawl_graph_channel(g, "done", PAWL_RULE_APPEND);
    pawl_graph_node(g, "dispatcher", work, NULL);
    pawl_graph_node(g, "worker_a", work, "alpha");
    pawl_graph_node(g, "worker_b", work, "beta");
    pawl_graph_node(g, "merger", work, "merged");
    pawl_graph_chain(g, PAWL_START, "dispatcher", "worker_a", NULL);
    pawl_graph_edge(g, "dispatcher", "worker_b");
    pawl_graph_join(g, "merger", "worker_a", "worker_b", NULL);
    pawl_graph_edge(g, "merger", PAWL_END);
    pawl_engine *e = pawl_engine_new(pawl_graph_compile(g, NULL), pawl_store_memory(NULL), NULL);
    puts(pawl_run(e, "join-1", NULL, NULL) == PAWL_HALTED ? pawl_run_get(e, "join-1", "done") : "it did not end");
    pawl_engine_free(e);
}
