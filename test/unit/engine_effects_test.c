/* engine_effects_test.c - commands are performed: what handlers are given, what they reply, when they are asked again. */
#include "lib/engine_fixture.h"
#include "pawl/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- effects ------------------------------------------------------------------------------------------ */

/* At the moment of the call the command stands in the store. */
static pawl_code is_stored(const pawl_job *cmd, pawl_reply *reply, void *arg)
{
    town *t = arg;
    char call[64];

    snprintf(call, sizeof call, "[\"call\",\"%s\"", strchr(cmd->id, '/') + 1);
    CHECK(town_stored(t, "essay-1", call));
    CHECK(strncmp(cmd->id, "essay-1~", 8) == 0);
    t->calls++;
    pawl_reply_string(reply, "a \"quoted\"\nline");
    return PAWL_OK;
}

PAWL_TEST(test_E1_an_effect_leaves_after_its_entry_is_stored)
{
    town t;

    town_begin(&t, town_essay(NULL), NULL);
    CHECK_INT(pawl_engine_effect(t.e, "llm", is_stored, &t, PAWL_CLASS_AT_LEAST_ONCE, &t.err), PAWL_OK);
    CHECK_INT(town_run(&t, "essay-1", "{\"request\":\"sky\"}"), PAWL_INTERRUPTED);
    CHECK_INT(t.calls, 1);
    CHECK_STR(pawl_run_get(t.e, "essay-1", "draft"), "a \"quoted\"\nline");
    town_end(&t);
}

PAWL_TEST(test_a_command_without_a_handler_waits_and_says_so)
{
    town t;

    town_begin(&t, town_essay(NULL), NULL);
    CHECK_INT(town_run(&t, "essay-1", "{\"request\":\"sky\"}"), PAWL_PENDING);
    CHECK_INT(t.err.code, PAWL_PENDING);
    CHECK(strstr(t.err.text, "/1.draft.1.0: no handler for effect \"llm\"") != NULL);
    CHECK_INT(pawl_state_status(pawl_run_state(t.e, "essay-1", NULL)), PAWL_STATUS_WORKING);
    town_acts(&t, "llm", PAWL_CLASS_AT_LEAST_ONCE);
    CHECK_INT(town_run(&t, "essay-1", NULL), PAWL_INTERRUPTED);
    CHECK_INT(t.err.code, PAWL_OK);
    CHECK_INT(t.calls, 1);
    town_end(&t);
}

PAWL_TEST(test_E5_a_handler_of_another_class_is_refused)
{
    const pawl_limits once = { .cls = PAWL_CLASS_ONCE };
    town t;

    town_begin(&t, town_essay(&once), NULL);
    CHECK_INT(pawl_engine_effect(t.e, "llm", town_act, &t, PAWL_CLASS_IDEMPOTENT, &t.err), PAWL_INVALID);
    CHECK_STR(t.err.text, "essay: effect \"llm\" is declared once, and its handler is idempotent");
    CHECK_INT(pawl_engine_effect(t.e, "llm", town_act, &t, PAWL_CLASS_ONCE, NULL), PAWL_OK);
    t.err = (pawl_err){ PAWL_OK, "" };      /* what nobody declared stands in the journal as at-least-once */
    CHECK_INT(pawl_engine_effect(t.e, "another", town_act, &t, PAWL_CLASS_ONCE, &t.err), PAWL_INVALID);
    CHECK_STR(t.err.text, "essay: effect \"another\" is declared at-least-once, and its handler is once");
    CHECK_INT(pawl_engine_effect(t.e, "another", town_act, &t, PAWL_CLASS_AT_LEAST_ONCE, NULL), PAWL_OK);
    CHECK_INT(pawl_engine_effect(t.e, "", town_act, &t, PAWL_CLASS_AT_LEAST_ONCE, NULL), PAWL_INVALID);
    CHECK_INT(pawl_engine_effect(t.e, "no name", town_act, &t, PAWL_CLASS_AT_LEAST_ONCE, NULL), PAWL_INVALID);
    CHECK_INT(pawl_engine_effect(t.e, "another", town_act, &t, (pawl_class)9, NULL), PAWL_INVALID);
    CHECK_INT(pawl_engine_effect(t.e, "another", NULL, &t, PAWL_CLASS_PURE, NULL), PAWL_INVALID);
    CHECK_INT(pawl_engine_effect(NULL, "another", town_act, &t, PAWL_CLASS_PURE, NULL), PAWL_INVALID);
    town_end(&t);
}

