/* append.c - writes of the lease holder: entries and task records of many runs with their waits, blobs, attempts and snapshots, in one
 * transaction; attempt counts.
 *
 * Owns nothing. Called through the verbs append, mark and create, on the thread that uses the handle; Q1 holds from write_begin to write_end.
 * A refused run has changed nothing, so the others are stored; an error of the file rolls all of them back. The fence is checked once, before the
 * first row, against the cached head (Q4): reading the head in each INSERT would cost a microsecond, a third of a row in a batch.
 * Invariants: Q2 (lines_add), Q3 and Q5 (head_write), Q6 (snapshot_put). */
#include "store/sqlite/sqlite.h"

/* ---- checking ---------------------------------------------------------------------- */

static bool row_equals(sqlite_store *s, const char *run, int64_t lsn, pawl_bytes line)
{
    sqlite3_stmt *q = sql_use(s, SQL_LINE);
    pawl_bytes row;
    bool same;

    sql_int(q, 1, lsn);
    if (!sql_row(s, q))
        return false;
    row = line_read(s, q, run);
    same = row.size == line.size && memcmp(row.data, line.data, line.size) == 0;
    sql_end(q);
    return same;
}

/* Whether this append was stored before, and its result was lost: the newest entry is among these lines, which identifies them. Task
 * records may have followed. */
static bool append_repeated(sqlite_store *s, const pawl_append *a, const run_row *row, uint64_t entries)
{
    run_tail from = { .no = row->no, .lsn = row->lsn };
    size_t last = a->nlines, after, at;
    chain all, open;

    if (entries == 0 || a->seq + entries != row->seq ||
        chain_walk(s, row->id, &from, 0, a->seq, &all, NULL) != PAWL_OK ||
        chain_walk(s, row->id, &from, 0, row->seq, &open, NULL) != PAWL_OK)
        return false;
    while (store_line_is_record(a->lines[last - 1]))
        last--;
    after = a->nlines - last;
    if (open.n < after || all.n - open.n < last)
        return false;
    at = open.n + last; /* newest first: the first line is at one less */
    for (size_t i = 0; i < a->nlines; i++)
        if (!row_equals(s, row->id, all.lsns[--at], a->lines[i]))
            return false;
    return true;
}

static bool deliveries_open(sqlite_store *s, const pawl_append *a, const run_row *row)
{
    for (size_t i = 0; i < a->ntaken; i++) {
        sqlite3_stmt *q = sql_use(s, SQL_DELIVERY_KIND);

        sql_int(q, 1, (int64_t)a->taken[i]);
        sql_int(q, 2, row->no);
        if (!sql_row(s, q))
            return false;
        sql_end(q);
        for (size_t before = i; before > 0 && a->taken[before - 1] >= a->taken[i]; before--)
            if (a->taken[before - 1] == a->taken[i])
                return false;
    }
    return true;
}

