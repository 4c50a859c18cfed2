/* net.h - clocks, SIGPIPE, dates of HTTP, and requests. Any function may be called on any thread. */
#ifndef NET_NET_H
#define NET_NET_H

#include "json/json.h"

#include <signal.h>

/* ---- host.c --------------------------------------------------------------------------------------- */

int64_t clock_ms(void);         /* monotonic, from an arbitrary zero */
int64_t epoch_ms(void);

/* Until pipe_release(), a write to a closed pipe gives this thread EPIPE instead of a signal. */
typedef struct pipe_hold {
    sigset_t before;
    bool pending;               /* SIGPIPE was pending before */
} pipe_hold;
void pipe_guard(pipe_hold *h);
void pipe_release(const pipe_hold *h);

/* ---- date.c ---------------------------------------------------------------------------------------- */

/* `Sun, 06 Nov 1994 08:49:37 GMT` in seconds since the epoch; -1: not such a date. */
int64_t http_date(const char *text);
/* Milliseconds of a Retry-After header, given as seconds or as a date (compared with the answer's own `date`; NULL: with this machine's clock); 0:
 * invalid. At most a day. */
int64_t retry_after_ms(const char *text, const char *date);

/* ---- curl.c, curl_loop.c, exchange.c: requests ------------------------------------------------------------ */

struct sockaddr;
typedef struct net_answer net_answer;

/* What a reader of a body returns for each piece. */
typedef enum net_taken {
    NET_MORE,
    NET_LAST,                   /* the important part has arrived: wait briefly for the end, so that the connection can be kept */
    NET_ENOUGH                  /* nothing more is wanted: the answer is cut */
} net_taken;

typedef struct net_request {
    const char *method, *url;
    const char **headers;       /* "Name: value", or "Name;" without one; ends in NULL */
    const char *ca;             /* file of trusted certificates; NULL: SSL_CERT_FILE of the environment, or the system's */
    const char *body;           /* NULL: none */
    size_t body_size;
    size_t response_bytes;      /* maximum kept of the body */
    int64_t until_ms;           /* by clock_ms; INT64_MAX: no limit */
    int stop_fd;                /* above 0: readable when the request is canceled */
    bool (*stop)(void *ctx);    /* whether it is canceled: called every poll_ms, when stop_fd is readable, and after io_poke() */
    void (*moved)(void *ctx);   /* bytes were sent or received */
    void *ctx;
    int poll_ms;                /* 0: a second */
    /* Whether that address may be connected to; NULL: any. With it, no proxy and no kept connection is used. */
    bool (*may_connect)(void *ctx, const struct sockaddr *to);
    /* Gets the body of an answer with status 200 to 299 piece by piece, once status and headers are known; then `body` stays empty. NULL: the body is
     * collected. */
    net_taken (*sink)(void *ctx, const net_answer *a, const char *data, size_t size);
    int64_t first_ms;           /* until the first byte of the body; 0: no limit */
    int64_t idle_ms;            /* between two pieces of it; 0: no limit */
} net_request;

struct net_answer {
    long status;
    buf head;                   /* of the last answer: NAME NUL VALUE NUL ..., names in lower case */
    buf body;
    bool cut;
    bool untouched;             /* after a failure: nothing was sent */
    char *location;             /* of a redirect, absolute; or NULL */
    size_t location_bytes;
};

void net_answer_init(net_answer *a, const pawl_alloc *alloc);
void net_answer_free(net_answer *a);
/* The value of the first header of that name, which is in lower case; or NULL. */
const char *net_head(const buf *head, const char *name);
/* One exchange on the caller's thread, without redirects. PAWL_TRANSIENT, PAWL_TIMEOUT, PAWL_CANCELED, PAWL_INVALID (no libcurl, not a URL), PAWL_LIMIT
 * (of the headers), PAWL_NOMEM. `err` contains no URL. A request is never sent twice. */
pawl_code net_fetch(const net_request *q, net_answer *a, pawl_err *err);
/* The same without waiting. PAWL_PENDING: `done` will be called once, on the loop thread, with what net_fetch() would have returned; it may free `q` and
 * `a`, which must be valid until then; `err` is lent for the call. The callbacks of `q` run on the loop thread, too. Any other code: it did not start. */
typedef void net_done_fn(void *ctx, pawl_code rc, const pawl_err *err);
pawl_code net_start(const net_request *q, net_answer *a, net_done_fn *done, void *ctx, pawl_err *err);
/* The library that makes the requests, and the certificates that it trusts by default; NULL: unknown. Valid as long as the process. False: there is no
 * libcurl. */
typedef struct net_library { const char *version, *tls, *ca_file, *ca_folder; } net_library;
bool net_library_of(net_library *out);
/* Close idle connections; those of a busy loop thread stay. Any thread, and at exit. */
void net_forget(void);

#endif
