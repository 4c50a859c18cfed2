/* pause_test.c - every way in which a graph waits for somebody: before, after and inside a node, between two supersteps, at a
 * gate; alone and in a fan-out (G5, W2, W4, W7). */
#include "lib/machines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const pawl_channel channels[] = { { .name = "x" }, { .name = "y" }, { .name = "n", .rule = PAWL_RULE_SUM, .first = "0" },
                                         { .name = "log", .rule = PAWL_RULE_APPEND }, { .name = "key", .secret = "env:KEY" }, { 0 } };

static pawl_graph *graph(const part *parts)
{
    return script_graph("plan", 1, channels, parts);
}

static void begin(world *w, pawl_graph *g, const char *input)
{
    world_begin(w, script_compile(g), input);
}

/* W2: nobody has answered, so whatever is tried, nothing moves. */
static void stands_still(world *w)
{
    char *open = strdup(world_open(w, NULL, true));

    CHECK_INT(pawl_state_next(w->st), PAWL_INTERRUPTED);
    CHECK_INT(world_tick(w), PAWL_IGNORED);
    world_crash(w);
    CHECK_INT(world_tick(w), PAWL_IGNORED);
    CHECK_STR(world_open(w, NULL, true), open);
    CHECK_STR(world_status(w), "input-required");
    free(open);
}

/* ---- before and after a node --------------------------------------------------------------------- */

PAWL_TEST(test_G5_before_a_node_nothing_of_it_runs_until_somebody_answers)
{
    const part parts[] = { { "a", NULL, "x=1" }, { "b", "a", "call llm 1 -> y" }, { 0 } };
    pawl_graph *g = graph(parts);
    world w;

    pawl_graph_interrupt_before(g, "b");
    begin(&w, g, NULL);
    stands_still(&w);
    CHECK_INT(pawl_state_commands(w.st), 0);
    world_answer(&w, "b", "null");              /* any answer will do */
    world_receipt(&w, "b", "2");
    world_expect(&w, "1 start working | start {}; close -> a\n"
                     "2 tick input-required | a leaves x=1; close -> b; ask 2.b.1.0 {\"kind\":\"question\",\"prompt\":\"before b\",\"slot\":\"b\"}\n"
                     ". answer 2.b.1.0 null; call 2.b.1.1 {\"args\":1,\"effect\":\"llm\"}\n"
                     ". receipt 2.b.1.1 2; b leaves y=2\n"
                     "3 tick completed | records 4; close ->\n");
    world_end(&w);
}

PAWL_TEST(test_G5_after_a_node_its_writes_are_there_and_it_never_runs_again)
{
    const part parts[] = { { "a", NULL, "x=1 | n=1" }, { "b", "a", "get x -> y" }, { 0 } };
    pawl_graph *g = graph(parts);
    world w;

    pawl_graph_interrupt_after(g, "a");
    begin(&w, g, NULL);
    CHECK_STR(world_get(&w, "x"), "1");
    CHECK_STR(world_tasks(&w), "b");
    stands_still(&w);
    world_answer(&w, "a", "\"go on\"");
    world_expect(&w, "1 start working | start {}; close -> a\n"
                     "2 tick input-required | a leaves x=1 n=1; close -> b; ask 1.a.1.0 {\"hold\":true,\"kind\":\"question\",\"prompt\":\"after a\",\"slot\":\"a\"}\n"
                     "3 answer working | answer 1.a.1.0 \"go on\"\n"
                     "4 tick completed | b leaves y=1; close ->\n");
    CHECK_STR(world_get(&w, "n"), "1");
    world_end(&w);
}

PAWL_TEST(test_G5_after_the_last_node_the_run_waits_before_it_completes)
{
    pawl_graph *g = graph((const part[]){ { "a", NULL, "x=1" }, { 0 } });
    world w;

    pawl_graph_interrupt_after(g, "a");
    begin(&w, g, NULL);
    stands_still(&w);
    world_answer(&w, NULL, "true");
    CHECK_STR(world_status(&w), "completed");
    world_end(&w);
}

