/* fail_test.c - what goes wrong in a graph, and what is kept: failure and reopen (G4), a node's own retry (E7), limits (G7, X2), and
 * nodes that break their word. */
#include "lib/machines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const pawl_channel channels[] = { { .name = "x" }, { .name = "n", .rule = PAWL_RULE_SUM, .first = "0" }, { .name = "log", .rule = PAWL_RULE_APPEND },
                                         { .name = "one", .rule = PAWL_RULE_SINGLE }, { 0 } };

static pawl_graph *graph(const part *parts)
{
    return script_graph("plan", 1, channels, parts);
}

static void begin(world *w, pawl_graph *g, const char *input)
{
    world_begin(w, script_compile(g), input);
}

/* A graph of one node. */
static pawl_graph *lone(const char *name, pawl_node_fn *fn, const char *script)
{
    union { const char *in; void *out; } arg = { script };
    pawl_graph *g = graph((const part[]){ { 0 } });

    pawl_graph_node(g, name, fn, arg.out);
    pawl_graph_chain(g, PAWL_START, name, PAWL_END, NULL);
    return g;
}

/* Calls, and takes any answer but "bad". */
static pawl_code picky(pawl_step *s, void *arg)
{
    const pawl_value *v;
    pawl_code rc = pawl_call(s, "llm", NULL, &v);

    if (rc != PAWL_OK)
        return rc;
    if (strcmp(pawl_value_string(v), "bad") == 0)
        return pawl_fail(s, pawl_code_named(arg), "%s: a bad answer", pawl_node_name(s));
    pawl_set(s, "log", v);
    return PAWL_OK;
}

/* ---- failure, and what is kept (G4) --------------------------------------------------------------- */

PAWL_TEST(test_G4_siblings_run_to_their_end_and_only_what_failed_runs_again)
{
    const part parts[] = { { "b", NULL, "call llm 2 -> log" }, { "c", "b", "get log -> x" }, { 0 } };
    pawl_graph *g = graph(parts);
    world w;

    pawl_graph_node(g, "a", picky, "invalid");
    pawl_graph_chain(g, PAWL_START, "a", "c", NULL);
    begin(&w, g, NULL);
    world_receipt(&w, "a", "\"bad\"");
    CHECK_STR(world_status(&w), "working");
    world_crash(&w);
    world_receipt(&w, "b", "\"b\"");
    CHECK_STR(world_status(&w), "failed");
    CHECK_STR(world_tasks(&w), "b a");
    CHECK_STR(world_get(&w, "log"), "");        /* nothing of an open superstep is seen */
    world_crash(&w);
    world_reopen(&w, NULL);
    CHECK_INT(pawl_state_commands(w.st), 1);
    world_receipt(&w, "a", "\"good\"");
    world_expect(&w, "1 start working | start {}; close -> b a; call 1.b.1.0 {\"args\":2,\"effect\":\"llm\"}; call 1.a.1.0 {\"effect\":\"llm\"}\n"
                     ". receipt 1.a.1.0 \"bad\"; a fail {\"code\":\"invalid\",\"text\":\"a: a bad answer\"}\n"
                     ". receipt 1.b.1.0 \"b\"; b leaves log=\"b\"\n"
                     "2 tick failed | records 4; end {\"code\":\"invalid\",\"text\":\"a: a bad answer\"}\n"
                     "3 reopen working | reopen {}; a visit 2; call 1.a.2.0 {\"effect\":\"llm\"}\n"
                     ". receipt 1.a.2.0 \"good\"; a leaves log=\"good\"\n"
                     "4 tick working | records 2; close -> c\n"
                     "5 tick completed | c leaves x=[\"b\",\"good\"]; close ->\n");
    CHECK_STR(world_get(&w, "x"), "[\"b\",\"good\"]");
    world_end(&w);
}

PAWL_TEST(test_G4_the_first_failure_in_task_order_is_told)
{
    const part parts[] = { { "a", NULL, "call llm 1 | fail invalid first" }, { "b", NULL, "call llm 2 | fail denied second" }, { 0 } };
    world w;

    begin(&w, graph(parts), NULL);
    world_receipt(&w, "b", "2");
    world_receipt(&w, "a", "1");
    CHECK_STR(world_status(&w), "failed");
    CHECK_STR(world_reason(&w), "{\"code\":\"invalid\",\"text\":\"first\"}");
    world_end(&w);
}

