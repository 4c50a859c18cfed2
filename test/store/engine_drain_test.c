/* engine_drain_test.c - nothing more leaves, and what is out is stored; or it is told to stop at once, and nothing of it is. Another engine
 * on the same store goes on, and in the end everything was performed once, but for what was told to stop. */
#include "lib/engine_fixture.h"
#include "store/place.h"
#include "store/store.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MANY = 50, THREADS = 3, HOUR_MS = 3600000 };

static pawl_store *open_store(void)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_store *s = pawl_store_sqlite(path, &(pawl_sqlite){ .normal = true }, &err);

    if (s == NULL)
        CHECK_FAIL("open: %s", err.text);
    return s;
}

static void short_rest(void)
{
    const struct timespec t = { .tv_nsec = 1000000 };

    nanosleep(&t, NULL);
}

/* ---- a run, and who performs for it ---------------------------------------------------------------- */

/* `n` commands "job" side by side, n0 and so on, and when all are done "last", one more. */
static pawl_machine *fan(unsigned n, const pawl_limits *limits)
{
    pawl_graph *g = pawl_graph_new("fan", 1);
    char name[16];

    if (limits != NULL)
        pawl_graph_effect(g, "job", limits);
    pawl_graph_channel(g, "done", PAWL_RULE_SUM);
    pawl_graph_work(g, "last", "job");
    for (unsigned i = 0; i < n; i++) {
        snprintf(name, sizeof name, "n%u", i);
        pawl_graph_work(g, name, "job");
        pawl_graph_chain(g, PAWL_START, name, "last", NULL);
    }
    pawl_graph_edge(g, "last", PAWL_END);
    return pawl_graph_compile(g, NULL);
}

typedef struct crew {
    pawl_engine *e;
    void (*act)(pawl_engine *e);    /* when `at` of them have begun; until then these wait */
    int at;
    bool listens;                   /* and then go on until they are told to stop */
    pawl_code says;                 /* below 0: it fails so */
    atomic_bool acted;
    atomic_int begun, again;        /* handlers that were called; with an attempt that is not the first */
    atomic_int calls[MANY];         /* of each ni */
} crew;

static pawl_code job(const pawl_job *j, pawl_reply *reply, void *arg)
{
    crew *c = arg;
    const char *node = strstr(j->id, ".n");
    int k = ++c->begun;

    c->again += j->attempt > 1;
    if (node != NULL)
        c->calls[strtoul(node + 2, NULL, 10) % MANY]++;
    if (k > c->at)
        return pawl_reply_json(reply, "{\"done\":1}");
    if (k == c->at) {
        c->act(c->e);
        c->acted = true;
    }
    while (!c->acted || (c->listens && !j->canceled(j)))
        short_rest();
    return c->says < 0 ? pawl_reply_fail(reply, c->says, "told to") : pawl_reply_json(reply, "{\"done\":1}");
}

static pawl_engine *engine_of(pawl_machine *m, unsigned threads, crew *c, pawl_class cls)
{
    pawl_err err = { PAWL_OK, "" };

    c->e = pawl_engine_new(m, open_store(), &err);
    if (c->e == NULL || pawl_engine_effect(c->e, "job", job, c, cls, &err) != PAWL_OK)
        CHECK_FAIL("engine: %s", err.text);
    pawl_engine_threads(c->e, threads);
    return c->e;
}

static bool is_held(const char *run)
{
    pawl_store *s = open_store();
    pawl_head head;
    bool held;

    CHECK_INT(s->verbs->head(s, run, &head, NULL), PAWL_OK);
    held = head.owner != NULL;
    pawl_store_free(s);
    return held;
}

static bool see_mark(void *ctx, const pawl_mark *one)
{
    (void)one;
    ++*(int *)ctx;
    return true;
}

/* So many commands have attempts that are counted. */
static int marked(const char *run)
{
    pawl_store *s = open_store();
    int n = 0;

    CHECK_INT(s->verbs->marks(s, run, see_mark, &n, NULL), PAWL_OK);
    pawl_store_free(s);
    return n;
}

/* How often its journal has this in it. */
static int journal_has(const char *run, const char *text)
{
    pawl_store *s = open_store();
    pawl_bytes journal = pawl_store_journal(s, run, NULL);
    union { const char *in; void *out; } bytes = { journal.data };
    char *copy = check_copy(journal.data, journal.size);
    int n = 0;

    for (const char *at = copy; (at = strstr(at, text)) != NULL; at++)
        n++;
    free(copy);
    free(bytes.out);
    pawl_store_free(s);
    return n;
}

