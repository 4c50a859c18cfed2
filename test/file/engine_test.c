/* engine_test.c - agent files on an engine with a store in memory: what handlers are given, how often, and what is written down. */
#include "file/filing.h"
#include "pawl/engine.h"

#include <unistd.h>

typedef struct shop {           /* who performs "run", and all that was stored */
    bench *b;
    filing from;
    filing_text files[2];
    agent_file *a;
    pawl_engine *e;
    buf journal, calls;         /* entries and task records; arguments, a line each */
    unsigned refuses;           /* so many calls are, at first */
} shop;

static pawl_code perform(const pawl_job *job, pawl_reply *r, void *arg)
{
    shop *s = arg;

    canon(&s->calls, pawl_value_get(job->args, strncmp(job->effect, "undo", 4) == 0 ? "args" : "run"));
    buf_char(&s->calls, '\n');
    if (s->refuses > 0) {
        s->refuses--;
        return pawl_reply_fail(r, PAWL_TRANSIENT, "busy");
    }
    return pawl_reply_json(r, "{\"status\":0,\"stderr\":\"\",\"stdout\":\"out\\n\"}");
}

static void watch(void *ctx, const pawl_state *st, const pawl_entry *entry)
{
    shop *s = ctx;
    pawl_bytes bytes = pawl_entry_bytes(entry);

    (void)st;
    buf_put(&s->journal, bytes.data, bytes.size);
    buf_char(&s->journal, '\n');
}

static const char *given(void *ctx, const char *name)
{
    (void)ctx;
    return strcmp(name, "pin") == 0 ? "given-value-4711" : NULL;
}

static int64_t now_ms;
static int64_t clock_now(void *ctx) { (void)ctx; return now_ms; }
static void clock_sleep(void *ctx, int64_t until) { (void)ctx; now_ms = until > now_ms ? until : now_ms; }

static void shop_open(shop *s, const char *text)
{
    const pawl_clock clock = { clock_now, clock_sleep, NULL };
    pawl_err err = {0};
    file_reader reader;

    *s = (shop){ .b = bench_new(), .files = { { "a.yaml", text } } };
    s->from.texts = s->files;
    reader = filing_reader(&s->from);
    buf_init(&s->journal, NULL);
    buf_init(&s->calls, NULL);
    now_ms = 1000;
    s->a = file_load(&s->b->mem, "a.yaml", &reader, &s->b->f);
    if (s->a == NULL || s->b->f.count > 0)
        CHECK_FAIL("%s", told(s->b));
    s->e = pawl_engine_new(file_machine(s->a, "test", &s->b->f, &err), pawl_store_memory(&err), &err);
    if (s->e == NULL)
        CHECK_FAIL("%s", err.text);
    pawl_engine_clock(s->e, &clock);
    pawl_engine_watch(s->e, watch, s);
    pawl_engine_secret(s->e, given, s);
    for (const file_effect *e = s->a->effects; e != NULL; e = e->next)
        if (pawl_engine_effect(s->e, e->name, perform, s, e->limits.cls, &err) != PAWL_OK)
            CHECK_FAIL("%s", err.text);
}

static void shop_close(shop *s)
{
    pawl_engine_free(s->e);
    buf_free(&s->journal);
    buf_free(&s->calls);
    bench_free(s->b);
}

static void runs(shop *s, pawl_code due, const char *calls)
{
    pawl_err err = {0};
    pawl_code rc = pawl_run(s->e, "one", NULL, &err);

    if (rc < 0)
        CHECK_FAIL("%s", err.text);
    CHECK_INT(rc, due);
    buf_char(&s->calls, '\0');
    CHECK_STR(s->calls.data, calls);
    buf_char(&s->journal, '\0');
}

PAWL_TEST(test_E7_an_attempt_is_made_again_as_the_file_says)
{
    shop s;

    shop_open(&s, "start: a\nstate: {c: {}}\nnodes:\n  a: {run: [x], text: c, retry: {max_attempts: 3, initial: 2s, factor: 3}, next: end}\n");
    s.refuses = 2;
    runs(&s, PAWL_HALTED, "[\"x\"]\n[\"x\"]\n[\"x\"]\n");
    CHECK_STR(pawl_run_get(s.e, "one", "c"), "out");
    CHECK(now_ms >= 1000 + 2000 + 6000);
    shop_close(&s);
    shop_open(&s, "start: a\ndefaults: {retry: {max_attempts: 2}}\nnodes:\n  a: {run: [x], on_error: b, next: end}\n  b: {run: [\"{{.error.text}}\"], next: end}\n");
    s.refuses = 2;
    runs(&s, PAWL_HALTED, "[\"x\"]\n[\"x\"]\n[\"busy\"]\n");
    shop_close(&s);
}

PAWL_TEST(test_K4_handlers_get_secrets_and_journals_their_names)
{
    char path[] = "/tmp/pawl-secret-XXXXXX", text[600];
    int fd = mkstemp(path);
    shop s;

    CHECK(fd >= 0 && write(fd, "file-value-0815", 15) == 15 && close(fd) == 0);
    CHECK(setenv("PAWL_TEST_TOKEN", "env-value-1234", 1) == 0);
    snprintf(text, sizeof text,
             "start: a\nstate: {t: {secret: {env: PAWL_TEST_TOKEN}}, f: {secret: {file: %s}}, p: {secret: {given: pin}}, all: {}}\nnodes:\n"
             "  a: {run: [x, \"{{.t}}\", \"{{.f}}\", \"{{.p}}\"], effect: compensable, undo: {run: [y, \"{{.t}}\"]}, next: b}\n"
             "  b: {set: {all: .}, next: c}\n  c: {run: [z], next: d}\n  d: {set: {all: .all.x.y.z}, next: e}\n  e: {set: {all: 'x{{.all}}'}, next: end}\n",
             path);
    shop_open(&s, text);
    runs(&s, PAWL_HALTED, "[\"x\",\"env-value-1234\",\"file-value-0815\",\"given-value-4711\"]\n[\"z\"]\n"
                          "{\"check\":true,\"run\":[\"x\",\"env-value-1234\",\"file-value-0815\",\"given-value-4711\"],\"undo\":{\"run\":[\"y\",\"env-value-1234\"]}}\n");
    CHECK(strstr(s.journal.data, "env:PAWL_TEST_TOKEN") != NULL && strstr(s.journal.data, "given:pin") != NULL);
    CHECK(strstr(s.journal.data, "value-") == NULL);
    shop_close(&s);
    unlink(path);
    unsetenv("PAWL_TEST_TOKEN");
}

PAWL_TEST(test_K4_a_secret_that_is_missing_is_waited_for_by_its_name)
{
    pawl_err err = {0};
    shop s;

    shop_open(&s, "start: a\nstate: {t: {secret: {given: nothing}}}\nnodes:\n  a: {run: [x, \"{{.t}}\"], next: end}\n");
    CHECK_INT(pawl_run(s.e, "one", NULL, &err), PAWL_PENDING);
    CHECK(strstr(err.text, "nothing") != NULL);
    CHECK_INT(s.calls.size, 0);
    shop_close(&s);
}
