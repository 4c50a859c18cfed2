/* conn.c - the life of a connection: it reads requests, hands each to the handler, writes the reply, and waits for the next or closes.
 *
 * Called by libuv, by server.c (accepted sockets, deadlines, the stop) and by reply.c. Loop thread. A connection is freed when libuv has closed its
 * socket and the handler has ended its call, whichever comes last. While the handler has a call, further bytes are kept (`ahead`) up to AHEAD_MAX;
 * they are parsed after the reply. */
#include "net/http/http_inner.h"

#include <stddef.h>
#include <sys/socket.h>
#include <time.h>

enum { AHEAD_MAX = 65536 };

static const sm_row conn_rows[] = {
    [CONN_WAITING] = { "waiting", SM_TO(CONN_HEAD) | SM_TO(CONN_FLUSHED) | SM_TO(CONN_CLOSED), SM_FIRST },
    [CONN_HEAD] = { "head", SM_TO(CONN_BODY) | SM_TO(CONN_FLUSHED) | SM_TO(CONN_CLOSED), 0 },
    [CONN_BODY] = { "body", SM_TO(CONN_SERVED) | SM_TO(CONN_FLUSHED) | SM_TO(CONN_CLOSED), 0 },
    [CONN_SERVED] = { "served", SM_TO(CONN_STREAMED) | SM_TO(CONN_FLUSHED) | SM_TO(CONN_CLOSED), 0 },
    [CONN_STREAMED] = { "streamed", SM_TO(CONN_FLUSHED) | SM_TO(CONN_CLOSED), 0 },
    [CONN_FLUSHED] = { "flushed", SM_TO(CONN_WAITING) | SM_TO(CONN_LINGERING) | SM_TO(CONN_CLOSED), 0 },
    [CONN_LINGERING] = { "lingering", SM_TO(CONN_CLOSED), 0 },
    [CONN_CLOSED] = { "closed", 0, SM_LAST },
};

static const char *conn_wrong(const void *owner, unsigned state)
{
    const conn *c = owner;

    if (state != CONN_CLOSED && c->held != (state == CONN_SERVED || state == CONN_STREAMED))
        return "the handler has the call of a connection that is served, and no other";
    if ((state == CONN_WAITING || state == CONN_LINGERING) && c->out.count > 0)
        return "a reply is written before the next request";
    if (state != CONN_CLOSED && !c->open)
        return "the socket of a live connection is open";
    return NULL;
}
static const sm_table conn_table = { "connection", conn_rows, CONN_STATES, conn_wrong };

/* ---- waits ------------------------------------------------------------------------------------------------------ */

static unsigned wait_of(const conn *c)
{
    switch ((enum conn_state)c->state) {
    case CONN_WAITING: return WAIT_IDLE;
    case CONN_HEAD: return WAIT_HEAD;
    case CONN_BODY: return WAIT_BODY;
    case CONN_LINGERING: return WAIT_LINGER;
    case CONN_SERVED:
    case CONN_STREAMED:
    case CONN_FLUSHED: return c->out.count > 0 ? WAIT_WRITE : WAIT_NONE;
    case CONN_CLOSED:
    case CONN_STATES: break;
    }
    return WAIT_NONE;
}

static void set_wait(conn *c)
{
    http_server *s = c->s;
    const unsigned kind = wait_of(c);

    wait_set(&s->waits, &c->wait, kind, http_now(s));
    if (kind != WAIT_NONE && !uv_is_active((uv_handle_t *)&s->ticker))
        uv_timer_start(&s->ticker, s->tick, 250, 250);
}

static void move(conn *c, enum conn_state to)
{
    http_counts *n = &c->s->counts;

    n->waiting -= c->state == CONN_WAITING ? 1 : 0;
    sm_move(&conn_table, &c->state, to, c);
    n->waiting += to == CONN_WAITING ? 1 : 0;
    set_wait(c);
}

/* ---- the end ------------------------------------------------------------------------------------------------------ */

static void free_if_over(conn *c)
{
    http_server *s = c->s;

    if (c->open || c->held)
        return;
    *(c->prev != NULL ? &c->prev->next : &s->conns) = c->next;
    if (c->next != NULL)
        c->next->prev = c->prev;
    call_clear(&c->call);
    buf_free(&c->ahead);
    mem_free(&s->alloc, c, sizeof *c);
    if (s->conns == NULL && s->state != SERVER_OPEN)
        uv_unref((uv_handle_t *)&s->wake);      /* nothing is left to wait for */
}

