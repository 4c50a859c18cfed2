/* engine_sql_test.c - effects with SQL of their own: their rows are there exactly when their receipts are. */
#include "lib/engine_fixture.h"
#include "store/place.h"

#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pawl_store *open_store(void)
{
    return pawl_store_sqlite(path, &(pawl_sqlite){ .normal = true }, NULL);
}

/* ---- a ledger ----------------------------------------------------------------------------------------- */

enum { ENTRIES = 6 };

/* Books 0 to ENTRIES-1 one after another; keeps what was refused. */
static pawl_code book_all(pawl_step *s, void *arg)
{
    (void)arg;
    for (int64_t i = 0; i < ENTRIES; i++) {
        const pawl_value *got = NULL;
        pawl_code rc = pawl_call(s, "book", pawl_pack(s, "{s:i}", "n", i), &got);

        if (rc != PAWL_OK && rc != PAWL_EFFECT)
            return rc;
        if (rc == PAWL_EFFECT)
            pawl_set(s, "refused", pawl_pack(s, "i", i));
    }
    return pawl_follow(s);
}

static pawl_machine *ledger(const pawl_limits *limits)
{
    pawl_graph *g = pawl_graph_new("ledger", 1);

    pawl_graph_channel(g, "refused", PAWL_RULE_APPEND);
    if (limits != NULL)
        pawl_graph_effect(g, "book", limits);
    pawl_graph_node(g, "all", book_all, NULL);
    pawl_graph_chain(g, PAWL_START, "all", PAWL_END, NULL);
    return pawl_graph_compile(g, NULL);
}

typedef struct clerk {
    int calls;
    int64_t refuse, flaky;      /* these numbers; -1: none */
    int flakes;                 /* so often */
    const char *extra;          /* SQL after the booking */
    const char *reply;
} clerk;

static const clerk willing = { 0, -1, -1, 0, NULL, NULL };

static pawl_code book(const pawl_job *job, pawl_reply *reply, void *arg)
{
    clerk *c = arg;
    sqlite3 *db = pawl_ctx_sql(job);
    sqlite3_stmt *q = NULL;
    int64_t n = pawl_value_int(pawl_value_get(job->args, "n"));
    int rc;

    c->calls++;
    if (db == NULL)
        return pawl_reply_fail(reply, PAWL_INVALID, "no SQL");
    sqlite3_exec(db, "CREATE TABLE IF NOT EXISTS booked(id TEXT, n INTEGER)", NULL, NULL, NULL);
    if (sqlite3_prepare_v2(db, "INSERT INTO booked VALUES(?1,?2)", -1, &q, NULL) != SQLITE_OK)
        return pawl_reply_fail(reply, PAWL_EFFECT, "%s", sqlite3_errmsg(db));
    sqlite3_bind_text(q, 1, job->id, -1, SQLITE_STATIC);
    sqlite3_bind_int64(q, 2, n);
    rc = sqlite3_step(q);
    sqlite3_finalize(q);
    if (rc == SQLITE_DONE && c->extra != NULL)
        sqlite3_exec(db, c->extra, NULL, NULL, NULL);
    if (n == c->refuse)
        return pawl_reply_fail(reply, PAWL_DENIED, "not that one");
    if (n == c->flaky && c->flakes > 0)
        return c->flakes--, pawl_reply_fail(reply, PAWL_TRANSIENT, "not now");
    return c->reply != NULL ? pawl_reply_json(reply, c->reply) : pawl_reply_int(reply, n * 10);
}

/* What is booked: "0 1 2 "; each once, under the id of its command. */
static const char *booked(void)
{
    static char out[400];
    sqlite3_stmt *q = NULL;
    sqlite3 *db = NULL;
    size_t n = 0;

    out[0] = '\0';
    CHECK_INT(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_prepare_v2(db, "SELECT n FROM booked ORDER BY rowid", -1, &q, NULL);
    while (q != NULL && sqlite3_step(q) == SQLITE_ROW)
        n += (size_t)snprintf(out + n, sizeof out - n, "%lld ", (long long)sqlite3_column_int64(q, 0));
    sqlite3_finalize(q);
    sqlite3_close(db);
    return out;
}

static void town_books(town *t, clerk *c, const pawl_limits *limits)
{
    path_new("engine-sql");
    town_begin(t, ledger(limits), open_store());
    CHECK_INT(pawl_engine_sql(t->e, "book", book, c, 0, &t->err), PAWL_OK);
}

/* ---- what comes of it ------------------------------------------------------------------------------------- */

PAWL_TEST(test_E4_rows_and_receipt_are_one)
{
    static const pawl_class classes[] = { PAWL_CLASS_PURE, PAWL_CLASS_IDEMPOTENT, PAWL_CLASS_AT_LEAST_ONCE, PAWL_CLASS_ONCE };

    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        clerk c = willing;
        town t;

        town_books(&t, &c, &(pawl_limits){ .cls = classes[i] });
        CHECK_INT(town_run(&t, "run", NULL), PAWL_HALTED);
        CHECK_STR(booked(), "0 1 2 3 4 5 ");
        CHECK_STR(pawl_run_get(t.e, "run", "refused"), "");
        CHECK_INT(c.calls, ENTRIES);
        CHECK(town_stored(&t, "run", "50"));
        town_verify(&t, "run");
        town_end(&t);
    }
    path_gone();
}

