/* budget_test.c - what a run may spend (A8): reserved before, settled after, never above a cap, whatever happens in between. */
#include "kernel/cost.h"
#include "kernel/state.h"
#include "lib/life_march.h"
#include "lib/machines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- machines ----------------------------------------------------------------------------------- */

static const pawl_channel plain[] = {
    { .name = "n" }, { .name = "out", .rule = PAWL_RULE_APPEND }, { .name = "told", .rule = PAWL_RULE_APPEND }, { .name = "plan" }, { 0 },
};

/* A model that may cost 100 tokens and 50 micros a call. */
static void effects(pawl_graph *g)
{
    pawl_graph_effect(g, "model", &(pawl_limits){ .cost = { .tokens = 100, .micros = 50 } });
    pawl_graph_effect(g, "look", &(pawl_limits){ .cls = PAWL_CLASS_PURE });
    pawl_graph_effect(g, "often", &(pawl_limits){ .retry = { .max_attempts = 3 } });
    pawl_graph_effect(g, "pay", &(pawl_limits){ .cls = PAWL_CLASS_ONCE, .cost = { .micros = 40 } });
    pawl_graph_effect(g, "book", &(pawl_limits){ .cls = PAWL_CLASS_COMPENSABLE, .inverse = "unbook", .cost = { .micros = 10 } });
}

static pawl_machine *scripted(const part *parts)
{
    pawl_graph *g = script_graph("spender", 1, plain, parts);

    effects(g);
    return script_compile(g);
}

/* Asks the model until it is refused, then a person, and goes on with what it has. */
static pawl_code asks_on(pawl_step *s, void *arg)
{
    const pawl_value *v;
    pawl_code rc;

    (void)arg;
    for (int i = 0; i < 10; i++) {
        rc = pawl_call(s, "model", pawl_pack(s, "{s:i}", "i", (int64_t)i), &v);
        if (rc == PAWL_LIMIT)
            break;
        if (rc != PAWL_OK)
            return rc;
        pawl_set(s, "out", v);
    }
    if (rc == PAWL_LIMIT) {
        pawl_set(s, "told", v);
        if ((rc = pawl_ask(s, pawl_pack(s, "s", "go on?"), NULL)) != PAWL_OK)
            return rc;
        if ((rc = pawl_call(s, "model", pawl_pack(s, "s", "once more"), &v)) == PAWL_LIMIT)
            return pawl_follow(s);
        if (rc != PAWL_OK)
            return rc;
        pawl_set(s, "out", v);
    }
    return pawl_follow(s);
}

static pawl_machine *one_node(pawl_node_fn *fn)
{
    pawl_graph *g = pawl_graph_new("asker", 1);

    for (const pawl_channel *c = plain; c->name != NULL; c++)
        pawl_graph_channel_with(g, c);
    effects(g);
    pawl_graph_node(g, "ask", fn, NULL);
    pawl_graph_chain(g, PAWL_START, "ask", PAWL_END, NULL);
    return script_compile(g);
}

/* ---- the ledger ------------------------------------------------------------------------------------ */

static bool below(int64_t cap, int64_t used, int64_t reserved)
{
    return used >= 0 && reserved >= 0 && (cap == 0 || used + reserved <= cap);
}

static void check_holds(const pawl_state *st)
{
    pawl_spent s;

    if (!pawl_state_spent(st, &s) || s.overdraft)
        return;
    if (!below(s.caps.calls, s.used.calls, s.reserved.calls) || !below(s.caps.tokens, s.used.tokens, s.reserved.tokens) ||
        !below(s.caps.micros, s.used.micros, s.reserved.micros))
        CHECK_FAIL("after entry %llu: calls %lld+%lld of %lld, tokens %lld+%lld of %lld, micros %lld+%lld of %lld",
                   (unsigned long long)pawl_state_seq(st), (long long)s.used.calls, (long long)s.reserved.calls, (long long)s.caps.calls,
                   (long long)s.used.tokens, (long long)s.reserved.tokens, (long long)s.caps.tokens, (long long)s.used.micros,
                   (long long)s.reserved.micros, (long long)s.caps.micros);
}

/* Every line of its journal is folded, and the ledger looked at after each: how many. */
static size_t check_lines(world *w)
{
    pawl_step *s = pawl_step_new(NULL);
    pawl_err err = {0};
    pawl_state *st;
    pawl_entry *e;
    const char *line;
    size_t n = 0;

    line = line_of(w, 0);
    CHECK_INT(pawl_state_load((pawl_bytes){ line, strlen(line) }, (pawl_bytes){0}, NULL, NULL, &st, &err), PAWL_OK);
    check_holds(st);
    for (const char *at = strchr(journal_of(w), '\n') + 1; at < w->journal.data + w->journal.size; n++) {
        const char *nl = memchr(at, '\n', (size_t)(w->journal.data + w->journal.size - at));

        if (pawl_entry_read((pawl_bytes){ at, (size_t)(nl - at) }, s, &e, &err) != PAWL_OK || pawl_apply(st, e, &err) != PAWL_OK)
            CHECK_FAIL("%s", err.text);
        check_holds(st);
        at = nl + 1;
    }
    pawl_state_free(st);
    pawl_step_free(s);
    return n;
}

