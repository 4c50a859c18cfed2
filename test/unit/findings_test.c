/* findings_test.c - what pawl_graph_check finds in a graph, and the path that shows it. */
#include "lib/check.h"
#include "lib/heap.h"
#include "lib/plain_graph.h"
#include "pawl/graph.h"

#include <stdio.h>
#include <string.h>

/* ---- helpers -------------------------------------------------------------------------------------- */

static pawl_machine *compiled(pawl_graph *g)
{
    pawl_err err = {0};
    pawl_machine *m = pawl_graph_compile(g, &err);

    if (m == NULL)
        CHECK_FAIL("%s", err.text);
    CHECK_INT(err.code, PAWL_OK);
    return m;
}

static const char *findings_of(pawl_graph *g, size_t max_states, bool exhaustive)
{
    pawl_machine *m = compiled(g);
    pawl_err err = {0};
    pawl_report *r = pawl_graph_check(m, max_states, &err);
    const char *text = report_text(r);

    if (r == NULL)
        CHECK_FAIL("%s", err.text);
    CHECK_INT(pawl_report_exhaustive(r), exhaustive);
    pawl_report_free(r);
    pawl_machine_free(m);
    return text;
}

#define FINDINGS(g) findings_of(g, 0, true)

static pawl_graph *essay(void)
{
    pawl_graph *g = pawl_graph_new("essay", 1);

    nodes_add(g, "draft review revise");
    pawl_graph_chain(g, PAWL_START, "draft", "review", "revise", PAWL_END, NULL);
    return g;
}

/* ---- check --------------------------------------------------------------------------------------------------- */

PAWL_TEST(test_check_finds_nothing_in_a_sound_graph)
{
    pawl_graph *g = pawl_graph_new("sound", 1);

    nodes_add(g, "plan a b b2 gather again late");
    pawl_graph_edge(g, PAWL_START, "plan");
    pawl_graph_edge(g, "plan", "a");
    pawl_graph_edge(g, "plan", "b");
    pawl_graph_edge(g, "plan", "late");
    pawl_graph_defer(g, "late");
    pawl_graph_edge(g, "late", PAWL_END);
    pawl_graph_edge(g, "b", "b2");
    pawl_graph_join(g, "gather", "a", "b2", NULL);
    pawl_graph_route(g, "gather", node_routes, NULL, PAWL_END, "again", NULL);
    pawl_graph_gate(g, "again", "Once more?");
    pawl_graph_edge(g, "again", "plan");
    CHECK_STR(FINDINGS(g), "");
    CHECK_STR(FINDINGS(essay()), "");
}

PAWL_TEST(test_check_a_join_of_ways_that_exclude_each_other_gets_stuck)
{
    pawl_graph *g = pawl_graph_new("stuck", 1);

    nodes_add(g, "pick a b both");
    pawl_graph_edge(g, PAWL_START, "pick");
    pawl_graph_route(g, "pick", node_routes, NULL, NULL, "a", "b", NULL);
    pawl_graph_join(g, "both", "a", "b", NULL);
    pawl_graph_gate(g, "both", "in?");
    pawl_graph_edge(g, "both", PAWL_END);
    CHECK_STR(FINDINGS(g),
              "join-stuck | stuck: join \"a+b:both\" gets stuck: nothing is next, and \"b\" is not done | @start -> pick -> a\n"
              "(warning) no-way-out | stuck: no way out from \"@start\": no end is reached, unless a node says so (pawl_halt) | @start\n"
              "never-runs | stuck: node \"both\" never runs | @start -> pick -> a\n"
              "pause-stuck | stuck: node \"both\": nothing comes to its gate, so nobody is asked | @start -> pick -> a\n");
}