/* ---- E8 ----------------------------------------------------------------------------------------------- */

/* Takes as long as its next reply says, by the town's clock. */
static pawl_code takes_time(const pawl_job *cmd, pawl_reply *reply, void *arg)
{
    town *t = arg;

    (void)cmd;
    t->calls++;
    t->now += strtol(t->replies[t->reply], NULL, 10);
    t->reply += t->replies[t->reply + 1] != NULL;
    pawl_reply_string(reply, "done");
    return PAWL_OK;
}

static void timed(const pawl_limits *limits, const char *first, const char *second, const char *draft, size_t calls)
{
    town t;

    town_begin(&t, town_essay(limits), NULL);
    CHECK_INT(pawl_engine_effect(t.e, "llm", takes_time, &t, PAWL_CLASS_AT_LEAST_ONCE, &t.err), PAWL_OK);
    t.replies[0] = first;
    t.replies[1] = second;
    CHECK_INT(town_run(&t, "r", NULL), *draft == '\0' ? PAWL_HALTED : PAWL_INTERRUPTED);
    CHECK_INT(t.calls, calls);
    CHECK_STR(pawl_run_get(t.e, "r", "draft"), draft);
    if (*draft == '\0')
        CHECK(town_stored(&t, "r", "\"timeout\",{\"code\":\"timeout\",\"text\":\"llm: "));
    town_end(&t);
}

PAWL_TEST(test_E8_what_takes_longer_than_its_limits_counts_for_nothing)
{
    const pawl_retry twice = { .max_attempts = 2, .initial_ms = 5 };

    timed(&(pawl_limits){ .attempt_timeout_ms = 50 }, "50", NULL, "done", 1);
    timed(&(pawl_limits){ .attempt_timeout_ms = 50 }, "51", NULL, "", 1);
    timed(&(pawl_limits){ .attempt_timeout_ms = 50, .retry = twice }, "51", "1", "done", 2);
    timed(&(pawl_limits){ .attempt_timeout_ms = 50, .retry = twice }, "51", "60", "", 2);
    timed(&(pawl_limits){ .attempt_timeout_ms = 50, .total_timeout_ms = 58, .retry = twice }, "51", "1", "done", 2);
    timed(&(pawl_limits){ .attempt_timeout_ms = 50, .total_timeout_ms = 56, .retry = twice }, "51", "1", "", 2);
    timed(&(pawl_limits){ .attempt_timeout_ms = 50, .total_timeout_ms = 55, .retry = twice }, "51", "1", "", 1);
}

/* Hands its job to nobody, and time passes by the town's clock. */
static pawl_code answered_never(const pawl_job *cmd, pawl_reply *reply, void *arg)
{
    town *t = arg;
    pawl_code rc = cmd->later(cmd, NULL, NULL);

    (void)reply;
    t->calls++;
    t->now += strtol(t->replies[t->reply], NULL, 10);
    t->reply += t->replies[t->reply + 1] != NULL;
    return rc == PAWL_OK ? PAWL_PENDING : rc;
}

