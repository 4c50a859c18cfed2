/* debate.c - a debate: two agents argue until a judge sees that they agree, or the rounds are over. */
#include <pawl/pawl.h>
#include <stdio.h>

enum { ROUNDS = 5 };

static pawl_code debate(pawl_step *s, const pawl_value *motion, void *arg)
{
    const pawl_value *pro, *con = motion, *verdict;
    pawl_code rc;

    (void)arg;
    for (int round = 1; round <= ROUNDS; round++) {     /* each call is known by its position, so that a loop is a loop */
        if ((rc = pawl_call(s, "pro", pawl_pack(s, "{s:v,s:v}", "motion", motion, "reply_to", con), &pro)) != PAWL_OK ||
            (rc = pawl_call(s, "con", pawl_pack(s, "{s:v,s:v}", "motion", motion, "reply_to", pro), &con)) != PAWL_OK ||
            (rc = pawl_call(s, "judge", pawl_pack(s, "{s:v,s:v}", "con", con, "pro", pro), &verdict)) != PAWL_OK)
            return rc;
        if (!pawl_value_bool(pawl_value_get(verdict, "agreed")))
            continue;
        pawl_set_int(s, "rounds", round);
        pawl_set(s, "verdict", pawl_value_get(verdict, "text"));
        return PAWL_OK;
    }
    return pawl_fail(s, PAWL_LIMIT, "no agreement in %d rounds", ROUNDS);
}

static pawl_code says(const pawl_job *job, pawl_reply *reply, void *script)    /* in place of a model: the next line of its script */
{
    const char ***next = script, *text = *(*next)++;

    printf("%-6s %s\n", job->effect, text);
    return *text == '{' ? pawl_reply_json(reply, text) : pawl_reply_string(reply, text);
}

int main(void)
{
    const pawl_channel channels[] = { { .name = "input" }, { .name = "verdict" }, { .name = "rounds" } };
    const char *lines[] = {
        "Tabs: everybody sets the width that they read best.", "Spaces: a table looks the same everywhere.", "{\"agreed\":false}",
        "Tabs to indent, spaces to align.", "With that I can live.", "{\"agreed\":true,\"text\":\"Tabs to indent, spaces to align.\"}",
    }, **script = lines;
    pawl_err err = {0};
    pawl_engine *e = pawl_engine_new(pawl_flow_linear("debate", 1, channels, 3, debate, NULL, 0, NULL, &err), pawl_store_memory(&err), &err);
    pawl_code rc;

    pawl_engine_effect(e, "pro", says, &script, PAWL_CLASS_AT_LEAST_ONCE, &err);
    pawl_engine_effect(e, "con", says, &script, PAWL_CLASS_AT_LEAST_ONCE, &err);
    pawl_engine_effect(e, "judge", says, &script, PAWL_CLASS_AT_LEAST_ONCE, &err);
    rc = pawl_run(e, "debate-1", "{\"input\":\"Tabs or spaces?\"}", &err);
    if (*err.text != '\0')
        puts(err.text);
    else
        printf("after %s rounds: %s\n", pawl_run_get(e, "debate-1", "rounds"), pawl_run_get(e, "debate-1", "verdict"));
    pawl_engine_free(e);
    return rc != PAWL_HALTED;
}
