/* engine_record_test.c - runs are begun with their record: what it says is stored, found, kept to; and its deadline. */
#include "lib/engine_fixture.h"
#include "store/place.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pawl_code begin(town *t, const pawl_run_info *info, const char *input)
{
    t->err = (pawl_err){ PAWL_OK, "" };
    return pawl_begin_with(t->e, info, input, &t->err);
}

static pawl_code run(town *t, const pawl_run_info *info, const char *input)
{
    t->err = (pawl_err){ PAWL_OK, "" };
    return pawl_run_with(t->e, info, input, &t->err);
}

static void essays(town *t, pawl_store *store)
{
    town_begin(t, town_essay(NULL), store);
    town_acts(t, "llm", PAWL_CLASS_AT_LEAST_ONCE);
    t->replies[0] = "\"text\"";
}

static bool count_run(void *ctx, const pawl_head *head)
{
    (void)head;
    ++*(int *)ctx;
    return true;
}

static int found(town *t, const pawl_filter *f)
{
    pawl_store *s = pawl_engine_store(t->e);
    int n = 0;

    CHECK_INT(s->verbs->list(s, f, count_run, &n, NULL), PAWL_OK);
    return n;
}

static const pawl_run_info whole = {
    .id = "r", .life = 7, .seed = 9, .created_ms = 500, .created_by = "kim", .context = "talk", .parent = "p~0000000000000001/1.x.1.0",
    .mode = "acceptEdits", .rights = "bypassPermissions", .retention = "keep:7d", .trace = "00-4bf9-01", .deadline_ms = 99999, .priority = -3,
    .labels = { "one", "two" },
};

/* ---- what it says ------------------------------------------------------------------------------ */

PAWL_TEST(test_S7_a_run_is_begun_with_its_record)
{
    town t;
    pawl_run_info was;

    essays(&t, NULL);
    CHECK_INT(run(&t, &whole, "{\"request\":1}"), PAWL_INTERRUPTED);
    CHECK_INT(begin(&t, &(pawl_run_info){ .id = "left", .context = "talk", .labels = { [15] = "two" } }, NULL), PAWL_OK);
    CHECK_INT(found(&t, &(pawl_filter){ .context = "talk" }), 2);
    CHECK_INT(found(&t, &(pawl_filter){ .label = "one" }), 1);
    CHECK_INT(found(&t, &(pawl_filter){ .label = "two" }), 2);
    CHECK_INT(found(&t, &(pawl_filter){ .parent = whole.parent }), 1);
    CHECK(town_stored(&t, "r", "\"at\":500,\"by\":\"kim\""));
    CHECK_INT(pawl_state_info(pawl_run_state(t.e, "r", NULL), pawl_engine_step(t.e), &was, &t.err), PAWL_OK);
    CHECK_STR(was.id, "r");
    CHECK(was.life == 7 && was.seed == 9 && was.created_ms == 500 && was.deadline_ms == 99999 && was.priority == -3);
    CHECK_STR(was.created_by, "kim");
    CHECK_STR(was.context, "talk");
    CHECK_STR(was.parent, whole.parent);
    CHECK_STR(was.mode, "acceptEdits");
    CHECK_STR(was.rights, "bypassPermissions");
    CHECK_STR(was.retention, "keep:7d");
    CHECK_STR(was.trace, "00-4bf9-01");
    CHECK_STR(was.labels[0], "one");
    CHECK_STR(was.labels[1], "two");
    CHECK(was.labels[2] == NULL && was.dedupe_key == NULL);
    town_end(&t);
}

