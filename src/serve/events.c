/* events.c - streams of items as server-sent events: each resumes from its cursor without gap or duplicate, and a slow reader holds back nobody (N3).
 *
 * A run that somebody follows has one topic with one reader of its items; every LOOK_MS the topic reads what is new and writes each change, encoded once,
 * to all who are at its place. Who begins or comes back has a reader of its own until it has the topic's cursor; who does not read what was written is
 * taken off, and comes back with its cursor when there is room. Loop thread. A watcher whose client is gone is freed at the next look, never within a
 * write. */
#include "base/sm.h"
#include "json/json.h"
#include "pawl/items.h"
#include "serve/serve_inner.h"
#include "stream/items_paged.h"

#include <stdlib.h>

/* In one look: PORTION changes of one reader, and CATCHING and TOPICS readers. */
enum { LOOK_MS = 50, HEARTBEAT_MS = 15000, CATCHING = 16, TOPICS = 16, PORTION = 500, BATCH_BYTES = 16384 };

typedef enum follow_state { FOLLOW_CATCHING, FOLLOW_LIVE, FOLLOW_HELD, FOLLOW_OVER, FOLLOW_STATES } follow_state;

typedef struct topic topic;
typedef struct watcher watcher;

typedef struct follow {         /* one run in one stream */
    watcher *w;
    const char *run;            /* of `w` */
    topic *t;                   /* FOLLOW_LIVE */
    struct follow *next, *prev; /* of the topic */
    pawl_items *reader;         /* FOLLOW_CATCHING */
    uint64_t life;              /* of the run: another one may come to have its id */
    char cursor[ITEM_CURSOR_MAX];  /* after the last change that was written; "": from the beginning */
    uint8_t state;              /* follow_state */
    bool halted;                /* the run has ended, and all of it was written */
} follow;

struct watcher {
    serve_events *e;
    http_req *r;
    admitted by;
    watcher *next, *prev;
    unsigned kinds;
    bool until_end;
    bool gone;                  /* its client, or it was finished */
    http_frame *last;           /* the event that ends it; NULL: none */
    size_t n;
    char *runs;                 /* the texts of the follows */
    follow follows[];
};

struct topic {
    topic *next;
    char *run;
    uint64_t life;
    pawl_items *reader;
    follow *live;
};

struct serve_events {
    server *s;
    watcher *watchers;
    topic *topics;
    http_frame *heartbeat;
    http_timer *look, *beat;    /* on while there are watchers */
    watcher *turn;              /* whose turn it is to catch up; NULL: the first */
    bool more, posted;          /* there is more to read at once; a look is posted for it */
};

static const sm_row follow_rows[] = {
    [FOLLOW_CATCHING] = { "catching up", SM_TO(FOLLOW_LIVE) | SM_TO(FOLLOW_HELD) | SM_TO(FOLLOW_OVER), SM_FIRST },
    [FOLLOW_LIVE] = { "live", SM_TO(FOLLOW_HELD) | SM_TO(FOLLOW_OVER), 0 },
    [FOLLOW_HELD] = { "held", SM_TO(FOLLOW_CATCHING) | SM_TO(FOLLOW_OVER), 0 },
    [FOLLOW_OVER] = { "over", 0, SM_LAST },
};
static const char *follow_wrong(const void *owner, unsigned state)
{
    const follow *f = owner;

    if ((f->t != NULL) != (state == FOLLOW_LIVE))
        return "a run that is followed live is in its topic, and no other";
    if ((f->reader != NULL) != (state == FOLLOW_CATCHING))
        return "a run that catches up has a reader of its own, and no other";
    return NULL;
}
static const sm_table follow_table = { "follow", follow_rows, FOLLOW_STATES, follow_wrong };

/* ---- a change as an event --------------------------------------------------------------------------------------------- */

/* One change on its way to any number of streams. */
typedef struct outgoing {
    const pawl_item_change *ch;
    buf text;                   /* "event: ...\ndata: ...\n\n" */
    http_frame *whole;          /* with its id, for streams of one run; NULL: not made yet */
} outgoing;

