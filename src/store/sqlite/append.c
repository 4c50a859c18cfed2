/* append.c - what holders write: entries and task records of many runs, with all that goes with them, in one transaction.
 *
 * A run that is refused has changed nothing yet, so the others go on; an error of the file undoes them all. Whether the fence is
 * the newest is known before the first row is written, without a look at the head: that look, in each INSERT, would cost a
 * microsecond, a third of what a row of a batch does. */
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

/* Whether it was written before, and its answer got lost: the newest entry is among these lines, so they can be told from
 * others like them. Records may have followed. */
static bool is_repeated(sqlite_store *s, const pawl_append *a, const known *k, uint64_t entries)
{
    place from = { .no = k->no, .lsn = k->lsn };
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

static bool taken_open(sqlite_store *s, const pawl_append *a, const known *k)
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

static pawl_code append_may(sqlite_store *s, const pawl_append *a, const known *k, uint64_t entries, bool *repeated)
{
    *repeated = false;
    if (k == NULL)
        return PAWL_GONE;
    if (a->fence == 0 || k->fence != a->fence)
        return PAWL_FENCED;
    if ((*repeated = a->seq != k->seq && is_repeated(s, a, k, entries)))
        return PAWL_OK;
    return a->seq == k->seq && taken_open(s, a, k) ? PAWL_OK : PAWL_CONFLICT;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void stone_add(sqlite_store *s, const known *k)
{
    sqlite3_stmt *q = sql_use(s, SQL_STONE_ADD);

    sql_int(q, 1, k->no);
    sql_int(q, 2, (int64_t)k->seq);
    sql_int(q, 3, k->lsn);
    sql_run(s, q);
}

/* What is packed is left as it is, for whoever packs it does it better. */
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

/* Nobody can have claimed the run since its fence was looked at: this is one transaction, and what is remembered from
 * before it is of this very state of the file (Q4). *stone: one was set, and the head is due. */
static void lines_add(sqlite_store *s, const pawl_append *a, known *k, int64_t now, bool *stone)
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
        if (!record && (k->seq + (uint64_t)k->no / STONE_RUNS * STONE_RUNS) % STONE_ENTRIES == 0) {
            stone_add(s, k);
            *stone = true;
        }
    }
}

/* ---- what goes with them --------------------------------------------------------------------- */

static void blobs_add(sqlite_store *s, const pawl_append *a, const known *k)
{
    for (size_t i = 0; i < a->nblobs; i++) {
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

/* How many are open then. */
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

/* An answer that was taken and did not end its wait was ignored: the wait is free for another. */
static void take(sqlite_store *s, const pawl_append *a, known *k)
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
    q = sql_use(s, SQL_MAIL_LESS);
    sql_int(q, 1, k->no);
    sql_int(q, 2, taken);
    sql_run(s, q);
}

/* Whether its fence is the newest. */
static bool mark_put(sqlite_store *s, const known *k, const pawl_mark *m, int64_t again_ms, int by)
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

static void snapshot_put(sqlite_store *s, const pawl_append *a, const known *k)
{
    sqlite3_stmt *q;

    if (a->snapshot.size == 0)
        return;
    q = sql_use(s, SQL_SNAPSHOT_PUT);
    sql_int(q, 1, k->no);
    sql_int(q, 2, (int64_t)k->seq);
    sql_int(q, 3, k->lsn);
    sql_pack(s, q, 4, a->snapshot, 0);
    sql_run(s, q);
}

/* ---- the head: only when there is something to say (Q3) -------------------------------------- */

static bool head_moves(const pawl_append *a, const known *k, uint32_t waits)
{
    return waits != k->waits || (a->moves && (a->status != k->status || a->over != k->over || a->work != k->work || a->wake_ms != k->wake_ms ||
                                              a->parked != NULL || k->parked));
}

/* What is remembered of a run that is parked does not say why: that column is left alone. */
static sql_id head_how(const pawl_append *a, const known *k, bool moves)
{
    if (a->release && k->leased && (a->moves || !k->parked))
        return SQL_HEAD_FREE;
    return moves && a->moves ? SQL_HEAD_STATE : moves ? SQL_HEAD_WAITS : SQL_HEAD_MOVE;
}

static void head_write(sqlite_store *s, const pawl_append *a, known *k, uint32_t waits, int64_t now)
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

static void lease_end(sqlite_store *s, const pawl_append *a, known *k)
{
    if (!a->release)
        return;
    if (k->leased)
        lease_free(s, k);
    known_drop(s, a->run);
}

static pawl_code append_one(sqlite_store *s, pawl_append *a)
{
    uint64_t entries;
    uint32_t waits;
    int64_t now;
    bool repeated, head = a->nlines == 0 || a->release;
    known *k;
    pawl_code rc = a->within == NULL ? PAWL_OK : within_made(s, a);

    if (rc != PAWL_OK || (rc = store_append_check(a, &entries, NULL)) != PAWL_OK || s->rc != SQLITE_OK)
        return rc;
    k = known_find(s, a->run);
    if ((rc = append_may(s, a, k, entries, &repeated)) != PAWL_OK || s->rc != SQLITE_OK)
        return rc;
    a->quiet = k->mail == 0;
    if (repeated) {
        lease_end(s, a, k);
        return rc;
    }
    now = store_now(s);
    lines_add(s, a, k, now, &head);
    waits = k->waits;
    for (size_t i = 0; i < a->nwaits; i++)
        waits = wait_put(s, k->no, &a->waits[i], waits);
    blobs_add(s, a, k);
    for (size_t i = 0; i < a->nmarks; i++)
        (void)mark_put(s, k, &a->marks[i], 0, 1);
    take(s, a, k);
    snapshot_put(s, a, k);
    head = head || a->snapshot.size > 0 || head_moves(a, k, waits);
    if (head)
        head_write(s, a, k, waits, now);
    if (a->nlines > 0)
        tail_put(s, &(place){ k->no, k->seq, k->lsn, now, head });
    a->quiet = k->mail == 0;
    lease_end(s, a, k);
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
    rc = write_begin(s, TXN_HARD, err);
    begun = rc == PAWL_OK;
    if (begun)
        within_work(s, all, n);
    for (size_t i = 0; i < n; i++) {
        all[i].quiet = false;
        all[i].rc = rc == PAWL_OK ? append_one(s, &all[i]) : rc;
        if (all[i].rc != PAWL_OK && all[i].within != NULL && all[i].within->rc == PAWL_OK && rc == PAWL_OK && s->rc == SQLITE_OK)
            rc = fail(err, all[i].rc, "%s: what its function did cannot be told in its journal; nothing is stored", all[i].run);
    }
    if (begun)
        rc = write_end(s, rc, err);
    for (size_t i = 0; i < n; i++)
        if (rc != PAWL_OK)
            all[i].rc = rc;
        else if (all[i].rc == PAWL_FENCED)
            known_drop(s, all[i].run);
    return rc;
}

/* ---- marks (E13) ----------------------------------------------------------------------------- */

static pawl_code mark_one(sqlite_store *s, const pawl_mark *m)
{
    sqlite3_stmt *q;
    known *k;

    if (!store_id_valid(m->id) || !store_run_valid(m->run) || m->first_ms < 0 || m->again_ms < 0)
        return PAWL_INVALID;
    if ((k = known_find(s, m->run)) == NULL)
        return PAWL_GONE;
    if (m->fence == 0 || m->fence != k->fence)
        return PAWL_FENCED;
    if (!mark_put(s, k, m, m->again_ms, m->unbegun ? -1 : m->again_ms == 0))
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
