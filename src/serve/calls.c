/* calls.c - the thread that performs verbs for requests, one after another, in the order in which they came.
 *
 * `lock` covers the queue and `stop`; the loop thread adds a call and ends its request, the thread performs it in between. A verb opens the store anew,
 * so it sees what is stored now, and a fault of it touches no other request. */
#include "serve/serve_inner.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { WORDS_MAX = 64, WAITING_MAX = 1000 };

typedef struct verb_call {
    struct verb_call *next;     /* in the queue */
    struct verb_call *after, *before;   /* of all that have not ended; loop thread */
    serve_calls *of;
    http_req *r;
    admitted by;
    const char *type;
    unsigned fine;
    int code;
    char *words[WORDS_MAX];
    size_t n;
    buf text;                   /* the words */
    buf out;
    atomic_bool gone;           /* its client */
    char said[SERVE_SAID_BYTES];
} verb_call;

struct serve_calls {
    server *s;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t more;
    verb_call *first, **last;
    verb_call *all;             /* loop thread */
    size_t n;                   /* of `all` */
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

/* What an exit code means for a request; the reason is what the verb said. */
static void call_reply(verb_call *k)
{
    static const struct {
        unsigned status;
        const char *code;
    } rows[] = { { 500, "io" }, { 500, "effect" }, { 400, "invalid" }, { 409, "conflict" }, { 409, "canceled" }, { 503, "io" }, { 409, "held" } };
    const size_t row = k->code >= 0 && (size_t)k->code < sizeof rows / sizeof rows[0] ? (size_t)k->code : 0;

    /* 1 is "they differ" of one verb, and a failure of every: that has said why. */
    if (k->code >= 0 && k->code < 32 && (k->fine >> k->code & 1) != 0 && (k->code == 0 || (k->said[0] == '\0' && k->out.size > 0)))
        text_reply(k->r, k->type, &k->out);
    else
        problem(k->r, rows[row].status, rows[row].code, k->said[0] != '\0' ? k->said : "the verb failed, and did not say why");
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

    call_reply(k);
    call_free(k);
}

static void *perform(void *ctx)
{
    serve_calls *c = ctx;
    const serve_config *config = c->s->config;

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
        if (atomic_load(&k->gone))
            snprintf(k->said, sizeof k->said, "the client is gone");
        else
            k->code = config->verb(config->ctx, k->by.who, (int)k->n, k->words, &k->out, k->said);
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
    c->s = s;
    c->last = &c->first;
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->more, NULL);
    if (pthread_create(&c->thread, NULL, perform, c) != 0) {
        fail(err, PAWL_NOMEM, "server: no thread");
        pthread_mutex_destroy(&c->lock);
        pthread_cond_destroy(&c->more);
        free(c);
        return NULL;
    }
    return c;
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
        problem(c->all->r, 503, "canceled", "the server stops");
        call_free(c->all);
    }
    pthread_mutex_destroy(&c->lock);
    pthread_cond_destroy(&c->more);
    free(c);
}

void calls_add(serve_calls *c, http_req *r, const admitted *by, const char *const *words, size_t n, const char *type, unsigned fine)
{
    verb_call *k = c->n < WAITING_MAX && n <= WORDS_MAX ? calloc(1, sizeof *k) : NULL;
    size_t at = 0;

    if (k == NULL) {
        problem(r, 503, "limit", c->n < WAITING_MAX ? "no memory for this request" : "too many requests wait");
        return;
    }
    k->of = c;
    k->r = r;
    k->by = *by;
    tokens_keep(by->of);
    k->type = type;
    k->fine = fine;
    k->code = 1;
    k->n = n;
    buf_init(&k->text, NULL);
    buf_init(&k->out, NULL);
    for (size_t i = 0; i < n; i++)
        buf_put(&k->text, words[i], strlen(words[i]) + 1);
    k->after = c->all;
    if (k->after != NULL)
        k->after->before = k;
    c->all = k;
    c->n++;
    if (k->text.failed) {
        problem(r, 503, "nomem", "no memory for this request");
        call_free(k);
        return;
    }
    for (size_t i = 0; i < n; i++, at += strlen(k->text.data + at) + 1)
        k->words[i] = k->text.data + at;
    http_set(r, k, call_gone);
    pthread_mutex_lock(&c->lock);
    *c->last = k;
    c->last = &k->next;
    pthread_cond_signal(&c->more);
    pthread_mutex_unlock(&c->lock);
}
