/* graph_test.c - supersteps and edges: what runs together, what it sees, in which order it merges, and where it leads (G2, G3). */
#include "kernel/names.h"
#include "lib/machines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const pawl_channel channels[] = { { .name = "x" }, { .name = "y" }, { .name = "n", .rule = PAWL_RULE_SUM, .first = "0" },
                                         { .name = "log", .rule = PAWL_RULE_APPEND }, { 0 } };

static pawl_graph *graph(const part *parts)
{
    return script_graph("plan", 1, channels, parts);
}

static void begin(world *w, pawl_graph *g, const char *input)
{
    world_begin(w, script_compile(g), input);
}

/* ---- one superstep ---------------------------------------------------------------------------- */

PAWL_TEST(test_G2_tasks_of_a_superstep_see_the_state_as_it_found_it)
{
    const part parts[] = { { "a", NULL, "x=2 | get x -> log" }, { "b", NULL, "get x -> log" }, { "c", "a", "get x -> log" }, { 0 } };
    world w;

    begin(&w, graph(parts), "{\"x\":1}");
    world_expect(&w, "1 start working | start {\"x\":1}; close -> a b\n"
                     "2 tick working | a leaves x=2 log=1; b leaves log=1; close -> c\n"
                     "3 tick completed | c leaves log=2; close ->\n");
    CHECK_STR(world_get(&w, "log"), "[1,1,2]");
    world_end(&w);
}

PAWL_TEST(test_G2_edges_come_in_order_of_declaration_then_sends_in_order_of_their_senders)
{
    const part parts[] = { { "w", "-", "get x -> y" },
                           { "z", NULL, "send w \"z0\" | send w \"z1\"" },
                           { "a", NULL, "send w \"a0\"" },
                           { "late", "a z", "x=1" },
                           { "m", "z", "x=2" },
                           { 0 } };
    world w;

    begin(&w, graph(parts), NULL);
    world_expect(&w, "1 start working | start {}; close -> z a\n"
                     "2 tick working | z leaves send w \"z0\" send w \"z1\"; a leaves send w \"a0\"; close -> late m\n"
                     "3 tick completed | late leaves x=1; m leaves x=2; w:0 leaves y=null; w:1 leaves y=null; w:2 leaves y=null; close ->\n");
    CHECK_STR(world_get(&w, "x"), "2");
    world_end(&w);
}

PAWL_TEST(test_G3_a_target_of_several_edges_runs_once_each_send_runs_once)
{
    const part parts[] = { { "a", NULL, "send c 1 | send c 2" }, { "b", NULL, "send c 3" }, { "c", "a b", "n=1" }, { 0 } };
    world w;

    begin(&w, graph(parts), NULL);
    CHECK_STR(world_get(&w, "n"), "4");
    world_end(&w);
}

/* ---- order of arrival ----------------------------------------------------------------------------- */

typedef struct arrival { const char *node, *value; bool wait; } arrival;

static const arrival arrivals[4] = { { "slow", "\"s\"", false }, { "asks", "\"q\"", true }, { "w:0", "\"w0\"", false }, { "w:1", "\"w1\"", false } };

static void arrive(world *w, size_t i)
{
    char id[ID_BYTES_MAX];
    pawl_event ev = { .kind = arrivals[i].wait ? PAWL_EV_ANSWER : PAWL_EV_RECEIPT, .value = arrivals[i].value, .time_ms = 2000 + (int64_t)i };

    snprintf(id, sizeof id, "%s", world_open(w, arrivals[i].node, arrivals[i].wait));
    ev.id = id;
    if (world_feed(w, &ev) < 0 || world_go(w) < 0)
        CHECK_FAIL("%s: %s", id, w->err.text);
}

/* The chain of entries, without the records between them. */
static const char *chain_of(const world *w)
{
    static char out[8192];
    const char *line;
    size_t n = 0;

    for (size_t i = 0; (line = line_of(w, i)) != NULL; i++)
        if (*line != '[')
            n += (size_t)snprintf(out + n, sizeof out - n, "%s\n", line);
    CHECK(n < sizeof out);
    return out;
}

