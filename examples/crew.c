/* crew.c - a crew: a router picks specialists, they work side by side, and an editor makes one answer of theirs. */
#include <pawl/pawl.h>
#include <stdio.h>
#include <string.h>

enum { CREW_MAX = 8 };

static pawl_code crew(pawl_step *s, const pawl_value *question, void *arg)
{
    const pawl_value *picked, *who, *said[CREW_MAX], *answer;
    const char *all = "";
    pawl_code rc = pawl_call(s, "router", question, &picked), one;
    size_t n = 0;

    (void)arg;
    if (rc != PAWL_OK)
        return rc;
    for (; n < CREW_MAX && (who = pawl_value_at(picked, n)) != NULL; n++) {
        one = pawl_call(s, "specialist", pawl_pack(s, "{s:v,s:v}", "as", who, "task", question), &said[n]);
        rc = one != PAWL_OK ? one : rc;         /* all of them leave at once; this function runs again when all have answered */
    }
    if (rc != PAWL_OK)
        return rc;
    for (size_t i = 0; i < n; i++)
        all = pawl_format(s, "%s%s%s", all, i > 0 ? " / " : "", pawl_value_string(said[i]));
    if ((rc = pawl_call(s, "editor", pawl_pack(s, "s", all), &answer)) == PAWL_OK)
        pawl_set(s, "answer", answer);
    return rc;
}

/* In place of models: what they say is scripted. */
static pawl_code router(const pawl_job *job, pawl_reply *reply, void *arg)
{
    (void)arg;
    printf("router: %s\n", pawl_value_string(job->args));
    return pawl_reply_json(reply, "[\"physicist\",\"painter\"]");
}

static pawl_code specialist(const pawl_job *job, pawl_reply *reply, void *arg)
{
    const char *as = pawl_value_string(pawl_value_get(job->args, "as"));

    (void)arg;
    printf("%s: %s\n", as, pawl_value_string(pawl_value_get(job->args, "task")));
    return pawl_reply_string(reply, strcmp(as, "physicist") == 0 ? "air scatters blue light most" : "it pales towards the horizon");
}

static pawl_code editor(const pawl_job *job, pawl_reply *reply, void *arg)
{
    (void)arg;
    printf("editor: %s\n", pawl_value_string(job->args));
    return pawl_reply_string(reply, "Air scatters blue light most, so the sky is blue, and pales towards the horizon.");
}

int main(void)
{
    const pawl_channel channels[] = { { .name = "input" }, { .name = "answer" } };
    pawl_err err = {0};
    pawl_engine *e = pawl_engine_new(pawl_flow_linear("crew", 1, channels, 2, crew, NULL, 0, NULL, &err), pawl_store_memory(&err), &err);
    pawl_code rc;

    pawl_engine_effect(e, "router", router, NULL, PAWL_CLASS_AT_LEAST_ONCE, &err);
    pawl_engine_effect(e, "specialist", specialist, NULL, PAWL_CLASS_AT_LEAST_ONCE, &err);
    pawl_engine_effect(e, "editor", editor, NULL, PAWL_CLASS_AT_LEAST_ONCE, &err);
    rc = pawl_run(e, "crew-1", "{\"input\":\"Why is the sky blue?\"}", &err);
    puts(*err.text != '\0' ? err.text : pawl_run_get(e, "crew-1", "answer"));
    pawl_engine_free(e);
    return rc != PAWL_HALTED;
}
