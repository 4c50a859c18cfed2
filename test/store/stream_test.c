/* stream_test.c - what readers are told: all that is stored, from any cursor, and live what handlers say. */
#include "lib/machines.h"
#include "lib/town.h"
#include "pawl/stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALL = PAWL_STREAM_GAP * 2 - 1 };

/* ---- told as text ---------------------------------------------------------------------------------- */

/* One event a line: "1.3 tasks call draft {..}", live ones "1.3+2". */
static void tell(buf *b, const pawl_stream_event *ev)
{
    static const struct { unsigned kind; const char *name; } names[] = {
        { PAWL_STREAM_VALUES, "values" }, { PAWL_STREAM_UPDATES, "updates" }, { PAWL_STREAM_MESSAGES, "messages" }, { PAWL_STREAM_TASKS, "tasks" },
        { PAWL_STREAM_CUSTOM, "custom" }, { PAWL_STREAM_DEBUG, "debug" }, { PAWL_STREAM_GAP, "gap" },
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].kind == (unsigned)ev->kind) {
            buf_text(b, ev->cursor);
            if (ev->live > 0)
                buf_fmt(b, "+%llu", (unsigned long long)ev->live);
            buf_fmt(b, " %s %s%s%s %s\n", names[i].name, ev->name, *ev->path != '\0' ? " " : "", ev->path, ev->json);
        }
}

static pawl_stream *opened(pawl_engine *e, pawl_store *s, const char *run, const char *from, unsigned kinds)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_stream *r = pawl_stream_open(e, s, run, &(pawl_stream_options){ .from = from, .kinds = kinds }, &err);

    if (r == NULL)
        CHECK_FAIL("open %s: %s", from != NULL ? from : "", err.text);
    return r;
}

/* All that is there. */
static pawl_code drain(pawl_stream *r, buf *b)
{
    pawl_stream_event ev;
    pawl_err err = { PAWL_OK, "" };
    pawl_code rc;

    while ((rc = pawl_stream_next(r, &ev, &err)) == PAWL_OK)
        tell(b, &ev);
    if (rc < 0)
        CHECK_FAIL("next: %s", err.text);
    return rc;
}

static void expect(buf *b, const char *text)
{
    buf_char(b, '\0');
    CHECK_STR(b->data, text);
    buf_reset(b);
}

/* What is told from a cursor on, whoever asks. */
static void expect_from(town *t, const char *from, unsigned kinds, const char *text)
{
    buf b;

    buf_init(&b, NULL);
    for (int i = 0; i < 2; i++) {
        pawl_stream *r = opened(i == 0 ? t->e : NULL, i == 0 ? NULL : pawl_engine_store(t->e), "r", from, kinds);

        (void)drain(r, &b);
        expect(&b, text);
        pawl_stream_close(r);
    }
    buf_free(&b);
}

static void refused(town *t, const char *from, pawl_code code, const char *words)
{
    pawl_err err = { PAWL_OK, "" };

    CHECK(pawl_stream_open(t->e, NULL, "r", &(pawl_stream_options){ .from = from }, &err) == NULL);
    CHECK_INT(err.code, code);
    if (strstr(err.text, words) == NULL)
        CHECK_FAIL("\"%s\" does not say \"%s\"", err.text, words);
}

/* A store that outlives its engine, and whose verbs may be others. */
static const pawl_store_verbs *real;
static void close_not(pawl_store *s) { (void)s; }

static pawl_store *kept_store(pawl_store_verbs *verbs)
{
    pawl_store *s = pawl_store_memory(NULL);

    real = s->verbs;
    *verbs = *real;
    verbs->close = close_not;
    s->verbs = verbs;
    return s;
}

static void kept_free(pawl_store *s)
{
    s->verbs = real;
    pawl_store_free(s);
}

/* ---- durable ------------------------------------------------------------------------------------------ */

