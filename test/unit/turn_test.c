/* turn_test.c - runs that take turns (G13), state that is changed from outside as if a node had written it, the state at any
 * entry, and forks that go another way (G8, K10). */
#include "kernel/names.h"
#include "kernel/state.h"
#include "lib/machines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const pawl_channel channels[] = { { .name = "x" }, { .name = "n", .rule = PAWL_RULE_SUM, .first = "0" }, { .name = "log", .rule = PAWL_RULE_APPEND },
                                         { .name = "now", .rule = PAWL_RULE_EPHEMERAL }, { .name = "seen", .rule = PAWL_RULE_BARRIER }, { 0 } };

static pawl_graph *graph(const part *parts)
{
    return script_graph("plan", 1, channels, parts);
}

static void begin(world *w, pawl_graph *g, const char *input)
{
    world_begin(w, script_compile(g), input);
}

static pawl_code input(world *w, const char *value)
{
    pawl_code rc = world_feed(w, &(pawl_event){ .kind = PAWL_EV_INPUT, .value = value });

    return rc < 0 || rc == PAWL_IGNORED ? rc : world_go(w);
}

/* ---- turns -------------------------------------------------------------------------------------- */

PAWL_TEST(test_G13_instead_of_completing_a_run_waits_for_input_and_begins_again_over_its_state)
{
    const part parts[] = { { "hear", NULL, "get x -> log | now=1 | seen=\"hear\"" }, { "say", "hear", "get now -> log" }, { 0 } };
    pawl_graph *g = graph(parts);
    world w;

    pawl_graph_turns(g, "and then?");
    begin(&w, g, "{\"x\":\"hello\",\"now\":0}");
    CHECK_STR(world_status(&w), "input-required");
    world_crash(&w);
    input(&w, "{\"x\":\"again\"}");
    CHECK_INT(pawl_state_turn(w.st), 2);
    CHECK_INT(pawl_state_steps(w.st), 2);       /* counted anew */
    world_answer(&w, "input", "{\"n\":1}");     /* an answer to that wait is input too; x is what it was */
    world_expect(&w, "1 start working | start {\"now\":0,\"x\":\"hello\"}; close -> hear\n"
                     "2 tick working | hear leaves log=\"hello\" now=1 seen=\"hear\"; close -> say\n"
                     "3 tick input-required | say leaves log=1; close ->; ask 3.@.1.0 {\"hold\":true,\"kind\":\"input\",\"prompt\":\"and then?\",\"slot\":\"input\"}\n"
                     "4 input working | drop 3.@.1.0; turn; input {\"x\":\"again\"}; close -> hear\n"
                     "5 tick working | hear leaves log=\"again\" now=1 seen=\"hear\"; close -> say\n"
                     "6 tick input-required | say leaves log=1; close ->; ask 6.@.1.0 {\"hold\":true,\"kind\":\"input\",\"prompt\":\"and then?\",\"slot\":\"input\"}\n"
                     "7 answer working | drop 6.@.1.0; turn; input {\"n\":1}; close -> hear\n"
                     "8 tick working | hear leaves log=\"again\" now=1 seen=\"hear\"; close -> say\n"
                     "9 tick input-required | say leaves log=1; close ->; ask 9.@.1.0 {\"hold\":true,\"kind\":\"input\",\"prompt\":\"and then?\",\"slot\":\"input\"}\n");
    CHECK_STR(world_get(&w, "log"), "[\"hello\",1,\"again\",1,\"again\",1]");
    CHECK_STR(world_get(&w, "n"), "1");
    world_cancel(&w);
    CHECK_STR(world_status(&w), "canceled");
    world_end(&w);
}

PAWL_TEST(test_G13_input_that_is_wrong_is_refused_and_the_wait_stands)
{
    const char *const wrong[] = { "{\"nowhere\":1}", "{\"n\":\"many\"}", "[]", "5" };
    pawl_graph *g = graph((const part[]){ { "a", NULL, "n=1" }, { 0 } });
    world w;

    pawl_graph_turns(g, "next?");
    begin(&w, g, NULL);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK_INT(input(&w, wrong[i]), PAWL_INVALID);
        CHECK_INT(pawl_state_turn(w.st), 1);
        CHECK_INT(pawl_state_waits(w.st), 1);
    }
    input(&w, NULL);
    CHECK_INT(pawl_state_turn(w.st), 2);
    world_cancel(&w);
    world_end(&w);
}

