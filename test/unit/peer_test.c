/* peer_test.c - behaviours that people know from LangGraph, and what they are here: channels, scheduling, failure. Numbered as in
 * docs/PEERS.md; peer_2_test.c has the rest. */
#include "lib/machines.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const pawl_channel channels[] = { { .name = "x" }, { .name = "y" }, { .name = "n", .rule = PAWL_RULE_SUM, .first = "0" },
                                         { .name = "log", .rule = PAWL_RULE_APPEND, .first = "[\"0\"]" }, { .name = "one", .rule = PAWL_RULE_SINGLE },
                                         { .name = "queue", .rule = PAWL_RULE_TOPIC }, { .name = "all", .rule = PAWL_RULE_TOPIC, .accumulate = true },
                                         { .name = "object", .rule = PAWL_RULE_MERGE }, { .name = "plan" }, { 0 } };

static pawl_graph *graph(const part *parts)
{
    return script_graph("peer", 1, channels, parts);
}

static void begin(world *w, pawl_graph *g, const char *input)
{
    world_begin(w, script_compile(g), input);
}

/* Logs its name, and what it was sent. */
static pawl_code tell(pawl_step *s, void *arg)
{
    const pawl_value *sent = pawl_args(s);

    if (sent == NULL)
        pawl_set_string(s, "log", arg);
    else
        pawl_set_string(s, "log", pawl_format(s, "%s|%s", (const char *)arg, pawl_text(s, sent)));
    return PAWL_OK;
}

static const char *always(pawl_step *s, void *arg)
{
    (void)s;
    return arg;
}

/* ---- graph and channels -------------------------------------------------------------------------- */

PAWL_TEST(test_peer_02_two_writers_of_one_cell_fail_and_a_topic_takes_both)
{
    const part cell[] = { { "a", NULL, "one=3" }, { "b", NULL, "one=3" }, { 0 } };
    const part topic[] = { { "a", NULL, "queue=3 | all=3" }, { "b", NULL, "queue=3 | all=3" }, { "c", "a b", "get queue -> x | all=4" }, { 0 } };
    world w;

    begin(&w, graph(cell), NULL);
    CHECK_STR(world_status(&w), "failed");
    CHECK(strstr(world_reason(&w), "\\\"one\\\"") != NULL);
    CHECK_STR(world_get(&w, "one"), "");
    world_end(&w);
    begin(&w, graph(topic), NULL);
    CHECK_STR(world_get(&w, "x"), "[3,3]");
    CHECK_STR(world_get(&w, "all"), "[3,3,4]");
    world_end(&w);
}

PAWL_TEST(test_peer_03_the_input_goes_through_the_rule_before_the_first_node)
{
    const part parts[] = { { "a", NULL, "get log -> x | get n -> y | log=\"2\"" }, { 0 } };
    world w;

    begin(&w, graph(parts), "{\"log\":\"1\",\"n\":5}");
    CHECK_STR(world_get(&w, "x"), "[\"0\",\"1\"]");
    CHECK_STR(world_get(&w, "y"), "5");
    CHECK_STR(world_get(&w, "log"), "[\"0\",\"1\",\"2\"]");
    world_end(&w);
}

PAWL_TEST(test_peer_04_writes_of_one_node_to_one_channel_merge_in_their_order)
{
    const part parts[] = { { "one", NULL, "log=\"one.0\" | log=\"one.1\"" }, { "two", "one", "log=\"two\"" }, { 0 } };
    world w;

    begin(&w, graph(parts), NULL);
    world_expect(&w, "1 start working | start {}; close -> one\n"
                     "2 tick working | one leaves log=\"one.0\" log=\"one.1\"; close -> two\n"
                     "3 tick completed | two leaves log=\"two\"; close ->\n");
    CHECK_STR(world_get(&w, "log"), "[\"0\",\"one.0\",\"one.1\",\"two\"]");
    world_end(&w);
}

