/* jobs_test.c - the queue of jobs between an engine and a server: leases, fences, replies, and the ends without a reply (E17, E10). */
#include "app/jobs.h"
#include "lib/engine_fixture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

/* ---- an engine that drives on a thread of its own ------------------------------------------------------------ */

typedef struct yard {
    town t;
    jobs *queue;
    pawl_class cls;
    pthread_t thread;
    pawl_code rc;
    atomic_int woken;
} yard;

static pawl_code put(const pawl_job *job, pawl_reply *reply, void *arg)
{
    yard *y = arg;

    return jobs_put(y->queue, "llm", y->cls, job, reply);
}

static void woken(void *ctx) { atomic_fetch_add(&((yard *)ctx)->woken, 1); }

static int64_t now_ms(void *ctx)
{
    struct timespec now;

    (void)ctx;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void sleep_until(void *ctx, int64_t time_ms)
{
    const int64_t ms = time_ms - now_ms(ctx);

    if (ms > 0)
        nanosleep(&(struct timespec){ ms / 1000, (long)(ms % 1000) * 1000000L }, NULL);
}

static void *drive(void *ctx)
{
    yard *y = ctx;

    y->rc = town_run(&y->t, "essay-1", "{\"request\":\"sky\"}");
    return NULL;
}

static void yard_begin(yard *y, const pawl_limits *limits)
{
    *y = (yard){ .queue = jobs_new(), .cls = limits->cls };
    CHECK(y->queue != NULL);
    jobs_hear(y->queue, woken, y);
    town_begin(&y->t, town_essay(limits), NULL);
    pawl_engine_clock(y->t.e, &(pawl_clock){ now_ms, sleep_until, NULL });
    CHECK_INT(pawl_engine_effect(y->t.e, "llm", put, y, limits->cls, &y->t.err), PAWL_OK);
    CHECK_INT(pthread_create(&y->thread, NULL, drive, y), 0);
}

static pawl_code yard_await(yard *y)
{
    pthread_join(y->thread, NULL);
    return y->rc;
}

static void yard_end(yard *y)
{
    jobs_hear(y->queue, NULL, NULL);
    town_end(&y->t);
    jobs_free(y->queue);
}

static void nap(void) { nanosleep(&(struct timespec){ 0, 1000000L }, NULL); }

/* A lease of the job that comes; its id and its token. */
typedef struct hold { char id[JOB_ID_BYTES], token[JOB_TOKEN_BYTES]; unsigned attempt; } hold;

static void text_of(const buf *b, const char *key, char *out, size_t size)
{
    char want[40];
    const char *at;

    snprintf(want, sizeof want, "\"%s\":\"", key);
    at = strstr(b->data, want);
    CHECK(at != NULL);
    if (at != NULL)
        snprintf(out, size, "%.*s", (int)strcspn(at + strlen(want), "\""), at + strlen(want));
}

static void yard_lease(yard *y, int64_t lease_ms, hold *h)
{
    const jobs_filter f = { { "other", "llm" }, 2, 0 }, none = { { "other" }, 1, 0 }, classes = { { "llm" }, 1, 1u << PAWL_CLASS_COMPENSABLE };
    char run[JOB_RUN_BYTES];
    uint64_t serial = 0, first = 0;
    const char *at;
    buf b;

    while (!jobs_next(y->queue, &f, &serial, run)) {
        jobs_look(y->queue);
        nap();
    }
    CHECK_STR(run, "essay-1");
    CHECK(!jobs_next(y->queue, &none, &first, run));
    CHECK(!jobs_next(y->queue, &classes, &first, run));
    buf_init(&b, NULL);
    CHECK(jobs_lease(y->queue, serial, "token:ci", lease_ms, &b));
    CHECK(!jobs_lease(y->queue, serial, "token:ci", lease_ms, &b));
    buf_char(&b, '\0');
    text_of(&b, "id", h->id, sizeof h->id);
    text_of(&b, "token", h->token, sizeof h->token);
    at = strstr(b.data, "\"attempt\":");
    h->attempt = at != NULL ? (unsigned)(at[10] - '0') : 0;
    CHECK(strstr(b.data, "\"node\":\"draft\"") != NULL);
    buf_free(&b);
}

static pawl_code answer(yard *y, const hold *h, const char *by, const pawl_result *r, const char *key)
{
    const job_claim c = { h->id, h->token, by };
    pawl_err err = { 0 };
    hash body;

    hash_of(r->value != NULL ? r->value : "fail", r->value != NULL ? strlen(r->value) : 4, &body);
    return jobs_reply(y->queue, &c, r, key, &body, &err);
}

static pawl_code beat(yard *y, const hold *h, bool *canceled)
{
    const job_claim c = { h->id, h->token, "token:ci" };
    int64_t lease_ms;
    pawl_err err = { 0 };

    return jobs_beat(y->queue, &c, &lease_ms, canceled, &err);
}

static const pawl_result good = { .value = "\"a draft\"" };

/* ---- tests ------------------------------------------------------------------------------------------------------ */

PAWL_TEST(test_E17_a_reply_counts_once_and_only_of_whoever_has_the_lease)
{
    bool canceled = true;
    hold h, wrong;
    yard y;

    yard_begin(&y, &(pawl_limits){ 0 });
    yard_lease(&y, 60000, &h);
    CHECK(atomic_load(&y.woken) > 0);
    wrong = h;
    wrong.token[0] = wrong.token[0] == '0' ? '1' : '0';
    CHECK_INT(jobs_out(y.queue, NULL), 1);
    CHECK_INT(jobs_out(y.queue, "token:other"), 0);
    CHECK_INT(beat(&y, &h, &canceled), PAWL_OK);
    CHECK(!canceled);
    CHECK_INT(beat(&y, &wrong, &canceled), PAWL_FENCED);
    CHECK_INT(answer(&y, &wrong, "token:ci", &good, NULL), PAWL_FENCED);
    CHECK_INT(answer(&y, &h, "token:other", &good, NULL), PAWL_FENCED);
    CHECK_INT(answer(&y, &h, "token:ci", &good, "k"), PAWL_OK);
    CHECK_INT(answer(&y, &h, "token:ci", &good, "k"), PAWL_OK);
    CHECK_INT(answer(&y, &h, "token:ci", &(pawl_result){ .value = "1" }, "k"), PAWL_CONFLICT);
    CHECK_INT(answer(&y, &h, "token:other", &good, "k"), PAWL_FENCED);
    CHECK_INT(answer(&y, &h, "token:ci", &good, NULL), PAWL_FENCED);
    CHECK_INT(yard_await(&y), PAWL_INTERRUPTED);
    CHECK_STR(pawl_run_get(y.t.e, "essay-1", "draft"), "a draft");
    CHECK_INT(jobs_out(y.queue, NULL), 0);
    yard_end(&y);
}

PAWL_TEST(test_E17_a_lease_that_has_ended_counts_no_more)
{
    const pawl_limits twice = { .retry = { .max_attempts = 2 } };
    bool canceled;
    hold h, next;
    yard y;

    yard_begin(&y, &twice);
    yard_lease(&y, 0, &h);
    CHECK_INT(answer(&y, &h, "token:ci", &good, NULL), PAWL_FENCED);       /* before anybody has looked */
    CHECK_INT(beat(&y, &h, &canceled), PAWL_FENCED);
    jobs_look(y.queue);
    yard_lease(&y, 60000, &next);
    CHECK_INT(h.attempt, 1);
    CHECK_INT(next.attempt, 2);
    CHECK(strcmp(h.id, next.id) != 0);
    CHECK_INT(answer(&y, &h, "token:ci", &good, NULL), PAWL_FENCED);
    CHECK_INT(answer(&y, &next, "token:ci", &good, NULL), PAWL_OK);
    CHECK_INT(yard_await(&y), PAWL_INTERRUPTED);
    yard_end(&y);
}

PAWL_TEST(test_E5_a_lost_job_of_class_once_has_an_unknown_outcome)
{
    hold h;
    yard y;

    yard_begin(&y, &(pawl_limits){ .cls = PAWL_CLASS_ONCE, .retry = { .max_attempts = 3 } });
    yard_lease(&y, 0, &h);
    jobs_look(y.queue);
    (void)yard_await(&y);
    CHECK(town_stored(&y.t, "essay-1", "unknown"));
    CHECK(!jobs_any(y.queue));
    yard_end(&y);
}

PAWL_TEST(test_E7_untouched_lets_once_be_tried_again)
{
    hold h;
    yard y;

    yard_begin(&y, &(pawl_limits){ .cls = PAWL_CLASS_ONCE, .retry = { .max_attempts = 2 } });
    yard_lease(&y, 60000, &h);
    CHECK_INT(answer(&y, &h, "token:ci", &(pawl_result){ .code = PAWL_TRANSIENT, .text = "full", .detail = "a\nb", .untouched = true }, NULL), PAWL_OK);
    yard_lease(&y, 60000, &h);
    CHECK_INT(h.attempt, 2);
    CHECK_INT(answer(&y, &h, "token:ci", &good, NULL), PAWL_OK);
    CHECK_INT(yard_await(&y), PAWL_INTERRUPTED);
    yard_end(&y);
}

/* The engine is freed while a worker has the job, or nobody has: it is not waited for. */
PAWL_TEST(test_N6_the_end_of_the_server_ends_every_job)
{
    const jobs_filter f = { { "llm" }, 1, 0 };

    for (int leased = 0; leased < 2; leased++) {
        char run[JOB_RUN_BYTES];
        uint64_t serial = 0;
        hold h;
        yard y;

        yard_begin(&y, &(pawl_limits){ .cls = PAWL_CLASS_PURE });
        while (!jobs_any(y.queue))
            nap();
        if (leased)
            yard_lease(&y, 60000, &h);
        pawl_engine_drain(y.t.e);
        jobs_drain(y.queue);
        CHECK(!jobs_next(y.queue, &f, &serial, run));
        CHECK_INT(jobs_out(y.queue, NULL), (size_t)leased);
        jobs_end(y.queue);
        CHECK_INT(yard_await(&y), PAWL_PENDING);
        CHECK(!jobs_any(y.queue));
        yard_end(&y);
    }
}

/* It took longer than its limit: in the queue it ends by itself, what a worker has by its word. */
PAWL_TEST(test_E8_E10_a_job_that_is_called_off)
{
    for (int leased = 0; leased < 2; leased++) {
        bool canceled = false;
        hold h;
        yard y;

        yard_begin(&y, &(pawl_limits){ .attempt_timeout_ms = leased ? 300 : 30 });
        while (!jobs_any(y.queue))
            nap();
        if (leased)
            yard_lease(&y, 60000, &h);
        while (leased && !canceled && beat(&y, &h, &canceled) == PAWL_OK)
            nap();
        CHECK(canceled == (leased != 0));
        if (leased)
            CHECK_INT(answer(&y, &h, "token:ci", &(pawl_result){ .code = PAWL_EFFECT, .text = "stopped" }, NULL), PAWL_OK);
        while (jobs_any(y.queue))
            jobs_look(y.queue);
        CHECK_INT(yard_await(&y), PAWL_HALTED);
        CHECK(town_stored(&y.t, "essay-1", "timeout"));
        yard_end(&y);
    }
}
