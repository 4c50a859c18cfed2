/* input_test.c - what may be said to an agent, and what it makes of an answer that is odd (A1, A4, A6). */
#include "agenting.h"

static void begin(world *w, const char *input)
{
    const pawl_agent a = agent_plain();

    agent_begin(w, &a, input);
}

/* ---- input ---------------------------------------------------------------------------------------------- */

PAWL_TEST(test_A4_what_is_an_input)
{
    const struct { const char *json, *wrong; } rows[] = {
        { "\"go\"", NULL }, { "{\"input\":\"go\"}", NULL }, { "{\"content\":\"go\",\"role\":\"user\"}", NULL }, { "{\"input\":{\"content\":\"go\"}}", NULL },
        { "[{\"type\":\"text\",\"text\":\"go\"}]", NULL }, { "{\"input\":[{\"type\":\"image\",\"media_type\":\"image/png\",\"data\":\"aGk=\"}]}", NULL },
        { "[{\"type\":\"text\",\"text\":\"\"},{\"type\":\"image\",\"media_type\":\"image/png\",\"data\":\"aGk=\"}]", NULL },
        { "[{\"type\":\"document\",\"source\":{}}]", NULL },
        { "[{\"type\":\"image\",\"data\":\"aGk=\"}]", "block 1 of type \"image\" has" },
        { "[{\"type\":\"image\",\"media_type\":\"image/png\",\"data\":\"a b=\"}]", "in base64" },
        { "[{\"type\":\"image\",\"media_type\":\"image/png\",\"data\":\"\"}]", "in base64" },
        { "[{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/png\",\"data\":\"aGk=\"}}]", "block 1 of type \"image\" has" },
        { "[{\"type\":\"text\",\"text\":\"go\"},{\"type\":\"tool_result\",\"tool_use_id\":\"a\",\"content\":\"x\"}]", "block 2 is of type \"tool_result\"" },
        { "[{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"b\",\"input\":{}}]", "\"tool_use\"" },
        { "[{\"type\":\"thinking\",\"thinking\":\"x\"}]", "\"thinking\"" },
        { "[{\"type\":\"text\",\"text\":7}]", "has no \"text\"" }, { "[{\"text\":\"go\"}]", "no object with a \"type\"" },
        { "[{\"type\":\"\"}]", "with a \"type\"" },
        { "\"\"", "empty" }, { "\" \\n\\t\\r\"", "empty" }, { "{\"input\":\"\"}", "empty" }, { "{\"content\":\"\"}", "empty" }, { "[]", "empty" },
        { "{\"input\":[]}", "empty" },
        { "[{\"type\":\"text\",\"text\":\"\"},{\"type\":\"text\",\"text\":\" \"}]", "empty" }, { "{\"input\":{\"content\":\"\"}}", "empty" },
        { "7", "input is a text" }, { "null", "input is a text" }, { "{}", "input is a text" },
        { "{\"content\":\"go\",\"role\":\"assistant\"}", "input is a text" },
        { "[\"go\"]", "block 1 is no object" }, { "{\"input\":[{\"type\":\"text\",\"text\":\"go\"},7]}", "block 2 is no object" },
        { "{\"input\":true}", "input is a text" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pawl_err err = {0};
        arena mem;
        const pawl_value *v;

        arena_init(&mem, NULL, 1024);
        v = value_parse(&mem, rows[i].json, strlen(rows[i].json), "input", NULL);
        CHECK(v != NULL);
        if ((pawl_agent_input(v, &err) == PAWL_OK) != (rows[i].wrong == NULL) || (rows[i].wrong != NULL && strstr(err.text, rows[i].wrong) == NULL))
            CHECK_FAIL("%s: \"%s\"", rows[i].json, err.text);
        arena_free(&mem);
    }
    CHECK_INT(pawl_agent_input(NULL, NULL), PAWL_INVALID);
}

PAWL_TEST(test_A4_an_empty_input_begins_no_turn)
{
    world w;

    begin(&w, "{\"input\":\"\"}");
    CHECK_STR(roles(&w), "");
    CHECK_STR(world_status(&w), "input-required");
    CHECK(strstr(traced(&w), "\"message\":\"input is empty: there is no word in it\"") != NULL);
    world_answer(&w, "input", "\" \"");
    CHECK_STR(roles(&w), "");
    CHECK_INT(pawl_state_waits(w.st), 1);
    world_signal(&w, "input", "{\"input\":[]}");
    CHECK_STR(roles(&w), "");
    world_answer(&w, "input", "\"go\"");
    CHECK_STR(roles(&w), "user");
    world_signal(&w, "input", "\"\"");          /* nor does it queue */
    model_says(&w, "so", NULL);
    CHECK_STR(agent_shows(&w), "idle");
    world_signal(&w, "input", "[{\"type\":\"text\",\"text\":\"\"},{\"type\":\"text\",\"text\":\"more\"}]");
    CHECK(strstr(world_get(&w, "messages"), "{\"content\":[{\"text\":\"more\",\"type\":\"text\"}],\"role\":\"user\"}") != NULL);
    model_says(&w, "so", NULL);
    world_end(&w);
}

/* What a request may not hold never stands in the conversation: it goes on with the next. */
PAWL_TEST(test_A4_what_no_request_may_hold_is_not_taken)
{
    static const char *const none[] = { "[{\"type\":\"tool_result\",\"tool_use_id\":\"a\",\"content\":\"x\"}]",
                                        "{\"input\":[{\"type\":\"image\",\"data\":\"aGk=\"}]}", "[{\"type\":\"text\"}]", "[{}]" };
    world w;

    begin(&w, "{\"input\":[{\"type\":\"tool_result\",\"tool_use_id\":\"a\",\"content\":\"x\"}]}");
    CHECK(strstr(traced(&w), "block 1 is of type \\\"tool_result\\\"") != NULL);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        world_answer(&w, "input", none[i]);
        CHECK_STR(roles(&w), "");
        world_signal(&w, "input", none[i]);
        CHECK_STR(roles(&w), "");
        CHECK_INT(pawl_state_waits(w.st), 1);
    }
    world_answer(&w, "input", "\"go\"");
    world_signal(&w, "input", none[0]);         /* nor does it queue */
    model_says(&w, "so", NULL);
    CHECK_STR(roles(&w), "user assistant");
    CHECK_STR(agent_shows(&w), "idle");
    world_end(&w);
}

