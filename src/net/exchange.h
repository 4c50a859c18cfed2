/* exchange.h - one request and its answer, as the two drivers see it: curl.c waits for it, curl_loop.c has it watched. Only src/net includes this. */
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
    curl_off_t moved;           /* bytes, both ways */
    unsigned sends;             /* how often libcurl was about to send the request: never more than once is allowed (X1) */
    bool over;                  /* the head is over its limit */
    bool died;                  /* the connection did, under a request that may have arrived */
    char why[CURL_ERROR_SIZE];
    bool body;                  /* the body has begun: what looks like a head is a trailer */
    int64_t piece_ms;           /* by clock_ms: when its last piece came; before the first: when the exchange began */
    int64_t last_ms;            /* when it need not be waited for any longer; 0: it must be */
    pawl_err err;
    io_job job;                 /* curl_loop.c */
    net_done_fn *done;
    void *done_ctx;
    pawl_alloc alloc;
} exchange;

/* ---- exchange.c ----------------------------------------------------------------------------------------- */

/* Make the handle of a request. PAWL_INVALID: there is no libcurl; PAWL_NOMEM. Ends with exchange_close() in any case. */
pawl_code exchange_open(exchange *x, const net_request *q, net_answer *a);
/* Whether it ends now, without libcurl: canceled, or out of time. Then *rc is how: PAWL_OK when all that matters has come. */
bool exchange_expires(exchange *x, int64_t now, bool canceled, pawl_code *rc);
/* Until when it is waited for if nothing comes, by clock_ms. */
int64_t exchange_until(const exchange *x);
/* What libcurl's result means. */
pawl_code exchange_result(exchange *x, CURLcode code);
/* The last call: what is known of the answer is put into it, and the handle freed. It must be in no multi handle any more, unless that of `multi`, which
 * may be NULL. Returns the code of all of it. */
pawl_code exchange_close(exchange *x, CURLM *multi, pawl_code rc);
/* A multi handle whose connections serve one another's requests. NULL: no memory. */
CURLM *multi_make(long connections);

#endif
