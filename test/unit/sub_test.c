/* sub_test.c - a graph as a node (G6): its own channels, pauses that surface and resume inside, failures that keep what is done. */
#include "kernel/names.h"
#include "lib/machines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const pawl_channel outer_channels[] = { { .name = "x" }, { .name = "n", .rule = PAWL_RULE_SUM, .first = "0" }, { .name = "log",
    .rule = PAWL_RULE_APPEND },
                                               { .name = "most", .rule = PAWL_RULE_MAX }, { .name = "names", .rule = PAWL_RULE_UNION }, { 0 } };
static const pawl_channel inner_channels[] = { { .name = "x" }, { .name = "n", .rule = PAWL_RULE_SUM, .first = "100" }, { .name = "log",
    .rule = PAWL_RULE_APPEND },
                                               { .name = "most", .rule = PAWL_RULE_MAX }, { .name = "names", .rule = PAWL_RULE_UNION },
                                                   { .name = "item" }, { 0 } };

static pawl_graph *inner(const part *parts)
{
    return script_graph("inner", 1, inner_channels, parts);
}

/* a graph of `parts`, and "sub" after all of them. */
static pawl_graph *around(pawl_graph *in, const part *parts)
{
    pawl_graph *g = script_graph("outer", 1, outer_channels, parts);

    pawl_graph_sub(g, "sub", in);
    return g;
}

/* "sub" alone. */
static pawl_graph *alone(pawl_graph *in)
{
    pawl_graph *g = around(in, (const part[]){ { 0 } });

    pawl_graph_chain(g, PAWL_START, "sub", PAWL_END, NULL);
    return g;
}

static void begin(world *w, pawl_graph *g, const char *input)
{
    world_begin(w, script_compile(g), input);
}

/* ---- a namespace of its own ----------------------------------------------------------------------- */

PAWL_TEST(test_G6_a_subgraph_has_channels_of_its_own)
{
    const part in[] = { { "a", NULL, "get x -> log | x=2 | n=1" }, { "b", "a", "get x -> log | get n -> log" }, { 0 } };
    world w;

    begin(&w, alone(inner(in)), "{\"x\":1}");
    world_expect(&w, "1 start working | start {\"x\":1}; close -> sub\n"
                     "2 tick completed | sub visit 1; sub enters; sub close -> a; sub/1/1/a leaves log=null x=2 n=1; sub close -> b; sub/1/2/b leaves log=2 log=101; sub close ->; sub leaves; close ->\n");
    CHECK_STR(world_all(&w), "{\"n\":0,\"x\":1}");
    world_end(&w);
}

/* A command inside names the channels there, however large they are; they are put in when it goes out. */
PAWL_TEST(test_K7_G6_a_command_inside_refers_to_the_channels_inside)
{
    pawl_graph *in = pawl_graph_new("inner", 1), *g = pawl_graph_new("outer", 1);
    pawl_command cmd;
    world w;

    pawl_graph_channel(in, "x", PAWL_RULE_LAST);
    pawl_graph_work(in, "a", "job");
    pawl_graph_chain(in, PAWL_START, "a", PAWL_END, NULL);
    pawl_graph_channel(g, "x", PAWL_RULE_LAST);
    pawl_graph_sub(g, "sub", in);
    pawl_graph_map(g, "sub", "x", "x", true, true);
    pawl_graph_chain(g, PAWL_START, "sub", PAWL_END, NULL);
    begin(&w, g, "{\"x\":\"a text that is a good deal longer than what is worth a reference\"}");
    CHECK(strstr(journal_of(&w), "\"refs\":[[\"/state\",\"channel\",\"*\"]]") != NULL);
    CHECK(strstr(strstr(journal_of(&w), "good deal longer") + 1, "good deal longer") == NULL);
    world_crash(&w);
    CHECK_INT(pawl_state_command(w.st, 0, w.look, &cmd, NULL, &w.err), PAWL_OK);
    CHECK_STR(pawl_text(w.look, pawl_value_get(cmd.args, "state")), "{\"x\":\"a text that is a good deal longer than what is worth a reference\"}");
    CHECK_INT(world_receipt(&w, "a", "{\"x\":7}"), PAWL_HALTED);
    CHECK_STR(world_all(&w), "{\"x\":7}");
    world_end(&w);
}

