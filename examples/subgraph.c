/* subgraph.c - a graph as a node. It has its own channels; its questions are questions of the run. */
#include <pawl/pawl.h>
#include <stdio.h>

static pawl_code write_text(pawl_step *s, void *text)
{
    pawl_set_string(s, "text", text);
    return pawl_follow(s);
}

static pawl_code check(pawl_step *s, void *arg)
{
    const pawl_value *answer;
    pawl_code rc = pawl_ask(s, pawl_pack(s, "{s:s,s:v}", "is this right?", "", "text", pawl_get(s, "text")), &answer);

    (void)arg;
    if (rc != PAWL_OK)
        return rc;                      /* PAWL_INTERRUPTED: it runs again with the answer */
    pawl_set(s, "text", answer);
    pawl_set_int(s, "checks", 1);
    return pawl_follow(s);
}

static pawl_graph *inner(void)
{
    pawl_graph *g = pawl_graph_new("desk", 1);

    pawl_graph_channel(g, "text", PAWL_RULE_LAST);
    pawl_graph_channel(g, "checks", PAWL_RULE_SUM);
    pawl_graph_node(g, "check", check, NULL);
    pawl_graph_chain(g, PAWL_START, "check", PAWL_END, NULL);
    return g;
}

int main(void)
{
    pawl_err err = {0};
    pawl_graph *g = pawl_graph_new("paper", 1);
    pawl_graph_channel(g, "text", PAWL_RULE_LAST);
    pawl_graph_node(g, "write", write_text, "Water boils at 90 degrees.");
    pawl_graph_sub(g, "desk", inner());
    pawl_graph_map(g, "desk", "text", "text", true, true);      /* shared; "checks" stays inside */
    pawl_graph_chain(g, PAWL_START, "write", "desk", PAWL_END, NULL);
    pawl_engine *e = pawl_engine_new(pawl_graph_compile(g, &err), pawl_store_memory(&err), &err);
    pawl_code rc = pawl_run(e, "paper-1", NULL, &err);
    pawl_wait wait;
    if (rc == PAWL_INTERRUPTED && pawl_state_wait(pawl_run_state(e, "paper-1", &err), 0, pawl_engine_step(e), &wait, &err) == PAWL_OK) {
        printf("%s asks: %s\n", wait.slot, pawl_value_string(pawl_value_get(wait.prompt, "text")));
        rc = pawl_answer(e, "paper-1", "check", "\"Water boils at 100 degrees.\"", &err);
    }
    puts(rc < 0 ? err.text : pawl_run_get(e, "paper-1", "text"));
    pawl_engine_free(e);
    return rc < 0;
}