PAWL_TEST(test_G13_input_in_the_middle_of_a_turn_is_ignored)
{
    pawl_graph *g = graph((const part[]){ { "a", NULL, "call llm 1 -> log" }, { 0 } });
    world w;

    pawl_graph_turns(g, "next?");
    begin(&w, g, NULL);
    CHECK_INT(input(&w, "{\"n\":1}"), PAWL_IGNORED);
    world_receipt(&w, "a", "1");
    CHECK_INT(input(&w, "{\"n\":1}"), PAWL_PENDING);
    CHECK_STR(world_open(&w, "a", false), "run-1~0000000000000001/3.a.1.0");
    world_cancel(&w);
    world_cancel(&w);
    world_end(&w);
}

static bool n_below(pawl_step *s, void *arg)
{
    return pawl_get_int(s, "n") % 10 < strtol(arg, NULL, 10);
}

PAWL_TEST(test_G7_G13_max_steps_begin_anew_with_each_turn)
{
    pawl_graph *g = graph((const part[]){ { 0 } });
    world w;

    pawl_graph_node(g, "a", script_node, "n=1");
    pawl_graph_edge(g, PAWL_START, "a");
    pawl_graph_when(g, "a", n_below, "3", "a");
    pawl_graph_when(g, "a", NULL, NULL, PAWL_END);
    pawl_graph_max_steps(g, 3);
    pawl_graph_turns(g, "next?");
    begin(&w, g, NULL);
    for (int turn = 1; turn < 4; turn++) {
        CHECK_INT(pawl_state_turn(w.st), turn);
        CHECK_INT(pawl_state_steps(w.st), 3);
        input(&w, "{\"n\":7}");
    }
    input(&w, "{\"n\":6}");                     /* one more than the turn has */
    CHECK_STR(world_status(&w), "failed");
    world_end(&w);
}

PAWL_TEST(test_G13_ephemerals_barriers_and_joins_begin_anew_with_each_turn)
{
    const part parts[] = { { "a", NULL, "seen=\"a\" | now=1" }, { "stop", "a", "get seen -> log | halt" }, { "b", "-", "" }, { 0 } };
    pawl_graph *g = graph(parts);
    world w;

    pawl_graph_node(g, "both", script_node, "log=\"never\"");
    pawl_graph_edge(g, PAWL_START, "b");
    pawl_graph_edge(g, "b", "b2");
    pawl_graph_node(g, "b2", script_node, "x=1");
    pawl_graph_join(g, "both", "a", "b2", NULL);
    pawl_graph_edge(g, "both", PAWL_END);
    pawl_graph_turns(g, "next?");
    begin(&w, g, NULL);
    input(&w, "{\"x\":2}");
    CHECK_STR(world_get(&w, "log"), "[[\"a\"],[\"a\"]]");
    CHECK_STR(world_get(&w, "now"), "");
    world_cancel(&w);
    world_end(&w);
}

PAWL_TEST(test_G13_a_turn_that_failed_is_opened_again_within_the_turn)
{
    const part parts[] = { { "a", NULL, "call llm 1 -> log" }, { "b", "a", "call llm 2" }, { 0 } };
    pawl_graph *g = graph(parts);
    world w;

    pawl_graph_turns(g, "next?");
    begin(&w, g, NULL);
    world_receipt(&w, "a", "1");
    world_error(&w, "b", "null");
    CHECK_STR(world_status(&w), "failed");
    world_reopen(&w, NULL);
    world_receipt(&w, "b", "null");
    CHECK_STR(world_status(&w), "input-required");
    CHECK_INT(pawl_state_turn(w.st), 1);
    CHECK_STR(world_get(&w, "log"), "[1]");
    world_cancel(&w);
    world_end(&w);
}

/* ---- a sequence ------------------------------------------------------------------------------------- */

