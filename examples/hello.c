/* hello.c - the smallest graph: one node writes one channel. */
#include <pawl/pawl.h>
#include <stdio.h>
static pawl_code greet(pawl_step *s, void *arg) { (void)arg; pawl_set_string(s, "msg", "hello world"); return pawl_follow(s); }

int main(void)
{
    pawl_graph *g = pawl_graph_new("hello", 1);
    pawl_graph_channel(g, "msg", PAWL_RULE_LAST);
    pawl_graph_node(g, "greet", greet, NULL);
    pawl_graph_chain(g, PAWL_START, "greet", PAWL_END, NULL);
    pawl_engine *e = pawl_engine_new(pawl_graph_compile(g, NULL), pawl_store_memory(NULL), NULL);
    puts(pawl_run(e, "hello-1", NULL, NULL) == PAWL_HALTED ? pawl_run_get(e, "hello-1", "msg") : "it did not end");
    pawl_engine_free(e);
}
