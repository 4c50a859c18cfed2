/* engine_pool_test.c - several commands are out at once: side by side, over their limits, called off. */
#include "lib/engine_fixture.h"
#include "store/place.h"
#include "store/store.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pawl_store *open_store(void)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_store *s = pawl_store_sqlite(path, NULL, &err);

    if (s == NULL)
        CHECK_FAIL("open: %s", err.text);
    return s;
}

static pawl_machine *pair(const pawl_limits *limits)
{
    pawl_graph *g = pawl_graph_new("pair", 1);

    if (limits != NULL)
        pawl_graph_effect(g, "job", limits);
    pawl_graph_channel(g, "done", PAWL_RULE_SUM);
    for (int i = 0; i < 2; i++) {
        pawl_graph_work(g, i == 0 ? "one" : "two", "job");
        pawl_graph_chain(g, PAWL_START, i == 0 ? "one" : "two", PAWL_END, NULL);
    }
    return pawl_graph_compile(g, NULL);
}

static pawl_engine *engine_of(pawl_machine *m, pawl_store *s, pawl_handler_fn *fn, void *arg, pawl_class cls)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e = pawl_engine_new(m, s, &err);

    if (e == NULL || pawl_engine_effect(e, "job", fn, arg, cls, &err) != PAWL_OK)
        CHECK_FAIL("engine: %s", err.text);
    pawl_engine_threads(e, 2);
    return e;
}

static void short_rest(void)
{
    const struct timespec t = { .tv_nsec = 1000000 };

    nanosleep(&t, NULL);
}

/* ---- side by side ---------------------------------------------------------------------------------- */

typedef struct meeting { pthread_mutex_t lock; pthread_cond_t all; int here; } meeting;

/* Neither goes on before the other is there. */
static pawl_code meet(const pawl_job *job, pawl_reply *reply, void *arg)
{
    meeting *m = arg;

    (void)job;
    pthread_mutex_lock(&m->lock);
    m->here++;
    pthread_cond_broadcast(&m->all);
    while (m->here < 2)
        pthread_cond_wait(&m->all, &m->lock);
    pthread_mutex_unlock(&m->lock);
    return pawl_reply_json(reply, "{\"done\":1}");
}

PAWL_TEST(test_G2_commands_that_are_out_together_are_performed_side_by_side)
{
    meeting m = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0 };
    pawl_engine *e = engine_of(pair(NULL), pawl_store_memory(NULL), meet, &m, PAWL_CLASS_AT_LEAST_ONCE);

    CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_HALTED);
    CHECK_STR(pawl_run_get(e, "r", "done"), "2");
    pawl_engine_free(e);
}

/* ---- E8: over a limit ---------------------------------------------------------------------------------- */

/* Goes on until it is told to stop. */
static pawl_code endless(const pawl_job *job, pawl_reply *reply, void *arg)
{
    while (!job->canceled(job)) {
        if (arg != NULL)
            job->heartbeat(job);
        short_rest();
    }
    return pawl_reply_fail(reply, PAWL_CANCELED, "stopped");
}

static void over(const pawl_limits *limits, bool beats, const char *name)
{
    static int any;
    pawl_engine *e = engine_of(pair(limits), pawl_store_memory(NULL), endless, beats ? &any : NULL, PAWL_CLASS_AT_LEAST_ONCE);
    char text[96];

    CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_HALTED);
    snprintf(text, sizeof text, "it took longer than its %s allows", name);
    CHECK(strstr(pawl_text(pawl_engine_step(e), pawl_state_reason(pawl_run_state(e, "r", NULL))), text) != NULL);
    pawl_engine_free(e);
}

PAWL_TEST(test_E8_a_handler_over_a_limit_is_told_to_stop_and_each_limit_has_its_error)
{
    over(&(pawl_limits){ .attempt_timeout_ms = 30 }, true, "attempt_timeout_ms");
    over(&(pawl_limits){ .total_timeout_ms = 30, .heartbeat_ms = 100000 }, true, "total_timeout_ms");
    over(&(pawl_limits){ .heartbeat_ms = 30 }, false, "heartbeat_ms");
    over(&(pawl_limits){ .attempt_timeout_ms = 600, .heartbeat_ms = 400 }, true, "attempt_timeout_ms");   /* it says that it lives */
}

/* Over its limit twice, then at once. */
static pawl_code third_time(const pawl_job *job, pawl_reply *reply, void *arg)
{
    while (job->attempt < 3 && !job->canceled(job))
        short_rest();
    (void)arg;
    return job->attempt < 3 ? pawl_reply_fail(reply, PAWL_CANCELED, "stopped") : pawl_reply_json(reply, "{\"done\":1}");
}