/* Not the first task alone, and though nothing is written. */
PAWL_TEST(test_G5_every_task_of_a_superstep_is_stopped_before_and_after)
{
    const part parts[] = { { "a", NULL, "" }, { "b", NULL, "" }, { "c", "a b", "" }, { 0 } };
    pawl_graph *g = graph(parts);
    world w;

    pawl_graph_interrupt_before(g, "b");
    pawl_graph_interrupt_before(g, "c");
    pawl_graph_interrupt_after(g, "a");
    pawl_graph_interrupt_after(g, "b");
    begin(&w, g, NULL);
    world_answer(&w, "b", "1");                 /* before b; a has left */
    CHECK_INT(pawl_state_waits(w.st), 2);
    world_answer(&w, "b", "2");
    stands_still(&w);
    world_answer(&w, "a", "3");
    world_answer(&w, "c", "4");
    world_expect(&w, "1 start input-required | start {}; close -> a b; a leaves; ask 1.b.1.0 {\"kind\":\"question\",\"prompt\":\"before b\",\"slot\":\"b\"}\n"
                     "2 answer input-required | answer 1.b.1.0 1; b leaves; close -> c; ask 1.a.1.0 {\"hold\":true,\"kind\":\"question\",\"prompt\":\"after a\",\"slot\":\"a\"}; ask 1.b.1.1 {\"hold\":true,\"kind\":\"question\",\"prompt\":\"after b\",\"slot\":\"b\"}\n"
                     "3 answer input-required | answer 1.b.1.1 2\n"
                     "4 answer input-required | answer 1.a.1.0 3; ask 2.c.1.0 {\"kind\":\"question\",\"prompt\":\"before c\",\"slot\":\"c\"}\n"
                     "5 answer completed | answer 2.c.1.0 4; c leaves; close ->\n");
    world_end(&w);
}

PAWL_TEST(test_G5_each_send_is_stopped_by_itself)
{
    const part parts[] = { { "a", NULL, "send w 0 | send w 1 | goto @end" }, { "w", "-", "n=1" }, { 0 } };
    pawl_graph *g = graph(parts);
    world w;

    pawl_graph_interrupt_before(g, "w");
    pawl_graph_interrupt_after(g, "w");
    begin(&w, g, NULL);
    CHECK_INT(pawl_state_waits(w.st), 2);
    world_answer(&w, "w:1", "1");
    world_answer(&w, "w:0", "0");
    CHECK_STR(world_get(&w, "n"), "2");
    CHECK_INT(pawl_state_waits(w.st), 2);
    world_answer(&w, "w:1", "1");
    world_answer(&w, "w:0", "0");
    CHECK_STR(world_status(&w), "completed");
    world_end(&w);
}

PAWL_TEST(test_G5_work_nodes_are_stopped_like_any_other)
{
    pawl_graph *g = graph((const part[]){ { 0 } });
    world w;

    pawl_graph_work(g, "a", "job");
    pawl_graph_chain(g, PAWL_START, "a", PAWL_END, NULL);
    pawl_graph_interrupt_before(g, "a");
    pawl_graph_interrupt_after(g, "a");
    pawl_graph_gate(g, "a", "run the job?");
    begin(&w, g, "{\"x\":1}");
    world_answer(&w, NULL, "true");
    stands_still(&w);                           /* at the gate */
    world_answer(&w, NULL, "true");
    CHECK_INT(pawl_state_commands(w.st), 1);
    world_receipt(&w, "a", "{\"x\":2}");
    stands_still(&w);
    world_answer(&w, NULL, "true");
    world_expect(&w, "1 start input-required | start {\"x\":1}; close -> a; ask 1.a.1.0 {\"kind\":\"question\",\"prompt\":\"before a\",\"slot\":\"a\"}\n"
                     ". answer 1.a.1.0 true; ask 1.a.1.1 {\"kind\":\"approval\",\"prompt\":\"run the job?\",\"schema\":{\"type\":\"boolean\"},\"slot\":\"a.1\"}\n"
                     ". answer 1.a.1.1 true; call 1.a.1.2 {\"args\":{\"args\":null,\"state\":null},\"effect\":\"job\",\"refs\":[[\"/state\",\"channel\",\"*\"]]}\n"
                     ". receipt 1.a.1.2 {\"x\":2}; a leaves x=2\n"
                     "2 tick input-required | records 6; close ->; ask 1.a.1.3 {\"hold\":true,\"kind\":\"question\",\"prompt\":\"after a\",\"slot\":\"a\"}\n"
                     "3 answer completed | answer 1.a.1.3 true\n");
    world_end(&w);
}