/* What was written before an overwrite is gone, what comes after it in task order is merged, whoever was first by the clock. */
PAWL_TEST(test_peer_05_an_overwrite_replaces_and_the_later_of_two_stands)
{
    const part after[] = { { "a", NULL, "log=\"a\"" }, { "b", "a", "log:=[\"b\"]" }, { 0 } };
    const part beside[] = { { "a", NULL, "call llm 1 | log=\"a\"" }, { "b", NULL, "call llm 2 | log:=[\"b\"]" }, { "c", NULL, "log=\"c\"" }, { 0 } };
    const part two[] = { { "a", NULL, "call llm 1 | log:=[\"a\"]" }, { "b", NULL, "call llm 2 | log:=[\"b\"]" }, { 0 } };
    const char *const orders[] = { "ab", "ba" };
    world w;

    begin(&w, graph(after), NULL);
    CHECK_STR(world_get(&w, "log"), "[\"b\"]");
    world_end(&w);
    for (int i = 0; i < 4; i++) {
        char node[2] = { orders[i % 2][0], '\0' };

        begin(&w, graph(i < 2 ? beside : two), NULL);
        world_receipt(&w, node, "0");
        node[0] = orders[i % 2][1];
        world_receipt(&w, node, "0");
        CHECK_STR(world_get(&w, "log"), i < 2 ? "[\"b\",\"c\"]" : "[\"b\"]");
        world_end(&w);
    }
}

/* Where what stands for a channel might be put. */
static pawl_code misplaced(pawl_step *s, void *arg)
{
    const char *how = arg;
    const pawl_value *v = pawl_ref(s, how[0] == 's' ? "token" : "x");

    if (how[1] == 'p')
        v = pawl_pack(s, "{s:[v]}", "in", v);
    switch (how[2]) {
    case 's': pawl_send(s, "b", v); return PAWL_OK;
    case 'e': pawl_emit(s, "told", v); return PAWL_OK;
    case 'w': pawl_set(s, "y", v); return PAWL_OK;
    case 'o': pawl_overwrite(s, "y", v); return PAWL_OK;
    case 'i': return pawl_interrupt(s, v, "y");
    default: return pawl_ask(s, v, NULL);
    }
}

/* A secret has no value that a node, a state or a reader could be given; what leaves the state is an ephemeral. */
PAWL_TEST(test_peer_06_what_stands_for_a_channel_or_a_secret_goes_into_commands_alone)
{
    static const pawl_channel vault[] = { { .name = "token", .secret = "env:TOKEN" }, { .name = "x" }, { .name = "y" }, { 0 } };
    static const char *const hows[] = { "s-s", "sps", "s-e", "spe", "s-w", "spw", "s-o", "s-a", "spa", "s-i", "c-s", "cps", "c-e", "cpe", "c-w", "cpw", "cpo",
                                        "c-a", "cpi" };
    world w;

    for (size_t i = 0; i < sizeof hows / sizeof *hows; i++) {
        pawl_graph *g = script_graph("vault", 1, vault, (const part[]){ { "b", "-", "ask \"?\"" }, { 0 } });
        union { const char *in; void *out; } how = { hows[i] };

        pawl_graph_node(g, "a", misplaced, how.out);
        pawl_graph_chain(g, PAWL_START, "a", PAWL_END, NULL);
        pawl_graph_goto(g, "a", "b", NULL);
        begin(&w, g, "{\"x\":[1,2,3,4]}");
        CHECK_STR(world_reason(&w), "{\"code\":\"invalid\",\"text\":\"node \\\"a\\\": what pawl_ref gives stands in the arguments of a command, and nowhere else\"}");
        world_end(&w);
    }
}

PAWL_TEST(test_peer_07_writes_sends_and_gotos_of_one_node_are_kept_in_its_order)
{
    const part parts[] = { { "a", NULL, "log=\"1\" | send b 1 | x=1 | goto c | log=\"2\" | send b 2 | x=2" },
                           { "b", "-", "get x -> y" }, { "c", "-", "log=\"c\"" }, { "never", "a", "log=\"never\"" }, { 0 } };
    world w;

    begin(&w, graph(parts), NULL);
    world_expect(&w, "1 start working | start {}; close -> a\n"
                     "2 tick working | a leaves log=\"1\" x=1 log=\"2\" x=2 goto c send b 1 send b 2; close -> c\n"
                     "3 tick completed | c leaves log=\"c\"; b:0 leaves y=2; b:1 leaves y=2; close ->\n");
    world_end(&w);
}

