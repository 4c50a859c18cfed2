/* http_inner.h - what the files of this folder share: servers, connections, requests, and bytes that wait to be written.
 *
 * All of it belongs to the loop thread, except `posted` with its lock. */
#ifndef NET_HTTP_HTTP_INNER_H
#define NET_HTTP_HTTP_INNER_H

#include "base/sm.h"
#include "net/http/http.h"

#include <llhttp.h>
#include <pthread.h>
#include <uv.h>

typedef struct conn conn;

/* ---- frame.c: bytes to write ---------------------------------------------------------------------------------- */

struct http_frame {
    pawl_alloc alloc;
    unsigned refs;
    unsigned lead;              /* bytes of the chunk's size line in front of the payload; 0: not a chunk */
    size_t payload;
    size_t bytes;               /* of all that is in `data` */
    char data[];
};

/* Not a chunk: a head, and behind it a body of known length. */
http_frame *frame_plain(const pawl_alloc *alloc, const void *head, size_t head_size, const void *body, size_t body_size);

/* Frames in order, each with one reference. At most one write is with libuv. */
enum { OUT_BATCH = 32 };
typedef struct out_queue {
    http_frame **frames;        /* a ring of `cap` */
    size_t cap, first, count;
    size_t written;             /* bytes of the first frame that are out */
    size_t bytes;               /* that wait */
    size_t taken;               /* bytes that the write of libuv holds; 0: it has none */
    size_t left;                /* of these, when somebody last looked */
    uv_write_t write;
} out_queue;

bool out_add(out_queue *q, const pawl_alloc *alloc, http_frame *f, bool chunked);     /* keeps the frame; false: no memory */
size_t out_parts(const out_queue *q, bool chunked, uv_buf_t parts[OUT_BATCH]);       /* the first ones that wait */
void out_wrote(out_queue *q, bool chunked, size_t bytes);                            /* so many are out */
void out_clear(out_queue *q, const pawl_alloc *alloc);

/* The head of a reply, written to `out`. `size` below 0: unknown, so chunked for HTTP/1.1. */
typedef struct reply_head {
    unsigned status;
    int64_t size;
    bool chunked, keep;
    const http_field *fields;
    size_t nfields;
    int64_t now_ms;             /* since the epoch: Date */
} reply_head;
void head_write(buf *out, const reply_head *h);
bool status_has_body(unsigned status);

/* ---- deadline.c: connections in the order of their deadlines, one list for each kind of wait --------------------- */

enum wait_kind { WAIT_NONE, WAIT_IDLE, WAIT_HEAD, WAIT_BODY, WAIT_WRITE, WAIT_LINGER, WAIT_KINDS };
typedef struct wait_place {
    struct wait_place *next, *prev;
    int64_t due_ms;
    unsigned kind;              /* enum wait_kind */
} wait_place;
typedef struct wait_lists {
    wait_place heads[WAIT_KINDS];       /* rings; the duration of a kind is constant, so the first of a ring is due first */
    int64_t limit_ms[WAIT_KINDS];
} wait_lists;
void wait_lists_init(wait_lists *l, const http_limits *limits);
void wait_place_init(wait_place *p);
void wait_set(wait_lists *l, wait_place *p, unsigned kind, int64_t now_ms);     /* WAIT_NONE: in no list */
wait_place *wait_first(wait_lists *l, unsigned kind);   /* NULL: none */
bool wait_any(const wait_lists *l);

/* ---- request.c: the parser ----------------------------------------------------------------------------------------- */

struct http_req {
    conn *c;
    buf head;                   /* the target, NUL, then NAME NUL VALUE NUL ... with names in lower case */
    buf body;
    size_t fields;              /* where the first name begins in `head` */
    size_t fields_end;          /* what follows is the authority and the path of an absolute target */
    size_t path, query, host;   /* in `head`; 0: no query, no authority in the target */
    void *data;
    void (*gone)(http_req *c, void *data);
    void (*room)(http_req *c, void *data);
    char name[64];              /* of who asks */
    unsigned status;            /* of the reply; 0: none yet */
    uint64_t bytes;             /* of the reply so far */
    int64_t begun_ms;           /* when the request was whole */
};