/* ---- inside a node -------------------------------------------------------------------------------------- */

static int bodies;

static pawl_code twice(pawl_step *s, void *arg)
{
    const pawl_value *a, *b;
    pawl_code rc;

    (void)arg;
    bodies++;
    if ((rc = pawl_ask(s, pawl_pack(s, "s", "first?"), &a)) != PAWL_OK || (rc = pawl_ask(s, pawl_pack(s, "s", "second?"), &b)) != PAWL_OK)
        return rc;
    pawl_set_string(s, "x", pawl_format(s, "%s+%s", pawl_value_string(a), pawl_value_string(b)));
    return PAWL_OK;
}

PAWL_TEST(test_G5_several_questions_in_one_node_are_answered_in_order_of_the_calls)
{
    pawl_graph *g = graph((const part[]){ { 0 } });
    world w;

    pawl_graph_node(g, "a", twice, NULL);
    pawl_graph_chain(g, PAWL_START, "a", PAWL_END, NULL);
    bodies = 0;
    begin(&w, g, NULL);
    CHECK(bodies > 0);
    stands_still(&w);
    bodies = 0;
    world_answer(&w, NULL, "\"a\"");
    CHECK(bodies > 0);                          /* from its top */
    stands_still(&w);
    world_answer(&w, NULL, "\"b\"");
    world_expect(&w, "1 start input-required | start {}; close -> a; ask 1.a.1.0 {\"kind\":\"question\",\"prompt\":\"first?\",\"slot\":\"a\"}\n"
                     ". answer 1.a.1.0 \"a\"; ask 1.a.1.1 {\"kind\":\"question\",\"prompt\":\"second?\",\"slot\":\"a.1\"}\n"
                     ". answer 1.a.1.1 \"b\"; a leaves x=\"a+b\"\n"
                     "2 tick completed | records 4; close ->\n");
    CHECK_STR(world_get(&w, "x"), "\"a+b\"");
    world_end(&w);
}

static pawl_code until_valid(pawl_step *s, void *arg)
{
    const pawl_value *age = NULL;
    pawl_code rc;

    (void)arg;
    for (const char *prompt = "how old?"; pawl_value_type(age) != PAWL_TYPE_INT; prompt = pawl_format(s, "%s is no age", pawl_text(s, age)))
        if ((rc = pawl_ask(s, pawl_pack(s, "s", prompt), &age)) != PAWL_OK)
            return rc;
    pawl_set(s, "x", age);
    return PAWL_OK;
}

PAWL_TEST(test_G5_a_node_may_ask_until_it_is_content)
{
    pawl_graph *g = graph((const part[]){ { 0 } });
    world w;

    pawl_graph_node(g, "a", until_valid, NULL);
    pawl_graph_chain(g, PAWL_START, "a", PAWL_END, NULL);
    begin(&w, g, NULL);
    world_snapshot(&w);
    world_answer(&w, NULL, "\"old\"");
    world_crash(&w);
    world_answer(&w, NULL, "null");
    world_answer(&w, NULL, "41");
    world_expect(&w, "1 start input-required | start {}; close -> a; ask 1.a.1.0 {\"kind\":\"question\",\"prompt\":\"how old?\",\"slot\":\"a\"}\n"
                     ". answer 1.a.1.0 \"old\"; ask 1.a.1.1 {\"kind\":\"question\",\"prompt\":\"\\\"old\\\" is no age\",\"slot\":\"a.1\"}\n"
                     ". answer 1.a.1.1 null; ask 1.a.1.2 {\"kind\":\"question\",\"prompt\":\"null is no age\",\"slot\":\"a.2\"}\n"
                     ". answer 1.a.1.2 41; a leaves x=41\n"
                     "2 tick completed | records 6; close ->\n");
    world_end(&w);
}

