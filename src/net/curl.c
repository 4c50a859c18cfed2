/* curl.c - requests whose caller waits, each driven on the caller's thread.
 *
 * Owns the idle multi handles, and with them their kept connections; they are protected by `idle_lock`. A multi handle that serves a request belongs to
 * that request's thread. The next request to the same origin takes the handle, and so the connection. */
#include "net/exchange.h"

#include <pthread.h>
#include <stdlib.h>

enum {
    IDLE_MAX = 16,              /* idle handles */
    CONNECTIONS = 1             /* in each: a handle is found by the origin of its last request */
};

/* A multi handle, and the hash of what its connection was made for: scheme, host, port, and trusted certificates. */
typedef struct idle_handle { CURLM *multi; hash origin; } idle_handle;

static idle_handle idle[IDLE_MAX];      /* sorted by last use */
static idle_handle lost[IDLE_MAX];      /* the parent's, in a child process: closing them would end the parent's connections */
static size_t nidle;
static pthread_mutex_t idle_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool prepared;           /* false: no memory for it */

/* ---- kept connections --------------------------------------------------------------------------------------- */

static void lock_before_fork(void) { pthread_mutex_lock(&idle_lock); }
static void unlock_after_fork(void) { pthread_mutex_unlock(&idle_lock); }

static void lose_after_fork(void)
{
    for (size_t i = 0; i < nidle; i++)
        lost[i] = idle[i];
    nidle = 0;
    pthread_mutex_unlock(&idle_lock);
}

/* Called once, after libcurl was opened: its libraries have registered their exit handlers, and ours runs before them. */
static void prepare(void)
{
    prepared = pthread_atfork(lock_before_fork, unlock_after_fork, lose_after_fork) == 0 && atexit(net_forget) == 0;
}

static void origin_of(const net_request *q, hash *out)
{
    const char *host = strstr(q->url, "://");
    const size_t n = host == NULL ? strlen(q->url) : (size_t)(host + 3 - q->url) + strcspn(host + 3, "/?#\\");
    const pawl_bytes parts[] = { { q->url, n }, { " ", 1 }, { q->ca != NULL ? q->ca : "", q->ca != NULL ? strlen(q->ca) : 0 } };

    hash_parts(parts, 3, out);
}

/* The most recently used handle for that origin, or for any (`origin` NULL); NULL: none. */
static CURLM *idle_take(const hash *origin)
{
    CURLM *multi = NULL;
    size_t i;

    pthread_mutex_lock(&idle_lock);
    for (i = nidle; i > 0 && multi == NULL; i--)
        if (origin == NULL || hash_equal(origin, &idle[i - 1].origin))
            multi = idle[i - 1].multi;
    if (multi != NULL)
        memmove(&idle[i], &idle[i + 1], (--nidle - i) * sizeof *idle);
    pthread_mutex_unlock(&idle_lock);
    return multi;
}

/* Closes the least recently used one if there are too many. */
static void idle_put(CURLM *multi, const hash *origin)
{
    CURLM *out = NULL;

    pthread_mutex_lock(&idle_lock);
    if (nidle == IDLE_MAX) {
        out = idle[0].multi;
        memmove(&idle[0], &idle[1], --nidle * sizeof *idle);
    }
    idle[nidle++] = (idle_handle){ multi, *origin };
    pthread_mutex_unlock(&idle_lock);
    if (out != NULL)
        curl.multi_cleanup(out);
}

void net_forget(void)
{
    pipe_hold hold;
    CURLM *multi;

    pipe_guard(&hold);
    while ((multi = idle_take(NULL)) != NULL)
        curl.multi_cleanup(multi);
    pipe_release(&hold);
    io_loop_rest();
}

/* ---- one exchange ------------------------------------------------------------------------------------------- */

/* Drives it until the answer, a timeout or a cancel. */
static pawl_code drive(exchange *x, CURLM *multi)
{
    const net_request *q = x->q;
    struct curl_waitfd stop = { .fd = q->stop_fd, .events = CURL_WAIT_POLLIN };
    int running = 1, left;
    CURLMsg *msg;
    pawl_code rc;

    for (;;) {
        int64_t now = clock_ms(), until;
        int ms = q->stop_fd > 0 || q->poll_ms <= 0 ? POLL_MS_MAX : q->poll_ms;

        if (exchange_expires(x, now, (stop.revents & CURL_WAIT_POLLIN) != 0 || (q->stop != NULL && q->stop(q->ctx)), &rc))
            return rc;
        if (curl.multi_perform(multi, &running) != CURLM_OK)
            return fail(&x->err, PAWL_TRANSIENT, "libcurl stumbled");
        if (running == 0)
            break;
        until = exchange_until(x);      /* data may have arrived */
        now = clock_ms();
        if (until - now < ms)
            ms = until > now ? (int)(until - now) : 0;
        if (curl.multi_poll(multi, &stop, q->stop_fd > 0 ? 1 : 0, ms, NULL) != CURLM_OK)
            return fail(&x->err, PAWL_TRANSIENT, "libcurl cannot wait");
    }
    msg = curl.multi_info_read(multi, &left);
    return exchange_result(x, msg != NULL && msg->msg == CURLMSG_DONE ? msg->data.result : CURLE_RECV_ERROR);
}

pawl_code net_fetch(const net_request *q, net_answer *a, pawl_err *err)
{
    exchange x;
    CURLM *multi = NULL;
    pawl_code rc = exchange_open(&x, q, a);
    hash origin;
    pipe_hold hold;

    origin_of(q, &origin);
    pipe_guard(&hold);          /* TLS libraries write without MSG_NOSIGNAL */
    if (rc == PAWL_OK)
        pthread_once(&once, prepare);
    if (rc == PAWL_OK && (!prepared || ((multi = idle_take(&origin)) == NULL && (multi = multi_make(CONNECTIONS)) == NULL) ||
                          curl.multi_add_handle(multi, x.easy) != CURLM_OK))
        rc = fail(&x.err, PAWL_NOMEM, "no memory for a request");
    if (rc == PAWL_OK)
        rc = drive(&x, multi);
    rc = exchange_close(&x, multi, rc);
    if (multi != NULL)
        idle_put(multi, &origin);
    pipe_release(&hold);
    if (rc != PAWL_OK)
        fail(err, rc, "%s", x.err.text);
    return rc;
}

/* ---- answers ------------------------------------------------------------------------------------------------- */

const char *net_head(const buf *head, const char *name)
{
    for (size_t at = 0; at < head->size;) {
        const char *one = head->data + at, *value = one + strlen(one) + 1;

        if (strcmp(one, name) == 0)
            return value;
        at += strlen(one) + strlen(value) + 2;
    }
    return NULL;
}

void net_answer_init(net_answer *a, const pawl_alloc *alloc)
{
    *a = (net_answer){0};
    buf_init(&a->head, alloc);
    buf_init(&a->body, alloc);
}

void net_answer_free(net_answer *a)
{
    mem_free(&a->body.alloc, a->location, a->location_bytes);
    buf_free(&a->head);
    buf_free(&a->body);
    a->location = NULL;
}