/* Without a thread: what holds none is timed out by its limit alone, though nobody ever answers. */
PAWL_TEST(test_E8_E17_without_threads_a_pending_command_ends_by_its_limit)
{
    const pawl_limits limits = { .attempt_timeout_ms = 50, .retry = { .max_attempts = 2, .initial_ms = 5 } };
    town t;

    town_begin(&t, town_essay(&limits), NULL);
    CHECK_INT(pawl_engine_effect(t.e, "llm", answered_never, &t, PAWL_CLASS_AT_LEAST_ONCE, &t.err), PAWL_OK);
    t.replies[0] = "51";
    CHECK_INT(town_run(&t, "r", NULL), PAWL_HALTED);
    CHECK_INT(t.calls, 2);
    CHECK(town_stored(&t, "r", "\"timeout\",{\"code\":\"timeout\",\"text\":\"llm: it took longer than its attempt_timeout_ms allows, and nobody answered"));
    town_verify(&t, "r");
    town_end(&t);
}

static pawl_code returns_pending(const pawl_job *cmd, pawl_reply *reply, void *arg)
{
    (void)cmd, (void)reply, (void)arg;
    return PAWL_PENDING;
}

PAWL_TEST(test_E12_a_handler_that_returns_what_is_no_result_fails_the_command)
{
    town t;

    town_begin(&t, town_essay(NULL), NULL);
    CHECK_INT(pawl_engine_effect(t.e, "llm", returns_pending, NULL, PAWL_CLASS_AT_LEAST_ONCE, NULL), PAWL_OK);
    CHECK_INT(town_run(&t, "r", NULL), PAWL_HALTED);
    CHECK(town_stored(&t, "r", "its handler returned \\\"pending\\\", which is no result"));
    CHECK(*pawl_run_reason(t.e, "r") != '\0');
    town_end(&t);
}

/* The last handler of an effect is the one that is asked. */
PAWL_TEST(test_a_handler_may_be_replaced)
{
    town t;

    town_begin(&t, town_essay(NULL), NULL);
    CHECK_INT(pawl_engine_effect(t.e, "llm", is_stored, &t, PAWL_CLASS_AT_LEAST_ONCE, &t.err), PAWL_OK);
    town_acts(&t, "llm", PAWL_CLASS_AT_LEAST_ONCE);
    t.replies[0] = "7";
    CHECK_INT(town_run(&t, "essay-1", "{\"request\":\"sky\"}"), PAWL_INTERRUPTED);
    CHECK_STR(pawl_run_get(t.e, "essay-1", "draft"), "7");
    town_end(&t);
}

/* ---- replies --------------------------------------------------------------------------------------------- */

static pawl_code both_ways(pawl_step *s, const pawl_value *input, void *arg)
{
    const pawl_value *receipt;
    pawl_code rc = pawl_call(s, "do", input, &receipt);

    (void)arg;
    if (rc == PAWL_EFFECT)
        pawl_set(s, "out", pawl_pack(s, "{s:v}", "failed", receipt));
    else if (rc == PAWL_OK)
        pawl_set(s, "out", receipt);
    return rc == PAWL_EFFECT ? PAWL_OK : rc;
}

typedef pawl_code say_fn(pawl_reply *r);

static pawl_code say_nothing(pawl_reply *r) { (void)r; return PAWL_OK; }
static pawl_code say_null(pawl_reply *r) { pawl_reply_json(r, NULL); pawl_reply_string(r, NULL); return PAWL_OK; }
static pawl_code say_int(pawl_reply *r) { pawl_reply_int(r, INT64_MIN); return PAWL_OK; }
static pawl_code say_twice(pawl_reply *r) { pawl_reply_int(r, 1); pawl_reply_string(r, "the last"); return PAWL_OK; }
static pawl_code say_spaced(pawl_reply *r) { pawl_reply_json(r, " { \"b\" : 1.0 , \"a\" : [ ] } "); return PAWL_OK; }
static pawl_code say_garbage(pawl_reply *r) { pawl_reply_json(r, "{\"half\":"); return PAWL_OK; }
static pawl_code say_utf8(pawl_reply *r) { pawl_reply_string(r, "\xff\xfe"); return PAWL_OK; }
static pawl_code say_failed(pawl_reply *r) { return pawl_reply_fail(r, PAWL_DENIED, "not %s", "today"); }
static pawl_code say_worse(pawl_reply *r) { return pawl_reply_fail(r, PAWL_OK, "no code"); }
static pawl_code say_silent(pawl_reply *r) { (void)r; return PAWL_EFFECT; }
static pawl_code say_after(pawl_reply *r) { pawl_reply_int(r, 1); return PAWL_DENIED; }