static void on_closed(uv_handle_t *h)
{
    conn *c = h->data;

    out_clear(&c->out, &c->s->alloc);   /* here, since a write of libuv may hold the frames until now */
    c->open = false;
    free_if_over(c);
}

void conn_cut(conn *c)
{
    http_req *call = &c->call;

    if (c->state == CONN_CLOSED)
        return;
    move(c, CONN_CLOSED);
    c->s->counts.connections--;
    uv_close(&c->io.handle, on_closed);
    if (c->held && call->gone != NULL)
        call->gone(call, call->data);
}

/* ---- writing --------------------------------------------------------------------------------------------------------- */

static void go_on(conn *c);
static void write_out(conn *c);

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *b);
static void on_room(uv_handle_t *h, size_t wanted, uv_buf_t *b)
{
    conn *c = h->data;

    (void)wanted;
    *b = uv_buf_init(c->s->room, sizeof c->s->room);
}

static void linger(conn *c)
{
    uv_os_fd_t fd;

    if (c->ended || uv_fileno(&c->io.handle, &fd) != 0) {
        conn_cut(c);
        return;
    }
    /* A close with unread bytes would reset the connection, and the client could lose the reply. */
    shutdown(fd, SHUT_WR);
    move(c, CONN_LINGERING);
    uv_read_start(&c->io.stream, on_room, on_read);     /* AHEAD_MAX may have stopped it */
}

static void reply_is_out(conn *c)
{
    call_clear(&c->call);
    parse_init(c);
    if (!c->keep) {
        linger(c);
        return;
    }
    move(c, CONN_WAITING);
    if (!c->going)
        go_on(c);
}

static void all_is_out(conn *c)
{
    http_req *call = &c->call;
    void (*room)(http_req *, void *) = call->room;

    if (c->state == CONN_FLUSHED) {
        reply_is_out(c);
    } else if (c->state == CONN_STREAMED) {
        set_wait(c);
        call->room = NULL;
        if (room != NULL)
            room(call, call->data);
    }
}

static void on_written(uv_write_t *w, int status)
{
    conn *c = w->handle->data;
    const size_t bytes = c->out.taken;

    c->out.taken = 0;
    if (c->state == CONN_CLOSED)
        return;
    if (status < 0) {
        conn_cut(c);
        return;
    }
    out_wrote(&c->out, c->chunked, bytes);
    c->s->counts.sent_bytes += bytes;
    write_out(c);
}

/* Gives the first frames to libuv, because the socket takes no more now. */
static void write_later(conn *c, const uv_buf_t *parts, size_t n)
{
    c->out.taken = 0;
    for (size_t i = 0; i < n; i++)
        c->out.taken += parts[i].len;
    c->out.left = c->out.taken;
    if (uv_write(&c->out.write, &c->io.stream, parts, (unsigned)n, on_written) != 0) {
        c->out.taken = 0;
        conn_cut(c);
        return;
    }
    set_wait(c);
}

static void write_out(conn *c)
{
    uv_buf_t parts[OUT_BATCH];

    while (c->state != CONN_CLOSED && c->out.taken == 0 && c->out.count > 0) {
        const size_t n = out_parts(&c->out, c->chunked, parts);
        const int sent = uv_try_write(&c->io.stream, parts, (unsigned)n);

        if (sent == UV_EAGAIN || sent == 0) {
            write_later(c, parts, n);
            return;
        }
        if (sent < 0) {
            conn_cut(c);
            return;
        }
        out_wrote(&c->out, c->chunked, (size_t)sent);
        c->s->counts.sent_bytes += (uint64_t)sent;
    }
    if (c->state != CONN_CLOSED && c->out.count == 0)
        all_is_out(c);
}

void conn_send(conn *c, http_frame *f)
{
    if (c->state == CONN_CLOSED) {
        http_frame_drop(f);
        return;
    }
    if (f != NULL && c->held)
        c->call.bytes += f->bytes;
    if (f == NULL || !out_add(&c->out, &c->s->alloc, f, c->chunked)) {
        http_frame_drop(f);
        conn_cut(c);
        return;
    }
    http_frame_drop(f);
    write_out(c);
}

