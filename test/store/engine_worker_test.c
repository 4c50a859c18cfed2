/* engine_worker_test.c - pawl_work() as a worker uses it: after an error of the store it goes on with what it holds, it takes no run of
 * another machine, it leaves nothing due undone, and it begins nothing under a lease that ran out. */
#include "engine/run/owner.h"
#include "lib/check.h"
#include "pawl/engine.h"
#include "pawl/graph.h"
#include "store/one.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MANY = 300 };            /* more than the scheduler takes in at once, and more than may wait there for a place */

static void sleep_ms(long ms)
{
    const struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

    nanosleep(&t, NULL);
}

static pawl_machine *one_job(const char *name, pawl_class cls)
{
    const pawl_limits limits = { .cls = cls };
    pawl_graph *g = pawl_graph_new(name, 1);

    pawl_graph_effect(g, "job", &limits);
    pawl_graph_channel(g, "done", PAWL_RULE_SUM);
    pawl_graph_work(g, "call", "job");
    pawl_graph_chain(g, PAWL_START, "call", PAWL_END, NULL);
    return pawl_graph_compile(g, NULL);
}

static pawl_code does(const pawl_job *job, pawl_reply *reply, void *arg)
{
    (void)job;
    ++*(atomic_int *)arg;
    return pawl_reply_json(reply, "{\"done\":1}");
}

static pawl_engine *engine_of(const char *machine, pawl_class cls, pawl_store *s, unsigned threads, atomic_int *done)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e = pawl_engine_new(one_job(machine, cls), s, &err);

    if (e == NULL || pawl_engine_effect(e, "job", does, done, cls, &err) != PAWL_OK)
        CHECK_FAIL("engine: %s", err.text);
    pawl_engine_threads(e, threads);
    return e;
}

static pawl_head head_of(pawl_engine *e, const char *run)
{
    pawl_head h = { .run = NULL };

    CHECK_INT(pawl_engine_store(e)->verbs->head(pawl_engine_store(e), run, &h, NULL), PAWL_OK);
    return h;
}

/* ---- a store of which some verbs are replaced ---------------------------------------------------------------- */

static const pawl_store_verbs *whole;
static pawl_store_verbs patched;
static int calls, fails_at;

static void patch(pawl_engine *e)
{
    pawl_store *s = pawl_engine_store(e);

    whole = s->verbs;
    patched = *whole;
    s->verbs = &patched;
    calls = fails_at = 0;
}

static pawl_code append_fails_once(pawl_store *s, pawl_append *all, size_t n, pawl_err *err)
{
    return ++calls == fails_at ? (err->code = PAWL_IO) : whole->append(s, all, n, err);
}

/* Whichever append fails, the next call of pawl_work() ends the run, and nothing is performed twice. */
PAWL_TEST(test_S4_E13_a_worker_goes_on_with_what_it_holds_after_an_error_of_its_store)
{
    int errors = 0;

    for (int at = 1; at <= 3; at++)
        for (unsigned threads = 0; threads <= 2; threads += 2) {
            atomic_int done = 0;
            pawl_err err = { PAWL_OK, "" };
            pawl_engine *e = engine_of("one", PAWL_CLASS_ONCE, pawl_store_memory(NULL), threads, &done);

            CHECK_INT(pawl_begin(e, "r", NULL, &err), PAWL_OK);
            patch(e);
            patched.append = append_fails_once;
            fails_at = at;
            errors += pawl_work(e, 0, &err) == PAWL_IO;
            err = (pawl_err){ PAWL_OK, "" };
            CHECK_INT(pawl_work(e, 0, &err), PAWL_OK);
            CHECK_INT(done, 1);
            CHECK_INT(head_of(e, "r").status, PAWL_STATUS_COMPLETED);
            CHECK(head_of(e, "r").owner == NULL);
            pawl_engine_store(e)->verbs = whole;
            pawl_engine_free(e);
        }
    CHECK(errors >= 4);
}

/* ---- machines ------------------------------------------------------------------------------------------------ */

static pawl_code claim_counted(pawl_store *s, const char *owner, int64_t ttl_ms, pawl_claim *all, size_t n, pawl_err *err)
{
    calls++;
    return whole->claim(s, owner, ttl_ms, all, n, err);
}

