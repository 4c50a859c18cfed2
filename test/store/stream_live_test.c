/* stream_live_test.c - what handlers say while they work reaches those who read along, and nobody else. */
#include "pawl/items.h"
#include "store/streaming.h"

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

static pawl_code says_on(const pawl_job *job, pawl_reply *reply, void *arg)
{
    for (int i = 0; i < ((talk *)arg)->says; i++)
        CHECK_INT(job->say(job, "message", "1"), PAWL_OK);
    return pawl_reply_string(reply, "first");
}

static void talk_begin(town *t, talk *k, const pawl_limits *limits)
{
    *k = (talk){ .says = 3 };
    buf_init(&k->b, NULL);
    buf_init(&k->late_b, NULL);
    town_begin(t, town_essay(limits), NULL);
    k->e = t->e;
    CHECK_INT(pawl_engine_effect(t->e, "llm", talks, k, PAWL_CLASS_AT_LEAST_ONCE, &t->err), PAWL_OK);
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

PAWL_TEST(test_G11_many_runs_share_what_is_kept_and_each_reader_gets_its_own)
{
    enum { RUNS = 7 };
    pawl_stream *r[RUNS], *whole;
    char id[16];
    town t;
    talk k = { .says = 5 };
    buf b[RUNS], all;

    buf_init(&all, NULL);
    for (size_t ring = 1; ring < 200; ring += 33) {
        town_begin(&t, town_essay(NULL), NULL);
        CHECK_INT(pawl_engine_effect(t.e, "llm", says_on, &k, PAWL_CLASS_AT_LEAST_ONCE, &t.err), PAWL_OK);
        CHECK_INT(pawl_engine_live(t.e, ring, 0, &t.err), PAWL_OK);
        for (int i = 0; i < RUNS; i++) {
            snprintf(id, sizeof id, "r%d", i);
            CHECK_INT(pawl_begin(t.e, id, "{\"request\":1}", &t.err), PAWL_OK);
            r[i] = opened(t.e, NULL, id, NULL, ALL - PAWL_STREAM_MESSAGES - PAWL_STREAM_CUSTOM - PAWL_STREAM_TASKS);
            buf_init(&b[i], NULL);
        }
        CHECK_INT(pawl_work(t.e, 0, &t.err), PAWL_OK);
        for (int i = 0; i < RUNS; i++) {
            snprintf(id, sizeof id, "r%d", i);
            (void)drain(r[i], &b[i]);
            whole = opened(NULL, pawl_engine_store(t.e), id, NULL, ALL - PAWL_STREAM_MESSAGES - PAWL_STREAM_CUSTOM - PAWL_STREAM_TASKS);
            (void)drain(whole, &all);
            buf_char(&b[i], '\0');
            CHECK(strlen(b[i].data) > 500);
            expect(&all, b[i].data);
            pawl_stream_close(whole);
            pawl_stream_close(r[i]);
            buf_free(&b[i]);
        }
        town_end(&t);
    }
    buf_free(&all);
}

/* ---- typed -------------------------------------------------------------------------------------------------------- */

#define BYTES(text) .bytes = text, .size = sizeof text - 1

/* Bytes that are no JSON, and what becomes of them for whoever asks for JSON. */
static const struct { pawl_delta said; const char *name, *json; } pieces[] = {
    { { .kind = PAWL_DELTA_BEGIN, .number = 7 }, "message", "{\"attempt\":7,\"type\":\"begin\"}" },
    { { .kind = PAWL_DELTA_THINKING, BYTES("\"hm") }, "message", "{\"thinking\":\"\\\"hm\",\"type\":\"thinking_delta\"}" },
    { { .kind = PAWL_DELTA_TEXT, BYTES("{\"n\":\n\0\xe2\x82\xac") }, "message", "{\"text\":\"{\\\"n\\\":\\n\\u0000\xe2\x82\xac\",\"type\":\"text_delta\"}" },
    { { .kind = PAWL_DELTA_TOOL_INPUT, .number = 2, .id = "t1", .name = "bash" }, "message",
      "{\"id\":\"t1\",\"index\":2,\"input\":\"\",\"name\":\"bash\",\"type\":\"tool_delta\"}" },
    { { .kind = PAWL_DELTA_TOOL_INPUT, .number = 2, BYTES("{\"a") }, "message", "{\"index\":2,\"input\":\"{\\\"a\",\"type\":\"tool_delta\"}" },
    { { .kind = PAWL_DELTA_TOOL_OUTPUT, .id = "t1", BYTES("]") }, "tool_progress", "{\"output\":\"]\",\"tool_use_id\":\"t1\"}" },
};

enum { PIECES = sizeof pieces / sizeof *pieces };

static pawl_code say_heard(const pawl_job *job, const char *name, const char *text)
{
    buf_fmt(job->ctx, "%s %s\n", name, text);
    return PAWL_OK;
}

/* Each as bytes; in a copy of the job, whose say() is another; and its JSON. */
static pawl_code says_typed(const pawl_job *job, pawl_reply *reply, void *arg)
{
    static const pawl_delta wrong[] = { { .kind = PAWL_DELTA_CUSTOM, .name = "own", BYTES("1") }, { .kind = PAWL_DELTA_TEXT, BYTES("\xe2\x82") },
                                        { .kind = PAWL_DELTA_TEXT, .size = 1 }, { .kind = (pawl_delta_kind)(PAWL_DELTA_TOOL_OUTPUT + 1) } };
    pawl_job copy = *job;

    copy.say = say_heard;
    copy.ctx = arg;
    for (size_t i = 0; i < PIECES; i++) {
        CHECK_INT(pawl_job_say(job, &pieces[i].said), PAWL_OK);
        CHECK_INT(pawl_job_say(&copy, &pieces[i].said), PAWL_OK);
        CHECK_INT(job->say(job, pieces[i].name, pieces[i].json), PAWL_OK);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK_INT(pawl_job_say(job, &wrong[i]), PAWL_INVALID);
    copy.say = NULL;
    CHECK_INT(pawl_job_say(&copy, &pieces[0].said), PAWL_OK);
    return pawl_reply_string(reply, "first");
}

static bool same_delta(const pawl_delta *a, const pawl_delta *b)
{
    return a->kind == b->kind && a->size == b->size && a->number == b->number && memcmp(a->bytes, b->size > 0 ? b->bytes : "", b->size) == 0 &&
           strcmp(a->id != NULL ? a->id : "", b->id != NULL ? b->id : "") == 0 && strcmp(a->name != NULL ? a->name : "", b->name != NULL ? b->name : "") == 0;
}

PAWL_TEST(test_A7_a_delta_is_bytes_until_a_reader_asks_for_its_json)
{
    pawl_item_change ch;
    pawl_stream_event ev;
    pawl_items *items;
    pawl_stream *r;
    buf heard, expected;
    town t;

    buf_init(&heard, NULL);
    buf_init(&expected, NULL);
    town_begin(&t, town_essay(NULL), NULL);
    CHECK_INT(pawl_engine_effect(t.e, "llm", says_typed, &heard, PAWL_CLASS_AT_LEAST_ONCE, &t.err), PAWL_OK);
    CHECK_INT(pawl_begin(t.e, "r", "{\"request\":1}", &t.err), PAWL_OK);
    r = opened(t.e, NULL, "r", "now", PAWL_STREAM_MESSAGES | PAWL_STREAM_CUSTOM);
    CHECK((items = pawl_items_open(t.e, NULL, "r", NULL, &t.err)) != NULL);
    CHECK_INT(town_run(&t, "r", NULL), PAWL_INTERRUPTED);
    for (size_t i = 0; i < 2 * PIECES; i++) {       /* typed, and as JSON, in turn */
        CHECK_INT(pawl_stream_next(r, &ev, &t.err), PAWL_OK);
        CHECK_STR(ev.name, pieces[i / 2].name);
        CHECK_STR(ev.json, pieces[i / 2].json);
        CHECK_INT(ev.kind, strcmp(ev.name, "message") == 0 ? PAWL_STREAM_MESSAGES : PAWL_STREAM_CUSTOM);
        CHECK(i % 2 == 1 ? ev.delta == NULL : same_delta(ev.delta, &pieces[i / 2].said));
        do
            CHECK_INT(pawl_items_next(items, &ch, &t.err), PAWL_OK);
        while (ch.live == 0 || strcmp(ch.part, "started") == 0);
        CHECK(i % 2 == 1 ? ch.delta == NULL : same_delta(ch.delta, &pieces[i / 2].said));
        CHECK_STR(pawl_items_json(items, &t.err), pieces[i / 2].json);
    }
    for (size_t i = 0; i < PIECES; i++)
        buf_fmt(&expected, "%s %s\n", pieces[i].name, pieces[i].json);
    CHECK_BYTES(heard.data, heard.size, expected.data, expected.size);
    pawl_items_close(items);
    pawl_stream_close(r);
    town_end(&t);
    buf_free(&heard);
    buf_free(&expected);
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