static bool outgoing_make(outgoing *n, const pawl_item_change *ch, uint64_t life, pawl_items *reader)
{
    const char *json = pawl_items_json(reader, NULL);

    *n = (outgoing){ .ch = ch };
    buf_init(&n->text, NULL);
    buf_word(&n->text, "event: item\ndata: ");
    item_change_put(&n->text, ch, life, json != NULL ? json : "null");
    buf_word(&n->text, "\n\n");
    return !n->text.failed;
}

static void outgoing_free(outgoing *n)
{
    buf_free(&n->text);
    http_frame_drop(n->whole);
}

/* The id of an event says where all runs of the stream are: their cursors, separated by blanks. `of` is at `cursor`; NULL: nothing comes with it. */
static void put_id(buf *b, const watcher *w, const follow *of, const char *cursor)
{
    const char *before = "id: ";

    for (size_t i = 0; i < w->n; i++) {
        const follow *f = &w->follows[i];

        if (f != of && f->cursor[0] == '\0')
            continue;           /* nothing of it was written */
        buf_text(b, before);
        item_cursor_put(b, f == of ? cursor : f->cursor, f->run, f->life);
        before = " ";
    }
    if (*before == ' ')
        buf_char(b, '\n');
}

static http_frame *outgoing_frame(outgoing *n, const follow *of)
{
    const watcher *w = of->w;
    http_frame *frame;
    buf b;

    if (w->n == 1 && n->whole != NULL)
        return http_frame_keep(n->whole);
    buf_init(&b, NULL);
    put_id(&b, w, of, n->ch->cursor);
    buf_put(&b, n->text.data, n->text.size);
    frame = b.failed ? NULL : http_frame_new(NULL, b.data, b.size);
    buf_free(&b);
    if (w->n == 1 && frame != NULL)
        n->whole = http_frame_keep(frame);
    return frame;
}

/* ---- follows ------------------------------------------------------------------------------------------------------------ */

/* Takes a run out of its topic, or away from its reader. */
static void follow_to(follow *f, follow_state to)
{
    if (f->t != NULL) {
        *(f->prev != NULL ? &f->prev->next : &f->t->live) = f->next;
        if (f->next != NULL)
            f->next->prev = f->prev;
    }
    f->next = f->prev = NULL;
    f->t = NULL;
    pawl_items_close(f->reader);
    f->reader = NULL;
    sm_move(&follow_table, &f->state, to, f);
}

static void on_room(http_req *r, void *data);

/* The client has not read what was written: its runs wait until it has. */
static void hold(watcher *w)
{
    for (size_t i = 0; i < w->n; i++)
        if (w->follows[i].state == FOLLOW_CATCHING || w->follows[i].state == FOLLOW_LIVE)
            follow_to(&w->follows[i], FOLLOW_HELD);
    http_on_room(w->r, on_room);
}

/* The stream ends; with `text`, an event, if not NULL. Its id is where the stream was, behind the last change and all that comes with it. */
static void finish(watcher *w, const char *text)
{
    buf b;

    for (size_t i = 0; i < w->n; i++)
        if (w->follows[i].state != FOLLOW_OVER)
            follow_to(&w->follows[i], FOLLOW_OVER);
    buf_init(&b, NULL);
    if (text != NULL && w->last == NULL) {
        put_id(&b, w, NULL, NULL);
        buf_text(&b, text);
        w->last = b.failed ? NULL : http_frame_new(NULL, b.data, b.size);
    }
    buf_free(&b);
    w->gone = true;             /* freed at the next look, after `last` */
}

static void finish_with_error(watcher *w, const pawl_err *err)
{
    buf b;

    buf_init(&b, NULL);
    buf_fmt(&b, "event: error\ndata: {\"code\":\"%s\",\"detail\":", pawl_code_name(err->code));
    canon_string(&b, err->text, strlen(err->text));
    buf_word(&b, "}\n\n");
    buf_char(&b, '\0');
    finish(w, b.failed ? NULL : b.data);
    buf_free(&b);
}

/* False: the change was not taken, and the watcher is held or gone. */
static bool write_change(follow *f, outgoing *n)
{
    watcher *w = f->w;

    if (w->gone)
        return false;
    if ((w->kinds & (unsigned)n->ch->kind) != 0) {
        http_frame *frame = outgoing_frame(n, f);
        const bool taken = frame != NULL && http_put(w->r, frame);

        http_frame_drop(frame);
        if (!taken) {
            if (!w->gone)
                hold(w);
            return false;
        }
    }
    snprintf(f->cursor, sizeof f->cursor, "%s", n->ch->cursor);
    return !w->gone;
}

