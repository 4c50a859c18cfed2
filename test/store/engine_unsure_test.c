/* engine_unsure_test.c - a store that does what it says it did not, and rivals who are quick: what an engine then believes. */
#include "lib/engine_fixture.h"

#include <string.h>

/* Over the verbs of a store in memory, that come first. */
static const pawl_store_verbs *plain;
static pawl_store_verbs verbs;

static void verbs_take(pawl_store *s)
{
    plain = s->verbs;
    verbs = *plain;
    s->verbs = &verbs;
}

/* ---- done, and said to have failed ------------------------------------------------------------------ */

static unsigned appends_until_unsure;

static pawl_code append_unsure(pawl_store *s, pawl_append *all, size_t n, pawl_err *err)
{
    pawl_code rc = plain->append(s, all, n, err);

    if (rc != PAWL_OK || appends_until_unsure == 0 || --appends_until_unsure > 0)
        return rc;
    *err = (pawl_err){ PAWL_IO, "the line went dead" };
    return PAWL_IO;
}

static pawl_code call_node(pawl_step *s, void *effect)
{
    return pawl_call(s, effect, NULL, NULL);
}

static pawl_code ask_node(pawl_step *s, void *arg)
{
    (void)arg;
    return pawl_ask(s, pawl_json(s, "\"go on?\""), NULL);
}

static pawl_machine *fork_and_join(void)
{
    pawl_graph *g = pawl_graph_new("fork", 1);

    pawl_graph_node(g, "call", call_node, "act");
    pawl_graph_node(g, "ask", ask_node, NULL);
    pawl_graph_node(g, "last", call_node, "later");
    pawl_graph_edge(g, PAWL_START, "call");
    pawl_graph_edge(g, PAWL_START, "ask");
    pawl_graph_join(g, "last", "call", "ask", NULL);
    pawl_graph_edge(g, "last", PAWL_END);
    return pawl_graph_compile(g, NULL);
}

/* The receipt makes it wait for a person, and the store knows, though the engine was told otherwise. */
PAWL_TEST(test_S6_the_store_is_told_again_what_it_may_not_have_heard)
{
    pawl_store *s = pawl_store_memory(NULL);
    pawl_head head;
    town t;

    town_begin(&t, fork_and_join(), s);
    town_acts(&t, "act", PAWL_CLASS_AT_LEAST_ONCE);
    verbs_take(s);
    verbs.append = append_unsure;
    appends_until_unsure = 1;           /* its start came with its base */
    CHECK_INT(town_run(&t, "r", NULL), PAWL_IO);
    CHECK_INT(plain->head(s, "r", &head, NULL), PAWL_OK);
    CHECK_INT(head.status, PAWL_STATUS_INPUT_REQUIRED);
    t.err = (pawl_err){ PAWL_OK, "" };
    CHECK_INT(pawl_answer(t.e, "r", NULL, "true", &t.err), PAWL_PENDING);   /* nobody performs "later" */
    CHECK_INT(plain->head(s, "r", &head, NULL), PAWL_OK);
    CHECK_INT(head.status, PAWL_STATUS_WORKING);
    CHECK_INT(t.calls, 1);
    town_end(&t);
}

/* ---- receipts from elsewhere -------------------------------------------------------------------------- */

static char id[128];

static pawl_code fail_once(const pawl_job *job, pawl_reply *reply, void *arg)
{
    ++*(int *)arg;
    memcpy(id, job->id, strlen(job->id) + 1);
    return pawl_reply_fail(reply, PAWL_TRANSIENT, "busy");
}

static pawl_code two_calls(pawl_step *s, const pawl_value *input, void *arg)
{
    pawl_code one = pawl_call(s, "act", NULL, NULL), two = pawl_call(s, "later", NULL, NULL);

    (void)input, (void)arg;
    return one != PAWL_OK ? one : two;
}

PAWL_TEST(test_E4_a_receipt_from_elsewhere_ends_what_was_to_be_tried_again)
{
    const pawl_limits limits = { .cls = PAWL_CLASS_IDEMPOTENT, .retry = { .max_attempts = 5, .initial_ms = 1000 } };
    pawl_machine *m = town_lines(two_calls, NULL);
    pawl_delivery d = { .id = "mail-1", .kind = PAWL_DELIVER_RECEIPT, .name = id, .value = { "1", 1 } };
    pawl_store *s = pawl_store_memory(NULL);
    pawl_err err = { PAWL_OK, "" };
    int calls = 0;
    town t;

    CHECK_INT(pawl_flow_effect(m, "act", &limits, &err), PAWL_OK);
    town_begin(&t, m, s);
    CHECK_INT(pawl_engine_effect(t.e, "act", fail_once, &calls, PAWL_CLASS_IDEMPOTENT, &err), PAWL_OK);
    CHECK_INT(pawl_begin(t.e, "r", NULL, &err), PAWL_OK);
    CHECK_INT(pawl_work(t.e, 0, &err), PAWL_OK);
    CHECK_INT(calls, 1);
    CHECK_INT(s->verbs->deliver(s, "r", &d, &err), PAWL_OK);
    t.now += 5000;
    CHECK_INT(pawl_work(t.e, 0, &err), PAWL_OK);
    CHECK_INT(calls, 1);
    CHECK(town_stored(&t, "r", "receipt"));
    town_end(&t);
}

