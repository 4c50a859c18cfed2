/* engine_reply_test.c - commands that are answered later (E17): from another thread or from stop(), over their limits, canceled, refused; after a
 * drain, a lost lease, a kill; over a store in memory and over SQLite. */
#include "lib/engine_fixture.h"
#include "store/one.h"
#include "store/place.h"
#include "store/store.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

enum { JOBS = 64, ID_BYTES = 128 };

/* ---- a desk: handlers put their jobs there, and somebody answers them -------------------------------- */

typedef struct paper {
    pawl_job job;                       /* a copy: its functions go by ctx */
    pawl_reply *reply;
    char id[ID_BYTES];
    struct desk *at;
    bool there, stopped, finished;
} paper;

typedef struct desk {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    paper papers[JOBS];
    int n, begun;                       /* jobs that are there; handlers that were called */
    bool held;                          /* handlers give a stop function */
    bool obeys;                         /* which finishes the job */
    pawl_code announced;                /* what later() said last */
} desk;

static void desk_init(desk *d, bool held, bool obeys)
{
    *d = (desk){ .held = held, .obeys = obeys };
    pthread_mutex_init(&d->lock, NULL);
    pthread_cond_init(&d->moved, NULL);
}

static void stop_paper(void *ctx, const char *id)
{
    paper *p = ctx;

    CHECK_STR(id, p->id);
    pthread_mutex_lock(&p->at->lock);
    CHECK(!p->stopped && !p->finished);
    p->stopped = true;
    p->finished = p->at->obeys;
    pthread_cond_broadcast(&p->at->moved);
    pthread_mutex_unlock(&p->at->lock);
    if (p->at->obeys)
        p->job.finish(&p->job, pawl_reply_fail(p->reply, PAWL_CANCELED, "stopped"));
}

static pawl_code put_down(const pawl_job *job, pawl_reply *reply, void *arg)
{
    desk *d = arg;
    paper *p;
    pawl_code rc;

    pthread_mutex_lock(&d->lock);
    p = &d->papers[d->begun++ % JOBS];
    *p = (paper){ .reply = reply, .at = d };
    snprintf(p->id, sizeof p->id, "%s", job->id);
    pthread_mutex_unlock(&d->lock);
    rc = job->later(job, d->held ? stop_paper : NULL, p);
    pthread_mutex_lock(&d->lock);
    d->announced = rc;
    p->job = *job;
    p->there = rc == PAWL_OK;
    d->n += p->there;
    pthread_cond_broadcast(&d->moved);
    pthread_mutex_unlock(&d->lock);
    return rc == PAWL_OK ? PAWL_PENDING : rc;
}

/* The i-th job that was put down, when it is there. */
static paper *paper_wait(desk *d, int i)
{
    pthread_mutex_lock(&d->lock);
    while (!d->papers[i].there)
        pthread_cond_wait(&d->moved, &d->lock);
    pthread_mutex_unlock(&d->lock);
    return &d->papers[i];
}

static void stop_wait(paper *p)
{
    pthread_mutex_lock(&p->at->lock);
    while (!p->stopped)
        pthread_cond_wait(&p->at->moved, &p->at->lock);
    pthread_mutex_unlock(&p->at->lock);
}

static pawl_code say(pawl_engine *e, const paper *p, const char *value)
{
    return pawl_engine_reply(e, &(pawl_result){ .id = p->id, .value = value }, NULL);
}

/* ---- engines and runs ---------------------------------------------------------------------------------- */

static pawl_machine *fan(int n, const pawl_limits *limits)
{
    pawl_graph *g = pawl_graph_new("fan", 1);
    char name[16];

    if (limits != NULL)
        pawl_graph_effect(g, "job", limits);
    pawl_graph_channel(g, "done", PAWL_RULE_SUM);
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof name, "n%d", i);
        pawl_graph_work(g, name, "job");
        pawl_graph_chain(g, PAWL_START, name, PAWL_END, NULL);
    }
    return pawl_graph_compile(g, NULL);
}

static pawl_store *open_store(bool sqlite)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_store *s = sqlite ? pawl_store_sqlite(path, &(pawl_sqlite){ .normal = true }, &err) : pawl_store_memory(NULL);

    if (s == NULL)
        CHECK_FAIL("open: %s", err.text);
    return s;
}

