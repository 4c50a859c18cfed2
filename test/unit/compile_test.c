/* compile_test.c - what compile refuses (G1), and what it makes of a graph (F5); findings_test.c has the rest. */
#include "graph/graph.h"
#include "kernel/machine.h"
#include "lib/check.h"
#include "lib/plain_graph.h"

#include <stdio.h>
#include <string.h>

/* ---- helpers -------------------------------------------------------------------------------------- */

/* All findings of a graph that cannot be compiled, and the first as the error. */
static const char *faults(pawl_graph *g)
{
    pawl_err err = {0};
    pawl_report *r = NULL;
    pawl_machine *m = pawl_graph_compile_report(g, &r, &err);
    const char *first = NULL, *text = report_text(r);

    for (size_t i = 0; i < pawl_report_count(r) && first == NULL; i++)
        if (pawl_report_at(r, i)->severity == PAWL_SEVERITY_FAULT)
            first = pawl_report_at(r, i)->text;
    CHECK((m == NULL) == (first != NULL));
    CHECK_INT(err.code, first != NULL ? PAWL_INVALID : PAWL_OK);
    CHECK_STR(err.text, first != NULL ? first : "");
    pawl_machine_free(m);
    pawl_report_free(r);
    return text;
}

static pawl_machine *compiled(pawl_graph *g)
{
    pawl_err err = {0};
    pawl_machine *m = pawl_graph_compile(g, &err);

    if (m == NULL)
        CHECK_FAIL("%s", err.text);
    CHECK_INT(err.code, PAWL_OK);
    return m;
}

static pawl_graph *essay(void)
{
    pawl_graph *g = pawl_graph_new("essay", 1);

    nodes_add(g, "draft review revise");
    pawl_graph_chain(g, PAWL_START, "draft", "review", "revise", PAWL_END, NULL);
    return g;
}

/* ---- compile ---------------------------------------------------------------------------------------- */

PAWL_TEST(test_G1_a_whole_graph_compiles_without_a_word)
{
    pawl_machine *m;
    const pawl_graph *g;

    CHECK_STR(faults(essay()), "");
    m = compiled(essay());
    g = graph_of(m);
    CHECK_STR(pawl_machine_name(m), "essay");
    CHECK_STR(m->channel_json, "{\"draft\":{\"rule\":\"last\"},\"review\":{\"rule\":\"last\"},\"revise\":{\"rule\":\"last\"}}");
    CHECK(graph_at(m, "") == g);
    CHECK(graph_at(m, "draft") == NULL && graph_at(m, "nobody") == NULL);
    CHECK_INT(node_index(g, "revise"), 3);
    CHECK_INT(node_index(g, "revisE"), -1);
    pawl_machine_free(m);
}

PAWL_TEST(test_G1_a_slip_of_the_pen_is_one_fault_and_names_what_was_meant)
{
    pawl_graph *g = pawl_graph_new("essay", 1);

    nodes_add(g, "draft review");
    pawl_graph_chain(g, PAWL_START, "draft", "revieW", NULL);
    pawl_graph_edge(g, "review", PAWL_END);
    CHECK_STR(faults(g), "unknown-target | essay: node \"draft\": no node \"revieW\" (did you mean \"review\"?) | @start -> draft -> revieW\n");
}