PAWL_TEST(test_G4_all_that_failed_gets_new_visits_and_attempts)
{
    pawl_graph *g = graph((const part[]){ { 0 } });
    world w;

    pawl_graph_node(g, "a", picky, "transient");
    pawl_graph_node(g, "b", picky, "invalid");
    pawl_graph_chain(g, PAWL_START, "a", PAWL_END, NULL);
    pawl_graph_chain(g, PAWL_START, "b", PAWL_END, NULL);
    begin(&w, g, NULL);
    world_receipt(&w, "b", "\"bad\"");
    world_receipt(&w, "a", "\"bad\"");
    world_reopen(&w, NULL);
    world_receipt(&w, "a", "\"bad\"");
    world_receipt(&w, "b", "\"good\"");
    world_reopen(&w, NULL);
    CHECK_STR(world_open(&w, "a", false), "run-1~0000000000000001/1.a.3.0");
    CHECK_STR(world_open(&w, "b", false), "");
    world_receipt(&w, "a", "\"good\"");
    world_expect(&w, "1 start working | start {}; close -> a b; call 1.a.1.0 {\"effect\":\"llm\"}; call 1.b.1.0 {\"effect\":\"llm\"}\n"
                     ". receipt 1.b.1.0 \"bad\"; b fail {\"code\":\"invalid\",\"text\":\"b: a bad answer\"}\n"
                     ". receipt 1.a.1.0 \"bad\"; a fail {\"code\":\"transient\",\"text\":\"a: a bad answer\"}\n"
                     "2 tick failed | records 4; end {\"code\":\"transient\",\"text\":\"a: a bad answer\"}\n"
                     "3 reopen working | reopen {}; a visit 2; b visit 2; call 1.a.2.0 {\"effect\":\"llm\"}; call 1.b.2.0 {\"effect\":\"llm\"}\n"
                     ". receipt 1.a.2.0 \"bad\"; a fail {\"code\":\"transient\",\"text\":\"a: a bad answer\"}\n"
                     ". receipt 1.b.2.0 \"good\"; b leaves log=\"good\"\n"
                     "4 tick failed | records 4; end {\"code\":\"transient\",\"text\":\"a: a bad answer\"}\n"
                     "5 reopen working | reopen {}; a visit 3; call 1.a.3.0 {\"effect\":\"llm\"}\n"
                     ". receipt 1.a.3.0 \"good\"; a leaves log=\"good\"\n"
                     "6 tick completed | records 2; close ->\n");
    world_end(&w);
}

PAWL_TEST(test_G4_nothing_but_failed_is_opened_again)
{
    const char *scripts[] = { "x=1", "fail denied no", "ask \"?\"" }, *status[] = { "completed", "rejected", "canceled" };
    world w;

    for (int i = 0; i < 3; i++) {
        begin(&w, lone("a", script_node, scripts[i]), NULL);
        if (i == 2)
            world_cancel(&w);
        CHECK_STR(world_status(&w), status[i]);
        CHECK_INT(world_feed(&w, &(pawl_event){ .kind = PAWL_EV_REOPEN }), PAWL_IGNORED);
        world_end(&w);
    }
}

/* No task failed: the superstep could not be closed. A person mends the state; no node runs again. */
static const char *by_x(pawl_step *s, void *arg)
{
    (void)arg;
    return pawl_get_string(s, "x");
}

