/* anchor_test.c - heads of journals are kept outside of the store, and what the store no longer bears out is found (P12). */
#include "engine/engine.h"
#include "history/anchor.h"
#include "lib/check.h"
#include "lib/pieces.h"
#include "pawl/graph.h"
#include "store/place.h"

#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- a run that works, asks and acts ------------------------------------------------------------------------------- */

static pawl_code acts(pawl_step *s, void *arg)
{
    const pawl_value *answer;
    pawl_code rc = pawl_ask(s, pawl_pack(s, "s", "Ship it?"), &answer);

    (void)arg;
    if (rc == PAWL_OK)
        rc = pawl_call(s, "ship", NULL, NULL);
    return rc == PAWL_OK ? pawl_follow(s) : rc;
}

static pawl_machine *shipper(void)
{
    pawl_graph *g = pawl_graph_new("shipper", 1);

    pawl_graph_channel(g, "draft", PAWL_RULE_LAST);
    pawl_graph_work(g, "draft", "draft");
    pawl_graph_node(g, "ship", acts, NULL);
    pawl_graph_chain(g, PAWL_START, "draft", "ship", PAWL_END, NULL);
    return pawl_graph_compile(g, NULL);
}

typedef struct shelf { buf lines; size_t calls, heads; bool broken, deadly, shipped; size_t heads_at_ship; uint64_t records; } shelf;

static pawl_code keep(void *ctx, const char *store, const pawl_anchor *heads, size_t n, pawl_err *err)
{
    shelf *s = ctx;
    char line[PAWL_ANCHOR_LINE_BYTES];

    if (s->deadly)
        raise(SIGKILL);
    if (s->broken)
        return fail(err, PAWL_IO, "the shelf is broken");
    s->calls++;
    s->heads += n;
    for (size_t i = 0; i < n; i++) {
        CHECK_INT(pawl_anchor_line(store, &heads[i], 1000 + (int64_t)s->heads, line, NULL), PAWL_OK);
        buf_text(&s->lines, line);
        s->records = heads[i].records;
    }
    buf_char(&s->lines, '\0');          /* beyond its end, for those who look for a text in it */
    s->lines.size--;
    return PAWL_OK;
}

static pawl_code drafts(const pawl_job *job, pawl_reply *reply, void *arg)
{
    (void)job, (void)arg;
    return pawl_reply_json(reply, "{\"draft\":\"first\"}");
}

static pawl_code ships(const pawl_job *job, pawl_reply *reply, void *arg)
{
    shelf *s = arg;

    (void)job;
    s->shipped = true;
    s->heads_at_ship = s->heads;
    return pawl_reply_json(reply, "{}");
}

static pawl_engine *engine_at(const char *file, shelf *s, bool anchors)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e = pawl_engine_new(shipper(), pawl_store_sqlite(file, NULL, &err), &err);

    if (e == NULL || pawl_engine_effect(e, "draft", drafts, s, PAWL_CLASS_AT_LEAST_ONCE, &err) != PAWL_OK ||
        pawl_engine_effect(e, "ship", ships, s, PAWL_CLASS_AT_LEAST_ONCE, &err) != PAWL_OK ||
        (anchors && pawl_engine_anchor(e, keep, s, &err) != PAWL_OK))
        CHECK_FAIL("engine: %s", err.text);
    return e;
}

static void shelf_new(shelf *s)
{
    *s = (shelf){ .broken = false };
    buf_init(&s->lines, NULL);
}

/* ---- what is found ------------------------------------------------------------------------------------------------- */

typedef struct finds { char what[512]; pawl_anchored sum; } finds;
static void see(void *ctx, const pawl_anchor_finding *f)
{
    finds *k = ctx;
    const size_t n = strlen(k->what);

    CHECK(f->text != NULL && *f->text != '\0' && strchr(f->text, '\n') == NULL);
    snprintf(k->what + n, sizeof k->what - n, "%s %s %llu; ", pawl_anchor_fault_name(f->fault), f->run != NULL ? f->run : "-",
             f->fault == PAWL_ANCHOR_NONSENSE ? (unsigned long long)f->line : (unsigned long long)f->seq);
}

static void compare_text(const char *file, const char *text, size_t size, const char *expected, finds *k)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_store *s = pawl_store_sqlite(file, NULL, &err);

    CHECK(s != NULL);
    for (size_t each = 1; each < 100000; each *= 97) {
        pieces p = { text, size, each };

        *k = (finds){ .what = "" };
        if (pawl_history_anchored(s, NULL, piece, &p, see, k, &k->sum, &err) != PAWL_OK)
            CHECK_FAIL("%s", err.text);
        CHECK_STR(k->what, expected);
    }
    pawl_store_free(s);
}