PAWL_TEST(test_G1_every_fault_is_told_at_once)
{
    pawl_graph *g = pawl_graph_new("all", 1);
    static const char *const twice[] = { "a", "a" };
    static const char *const pair[] = { "a", "b" };

    nodes_add(g, "a b c island last a bad/name");
    pawl_graph_edge(g, "nobody", "a");
    pawl_graph_gate(g, "ghost", "?");
    pawl_graph_edge(g, PAWL_START, "a");
    pawl_graph_edge(g, "a", PAWL_START);
    pawl_graph_edge(g, "a", "b");
    pawl_graph_edge(g, "a", "b");
    pawl_graph_route(g, "a", node_routes, NULL, "elsewhere", "isand", PAWL_END, NULL);
    pawl_graph_goto(g, "b", "lasst", "zzz", NULL);
    pawl_graph_when(g, "b", node_holds, NULL, "nowhere");
    pawl_graph_gate(g, "b", "in?");
    pawl_graph_gate_no(g, "b", "away");
    pawl_graph_edge(g, "c", PAWL_END);
    pawl_graph_gate_no(g, "c", "a");
    pawl_graph_join(g, "last", "a", "c", NULL);
    pawl_graph_join(g, "las", "a", "bb", PAWL_START, NULL);
    pawl_graph_join_of(g, "last", twice, 2, 0, PAWL_JOIN_IGNORES_REST);
    pawl_graph_join_of(g, "last", pair, 2, 3, PAWL_JOIN_IGNORES_REST);
    pawl_graph_join_of(g, PAWL_END, pair, 2, 1, PAWL_JOIN_IGNORES_REST);
    pawl_graph_join_of(g, "last", NULL, 0, 0, PAWL_JOIN_IGNORES_REST);
    pawl_graph_join_of(g, "last", pair, 2, 1, PAWL_JOIN_CANCELS_REST);
    pawl_graph_join_of(g, "last", pair, 2, 1, PAWL_JOIN_IGNORES_REST);
    pawl_graph_writes(g, "a", "b", "bx", NULL);
    pawl_graph_defer(g, PAWL_START);
    CHECK_STR(faults(g),
              "duplicate-node | all: node \"a\" is declared twice | \n"
              "bad-name | all: \"bad/name\" is no name of a node: [A-Za-z0-9_-]{1,64} | \n"
              "unknown-source | all: an edge or route from \"nobody\", which is not declared before as a node | \n"
              "unknown-node | all: a gate for node \"ghost\", which is not declared before | \n"
              "bad-start | all: \"@start\" never runs: it has ways on, and nothing else | \n"
              "unknown-target | all: node \"a\": nothing leads back to \"@start\" | @start -> a -> @start\n"
              "(warning) duplicate-way | all: node \"a\": more than one edge to \"b\" | @start -> a -> b\n"
              "unknown-target | all: node \"a\": no node \"isand\" (did you mean \"island\"?) | @start -> a -> isand\n"
              "unknown-target | all: node \"a\": no node \"elsewhere\" | @start -> a -> elsewhere\n"
              "unknown-channel | all: node \"a\": no channel \"bx\" to write (did you mean \"b\"?) | \n"
              "unknown-target | all: node \"b\": no node \"nowhere\" | @start -> a -> b -> nowhere\n"
              "undeclared-goto | all: node \"b\": no node \"lasst\" to go to (did you mean \"last\"?) | @start -> a -> b -> lasst\n"
              "undeclared-goto | all: node \"b\": no node \"zzz\" to go to | @start -> a -> b -> zzz\n"
              "unknown-target | all: node \"b\": no node \"away\" | @start -> a -> b -> away\n"
              "(warning) no-else | all: node \"b\": no else: the run fails when no condition holds | @start -> a -> b\n"
              "unreachable | all: node \"c\": nothing reaches it | @start -> a -> b -> last\n"
              "(warning) no-gate | all: node \"c\": a no leads to \"a\", but nobody is asked: it has no gate | \n"
              "no-way-on | all: node \"island\": no way on: give it an edge, to \"@end\" where the graph ends | @start -> a -> island\n"
              "no-way-on | all: node \"last\": no way on: give it an edge, to \"@end\" where the graph ends | @start -> a -> b -> last\n"
              "join-never-fires | all: join \"a+c:last\": nothing reaches its source \"c\" | @start -> a -> b -> last\n"
              "unknown-source | all: join \"a+bb+@start:las\": no node \"bb\" (did you mean \"b\"?) | \n"
              "join-never-fires | all: join \"a+bb+@start:las\": \"@start\" never runs, so it is never done | \n"
              "unknown-target | all: join \"a+bb+@start:las\": no node \"las\" (did you mean \"last\"?) | \n"
              "join-never-fires | all: join \"a+a:last\": source \"a\" is declared twice | \n"
              "join-never-fires | all: join \"a+b:last\": it waits for more than its 2 sources | \n"
              "join-never-fires | all: join \"a+b:@end\": nothing runs at \"@end\" | \n"
              "join-never-fires | all: join \":last\": it has no sources | \n"
              "duplicate-join | all: join \"a+b:last\" is declared twice | \n"
              "duplicate-join | all: join \"a+b:last\" is declared twice | \n");
}