PAWL_TEST(test_G3_a_sequence_runs_from_the_start_to_the_end_in_order)
{
    const pawl_sequence steps[] = { { "one", script_node, "log=1" }, { "two", script_node, "call llm 2 -> log" }, { "three", script_node, "log=3" } };
    pawl_graph *g = graph((const part[]){ { 0 } });
    world w;

    pawl_graph_sequence(g, steps, 3);
    begin(&w, g, NULL);
    world_receipt(&w, "two", "2");
    CHECK_STR(world_get(&w, "log"), "[1,2,3]");
    CHECK_STR(world_status(&w), "completed");
    world_end(&w);
}

/* ---- state changed from outside ------------------------------------------------------------------------ */

PAWL_TEST(test_G8_an_update_is_merged_by_the_rules_when_nothing_runs)
{
    const part parts[] = { { "a", NULL, "n=1 | interrupt \"?\"" }, { "b", "a", "get n -> log" }, { 0 } };
    world w;

    begin(&w, graph(parts), NULL);
    CHECK_INT(world_update(&w, NULL, "{\"n\":5,\"x\":1}"), PAWL_INTERRUPTED);
    CHECK_STR(world_get(&w, "n"), "6");
    world_answer(&w, NULL, "true");
    CHECK_STR(world_get(&w, "log"), "[6]");
    CHECK_INT(world_update(&w, NULL, "{\"n\":5}"), PAWL_IGNORED);       /* it is over */
    world_end(&w);
}

PAWL_TEST(test_G8_an_update_of_an_open_superstep_comes_when_it_closes)
{
    const part parts[] = { { "a", NULL, "call llm 1 -> log | get x -> log" }, { "b", "a", "get x -> log" }, { 0 } };
    world w;

    begin(&w, graph(parts), "{\"x\":1}");
    world_update(&w, NULL, "{\"x\":2}");
    world_crash(&w);
    CHECK_STR(world_get(&w, "x"), "1");         /* the superstep sees one state */
    world_receipt(&w, "a", "0");
    CHECK_STR(world_get(&w, "log"), "[0,1,2]");
    world_end(&w);
}

/* a goes on to b or c by what x is. */
static const char *by_x(pawl_step *s, void *arg)
{
    (void)arg;
    return pawl_get_string(s, "x");
}

static pawl_graph *forked_way(void)
{
    const part parts[] = { { "b", "-", "log=\"b\"" }, { "c", "-", "log=\"c\"" }, { 0 } };
    pawl_graph *g = graph(parts);

    pawl_graph_node(g, "start", script_node, "n=1");
    pawl_graph_node(g, "a", script_node, "x=\"b\" | interrupt \"ok?\"");
    pawl_graph_chain(g, PAWL_START, "start", "a", NULL);
    pawl_graph_route(g, "a", by_x, NULL, NULL, "b", "c", NULL);
    return g;
}

PAWL_TEST(test_G8_update_as_a_node_goes_on_as_if_that_node_had_written_it)
{
    world w;

    begin(&w, forked_way(), NULL);
    CHECK_STR(world_tasks(&w), "b");
    CHECK_INT(world_update(&w, "a", "{\"x\":\"c\"}"), PAWL_INTERRUPTED);        /* its question stands */
    CHECK_STR(world_tasks(&w), "c");
    world_answer(&w, NULL, "true");
    CHECK_STR(world_get(&w, "log"), "[\"c\"]");
    world_expect(&w, "1 start working | start {}; close -> start\n"
                     "2 tick working | start leaves n=1; close -> a\n"
                     "3 tick input-required | a leaves x=\"b\"; close -> b; ask 2.a.1.0 {\"hold\":true,\"kind\":\"question\",\"prompt\":\"ok?\",\"slot\":\"a\"}\n"
                     "4 update input-required | update {\"x\":\"c\"}; close -> c\n"
                     "5 answer working | answer 2.a.1.0 true\n"
                     "6 tick completed | c leaves log=\"c\"; close ->\n");
    world_end(&w);
}