/* What adds gives what was added inside; what does not gives its value. */
PAWL_TEST(test_G6_channels_are_shared_by_mapping)
{
    const part in[] = { { "a", NULL, "x=2 | n=5 | log=\"in\" | most=7 | names=\"ada\" | names=\"bob\"" }, { 0 } };
    const char *const names[] = { "x", "n", "log", "most", "names" };
    const struct { bool in, out; const char *all; } rows[] = {
        { true, true, "{\"log\":[\"out\",\"in\"],\"most\":9,\"n\":6,\"names\":[\"ada\",\"bob\"],\"x\":2}" },
        { true, false, "{\"log\":[\"out\"],\"most\":9,\"n\":1,\"names\":[\"ada\"],\"x\":1}" },
        { false, true, "{\"log\":[\"out\",\"in\"],\"most\":9,\"n\":106,\"names\":[\"ada\",\"bob\"],\"x\":2}" },
        { false, false, "{\"log\":[\"out\"],\"most\":9,\"n\":1,\"names\":[\"ada\"],\"x\":1}" },
    };
    world w;

    for (size_t i = 0; i < 4; i++) {
        pawl_graph *g = alone(inner(in));

        for (size_t j = 0; j < 5; j++)
            pawl_graph_map(g, "sub", names[j], names[j], rows[i].in, rows[i].out);
        begin(&w, g, "{\"x\":1,\"n\":1,\"log\":\"out\",\"most\":9,\"names\":\"ada\"}");
        CHECK_STR(world_all(&w), rows[i].all);
        world_end(&w);
    }
}

PAWL_TEST(test_G6_channels_may_have_other_names_inside)
{
    const part in[] = { { "double", NULL, "get item -> log" }, { 0 } };
    pawl_graph *g = alone(inner(in));
    world w;

    pawl_graph_map(g, "sub", "x", "item", true, false);
    pawl_graph_map(g, "sub", "log", "log", false, true);
    begin(&w, g, "{\"x\":5}");
    CHECK_STR(world_get(&w, "log"), "[5]");
    world_end(&w);
}

/* A value that its channel inside does not take is the task's fault, and mended outside; so is a sum that overflows. */
PAWL_TEST(test_G6_what_cannot_be_mapped_fails_the_task)
{
    const part in[] = { { "a", NULL, "n:=-9223372036854775808" }, { 0 } };
    pawl_graph *g = alone(inner(in));
    world w;

    pawl_graph_map(g, "sub", "x", "log", true, false);
    begin(&w, g, "{\"x\":\"no list\"}");
    CHECK_STR(world_status(&w), "failed");
    world_reopen(&w, "{\"x\":[1]}");
    world_expect(&w, "1 start working | start {\"x\":\"no list\"}; close -> sub\n"
                     "2 tick failed | sub visit 1; sub fail {\"code\":\"invalid\",\"text\":\"channel \\\"log\\\": is a list; overwrite it with an array\"}; end {\"code\":\"invalid\",\"text\":\"channel \\\"log\\\": is a list; overwrite it with an array\"}\n"
                     "3 reopen working | reopen {\"update\":{\"x\":[1]}}; sub visit 2; sub enters log:=[1]; sub close -> a; sub/2/1/a leaves n:=-9223372036854775808; sub close ->; sub leaves\n"
                     "4 tick completed | close ->\n");
    world_end(&w);
    g = alone(inner(in));
    pawl_graph_map(g, "sub", "n", "n", true, true);
    begin(&w, g, "{\"n\":1}");
    CHECK_STR(world_reason(&w), "{\"code\":\"limit\",\"text\":\"node \\\"sub\\\": what \\\"n\\\" added leaves the range of int64\"}");
    world_end(&w);
}

/* ---- sends ------------------------------------------------------------------------------------------ */

