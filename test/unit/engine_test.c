/* engine_test.c - one engine, one store in memory: runs are driven as far as they go, and what is stored is all there is. */
#include "lib/heap.h"
#include "lib/engine_fixture.h"
#include "pawl/engine.h"
#include "pawl/graph.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- runs ------------------------------------------------------------------------------------------- */

PAWL_TEST(test_a_run_goes_on_until_somebody_is_asked_and_then_to_its_end)
{
    town t;

    town_begin(&t, town_essay(NULL), NULL);
    town_acts(&t, "llm", PAWL_CLASS_AT_LEAST_ONCE);
    t.replies[0] = "\"first\"";
    t.replies[1] = "\"second\"";
    CHECK_INT(town_run(&t, "essay-1", "{\"request\":\"sky\"}"), PAWL_INTERRUPTED);
    town_log(&t, "1.draft.1.0 {\"about\":\"sky\"}; ");
    CHECK_STR(pawl_run_get(t.e, "essay-1", "draft"), "first");
    CHECK_INT(pawl_answer(t.e, "essay-1", NULL, "false", &t.err), PAWL_INTERRUPTED);
    town_log(&t, "3.draft.1.0 {\"about\":\"sky\"}; ");
    CHECK_INT(pawl_answer(t.e, "essay-1", "publish", "true", &t.err), PAWL_HALTED);
    CHECK_STR(pawl_run_get(t.e, "essay-1", "draft"), "second");
    CHECK_STR(pawl_run_get(t.e, "essay-1", "no such"), "");
    CHECK_INT(pawl_state_status(pawl_run_state(t.e, "essay-1", &t.err)), PAWL_STATUS_COMPLETED);
    town_verify(&t, "essay-1");
    town_end(&t);
}

static pawl_code calls_printer(pawl_step *s, void *arg)
{
    pawl_code rc = pawl_call(s, "print", pawl_pack(s, "s", "a page"), NULL);

    (void)arg;
    return rc == PAWL_OK ? pawl_follow(s) : rc;
}

static pawl_code burns(const pawl_job *job, pawl_reply *reply, void *arg)
{
    (void)job;
    (void)arg;
    return pawl_reply_fail(reply, PAWL_EFFECT, "the printer is on fire");
}

/* Who drove it need not read its state: err names the run, how it ended, the node, and what the handler said. */
PAWL_TEST(test_X1_a_run_that_ended_otherwise_than_completed_says_why)
{
    pawl_graph *g = pawl_graph_new("paper", 1);
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e;

    pawl_graph_node(g, "page", calls_printer, NULL);
    pawl_graph_chain(g, PAWL_START, "page", PAWL_END, NULL);
    pawl_graph_gate(g, "page", "Print?");
    CHECK((e = pawl_engine_new(pawl_graph_compile(g, &err), pawl_store_memory(&err), &err)) != NULL);
    CHECK_INT(pawl_engine_effect(e, "print", burns, NULL, PAWL_CLASS_AT_LEAST_ONCE, &err), PAWL_OK);
    CHECK_INT(pawl_run(e, "a", NULL, &err), PAWL_INTERRUPTED);
    CHECK_INT(pawl_answer(e, "a", NULL, "true", &err), PAWL_HALTED);
    CHECK_INT(err.code, PAWL_EFFECT);
    CHECK_STR(err.text, "a: failed: node \"page\": an effect failed for good: the printer is on fire");
    err = (pawl_err){ PAWL_OK, "" };
    CHECK_INT(pawl_run(e, "a", NULL, &err), PAWL_HALTED);       /* and again to who asks later */
    CHECK_INT(err.code, PAWL_EFFECT);
    err = (pawl_err){ PAWL_OK, "" };
    CHECK_INT(pawl_run(e, "b", NULL, &err), PAWL_INTERRUPTED);
    CHECK_INT(err.code, PAWL_OK);
    CHECK_INT(pawl_answer(e, "b", NULL, "false", &err), PAWL_HALTED);
    CHECK_INT(err.code, PAWL_DENIED);
    CHECK(strstr(err.text, "b: rejected: ") == err.text && strstr(err.text, "page") != NULL);
    err = (pawl_err){ PAWL_OK, "" };
    CHECK_INT(pawl_run(e, "c", NULL, &err), PAWL_INTERRUPTED);
    CHECK_INT(pawl_event_send(e, "c", &(pawl_event){ .kind = PAWL_EV_CANCEL, .by = "ada" }, &err), PAWL_HALTED);
    CHECK_INT(err.code, PAWL_CANCELED);
    CHECK(strstr(err.text, "c: canceled") == err.text);
    pawl_engine_free(e);
}

