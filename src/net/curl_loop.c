/* curl_loop.c - requests whose caller does not wait: one multi handle on the loop thread, driven by sockets and one timer.
 *
 * Owns that multi handle and its kept connections. net_start() may be called on any thread; everything else here runs on the loop thread, which alone
 * touches `own`. An exchange belongs to the caller's thread until io_job_start() has taken it, then to the loop thread.
 *
 * Invariant: C1  every exchange in the multi handle is a job of the loop, and its `done` is called once, after it has left both. */
#include "base/check.h"
#include "net/exchange.h"

#include <poll.h>
#include <stddef.h>
#include <stdlib.h>

enum { CONNECTIONS = 256 };     /* open and kept; connections in use are never closed for this limit */

static struct {
    CURLM *multi;               /* NULL: no request since the loop thread started */
    CURLM *lost;                /* the parent's, in a child process */
} own;

static void finish_all(void);

/* ---- what libcurl has us watch --------------------------------------------------------------------------- */

static void on_ready(io_watch *w, uint32_t events)
{
    const int what = ((events & EPOLLIN) != 0 ? CURL_CSELECT_IN : 0) | ((events & EPOLLOUT) != 0 ? CURL_CSELECT_OUT : 0) |
                     ((events & (EPOLLERR | EPOLLHUP)) != 0 ? CURL_CSELECT_ERR : 0);
    int running;

    curl.multi_socket_action(own.multi, w->fd, what, &running);
    finish_all();
}

/* libcurl passes `ours` for a socket that it has announced before. */
static int on_socket(CURL *easy, curl_socket_t fd, int what, void *ctx, void *ours)
{
    io_watch *w = ours;

    (void)easy;
    (void)ctx;
    if (what == CURL_POLL_REMOVE) {
        if (w != NULL)
            io_watch_end(w);
        free(w);
        curl.multi_assign(own.multi, fd, NULL);
        return 0;
    }
    if (w == NULL) {
        if ((w = calloc(1, sizeof *w)) == NULL)
            return -1;
        w->ready = on_ready;
        curl.multi_assign(own.multi, fd, w);
    }
    return io_watch_set(w, fd, (what & CURL_POLL_IN ? EPOLLIN : 0U) | (what & CURL_POLL_OUT ? EPOLLOUT : 0U)) ? 0 : -1;
}

static int on_timer(CURLM *multi, long ms, void *ctx)
{
    (void)multi;
    (void)ctx;
    io_hook_by(ms < 0 ? INT64_MAX : clock_ms() + ms);
    return 0;
}

static void on_due(void)
{
    int running;

    curl.multi_socket_action(own.multi, CURL_SOCKET_TIMEOUT, 0, &running);
    finish_all();
}

static void multi_end(void)
{
    curl.multi_cleanup(own.multi);
    own.multi = NULL;
}

/* Closing it in a child process would end the parent's connections. */
static void multi_lose(void)
{
    own.lost = own.multi;
    own.multi = NULL;
}

static bool multi_begin(void)
{
    static const io_hook hook = { on_due, multi_end, multi_lose };

    if (own.multi != NULL)
        return true;
    if ((own.multi = multi_make(CONNECTIONS)) == NULL)
        return false;
    curl.multi_setopt(own.multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl.multi_setopt(own.multi, CURLMOPT_TIMERFUNCTION, on_timer);
    io_hook_set(&hook);
    return true;
}

/* ---- exchanges ------------------------------------------------------------------------------------------------ */

static exchange *exchange_of(io_job *job)
{
    return (exchange *)(void *)((char *)job - offsetof(exchange, job));
}

static void finish(exchange *x, pawl_code rc)
{
    const pawl_alloc alloc = x->alloc;
    net_done_fn *done = x->done;
    void *ctx = x->done_ctx;
    pawl_err err;

    rc = exchange_close(x, own.multi, rc);
    io_job_end(&x->job);        /* C1 */
    err = x->err;
    mem_free(&alloc, x, sizeof *x);
    done(ctx, rc, &err);
}

static void finish_all(void)
{
    CURLMsg *msg;
    int left;

    while ((msg = curl.multi_info_read(own.multi, &left)) != NULL) {
        const CURLcode code = msg->data.result;
        exchange *x = NULL;

        if (msg->msg != CURLMSG_DONE)
            continue;
        curl.easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, &x);
        PAWL_ASSERT(x != NULL && x->easy == msg->easy_handle, "C1: a handle has its exchange");
        finish(x, exchange_result(x, code));
    }
}

static bool is_canceled(const net_request *q)
{
    struct pollfd fd = { .fd = q->stop_fd, .events = POLLIN };

    return (q->stop_fd > 0 && poll(&fd, 1, 0) == 1) || (q->stop != NULL && q->stop(q->ctx));
}

static int64_t tick(io_job *job, int64_t now)
{
    exchange *x = exchange_of(job);
    const net_request *q = x->q;
    const int64_t look = q->stop_fd > 0 || q->stop != NULL ? now + (q->poll_ms > 0 ? q->poll_ms : POLL_MS_MAX) : INT64_MAX;
    int64_t until;
    pawl_code rc = PAWL_OK;

    if (exchange_expires(x, now, is_canceled(q), &rc)) {
        finish(x, rc);
        return INT64_MAX;
    }
    until = exchange_until(x);
    return look < until ? look : until;
}

static int64_t begin(io_job *job)
{
    exchange *x = exchange_of(job);

    if (multi_begin() && curl.multi_add_handle(own.multi, x->easy) == CURLM_OK)
        return tick(job, clock_ms());
    finish(x, fail(&x->err, PAWL_NOMEM, "no memory for a request"));
    return INT64_MAX;
}

pawl_code net_start(const net_request *q, net_answer *a, net_done_fn *done, void *ctx, pawl_err *err)
{
    const pawl_alloc alloc = a->body.alloc;
    exchange *x = mem_new(&alloc, sizeof *x);
    pawl_code rc;

    if (x == NULL)
        return fail(err, PAWL_NOMEM, "no memory for a request");
    if ((rc = exchange_open(x, q, a)) == PAWL_OK) {
        x->job = (io_job){ .start = begin, .tick = tick };
        x->done = done;
        x->done_ctx = ctx;
        x->alloc = alloc;
        if (io_job_start(&x->job))
            return PAWL_PENDING;
        rc = fail(&x->err, PAWL_NOMEM, "no memory, descriptor or thread for a request");
    }
    rc = exchange_close(x, NULL, rc);
    fail(err, rc, "%s", x->err.text);
    mem_free(&alloc, x, sizeof *x);
    return rc;
}