static pawl_engine *engine_of(pawl_machine *m, pawl_store *s, desk *d, pawl_class cls)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e = pawl_engine_new(m, s, &err);

    if (e == NULL || pawl_engine_effect(e, "job", put_down, d, cls, &err) != PAWL_OK)
        CHECK_FAIL("engine: %s", err.text);
    return e;
}

typedef struct drive { pawl_engine *e; pthread_t thread; pawl_code rc; pawl_err err; } drive;

static void *drive_on(void *arg)
{
    drive *v = arg;

    v->rc = pawl_run(v->e, "r", NULL, &v->err);
    return NULL;
}

static void drive_begin(drive *v, pawl_engine *e)
{
    *v = (drive){ .e = e };
    CHECK_INT(pthread_create(&v->thread, NULL, drive_on, v), 0);
}

static pawl_code drive_end(drive *v)
{
    pthread_join(v->thread, NULL);
    return v->rc;
}

static const char *reason(pawl_engine *e)
{
    const pawl_value *why = pawl_state_reason(pawl_run_state(e, "r", NULL));

    return why == NULL ? "" : pawl_text(pawl_engine_step(e), why);
}

/* ---- answered ------------------------------------------------------------------------------------------- */

static void answered(bool sqlite, unsigned threads, bool held)
{
    desk d;
    drive v;
    pawl_engine *e;

    desk_init(&d, held, false);
    path_new("reply");
    e = engine_of(fan(3, NULL), open_store(sqlite), &d, PAWL_CLASS_AT_LEAST_ONCE);
    pawl_engine_threads(e, threads);
    drive_begin(&v, e);
    for (int i = 2; i >= 0; i--) {      /* all are out before the first is answered */
        paper *p = paper_wait(&d, i);

        if (held) {
            CHECK(!p->job.canceled(&p->job));
            CHECK_STR(p->job.id, p->id);
            p->job.heartbeat(&p->job);
            (void)pawl_reply_json(p->reply, "{\"done\":1}");
            p->job.finish(&p->job, PAWL_OK);
        } else {
            CHECK_INT(say(e, p, "{\"done\":1}"), PAWL_OK);
        }
    }
    CHECK_INT(drive_end(&v), PAWL_HALTED);
    CHECK_STR(pawl_run_get(e, "r", "done"), "3");
    CHECK_INT(d.n, 3);
    pawl_engine_free(e);
    path_gone();
}

PAWL_TEST(test_E17_a_handler_answers_later_from_another_thread_and_holds_none)
{
    for (int i = 0; i < 8; i++)
        answered(i & 1, i & 2 ? 1 : 0, i & 4);
}

static pawl_code finishes_first(const pawl_job *job, pawl_reply *reply, void *arg)
{
    pawl_code rc = job->later(job, NULL, NULL);

    if (rc != PAWL_OK)
        return rc;
    (void)arg;
    (void)pawl_reply_json(reply, "{\"done\":2}");
    job->finish(job, PAWL_OK);
    return PAWL_PENDING;
}

PAWL_TEST(test_E17_an_answer_may_come_before_the_handler_has_returned)
{
    for (unsigned threads = 0; threads < 2; threads++) {
        pawl_engine *e = pawl_engine_new(fan(2, NULL), pawl_store_memory(NULL), NULL);

        CHECK_INT(pawl_engine_effect(e, "job", finishes_first, NULL, PAWL_CLASS_AT_LEAST_ONCE, NULL), PAWL_OK);
        pawl_engine_threads(e, threads);
        CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_HALTED);
        CHECK_STR(pawl_run_get(e, "r", "done"), "4");
        pawl_engine_free(e);
    }
}

static pawl_code changes_its_mind(const pawl_job *job, pawl_reply *reply, void *arg)
{
    pawl_code rc = job->later(job, NULL, NULL);

    (void)arg;
    return rc == PAWL_OK ? pawl_reply_json(reply, "{\"done\":1}") : rc;
}

