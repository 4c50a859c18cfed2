/* job_routes.c - jobs over HTTP: workers elsewhere take them, send heartbeats, and reply (E17). Loop thread.
 *
 * The queue is app/jobs.h, which engines fill on any thread: it wakes the loop, which gives jobs to the requests that wait, the oldest request first. While
 * there are jobs or such requests, leases and waiting times are looked at every LOOK_MS. A worker gets jobs of runs that it may see; whether it may is read
 * from the store without a lock of the queue. */
#include "app/jobs.h"
#include "json/json.h"
#include "serve/serve_inner.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

enum { LOOK_MS = 100, TAKERS_MOST = 1000, LIMIT_MOST = 32, WAIT_MOST_S = 60, LEASE_S = 60, LEASE_MOST_S = 3600, OUT_MOST = 256, KEY_MOST = 200 };
#define PATH_ABOVE "/v1/jobs/"

const parameter job_take_members[] = {
    { "effects", MEMBER_LIST, .needed = true, .what = "the names of jobs that this worker performs, 16 at most" },
    { "classes", MEMBER_LIST, .what = "only jobs of these classes: pure, idempotent, at-least-once, compensable, once" },
    { "wait_s", MEMBER_COUNT, .what = "how long it waits for a first job, 0 to 60 seconds; 0" },
    { "limit", MEMBER_COUNT, .what = "jobs at most, 1 to 32; 1" },
    { "lease_s", MEMBER_COUNT, .what = "seconds after which a job without a heartbeat is lost, 1 to 3600; 60" },
    { .name = NULL }
};
#define MEMBER_TOKEN { "token", MEMBER_TEXT, .needed = true, .what = "the token of the lease" }
#define MEMBERS_COST \
    { "tokens", MEMBER_COUNT, .what = "what the attempt cost the budget of the run, in tokens; with `micros`" }, \
    { "micros", MEMBER_COUNT, .what = "and in millionths of the currency" }
const parameter job_beat_members[] = { MEMBER_TOKEN, { .name = NULL } };
const parameter job_reply_members[] = { MEMBER_TOKEN, { "value", MEMBER_JSON, .what = "the result; null" }, MEMBERS_COST, { .name = NULL } };
const parameter job_fail_members[] = {
    MEMBER_TOKEN,
    { "error", MEMBER_TEXT, .needed = true, .what = "why, in one line" },
    { "detail", MEMBER_TEXT, .what = "any number of lines beside it" },
    { "retry", MEMBER_FLAG, .what = "another attempt may succeed: the `retry` of the node says whether there is one" },
    { "retry_after_ms", MEMBER_COUNT, .what = "with retry: not earlier than in so many milliseconds" },
    { "untouched", MEMBER_FLAG, .what = "nothing has happened outside, so that class once may be tried again, too" },
    MEMBERS_COST, { .name = NULL }
};

typedef struct taker {
    struct taker *next;
    http_req *r;
    admitted by;
    jobs_filter filter;
    arena mem;                  /* the names of the filter */
    size_t limit;
    int64_t lease_ms, due_ms;
    bool gone;                  /* its client */
} taker;

struct serve_jobs {
    server *s;
    jobs *queue;
    http_timer *look;           /* on while there are jobs or takers */
    taker *first, **last;
    size_t n;
    atomic_bool posted;         /* a look is on its way */
};

/* ---- given out ------------------------------------------------------------------------------------------------------- */

static void reply_json(http_req *r, unsigned status, buf *b)
{
    if (b->failed)
        problem(r, 503, "nomem", "no memory for this reply");
    else
        http_reply(r, status, (http_field[]){ { "Content-Type", "application/json" }, { "Cache-Control", "no-store" } }, 2, b->data, b->size);
    buf_free(b);
}

/* The jobs that it gets, as the elements of an array. */
static size_t jobs_give(serve_jobs *q, const taker *t, buf *out)
{
    size_t n = 0, room = jobs_out(q->queue, t->by.who->by);
    char run[JOB_RUN_BYTES];
    uint64_t serial = 0;
    bool sees;

    room = room < OUT_MOST ? OUT_MOST - room : 0;
    while (n < t->limit && n < room && !out->failed && jobs_next(q->queue, &t->filter, &serial, run)) {
        const size_t before = out->size;

        if (asker_sees(t->by.who, q->s->store, run, &sees, &(pawl_err){ PAWL_OK, "" }) != PAWL_OK || !sees)
            continue;
        if (n > 0)
            buf_char(out, ',');
        if (jobs_lease(q->queue, serial, t->by.who->by, t->lease_ms, out))
            n++;
        else
            out->size = before;
    }
    return n;
}