PAWL_TEST(test_peer_09_nothing_is_also_a_value)
{
    static const char *const values[] = { "0", "\"\"", "null", "false", "[]", "{}" };
    const part parts[] = { { "a", NULL, "call llm 1 -> x" }, { "b", "a", "ask \"?\" -> y" }, { "c", "b", "get x -> log | get y -> log" }, { 0 } };
    char both[64];
    world w;

    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        begin(&w, graph(parts), "{\"x\":1,\"y\":1}");
        world_receipt(&w, "a", values[i]);
        world_answer(&w, NULL, values[i]);
        snprintf(both, sizeof both, "[\"0\",%s,%s]", values[i], values[i]);
        CHECK_STR(world_get(&w, "log"), both);
        CHECK_STR(world_get(&w, "x"), values[i]);
        world_end(&w);
    }
    begin(&w, graph((const part[]){ { "a", NULL, "object={\"k\":1} | object={\"k\":null}" }, { 0 } }), NULL);
    CHECK_STR(world_get(&w, "object"), "{\"k\":null}");
    world_end(&w);
}

/* ---- scheduling ------------------------------------------------------------------------------------- */

static const char *two_sends(pawl_step *s, void *arg)
{
    (void)arg;
    pawl_send(s, "two", NULL);
    pawl_send(s, "two", NULL);
    return NULL;
}

PAWL_TEST(test_peer_10_sends_run_in_the_next_superstep_and_then_their_routes)
{
    pawl_graph *g = graph((const part[]){ { 0 } });
    world w;

    pawl_graph_node(g, "one", tell, "1");
    pawl_graph_node(g, "two", tell, "2");
    pawl_graph_node(g, "three", tell, "3");
    pawl_graph_edge(g, PAWL_START, "one");
    pawl_graph_route(g, "one", two_sends, NULL, PAWL_END, PAWL_END, NULL);
    pawl_graph_goto(g, "one", "two", NULL);
    pawl_graph_route(g, "two", always, "three", NULL, "three", NULL);
    pawl_graph_edge(g, "three", PAWL_END);
    begin(&w, g, NULL);
    CHECK_STR(world_get(&w, "log"), "[\"0\",\"1\",\"2\",\"2\",\"3\"]");
    CHECK_INT(pawl_state_steps(w.st), 3);
    world_end(&w);
}

/* Sends 2k-1 and 2k. */
static const char *pair_of_sends(pawl_step *s, void *arg)
{
    int64_t k = strtol(arg, NULL, 10);

    pawl_send(s, "two", pawl_pack(s, "i", 2 * k - 1));
    pawl_send(s, "two", pawl_pack(s, "i", 2 * k));
    return k == 1 ? "three_1" : PAWL_END;
}

PAWL_TEST(test_peer_11_tasks_of_edges_come_before_sends_and_sends_in_order_of_their_senders)
{
    pawl_graph *g = graph((const part[]){ { 0 } });
    world w;

    pawl_graph_node(g, "one", tell, "1");
    pawl_graph_node(g, "one_1", tell, "1.1");
    pawl_graph_node(g, "two", tell, "2");
    pawl_graph_node(g, "three", tell, "3");
    pawl_graph_node(g, "three_1", tell, "3.1");
    pawl_graph_edge(g, PAWL_START, "one");
    pawl_graph_edge(g, PAWL_START, "one_1");
    pawl_graph_route(g, "one", pair_of_sends, "1", NULL, "three_1", NULL);
    pawl_graph_route(g, "one_1", pair_of_sends, "2", NULL, PAWL_END, NULL);
    pawl_graph_goto(g, "one", "two", NULL);
    pawl_graph_goto(g, "one_1", "two", NULL);
    pawl_graph_route(g, "two", always, "three", NULL, "three", NULL);
    pawl_graph_edge(g, "three", PAWL_END);
    pawl_graph_edge(g, "three_1", PAWL_END);
    begin(&w, g, NULL);
    CHECK_STR(world_get(&w, "log"), "[\"0\",\"1\",\"1.1\",\"3.1\",\"2|1\",\"2|2\",\"2|3\",\"2|4\",\"3\"]");
    world_end(&w);
}

