/* modes_test.c - graphs of the library that go by the mode of their run: what a node requires, plan mode, hooks that see the state (P1, P4). */
#include "pawl/engine.h"
#include "pawl/graph.h"
#include "pawl/store.h"
#include "lib/check.h"
#include "engine/run/record_rights.h"

#include <stdio.h>
#include <string.h>

static int acted;
static char hook_saw[600], handler_mode[40];

static pawl_code acts(const pawl_job *job, pawl_reply *reply, void *arg)
{
    (void)arg;
    acted++;
    snprintf(handler_mode, sizeof handler_mode, "%s", job->mode != NULL ? job->mode : "");
    return pawl_reply_json(reply, "{\"n\":1}");
}

static pawl_code looks(const pawl_job *job, pawl_reply *reply, void *arg)
{
    pawl_step *s = pawl_step_new(NULL);

    (void)arg;
    snprintf(hook_saw, sizeof hook_saw, "%s", pawl_text(s, job->args) != NULL ? pawl_text(s, job->args) : "");
    pawl_step_free(s);
    return pawl_reply_json(reply, "{\"verdict\":\"proceed\"}");
}

static pawl_code calls(pawl_step *s, void *arg)
{
    const pawl_value *out;

    return pawl_call(s, arg, NULL, &out);
}

static pawl_code asks(pawl_step *s, void *arg)
{
    (void)arg;
    return pawl_ask(s, pawl_pack(s, "s", "go?"), NULL);
}

/* Calls, asks, and calls once more, all in one visit. */
static pawl_code calls_twice(pawl_step *s, void *arg)
{
    const pawl_value *out;
    pawl_code rc = pawl_call(s, "act", NULL, &out);

    if (rc == PAWL_OK)
        rc = asks(s, arg);
    return rc == PAWL_OK ? pawl_call(s, "act", NULL, &out) : rc;
}

static pawl_graph *graph_new(void)
{
    static const pawl_limits pure = { .cls = PAWL_CLASS_PURE };
    pawl_graph *g = pawl_graph_new("modes", 1);

    pawl_graph_channel(g, "n", PAWL_RULE_SUM);
    pawl_graph_effect(g, "read", &pure);
    acted = 0;
    *hook_saw = *handler_mode = '\0';
    return g;
}

static pawl_engine *engine_of(pawl_graph *g)
{
    pawl_err err = {0};
    pawl_machine *m = pawl_graph_compile(g, &err);
    pawl_engine *e = m != NULL ? pawl_engine_new(m, pawl_store_memory(NULL), &err) : NULL;

    if (e == NULL || pawl_engine_effect(e, "act", acts, NULL, PAWL_CLASS_AT_LEAST_ONCE, &err) != PAWL_OK ||
        pawl_engine_effect(e, "read", acts, NULL, PAWL_CLASS_PURE, &err) != PAWL_OK ||
        pawl_engine_effect(e, "look", looks, NULL, PAWL_CLASS_AT_LEAST_ONCE, &err) != PAWL_OK)
        CHECK_FAIL("%s", err.text);
    return e;
}

static pawl_code run_in(pawl_engine *e, const char *mode)
{
    return pawl_run_with(e, &(pawl_run_info){ .id = "r", .mode = mode }, NULL, NULL);
}

static void rejected(pawl_engine *e, const char *why)
{
    pawl_state *st = pawl_run_state(e, "r", NULL);
    pawl_step *s = pawl_step_new(NULL);
    const char *text = pawl_text(s, pawl_state_reason(st));

    CHECK_INT(pawl_state_status(st), PAWL_STATUS_REJECTED);
    if (text == NULL || strstr(text, why) == NULL)
        CHECK_FAIL("\"%s\" is not in %s", why, text != NULL ? text : "nothing");
    pawl_step_free(s);
}

/* One work node that does not say what it requires. */
static pawl_graph *work_alone(const char *effect)
{
    pawl_graph *g = graph_new();

    pawl_graph_modes(g, PAWL_GATE_ASKS);
    pawl_graph_work(g, "w", effect);
    pawl_graph_chain(g, PAWL_START, "w", PAWL_END, NULL);
    return g;
}

