/* deliver.c - mailboxes: deliveries from callers without the lease (E16), answers checked against their wait (W3); the list of open waits.
 *
 * Owns nothing. Called through the verbs deliver, deliveries and waits, and by create for a START; on the thread that uses the handle.
 * Invariant: Q5, heads.mail counts the deliveries that are not taken. */
#include "store/sqlite/sqlite.h"

/* ---- answers (W3) ---------------------------------------------------------------------------- */

static pawl_code answer_refuse(sqlite_store *s, const char *run, const char *id, int64_t wait, pawl_err *err)
{
    sqlite3_stmt *q = sql_use(s, SQL_WAIT_ANSWER);
    pawl_code rc;

    sql_int(q, 1, wait);
    if (!sql_row(s, q))
        return PAWL_CONFLICT;
    rc = store_answer_conflict(run, id, sql_decode(s, q, sqlite3_column_type(q, 0) == SQLITE_NULL ? 1 : 0, run, 0),
                           (const char *)sqlite3_column_text(q, 2), err);
    sql_end(q);
    return rc;
}

/* *wait: the number of the wait in the file, when the answer is accepted and is the only one; else 0. */
static pawl_code answer_check(sqlite_store *s, const char *run, int64_t no, const pawl_delivery *d, int64_t *wait, pawl_err *err)
{
    sqlite3_stmt *q = sql_use(s, SQL_WAIT_FIND);
    pawl_bytes spec;
    pawl_code rc = PAWL_OK;
    bool more = false;

    sql_int(q, 1, no);
    sql_text(q, 2, d->name);
    if (!sql_row(s, q))
        return s->rc == SQLITE_OK ? fail(err, PAWL_INVALID, "%s: there never was a wait %s", run, d->name) : PAWL_OK;
    *wait = sql_get_int(q, 0);
    if (sql_get_int(q, 1) != 0 || sqlite3_column_type(q, 2) != SQLITE_NULL)
        rc = answer_refuse(s, run, d->name, *wait, err);
    else if (spec = sql_decode(s, q, 3, run, 0), s->rc == SQLITE_OK)
        rc = store_answer_check(&s->alloc, run, d, spec, &more, err);
    sql_end(q);
    *wait = more ? 0 : *wait;
    return rc;
}

/* ---- delivering ------------------------------------------------------------------------------ */

static pawl_code delivery_find(sqlite_store *s, const char *run, int64_t no, pawl_delivery *d, const hash *digest, bool *repeated,
                                pawl_err *err)
{
    sqlite3_stmt *q = sql_use(s, SQL_DELIVERY_FIND);
    pawl_bytes old;
    bool same;

    *repeated = false;
    sql_int(q, 1, no);
    sql_text(q, 2, d->id);
    if (!sql_row(s, q))
        return PAWL_OK;
    *repeated = true;
    old = sql_get_bytes(q, 2);
    same = old.size == HASH_BYTES && memcmp(old.data, digest->b, HASH_BYTES) == 0;
    d->no = (uint64_t)sql_get_int(q, 0);
    d->at_ms = sql_get_int(q, 1);
    sql_end(q);
    return same ? PAWL_OK : fail(err, PAWL_CONFLICT, "%s: delivery %s was sent before with other bytes", run, d->id);
}

static void delivery_add(sqlite_store *s, int64_t run, pawl_delivery *d, const hash *digest, int64_t wait)
{
    sqlite3_stmt *q = sql_use(s, SQL_DELIVERY_ADD);

    d->at_ms = store_now(s);
    sql_int(q, 1, run);
    sql_text(q, 2, d->id);
    sql_int(q, 3, d->kind);
    sql_text(q, 4, d->name);
    sql_int(q, 5, d->outcome);
    sql_encode(s, q, 6, d->value, 0);
    sql_encode(s, q, 7, d->update, 1);
    sql_encode_text(s, q, 8, d->by, 2);
    sql_encode_text(s, q, 9, d->note, 3);
    sql_text(q, 10, d->trace);
    sql_int(q, 11, d->at_ms);
    sql_bytes(q, 12, digest->b, HASH_BYTES);
    sql_run(s, q);
    d->no = (uint64_t)sqlite3_last_insert_rowid(s->db);
    q = sql_use(s, SQL_MAILBOX_ADD);
    sql_int(q, 1, run);
    sql_int(q, 2, d->at_ms);
    sql_run(s, q);
    if (wait == 0)
        return;
    q = sql_use(s, SQL_WAIT_DELIVERED);
    sql_int(q, 1, wait);
    sql_int(q, 2, (int64_t)d->no);
    sql_run(s, q);
}

static int64_t mailbox_count(sqlite_store *s, int64_t no)
{
    sqlite3_stmt *q = sql_use(s, SQL_MAILBOX_COUNT);

    sql_int(q, 1, no);
    return sql_number(s, q);
}

