/* turn_test.c - turns of an agent: golden traces G2 to G4, order of tools and messages, retries, the queue (A1 to A3, A5). */
#include "agenting.h"

/* What the command of that effect is told. Lives until the next look. */
static const char *args_of(world *w, const char *effect)
{
    static buf text;
    pawl_command cmd;

    buf_free(&text);
    buf_init(&text, NULL);
    for (size_t i = 0; i < pawl_state_commands(w->st); i++)
        if (pawl_state_command(w->st, i, w->look, &cmd, NULL, NULL) == PAWL_OK && cmd.effect != NULL && strcmp(cmd.effect, effect) == 0)
            canon(&text, cmd.args);
    buf_char(&text, '\0');
    return text.data;
}

/* ---- the golden traces of the source --------------------------------------------------------------------- */

PAWL_TEST(test_A1_G2_two_reads)
{
    const pawl_agent a = agent_plain();
    world w;

    agent_begin(&w, &a, "{\"@mode\":\"default\",\"input\":\"read a file\"}");
    CHECK_STR(agent_shows(&w), "processing");
    CHECK_STR(roles(&w), "user");
    model_says(&w, NULL, "read_file c1 {\"file_path\":\"a\"};read_file c2 {\"file_path\":\"b\"}");
    CHECK_STR(agent_shows(&w), "executing_tool");
    CHECK(*command_of(&w, "c1") != '\0' && *command_of(&w, "c2") != '\0');     /* side by side */
    comes(&w, "c2", PAWL_OUTCOME_DONE, "{\"content\":\"two\"}");
    CHECK_STR(command_of(&w, "llm"), "");
    CHECK_STR(roles(&w), "user assistant");
    comes(&w, "c1", PAWL_OUTCOME_DONE, "{\"content\":\"one\"}");
    CHECK_STR(roles(&w), "user assistant tool:c1 tool:c2");
    CHECK_STR(content_at(&w, 2), "one");
    CHECK_STR(content_at(&w, 3), "two");
    CHECK(*command_of(&w, "llm") != '\0');
    model_says(&w, "done", NULL);
    CHECK_STR(roles(&w), "user assistant tool:c1 tool:c2 assistant");
    CHECK_STR(world_get(&w, "output"), "\"done\"");
    CHECK_STR(agent_shows(&w), "idle");
    CHECK_STR(world_status(&w), "input-required");
    world_end(&w);
}

PAWL_TEST(test_A1_G3_a_mutation_calls_for_the_hook)
{
    pawl_agent a = agent_plain();
    world w;

    a.post_tools = true;
    agent_begin(&w, &a, "{\"@mode\":\"acceptEdits\",\"@cwd\":\"/w\",\"@policy\":{\"cwd\":\"/w\"},\"input\":\"edit\"}");
    model_says(&w, NULL, "edit_file c1 {\"file_path\":\"/w/a\"}");
    comes(&w, "c1", PAWL_OUTCOME_DONE, "{\"content\":\"edited\"}");
    CHECK_STR(command_of(&w, "llm"), "");
    CHECK_STR(args_of(&w, "post-tools"), "{\"calls\":[{\"id\":\"c1\",\"input\":{\"file_path\":\"/w/a\"},\"name\":\"edit_file\",\"type\":\"tool_use\"}],\"cwd\":\"/w\","
                                        "\"tools\":[{\"succeeded\":true,\"tool_name\":\"edit_file\"}]}");
    comes(&w, "post-tools", PAWL_OUTCOME_DONE, "{\"action_taken\":false}");
    CHECK(*command_of(&w, "llm") != '\0');
    model_says(&w, NULL, "edit_file c2 {\"file_path\":\"/w/a\"}");
    comes(&w, "c2", PAWL_OUTCOME_DONE, "{\"content\":\"no such text\",\"is_error\":true}");
    CHECK_STR(command_of(&w, "post-tools"), "");        /* a failure is no mutation */
    CHECK_STR(content_at(&w, 4), "Error: no such text");
    CHECK(*command_of(&w, "llm") != '\0');
    model_says(&w, "so", NULL);
    world_end(&w);
}

