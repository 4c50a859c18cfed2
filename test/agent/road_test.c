/* road_test.c - roads around a permission that there must not be, and odd replies of a model (P1, P2, W6, A4, X3). */
#include "agenting.h"

static void asks(world *w, const char *input, const char *calls)
{
    const pawl_agent a = agent_plain();

    agent_begin(w, &a, input);
    model_says(w, NULL, calls);
}

static const char *given(world *w, const char *what)
{
    static char text[2048];
    pawl_command cmd;

    text[0] = '\0';
    for (size_t i = 0; i < pawl_state_commands(w->st); i++)
        if (pawl_state_command(w->st, i, w->look, &cmd, NULL, NULL) == PAWL_OK && strcmp(cmd.id, command_of(w, what)) == 0) {
            const char *json = pawl_text(w->look, cmd.args);

            snprintf(text, sizeof text, "%s", json != NULL ? json : "");
        }
    return text;
}

/* ---- rules that change between yes and use ---------------------------------------------------------------- */

PAWL_TEST(test_W6_a_yes_to_other_arguments_is_to_those_alone)
{
    world w;

    asks(&w, "{\"input\":\"go\"}", "bash b0 {\"command\":\"make\"};bash b1 {\"command\":\"DANGER\"}");
    world_answer(&w, "b0", "true");
    world_answer(&w, "b1", "{\"approve\":true,\"input\":{\"command\":\"safe\"}}");
    CHECK(*command_of(&w, "b0") != '\0');
    world_update(&w, NULL, "{\"@policy\":{\"deny\":[\"Read\"]}}");      /* it is asked anew, of what the model said */
    world_crash(&w);
    comes(&w, "b0", PAWL_OUTCOME_DONE, "\"\"");
    CHECK_STR(command_of(&w, "b1"), "");
    CHECK(*world_open(&w, "b1", true) != '\0');
    world_answer(&w, "b1", "{\"approve\":true,\"input\":{\"command\":\"safe\"}}");
    CHECK(strstr(given(&w, "b1"), "\"safe\"") != NULL && strstr(given(&w, "b1"), "DANGER") == NULL);
    comes(&w, "b1", PAWL_OUTCOME_DONE, "\"\"");
    model_says(&w, "so", NULL);
    world_end(&w);
}

PAWL_TEST(test_W6_what_was_let_in_looks_again_while_others_are_asked)
{
    world w;

    asks(&w, "{\"input\":\"go\"}", "bash b0 {\"command\":\"make a\"};bash b1 {\"command\":\"make b\"}");
    world_answer(&w, "b0", "true");
    world_update(&w, NULL, "{\"@policy\":{\"deny\":[\"Bash(make a)\"]}}");
    world_answer(&w, "b1", "true");
    CHECK(strncmp(content_at(&w, 2), "Error: Permission denied for tool: bash: ", 41) == 0);
    CHECK_STR(command_of(&w, "b0"), "");
    comes(&w, "b1", PAWL_OUTCOME_DONE, "\"\"");
    model_says(&w, "so", NULL);
    world_end(&w);
}

/* ---- plan mode ------------------------------------------------------------------------------------------------ */

PAWL_TEST(test_P1_plan_mode_binds_the_rest_of_the_answer)
{
    world w;

    asks(&w, "{\"@mode\":\"bypassPermissions\",\"input\":\"go\"}", "plan_enter p1 {};edit_file e1 {\"file_path\":\"a\"};spawn_agent s1 {\"prompt\":\"x\"}");
    CHECK_STR(command_of(&w, "e1"), "");
    CHECK(strncmp(content_at(&w, 3), "Error: Permission denied for tool: edit_file: ", 46) == 0);
    CHECK(strstr(given(&w, "s1"), "\"@mode\":\"plan\"") != NULL);
    CHECK(strstr(given(&w, "s1"), "\"@rights\":\"plan\"") != NULL);
    comes(&w, "s1", PAWL_OUTCOME_DONE, "\"y\"");
    model_says(&w, "so", NULL);
    world_end(&w);
}

PAWL_TEST(test_P1_a_plan_needs_a_person_wherever_it_is_shown)
{
    world w;

    asks(&w, "{\"input\":\"go\"}", "plan_enter p1 {};plan_exit x1 {\"plan\":\"own\"}");
    CHECK_STR(agent_shows(&w), "waiting_for_permission");
    CHECK_STR(world_get(&w, "@mode"), "\"plan\"");
    world_answer(&w, NULL, "true");
    CHECK_STR(world_get(&w, "@mode"), "\"default\"");
    model_says(&w, "so", NULL);
    world_end(&w);
}

PAWL_TEST(test_P1_a_mode_that_was_taken_away_does_not_come_back)
{
    world w;

    asks(&w, "{\"@mode\":\"bypassPermissions\",\"input\":\"go\"}", "plan_enter p1 {}");
    world_update(&w, NULL, "{\"@mode\":\"default\"}");
    world_update(&w, NULL, "{\"@mode\":\"plan\"}");
    model_says(&w, NULL, "plan_exit x1 {\"plan\":\"go\"}");
    world_answer(&w, NULL, "true");
    CHECK_STR(world_get(&w, "@mode"), "\"default\"");
    model_says(&w, "so", NULL);
    world_end(&w);
}

