/* metrics.c - GET /metrics: a thread that reads the numbers of the store, and the numbers of this server beside them.
 *
 * The loop thread hands a request to the thread and ends it; `lock` covers the queue and `stop`. The thread has a store handle of its own. It works when it
 * is asked, and after that until it has read all journals that changed; a server that nobody asks reads nothing. */
#include "net/net.h"
#include "observe/scrape.h"
#include "serve/serve_inner.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SCRAPES_MOST = 16, PAUSE_MS = 20 };

typedef struct scrape {
    struct scrape *next;
    serve_metrics *of;
    http_req *r;
    buf text;
    pawl_err err;
} scrape;

struct serve_metrics {
    server *s;
    pawl_store *store;          /* of the thread; its counts may be read on any */
    scraper *from;              /* of the thread; NULL: not asked yet */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t more;
    scrape *first, **last;
    scrape *all[SCRAPES_MOST];  /* that have not ended; loop thread */
    bool stop;
};

static const metric_family build = { "pawl_build_info", "This program; the value is 1.", METRIC_GAUGE, false, NULL };
static const metric_family started = { "process_start_time_seconds", "When the server started, in seconds since 1970.", METRIC_GAUGE, true, NULL };
static const metric_family connections = { "pawl_http_connections", "Open connections, by what they do.", METRIC_GAUGE, false, NULL };
static const metric_family accepted = { "pawl_http_connections_total", "Connections that were accepted.", METRIC_COUNTER, false, NULL };
static const metric_family requests = { "pawl_http_requests_total", "Requests that were complete.", METRIC_COUNTER, false, NULL };
static const metric_family replies = { "pawl_http_replies_total", "Replies that ended, by status; 0: the client was gone before.", METRIC_COUNTER, false,
                                       NULL };
static const metric_family refused = { "pawl_http_refused_total", "Requests that were refused by a limit or a fault of their form.", METRIC_COUNTER, false,
                                       NULL };
static const metric_family sent = { "pawl_http_sent_bytes_total", "Bytes that were sent.", METRIC_COUNTER, false, NULL };
static const metric_family streams = { "pawl_streams", "Open streams of events.", METRIC_GAUGE, false, NULL };
static const metric_family followed = { "pawl_streams_runs", "Runs that streams follow.", METRIC_GAUGE, false, NULL };
static const metric_family calls = { "pawl_store_calls_total", "Calls of this server's own readers to the store, by verb; runs are not read by these.",
                                     METRIC_COUNTER, false, NULL };

/* ---- the thread ------------------------------------------------------------------------------------------------------ */

static void scrape_do(serve_metrics *m, scrape *q, bool *more)
{
    metric_text t = { .out = &q->text };
    pawl_code rc = m->from != NULL || (m->from = scraper_new(m->store, &q->err)) != NULL ? PAWL_OK : q->err.code;

    if (rc == PAWL_OK)
        rc = scrape_more(m->from, more, &q->err);
    if (rc == PAWL_HELD) {      /* another server counts just now: its numbers are there */
        q->err = (pawl_err){ 0 };
        *more = true;
    }
    if (q->err.code == PAWL_OK)
        scrape_write(m->from, &t);
}

/* The numbers of this process, behind those of the store. Loop thread. */
static void own_write(serve_metrics *m, buf *out)
{
    const http_counts c = http_counted(m->s->http);
    metric_text t = { .out = out };
    char labels[METRIC_LABELS_BYTES] = "", version[32];
    counted_call call;
    size_t nstreams, nruns;

    snprintf(version, sizeof version, "%d.%d.%d", PAWL_VERSION_MAJOR, PAWL_VERSION_MINOR, PAWL_VERSION_PATCH);
    metric_label(labels, "version", version);
    metric_put(&t, &build, labels, 0, 1);
    metric_put(&t, &started, "", 0, m->s->started_ms);
    metric_put(&t, &connections, "state=\"busy\"", 0, (int64_t)(c.connections - c.waiting));
    metric_put(&t, &connections, "state=\"idle\"", 0, (int64_t)c.waiting);
    metric_put(&t, &accepted, "", 0, (int64_t)c.accepted);
    metric_put(&t, &requests, "", 0, (int64_t)c.requests);
    metric_put(&t, &refused, "", 0, (int64_t)c.refused);
    for (size_t i = 0; i < STATUSES; i++)
        if (m->s->replies[i] > 0) {
            snprintf(labels, sizeof labels, "status=\"%zu\"", i);
            metric_put(&t, &replies, labels, 0, (int64_t)m->s->replies[i]);
        }
    metric_put(&t, &sent, "", 0, (int64_t)c.sent_bytes);
    events_counted(m->s->events, &nstreams, &nruns);
    metric_put(&t, &streams, "", 0, (int64_t)nstreams);
    metric_put(&t, &followed, "", 0, (int64_t)nruns);
    for (size_t i = 0; (call = counted_at(m->store, i)).name != NULL; i++) {
        labels[0] = '\0';
        metric_label(labels, "call", call.name);
        metric_put(&t, &calls, labels, 0, (int64_t)call.n);
    }
    metric_end(&t);
}

