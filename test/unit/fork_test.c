/* fork_test.c - a fork issues what was open again, under its own ids; what must not happen twice it asks about first (K10). */
#include "base/base.h"
#include "lib/machines.h"
#include "lib/world.h"

#include <stdio.h>
#include <string.h>

static const pawl_run_info second = { .id = "run-2", .life = 2, .seed = 7, .created_ms = 1000 };
static const pawl_run_info third = { .id = "run-3", .life = 3, .seed = 7, .created_ms = 1000 };

static bool journal_has(const world *w, const char *text)
{
    size_t n = strlen(text);

    for (size_t i = 0; i + n <= w->journal.size; i++)
        if (memcmp(w->journal.data + i, text, n) == 0)
            return true;
    return false;
}

static pawl_wait wait_at(world *w, size_t i)
{
    pawl_wait q;

    CHECK_INT(pawl_state_wait(w->st, i, w->look, &q, &w->err), PAWL_OK);
    return q;
}

/* ---- a graph: its visits begin again ------------------------------------------------------------- */

/* Fetch, then pay by what was fetched. */
static pawl_code pays(pawl_step *s, void *arg)
{
    const pawl_value *price, *receipt;
    pawl_code rc = pawl_call(s, "fetch", NULL, &price);

    (void)arg;
    if (rc != PAWL_OK || (rc = pawl_call(s, "pay", price, &receipt)) != PAWL_OK)
        return rc;
    pawl_set(s, "paid", receipt);
    return pawl_follow(s);
}

static pawl_machine *shop(pawl_class cls)
{
    pawl_graph *g = pawl_graph_new("shop", 1);

    pawl_graph_channel(g, "paid", PAWL_RULE_LAST);
    pawl_graph_node(g, "buy", pays, NULL);
    pawl_graph_effect(g, "pay", &(pawl_limits){ .cls = cls });
    pawl_graph_chain(g, PAWL_START, "buy", PAWL_END, NULL);
    return script_compile(g);
}

static void shop_forked(world *w, pawl_class cls)
{
    world_begin(w, shop(cls), NULL);
    world_receipt(w, "buy", "7");
    world_fork(w, &second);
}

PAWL_TEST(test_K10_a_fork_issues_a_command_that_may_happen_again)
{
    const pawl_class classes[] = { PAWL_CLASS_PURE, PAWL_CLASS_IDEMPOTENT, PAWL_CLASS_AT_LEAST_ONCE };

    for (size_t i = 0; i < 3; i++) {
        world w;

        shop_forked(&w, classes[i]);
        CHECK_INT(pawl_state_waits(w.st), 0);
        CHECK_STR(world_status(&w), "working");
        CHECK_INT(world_go(&w), PAWL_PENDING);
        CHECK_STR(world_open(&w, NULL, false), "run-2~0000000000000002/1.buy.1.0");
        world_end(&w);
    }
}

PAWL_TEST(test_K10_a_fork_asks_before_it_issues_what_must_not_happen_twice)
{
    const pawl_class classes[] = { PAWL_CLASS_ONCE, PAWL_CLASS_COMPENSABLE };

    for (size_t i = 0; i < 2; i++) {
        pawl_wait q;
        world w;

        shop_forked(&w, classes[i]);
        CHECK_STR(world_status(&w), "input-required");
        CHECK_INT(pawl_state_commands(w.st), 0);
        CHECK_INT(pawl_state_waits(w.st), 1);
        q = wait_at(&w, 0);
        CHECK_STR(q.id, "run-2~0000000000000002/0.@.1.0");
        CHECK_STR(q.slot, "again.0");
        CHECK_INT(q.kind, PAWL_WAIT_APPROVAL);
        CHECK_STR(pawl_value_string(q.prompt), "run-1 has issued this command: shall its fork issue it too?");
        CHECK(journal_has(&w, "\"command\":[\"call\",{\"args\":7,"));
        world_crash(&w);
        CHECK_INT(world_tick(&w), PAWL_IGNORED);                /* W2 */
        CHECK_INT(world_answer(&w, "again.0", "\"yes\""), PAWL_INVALID);
        CHECK_INT(world_answer(&w, "again.0", "true"), PAWL_PENDING);
        CHECK_INT(world_answer(&w, "run-2~0000000000000002/0.@.1.0", "true"), PAWL_CONFLICT);
        CHECK_STR(world_open(&w, NULL, false), "run-2~0000000000000002/1.buy.1.0");
        world_receipt(&w, "buy", "8");                          /* from the top of the node, and nobody is asked twice */
        CHECK_INT(pawl_state_waits(w.st), 0);
        CHECK_INT(world_receipt(&w, "buy", "\"paid 8\""), PAWL_HALTED);
        CHECK_STR(world_all(&w), "{\"paid\":\"paid 8\"}");
        world_end(&w);
    }
}

