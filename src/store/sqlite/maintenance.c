/* maintenance.c - prunes and removes runs, checks the whole file, copies and shrinks it.
 *
 * Owns nothing. Called through the verbs prune, remove, check, backup and vacuum, on the thread that uses the handle. Those that write hold
 * PATH-lock (Q1). Invariants: Q2, deleted rows keep their numbers (rows_delete); Q3, the watermark moves past them. */
#include "store/sqlite/sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* ---- pruning and removing -------------------------------------------------------------------- */

static void sql_run_no(sqlite_store *s, sql_id id, int64_t no)
{
    sqlite3_stmt *q = sql_use(s, id);

    sql_int(q, 1, no);
    sql_run(s, q);
}

/* SQLite would assign the number of the last row again, so an empty row (the hole) stays in its place (Q2). Other handles may have deleted rows in
 * their tails: the watermark moves past those, which makes the handles read again (Q3). */
static void rows_delete(sqlite_store *s, const int64_t *lsns, size_t n)
{
    sqlite3_stmt *q;
    int64_t newest = sql_number(s, sql_use(s, SQL_NEWEST_LSN)), hole;

    for (size_t i = 0; i < n; i++)
        sql_run_no(s, SQL_ENTRY_DELETE, lsns[i]);
    q = sql_use(s, SQL_META);
    sql_text(q, 1, "hole");
    hole = sql_number(s, q);
    q = sql_use(s, SQL_HOLE_ADD);
    sql_int(q, 1, newest);
    if (sql_run(s, q) == 1) {
        q = sql_use(s, SQL_META_SET);
        sql_text(q, 1, "hole");
        sql_int(q, 2, newest);
        sql_run(s, q);
    }
    if (hole != 0 && hole != newest)
        sql_run_no(s, SQL_HOLE_DELETE, hole);
    if (s->tail_lsn < newest)
        s->tail_lsn = newest;
    watermark_move(s);
}

/* The rows of the run up to entry `seq` into *old; *first: the row after them, 0 when there is none. */
static pawl_code prune_rows(sqlite_store *s, const run_row *row, uint64_t seq, chain *old, int64_t *first, pawl_err *err)
{
    run_tail from = { .no = row->no, .lsn = row->lsn };
    chain rest;
    sqlite3_stmt *q;
    pawl_code rc;

    if ((rc = chain_walk(s, row->id, &from, 0, seq, &rest, err)) != PAWL_OK)
        return rc;
    *first = rest.n == 0 ? 0 : rest.lsns[rest.n - 1];
    if (*first != 0) {
        q = sql_use(s, SQL_LINK);
        sql_int(q, 1, *first);
        if (sql_row(s, q)) {
            from.lsn = sql_get_int(q, 1);
            sql_end(q);
        }
    }
    return s->rc != SQLITE_OK ? sql_code(s, err) : chain_walk(s, row->id, &from, 0, 0, old, err);
}

/* Whether `base` may replace the base of the run. *repeated: it is the base already. */
static pawl_code prune_check(sqlite_store *s, const run_row *row, uint64_t seq, pawl_bytes base, bool *repeated, pawl_err *err)
{
    sqlite3_stmt *q = sql_use(s, SQL_BASE);
    uint64_t base_seq = 0, life = 0;
    pawl_bytes old;
    bool same;
    store_base b;
    pawl_code rc;

    *repeated = false;
    sql_int(q, 1, row->no);
    if (!sql_row(s, q))
        return sql_code(s, err);
    base_seq = (uint64_t)sql_get_int(q, 0);
    life = (uint64_t)sql_get_int(q, 1);
    old = sql_decode(s, q, 2, row->id, 0);
    same = old.size == base.size && memcmp(old.data, base.data, base.size) == 0;
    sql_end(q);
    if (s->rc != SQLITE_OK)
        return sql_code(s, err);
    if (seq < base_seq)
        return fail(err, PAWL_GONE, "%s: entry %llu was pruned, it begins at %llu", row->id, (unsigned long long)seq,
                    (unsigned long long)base_seq);
    if (seq == 0 || seq > row->seq)
        return fail(err, PAWL_INVALID, "%s: there is no entry %llu to begin at", row->id, (unsigned long long)seq);
    if ((rc = store_base_read(&s->mem, base, &b, err)) != PAWL_OK)
        return rc;
    if (strcmp(b.run, row->id) != 0 || b.life != life || b.seq != seq)
        return fail(err, PAWL_INVALID, "%s: the base is of another run, or of another entry than %llu", row->id,
                    (unsigned long long)seq);
    *repeated = seq == base_seq;
    if (*repeated && !same)
        rc = fail(err, PAWL_CONFLICT, "%s: it begins at entry %llu, with another base", row->id, (unsigned long long)seq);
    return rc;
}

