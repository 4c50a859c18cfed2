/* undo_test.c - outcomes in doubt, which somebody settles, and inverses, which undo what a run did before it fails (E5, E10). */
#include "lib/machines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const pawl_channel channels[] = { { .name = "x", .rule = PAWL_RULE_APPEND }, { .name = "y" }, { .name = "token", .secret = "env:TOKEN" }, { 0 } };

static pawl_graph *graph(const part *parts)
{
    const pawl_limits once = { .cls = PAWL_CLASS_ONCE }, book = { .cls = PAWL_CLASS_COMPENSABLE, .inverse = "unbook" };
    pawl_graph *g = script_graph("trip", 1, channels, parts);

    pawl_graph_effect(g, "pay", &once);
    pawl_graph_effect(g, "book", &book);
    return g;
}

static void begin(world *w, const part *parts)
{
    world_begin(w, script_compile(graph(parts)), NULL);
}

/* ---- doubt --------------------------------------------------------------------------------------- */

static const part pays[] = { { "pay", NULL, "call pay 7 -> x" }, { "next", "pay", "get x -> y" }, { 0 } };

#define DOUBT "pay was begun, and what came of it is not known: find out, and answer {\\\"done\\\":RESULT}, {\\\"failed\\\":TEXT}, or \\\"again\\\" to have it performed again"

PAWL_TEST(test_E5_an_unknown_outcome_of_once_becomes_a_wait)
{
    pawl_err err = {0};
    pawl_wait wait;
    world w;

    begin(&w, pays);
    CHECK_INT(world_outcome(&w, "pay", PAWL_OUTCOME_UNKNOWN, "{\"code\":\"unknown\",\"text\":\"the line went dead\"}"), PAWL_INTERRUPTED);
    CHECK_STR(world_status(&w), "input-required");
    CHECK_INT(pawl_state_commands(w.st), 0);
    CHECK_INT(pawl_state_waits(w.st), 1);
    CHECK_INT(pawl_state_wait(w.st, 0, w.look, &wait, &err), PAWL_OK);
    CHECK_STR(wait.id, "run-1~0000000000000001/1.pay.1.0");
    CHECK_STR(wait.node, "pay");
    CHECK_STR(wait.slot, "1.pay.1.0");
    CHECK_INT(wait.kind, PAWL_WAIT_QUESTION);
    CHECK_STR(pawl_text(w.look, wait.prompt), "{\"effect\":\"pay\",\"known\":{\"code\":\"unknown\",\"text\":\"the line went dead\"},\"outcome\":\"unknown\","
                                              "\"text\":\"" DOUBT "\"}");
    world_crash(&w);
    CHECK_INT(world_answer(&w, "pay", "\"yes\""), PAWL_INVALID);
    CHECK_INT(world_answer(&w, "pay", "{\"done\":1,\"failed\":\"x\"}"), PAWL_INVALID);
    CHECK_INT(world_outcome(&w, "1.pay.1.0", PAWL_OUTCOME_UNKNOWN, NULL), PAWL_IGNORED);
    CHECK_INT(world_answer(&w, "pay", "{\"done\":\"r1\"}"), PAWL_HALTED);
    CHECK_STR(world_status(&w), "completed");
    CHECK_STR(world_get(&w, "y"), "[\"r1\"]");
    CHECK_INT(world_answer(&w, "1.pay.1.0", "\"again\""), PAWL_IGNORED);
    world_end(&w);
}

PAWL_TEST(test_E5_again_performs_it_again_and_failed_is_its_error)
{
    pawl_err err = {0};
    pawl_command cmd;
    world w;

    begin(&w, pays);
    CHECK_INT(world_outcome(&w, "pay", PAWL_OUTCOME_UNKNOWN, "{\"attempts\":3}"), PAWL_INTERRUPTED);
    CHECK_INT(world_answer(&w, NULL, "\"again\""), PAWL_PENDING);
    world_crash(&w);
    CHECK_STR(world_status(&w), "working");
    CHECK_INT(pawl_state_command(w.st, 0, w.look, &cmd, NULL, &err), PAWL_OK);
    CHECK_STR(cmd.id, "run-1~0000000000000001/1.pay.1.0");
    CHECK_INT(cmd.cleared, 3);
    CHECK_INT(world_outcome(&w, "pay", PAWL_OUTCOME_UNKNOWN, NULL), PAWL_INTERRUPTED);
    CHECK_INT(pawl_state_waits(w.st), 1);
    CHECK_INT(world_answer(&w, NULL, "{\"failed\":\"the bank says no\"}"), PAWL_HALTED);
    CHECK_STR(world_get(&w, "y"), "[{\"code\":\"effect\",\"text\":\"the bank says no\"}]");    /* the script takes errors, too */
    world_end(&w);
}