/* Asked before leaving, both stand open; the node runs again when it has every answer. */
PAWL_TEST(test_W4_several_questions_at_once_are_answered_in_any_order)
{
    const part parts[] = { { "a", NULL, "also ask \"first?\" -> log | also ask \"second?\" -> log" }, { 0 } };
    world w;

    for (int order = 0; order < 2; order++) {
        begin(&w, graph(parts), NULL);
        CHECK_INT(pawl_state_waits(w.st), 2);
        world_answer(&w, order == 0 ? "a" : "a.1", order == 0 ? "1" : "2");
        stands_still(&w);
        world_answer(&w, order == 0 ? "a.1" : "a", order == 0 ? "2" : "1");
        CHECK_STR(world_get(&w, "log"), "[1,2]");
        world_end(&w);
    }
}

PAWL_TEST(test_W3_a_bare_answer_to_several_questions_is_refused)
{
    const part parts[] = { { "a", NULL, "ask \"?\" -> x" }, { "b", NULL, "ask \"?\" -> y" }, { 0 } };
    world w;

    begin(&w, graph(parts), NULL);
    CHECK_INT(world_feed(&w, &(pawl_event){ .kind = PAWL_EV_ANSWER, .value = "1" }), PAWL_INVALID);
    CHECK_STR(w.err.text, "run-1: 2 waits are open: name one by its id");
    CHECK_INT(pawl_state_waits(w.st), 2);
    world_answer(&w, "b", "2");
    world_answer(&w, NULL, "1");                /* the only one by now */
    CHECK_STR(world_get(&w, "x"), "1");
    world_end(&w);
}

/* ---- in a fan-out ------------------------------------------------------------------------------------------ */

PAWL_TEST(test_G5_a_pause_in_a_fan_out_loses_nothing_of_its_siblings)
{
    const part parts[] = { { "plan", NULL, "send asks 0 | send calls {\"k\":1} | send plain 2 | send fails 3" },
                           { "asks", "-", "ask \"?\" -> log" },
                           { "calls", "-", "call llm 1 -> log | call llm 2 -> log" },
                           { "plain", "-", "log=\"plain\"" },
                           { "fails", "-", "call llm 3 | log=\"fails\"" },
                           { "end", "plan", "get log -> x" },
                           { 0 } };
    world w;

    begin(&w, graph(parts), NULL);
    CHECK_STR(world_status(&w), "working");             /* a question is open, and so are commands */
    world_receipt(&w, "calls", "\"c1\"");
    world_crash(&w);
    world_receipt(&w, "fails", "0");
    world_receipt(&w, "calls", "\"c2\"");
    stands_still(&w);                                   /* now only a person can go on */
    world_answer(&w, "asks", "\"a\"");
    CHECK_STR(world_get(&w, "log"), "[\"a\",\"c1\",\"c2\",\"plain\",\"fails\"]");
    CHECK_STR(world_status(&w), "completed");
    world_end(&w);
}

/* n tasks ask at once; each answer is found by its own question, whatever the order. */
PAWL_TEST(test_W4_questions_of_many_tasks_are_answered_in_any_order)
{
    const part parts[] = { { "plan", NULL, "send w 0 | send w 1 | send w 2 | goto @end" }, { "w", "-", "ask \"?\" -> log" }, { 0 } };
    const char *const orders[6] = { "012", "021", "102", "120", "201", "210" };
    char first[4096] = "";
    world w;

    for (int i = 0; i < 6; i++) {
        begin(&w, graph(parts), NULL);
        for (const char *p = orders[i]; *p != '\0'; p++) {
            char slot[8] = "w:?", value[2] = { *p, '\0' };

            slot[2] = *p;
            CHECK(world_feed(&w, &(pawl_event){ .kind = PAWL_EV_ANSWER, .id = slot, .value = value, .time_ms = 2000 }) >= 0);
        }
        w.now = 3000;
        world_go(&w);
        CHECK_STR(world_get(&w, "log"), "[0,1,2]");
        if (i == 0)
            snprintf(first, sizeof first, "%s", pawl_entry_hash(pawl_step_entry(w.s)));
        CHECK_STR(pawl_entry_hash(pawl_step_entry(w.s)), first);
        world_end(&w);
    }
}

/* ---- interrupt, then ---------------------------------------------------------------------------------------- */

