/* The engine where things meet: a back-off beside work, a deadline, a delivery before an answer, workers of two machines. */
#include "lib/check.h"
#include "lib/engine_fixture.h"
#include "pawl/engine.h"
#include "pawl/flow.h"
#include "pawl/graph.h"
#include "store/place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- machines ------------------------------------------------------------------------------------- */

static pawl_machine *line_of(const char *name, pawl_flow_linear_fn *fn, const pawl_limits *limits)
{
    static const pawl_channel channels[] = { { .name = "out" } };
    pawl_err err = { PAWL_OK, "" };
    pawl_machine *m = pawl_flow_linear(name, 1, channels, 1, fn, NULL, 0, NULL, &err);

    if (m == NULL || (limits != NULL && pawl_flow_effect(m, "do", limits, &err) != PAWL_OK))
        CHECK_FAIL("machine: %s", err.text);
    return m;
}

static pawl_code calls(pawl_step *s, const pawl_value *input, void *arg)
{
    const pawl_value *v;
    pawl_code rc = pawl_call(s, "do", NULL, &v);

    (void)input, (void)arg;
    return rc == PAWL_OK ? pawl_set(s, "out", v), PAWL_OK : rc;
}

static pawl_code asks(pawl_step *s, const pawl_value *input, void *arg)
{
    const int *timeout = arg;
    const pawl_value *v;
    pawl_question q = { .slot = "ok", .prompt = pawl_json(s, "\"ok?\"") };
    pawl_code rc;

    (void)input;
    if (timeout != NULL) {
        q.timeout_ms = *timeout;
        q.otherwise = pawl_json(s, "\"nobody\"");
    }
    rc = pawl_ask_with(s, &q, &v);
    return rc == PAWL_OK ? pawl_set(s, "out", v), PAWL_OK : rc;
}

static pawl_code asks_briefly(pawl_step *s, const pawl_value *input, void *arg)
{
    static int timeout = 1000;

    (void)arg;
    return asks(s, input, &timeout);
}

static pawl_code tells(pawl_step *s, const pawl_value *input, void *arg)
{
    (void)arg;
    pawl_set(s, "out", input != NULL ? input : pawl_json(s, "\"nothing\""));
    return PAWL_OK;
}

static pawl_engine *engine_on(pawl_machine *m, pawl_store *s)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e = pawl_engine_new(m, s, &err);

    if (e == NULL)
        CHECK_FAIL("engine: %s", err.text);
    return e;
}

/* ---- a clock that goes when somebody sleeps ---------------------------------------------------------- */

static int64_t hour;

static int64_t hour_now(void *ctx) { return *(int64_t *)ctx; }
static void hour_sleep(void *ctx, int64_t until_ms) { *(int64_t *)ctx = until_ms; }

static pawl_engine *engine_by_the_hour(pawl_machine *m)
{
    pawl_engine *e = engine_on(m, pawl_store_memory(NULL));

    hour = 1000000;
    pawl_engine_clock(e, &(pawl_clock){ .now_ms = hour_now, .sleep_until = hour_sleep, .ctx = &hour });
    return e;
}

/* ---- attempts ------------------------------------------------------------------------------------------ */

typedef struct count { int calls; pawl_code first; } count;

/* The first call takes a while of that clock, and fails. */
static pawl_code fails_once(const pawl_job *job, pawl_reply *reply, void *arg)
{
    count *c = arg;

    (void)job;
    hour += 5;
    if (c->calls++ == 0 && c->first != PAWL_OK)
        return pawl_reply_fail(reply, c->first, "not now");
    return pawl_reply_json(reply, "{\"done\":1}");
}

PAWL_TEST(test_E7_a_back_off_keeps_nobody_else_waiting)
{
    const pawl_limits again = { .retry = { .max_attempts = 3, .initial_ms = 50 } };
    count one = { 0, PAWL_TRANSIENT }, two = { 0, PAWL_OK };
    pawl_graph *g = pawl_graph_new("pair", 1);
    pawl_engine *e;

    pawl_graph_effect(g, "one", &again);
    pawl_graph_channel(g, "done", PAWL_RULE_SUM);
    pawl_graph_work(g, "one", "one");
    pawl_graph_work(g, "two", "two");
    pawl_graph_chain(g, PAWL_START, "one", PAWL_END, NULL);
    pawl_graph_chain(g, PAWL_START, "two", PAWL_END, NULL);
    e = engine_by_the_hour(pawl_graph_compile(g, NULL));
    CHECK_INT(pawl_engine_effect(e, "one", fails_once, &one, PAWL_CLASS_AT_LEAST_ONCE, NULL), PAWL_OK);
    CHECK_INT(pawl_engine_effect(e, "two", fails_once, &two, PAWL_CLASS_AT_LEAST_ONCE, NULL), PAWL_OK);
    CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_HALTED);
    CHECK_INT(one.calls, 2);
    CHECK_INT(two.calls, 1);
    CHECK_STR(pawl_run_get(e, "r", "done"), "2");
    pawl_engine_free(e);
}