PAWL_TEST(test_S7_what_is_not_said_is_drawn)
{
    town t;
    pawl_run_info a, b;

    essays(&t, NULL);
    CHECK_INT(begin(&t, &(pawl_run_info){ .id = "a" }, NULL), PAWL_OK);
    CHECK_INT(begin(&t, &(pawl_run_info){ .id = "b" }, NULL), PAWL_OK);
    CHECK_INT(pawl_state_info(pawl_run_state(t.e, "a", NULL), pawl_engine_step(t.e), &a, &t.err), PAWL_OK);
    CHECK_INT(pawl_state_info(pawl_run_state(t.e, "b", NULL), pawl_engine_step(t.e), &b, &t.err), PAWL_OK);
    CHECK(a.life != 0 && a.life != b.life && a.seed != b.seed && a.life != a.seed);
    CHECK_INT(a.created_ms, 1000);
    town_end(&t);
}

PAWL_TEST(test_X3_a_bad_record_is_told_and_leaves_nothing)
{
    char *large = malloc(4098);
    const struct { pawl_run_info info; pawl_code rc; const char *said; } bad[] = {
        { { .id = NULL }, PAWL_INVALID, "a run has an id, or a dedupe key" },
        { { .id = "no/id" }, PAWL_INVALID, "no/id" },
        { { .id = "r", .mode = "root" }, PAWL_INVALID, "mode \"root\" is none of plan" },
        { { .id = "r", .rights = "read" }, PAWL_INVALID, "rights \"read\" are none of plan" },
        { { .id = "r", .mode = "plan" }, PAWL_INVALID, "has no modes, so plan mode cannot hold" },
        { { .id = "r", .rights = "plan" }, PAWL_INVALID, "has no modes, so plan mode cannot hold" },
        { { .id = "r", .retention = "keep:" }, PAWL_INVALID, "retention \"keep:\" is none of keep" },
        { { .id = "r", .retention = "keep:0d" }, PAWL_INVALID, "retention" },
        { { .id = "r", .retention = "keep:1w" }, PAWL_INVALID, "retention" },
        { { .id = "r", .retention = "keep:1d " }, PAWL_INVALID, "retention" },
        { { .id = "r", .retention = "keep:99999999999999999999d" }, PAWL_INVALID, "retention" },
        { { .id = "r", .retention = "Delete" }, PAWL_INVALID, "retention" },
        { { .id = "r", .retention = "" }, PAWL_INVALID, "retention" },
        { { .id = "r", .deadline_ms = -1 }, PAWL_INVALID, "its deadline is before 1970" },
        { { .id = "r", .created_ms = -1 }, PAWL_INVALID, "its beginning is before 1970" },
        { { .id = "r", .context = "" }, PAWL_INVALID, "its context" },
        { { .id = "r", .created_by = "\xff" }, PAWL_INVALID, "its creator" },
        { { .id = "r", .trace = large }, PAWL_LIMIT, "its trace" },
        { { .id = "r", .labels = { "fine", "" } }, PAWL_INVALID, "its label" },
        { { .dedupe_key = "" }, PAWL_INVALID, "a dedupe key has 1 to 4096 bytes" },
        { { .dedupe_key = large }, PAWL_INVALID, "a dedupe key" },
        { { .id = "r", .dedupe_key = "k" }, PAWL_INVALID, "leave the one or the other out" },
    };
    town t;

    CHECK(large != NULL);
    memset(large, 'x', 4097);
    large[4097] = '\0';
    essays(&t, NULL);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK_INT(run(&t, &bad[i].info, NULL), bad[i].rc);
        if (strstr(t.err.text, bad[i].said) == NULL)
            CHECK_FAIL("%zu: \"%s\" does not say \"%s\"", i, t.err.text, bad[i].said);
        CHECK_INT(begin(&t, &bad[i].info, NULL), bad[i].rc);
    }
    CHECK_INT(run(&t, NULL, NULL), PAWL_INVALID);
    CHECK_INT(pawl_run_with(NULL, &whole, NULL, NULL), PAWL_INVALID);
    CHECK_INT(found(&t, &(pawl_filter){ .limit = 9 }), 0);
    CHECK_INT(t.calls, 0);
    town_end(&t);
    free(large);
}

