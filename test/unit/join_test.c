/* join_test.c - joins all, any and k of n, over branches of any length, in loops; and deferred nodes (G3). */
#include "graph/graph.h"
#include "kernel/machine.h"
#include "lib/machines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const pawl_channel channels[] = { { .name = "x" }, { .name = "n", .rule = PAWL_RULE_SUM, .first = "0" }, { .name = "log",
    .rule = PAWL_RULE_APPEND }, { 0 } };

static void begin(world *w, pawl_graph *g, const char *input)
{
    world_begin(w, script_compile(g), input);
}

/* Nodes of these names, one blank between; each logs its own name. What has no edge here gets none. */
static pawl_code logs(pawl_step *s, void *arg)
{
    (void)arg;
    pawl_set_string(s, "log", pawl_node_name(s));
    return PAWL_OK;
}

static pawl_graph *nodes(const char *names)
{
    pawl_graph *g = pawl_graph_new("plan", 1);
    char name[65];

    for (const pawl_channel *c = channels; c->name != NULL; c++)
        pawl_graph_channel_with(g, c);
    while (*names != '\0') {
        size_t n = strcspn(names, " ");

        memcpy(name, names, n);
        name[n] = '\0';
        pawl_graph_node(g, name, logs, NULL);
        names += names[n] == ' ' ? n + 1 : n;
    }
    return g;
}

static const char *log_of(pawl_graph *g, const char *input)
{
    static char out[1024];
    world w;

    begin(&w, g, input);
    snprintf(out, sizeof out, "%s", *world_reason(&w) != '\0' ? world_reason(&w) : world_get(&w, "log"));
    world_end(&w);
    return out;
}

static bool n_below(pawl_step *s, void *arg)
{
    return pawl_get_int(s, "n") < strtol(arg, NULL, 10);
}

/* ---- all ------------------------------------------------------------------------------------------- */

/* b, b2 and c: one branch is longer. */
static pawl_graph *uneven(void)
{
    pawl_graph *g = nodes("b b2 c both");

    pawl_graph_chain(g, PAWL_START, "b", "b2", NULL);
    pawl_graph_edge(g, PAWL_START, "c");
    pawl_graph_join(g, "both", "b2", "c", NULL);
    pawl_graph_edge(g, "both", PAWL_END);
    return g;
}

PAWL_TEST(test_G3_a_join_runs_once_when_branches_of_different_length_are_done)
{
    world w;

    begin(&w, uneven(), NULL);
    world_expect(&w, "1 start working | start {}; close -> b c\n"
                     "2 tick working | b leaves log=\"b\"; c leaves log=\"c\"; close -> b2 joins {\"b2+c:both\":[\"c\"]}\n"
                     "3 tick working | b2 leaves log=\"b2\"; close -> both joins {\"b2+c:both\":[]}\n"
                     "4 tick completed | both leaves log=\"both\"; close ->\n");
    world_end(&w);
}

PAWL_TEST(test_G3_a_join_survives_a_crash_between_two_arrivals)
{
    world w;

    for (int snapshot = 0; snapshot < 2; snapshot++) {
        begin(&w, uneven(), NULL);
        world_back(&w, 2);
        if (snapshot == 1)
            world_snapshot(&w);
        world_crash(&w);
        CHECK_INT(world_go(&w), PAWL_HALTED);
        CHECK_STR(world_get(&w, "log"), "[\"b\",\"c\",\"b2\",\"both\"]");
        world_end(&w);
    }
}

PAWL_TEST(test_G3_a_join_arms_itself_again_in_a_loop)
{
    pawl_graph *g = nodes("fork b b2 c both");

    pawl_graph_node(g, "count", script_node, "n=1");
    pawl_graph_edge(g, PAWL_START, "fork");
    pawl_graph_edge(g, "fork", "b");
    pawl_graph_edge(g, "fork", "c");
    pawl_graph_edge(g, "b", "b2");
    pawl_graph_join(g, "both", "b2", "c", NULL);
    pawl_graph_edge(g, "both", "count");
    pawl_graph_when(g, "count", n_below, "3", "fork");
    pawl_graph_when(g, "count", NULL, NULL, PAWL_END);
    CHECK_STR(log_of(g, NULL), "[\"fork\",\"b\",\"c\",\"b2\",\"both\",\"fork\",\"b\",\"c\",\"b2\",\"both\",\"fork\",\"b\",\"c\",\"b2\",\"both\"]");
}

