/* reply.c - what the handler says: whole replies, and streams of frames. Loop thread. */
#include "net/http/http_inner.h"

#include <time.h>

/* The head, and behind it the body unless the reply has none. `size` below 0: unknown. */
static http_frame *reply_frame(conn *c, unsigned status, const http_field *fields, size_t nfields, const void *body, int64_t size)
{
    const reply_head h = { .status = status, .size = size, .chunked = c->chunked, .keep = c->keep, .fields = fields, .nfields = nfields,
        .now_ms = (int64_t)time(NULL) * 1000 };
    http_frame *f = NULL;
    buf head;

    buf_init(&head, &c->s->alloc);
    head_write(&head, &h);
    if (!head.failed)
        f = frame_plain(&c->s->alloc, head.data, head.size, body, c->mute || size < 0 ? 0 : (size_t)size);
    buf_free(&head);
    return f;
}

static void prepare(conn *c, unsigned status)
{
    PAWL_ASSERT(c->state == CONN_SERVED, "a call gets one reply");
    c->call.status = status;
    c->keep = c->keep && c->s->state == SERVER_OPEN;
    c->mute = c->mute || !status_has_body(status);
}

void http_reply(http_req *call, unsigned status, const http_field *fields, size_t nfields, const void *body, size_t size)
{
    conn *c = call->c;

    call->gone = NULL;
    if (c->state != CONN_CLOSED) {
        prepare(c, status);
        conn_send(c, reply_frame(c, status, fields, nfields, body, (int64_t)size));
    }
    conn_call_ended(c);
}

void http_stream(http_req *call, unsigned status, const http_field *fields, size_t nfields)
{
    conn *c = call->c;

    if (c->state == CONN_CLOSED)
        return;
    prepare(c, status);
    c->keep = c->keep && c->chunked;    /* without chunks, only the end of the connection ends a stream */
    conn_send(c, reply_frame(c, status, fields, nfields, NULL, -1));
    if (c->state != CONN_CLOSED)
        conn_stream_begins(c);
}

bool http_put(http_req *call, http_frame *f)
{
    conn *c = call->c;

    if (c->state == CONN_CLOSED)
        return false;
    PAWL_ASSERT(c->state == CONN_STREAMED, "a stream has begun");
    if (c->mute)
        return true;
    if (c->out.count > 0 && c->out.bytes + f->bytes > c->s->limits.stream_bytes)
        return false;
    conn_send(c, http_frame_keep(f));
    return c->state != CONN_CLOSED;
}

void http_on_room(http_req *call, void (*room)(http_req *c, void *data)) { call->room = room; }

void http_end(http_req *call)
{
    conn *c = call->c;

    call->room = NULL;
    call->gone = NULL;
    if (c->state != CONN_CLOSED && c->chunked && !c->mute)
        conn_send(c, frame_plain(&c->s->alloc, "0\r\n\r\n", 5, NULL, 0));
    conn_call_ended(c);
}

void http_end_with(http_req *call, http_frame *last)
{
    conn *c = call->c;

    call->gone = NULL;
    if (last != NULL && c->state == CONN_STREAMED && !c->mute)
        conn_send(c, http_frame_keep(last));
    http_end(call);
}