PAWL_TEST(test_G3_the_hook_is_told_what_a_person_made_of_a_call)
{
    pawl_agent a = agent_plain();
    world w;

    a.post_tools = true;
    agent_begin(&w, &a, "{\"input\":\"edit\"}");
    model_says(&w, NULL, "edit_file c1 {\"file_path\":\"/w/a\"};read_file c2 {\"file_path\":\"/w/b\"}");
    world_answer(&w, NULL, "{\"approve\":true,\"input\":{\"file_path\":\"/w/c\"}}");
    comes(&w, "c1", PAWL_OUTCOME_DONE, "{\"content\":\"edited\"}");
    world_crash(&w);
    comes(&w, "c2", PAWL_OUTCOME_DONE, "{\"content\":\"no such file\",\"is_error\":true}");
    world_crash(&w);
    CHECK(strstr(args_of(&w, "post-tools"), "\"tools\":[{\"succeeded\":true,\"tool_input\":{\"file_path\":\"/w/c\"},\"tool_name\":\"edit_file\"},"
                                            "{\"succeeded\":false,\"tool_name\":\"read_file\"}]}") != NULL);
    world_end(&w);
}

PAWL_TEST(test_A1_G3_the_hook_fails_open)
{
    pawl_agent a = agent_plain();
    world w;

    a.post_tools = true;
    agent_begin(&w, &a, "{\"@mode\":\"bypassPermissions\",\"input\":\"edit\"}");
    model_says(&w, NULL, "bash c1 {\"command\":\"true\"}");
    comes(&w, "c1", PAWL_OUTCOME_DONE, "{\"content\":\"\"}");
    comes(&w, "post-tools", PAWL_OUTCOME_ERROR, "{\"code\":\"effect\",\"text\":\"no git here\"}");
    CHECK(*command_of(&w, "llm") != '\0');
    model_says(&w, "so", NULL);
    world_end(&w);
}

static const char busy[] = "{\"code\":\"transient\",\"text\":\"API error: server error\"}";

PAWL_TEST(test_A2_G4_retries)
{
    pawl_agent a = agent_plain();
    world w;

    a.max_retries = 2;
    agent_begin(&w, &a, "{\"input\":\"hello\"}");
    comes(&w, "llm", PAWL_OUTCOME_ERROR, busy);
    CHECK_STR(agent_shows(&w), "processing");
    CHECK_STR(command_of(&w, "llm"), "");
    wakes(&w);
    comes(&w, "llm", PAWL_OUTCOME_ERROR, busy);
    CHECK_STR(agent_shows(&w), "error");
    CHECK_STR(roles(&w), "user");       /* the message is still there */
    CHECK_STR(world_status(&w), "input-required");
    world_answer(&w, NULL, "\"again\"");        /* new input clears it */
    CHECK_STR(agent_shows(&w), "processing");
    model_says(&w, "hi", NULL);
    CHECK_STR(roles(&w), "user user assistant");
    CHECK_STR(agent_shows(&w), "idle");
    world_end(&w);
}

static int64_t sleeps_ms(world *w)
{
    pawl_command cmd;

    for (size_t i = 0; i < pawl_state_commands(w->st); i++)
        if (pawl_state_command(w->st, i, w->look, &cmd, NULL, NULL) == PAWL_OK && cmd.kind == PAWL_COMMAND_SLEEP)
            return cmd.due_ms - pawl_state_time_ms(w->st);
    return -1;
}

PAWL_TEST(test_A2_delays_of_the_source)
{
    static const int64_t due[] = { 200, 400, 800, 1600, 3200, 5000, 5000 };
    pawl_agent a = agent_plain();
    world w;

    a.max_retries = 8;
    agent_begin(&w, &a, "{\"input\":\"hello\"}");
    for (size_t i = 0; i < sizeof due / sizeof *due; i++) {
        comes(&w, "llm", i % 2 == 0 ? PAWL_OUTCOME_ERROR : PAWL_OUTCOME_TIMEOUT, busy);
        CHECK_INT(sleeps_ms(&w), due[i]);
        wakes(&w);
    }
    comes(&w, "llm", PAWL_OUTCOME_ERROR, "{\"code\":\"transient\",\"retry_after_ms\":90000,\"text\":\"Rate limited\"}");
    CHECK_STR(agent_shows(&w), "error");
    world_end(&w);
}