/* The k-th order of four. */
static void order_of(unsigned k, size_t order[4])
{
    size_t left[4] = { 0, 1, 2, 3 }, n = 4;

    for (size_t i = 0; i < 4; i++, n--) {
        size_t at = k % n;

        k /= (unsigned)n;
        order[i] = left[at];
        memmove(left + at, left + at + 1, (n - at - 1) * sizeof *left);
    }
}

PAWL_TEST(test_G2_every_order_of_arrival_gives_the_same_entries)
{
    const part parts[] = { { "plan", NULL, "send w 0 | send w 1" },
                           { "slow", "plan", "call llm 1 -> log | x=\"slow\"" },
                           { "asks", "plan", "ask \"?\" -> log | x=\"asks\"" },
                           { "w", "-", "call llm 2 -> log | x=\"w\"" },
                           { "end", "slow asks", "get x -> y" },
                           { 0 } };
    char first[8192] = "";
    size_t order[4];
    world w;

    for (unsigned k = 0; k < 24; k++) {
        begin(&w, graph(parts), NULL);
        w.now = 3000;       /* of the ticks */
        order_of(k, order);
        for (size_t i = 0; i < 4; i++)
            arrive(&w, order[i]);
        CHECK_STR(world_get(&w, "log"), "[\"s\",\"q\",\"w0\",\"w1\"]");
        CHECK_STR(world_get(&w, "x"), "\"w\"");
        CHECK_STR(world_status(&w), "completed");
        if (k == 0)
            snprintf(first, sizeof first, "%s", chain_of(&w));
        CHECK_STR(chain_of(&w), first);
        world_end(&w);
    }
}

/* ---- concurrency ------------------------------------------------------------------------------------- */

PAWL_TEST(test_G2_max_concurrency_bounds_what_is_open_and_nothing_else)
{
    const part parts[] = { { "plan", NULL, "send w 0 | send w 1 | send w 2 | send w 3 | goto @end" },
                           { "w", "-", "call llm 1 -> log | call llm 2 -> log" },
                           { 0 } };
    size_t most = 0, calls = 0;
    pawl_graph *g = graph(parts);
    pawl_command cmd;
    char id[ID_BYTES_MAX];
    world w;

    pawl_graph_max_concurrency(g, 2);
    begin(&w, g, NULL);
    CHECK_STR(world_tasks(&w), "w:0 w:1 w:2 w:3");
    for (; pawl_state_next(w.st) == PAWL_PENDING; calls++) {
        size_t open = pawl_state_commands(w.st);

        most = open > most ? open : most;
        CHECK_INT(pawl_state_command(w.st, calls % open, w.look, &cmd, NULL, &w.err), PAWL_OK);
        snprintf(id, sizeof id, "%s", cmd.id);
        world_receipt(&w, id, "1");
    }
    CHECK_INT(most, 2);
    CHECK_INT(calls, 8);
    CHECK_STR(world_status(&w), "completed");
    CHECK_INT(pawl_value_size(pawl_state_get(w.st, "log")), 8);
    world_end(&w);
}

PAWL_TEST(test_G2_a_place_that_is_free_is_taken_by_the_first_that_has_not_begun)
{
    const part parts[] = { { "a", NULL, "call llm 1 -> log" }, { "b", NULL, "call llm 2 -> log" }, { "c", NULL, "call llm 3 -> log" }, { 0 } };
    pawl_graph *g = graph(parts);
    world w;

    pawl_graph_max_concurrency(g, 1);
    begin(&w, g, NULL);
    world_receipt(&w, "a", "1");
    world_crash(&w);
    world_receipt(&w, "b", "2");
    CHECK_STR(world_open(&w, "b", false), "");
    world_receipt(&w, "c", "3");
    world_expect(&w, "1 start working | start {}; close -> a b c; call 1.a.1.0 {\"args\":1,\"effect\":\"llm\"}\n"
                     ". receipt 1.a.1.0 1; a leaves log=1; b visit 1; call 1.b.1.0 {\"args\":2,\"effect\":\"llm\"}\n"
                     ". receipt 1.b.1.0 2; b leaves log=2; c visit 1; call 1.c.1.0 {\"args\":3,\"effect\":\"llm\"}\n"
                     ". receipt 1.c.1.0 3; c leaves log=3\n"
                     "2 tick completed | records 10; close ->\n");
    CHECK_STR(world_get(&w, "log"), "[1,2,3]");
    world_end(&w);
}

