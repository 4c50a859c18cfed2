/* research.c - a table of steps: draft, critique; then approve, revise, or ask a person. */
#include <pawl/pawl.h>
#include <stdio.h>
#include <string.h>

static pawl_code research(pawl_step *s, const pawl_value *payload, const pawl_value *question, void *arg)
{
    const pawl_value *draft;                    /* first call: no payload, but the question */
    pawl_code rc = pawl_call(s, "research", payload != NULL ? payload : question, &draft);

    (void)arg;
    return rc != PAWL_OK ? rc : pawl_flow_goto(s, "critique", draft);
}

static pawl_code critique(pawl_step *s, const pawl_value *draft, const pawl_value *input, void *arg)
{
    const pawl_value *verdict;
    pawl_code rc = pawl_call(s, "critic", draft, &verdict);

    (void)input, (void)arg;
    if (rc != PAWL_OK)
        return rc;
    if (strcmp(pawl_value_string(verdict), "revise") == 0)
        return pawl_flow_goto(s, "research", pawl_pack(s, "s", pawl_format(s, "Better: %s", pawl_value_string(draft))));
    if (strcmp(pawl_value_string(verdict), "ask") == 0)
        return pawl_flow_await(s, "note", pawl_pack(s, "s", "The critic needs a person."), draft);
    return pawl_flow_complete(s);
}

static pawl_code noted(pawl_step *s, const pawl_value *draft, const pawl_value *note, void *arg)
{
    (void)arg;
    return pawl_flow_goto(s, "research", pawl_pack(s, "s", pawl_format(s, "%s (%s)", pawl_value_string(draft), pawl_value_string(note))));
}

static pawl_code model(const pawl_job *cmd, pawl_reply *reply, void *says)  /* what it says is scripted */
{
    const char ***next = says, *text = *(*next)++;

    printf("%-8s %-40s -> %s\n", cmd->effect, pawl_value_string(cmd->args), text);
    pawl_reply_string(reply, text);
    return PAWL_OK;
}

int main(void)
{
    const pawl_flow_step steps[] = { { .name = "research", .fn = research, .start = true, .takes_input = true },
                                     { .name = "critique", .fn = critique }, { .name = "noted", .fn = noted, .resumes_from = "critique" } };
    const char *script[] = { "It is the air.", "revise", "Air scatters blue.", "ask", "Air scatters blue, not at dusk.", "approve" }, **says = script;
    pawl_err err = {0};
    pawl_engine *e = pawl_engine_new(pawl_flow_steps("research", 1, steps, 3, NULL, 0, NULL, NULL, &err), pawl_store_memory(&err), &err);
    pawl_engine_effect(e, "research", model, &says, PAWL_CLASS_AT_LEAST_ONCE, &err);
    pawl_engine_effect(e, "critic", model, &says, PAWL_CLASS_AT_LEAST_ONCE, &err);
    pawl_code rc = pawl_run(e, "research-1", "{\"input\":\"Why is the sky blue?\"}", &err);
    if (rc == PAWL_INTERRUPTED && puts("note     The critic needs a person.               -> what about dusk?"))
        rc = pawl_answer(e, "research-1", "note", "\"what about dusk?\"", &err);
    printf("%s\n", rc < 0 ? err.text : pawl_run_get(e, "research-1", "payload"));
    pawl_engine_free(e);
    return rc < 0;
}