static pawl_items *reader_at(serve_events *e, const char *run, const char *cursor, pawl_err *err)
{
    const pawl_items_options o = { .from = *cursor != '\0' ? cursor : NULL };

    return items_open_paged(e->s->store, run, &o, err);
}

static void on_room(http_req *r, void *data)
{
    watcher *w = data;
    pawl_err err = { 0 };

    (void)r;
    for (size_t i = 0; i < w->n && !w->gone; i++) {
        follow *f = &w->follows[i];

        if (f->state != FOLLOW_HELD)
            continue;
        pawl_items *reader = reader_at(w->e, f->run, f->cursor, &err);

        if (reader == NULL) {
            finish_with_error(w, &err);
            return;
        }
        f->reader = reader;
        sm_move(&follow_table, &f->state, FOLLOW_CATCHING, f);
    }
}

/* ---- topics ------------------------------------------------------------------------------------------------------------------ */

/* Whether it gets each change of its one run: all such streams get the changes of one look as one write. */
static bool takes_all(const watcher *w) { return w->n == 1 && w->kinds == items_kinds(NULL); }

static void batch_add(buf *b, const topic *t, const outgoing *n)
{
    buf_word(b, "id: ");
    item_cursor_put(b, n->ch->cursor, t->run, t->life);
    buf_char(b, '\n');
    buf_put(b, n->text.data, n->text.size);
}

/* A stream that does not take it comes back with its cursor, which is before it. */
static void batch_write(topic *t, buf *b, const char *cursor)
{
    const bool any = b->size > 0 || b->failed;
    http_frame *frame = any && !b->failed ? http_frame_new(NULL, b->data, b->size) : NULL;

    for (follow *f = t->live, *next; f != NULL && any; f = next) {
        next = f->next;         /* of another watcher, since a stream follows a run once */
        if (!takes_all(f->w) || f->w->gone)
            continue;
        if (frame != NULL && http_put(f->w->r, frame))
            snprintf(f->cursor, sizeof f->cursor, "%s", cursor);
        else if (!f->w->gone)
            hold(f->w);
    }
    http_frame_drop(frame);
    buf_free(b);
    buf_init(b, NULL);
}

/* Writes a change to the streams that leave some out, or follow other runs, too. */
static void others_write(topic *t, outgoing *n)
{
    for (follow *f = t->live, *next; f != NULL; f = next) {
        next = f->next;
        if (!takes_all(f->w))
            write_change(f, n);
    }
}

/* Reads what is new, PORTION changes at most, and writes it to all who follow it live. True: it has read all. */
static bool topic_look(topic *t)
{
    char last[ITEM_CURSOR_MAX] = "";
    pawl_item_change ch;
    pawl_err err = { 0 };
    pawl_code rc = PAWL_OK;
    buf batch;

    buf_init(&batch, NULL);
    for (int i = 0; i < PORTION && (rc = pawl_items_next(t->reader, &ch, &err)) == PAWL_OK; i++) {
        outgoing n;

        if (t->live == NULL)
            continue;           /* nobody is at its place */
        if (outgoing_make(&n, &ch, t->life, t->reader)) {
            batch_add(&batch, t, &n);
            snprintf(last, sizeof last, "%s", ch.cursor);
            others_write(t, &n);
        } else {                /* nobody gets it: each comes back with its cursor */
            while (t->live != NULL)
                hold(t->live->w);
        }
        outgoing_free(&n);
        if (batch.size > BATCH_BYTES || batch.failed)
            batch_write(t, &batch, last);
    }
    batch_write(t, &batch, last);
    buf_free(&batch);
    for (follow *f = t->live; f != NULL; f = f->next) {
        f->halted = rc == PAWL_HALTED;
        if (rc > PAWL_OK)
            snprintf(f->cursor, sizeof f->cursor, "%s", pawl_items_cursor(t->reader));
    }
    while (rc < 0 && t->live != NULL)
        finish_with_error(t->live->w, &err);
    return rc > PAWL_OK;
}

static topic *topic_of(const serve_events *e, const follow *f)
{
    topic *t = e->topics;

    while (t != NULL && (t->life != f->life || strcmp(t->run, f->run) != 0))
        t = t->next;
    return t;
}

