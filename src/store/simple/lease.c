/* lease.c - leases of a store of three methods: claim, renew, release (S2); those that were lost.
 *
 * Called through the verbs, and by create.c and append.c. Invariant: a fence is never given twice, and grows with each claim of a run. It is the run's number,
 * or another one of the counter, and a count of claims below it. */
#include "store/simple/simple.h"

void lease_end(simple_run *r)
{
    r->head.owner = NULL;
    r->head.lease_ms = 0;
}

static pawl_code fence_next(simple_run *r, pawl_err *err)
{
    const uint64_t mask = ((uint64_t)1 << SIMPLE_FENCE_BITS) - 1;
    uint64_t block = r->head.no, next = r->head.fence + 1;
    pawl_code rc = PAWL_OK;

    if (r->head.fence != 0 && (next & mask) == 0)       /* the block is used up */
        rc = counter_draw(r->h, &block, err);
    if (r->head.fence == 0 || (next & mask) == 0)
        next = block << SIMPLE_FENCE_BITS | 1;
    if (rc != PAWL_OK)
        return rc;
    r->head.fence_before = r->head.fence;
    r->head.fence = next;
    PAWL_ASSERT(r->head.fence > r->head.fence_before, "S2: each claim has a higher fence");
    return PAWL_OK;
}

/* ---- losses -------------------------------------------------------------------------------------------------- */

static pawl_code loss_add(simple_run *r, int64_t now, bool died, pawl_err *err)
{
    if (r->nlosses == PAWL_LOSSES_MAX)
        memmove(r->losses, r->losses + 1, --r->nlosses * sizeof *r->losses);
    if (!arena_room(&r->h->work, (void **)&r->losses, &r->losses_cap, r->nlosses, sizeof *r->losses))
        return fail(err, PAWL_NOMEM, "%s: no memory for a loss", r->head.run);
    r->losses[r->nlosses++] = (pawl_loss){ .fence = r->head.fence, .owner = r->head.owner, .at_ms = now, .died = died };
    return PAWL_OK;
}

/* The taker of the lease that was lost last, if the run is claimed for the first time since. */
static void loss_taken(simple_run *r, uint64_t lost, const char *owner, int64_t now)
{
    pawl_loss *last = r->nlosses == 0 ? NULL : &r->losses[r->nlosses - 1];

    if (last == NULL || last->fence != lost || last->taker != NULL)
        return;
    last->taker = owner;
    last->taker_fence = r->head.fence;
    last->taken_ms = now;
}

typedef struct loss_reading { pawl_loss_fn *fn; void *ctx; } loss_reading;

static pawl_code losses_emit(simple_run *r, void *ctx, pawl_err *err)
{
    const loss_reading *g = ctx;

    (void)err;
    for (size_t i = 0; i < r->nlosses && g->fn(g->ctx, &r->losses[i]); i++)
        continue;
    return PAWL_OK;
}

pawl_code simple_losses(pawl_store *s, const char *run, pawl_loss_fn *fn, void *ctx, pawl_err *err)
{
    loss_reading g = { fn, ctx };

    if (fn == NULL)
        return fail(err, PAWL_INVALID, "a list of losses needs a callback");
    simple_begin(simple_of(s));
    return run_query(simple_of(s), run, losses_emit, &g, err);
}

/* ---- leases -------------------------------------------------------------------------------------------------- */

pawl_code claim_change(simple_run *r, const char *owner, int64_t now, int64_t ttl_ms, pawl_err *err)
{
    pawl_head *d = &r->head;
    pawl_code rc;

    if (d->owner != NULL && store_held(d, now) && strcmp(d->owner, owner) != 0)
        return fail(err, PAWL_HELD, "%s: %s holds it for another %lld ms", d->run, d->owner, (long long)(d->lease_ms - now));
    if (d->owner != NULL && strcmp(d->owner, owner) != 0 && (rc = loss_add(r, now, false, err)) != PAWL_OK)
        return rc;
    if ((rc = fence_next(r, err)) != PAWL_OK)
        return rc;
    loss_taken(r, d->fence_before, owner, now);
    d->owner = owner;
    d->lease_ms = store_time_add(now, ttl_ms);
    return PAWL_OK;
}