/* "used calls/tokens/micros reserved ... [overdraft]" */
static const char *ledger_text(const pawl_state *st)
{
    static char text[256];
    pawl_spent s;

    if (!pawl_state_spent(st, &s))
        return "none";
    snprintf(text, sizeof text, "used %lld/%lld/%lld reserved %lld/%lld/%lld%s", (long long)s.used.calls, (long long)s.used.tokens,
             (long long)s.used.micros, (long long)s.reserved.calls, (long long)s.reserved.tokens, (long long)s.reserved.micros,
             s.overdraft ? " overdraft" : "");
    return text;
}

/* What the command came to, and what it has cost. */
static pawl_code bill(world *w, const char *node, pawl_outcome outcome, const char *usage)
{
    char *id = strdup(world_open(w, node, false));
    pawl_code rc = world_feed(w, &(pawl_event){ .kind = PAWL_EV_RECEIPT, .id = id, .outcome = outcome, .value = "\"ok\"", .update = usage });

    free(id);
    return rc < 0 || rc == PAWL_IGNORED ? rc : world_go(w);
}

static void begin(world *w, pawl_machine *m, const char *input, pawl_caps caps)
{
    world_budget(caps);
    world_begin(w, m, input);
    world_budget((pawl_caps){0});
}

/* A snapshot, where one may be taken. */
static void keep(world *w)
{
    if (w->st->nmarks == 0)
        world_snapshot(w);
}

static void end(world *w)
{
    check_lines(w);
    world_end(w);
}

/* ---- reserved, settled, refused ---------------------------------------------------------------------- */

PAWL_TEST(test_A8_a_call_reserves_and_its_receipt_settles)
{
    static const part parts[] = {
        { "a", NULL, "call model 1 -> out | call model 2 -> out" }, { "b", "a", "call look 3 | call often 4" }, { 0 },
    };
    world w;

    begin(&w, scripted(parts), NULL, (pawl_caps){ .tokens = 1000, .micros = 1000, .calls = 10 });
    CHECK_STR(ledger_text(w.st), "used 0/0/0 reserved 1/100/50");
    bill(&w, "a", PAWL_OUTCOME_DONE, "{\"tokens\":70,\"micros\":20}");
    CHECK_STR(ledger_text(w.st), "used 1/70/20 reserved 1/100/50");
    keep(&w);
    bill(&w, "a", PAWL_OUTCOME_ERROR, NULL);        /* nothing said: what was reserved */
    CHECK_STR(ledger_text(w.st), "used 2/170/70 reserved 0/0/0");
    end(&w);
    begin(&w, scripted(parts), NULL, (pawl_caps){ .tokens = 1000, .calls = 10 });
    bill(&w, "a", PAWL_OUTCOME_DONE, "{\"calls\":1,\"tokens\":1}");
    bill(&w, "a", PAWL_OUTCOME_DONE, "{\"tokens\":2}");
    CHECK_STR(ledger_text(w.st), "used 2/3/100 reserved 0/0/0");    /* what is pure is no call */
    bill(&w, "b", PAWL_OUTCOME_DONE, "{\"calls\":1}");
    CHECK_STR(ledger_text(w.st), "used 2/3/100 reserved 3/0/0");    /* it may be tried three times */
    bill(&w, "b", PAWL_OUTCOME_DONE, "{\"calls\":2}");
    CHECK_STR(ledger_text(w.st), "used 4/3/100 reserved 0/0/0");
    CHECK_STR(world_status(&w), "completed");
    end(&w);
}

PAWL_TEST(test_A8_what_is_above_a_cap_is_refused)
{
    static const part parts[] = { { "a", NULL, "call model 1 -> out | call model 2 -> out | call model 3 -> out" }, { 0 } };
    world w;

    begin(&w, scripted(parts), NULL, (pawl_caps){ .tokens = 250 });
    bill(&w, "a", PAWL_OUTCOME_DONE, "{\"tokens\":100}");
    bill(&w, "a", PAWL_OUTCOME_DONE, "{\"tokens\":51}");
    CHECK_STR(world_status(&w), "failed");
    CHECK_STR(world_reason(&w), "{\"code\":\"limit\",\"text\":\"node \\\"a\\\": budget: 250 tokens: 151 used, 0 reserved, 100 more wanted: "
                                "raise it with an update of @budget\"}");
    CHECK_STR(ledger_text(w.st), "used 2/151/100 reserved 0/0/0");
    end(&w);
    begin(&w, scripted(parts), NULL, (pawl_caps){ .tokens = 250 });     /* to the last token */
    bill(&w, "a", PAWL_OUTCOME_DONE, "{\"tokens\":100}");
    bill(&w, "a", PAWL_OUTCOME_DONE, "{\"tokens\":50}");
    CHECK_STR(ledger_text(w.st), "used 2/150/100 reserved 1/100/50");
    bill(&w, "a", PAWL_OUTCOME_DONE, NULL);
    CHECK_STR(world_status(&w), "completed");
    end(&w);
}

