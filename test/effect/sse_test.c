/* sse_test.c - server-sent events, cut at every byte. */
#include "lib/check.h"
#include "lib/heap.h"
#include "net/sse.h"

#include <stdlib.h>

typedef struct told {
    buf text;
    pawl_code rc;
    pawl_err err;
} told;

static void tell(told *t, const sse_event *ev)
{
    buf_fmt(&t->text, "%s|%s|%s|%d\n", ev->name, ev->data.data, ev->id, (int)ev->retry_ms);
}

static void feed(sse *s, told *t, const char *data, size_t size)
{
    pawl_bytes in = { data, size };
    sse_event ev;

    while ((t->rc = sse_next(s, &in, &ev, &t->err)) == PAWL_OK)
        tell(t, &ev);
}

/* The events of `text`, cut before `one` and before `two`. */
static char *events(const char *text, size_t size, size_t one, size_t two)
{
    told t = { .rc = PAWL_OK };
    sse_event ev;
    char *out;
    sse s;

    buf_init(&t.text, NULL);
    sse_init(&s, NULL);
    feed(&s, &t, text, one);
    feed(&s, &t, text + one, two - one);
    feed(&s, &t, text + two, size - two);
    if (sse_end(&s, &ev)) {
        buf_text(&t.text, "end ");
        tell(&t, &ev);
    }
    CHECK_INT(t.rc, PAWL_PENDING);
    out = check_copy(t.text.size > 0 ? t.text.data : "", t.text.size);
    buf_free(&t.text);
    sse_free(&s);
    return out;
}

static void all_cuts(const char *text, const char *expected)
{
    const size_t size = strlen(text);

    for (size_t one = 0; one <= size; one++)
        for (size_t two = one; two <= size; two++) {
            char *got = events(text, size, one, two);

            CHECK_STR(got, expected);
            free(got);
        }
}

PAWL_TEST(test_lines_end_in_lf_cr_or_both_and_are_cut_anywhere)
{
    all_cuts("event: a\ndata: 1\n\nevent:b\ndata:2\n\n", "a|1||-1\nb|2||-1\n");
    all_cuts("event: a\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n", "a|1||-1\n|2||-1\n");
    all_cuts("event: a\rdata: 1\r\rdata: 2\r\r", "a|1||-1\n|2||-1\n");
    all_cuts("data: 1\r\ndata: 2\n\rdata: 3\r\n\n", "|1\n2||-1\n|3||-1\n");
}

PAWL_TEST(test_data_of_several_lines_is_joined)
{
    all_cuts("data: a\ndata:  b\ndata\ndata: c\n\n", "|a\n b\n\nc||-1\n");
    all_cuts("data\n\ndata:\ndata:\n\n", "|||-1\n|\n||-1\n");
}

PAWL_TEST(test_a_mark_comments_and_unknown_fields_say_nothing)
{
    all_cuts("\xef\xbb\xbf" "data: 1\n\n: PROCESSING\n\n:\nfield: x\nnothing\ndata: 2\n\n", "|1||-1\n|2||-1\n");
    all_cuts("event: alone\n\ndata: 1\n\n", "|1||-1\n");
    all_cuts(" data: 1\n\nDATA: 2\n\n\xef\xbb\xbf" "data: 3\n\ndata: 4\n\n", "|4||-1\n");
}

PAWL_TEST(test_ids_and_retries_stay)
{
    all_cuts("id: 7\nretry: 250\ndata: 1\n\ndata: 2\n\nid\nretry: 2 s\nretry: -1\ndata: 3\n\n", "|1|7|250\n|2|7|250\n|3||250\n");
    all_cuts("retry: 99999999999999999999999999999999\ndata: 1\n\n", "|1||-1\n");
}

PAWL_TEST(test_characters_and_json_are_cut_anywhere)
{
    all_cuts("data: {\"a\":\"\xe2\x82\xac \xf0\x9f\x99\x82\",\"b\":[1]}\n\n", "|{\"a\":\"\xe2\x82\xac \xf0\x9f\x99\x82\",\"b\":[1]}||-1\n");
}

