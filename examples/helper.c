/* helper.c - an agent in a program: a tool of its own, a model that is a function, and a person who permits a call. */
#include <pawl/pawl.h>
#include <stdio.h>
#include <string.h>

/* The tool. It runs only after a yes, and never twice: after a crash its outcome is asked for. */
static pawl_code release(const pawl_job *job, pawl_reply *reply, void *arg)
{
    char json[128];

    (void)arg;
    snprintf(json, sizeof json, "{\"content\":\"release %s is out\"}", pawl_value_string(pawl_value_find(job->args, "/input/version")));
    return pawl_reply_json(reply, json);
}

/* The model: it calls the tool, and answers once it has the result. With a real one bind pawl_effect_llm in its place. */
static pawl_code model(const pawl_job *job, pawl_reply *reply, void *arg)
{
    const pawl_value *messages = pawl_value_get(job->args, "messages");
    const char *role = pawl_value_string(pawl_value_get(pawl_value_at(messages, pawl_value_size(messages) - 1), "role"));

    (void)arg;
    if (role != NULL && strcmp(role, "tool") == 0)
        return pawl_reply_json(reply, "{\"message\":{\"content\":[{\"text\":\"Version 2 is out.\",\"type\":\"text\"}],\"role\":\"assistant\"},"
                                      "\"stop\":\"end_turn\"}");
    return pawl_reply_json(reply, "{\"message\":{\"content\":[{\"id\":\"call_1\",\"input\":{\"version\":\"2\"},\"name\":\"release\",\"type\":\"tool_use\"}],"
                                  "\"role\":\"assistant\"},\"stop\":\"tool_use\"}");
}

static pawl_host *host(const pawl_tools *tools, pawl_err *err)
{
    pawl_agent_tool known[1];
    const pawl_agent agent = { .name = "helper", .model = "mine", .tools = known, .ntools = pawl_host_tools(tools, known, 1) };
    pawl_engine *e = pawl_engine_new(pawl_agent_machine(&agent, NULL, err), pawl_store_memory(err), err);

    if (e != NULL && (pawl_engine_effect(e, "llm", model, NULL, PAWL_CLASS_AT_LEAST_ONCE, err) != PAWL_OK ||
                      pawl_host_bind(e, tools, err) != PAWL_OK)) {      /* the handlers of its tools, rules and hooks */
        pawl_engine_free(e);
        return NULL;
    }
    return pawl_host_new(e, NULL, err);
}

static pawl_code talk(pawl_handle *a, pawl_err *err)
{
    pawl_shown how;
    pawl_code rc;

    while ((rc = pawl_handle_wait(a, PAWL_UNTIL_RESTS, -1, &how, err)) == PAWL_OK && how == PAWL_SHOWN_WAITING_FOR_PERMISSION) {
        pawl_handle_view v;

        if ((rc = pawl_handle_state(a, &v, err)) != PAWL_OK)
            return rc;
        printf("%s with %s? yes\n", v.tool_name, v.input);
        rc = pawl_handle_permit(a, v.wait, true, "go ahead", NULL, err);
        pawl_handle_view_free(&v);
        if (rc != PAWL_OK)
            return rc;
    }
    printf("it is %s\n", pawl_shown_name(how));
    return rc;
}

int main(void)
{
    const pawl_tool tool = { .name = "release", .description = "Release a version.", .schema = "{\"properties\":{\"version\":{\"type\":\"string\"}},"
                             "\"required\":[\"version\"],\"type\":\"object\"}", .cls = PAWL_PERMISSION_EXEC, .effect = PAWL_CLASS_ONCE, .fn = release };
    pawl_err err = {0};
    pawl_tools *tools = pawl_tools_new(NULL, &err);
    pawl_host *h = tools != NULL && pawl_tools_add(tools, &tool, &err) == PAWL_OK ? host(tools, &err) : NULL;
    pawl_handle *a = NULL;
    pawl_chunks *c = NULL;
    pawl_chunk k;
    bool good = h != NULL && pawl_host_spawn(h, NULL, "helper-1", "{\"@cwd\":\"/\",\"input\":\"Release version 2.\"}", &a, &err) == PAWL_OK &&
                talk(a, &err) == PAWL_OK && (c = pawl_handle_chunks(a, NULL, &err)) != NULL;

    while (good && pawl_chunks_wait(c, 0, &k, &err) == PAWL_OK)
        if (k.kind == PAWL_CHUNK_TOOL_END || k.kind == PAWL_CHUNK_TEXT_COMPLETE)
            printf("%s %s\n", pawl_chunk_name(k.kind), k.json);
    if (!good)
        puts(err.text);
    pawl_chunks_close(c);
    pawl_handle_free(a);
    pawl_host_free(h);
    pawl_tools_free(tools);
    return !good;
}