PAWL_TEST(test_E12_one_that_fails_leaves_a_receipt_and_no_row)
{
    clerk c = willing;
    town t;

    c.refuse = 2;
    town_books(&t, &c, NULL);
    CHECK_INT(town_run(&t, "run", NULL), PAWL_HALTED);
    CHECK_STR(booked(), "0 1 3 4 5 ");
    CHECK_STR(pawl_run_get(t.e, "run", "refused"), "[2]");
    CHECK(town_stored(&t, "run", "not that one"));
    town_verify(&t, "run");
    town_end(&t);
    path_gone();
}

PAWL_TEST(test_E12_what_it_may_not_and_what_is_no_reply_leave_no_row)
{
    static const struct { const char *extra, *reply, *told; } tries[] = {
        { "COMMIT", NULL, "may not use COMMIT" }, { "DELETE FROM entries", NULL, "table entries" }, { "SELECT nothing", NULL, "left an error" },
        { "INSERT OR ROLLBACK INTO booked(rowid) VALUES(1),(1)", NULL, "ended the transaction" }, { NULL, "{", "book: " },
        { "WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM x) INSERT INTO booked SELECT n,n FROM x", NULL,
          "longer than its attempt_timeout_ms allows" },
    };

    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        clerk c = willing;
        town t;

        c.extra = tries[i].extra;
        c.reply = tries[i].reply;
        town_books(&t, &c, &(pawl_limits){ .cls = PAWL_CLASS_ONCE, .attempt_timeout_ms = 30 });
        CHECK_INT(town_run(&t, "run", NULL), PAWL_HALTED);
        CHECK_STR(booked(), "");
        CHECK_STR(pawl_run_get(t.e, "run", "refused"), "[0,1,2,3,4,5]");
        if (!town_stored(&t, "run", tries[i].told))
            CHECK_FAIL("no \"%s\" in %s", tries[i].told, town_journal(&t, "run").data);
        town_verify(&t, "run");
        town_end(&t);
    }
    path_gone();
}

PAWL_TEST(test_X2_a_reply_over_the_limit_leaves_no_row)
{
    clerk c = willing;
    char *large = malloc(3 << 20);
    town t;

    CHECK(large != NULL);
    memset(large, '7', (3 << 20) - 1);
    large[0] = large[(3 << 20) - 2] = '"';
    large[(3 << 20) - 1] = '\0';
    c.reply = large;
    town_books(&t, &c, NULL);
    pawl_engine_reply_max(t.e, 1 << 20);
    CHECK_INT(town_run(&t, "run", NULL), PAWL_HALTED);
    CHECK_STR(booked(), "");
    CHECK_STR(pawl_run_get(t.e, "run", "refused"), "[0,1,2,3,4,5]");
    CHECK(town_stored(&t, "run", "reply_bytes_max"));
    town_end(&t);
    free(large);
    path_gone();
}

PAWL_TEST(test_E7_it_is_tried_again_from_nothing)
{
    clerk c = willing;
    town t;

    c.flaky = 1;
    c.flakes = 2;
    town_books(&t, &c, &(pawl_limits){ .cls = PAWL_CLASS_ONCE, .retry = { .max_attempts = 3, .initial_ms = 100, .factor = 2 } });
    CHECK_INT(town_run(&t, "run", NULL), PAWL_HALTED);
    town_log(&t, "sleep 100; sleep 200; ");
    CHECK_STR(booked(), "0 1 2 3 4 5 ");
    CHECK_INT(c.calls, ENTRIES + 2);
    town_end(&t);
    c.flakes = 3;
    town_books(&t, &c, &(pawl_limits){ .retry = { .max_attempts = 3, .initial_ms = 100, .factor = 2 } });
    CHECK_INT(town_run(&t, "run", NULL), PAWL_HALTED);
    CHECK_STR(booked(), "0 2 3 4 5 ");
    CHECK_STR(pawl_run_get(t.e, "run", "refused"), "[1]");
    town_end(&t);
    path_gone();
}