PAWL_TEST(test_what_is_under_way_at_the_end_is_told_apart)
{
    all_cuts("data: 1\n\ndata: [DONE]\n", "|1||-1\nend |[DONE]||-1\n");
    all_cuts("data: 1\n\ndata: [DONE]", "|1||-1\nend |[DONE]||-1\n");
    all_cuts("data: 1\n\nevent: x\n", "|1||-1\n");
    all_cuts("data: 1\n\n: bye", "|1||-1\n");
    all_cuts("", "");
}

PAWL_TEST(test_a_nul_is_a_byte_of_data_and_no_name_or_id)
{
    static const char text[] = "event: a\0b\nid: 1\0\ndata: x\0y\n\n";
    pawl_bytes in = { text, sizeof text - 1 };
    sse_event ev;
    sse s;

    sse_init(&s, NULL);
    CHECK_INT(sse_next(&s, &in, &ev, NULL), PAWL_OK);
    CHECK_STR(ev.name, "");
    CHECK_STR(ev.id, "");
    CHECK_BYTES(ev.data.data, ev.data.size, "x\0y", 3);
    sse_free(&s);
}

PAWL_TEST(test_X2_an_event_has_a_limit_and_a_stream_has_none)
{
    const size_t most = SSE_EVENT_BYTES_MAX - 6;
    char *line = malloc(SSE_EVENT_BYTES_MAX + 8);
    pawl_err err = {0};
    sse_event ev;
    pawl_bytes in;
    sse s;

    CHECK(line != NULL);
    memset(line, 'x', SSE_EVENT_BYTES_MAX + 8);
    memcpy(line, "data: ", 6);
    memcpy(line + 6 + most, "\n\n", 2);
    sse_init(&s, NULL);
    for (int i = 0; i < 3; i++) {       /* just within it, again and again */
        in = (pawl_bytes){ line, most + 8 };
        CHECK_INT(sse_next(&s, &in, &ev, &err), PAWL_OK);
        CHECK_INT(ev.data.size, most);
        CHECK_INT(in.size, 0);
    }
    line[6 + most] = 'x';               /* one byte more */
    line[7 + most] = '\n';
    in = (pawl_bytes){ line, most + 8 };
    CHECK_INT(sse_next(&s, &in, &ev, &err), PAWL_LIMIT);
    CHECK_STR(err.text, "an event of the stream is over 4194304 bytes (SSE_EVENT_BYTES_MAX)");
    in = (pawl_bytes){ "data: 1\n\n", 9 };
    CHECK_INT(sse_next(&s, &in, &ev, NULL), PAWL_LIMIT);
    CHECK(!sse_end(&s, &ev));
    sse_free(&s);
    free(line);
}

PAWL_TEST(test_X2_comments_without_end_are_over_the_limit_too)
{
    pawl_code rc = PAWL_PENDING;
    sse_event ev;
    size_t n = 0;
    sse s;

    sse_init(&s, NULL);
    for (; rc == PAWL_PENDING && n < SSE_EVENT_BYTES_MAX; n++) {
        pawl_bytes in = { ": on and on\n", 12 };

        rc = sse_next(&s, &in, &ev, NULL);
    }
    CHECK_INT(rc, PAWL_LIMIT);
    CHECK_INT(n, SSE_EVENT_BYTES_MAX / 11 + 1);
    sse_free(&s);
}

PAWL_TEST(test_memory_may_end_at_any_call)
{
    static const char text[] = "id: 1\nevent: a\ndata: 1\ndata: 2\n\n";
    heap h;

    heap_init(&h);
    for (size_t n = 0;; n++) {
        pawl_alloc alloc = heap_alloc(&h);
        pawl_bytes in = { text, sizeof text - 1 };
        pawl_err err = {0};
        sse_event ev;
        pawl_code rc;
        sse s;

        heap_fail_at(&h, n);
        sse_init(&s, &alloc);
        rc = sse_next(&s, &in, &ev, &err);
        CHECK_INT(rc, h.fired ? PAWL_NOMEM : PAWL_OK);
        sse_free(&s);
        heap_check(&h);
        if (!h.fired)
            break;
    }
}
