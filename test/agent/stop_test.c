/* stop_test.c - interrupts in every state, and the messages that they leave: any provider must take them (A4). */
#include "agenting.h"

static void interrupted(world *w)
{
    world_signal(w, "interrupt", NULL);
    CHECK_STR(agent_shows(w), "done");
    check_valid(w);
    CHECK_STR(content_at(w, pawl_value_size(pawl_state_get(w->st, "messages")) - 1), "User interrupted this message");
    CHECK_STR(world_status(w), "input-required");
    CHECK_INT(pawl_state_commands(w->st), 0);
    world_signal(w, "interrupt", NULL);         /* once more: nothing */
    CHECK_STR(agent_shows(w), "done");
    CHECK_STR(content_at(w, pawl_value_size(pawl_state_get(w->st, "messages")) - 1), "User interrupted this message");
    world_crash(w);
    world_signal(w, "input", "\"go on\"");      /* it lives */
    CHECK_STR(agent_shows(w), "processing");
    model_says(w, "here", NULL);
    CHECK_STR(agent_shows(w), "idle");
    check_valid(w);
    world_end(w);
}

static void begun(world *w, const char *mode)
{
    const pawl_agent a = agent_plain();
    char input[128];

    snprintf(input, sizeof input, "{\"@mode\":\"%s\",\"input\":\"go\"}", mode);
    agent_begin(w, &a, input);
}

PAWL_TEST(test_A4_idle_is_not_interrupted)
{
    world w;

    begun(&w, "default");
    model_says(&w, "hi", NULL);
    world_signal(&w, "interrupt", NULL);
    CHECK_STR(agent_shows(&w), "idle");
    CHECK_STR(roles(&w), "user assistant");
    world_end(&w);
}

PAWL_TEST(test_A4_while_the_model_speaks)
{
    char said[700];
    world w;

    begun(&w, "default");
    snprintf(said, sizeof said, "{\"said\":{\"%s\":\"half an ans\"}}", command_of(&w, "llm"));
    world_signal(&w, "interrupt", said);
    CHECK_STR(roles(&w), "user assistant user");
    CHECK(strstr(world_get(&w, "messages"), "{\"content\":[{\"text\":\"half an ans\",\"type\":\"text\"}],\"role\":\"assistant\"}") != NULL);
    CHECK_STR(command_of(&w, "llm"), "");
    world_end(&w);
    begun(&w, "default");
    interrupted(&w);            /* before it said anything */
}

PAWL_TEST(test_A4_while_it_waits_to_ask_again)
{
    world w;

    begun(&w, "default");
    comes(&w, "llm", PAWL_OUTCOME_ERROR, "{\"code\":\"transient\",\"text\":\"busy\"}");
    interrupted(&w);
}

PAWL_TEST(test_A4_S3_at_a_permission_nothing_runs)
{
    world w;

    begun(&w, "default");
    model_says(&w, NULL, "bash b1 {\"command\":\"make x\"};bash b2 {\"command\":\"make y\"};read_file r1 {\"file_path\":\"a\"}");
    CHECK_STR(agent_shows(&w), "waiting_for_permission");
    interrupted(&w);
}

PAWL_TEST(test_A4_S4_at_a_question)
{
    world w;

    begun(&w, "default");
    model_says(&w, NULL, "ask_user q1 {\"questions\":[{\"header\":\"Color\",\"options\":[\"red\",\"blue\"],\"question\":\"Which?\"}]}");
    CHECK_STR(agent_shows(&w), "waiting_for_user_input");
    interrupted(&w);
}

PAWL_TEST(test_A4_while_tools_run)
{
    world w;

    begun(&w, "bypassPermissions");
    model_says(&w, NULL, "read_file r1 {\"file_path\":\"a\"};read_file r2 {\"file_path\":\"b\"};bash b1 {\"command\":\"x\"}");
    comes(&w, "r1", PAWL_OUTCOME_DONE, "\"one\"");
    interrupted(&w);
}

PAWL_TEST(test_A4_one_that_edits_is_let_finish)
{
    world w;

    begun(&w, "bypassPermissions");
    model_says(&w, NULL, "edit_file e1 {\"file_path\":\"a\"};bash b1 {\"command\":\"x\"}");
    world_signal(&w, "interrupt", NULL);
    CHECK_STR(agent_shows(&w), "executing_tool");
    world_signal(&w, "input", "\"meanwhile\"");
    comes(&w, "e1", PAWL_OUTCOME_DONE, "\"edited\"");
    CHECK_STR(roles(&w), "user assistant tool:e1 tool:b1 user user");  /* and what was queued begins */
    CHECK_STR(content_at(&w, 2), "edited");
    CHECK_STR(content_at(&w, 3), "Interrupted");
    CHECK_STR(agent_shows(&w), "processing");
    check_valid(&w);
    model_says(&w, "so", NULL);
    world_end(&w);
}

