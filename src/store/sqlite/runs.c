/* runs.c - runs begin, are claimed, and are let go of. */
#include "store/sqlite/sqlite.h"

/* ---- finding --------------------------------------------------------------------------------- */

int64_t run_no(sqlite_store *s, const char *run)
{
    sqlite3_stmt *q = s->space == 0 ? NULL : sql_use(s, SQL_RUN_FIND);
    int64_t no = 0;

    sql_int(q, 1, s->space);
    sql_text(q, 2, run);
    if (sql_row(s, q)) {
        no = sql_get_int(q, 0);
        sql_end(q);
    }
    return no;
}

void head_read(sqlite_store *s, sqlite3_stmt *q, pawl_head *head)
{
    const place *p = tail_find(s, sql_get_int(q, 6));

    *head = (pawl_head){
        .run = sql_get_text(q, 0),
        .machine = sql_get_text(q, 1),
        .context = sql_get_text(q, 2),
        .parent = sql_get_text(q, 3),
        .owner = sql_get_text(q, 4),
        .parked = sql_get_text(q, 5),
        .no = (uint64_t)sql_get_int(q, 6),
        .life = (uint64_t)sql_get_int(q, 7),
        .seq = p != NULL ? p->seq : (uint64_t)sql_get_int(q, 8),
        .fence = (uint64_t)sql_get_int(q, 9),
        .lease_ms = sql_get_int(q, 10),
        .created_ms = sql_get_int(q, 11),
        .changed_ms = p != NULL && p->changed_ms > sql_get_int(q, 12) ? p->changed_ms : sql_get_int(q, 12),
        .wake_ms = sql_get_int(q, 13),
        .waits = (uint32_t)sql_get_int(q, 14),
        .status = (uint8_t)sql_get_int(q, 15),
        .over = sql_get_int(q, 16) != 0,
    };
}

static const char *lend(sqlite_store *s, const char *text)
{
    const char *copy = text == NULL ? NULL : arena_strdup(&s->lent, text, strlen(text));

    if (copy == NULL && text != NULL)
        s->rc = SQLITE_NOMEM;
    return copy;
}

/* False: no such run, or s->rc. */
static bool head_load(sqlite_store *s, const char *run, pawl_head *head)
{
    sqlite3_stmt *q = s->space == 0 ? NULL : sql_use(s, SQL_HEAD_OF);

    sql_int(q, 1, s->space);
    sql_text(q, 2, run);
    if (!sql_row(s, q))
        return false;
    arena_reset(&s->lent);
    head_read(s, q, head);
    head->run = lend(s, head->run);
    head->machine = lend(s, head->machine);
    head->context = lend(s, head->context);
    head->parent = lend(s, head->parent);
    head->owner = lend(s, head->owner);
    head->parked = lend(s, head->parked);
    sql_end(q);
    return s->rc == SQLITE_OK;
}

static pawl_code run_named(const char *run, bool told, pawl_err *err)
{
    if (!store_run_valid(run))
        return fail(err, PAWL_INVALID, "no run has such an id");
    return told ? PAWL_OK : fail(err, PAWL_INVALID, "%s: nobody is told what is asked of it", run);
}

pawl_code read_run(sqlite_store *s, const char *run, bool told, int64_t *no, pawl_err *err)
{
    pawl_code rc = run_named(run, told, err);

    if (rc != PAWL_OK || (rc = read_begin(s, err)) != PAWL_OK)
        return rc;
    if ((*no = run_no(s, run)) != 0)
        return PAWL_OK;
    return read_end(s, s->rc == SQLITE_OK ? store_no_run(run, err) : PAWL_OK, err);
}

known *write_run(sqlite_store *s, txn_kind kind, const char *run, uint64_t fence, pawl_code *rc, pawl_err *err)
{
    known *k;

    if ((*rc = run_named(run, true, err)) != PAWL_OK || (*rc = write_begin(s, kind, err)) != PAWL_OK)
        return NULL;
    if ((k = known_find(s, run)) == NULL)
        *rc = s->rc == SQLITE_OK ? store_no_run(run, err) : PAWL_OK;
    else if (k->fence != fence || fence == 0)
        *rc = store_fenced(run, fence, k->fence, err);
    if (k != NULL && *rc == PAWL_OK)
        return k;
    *rc = write_end(s, *rc, err);
    return NULL;
}