PAWL_TEST(test_W2_running_a_waiting_run_again_performs_nothing)
{
    size_t size;
    town t;

    town_begin(&t, town_essay(NULL), NULL);
    town_acts(&t, "llm", PAWL_CLASS_AT_LEAST_ONCE);
    t.replies[0] = "\"first\"";
    CHECK_INT(town_run(&t, "essay-1", "{\"request\":\"sky\"}"), PAWL_INTERRUPTED);
    size = town_journal(&t, "essay-1").size;
    for (int i = 0; i < 3; i++)
        CHECK_INT(town_run(&t, "essay-1", NULL), PAWL_INTERRUPTED);
    CHECK_INT(town_journal(&t, "essay-1").size, size);
    CHECK_INT(t.calls, 1);
    CHECK_INT(pawl_answer(t.e, "essay-1", NULL, "true", &t.err), PAWL_HALTED);
    CHECK_INT(town_run(&t, "essay-1", NULL), PAWL_HALTED);
    CHECK_INT(t.calls, 1);
    town_end(&t);
}

PAWL_TEST(test_W3_an_answer_is_checked_and_taken_once)
{
    char id[256];
    pawl_wait q;
    size_t size;
    town t;

    town_begin(&t, town_essay(NULL), NULL);
    town_acts(&t, "llm", PAWL_CLASS_AT_LEAST_ONCE);
    CHECK_INT(town_run(&t, "essay-1", "{\"request\":\"sky\"}"), PAWL_INTERRUPTED);
    CHECK_INT(pawl_state_wait(pawl_run_state(t.e, "essay-1", NULL), 0, pawl_engine_step(t.e), &q, &t.err), PAWL_OK);
    snprintf(id, sizeof id, "%s", q.id);
    size = town_journal(&t, "essay-1").size;
    CHECK_INT(pawl_answer(t.e, "essay-1", id, "\"maybe\"", &t.err), PAWL_INVALID);
    t.err = (pawl_err){ PAWL_OK, "" };
    CHECK_INT(pawl_answer(t.e, "essay-1", "nobody", "true", &t.err), PAWL_INVALID);
    CHECK_STR(t.err.text, "essay-1: no open wait \"nobody\"");
    CHECK_INT(town_journal(&t, "essay-1").size, size);
    CHECK_INT(pawl_answer(t.e, "essay-1", id, "false", &t.err), PAWL_INTERRUPTED);
    t.err = (pawl_err){ PAWL_OK, "" };
    CHECK_INT(pawl_answer(t.e, "essay-1", id, "true", &t.err), PAWL_CONFLICT);
    town_end(&t);
}

PAWL_TEST(test_two_runs_of_one_engine_keep_apart)
{
    town t;

    town_begin(&t, town_essay(NULL), NULL);
    town_acts(&t, "llm", PAWL_CLASS_AT_LEAST_ONCE);
    t.replies[0] = "\"one\"";
    t.replies[1] = "\"two\"";
    CHECK_INT(town_run(&t, "a", "{\"request\":1}"), PAWL_INTERRUPTED);
    CHECK_INT(town_run(&t, "b", "{\"request\":2}"), PAWL_INTERRUPTED);
    CHECK_STR(pawl_run_get(t.e, "a", "draft"), "one");
    CHECK_STR(pawl_run_get(t.e, "b", "draft"), "two");
    CHECK_STR(pawl_run_get(t.e, "b", "request"), "2");
    CHECK_INT(pawl_answer(t.e, "b", NULL, "true", &t.err), PAWL_HALTED);
    CHECK_INT(pawl_state_next(pawl_run_state(t.e, "a", NULL)), PAWL_INTERRUPTED);
    town_runs(&t, "b a");
    CHECK(pawl_state_life(pawl_run_state(t.e, "a", NULL)) != pawl_state_life(pawl_run_state(t.e, "b", NULL)));
    town_end(&t);
}

