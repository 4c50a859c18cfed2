/* fault_rest_test.c - what was read, beside the twelve that were measured, in the source of that other engine: each shown to be
 * absent here, through every crash. */
#include "lib/tell.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const pawl_channel channels[] = { { .name = "x" }, { .name = "y" }, { .name = "list", .rule = PAWL_RULE_APPEND },
                                         { .name = "n", .rule = PAWL_RULE_SUM, .first = "0" }, { .name = "seen", .rule = PAWL_RULE_BARRIER }, { 0 } };

static pawl_graph *graph(const part *parts)
{
    return script_graph("fault", 1, channels, parts);
}

/* ---- joins ------------------------------------------------------------------------------------------ */

static pawl_machine *uneven(void)
{
    const part parts[] = { { "short", NULL, "seen=\"short\"" }, { "one", NULL, "call llm 1" }, { "two", "one", "call llm 2" },
                           { "three", "two", "call llm 3 | seen=\"three\"" }, { "join", "-", "n=1 | get seen -> x" }, { 0 } };
    pawl_graph *g = graph(parts);

    pawl_graph_join(g, "join", "short", "three", NULL);
    return script_compile(g);
}

static void arrive(world *w)
{
    CHECK_STR(world_get(w, "seen"), "");
    tell_receipt(w, "1.one.1.0", "1");
    CHECK_STR(world_get(w, "seen"), "[\"short\"]");
    tell_receipt(w, "2.two.1.0", "2");
    CHECK_STR(world_get(w, "seen"), "[\"short\"]");
    tell_receipt(w, "3.three.1.0", "3");
    CHECK_STR(world_status(w), "completed");
    CHECK_STR(world_get(w, "n"), "1");
    CHECK_STR(world_get(w, "x"), "[\"short\",\"three\"]");
}

/* There: who had arrived was in no checkpoint, and after a crash the join waited for ever. */
PAWL_TEST(test_fault_src_who_has_arrived_at_a_join_survives_a_crash)
{
    tell(uneven, NULL, arrive);
}

static pawl_machine *source_with_edges(void)
{
    const part parts[] = { { "a", NULL, "list=\"a\"" }, { "b", NULL, "list=\"b\"" }, { "beside", "a", "list=\"beside\"" },
                           { "join", "-", "list=\"join\"" }, { 0 } };
    pawl_graph *g = graph(parts);

    pawl_graph_join(g, "join", "a", "b", NULL);
    return script_compile(g);
}

static void both_ran(world *w)
{
    CHECK_STR(world_get(w, "list"), "[\"a\",\"b\",\"beside\",\"join\"]");
    CHECK_STR(world_status(w), "completed");
}

/* There: a node that is a source of a join never followed its own edges. */
PAWL_TEST(test_fault_src_a_source_s_ordinary_edges_are_followed_too)
{
    tell(source_with_edges, NULL, both_ran);
}

/* ---- pauses ------------------------------------------------------------------------------------------- */

static pawl_machine *third_is_stopped(void)
{
    const part parts[] = { { "a", NULL, "list=\"a\"" }, { "b", NULL, "list=\"b\"" }, { "c", NULL, "list=\"c\"" }, { 0 } };
    pawl_graph *g = graph(parts);

    pawl_graph_interrupt_before(g, "b");
    pawl_graph_interrupt_before(g, "c");
    return script_compile(g);
}

static void each_is_let_in(world *w)
{
    CHECK_STR(world_status(w), "input-required");
    CHECK_INT(pawl_state_waits(w->st), 2);
    CHECK_INT(times_in(journal_of(w), "[\"leave\","), 1);
    tell_answer(w, "c", "1");
    CHECK_INT(times_in(journal_of(w), "[\"leave\",\"b\""), 0);
    CHECK_STR(world_open(w, NULL, true), "run-1~0000000000000001/1.b.1.0");
    tell_answer(w, "b", "1");
    CHECK_STR(world_get(w, "list"), "[\"a\",\"b\",\"c\"]");
}

/* There: only the first task of a superstep was asked whether it may begin. */
PAWL_TEST(test_fault_src_interrupt_before_stops_each_task_that_has_it)
{
    tell(third_is_stopped, NULL, each_is_let_in);
}

