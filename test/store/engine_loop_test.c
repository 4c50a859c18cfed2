/* engine_loop_test.c - many runs at once: few transactions, nobody starved, and one that cannot go on hinders no other. */
#include "lib/check.h"
#include "pawl/engine.h"
#include "pawl/graph.h"
#include "store/one.h"
#include "store/place.h"

#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MANY = 300 };            /* more than the loop takes in at once */

/* ---- a clock that goes when somebody sleeps; the store has its own -------------------------------------- */

static int64_t now_ms;

static int64_t virtual_now(void *ctx) { return *(int64_t *)ctx; }
static void virtual_sleep(void *ctx, int64_t until_ms)
{
    CHECK(until_ms > *(int64_t *)ctx); /* who sleeps until what is past would go round for ever */
    *(int64_t *)ctx = until_ms;
}

/* ---- machines and engines ------------------------------------------------------------------------------- */

static pawl_code asks(pawl_step *s, void *arg)
{
    const pawl_value *v;
    pawl_code rc = pawl_ask(s, pawl_pack(s, "s", "go on?"), &v);

    (void)arg;
    return rc == PAWL_OK ? pawl_follow(s) : rc;
}

static pawl_code naps(pawl_step *s, void *arg)
{
    pawl_code rc = pawl_sleep(s, *(const int *)arg);

    return rc == PAWL_OK ? pawl_follow(s) : rc;
}

/* What `what` has: 'c' a command, 'a' a question, 'n' a nap of an hour; all at once. */
static pawl_machine *side_by_side(const char *name, const char *what)
{
    static const int hour = 3600000;
    pawl_graph *g = pawl_graph_new(name, 1);
    pawl_err err = { PAWL_OK, "" };
    pawl_machine *m;

    pawl_graph_channel(g, "done", PAWL_RULE_SUM);
    for (; *what != '\0'; what++) {
        const char *node = *what == 'c' ? "call" : *what == 'a' ? "ask" : "nap";

        if (*what == 'c')
            pawl_graph_work(g, node, "job");
        else
            pawl_graph_node(g, node, *what == 'a' ? asks : naps, (void *)(uintptr_t)&hour);
        pawl_graph_chain(g, PAWL_START, node, PAWL_END, NULL);
    }
    if ((m = pawl_graph_compile(g, &err)) == NULL)
        CHECK_FAIL("%s", err.text);
    return m;
}

static pawl_code does(const pawl_job *job, pawl_reply *reply, void *arg)
{
    (void)job;
    ++*(int *)arg;
    return pawl_reply_json(reply, "{\"done\":1}");
}

/* `done` NULL: it has no handler. */
static pawl_engine *engine_on(pawl_machine *m, pawl_store *s, int *done)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e = pawl_engine_new(m, s, &err);

    if (e == NULL || (done != NULL && pawl_engine_effect(e, "job", does, done, PAWL_CLASS_AT_LEAST_ONCE, &err) != PAWL_OK))
        CHECK_FAIL("engine: %s", err.text);
    now_ms = s->verbs->now(s);
    pawl_engine_clock(e, &(pawl_clock){ .now_ms = virtual_now, .sleep_until = virtual_sleep, .ctx = &now_ms });
    return e;
}

static pawl_engine *engine_at(pawl_machine *m, int *done)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_store *s = pawl_store_sqlite(path, &(pawl_sqlite){ .normal = true }, &err);

    if (s == NULL)
        CHECK_FAIL("store: %s", err.text);
    return engine_on(m, s, done);
}

static void begin_many(pawl_engine *e, const char *name, int n)
{
    pawl_err err = { PAWL_OK, "" };
    char id[32];

    for (int i = 0; i < n; i++) {
        snprintf(id, sizeof id, "%s-%d", name, i);
        if (pawl_begin(e, id, NULL, &err) != PAWL_OK)
            CHECK_FAIL("%s", err.text);
    }
}

static void work(pawl_engine *e, int64_t for_ms)
{
    pawl_err err = { PAWL_OK, "" };

    if (pawl_work(e, for_ms == 0 ? 0 : now_ms + for_ms, &err) != PAWL_OK)
        CHECK_FAIL("work: %s", err.text);
}

