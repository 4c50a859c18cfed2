/* engine_budget_test.c - how much of an effect is performed at a time: places, keys, rates, and what waits for them. */
#include "lib/engine_fixture.h"
#include "store/place.h"
#include "store/store.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_MS = 20000 };

static pawl_store *open_store(void)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_store *s = pawl_store_sqlite(path, NULL, &err);

    if (s == NULL)
        CHECK_FAIL("open: %s", err.text);
    return s;
}

static int64_t steady(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void short_rest(void)
{
    const struct timespec t = { .tv_nsec = 1000000 };

    nanosleep(&t, NULL);
}

/* ---- machines ------------------------------------------------------------------------------------------- */

/* `arg` "job a": calls that effect for that host. */
static pawl_code calls(pawl_step *s, void *arg)
{
    const char *text = arg;
    char effect[16];
    pawl_code rc;

    snprintf(effect, sizeof effect, "%.*s", (int)strcspn(text, " "), text);
    rc = pawl_call(s, effect, pawl_pack(s, "{s:s}", "host", strchr(text, ' ') + 1), NULL);
    if (rc == PAWL_OK)
        pawl_set(s, "done", pawl_pack(s, "i", (int64_t)1));
    return rc == PAWL_OK ? pawl_follow(s) : rc;
}

/* A node for each word, side by side: "n0", "n1", ... */
static pawl_machine *wide(const char *const *what, size_t n, const pawl_limits *limits)
{
    pawl_graph *g = pawl_graph_new("wide", 1);
    char name[24];

    pawl_graph_channel(g, "done", PAWL_RULE_SUM);
    if (limits != NULL)
        pawl_graph_effect(g, "job", limits);
    for (size_t i = 0; i < n; i++) {
        union { const char *in; void *out; } arg = { what[i] };

        snprintf(name, sizeof name, "n%zu", i);
        pawl_graph_node(g, name, calls, arg.out);
        pawl_graph_chain(g, PAWL_START, name, PAWL_END, NULL);
    }
    return pawl_graph_compile(g, NULL);
}

static pawl_engine *engine_as(pawl_class cls, pawl_machine *m, pawl_store *s, unsigned threads, pawl_handler_fn *fn, void *arg)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e = pawl_engine_new(m, s, &err);

    if (e == NULL || pawl_engine_effect(e, "job", fn, arg, cls, &err) != PAWL_OK)
        CHECK_FAIL("engine: %s", err.text);
    pawl_engine_threads(e, threads);
    return e;
}

static pawl_engine *engine_of(pawl_machine *m, pawl_store *s, unsigned threads, pawl_handler_fn *fn, void *arg)
{
    return engine_as(PAWL_CLASS_AT_LEAST_ONCE, m, s, threads, fn, arg);
}

static void budget(pawl_engine *e, const pawl_budget *b)
{
    pawl_err err = { PAWL_OK, "" };

    if (pawl_engine_budget(e, "job", b, &err) != PAWL_OK)
        CHECK_FAIL("budget: %s", err.text);
}

/* ---- places ------------------------------------------------------------------------------------------------- */

typedef struct seen { pthread_mutex_t lock; int now, most, of[2], most_of[2], both, calls; } seen;

/* Stays a while, and writes down who is there with it. */
static pawl_code stays(const pawl_job *job, pawl_reply *reply, void *arg)
{
    int host = *pawl_value_string(pawl_value_get(job->args, "host")) == 'b';
    seen *m = arg;

    pthread_mutex_lock(&m->lock);
    m->calls++;
    m->now++;
    m->of[host]++;
    m->most = m->now > m->most ? m->now : m->most;
    m->most_of[host] = m->of[host] > m->most_of[host] ? m->of[host] : m->most_of[host];
    m->both += m->of[!host] > 0;
    pthread_mutex_unlock(&m->lock);
    for (int i = 0; i < 3; i++)
        short_rest();
    pthread_mutex_lock(&m->lock);
    m->now--;
    m->of[host]--;
    pthread_mutex_unlock(&m->lock);
    return pawl_reply_int(reply, 1);
}