PAWL_TEST(test_G3_G6_each_send_of_a_subgraph_has_a_frame_of_its_own)
{
    const part in[] = { { "a", NULL, "get item -> log | call llm 1 -> log" }, { "b", "a", "get item -> log" }, { 0 } };
    const part parts[] = { { "plan", NULL, "send sub {\"item\":\"one\"} | send sub {\"item\":\"two\"} | goto @end" }, { 0 } };
    pawl_graph *g = around(inner(in), parts);
    world w;

    pawl_graph_edge(g, "sub", PAWL_END);
    pawl_graph_map(g, "sub", "log", "log", false, true);
    begin(&w, g, NULL);
    CHECK_INT(pawl_state_commands(w.st), 2);
    world_receipt(&w, "sub:1/1/1/a", "\"r2\"");
    world_crash(&w);
    world_receipt(&w, "sub:0/1/1/a", "\"r1\"");
    world_expect(&w, "1 start working | start {}; close -> plan\n"
                     "2 tick working | plan leaves goto @end send sub {\"item\":\"one\"} send sub {\"item\":\"two\"}; close ->; sub:0 enters item:=\"one\"; sub:0 close -> a; call 2.sub:0/1/1/a.1.0 {\"args\":1,\"effect\":\"llm\"}; sub:1 enters item:=\"two\"; sub:1 close -> a; call 2.sub:1/1/1/a.1.0 {\"args\":1,\"effect\":\"llm\"}\n"
                     ". receipt 2.sub:1/1/1/a.1.0 \"r2\"; sub:1/1/1/a leaves log=\"two\" log=\"r2\"; sub:1 close -> b; sub:1/1/2/b leaves log=\"two\"; sub:1 close ->; sub:1 leaves log+=[\"two\",\"r2\",\"two\"]\n"
                     ". receipt 2.sub:0/1/1/a.1.0 \"r1\"; sub:0/1/1/a leaves log=\"one\" log=\"r1\"; sub:0 close -> b; sub:0/1/2/b leaves log=\"one\"; sub:0 close ->; sub:0 leaves log+=[\"one\",\"r1\",\"one\"]\n"
                     "3 tick completed | records 12; close ->\n");
    CHECK_STR(world_get(&w, "log"), "[\"one\",\"r1\",\"one\",\"two\",\"r2\",\"two\"]");
    world_end(&w);
}

PAWL_TEST(test_G3_G6_what_a_subgraph_is_sent_lies_over_what_is_mapped)
{
    const part in[] = { { "a", NULL, "get x -> log" }, { 0 } };
    const part parts[] = { { "plan", NULL, "send sub {\"x\":2} | send sub 7 | send sub | goto @end" }, { 0 } };
    pawl_graph *g = around(inner(in), parts);
    world w;

    pawl_graph_edge(g, "sub", PAWL_END);
    pawl_graph_map(g, "sub", "x", "x", true, false);
    pawl_graph_map(g, "sub", "log", "log", false, true);
    begin(&w, g, "{\"x\":1}");
    CHECK_STR(world_get(&w, "log"), "[2,1,1]");
    world_end(&w);
    g = around(inner(in), (const part[]){ { "plan", NULL, "send sub {\"y\":2} | goto @end" }, { 0 } });
    pawl_graph_edge(g, "sub", PAWL_END);
    begin(&w, g, NULL);
    CHECK_STR(world_reason(&w), "{\"code\":\"invalid\",\"text\":\"node \\\"sub\\\": it was sent \\\"y\\\", which is no channel inside\"}");
    world_end(&w);
}

/* ---- pauses ------------------------------------------------------------------------------------------- */