static pawl_head head_of(pawl_engine *e, const char *run)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_head h;

    if (pawl_engine_store(e)->verbs->head(pawl_engine_store(e), run, &h, &err) != PAWL_OK)
        CHECK_FAIL("%s", err.text);
    return h;
}

static uint64_t version(pawl_engine *e)
{
    return pawl_engine_store(e)->verbs->version(pawl_engine_store(e));
}

/* ---- work beside what is waited for ------------------------------------------------------------------------ */

static void beside(const char *what)
{
    int done = 0;
    pawl_engine *e;

    path_new("loop");
    e = engine_at(side_by_side("pair", what), NULL);
    CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_PENDING);      /* nobody here performs it */
    CHECK(head_of(e, "r").owner == NULL && head_of(e, "r").work);
    pawl_engine_free(e);
    e = engine_at(side_by_side("pair", what), &done);
    work(e, 0);
    CHECK_INT(done, 1);
    CHECK(!head_of(e, "r").work);
    work(e, 0);
    CHECK_INT(done, 1);
    pawl_engine_free(e);
    path_gone();
}

PAWL_TEST(test_E12_a_command_beside_a_wait_is_performed_by_whoever_works) { beside("ca"); }
PAWL_TEST(test_E12_a_command_beside_a_nap_is_performed_by_whoever_works) { beside("nc"); }
PAWL_TEST(test_E12_a_command_beside_a_wait_and_a_nap_is_performed_by_whoever_works) { beside("nca"); }

/* ---- E3: few transactions ------------------------------------------------------------------------------------ */

/* Claimed in one, and stored and let go of in another: for all that the loop takes in at once. */
PAWL_TEST(test_E3_timers_of_many_runs_cost_few_transactions)
{
    pawl_engine *e;
    uint64_t before;

    path_new("loop");
    e = engine_at(side_by_side("nap", "n"), NULL);
    begin_many(e, "nap", MANY);
    before = version(e);
    work(e, 0);
    CHECK(version(e) - before <= 12);
    CHECK(head_of(e, "nap-7").owner == NULL && head_of(e, "nap-7").wake_ms > 0);
    now_ms += 3600000 + 60000;
    before = version(e);
    work(e, 0);
    CHECK(version(e) - before <= 12);
    for (int i = 0; i < MANY; i++) {
        char id[32];

        snprintf(id, sizeof id, "nap-%d", i);
        CHECK(head_of(e, id).over && head_of(e, id).owner == NULL);
    }
    pawl_engine_free(e);
    path_gone();
}

typedef struct tally { atomic_int begun, done; } tally;

static pawl_code takes_a_while(const pawl_job *job, pawl_reply *reply, void *arg)
{
    tally *t = arg;

    t->begun++;
    for (int i = 0; i < 20 && !job->canceled(job); i++)
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    t->done += !job->canceled(job);
    return pawl_reply_json(reply, "{\"done\":1}");
}

/* More than the keeper renews at once; what is out lasts longer than a lease. */
PAWL_TEST(test_S2_leases_of_many_runs_are_kept_while_their_commands_are_out)
{
    enum { RUNS = 80 };
    tally t = { 0, 0 };
    pawl_engine *e = pawl_engine_new(side_by_side("pair", "c"), pawl_store_memory(NULL), NULL);

    CHECK_INT(pawl_engine_effect(e, "job", takes_a_while, &t, PAWL_CLASS_AT_LEAST_ONCE, NULL), PAWL_OK);
    pawl_engine_threads(e, 4);
    pawl_engine_lease(e, NULL, 30);
    begin_many(e, "run", RUNS);
    CHECK_INT(pawl_work(e, 0, NULL), PAWL_OK);
    CHECK_INT(t.begun, RUNS);
    CHECK_INT(t.done, RUNS);
    for (int i = 0; i < RUNS; i++) {
        char id[32];

        snprintf(id, sizeof id, "run-%d", i);
        CHECK(head_of(e, id).over && head_of(e, id).owner == NULL);
    }
    pawl_engine_free(e);
}

/* ---- nobody is starved ------------------------------------------------------------------------------------------ */

