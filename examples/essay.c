/* essay.c - draft, review, approval by a person, revise. */
#include <pawl/pawl.h>
#include <stdio.h>

static pawl_code ask_llm(pawl_step *s, void *prompt)
{
    const pawl_value *text, *request = pawl_get(s, "request");
    pawl_code rc = pawl_call(s, "llm", pawl_pack(s, "{s:s,s:v}", "prompt", prompt, "request", request), &text);
    if (rc == PAWL_OK) pawl_set(s, pawl_node_name(s), text);    /* each node writes the channel of its name */
    return rc;                                          /* PAWL_PENDING: it runs again with the receipt */
}

static pawl_code model(const pawl_job *cmd, pawl_reply *reply, void *text)  /* your HTTP call: the only impure function */
{
    printf("the model is asked: %s\n", pawl_value_string(pawl_value_get(cmd->args, "prompt")));
    return pawl_reply_string(reply, text);
}

int main(int argc, char **argv)                         /* ./essay; kill -9; ./essay; ./essay yes */
{
    pawl_err err = {0};
    pawl_graph *g = pawl_graph_new("essay", 1);
    pawl_graph_input(g, "request", NULL);
    pawl_graph_node(g, "draft", ask_llm, "Answer the request in plain prose.");
    pawl_graph_node(g, "review", ask_llm, "Name the three biggest weaknesses of the draft.");
    pawl_graph_node(g, "revise", ask_llm, "Rewrite the draft by the review.");
    pawl_graph_chain(g, PAWL_START, "draft", "review", "revise", PAWL_END, NULL);
    pawl_graph_gate(g, "revise", "Approve the revision?");
    pawl_engine *e = pawl_engine_new(pawl_graph_compile(g, &err), pawl_store_sqlite("essay.db", NULL, &err), &err);
    pawl_engine_effect(e, "llm", model, "Blue light is scattered most.", PAWL_CLASS_AT_LEAST_ONCE, &err);
    pawl_code rc = argc > 1 ? pawl_answer(e, "essay-1", NULL, *argv[1] == 'y' ? "true" : "false", &err)
                            : pawl_run(e, "essay-1", "{\"request\":\"Why is the sky blue?\"}", &err);
    const char *why = pawl_run_reason(e, "essay-1");    /* it failed, or somebody said no */
    puts(*err.text ? err.text : rc == PAWL_INTERRUPTED ? "Approve the revision? ./essay yes" : *why ? why : pawl_run_get(e, "essay-1", "revise"));
    pawl_engine_free(e);
    return rc < 0;
}