static bool stored(pawl_engine *e, const char *run, const char *text)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_bytes journal = pawl_store_journal(pawl_engine_store(e), run, &err);
    union { const char *in; void *out; } bytes = { .in = journal.data };
    size_t n = strlen(text);
    bool found = false;

    for (size_t i = 0; journal.data != NULL && i + n <= journal.size && !found; i++)
        found = memcmp(journal.data + i, text, n) == 0;
    free(bytes.out);
    return found;
}

/* What may have happened is not tried again, whatever its retry says. */
PAWL_TEST(test_E5_E7_once_is_one_attempt_when_it_may_have_happened)
{
    const pawl_code codes[] = { PAWL_TRANSIENT, PAWL_TIMEOUT, PAWL_IO };
    const pawl_limits limits = { .cls = PAWL_CLASS_ONCE, .retry = { .max_attempts = 3, .initial_ms = 1 } };

    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        count c = { 0, codes[i] };
        pawl_engine *e = engine_by_the_hour(line_of("m", calls, &limits));

        CHECK_INT(pawl_engine_effect(e, "do", fails_once, &c, PAWL_CLASS_ONCE, NULL), PAWL_OK);
        CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_INTERRUPTED);
        CHECK_INT(c.calls, 1);
        CHECK_INT(pawl_state_status(pawl_run_state(e, "r", NULL)), PAWL_STATUS_INPUT_REQUIRED);
        CHECK(stored(e, "r", "\"known\":{\"attempts\":1,\"code\":\"unknown\""));
        CHECK_INT(pawl_answer(e, "r", NULL, "\"again\"", NULL), PAWL_HALTED);
        CHECK_INT(c.calls, 2);
        pawl_engine_free(e);
    }
}

/* ---- what comes from outside -------------------------------------------------------------------------------- */

PAWL_TEST(test_W5_a_deadline_that_passed_answers)
{
    pawl_engine *e = engine_by_the_hour(line_of("m", asks_briefly, NULL));

    CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_INTERRUPTED);
    CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_INTERRUPTED);      /* not yet */
    hour += 1001;
    CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_HALTED);
    CHECK_STR(pawl_run_get(e, "r", "out"), "nobody");
    pawl_engine_free(e);
}

static bool approves_two;

static pawl_code asks_to_approve(pawl_step *s, const pawl_value *input, void *arg)
{
    pawl_question q = { .slot = "gate", .kind = PAWL_WAIT_APPROVAL, .timeout_ms = 1000, .otherwise = pawl_json(s, "false") };
    const pawl_value *first, *second = NULL;
    pawl_code rc = pawl_ask_with(s, &q, &first), rc_2 = PAWL_OK;

    (void)input, (void)arg;
    if (approves_two) {
        q.slot = "other";
        rc_2 = pawl_ask_with(s, &q, &second);
    }
    if (rc != PAWL_OK || rc_2 != PAWL_OK)
        return rc != PAWL_OK ? rc : rc_2;
    pawl_set(s, "out", pawl_json(s, pawl_value_bool(first) || pawl_value_bool(second) ? "\"yes\"" : "\"no\""));
    return PAWL_OK;
}

/* Sends a late yes to the first approval of a run "r", by its id, by a name, or by none. No pass over the run has fired its timers. */
static pawl_code late_yes(pawl_engine *e, size_t which)
{
    const char *const names[] = { "gate", NULL, NULL };
    pawl_event ev = { .kind = PAWL_EV_ANSWER, .id = names[which % 3], .value = "true" };
    char id[128];
    pawl_wait w;

    CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_INTERRUPTED);
    CHECK_INT(pawl_state_wait(pawl_run_state(e, "r", NULL), 0, pawl_engine_step(e), &w, NULL), PAWL_OK);
    snprintf(id, sizeof id, "%s", w.id);
    if (which % 3 == 2)
        ev.id = id;
    hour += 1001;
    return pawl_event_send(e, "r", &ev, NULL);
}

PAWL_TEST(test_W5_a_late_yes_counts_by_no_name_of_the_approval)
{
    for (size_t which = 0; which < 6; which++) {
        pawl_engine *e = engine_by_the_hour(line_of("m", asks_to_approve, NULL));
        pawl_code rc;

        approves_two = which >= 3;
        rc = late_yes(e, which);
        if (rc >= 0 && rc != PAWL_IGNORED)
            CHECK_FAIL("a late yes, %zu: %d", which, (int)rc);
        CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_HALTED);
        CHECK_STR(pawl_run_get(e, "r", "out"), "no");
        pawl_engine_free(e);
    }
}