/* The outcome may come after all: from a handler that was thought dead. */
PAWL_TEST(test_E5_a_receipt_that_comes_late_settles_the_doubt)
{
    world w;

    begin(&w, pays);
    CHECK_INT(world_outcome(&w, "pay", PAWL_OUTCOME_UNKNOWN, NULL), PAWL_INTERRUPTED);
    CHECK_INT(world_receipt(&w, "1.pay.1.0", "\"late\""), PAWL_HALTED);
    CHECK_STR(world_get(&w, "y"), "[\"late\"]");
    world_expect(&w, "1 start working | start {}; close -> pay; call 1.pay.1.0 {\"args\":7,\"class\":\"once\",\"effect\":\"pay\"}\n"
                     ". doubt 1.pay.1.0 {\"kind\":\"question\",\"prompt\":{\"effect\":\"pay\",\"known\":null,\"outcome\":\"unknown\",\"text\":\"" DOUBT "\"},"
                     "\"schema\":{\"anyOf\":[{\"const\":\"again\"},{\"additionalProperties\":false,\"properties\":{\"done\":{}},\"required\":[\"done\"],\"type\":\"object\"},"
                     "{\"additionalProperties\":false,\"properties\":{\"failed\":{\"type\":\"string\"}},\"required\":[\"failed\"],\"type\":\"object\"}]},\"slot\":\"1.pay.1.0\"}\n"
                     ". receipt 1.pay.1.0 \"late\"; pay leaves x=\"late\"\n"
                     "2 tick working | records 3; close -> next\n"
                     "3 tick completed | next leaves y=[\"late\"]; close ->\n");
    world_end(&w);
}

PAWL_TEST(test_E5_what_is_not_once_gives_unknown_to_the_node)
{
    const part parts[] = { { "ask", NULL, "call llm 7 -> x" }, { 0 } };
    world w;

    begin(&w, parts);
    CHECK_INT(world_outcome(&w, "ask", PAWL_OUTCOME_UNKNOWN, "{\"text\":\"gone\"}"), PAWL_HALTED);
    CHECK_STR(world_get(&w, "x"), "[{\"text\":\"gone\"}]");
    CHECK_INT(times_in(journal_of(&w), "doubt"), 0);
    world_end(&w);
}

PAWL_TEST(test_E5_a_sibling_goes_on_beside_a_doubt)
{
    const part parts[] = { { "a", NULL, "call pay 1 -> x" }, { "b", NULL, "call llm 2 -> x" }, { "c", "a b", "get x -> y" }, { 0 } };
    world w;

    begin(&w, parts);
    CHECK_INT(world_outcome(&w, "a", PAWL_OUTCOME_UNKNOWN, NULL), PAWL_PENDING);
    CHECK_STR(world_status(&w), "working");
    CHECK_INT(world_receipt(&w, "b", "\"b\""), PAWL_INTERRUPTED);
    CHECK_STR(world_status(&w), "input-required");
    CHECK_INT(world_cancel(&w), PAWL_HALTED);
    CHECK_STR(world_status(&w), "canceled");
    world_end(&w);
}

/* ---- inverses ------------------------------------------------------------------------------------- */

static const part trip[] = { { "flight", NULL, "call book \"flight\" -> x" }, { "hotel", "flight", "call book \"hotel\" -> x" },
                             { "car", "hotel", "call llm 1 -> y | fail effect no-car" }, { 0 } };