static pawl_code reply_turn(pawl_step *s, void *arg)
{
    const pawl_value *answer;
    pawl_code rc = pawl_call(s, "llm", pawl_get(s, "said"), &answer);

    (void)arg;
    if (rc != PAWL_OK)
        return rc;
    pawl_set(s, "heard", answer);
    return PAWL_OK;
}

PAWL_TEST(test_G13_starting_a_run_that_waits_for_input_gives_it_the_input)
{
    pawl_graph *g = pawl_graph_new("talk", 1);
    town t;

    pawl_graph_channel(g, "said", PAWL_RULE_LAST);
    pawl_graph_channel(g, "heard", PAWL_RULE_APPEND);
    pawl_graph_node(g, "answer", reply_turn, NULL);
    pawl_graph_chain(g, PAWL_START, "answer", PAWL_END, NULL);
    pawl_graph_turns(g, "and now?");
    town_begin(&t, pawl_graph_compile(g, NULL), NULL);
    town_acts(&t, "llm", PAWL_CLASS_AT_LEAST_ONCE);
    t.replies[0] = "\"hello\"";
    t.replies[1] = "\"bye\"";
    CHECK_INT(town_run(&t, "talk-1", "{\"said\":\"hi\"}"), PAWL_INTERRUPTED);
    CHECK_INT(town_run(&t, "talk-1", "{\"said\":\"good night\"}"), PAWL_INTERRUPTED);
    CHECK_STR(pawl_run_get(t.e, "talk-1", "heard"), "[\"hello\",\"bye\"]");
    CHECK_INT(pawl_state_turn(pawl_run_state(t.e, "talk-1", NULL)), 2);
    CHECK_INT(town_run(&t, "talk-1", "\"no object\""), PAWL_INVALID);
    CHECK_INT(pawl_state_turn(pawl_run_state(t.e, "talk-1", NULL)), 2);
    town_verify(&t, "talk-1");
    town_end(&t);
}

/* ---- events, forks, watchers ------------------------------------------------------------------------------------- */

static pawl_code listen(pawl_step *s, const pawl_value *input, void *arg)
{
    const pawl_value *v;
    pawl_code rc = pawl_await_signal(s, "go", &v);

    (void)arg;
    (void)input;
    if (rc == PAWL_OK)
        pawl_set(s, "out", v);
    return rc;
}

PAWL_TEST(test_an_event_is_taken_or_ignored_and_what_follows_is_done)
{
    town t;

    town_begin(&t, town_lines(listen, NULL), NULL);
    CHECK_INT(town_run(&t, "r", NULL), PAWL_INTERRUPTED);
    CHECK_INT(pawl_event_send(t.e, "r", &(pawl_event){ .kind = PAWL_EV_SIGNAL, .name = "stay", .value = "1" }, &t.err), PAWL_IGNORED);
    CHECK_INT(pawl_event_send(t.e, "r", &(pawl_event){ .kind = PAWL_EV_SIGNAL, .name = "go", .value = "{\"far\":true}" }, &t.err), PAWL_HALTED);
    CHECK_STR(pawl_run_get(t.e, "r", "out"), "{\"far\":true}");
    CHECK_INT(pawl_event_send(t.e, "r", &(pawl_event){ .kind = PAWL_EV_CANCEL }, &t.err), PAWL_IGNORED);
    CHECK_INT(pawl_event_send(t.e, "nobody", &(pawl_event){ .kind = PAWL_EV_CANCEL }, &t.err), PAWL_GONE);
    CHECK_STR(t.err.text, "nobody: there is no such run");
    town_end(&t);
}

