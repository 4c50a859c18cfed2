/* golden_test.c - results that others published, got here: the essay with a person in it, its calls counted through every
 * crash; and the small graphs of a superstep engine's book. */
#include "kernel/names.h"
#include "lib/machines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void begin(world *w, pawl_graph *g, const char *input)
{
    world_begin(w, script_compile(g), input);
}

static pawl_graph *plain(const char *channels)
{
    pawl_graph *g = pawl_graph_new("golden", 1);
    char name[65];

    while (*channels != '\0') {
        size_t n = strcspn(channels, " ");

        memcpy(name, channels, n);
        name[n] = '\0';
        pawl_graph_channel(g, name, PAWL_RULE_LAST);
        channels += channels[n] == ' ' ? n + 1 : n;
    }
    return g;
}

/* ---- draft, review, a person, revise ------------------------------------------------------------- */

static const char question[] = "Draft and critique ready. Approve revision?";

static pawl_code draft(pawl_step *s, void *arg)
{
    const pawl_value *text;
    pawl_code rc = pawl_call(s, arg, pawl_pack(s, "{s:v}", "request", pawl_get(s, "request")), &text);

    if (rc == PAWL_OK)
        pawl_set(s, "draft", text);
    return rc;
}

static pawl_code review(pawl_step *s, void *arg)
{
    const pawl_value *text;
    pawl_code rc = pawl_call(s, arg, pawl_pack(s, "{s:v}", "draft", pawl_get(s, "draft")), &text);

    if (rc != PAWL_OK)
        return rc;
    pawl_set(s, "critique", text);
    return pawl_interrupt(s, pawl_pack(s, "s", question), NULL);
}

static pawl_code revise(pawl_step *s, void *arg)
{
    const pawl_value *text;
    pawl_code rc = pawl_call(s, arg, pawl_pack(s, "{s:v,s:v}", "critique", pawl_get(s, "critique"), "draft", pawl_get(s, "draft")), &text);

    if (rc == PAWL_OK)
        pawl_set(s, "draft", text);
    return rc;
}

static pawl_graph *essay(void)
{
    const pawl_sequence nodes[] = { { "draft", draft, "llm" }, { "review", review, "llm" }, { "revise", revise, "llm" } };
    pawl_graph *g = plain("request draft critique");

    pawl_graph_sequence(g, nodes, 3);
    return g;
}

PAWL_TEST(test_golden_G1_the_trace)
{
    world w;

    begin(&w, essay(), "{\"request\":\"sky\"}");
    world_receipt(&w, "draft", "\"d1\"");
    world_receipt(&w, "review", "\"c1\"");
    CHECK_STR(world_status(&w), "input-required");
    CHECK_STR(world_all(&w), "{\"critique\":\"c1\",\"draft\":\"d1\",\"request\":\"sky\"}");
    world_crash(&w);                            /* nobody answered; the process is gone, the run is not */
    CHECK_INT(world_tick(&w), PAWL_IGNORED);    /* run again: the same wait, and nothing executed */
    CHECK_STR(world_open(&w, NULL, true), "run-1~0000000000000001/2.review.1.1");
    CHECK_INT(pawl_state_commands(w.st), 0);
    world_answer(&w, NULL, "true");
    world_receipt(&w, "revise", "\"d2\"");
    world_expect(&w, "1 start working | start {\"request\":\"sky\"}; close -> draft; call 1.draft.1.0 {\"args\":{\"request\":\"sky\"},\"effect\":\"llm\"}\n"
                     "2 receipt working | receipt 1.draft.1.0 \"d1\"; draft leaves draft=\"d1\"; close -> review; "
                     "call 2.review.1.0 {\"args\":{\"draft\":\"d1\"},\"effect\":\"llm\"}\n"
                     "3 receipt input-required | receipt 2.review.1.0 \"c1\"; review leaves critique=\"c1\"; close -> revise; "
                     "ask 2.review.1.1 {\"hold\":true,\"kind\":\"question\",\"prompt\":\"Draft and critique ready. Approve revision?\","
                     "\"slot\":\"review\"}\n"
                     "4 answer working | answer 2.review.1.1 true; call 3.revise.1.0 {\"args\":{\"critique\":\"c1\",\"draft\":\"d1\"},\"effect\":\"llm\"}\n"
                     "5 receipt completed | receipt 3.revise.1.0 \"d2\"; revise leaves draft=\"d2\"; close ->\n");
    CHECK_STR(world_get(&w, "draft"), "\"d2\"");
    world_end(&w);
}