PAWL_TEST(test_G1_a_graph_without_an_entry_is_not_also_told_that_nothing_is_reached)
{
    pawl_graph *g = pawl_graph_new("shut", 1);

    nodes_add(g, "a b");
    pawl_graph_chain(g, "a", "b", PAWL_END, NULL);
    pawl_graph_join(g, "a", "b", NULL);
    CHECK_STR(faults(g), "no-entry | shut: no entry: give \"@start\" an edge | \n");
}

PAWL_TEST(test_G1_joins_gates_and_gotos_reach_too)
{
    pawl_graph *g = pawl_graph_new("reach", 1);

    nodes_add(g, "plan worker gather no done any");
    pawl_graph_edge(g, PAWL_START, "plan");
    pawl_graph_goto(g, "plan", "worker", PAWL_END, NULL);
    pawl_graph_join(g, "gather", "plan", "worker", NULL);
    pawl_graph_gate(g, "gather", "Go on?");
    pawl_graph_gate_no(g, "gather", "no");
    pawl_graph_route(g, "gather", node_routes, NULL, NULL, "done", NULL);
    pawl_graph_edge(g, "no", PAWL_END);
    pawl_graph_edge(g, "done", PAWL_END);
    pawl_graph_join_of(g, "any", (const char *const[]){ "done", "no" }, 2, 1, PAWL_JOIN_CANCELS_REST);
    pawl_graph_edge(g, "any", PAWL_END);
    CHECK_STR(faults(g), "");
}

PAWL_TEST(test_K3_first_values_and_secrets_fit_their_rules)
{
    static const pawl_channel bad[] = {
        { .name = "list", .rule = PAWL_RULE_APPEND, .first = "{}" },
        { .name = "set", .rule = PAWL_RULE_UNION, .first = "1" },
        { .name = "count", .rule = PAWL_RULE_SUM, .first = "\"1\"" },
        { .name = "most", .rule = PAWL_RULE_MAX, .first = "null" },
        { .name = "facts", .rule = PAWL_RULE_MERGE, .first = "[]" },
        { .name = "torn", .first = "{\"a\":" },
        { .name = "key", .first = "1", .secret = "env:KEY" },
        { .name = "keys", .rule = PAWL_RULE_APPEND, .secret = "env:KEY" },
        { .name = "lock", .secret = "KEY" },
        { .name = "all", .secret = "env:*" },
        { .name = "part", .secret = "env:A=B" },
        { .name = "lines", .secret = "file:a\nb" },
    };
    static const pawl_channel good[] = {
        { .name = "l", .rule = PAWL_RULE_APPEND, .first = "[1]" },       { .name = "s", .rule = PAWL_RULE_SUM, .first = "1.5" },
        { .name = "m", .rule = PAWL_RULE_MIN, .first = "\"a\"" },        { .name = "f", .rule = PAWL_RULE_MERGE, .first = "{}" },
        { .name = "v", .first = "null" },                           { .name = "k", .secret = "file:/run/key" },
        { .name = "b", .rule = PAWL_RULE_BARRIER, .first = "[]" },
    };
    pawl_graph *g = essay();

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        pawl_graph_channel_with(g, &bad[i]);
    CHECK_STR(faults(g),
              "bad-first | essay: channel \"list\": its first value is an array, by the rule append | \n"
              "bad-first | essay: channel \"set\": its first value is an array, by the rule union | \n"
              "bad-first | essay: channel \"count\": its first value is a number, by the rule sum | \n"
              "bad-first | essay: channel \"most\": its first value is a number or a string, by the rule max | \n"
              "bad-first | essay: channel \"facts\": its first value is an object, by the rule merge | \n"
              "bad-first | essay: channel \"torn\": its first value: byte 5: unexpected end of data | \n"
              "bad-secret | essay: channel \"key\": a secret has the rule last, and no first value | \n"
              "bad-secret | essay: channel \"keys\": a secret has the rule last, and no first value | \n"
              "bad-secret | essay: channel \"lock\": a secret is \"env:NAME\" of one variable, \"file:PATH\" or \"given:NAME\" | \n"
              "bad-secret | essay: channel \"all\": a secret is \"env:NAME\" of one variable, \"file:PATH\" or \"given:NAME\" | \n"
              "bad-secret | essay: channel \"part\": a secret is \"env:NAME\" of one variable, \"file:PATH\" or \"given:NAME\" | \n"
              "bad-secret | essay: channel \"lines\": a secret is \"env:NAME\" of one variable, \"file:PATH\" or \"given:NAME\" | \n");
    g = essay();
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        pawl_graph_channel_with(g, &good[i]);
    CHECK_STR(faults(g), "");
}