PAWL_TEST(test_A2_a_longer_retry_after_counts_and_a_permanent_refusal_ends)
{
    const pawl_agent a = agent_plain();
    world w;

    agent_begin(&w, &a, "{\"input\":\"hello\"}");
    comes(&w, "llm", PAWL_OUTCOME_ERROR, "{\"code\":\"transient\",\"retry_after_ms\":90000,\"text\":\"Rate limited\"}");
    CHECK_INT(sleeps_ms(&w), 90000);
    wakes(&w);
    comes(&w, "llm", PAWL_OUTCOME_ERROR, "{\"code\":\"denied\",\"text\":\"API error: no credit\"}");
    CHECK_STR(agent_shows(&w), "error");
    CHECK(strstr(world_get(&w, "@agent"), "LLM error: API error: no credit") != NULL);
    world_end(&w);
}

PAWL_TEST(test_A2_with_a_total_a_request_is_made_again_over_minutes)
{
    static const int64_t most[] = { 1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000, 60000 };
    int64_t before[sizeof most / sizeof *most];
    pawl_agent a = agent_plain();
    pawl_agent_view v;
    world w;

    a.retry_total_ms = 600000;
    for (int twice = 0; twice < 2; twice++) {
        agent_begin(&w, &a, "{\"input\":\"hello\"}");
        for (size_t i = 0; i < sizeof most / sizeof *most; i++) {
            comes(&w, "llm", PAWL_OUTCOME_ERROR, "{\"code\":\"transient\",\"status\":529,\"text\":\"API error: 529\"}");
            CHECK(sleeps_ms(&w) >= most[i] / 2 && sleeps_ms(&w) <= most[i]);
            CHECK(twice == 0 || before[i] == sleeps_ms(&w));        /* drawn from the seed of the run */
            before[i] = sleeps_ms(&w);
            CHECK_INT(pawl_agent_display(w.st, &v, NULL), PAWL_OK);
            CHECK_INT(v.attempt, i + 2);
            CHECK_INT(v.max_attempts, 10);
            CHECK_INT(v.again_ms, pawl_state_time_ms(w.st) + before[i]);
            CHECK_STR(v.again_why, "LLM error: API error: 529");
            wakes(&w);
        }
        comes(&w, "llm", PAWL_OUTCOME_ERROR, busy);
        CHECK_STR(agent_shows(&w), "error");
        CHECK(strstr(world_get(&w, "@agent"), "API error: server error (attempts: 10)") != NULL);
        CHECK(strstr(world_get(&w, "@agent"), "again_ms") == NULL);
        CHECK_INT(told_times(&w, "\"max_attempts\":10,"), 9);
        CHECK_INT(told_times(&w, "\"retries\":9,\"status\":529}"), 1);
        world_end(&w);
    }
}

PAWL_TEST(test_A2_no_attempt_begins_later_than_the_total_allows)
{
    pawl_agent a = agent_plain();
    world w;

    a.retry_total_ms = 100000;
    agent_begin(&w, &a, "{\"input\":\"hello\"}");
    comes(&w, "llm", PAWL_OUTCOME_ERROR, "{\"code\":\"transient\",\"retry_after_ms\":90000,\"text\":\"Rate limited\"}");
    CHECK_INT(sleeps_ms(&w), 90000);            /* longer than the longest delay: the provider says so */
    wakes(&w);
    comes(&w, "llm", PAWL_OUTCOME_ERROR, "{\"code\":\"transient\",\"retry_after_ms\":20000,\"text\":\"Rate limited\"}");
    CHECK_STR(agent_shows(&w), "error");
    CHECK(strstr(world_get(&w, "@agent"), "Rate limited (attempts: 2; the next would begin later than 100 s") != NULL);
    world_answer(&w, NULL, "\"again\"");        /* the next request has all its attempts and its time */
    comes(&w, "llm", PAWL_OUTCOME_ERROR, "{\"code\":\"transient\",\"retry_after_ms\":90000,\"text\":\"Rate limited\"}");
    CHECK_INT(sleeps_ms(&w), 90000);
    world_end(&w);
}

