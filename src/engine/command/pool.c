/* pool.c - threads that run attempts.
 *
 * Owns the threads and the queue of entries that wait for one, under the pool's lock. The driving thread puts entries in; a pool thread runs the
 * attempt, sees nothing but its entry, and puts it into completions.c. Invariant: a thread whose handler does not stop is replaced by another, so
 * that `count` threads are at work. */
#include "engine/command/attempt.h"
#include "engine/run/run.h"

#include <stdlib.h>
#include <string.h>

enum {
    LOOK_MS = 100,              /* threads that do not return are looked for that often */
    QUEUE_FEW = 64              /* pool_room(): with so many in the queue arguments are not copied for further ones */
};

typedef struct slot {           /* of a thread */
    pool *p;
    pthread_t thread;
    bool taken, left;           /* the thread was started and is not joined; it ends, or has ended */
    outbox_entry *at;           /* the entry that it runs */
} slot;

struct pool {
    pawl_engine *e;
    pawl_alloc alloc;
    pthread_mutex_t lock;
    pthread_cond_t work;
    outbox_entry *first, *last; /* the queue */
    unsigned count;             /* threads that there may be */
    unsigned begun, busy;       /* threads that there are; of them at work */
    unsigned queued;            /* entries that no thread has */
    size_t bytes;
    bool over;
    bool full;                  /* the queue had QUEUE_FEW entries: the driving thread is woken when half of them are left */
    int64_t looked_ms;          /* when threads that do not come back were looked for */
    bool simulated;             /* no threads: a random number says what a thread would do next, and the driving thread does it */
    outbox_entry *held;         /* simulated: performed, not yet returned to the driving thread */
    unsigned nheld;
    unsigned cap;
    slot slots[];
};

static void *perform_on(void *arg)
{
    slot *mine = arg;
    pool *p = mine->p;

    pthread_mutex_lock(&p->lock);
    while (!p->over && !mine->left) {
        outbox_entry *entry = p->first;
        pawl_code rc;

        if (entry == NULL) {
            pthread_cond_wait(&p->work, &p->lock);
            continue;
        }
        p->first = entry->queued;
        p->queued--;
        if (p->full && p->queued <= QUEUE_FEW / 2) {
            p->full = false;
            p->e->roused = true;
            completions_wake(p->e);
        }
        p->busy++;
        mine->at = entry;
        pthread_mutex_unlock(&p->lock);
        rc = attempt_run(entry);
        pthread_mutex_lock(&p->lock);
        p->busy--;
        mine->at = NULL;
        mine->left = entry->attempt.thread_replaced;      /* another one does its work */
        if (attempt_returned(p->e, entry, rc))
            completions_put(p->e, entry);
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
    int64_t now = steady_of(e);

    if (p == NULL)
        return;
    pthread_mutex_lock(&p->lock);
    p->looked_ms = now;
    for (unsigned i = 0; i < p->cap; i++) {
        outbox_entry *entry = p->slots[i].at;

        if (entry != NULL && !entry->attempt.thread_replaced &&
            (entry->state == ENTRY_STRAY || (entry->attempt.stop_ms > 0 && now - entry->attempt.stop_ms >= e->grace_ms)))
            entry->attempt.thread_replaced = thread_more(p);
    }
    pthread_mutex_unlock(&p->lock);
}

/* ---- simulated threads ----------------------------------------------------------------------------- */

/* Removes entry `n` of a list that is linked by `queued`. */
static outbox_entry *list_remove(outbox_entry **from, uint64_t n)
{
    outbox_entry *entry;

    for (; n > 0; n--)
        from = &(*from)->queued;
    entry = *from;
    *from = entry->queued;
    return entry;
}

static void simulated_perform(pool *p, uint64_t n)
{
    outbox_entry *entry = list_remove(&p->first, n);

    p->queued--;
    for (p->last = p->first; p->last != NULL && p->last->queued != NULL;)
        p->last = p->last->queued;
    if (!attempt_returned(p->e, entry, attempt_run(entry)))
        return;                 /* it answers later */
    entry->queued = p->held;
    p->held = entry;
    p->nheld++;
}

static void simulated_return(pool *p, uint64_t n)
{
    outbox_entry *entry = list_remove(&p->held, n);

    p->nheld--;
    completions_put(p->e, entry);
}

/* Which thread moves next is drawn: one that calls a handler, or one whose handler returned. Stops by chance; with `wait`, not before
 * one has returned. The lowest bit of a draw is not used: chance() also draws lives of runs, and sets it in all of them. */
static void simulated_threads(pawl_engine *e, bool wait)
{
    pool *p = e->pool;
    uint64_t drawn[2];

    while (p->nheld + p->queued > 0 && chance(e, drawn)) {
        const unsigned unused = p->count - p->nheld, ready = p->queued < unused ? p->queued : unused;
        const uint64_t n = (drawn[0] >> 8) % (p->nheld + ready);

        if ((!wait || completions_any(e)) && (drawn[0] >> 1) % 2 == 0)
            return;
        if (n < ready)
            simulated_perform(p, n);
        else
            simulated_return(p, n - ready);
    }
}

void pool_simulate(pawl_engine *e, bool all)
{
    pool *p = e->pool;

    if (p == NULL || !p->simulated)
        return;
    simulated_threads(e, false);
    while (all && p->nheld + p->queued > 0)
        if (p->nheld > 0)
            simulated_return(p, 0);
        else
            simulated_perform(p, 0);
}

void pool_begin(pawl_engine *e, unsigned threads)
{
    pool *p;

    PAWL_ASSERT(e->pool == NULL, "an engine has one pool");
    if (threads == 0 || (p = mem_new(&e->alloc, sizeof *p + (threads + STRAYS_MAX) * sizeof *p->slots)) == NULL)
        return;
    p->alloc = e->alloc;
    p->e = e;
    p->cap = threads + STRAYS_MAX;
    p->bytes = sizeof *p + p->cap * sizeof *p->slots;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->work, NULL);
    p->simulated = e->drawn != NULL;
    p->count = threads;
    e->pool = p;
    if (p->simulated)
        return;
    /* One thread now, to find out whether threads can be made; the others when there is work for them. */
    p->begun = thread_begin(p, &p->slots[0]);
    p->count = p->begun > 0 ? threads : 0;
}

