/* essay.c - draft, review, a person lets it in, revise. */
#include <pawl/pawl.h>
#include <stdio.h>

static pawl_code ask_llm(pawl_step *s, void *prompt)
{
    const pawl_value *text;
    pawl_code rc = pawl_call(s, "llm", pawl_pack(s, "{s:s,s:v}", "prompt", prompt, "request", pawl_get(s, "request")), &text);
    if (rc != PAWL_OK) return rc;                       /* PAWL_PENDING: run again with the receipt */
    pawl_set(s, pawl_node_name(s), text);               /* each node writes the channel of its name */
    return pawl_follow(s);
}

static pawl_code model(const pawl_command *cmd, pawl_reply *reply, void *arg)   /* your HTTP call: the only impure function */
{
    (void)arg;
    printf("  %s asks: %s\n", cmd->id + 24, pawl_value_string(pawl_value_get(cmd->args, "prompt")));
    pawl_reply_string(reply, "Blue light is scattered most, so it comes from everywhere.");
    return PAWL_OK;
}

int main(void)
{
    pawl_err err = {0};
    pawl_graph *g = pawl_graph_new("essay", 1);
    pawl_graph_input(g, "request", NULL);
    pawl_graph_node(g, "draft", ask_llm, "Answer the request in plain prose.");
    pawl_graph_node(g, "review", ask_llm, "Name the three biggest weaknesses of the draft.");
    pawl_graph_node(g, "revise", ask_llm, "Rewrite the draft by the review.");
    pawl_graph_chain(g, PAWL_START, "draft", "review", "revise", PAWL_END, NULL);
    pawl_graph_gate(g, "revise", "Approve the revision?");
    pawl_engine *e = pawl_engine_new(pawl_graph_compile(g, &err), pawl_store_memory(&err), &err);
    pawl_engine_effect(e, "llm", model, NULL, PAWL_AT_LEAST_ONCE, &err);
    pawl_code rc = pawl_run(e, "essay-1", "{\"request\":\"Why is the sky blue?\"}", &err);
    if (rc == PAWL_INTERRUPTED) {
        puts("approve the revision? yes");
        rc = pawl_answer(e, "essay-1", NULL, "true", &err);
    }
    puts(rc < 0 ? err.text : pawl_run_get(e, "essay-1", "revise"));
    pawl_engine_free(e);
    return rc < 0;
}