static const char *const twelve[] = { "job a", "job a", "job a", "job a", "job a", "job a", "job b", "job b", "job b", "job b", "job b", "job b" };

PAWL_TEST(test_X2_no_more_are_out_at_once_than_their_budget_says)
{
    for (uint32_t running = 0; running <= 3; running++) {
        seen m = { .lock = PTHREAD_MUTEX_INITIALIZER };
        pawl_engine *e = engine_of(wide(twelve, 12, NULL), pawl_store_memory(NULL), 6, stays, &m);

        budget(e, &(pawl_budget){ .running = running });
        CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_HALTED);
        CHECK_STR(pawl_run_get(e, "r", "done"), "12");
        CHECK(m.calls == 12 && m.now == 0);
        CHECK(running == 0 ? m.most > 3 : m.most <= (int)running);
        pawl_engine_free(e);
    }
}

/* A place is taken by several runs; each of them gets to its end. */
PAWL_TEST(test_X2_a_budget_is_for_all_runs_of_an_engine)
{
    seen m = { .lock = PTHREAD_MUTEX_INITIALIZER };
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e = engine_of(wide(twelve, 5, NULL), pawl_store_memory(NULL), 4, stays, &m);
    char id[16];

    budget(e, &(pawl_budget){ .running = 2 });
    for (int i = 0; i < 10; i++) {
        snprintf(id, sizeof id, "r%d", i);
        CHECK_INT(pawl_begin(e, id, NULL, &err), PAWL_OK);
    }
    CHECK_INT(pawl_work(e, 0, &err), PAWL_OK);
    for (int i = 0; i < 10; i++) {
        snprintf(id, sizeof id, "r%d", i);
        CHECK_STR(pawl_run_get(e, id, "done"), "5");
    }
    CHECK(m.calls == 50 && m.most <= 2);
    pawl_engine_free(e);
}

PAWL_TEST(test_X2_each_key_has_its_own_places)
{
    seen m = { .lock = PTHREAD_MUTEX_INITIALIZER };
    pawl_engine *e = engine_of(wide(twelve, 12, NULL), pawl_store_memory(NULL), 6, stays, &m);

    budget(e, &(pawl_budget){ .key = "/host", .running_per_key = 1 });
    CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_HALTED);
    CHECK_STR(pawl_run_get(e, "r", "done"), "12");
    CHECK(m.most_of[0] == 1 && m.most_of[1] == 1);
    CHECK(m.both > 0);          /* one host does not wait for the other */
    pawl_engine_free(e);

    m = (seen){ .lock = PTHREAD_MUTEX_INITIALIZER };
    e = engine_of(wide(twelve, 12, NULL), pawl_store_memory(NULL), 6, stays, &m);
    budget(e, &(pawl_budget){ .key = "/none", .running_per_key = 2 });
    CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_HALTED);
    CHECK(m.calls == 12 && m.most <= 2);        /* those without the key are one */
    pawl_engine_free(e);
}

PAWL_TEST(test_X2_a_budget_that_is_none_is_refused_by_name)
{
    static const struct { const char *effect; pawl_budget b; const char *says; } bad[] = {
        { "no name", { .running = 1 }, "\"no name\": a budget needs the name of its effect" },
        { "job", { .running_per_key = 1 }, "job: its budget has a running_per_key and no key: both, or neither" },
        { "job", { .key = "/host" }, "job: its budget has a key and no running_per_key: both, or neither" },
        { "job", { .key = "host", .running_per_key = 1 }, "job: the key of its budget is \"host\": a JSON pointer begins with / and has at most 256 bytes" },
        { "job", { .per_second = -1 }, "job: the per_second of its budget is no number from 1e-06 to 1e+06, nor 0" },
        { "job", { .per_second = 1e7 }, "job: the per_second of its budget is no number from 1e-06 to 1e+06, nor 0" },
        { "job", { .burst = 2 }, "job: its budget has a burst and no per_second: both, or neither" },
    };
    pawl_engine *e = engine_of(wide(twelve, 1, NULL), pawl_store_memory(NULL), 0, stays, NULL);

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        pawl_err err = { PAWL_OK, "" };

        CHECK_INT(pawl_engine_budget(e, bad[i].effect, &bad[i].b, &err), PAWL_INVALID);
        CHECK_STR(err.text, bad[i].says);
    }
    CHECK_INT(pawl_engine_budget(e, "job", &(pawl_budget){ .per_second = (double)NAN }, NULL), PAWL_INVALID);
    CHECK_INT(pawl_engine_budget(e, NULL, NULL, NULL), PAWL_INVALID);
    CHECK_INT(pawl_engine_budget(NULL, "job", NULL, NULL), PAWL_INVALID);
    CHECK_INT(pawl_engine_budget(e, "job", NULL, NULL), PAWL_OK);
    CHECK_INT(pawl_engine_budget(e, "another", &(pawl_budget){ .key = "", .running_per_key = 1, .per_second = 0.5, .burst = 9 }, NULL), PAWL_OK);
    pawl_engine_free(e);
}

