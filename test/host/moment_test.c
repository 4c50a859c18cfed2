/* moment_test.c - hooks in the life of an agent that is spoken to by a handle: a function is bound as the effect `hook`, and is run once for each
 * moment, whatever dies in between (P4, E4). */
#include "hosting.h"

#define HOOK(point) "\"" point "\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"x\"}]}]"
#define HOOKS "\"@policy\":{\"hooks\":[{\"from\":\"s\",\"hooks\":{" HOOK("UserPromptSubmit") "," HOOK("Stop") "," HOOK("SessionEnd") "}}]}"

typedef struct heard { pthread_mutex_t lock; char all[4096]; size_t n; } heard;

/* Blocks what says "secret", and the first stop of a turn. */
static pawl_code listens(const pawl_job *job, pawl_reply *reply, void *arg)
{
    const pawl_value *input = pawl_value_get(job->args, "input");
    const char *event = pawl_value_string(pawl_value_get(input, "hook_event_name")), *prompt = pawl_value_string(pawl_value_get(input, "prompt"));
    const pawl_value *active = pawl_value_get(input, "stop_hook_active");
    heard *h = arg;

    pthread_mutex_lock(&h->lock);
    h->n += (size_t)snprintf(h->all + h->n, sizeof h->all - h->n, "%s%s%s\n", event, prompt != NULL ? " " : "", prompt != NULL ? prompt : "");
    pthread_mutex_unlock(&h->lock);
    if (prompt != NULL && strstr(prompt, "secret") != NULL)
        return pawl_reply_json(reply, "{\"verdict\":\"deny\",\"reason\":\"no secrets\"}");
    if (active != NULL && !pawl_value_bool(active))
        return pawl_reply_json(reply, "{\"verdict\":\"deny\",\"reason\":\"say more\"}");
    return pawl_reply_json(reply, "{\"verdict\":\"proceed\"}");
}

static void host_with(stage *g, heard *h)
{
    pawl_err err = {0};

    stage_begin(g);
    path_new("host");
    g->e = host_engine(g, file_store(), 2);
    said(pawl_engine_effect(g->e, "hook", listens, h, PAWL_CLASS_AT_LEAST_ONCE, &err), &err);
    if ((g->h = pawl_host_new(g->e, file_store(), &err)) == NULL)
        CHECK_FAIL("%s", err.text);
}

PAWL_TEST(test_P4_hooks_of_an_agent_with_a_handle)
{
    heard h = { .n = 0 };
    pawl_err err = {0};
    pawl_handle *a;
    stage g;

    pthread_mutex_init(&h.lock, NULL);
    host_with(&g, &h);
    a = spawned(&g, "one", "{" HOOKS ",\"input\":\"say hello\"}");
    CHECK_STR(rests(a), "idle");
    sends(a, "the secret");
    CHECK_STR(rests(a), "done");
    CHECK_STR(h.all, "UserPromptSubmit say hello\nStop\nStop\nUserPromptSubmit the secret\n");
    pawl_handle_free(a);
    pawl_host_drain(g.h);
    pawl_host_free(g.h);

    h.n = 0;                    /* another process: what they said stands, and nobody is asked again */
    g.e = host_engine(&g, file_store(), 2);
    said(pawl_engine_effect(g.e, "hook", listens, &h, PAWL_CLASS_AT_LEAST_ONCE, &err), &err);
    if ((g.h = pawl_host_new(g.e, file_store(), &err)) == NULL)
        CHECK_FAIL("%s", err.text);
    a = found(&g, "one");
    CHECK_STR(rests(a), "done");
    sends(a, "say more");
    CHECK_STR(rests(a), "idle");
    said(pawl_handle_shutdown(a, &err), &err);
    CHECK_STR(comes_to(a, PAWL_UNTIL_OVER), "over");
    CHECK_STR(h.all, "UserPromptSubmit say more\nStop\nStop\nSessionEnd\n");
    shown_are(a, "idle processing idle processing done idle processing idle processing done");
    pawl_handle_free(a);
    pawl_host_drain(g.h);
    talk_is(&g, "one", "user=say hello\nassistant=hello\nuser=say more\nassistant=more\nuser=say more\nassistant=more\nuser=say more\nassistant=more\n");
    host_end(&g);
    pthread_mutex_destroy(&h.lock);
}