pawl_code sqlite_head(pawl_store *st, const char *run, pawl_head *head, pawl_err *err)
{
    sqlite_store *s = sqlite_of(st);
    pawl_head found = { 0 };
    int64_t no;
    pawl_code rc = read_run(s, run, head != NULL, &no, err);

    if (rc != PAWL_OK)
        return rc;
    head_load(s, run, &found);
    if ((rc = read_end(s, PAWL_OK, err)) == PAWL_OK)
        *head = found;
    return rc;
}

/* ---- beginning ------------------------------------------------------------------------------- */

static void space_make(sqlite_store *s)
{
    sqlite3_stmt *q;

    if (s->space != 0)
        return;
    q = sql_use(s, SQL_SPACE_ADD);
    sql_text(q, 1, s->space_name);
    if (sql_run(s, q) > 0)
        s->space = sqlite3_last_insert_rowid(s->db);
}

static void run_add(sqlite_store *s, const store_base *b, pawl_bytes base, const hash *born)
{
    sqlite3_stmt *q;
    int64_t no, now = store_now(s);

    space_make(s);
    q = sql_use(s, SQL_RUN_ADD);
    sql_int(q, 1, s->space);
    sql_text(q, 2, b->run);
    sql_int(q, 3, (int64_t)b->life);
    sql_text(q, 4, b->machine);
    sql_text(q, 5, b->context);
    sql_text(q, 6, b->parent);
    sql_int(q, 7, b->created_ms != 0 ? b->created_ms : now);
    sql_int(q, 8, b->priority);
    sql_bytes(q, 9, born->b, HASH_BYTES);
    sql_int(q, 10, (int64_t)b->seq);
    sql_bytes(q, 11, base.data, base.size);
    sql_run(s, q);
    no = sqlite3_last_insert_rowid(s->db);
    q = sql_use(s, SQL_HEAD_ADD);
    sql_int(q, 1, no);
    sql_int(q, 2, s->space);
    sql_int(q, 3, (int64_t)b->seq);
    sql_int(q, 4, now);
    sql_run(s, q);
    for (size_t i = 0; i < b->nlabels; i++) {
        q = sql_use(s, SQL_LABEL_ADD);
        sql_int(q, 1, s->space);
        sql_text(q, 2, b->labels[i]);
        sql_int(q, 3, no);
        sql_run(s, q);
    }
}

/* *there: a run has that id. False: another base began it. */
static bool began_so(sqlite_store *s, const char *run, const hash *born, bool *there)
{
    sqlite3_stmt *q = s->space == 0 ? NULL : sql_use(s, SQL_RUN_FIND);
    pawl_bytes old;
    bool same;

    *there = false;
    sql_int(q, 1, s->space);
    sql_text(q, 2, run);
    if (!sql_row(s, q))
        return true;
    *there = true;
    old = sql_get_bytes(q, 1);
    same = old.size == HASH_BYTES && memcmp(old.data, born->b, HASH_BYTES) == 0;
    sql_end(q);
    return same;
}

pawl_code sqlite_create(pawl_store *st, pawl_bytes base, pawl_err *err)
{
    sqlite_store *s = sqlite_of(st);
    int64_t space = s->space;
    store_base b;
    arena mem;
    hash born;
    bool there;
    pawl_code rc;

    arena_init(&mem, &s->alloc, base.size);
    if ((rc = store_base_read(&mem, base, &b, err)) != PAWL_OK || (rc = write_begin(s, TXN_HARD, err)) != PAWL_OK)
        goto out;
    hash_of(base.data, base.size, &born);
    if (!began_so(s, b.run, &born, &there))
        rc = fail(err, PAWL_CONFLICT, "%s: there is such a run, and it began otherwise", b.run);
    else if (!there && s->rc == SQLITE_OK)
        run_add(s, &b, base, &born);
    if ((rc = write_end(s, rc, err)) != PAWL_OK)
        s->space = space;
out:
    arena_free(&mem);
    return rc;
}

/* ---- leases ---------------------------------------------------------------------------------- */