void conn_stream_begins(conn *c)
{
    move(c, CONN_STREAMED);
    write_out(c);
}

void conn_call_ended(conn *c)
{
    const http_outcome how = { c->call.status, c->call.bytes, http_now(c->s) - c->call.begun_ms, c->state == CONN_CLOSED };

    PAWL_ASSERT(c->held, "a call ends once");
    if (c->s->ended != NULL)
        c->s->ended(c->s->ctx, &c->call, &how);
    c->held = false;
    if (c->state == CONN_CLOSED) {
        free_if_over(c);
        return;
    }
    move(c, CONN_FLUSHED);
    write_out(c);
}

/* ---- refusals ---------------------------------------------------------------------------------------------------------- */

void conn_refuse(conn *c, unsigned status, const char *why)
{
    static const http_field fields[] = { { "Content-Type", "application/problem+json" } };
    reply_head h = { .status = status, .fields = fields, .nfields = 1, .now_ms = (int64_t)time(NULL) * 1000 };
    buf head, body;

    c->s->counts.refused++;
    if (c->s->ended != NULL)
        c->s->ended(c->s->ctx, NULL, &(http_outcome){ .status = status });
    c->keep = false;
    c->chunked = true;          /* plain frames are the same in both */
    buf_init(&head, &c->s->alloc);
    buf_init(&body, &c->s->alloc);
    /* `why` is a text of this folder or of llhttp: without quotes and control characters. */
    buf_fmt(&body, "{\"code\":\"%s\",\"detail\":\"%s\",\"status\":%u,\"title\":\"%s\"}\n",
            status == 408 ? "timeout" : status == 413 || status == 414 || status == 431 || status == 503 ? "limit" : "invalid", why, status,
            http_status_text(status));
    h.size = (int64_t)body.size;
    head_write(&head, &h);
    http_frame *f = head.failed || body.failed ? NULL : frame_plain(&c->s->alloc, head.data, head.size, body.data, body.size);

    buf_free(&head);
    buf_free(&body);
    move(c, CONN_FLUSHED);
    conn_send(c, f);
}

/* ---- reading --------------------------------------------------------------------------------------------------------------- */

static void serve(conn *c)
{
    http_server *s = c->s;

    s->counts.requests++;
    c->keep = c->parse.keeps;
    c->chunked = c->parse.llhttp.http_minor == 1;
    c->mute = c->parse.llhttp.method == HTTP_HEAD;
    c->call.name[0] = '\0';
    c->call.status = 0;
    c->call.bytes = 0;
    c->call.begun_ms = http_now(s);
    c->held = true;
    move(c, CONN_SERVED);
    s->handler(s->ctx, &c->call);
}

/* Parses to the end of one request at most; `*used` of `size` bytes. */
static void feed(conn *c, const char *data, size_t size, size_t *used)
{
    size_t skip = 0, rest = 0;

    if (c->state == CONN_WAITING) {
        while (skip < size && (data[skip] == '\r' || data[skip] == '\n'))       /* RFC 9112, 2.2: empty lines between requests */
            skip++;
        *used = skip;
        if (skip == size)
            return;
        move(c, CONN_HEAD);
    }
    const parsed is = parse_bytes(c, data + skip, size - skip, &rest);

    *used = skip + rest;
    if (c->state == CONN_HEAD && parse_has_head(&c->parse)) {
        move(c, CONN_BODY);
        if (is == PARSED_MORE && parse_wants_continue(c)) {
            c->chunked = true;
            conn_send(c, frame_plain(&c->s->alloc, "HTTP/1.1 100 Continue\r\n\r\n", 25, NULL, 0));
        }
    }
    if (c->state == CONN_CLOSED)
        return;
    if (is == PARSED_WRONG)
        conn_refuse(c, c->parse.refused, c->parse.why);
    else if (is == PARSED_WHOLE)
        serve(c);
}

static bool reads(const conn *c) { return c->state == CONN_WAITING || c->state == CONN_HEAD || c->state == CONN_BODY; }