static pawl_code say_deep(pawl_reply *r)
{
    char text[301];

    memset(text, '[', 150);
    memset(text + 150, ']', 150);
    text[300] = '\0';
    pawl_reply_json(r, text);
    return PAWL_OK;
}

static pawl_code says(const pawl_job *cmd, pawl_reply *reply, void *arg)
{
    say_fn *const *fn = arg;

    (void)cmd;
    return (*fn)(reply);
}

/* `expected`: what becomes of it; or how that begins, and "...". */
static void check_reply(say_fn *fn, const char *expected)
{
    size_t n = strlen(expected);
    say_fn *say = fn;
    const char *out;
    town t;

    town_begin(&t, town_lines(both_ways, NULL), NULL);
    CHECK_INT(pawl_engine_effect(t.e, "do", says, &say, PAWL_CLASS_AT_LEAST_ONCE, &t.err), PAWL_OK);
    CHECK_INT(town_run(&t, "r", "{\"input\":1}"), PAWL_HALTED);
    out = pawl_run_get(t.e, "r", "out");
    if (n > 3 && strcmp(expected + n - 3, "...") == 0)
        CHECK_BYTES(out, strlen(out) < n - 3 ? strlen(out) : n - 3, expected, n - 3);
    else
        CHECK_STR(out, expected);
    CHECK_INT(t.err.code, PAWL_OK);
    town_verify(&t, "r");
    town_end(&t);
}

PAWL_TEST(test_a_reply_is_its_json_and_the_last_one_counts)
{
    check_reply(say_nothing, "null");
    check_reply(say_null, "null");
    check_reply(say_int, "-9223372036854775808");
    check_reply(say_twice, "the last");
    check_reply(say_spaced, "{\"a\":[],\"b\":1.0}");
}

PAWL_TEST(test_E12_a_handler_that_replies_garbage_fails_the_command_and_nothing_else)
{
    check_reply(say_garbage, "{\"failed\":{\"code\":\"invalid\",\"text\":\"do: the reply: byte ...");
    check_reply(say_utf8, "{\"failed\":{\"code\":\"invalid\",\"text\":\"do: the reply: byte ...");
    check_reply(say_deep, "{\"failed\":{\"code\":\"limit\",\"text\":\"do: the reply: byte 128: more than 128 levels...");
}

PAWL_TEST(test_a_handler_that_fails_says_why)
{
    check_reply(say_failed, "{\"failed\":{\"code\":\"denied\",\"text\":\"not today\"}}");
    check_reply(say_worse, "{\"failed\":{\"code\":\"effect\",\"text\":\"no code\"}}");
    check_reply(say_silent, "{\"failed\":{\"code\":\"effect\",\"text\":\"\"}}");
    check_reply(say_after, "{\"failed\":{\"code\":\"denied\",\"text\":\"\"}}");
}

/* ---- retries and sleeps ------------------------------------------------------------------------------------ */

static void check_retry(const pawl_retry *retry, const char *replies[8], const char *log, const char *draft_text, const char *status)
{
    const pawl_limits limits = { .cls = PAWL_CLASS_IDEMPOTENT, .retry = *retry };
    pawl_state *st;
    town t;

    town_begin(&t, town_essay(&limits), NULL);
    memcpy(t.replies, replies, sizeof t.replies);
    town_acts(&t, "llm", PAWL_CLASS_IDEMPOTENT);
    (void)(town_run(&t, "essay-1", "{\"request\":1}") == PAWL_OK);
    town_log(&t, log);
    st = pawl_run_state(t.e, "essay-1", NULL);
    CHECK_STR(pawl_run_get(t.e, "essay-1", "draft"), draft_text);
    CHECK_STR(pawl_status_name(pawl_state_status(st)), status);
    town_verify(&t, "essay-1");
    town_end(&t);
}

