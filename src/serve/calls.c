/* calls.c - the thread that performs verbs for requests, one after another, in the order in which they came.
 *
 * `lock` covers the queue and `stop`; the loop thread adds a call and ends its request, the thread performs it in between. A verb opens the store anew,
 * so it sees what is stored now, and a fault of it touches no other request. */
#include "base/trace_id.h"
#include "json/json.h"
#include "serve/serve_inner.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { WORDS_MAX = 256, WAITING_MAX = 1000, DELIVERY_BYTES = 48 };

typedef struct verb_call {
    struct verb_call *next;     /* in the queue */
    struct verb_call *after, *before;   /* of all that have not ended; loop thread */
    serve_calls *of;
    http_req *r;
    admitted by;
    call_order how;
    int code;
    char *words[WORDS_MAX];
    buf text;                   /* the words */
    buf out;
    atomic_bool gone;           /* its client */
    char delivery[DELIVERY_BYTES];      /* "": none */
    char trace[TRACEPARENT_BYTES];      /* "": none */
    serve_verb verb;
    items_order page;           /* instead of a verb; no run: none */
    pawl_err err;               /* of the page */
    bool differs;               /* the run is not as If-Match says */
    char tag[TAG_BYTES];        /* of a reply with 200; made by the thread, since a reply may be large */
} verb_call;

struct serve_calls {
    server *s;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t more;
    verb_call *first, **last;
    verb_call *all;             /* loop thread */
    size_t n;                   /* of `all` */
    pawl_store *store;          /* of the thread, for pages */
    bool stop;
};

static void call_free(verb_call *k)
{
    serve_calls *c = k->of;

    *(k->before != NULL ? &k->before->after : &c->all) = k->after;
    if (k->after != NULL)
        k->after->before = k->before;
    c->n--;
    buf_free(&k->text);
    buf_free(&k->out);
    tokens_drop(k->by.of);
    free(k);
}

/* A new run is named by the verb: {"run":ID}. */
static void reply_created(http_req *r, const buf *out)
{
    char where[192] = "/v1/runs/";
    const pawl_value *v;
    const char *run;
    arena mem;

    arena_init(&mem, NULL, 1024);
    v = value_parse(&mem, out->data, out->size, "a reply", NULL);
    run = pawl_value_string(pawl_value_get(v, "run"));
    snprintf(where + strlen(where), sizeof where - strlen(where), "%.150s", run != NULL ? run : "");
    http_reply(r, 201, (http_field[]){ { "Content-Type", "application/json" }, { "Cache-Control", "no-store" }, { "Location", where } }, 3, out->data,
               out->size);
    arena_free(&mem);
}

static void reply_well(verb_call *k)
{
    if (k->how.status == 200)
        text_reply_tagged(k->r, k->how.type, &k->out, k->tag);
    else if (k->out.failed)
        problem(k->r, 503, "nomem", "it is done, but there is no memory for this reply");
    else if (k->how.status == 201)
        reply_created(k->r, &k->out);
    else
        http_reply(k->r, k->how.status, (http_field[]){ { "Cache-Control", "no-store" }, { "Content-Type", k->how.type } }, k->how.status == 204 ? 1 : 2,
                   k->out.data, k->out.size);
}

static void page_reply(verb_call *k)
{
    if (k->err.code == PAWL_OK)
        reply_well(k);
    else if (k->err.code == PAWL_GONE)
        problem(k->r, 410, "gone", k->err.text);
    else
        problem_of(k->r, &k->err);
}

/* What an exit code means for a request that gave no error code; the reason is what the verb said. */
static void call_reply(verb_call *k)
{
    static const struct {
        unsigned status;
        const char *code;
    } rows[] = { { 500, "io" }, { 500, "effect" }, { 400, "invalid" }, { 409, "conflict" }, { 409, "canceled" }, { 503, "io" }, { 409, "held" } };
    const size_t row = k->code >= 0 && (size_t)k->code < sizeof rows / sizeof rows[0] ? (size_t)k->code : 0;
    const serve_verb *v = &k->verb;

    /* 1 is "they differ" of one verb, and a failure of every: that has said why. */
    if (k->code >= 0 && k->code < 32 && (k->how.fine >> k->code & 1) != 0 && (k->code == 0 || (v->said[0] == '\0' && k->out.size > 0)))
        reply_well(k);
    else if (v->why < PAWL_OK)
        problem(k->r, problem_status(v->why), pawl_code_name(v->why), v->said);
    else
        problem(k->r, rows[row].status, rows[row].code, v->said[0] != '\0' ? v->said : "the verb failed, and did not say why");
}