typedef struct claiming { const char *owner; int64_t now, ttl_ms; pawl_claim *c; } claiming;

static pawl_code claim_one(simple_run *r, void *ctx, pawl_err *err)
{
    claiming *g = ctx;
    pawl_code rc = claim_change(r, g->owner, g->now, g->ttl_ms, err);

    head_compute(r);
    if (rc == PAWL_OK || rc == PAWL_HELD)
        head_lend(r->h, r, &g->c->head);
    return r->h->lent.failed ? fail(err, PAWL_NOMEM, "%s: no memory for a claim", r->head.run) : rc;
}

pawl_code simple_claim(pawl_store *s, const char *owner, int64_t ttl_ms, pawl_claim *all, size_t n, pawl_err *err)
{
    simple_handle *h = simple_of(s);
    claiming g = { owner, simple_now(s), ttl_ms, NULL };
    pawl_code rc = store_claim_check(owner, ttl_ms, all, n, err);

    simple_begin(h);
    for (size_t i = 0; i < n && rc == PAWL_OK; i++) {
        g.c = &all[i];
        arena_reset(&h->work);
        all[i].rc = run_change(h, all[i].run, claim_one, &g, err);
        if (all[i].rc != PAWL_OK && !run_is_refused(all[i].rc))
            rc = all[i].rc;
    }
    return rc;
}

typedef struct holding { pawl_hold *hold; int64_t until_ms; } holding;

static pawl_code renew_one(simple_run *r, void *ctx, pawl_err *err)
{
    holding *g = ctx;
    pawl_code rc = run_held(r, g->hold->fence, err);

    if (rc != PAWL_OK)
        return rc;
    if (r->head.owner == NULL)
        return fail(err, PAWL_FENCED, "%s: the lease was released: claim it again", r->head.run);
    r->head.lease_ms = g->until_ms;
    return PAWL_OK;
}

static pawl_code release_one(simple_run *r, void *ctx, pawl_err *err)
{
    holding *g = ctx;
    pawl_code rc = run_held(r, g->hold->fence, err);

    if (rc != PAWL_OK)
        return rc;
    if (r->head.owner == NULL)
        return PAWL_IGNORED;
    if (g->hold->died && (rc = loss_add(r, simple_now(&r->h->store), true, err)) != PAWL_OK)
        return rc;
    lease_end(r);
    return PAWL_OK;
}

static pawl_code each_hold(pawl_store *s, simple_change_fn *fn, pawl_hold *all, size_t n, int64_t until_ms, pawl_err *err)
{
    simple_handle *h = simple_of(s);
    pawl_code rc = PAWL_OK;

    for (size_t i = 0; i < n && rc == PAWL_OK; i++) {
        holding g = { &all[i], until_ms };

        simple_begin(h);
        all[i].rc = run_change(h, all[i].run, fn, &g, err);
        if (all[i].rc != PAWL_OK && !run_is_refused(all[i].rc))
            rc = all[i].rc;
    }
    return rc;
}

pawl_code simple_renew(pawl_store *s, int64_t ttl_ms, pawl_hold *all, size_t n, pawl_err *err)
{
    pawl_code rc = store_leases_check(all, n, err);

    if (rc == PAWL_OK && ttl_ms <= 0)
        rc = fail(err, PAWL_INVALID, "a lease lasts longer than %lld ms", (long long)ttl_ms);
    return rc == PAWL_OK ? each_hold(s, renew_one, all, n, store_time_add(simple_now(s), ttl_ms), err) : rc;
}

pawl_code simple_release(pawl_store *s, pawl_hold *all, size_t n, pawl_err *err)
{
    pawl_code rc = store_leases_check(all, n, err);

    return rc == PAWL_OK ? each_hold(s, release_one, all, n, 0, err) : rc;
}