static pawl_graph *work_requiring(const char *mode, pawl_mode_gate otherwise)
{
    pawl_graph *g = work_alone("act");

    pawl_graph_modes(g, otherwise);
    pawl_graph_requires(g, "w", mode);
    return g;
}

/* ---- plan mode ---------------------------------------------------------------------------------------------- */

PAWL_TEST(test_P1_plan_mode_denies_a_node_that_acts_with_the_sentence_of_the_source)
{
    pawl_engine *e = engine_of(work_alone("act"));

    CHECK_INT(run_in(e, "plan"), PAWL_HALTED);
    rejected(e, "Node 'w' requires Default mode; current mode is Plan.");
    CHECK_INT(acted, 0);
    pawl_engine_free(e);
}

PAWL_TEST(test_P1_what_is_pure_or_says_that_it_changes_nothing_runs_in_plan_mode)
{
    pawl_engine *e = engine_of(work_alone("read"));

    CHECK_INT(run_in(e, "plan"), PAWL_HALTED);
    CHECK_INT(acted, 1);
    CHECK_STR(handler_mode, "plan");
    pawl_engine_free(e);
    e = engine_of(work_requiring("plan", PAWL_GATE_DENIES));
    CHECK_INT(run_in(e, "plan"), PAWL_HALTED);
    CHECK_INT(acted, 1);
    pawl_engine_free(e);
}

PAWL_TEST(test_P1_what_requires_nothing_runs_in_every_other_mode)
{
    static const char *const modes[] = { NULL, "default", "acceptEdits", "bypassPermissions" };

    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        pawl_engine *e = engine_of(work_alone("act"));

        CHECK_INT(run_in(e, modes[i]), PAWL_HALTED);
        CHECK_INT(acted, 1);
        pawl_engine_free(e);
    }
}

PAWL_TEST(test_P1_a_call_inside_a_node_is_denied_in_plan_mode_too)
{
    pawl_graph *g = graph_new(), *inner = pawl_graph_new("inner", 1);
    pawl_engine *e;

    pawl_graph_channel(inner, "n", PAWL_RULE_SUM);
    pawl_graph_node(inner, "c", calls, "act");
    pawl_graph_chain(inner, PAWL_START, "c", PAWL_END, NULL);
    pawl_graph_modes(g, PAWL_GATE_ASKS);
    pawl_graph_node(g, "reads", calls, "read");
    pawl_graph_sub(g, "sub", inner);
    pawl_graph_chain(g, PAWL_START, "reads", "sub", PAWL_END, NULL);
    e = engine_of(g);
    CHECK_INT(run_in(e, "plan"), PAWL_HALTED);
    rejected(e, "Node 'c' requires Default mode; current mode is Plan.");
    CHECK_INT(acted, 1);        /* the one that is pure */
    pawl_engine_free(e);
}

PAWL_TEST(test_P1_plan_mode_holds_from_the_next_command_on_and_takes_back_no_receipt)
{
    pawl_graph *g = graph_new();
    pawl_engine *e;

    pawl_graph_modes(g, PAWL_GATE_ASKS);
    pawl_graph_node(g, "twice", calls_twice, NULL);
    pawl_graph_chain(g, PAWL_START, "twice", PAWL_END, NULL);
    e = engine_of(g);
    CHECK_INT(run_in(e, "acceptEdits"), PAWL_INTERRUPTED);
    CHECK_INT(acted, 1);
    CHECK_INT(pawl_event_send(e, "r", &(pawl_event){ .kind = PAWL_EV_UPDATE, .value = "{\"@mode\":\"plan\"}" }, NULL), PAWL_INTERRUPTED);
    CHECK_INT(pawl_answer(e, "r", NULL, "true", NULL), PAWL_HALTED);
    rejected(e, "Node 'twice' requires Default mode; current mode is Plan.");
    CHECK_INT(acted, 1);
    pawl_engine_free(e);
}

/* ---- what a node requires -------------------------------------------------------------------------------------- */

