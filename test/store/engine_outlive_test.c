/* engine_outlive_test.c - what a handler leaves running ends once: with its run, with the engine, or when another engine took the run (A10, S2); and its
 * owner is told of plan mode (P1). */
#include "lib/engine_fixture.h"
#include "pawl/store.h"
#include "store/place.h"

#include <time.h>

static int plans, losses;       /* how often it was told of plan mode; of another engine */

static void ended(void *ctx, pawl_left_why why)
{
    if (why == PAWL_LEFT_PLAN) {
        plans++;
        return;
    }
    losses += why == PAWL_LEFT_LOST;
    ++*(int *)ctx;
}

/* Leaves something running for the run: `arg` counts its ends. */
static pawl_code leaves(const pawl_job *job, pawl_reply *reply, void *arg)
{
    const pawl_code rc = job->outlive(job, ended, arg);

    return rc == PAWL_OK ? pawl_reply_string(reply, "left") : rc;
}

static pawl_code calls_and_asks(pawl_step *s, const pawl_value *input, void *arg)
{
    const pawl_value *v;
    pawl_code rc = pawl_call(s, "do", NULL, &v);

    (void)input, (void)arg;
    if (rc != PAWL_OK || (rc = pawl_ask(s, pawl_pack(s, "s", "Done?"), NULL)) != PAWL_OK)
        return rc;
    pawl_set(s, "out", v);
    return PAWL_OK;
}

static pawl_engine *engine_with(int *ends, unsigned threads)
{
    pawl_err err = {0};
    pawl_engine *e = pawl_engine_new(town_lines(calls_and_asks, NULL), pawl_store_memory(&err), &err);

    if (e == NULL || pawl_engine_effect(e, "do", leaves, ends, PAWL_CLASS_AT_LEAST_ONCE, &err) != PAWL_OK)
        CHECK_FAIL("%s", err.text);
    pawl_engine_threads(e, threads);
    return e;
}

PAWL_TEST(test_A10_what_a_handler_left_running_ends_with_its_run)
{
    for (unsigned threads = 0; threads < 3; threads += 2) {
        int ends = 0;
        pawl_engine *e = engine_with(&ends, threads);

        CHECK_INT(pawl_run(e, "one", NULL, NULL), PAWL_INTERRUPTED);
        CHECK_INT(pawl_run(e, "two", NULL, NULL), PAWL_INTERRUPTED);
        CHECK_INT(ends, 0);     /* they wait for a person */
        CHECK_INT(pawl_answer(e, "one", NULL, "true", NULL), PAWL_HALTED);
        CHECK_INT(ends, 1);
        CHECK_INT(pawl_event_send(e, "two", &(pawl_event){ .kind = PAWL_EV_CANCEL }, NULL), PAWL_HALTED);
        CHECK_INT(ends, 2);
        pawl_engine_free(e);
        CHECK_INT(ends, 2);
    }
}

PAWL_TEST(test_A10_what_a_handler_left_running_ends_with_the_engine)
{
    int ends = 0;
    pawl_engine *e = engine_with(&ends, 0);

    CHECK_INT(pawl_run(e, "one", NULL, NULL), PAWL_INTERRUPTED);
    CHECK_INT(pawl_run(e, "two", NULL, NULL), PAWL_INTERRUPTED);
    CHECK_INT(ends, 0);
    pawl_engine_free(e);
    CHECK_INT(ends, 2);
}

/* ---- plan mode ------------------------------------------------------------------------------------------------------ */

static pawl_code calls_do(pawl_step *s, void *arg)
{
    const pawl_value *v;

    (void)arg;
    return pawl_call(s, "do", NULL, &v);
}

static pawl_code ends_here(pawl_step *s, void *arg)
{
    (void)s, (void)arg;
    return PAWL_OK;
}

/* Leaves something running, then asks. */
static pawl_machine *with_modes(void)
{
    pawl_graph *g = pawl_graph_new("lines", 1);

    pawl_graph_modes(g, PAWL_GATE_ASKS);
    pawl_graph_effect(g, "do", &(pawl_limits){ .attempt_timeout_ms = 60000 });        /* so it has a thread of its own where there are any */
    pawl_graph_node(g, "leave", calls_do, NULL);
    pawl_graph_node(g, "last", ends_here, NULL);
    pawl_graph_chain(g, PAWL_START, "leave", "last", PAWL_END, NULL);
    pawl_graph_gate(g, "last", "go on?");
    return pawl_graph_compile(g, NULL);
}

static pawl_engine *moded(int *ends, pawl_store *store)
{
    pawl_err err = {0};
    pawl_engine *e = pawl_engine_new(with_modes(), store, &err);

    if (e == NULL || pawl_engine_effect(e, "do", leaves, ends, PAWL_CLASS_AT_LEAST_ONCE, &err) != PAWL_OK)
        CHECK_FAIL("%s", err.text);
    plans = losses = 0;
    return e;
}