static pawl_code calls_if_hard(pawl_step *s, void *arg)
{
    const pawl_value *v;
    pawl_code rc = PAWL_OK;

    (void)arg;
    if (pawl_value_bool(pawl_get(s, "hard")))
        rc = pawl_call(s, "job", NULL, &v);
    return rc == PAWL_OK ? pawl_follow(s) : rc;
}

static pawl_machine *hard_or_easy(void)
{
    pawl_graph *g = pawl_graph_new("mixed", 1);
    pawl_err err = { PAWL_OK, "" };
    pawl_machine *m;

    pawl_graph_input(g, "hard", NULL);
    pawl_graph_node(g, "may", calls_if_hard, NULL);
    pawl_graph_chain(g, PAWL_START, "may", PAWL_END, NULL);
    if ((m = pawl_graph_compile(g, &err)) == NULL)
        CHECK_FAIL("%s", err.text);
    return m;
}

static void begin_hard(pawl_engine *e, int n)
{
    pawl_err err = { PAWL_OK, "" };
    char id[32];

    for (int i = 0; i <= n; i++) {
        snprintf(id, sizeof id, "%s-%d", i < n ? "hard" : "easy", i);
        if (pawl_begin(e, id, i < n ? "{\"hard\":true}" : "{\"hard\":false}", &err) != PAWL_OK)
            CHECK_FAIL("%s", err.text);
    }
}

/* Once they were tried nothing is written for them any more, whatever the time. */
static void check_quiet_(pawl_engine *e, int line)
{
    uint64_t before = version(e);

    work(e, 0);
    work(e, 5000);
    if (version(e) != before)
        CHECK_FAIL("asked in line %d: %llu writes", line, (unsigned long long)(version(e) - before));
}

#define check_quiet(e) check_quiet_(e, __LINE__)

static void starves(int n)
{
    int done = 0;
    pawl_engine *e = engine_on(hard_or_easy(), pawl_store_memory(NULL), NULL);
    char id[32];

    begin_hard(e, n);
    work(e, 0);
    snprintf(id, sizeof id, "easy-%d", n);
    CHECK(head_of(e, id).over);
    CHECK(!head_of(e, "hard-0").over);
    check_quiet(e);
    CHECK_INT(pawl_begin(e, "late", "{\"hard\":false}", NULL), PAWL_OK);
    work(e, 0);
    CHECK(head_of(e, "late").over);
    CHECK_INT(pawl_engine_effect(e, "job", does, &done, PAWL_CLASS_AT_LEAST_ONCE, NULL), PAWL_OK);
    work(e, 0);
    CHECK_INT(done, n);
    pawl_engine_free(e);
}

PAWL_TEST(test_E14_runs_without_a_handler_keep_nobody_from_the_others) { starves(MANY); }
PAWL_TEST(test_E14_more_of_them_than_are_looked_at_at_once_keep_nobody_from_the_others) { starves(1500); }

static void deliver(pawl_engine *e, const char *run, pawl_delivery *d)
{
    pawl_err err = { PAWL_OK, "" };

    if (pawl_engine_store(e)->verbs->deliver(pawl_engine_store(e), run, d, &err) != PAWL_OK)
        CHECK_FAIL("%s", err.text);
}

typedef struct asked { char id[200]; } asked;

static bool see_wait(void *ctx, const char *run, const pawl_waiting *w)
{
    (void)run;
    snprintf(((asked *)ctx)->id, sizeof ((asked *)ctx)->id, "%s", w->id);
    return false;
}

static void answer(pawl_engine *e, const char *run)
{
    pawl_store *s = pawl_engine_store(e);
    asked a;

    CHECK_INT(s->verbs->waits(s, run, see_wait, &a, NULL), PAWL_OK);
    deliver(e, run, &(pawl_delivery){ .id = "yes", .kind = PAWL_DELIVER_ANSWER, .name = a.id, .value = { "true", 4 } });
}