PAWL_TEST(test_G4_a_superstep_that_could_not_close_closes_when_the_state_is_mended)
{
    const part parts[] = { { "b", "-", "log=\"b\"" }, { 0 } };
    pawl_graph *g = graph(parts);
    world w;

    pawl_graph_node(g, "a", script_node, "call llm 1 -> log");
    pawl_graph_edge(g, PAWL_START, "a");
    pawl_graph_route(g, "a", by_x, NULL, NULL, "b", NULL);
    begin(&w, g, NULL);
    world_receipt(&w, "a", "\"a\"");
    CHECK_STR(world_status(&w), "failed");
    world_reopen(&w, NULL);
    CHECK_STR(world_status(&w), "failed");
    world_reopen(&w, "{\"x\":\"b\"}");
    world_expect(&w, "1 start working | start {}; close -> a; call 1.a.1.0 {\"args\":1,\"effect\":\"llm\"}\n"
                     "2 receipt failed | receipt 1.a.1.0 \"a\"; a leaves log=\"a\"; end {\"code\":\"invalid\",\"text\":\"plan: no route from \\\"a\\\", with {\\\"n\\\":0}\"}\n"
                     "3 reopen working | reopen {}\n"
                     "4 tick failed | end {\"code\":\"invalid\",\"text\":\"plan: no route from \\\"a\\\", with {\\\"n\\\":0}\"}\n"
                     "5 reopen working | reopen {\"update\":{\"x\":\"b\"}}\n"
                     "6 tick working | close -> b\n"
                     "7 tick completed | b leaves log=\"b\"; close ->\n");
    CHECK_STR(world_get(&w, "log"), "[\"a\",\"b\"]");
    world_end(&w);
}

PAWL_TEST(test_G4_a_run_that_failed_before_its_first_task_begins_when_the_state_is_mended)
{
    const part parts[] = { { "b", "-", "log=\"b\"" }, { 0 } };
    pawl_graph *g = graph(parts);
    world w;

    pawl_graph_route(g, PAWL_START, by_x, NULL, NULL, "b", NULL);
    begin(&w, g, NULL);
    CHECK_STR(world_status(&w), "failed");
    world_reopen(&w, NULL);
    CHECK_STR(world_status(&w), "failed");
    world_reopen(&w, "{\"x\":\"b\"}");
    world_expect(&w, "1 start failed | start {}; end {\"code\":\"invalid\",\"text\":\"plan: no route from \\\"@start\\\", with {\\\"n\\\":0}\"}\n"
                     "2 reopen failed | reopen {}; end {\"code\":\"invalid\",\"text\":\"plan: no route from \\\"@start\\\", with {\\\"n\\\":0}\"}\n"
                     "3 reopen working | reopen {\"update\":{\"x\":\"b\"}}; close -> b\n"
                     "4 tick completed | b leaves log=\"b\"; close ->\n");
    world_end(&w);
}

PAWL_TEST(test_K3_G4_two_writers_of_a_single_fail_the_run_and_merge_nothing)
{
    const part parts[] = { { "a", NULL, "one=1 | log=1" }, { "b", NULL, "one=2 | log=2" }, { 0 } };
    world w;

    begin(&w, graph(parts), NULL);
    CHECK_STR(world_reason(&w), "{\"code\":\"invalid\",\"text\":\"channel \\\"one\\\" takes one writer a superstep: \\\"a\\\" and \\\"b\\\" both wrote it\"}");
    CHECK_STR(world_all(&w), "{\"n\":0}");
    world_end(&w);
}

PAWL_TEST(test_G4_an_effect_that_failed_for_good_fails_the_node_that_does_not_handle_it)
{
    world w;

    begin(&w, lone("a", script_node, "call llm 1"), NULL);
    world_error(&w, "a", "{\"code\":\"io\",\"text\":\"no line\"}");
    CHECK_STR(world_reason(&w), "{\"code\":\"effect\",\"receipt\":{\"code\":\"io\",\"text\":\"no line\"},\"text\":\"node \\\"a\\\": an effect failed for good\"}");
    world_end(&w);
    begin(&w, lone("a", script_node, "call llm 1 -> x"), NULL);
    world_error(&w, "a", "{\"code\":\"io\",\"text\":\"no line\"}");
    CHECK_STR(world_status(&w), "completed");
    CHECK_STR(world_get(&w, "x"), "{\"code\":\"io\",\"text\":\"no line\"}");
    world_end(&w);
}

/* ---- a node's own retry (E7) ---------------------------------------------------------------------------- */

