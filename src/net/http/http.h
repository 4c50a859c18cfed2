/* http.h - a server of HTTP/1.1 on one loop: keep-alive, requests sent ahead, chunked bodies, streams, TCP and unix sockets.
 *
 * The loop is one thread, the caller of http_run(). All functions are called on it, except where "any thread" is said; before http_run() they are called
 * by the thread that will run it. A request is parsed by llhttp in its strict form, and what could mean two things is refused (N4). Every size and
 * every wait has a limit. A request is handed to the handler when its body is complete; the handler replies at once or later. */
#ifndef NET_HTTP_HTTP_H
#define NET_HTTP_HTTP_H

#include "base/base.h"

#include <sys/types.h>

typedef struct http_server http_server;
typedef struct http_req http_req;       /* one request with its reply; valid until its reply has ended */
typedef struct server_side http_timer;
typedef struct http_frame http_frame;   /* bytes that any number of streams share */

/* 0 takes the value in brackets. */
typedef struct http_limits {
    size_t head_bytes;          /* of a request line with its headers, and of trailers [32 KB]; above: 431 */
    size_t body_bytes;          /* of a body [16 MB]; above: 413 */
    size_t stream_bytes;        /* that wait for the reader of a stream [256 KB]; above, http_put() returns false */
    unsigned headers;           /* in a request [100]; above: 431 */
    unsigned connections;       /* [10,000]; above, the one that has waited longest for its next request is closed, or the new one gets 503 */
    unsigned head_ms;           /* from the first byte of a request to the end of its headers [10 s]; above: 408 */
    unsigned body_ms;           /* from there to the end of the body [60 s]; above: 408 */
    unsigned idle_ms;           /* between two requests [75 s] */
    unsigned write_ms;          /* in which the client takes no byte of a reply [30 s] */
    unsigned linger_ms;         /* for a client to close after the last reply [2 s] */
    unsigned drain_ms;          /* from http_stop() until what is open is cut [10 s] */
} http_limits;

struct http_outcome;
typedef struct http_config {
    const pawl_alloc *alloc;    /* NULL: malloc */
    http_limits limits;
    /* Gets each request. It calls http_reply() or http_stream() and http_end() now or later, exactly once. */
    void (*handler)(void *ctx, http_req *call);
    /* Told when a call has ended, and what is read of it is still there; NULL: nobody. `call` NULL: the request was refused before the handler got it. */
    void (*ended)(void *ctx, const http_req *call, const struct http_outcome *how);
    void *ctx;
} http_config;

typedef struct http_outcome {
    unsigned status;            /* 0: the client was gone before there was a reply */
    uint64_t bytes;             /* of the reply, with its head */
    int64_t ms;                 /* from the whole request to the end of the reply */
    bool gone;                  /* the client was gone before the reply had ended */
} http_outcome;

/* ---- server.c ----------------------------------------------------------------------------------------------- */

http_server *http_new(const http_config *config, pawl_err *err);    /* NULL: PAWL_NOMEM, PAWL_IO */
/* Ends what is still open, then frees. Every call must have ended by then or ends here; its `gone` function is called. NULL: nothing. */
void http_free(http_server *s);
/* Listen on an address ("127.0.0.1", "::1", "0.0.0.0") and a port; 0: any free one, which http_port() tells. */
pawl_code http_listen(http_server *s, const char *address, unsigned port, pawl_err *err);
/* On a unix socket, which is made with `mode`. A socket that nobody listens on is replaced; any other file is not. Removed by http_free(). */
pawl_code http_listen_unix(http_server *s, const char *path, mode_t mode, pawl_err *err);
/* On a listening socket of somebody else (socket activation). The server owns it from then on. */
pawl_code http_listen_fd(http_server *s, int fd, pawl_err *err);
unsigned http_port(const http_server *s);       /* of the newest TCP listener; 0: none */
/* Serve a connected socket, which the server owns from then on, also after an error. */
pawl_code http_adopt(http_server *s, int fd, pawl_err *err);
/* Returns when http_stop() was called and every connection has ended. */
void http_run(http_server *s);
/* Any thread: no new connections; a connection closes after its reply; `drained`, if not NULL, is called on the loop, to end streams. After drain_ms,
 * what is open is cut. Only the first call counts. */
