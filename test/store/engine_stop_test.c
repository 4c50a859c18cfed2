/* engine_stop_test.c - what is out is told to stop, and when: deadlines, cancels, a lease that is lost, a handler that does not hear. */
#include "lib/engine_fixture.h"
#include "store/one.h"
#include "store/place.h"
#include "store/store.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_MS = 20000 };   /* then a handler gives up, and its test has failed */

static pawl_store *open_store(void)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_store *s = pawl_store_sqlite(path, NULL, &err);

    if (s == NULL)
        CHECK_FAIL("open: %s", err.text);
    return s;
}

static int64_t ms_of(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void short_rest(void)
{
    const struct timespec t = { .tv_nsec = 1000000 };

    nanosleep(&t, NULL);
}

/* As many nodes as there are names, side by side, each a command "job". */
static pawl_machine *nodes(const char *const *names, size_t n, const pawl_limits *limits)
{
    pawl_graph *g = pawl_graph_new("nodes", 1);

    if (limits != NULL)
        pawl_graph_effect(g, "job", limits);
    pawl_graph_channel(g, "done", PAWL_RULE_SUM);
    for (size_t i = 0; i < n; i++) {
        pawl_graph_work(g, names[i], "job");
        pawl_graph_chain(g, PAWL_START, names[i], PAWL_END, NULL);
    }
    return pawl_graph_compile(g, NULL);
}

static const char *const three[] = { "one", "two", "three" };

static pawl_engine *engine_of(pawl_machine *m, pawl_store *s, unsigned threads, pawl_handler_fn *fn, void *arg, pawl_class cls)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e = pawl_engine_new(m, s, &err);

    if (e == NULL || pawl_engine_effect(e, "job", fn, arg, cls, &err) != PAWL_OK)
        CHECK_FAIL("engine: %s", err.text);
    pawl_engine_threads(e, threads);
    return e;
}

/* Until it is told to stop; false: it never was. */
static bool stopped(const pawl_job *job)
{
    int64_t until = ms_of(CLOCK_MONOTONIC) + PATIENCE_MS;

    while (!job->canceled(job)) {
        if (ms_of(CLOCK_MONOTONIC) > until)
            return false;
        short_rest();
    }
    return true;
}

/* Somebody else calls the run off; what is to be performed by him is not there. */
static pawl_code cancel_from_outside(const char *run)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *other = pawl_engine_new(nodes(three, 1, NULL), open_store(), &err);
    pawl_code rc = pawl_event_send(other, run, &(pawl_event){ .kind = PAWL_EV_CANCEL, .by = "ada" }, &err);

    pawl_engine_free(other);
    return rc;
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

/* ---- whose clock ------------------------------------------------------------------------------------- */

static int64_t given_now(void *ctx) { return *(int64_t *)ctx; }
static void given_sleep(void *ctx, int64_t until_ms) { *(int64_t *)ctx = until_ms; }

static void clock_give(pawl_engine *e, int64_t *now)
{
    pawl_engine_clock(e, &(pawl_clock){ .now_ms = given_now, .sleep_until = given_sleep, .ctx = now });
}

static pawl_code tells_deadline(const pawl_job *job, pawl_reply *reply, void *arg)
{
    int64_t *left = arg;

    *left = job->deadline_ms - ms_of(CLOCK_REALTIME);
    return pawl_reply_json(reply, "{\"done\":1}");
}

/* Handlers know the system's clock, and no other (pawl/effect.h). */
PAWL_TEST(test_E8_a_deadline_is_by_the_systems_clock_whatever_the_engines_is)
{
    const pawl_limits limits[] = { { .attempt_timeout_ms = 60000 }, { .total_timeout_ms = 60000 },
                                   { .attempt_timeout_ms = 90000, .total_timeout_ms = 60000 } };

    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        int64_t now = 1000, left = 0;
        pawl_engine *e = engine_of(nodes(three, 1, &limits[i]), pawl_store_memory(NULL), 0, tells_deadline, &left, PAWL_CLASS_AT_LEAST_ONCE);

        clock_give(e, &now);
        CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_HALTED);
        CHECK(left > 0 && left <= 60000);
        pawl_engine_free(e);
    }
}

static atomic_int off_begun;