static bool snapshot_survives(sqlite_store *s, const char *run, int64_t no, uint64_t seq)
{
    snapshot one;
    bool stands = false;

    if (snapshot_find(s, run, no, &one, NULL) != PAWL_OK)
        return false;
    if (store_snapshot_survives(&s->alloc, one.body, one.seq, seq, &stands) != PAWL_OK)
        s->rc = SQLITE_NOMEM;
    sql_end(one.row);
    return stands;
}

static pawl_code prune_in(sqlite_store *s, run_row *row, uint64_t seq, pawl_bytes base, pawl_err *err)
{
    sqlite3_stmt *q;
    bool repeated;
    chain old;
    int64_t first;
    pawl_code rc;

    if ((rc = prune_check(s, row, seq, base, &repeated, err)) != PAWL_OK || repeated ||
        (rc = prune_rows(s, row, seq, &old, &first, err)) != PAWL_OK)
        return rc;
    if (first != 0)
        sql_run_no(s, SQL_ENTRY_SET_FIRST, first);
    else
        row->lsn = 0;
    q = sql_use(s, SQL_BASE_SET);
    sql_int(q, 1, row->no);
    sql_int(q, 2, (int64_t)seq);
    sql_encode(s, q, 3, base, 0);
    sql_run(s, q);
    q = sql_use(s, SQL_SEEK_POINTS_DELETE);
    sql_int(q, 1, row->no);
    sql_int(q, 2, (int64_t)seq);
    sql_run(s, q);
    if (!snapshot_survives(s, row->id, row->no, seq))
        sql_run_no(s, SQL_SNAPSHOT_DELETE, row->no);
    tail_put(s, &(run_tail){ .no = row->no, .seq = row->seq, .lsn = row->lsn });
    rows_delete(s, old.lsns, old.n);
    return PAWL_OK;
}

pawl_code sqlite_prune(pawl_store *st, const char *run, uint64_t fence, uint64_t seq, pawl_bytes base, pawl_err *err)
{
    sqlite_store *s = sqlite_of(st);
    pawl_code rc;
    run_row *row = write_run(s, TXN_SYNCED, run, fence, &rc, err);

    return row == NULL ? rc : write_end(s, prune_in(s, row, seq, base, err), err);
}

pawl_code sqlite_remove(pawl_store *st, const char *run, uint64_t fence, pawl_err *err)
{
    static const sql_id all[] = { SQL_SNAPSHOT_DELETE, SQL_BLOBS_DELETE, SQL_WAITS_DELETE, SQL_DELIVERIES_DELETE,
                                  SQL_MARKS_DELETE, SQL_LOSSES_DELETE, SQL_LABELS_DELETE, SQL_HEAD_DELETE, SQL_RUN_DELETE };
    sqlite_store *s = sqlite_of(st);
    sqlite3_stmt *q;
    run_tail from;
    chain c;
    pawl_code rc;
    run_row *row = write_run(s, TXN_SYNCED, run, fence, &rc, err);

    if (row == NULL)
        return rc;
    from = (run_tail){ .no = row->no, .lsn = row->lsn };
    if ((rc = chain_walk(s, run, &from, 0, 0, &c, err)) == PAWL_OK) {
        q = sql_use(s, SQL_SEEK_POINTS_DELETE);
        sql_int(q, 1, row->no);
        sql_int(q, 2, INT64_MAX);
        sql_run(s, q);
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            sql_run_no(s, all[i], row->no);
        rows_delete(s, c.lsns, c.n);
    }
    rc = write_end(s, rc, err);
    run_row_drop(s, run);
    return rc;
}

