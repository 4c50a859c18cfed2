/* one_road_test.c - how many transactions a run's beginning and an answer take in a SQLite file, and how often its first node runs. */
#include "engine/run/query.h"
#include "lib/check.h"
#include "pawl/engine.h"
#include "pawl/graph.h"
#include "store/place.h"
#include "store/store.h"

#include <sqlite3.h>
#include <string.h>

/* ---- transactions, as SQLite itself sees them ------------------------------------------------------- */

static struct { int reads, writes, loads; } seen;

static int see_statement(unsigned kind, void *ctx, void *statement, void *sql)
{
    (void)kind, (void)ctx, (void)statement;
    seen.writes += strcmp(sql, "BEGIN IMMEDIATE") == 0;
    seen.reads += strcmp(sql, "BEGIN") == 0;
    seen.loads += strstr(sql, "FROM snapshots") != NULL;
    return 0;
}

static int see_connection(sqlite3 *db, const char **error, const struct sqlite3_api_routines *api)
{
    (void)error, (void)api;
    return sqlite3_trace_v2(db, SQLITE_TRACE_STMT, see_statement, NULL);
}

static void seen_nothing(void)
{
    memset(&seen, 0, sizeof seen);
}

/* ---- one gate ------------------------------------------------------------------------------------------ */

static int bodies;

static pawl_code gate(pawl_step *s, void *arg)
{
    const pawl_value *answer;
    pawl_code rc = pawl_ask(s, pawl_pack(s, "s", "go on?"), &answer);

    (void)arg;
    bodies++;
    if (rc != PAWL_OK)
        return rc;
    pawl_set(s, "answer", answer);
    return pawl_follow(s);
}

static pawl_engine *engine_again(void)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_graph *g = pawl_graph_new("gate", 1);
    pawl_store *s;
    pawl_engine *e;

    pawl_graph_channel(g, "answer", PAWL_RULE_LAST);
    pawl_graph_node(g, "gate", gate, NULL);
    pawl_graph_chain(g, PAWL_START, "gate", PAWL_END, NULL);
    s = pawl_store_sqlite(path, &(pawl_sqlite){ .normal = true }, &err);
    e = s == NULL ? NULL : pawl_engine_new(pawl_graph_compile(g, NULL), s, &err);
    if (e == NULL)
        CHECK_FAIL("engine: %s", err.text);
    return e;
}

static pawl_engine *engine_open(void)
{
    pawl_engine *e = engine_again();

    CHECK_INT(pawl_run(e, "warm", NULL, NULL), PAWL_INTERRUPTED);
    bodies = 0;
    return e;
}

static pawl_code claim_other(pawl_store *s, pawl_head *head)
{
    pawl_claim one = { .run = "r" };
    pawl_code rc = s->verbs->claim(s, "somebody else", 60000, &one, 1, NULL);

    *head = one.head;
    return rc == PAWL_OK ? one.rc : rc;
}

static void engine_over(pawl_engine *e)
{
    pawl_engine_free(e);
    path_gone();
}

PAWL_TEST(test_E2_a_run_of_one_gate_begins_in_one_transaction)
{
    pawl_engine *e;

    path_new("road");
    e = engine_open();
    seen_nothing();
    CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_INTERRUPTED);
    CHECK_INT(seen.writes, 1);
    CHECK_INT(seen.reads, 2);           /* whether it is there, and whether something came for it since */
    CHECK_INT(seen.loads, 0);           /* the state that was made is the one that is driven */
    CHECK_INT(bodies, 1);
    engine_over(e);
}

/* Its head is read once, and again when anybody has written; what was loaded to look at it is driven on. */
PAWL_TEST(test_S2_a_run_that_is_looked_at_and_then_answered_is_loaded_once)
{
    pawl_engine *e;
    pawl_store *s;
    pawl_head h;

    path_new("road");
    e = engine_open();
    CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_INTERRUPTED);
    pawl_engine_free(e);
    e = engine_again();
    seen_nothing();
    for (int i = 0; i < 3; i++)
        CHECK(pawl_run_state(e, "r", NULL) != NULL);
    CHECK_INT(seen.reads, 2);           /* its head, its journal */
    CHECK_INT(seen.loads, 1);
    CHECK_INT(pawl_answer(e, "r", "gate", "true", NULL), PAWL_HALTED);
    CHECK_INT(seen.loads, 1);
    CHECK_INT(seen.writes, 1);
    s = pawl_store_sqlite(path, &(pawl_sqlite){ .normal = true }, NULL);
    CHECK_INT(claim_other(s, &h), PAWL_OK);
    seen_nothing();
    CHECK(pawl_run_state(e, "r", NULL) != NULL);
    CHECK(seen.reads > 0);              /* somebody else has it now */
    pawl_store_free(s);
    engine_over(e);
}

static bool see_line(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    run_seen *read = ctx;
    buf *to = kind == PAWL_LINE_BASE ? &read->base : kind == PAWL_LINE_SNAPSHOT ? &read->snapshot : &read->lines;

    read->base_seq = kind == PAWL_LINE_BASE ? seq : read->base_seq;
    buf_put(to, line.data, line.size);
    if (to == &read->lines)
        buf_char(to, '\n');
    return true;
}

static void run_read(pawl_store *s, run_seen *read)
{
    pawl_look look = { .fn = see_line, .ctx = read, .load = true };

    *read = (run_seen){ .base_seq = 0 };
    buf_init(&read->base, NULL);
    buf_init(&read->snapshot, NULL);
    buf_init(&read->lines, NULL);
    CHECK_INT(store_look(s, "r", &look, NULL), PAWL_OK);
    read->head = look.head;
    read->version = look.version;
}