PAWL_TEST(test_A8_a_person_raises_it_and_what_failed_goes_on)
{
    static const part parts[] = { { "a", NULL, "call model 1 -> out | call model 2 -> out" }, { 0 } };
    world w;

    begin(&w, scripted(parts), NULL, (pawl_caps){ .calls = 1 });
    bill(&w, "a", PAWL_OUTCOME_DONE, NULL);
    CHECK_STR(world_status(&w), "failed");
    keep(&w);
    CHECK_INT(world_reopen(&w, "{\"@budget\":{\"calls\":2}}"), PAWL_PENDING);     /* a new visit makes both again */
    bill(&w, "a", PAWL_OUTCOME_DONE, NULL);
    CHECK_STR(world_status(&w), "failed");
    CHECK_STR(ledger_text(w.st), "used 2/200/100 reserved 0/0/0");
    CHECK_INT(world_reopen(&w, "{\"@budget\":{\"calls\":1}}"), PAWL_INVALID);
    CHECK(strstr(w.err.text, "1 calls are below the 2 that are used and reserved") != NULL);
    CHECK_INT(world_reopen(&w, "{\"@budget\":{\"calls\":9},\"n\":7}"), PAWL_PENDING);
    CHECK_STR(world_get(&w, "n"), "7");
    bill(&w, "a", PAWL_OUTCOME_DONE, NULL);
    bill(&w, "a", PAWL_OUTCOME_DONE, NULL);
    CHECK_STR(world_status(&w), "completed");
    end(&w);
}

PAWL_TEST(test_A8_a_node_may_go_on_without)
{
    world w;

    begin(&w, one_node(asks_on), NULL, (pawl_caps){ .calls = 2 });
    bill(&w, "ask", PAWL_OUTCOME_DONE, NULL);
    bill(&w, "ask", PAWL_OUTCOME_DONE, NULL);
    CHECK_STR(world_status(&w), "input-required");
    CHECK_INT(pawl_state_commands(w.st), 0);
    CHECK(strstr(journal_of(&w), "[\"refusal\",\"1.ask.1.2\",") != NULL);
    keep(&w);
    world_crash(&w);
    CHECK_INT(world_update(&w, NULL, "{\"@budget\":{\"calls\":3}}"), PAWL_INTERRUPTED);
    world_crash(&w);
    CHECK_INT(world_answer(&w, NULL, "\"yes\""), PAWL_PENDING);     /* what was refused stays so in this visit, what is new is not */
    bill(&w, "ask", PAWL_OUTCOME_DONE, NULL);
    CHECK_STR(world_status(&w), "completed");
    CHECK_STR(world_get(&w, "out"), "[\"ok\",\"ok\",\"ok\"]");
    CHECK(strstr(world_get(&w, "told"), "2 calls: 2 used, 0 reserved, 1 more wanted") != NULL);
    CHECK_STR(ledger_text(w.st), "used 3/300/150 reserved 0/0/0");
    end(&w);
    begin(&w, one_node(asks_on), NULL, (pawl_caps){ .tokens = 50 });        /* at once: a snapshot holds it */
    CHECK_INT(w.st->nmarks, 0);
    world_snapshot(&w);
    world_crash(&w);
    CHECK_INT(world_update(&w, NULL, "{\"@budget\":{\"tokens\":500}}"), PAWL_INTERRUPTED);
    CHECK_INT(world_answer(&w, NULL, "\"yes\""), PAWL_PENDING);
    bill(&w, "ask", PAWL_OUTCOME_DONE, NULL);
    CHECK_STR(world_status(&w), "completed");
    end(&w);
    begin(&w, one_node(asks_on), NULL, (pawl_caps){ .calls = 1 });  /* refused again, and it leaves in that pass */
    bill(&w, "ask", PAWL_OUTCOME_DONE, NULL);
    world_answer(&w, NULL, "\"yes\"");
    CHECK_STR(world_status(&w), "completed");
    CHECK_INT(times_in(journal_of(&w), "[\"refusal\","), 2);
    end(&w);
}