/* ---- checking -------------------------------------------------------------------------------- */

static pawl_code check_file(sqlite_store *s, pawl_err *err)
{
    sqlite3_stmt *q = sql_use(s, SQL_CHECK_FILE);
    const char *result;
    pawl_code rc = PAWL_OK;

    if (!sql_row(s, q))
        return sql_code(s, err);
    result = sql_get_text(q, 0);
    if (result == NULL || strcmp(result, "ok") != 0)
        rc = fail(err, PAWL_CORRUPT, "%s is damaged: %s; restore a backup", s->path, result == NULL ? "?" : result);
    sql_end(q);
    return rc;
}

/* One pass over all rows: each names the previous row of its run (Q2). `ends` gets the newest row of each run. */
static pawl_code check_rows(sqlite_store *s, sqlite_store *ends, pawl_err *err)
{
    sqlite3_stmt *q = sql_use(s, SQL_CHECK_ROWS);
    pawl_code rc = PAWL_OK;

    while (rc == PAWL_OK && sql_row(s, q)) {
        int64_t lsn = sql_get_int(q, 0), no = sql_get_int(q, 1);
        bool record = sqlite3_column_type(q, 3) == SQLITE_NULL;
        const run_tail *before = tail_find(ends, no);
        uint64_t seq = record ? (before == NULL ? 0 : before->seq) : (uint64_t)sql_get_int(q, 3);

        if (sql_get_int(q, 2) != (before == NULL ? 0 : before->lsn) ||
            (!record && before != NULL && before->seq != 0 && seq != before->seq + 1))
            rc = fail(err, PAWL_CORRUPT, "%s: row %lld of run number %lld does not follow the one before it", s->path,
                      (long long)lsn, (long long)no);
        tail_put(ends, &(run_tail){ .no = no, .seq = seq, .lsn = lsn });
    }
    sql_end(q);
    return ends->rc != SQLITE_OK ? sql_fail(s, ends->rc, err) : rc;
}

static pawl_code check_heads(sqlite_store *s, const sqlite_store *ends, pawl_err *err)
{
    sqlite3_stmt *q = sql_use(s, SQL_CHECK_HEADS);
    const char *damage = NULL;
    pawl_code rc = PAWL_OK;

    while (damage == NULL && sql_row(s, q)) {
        const run_tail *end = tail_find(ends, sql_get_int(q, 0)), *tail = tail_find(s, sql_get_int(q, 0));
        run_tail stored = { .seq = (uint64_t)sql_get_int(q, 4), .lsn = sql_get_int(q, 5) };
        uint64_t seq = end != NULL && end->seq != 0 ? end->seq : (uint64_t)sql_get_int(q, 2);

        if (tail != NULL)
            stored = *tail;
        if (sqlite3_column_type(q, 3) == SQLITE_NULL)
            damage = "has no head";
        else if (stored.lsn != (end == NULL ? 0 : end->lsn) || stored.seq != seq)
            damage = "does not end at the row in its head";
        else if (sql_get_int(q, 6) != sql_get_int(q, 8))
            damage = "has another number of deliveries than its head";
        else if (sql_get_int(q, 7) != sql_get_int(q, 9))
            damage = "has another number of open waits than its head";
        else if ((uint64_t)sql_get_int(q, 10) > seq)
            damage = "has a snapshot of a missing entry";
        if (damage != NULL)
            rc = fail(err, PAWL_CORRUPT, "%s: run %s %s", s->path, sql_get_text(q, 1), damage);
    }
    sql_end(q);
    return rc;
}