static pawl_code append_check(sqlite_store *s, const pawl_append *a, const run_row *row, uint64_t entries, bool *repeated)
{
    *repeated = false;
    if (row == NULL)
        return PAWL_GONE;
    if (a->fence == 0 || (row->fence != a->fence && !(BROKEN(BROKEN_SQLITE_FENCE) && a->fence + 1 == row->fence)))
        return PAWL_FENCED;
    if ((*repeated = a->seq != row->seq && append_repeated(s, a, row, entries)))
        return PAWL_OK;
    return a->seq == row->seq && deliveries_open(s, a, row) ? PAWL_OK : PAWL_CONFLICT;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void seek_point_add(sqlite_store *s, const run_row *row)
{
    sqlite3_stmt *q = sql_use(s, SQL_SEEK_POINT_ADD);

    sql_int(q, 1, row->no);
    sql_int(q, 2, (int64_t)row->seq);
    sql_int(q, 3, row->lsn);
    sql_run(s, q);
}

/* A line that a codec encodes is not shortened first: the codec compresses better. */
static void line_bind(sqlite_store *s, sqlite3_stmt *q, pawl_bytes line)
{
    buf *b = &s->encoded[0].b;

    if (s->codecs.encoder != NULL) {
        sql_encode(s, q, 5, line, 0);
        sql_int(q, 6, STORE_ENCODED);
    } else if (store_line_shorten(line, b)) {
        sql_bytes(q, 5, b->data, b->size);
        sql_int(q, 6, STORE_SHORTENED);
    } else {
        sql_bytes(q, 5, line.data, line.size);
        sql_int(q, 6, 0);
    }
}

/* *seek_point: one was written, so the head must be written, too. *of: the entry of the snapshot. */
static void lines_add(sqlite_store *s, const pawl_append *a, run_row *row, int64_t now, bool *seek_point, run_tail *of)
{
    for (size_t i = 0; i < a->nlines && s->rc == SQLITE_OK; i++) {
        bool record = store_line_is_record(a->lines[i]);
        sqlite3_stmt *q = sql_use(s, SQL_ENTRY_ADD);

        sql_int(q, 1, row->no);
        sql_int(q, 2, row->lsn);
        if (record)
            sql_null(q, 3);
        else
            sql_int(q, 3, (int64_t)(row->seq + 1));
        sql_int(q, 4, now);
        line_bind(s, q, a->lines[i]);
        sql_run(s, q);
        row->seq += !record;
        row->lsn = s->tail_lsn = sqlite3_last_insert_rowid(s->db);
        s->tail_rows++;
        if (!record && (row->seq + (uint64_t)row->no / SEEK_POINT_RUNS * SEEK_POINT_RUNS) % SEEK_POINT_ENTRIES == 0) {
            seek_point_add(s, row);
            *seek_point = true;
        }
        if (i + 1 + a->nafter == a->nlines)
            *of = (run_tail){ .seq = row->seq, .lsn = row->lsn };
    }
}

/* ---- blobs, waits, deliveries, attempts, snapshot --------------------------------------------------------------------- */

static void blobs_add(sqlite_store *s, const pawl_append *a, const run_row *row)
{
    for (size_t i = BROKEN(BROKEN_SQLITE_BLOB); i < a->nblobs; i++) {
        sqlite3_stmt *q = sql_use(s, SQL_BLOB_PUT);
        hash h = { { 0 } };

        hash_unhex(a->blobs[i].digest, HASH_HEX, &h);
        sql_int(q, 1, row->no);
        sql_bytes(q, 2, h.b, HASH_BYTES);
        if (a->blobs[i].bytes.size > 0)
            sql_encode(s, q, 3, a->blobs[i].bytes, 0);
        else
            sql_bytes(q, 3, "", 0);
        sql_run(s, q);
    }
}

/* Returns the number of open waits afterwards (Q5). */
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
    sql_encode(s, q, no == 0 ? 5 : 4, w->over ? (pawl_bytes){ NULL, 0 } : w->spec, 0);
    sql_encode(s, q, no == 0 ? 6 : 5, w->over ? w->answer : (pawl_bytes){ NULL, 0 }, 1);
    sql_run(s, q);
    return open + !w->over;
}

/* An answer that was taken while its wait stays open was ignored by the machine: the wait may be answered again. */
static void deliveries_take(sqlite_store *s, const pawl_append *a, run_row *row)
{
    int64_t taken = 0;
    sqlite3_stmt *q;

    for (size_t i = 0; i < a->ntaken; i++) {
        int64_t no = (int64_t)a->taken[i];

        q = sql_use(s, SQL_DELIVERY_KIND);
        sql_int(q, 1, no);
        sql_int(q, 2, row->no);
        if (!sql_row(s, q))
            continue;
        if (sql_get_int(q, 0) == PAWL_DELIVER_ANSWER) {
            sqlite3_stmt *unanswer = sql_use(s, SQL_WAIT_UNANSWER);

            sql_int(unanswer, 1, row->no);
            sql_text(unanswer, 2, sql_get_text(q, 1));
            sql_int(unanswer, 3, no);
            sql_run(s, unanswer);
        }
        sql_end(q);
        q = sql_use(s, SQL_TAKE);
        sql_int(q, 1, no);
        sql_int(q, 2, row->no);
        taken += sql_run(s, q);
    }
    if (taken == 0)
        return;
    row->mail -= taken;
    q = sql_use(s, SQL_MAILBOX_TAKE);
    sql_int(q, 1, row->no);
    sql_int(q, 2, taken);
    sql_run(s, q);
}