PAWL_TEST(test_A8_a_bill_above_its_reservation_stops_the_run)
{
    static const part parts[] = {
        { "a", NULL, "also call model 1 -> out | call look 1 | call look 2" }, { "b", "a", "call look 3" }, { 0 },
    };
    world w;

    begin(&w, scripted(parts), NULL, (pawl_caps){ .tokens = 10000 });
    bill(&w, "1.a.1.0", PAWL_OUTCOME_DONE, "{\"tokens\":101}");     /* far below the cap */
    CHECK_STR(ledger_text(w.st), "used 1/101/50 reserved 0/0/0 overdraft");
    CHECK(strstr(journal_of(&w), "{\"overdraft\":true,\"usage\":{\"tokens\":101}}") != NULL);
    keep(&w);
    bill(&w, "1.a.1.1", PAWL_OUTCOME_DONE, NULL);                   /* even what is pure does not leave */
    CHECK_STR(world_status(&w), "failed");
    CHECK(strstr(world_reason(&w), "nothing more leaves") != NULL);
    CHECK_INT(world_reopen(&w, "{\"@budget\":{}}"), PAWL_PENDING);  /* somebody has looked at it */
    CHECK_STR(ledger_text(w.st), "used 1/101/50 reserved 1/100/50");
    end(&w);
}

PAWL_TEST(test_A8_an_overdraft_above_a_cap_stays_until_the_cap_is_raised)
{
    static const part parts[] = { { "a", NULL, "call model 1 -> out | ask \"more?\" -> out | call model 2 -> out" }, { 0 } };
    world w;

    begin(&w, scripted(parts), NULL, (pawl_caps){ .tokens = 120 });
    bill(&w, "a", PAWL_OUTCOME_DONE, "{\"tokens\":500}");
    CHECK_STR(ledger_text(w.st), "used 1/500/50 reserved 0/0/0 overdraft");
    CHECK_INT(world_update(&w, NULL, "{\"@budget\":{\"calls\":10}}"), PAWL_INTERRUPTED);
    CHECK_STR(ledger_text(w.st), "used 1/500/50 reserved 0/0/0 overdraft");
    CHECK_INT(world_update(&w, NULL, "{\"@budget\":{\"tokens\":400}}"), PAWL_INVALID);
    CHECK_INT(world_update(&w, NULL, "{\"@budget\":{\"tokens\":600}}"), PAWL_INTERRUPTED);
    CHECK_STR(ledger_text(w.st), "used 1/500/50 reserved 0/0/0");
    CHECK_INT(world_answer(&w, NULL, "1"), PAWL_PENDING);
    end(&w);
}

/* ---- what nobody knows ----------------------------------------------------------------------------------- */

PAWL_TEST(test_A8_what_came_of_it_is_unknown_keeps_its_reservation)
{
    static const part parts[] = { { "a", NULL, "call pay 1 -> out | call pay 2 -> out" }, { 0 } };
    static const part races[] = { { "a", NULL, "also call model 1 | also call model 2 | select -> n" }, { "b", "a", "call look 1" }, { 0 } };
    world w;

    begin(&w, scripted(parts), NULL, (pawl_caps){ .micros = 100, .calls = 5 });
    bill(&w, "a", PAWL_OUTCOME_UNKNOWN, NULL);
    CHECK_STR(ledger_text(w.st), "used 0/0/0 reserved 1/0/40");
    keep(&w);
    world_crash(&w);
    CHECK_INT(world_answer(&w, NULL, "\"again\""), PAWL_PENDING);
    CHECK_STR(ledger_text(w.st), "used 0/0/0 reserved 1/0/40");
    bill(&w, "a", PAWL_OUTCOME_UNKNOWN, NULL);
    CHECK_INT(world_answer(&w, NULL, "{\"done\":1}"), PAWL_PENDING);        /* somebody knows, but not what it cost */
    CHECK_STR(ledger_text(w.st), "used 1/0/40 reserved 1/0/40");
    world_cancel(&w);
    bill(&w, "a", PAWL_OUTCOME_CANCELED, "{\"calls\":1}");
    CHECK_STR(ledger_text(w.st), "used 2/0/40 reserved 0/0/40");
    CHECK_STR(world_status(&w), "canceled");
    end(&w);
    begin(&w, scripted(races), NULL, (pawl_caps){ .calls = 5 });
    bill(&w, "1.a.1.1", PAWL_OUTCOME_DONE, NULL);
    CHECK_STR(ledger_text(w.st), "used 1/100/50 reserved 1/100/50");        /* what lost may have happened */
    CHECK_INT(pawl_state_commands(w.st), 1);
    end(&w);
}

PAWL_TEST(test_A8_an_inverse_is_never_refused_and_what_it_costs_is_counted)
{
    static const part parts[] = { { "a", NULL, "call book 1 | fail effect no" }, { 0 } };
    world w;

    begin(&w, scripted(parts), NULL, (pawl_caps){ .micros = 10, .calls = 1 });
    bill(&w, "a", PAWL_OUTCOME_DONE, NULL);
    CHECK_INT(pawl_state_commands(w.st), 1);
    CHECK_STR(ledger_text(w.st), "used 1/0/10 reserved 0/0/0");
    bill(&w, "@undo", PAWL_OUTCOME_DONE, "{\"calls\":1,\"micros\":3}");
    CHECK_STR(ledger_text(w.st), "used 2/0/13 reserved 0/0/0 overdraft");
    CHECK_STR(world_status(&w), "failed");
    end(&w);
}

