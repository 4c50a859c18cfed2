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

/* One run whose codec is not there must not stop a list of all: that it is parked can be said. */
static const char *parked_of(sqlite_store *s, sqlite3_stmt *q)
{
    pawl_bytes b = sql_get_bytes(q, 5);

    if (!store_is_coded(b))
        return sql_get_text(q, 5);
    return store_decode(&s->codecs, s->path, sql_get_text(q, 0), b, &s->plain[0], &b, NULL) == PAWL_OK
        ? b.data : "why is written with a codec that this handle does not have";
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
        .parked = parked_of(s, q),
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
        .mail = (uint32_t)sql_get_int(q, 18),
        .work = sql_get_int(q, 19) != 0,
        .look_ms = sql_get_int(q, 20),
    };
}

static const char *lend(sqlite_store *s, const char *text)
{
    const char *copy = text == NULL ? NULL : arena_strdup(&s->lent, text, strlen(text));

    if (copy == NULL && text != NULL)
        s->rc = SQLITE_NOMEM;
    return copy;
}

/* Its texts are lent until s->lent is reset. `k`, when not NULL, is told of it too. False: no such run, or s->rc. */
static bool head_load(sqlite_store *s, const char *run, pawl_head *head, known *k)
{
    sqlite3_stmt *q = s->space == 0 ? NULL : sql_use(s, SQL_HEAD_OF);

    sql_int(q, 1, s->space);
    sql_text(q, 2, run);
    if (!sql_row(s, q))
        return false;
    head_read(s, q, head);
    head->run = lend(s, head->run);
    head->machine = lend(s, head->machine);
    head->context = lend(s, head->context);
    head->parent = lend(s, head->parent);
    head->owner = lend(s, head->owner);
    head->parked = lend(s, head->parked);
    if (k != NULL) {
        const place *p = tail_find(s, (int64_t)head->no);

        *k = (known){ .no = (int64_t)head->no, .fence = head->fence, .seq = head->seq, .lsn = p != NULL ? p->lsn : sql_get_int(q, 17),
                      .wake_ms = head->wake_ms, .waits = head->waits, .mail = head->mail, .status = head->status, .over = head->over,
                      .work = head->work, .parked = head->parked != NULL, .leased = head->owner != NULL };
    }
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
    const known *k;
    pawl_code rc = run_named(run, told, err);

    if (rc != PAWL_OK || (rc = read_begin(s, err)) != PAWL_OK)
        return rc;
    if ((k = known_peek(s, run)) != NULL)
        *no = k->no;
    else
        *no = run_no(s, run);
    if (*no != 0)
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
    arena_reset(&s->lent);
    head_load(s, run, &found, NULL);
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
    sql_pack(s, q, 11, base, 0);
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

/* The last one given; 0: s->rc. */
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

static void fences_given(sqlite_store *s, uint64_t newest)
{
    sqlite3_stmt *q = sql_use(s, SQL_META_SET);

    sql_text(q, 1, "fence");
    sql_int(q, 2, (int64_t)newest);
    sql_run(s, q);
}

static void lease_set(sqlite_store *s, pawl_head *h, known *k, uint64_t fence, const char *owner, int64_t until_ms)
{
    sqlite3_stmt *q;

    h->owner = lend(s, owner);
    h->fence_before = h->fence;
    h->fence = k->fence = fence;
    h->lease_ms = until_ms;
    k->leased = true;
    q = sql_use(s, SQL_CLAIM);
    sql_int(q, 1, (int64_t)h->no);
    sql_int(q, 2, (int64_t)fence);
    sql_text(q, 3, owner);
    sql_int(q, 4, until_ms);
    sql_run(s, q);
    known_put(s, h->run, k);
}

/* *fence: the newest, raised when it is taken. */
static pawl_code claim_one(sqlite_store *s, pawl_claim *c, const char *owner, int64_t ttl_ms, uint64_t *fence, pawl_err *err)
{
    int64_t now = store_now(s);
    known k;
    pawl_code rc = run_named(c->run, true, err);

    if (rc != PAWL_OK || s->rc != SQLITE_OK)
        return rc;
    if (!head_load(s, c->run, &c->head, &k))
        return s->rc == SQLITE_OK ? store_no_run(c->run, err) : PAWL_IO;
    if (c->head.owner != NULL && store_held(&c->head, now) && strcmp(c->head.owner, owner) != 0)
        return fail(err, PAWL_HELD, "%s: %s holds it for another %lld ms", c->run, c->head.owner, (long long)(c->head.lease_ms - now));
    if (*fence == 0)
        *fence = fence_newest(s);
    if (s->rc == SQLITE_OK)
        lease_set(s, &c->head, &k, ++*fence, owner, store_until(now, ttl_ms));
    return PAWL_OK;
}

/* A lease need not outlive the machine's power; its fence is synced with the first append under it. */
pawl_code sqlite_claim(pawl_store *st, const char *owner, int64_t ttl_ms, pawl_claim *all, size_t n, pawl_err *err)
{
    sqlite_store *s = sqlite_of(st);
    pawl_err first = { PAWL_OK, "" };
    uint64_t fence = 0;
    pawl_code rc = store_claim_check(owner, ttl_ms, all, n, err);

    if (rc != PAWL_OK || n == 0)
        return rc;
    if ((rc = write_begin(s, TXN_SOFT, err)) == PAWL_OK) {
        arena_reset(&s->lent);
        for (size_t i = 0; i < n; i++)
            all[i].rc = claim_one(s, &all[i], owner, ttl_ms, &fence, &first);
        if (fence != 0)
            fences_given(s, fence);
        rc = write_end(s, PAWL_OK, err);
    }
    for (size_t i = 0; i < n && rc != PAWL_OK; i++)
        all[i].rc = rc;
    return rc != PAWL_OK || first.code == PAWL_OK ? rc : (fail(err, first.code, "%s", first.text), PAWL_OK);
}

/* NULL: *rc says why not, or s->rc. */
static known *held(sqlite_store *s, const pawl_hold *h, pawl_code *rc, pawl_err *err)
{
    known *k;

    *rc = PAWL_OK;
    if (s->rc != SQLITE_OK || (*rc = run_named(h->run, true, err)) != PAWL_OK)
        return NULL;
    if ((k = known_find(s, h->run)) == NULL)
        *rc = s->rc == SQLITE_OK ? store_no_run(h->run, err) : PAWL_OK;
    else if (k->fence != h->fence || h->fence == 0)
        *rc = store_fenced(h->run, h->fence, k->fence, err);
    return *rc == PAWL_OK ? k : NULL;
}

static pawl_code renew_one(sqlite_store *s, const pawl_hold *h, int64_t ttl_ms, pawl_err *err)
{
    sqlite3_stmt *q;
    pawl_code rc;
    known *k = held(s, h, &rc, err);

    if (k == NULL)
        return rc;
    q = sql_use(s, SQL_RENEW);
    sql_int(q, 1, k->no);
    sql_int(q, 2, (int64_t)h->fence);
    sql_int(q, 3, store_until(store_now(s), ttl_ms));
    if (sql_run(s, q) == 0 && s->rc == SQLITE_OK)
        rc = fail(err, PAWL_FENCED, "%s: it was let go of: claim it again", h->run);
    return rc;
}

void lease_free(sqlite_store *s, known *k)
{
    sqlite3_stmt *q = sql_use(s, SQL_RELEASE);

    sql_int(q, 1, k->no);
    sql_int(q, 2, (int64_t)k->fence);
    sql_int(q, 3, (int64_t)k->seq);
    sql_int(q, 4, k->lsn);
    sql_int(q, 5, store_now(s));
    sql_run(s, q);
    k->leased = false;
}

static pawl_code release_one(sqlite_store *s, const pawl_hold *h, int64_t ttl_ms, pawl_err *err)
{
    pawl_code rc;
    known *k = held(s, h, &rc, err);

    (void)ttl_ms;
    if (k == NULL)
        return rc;
    if (k->leased)
        lease_free(s, k);
    known_drop(s, h->run);
    return PAWL_OK;
}

static pawl_code for_all(sqlite_store *s, pawl_code (*one)(sqlite_store *, const pawl_hold *, int64_t, pawl_err *), int64_t ttl_ms,
                         pawl_hold *all, size_t n, pawl_err *err)
{
    pawl_err first = { PAWL_OK, "" };
    pawl_code rc = store_holds_check(all, n, err);

    if (rc != PAWL_OK || n == 0)
        return rc;
    if ((rc = write_begin(s, TXN_SOFT, err)) == PAWL_OK) {
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
    return for_all(sqlite_of(st), renew_one, ttl_ms, all, n, err);
}

pawl_code sqlite_release(pawl_store *st, pawl_hold *all, size_t n, pawl_err *err)
{
    return for_all(sqlite_of(st), release_one, 0, all, n, err);
}