/* Sends on what it was sent inside of {"send": ..}. */
static pawl_code tell_and_send(pawl_step *s, void *arg)
{
    const pawl_value *more = pawl_value_get(pawl_args(s), "send");

    if (more != NULL)
        pawl_send(s, "two", more);
    return tell(s, arg);
}

PAWL_TEST(test_peer_12_a_task_that_was_sent_may_send_again)
{
    const part parts[] = { { "one", NULL, "log=\"1\" | send two {\"send\":3} | send two {\"send\":4}" }, { 0 } };
    pawl_graph *g = graph(parts);
    world w;

    pawl_graph_node(g, "two", tell_and_send, "2");
    pawl_graph_node(g, "three", tell, "3");
    pawl_graph_node(g, "three_1", tell, "3.1");
    pawl_graph_goto(g, "two", "two", NULL);
    pawl_graph_chain(g, "one", "three_1", PAWL_END, NULL);
    pawl_graph_chain(g, "two", "three", PAWL_END, NULL);
    begin(&w, g, NULL);
    CHECK_STR(world_get(&w, "log"), "[\"0\",\"1\",\"3.1\",\"2|{\\\"send\\\":3}\",\"2|{\\\"send\\\":4}\",\"3\",\"2|3\",\"2|4\",\"3\"]");
    world_end(&w);
}

/* One branch of two nodes, one of one node, reached by a route; with and without an ordinary edge beside the join. */
PAWL_TEST(test_peer_13_a_waiting_edge_waits_for_all_and_an_ordinary_edge_does_not)
{
    const char *const logs[] = { "[\"0\",\"rewrite\",\"analyze\",\"find two\",\"find one\",\"qa\"]",
                                 "[\"0\",\"rewrite\",\"analyze\",\"find two\",\"qa\",\"find one\",\"qa\"]" };
    world w;

    for (int plus = 0; plus < 2; plus++) {
        pawl_graph *g = graph((const part[]){ { 0 } });

        pawl_graph_node(g, "rewrite", tell, "rewrite");
        pawl_graph_node(g, "analyze", tell, "analyze");
        pawl_graph_node(g, "find_one", tell, "find one");
        pawl_graph_node(g, "find_two", tell, "find two");
        pawl_graph_node(g, "qa", tell, "qa");
        pawl_graph_chain(g, PAWL_START, "rewrite", "analyze", "find_one", NULL);
        pawl_graph_route(g, "rewrite", always, "find_two", NULL, "find_two", NULL);
        pawl_graph_join(g, "qa", "find_one", "find_two", NULL);
        if (plus == 1)
            pawl_graph_edge(g, "rewrite", "qa");
        pawl_graph_edge(g, "qa", PAWL_END);
        begin(&w, g, NULL);
        CHECK_STR(world_get(&w, "log"), logs[plus]);
        world_end(&w);
    }
}

PAWL_TEST(test_peer_14_a_deferred_node_runs_once_after_branches_of_any_length)
{
    pawl_graph *g = graph((const part[]){ { 0 } });
    world w;

    pawl_graph_node(g, "rewrite", tell, "rewrite");
    pawl_graph_node(g, "analyze", tell, "analyze");
    pawl_graph_node(g, "find_one", tell, "find one");
    pawl_graph_node(g, "find_two", tell, "find two");
    pawl_graph_node(g, "qa", tell, "qa");
    pawl_graph_chain(g, PAWL_START, "rewrite", "analyze", "find_one", "qa", PAWL_END, NULL);
    pawl_graph_chain(g, "rewrite", "find_two", "qa", NULL);
    pawl_graph_defer(g, "qa");
    begin(&w, g, NULL);
    CHECK_STR(world_get(&w, "log"), "[\"0\",\"rewrite\",\"analyze\",\"find two\",\"find one\",\"qa\"]");
    world_end(&w);
}

