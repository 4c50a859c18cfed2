/* fanout.c - a parallel task for each book, a second branch, and a join that waits for both. */
#include <pawl/pawl.h>
#include <stdio.h>

static pawl_code plan(pawl_step *s, void *arg)
{
    pawl_iter it = pawl_iter_of(pawl_get(s, "books"));
    const pawl_value *book;

    (void)arg;
    while ((book = pawl_iter_next(&it, NULL)) != NULL)
        pawl_send(s, "count", book);            /* a task of its own, with this argument */
    return pawl_goto(s, PAWL_END);
}

static pawl_code count(pawl_step *s, void *arg)
{
    const pawl_value *words;
    pawl_code rc = pawl_call(s, "wc", pawl_args(s), &words);
    (void)arg;
    if (rc == PAWL_OK)
        pawl_set(s, "words", words);            /* three writers: the channel adds them up, in task order */
    return rc;
}

static pawl_code say(pawl_step *s, void *text) { pawl_set_string(s, pawl_node_name(s), text); return pawl_follow(s); }

static pawl_code wc(const pawl_job *cmd, pawl_reply *reply, void *arg)
{
    (void)arg;
    printf("counting %s\n", pawl_value_string(cmd->args));
    pawl_reply_int(reply, 1000 * (int64_t)pawl_value_size(cmd->args));
    return PAWL_OK;
}

int main(void)
{
    pawl_err err = {0};
    pawl_graph *g = pawl_graph_new("fanout", 1);
    pawl_graph_channel(g, "books", PAWL_RULE_LAST);
    pawl_graph_channel(g, "words", PAWL_RULE_SUM);
    pawl_graph_channel(g, "headline", PAWL_RULE_LAST);
    pawl_graph_channel(g, "report", PAWL_RULE_LAST);
    pawl_graph_node(g, "plan", plan, NULL);
    pawl_graph_node(g, "count", count, NULL);
    pawl_graph_node(g, "headline", say, "The shelf");
    pawl_graph_node(g, "report", say, "All are counted.");
    pawl_graph_edge(g, PAWL_START, "plan");
    pawl_graph_edge(g, PAWL_START, "headline");
    pawl_graph_goto(g, "plan", "count", NULL);
    pawl_graph_join(g, "report", "count", "headline", NULL);    /* however long the branches are */
    pawl_graph_edge(g, "report", PAWL_END);
    pawl_engine *e = pawl_engine_new(pawl_graph_compile(g, &err), pawl_store_memory(&err), &err);
    pawl_engine_effect(e, "wc", wc, NULL, PAWL_CLASS_AT_LEAST_ONCE, &err);
    pawl_code rc = pawl_run(e, "shelf-1", "{\"books\":[\"Emma\",\"Ulysses\",\"Moby Dick\"]}", &err);
    const char *all = rc < 0 ? err.text : pawl_state_json(pawl_run_state(e, "shelf-1", &err), pawl_engine_step(e), &err);
    puts(all != NULL ? all : err.text);
    pawl_engine_free(e);
    return rc < 0;
}