#define CALL "1.draft.1.0 {\"about\":1}; "

PAWL_TEST(test_E7_a_command_is_tried_again_after_growing_delays)
{
    const pawl_retry four = { .max_attempts = 4, .initial_ms = 100, .max_ms = 500, .factor = 3 };
    const char *third[8] = { "!transient busy", "!io gone", "\"at last\"" };
    const char *never[8] = { "!timeout slow" };
    const char *final[8] = { "!transient busy", "!denied no" };

    check_retry(&four, third, CALL "sleep 100; " CALL "sleep 300; " CALL, "at last", "input-required");
    check_retry(&four, never, CALL "sleep 100; " CALL "sleep 300; " CALL "sleep 500; " CALL, "", "failed");
    check_retry(&four, final, CALL "sleep 100; " CALL, "", "failed");       /* a final error is not tried again */
}

PAWL_TEST(test_E7_a_command_without_a_policy_is_tried_once)
{
    const pawl_retry none = { .max_attempts = 0 }, two = { .max_attempts = 2 };
    const char *busy[8] = { "!transient busy" };

    check_retry(&none, busy, CALL, "", "failed");
    check_retry(&two, busy, CALL "sleep 0; " CALL, "", "failed");
}

PAWL_TEST(test_E7_jitter_stays_between_nothing_and_the_delay)
{
    const pawl_limits limits = { .cls = PAWL_CLASS_PURE, .retry = { .max_attempts = 50, .initial_ms = 1000, .max_ms = 1000, .jitter = true } };
    town t;

    town_begin(&t, town_essay(&limits), NULL);
    t.replies[0] = "!transient busy";
    town_acts(&t, "llm", PAWL_CLASS_PURE);
    CHECK_INT(town_run(&t, "essay-1", "{\"request\":1}"), PAWL_HALTED);
    CHECK_INT(t.calls, 50);
    CHECK(t.now >= 1000 && t.now <= 1000 + 49 * 1000);
    town_end(&t);
}

PAWL_TEST(test_E8_what_became_of_a_command_is_in_its_outcome)
{
    town t;

    town_begin(&t, town_lines(both_ways, NULL), NULL);
    t.replies[0] = "!timeout slow";
    t.replies[1] = "!unknown who knows";
    town_acts(&t, "do", PAWL_CLASS_AT_LEAST_ONCE);
    CHECK_INT(town_run(&t, "a", "{\"input\":1}"), PAWL_HALTED);
    CHECK_INT(town_run(&t, "b", "{\"input\":1}"), PAWL_HALTED);
    CHECK(town_stored(&t, "a", ",\"timeout\",{\"code\":\"timeout\",\"text\":\"slow\"}]"));
    CHECK(town_stored(&t, "b", ",\"unknown\",{\"code\":\"unknown\",\"text\":\"who knows\"}]"));
    town_end(&t);
}

static pawl_code nap(pawl_step *s, void *arg)
{
    const int *ms = arg;
    pawl_code rc = pawl_sleep(s, *ms);

    if (rc == PAWL_OK)
        pawl_set_string(s, "order", pawl_node_name(s));
    return rc;
}

