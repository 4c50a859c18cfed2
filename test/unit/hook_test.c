/* hook_test.c - the phases of a visit: before, body, after. A hook is a command like any other; here the test itself is the
 * hook, and says its verdict as a receipt (P4, docs/INTERFACES.md "Verdicts of a hook"). */
#include "lib/machines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const pawl_channel channels[] = { { .name = "x" }, { .name = "y" }, { .name = "n", .rule = PAWL_RULE_SUM, .first = "0" },
                                         { .name = "log", .rule = PAWL_RULE_APPEND }, { 0 } };

static pawl_code body(pawl_step *s, void *arg)
{
    (void)arg;
    pawl_set(s, "log", pawl_pack(s, "{s:v}", "body", pawl_args(s) != NULL ? pawl_args(s) : pawl_pack(s, "n")));
    pawl_set_int(s, "n", 1);
    return PAWL_OK;
}

/* a, then b, which may be gone to past its edge to the end; c only by a goto. */
static pawl_graph *hooked(void)
{
    pawl_graph *g = pawl_graph_new("plan", 1);

    for (const pawl_channel *c = channels; c->name != NULL; c++)
        pawl_graph_channel_with(g, c);
    pawl_graph_node(g, "a", body, NULL);
    pawl_graph_node(g, "b", script_node, "log=\"b\"");
    pawl_graph_node(g, "c", script_node, "log=\"c\"");
    pawl_graph_chain(g, PAWL_START, "a", "b", PAWL_END, NULL);
    pawl_graph_edge(g, "c", PAWL_END);
    pawl_graph_goto(g, "a", "c", PAWL_END, NULL);
    return g;
}

static void begin(world *w, pawl_graph *g)
{
    world_begin(w, script_compile(g), NULL);
}

/* What the run has logged after one hook on "a" said `verdict`, and a person or a signal `then`; or why it ended. */
static const char *after_verdict(pawl_phase phase, const char *verdict, const char *then)
{
    static char out[512];
    pawl_graph *g = hooked();
    world w;

    pawl_graph_hook(g, "a", phase, "hook");
    begin(&w, g);
    world_crash(&w);
    if (strcmp(verdict, "error") == 0)
        world_error(&w, "a", "{\"code\":\"io\",\"text\":\"no start\"}");
    else
        world_receipt(&w, "a", verdict);
    if (then != NULL) {
        world_crash(&w);
        if (strchr(then, ' ') != NULL) {
            char name[32];

            snprintf(name, sizeof name, "%.*s", (int)strcspn(then, " "), then);
            world_signal(&w, name, strchr(then, ' ') + 1);
        } else {
            world_answer(&w, "a", then);
        }
    }
    CHECK_INT(pawl_state_next(w.st), PAWL_HALTED);
    snprintf(out, sizeof out, "%s %s", world_status(&w), *world_reason(&w) != '\0' ? world_reason(&w) : world_get(&w, "log"));
    world_end(&w);
    return out;
}

#define REJECTED(text) "rejected {\"code\":\"denied\",\"text\":\"node \\\"a\\\": hook \\\"hook\\\": " text "\"}"

/* ---- the six verdicts --------------------------------------------------------------------------- */

