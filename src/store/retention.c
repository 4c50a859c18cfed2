/* retention.c - removes finished runs whose retention has passed (G10). The base has the rule, and the timer that was stored with the end of the
 * run the time. A finished child is removed by the engine that drives its parent.
 *
 * Owns nothing. pawl_store_sweep is public, on the thread that uses the handle; store_retention_read is called by src/engine/run.
 * Invariant: a run is claimed before it is removed, so one that another owner holds, or that was created again meanwhile, stays. */
#include "store/store.h"

enum { SWEEP_LIMIT = 1000, SWEEP_BATCH = 64, SWEEP_TTL_MS = 30000, RETENTION_MAX = 1000000000 };

bool store_retention_read(const char *text, int64_t *ms)
{
    static const struct { const char *name; int64_t ms; } units[] = {
        { "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", 3600000 }, { "d", 86400000 },
    };
    int64_t n = 0;

    *ms = INT64_MAX;
    if (text == NULL || strcmp(text, "keep") == 0)
        return true;
    if (strcmp(text, "delete") == 0) {
        *ms = 0;
        return true;
    }
    if (strncmp(text, "keep:", 5) != 0 || text[5] < '1' || text[5] > '9')
        return false;
    for (text += 5; *text >= '0' && *text <= '9' && n < RETENTION_MAX; text++)
        n = n * 10 + (*text - '0');
    for (size_t i = 0; i < sizeof units / sizeof *units && n < RETENTION_MAX; i++)
        if (strcmp(text, units[i].name) == 0) {
            *ms = n * units[i].ms;
            return true;
        }
    return false;
}

/* ---- the sweep ------------------------------------------------------------------------------------ */

typedef struct sweep_batch {
    char ids[SWEEP_BATCH][STORE_RUN_BYTES_MAX + 1];
    pawl_claim claims[SWEEP_BATCH];
    pawl_hold releases[SWEEP_BATCH];    /* claimed, and not removed */
    int64_t now_ms;
    pawl_due position;          /* of the last run that was seen */
    size_t n, limit, nreleases, seen;
} sweep_batch;

static bool retention_passed(const pawl_head *h, int64_t now_ms)
{
    return h->over && h->parent == NULL && h->wake_ms != 0 && h->wake_ms <= now_ms;
}

static bool collect_due(void *ctx, const pawl_head *h)
{
    sweep_batch *b = ctx;

    b->seen++;
    b->position = (pawl_due){ h->look_ms, h->no };
    if (!retention_passed(h, b->now_ms))
        return true;
    memcpy(b->ids[b->n], h->run, strlen(h->run) + 1);
    b->claims[b->n] = (pawl_claim){ .run = b->ids[b->n] };
    return ++b->n < b->limit;
}

typedef struct retention_rule { bool removes, no_memory; } retention_rule;

static bool rule_of_base(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    retention_rule *rule = ctx;
    const pawl_value *v;
    int64_t ms;
    arena mem;

    (void)seq;
    if (kind != PAWL_LINE_BASE)
        return false;
    arena_init(&mem, NULL, line.size);
    v = value_read(&mem, line.data, line.size, "the base", NULL);
    rule->removes = store_retention_read(pawl_value_string(pawl_value_get(v, "retention")), &ms) && ms < INT64_MAX;
    rule->no_memory = mem.failed;
    arena_free(&mem);
    return false;
}

/* PAWL_IGNORED: the run is kept for ever, and its timer is for something else. */
static pawl_code one_remove(pawl_store *s, const char *run, uint64_t fence)
{
    retention_rule rule = { false, false };
    pawl_code rc = s->verbs->load(s, run, rule_of_base, &rule, NULL);

    if (rc == PAWL_OK && rule.no_memory)
        rc = PAWL_NOMEM;
    return rc != PAWL_OK ? rc : rule.removes ? s->verbs->remove(s, run, fence, NULL) : PAWL_IGNORED;
}

static pawl_code batch_remove(pawl_store *s, sweep_batch *b, size_t *n, pawl_err *err)
{
    pawl_code rc = s->verbs->claim(s, "sweep", SWEEP_TTL_MS, b->claims, b->n, err), one;

    b->nreleases = 0;
    for (size_t i = 0; i < b->n && rc == PAWL_OK; i++) {
        const pawl_claim *c = &b->claims[i];

        if (c->rc != PAWL_OK)
            continue;
        one = retention_passed(&c->head, b->now_ms) ? one_remove(s, b->ids[i], c->head.fence) : PAWL_IGNORED;
        *n += one == PAWL_OK;
        if (one == PAWL_IGNORED || (one != PAWL_OK && one != PAWL_FENCED && one != PAWL_GONE))
            b->releases[b->nreleases++] = (pawl_hold){ .run = b->ids[i], .fence = c->head.fence };
        if (one < 0 && one != PAWL_FENCED && one != PAWL_GONE)
            rc = fail(err, one, "%s: its retention has passed, and it could not be removed: %s", b->ids[i], pawl_code_name(one));
    }
    if (b->nreleases > 0)
        (void)s->verbs->release(s, b->releases, b->nreleases, NULL);
    return rc;
}

/* Goes through the order of due runs once: a run that becomes due meanwhile is left to the next sweep, so the loop ends. */
pawl_code pawl_store_sweep(pawl_store *s, size_t limit, size_t *n, pawl_err *err)
{
    pawl_alloc alloc = mem_or_default(NULL);
    size_t removed = 0, most = limit == 0 ? SWEEP_LIMIT : limit;
    sweep_batch *b = s == NULL ? NULL : mem_new(&alloc, sizeof *b);
    bool started = false;
    pawl_code rc = s == NULL ? fail(err, PAWL_INVALID, "a sweep needs a store") : b == NULL ? fail(err, PAWL_NOMEM, "no memory to sweep") : PAWL_OK;

    if (rc == PAWL_OK)
        b->now_ms = s->verbs->now(s);
    while (rc == PAWL_OK && removed < most) {
        pawl_due position = b->position;

        b->n = b->seen = 0;
        b->limit = most - removed < SWEEP_BATCH ? most - removed : SWEEP_BATCH;
        rc = s->verbs->due(s, b->now_ms, started ? &position : NULL, SWEEP_LIMIT, collect_due, b, err);
        if (rc != PAWL_OK || b->seen == 0)
            break;
        started = true;
        if (b->n > 0)
            rc = batch_remove(s, b, &removed, err);
    }
    mem_free(&alloc, b, sizeof *b);
    if (n != NULL)
        *n = removed;
    return rc;
}
