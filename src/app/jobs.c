/* jobs.c - jobs that workers elsewhere perform: queued, given out under a lease, ended by a reply, by the end of the lease or by the engine (E17).
 *
 * Called by engines (jobs_put on any thread, stop_told under a lock of the engine) and by a server, on its loop. One lock covers the list and all states. It
 * is never held while `finish` of the engine is called, because the engine calls stop_told under the lock that `finish` takes.
 *
 * Invariants:
 *   J1  the state of a job moves by job_move() alone, under the lock
 *   J2  a job is in the list from JOB_MAKING until it is JOB_ENDED; who moves it to JOB_ENDED owns it alone from then on, finishes and frees it
 *   J3  only a job with a lease (JOB_LEASED, JOB_CALLED_OFF) has a token; a token is of one lease of one attempt */
#define _DEFAULT_SOURCE         /* getentropy */
#include "app/jobs.h"
#include "base/sm.h"
#include "engine/engine.h"
#include "host/open_questions.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BY_BYTES = 160, ENDED_MOST = 1024 };

typedef enum job_state { JOB_MAKING, JOB_QUEUED, JOB_LEASED, JOB_DROPPED, JOB_CALLED_OFF, JOB_ENDED, JOB_STATES } job_state;

static const sm_row job_rows[JOB_STATES] = {
    [JOB_MAKING]     = { "making",     SM_TO(JOB_QUEUED) | SM_TO(JOB_DROPPED) | SM_TO(JOB_ENDED), SM_FIRST },
    [JOB_QUEUED]     = { "queued",     SM_TO(JOB_LEASED) | SM_TO(JOB_DROPPED) | SM_TO(JOB_ENDED), 0 },
    [JOB_LEASED]     = { "leased",     SM_TO(JOB_CALLED_OFF) | SM_TO(JOB_ENDED), 0 },
    [JOB_DROPPED]    = { "dropped",    SM_TO(JOB_ENDED), 0 },      /* called off, and nobody has it */
    [JOB_CALLED_OFF] = { "called off", SM_TO(JOB_ENDED), 0 },      /* a worker has it, and learns it at its next heartbeat */
    [JOB_ENDED]      = { "ended",      0, SM_LAST },
};

typedef struct remote_job {
    struct remote_job *next, **at;      /* at: what points to it; NULL: it is not in the list */
    jobs *of;
    uint8_t state;              /* a job_state (J1) */
    uint64_t serial;
    const pawl_job *job;        /* held until it is finished */
    pawl_reply *reply;
    const char *name;           /* lent by the session */
    pawl_class cls;
    char id[JOB_ID_BYTES], run[JOB_RUN_BYTES];
    char token[JOB_TOKEN_BYTES];        /* of the lease; "": none (J3) */
    char by[BY_BYTES];
    int64_t lease_ms, until_ms; /* by the steady clock */
    buf args;
} remote_job;

static const char *job_wrong(const void *owner, unsigned state)
{
    const remote_job *m = owner;
    const bool leased = state == JOB_LEASED || state == JOB_CALLED_OFF;

    if (state != JOB_ENDED && leased != (m->token[0] != '\0'))
        return "J3: a job with a lease has a token, and no other job";
    return (m->at == NULL) != (state == JOB_ENDED) ? "J2: a job is in the list until it ends" : NULL;
}

static const sm_table job_table = { "remote job", job_rows, JOB_STATES, job_wrong };

static void job_move(remote_job *m, job_state to) { sm_move(&job_table, &m->state, to, m); }

/* A reply that was taken, for the same request again. */
typedef struct ended_job { char id[JOB_ID_BYTES]; hash key, body; } ended_job;

struct jobs {
    pthread_mutex_t lock;
    remote_job *first, **last;  /* the oldest first */
    uint64_t serials;
    bool drains;
    void (*came)(void *ctx);
    void *came_ctx;
    ended_job *replies;         /* a ring of ENDED_MOST */
    size_t nreplies;            /* that were ever taken */
};

/* ---- made and freed -------------------------------------------------------------------------------------------- */

jobs *jobs_new(void)
{
    jobs *j = calloc(1, sizeof *j);

    if (j == NULL || (j->replies = calloc(ENDED_MOST, sizeof *j->replies)) == NULL) {
        free(j);
        return NULL;
    }
    pthread_mutex_init(&j->lock, NULL);
    j->last = &j->first;
    return j;
}

