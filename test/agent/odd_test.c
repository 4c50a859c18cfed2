/* odd_test.c - what seldom happens to an agent: results that come out of order under a budget, odd settings, a shutdown after an error, more
 * calls than an event may have commands (A2, A3, A5, A8, X3). */
#include "agenting.h"

enum { LARGE = 5000 };

/* ---- what is reserved (A8) ---------------------------------------------------------------------------------- */

static void begun_with_tokens(world *w, const char *input)
{
    pawl_agent a = agent_plain();

    a.max_tokens = 100;
    world_budget((pawl_caps){ .tokens = 1000000 });
    agent_begin(w, &a, input);
    world_budget((pawl_caps){0});
}

static int64_t reserved(world *w)
{
    pawl_spent spent = {0};

    CHECK(pawl_state_spent(w->st, &spent));
    return spent.reserved.tokens;
}

static const char *large(char *json, size_t room, const char *before, const char *behind)
{
    static char text[LARGE + 1];

    memset(text, 'x', LARGE);
    snprintf(json, room, "%s%s%s", before, text, behind);
    return json;
}

/* What came too early waits for its turn, and goes to the model with what comes last. */
PAWL_TEST(test_A8_results_that_waited_are_reserved)
{
    char json[LARGE + 100];
    world w;

    begun_with_tokens(&w, "{\"input\":\"go\"}");
    model_says(&w, NULL, "read_file r1 {\"file_path\":\"a\"};read_file r2 {\"file_path\":\"b\"}");
    comes(&w, "r2", PAWL_OUTCOME_DONE, large(json, sizeof json, "\"", "\""));
    comes(&w, "r1", PAWL_OUTCOME_DONE, "\"small\"");
    CHECK(*command_of(&w, "llm") != '\0');
    CHECK(reserved(&w) > LARGE);
    model_says(&w, "so", NULL);
    world_end(&w);
}

PAWL_TEST(test_A8_input_that_was_queued_is_reserved)
{
    char json[LARGE + 100];
    world w;

    begun_with_tokens(&w, "{\"input\":\"go\"}");
    world_signal(&w, "input", large(json, sizeof json, "\"", "\""));
    model_says(&w, "so", NULL);
    CHECK(*command_of(&w, "llm") != '\0');
    CHECK(reserved(&w) > LARGE);
    model_says(&w, "so", NULL);
    world_end(&w);
}

/* Bytes stand for what no bill knows yet, and for nothing else. */
PAWL_TEST(test_A8_what_was_billed_is_not_reserved_by_its_bytes)
{
    char json[LARGE + 100];
    world w;

    begun_with_tokens(&w, large(json, sizeof json, "{\"input\":\"", "\"}"));
    model_says(&w, "so", NULL);
    world_signal(&w, "input", "\"more\"");
    CHECK(reserved(&w) > 100 && reserved(&w) < 500);
    model_says(&w, "so", NULL);
    world_end(&w);
}

PAWL_TEST(test_A8_a_system_that_has_become_longer_is_reserved)
{
    char json[LARGE + 100];
    world w;

    begun_with_tokens(&w, "{\"input\":\"go\"}");
    model_says(&w, "so", NULL);
    world_update(&w, NULL, large(json, sizeof json, "{\"@system\":\"", "\"}"));
    world_signal(&w, "input", "\"more\"");
    CHECK(reserved(&w) > LARGE);
    model_says(&w, "so", NULL);
    world_end(&w);
}

PAWL_TEST(test_A8_odd_bounds_of_an_answer_fail_nothing)
{
    static const char *const bounds[] = { "-1", "-9223372036854775808", "9223372036854775807", "\"many\"" };

    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        pawl_agent a = agent_plain();
        char json[128];
        world w;

        a.price_input = a.price_output = INT64_MAX;
        world_budget((pawl_caps){ .tokens = 100000 });
        agent_begin(&w, &a, NULL);
        world_budget((pawl_caps){0});
        snprintf(json, sizeof json, "{\"@config\":{\"max_tokens\":%s,\"model\":\"script:none\"}}", bounds[i]);
        world_update(&w, NULL, json);
        world_signal(&w, "input", "\"go\"");
        CHECK_STR(agent_shows(&w), i == 2 ? "done" : "processing");      /* there is no room for so many */
        world_drop(&w);
    }
}

