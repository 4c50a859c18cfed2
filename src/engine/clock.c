/* clock.c - the system's time, and its chance. */
#include "engine/engine.h"

#include <errno.h>
#include <sys/random.h>
#include <time.h>

static int64_t system_now(void *ctx)
{
    struct timespec t;

    (void)ctx;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void system_sleep(void *ctx, int64_t time_ms)
{
    int64_t ms = time_ms - system_now(ctx);
    struct timespec left = { .tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000 };

    while (ms > 0 && nanosleep(&left, &left) != 0 && errno == EINTR)
        continue;
}

pawl_clock clock_system(void)
{
    return (pawl_clock){ system_now, system_sleep, NULL };
}

bool chance(uint64_t out[2])
{
    ssize_t n = getrandom(out, 2 * sizeof *out, 0);

    if (out[0] == 0)
        out[0] = 1;         /* a life of 0 is none */
    return n == 2 * (ssize_t)sizeof *out;
}