PAWL_TEST(test_A2_without_a_total_nothing_of_it_is_stored)
{
    const pawl_agent a = agent_plain();
    pawl_agent_view v;
    world w;

    agent_begin(&w, &a, "{\"input\":\"hello\"}");
    comes(&w, "llm", PAWL_OUTCOME_ERROR, "{\"code\":\"transient\",\"status\":529,\"text\":\"API error: 529\"}");
    CHECK_INT(sleeps_ms(&w), 200);
    CHECK_INT(told_times(&w, "max_attempts"), 0);
    CHECK(strstr(world_get(&w, "@agent"), "failed_ms") == NULL && strstr(world_get(&w, "@agent"), "again_") == NULL);
    CHECK_INT(pawl_agent_display(w.st, &v, NULL), PAWL_OK);
    CHECK_INT(v.again_ms, 0);
    CHECK(pawl_agent_can_retry(w.st));
    CHECK(world_signal(&w, "retry_turn", NULL) != PAWL_IGNORED);        /* now, and not after the pause */
    CHECK(!pawl_agent_can_retry(w.st));
    model_says(&w, "hi", NULL);
    CHECK_STR(agent_shows(&w), "idle");
    world_end(&w);
}

static const char denied[] = "{\"code\":\"denied\",\"text\":\"API error: no credit\"}";

PAWL_TEST(test_A3_a_failed_turn_is_tried_again_with_its_message)
{
    const pawl_agent a = agent_plain();
    world w;

    agent_begin(&w, &a, "{\"@mode\":\"bypassPermissions\",\"input\":\"hello\"}");
    CHECK_INT(world_signal(&w, "retry_turn", NULL), PAWL_IGNORED);      /* it has not failed */
    model_says(&w, NULL, "bash c1 {\"command\":\"true\"}");
    comes(&w, "c1", PAWL_OUTCOME_DONE, "{\"content\":\"\"}");
    comes(&w, "llm", PAWL_OUTCOME_ERROR, denied);
    CHECK_STR(agent_shows(&w), "error");
    CHECK(pawl_agent_can_retry(w.st));
    CHECK(world_signal(&w, "retry_turn", NULL) != PAWL_IGNORED);
    CHECK_STR(agent_shows(&w), "processing");
    CHECK_INT(pawl_state_waits(w.st), 0);
    CHECK_STR(roles(&w), "user assistant tool:c1");     /* from where it stood: no message twice, no tool twice */
    CHECK(!pawl_agent_can_retry(w.st));
    model_says(&w, "hi", NULL);
    CHECK_STR(agent_shows(&w), "idle");
    CHECK(!pawl_agent_can_retry(w.st));
    CHECK_INT(world_signal(&w, "retry_turn", NULL), PAWL_IGNORED);
    world_signal(&w, "input", "\"more\"");
    world_signal(&w, "interrupt", NULL);
    CHECK_INT(world_signal(&w, "retry_turn", NULL), PAWL_IGNORED);      /* it was ended by a person */
    world_end(&w);
}

PAWL_TEST(test_A2_a_retry_in_the_wait_for_the_next_attempt_makes_it_now)
{
    pawl_agent a = agent_plain();
    world w;

    a.retry_total_ms = 600000;
    a.max_retries = 2;
    agent_begin(&w, &a, "{\"input\":\"hello\"}");
    comes(&w, "llm", PAWL_OUTCOME_ERROR, busy);
    CHECK(world_signal(&w, "retry_turn", NULL) != PAWL_IGNORED);
    CHECK_STR(command_of(&w, "sleep"), "");
    comes(&w, "llm", PAWL_OUTCOME_ERROR, busy); /* which is the last one */
    CHECK_STR(agent_shows(&w), "error");
    CHECK(world_signal(&w, "retry_turn", NULL) != PAWL_IGNORED);
    comes(&w, "llm", PAWL_OUTCOME_ERROR, busy); /* a new request has all its attempts */
    CHECK(sleeps_ms(&w) >= 500 && sleeps_ms(&w) <= 1000);
    world_end(&w);
}

PAWL_TEST(test_A3_a_one_shot_that_failed_is_opened_again_in_its_turn)
{
    pawl_agent a = agent_plain();
    world w;

    for (uint32_t total = 0; total < 2; total++) {
        a.retry_total_ms = total * 600000;
        agent_begin(&w, &a, "{\"@once\":\"run\",\"input\":\"hello\"}");
        comes(&w, "llm", PAWL_OUTCOME_ERROR, denied);
        CHECK_STR(world_status(&w), "failed");
        world_reopen(&w, NULL);
        if (total == 0) {       /* as runs did that began before there was a total */
            CHECK_STR(world_status(&w), "input-required");
            world_end(&w);
            continue;
        }
        model_says(&w, "hi", NULL);
        CHECK_STR(roles(&w), "user assistant");
        CHECK_STR(world_status(&w), "completed");
        world_end(&w);
    }
}