PAWL_TEST(test_E7_a_node_tries_again_after_durable_back_offs)
{
    const pawl_retry retry = { .max_attempts = 3, .initial_ms = 100, .max_ms = 1000 };
    pawl_graph *g = lone("a", picky, "transient");
    world w;

    pawl_graph_retry(g, "a", &retry);
    begin(&w, g, NULL);
    world_receipt(&w, "a", "\"bad\"");
    world_crash(&w);                            /* the timer stands in the journal */
    world_timer(&w, "a");
    world_receipt(&w, "a", "\"bad\"");
    world_timer(&w, "a");
    world_receipt(&w, "a", "\"good\"");
    world_expect(&w, "1 start working | start {}; close -> a; call 1.a.1.0 {\"effect\":\"llm\"}\n"
                     ". receipt 1.a.1.0 \"bad\"; a visit 2; sleep 1.a.2.0 {\"ms\":100}\n"
                     ". receipt 1.a.2.0 null; call 1.a.2.1 {\"effect\":\"llm\"}\n"
                     ". receipt 1.a.2.1 \"bad\"; a visit 3; sleep 1.a.3.0 {\"ms\":200}\n"
                     ". receipt 1.a.3.0 null; call 1.a.3.1 {\"effect\":\"llm\"}\n"
                     ". receipt 1.a.3.1 \"good\"; a leaves log=\"good\"\n"
                     "2 tick completed | records 12; close ->\n");
    CHECK_STR(world_get(&w, "log"), "[\"good\"]");
    world_end(&w);
}

static size_t calls_made(const pawl_retry *policy, const char *code)
{
    union { const char *in; void *out; } arg = { code };
    pawl_graph *g = lone("a", picky, arg.out);
    size_t calls = 0;
    world w;

    pawl_graph_retry(g, "a", policy);
    begin(&w, g, NULL);
    while (pawl_state_next(w.st) == PAWL_PENDING) {
        pawl_command cmd;

        CHECK_INT(pawl_state_command(w.st, 0, w.look, &cmd, NULL, &w.err), PAWL_OK);
        if (cmd.kind == PAWL_COMMAND_SLEEP) {
            world_timer(&w, "a");
            continue;
        }
        calls++;
        world_receipt(&w, "a", "\"bad\"");
    }
    CHECK_STR(world_status(&w), strcmp(code, "denied") == 0 ? "rejected" : "failed");
    world_end(&w);
    return calls;
}

PAWL_TEST(test_E7_max_attempts_is_the_total_number_of_calls)
{
    for (uint32_t most = 0; most < 5; most++)
        CHECK_INT(calls_made(&(pawl_retry){ .max_attempts = most, .initial_ms = 10 }, "transient"), most > 0 ? most : 1);
}

PAWL_TEST(test_E7_only_what_may_pass_is_tried_again)
{
    const struct { const char *code; size_t calls; } rows[] = { { "transient", 3 }, { "timeout", 3 }, { "io", 3 }, { "invalid", 1 }, { "denied", 1 },
                                                                { "limit", 1 }, { "effect", 1 }, { "canceled", 1 }, { "unknown", 1 } };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CHECK_INT(calls_made(&(pawl_retry){ .max_attempts = 3 }, rows[i].code), rows[i].calls);
}

/* min(initial * factor^(n-1), max) */
PAWL_TEST(test_E7_delays_grow_by_the_factor_up_to_the_most)
{
    const pawl_retry retry = { .max_attempts = 6, .initial_ms = 100, .max_ms = 1000, .factor = 3 };
    const int64_t delays[] = { 100, 300, 900, 1000, 1000 };
    pawl_graph *g = lone("a", script_node, "fail transient busy");
    world w;

    pawl_graph_retry(g, "a", &retry);
    begin(&w, g, NULL);
    for (size_t i = 0; i < 5; i++) {
        pawl_command cmd;
        int64_t asked = w.now - 1;

        CHECK_INT(pawl_state_command(w.st, 0, w.look, &cmd, NULL, &w.err), PAWL_OK);
        CHECK_INT(cmd.due_ms - asked, delays[i]);
        CHECK_INT(world_feed(&w, &(pawl_event){ .kind = PAWL_EV_TIMER, .id = cmd.id, .time_ms = cmd.due_ms - 1 }), PAWL_IGNORED);
        world_timer(&w, "a");
    }
    CHECK_STR(world_status(&w), "failed");
    world_end(&w);
}

