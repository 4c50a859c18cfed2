/* engine_outlive_test.c - what a handler leaves running ends once: with its run, or with the engine (A10). */
#include "lib/engine_fixture.h"
#include "pawl/store.h"

static void ended(void *ctx)
{
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