/* It takes the reader of `f`, which has read all. NULL: no memory. */
static topic *topic_new(serve_events *e, follow *f)
{
    topic *t = calloc(1, sizeof *t);

    if (t == NULL || (t->run = malloc(strlen(f->run) + 1)) == NULL) {
        free(t);
        return NULL;
    }
    memcpy(t->run, f->run, strlen(f->run) + 1);
    t->life = f->life;
    t->reader = f->reader;
    f->reader = NULL;
    t->next = e->topics;
    e->topics = t;
    return t;
}

static void go_live(follow *f, topic *t)
{
    pawl_items_close(f->reader);
    f->reader = NULL;
    f->t = t;
    f->next = t->live;
    if (f->next != NULL)
        f->next->prev = f;
    t->live = f;
    sm_move(&follow_table, &f->state, FOLLOW_LIVE, f);
}

/* Its reader has read all. Then it is live if nobody else follows the run, or if the topic of the run has read all, too, and after that there still is
 * nothing for the reader. *at_end: the topic that has. False: the next look goes on. */
static bool meet_topic(serve_events *e, follow *f, bool halted, topic **at_end)
{
    topic *t = *at_end != NULL ? *at_end : topic_of(e, f);

    if (t != NULL && *at_end == NULL) {
        *at_end = t;
        return topic_look(t);
    }
    if (t == NULL && (t = topic_new(e, f)) == NULL)
        return false;
    snprintf(f->cursor, sizeof f->cursor, "%s", pawl_items_cursor(t->reader));
    f->halted = halted;
    go_live(f, t);
    return false;
}

/* Reads with its own reader, a page or PORTION changes at a time. */
static void catch_up(serve_events *e, follow *f)
{
    topic *at_end = NULL;
    pawl_item_change ch;
    pawl_err err = { 0 };

    for (int i = 0; f->state == FOLLOW_CATCHING && !f->w->gone; i++) {
        const pawl_code rc = i < PORTION ? pawl_items_next(f->reader, &ch, &err) : PAWL_INTERRUPTED;
        outgoing n;

        if (rc == PAWL_INTERRUPTED) {
            e->more = true;     /* before its cursor, or behind it */
            return;
        } else if (rc < 0) {
            finish_with_error(f->w, &err);
        } else if (rc != PAWL_OK) {
            if (!meet_topic(e, f, rc == PAWL_HALTED, &at_end))
                return;
        } else {
            at_end = NULL;
            if (outgoing_make(&n, &ch, f->life, f->reader))
                write_change(f, &n);
            else
                hold(f->w);
            outgoing_free(&n);
        }
    }
}

/* ---- looks -------------------------------------------------------------------------------------------------------------------------- */

static void watcher_free(watcher *w)
{
    serve_events *e = w->e;

    finish(w, NULL);
    if (e->turn == w)
        e->turn = w->next;
    *(w->prev != NULL ? &w->prev->next : &e->watchers) = w->next;
    if (w->next != NULL)
        w->next->prev = w->prev;
    http_set(w->r, NULL, NULL);
    http_end_with(w->r, w->last);
    http_frame_drop(w->last);
    tokens_drop(w->by.of);
    free(w->runs);
    free(w);
}

static void on_gone(http_req *r, void *data)
{
    watcher *w = data;

    (void)r;
    w->gone = true;
}

static bool all_halted(const watcher *w)
{
    bool all = true;

    for (size_t i = 0; i < w->n; i++)
        all = all && w->follows[i].state == FOLLOW_LIVE && w->follows[i].halted;
    return all;
}

static void sweep(serve_events *e)
{
    for (watcher *w = e->watchers, *next; w != NULL; w = next) {
        next = w->next;
        if (!w->gone && w->until_end && all_halted(w))
            finish(w, "event: end\ndata: {}\n\n");
        if (w->gone)
            watcher_free(w);
    }
    for (topic **at = &e->topics; *at != NULL;) {
        topic *t = *at;

        if (t->live != NULL) {
            at = &t->next;
            continue;
        }
        *at = t->next;
        pawl_items_close(t->reader);
        free(t->run);
        free(t);
    }
    if (e->watchers == NULL) {
        http_timer_set(e->look, false);
        http_timer_set(e->beat, false);
    }
}

