/* growth_test.c - K7: what a step writes grows with what it changed; a message is stored once; snapshots name entries. */
#include "lib/machines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 2000, MESSAGE = 1000 };

/* Message number n: "m17-xxxx...", as JSON text. Lives until the next call. */
static const char *message(int n)
{
    static char text[MESSAGE + 3];
    int used = snprintf(text, sizeof text, "\"m%d-", n);

    memset(text + used, 'x', (size_t)(MESSAGE + 1 - used));
    text[MESSAGE + 1] = '"';
    text[MESSAGE + 2] = '\0';
    return text;
}

static const pawl_channel channels[] = { { .name = "msgs", .rule = PAWL_RULE_APPEND }, { .name = "n", .rule = PAWL_RULE_SUM }, { .name = "x" }, { 0 } };

/* Asks with the whole conversation by reference, and adds what it is told. */
static const part talker[] = { { "talk", "talk", "ref llm msgs -> msgs | n=1" }, { 0 } };

static pawl_machine *machine_talker(void)
{
    pawl_graph *g = script_graph("talker", 1, channels, talker);

    pawl_graph_edge(g, PAWL_START, "talk");
    pawl_graph_max_steps(g, STEPS + 10);
    return script_compile(g);
}

static size_t talk(world *w, int from, int to)
{
    size_t most = 0;

    for (int i = from; i < to; i++) {
        size_t before = w->journal.size;

        if (world_receipt(w, "talk", message(i)) != PAWL_PENDING)
            CHECK_FAIL("message %d: %s", i, w->err.text);
        if (w->journal.size - before > most)
            most = w->journal.size - before;
    }
    return most;
}