static pawl_code check_blobs(sqlite_store *s, pawl_err *err)
{
    sqlite3_stmt *q = sql_use(s, SQL_CHECK_BLOBS);
    pawl_code rc = PAWL_OK;

    while (rc == PAWL_OK && sql_row(s, q)) {
        pawl_bytes digest = sql_get_bytes(q, 1), body;
        hash h = { { 0 } }, stored = { { 0 } };

        if (digest.size == HASH_BYTES)
            memcpy(stored.b, digest.data, HASH_BYTES);
        body = blob_read(s, q, 2, sql_get_text(q, 0), &stored);
        if (s->rc != SQLITE_OK)
            break;
        hash_of(body.data, body.size, &h);
        if (digest.size != HASH_BYTES || !hash_equal(&h, &stored))
            rc = fail(err, PAWL_CORRUPT, "%s: a blob of run %s does not match its digest", s->path, sql_get_text(q, 0));
    }
    sql_end(q);
    return rc;
}

static pawl_code check_snapshots(sqlite_store *s, pawl_err *err)
{
    sqlite3_stmt *q = sql_use(s, SQL_CHECK_SNAPSHOTS);
    pawl_code rc = PAWL_OK;
    snapshot one;

    while (rc == PAWL_OK && sql_row(s, q)) {
        rc = snapshot_find(s, sql_get_text(q, 1), sql_get_int(q, 0), &one, err);
        if (rc == PAWL_OK)
            sql_end(one.row);
        else if (rc == PAWL_GONE)
            rc = PAWL_OK;
    }
    sql_end(q);
    return rc;
}

pawl_code sqlite_check(pawl_store *st, pawl_err *err)
{
    sqlite_store *s = sqlite_of(st);
    sqlite_store ends = { .alloc = s->alloc };
    pawl_code rc = read_begin(s, err);

    if (rc != PAWL_OK)
        return rc;
    if ((rc = check_file(s, err)) == PAWL_OK && (rc = check_rows(s, &ends, err)) == PAWL_OK &&
        (rc = check_heads(s, &ends, err)) == PAWL_OK)
        rc = check_blobs(s, err);
    if (rc == PAWL_OK)
        rc = check_snapshots(s, err);
    caches_free(&ends);
    return read_end(s, rc, err);
}

/* ---- backup and vacuum ------------------------------------------------------------------- */

static pawl_code copy_to(sqlite_store *s, const char *path, pawl_err *err)
{
    sqlite3 *to = NULL;
    sqlite3_backup *b;
    int rc = sqlite3_open_v2(path, &to, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);

    if (rc == SQLITE_OK && (b = sqlite3_backup_init(to, "main", s->db, "main")) != NULL) {
        rc = sqlite3_backup_step(b, -1);
        sqlite3_backup_finish(b);
        rc = rc == SQLITE_DONE ? SQLITE_OK : rc;
    } else if (rc == SQLITE_OK) {
        rc = sqlite3_extended_errcode(to);
    }
    sqlite3_close_v2(to);
    return rc == SQLITE_OK ? PAWL_OK : fail(err, PAWL_IO, "%s: the backup could not be written: %s", path, sqlite3_errstr(rc));
}

pawl_code sqlite_backup(pawl_store *st, const char *path, pawl_err *err)
{
    int fd = path == NULL ? -1 : open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    pawl_code rc;

    if (path == NULL)
        return fail(err, PAWL_INVALID, "a backup needs the path of a new file");
    if (fd < 0 && errno == EEXIST)
        return fail(err, PAWL_INVALID, "%s exists already; a backup is a new file", path);
    if (fd < 0)
        return fail(err, PAWL_IO, "%s cannot be created; does its folder exist, and is it writable?", path);
    close(fd);
    if ((rc = copy_to(sqlite_of(st), path, err)) != PAWL_OK)
        unlink(path);
    return rc;
}

pawl_code sqlite_vacuum(pawl_store *st, pawl_err *err)
{
    sqlite_store *s = sqlite_of(st);
    pawl_code rc = write_begin(s, TXN_SYNCED, err);

    if (rc != PAWL_OK)
        return rc;
    sql_run(s, sql_use(s, SQL_HOLES_DELETE));
    if ((rc = write_end(s, PAWL_OK, err)) != PAWL_OK || (rc = lock_take(s, err)) != PAWL_OK)
        return rc;
    if ((rc = sql_exec(s, "VACUUM", err)) == PAWL_OK)
        checkpoint(s, SQLITE_CHECKPOINT_TRUNCATE);
    s->own_writes++;
    caches_drop(s);
    lock_release(s);
    return rc;
}
