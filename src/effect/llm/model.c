/* model.c - a model that is a function of the program that embeds Pawl: the handler's thread passes on what the function's threads say, and returns its
 * end.
 *
 * A call is held by the handler and by the model; the one that releases it last frees it. What the model says before the handler waits is kept. */
#include "effect/llm/llm.h"
#include "net/net.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

enum { DELTAS_KEPT_BYTES = 16 << 20 };      /* kept for a slow handler; readers do not get more */

struct pawl_model_call {
    pawl_alloc alloc;
    pthread_mutex_t lock;
    unsigned held;
    int pipe[2];                /* a byte in it wakes the handler */
    buf deltas;                 /* each ends in NUL */
    bool ended, left;           /* ended: by the model; left: by the handler */
    pawl_code rc;
    buf reply;
    char text[sizeof ((pawl_err *)0)->text];
    int64_t retry_after_ms;
};

/* ---- both ------------------------------------------------------------------------------------------------ */

static pawl_model_call *call_new(void)
{
    const pawl_alloc alloc = mem_or_default(NULL);
    pawl_model_call *c = mem_new(&alloc, sizeof *c);

    if (c == NULL)
        return NULL;
    c->alloc = alloc;
    c->held = 2;
    buf_init(&c->deltas, &alloc);
    buf_init(&c->reply, &alloc);
    if (pipe(c->pipe) != 0) {
        mem_free(&alloc, c, sizeof *c);
        return NULL;
    }
    for (int i = 0; i < 2; i++) {
        fcntl(c->pipe[i], F_SETFD, FD_CLOEXEC);
        fcntl(c->pipe[i], F_SETFL, O_NONBLOCK);
    }
    pthread_mutex_init(&c->lock, NULL);
    return c;
}

static void call_free(pawl_model_call *c)
{
    const pawl_alloc alloc = c->alloc;

    close(c->pipe[0]);
    close(c->pipe[1]);
    buf_free(&c->deltas);
    buf_free(&c->reply);
    pthread_mutex_destroy(&c->lock);
    mem_free(&alloc, c, sizeof *c);
}

/* Unlocks, and releases. */
static void call_leave(pawl_model_call *c)
{
    const bool last = --c->held == 0;

    pthread_mutex_unlock(&c->lock);
    if (last)
        call_free(c);
}

/* ---- the model ------------------------------------------------------------------------------------------- */

/* A full pipe wakes the handler anyway. */
static void ring(const pawl_model_call *c)
{
    const ssize_t n = write(c->pipe[1], "", 1);

    (void)n;
}

void pawl_model_delta(pawl_model_call *c, const char *json)
{
    const size_t n = strlen(json) + 1;

    pthread_mutex_lock(&c->lock);
    if (!c->ended && !c->left && n <= DELTAS_KEPT_BYTES - c->deltas.size) {
        buf_put(&c->deltas, json, n);
        ring(c);
    }
    pthread_mutex_unlock(&c->lock);
}

static void call_end(pawl_model_call *c, pawl_code rc, const char *text, int64_t retry_after_ms)
{
    pthread_mutex_lock(&c->lock);
    c->ended = true;
    c->rc = rc;
    c->retry_after_ms = retry_after_ms;
    if (rc == PAWL_OK) {
        buf_text(&c->reply, text != NULL ? text : "");
    } else {
        const size_t n = text != NULL ? strlen(text) : 0, most = sizeof c->text - 1;

        memcpy(c->text, text != NULL ? text : "", n < most ? n : most);
    }
    ring(c);
    call_leave(c);
}

void pawl_model_done(pawl_model_call *c, const char *reply)
{
    call_end(c, PAWL_OK, reply, 0);
}

void pawl_model_failed(pawl_model_call *c, pawl_code code, const char *text, int64_t retry_after_ms)
{
    call_end(c, code < 0 ? code : PAWL_EFFECT, text, retry_after_ms);
}

/* ---- the handler ------------------------------------------------------------------------------------------- */

/* Passes on what was said so far. True: the model has ended. */
static bool listen_once(pawl_model_call *c, const pawl_job *job, buf *deltas)
{
    buf heard;
    bool ended;

    pthread_mutex_lock(&c->lock);
    heard = c->deltas;
    c->deltas = *deltas;        /* two buffers, used in turn */
    ended = c->ended;
    pthread_mutex_unlock(&c->lock);
    for (size_t at = 0; at < heard.size && job->say != NULL; at += strlen(heard.data + at) + 1)
        (void)job->say(job, "message", heard.data + at);
    buf_reset(&heard);
    *deltas = heard;
    return ended;
}