PAWL_TEST(test_G3_a_source_keeps_its_ordinary_edges)
{
    pawl_graph *g = uneven();

    pawl_graph_node(g, "also", logs, NULL);
    pawl_graph_chain(g, "c", "also", PAWL_END, NULL);
    CHECK_STR(log_of(g, NULL), "[\"b\",\"c\",\"b2\",\"also\",\"both\"]");
}

PAWL_TEST(test_G3_an_edge_and_a_join_into_one_node_each_make_it_run)
{
    pawl_graph *g = uneven();

    pawl_graph_edge(g, "c", "both");            /* at once, and again with the join */
    CHECK_STR(log_of(g, NULL), "[\"b\",\"c\",\"b2\",\"both\",\"both\"]");
    g = uneven();
    pawl_graph_edge(g, "b2", "both");           /* in the same superstep: once */
    CHECK_STR(log_of(g, NULL), "[\"b\",\"c\",\"b2\",\"both\"]");
}

PAWL_TEST(test_G3_a_source_that_is_done_twice_counts_once)
{
    pawl_graph *g = nodes("b b2 b3 both");

    pawl_graph_node(g, "c", script_node, "n=1 | log=\"c\"");
    pawl_graph_chain(g, PAWL_START, "b", "b2", "b3", NULL);
    pawl_graph_edge(g, PAWL_START, "c");
    pawl_graph_when(g, "c", n_below, "2", "c");
    pawl_graph_when(g, "c", NULL, NULL, PAWL_END);
    pawl_graph_join(g, "both", "b3", "c", NULL);
    pawl_graph_edge(g, "both", PAWL_END);
    CHECK_STR(log_of(g, NULL), "[\"b\",\"c\",\"b2\",\"c\",\"b3\",\"both\"]");
}

PAWL_TEST(test_G3_a_source_may_be_many_tasks_and_leave_by_a_goto)
{
    const part parts[] = { { "plan", NULL, "send w 0 | send w 1 | send w 2" }, { "c", "plan", "goto @end" }, { "on", "c", "log=\"never\"" },
                           { "w", "-", "n=1" }, { 0 } };
    pawl_graph *g = script_graph("plan", 1, channels, parts);

    pawl_graph_node(g, "both", script_node, "get n -> log");
    pawl_graph_join(g, "both", "w", "c", NULL);
    pawl_graph_edge(g, "both", PAWL_END);
    CHECK_STR(log_of(g, NULL), "[3]");
}

PAWL_TEST(test_G3_two_joins_share_sources_and_a_target)
{
    pawl_graph *g = nodes("a b c d pair trio");

    pawl_graph_chain(g, PAWL_START, "a", "d", NULL);
    pawl_graph_edge(g, PAWL_START, "b");
    pawl_graph_edge(g, PAWL_START, "c");
    pawl_graph_join(g, "pair", "a", "b", NULL);
    pawl_graph_join(g, "pair", "c", "d", NULL);
    pawl_graph_join(g, "trio", "a", "b", "d", NULL);
    pawl_graph_edge(g, "pair", PAWL_END);
    pawl_graph_edge(g, "trio", PAWL_END);
    CHECK_STR(log_of(g, NULL), "[\"a\",\"b\",\"c\",\"d\",\"pair\",\"pair\",\"trio\"]");
}

PAWL_TEST(test_G3_a_join_that_nobody_completes_fails_the_run_and_names_who_is_missing)
{
    pawl_graph *g = nodes("a b c both");

    pawl_graph_edge(g, PAWL_START, "a");
    pawl_graph_when(g, "a", n_below, "1", "b");
    pawl_graph_when(g, "a", NULL, NULL, "c");
    pawl_graph_join(g, "both", "b", "c", NULL);
    pawl_graph_edge(g, "both", PAWL_END);
    CHECK_STR(log_of(g, NULL), "{\"code\":\"invalid\",\"text\":\"plan: the join into \\\"both\\\" waits for \\\"c\\\", and nothing is left to run\"}");
}