/* One bound for each way in, which names its limit. */
PAWL_TEST(test_X2_the_name_of_who_speaks_has_a_limit)
{
    char name[STORE_BY_BYTES_MAX + 2];
    pawl_delivery d = { .id = "d", .kind = PAWL_DELIVER_CANCEL, .by = name };
    pawl_store *s;
    town t;

    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    essays(&t, NULL);
    s = pawl_engine_store(t.e);
    CHECK_INT(run(&t, &(pawl_run_info){ .id = "r", .created_by = name }, NULL), PAWL_INVALID);
    CHECK(strstr(t.err.text, "STORE_BY_BYTES_MAX") != NULL);
    CHECK_INT(run(&t, &(pawl_run_info){ .id = "r", .created_by = name + 1 }, NULL), PAWL_INTERRUPTED);
    CHECK_INT(pawl_event_send(t.e, "r", &(pawl_event){ .kind = PAWL_EV_UPDATE, .by = name, .value = "{}" }, &t.err), PAWL_INVALID);
    CHECK(strstr(t.err.text, "STORE_BY_BYTES_MAX") != NULL);
    t.err = (pawl_err){ PAWL_OK, "" };
    CHECK_INT(s->verbs->deliver(s, "r", &d, &t.err), PAWL_INVALID);
    CHECK(strstr(t.err.text, "STORE_BY_BYTES_MAX") != NULL);
    d.by = name + 1;
    CHECK_INT(s->verbs->deliver(s, "r", &d, NULL), PAWL_OK);
    town_end(&t);
}

PAWL_TEST(test_G10_a_record_that_differs_is_told_by_its_member)
{
    const struct { pawl_run_info info; const char *said; } other[] = {
        { { .id = "r", .life = 8 }, "another life" },
        { { .id = "r", .seed = 8 }, "another seed" },
        { { .id = "r", .context = "walk" }, "another context" },
        { { .id = "r", .parent = "q" }, "another parent" },
        { { .id = "r", .mode = "default" }, "another mode" },
        { { .id = "r", .rights = "default" }, "another rights" },
        { { .id = "r", .retention = "delete" }, "another retention" },
        { { .id = "r", .deadline_ms = 5 }, "another deadline" },
        { { .id = "r", .priority = 3 }, "another priority" },
        { { .id = "r", .labels = { "one" } }, "another labels" },
        { { .id = "r", .labels = { "one", "two", "three" } }, "another labels" },
    };
    pawl_run_info same = whole;
    town t;

    essays(&t, NULL);
    CHECK_INT(run(&t, &whole, "{\"request\":1}"), PAWL_INTERRUPTED);
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        CHECK_INT(run(&t, &other[i].info, NULL), PAWL_CONFLICT);
        if (strstr(t.err.text, other[i].said) == NULL)
            CHECK_FAIL("%zu: \"%s\" does not say \"%s\"", i, t.err.text, other[i].said);
        CHECK_INT(begin(&t, &other[i].info, NULL), PAWL_CONFLICT);
        CHECK(strstr(t.err.text, other[i].said) != NULL);
    }
    same.created_by = "sam";        /* asks again, later, in another trace, and says the labels in another order */
    same.created_ms = 501;
    same.trace = "00-aaaa-01";
    same.labels[0] = "two";
    same.labels[1] = "one";
    CHECK_INT(run(&t, &same, NULL), PAWL_INTERRUPTED);
    CHECK_INT(run(&t, &same, "{\"request\":1}"), PAWL_INTERRUPTED);
    CHECK_INT(run(&t, &same, "{\"request\":2}"), PAWL_CONFLICT);
    CHECK_INT(town_run(&t, "r", NULL), PAWL_INTERRUPTED);
    CHECK(town_stored(&t, "r", "\"by\":\"kim\""));
    CHECK_INT(t.calls, 1);
    town_end(&t);
}