/* What the inverse is told that is out. */
static const char *undone(world *w)
{
    pawl_err err = {0};
    pawl_command cmd;

    return pawl_state_command(w->st, 0, w->look, &cmd, NULL, &err) == PAWL_OK && strcmp(cmd.effect, "unbook") == 0 ? pawl_text(w->look, cmd.args) : "";
}

PAWL_TEST(test_E5_inverses_run_in_reverse_each_in_its_entry)
{
    world w;

    begin(&w, trip);
    world_receipt(&w, "flight", "\"f1\"");
    world_receipt(&w, "hotel", "\"h1\"");
    world_expect(&w, "1 start working | start {}; close -> flight; call 1.flight.1.0 {\"args\":\"flight\",\"class\":\"compensable\",\"effect\":\"book\",\"inverse\":\"unbook\"}\n"
                     "2 receipt working | receipt 1.flight.1.0 \"f1\"; flight leaves x=\"f1\"; close -> hotel; call 2.hotel.1.0 {\"args\":\"hotel\",\"class\":\"compensable\",\"effect\":\"book\",\"inverse\":\"unbook\"}\n"
                     "3 receipt working | receipt 2.hotel.1.0 \"h1\"; hotel leaves x=\"h1\"; close -> car; call 3.car.1.0 {\"args\":1,\"effect\":\"llm\"}\n");
    CHECK_INT(world_receipt(&w, "car", "0"), PAWL_PENDING);
    CHECK_STR(world_status(&w), "working");
    CHECK_STR(world_reason(&w), "{\"code\":\"effect\",\"text\":\"no-car\"}");
    world_crash(&w);
    CHECK_INT(world_update(&w, NULL, "{\"y\":1}"), PAWL_IGNORED);
    CHECK_INT(world_cancel(&w), PAWL_IGNORED);
    CHECK_INT(world_receipt(&w, "@undo", "true"), PAWL_PENDING);
    CHECK_INT(world_receipt(&w, "@undo", "true"), PAWL_HALTED);
    CHECK_STR(world_status(&w), "failed");
    world_expect(&w, "4 receipt working | receipt 3.car.1.0 0; car fail {\"code\":\"effect\",\"text\":\"no-car\"}; unwind failed {\"code\":\"effect\",\"text\":\"no-car\"}; "
                     "call 4.@undo.1.0 {\"args\":{\"args\":\"hotel\",\"id\":\"2.hotel.1.0\",\"receipt\":\"h1\"},\"effect\":\"unbook\"}\n"
                     "5 receipt working | receipt 4.@undo.1.0 true; call 5.@undo.1.0 {\"args\":{\"args\":\"flight\",\"id\":\"1.flight.1.0\",\"receipt\":\"f1\"},\"effect\":\"unbook\"}\n"
                     "6 receipt failed | receipt 5.@undo.1.0 true\n");
    CHECK_INT(world_reopen(&w, NULL), PAWL_INVALID);
    CHECK(strstr(w.err.text, "what it did was undone") != NULL);
    world_end(&w);
}

/* Whoever is done first, the last in task order is undone first. */
PAWL_TEST(test_E5_siblings_are_undone_in_reverse_of_task_order_whatever_came_first)
{
    const part parts[] = { { "a", NULL, "call book \"a\" -> x" }, { "b", NULL, "call book \"b\" -> x" }, { "c", NULL, "call llm 0 -> y | fail effect no" },
                           { 0 } };
    static const char *const orders[] = { "abc", "acb", "bac", "bca", "cab", "cba" };
    char *first = NULL;

    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        const char *end;
        world w;

        begin(&w, parts);
        for (const char *at = orders[i]; *at != '\0'; at++) {
            const char node[2] = { *at, '\0' };

            w.now = 100;
            world_receipt(&w, node, "1");
        }
        while (pawl_state_next(w.st) == PAWL_PENDING)
            world_receipt(&w, "@undo", "true");
        CHECK_STR(world_status(&w), "failed");
        CHECK_INT(times_in(journal_of(&w), "\"effect\":\"unbook\""), 2);
        CHECK(strstr(journal_of(&w), "@undo.1.0\",{\"args\":{\"args\":\"b\"") < strstr(journal_of(&w), "@undo.1.0\",{\"args\":{\"args\":\"a\""));
        end = strstr(journal_of(&w), "[\"records\",");
        CHECK(end != NULL);
        if (first == NULL)
            first = strdup(end);
        CHECK_STR(end, first);
        world_end(&w);
    }
    free(first);
}

