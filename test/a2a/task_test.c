/* task_test.c - a task is folded from items: the same for every reader, its events in ascending places, and from any of them the rest and nothing else. */
#include "a2a/a2a.h"
#include "lib/check.h"

#include <stdio.h>
#include <stdlib.h>

enum { RUN = PAWL_ITEM_RUN, MSG = PAWL_ITEM_MESSAGE, TOOL = PAWL_ITEM_TOOL_CALL, NODE = PAWL_ITEM_NODE, WAIT = PAWL_ITEM_WAIT, ART = PAWL_ITEM_ARTIFACT,
       ERR = PAWL_ITEM_ERROR, LINE = PAWL_ITEM_LINE, ADD = PAWL_ITEM_ADDED, UPD = PAWL_ITEM_UPDATED, END = PAWL_ITEM_ENDED, EMIT = PAWL_ITEM_EMITTED };

typedef struct row { unsigned kind; pawl_item_state state; unsigned what; const char *place, *id, *name, *part, *json; } row;

/* A graph that asks twice, makes artifacts, and completes: as the items of such a run are. */
static const row graph[] = {
    { RUN, PAWL_ITEM_PROPOSED, ADD, "1.0", "r~1", "r", "", NULL }, { LINE, PAWL_ITEM_PROPOSED, UPD, "1.1", "r~1", "r", "entry", NULL },
    { RUN, PAWL_ITEM_PROPOSED, UPD, "1.2", "r~1", "r", "start", "[[\"@mode\",\"default\"],[\"question\",\"socks\"]]" },
    { NODE, PAWL_ITEM_RUNNING, ADD, "1.4.1", "r~1/node:a", "a", "", NULL },
    { WAIT, PAWL_ITEM_WAITING, ADD, "1.4", "r~1/1.a.1.0", "question", "ask", "{\"kind\":\"question\",\"prompt\":\"Which?\",\"slot\":\"a\"}" },
    { RUN, PAWL_ITEM_WAITING, UPD, "1.5", "r~1", "r", "status", NULL }, { LINE, PAWL_ITEM_WAITING, UPD, "2.1", "r~1", "r", "entry", NULL },
    { WAIT, PAWL_ITEM_DONE, END, "2.2", "r~1/1.a.1.0", "question", "answer", "{\"by\":\"ada\",\"note\":\"a2a:m2\",\"value\":\"red\"}" },
    { WAIT, PAWL_ITEM_WAITING, ADD, "2.3", "r~1/2.b.1.0", "approval", "ask", "{\"kind\":\"approval\",\"prompt\":\"Drop?\",\"slot\":\"b\"}" },
    { LINE, PAWL_ITEM_WAITING, UPD, "3.1", "r~1", "r", "entry", NULL },
    { WAIT, PAWL_ITEM_DONE, END, "3.2", "r~1/2.b.1.0", "approval", "answer", "{\"by\":\"ada\",\"value\":true}" },
    { TOOL, PAWL_ITEM_RUNNING, ADD, "3.3", "r~1/2.b.1.1", "run", "call", "{}" }, { RUN, PAWL_ITEM_RUNNING, UPD, "3.4", "r~1", "r", "status", NULL },
    { LINE, PAWL_ITEM_RUNNING, UPD, "4.1", "r~1", "r", "record", NULL },
    { WAIT, PAWL_ITEM_WAITING, ADD, "4.2", "r~1/2.c.1.0", "question", "ask", "{\"prompt\":\"More?\",\"slot\":\"c\"}" },
    { LINE, PAWL_ITEM_RUNNING, UPD, "4.3", "r~1", "r", "record", NULL }, { TOOL, PAWL_ITEM_DONE, END, "4.4", "r~1/2.b.1.1", "run", "receipt", "{}" },
    { ART, PAWL_ITEM_DONE, ADD | EMIT | END, "4.5", "r~1/artifact:4.5", "artifact", "artifact", "{\"name\":\"f.txt\",\"value\":\"one\"}" },
    { LINE, PAWL_ITEM_RUNNING, UPD, "4.6", "r~1", "r", "entry", NULL },
    { WAIT, PAWL_ITEM_DONE, END, "4.7", "r~1/2.c.1.0", "question", "answer", "{\"by\":\"@timer\",\"value\":0}" },
    { ART, PAWL_ITEM_DONE, ADD | EMIT | END, "4.8", "r~1/artifact:4.8", "artifact", "artifact",
      "{\"name\":\"f.txt\",\"value\":{\"mediaType\":\"text/plain\",\"raw\":\"aGk=\"}}" },
    { RUN, PAWL_ITEM_DONE, END, "4.9", "r~1", "r", "status", NULL },
};