/* ---- order ------------------------------------------------------------------------------------------------- */

PAWL_TEST(test_A3_reads_side_by_side_others_one_by_one)
{
    const pawl_agent a = agent_plain();
    world w;

    agent_begin(&w, &a, "{\"@mode\":\"bypassPermissions\",\"input\":\"go\"}");
    model_says(&w, NULL, "read_file r1 {\"file_path\":\"a\"};read_file r2 {\"file_path\":\"b\"};bash b1 {\"command\":\"x\"};edit_file e1 {\"file_path\":\"c\"};read_file r3 {\"file_path\":\"d\"}");
    CHECK(*command_of(&w, "r1") != '\0' && *command_of(&w, "r2") != '\0');
    CHECK_STR(command_of(&w, "b1"), "");
    comes(&w, "r2", PAWL_OUTCOME_DONE, "\"2\"");
    CHECK_STR(command_of(&w, "b1"), "");
    comes(&w, "r1", PAWL_OUTCOME_DONE, "\"1\"");
    CHECK(*command_of(&w, "b1") != '\0');
    CHECK_STR(command_of(&w, "e1"), "");
    comes(&w, "b1", PAWL_OUTCOME_TIMEOUT, NULL);
    CHECK(*command_of(&w, "e1") != '\0');
    CHECK_STR(command_of(&w, "r3"), "");        /* it might read what the edit writes */
    comes(&w, "e1", PAWL_OUTCOME_DONE, "\"e\"");
    comes(&w, "r3", PAWL_OUTCOME_DONE, "{\"rows\":3}");
    CHECK_STR(roles(&w), "user assistant tool:r1 tool:r2 tool:b1 tool:e1 tool:r3");
    CHECK_STR(content_at(&w, 4), "Error: Tool execution timed out");
    CHECK_STR(content_at(&w, 6), "{\"rows\":3}");
    model_says(&w, "so", NULL);
    world_end(&w);
}

PAWL_TEST(test_A5_a_tool_says_that_it_runs_alone)
{
    static const pawl_agent_tool tools[] = {
        { .name = "read_file", .rule = "Read", .schema = "{\"type\":\"object\"}", .cls = PAWL_PERMISSION_READ, .effect = PAWL_CLASS_PURE },
        { .name = "survey", .schema = "{\"type\":\"object\"}", .cls = PAWL_PERMISSION_READ, .effect = PAWL_CLASS_PURE, .alone = true },
        { .name = "ping", .schema = "{\"type\":\"object\"}", .cls = PAWL_PERMISSION_NET, .effect = PAWL_CLASS_AT_LEAST_ONCE, .beside = true },
    };
    const pawl_agent a = { .name = "helper", .version = 1, .model = "script:none", .tools = tools, .ntools = 3 };
    world w;

    agent_begin(&w, &a, "{\"@mode\":\"bypassPermissions\",\"input\":\"go\"}");
    model_says(&w, NULL, "read_file r1 {};ping p1 {};survey s1 {};read_file r2 {}");
    CHECK(*command_of(&w, "r1") != '\0' && *command_of(&w, "p1") != '\0');
    CHECK_STR(command_of(&w, "s1"), "");
    comes(&w, "r1", PAWL_OUTCOME_DONE, "\"1\"");
    comes(&w, "p1", PAWL_OUTCOME_DONE, "\"2\"");
    CHECK(*command_of(&w, "s1") != '\0');
    CHECK_STR(command_of(&w, "r2"), "");
    comes(&w, "s1", PAWL_OUTCOME_DONE, "\"3\"");
    comes(&w, "r2", PAWL_OUTCOME_DONE, "\"4\"");
    model_says(&w, "so", NULL);
    world_end(&w);
}