static int receipts(const char *run) { return journal_has(run, "[\"receipt\","); }

static void run_or_work(pawl_engine *e, bool work, pawl_code stands)
{
    pawl_err err = { PAWL_OK, "" };

    if (work) {
        CHECK_INT(pawl_begin(e, "r", NULL, &err), PAWL_OK);
        CHECK_INT(pawl_work(e, 0, &err), PAWL_OK);
        stands = pawl_state_next(pawl_run_state(e, "r", NULL));
    } else {
        CHECK_INT(pawl_run(e, "r", NULL, &err), stands);
    }
    CHECK_STR(err.text, "");
    CHECK_INT(pawl_state_next(pawl_run_state(e, "r", NULL)), stands);
}

/* Another engine on the store goes on to the end, while the first one is still there. */
static void other_ends_it(pawl_machine *m, crew *c, pawl_class cls, const char *done)
{
    pawl_engine *first = c->e, *e;

    c->at = 0;
    e = engine_of(m, THREADS, c, cls);
    CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_HALTED);
    CHECK_INT(pawl_state_status(pawl_run_state(e, "r", NULL)), PAWL_STATUS_COMPLETED);
    CHECK_STR(pawl_run_get(e, "r", "done"), done);
    pawl_engine_free(e);
    c->e = first;
}

/* ---- drained --------------------------------------------------------------------------------------- */

PAWL_TEST(test_E4_drained_a_lone_command_is_waited_for_and_nothing_follows)
{
    for (int i = 0; i < 4; i++) {
        crew c = { .act = pawl_engine_drain, .at = 1 };
        pawl_engine *e;

        path_new("drain");
        e = engine_of(fan(1, NULL), i < 2 ? 0 : 2, &c, PAWL_CLASS_AT_LEAST_ONCE);
        run_or_work(e, i % 2 == 1, PAWL_PENDING);
        CHECK_INT(c.begun, 1);
        CHECK_INT(receipts("r"), 1);
        CHECK(!is_held("r"));
        CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_PENDING);       /* it stays drained */
        CHECK_INT(pawl_work(e, 0, NULL), PAWL_OK);
        CHECK_INT(c.begun, 1);
        CHECK(!is_held("r"));
        other_ends_it(fan(1, NULL), &c, PAWL_CLASS_AT_LEAST_ONCE, "2");
        CHECK_INT(c.begun, 2);
        pawl_engine_free(e);
        path_gone();
    }
}

PAWL_TEST(test_E4_E13_drained_in_the_middle_each_of_fifty_is_performed_once)
{
    static const pawl_limits limits[] = { { .cls = PAWL_CLASS_AT_LEAST_ONCE }, { .cls = PAWL_CLASS_ONCE }, { .cls = PAWL_CLASS_COMPENSABLE },
                                          { .cls = PAWL_CLASS_IDEMPOTENT, .total_timeout_ms = HOUR_MS, .retry = { .max_attempts = 2 } } };

    for (unsigned i = 0; i < 8; i++)
        for (unsigned threads = 0; threads <= THREADS; threads += THREADS) {
            const pawl_limits *l = &limits[i / 2];
            crew c = { .act = pawl_engine_drain, .at = threads > 0 ? THREADS : 1 };
            pawl_engine *e;

            path_new("drain");
            e = engine_of(fan(MANY, l), threads, &c, l->cls);
            run_or_work(e, i % 2 == 1, PAWL_PENDING);
            CHECK_INT(c.begun, c.at);
            CHECK_INT(receipts("r"), c.at);
            CHECK(marked("r") <= c.at);         /* what never began is not counted */
            CHECK(!is_held("r"));
            other_ends_it(fan(MANY, l), &c, l->cls, "51");
            CHECK_INT(c.begun, MANY + 1);
            CHECK_INT(c.again, 0);
            for (int k = 0; k < MANY; k++)
                CHECK_INT(c.calls[k], 1);
            pawl_engine_free(e);
            path_gone();
        }
}

