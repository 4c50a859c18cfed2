/* rights_test.c - plan mode lets nothing be written by any road (P1): not by what was let in before, and not by children (E11). */
#include "agenting.h"

static void begun(world *w, const char *input)
{
    const pawl_agent a = agent_plain();

    agent_begin(w, &a, input);
}

static const char *mode_of(world *w)
{
    const char *mode = pawl_value_string(pawl_state_get(w->st, "@mode"));

    return mode != NULL ? mode : "";
}

/* What the open command `effect` was given, as JSON; "": there is none. */
static const char *given_to(world *w, const char *effect)
{
    static char json[1024];
    pawl_command cmd;

    for (size_t i = 0; i < pawl_state_commands(w->st); i++) {
        buf b;

        if (pawl_state_command(w->st, i, w->look, &cmd, NULL, NULL) != PAWL_OK || cmd.effect == NULL || strcmp(cmd.effect, effect) != 0)
            continue;
        buf_init(&b, NULL);
        canon(&b, cmd.args);
        snprintf(json, sizeof json, "%.*s", (int)b.size, b.data);
        buf_free(&b);
        return json;
    }
    return "";
}

/* ---- children -------------------------------------------------------------------------------------------- */

PAWL_TEST(test_P1_E11_a_child_that_runs_loses_what_its_parent_loses)
{
    world w;

    begun(&w, "{\"@mode\":\"acceptEdits\",\"input\":\"go\"}");
    model_says(&w, NULL, "spawn_agent s1 {\"prompt\":\"look\"};spawn_agent s2 {\"prompt\":\"look\"}");
    CHECK_STR(command_of(&w, "tell"), "");
    world_update(&w, NULL, "{\"@mode\":\"bypassPermissions\"}");
    CHECK_STR(command_of(&w, "tell"), "");      /* more is nothing to tell */
    comes(&w, "s2", PAWL_OUTCOME_DONE, "\"found\"");
    world_crash(&w);
    world_update(&w, NULL, "{\"@mode\":\"plan\"}");
    CHECK_STR(given_to(&w, "tell"), "{\"run\":\"run-1.sub-s1\",\"update\":{\"@rights\":\"plan\"}}");
    comes(&w, "tell", PAWL_OUTCOME_DONE, "true");
    CHECK_STR(command_of(&w, "tell"), "");      /* those that are over are told nothing */
    world_update(&w, NULL, "{\"@mode\":\"default\"}");
    world_update(&w, NULL, "{\"@mode\":\"plan\"}");
    CHECK_STR(command_of(&w, "tell"), "");      /* it knows */
    comes(&w, "s1", PAWL_OUTCOME_DONE, "\"found\"");
    model_says(&w, "so", NULL);
    world_end(&w);
}

PAWL_TEST(test_P1_what_a_child_was_told_is_never_more_again)
{
    world w;

    begun(&w, "{\"@mode\":\"acceptEdits\",\"@once\":\"run\",\"@rights\":\"acceptEdits\",\"input\":\"go\"}");
    world_update(&w, NULL, "{\"@mode\":\"bypassPermissions\"}");
    CHECK_STR(mode_of(&w), "acceptEdits");
    world_update(&w, NULL, "{\"@rights\":\"plan\"}");
    CHECK_STR(mode_of(&w), "plan");
    world_crash(&w);
    world_update(&w, NULL, "{\"@rights\":\"default\"}");        /* one that was told before comes after */
    world_update(&w, NULL, "{\"@mode\":\"default\"}");
    CHECK_STR(mode_of(&w), "plan");
    model_says(&w, NULL, "edit_file e1 {\"file_path\":\"a\"}");
    while (*command_of(&w, "links") != '\0')
        comes(&w, "links", PAWL_OUTCOME_DONE, "{}");
    CHECK(strncmp(content_at(&w, 2), "Error: Permission denied for tool: edit_file: ", 46) == 0);
    model_says(&w, NULL, "plan_exit p1 {\"plan\":\"write\"}");
    world_answer(&w, world_open(&w, "p1", true), "true");
    CHECK_STR(mode_of(&w), "plan");             /* nor by a plan of its own */
    model_says(&w, "so", NULL);
    world_end(&w);
}