/* Nobody is there who could give it another: it does not wait for one for ever. */
PAWL_TEST(test_A6_what_runs_once_and_is_told_nothing_fails)
{
    world w;

    begin(&w, "{\"@once\":\"run\",\"input\":\"\"}");
    CHECK_STR(world_status(&w), "failed");
    CHECK(strstr(world_reason(&w), "input is empty") != NULL);
    world_end(&w);
    begin(&w, "{\"input\":\"go\"}");
    model_says(&w, NULL, "spawn_agent s1 {\"prompt\":\" \"}");
    CHECK_STR(content_at(&w, 2), "Error: Invalid arguments: a prompt is needed");
    model_says(&w, "so", NULL);
    world_end(&w);
}

/* ---- answers ------------------------------------------------------------------------------------------- */

/* Whatever a model gives: what stands in the conversation is what a request may hold, and all that are right stay byte by byte. */
PAWL_TEST(test_X3_what_is_no_block_does_not_stand_in_the_conversation)
{
    const struct { const char *content, *kept; } rows[] = {
        { "[7,null,{},\"x\",[],{\"type\":\"text\",\"text\":\"so\"}]", "[{\"text\":\"so\",\"type\":\"text\"}]" },
        { "[{\"type\":\"text\"},{\"type\":\"text\",\"text\":7},{\"type\":7},{\"type\":\"thinking\"},{\"type\":\"image\",\"data\":\"x\",\"media_type\":\"y\"},"
          "{\"type\":\"tool_result\"},{\"type\":\"server_use\",\"x\":1},{\"type\":\"text\",\"text\":\"so\"}]",
          "[{\"type\":\"server_use\",\"x\":1},{\"text\":\"so\",\"type\":\"text\"}]" },
        { "[{\"type\":\"redacted_thinking\",\"data\":\"x\"},{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"s\"}]",
          "[{\"data\":\"x\",\"type\":\"redacted_thinking\"},{\"signature\":\"s\",\"thinking\":\"hm\",\"type\":\"thinking\"}]" },
        { "\"as it is\"", "\"as it is\"" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char due[512];
        world w;

        begin(&w, "{\"input\":\"go\"}");
        model_gives(&w, rows[i].content);
        CHECK_STR(agent_shows(&w), "idle");
        snprintf(due, sizeof due, "[{\"content\":\"go\",\"role\":\"user\"},{\"content\":%s,\"role\":\"assistant\"}]", rows[i].kept);
        CHECK_STR(world_get(&w, "messages"), due);
        world_end(&w);
    }
}

PAWL_TEST(test_X3_what_is_no_answer_is_asked_for_again)
{
    static const char *const answers[] = { "{\"message\":7}", "{\"message\":{\"content\":7,\"role\":\"assistant\"}}",
                                           "{\"message\":{\"content\":{\"text\":\"so\"}}}", "{}", "null" };
    world w;

    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        begin(&w, "{\"input\":\"go\"}");
        comes(&w, "llm", PAWL_OUTCOME_DONE, answers[i]);
        CHECK_STR(roles(&w), "user");
        CHECK(*command_of(&w, "sleep") != '\0');
        wakes(&w);
        model_says(&w, "so", NULL);
        CHECK_STR(roles(&w), "user assistant");
        world_end(&w);
    }
    begin(&w, "{\"input\":\"go\"}");
    for (int i = 0; i < 3; i++) {
        comes(&w, "llm", PAWL_OUTCOME_DONE, "{\"message\":{\"content\":7}}");
        if (i < 2)
            wakes(&w);
    }
    CHECK_STR(agent_shows(&w), "error");
    CHECK(strstr(world_get(&w, "@agent"), "LLM error: Invalid response: its content is no text, and no list of blocks") != NULL);
    world_end(&w);
    begin(&w, "{\"input\":\"go\"}");
    comes(&w, "llm", PAWL_OUTCOME_DONE, "{\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"so\"}],\"role\":\"user\"}}");
    CHECK_STR(roles(&w), "user assistant");
    world_end(&w);
}