static const char first_half[] =
    "1.2 updates start [[\"request\",1]]\n"
    "1.3 tasks close {\"next\":[\"draft\"]}\n"
    "1.4 tasks call draft {\"args\":{\"about\":1},\"effect\":\"llm\"}\n"
    "1.5 values working {\"request\":1}\n"
    "2.2 tasks receipt draft {\"outcome\":\"done\",\"value\":\"first\"}\n"
    "2.3 updates leave draft [[\"draft\",\"first\"]]\n"
    "2.4 tasks leave draft {\"visit\":1}\n"
    "2.5 tasks close {\"next\":[\"publish\"]}\n"
    "2.6 tasks ask publish {\"kind\":\"approval\",\"prompt\":\"publish it?\",\"schema\":{\"type\":\"boolean\"},\"slot\":\"publish\"}\n"
    "2.7 values input-required {\"draft\":\"first\",\"request\":1}\n";
static const char second_half[] =
    "3.2 tasks answer publish {\"value\":true}\n"
    "3.3 custom artifact publish \"first\"\n"
    "3.4 updates leave publish []\n"
    "3.5 tasks leave publish {\"visit\":1}\n"
    "3.6 tasks close {\"next\":[]}\n"
    "3.7 values completed {\"draft\":\"first\",\"request\":1}\n";

static void essay_begin_in(town *t, pawl_store *s)
{
    town_begin(t, town_essay(NULL), s);
    town_acts(t, "llm", PAWL_AT_LEAST_ONCE);
    t->replies[0] = "\"first\"";
    CHECK_INT(town_run(t, "r", "{\"request\":1}"), PAWL_INTERRUPTED);
}

static void essay_begin(town *t) { essay_begin_in(t, NULL); }

static void essay_ends(town *t)
{
    CHECK_INT(pawl_answer(t->e, "r", "publish", "true", &t->err), PAWL_HALTED);
}

PAWL_TEST(test_G11_a_reader_is_told_all_that_is_stored_and_goes_on_live)
{
    pawl_stream *r, *fresh;
    town t;
    buf b;

    buf_init(&b, NULL);
    essay_begin(&t);
    r = opened(t.e, NULL, "r", NULL, 0);
    CHECK_INT(drain(r, &b), PAWL_PENDING);
    expect(&b, first_half);
    CHECK_STR(pawl_stream_cursor(r), "3.0");
    CHECK_INT(drain(r, &b), PAWL_PENDING);
    fresh = opened(t.e, NULL, "r", "now", 0);
    CHECK_INT(drain(fresh, &b), PAWL_PENDING);
    expect(&b, "");
    essay_ends(&t);
    CHECK_INT(drain(r, &b), PAWL_HALTED);
    expect(&b, second_half);
    CHECK_INT(drain(r, &b), PAWL_HALTED);
    CHECK_INT(drain(fresh, &b), PAWL_HALTED);
    expect(&b, second_half);
    pawl_stream_close(r);
    pawl_stream_close(fresh);
    town_end(&t);
    buf_free(&b);
}

PAWL_TEST(test_G11_from_the_cursor_of_any_event_the_rest_is_told)
{
    char whole[sizeof first_half + sizeof second_half];
    const char *rest = whole;
    town t;

    essay_begin(&t);
    essay_ends(&t);
    snprintf(whole, sizeof whole, "%s%s", first_half, second_half);
    expect_from(&t, NULL, 0, whole);
    expect_from(&t, "1.0", 0, whole);
    while (*rest != '\0') {
        char cursor[16];

        snprintf(cursor, sizeof cursor, "%.*s", (int)strcspn(rest, " "), rest);
        rest = strchr(rest, '\n') + 1;
        expect_from(&t, cursor, 0, rest);
    }
    expect_from(&t, "4.0", 0, "");
    expect_from(&t, "now", 0, "");
    expect_from(&t, "3.0", PAWL_STREAM_CUSTOM, "3.3 custom artifact publish \"first\"\n");
    expect_from(&t, "2.3", PAWL_STREAM_VALUES | PAWL_STREAM_CUSTOM,
                "2.7 values input-required {\"draft\":\"first\",\"request\":1}\n3.3 custom artifact publish \"first\"\n"
                "3.7 values completed {\"draft\":\"first\",\"request\":1}\n");
    town_end(&t);
}