/* ---- rates, by a given clock ------------------------------------------------------------------------------------ */

typedef struct given { int64_t now; int sleeps; buf log; } given;

static int64_t given_now(void *ctx) { return ((given *)ctx)->now; }

static void given_sleep(void *ctx, int64_t until_ms)
{
    given *g = ctx;

    g->now = until_ms > g->now ? until_ms : g->now;
    g->sleeps++;
}

static void clock_give(pawl_engine *e, given *g)
{
    *g = (given){ .now = 1000 };
    buf_init(&g->log, NULL);
    pawl_engine_clock(e, &(pawl_clock){ given_now, given_sleep, g });
}

/* "RUN.NODE@TIME " */
static pawl_code writes_down(const pawl_job *job, pawl_reply *reply, void *arg)
{
    const char *slash = strchr(job->id, '/');
    given *g = arg;

    buf_fmt(&g->log, "%.*s.%.2s@%lld ", (int)strcspn(job->id, "~"), job->id, slash + 3, (long long)(g->now - 1000));
    return pawl_reply_int(reply, 1);
}

static void logged(given *g, const char *expected)
{
    buf_char(&g->log, '\0');
    CHECK_STR(g->log.data, expected);
    buf_free(&g->log);
}

PAWL_TEST(test_X2_a_rate_lets_a_burst_go_and_then_one_at_a_time)
{
    for (unsigned threads = 0; threads <= 1; threads++) {
        given g;
        pawl_engine *e = engine_of(wide(twelve, 7, NULL), pawl_store_memory(NULL), threads, writes_down, &g);

        clock_give(e, &g);
        budget(e, &(pawl_budget){ .per_second = 2, .burst = 3 });
        CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_HALTED);
        logged(&g, "r.n0@0 r.n1@0 r.n2@0 r.n3@500 r.n4@1000 r.n5@1500 r.n6@2000 ");
        CHECK_STR(pawl_run_get(e, "r", "done"), "7");
        pawl_engine_free(e);
    }
}

/* In order of arrival over all runs; nobody spins until the next token, and a rest does not save up more than a burst. */
PAWL_TEST(test_X2_a_rate_is_shared_in_order_of_arrival)
{
    given g;
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e = engine_of(wide(twelve, 2, NULL), pawl_store_memory(NULL), 0, writes_down, &g);

    clock_give(e, &g);
    budget(e, &(pawl_budget){ .per_second = 0.1, .burst = 2 });
    CHECK_INT(pawl_begin(e, "a", NULL, &err), PAWL_OK);
    CHECK_INT(pawl_begin(e, "b", NULL, &err), PAWL_OK);
    CHECK_INT(pawl_begin(e, "c", NULL, &err), PAWL_OK);
    CHECK_INT(pawl_work(e, 41001, &err), PAWL_OK);
    CHECK(g.sleeps < 10);
    g.now = 2001000;
    CHECK_INT(pawl_run(e, "d", NULL, NULL), PAWL_HALTED);
    CHECK_INT(pawl_run(e, "e", NULL, NULL), PAWL_HALTED);
    logged(&g, "a.n0@0 a.n1@0 b.n0@10000 b.n1@20000 c.n0@30000 c.n1@40000 d.n0@2000000 d.n1@2000000 e.n0@2010000 e.n1@2020000 ");
    pawl_engine_free(e);
}