PAWL_TEST(test_E10_a_cancel_ends_a_run_that_only_waits)
{
    town t;

    town_begin(&t, town_essay(NULL), NULL);
    town_acts(&t, "llm", PAWL_CLASS_AT_LEAST_ONCE);
    CHECK_INT(town_run(&t, "essay-1", "{\"request\":1}"), PAWL_INTERRUPTED);
    CHECK_INT(pawl_event_send(t.e, "essay-1", &(pawl_event){ .kind = PAWL_EV_CANCEL, .by = "ada" }, &t.err), PAWL_HALTED);
    CHECK_INT(pawl_state_status(pawl_run_state(t.e, "essay-1", NULL)), PAWL_STATUS_CANCELED);
    CHECK_INT(town_run(&t, "essay-1", NULL), PAWL_HALTED);
    town_verify(&t, "essay-1");
    town_end(&t);
}

PAWL_TEST(test_G4_a_failed_run_is_opened_again_by_a_person)
{
    town t;

    town_begin(&t, town_essay(NULL), NULL);
    t.replies[0] = "!denied no";
    t.replies[1] = "\"yes\"";
    town_acts(&t, "llm", PAWL_CLASS_AT_LEAST_ONCE);
    CHECK_INT(town_run(&t, "essay-1", "{\"request\":1}"), PAWL_HALTED);
    CHECK_INT(pawl_state_status(pawl_run_state(t.e, "essay-1", NULL)), PAWL_STATUS_FAILED);
    CHECK_INT(pawl_event_send(t.e, "essay-1", &(pawl_event){ .kind = PAWL_EV_REOPEN, .by = "ada" }, &t.err), PAWL_INTERRUPTED);
    CHECK_STR(pawl_run_get(t.e, "essay-1", "draft"), "yes");
    town_verify(&t, "essay-1");
    town_end(&t);
}

PAWL_TEST(test_G8_a_fork_goes_its_own_way_from_any_entry)
{
    town t;

    town_begin(&t, town_essay(NULL), NULL);
    t.replies[0] = "\"first\"";
    t.replies[1] = "\"second\"";
    town_acts(&t, "llm", PAWL_CLASS_AT_LEAST_ONCE);
    CHECK_INT(town_run(&t, "a", "{\"request\":1}"), PAWL_INTERRUPTED);
    CHECK_INT(pawl_run_fork(t.e, "a", 0, "now", &t.err), PAWL_OK);
    CHECK_INT(pawl_run_fork(t.e, "a", 1, "then", &t.err), PAWL_OK);
    CHECK_INT(t.calls, 1);                              /* a fork is not driven */
    CHECK_INT(town_run(&t, "now", NULL), PAWL_INTERRUPTED);
    CHECK_STR(pawl_run_get(t.e, "now", "draft"), "first");
    CHECK_INT(town_run(&t, "then", NULL), PAWL_INTERRUPTED);
    CHECK_STR(pawl_run_get(t.e, "then", "draft"), "second");
    CHECK_INT(t.calls, 2);                              /* its open command was made anew, under its own id */
    CHECK_INT(pawl_answer(t.e, "now", NULL, "true", &t.err), PAWL_HALTED);
    CHECK_INT(pawl_state_next(pawl_run_state(t.e, "a", NULL)), PAWL_INTERRUPTED);
    town_verify(&t, "now");
    town_verify(&t, "then");
    town_end(&t);
}

PAWL_TEST(test_G8_a_fork_that_cannot_be_is_refused)
{
    town t;

    town_begin(&t, town_essay(NULL), NULL);
    town_acts(&t, "llm", PAWL_CLASS_AT_LEAST_ONCE);
    CHECK_INT(town_run(&t, "a", "{\"request\":1}"), PAWL_INTERRUPTED);
    CHECK_INT(pawl_run_fork(t.e, "a", 0, "a", &t.err), PAWL_CONFLICT);
    CHECK_STR(t.err.text, "a: a run of this id exists, with another base");
    CHECK_INT(pawl_run_fork(t.e, "nobody", 0, "b", NULL), PAWL_GONE);
    CHECK_INT(pawl_run_fork(t.e, "a", 99, "b", NULL), PAWL_GONE);
    CHECK_INT(pawl_run_fork(t.e, "a", 0, "no id!", NULL), PAWL_INVALID);
    CHECK_INT(pawl_run_fork(t.e, "a", 0, NULL, NULL), PAWL_INVALID);
    town_runs(&t, "a");
    town_end(&t);
}