/* A performer with a memory: how often each command was carried out, by its id. */
typedef struct performer { char ids[8][64]; int times[8], n; } performer;

static void perform(performer *p, const char *id)
{
    int i = 0;

    while (i < p->n && strcmp(p->ids[i], id) != 0)
        i++;
    if (i == p->n)
        snprintf(p->ids[p->n++], sizeof p->ids[0], "%.63s", id);
    p->times[i]++;
}

/* One event that the run waits for, whatever it is; what is performed is counted before its receipt is fed. True: it died
 * in between. */
static bool one_event(world *w, performer *p, bool dies_within)
{
    pawl_event ev = { .kind = PAWL_EV_TICK };
    pawl_command cmd;
    char id[ID_BYTES_MAX];

    if (pawl_state_next(w->st) == PAWL_PENDING) {
        CHECK_INT(pawl_state_command(w->st, 0, w->look, &cmd, NULL, &w->err), PAWL_OK);
        snprintf(id, sizeof id, "%s", cmd.id);
        ev = (pawl_event){ .kind = PAWL_EV_RECEIPT, .id = id, .value = "\"text\"" };
        perform(p, id);
        if (dies_within)
            return true;
    } else if (pawl_state_next(w->st) == PAWL_INTERRUPTED) {
        ev = (pawl_event){ .kind = PAWL_EV_ANSWER, .value = "true" };
    }
    CHECK(world_feed(w, &ev) >= 0);
    return false;
}

/* Every subset of the places between two events: a crash in each of them changes nothing. */
PAWL_TEST(test_golden_G1_each_node_is_called_once_through_every_crash_between_nodes)
{
    char end[4096] = "";

    for (unsigned crashes = 0; crashes < 64; crashes++) {
        performer p = { .n = 0 };
        unsigned step = 0;
        world w;

        begin(&w, essay(), "{\"request\":\"sky\"}");
        w.quiet = crashes != 0;
        for (; pawl_state_next(w.st) != PAWL_HALTED; step++) {
            CHECK(step < 6);
            if ((crashes >> step & 1) != 0)
                world_crash(&w);
            one_event(&w, &p, false);
        }
        CHECK_INT(p.n, 3);
        for (int i = 0; i < 3; i++)
            CHECK_INT(p.times[i], 1);
        if (crashes == 0)
            snprintf(end, sizeof end, "%s", journal_of(&w));
        CHECK_STR(journal_of(&w), end);
        world_end(&w);
    }
}

/* A crash after the effect and before its receipt is stored costs at most that one call, under the same id. */
PAWL_TEST(test_golden_G1_a_crash_inside_a_node_loses_at_most_that_node)
{
    for (unsigned dies = 0; dies < 6; dies++) {
        performer p = { .n = 0 };
        int times = 0, again = 0;
        world w;

        begin(&w, essay(), "{\"request\":\"sky\"}");
        for (unsigned step = 0; pawl_state_next(w.st) != PAWL_HALTED; step++) {
            CHECK(step < 7);
            again += one_event(&w, &p, step == dies);
            if (step == dies)
                world_crash(&w);
        }
        CHECK_INT(p.n, 3);
        for (int i = 0; i < 3; i++)
            times += p.times[i];
        CHECK_INT(times, 3 + again);
        world_end(&w);
    }
}

/* ---- the book's small graphs -------------------------------------------------------------------------- */

PAWL_TEST(test_golden_5_4_greet)
{
    pawl_graph *g = plain("msg");
    world w;

    pawl_graph_node(g, "greet", script_node, "msg=\"hello world\"");
    pawl_graph_chain(g, PAWL_START, "greet", PAWL_END, NULL);
    begin(&w, g, NULL);
    CHECK_STR(world_all(&w), "{\"msg\":\"hello world\"}");
    world_end(&w);
}

static pawl_code count(pawl_step *s, void *arg)
{
    (void)arg;
    pawl_set_int(s, "count", pawl_get_int(s, "count") + 1);
    return pawl_follow(s);
}

static bool below_five(pawl_step *s, void *arg)
{
    (void)arg;
    return pawl_get_int(s, "count") < 5;
}