/* True: the request has ended. `now`: it gets what there is. */
static bool taker_serve(serve_jobs *q, taker *t, bool now)
{
    size_t n;
    buf b;

    if (t->gone) {
        http_set(t->r, NULL, NULL);
        problem(t->r, 503, "canceled", "the client is gone");
        return true;
    }
    if (!guard_still(q->s, &t->by)) {
        http_set(t->r, NULL, NULL);
        problem(t->r, 401, "denied", "the token was removed, or has expired");
        return true;
    }
    buf_init(&b, NULL);
    buf_word(&b, "{\"jobs\":[");
    n = jobs_give(q, t, &b);
    if (n == 0 && !now) {
        buf_free(&b);
        return false;
    }
    buf_word(&b, "]}\n");
    http_set(t->r, NULL, NULL);
    reply_json(t->r, 200, &b);
    return true;
}

static void taker_free(taker *t)
{
    tokens_drop(t->by.of);
    arena_free(&t->mem);
    free(t);
}

static void look_at(serve_jobs *q, bool all)
{
    jobs_look(q->queue);
    for (taker **at = &q->first; *at != NULL;) {
        taker *t = *at;

        if (taker_serve(q, t, all || http_now(q->s->http) >= t->due_ms)) {
            *at = t->next;
            if (*at == NULL)
                q->last = at;
            q->n--;
            taker_free(t);
        } else {
            at = &t->next;
        }
    }
}

static void on_gone(http_req *r, void *data)
{
    (void)r;
    ((taker *)data)->gone = true;
}

static void look(void *ctx)
{
    serve_jobs *q = ctx;

    atomic_store(&q->posted, false);
    look_at(q, false);
    http_timer_set(q->look, q->first != NULL || jobs_any(q->queue));
}

/* Any thread. Without memory the next look finds the job: the timer is on while there are takers. */
static void came(void *ctx)
{
    serve_jobs *q = ctx;

    if (!atomic_exchange(&q->posted, true) && !http_post(q->s->http, look, q))
        atomic_store(&q->posted, false);
}

/* ---- what is asked --------------------------------------------------------------------------------------------------------- */

/* The body as an object that has these members and no others, each of its type. NULL: the problem was replied. */
static const pawl_value *body_of(serve_jobs *q, http_req *r, const admitted *by, const parameter *members, arena *mem)
{
    const char *type = http_header(r, "content-type");
    pawl_err err = { 0 };
    body_words words;

    if (q == NULL)
        problem(r, 404, "gone", "this server drives no runs, and has no jobs: pawl serve FILE... has");
    else if (http_query(r) != NULL)
        problem(r, 400, "invalid", "no such parameter here; there are none");
    else if (type == NULL || strncasecmp(type, "application/json", 16) != 0 || (type[16] != '\0' && type[16] != ';' && type[16] != ' '))
        problem(r, 415, "invalid", "the body is JSON, with Content-Type: application/json");
    else if (body_read(mem, http_body(r), members, by->who, &words, &err) != PAWL_OK)
        problem_of(r, &err);
    else
        return value_parse(mem, http_body(r).data, http_body(r).size, "the body", NULL);
    return NULL;
}

/* False: it is out of range, and the problem was replied. */
static bool count_of(http_req *r, const pawl_value *body, const char *name, int64_t least, int64_t most, int64_t otherwise, int64_t *out)
{
    const pawl_value *v = pawl_value_get(body, name);
    char text[100];

    *out = v != NULL ? pawl_value_int(v) : otherwise;
    if (v == NULL || (*out >= least && *out <= most))
        return true;
    snprintf(text, sizeof text, "%s: from %lld to %lld", name, (long long)least, (long long)most);
    problem(r, 400, "invalid", text);
    return false;
}

