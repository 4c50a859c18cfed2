/* engine_keep_test.c - what becomes of a run when it is over: kept, removed, or kept for a time (G10); on both stores. */
#include "lib/engine_fixture.h"
#include "store/place.h"
#include "store/store.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pawl_store *store_open(bool sqlite)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_store *s = sqlite ? pawl_store_sqlite(path, NULL, &err) : pawl_store_memory(&err);

    if (s == NULL)
        CHECK_FAIL("open: %s", err.text);
    return s;
}

static pawl_code calls(pawl_step *s, const pawl_value *input, void *arg)
{
    const pawl_value *v;
    pawl_code rc = pawl_call(s, "do", NULL, &v);

    (void)input, (void)arg;
    return rc == PAWL_OK ? pawl_set(s, "out", v), PAWL_OK : rc;
}

static void town_open(town *t, bool sqlite)
{
    town_begin(t, town_lines(calls, NULL), store_open(sqlite));
    town_acts(t, "do", PAWL_CLASS_AT_LEAST_ONCE);
    t->replies[0] = "\"did\"";
    t->now = store_system_ms();
}

static pawl_code run(town *t, const char *id, const char *retention, const char *input)
{
    t->err = (pawl_err){ PAWL_OK, "" };
    return pawl_run_with(t->e, &(pawl_run_info){ .id = id, .retention = retention }, input, &t->err);
}

static pawl_code head_of(town *t, const char *id, pawl_head *head)
{
    pawl_store *s = pawl_engine_store(t->e);

    return s->verbs->head(s, id, head, NULL);
}

/* ---- the form ------------------------------------------------------------------------------------ */

PAWL_TEST(test_G10_a_retention_is_keep_delete_or_a_time)
{
    static const struct { const char *text; bool good; int64_t ms; } all[] = {
        { NULL, true, INT64_MAX }, { "keep", true, INT64_MAX }, { "delete", true, 0 }, { "keep:1ms", true, 1 }, { "keep:90s", true, 90000 },
        { "keep:2m", true, 120000 }, { "keep:3h", true, 10800000 }, { "keep:7d", true, 604800000 },
        { "keep:999999999d", true, 999999999 * INT64_C(86400000) },
        { "keep:1000000000d", false, 0 }, { "keep:01d", false, 0 }, { "keep:-1d", false, 0 }, { "keep:1", false, 0 }, { "keep:d", false, 0 },
        { "keep:1D", false, 0 }, { "keep: 1d", false, 0 }, { "keeps", false, 0 }, { "deleted", false, 0 }, { "", false, 0 },
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        int64_t ms = -1;

        CHECK_INT(store_retention_read(all[i].text, &ms), all[i].good);
        CHECK(!all[i].good || ms == all[i].ms);
    }
}

/* ---- delete ---------------------------------------------------------------------------------------- */

PAWL_TEST(test_G10_delete_frees_the_id_and_what_it_came_to_is_still_told)
{
    for (int sqlite = 0; sqlite < 2; sqlite++) {
        pawl_head head;
        town t;

        path_new("keep");
        town_open(&t, sqlite);
        CHECK_INT(run(&t, "r", "delete", "{\"out\":1}"), PAWL_HALTED);
        CHECK_INT(head_of(&t, "r", &head), PAWL_GONE);
        town_runs(&t, "");
        CHECK_STR(pawl_run_get(t.e, "r", "out"), "did");
        CHECK_INT(pawl_state_status(pawl_run_state(t.e, "r", NULL)), PAWL_STATUS_COMPLETED);
        CHECK_STR(pawl_run_reason(t.e, "r"), "");
        CHECK_INT(pawl_answer(t.e, "r", NULL, "1", NULL), PAWL_GONE);
        CHECK_INT(pawl_run_fork(t.e, "r", 0, "f", NULL), PAWL_GONE);
        CHECK_INT(run(&t, "r", "delete", "{\"out\":2}"), PAWL_HALTED);      /* another input: it is another run */
        CHECK_INT(t.calls, 2);
        t.replies[0] = "\"again\"";
        CHECK_INT(run(&t, "r", NULL, NULL), PAWL_HALTED);                   /* this one is kept */
        CHECK_INT(head_of(&t, "r", &head), PAWL_OK);
        CHECK_STR(pawl_run_get(t.e, "r", "out"), "again");
        CHECK_INT(t.calls, 3);
        CHECK_INT(run(&t, "r", NULL, NULL), PAWL_HALTED);
        CHECK_INT(t.calls, 3);
        town_end(&t);
        path_gone();
    }
}