static pawl_code hold_the_file(const pawl_job *job, pawl_reply *reply, void *arg)
{
    (void)job, (void)reply, (void)arg;
    return PAWL_PENDING;
}

PAWL_TEST(test_E5_only_a_store_with_sql_and_only_such_a_function)
{
    clerk c = willing;
    town t;

    town_begin(&t, ledger(NULL), NULL);
    CHECK_INT(pawl_engine_sql(t.e, "book", book, &c, 0, &t.err), PAWL_INVALID);
    CHECK_STR(t.err.text, "ledger: effect \"book\" wants SQL in the store's transaction, and a store of kind \"memory\" has none: open a SQLite store");
    CHECK_INT(pawl_engine_effect(t.e, "book", book, &c, PAWL_CLASS_AT_LEAST_ONCE, NULL), PAWL_OK);
    t.err = (pawl_err){ PAWL_OK, "" };
    CHECK_INT(town_run(&t, "run", NULL), PAWL_HALTED);
    CHECK(town_stored(&t, "run", "no SQL"));            /* an ordinary handler is given none */
    town_end(&t);
    town_books(&t, &c, NULL);
    CHECK_INT(pawl_engine_sql(t.e, "b k", book, &c, 0, NULL), PAWL_INVALID);
    CHECK_INT(pawl_engine_sql(t.e, "book", NULL, &c, 0, NULL), PAWL_INVALID);
    CHECK_INT(pawl_engine_sql(t.e, "book", book, &c, -1, NULL), PAWL_INVALID);
    CHECK_INT(pawl_engine_sql(NULL, "book", book, &c, 0, NULL), PAWL_INVALID);
    CHECK(pawl_ctx_sql(NULL) == NULL);
    CHECK_INT(pawl_engine_sql(t.e, "book", hold_the_file, NULL, 0, NULL), PAWL_OK);
    CHECK_INT(town_run(&t, "run", NULL), PAWL_HALTED);
    CHECK(town_stored(&t, "run", "which is no result"));
    town_end(&t);
    path_gone();
}

/* Another program has the file locked: nothing is lost, and nothing is done twice when it lets go. */
PAWL_TEST(test_S4_while_the_file_is_locked_nothing_happens)
{
    clerk c = willing;
    sqlite3 *other = NULL;
    town t;

    path_new("engine-sql");
    town_begin(&t, ledger(NULL), pawl_store_sqlite(path, &(pawl_sqlite){ .normal = true, .busy_ms = 20 }, NULL));
    CHECK_INT(pawl_begin(t.e, "run", NULL, &t.err), PAWL_OK);
    CHECK_INT(pawl_engine_sql(t.e, "book", book, &c, 0, &t.err), PAWL_OK);
    CHECK_INT(sqlite3_open(path, &other), SQLITE_OK);
    CHECK_INT(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    CHECK_INT(town_run(&t, "run", NULL), PAWL_TRANSIENT);
    CHECK_INT(c.calls, 0);
    sqlite3_close(other);
    CHECK_INT(town_run(&t, "run", NULL), PAWL_HALTED);
    CHECK_STR(booked(), "0 1 2 3 4 5 ");
    town_end(&t);
    path_gone();
}

static int fail_commit(void *ctx)
{
    return (*(int *)ctx)-- > 0;
}

static pawl_code book_in_vain(const pawl_job *job, pawl_reply *reply, void *arg)
{
    static int fails;
    clerk *c = arg;

    if (c->flakes > 0) {
        fails = 1;
        c->flakes--;
        sqlite3_commit_hook(pawl_ctx_sql(job), fail_commit, &fails);
    }
    return book(job, reply, arg);
}

PAWL_TEST(test_E4_what_is_not_committed_never_happened_and_is_done_again)
{
    clerk c = willing;
    town t;

    c.flakes = 3;
    c.refuse = 1;
    town_books(&t, &c, &(pawl_limits){ .cls = PAWL_CLASS_ONCE });
    CHECK_INT(pawl_engine_sql(t.e, "book", book_in_vain, &c, 0, &t.err), PAWL_OK);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(town_run(&t, "run", NULL), PAWL_IO);
        CHECK_STR(booked(), "");
        CHECK(!town_stored(&t, "run", "\"receipt\","));
    }
    CHECK_INT(town_run(&t, "run", NULL), PAWL_HALTED);
    CHECK_STR(booked(), "0 2 3 4 5 ");
    CHECK_INT(c.calls, ENTRIES + 3);
    town_verify(&t, "run");
    town_end(&t);
    path_gone();
}

/* ---- many -------------------------------------------------------------------------------------------------- */

