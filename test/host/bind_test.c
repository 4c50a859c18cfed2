/* What an agent's runs need besides its model is in the library: bound by one call, described by another; and what is missing is named. */
#include "host/hosting.h"
#include "pawl/tool.h"

static pawl_code remembers(const pawl_job *job, pawl_reply *reply, void *arg)
{
    (void)job;
    ++*(unsigned *)arg;
    return pawl_reply_json(reply, "{\"content\":\"kept\"}");
}

static pawl_tools *tools_with(unsigned *calls)
{
    const pawl_tool own = { .name = "remember", .rule = "Edit", .schema = "{\"type\":\"object\"}", .cls = PAWL_PERMISSION_EDIT,
        .effect = PAWL_CLASS_ONCE, .mutates = true,
                            .fn = remembers, .arg = calls };
    pawl_err err = {0};
    pawl_tools *t = pawl_tools_new(NULL, &err);

    said(pawl_tools_add_builtin(t, "todo", &err), &err);
    said(pawl_tools_add(t, &own, &err), &err);
    return t;
}

/* A host of an agent with those tools, whose model follows the script of hosting.h; its rules name paths, so that each edit has its links looked at. */
static void begin_with(stage *g, const pawl_tools *t, bool bound)
{
    pawl_agent_tool tools[4];
    pawl_agent a = { .name = "bound", .model = "m", .tools = tools };
    pawl_err err = {0};

    stage_begin(g);
    CHECK_INT(pawl_host_tools(t, tools, 1), 1);
    a.ntools = pawl_host_tools(t, tools, 4);
    CHECK_INT(a.ntools, 2);
    CHECK(tools[0].own == PAWL_OWN_TODO && tools[1].own == PAWL_OWN_NOT);
    CHECK_STR(tools[1].rule, "Edit");
    g->e = pawl_engine_new(pawl_agent_machine(&a, NULL, &err), pawl_store_memory(&err), &err);
    if (g->e == NULL)
        CHECK_FAIL("%s", err.text);
    said(pawl_engine_effect(g->e, "llm", speaks, g, PAWL_CLASS_AT_LEAST_ONCE, &err), &err);
    if (bound)
        said(pawl_host_bind(g->e, t, &err), &err);
    if ((g->h = pawl_host_new(g->e, NULL, &err)) == NULL)
        CHECK_FAIL("%s", err.text);
}

static pawl_handle *asked_to_edit(stage *g)
{
    return spawned(g, "r", "{\"@cwd\":\"/tmp\",\"@mode\":\"acceptEdits\",\"@policy\":{\"allow\":[\"Edit\"],\"deny\":[\"Edit(//tmp/secret.txt)\"]},"
                           "\"input\":\"use remember c1 {\\\"file_path\\\":\\\"notes.txt\\\"}\"}");
}

PAWL_TEST(test_A5_one_call_binds_what_runs_need)
{
    unsigned calls = 0;
    pawl_tools *t = tools_with(&calls);
    pawl_handle *a;
    stage g;

    begin_with(&g, t, true);
    a = asked_to_edit(&g);
    CHECK_STR(rests(a), "idle");
    CHECK_INT(calls, 1);
    pawl_handle_free(a);
    host_end(&g);
    pawl_tools_free(t);
}

PAWL_TEST(test_A5_an_engine_for_an_agent_and_its_tools_is_one_call)
{
    unsigned calls = 0;
    pawl_tools *t = tools_with(&calls);
    pawl_err err = {0};
    pawl_handle *a;
    stage g;

    stage_begin(&g);
    g.e = pawl_host_engine(&(pawl_agent){ .name = "bound", .model = "m" }, t, pawl_store_memory(&err), &err);
    if (g.e == NULL)
        CHECK_FAIL("%s", err.text);
    said(pawl_engine_effect(g.e, "llm", speaks, &g, PAWL_CLASS_AT_LEAST_ONCE, &err), &err);
    if ((g.h = pawl_host_new(g.e, NULL, &err)) == NULL)
        CHECK_FAIL("%s", err.text);
    a = asked_to_edit(&g);
    CHECK_STR(rests(a), "idle");
    CHECK_INT(calls, 1);
    pawl_handle_free(a);
    host_end(&g);

    CHECK(pawl_host_engine(NULL, t, pawl_store_memory(NULL), &err) == NULL);        /* nothing leaks, and it says why */
    CHECK_INT(err.code, PAWL_INVALID);
    err = (pawl_err){ PAWL_OK, "" };
    CHECK(pawl_host_engine(&(pawl_agent){ .name = "no name", .model = "m" }, NULL, pawl_store_memory(NULL), &err) == NULL);
    CHECK_INT(err.code, PAWL_INVALID);
    err = (pawl_err){ PAWL_OK, "" };
    CHECK(pawl_host_engine(&(pawl_agent){ .name = "bound", .model = "m" }, t, NULL, &err) == NULL);
    pawl_tools_free(t);
}

PAWL_TEST(test_A5_who_waits_is_told_which_handler_is_missing)
{
    unsigned calls = 0;
    pawl_tools *t = tools_with(&calls);
    pawl_err err = {0};
    pawl_handle *a;
    stage g;

    begin_with(&g, t, false);
    a = asked_to_edit(&g);
    while (pawl_handle_wait(a, PAWL_UNTIL_RESTS, 50, NULL, &err) == PAWL_PENDING && err.code == PAWL_OK)
        ;
    CHECK_INT(err.code, PAWL_PENDING);
    CHECK(strstr(err.text, "\"links\"") != NULL || strstr(err.text, "\"tool-remember\"") != NULL);
    CHECK(strstr(err.text, "pawl_host_bind") != NULL);
    err = (pawl_err){0};
    CHECK_INT(pawl_handle_wait(a, PAWL_UNTIL_RESTS, -1, NULL, &err), PAWL_PENDING);     /* no handler can come any more: without limit it would never end */
    CHECK(strstr(err.text, "no handler here for effect") != NULL);
    CHECK_INT(calls, 0);
    pawl_handle_free(a);
    host_end(&g);
    pawl_tools_free(t);
}