static pawl_code sends(pawl_step *s, void *arg)
{
    (void)arg;
    for (int64_t i = 0; i < 13; i++)
        pawl_send(s, "b", pawl_pack(s, "i", i));
    return pawl_follow(s);
}

/* As many as no power of two, in any order. */
PAWL_TEST(test_E5_of_many_siblings_each_is_undone_in_its_turn)
{
    pawl_graph *g = graph((const part[]){ { "many", NULL, "y=0" }, { "b", "-", "call book 1 -> x" }, { "c", "b", "fail effect no" }, { 0 } });
    char id[32];
    world w;

    pawl_graph_node(g, "plan", sends, NULL);
    pawl_graph_goto(g, "plan", "b", NULL);
    pawl_graph_chain(g, "many", "plan", PAWL_END, NULL);
    world_begin(&w, script_compile(g), NULL);
    for (int i = 0; i < 13; i++) {
        snprintf(id, sizeof id, "3.b:%d.1.0", i * 5 % 13);
        world_receipt(&w, id, "1");
    }
    for (int i = 12; i >= 0; i--) {
        pawl_command cmd;

        CHECK_INT(pawl_state_command(w.st, 0, w.look, &cmd, NULL, NULL), PAWL_OK);
        snprintf(id, sizeof id, "3.b:%d.1.0", i);
        CHECK_STR(pawl_value_string(pawl_value_get(cmd.args, "id")), id);
        world_receipt(&w, "@undo", "true");
    }
    CHECK_STR(world_status(&w), "failed");
    world_end(&w);
}

PAWL_TEST(test_E10_cancel_waits_for_what_is_in_flight_and_undoes_it_too)
{
    world w;

    begin(&w, trip);
    world_receipt(&w, "flight", "\"f1\"");
    CHECK_INT(world_cancel(&w), PAWL_PENDING);
    CHECK_INT(pawl_state_commands(w.st), 1);
    CHECK_INT(world_receipt(&w, "hotel", "\"h1\""), PAWL_PENDING);     /* it was quicker */
    CHECK_STR(world_open(&w, "@undo", false), "run-1~0000000000000001/4.@undo.1.0");
    world_receipt(&w, "@undo", "true");
    CHECK_INT(world_receipt(&w, "@undo", "true"), PAWL_HALTED);
    CHECK_STR(world_status(&w), "canceled");
    CHECK_STR(world_reason(&w), "");
    CHECK_INT(times_in(journal_of(&w), "\"effect\":\"unbook\""), 2);
    world_end(&w);
}

PAWL_TEST(test_E10_a_second_cancel_skips_the_waiting_not_the_inverses)
{
    world w;

    begin(&w, trip);
    world_receipt(&w, "flight", "\"f1\"");
    CHECK_INT(world_cancel(&w), PAWL_PENDING);
    CHECK_INT(world_cancel(&w), PAWL_PENDING);
    CHECK_STR(undone(&w), "{\"args\":\"hotel\",\"id\":\"2.hotel.1.0\",\"receipt\":null}");       /* it may have been booked */
    CHECK_INT(world_receipt(&w, "2.hotel.1.0", "\"h1\""), PAWL_IGNORED);
    CHECK_INT(world_receipt(&w, "@undo", "true"), PAWL_PENDING);
    CHECK_STR(undone(&w), "{\"args\":\"flight\",\"id\":\"1.flight.1.0\",\"receipt\":\"f1\"}");
    CHECK_INT(world_receipt(&w, "@undo", "true"), PAWL_HALTED);
    CHECK_STR(world_status(&w), "canceled");
    world_end(&w);
}

static pawl_code races(pawl_step *s, void *arg)
{
    const pawl_value *v;
    uint32_t winner;
    pawl_code rc;

    (void)arg;
    if ((rc = pawl_call(s, "book", pawl_json(s, "1"), &v)) == PAWL_PENDING)
        rc = pawl_call(s, "llm", NULL, &v);
    if (rc == PAWL_OK || rc == PAWL_PENDING)
        rc = pawl_select(s, &winner);
    return rc == PAWL_OK ? pawl_follow(s) : rc;
}