PAWL_TEST(test_E9_sleeps_are_waited_for_the_one_that_ends_first_before_the_others)
{
    static const int ms[3] = { 5000, 50, 700 };
    union { const int *in; void *out; } p;
    pawl_graph *g = pawl_graph_new("naps", 1);
    const char *const names[3] = { "long", "short", "middle" };
    town t;

    pawl_graph_channel(g, "order", PAWL_RULE_APPEND);
    for (int i = 0; i < 3; i++) {
        p.in = &ms[i];
        pawl_graph_node(g, names[i], nap, p.out);
        pawl_graph_chain(g, PAWL_START, names[i], PAWL_END, NULL);
    }
    town_begin(&t, pawl_graph_compile(g, NULL), NULL);
    CHECK_INT(town_run(&t, "r", NULL), PAWL_HALTED);
    town_log(&t, "sleep 50; sleep 650; sleep 4300; ");
    CHECK_INT(t.now, 6000);
    CHECK_STR(pawl_run_get(t.e, "r", "order"), "[\"long\",\"short\",\"middle\"]");
    town_verify(&t, "r");
    town_end(&t);
}

static pawl_code ask_for(pawl_step *s, void *arg)
{
    const int *ms = arg;
    const pawl_question q = { .prompt = pawl_pack(s, "s", "Which?"), .otherwise = pawl_pack(s, "s", "none"), .timeout_ms = *ms };
    const pawl_value *v;
    pawl_code rc = pawl_ask_with(s, &q, &v);

    if (rc == PAWL_OK)
        pawl_set_string(s, "order", pawl_value_string(v));
    return rc;
}

PAWL_TEST(test_W5_of_several_deadlines_each_gives_its_default_in_its_time_and_an_answer_ends_one)
{
    static const int ms[3] = { 5000, 50, 700 };
    union { const int *in; void *out; } p;
    pawl_graph *g = pawl_graph_new("asks", 1);
    const char *const names[3] = { "long", "short", "middle" };
    town t;

    pawl_graph_channel(g, "order", PAWL_RULE_APPEND);
    for (int i = 0; i < 3; i++) {
        p.in = &ms[i];
        pawl_graph_node(g, names[i], ask_for, p.out);
        pawl_graph_chain(g, PAWL_START, names[i], PAWL_END, NULL);
    }
    town_begin(&t, pawl_graph_compile(g, NULL), NULL);
    CHECK_INT(town_run(&t, "r", NULL), PAWL_INTERRUPTED);
    CHECK_INT(pawl_state_waits(pawl_run_state(t.e, "r", NULL)), 3);
    t.now += 100;
    CHECK_INT(town_run(&t, "r", NULL), PAWL_INTERRUPTED);
    CHECK_INT(pawl_state_waits(pawl_run_state(t.e, "r", NULL)), 2);
    CHECK_INT(pawl_answer(t.e, "r", "middle", "\"this\"", &t.err), PAWL_INTERRUPTED);
    t.now += 1000;
    CHECK_INT(town_run(&t, "r", NULL), PAWL_INTERRUPTED);
    CHECK_INT(pawl_state_waits(pawl_run_state(t.e, "r", NULL)), 1);
    t.now += 5000;
    CHECK_INT(town_run(&t, "r", NULL), PAWL_HALTED);
    CHECK_STR(pawl_run_get(t.e, "r", "order"), "[\"none\",\"none\",\"this\"]");
    town_verify(&t, "r");
    town_end(&t);
}

/* ---- secrets (K4) --------------------------------------------------------------------------------------------- */

static pawl_code with_key(pawl_step *s, const pawl_value *input, void *arg)
{
    const pawl_value *receipt;
    pawl_code rc = pawl_call(s, "http", pawl_pack(s, "{s:v,s:v}", "body", input, "key", pawl_ref(s, "key")), &receipt);

    (void)arg;
    if (rc == PAWL_OK)
        pawl_set(s, "out", receipt);
    return rc;
}

static void check_key(town *t, const char *value)
{
    char log[256];

    CHECK_INT(town_run(t, "r", NULL), PAWL_HALTED);
    snprintf(log, sizeof log, "1.main.1.0 {\"body\":\"b\",\"key\":\"%s\"}; ", value);
    town_log(t, log);
    CHECK(!town_stored(t, "r", value));     /* its name is there, its value nowhere */
    CHECK_STR(pawl_run_get(t->e, "r", "key"), "");
    town_verify(t, "r");
}