/* ---- updates ------------------------------------------------------------------------------------------------ */

PAWL_TEST(test_A8_a_budget_may_come_later_and_counts_what_is_open)
{
    static const part parts[] = { { "a", NULL, "call model 1 | call model 2" }, { "b", NULL, "call look 1 | call model 3" }, { 0 } };
    world w;

    world_begin(&w, scripted(parts), NULL);
    CHECK_STR(ledger_text(w.st), "none");
    CHECK_INT(world_update(&w, NULL, "{\"@budget\":{\"tokens\":99}}"), PAWL_INVALID);
    CHECK_STR(ledger_text(w.st), "none");
    CHECK_INT(world_update(&w, NULL, "{\"@budget\":{\"tokens\":150},\"n\":3}"), PAWL_PENDING);  /* in the middle of a superstep */
    CHECK_STR(ledger_text(w.st), "used 0/0/0 reserved 1/100/50");
    world_crash(&w);
    bill(&w, "b", PAWL_OUTCOME_DONE, NULL);
    CHECK_INT(pawl_state_commands(w.st), 1);
    bill(&w, "a", PAWL_OUTCOME_DONE, "{\"tokens\":10}");
    CHECK_STR(ledger_text(w.st), "used 1/10/50 reserved 1/100/50");
    bill(&w, "a", PAWL_OUTCOME_DONE, NULL);
    CHECK_STR(world_status(&w), "failed");      /* b was refused */
    end(&w);
}

PAWL_TEST(test_A8_an_update_that_is_wrong_changes_nothing)
{
    static const char *const wrong[] = {
        "{\"@budget\":7}", "{\"@budget\":{\"calls\":-1}}", "{\"@budget\":{\"calls\":1.5}}", "{\"@budget\":{\"cats\":1}}",
        "{\"@budget\":{\"calls\":18446744073709551615}}", "{\"@budget\":{\"calls\":9},\"nowhere\":1}", "{\"@budget\":{\"calls\":0,\"tokens\":\"9\"}}",
    };
    static const part parts[] = { { "a", NULL, "call model 1" }, { 0 } };
    world w;

    begin(&w, scripted(parts), NULL, (pawl_caps){ .calls = 3 });
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK_INT(world_update(&w, NULL, wrong[i]), PAWL_INVALID);
    CHECK_INT(bill(&w, "a", PAWL_OUTCOME_DONE, "{\"calls\":-1}"), PAWL_INVALID);
    CHECK_INT(bill(&w, "a", PAWL_OUTCOME_DONE, "{\"cats\":1}"), PAWL_INVALID);
    CHECK_STR(ledger_text(w.st), "used 0/0/0 reserved 1/100/50");
    CHECK_INT(world_update(&w, NULL, "{\"@budget\":{\"calls\":0}}"), PAWL_PENDING);
    bill(&w, "a", PAWL_OUTCOME_DONE, NULL);
    end(&w);
    world_budget((pawl_caps){ .calls = -1 });
    CHECK_INT(world_try_begin(&w, scripted(parts), NULL, NULL), PAWL_INVALID);
    world_budget((pawl_caps){0});
    world_drop(&w);
    CHECK_INT(world_try_begin(&w, scripted(parts), "{\"@budget\":{\"calls\":9}}", NULL), PAWL_INVALID);     /* input is nobody's to trust */
    world_drop(&w);
}

PAWL_TEST(test_A8_time_counts_from_the_start)
{
    static const part parts[] = { { "a", NULL, "call model 1 | sleep 500 | call model 2 | sleep 600 | call model 3" }, { 0 } };
    pawl_spent s;
    world w;

    begin(&w, scripted(parts), NULL, (pawl_caps){ .ms = 1000 });
    CHECK(pawl_state_spent(w.st, &s));
    CHECK_INT(s.since_ms, 1000);
    bill(&w, "a", PAWL_OUTCOME_DONE, NULL);
    world_timer(&w, "a");
    bill(&w, "a", PAWL_OUTCOME_DONE, NULL);
    keep(&w);
    world_timer(&w, "a");
    CHECK_STR(world_status(&w), "failed");
    CHECK(strstr(world_reason(&w), "budget: 1000 ms: 11") != NULL);
    end(&w);
}

/* ---- runs of runs -------------------------------------------------------------------------------------------- */