PAWL_TEST(test_check_a_join_may_get_stuck_on_one_way_alone)
{
    pawl_graph *g = pawl_graph_new("maybe", 1);

    nodes_add(g, "fan a b c done");
    pawl_graph_edge(g, PAWL_START, "fan");
    pawl_graph_edge(g, "fan", "a");
    pawl_graph_edge(g, "fan", "b");
    pawl_graph_when(g, "b", node_holds, NULL, "c");
    pawl_graph_when(g, "b", NULL, NULL, PAWL_END);
    pawl_graph_join(g, "done", "a", "c", NULL);
    pawl_graph_edge(g, "done", PAWL_END);
    CHECK_STR(FINDINGS(g),
              "join-stuck | maybe: join \"a+c:done\" gets stuck: nothing is next, and \"c\" is not done | @start -> fan -> {a,b}\n");
}

/* Which source a round of the loop leaves out. */
PAWL_TEST(test_check_a_join_of_some_may_miss_a_source_in_a_later_round)
{
    static const char *const sources[] = { "a", "b", "c" };
    pawl_graph *g = pawl_graph_new("rounds", 1);

    nodes_add(g, "fork a b c both");
    pawl_graph_edge(g, PAWL_START, "fork");
    pawl_graph_edge(g, "fork", "a");
    pawl_graph_edge(g, "fork", "b");
    pawl_graph_when(g, "fork", node_holds, NULL, "c");
    pawl_graph_when(g, "fork", NULL, NULL, PAWL_END);
    pawl_graph_join_of(g, "both", sources, 3, 2, PAWL_JOIN_IGNORES_REST);
    pawl_graph_route(g, "both", node_routes, NULL, PAWL_END, "fork", NULL);
    CHECK_STR(FINDINGS(g), "join-stuck | rounds: join \"a+b+c:both\" gets stuck: nothing is next, and \"c\" is not done | "
                           "@start -> fork -> {a,b} -> both -> fork -> {a,b}\n");
}

PAWL_TEST(test_check_what_code_chooses_is_only_a_warning)
{
    pawl_graph *g = pawl_graph_new("sends", 1);

    nodes_add(g, "plan a b both");
    pawl_graph_edge(g, PAWL_START, "plan");
    pawl_graph_goto(g, "plan", "a", "b", NULL);
    pawl_graph_join(g, "both", "a", "b", NULL);
    pawl_graph_edge(g, "both", PAWL_END);
    CHECK_STR(FINDINGS(g),
              "(warning) join-stuck | sends: join \"a+b:both\" gets stuck: nothing is next, and \"b\" is not done | @start -> plan -> a\n");
}

PAWL_TEST(test_check_any_and_k_of_n_joins_get_stuck_only_below_k)
{
    static const char *const sources[] = { "a", "b", "c" };

    for (unsigned k = 1; k <= 3; k++) {
        for (int cancel = 0; cancel < 2; cancel++) {
            pawl_graph *g = pawl_graph_new("kofn", 1);

            nodes_add(g, "a b b2 c done");
            pawl_graph_edge(g, PAWL_START, "a");
            pawl_graph_edge(g, PAWL_START, "b2");
            pawl_graph_edge(g, "b2", "b");
            pawl_graph_route(g, "b", node_routes, NULL, NULL, "c", PAWL_END, NULL);
            pawl_graph_join_of(g, "done", sources, 3, k, cancel ? PAWL_JOIN_CANCELS_REST : PAWL_JOIN_IGNORES_REST);
            pawl_graph_edge(g, "done", PAWL_END);
            CHECK_STR(FINDINGS(g), k == 3 ? "join-stuck | kofn: join \"a+b+c:done\" gets stuck: nothing is next, and \"c\" is not done | "
                                            "@start -> {a,b2} -> b\n"
                                   : k == 2 && cancel ? "never-runs | kofn: node \"c\" never runs | @start -> {a,b2} -> b -> done\n"
                                   : k == 1 && cancel ? "never-runs | kofn: node \"b\" never runs | @start -> {a,b2} -> done\n"
                                                        "never-runs | kofn: node \"c\" never runs | @start -> {a,b2} -> done\n"
                                                      : "");
        }
    }
}