PAWL_TEST(test_E5_an_effect_has_one_declaration_in_all_graphs)
{
    const pawl_limits once = { .cls = PAWL_CLASS_ONCE }, pure = { .cls = PAWL_CLASS_PURE }, none = { .cls = (pawl_class)9, .retry = { .factor = -1 } };
    pawl_graph *g = essay(), *inner = essay();

    pawl_graph_effect(g, "mail", &once);
    pawl_graph_effect(g, "mail", &once);
    pawl_graph_effect(inner, "mail", &once);
    pawl_graph_sub(g, "again", inner);
    pawl_graph_chain(g, PAWL_START, "again", PAWL_END, NULL);
    CHECK_STR(faults(g), "");

    g = essay();
    inner = essay();
    pawl_graph_effect(g, "mail", &once);
    pawl_graph_effect(g, "odd", &none);
    pawl_graph_effect(inner, "mail", &pure);
    pawl_graph_retry(g, "draft", &none.retry);
    pawl_graph_retry(g, NULL, &none.retry);
    pawl_graph_sub(g, "again", inner);
    pawl_graph_chain(g, PAWL_START, "again", PAWL_END, NULL);
    CHECK_STR(faults(g),
              "bad-retry | essay: effect \"odd\": the factor of its retry is a number from 0 on | \n"
              "bad-class | essay: effect \"odd\": 9 is no class | \n"
              "bad-retry | essay: the retry of every node: the factor of its retry is a number from 0 on | \n"
              "bad-retry | essay: node \"draft\": the factor of its retry is a number from 0 on | \n"
              "effect-conflict | essay/again: effect \"mail\": it has other limits elsewhere | \n");
}

PAWL_TEST(test_G6_faults_of_a_subgraph_name_the_way_to_it)
{
    pawl_graph *g = pawl_graph_new("outer", 1), *inner = pawl_graph_new("shared", 1), *deep = pawl_graph_new("deep", 1);

    nodes_add(deep, "x");
    pawl_graph_edge(deep, PAWL_START, "xx");
    pawl_graph_turns(deep, "next?");
    nodes_add(inner, "a a");
    pawl_graph_sub(inner, "deep", deep);
    pawl_graph_chain(inner, PAWL_START, "a", "deep", PAWL_END, NULL);
    pawl_graph_map(inner, "deep", "a", "y", true, true);
    pawl_graph_sub(g, "inner", inner);
    pawl_graph_sub(g, "empty", NULL);
    pawl_graph_chain(g, PAWL_START, "inner", "empty", PAWL_END, NULL);
    pawl_graph_map(g, "inner", "texts", "as", true, false);
    CHECK_STR(faults(g),
              "no-graph | outer: node \"empty\" has no graph | \n"
              "bad-map | outer: map of \"inner\": no channel \"texts\" outside | \n"
              "bad-map | outer: map of \"inner\": no channel \"as\" inside (did you mean \"a\"?) | \n"
              "duplicate-node | outer/inner: node \"a\" is declared twice | \n"
              "bad-map | outer/inner: map of \"deep\": no channel \"y\" inside (did you mean \"x\"?) | \n"
              "turns-in-subgraph | outer/inner/deep: turns are the run's own, and this is a subgraph | \n"
              "unknown-target | outer/inner/deep: node \"@start\": no node \"xx\" (did you mean \"x\"?) | @start -> xx\n"
              "no-way-on | outer/inner/deep: node \"x\": no way on: give it an edge, to \"@end\" where the graph ends | @start -> x\n");
}