static bool x_has(pawl_step *s, void *arg)
{
    return strchr(pawl_get_string(s, "x"), *(const char *)arg) != NULL;
}

/* One function for several routes; each route names one way, so several ways are several routes. */
static const char *side(pawl_step *s, void *arg)
{
    return x_has(s, arg) ? arg : NULL;
}

PAWL_TEST(test_peer_15_the_start_fans_out_by_condition)
{
    const struct { const char *input, *log; } rows[] = { { "{\"x\":\"lr\"}", "[\"0\",\"l\",\"r\"]" }, { "{\"x\":\"r\"}", "[\"0\",\"r\"]" },
                                                         { "{\"x\":\"\"}", "[\"0\"]" } };
    world w;

    for (size_t i = 0; i < 3; i++) {
        pawl_graph *g = graph((const part[]){ { "l", "-", "log=\"l\"" }, { "r", "-", "log=\"r\"" }, { 0 } });

        pawl_graph_route(g, PAWL_START, side, "l", PAWL_END, "l", NULL);
        pawl_graph_route(g, PAWL_START, side, "r", PAWL_END, "r", NULL);
        begin(&w, g, rows[i].input);
        CHECK_STR(world_get(&w, "log"), rows[i].log);
        CHECK_STR(world_status(&w), "completed");
        world_end(&w);
    }
}

/* Takes the first name off the plan, and goes there. */
static pawl_code planner(pawl_step *s, void *arg)
{
    const pawl_value *plan = pawl_get(s, "plan");
    const char *rest = "";

    (void)arg;
    if (pawl_value_size(plan) == 0)
        return pawl_goto(s, PAWL_END);
    for (size_t i = 1; i < pawl_value_size(plan); i++)
        rest = pawl_format(s, "%s%s%s", rest, i > 1 ? "," : "", pawl_text(s, pawl_value_at(plan, i)));
    pawl_set_json(s, "plan", pawl_format(s, "[%s]", rest));
    return pawl_goto(s, pawl_value_string(pawl_value_at(plan, 0)));
}

PAWL_TEST(test_peer_16_a_plan_in_the_state_leads_from_node_to_node)
{
    const part parts[] = { { "cook", "-", "log=\"cook\" | goto planner" }, { "eat", "-", "log=\"eat\" | goto planner" },
                           { "wash", "-", "log=\"wash\" | goto planner" }, { 0 } };
    pawl_graph *g = graph(parts);
    world w;

    pawl_graph_node(g, "planner", planner, NULL);
    pawl_graph_chain(g, PAWL_START, "planner", PAWL_END, NULL);
    pawl_graph_goto(g, "planner", "cook", "eat", "wash", NULL);
    begin(&w, g, "{\"plan\":[\"cook\",\"eat\",\"cook\",\"wash\"]}");
    CHECK_STR(world_get(&w, "log"), "[\"0\",\"cook\",\"eat\",\"cook\",\"wash\"]");
    CHECK_INT(pawl_state_steps(w.st), 9);
    world_end(&w);
}

PAWL_TEST(test_peer_17_siblings_have_their_work_out_at_the_same_time)
{
    const part parts[] = { { "a", NULL, "call llm 1 -> log" }, { "b", NULL, "call llm 2 -> log" }, { 0 } };
    world w;

    begin(&w, graph(parts), NULL);
    CHECK_INT(pawl_state_commands(w.st), 2);
    CHECK_INT(pawl_state_seq(w.st), 1);         /* one entry holds both */
    world_receipt(&w, "b", "\"b\"");
    world_receipt(&w, "a", "\"a\"");
    CHECK_STR(world_get(&w, "log"), "[\"0\",\"a\",\"b\"]");
    world_end(&w);
}