/* Else workers of several machines take each other's runs, and find them held. */
PAWL_TEST(test_F5_a_worker_claims_no_run_of_a_machine_that_it_has_not)
{
    atomic_int done = 0;
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e = engine_of("one", PAWL_CLASS_AT_LEAST_ONCE, pawl_store_memory(NULL), 0, &done);
    pawl_machine *other = one_job("other", PAWL_CLASS_AT_LEAST_ONCE);
    pawl_state *st = NULL;

    CHECK_INT(pawl_state_new(other, &(pawl_run_info){ .id = "far", .life = 7, .seed = 7, .created_ms = 1 }, 0, NULL, &st, &err), PAWL_OK);
    CHECK_INT(pawl_engine_store(e)->verbs->create(pawl_engine_store(e), pawl_state_base(st), NULL, &err), PAWL_OK);
    CHECK_INT(pawl_engine_store(e)->verbs->deliver(pawl_engine_store(e), "far", &(pawl_delivery){ .id = "start", .kind = PAWL_DELIVER_START }, &err),
              PAWL_OK);
    patch(e);
    patched.claim = claim_counted;
    CHECK_INT(pawl_work(e, 0, &err), PAWL_OK);
    CHECK_INT(calls, 0);
    CHECK_INT(pawl_engine_add(e, other, &err), PAWL_OK);
    CHECK_INT(pawl_work(e, 0, &err), PAWL_OK);
    CHECK_INT(calls, 1);
    CHECK_INT(done, 1);
    CHECK_INT(head_of(e, "far").status, PAWL_STATUS_COMPLETED);
    pawl_engine_store(e)->verbs = whole;
    pawl_engine_free(e);
    pawl_state_free(st);
}

/* ---- what was due is done ------------------------------------------------------------------------------------ */

static int64_t virtual_now(void *ctx) { return *(int64_t *)ctx; }
static void virtual_sleep(void *ctx, int64_t until_ms) { *(int64_t *)ctx = until_ms; }

/* Those that find no place are postponed, and are due all the same. The clock goes only while the engine sleeps. */
PAWL_TEST(test_F4_E14_work_that_waits_for_a_place_is_done_before_the_call_ends)
{
    atomic_int done = 0;
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e = engine_of("one", PAWL_CLASS_AT_LEAST_ONCE, pawl_store_memory(NULL), 2, &done);
    int64_t now = pawl_engine_store(e)->verbs->now(pawl_engine_store(e));
    char id[32];

    pawl_engine_clock(e, &(pawl_clock){ .now_ms = virtual_now, .sleep_until = virtual_sleep, .ctx = &now });
    CHECK_INT(pawl_engine_budget(e, "job", &(pawl_budget){ .running = 1 }, &err), PAWL_OK);
    for (int i = 0; i < MANY; i++) {
        snprintf(id, sizeof id, "r-%d", i);
        CHECK_INT(pawl_begin(e, id, NULL, &err), PAWL_OK);
    }
    CHECK_INT(pawl_work(e, 0, &err), PAWL_OK);
    CHECK_INT(done, MANY);
    pawl_engine_free(e);
}

/* ---- a process that was stopped ------------------------------------------------------------------------------ */

enum { TTL_MS = 60 };

/* The process is stopped here, as it seems: when it wakes the lease is over, and somebody else has the run. */
static pawl_code mark_then_stopped(pawl_store *s, pawl_mark *all, size_t n, pawl_err *err)
{
    pawl_code rc = whole->mark(s, all, n, err);
    pawl_head head;

    if (calls++ == 0) {
        sleep_ms(2 * TTL_MS);
        CHECK_INT(release_one(s, "r", all[0].fence, NULL), PAWL_OK);
        CHECK_INT(claim_one(s, "r", "another", 60000, &head, NULL), PAWL_OK);
    }
    return rc;
}

PAWL_TEST(test_S2_E5_a_worker_that_wakes_after_its_lease_begins_nothing)
{
    for (unsigned threads = 0; threads <= 2; threads += 2) {
        atomic_int done = 0;
        pawl_err err = { PAWL_OK, "" };
        pawl_engine *e = engine_of("one", PAWL_CLASS_ONCE, pawl_store_memory(NULL), threads, &done);

        pawl_engine_lease(e, NULL, TTL_MS);
        CHECK_INT(pawl_begin(e, "r", NULL, &err), PAWL_OK);
        patch(e);
        patched.mark = mark_then_stopped;
        CHECK_INT(pawl_work(e, 0, &err), PAWL_OK);
        CHECK(calls > 0);
        CHECK_INT(done, 0);
        CHECK_STR(head_of(e, "r").owner, "another");
        pawl_engine_store(e)->verbs = whole;
        pawl_engine_free(e);
    }
}