PAWL_TEST(test_G11_debug_is_every_line_as_it_is_stored)
{
    static const char start[] = "1.1 debug entry {\"body\":[[\"start\",{\"request\":1}],[\"close\",[\"draft\"]],[\"call\",\"1.draft.1.0\"";
    town t;
    buf b;
    pawl_stream *r;
    pawl_stream_event ev;

    buf_init(&b, NULL);
    essay_begin(&t);
    r = opened(t.e, NULL, "r", NULL, PAWL_STREAM_DEBUG);
    CHECK_INT(pawl_stream_next(r, &ev, NULL), PAWL_OK);
    CHECK_INT(ev.time_ms, 1000);
    CHECK_STR(ev.run, "r");
    tell(&b, &ev);
    buf_char(&b, '\0');
    CHECK(strncmp(b.data, start, strlen(start)) == 0);
    CHECK(strstr(b.data, "\"envelope\":[1,1000,\"start\",\"working\",1],\"hash\":\"") != NULL);
    pawl_stream_close(r);
    town_end(&t);
    buf_free(&b);
}

PAWL_TEST(test_G11_X1_a_cursor_that_is_none_is_refused_with_words)
{
    static const char *const nonsense[] = { "", "1", "1.", ".1", "0.0", "0.1", "-1.0", "1.0 ", " 1.0", "1.0.0", "1.x", "NOW", "1.-1",
                                            "99999999999999999999.0", "1.99999999999999999999", "1,0", "\xff" };
    town t;

    essay_begin(&t);
    for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++)
        refused(&t, nonsense[i], PAWL_INVALID, "is no cursor");
    refused(&t, "3.1", PAWL_INVALID, "no event \"3.1\"");
    refused(&t, "4.0", PAWL_INVALID, "no event \"4.0\"");
    refused(&t, "2.8", PAWL_INVALID, "no event \"2.8\"");
    refused(&t, "18446744073709551615.0", PAWL_INVALID, "no event");
    CHECK(pawl_stream_open(t.e, NULL, "nobody", NULL, &t.err) == NULL);
    CHECK_INT(t.err.code, PAWL_GONE);
    t.err = (pawl_err){ PAWL_OK, "" };
    CHECK(pawl_stream_open(NULL, NULL, "r", NULL, &t.err) == NULL);
    CHECK_INT(t.err.code, PAWL_INVALID);
    CHECK(pawl_stream_open(t.e, NULL, "no run", NULL, NULL) == NULL);
    CHECK(pawl_stream_open(t.e, NULL, "r", &(pawl_stream_options){ .kinds = 128 }, NULL) == NULL);
    town_end(&t);
}

/* ---- the superstep that is open --------------------------------------------------------------------------- */

static pawl_machine *pair(void)
{
    static const part parts[] = { { "one", NULL, "call work 1 -> log | emit told {\"n\":1} | emit message \"one is done\"" },
                                  { "two", NULL, "call work 2 -> log" }, { "end", "one two", "log=\"end\"" }, { 0 } };
    static const pawl_channel channels[] = { { .name = "log", .rule = PAWL_APPEND }, { 0 } };

    return script_machine("pair", 1, channels, parts);
}

static void receipt(town *t, const char *id, const char *value)
{
    const pawl_event ev = { .kind = PAWL_EV_RECEIPT, .id = id, .value = value };

    t->err = (pawl_err){ PAWL_OK, "" };
    if (pawl_event_send(t->e, "r", &ev, &t->err) < 0)
        CHECK_FAIL("%s: %s", id, t->err.text);
}