PAWL_TEST(test_E14_signals_that_nobody_waits_for_keep_nobody_from_the_others)
{
    pawl_engine *e = engine_on(side_by_side("ask", "a"), pawl_store_memory(NULL), NULL);
    char id[32];

    begin_many(e, "ask", MANY);
    work(e, 0);
    for (int i = 0; i < MANY; i++) {
        snprintf(id, sizeof id, "ask-%d", i);
        deliver(e, id, &(pawl_delivery){ .id = "bell", .kind = PAWL_DELIVER_SIGNAL, .name = "bell" });
    }
    begin_many(e, "late", 1);
    work(e, 0);
    CHECK_INT(head_of(e, "late-0").status, PAWL_STATUS_INPUT_REQUIRED);
    CHECK_INT(head_of(e, "ask-7").mail, 1);
    check_quiet(e);
    answer(e, "ask-7");
    work(e, 0);
    CHECK(head_of(e, "ask-7").over);
    check_quiet(e);
    pawl_engine_free(e);
}

/* Each tries them once: that another has had them changes nothing. */
PAWL_TEST(test_E14_two_that_know_no_way_do_not_keep_each_other_busy)
{
    int done = 0;
    pawl_engine *a, *b, *c;

    path_new("loop");
    a = engine_at(hard_or_easy(), NULL);
    b = engine_at(hard_or_easy(), NULL);
    c = engine_at(side_by_side("nap", "n"), NULL);      /* of another machine */
    begin_hard(a, 20);
    for (int i = 0; i < 3; i++) {
        work(a, 100);
        work(b, 100);
        work(c, 100);
    }
    CHECK(head_of(c, "easy-20").over);
    check_quiet(a);
    check_quiet(b);
    check_quiet(c);
    begin_many(c, "nap", 1);
    work(c, 0);
    CHECK(head_of(c, "nap-0").wake_ms > 0);
    CHECK_INT(pawl_engine_effect(b, "job", does, &done, PAWL_CLASS_AT_LEAST_ONCE, NULL), PAWL_OK);
    work(b, 0);
    CHECK_INT(done, 20);
    pawl_engine_free(c);
    pawl_engine_free(b);
    pawl_engine_free(a);
    path_gone();
}

/* ---- one that cannot go on hinders no other (F5) ------------------------------------------------------------------ */

static void raw(const char *sql)
{
    sqlite3 *db = NULL;

    if (sqlite3_open(path, &db) != SQLITE_OK || sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        CHECK_FAIL("%s: %s", sql, sqlite3_errmsg(db));
    sqlite3_close(db);
}

static bool count_head(void *ctx, const pawl_head *head)
{
    (void)head;
    ++*(int *)ctx;
    return true;
}

static int parked(pawl_engine *e)
{
    int n = 0;

    CHECK_INT(pawl_engine_store(e)->verbs->list(pawl_engine_store(e), &(pawl_filter){ .parked = true }, count_head, &n, NULL), PAWL_OK);
    return n;
}

PAWL_TEST(test_F5_a_run_whose_journal_is_damaged_is_parked_and_the_others_go_on)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e;
    pawl_head h;

    path_new("loop");
    e = engine_at(side_by_side("ask", "a"), NULL);
    begin_many(e, "ask", 3);
    work(e, 0);
    pawl_engine_free(e);
    raw("UPDATE entries SET body=replace(CAST(body AS TEXT),'\"go on?\"','\"go  on?\"') WHERE run=(SELECT no FROM runs WHERE id='ask-1')");
    e = engine_at(side_by_side("ask", "a"), NULL);
    for (int i = 0; i < 3; i++)
        answer(e, i == 0 ? "ask-0" : i == 1 ? "ask-1" : "ask-2");
    work(e, 0);
    CHECK(head_of(e, "ask-0").over && head_of(e, "ask-2").over);
    h = head_of(e, "ask-1");
    CHECK(h.parked != NULL && *h.parked != '\0' && h.owner == NULL);
    CHECK_INT(h.status, PAWL_STATUS_INPUT_REQUIRED);
    CHECK_INT(parked(e), 1);
    check_quiet(e);
    CHECK_INT(pawl_run(e, "ask-1", NULL, &err), PAWL_CORRUPT);          /* tried again, for nothing */
    CHECK_INT(parked(e), 1);
    CHECK(head_of(e, "ask-1").owner == NULL);
    pawl_engine_free(e);
    raw("UPDATE entries SET body=replace(CAST(body AS TEXT),'\"go  on?\"','\"go on?\"')");
    e = engine_at(side_by_side("ask", "a"), NULL);
    work(e, 0);
    CHECK(!head_of(e, "ask-1").over);
    CHECK_INT(pawl_run(e, "ask-1", NULL, &err), PAWL_HALTED);
    CHECK_INT(parked(e), 0);
    pawl_engine_free(e);
    path_gone();
}