PAWL_TEST(test_E7_full_jitter_lies_between_nothing_and_the_delay_and_is_the_same_on_replay)
{
    const pawl_retry retry = { .max_attempts = 20, .initial_ms = 1000, .max_ms = 1000, .jitter = true };
    pawl_graph *g = lone("a", script_node, "fail transient busy");
    int64_t least = 1000, most = 0;
    world w;

    pawl_graph_retry(g, "a", &retry);
    begin(&w, g, NULL);
    for (int i = 0; pawl_state_next(w.st) == PAWL_PENDING && i < 20; i++) {
        pawl_command cmd;
        int64_t delay;

        CHECK_INT(pawl_state_command(w.st, 0, w.look, &cmd, NULL, &w.err), PAWL_OK);
        delay = cmd.due_ms - (w.now - 1);
        CHECK(delay >= 0 && delay <= 1000);
        least = delay < least ? delay : least;
        most = delay > most ? delay : most;
        world_crash(&w);
        world_timer(&w, "a");
    }
    CHECK(least < 500 && most > 500);
    CHECK_STR(world_status(&w), "failed");
    world_end(&w);
}

PAWL_TEST(test_E7_a_node_s_own_policy_replaces_the_default_whole)
{
    const pawl_retry all = { .max_attempts = 2, .initial_ms = 100 }, own = { .max_attempts = 3 };
    const part parts[] = { { "a", NULL, "n=1 | fail transient busy" }, { "b", NULL, "n=1 | fail transient busy" }, { 0 } };
    pawl_graph *g = graph(parts);
    world w;

    pawl_graph_retry(g, NULL, &all);
    pawl_graph_retry(g, "b", &own);             /* and without a delay: at once */
    begin(&w, g, NULL);
    world_timer(&w, "a");
    world_expect(&w, "1 start working | start {}; close -> a b; a visit 2; sleep 1.a.2.0 {\"ms\":100}; b visit 2; b visit 3; b fail {\"code\":\"transient\",\"text\":\"busy\"}\n"
                     ". receipt 1.a.2.0 null; a fail {\"code\":\"transient\",\"text\":\"busy\"}\n"
                     "2 tick failed | records 2; end {\"code\":\"transient\",\"text\":\"busy\"}\n");
    world_end(&w);
}

PAWL_TEST(test_E7_every_attempt_starts_from_the_committed_state)
{
    const pawl_retry retry = { .max_attempts = 2 };
    pawl_graph *g = lone("a", script_node, "get x -> log | x=5 | fail transient busy");
    world w;

    pawl_graph_retry(g, "a", &retry);
    begin(&w, g, "{\"x\":1}");
    CHECK_STR(world_get(&w, "x"), "1");
    CHECK_STR(world_get(&w, "log"), "");
    world_end(&w);
}

/* ---- limits (G7, X2) ---------------------------------------------------------------------------------------- */

static bool n_below(pawl_step *s, void *arg)
{
    return pawl_get_int(s, "n") < strtol(arg, NULL, 10);
}

/* Five rounds, then the end. */
static pawl_graph *rounds(const char *script, uint32_t max_steps)
{
    union { const char *in; void *out; } arg = { script };
    pawl_graph *g = graph((const part[]){ { 0 } });

    pawl_graph_node(g, "a", script_node, arg.out);
    pawl_graph_edge(g, PAWL_START, "a");
    pawl_graph_when(g, "a", n_below, "5", "a");
    pawl_graph_when(g, "a", NULL, NULL, PAWL_END);
    pawl_graph_max_steps(g, max_steps);
    return g;
}

PAWL_TEST(test_G7_exactly_max_steps_are_allowed)
{
    world w;

    begin(&w, rounds("n=1", 5), NULL);
    CHECK_STR(world_status(&w), "completed");
    CHECK_STR(world_get(&w, "n"), "5");
    CHECK_INT(pawl_state_steps(w.st), 5);
    world_end(&w);
    begin(&w, rounds("n=1", 4), NULL);
    CHECK_STR(world_reason(&w), "{\"code\":\"limit\",\"text\":\"plan: max_steps 4 is reached, and \\\"a\\\" is next\"}");
    CHECK_STR(world_get(&w, "n"), "4");         /* the four that ran stand */
    world_end(&w);
}