/* ---- rounds of a loop that leave a source out ------------------------------------------------------------- */

/* Round one has a and b, and c is on a branch that the second round takes. */
static pawl_graph *two_rounds(bool settles, char *second)
{
    const char *const sources[] = { "a", "b", "c" };
    pawl_graph *g = nodes("fork a b c");

    pawl_graph_node(g, "both", script_node, "n=1 | log=\"both\"");
    pawl_graph_edge(g, PAWL_START, "fork");
    pawl_graph_edge(g, "fork", "a");
    pawl_graph_edge(g, "fork", "b");
    pawl_graph_when(g, "fork", n_below, second, PAWL_END);
    pawl_graph_when(g, "fork", NULL, NULL, "c");
    pawl_graph_join_of(g, "both", sources, 3, 2, PAWL_JOIN_IGNORES_REST);
    pawl_graph_when(g, "both", n_below, "2", "fork");
    pawl_graph_when(g, "both", NULL, NULL, PAWL_END);
    if (settles)
        graph_settles(g);
    return g;
}

PAWL_TEST(test_G3_a_round_that_leaves_a_source_out_does_not_end_the_run_in_silence)
{
    CHECK_STR(log_of(two_rounds(false, "9"), NULL),
              "{\"code\":\"invalid\",\"text\":\"plan: the join into \\\"both\\\" needs 2 of its sources in each round, and nothing is left to run: "
              "came \\\"a\\\", \\\"b\\\"; did not come \\\"c\\\"; let a node lead to enough of them in every round\"}");
    CHECK_STR(log_of(two_rounds(true, "9"), NULL), "[\"fork\",\"a\",\"b\",\"both\",\"fork\",\"a\",\"b\",\"both\"]");
}

/* The first round ends with the c of the second, which had a and b already. */
PAWL_TEST(test_G3_a_round_that_ends_late_begins_the_next_with_what_came_again)
{
    for (int settles = 0; settles < 2; settles++)
        CHECK_STR(log_of(two_rounds(settles != 0, "1"), NULL), "[\"fork\",\"a\",\"b\",\"both\",\"fork\",\"a\",\"b\",\"c\",\"both\"]");
}

PAWL_TEST(test_K5_a_run_that_was_begun_before_rounds_ends_as_it_did)
{
    pawl_graph *g = two_rounds(true, "9");
    pawl_machine *m = script_compile(g);
    world w;

    CHECK(m != NULL && m->rounds);
    m->rounds = false;          /* its base has no mark */
    world_begin(&w, m, NULL);
    m->rounds = true;
    CHECK_STR(world_get(&w, "log"), "[\"fork\",\"a\",\"b\",\"both\",\"fork\",\"a\",\"b\"]");
    world_end(&w);
}

/* The target leads back to no source: one that is done twice is of one round. */
PAWL_TEST(test_G3_without_a_loop_over_its_target_a_join_has_one_round)
{
    const char *const sources[] = { "a", "b" };

    for (int settles = 0; settles < 2; settles++) {
        pawl_graph *g = nodes("fork b both");

        pawl_graph_node(g, "a", script_node, "n=1 | log=\"a\"");
        pawl_graph_edge(g, PAWL_START, "fork");
        pawl_graph_edge(g, "fork", "a");
        pawl_graph_when(g, "fork", n_below, "0", "b");
        pawl_graph_when(g, "fork", NULL, NULL, PAWL_END);
        pawl_graph_when(g, "a", n_below, "3", "a");
        pawl_graph_when(g, "a", NULL, NULL, PAWL_END);
        pawl_graph_join_of(g, "both", sources, 2, 1, PAWL_JOIN_IGNORES_REST);
        pawl_graph_edge(g, "both", PAWL_END);
        pawl_graph_edge(g, "b", PAWL_END);
        if (settles)
            graph_settles(g);
        CHECK_STR(log_of(g, NULL), "[\"fork\",\"a\",\"both\",\"a\",\"a\"]");
    }
}