/* Whether the run is still there; a reader at its end does not look. */
static bool topic_lives(serve_events *e, topic *t)
{
    pawl_err err = { 0 };
    uint64_t life = 0;
    const pawl_code rc = run_life(e->s->store, t->run, &life, &err);

    if ((rc == PAWL_OK && life == t->life) || (rc != PAWL_OK && rc != PAWL_GONE))
        return true;            /* a store that cannot be read now is the reader's matter */
    err = (pawl_err){ 0 };
    fail(&err, PAWL_GONE, "%s: the run was removed", t->run);
    while (t->live != NULL)
        finish_with_error(t->live->w, &err);
    return false;
}

/* A part of those who catch up, in turn, so that one look reads at most CATCHING of the pages and portions. */
static void catch_up_some(serve_events *e)
{
    watcher *first = e->turn != NULL ? e->turn : e->watchers, *w = first;
    unsigned left = CATCHING;

    while (w != NULL && left > 0) {
        for (size_t i = 0; i < w->n && !w->gone; i++)
            if (w->follows[i].state == FOLLOW_CATCHING) {
                catch_up(e, &w->follows[i]);
                left -= left > 0;
            }
        w = w->next != NULL ? w->next : e->watchers;
        if (w == first)
            break;
    }
    e->turn = w != first ? w : NULL;
    e->more = e->more || left == 0;
}

/* At most TOPICS of those with much to read; the others come first the next time. */
static void look_at_topics(serve_events *e)
{
    topic *last = NULL;
    unsigned left = TOPICS;

    for (topic *t = e->topics; t != NULL && left > 0; last = t, t = t->next)
        if (topic_lives(e, t) && !topic_look(t)) {
            left--;
            e->more = true;
        }
    if (left > 0 || last == NULL || last->next == NULL)
        return;
    topic **end = &last->next;

    while (*end != NULL)
        end = &(*end)->next;
    *end = e->topics;
    e->topics = last->next;
    last->next = NULL;
}

static void look(void *ctx);

/* There is more to read: not in this turn of the loop, and not only after LOOK_MS. */
static void look_again(void *ctx)
{
    serve_events *e = ctx;

    e->posted = false;
    look(e);
}

static void look(void *ctx)
{
    serve_events *e = ctx;

    e->more = false;
    look_at_topics(e);
    catch_up_some(e);
    sweep(e);
    if (e->more && e->watchers != NULL && !e->posted)
        e->posted = http_post(e->s->http, look_again, e);
}

static void beat(void *ctx)
{
    serve_events *e = ctx;

    for (watcher *w = e->watchers; w != NULL; w = w->next) {
        pawl_err err = { 0 };

        if (!w->gone && !guard_still(e->s, &w->by)) {
            fail(&err, PAWL_DENIED, "the token was removed, or has expired");
            finish_with_error(w, &err);
        } else if (!w->gone) {
            http_put(w->r, e->heartbeat);
        }
    }
}

void events_counted(const serve_events *e, size_t *streams, size_t *runs)
{
    *streams = *runs = 0;
    for (const watcher *w = e->watchers; w != NULL; w = w->next) {
        ++*streams;
        *runs += w->n;
    }
}

void events_drain(serve_events *e)
{
    for (watcher *w = e->watchers; w != NULL; w = w->next)
        if (!w->gone)
            finish(w, "event: drain\nretry: 1000\ndata: {}\n\n");
    sweep(e);
}

serve_events *events_new(server *s, pawl_err *err)
{
    serve_events *e = calloc(1, sizeof *e);

    if (e != NULL && ((e->heartbeat = http_frame_new(NULL, ":\n\n", 3)) == NULL || (e->look = http_timer_new(s->http, LOOK_MS, look, e)) == NULL ||
                      (e->beat = http_timer_new(s->http, HEARTBEAT_MS, beat, e)) == NULL)) {
        http_frame_drop(e->heartbeat);
        free(e);                /* a timer that was made is off */
        e = NULL;
    }
    if (e == NULL)
        fail(err, PAWL_NOMEM, "server: no memory");
    else
        e->s = s;
    return e;
}

void events_free(serve_events *e)
{
    if (e == NULL)
        return;
    while (e->watchers != NULL)
        watcher_free(e->watchers);
    sweep(e);
    http_frame_drop(e->heartbeat);
    free(e);
}