PAWL_TEST(test_G11_E2_what_task_records_tell_has_the_same_place_before_and_after_they_are_closed)
{
    pawl_stream *r;
    town t;
    buf b, again;

    buf_init(&b, NULL);
    buf_init(&again, NULL);
    town_begin(&t, pair(), NULL);
    CHECK_INT(town_run(&t, "r", NULL), PAWL_PENDING);
    r = opened(t.e, NULL, "r", NULL, ALL);
    (void)drain(r, &again);
    receipt(&t, "1.two.1.0", "{\"two\":\"a value that is long enough to be named by what follows\"}");
    (void)drain(r, &again);
    CHECK_STR(pawl_stream_cursor(r), "2.4");
    expect_from(&t, "2.0", PAWL_STREAM_TASKS | PAWL_STREAM_UPDATES,
                "2.2 tasks receipt two {\"outcome\":\"done\",\"value\":{\"two\":\"a value that is long enough to be named by what follows\"}}\n"
                "2.3 updates leave two [[\"log\",{\"two\":\"a value that is long enough to be named by what follows\"}]]\n"
                "2.4 tasks leave two {\"visit\":1}\n");
    refused(&t, "2.5", PAWL_INVALID, "no event \"2.5\"");
    receipt(&t, "1.one.1.0", "\"x\"");
    (void)drain(r, &again);
    expect_from(&t, "2.4", PAWL_STREAM_TASKS | PAWL_STREAM_CUSTOM | PAWL_STREAM_MESSAGES | PAWL_STREAM_UPDATES,
                "2.6 tasks receipt one {\"outcome\":\"done\",\"value\":\"x\"}\n2.7 custom told one {\"n\":1}\n2.8 messages message one \"one is done\"\n"
                "2.9 updates leave one [[\"log\",\"x\"]]\n2.10 tasks leave one {\"visit\":1}\n2.12 tasks close {\"next\":[\"end\"]}\n"
                "3.2 updates leave end [[\"log\",\"end\"]]\n3.3 tasks leave end {\"visit\":1}\n3.4 tasks close {\"next\":[]}\n");
    pawl_stream_close(r);
    r = opened(NULL, pawl_engine_store(t.e), "r", NULL, ALL);
    (void)drain(r, &b);
    buf_char(&again, '\0');
    expect(&b, again.data);
    pawl_stream_close(r);
    town_end(&t);
    buf_free(&b);
    buf_free(&again);
}

/* ---- what is not there any more --------------------------------------------------------------------------- */

static void prune_now(town *t)
{
    pawl_store *s = pawl_engine_store(t->e);
    pawl_state *st = pawl_run_state(t->e, "r", NULL);
    pawl_bytes base;
    pawl_claim c = { .run = "r" };
    pawl_hold held = { .run = "r" };

    CHECK_INT(pawl_state_prune(st, pawl_engine_step(t->e), &base, &t->err), PAWL_OK);
    CHECK_INT(s->verbs->claim(s, "pruner", 1000, &c, 1, &t->err), PAWL_OK);
    CHECK_INT(c.rc, PAWL_OK);
    held.fence = c.head.fence;
    CHECK_INT(s->verbs->prune(s, "r", c.head.fence, c.head.seq, base, &t->err), PAWL_OK);
    CHECK_INT(s->verbs->release(s, &held, 1, &t->err), PAWL_OK);
}

PAWL_TEST(test_G11_K10_what_was_pruned_is_told_as_gone_or_as_a_gap)
{
    char gap_first[sizeof second_half + 64];
    pawl_stream *slow, *fast;
    pawl_stream_event ev;
    town t;
    buf b;

    buf_init(&b, NULL);
    essay_begin(&t);
    slow = opened(t.e, NULL, "r", NULL, 0);
    fast = opened(t.e, NULL, "r", "now", 0);
    prune_now(&t);
    refused(&t, "1.2", PAWL_GONE, "was pruned: entries up to 2 are gone, go on from 3.0");
    refused(&t, "2.7", PAWL_GONE, "was pruned");
    CHECK_INT(pawl_stream_next(slow, &ev, &t.err), PAWL_GONE);
    CHECK(strstr(t.err.text, "pruned") != NULL);
    CHECK_INT(pawl_stream_next(slow, &ev, NULL), PAWL_GONE);
    essay_ends(&t);
    CHECK_INT(drain(fast, &b), PAWL_HALTED);
    expect(&b, second_half);
    expect_from(&t, "3.0", 0, second_half);
    snprintf(gap_first, sizeof gap_first, "3.0 gap pruned {\"from\":\"1.0\",\"to\":\"3.0\"}\n%s", second_half);
    expect_from(&t, NULL, 0, gap_first);
    pawl_stream_close(slow);
    pawl_stream_close(fast);
    town_end(&t);
    buf_free(&b);
}

