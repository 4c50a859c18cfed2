/* lease.c - leases: claim, renew, release (S2); those that were lost.
 *
 * Owns nothing. Called through the verbs, by create and by append, on the thread that uses the handle, with PATH-lock held (Q1).
 * Invariant: a fence is never given twice (meta.fence is the newest of the whole file). */
#include "store/sqlite/sqlite.h"

/* ---- leases ---------------------------------------------------------------------------------- */

/* The newest fence of the store; 0: s->rc. */
static uint64_t fence_newest(sqlite_store *s)
{
    sqlite3_stmt *q = sql_use(s, SQL_META);
    uint64_t fence = 0;

    sql_text(q, 1, "fence");
    if (sql_row(s, q)) {
        fence = (uint64_t)sql_get_int(q, 0);
        sql_end(q);
    }
    return fence;
}

void fence_store(sqlite_store *s, uint64_t newest)
{
    sqlite3_stmt *q = sql_use(s, SQL_META_SET);

    PAWL_ASSERT(newest > 0, "S2: the newest fence is never taken back");
    sql_text(q, 1, "fence");
    sql_int(q, 2, (int64_t)newest);
    sql_run(s, q);
}

/* The lease under `fence` was lost. */
static void loss_add(sqlite_store *s, int64_t no, uint64_t fence, bool died)
{
    sqlite3_stmt *q = sql_use(s, SQL_LOSS_ADD);

    sql_int(q, 1, no);
    sql_int(q, 2, (int64_t)fence);
    sql_int(q, 3, store_now(s));
    sql_int(q, 4, died);
    if (sql_run(s, q) == 0)
        return;
    q = sql_use(s, SQL_LOSSES_OLD);
    sql_int(q, 1, no);
    sql_int(q, 2, PAWL_LOSSES_MAX);
    sql_run(s, q);
}

/* If the last lease was lost, `owner` is who took the run. */
static void loss_taken(sqlite_store *s, int64_t no, uint64_t fence, uint64_t taker_fence, const char *owner)
{
    sqlite3_stmt *q = sql_use(s, SQL_LOSS_TAKEN);

    sql_int(q, 1, no);
    sql_int(q, 2, (int64_t)fence);
    sql_int(q, 3, (int64_t)taker_fence);
    sql_int(q, 4, store_now(s));
    sql_text(q, 5, owner);
    sql_run(s, q);
}

pawl_code sqlite_losses(pawl_store *st, const char *run, pawl_loss_fn *fn, void *ctx, pawl_err *err)
{
    sqlite_store *s = sqlite_of(st);
    sqlite3_stmt *q;
    bool more = true;
    pawl_code rc = read_rows(s, run, fn != NULL, SQL_LOSSES, &q, err);

    if (rc != PAWL_OK)
        return rc;
    while (more && sql_row(s, q))
        more = fn(ctx, &(pawl_loss){ .fence = (uint64_t)sql_get_int(q, 0), .owner = sql_get_text(q, 1), .at_ms = sql_get_int(q, 2),
                                     .died = sql_get_int(q, 3) != 0, .taker = sql_get_text(q, 4), .taker_fence = (uint64_t)sql_get_int(q, 5),
                                     .taken_ms = sql_get_int(q, 6) });
    sql_end(q);
    return read_end(s, PAWL_OK, err);
}

static void lease_set(sqlite_store *s, pawl_head *h, run_row *row, uint64_t fence, const char *owner, int64_t until_ms)
{
    sqlite3_stmt *q;

    PAWL_ASSERT(s->txn == TXN_WRITE && fence > 0, "S2: a claim has a fence of its own");
    if (h->owner != NULL && strcmp(h->owner, owner) != 0)
        loss_add(s, (int64_t)h->no, h->fence, false);
    if (h->fence != 0)
        loss_taken(s, (int64_t)h->no, h->fence, fence, owner);
    h->owner = text_lend(s, owner);
    h->fence_before = h->fence;
    h->fence = row->fence = fence;
    h->lease_ms = until_ms;
    row->leased = true;
    q = sql_use(s, SQL_CLAIM);
    sql_int(q, 1, (int64_t)h->no);
    sql_int(q, 2, (int64_t)fence);
    sql_text(q, 3, owner);
    sql_int(q, 4, until_ms);
    sql_run(s, q);
    run_row_put(s, h->run, row);
}

void lease_begin(sqlite_store *s, pawl_head *h, const char *owner, int64_t ttl_ms)
{
    h->run = text_lend(s, h->run);
    h->machine = text_lend(s, h->machine);
    h->context = text_lend(s, h->context);
    h->parent = text_lend(s, h->parent);
    h->owner = text_lend(s, owner);
    h->fence = fence_newest(s) + 1;
    h->lease_ms = store_time_add(h->changed_ms, ttl_ms);
    fence_store(s, h->fence);
    if (s->rc == SQLITE_OK)
        run_row_put(s, h->run, &(run_row){ .no = (int64_t)h->no, .fence = h->fence, .seq = h->seq, .leased = true });
}