static pawl_code says_nothing(const pawl_job *job, pawl_reply *reply, void *arg)
{
    (void)job;
    (void)reply;
    (void)arg;
    return PAWL_PENDING;
}

static pawl_code says_it_twice(const pawl_job *job, pawl_reply *reply, void *arg)
{
    (void)reply;
    (void)arg;
    CHECK_INT(job->later(job, NULL, NULL), PAWL_OK);
    return job->later(job, NULL, NULL);
}

static void reason_of(pawl_handler_fn *fn, pawl_code next, const char *text)
{
    pawl_engine *e = pawl_engine_new(fan(1, NULL), pawl_store_memory(NULL), NULL);

    CHECK_INT(pawl_engine_effect(e, "job", fn, NULL, PAWL_CLASS_AT_LEAST_ONCE, NULL), PAWL_OK);
    CHECK_INT(pawl_run(e, "r", NULL, NULL), next);
    CHECK(strstr(reason(e), text) != NULL);
    pawl_engine_free(e);
}

PAWL_TEST(test_E17_what_was_not_announced_or_was_twice_is_an_error_of_the_handler)
{
    reason_of(changes_its_mind, PAWL_HALTED, "");
    reason_of(says_nothing, PAWL_HALTED, "announced no later answer");
    reason_of(says_it_twice, PAWL_HALTED, "announced a later answer twice");
}

/* ---- refused (E6) ---------------------------------------------------------------------------------------- */

PAWL_TEST(test_E17_E6_a_reply_to_what_does_not_wait_is_refused_and_counted)
{
    desk d;
    drive v;
    paper *p;
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e;

    desk_init(&d, false, false);
    e = engine_of(fan(2, NULL), pawl_store_memory(NULL), &d, PAWL_CLASS_AT_LEAST_ONCE);
    CHECK_INT(pawl_engine_reply(e, &(pawl_result){ .id = "r~1/n0" }, &err), PAWL_GONE);
    CHECK(strstr(err.text, "r~1/n0: no attempt of it waits") != NULL);
    drive_begin(&v, e);
    (void)paper_wait(&d, 1);
    p = paper_wait(&d, 0);
    CHECK_INT(pawl_engine_reply(e, &(pawl_result){ .id = p->id, .attempt = 2 }, NULL), PAWL_CONFLICT);
    CHECK_INT(pawl_engine_reply(e, &(pawl_result){ .id = p->id, .fence = p->job.fence + 1 }, NULL), PAWL_CONFLICT);
    CHECK_INT(pawl_engine_reply(e, &(pawl_result){ .id = p->id, .code = PAWL_PENDING }, NULL), PAWL_INVALID);
    CHECK_INT(pawl_engine_reply(e, &(pawl_result){ .id = p->id, .value = "{" }, NULL), PAWL_INVALID);
    CHECK_INT(pawl_engine_reply(e, &(pawl_result){ .value = "1" }, NULL), PAWL_INVALID);
    CHECK_INT(pawl_engine_reply(e, &(pawl_result){ .id = p->id, .attempt = 1, .fence = p->job.fence, .value = "{\"done\":1}" }, NULL), PAWL_OK);
    CHECK_INT(say(e, p, "{\"done\":1}"), PAWL_GONE);            /* one reply is taken, whatever the second says */
    CHECK_INT(say(e, paper_wait(&d, 1), NULL), PAWL_OK);
    CHECK_INT(drive_end(&v), PAWL_HALTED);
    CHECK_STR(pawl_run_get(e, "r", "done"), "1");
    CHECK_INT(say(e, p, "{\"done\":1}"), PAWL_GONE);
    CHECK_INT(pawl_engine_late(e), 5);
    pawl_engine_free(e);
}