PAWL_TEST(test_A5_a_call_without_an_id_gets_one)
{
    world w;

    begin(&w, "{\"@mode\":\"bypassPermissions\",\"input\":\"go\"}");
    model_gives(&w, "[{\"type\":\"tool_use\",\"id\":\"\",\"name\":\"read_file\",\"input\":{\"file_path\":\"a\"}},{\"type\":\"tool_use\",\"name\":\"bash\",\"input\":{\"command\":\"x\"}},"
                    "{\"type\":\"tool_use\",\"id\":\"c\",\"input\":{}},{\"type\":\"tool_use\",\"id\":\"d\",\"name\":\"bash\",\"input\":\"x\"}]");
    comes(&w, "call_1_0", PAWL_OUTCOME_DONE, "\"a\"");
    comes(&w, "call_1_1", PAWL_OUTCOME_DONE, "\"x\"");
    CHECK_STR(roles(&w), "user assistant tool:call_1_0 tool:call_1_1 tool:c tool:d");
    CHECK(strstr(world_get(&w, "messages"), "{\"id\":\"call_1_0\",\"input\":{\"file_path\":\"a\"},\"name\":\"read_file\",\"type\":\"tool_use\"}") != NULL);
    CHECK(strstr(world_get(&w, "messages"), "{\"id\":\"d\",\"input\":{},\"invalid\":\"\\\"x\\\"\",\"name\":\"bash\",\"type\":\"tool_use\"}") != NULL);
    CHECK_STR(content_at(&w, 4), "Error: Tool not found: unnamed");
    CHECK_STR(content_at(&w, 5), "Error: Invalid arguments: they are no JSON object: \"x\"");
    model_says(&w, "so", NULL);
    world_end(&w);
}

/* ---- children --------------------------------------------------------------------------------------------- */

/* The names of children that are open, and of the runs that readers were told of. */
static void spawns(world *w, const char *id, const char *name)
{
    char calls[128], told[128];

    snprintf(calls, sizeof calls, "spawn_agent %s {\"prompt\":\"look\"}", id);
    model_says(w, NULL, calls);
    CHECK(*command_of(w, name) != '\0');
    snprintf(told, sizeof told, "\"session_id\":\"run-1.sub-%s\"", name);
    CHECK(strstr(traced(w), told) != NULL);
    world_crash(w);
    world_signal(w, "interrupt", NULL);         /* the one that is told is the one that was spawned */
    snprintf(told, sizeof told, "{\"run\":\"run-1.sub-%s\",\"signal\":\"interrupt\"}", name);
    CHECK(strstr(traced(w), told) != NULL);
    comes(w, "tell", PAWL_OUTCOME_DONE, "null");
    comes(w, name, PAWL_OUTCOME_DONE, "\"found\"");
    world_signal(w, "input", "\"more\"");
}

PAWL_TEST(test_A6_each_child_has_a_name_of_its_own)
{
    world w;

    begin(&w, "{\"@mode\":\"bypassPermissions\",\"input\":\"go\"}");
    spawns(&w, "call_0", "call_0");
    spawns(&w, "call_0", "call_0-2");           /* some providers count anew in each answer */
    spawns(&w, "call_0", "call_0-3");
    spawns(&w, "call_0-2", "call_0-2-2");
    spawns(&w, "a/b", "a-b");
    spawns(&w, "a:b", "a-b-2");
    spawns(&w, "a-b", "a-b-3");
    spawns(&w, "other", "other");
    model_gives(&w, "[{\"type\":\"tool_use\",\"id\":\"\",\"name\":\"spawn_agent\",\"input\":{\"prompt\":\"look\"}}]");
    CHECK(strstr(traced(&w), "\"session_id\":\"run-1.sub-call_9_0\"") != NULL);
    comes(&w, "call_9_0", PAWL_OUTCOME_DONE, "\"found\"");
    model_says(&w, "so", NULL);
    world_end(&w);
}

PAWL_TEST(test_A6_a_second_spawn_of_a_running_id_is_refused)
{
    world w;

    begin(&w, "{\"@mode\":\"bypassPermissions\",\"input\":\"go\"}");
    model_says(&w, NULL, "spawn_agent c {\"prompt\":\"one\"};spawn_agent d {\"prompt\":\"two\"};spawn_agent c {\"prompt\":\"three\"}");
    CHECK_INT(pawl_state_commands(w.st), 2);
    comes(&w, "c", PAWL_OUTCOME_DONE, "\"found\"");
    comes(&w, "d", PAWL_OUTCOME_DONE, "\"found\"");
    CHECK_STR(content_at(&w, 4), "Error: A sub-agent of the id c is at work");
    model_says(&w, "so", NULL);
    world_end(&w);
}