PAWL_TEST(test_E5_what_was_given_up_is_undone_too_without_a_receipt)
{
    pawl_graph *g = graph((const part[]){ { "b", "-", "call llm 0 -> y | fail effect no" }, { 0 } });
    static const part beside[] = { { "a", NULL, "call book 1 -> x" }, { "b", NULL, "call llm 0 -> y | fail effect no" }, { 0 } };
    world w;

    pawl_graph_node(g, "a", races, NULL);   /* it lost a race */
    pawl_graph_edge(g, PAWL_START, "a");
    pawl_graph_edge(g, "a", "b");
    world_begin(&w, script_compile(g), NULL);
    world_receipt(&w, "1.a.1.1", "2");
    CHECK_INT(world_receipt(&w, "b", "0"), PAWL_PENDING);
    CHECK_STR(undone(&w), "{\"args\":1,\"id\":\"1.a.1.0\",\"receipt\":null}");
    CHECK_INT(world_receipt(&w, "@undo", "true"), PAWL_HALTED);
    world_end(&w);

    begin(&w, beside);                      /* what came of it is not known, and it is called off before anybody says */
    world_receipt(&w, "b", "0");
    CHECK_INT(world_outcome(&w, "a", PAWL_OUTCOME_UNKNOWN, NULL), PAWL_INTERRUPTED);
    CHECK_INT(world_cancel(&w), PAWL_PENDING);
    CHECK_STR(undone(&w), "{\"args\":1,\"id\":\"1.a.1.0\",\"receipt\":null}");
    CHECK_INT(world_receipt(&w, "@undo", "true"), PAWL_HALTED);
    world_end(&w);

    begin(&w, beside);                      /* nobody knows, and nobody is asked: it is called off */
    CHECK_INT(world_cancel(&w), PAWL_PENDING);
    CHECK_INT(world_outcome(&w, "b", PAWL_OUTCOME_CANCELED, NULL), PAWL_PENDING);
    CHECK_INT(world_outcome(&w, "a", PAWL_OUTCOME_UNKNOWN, NULL), PAWL_PENDING);
    CHECK_STR(undone(&w), "{\"args\":1,\"id\":\"1.a.1.0\",\"receipt\":null}");
    CHECK_INT(world_receipt(&w, "@undo", "true"), PAWL_HALTED);
    CHECK_STR(world_status(&w), "canceled");
    world_end(&w);
}

PAWL_TEST(test_E5_an_inverse_that_fails_for_good_becomes_a_wait)
{
    world w;

    begin(&w, trip);
    world_receipt(&w, "flight", "\"f1\"");
    world_receipt(&w, "hotel", "\"h1\"");
    world_receipt(&w, "car", "0");
    CHECK_INT(world_error(&w, "@undo", "{\"code\":\"effect\",\"text\":\"too late\"}"), PAWL_INTERRUPTED);
    CHECK_STR(world_status(&w), "input-required");
    world_snapshot(&w);
    world_crash(&w);
    CHECK_INT(world_answer(&w, NULL, "\"again\""), PAWL_PENDING);
    CHECK_STR(world_status(&w), "working");
    CHECK_INT(world_error(&w, "@undo", "{\"code\":\"effect\",\"text\":\"too late\"}"), PAWL_INTERRUPTED);
    CHECK_INT(world_answer(&w, NULL, "{\"failed\":\"we keep the hotel\"}"), PAWL_PENDING);    /* the others go on */
    CHECK_INT(world_receipt(&w, "@undo", "true"), PAWL_HALTED);
    CHECK_STR(world_status(&w), "failed");
    world_end(&w);
}