PAWL_TEST(test_G10_delete_counts_however_a_run_ends)
{
    pawl_head head;
    town t;

    town_open(&t, false);
    t.replies[0] = "!denied no";
    CHECK_INT(run(&t, "r", "delete", NULL), PAWL_HALTED);
    CHECK_INT(pawl_state_status(pawl_run_state(t.e, "r", NULL)), PAWL_STATUS_FAILED);
    CHECK(strstr(pawl_run_reason(t.e, "r"), "no") != NULL);
    CHECK_INT(head_of(&t, "r", &head), PAWL_GONE);
    CHECK_INT(pawl_begin_with(t.e, &(pawl_run_info){ .id = "r", .retention = "delete" }, NULL, &t.err), PAWL_OK);
    CHECK_INT(pawl_event_send(t.e, "r", &(pawl_event){ .kind = PAWL_EV_CANCEL }, &t.err), PAWL_HALTED);
    CHECK_INT(head_of(&t, "r", &head), PAWL_GONE);
    town_end(&t);
}

PAWL_TEST(test_G10_many_runs_are_removed_as_they_end)
{
    enum { RUNS = 40 };

    for (int sqlite = 0; sqlite < 2; sqlite++) {
        char id[16];
        town t;

        path_new("keep");
        town_open(&t, sqlite);
        for (int i = 0; i < RUNS; i++) {
            snprintf(id, sizeof id, "r%d", i);
            CHECK_INT(pawl_begin_with(t.e, &(pawl_run_info){ .id = id, .retention = i == 7 ? "keep" : "delete" }, NULL, &t.err), PAWL_OK);
        }
        CHECK_INT(pawl_work(t.e, 0, &t.err), PAWL_OK);
        CHECK_INT(t.calls, RUNS);
        town_runs(&t, "r7");
        CHECK_STR(pawl_run_get(t.e, "r9", "out"), "did");
        CHECK_INT(pawl_engine_store(t.e)->verbs->check(pawl_engine_store(t.e), &t.err), PAWL_OK);
        town_end(&t);
        path_gone();
    }
}

/* ---- removing fails, or never comes to pass ----------------------------------------------------------- */

static pawl_store_verbs patched;
static pawl_code (*removes)(pawl_store *s, const char *run_id, uint64_t fence, pawl_err *err);
static atomic_bool in_the_way;

static pawl_code remove_perhaps(pawl_store *s, const char *run_id, uint64_t fence, pawl_err *err)
{
    return in_the_way ? fail(err, PAWL_IO, "not now") : removes(s, run_id, fence, err);
}

/* Before the engine has a thread: that reads the verbs, too. */
static void remove_patch(pawl_store *s)
{
    patched = *s->verbs;
    removes = patched.remove;
    patched.remove = remove_perhaps;
    s->verbs = &patched;
}

typedef enum looker { BY_RUN, BY_BEGIN, BY_WORK, BY_EVENT, LOOKERS } looker;

/* Over, and somebody was in the way of its removal: whoever looks next does it. */
PAWL_TEST(test_G10_what_should_be_gone_is_removed_by_whoever_looks)
{
    for (looker who = BY_RUN; who < LOOKERS; who++)
        for (int sqlite = 0; sqlite < 2; sqlite++) {
            pawl_head head;
            town t;

            path_new("keep");
            town_open(&t, sqlite);
            remove_patch(pawl_engine_store(t.e));
            in_the_way = true;
            CHECK_INT(run(&t, "r", "delete", "{\"out\":1}"), PAWL_HALTED);
            CHECK_INT(head_of(&t, "r", &head), PAWL_OK);
            CHECK(head.over && head.wake_ms > 0);
            CHECK_STR(pawl_run_get(t.e, "r", "out"), "did");
            in_the_way = false;
            if (sqlite) {               /* by another process, as it were */
                town_end(&t);
                town_open(&t, sqlite);
                t.calls = 1;
            }
            t.now += 60000;             /* and the lease is over, where there is one */
            if (who == BY_RUN) {
                CHECK_INT(run(&t, "r", "delete", "{\"out\":2}"), PAWL_HALTED);
                CHECK_INT(t.calls, 2);
            } else if (who == BY_BEGIN) {
                CHECK_INT(pawl_begin_with(t.e, &(pawl_run_info){ .id = "r", .retention = "delete" }, "{\"out\":2}", &t.err), PAWL_OK);
                CHECK_INT(head_of(&t, "r", &head), PAWL_OK);
                CHECK(!head.over && head.seq == 0);
                CHECK_INT(pawl_work(t.e, 0, &t.err), PAWL_OK);
                CHECK_INT(t.calls, 2);
            } else if (who == BY_WORK) {
                CHECK_INT(pawl_work(t.e, 0, &t.err), PAWL_OK);
                CHECK_INT(t.calls, 1);
            } else {
                CHECK_INT(pawl_event_send(t.e, "r", &(pawl_event){ .kind = PAWL_EV_REOPEN }, &t.err), PAWL_GONE);
                CHECK_INT(t.calls, 1);
            }
            CHECK_INT(head_of(&t, "r", &head), PAWL_GONE);
            town_end(&t);
            path_gone();
        }
}