static void compare(const char *file, const shelf *s, const char *expected, finds *k)
{
    compare_text(file, s->lines.data, s->lines.size, expected, k);
}

/* The journal is good for whoever does not know what it was. */
static void chain_is_good(const char *file, const char *run)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_store *s = pawl_store_sqlite(file, NULL, &err);
    pawl_verdict v;

    CHECK(s != NULL);
    if (pawl_history_verify(s, NULL, run, &v, &err) != PAWL_OK)
        CHECK_FAIL("%s", err.text);
    pawl_store_free(s);
}

static void sql(const char *file, const char *text)
{
    sqlite3 *db;
    char *why = NULL;

    CHECK_INT(sqlite3_open(file, &db), SQLITE_OK);
    if (sqlite3_exec(db, text, NULL, NULL, &why) != SQLITE_OK)
        CHECK_FAIL("%s: %s", text, why);
    sqlite3_close(db);
}

/* Changes the last byte of an entry of the first run; a row may have any bytes, so SQL on texts would not find all of it. */
static void entry_flip(const char *file, int seq)
{
    sqlite3_stmt *q;
    sqlite3_blob *b;
    sqlite3 *db;
    char byte;

    CHECK_INT(sqlite3_open(file, &db), SQLITE_OK);
    CHECK_INT(sqlite3_prepare_v2(db, "SELECT lsn FROM entries WHERE run=1 AND seq=?1", -1, &q, NULL), SQLITE_OK);
    CHECK_INT(sqlite3_bind_int(q, 1, seq), SQLITE_OK);
    CHECK_INT(sqlite3_step(q), SQLITE_ROW);
    CHECK_INT(sqlite3_blob_open(db, "main", "entries", "body", sqlite3_column_int64(q, 0), 1, &b), SQLITE_OK);
    CHECK_INT(sqlite3_blob_read(b, &byte, 1, sqlite3_blob_bytes(b) - 1), SQLITE_OK);
    byte ^= 1;
    CHECK_INT(sqlite3_blob_write(b, &byte, 1, sqlite3_blob_bytes(b) - 1), SQLITE_OK);
    CHECK_INT(sqlite3_blob_close(b), SQLITE_OK);
    sqlite3_finalize(q);
    sqlite3_close(db);
}

static void copy(const char *from, const char *to)
{
    char text[300];

    unlink(to);
    snprintf(text, sizeof text, "VACUUM INTO '%s'", to);
    sql(from, text);
}

static bool see_line(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    (void)ctx, (void)kind, (void)seq, (void)line;
    return true;
}

static char other[110];

static void begin(shelf *s)
{
    path_new("anchor");
    snprintf(other, sizeof other, "%s.other", path);
    shelf_new(s);
}

static void end(shelf *s)
{
    buf_free(&s->lines);
    path_gone();
}

/* To its gate, then to its end. */
static void ran(shelf *s, const char *run, bool anchors)
{
    pawl_engine *e = engine_at(path, s, anchors);

    CHECK_INT(pawl_run(e, run, NULL, NULL), PAWL_INTERRUPTED);
    CHECK_INT(pawl_answer(e, run, NULL, "true", NULL), PAWL_HALTED);
    pawl_engine_free(e);
}

/* ---- when heads are kept ---------------------------------------------------------------------------------------------- */

PAWL_TEST(test_P12_a_head_is_kept_where_a_run_waits_acts_and_ends)
{
    shelf s;
    finds k;

    begin(&s);
    ran(&s, "r", true);
    CHECK(s.shipped);
    CHECK_INT(s.heads_at_ship, 2);      /* where it waited; and the answer, before anything was done on it */
    CHECK_INT(s.heads, 3);
    compare(path, &s, "", &k);
    CHECK_INT(k.sum.lines, 3);
    CHECK_INT(k.sum.good, 1);
    CHECK(!k.sum.rolled_back);
    CHECK(strstr(s.lines.data, "\"status\":\"input-required\"") != NULL && strstr(s.lines.data, "\"status\":\"completed\"") != NULL);
    end(&s);
}

