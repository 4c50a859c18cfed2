/* engine_marks_test.c - attempts, back-offs and time limits of a command go on in the next process. */
#include "lib/engine_fixture.h"
#include "store/place.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pawl_code calls(pawl_step *s, const pawl_value *input, void *arg)
{
    const pawl_value *v;
    pawl_code rc = pawl_call(s, "do", NULL, &v);

    (void)input, (void)arg;
    if (rc == PAWL_EFFECT)
        pawl_set_string(s, "out", "failed");
    else if (rc == PAWL_OK)
        pawl_set(s, "out", v);
    return rc == PAWL_EFFECT ? PAWL_OK : rc;
}

static pawl_machine *one_call(const pawl_limits *limits)
{
    pawl_machine *m = town_lines(calls, NULL);
    pawl_err err = { PAWL_OK, "" };

    if (pawl_flow_effect(m, "do", limits, &err) != PAWL_OK)
        CHECK_FAIL("machine: %s", err.text);
    return m;
}

/* ---- two processes, one after the other ------------------------------------------------------------- */

/* What the handler says, call by call; "die" ends the process. */
typedef struct hand { const char *const *says; int64_t now; int calls; int64_t called_ms[4]; bool dies_asleep; } hand;

static int64_t hand_now(void *ctx) { return ((hand *)ctx)->now; }

static void hand_sleep(void *ctx, int64_t until_ms)
{
    hand *h = ctx;

    if (h->dies_asleep && until_ms > h->now)
        _exit(9);
    h->now = until_ms > h->now ? until_ms : h->now;
}

static pawl_code says(const pawl_job *job, pawl_reply *reply, void *arg)
{
    hand *h = arg;
    const char *text = h->says[h->calls];

    if (h->calls < 4)
        h->called_ms[h->calls] = h->now;
    h->calls++;
    if (text == NULL)
        CHECK_FAIL("call %d of %s: nothing is told of it", h->calls, job->id);
    if (strcmp(text, "die") == 0)
        _exit(9);
    if (strcmp(text, "later") == 0)
        pawl_reply_retry_after(reply, 90000);
    if (strcmp(text, "untouched") == 0)
        pawl_reply_untouched(reply);
    return strcmp(text, "done") == 0 ? pawl_reply_int(reply, job->attempt) : pawl_reply_fail(reply, PAWL_TRANSIENT, "%s", text);
}

static pawl_engine *engine_of(const pawl_limits *limits, hand *h)
{
    const pawl_clock clock = { hand_now, hand_sleep, h };
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e = pawl_engine_new(one_call(limits), pawl_store_sqlite(path, NULL, &err), &err);

    if (e == NULL || pawl_engine_effect(e, "do", says, h, limits->cls, &err) != PAWL_OK)
        CHECK_FAIL("engine: %s", err.text);
    pawl_engine_clock(e, &clock);
    return e;
}

/* Dies at its first sleep, or when it is told to. */
static void dies_first(const pawl_limits *limits, const char *const *told)
{
    pid_t child;
    int status;

    path_new("marks");
    if ((child = fork()) == 0) {
        hand h = { .says = told, .now = 1000000, .dies_asleep = true };

        (void)(pawl_run(engine_of(limits, &h), "r", NULL, NULL) == PAWL_OK);
        _exit(1);
    }
    CHECK_INT(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 9);
}

static bool journal_has(pawl_engine *e, const char *text)
{
    pawl_bytes journal = pawl_store_journal(pawl_engine_store(e), "r", NULL);
    union { const char *in; void *out; } bytes = { journal.data };
    char *copy = check_copy(journal.data, journal.size);
    bool has = strstr(copy, text) != NULL;

    free(copy);
    free(bytes.out);
    return has;
}

static const char *const done[] = { "done", "done", NULL };

/* ---- E7 --------------------------------------------------------------------------------------------- */

PAWL_TEST(test_E7_a_back_off_goes_on_in_the_next_process)
{
    static const char *const told[][2] = { { "busy", NULL }, { "later", NULL } };
    const pawl_limits limits = { .retry = { .max_attempts = 3, .initial_ms = 60000 } };
    const int64_t due[] = { 1060000, 1090000 };

    for (size_t i = 0; i < 2; i++) {
        hand h = { .says = done, .now = 1000500 };
        pawl_engine *e;

        dies_first(&limits, told[i]);
        e = engine_of(&limits, &h);
        CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_HALTED);
        CHECK_INT(h.calls, 1);
        CHECK_INT(h.called_ms[0], due[i]);
        CHECK_STR(pawl_run_get(e, "r", "out"), "2");
        pawl_engine_free(e);
        path_new("marks");
    }
}

