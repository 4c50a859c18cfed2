/* lease.c - leases of a store in memory: claim, renew, release (S2).
 *
 * Owns the text of head.owner. Called through the verbs, by create and by append; one thread at a time over all handles of the store.
 * Invariant: a fence is never given twice, and grows with each claim of any run. */
#include "store/memory/memory.h"

void run_unlease(memory_space *m, stored_run *r)
{
    text_free(&m->alloc, r->head.owner);
    r->head.owner = NULL;
    r->head.lease_ms = 0;
}

pawl_code run_claim(memory_space *m, const char *owner, int64_t now, int64_t ttl_ms, pawl_claim *c, pawl_err *err)
{
    pawl_bytes text = {0};
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
    text_free(&m->alloc, r->head.owner);
    r->head.owner = text.data;
    r->head.lease_ms = store_time_add(now, ttl_ms);
    r->head.fence_before = r->head.fence;
    r->head.fence = ++m->all->fence;
    PAWL_ASSERT(r->head.fence > r->head.fence_before, "S2: each claim has a higher fence");
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

static pawl_code release_one(memory_space *m, pawl_hold *h, pawl_err *err)
{
    stored_run *r;
    pawl_code rc = run_find_held(m, h->run, h->fence, &r, err);

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
        all[i].rc = release_one(space_of(s), &all[i], err);
    return rc;
}