void http_stop(http_server *s, void (*drained)(void *ctx), void *ctx);
bool http_stopping(const http_server *s);
/* Ends the drain now: what is open is cut. After http_stop(); more than once is the same. */
void http_cut(http_server *s);
/* Any thread: call `fn` on the loop. False: no memory. What is posted after the end of http_run() is dropped by http_free(). */
bool http_post(http_server *s, void (*fn)(void *ctx), void *ctx);
/* A timer that calls `fn` every `ms` while it is on, until http_free(); it is off at first. It does not keep http_run() from returning. NULL: no memory. */
http_timer *http_timer_new(http_server *s, unsigned ms, void (*fn)(void *ctx), void *ctx);
void http_timer_set(http_timer *t, bool on);
/* Call `fn` whenever `fd` is readable, until http_free(). The descriptor must stay open until then. It does not keep http_run() from returning. False:
 * no memory, or a descriptor that cannot be watched. */
bool http_watch(http_server *s, int fd, void (*fn)(void *ctx), void *ctx);
int64_t http_now(const http_server *s);         /* the loop's monotonic clock, in milliseconds */

typedef struct http_counts {
    size_t connections;         /* open */
    size_t waiting;             /* of these, between two requests */
    uint64_t accepted, requests, refused;   /* since the start; refused: by a limit or a fault of the request */
    uint64_t sent_bytes;
} http_counts;
http_counts http_counted(const http_server *s);

/* ---- request.c: what was asked. Texts end in NUL and are valid as long as the call -------------------------------- */

const char *http_method(const http_req *c);            /* "GET" */
const char *http_path(const http_req *c);              /* percent-encoded as it came, without the query; "*" only for OPTIONS */
const char *http_query(const http_req *c);             /* after the "?"; NULL: none */
/* The first header of that name, which is in lower case; NULL: none. Lines of one name are joined by ", " (of "cookie" by "; "). */
const char *http_header(const http_req *c, const char *name);
const char *http_host(const http_req *c);              /* the authority: of an absolute target, else the Host header; "" in HTTP/1.0 without one */
pawl_bytes http_body(const http_req *c);

/* A name for who asks, which the handler finds out and the log gets; 63 bytes of it are kept. "": not set. */
void http_name_set(http_req *c, const char *who);
const char *http_name(const http_req *c);
bool http_is_tcp(const http_req *c);

/* The user at the other end of a unix socket, by the kernel's word; (uid_t)-1: unknown. False: it came over TCP. */
bool http_peer_user(const http_req *c, uid_t *uid);

/* For the handler: data of its own, and a function that is called once, when the client is gone before the reply has ended; also within http_stream()
 * and http_put(). The call stays valid: it must still be ended, which may be done there, except within http_stream(). */
void http_set(http_req *c, void *data, void (*gone)(http_req *c, void *data));
bool http_gone(const http_req *c);

/* ---- reply.c -------------------------------------------------------------------------------------------------- */

typedef struct http_field {
    const char *name, *value;   /* of a header; a line break in a value becomes a space */
} http_field;

/* The whole reply; the call has ended. Content-Length, Connection and Date are added. 204 and 304 have no body, and HEAD gets none. */
void http_reply(http_req *c, unsigned status, const http_field *fields, size_t nfields, const void *body, size_t size);
/* Begin a reply of unknown length. Then http_put() any number of times, and http_end(). */
void http_stream(http_req *c, unsigned status, const http_field *fields, size_t nfields);
/* False: more than stream_bytes wait, or the client is gone; the frame was not taken. `room`, if not NULL, is called once, when all has been written
 * and the call still is there. */
bool http_put(http_req *c, http_frame *f);
void http_on_room(http_req *c, void (*room)(http_req *c, void *data));
void http_end(http_req *c);
void http_end_with(http_req *c, http_frame *last);      /* the same, after a last frame (may be NULL), which no limit keeps back */

/* ---- frame.c -------------------------------------------------------------------------------------------------- */

/* A copy of bytes, encoded once as a chunk; one reference. NULL: no memory, or size 0. Loop thread only. */
http_frame *http_frame_new(const pawl_alloc *alloc, const void *data, size_t size);
http_frame *http_frame_keep(http_frame *f);     /* one reference more */
void http_frame_drop(http_frame *f);            /* NULL: nothing */
const char *http_status_text(unsigned status);  /* "Not Found" */

#endif