/* Nothing came for it and nothing is to be done: that it can be driven is all there is to say. */
PAWL_TEST(test_F5_a_parked_run_that_can_be_driven_is_parked_no_more)
{
    pawl_engine *e = engine_on(side_by_side("ask", "a"), pawl_store_memory(NULL), NULL);
    pawl_store *s = pawl_engine_store(e);
    pawl_append a = { .run = "r", .moves = true, .status = PAWL_STATUS_INPUT_REQUIRED, .parked = "no machine", .release = true };
    pawl_head h;

    for (int i = 0; i < 3; i++) {
        const pawl_event ring = { .kind = PAWL_EV_SIGNAL, .name = "bell" };

        CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_INTERRUPTED);
        CHECK_INT(parked(e), 0);
        CHECK_INT(claim_one(s, "r", "somebody", 1000, &h, NULL), PAWL_OK);
        a.fence = h.fence;
        a.seq = h.seq;
        CHECK_INT(s->verbs->append(s, &a, 1, NULL), PAWL_OK);
        CHECK_INT(a.rc, PAWL_OK);
        CHECK_INT(parked(e), 1);
        if (i == 1)
            CHECK_INT(pawl_event_send(e, "r", &ring, NULL), PAWL_IGNORED);
        if (i == 1)
            CHECK_INT(parked(e), 0);
    }
    pawl_engine_free(e);
}

/* ---- a store that says otherwise ------------------------------------------------------------------------------------ */

static const pawl_store_verbs *whole;           /* those of the store itself */
static pawl_store_verbs patched;

static void patch(pawl_engine *e)
{
    pawl_store *s = pawl_engine_store(e);

    whole = s->verbs;
    patched = *whole;
    s->verbs = &patched;
}

static pawl_code append_but_bad(pawl_store *s, pawl_append *all, size_t n, pawl_err *err)
{
    pawl_code rc = PAWL_OK;

    for (size_t i = 0; i < n && rc == PAWL_OK; i++)
        if (strcmp(all[i].run, "ask-1") == 0 && all[i].parked == NULL)
            all[i].rc = PAWL_CONFLICT;
        else
            rc = whole->append(s, &all[i], 1, err);
    return rc;
}

PAWL_TEST(test_F5_a_run_that_the_store_refuses_is_parked_and_the_others_go_on)
{
    pawl_engine *e = engine_on(side_by_side("ask", "a"), pawl_store_memory(NULL), NULL);
    pawl_head h;

    begin_many(e, "ask", 3);
    patch(e);
    patched.append = append_but_bad;
    work(e, 0);
    CHECK_INT(head_of(e, "ask-0").status, PAWL_STATUS_INPUT_REQUIRED);
    CHECK_INT(head_of(e, "ask-2").status, PAWL_STATUS_INPUT_REQUIRED);
    h = head_of(e, "ask-1");
    CHECK(h.parked != NULL && strstr(h.parked, "ask-1") != NULL && h.owner == NULL);
    CHECK_INT(h.status, PAWL_STATUS_SUBMITTED);
    CHECK_INT(parked(e), 1);
    check_quiet(e);
    pawl_engine_store(e)->verbs = whole;
    CHECK_INT(pawl_run(e, "ask-1", NULL, NULL), PAWL_INTERRUPTED);
    CHECK_INT(parked(e), 0);
    pawl_engine_free(e);
}

typedef struct aged { pawl_line_fn *fn; void *ctx; } aged;

static bool aged_line(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    aged *a = ctx;
    char *copy, *at;
    bool more;

    if (kind != PAWL_LINE_BASE)
        return a->fn(a->ctx, kind, seq, line);
    copy = check_copy(line.data, line.size);
    if ((at = strstr(copy, "\"format\":1")) != NULL)
        at[9] = '9';
    more = a->fn(a->ctx, kind, seq, (pawl_bytes){ copy, line.size });
    free(copy);
    return more;
}