/* ---- requests (A2) -------------------------------------------------------------------------------------------- */

/* What goes on after a pause is another request, with as many calls as any. */
PAWL_TEST(test_A2_a_request_after_a_pause_has_all_its_calls)
{
    const pawl_agent a = agent_plain();
    world w;

    agent_begin(&w, &a, "{\"input\":\"go\"}");
    for (int i = 0; i < 2; i++) {
        comes(&w, "llm", PAWL_OUTCOME_ERROR, "{\"code\":\"transient\",\"text\":\"busy\"}");
        wakes(&w);
    }
    comes(&w, "llm", PAWL_OUTCOME_DONE, "{\"message\":{\"content\":[{\"text\":\"first\",\"type\":\"text\"}],\"role\":\"assistant\"},\"stop\":\"pause_turn\"}");
    for (int i = 0; i < 2; i++) {
        comes(&w, "llm", PAWL_OUTCOME_ERROR, "{\"code\":\"transient\",\"text\":\"busy\"}");
        CHECK_STR(agent_shows(&w), "processing");
        wakes(&w);
    }
    model_says(&w, "done", NULL);
    CHECK_STR(agent_shows(&w), "idle");
    world_end(&w);
}

/* ---- its end (A3) ----------------------------------------------------------------------------------------------- */

PAWL_TEST(test_A3_a_shutdown_after_an_error_is_done)
{
    const pawl_agent a = agent_plain();
    pawl_agent_view v;
    world w;

    agent_begin(&w, &a, "{\"input\":\"go\"}");
    comes(&w, "llm", PAWL_OUTCOME_ERROR, "{\"code\":\"denied\",\"text\":\"no\"}");
    CHECK_STR(agent_shows(&w), "error");
    world_signal(&w, "shutdown", NULL);
    CHECK_STR(world_status(&w), "completed");
    CHECK_INT(pawl_agent_display(w.st, &v, NULL), PAWL_OK);
    CHECK_STR(pawl_shown_name(v.state), "done");
    CHECK(v.message == NULL);
    world_end(&w);
}

#define ENDING "\"@policy\":{\"hooks\":[{\"from\":\"s.json\",\"hooks\":{\"SessionEnd\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"check\"}]}]}}]}"

static size_t times(world *w, const char *part)
{
    size_t n = 0;

    for (const char *at = traced(w); (at = strstr(at, part)) != NULL; at++)
        n++;
    return n;
}

/* Its turn has ended, and how: a shutdown only waits for no hook. */
PAWL_TEST(test_A3_a_shutdown_while_its_end_is_told_to_hooks)
{
    const pawl_agent a = agent_plain();
    world w;

    agent_begin(&w, &a, "{\"@once\":\"run\"," ENDING ",\"input\":\"go\"}");
    model_says(&w, "so", NULL);
    CHECK_STR(world_status(&w), "working");
    world_signal(&w, "shutdown", NULL);
    CHECK_STR(world_status(&w), "completed");
    CHECK_INT(times(&w, "{\"end\":\""), 1);
    world_end(&w);
    agent_begin(&w, &a, "{\"@once\":\"run\"," ENDING ",\"input\":\"go\"}");
    comes(&w, "llm", PAWL_OUTCOME_ERROR, "{\"code\":\"denied\",\"text\":\"no\"}");
    world_signal(&w, "shutdown", NULL);
    CHECK_STR(world_status(&w), "failed");
    world_end(&w);
    agent_begin(&w, &a, "{" ENDING ",\"input\":\"go\"}");
    world_signal(&w, "shutdown", NULL);
    CHECK_STR(world_status(&w), "working");
    world_signal(&w, "shutdown", NULL);
    CHECK_STR(world_status(&w), "completed");
    CHECK_INT(times(&w, "{\"end\":\""), 1);
    world_end(&w);
}