static void begin_quiet(world *w, pawl_machine *m, const char *input)
{
    world_begin(w, m, input);
    w->unchecked = w->quiet = true;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

PAWL_TEST(test_K7_the_bytes_of_a_step_do_not_grow_with_the_conversation)
{
    world w;
    size_t early, late, payload = (size_t)STEPS * MESSAGE;

    begin_quiet(&w, machine_talker(), NULL);
    early = talk(&w, 0, 100);
    late = talk(&w, 100, STEPS);
    if (late > early + 40)                              /* numbers have more digits, and that is all */
        CHECK_FAIL("%zu bytes a step at first, %zu later", early, late);
    if (w.journal.size > payload + payload * 7 / 10)
        CHECK_FAIL("%zu bytes for a payload of %zu", w.journal.size, payload);
    CHECK_INT(pawl_value_size(pawl_state_get(w.st, "msgs")), STEPS);
    world_end(&w);
}

PAWL_TEST(test_K7_a_message_is_stored_once_in_the_entry_that_brought_it)
{
    char part_of[32];
    const char *text;
    world w;

    begin_quiet(&w, machine_talker(), NULL);
    talk(&w, 0, 200);
    text = journal_of(&w);
    for (int i = 0; i < 200; i++) {
        snprintf(part_of, sizeof part_of, "\"m%d-", i);
        CHECK_INT(times_in(text, part_of), 1);
    }
    world_end(&w);
}

/* Every way in which a value comes in, and is written to a channel. */
static const part roads[] = {
    { "whole", NULL, "call llm 1 -> msgs" },
    { "piece", "whole", "call llm 2 -> x | emit heard 1" },
    { "asked", "piece", "ask \"?\" -> msgs" },
    { "heard", "asked", "signal news -> msgs" },
    { "sent", "heard", "call llm 3 -> msgs | send late 1" },
    { "late", "-", "call llm 4 -> msgs" },
    { "after", "sent", "interrupt \"?\" -> msgs" },
    { "end", "after", "ask \"end?\"" },
    { 0 },
};

PAWL_TEST(test_K7_by_whatever_road_it_came)
{
    char value[1200], part_of[32];
    world w;

    snprintf(value, sizeof value, "{\"msgs\":%s}", message(0));
    begin_quiet(&w, script_machine("roads", 1, channels, roads), value);
    world_receipt(&w, "whole", message(1));
    world_receipt(&w, "piece", message(2));
    world_answer(&w, NULL, message(3));
    world_signal(&w, "news", message(4));
    world_receipt(&w, "sent", message(5));
    world_receipt(&w, "late", message(6));
    world_answer(&w, NULL, message(7));
    snprintf(value, sizeof value, "{\"msgs\":%s}", message(8));
    world_update(&w, NULL, value);
    snprintf(value, sizeof value, "{\"msgs\":%s}", message(9));
    CHECK(world_feed(&w, &(pawl_event){ .kind = PAWL_EV_ANSWER, .value = "1", .update = value }) >= 0);
    CHECK_INT(world_go(&w), PAWL_HALTED);
    CHECK_INT(pawl_value_size(pawl_state_get(w.st, "msgs")), 9);
    for (int i = 0; i < 10; i++) {
        snprintf(part_of, sizeof part_of, "m%d-", i);
        if (times_in(journal_of(&w), part_of) != 1)
            CHECK_FAIL("message %d stands there %zu times", i, times_in(journal_of(&w), part_of));
    }
    world_end(&w);
}

static pawl_code pieces(pawl_step *s, void *arg)
{
    const pawl_value *one, *two;
    pawl_code rc = pawl_call(s, "llm", NULL, &one), rc2 = pawl_call(s, "llm", NULL, &two);

    (void)arg;
    if (rc != PAWL_OK || rc2 != PAWL_OK)
        return rc != PAWL_OK ? rc : rc2;
    pawl_set(s, "x", pawl_value_find(one, "/a/0"));
    pawl_set(s, "msgs", pawl_pack(s, "{s:v,s:[v,i]}", "first", pawl_value_get(one, "b"), "then", two, (int64_t)1));
    return pawl_follow(s);
}

PAWL_TEST(test_K7_a_part_of_a_receipt_and_what_is_packed_from_several)
{
    pawl_graph *g = pawl_graph_new("pieces", 1);
    char value[2400];
    world w;

    for (const pawl_channel *c = channels; c->name != NULL; c++)
        pawl_graph_channel_with(g, c);
    pawl_graph_node(g, "a", pieces, NULL);
    pawl_graph_chain(g, PAWL_START, "a", PAWL_END, NULL);
    world_begin(&w, script_compile(g), NULL);
    world_receipt(&w, "1.a.1.1", message(3));
    snprintf(value, sizeof value, "{\"a\":[%s", message(1));
    snprintf(value + strlen(value), sizeof value - strlen(value), "],\"b\":%s}", message(2));
    world_receipt(&w, "1.a.1.0", value);
    CHECK_STR(world_get(&w, "x"), message(1));
    CHECK_STR(pawl_text(w.look, pawl_value_find(pawl_state_get(w.st, "msgs"), "/0/then/0")), message(3));
    CHECK_STR(pawl_text(w.look, pawl_value_find(pawl_state_get(w.st, "msgs"), "/0/first")), message(2));
    CHECK_INT(times_in(journal_of(&w), "m1-"), 1);
    CHECK_INT(times_in(journal_of(&w), "m2-"), 1);
    CHECK_INT(times_in(journal_of(&w), "m3-"), 1);
    world_end(&w);
}

static pawl_code scribe(pawl_step *s, const pawl_input_event *h, void *arg)
{
    (void)arg;
    if (h->kind == PAWL_EV_START)
        return PAWL_OK;
    pawl_set(s, "msgs", h->value);
    pawl_set(s, "x", pawl_pack(s, "{s:v}", "last", h->value));
    pawl_set_int(s, "n", 1);
    return PAWL_OK;
}

PAWL_TEST(test_K7_a_reducer_keeps_it_once_too)
{
    pawl_err err = { 0 };
    char part_of[32];
    size_t first = 0;
    world w;

    begin_quiet(&w, pawl_flow_reducer("scribe", 1, channels, 3, scribe, NULL, NULL, &err), NULL);
    for (int i = 0; i < 300; i++) {
        size_t before = w.journal.size;

        world_signal(&w, "news", message(i));
        first = i == 0 ? w.journal.size - before : first;
        CHECK(w.journal.size - before < first + 40);
        snprintf(part_of, sizeof part_of, "m%d-", i);
        CHECK_INT(times_in(line_of(&w, (size_t)i + 2), part_of), 1);
    }
    world_end(&w);
}

/* ---- pawl_ref ------------------------------------------------------------------------------------- */

PAWL_TEST(test_K7_a_reference_is_stored_as_name_and_digest_and_resolved_at_dispatch)
{
    pawl_command cmd;
    pawl_err err = { 0 };
    world w;

    world_begin(&w, machine_talker(), "{\"msgs\":\"hello\"}");
    world_expect(&w, "1 start working | start {\"msgs\":\"hello\"}; close -> talk; call 1.talk.1.0 {\"args\":{\"it\":null},\"effect\":\"llm\","
                     "\"refs\":[[\"/it\",\"channel\",\"msgs\",\"1:3a2eb89169e7eabd645fb7ecc5b41e506a38925963770f7285e3985cad6b5c96\"]]}\n");
    for (int i = 0; i < 3; i++) {
        CHECK_INT(pawl_state_command(w.st, 0, w.look, &cmd, NULL, &err), PAWL_OK);
        CHECK(pawl_value_equal(pawl_value_get(cmd.args, "it"), pawl_state_get(w.st, "msgs")));
        CHECK_INT(pawl_value_size(pawl_value_get(cmd.args, "it")), i + 1);
        world_receipt(&w, "talk", message(i));
        world_crash(&w);
    }
    world_cancel(&w);
    world_end(&w);
}

PAWL_TEST(test_K7_a_reference_keeps_what_it_meant_while_its_superstep_is_open)
{
    const part parts[] = { { "a", NULL, "call llm 1 -> msgs" }, { "b", NULL, "ref llm msgs -> msgs" }, { "c", "a b", "ref llm n" }, { 0 } };
    pawl_command cmd;
    pawl_err err = { 0 };
    world w;

    world_begin(&w, script_machine("open", 1, channels, parts), "{\"msgs\":0}");
    world_receipt(&w, "a", "1");                        /* a is done, its writes are not merged yet */
    world_update(&w, NULL, "{\"msgs\":7}");             /* nor is this */
    CHECK_INT(pawl_state_command(w.st, 0, w.look, &cmd, NULL, &err), PAWL_OK);
    CHECK_STR(pawl_text(w.s, cmd.args), "{\"it\":[0]}");
    world_receipt(&w, "b", "2");
    CHECK_STR(world_get(&w, "msgs"), "[0,1,2,7]");
    CHECK_INT(pawl_state_command(w.st, 0, w.look, &cmd, NULL, &err), PAWL_OK);
    CHECK_STR(pawl_text(w.s, cmd.args), "{\"it\":null}");      /* never set */
    world_receipt(&w, "c", "3");
    world_end(&w);
}

static pawl_code moving(pawl_step *s, const pawl_input_event *h, void *arg)
{
    if (h->kind == PAWL_EV_START)
        pawl_flow_call(s, "c", "llm", pawl_pack(s, "{s:v}", "it", pawl_ref(s, arg)));
    else
        pawl_set(s, arg, h->value);
    return PAWL_OK;
}

PAWL_TEST(test_K7_a_reference_to_what_has_moved_on_says_so)
{
    pawl_command cmd;
    pawl_err err = { 0 };
    pawl_state *then;
    world w;

    world_begin(&w, pawl_flow_reducer("moving", 1, channels, 3, moving, "msgs", NULL, &err), "{\"msgs\":1}");
    world_signal(&w, "news", "2");
    CHECK_INT(pawl_state_command(w.st, 0, w.look, &cmd, NULL, &err), PAWL_OK);
    CHECK_STR(pawl_text(w.s, cmd.args), "{\"it\":[1]}");     /* what is only added to is still there as it was */
    world_end(&w);
    world_begin(&w, pawl_flow_reducer("moving", 1, channels, 3, moving, "x", NULL, &err), "{\"x\":1}");
    CHECK_INT(pawl_state_command(w.st, 0, w.look, &cmd, NULL, &err), PAWL_OK);
    world_signal(&w, "news", "2");
    err = (pawl_err){ 0 };
    CHECK_INT(pawl_state_command(w.st, 0, w.look, &cmd, NULL, &err), PAWL_GONE);
    CHECK_STR(err.text, "channel \"x\" has moved on since the command was made: take the state at its entry");
    CHECK_INT(pawl_replay((pawl_bytes){ w.journal.data, w.journal.size }, 1, NULL, &then, NULL), PAWL_OK);
    CHECK_INT(pawl_state_command(then, 0, w.look, &cmd, NULL, NULL), PAWL_OK);
    CHECK_STR(pawl_text(w.s, cmd.args), "{\"it\":1}");
    pawl_state_free(then);
    world_end(&w);
}

/* ---- subgraphs ---------------------------------------------------------------------------------------- */

PAWL_TEST(test_K7_entering_a_subgraph_repeats_nothing)
{
    const part inner_parts[] = { { "in", NULL, "call llm 1 -> msgs" }, { 0 } };
    pawl_graph *g = pawl_graph_new("outer", 1), *inner = script_graph("inner", 1, channels, inner_parts);
    size_t first = 0;
    world w;

    for (const pawl_channel *c = channels; c->name != NULL; c++)
        pawl_graph_channel_with(g, c);
    pawl_graph_sub(g, "sub", inner);
    pawl_graph_map(g, "sub", "msgs", "msgs", true, true);
    pawl_graph_chain(g, PAWL_START, "sub", "sub", NULL);
    begin_quiet(&w, script_compile(g), NULL);
    for (int i = 0; i < 50; i++) {
        size_t before = w.journal.size;

        CHECK_INT(world_receipt(&w, "in", message(i)), PAWL_PENDING);
        first = i == 0 ? w.journal.size - before : first;
        if (w.journal.size - before > first + 200)
            CHECK_FAIL("round %d: %zu bytes, %zu at first", i, w.journal.size - before, first);
    }
    CHECK_INT(pawl_value_size(pawl_state_get(w.st, "msgs")), 50);
    CHECK_STR(pawl_text(w.look, pawl_value_at(pawl_state_get(w.st, "msgs"), 49)), message(49));
    world_crash(&w);
    CHECK_INT(pawl_value_size(pawl_state_get(w.st, "msgs")), 50);
    world_end(&w);
}