static scrape **place_of(serve_metrics *m, const scrape *q)      /* NULL: a free one; NULL is returned if there is none */
{
    for (size_t i = 0; i < SCRAPES_MOST; i++)
        if (m->all[i] == q)
            return &m->all[i];
    return NULL;
}

static void scrape_free(scrape *q)
{
    *place_of(q->of, q) = NULL;
    buf_free(&q->text);
    free(q);
}

static void scrape_done(void *ctx)
{
    scrape *q = ctx;

    if (q->err.code != PAWL_OK) {
        problem_of(q->r, &q->err);
    } else {
        own_write(q->of, &q->text);
        if (q->text.failed)
            problem(q->r, 503, "nomem", "no memory for this reply");
        else
            http_reply(q->r, 200, (http_field[]){ { "Content-Type", "text/plain; version=0.0.4; charset=utf-8" }, { "Cache-Control", "no-store" } }, 2,
                       q->text.data, q->text.size);
    }
    scrape_free(q);
}

static void wait_for_more(serve_metrics *m, bool more)
{
    struct timespec until;

    if (!more) {
        pthread_cond_wait(&m->more, &m->lock);
        return;
    }
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += PAUSE_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    pthread_cond_timedwait(&m->more, &m->lock, &until);
}

static void *count_on(void *ctx)
{
    serve_metrics *m = ctx;
    bool more = false;

    for (;;) {
        pthread_mutex_lock(&m->lock);
        if (m->first == NULL && !m->stop)
            wait_for_more(m, more);
        scrape *q = m->stop ? NULL : m->first;
        const bool stop = m->stop;

        if (q != NULL && (m->first = q->next) == NULL)
            m->last = &m->first;
        pthread_mutex_unlock(&m->lock);
        if (stop)
            return NULL;
        if (q != NULL) {
            scrape_do(m, q, &more);
            while (!http_post(m->s->http, scrape_done, q))
                nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);         /* no memory now */
        } else if (more && m->from != NULL) {
            pawl_err err = { 0 };

            if (scrape_more(m->from, &more, &err) != PAWL_OK)
                more = err.code == PAWL_HELD;   /* anything else is said to the next who asks */
        }
    }
}

serve_metrics *metrics_new(server *s, pawl_err *err)
{
    serve_metrics *m = calloc(1, sizeof *m);
    pawl_store *store = m != NULL ? s->config->store(s->config->ctx, err) : NULL;

    if (m == NULL)
        fail(err, PAWL_NOMEM, "server: no memory");
    if (store == NULL || (m->store = counted_store(store, err)) == NULL) {
        free(m);
        return NULL;
    }
    m->s = s;
    m->last = &m->first;
    pthread_mutex_init(&m->lock, NULL);
    pthread_cond_init(&m->more, NULL);
    if (pthread_create(&m->thread, NULL, count_on, m) == 0)
        return m;
    fail(err, PAWL_NOMEM, "server: no thread");
    pthread_mutex_destroy(&m->lock);
    pthread_cond_destroy(&m->more);
    pawl_store_free(m->store);
    free(m);
    return NULL;
}

void metrics_free(serve_metrics *m)
{
    if (m == NULL)
        return;
    pthread_mutex_lock(&m->lock);
    m->stop = true;
    pthread_cond_signal(&m->more);
    pthread_mutex_unlock(&m->lock);
    pthread_join(m->thread, NULL);
    for (size_t i = 0; i < SCRAPES_MOST; i++)   /* their clients are gone: the loop has ended */
        if (m->all[i] != NULL) {
            problem(m->all[i]->r, 503, "canceled", "the server stops");
            scrape_free(m->all[i]);
        }
    scraper_free(m->from);
    pthread_mutex_destroy(&m->lock);
    pthread_cond_destroy(&m->more);
    pawl_store_free(m->store);
    free(m);
}

/* ---- the route --------------------------------------------------------------------------------------------------------- */

/* The numbers are of all runs, so who may see only some of them does not get them. */
void serve_metrics_text(server *s, http_req *r, const admitted *by, const char *run, const params *p)
{
    serve_metrics *m = s->metrics;
    scrape **place = place_of(m, NULL), *q;

    (void)run, (void)p;
    if (asker_limited(by->who)) {
        problem(r, 403, "denied", "a token with --machine or --label does not see the numbers of all runs");
        return;
    }
    if (place == NULL || (q = calloc(1, sizeof *q)) == NULL) {
        problem(r, 503, "limit", place == NULL ? "too many requests for the numbers wait" : "no memory for this request");
        return;
    }
    q->of = m;
    q->r = r;
    buf_init(&q->text, NULL);
    *place = q;
    pthread_mutex_lock(&m->lock);
    *m->last = q;
    m->last = &q->next;
    pthread_cond_signal(&m->more);
    pthread_mutex_unlock(&m->lock);
}