/* False: the fence is not the newest. */
static bool attempt_put(sqlite_store *s, const run_row *row, const pawl_mark *m, int64_t again_ms, int by)
{
    sqlite3_stmt *q = sql_use(s, SQL_MARK);

    sql_int(q, 1, row->no);
    sql_text(q, 2, m->id);
    sql_int(q, 3, (int64_t)row->fence);
    sql_int(q, 4, m->first_ms);
    sql_int(q, 5, again_ms);
    sql_int(q, 6, by);
    return sql_run(s, q) == 1;
}

static void snapshot_put(sqlite_store *s, const pawl_append *a, const run_row *row, const run_tail *of)
{
    hash entry = { { 0 } }, digest;
    sqlite3_stmt *q;

    PAWL_ASSERT(a->snapshot.size == 0 || a->nlines > a->nafter, "Q6: a snapshot is of the entry that it comes with");
    if (a->snapshot.size == 0 || !store_entry_hash(a->lines[a->nlines - a->nafter - 1], &entry))
        return;
    store_snapshot_digest(&entry, a->snapshot, &digest);
    q = sql_use(s, SQL_SNAPSHOT_PUT);
    sql_int(q, 1, row->no);
    sql_int(q, 2, (int64_t)of->seq);
    sql_int(q, 3, of->lsn);
    sql_encode(s, q, 4, a->snapshot, 0);
    sql_bytes(q, 5, digest.b, HASH_BYTES);
    sql_run(s, q);
}

/* ---- the head: written only when it changes (Q3) -------------------------------------- */

static bool head_changes(const pawl_append *a, const run_row *row, uint32_t waits)
{
    return waits != row->waits || (a->moves && (a->status != row->status || a->over != row->over || a->work != row->work || a->wake_ms != row->wake_ms ||
                                              a->parked != NULL || row->parked));
}

/* The cached row does not have the reason why a run is parked, so a statement that writes that column is used only when the append has it. */
static sql_id head_statement(const pawl_append *a, const run_row *row, bool changes)
{
    if (a->release && row->leased && (a->moves || !row->parked))
        return SQL_HEAD_RELEASE;
    return changes && a->moves ? SQL_HEAD_STATE : changes ? SQL_HEAD_WAITS : SQL_HEAD_MOVE;
}

static void head_write(sqlite_store *s, const pawl_append *a, run_row *row, uint32_t waits, int64_t now)
{
    sql_id id = head_statement(a, row, head_changes(a, row, waits));
    sqlite3_stmt *q = sql_use(s, id);

    if (a->moves) {
        row->status = a->status;
        row->over = a->over;
        row->work = a->work;
        row->wake_ms = a->wake_ms;
        row->parked = a->parked != NULL;
    }
    row->waits = waits;
    sql_int(q, 1, row->no);
    sql_int(q, 2, (int64_t)row->seq);
    sql_int(q, 3, row->lsn);
    sql_int(q, 4, now);
    if (id != SQL_HEAD_MOVE)
        sql_int(q, 5, waits);
    if (id == SQL_HEAD_STATE || id == SQL_HEAD_RELEASE) {
        sql_int(q, 6, row->status);
        sql_int(q, 7, row->over);
        sql_int(q, 8, row->wake_ms);
        sql_encode_text(s, q, 9, a->moves ? a->parked : NULL, 0);
        sql_int(q, 10, row->work);
    }
    sql_run(s, q);
    if (id == SQL_HEAD_RELEASE)
        row->leased = false;
}

static void release_after(sqlite_store *s, const pawl_append *a, run_row *row)
{
    if (!a->release)
        return;
    if (row->leased)
        lease_release(s, row);
    run_row_drop(s, a->run);
}