enum parse_part { PART_TARGET, PART_NAME, PART_VALUE, PART_BODY };      /* what is read; PART_BODY: the head is complete */
typedef struct parse_state {
    llhttp_t llhttp;
    unsigned refused;           /* the status of a refusal; 0: none */
    const char *why;
    size_t head_bytes;          /* of target, names and values so far */
    size_t name, value;         /* of the header that is being read, in `head` */
    unsigned headers;
    uint8_t part;               /* enum parse_part */
    bool keeps;                 /* of a whole request: another one may follow */
} parse_state;

typedef enum parsed { PARSED_MORE, PARSED_WHOLE, PARSED_WRONG } parsed;
void parse_init(conn *c);
void call_clear(http_req *c);                          /* frees what was read */
/* Reads to the end of a request at most: `*used` of `size` bytes. PARSED_WRONG: parse.refused and parse.why are set. */
parsed parse_bytes(conn *c, const char *data, size_t size, size_t *used);
static inline bool parse_has_head(const parse_state *p) { return p->part == PART_BODY; }
bool parse_wants_continue(const conn *c);               /* the client waits for "100 Continue" before it sends the body */

/* ---- conn.c: the life of a connection ---------------------------------------------------------------------------------- */

enum conn_state {
    CONN_WAITING,               /* for a request */
    CONN_HEAD,                  /* reads its head */
    CONN_BODY,                  /* reads its body */
    CONN_SERVED,                /* the handler has the call */
    CONN_STREAMED,              /* the handler has the call, and the head of a stream is out */
    CONN_FLUSHED,               /* the reply is complete, and being written */
    CONN_LINGERING,             /* our side is closed: what comes is dropped until the client closes */
    CONN_CLOSED,                /* the socket is being closed, or is closed and the handler still has the call */
    CONN_STATES
};

struct conn {
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    } io;
    http_server *s;
    conn *next, *prev;          /* of all open ones */
    wait_place wait;
    http_req call;
    parse_state parse;
    out_queue out;
    buf ahead;                  /* bytes of requests that were sent ahead */
    uint8_t state;              /* enum conn_state */
    bool tcp;                   /* else a unix socket */
    bool held;                  /* the handler has the call */
    bool open;                  /* the socket is not yet closed by libuv */
    bool keep;                  /* another request may follow */
    bool ended;                 /* the client has closed its side */
    bool chunked;               /* the reply is sent in chunks */
    bool mute;                  /* the reply is to HEAD, or of a status without a body */
    bool going;                 /* conn_go() is on the stack */
};

conn *conn_new(http_server *s, bool tcp);                       /* its handle is initialized; NULL: no memory */
void conn_start(conn *c);                                       /* its socket is connected */
void conn_cut(conn *c);                                         /* closes the socket at once; nothing if it is closed */
void conn_refuse(conn *c, unsigned status, const char *why);    /* a reply that is not the handler's, then the end */
void conn_send(conn *c, http_frame *f);                         /* takes over the reference; NULL, or no memory: the connection is cut */
void conn_stream_begins(conn *c);
void conn_call_ended(conn *c);                                  /* may free the connection */
void conn_due(conn *c);                                         /* its wait has ended */
void conn_drain(conn *c);                                       /* the server stops */

/* ---- server.c ------------------------------------------------------------------------------------------------------------- */

enum server_state { SERVER_OPEN, SERVER_DRAINING, SERVER_CUTTING, SERVER_STATES };

typedef struct server_side server_side;     /* a listener, a timer or a watch */

struct http_server {
    pawl_alloc alloc;
    http_limits limits;
    void (*handler)(void *ctx, http_req *call);
    void (*ended)(void *ctx, const http_req *call, const http_outcome *how);     /* NULL: nobody is told */
    void *ctx;
    uv_loop_t loop;
    uv_timer_t ticker;          /* deadlines; runs while a connection waits for one */
    uv_timer_cb tick;
    uv_timer_t drain;
    uv_async_t wake;
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    } spare;                    /* takes a connection for which there is no memory, to close it */
    bool spare_used;
    uint8_t state;              /* enum server_state */
    server_side *sides;
    conn *conns;
    wait_lists waits;
    http_counts counts;
    unsigned port;
    void (*drained)(void *ctx);
    void *drained_ctx;
    pthread_mutex_t lock;       /* of `posted` and `stop` */
    struct posted *posted, **posted_last;
    bool stop;                  /* http_stop() was called */
    char room[65536];           /* what is read goes here first; a connection reads within one callback */
};


#endif