/* Nobody is at work in a run that is over, whatever it did when it ended. */
PAWL_TEST(test_A3_what_is_shown_of_a_run_that_is_over)
{
    const pawl_agent a = agent_plain();
    pawl_agent_view v;
    world w;

    agent_begin(&w, &a, "{\"@once\":\"run\",\"input\":\"go\"}");
    comes(&w, "llm", PAWL_OUTCOME_ERROR, "{\"code\":\"denied\",\"text\":\"API error: no\"}");
    CHECK_STR(world_status(&w), "failed");
    CHECK_INT(pawl_agent_display(w.st, &v, NULL), PAWL_OK);
    CHECK_STR(pawl_shown_name(v.state), "error");
    CHECK(v.message != NULL && strstr(v.message, "API error: no") != NULL);
    world_end(&w);
    agent_begin(&w, &a, "{\"input\":\"go\"}");
    model_says(&w, NULL, "read_file r1 {\"file_path\":\"a\"}");
    CHECK_STR(agent_shows(&w), "executing_tool");
    world_cancel(&w);
    comes(&w, "r1", PAWL_OUTCOME_CANCELED, NULL);
    CHECK_STR(world_status(&w), "canceled");
    CHECK_INT(pawl_agent_display(w.st, &v, NULL), PAWL_OK);
    CHECK_STR(pawl_shown_name(v.state), "done");
    CHECK(v.tool_name == NULL && v.tool_use_id == NULL && v.input == NULL);
    world_end(&w);
}

/* ---- what nobody says, and somebody may (X3) ------------------------------------------------------------------------ */

/* The machine begins as many as one event may have commands, and the others when some of these have ended. */
PAWL_TEST(test_X3_very_many_calls_at_once_fail_nothing)
{
    enum { CALLS = 1200 };
    const pawl_agent a = agent_plain();
    char *json = malloc(CALLS * 128), id[16];
    size_t n = 0;
    world w;

    CHECK(json != NULL);
    n += (size_t)snprintf(json, 64, "{\"message\":{\"content\":[");
    for (int i = 0; i < CALLS; i++)
        n += (size_t)snprintf(json + n, 128,
                              "%s{\"id\":\"r%d\",\"input\":{\"file_path\":\"a\"},\"name\":\"read_file\",\"type\":\"tool_use\"}", i > 0 ? "," : "", i);
    snprintf(json + n, 64, "],\"role\":\"assistant\"},\"stop\":\"tool_use\"}");
    agent_begin(&w, &a, "{\"input\":\"go\"}");
    w.unchecked = true;
    comes(&w, "llm", PAWL_OUTCOME_DONE, json);
    CHECK_STR(world_status(&w), "working");
    CHECK_STR(agent_shows(&w), "executing_tool");
    world_signal(&w, "interrupt", NULL);
    CHECK_STR(agent_shows(&w), "done");
    CHECK_INT(pawl_value_size(pawl_state_get(w.st, "messages")), CALLS + 3);
    world_signal(&w, "input", "\"again\"");
    comes(&w, "llm", PAWL_OUTCOME_DONE, json);
    for (int i = 0; i < CALLS; i++) {
        snprintf(id, sizeof id, "r%d", i);
        comes(&w, id, PAWL_OUTCOME_DONE, "\"A\"");
    }
    CHECK(*command_of(&w, "llm") != '\0');
    model_says(&w, "so", NULL);
    CHECK_STR(agent_shows(&w), "idle");
    world_drop(&w);
    free(json);
}

/* A provider's own tool has no name that a search could look at. */
PAWL_TEST(test_X3_tools_that_somebody_set_have_no_name)
{
    const pawl_agent a = agent_plain();
    world w;

    agent_begin(&w, &a, "{\"@tools\":[{\"type\":\"web_search\"},7],\"input\":\"go\"}");
    model_says(&w, NULL, "tool_search s1 {\"query\":\"page\"}");
    CHECK_STR(content_at(&w, 2), "These are there now: web_fetch");
    model_says(&w, "so", NULL);
    world_end(&w);
}