static void watch(void *ctx, const pawl_state *st, const pawl_entry *entry)
{
    town *t = ctx;
    pawl_bytes journal = town_journal(t, pawl_state_run(st)), line = pawl_entry_bytes(entry);

    CHECK(journal.size > line.size);                    /* stored first */
    CHECK_BYTES(journal.data + journal.size - line.size - 1, line.size, line.data, line.size);
    if (!pawl_entry_is_record(entry))
        CHECK_INT(pawl_state_seq(st), pawl_entry_seq(entry));       /* and applied */
    buf_fmt(&t->log, "%s%s ", pawl_entry_is_record(entry) ? "." : pawl_event_kind_name(pawl_entry_kind(entry)),
            pawl_entry_is_record(entry) ? "" : pawl_state_next(st) == PAWL_HALTED ? "!" : "");
}

PAWL_TEST(test_G9_a_watcher_sees_each_entry_once_it_is_stored_and_applied)
{
    town t;

    town_begin(&t, town_essay(NULL), NULL);
    town_acts(&t, "llm", PAWL_CLASS_AT_LEAST_ONCE);
    pawl_engine_watch(t.e, watch, &t);
    CHECK_INT(town_run(&t, "r", "{\"request\":1}"), PAWL_INTERRUPTED);
    town_log(&t, "start 1.draft.1.0 {\"about\":1}; receipt ");
    CHECK_INT(pawl_answer(t.e, "r", NULL, "true", &t.err), PAWL_HALTED);
    town_log(&t, "answer! ");
    pawl_engine_watch(t.e, NULL, NULL);
    CHECK_INT(town_run(&t, "s", "{\"request\":1}"), PAWL_INTERRUPTED);
    town_log(&t, "1.draft.1.0 {\"about\":1}; ");
    town_end(&t);
}

/* ---- what is stored is all there is -------------------------------------------------------------------------------- */

/* The process is gone, the journal is there: another state is folded from it, and the machine goes on from that. */
PAWL_TEST(test_K6_a_journal_of_an_engine_goes_on_without_it)
{
    pawl_machine *m = town_essay(NULL);
    pawl_step *s = pawl_step_new(NULL);
    pawl_err err = { PAWL_OK, "" };
    pawl_state *st;
    pawl_bytes journal;
    char *copy;
    town t;

    town_begin(&t, town_essay(NULL), NULL);
    t.replies[0] = "\"first\"";
    town_acts(&t, "llm", PAWL_CLASS_AT_LEAST_ONCE);
    CHECK_INT(town_run(&t, "essay-1", "{\"request\":1}"), PAWL_INTERRUPTED);
    journal = town_journal(&t, "essay-1");
    copy = malloc(journal.size);
    memcpy(copy, journal.data, journal.size);
    journal.data = copy;
    town_end(&t);
    CHECK_INT(pawl_replay(journal, 0, NULL, &st, &err), PAWL_OK);
    CHECK_INT(pawl_state_waits(st), 1);
    CHECK_STR(pawl_value_string(pawl_state_get(st, "draft")), "first");
    CHECK_INT(pawl_feed(m, st, &(pawl_event){ .kind = PAWL_EV_ANSWER, .value = "true", .time_ms = 2000 }, s, &err), PAWL_HALTED);
    CHECK_INT(pawl_apply(st, pawl_step_entry(s), &err), PAWL_OK);
    CHECK_INT(pawl_state_status(st), PAWL_STATUS_COMPLETED);
    pawl_state_free(st);
    pawl_step_free(s);
    pawl_machine_free(m);
    free(copy);
}

static heap *starved;           /* from the moment of a call on, its store gets no more memory */

static pawl_code large(const pawl_job *cmd, pawl_reply *reply, void *arg)
{
    town *t = arg;
    char text[3000];

    (void)cmd;
    if (starved != NULL)
        heap_fail_from(starved, 0);
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    pawl_reply_string(reply, text);
    t->calls++;
    return PAWL_OK;
}