/* One place, and a subgraph in it whose inner task fails: its place is free again, the others run to their end. */
PAWL_TEST(test_G2_a_subgraph_that_failed_inside_gives_its_place_back)
{
    const part inner[] = { { "deep", NULL, "call llm 1 | fail invalid broken" }, { 0 } };
    pawl_graph *g = pawl_graph_new("plan", 1);
    world w;

    pawl_graph_channel(g, "log", PAWL_RULE_APPEND);
    pawl_graph_sub(g, "sub", script_graph("inner", 1, NULL, inner));
    pawl_graph_node(g, "after", script_node, "call llm 2 -> log");
    pawl_graph_chain(g, PAWL_START, "sub", PAWL_END, NULL);
    pawl_graph_chain(g, PAWL_START, "after", PAWL_END, NULL);
    pawl_graph_max_concurrency(g, 1);
    begin(&w, g, NULL);
    CHECK_STR(world_open(&w, "after", false), "");
    world_receipt(&w, "deep", "0");
    CHECK_STR(world_status(&w), "working");
    world_receipt(&w, "after", "\"ran\"");
    CHECK_STR(world_status(&w), "failed");
    CHECK_STR(world_reason(&w), "{\"code\":\"invalid\",\"text\":\"broken\"}");
    world_end(&w);
}

/* ---- routes --------------------------------------------------------------------------------------------- */

/* Whatever channel x names; the argument of the task when it was sent one. */
static const char *by_x(pawl_step *s, void *arg)
{
    (void)arg;
    return pawl_value_string(pawl_args(s)) != NULL ? pawl_value_string(pawl_args(s)) : pawl_get_string(s, "x");
}

static bool n_over(pawl_step *s, void *arg)
{
    return pawl_get_int(s, "n") > strtol(arg, NULL, 10);
}

static pawl_graph *routed(const char *otherwise)
{
    pawl_graph *g = pawl_graph_new("plan", 1);

    for (const pawl_channel *c = channels; c->name != NULL; c++)
        pawl_graph_channel_with(g, c);
    pawl_graph_node(g, "a", script_node, "n=1");
    pawl_graph_node(g, "b", script_node, "log=\"b\"");
    pawl_graph_node(g, "c", script_node, "log=\"c\"");
    pawl_graph_edge(g, PAWL_START, "a");
    pawl_graph_route(g, "a", by_x, NULL, otherwise, "b", PAWL_END, NULL);
    pawl_graph_edge(g, "b", PAWL_END);
    pawl_graph_edge(g, "c", PAWL_END);
    if (otherwise == NULL || strcmp(otherwise, "c") != 0)
        pawl_graph_edge(g, "b", "c");
    return g;
}

static const char *routed_to(const char *otherwise, const char *input)
{
    static char out[512];
    world w;

    begin(&w, routed(otherwise), input);
    snprintf(out, sizeof out, "%s", *world_reason(&w) != '\0' ? world_reason(&w) : world_get(&w, "log"));
    world_end(&w);
    return out;
}

PAWL_TEST(test_G3_a_route_names_a_declared_target_or_the_else)
{
    CHECK_STR(routed_to("c", "{\"x\":\"b\"}"), "[\"b\"]");
    CHECK_STR(routed_to("c", "{\"x\":\"c\"}"), "[\"c\"]");
    CHECK_STR(routed_to("c", NULL), "[\"c\"]");
    CHECK_STR(routed_to("c", "{\"x\":\"@end\"}"), "");
}