PAWL_TEST(test_G10_beginning_again_is_success_and_does_nothing)
{
    town t;

    essays(&t, NULL);
    for (int i = 0; i < 3; i++)
        CHECK_INT(begin(&t, &(pawl_run_info){ .id = "r" }, "{\"request\":1}"), PAWL_OK);
    CHECK_INT(begin(&t, &(pawl_run_info){ .id = "r" }, "{\"request\":2}"), PAWL_CONFLICT);     /* not taken yet */
    CHECK_INT(pawl_work(t.e, 0, &t.err), PAWL_OK);
    CHECK_INT(begin(&t, &(pawl_run_info){ .id = "r" }, "{\"request\":1}"), PAWL_OK);
    CHECK_INT(begin(&t, &(pawl_run_info){ .id = "r" }, NULL), PAWL_OK);
    CHECK_INT(begin(&t, &(pawl_run_info){ .id = "r" }, "{\"request\":2}"), PAWL_CONFLICT);     /* it asks for none */
    CHECK(strstr(t.err.text, "begun with another input") != NULL);
    CHECK_INT(pawl_work(t.e, 0, &t.err), PAWL_OK);
    CHECK_INT(t.calls, 1);
    CHECK_INT(pawl_answer(t.e, "r", NULL, "true", &t.err), PAWL_HALTED);
    CHECK_INT(begin(&t, &(pawl_run_info){ .id = "r" }, "{\"request\":1}"), PAWL_OK);           /* it is over, and stays it */
    CHECK_INT(pawl_work(t.e, 0, &t.err), PAWL_OK);
    CHECK_INT(t.calls, 1);
    town_verify(&t, "r");
    town_end(&t);
}

/* ---- the context --------------------------------------------------------------------------------- */

static pawl_code remembers(pawl_step *s, const pawl_value *input, void *arg)
{
    (void)input, (void)arg;
    pawl_set(s, "notes", pawl_get(s, "note"));
    return pawl_get(s, "fails") != NULL ? pawl_fail(s, PAWL_EFFECT, "no") : PAWL_OK;
}

PAWL_TEST(test_K10_a_run_begins_with_what_its_context_keeps)
{
    static const pawl_channel channels[] = { { .name = "notes", .rule = PAWL_RULE_APPEND, .keep = true }, { .name = "note" }, { .name = "fails" } };
    const pawl_run_info talk = { .context = "talk" };
    pawl_run_info info = talk;
    town t;

    town_begin(&t, pawl_flow_linear("notes", 1, channels, 3, remembers, NULL, 0, NULL, NULL), NULL);
    info.id = "a";
    CHECK_INT(run(&t, &info, "{\"note\":1}"), PAWL_HALTED);
    CHECK_STR(pawl_run_get(t.e, "a", "notes"), "[1]");
    info.id = "b";
    CHECK_INT(run(&t, &info, "{\"note\":2}"), PAWL_HALTED);
    CHECK_STR(pawl_run_get(t.e, "b", "notes"), "[1,2]");
    CHECK_STR(pawl_run_get(t.e, "b", "note"), "2");
    info.id = "failed";
    CHECK_INT(run(&t, &info, "{\"note\":3,\"fails\":1}"), PAWL_HALTED);
    CHECK_INT(pawl_state_status(pawl_run_state(t.e, "failed", NULL)), PAWL_STATUS_FAILED);
    info.id = "left";
    CHECK_INT(begin(&t, &info, "{\"note\":4}"), PAWL_OK);
    CHECK_INT(begin(&t, &info, "{\"note\":4}"), PAWL_OK);
    CHECK_INT(pawl_work(t.e, 0, &t.err), PAWL_OK);
    CHECK_STR(pawl_run_get(t.e, "left", "notes"), "[1,2,4]");
    CHECK_STR(pawl_run_get(t.e, "a", "notes"), "[1]");
    CHECK_INT(run(&t, &(pawl_run_info){ .id = "other", .context = "walk" }, "{\"note\":5}"), PAWL_HALTED);
    CHECK_STR(pawl_run_get(t.e, "other", "notes"), "[5]");
    CHECK_INT(town_run(&t, "none", "{\"note\":6}"), PAWL_HALTED);
    CHECK_STR(pawl_run_get(t.e, "none", "notes"), "[6]");
    town_verify(&t, "b");
    town_verify(&t, "left");
    town_end(&t);
}