static const pawl_limits once = { .cls = PAWL_CLASS_ONCE };

/* What is not stored has not happened, and what is stored goes on: nothing is lost or seen twice. */
PAWL_TEST(test_G9_a_failed_append_throws_the_live_state_away)
{
    pawl_alloc alloc;
    size_t size;
    heap h;
    town t;

    heap_init(&h);
    alloc = heap_alloc(&h);
    town_begin(&t, town_essay(&once), store_memory_in(&alloc, NULL));
    CHECK_INT(pawl_engine_effect(t.e, "llm", large, &t, PAWL_CLASS_ONCE, NULL), PAWL_OK);
    pawl_engine_watch(t.e, watch, &t);
    starved = &h;
    CHECK_INT(town_run(&t, "essay-1", "{\"request\":1}"), PAWL_NOMEM);
    CHECK(strncmp(t.err.text, "essay-1: no memory for", 22) == 0);
    starved = NULL;
    size = town_journal(&t, "essay-1").size;
    CHECK_INT(town_run(&t, "essay-1", NULL), PAWL_NOMEM);
    CHECK_INT(town_journal(&t, "essay-1").size, size);
    CHECK_STR(pawl_run_get(t.e, "essay-1", "draft"), "");
    heap_fail_never(&h);
    CHECK_INT(town_run(&t, "essay-1", NULL), PAWL_INTERRUPTED);
    CHECK_INT(strlen(pawl_run_get(t.e, "essay-1", "draft")), 2999);
    CHECK_INT(t.calls, 1);                              /* what was performed is not performed again */
    town_log(&t, "start receipt ");                     /* only what was stored was seen */
    CHECK_INT(pawl_answer(t.e, "essay-1", NULL, "true", &t.err), PAWL_HALTED);
    town_verify(&t, "essay-1");
    town_end(&t);
    heap_check(&h);
}

/* Each allocation of the store fails once, and the run is taken up again: its journal is as if none had. */
PAWL_TEST(test_G9_a_run_goes_on_after_any_failed_append)
{
    bool fired = true;

    for (size_t n = 0; fired; n++) {
        pawl_alloc alloc;
        pawl_store *store;
        pawl_code rc;
        heap h;
        town t;

        heap_init(&h);
        alloc = heap_alloc(&h);
        CHECK((store = store_memory_in(&alloc, NULL)) != NULL);
        town_begin(&t, town_essay(&once), store);
        CHECK_INT(pawl_engine_effect(t.e, "llm", large, &t, PAWL_CLASS_ONCE, NULL), PAWL_OK);
        heap_fail_at(&h, n);
        rc = town_run(&t, "essay-1", "{\"request\":1}");
        if (rc == PAWL_NOMEM)
            rc = town_run(&t, "essay-1", "{\"request\":1}");
        if (rc != PAWL_INTERRUPTED)
            CHECK_FAIL("allocation %zu: %s", n, t.err.text);
        rc = pawl_answer(t.e, "essay-1", "publish", "true", &t.err);
        if (rc == PAWL_NOMEM)
            rc = pawl_answer(t.e, "essay-1", "publish", "true", &t.err);
        CHECK_INT(rc, PAWL_HALTED);
        fired = h.fired;
        heap_fail_never(&h);
        CHECK_INT(pawl_state_seq(pawl_run_state(t.e, "essay-1", NULL)), 3);
        town_verify(&t, "essay-1");
        town_end(&t);
        heap_check(&h);
    }
}

/* ---- nothing and nobody ------------------------------------------------------------------------------------------------ */

