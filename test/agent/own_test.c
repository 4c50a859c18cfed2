/* own_test.c - what the agent's machine does itself: lists, plans, questions, children, searches, summaries, budgets (A5 to A8). */
#include "agenting.h"

static void begun(world *w, const char *input)
{
    const pawl_agent a = agent_plain();

    agent_begin(w, &a, input);
}

/* ---- todo, tool search -------------------------------------------------------------------------------------- */

PAWL_TEST(test_A5_todo_is_a_channel)
{
    world w;

    begun(&w, "{\"input\":\"go\"}");
    model_says(&w, NULL, "todo t1 {\"todos\":[{\"content\":\"a\",\"status\":\"pending\"}]}");
    CHECK_STR(world_get(&w, "todo"), "[{\"content\":\"a\",\"status\":\"pending\"}]");
    CHECK_STR(roles(&w), "user assistant tool:t1");
    model_says(&w, "so", NULL);
    world_end(&w);
}

PAWL_TEST(test_A5_a_deferred_tool_is_shown_when_it_was_searched_for)
{
    world w;

    begun(&w, "{\"@mode\":\"bypassPermissions\",\"input\":\"go\"}");
    CHECK(strstr(world_get(&w, "@tools"), "web_fetch") == NULL);
    model_says(&w, NULL, "tool_search s1 {\"query\":\"internet\"}");
    CHECK(strstr(world_get(&w, "@tools"), "web_fetch") != NULL);
    CHECK(strstr(content_at(&w, 2), "web_fetch") != NULL);
    model_says(&w, NULL, "tool_search s2 {\"query\":\"database\"};web_fetch w1 {\"url\":\"http://x\"}");
    CHECK_STR(content_at(&w, 4), "No tool fits.");
    comes(&w, "w1", PAWL_OUTCOME_DONE, "\"page\"");
    model_says(&w, "so", NULL);
    world_end(&w);
}

/* ---- plan mode ------------------------------------------------------------------------------------------------- */

PAWL_TEST(test_P1_plan_mode_is_left_by_an_approval_of_its_text)
{
    world w;

    begun(&w, "{\"@mode\":\"bypassPermissions\",\"input\":\"go\"}");
    model_says(&w, NULL, "plan_enter p1 {};edit_file e1 {\"file_path\":\"a\"}");
    CHECK_STR(world_get(&w, "@mode"), "\"plan\"");
    CHECK_STR(command_of(&w, "e1"), "");        /* it was let in before: it looks again */
    CHECK(strncmp(content_at(&w, 3), "Error: Permission denied for tool: edit_file: ", 46) == 0);
    model_says(&w, NULL, "edit_file e2 {\"file_path\":\"a\"}");
    CHECK(strncmp(content_at(&w, 5), "Error: Permission denied for tool: edit_file: ", 46) == 0);
    model_says(&w, NULL, "plan_exit x1 {\"plan\":\"1. delete all\"}");
    CHECK_STR(agent_shows(&w), "waiting_for_permission");
    world_answer(&w, NULL, "{\"approve\":false,\"note\":\"rather not\"}");
    CHECK_STR(world_get(&w, "@mode"), "\"plan\"");
    CHECK_STR(content_at(&w, 7), "Error: rather not");
    model_says(&w, NULL, "plan_exit x2 {\"plan\":\"1. keep all\"}");
    world_crash(&w);
    world_answer(&w, NULL, "true");
    CHECK_STR(world_get(&w, "@mode"), "\"bypassPermissions\"");
    CHECK_STR(world_get(&w, "plan"), "{\"approved\":\"1. keep all\"}");
    model_says(&w, NULL, "plan_exit x3 {\"plan\":\"again\"}");
    CHECK_STR(content_at(&w, 11), "Error: Plan mode is not on.");
    model_says(&w, "so", NULL);
    world_end(&w);
}

/* ---- questions -------------------------------------------------------------------------------------------------- */