PAWL_TEST(test_P1_E11_a_child_tells_its_own_children)
{
    world w;

    begun(&w, "{\"@mode\":\"default\",\"@once\":\"run\",\"@rights\":\"default\",\"input\":\"go\"}");
    model_says(&w, NULL, "spawn_agent s1 {\"prompt\":\"look\"}");
    CHECK(strstr(given_to(&w, "searcher"), "\"@mode\":\"default\"") != NULL);
    CHECK(strstr(given_to(&w, "searcher"), "\"@rights\":\"default\"") != NULL);
    world_update(&w, NULL, "{\"@rights\":\"plan\"}");
    CHECK_STR(given_to(&w, "tell"), "{\"run\":\"run-1.sub-s1\",\"update\":{\"@rights\":\"plan\"}}");
    comes(&w, "tell", PAWL_OUTCOME_DONE, "true");
    comes(&w, "s1", PAWL_OUTCOME_DONE, "\"found\"");
    model_says(&w, "so", NULL);
    world_end(&w);
}

/* Models name their calls as they like: what is shown and told names the run that there is. */
PAWL_TEST(test_A6_a_child_has_the_name_that_it_is_shown_under)
{
    static const char *const ids[][2] = { { "call:1", "run-1.sub-call-1" },
        { "call_0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123", "run-1." } };

    for (size_t i = 0; i < 2; i++) {
        char calls[512], shown[160];
        pawl_agent_view v;
        pawl_err err = {0};
        world w;

        begun(&w, "{\"input\":\"go\"}");
        snprintf(calls, sizeof calls, "spawn_agent %.63s {\"prompt\":\"look\"}", ids[i][0]);
        if (i == 1) {           /* longer than the helper takes */
            snprintf(calls, sizeof calls, "{\"message\":{\"content\":[{\"id\":\"%s\",\"input\":{\"prompt\":\"x\"},\"name\":\"spawn_agent\",\"type\":\"tool_use\"}],"
                     "\"role\":\"assistant\"},\"stop\":\"tool_use\"}", ids[i][0]);
            comes(&w, "llm", PAWL_OUTCOME_DONE, calls);
        } else {
            model_says(&w, NULL, calls);
        }
        CHECK_INT(pawl_agent_display(w.st, &v, &err), PAWL_OK);
        CHECK_INT(v.state, PAWL_SHOWN_WAITING_FOR_SUB_AGENT);
        CHECK(strncmp(v.session_id, ids[i][1], strlen(ids[i][1])) == 0 && strlen(v.session_id) <= 128);
        CHECK(v.tool_use_id == NULL && v.request_id == NULL);
        snprintf(shown, sizeof shown, "\"%s\"", v.session_id);
        world_update(&w, NULL, "{\"@mode\":\"plan\"}");
        CHECK(strstr(given_to(&w, "tell"), shown) != NULL);
        world_signal(&w, "shutdown", NULL);
        world_end(&w);
    }
}

/* ---- rules, and grants ------------------------------------------------------------------------------------------- */

#define RULES(deny) "{\"deny\":[\"" deny "\"]}"

PAWL_TEST(test_P1_E11_a_child_that_runs_gets_the_rules_of_its_parent)
{
    world w;

    begun(&w, "{\"@mode\":\"acceptEdits\",\"input\":\"go\"}");
    model_says(&w, NULL, "spawn_agent s1 {\"prompt\":\"look\"};spawn_agent s2 {\"prompt\":\"look\"}");
    comes(&w, "s2", PAWL_OUTCOME_DONE, "\"found\"");
    world_crash(&w);
    world_update(&w, NULL, "{\"@policy\":" RULES("Edit") "}");
    CHECK_STR(given_to(&w, "tell"), "{\"run\":\"run-1.sub-s1\",\"update\":{\"@law\":{\"n\":4,\"policy\":" RULES("Edit") "}}}");
    comes(&w, "tell", PAWL_OUTCOME_DONE, "true");
    CHECK_STR(command_of(&w, "tell"), "");      /* those that are over are told nothing */
    world_update(&w, NULL, "{\"@policy\":null}");
    CHECK_STR(given_to(&w, "tell"), "{\"run\":\"run-1.sub-s1\",\"update\":{\"@law\":{\"n\":6,\"policy\":null}}}");
    comes(&w, "tell", PAWL_OUTCOME_DONE, "true");
    world_update(&w, NULL, "{\"@grants\":[{\"from\":\"ann\",\"rule\":\"Bash(make:*)\"}]}");
    CHECK_STR(given_to(&w, "tell"), "{\"run\":\"run-1.sub-s1\",\"update\":{\"@grants\":[{\"from\":\"ann\",\"rule\":\"Bash(make:*)\"}]}}");
    comes(&w, "tell", PAWL_OUTCOME_DONE, "true");
    comes(&w, "s1", PAWL_OUTCOME_DONE, "\"found\"");
    world_update(&w, NULL, "{\"@policy\":" RULES("Edit") "}");
    CHECK_STR(command_of(&w, "tell"), "");
    model_says(&w, "so", NULL);
    world_end(&w);
}