static pawl_code load_newer(pawl_store *s, const char *run, pawl_line_fn *fn, void *ctx, pawl_err *err)
{
    aged a = { fn, ctx };

    return strcmp(run, "ask-1") != 0 ? whole->load(s, run, fn, ctx, err) : whole->load(s, run, aged_line, &a, err);
}

PAWL_TEST(test_K5_a_run_of_a_newer_format_is_left_alone)
{
    pawl_engine *e = engine_on(side_by_side("ask", "a"), pawl_store_memory(NULL), NULL);

    begin_many(e, "ask", 3);
    patch(e);
    patched.load = load_newer;
    work(e, 0);
    CHECK_INT(head_of(e, "ask-0").status, PAWL_STATUS_INPUT_REQUIRED);
    CHECK_INT(head_of(e, "ask-2").status, PAWL_STATUS_INPUT_REQUIRED);
    CHECK_INT(head_of(e, "ask-1").status, PAWL_STATUS_SUBMITTED);
    CHECK(head_of(e, "ask-1").owner == NULL);
    CHECK_INT(parked(e), 0);
    check_quiet(e);
    pawl_engine_free(e);
}

/* ---- refused by whoever works ------------------------------------------------------------------------------ */

static pawl_machine *asks_in_a_mode(void)
{
    pawl_graph *g = pawl_graph_new("modes", 1);

    pawl_graph_channel(g, "done", PAWL_RULE_SUM);
    pawl_graph_channel(g, "@mode", PAWL_RULE_LAST);
    pawl_graph_node(g, "ask", asks, NULL);
    pawl_graph_work(g, "call", "job");
    pawl_graph_chain(g, PAWL_START, "ask", "call", PAWL_END, NULL);
    return pawl_graph_compile(g, NULL);
}

static pawl_machine *acts_in_a_mode(void)
{
    pawl_graph *g = pawl_graph_new("acts", 1);

    pawl_graph_channel(g, "done", PAWL_RULE_SUM);
    pawl_graph_channel(g, "@mode", PAWL_RULE_LAST);
    pawl_graph_work(g, "call", "job");
    pawl_graph_chain(g, PAWL_START, "call", PAWL_END, NULL);
    return pawl_graph_compile(g, NULL);
}

static pawl_code not_when_wild(void *ctx, pawl_state *st, pawl_err *err)
{
    const pawl_value *coming = pawl_state_coming(st, "@mode");
    const char *mode = pawl_value_string(coming != NULL ? coming : pawl_state_get(st, "@mode"));

    ++*(int *)ctx;
    if (mode == NULL || strcmp(mode, "wild") != 0)
        return PAWL_OK;
    *err = (pawl_err){ PAWL_DENIED, "it is wild" };
    return PAWL_DENIED;
}

/* The settings of a host: `now` for runs that do not have it yet. */
typedef struct host_settings {
    const char *mode, *now;
    pawl_code refuses;
    int asked;
} host_settings;

static pawl_code settings_of_host(void *ctx, pawl_state *st, const char **update, pawl_err *err)
{
    host_settings *h = ctx;
    const pawl_value *coming = pawl_state_coming(st, "@mode");
    const char *mode = pawl_value_string(coming != NULL ? coming : pawl_state_get(st, "@mode"));

    h->asked++;
    if (h->refuses != PAWL_OK)
        return *err = (pawl_err){ h->refuses, "the settings cannot be read" }, h->refuses;
    if (mode == NULL || strcmp(mode, h->mode) != 0)
        *update = h->now;
    return PAWL_OK;
}