PAWL_TEST(test_G7_max_steps_is_counted_across_resumes)
{
    world w;

    begin(&w, rounds("ask \"more?\" | n=1", 3), NULL);
    for (int i = 0; i < 3; i++) {
        CHECK_STR(world_status(&w), "input-required");
        world_crash(&w);
        world_snapshot(&w);
        world_answer(&w, NULL, "true");
    }
    CHECK_STR(world_status(&w), "failed");
    CHECK_STR(world_get(&w, "n"), "3");
    world_end(&w);
}

/* What is asked between two supersteps takes none, and gives none. */
PAWL_TEST(test_G7_a_pause_between_supersteps_is_no_way_around_max_steps)
{
    pawl_graph *g = rounds("n=1", 3);
    world w;

    pawl_graph_interrupt_after(g, "a");
    begin(&w, g, NULL);
    for (int i = 0; i < 10 && pawl_state_next(w.st) == PAWL_INTERRUPTED; i++)
        world_answer(&w, NULL, "true");
    world_expect(&w, "1 start working | start {}; close -> a\n"
                     "2 tick input-required | a leaves n=1; close -> a; ask 1.a.1.0 {\"hold\":true,\"kind\":\"question\",\"prompt\":\"after a\",\"slot\":\"a\"}\n"
                     "3 answer working | answer 1.a.1.0 true\n"
                     "4 tick input-required | a leaves n=1; close -> a; ask 2.a.1.0 {\"hold\":true,\"kind\":\"question\",\"prompt\":\"after a\",\"slot\":\"a\"}\n"
                     "5 answer working | answer 2.a.1.0 true\n"
                     "6 tick input-required | a leaves n=1; close -> a; ask 3.a.1.0 {\"hold\":true,\"kind\":\"question\",\"prompt\":\"after a\",\"slot\":\"a\"}\n"
                     "7 answer failed | answer 3.a.1.0 true; end {\"code\":\"limit\",\"text\":\"plan: max_steps 3 is reached, and \\\"a\\\" is next\"}\n");
    CHECK_STR(world_status(&w), "failed");
    CHECK_STR(world_get(&w, "n"), "3");
    world_end(&w);
}

PAWL_TEST(test_G7_reopen_gives_no_step_more)
{
    world w;

    begin(&w, rounds("n=1", 4), NULL);
    world_reopen(&w, NULL);
    CHECK_STR(world_status(&w), "failed");
    CHECK_STR(world_get(&w, "n"), "4");
    world_end(&w);
}

/* But under a machine that allows more, it goes on. */
PAWL_TEST(test_G7_a_run_at_its_limit_goes_on_under_a_machine_with_a_higher_one)
{
    pawl_machine *more = script_compile(rounds("n=1", 5)), *old;
    world w;

    begin(&w, rounds("n=1", 4), NULL);
    old = w.m;
    CHECK_INT(world_feed(&w, &(pawl_event){ .kind = PAWL_EV_REOPEN }), PAWL_OK);
    w.m = more;
    w.no_verify = true;
    CHECK_INT(world_feed(&w, &(pawl_event){ .kind = PAWL_EV_ADOPT }), PAWL_OK);
    CHECK_INT(world_go(&w), PAWL_HALTED);
    CHECK_STR(world_status(&w), "completed");
    CHECK_STR(world_get(&w, "n"), "5");
    pawl_machine_free(old);
    world_end(&w);
}

/* The other way round: adopted where it failed, which moves nothing, and then reopened under what mends it. */
PAWL_TEST(test_F5_what_failed_is_adopted_and_then_reopened)
{
    pawl_machine *mended = script_compile(rounds("n=1", 5)), *old;
    world w;

    begin(&w, rounds("n=1", 4), NULL);
    old = w.m;
    w.m = mended;
    w.no_verify = true;
    CHECK_INT(world_feed(&w, &(pawl_event){ .kind = PAWL_EV_ADOPT }), PAWL_HALTED);
    CHECK_STR(world_status(&w), "failed");
    CHECK(pawl_state_under(w.st, mended));
    CHECK_INT(world_feed(&w, &(pawl_event){ .kind = PAWL_EV_ADOPT }), PAWL_IGNORED);
    CHECK_INT(world_feed(&w, &(pawl_event){ .kind = PAWL_EV_REOPEN }), PAWL_OK);
    CHECK_INT(world_go(&w), PAWL_HALTED);
    CHECK_STR(world_status(&w), "completed");
    CHECK_STR(world_get(&w, "n"), "5");
    pawl_machine_free(old);
    world_end(&w);
}