/* An agent that answers twice, and fails in its third turn. */
static const row agent[] = {
    { RUN, PAWL_ITEM_PROPOSED, ADD, "1.0", "r~1", "r", "", NULL }, { LINE, PAWL_ITEM_PROPOSED, UPD, "1.1", "r~1", "r", "entry", NULL },
    { RUN, PAWL_ITEM_PROPOSED, UPD, "1.2", "r~1", "r", "start", "[[\"input\",\"hi\"]]" },
    { MSG, PAWL_ITEM_DONE, ADD | END, "1.3", "r~1/message:1.3", "user", "message", "{\"content\":\"hi\",\"role\":\"user\"}" },
    { ART, PAWL_ITEM_DONE, ADD | EMIT | END, "1.4", "r~1/artifact:1.4", "state", "state", "{\"state\":\"idle\"}" },
    { MSG, PAWL_ITEM_RUNNING, ADD, "1.6", "r~1/1.@.1.0", "llm", "call", "{}" }, { RUN, PAWL_ITEM_RUNNING, UPD, "1.7", "r~1", "r", "status", NULL },
    { LINE, PAWL_ITEM_RUNNING, UPD, "2.1", "r~1", "r", "entry", NULL },
    { MSG, PAWL_ITEM_RUNNING, UPD, "2.3", "r~1/1.@.1.0", "llm", "message", "{\"content\":[{\"text\":\"hello\",\"type\":\"text\"}],\"role\":\"assistant\"}" },
    { WAIT, PAWL_ITEM_WAITING, ADD, "2.7", "r~1/2.@.1.0", "input", "ask", "{\"kind\":\"input\",\"slot\":\"input\"}" },
    { RUN, PAWL_ITEM_WAITING, UPD, "2.8", "r~1", "r", "status", NULL }, { LINE, PAWL_ITEM_WAITING, UPD, "3.1", "r~1", "r", "entry", NULL },
    { WAIT, PAWL_ITEM_DONE, END, "3.2", "r~1/2.@.1.0", "input", "answer", "{\"by\":\"ada\",\"value\":{\"input\":\"more\"}}" },
    { MSG, PAWL_ITEM_DONE, ADD | END, "3.3", "r~1/message:3.3", "user", "message", "{\"content\":\"more\",\"role\":\"user\"}" },
    { RUN, PAWL_ITEM_RUNNING, UPD, "3.6", "r~1", "r", "status", NULL }, { LINE, PAWL_ITEM_RUNNING, UPD, "4.1", "r~1", "r", "entry", NULL },
    { MSG, PAWL_ITEM_RUNNING, UPD, "4.2", "r~1/3.@.1.0", "llm", "message", "{\"content\":[{\"text\":\"I look\",\"type\":\"text\"}],\"role\":\"assistant\"}" },
    { LINE, PAWL_ITEM_RUNNING, UPD, "5.1", "r~1", "r", "entry", NULL },
    { MSG, PAWL_ITEM_DONE, ADD | END, "5.2", "r~1/message:5.2", "tool", "message", "{\"content\":\"secret\",\"role\":\"tool\",\"tool_call_id\":\"c\"}" },
    { ERR, PAWL_ITEM_DONE, ADD | END, "5.3", "r~1/error:5.3", "end", "end", "{\"code\":\"limit\",\"text\":\"no money\"}" },
    { RUN, PAWL_ITEM_FAILED, END, "5.4", "r~1", "r", "status", NULL },
};

static const char *row_json(void *ctx) { return ((const row *)ctx)->json; }

typedef struct seen { buf text; a2a_place last, after; bool from; a2a_task *t; } seen;

