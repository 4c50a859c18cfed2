/* create.c - creates runs, with their first claim, lines and delivery in one transaction.
 *
 * Owns nothing. Called through the verb create, on the thread that uses the handle, with PATH-lock held (Q1).
 * Invariants: Q2, the number of a run is never assigned twice (AUTOINCREMENT); a create that is refused has stored nothing. */
#include "store/sqlite/sqlite.h"

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

/* A run that begins with a claim gets it with its head: reading and updating the head would take two statements more. */
static void head_add(sqlite_store *s, const store_base *b, int64_t no, int64_t now, pawl_beginning *with)
{
    pawl_head h = { .run = b->run, .machine = b->machine, .context = b->context, .parent = b->parent, .no = (uint64_t)no, .life = b->life,
                    .seq = b->seq, .created_ms = b->created_ms != 0 ? b->created_ms : now, .changed_ms = now };
    sqlite3_stmt *q;

    if (with != NULL && with->owner != NULL) {
        arena_reset(&s->lent);
        lease_begin(s, &h, with->owner, with->ttl_ms);
        with->head = h;
    }
    q = sql_use(s, SQL_HEAD_ADD);
    sql_int(q, 1, no);
    sql_int(q, 2, s->space);
    sql_int(q, 3, (int64_t)b->seq);
    sql_int(q, 4, now);
    sql_int(q, 5, (int64_t)h.fence);
    sql_text(q, 6, h.owner);
    sql_int(q, 7, h.lease_ms);
    sql_run(s, q);
}

static void run_add(sqlite_store *s, const store_base *b, pawl_bytes base, const hash *born, pawl_beginning *with)
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
    sql_encode(s, q, 11, base, 0);
    sql_run(s, q);
    no = sqlite3_last_insert_rowid(s->db);
    head_add(s, b, no, now, with);
    for (size_t i = 0; i < b->nlabels; i++) {
        q = sql_use(s, SQL_LABEL_ADD);
        sql_int(q, 1, s->space);
        sql_text(q, 2, b->labels[i]);
        sql_int(q, 3, no);
        sql_run(s, q);
    }
}

/* False: the run exists, and was created with another base. */
static bool base_matches(sqlite_store *s, const char *run, const hash *born, bool *exists)
{
    sqlite3_stmt *q = s->space == 0 ? NULL : sql_use(s, SQL_RUN_FIND);
    pawl_bytes old;
    bool same;

    *exists = false;
    sql_int(q, 1, s->space);
    sql_text(q, 2, run);
    if (!sql_row(s, q))
        return true;
    *exists = true;
    old = sql_get_bytes(q, 1);
    same = old.size == HASH_BYTES && memcmp(old.data, born->b, HASH_BYTES) == 0;
    sql_end(q);
    return same;
}

/* `exists`: the run was created before, and must be claimed. */
static pawl_code beginning_store(sqlite_store *s, const char *run, bool exists, pawl_beginning *with, pawl_err *err)
{
    pawl_claim claim = { .run = run };
    uint64_t fence = 0;
    pawl_code rc = PAWL_OK;

    if (with->owner != NULL && exists) {
        arena_reset(&s->lent);
        rc = lease_claim(s, &claim, with->owner, with->ttl_ms, &fence, err);
        if (fence != 0)
            fence_store(s, fence);
        with->head = claim.head;
    }
    if (rc == PAWL_OK && with->owner != NULL && with->fence != 0 && with->fence != with->head.fence_before)
        rc = store_fenced(run, with->fence, with->head.fence_before, err);
    if (rc == PAWL_OK && with->first != NULL) {
        with->first->run = with->head.run;
        with->first->fence = with->head.fence;
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
    bool exists;
    pawl_code rc;

    arena_init(&mem, &s->alloc, base.size);
    if (with != NULL && with->first != NULL && with->first->over)
        s->file_checked_ms = FILE_UNCHECKED;
    if ((rc = store_base_read(&mem, base, &b, err)) != PAWL_OK || (rc = store_beginning_check(&s->alloc, b.run, with, err)) != PAWL_OK ||
        (rc = write_begin(s, TXN_SYNCED, err)) != PAWL_OK)
        goto out;
    hash_of(base.data, base.size, &born);
    if (!base_matches(s, b.run, &born, &exists))
        rc = fail(err, PAWL_CONFLICT, "%s: a run of this id exists, with another base", b.run);
    else if (!exists && s->rc == SQLITE_OK)
        run_add(s, &b, base, &born, with);
    if (rc == PAWL_OK && with != NULL && s->rc == SQLITE_OK)
        rc = beginning_store(s, b.run, exists, with, err);
    if ((rc = write_end(s, rc, err)) != PAWL_OK)
        s->space = space;
    else if (with != NULL && with->first != NULL)
        with->first->version = version_known(s);
out:
    arena_free(&mem);
    return rc;
}
