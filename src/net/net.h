/* net.h - the world outside: clocks, SIGPIPE, dates, requests. */
#ifndef NET_NET_H
#define NET_NET_H

#include "base/base.h"

#include <signal.h>

/* ---- host.c --------------------------------------------------------------------------------------- */

int64_t clock_ms(void);         /* never goes back; its zero means nothing */
int64_t epoch_ms(void);

/* Writing to what is closed is EPIPE for this thread, and no signal, until pipe_release. */
typedef struct pipe_hold {
    sigset_t before;
    bool pending;               /* already, and not by us */
} pipe_hold;
void pipe_guard(pipe_hold *h);
void pipe_release(const pipe_hold *h);

/* ---- date.c ---------------------------------------------------------------------------------------- */

/* `Sun, 06 Nov 1994 08:49:37 GMT` in seconds since the epoch; -1: no such date. */
int64_t http_date(const char *text);
/* Milliseconds that a Retry-After asks for, seconds or a date (by the answer's own `date`, or NULL: by ours); 0: nothing
 * that can be read. A day at most. */
int64_t retry_after_ms(const char *text, const char *date);

/* ---- curl.c: the only file that knows libcurl -------------------------------------------------------- */

struct sockaddr;
typedef struct net_answer net_answer;

/* What who takes a body piece by piece says of it. */
typedef enum net_taken {
    NET_MORE,
    NET_LAST,                   /* all that matters has come: the end is waited for a moment, so that the connection can be kept */
    NET_ENOUGH                  /* no more of it: the answer is cut */
} net_taken;

typedef struct net_request {
    const char *method, *url;
    const char **headers;       /* "Name: value", or "Name;" without one; ends in NULL */
    const char *ca;             /* file of the certificates to trust; NULL: SSL_CERT_FILE of the environment, or the system's */
    const char *body;           /* NULL: none */
    size_t body_size;
    size_t response_bytes;      /* kept of the body */
    int64_t until_ms;           /* by clock_ms; INT64_MAX: no limit */
    int stop_fd;                /* above 0: readable when it is to stop */
    bool (*stop)(void *ctx);    /* asked every poll_ms, and when stop_fd is readable */
    void (*moved)(void *ctx);   /* bytes went, or came */
    void *ctx;
    int poll_ms;                /* 0: a second */
    /* Whether a connection may be made to that address; NULL: to any. Then no proxy is used, and no connection of others. */
    bool (*may_connect)(void *ctx, const struct sockaddr *to);
    /* The body of an answer of status 200 to 299 goes here as it comes, and not into `body`; status and head are known. NULL: it is kept. */
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
/* One exchange, no redirects. PAWL_TRANSIENT, PAWL_TIMEOUT, PAWL_CANCELED, PAWL_INVALID (no libcurl, no such URL), PAWL_LIMIT
 * (of the head), PAWL_NOMEM. `err` names no URL. */
pawl_code net_fetch(const net_request *q, net_answer *a, pawl_err *err);
/* Which library makes the requests, and which certificates it trusts where nobody says; NULL: it does not say. Lives as long as the
 * process. False: there is no libcurl. */
typedef struct net_library { const char *version, *tls, *ca_file, *ca_folder; } net_library;
bool net_library_of(net_library *out);
/* Connections that are kept for the next request are closed; from any thread, and at exit. */
void net_forget(void);

#endif