static pawl_machine *two_ask(void)
{
    const part parts[] = { { "a", NULL, "ask \"a?\" -> list | ask \"once more?\" -> list" }, { "b", NULL, "ask \"b?\" -> list" },
                           { "c", NULL, "interrupt \"c?\" -> x" }, { 0 } };

    return script_compile(graph(parts));
}

static void each_has_its_own(world *w)
{
    CHECK_INT(pawl_state_waits(w->st), 2);
    tell_answer(w, "a", "\"for a\"");
    CHECK_INT(pawl_state_waits(w->st), 2);      /* b's stands, and a asks again: the value was for one call */
    CHECK_STR(world_open(w, "b", true), "run-1~0000000000000001/1.b.1.0");
    CHECK_STR(world_open(w, "a", true), "run-1~0000000000000001/1.a.1.1");
    tell_answer(w, "b", "\"for b\"");
    tell_answer(w, "a.1", "\"a again\"");
    CHECK_STR(world_get(w, "list"), "[\"for a\",\"a again\",\"for b\"]");
    CHECK_STR(world_status(w), "input-required");
    tell_answer(w, "c", "\"for c\"");
    CHECK_STR(world_get(w, "x"), "\"for c\"");
    CHECK_STR(world_status(w), "completed");
}

/* There: one value was handed to every task of the superstep. */
PAWL_TEST(test_fault_src_an_answer_goes_to_one_wait_alone)
{
    tell(two_ask, NULL, each_has_its_own);
}

/* There: with durability `exit` nothing at all was stored when a run was interrupted. */
PAWL_TEST(test_fault_src_whatever_is_shown_of_a_wait_can_be_read_back)
{
    pawl_err err = { 0 };
    pawl_state *st;
    pawl_wait q;
    world w;

    tell_begin(&w, two_ask(), "{\"y\":1}");
    CHECK_INT(pawl_replay((pawl_bytes){ w.journal.data, w.journal.size }, 0, NULL, &st, &err), PAWL_OK);
    CHECK_INT(pawl_state_next(st), PAWL_INTERRUPTED);
    CHECK_INT(pawl_state_waits(st), 2);
    CHECK_INT(pawl_state_wait(st, 1, w.look, &q, &err), PAWL_OK);
    CHECK_STR(q.id, "run-1~0000000000000001/1.b.1.0");
    CHECK_STR(pawl_value_string(q.prompt), "b?");
    pawl_state_free(st);
    world_drop(&w);
}

/* ---- lineage and order ------------------------------------------------------------------------------------ */

/* There: a checkpoint was its own parent, and the latest was sought by the text of its time. Here the chain is a hash, the order is
 * a number, and a clock that stands still changes nothing. */
PAWL_TEST(test_fault_src_entries_follow_each_other_by_number_though_the_clock_stands)
{
    const part parts[] = { { "a", NULL, "n=1 | goto a" }, { 0 } };
    pawl_graph *g = graph(parts);
    char before[HASH_HEX + 1] = "";
    pawl_entry *e;
    const char *line;
    world w;

    pawl_graph_max_steps(g, 40);
    world_begin(&w, script_compile(g), NULL);
    world_back(&w, 0);
    CHECK_INT(world_feed(&w, &(pawl_event){ .kind = PAWL_EV_START, .time_ms = 77 }), PAWL_OK);
    while (pawl_state_next(w.st) == PAWL_OK)
        CHECK(world_feed(&w, &(pawl_event){ .kind = PAWL_EV_TICK, .time_ms = 77 }) >= 0);
    for (size_t i = 1; (line = line_of(&w, i)) != NULL; i++) {
        CHECK_INT(pawl_entry_read((pawl_bytes){ line, strlen(line) }, w.s, &e, &w.err), PAWL_OK);
        CHECK_INT(pawl_entry_seq(e), i);
        CHECK_INT(pawl_entry_time_ms(e), 77);
        CHECK(strcmp(pawl_entry_hash(e), before) != 0);
        snprintf(before, sizeof before, "%s", pawl_entry_hash(e));
    }
    CHECK_INT(pawl_state_seq(w.st), 41);
    world_crash(&w);
    CHECK_STR(world_get(&w, "n"), "40");
    world_end(&w);
}