/* Every order of completion: the same messages. */
PAWL_TEST(test_A1_messages_stand_in_request_order)
{
    static const char *const ids[] = { "r0", "r1", "r2", "r3" };
    char first[4096] = "";

    for (int perm = 0; perm < 24; perm++) {
        const pawl_agent a = agent_plain();
        int left[] = { 0, 1, 2, 3 }, n = 4, p = perm;
        world w;

        agent_begin(&w, &a, "{\"input\":\"go\"}");
        model_says(&w, NULL, "read_file r0 {\"file_path\":\"a\"};read_file r1 {\"file_path\":\"a\"};read_file r2 {\"file_path\":\"a\"};read_file r3 {\"file_path\":\"a\"}");
        for (; n > 0; n--) {
            const int at = p % n;
            char value[64];

            p /= n;
            snprintf(value, sizeof value, "{\"content\":\"of %s\"}", ids[left[at]]);
            comes(&w, ids[left[at]], PAWL_OUTCOME_DONE, value);
            for (int i = at; i < n - 1; i++)
                left[i] = left[i + 1];
        }
        if (perm == 0)
            snprintf(first, sizeof first, "%s", world_get(&w, "messages"));
        CHECK_STR(world_get(&w, "messages"), first);
        CHECK_STR(content_at(&w, 3), "of r1");
        model_says(&w, "so", NULL);
        world_end(&w);
    }
}

/* ---- what a model gets wrong (A5) -------------------------------------------------------------------------------- */

PAWL_TEST(test_A5_bad_calls_go_to_the_model)
{
    const pawl_agent a = agent_plain();
    world w;

    agent_begin(&w, &a, "{\"input\":\"go\"}");
    model_says(&w, "let me see", "nonsense n1 {};read_file r1 {\"file_path\":7};read_file r2 {}");
    CHECK_STR(roles(&w), "user assistant tool:n1 tool:r1 tool:r2");
    CHECK_STR(content_at(&w, 2), "Error: Tool not found: nonsense");
    CHECK(strncmp(content_at(&w, 3), "Error: Invalid arguments: ", 26) == 0);
    CHECK(strncmp(content_at(&w, 4), "Error: Invalid arguments: ", 26) == 0);
    CHECK(*command_of(&w, "llm") != '\0');
    model_gives(&w, "[{\"id\":\"r3\",\"input\":{},\"invalid\":\"{\\\"file_pa\",\"name\":\"read_file\",\"type\":\"tool_use\"}]");
    CHECK_STR(content_at(&w, 6), "Error: Invalid arguments: they are no JSON object: {\"file_pa");
    model_says(&w, "sorry", NULL);
    CHECK_STR(agent_shows(&w), "idle");
    world_end(&w);
}

PAWL_TEST(test_A2_a_request_says_how_often_it_was_made)
{
    const pawl_agent a = agent_plain();
    pawl_command cmd;
    world w;

    agent_begin(&w, &a, "{\"input\":\"hello\"}");
    comes(&w, "llm", PAWL_OUTCOME_ERROR, busy);
    wakes(&w);
    CHECK_INT(pawl_state_command(w.st, 0, w.look, &cmd, NULL, NULL), PAWL_OK);
    CHECK_INT(pawl_value_int(pawl_value_get(cmd.args, "retry")), 1);
    CHECK_STR(pawl_value_string(pawl_value_get(pawl_value_get(cmd.args, "config"), "model")), "script:none");
    CHECK_INT(pawl_value_size(pawl_value_get(cmd.args, "messages")), 1);
    model_says(&w, "hi", NULL);
    world_end(&w);
}

PAWL_TEST(test_A3_a_turn_has_so_many_requests)
{
    pawl_agent a = agent_plain();
    world w;

    a.max_iterations = 3;
    agent_begin(&w, &a, "{\"input\":\"go\"}");
    for (int i = 0; i < 3; i++) {
        char one[64];

        snprintf(one, sizeof one, "todo t%d {\"todos\":[]}", i);
        model_says(&w, NULL, one);
    }
    CHECK_STR(agent_shows(&w), "done");
    CHECK(strstr(world_get(&w, "@agent"), "max_iterations") != NULL);
    CHECK_STR(roles(&w), "user assistant tool:t0 assistant tool:t1 assistant tool:t2");
    world_end(&w);
}

/* ---- input ---------------------------------------------------------------------------------------------------------- */

