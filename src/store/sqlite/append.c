/* append.c - what a holder writes: entries and task records of many runs, with all that belongs to them, in one transaction; attempt counts.
 *
 * Owns nothing. Called through the verbs append, mark and create, on the thread that uses the handle; Q1 holds from write_begin to write_end.
 * A run that is refused has changed nothing, so the others go on; an error of the file rolls all of them back. Whether the fence is the
 * newest is checked before the first row is written, against the row in memory (Q4): a look-up of the head in each INSERT would cost a
 * microsecond, a third of a row of a batch.
 * Invariants: Q2 (lines_add), Q3 and Q5 (head_write), Q6 (snapshot_put). */
#include "store/sqlite/sqlite.h"

/* ---- may it be written? ---------------------------------------------------------------------- */

/* A row's bytes are these. */
static bool row_is(sqlite_store *s, const char *run, int64_t lsn, pawl_bytes line)
{
    sqlite3_stmt *q = sql_use(s, SQL_LINE);
    pawl_bytes row;
    bool same;

    sql_int(q, 1, lsn);
    if (!sql_row(s, q))
        return false;
    row = line_plain(s, q, run);
    same = row.size == line.size && memcmp(row.data, line.data, line.size) == 0;
    sql_end(q);
    return same;
}

/* Whether this append was stored before, and its result was lost: the newest entry is among these lines, which identifies them. Task
 * records may have followed. */
static bool append_repeated(sqlite_store *s, const pawl_append *a, const run_row *k, uint64_t entries)
{
    run_tail from = { .no = k->no, .lsn = k->lsn };
    size_t last = a->nlines, after, at;
    chain all, open;

    if (entries == 0 || a->seq + entries != k->seq ||
        chain_walk(s, k->id, &from, 0, a->seq, &all, NULL) != PAWL_OK ||
        chain_walk(s, k->id, &from, 0, k->seq, &open, NULL) != PAWL_OK)
        return false;
    while (store_line_is_record(a->lines[last - 1]))
        last--;
    after = a->nlines - last;
    if (open.n < after || all.n - open.n < last)
        return false;
    at = open.n + last; /* newest first: the first line is before this one */
    for (size_t i = 0; i < a->nlines; i++)
        if (!row_is(s, k->id, all.lsns[--at], a->lines[i]))
            return false;
    return true;
}

static bool deliveries_open(sqlite_store *s, const pawl_append *a, const run_row *k)
{
    for (size_t i = 0; i < a->ntaken; i++) {
        sqlite3_stmt *q = sql_use(s, SQL_DELIVERY_KIND);

        sql_int(q, 1, (int64_t)a->taken[i]);
        sql_int(q, 2, k->no);
        if (!sql_row(s, q))
            return false;
        sql_end(q);
        for (size_t before = i; before > 0 && a->taken[before - 1] >= a->taken[i]; before--)
            if (a->taken[before - 1] == a->taken[i])
                return false;
    }
    return true;
}