PAWL_TEST(test_G6_a_pause_inside_surfaces_and_resumes_inside)
{
    const part in[] = { { "a", NULL, "log=\"a\"" }, { "b", "a", "ask \"ok?\" -> x" }, { "c", "b", "log=\"c\" | get x -> log" }, { 0 } };
    const part parts[] = { { "before", NULL, "n=1" }, { "after", "sub", "n=10" }, { 0 } };
    pawl_graph *g = around(inner(in), parts);
    world w;

    pawl_graph_edge(g, "before", "sub");
    pawl_graph_edge(g, "sub", "after");
    pawl_graph_map(g, "sub", "log", "log", false, true);
    begin(&w, g, NULL);
    CHECK_STR(world_status(&w), "input-required");
    CHECK_STR(world_open(&w, NULL, true), "run-1~0000000000000001/2.sub/1/2/b.1.0");
    CHECK_INT(world_tick(&w), PAWL_IGNORED);
    world_crash(&w);
    world_answer(&w, "b", "\"yes\"");
    world_expect(&w, "1 start working | start {}; close -> before\n"
                     "2 tick input-required | before leaves n=1; close -> sub; sub enters; sub close -> a; sub/1/1/a leaves log=\"a\"; sub close -> b; ask 2.sub/1/2/b.1.0 {\"kind\":\"question\",\"prompt\":\"ok?\",\"slot\":\"sub/1/2/b\"}\n"
                     ". answer 2.sub/1/2/b.1.0 \"yes\"; sub/1/2/b leaves x=\"yes\"; sub close -> c; sub/1/3/c leaves log=\"c\" log=\"yes\"; sub close ->; sub leaves log+=[\"a\",\"c\",\"yes\"]\n"
                     "3 tick working | records 6; close -> after\n"
                     "4 tick completed | after leaves n=10; close ->\n");
    CHECK_STR(world_get(&w, "log"), "[\"a\",\"c\",\"yes\"]");
    CHECK_STR(world_get(&w, "n"), "11");
    world_end(&w);
}

PAWL_TEST(test_G6_pauses_before_and_after_nodes_inside)
{
    const part in[] = { { "a", NULL, "x=1" }, { "b", "a", "get x -> log" }, { 0 } };
    pawl_graph *g, *inside = inner(in);
    world w;

    pawl_graph_interrupt_after(inside, "a");
    pawl_graph_interrupt_before(inside, "b");
    g = alone(inside);
    pawl_graph_map(g, "sub", "log", "log", false, true);
    begin(&w, g, NULL);
    CHECK_STR(world_open(&w, NULL, true), "run-1~0000000000000001/1.sub/1/1/a.1.0");
    world_crash(&w);
    CHECK_INT(world_feed(&w, &(pawl_event){ .kind = PAWL_EV_ANSWER, .value = "true", .update = "{\"x\":2}" }), PAWL_INTERRUPTED);
    CHECK_STR(world_open(&w, NULL, true), "run-1~0000000000000001/1.sub/1/2/b.1.0");
    world_answer(&w, "b", "true");
    world_expect(&w, "1 start input-required | start {}; close -> sub; sub enters; sub close -> a; sub/1/1/a leaves x=1; sub close -> b; ask 1.sub/1/1/a.1.0 {\"hold\":true,\"kind\":\"question\",\"prompt\":\"after a\",\"slot\":\"sub/1/1/a\"}\n"
                     ". answer 1.sub/1/1/a.1.0 true; sub/1/2/b visit 1; ask 1.sub/1/2/b.1.0 {\"kind\":\"question\",\"prompt\":\"before b\",\"slot\":\"sub/1/2/b\"}\n"
                     ". answer 1.sub/1/2/b.1.0 true; sub/1/2/b leaves log=2; sub close ->; sub leaves log+=[2]\n"
                     "2 tick completed | records 7; close ->\n");
    CHECK_STR(world_get(&w, "log"), "[2]");     /* W7: the update is that of the channels inside */
    CHECK_STR(world_get(&w, "x"), "");
    world_end(&w);
}

PAWL_TEST(test_G6_interrupt_then_inside_answers_into_a_channel_inside)
{
    const part in[] = { { "a", NULL, "interrupt \"on?\" -> x" }, { "b", "a", "get x -> log" }, { 0 } };
    pawl_graph *g = alone(inner(in));
    world w;

    pawl_graph_map(g, "sub", "log", "log", false, true);
    begin(&w, g, NULL);
    world_answer(&w, NULL, "5");
    CHECK_STR(world_get(&w, "log"), "[5]");
    CHECK_STR(world_get(&w, "x"), "");
    world_end(&w);
}