PAWL_TEST(test_A6_questions_are_waits)
{
    world w;

    begun(&w, "{\"input\":\"go\"}");
    model_says(&w, NULL, "ask_user q1 {\"questions\":[{\"header\":\"Color\",\"options\":[{\"label\":\"red\"},{\"label\":\"blue\"}],\"question\":\"Which?\"},"
                         "{\"header\":\"Sizes\",\"multi_select\":true,\"options\":[\"S\",\"M\",\"L\"],\"question\":\"Which ones?\"}]}");
    CHECK_STR(agent_shows(&w), "waiting_for_user_input");
    CHECK_INT(world_answer(&w, "q1", "{\"Color\":\"green\",\"Sizes\":[\"S\"]}"), PAWL_INVALID);
    CHECK_INT(world_answer(&w, "q1", "{\"Color\":\"red\"}"), PAWL_INVALID);
    CHECK_STR(agent_shows(&w), "waiting_for_user_input");
    world_crash(&w);
    world_answer(&w, "q1", "{\"Color\":\"red\",\"Sizes\":[\"S\",\"L\"]}");
    CHECK_STR(content_at(&w, 2), "{\"Color\":\"red\",\"Sizes\":\"S, L\"}");
    model_says(&w, NULL, "ask_user q2 {\"questions\":[{\"header\":\"Color\",\"options\":[\"red\",\"blue\"],\"question\":\"Which?\"}]}");
    world_answer(&w, NULL, "\"blue\"");         /* one question: its answer alone will do */
    CHECK_STR(content_at(&w, 4), "{\"Color\":\"blue\"}");
    model_says(&w, "so", NULL);
    world_end(&w);
}