PAWL_TEST(test_G8_update_as_a_node_that_has_no_place_here_is_refused)
{
    const part parts[] = { { "a", NULL, "call llm 1" }, { "b", "a", "n=1" }, { 0 } };
    world w;

    begin(&w, graph(parts), NULL);
    CHECK_INT(world_update(&w, "b", "{\"n\":5}"), PAWL_INVALID);
    CHECK_STR(w.err.text, "run-1: update as \"b\": superstep 1 is open; answer what it waits for, or update without a node");
    CHECK_INT(world_update(&w, "nobody", "{\"n\":5}"), PAWL_INVALID);
    CHECK_STR(w.err.text, "run-1: no node \"nobody\" to update as");
    CHECK_INT(world_update(&w, PAWL_START, "{\"n\":5}"), PAWL_INVALID);
    CHECK_STR(world_get(&w, "n"), "0");
    world_receipt(&w, "a", "0");
    world_end(&w);
    begin(&w, forked_way(), NULL);
    CHECK_INT(world_update(&w, "a", "{\"x\":\"nowhere\"}"), PAWL_INVALID);
    CHECK_STR(w.err.text, "run-1: update: plan: no route from \"a\" to \"nowhere\", with {\"n\":1,\"x\":\"nowhere\"}");
    CHECK_STR(world_get(&w, "x"), "\"b\"");
    world_answer(&w, NULL, "true");
    world_end(&w);
}

PAWL_TEST(test_G8_update_as_a_source_counts_for_its_join)
{
    const part parts[] = { { "a", NULL, "log=\"a\" | interrupt \"?\"" }, { "b", "-", "log=\"b\"" }, { 0 } };
    pawl_graph *g = graph(parts);
    world w;

    pawl_graph_node(g, "both", script_node, "get log -> x");
    pawl_graph_join(g, "both", "a", "b", NULL);
    pawl_graph_edge(g, "both", PAWL_END);
    pawl_graph_goto(g, "a", "b", NULL);
    begin(&w, g, NULL);
    CHECK_INT(world_update(&w, "b", "{\"log\":\"as b\"}"), PAWL_INTERRUPTED);
    CHECK_STR(world_tasks(&w), "both");
    world_answer(&w, NULL, "true");
    CHECK_STR(world_get(&w, "x"), "[\"a\",\"as b\"]");
    world_end(&w);
}

/* ---- any entry, and forks -------------------------------------------------------------------------------- */

static const part story[] = { { "a", NULL, "x=1 | log=\"a\" | send w 1 | send w 2" }, { "w", "-", "call llm 1 -> log" },
                              { "b", "a", "ask \"?\" -> x" }, { "c", "b", "get x -> log | interrupt \"on?\" -> x" }, { "d", "c", "get x -> log" }, { 0 } };

static const char *say(void *ctx, const char *node, const char *effect, const char *args)
{
    (void)ctx;
    (void)effect;
    (void)args;
    return strcmp(node, "w") == 0 ? "\"w\"" : "null";
}

/* How many questions were answered on the way. */
static int to_the_end(world *w, const char *answer)
{
    int answers = 0;

    for (int i = 0; i < 20 && pawl_state_next(w->st) != PAWL_HALTED; i++) {
        world_go(w);
        world_run(w, say, NULL);
        if (pawl_state_next(w->st) == PAWL_INTERRUPTED && ++answers > 0)
            world_answer(w, NULL, answer);
    }
    return answers;
}

PAWL_TEST(test_G8_the_state_at_any_entry_is_what_it_was_then)
{
    char *then[32] = { NULL };
    uint64_t last;
    world w;

    begin(&w, graph(story), NULL);
    to_the_end(&w, "\"yes\"");
    last = pawl_state_seq(w.st);
    CHECK(last >= 6 && last < 32);
    world_drop(&w);
    begin(&w, graph(story), NULL);              /* the same run again, looked at as it goes */
    world_back(&w, 0);
    CHECK(world_feed(&w, &(pawl_event){ .kind = PAWL_EV_START }) >= 0);
    for (int i = 0; i < 40 && pawl_state_next(w.st) != PAWL_HALTED; i++) {
        pawl_command cmd;
        pawl_event ev = { .kind = PAWL_EV_TICK };
        char id[ID_BYTES_MAX];

        free(then[pawl_state_seq(w.st)]);
        then[pawl_state_seq(w.st)] = strdup(world_all(&w));
        if (pawl_state_next(w.st) == PAWL_PENDING) {
            CHECK_INT(pawl_state_command(w.st, 0, w.look, &cmd, NULL, &w.err), PAWL_OK);
            snprintf(id, sizeof id, "%s", cmd.id);
            ev = (pawl_event){ .kind = PAWL_EV_RECEIPT, .id = id, .value = "\"w\"" };
        } else if (pawl_state_next(w.st) == PAWL_INTERRUPTED) {
            ev = (pawl_event){ .kind = PAWL_EV_ANSWER, .value = "\"yes\"" };
        }
        CHECK(world_feed(&w, &ev) >= 0);
    }
    CHECK_INT(pawl_state_seq(w.st), last);
    for (uint64_t seq = 1; seq < last; seq++) {
        pawl_state *at;

        CHECK_INT(pawl_replay((pawl_bytes){ w.journal.data, w.journal.size }, seq, NULL, &at, &w.err), PAWL_OK);
        CHECK_STR(pawl_state_json(at, w.look, &w.err), then[seq]);
        pawl_state_free(at);
        free(then[seq]);
    }
    free(then[last]);
    world_end(&w);
}