PAWL_TEST(test_G6_two_deep_a_question_is_asked_and_answered)
{
    const part deep[] = { { "ask", NULL, "ask \"deep?\" -> log | call llm 1 -> log" }, { 0 } };
    pawl_graph *middle = inner((const part[]){ { 0 } }), *g;
    world w;

    pawl_graph_sub(middle, "deep", inner(deep));
    pawl_graph_map(middle, "deep", "log", "log", false, true);
    pawl_graph_chain(middle, PAWL_START, "deep", PAWL_END, NULL);
    g = alone(middle);
    pawl_graph_map(g, "sub", "log", "log", false, true);
    begin(&w, g, NULL);
    world_crash(&w);
    world_answer(&w, "ask", "\"yes\"");
    CHECK_STR(world_open(&w, NULL, false), "run-1~0000000000000001/1.sub/1/1/deep/1/1/ask.1.1");
    world_crash(&w);
    world_receipt(&w, "ask", "\"r\"");
    world_expect(&w, "1 start input-required | start {}; close -> sub; sub enters; sub close -> deep; sub/1/1/deep enters; sub/1/1/deep close -> ask; ask 1.sub/1/1/deep/1/1/ask.1.0 {\"kind\":\"question\",\"prompt\":\"deep?\",\"slot\":\"sub/1/1/deep/1/1/ask\"}\n"
                     ". answer 1.sub/1/1/deep/1/1/ask.1.0 \"yes\"; call 1.sub/1/1/deep/1/1/ask.1.1 {\"args\":1,\"effect\":\"llm\"}\n"
                     ". receipt 1.sub/1/1/deep/1/1/ask.1.1 \"r\"; sub/1/1/deep/1/1/ask leaves log=\"yes\" log=\"r\"; sub/1/1/deep close ->; sub/1/1/deep leaves log+=[\"yes\",\"r\"]; sub close ->; sub leaves log+=[\"yes\",\"r\"]\n"
                     "2 tick completed | records 8; close ->\n");
    CHECK_STR(world_get(&w, "log"), "[\"yes\",\"r\"]");
    world_end(&w);
}

PAWL_TEST(test_G6_a_pause_in_one_subgraph_loses_nothing_of_its_siblings)
{
    const part in[] = { { "a", NULL, "ask \"?\" -> log | get item -> log" }, { 0 } };
    const part parts[] = { { "plan", NULL, "send sub {\"item\":1} | send sub {\"item\":2} | send w 0 | goto @end" }, { "w", "-", "call llm 1 -> log" }, { 0 } };
    const char *const orders[2][2] = { { "sub:0/1/1/a", "sub:1/1/1/a" }, { "sub:1/1/1/a", "sub:0/1/1/a" } };
    world w;

    for (int i = 0; i < 2; i++) {
        pawl_graph *g = around(inner(in), parts);

        pawl_graph_edge(g, "sub", PAWL_END);
        pawl_graph_map(g, "sub", "log", "log", false, true);
        begin(&w, g, NULL);
        CHECK_INT(pawl_state_waits(w.st), 2);
        CHECK_INT(world_feed(&w, &(pawl_event){ .kind = PAWL_EV_ANSWER, .id = "a", .value = "1" }), PAWL_INVALID);
        world_answer(&w, orders[i][0], i == 0 ? "\"0\"" : "\"1\"");
        world_receipt(&w, "w", "\"w\"");
        world_crash(&w);
        world_answer(&w, orders[i][1], i == 0 ? "\"1\"" : "\"0\"");
        CHECK_STR(world_get(&w, "log"), "[\"0\",1,\"1\",2,\"w\"]");
        world_end(&w);
    }
}

/* ---- failure inside ---------------------------------------------------------------------------------------- */