void jobs_hear(jobs *j, void (*came)(void *ctx), void *ctx)
{
    pthread_mutex_lock(&j->lock);
    j->came = came;
    j->came_ctx = ctx;
    pthread_mutex_unlock(&j->lock);
}

void jobs_free(jobs *j)
{
    if (j == NULL)
        return;
    PAWL_ASSERT(j->first == NULL, "J2: an engine waits for its jobs before it is freed");
    pthread_mutex_destroy(&j->lock);
    free(j->replies);
    free(j);
}

/* Under the lock. */
static void wake(jobs *j)
{
    if (j->came != NULL)
        j->came(j->came_ctx);
}

static void list_add(jobs *j, remote_job *m)
{
    m->at = j->last;
    *j->last = m;
    j->last = &m->next;
}

/* Takes it out of the list: it is the caller's (J2). */
static void job_take_out(jobs *j, remote_job *m)
{
    *m->at = m->next;
    if (m->next != NULL)
        m->next->at = m->at;
    else
        j->last = m->at;
    m->at = NULL;
    m->next = NULL;
    job_move(m, JOB_ENDED);
}

static void job_free(remote_job *m)
{
    buf_free(&m->args);
    free(m);
}

/* Without the lock, by its owner. */
static void job_finish_with(remote_job *m, pawl_code code)
{
    m->job->finish(m->job, code);
    job_free(m);
}

/* ---- ends without a reply ------------------------------------------------------------------------------------------ */

/* It was never given out: the engine has it performed later, as an attempt that is none of `retry`, and whose outcome is not in doubt. */
static void end_given_back(remote_job *m)
{
    const pawl_code rc = m->job->again(m->job, NULL, NULL);

    pawl_reply_untouched(m->reply);
    pawl_reply_cost(m->reply, 0, 0);
    job_finish_with(m, pawl_reply_fail(m->reply, rc == PAWL_OK ? PAWL_TRANSIENT : PAWL_CANCELED, "%s: the server stops, and no worker had it", m->name));
}

static void end_dropped(remote_job *m)
{
    pawl_reply_untouched(m->reply);
    job_finish_with(m, pawl_reply_fail(m->reply, PAWL_CANCELED, "%s: called off before a worker took it", m->name));
}

/* Whoever has it is not heard any more. The engine knows by the class whether it is tried again (E5, E7). */
static void end_lost(remote_job *m, bool off, const char *why)
{
    pawl_code rc = !off ? PAWL_TRANSIENT : m->cls == PAWL_CLASS_PURE ? PAWL_CANCELED : PAWL_UNKNOWN;

    job_finish_with(m, pawl_reply_fail(m->reply, rc, "%s: %s has it, and %s", m->name, m->by, why));
}

/* Ends those of the list that `is_due` picks, one after another. */
static void end_each(jobs *j, bool (*is_due)(const remote_job *m, int64_t now), void (*end)(remote_job *m, job_state was))
{
    const int64_t now = steady_ms();
    remote_job *m;

    do {
        job_state was = JOB_ENDED;

        pthread_mutex_lock(&j->lock);
        for (m = j->first; m != NULL && !is_due(m, now);)
            m = m->next;
        if (m != NULL) {
            was = (job_state)m->state;
            job_take_out(j, m);
        }
        pthread_mutex_unlock(&j->lock);
        if (m != NULL)
            end(m, was);
    } while (m != NULL);
}

static bool is_over(const remote_job *m, int64_t now)
{
    return m->state == JOB_DROPPED || ((m->state == JOB_LEASED || m->state == JOB_CALLED_OFF) && now >= m->until_ms);
}

static void end_over(remote_job *m, job_state was)
{
    if (was == JOB_DROPPED)
        end_dropped(m);
    else
        end_lost(m, was == JOB_CALLED_OFF, "its lease has ended");
}

static bool is_queued(const remote_job *m, int64_t now)
{
    (void)now;
    return m->state == JOB_QUEUED || m->state == JOB_DROPPED;
}

static void end_queued(remote_job *m, job_state was)
{
    if (was == JOB_DROPPED)
        end_dropped(m);
    else
        end_given_back(m);
}

/* One that is being made is its handler's. */
static bool is_made(const remote_job *m, int64_t now)
{
    (void)now;
    return m->state != JOB_MAKING;
}

/* The engine may perform it again elsewhere, as none of the attempts of `retry`. Of class once the outcome is unknown. */
static void end_left(remote_job *m, job_state was)
{
    if (was == JOB_QUEUED || was == JOB_DROPPED) {
        end_queued(m, was);
        return;
    }
    if (was == JOB_LEASED && m->cls != PAWL_CLASS_ONCE && m->cls != PAWL_CLASS_COMPENSABLE)
        (void)!m->job->again(m->job, NULL, NULL);
    end_lost(m, was == JOB_CALLED_OFF, "the server stops");
}