PAWL_TEST(test_E7_a_worker_leaves_a_back_off_until_it_is_due)
{
    static const char *const told[] = { "busy", NULL };
    const pawl_limits limits = { .retry = { .max_attempts = 3, .initial_ms = 60000 } };
    hand h = { .says = done, .now = 1000500 };
    pawl_engine *e;
    pawl_head head;

    dies_first(&limits, told);
    e = engine_of(&limits, &h);
    CHECK_INT(pawl_begin(e, "s", NULL, NULL), PAWL_OK);
    CHECK_INT(pawl_work(e, 0, NULL), PAWL_OK);
    CHECK_INT(h.calls, 1);      /* of the other one; what a dead process holds is left until its lease ends */
    CHECK_INT(pawl_event_send(e, "r", &(pawl_event){ .kind = PAWL_EV_TICK }, NULL), PAWL_IGNORED);
    CHECK_INT(pawl_engine_store(e)->verbs->head(pawl_engine_store(e), "r", &head, NULL), PAWL_OK);
    CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_HALTED);
    CHECK_INT(h.called_ms[1], 1060000);
    pawl_engine_free(e);
    path_gone();
}

PAWL_TEST(test_E7_the_last_attempt_was_the_last_though_it_was_cut_off)
{
    static const char *const told[] = { "busy", "die" };
    const pawl_limits limits = { .retry = { .max_attempts = 2 } };
    hand h = { .says = done, .now = 1000500 };
    pawl_engine *e;

    dies_first(&limits, told);
    e = engine_of(&limits, &h);
    CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_HALTED);
    CHECK_INT(h.calls, 0);
    CHECK(journal_has(e, "\"unknown\",{\"code\":\"unknown\""));
    pawl_engine_free(e);
    path_gone();
}

PAWL_TEST(test_E5_E7_once_is_tried_again_when_it_is_known_that_nothing_happened)
{
    static const char *const told[] = { "untouched", NULL };
    const pawl_limits limits = { .cls = PAWL_CLASS_ONCE, .retry = { .max_attempts = 2, .initial_ms = 100 } };
    hand h = { .says = done, .now = 1000050 };
    pawl_engine *e;

    dies_first(&limits, told);
    e = engine_of(&limits, &h);
    CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_HALTED);
    CHECK_INT(h.called_ms[0], 1000100);
    CHECK_STR(pawl_run_get(e, "r", "out"), "2");
    pawl_engine_free(e);
    path_gone();
}

/* ---- E8, E10 ---------------------------------------------------------------------------------------------- */

PAWL_TEST(test_E8_the_time_of_a_command_in_all_goes_on_in_the_next_process)
{
    static const char *const told[] = { "busy", NULL }, *const busy[] = { "busy", "busy", NULL };
    const pawl_limits limits = { .total_timeout_ms = 100000, .retry = { .max_attempts = 5, .initial_ms = 60000, .factor = 1 } };
    hand h = { .says = done, .now = 1100001 };
    pawl_engine *e;

    dies_first(&limits, told);
    e = engine_of(&limits, &h);
    CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_HALTED);
    CHECK_INT(h.calls, 0);
    CHECK(journal_has(e, "\"timeout\",{\"code\":\"timeout\",\"text\":\"do: it took longer than its total_timeout_ms allows\"}"));
    pawl_engine_free(e);

    h = (hand){ .says = busy, .now = 1000500 };
    dies_first(&limits, told);
    e = engine_of(&limits, &h);
    CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_HALTED);
    CHECK_INT(h.calls, 1);      /* at 60 s; the one after it would be at 120 s */
    CHECK_STR(pawl_run_get(e, "r", "out"), "failed");
    pawl_engine_free(e);
    path_gone();
}

/* Somebody began it and is gone: to say that it was called off before it began would be a lie. */
PAWL_TEST(test_E10_what_was_begun_in_another_process_is_not_called_off_but_unknown)
{
    static const char *const told[] = { "die" };
    const pawl_limits limits[] = { { .cls = PAWL_CLASS_IDEMPOTENT, .retry = { .max_attempts = 2 } }, { .cls = PAWL_CLASS_PURE,
        .retry = { .max_attempts = 2 } } };

    for (size_t i = 0; i < 2; i++) {
        hand h = { .says = done, .now = 1000500 };
        pawl_err err = { PAWL_OK, "" };
        pawl_engine *e;

        dies_first(&limits[i], told);
        e = engine_of(&limits[i], &h);
        CHECK_INT(pawl_event_send(e, "r", &(pawl_event){ .kind = PAWL_EV_CANCEL }, &err), PAWL_HALTED);
        CHECK_INT(pawl_state_status(pawl_run_state(e, "r", NULL)), PAWL_STATUS_CANCELED);
        CHECK_INT(h.calls, 0);
        CHECK(journal_has(e, i == 0 ? "\"unknown\",{\"code\":\"unknown\"" : "\"canceled\",{\"code\":\"canceled\""));
        pawl_engine_free(e);
        path_new("marks");
    }
}