PAWL_TEST(test_A8_a_spawn_reserves_the_share_of_its_child)
{
    static const part parts[] = {
        { "a", NULL, "also spawn child {\"n\":1} | also spawn child {\"n\":2} | call model 3" }, { "b", "a", "call model 4" }, { 0 },
    };
    pawl_command cmd;
    pawl_err err = {0};
    world w;

    begin(&w, scripted(parts), NULL, (pawl_caps){ .tokens = 1000, .calls = 9, .ms = 5000 });
    CHECK_STR(ledger_text(w.st), "used 0/0/0 reserved 8/850/50");       /* half of what is left: 5, 2; 500, 250 */
    CHECK_INT(pawl_state_command(w.st, 1, w.look, &cmd, NULL, &err), PAWL_OK);
    CHECK_INT(cmd.share.calls, 2);
    CHECK_INT(cmd.share.tokens, 250);
    CHECK_INT(cmd.share.micros, 0);
    CHECK(cmd.share.ms > 0 && cmd.share.ms <= 5000);
    keep(&w);
    bill(&w, "1.a.1.0", PAWL_OUTCOME_DONE, "{\"calls\":2,\"tokens\":120,\"micros\":9}");
    CHECK_STR(ledger_text(w.st), "used 2/120/9 reserved 3/350/50");
    bill(&w, "1.a.1.1", PAWL_OUTCOME_DONE, "{\"calls\":3,\"tokens\":251}");     /* a child that was overdrawn overdraws its parent */
    CHECK_STR(ledger_text(w.st), "used 5/371/9 reserved 1/100/50 overdraft");
    bill(&w, "1.a.1.2", PAWL_OUTCOME_DONE, NULL);
    CHECK_STR(world_status(&w), "failed");
    end(&w);
}

static pawl_code spawns_small(pawl_step *s, void *arg)
{
    const pawl_value *v;
    pawl_code a = pawl_spawn_with(s, "child", NULL, &(pawl_caps){ .calls = 4 }, &v);
    pawl_code b = pawl_spawn_with(s, "child", NULL, &(pawl_caps){ .calls = 7 }, &v);

    (void)arg;
    if (b == PAWL_LIMIT)
        pawl_set(s, "told", v);
    return a == PAWL_PENDING ? a : b == PAWL_LIMIT ? pawl_follow(s) : b;
}

PAWL_TEST(test_A8_a_share_that_is_said_is_given_or_refused)
{
    world w;

    begin(&w, one_node(spawns_small), NULL, (pawl_caps){ .calls = 10 });
    CHECK_STR(ledger_text(w.st), "used 0/0/0 reserved 4/0/0");
    CHECK(strstr(journal_of(&w), "\"spawn\",{\"budget\":{\"calls\":7},\"effect\":\"child\"}") != NULL);
    world_crash(&w);
    bill(&w, "ask", PAWL_OUTCOME_DONE, "{\"calls\":4}");
    CHECK_STR(world_status(&w), "completed");
    CHECK_STR(ledger_text(w.st), "used 4/0/0 reserved 0/0/0");
    end(&w);
    world_begin(&w, one_node(spawns_small), NULL);      /* without a budget of its own it gives what it says */
    CHECK_STR(ledger_text(w.st), "none");
    CHECK_INT(pawl_state_commands(w.st), 2);
    end(&w);
}

PAWL_TEST(test_A8_a_share_is_not_raised_in_the_child)
{
    static const part parts[] = { { "a", NULL, "call model 1 | call model 2" }, { 0 } };
    const pawl_run_info info = { .id = "c", .life = 2, .parent = "p~0000000000000001/1.a.1.0", .budget = { .calls = 3, .tokens = 500 } };
    pawl_machine *m = scripted(parts);
    pawl_step *s = pawl_step_new(NULL);
    pawl_err err = {0};
    pawl_state *st;
    pawl_spent spent;

    CHECK_INT(pawl_state_new(m, &info, 0, NULL, &st, &err), PAWL_OK);
    CHECK(pawl_advance(m, st, &(pawl_event){ .kind = PAWL_EV_START, .time_ms = 5 }, s, &err) >= 0);
    CHECK_INT(pawl_feed(m, st, &(pawl_event){ .kind = PAWL_EV_UPDATE, .value = "{\"@budget\":{\"calls\":4}}" }, s, &err), PAWL_INVALID);
    CHECK(strstr(err.text, "a share of its parent's") != NULL);
    CHECK_INT(pawl_feed(m, st, &(pawl_event){ .kind = PAWL_EV_UPDATE, .value = "{\"@budget\":{\"tokens\":0}}" }, s, &err), PAWL_INVALID);
    CHECK(pawl_advance(m, st, &(pawl_event){ .kind = PAWL_EV_UPDATE, .value = "{\"@budget\":{\"calls\":2}}" }, s, &err) >= 0);
    CHECK(pawl_state_spent(st, &spent));
    CHECK_INT(spent.caps.calls, 2);
    pawl_state_free(st);
    pawl_step_free(s);
    pawl_machine_free(m);
}

