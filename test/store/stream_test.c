/* stream_test.c - what readers are told of what is stored, from any cursor, and of what is not there any more. */
#include "lib/machines.h"
#include "store/streaming.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void refused(town *t, const char *from, pawl_code code, const char *words)
{
    pawl_err err = { PAWL_OK, "" };

    CHECK(pawl_stream_open(t->e, NULL, "r", &(pawl_stream_options){ .from = from }, &err) == NULL);
    CHECK_INT(err.code, code);
    if (strstr(err.text, words) == NULL)
        CHECK_FAIL("\"%s\" does not say \"%s\"", err.text, words);
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
    static const pawl_channel channels[] = { { .name = "log", .rule = PAWL_RULE_APPEND }, { 0 } };

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

PAWL_TEST(test_G11_G10_a_run_that_is_deleted_as_it_ends_is_told_to_its_end)
{
    const pawl_run_info info = { .id = "r", .retention = "delete" };
    pawl_stream *r;
    pawl_head head;
    town t;
    buf b;

    buf_init(&b, NULL);
    town_begin(&t, town_essay(NULL), NULL);
    town_acts(&t, "llm", PAWL_CLASS_AT_LEAST_ONCE);
    t.replies[0] = "\"first\"";
    CHECK_INT(pawl_run_with(t.e, &info, "{\"request\":1}", &t.err), PAWL_INTERRUPTED);
    r = opened(t.e, NULL, "r", NULL, 0);
    CHECK_INT(drain(r, &b), PAWL_PENDING);
    expect(&b, first_half);
    essay_ends(&t);
    CHECK_INT(pawl_engine_store(t.e)->verbs->head(pawl_engine_store(t.e), "r", &head, NULL), PAWL_GONE);
    for (int i = 0; i < 2; i++)
        CHECK_INT(drain(r, &b), PAWL_HALTED);
    expect(&b, second_half);
    pawl_stream_close(r);
    town_end(&t);
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

/* An answer to a run that nobody holds is stored with its claim. */
static pawl_code create_fails(pawl_store *s, pawl_bytes base, pawl_beginning *with, pawl_err *err)
{
    pawl_code rc = fails == 1 ? PAWL_OK : real->create(s, base, with, err);

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
        verbs.create = create_fails;
        town_begin(&t, town_essay(NULL), s);
        town_acts(&t, "llm", PAWL_CLASS_AT_LEAST_ONCE);
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

static const char value[] = "\"a value that is so long that nobody would want to write it twice, and so it is named\"";

static pawl_machine *adopted(uint32_t version)
{
    static const part parts[] = { { "one", NULL, "also call work 1 -> a | call work 2 -> b" }, { 0 } };
    static const pawl_channel channels[] = { { .name = "a" }, { .name = "b" }, { 0 } };

    return script_machine("adopted", version, channels, parts);
}

/* After its first receipt the run goes over to the next version. */
static void adopted_begin(town *t, pawl_store *s)
{
    town_begin(t, adopted(1), s);
    CHECK_INT(town_run(t, "r", NULL), PAWL_PENDING);
    receipt(t, "1.one.1.0", value);
    town_end(t);
    town_begin(t, adopted(2), s);
    CHECK_INT(pawl_event_send(t->e, "r", &(pawl_event){ .kind = PAWL_EV_ADOPT }, &t->err), PAWL_PENDING);
}

PAWL_TEST(test_G11_a_write_is_whole_though_what_it_names_stands_entries_before)
{
    pawl_store_verbs verbs;
    pawl_store *s = kept_store(&verbs);
    char text[512];
    town t;

    adopted_begin(&t, s);
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

PAWL_TEST(test_G11_K10_what_a_write_names_may_stand_in_the_base)
{
    pawl_store_verbs verbs;
    pawl_store *s = kept_store(&verbs);
    char text[512];
    town t;

    adopted_begin(&t, s);
    town_end(&t);
    town_begin(&t, adopted(2), s);
    prune_now(&t);
    receipt(&t, "1.one.1.1", value);
    snprintf(text, sizeof text, "3.3 updates leave one [[\"a\",%s],[\"b\",%s]]\n", value, value);
    expect_from(&t, "3.0", PAWL_STREAM_UPDATES, text);
    town_end(&t);
    kept_free(s);
}

PAWL_TEST(test_G11_E5_what_a_person_said_came_of_a_command_is_its_value)
{
    static const part parts[] = { { "one", NULL, "call work 1 -> a" }, { 0 } };
    static const pawl_channel channels[] = { { .name = "a" }, { 0 } };
    static const char answer[] = "{\"done\":[\"a value that is so long that nobody would want to write it twice\"]}";
    pawl_graph *g = script_graph("doubt", 1, channels, parts);
    const pawl_event unknown = { .kind = PAWL_EV_RECEIPT, .id = "1.one.1.0", .outcome = PAWL_OUTCOME_UNKNOWN };
    town t;

    pawl_graph_effect(g, "work", &(pawl_limits){ .cls = PAWL_CLASS_ONCE });
    town_begin(&t, script_compile(g), NULL);
    CHECK_INT(town_run(&t, "r", NULL), PAWL_PENDING);
    CHECK_INT(pawl_event_send(t.e, "r", &unknown, &t.err), PAWL_INTERRUPTED);
    CHECK_INT(pawl_answer(t.e, "r", NULL, answer, &t.err), PAWL_HALTED);
    CHECK(town_stored(&t, "r", "\"event\",\"0\""));
    expect_from(&t, NULL, PAWL_STREAM_UPDATES,
                "1.2 updates start []\n2.5 updates leave one [[\"a\",[\"a value that is so long that nobody would want to write it twice\"]]]\n");
    expect_from(&t, "2.4", PAWL_STREAM_UPDATES,
                "2.5 updates leave one [[\"a\",[\"a value that is so long that nobody would want to write it twice\"]]]\n");
    town_end(&t);
}

/* ---- more than is read at once ---------------------------------------------------------------------------------- */

static pawl_code again_and_again(pawl_step *s, void *arg)
{
    static char text[4000];
    int64_t n = pawl_get_int(s, "n");

    (void)arg;
    memset(text, 'x', sizeof text - 1);
    pawl_set_int(s, "n", 1);
    pawl_set_int(s, "log", n);
    if (n % 10 == 0)
        pawl_emit(s, "far", pawl_pack(s, "s", text));
    return pawl_goto(s, n < 1500 ? "on" : PAWL_END);
}

static int loads;               /* snapshots that were handed out */
static pawl_line_fn *line_to;
static void *line_ctx;

static bool count_line(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    (void)ctx;
    loads += kind == PAWL_LINE_SNAPSHOT;
    return line_to(line_ctx, kind, seq, line);
}

static pawl_code load_counted(pawl_store *s, const char *run, pawl_line_fn *fn, void *ctx, pawl_err *err)
{
    line_to = fn;
    line_ctx = ctx;
    return real->load(s, run, count_line, NULL, err);
}

static void long_run(town *t, pawl_store *s)
{
    pawl_graph *g = pawl_graph_new("long", 1);

    pawl_graph_channel(g, "n", PAWL_RULE_SUM);
    pawl_graph_channel(g, "log", PAWL_RULE_APPEND);
    pawl_graph_node(g, "on", again_and_again, NULL);
    pawl_graph_edge(g, PAWL_START, "on");
    pawl_graph_goto(g, "on", "on", PAWL_END, NULL);
    pawl_graph_max_steps(g, 2000);
    town_begin(t, pawl_graph_compile(g, NULL), s);
    CHECK_INT(town_run(t, "r", NULL), PAWL_HALTED);
}

PAWL_TEST(test_G11_a_journal_longer_than_is_read_at_once_is_told_whole)
{
    pawl_stream *r[2];
    pawl_stream_event ev;
    town t;

    long_run(&t, NULL);
    r[0] = opened(NULL, pawl_engine_store(t.e), "r", NULL, ALL);
    r[1] = opened(t.e, NULL, "r", "700.3", PAWL_STREAM_DEBUG);
    for (int i = 0; i < 2; i++) {
        uint64_t seq = i == 0 ? 1 : 700;

        while (pawl_stream_next(r[i], &ev, &t.err) == PAWL_OK) {
            CHECK(ev.seq == seq || (ev.seq == seq + 1 && ev.index == 1));
            seq = ev.seq;
        }
        CHECK_INT(seq, pawl_state_seq(pawl_run_state(t.e, "r", NULL)));
        CHECK(seq > 1500);
        CHECK_INT(pawl_stream_next(r[i], &ev, &t.err), PAWL_HALTED);
        pawl_stream_close(r[i]);
    }
    town_end(&t);
}

PAWL_TEST(test_G11_K6_values_go_on_from_a_snapshot_as_from_the_base)
{
    static const char *const from[] = { NULL, "1.0", "700.3", "1400.0", "1501.5" };
    pawl_store_verbs verbs;
    pawl_store *s = kept_store(&verbs);
    pawl_stream_event ev;
    town t;
    buf last[5];

    verbs.load = load_counted;
    verbs.look = NULL;          /* then load is called */
    long_run(&t, s);
    for (int i = 0; i < 5; i++) {
        pawl_stream *r;

        loads = 0;
        buf_init(&last[i], NULL);
        r = opened(NULL, s, "r", from[i], PAWL_STREAM_VALUES);
        CHECK_INT(loads, i > 0);        /* there is one, to be taken or not */
        while (pawl_stream_next(r, &ev, &t.err) == PAWL_OK) {
            buf_reset(&last[i]);
            buf_put(&last[i], ev.json, strlen(ev.json) + 1);
        }
        CHECK(t.err.code == PAWL_OK && last[i].size > 5000);
        CHECK_STR(last[i].data, last[0].data);
        pawl_stream_close(r);
    }
    for (int i = 0; i < 5; i++)
        buf_free(&last[i]);
    town_end(&t);
    kept_free(s);
}

/* ---- an erased body (K5) ------------------------------------------------------------------------------------------ */

static void put_line(pawl_store *s, uint64_t fence, uint64_t seq, pawl_bytes line)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_append a = { .run = "r", .fence = fence, .seq = seq - 1, .lines = &line, .nlines = 1 };

    if (s->verbs->append(s, &a, 1, &err) != PAWL_OK || a.rc != PAWL_OK)
        CHECK_FAIL("line %llu: %s", (unsigned long long)seq, err.text);
}

/* The journal of `t` in another store, with nothing but the digest of the second entry's body. */
static pawl_store *erased_in(town *t)
{
    pawl_store *s = pawl_store_memory(NULL);
    pawl_bytes journal = town_journal(t, "r");
    const char *at = journal.data, *nl;
    pawl_claim c = { .run = "r" };

    for (uint64_t seq = 0; at < journal.data + journal.size; seq++, at = nl + 1) {
        char line[4096];
        size_t size;

        nl = memchr(at, '\n', (size_t)(journal.data + journal.size - at));
        size = (size_t)(nl - at);
        CHECK(size < sizeof line - 70);
        memcpy(line, at, size);
        line[size] = '\0';
        if (seq == 2) {
            char *body = strchr(line + HASH_HEX + 1, ' ') + 1;
            hash h;

            hash_of(body, strlen(body), &h);
            *body = '"';
            hash_hex(&h, body + 1);
            body[1 + HASH_HEX] = '"';
            size = (size_t)(body + 2 + HASH_HEX - line);
        }
        if (seq == 0) {
            CHECK_INT(s->verbs->create(s, (pawl_bytes){ line, size }, NULL, &t->err), PAWL_OK);
            CHECK_INT(s->verbs->claim(s, "eraser", 1000, &c, 1, &t->err), PAWL_OK);
        } else {
            put_line(s, c.head.fence, seq, (pawl_bytes){ line, size });
        }
    }
    return s;
}

PAWL_TEST(test_G11_K5_an_erased_body_is_a_gap_and_ends_the_values)
{
    pawl_stream *r;
    pawl_stream_event ev;
    pawl_store *s;
    town t;
    buf b;

    buf_init(&b, NULL);
    essay_begin(&t);
    essay_ends(&t);
    s = erased_in(&t);
    r = opened(NULL, s, "r", NULL, PAWL_STREAM_CUSTOM | PAWL_STREAM_UPDATES);
    (void)drain(r, &b);
    expect(&b, "1.2 updates start [[\"request\",1]]\n2.1 gap erased {\"from\":\"2.0\",\"to\":\"2.1\"}\n"
               "3.3 custom artifact publish \"first\"\n3.4 updates leave publish []\n");
    pawl_stream_close(r);
    r = opened(NULL, s, "r", NULL, PAWL_STREAM_VALUES);
    CHECK_INT(pawl_stream_next(r, &ev, &t.err), PAWL_OK);
    for (int i = 0; i < 2; i++) {
        t.err = (pawl_err){ PAWL_OK, "" };
        CHECK_INT(pawl_stream_next(r, &ev, &t.err), PAWL_GONE);
        CHECK(strstr(t.err.text, "erased") != NULL);
    }
    pawl_stream_close(r);
    pawl_store_free(s);
    town_end(&t);
    buf_free(&b);
}