void jobs_look(jobs *j) { end_each(j, is_over, end_over); }

void jobs_drain(jobs *j)
{
    pthread_mutex_lock(&j->lock);
    j->drains = true;
    pthread_mutex_unlock(&j->lock);
    end_each(j, is_queued, end_queued);
}

void jobs_end(jobs *j)
{
    pthread_mutex_lock(&j->lock);
    j->drains = true;
    pthread_mutex_unlock(&j->lock);
    end_each(j, is_made, end_left);
}

/* ---- for handlers ------------------------------------------------------------------------------------------------------ */

/* Under a lock of the engine. */
static void stop_told(void *ctx, const char *id)
{
    remote_job *m = ctx;
    jobs *j = m->of;

    (void)id;
    pthread_mutex_lock(&j->lock);
    if (m->state == JOB_LEASED)
        job_move(m, JOB_CALLED_OFF);
    else if (m->state == JOB_MAKING || m->state == JOB_QUEUED)
        job_move(m, JOB_DROPPED);
    wake(j);
    pthread_mutex_unlock(&j->lock);
}

/* The same for one attempt in every process that knows it; without a slash, for it stands in paths. */
static void id_make(remote_job *m)
{
    char text[64], hex[HASH_HEX + 1];
    hash h;
    buf b;

    buf_init(&b, NULL);
    snprintf(text, sizeof text, "\n%lu %llu", (unsigned long)m->job->attempt, (unsigned long long)m->job->fence);
    buf_text(&b, m->job->id);
    buf_text(&b, text);
    hash_of(b.data, b.size, &h);
    hash_hex(&h, hex);
    snprintf(m->id, sizeof m->id, "%.32s", hex);
    buf_free(&b);
}

static remote_job *job_make(jobs *j, const char *name, pawl_class cls, const pawl_job *job, pawl_reply *reply)
{
    remote_job *m = calloc(1, sizeof *m);

    if (m == NULL)
        return NULL;
    *m = (remote_job){ .of = j, .job = job, .reply = reply, .name = name, .cls = cls };
    buf_init(&m->args, NULL);
    asks_run_of(job->id, m->run);
    id_make(m);
    pthread_mutex_lock(&j->lock);
    m->serial = ++j->serials;
    list_add(j, m);
    sm_begin(&job_table, &m->state, JOB_MAKING, m);
    pthread_mutex_unlock(&j->lock);
    return m;
}

/* Of a job that nobody else has seen: it is not answered later. */
static pawl_code unmake(jobs *j, remote_job *m, pawl_code rc)
{
    pthread_mutex_lock(&j->lock);
    job_take_out(j, m);
    pthread_mutex_unlock(&j->lock);
    job_free(m);
    return rc;
}

/* True: workers can take it. */
static bool job_queue(jobs *j, remote_job *m, bool *drains)
{
    bool queued;

    pthread_mutex_lock(&j->lock);
    *drains = j->drains;
    queued = !j->drains && m->state == JOB_MAKING;
    if (queued) {
        job_move(m, JOB_QUEUED);
        wake(j);
    }
    pthread_mutex_unlock(&j->lock);
    return queued;
}

pawl_code jobs_put(jobs *j, const char *name, pawl_class cls, const pawl_job *job, pawl_reply *reply)
{
    remote_job *m = job->later != NULL ? job_make(j, name, cls, job, reply) : NULL;
    const pawl_value *with;
    bool drains;
    pawl_code rc;

    if (m == NULL)
        return pawl_reply_fail(reply, job->later != NULL ? PAWL_NOMEM : PAWL_INVALID, "%s: a job is answered later, and this one cannot be", name);
    if ((rc = job->later(job, stop_told, m)) != PAWL_OK)
        return unmake(j, m, rc);
    with = pawl_value_get(job->args, "with");
    if (with != NULL)
        canon(&m->args, with);
    else
        buf_word(&m->args, "null");
    if (m->args.failed)
        return unmake(j, m, pawl_reply_fail(reply, PAWL_NOMEM, "%s: no memory for its arguments", name));
    if (job_queue(j, m, &drains))
        return PAWL_PENDING;
    pawl_reply_untouched(reply);
    rc = drains && job->again != NULL && job->again(job, NULL, NULL) == PAWL_OK ? PAWL_TRANSIENT : PAWL_CANCELED;
    return unmake(j, m, pawl_reply_fail(reply, rc, "%s: called off before a worker took it", name));
}