/* ---- the dedupe key ------------------------------------------------------------------------------ */

PAWL_TEST(test_S7_one_dedupe_key_starts_one_run)
{
    const pawl_run_info order = { .dedupe_key = "order 17" }, next = { .dedupe_key = "order 18" };
    char id[PAWL_DEDUPE_RUN_BYTES], other[PAWL_DEDUPE_RUN_BYTES];
    town t;

    essays(&t, NULL);
    CHECK_INT(pawl_dedupe_run("order 17", id), PAWL_OK);
    CHECK_INT(pawl_dedupe_run("order 18", other), PAWL_OK);
    CHECK(store_run_valid(id) && strcmp(id, other) != 0);
    CHECK_INT(begin(&t, &order, "{\"request\":1}"), PAWL_OK);
    CHECK_INT(begin(&t, &order, "{\"request\":1}"), PAWL_OK);
    CHECK_INT(run(&t, &order, "{\"request\":1}"), PAWL_INTERRUPTED);
    CHECK_INT(run(&t, &order, "{\"request\":1}"), PAWL_INTERRUPTED);
    CHECK_INT(run(&t, &order, "{\"request\":2}"), PAWL_CONFLICT);
    CHECK_INT(begin(&t, &order, "{\"request\":2}"), PAWL_CONFLICT);
    town_runs(&t, id);
    CHECK_INT(run(&t, &next, "{\"request\":1}"), PAWL_INTERRUPTED);
    CHECK_INT(t.calls, 2);
    CHECK_INT(run(&t, &(pawl_run_info){ .id = other, .dedupe_key = "order 18" }, NULL), PAWL_INTERRUPTED);
    CHECK(town_stored(&t, other, "\"dedupe\":\"order 18\""));
    CHECK_INT(town_run(&t, "key-0", NULL), PAWL_INTERRUPTED);       /* whoever took such an id himself */
    town_end(&t);
    *id = 'x';
    CHECK_INT(pawl_dedupe_run(NULL, id), PAWL_INVALID);
    CHECK_STR(id, "");
}

static pawl_code turns(pawl_step *s, const pawl_value *input, void *arg)
{
    const pawl_value *v;
    pawl_code rc = pawl_ask_with(s, &(pawl_question){ .kind = PAWL_WAIT_INPUT, .slot = "more" }, &v);

    (void)input, (void)arg;
    return rc == PAWL_OK ? pawl_set(s, "out", v), PAWL_OK : rc;
}

PAWL_TEST(test_S7_a_start_that_is_repeated_by_its_key_is_no_input)
{
    const pawl_run_info order = { .dedupe_key = "k" };
    char id[PAWL_DEDUPE_RUN_BYTES];
    town t;

    town_begin(&t, town_lines(turns, NULL), NULL);
    CHECK_INT(pawl_dedupe_run("k", id), PAWL_OK);
    CHECK_INT(run(&t, &order, "{\"out\":1}"), PAWL_INTERRUPTED);
    CHECK_INT(run(&t, &order, "{\"out\":1}"), PAWL_INTERRUPTED);
    CHECK_INT(begin(&t, &order, "{\"out\":1}"), PAWL_OK);
    CHECK_INT(pawl_work(t.e, 0, &t.err), PAWL_OK);
    CHECK_INT(pawl_state_status(pawl_run_state(t.e, id, NULL)), PAWL_STATUS_INPUT_REQUIRED);
    CHECK_INT(town_run(&t, "by-id", "{\"out\":1}"), PAWL_INTERRUPTED);
    CHECK_INT(begin(&t, &(pawl_run_info){ .id = "by-id" }, "{\"out\":2}"), PAWL_OK);  /* it waits for input: this is one (G13) */
    CHECK_INT(pawl_work(t.e, 0, &t.err), PAWL_OK);
    CHECK_INT(pawl_state_status(pawl_run_state(t.e, "by-id", NULL)), PAWL_STATUS_COMPLETED);
    town_end(&t);
}