/* The first one calls the run off, when both are at work: one that has not begun would hear nothing. */
static pawl_code called_off(const pawl_job *job, pawl_reply *reply, void *arg)
{
    off_begun++;
    while (off_begun < 2)
        sched_yield();
    if (strstr(job->id, ".one.") != NULL)
        CHECK_INT(cancel_from_outside("r"), PAWL_PENDING);
    *(atomic_int *)arg += stopped(job);
    return pawl_reply_fail(reply, PAWL_CANCELED, "stopped");
}

/* Waiting for the pool is not waiting for an hour of the given clock, which may be far off. */
PAWL_TEST(test_E14_a_cancel_is_heard_though_the_given_clock_is_far_ahead)
{
    const int64_t hours[] = { 1000, INT64_C(32503680000000) };

    for (size_t i = 0; i < sizeof hours / sizeof *hours; i++) {
        int64_t now = hours[i];
        atomic_int heard = 0;
        pawl_engine *e;

        path_new("stop");
        off_begun = 0;
        e = engine_of(nodes(three, 2, NULL), open_store(), 2, called_off, &heard, PAWL_CLASS_AT_LEAST_ONCE);
        clock_give(e, &now);
        CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_HALTED);
        CHECK_INT(heard, 2);
        CHECK_INT(pawl_state_status(pawl_run_state(e, "r", NULL)), PAWL_STATUS_CANCELED);
        pawl_engine_free(e);
        path_new("stop");
    }
}

/* Together they take more than the limit of one, and there is one thread for them all. Each alone has far less than its limit. */
static pawl_code takes_a_part(const pawl_job *job, pawl_reply *reply, void *arg)
{
    int64_t until = ms_of(CLOCK_MONOTONIC) + 300;

    (void)arg;
    while (ms_of(CLOCK_MONOTONIC) < until)
        if (job->canceled(job))
            return pawl_reply_fail(reply, PAWL_CANCELED, "stopped");
        else
            short_rest();
    return pawl_reply_json(reply, "{\"done\":1}");
}

PAWL_TEST(test_E8_what_waits_for_a_thread_is_not_over_its_limit)
{
    static const char *const ten[] = { "a", "b", "c", "d", "e", "f", "g", "h", "i", "j" };
    const pawl_limits limits = { .attempt_timeout_ms = 2400, .heartbeat_ms = 2400 };
    pawl_engine *e = engine_of(nodes(ten, 10, &limits), pawl_store_memory(NULL), 1, takes_a_part, NULL, PAWL_CLASS_AT_LEAST_ONCE);

    CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_HALTED);
    CHECK_STR(pawl_run_reason(e, "r"), "");
    CHECK_STR(pawl_run_get(e, "r", "done"), "10");
    pawl_engine_free(e);
}

/* ---- E10: on the thread that drives ------------------------------------------------------------------- */

/* It is out alone, so nobody drives while it goes on. */
PAWL_TEST(test_E10_E14_a_cancel_reaches_a_lone_command_on_the_thread_that_drives)
{
    for (unsigned threads = 0; threads <= 2; threads += 2)
        for (int work = 0; work < 2; work++) {
            pawl_err err = { PAWL_OK, "" };
            atomic_int heard = 0;
            pawl_engine *e;

            path_new("stop");
            e = engine_of(nodes(three, 1, NULL), open_store(), threads, called_off, &heard, PAWL_CLASS_AT_LEAST_ONCE);
            if (work) {
                CHECK_INT(pawl_begin(e, "r", NULL, &err), PAWL_OK);
                CHECK_INT(pawl_work(e, 0, &err), PAWL_OK);
            } else {
                CHECK_INT(pawl_run(e, "r", NULL, &err), PAWL_HALTED);
            }
            CHECK_INT(heard, 1);
            CHECK_INT(pawl_state_status(pawl_run_state(e, "r", NULL)), PAWL_STATUS_CANCELED);
            CHECK(journal_has(e, "[\"cancel\",{\"by\":\"ada\"}]") && journal_has(e, "\"canceled\",{\"code\":\"canceled\",\"text\":\"stopped\"}"));
            pawl_engine_free(e);
            path_new("stop");
        }
}

static pawl_code without_a_beat(const pawl_job *job, pawl_reply *reply, void *arg)
{
    (void)arg;
    return stopped(job) ? pawl_reply_fail(reply, PAWL_CANCELED, "stopped") : pawl_reply_json(reply, "{\"done\":1}");
}