PAWL_TEST(test_E17_E7_a_failure_is_tried_again_as_any_other_and_its_cost_counts)
{
    const pawl_limits limits = { .retry = { .max_attempts = 3, .initial_ms = 1 } };
    desk d;
    drive v;
    pawl_engine *e;

    desk_init(&d, false, false);
    e = engine_of(fan(1, &limits), pawl_store_memory(NULL), &d, PAWL_CLASS_AT_LEAST_ONCE);
    drive_begin(&v, e);
    for (int i = 0; i < 3; i++) {
        const paper *p = paper_wait(&d, i);

        CHECK_INT(p->job.attempt, (uint32_t)i + 1);
        CHECK_INT(pawl_engine_reply(e, &(pawl_result){ .id = p->id, .attempt = (uint32_t)i + 1, .code = PAWL_TRANSIENT, .text = "busy", .detail = "a\nb",
                                                       .costs = true, .tokens = 5 }, NULL), PAWL_OK);
    }
    CHECK_INT(drive_end(&v), PAWL_HALTED);
    CHECK(strstr(reason(e), "busy") != NULL);
    pawl_engine_free(e);
}

/* ---- told to stop (E8, E10) ----------------------------------------------------------------------------- */

static void limited(const pawl_limits *limits, bool held, bool obeys, const char *name)
{
    desk d;
    drive v;
    pawl_engine *e;
    paper *p;

    desk_init(&d, held, obeys);
    e = engine_of(fan(1, limits), pawl_store_memory(NULL), &d, PAWL_CLASS_AT_LEAST_ONCE);
    pawl_engine_grace(e, 30);
    drive_begin(&v, e);
    p = paper_wait(&d, 0);
    if (held)
        stop_wait(p);
    CHECK_INT(drive_end(&v), PAWL_HALTED);
    CHECK(strstr(reason(e), name) != NULL);
    if (!obeys)
        CHECK_INT(say(e, p, "{\"done\":1}"), PAWL_GONE);
    if (held && !obeys) {               /* its job is valid until it is finished */
        CHECK(p->job.canceled(&p->job));
        CHECK_STR(p->job.id, p->id);
        (void)pawl_reply_json(p->reply, "{\"done\":1}");
        p->job.finish(&p->job, PAWL_OK);
    }
    CHECK_STR(pawl_run_get(e, "r", "done"), "");
    pawl_engine_free(e);
}

PAWL_TEST(test_E17_E8_limits_hold_for_what_is_answered_later)
{
    for (int i = 0; i < 3; i++) {
        limited(&(pawl_limits){ .attempt_timeout_ms = 30 }, i > 0, i > 1, "attempt_timeout_ms");
        limited(&(pawl_limits){ .total_timeout_ms = 30 }, i > 0, i > 1, "total_timeout_ms");
        limited(&(pawl_limits){ .heartbeat_ms = 30 }, i > 0, i > 1, "heartbeat_ms");
    }
}

/* The first attempt is given up, and still held while the second is out under the same id. */
PAWL_TEST(test_E17_E7_a_late_answer_does_not_end_the_attempt_after_it)
{
    const pawl_limits limits = { .attempt_timeout_ms = 300, .retry = { .max_attempts = 2, .initial_ms = 1 } };
    desk d;
    drive v;
    pawl_code rc;
    paper *first, *second;
    pawl_engine *e;

    desk_init(&d, true, false);
    e = engine_of(fan(1, &limits), pawl_store_memory(NULL), &d, PAWL_CLASS_AT_LEAST_ONCE);
    pawl_engine_grace(e, 0);
    drive_begin(&v, e);
    first = paper_wait(&d, 0);
    second = paper_wait(&d, 1);
    CHECK_STR(first->id, second->id);
    CHECK_INT(pawl_engine_reply(e, &(pawl_result){ .id = first->id, .attempt = 1, .value = "{\"done\":10}" }, NULL), PAWL_CONFLICT);
    (void)pawl_reply_json(first->reply, "{\"done\":10}");
    first->job.finish(&first->job, PAWL_OK);
    rc = pawl_engine_reply(e, &(pawl_result){ .id = second->id, .attempt = 2, .value = "{\"done\":1}" }, NULL);
    stop_wait(first);
    CHECK_INT(drive_end(&v), PAWL_HALTED);
    CHECK_STR(pawl_run_get(e, "r", "done"), rc == PAWL_OK ? "1" : "");
    if (rc != PAWL_OK)                  /* a slow machine: the second was over its limit, too */
        second->job.finish(&second->job, PAWL_CANCELED);
    pawl_engine_free(e);
}