pawl_code deliver_in(sqlite_store *s, const char *run, pawl_delivery *d, pawl_err *err)
{
    int64_t no, wait = 0;
    bool repeated = false;
    hash digest;
    pawl_code rc;

    store_delivery_hash(d, &digest);
    if ((no = run_no(s, run)) == 0)
        return s->rc == SQLITE_OK ? store_run_missing(run, err) : PAWL_OK;
    if ((rc = delivery_find(s, run, no, d, &digest, &repeated, err)) != PAWL_OK || repeated)
        return rc;
    if (d->kind == PAWL_DELIVER_ANSWER && (rc = answer_check(s, run, no, d, &wait, err)) != PAWL_OK)
        return rc;
    if (mailbox_count(s, no) >= (int64_t)s->signals_max)
        return fail(err, PAWL_LIMIT, "%s: its mailbox is full, with %u deliveries (signals_max)", run, (unsigned)s->signals_max);
    delivery_add(s, no, d, &digest, wait);
    run_row_drop(s, run);         /* the cached row has the old number of deliveries */
    return PAWL_OK;
}

pawl_code sqlite_deliver(pawl_store *st, const char *run, pawl_delivery *d, pawl_err *err)
{
    sqlite_store *s = sqlite_of(st);
    pawl_delivery given;
    pawl_code rc;

    if ((rc = store_delivery_check(&s->alloc, run, d, err)) != PAWL_OK || (rc = write_begin(s, TXN_SYNCED, err)) != PAWL_OK)
        return rc;
    given = *d;
    rc = deliver_in(s, run, d, err);
    if ((rc = write_end(s, rc, err)) != PAWL_OK)
        *d = given;
    return rc;
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool is_as_delivered(sqlite_store *s, sqlite3_stmt *q, const pawl_delivery *d)
{
    const pawl_bytes stored = sql_get_bytes(q, 11);
    hash digest;

    store_delivery_hash(d, &digest);
    return s->rc != SQLITE_OK || (stored.size == HASH_BYTES && memcmp(stored.data, digest.b, HASH_BYTES) == 0);
}

pawl_code sqlite_deliveries(pawl_store *st, const char *run, pawl_delivery_fn *fn, void *ctx, pawl_err *err)
{
    sqlite_store *s = sqlite_of(st);
    sqlite3_stmt *q;
    pawl_code rc = read_rows(s, run, fn != NULL, SQL_DELIVERIES, &q, err);

    if (rc != PAWL_OK)
        return rc;
    while (sql_row(s, q)) {
        pawl_delivery d = {
            .no = (uint64_t)sql_get_int(q, 0),
            .id = sql_get_text(q, 1),
            .kind = (pawl_delivery_kind)sql_get_int(q, 2),
            .name = sql_get_text(q, 3),
            .outcome = (int)sql_get_int(q, 4),
            .value = sql_decode(s, q, 5, run, 0),
            .update = sql_decode(s, q, 6, run, 1),
            .by = sql_decode_text(s, q, 7, run, 2),
            .note = sql_decode_text(s, q, 8, run, 3),
            .trace = sql_get_text(q, 9),
            .at_ms = sql_get_int(q, 10),
        };

        if (s->rc == SQLITE_OK && !is_as_delivered(s, q, &d)) {
            rc = fail(err, PAWL_CORRUPT, "%s: delivery %s does not match its digest: it was changed in the store, and is not taken", run, d.id);
            break;
        }
        if (s->rc != SQLITE_OK || !fn(ctx, &d))
            break;
    }
    sql_end(q);
    return read_end(s, rc, err);
}

pawl_code sqlite_waits(pawl_store *st, const char *run, pawl_waiting_fn *fn, void *ctx, pawl_err *err)
{
    sqlite_store *s = sqlite_of(st);
    sqlite3_stmt *q;
    int64_t no = 0;
    pawl_code rc;

    if (run == NULL && fn == NULL)
        return fail(err, PAWL_INVALID, "a list of waits needs a callback");
    rc = run == NULL ? read_begin(s, err) : read_run(s, run, fn != NULL, &no, err);
    if (rc != PAWL_OK)
        return rc;
    q = sql_use(s, run == NULL ? SQL_WAITS_ALL : SQL_WAITS);
    sql_int(q, 1, s->space);
    if (run != NULL)
        sql_int(q, 2, no);
    while (sql_row(s, q)) {
        pawl_waiting w = { .id = sql_get_text(q, 1), .asked_ms = sql_get_int(q, 3), .answered = sql_get_int(q, 4) != 0 };

        w.spec = sql_decode(s, q, 2, sql_get_text(q, 0), 0);
        if (s->rc != SQLITE_OK || !fn(ctx, sql_get_text(q, 0), &w))
            break;
    }
    sql_end(q);
    return read_end(s, PAWL_OK, err);
}