static void see(void *ctx, const a2a_event *e)
{
    seen *s = ctx;
    char at[100];

    CHECK(a2a_place_after(&e->at, &s->last));   /* places ascend */
    s->last = e->at;
    if (s->from && !a2a_place_after(&e->at, &s->after))
        return;
    snprintf(at, sizeof at, "%llu.%llu+%llu ", (unsigned long long)e->at.seq, (unsigned long long)e->at.index, (unsigned long long)e->at.n);
    buf_text(&s->text, at);
    if (e->artifact != NULL)
        buf_fmt(&s->text, "%s=%s\n", e->artifact->name, e->artifact->parts[0].raw != NULL ? "raw" : e->artifact->parts[0].text);
    else
        buf_fmt(&s->text, "%s %s\n", a2a_state_name(e->status.state, A2A_0_3), e->status.said != NULL ? e->status.said->parts[0].text : "-");
}

/* Folds the first `n` rows. `rests`: the reader was at its end before each of these lines, as bits. */
static a2a_task *fold(const row *rows, size_t n, uint64_t rests, seen *s)
{
    a2a_task *t = a2a_task_new(&(a2a_task_of){ .run = "r", .context = "c", .machine = "m", .message = "m1", .life = 1 });
    unsigned line = 0;

    CHECK(t != NULL);
    for (size_t i = 0; i < n; i++) {
        char cursor[40];
        row now = rows[i];
        pawl_item_change ch = { .kind = (pawl_item_kind)now.kind, .state = now.state, .what = now.what, .id = now.id, .parent = "", .name = now.name,
                                .part = now.part,
                                .call = now.kind == WAIT ? now.id : NULL, .run = "r", .path = "", .node = "", .time_ms = 1000 + (int64_t)i };

        snprintf(cursor, sizeof cursor, "r:%s", now.place);
        ch.cursor = cursor;
        if (now.kind == LINE && (rests >> line++ & 1) != 0)
            a2a_task_rest(t, s != NULL ? see : NULL, s);
        a2a_task_take(t, &ch, row_json, &now, s != NULL ? see : NULL, s);
    }
    a2a_task_rest(t, s != NULL ? see : NULL, s);
    CHECK(!a2a_task_failed(t));
    return t;
}

static char *told(const row *rows, size_t n, uint64_t rests, const a2a_place *after)
{
    seen s = { .from = after != NULL };
    char *out;

    if (after != NULL)
        s.after = *after;
    buf_init(&s.text, NULL);
    a2a_task_free(fold(rows, n, rests, &s));
    buf_char(&s.text, '\0');
    out = check_copy(s.text.data, s.text.size - 1);
    buf_free(&s.text);
    return out;
}

static const struct { const row *rows; size_t n; const char *events; } stories[] = {
    { graph, sizeof graph / sizeof graph[0],
      "1.5+1 input-required Which?\n2.3+1 input-required Drop?\n3.4+1 working -\n4.5+1 f.txt=one\n4.5+2 input-required More?\n4.8+1 f.txt=raw\n"
      "4.9+2 completed -\n" },
    { agent, sizeof agent / sizeof agent[0],
      "1.7+1 working -\n2.8+1 input-required hello\n3.6+1 working -\n4.2+1 working I look\n5.4+1 failed no money\n" },
};

PAWL_TEST(test_N2_a_run_is_told_as_a_task)
{
    for (size_t i = 0; i < 2; i++) {
        char *text = told(stories[i].rows, stories[i].n, 0, NULL);

        CHECK_STR(text, stories[i].events);
        free(text);
    }
}

PAWL_TEST(test_N3_where_a_reader_rested_changes_no_event)
{
    for (size_t i = 0; i < 2; i++)
        for (uint64_t rests = 0; rests < 256; rests++) {
            char *text = told(stories[i].rows, stories[i].n, rests, NULL);

            CHECK_STR(text, stories[i].events);
            free(text);
        }
}

PAWL_TEST(test_N3_from_each_event_on_come_those_behind_it)
{
    for (size_t i = 0; i < 2; i++)
        for (const char *at = stories[i].events; *at != '\0'; at = strchr(at, '\n') + 1) {
            a2a_place place;
            char text[100], *rest;

            snprintf(text, sizeof text, "r~0000000000000001:%.*s", (int)strcspn(at, " "), at);
            CHECK(a2a_place_read(text, "r", 1, &place));
            CHECK(!a2a_place_read(text, "r", 2, &place) && !a2a_place_read(text, "s", 1, &place));
            rest = told(stories[i].rows, stories[i].n, 5, &place);
            CHECK_STR(rest, strchr(at, '\n') + 1);
            free(rest);
        }
}

