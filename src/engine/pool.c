/* pool.c - threads that perform. They see an errand and nothing else; the driving thread puts and takes. */
#include "engine/engine.h"

#include <stdlib.h>
#include <string.h>

struct pool {
    pawl_alloc alloc;
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    errand *first, *last;       /* to be performed */
    errand *finished;
    unsigned count, out;        /* threads; errands that were put and not taken */
    size_t bytes;
    bool over;
    pthread_t threads[];
};

static void *perform_on(void *arg)
{
    pool *p = arg;

    pthread_mutex_lock(&p->lock);
    while (!p->over) {
        errand *er = p->first;

        if (er == NULL) {
            pthread_cond_wait(&p->work, &p->lock);
            continue;
        }
        p->first = er->queued;
        pthread_mutex_unlock(&p->lock);
        errand_run(er);
        pthread_mutex_lock(&p->lock);
        er->queued = p->finished;
        p->finished = er;
        pthread_cond_signal(&p->done);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

void pool_begin(pawl_engine *e, unsigned threads)
{
    pool *p;

    pool_end(e);
    if (threads == 0 || (p = mem_new(&e->alloc, sizeof *p + threads * sizeof *p->threads)) == NULL)
        return;
    p->alloc = e->alloc;
    p->bytes = sizeof *p + threads * sizeof *p->threads;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->work, NULL);
    cond_begin(&p->done);
    while (p->count < threads && pthread_create(&p->threads[p->count], NULL, perform_on, p) == 0)
        p->count++;
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
    for (unsigned i = 0; i < p->count; i++)
        pthread_join(p->threads[i], NULL);
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
    pthread_cond_signal(&p->work);
    pthread_mutex_unlock(&p->lock);
    return true;
}

errand *pool_take(pawl_engine *e, int64_t wait_ms)
{
    pool *p = e->pool;
    int64_t until_ms = wait_ms > 0 ? steady_ms() + wait_ms : 0;
    errand *done;

    if (p == NULL || p->out == 0)
        return NULL;
    pthread_mutex_lock(&p->lock);
    while (p->finished == NULL && until_ms > 0 && cond_wait(&p->done, &p->lock, until_ms))
        continue;
    done = p->finished;
    p->finished = NULL;
    for (const errand *er = done; er != NULL; er = er->queued)
        p->out--;
    pthread_mutex_unlock(&p->lock);
    return done;
}