static void bells(const pawl_model_call *c)
{
    char bytes[256];

    while (read(c->pipe[0], bytes, sizeof bytes) > 0)
        continue;
}

/* PAWL_OK: the model has ended. */
static pawl_code wait_for(pawl_model_call *c, const pawl_job *job, buf *deltas)
{
    const char *limit;
    const int64_t until = job_until(job, 0, &limit);
    struct pollfd fds[2] = { { .fd = c->pipe[0], .events = POLLIN }, { .fd = job->cancel_fd > 0 ? job->cancel_fd : -1, .events = POLLIN } };
    int64_t beat_ms = 0;

    for (;;) {
        int64_t left;

        bells(c);
        if (listen_once(c, job, deltas))
            return PAWL_OK;
        if (fds[1].revents != 0 || job_canceled(job))
            return PAWL_CANCELED;
        left = until - clock_ms();
        if (left <= 0)
            return PAWL_TIMEOUT;
        if (job->canceled != NULL && fds[1].fd < 0 && left > CANCEL_POLL_MS)
            left = CANCEL_POLL_MS;
        poll(fds, 2, left < 1000 ? (int)left : 1000);
        if (fds[0].revents != 0)
            job_moved(job, &beat_ms);
    }
}

/* The usage that it reports, when all of it can be read (A9). */
static void bill(const buf *reply, pawl_reply *r)
{
    pawl_llm_usage u = {0};
    const struct { const char *path; int64_t *to; } all[] = {
        { "/input_tokens", &u.input }, { "/output_tokens", &u.output }, { "/cache_read_tokens", &u.cache_read }, { "/cache_write_tokens", &u.cache_write },
    };
    unsigned found[3] = {0};
    arena mem;
    const pawl_value *usage;

    arena_init(&mem, &r->alloc, 4096);
    usage = pawl_value_get(value_parse(&mem, reply->data, reply->size, "the reply", NULL), "usage");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        found[llm_count(usage, all[i].path, all[i].to)]++;
    if (found[LLM_NUMBER] > 0 && found[LLM_UNREADABLE] == 0)
        llm_cost(r, &u, 0);
    arena_free(&mem);
}

static pawl_code result(pawl_model_call *c, pawl_reply *r)
{
    if (c->rc != PAWL_OK) {
        pawl_reply_retry_after(r, c->retry_after_ms);
        return pawl_reply_fail(r, c->rc, "%s", c->text);
    }
    if (c->reply.failed)
        return pawl_reply_fail(r, PAWL_NOMEM, "no memory for its answer");
    if (c->reply.size > 0)
        bill(&c->reply, r);
    buf_put(&r->text, c->reply.data, c->reply.size);
    return r->text.failed ? pawl_reply_fail(r, PAWL_NOMEM, "no memory for its answer") : PAWL_OK;
}

pawl_code pawl_effect_model(const pawl_job *job, pawl_reply *r, void *arg)
{
    const pawl_model *m = arg;
    pawl_model_call *c = call_new();
    pawl_code rc;
    buf deltas;

    if (c == NULL) {
        pawl_reply_untouched(r);
        return pawl_reply_fail(r, PAWL_NOMEM, "%s: no memory, or no descriptor, for a call", job->effect);
    }
    llm_emit_begin(job);
    if ((rc = m->start(m->ctx, job->args, c)) < 0) {
        call_free(c);
        return pawl_reply_fail(r, rc, "%s: the model did not begin", job->effect);
    }
    buf_init(&deltas, &c->alloc);
    rc = wait_for(c, job, &deltas);
    pthread_mutex_lock(&c->lock);
    if (rc != PAWL_OK && !c->ended) {
        c->left = true;
        pthread_mutex_unlock(&c->lock);
        if (m->cancel != NULL)
            m->cancel(m->ctx, c);
        rc = rc == PAWL_CANCELED ? pawl_reply_fail(r, rc, "%s: canceled", job->effect)
                                 : pawl_reply_fail(r, rc, "Request timed out: no whole answer");
        pthread_mutex_lock(&c->lock);
    } else {
        rc = result(c, r);
    }
    call_leave(c);
    buf_free(&deltas);
    return rc;
}