PAWL_TEST(test_P1_a_mode_below_asks_a_person)
{
    pawl_engine *e = engine_of(work_requiring("acceptEdits", PAWL_GATE_ASKS));
    pawl_state *st;
    pawl_wait w;

    CHECK_INT(run_in(e, NULL), PAWL_INTERRUPTED);       /* without a mode it is default */
    st = pawl_run_state(e, "r", NULL);
    CHECK_INT(pawl_state_wait(st, 0, pawl_engine_step(e), &w, NULL), PAWL_OK);
    CHECK_INT(w.kind, PAWL_WAIT_APPROVAL);
    CHECK_INT(acted, 0);
    CHECK_INT(pawl_answer(e, "r", NULL, "true", NULL), PAWL_HALTED);
    CHECK_INT(acted, 1);
    pawl_engine_free(e);
    e = engine_of(work_requiring("acceptEdits", PAWL_GATE_ASKS));
    CHECK_INT(run_in(e, "default"), PAWL_INTERRUPTED);
    CHECK_INT(pawl_answer(e, "r", NULL, "false", NULL), PAWL_HALTED);
    rejected(e, "w requires acceptEdits: no");
    CHECK_INT(acted, 0);
    pawl_engine_free(e);
}

PAWL_TEST(test_P1_or_is_denied_and_is_in_plan_mode_at_any_rate)
{
    static const struct { const char *mode; pawl_mode_gate otherwise; const char *why; } rows[] = {
        { "default", PAWL_GATE_DENIES, "Node 'w' requires AcceptEdits mode; current mode is Default." },
        { "plan", PAWL_GATE_DENIES, "Node 'w' requires AcceptEdits mode; current mode is Plan." },
        { "plan", PAWL_GATE_ASKS, "Node 'w' requires AcceptEdits mode; current mode is Plan." },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pawl_engine *e = engine_of(work_requiring("acceptEdits", rows[i].otherwise));

        CHECK_INT(run_in(e, rows[i].mode), PAWL_HALTED);
        rejected(e, rows[i].why);
        CHECK_INT(acted, 0);
        pawl_engine_free(e);
    }
}

PAWL_TEST(test_P1_the_gate_of_a_node_is_that_question_and_nobody_is_asked_twice)
{
    pawl_graph *g = work_requiring("acceptEdits", PAWL_GATE_ASKS);
    pawl_engine *e;

    pawl_graph_gate(g, "w", "Publish?");
    e = engine_of(g);
    CHECK_INT(run_in(e, "default"), PAWL_INTERRUPTED);
    CHECK_INT(pawl_answer(e, "r", NULL, "true", NULL), PAWL_HALTED);
    CHECK_INT(acted, 1);
    pawl_engine_free(e);
}

PAWL_TEST(test_P1_a_mode_that_is_raised_while_a_person_is_asked_does_not_answer)
{
    pawl_engine *e = engine_of(work_requiring("acceptEdits", PAWL_GATE_ASKS));

    CHECK_INT(run_in(e, "default"), PAWL_INTERRUPTED);
    CHECK_INT(pawl_event_send(e, "r", &(pawl_event){ .kind = PAWL_EV_UPDATE, .value = "{\"@mode\":\"bypassPermissions\"}" }, NULL), PAWL_INTERRUPTED);
    CHECK_INT(acted, 0);
    CHECK_INT(pawl_answer(e, "r", NULL, "true", NULL), PAWL_HALTED);
    CHECK_INT(acted, 1);
    pawl_engine_free(e);
}

PAWL_TEST(test_P1_a_node_inside_gives_the_whole_graph_modes)
{
    pawl_graph *g = graph_new(), *inner = pawl_graph_new("inner", 1);
    pawl_engine *e;

    pawl_graph_channel(inner, "n", PAWL_RULE_SUM);
    pawl_graph_work(inner, "w", "act");
    pawl_graph_requires(inner, "w", "acceptEdits");
    pawl_graph_chain(inner, PAWL_START, "w", PAWL_END, NULL);
    pawl_graph_sub(g, "sub", inner);
    pawl_graph_chain(g, PAWL_START, "sub", PAWL_END, NULL);
    e = engine_of(g);
    CHECK_INT(run_in(e, "plan"), PAWL_HALTED);
    rejected(e, "Node 'w' requires AcceptEdits mode; current mode is Plan.");
    pawl_engine_free(e);
}

