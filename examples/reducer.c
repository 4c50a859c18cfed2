/* reducer.c - the loop of research.c as one function from what happened to what is done next. */
#include <pawl/pawl.h>
#include <stdio.h>
#include <string.h>

static pawl_code ask(pawl_step *s, const char *tag, const pawl_value *text) { pawl_flow_call(s, tag, tag, text); return PAWL_OK; }

static pawl_code on_event(pawl_step *s, const pawl_input_event *h, void *arg)
{
    const char *draft = pawl_get_string(s, "draft"), *text = pawl_value_string(h->value);
    (void)arg;
    if (h->kind == PAWL_EV_START)
        return ask(s, "research", pawl_get(s, "input"));
    if (h->kind == PAWL_EV_ANSWER)
        return ask(s, "research", pawl_pack(s, "s", pawl_format(s, "%s (%s)", draft, text)));
    if (h->kind != PAWL_EV_RECEIPT || h->outcome != PAWL_OUTCOME_DONE)
        return PAWL_IGNORED;
    if (strcmp(h->tag, "research") == 0) {
        pawl_set(s, "draft", h->value);
        return ask(s, "critic", h->value);
    }
    if (strcmp(text, "revise") == 0)
        return ask(s, "research", pawl_pack(s, "s", pawl_format(s, "Better: %s", draft)));
    if (strcmp(text, "approve") == 0)
        return pawl_flow_complete(s);
    pawl_flow_ask(s, "note", &(pawl_question){ .kind = PAWL_WAIT_INPUT, .prompt = pawl_pack(s, "s", "The critic needs a person.") });
    return PAWL_OK;
}

static pawl_code model(const pawl_job *cmd, pawl_reply *reply, void *says)  /* what it says is scripted */
{
    const char ***next = says, *text = *(*next)++;
    printf("%-8s %-40s -> %s\n", cmd->effect, pawl_value_string(cmd->args), text);
    return pawl_reply_string(reply, text);
}

int main(void)
{
    const pawl_channel channels[] = { { .name = "input" }, { .name = "draft", .first = "\"\"" } };
    const char *script[] = { "It is the air.", "revise", "Air scatters blue.", "ask", "Air scatters blue, not at dusk.", "approve" }, **says = script;
    pawl_err err = {0};
    pawl_engine *e = pawl_engine_new(pawl_flow_reducer("research", 1, channels, 2, on_event, NULL, NULL, &err), pawl_store_memory(&err), &err);
    pawl_engine_effect(e, "research", model, &says, PAWL_CLASS_AT_LEAST_ONCE, &err);
    pawl_engine_effect(e, "critic", model, &says, PAWL_CLASS_AT_LEAST_ONCE, &err);
    pawl_code rc = pawl_run(e, "research-1", "{\"input\":\"Why is the sky blue?\"}", &err);
    if (rc == PAWL_INTERRUPTED && puts("note     The critic needs a person.               -> what about dusk?"))
        rc = pawl_answer(e, "research-1", "note", "\"what about dusk?\"", &err);
    puts(rc != PAWL_HALTED ? err.text : pawl_run_get(e, "research-1", "draft"));
    pawl_engine_free(e);
    return rc != PAWL_HALTED;
}
