/* engine_loop_test.c - many runs at once: few transactions, nobody starved, and one that cannot go on hinders no other. */
#include "lib/check.h"
#include "pawl/engine.h"
#include "pawl/graph.h"
#include "store/one.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MANY = 300 };            /* more than the loop takes in at once */

static char path[128];

static void path_gone(void)
{
    static const char *const ends[] = { "", "-wal", "-shm", "-lock" };
    char side[160];

    for (size_t i = 0; i < 4; i++) {
        snprintf(side, sizeof side, "%s%s", path, ends[i]);
        unlink(side);
    }
}

static void path_new(void)
{
    snprintf(path, sizeof path, "loop-%ld.db", (long)getpid());
    path_gone();
}

/* ---- a clock that goes when somebody sleeps, beside the store's ----------------------------------------- */

static int64_t ahead;

static int64_t ahead_now(void *ctx) { return ((pawl_store *)ctx)->verbs->now(ctx) + ahead; }
static void ahead_sleep(void *ctx, int64_t until_ms)
{
    int64_t ms = until_ms - ahead_now(ctx);

    CHECK(ms > 0);              /* who sleeps until what is past would go round for ever */
    ahead += ms;
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

    pawl_graph_channel(g, "done", PAWL_SUM);
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

    if (e == NULL || (done != NULL && pawl_engine_effect(e, "job", does, done, PAWL_AT_LEAST_ONCE, &err) != PAWL_OK))
        CHECK_FAIL("engine: %s", err.text);
    ahead = 0;
    pawl_engine_clock(e, &(pawl_clock){ .now_ms = ahead_now, .sleep_until = ahead_sleep, .ctx = s });
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
    pawl_store *s = pawl_engine_store(e);

    if (pawl_work(e, for_ms == 0 ? 0 : ahead_now(s) + for_ms, &err) != PAWL_OK)
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

    path_new();
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

    path_new();
    e = engine_at(side_by_side("nap", "n"), NULL);
    begin_many(e, "nap", MANY);
    before = version(e);
    work(e, 0);
    CHECK(version(e) - before <= 12);
    CHECK(head_of(e, "nap-7").owner == NULL && head_of(e, "nap-7").wake_ms > 0);
    ahead += 3600000;
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

int main(int argc, char **argv)
{
    static const check_case all[] = {
        CASE(test_E12_a_command_beside_a_wait_is_performed_by_whoever_works),
        CASE(test_E12_a_command_beside_a_nap_is_performed_by_whoever_works),
        CASE(test_E12_a_command_beside_a_wait_and_a_nap_is_performed_by_whoever_works),
        CASE(test_E3_timers_of_many_runs_cost_few_transactions),
    };

    return check_main(argc, argv, all, sizeof all / sizeof *all);
}