PAWL_TEST(test_G3_a_route_that_gives_none_is_an_error_that_names_the_values)
{
    CHECK_STR(routed_to(NULL, NULL), "{\"code\":\"invalid\",\"text\":\"plan: no route from \\\"a\\\", with {\\\"n\\\":1}\"}");
    CHECK_STR(routed_to(NULL, "{\"x\":\"nowhere\"}"),
              "{\"code\":\"invalid\",\"text\":\"plan: no route from \\\"a\\\" to \\\"nowhere\\\", with {\\\"n\\\":1,\\\"x\\\":\\\"nowhere\\\"}\"}");
    CHECK_STR(routed_to("c", "{\"x\":\"a\"}"),
              "{\"code\":\"invalid\",\"text\":\"plan: no route from \\\"a\\\" to \\\"a\\\", with {\\\"n\\\":1,\\\"x\\\":\\\"a\\\"}\"}");
}

static pawl_graph *choosing(bool otherwise)
{
    const part parts[] = { { "a", NULL, "n=1" }, { "big", "-", "log=\"big\"" }, { "small", "-", "log=\"small\"" }, { "tiny", "-", "log=\"tiny\"" }, { 0 } };
    pawl_graph *g = pawl_graph_new("plan", 1);

    for (const pawl_channel *c = channels; c->name != NULL; c++)
        pawl_graph_channel_with(g, c);
    for (const part *p = parts; p->node != NULL; p++) {
        union { const char *in; void *out; } script = { p->script };

        pawl_graph_node(g, p->node, script_node, script.out);
        if (p != parts)
            pawl_graph_edge(g, p->node, PAWL_END);
    }
    pawl_graph_edge(g, PAWL_START, "a");
    pawl_graph_when(g, "a", n_over, "100", "big");
    pawl_graph_when(g, "a", n_over, "10", "small");
    if (otherwise)
        pawl_graph_when(g, "a", NULL, NULL, "tiny");
    else
        pawl_graph_when(g, "a", n_over, "5", "tiny");
    return g;
}

static const char *chosen(bool otherwise, const char *input)
{
    static char out[512];
    world w;

    begin(&w, choosing(otherwise), input);
    snprintf(out, sizeof out, "%s", *world_reason(&w) != '\0' ? world_reason(&w) : world_get(&w, "log"));
    world_end(&w);
    return out;
}

PAWL_TEST(test_G3_the_first_condition_that_holds_is_taken)
{
    CHECK_STR(chosen(true, "{\"n\":100}"), "[\"big\"]");        /* 101 by then: over the merged state */
    CHECK_STR(chosen(true, "{\"n\":99}"), "[\"small\"]");
    CHECK_STR(chosen(true, "{\"n\":9}"), "[\"tiny\"]");
    CHECK_STR(chosen(false, "{\"n\":9}"), "[\"tiny\"]");
    CHECK_STR(chosen(false, "{\"n\":1}"), "{\"code\":\"invalid\",\"text\":\"plan: no route from \\\"a\\\", with {\\\"n\\\":2}\"}");
}

static int evaluated;

static const char *counts(pawl_step *s, void *arg)
{
    (void)arg;
    evaluated++;
    return pawl_value_string(pawl_args(s));
}

/* Three tasks of one node: its route is asked three times, each with the task's own argument in reach. */
PAWL_TEST(test_G3_a_route_is_evaluated_for_each_task_with_its_arguments)
{
    const part parts[] = { { "plan", NULL, "send w \"b\" | send w \"c\" | send w \"c\" | goto @end" },
                           { "b", "-", "log=\"b\"" }, { "c", "-", "log=\"c\"" }, { 0 } };
    pawl_graph *g = graph(parts);
    world w;

    pawl_graph_node(g, "w", script_node, "n=1");
    pawl_graph_route(g, "w", counts, NULL, NULL, "b", "c", NULL);
    evaluated = 0;
    begin(&w, g, NULL);
    CHECK_STR(world_get(&w, "n"), "3");
    CHECK_STR(world_get(&w, "log"), "[\"b\",\"c\"]");
    CHECK_INT(evaluated % 3, 0);    /* fed more than once by the world that checks */
    world_end(&w);
}

static const char *maps(pawl_step *s, void *arg)
{
    (void)arg;
    for (int64_t i = 0; i < pawl_get_int(s, "n"); i++)
        pawl_send(s, "w", pawl_pack(s, "i", i));
    return NULL;
}