static void canceled(bool held, bool obeys, pawl_class cls, const char *status)
{
    const pawl_limits limits = { .cls = cls };
    desk d;
    drive v;
    pawl_engine *e, *other;
    paper *p;

    desk_init(&d, held, obeys);
    path_new("reply");
    e = engine_of(fan(1, &limits), open_store(true), &d, cls);
    pawl_engine_grace(e, 0);
    drive_begin(&v, e);
    p = paper_wait(&d, 0);
    other = engine_of(fan(1, &limits), open_store(true), &d, cls);
    CHECK_INT(pawl_event_send(other, "r", &(pawl_event){ .kind = PAWL_EV_CANCEL, .by = "ada" }, NULL), PAWL_PENDING);
    pawl_engine_free(other);
    if (held)
        stop_wait(p);
    CHECK_INT(drive_end(&v), strcmp(status, "canceled") == 0 ? PAWL_HALTED : PAWL_INTERRUPTED);
    if (strcmp(status, "canceled") == 0)
        CHECK_STR(pawl_status_name(pawl_state_status(pawl_run_state(e, "r", NULL))), status);
    if (held && !obeys)
        p->job.finish(&p->job, PAWL_OK);
    else
        CHECK_INT(say(e, p, NULL), PAWL_GONE);
    pawl_engine_free(e);
    path_gone();
}

PAWL_TEST(test_E17_E10_a_cancel_reaches_what_is_answered_later)
{
    canceled(true, true, PAWL_CLASS_AT_LEAST_ONCE, "canceled");
    canceled(true, false, PAWL_CLASS_PURE, "canceled");
    canceled(false, false, PAWL_CLASS_PURE, "canceled");
}

/* ---- leases (S2, E15) ------------------------------------------------------------------------------------- */

/* As its start was stored here, it goes on there. */
static bool is_anothers(pawl_code rc)
{
    return rc == PAWL_HELD || rc == PAWL_PENDING;
}

static void lost(bool held)
{
    desk d;
    drive v;
    pawl_engine *e;
    pawl_store *s;
    pawl_head head;
    paper *p;
    pawl_code rc;

    desk_init(&d, held, false);
    path_new("reply");
    e = engine_of(fan(1, NULL), open_store(true), &d, PAWL_CLASS_AT_LEAST_ONCE);
    pawl_engine_lease(e, NULL, 100);
    drive_begin(&v, e);
    p = paper_wait(&d, 0);
    s = open_store(true);
    CHECK_INT(release_one(s, "r", p->job.fence, NULL), PAWL_OK);
    CHECK_INT(claim_one(s, "r", "somebody", 60000, &head, NULL), PAWL_OK);
    if (held)
        stop_wait(p);
    else
        CHECK(is_anothers(drive_end(&v)));
    rc = say(e, p, "{\"done\":1}");
    CHECK(rc == (held ? PAWL_FENCED : PAWL_GONE));
    if (held)
        CHECK(is_anothers(drive_end(&v)));
    CHECK_INT(say(e, p, "{\"done\":1}"), PAWL_GONE);
    CHECK_INT(release_one(s, "r", head.fence, NULL), PAWL_OK);
    pawl_store_free(s);
    drive_begin(&v, e);                 /* it is this engine's again, and the command is performed again */
    p = paper_wait(&d, 1);
    CHECK_INT(pawl_engine_reply(e, &(pawl_result){ .id = p->id, .fence = d.papers[0].job.fence, .value = "{\"done\":1}" }, NULL), PAWL_CONFLICT);
    CHECK_INT(say(e, p, "{\"done\":2}"), PAWL_OK);
    CHECK_INT(drive_end(&v), PAWL_HALTED);
    CHECK_STR(pawl_run_get(e, "r", "done"), "2");
    pawl_engine_free(e);
    path_gone();
}

PAWL_TEST(test_E17_S2_a_reply_after_the_lease_was_lost_is_refused)
{
    lost(true);
    lost(false);
}

/* ---- the end of an engine --------------------------------------------------------------------------------- */