/* ---- any, and k of n ----------------------------------------------------------------------------------- */

static const char *const three[] = { "a", "b2", "c3" };

/* a is done in the first superstep, b2 in the second, c3 in the third. */
static pawl_graph *race(size_t k, pawl_join_rest rest)
{
    pawl_graph *g = nodes("a b b2 c c2 c3 first");

    pawl_graph_edge(g, PAWL_START, "a");
    pawl_graph_chain(g, PAWL_START, "b", "b2", NULL);
    pawl_graph_chain(g, PAWL_START, "c", "c2", "c3", NULL);
    pawl_graph_join_of(g, "first", three, 3, k, rest);
    pawl_graph_edge(g, "first", PAWL_END);
    return g;
}

PAWL_TEST(test_G3_any_fires_with_the_first_and_ignores_the_rest)
{
    world w;

    begin(&w, race(1, PAWL_JOIN_IGNORES_REST), NULL);
    world_expect(&w, "1 start working | start {}; close -> a b c\n"
                     "2 tick working | a leaves log=\"a\"; b leaves log=\"b\"; c leaves log=\"c\"; close -> b2 c2 first joins {\"a+b2+c3:first\":[\"a\",\"!\"]}\n"
                     "3 tick working | b2 leaves log=\"b2\"; c2 leaves log=\"c2\"; first leaves log=\"first\"; close -> c3 joins {\"a+b2+c3:first\":[\"a\",\"!\",\"b2\"]}\n"
                     "4 tick completed | c3 leaves log=\"c3\"; close -> joins {\"a+b2+c3:first\":[]}\n");
    world_end(&w);
}

PAWL_TEST(test_G3_any_cancels_what_can_only_go_on_to_a_source)
{
    world w;

    begin(&w, race(1, PAWL_JOIN_CANCELS_REST), NULL);
    world_expect(&w, "1 start working | start {}; close -> a b c\n"
                     "2 tick working | a leaves log=\"a\"; b leaves log=\"b\"; c leaves log=\"c\"; close -> first\n"
                     "3 tick completed | first leaves log=\"first\"; close ->\n");
    world_end(&w);
}

PAWL_TEST(test_G3_two_of_three_fire_with_the_second)
{
    CHECK_STR(log_of(race(2, PAWL_JOIN_IGNORES_REST), NULL), "[\"a\",\"b\",\"c\",\"b2\",\"c2\",\"c3\",\"first\"]");
    CHECK_STR(log_of(race(2, PAWL_JOIN_CANCELS_REST), NULL), "[\"a\",\"b\",\"c\",\"b2\",\"c2\",\"first\"]");
    CHECK_STR(log_of(race(0, PAWL_JOIN_CANCELS_REST), NULL), "[\"a\",\"b\",\"c\",\"b2\",\"c2\",\"c3\",\"first\"]");  /* 0: all */
}

/* Both sources of one superstep come together, whoever was faster: the clock has no say. */
PAWL_TEST(test_G3_joins_count_by_superstep_not_by_clock)
{
    const part parts[] = { { "a", NULL, "call llm 1 -> log" }, { "b", NULL, "call llm 2 -> log" }, { 0 } };
    const char *const sources[] = { "a", "b" };
    world w;

    for (int order = 0; order < 2; order++) {
        pawl_graph *g = script_graph("plan", 1, channels, parts);

        pawl_graph_node(g, "first", script_node, "get log -> x | n=1");
        pawl_graph_join_of(g, "first", sources, 2, 1, PAWL_JOIN_CANCELS_REST);
        pawl_graph_edge(g, "first", PAWL_END);
        begin(&w, g, NULL);
        world_receipt(&w, sources[order], order == 0 ? "\"a\"" : "\"b\"");
        CHECK_STR(world_get(&w, "n"), "0");
        world_receipt(&w, sources[1 - order], order == 0 ? "\"b\"" : "\"a\"");
        CHECK_STR(world_get(&w, "n"), "1");
        CHECK_STR(world_get(&w, "x"), "[\"a\",\"b\"]");
        world_end(&w);
    }
}

