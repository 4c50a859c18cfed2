/* runs.c - runs are created, claimed, renewed and released; heads are read.
 *
 * Owns nothing. Called through the verbs create, claim, renew, release and head, on the thread that uses the handle; the other files find
 * runs by read_run and write_run. Writes hold PATH-lock (Q1).
 * Invariants: Q2, a fence is never given twice (fences_given); S2, a write under an older fence is refused (write_run). */
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

/* A reason in a codec that this handle lacks must not fail a list of all runs: a fixed text stands for it. */
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
    const run_tail *p = tail_find(s, sql_get_int(q, 6));

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

static const char *text_lend(sqlite_store *s, const char *text)
{
    const char *copy = text == NULL ? NULL : arena_strdup(&s->lent, text, strlen(text));

    if (copy == NULL && text != NULL)
        s->rc = SQLITE_NOMEM;
    return copy;
}

/* Texts are lent until s->lent is reset. `k` (may be NULL) is filled, too. False: no such run, or s->rc. */
static bool head_load(sqlite_store *s, const char *run, pawl_head *head, run_row *k)
{
    sqlite3_stmt *q = s->space == 0 ? NULL : sql_use(s, SQL_HEAD_OF);

    sql_int(q, 1, s->space);
    sql_text(q, 2, run);
    if (!sql_row(s, q))
        return false;
    head_read(s, q, head);
    head->run = text_lend(s, head->run);
    head->machine = text_lend(s, head->machine);
    head->context = text_lend(s, head->context);
    head->parent = text_lend(s, head->parent);
    head->owner = text_lend(s, head->owner);
    head->parked = text_lend(s, head->parked);
    if (k != NULL) {
        const run_tail *p = tail_find(s, (int64_t)head->no);

        *k = (run_row){ .no = (int64_t)head->no, .fence = head->fence, .seq = head->seq, .lsn = p != NULL ? p->lsn : sql_get_int(q, 17),
                      .wake_ms = head->wake_ms, .waits = head->waits, .mail = head->mail, .status = head->status, .over = head->over,
                      .work = head->work, .parked = head->parked != NULL, .leased = head->owner != NULL };
    }
    sql_end(q);
    return s->rc == SQLITE_OK;
}

static pawl_code run_id_check(const char *run, bool told, pawl_err *err)
{
    if (!store_run_valid(run))
        return fail(err, PAWL_INVALID, "no run has such an id");
    return told ? PAWL_OK : fail(err, PAWL_INVALID, "%s: nobody is told what is asked of it", run);
}

pawl_code read_run(sqlite_store *s, const char *run, bool told, int64_t *no, pawl_err *err)
{
    const run_row *k;
    pawl_code rc = run_id_check(run, told, err);

    if (rc != PAWL_OK || (rc = read_begin(s, err)) != PAWL_OK)
        return rc;
    if ((k = run_row_peek(s, run)) != NULL)
        *no = k->no;
    else
        *no = run_no(s, run);
    if (*no != 0)
        return PAWL_OK;
    return read_end(s, s->rc == SQLITE_OK ? store_no_run(run, err) : PAWL_OK, err);
}