PAWL_TEST(test_check_a_cancelled_rest_does_not_take_the_target_along)
{
    static const char *const sources[] = { "a", "b" };
    pawl_graph *g = pawl_graph_new("race", 1);

    nodes_add(g, "a b b2 done");
    pawl_graph_edge(g, PAWL_START, "a");
    pawl_graph_edge(g, PAWL_START, "b2");
    pawl_graph_edge(g, "b2", "b");
    pawl_graph_join_of(g, "done", sources, 2, 1, PAWL_JOIN_CANCELS_REST);
    pawl_graph_edge(g, "done", "b");
    pawl_graph_route(g, "b", node_routes, NULL, NULL, PAWL_END, "b", NULL);
    CHECK_STR(FINDINGS(g), "(warning) endless-loop | race: endless loop of \"b\", \"done\": only max_steps (1000) ends it | "
                           "@start -> {a,b2} -> done -> b -> {b,done} -> {b,done}\n"
                           "(warning) no-way-out | race: no way out from \"@start\": no end is reached, unless a node says so (pawl_halt) | @start\n");
}

PAWL_TEST(test_check_a_loop_that_no_way_leaves)
{
    pawl_graph *g = pawl_graph_new("loop", 1);

    nodes_add(g, "in a b out");
    pawl_graph_edge(g, PAWL_START, "in");
    pawl_graph_route(g, "in", node_routes, NULL, "out", "a", NULL);
    pawl_graph_chain(g, "a", "b", "a", NULL);
    pawl_graph_edge(g, "out", PAWL_END);
    pawl_graph_max_steps(g, 50);
    CHECK_STR(FINDINGS(g),
              "(warning) endless-loop | loop: endless loop of \"a\", \"b\": only max_steps (50) ends it | @start -> in -> a -> b -> a\n"
              "(warning) no-way-out | loop: no way out from \"a\": no end is reached, unless a node says so (pawl_halt) | @start -> in -> a\n");

    g = pawl_graph_new("work", 1);
    pawl_graph_work(g, "a", "llm");
    pawl_graph_chain(g, PAWL_START, "a", "a", NULL);
    CHECK_STR(FINDINGS(g),
              "(warning) endless-loop | work: endless loop of \"a\": only max_steps (1000) ends it | @start -> a -> a\n"
              "no-way-out | work: no way out from \"@start\": no end is reached | @start\n");

    g = pawl_graph_new("gated", 1);
    pawl_graph_work(g, "a", "llm");
    pawl_graph_chain(g, PAWL_START, "a", "a", NULL);
    pawl_graph_gate(g, "a", "again?");                  /* a person ends it */
    CHECK_STR(FINDINGS(g), "");
}

PAWL_TEST(test_check_a_node_beside_a_loop_for_ever_never_runs_when_deferred)
{
    pawl_graph *g = pawl_graph_new("late", 1);

    nodes_add(g, "a b c");
    pawl_graph_edge(g, PAWL_START, "a");
    pawl_graph_edge(g, "a", "b");
    pawl_graph_edge(g, "a", "c");
    pawl_graph_edge(g, "b", "b");
    pawl_graph_edge(g, "c", PAWL_END);
    pawl_graph_defer(g, "c");
    pawl_graph_interrupt_before(g, "c");
    CHECK_STR(FINDINGS(g),
              "(warning) endless-loop | late: endless loop of \"b\": only max_steps (1000) ends it | @start -> a -> b -> b\n"
              "(warning) no-way-out | late: no way out from \"@start\": no end is reached, unless a node says so (pawl_halt) | @start\n"
              "never-runs | late: node \"c\" never runs | @start -> a -> b\n"
              "pause-stuck | late: node \"c\": nothing comes to its interrupt, so nobody is asked | @start -> a -> b\n");
}