static uint64_t fence_next(sqlite_store *s)
{
    sqlite3_stmt *q = sql_use(s, SQL_META);
    int64_t fence = 0;

    sql_text(q, 1, "fence");
    if (sql_row(s, q)) {
        fence = sql_get_int(q, 0);
        sql_end(q);
    }
    q = sql_use(s, SQL_META_SET);
    sql_text(q, 1, "fence");
    sql_int(q, 2, ++fence);
    sql_run(s, q);
    return (uint64_t)fence;
}

static void lease_set(sqlite_store *s, pawl_head *h, const char *owner, int64_t ttl_ms)
{
    sqlite3_stmt *q;
    known *k;

    h->owner = lend(s, owner);
    h->fence_before = h->fence;
    h->fence = fence_next(s);
    h->lease_ms = store_until(store_now(s), ttl_ms);
    q = sql_use(s, SQL_CLAIM);
    sql_int(q, 1, (int64_t)h->no);
    sql_int(q, 2, (int64_t)h->fence);
    sql_text(q, 3, owner);
    sql_int(q, 4, h->lease_ms);
    sql_run(s, q);
    if ((k = known_find(s, h->run)) != NULL) {
        k->fence = h->fence;
        k->leased = true;
    }
}

/* A lease need not outlive the machine's power; its fence is synced with the first append under it. */
pawl_code sqlite_claim(pawl_store *st, const char *run, const char *owner, int64_t ttl_ms, pawl_head *head, pawl_err *err)
{
    sqlite_store *s = sqlite_of(st);
    pawl_head found = { 0 };
    bool held;
    pawl_code rc = run_named(run, true, err);

    if (rc != PAWL_OK || (rc = write_begin(s, TXN_SOFT, err)) != PAWL_OK)
        return rc;
    if (!head_load(s, run, &found))
        return write_end(s, s->rc == SQLITE_OK ? store_no_run(run, err) : PAWL_OK, err);
    if (!store_id_valid(owner) || ttl_ms <= 0 || head == NULL) {
        rc = fail(err, PAWL_INVALID, "%s: a claim needs an owner, a time above 0 and a place for the head", run);
        return write_end(s, rc, err);
    }
    held = found.owner != NULL && store_held(&found, store_now(s)) && strcmp(found.owner, owner) != 0;
    if (!held)
        lease_set(s, &found, owner, ttl_ms);
    if ((rc = write_end(s, PAWL_OK, err)) != PAWL_OK)
        return rc;
    *head = found;
    if (held)
        rc = fail(err, PAWL_HELD, "%s: %s holds it for another %lld ms", run, found.owner,
                  (long long)(found.lease_ms - s->last_ms));
    return rc;
}

pawl_code sqlite_renew(pawl_store *st, const char *run, uint64_t fence, int64_t ttl_ms, pawl_err *err)
{
    sqlite_store *s = sqlite_of(st);
    sqlite3_stmt *q;
    pawl_code rc;
    known *k = write_run(s, TXN_SOFT, run, fence, &rc, err);

    if (k == NULL)
        return rc;
    if (ttl_ms <= 0)
        return write_end(s, fail(err, PAWL_INVALID, "%s: a lease lasts longer than %lld ms", run, (long long)ttl_ms), err);
    q = sql_use(s, SQL_RENEW);
    sql_int(q, 1, k->no);
    sql_int(q, 2, (int64_t)fence);
    sql_int(q, 3, store_until(store_now(s), ttl_ms));
    if (sql_run(s, q) == 0 && s->rc == SQLITE_OK)
        rc = fail(err, PAWL_FENCED, "%s: it was let go of: claim it again", run);
    return write_end(s, rc, err);
}

pawl_code sqlite_release(pawl_store *st, const char *run, uint64_t fence, pawl_err *err)
{
    sqlite_store *s = sqlite_of(st);
    sqlite3_stmt *q;
    pawl_code rc;
    known *k = write_run(s, TXN_SOFT, run, fence, &rc, err);

    if (k == NULL)
        return rc;
    if (k->leased) {
        q = sql_use(s, SQL_RELEASE);
        sql_int(q, 1, k->no);
        sql_int(q, 2, (int64_t)fence);
        sql_int(q, 3, (int64_t)k->seq);
        sql_int(q, 4, k->lsn);
        sql_int(q, 5, store_now(s));
        sql_run(s, q);
    }
    rc = write_end(s, PAWL_OK, err);
    known_drop(s, run);
    return rc;
}