PAWL_TEST(test_E16_what_was_delivered_before_comes_first)
{
    pawl_engine *e = engine_on(line_of("m", asks, NULL), pawl_store_memory(NULL));
    pawl_store *s = pawl_engine_store(e);
    pawl_delivery d = { .id = "d1", .kind = PAWL_DELIVER_ANSWER, .value = { "\"yes\"", 5 } };
    pawl_err err = { PAWL_OK, "" };
    char id[128];
    pawl_wait w;

    CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_INTERRUPTED);
    CHECK_INT(pawl_state_wait(pawl_run_state(e, "r", NULL), 0, pawl_engine_step(e), &w, NULL), PAWL_OK);
    snprintf(id, sizeof id, "%s", w.id);
    d.name = id;
    CHECK_INT(s->verbs->deliver(s, "r", &d, &err), PAWL_OK);
    CHECK_INT(pawl_answer(e, "r", NULL, "\"no\"", &err), PAWL_IGNORED);     /* it is over by then */
    CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_HALTED);
    CHECK_STR(pawl_run_get(e, "r", "out"), "yes");
    pawl_engine_free(e);
}

PAWL_TEST(test_G10_a_run_that_was_begun_goes_on_with_its_input)
{
    pawl_engine *e = engine_on(line_of("m", tells, NULL), pawl_store_memory(NULL));

    CHECK_INT(pawl_begin(e, "r", "{\"input\":7}", NULL), PAWL_OK);
    CHECK_INT(pawl_begin(e, "r", "{\"input\":7}", NULL), PAWL_OK);      /* who heard nothing says it again */
    CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_HALTED);
    CHECK_STR(pawl_run_get(e, "r", "out"), "7");
    pawl_engine_free(e);
}

static pawl_code calls_with_key(pawl_step *s, const pawl_value *input, void *arg)
{
    pawl_code rc = pawl_call(s, "do", pawl_pack(s, "{s:v}", "key", pawl_ref(s, "key")), NULL);

    (void)input, (void)arg;
    return rc == PAWL_EFFECT ? PAWL_OK : rc;
}

PAWL_TEST(test_E10_what_waits_for_a_secret_can_be_called_off)
{
    const pawl_channel channels[] = { { .name = "key", .secret = "env:PAWL_TEST_NOT_THERE" } };
    count c = { 0, PAWL_OK };
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e = engine_by_the_hour(pawl_flow_linear("m", 1, channels, 1, calls_with_key, NULL, 0, NULL, &err));

    CHECK_INT(pawl_engine_effect(e, "do", fails_once, &c, PAWL_CLASS_AT_LEAST_ONCE, &err), PAWL_OK);
    CHECK_INT(pawl_run(e, "r", NULL, &err), PAWL_PENDING);
    CHECK_INT(pawl_event_send(e, "r", &(pawl_event){ .kind = PAWL_EV_CANCEL }, NULL), PAWL_HALTED);
    CHECK_INT(pawl_state_status(pawl_run_state(e, "r", NULL)), PAWL_STATUS_CANCELED);
    CHECK_INT(c.calls, 0);
    pawl_engine_free(e);
}

static const char *echo;            /* what comes back; "!": a failure with that text and detail */

static pawl_code echoes(const pawl_job *job, pawl_reply *reply, void *arg)
{
    (void)arg;
    CHECK_STR(pawl_value_string(pawl_value_get(job->args, "key")), "tok-\"4711\"-abc");
    if (*echo != '!')
        return pawl_reply_json(reply, echo);
    pawl_reply_detail(reply, echo);
    return pawl_reply_fail(reply, PAWL_EFFECT, "%s", echo);
}

