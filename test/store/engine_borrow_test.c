/* engine_borrow_test.c - arguments that refer to channels: whoever performs a command has them as they were when it was made. */
#include "lib/engine_fixture.h"
#include "store/place.h"
#include "pawl/flow.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Its start asks for "job" with what both channels have; a signal changes them while that is open. */
static pawl_code refers(pawl_step *s, const pawl_input_event *h, void *arg)
{
    (void)arg;
    if (h->kind == PAWL_EV_RECEIPT) {
        pawl_set(s, "answer", h->value);
        return pawl_flow_complete(s);
    }
    if (h->kind == PAWL_EV_START) {
        pawl_set_string(s, "note", "first");
        pawl_set_string(s, "said", "a");
        pawl_flow_call(s, "job", "job", pawl_pack(s, "{s:v,s:v}", "note", pawl_ref(s, "note"), "said", pawl_ref(s, "said")));
        return PAWL_OK;
    }
    pawl_set(s, h->tag, h->value);
    return PAWL_OK;
}

static pawl_machine *machine(void)
{
    static const pawl_channel channels[] = { { .name = "note" }, { .name = "said", .rule = PAWL_RULE_APPEND }, { .name = "answer" } };
    const pawl_limits limits = { .cls = PAWL_CLASS_AT_LEAST_ONCE, .retry = { .max_attempts = 3, .initial_ms = 1 } };
    pawl_err err = { PAWL_OK, "" };
    pawl_machine *m = pawl_flow_reducer("refers", 1, channels, 3, refers, NULL, NULL, &err);

    if (m == NULL || pawl_flow_effect(m, "job", &limits, &err) != PAWL_OK)
        CHECK_FAIL("machine: %s", err.text);
    return m;
}

static pawl_engine *engine_of(pawl_handler_fn *fn, void *arg, unsigned threads)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_store *s = pawl_store_sqlite(path, NULL, &err);
    pawl_engine *e = s == NULL ? NULL : pawl_engine_new(machine(), s, &err);

    if (e == NULL || (fn != NULL && pawl_engine_effect(e, "job", fn, arg, PAWL_CLASS_AT_LEAST_ONCE, &err) != PAWL_OK))
        CHECK_FAIL("engine: %s", err.text);
    pawl_engine_threads(e, threads);
    return e;
}

/* Somebody else changes what the arguments refer to. */
static void change(const char *channel, const char *value)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *other = engine_of(NULL, NULL, 0);

    CHECK_INT(pawl_event_send(other, "r", &(pawl_event){ .kind = PAWL_EV_SIGNAL, .name = channel, .value = value }, &err), PAWL_PENDING);
    pawl_engine_free(other);
}

typedef struct heard { char *texts[8]; size_t n; } heard;

static void heard_free(heard *h)
{
    for (size_t i = 0; i < h->n; i++)
        free(h->texts[i]);
}

/* Each attempt but the third sees its arguments changed behind its back, and fails. */
static pawl_code listen(const pawl_job *job, pawl_reply *reply, void *arg)
{
    heard *h = arg;
    char text[512];
    const char *note = pawl_value_string(pawl_value_get(job->args, "note"));
    const pawl_value *said = pawl_value_get(job->args, "said");

    snprintf(text, sizeof text, "%s %zu %s", note != NULL ? note : "-", pawl_value_size(said),
             pawl_value_size(said) > 0 ? pawl_value_string(pawl_value_at(said, pawl_value_size(said) - 1)) : "-");
    h->texts[h->n++] = check_copy(text, strlen(text));
    if (job->attempt >= 3)
        return pawl_reply_string(reply, text);
    if (job->attempt == 1)
        change("note", "\"second\"");
    else
        change("said", "\"c\"");
    return pawl_reply_fail(reply, PAWL_TRANSIENT, "once more");
}

static void all_alike(unsigned threads)
{
    heard h = { .n = 0 };
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e;

    path_new("borrow");
    e = engine_of(listen, &h, threads);
    if (pawl_begin(e, "r", NULL, &err) != PAWL_OK || pawl_run(e, "r", NULL, &err) != PAWL_HALTED)
        CHECK_FAIL("run: %s", err.text);
    CHECK_INT(h.n, 3);
    for (size_t i = 0; i < h.n; i++)
        CHECK_STR(h.texts[i], "first 1 a");
    CHECK_STR(pawl_run_get(e, "r", "answer"), "first 1 a");
    CHECK_STR(pawl_run_get(e, "r", "note"), "second");
    CHECK_STR(pawl_run_get(e, "r", "said"), "[\"a\",\"c\"]");
    heard_free(&h);
    pawl_engine_free(e);
    path_gone();
}