PAWL_TEST(test_places_are_read_back)
{
    a2a_task *t = fold(graph, 3, 0, NULL);
    arena mem;

    arena_init(&mem, NULL, 1024);
    for (uint64_t i = 0; i < 8; i++) {
        const a2a_place at = { .seq = i, .index = 7 - i, .sub = i % 2 == 0 ? UINT64_MAX : i, .n = i * i };
        a2a_place back;

        CHECK(a2a_place_read(a2a_place_text(&mem, t, &at), "r", 1, &back));
        CHECK(memcmp(&at, &back, sizeof at) == 0);
    }
    CHECK(!a2a_place_read("r~0000000000000001:1", "r", 1, &(a2a_place){ .seq = 0 }));
    CHECK(!a2a_place_read("r~000000000000000g:1.1", "r", 1, &(a2a_place){ .seq = 0 }));
    CHECK(!a2a_place_read("r~0000000000000001:1.1+x", "r", 1, &(a2a_place){ .seq = 0 }));
    CHECK(!a2a_place_read("", "r", 1, &(a2a_place){ .seq = 0 }));
    arena_free(&mem);
    a2a_task_free(t);
}

static const pawl_value *put(arena *mem, const a2a_task *t, a2a_version version, int64_t history)
{
    const a2a_view view = { .version = version, .history = history, .artifacts = true };
    const pawl_value *v;
    buf b;

    buf_init(&b, NULL);
    a2a_task_put(&b, t, &view);
    v = value_parse(mem, b.data, b.size, "a task", NULL);
    buf_free(&b);
    CHECK(v != NULL);
    return v;
}

PAWL_TEST(test_a_task_has_its_history_and_artifacts_in_both_versions)
{
    a2a_task *t = fold(graph, sizeof graph / sizeof graph[0], 0, NULL);
    const pawl_value *v;
    arena mem;

    arena_init(&mem, NULL, 1024);
    a2a_task_given(t, "{\"n\":1}", NULL, NULL);
    v = put(&mem, t, A2A_1_0, -1);
    CHECK_STR(pawl_value_string(pawl_value_find(v, "/status/state")), "TASK_STATE_COMPLETED");
    CHECK_INT(pawl_value_size(pawl_value_get(v, "history")), 6);        /* question, which, red, drop, approve, more; a timer says nothing */
    CHECK_STR(pawl_value_string(pawl_value_find(v, "/history/0/messageId")), "m1");
    CHECK_STR(pawl_value_string(pawl_value_find(v, "/history/2/messageId")), "m2");
    CHECK_STR(pawl_value_string(pawl_value_find(v, "/history/4/parts/0/text")), "approve");
    CHECK_INT(pawl_value_size(pawl_value_get(v, "artifacts")), 2);      /* f.txt once, the newest; output */
    CHECK_STR(pawl_value_string(pawl_value_find(v, "/artifacts/0/parts/0/raw")), "aGk=");
    CHECK_INT(pawl_value_int(pawl_value_find(v, "/artifacts/1/parts/0/data/n")), 1);
    v = put(&mem, t, A2A_0_3, 2);
    CHECK_STR(pawl_value_string(pawl_value_find(v, "/kind")), "task");
    CHECK_STR(pawl_value_string(pawl_value_find(v, "/status/state")), "completed");
    CHECK_STR(pawl_value_string(pawl_value_find(v, "/history/0/parts/0/text")), "approve");
    CHECK_STR(pawl_value_string(pawl_value_find(v, "/artifacts/0/parts/0/file/bytes")), "aGk=");
    CHECK_STR(pawl_value_string(pawl_value_find(v, "/artifacts/0/parts/0/kind")), "file");
    v = put(&mem, t, A2A_1_0, 0);
    CHECK(pawl_value_get(v, "history") == NULL);
    a2a_task_free(t);
    t = fold(agent, sizeof agent / sizeof agent[0], 0, NULL);
    v = put(&mem, t, A2A_1_0, -1);
    CHECK_INT(pawl_value_size(pawl_value_get(v, "history")), 4);        /* what its tools say is not the client's */
    CHECK_STR(pawl_value_string(pawl_value_find(v, "/history/0/messageId")), "m1");
    CHECK_STR(pawl_value_string(pawl_value_find(v, "/status/message/parts/0/text")), "no money");
    CHECK_INT(pawl_value_size(pawl_value_get(v, "artifacts")), 0);
    a2a_task_free(t);
    arena_free(&mem);
}