/* A server, or a program, says what it was given: as it is, as the name of a member, with other escapes, in base64 and in hex. */
PAWL_TEST(test_K4_a_secret_that_comes_back_is_taken_out_of_the_reply)
{
    static const char *const said[] = {
        "{\"you\":[\"Bearer tok-\\\"4711\\\"-abc\",\"tok-\\u00224711\\\"-abc\"]}", "{\"tok-\\\"4711\\\"-abc\":1}", "\"dTp0b2stIjQ3MTEiLWFiYw==\"",
        "\"746f6b2d2234373131222d616263\"", "!you sent tok-\"4711\"-abc",
    };
    static const char *const hidden[] = { "4711", "dG9rLSI0NzExIi1hYm", "0b2stIjQ3MTEiLWFi", "34373131" };
    const pawl_channel channels[] = { { .name = "key", .secret = "env:PAWL_TEST_ECHO" } };
    pawl_err err = { PAWL_OK, "" };

    CHECK_INT(setenv("PAWL_TEST_ECHO", "tok-\"4711\"-abc", 1), 0);
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        pawl_engine *e = engine_by_the_hour(pawl_flow_linear("m", 1, channels, 1, calls_with_key, NULL, 0, NULL, &err));
        pawl_bytes journal;
        char text[4096];

        echo = said[i];
        CHECK_INT(pawl_engine_effect(e, "do", echoes, NULL, PAWL_CLASS_AT_LEAST_ONCE, &err), PAWL_OK);
        CHECK_INT(pawl_run(e, "r", NULL, &err), PAWL_HALTED);
        journal = pawl_store_journal(pawl_engine_store(e), "r", NULL);
        CHECK(journal.data != NULL && journal.size < sizeof text && memchr(journal.data, '*', journal.size) != NULL);
        snprintf(text, sizeof text, "%.*s", (int)journal.size, journal.data);
        for (size_t k = 0; k < sizeof hidden / sizeof *hidden; k++)
            if (strstr(text, hidden[k]) != NULL)
                CHECK_FAIL("%s: %s", said[i], text);
        free((void *)(uintptr_t)journal.data);
        pawl_engine_free(e);
    }
    (void)unsetenv("PAWL_TEST_ECHO");
}

/* ---- two machines on one store ---------------------------------------------------------------------------------- */

PAWL_TEST(test_E3_a_worker_leaves_the_runs_of_another_machine_alone)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *mine, *other;

    path_new("edges");
    mine = engine_on(line_of("mine", tells, NULL), pawl_store_sqlite(path, NULL, &err));
    other = engine_on(line_of("other", tells, NULL), pawl_store_sqlite(path, NULL, &err));
    CHECK_INT(pawl_begin(mine, "r", "{\"input\":7}", &err), PAWL_OK);
    CHECK_INT(pawl_work(other, 0, &err), PAWL_OK);
    CHECK_INT(pawl_work(mine, 0, &err), PAWL_OK);
    CHECK_STR(pawl_run_get(mine, "r", "out"), "7");
    pawl_engine_free(mine);
    pawl_engine_free(other);
    path_gone();
}

/* ---- F4: one event, and out --------------------------------------------------------------------------- */

/* As a queue or a function service does: each event has an engine of its own, and nobody performs anything here: what is pending
 * is handed out by its id, and what came of it is the next event. */
static pawl_code tick(const pawl_event *ev, char out[static 128], char all[static 256])
{
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e = pawl_engine_new(town_essay(NULL), pawl_store_sqlite(path, NULL, &err), &err);
    pawl_code rc = ev == NULL ? pawl_run(e, "r", "{\"request\":\"sky\"}", &err) : pawl_event_send(e, "r", ev, &err);
    pawl_state *st = pawl_run_state(e, "r", NULL);
    pawl_command cmd;

    *out = '\0';
    if (st != NULL && pawl_state_commands(st) > 0) {
        CHECK_INT(pawl_state_command(st, 0, pawl_engine_step(e), &cmd, NULL, NULL), PAWL_OK);
        snprintf(out, 128, "%s", cmd.id);
    }
    snprintf(all, 256, "%s", st != NULL ? pawl_state_json(st, pawl_engine_step(e), NULL) : "");
    pawl_engine_free(e);
    return rc;
}

PAWL_TEST(test_F4_one_event_at_a_time_each_by_an_engine_of_its_own)
{
    char id[128], next[128], all[256];

    path_new("edges");
    CHECK_INT(tick(NULL, id, all), PAWL_PENDING);
    CHECK(strstr(id, "/1.draft.1.0") != NULL);
    CHECK_INT(tick(&(pawl_event){ .kind = PAWL_EV_RECEIPT, .id = id, .value = "\"first\"" }, next, all), PAWL_INTERRUPTED);
    CHECK_STR(next, "");
    CHECK_INT(tick(&(pawl_event){ .kind = PAWL_EV_RECEIPT, .id = id, .value = "\"first\"" }, next, all), PAWL_IGNORED);     /* the queue says it twice */
    CHECK_INT(tick(&(pawl_event){ .kind = PAWL_EV_ANSWER, .value = "false" }, id, all), PAWL_PENDING);
    CHECK_INT(tick(&(pawl_event){ .kind = PAWL_EV_RECEIPT, .id = id, .value = "\"second\"" }, next, all), PAWL_INTERRUPTED);
    CHECK_INT(tick(&(pawl_event){ .kind = PAWL_EV_ANSWER, .value = "true" }, next, all), PAWL_HALTED);
    CHECK_STR(all, "{\"draft\":\"second\",\"request\":\"sky\"}");
    path_gone();
}