/* The channel moves on, the inverse sees what the command was given; of the secret it sees the name. */
PAWL_TEST(test_E5_an_inverse_gets_the_arguments_as_they_were)
{
    const part parts[] = { { "a", NULL, "ref book x -> x" }, { "b", "a", "ref book token -> x" }, { "c", "b", "call llm 0 -> y | fail effect no" }, { 0 } };
    pawl_err err = {0};
    const pawl_value *secrets;
    pawl_command cmd;
    world w;

    world_begin(&w, script_compile(graph(parts)), "{\"x\":\"one\"}");
    world_receipt(&w, "a", "\"two\"");
    world_receipt(&w, "b", "\"three\"");
    world_receipt(&w, "c", "0");
    world_crash(&w);
    CHECK_INT(pawl_state_command(w.st, 0, w.look, &cmd, &secrets, &err), PAWL_OK);
    CHECK_STR(pawl_text(w.look, cmd.args), "{\"args\":{\"it\":null},\"id\":\"2.b.1.0\",\"receipt\":\"three\"}");
    CHECK_STR(pawl_text(w.look, secrets), "[[\"/args/it\",\"env:TOKEN\"]]");
    world_receipt(&w, "@undo", "true");
    CHECK_INT(pawl_state_command(w.st, 0, w.look, &cmd, &secrets, &err), PAWL_OK);
    CHECK_STR(pawl_text(w.look, cmd.args), "{\"args\":{\"it\":[\"one\"]},\"id\":\"1.a.1.0\",\"receipt\":\"two\"}");
    CHECK(secrets == NULL);
    CHECK_INT(world_receipt(&w, "@undo", "true"), PAWL_HALTED);
    world_end(&w);
}

PAWL_TEST(test_E5_a_completed_run_undoes_nothing)
{
    const part parts[] = { { "a", NULL, "call book 1 -> x" }, { 0 } };
    world w;

    begin(&w, parts);
    CHECK_INT(world_receipt(&w, "a", "1"), PAWL_HALTED);
    CHECK_STR(world_status(&w), "completed");
    CHECK_INT(times_in(journal_of(&w), "unwind"), 0);
    world_end(&w);
}

PAWL_TEST(test_E5_a_rejected_run_undoes_what_it_did)
{
    const part parts[] = { { "a", NULL, "call book 1 -> x" }, { "b", "a", "y=1" }, { 0 } };
    pawl_graph *g = graph(parts);
    world w;

    pawl_graph_gate(g, "b", "go on?");
    world_begin(&w, script_compile(g), NULL);
    CHECK_INT(world_receipt(&w, "a", "1"), PAWL_INTERRUPTED);
    CHECK_INT(world_answer(&w, NULL, "false"), PAWL_PENDING);
    CHECK_INT(world_receipt(&w, "@undo", "null"), PAWL_HALTED);
    CHECK_STR(world_status(&w), "rejected");
    world_end(&w);
}

/* A fork has done nothing yet: what the run did, the run undoes (K10). */
PAWL_TEST(test_K10_a_fork_undoes_nothing_of_the_run_it_comes_from)
{
    const pawl_run_info info = { .id = "run-2", .life = 2 };
    world w;

    begin(&w, trip);
    world_receipt(&w, "flight", "\"f1\"");
    world_receipt(&w, "hotel", "\"h1\"");
    world_fork(&w, &info);
    world_go(&w);
    CHECK_INT(world_receipt(&w, "car", "0"), PAWL_HALTED);
    CHECK_STR(world_status(&w), "failed");
    CHECK_INT(times_in(journal_of(&w), "unbook"), 0);
    world_end(&w);
}

/* What a node makes of it is the same live, after a crash and to who verifies. */
PAWL_TEST(test_K2_a_receipt_without_a_value_reads_as_it_was)
{
    const part parts[] = { { "a", NULL, "sleep 5" }, { 0 } };
    world w;

    begin(&w, parts);
    CHECK_INT(world_outcome(&w, "a", PAWL_OUTCOME_CANCELED, NULL), PAWL_HALTED);
    CHECK_STR(world_status(&w), "failed");
    CHECK_STR(world_reason(&w), "{\"code\":\"effect\",\"receipt\":null,\"text\":\"node \\\"a\\\": an effect failed for good\"}");
    world_end(&w);
}

/* ---- what is declared ------------------------------------------------------------------------------ */