/* What waits for a place of its budget holds none, and nobody. */
PAWL_TEST(test_E4_drained_with_a_budget_and_those_that_wait_for_it_stay)
{
    for (int work = 0; work < 2; work++) {
        crew c = { .act = pawl_engine_drain, .at = 2 };
        pawl_engine *e;

        path_new("drain");
        e = engine_of(fan(MANY, NULL), THREADS, &c, PAWL_CLASS_AT_LEAST_ONCE);
        CHECK_INT(pawl_engine_budget(e, "job", &(pawl_budget){ .running = 2 }, NULL), PAWL_OK);
        run_or_work(e, work == 1, PAWL_PENDING);
        CHECK_INT(c.begun, 2);
        CHECK(!is_held("r"));
        other_ends_it(fan(MANY, NULL), &c, PAWL_CLASS_AT_LEAST_ONCE, "51");
        CHECK_INT(c.begun, MANY + 1);
        pawl_engine_free(e);
        path_gone();
    }
}

PAWL_TEST(test_E7_drained_no_attempt_is_made_again)
{
    const pawl_limits limits = { .retry = { .max_attempts = 3 } };

    for (unsigned i = 0; i < 4; i++) {
        crew c = { .act = pawl_engine_drain, .at = i < 2 ? 1 : 2, .says = PAWL_TRANSIENT };
        unsigned n = i < 2 ? 1 : 2;
        pawl_engine *e;

        path_new("drain");
        e = engine_of(fan(n, &limits), i < 2 ? 0 : 2, &c, PAWL_CLASS_AT_LEAST_ONCE);
        run_or_work(e, i % 2 == 1, PAWL_PENDING);
        CHECK_INT(c.begun, n);
        CHECK_INT(receipts("r"), 0);
        CHECK(!is_held("r"));
        other_ends_it(fan(n, &limits), &c, PAWL_CLASS_AT_LEAST_ONCE, n == 1 ? "2" : "3");
        CHECK_INT(c.begun, 2 * n + 1);
        CHECK_INT(c.again, n);
        pawl_engine_free(e);
        path_gone();
    }
}

PAWL_TEST(test_E3_drained_while_it_works_on_several_runs)
{
    for (unsigned threads = 0; threads <= 2; threads++) {
        crew c = { .act = pawl_engine_drain, .at = threads > 0 ? (int)threads : 1 };
        int first = c.at;
        pawl_engine *e, *other;
        char run[16];

        path_new("drain");
        e = engine_of(fan(1, NULL), threads, &c, PAWL_CLASS_AT_LEAST_ONCE);
        for (int i = 0; i < 6; i++) {
            snprintf(run, sizeof run, "r%d", i);
            CHECK_INT(pawl_begin(e, run, NULL, NULL), PAWL_OK);
        }
        CHECK_INT(pawl_work(e, INT64_MAX, NULL), PAWL_OK);
        CHECK_INT(c.begun, first);
        for (int i = 0, stored = 0; i < 6; i++) {
            snprintf(run, sizeof run, "r%d", i);
            CHECK(!is_held(run));
            stored += receipts(run);
            if (i == 5)
                CHECK_INT(stored, first);
        }
        c.at = 0;
        other = engine_of(fan(1, NULL), 2, &c, PAWL_CLASS_AT_LEAST_ONCE);
        CHECK_INT(pawl_work(other, 0, NULL), PAWL_OK);
        CHECK_INT(c.begun, 12);
        for (int i = 0; i < 6; i++) {
            snprintf(run, sizeof run, "r%d", i);
            CHECK_STR(pawl_run_get(other, run, "done"), "2");
        }
        pawl_engine_free(other);
        pawl_engine_free(e);
        path_gone();
    }
}

PAWL_TEST(test_E4_drained_before_it_begins_a_run_is_stored_and_not_driven)
{
    crew c = { .act = pawl_engine_drain, .at = 0 };
    pawl_engine *e;

    path_new("drain");
    e = engine_of(fan(2, NULL), 2, &c, PAWL_CLASS_AT_LEAST_ONCE);
    pawl_engine_drain(e);
    CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_PENDING);
    CHECK_INT(pawl_work(e, INT64_MAX, NULL), PAWL_OK);
    CHECK_INT(c.begun, 0);
    CHECK(!is_held("r"));
    other_ends_it(fan(2, NULL), &c, PAWL_CLASS_AT_LEAST_ONCE, "3");
    pawl_engine_free(e);
    pawl_engine_drain(NULL);
    pawl_engine_abandon(NULL);
    path_gone();
}

/* ---- from a signal, and while nothing is out ---------------------------------------------------------- */

static pawl_engine *_Atomic interrupted;

