/* lease.c - leases of a store in memory: claim, renew, release (S2); those that were lost.
 *
 * Owns the text of head.owner, and the losses. Called through the verbs, by create and by append; one thread at a time over all handles of the store.
 * Invariant: a fence is never given twice, and grows with each claim of any run. */
#include "store/memory/memory.h"

void run_unlease(memory_space *m, stored_run *r)
{
    text_free(&m->alloc, r->head.owner);
    r->head.owner = NULL;
    r->head.lease_ms = 0;
}

/* ---- losses ------------------------------------------------------------------------------------- */

/* Of the lease that `r` has now; not in the run yet. NULL: no memory. */
static stored_loss *loss_new(memory_space *m, const stored_run *r, int64_t now, bool died)
{
    stored_loss *x = mem_new(&m->alloc, sizeof *x);
    pawl_bytes owner;

    if (x == NULL || !bytes_copy(&m->alloc, (pawl_bytes){ r->head.owner, strlen(r->head.owner) }, &owner)) {
        losses_free(m, x);
        return NULL;
    }
    x->l = (pawl_loss){ .fence = r->head.fence, .owner = owner.data, .at_ms = now, .died = died };
    return x;
}

static void loss_put(memory_space *m, stored_run *r, stored_loss *x)
{
    stored_loss **at = &r->losses;

    x->older = r->losses;
    r->losses = x;
    for (int i = 0; i < PAWL_LOSSES_MAX && *at != NULL; i++)
        at = &(*at)->older;
    losses_free(m, *at);
    *at = NULL;
}

/* The taker of the lease that was lost last, if `r` is claimed for the first time since. */
static bool is_loss(const stored_run *r)
{
    return r->losses != NULL && r->losses->l.fence == r->head.fence && r->losses->l.taker == NULL;
}

pawl_code memory_losses(pawl_store *s, const char *id, pawl_loss_fn *fn, void *ctx, pawl_err *err)
{
    const stored_loss *all[PAWL_LOSSES_MAX];
    stored_run *r;
    size_t n = 0;
    pawl_code rc = run_find(space_of(s), id, &r, err);

    if (rc == PAWL_OK && fn == NULL)
        return fail(err, PAWL_INVALID, "%s: a list of losses needs a callback", id);
    for (const stored_loss *x = rc == PAWL_OK ? r->losses : NULL; x != NULL && n < PAWL_LOSSES_MAX; x = x->older)
        all[n++] = x;
    while (n > 0 && fn(ctx, &all[n - 1]->l))
        n--;
    return rc;
}

/* ---- leases ------------------------------------------------------------------------------------- */

/* All that a claim stores of a loss; made before anything is changed. False: no memory. */
static bool loss_claim(memory_space *m, stored_run *r, const char *owner, int64_t now, stored_loss **loss, pawl_bytes *taker)
{
    const bool lost = r->head.owner != NULL && strcmp(r->head.owner, owner) != 0;

    *loss = NULL;
    *taker = (pawl_bytes){0};
    if (!lost && !is_loss(r))
        return true;
    if (!bytes_copy(&m->alloc, (pawl_bytes){ owner, strlen(owner) }, taker))
        return false;
    if (!lost || (*loss = loss_new(m, r, now, false)) != NULL)
        return true;
    bytes_free(&m->alloc, taker);
    return false;
}