PAWL_TEST(test_K3_check_two_writers_in_one_superstep)
{
    pawl_graph *g = pawl_graph_new("two", 1), *inner = essay();

    nodes_add(g, "a b c");
    pawl_graph_channel(g, "text", PAWL_RULE_LAST);
    pawl_graph_channel(g, "only", PAWL_RULE_SINGLE);
    pawl_graph_channel(g, "list", PAWL_RULE_APPEND);
    pawl_graph_channel(g, "apart", PAWL_RULE_LAST);
    pawl_graph_sub(g, "inner", inner);
    pawl_graph_edge(g, PAWL_START, "a");
    pawl_graph_edge(g, "a", "b");
    pawl_graph_edge(g, "a", "c");
    pawl_graph_edge(g, "a", "inner");
    pawl_graph_edge(g, "b", PAWL_END);
    pawl_graph_edge(g, "c", PAWL_END);
    pawl_graph_edge(g, "inner", PAWL_END);
    pawl_graph_map(g, "inner", "text", "draft", false, true);
    pawl_graph_writes(g, "a", "apart", NULL);
    pawl_graph_writes(g, "b", "text", "only", "list", "apart", NULL);
    pawl_graph_writes(g, "c", "only", "list", NULL);
    CHECK_STR(FINDINGS(g),
              "(warning) two-writers | two: channel \"text\": \"b\" and \"inner\" write it in one superstep, and its rule is last | "
              "@start -> a -> {b,c,inner}\n"
              "two-writers | two: channel \"only\": \"b\" and \"c\" write it in one superstep, and its rule is single | @start -> a -> {b,c,inner}\n");
}

PAWL_TEST(test_check_looks_into_subgraphs)
{
    pawl_graph *g = pawl_graph_new("outer", 1), *inner = pawl_graph_new("inner", 1);

    pawl_graph_work(inner, "a", "llm");
    pawl_graph_chain(inner, PAWL_START, "a", "a", NULL);
    pawl_graph_sub(g, "sub", inner);
    pawl_graph_chain(g, PAWL_START, "sub", PAWL_END, NULL);
    CHECK_STR(FINDINGS(g),
              "(warning) endless-loop | outer/sub: endless loop of \"a\": only max_steps (1000) ends it | @start -> a -> a\n"
              "no-way-out | outer/sub: no way out from \"@start\": no end is reached | @start\n");
}

static pawl_graph *wide(unsigned n, bool joined)
{
    pawl_graph *g = pawl_graph_new("wide", 1);
    char name[16], then[16], names[64][16];
    const char *sources[64];

    nodes_add(g, "done");
    pawl_graph_edge(g, "done", PAWL_END);
    for (unsigned i = 0; i < n; i++) {
        snprintf(name, sizeof name, "n%u", i);
        snprintf(then, sizeof then, "m%u", i);
        snprintf(names[i], sizeof names[i], "m%u", i);
        sources[i] = names[i];
        nodes_add(g, name);
        nodes_add(g, then);
        pawl_graph_edge(g, PAWL_START, name);
        pawl_graph_route(g, name, node_routes, NULL, NULL, name, joined ? then : PAWL_END, NULL);
        pawl_graph_edge(g, name, then);
        pawl_graph_edge(g, then, PAWL_END);
    }
    if (joined)
        pawl_graph_join_of(g, "done", sources, n, 0, PAWL_JOIN_IGNORES_REST);
    else
        pawl_graph_edge(g, "n0", "done");
    return g;
}

PAWL_TEST(test_X2_check_says_when_it_was_cut_off)
{
    findings_of(wide(5, true), 0, true);
    CHECK_STR(findings_of(wide(40, true), 1000, false), "");    /* it claims nothing that it did not see */
    CHECK_STR(findings_of(wide(40, false), 1000, false), "");
    CHECK_STR(findings_of(essay(), 1, false), "");
    CHECK_STR(findings_of(essay(), 5, true), "");
}