PAWL_TEST(test_A4_input_that_comes_meanwhile_is_queued)
{
    const pawl_agent a = agent_plain();
    world w;

    agent_begin(&w, &a, "{\"input\":\"one\"}");
    world_feed(&w, &(pawl_event){ .kind = PAWL_EV_INPUT, .value = "{\"input\":\"two\"}" });
    world_signal(&w, "input", "\"three\"");
    CHECK_STR(roles(&w), "user");
    model_says(&w, "1", NULL);
    CHECK_STR(roles(&w), "user assistant user");
    CHECK_STR(agent_shows(&w), "processing");
    model_says(&w, "2", NULL);
    model_says(&w, "3", NULL);
    CHECK_STR(roles(&w), "user assistant user assistant user assistant");
    CHECK_STR(content_at(&w, 2), "two");
    CHECK_STR(content_at(&w, 4), "three");
    CHECK_STR(agent_shows(&w), "idle");
    world_signal(&w, "input", "{\"content\":[{\"text\":\"four\",\"type\":\"text\"}],\"role\":\"user\"}");
    CHECK_STR(agent_shows(&w), "processing");
    world_crash(&w);
    model_says(&w, "4", NULL);
    world_answer(&w, "input", "7");     /* no input at all: told, and asked again */
    CHECK_STR(agent_shows(&w), "idle");
    CHECK_STR(world_status(&w), "input-required");
    world_end(&w);
}

/* A pause goes on with what was said; where that calls a tool, no provider takes it before it has the result. */
PAWL_TEST(test_A4_a_pause_with_calls_waits_for_their_results)
{
    const pawl_agent a = agent_plain();
    world w;

    agent_begin(&w, &a, "{\"input\":\"go\"}");
    comes(&w, "llm", PAWL_OUTCOME_DONE, "{\"message\":{\"content\":[{\"text\":\"first\",\"type\":\"text\"}],\"role\":\"assistant\"},\"stop\":\"pause_turn\"}");
    CHECK_STR(roles(&w), "user assistant");
    comes(&w, "llm", PAWL_OUTCOME_DONE, "{\"message\":{\"content\":[{\"id\":\"c1\",\"input\":{\"file_path\":\"a\"},\"name\":\"read_file\",\"type\":\"tool_use\"}],"
                                "\"role\":\"assistant\"},\"stop\":\"pause_turn\"}");
    CHECK_STR(command_of(&w, "llm"), "");
    comes(&w, "c1", PAWL_OUTCOME_DONE, "{\"content\":\"A\"}");
    CHECK_STR(roles(&w), "user assistant assistant tool:c1");
    model_says(&w, "done", NULL);
    CHECK_STR(agent_shows(&w), "idle");
    world_end(&w);
}

PAWL_TEST(test_A3_one_that_begins_without_input_is_idle)
{
    const pawl_agent a = agent_plain();
    world w;

    agent_begin(&w, &a, NULL);
    CHECK_STR(agent_shows(&w), "idle");
    CHECK_STR(world_status(&w), "input-required");
    world_signal(&w, "shutdown", NULL);
    CHECK_STR(agent_shows(&w), "done");
    CHECK_STR(world_status(&w), "completed");
    world_end(&w);
}

/* What the model is asked has it as system; canonical text. */
static void system_is(world *w, const char *is)
{
    pawl_command cmd;
    buf b;

    CHECK_INT(pawl_state_commands(w->st), 1);
    CHECK_INT(pawl_state_command(w->st, 0, w->look, &cmd, NULL, NULL), PAWL_OK);
    buf_init(&b, NULL);
    canon(&b, pawl_value_get(cmd.args, "system"));
    buf_char(&b, '\0');
    CHECK_STR(b.data, is);
    buf_free(&b);
}

PAWL_TEST(test_the_model_is_told_its_system_and_what_is_pinned)
{
    const pawl_agent a = agent_plain();
    world w;

    agent_begin(&w, &a, "{\"input\":\"go\"}");
    system_is(&w, "[\"You help.\"]");
    comes(&w, "llm", PAWL_OUTCOME_ERROR, "{\"code\":\"transient\",\"text\":\"busy\"}");
    wakes(&w);
    system_is(&w, "[\"You help.\"]");
    model_says(&w, "done", NULL);
    world_update(&w, NULL, "{\"@pinned\":\"be brief\"}");
    world_signal(&w, "input", "\"more\"");
    system_is(&w, "[\"You help.\",\"be brief\"]");
    model_says(&w, "done", NULL);
    world_end(&w);
}