/* Whatever its author lets through: what the machine itself cannot do without is there, or the model is told. */
PAWL_TEST(test_A5_the_machines_own_tools_with_loose_schemas)
{
    static const char *const inputs[] = { "{}", "{\"plan\":null,\"questions\":null,\"prompt\":null,\"query\":null}",
                                          "{\"plan\":7,\"todos\":7,\"questions\":[7],\"prompt\":7,\"query\":7,\"agent\":7}" };
    pawl_agent_tool tools[] = { { .name = "todo", .own = PAWL_OWN_TODO }, { .name = "ask_user", .own = PAWL_OWN_ASK_USER },
                                { .name = "spawn_agent", .own = PAWL_OWN_SPAWN_AGENT }, { .name = "plan_exit", .own = PAWL_OWN_PLAN_EXIT },
                                { .name = "tool_search", .own = PAWL_OWN_TOOL_SEARCH } };
    pawl_agent a = agent_plain();

    a.tools = tools;
    a.ntools = sizeof tools / sizeof *tools;
    for (size_t i = 0; i < a.ntools; i++) {
        tools[i].schema = "{}";
        tools[i].cls = PAWL_PERMISSION_READ;
    }
    for (size_t i = 0; i < a.ntools * 3; i++) {
        char calls[256];
        world w;

        snprintf(calls, sizeof calls, "%s c1 %s", tools[i / 3].name, inputs[i % 3]);
        agent_begin(&w, &a, "{\"@mode\":\"plan\",\"input\":\"go\"}");
        model_says(&w, NULL, calls);
        CHECK_INT(pawl_state_waits(w.st), 0);   /* nobody is asked to approve nothing */
        model_says(&w, "so", NULL);
        CHECK_STR(agent_shows(&w), "idle");
        world_end(&w);
    }
}

/* A request with what is no block would fail, and every one after it. */
PAWL_TEST(test_X3_what_a_tool_gives_can_be_sent)
{
    static const char *const given[][2] = {
        { "{\"content\":[1,2]}", "\"[1,2]\"" }, { "{\"content\":[{\"text\":7,\"type\":\"text\"}]}", "\"[{\\\"text\\\":7,\\\"type\\\":\\\"text\\\"}]\"" },
        { "{\"content\":[{\"id\":\"x\",\"input\":{},\"name\":\"y\",\"type\":\"tool_use\"}]}",
          "\"[{\\\"id\\\":\\\"x\\\",\\\"input\\\":{},\\\"name\\\":\\\"y\\\",\\\"type\\\":\\\"tool_use\\\"}]\"" },
        { "{\"content\":[{\"text\":\"a\",\"type\":\"text\"}]}", "[{\"text\":\"a\",\"type\":\"text\"}]" }, { "{\"content\":[]}", "[]" },
        { "{\"content\":null}", "\"null\"" }, { "[7]", "\"[7]\"" },
    };

    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        const pawl_agent a = agent_plain();
        char content[256];
        world w;

        agent_begin(&w, &a, "{\"input\":\"go\"}");
        model_says(&w, NULL, "read_file r1 {\"file_path\":\"a\"}");
        comes(&w, "r1", PAWL_OUTCOME_DONE, given[i][0]);
        snprintf(content, sizeof content, "%s", pawl_text(w.look, pawl_value_get(pawl_value_at(pawl_state_get(w.st, "messages"), 2), "content")));
        CHECK_STR(content, given[i][1]);
        model_says(&w, "so", NULL);
        world_end(&w);
    }
}

/* A key ends at a NUL, so that nobody could answer it. */
PAWL_TEST(test_A6_a_header_is_a_key)
{
    const pawl_agent a = agent_plain();
    world w;

    agent_begin(&w, &a, "{\"input\":\"go\"}");
    model_gives(&w, "[{\"id\":\"q1\",\"input\":{\"questions\":[{\"header\":\"A\\u0000b\",\"options\":[\"x\",\"y\"]},{\"header\":\"B\",\"options\":[\"x\",\"y\"]}]},"
                    "\"name\":\"ask_user\",\"type\":\"tool_use\"}]");
    CHECK_INT(pawl_state_waits(w.st), 0);
    CHECK_STR(content_at(&w, 2), "Error: Question 1 must have a header of at most 12 characters");
    model_says(&w, "so", NULL);
    world_end(&w);
}