static pawl_code mode_to(pawl_engine *e, const char *run, const char *mode)
{
    char value[64];

    snprintf(value, sizeof value, "{\"@mode\":\"%s\"}", mode);
    return pawl_event_send(e, run, &(pawl_event){ .kind = PAWL_EV_UPDATE, .by = "ada", .value = value }, NULL);
}

PAWL_TEST(test_P1_what_a_handler_left_running_is_told_when_the_mode_becomes_plan)
{
    int ends = 0;
    pawl_engine *e = moded(&ends, pawl_store_memory(NULL));

    CHECK_INT(pawl_run_with(e, &(pawl_run_info){ .id = "one", .mode = "acceptEdits" }, NULL, NULL), PAWL_INTERRUPTED);
    CHECK_INT(pawl_run_with(e, &(pawl_run_info){ .id = "two", .mode = "acceptEdits" }, NULL, NULL), PAWL_INTERRUPTED);
    CHECK_INT(mode_to(e, "one", "default"), PAWL_INTERRUPTED);
    CHECK_INT(plans, 0);
    CHECK_INT(mode_to(e, "one", "plan"), PAWL_INTERRUPTED);
    CHECK(plans > 0 && ends == 0);
    plans = 0;
    CHECK_INT(mode_to(e, "two", "default"), PAWL_INTERRUPTED);
    CHECK_INT(plans, 0);        /* the other run is not in plan mode */
    pawl_engine_free(e);
    CHECK_INT(ends, 2);
}

typedef struct plan_told { pawl_store *other; bool before, after; } plan_told;

/* Somebody sets the mode while this runs. */
static pawl_code waits_for_plan(const pawl_job *job, pawl_reply *reply, void *arg)
{
    plan_told *t = arg;
    static const char plan[] = "{\"@mode\":\"plan\"}";
    pawl_delivery d = { .kind = PAWL_DELIVER_UPDATE, .id = "m", .by = "ada", .value = { plan, sizeof plan - 1 } };

    t->before = job->planned(job);
    CHECK_INT(t->other->verbs->deliver(t->other, "one", &d, NULL), PAWL_OK);
    for (int i = 0; i < 2000 && !job->planned(job); i++)
        nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
    t->after = job->planned(job);
    return pawl_reply_string(reply, "done");
}

PAWL_TEST(test_P1_what_runs_is_told_when_the_mode_becomes_plan)
{
    plan_told t = { NULL, true, false };
    pawl_err err = {0};
    pawl_store *store;
    pawl_engine *e;

    path_new("outlive");        /* in a file: the handler has a handle and a thread of its own */
    CHECK((store = pawl_store_sqlite(path, NULL, &err)) != NULL && (t.other = pawl_store_sqlite(path, NULL, &err)) != NULL);
    CHECK((e = pawl_engine_new(with_modes(), store, &err)) != NULL);
    CHECK_INT(pawl_engine_effect(e, "do", waits_for_plan, &t, PAWL_CLASS_AT_LEAST_ONCE, &err), PAWL_OK);
    pawl_engine_threads(e, 2);
    CHECK_INT(pawl_run_with(e, &(pawl_run_info){ .id = "one", .mode = "acceptEdits" }, NULL, NULL), PAWL_INTERRUPTED);
    CHECK(!t.before);
    CHECK(t.after);
    pawl_engine_free(e);
    pawl_store_free(t.other);
    path_gone();
}

/* ---- another engine ------------------------------------------------------------------------------------------------- */

PAWL_TEST(test_S2_what_a_handler_left_running_ends_when_another_engine_took_the_run)
{
    for (int works = 0; works < 2; works++) {
        int ends = 0, others = 0;
        pawl_store *store = pawl_store_memory(NULL), *again = pawl_store_memory_again(store, NULL, NULL);
        pawl_engine *e = moded(&ends, store), *other = moded(&others, again);

        CHECK_INT(pawl_run(e, "one", NULL, NULL), PAWL_INTERRUPTED);
        CHECK_INT(pawl_run(e, "two", NULL, NULL), PAWL_INTERRUPTED);
        CHECK_INT(mode_to(e, "one", "acceptEdits"), PAWL_INTERRUPTED);
        CHECK_INT(pawl_work(e, 0, NULL), PAWL_OK);
        CHECK_INT(ends, 0);     /* the same engine took it up again */
        CHECK_INT(mode_to(other, "one", "default"), PAWL_INTERRUPTED);
        if (works)              /* a worker sees it in the store */
            CHECK_INT(pawl_work(e, 0, NULL), PAWL_OK);
        else                    /* another one takes the run back first */
            CHECK_INT(mode_to(e, "one", "default"), PAWL_INTERRUPTED);
        CHECK_INT(ends, 1);
        CHECK_INT(losses, 1);
        CHECK_INT(mode_to(e, "two", "default"), PAWL_INTERRUPTED);
        CHECK_INT(ends, 1);
        pawl_engine_free(other);
        pawl_engine_free(e);
        CHECK_INT(ends, 2);
        CHECK_INT(others, 0);
    }
}