static void remove_now(town *t)
{
    pawl_store *s = pawl_engine_store(t->e);
    pawl_claim c = { .run = "r" };

    CHECK_INT(s->verbs->claim(s, "remover", 1000, &c, 1, &t->err), PAWL_OK);
    CHECK_INT(s->verbs->remove(s, "r", c.head.fence, &t->err), PAWL_OK);
}

PAWL_TEST(test_G11_G10_a_run_that_was_deleted_ends_its_streams)
{
    pawl_store_verbs verbs;
    pawl_store *s = kept_store(&verbs);
    pawl_stream *r[2];
    pawl_stream_event ev;
    town t;
    buf b;

    buf_init(&b, NULL);
    essay_begin_in(&t, s);
    for (int i = 0; i < 2; i++) {
        r[i] = opened(NULL, s, "r", NULL, 0);
        CHECK_INT(drain(r[i], &b), PAWL_PENDING);
    }
    remove_now(&t);
    CHECK_INT(pawl_stream_next(r[0], &ev, &t.err), PAWL_GONE);
    CHECK_STR(t.err.text, "r: the run was deleted");
    town_end(&t);
    essay_begin_in(&t, s);
    CHECK_INT(pawl_stream_next(r[1], &ev, &t.err), PAWL_GONE);
    CHECK_STR(t.err.text, "r: the run was deleted, and another one was begun under its id: open another stream");
    for (int i = 0; i < 2; i++)
        pawl_stream_close(r[i]);
    town_end(&t);
    kept_free(s);
    buf_free(&b);
}

/* ---- G9: an append that fails -------------------------------------------------------------------------------- */

static int fails;               /* 1: before it is stored; 2: after */

static pawl_code append_fails(pawl_store *s, pawl_append *all, size_t n, pawl_err *err)
{
    pawl_code rc = fails == 1 ? PAWL_OK : real->append(s, all, n, err);

    if (fails > 0 && err != NULL)
        *err = (pawl_err){ PAWL_IO, "the disk is gone" };
    rc = fails > 0 ? PAWL_IO : rc;
    fails = 0;
    return rc;
}

PAWL_TEST(test_G9_readers_are_told_what_is_stored_and_nothing_else)
{
    for (int how = 1; how <= 2; how++) {
        pawl_store_verbs verbs;
        pawl_store *s = kept_store(&verbs);
        pawl_stream *r;
        town t;
        buf b;

        buf_init(&b, NULL);
        verbs.append = append_fails;
        town_begin(&t, town_essay(NULL), s);
        town_acts(&t, "llm", PAWL_AT_LEAST_ONCE);
        t.replies[0] = "\"first\"";
        CHECK_INT(town_run(&t, "r", "{\"request\":1}"), PAWL_INTERRUPTED);
        r = opened(t.e, NULL, "r", "now", 0);
        fails = how;
        CHECK_INT(pawl_answer(t.e, "r", "publish", "true", &t.err), PAWL_IO);
        t.err = (pawl_err){ PAWL_OK, "" };
        if (how == 1) {
            CHECK_INT(drain(r, &b), PAWL_PENDING);
            expect(&b, "");
            essay_ends(&t);
        }
        CHECK_INT(drain(r, &b), PAWL_HALTED);
        expect(&b, second_half);
        pawl_stream_close(r);
        town_end(&t);
        kept_free(s);
        buf_free(&b);
    }
}

/* ---- references over an entry that closes no superstep --------------------------------------------------------- */