static void call_gone(http_req *r, void *data)
{
    verb_call *k = data;

    (void)r;
    atomic_store(&k->gone, true);
}

static void call_done(void *ctx)
{
    verb_call *k = ctx;

    http_set(k->r, NULL, NULL);
    if (k->how.done != NULL)
        k->how.done(k->how.ctx, k->code, &k->verb, k->out.failed ? NULL : &k->out);
    else if (k->differs)
        problem(k->r, 412, "conflict", "the run has changed since; GET it again");
    else if (k->page.run != NULL)
        page_reply(k);
    else
        call_reply(k);
    call_free(k);
}

/* It was not performed. */
static void call_fails(http_req *r, const call_order *how, pawl_code why, const char *text)
{
    serve_verb none = { .why = why };

    snprintf(none.said, sizeof none.said, "%s", text);
    if (how->done != NULL)
        how->done(how->ctx, -1, &none, NULL);
    else
        problem(r, 503, pawl_code_name(why), text);
}

/* Whether the run is as the client has seen it: its text is that of GET /v1/runs/RUN. What another process writes between this and the verb is not seen. */
static bool is_as_seen(serve_calls *c, const verb_call *k)
{
    char show[] = "show", json[] = "--json", end[] = "--", tag[TAG_BYTES] = "", *words[] = { show, json, end, (char *)(uintptr_t)k->how.of };
    serve_verb look = { .who = k->verb.who, .n = 4, .words = words };
    bool same;
    buf out;

    if (strcmp(k->how.match, "*") == 0)
        return true;
    buf_init(&out, NULL);
    look.out = &out;
    if (c->s->config->verb(c->s->config->ctx, &look) == 0 && !out.failed)
        text_tag(&out, tag);
    same = tag[0] != '\0' && strstr(k->how.match, tag) != NULL;
    buf_free(&out);
    return same;
}

static void perform_one(serve_calls *c, verb_call *k)
{
    const serve_config *config = c->s->config;

    if (atomic_load(&k->gone)) {
        snprintf(k->verb.said, sizeof k->verb.said, "the client is gone");
        k->err.code = PAWL_CANCELED;
        return;
    }
    if (k->how.match != NULL && (k->differs = !is_as_seen(c, k)))
        return;
    if (k->page.run != NULL)
        (void)!items_page(c->store, &k->page, &k->out, &k->err);
    else
        k->code = config->verb(config->ctx, &k->verb);
    if (k->how.status == 200 && !k->out.failed)
        text_tag(&k->out, k->tag);
}

static void *perform(void *ctx)
{
    serve_calls *c = ctx;

    for (;;) {
        pthread_mutex_lock(&c->lock);
        while (c->first == NULL && !c->stop)
            pthread_cond_wait(&c->more, &c->lock);
        verb_call *k = c->stop ? NULL : c->first;

        if (k != NULL && (c->first = k->next) == NULL)
            c->last = &c->first;
        pthread_mutex_unlock(&c->lock);
        if (k == NULL)
            return NULL;
        perform_one(c, k);
        while (!http_post(c->s->http, call_done, k))
            nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);         /* no memory now */
    }
}

serve_calls *calls_new(server *s, pawl_err *err)
{
    serve_calls *c = calloc(1, sizeof *c);

    if (c == NULL) {
        fail(err, PAWL_NOMEM, "server: no memory");
        return NULL;
    }
    if ((c->store = s->config->store(s->config->ctx, err)) == NULL) {
        free(c);
        return NULL;
    }
    c->s = s;
    c->last = &c->first;
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->more, NULL);
    if (pthread_create(&c->thread, NULL, perform, c) == 0)
        return c;
    fail(err, PAWL_NOMEM, "server: no thread");
    pthread_mutex_destroy(&c->lock);
    pthread_cond_destroy(&c->more);
    pawl_store_free(c->store);
    free(c);
    return NULL;
}

void calls_free(serve_calls *c)
{
    if (c == NULL)
        return;
    pthread_mutex_lock(&c->lock);
    c->stop = true;
    pthread_cond_signal(&c->more);
    pthread_mutex_unlock(&c->lock);
    pthread_join(c->thread, NULL);
    while (c->all != NULL) {    /* their clients are gone: the loop has ended */
        call_fails(c->all->r, &c->all->how, PAWL_CANCELED, "the server stops");
        call_free(c->all);
    }
    pthread_mutex_destroy(&c->lock);
    pthread_cond_destroy(&c->more);
    pawl_store_free(c->store);
    free(c);
}