PAWL_TEST(test_P12_what_was_never_anchored_is_counted)
{
    shelf s;
    finds k;

    begin(&s);
    ran(&s, "known", true);
    ran(&s, "unknown", false);
    compare(path, &s, "", &k);
    CHECK_INT(k.sum.unanchored, 1);
    CHECK_INT(k.sum.runs, 1);
    end(&s);
}

PAWL_TEST(test_P12_many_runs_of_a_worker_share_a_call)
{
    enum { RUNS = 300 };
    char id[16];
    pawl_engine *e;
    shelf s;
    finds k;

    begin(&s);
    e = engine_at(path, &s, true);
    for (int i = 0; i < RUNS; i++) {
        snprintf(id, sizeof id, "r%d", i);
        CHECK_INT(pawl_begin(e, id, NULL, NULL), PAWL_OK);
    }
    CHECK_INT(pawl_work(e, 0, NULL), PAWL_OK);
    pawl_engine_free(e);
    CHECK(s.heads >= RUNS && s.calls < RUNS / 4);
    compare(path, &s, "", &k);
    CHECK_INT(k.sum.good, RUNS);
    CHECK_INT(k.sum.unanchored + k.sum.ahead, 0);
    end(&s);
}

/* ---- what was done to the store ------------------------------------------------------------------------------------ */

PAWL_TEST(test_P12_a_journal_that_was_cut_is_found)
{
    shelf s;
    finds k;

    begin(&s);
    ran(&s, "r", true);
    sql(path, "DELETE FROM entries WHERE run=1 AND (seq=3 OR seq IS NULL); DELETE FROM snapshots;"
              "UPDATE heads SET seq=2, status=1, over=0, lsn=(SELECT max(lsn) FROM entries WHERE run=1);"
              "UPDATE meta SET value=(SELECT max(lsn) FROM entries) WHERE name='watermark';"
              "UPDATE waits SET over=0, answer=NULL, delivery=NULL; UPDATE heads SET waits=1, status=2;");
    chain_is_good(path, "r");
    compare(path, &s, "cut r 2; ", &k);         /* the answer was a task record after entry 2 */
    CHECK(k.sum.rolled_back);
    end(&s);
}

PAWL_TEST(test_P12_a_new_chain_is_found)
{
    pawl_engine *e;
    shelf s, none;
    finds k;

    begin(&s);
    shelf_new(&none);
    e = engine_at(path, &s, true);
    CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_INTERRUPTED);
    copy(path, other);
    CHECK_INT(pawl_answer(e, "r", NULL, "true", NULL), PAWL_HALTED);
    pawl_engine_free(e);
    e = engine_at(other, &none, false);
    CHECK_INT(pawl_answer(e, "r", NULL, "\"as I please\"", NULL), PAWL_HALTED);
    pawl_engine_free(e);
    chain_is_good(other, "r");
    compare(path, &s, "", &k);
    compare(other, &s, "rewritten r 2; ", &k);
    CHECK(!k.sum.rolled_back);
    end(&s);
}

PAWL_TEST(test_P12_an_old_copy_is_found)
{
    shelf s;
    finds k;

    begin(&s);
    ran(&s, "a", true);
    copy(path, other);
    ran(&s, "b", true);
    ran(&s, "c", true);
    compare(path, &s, "", &k);
    compare(other, &s, "missing b 2; missing c 2; ", &k);
    CHECK(k.sum.rolled_back);
    CHECK_INT(k.sum.since, 4);
    CHECK_INT(k.sum.good, 1);
    end(&s);
}

/* What an older copy cannot explain is no older copy. */
PAWL_TEST(test_P12_a_damaged_journal_is_not_rolled_back)
{
    shelf s;
    finds k;

    begin(&s);
    ran(&s, "a", true);
    ran(&s, "b", true);
    sql(path, "DELETE FROM runs WHERE id='b'; DELETE FROM heads WHERE no=2;");
    compare(path, &s, "missing b 2; ", &k);
    CHECK(k.sum.rolled_back);
    entry_flip(path, 1);
    compare(path, &s, "damaged a 1; missing b 2; ", &k);
    CHECK(!k.sum.rolled_back);
    end(&s);
}