run_row *write_run(sqlite_store *s, txn_kind kind, const char *run, uint64_t fence, pawl_code *rc, pawl_err *err)
{
    run_row *k;

    if ((*rc = run_id_check(run, true, err)) != PAWL_OK || (*rc = write_begin(s, kind, err)) != PAWL_OK)
        return NULL;
    if ((k = run_row_find(s, run)) == NULL)
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

static void namespace_make(sqlite_store *s)
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

    namespace_make(s);
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

/* *there: the run exists. False: it was created with another base. */
static bool created_with(sqlite_store *s, const char *run, const hash *born, bool *there)
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

static void fences_given(sqlite_store *s, uint64_t newest)
{
    sqlite3_stmt *q = sql_use(s, SQL_META_SET);

    sql_text(q, 1, "fence");
    sql_int(q, 2, (int64_t)newest);
    sql_run(s, q);
}

static void lease_set(sqlite_store *s, pawl_head *h, run_row *k, uint64_t fence, const char *owner, int64_t until_ms)
{
    sqlite3_stmt *q;

    h->owner = text_lend(s, owner);
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
    run_row_put(s, h->run, k);
}

/* *fence: the newest fence (0: not read yet), raised when it is used. */
static pawl_code claim_one(sqlite_store *s, pawl_claim *c, const char *owner, int64_t ttl_ms, uint64_t *fence, pawl_err *err)
{
    int64_t now = store_now(s);
    run_row k;
    pawl_code rc = run_id_check(c->run, true, err);

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

/* Soft: a lease need not survive a power failure; its fence is synced with the first append under it. */
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

/* ---- created, and all that it begins with ------------------------------------------------------ */

static pawl_code beginning_store(sqlite_store *s, const char *run, pawl_beginning *with, pawl_err *err)
{
    pawl_claim claim = { .run = run };
    uint64_t fence = 0;
    pawl_code rc = PAWL_OK;

    if (with->owner != NULL) {
        arena_reset(&s->lent);
        rc = claim_one(s, &claim, with->owner, with->ttl_ms, &fence, err);
        if (fence != 0)
            fences_given(s, fence);
        with->head = claim.head;
    }
    if (rc == PAWL_OK && with->first != NULL) {
        with->first->run = claim.head.run;
        with->first->fence = claim.head.fence;
        rc = with->first->rc = append_in(s, with->first);
        if (rc != PAWL_OK)
            fail(err, rc, "%s: its first lines cannot be stored: %s", run, pawl_code_name(rc));
    }
    return rc == PAWL_OK && with->left != NULL ? deliver_in(s, run, with->left, err) : rc;
}

pawl_code sqlite_create(pawl_store *st, pawl_bytes base, pawl_beginning *with, pawl_err *err)
{
    sqlite_store *s = sqlite_of(st);
    int64_t space = s->space;
    store_base b;
    arena mem;
    hash born;
    bool there;
    pawl_code rc;

    arena_init(&mem, &s->alloc, base.size);
    if (with != NULL && with->first != NULL && with->first->over)
        s->file_seen_ms = FILE_NEVER_SEEN;
    if ((rc = store_base_read(&mem, base, &b, err)) != PAWL_OK || (rc = store_beginning_check(&s->alloc, b.run, with, err)) != PAWL_OK ||
        (rc = write_begin(s, TXN_HARD, err)) != PAWL_OK)
        goto out;
    hash_of(base.data, base.size, &born);
    if (!created_with(s, b.run, &born, &there))
        rc = fail(err, PAWL_CONFLICT, "%s: there is such a run, and it began otherwise", b.run);
    else if (!there && s->rc == SQLITE_OK)
        run_add(s, &b, base, &born);
    if (rc == PAWL_OK && with != NULL && s->rc == SQLITE_OK)
        rc = beginning_store(s, b.run, with, err);
    if ((rc = write_end(s, rc, err)) != PAWL_OK)
        s->space = space;
out:
    arena_free(&mem);
    return rc;
}

/* The run under the fence of `h`. NULL: *rc has the reason, or s->rc. */
static run_row *row_held(sqlite_store *s, const pawl_hold *h, pawl_code *rc, pawl_err *err)
{
    run_row *k;

    *rc = PAWL_OK;
    if (s->rc != SQLITE_OK || (*rc = run_id_check(h->run, true, err)) != PAWL_OK)
        return NULL;
    if ((k = run_row_find(s, h->run)) == NULL)
        *rc = s->rc == SQLITE_OK ? store_no_run(h->run, err) : PAWL_OK;
    else if (k->fence != h->fence || h->fence == 0)
        *rc = store_fenced(h->run, h->fence, k->fence, err);
    return *rc == PAWL_OK ? k : NULL;
}

static pawl_code renew_one(sqlite_store *s, const pawl_hold *h, int64_t ttl_ms, pawl_err *err)
{
    sqlite3_stmt *q;
    pawl_code rc;
    run_row *k = row_held(s, h, &rc, err);

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

void lease_release(sqlite_store *s, run_row *k)
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
    run_row *k = row_held(s, h, &rc, err);

    (void)ttl_ms;
    if (k == NULL)
        return rc;
    if (k->leased)
        lease_release(s, k);
    run_row_drop(s, h->run);
    return PAWL_OK;
}

static pawl_code leases_each(sqlite_store *s, pawl_code (*one)(sqlite_store *, const pawl_hold *, int64_t, pawl_err *), int64_t ttl_ms,
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
    return leases_each(sqlite_of(st), renew_one, ttl_ms, all, n, err);
}

pawl_code sqlite_release(pawl_store *st, pawl_hold *all, size_t n, pawl_err *err)
{
    return leases_each(sqlite_of(st), release_one, 0, all, n, err);
}
