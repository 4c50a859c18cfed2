/* retention.c - removes finished runs whose retention has passed (G10). Their base has the rule, and the timer that was stored with their end
 * the time. A finished child is removed by the engine that drives its parent.
 *
 * Owns nothing. Called by pawl_store_sweep, on the thread that uses the handle; each run is claimed before it is removed. */
#include "store/store.h"

enum { SWEEP_LIMIT = 1000, SWEEP_BATCH = 64, SWEEP_TTL_MS = 30000 };

typedef struct batch {
    char ids[SWEEP_BATCH][STORE_RUN_BYTES_MAX + 1];
    pawl_claim claims[SWEEP_BATCH];
    pawl_hold left[SWEEP_BATCH];
    int64_t now_ms;
    pawl_due after;             /* the last one that was told */
    size_t n, most, nleft, told;
} batch;

static bool may_go(const pawl_head *h, int64_t now_ms)
{
    return h->over && h->parent == NULL && h->wake_ms != 0 && h->wake_ms <= now_ms;
}

static bool see_due(void *ctx, const pawl_head *h)
{
    batch *b = ctx;

    b->told++;
    b->after = (pawl_due){ h->look_ms, h->no };
    if (!may_go(h, b->now_ms))
        return true;
    memcpy(b->ids[b->n], h->run, strlen(h->run) + 1);
    b->claims[b->n] = (pawl_claim){ .run = b->ids[b->n] };
    return ++b->n < b->most;
}

typedef struct kept { bool ends, failed; } kept;

static bool see_base(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    kept *k = ctx;
    const pawl_value *v;
    int64_t ms;
    arena mem;

    (void)seq;
    if (kind != PAWL_LINE_BASE)
        return false;
    arena_init(&mem, NULL, line.size);
    v = value_read(&mem, line.data, line.size, "the base", NULL);
    k->ends = store_retention_read(pawl_value_string(pawl_value_get(v, "retention")), &ms) && ms < INT64_MAX;
    k->failed = mem.failed;
    arena_free(&mem);
    return false;
}

/* PAWL_IGNORED: it is to be kept, and its timer is for something else. */
static pawl_code one_remove(pawl_store *s, const char *run, uint64_t fence)
{
    kept k = { false, false };
    pawl_code rc = s->verbs->load(s, run, see_base, &k, NULL);

    if (rc == PAWL_OK && k.failed)
        rc = PAWL_NOMEM;
    return rc != PAWL_OK ? rc : k.ends ? s->verbs->remove(s, run, fence, NULL) : PAWL_IGNORED;
}

/* Claimed first: whoever holds one, or has begun it again, keeps it. */
static pawl_code batch_remove(pawl_store *s, batch *b, size_t *n, pawl_err *err)
{
    pawl_code rc = s->verbs->claim(s, "sweep", SWEEP_TTL_MS, b->claims, b->n, err), one;

    b->nleft = 0;
    for (size_t i = 0; i < b->n && rc == PAWL_OK; i++) {
        const pawl_claim *c = &b->claims[i];

        if (c->rc != PAWL_OK)
            continue;
        one = may_go(&c->head, b->now_ms) ? one_remove(s, b->ids[i], c->head.fence) : PAWL_IGNORED;
        *n += one == PAWL_OK;
        if (one == PAWL_IGNORED || (one != PAWL_OK && one != PAWL_FENCED && one != PAWL_GONE))
            b->left[b->nleft++] = (pawl_hold){ .run = b->ids[i], .fence = c->head.fence };
        if (one < 0 && one != PAWL_FENCED && one != PAWL_GONE)
            rc = fail(err, one, "%s: its retention has passed, and it could not be removed: %s", b->ids[i], pawl_code_name(one));
    }
    if (b->nleft > 0)
        (void)s->verbs->release(s, b->left, b->nleft, NULL);
    return rc;
}

/* Along the order of what is due, once: what comes to be due meanwhile is for the next time. */
pawl_code pawl_store_sweep(pawl_store *s, size_t limit, size_t *n, pawl_err *err)
{
    pawl_alloc alloc = mem_or_default(NULL);
    size_t gone = 0, most = limit == 0 ? SWEEP_LIMIT : limit;
    batch *b = s == NULL ? NULL : mem_new(&alloc, sizeof *b);
    bool begun = false;
    pawl_code rc = s == NULL ? fail(err, PAWL_INVALID, "no store is swept") : b == NULL ? fail(err, PAWL_NOMEM, "no memory to sweep") : PAWL_OK;

    if (rc == PAWL_OK)
        b->now_ms = s->verbs->now(s);
    while (rc == PAWL_OK && gone < most) {
        pawl_due after = b->after;

        b->n = b->told = 0;
        b->most = most - gone < SWEEP_BATCH ? most - gone : SWEEP_BATCH;
        rc = s->verbs->due(s, b->now_ms, begun ? &after : NULL, SWEEP_LIMIT, see_due, b, err);
        if (rc != PAWL_OK || b->told == 0)
            break;
        begun = true;
        if (b->n > 0)
            rc = batch_remove(s, b, &gone, err);
    }
    mem_free(&alloc, b, sizeof *b);
    if (n != NULL)
        *n = gone;
    return rc;
}