/* ---- inputs that were changed ------------------------------------------------------------------------------------ */

PAWL_TEST(test_A5_a_changed_input_has_to_fit_the_tool)
{
    world w;

    asks(&w, "{\"input\":\"go\"}", "bash b1 {\"command\":\"make\"}");
    world_answer(&w, NULL, "{\"approve\":true,\"input\":{}}");
    CHECK_STR(command_of(&w, "b1"), "");
    CHECK(strncmp(content_at(&w, 2), "Error: Invalid arguments: ", 26) == 0);
    model_says(&w, "so", NULL);
    world_end(&w);
}

/* ---- what comes late is nobody else's -------------------------------------------------------------------------------- */

PAWL_TEST(test_A8_without_room_a_call_fails_alone)
{
    world w;

    world_budget((pawl_caps){ .calls = 2 });
    asks(&w, "{\"@mode\":\"bypassPermissions\",\"input\":\"go\"}", "web_fetch f1 {};web_fetch f2 {}");
    world_budget((pawl_caps){0});
    CHECK(*command_of(&w, "f1") != '\0');
    CHECK_STR(command_of(&w, "f2"), "");
    comes(&w, "f1", PAWL_OUTCOME_DONE, "\"page\"");
    CHECK_STR(roles(&w), "user assistant tool:f1 tool:f2");
    CHECK_STR(content_at(&w, 2), "page");
    CHECK_STR(content_at(&w, 3), "Error: The budget has no room for it");
    CHECK_STR(agent_shows(&w), "done");         /* nor is there room to ask the model */
    world_end(&w);
}

PAWL_TEST(test_A5_results_of_one_event_are_not_lost)
{
    world w;

    asks(&w, "{\"input\":\"go\"}", "todo t1 {\"todos\":[]};nonsense n1 {}");
    CHECK_STR(content_at(&w, 3), "Error: Tool not found: nonsense");
    model_says(&w, "so", NULL);
    world_end(&w);
}

PAWL_TEST(test_A4_a_child_that_cannot_be_told_is_ended)
{
    world w;

    world_budget((pawl_caps){ .calls = 1 });
    asks(&w, "{\"input\":\"go\"}", "spawn_agent s1 {\"prompt\":\"x\"}");
    world_budget((pawl_caps){0});
    if (*command_of(&w, "s1") != '\0')
        world_signal(&w, "interrupt", NULL);
    CHECK_STR(agent_shows(&w), "done");
    CHECK_STR(world_status(&w), "input-required");
    world_end(&w);
}

/* ---- odd replies ------------------------------------------------------------------------------------------------------- */

PAWL_TEST(test_X3_odd_replies_fail_nothing)
{
    static const char *const replies[] = {
        "{\"message\":{\"content\":[{\"type\":\"text\"}],\"role\":\"assistant\"},\"stop\":\"end_turn\"}",
        "{\"message\":{\"content\":\"as it is\",\"role\":\"assistant\"},\"stop\":\"end_turn\"}",
        "{\"message\":{\"content\":[],\"role\":\"assistant\"}}",
        "{\"message\":{\"content\":[7,null,{}],\"role\":\"assistant\"},\"stop\":\"strange\",\"usage\":{\"input_tokens\":-9223372036854775807,\"output_tokens\":9223372036854775807}}",
    };

    for (size_t i = 0; i < sizeof replies / sizeof *replies; i++) {
        const pawl_agent a = agent_plain();
        world w;

        world_budget((pawl_caps){ .tokens = 1000000 });
        agent_begin(&w, &a, "{\"input\":\"go\"}");
        world_budget((pawl_caps){0});
        comes(&w, "llm", PAWL_OUTCOME_DONE, replies[i]);
        CHECK_STR(agent_shows(&w), "idle");
        world_signal(&w, "input", "\"more\"");
        CHECK_STR(world_status(&w), i < 3 ? "working" : world_status(&w));
        world_drop(&w);
    }
}

PAWL_TEST(test_A6_questions_that_cannot_be_answered_are_none)
{
    static const char *const inputs[] = { "{\"questions\":\"four\"}", "{\"questions\":[{\"header\":\"A\",\"options\":\"abc\"}]}",
                                          "{\"questions\":[{\"header\":\"A\",\"options\":[1,2]}]}" };

    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        char calls[256];
        world w;

        snprintf(calls, sizeof calls, "ask_user q1 %s", inputs[i]);
        asks(&w, "{\"input\":\"go\"}", calls);
        CHECK_INT(pawl_state_waits(w.st), 0);
        CHECK(strncmp(content_at(&w, 2), "Error: ", 7) == 0);
        model_says(&w, "so", NULL);
        world_end(&w);
    }
}

PAWL_TEST(test_A4_many_calls_have_their_results)
{
    char calls[16384];
    size_t n = 0;
    world w;

    for (int i = 0; i < 140; i++)
        n += (size_t)snprintf(calls + n, sizeof calls - n, "%stodo t%d {\"todos\":[]}", i > 0 ? ";" : "", i);
    asks(&w, "{\"input\":\"go\"}", calls);
    CHECK_INT(pawl_value_size(pawl_state_get(w.st, "messages")), 142);
    model_says(&w, "so", NULL);
    world_end(&w);
}
