/* sqlite_within_test.c - work of the caller's own in the transaction of an append: what it may, and whom it cannot hurt. */
#include "store/sqlite_file.h"

#include <stdio.h>
#include <time.h>

/* ---- a worker ---------------------------------------------------------------------------------------- */

typedef struct worker {
    pawl_store *s;              /* to be used, where that is tried; or NULL */
    const char *sql;            /* what it does */
    const char *then;           /* and does after that, whatever became of it; or NULL */
    bool careless;              /* it says PAWL_OK all the same */
    pawl_code says;             /* when all went well */
    int sleep_ms;
    pawl_code made_rc;
    int calls, mades;
    pawl_code saw;              /* what `made` was told of the work, and what a verb answered */
    pawl_bytes line;
    pawl_within within;
} worker;

static pawl_code work(void *ctx, void *sql, pawl_err *err)
{
    worker *w = ctx;
    int rc;

    (void)err;
    w->calls++;
    if (w->s != NULL) {
        pawl_head h;

        w->saw = w->s->verbs->head(w->s, "a", &h, NULL);
    }
    rc = sqlite3_exec(sql, w->sql, NULL, NULL, NULL);
    if (w->then != NULL)
        sqlite3_exec(sql, w->then, NULL, NULL, NULL);
    if (w->sleep_ms > 0)
        nanosleep(&(struct timespec){ w->sleep_ms / 1000, w->sleep_ms % 1000 * 1000000 }, NULL);
    return rc == SQLITE_OK || w->careless ? w->says : PAWL_EFFECT;
}

static pawl_code make(void *ctx, pawl_append *a)
{
    worker *w = ctx;

    w->mades++;
    a->lines = &w->line;
    a->nlines = 1;
    return w->made_rc;
}

static pawl_append worked(worker *w, const char *run, uint64_t fence)
{
    w->line = bytes(entry(1, "[]"));
    w->within = (pawl_within){ .work = work, .made = make, .ctx = w, .limit_ms = w->within.limit_ms };
    return (pawl_append){ .run = run, .fence = fence, .within = &w->within };
}

/* The numbers in table `t`, from another connection: "1 2 "; "-": there is none. */
static const char *rows(void)
{
    static char out[400];
    sqlite3_stmt *q = NULL;
    sqlite3 *db = NULL;
    size_t n = 0;

    out[0] = '\0';
    if (sqlite3_open(in_folder("a.pawl"), &db) != SQLITE_OK || sqlite3_prepare_v2(db, "SELECT n FROM t ORDER BY n", -1, &q, NULL) != SQLITE_OK)
        snprintf(out, sizeof out, "-");
    while (q != NULL && sqlite3_step(q) == SQLITE_ROW)
        n += (size_t)snprintf(out + n, sizeof out - n, "%lld ", (long long)sqlite3_column_int64(q, 0));
    sqlite3_finalize(q);
    sqlite3_close(db);
    return out;
}

#define MAKE "CREATE TABLE IF NOT EXISTS t(n INTEGER PRIMARY KEY);"