PAWL_TEST(test_A4_a_second_interrupt_cancels_all)
{
    world w;

    begun(&w, "bypassPermissions");
    model_says(&w, NULL, "edit_file e1 {\"file_path\":\"a\"}");
    world_signal(&w, "interrupt", NULL);
    world_signal(&w, "interrupt", NULL);
    CHECK_STR(agent_shows(&w), "done");
    CHECK_STR(command_of(&w, "e1"), "");
    CHECK_STR(content_at(&w, 2), "Interrupted");
    check_valid(&w);
    world_end(&w);
}

PAWL_TEST(test_A4_a_child_is_interrupted_alike)
{
    world w;

    begun(&w, "default");
    model_says(&w, NULL, "spawn_agent s1 {\"prompt\":\"look\"};read_file r1 {\"file_path\":\"a\"}");
    CHECK_STR(agent_shows(&w), "waiting_for_sub_agent");
    world_signal(&w, "interrupt", NULL);
    CHECK(*command_of(&w, "tell") != '\0');
    CHECK(*command_of(&w, "s1") != '\0');       /* its end is waited for */
    comes(&w, "tell", PAWL_OUTCOME_DONE, "null");
    comes(&w, "s1", PAWL_OUTCOME_DONE, "\"It ended without an answer: interrupt.\"");
    CHECK_STR(agent_shows(&w), "done");
    check_valid(&w);
    world_end(&w);
}

PAWL_TEST(test_A4_after_tools)
{
    pawl_agent a = agent_plain();
    world w;

    a.post_tools = true;
    agent_begin(&w, &a, "{\"@mode\":\"bypassPermissions\",\"input\":\"go\"}");
    model_says(&w, NULL, "bash b1 {\"command\":\"x\"}");
    comes(&w, "b1", PAWL_OUTCOME_DONE, "\"\"");
    interrupted(&w);
}

PAWL_TEST(test_A4_while_it_is_summed_up)
{
    pawl_agent a = agent_plain();
    world w;

    a.compact_tokens = 12;
    agent_begin(&w, &a, "{\"input\":\"go\"}");
    model_says(&w, "hi", NULL);
    world_signal(&w, "input", "\"more\"");
    CHECK(strstr(world_get(&w, "@agent"), "compacting") != NULL);
    world_signal(&w, "interrupt", NULL);
    CHECK_STR(roles(&w), "user assistant user user");
    CHECK_STR(agent_shows(&w), "done");
    world_end(&w);
}

/* ---- shutdown --------------------------------------------------------------------------------------------------- */

PAWL_TEST(test_A1_shutdown_from_wherever_it_stands)
{
    static const char *const calls[] = { NULL, "bash b1 {\"command\":\"x\"}", "read_file r1 {\"file_path\":\"a\"}",
                                         "ask_user q1 {\"questions\":[{\"header\":\"Color\",\"options\":[\"red\",\"blue\"],\"question\":\"Which?\"}]}" };

    for (size_t i = 0; i <= sizeof calls / sizeof *calls; i++) {
        world w;

        begun(&w, "default");
        if (i < sizeof calls / sizeof *calls)
            model_says(&w, calls[i] == NULL ? "hi" : NULL, calls[i]);
        world_signal(&w, "shutdown", NULL);
        CHECK_STR(world_status(&w), "completed");
        CHECK_STR(agent_shows(&w), "done");
        check_valid(&w);
        world_end(&w);
    }
}

/* ---- five at once -------------------------------------------------------------------------------------------------- */

/* Answers to questions of one turn come one after another; those of five children's in any order: the same messages. */
PAWL_TEST(test_A4_five_children_end_in_any_order)
{
    char first[8192] = "";

    for (int perm = 0; perm < 120; perm++) {
        int left[] = { 0, 1, 2, 3, 4 }, n = 5, p = perm;
        world w;

        begun(&w, "default");
        model_says(&w, NULL, "spawn_agent s0 {\"prompt\":\"0\"};spawn_agent s1 {\"prompt\":\"1\"};spawn_agent s2 {\"prompt\":\"2\"};"
                             "spawn_agent s3 {\"prompt\":\"3\"};spawn_agent s4 {\"prompt\":\"4\"}");
        for (; n > 0; n--) {
            const int at = p % n;
            char id[8], value[32];

            p /= n;
            snprintf(id, sizeof id, "s%d", left[at]);
            snprintf(value, sizeof value, "\"of %d\"", left[at]);
            comes(&w, id, PAWL_OUTCOME_DONE, value);
            for (int i = at; i < n - 1; i++)
                left[i] = left[i + 1];
        }
        if (perm == 0)
            snprintf(first, sizeof first, "%s", world_get(&w, "messages"));
        CHECK_STR(world_get(&w, "messages"), first);
        world_end(&w);
    }
}