/* ---- E13: a receipt that cannot be taken -------------------------------------------------------------------- */

static int64_t whim;

/* With another whim it wants something else: that contradicts the journal. */
static pawl_code calls_at_whim(pawl_step *s, void *arg)
{
    const pawl_value *v;
    pawl_code rc = pawl_call(s, "do", pawl_pack(s, "{s:i}", "n", whim), &v);

    (void)arg;
    return rc == PAWL_OK ? pawl_set(s, "out", v), pawl_follow(s) : rc;
}

static pawl_machine *whims(void)
{
    pawl_graph *g = pawl_graph_new("whims", 1);

    pawl_graph_channel(g, "out", PAWL_RULE_LAST);
    pawl_graph_effect(g, "do", &(pawl_limits){ .cls = PAWL_CLASS_ONCE });
    pawl_graph_node(g, "whim", calls_at_whim, NULL);
    pawl_graph_chain(g, PAWL_START, "whim", PAWL_END, NULL);
    return pawl_graph_compile(g, NULL);
}

static bool fickle;

static pawl_code says_and_turns(const pawl_job *job, pawl_reply *reply, void *arg)
{
    whim = fickle;
    return says(job, reply, arg);
}

static pawl_engine *whims_engine(hand *h)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e = pawl_engine_new(whims(), pawl_store_sqlite(path, NULL, &err), &err);

    if (e == NULL || pawl_engine_effect(e, "do", says_and_turns, h, PAWL_CLASS_ONCE, &err) != PAWL_OK)
        CHECK_FAIL("engine: %s", err.text);
    return e;
}

/* It happened once, and that is known, though the machine could not take it and the process ended. */
PAWL_TEST(test_E13_a_receipt_that_cannot_be_taken_is_stored_alone)
{
    hand h = { .says = done }, second = { .says = done };
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e;
    pid_t child;
    int status;

    path_new("marks");
    if ((child = fork()) == 0) {
        fickle = true;
        e = whims_engine(&h);
        _exit(pawl_run(e, "r", NULL, NULL) == PAWL_CORRUPT && h.calls == 1 && pawl_run(e, "r", NULL, NULL) == PAWL_CORRUPT && h.calls == 1 ? 7 : 1);
    }
    CHECK_INT(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    e = whims_engine(&second);
    CHECK_INT(pawl_run(e, "r", NULL, &err), PAWL_HALTED);
    CHECK_INT(second.calls, 0);
    CHECK_INT(pawl_state_status(pawl_run_state(e, "r", NULL)), PAWL_STATUS_COMPLETED);
    CHECK_STR(pawl_run_get(e, "r", "out"), "1");
    pawl_engine_free(e);
    path_gone();
}

/* In one process, too; and what another machine cannot take is not even begun. */
PAWL_TEST(test_E13_F5_nothing_is_performed_for_a_machine_that_cannot_take_it)
{
    hand h = { .says = done };
    pawl_err err = { PAWL_OK, "" };
    pawl_graph *g = pawl_graph_new("whims", 2);
    pawl_engine *e, *other;

    path_new("marks");
    fickle = true;
    e = whims_engine(&h);
    CHECK_INT(pawl_run(e, "r", NULL, &err), PAWL_CORRUPT);
    CHECK(strstr(err.text, "the node is not pure") != NULL);
    fickle = false;
    whim = 0;
    CHECK_INT(pawl_begin(e, "s", NULL, NULL), PAWL_OK);
    CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_HALTED);
    CHECK_INT(h.calls, 1);
    pawl_engine_free(e);

    e = pawl_engine_new(whims(), pawl_store_sqlite(path, NULL, &err), &err);
    CHECK_INT(pawl_run(e, "s", NULL, NULL), PAWL_PENDING);      /* it has no handler */
    pawl_engine_free(e);
    pawl_graph_channel(g, "out", PAWL_RULE_LAST);
    pawl_graph_effect(g, "do", &(pawl_limits){ .cls = PAWL_CLASS_ONCE });
    pawl_graph_node(g, "whim", calls_at_whim, NULL);
    pawl_graph_chain(g, PAWL_START, "whim", PAWL_END, NULL);
    other = pawl_engine_new(pawl_graph_compile(g, NULL), pawl_store_sqlite(path, NULL, &err), &err);
    CHECK_INT(pawl_engine_effect(other, "do", says, &h, PAWL_CLASS_ONCE, &err), PAWL_OK);
    err = (pawl_err){ PAWL_OK, "" };
    CHECK_INT(pawl_run(other, "s", NULL, &err), PAWL_CONFLICT);
    CHECK_STR(err.text, "s: it runs under machine whims 1, and this is another whims 2: adopt it before anything is performed");
    CHECK_INT(h.calls, 1);
    pawl_engine_free(other);
    path_gone();
}