PAWL_TEST(test_K10_a_person_who_says_no_ends_the_fork)
{
    world w;

    shop_forked(&w, PAWL_CLASS_ONCE);
    CHECK_INT(world_answer(&w, NULL, "false"), PAWL_HALTED);
    CHECK_STR(world_status(&w), "rejected");
    CHECK_STR(world_reason(&w), "{\"code\":\"denied\",\"text\":\"a command of the run that this is a fork of is not to be issued again\"}");
    CHECK_INT(pawl_state_waits(w.st), 0);
    world_end(&w);
}

/* An approval lets in what was asked about in that run: a fork of it asks for itself. */
PAWL_TEST(test_W6_an_approval_counts_in_its_own_run_alone)
{
    const part parts[] = { { "go", NULL, "call llm 1 -> x" }, { 0 } };
    const pawl_channel channels[] = { { .name = "x" }, { 0 } };
    pawl_graph *g = script_graph("gated", 1, channels, parts);
    char id[200];
    world w;

    pawl_graph_gate(g, "go", "go on?");
    world_begin(&w, script_compile(g), NULL);
    snprintf(id, sizeof id, "%s", world_open(&w, NULL, true));
    CHECK_INT(world_answer(&w, id, "true"), PAWL_PENDING);
    world_fork(&w, &second);
    CHECK_INT(world_go(&w), PAWL_INTERRUPTED);
    CHECK_INT(pawl_state_commands(w.st), 0);
    CHECK_INT(wait_at(&w, 0).kind, PAWL_WAIT_APPROVAL);
    CHECK_INT(world_feed(&w, &(pawl_event){ .kind = PAWL_EV_ANSWER, .id = id, .value = "true" }), PAWL_INVALID);
    CHECK_INT(pawl_state_waits(w.st), 1);
    CHECK_INT(world_answer(&w, NULL, "true"), PAWL_PENDING);
    CHECK_INT(world_receipt(&w, "go", "2"), PAWL_HALTED);
    CHECK_STR(world_all(&w), "{\"x\":2}");
    world_end(&w);
}

/* What was performed and answered while the superstep is open is no part of the entry: the fork would do it again. */
PAWL_TEST(test_K10_what_was_performed_in_the_open_superstep_is_asked_about_too)
{
    pawl_graph *g = pawl_graph_new("pair", 1);
    world w;

    pawl_graph_effect(g, "pay", &(pawl_limits){ .cls = PAWL_CLASS_ONCE });
    for (int i = 0; i < 2; i++) {
        pawl_graph_work(g, i == 0 ? "one" : "two", "pay");
        pawl_graph_chain(g, PAWL_START, i == 0 ? "one" : "two", PAWL_END, NULL);
    }
    world_begin(&w, script_compile(g), NULL);
    world_receipt(&w, "one", "null");
    world_fork(&w, &second);
    CHECK_INT(pawl_state_waits(w.st), 2);       /* one has left, but the fork starts the superstep anew */
    world_answer(&w, "again.1", "true");
    CHECK_INT(pawl_state_commands(w.st), 0);
    CHECK_INT(world_answer(&w, "again.0", "true"), PAWL_PENDING);
    CHECK_INT(pawl_state_commands(w.st), 2);
    world_drop(&w);
}

PAWL_TEST(test_K10_a_fork_of_a_fork_that_was_not_answered_asks_once)
{
    world w;

    shop_forked(&w, PAWL_CLASS_ONCE);
    world_fork(&w, &third);
    CHECK_INT(pawl_state_waits(w.st), 1);
    CHECK_STR(wait_at(&w, 0).id, "run-3~0000000000000003/0.@.1.0");
    CHECK_STR(world_status(&w), "input-required");
    CHECK_INT(world_answer(&w, NULL, "true"), PAWL_PENDING);
    CHECK_STR(world_open(&w, NULL, false), "run-3~0000000000000003/1.buy.1.0");
    world_end(&w);
}