static pawl_code counts_others(const pawl_job *job, pawl_reply *reply, void *arg)
{
    (void)job;
    ++*(int *)arg;
    return pawl_reply_int(reply, 1);
}

/* "job" first, or not: what its input says. */
static pawl_code as_told(pawl_step *s, const pawl_value *input, void *arg)
{
    const char *effect = pawl_value_string(input);
    pawl_code rc = pawl_call(s, effect != NULL ? effect : "other", NULL, NULL);

    (void)arg;
    return rc;
}

static int done_of(pawl_engine *e, const char *kind, int n)
{
    char id[16];
    int done = 0;

    for (int i = 0; i < n; i++) {
        pawl_head head;

        snprintf(id, sizeof id, "%s-%d", kind, i);
        CHECK_INT(pawl_engine_store(e)->verbs->head(pawl_engine_store(e), id, &head, NULL), PAWL_OK);
        done += head.over;
    }
    return done;
}

/* So many wait for a token that they would fill the worker; those that need none get by, and in the end all have had one. */
PAWL_TEST(test_X2_E3_those_that_wait_for_a_token_hinder_nobody)
{
    enum { RUNS = 400 };
    given g;
    int others = 0;
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e = engine_of(town_lines(as_told, NULL), pawl_store_memory(NULL), 0, writes_down, &g);
    char id[16];

    clock_give(e, &g);
    store_memory_clock(pawl_engine_store(e), given_now, &g);
    CHECK_INT(pawl_engine_effect(e, "other", counts_others, &others, PAWL_CLASS_AT_LEAST_ONCE, &err), PAWL_OK);
    budget(e, &(pawl_budget){ .per_second = 1 });
    for (int i = 0; i < 2 * RUNS; i++) {
        snprintf(id, sizeof id, "%s-%d", i < RUNS ? "slow" : "quick", i % RUNS);
        CHECK_INT(pawl_begin(e, id, i < RUNS ? "{\"input\":\"job\"}" : "{\"input\":\"other\"}", &err), PAWL_OK);
    }
    CHECK_INT(pawl_work(e, g.now + 20000, &err), PAWL_OK);
    CHECK_INT(others, RUNS);
    CHECK_INT(done_of(e, "quick", RUNS), RUNS);
    CHECK(done_of(e, "slow", RUNS) >= 20 && done_of(e, "slow", RUNS) <= 22);
    CHECK_INT(pawl_work(e, g.now + 1000 * RUNS * 2, &err), PAWL_OK);
    CHECK_INT(done_of(e, "slow", RUNS), RUNS);
    buf_free(&g.log);
    pawl_engine_free(e);
}

/* ---- waiting --------------------------------------------------------------------------------------------------------- */

static pawl_code cancel_from_outside(const char *run)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *other = pawl_engine_new(wide(twelve, 1, NULL), open_store(), &err);
    pawl_code rc = pawl_event_send(other, run, &(pawl_event){ .kind = PAWL_EV_CANCEL, .by = "ada" }, &err);

    pawl_engine_free(other);
    return rc;
}

static uint8_t status_of(const char *run)
{
    pawl_store *s = open_store();
    pawl_head head = { .status = PAWL_STATUS_WORKING };

    (void)s->verbs->head(s, run, &head, NULL);
    pawl_store_free(s);
    return head.status;
}

typedef struct first { atomic_int calls; bool was_canceled; } first;

/* The one that has the place has the other run called off, and stays until that is over. */
static pawl_code holds_the_place(const pawl_job *job, pawl_reply *reply, void *arg)
{
    const char *other = job->id[0] == 'a' ? "b" : "a";
    int64_t until = steady() + PATIENCE_MS;
    first *f = arg;

    if (f->calls++ > 0)
        return pawl_reply_int(reply, 1);
    CHECK_INT(cancel_from_outside(other), PAWL_PENDING);
    while (!f->was_canceled && steady() < until) {
        short_rest();
        f->was_canceled = status_of(other) == PAWL_STATUS_CANCELED;
    }
    return pawl_reply_int(reply, 1);
}