PAWL_TEST(test_check_takes_many_choices_with_few_outcomes_at_once)
{
    pawl_graph *g = pawl_graph_new("few", 1);
    char name[16];

    nodes_add(g, "x y");
    pawl_graph_edge(g, "x", PAWL_END);
    pawl_graph_edge(g, "y", PAWL_END);
    for (unsigned i = 0; i < 60; i++) {         /* 2 to the 60 routes, 3 states */
        snprintf(name, sizeof name, "n%u", i);
        nodes_add(g, name);
        pawl_graph_edge(g, PAWL_START, name);
        pawl_graph_route(g, name, node_routes, NULL, NULL, "x", "y", NULL);
    }
    CHECK_STR(FINDINGS(g), "");
}

PAWL_TEST(test_check_is_for_graphs)
{
    pawl_err err = {0};

    CHECK(pawl_graph_check(NULL, 0, &err) == NULL);
    CHECK_INT(err.code, PAWL_INVALID);
    CHECK_STR(err.text, "machine: it is no graph");
    CHECK_INT(pawl_report_count(NULL), 0);
    CHECK(pawl_report_at(NULL, 0) == NULL && !pawl_report_exhaustive(NULL));
    pawl_report_free(NULL);
}

/* ---- memory ----------------------------------------------------------------------------------------------------- */

static pawl_graph *scene(const pawl_alloc *alloc, bool sound)
{
    const pawl_channel first = { .name = "list", .rule = PAWL_RULE_APPEND, .first = "[1,2]" };
    pawl_graph *g = pawl_graph_new_in("scene", 1, alloc), *inner = pawl_graph_new_in("inner", 1, alloc);

    if (inner != NULL)
        nodes_add(inner, "a b");
    pawl_graph_chain(inner, PAWL_START, "a", "b", "a", NULL);
    if (g == NULL || inner == NULL) {
        pawl_graph_free(inner);
        pawl_graph_free(g);
        return NULL;
    }
    nodes_add(g, "plan x y z");
    pawl_graph_channel_with(g, &first);
    pawl_graph_sub(g, "sub", inner);
    pawl_graph_map(g, "sub", "list", "a", true, false);
    pawl_graph_edge(g, PAWL_START, "plan");
    pawl_graph_goto(g, "plan", "x", "y", NULL);
    pawl_graph_route(g, "x", node_routes, NULL, NULL, "y", "sub", PAWL_END, NULL);
    pawl_graph_edge(g, "y", PAWL_END);
    pawl_graph_edge(g, "sub", sound ? PAWL_END : "subb");
    pawl_graph_join(g, "z", "x", "y", NULL);
    pawl_graph_gate(g, "z", "in?");
    pawl_graph_edge(g, "z", PAWL_END);
    pawl_graph_writes(g, "x", "list", NULL);
    pawl_graph_hook(g, NULL, PAWL_PHASE_BEFORE, "ask");
    pawl_graph_effect(g, "ask", NULL);
    return g;
}

static void march(bool sound)
{
    heap h;
    pawl_alloc alloc;

    heap_init(&h);
    alloc = heap_alloc(&h);
    for (size_t n = 0;; n++) {
        pawl_err err = {0}, why = {0};
        pawl_report *r = NULL, *found = NULL;
        pawl_machine *m;
        bool compiling;

        heap_fail_at(&h, n);
        m = pawl_graph_compile_report(scene(&alloc, sound), &r, &err);
        compiling = h.fired;
        if (m != NULL)
            found = pawl_graph_check(m, 0, &why);
        CHECK_INT(err.code, compiling ? PAWL_NOMEM : sound ? PAWL_OK : PAWL_INVALID);
        CHECK((r == NULL) == compiling && (m == NULL) == (compiling || !sound));
        CHECK_INT(why.code, h.fired && !compiling ? PAWL_NOMEM : PAWL_OK);
        CHECK((found == NULL) == (m == NULL || why.code != PAWL_OK));
        pawl_report_free(found);
        pawl_report_free(r);
        pawl_machine_free(m);
        heap_check(&h);
        if (!h.fired)
            break;
    }
}

PAWL_TEST(test_every_allocation_may_fail)
{
    march(true);
    march(false);
}