PAWL_TEST(test_P1_a_worker_drives_a_run_by_the_settings_of_now)
{
    host_settings now = { .mode = "tame", .now = "{\"@mode\":\"tame\"}" };
    int done = 0, looked = 0;
    pawl_engine *e = engine_on(asks_in_a_mode(), pawl_store_memory(NULL), &done);

    CHECK_INT(pawl_run(e, "old", "{\"@mode\":\"wild\"}", NULL), PAWL_INTERRUPTED);
    pawl_engine_settings(e, settings_of_host, &now);
    pawl_engine_admit(e, not_when_wild, &looked);
    answer(e, "old");
    work(e, 0);
    CHECK(head_of(e, "old").over);      /* it had the mode of now before it was looked at */
    CHECK_INT(parked(e), 0);
    CHECK_INT(now.asked, 1);
    CHECK_INT(looked, 1);
    CHECK_INT(done, 1);
    pawl_engine_free(e);
}

PAWL_TEST(test_P1_what_the_start_of_a_run_brings_is_looked_at_before_it_acts)
{
    host_settings now = { .mode = "tame", .now = "{\"@mode\":\"tame\"}" };
    int done = 0, looked = 0;
    pawl_engine *e = engine_on(acts_in_a_mode(), pawl_store_memory(NULL), &done);

    pawl_engine_admit(e, not_when_wild, &looked);
    CHECK_INT(pawl_begin(e, "wild", "{\"@mode\":\"wild\"}", NULL), PAWL_OK);
    work(e, 0);
    CHECK_INT(parked(e), 1);
    CHECK_INT(done, 0);
    CHECK_INT(looked, 2);
    pawl_engine_settings(e, settings_of_host, &now);
    CHECK_INT(pawl_begin(e, "tamed", "{\"@mode\":\"wild\"}", NULL), PAWL_OK);
    work(e, 0);
    CHECK_INT(parked(e), 1);
    CHECK(head_of(e, "tamed").over);
    CHECK_INT(done, 1);
    pawl_engine_free(e);
}

PAWL_TEST(test_P1_a_run_whose_settings_are_not_known_is_parked)
{
    host_settings now = { .refuses = PAWL_DENIED };
    int done = 0;
    pawl_engine *e = engine_on(asks_in_a_mode(), pawl_store_memory(NULL), &done);

    CHECK_INT(pawl_run(e, "r", "{\"@mode\":\"tame\"}", NULL), PAWL_INTERRUPTED);
    pawl_engine_settings(e, settings_of_host, &now);
    answer(e, "r");
    work(e, 0);
    CHECK(!head_of(e, "r").over && head_of(e, "r").seq == 1);   /* not even the answer was taken */
    CHECK_INT(parked(e), 1);
    CHECK_INT(done, 0);
    CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_HALTED);
    CHECK_INT(done, 1);
    pawl_engine_free(e);
}

PAWL_TEST(test_P1_what_may_not_be_gone_with_is_parked_before_anything_of_it_is_done)
{
    int done = 0, looked = 0;
    pawl_engine *e = engine_on(asks_in_a_mode(), pawl_store_memory(NULL), &done);
    pawl_delivery tame = { .id = "tame", .kind = PAWL_DELIVER_UPDATE, .value = { "{\"@mode\":\"tame\"}", 16 } };

    CHECK_INT(pawl_run(e, "wild", "{\"@mode\":\"wild\"}", NULL), PAWL_INTERRUPTED);
    CHECK_INT(pawl_run(e, "tamed", "{\"@mode\":\"wild\"}", NULL), PAWL_INTERRUPTED);
    CHECK_INT(pawl_run(e, "tame", "{\"@mode\":\"tame\"}", NULL), PAWL_INTERRUPTED);
    pawl_engine_admit(e, not_when_wild, &looked);
    answer(e, "wild");
    answer(e, "tamed");
    deliver(e, "tamed", &tame);     /* after the answer, and taken before it */
    answer(e, "tame");
    work(e, 0);
    CHECK(!head_of(e, "wild").over && head_of(e, "wild").seq == 1);     /* not even the answer was taken */
    CHECK(head_of(e, "tamed").over && head_of(e, "tame").over);
    CHECK_INT(done, 2);
    CHECK_INT(looked, 3);
    CHECK_INT(parked(e), 1);
    check_quiet(e);
    CHECK_INT(pawl_run(e, "wild", NULL, NULL), PAWL_HALTED);        /* who names it is not asked */
    CHECK_INT(done, 3);
    CHECK_INT(looked, 3);
    pawl_engine_free(e);
}