pawl_code run_claim(memory_space *m, const char *owner, int64_t now, int64_t ttl_ms, pawl_claim *c, pawl_err *err)
{
    pawl_bytes text = {0}, taker;
    stored_loss *loss;
    pawl_code rc;
    stored_run *r;

    if ((rc = run_find(m, c->run, &r, err)) != PAWL_OK)
        return rc;
    if (r->head.owner != NULL && store_held(&r->head, now + (BROKEN(BROKEN_LEASE_EARLY) ? ttl_ms / 2 : 0)) && strcmp(r->head.owner, owner) != 0) {
        c->head = r->head;
        return fail(err, PAWL_HELD, "%s: %s holds it for another %lld ms", c->run, r->head.owner, (long long)(r->head.lease_ms - now));
    }
    if (!bytes_copy(&m->alloc, (pawl_bytes){ owner, strlen(owner) }, &text))
        return fail(err, PAWL_NOMEM, "%s: no memory for a claim", c->run);
    if (!loss_claim(m, r, owner, now, &loss, &taker)) {
        bytes_free(&m->alloc, &text);
        return fail(err, PAWL_NOMEM, "%s: no memory for a claim", c->run);
    }
    if (loss != NULL)
        loss_put(m, r, loss);
    text_free(&m->alloc, r->head.owner);
    r->head.owner = text.data;
    r->head.lease_ms = store_time_add(now, ttl_ms);
    r->head.fence_before = r->head.fence;
    r->head.fence = ++m->all->fence;
    PAWL_ASSERT(r->head.fence > r->head.fence_before, "S2: each claim has a higher fence");
    if (taker.data != NULL) {
        r->losses->l.taker = taker.data;
        r->losses->l.taker_fence = r->head.fence;
        r->losses->l.taken_ms = now;
    }
    order_update(m, r);
    m->all->version++;
    c->head = r->head;
    return PAWL_OK;
}

pawl_code memory_claim(pawl_store *s, const char *owner, int64_t ttl_ms, pawl_claim *all, size_t n, pawl_err *err)
{
    int64_t now = memory_now(s);
    pawl_code rc = store_claim_check(owner, ttl_ms, all, n, err);

    for (size_t i = 0; i < n && rc == PAWL_OK; i++)
        all[i].rc = run_claim(space_of(s), owner, now, ttl_ms, &all[i], err);
    return rc;
}

static pawl_code renew_one(memory_space *m, pawl_hold *h, int64_t until_ms, pawl_err *err)
{
    stored_run *r;
    pawl_code rc = run_find_held(m, h->run, h->fence, &r, err);

    if (rc != PAWL_OK)
        return rc;
    if (r->head.owner == NULL)
        return fail(err, PAWL_FENCED, "%s: the lease was released: claim it again", h->run);
    r->head.lease_ms = until_ms;
    order_update(m, r);
    m->all->version++;
    return PAWL_OK;
}

pawl_code memory_renew(pawl_store *s, int64_t ttl_ms, pawl_hold *all, size_t n, pawl_err *err)
{
    int64_t until = store_time_add(memory_now(s), ttl_ms);
    pawl_code rc = store_leases_check(all, n, err);

    if (rc == PAWL_OK && ttl_ms <= 0)
        rc = fail(err, PAWL_INVALID, "a lease lasts longer than %lld ms", (long long)ttl_ms);
    for (size_t i = 0; i < n && rc == PAWL_OK; i++)
        all[i].rc = renew_one(space_of(s), &all[i], until, err);
    return rc;
}

static pawl_code release_one(memory_space *m, pawl_hold *h, int64_t now, pawl_err *err)
{
    stored_loss *loss = NULL;
    stored_run *r;
    pawl_code rc = run_find_held(m, h->run, h->fence, &r, err);

    if (rc == PAWL_OK && r->head.owner != NULL && h->died && (loss = loss_new(m, r, now, true)) == NULL)
        return fail(err, PAWL_NOMEM, "%s: no memory for a release", h->run);
    if (loss != NULL)
        loss_put(m, r, loss);
    if (rc == PAWL_OK && r->head.owner != NULL) {
        run_unlease(m, r);
        order_update(m, r);
        m->all->version++;
    }
    return rc;
}

pawl_code memory_release(pawl_store *s, pawl_hold *all, size_t n, pawl_err *err)
{
    pawl_code rc = store_leases_check(all, n, err);

    for (size_t i = 0; i < n && rc == PAWL_OK; i++)
        all[i].rc = release_one(space_of(s), &all[i], memory_now(s), err);
    return rc;
}