static void check_missing(town *t, const char *spec)
{
    char text[128];

    CHECK_INT(town_run(t, "r", "{\"input\":\"b\"}"), PAWL_PENDING);
    snprintf(text, sizeof text, ": secret %s is missing; the command waits for it", spec);
    CHECK_INT(t->err.code, PAWL_PENDING);
    CHECK(strstr(t->err.text, text) != NULL);
    CHECK_INT(t->calls, 0);
}

PAWL_TEST(test_K4_a_secret_of_the_environment_is_put_in_when_it_is_there)
{
    town t;

    unsetenv("PAWL_TEST_KEY");
    town_begin(&t, town_lines(with_key, "env:PAWL_TEST_KEY"), NULL);
    town_acts(&t, "http", PAWL_CLASS_AT_LEAST_ONCE);
    check_missing(&t, "env:PAWL_TEST_KEY");
    setenv("PAWL_TEST_KEY", "swordfish", 1);
    check_key(&t, "swordfish");
    unsetenv("PAWL_TEST_KEY");
    town_end(&t);
}

PAWL_TEST(test_K4_a_secret_of_a_file_is_put_in_without_its_newline)
{
    char path[64] = "/tmp/pawl-engine-test-XXXXXX", spec[96];
    FILE *f;
    int fd = mkstemp(path);
    town t;

    CHECK(fd >= 0);
    CHECK_INT(remove(path), 0);
    snprintf(spec, sizeof spec, "file:%s", path);
    town_begin(&t, town_lines(with_key, spec), NULL);
    town_acts(&t, "http", PAWL_CLASS_AT_LEAST_ONCE);
    check_missing(&t, spec);
    CHECK((f = fdopen(fd, "w")) != NULL);
    fclose(f);
    CHECK((f = fopen(path, "w")) != NULL);
    fputs("opensesame\r\n", f);
    fclose(f);
    check_key(&t, "opensesame");
    remove(path);
    town_end(&t);
}

/* Half a secret is none; nor is one that is no text. */
PAWL_TEST(test_K4_a_secret_that_is_no_text_or_too_long_is_not_put_in)
{
    char path[64] = "/tmp/pawl-engine-test-XXXXXX", spec[96];
    int fd = mkstemp(path);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    town t;

    CHECK(f != NULL);
    for (int i = 0; i < 70000; i++)
        fputc('x', f);
    fclose(f);
    snprintf(spec, sizeof spec, "file:%s", path);
    town_begin(&t, town_lines(with_key, spec), NULL);
    town_acts(&t, "http", PAWL_CLASS_AT_LEAST_ONCE);
    check_missing(&t, spec);
    CHECK((f = fopen(path, "w")) != NULL);
    fputs("\xff\xfe", f);
    fclose(f);
    CHECK_INT(town_run(&t, "r", NULL), PAWL_PENDING);
    CHECK(strstr(t.err.text, "is no UTF-8 text") != NULL);
    CHECK_INT(t.calls, 0);
    remove(path);
    town_end(&t);
}

static const char *given(void *ctx, const char *name)
{
    const char **value = ctx;

    CHECK_STR(name, "door");
    return *value;
}

PAWL_TEST(test_K4_a_secret_may_be_given_by_the_caller)
{
    const char *value = NULL;
    town t;

    town_begin(&t, town_lines(with_key, "given:door"), NULL);
    town_acts(&t, "http", PAWL_CLASS_AT_LEAST_ONCE);
    check_missing(&t, "given:door");
    pawl_engine_secret(t.e, given, &value);
    check_missing(&t, "given:door");
    value = "knockknock";
    check_key(&t, "knockknock");
    town_end(&t);
}