PAWL_TEST(test_G5_interrupt_then_keeps_the_writes_and_goes_on_at_the_next)
{
    const part parts[] = { { "a", NULL, "x=1 | n=1 | interrupt \"on?\" -> y" }, { "b", "a", "get y -> log" }, { 0 } };
    world w;

    begin(&w, graph(parts), NULL);
    CHECK_STR(world_get(&w, "x"), "1");
    stands_still(&w);
    world_answer(&w, NULL, "\"yes\"");
    world_expect(&w, "1 start working | start {}; close -> a\n"
                     "2 tick input-required | a leaves x=1 n=1; close -> b; ask 1.a.1.0 {\"hold\":true,\"kind\":\"question\",\"prompt\":\"on?\",\"slot\":\"a\",\"to\":\"y\"}\n"
                     "3 answer working | answer 1.a.1.0 \"yes\"\n"
                     "4 tick completed | b leaves log=\"yes\"; close ->\n");
    CHECK_STR(world_get(&w, "n"), "1");
    world_end(&w);
}

PAWL_TEST(test_G5_interrupt_then_goes_where_the_node_said)
{
    const part parts[] = { { "a", NULL, "goto c | interrupt \"on?\"" }, { "b", "a", "log=\"b\"" }, { "c", "-", "log=\"c\"" }, { 0 } };
    world w;

    begin(&w, graph(parts), NULL);
    stands_still(&w);
    world_answer(&w, NULL, "{\"kept\":\"nowhere\"}");
    CHECK_STR(world_get(&w, "log"), "[\"c\"]");
    world_end(&w);
}

PAWL_TEST(test_G5_interrupt_then_in_a_loop_asks_anew_each_time)
{
    pawl_graph *g = graph((const part[]){ { "a", NULL, "n=1 | interrupt \"again?\" -> log" }, { "b", "a", "goto a" }, { 0 } });
    world w;

    pawl_graph_max_steps(g, 5);
    begin(&w, g, NULL);
    world_answer(&w, NULL, "1");
    world_answer(&w, NULL, "2");
    CHECK_STR(world_open(&w, "a", true), "run-1~0000000000000001/5.a.1.0");
    CHECK_STR(world_get(&w, "log"), "[1,2]");
    CHECK_STR(world_get(&w, "n"), "3");
    world_cancel(&w);
    world_end(&w);
}

/* Two of them in one superstep: it goes on when both are answered, and every order ends in the same state. */
PAWL_TEST(test_G5_several_pauses_between_two_supersteps)
{
    const part parts[] = { { "a", NULL, "interrupt \"a?\" -> x" }, { "b", NULL, "interrupt \"b?\" -> y" }, { "c", "a b", "get x -> log | get y -> log" },
                           { 0 } };
    world w;

    for (int order = 0; order < 2; order++) {
        begin(&w, graph(parts), NULL);
        world_answer(&w, order == 0 ? "a" : "b", order == 0 ? "1" : "2");
        stands_still(&w);
        world_answer(&w, order == 0 ? "b" : "a", order == 0 ? "2" : "1");
        CHECK_STR(world_get(&w, "log"), "[1,2]");
        world_end(&w);
    }
}

/* Nothing goes on, so nobody is asked whether it may. */
PAWL_TEST(test_G5_a_halt_asks_nobody_any_more)
{
    const part parts[] = { { "a", NULL, "halt | interrupt \"bye?\" -> x" }, { "b", NULL, "interrupt \"on?\"" }, { "c", "a b", "log=\"c\"" }, { 0 } };
    pawl_graph *g = graph(parts);
    world w;

    pawl_graph_interrupt_after(g, "a");
    pawl_graph_interrupt_after(g, "b");
    begin(&w, g, NULL);
    world_expect(&w, "1 start working | start {}; close -> a b\n"
                     "2 tick completed | a leaves halt; b leaves; close ->\n");
    world_end(&w);
}

PAWL_TEST(test_G5_an_answer_needs_a_channel_that_is_there)
{
    const struct { const char *script, *text; } rows[] = {
        { "interrupt \"?\" -> nowhere", "node \\\"a\\\": there is no channel \\\"nowhere\\\"" },
        { "interrupt \"?\" -> key", "node \\\"a\\\": channel \\\"key\\\" is a secret, and is never written" },
    };
    char reason[256];
    world w;

    for (size_t i = 0; i < 2; i++) {
        begin(&w, graph((const part[]){ { "a", NULL, rows[i].script }, { 0 } }), NULL);
        snprintf(reason, sizeof reason, "{\"code\":\"invalid\",\"text\":\"%s\"}", rows[i].text);
        CHECK_STR(world_reason(&w), reason);
        world_end(&w);
    }
}