PAWL_TEST(test_G4_G6_what_was_done_inside_is_kept_when_the_run_is_opened_again)
{
    const part in[] = { { "a", NULL, "call llm 1 -> log" }, { "good", "a", "call llm 2 -> log" }, { "bad", "a", "call llm 3" },
                        { "end", "good bad", "log=\"end\"" }, { 0 } };
    pawl_graph *g = alone(inner(in));
    world w;

    pawl_graph_map(g, "sub", "log", "log", false, true);
    begin(&w, g, NULL);
    world_receipt(&w, "a", "\"a\"");
    world_error(&w, "bad", "null");
    world_receipt(&w, "good", "\"good\"");
    CHECK_STR(world_status(&w), "failed");
    world_crash(&w);
    world_reopen(&w, NULL);
    CHECK_INT(pawl_state_commands(w.st), 1);
    CHECK_STR(world_open(&w, NULL, false), "run-1~0000000000000001/1.sub/1/2/bad.2.0");
    world_receipt(&w, "bad", "null");
    world_expect(&w, "1 start working | start {}; close -> sub; sub enters; sub close -> a; call 1.sub/1/1/a.1.0 {\"args\":1,\"effect\":\"llm\"}\n"
                     ". receipt 1.sub/1/1/a.1.0 \"a\"; sub/1/1/a leaves log=\"a\"; sub close -> good bad; sub/1/2/good visit 1; call 1.sub/1/2/good.1.0 {\"args\":2,\"effect\":\"llm\"}; sub/1/2/bad visit 1; call 1.sub/1/2/bad.1.0 {\"args\":3,\"effect\":\"llm\"}\n"
                     ". receipt 1.sub/1/2/bad.1.0 error null; sub/1/2/bad fail {\"code\":\"effect\",\"receipt\":null,\"text\":\"node \\\"bad\\\": an effect failed for good\"}\n"
                     ". receipt 1.sub/1/2/good.1.0 \"good\"; sub/1/2/good leaves log=\"good\"\n"
                     "2 tick failed | records 11; end {\"code\":\"effect\",\"receipt\":null,\"text\":\"node \\\"bad\\\": an effect failed for good\"}\n"
                     "3 reopen working | reopen {}; sub/1/2/bad visit 2; call 1.sub/1/2/bad.2.0 {\"args\":3,\"effect\":\"llm\"}\n"
                     ". receipt 1.sub/1/2/bad.2.0 null; sub/1/2/bad leaves; sub close -> end; sub/1/3/end leaves log=\"end\"; sub close ->; sub leaves log+=[\"a\",\"good\",\"end\"]\n"
                     "4 tick completed | records 6; close ->\n");
    CHECK_STR(world_get(&w, "log"), "[\"a\",\"good\",\"end\"]");
    world_end(&w);
}

static const char *nowhere(pawl_step *s, void *arg)
{
    (void)s;
    (void)arg;
    return NULL;
}

static bool n_below(pawl_step *s, void *arg)
{
    return pawl_get_int(s, "n") < strtol(arg, NULL, 10);
}

/* No task of the subgraph failed: it is the outer task's fault, and that begins anew. */
static void faults_of_a_subgraph(pawl_graph *in, const char *text)
{
    char reason[256];
    world w;

    begin(&w, alone(in), NULL);
    snprintf(reason, sizeof reason, "{\"code\":%s}", text);
    CHECK_STR(world_reason(&w), reason);
    world_reopen(&w, NULL);
    CHECK_STR(world_reason(&w), reason);
    world_end(&w);
}