PAWL_TEST(test_E8_a_heartbeat_is_missed_on_the_thread_that_drives_too)
{
    const pawl_limits limits = { .heartbeat_ms = 60 };
    pawl_engine *e = engine_of(nodes(three, 1, &limits), pawl_store_memory(NULL), 0, without_a_beat, NULL, PAWL_CLASS_AT_LEAST_ONCE);

    CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_HALTED);
    CHECK(journal_has(e, "\"timeout\",{\"code\":\"timeout\",\"text\":\"job: it took longer than its heartbeat_ms allows\"}"));
    pawl_engine_free(e);
}

/* ---- E10: a handler that does not hear ------------------------------------------------------------------ */

typedef struct deaf {
    atomic_bool enough;         /* then it returns */
    atomic_int back;
    int cancels;                /* that it has somebody else send first */
    pawl_engine *e;
    int64_t grace_ms;           /* from then on: all others are back */
} deaf;

/* The grace holds from the moment that nobody but the deaf one is out: however late the others get a processor, they are back in time. */
static void others_are_back(void *ctx, const pawl_state *st, const pawl_entry *entry)
{
    const deaf *d = ctx;

    (void)entry;
    if (pawl_state_commands(st) <= 1)
        pawl_engine_grace(d->e, d->grace_ms);
}

/* "one" returns when it is let, the others when they are told to stop. */
static pawl_code deaf_one(const pawl_job *job, pawl_reply *reply, void *arg)
{
    deaf *d = arg;
    bool heard;

    if (strncmp(job->id, "r~", 2) != 0)
        return pawl_reply_json(reply, "{\"done\":1}");
    if (strstr(job->id, ".one.") == NULL)
        return stopped(job) ? pawl_reply_fail(reply, PAWL_CANCELED, "stopped") : PAWL_EFFECT;
    for (int i = 0; i < d->cancels; i++)
        CHECK_INT(cancel_from_outside("r"), PAWL_PENDING);
    heard = stopped(job);
    for (int64_t until = ms_of(CLOCK_MONOTONIC) + PATIENCE_MS; !d->enough && ms_of(CLOCK_MONOTONIC) < until;)
        short_rest();
    d->back++;
    return heard ? pawl_reply_json(reply, "{\"done\":1}") : PAWL_EFFECT;
}

static bool has_receipt(pawl_engine *e, const char *node, const char *outcome)
{
    char text[96];

    snprintf(text, sizeof text, "[\"receipt\",\"1.%s.1.0\",", node);
    if (!journal_has(e, text))
        return false;
    snprintf(text, sizeof text, ",\"%s\",{\"", outcome);
    return journal_has(e, text);
}

static void verified(pawl_engine *e, pawl_machine *m)
{
    pawl_bytes journal = pawl_store_journal(pawl_engine_store(e), "r", NULL);
    union { const char *in; void *out; } bytes = { journal.data };
    pawl_err err = { PAWL_OK, "" };
    pawl_verdict v;

    if (pawl_verify(m, journal, NULL, &v, &err) != PAWL_OK)
        CHECK_FAIL("verify: entry %llu: %s", (unsigned long long)v.seq, err.text);
    free(bytes.out);
    pawl_machine_free(m);
}

/* The run goes on to its end, others are performed, and what comes late is dropped. */
static void given_up(pawl_class cls, unsigned threads, int cancels, int64_t grace_ms, const char *outcome)
{
    const pawl_limits limits = { .cls = cls };
    pawl_err err = { PAWL_OK, "" };
    deaf d = { .cancels = cancels };
    pawl_engine *e;

    path_new("stop");
    e = engine_of(nodes(three, 3, &limits), open_store(), threads, deaf_one, &d, cls);
    pawl_engine_grace(e, threads > 1 ? INT64_MAX : grace_ms);       /* on one thread the others never begin */
    d.e = e;
    d.grace_ms = grace_ms;
    pawl_engine_watch(e, others_are_back, &d);
    CHECK_INT(pawl_run(e, "r", NULL, &err), PAWL_HALTED);
    pawl_engine_watch(e, NULL, NULL);
    CHECK_INT(d.back, 0);
    CHECK_INT(pawl_state_status(pawl_run_state(e, "r", NULL)), PAWL_STATUS_CANCELED);
    CHECK(has_receipt(e, "one", outcome) && has_receipt(e, "two", cancels > 1 ? outcome : "canceled"));
    CHECK_INT(pawl_run(e, "other", NULL, &err), PAWL_HALTED);       /* though all threads may be held by the deaf */
    CHECK_STR(pawl_run_get(e, "other", "done"), "3");
    CHECK_INT(d.back, 0);
    d.enough = true;
    for (int i = 0; (d.back == 0 || pawl_engine_late(e) == 0) && i < 1000; i++) {
        char id[24];

        short_rest();
        snprintf(id, sizeof id, "more-%d", i);
        CHECK_INT(pawl_run(e, id, NULL, &err), PAWL_HALTED);
    }
    CHECK(pawl_engine_late(e) >= 1);
    CHECK_INT(d.back, 1);
    CHECK_INT(pawl_state_status(pawl_run_state(e, "r", NULL)), PAWL_STATUS_CANCELED);
    verified(e, nodes(three, 3, &limits));
    pawl_engine_free(e);
    path_gone();
}