/* ---- requests ------------------------------------------------------------------------------------------------------------------------------- */

/* The places of the runs in `from`, the id of an event: words separated by blanks, each of one of them. */
static pawl_code cursors_read(watcher *w, const char *from, pawl_err *err)
{
    while (from != NULL && *from != '\0') {
        const size_t n = strcspn(from, " ");
        bool found = n == 0;

        for (size_t i = 0; i < w->n && !found; i++)
            found = item_cursor_read(from, n, w->follows[i].run, w->follows[i].life, w->follows[i].cursor, err);
        if (!found)
            return fail(err, PAWL_INVALID, "from: a word of it is no cursor of a run of this stream");
        from += n + (from[n] == ' ' ? 1 : 0);
    }
    return err->code;
}

static watcher *watcher_new(serve_events *e, http_req *r, const char *const *runs, size_t n)
{
    watcher *w = calloc(1, sizeof *w + n * sizeof w->follows[0]);
    size_t size = 0, at = 0;

    for (size_t i = 0; i < n; i++)
        size += strlen(runs[i]) + 1;
    if (w == NULL || (w->runs = malloc(size)) == NULL) {
        free(w);
        return NULL;
    }
    w->e = e;
    w->r = r;
    w->n = n;
    for (size_t i = 0; i < n; i++) {
        memcpy(w->runs + at, runs[i], strlen(runs[i]) + 1);
        w->follows[i].w = w;
        w->follows[i].run = w->runs + at;
        at += strlen(runs[i]) + 1;
    }
    return w;
}

static void reply_of(http_req *r, const pawl_err *err)
{
    if (err->code == PAWL_GONE)
        problem(r, 410, "gone", err->text);
    else
        problem_of(r, err);
}

/* Opens the readers. False: the problem was replied. */
static bool open_readers(watcher *w, const char *from)
{
    pawl_err err = { 0 };
    size_t opened = 0;

    for (size_t i = 0; i < w->n && err.code == PAWL_OK; i++)
        (void)run_life(w->e->s->store, w->follows[i].run, &w->follows[i].life, &err);
    if (err.code == PAWL_OK && cursors_read(w, from, &err) == PAWL_OK)
        for (; opened < w->n; opened++) {
            follow *f = &w->follows[opened];

            if ((f->reader = reader_at(w->e, f->run, f->cursor, &err)) == NULL)
                break;
            sm_begin(&follow_table, &f->state, FOLLOW_CATCHING, f);
        }
    if (opened == w->n)
        return true;
    reply_of(w->r, &err);
    while (opened-- > 0)
        pawl_items_close(w->follows[opened].reader);
    return false;
}

void events_follow(serve_events *e, http_req *r, const admitted *by, const char *const *runs, size_t nruns, const char *from,
                   const char *kinds, bool until_end)
{
    static const http_field fields[] = { { "Content-Type", "text/event-stream" }, { "Cache-Control", "no-store" }, { "X-Accel-Buffering", "no" } };
    const unsigned bits = items_kinds(kinds);

    for (size_t i = 0; i < nruns; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(runs[i], runs[k]) == 0) {
                problem(r, 400, "invalid", "run: a run is named twice");
                return;
            }
    if (bits == 0) {
        problem(r, 400, "invalid", items_kinds_wrong);
        return;
    }
    if (strcmp(http_method(r), "HEAD") == 0) {
        http_reply(r, 200, fields, 3, NULL, 0);
        return;
    }
    watcher *w = watcher_new(e, r, runs, nruns);

    if (w == NULL) {
        problem(r, 503, "nomem", "no memory for this stream");
        return;
    }
    if (!open_readers(w, from)) {
        free(w->runs);
        free(w);
        return;
    }
    w->by = *by;
    tokens_keep(by->of);
    w->kinds = bits;
    w->until_end = until_end;
    w->next = e->watchers;
    if (w->next != NULL)
        w->next->prev = w;
    e->watchers = w;
    http_timer_set(e->look, true);
    http_timer_set(e->beat, true);
    http_set(r, w, on_gone);
    http_stream(r, 200, fields, 3);
    if (!w->gone)
        http_put(r, e->heartbeat);      /* so that a client knows at once that the stream is there */
}