PAWL_TEST(test_an_answer_that_is_on_its_way_asks_no_more)
{
    a2a_task *t = fold(graph, 6, 0, NULL);

    CHECK_INT(a2a_task_status(t).state, A2A_INPUT_REQUIRED);
    CHECK(!a2a_task_answered(t, "r~1/none"));
    CHECK(!a2a_task_answered(t, NULL));         /* it waits for no input */
    CHECK(a2a_task_answered(t, "r~1/1.a.1.0"));
    CHECK_INT(a2a_task_status(t).state, A2A_WORKING);
    a2a_task_free(t);
}

/* ---- answers ------------------------------------------------------------------------------------------------------------- */

static const struct { size_t rows; const char *parts, *metadata, *verb, *value, *reason; a2a_error error; } answers[] = {
    { 6, "[{\"text\":\"red\"}]", "null", "answer", "red", NULL, A2A_FINE },
    { 6, "[{\"data\":{\"a\":1}}]", "null", "answer", "{\"a\":1}", NULL, A2A_FINE },
    { 6, "[{\"text\":\"red\"}]", "{\"wait\":\"a\"}", "answer", "red", NULL, A2A_FINE },
    { 6, "[{\"text\":\"red\"}]", "{\"wait\":\"b\"}", NULL, NULL, NULL, A2A_INVALID_PARAMS },
    { 6, "[{\"url\":\"http://x\"}]", "null", NULL, NULL, NULL, A2A_CONTENT_TYPE },
    { 9, "[{\"text\":\" Approve \"}]", "null", "approve", NULL, NULL, A2A_FINE },
    { 9, "[{\"text\":\"No: not on a Friday\"}]", "null", "deny", NULL, "not on a Friday", A2A_FINE },
    { 9, "[{\"data\":{\"approve\":false,\"reason\":\"so\"}}]", "null", "deny", NULL, "so", A2A_FINE },
    { 9, "[{\"text\":\"nobody knows\"}]", "null", NULL, NULL, NULL, A2A_INVALID_PARAMS },
    { 13, "[{\"text\":\"hello\"}]", "null", "send", "{\"messageId\":\"m\",\"parts\":[{\"text\":\"hello\"}],\"role\":\"ROLE_USER\"}", NULL, A2A_FINE },
};

PAWL_TEST(test_a_message_answers_the_wait_that_is_open)
{
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        a2a_task *t = fold(graph, answers[i].rows, 0, NULL);
        a2a_fault f = { A2A_FINE, "", "" };
        a2a_answer a = { .verb = NULL };
        a2a_message m;
        arena mem;
        buf b;

        arena_init(&mem, NULL, 1024);
        buf_init(&b, NULL);
        buf_fmt(&b, "{\"messageId\":\"m\",\"metadata\":%s,\"role\":\"user\",\"parts\":%s}", answers[i].metadata, answers[i].parts);
        CHECK(a2a_message_read(&mem, value_parse(&mem, b.data, b.size, "a message", NULL), &m, &f));
        const bool taken = a2a_answer_of(&mem, t, NULL, &m, &a, &f);

        if (f.error != answers[i].error || taken != (f.error == A2A_FINE))
            CHECK_FAIL("row %d: fault %d %s", (int)i, (int)f.error, f.text);
        if (taken) {
            CHECK_STR(a.verb, answers[i].verb);
            CHECK_STR(a.value, answers[i].value);
            CHECK_STR(a.reason, answers[i].reason);
            CHECK((a.wait != NULL) == (a.signal == NULL));
        }
        buf_free(&b);
        arena_free(&mem);
        a2a_task_free(t);
    }
}