/* Nobody sets it so; who does finds an agent that still takes what comes. */
PAWL_TEST(test_K1_channels_of_its_own_that_somebody_set)
{
    static const char *const updates[] = {
        "{\"@agent\":{\"calls\":3,\"phase\":\"using tools\"}}", "{\"@agent\":{\"calls\":1,\"core\":{\"at\":\"ExecutingTools\",\"open\":9},\"phase\":\"stopping\"}}",
        "{\"@agent\":{\"phase\":\"asking hooks\"},\"@life\":7}", "{\"@agent\":7}", "{\"@uses\":{\"0\":{\"at\":\"running\"}}}",
        "{\"@agent\":{\"calls\":2,\"given\":9,\"phase\":\"settling permissions\",\"taken\":7}}", "{\"@config\":7}",
    };

    for (size_t i = 0; i < sizeof updates / sizeof *updates; i++) {
        const pawl_agent a = agent_plain();
        world w;

        agent_begin(&w, &a, "{\"@mode\":\"bypassPermissions\",\"input\":\"go\"}");
        model_says(&w, NULL, "read_file r1 {\"file_path\":\"a\"}");
        world_update(&w, NULL, updates[i]);
        world_update(&w, NULL, "{\"@mode\":\"default\"}");
        world_signal(&w, "input", "\"more\"");
        world_signal(&w, "interrupt", NULL);
        world_signal(&w, "interrupt", NULL);
        world_signal(&w, "shutdown", NULL);
        CHECK_STR(world_status(&w), "completed");
        world_end(&w);
    }
}

static const char *refused(const pawl_agent *a)
{
    static pawl_err err;
    pawl_machine *m;

    err = (pawl_err){0};
    m = pawl_agent_machine(a, NULL, &err);
    pawl_machine_free(m);
    CHECK(m != NULL || err.code == PAWL_INVALID);
    return m != NULL ? "" : err.text;
}

PAWL_TEST(test_X1_what_is_no_agent_is_refused)
{
    pawl_agent a = agent_plain();
    pawl_agent_tool tool = { .name = "t", .schema = "{}", .cls = PAWL_PERMISSION_READ };
    pawl_agent_helper helper = { NULL, "It has no name." };

    a.tools = &tool;
    a.ntools = 1;
    CHECK_STR(refused(&a), "");
    tool.schema = "[]";
    CHECK(strstr(refused(&a), "tool \"t\"") != NULL);
    tool.schema = "{}";
    tool.own = (pawl_own_tool)99;
    CHECK(strstr(refused(&a), "tool \"t\"") != NULL);
    tool.own = PAWL_OWN_NOT;
    tool.name = "-t";
    CHECK(strstr(refused(&a), "\"-t\"") != NULL);
    tool.name = "t";
    a.tools = NULL;
    CHECK(*refused(&a) != '\0');
    a.tools = &tool;
    a.helpers = &helper;
    CHECK(*refused(&a) != '\0');
    helper.name = "no name";
    CHECK(strstr(refused(&a), "\"no name\"") != NULL);
    a.helpers = NULL;
    CHECK(*refused(&a) != '\0');
    a.nhelpers = 0;
    CHECK_STR(refused(&a), "");
}

/* What a search shows of a tool, and what its input has to fit, are decisions: another tool is another machine (F5). */
PAWL_TEST(test_F5_a_deferred_tool_that_is_another_one_is_another_machine)
{
    static const char *const schemas[] = { "{}", "{\"type\":\"object\"}", "{}", "{}" }, *const texts[] = { "a", "a", "b", "a" },
                      *const hints[] = { "h", "h", "h", "i" };
    char first[80] = "";

    for (size_t i = 0; i < 4; i++) {
        const pawl_agent_tool tool = { .name = "t", .description = texts[i], .schema = schemas[i], .hint = hints[i], .cls = PAWL_PERMISSION_READ,
            .deferred = true };
        pawl_agent a = agent_plain();
        pawl_machine *m;

        a.tools = &tool;
        a.ntools = 1;
        m = pawl_agent_machine(&a, NULL, NULL);
        CHECK(m != NULL);
        if (i == 0)
            snprintf(first, sizeof first, "%s", pawl_machine_hash(m));
        else
            CHECK(strcmp(first, pawl_machine_hash(m)) != 0);
        pawl_machine_free(m);
    }
}