/* A child goes by the newest rules of its parent, in whatever order they come, and passes them on; one that cannot be told is ended. */
PAWL_TEST(test_P1_E11_the_newest_rules_hold)
{
    world w;

    begun(&w, "{\"@mode\":\"acceptEdits\",\"@once\":\"run\",\"@rights\":\"acceptEdits\",\"input\":\"go\"}");
    model_says(&w, NULL, "spawn_agent s1 {\"prompt\":\"look\"}");
    world_update(&w, NULL, "{\"@law\":{\"n\":17,\"policy\":" RULES("Edit") "}}");
    CHECK_STR(world_get(&w, "@policy"), RULES("Edit"));
    CHECK_STR(given_to(&w, "tell"), "{\"run\":\"run-1.sub-s1\",\"update\":{\"@law\":{\"n\":3,\"policy\":" RULES("Edit") "}}}");
    comes(&w, "tell", PAWL_OUTCOME_DONE, "true");
    world_crash(&w);
    world_update(&w, NULL, "{\"@law\":{\"n\":16,\"policy\":null}}");      /* left before it, and it comes after it */
    CHECK_STR(world_get(&w, "@policy"), RULES("Edit"));
    CHECK_STR(command_of(&w, "tell"), "");
    comes(&w, "s1", PAWL_OUTCOME_DONE, "\"found\"");
    model_says(&w, NULL, "spawn_agent s2 {\"prompt\":\"look\"};edit_file e1 {\"file_path\":\"/w/a\"}");
    while (*command_of(&w, "links") != '\0')
        comes(&w, "links", PAWL_OUTCOME_DONE, "{}");
    CHECK(strstr(given_to(&w, "searcher"), "\"@policy\":" RULES("Edit")) != NULL);
    world_signal(&w, "shutdown", NULL);
    CHECK(strncmp(content_at(&w, 5), "Error: Permission denied for tool: edit_file: ", 46) == 0);
    world_end(&w);
}

/* What the event that brings the rules lets begin has them already: the call that waited, and the child after it. */
PAWL_TEST(test_P1_what_waits_for_its_turn_is_decided_by_the_rules_that_come)
{
    world w;

    begun(&w, "{\"@cwd\":\"/w\",\"@mode\":\"bypassPermissions\",\"@once\":\"run\",\"@rights\":\"bypassPermissions\",\"input\":\"go\"}");
    model_says(&w, NULL, "bash b1 {\"command\":\"make\"};bash b2 {\"command\":\"rm x\"};bash b3 {\"command\":\"ls\"}");
    world_update(&w, NULL, "{\"@law\":{\"n\":17,\"policy\":" RULES("Bash(rm:*)") "}}");
    world_crash(&w);
    comes(&w, "b1", PAWL_OUTCOME_DONE, "\"made\"");
    CHECK_STR(command_of(&w, "b2"), "");
    comes(&w, "b3", PAWL_OUTCOME_DONE, "\"x\"");
    CHECK(strncmp(content_at(&w, 3), "Error: Permission denied for tool: bash: ", 41) == 0);
    model_says(&w, "so", NULL);
    world_end(&w);
}

/* ---- what was let in, and waits for its turn ------------------------------------------------------------------ */

