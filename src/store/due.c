/* due.c - when a run is due for a worker; times; the errors that every verb returns alike.
 *
 * Owns nothing: pure functions but for store_system_ms, on any thread. Called by each store. The column look_ms of the SQLite schema computes
 * store_due_ms in SQL: test/store/contract*.c holds both to it. */
#include "store/store.h"

#include <time.h>

static int64_t earlier(int64_t a, int64_t b)
{
    return b != 0 && b < a ? b : a;
}

int64_t store_due_ms(const pawl_head *h, int64_t delivered_ms)
{
    int64_t at = INT64_MAX;

    if (h->parked != NULL)
        return at;
    if (h->owner != NULL)
        return h->over && delivered_ms == 0 && h->wake_ms == 0 ? at : h->lease_ms;
    at = earlier(at, delivered_ms);
    at = earlier(at, h->wake_ms);
    return h->work && !h->over ? earlier(at, h->changed_ms) : at;
}

bool store_is_due(const pawl_head *h, int64_t asked_ms, int64_t now_ms)
{
    if (h->owner != NULL)
        return !store_held(h, now_ms);
    return h->mail > 0 || (h->work && !h->over) || (h->wake_ms != 0 && h->wake_ms <= asked_ms);
}

int64_t store_time_add(int64_t now_ms, int64_t ttl_ms)
{
    return ttl_ms > INT64_MAX - now_ms ? INT64_MAX : now_ms + ttl_ms;
}

int64_t store_system_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

pawl_code store_run_missing(const char *run, pawl_err *err)
{
    return fail(err, PAWL_GONE, "%s: there is no such run", run);
}

pawl_code store_fenced(const char *run, uint64_t fence, uint64_t newest, pawl_err *err)
{
    return fail(err, PAWL_FENCED, "%s: fence %llu is not the newest, %llu: another owner has claimed the run", run,
                (unsigned long long)fence, (unsigned long long)newest);
}