PAWL_TEST(test_K10_a_command_inside_a_subgraph_is_asked_about)
{
    pawl_graph *g = pawl_graph_new("outer", 1), *in = pawl_graph_new("inner", 1);
    world w;

    pawl_graph_effect(in, "pay", &(pawl_limits){ .cls = PAWL_CLASS_ONCE });
    pawl_graph_work(in, "deep", "pay");
    pawl_graph_chain(in, PAWL_START, "deep", PAWL_END, NULL);
    pawl_graph_sub(g, "sub", in);
    pawl_graph_chain(g, PAWL_START, "sub", PAWL_END, NULL);
    world_begin(&w, script_compile(g), NULL);
    CHECK_INT(pawl_state_commands(w.st), 1);
    world_fork(&w, &second);
    CHECK_INT(pawl_state_waits(w.st), 1);
    CHECK_INT(world_answer(&w, NULL, "true"), PAWL_PENDING);
    CHECK_STR(world_open(&w, NULL, false), "run-2~0000000000000002/1.sub/1/1/deep.1.0");
    CHECK_INT(world_receipt(&w, "deep", "null"), PAWL_HALTED);
    world_end(&w);
}

/* ---- a reducer: what it asked for goes out as it was ------------------------------------------------- */

static pawl_code keeper(pawl_step *s, const pawl_input_event *h, void *arg)
{
    (void)arg;
    if (h->kind == PAWL_EV_START) {
        pawl_flow_call(s, "looked", "look", pawl_pack(s, "{s:s}", "at", "sky"));
        pawl_flow_call(s, "paid", "pay", pawl_pack(s, "{s:i}", "price", (int64_t)7));
        return PAWL_OK;
    }
    pawl_set(s, "log", pawl_pack(s, "[s,v]", h->tag, h->value));
    if (pawl_value_size(pawl_get(s, "log")) < 1)
        return PAWL_OK;
    return pawl_flow_complete(s);
}

static pawl_machine *keeper_machine(void)
{
    const pawl_channel channels[] = { { .name = "log", .rule = PAWL_RULE_APPEND } };
    pawl_err err = {0};
    pawl_machine *m = pawl_flow_reducer("keeper", 1, channels, 1, keeper, NULL, NULL, &err);

    CHECK_INT(pawl_flow_effect(m, "pay", &(pawl_limits){ .cls = PAWL_CLASS_ONCE }, &err), PAWL_OK);
    return m;
}

PAWL_TEST(test_K10_a_reducer_s_command_goes_out_when_somebody_said_so)
{
    pawl_command cmd;
    world w;

    world_begin(&w, keeper_machine(), NULL);
    world_fork(&w, &second);
    CHECK_INT(pawl_state_commands(w.st), 1);
    CHECK_STR(world_open(&w, NULL, false), "run-2~0000000000000002/0.@.1.0");
    CHECK_STR(world_open(&w, "again.1", true), "run-2~0000000000000002/0.@.1.1");
    CHECK_STR(world_status(&w), "working");
    world_crash(&w);
    CHECK_INT(world_answer(&w, NULL, "true"), PAWL_PENDING);
    CHECK_INT(pawl_state_command(w.st, 1, w.look, &cmd, NULL, &w.err), PAWL_OK);
    CHECK_STR(cmd.id, "run-2~0000000000000002/1.@.1.0");
    CHECK_STR(pawl_text(w.look, cmd.args), "{\"price\":7}");
    CHECK_INT(cmd.limits.cls, PAWL_CLASS_ONCE);
    world_crash(&w);
    CHECK_INT(world_receipt(&w, "1.@.1.0", "\"done\""), PAWL_PENDING);
    CHECK_INT(world_receipt(&w, "0.@.1.0", "\"blue\""), PAWL_HALTED);
    CHECK_STR(world_all(&w), "{\"log\":[[\"paid\",\"done\"],[\"looked\",\"blue\"]]}");
    world_end(&w);
}

PAWL_TEST(test_K10_a_reducer_s_fork_ends_at_a_no)
{
    world w;

    world_begin(&w, keeper_machine(), NULL);
    world_fork(&w, &second);
    CHECK_INT(world_answer(&w, NULL, "false"), PAWL_HALTED);
    CHECK_STR(world_status(&w), "rejected");
    CHECK_INT(pawl_state_commands(w.st), 0);
    world_end(&w);
}