/* One that is malformed is as none: it says nothing of the request. */
static void trace_take(verb_call *k, const char *given)
{
    trace_id trace;
    span_id span;

    if (!traceparent_read(given, &trace, &span))
        return;
    traceparent_write(&trace, &span, k->trace);
    k->verb.trace = k->trace;
}

/* The same key of the same caller gives the same id, in every server of the store and after a crash. */
static void delivery_of(const asker *who, const char *key, char out[DELIVERY_BYTES])
{
    char hex[HASH_HEX + 1];
    buf b;
    hash h;

    buf_init(&b, NULL);
    buf_put(&b, who->by, strlen(who->by) + 1);
    buf_text(&b, key);
    hash_of(b.failed ? key : b.data, b.failed ? strlen(key) : b.size, &h);
    hash_hex(&h, hex);
    snprintf(out, DELIVERY_BYTES, "http-%.40s", hex);
    buf_free(&b);
}

/* With `n` texts, copied, to which `words` come to point. NULL: the request has ended. */
static verb_call *call_new(serve_calls *c, http_req *r, const admitted *by, const char *const *texts, size_t n, const call_order *how)
{
    verb_call *k = c->n < WAITING_MAX && n <= WORDS_MAX ? calloc(1, sizeof *k) : NULL;
    size_t at = 0;

    if (k == NULL) {
        call_fails(r, how, PAWL_LIMIT, c->n < WAITING_MAX ? "no memory for this request" : "too many requests wait");
        return NULL;
    }
    k->of = c;
    k->r = r;
    k->by = *by;
    tokens_keep(by->of);
    k->how = *how;
    k->code = 1;
    buf_init(&k->text, NULL);
    buf_init(&k->out, NULL);
    for (size_t i = 0; i < n; i++)
        buf_put(&k->text, texts[i], strlen(texts[i]) + 1);
    for (size_t i = 0; i < 2 && how->match != NULL; i++)
        buf_put(&k->text, i == 0 ? how->match : how->of, strlen(i == 0 ? how->match : how->of) + 1);
    k->after = c->all;
    if (k->after != NULL)
        k->after->before = k;
    c->all = k;
    c->n++;
    if (k->text.failed) {
        call_fails(r, how, PAWL_NOMEM, "no memory for this request");
        call_free(k);
        return NULL;
    }
    for (size_t i = 0; i < n; i++, at += strlen(k->text.data + at) + 1)
        k->words[i] = k->text.data + at;
    if (how->match != NULL) {
        k->how.match = k->text.data + at;
        k->how.of = k->how.match + strlen(k->how.match) + 1;
    }
    http_set(r, k, call_gone);
    return k;
}

static void call_queue(verb_call *k)
{
    serve_calls *c = k->of;

    pthread_mutex_lock(&c->lock);
    *c->last = k;
    c->last = &k->next;
    pthread_cond_signal(&c->more);
    pthread_mutex_unlock(&c->lock);
}

void calls_add(serve_calls *c, http_req *r, const admitted *by, const char *const *words, size_t n, const call_order *how)
{
    verb_call *k = call_new(c, r, by, words, n, how);

    if (k == NULL)
        return;
    k->verb = (serve_verb){ .who = by->who, .n = (int)n, .words = k->words, .out = &k->out };
    k->verb.machine = how->machine;     /* of the configuration */
    k->verb.once = how->once;
    trace_take(k, http_header(r, "traceparent"));
    if (how->key != NULL) {
        delivery_of(by->who, how->key, k->delivery);
        k->verb.delivery = k->delivery;
    }
    call_queue(k);
}

void calls_page(serve_calls *c, http_req *r, const admitted *by, const items_order *o)
{
    static const call_order how = { .type = "application/json", .fine = 1, .status = 200 };
    const char *const texts[] = { o->run, o->from != NULL ? o->from : "", o->kinds != NULL ? o->kinds : "" };
    verb_call *k = call_new(c, r, by, texts, 3, &how);

    if (k == NULL)
        return;
    k->page = (items_order){ k->words[0], o->from != NULL ? k->words[1] : NULL, o->kinds != NULL ? k->words[2] : NULL, o->limit };
    call_queue(k);
}