static pawl_code append_check(sqlite_store *s, const pawl_append *a, const run_row *k, uint64_t entries, bool *repeated)
{
    *repeated = false;
    if (k == NULL)
        return PAWL_GONE;
    if (a->fence == 0 || (k->fence != a->fence && !(BROKEN(BROKEN_SQLITE_FENCE) && a->fence + 1 == k->fence)))
        return PAWL_FENCED;
    if ((*repeated = a->seq != k->seq && append_repeated(s, a, k, entries)))
        return PAWL_OK;
    return a->seq == k->seq && deliveries_open(s, a, k) ? PAWL_OK : PAWL_CONFLICT;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void seek_point_add(sqlite_store *s, const run_row *k)
{
    sqlite3_stmt *q = sql_use(s, SQL_SEEK_POINT_ADD);

    sql_int(q, 1, k->no);
    sql_int(q, 2, (int64_t)k->seq);
    sql_int(q, 3, k->lsn);
    sql_run(s, q);
}

/* A line that a codec encodes is not shortened first: the codec compresses better. */
static void line_bind(sqlite_store *s, sqlite3_stmt *q, pawl_bytes line)
{
    buf *b = &s->packed[0].b;

    if (s->codecs.encoder != NULL) {
        sql_pack(s, q, 5, line, 0);
        sql_int(q, 6, STORE_CODED);
    } else if (store_short(line, b)) {
        sql_bytes(q, 5, b->data, b->size);
        sql_int(q, 6, STORE_SHORT);
    } else {
        sql_bytes(q, 5, line.data, line.size);
        sql_int(q, 6, 0);
    }
}

/* The fence cannot have changed since it was checked: this is one transaction, and the row in memory is of this state of the file (Q4).
 * *seek_point: one was set, and the head is to be written. */
static void lines_add(sqlite_store *s, const pawl_append *a, run_row *k, int64_t now, bool *seek_point)
{
    for (size_t i = 0; i < a->nlines && s->rc == SQLITE_OK; i++) {
        bool record = store_line_is_record(a->lines[i]);
        sqlite3_stmt *q = sql_use(s, SQL_ENTRY_ADD);

        sql_int(q, 1, k->no);
        sql_int(q, 2, k->lsn);
        if (record)
            sql_blank(q, 3);
        else
            sql_int(q, 3, (int64_t)(k->seq + 1));
        sql_int(q, 4, now);
        line_bind(s, q, a->lines[i]);
        sql_run(s, q);
        k->seq += !record;
        k->lsn = s->seen = sqlite3_last_insert_rowid(s->db);
        s->tail_rows++;
        if (!record && (k->seq + (uint64_t)k->no / SEEK_POINT_RUNS * SEEK_POINT_RUNS) % SEEK_POINT_ENTRIES == 0) {
            seek_point_add(s, k);
            *seek_point = true;
        }
    }
}

/* ---- what goes with them --------------------------------------------------------------------- */

static void blobs_add(sqlite_store *s, const pawl_append *a, const run_row *k)
{
    for (size_t i = BROKEN(BROKEN_SQLITE_BLOB); i < a->nblobs; i++) {
        sqlite3_stmt *q = sql_use(s, SQL_BLOB_PUT);
        hash h = { { 0 } };

        hash_unhex(a->blobs[i].digest, HASH_HEX, &h);
        sql_int(q, 1, k->no);
        sql_bytes(q, 2, h.b, HASH_BYTES);
        if (a->blobs[i].bytes.size > 0)
            sql_pack(s, q, 3, a->blobs[i].bytes, 0);
        else
            sql_bytes(q, 3, "", 0);
        sql_run(s, q);
    }
}

/* Returns how many waits are open after it. */
static uint32_t wait_put(sqlite_store *s, int64_t run, const pawl_waiting *w, uint32_t open)
{
    sqlite3_stmt *q = sql_use(s, SQL_WAIT_FIND);
    int64_t no = 0;

    sql_int(q, 1, run);
    sql_text(q, 2, w->id);
    if (sql_row(s, q)) {
        no = sql_get_int(q, 0);
        open -= sql_get_int(q, 1) == 0;
        sql_end(q);
    }
    q = sql_use(s, no == 0 ? SQL_WAIT_ADD : SQL_WAIT_SET);
    if (no == 0) {
        sql_int(q, 1, run);
        sql_text(q, 2, w->id);
    } else {
        sql_int(q, 1, no);
    }
    sql_int(q, no == 0 ? 3 : 2, w->over);
    sql_int(q, no == 0 ? 4 : 3, w->asked_ms);
    sql_pack(s, q, no == 0 ? 5 : 4, w->over ? (pawl_bytes){ NULL, 0 } : w->spec, 0);
    sql_pack(s, q, no == 0 ? 6 : 5, w->over ? w->answer : (pawl_bytes){ NULL, 0 }, 1);
    sql_run(s, q);
    return open + !w->over;
}

/* An answer that was taken and did not close its wait was ignored: the wait may be answered again. */
static void deliveries_take(sqlite_store *s, const pawl_append *a, run_row *k)
{
    int64_t taken = 0;
    sqlite3_stmt *q;

    for (size_t i = 0; i < a->ntaken; i++) {
        int64_t no = (int64_t)a->taken[i];

        q = sql_use(s, SQL_DELIVERY_KIND);
        sql_int(q, 1, no);
        sql_int(q, 2, k->no);
        if (!sql_row(s, q))
            continue;
        if (sql_get_int(q, 0) == PAWL_DELIVER_ANSWER) {
            sqlite3_stmt *free = sql_use(s, SQL_WAIT_FREE);

            sql_int(free, 1, k->no);
            sql_text(free, 2, sql_get_text(q, 1));
            sql_int(free, 3, no);
            sql_run(s, free);
        }
        sql_end(q);
        q = sql_use(s, SQL_TAKE);
        sql_int(q, 1, no);
        sql_int(q, 2, k->no);
        taken += sql_run(s, q);
    }
    if (taken == 0)
        return;
    k->mail -= taken;
    q = sql_use(s, SQL_MAILBOX_TAKE);
    sql_int(q, 1, k->no);
    sql_int(q, 2, taken);
    sql_run(s, q);
}

/* False: the fence is not the newest. */
static bool attempt_put(sqlite_store *s, const run_row *k, const pawl_mark *m, int64_t again_ms, int by)
{
    sqlite3_stmt *q = sql_use(s, SQL_MARK);

    sql_int(q, 1, k->no);
    sql_text(q, 2, m->id);
    sql_int(q, 3, (int64_t)k->fence);
    sql_int(q, 4, m->first_ms);
    sql_int(q, 5, again_ms);
    sql_int(q, 6, by);
    return sql_run(s, q) == 1;
}

static void snapshot_put(sqlite_store *s, const pawl_append *a, const run_row *k)
{
    hash entry = { { 0 } }, digest;
    sqlite3_stmt *q;

    PAWL_ASSERT(a->snapshot.size == 0 || a->nlines > 0, "Q6: a snapshot is of the entry that it comes with");
    if (a->snapshot.size == 0 || !store_entry_hash(a->lines[a->nlines - 1], &entry))
        return;
    store_snapshot_digest(&entry, a->snapshot, &digest);
    q = sql_use(s, SQL_SNAPSHOT_PUT);
    sql_int(q, 1, k->no);
    sql_int(q, 2, (int64_t)k->seq);
    sql_int(q, 3, k->lsn);
    sql_pack(s, q, 4, a->snapshot, 0);
    sql_bytes(q, 5, digest.b, HASH_BYTES);
    sql_run(s, q);
}

/* ---- the head: only when there is something to say (Q3) -------------------------------------- */

static bool head_moves(const pawl_append *a, const run_row *k, uint32_t waits)
{
    return waits != k->waits || (a->moves && (a->status != k->status || a->over != k->over || a->work != k->work || a->wake_ms != k->wake_ms ||
                                              a->parked != NULL || k->parked));
}

/* The row in memory has not the reason of a quarantine: that column is left alone. */
static sql_id head_how(const pawl_append *a, const run_row *k, bool moves)
{
    if (a->release && k->leased && (a->moves || !k->parked))
        return SQL_HEAD_FREE;
    return moves && a->moves ? SQL_HEAD_STATE : moves ? SQL_HEAD_WAITS : SQL_HEAD_MOVE;
}

static void head_write(sqlite_store *s, const pawl_append *a, run_row *k, uint32_t waits, int64_t now)
{
    sql_id how = head_how(a, k, head_moves(a, k, waits));
    sqlite3_stmt *q = sql_use(s, how);

    if (a->moves) {
        k->status = a->status;
        k->over = a->over;
        k->work = a->work;
        k->wake_ms = a->wake_ms;
        k->parked = a->parked != NULL;
    }
    k->waits = waits;
    sql_int(q, 1, k->no);
    sql_int(q, 2, (int64_t)k->seq);
    sql_int(q, 3, k->lsn);
    sql_int(q, 4, now);
    if (how != SQL_HEAD_MOVE)
        sql_int(q, 5, waits);
    if (how == SQL_HEAD_STATE || how == SQL_HEAD_FREE) {
        sql_int(q, 6, k->status);
        sql_int(q, 7, k->over);
        sql_int(q, 8, k->wake_ms);
        sql_pack_text(s, q, 9, a->moves ? a->parked : NULL, 0);
        sql_int(q, 10, k->work);
    }
    sql_run(s, q);
    if (how == SQL_HEAD_FREE)
        k->leased = false;
}

static void release_after(sqlite_store *s, const pawl_append *a, run_row *k)
{
    if (!a->release)
        return;
    if (k->leased)
        lease_release(s, k);
    run_row_drop(s, a->run);
}

pawl_code append_in(sqlite_store *s, pawl_append *a)
{
    uint64_t entries;
    uint32_t waits;
    int64_t now;
    bool repeated, head = a->nlines == 0 || a->release;
    run_row *k;
    pawl_code rc = a->within == NULL ? PAWL_OK : within_made(s, a);

    if (rc != PAWL_OK || (rc = store_append_check(a, &entries, NULL)) != PAWL_OK || s->rc != SQLITE_OK)
        return rc;
    k = run_row_find(s, a->run);
    if ((rc = append_check(s, a, k, entries, &repeated)) != PAWL_OK || s->rc != SQLITE_OK)
        return rc;
    PAWL_ASSERT((k->fence == a->fence || BROKEN(BROKEN_SQLITE_FENCE)) && k->epoch == s->epoch,
                "S2, Q4: only the newest fence writes, against what the file says now");
    a->quiet = k->mail == 0;
    if (repeated) {
        release_after(s, a, k);
        return rc;
    }
    now = store_now(s);
    lines_add(s, a, k, now, &head);
    waits = k->waits;
    for (size_t i = 0; i < a->nwaits; i++)
        waits = wait_put(s, k->no, &a->waits[i], waits);
    blobs_add(s, a, k);
    for (size_t i = 0; i < a->nmarks; i++)
        (void)attempt_put(s, k, &a->marks[i], 0, 1);
    deliveries_take(s, a, k);
    snapshot_put(s, a, k);
    head = head || a->snapshot.size > 0 || head_moves(a, k, waits);
    if (head)
        head_write(s, a, k, waits, now);
    if (a->nlines > 0)
        tail_put(s, &(run_tail){ k->no, k->seq, k->lsn, now, head, true });
    a->quiet = k->mail == 0;
    release_after(s, a, k);
    return PAWL_OK;
}

pawl_code sqlite_append(pawl_store *st, pawl_append *all, size_t n, pawl_err *err)
{
    sqlite_store *s = sqlite_of(st);
    pawl_code rc;
    bool begun;

    if (n == 0)
        return PAWL_OK;
    if (all == NULL)
        return fail(err, PAWL_INVALID, "an append of nothing");
    for (size_t i = 0; i < n; i++)
        if (all[i].over && all[i].moves)
            s->file_seen_ms = FILE_NEVER_SEEN;  /* no run may seem over whose end nobody keeps */
    rc = write_begin(s, TXN_HARD, err);
    begun = rc == PAWL_OK;
    if (begun)
        within_work(s, all, n);
    for (size_t i = 0; i < n; i++) {
        all[i].quiet = false;
        all[i].rc = rc == PAWL_OK ? append_in(s, &all[i]) : rc;
        if (all[i].rc != PAWL_OK && all[i].within != NULL && all[i].within->rc == PAWL_OK && rc == PAWL_OK && s->rc == SQLITE_OK)
            rc = fail(err, all[i].rc, "%s: what its function did cannot be told in its journal; nothing is stored", all[i].run);
    }
    if (begun)
        rc = write_end(s, rc, err);
    for (size_t i = 0; i < n; i++)
        if (rc != PAWL_OK)
            all[i].rc = rc;
        else if (all[i].rc == PAWL_FENCED)
            run_row_drop(s, all[i].run);
    return rc;
}

/* ---- marks (E13) ----------------------------------------------------------------------------- */

static pawl_code mark_one(sqlite_store *s, const pawl_mark *m)
{
    sqlite3_stmt *q;
    run_row *k;

    if (!store_id_valid(m->id) || !store_run_valid(m->run) || m->first_ms < 0 || m->again_ms < 0)
        return PAWL_INVALID;
    if ((k = run_row_find(s, m->run)) == NULL)
        return PAWL_GONE;
    if (m->fence == 0 || m->fence != k->fence)
        return PAWL_FENCED;
    if (!attempt_put(s, k, m, m->again_ms, m->unbegun ? -1 : m->again_ms == 0))
        return PAWL_FENCED;
    if (m->unbegun) {
        q = sql_use(s, SQL_MARK_DELETE);
        sql_int(q, 1, k->no);
        sql_text(q, 2, m->id);
        (void)sql_run(s, q);
    }
    return PAWL_OK;
}

pawl_code sqlite_mark(pawl_store *st, pawl_mark *all, size_t n, pawl_err *err)
{
    sqlite_store *s = sqlite_of(st);
    pawl_code rc;

    if (n == 0)
        return PAWL_OK;
    if (all == NULL)
        return fail(err, PAWL_INVALID, "a mark of nothing");
    rc = write_begin(s, TXN_HARD, err);
    for (size_t i = 0; i < n; i++)
        all[i].rc = rc == PAWL_OK ? mark_one(s, &all[i]) : rc;
    if (rc == PAWL_OK)
        rc = write_end(s, PAWL_OK, err);
    for (size_t i = 0; i < n && rc != PAWL_OK; i++)
        all[i].rc = rc;
    return rc;
}

pawl_code sqlite_marks(pawl_store *st, const char *run, pawl_mark_fn *fn, void *ctx, pawl_err *err)
{
    sqlite_store *s = sqlite_of(st);
    sqlite3_stmt *q;
    int64_t no;
    pawl_code rc = read_run(s, run, fn != NULL, &no, err);

    if (rc != PAWL_OK)
        return rc;
    q = sql_use(s, SQL_MARKS);
    sql_int(q, 1, no);
    while (sql_row(s, q))
        if (!fn(ctx, &(pawl_mark){ .id = sql_get_text(q, 0), .attempts = (uint32_t)sql_get_int(q, 1), .first_ms = sql_get_int(q, 2),
                                   .again_ms = sql_get_int(q, 3) }))
            break;
    sql_end(q);
    return read_end(s, PAWL_OK, err);
}
