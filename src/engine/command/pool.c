/* pool.c - threads that perform. They see an errand and nothing else; the driving thread puts and takes. */
#include "engine/engine.h"

#include <stdlib.h>
#include <string.h>

enum { LOOK_MS = 100 };

typedef struct slot {          /* of a thread */
    pool *p;
    pthread_t thread;
    bool taken, left;           /* it has been begun and not joined; it is at its end */
    errand *at;                 /* what it performs */
} slot;

struct pool {
    pawl_alloc alloc;
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    errand *first, *last;       /* to be performed */
    errand *finished;
    unsigned count, out;        /* threads that there may be; errands that were put and not taken */
    unsigned begun, busy;       /* threads that there are; of them at work */
    unsigned queued;            /* errands that no thread has */
    size_t bytes;
    bool over, awaited;         /* awaited: the driving thread waits for one that is done */
    int64_t looked_ms;          /* when it was looked who does not come back */
    unsigned cap;
    slot slots[];
};

static void *perform_on(void *arg)
{
    slot *mine = arg;
    pool *p = mine->p;

    pthread_mutex_lock(&p->lock);
    while (!p->over && !mine->left) {
        errand *er = p->first;

        if (er == NULL) {
            pthread_cond_wait(&p->work, &p->lock);
            continue;
        }
        p->first = er->queued;
        p->queued--;
        p->busy++;
        mine->at = er;
        pthread_mutex_unlock(&p->lock);
        errand_run(er);
        pthread_mutex_lock(&p->lock);
        p->busy--;
        mine->at = NULL;
        mine->left = er->replaced;      /* another one does its work */
        er->queued = p->finished;
        p->finished = er;
        if (p->awaited && er->queued == NULL) {     /* without the lock: who wakes up wants it */
            pthread_mutex_unlock(&p->lock);
            pthread_cond_signal(&p->done);
            pthread_mutex_lock(&p->lock);
        }
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

static bool thread_begin(pool *p, slot *at)
{
    *at = (slot){ .p = p };
    at->taken = pthread_create(&at->thread, NULL, perform_on, at) == 0;
    return at->taken;
}

/* Another thread in a free slot; false: there is none. */
static bool thread_more(pool *p)
{
    for (unsigned i = 0; i < p->cap; i++) {
        slot *s = &p->slots[i];

        if (s->taken && !s->left)
            continue;
        if (s->taken)
            pthread_join(s->thread, NULL);
        return thread_begin(p, s);
    }
    return false;
}

void pool_replace(pawl_engine *e)
{
    pool *p = e->pool;
    int64_t now = steady_ms();

    if (p == NULL)
        return;
    pthread_mutex_lock(&p->lock);
    p->looked_ms = now;
    for (unsigned i = 0; i < p->cap; i++) {
        errand *er = p->slots[i].at;

        if (er != NULL && !er->replaced && (er->stray || (er->told_ms > 0 && now - er->told_ms >= e->grace_ms)))
            er->replaced = thread_more(p);
    }
    pthread_mutex_unlock(&p->lock);
}

void pool_begin(pawl_engine *e, unsigned threads)
{
    pool *p;

    pool_end(e);
    if (threads == 0 || (p = mem_new(&e->alloc, sizeof *p + (threads + STRAYS_MAX) * sizeof *p->slots)) == NULL)
        return;
    p->alloc = e->alloc;
    p->cap = threads + STRAYS_MAX;
    p->bytes = sizeof *p + p->cap * sizeof *p->slots;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->work, NULL);
    cond_begin(&p->done);
    /* One now, which says whether there can be any; the others when there is work for them. */
    p->begun = thread_begin(p, &p->slots[0]);
    p->count = p->begun > 0 ? threads : 0;
    e->pool = p;
}

void pool_end(pawl_engine *e)
{
    pool *p = e->pool;
    pawl_alloc alloc;

    if (p == NULL)
        return;
    pthread_mutex_lock(&p->lock);
    p->over = true;
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->lock);
    for (unsigned i = 0; i < p->cap; i++)
        if (p->slots[i].taken)
            pthread_join(p->slots[i].thread, NULL);
    (void)errands_come(e, 0);
    for (errand *er = p->first, *next; er != NULL; er = next) {
        next = er->queued;
        errand_unbegun(e, er);
    }
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->work);
    pthread_cond_destroy(&p->done);
    e->pool = NULL;
    alloc = p->alloc;
    mem_free(&alloc, p, p->bytes);
}

unsigned pool_out(const pawl_engine *e) { return e->pool != NULL ? e->pool->out : 0; }
unsigned pool_size(const pawl_engine *e) { return e->pool != NULL ? e->pool->count : 0; }

bool pool_put(pawl_engine *e, errand *er)
{
    pool *p = e->pool;

    if (p == NULL || p->count == 0)
        return false;
    pthread_mutex_lock(&p->lock);
    er->queued = NULL;
    if (p->first == NULL)
        p->first = er;
    else
        p->last->queued = er;
    p->last = er;
    p->out++;
    p->queued++;
    if (p->begun < p->count && (int64_t)p->begun - (int64_t)p->busy < (int64_t)p->queued && thread_more(p))
        p->begun++;
    pthread_mutex_unlock(&p->lock);
    pthread_cond_signal(&p->work);
    return true;
}

void pool_rouse(pawl_engine *e)
{
    pool *p = e->pool;

    if (p == NULL)
        return;
    pthread_mutex_lock(&p->lock);
    pthread_cond_signal(&p->done);
    pthread_mutex_unlock(&p->lock);
}

errand *pool_take(pawl_engine *e, int64_t wait_ms)
{
    pool *p = e->pool;
    int64_t until_ms = wait_ms > 0 ? steady_ms() + wait_ms : 0;
    errand *done;

    if (p == NULL || p->out == 0)
        return NULL;
    if (steady_ms() - p->looked_ms >= LOOK_MS)
        pool_replace(e);
    pthread_mutex_lock(&p->lock);
    p->awaited = true;
    while (p->finished == NULL && until_ms > 0 && !e->roused && cond_wait(&p->done, &p->lock, until_ms))
        continue;
    p->awaited = false;
    if (until_ms > 0)
        e->roused = false;
    done = p->finished;
    p->finished = NULL;
    for (const errand *er = done; er != NULL; er = er->queued)
        p->out--;
    pthread_mutex_unlock(&p->lock);
    return done;
}
