/* read.c - reads journals, snapshots and blobs. Rows of a run are found from the newest one back (Q2), then read forward.
 *
 * Owns nothing. Called through the verbs load, snapshot, read and blob, on the thread that uses the handle, in a read transaction.
 * Invariants: Q2 (link_read), Q6 (snapshot_find). */
#include "store/sqlite/sqlite.h"

/* ---- the chain (Q2) -------------------------------------------------------------------------- */

typedef struct chain_link {
    int64_t prev;
    uint64_t seq;
    bool record;
} chain_link;

static pawl_code chain_damaged(sqlite_store *s, const char *run, int64_t lsn, pawl_err *err)
{
    return fail(err, PAWL_CORRUPT, "%s: row %lld of run %s does not belong to its chain; restore a backup", s->path,
                (long long)lsn, run);
}

static pawl_code link_read(sqlite_store *s, const char *run, int64_t no, int64_t lsn, chain_link *out, pawl_err *err)
{
    sqlite3_stmt *q = sql_use(s, SQL_LINK);
    bool same_run;

    sql_int(q, 1, lsn);
    if (!sql_row(s, q))
        return s->rc == SQLITE_OK ? chain_damaged(s, run, lsn, err) : PAWL_IO;
    same_run = sql_get_int(q, 0) == no;
    *out = (chain_link){ sql_get_int(q, 1), (uint64_t)sql_get_int(q, 2), sqlite3_column_type(q, 2) == SQLITE_NULL };
    sql_end(q);
    return same_run && out->prev < lsn ? PAWL_OK : chain_damaged(s, run, lsn, err);
}

pawl_code chain_walk(sqlite_store *s, const char *run, const run_tail *from, int64_t after_lsn, uint64_t after_seq, chain *out,
                     pawl_err *err)
{
    chain_link at;
    pawl_code rc;

    *out = (chain){ 0 };
    for (int64_t lsn = from->lsn; lsn > after_lsn; lsn = at.prev) {
        if ((rc = link_read(s, run, from->no, lsn, &at, err)) != PAWL_OK)
            return sql_code(s, err) != PAWL_OK ? sql_code(s, err) : rc;
        if (!at.record && at.seq <= after_seq)
            break;
        if (!arena_room(&s->mem, (void **)&out->lsns, &out->cap, out->n, sizeof *out->lsns))
            return fail(err, PAWL_NOMEM, "%s: no memory to read its journal", run);
        out->lsns[out->n++] = lsn;
    }
    return PAWL_OK;
}

/* ---- lines, forward -------------------------------------------------------------------------- */

typedef struct line_reader {
    pawl_line_fn *fn;
    void *ctx;
    const char *run;
    uint64_t seq;               /* of the entry before */
    bool stopped;
} line_reader;

static pawl_bytes line_restore(sqlite_store *s, sqlite3_stmt *q, const char *run)
{
    buf *b = &s->decoded[0].b;
    bool ok = store_line_restore(sql_get_bytes(q, 3), b);

    if (b->failed)
        s->rc = SQLITE_NOMEM;
    else if (!ok)
        sql_set_error(s, PAWL_CORRUPT, "%s: run %s has a damaged line; restore a backup", s->path, run);
    return (pawl_bytes){ b->data, b->size };
}

pawl_bytes line_read(sqlite_store *s, sqlite3_stmt *q, const char *run)
{
    int64_t codec = sql_get_int(q, 2);

    if (codec == STORE_SHORTENED)
        return line_restore(s, q, run);
    if (codec == 0 || codec == STORE_ENCODED)
        return sql_decode(s, q, 3, run, 0);
    sql_set_error(s, PAWL_INVALID, "%s: run %s has lines of kind %lld, which this version does not know; update Pawl", s->path, run, (long long)codec);
    return (pawl_bytes){ NULL, 0 };
}

