/* host.c - clocks, and SIGPIPE.
 *
 * Any thread; a pipe_hold belongs to the thread that guards. */
#include "net/net.h"

#include <errno.h>
#include <time.h>

static int64_t ms_of(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t clock_ms(void)
{
    return ms_of(CLOCK_MONOTONIC);
}

int64_t epoch_ms(void)
{
    return ms_of(CLOCK_REALTIME);
}

static bool pipe_pending(void)
{
    sigset_t pending;

    sigemptyset(&pending);
    sigpending(&pending);
    return sigismember(&pending, SIGPIPE) == 1;
}

void pipe_guard(pipe_hold *h)
{
    sigset_t one;

    sigemptyset(&one);
    sigaddset(&one, SIGPIPE);
    h->pending = pipe_pending();
    pthread_sigmask(SIG_BLOCK, &one, &h->before);
}

void pipe_release(const pipe_hold *h)
{
    sigset_t one;

    sigemptyset(&one);
    sigaddset(&one, SIGPIPE);
    if (!h->pending && pipe_pending())
        while (sigtimedwait(&one, NULL, &(struct timespec){0}) < 0 && errno == EINTR)
            continue;
    pthread_sigmask(SIG_SETMASK, &h->before, NULL);
}