PAWL_TEST(test_P1_what_was_let_in_is_decided_anew_when_the_mode_changes)
{
    world w;

    begun(&w, "{\"@mode\":\"bypassPermissions\",\"input\":\"go\"}");
    model_says(&w, NULL, "bash b1 {\"command\":\"x\"};edit_file e1 {\"file_path\":\"a\"};read_file r1 {\"file_path\":\"a\"}");
    CHECK(*command_of(&w, "b1") != '\0');
    world_update(&w, NULL, "{\"@mode\":\"plan\"}");
    world_crash(&w);
    comes(&w, "b1", PAWL_OUTCOME_DONE, "\"x\"");        /* what runs, runs; its handler is told of the mode at each attempt */
    while (*command_of(&w, "links") != '\0')
        comes(&w, "links", PAWL_OUTCOME_DONE, "{}");
    CHECK_STR(command_of(&w, "e1"), "");
    comes(&w, "r1", PAWL_OUTCOME_DONE, "\"a\"");
    CHECK_STR(roles(&w), "user assistant tool:b1 tool:e1 tool:r1");
    CHECK(strncmp(content_at(&w, 3), "Error: Permission denied for tool: edit_file: ", 46) == 0);
    model_says(&w, "so", NULL);
    world_end(&w);
}

PAWL_TEST(test_W6_and_asked_anew_where_a_person_let_it_in)
{
    world w;

    begun(&w, "{\"@mode\":\"default\",\"@policy\":{\"allow\":[\"Bash(x)\"]},\"input\":\"go\"}");
    model_says(&w, NULL, "bash b1 {\"command\":\"x\"};bash b2 {\"command\":\"y\"};read_file r1 {\"file_path\":\"a\"}");
    world_answer(&w, world_open(&w, "b2", true), "true");
    CHECK_STR(agent_shows(&w), "executing_tool");
    world_update(&w, NULL, "{\"@policy\":{\"allow\":[\"Bash(z)\"]}}");
    CHECK_STR(agent_shows(&w), "waiting_for_permission");       /* while the first is used */
    comes(&w, "b1", PAWL_OUTCOME_DONE, "\"x\"");
    CHECK_STR(command_of(&w, "b2"), "");
    world_crash(&w);
    world_answer(&w, world_open(&w, "b2", true), "true");
    CHECK(*command_of(&w, "b2") != '\0');
    comes(&w, "b2", PAWL_OUTCOME_DONE, "\"y\"");
    comes(&w, "r1", PAWL_OUTCOME_DONE, "\"a\"");
    CHECK_STR(roles(&w), "user assistant tool:b1 tool:b2 tool:r1");
    model_says(&w, NULL, "bash b3 {\"command\":\"z\"};bash b4 {\"command\":\"z\"}");
    world_update(&w, NULL, "{\"@policy\":{}}");
    world_answer(&w, world_open(&w, "b4", true), "false");      /* the other runs: the model is told */
    comes(&w, "b3", PAWL_OUTCOME_DONE, "\"z\"");
    CHECK_STR(content_at(&w, 7), "Error: User denied permission for: bash");
    CHECK_STR(agent_shows(&w), "processing");
    model_says(&w, NULL, "bash b5 {\"command\":\"z\"}");
    CHECK_STR(agent_shows(&w), "waiting_for_permission");
    world_signal(&w, "interrupt", NULL);
    world_end(&w);
}

PAWL_TEST(test_A4_an_interrupt_where_it_is_asked_anew)
{
    world w;

    begun(&w, "{\"@mode\":\"bypassPermissions\",\"input\":\"go\"}");
    model_says(&w, NULL, "edit_file e1 {\"file_path\":\"a\"};bash b1 {\"command\":\"y\"}");
    world_update(&w, NULL, "{\"@mode\":\"default\"}");
    CHECK(*world_open(&w, "b1", true) != '\0');
    world_signal(&w, "interrupt", NULL);
    CHECK_STR(world_open(&w, "b1", true), "");
    comes(&w, "e1", PAWL_OUTCOME_DONE, "\"edited\"");
    CHECK_STR(roles(&w), "user assistant tool:e1 tool:b1 user");
    CHECK_STR(content_at(&w, 3), "Interrupted");
    CHECK_STR(agent_shows(&w), "done");
    world_end(&w);
}