PAWL_TEST(test_E17_a_drain_waits_for_what_is_answered_later)
{
    desk d;
    drive v;
    pawl_engine *e;
    paper *p;

    desk_init(&d, true, false);
    path_new("reply");
    e = engine_of(fan(2, NULL), open_store(true), &d, PAWL_CLASS_AT_LEAST_ONCE);
    drive_begin(&v, e);
    (void)paper_wait(&d, 0);
    p = paper_wait(&d, 1);
    pawl_engine_drain(e);
    CHECK_INT(say(e, p, "{\"done\":1}"), PAWL_OK);
    CHECK(!d.papers[0].stopped);
    CHECK_INT(say(e, &d.papers[0], "{\"done\":1}"), PAWL_OK);
    CHECK(drive_end(&v) >= 0);
    pawl_engine_free(e);
    e = engine_of(fan(2, NULL), open_store(true), &d, PAWL_CLASS_AT_LEAST_ONCE);
    CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_HALTED);
    CHECK_STR(pawl_run_get(e, "r", "done"), "2");
    CHECK_INT(d.n, 2);                  /* nothing was begun again */
    pawl_engine_free(e);
    path_gone();
}

static void *free_it(void *arg)
{
    pawl_engine_free(arg);
    return NULL;
}

/* Stopped with commands pending: pawl_engine_free waits for the jobs that are held, and for no other. The next engine performs them again. */
static void abandoned(bool held)
{
    desk d;
    drive v;
    pawl_engine *e;
    pthread_t freeing;

    desk_init(&d, held, false);
    path_new("reply");
    e = engine_of(fan(2, NULL), open_store(true), &d, PAWL_CLASS_AT_LEAST_ONCE);
    drive_begin(&v, e);
    (void)paper_wait(&d, 0);
    (void)paper_wait(&d, 1);
    pawl_engine_abandon(e);
    CHECK(drive_end(&v) >= 0);
    CHECK_INT(pthread_create(&freeing, NULL, free_it, e), 0);
    for (int i = 0; held && i < 2; i++) {
        stop_wait(&d.papers[i]);
        CHECK(d.papers[i].job.canceled(&d.papers[i].job));
        d.papers[i].job.finish(&d.papers[i].job, pawl_reply_fail(d.papers[i].reply, PAWL_CANCELED, "stopped"));
    }
    pthread_join(freeing, NULL);
    e = engine_of(fan(2, NULL), open_store(true), &d, PAWL_CLASS_AT_LEAST_ONCE);
    drive_begin(&v, e);
    CHECK_INT(say(e, paper_wait(&d, 3), "{\"done\":1}"), PAWL_OK);
    CHECK_INT(say(e, paper_wait(&d, 2), "{\"done\":1}"), PAWL_OK);
    CHECK_INT(drive_end(&v), PAWL_HALTED);
    CHECK_STR(pawl_run_get(e, "r", "done"), "2");
    pawl_engine_free(e);
    path_gone();
}

PAWL_TEST(test_E17_an_engine_is_freed_with_commands_pending)
{
    abandoned(true);
    abandoned(false);
}

/* The process dies with a command pending: what is idempotent is performed again under the same id, what is once is unknown (E4, E5). */
static void killed(pawl_class cls)
{
    const pawl_limits limits = { .cls = cls };
    char id[ID_BYTES] = "";
    int ends[2], status;
    desk d;
    pid_t child;
    drive v;
    pawl_engine *e;

    path_new("reply");
    CHECK_INT(pipe(ends), 0);
    if ((child = fork()) == 0) {
        desk_init(&d, true, false);
        drive_begin(&v, engine_of(fan(1, &limits), open_store(true), &d, cls));
        if (write(ends[1], paper_wait(&d, 0)->id, ID_BYTES) == ID_BYTES)
            (void)drive_end(&v);
        _exit(1);
    }
    CHECK_INT(read(ends[0], id, sizeof id), ID_BYTES);
    close(ends[0]);
    close(ends[1]);
    kill(child, SIGKILL);
    CHECK_INT(waitpid(child, &status, 0), child);
    desk_init(&d, true, false);
    e = engine_of(fan(1, &limits), open_store(true), &d, cls);
    if (cls == PAWL_CLASS_ONCE) {
        CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_INTERRUPTED);
        CHECK_INT(d.n, 0);
    } else {
        drive_begin(&v, e);
        CHECK_STR(paper_wait(&d, 0)->id, id);
        CHECK_INT(say(e, &d.papers[0], "{\"done\":1}"), PAWL_OK);
        CHECK_INT(drive_end(&v), PAWL_HALTED);
        CHECK_STR(pawl_run_get(e, "r", "done"), "1");
    }
    pawl_engine_free(e);
    path_gone();
}

