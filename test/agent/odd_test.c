/* odd_test.c - what seldom happens to an agent: results that come out of order under a budget, odd settings, a shutdown after an error, more calls than an event
 * may have commands (A2, A3, A5, A8, X3). */
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
static void test_A8_results_that_waited_are_reserved(void)
{
    char json[LARGE + 100];
    world w;

    begun_with_tokens(&w, "{\"input\":\"go\"}");
    model_says(&w, NULL, "read_file r1 {\"file_path\":\"a\"};read_file r2 {\"file_path\":\"b\"}");
    comes(&w, "r2", PAWL_DONE, large(json, sizeof json, "\"", "\""));
    comes(&w, "r1", PAWL_DONE, "\"small\"");
    CHECK(*command_of(&w, "llm") != '\0');
    CHECK(reserved(&w) > LARGE);
    model_says(&w, "so", NULL);
    world_end(&w);
}

static void test_A8_input_that_was_queued_is_reserved(void)
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
static void test_A8_what_was_billed_is_not_reserved_by_its_bytes(void)
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

static void test_A8_a_system_that_has_become_longer_is_reserved(void)
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

static void test_A8_odd_bounds_of_an_answer_fail_nothing(void)
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
static void test_A2_a_request_after_a_pause_has_all_its_calls(void)
{
    const pawl_agent a = agent_plain();
    world w;

    agent_begin(&w, &a, "{\"input\":\"go\"}");
    for (int i = 0; i < 2; i++) {
        comes(&w, "llm", PAWL_ERROR, "{\"code\":\"transient\",\"text\":\"busy\"}");
        wakes(&w);
    }
    comes(&w, "llm", PAWL_DONE, "{\"message\":{\"content\":[{\"text\":\"first\",\"type\":\"text\"}],\"role\":\"assistant\"},\"stop\":\"pause_turn\"}");
    for (int i = 0; i < 2; i++) {
        comes(&w, "llm", PAWL_ERROR, "{\"code\":\"transient\",\"text\":\"busy\"}");
        CHECK_STR(agent_shows(&w), "processing");
        wakes(&w);
    }
    model_says(&w, "done", NULL);
    CHECK_STR(agent_shows(&w), "idle");
    world_end(&w);
}

/* ---- its end (A3) ----------------------------------------------------------------------------------------------- */

static void test_A3_a_shutdown_after_an_error_is_done(void)
{
    const pawl_agent a = agent_plain();
    pawl_agent_view v;
    world w;

    agent_begin(&w, &a, "{\"input\":\"go\"}");
    comes(&w, "llm", PAWL_ERROR, "{\"code\":\"denied\",\"text\":\"no\"}");
    CHECK_STR(agent_shows(&w), "error");
    world_signal(&w, "shutdown", NULL);
    CHECK_STR(world_status(&w), "completed");
    CHECK_INT(pawl_agent_look(w.st, &v, NULL), PAWL_OK);
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
static void test_A3_a_shutdown_while_its_end_is_told_to_hooks(void)
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
    comes(&w, "llm", PAWL_ERROR, "{\"code\":\"denied\",\"text\":\"no\"}");
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
static void test_A3_what_is_shown_of_a_run_that_is_over(void)
{
    const pawl_agent a = agent_plain();
    pawl_agent_view v;
    world w;

    agent_begin(&w, &a, "{\"@once\":\"run\",\"input\":\"go\"}");
    comes(&w, "llm", PAWL_ERROR, "{\"code\":\"denied\",\"text\":\"API error: no\"}");
    CHECK_STR(world_status(&w), "failed");
    CHECK_INT(pawl_agent_look(w.st, &v, NULL), PAWL_OK);
    CHECK_STR(pawl_shown_name(v.state), "error");
    CHECK(v.message != NULL && strstr(v.message, "API error: no") != NULL);
    world_end(&w);
    agent_begin(&w, &a, "{\"input\":\"go\"}");
    model_says(&w, NULL, "read_file r1 {\"file_path\":\"a\"}");
    CHECK_STR(agent_shows(&w), "executing_tool");
    world_cancel(&w);
    comes(&w, "r1", PAWL_CALLED_OFF, NULL);
    CHECK_STR(world_status(&w), "canceled");
    CHECK_INT(pawl_agent_look(w.st, &v, NULL), PAWL_OK);
    CHECK_STR(pawl_shown_name(v.state), "done");
    CHECK(v.tool_name == NULL && v.tool_use_id == NULL && v.input == NULL);
    world_end(&w);
}

int main(int argc, char **argv)
{
    static const check_case cases[] = {
        CASE(test_A8_results_that_waited_are_reserved), CASE(test_A8_input_that_was_queued_is_reserved),
        CASE(test_A8_what_was_billed_is_not_reserved_by_its_bytes), CASE(test_A8_a_system_that_has_become_longer_is_reserved),
        CASE(test_A8_odd_bounds_of_an_answer_fail_nothing), CASE(test_A2_a_request_after_a_pause_has_all_its_calls),
        CASE(test_A3_a_shutdown_after_an_error_is_done), CASE(test_A3_a_shutdown_while_its_end_is_told_to_hooks),
        CASE(test_A3_what_is_shown_of_a_run_that_is_over),
    };

    return check_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