PAWL_TEST(test_G6_a_bad_name_of_a_subgraph_is_led_to)
{
    pawl_graph *g = pawl_graph_new("outer", 1), *inner = pawl_graph_new("in/ner", 1);

    nodes_add(inner, "a");
    pawl_graph_chain(inner, PAWL_START, "a", PAWL_END, NULL);
    pawl_graph_sub(g, "s", inner);
    pawl_graph_chain(g, PAWL_START, "s", PAWL_END, NULL);
    CHECK_STR(faults(g), "bad-name | outer/s: \"in/ner\" is no name of a graph: [A-Za-z0-9_-]{1,64} | \n");
}

static pawl_graph *nested(unsigned depth)
{
    pawl_graph *g = pawl_graph_new("g", 1);

    if (depth == 0)
        nodes_add(g, "s");
    else
        pawl_graph_sub(g, "s", nested(depth - 1));
    pawl_graph_chain(g, PAWL_START, "s", PAWL_END, NULL);
    return g;
}

PAWL_TEST(test_X2_graphs_inside_each_other_have_a_limit)
{
    pawl_machine *m = compiled(nested(8));

    CHECK_STR(graph_at(m, "s/s/s/s/s/s/s/s")->where, "s/s/s/s/s/s/s/s");
    CHECK(graph_at(m, "s/s/s/s/s/s/s/s/s") == NULL);
    CHECK_INT(m->nchannels, 9);
    pawl_machine_free(m);
    CHECK_STR(faults(nested(9)), "limit | g: node \"s\": more than 8 graphs inside each other | \n");
}

PAWL_TEST(test_G1_defaults_are_filled_in_where_a_node_says_nothing)
{
    const pawl_limits llm = { .cls = PAWL_CLASS_IDEMPOTENT, .retry = { .max_attempts = 3 }, .attempt_timeout_ms = 10, .total_timeout_ms = 20,
                              .heartbeat_ms = 5 };
    const pawl_retry own = { .max_attempts = 7 }, most = { .max_attempts = 2 };
    pawl_graph *g = pawl_graph_new("outer", 1), *inner = pawl_graph_new("inner", 1);
    pawl_machine *m;
    const gnode *n;

    pawl_graph_work(inner, "ask", "llm");
    pawl_graph_chain(inner, PAWL_START, "ask", PAWL_END, NULL);
    nodes_add(g, "plain");
    pawl_graph_work(g, "first", "llm");
    pawl_graph_work(g, "second", "llm");
    pawl_graph_sub(g, "inner", inner);
    pawl_graph_chain(g, PAWL_START, "plain", "first", "second", "inner", PAWL_END, NULL);
    pawl_graph_hook(g, "first", PAWL_PHASE_AFTER, "own");
    pawl_graph_hook(g, NULL, PAWL_PHASE_BEFORE, "every");
    pawl_graph_effect(g, "llm", &llm);
    pawl_graph_effect(g, "http", NULL);
    pawl_graph_retry(g, "first", &own);
    pawl_graph_retry(g, NULL, &most);
    pawl_graph_timeout(g, "first", 1, 2);
    m = compiled(g);
    n = node_find(graph_of(m), "first");
    CHECK_STR(n->hooks->effect, "every");
    CHECK_STR(n->hooks->next->effect, "own");
    CHECK(n->last_hook == n->hooks->next && n->last_hook->next == NULL && n->asks);
    CHECK_INT(n->limits.cls, PAWL_CLASS_IDEMPOTENT);
    CHECK_INT(n->limits.retry.max_attempts, 7);
    CHECK_INT(n->limits.attempt_timeout_ms, 1);
    CHECK_INT(n->limits.heartbeat_ms, 5);
    n = node_find(graph_of(m), "second");
    CHECK_INT(n->limits.retry.max_attempts, 2);
    CHECK_INT(n->limits.total_timeout_ms, 20);
    n = node_find(graph_of(m), "plain");
    CHECK(n->asks && n->has_retry && !n->has_limits && n->hooks->next == NULL);
    n = node_find(graph_at(m, "inner"), "ask");
    CHECK_STR(graph_at(m, "inner")->where, "inner");
    CHECK(n->asks && n->hooks == NULL && !n->has_retry);
    CHECK_INT(n->limits.retry.max_attempts, 3);
    CHECK_INT(machine_limits(m, "llm")->heartbeat_ms, 5);
    CHECK_INT(machine_limits(m, "http")->cls, PAWL_CLASS_AT_LEAST_ONCE);
    CHECK(machine_channel_find(m, "inner", "ask") != NULL && machine_channel_find(m, "", "ask") == NULL);
    CHECK(machine_channel_find(m, "", "inner") != NULL);
    pawl_machine_free(m);
}