PAWL_TEST(test_P12_a_run_that_was_taken_out_is_found)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_store *store;
    pawl_anchor head;
    shelf s;
    finds k;

    begin(&s);
    ran(&s, "a", true);
    ran(&s, "b", true);
    ran(&s, "c", true);
    store = pawl_store_sqlite(path, NULL, &err);
    CHECK_INT(pawl_anchor_of(store, "c", &head, &err), PAWL_OK);
    head.removed = true;
    CHECK_INT(keep(&s, store->verbs->id(store, NULL), &head, 1, &err), PAWL_OK);
    pawl_store_free(store);
    sql(path, "DELETE FROM runs WHERE id IN ('a','c'); DELETE FROM heads WHERE no IN (1,3);");
    compare(path, &s, "missing a 2; ", &k);
    CHECK_INT(k.sum.removed, 1);
    CHECK(!k.sum.rolled_back);
    ran(&s, "a", false);        /* another one has its id now */
    compare(path, &s, "missing a 2; ", &k);
    end(&s);
}

PAWL_TEST(test_P12_what_its_retention_removed_is_not_missing)
{
    pawl_engine *e;
    shelf s;
    finds k;

    begin(&s);
    e = engine_at(path, &s, true);
    CHECK_INT(pawl_run_with(e, &(pawl_run_info){ .id = "r", .retention = "delete" }, NULL, NULL), PAWL_INTERRUPTED);
    CHECK_INT(pawl_answer(e, "r", NULL, "true", NULL), PAWL_HALTED);
    pawl_engine_free(e);
    CHECK(strstr(s.lines.data, "\"retention\":\"delete\"") != NULL);
    compare(path, &s, "", &k);
    CHECK_INT(k.sum.removed, 1);
    end(&s);
}

PAWL_TEST(test_P12_a_journal_that_begins_after_its_anchors_is_found)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_step *step = pawl_step_new(NULL);
    pawl_claim c = { .run = "r" };
    pawl_state *st = NULL;
    pawl_store *store;
    pawl_anchor head;
    pawl_bytes base;
    pawl_engine *e;
    shelf s;
    finds k;

    begin(&s);
    e = engine_at(path, &s, true);
    CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_INTERRUPTED);
    pawl_engine_free(e);
    e = engine_at(path, &s, false);
    CHECK_INT(pawl_answer(e, "r", NULL, "true", NULL), PAWL_HALTED);
    pawl_engine_free(e);
    compare(path, &s, "", &k);
    CHECK_INT(k.sum.ahead, 1);
    store = pawl_store_sqlite(path, NULL, &err);
    CHECK_INT(pawl_anchor_of(store, "r", &head, &err), PAWL_OK);
    CHECK_INT(store->verbs->claim(store, "me", 1000, &c, 1, &err), PAWL_OK);
    CHECK_INT(pawl_history_state(store, "r", 3, &st, &err), PAWL_OK);
    CHECK_INT(pawl_state_prune(st, step, &base, &err), PAWL_OK);
    CHECK_INT(store->verbs->prune(store, "r", c.head.fence, 3, base, &err), PAWL_OK);
    compare(path, &s, "pruned r 2; ", &k);
    CHECK_INT(keep(&s, store->verbs->id(store, NULL), &head, 1, &err), PAWL_OK);
    compare(path, &s, "", &k);
    CHECK_INT(k.sum.good, 1);
    pawl_state_free(st);
    pawl_store_free(store);
    pawl_step_free(step);
    end(&s);
}

PAWL_TEST(test_P12_the_hash_in_a_row_proves_nothing)
{
    shelf s;
    finds k;

    begin(&s);
    ran(&s, "r", true);
    entry_flip(path, 2);
    compare(path, &s, "damaged r 2; ", &k);
    end(&s);
}

/* ---- what needs none --------------------------------------------------------------------------------------------- */

static pawl_code grows(pawl_step *s, void *arg)
{
    const pawl_value *draft;
    pawl_code rc = pawl_call(s, "draft", NULL, &draft);

    (void)arg;
    if (rc != PAWL_OK)
        return rc;
    pawl_set(s, "draft", pawl_pack(s, "s", pawl_format(s, "%0500lld", (long long)pawl_get_int(s, "n"))));
    pawl_set_int(s, "n", 1);
    return pawl_goto(s, pawl_get_int(s, "n") < 400 ? "grow" : PAWL_END);
}