PAWL_TEST(test_P4_before_a_node_all_six_verdicts)
{
    const struct { const char *verdict, *then, *comes; } rows[] = {
        { "{\"verdict\":\"proceed\"}", NULL, "completed [{\"body\":null},\"b\"]" },
        { "{\"verdict\":\"modify\",\"args\":{\"k\":1}}", NULL, "completed [{\"body\":{\"k\":1}},\"b\"]" },
        { "{\"verdict\":\"modify\"}", NULL, "completed [{\"body\":null},\"b\"]" },
        { "{\"verdict\":\"replace\",\"writes\":{\"log\":\"instead\",\"n\":5}}", NULL, "completed [\"instead\",\"b\"]" },
        { "{\"verdict\":\"replace\"}", NULL, "completed [\"b\"]" },
        { "{\"verdict\":\"deny\",\"reason\":\"not today\"}", NULL, REJECTED("not today") },
        { "{\"verdict\":\"deny\"}", NULL, REJECTED("denied") },
        { "{\"verdict\":\"ask\",\"prompt\":\"really?\"}", "true", "completed [{\"body\":null},\"b\"]" },
        { "{\"verdict\":\"ask\",\"prompt\":\"really?\"}", "false", REJECTED("a person said no") },
        { "{\"verdict\":\"ask\",\"options\":[\"yes\",\"no\"]}", "\"yes\"", "completed [{\"body\":null},\"b\"]" },
        { "{\"verdict\":\"ask\",\"options\":[\"yes\",\"no\"]}", "\"no\"", REJECTED("a person said no") },
        { "{\"verdict\":\"defer\"}", "verdict {\"verdict\":\"proceed\"}", "completed [{\"body\":null},\"b\"]" },
        { "{\"verdict\":\"defer\",\"name\":\"scan\"}", "scan {\"verdict\":\"modify\",\"args\":7}", "completed [{\"body\":7},\"b\"]" },
        { "{\"verdict\":\"defer\"}", "verdict {\"verdict\":\"deny\",\"reason\":\"found\"}", REJECTED("found") },
        { "{\"verdict\":\"defer\"}", "verdict {\"verdict\":\"replace\",\"writes\":{\"log\":1}}", "completed [1,\"b\"]" },
        { "{\"verdict\":\"defer\"}", "verdict {\"verdict\":\"defer\"}", REJECTED("it defers again") },
        { "{\"verdict\":\"defer\"}", "verdict 5", REJECTED("gave no verdict") },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CHECK_STR(after_verdict(PAWL_PHASE_BEFORE, rows[i].verdict, rows[i].then), rows[i].comes);
}

PAWL_TEST(test_P4_after_a_node_all_six_verdicts)
{
    const struct { const char *verdict, *then, *comes; } rows[] = {
        { "{\"verdict\":\"proceed\"}", NULL, "completed [{\"body\":null},\"b\"]" },
        { "{\"verdict\":\"modify\",\"goto\":\"c\"}", NULL, "completed [{\"body\":null},\"c\"]" },
        { "{\"verdict\":\"modify\",\"goto\":[\"c\"]}", NULL, "completed [{\"body\":null},\"c\"]" },
        { "{\"verdict\":\"modify\",\"goto\":\"@end\"}", NULL, "completed [{\"body\":null}]" },
        { "{\"verdict\":\"modify\"}", NULL, "completed [{\"body\":null},\"b\"]" },
        { "{\"verdict\":\"replace\",\"writes\":{\"log\":\"instead\"}}", NULL, "completed [\"instead\",\"b\"]" },
        { "{\"verdict\":\"replace\",\"writes\":{},\"goto\":\"c\"}", NULL, "completed [\"c\"]" },
        { "{\"verdict\":\"deny\",\"reason\":\"too late\"}", NULL, REJECTED("too late") },
        { "{\"verdict\":\"ask\",\"reason\":\"sure?\"}", "true", "completed [{\"body\":null},\"b\"]" },
        { "{\"verdict\":\"ask\",\"reason\":\"sure?\"}", "false", REJECTED("a person said no") },
        { "{\"verdict\":\"defer\"}", "verdict {\"verdict\":\"modify\",\"goto\":\"c\"}", "completed [{\"body\":null},\"c\"]" },
        { "{\"verdict\":\"defer\"}", "verdict {\"verdict\":\"deny\",\"reason\":\"found\"}", REJECTED("found") },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CHECK_STR(after_verdict(PAWL_PHASE_AFTER, rows[i].verdict, rows[i].then), rows[i].comes);
}

PAWL_TEST(test_P4_what_is_no_verdict_denies)
{
    const char *const said[] = { "null", "{}", "true", "\"proceed\"", "{\"verdict\":\"allow\"}", "{\"verdict\":1}", "[]" };

    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        CHECK_STR(after_verdict(PAWL_PHASE_BEFORE, said[i], NULL), REJECTED("gave no verdict"));
        CHECK_STR(after_verdict(PAWL_PHASE_AFTER, said[i], NULL), REJECTED("gave no verdict"));
    }
    CHECK_STR(after_verdict(PAWL_PHASE_BEFORE, "error", NULL), REJECTED("failed"));
    CHECK_STR(after_verdict(PAWL_PHASE_AFTER, "error", NULL), REJECTED("failed"));
}

/* Nothing of a denied node is kept, and nothing of it was performed. */
PAWL_TEST(test_P4_a_denied_node_leaves_no_trace_in_the_state)
{
    pawl_graph *g = hooked();
    world w;

    pawl_graph_hook(g, "a", PAWL_PHASE_AFTER, "hook");
    begin(&w, g);
    world_receipt(&w, "a", "{\"verdict\":\"deny\"}");
    CHECK_STR(world_all(&w), "{\"n\":0}");
    CHECK_INT(world_feed(&w, &(pawl_event){ .kind = PAWL_EV_REOPEN }), PAWL_IGNORED);
    world_end(&w);
}

PAWL_TEST(test_P4_a_hook_leads_only_where_the_node_may_go_and_writes_only_what_there_is)
{
    CHECK_STR(after_verdict(PAWL_PHASE_AFTER, "{\"verdict\":\"modify\",\"goto\":\"b\"}", NULL),
              "failed {\"code\":\"invalid\",\"text\":\"node \\\"a\\\": \\\"b\\\" is no declared target: say pawl_graph_goto(g, \\\"a\\\", \\\"b\\\", NULL)\"}");
    CHECK_STR(after_verdict(PAWL_PHASE_AFTER, "{\"verdict\":\"modify\",\"goto\":[\"c\",7]}", NULL),
              "failed {\"code\":\"invalid\",\"text\":\"node \\\"a\\\": \\\"\\\" is no declared target: say pawl_graph_goto(g, \\\"a\\\", \\\"\\\", NULL)\"}");
    CHECK_STR(after_verdict(PAWL_PHASE_BEFORE, "{\"verdict\":\"replace\",\"writes\":{\"z\":1}}", NULL),
              "failed {\"code\":\"invalid\",\"text\":\"node \\\"a\\\": there is no channel \\\"z\\\"\"}");
}

/* ---- several phases in one visit ------------------------------------------------------------------- */

PAWL_TEST(test_P4_hooks_run_in_order_and_each_sees_what_those_before_it_made)
{
    pawl_graph *g = hooked();
    world w;

    pawl_graph_hook(g, "a", PAWL_PHASE_BEFORE, "own");
    pawl_graph_hook(g, "a", PAWL_PHASE_AFTER, "own");
    pawl_graph_hook(g, NULL, PAWL_PHASE_BEFORE, "all");       /* of every node: before those of one */
    pawl_graph_hook(g, NULL, PAWL_PHASE_AFTER, "all");
    begin(&w, g);
    world_receipt(&w, "a", "{\"args\":{\"k\":1},\"verdict\":\"modify\"}");
    world_receipt(&w, "a", "{\"verdict\":\"proceed\"}");
    world_receipt(&w, "a", "{\"verdict\":\"replace\",\"writes\":{\"log\":\"r\"}}");
    world_receipt(&w, "a", "{\"verdict\":\"proceed\"}");
    world_receipt(&w, "b", "{\"verdict\":\"proceed\"}");
    world_receipt(&w, "b", "{\"verdict\":\"proceed\"}");
    world_expect(&w, "1 start working | start {}; close -> a; call 1.a.1.0 {\"args\":{\"args\":null,\"node\":\"a\",\"phase\":\"before\"},\"effect\":\"all\"}\n"
                     ". receipt 1.a.1.0 {\"args\":{\"k\":1},\"verdict\":\"modify\"}; call 1.a.1.1 {\"args\":{\"args\":{\"k\":1},\"node\":\"a\",\"phase\":\"before\"},\"effect\":\"own\"}\n"
                     ". receipt 1.a.1.1 {\"verdict\":\"proceed\"}; call 1.a.1.2 {\"args\":{\"args\":{\"k\":1},\"node\":\"a\",\"phase\":\"after\",\"writes\":{\"log\":{\"body\":{\"k\":1}},\"n\":1}},\"effect\":\"all\"}\n"
                     ". receipt 1.a.1.2 {\"verdict\":\"replace\",\"writes\":{\"log\":\"r\"}}; call 1.a.1.3 {\"args\":{\"args\":{\"k\":1},\"node\":\"a\",\"phase\":\"after\",\"writes\":{\"log\":\"r\"}},\"effect\":\"own\"}\n"
                     ". receipt 1.a.1.3 {\"verdict\":\"proceed\"}; a leaves log=\"r\"\n"
                     "2 tick working | records 8; close -> b; call 2.b.1.0 {\"args\":{\"args\":null,\"node\":\"b\",\"phase\":\"before\"},\"effect\":\"all\"}\n"
                     ". receipt 2.b.1.0 {\"verdict\":\"proceed\"}; call 2.b.1.1 {\"args\":{\"args\":null,\"node\":\"b\",\"phase\":\"after\",\"writes\":{\"log\":\"b\"}},\"effect\":\"all\"}\n"
                     ". receipt 2.b.1.1 {\"verdict\":\"proceed\"}; b leaves log=\"b\"\n"
                     "3 tick completed | records 4; close ->\n");
    world_end(&w);
}

PAWL_TEST(test_P4_a_node_that_is_replaced_still_meets_the_hooks_behind)
{
    pawl_graph *g = hooked();
    world w;

    pawl_graph_hook(g, "a", PAWL_PHASE_BEFORE, "first");
    pawl_graph_hook(g, "a", PAWL_PHASE_BEFORE, "second");
    pawl_graph_hook(g, "a", PAWL_PHASE_AFTER, "third");
    pawl_graph_gate(g, "a", "never asked");             /* it is not entered */
    begin(&w, g);
    world_receipt(&w, "a", "{\"verdict\":\"replace\",\"writes\":{\"log\":\"r\"}}");
    world_receipt(&w, "a", "{\"verdict\":\"proceed\"}");
    world_receipt(&w, "a", "{\"verdict\":\"proceed\"}");
    world_expect(&w, "1 start working | start {}; close -> a; call 1.a.1.0 {\"args\":{\"args\":null,\"node\":\"a\",\"phase\":\"before\"},\"effect\":\"first\"}\n"
                     ". receipt 1.a.1.0 {\"verdict\":\"replace\",\"writes\":{\"log\":\"r\"}}; call 1.a.1.1 {\"args\":{\"args\":null,\"node\":\"a\",\"phase\":\"before\"},\"effect\":\"second\"}\n"
                     ". receipt 1.a.1.1 {\"verdict\":\"proceed\"}; call 1.a.1.2 {\"args\":{\"args\":null,\"node\":\"a\",\"phase\":\"after\",\"writes\":{\"log\":\"r\"}},\"effect\":\"third\"}\n"
                     ". receipt 1.a.1.2 {\"verdict\":\"proceed\"}; a leaves log=\"r\"\n"
                     "2 tick working | records 6; close -> b\n"
                     "3 tick completed | b leaves log=\"b\"; close ->\n");
    world_end(&w);
}

/* Interrupt, hooks, gate, body with a question and a call, hooks: each waits, crashes, and is asked once. */
PAWL_TEST(test_P4_a_visit_goes_through_its_phases_and_asks_nothing_twice)
{
    pawl_graph *g = hooked();
    world w;

    pawl_graph_node(g, "d", script_node, "ask \"what?\" -> x | call llm 1 -> y");
    pawl_graph_edge(g, "b", "d");
    pawl_graph_edge(g, "d", PAWL_END);
    pawl_graph_interrupt_before(g, "d");
    pawl_graph_hook(g, "d", PAWL_PHASE_BEFORE, "before");
    pawl_graph_gate(g, "d", "in?");
    pawl_graph_hook(g, "d", PAWL_PHASE_AFTER, "after");
    pawl_graph_interrupt_after(g, "d");
    begin(&w, g);
    for (int i = 0; pawl_state_next(w.st) != PAWL_HALTED; i++) {
        CHECK(i < 8);
        world_crash(&w);
        CHECK_INT(pawl_state_commands(w.st) + pawl_state_waits(w.st), 1);
        if (pawl_state_commands(w.st) > 0)
            world_receipt(&w, "d", "{\"verdict\":\"proceed\"}");
        else
            world_answer(&w, NULL, "true");
    }
    world_expect(&w, "1 start working | start {}; close -> a\n"
                     "2 tick working | a leaves log={\"body\":null} n=1; close -> b\n"
                     "3 tick input-required | b leaves log=\"b\"; close -> d; ask 3.d.1.0 {\"kind\":\"question\",\"prompt\":\"before d\",\"slot\":\"d\"}\n"
                     ". answer 3.d.1.0 true; call 3.d.1.1 {\"args\":{\"args\":null,\"node\":\"d\",\"phase\":\"before\"},\"effect\":\"before\"}\n"
                     ". receipt 3.d.1.1 {\"verdict\":\"proceed\"}; ask 3.d.1.2 {\"kind\":\"approval\",\"prompt\":\"in?\",\"schema\":{\"type\":\"boolean\"},\"slot\":\"d.2\"}\n"
                     ". answer 3.d.1.2 true; ask 3.d.1.3 {\"kind\":\"question\",\"prompt\":\"what?\",\"slot\":\"d.3\"}\n"
                     ". answer 3.d.1.3 true; call 3.d.1.4 {\"args\":1,\"effect\":\"llm\"}\n"
                     ". receipt 3.d.1.4 {\"verdict\":\"proceed\"}; call 3.d.1.5 {\"args\":{\"args\":null,\"node\":\"d\",\"phase\":\"after\",\"writes\":{\"x\":true,\"y\":{\"verdict\":\"proceed\"}}},\"effect\":\"after\"}\n"
                     ". receipt 3.d.1.5 {\"verdict\":\"proceed\"}; d leaves x=true y={\"verdict\":\"proceed\"}\n"
                     "4 tick input-required | records 12; close ->; ask 3.d.1.6 {\"hold\":true,\"kind\":\"question\",\"prompt\":\"after d\",\"slot\":\"d\"}\n"
                     "5 answer completed | answer 3.d.1.6 true\n");
    world_end(&w);
}

/* A retry is a new visit: its hooks are asked anew, for they might say something else by now. */
PAWL_TEST(test_E7_P4_a_retry_meets_its_hooks_again)
{
    const pawl_retry retry = { .max_attempts = 2 };
    pawl_graph *g = hooked();
    world w;

    pawl_graph_node(g, "d", script_node, "fail transient busy");
    pawl_graph_chain(g, "b", "d", PAWL_END, NULL);
    pawl_graph_retry(g, "d", &retry);
    pawl_graph_hook(g, "d", PAWL_PHASE_BEFORE, "before");
    begin(&w, g);
    world_receipt(&w, "d", "{\"verdict\":\"proceed\"}");
    CHECK_STR(world_open(&w, "d", false), "run-1~0000000000000001/3.d.2.0");
    world_receipt(&w, "d", "{\"verdict\":\"replace\",\"writes\":{\"x\":1}}");
    CHECK_STR(world_get(&w, "x"), "1");
    CHECK_STR(world_status(&w), "completed");
    world_end(&w);
}

PAWL_TEST(test_P4_hooks_of_work_nodes_and_subgraphs)
{
    const part inner[] = { { "in", NULL, "log=\"in\"" }, { 0 } };
    pawl_graph *g = pawl_graph_new("plan", 1);
    world w;

    for (const pawl_channel *c = channels; c->name != NULL; c++)
        pawl_graph_channel_with(g, c);
    pawl_graph_work(g, "job", "job");
    pawl_graph_sub(g, "sub", script_graph("inner", 1, channels, inner));
    pawl_graph_map(g, "sub", "log", "log", false, true);
    pawl_graph_chain(g, PAWL_START, "job", "sub", PAWL_END, NULL);
    pawl_graph_hook(g, NULL, PAWL_PHASE_BEFORE, "before");
    pawl_graph_hook(g, NULL, PAWL_PHASE_AFTER, "after");
    begin(&w, g);
    world_receipt(&w, "job", "{\"args\":5,\"verdict\":\"modify\"}");
    world_receipt(&w, "job", "{\"log\":\"job\"}");
    world_receipt(&w, "job", "{\"verdict\":\"proceed\"}");
    world_receipt(&w, "sub", "{\"verdict\":\"proceed\"}");
    world_receipt(&w, "sub", "{\"verdict\":\"proceed\"}");
    world_expect(&w, "1 start working | start {}; close -> job; call 1.job.1.0 {\"args\":{\"args\":null,\"node\":\"job\",\"phase\":\"before\"},\"effect\":\"before\"}\n"
                     ". receipt 1.job.1.0 {\"args\":5,\"verdict\":\"modify\"}; call 1.job.1.1 {\"args\":{\"args\":5,\"state\":null},\"effect\":\"job\",\"refs\":[[\"/state\",\"channel\",\"*\"]]}\n"
                     ". receipt 1.job.1.1 {\"log\":\"job\"}; call 1.job.1.2 {\"args\":{\"args\":5,\"node\":\"job\",\"phase\":\"after\",\"writes\":{\"log\":\"job\"}},\"effect\":\"after\"}\n"
                     ". receipt 1.job.1.2 {\"verdict\":\"proceed\"}; job leaves log=\"job\"\n"
                     "2 tick working | records 6; close -> sub; call 2.sub.1.0 {\"args\":{\"args\":null,\"node\":\"sub\",\"phase\":\"before\"},\"effect\":\"before\"}\n"
                     ". receipt 2.sub.1.0 {\"verdict\":\"proceed\"}; sub enters; sub close -> in; sub/1/1/in leaves log=\"in\"; sub close ->; call 2.sub.1.1 {\"args\":{\"args\":null,\"node\":\"sub\",\"phase\":\"after\",\"writes\":{\"log\":[\"in\"]}},\"effect\":\"after\"}\n"
                     ". receipt 2.sub.1.1 {\"verdict\":\"proceed\"}; sub leaves log+=[\"in\"]\n"
                     "3 tick completed | records 8; close ->\n");
    world_end(&w);
}

/* A subgraph that is denied or replaced is not entered at all. */
PAWL_TEST(test_P4_a_subgraph_that_a_hook_stops_is_never_entered)
{
    const char *const verdicts[] = { "{\"verdict\":\"deny\"}", "{\"verdict\":\"replace\",\"writes\":{\"x\":1}}" };
    const part inner[] = { { "in", NULL, "call llm 1" }, { 0 } };
    world w;

    for (int i = 0; i < 2; i++) {
        pawl_graph *g = hooked();

        pawl_graph_sub(g, "sub", script_graph("inner", 1, NULL, inner));
        pawl_graph_chain(g, "b", "sub", PAWL_END, NULL);
        pawl_graph_hook(g, "sub", PAWL_PHASE_BEFORE, "before");
        begin(&w, g);
        world_receipt(&w, "sub", verdicts[i]);
        CHECK_STR(world_status(&w), i == 0 ? "rejected" : "completed");
        CHECK_STR(world_get(&w, "x"), i == 0 ? "" : "1");
        CHECK_STR(strstr(journal_of(&w), "[\"frame\"") == NULL ? "" : "entered", "");
        world_end(&w);
    }
}

/* The hook is told what the node wrote: of two writes of one channel the last. */
PAWL_TEST(test_P4_an_after_hook_is_told_what_was_written)
{
    const part parts[] = { { "a", NULL, "x=1 | x={\"k\":[2]} | y=\"z\" | log=1 | log=2" }, { 0 } };
    pawl_graph *g = script_graph("plan", 1, channels, parts);
    pawl_command cmd;
    world w;

    pawl_graph_hook(g, "a", PAWL_PHASE_AFTER, "hook");
    begin(&w, g);
    CHECK_INT(pawl_state_command(w.st, 0, w.look, &cmd, NULL, &w.err), PAWL_OK);
    CHECK_STR(pawl_text(w.look, cmd.args), "{\"args\":null,\"node\":\"a\",\"phase\":\"after\",\"writes\":{\"log\":2,\"x\":{\"k\":[2]},\"y\":\"z\"}}");
    world_receipt(&w, "a", "{\"verdict\":\"proceed\"}");
    CHECK_STR(world_get(&w, "log"), "[1,2]");
    world_end(&w);
}