PAWL_TEST(test_G1_a_mode_that_there_is_not_is_a_fault)
{
    pawl_graph *g = work_alone("act");
    pawl_err err = {0};

    pawl_graph_requires(g, "w", "root");
    CHECK(pawl_graph_compile(g, &err) == NULL);
    CHECK(strstr(err.text, "node \"w\" requires \"root\"") != NULL);
}

PAWL_TEST(test_G1_the_start_of_a_graph_requires_no_mode)
{
    pawl_graph *g = work_alone("act");
    pawl_err err = {0};

    pawl_graph_requires(g, PAWL_START, "acceptEdits");
    CHECK(pawl_graph_compile(g, &err) == NULL);
    CHECK(strstr(err.text, "\"" PAWL_START "\" never runs") != NULL);
}

PAWL_TEST(test_F5_modes_and_what_a_node_requires_are_part_of_the_machine)
{
    pawl_graph *graphs[] = { work_alone("act"), work_requiring("default", PAWL_GATE_ASKS), work_requiring("acceptEdits", PAWL_GATE_ASKS),
                             work_requiring("acceptEdits", PAWL_GATE_DENIES) };
    char hashes[4][65];

    for (size_t i = 0; i < 4; i++) {
        pawl_machine *m = pawl_graph_compile(graphs[i], NULL);

        snprintf(hashes[i], sizeof hashes[i], "%s", pawl_machine_hash(m));
        for (size_t k = 0; k < i; k++)
            CHECK(strcmp(hashes[i], hashes[k]) != 0);
        pawl_machine_free(m);
    }
}

/* ---- hooks ---------------------------------------------------------------------------------------------------------- */

PAWL_TEST(test_P4_a_hook_sees_the_state_and_the_mode)
{
    pawl_graph *g = work_alone("act");
    pawl_engine *e;

    pawl_graph_hook_state(g, "w", PAWL_PHASE_BEFORE, "look");
    e = engine_of(g);
    CHECK_INT(pawl_run_with(e, &(pawl_run_info){ .id = "r", .mode = "acceptEdits" }, "{\"n\":41}", NULL), PAWL_HALTED);
    CHECK_STR(hook_saw, "{\"args\":null,\"mode\":\"acceptEdits\",\"node\":\"w\",\"phase\":\"before\",\"state\":{\"n\":41},\"writes\":null}");
    pawl_engine_free(e);
    g = graph_new();
    pawl_graph_work(g, "w", "act");
    pawl_graph_chain(g, PAWL_START, "w", PAWL_END, NULL);
    pawl_graph_hook_state(g, "w", PAWL_PHASE_AFTER, "look");
    e = engine_of(g);
    CHECK_INT(pawl_run(e, "r", "{\"n\":41}", NULL), PAWL_HALTED);
    CHECK_STR(hook_saw, "{\"args\":null,\"mode\":null,\"node\":\"w\",\"phase\":\"after\",\"state\":{\"n\":41},\"writes\":{\"n\":1}}");
    pawl_engine_free(e);
}

/* Whatever the spelling of the member's name. */
PAWL_TEST(test_P1_an_update_never_gives_more_than_the_rights_of_the_record)
{
    static const char *const all[] = { "{\"@mode\":\"bypassPermissions\"}", "{\"\\u0040mode\":\"bypassPermissions\",\"n\":1}" };
    static const char base[] = "{\"id\":\"r\",\"rights\":\"default\"}";
    pawl_graph *g = graph_new();
    pawl_machine *m;

    pawl_graph_modes(g, PAWL_GATE_ASKS);
    pawl_graph_work(g, "w", "act");
    pawl_graph_chain(g, PAWL_START, "w", PAWL_END, NULL);
    m = pawl_graph_compile(g, NULL);
    for (size_t i = 0; i < 2; i++) {
        pawl_event ev = { .kind = PAWL_EV_UPDATE, .value = all[i] };
        buf text;

        buf_init(&text, NULL);
        CHECK_INT(record_rights(m, (pawl_bytes){ base, sizeof base - 1 }, false, &ev, &text, NULL), PAWL_OK);
        CHECK(ev.value != NULL && strstr(ev.value, "bypass") == NULL && strstr(ev.value, "\"default\"") != NULL);
        buf_free(&text);
    }
    pawl_machine_free(m);
}