static void on_signal(int sig)
{
    (void)sig;
    pawl_engine_drain(interrupted);
}

static void interrupts(pawl_engine *e)
{
    interrupted = e;
    raise(SIGUSR1);
}

static void signal_begin(void)
{
    struct sigaction a = { .sa_handler = on_signal };

    sigemptyset(&a.sa_mask);
    CHECK_INT(sigaction(SIGUSR1, &a, NULL), 0);
}

PAWL_TEST(test_E4_drained_from_the_handler_of_a_signal)
{
    signal_begin();
    for (int i = 0; i < 2; i++) {
        crew c = { .act = interrupts, .at = i == 0 ? 1 : THREADS };
        pawl_engine *e;

        path_new("drain");
        e = engine_of(fan(MANY, NULL), i == 0 ? 0 : THREADS, &c, PAWL_CLASS_AT_LEAST_ONCE);
        run_or_work(e, false, PAWL_PENDING);
        CHECK_INT(c.begun, c.at);
        other_ends_it(fan(MANY, NULL), &c, PAWL_CLASS_AT_LEAST_ONCE, "51");
        CHECK_INT(c.begun, MANY + 1);
        pawl_engine_free(e);
        path_gone();
    }
}

static pawl_code naps(pawl_step *s, void *arg)
{
    pawl_code rc = pawl_sleep(s, HOUR_MS);

    (void)arg;
    return rc == PAWL_OK ? pawl_follow(s) : rc;
}

static pawl_machine *nap(void)
{
    pawl_graph *g = pawl_graph_new("nap", 1);

    pawl_graph_node(g, "a", naps, NULL);
    pawl_graph_chain(g, PAWL_START, "a", PAWL_END, NULL);
    return pawl_graph_compile(g, NULL);
}

/* The other one is interrupted when it sleeps, as its store says. */
typedef struct watcher { pthread_t sleeper; } watcher;

static void *waits_for_sleep(void *arg)
{
    watcher *w = arg;
    pawl_store *s = open_store();
    pawl_head head;

    while (s->verbs->head(s, "r", &head, NULL) != PAWL_OK || head.wake_ms == 0)
        short_rest();
    pawl_store_free(s);
    pthread_kill(w->sleeper, SIGUSR1);
    return NULL;
}

PAWL_TEST(test_E9_drained_a_sleep_is_not_waited_for)
{
    signal_begin();
    for (int work = 0; work < 2; work++) {
        pawl_err err = { PAWL_OK, "" };
        watcher w = { .sleeper = pthread_self() };
        pthread_t thread;

        path_new("drain");
        interrupted = pawl_engine_new(nap(), open_store(), &err);
        CHECK_INT(pawl_begin(interrupted, "r", NULL, &err), PAWL_OK);
        CHECK_INT(pthread_create(&thread, NULL, waits_for_sleep, &w), 0);
        if (work)
            CHECK_INT(pawl_work(interrupted, INT64_MAX, &err), PAWL_OK);
        else
            CHECK_INT(pawl_run(interrupted, "r", NULL, &err), PAWL_PENDING);
        CHECK_INT(pthread_join(thread, NULL), 0);
        CHECK(!is_held("r"));
        CHECK_INT(receipts("r"), 0);
        pawl_engine_free(interrupted);
        path_gone();
    }
}

static void nothing(pawl_engine *e) { (void)e; }

/* A clock that stands still; who sleeps by it drains. */
typedef struct dozer { pawl_engine *e; int64_t now; int slept; bool drains; } dozer;

static int64_t doze_now(void *ctx) { return ((dozer *)ctx)->now; }

static void doze(void *ctx, int64_t until_ms)
{
    dozer *d = ctx;

    d->slept++;
    if (d->drains && d->slept == 1)
        pawl_engine_drain(d->e);
    else if (until_ms > d->now)
        d->now = until_ms;
}