static pawl_store *with_table(void)
{
    pawl_store *s = file_fresh();
    sqlite3 *db = NULL;

    CHECK_INT(sqlite3_open(in_folder("a.pawl"), &db), SQLITE_OK);
    CHECK_INT(sqlite3_exec(db, MAKE, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    return s;
}

/* ---- together ------------------------------------------------------------------------------------------ */

PAWL_TEST(test_E4_rows_and_lines_are_there_together)
{
    pawl_store *s = file_fresh();
    worker w = { .sql = MAKE "INSERT INTO t VALUES(1)" };
    pawl_append a = worked(&w, "a", begun(s, "a", ""));

    CHECK_INT(put_one(s, &a), PAWL_OK);
    CHECK_STR(rows(), "1 ");
    CHECK_INT((int64_t)head(s, "a").seq, 1);
    CHECK_INT(w.within.rc, PAWL_OK);
    CHECK_INT(s->verbs->check(s, NULL), PAWL_OK);
    a.within = NULL;
    CHECK_INT(put_one(s, &a), PAWL_OK);         /* the same lines again: nothing is done again */
    CHECK_INT(w.calls, 1);
    pawl_store_free(s);
}

PAWL_TEST(test_E4_a_line_that_is_not_stored_takes_the_rows_with_it)
{
    pawl_store *s = with_table();
    uint64_t fence = begun(s, "a", "");
    worker w = { .sql = "INSERT INTO t VALUES(1)", .made_rc = PAWL_NOMEM };
    pawl_append a = worked(&w, "a", fence);

    CHECK_INT(s->verbs->append(s, &a, 1, NULL), PAWL_NOMEM);
    CHECK_STR(rows(), "");
    w.made_rc = PAWL_OK;
    a = worked(&w, "a", fence);
    w.line = bytes("no line\nat all");
    CHECK_INT(s->verbs->append(s, &a, 1, NULL), PAWL_INVALID);
    CHECK_STR(rows(), "");
    CHECK_INT((int64_t)head(s, "a").seq, 0);
    a = worked(&w, "a", fence);
    CHECK_INT(put_one(s, &a), PAWL_OK);
    CHECK_STR(rows(), "1 ");
    pawl_store_free(s);
}

PAWL_TEST(test_S2_who_does_not_hold_the_run_does_nothing)
{
    pawl_store *s = with_table();
    uint64_t fence = begun(s, "a", "");
    worker w = { .sql = "INSERT INTO t VALUES(1)" };
    pawl_append a = worked(&w, "a", fence + 1);

    CHECK_INT(put_one(s, &a), PAWL_FENCED);
    a = worked(&w, "a", fence);
    a.seq = 4;
    CHECK_INT(put_one(s, &a), PAWL_CONFLICT);
    a = worked(&w, "nobody", fence);
    CHECK_INT(put_one(s, &a), PAWL_GONE);
    CHECK_INT(w.calls + w.mades, 0);
    CHECK_INT(w.within.rc, PAWL_PENDING);
    CHECK_STR(rows(), "");
    pawl_store_free(s);
}

/* ---- what it may not ------------------------------------------------------------------------------------ */

/* Alone: its neighbours, before and after it, stand. */
static void check_taken_back(worker *bad, pawl_code rc, const char *why)
{
    pawl_store *s = with_table();
    worker first = { .sql = "INSERT INTO t VALUES(1)" }, last = { .sql = "INSERT INTO t VALUES(9)" };
    pawl_bytes line = bytes(entry(1, "[]"));
    pawl_append all[4];

    all[0] = worked(&first, "a", begun(s, "a", ""));
    all[1] = worked(bad, "b", begun(s, "b", ""));
    all[2] = (pawl_append){ .run = "c", .fence = begun(s, "c", ""), .lines = &line, .nlines = 1 };
    all[3] = worked(&last, "d", begun(s, "d", ""));
    CHECK_INT(s->verbs->append(s, all, 4, NULL), PAWL_OK);
    for (size_t i = 0; i < 4; i++) {
        CHECK_INT(all[i].rc, PAWL_OK);
        CHECK_INT((int64_t)head(s, all[i].run).seq, 1);         /* what came of it is told, good or bad */
    }
    CHECK_STR(rows(), "1 9 ");
    CHECK_INT(bad->within.rc, rc);
    if (strstr(bad->within.why.text, why) == NULL)
        CHECK_FAIL("%s: no \"%s\" in \"%s\"", bad->sql, why, bad->within.why.text);
    CHECK_INT(bad->calls, 1);
    CHECK_INT(first.within.rc, PAWL_OK);
    CHECK_INT(last.within.rc, PAWL_OK);
    CHECK_INT(s->verbs->check(s, NULL), PAWL_OK);
    pawl_store_free(s);
}

PAWL_TEST(test_E3_what_it_may_not_is_refused_and_taken_back_alone)
{
    static const struct { const char *sql, *why; } tries[] = {
        { "COMMIT", "COMMIT" }, { "ROLLBACK", "ROLLBACK" }, { "BEGIN", "BEGIN" }, { "END", "COMMIT" }, { "RELEASE pawl", "savepoint" },
        { "ROLLBACK TO pawl", "savepoint" }, { "SAVEPOINT PAWL", "savepoint" }, { "ATTACH ':memory:' AS x", "ATTACH" },
        { "DETACH main", "DETACH" }, { "PRAGMA synchronous=OFF", "PRAGMA synchronous" }, { "PRAGMA journal_mode=DELETE", "PRAGMA" },
        { "PRAGMA writable_schema=ON", "PRAGMA" }, { "PRAGMA wal_checkpoint", "PRAGMA" }, { "DELETE FROM entries", "table entries" },
        { "UPDATE HEADS SET seq=7", "table heads" }, { "SELECT count(*) FROM runs", "table runs" }, { "DROP TABLE stones", "table stones" },
        { "ALTER TABLE marks RENAME TO x", "table marks" }, { "CREATE INDEX x ON waits(id)", "table waits" },
        { "CREATE TRIGGER x AFTER INSERT ON entries BEGIN DELETE FROM t; END", "table entries" }, { "CREATE TEMP TABLE entries(x)", "table entries" },
        { "CREATE TEMP VIEW heads AS SELECT 1", "table heads" }, { "CREATE TEMP TABLE x(y); ALTER TABLE x RENAME TO heads", "ALTER TABLE temp" },
        { "CREATE TRIGGER x AFTER INSERT ON t BEGIN DELETE FROM runs; END; INSERT INTO t VALUES(6)", "table runs" },
        { "DELETE FROM sqlite_sequence", "sqlite_sequence" }, { "ANALYZE", "ANALYZE" }, { "REINDEX", "REINDEX" },
        { "SELECT load_extension('x')", "load_extension" },
    };

    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        worker bad = { .sql = text("INSERT INTO t VALUES(5); %s", tries[i].sql), .then = "INSERT INTO t VALUES(7)", .careless = true };

        check_taken_back(&bad, PAWL_INVALID, tries[i].why);
    }
}

PAWL_TEST(test_E3_an_error_is_never_passed_over)
{
    worker failed = { .sql = "INSERT INTO t VALUES(5); INSERT INTO t VALUES(5)" };
    worker careless = { .sql = "INSERT INTO t VALUES(5); INSERT INTO t VALUES(5)", .careless = true };
    worker odd = { .sql = "INSERT INTO t VALUES(5)", .says = PAWL_HALTED };
    worker own = { .sql = "INSERT INTO t VALUES(5)", .says = PAWL_TRANSIENT };

    check_taken_back(&failed, PAWL_EFFECT, "");
    check_taken_back(&careless, PAWL_EFFECT, "UNIQUE");
    check_taken_back(&odd, PAWL_INVALID, "not a result");
    check_taken_back(&own, PAWL_TRANSIENT, "");
}

/* SQLite gives up the transaction of all: those that were done are done again. */
PAWL_TEST(test_E3_one_that_ends_the_transaction_hurts_nobody)
{
    pawl_store *s = with_table();
    worker all[5];
    pawl_append a[5];

    for (int i = 0; i < 5; i++) {
        all[i] = (worker){ .sql = text("INSERT INTO t VALUES(%d)", i) };
        if (i % 2 == 1) {
            all[i].sql = "INSERT INTO t VALUES(50); INSERT OR ROLLBACK INTO t VALUES(50)";
            all[i].then = "INSERT INTO t VALUES(70)";          /* alone now: it must not be committed */
            all[i].careless = i == 1;
        }
        a[i] = worked(&all[i], text("r%d", i), begun(s, text("r%d", i), ""));
    }
    CHECK_INT(s->verbs->append(s, a, 5, NULL), PAWL_OK);
    CHECK_STR(rows(), "0 2 4 ");
    for (int i = 0; i < 5; i++) {
        CHECK_INT(a[i].rc, PAWL_OK);
        CHECK_INT(all[i].within.rc < 0, i % 2);
        CHECK_INT(all[i].mades, 1);
        CHECK_INT((int64_t)head(s, a[i].run).seq, 1);
    }
    CHECK_INT(all[0].calls, 3);
    CHECK_INT(all[4].calls, 1);
    CHECK_INT(s->verbs->check(s, NULL), PAWL_OK);
    pawl_store_free(s);
}

#define FOREVER "WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM x) "

PAWL_TEST(test_E8_what_takes_too_long_is_interrupted_and_taken_back_alone)
{
    worker reads = { .sql = "INSERT INTO t VALUES(5);" FOREVER "SELECT count(*) FROM x", .within = { .limit_ms = 20 }, .careless = true };
    worker writes = { .sql = "INSERT INTO t VALUES(5);" FOREVER "INSERT INTO t SELECT n+1000 FROM x", .then = "INSERT INTO t VALUES(6)",
                      .within = { .limit_ms = 20 }, .careless = true };
    worker sleeps = { .sql = "INSERT INTO t VALUES(5)", .sleep_ms = 40, .within = { .limit_ms = 20 } };

    check_taken_back(&reads, PAWL_TIMEOUT, "longer");
    check_taken_back(&writes, PAWL_TIMEOUT, "longer");
    check_taken_back(&sleeps, PAWL_TIMEOUT, "longer");
}

PAWL_TEST(test_S1_its_handle_is_not_for_use_meanwhile)
{
    pawl_store *s = with_table();
    worker w = { .s = s, .sql = "INSERT INTO t VALUES(1)" };
    pawl_append a = worked(&w, "a", begun(s, "a", ""));

    CHECK_INT(put_one(s, &a), PAWL_OK);
    CHECK_INT(w.saw, PAWL_INVALID);
    CHECK_STR(rows(), "1 ");
    pawl_store_free(s);
}

PAWL_TEST(test_S1_a_store_without_sql_refuses_it)
{
    pawl_store *s = pawl_store_memory(NULL);
    worker w = { .sql = "" };
    pawl_bytes line = bytes(entry(1, "[]"));
    pawl_append all[2];

    CHECK(s->verbs->sql == NULL);
    all[0] = worked(&w, "a", begun(s, "a", ""));
    all[1] = (pawl_append){ .run = "b", .fence = begun(s, "b", ""), .lines = &line, .nlines = 1 };
    CHECK_INT(s->verbs->append(s, all, 2, NULL), PAWL_OK);
    CHECK_INT(all[0].rc, PAWL_INVALID);
    CHECK_INT(all[1].rc, PAWL_OK);
    CHECK_INT(w.calls + w.mades, 0);
    pawl_store_free(s);
}

int main(int argc, char **argv)
{
    int rc;

    if (!folder_make())
        return 1;
    rc = check_main(argc, argv);
    folder_empty();
    rmdir(folder);
    return rc;
}