PAWL_TEST(test_golden_5_4_a_counter_loop_ends_at_five)
{
    pawl_graph *g = plain("count");
    world w;

    pawl_graph_node(g, "count", count, NULL);
    pawl_graph_edge(g, PAWL_START, "count");
    pawl_graph_when(g, "count", below_five, NULL, "count");
    pawl_graph_when(g, "count", NULL, NULL, PAWL_END);
    begin(&w, g, NULL);
    CHECK_STR(world_all(&w), "{\"count\":5}");
    world_end(&w);
}

static pawl_code merged(pawl_step *s, void *arg)
{
    (void)arg;
    pawl_set_string(s, "out", pawl_format(s, "merged_%zu_items", pawl_value_size(pawl_get(s, "items"))));
    return pawl_follow(s);
}

PAWL_TEST(test_golden_5_4_fan_out_and_join_over_uneven_branches)
{
    pawl_graph *g = plain("out");
    world w;

    pawl_graph_channel(g, "items", PAWL_RULE_APPEND);
    pawl_graph_node(g, "b", script_node, "items=\"b\"");
    pawl_graph_node(g, "b2", script_node, "items=\"b2\"");
    pawl_graph_node(g, "c", script_node, "items=\"c\"");
    pawl_graph_node(g, "merge", merged, NULL);
    pawl_graph_chain(g, PAWL_START, "b", "b2", NULL);
    pawl_graph_edge(g, PAWL_START, "c");
    pawl_graph_join(g, "merge", "b2", "c", NULL);
    pawl_graph_edge(g, "merge", PAWL_END);
    begin(&w, g, NULL);
    CHECK_STR(world_get(&w, "out"), "\"merged_3_items\"");
    world_end(&w);
}

static pawl_code two_questions(pawl_step *s, void *arg)
{
    const pawl_value *a, *b;
    pawl_code rc;

    (void)arg;
    if ((rc = pawl_ask(s, pawl_pack(s, "s", "one"), &a)) != PAWL_OK || (rc = pawl_ask(s, pawl_pack(s, "s", "two"), &b)) != PAWL_OK)
        return rc;
    pawl_set_string(s, "out", pawl_format(s, "%s+%s", pawl_value_string(a), pawl_value_string(b)));
    return pawl_follow(s);
}

PAWL_TEST(test_golden_5_4_two_interrupts_in_one_node)
{
    pawl_graph *g = plain("out");
    world w;

    pawl_graph_node(g, "ask", two_questions, NULL);
    pawl_graph_chain(g, PAWL_START, "ask", PAWL_END, NULL);
    begin(&w, g, NULL);
    world_answer(&w, NULL, "\"a\"");
    world_answer(&w, NULL, "\"b\"");
    CHECK_STR(world_get(&w, "out"), "\"a+b\"");
    world_end(&w);
}

static pawl_code doubled(pawl_step *s, void *arg)
{
    (void)arg;
    pawl_set_int(s, "value", 2 * pawl_get_int(s, "value"));
    return pawl_follow(s);
}

PAWL_TEST(test_golden_5_4_a_subgraph_doubles_five)
{
    pawl_graph *g = plain("value"), *in = plain("value");
    world w;

    pawl_graph_node(in, "double", doubled, NULL);
    pawl_graph_chain(in, PAWL_START, "double", PAWL_END, NULL);
    pawl_graph_sub(g, "sub", in);
    pawl_graph_map(g, "sub", "value", "value", true, true);
    pawl_graph_chain(g, PAWL_START, "sub", PAWL_END, NULL);
    begin(&w, g, "{\"value\":5}");
    CHECK_STR(world_all(&w), "{\"value\":10}");
    world_end(&w);
}

static pawl_code reviewed(pawl_step *s, void *arg)
{
    (void)arg;
    pawl_set_string(s, "out", pawl_format(s, "%s+reviewed", pawl_get_string(s, "out")));
    return pawl_follow(s);
}