static pawl_code many_calls(pawl_step *s, void *arg)
{
    pawl_code rc, open = PAWL_OK;

    for (long i = 0; i < strtol(arg, NULL, 10); i++) {
        if ((rc = pawl_call(s, "llm", NULL, NULL)) < 0)
            return rc;
        open = rc != PAWL_OK ? rc : open;
    }
    return open;
}

PAWL_TEST(test_X2_max_calls_bounds_the_commands_of_one_visit)
{
    pawl_graph *g = lone("a", many_calls, "3");
    world w;

    pawl_graph_max_calls(g, 3);
    begin(&w, g, NULL);
    CHECK_INT(pawl_state_commands(w.st), 3);
    while (pawl_state_next(w.st) == PAWL_PENDING)
        world_receipt(&w, "a", "1");
    CHECK_STR(world_status(&w), "completed");
    world_end(&w);
    g = lone("a", many_calls, "4");
    pawl_graph_max_calls(g, 3);
    begin(&w, g, NULL);
    CHECK_STR(world_reason(&w), "{\"code\":\"limit\",\"text\":\"node \\\"a\\\": more than 3 commands in one visit (max_calls)\"}");
    CHECK_INT(pawl_state_commands(w.st), 0);    /* nothing of that pass leaves */
    world_end(&w);
}

PAWL_TEST(test_X2_max_tasks_bounds_one_superstep)
{
    const part parts[] = { { "a", NULL, "send w 1 | send w 2" }, { "b", "a", "x=1" }, { "w", "-", "n=1" }, { 0 } };
    pawl_graph *g = graph(parts);
    world w;

    pawl_graph_max_tasks(g, 3);
    begin(&w, g, NULL);
    CHECK_STR(world_status(&w), "completed");
    world_end(&w);
    g = graph(parts);
    pawl_graph_max_tasks(g, 2);
    begin(&w, g, NULL);
    CHECK_STR(world_reason(&w), "{\"code\":\"limit\",\"text\":\"plan: a superstep of 3 tasks is over max_tasks 2\"}");
    CHECK_STR(world_get(&w, "n"), "0");
    world_end(&w);
}

/* ---- nodes that break their word -------------------------------------------------------------------------------- */

static pawl_code breaks(pawl_step *s, void *arg)
{
    const char *how = arg;

    if (strcmp(how, "waits for nothing") == 0)
        return PAWL_PENDING;
    if (strcmp(how, "asks nobody") == 0)
        return PAWL_INTERRUPTED;
    if (strcmp(how, "halted") == 0)
        return PAWL_HALTED;
    if (strcmp(how, "seven") == 0)
        return (pawl_code)7;
    if (strcmp(how, "leaves early") == 0)
        return pawl_call(s, "llm", NULL, NULL) == PAWL_PENDING ? PAWL_OK : PAWL_INVALID;
    if (strcmp(how, "leaves the asked") == 0)
        return pawl_ask(s, pawl_pack(s, "s", "?"), NULL) == PAWL_INTERRUPTED ? PAWL_OK : PAWL_INVALID;
    if (strcmp(how, "writes nowhere") == 0)
        pawl_set_int(s, "nowhere", 1);
    if (strcmp(how, "reads nowhere") == 0)
        return pawl_get(s, "nowhere") == NULL ? PAWL_OK : PAWL_INVALID;
    if (strcmp(how, "writes nothing") == 0)
        pawl_set(s, "x", NULL);
    if (strcmp(how, "goes nowhere") == 0)
        return pawl_goto(s, "nowhere");
    if (strcmp(how, "forgets the code") == 0)
        (void)pawl_goto(s, "nowhere");
    if (strcmp(how, "sends nowhere") == 0)
        pawl_send(s, "nowhere", NULL);
    if (strcmp(how, "sends to the end") == 0)
        pawl_send(s, PAWL_END, NULL);
    if (strcmp(how, "says only no") == 0)
        return PAWL_DENIED;
    return PAWL_OK;
}