PAWL_TEST(test_E7_drained_a_back_off_is_not_waited_for_and_goes_on_elsewhere)
{
    const pawl_limits limits = { .retry = { .max_attempts = 3, .initial_ms = HOUR_MS } };

    for (unsigned n = 1; n <= 2; n++) {
        crew c = { .act = nothing, .at = (int)n, .says = PAWL_TRANSIENT };
        dozer d = { .now = 1000000, .drains = true };
        const pawl_clock clock = { doze_now, doze, &d };
        pawl_engine *e;

        path_new("drain");
        d.e = e = engine_of(fan(n, &limits), n == 1 ? 0 : 2, &c, PAWL_CLASS_AT_LEAST_ONCE);
        pawl_engine_clock(e, &clock);
        CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_PENDING);
        CHECK_INT(c.begun, n);
        CHECK_INT(d.slept, 1);
        CHECK_INT(d.now, 1000000);
        CHECK(!is_held("r"));
        pawl_engine_free(e);
        c.at = 0;
        d.e = e = engine_of(fan(n, &limits), 0, &c, PAWL_CLASS_AT_LEAST_ONCE);
        pawl_engine_clock(e, &clock);
        CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_HALTED);
        CHECK_INT(c.again, n);
        CHECK_INT(d.now, 1000000 + HOUR_MS);
        pawl_engine_free(e);
        path_gone();
    }
}

/* ---- children --------------------------------------------------------------------------------------- */

static pawl_code digs(pawl_step *s, void *arg)
{
    const pawl_value *out;
    pawl_code rc = pawl_spawn(s, "fan", NULL, &out);

    (void)arg;
    if (rc != PAWL_OK)
        return rc;
    pawl_set(s, "done", pawl_value_get(out, "done"));
    return pawl_follow(s);
}

/* Two children of "fan", side by side. */
static pawl_machine *parent(void)
{
    pawl_graph *g = pawl_graph_new("parent", 1);

    pawl_graph_channel(g, "done", PAWL_RULE_SUM);
    pawl_graph_node(g, "a", digs, NULL);
    pawl_graph_node(g, "b", digs, NULL);
    pawl_graph_chain(g, PAWL_START, "a", PAWL_END, NULL);
    pawl_graph_chain(g, PAWL_START, "b", PAWL_END, NULL);
    return pawl_graph_compile(g, NULL);
}

static bool see_head(void *ctx, const pawl_head *head)
{
    *(int *)ctx += head->owner != NULL;
    return true;
}

static int held(void)
{
    pawl_store *s = open_store();
    int n = 0;

    CHECK_INT(s->verbs->list(s, &(pawl_filter){ .limit = 10 }, see_head, &n, NULL), PAWL_OK);
    pawl_store_free(s);
    return n;
}

PAWL_TEST(test_E11_drained_what_children_have_out_is_stored_too)
{
    for (unsigned threads = 0; threads <= THREADS; threads += THREADS) {
        crew c = { .act = pawl_engine_drain, .at = threads > 0 ? THREADS : 1 };
        int first = c.at;
        pawl_engine *e, *other;

        path_new("drain");
        e = engine_of(parent(), threads, &c, PAWL_CLASS_AT_LEAST_ONCE);
        CHECK_INT(pawl_engine_add(e, fan(4, NULL), NULL), PAWL_OK);
        CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_PENDING);
        CHECK_INT(c.begun, first);
        CHECK_INT(held(), 0);
        c.at = 0;
        other = engine_of(parent(), THREADS, &c, PAWL_CLASS_AT_LEAST_ONCE);
        CHECK_INT(pawl_engine_add(other, fan(4, NULL), NULL), PAWL_OK);
        CHECK_INT(pawl_run(other, "r", NULL, NULL), PAWL_HALTED);
        CHECK_STR(pawl_run_get(other, "r", "done"), "10");
        CHECK_INT(c.begun, 10);
        pawl_engine_free(other);
        pawl_engine_free(e);
        path_gone();
    }
}

/* A command, and when it is done a child. */
static pawl_code calls_then_digs(pawl_step *s, void *arg)
{
    pawl_code rc = pawl_call(s, "job", NULL, NULL);

    return rc == PAWL_OK ? digs(s, arg) : rc;
}

static atomic_bool beside;

static void drains_when_both_began(pawl_engine *e)
{
    while (!beside)
        short_rest();
    pawl_engine_drain(e);
}

/* The one beside it comes back when the child is asked for. */
static pawl_code until_spawned(const pawl_job *j, pawl_reply *reply, void *arg)
{
    (void)j, (void)arg;
    beside = true;
    while (journal_has("r", "[\"spawn\",") == 0)
        short_rest();
    return pawl_reply_json(reply, "{\"done\":1}");
}

static bool see_run(void *ctx, const pawl_head *head)
{
    (void)head;
    ++*(int *)ctx;
    return true;
}