PAWL_TEST(test_what_failed_before_flows_through_an_engine)
{
    pawl_err err = { PAWL_DENIED, "before" };

    CHECK(pawl_engine_new(NULL, pawl_store_memory(NULL), &err) == NULL);
    CHECK(pawl_engine_new(town_essay(NULL), NULL, &err) == NULL);
    CHECK_STR(err.text, "before");
    CHECK_INT(pawl_run(NULL, "r", NULL, &err), PAWL_DENIED);
    err = (pawl_err){ PAWL_OK, "" };
    CHECK_INT(pawl_run(NULL, "r", NULL, &err), PAWL_INVALID);
    CHECK_INT(pawl_answer(NULL, "r", NULL, "1", NULL), PAWL_INVALID);
    CHECK_INT(pawl_run_fork(NULL, "r", 0, "s", NULL), PAWL_GONE);
    CHECK(pawl_run_state(NULL, "r", NULL) == NULL);
    CHECK_STR(pawl_run_get(NULL, "r", "x"), "");
    CHECK(pawl_engine_store(NULL) == NULL && pawl_engine_machine(NULL) == NULL && pawl_engine_step(NULL) == NULL);
    pawl_engine_watch(NULL, NULL, NULL);
    pawl_engine_clock(NULL, NULL);
    pawl_engine_secret(NULL, NULL, NULL);
    pawl_engine_free(NULL);
}

/* Starting an id that exists goes on with it; another input would be lost. */
PAWL_TEST(test_G10_another_input_for_a_run_that_is_there_is_an_error)
{
    town t;

    town_begin(&t, town_essay(NULL), NULL);
    CHECK_INT(town_run(&t, "r", "{\"request\":1}"), PAWL_PENDING);
    CHECK_INT(town_run(&t, "r", "{ \"request\": 1 }"), PAWL_PENDING);
    CHECK_INT(town_run(&t, "r", "{\"request\":2}"), PAWL_CONFLICT);
    CHECK_STR(t.err.text, "r: it was begun with another input, and asks for none: go on without one, or begin another run");
    town_acts(&t, "llm", PAWL_CLASS_AT_LEAST_ONCE);
    CHECK_INT(town_run(&t, "r", NULL), PAWL_INTERRUPTED);
    CHECK_INT(town_run(&t, "r", "{\"request\":2}"), PAWL_CONFLICT);
    CHECK_INT(pawl_answer(t.e, "r", NULL, "true", NULL), PAWL_HALTED);
    CHECK_INT(town_run(&t, "r", "{\"request\":1}"), PAWL_HALTED);
    CHECK_INT(town_run(&t, "r", "{\"request\":2}"), PAWL_CONFLICT);
    town_end(&t);
}

/* A note says what is waited for, and gives way to an error. */
PAWL_TEST(test_X1_a_note_gives_way_to_an_error)
{
    town t;

    town_begin(&t, town_essay(NULL), NULL);
    CHECK_INT(town_run(&t, "r", NULL), PAWL_PENDING);
    CHECK_INT(t.err.code, PAWL_PENDING);
    CHECK_INT(pawl_answer(t.e, "nobody", NULL, "1", &t.err), PAWL_GONE);
    CHECK_STR(t.err.text, "nobody: there is no such run");
    CHECK_INT(pawl_run(t.e, "r", NULL, &t.err), PAWL_PENDING);
    CHECK_STR(t.err.text, "nobody: there is no such run");
    town_end(&t);
}

PAWL_TEST(test_a_run_that_cannot_begin_leaves_nothing_behind)
{
    town t;

    town_begin(&t, town_essay(NULL), NULL);
    CHECK_INT(town_run(&t, "no id!", NULL), PAWL_INVALID);
    CHECK_INT(town_run(&t, NULL, NULL), PAWL_INVALID);
    town_runs(&t, "");
    CHECK_STR(t.err.text, "a run has an id");
    CHECK_INT(town_run(&t, "r", "[1]"), PAWL_INVALID);
    CHECK_INT(town_run(&t, "r", "{\"no such\":1}"), PAWL_INVALID);
    CHECK_INT(pawl_run(t.e, "r", "{", NULL), PAWL_INVALID);
    town_runs(&t, "");
    CHECK_INT(pawl_answer(t.e, "r", NULL, "1", NULL), PAWL_GONE);
    town_acts(&t, "llm", PAWL_CLASS_AT_LEAST_ONCE);
    CHECK_INT(town_run(&t, "r", "{\"request\":1}"), PAWL_INTERRUPTED);
    town_verify(&t, "r");
    town_end(&t);
}
