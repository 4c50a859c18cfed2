/* clock.c - the system's clocks and random numbers. Any thread; engine_now() reads the store's time under the engine's lock. */
#include "engine/engine.h"

#include <sys/random.h>
#include <time.h>

enum { LOOK_MS = 20 };

/* Without a clock from the host, the store's time, which all engines on the store share. */
int64_t engine_now(pawl_engine *e)
{
    int64_t now;

    if (e->clock.now_ms != NULL)
        return e->clock.now_ms(e->clock.ctx);
    pthread_mutex_lock(&e->lock);
    now = e->store->verbs->now(e->store);
    pthread_mutex_unlock(&e->lock);
    return now;
}

/* A signal handler that stops or drains cannot signal the condition, so the flags are read every LOOK_MS. */
void engine_sleep(pawl_engine *e, int64_t until_ms)
{
    int64_t now = steady_ms(), until;

    if (e->clock.sleep_until != NULL) {
        e->clock.sleep_until(e->clock.ctx, until_ms);
        return;
    }
    until = now + until_ms - engine_now(e);
    pthread_mutex_lock(&e->rouse_lock);
    for (; now < until && !e->roused && !e->stopping && !e->draining; now = steady_ms())
        (void)cond_wait(&e->rouse, &e->rouse_lock, until - now < LOOK_MS ? until : now + LOOK_MS);
    e->roused = false;
    pthread_mutex_unlock(&e->rouse_lock);
}

static int64_t ms_of(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t steady_ms(void)
{
    return ms_of(CLOCK_MONOTONIC);
}

int64_t steady_of(const pawl_engine *e)
{
    return e->drawn != NULL ? e->clock.now_ms(e->clock.ctx) : steady_ms();
}

int64_t system_ms(void)
{
    return ms_of(CLOCK_REALTIME);
}

void cond_begin(pthread_cond_t *cond)
{
    pthread_condattr_t attr;

    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attr);
    pthread_condattr_destroy(&attr);
}

bool cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t until_ms)
{
    const struct timespec at = { .tv_sec = (time_t)(until_ms / 1000), .tv_nsec = (long)(until_ms % 1000) * 1000000 };

    return pthread_cond_timedwait(cond, lock, &at) == 0;
}

bool chance(const pawl_engine *e, uint64_t out[2])
{
    ssize_t n;

    if (e != NULL && e->drawn != NULL)
        return e->drawn(e->drawn_ctx, out);
    n = getrandom(out, 2 * sizeof *out, 0);
    if (out[0] == 0)
        out[0] = 1;         /* 0 is not a valid life */
    return n == 2 * (ssize_t)sizeof *out;
}