outbox_entry *pool_end(pawl_engine *e)
{
    pool *p = e->pool;
    outbox_entry *unstarted;
    pawl_alloc alloc;

    if (p == NULL)
        return NULL;
    pthread_mutex_lock(&p->lock);
    p->over = true;
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->lock);
    for (unsigned i = 0; i < p->cap; i++)
        if (p->slots[i].taken)
            pthread_join(p->slots[i].thread, NULL);
    while (p->held != NULL)
        simulated_return(p, 0);
    unstarted = p->first;
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->work);
    e->pool = NULL;
    alloc = p->alloc;
    mem_free(&alloc, p, p->bytes);
    return unstarted;
}

unsigned pool_size(const pawl_engine *e) { return e->pool != NULL ? e->pool->count : 0; }

bool pool_put(pawl_engine *e, outbox_entry *entry)
{
    pool *p = e->pool;

    if (p == NULL || p->count == 0)
        return false;
    pthread_mutex_lock(&p->lock);
    entry->queued = NULL;
    if (p->first == NULL)
        p->first = entry;
    else
        p->last->queued = entry;
    p->last = entry;
    completions_expect(e, 1);
    p->full = ++p->queued >= QUEUE_FEW || p->full;
    if (!p->simulated && p->begun < p->count && (int64_t)p->begun - (int64_t)p->busy < (int64_t)p->queued && thread_more(p))
        p->begun++;
    pthread_mutex_unlock(&p->lock);
    pthread_cond_signal(&p->work);
    return true;
}

size_t pool_room(pawl_engine *e)
{
    pool *p = e->pool;
    size_t room;

    if (p == NULL)
        return 0;
    pthread_mutex_lock(&p->lock);
    room = p->queued < QUEUE_FEW ? QUEUE_FEW - p->queued : 0;
    pthread_mutex_unlock(&p->lock);
    return room;
}

void pool_tend(pawl_engine *e, bool wait)
{
    pool *p = e->pool;

    if (p == NULL)
        return;
    if (p->simulated && !p->over)
        simulated_threads(e, wait);
    else if (steady_ms() - p->looked_ms >= LOOK_MS)
        pool_replace(e);
}
