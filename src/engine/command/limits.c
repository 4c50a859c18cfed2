/* limits.c - checks the limits of a command: its times, its number of attempts, its class (E5, E7, E8).
 *
 * Pure functions of an entry and a time. Any thread that may read the entry. */
#include "engine/command/attempt.h"

bool has_limit(const pawl_limits *l)
{
    return l->attempt_timeout_ms > 0 || l->total_timeout_ms > 0 || l->heartbeat_ms > 0;
}

const char *limit_over(const outbox_entry *entry, int64_t now)
{
    const pawl_limits *l = &entry->limits;
    const struct { const char *name; uint32_t ms; int64_t took; } limits[] = {
        { "total_timeout_ms", l->total_timeout_ms, now - entry->first_ms },
        { "attempt_timeout_ms", l->attempt_timeout_ms, now - entry->attempt.started_ms },
        { "heartbeat_ms", entry_is(entry, ENTRIES_RUNNING) ? l->heartbeat_ms : 0, now - entry->attempt.beat_ms },
    };

    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        if (limits[i].ms > 0 && limits[i].took > limits[i].ms)
            return limits[i].name;
    }
    return NULL;
}

bool entry_has_expired(const outbox_entry *entry, int64_t now)
{
    return !BROKEN(BROKEN_TOTAL_TIMEOUT) && entry->limits.total_timeout_ms > 0 && entry->first_ms > 0 && now - entry->first_ms > entry->limits.total_timeout_ms;
}

const char *nearest_limit(const pawl_limits *l, int64_t gone, int64_t *left)
{
    const char *name = l->total_timeout_ms > 0 ? "total_timeout_ms" : NULL;

    *left = l->total_timeout_ms > 0 ? l->total_timeout_ms - gone : 0;
    if (l->attempt_timeout_ms > 0 && (name == NULL || l->attempt_timeout_ms < *left)) {
        *left = l->attempt_timeout_ms;
        name = "attempt_timeout_ms";
    }
    if (name != NULL && *left < 1)
        *left = 1;
    return name;
}

bool is_retryable(pawl_code code)
{
    return code == PAWL_TRANSIENT || code == PAWL_TIMEOUT || code == PAWL_IO;
}

bool entry_is_in_doubt(const outbox_entry *entry)
{
    uint32_t made = entry->job.attempt - entry->cleared - entry->further, most = entry->limits.retry.max_attempts;

    if (entry->h != NULL && entry->h->sql && entry->limits.cls != PAWL_CLASS_ONCE)
        return false;           /* a command in SQL: without a receipt it has not happened */
    return entry->in_doubt && entry->resolution != RESOLUTION_ASKING && made > 0 &&
           ((entry->limits.cls == PAWL_CLASS_ONCE && (most <= 1 || !BROKEN(BROKEN_ONCE_RETRY))) || (most > 1 && made >= most));
}