static pawl_code refuse_some(const pawl_job *job, pawl_reply *reply, void *arg)
{
    clerk *c = arg;

    c->extra = strncmp(job->id, "run-3~", 6) == 0 ? "COMMIT" : strncmp(job->id, "run-5~", 6) == 0
        ? "INSERT OR ROLLBACK INTO booked(rowid) VALUES(1),(1)" : NULL;
    return book(job, reply, arg);
}

PAWL_TEST(test_E3_a_function_that_fails_hurts_no_other_run)
{
    enum { RUNS = 12 };
    clerk c = willing;
    char id[16];
    town t;

    town_books(&t, &c, NULL);
    pawl_engine_clock(t.e, NULL);
    pawl_engine_threads(t.e, 2);
    CHECK_INT(pawl_engine_sql(t.e, "book", refuse_some, &c, 0, &t.err), PAWL_OK);
    for (int i = 0; i < RUNS; i++) {
        snprintf(id, sizeof id, "run-%d", i);
        CHECK_INT(pawl_begin(t.e, id, NULL, &t.err), PAWL_OK);
    }
    CHECK_INT(pawl_work(t.e, 0, &t.err), PAWL_OK);
    for (int i = 0; i < RUNS; i++) {
        snprintf(id, sizeof id, "run-%d", i);
        CHECK_INT(pawl_state_status(pawl_run_state(t.e, id, NULL)), PAWL_STATUS_COMPLETED);
        CHECK_STR(pawl_run_get(t.e, id, "refused"), i == 3 || i == 5 ? "[0,1,2,3,4,5]" : "");
        town_verify(&t, id);
    }
    CHECK_INT((int64_t)strlen(booked()), 2 * ENTRIES * (RUNS - 2));
    town_end(&t);
    path_gone();
}

/* ---- kill -9 ------------------------------------------------------------------------------------------------ */

static void drive_in_child(void)
{
    clerk c = willing;
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e = pawl_engine_new(ledger(&(pawl_limits){ .cls = PAWL_CLASS_ONCE }), pawl_store_sqlite(path, NULL, &err), &err);
    pawl_code rc;

    pawl_engine_sql(e, "book", book, &c, 0, &err);
    if ((rc = pawl_run(e, "run", NULL, &err)) != PAWL_HALTED)
        fprintf(stderr, "%s: %s\n", pawl_code_name(rc), err.text);
    _exit(rc == PAWL_HALTED ? 0 : 1);
}

static bool see_line(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    static const char receipt[] = "\"receipt\",";

    (void)kind, (void)seq;
    for (size_t i = 0; i + sizeof receipt <= line.size; i++)
        *(int *)ctx += memcmp(line.data + i, receipt, sizeof receipt - 1) == 0;
    return true;
}

/* As many rows as receipts, and these are the first numbers. */
static void check_so_far(void)
{
    static const char all[] = "0 1 2 3 4 5 ";
    pawl_store *s = open_store();
    char had[sizeof all];
    int receipts = 0;

    CHECK(s != NULL);
    if (s->verbs->read(s, "run", 0, 0, see_line, &receipts, NULL) == PAWL_GONE)
        receipts = 0;
    CHECK_INT(s->verbs->check(s, NULL), PAWL_OK);
    pawl_store_free(s);
    CHECK(receipts <= ENTRIES);
    snprintf(had, sizeof had, "%.*s", receipts * 2, all);
    CHECK_STR(booked(), had);
}

PAWL_TEST(test_E4_killed_at_any_moment_rows_are_there_if_and_only_if_receipts_are)
{
    unsigned seed = (unsigned)check_seed();
    int total = 0, rounds = check_run_all() ? 60 : 6;

    for (int round = 0; round < rounds; round++) {
        int status = -1, kills = 0;

        path_new("engine-sql");
        for (; status != 0; kills++) {
            uint64_t most = 8000000 + (uint64_t)kills * 10000000, ns;
            struct timespec t;
            pid_t child = fork();

            if (child == 0)
                drive_in_child();
            seed = seed * 1103515245 + 12345;
            ns = (seed >> 8) * most >> 24;
            t = (struct timespec){ (time_t)(ns / 1000000000), (long)(ns % 1000000000) };
            nanosleep(&t, NULL);
            kill(child, SIGKILL);
            waitpid(child, &status, 0);
            if (WIFEXITED(status))
                CHECK_INT(WEXITSTATUS(status), 0);
            check_so_far();
        }
        total += kills;
        CHECK_STR(booked(), "0 1 2 3 4 5 ");
        path_gone();
    }
    printf("%d kills in %d runs\n", total, rounds);
}