/* Eight processes begin at once; whoever gets through says so with its exit status. */
PAWL_TEST(test_S7_one_key_starts_one_run_whoever_begins_it)
{
    enum { PROCESSES = 8 };
    pawl_err err = { PAWL_OK, "" };
    char id[PAWL_DEDUPE_RUN_BYTES];
    pid_t children[PROCESSES];
    town t;

    path_new("record");
    pawl_store_free(pawl_store_sqlite(path, NULL, &err));
    for (int i = 0; i < PROCESSES; i++)
        if ((children[i] = fork()) == 0) {
            pawl_engine *e = pawl_engine_new(town_essay(NULL), pawl_store_sqlite(path, NULL, &err), &err);

            _exit(pawl_begin_with(e, &(pawl_run_info){ .dedupe_key = "k" }, "{\"request\":1}", &err) == PAWL_OK ? 0 : 1);
        }
    for (int i = 0; i < PROCESSES; i++) {
        int status = -1;

        CHECK(waitpid(children[i], &status, 0) == children[i] && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    essays(&t, pawl_store_sqlite(path, NULL, &err));
    CHECK_INT(pawl_work(t.e, 0, &err), PAWL_OK);
    CHECK_INT(t.calls, 1);
    CHECK_INT(pawl_dedupe_run("k", id), PAWL_OK);
    town_runs(&t, id);
    town_end(&t);
    path_gone();
}

/* ---- the deadline ----------------------------------------------------------------------------------- */

static void is_canceled(town *t, const char *id)
{
    CHECK_INT(pawl_state_status(pawl_run_state(t->e, id, NULL)), PAWL_STATUS_CANCELED);
    CHECK_STR(pawl_run_reason(t->e, id), "deadline");
    CHECK(town_stored(t, id, "[\"cancel\",{\"by\":\"@deadline\"}]"));
    town_verify(t, id);
}

PAWL_TEST(test_S7_at_its_deadline_a_run_is_canceled)
{
    const pawl_run_info info = { .id = "r", .deadline_ms = 5000 };
    pawl_head head;
    town t;

    essays(&t, NULL);
    CHECK_INT(run(&t, &info, "{\"request\":1}"), PAWL_INTERRUPTED);
    CHECK_INT(pawl_engine_store(t.e)->verbs->head(pawl_engine_store(t.e), "r", &head, NULL), PAWL_OK);
    CHECK_INT(head.wake_ms, 5000);
    t.now = 4999;
    CHECK_INT(town_run(&t, "r", NULL), PAWL_INTERRUPTED);
    CHECK_STR(pawl_run_reason(t.e, "r"), "");
    t.now = 5000;
    CHECK_INT(town_run(&t, "r", NULL), PAWL_HALTED);
    is_canceled(&t, "r");
    CHECK_INT(pawl_answer(t.e, "r", NULL, "true", &t.err), PAWL_IGNORED);
    town_end(&t);
}

PAWL_TEST(test_E9_a_deadline_is_found_by_whoever_works_on_the_store)
{
    town t;

    essays(&t, NULL);
    CHECK_INT(run(&t, &(pawl_run_info){ .id = "r", .deadline_ms = 5000 }, "{\"request\":1}"), PAWL_INTERRUPTED);
    CHECK_INT(run(&t, &(pawl_run_info){ .id = "s", .deadline_ms = 7000 }, "{\"request\":1}"), PAWL_INTERRUPTED);
    CHECK_INT(begin(&t, &(pawl_run_info){ .id = "late", .deadline_ms = 1 }, "{\"request\":1}"), PAWL_OK);
    t.now = 4999;
    CHECK_INT(pawl_work(t.e, 4999, &t.err), PAWL_OK);
    CHECK_INT(pawl_state_status(pawl_run_state(t.e, "r", NULL)), PAWL_STATUS_INPUT_REQUIRED);
    is_canceled(&t, "late");                        /* it was over before it began */
    CHECK_INT(pawl_work(t.e, 6999, &t.err), PAWL_OK);
    is_canceled(&t, "r");
    CHECK_INT(pawl_state_status(pawl_run_state(t.e, "s", NULL)), PAWL_STATUS_INPUT_REQUIRED);
    CHECK_INT(t.calls, 2);
    town_end(&t);
}

static pawl_code ticks(pawl_step *s, void *arg)
{
    int64_t n = pawl_value_int(pawl_get(s, "n"));

    ((town *)arg)->now += 10;
    pawl_set(s, "n", pawl_pack(s, "i", n + 1));
    pawl_goto(s, "tick");
    return PAWL_OK;
}

/* One that never ends, and 10 ms pass at each step. */
static pawl_machine *ticker(town *t)
{
    pawl_graph *g = pawl_graph_new("ticker", 1);

    pawl_graph_channel(g, "n", PAWL_RULE_LAST);
    pawl_graph_max_steps(g, 100000);
    pawl_graph_node(g, "tick", ticks, t);
    pawl_graph_chain(g, PAWL_START, "tick", NULL);
    pawl_graph_goto(g, "tick", "tick", NULL);
    return pawl_graph_compile(g, NULL);
}

PAWL_TEST(test_S7_a_run_that_works_is_canceled_between_two_steps)
{
    for (int by_work = 0; by_work < 2; by_work++) {
        const pawl_run_info info = { .id = "r", .deadline_ms = 2000 };
        town t;

        town_begin(&t, ticker(&t), NULL);
        if (by_work) {
            CHECK_INT(begin(&t, &info, NULL), PAWL_OK);
            CHECK_INT(pawl_work(t.e, 0, &t.err), PAWL_OK);
        } else {
            CHECK_INT(run(&t, &info, NULL), PAWL_HALTED);
        }
        CHECK(t.now >= 2000 && t.now < 2100);
        CHECK_INT(pawl_state_status(pawl_run_state(t.e, "r", NULL)), PAWL_STATUS_CANCELED);
        CHECK_STR(pawl_run_reason(t.e, "r"), "deadline");
        town_end(&t);
    }
}

PAWL_TEST(test_E7_a_deadline_comes_before_the_next_attempt)
{
    town t;

    town_begin(&t, town_essay(&(pawl_limits){ .retry = { .max_attempts = 3, .initial_ms = 60000 } }), NULL);
    town_acts(&t, "llm", PAWL_CLASS_AT_LEAST_ONCE);
    t.replies[0] = "!transient no";
    CHECK_INT(run(&t, &(pawl_run_info){ .id = "r", .deadline_ms = 9000 }, "{\"request\":1}"), PAWL_HALTED);
    CHECK_INT(t.calls, 1);
    CHECK_INT(t.now, 9000);
    is_canceled(&t, "r");
    town_end(&t);
}

static pawl_code both(pawl_step *s, const pawl_value *input, void *arg)
{
    const pawl_value *v;

    (void)input, (void)arg;
    return pawl_call(s, "nobody", NULL, &v);
}

/* A command that nobody performs is in flight: the run is called off, and then over. */
PAWL_TEST(test_E10_a_deadline_calls_off_what_is_in_flight)
{
    town t;

    town_begin(&t, town_lines(both, NULL), NULL);
    CHECK_INT(run(&t, &(pawl_run_info){ .id = "r", .deadline_ms = 5000 }, NULL), PAWL_PENDING);
    t.now = 6000;
    CHECK_INT(town_run(&t, "r", NULL), PAWL_HALTED);
    is_canceled(&t, "r");
    CHECK(town_stored(&t, "r", "\"canceled\""));
    town_end(&t);
}