PAWL_TEST(test_E11_drained_what_follows_from_a_receipt_is_stored_and_does_not_leave)
{
    for (int work = 0; work < 2; work++) {
        crew c = { .act = drains_when_both_began, .at = 1 };
        pawl_graph *g = pawl_graph_new("both", 1);
        pawl_engine *e;
        int runs = 0;

        beside = false;
        pawl_graph_channel(g, "done", PAWL_RULE_SUM);
        pawl_graph_work(g, "a", "wait");
        pawl_graph_node(g, "b", calls_then_digs, NULL);
        pawl_graph_chain(g, PAWL_START, "a", PAWL_END, NULL);
        pawl_graph_chain(g, PAWL_START, "b", PAWL_END, NULL);
        path_new("drain");
        e = engine_of(pawl_graph_compile(g, NULL), 2, &c, PAWL_CLASS_AT_LEAST_ONCE);
        CHECK_INT(pawl_engine_effect(e, "wait", until_spawned, NULL, PAWL_CLASS_AT_LEAST_ONCE, NULL), PAWL_OK);
        CHECK_INT(pawl_engine_add(e, fan(1, NULL), NULL), PAWL_OK);
        run_or_work(e, work == 1, PAWL_PENDING);
        CHECK_INT(receipts("r"), 2);
        CHECK_INT(pawl_engine_store(e)->verbs->list(pawl_engine_store(e), &(pawl_filter){ .limit = 10 }, see_run, &runs, NULL), PAWL_OK);
        CHECK_INT(runs, 1);
        pawl_engine_free(e);
        path_gone();
    }
}

/* ---- abandoned --------------------------------------------------------------------------------------- */

/* As after kill -9: what was told to stop is performed again, and the rest once. */
PAWL_TEST(test_E4_abandoned_what_is_out_stops_and_nothing_of_it_is_stored)
{
    for (int i = 0; i < 4; i++) {
        unsigned threads = i < 2 ? 0 : THREADS;
        crew c = { .act = pawl_engine_abandon, .at = threads > 0 ? THREADS : 1, .listens = true, .says = PAWL_CANCELED };
        int first = c.at, twice = 0;
        pawl_engine *e;

        path_new("drain");
        e = engine_of(fan(MANY, NULL), threads, &c, PAWL_CLASS_AT_LEAST_ONCE);
        run_or_work(e, i % 2 == 1, PAWL_PENDING);
        CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_PENDING);  /* and so it stays */
        pawl_engine_free(e);
        CHECK_INT(c.begun, first);
        CHECK_INT(receipts("r"), 0);
        CHECK(!is_held("r"));
        other_ends_it(fan(MANY, NULL), &c, PAWL_CLASS_AT_LEAST_ONCE, "51");
        CHECK_INT(c.begun, MANY + 1 + first);
        for (int k = 0; k < MANY; k++)
            twice += c.calls[k] == 2;
        CHECK_INT(twice, first);
        path_gone();
    }
}

/* Its attempt stays counted: nobody knows whether it happened. What never began is in no doubt. */
PAWL_TEST(test_E5_abandoned_what_is_once_is_unknown_if_it_was_begun)
{
    const pawl_limits once = { .cls = PAWL_CLASS_ONCE };

    for (unsigned threads = 0; threads <= THREADS; threads += THREADS) {
        crew c = { .act = pawl_engine_abandon, .at = threads > 0 ? THREADS : 1, .listens = true, .says = PAWL_CANCELED };
        int first = c.at;
        pawl_engine *e;

        path_new("drain");
        e = engine_of(fan(MANY, &once), threads, &c, PAWL_CLASS_ONCE);
        CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_PENDING);
        pawl_engine_free(e);
        CHECK_INT(marked("r"), first);
        c.at = 0;
        e = engine_of(fan(MANY, &once), THREADS, &c, PAWL_CLASS_ONCE);
        CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_INTERRUPTED);
        CHECK_INT(pawl_state_waits(pawl_run_state(e, "r", NULL)), first);
        CHECK_INT(c.begun, MANY);
        for (int k = 0; k < MANY; k++)
            CHECK_INT(c.calls[k], 1);
        pawl_engine_free(e);
        path_gone();
    }
}