PAWL_TEST(test_E10_what_waits_for_a_place_can_be_called_off)
{
    first f = { .calls = 0 };
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e;

    path_new("budget");
    e = engine_of(wide(twelve, 1, NULL), open_store(), 2, holds_the_place, &f);
    budget(e, &(pawl_budget){ .running = 1 });
    CHECK_INT(pawl_begin(e, "a", NULL, &err), PAWL_OK);
    CHECK_INT(pawl_begin(e, "b", NULL, &err), PAWL_OK);
    CHECK_INT(pawl_work(e, 0, &err), PAWL_OK);
    CHECK(f.was_canceled);
    CHECK_INT(f.calls, 1);
    CHECK((status_of("a") == PAWL_STATUS_COMPLETED) != (status_of("b") == PAWL_STATUS_COMPLETED));
    pawl_engine_free(e);
    path_gone();
}

static bool see_mark(void *ctx, const pawl_mark *one)
{
    buf *b = ctx;

    buf_fmt(b, "%s=%lu ", strchr(one->id, '/') + 1, (unsigned long)one->attempts);
    return true;
}

PAWL_TEST(test_E13_what_had_to_wait_is_marked_before_it_leaves)
{
    given g;
    pawl_engine *e = engine_of(wide(twelve, 3, NULL), pawl_store_memory(NULL), 0, writes_down, &g);
    pawl_store *s = pawl_engine_store(e);
    buf marks;

    clock_give(e, &g);
    budget(e, &(pawl_budget){ .per_second = 1 });
    CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_HALTED);
    logged(&g, "r.n0@0 r.n1@1000 r.n2@2000 ");
    buf_init(&marks, NULL);
    CHECK_INT(s->verbs->marks(s, "r", see_mark, &marks, NULL), PAWL_OK);
    buf_char(&marks, '\0');
    CHECK_STR(marks.data, "1.n1.1.0=1 1.n2.1.0=1 ");
    buf_free(&marks);
    pawl_engine_free(e);
}

/* ---- counted with what made room for them ------------------------------------------------------------------------------ */

static pawl_store_verbs counting;
static const pawl_store_verbs *counted;
static int marks_alone;

static pawl_code mark_alone(pawl_store *s, pawl_mark *all, size_t n, pawl_err *err)
{
    marks_alone++;
    return counted->mark(s, all, n, err);
}

static void marks_watch(pawl_store *s)
{
    counted = s->verbs;
    counting = *counted;
    counting.mark = mark_alone;
    s->verbs = &counting;
    marks_alone = 0;
}

static bool count_mark(void *ctx, const pawl_mark *one)
{
    CHECK_INT(one->attempts, 1);
    ++*(int *)ctx;
    return true;
}

static int marked(pawl_store *s)
{
    int n = 0;

    CHECK_INT(s->verbs->marks(s, "r", count_mark, &n, NULL), PAWL_OK);
    return n;
}

PAWL_TEST(test_E13_who_gets_a_place_is_counted_in_the_commit_that_made_it_free)
{
    for (int i = 0; i < 2; i++) {
        const pawl_limits once = { .cls = PAWL_CLASS_ONCE };
        seen m = { .lock = PTHREAD_MUTEX_INITIALIZER };
        pawl_engine *e = engine_as(i == 1 ? PAWL_CLASS_ONCE : PAWL_CLASS_AT_LEAST_ONCE, wide(twelve, 12, i == 1 ? &once : NULL),
            pawl_store_memory(NULL), 2, stays, &m);

        marks_watch(pawl_engine_store(e));
        budget(e, &(pawl_budget){ .running = 2 });
        CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_HALTED);
        CHECK_INT(m.calls, 12);
        CHECK_INT(marked(pawl_engine_store(e)), i == 1 ? 12 : 10);      /* the first two did not wait */
        CHECK_INT(marks_alone, i);
        pawl_engine_free(e);
    }
}

typedef struct stopper { pawl_engine *e; int left; } stopper;

/* Right after a commit. */
static void stops(void *ctx, const pawl_state *st, const pawl_entry *entry)
{
    stopper *p = ctx;

    (void)st, (void)entry;
    if (p->left-- == 0)
        pawl_engine_drain(p->e);
}