pawl_code lease_claim(sqlite_store *s, pawl_claim *c, const char *owner, int64_t ttl_ms, uint64_t *fence, pawl_err *err)
{
    int64_t now = store_now(s);
    run_row row;
    pawl_code rc = run_id_check(c->run, true, err);

    if (rc != PAWL_OK || s->rc != SQLITE_OK)
        return rc;
    if (!head_load(s, c->run, &c->head, &row))
        return s->rc == SQLITE_OK ? store_run_missing(c->run, err) : PAWL_IO;
    if (c->head.owner != NULL && store_held(&c->head, now) && strcmp(c->head.owner, owner) != 0)
        return fail(err, PAWL_HELD, "%s: %s holds it for another %lld ms", c->run, c->head.owner, (long long)(c->head.lease_ms - now));
    if (*fence == 0)
        *fence = fence_newest(s);
    if (s->rc == SQLITE_OK)
        lease_set(s, &c->head, &row, ++*fence, owner, store_time_add(now, ttl_ms));
    return PAWL_OK;
}

/* Unsynced: a lease need not survive a power failure; its fence is synced with the first append under it. */
pawl_code sqlite_claim(pawl_store *st, const char *owner, int64_t ttl_ms, pawl_claim *all, size_t n, pawl_err *err)
{
    sqlite_store *s = sqlite_of(st);
    pawl_err first = { PAWL_OK, "" };
    uint64_t fence = 0;
    pawl_code rc = store_claim_check(owner, ttl_ms, all, n, err);

    if (rc != PAWL_OK || n == 0)
        return rc;
    if ((rc = write_begin(s, TXN_UNSYNCED, err)) == PAWL_OK) {
        arena_reset(&s->lent);
        for (size_t i = 0; i < n; i++)
            all[i].rc = lease_claim(s, &all[i], owner, ttl_ms, &fence, &first);
        if (fence != 0)
            fence_store(s, fence);
        rc = write_end(s, PAWL_OK, err);
    }
    for (size_t i = 0; i < n && rc != PAWL_OK; i++)
        all[i].rc = rc;
    return rc != PAWL_OK || first.code == PAWL_OK ? rc : (fail(err, first.code, "%s", first.text), PAWL_OK);
}

static pawl_code renew_one(sqlite_store *s, const pawl_hold *h, int64_t ttl_ms, pawl_err *err)
{
    sqlite3_stmt *q;
    pawl_code rc;
    run_row *row = run_row_held(s, h->run, h->fence, &rc, err);

    if (row == NULL)
        return rc;
    q = sql_use(s, SQL_RENEW);
    sql_int(q, 1, row->no);
    sql_int(q, 2, (int64_t)h->fence);
    sql_int(q, 3, store_time_add(store_now(s), ttl_ms));
    if (sql_run(s, q) == 0 && s->rc == SQLITE_OK)
        rc = fail(err, PAWL_FENCED, "%s: the lease was released: claim it again", h->run);
    return rc;
}

void lease_release(sqlite_store *s, run_row *row)
{
    sqlite3_stmt *q = sql_use(s, SQL_RELEASE);

    PAWL_ASSERT(row->leased, "S2: only a lease is released");
    sql_int(q, 1, row->no);
    sql_int(q, 2, (int64_t)row->fence);
    sql_int(q, 3, (int64_t)row->seq);
    sql_int(q, 4, row->lsn);
    sql_int(q, 5, store_now(s));
    sql_run(s, q);
    row->leased = false;
}

static pawl_code release_one(sqlite_store *s, const pawl_hold *h, int64_t ttl_ms, pawl_err *err)
{
    pawl_code rc;
    run_row *row = run_row_held(s, h->run, h->fence, &rc, err);

    (void)ttl_ms;
    if (row == NULL)
        return rc;
    if (row->leased && h->died)
        loss_add(s, row->no, h->fence, true);
    if (row->leased)
        lease_release(s, row);
    run_row_drop(s, h->run);
    return PAWL_OK;
}

static pawl_code leases_each(sqlite_store *s, pawl_code (*one)(sqlite_store *, const pawl_hold *, int64_t, pawl_err *), int64_t ttl_ms,
                         pawl_hold *all, size_t n, pawl_err *err)
{
    pawl_err first = { PAWL_OK, "" };
    pawl_code rc = store_leases_check(all, n, err);

    if (rc != PAWL_OK || n == 0)
        return rc;
    if ((rc = write_begin(s, TXN_UNSYNCED, err)) == PAWL_OK) {
        for (size_t i = 0; i < n; i++)
            all[i].rc = one(s, &all[i], ttl_ms, &first);
        rc = write_end(s, PAWL_OK, err);
    }
    for (size_t i = 0; i < n && rc != PAWL_OK; i++)
        all[i].rc = rc;
    return rc != PAWL_OK || first.code == PAWL_OK ? rc : (fail(err, first.code, "%s", first.text), PAWL_OK);
}

pawl_code sqlite_renew(pawl_store *st, int64_t ttl_ms, pawl_hold *all, size_t n, pawl_err *err)
{
    if (ttl_ms <= 0)
        return fail(err, PAWL_INVALID, "a lease lasts longer than %lld ms", (long long)ttl_ms);
    return leases_each(sqlite_of(st), renew_one, ttl_ms, all, n, err);
}

pawl_code sqlite_release(pawl_store *st, pawl_hold *all, size_t n, pawl_err *err)
{
    return leases_each(sqlite_of(st), release_one, 0, all, n, err);
}
