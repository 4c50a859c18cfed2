/* exchange.h - one request and its answer, for the two drivers: curl.c waits for it, curl_loop.c lets the loop watch it. Included only by src/net. */
#ifndef NET_EXCHANGE_H
#define NET_EXCHANGE_H

#include "net/curl_api.h"
#include "net/io_loop.h"

enum { POLL_MS_MAX = 1000 };

typedef struct exchange {
    const net_request *q;
    net_answer *a;
    CURL *easy;
    struct curl_slist *headers;
    size_t head_lines;
    curl_off_t moved;           /* bytes in both directions */
    unsigned sends;             /* times that libcurl was about to send the request: at most one is allowed (X1) */
    bool over;                  /* the headers exceed their limit */
    bool died;                  /* the connection broke, and the request may have arrived */
    char why[CURL_ERROR_SIZE];
    bool body;                  /* the body has begun: later header lines are trailers */
    int64_t piece_ms;           /* by clock_ms: when the last data arrived; before the first: when the exchange began */
    int64_t last_ms;            /* the time until which it is waited for; 0: no limit */
    pawl_err err;
    io_job job;                 /* for curl_loop.c */
    net_done_fn *done;
    void *done_ctx;
    pawl_alloc alloc;
} exchange;

/* ---- exchange.c ----------------------------------------------------------------------------------------- */

/* Make the handle of a request. PAWL_INVALID: there is no libcurl; PAWL_NOMEM. exchange_close() must be called in any case. */
pawl_code exchange_open(exchange *x, const net_request *q, net_answer *a);
/* Whether it must end now: canceled, or out of time. *rc: the result, PAWL_OK if the important part has arrived. */
bool exchange_expires(exchange *x, int64_t now, bool canceled, pawl_code *rc);
/* The latest time by clock_ms at which it must be checked again. */
int64_t exchange_until(const exchange *x);
/* The code for libcurl's result. */
pawl_code exchange_result(exchange *x, CURLcode code);
/* Called last: completes the answer and frees the handle, which must be in no multi handle except `multi` (may be NULL). Returns the final code. */
pawl_code exchange_close(exchange *x, CURLM *multi, pawl_code rc);
/* A multi handle whose requests share connections. NULL: no memory. */
CURLM *multi_make(long connections);

#endif