/* False: the problem was replied. */
static bool filter_read(http_req *r, const pawl_value *body, arena *mem, jobs_filter *f)
{
    const pawl_value *names = pawl_value_get(body, "effects"), *classes = pawl_value_get(body, "classes");

    *f = (jobs_filter){ .nnames = pawl_value_size(names) };
    if (f->nnames == 0 || f->nnames > JOBS_NAMES_MAX) {
        problem(r, 400, "invalid", "effects: 1 to 16 names of jobs");
        return false;
    }
    for (size_t i = 0; i < f->nnames; i++)
        f->names[i] = arena_text(mem, pawl_value_string(pawl_value_at(names, i)));
    for (size_t i = 0; i < pawl_value_size(classes); i++) {
        const char *word = pawl_value_string(pawl_value_at(classes, i));
        unsigned k = 0;

        while (k <= PAWL_CLASS_ONCE && strcmp(word, pawl_class_name((pawl_class)k)) != 0)
            k++;
        if (k > PAWL_CLASS_ONCE) {
            problem(r, 400, "invalid", "classes: pure, idempotent, at-least-once, compensable and once are known");
            return false;
        }
        f->classes |= 1u << k;
    }
    if (mem->failed)
        problem(r, 503, "nomem", "no memory for this request");
    return !mem->failed;
}

/* False: the problem was replied. */
static bool take_read(serve_jobs *q, http_req *r, const pawl_value *body, taker *t, int64_t *wait_s)
{
    int64_t limit, lease_s;

    if (!filter_read(r, body, &t->mem, &t->filter) || !count_of(r, body, "wait_s", 0, WAIT_MOST_S, 0, wait_s) ||
        !count_of(r, body, "limit", 1, LIMIT_MOST, 1, &limit) || !count_of(r, body, "lease_s", 1, LEASE_MOST_S, LEASE_S, &lease_s))
        return false;
    t->limit = (size_t)limit;
    t->lease_ms = lease_s * 1000;
    t->due_ms = http_now(q->s->http) + *wait_s * 1000;
    if (jobs_out(q->queue, t->by.who->by) >= OUT_MOST)
        problem(r, 429, "limit", "256 jobs are out under this name: reply to some first");
    else if (*wait_s > 0 && q->n >= TAKERS_MOST)
        problem(r, 503, "limit", "too many requests wait for jobs; try again in a second");
    else
        return true;
    return false;
}

void serve_jobs_take(server *s, http_req *r, const admitted *by, const char *run, const params *p)
{
    serve_jobs *q = s->jobs;
    taker *t = calloc(1, sizeof *t);
    const pawl_value *body;
    int64_t wait_s = 0;

    (void)run, (void)p;
    if (t == NULL) {
        problem(r, 503, "nomem", "no memory for this request");
        return;
    }
    *t = (taker){ .r = r, .by = *by };
    arena_init(&t->mem, NULL, 1024);
    tokens_keep(by->of);
    body = body_of(q, r, by, job_take_members, &t->mem);
    if (body == NULL || !take_read(q, r, body, t, &wait_s) || taker_serve(q, t, wait_s == 0)) {
        taker_free(t);
        return;
    }
    http_set(r, t, on_gone);
    *q->last = t;
    q->last = &t->next;
    q->n++;
    http_timer_set(q->look, true);
}

/* ---- heartbeats and replies -------------------------------------------------------------------------------------------------- */

/* Of "/v1/jobs/ID/reply". */
static job_claim claim_of(http_req *r, const admitted *by, const pawl_value *body, arena *mem)
{
    const char *id = http_path(r) + sizeof PATH_ABOVE - 1;
    const char *text = arena_strdup(mem, id, strcspn(id, "/"));

    return (job_claim){ text != NULL ? text : "", pawl_value_string(pawl_value_get(body, "token")), by->who->by };
}

void serve_jobs_beat(server *s, http_req *r, const admitted *by, const char *run, const params *p)
{
    const pawl_value *body;
    pawl_err err = { 0 };
    int64_t lease_ms;
    bool canceled;
    job_claim c;
    arena mem;
    buf b;

    (void)run, (void)p;
    arena_init(&mem, NULL, 1024);
    if ((body = body_of(s->jobs, r, by, job_beat_members, &mem)) != NULL) {
        c = claim_of(r, by, body, &mem);
        if (jobs_beat(s->jobs->queue, &c, &lease_ms, &canceled, &err) != PAWL_OK) {
            problem_of(r, &err);
        } else {
            buf_init(&b, NULL);
            buf_fmt(&b, "{\"canceled\":%s,\"lease_ms\":%lld}\n", canceled ? "true" : "false", (long long)lease_ms);
            reply_json(r, 200, &b);
        }
    }
    arena_free(&mem);
}

/* *key: NULL: none. False: the problem was replied. */
static bool key_read(http_req *r, const char **key)
{
    const char *given = http_header(r, "idempotency-key");
    bool good = given == NULL || (*given != '\0' && strlen(given) <= KEY_MOST);

    for (const char *at = given; good && at != NULL && *at != '\0'; at++)
        good = *at >= ' ' && *at < 0x7f;
    *key = given;
    if (!good)
        problem(r, 400, "invalid", "Idempotency-Key: 1 to 200 printable characters");
    return good;
}