static void fork_at(world *out, world *of, uint64_t seq, const char *id)
{
    const pawl_run_info info = { .id = id, .life = 2, .seed = 7, .created_ms = of->now };
    pawl_state *at;

    *out = (world){ .m = of->m, .lent = true, .now = of->now, .alloc = mem_or_default(NULL), .s = pawl_step_new(NULL), .look = pawl_step_new(NULL) };
    buf_init(&out->journal, &out->alloc);
    buf_init(&out->trace, &out->alloc);
    buf_init(&out->snapshot, &out->alloc);
    if (pawl_replay((pawl_bytes){ of->journal.data, of->journal.size }, seq, NULL, &at, &out->err) != PAWL_OK ||
        pawl_state_fork(at, &info, out->look, &out->st, &out->err) != PAWL_OK)
        CHECK_FAIL("fork at %llu: %s", (unsigned long long)seq, out->err.text);
    buf_put(&out->journal, out->st->base.data, out->st->base.size);
    buf_char(&out->journal, '\n');
    pawl_state_free(at);
}

/* Of every entry: the same answers lead to the same end, others elsewhere; and the run that was forked knows nothing of it. */
PAWL_TEST(test_K10_G8_a_fork_at_any_entry_goes_its_own_way)
{
    char end[512], *journal;
    int asked = 0;
    world w, f;

    begin(&w, graph(story), NULL);
    to_the_end(&w, "\"yes\"");
    snprintf(end, sizeof end, "%s", world_all(&w));
    journal = strdup(journal_of(&w));
    for (uint64_t seq = 1; seq < pawl_state_seq(w.st); seq++)
        for (int other = 0; other < 2; other++) {
            fork_at(&f, &w, seq, "fork-1");
            int answers = to_the_end(&f, other ? "\"no\"" : "\"yes\"");

            CHECK_STR(world_status(&f), "completed");
            CHECK_INT(strcmp(world_all(&f), end) == 0, !other || answers == 0);
            asked += answers;
            CHECK(strstr(journal_of(&f), "run-1~0000000000000001/") == NULL);
            world_end(&f);
        }
    CHECK(asked > 4);
    CHECK_STR(journal_of(&w), journal);
    free(journal);
    world_end(&w);
}

PAWL_TEST(test_G8_a_fork_of_what_is_over_ends_again)
{
    world w, f;

    begin(&w, graph(story), NULL);
    to_the_end(&w, "\"yes\"");
    fork_at(&f, &w, 0, "fork-1");
    CHECK_STR(world_status(&f), "working");     /* for somebody might update it as a node */
    CHECK_INT(world_go(&f), PAWL_HALTED);
    CHECK_STR(world_status(&f), "completed");
    CHECK_STR(world_all(&f), world_all(&w));
    world_end(&f);
    world_end(&w);
}

PAWL_TEST(test_G8_a_fork_that_is_updated_as_a_node_takes_another_route)
{
    world w, f;

    begin(&w, forked_way(), NULL);
    world_answer(&w, NULL, "true");
    CHECK_STR(world_get(&w, "log"), "[\"b\"]");
    for (uint64_t seq = 1; seq < 4; seq++) {
        fork_at(&f, &w, seq, "fork-1");
        world_update(&f, "a", "{\"x\":\"c\"}");
        if (pawl_state_next(f.st) == PAWL_INTERRUPTED)
            world_answer(&f, NULL, "true");
        CHECK_STR(world_get(&f, "log"), "[\"c\"]");
        world_end(&f);
    }
    world_end(&w);
}