/* A record gets the number of the entry that closes it, which is the next one. */
static pawl_code line_emit(sqlite_store *s, sqlite3_stmt *q, line_reader *r, pawl_err *err)
{
    bool record = sqlite3_column_type(q, 1) == SQLITE_NULL;
    pawl_bytes line;

    line = line_read(s, q, r->run);
    if ((r->stopped = s->rc != SQLITE_OK))
        return PAWL_OK;         /* the end of the verb returns the error */
    if (!record && (uint64_t)sql_get_int(q, 1) != r->seq + 1)
        return fail(err, PAWL_CORRUPT, "%s: run %s has no entry %llu; restore a backup", s->path, r->run,
                    (unsigned long long)r->seq + 1);
    r->seq += !record;
    r->stopped = !r->fn(r->ctx, record ? PAWL_LINE_RECORD : PAWL_LINE_ENTRY, record ? r->seq + 1 : r->seq, line);
    return PAWL_OK;
}

/* When most rows of the range are of this run, one range statement is faster than one look-up a row. */
static pawl_code lines_emit(sqlite_store *s, int64_t no, const chain *c, line_reader *r, pawl_err *err)
{
    size_t n = c->n;
    bool dense = n > 1 && (uint64_t)(c->lsns[0] - c->lsns[n - 1]) < (uint64_t)n * 2;
    pawl_code rc = PAWL_OK;

    while (n > 0 && rc == PAWL_OK && !r->stopped && s->rc == SQLITE_OK) {
        sqlite3_stmt *q = sql_use(s, dense ? SQL_LINES : SQL_LINE);
        size_t before = n;

        sql_int(q, 1, c->lsns[n - 1]);
        if (dense) {
            sql_int(q, 2, c->lsns[0]);
            sql_int(q, 3, no);
        }
        while (rc == PAWL_OK && !r->stopped && n > 0 && sql_row(s, q)) {
            rc = line_emit(s, q, r, err);
            n--;
            if (!dense)
                break;
        }
        sql_end(q);
        if (n == before && rc == PAWL_OK && s->rc == SQLITE_OK)
            rc = chain_damaged(s, r->run, c->lsns[n - 1], err);
    }
    return rc;
}

static bool base_emit(sqlite_store *s, int64_t no, line_reader *r, bool wanted)
{
    sqlite3_stmt *q = sql_use(s, SQL_BASE);

    sql_int(q, 1, no);
    if (!sql_row(s, q))
        return false;
    r->seq = (uint64_t)sql_get_int(q, 0);
    if (wanted) {
        pawl_bytes line = sql_decode(s, q, 2, r->run, 0);

        r->stopped = s->rc != SQLITE_OK || !r->fn(r->ctx, PAWL_LINE_BASE, r->seq, line);
    }
    sql_end(q);
    return true;
}

/* ---- snapshots (Q6) -------------------------------------------------------------------------- */

/* False: row `lsn` is not entry `seq` of this run, or s->rc. */
static bool entry_hash(sqlite_store *s, const char *run, int64_t no, int64_t lsn, uint64_t seq, hash *out)
{
    sqlite3_stmt *q = sql_use(s, SQL_LINE);
    bool found;

    sql_int(q, 1, lsn);
    if (!sql_row(s, q))
        return false;
    found = sql_get_int(q, 0) == no && (uint64_t)sql_get_int(q, 1) == seq && sqlite3_column_type(q, 1) != SQLITE_NULL &&
            store_entry_hash(line_read(s, q, run), out);
    sql_end(q);
    return found && s->rc == SQLITE_OK;
}

/* A damaged page or value of a snapshot costs only the snapshot: its state follows from the journal (K11). */
static bool snapshot_is_damaged(sqlite_store *s)
{
    bool damaged = (s->rc & 0xff) == SQLITE_CORRUPT || (s->rc == SQLITE_ABORT && s->value_error.code == PAWL_CORRUPT);

    if (damaged)
        s->rc = SQLITE_OK;
    return damaged;
}