/* Round by round: what was ignored belongs to the round that is over. */
static pawl_graph *race_rounds(pawl_join_rest rest)
{
    const char *const sources[] = { "a", "b2" };
    pawl_graph *g = nodes("fork a b b2");

    pawl_graph_node(g, "first", script_node, "n=1 | log=\"first\"");
    pawl_graph_edge(g, PAWL_START, "fork");
    pawl_graph_edge(g, "fork", "a");
    pawl_graph_chain(g, "fork", "b", "b2", NULL);
    pawl_graph_join_of(g, "first", sources, 2, 1, rest);
    pawl_graph_when(g, "first", n_below, "3", "fork");
    pawl_graph_when(g, "first", NULL, NULL, PAWL_END);
    return g;
}

PAWL_TEST(test_G3_any_arms_itself_again_when_its_round_is_over)
{
    CHECK_STR(log_of(race_rounds(PAWL_JOIN_IGNORES_REST), NULL),
              "[\"fork\",\"a\",\"b\",\"b2\",\"first\",\"fork\",\"a\",\"b\",\"b2\",\"first\",\"fork\",\"a\",\"b\",\"b2\",\"first\"]");
    CHECK_STR(log_of(race_rounds(PAWL_JOIN_CANCELS_REST), NULL),
              "[\"fork\",\"a\",\"b\",\"first\",\"fork\",\"a\",\"b\",\"first\",\"fork\",\"a\",\"b\",\"first\"]");
}

PAWL_TEST(test_G3_a_branch_with_another_way_on_is_not_cancelled)
{
    pawl_graph *g = race(1, PAWL_JOIN_CANCELS_REST);

    pawl_graph_node(g, "log", logs, NULL);
    pawl_graph_chain(g, "c", "log", PAWL_END, NULL);    /* so c has something else to go on to; b has not */
    pawl_graph_goto(g, "c", "log", NULL);
    CHECK_STR(log_of(g, NULL), "[\"a\",\"b\",\"c\",\"first\",\"log\"]");
}

PAWL_TEST(test_G3_sends_to_a_cancelled_branch_are_dropped)
{
    const part parts[] = { { "a", NULL, "send b 0 | send keep 0 | send b 1" }, { "b", "-", "log=\"b\"" }, { "keep", "-", "log=\"keep\"" }, { 0 } };
    const char *const sources[] = { "a", "b" };
    pawl_graph *g = script_graph("plan", 1, channels, parts);
    world w;

    pawl_graph_node(g, "first", logs, NULL);
    pawl_graph_join_of(g, "first", sources, 2, 1, PAWL_JOIN_CANCELS_REST);
    pawl_graph_edge(g, "first", PAWL_END);
    begin(&w, g, NULL);
    world_expect(&w, "1 start working | start {}; close -> a\n"
                     "2 tick working | a leaves send b 0 send keep 0 send b 1; close -> first drops\n"
                     "3 tick completed | first leaves log=\"first\"; keep:0 leaves log=\"keep\"; close ->\n");
    world_end(&w);
}

PAWL_TEST(test_G3_a_deferred_branch_is_cancelled_too)
{
    const char *const sources[] = { "a2", "d" };
    pawl_graph *g = nodes("a a2 d first");

    pawl_graph_chain(g, PAWL_START, "a", "a2", NULL);
    pawl_graph_edge(g, PAWL_START, "d");
    pawl_graph_defer(g, "d");
    pawl_graph_join_of(g, "first", sources, 2, 1, PAWL_JOIN_CANCELS_REST);
    pawl_graph_edge(g, "first", PAWL_END);
    CHECK_STR(log_of(g, NULL), "[\"a\",\"a2\",\"first\"]");
}