/* The answer goes to a channel that adds only numbers: it is refused, and the question stands. */
PAWL_TEST(test_W3_an_answer_that_its_channel_does_not_take_is_refused)
{
    const part parts[] = { { "a", NULL, "interrupt \"how many?\" -> n" }, { 0 } };
    world w;

    begin(&w, graph(parts), NULL);
    CHECK_INT(world_feed(&w, &(pawl_event){ .kind = PAWL_EV_ANSWER, .value = "\"many\"" }), PAWL_INVALID);
    stands_still(&w);
    world_answer(&w, NULL, "3");
    CHECK_STR(world_get(&w, "n"), "3");
    world_end(&w);
}

/* ---- gates ------------------------------------------------------------------------------------------------------ */

static pawl_graph *gated(const char *no)
{
    const part parts[] = { { "a", NULL, "x=1" }, { "b", "a", "log=\"b\"" }, { "c", "-", "log=\"c\"" }, { 0 } };
    pawl_graph *g = graph(parts);

    pawl_graph_gate(g, "b", "let it in?");
    if (no != NULL)
        pawl_graph_gate_no(g, "b", no);
    else
        pawl_graph_goto(g, "a", "c", NULL);
    return g;
}

PAWL_TEST(test_G5_a_gate_takes_a_yes_or_a_no)
{
    const struct { const char *no, *answer, *log, *status; } rows[] = {
        { NULL, "true", "[\"b\"]", "completed" },
        { NULL, "false", "", "rejected" },
        { "c", "true", "[\"b\"]", "completed" },
        { "c", "false", "[\"c\"]", "completed" },
        { PAWL_END, "false", "", "completed" },
    };
    world w;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pawl_graph *g = gated(rows[i].no);

        if (rows[i].no != NULL && strcmp(rows[i].no, "c") != 0)
            pawl_graph_goto(g, "a", "c", NULL);
        begin(&w, g, NULL);
        stands_still(&w);
        CHECK_INT(world_feed(&w, &(pawl_event){ .kind = PAWL_EV_ANSWER, .value = "\"maybe\"" }), PAWL_INVALID);
        stands_still(&w);
        world_answer(&w, "b", rows[i].answer);
        CHECK_STR(world_get(&w, "log"), rows[i].log);
        CHECK_STR(world_status(&w), rows[i].status);
        world_end(&w);
    }
}

/* Not now: each no is in the journal with who and why, the question stands, and only a yes goes on. */
PAWL_TEST(test_W9_a_no_may_keep_a_gate_waiting)
{
    const part parts[] = { { "a", NULL, "x=1" }, { "b", "a", "log=\"b\"" }, { 0 } };
    pawl_graph *g = graph(parts);
    world w;

    pawl_graph_gate(g, "b", "let it in?");
    pawl_graph_gate_waits(g, "b");
    begin(&w, g, NULL);
    stands_still(&w);
    CHECK_INT(world_feed(&w, &(pawl_event){ .kind = PAWL_EV_ANSWER, .value = "false", .by = "ada", .note = "not before noon" }), PAWL_INTERRUPTED);
    stands_still(&w);
    CHECK_INT(world_feed(&w, &(pawl_event){ .kind = PAWL_EV_ANSWER, .id = "2.b.1.0", .value = "true" }), PAWL_CONFLICT);        /* W3: that one was answered */
    stands_still(&w);
    world_answer(&w, "b", "false");
    stands_still(&w);
    CHECK_STR(world_get(&w, "log"), "");
    world_answer(&w, "b", "true");
    CHECK_STR(world_status(&w), "completed");
    CHECK_STR(world_get(&w, "log"), "[\"b\"]");
    world_expect(&w, "1 start working | start {}; close -> a\n"
                     "2 tick input-required | a leaves x=1; close -> b; ask 2.b.1.0 "
                     "{\"kind\":\"approval\",\"prompt\":\"let it in?\",\"schema\":{\"type\":\"boolean\"},\"slot\":\"b\"}\n"
                     ". answer 2.b.1.0 false; ask 2.b.1.1 "
                     "{\"kind\":\"approval\",\"prompt\":\"let it in?\",\"schema\":{\"type\":\"boolean\"},\"slot\":\"b.1\"}\n"
                     ". answer 2.b.1.1 false; ask 2.b.1.2 "
                     "{\"kind\":\"approval\",\"prompt\":\"let it in?\",\"schema\":{\"type\":\"boolean\"},\"slot\":\"b.2\"}\n"
                     ". answer 2.b.1.2 true; b leaves log=\"b\"\n"
                     "3 tick completed | records 6; close ->\n");
    world_end(&w);
}