PAWL_TEST(test_G3_a_route_may_send)
{
    pawl_graph *g = pawl_graph_new("plan", 1);
    world w;

    for (const pawl_channel *c = channels; c->name != NULL; c++)
        pawl_graph_channel_with(g, c);
    pawl_graph_node(g, "a", script_node, "n=2");
    pawl_graph_node(g, "w", script_node, "call llm 1 -> log");
    pawl_graph_edge(g, PAWL_START, "a");
    pawl_graph_route(g, "a", maps, NULL, NULL, "w", NULL);
    pawl_graph_goto(g, "a", "w", NULL);
    pawl_graph_edge(g, "w", PAWL_END);
    begin(&w, g, NULL);
    world_receipt(&w, "w:1", "\"one\"");
    world_receipt(&w, "w:0", "\"zero\"");
    world_expect(&w, "1 start working | start {}; close -> a\n"
                     "2 tick working | a leaves n=2; close -> send w 0 send w 1\n"
                     ". w:0 visit 1; call 2.w:0.1.0 {\"args\":1,\"effect\":\"llm\"}; w:1 visit 1; call 2.w:1.1.0 {\"args\":1,\"effect\":\"llm\"}\n"
                     ". receipt 2.w:1.1.0 \"one\"; w:1 leaves log=\"one\"\n"
                     ". receipt 2.w:0.1.0 \"zero\"; w:0 leaves log=\"zero\"\n"
                     "3 tick completed | records 8; close ->\n");
    world_end(&w);
}

static pawl_code sends_then_goes(pawl_step *s, void *arg)
{
    (void)arg;
    pawl_send(s, "w", pawl_pack(s, "i", (int64_t)7));
    return pawl_goto(s, "b");
}

static const char *to_either(pawl_step *s, void *arg)
{
    (void)s, (void)arg;
    return "w";
}

/* The targets of a route are declared by it: the route and the node's function may name them without a pawl_graph_goto that repeats them. */
PAWL_TEST(test_G3_the_targets_of_a_route_are_declared_targets)
{
    pawl_graph *g = pawl_graph_new("plan", 1);
    world w;

    for (const pawl_channel *c = channels; c->name != NULL; c++)
        pawl_graph_channel_with(g, c);
    pawl_graph_node(g, "a", script_node, "n=2");
    pawl_graph_node(g, "w", script_node, "log=1");
    pawl_graph_edge(g, PAWL_START, "a");
    pawl_graph_route(g, "a", maps, NULL, NULL, "w", NULL);
    pawl_graph_edge(g, "w", PAWL_END);
    begin(&w, g, NULL);
    world_expect(&w, "1 start working | start {}; close -> a\n2 tick working | a leaves n=2; close -> send w 0 send w 1\n"
                     "3 tick completed | w:0 leaves log=1; w:1 leaves log=1; close ->\n");
    world_end(&w);

    g = pawl_graph_new("plan", 1);
    for (const pawl_channel *c = channels; c->name != NULL; c++)
        pawl_graph_channel_with(g, c);
    pawl_graph_node(g, "a", sends_then_goes, NULL);
    pawl_graph_node(g, "w", script_node, "log=1");
    pawl_graph_node(g, "b", script_node, "log=2");
    pawl_graph_edge(g, PAWL_START, "a");
    pawl_graph_route(g, "a", to_either, NULL, "b", "w", NULL);
    pawl_graph_edge(g, "w", PAWL_END);
    pawl_graph_edge(g, "b", PAWL_END);
    begin(&w, g, NULL);
    CHECK_STR(world_get(&w, "log"), "[2,1]");
    world_end(&w);
}

PAWL_TEST(test_G3_a_conditional_entry_looks_at_the_input)
{
    const part parts[] = { { "b", "-", "log=\"b\"" }, { "c", "-", "log=\"c\"" }, { 0 } };
    pawl_graph *g = graph(parts);
    world w;

    pawl_graph_route(g, PAWL_START, by_x, NULL, "c", "b", NULL);
    begin(&w, g, "{\"x\":\"b\"}");
    world_expect(&w, "1 start working | start {\"x\":\"b\"}; close -> b\n"
                     "2 tick completed | b leaves log=\"b\"; close ->\n");
    world_end(&w);
}