enum { THREADS = 4, RUNS = 25 };

typedef struct lane { const pawl_machine *m; int first, good; } lane;

/* Whole runs, each with a number of its own; how many of them had no other number in them. */
static void *lane_run(void *arg)
{
    lane *l = arg;
    pawl_step *s = pawl_step_new(NULL);

    for (int i = 0; i < RUNS; i++) {
        char id[32], input[32], expected[64];
        pawl_run_info info = { .id = id, .life = (uint64_t)(l->first + i), .seed = 7 };
        pawl_event ev = { .kind = PAWL_EV_START, .value = input, .time_ms = 1000 };
        const pawl_value *log;
        pawl_state *st = NULL;

        snprintf(id, sizeof id, "run-%d", l->first + i);
        snprintf(input, sizeof input, "{\"n\":%d}", l->first + i);
        snprintf(expected, sizeof expected, "[\"0\",%d,%d]", l->first + i, l->first + i + 1);
        if (pawl_state_new(l->m, &info, 0, NULL, &st, NULL) == PAWL_OK)
            for (int n = 0; n < 10 && pawl_state_next(st) != PAWL_HALTED; n++, ev = (pawl_event){ .kind = PAWL_EV_TICK, .time_ms = 1001 })
                if (pawl_feed(l->m, st, &ev, s, NULL) < 0 || pawl_apply(st, pawl_step_entry(s), NULL) < 0)
                    break;
        log = pawl_state_get(st, "log");
        l->good += log != NULL && strcmp(pawl_text(s, log), expected) == 0;
        pawl_state_free(st);
    }
    pawl_step_free(s);
    return NULL;
}