PAWL_TEST(test_G11_a_write_is_whole_though_what_it_names_stands_entries_before)
{
    static const part parts[] = { { "one", NULL, "also call work 1 -> a | call work 2 -> b" }, { 0 } };
    static const pawl_channel channels[] = { { .name = "a" }, { .name = "b" }, { 0 } };
    static const char value[] = "\"a value that is so long that nobody would want to write it twice, and so it is named\"";
    pawl_store_verbs verbs;
    pawl_store *s = kept_store(&verbs);
    char text[512];
    town t;

    town_begin(&t, script_machine("adopted", 1, channels, parts), s);
    CHECK_INT(town_run(&t, "r", NULL), PAWL_PENDING);
    receipt(&t, "1.one.1.0", value);
    town_end(&t);
    town_begin(&t, script_machine("adopted", 2, channels, parts), s);
    CHECK_INT(pawl_event_send(t.e, "r", &(pawl_event){ .kind = PAWL_EV_ADOPT }, &t.err), PAWL_PENDING);
    receipt(&t, "1.one.1.1", value);
    CHECK(town_stored(&t, "r", "\"event\",\"0\""));
    CHECK(town_stored(&t, "r", "[2,1000,\"adopt\""));
    snprintf(text, sizeof text, "1.2 updates start []\n3.3 updates leave one [[\"a\",%s],[\"b\",%s]]\n", value, value);
    expect_from(&t, NULL, PAWL_STREAM_UPDATES, text);
    expect_from(&t, "2.0", PAWL_STREAM_UPDATES, strchr(text, '\n') + 1);
    expect_from(&t, "3.0", PAWL_STREAM_UPDATES, strchr(text, '\n') + 1);
    expect_from(&t, "3.2", PAWL_STREAM_UPDATES, strchr(text, '\n') + 1);
    town_end(&t);
    kept_free(s);
}

/* ---- live ----------------------------------------------------------------------------------------------------------- */

typedef struct talk { pawl_engine *e; pawl_stream *r, *late; buf b, late_b; int says; bool again; } talk;

/* What a model does: it speaks, and is settled when it has spoken. */
static pawl_code talks(const pawl_job *job, pawl_reply *reply, void *arg)
{
    talk *t = arg;
    char text[32];

    for (int i = 0; i < t->says; i++) {
        snprintf(text, sizeof text, " { \"n\" : %d } ", i);
        CHECK_INT(job->say(job, i % 2 == 0 ? "message" : "progress", text), PAWL_OK);
    }
    CHECK_INT(job->say(job, "message", "{"), PAWL_INVALID);
    CHECK_INT(job->say(job, "no name", "1"), PAWL_INVALID);
    CHECK_INT(job->say(job, NULL, "1"), PAWL_INVALID);
    CHECK_INT(job->say(job, "message", NULL), PAWL_INVALID);
    if (t->again && job->attempt == 1)
        return pawl_reply_fail(reply, PAWL_TRANSIENT, "busy");
    if (t->late == NULL)
        (void)drain(t->late = opened(t->e, NULL, "r", "now", 0), &t->late_b);
    return pawl_reply_string(reply, "first");
}

static void talk_begin(town *t, talk *k, const pawl_limits *limits)
{
    *k = (talk){ .says = 3 };
    buf_init(&k->b, NULL);
    buf_init(&k->late_b, NULL);
    town_begin(t, town_essay(limits), NULL);
    k->e = t->e;
    CHECK_INT(pawl_engine_effect(t->e, "llm", talks, k, PAWL_AT_LEAST_ONCE, &t->err), PAWL_OK);
    CHECK_INT(pawl_begin(t->e, "r", "{\"request\":1}", &t->err), PAWL_OK);
}

static void talk_end(town *t, talk *k)
{
    pawl_stream_close(k->r);
    pawl_stream_close(k->late);
    town_end(t);
    buf_free(&k->b);
    buf_free(&k->late_b);
}