PAWL_TEST(test_X1_a_node_that_breaks_its_word_fails_with_words)
{
    const struct { const char *how, *text; } rows[] = {
        { "waits for nothing", "node \\\"a\\\": it says pending, and asks for nothing" },
        { "asks nobody", "node \\\"a\\\": it says interrupted, and asks for nothing" },
        { "halted", "node \\\"a\\\": it returns 3, which is no way to leave" },
        { "seven", "node \\\"a\\\": it returns 7, which is no way to leave" },
        { "leaves early", "node \\\"a\\\": it leaves with a command unanswered" },
        { "leaves the asked", "node \\\"a\\\": it leaves with a command unanswered" },
        { "writes nowhere", "node \\\"a\\\": there is no channel \\\"nowhere\\\"" },
        { "reads nowhere", "node \\\"a\\\": there is no channel \\\"nowhere\\\"" },
        { "writes nothing", "node \\\"a\\\": channel \\\"x\\\" was given no value" },
        { "goes nowhere", "node \\\"a\\\": \\\"nowhere\\\" is no declared target: say pawl_graph_goto(g, \\\"a\\\", \\\"nowhere\\\", NULL)" },
        { "forgets the code", "node \\\"a\\\": \\\"nowhere\\\" is no declared target: say pawl_graph_goto(g, \\\"a\\\", \\\"nowhere\\\", NULL)" },
        { "sends nowhere", "node \\\"a\\\": \\\"nowhere\\\" is no declared target: say pawl_graph_goto(g, \\\"a\\\", \\\"nowhere\\\", NULL)" },
        { "sends to the end", "node \\\"a\\\": nothing is sent to the end" },
    };
    char reason[512];
    world w;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        begin(&w, lone("a", breaks, rows[i].how), NULL);
        snprintf(reason, sizeof reason, "{\"code\":\"invalid\",\"text\":\"%s\"}", rows[i].text);
        CHECK_STR(world_reason(&w), reason);
        CHECK_INT(pawl_state_commands(w.st) + pawl_state_waits(w.st), 0);
        world_end(&w);
    }
    begin(&w, lone("a", breaks, "says only no"), NULL);
    CHECK_STR(world_reason(&w), "{\"code\":\"denied\",\"text\":\"node \\\"a\\\": denied\"}");
    CHECK_STR(world_status(&w), "rejected");
    world_end(&w);
}

/* ---- purity ------------------------------------------------------------------------------------------------------- */

static const char *mood;

static pawl_code moody(pawl_step *s, void *arg)
{
    pawl_code rc;

    (void)arg;
    if (strcmp(mood, "asks") == 0)
        rc = pawl_ask(s, pawl_pack(s, "s", "?"), NULL);
    else if (strcmp(mood, "sleeps") == 0)
        rc = pawl_sleep(s, 5);
    else
        rc = pawl_call(s, strcmp(mood, "other") == 0 ? "web" : "llm", pawl_pack(s, "s", mood), NULL);
    if (rc == PAWL_OK)
        pawl_set_string(s, "x", mood);
    return rc;
}

PAWL_TEST(test_F5_an_impure_node_is_found_and_nothing_happens)
{
    const char *const moods[] = { "asks", "sleeps", "other", "sulky" };
    pawl_event ev = { .kind = PAWL_EV_RECEIPT, .id = "1.a.1.0", .value = "1" };
    world w;

    mood = "calm";
    begin(&w, lone("a", moody, NULL), NULL);
    for (size_t i = 0; i < 4; i++) {
        mood = moods[i];
        CHECK_INT(world_feed(&w, &ev), PAWL_CORRUPT);
        CHECK(strstr(w.err.text, "node \"a\": command 0 of visit 1 was {\"args\":\"calm\",\"effect\":\"llm\"}") != NULL);
        CHECK(strstr(w.err.text, "the node is not pure") != NULL);
        CHECK_STR(world_status(&w), "working");         /* parked, not failed */
        CHECK_INT(pawl_state_commands(w.st), 1);
    }
    mood = "calm";
    CHECK_INT(world_feed(&w, &ev), PAWL_HALTED);
    CHECK_STR(world_get(&w, "x"), "\"calm\"");
    world_end(&w);
}
