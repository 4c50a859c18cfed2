/* a2a_follow.c - requests of A2A that follow a run: they read its items, fold them into a task, and reply when it is what they wait for, or stream (N2, N3).
 *
 * Every LOOK_MS, after a write to the store, each reads what is new. Each has a reader of its own: what an event says follows from all items before it.
 * A stream begins with the task as it is; a client that was cut off comes back with Last-Event-ID, the place of its last event, and gets what came after
 * it, from any process, without gap or duplicate. Loop thread. A call whose client is gone is freed at the next look, never within a write. */
#include "serve/a2a_call.h"

#include <stdlib.h>

enum { LOOK_MS = 50, HEARTBEAT_MS = 15000 };

struct serve_a2a {
    server *s;
    a2a_call *all;
    http_timer *look, *beat;    /* on while there are some */
    http_frame *heartbeat;
    uint64_t version;           /* of the store, when they were last looked at */
};

static const http_field stream_fields[] = { { "Content-Type", "text/event-stream" }, { "Cache-Control", "no-cache, no-store" }, { "X-Accel-Buffering", "no" } };

static void on_gone(http_req *r, void *data)
{
    (void)r;
    ((a2a_call *)data)->gone = true;
}

static void join(a2a_call *c)
{
    serve_a2a *a = c->s->a2a;

    c->next = a->all;
    a->all = c;
    http_set(c->r, c, on_gone);
    c->gone = http_gone(c->r);
    http_timer_set(a->look, true);
    http_timer_set(a->beat, true);
}

static void leave(a2a_call *c)
{
    a2a_call **at = &c->s->a2a->all;

    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    c->next = NULL;
}

/* ---- what a stream writes --------------------------------------------------------------------------------------------- */

static void on_room(http_req *r, void *data)
{
    a2a_call *c = data;
    http_frame *f = c->unread.failed || c->unread.size == 0 ? NULL : http_frame_new(NULL, c->unread.data, c->unread.size);

    (void)r;
    c->held = f == NULL || !http_put(c->r, f);
    c->gone = c->gone || c->held;       /* it comes back with the id of its last event */
    http_frame_drop(f);
    buf_reset(&c->unread);
}

static void put(a2a_call *c, const buf *b)
{
    http_frame *f = b->failed ? NULL : http_frame_new(NULL, b->data, b->size);

    if (f == NULL) {
        c->gone = true;         /* no memory: the stream is cut, before an event is left out */
    } else if (c->held) {
        buf_put(&c->unread, b->data, b->size);
    } else if (!http_put(c->r, f) && !c->gone) {
        c->held = true;
        buf_put(&c->unread, b->data, b->size);
        http_on_room(c->r, on_room);
    }
    http_frame_drop(f);
}

static void frame_begin(a2a_call *c, const a2a_place *at, buf *b)
{
    const char *id = a2a_place_text(&c->mem, c->t, at);

    buf_init(b, NULL);
    b->failed = id == NULL;
    buf_fmt(b, "id: %s\ndata: ", id != NULL ? id : "");
    a2a_result_begin(c, b);
}

static void frame_end(a2a_call *c, buf *b)
{
    a2a_result_end(c, b);
    buf_word(b, "\n\n");
    put(c, b);
    buf_free(b);
}

static void event_write(a2a_call *c, const a2a_event *e)
{
    buf b;

    frame_begin(c, &e->at, &b);
    a2a_event_put(&b, c->t, e, c->q.version);
    frame_end(c, &b);
}

/* A client of 0.3 closes on `final`; one that sends a message gets its answer, or the question. */
static bool is_last(const a2a_call *c, a2a_state s)
{
    return a2a_state_over(s) || (s == A2A_INPUT_REQUIRED && (c->q.method == A2A_STREAM || c->q.version == A2A_0_3));
}

static void on_event(void *ctx, const a2a_event *e)
{
    a2a_call *c = ctx;

    if (c->stage != A2A_STAGE_STREAMS || c->finish || c->ends || (c->resumed && !a2a_place_after(&e->at, &c->from)))
        return;
    if (e->artifact == NULL && e->status.state == A2A_COMPLETED && a2a_task_is_graph(c->t)) {
        c->ended = *e;
        c->ends = true;         /* its output comes first */
        return;
    }
    event_write(c, e);
    c->finish = e->artifact == NULL && is_last(c, e->status.state);
}

static void stream_begin(a2a_call *c)
{
    c->begun = true;
    a2a_stage_to(c, A2A_STAGE_STREAMS);
    http_stream(c->r, 200, stream_fields, 3);
    if (!c->gone)
        http_put(c->r, c->s->a2a->heartbeat);   /* so that a client knows at once that the stream is there */
}