PAWL_TEST(test_A8_a_fork_keeps_what_was_used_and_no_reservation)
{
    static const part parts[] = { { "a", NULL, "call model 1" }, { "b", "a", "also call model 2 | call pay 3" }, { 0 } };
    pawl_spent s;
    world w;

    begin(&w, scripted(parts), NULL, (pawl_caps){ .calls = 9, .ms = 100000 });
    bill(&w, "a", PAWL_OUTCOME_DONE, "{\"tokens\":30,\"micros\":1}");
    CHECK_STR(ledger_text(w.st), "used 1/30/1 reserved 2/100/90");
    world_fork(&w, &(pawl_run_info){ .id = "fork-1", .life = 9, .created_ms = 77000 });
    CHECK_STR(ledger_text(w.st), "used 1/30/1 reserved 0/0/0");
    CHECK(pawl_state_spent(w.st, &s));
    CHECK_INT(s.caps.calls, 9);
    CHECK_INT(s.since_ms, 77000);
    world_go(&w);
    world_answer(&w, NULL, "true");         /* what must not happen twice */
    CHECK_STR(ledger_text(w.st), "used 1/30/1 reserved 2/100/90");
    keep(&w);
    bill(&w, "b", PAWL_OUTCOME_DONE, NULL);
    bill(&w, "b", PAWL_OUTCOME_DONE, NULL);
    CHECK_STR(world_status(&w), "completed");
    end(&w);
}

/* ---- a reducer ----------------------------------------------------------------------------------------------- */

/* One call for each signal, as long as there is budget; "must" for one that has to be. */
static pawl_code reduces(pawl_step *s, const pawl_input_event *h, void *arg)
{
    (void)arg;
    if (h->kind != PAWL_EV_SIGNAL)
        return PAWL_OK;
    if (strcmp(h->tag, "must") == 0)
        pawl_flow_call(s, "must", "model", NULL);
    else
        for (int i = 0; i < 3; i++)
            if (pawl_flow_call_with(s, "m", "model", NULL, &(pawl_cost){ .tokens = 40 }) == PAWL_LIMIT)
                pawl_set_int(s, "refused", pawl_get_int(s, "refused") + 1);
    return PAWL_OK;
}

PAWL_TEST(test_A8_a_reducer_is_told_or_fails)
{
    static const pawl_channel channels[] = { { .name = "refused", .first = "0" } };
    pawl_err err = {0};
    world w;

    begin(&w, pawl_flow_reducer("r", 1, channels, 1, reduces, NULL, NULL, &err), NULL, (pawl_caps){ .tokens = 100, .calls = 9 });
    world_signal(&w, "go", "1");
    CHECK_STR(world_get(&w, "refused"), "1");
    CHECK_STR(ledger_text(w.st), "used 0/0/0 reserved 2/80/0");
    keep(&w);
    bill(&w, "@", PAWL_OUTCOME_DONE, "{\"tokens\":7}");
    CHECK_STR(ledger_text(w.st), "used 1/7/0 reserved 1/40/0");
    world_update(&w, NULL, "{\"@budget\":{\"calls\":2}}");
    world_signal(&w, "must", "1");
    CHECK_STR(world_status(&w), "failed");
    CHECK(strstr(world_reason(&w), "budget: 2 calls: 1 used, 1 reserved, 1 more wanted") != NULL);
    end(&w);
}

/* ---- many ------------------------------------------------------------------------------------------------------ */

static pawl_code sends_many(pawl_step *s, void *arg)
{
    (void)arg;
    for (int64_t i = 0; i < pawl_get_int(s, "n"); i++)
        pawl_send(s, "work", pawl_pack(s, "i", i));
    return pawl_goto(s, PAWL_END);
}

/* Two calls of whatever it was sent, a child in between; what is refused is left out. */
static pawl_code works(pawl_step *s, void *arg)
{
    const int64_t i = pawl_value_int(pawl_args(s));
    const pawl_cost cost = { .tokens = i % 7 * 10, .micros = i % 3 };
    pawl_code rc;

    (void)arg;
    rc = pawl_call_with(s, i % 5 == 0 ? "often" : "model", pawl_pack(s, "i", i), &cost, NULL);
    if (rc == PAWL_PENDING)
        return rc;
    if (i % 4 == 0 && pawl_spawn(s, "child", NULL, NULL) == PAWL_PENDING)
        return PAWL_PENDING;
    if (i % 2 == 0 && (rc = pawl_call(s, "model", pawl_pack(s, "s", "again"), NULL)) == PAWL_PENDING)
        return rc;
    if (rc == PAWL_LIMIT)
        pawl_set_int(s, "told", i);
    return pawl_follow(s);
}

static pawl_machine *crowd(void)
{
    pawl_graph *g = pawl_graph_new("crowd", 1);

    for (const pawl_channel *c = plain; c->name != NULL; c++)
        pawl_graph_channel_with(g, c);
    effects(g);
    pawl_graph_node(g, "plan", sends_many, NULL);
    pawl_graph_node(g, "work", works, NULL);
    pawl_graph_goto(g, "plan", "work", NULL);
    pawl_graph_edge(g, PAWL_START, "plan");
    pawl_graph_edge(g, "work", PAWL_END);
    return script_compile(g);
}