/* Killed at any moment and gone on with until nothing is left: it ended, or the id is free and it was begun again. */
PAWL_TEST(test_G10_killed_around_its_end_nothing_is_left_behind)
{
    unsigned seed = (unsigned)check_seed();
    int rounds = check_run_all() ? 300 : 25, kills = 0;

    for (int round = 0; round < rounds; round++) {
        struct timespec nap = { .tv_nsec = 0 };
        pawl_head head;
        pid_t child;
        int status = 0;
        town t;

        path_new("keep");
        if ((child = fork()) == 0) {
            town_open(&t, true);
            pawl_engine_lease(t.e, NULL, 30);
            (void)!run(&t, "r", "delete", NULL);
            _exit(0);
        }
        seed = seed * 1103515245 + 12345;
        nap.tv_nsec = (long)(seed >> 8) % 25000000;
        nanosleep(&nap, NULL);
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        kills += WIFSIGNALED(status);
        town_open(&t, true);
        t.now += 60000;
        nap.tv_nsec = 10000000;
        while (head_of(&t, "r", &head) == PAWL_OK && head.lease_ms >= pawl_engine_store(t.e)->verbs->now(pawl_engine_store(t.e)))
            nanosleep(&nap, NULL);
        CHECK_INT(pawl_work(t.e, 0, &t.err), PAWL_OK);
        if (head_of(&t, "r", &head) == PAWL_OK)         /* not started yet, or the lease of the dead lasts */
            CHECK_INT(run(&t, "r", "delete", NULL), PAWL_HALTED);
        CHECK_INT(head_of(&t, "r", &head), PAWL_GONE);
        CHECK_INT(pawl_engine_store(t.e)->verbs->check(pawl_engine_store(t.e), &t.err), PAWL_OK);
        town_end(&t);
        path_gone();
    }
    printf("%d kills in %d rounds, seed %u\n", kills, rounds, (unsigned)check_seed());
}

/* ---- for a time ------------------------------------------------------------------------------------------ */

PAWL_TEST(test_G10_kept_for_a_time_it_is_there_until_then_and_no_longer)
{
    for (int sqlite = 0; sqlite < 2; sqlite++) {
        pawl_head head;
        int64_t end;
        town t;

        path_new("keep");
        town_open(&t, sqlite);
        CHECK_INT(run(&t, "r", "keep:2m", "{\"out\":1}"), PAWL_HALTED);
        CHECK_INT(run(&t, "s", "keep:2m", "{\"out\":1}"), PAWL_HALTED);
        CHECK_INT(run(&t, "u", NULL, "{\"out\":1}"), PAWL_HALTED);
        CHECK_INT(head_of(&t, "r", &head), PAWL_OK);
        CHECK_INT(head.wake_ms, t.now + 120000);
        end = head.wake_ms;
        t.now = end - 1;
        CHECK_INT(pawl_work(t.e, 0, &t.err), PAWL_OK);
        CHECK_INT(run(&t, "r", "keep:2m", "{\"out\":1}"), PAWL_HALTED);     /* the same run, over */
        CHECK_INT(run(&t, "r", NULL, "{\"out\":2}"), PAWL_CONFLICT);
        CHECK_INT(t.calls, 3);
        t.now = end;
        CHECK_INT(run(&t, "s", "keep:2m", "{\"out\":2}"), PAWL_HALTED);     /* a new one */
        CHECK_INT(t.calls, 4);
        CHECK_INT(pawl_work(t.e, 0, &t.err), PAWL_OK);
        CHECK_INT(head_of(&t, "r", &head), PAWL_GONE);
        CHECK_INT(head_of(&t, "s", &head), PAWL_OK);
        CHECK_INT(head_of(&t, "u", &head), PAWL_OK);
        CHECK_INT(head.wake_ms, 0);
        CHECK_INT(pawl_work(t.e, end + 120000, &t.err), PAWL_OK);
        town_runs(&t, "u");
        town_end(&t);
        path_gone();
    }
}
