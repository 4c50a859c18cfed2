/* essay_demo.c - the essay of essay.c step by step: drawn, verified and forked. */
#include <pawl/pawl.h>
#include <stdio.h>
#include <stdlib.h>

static pawl_code ask_llm(pawl_step *s, void *prompt)
{
    const pawl_value *text, *request = pawl_get(s, "request");
    pawl_code rc = pawl_call(s, "llm", pawl_pack(s, "{s:s,s:v}", "prompt", prompt, "request", request), &text);

    if (rc == PAWL_OK)
        pawl_set(s, pawl_node_name(s), text);
    return rc;
}

static pawl_machine *essay(pawl_err *err)
{
    pawl_graph *g = pawl_graph_new("essay", 1);

    pawl_graph_input(g, "request", NULL);
    pawl_graph_node(g, "draft", ask_llm, "Answer the request in plain prose.");
    pawl_graph_node(g, "review", ask_llm, "Name the biggest weakness of the draft.");
    pawl_graph_node(g, "revise", ask_llm, "Rewrite the draft by the review.");
    pawl_graph_chain(g, PAWL_START, "draft", "review", "revise", PAWL_END, NULL);
    pawl_graph_gate(g, "revise", "Approve the revision?");
    return pawl_graph_compile(g, err);
}

/* In place of a model: what it says is scripted. */
static pawl_code scripted(const pawl_job *cmd, pawl_reply *reply, void *arg)
{
    const char *prompt = pawl_value_string(pawl_value_get(cmd->args, "prompt"));

    (void)arg;
    pawl_reply_string(reply, prompt[0] == 'A'   ? "Air scatters blue light most."
                             : prompt[0] == 'N' ? "It does not say why not violet."
                                                : "Air scatters short waves most; our eyes see little violet.");
    return PAWL_OK;
}

/* A line for each entry, when it is stored. */
static void told(void *ctx, const pawl_state *st, const pawl_entry *entry)
{
    const char *task, *at, *status = pawl_status_name(pawl_state_status(st));

    (void)ctx;
    if (pawl_entry_is_record(entry)) {      /* `st` may be further: a receipt and the entry that it leads to are one commit */
        puts("  .  record");
        return;
    }
    printf("  %llu  %-8s %-15s", (unsigned long long)pawl_entry_seq(entry), pawl_event_kind_name(pawl_entry_kind(entry)), status);
    for (size_t i = 0; (task = pawl_state_task(st, i, &at)) != NULL; i++)
        printf(" %s is %s", task, pawl_state_waits(st) > 0 ? "waiting for a person" : at);
    puts(pawl_state_next(st) == PAWL_HALTED && pawl_state_task(st, 0, NULL) == NULL ? " nothing is left to do" : "");
}

static void picture(pawl_engine *e, const char *run, pawl_err *err)
{
    const char *text = pawl_draw(pawl_engine_machine(e), pawl_run_state(e, run, err), PAWL_PICTURE_TEXT, pawl_engine_step(e), err);

    printf("\n%s\n", text != NULL ? text : err->text);
}

static void verified(pawl_engine *e, const char *run, pawl_err *err)
{
    pawl_bytes journal = pawl_store_journal(pawl_engine_store(e), run, err);
    pawl_verdict v;

    if (pawl_verify(pawl_engine_machine(e), journal, NULL, &v, err) == PAWL_OK)
        printf("  %s: %llu entries, %llu task records, each fed again: the same bytes\n", run, (unsigned long long)v.entries,
               (unsigned long long)v.records);
    else
        printf("  %s: entry %llu: %s\n", run, (unsigned long long)v.seq, err->text);
    free((char *)journal.data);
}

static pawl_code show(pawl_engine *e, pawl_err *err)
{
    pawl_code rc;

    puts("essay-1 begins. One line for each entry of its journal, as it is stored:\n");
    if ((rc = pawl_run(e, "essay-1", "{\"request\":\"Why is the sky blue?\"}", err)) != PAWL_INTERRUPTED)
        return rc;
    picture(e, "essay-1", err);
    puts("It waits, for seconds or weeks: a process may end here. Somebody says yes. A dot is a task record,\n"
         "which is stored too, inside the superstep that it belongs to:\n");
    if ((rc = pawl_answer(e, "essay-1", NULL, "true", err)) != PAWL_HALTED)
        return rc;
    picture(e, "essay-1", err);
    printf("Its result: %s\n\n", pawl_run_get(e, "essay-1", "revise"));
    puts("essay-2 is forked from entry 2, when the review was asked for. Here it is no:\n");
    if ((rc = pawl_run_fork(e, "essay-1", 2, "essay-2", err)) != PAWL_OK || (rc = pawl_run(e, "essay-2", NULL, err)) != PAWL_INTERRUPTED ||
        (rc = pawl_answer(e, "essay-2", NULL, "false", NULL)) != PAWL_HALTED)   /* an error would say that it was rejected */
        return rc;
    puts("\nBoth journals are verified:\n");
    verified(e, "essay-1", err);
    verified(e, "essay-2", err);
    puts("\nTo remember: a node is a function that may run again, and meets its answers where it asked.\n"
         "What came in, what changed and what is asked next are one entry, stored before its side effects\n"
         "run. So a crash costs nothing that was answered, and any moment can be read, forked or checked.");
    return rc;
}

int main(void)
{
    pawl_err err = {0};
    pawl_engine *e = pawl_engine_new(essay(&err), pawl_store_memory(&err), &err);
    pawl_code rc;

    pawl_engine_effect(e, "llm", scripted, NULL, PAWL_CLASS_AT_LEAST_ONCE, &err);
    pawl_engine_watch(e, told, NULL);
    rc = e == NULL ? err.code : show(e, &err);
    if (rc != PAWL_HALTED)
        printf("it ended otherwise: %s %s\n", pawl_code_name(rc), err.text);
    pawl_engine_free(e);
    return rc != PAWL_HALTED || err.code != PAWL_OK;
}