static void reply_take(server *s, http_req *r, const admitted *by, const pawl_value *body, pawl_result *result, arena *mem)
{
    const char *const what = result->code == PAWL_OK ? "reply\n" : "fail\n", *key;
    job_claim c = claim_of(r, by, body, mem);
    pawl_err err = { 0 };
    hash digest = { 0 };
    buf b;

    if (!key_read(r, &key) || !count_of(r, body, "tokens", 0, INT64_C(1) << 53, 0, &result->tokens) ||
        !count_of(r, body, "micros", 0, INT64_C(1) << 53, 0, &result->micros) ||
        !count_of(r, body, "retry_after_ms", 0, INT64_C(1) << 53, 0, &result->retry_after_ms))
        return;
    result->costs = pawl_value_get(body, "tokens") != NULL || pawl_value_get(body, "micros") != NULL;
    buf_init(&b, NULL);
    buf_text(&b, what);
    canon(&b, body);
    if (b.failed) {
        problem(r, 503, "nomem", "no memory for this request");
    } else {
        hash_of(b.data, b.size, &digest);
        if (jobs_reply(s->jobs->queue, &c, result, key, &digest, &err) != PAWL_OK)
            problem_of(r, &err);
        else
            http_reply(r, 202, (http_field[]){ { "Content-Type", "application/json" }, { "Cache-Control", "no-store" } }, 2, "{\"taken\":true}\n", 15);
    }
    buf_free(&b);
}

void serve_jobs_reply(server *s, http_req *r, const admitted *by, const char *run, const params *p)
{
    const pawl_value *body, *value;
    arena mem;
    buf b;

    (void)run, (void)p;
    arena_init(&mem, NULL, 4096);
    buf_init(&b, NULL);
    if ((body = body_of(s->jobs, r, by, job_reply_members, &mem)) != NULL) {
        if ((value = pawl_value_get(body, "value")) != NULL)
            canon(&b, value);
        else
            buf_word(&b, "null");
        buf_char(&b, '\0');
        if (b.failed)
            problem(r, 503, "nomem", "no memory for this request");
        else
            reply_take(s, r, by, body, &(pawl_result){ .value = b.data }, &mem);
    }
    buf_free(&b);
    arena_free(&mem);
}

void serve_jobs_fail(server *s, http_req *r, const admitted *by, const char *run, const params *p)
{
    const pawl_value *body;
    pawl_result result = { 0 };
    arena mem;

    (void)run, (void)p;
    arena_init(&mem, NULL, 4096);
    if ((body = body_of(s->jobs, r, by, job_fail_members, &mem)) != NULL) {
        result.code = pawl_value_bool(pawl_value_get(body, "retry")) ? PAWL_TRANSIENT : PAWL_EFFECT;
        result.text = pawl_value_string(pawl_value_get(body, "error"));
        result.detail = pawl_value_string(pawl_value_get(body, "detail"));
        result.untouched = pawl_value_bool(pawl_value_get(body, "untouched"));
        reply_take(s, r, by, body, &result, &mem);
    }
    arena_free(&mem);
}

/* ---- the server's ------------------------------------------------------------------------------------------------------------ */

bool job_routes_new(server *s, pawl_err *err)
{
    serve_jobs *q;

    if (s->config->jobs == NULL)
        return true;
    if ((q = calloc(1, sizeof *q)) == NULL || (q->look = http_timer_new(s->http, LOOK_MS, look, q)) == NULL) {
        free(q);
        fail(err, PAWL_NOMEM, "server: no memory");
        return false;
    }
    atomic_init(&q->posted, false);
    q->s = s;
    q->queue = s->config->jobs;
    q->last = &q->first;
    s->jobs = q;
    jobs_hear(q->queue, came, q);
    return true;
}

void job_routes_drain(serve_jobs *q)
{
    if (q == NULL)
        return;
    jobs_drain(q->queue);
    look_at(q, true);
}

void job_routes_free(serve_jobs *q)
{
    if (q == NULL)
        return;
    jobs_hear(q->queue, NULL, NULL);
    while (q->first != NULL) {  /* their clients are gone: the loop has ended */
        taker *t = q->first;

        q->first = t->next;
        http_set(t->r, NULL, NULL);
        problem(t->r, 503, "canceled", "the server stops");
        taker_free(t);
    }
    free(q);
}