PAWL_TEST(test_essay_channels_come_only_where_none_is_declared)
{
    pawl_graph *g = essay();
    pawl_machine *m;

    pawl_graph_input(g, "request", "draft", NULL);
    m = compiled(g);
    CHECK_INT(m->nchannels, 4);
    pawl_machine_free(m);
    g = essay();
    pawl_graph_channel(g, "count", PAWL_RULE_SUM);
    m = compiled(g);
    CHECK_INT(m->nchannels, 1);
    pawl_machine_free(m);
}

/* ---- the hash ------------------------------------------------------------------------------------------- */

static void twist(pawl_graph *g, unsigned how)
{
    const pawl_limits limits = { .cls = PAWL_CLASS_ONCE };
    const pawl_retry retry = { .max_attempts = 3, .factor = 1.5 };

    switch (how) {
    case 1: pawl_graph_gate(g, "draft", "in?"); break;
    case 2: pawl_graph_interrupt_after(g, "draft"); break;
    case 3: pawl_graph_interrupt_before(g, "draft"); break;
    case 4: pawl_graph_defer(g, "draft"); break;
    case 5: pawl_graph_goto(g, "draft", "revise", NULL); break;
    case 6: pawl_graph_hook(g, "draft", PAWL_PHASE_BEFORE, "ask"); break;
    case 7: pawl_graph_hook(g, "draft", PAWL_PHASE_AFTER, "ask"); break;
    case 8: pawl_graph_effect(g, "llm", &limits); break;
    case 9: pawl_graph_retry(g, "draft", &retry); break;
    case 10: pawl_graph_timeout(g, "draft", 1, 2); break;
    case 11: pawl_graph_turns(g, "next?"); break;
    case 12: pawl_graph_max_steps(g, 7); break;
    case 13: pawl_graph_max_concurrency(g, 7); break;
    case 14: pawl_graph_channel(g, "draft", PAWL_RULE_SUM); break;
    case 15: pawl_graph_join(g, "revise", "draft", "review", NULL); break;
    case 16: pawl_graph_join_of(g, "revise", (const char *const[]){ "draft", "review" }, 2, 1, PAWL_JOIN_CANCELS_REST); break;
    case 17: pawl_graph_edge(g, "draft", PAWL_END); break;
    case 18: pawl_graph_route(g, "draft", node_routes, NULL, NULL, PAWL_END, NULL); break;
    case 19: pawl_graph_when(g, "draft", NULL, NULL, PAWL_END); break;
    case 20: pawl_graph_work(g, "draft2", "llm"), pawl_graph_chain(g, "draft", "draft2", PAWL_END, NULL); break;
    case 21: pawl_graph_sub(g, "draft2", essay()), pawl_graph_chain(g, "draft", "draft2", PAWL_END, NULL); break;
    case 22: pawl_graph_input(g, "request", NULL); break;
    default: break;
    }
}

PAWL_TEST(test_F5_the_hash_is_of_the_definition_and_of_all_of_it)
{
    enum { TWISTS = 23 };
    char hashes[TWISTS][65];
    pawl_machine *m;
    pawl_graph *g;

    for (unsigned how = 0; how < TWISTS; how++) {
        for (int again = 0; again < 2; again++) {
            g = essay();
            twist(g, how);
            m = compiled(g);
            if (again)
                CHECK_STR(pawl_machine_hash(m), hashes[how]);
            memcpy(hashes[how], pawl_machine_hash(m), 65);
            pawl_machine_free(m);
        }
        for (unsigned other = 0; other < how; other++)
            if (strcmp(hashes[other], hashes[how]) == 0)
                CHECK_FAIL("twists %u and %u hash alike", other, how);
    }
    g = essay();
    pawl_graph_writes(g, "draft", "draft", NULL);       /* for check alone */
    m = compiled(g);
    CHECK_STR(pawl_machine_hash(m), hashes[0]);
    pawl_machine_free(m);
    CHECK_STR(hashes[0], "9fd088ac59e44455c839f818231ff459ab5e372346730452c67b517a153198d5");                         /* in journals: it may not move */
}