PAWL_TEST(test_E5_an_inverse_goes_with_compensable_alone)
{
    const pawl_limits wrong[] = { { .cls = PAWL_CLASS_ONCE, .inverse = "x" }, { .cls = PAWL_CLASS_COMPENSABLE, .inverse = "no name" },
                                  { .cls = PAWL_CLASS_PURE, .on_unknown = "x" }, { .cls = PAWL_CLASS_ONCE, .on_unknown = "" } };
    const part parts[] = { { "a", NULL, "call e 1 -> x" }, { 0 } };

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        pawl_graph *g = script_graph("trip", 1, channels, parts);
        pawl_err err = {0};

        pawl_graph_effect(g, "e", &wrong[i]);
        CHECK(pawl_graph_compile(g, &err) == NULL);
        CHECK_INT(err.code, PAWL_INVALID);
    }
}

/* ---- a reducer ------------------------------------------------------------------------------------- */

static pawl_code clerk(pawl_step *s, const pawl_input_event *h, void *arg)
{
    (void)arg;
    if (h->kind == PAWL_EV_START) {
        pawl_flow_call(s, "b", "book", pawl_pack(s, "s", "seat"));
        pawl_flow_call(s, "p", "pay", pawl_pack(s, "i", (int64_t)7));
        return PAWL_OK;
    }
    if (h->kind != PAWL_EV_RECEIPT)
        return PAWL_IGNORED;
    pawl_set(s, "x", pawl_pack(s, "[s,i,v]", h->tag, (int64_t)h->outcome, h->value != NULL ? h->value : pawl_json(s, "null")));
    return strcmp(h->tag, "p") == 0 && h->outcome != PAWL_OUTCOME_DONE ? pawl_fail(s, PAWL_EFFECT, "not paid") : PAWL_OK;
}

static pawl_machine *office(void)
{
    const pawl_limits once = { .cls = PAWL_CLASS_ONCE }, book = { .cls = PAWL_CLASS_COMPENSABLE, .inverse = "unbook" };
    const pawl_channel x = { .name = "x", .rule = PAWL_RULE_APPEND };
    pawl_err err = {0};
    pawl_machine *m = pawl_flow_reducer("office", 1, &x, 1, clerk, NULL, NULL, &err);

    CHECK(m != NULL);
    CHECK_INT(pawl_flow_effect(m, "pay", &once, &err), PAWL_OK);
    CHECK_INT(pawl_flow_effect(m, "book", &book, &err), PAWL_OK);
    return m;
}

PAWL_TEST(test_E5_a_reducer_is_told_what_was_answered_as_a_receipt)
{
    world w;

    world_begin(&w, office(), NULL);
    CHECK_INT(world_outcome(&w, "1.@.1.1", PAWL_OUTCOME_UNKNOWN, NULL), PAWL_PENDING);
    CHECK_STR(world_get(&w, "x"), "");
    CHECK_INT(world_answer(&w, NULL, "\"again\""), PAWL_PENDING);
    CHECK_INT(world_outcome(&w, "1.@.1.1", PAWL_OUTCOME_UNKNOWN, NULL), PAWL_PENDING);
    CHECK_INT(world_answer(&w, NULL, "{\"done\":{\"no\":\"a long enough receipt to be named by reference in the journal\"}}"), PAWL_PENDING);
    CHECK_STR(world_get(&w, "x"), "[[\"p\",0,{\"no\":\"a long enough receipt to be named by reference in the journal\"}]]");
    world_end(&w);
}

/* It fails while a booking is in flight: that is waited for, and undone. */
PAWL_TEST(test_E5_a_reducer_that_fails_undoes_what_was_in_flight)
{
    world w;

    world_begin(&w, office(), NULL);
    CHECK_INT(world_error(&w, "1.@.1.1", "{\"text\":\"broke\"}"), PAWL_PENDING);
    CHECK_STR(world_status(&w), "working");
    CHECK_INT(world_receipt(&w, "1.@.1.0", "\"seat 7\""), PAWL_PENDING);
    CHECK_INT(world_receipt(&w, "@undo", "true"), PAWL_HALTED);
    CHECK_STR(world_status(&w), "failed");
    CHECK(strstr(journal_of(&w), "{\"args\":{\"args\":\"seat\",\"id\":\"1.@.1.0\",\"receipt\":\"seat 7\"},\"effect\":\"unbook\"}") != NULL);
    world_end(&w);
}