PAWL_TEST(test_A6_questions_that_are_none)
{
    static const struct { const char *input, *why; } rows[] = {
        { "{}", "Error: At least one question is required" },
        { "{\"questions\":[{\"header\":\"A\",\"options\":[\"x\"],\"question\":\"?\"}]}", "Error: Question 1 ('A') must have at least 2 options" },
        { "{\"questions\":[{\"header\":\"A\",\"options\":[\"a\",\"b\",\"c\",\"d\",\"e\"],\"question\":\"?\"}]}",
          "Error: Question 1 ('A') can have at most 4 options" },
        { "{\"questions\":[{\"options\":[\"a\",\"b\"]}]}", "Error: Question 1 must have a header of at most 12 characters" },
        { "{\"questions\":[{\"header\":\"thirteen char\",\"options\":[\"a\",\"b\"]}]}", "Error: Question 1 must have a header of at most 12 characters" },
        { "{\"questions\":[{\"header\":\"A\",\"options\":[\"x\",\"y\"]},{\"header\":\"B\",\"options\":[\"x\",\"y\"]},{\"header\":\"A\",\"options\":[\"u\",\"v\"]}]}",
          "Error: Question 3 ('A') has the header of another: answers are told apart by it" },
        { "{\"questions\":[1,2,3,4,5]}", "Error: Maximum of 4 questions allowed" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char calls[512];
        world w;

        begun(&w, "{\"input\":\"go\"}");
        snprintf(calls, sizeof calls, "ask_user q1 %s", rows[i].input);
        model_says(&w, NULL, calls);
        CHECK_STR(content_at(&w, 2), rows[i].why);
        model_says(&w, "so", NULL);
        world_end(&w);
    }
}

PAWL_TEST(test_A6_a_question_to_who_left_is_over)
{
    world w;

    begun(&w, "{\"input\":\"go\"}");
    model_says(&w, NULL, "ask_user q1 {\"questions\":[{\"header\":\"Color\",\"options\":[\"red\",\"blue\"],\"question\":\"Which?\"}]}");
    CHECK_INT(pawl_state_waits(w.st), 1);
    world_update(&w, NULL, "{\"@unasked\":true}");
    CHECK_INT(pawl_state_waits(w.st), 0);
    CHECK_STR(content_at(&w, 2), "Error: Nobody is there to be asked");
    model_says(&w, "so", NULL);
    CHECK_STR(agent_shows(&w), "idle");
    world_end(&w);
}

/* ---- sub-agents --------------------------------------------------------------------------------------------------- */

static const pawl_command *child_of(world *w)
{
    static pawl_command cmd;

    for (size_t i = 0; i < pawl_state_commands(w->st); i++)
        if (pawl_state_command(w->st, i, w->look, &cmd, NULL, NULL) == PAWL_OK && cmd.kind == PAWL_COMMAND_SPAWN)
            return &cmd;
    CHECK_FAIL("no child is open");
    return NULL;
}

PAWL_TEST(test_A6_a_sub_agent_is_a_child_run_with_its_parents_rights)
{
    const pawl_command *cmd;
    world w;

    begun(&w, "{\"@cwd\":\"/w\",\"@mode\":\"plan\",\"@policy\":{\"deny\":[\"Bash\"]},\"input\":\"go\"}");
    model_says(&w, NULL, "spawn_agent s1 {\"prompt\":\"look around\"}");
    CHECK_STR(agent_shows(&w), "waiting_for_sub_agent");
    cmd = child_of(&w);
    CHECK_STR(cmd->effect, "searcher");
    CHECK_STR(cmd->child, "s1");
    CHECK_STR(pawl_value_string(pawl_value_get(cmd->args, "input")), "look around");
    CHECK_STR(pawl_value_string(pawl_value_get(cmd->args, "@mode")), "plan");
    CHECK_STR(pawl_value_string(pawl_value_get(cmd->args, "@cwd")), "/w");
    CHECK(pawl_value_get(pawl_value_get(cmd->args, "@policy"), "deny") != NULL);
    CHECK_INT(pawl_value_int(pawl_value_get(cmd->args, "@depth")), 1);
    comes(&w, "s1", PAWL_OUTCOME_DONE, "\"found it\"");
    CHECK_STR(content_at(&w, 2), "found it");
    model_says(&w, NULL, "spawn_agent s2 {\"prompt\":\"again\"};spawn_agent s3 {\"agent\":\"nobody\",\"prompt\":\"x\"}");
    comes(&w, "s2", PAWL_OUTCOME_ERROR, "{\"code\":\"effect\",\"run\":\"run-1.sub-s2\",\"status\":\"failed\",\"text\":\"LLM error: busy\"}");
    CHECK_STR(content_at(&w, 4), "Error: The sub-agent failed: LLM error: busy");
    CHECK_STR(content_at(&w, 5), "Error: There is no such agent");
    model_says(&w, "so", NULL);
    world_end(&w);
}

PAWL_TEST(test_A6_children_of_children_end_somewhere)
{
    world w;

    begun(&w, "{\"@depth\":3,\"input\":\"go\"}");
    model_says(&w, NULL, "spawn_agent s1 {\"prompt\":\"x\"}");
    CHECK_STR(content_at(&w, 2), "Error: An agent may not go deeper than 3");
    model_says(&w, "so", NULL);
    world_end(&w);
}

PAWL_TEST(test_A3_a_sub_agent_ends_with_its_answer)
{
    world w;

    begun(&w, "{\"@once\":\"run\",\"input\":\"go\"}");
    model_says(&w, "the answer", NULL);
    CHECK_STR(world_status(&w), "completed");
    CHECK_STR(world_get(&w, "output"), "\"the answer\"");
    world_end(&w);
    begun(&w, "{\"@once\":\"run\",\"input\":\"go\"}");
    comes(&w, "llm", PAWL_OUTCOME_ERROR, "{\"code\":\"denied\",\"text\":\"API error: no\"}");
    CHECK_STR(world_status(&w), "failed");
    CHECK(strstr(world_reason(&w), "LLM error: API error: no") != NULL);
    world_end(&w);
    begun(&w, "{\"@once\":\"run\",\"input\":\"go\"}");
    world_signal(&w, "interrupt", NULL);
    CHECK_STR(world_status(&w), "completed");
    CHECK_STR(world_get(&w, "output"), "\"It ended without an answer: interrupt.\"");
    world_end(&w);
}

/* ---- budgets (A8) ------------------------------------------------------------------------------------------------------ */

static void bill(world *w, const char *what, const char *value, const char *usage)
{
    pawl_event ev = { .kind = PAWL_EV_RECEIPT, .value = value, .update = usage };
    char id[512];

    snprintf(id, sizeof id, "%s", command_of(w, what));
    ev.id = id;
    world_feed(w, &ev);
}

PAWL_TEST(test_A8_no_request_leaves_without_room)
{
    static const char said[] = "{\"message\":{\"content\":[{\"text\":\"hi\",\"type\":\"text\"}],\"role\":\"assistant\"},\"stop\":\"end_turn\",\"usage\":{\"input_tokens\":900,\"output_tokens\":5}}";
    pawl_agent a = agent_plain();
    pawl_spent spent;
    world w;

    a.max_tokens = 100;
    a.ntools = 0;
    world_budget((pawl_caps){ .tokens = 2000 });
    agent_begin(&w, &a, "{\"input\":\"one\"}");
    world_budget((pawl_caps){0});
    CHECK(pawl_state_spent(w.st, &spent));
    CHECK(spent.reserved.tokens > 100 && spent.reserved.tokens < 400);
    bill(&w, "llm", said, "{\"tokens\":905}");
    CHECK(pawl_state_spent(w.st, &spent));
    CHECK_INT(spent.used.tokens, 905);
    CHECK_INT(spent.reserved.tokens, 0);
    world_signal(&w, "input", "\"two\"");       /* 905 and 100 and a few more are over what is left */
    CHECK_STR(command_of(&w, "llm"), "");
    CHECK_STR(agent_shows(&w), "done");
    CHECK(strstr(world_get(&w, "@agent"), "\"budget\"") != NULL);
    world_update(&w, NULL, "{\"@budget\":{\"tokens\":9000}}");
    world_signal(&w, "input", "\"three\"");
    CHECK(*command_of(&w, "llm") != '\0');
    bill(&w, "llm", said, "{\"tokens\":905}");
    world_end(&w);
}