static const char draft_done[] =
    "2.2 tasks receipt draft {\"outcome\":\"done\",\"value\":\"first\"}\n"
    "2.3 updates leave draft [[\"draft\",\"first\"]]\n"
    "2.4 tasks leave draft {\"visit\":1}\n"
    "2.5 tasks close {\"next\":[\"publish\"]}\n"
    "2.6 tasks ask publish {\"kind\":\"approval\",\"prompt\":\"publish it?\",\"schema\":{\"type\":\"boolean\"},\"slot\":\"publish\"}\n"
    "2.7 values input-required {\"draft\":\"first\",\"request\":1}\n";

PAWL_TEST(test_G11_A7_live_events_stand_between_the_durable_ones_and_are_kept_nowhere)
{
    static const char said[] = "2.0+1 tasks started draft {\"attempt\":1}\n2.0+2 messages message draft {\"n\":0}\n"
                               "2.0+3 custom progress draft {\"n\":1}\n2.0+4 messages message draft {\"n\":2}\n";
    char text[1024];
    town t;
    talk k;

    talk_begin(&t, &k, NULL);
    k.r = opened(t.e, NULL, "r", NULL, 0);
    CHECK_INT(town_run(&t, "r", NULL), PAWL_INTERRUPTED);
    (void)drain(k.r, &k.b);
    snprintf(text, sizeof text, "1.2 updates start [[\"request\",1]]\n1.3 tasks close {\"next\":[\"draft\"]}\n"
             "1.4 tasks call draft {\"args\":{\"about\":1},\"effect\":\"llm\"}\n1.5 values working {\"request\":1}\n%s%s", said, draft_done);
    expect(&k.b, text);
    expect(&k.late_b, said);    /* the attempt was at work when it came */
    (void)drain(k.late, &k.b);
    expect(&k.b, draft_done);
    expect_from(&t, NULL, PAWL_STREAM_MESSAGES | PAWL_STREAM_CUSTOM, "");
    talk_end(&t, &k);
}

PAWL_TEST(test_A7_who_comes_late_gets_what_the_attempt_at_work_has_said_and_nothing_of_those_before)
{
    static const char second[] = "2.0+6 tasks started draft {\"attempt\":2}\n2.0+7 messages message draft {\"n\":0}\n"
                                 "2.0+8 custom progress draft {\"n\":1}\n2.0+9 messages message draft {\"n\":2}\n";
    const pawl_limits limits = { .retry = { .max_attempts = 3, .initial_ms = 5, .factor = 2 } };
    char text[1024];
    town t;
    talk k;

    talk_begin(&t, &k, &limits);
    k.again = true;
    k.r = opened(t.e, NULL, "r", "now", PAWL_STREAM_MESSAGES | PAWL_STREAM_TASKS | PAWL_STREAM_CUSTOM);
    CHECK_INT(town_run(&t, "r", NULL), PAWL_INTERRUPTED);
    expect(&k.late_b, second);
    (void)drain(k.r, &k.b);
    buf_char(&k.b, '\0');
    snprintf(text, sizeof text, "2.0+4 messages message draft {\"n\":2}\n"
             "2.0+5 tasks again draft {\"at\":1005,\"attempt\":1,\"error\":{\"code\":\"transient\",\"text\":\"busy\"}}\n%s"
             "2.2 tasks receipt", second);
    if (strstr(k.b.data, text) == NULL)
        CHECK_FAIL("no\n%s\nin\n%s", text, k.b.data);
    talk_end(&t, &k);
}

