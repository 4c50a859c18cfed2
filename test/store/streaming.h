/* streaming.h - what streams tell, as text; and the run that most of their tests read. */
#ifndef TEST_STORE_STREAMING_H
#define TEST_STORE_STREAMING_H

#include "lib/engine_fixture.h"
#include "pawl/stream.h"

#include <stdio.h>
#include <string.h>

enum { ALL = PAWL_STREAM_GAP * 2 - 1 };

/* ---- told as text ---------------------------------------------------------------------------------- */

/* One event a line: "1.3 tasks call draft {..}", live ones "1.3+2". */
static inline void tell(buf *b, const pawl_stream_event *ev)
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

static inline pawl_stream *opened(pawl_engine *e, pawl_store *s, const char *run, const char *from, unsigned kinds)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_stream *r = pawl_stream_open(e, s, run, &(pawl_stream_options){ .from = from, .kinds = kinds }, &err);

    if (r == NULL)
        CHECK_FAIL("open %s: %s", from != NULL ? from : "", err.text);
    return r;
}

/* All that is there. */
static inline pawl_code drain(pawl_stream *r, buf *b)
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

static inline void expect(buf *b, const char *text)
{
    buf_char(b, '\0');
    CHECK_STR(b->data, text);
    buf_reset(b);
}

/* What is told from a cursor on, whoever asks. */
static inline void expect_from(town *t, const char *from, unsigned kinds, const char *text)
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

/* A store that outlives its engine, and whose verbs may be others. */
static const pawl_store_verbs *real;
static inline void close_not(pawl_store *s) { (void)s; }

static inline pawl_store *kept_store(pawl_store_verbs *verbs)
{
    pawl_store *s = pawl_store_memory(NULL);

    real = s->verbs;
    *verbs = *real;
    verbs->close = close_not;
    s->verbs = verbs;
    return s;
}

static inline void kept_free(pawl_store *s)
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

static inline void essay_begin_in(town *t, pawl_store *s)
{
    town_begin(t, town_essay(NULL), s);
    town_acts(t, "llm", PAWL_CLASS_AT_LEAST_ONCE);
    t->replies[0] = "\"first\"";
    CHECK_INT(town_run(t, "r", "{\"request\":1}"), PAWL_INTERRUPTED);
}

static inline void essay_begin(town *t) { essay_begin_in(t, NULL); }

static inline void essay_ends(town *t)
{
    CHECK_INT(pawl_answer(t->e, "r", "publish", "true", &t->err), PAWL_HALTED);
}

#endif