static void snapshot_write(a2a_call *c)
{
    const a2a_place at = a2a_task_at(c->t);
    const bool wrapped = c->q.version == A2A_1_0;
    buf b;

    frame_begin(c, &at, &b);
    buf_text(&b, wrapped ? "{\"task\":" : "");
    a2a_put_task(c, &b, true);
    buf_text(&b, wrapped ? "}" : "");
    frame_end(c, &b);
}

/* What a child asks is in its own journal: it is told at the place where this run is, when it begins to ask, and when it does not any more. */
static void child_event(a2a_call *c, bool told)
{
    const a2a_event e = { .at = a2a_task_at(c->t), .status = a2a_task_status(c->t) };
    const a2a_wait *asks = NULL;

    for (size_t i = 0; i < a2a_task_waits(c->t) && asks == NULL; i++)
        asks = a2a_task_wait(c->t, i)->child && a2a_task_wait(c->t, i)->asked == e.status.said ? a2a_task_wait(c->t, i) : NULL;
    const bool other = asks != NULL ? c->child_wait == NULL || strcmp(c->child_wait, asks->id) != 0 : c->child_wait != NULL && e.status.state == A2A_WORKING;

    c->child_wait = asks != NULL ? asks->id : NULL;
    if (!other || told)
        return;
    event_write(c, &e);
    c->finish = c->finish || is_last(c, e.status.state);
}

/* ---- the output of a run that is completed -------------------------------------------------------------------------------- */

static void look_at(a2a_call *c);

/* The value, or why there is none. */
static const char *output_said(a2a_call *c, int code, const serve_verb *v, const buf *out)
{
    const pawl_value *why;
    const char *text;
    buf b;

    if (code == 0 && out != NULL)
        return out->size > 1 ? arena_strdup(&c->mem, out->data, out->size) : NULL;
    why = value_pack(&c->mem, NULL, "{s:s}", "error", v->said[0] != '\0' && utf8_valid(v->said, strlen(v->said)) ? v->said : "it cannot be found out now");
    buf_init(&b, NULL);
    if (why != NULL)
        canon(&b, why);
    text = b.failed ? NULL : arena_strdup(&c->mem, b.data, b.size);
    buf_free(&b);
    return text;
}

static void output_known(a2a_call *c, int code, const serve_verb *v, const buf *out)
{
    const char *json = output_said(c, code, v, out);
    const bool ends = c->ends;

    c->output = true;
    c->ends = false;
    join(c);
    a2a_stage_to(c, A2A_STAGE_FOLLOWS);
    if (c->begun)
        a2a_stage_to(c, A2A_STAGE_STREAMS);
    a2a_task_given(c->t, json, ends ? on_event : NULL, c);
    if (ends) {
        event_write(c, &c->ended);
        c->finish = true;
    }
    look_at(c);
}

static void output_ask(a2a_call *c)
{
    const char *const words[] = { "show", "--output", "--", c->run };

    leave(c);
    a2a_verb(c, words, 4, NULL, output_known);
}

/* ---- looks ------------------------------------------------------------------------------------------------------------------------ */

static void reply_task(a2a_call *c)
{
    const bool wrapped = c->q.version == A2A_1_0 && c->q.method == A2A_SEND;
    buf b;

    leave(c);
    buf_init(&b, NULL);
    buf_text(&b, wrapped ? "{\"task\":" : "");
    a2a_put_task(c, &b, true);
    buf_text(&b, wrapped ? "}" : "");
    a2a_reply_result(c, &b);
}

/* Whether it is what the call waits for. */
static bool is_there(const a2a_call *c, a2a_state s)
{
    const bool due = c->due_ms != 0 && http_now(c->s->http) >= c->due_ms;

    if (http_stopping(c->s->http))
        return true;
    if (c->q.method == A2A_SEND)
        return !c->q.blocking || a2a_state_rests(s) || c->parked;
    if (c->q.method == A2A_CANCEL)
        return a2a_state_over(s) || due || c->parked;
    return true;
}

/* All that is stored was read. */
static void at_end(a2a_call *c)
{
    const bool streams = c->q.method == A2A_STREAM || c->q.method == A2A_SUBSCRIBE;

    if (!a2a_look_at_mail(c)) {
        leave(c);
        a2a_reply_fault(c);
        return;
    }
    const a2a_state s = a2a_task_status(c->t).state;

    if (c->stage == A2A_STAGE_STREAMS) {
        c->finish = c->finish || a2a_state_over(s);     /* it came back after the last event */
        child_event(c, false);
    } else if (!streams && !is_there(c, s)) {
        return;
    } else if (c->q.method == A2A_SUBSCRIBE && c->q.version == A2A_1_0 && a2a_state_over(s)) {
        (void)a2a_wrong(&c->fault, A2A_UNSUPPORTED_OPERATION, NULL, "%s: the task is over, and has no further events", c->run);
        leave(c);
        a2a_reply_fault(c);
        return;
    } else if (s == A2A_COMPLETED && a2a_task_is_graph(c->t) && !c->output) {
        output_ask(c);
        return;
    } else if (!streams) {
        reply_task(c);
        return;
    } else {
        stream_begin(c);
        snapshot_write(c);
        child_event(c, true);
        c->finish = is_last(c, s) || http_stopping(c->s->http);
    }
    if (c->finish)
        look_at(c);
}