PAWL_TEST(test_E17_E4_after_a_kill_a_pending_command_is_handled_by_its_class)
{
    killed(PAWL_CLASS_IDEMPOTENT);
    killed(PAWL_CLASS_ONCE);
}

/* ---- budgets, workers, descriptors ---------------------------------------------------------------------------- */

PAWL_TEST(test_E17_a_place_of_a_budget_is_kept_until_the_answer)
{
    desk d;
    drive v;
    pawl_engine *e;

    desk_init(&d, false, false);
    e = engine_of(fan(4, NULL), pawl_store_memory(NULL), &d, PAWL_CLASS_AT_LEAST_ONCE);
    CHECK_INT(pawl_engine_budget(e, "job", &(pawl_budget){ .running = 1 }, NULL), PAWL_OK);
    drive_begin(&v, e);
    for (int i = 0; i < 4; i++) {
        paper *p = paper_wait(&d, i);

        pthread_mutex_lock(&d.lock);
        CHECK_INT(d.n, i + 1);
        pthread_mutex_unlock(&d.lock);
        CHECK_INT(say(e, p, "{\"done\":1}"), PAWL_OK);
    }
    CHECK_INT(drive_end(&v), PAWL_HALTED);
    pawl_engine_free(e);
}

static void *work_on(void *arg)
{
    drive *v = arg;

    v->rc = pawl_work(v->e, 0, &v->err);
    return NULL;
}

PAWL_TEST(test_E17_a_worker_has_the_commands_of_many_runs_pending_without_a_thread)
{
    char run[16];
    desk d;
    drive v;
    pawl_engine *e;

    desk_init(&d, true, false);
    e = engine_of(fan(2, NULL), pawl_store_memory(NULL), &d, PAWL_CLASS_AT_LEAST_ONCE);
    for (int i = 0; i < JOBS / 2; i++) {
        snprintf(run, sizeof run, "r%d", i);
        CHECK(pawl_begin(e, run, NULL, NULL) >= 0);
    }
    v = (drive){ .e = e };
    CHECK_INT(pthread_create(&v.thread, NULL, work_on, &v), 0);
    for (int i = 0; i < JOBS; i++)
        (void)paper_wait(&d, i);        /* all are out at once */
    for (int i = 0; i < JOBS; i++)
        CHECK_INT(say(e, &d.papers[i], "{\"done\":1}"), PAWL_OK);
    CHECK_INT(drive_end(&v), PAWL_OK);
    for (int i = 0; i < JOBS / 2; i++) {
        snprintf(run, sizeof run, "r%d", i);
        CHECK_STR(pawl_run_get(e, run, "done"), "2");
    }
    pawl_engine_free(e);
}

static bool readable(int fd)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };

    return poll(&p, 1, 0) == 1;
}

static pawl_code sees_fd(const pawl_job *job, pawl_reply *reply, void *arg)
{
    (void)job;
    CHECK(!readable(*(int *)arg));      /* whoever drives has heard */
    return pawl_reply_json(reply, "{\"done\":1}");
}

PAWL_TEST(test_E17_a_descriptor_says_that_something_waits_for_the_driver)
{
    pawl_engine *e = pawl_engine_new(fan(1, NULL), pawl_store_memory(NULL), NULL);
    int fd = pawl_engine_fd(e);

    CHECK(fd >= 0);
    CHECK_INT(pawl_engine_fd(e), fd);
    CHECK_INT(pawl_engine_effect(e, "job", sees_fd, &fd, PAWL_CLASS_AT_LEAST_ONCE, NULL), PAWL_OK);
    CHECK(!readable(fd));
    pawl_engine_wake(e);
    CHECK(readable(fd));
    CHECK(readable(fd));
    CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_HALTED);
    CHECK(!readable(fd));
    pawl_engine_free(e);
}