static void run_read_free(run_seen *read)
{
    buf_free(&read->base);
    buf_free(&read->snapshot);
    buf_free(&read->lines);
}

/* An engine, and what was read of the run with its store before. */
static pawl_engine *engine_after_read(run_seen *read)
{
    pawl_engine *e;

    path_new("road");
    e = engine_open();
    CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_INTERRUPTED);
    pawl_engine_free(e);
    e = engine_again();
    run_read(pawl_engine_store(e), read);
    return e;
}

PAWL_TEST(test_S2_a_run_that_was_read_with_the_engines_store_is_not_read_again)
{
    run_seen read;
    pawl_engine *e = engine_after_read(&read);

    seen_nothing();
    CHECK(!run_is_free(e, "r"));        /* not known yet */
    run_load_seen(e, "r", &read);
    run_read_free(&read);
    CHECK(run_is_free(e, "r"));
    CHECK_INT(run_next_seq(e, "r"), read.head.seq + 1);
    CHECK(pawl_run_state(e, "r", NULL) != NULL);
    CHECK_INT(seen.reads, 0);
    CHECK_INT(pawl_answer(e, "r", "gate", "true", NULL), PAWL_HALTED);
    CHECK_INT(seen.loads, 0);
    CHECK_INT(seen.writes, 1);
    CHECK_STR(pawl_run_get(e, "r", "answer"), "true");
    engine_over(e);
}

PAWL_TEST(test_S2_what_was_read_before_another_engine_wrote_is_read_again)
{
    run_seen read;
    pawl_engine *e = engine_after_read(&read), *other = engine_again();

    CHECK_INT(pawl_answer(other, "r", "gate", "false", NULL), PAWL_HALTED);
    pawl_engine_free(other);
    run_load_seen(e, "r", &read);
    run_read_free(&read);
    CHECK(!run_is_free(e, "r"));
    CHECK_INT(run_next_seq(e, "r"), 0);
    CHECK_STR(pawl_run_get(e, "r", "answer"), "false");
    engine_over(e);
}

PAWL_TEST(test_E16_a_run_that_is_begun_and_left_takes_one_transaction)
{
    pawl_engine *e;

    path_new("road");
    e = engine_open();
    seen_nothing();
    CHECK_INT(pawl_begin(e, "r", NULL, NULL), PAWL_OK);
    CHECK_INT(seen.writes, 1);
    CHECK_INT(seen.reads, 0);
    CHECK_INT(seen.loads, 0);
    engine_over(e);
}

PAWL_TEST(test_E2_an_answer_takes_one_transaction)
{
    pawl_engine *e;

    path_new("road");
    e = engine_open();
    CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_INTERRUPTED);
    bodies = 0;
    seen_nothing();
    CHECK_INT(pawl_answer(e, "r", "gate", "true", NULL), PAWL_HALTED);
    CHECK_INT(seen.writes, 1);          /* the lease, the answer with all that it leads to, and the end of the lease */
    CHECK_INT(seen.loads, 0);
    CHECK_INT(bodies, 1);
    engine_over(e);
}

/* ---- an answer that lets a command in -------------------------------------------------------------------- */

static pawl_code guarded(pawl_step *s, void *arg)
{
    const pawl_value *answer;
    pawl_code rc = pawl_ask(s, pawl_pack(s, "s", "go on?"), &answer);

    (void)arg;
    if (rc == PAWL_OK)
        rc = pawl_call(s, "act", pawl_pack(s, "{}"), NULL);
    return rc == PAWL_OK ? pawl_follow(s) : rc;
}

static pawl_code act(const pawl_job *job, pawl_reply *reply, void *ctx)
{
    (void)job;
    ++*(int *)ctx;
    return pawl_reply_json(reply, "1");
}

/* How many transactions write, from the answer to the end of the run. */
static int writes_of(pawl_class cls)
{
    const pawl_limits limits = { .cls = cls };
    pawl_graph *g = pawl_graph_new("guarded", 1);
    pawl_engine *e;
    int acts = 0, writes;

    path_new("road");
    pawl_graph_node(g, "gate", guarded, NULL);
    pawl_graph_effect(g, "act", &limits);
    pawl_graph_chain(g, PAWL_START, "gate", PAWL_END, NULL);
    e = pawl_engine_new(pawl_graph_compile(g, NULL), pawl_store_sqlite(path, &(pawl_sqlite){ .normal = true }, NULL), NULL);
    CHECK_INT(pawl_engine_effect(e, "act", act, &acts, cls, NULL), PAWL_OK);
    CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_INTERRUPTED);
    seen_nothing();
    CHECK_INT(pawl_answer(e, "r", "gate", "true", NULL), PAWL_HALTED);
    CHECK_INT(acts, 1);
    writes = seen.writes;
    engine_over(e);
    return writes;
}

/* Lease, answer and command; receipt, end of the step and of the lease. What may not be performed again is counted before it leaves (E13), and the
 * receipt of class once is stored before anything else is done. */
PAWL_TEST(test_E2_an_approved_command_takes_two_transactions)
{
    CHECK_INT(writes_of(PAWL_CLASS_PURE), 2);
    CHECK_INT(writes_of(PAWL_CLASS_IDEMPOTENT), 2);
    CHECK_INT(writes_of(PAWL_CLASS_AT_LEAST_ONCE), 2);
    CHECK_INT(writes_of(PAWL_CLASS_COMPENSABLE), 3);
    CHECK_INT(writes_of(PAWL_CLASS_ONCE), 4);
}

int main(int argc, char **argv)
{
    sqlite3_auto_extension((void (*)(void))see_connection);
    return check_main(argc, argv);
}