/* ---- many snapshots ---------------------------------------------------------------------------------------------- */

enum { TOGETHER = 24, ROUNDS = 40, NOTE = 4096, AT_ONCE = 8 };

static pawl_code round_node(pawl_step *s, void *arg)
{
    static char note[NOTE + 1];

    (void)arg;
    memset(note, 'n', NOTE);
    pawl_set_string(s, "note", note);
    pawl_set_int(s, "count", 1);
    return pawl_goto(s, pawl_get_int(s, "count") + 1 < ROUNDS ? "round" : PAWL_END);
}

static pawl_machine *rounds_machine(void)
{
    pawl_graph *g = pawl_graph_new("rounds", 1);

    pawl_graph_channel(g, "count", PAWL_RULE_SUM);
    pawl_graph_channel(g, "note", PAWL_RULE_LAST);
    pawl_graph_node(g, "round", round_node, NULL);
    pawl_graph_edge(g, PAWL_START, "round");
    pawl_graph_goto(g, "round", "round", PAWL_END, NULL);
    return pawl_graph_compile(g, NULL);
}

static int snapshots[TOGETHER], most_at_once;

static pawl_code append_counts_snapshots(pawl_store *s, pawl_append *all, size_t n, pawl_err *err)
{
    int here = 0;

    for (size_t i = 0; i < n; i++)
        if (all[i].snapshot.size > 0) {
            snapshots[strtol(all[i].run + 1, NULL, 10)]++;
            here++;
        }
    most_at_once = here > most_at_once ? here : most_at_once;
    return whole->append(s, all, n, err);
}

/* Runs that began together need their snapshots at the same step: no commit makes all of them, and no run goes without. */
PAWL_TEST(test_E3_K7_a_commit_of_many_runs_makes_a_few_snapshots)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e = pawl_engine_new(rounds_machine(), pawl_store_memory(NULL), &err);
    char id[16];

    if (e == NULL)
        CHECK_FAIL("engine: %s", err.text);
    for (int i = 0; i < TOGETHER; i++) {
        snprintf(id, sizeof id, "r%d", i);
        CHECK_INT(pawl_begin(e, id, NULL, &err), PAWL_OK);
    }
    patch(e);
    patched.append = append_counts_snapshots;
    CHECK_INT(pawl_work(e, 0, &err), PAWL_OK);
    pawl_engine_store(e)->verbs = whole;
    CHECK_INT(most_at_once, AT_ONCE);
    for (int i = 0; i < TOGETHER; i++) {
        snprintf(id, sizeof id, "r%d", i);
        CHECK_INT(head_of(e, id).status, PAWL_STATUS_COMPLETED);
        CHECK(snapshots[i] > 0);
    }
    pawl_engine_free(e);
}

/* ---- who holds a run -------------------------------------------------------------------------------------------- */

/* A container has the host's name, perhaps, and numbers of its own: what is dead by its number here may live there. */
PAWL_TEST(test_S2_an_owner_of_another_boot_or_namespace_is_not_known_to_be_dead)
{
    char own[OWNER_BYTES], dead[2 * OWNER_BYTES], *number, *space;
    pid_t pid = fork();

    if (pid == 0)
        _exit(0);
    CHECK(waitpid(pid, NULL, 0) == pid);
    owner_name(own, sizeof own, UINT64_C(7) << 32);
    CHECK(owner_is_own(own) && !owner_dead(own) && !owner_is_own(NULL) && !owner_dead(NULL));
    CHECK((number = strchr(own, ':')) != NULL && (space = strrchr(own, ':')) != NULL && space[1] != '\0');
    snprintf(dead, sizeof dead, "%.*s:%ld:00000007%s", (int)(number - own), own, (long)pid, space);
    CHECK(owner_dead(dead) && !owner_is_own(dead));
    snprintf(dead, sizeof dead, "%.*s:%ld:00000007%s9", (int)(number - own), own, (long)pid, space);
    CHECK(!owner_dead(dead));
    snprintf(dead, sizeof dead, "%.*s:%ld:00000007:0%s", (int)(number - own), own, (long)pid, space + 1);
    CHECK(!owner_dead(dead));
    snprintf(dead, sizeof dead, "%.*s:%ld:00000007", (int)(number - own), own, (long)pid);      /* as an older version wrote it */
    CHECK(!owner_dead(dead));
}