/* The name of a snapshot is an update of the engine itself: nobody has said anything. */
PAWL_TEST(test_P12_a_snapshot_needs_no_anchor)
{
    pawl_graph *g = pawl_graph_new("grower", 1);
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e;
    shelf s;
    finds k;

    begin(&s);
    pawl_graph_channel(g, "draft", PAWL_RULE_LAST);
    pawl_graph_channel(g, "n", PAWL_RULE_SUM);
    pawl_graph_node(g, "grow", grows, NULL);
    pawl_graph_goto(g, "grow", "grow", PAWL_END, NULL);
    pawl_graph_edge(g, PAWL_START, "grow");
    e = pawl_engine_new(pawl_graph_compile(g, &err), pawl_store_sqlite(path, NULL, &err), &err);
    CHECK(e != NULL && pawl_engine_effect(e, "draft", drafts, &s, PAWL_CLASS_AT_LEAST_ONCE, &err) == PAWL_OK && pawl_engine_anchor(e, keep, &s,
        &err) == PAWL_OK);
    CHECK_INT(pawl_run(e, "r", NULL, &err), PAWL_HALTED);
    CHECK(pawl_engine_store(e)->verbs->snapshot(pawl_engine_store(e), "r", see_line, &k, &err) == PAWL_OK);
    CHECK_INT(s.calls, 1);              /* its end */
    pawl_engine_free(e);
    end(&s);
}

/* ---- an anchor that fails ---------------------------------------------------------------------------------------- */

PAWL_TEST(test_P12_without_an_anchor_nothing_more_is_done)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e;
    pawl_head head;
    shelf s;
    finds k;

    begin(&s);
    e = engine_at(path, &s, true);
    CHECK_INT(pawl_run(e, "r", NULL, &err), PAWL_INTERRUPTED);
    s.broken = true;
    CHECK_INT(pawl_answer(e, "r", NULL, "true", &err), PAWL_IO);
    CHECK(strncmp(err.text, "r: its head is stored, but cannot be anchored, so nothing more of it is performed: the shelf is broken", 60) == 0);
    CHECK(!s.shipped);
    CHECK_INT(pawl_engine_store(e)->verbs->head(pawl_engine_store(e), "r", &head, NULL), PAWL_OK);
    CHECK(head.owner != NULL);          /* left, so that who claims it knows */
    err = (pawl_err){ PAWL_OK, "" };
    CHECK_INT(pawl_run(e, "r", NULL, &err), PAWL_IO);
    CHECK(!s.shipped);
    s.broken = false;
    CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_HALTED);
    CHECK(s.shipped);
    CHECK_INT(s.heads_at_ship, 2);      /* the answer was stored, and is anchored before it is acted on */
    CHECK(s.records == 0);
    pawl_engine_free(e);
    compare(path, &s, "", &k);
    end(&s);
}

PAWL_TEST(test_P12_a_worker_stops_where_it_cannot_anchor)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e;
    shelf s;

    begin(&s);
    e = engine_at(path, &s, true);
    CHECK_INT(pawl_begin(e, "r", NULL, NULL), PAWL_OK);
    s.broken = true;
    CHECK_INT(pawl_work(e, 0, &err), PAWL_IO);
    CHECK(strstr(err.text, "cannot be anchored") != NULL);
    pawl_engine_free(e);
    end(&s);
}

/* A process of its own drives a run up to the call of the anchor, and is killed in it. */
static void killed(const char *answer)
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        shelf s;
        pawl_engine *e;

        shelf_new(&s);
        e = engine_at(path, &s, true);
        s.deadly = true;
        _exit((answer == NULL ? pawl_run(e, "r", NULL, NULL) : pawl_answer(e, "r", NULL, answer, NULL)) == PAWL_OK);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

PAWL_TEST(test_P12_a_kill_before_the_anchor_is_healed)
{
    pawl_engine *e;
    shelf s;
    finds k;

    begin(&s);
    killed(NULL);               /* it waits, and its head is not anchored */
    e = engine_at(path, &s, true);
    CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_INTERRUPTED);
    CHECK_INT(s.heads, 1);
    pawl_engine_free(e);
    killed("true");             /* the answer is stored, and nothing was done on it */
    e = engine_at(path, &s, true);
    CHECK_INT(pawl_work(e, 0, NULL), PAWL_OK);
    CHECK(s.shipped);
    CHECK_INT(s.heads_at_ship, 2);
    pawl_engine_free(e);
    compare(path, &s, "", &k);
    CHECK_INT(k.sum.ahead + k.sum.unanchored, 0);
    end(&s);
}

