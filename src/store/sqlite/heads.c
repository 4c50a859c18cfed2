/* heads.c - reads the heads of runs, and starts the transaction of a verb that reads or writes one run.
 *
 * Owns nothing. Called by the other files of the folder and through the verb head, on the thread that uses the handle. Writes hold PATH-lock (Q1).
 * Invariant S2: a write under an older fence is refused (run_row_held). */
#include "store/sqlite/sqlite.h"

/* Replaced by a fixed text where this handle lacks the codec: one run must not fail a list of all runs. */
static const char *parked_reason(sqlite_store *s, sqlite3_stmt *q)
{
    pawl_bytes b = sql_get_bytes(q, 5);

    if (!store_is_encoded(b))
        return sql_get_text(q, 5);
    return store_decode(&s->codecs, s->path, sql_get_text(q, 0), b, &s->decoded[0], &b, NULL) == PAWL_OK
        ? b.data : "the reason is written with a codec that this handle does not have";
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
        .parked = parked_reason(s, q),
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

const char *text_lend(sqlite_store *s, const char *text)
{
    const char *copy = arena_text(&s->lent, text);

    if (copy == NULL && text != NULL)
        s->rc = SQLITE_NOMEM;
    return copy;
}

bool head_load(sqlite_store *s, const char *run, pawl_head *head, run_row *row)
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
    if (row != NULL) {
        const run_tail *p = tail_find(s, (int64_t)head->no);

        *row = (run_row){ .no = (int64_t)head->no, .fence = head->fence, .seq = head->seq, .lsn = p != NULL ? p->lsn : sql_get_int(q, 17),
                      .wake_ms = head->wake_ms, .waits = head->waits, .mail = head->mail, .status = head->status, .over = head->over,
                      .work = head->work, .parked = head->parked != NULL, .leased = head->owner != NULL };
    }
    sql_end(q);
    return s->rc == SQLITE_OK;
}

pawl_code run_id_check(const char *run, bool has_callback, pawl_err *err)
{
    if (!store_run_valid(run))
        return fail(err, PAWL_INVALID, "not the id of a run");
    return has_callback ? PAWL_OK : fail(err, PAWL_INVALID, "%s: a query needs a callback", run);
}

pawl_code read_run(sqlite_store *s, const char *run, bool has_callback, int64_t *no, pawl_err *err)
{
    const run_row *row;
    pawl_code rc = run_id_check(run, has_callback, err);

    if (rc != PAWL_OK || (rc = read_begin(s, err)) != PAWL_OK)
        return rc;
    if ((row = run_row_cached(s, run)) != NULL)
        *no = row->no;
    else
        *no = run_no(s, run);
    if (*no != 0)
        return PAWL_OK;
    return read_end(s, s->rc == SQLITE_OK ? store_run_missing(run, err) : PAWL_OK, err);
}

pawl_code read_rows(sqlite_store *s, const char *run, bool has_callback, sql_id id, sqlite3_stmt **q, pawl_err *err)
{
    int64_t no;
    pawl_code rc = read_run(s, run, has_callback, &no, err);

    if (rc != PAWL_OK)
        return rc;
    *q = sql_use(s, id);
    sql_int(*q, 1, no);
    return PAWL_OK;
}

run_row *run_row_held(sqlite_store *s, const char *run, uint64_t fence, pawl_code *rc, pawl_err *err)
{
    run_row *row;

    *rc = PAWL_OK;
    if (s->rc != SQLITE_OK || (*rc = run_id_check(run, true, err)) != PAWL_OK)
        return NULL;
    if ((row = run_row_find(s, run)) == NULL)
        *rc = s->rc == SQLITE_OK ? store_run_missing(run, err) : PAWL_OK;
    else if (row->fence != fence || fence == 0)
        *rc = store_fenced(run, fence, row->fence, err);
    return *rc == PAWL_OK ? row : NULL;
}

run_row *write_run(sqlite_store *s, txn_kind kind, const char *run, uint64_t fence, pawl_code *rc, pawl_err *err)
{
    run_row *row;

    if ((*rc = run_id_check(run, true, err)) != PAWL_OK || (*rc = write_begin(s, kind, err)) != PAWL_OK)
        return NULL;
    if ((row = run_row_held(s, run, fence, rc, err)) == NULL)
        *rc = write_end(s, *rc, err);
    return row;
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