pawl_code snapshot_find(sqlite_store *s, const char *run, int64_t no, snapshot *out, pawl_err *err)
{
    sqlite3_stmt *q = sql_use(s, SQL_SNAPSHOT);
    hash entry = { { 0 } }, found;
    pawl_bytes digest;
    bool fits = false;

    *out = (snapshot){ .row = q };
    sql_int(q, 1, no);
    if (sql_row(s, q)) {
        out->seq = (uint64_t)sql_get_int(q, 0);
        out->lsn = sql_get_int(q, 1);
        digest = sql_get_bytes(q, 2);
        if (digest.size == 0) {         /* written before there were digests */
            sql_end(q);
            return PAWL_GONE;
        }
        fits = digest.size == HASH_BYTES && entry_hash(s, run, no, out->lsn, out->seq, &entry);
        out->body = fits ? sql_decode(s, q, 3, run, 1) : (pawl_bytes){ NULL, 0 };
        if (out->body.data != NULL && s->rc == SQLITE_OK) {
            store_snapshot_digest(&entry, out->body, &found);
            if (memcmp(digest.data, found.b, HASH_BYTES) == 0)
                return PAWL_OK;
        }
        sql_end(q);
    } else if (s->rc == SQLITE_OK) {
        return PAWL_GONE;
    }
    if (!snapshot_is_damaged(s) && s->rc != SQLITE_OK)
        return PAWL_GONE;
    return fail(err, PAWL_CORRUPT, "%s: the snapshot of run %s does not match its digest; it is not used, and the next one replaces it", s->path, run);
}

pawl_code sqlite_snapshot(pawl_store *st, const char *run, pawl_line_fn *fn, void *ctx, pawl_err *err)
{
    sqlite_store *s = sqlite_of(st);
    snapshot one;
    int64_t no;
    pawl_code rc = read_run(s, run, fn != NULL, &no, err);

    if (rc != PAWL_OK)
        return rc;
    if ((rc = snapshot_find(s, run, no, &one, err)) == PAWL_OK) {
        fn(ctx, PAWL_LINE_SNAPSHOT, one.seq, one.body);
        sql_end(one.row);
    } else if (rc == PAWL_GONE && s->rc == SQLITE_OK) {
        fail(err, rc, "%s: it has no snapshot", run);
    }
    return read_end(s, s->rc == SQLITE_OK ? rc : PAWL_OK, err);
}

/* ---- the verbs ------------------------------------------------------------------------------- */

static pawl_code load_in(sqlite_store *s, const char *run, int64_t no, pawl_line_fn *fn, void *ctx, pawl_err *err)
{
    line_reader r = { fn, ctx, run, 0, false };
    snapshot cached;
    chain c;
    run_tail at = { .no = no };
    int64_t after = 0;
    pawl_code rc = PAWL_OK;

    if (!run_tail_find(s, run, &at) || !base_emit(s, at.no, &r, true))
        return rc;
    if (!r.stopped && snapshot_find(s, run, at.no, &cached, NULL) == PAWL_OK) {
        r.seq = cached.seq;
        after = cached.lsn;
        r.stopped = !fn(ctx, PAWL_LINE_SNAPSHOT, r.seq, cached.body);
        sql_end(cached.row);
    }
    if (!r.stopped && s->rc == SQLITE_OK && (rc = chain_walk(s, run, &at, after, r.seq, &c, err)) == PAWL_OK)
        rc = lines_emit(s, at.no, &c, &r, err);
    return rc;
}

pawl_code sqlite_load(pawl_store *st, const char *run, pawl_line_fn *fn, void *ctx, pawl_err *err)
{
    sqlite_store *s = sqlite_of(st);
    int64_t no;
    pawl_code rc = read_run(s, run, fn != NULL, &no, err);

    return rc != PAWL_OK ? rc : read_end(s, load_in(s, run, no, fn, ctx, err), err);
}

/* Starts at the first seek point at or after `upto`, else at the newest row, and skips the rows above `upto`. */
static pawl_code read_chain(sqlite_store *s, const char *run, run_tail *at, uint64_t after, uint64_t upto, chain *c, pawl_err *err)
{
    sqlite3_stmt *q;
    chain_link l;
    pawl_code rc;

    if (upto != 0) {
        q = sql_use(s, SQL_SEEK_POINT);
        sql_int(q, 1, at->no);
        sql_int(q, 2, (int64_t)upto);
        if (sql_row(s, q)) {
            at->lsn = sql_get_int(q, 0);
            sql_end(q);
        }
    }
    while (upto != 0 && at->lsn > 0) {
        if ((rc = link_read(s, run, at->no, at->lsn, &l, err)) != PAWL_OK)
            return sql_code(s, err) != PAWL_OK ? sql_code(s, err) : rc;
        if (!l.record && l.seq <= upto)
            break;
        at->lsn = l.prev;
    }
    return chain_walk(s, run, at, 0, after, c, err);
}