/* A run that has ended is due for nobody: a worker with an anchor looks for it. */
PAWL_TEST(test_P12_the_end_of_a_killed_run_is_anchored_by_a_worker)
{
    pawl_engine *e;
    pid_t child;
    shelf s;
    finds k;
    int status;

    begin(&s);
    if ((child = fork()) == 0) {
        e = engine_at(path, &s, true);
        (void)!pawl_run(e, "r", NULL, NULL);
        s.heads = 0;
        s.broken = false;
        (void)!pawl_answer(e, "r", NULL, "true", NULL);
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child);
    sql(path, "UPDATE heads SET owner=(SELECT 'dead:1:2'), lease_ms=1");       /* as if it had died with the lease */
    e = engine_at(path, &s, true);
    CHECK_INT(pawl_work(e, 0, NULL), PAWL_OK);
    CHECK_INT(s.heads, 1);
    CHECK(strstr(s.lines.data, "\"status\":\"completed\"") != NULL);
    pawl_engine_free(e);
    compare(path, &s, "", &k);
    CHECK_INT(k.sum.good, 1);
    end(&s);
}

/* ---- lines ------------------------------------------------------------------------------------------------------------ */

PAWL_TEST(test_P12_torn_and_foreign_lines_are_told_apart)
{
    static char text[16384], line[PAWL_ANCHOR_LINE_BYTES];
    pawl_anchor head = { .run = "r", .life = 1, .seq = 1, .head = "00000000000000000000000000000000000000000000000000000000000000ff" };
    const char *whole;
    shelf s;
    finds k;
    size_t n;

    begin(&s);
    ran(&s, "r", true);
    n = s.lines.size;
    buf_char(&s.lines, '\0');
    whole = s.lines.data;
    snprintf(text, sizeof text, "%s%.40s", whole, whole);
    compare_text(path, text, strlen(text), "", &k);     /* a crash cut the last one off */
    CHECK_INT(k.sum.torn, 1);
    CHECK_INT(k.sum.lines, 3);
    snprintf(text, sizeof text, "%.40s%s\n%s", whole, whole, whole);    /* and another writer went on in that line */
    compare_text(path, text, strlen(text), "", &k);
    CHECK_INT(k.sum.torn, 1);
    CHECK_INT(k.sum.lines, 6);
    snprintf(text, sizeof text, "%s\n\nnonsense\n{\"v\":2}\n[]\n{\"at\":1}\n%s", whole, whole);
    compare_text(path, text, strlen(text), "nonsense - 6; nonsense - 7; nonsense - 8; nonsense - 9; ", &k);
    CHECK_INT(k.sum.lines, 6);
    memset(text, ' ', 10000);
    memcpy(text + 10000, "1\n", 2);
    memcpy(text + 10002, whole, n);
    compare_text(path, text, 10002 + n, "nonsense - 1; ", &k);
    CHECK_INT(pawl_anchor_line("feed", &head, 1, line, NULL), PAWL_OK);
    compare_text(path, line, strlen(line), "foreign - 0; ", &k);
    snprintf(text, sizeof text, "%s%s", line, whole);
    compare_text(path, text, strlen(text), "", &k);
    CHECK_INT(k.sum.others, 1);
    end(&s);
}

PAWL_TEST(test_P12_a_line_is_read_as_it_was_written)
{
    char line[PAWL_ANCHOR_LINE_BYTES];
    pawl_anchor head = { .run = "a.b-c", .life = UINT64_C(0xfedcba9876543210), .seq = 7, .records = 2, .status = PAWL_STATUS_FAILED, .retention = "keep:7d" };
    anchor_line l;
    arena mem;

    memset(head.head, 'a', 64);
    memset(head.open, 'b', 64);
    arena_init(&mem, NULL, 4096);
    CHECK_INT(pawl_anchor_line("00ff/space \"x\"", &head, 5, line, NULL), PAWL_OK);
    CHECK_INT(anchor_read(&mem, line, strlen(line) - 1, &l, NULL), PAWL_OK);
    CHECK_STR(l.run, "a.b-c");
    CHECK_STR(l.store, "00ff/space \"x\"");
    CHECK(l.life == head.life && l.seq == 7 && l.records == 2 && l.at_ms == 5 && !l.removed && l.head.b[0] == 0xaa && l.open.b[31] == 0xbb);
    CHECK(l.gone_ms > 6 * 86400000 && l.gone_ms < 8 * INT64_C(86400000));
    CHECK_INT(pawl_anchor_line("s", &(pawl_anchor){ .run = "../x" }, 5, line, NULL), PAWL_INVALID);
    CHECK_INT(pawl_anchor_line("", &head, 5, line, NULL), PAWL_INVALID);
    arena_free(&mem);
}