PAWL_TEST(test_G3_a_race_that_too_few_reach_is_stuck)
{
    const char *const sources[] = { "a", "b", "c" };
    pawl_graph *g = nodes("a b c first");

    pawl_graph_edge(g, PAWL_START, "a");
    pawl_graph_when(g, "a", n_below, "0", "b");
    pawl_graph_when(g, "a", NULL, NULL, PAWL_END);
    pawl_graph_edge(g, "b", "c");
    pawl_graph_join_of(g, "first", sources, 3, 2, PAWL_JOIN_IGNORES_REST);
    pawl_graph_edge(g, "first", PAWL_END);
    CHECK_STR(log_of(g, NULL), "{\"code\":\"invalid\",\"text\":\"plan: the join into \\\"first\\\" waits for \\\"c\\\", and nothing is left to run\"}");
}

/* ---- deferred nodes ---------------------------------------------------------------------------------------- */

PAWL_TEST(test_G3_a_deferred_node_runs_once_when_all_else_is_quiet)
{
    pawl_graph *g = nodes("a b b2 b3 last");
    world w;

    pawl_graph_chain(g, PAWL_START, "a", "last", NULL);
    pawl_graph_chain(g, PAWL_START, "b", "b2", "b3", "last", PAWL_END, NULL);
    pawl_graph_defer(g, "last");
    begin(&w, g, NULL);
    world_expect(&w, "1 start working | start {}; close -> a b\n"
                     "2 tick working | a leaves log=\"a\"; b leaves log=\"b\"; close -> b2 defer [\"last\"]\n"
                     "3 tick working | b2 leaves log=\"b2\"; close -> b3\n"
                     "4 tick working | b3 leaves log=\"b3\"; close -> last defer []\n"
                     "5 tick completed | last leaves log=\"last\"; close ->\n");
    world_end(&w);
}

PAWL_TEST(test_G3_deferred_nodes_run_together_and_what_they_begin_comes_before_the_next)
{
    pawl_graph *g = nodes("a a2 d e more");

    pawl_graph_chain(g, PAWL_START, "a", "a2", PAWL_END, NULL);
    pawl_graph_edge(g, PAWL_START, "d");
    pawl_graph_edge(g, "a", "e");
    pawl_graph_edge(g, "d", "more");
    pawl_graph_edge(g, "d", "e");
    pawl_graph_edge(g, "e", PAWL_END);
    pawl_graph_edge(g, "more", PAWL_END);
    pawl_graph_defer(g, "d");
    pawl_graph_defer(g, "e");
    CHECK_STR(log_of(g, NULL), "[\"a\",\"a2\",\"d\",\"e\",\"more\",\"e\"]");
}

PAWL_TEST(test_G3_a_deferred_entry_and_a_deferred_node_alone_run_at_once)
{
    pawl_graph *g = nodes("a b");

    pawl_graph_chain(g, PAWL_START, "a", "b", PAWL_END, NULL);
    pawl_graph_defer(g, "a");
    pawl_graph_defer(g, "b");
    CHECK_STR(log_of(g, NULL), "[\"a\",\"b\"]");
}

PAWL_TEST(test_G3_a_deferred_node_waits_for_tasks_that_were_sent)
{
    const part parts[] = { { "a", NULL, "send w 0 | send w 1" }, { "w", "-", "call llm 1 -> log" }, { "last", "a", "get log -> x" }, { 0 } };
    pawl_graph *g = script_graph("plan", 1, channels, parts);
    world w;

    pawl_graph_defer(g, "last");
    begin(&w, g, NULL);
    world_receipt(&w, "w:1", "1");
    world_crash(&w);
    world_receipt(&w, "w:0", "0");
    CHECK_STR(world_get(&w, "x"), "[0,1]");
    world_end(&w);
}

PAWL_TEST(test_G3_a_deferred_target_of_a_join_waits_for_the_rest)
{
    pawl_graph *g = uneven();

    pawl_graph_node(g, "d", logs, NULL);
    pawl_graph_node(g, "d2", logs, NULL);
    pawl_graph_node(g, "d3", logs, NULL);
    pawl_graph_chain(g, PAWL_START, "d", "d2", "d3", PAWL_END, NULL);
    pawl_graph_defer(g, "both");
    CHECK_STR(log_of(g, NULL), "[\"b\",\"c\",\"d\",\"b2\",\"d2\",\"d3\",\"both\"]");
}