PAWL_TEST(test_E4_abandoned_what_was_done_is_stored_all_the_same)
{
    for (int i = 0; i < 4; i++) {
        unsigned threads = i < 2 ? 0 : THREADS;
        crew c = { .act = pawl_engine_abandon, .at = threads > 0 ? THREADS : 1, .listens = true };
        int first = c.at;
        pawl_err err = { PAWL_OK, "" };
        pawl_engine *e;

        path_new("drain");
        e = engine_of(fan(MANY, NULL), threads, &c, PAWL_CLASS_AT_LEAST_ONCE);
        if (i % 2 == 1) {
            CHECK_INT(pawl_begin(e, "r", NULL, &err), PAWL_OK);
            CHECK_INT(pawl_work(e, 0, &err), PAWL_OK);
        } else {
            CHECK(pawl_run(e, "r", NULL, &err) >= 0);
        }
        pawl_engine_free(e);
        CHECK_INT(receipts("r"), first);
        other_ends_it(fan(MANY, NULL), &c, PAWL_CLASS_AT_LEAST_ONCE, "51");
        CHECK_INT(c.begun, MANY + 1);
        path_gone();
    }
}

static void drains_then_abandons(pawl_engine *e)
{
    pawl_engine_drain(e);
    short_rest();
    pawl_engine_abandon(e);
}

PAWL_TEST(test_E4_abandoned_after_it_was_drained)
{
    for (unsigned threads = 0; threads <= THREADS; threads += THREADS) {
        crew c = { .act = drains_then_abandons, .at = threads > 0 ? THREADS : 1, .listens = true, .says = PAWL_TRANSIENT };
        int first = c.at;
        pawl_engine *e;

        path_new("drain");
        e = engine_of(fan(MANY, NULL), threads, &c, PAWL_CLASS_AT_LEAST_ONCE);
        run_or_work(e, false, PAWL_PENDING);
        pawl_engine_free(e);
        CHECK_INT(receipts("r"), 0);
        other_ends_it(fan(MANY, NULL), &c, PAWL_CLASS_AT_LEAST_ONCE, "51");
        CHECK_INT(c.begun, MANY + 1 + first);
        path_gone();
    }
}

/* A function with SQL ends with its transaction, whatever is wanted meanwhile. */
static pawl_code books(const pawl_job *j, pawl_reply *reply, void *arg)
{
    crew *c = arg;

    c->begun++;
    c->act(c->e);
    return j->canceled(j) ? PAWL_CANCELED : pawl_reply_json(reply, "{\"done\":1}");
}

PAWL_TEST(test_E4_in_a_transaction_of_the_store_nothing_is_cut_off)
{
    void (*const acts[])(pawl_engine *) = { pawl_engine_drain, pawl_engine_abandon };

    for (int i = 0; i < 4; i++) {
        crew c = { .act = acts[i % 2] };
        pawl_engine *e;

        path_new("drain");
        e = engine_of(fan(2, NULL), 0, &c, PAWL_CLASS_AT_LEAST_ONCE);
        CHECK_INT(pawl_engine_sql(e, "job", books, &c, 0, NULL), PAWL_OK);
        run_or_work(e, i > 1, PAWL_PENDING);
        CHECK_INT(c.begun, 1);
        CHECK_INT(receipts("r"), 1);
        pawl_engine_free(e);
        other_ends_it(fan(2, NULL), &c, PAWL_CLASS_AT_LEAST_ONCE, "3");
        CHECK_INT(c.begun, 3);
        path_gone();
    }
}

/* ---- stopped and freed ------------------------------------------------------------------------------- */

/* Stopped is not told to stop: they go on until the engine is freed. */
/* What waited for a thread when its engine was freed never began, and is not in doubt. */
PAWL_TEST(test_E5_E13_freed_what_never_began_is_not_counted)
{
    const pawl_limits once = { .cls = PAWL_CLASS_ONCE };
    crew c = { .act = pawl_engine_stop, .at = THREADS, .listens = true };
    pawl_engine *e;

    path_new("drain");
    e = engine_of(fan(MANY, &once), THREADS, &c, PAWL_CLASS_ONCE);
    run_or_work(e, false, PAWL_PENDING);
    CHECK(is_held("r"));
    pawl_engine_free(e);
    CHECK_INT(c.begun, THREADS);
    CHECK_INT(receipts("r"), THREADS);
    CHECK_INT(marked("r"), THREADS);
    CHECK(!is_held("r"));
    other_ends_it(fan(MANY, &once), &c, PAWL_CLASS_ONCE, "51");
    CHECK_INT(c.begun, MANY + 1);
    path_gone();
}