static const char *writes(pawl_step *s, void *arg)
{
    if (strcmp(arg, "write") == 0)
        pawl_set_int(s, "n", 1);
    else if (strcmp(arg, "call") == 0)
        return pawl_call(s, "llm", NULL, NULL) == PAWL_OK ? "b" : NULL;
    else if (strcmp(arg, "send") == 0)
        pawl_send(s, "a", NULL);
    else if (pawl_goto(s, "b") != PAWL_INVALID || pawl_halt(s) != PAWL_INVALID)
        return NULL;
    return "b";
}

PAWL_TEST(test_G3_a_route_only_looks)
{
    const struct { const char *does, *reason; } rows[] = {
        { "write", "{\"code\":\"invalid\",\"text\":\"node \\\"a\\\": a route writes nothing\"}" },
        { "call", "{\"code\":\"invalid\",\"text\":\"node \\\"a\\\": a route makes no commands\"}" },
        { "send", "{\"code\":\"invalid\",\"text\":\"node \\\"a\\\": \\\"a\\\" is no declared target: say pawl_graph_goto(g, \\\"a\\\", \\\"a\\\", NULL)\"}" },
        { "goto", "" },
    };
    const part parts[] = { { "b", "-", "x=1" }, { 0 } };
    world w;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pawl_graph *g = graph(parts);
        union { const char *in; void *out; } does = { rows[i].does };

        pawl_graph_node(g, "a", script_node, "x=0");
        pawl_graph_edge(g, PAWL_START, "a");
        pawl_graph_route(g, "a", writes, does.out, NULL, "b", NULL);
        begin(&w, g, NULL);
        CHECK_STR(world_reason(&w), rows[i].reason);
        world_end(&w);
    }
}

/* ---- goto, send, halt --------------------------------------------------------------------------------------- */

PAWL_TEST(test_G3_goto_goes_past_the_edges)
{
    const part parts[] = { { "a", NULL, "goto c | goto d" }, { "b", "a", "log=\"b\"" }, { "c", "-", "log=\"c\"" }, { "d", "-", "log=\"d\"" }, { 0 } };
    world w;

    begin(&w, graph(parts), NULL);
    world_expect(&w, "1 start working | start {}; close -> a\n"
                     "2 tick working | a leaves goto c goto d; close -> c d\n"
                     "3 tick completed | c leaves log=\"c\"; d leaves log=\"d\"; close ->\n");
    world_end(&w);
}

PAWL_TEST(test_G3_goto_the_end_ends_the_branch_alone)
{
    const part parts[] = { { "a", NULL, "goto @end" }, { "b", "a", "log=\"b\"" }, { "c", NULL, "x=1" }, { "d", "c", "log=\"d\"" }, { 0 } };
    world w;

    begin(&w, graph(parts), NULL);
    CHECK_STR(world_get(&w, "log"), "[\"d\"]");
    world_end(&w);
}

PAWL_TEST(test_G3_halt_completes_the_run_when_the_superstep_closes)
{
    const part parts[] = { { "a", NULL, "x=1 | halt" }, { "b", NULL, "call llm 1 -> y | send w 1" }, { "c", "b a", "log=\"c\"" },
                           { "w", "-", "log=\"w\"" }, { 0 } };
    world w;

    begin(&w, graph(parts), NULL);
    CHECK_STR(world_status(&w), "working");         /* its sibling runs to its end */
    world_receipt(&w, "b", "2");
    world_expect(&w, "1 start working | start {}; close -> a b; a leaves x=1 halt; call 1.b.1.0 {\"args\":1,\"effect\":\"llm\"}\n"
                     "2 receipt completed | receipt 1.b.1.0 2; b leaves y=2 send w 1; close -> drops\n");
    CHECK_STR(world_all(&w), "{\"n\":0,\"x\":1,\"y\":2}");
    world_end(&w);
}