PAWL_TEST(test_W9_a_no_has_one_meaning)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_graph *g = gated(PAWL_END);
    pawl_machine *m;

    pawl_graph_goto(g, "a", "c", NULL);
    pawl_graph_gate_waits(g, "b");
    m = pawl_graph_compile(g, &err);
    CHECK(m == NULL && strstr(err.text, "keeps it waiting: one of the two") != NULL);
}

PAWL_TEST(test_G5_a_no_at_a_gate_says_where_and_why)
{
    world w;

    begin(&w, gated(NULL), NULL);
    CHECK_INT(world_feed(&w, &(pawl_event){ .kind = PAWL_EV_ANSWER, .value = "false", .by = "ada", .note = "too soon" }), PAWL_HALTED);
    world_expect(&w, "1 start working | start {}; close -> a\n"
                     "2 tick input-required | a leaves x=1; close -> b; ask 2.b.1.0 {\"kind\":\"approval\",\"prompt\":\"let it in?\",\"schema\":{\"type\":\"boolean\"},\"slot\":\"b\"}\n"
                     "3 answer rejected | answer 2.b.1.0 false; b fail {\"code\":\"denied\",\"text\":\"node \\\"b\\\": let it in?: no\"}; end {\"code\":\"denied\",\"text\":\"node \\\"b\\\": let it in?: no\"}\n");
    CHECK_STR(world_reason(&w), "{\"code\":\"denied\",\"text\":\"node \\\"b\\\": let it in?: no\"}");
    world_end(&w);
}

/* ---- answers that bring updates (W7) -------------------------------------------------------------------------------- */

PAWL_TEST(test_W7_what_comes_with_an_answer_is_there_before_the_next_node)
{
    const part parts[] = { { "a", NULL, "x=1 | interrupt \"?\" -> y" }, { "b", "a", "get x -> log | ask \"?\" -> y | get x -> log" },
                           { "c", "b", "get x -> log" }, { 0 } };
    pawl_event ev = { .kind = PAWL_EV_ANSWER, .value = "1", .update = "{\"x\":2}" };
    world w;

    begin(&w, graph(parts), NULL);
    CHECK_INT(world_feed(&w, &ev), PAWL_INTERRUPTED);
    ev.update = "{\"x\":3}";                    /* while b is open: at its close, so that b sees one state */
    CHECK_INT(world_feed(&w, &ev), PAWL_OK);
    CHECK_INT(world_go(&w), PAWL_HALTED);
    CHECK_STR(world_get(&w, "log"), "[2,2,3]");
    world_end(&w);
}

PAWL_TEST(test_W7_an_update_that_is_wrong_refuses_the_answer)
{
    const part parts[] = { { "a", NULL, "ask \"?\" -> y" }, { 0 } };
    pawl_event ev = { .kind = PAWL_EV_ANSWER, .value = "1", .update = "{\"nowhere\":2}" };
    world w;

    begin(&w, graph(parts), NULL);
    CHECK_INT(world_feed(&w, &ev), PAWL_INVALID);
    ev.update = "{\"n\":\"many\"}";
    CHECK_INT(world_feed(&w, &ev), PAWL_INVALID);
    stands_still(&w);
    ev.update = "{\"n\":2}";
    CHECK_INT(world_feed(&w, &ev), PAWL_HALTED);
    CHECK_STR(world_get(&w, "n"), "2");
    world_end(&w);
}
