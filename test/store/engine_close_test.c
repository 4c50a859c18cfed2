/* engine_close_test.c - an engine that is freed while attempts are out: what they come to is stored, or left so that the next engine goes on. */
#include "lib/engine_fixture.h"
#include "store/place.h"
#include "store/store.h"

#include <stdatomic.h>
#include <time.h>

enum { HOUR_MS = 3600000 };

/* Of two commands side by side: the engine stops when both have begun, and they end when it is freed, the first one as `says`. */
typedef struct pair {
    pawl_engine *e;
    pawl_code says;
    bool first;                     /* of the engines */
    atomic_int begun;
} pair;

static pawl_code act(const pawl_job *j, pawl_reply *reply, void *arg)
{
    pair *p = arg;
    const int k = ++p->begun;
    const bool fails = p->first && k == 1;

    if (k == 2)
        pawl_engine_stop(p->e);
    while (p->first && !j->canceled(j))
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    return fails ? pawl_reply_fail(reply, p->says, "not now") : pawl_reply_json(reply, "{\"done\":1}");
}

static pawl_engine *engine_of(pair *p, const pawl_limits *limits)
{
    pawl_graph *g = pawl_graph_new("pair", 1);
    pawl_err err = { PAWL_OK, "" };

    pawl_graph_effect(g, "job", limits);
    pawl_graph_channel(g, "done", PAWL_RULE_SUM);
    pawl_graph_work(g, "a", "job");
    pawl_graph_work(g, "b", "job");
    pawl_graph_chain(g, PAWL_START, "a", PAWL_END, NULL);
    pawl_graph_chain(g, PAWL_START, "b", PAWL_END, NULL);
    p->e = pawl_engine_new(pawl_graph_compile(g, NULL), pawl_store_sqlite(path, &(pawl_sqlite){ .normal = true }, &err), &err);
    if (p->e == NULL || pawl_engine_effect(p->e, "job", act, p, limits->cls, &err) != PAWL_OK)
        CHECK_FAIL("engine: %s", err.text);
    pawl_engine_threads(p->e, 2);
    return p->e;
}

/* The engine begins both, is stopped and freed; a worker looks for what is due. */
static pawl_engine *next_after(pair *p, const pawl_limits *limits)
{
    pawl_engine *e;

    path_new("close");
    *p = (pair){ .says = p->says, .first = true };
    e = engine_of(p, limits);
    CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_PENDING);
    CHECK_INT(p->begun, 2);
    pawl_engine_free(e);
    p->first = false;
    e = engine_of(p, limits);
    CHECK_INT(pawl_work(e, 0, NULL), PAWL_OK);
    return e;
}

PAWL_TEST(test_E4_what_was_stopped_by_the_close_stays_due)
{
    pair p = { .says = PAWL_EFFECT };
    pawl_engine *e = next_after(&p, &(pawl_limits){ .cls = PAWL_CLASS_AT_LEAST_ONCE });

    CHECK_INT(p.begun, 3);
    CHECK_INT(pawl_state_status(pawl_run_state(e, "r", NULL)), PAWL_STATUS_COMPLETED);
    pawl_engine_free(e);
    path_gone();
}

PAWL_TEST(test_E7_what_fails_as_the_engine_closes_waits_for_its_back_off)
{
    pair p = { .says = PAWL_TRANSIENT };
    pawl_engine *e = next_after(&p, &(pawl_limits){ .cls = PAWL_CLASS_AT_LEAST_ONCE, .retry = { .max_attempts = 3, .initial_ms = HOUR_MS } });
    pawl_store *s = pawl_engine_store(e);

    CHECK_INT(p.begun, 2);
    CHECK(s->verbs->next_due(s) > s->verbs->now(s) + HOUR_MS / 2);
    pawl_engine_free(e);
    path_gone();
}