PAWL_TEST(test_E10_what_does_not_stop_within_its_grace_ends_without_a_reply)
{
    given_up(PAWL_CLASS_AT_LEAST_ONCE, 3, 1, 60, "unknown");
    given_up(PAWL_CLASS_ONCE, 3, 1, 60, "unknown");
    given_up(PAWL_CLASS_COMPENSABLE, 3, 1, 60, "unknown");
    given_up(PAWL_CLASS_IDEMPOTENT, 1, 1, 60, "unknown");
    given_up(PAWL_CLASS_PURE, 2, 1, 60, "canceled");
}

PAWL_TEST(test_E10_who_cancels_again_waits_for_nobody_and_every_receipt_is_journaled)
{
    given_up(PAWL_CLASS_AT_LEAST_ONCE, 3, 2, INT64_MAX, "unknown");
}

/* The first attempt of "one" hears nothing until it is let; whatever comes after it is quick, but on a slow machine it may be over its
 * limit, too: then it is tried again, if that is allowed. */
static pawl_code deaf_at_first(const pawl_job *job, pawl_reply *reply, void *arg)
{
    deaf *d = arg;

    if (strstr(job->id, ".one.") == NULL || job->attempt > 1 || strncmp(job->id, "r~", 2) != 0)
        return pawl_reply_json(reply, "{\"done\":1}");
    for (int64_t until = ms_of(CLOCK_MONOTONIC) + PATIENCE_MS; !d->enough && ms_of(CLOCK_MONOTONIC) < until;)
        short_rest();
    d->back++;
    return pawl_reply_json(reply, "{\"done\":100}");
}

/* Over its limit it is told to stop; who does not hear that has timed out all the same. */
PAWL_TEST(test_E8_E12_what_does_not_stop_at_its_limit_is_not_waited_for_either)
{
    static const struct { pawl_class cls; uint32_t attempts; const char *done, *outcome; } all[] = {
        { PAWL_CLASS_AT_LEAST_ONCE, 1000, "2", NULL }, { PAWL_CLASS_AT_LEAST_ONCE, 1, "", "timeout" }, { PAWL_CLASS_ONCE, 2, "", "unknown" },
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const pawl_limits limits = { .cls = all[i].cls, .attempt_timeout_ms = 40, .retry = { .max_attempts = all[i].attempts, .initial_ms = 1 } };
        deaf d = { .cancels = 0 };
        pawl_engine *e = engine_of(nodes(three, 2, &limits), pawl_store_memory(NULL), 2, deaf_at_first, &d, all[i].cls);
        pawl_code rc;

        pawl_engine_grace(e, 60);
        rc = pawl_run(e, "r", NULL, NULL);
        CHECK(rc == PAWL_HALTED || (all[i].cls == PAWL_CLASS_ONCE && rc == PAWL_INTERRUPTED));       /* then somebody is asked what came of it */
        CHECK_INT(d.back, 0);
        CHECK_STR(pawl_run_get(e, "r", "done"), all[i].done);
        if (all[i].outcome != NULL)
            CHECK(journal_has(e, all[i].outcome) && journal_has(e, "job: it took longer than its attempt_timeout_ms allows, and did not stop"));
        d.enough = true;
        pawl_engine_free(e);
        CHECK_INT(d.back, 1);
    }
}