/* It may take the call off, and free it. */
static void look_at(a2a_call *c)
{
    pawl_code rc;

    if (c->gone || (c->finish && !c->held)) {
        leave(c);
        if (c->begun)
            a2a_reply_end(c);
        else
            a2a_reply_problem(c, 503, "canceled", "the client is gone");
        return;
    }
    if (c->held)
        return;
    rc = a2a_read_task(c, A2A_PORTION, on_event, c);
    c->more = rc == PAWL_OK;
    if (rc < 0) {
        leave(c);
        a2a_reply_fault(c);
    } else if (c->ends) {
        output_ask(c);
    } else if (c->finish) {
        look_at(c);
    } else if (rc == PAWL_PENDING) {
        at_end(c);
    }
}

static void look(void *ctx)
{
    serve_a2a *a = ctx;
    const uint64_t version = a->s->store->verbs->version(a->s->store);
    const bool changed = version == 0 || version != a->version;

    a->version = version;
    for (a2a_call *c = a->all, *next; c != NULL; c = next) {
        next = c->next;
        if (changed || c->more || c->gone || c->finish || (c->due_ms != 0 && http_now(a->s->http) >= c->due_ms))
            look_at(c);
    }
    if (a->all == NULL) {
        http_timer_set(a->look, false);
        http_timer_set(a->beat, false);
    }
}

static void beat(void *ctx)
{
    serve_a2a *a = ctx;

    for (a2a_call *c = a->all, *next; c != NULL; c = next) {
        next = c->next;
        if (!guard_still(a->s, &c->by) && c->begun) {
            c->gone = true;
        } else if (!guard_still(a->s, &c->by)) {
            leave(c);
            a2a_reply_problem(c, 401, "denied", "the token was removed, or has expired");
        } else if (c->begun && !c->gone && !c->held) {
            http_put(c->r, a->heartbeat);
        }
    }
}

void a2a_follow(a2a_call *c)
{
    const char *last = http_header(c->r, "last-event-id");
    const bool streams = c->q.method == A2A_STREAM || c->q.method == A2A_SUBSCRIBE;

    if (c->items == NULL && !a2a_open_task(c, c->run)) {
        a2a_reply_fault(c);
        return;
    }
    c->resumed = c->q.method == A2A_SUBSCRIBE && last != NULL;
    if (c->resumed && !a2a_place_read(last, c->run, a2a_task_life(c->t), &c->from)) {
        (void)a2a_wrong(&c->fault, A2A_INVALID_PARAMS, "Last-Event-ID", "Last-Event-ID: no event of this task");
        a2a_reply_fault(c);
        return;
    }
    if (streams && strcmp(http_method(c->r), "HEAD") == 0) {
        http_reply(c->r, 200, stream_fields, 3, NULL, 0);
        a2a_call_free(c);
        return;
    }
    join(c);
    a2a_stage_to(c, A2A_STAGE_FOLLOWS);
    if (c->resumed)
        stream_begin(c);
    look_at(c);
}

/* ---- the server's ------------------------------------------------------------------------------------------------------------------- */

serve_a2a *a2a_new(server *s, pawl_err *err)
{
    serve_a2a *a = calloc(1, sizeof *a);

    if (a != NULL && ((a->heartbeat = http_frame_new(NULL, ":\n\n", 3)) == NULL || (a->look = http_timer_new(s->http, LOOK_MS, look, a)) == NULL ||
                      (a->beat = http_timer_new(s->http, HEARTBEAT_MS, beat, a)) == NULL)) {
        http_frame_drop(a->heartbeat);
        free(a);
        a = NULL;
    }
    if (a == NULL)
        fail(err, PAWL_NOMEM, "server: no memory");
    else
        a->s = s;
    return a;
}

void a2a_drain(serve_a2a *a)
{
    for (a2a_call *c = a->all, *next; c != NULL; c = next) {
        next = c->next;
        if (c->begun) {
            leave(c);
            a2a_reply_end(c);   /* the client comes back, and finds what it missed */
        } else {
            reply_task(c);
        }
    }
}

void a2a_free(serve_a2a *a)
{
    if (a == NULL)
        return;
    a2a_drain(a);
    http_frame_drop(a->heartbeat);
    free(a);
}