PAWL_TEST(test_K7_each_attempt_has_the_arguments_of_its_command)
{
    all_alike(0);
    all_alike(2);
}

/* Nobody could perform it before both were changed. */
static void later_alike(unsigned threads)
{
    heard h = { .n = 0 };
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e;

    path_new("borrow");
    e = engine_of(NULL, NULL, 0);
    CHECK_INT(pawl_begin(e, "r", NULL, &err), PAWL_OK);
    CHECK_INT(pawl_run(e, "r", NULL, &err), PAWL_PENDING);
    pawl_engine_free(e);
    change("said", "\"c\"");
    change("note", "\"second\"");
    e = engine_of(listen, &h, threads);
    if (pawl_run(e, "r", NULL, &err) != PAWL_HALTED)
        CHECK_FAIL("run: %s", err.text);
    CHECK_INT(h.n, 3);
    for (size_t i = 0; i < h.n; i++)
        CHECK_STR(h.texts[i], "first 1 a");
    heard_free(&h);
    pawl_engine_free(e);
    path_gone();
}

PAWL_TEST(test_K7_who_comes_later_has_the_arguments_of_its_command)
{
    later_alike(0);
    later_alike(2);
}

/* ---- many that wait for a thread ------------------------------------------------------------------------ */

enum { MANY = 300 };

pawl_code step_ref(pawl_step *s, const pawl_value *node, const char *form, const char *target, const char *digest);     /* kernel/step.h */

/* All channels, by a reference that has no digest: nothing but the engine's care keeps what they were. */
static const pawl_value *whole(pawl_step *s)
{
    yyjson_val *node = (yyjson_val *)(uintptr_t)pawl_pack(s, "n");

    node->tag = YYJSON_TYPE_NULL | NODE_REF;
    return step_ref(s, of_val(node), "channel", "*", NULL) == PAWL_OK ? of_val(node) : NULL;
}

/* Its start asks for MANY, each with the note; the receipt of one in the middle changes that, all others change nothing. */
static pawl_code asks_many(pawl_step *s, const pawl_input_event *h, void *arg)
{
    (void)arg;
    if (h->kind == PAWL_EV_START)
        pawl_set_string(s, "note", "first");
    for (int i = 0; h->kind == PAWL_EV_START && i < MANY; i++)
        pawl_flow_call(s, pawl_format(s, "t%d", i), "job", pawl_pack(s, "{s:i,s:v}", "i", (int64_t)i, "all", whole(s)));
    if (h->kind == PAWL_EV_RECEIPT && strcmp(h->tag, "t100") == 0)
        pawl_set_string(s, "note", "second");
    return PAWL_OK;
}

typedef struct many { pthread_mutex_t lock; size_t seen[MANY], wrong; } many;

static pawl_code count(const pawl_job *job, pawl_reply *reply, void *arg)
{
    const char *note = pawl_value_string(pawl_value_find(job->args, "/all/note"));
    many *m = arg;

    pthread_mutex_lock(&m->lock);
    m->seen[pawl_value_int(pawl_value_get(job->args, "i"))]++;
    m->wrong += note == NULL || strcmp(note, "first") != 0;
    pthread_mutex_unlock(&m->lock);
    return pawl_reply_json(reply, "1");
}

static void many_alike(unsigned threads)
{
    static const pawl_channel note = { .name = "note" };
    const pawl_limits limits = { .cls = PAWL_CLASS_AT_LEAST_ONCE };
    many all = { .lock = PTHREAD_MUTEX_INITIALIZER };
    pawl_err err = { PAWL_OK, "" };
    pawl_machine *m = pawl_flow_reducer("asks", 1, &note, 1, asks_many, NULL, NULL, &err);
    pawl_engine *e;

    CHECK_INT(m == NULL ? PAWL_NOMEM : pawl_flow_effect(m, "job", &limits, &err), PAWL_OK);
    e = pawl_engine_new(m, pawl_store_memory(NULL), &err);
    if (e == NULL || pawl_engine_effect(e, "job", count, &all, PAWL_CLASS_AT_LEAST_ONCE, &err) != PAWL_OK)
        CHECK_FAIL("engine: %s", err.text);
    pawl_engine_threads(e, threads);
    CHECK_INT(pawl_run(e, "r", NULL, &err), PAWL_INTERRUPTED);
    CHECK_STR(pawl_run_get(e, "r", "note"), "second");
    CHECK_INT(all.wrong, 0);
    for (size_t i = 0; i < MANY; i++)
        CHECK_INT(all.seen[i], 1);
    pawl_engine_free(e);
}

PAWL_TEST(test_K7_many_that_wait_have_the_arguments_of_their_commands)
{
    many_alike(0);
    many_alike(2);
}