pawl_code append_in(sqlite_store *s, pawl_append *a)
{
    uint64_t entries;
    uint32_t waits;
    int64_t now;
    run_tail of = { .no = 0 };
    bool repeated, head = a->nlines == 0 || a->release;
    run_row *row;
    pawl_code rc = a->within == NULL ? PAWL_OK : user_sql_make_lines(s, a);

    if (rc != PAWL_OK || (rc = store_append_check(a, &entries, NULL)) != PAWL_OK || s->rc != SQLITE_OK)
        return rc;
    row = run_row_find(s, a->run);
    if ((rc = append_check(s, a, row, entries, &repeated)) != PAWL_OK || s->rc != SQLITE_OK)
        return rc;
    PAWL_ASSERT((row->fence == a->fence || BROKEN(BROKEN_SQLITE_FENCE)) && row->epoch == s->epoch,
                "S2, Q4: only the newest fence writes, against the current head");
    a->quiet = row->mail == 0;
    if (repeated) {
        release_after(s, a, row);
        return rc;
    }
    PAWL_ASSERT(s->txn == TXN_WRITE && a->seq == row->seq, "S2: an append follows the sequence that it expects");
    now = store_now(s);
    lines_add(s, a, row, now, &head, &of);
    PAWL_ASSERT(s->rc != SQLITE_OK || row->seq == a->seq + entries, "S2, K5: each entry of an append is one of the sequence");
    waits = row->waits;
    for (size_t i = 0; i < a->nwaits; i++)
        waits = wait_put(s, row->no, &a->waits[i], waits);
    blobs_add(s, a, row);
    for (size_t i = 0; i < a->nmarks; i++)
        (void)attempt_put(s, row, &a->marks[i], 0, 1);
    deliveries_take(s, a, row);
    snapshot_put(s, a, row, &of);
    head = head || a->snapshot.size > 0 || head_changes(a, row, waits);
    if (head)
        head_write(s, a, row, waits, now);
    if (a->nlines > 0)
        tail_put(s, &(run_tail){ row->no, row->seq, row->lsn, now, head, true });
    a->quiet = row->mail == 0;
    release_after(s, a, row);
    return PAWL_OK;
}

pawl_code sqlite_append(pawl_store *st, pawl_append *all, size_t n, pawl_err *err)
{
    sqlite_store *s = sqlite_of(st);
    pawl_code rc;
    bool started;

    if (n == 0)
        return PAWL_OK;
    if (all == NULL)
        return fail(err, PAWL_INVALID, "a count of appends without an array");
    for (size_t i = 0; i < n; i++)
        if (all[i].over && all[i].moves)
            s->file_checked_ms = FILE_UNCHECKED;  /* a run must not seem finished while its end is in a deleted file (S4) */
    rc = write_begin(s, TXN_SYNCED, err);
    started = rc == PAWL_OK;
    if (started)
        user_sql_run(s, all, n);
    for (size_t i = 0; i < n; i++) {
        all[i].quiet = false;
        all[i].rc = rc == PAWL_OK ? append_in(s, &all[i]) : rc;
        if (all[i].rc != PAWL_OK && all[i].within != NULL && all[i].within->rc == PAWL_OK && rc == PAWL_OK && s->rc == SQLITE_OK)
            rc = fail(err, all[i].rc, "%s: its SQL succeeded, but its lines are refused; nothing is stored", all[i].run);
    }
    if (started)
        rc = write_end(s, rc, err);
    for (size_t i = 0; i < n; i++) {
        all[i].version = rc == PAWL_OK ? version_known(s) : 0;
        if (rc != PAWL_OK)
            all[i].rc = rc;
        else if (all[i].rc == PAWL_FENCED)
            run_row_drop(s, all[i].run);
    }
    return rc;
}

/* ---- attempt counts (E13) ----------------------------------------------------------------------------- */

static pawl_code mark_one(sqlite_store *s, const pawl_mark *m)
{
    sqlite3_stmt *q;
    run_row *row;

    if (!store_id_valid(m->id) || !store_run_valid(m->run) || m->first_ms < 0 || m->again_ms < 0)
        return PAWL_INVALID;
    if ((row = run_row_find(s, m->run)) == NULL)
        return PAWL_GONE;
    if (m->fence == 0 || m->fence != row->fence)
        return PAWL_FENCED;
    if (!attempt_put(s, row, m, m->again_ms, m->unbegun ? -1 : m->again_ms == 0))
        return PAWL_FENCED;
    if (m->unbegun) {
        q = sql_use(s, SQL_MARK_DELETE);
        sql_int(q, 1, row->no);
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
        return fail(err, PAWL_INVALID, "a count of marks without an array");
    rc = write_begin(s, TXN_SYNCED, err);
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
    pawl_code rc = read_rows(s, run, fn != NULL, SQL_MARKS, &q, err);

    if (rc != PAWL_OK)
        return rc;
    while (sql_row(s, q))
        if (!fn(ctx, &(pawl_mark){ .id = sql_get_text(q, 0), .attempts = (uint32_t)sql_get_int(q, 1), .first_ms = sql_get_int(q, 2),
                                   .again_ms = sql_get_int(q, 3) }))
            break;
    sql_end(q);
    return read_end(s, PAWL_OK, err);
}