static pawl_code lose(const pawl_job *job, pawl_reply *reply, void *arg)
{
    (void)arg;
    memcpy(id, job->id, strlen(job->id) + 1);
    return pawl_reply_fail(reply, PAWL_UNKNOWN, "the line went dead");
}

static pawl_code one_call(pawl_step *s, const pawl_value *input, void *arg)
{
    const pawl_value *got;
    pawl_code rc = pawl_call(s, "act", NULL, &got);

    (void)input, (void)arg;
    if (rc == PAWL_OK)
        pawl_set(s, "out", got);
    return rc;
}

/* What came of a command is in doubt: the receipt comes after all, and behind it somebody's answer. */
PAWL_TEST(test_W3_an_answer_that_came_too_late_is_no_fault_of_the_run)
{
    const pawl_limits limits = { .cls = PAWL_CLASS_ONCE };
    pawl_machine *m = town_lines(one_call, NULL);
    pawl_delivery mail = { .id = "mail", .kind = PAWL_DELIVER_RECEIPT, .name = id, .value = { "1", 1 } };
    pawl_delivery answer = { .id = "answer", .kind = PAWL_DELIVER_ANSWER, .name = id, .value = { "{\"done\":2}", 10 } };
    pawl_store *s = pawl_store_memory(NULL);
    pawl_err err = { PAWL_OK, "" };
    pawl_head head;
    town t;

    CHECK_INT(pawl_flow_effect(m, "act", &limits, &err), PAWL_OK);
    town_begin(&t, m, s);
    CHECK_INT(pawl_engine_effect(t.e, "act", lose, NULL, PAWL_CLASS_ONCE, &err), PAWL_OK);
    CHECK_INT(town_run(&t, "r", NULL), PAWL_INTERRUPTED);
    CHECK_INT(s->verbs->deliver(s, "r", &mail, &err), PAWL_OK);
    CHECK_INT(s->verbs->deliver(s, "r", &answer, &err), PAWL_OK);
    CHECK_INT(pawl_work(t.e, 0, &err), PAWL_OK);
    CHECK_INT(s->verbs->head(s, "r", &head, &err), PAWL_OK);
    CHECK_STR(head.parked, NULL);
    CHECK_INT(head.status, PAWL_STATUS_COMPLETED);
    CHECK_STR(pawl_run_get(t.e, "r", "out"), "1");
    town_end(&t);
}

/* ---- a rival between two verbs ---------------------------------------------------------------------------- */

/* As soon as the run is let go of, something is left for it, and somebody takes it. */
static pawl_code append_and_lose(pawl_store *s, pawl_append *all, size_t n, pawl_err *err)
{
    pawl_delivery d = { .id = "other", .kind = PAWL_DELIVER_SIGNAL, .name = "other" };
    pawl_claim claim = { .run = all[0].run };
    pawl_code rc = plain->append(s, all, n, err);

    if (rc == PAWL_OK && all[0].rc == PAWL_OK && all[0].release) {
        CHECK_INT(plain->deliver(s, all[0].run, &d, NULL), PAWL_OK);
        CHECK_INT(plain->claim(s, "rival", 60000, &claim, 1, NULL), PAWL_OK);
        CHECK_INT(claim.rc, PAWL_OK);
    }
    return rc;
}

static pawl_code hear(pawl_step *s, const pawl_value *input, void *arg)
{
    pawl_code rc = pawl_await_signal(s, "go", NULL);

    (void)input, (void)arg;
    return rc == PAWL_OK ? pawl_await_signal(s, "go", NULL) : rc;
}

static bool see_go(void *ctx, const pawl_delivery *d)
{
    *(int *)ctx += strcmp(d->name, "go") == 0;
    return true;
}

PAWL_TEST(test_E16_an_event_that_is_stored_is_not_left_for_a_rival_too)
{
    const pawl_event go = { .kind = PAWL_EV_SIGNAL, .name = "go", .value = "1" };
    pawl_store *s = pawl_store_memory(NULL);
    int left = 0;
    town t;

    town_begin(&t, town_lines(hear, NULL), s);
    CHECK_INT(town_run(&t, "r", NULL), PAWL_INTERRUPTED);
    verbs_take(s);
    verbs.append = append_and_lose;
    CHECK_INT(pawl_event_send(t.e, "r", &go, &t.err), PAWL_PENDING);
    CHECK_STR(t.err.text, "");
    CHECK_INT(plain->deliveries(s, "r", see_go, &left, NULL), PAWL_OK);
    CHECK_INT(left, 0);
    town_end(&t);
}