static pawl_code read_in(sqlite_store *s, const char *run, int64_t no, uint64_t after, uint64_t upto, pawl_line_fn *fn, void *ctx, pawl_err *err)
{
    line_reader r = { fn, ctx, run, 0, false };
    chain c;
    run_tail at = { .no = no };
    pawl_code rc;

    if (!run_tail_find(s, run, &at) || !base_emit(s, at.no, &r, false))
        return PAWL_OK;
    if (after < r.seq)
        return fail(err, PAWL_GONE, "%s: the entries before %llu were pruned", run, (unsigned long long)r.seq + 1);
    if (after == 0)
        base_emit(s, at.no, &r, true);
    if (after > at.seq || (upto != 0 && upto <= after) || r.stopped)
        return PAWL_OK;
    if (upto > at.seq)
        upto = 0;
    r.seq = after;
    if ((rc = read_chain(s, run, &at, after, upto, &c, err)) == PAWL_OK)
        rc = lines_emit(s, at.no, &c, &r, err);
    return rc;
}

pawl_code sqlite_read(pawl_store *st, const char *run, uint64_t after, uint64_t upto, pawl_line_fn *fn, void *ctx, pawl_err *err)
{
    sqlite_store *s = sqlite_of(st);
    int64_t no;
    pawl_code rc = read_run(s, run, fn != NULL, &no, err);

    return rc != PAWL_OK ? rc : read_end(s, read_in(s, run, no, after, upto, fn, ctx, err), err);
}

pawl_code sqlite_look(pawl_store *st, const char *run, pawl_look *look, pawl_err *err)
{
    sqlite_store *s = sqlite_of(st);
    pawl_head head = { 0 };
    int64_t no;
    pawl_code rc = read_run(s, run, look != NULL, &no, err), ended;

    if (look != NULL)
        look->head = head;
    if (rc != PAWL_OK)
        return rc;
    if (look->fn != NULL)
        rc = look->load ? load_in(s, run, no, look->fn, look->ctx, err) : read_in(s, run, no, look->after, look->upto, look->fn, look->ctx, err);
    arena_reset(&s->lent);
    if (s->rc == SQLITE_OK)
        (void)head_load(s, run, &head, NULL);
    look->version = version_known(s);
    ended = read_end(s, rc, err);
    if (ended == PAWL_OK || (ended == PAWL_GONE && rc == PAWL_GONE))
        look->head = head;
    return ended;
}

/* A blob may be any bytes: one whose plain bytes look encoded is recognized by its digest. */
pawl_bytes blob_read(sqlite_store *s, sqlite3_stmt *q, int at, const char *run, const hash *digest)
{
    pawl_bytes raw = sql_get_bytes(q, at);
    hash h;

    if (store_is_encoded(raw)) {
        hash_of(raw.data, raw.size, &h);
        if (!hash_equal(&h, digest))
            return sql_decode(s, q, at, run, 0);
    }
    return raw;
}

pawl_code sqlite_blob(pawl_store *st, const char *run, const char *digest, pawl_line_fn *fn, void *ctx, pawl_err *err)
{
    sqlite_store *s = sqlite_of(st);
    sqlite3_stmt *q;
    int64_t no;
    hash h = { { 0 } };
    pawl_code rc = read_run(s, run, fn != NULL && digest != NULL, &no, err);

    if (rc != PAWL_OK)
        return rc;
    q = hash_unhex(digest, strlen(digest), &h) ? sql_use(s, SQL_BLOB) : NULL;
    sql_int(q, 1, no);
    sql_bytes(q, 2, h.b, HASH_BYTES);
    if (sql_row(s, q)) {
        pawl_bytes bytes = blob_read(s, q, 0, run, &h);

        if (s->rc == SQLITE_OK)
            fn(ctx, (pawl_line_kind)0, 0, bytes);
        sql_end(q);
    } else if (s->rc == SQLITE_OK) {
        rc = fail(err, PAWL_GONE, "%s: it has no blob %.64s", run, digest);
    }
    return read_end(s, rc, err);
}