PAWL_TEST(test_golden_5_4_an_interrupt_before_review)
{
    pawl_graph *g = plain("out");
    world w;

    pawl_graph_node(g, "safe", script_node, "out=\"safe_done\"");
    pawl_graph_node(g, "review", reviewed, NULL);
    pawl_graph_chain(g, PAWL_START, "safe", "review", PAWL_END, NULL);
    pawl_graph_interrupt_before(g, "review");
    begin(&w, g, NULL);
    CHECK_STR(world_get(&w, "out"), "\"safe_done\"");
    world_crash(&w);
    world_answer(&w, NULL, "null");
    CHECK_STR(world_get(&w, "out"), "\"safe_done+reviewed\"");
    world_end(&w);
}

/* Fails so often as `arg` says, then succeeds; each visit is one call of the node. */
static pawl_code flaky(pawl_step *s, void *arg)
{
    if (pawl_visit(s) <= strtoul(arg, NULL, 10))
        return pawl_fail(s, PAWL_TRANSIENT, "busy");
    pawl_set_int(s, "out", pawl_visit(s));
    return pawl_follow(s);
}

PAWL_TEST(test_golden_5_4_a_flaky_node_succeeds_on_call_three)
{
    const pawl_retry retry = { .max_attempts = 3 };
    pawl_graph *g = plain("out");
    world w;

    pawl_graph_node(g, "flaky", flaky, "2");
    pawl_graph_chain(g, PAWL_START, "flaky", PAWL_END, NULL);
    pawl_graph_retry(g, "flaky", &retry);
    begin(&w, g, NULL);
    CHECK_STR(world_get(&w, "out"), "3");
    world_end(&w);
}

PAWL_TEST(test_golden_5_4_a_configuration_error_is_one_call)
{
    const pawl_retry retry = { .max_attempts = 3 };
    pawl_graph *g = plain("out");
    world w;

    pawl_graph_node(g, "a", script_node, "fail invalid no key");
    pawl_graph_chain(g, PAWL_START, "a", PAWL_END, NULL);
    pawl_graph_retry(g, "a", &retry);
    begin(&w, g, NULL);
    CHECK_STR(world_status(&w), "failed");
    CHECK(strstr(journal_of(&w), "[\"visit\"") == NULL);
    world_end(&w);
}

/* The limit stands in the command's record; whoever performs it says that it was over. */
PAWL_TEST(test_golden_5_4_a_slow_node_with_a_limit_of_50_ms_times_out)
{
    pawl_graph *g = plain("out");
    pawl_command cmd;
    world w;

    pawl_graph_work(g, "slow", "job");
    pawl_graph_timeout(g, "slow", 50, 0);
    pawl_graph_chain(g, PAWL_START, "slow", PAWL_END, NULL);
    begin(&w, g, NULL);
    CHECK_INT(pawl_state_command(w.st, 0, w.look, &cmd, NULL, &w.err), PAWL_OK);
    CHECK_INT(cmd.limits.attempt_timeout_ms, 50);
    CHECK_INT(world_feed(&w, &(pawl_event){ .kind = PAWL_EV_RECEIPT, .id = "1.slow.1.0", .outcome = PAWL_OUTCOME_TIMEOUT,
                                            .value = "{\"code\":\"timeout\",\"text\":\"slow: over 50 ms\"}" }), PAWL_HALTED);
    CHECK_STR(world_reason(&w), "{\"code\":\"effect\",\"receipt\":{\"code\":\"timeout\",\"text\":\"slow: over 50 ms\"},"
                                "\"text\":\"node \\\"slow\\\": an effect failed for good\"}");
    world_end(&w);
}

PAWL_TEST(test_golden_5_4_four_workers_and_two_places)
{
    pawl_graph *g = plain("out");
    size_t peak = 0;
    char id[ID_BYTES_MAX];
    world w;

    for (int i = 0; i < 4; i++) {
        char name[3] = { 'w', (char)('0' + i), '\0' };

        pawl_graph_work(g, name, "job");
        pawl_graph_chain(g, PAWL_START, name, PAWL_END, NULL);
    }
    pawl_graph_max_concurrency(g, 2);
    begin(&w, g, NULL);
    while (pawl_state_next(w.st) == PAWL_PENDING) {
        peak = pawl_state_commands(w.st) > peak ? pawl_state_commands(w.st) : peak;
        snprintf(id, sizeof id, "%s", world_open(&w, NULL, false));
        world_receipt(&w, id, "null");
    }
    CHECK_INT(peak, 2);
    CHECK_STR(world_status(&w), "completed");
    world_end(&w);
}