PAWL_TEST(test_fault_src_a_fork_names_what_it_was_made_from)
{
    const pawl_run_info info = { .id = "run-2", .life = 2, .seed = 7, .created_ms = 1000 };
    pawl_err err = { 0 };
    char expected[256], *base;
    pawl_state *fork;
    world w;

    tell_begin(&w, two_ask(), NULL);
    snprintf(expected, sizeof expected, "\"lineage\":{\"hash\":\"%.64s\",\"life\":\"0000000000000001\",\"run\":\"run-1\",\"seq\":1}", line_of(&w, 1));
    CHECK_INT(pawl_state_fork(w.st, &info, w.look, &fork, &err), PAWL_OK);
    base = check_copy(pawl_state_base(fork).data, pawl_state_base(fork).size);
    CHECK(strstr(base, expected) != NULL);
    free(base);
    CHECK_INT(pawl_state_seq(fork), 0);
    pawl_state_free(fork);
    world_drop(&w);
}

/* ---- cancel ------------------------------------------------------------------------------------------------- */

static pawl_machine *busy(void)
{
    const part parts[] = { { "done", NULL, "list=\"done\"" }, { "one", NULL, "call llm 1 -> list | call llm 11" },
                           { "two", NULL, "call llm 2 -> list" }, { "asks", NULL, "ask \"?\"" }, { "late", NULL, "call llm 3" },
                           { "next", "one two", "call llm 4" }, { 0 } };
    pawl_graph *g = graph(parts);

    pawl_graph_max_concurrency(g, 3);
    return script_compile(g);
}

static void called_off(world *w)
{
    CHECK_INT(pawl_state_commands(w->st), 2);
    tell_event(w, &(pawl_event){ .kind = PAWL_EV_CANCEL, .by = "ada" });
    CHECK_STR(world_status(w), "working");      /* two are in flight */
    CHECK_INT(pawl_state_waits(w->st), 0);
    CHECK_INT(pawl_state_commands(w->st), 2);
    tell_event(w, &(pawl_event){ .kind = PAWL_EV_RECEIPT, .id = "1.two.1.0", .outcome = PAWL_OUTCOME_CANCELED });
    CHECK_STR(world_status(w), "working");
    tell_receipt(w, "1.one.1.0", "\"in time\"");
    CHECK_STR(world_status(w), "canceled");
    CHECK_INT(times_in(journal_of(w), "[\"call\","), 2);        /* what had not begun never did */
    CHECK_INT(times_in(journal_of(w), "[\"receipt\",\"1."), 2);
    CHECK_INT(world_feed(w, &(pawl_event){ .kind = PAWL_EV_REOPEN }), PAWL_IGNORED);
}

/* There: a cancel was seen only between two supersteps, and then dropped what was pending without a trace. */
PAWL_TEST(test_fault_src_a_cancel_is_an_entry_in_the_middle_of_a_superstep)
{
    world w;

    tell(busy, NULL, called_off);
    tell_begin(&w, busy(), NULL);
    world_expect(&w, "1 start working | start {}; close -> done one two asks late; done leaves list=\"done\"; "
                     "call 1.one.1.0 {\"args\":1,\"effect\":\"llm\"}; call 1.two.1.0 {\"args\":2,\"effect\":\"llm\"}; "
                     "ask 1.asks.1.0 {\"kind\":\"question\",\"prompt\":\"?\",\"slot\":\"asks\"}\n");
    tell_event(&w, &(pawl_event){ .kind = PAWL_EV_CANCEL, .by = "ada" });
    tell_receipt(&w, "1.one.1.0", "1");
    tell_event(&w, &(pawl_event){ .kind = PAWL_EV_CANCEL });       /* and now without waiting for the rest */
    world_expect(&w, "2 cancel working | cancel {\"by\":\"ada\"}; drop 1.asks.1.0\n"
                     ". receipt 1.one.1.0 1\n"
                     "3 cancel canceled | records 1; cancel {}\n");
    CHECK_INT(world_feed(&w, &(pawl_event){ .kind = PAWL_EV_RECEIPT, .id = "1.two.1.0", .value = "2" }), PAWL_IGNORED);
    world_end(&w);
}