/* Parses what is there, request by request, as far as each is replied to at once; keeps the rest. */
static void feed_all(conn *c, const char *data, size_t size)
{
    size_t at = 0;

    c->going = true;
    while (at < size && reads(c)) {
        size_t used = 0;

        feed(c, data + at, size - at, &used);
        at += used;
    }
    c->going = false;
    if (c->state == CONN_CLOSED || c->state == CONN_LINGERING || at == size)
        return;
    buf_put(&c->ahead, data + at, size - at);
    if (c->ahead.failed)
        conn_cut(c);
    else if (c->ahead.size > AHEAD_MAX)
        uv_read_stop(&c->io.stream);
}

/* After a reply: the requests that were sent ahead, then the socket again. */
static void go_on(conn *c)
{
    while (c->state == CONN_WAITING && c->ahead.size > 0) {
        buf ahead = c->ahead;

        buf_init(&c->ahead, &c->s->alloc);
        feed_all(c, ahead.data, ahead.size);
        buf_free(&ahead);
    }
    if (c->state == CONN_WAITING && (c->ended || c->s->state != SERVER_OPEN))
        conn_cut(c);
    else if (reads(c) && !c->ended)
        uv_read_start(&c->io.stream, on_room, on_read);         /* it may have been stopped by AHEAD_MAX */
    else if (reads(c))
        conn_cut(c);            /* the client closed its side within a request */
}

static void client_closed(conn *c)
{
    c->ended = true;
    if (c->state != CONN_SERVED && c->state != CONN_FLUSHED)    /* who asked and closed its side gets the reply; a stream has no reader any more */
        conn_cut(c);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *b)
{
    conn *c = stream->data;

    if (c->state == CONN_CLOSED || n == 0)
        return;
    if (n == UV_EOF) {
        client_closed(c);
    } else if (n < 0) {
        conn_cut(c);
    } else if (c->state != CONN_LINGERING) {
        feed_all(c, b->base, (size_t)n);
        if (c->state == CONN_WAITING)
            go_on(c);
    }
}

/* ---- the beginning, and what the server says ------------------------------------------------------------------------------------ */

conn *conn_new(http_server *s, bool tcp)
{
    conn *c = mem_new(&s->alloc, sizeof *c);

    if (c == NULL)
        return NULL;
    c->s = s;
    if ((tcp ? uv_tcp_init(&s->loop, &c->io.tcp) : uv_pipe_init(&s->loop, &c->io.pipe, 0)) != 0) {
        mem_free(&s->alloc, c, sizeof *c);
        return NULL;
    }
    c->io.handle.data = c;
    c->tcp = tcp;
    c->open = true;
    c->keep = true;
    c->call.c = c;
    buf_init(&c->call.head, &s->alloc);
    buf_init(&c->call.body, &s->alloc);
    buf_init(&c->ahead, &s->alloc);
    parse_init(c);
    wait_place_init(&c->wait);
    c->next = s->conns;
    if (c->next != NULL)
        c->next->prev = c;
    s->conns = c;
    s->counts.connections++;
    s->counts.waiting++;
    s->counts.accepted++;
    sm_begin(&conn_table, &c->state, CONN_WAITING, c);
    set_wait(c);
    return c;
}

void conn_start(conn *c)
{
    if (c->tcp)
        uv_tcp_nodelay(&c->io.tcp, 1);
    if (uv_read_start(&c->io.stream, on_room, on_read) != 0)
        conn_cut(c);
}

void conn_due(conn *c)
{
    switch ((enum conn_state)c->state) {
    case CONN_HEAD: conn_refuse(c, 408, "the head of the request did not arrive in time"); return;
    case CONN_BODY: conn_refuse(c, 408, "the body of the request did not arrive in time"); return;
    case CONN_SERVED:
    case CONN_STREAMED:
    case CONN_FLUSHED: {
        const size_t left = uv_stream_get_write_queue_size(&c->io.stream);

        if (c->out.taken > 0 && left < c->out.left) {
            c->out.left = left;
            set_wait(c);
            return;
        }
        break;
    }
    case CONN_WAITING:
    case CONN_LINGERING:
    case CONN_CLOSED:
    case CONN_STATES: break;
    }
    conn_cut(c);
}

void conn_drain(conn *c)
{
    if (c->state == CONN_WAITING)
        conn_cut(c);
    else
        c->keep = false;
}