PAWL_TEST(test_E7_E8_an_attempt_over_its_limit_is_followed_by_the_next)
{
    const pawl_limits limits = { .attempt_timeout_ms = 20, .retry = { .max_attempts = 3, .initial_ms = 1 } };
    pawl_engine *e = engine_of(pair(&limits), pawl_store_memory(NULL), third_time, NULL, PAWL_CLASS_AT_LEAST_ONCE);

    CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_HALTED);
    CHECK_STR(pawl_run_get(e, "r", "done"), "2");
    pawl_engine_free(e);
}

/* ---- K4: a secret, after an attempt that was given up ---------------------------------------------------------- */

static const pawl_channel key_channel[] = { { .name = "key", .secret = "env:PAWL_TEST_POOL_KEY" }, { .name = "said" }, { 0 } };

static pawl_code asks_with_key(pawl_step *s, void *arg)
{
    const pawl_value *said;
    pawl_code rc = pawl_call(s, "job", pawl_pack(s, "{s:v}", "key", pawl_ref(s, "key")), &said);

    (void)arg;
    if (rc != PAWL_OK)
        return rc;
    pawl_set(s, "said", said);
    return pawl_follow(s);
}

typedef struct deaf_first { pthread_mutex_t lock; pthread_cond_t answered; bool second; } deaf_first;

/* The first attempt does not stop before the second one has said what it was given. */
static pawl_code says_the_key(const pawl_job *job, pawl_reply *reply, void *arg)
{
    deaf_first *d = arg;
    char text[96];

    snprintf(text, sizeof text, "{\"you\":\"%s\"}", pawl_value_string(pawl_value_get(job->args, "key")));
    pthread_mutex_lock(&d->lock);
    d->second = d->second || job->attempt > 1;
    pthread_cond_broadcast(&d->answered);
    while (!d->second)
        pthread_cond_wait(&d->answered, &d->lock);
    pthread_mutex_unlock(&d->lock);
    return pawl_reply_json(reply, text);
}

PAWL_TEST(test_K4_a_secret_comes_back_from_no_later_attempt)
{
    const pawl_limits limits = { .attempt_timeout_ms = 20, .retry = { .max_attempts = 3, .initial_ms = 1 } };
    deaf_first d = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false };
    pawl_graph *g = pawl_graph_new("keyed", 1);
    pawl_engine *e;

    CHECK_INT(setenv("PAWL_TEST_POOL_KEY", "tok-4711-abcdef", 1), 0);
    pawl_graph_effect(g, "job", &limits);
    for (size_t i = 0; key_channel[i].name != NULL; i++)
        pawl_graph_channel_with(g, &key_channel[i]);
    pawl_graph_node(g, "one", asks_with_key, NULL);
    pawl_graph_chain(g, PAWL_START, "one", PAWL_END, NULL);
    e = engine_of(pawl_graph_compile(g, NULL), pawl_store_memory(NULL), says_the_key, &d, PAWL_CLASS_AT_LEAST_ONCE);
    pawl_engine_grace(e, 0);
    CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_HALTED);
    CHECK_STR(pawl_run_get(e, "r", "said"), "{\"you\":\"***************\"}");
    pawl_engine_free(e);
    (void)unsetenv("PAWL_TEST_POOL_KEY");
}

/* ---- E10: called off while it is performed ------------------------------------------------------------------ */

/* The first one has somebody else call the run off; both go on until they are told to stop. */
static pawl_code called_off(const pawl_job *job, pawl_reply *reply, void *arg)
{
    if (strstr(job->id, ".one.") != NULL) {
        pawl_err err = { PAWL_OK, "" };
        pawl_engine *other = pawl_engine_new(pair(NULL), open_store(), &err);

        CHECK_INT(pawl_event_send(other, "r", &(pawl_event){ .kind = PAWL_EV_CANCEL, .by = "ada" }, &err), PAWL_PENDING);
        pawl_engine_free(other);
    }
    return endless(job, reply, arg);
}

PAWL_TEST(test_E10_E14_a_cancel_reaches_what_is_in_flight)
{
    pawl_engine *e;
    pawl_err err = { PAWL_OK, "" };
    pawl_bytes journal;
    char *text;

    path_new("pool");
    e = engine_of(pair(NULL), open_store(), called_off, NULL, PAWL_CLASS_AT_LEAST_ONCE);
    if (pawl_run(e, "r", NULL, &err) != PAWL_HALTED)
        CHECK_FAIL("run: %s", err.text);
    CHECK_INT(pawl_state_status(pawl_run_state(e, "r", NULL)), PAWL_STATUS_CANCELED);
    journal = pawl_store_journal(pawl_engine_store(e), "r", &err);
    text = check_copy(journal.data, journal.size);
    CHECK(strstr(text, "[\"cancel\",{\"by\":\"ada\"}]") != NULL);
    CHECK(strstr(strstr(text, "\"canceled\",{\"code\":\"canceled\"") + 1, "\"canceled\",{\"code\":\"canceled\"") != NULL);
    free(text);
    free((char *)journal.data);
    pawl_engine_free(e);
    path_gone();
}