/* Who was counted and then did not leave any more is not asked about, and is begun once, by another engine. */
PAWL_TEST(test_E4_E13_drained_between_the_count_and_the_beginning)
{
    const pawl_limits once = { .cls = PAWL_CLASS_ONCE };

    for (int left = 0; left < 13; left++) {
        seen m = { .lock = PTHREAD_MUTEX_INITIALIZER };
        stopper p = { .left = left };
        pawl_engine *other;
        pawl_code stood;

        path_new("budget");
        p.e = engine_as(PAWL_CLASS_ONCE, wide(twelve, 12, &once), open_store(), 2, stays, &m);
        budget(p.e, &(pawl_budget){ .running = 2 });
        pawl_engine_watch(p.e, stops, &p);
        stood = pawl_run(p.e, "r", NULL, NULL);
        CHECK(stood == PAWL_OK || stood == PAWL_PENDING);
        CHECK_INT(marked(pawl_engine_store(p.e)), m.calls);
        pawl_engine_free(p.e);
        other = engine_as(PAWL_CLASS_ONCE, wide(twelve, 12, &once), open_store(), 2, stays, &m);
        CHECK_INT(pawl_run(other, "r", NULL, NULL), PAWL_HALTED);
        CHECK_STR(pawl_run_get(other, "r", "done"), "12");
        CHECK_INT(m.calls, 12);
        pawl_engine_free(other);
        path_gone();
    }
}

/* ---- those that do not come back ------------------------------------------------------------------------------------- */

static pawl_code deaf(const pawl_job *job, pawl_reply *reply, void *arg)
{
    int64_t until = steady() + PATIENCE_MS;
    atomic_bool *enough = arg;

    if (job->id[0] != 'a')
        return pawl_reply_int(reply, 1);
    CHECK_INT(cancel_from_outside("a"), PAWL_PENDING);
    while (!*enough && steady() < until)
        short_rest();
    return pawl_reply_int(reply, 1);
}

PAWL_TEST(test_X2_E10_a_place_is_not_kept_by_one_that_was_given_up)
{
    atomic_bool enough = false;
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e;

    path_new("budget");
    e = engine_of(wide(twelve, 2, NULL), open_store(), 2, deaf, &enough);
    budget(e, &(pawl_budget){ .running = 1 });
    pawl_engine_grace(e, 50);
    CHECK_INT(pawl_run(e, "a", NULL, &err), PAWL_HALTED);
    CHECK_INT(status_of("a"), PAWL_STATUS_CANCELED);
    CHECK_INT(pawl_run(e, "b", NULL, &err), PAWL_HALTED);
    CHECK_STR(pawl_run_get(e, "b", "done"), "2");
    CHECK(!enough);
    enough = true;
    pawl_engine_free(e);
    path_gone();
}

/* A run that is not driven any more keeps nobody waiting, though it was there first. */
PAWL_TEST(test_X2_who_is_not_driven_keeps_nobody_waiting)
{
    static const char *const both[] = { "job a", "unbound a" };
    given g;
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e = engine_of(wide(both, 2, NULL), pawl_store_memory(NULL), 0, writes_down, &g);

    clock_give(e, &g);
    budget(e, &(pawl_budget){ .per_second = 1e-6 });
    CHECK_INT(pawl_run(e, "a", NULL, &err), PAWL_PENDING);
    CHECK_INT(pawl_begin(e, "b", NULL, &err), PAWL_OK);
    CHECK_INT(pawl_work(e, 0, &err), PAWL_OK);          /* it waits for its token, and is left */
    budget(e, NULL);
    CHECK_INT(pawl_begin(e, "c", NULL, &err), PAWL_OK);
    CHECK_INT(pawl_work(e, 0, &err), PAWL_OK);
    buf_char(&g.log, '\0');
    CHECK(strstr(g.log.data, "a.n0@0 ") == g.log.data && strstr(g.log.data, "b.n0@0 ") != NULL && strstr(g.log.data, "c.n0@0 ") != NULL);
    buf_free(&g.log);
    pawl_engine_free(e);
}