/* ---- given out --------------------------------------------------------------------------------------------------------- */

static bool fits(const jobs_filter *f, const remote_job *m)
{
    bool named = false;

    for (size_t i = 0; i < f->nnames && !named; i++)
        named = strcmp(f->names[i], m->name) == 0;
    return named && (f->classes == 0 || (f->classes >> m->cls & 1) != 0);
}

bool jobs_next(jobs *j, const jobs_filter *f, uint64_t *serial, char run[JOB_RUN_BYTES])
{
    remote_job *m;

    pthread_mutex_lock(&j->lock);
    for (m = j->drains ? NULL : j->first; m != NULL && !(m->state == JOB_QUEUED && m->serial > *serial && fits(f, m));)
        m = m->next;
    if (m != NULL) {
        *serial = m->serial;
        memcpy(run, m->run, JOB_RUN_BYTES);
    }
    pthread_mutex_unlock(&j->lock);
    return m != NULL;
}

static bool token_make(char token[JOB_TOKEN_BYTES])
{
    uint8_t bytes[JOB_TOKEN_BYTES / 2];

    if (getentropy(bytes, sizeof bytes) != 0)
        return false;
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(token + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

/* The node in RUN~LIFE/SUPERSTEP.NODE.VISIT.N. */
static pawl_bytes node_of(const char *id)
{
    const char *at = strchr(id, '/'), *end = id + strlen(id);

    at = at != NULL ? strchr(at, '.') : NULL;
    for (int i = 0; i < 2 && at != NULL; i++)
        do
            end--;
        while (end > at && *end != '.');
    return at == NULL || end <= at + 1 ? (pawl_bytes){ "", 0 } : (pawl_bytes){ at + 1, (size_t)(end - at - 1) };
}

static void text_put(buf *b, const char *key, const char *value, size_t size)
{
    buf_fmt(b, ",\"%s\":", key);
    canon_string(b, value, size);
}

static void job_put(buf *b, const remote_job *m)
{
    const pawl_bytes node = node_of(m->job->id);

    buf_word(b, "{\"args\":");
    buf_put(b, m->args.data, m->args.size);
    buf_fmt(b, ",\"attempt\":%lu", (unsigned long)m->job->attempt);
    text_put(b, "class", pawl_class_name(m->cls), strlen(pawl_class_name(m->cls)));
    if (m->job->deadline_ms > 0)
        buf_fmt(b, ",\"deadline_ms\":%lld", (long long)m->job->deadline_ms);
    else
        buf_word(b, ",\"deadline_ms\":null");
    text_put(b, "effect", m->name, strlen(m->name));
    buf_fmt(b, ",\"fence\":%llu", (unsigned long long)m->job->fence);
    text_put(b, "id", m->id, strlen(m->id));
    text_put(b, "idempotency_key", m->job->id, strlen(m->job->id));
    buf_fmt(b, ",\"lease_ms\":%lld", (long long)m->lease_ms);
    text_put(b, "node", node.data, node.size);
    text_put(b, "run", m->run, strlen(m->run));
    text_put(b, "token", m->token, strlen(m->token));
    buf_char(b, '}');
}

bool jobs_lease(jobs *j, uint64_t serial, const char *by, int64_t lease_ms, buf *out)
{
    char token[JOB_TOKEN_BYTES];
    remote_job *m;

    if (!token_make(token))
        return false;
    pthread_mutex_lock(&j->lock);
    for (m = j->drains ? NULL : j->first; m != NULL && m->serial != serial;)
        m = m->next;
    if (m != NULL && m->state == JOB_QUEUED) {
        memcpy(m->token, token, sizeof token);
        snprintf(m->by, sizeof m->by, "%s", by);
        m->lease_ms = lease_ms;
        m->until_ms = steady_ms() + lease_ms;
        job_move(m, JOB_LEASED);
        job_put(out, m);
    } else {
        m = NULL;
    }
    pthread_mutex_unlock(&j->lock);
    return m != NULL;
}

size_t jobs_out(jobs *j, const char *by)
{
    size_t n = 0;

    pthread_mutex_lock(&j->lock);
    for (const remote_job *m = j->first; m != NULL; m = m->next)
        n += m->token[0] != '\0' && (by == NULL || strcmp(m->by, by) == 0);
    pthread_mutex_unlock(&j->lock);
    return n;
}

bool jobs_any(jobs *j)
{
    bool any;

    pthread_mutex_lock(&j->lock);
    any = j->first != NULL;
    pthread_mutex_unlock(&j->lock);
    return any;
}

/* ---- heartbeats and replies ------------------------------------------------------------------------------------------ */

/* Under the lock. A lease that is over counts no more, though nobody has looked yet. NULL: see err. */
static remote_job *claimed(jobs *j, const job_claim *c, pawl_err *err)
{
    remote_job *m = j->first;

    while (m != NULL && strcmp(m->id, c->id) != 0)
        m = m->next;
    if (m != NULL && m->token[0] != '\0' && strcmp(m->token, c->token) == 0 && strcmp(m->by, c->by) == 0 && steady_ms() < m->until_ms)
        return m;
    fail(err, PAWL_FENCED, "%.40s: the job has ended, or this token's lease of it has; take jobs again", c->id);
    return NULL;
}

pawl_code jobs_beat(jobs *j, const job_claim *c, int64_t *lease_ms, bool *canceled, pawl_err *err)
{
    remote_job *m;

    pthread_mutex_lock(&j->lock);
    if ((m = claimed(j, c, err)) != NULL) {
        *lease_ms = m->lease_ms;
        *canceled = m->state == JOB_CALLED_OFF;
        if (!*canceled) {       /* the grace of the engine runs */
            m->until_ms = steady_ms() + m->lease_ms;
            m->job->heartbeat(m->job);
        }
    }
    pthread_mutex_unlock(&j->lock);
    return m != NULL ? PAWL_OK : PAWL_FENCED;
}

static hash key_of(const job_claim *c, const char *key)
{
    hash h = { 0 };
    buf b;

    buf_init(&b, NULL);
    buf_text(&b, c->by);
    buf_char(&b, '\n');
    buf_text(&b, c->token);
    buf_char(&b, '\n');
    buf_text(&b, key);
    if (!b.failed)
        hash_of(b.data, b.size, &h);
    buf_free(&b);
    return h;
}

/* Under the lock. NULL: it was not taken, or long ago. */
static const ended_job *taken_before(const jobs *j, const char *id, const hash *key)
{
    const size_t n = j->nreplies < ENDED_MOST ? j->nreplies : ENDED_MOST;

    for (size_t i = 0; i < n; i++)
        if (strcmp(j->replies[i].id, id) == 0 && hash_equal(&j->replies[i].key, key))
            return &j->replies[i];
    return NULL;
}

static void reply_fill(remote_job *m, const pawl_result *r)
{
    if (r->code == PAWL_OK)
        (void)pawl_reply_json(m->reply, r->value);
    else
        (void)pawl_reply_fail(m->reply, r->code, "%s: %s", m->name, r->text);
    if (r->code < 0 && r->detail != NULL)
        pawl_reply_detail(m->reply, r->detail);
    pawl_reply_retry_after(m->reply, r->retry_after_ms);
    if (r->untouched)
        pawl_reply_untouched(m->reply);
    if (r->costs)
        pawl_reply_cost(m->reply, r->tokens, r->micros);
}

pawl_code jobs_reply(jobs *j, const job_claim *c, const pawl_result *r, const char *key, const hash *body, pawl_err *err)
{
    const hash at = key != NULL ? key_of(c, key) : (hash){ 0 };
    const ended_job *before;
    remote_job *m = NULL;
    job_state was = JOB_ENDED;
    pawl_code rc = PAWL_OK;

    pthread_mutex_lock(&j->lock);
    if (key != NULL && (before = taken_before(j, c->id, &at)) != NULL) {
        rc = hash_equal(&before->body, body) ? PAWL_OK : fail(err, PAWL_CONFLICT, "%.40s: this Idempotency-Key came with another reply", c->id);
    } else if ((m = claimed(j, c, err)) == NULL) {
        rc = PAWL_FENCED;
    } else {
        ended_job *e = &j->replies[j->nreplies % ENDED_MOST];

        was = (job_state)m->state;
        job_take_out(j, m);
        if (key != NULL) {
            *e = (ended_job){ .key = at, .body = *body };
            memcpy(e->id, m->id, sizeof e->id);
            j->nreplies++;
        }
    }
    pthread_mutex_unlock(&j->lock);
    if (m != NULL) {
        reply_fill(m, r);
        job_finish_with(m, was == JOB_CALLED_OFF && r->code < 0 ? PAWL_CANCELED : r->code);
    }
    return rc;
}