PAWL_TEST(test_G6_faults_of_a_subgraph_are_its_task_s)
{
    const part loop[] = { { "a", NULL, "n=1" }, { 0 } };
    pawl_graph *in = inner((const part[]){ { 0 } });

    pawl_graph_node(in, "a", script_node, "n=1");
    pawl_graph_edge(in, PAWL_START, "a");
    pawl_graph_when(in, "a", n_below, "110", "a");
    pawl_graph_when(in, "a", NULL, NULL, PAWL_END);
    pawl_graph_max_steps(in, 3);
    faults_of_a_subgraph(in, "\"limit\",\"text\":\"inner: max_steps 3 is reached, and \\\"a\\\" is next\"");
    in = inner(loop);
    pawl_graph_node(in, "b", script_node, "n=1");
    pawl_graph_route(in, PAWL_START, nowhere, NULL, NULL, "b", NULL);
    pawl_graph_edge(in, "b", PAWL_END);
    faults_of_a_subgraph(in, "\"invalid\",\"text\":\"inner: no route from \\\"@start\\\", with {\\\"n\\\":100}\"");
    in = inner((const part[]){ { "a", NULL, "n=1" }, { "b", "-", "n=1" }, { 0 } });
    pawl_graph_node(in, "both", script_node, "n=1");
    pawl_graph_join(in, "both", "a", "b", NULL);
    pawl_graph_edge(in, "both", PAWL_END);
    pawl_graph_goto(in, "a", "b", NULL);
    faults_of_a_subgraph(in, "\"invalid\",\"text\":\"inner: the join into \\\"both\\\" waits for \\\"b\\\", and nothing is left to run\"");
    in = inner((const part[]){ { "a", NULL, "send a 1 | send a 2 | send a 3" }, { 0 } });
    pawl_graph_max_tasks(in, 2);
    faults_of_a_subgraph(in, "\"limit\",\"text\":\"inner: a superstep of 3 tasks is over max_tasks 2\"");
}

PAWL_TEST(test_G7_G6_max_steps_inside_are_exactly_those_allowed_and_take_none_outside)
{
    pawl_graph *in = inner((const part[]){ { 0 } }), *g;
    world w;

    pawl_graph_node(in, "a", script_node, "n=1");
    pawl_graph_edge(in, PAWL_START, "a");
    pawl_graph_when(in, "a", n_below, "103", "a");
    pawl_graph_when(in, "a", NULL, NULL, PAWL_END);
    pawl_graph_interrupt_after(in, "a");
    pawl_graph_max_steps(in, 3);
    g = alone(in);
    pawl_graph_max_steps(g, 1);
    begin(&w, g, NULL);
    for (int i = 0; i < 3; i++) {
        CHECK_STR(world_status(&w), "input-required");
        world_crash(&w);
        world_answer(&w, NULL, "true");
    }
    CHECK_STR(world_status(&w), "completed");
    CHECK_INT(pawl_state_steps(w.st), 1);
    world_end(&w);
}

PAWL_TEST(test_G6_a_denial_inside_rejects_the_run)
{
    const part in[] = { { "a", NULL, "fail denied no" }, { 0 } };
    world w;

    begin(&w, alone(inner(in)), NULL);
    CHECK_STR(world_status(&w), "rejected");
    CHECK_STR(world_reason(&w), "{\"code\":\"denied\",\"text\":\"no\"}");
    world_end(&w);
}

PAWL_TEST(test_E7_G6_a_node_inside_has_its_own_retry)
{
    const pawl_retry retry = { .max_attempts = 2, .initial_ms = 50 };
    const part in[] = { { "a", NULL, "fail transient busy" }, { 0 } };
    pawl_graph *inside = inner(in);
    world w;

    pawl_graph_retry(inside, "a", &retry);
    begin(&w, alone(inside), NULL);
    world_crash(&w);
    world_timer(&w, "a");
    world_expect(&w, "1 start working | start {}; close -> sub; sub enters; sub close -> a; sub/1/1/a visit 2; sleep 1.sub/1/1/a.2.0 {\"ms\":50}\n"
                     ". receipt 1.sub/1/1/a.2.0 null; sub/1/1/a fail {\"code\":\"transient\",\"text\":\"busy\"}\n"
                     "2 tick failed | records 2; end {\"code\":\"transient\",\"text\":\"busy\"}\n");
    world_end(&w);
}

/* ---- the ways of a subgraph -------------------------------------------------------------------------------- */