/* Any open command, by chance, and any end of it: a bill that was above its reservation where `greedy`. */
static void any_receipt(world *w, bool greedy)
{
    pawl_event ev = { .kind = PAWL_EV_RECEIPT, .value = "1" };
    pawl_command cmd;
    pawl_err err = {0};
    char usage[96], *id;
    amounts due;

    CHECK_INT(pawl_state_command(w->st, check_rand_below(pawl_state_commands(w->st)), w->look, &cmd, NULL, &err), PAWL_OK);
    due = cmd.kind == PAWL_COMMAND_SPAWN ? share_due(&cmd.share) : cost_due(&cmd.limits);
    snprintf(usage, sizeof usage, "{\"calls\":%d,\"micros\":%d,\"tokens\":%d}", (int)check_rand_below((uint64_t)due.n[COST_CALLS] + 1),
             (int)check_rand_below((uint64_t)due.n[COST_MICROS] + 1), (int)check_rand_below((uint64_t)due.n[COST_TOKENS] + (greedy ? 9 : 1)));
    ev.outcome = (pawl_outcome)check_rand_below(5);
    ev.update = check_rand_below(3) > 0 ? usage : NULL;
    ev.id = id = strdup(cmd.id);
    CHECK(world_feed(w, &ev) >= 0);
    free(id);
}

PAWL_TEST(test_A8_a_thousand_at_once_never_pass_a_cap)
{
    world w;
    size_t lines = 0;

    world_budget((pawl_caps){ .tokens = 9000, .micros = 700, .calls = 800 });
    w = (world){0};
    CHECK_INT(world_try_begin(&w, crowd(), "{\"n\":1000}", NULL) < 0, false);
    world_budget((pawl_caps){0});
    w.unchecked = w.quiet = true;
    while (pawl_state_commands(w.st) > 0) {
        any_receipt(&w, false);
        check_holds(w.st);
        if (lines++ % 200 == 0) {
            keep(&w);
            world_crash(&w);
        }
        world_go(&w);
    }
    CHECK_STR(world_status(&w), "completed");
    CHECK(pawl_value_size(pawl_state_get(w.st, "told")) > 100);     /* and not all could */
    CHECK(check_lines(&w) > 300);
    world_end(&w);
}

/* Whatever comes, in whatever order, with a crash at any place: the ledger holds at every line, and is what the journal says. */
PAWL_TEST(test_A8_whatever_comes_the_ledger_holds)
{
    for (int round = 0; round < 60; round++) {
        char input[32], update[64];
        const bool greedy = round % 3 == 0;
        pawl_caps caps = { .tokens = (int64_t)check_rand_below(900), .micros = (int64_t)check_rand_below(40),
                           .calls = (int64_t)check_rand_below(30) };
        world w;

        snprintf(input, sizeof input, "{\"n\":%d}", (int)check_rand_below(16));
        begin(&w, crowd(), input, caps);
        for (int i = 0; i < 200 && pawl_state_commands(w.st) + pawl_state_waits(w.st) > 0; i++) {
            uint64_t what = check_rand_below(12);

            if (what == 0) {
                snprintf(update, sizeof update, "{\"@budget\":{\"%s\":%d}}", check_rand_below(2) > 0 ? "calls" : "tokens",
                         (int)check_rand_below(1000));
                (void)world_update(&w, NULL, update);
            } else if (what == 1) {
                keep(&w);
            } else if (what == 2) {
                world_crash(&w);
            } else if (pawl_state_waits(w.st) > 0 && what < 6) {
                (void)world_answer(&w, world_open(&w, NULL, true), what % 2 ? "\"again\"" : "{\"done\":1}");
            } else if (pawl_state_commands(w.st) > 0) {
                any_receipt(&w, greedy);
                world_go(&w);
            }
            check_holds(w.st);
        }
        end(&w);
    }
}

/* ---- without memory -------------------------------------------------------------------------------------------- */

PAWL_TEST(test_A8_memory_that_fails_changes_no_ledger_and_leaks_none)
{
    static const pawl_event events[] = {
        { .kind = PAWL_EV_START, .time_ms = 10 },
        { .kind = PAWL_EV_RECEIPT, .id = "1.ask.1.0", .value = "1", .update = "{\"tokens\":101}", .time_ms = 11 },
        { .kind = PAWL_EV_UPDATE, .value = "{\"@budget\":{\"calls\":9},\"n\":1}", .time_ms = 12 },
        { .kind = PAWL_EV_ANSWER, .value = "1", .time_ms = 13 },
    };
    const pawl_run_info info = { .id = "r", .life = 1, .created_ms = 1, .budget = { .calls = 2, .tokens = 300 } };
    pawl_machine *m = one_node(asks_on);

    CHECK(life_march(m, &info, events, sizeof events / sizeof *events) > 30);
    pawl_machine_free(m);
}

int main(int argc, char **argv) { return check_main(argc, argv); }
