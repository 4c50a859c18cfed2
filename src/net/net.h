/* net.h - clocks, SIGPIPE, dates of HTTP, and requests. Any function may be called on any thread. */
#ifndef NET_NET_H
#define NET_NET_H

#include "json/json.h"

#include <signal.h>

/* ---- host.c --------------------------------------------------------------------------------------- */

int64_t clock_ms(void);         /* monotonic; its zero means nothing */
int64_t epoch_ms(void);

/* Until pipe_release(), writing to a closed pipe gives this thread EPIPE and no signal. */
typedef struct pipe_hold {
    sigset_t before;
    bool pending;               /* SIGPIPE was pending before */
} pipe_hold;
void pipe_guard(pipe_hold *h);
void pipe_release(const pipe_hold *h);

/* ---- date.c ---------------------------------------------------------------------------------------- */

/* `Sun, 06 Nov 1994 08:49:37 GMT` in seconds since the epoch; -1: not such a date. */
int64_t http_date(const char *text);
/* Milliseconds that a Retry-After header asks for, as seconds or as a date (compared with the answer's own `date`; NULL: with this machine's); 0: it
 * cannot be read. A day at most. */
int64_t retry_after_ms(const char *text, const char *date);

/* ---- curl.c, curl_loop.c, exchange.c: requests ------------------------------------------------------------ */

struct sockaddr;
typedef struct net_answer net_answer;

/* What a reader of a body says after each piece. */
typedef enum net_taken {
    NET_MORE,
    NET_LAST,                   /* all that matters has come: the end is waited for briefly, so that the connection can be kept */
    NET_ENOUGH                  /* nothing more is wanted: the answer is cut */
} net_taken;

typedef struct net_request {
    const char *method, *url;
    const char **headers;       /* "Name: value", or "Name;" without one; ends in NULL */
    const char *ca;             /* file of the certificates to trust; NULL: SSL_CERT_FILE of the environment, or the system's */
    const char *body;           /* NULL: none */
    size_t body_size;
    size_t response_bytes;      /* kept of the body */
    int64_t until_ms;           /* by clock_ms; INT64_MAX: no limit */
    int stop_fd;                /* above 0: readable when the request is canceled */
    bool (*stop)(void *ctx);    /* whether it is canceled: asked every poll_ms, when stop_fd is readable, and after io_poke() */
    void (*moved)(void *ctx);   /* bytes were sent or received */
    void *ctx;
    int poll_ms;                /* 0: a second */
    /* Whether a connection may be made to that address; NULL: to any. With it, no proxy and no kept connection is used. */
    bool (*may_connect)(void *ctx, const struct sockaddr *to);
    /* Gets the body of an answer of status 200 to 299 piece by piece, when status and head are known; it is not put into `body` then. NULL: it is. */
    net_taken (*sink)(void *ctx, const net_answer *a, const char *data, size_t size);
    int64_t first_ms;           /* until the first byte of the body; 0: no limit */
    int64_t idle_ms;            /* between two pieces of it; 0: no limit */
} net_request;

struct net_answer {
    long status;
    buf head;                   /* of the last answer: NAME NUL VALUE NUL ..., names in lower case */
    buf body;
    bool cut;
    bool untouched;             /* of a failure: nothing was sent */
    char *location;             /* of a redirect, absolute; or NULL */
    size_t location_bytes;
};

void net_answer_init(net_answer *a, const pawl_alloc *alloc);
void net_answer_free(net_answer *a);
/* The value of the first header of that name, which is in lower case; or NULL. */
const char *net_head(const buf *head, const char *name);
/* One exchange on the caller's thread, no redirects. PAWL_TRANSIENT, PAWL_TIMEOUT, PAWL_CANCELED, PAWL_INVALID (no libcurl, not a URL), PAWL_LIMIT
 * (of the head), PAWL_NOMEM. `err` names no URL. A request is never sent twice. */
pawl_code net_fetch(const net_request *q, net_answer *a, pawl_err *err);
/* The same without waiting. PAWL_PENDING: `done` will be called once, on the loop thread, with what net_fetch() would have returned; it may free `q` and
 * `a`, which must be valid until then, and `err` is lent for the call. The callbacks of `q` run on the loop thread, too. Any other code: it was not begun. */
typedef void net_done_fn(void *ctx, pawl_code rc, const pawl_err *err);
pawl_code net_start(const net_request *q, net_answer *a, net_done_fn *done, void *ctx, pawl_err *err);
/* Which library makes the requests, and which certificates it trusts where nobody says; NULL: it does not say. Valid as long as the
 * process. False: there is no libcurl. */
typedef struct net_library { const char *version, *tls, *ca_file, *ca_folder; } net_library;
bool net_library_of(net_library *out);
/* Close the connections that no request uses; while the loop thread is busy, those of the loop stay. Any thread, and at exit. */
void net_forget(void);

#endif