PAWL_TEST(test_peer_18_one_machine_serves_many_threads)
{
    const part parts[] = { { "a", NULL, "get n -> log | n=1" }, { "b", "a", "get n -> log" }, { 0 } };
    pawl_machine *m = script_compile(graph(parts));
    pthread_t threads[THREADS];
    lane lanes[THREADS];

    for (int i = 0; i < THREADS; i++) {
        lanes[i] = (lane){ .m = m, .first = 1 + i * RUNS };
        CHECK_INT(pthread_create(&threads[i], NULL, lane_run, &lanes[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++)
        CHECK_INT(lanes[i].good, RUNS);
    pawl_machine_free(m);
}

/* Three graphs inside each other; what the innermost says about the way is mapped out, and the outermost goes it. */
PAWL_TEST(test_peer_19_a_subgraph_says_by_a_mapped_channel_where_its_parent_goes)
{
    const part leaf[] = { { "a", NULL, "x=\"r\" | log:=[\"leaf\"]" }, { "b", "a", "x=\"l\"" }, { 0 } };
    const part outside[] = { { "l", "-", "log=\"l\"" }, { "r", "-", "log=\"r\"" }, { 0 } };
    pawl_graph *in = graph(leaf), *g;
    world w;

    for (int depth = 0; depth < 3; depth++, in = g) {
        g = graph(depth == 2 ? outside : (const part[]){ { 0 } });
        pawl_graph_sub(g, "sub", in);
        pawl_graph_map(g, "sub", "x", "x", false, true);
        pawl_graph_edge(g, PAWL_START, "sub");
        if (depth < 2)
            pawl_graph_edge(g, "sub", PAWL_END);
    }
    pawl_graph_route(g, "sub", side, "l", PAWL_END, "l", NULL);
    pawl_graph_route(g, "sub", side, "r", PAWL_END, "r", NULL);
    begin(&w, g, NULL);
    CHECK_STR(world_get(&w, "x"), "\"l\"");
    CHECK_STR(world_get(&w, "log"), "[\"0\",\"l\"]");   /* its own log is not mapped */
    world_end(&w);
}

/* ---- failure and recovery ------------------------------------------------------------------------------ */

/* Calls; a good answer adds 3, a bad one may pass. */
static pawl_code flaky(pawl_step *s, void *arg)
{
    const pawl_value *v;
    pawl_code rc = pawl_call(s, "llm", pawl_pack(s, "{s:u,s:i}", "attempt", (uint64_t)pawl_visit(s), "at", pawl_now(s)), &v);

    (void)arg;
    if (rc != PAWL_OK)
        return rc;
    if (pawl_value_bool(v) == false)
        return pawl_fail(s, PAWL_TRANSIENT, "a bad answer");
    pawl_set_int(s, "n", 3);
    return PAWL_OK;
}

/* Node "two" beside what `parts` say, with two attempts. */
static pawl_graph *with_flaky(const part *parts)
{
    const pawl_retry retry = { .max_attempts = 2, .initial_ms = 10 };
    pawl_graph *g = graph(parts);

    pawl_graph_node(g, "two", flaky, NULL);
    pawl_graph_chain(g, PAWL_START, "two", PAWL_END, NULL);
    pawl_graph_retry(g, "two", &retry);
    return g;
}

static void two_bad_answers(world *w)
{
    world_receipt(w, "two", "false");
    world_crash(w);
    world_timer(w, "two");
    world_receipt(w, "two", "false");
    CHECK_STR(world_status(w), "failed");
}

PAWL_TEST(test_peer_21_what_a_sibling_finished_is_kept_and_only_what_failed_is_tried_again)
{
    const char *at;
    world w;

    begin(&w, with_flaky((const part[]){ { "one", NULL, "call llm 2 | n=2" }, { 0 } }), "{\"n\":1}");
    world_receipt(&w, "one", "0");
    two_bad_answers(&w);
    CHECK_STR(pawl_state_task(w.st, 0, &at), "one");
    CHECK_STR(at, "done");
    CHECK_STR(pawl_state_task(w.st, 1, &at), "two");
    CHECK_STR(at, "failed");
    CHECK_STR(world_get(&w, "n"), "1");         /* one superstep, one merge */
    CHECK_STR(world_reason(&w), "{\"code\":\"transient\",\"text\":\"a bad answer\"}");
    world_reopen(&w, NULL);
    two_bad_answers(&w);                        /* it has its two attempts again */
    world_reopen(&w, NULL);
    world_receipt(&w, "two", "true");
    CHECK_STR(world_status(&w), "completed");
    CHECK_STR(world_get(&w, "n"), "6");
    CHECK_INT(times_in(journal_of(&w), "[\"call\",\"1.one."), 1);
    CHECK_INT(times_in(journal_of(&w), "[\"call\",\"1.two."), 5);
    world_end(&w);
}

/* New input does not start a failed run over: it is opened again, or its state is carried into another run. */
PAWL_TEST(test_peer_22_a_failed_run_is_opened_again_or_carried_over)
{
    static const pawl_channel kept[] = { { .name = "x" }, { .name = "log", .rule = PAWL_RULE_APPEND, .keep = true }, { 0 } };
    const part parts[] = { { "a", NULL, "get x -> log" }, { "b", "a", "call llm 1 | log=\"b\"" }, { 0 } };
    const pawl_run_info info = { .id = "run-2", .life = 2, .seed = 7, .created_ms = 5000 };
    pawl_state *next;
    world w;

    world_begin(&w, script_machine("peer", 1, kept, parts), "{\"x\":1}");
    world_error(&w, "b", "\"down\"");
    CHECK_STR(world_status(&w), "failed");
    CHECK_STR(world_tasks(&w), "b");
    CHECK_STR(world_get(&w, "log"), "[1]");
    CHECK_INT(world_feed(&w, &(pawl_event){ .kind = PAWL_EV_START, .value = "{\"x\":2}" }), PAWL_IGNORED);
    CHECK_INT(world_feed(&w, &(pawl_event){ .kind = PAWL_EV_INPUT, .value = "{\"x\":2}" }), PAWL_IGNORED);
    CHECK_INT(pawl_state_carry(w.st, w.m, &info, w.look, &next, &w.err), PAWL_OK);
    CHECK_STR(pawl_text(w.look, pawl_state_get(next, "log")), "[1]");
    CHECK(pawl_state_get(next, "x") == NULL);
    CHECK_INT(pawl_feed(w.m, next, &(pawl_event){ .kind = PAWL_EV_START, .value = "{\"x\":2}", .time_ms = 5000 }, w.s, &w.err), PAWL_OK);
    CHECK_INT(pawl_apply(next, pawl_step_entry(w.s), &w.err), PAWL_OK);
    CHECK_INT(pawl_feed(w.m, next, &(pawl_event){ .kind = PAWL_EV_TICK, .time_ms = 5001 }, w.s, &w.err), PAWL_OK);
    CHECK_INT(pawl_apply(next, pawl_step_entry(w.s), &w.err), PAWL_OK);
    CHECK_STR(pawl_text(w.look, pawl_state_get(next, "log")), "[1,2]");
    pawl_state_free(next);
    world_reopen(&w, "{\"x\":3}");
    world_receipt(&w, "b", "0");
    CHECK_STR(world_get(&w, "log"), "[1,\"b\"]");
    CHECK(strstr(journal_of(&w), "\"down\"") != NULL);      /* the failed attempt is history, and stays */
    world_end(&w);
}

PAWL_TEST(test_peer_23_the_last_failed_attempt_leaves_the_state_and_other_runs_as_they_were)
{
    world w, other;

    begin(&w, with_flaky((const part[]){ { 0 } }), "{\"n\":4}");
    world_begin(&other, w.m, "{\"n\":5}");
    other.lent = true;
    world_receipt(&w, "two", "false");
    world_timer(&w, "two");
    world_receipt(&w, "two", "true");           /* the retry helped */
    CHECK_STR(world_get(&w, "n"), "7");
    two_bad_answers(&other);
    CHECK_STR(world_get(&other, "n"), "5");
    CHECK_STR(world_reason(&other), "{\"code\":\"transient\",\"text\":\"a bad answer\"}");
    CHECK_STR(world_get(&w, "n"), "7");
    world_end(&other);
    world_end(&w);
}

PAWL_TEST(test_peer_24_sends_that_are_done_do_not_run_again_when_one_of_them_waited)
{
    const part parts[] = { { "plan", NULL, "send flaky 1 | send w 2 | send flaky 3 | goto @end" }, { "w", "-", "call llm 2 -> log | ask \"?\" -> log" },
                           { "flaky", "-", "call llm 1 -> log" }, { 0 } };
    world w;

    begin(&w, graph(parts), NULL);
    world_receipt(&w, "flaky:2", "\"third\"");
    world_receipt(&w, "flaky:0", "\"first\"");
    world_receipt(&w, "w:1", "\"second\"");
    CHECK_STR(world_status(&w), "input-required");
    world_crash(&w);
    CHECK_INT(pawl_state_commands(w.st), 0);    /* nothing to do again */
    world_answer(&w, NULL, "\"asked\"");
    CHECK_STR(world_get(&w, "log"), "[\"0\",\"first\",\"second\",\"asked\",\"third\"]");
    CHECK_INT(times_in(journal_of(&w), "[\"call\","), 3);
    world_end(&w);
}

PAWL_TEST(test_peer_25_a_question_is_no_failure_and_what_is_done_is_told_once)
{
    const pawl_retry retry = { .max_attempts = 5 };
    const part parts[] = { { "done", NULL, "emit told 1 | x=1" }, { "asks", NULL, "ask \"?\" -> y" }, { 0 } };
    pawl_graph *g = graph(parts);
    world w;

    pawl_graph_retry(g, "asks", &retry);
    begin(&w, g, NULL);
    CHECK_STR(world_status(&w), "input-required");
    world_crash(&w);
    CHECK_INT(world_tick(&w), PAWL_IGNORED);
    world_answer(&w, NULL, "2");
    CHECK_STR(world_status(&w), "completed");
    CHECK_INT(times_in(journal_of(&w), "[\"visit\",\"asks\",2"), 0);
    CHECK_INT(times_in(journal_of(&w), "\"told\""), 1);
    world_end(&w);
}