/* ---- S2: the run is somebody else's -------------------------------------------------------------------- */

typedef struct theft {
    atomic_int calls, heard, back;
    uint64_t fence;             /* of the thief */
    int out;                    /* that many are out then */
} theft;

/* The first one has the lease taken away; the first go on until they are told to stop, those that come later are quick. */
static pawl_code robbed(const pawl_job *job, pawl_reply *reply, void *arg)
{
    theft *t = arg;
    pawl_err err = { PAWL_OK, "" };
    pawl_head head;

    if (t->calls++ >= t->out)
        return pawl_reply_json(reply, "{\"done\":1}");
    if (strstr(job->id, ".one.") != NULL) {
        pawl_store *s = open_store();

        while (t->calls < t->out)
            short_rest();
        CHECK_INT(release_one(s, "r", job->fence, &err), PAWL_OK);
        CHECK_INT(claim_one(s, "r", "thief", 60000, &head, &err), PAWL_OK);
        t->fence = head.fence;
        pawl_store_free(s);
    }
    t->heard += stopped(job);
    t->back++;
    return pawl_reply_fail(reply, PAWL_CANCELED, "stopped");
}

/* The loss is noticed where the next attempt is counted, at the next claim, or as nothing is left to do here. */
static bool gone_to_the_thief(pawl_code rc)
{
    return rc == PAWL_HELD || rc == PAWL_FENCED || rc == PAWL_PENDING;
}

static void thief_lets_go(const theft *t)
{
    pawl_store *s = open_store();

    CHECK_INT(release_one(s, "r", t->fence, NULL), PAWL_OK);
    pawl_store_free(s);
}

PAWL_TEST(test_S2_who_lost_a_run_stops_what_is_out_and_it_is_performed_by_who_has_it)
{
    for (int i = 0; i < 4; i++) {
        pawl_err err = { PAWL_OK, "" };
        theft t = { .out = 1 + i / 2 };
        pawl_engine *e;

        path_new("stop");
        e = engine_of(nodes(three, (size_t)t.out, NULL), open_store(), 2, robbed, &t, PAWL_CLASS_AT_LEAST_ONCE);
        pawl_engine_lease(e, NULL, 600);
        if (i % 2 == 1) {
            CHECK_INT(pawl_begin(e, "r", NULL, &err), PAWL_OK);
            CHECK_INT(pawl_work(e, 0, &err), PAWL_OK);
        } else {
            CHECK(gone_to_the_thief(pawl_run(e, "r", NULL, &err)));
        }
        while (t.back < t.out)
            short_rest();
        CHECK_INT(t.heard, t.out);
        thief_lets_go(&t);
        CHECK_INT(pawl_run(e, "r", NULL, &err), PAWL_HALTED);
        CHECK_INT(pawl_state_status(pawl_run_state(e, "r", NULL)), PAWL_STATUS_COMPLETED);
        CHECK_INT(t.calls, 2 * t.out);
        CHECK(!journal_has(e, "canceled"));     /* nobody called it off */
        pawl_engine_free(e);
        path_new("stop");
    }
}

/* What was begun may have happened: it is not begun again, and not called off either. */
PAWL_TEST(test_S2_E5_what_is_once_and_was_stopped_so_is_unknown)
{
    const pawl_limits once = { .cls = PAWL_CLASS_ONCE };
    pawl_err err = { PAWL_OK, "" };
    theft t = { .out = 2 };
    pawl_engine *e;

    path_new("stop");
    e = engine_of(nodes(three, 2, &once), open_store(), 2, robbed, &t, PAWL_CLASS_ONCE);
    pawl_engine_lease(e, NULL, 600);
    CHECK(gone_to_the_thief(pawl_run(e, "r", NULL, &err)));
    while (t.back < 2)
        short_rest();
    CHECK_INT(t.heard, 2);
    thief_lets_go(&t);
    CHECK_INT(pawl_run(e, "r", NULL, &err), PAWL_INTERRUPTED);
    CHECK_INT(pawl_state_status(pawl_run_state(e, "r", NULL)), PAWL_STATUS_INPUT_REQUIRED);
    CHECK_INT(t.calls, 2);
    CHECK(journal_has(e, "\"unknown\"") && !journal_has(e, "canceled"));
    pawl_engine_free(e);
    path_gone();
}