PAWL_TEST(test_G6_halt_inside_ends_the_subgraph_alone)
{
    const part in[] = { { "a", NULL, "x=1 | halt" }, { "b", "a", "log=\"never\"" }, { 0 } };
    const part parts[] = { { "after", "sub", "n=1" }, { 0 } };
    pawl_graph *g = around(inner(in), parts);
    world w;

    pawl_graph_chain(g, PAWL_START, "sub", "after", NULL);
    begin(&w, g, NULL);
    CHECK_STR(world_get(&w, "n"), "1");
    world_end(&w);
}

PAWL_TEST(test_G6_joins_sends_and_deferred_nodes_work_inside)
{
    const part in[] = { { "a", NULL, "send w 1 | send w 2" }, { "w", "-", "log=\"w\"" }, { "b", "a", "log=\"b\"" }, { "b2", "b", "log=\"b2\"" },
                        { "last", "a", "log=\"last\"" }, { 0 } };
    pawl_graph *g, *inside = inner(in);
    world w;

    pawl_graph_node(inside, "both", script_node, "log=\"both\"");
    pawl_graph_join(inside, "both", "w", "b2", NULL);
    pawl_graph_edge(inside, "both", PAWL_END);
    pawl_graph_defer(inside, "last");
    g = alone(inside);
    pawl_graph_map(g, "sub", "log", "log", true, true);
    begin(&w, g, "{\"log\":\"out\"}");
    CHECK_STR(world_get(&w, "log"), "[\"out\",\"b\",\"w\",\"w\",\"b2\",\"both\",\"last\"]");
    world_end(&w);
}

/* Entered again it begins anew: nothing inside outlives its task. */
PAWL_TEST(test_G6_a_subgraph_in_a_loop_begins_anew_each_time)
{
    const part in[] = { { "a", NULL, "n=1 | get n -> log" }, { "b", "a", "get n -> log" }, { 0 } };
    pawl_graph *g = around(inner(in), (const part[]){ { 0 } });
    world w;

    pawl_graph_node(g, "count", script_node, "n=1");
    pawl_graph_chain(g, PAWL_START, "sub", "count", NULL);
    pawl_graph_when(g, "count", n_below, "3", "sub");
    pawl_graph_when(g, "count", NULL, NULL, PAWL_END);
    pawl_graph_map(g, "sub", "log", "log", false, true);
    begin(&w, g, NULL);
    CHECK_STR(world_get(&w, "log"), "[100,101,100,101,100,101]");
    world_end(&w);
}

PAWL_TEST(test_G2_G6_every_order_of_arrival_gives_the_same_entries)
{
    const part in[] = { { "a", NULL, "call llm 1 -> log" }, { "b", NULL, "call llm 2 -> log | call llm 3 -> log" }, { 0 } };
    const part parts[] = { { "w", NULL, "call llm 4 -> log" }, { 0 } };
    const char *const orders[] = { "abbw", "babw", "bbaw", "wabb", "awbb", "bwab", "bawb", "wbba" };
    char first[HASH_HEX + 1] = "";
    world w;

    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        pawl_graph *g = around(inner(in), parts);

        pawl_graph_edge(g, PAWL_START, "sub");
        pawl_graph_edge(g, "sub", PAWL_END);
        pawl_graph_map(g, "sub", "log", "log", false, true);
        begin(&w, g, NULL);
        for (const char *p = orders[i]; *p != '\0'; p++) {
            char node[2] = { *p, '\0' }, id[ID_BYTES_MAX];

            snprintf(id, sizeof id, "%s", world_open(&w, node, false));
            CHECK(world_feed(&w, &(pawl_event){ .kind = PAWL_EV_RECEIPT, .id = id, .value = "1", .time_ms = 2000 }) >= 0);
        }
        w.now = 3000;
        CHECK_INT(world_go(&w), PAWL_HALTED);
        if (i == 0)
            snprintf(first, sizeof first, "%s", pawl_entry_hash(pawl_step_entry(w.s)));
        CHECK_STR(pawl_entry_hash(pawl_step_entry(w.s)), first);
        world_end(&w);
    }
}