/* What waits elsewhere in the graph - half a join, a deferred node - is over with the run. */
PAWL_TEST(test_G3_halt_leaves_nothing_behind)
{
    const part parts[] = { { "a", NULL, "x=1" }, { "b", NULL, "x=2" }, { "stop", "b", "halt" }, { "b2", "stop", "x=3" }, { "d", "a", "log=\"d\"" }, { 0 } };
    pawl_graph *g = graph(parts);
    world w;

    pawl_graph_node(g, "both", script_node, "log=\"both\"");
    pawl_graph_join(g, "both", "a", "b2", NULL);
    pawl_graph_edge(g, "both", PAWL_END);
    pawl_graph_defer(g, "d");
    begin(&w, g, NULL);
    CHECK_STR(world_reason(&w), "");
    world_expect(&w, "1 start working | start {}; close -> a b\n"
                     "2 tick working | a leaves x=1; b leaves x=2; close -> stop joins {\"a+b2:both\":[\"a\"]} defer [\"d\"]\n"
                     "3 tick completed | stop leaves halt; close -> joins {\"a+b2:both\":[]} defer []\n");
    CHECK_STR(world_status(&w), "completed");
    CHECK_STR(world_get(&w, "log"), "");
    world_end(&w);
}

PAWL_TEST(test_G3_a_send_s_argument_lies_over_the_snapshot)
{
    const part parts[] = { { "a", NULL, "x=1 | send w {\"i\":7} | goto @end" }, { "w", "-", "get x -> y" }, { 0 } };
    world w;

    begin(&w, graph(parts), NULL);
    world_expect(&w, "1 start working | start {}; close -> a\n"
                     "2 tick working | a leaves x=1 goto @end send w {\"i\":7}; close ->\n"
                     "3 tick completed | w:0 leaves y=1; close ->\n");
    world_end(&w);
}

/* What a route sees is the merged state, which is taken back before it is folded: what it sends has to be its own, be it of the state
 * itself, packed, a text, or a single node. */
static const char *sends_what_it_sees(pawl_step *s, void *arg)
{
    const pawl_value *all = pawl_get(s, "x"), *one;
    pawl_iter it = pawl_iter_of(all);

    (void)arg;
    while ((one = pawl_iter_next(&it, NULL)) != NULL) {
        pawl_send(s, "w", one);
        pawl_send(s, "w", pawl_pack(s, "{s:v}", "one", one));
    }
    pawl_send(s, "w", pawl_get(s, "log"));
    pawl_send(s, "w", pawl_get(s, "n"));
    return NULL;
}

PAWL_TEST(test_G3_what_a_route_sends_is_its_own)
{
    static char make[] = "x=[\"a text that is not short enough to stand in a node itself\",[1,\"and one inside of a list, as long\"]] | "
                         "log=\"one that is appended, and is long as well\" | n=3";
    pawl_graph *g = pawl_graph_new("plan", 1);
    world w;

    for (const pawl_channel *c = channels; c->name != NULL; c++)
        pawl_graph_channel_with(g, c);
    pawl_graph_node(g, "a", script_node, make);
    pawl_graph_node(g, "w", script_node, "get n -> y");
    pawl_graph_edge(g, PAWL_START, "a");
    pawl_graph_route(g, "a", sends_what_it_sees, NULL, NULL, "w", NULL);
    pawl_graph_goto(g, "a", "w", NULL);
    pawl_graph_edge(g, "w", PAWL_END);
    begin(&w, g, NULL);
    world_expect(&w, "1 start working | start {}; close -> a\n"
                     "2 tick working | a leaves x=[\"a text that is not short enough to stand in a node itself\",[1,\"and one inside of a list, as long\"]] "
                     "log=\"one that is appended, and is long as well\" n=3; "
                     "close -> send w \"a text that is not short enough to stand in a node itself\" "
                     "send w {\"one\":\"a text that is not short enough to stand in a node itself\"} "
                     "send w [1,\"and one inside of a list, as long\"] send w {\"one\":[1,\"and one inside of a list, as long\"]} "
                     "send w [\"one that is appended, and is long as well\"] send w 3\n"
                     "3 tick completed | w:0 leaves y=3; w:1 leaves y=3; w:2 leaves y=3; w:3 leaves y=3; w:4 leaves y=3; w:5 leaves y=3; close ->\n");
    world_end(&w);
}