PAWL_TEST(test_G11_X2_a_reader_that_is_too_slow_is_told_what_it_missed_and_misses_nothing_durable)
{
    pawl_stream_event ev;
    town t;
    talk k;

    talk_begin(&t, &k, NULL);
    CHECK_INT(pawl_engine_live(t.e, 8, 4000, &t.err), PAWL_OK);
    CHECK_INT(pawl_engine_live(t.e, 8, 4000, NULL), PAWL_CONFLICT);
    k.says = 100;
    k.r = opened(t.e, NULL, "r", NULL, PAWL_STREAM_VALUES | PAWL_STREAM_CUSTOM);
    CHECK_INT(pawl_stream_next(k.r, &ev, &t.err), PAWL_PENDING);
    CHECK_INT(town_run(&t, "r", NULL), PAWL_INTERRUPTED);
    essay_ends(&t);
    (void)drain(k.r, &k.b);
    expect(&k.b, "1.5 values working {\"request\":1}\n"
                 "2.0+95 gap slow {\"from\":\"1.0\",\"live\":95,\"to\":\"2.0\"}\n"
                 "2.0+97 custom progress draft {\"n\":95}\n2.0+99 custom progress draft {\"n\":97}\n2.0+101 custom progress draft {\"n\":99}\n"
                 "2.7 values input-required {\"draft\":\"first\",\"request\":1}\n"
                 "3.3 custom artifact publish \"first\"\n3.7 values completed {\"draft\":\"first\",\"request\":1}\n");
    talk_end(&t, &k);
}

/* ---- waiting ---------------------------------------------------------------------------------------------------- */

static void count_wakes(void *ctx) { ++*(int *)ctx; }

PAWL_TEST(test_G11_who_waits_is_woken_told_to_stop_or_told_that_nothing_came)
{
    pawl_stream_event ev;
    pawl_stream *r;
    int wakes = 0;
    town t;

    essay_begin(&t);
    r = pawl_stream_open(t.e, NULL, "r", &(pawl_stream_options){ .from = "now", .wake = count_wakes, .wake_ctx = &wakes }, &t.err);
    CHECK_INT(pawl_stream_wait(r, 0, &ev, &t.err), PAWL_PENDING);
    CHECK_INT(pawl_stream_wait(r, 15, &ev, &t.err), PAWL_PENDING);
    CHECK_INT(wakes, 0);
    essay_ends(&t);
    CHECK_INT(wakes, 1);
    CHECK_INT(pawl_stream_wait(r, -1, &ev, &t.err), PAWL_OK);
    CHECK_STR(ev.cursor, "3.2");
    pawl_stream_stop(r);
    CHECK_INT(pawl_stream_wait(r, -1, &ev, &t.err), PAWL_CANCELED);
    CHECK_INT(pawl_stream_next(r, &ev, &t.err), PAWL_OK);
    CHECK_STR(ev.cursor, "3.3");
    pawl_stream_close(r);
    pawl_stream_close(NULL);
    pawl_stream_stop(NULL);
    CHECK_INT(pawl_stream_next(NULL, &ev, NULL), PAWL_INVALID);
    CHECK_INT(pawl_stream_wait(NULL, 0, &ev, NULL), PAWL_INVALID);
    CHECK_STR(pawl_stream_cursor(NULL), "");
    town_end(&t);
}

int main(int argc, char **argv)
{
    static const check_case cases[] = {
        CASE(test_G11_a_reader_is_told_all_that_is_stored_and_goes_on_live),
        CASE(test_G11_from_the_cursor_of_any_event_the_rest_is_told),
        CASE(test_G11_debug_is_every_line_as_it_is_stored),
        CASE(test_G11_X1_a_cursor_that_is_none_is_refused_with_words),
        CASE(test_G11_E2_what_task_records_tell_has_the_same_place_before_and_after_they_are_closed),
        CASE(test_G11_K10_what_was_pruned_is_told_as_gone_or_as_a_gap),
        CASE(test_G11_G10_a_run_that_was_deleted_ends_its_streams),
        CASE(test_G9_readers_are_told_what_is_stored_and_nothing_else),
        CASE(test_G11_a_write_is_whole_though_what_it_names_stands_entries_before),
        CASE(test_G11_A7_live_events_stand_between_the_durable_ones_and_are_kept_nowhere),
        CASE(test_A7_who_comes_late_gets_what_the_attempt_at_work_has_said_and_nothing_of_those_before),
        CASE(test_G11_X2_a_reader_that_is_too_slow_is_told_what_it_missed_and_misses_nothing_durable),
        CASE(test_G11_who_waits_is_woken_told_to_stop_or_told_that_nothing_came),
    };

    return check_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
