/* tail_cache.c - the caches of a handle: the newest row of each run above the watermark (Q3), and the heads of the runs it works on (Q4).
 *
 * Owns s->tail and s->rows. Called by all files of the folder, inside a transaction, on the thread that uses the handle.
 * Invariants: Q3 (tail_refresh, watermark_move), Q4 (run_row_find compares epochs; caches_drop after a failed transaction). */
#include "store/sqlite/sqlite.h"

/* ---- the tail: the newest row by run --------------------------------------------------------- */

static run_tail *tail_slot(run_tail *table, size_t cap, int64_t no)
{
    size_t i = (size_t)((uint64_t)no * UINT64_C(0x9E3779B97F4A7C15) >> 32);

    while (table[i &= cap - 1].no != 0 && table[i].no != no)
        i++;
    return &table[i];
}

const run_tail *tail_find(const sqlite_store *s, int64_t no)
{
    const run_tail *p = s->tail_count == 0 ? NULL : tail_slot(s->tail, s->tail_cap, no);

    return p == NULL || p->no == 0 ? NULL : p;
}

static bool tail_grow(sqlite_store *s)
{
    size_t cap = s->tail_cap == 0 ? 64 : s->tail_cap * 2;
    run_tail *table = mem_new(&s->alloc, cap * sizeof *table);

    if (table == NULL) {
        s->rc = SQLITE_NOMEM;
        return false;
    }
    for (size_t i = 0; i < s->tail_cap; i++)
        if (s->tail[i].no != 0)
            *tail_slot(table, cap, s->tail[i].no) = s->tail[i];
    mem_free(&s->alloc, s->tail, s->tail_cap * sizeof *table);
    s->tail = table;
    s->tail_cap = cap;
    return true;
}

void tail_put(sqlite_store *s, const run_tail *p)
{
    run_tail *at;

    if (s->rc != SQLITE_OK || (s->tail_count * 2 >= s->tail_cap && !tail_grow(s)))
        return;
    at = tail_slot(s->tail, s->tail_cap, p->no);
    s->tail_count += at->no == 0;
    *at = *p;
}

static void tail_clear(sqlite_store *s)
{
    if (s->tail_count > 0)
        memset(s->tail, 0, s->tail_cap * sizeof *s->tail);
    s->tail_count = s->tail_rows = 0;
}

static int64_t meta_get(sqlite_store *s, const char *name)
{
    sqlite3_stmt *q = sql_use(s, SQL_META);

    sql_text(q, 1, name);
    return sql_number(s, q);
}

/* A task record has no seq: the run's newest seq holds, from an earlier row or from its head. */
static uint64_t seq_before(sqlite_store *s, int64_t no)
{
    const run_tail *p = tail_find(s, no);
    sqlite3_stmt *q;
    uint64_t seq = 0;

    if (p != NULL)
        return p->seq;
    q = sql_use(s, SQL_HEAD_STATE_OF);
    sql_int(q, 1, no);
    if (sql_row(s, q)) {
        seq = (uint64_t)sql_get_int(q, 1);
        sql_end(q);
    }
    return seq;
}

void tail_refresh(sqlite_store *s)
{
    int64_t watermark = meta_get(s, "watermark");
    sqlite3_stmt *q;

    if (watermark != s->watermark) {
        tail_clear(s);
        s->watermark = s->tail_lsn = watermark;
        if (s->rc == SQLITE_OK && sql_number(s, sql_use(s, SQL_NEWEST_LSN)) < watermark)
            sql_set_error(s, PAWL_CORRUPT, "%s: its watermark is above its newest row: it was changed; restore a backup", s->path);
    }
    q = sql_use(s, SQL_TAIL);
    sql_int(q, 1, s->tail_lsn);
    while (sql_row(s, q)) {
        run_tail p = { .no = sql_get_int(q, 1), .lsn = sql_get_int(q, 0), .changed_ms = sql_get_int(q, 3) };

        s->tail_lsn = p.lsn;
        s->tail_rows++;
        if (p.no != 0) {
            p.seq = sqlite3_column_type(q, 2) == SQLITE_NULL ? seq_before(s, p.no) : (uint64_t)sql_get_int(q, 2);
            tail_put(s, &p);
        }
        if (s->rc != SQLITE_OK) {
            sql_end(q);
            break;
        }
    }
}

void watermark_move(sqlite_store *s)
{
    sqlite3_stmt *q;

    PAWL_ASSERT(s->locked && s->tail_lsn >= s->watermark, "Q3: the watermark moves up, in a write transaction");
    for (size_t i = 0; i < s->tail_cap && s->rc == SQLITE_OK; i++) {
        const run_tail *p = &s->tail[i];

        if (p->no == 0 || p->in_head)
            continue;
        q = sql_use(s, SQL_HEAD_CATCH_UP);
        sql_int(q, 1, p->no);
        sql_int(q, 2, (int64_t)p->seq);
        sql_int(q, 3, p->lsn);
        sql_int(q, 4, p->changed_ms);
        sql_run(s, q);
    }
    q = sql_use(s, SQL_META_SET);
    sql_text(q, 1, "watermark");
    sql_int(q, 2, s->tail_lsn);
    sql_run(s, q);
    s->watermark = s->tail_lsn;
    tail_clear(s);
}

/* ---- runs that the handle works on ----------------------------------------------------------- */

int64_t run_no(sqlite_store *s, const char *run)
{
    sqlite3_stmt *q = s->space == 0 ? NULL : sql_use(s, SQL_RUN_FIND);

    sql_int(q, 1, s->space);
    sql_text(q, 2, run);
    return sql_number(s, q);
}

static size_t id_hash(const char *id)
{
    uint64_t h = UINT64_C(0xCBF29CE484222325);

    for (; *id != '\0'; id++)
        h = (h ^ (unsigned char)*id) * UINT64_C(0x100000001B3);
    return (size_t)(h ^ h >> 29);
}

static run_row **run_row_slot(const sqlite_store *s, const char *run)
{
    run_row **at = &s->rows[id_hash(run) & (s->rows_cap - 1)];

    while (*at != NULL && strcmp((*at)->id, run) != 0)
        at = &(*at)->next;
    return at;
}

static void run_row_free(sqlite_store *s, run_row *row)
{
    mem_free(&s->alloc, row, sizeof *row + strlen(row->id) + 1);
}

static bool rows_grow(sqlite_store *s)
{
    size_t cap = s->rows_cap == 0 ? 64 : s->rows_cap * 2;
    run_row **table = mem_new(&s->alloc, cap * sizeof *table);

    if (table == NULL) {
        s->rc = SQLITE_NOMEM;
        return false;
    }
    for (size_t i = 0; i < s->rows_cap; i++)
        for (run_row *row = s->rows[i], *next; row != NULL; row = next) {
            run_row **at = &table[id_hash(row->id) & (cap - 1)];

            next = row->next;
            row->next = *at;
            *at = row;
        }
    mem_free(&s->alloc, s->rows, s->rows_cap * sizeof *table);
    s->rows = table;
    s->rows_cap = cap;
    return true;
}

/* Reads the head from the file. False: the run is removed, or s->rc. */
static bool run_row_read(sqlite_store *s, run_row *row)
{
    sqlite3_stmt *q = sql_use(s, SQL_HEAD_STATE_OF);
    const run_tail *p = tail_find(s, row->no);

    sql_int(q, 1, row->no);
    if (!sql_row(s, q))
        return false;
    row->fence = (uint64_t)sql_get_int(q, 0);
    row->seq = p != NULL ? p->seq : (uint64_t)sql_get_int(q, 1);
    row->lsn = p != NULL ? p->lsn : sql_get_int(q, 2);
    row->wake_ms = sql_get_int(q, 3);
    row->waits = (uint32_t)sql_get_int(q, 4);
    row->status = (uint8_t)sql_get_int(q, 5);
    row->over = sql_get_int(q, 6) != 0;
    row->parked = sql_get_int(q, 7) != 0;
    row->leased = sql_get_int(q, 8) != 0;
    row->mail = sql_get_int(q, 9);
    row->work = sql_get_int(q, 10) != 0;
    row->epoch = s->epoch;
    sql_end(q);
    return true;
}

/* Not in the table yet; NULL: s->rc. */
static run_row *run_row_new(sqlite_store *s, const char *run)
{
    size_t size = strlen(run) + 1;
    run_row *row;

    if (s->rows_count >= s->rows_cap && !rows_grow(s))
        return NULL;
    if ((row = mem_new(&s->alloc, sizeof *row + size)) == NULL)
        s->rc = SQLITE_NOMEM;
    else
        row->id = memcpy(row + 1, run, size);
    return row;
}

static run_row *run_row_add(sqlite_store *s, run_row *row)
{
    run_row **at = run_row_slot(s, row->id);

    *at = row;
    s->rows_count++;
    return row;
}

run_row *run_row_find(sqlite_store *s, const char *run)
{
    run_row *row = s->rows_cap == 0 ? NULL : *run_row_slot(s, run);

    if (row != NULL) {
        if (row->epoch == s->epoch || (row->no == run_no(s, run) && run_row_read(s, row)))
            return row;
        run_row_drop(s, run);
    }
    if ((row = run_row_new(s, run)) == NULL)
        return NULL;
    if ((row->no = run_no(s, run)) != 0 && run_row_read(s, row))
        return run_row_add(s, row);
    run_row_free(s, row);
    return NULL;
}

const run_row *run_row_cached(const sqlite_store *s, const char *run)
{
    const run_row *row = s->rows_cap == 0 ? NULL : *run_row_slot(s, run);

    return row != NULL && row->epoch == s->epoch ? row : NULL;
}

void run_row_put(sqlite_store *s, const char *run, const run_row *from)
{
    run_row *row = s->rows_cap == 0 ? NULL : *run_row_slot(s, run), was;

    if (row == NULL && (row = run_row_new(s, run)) != NULL)
        run_row_add(s, row);
    if (row == NULL)
        return;
    was = *row;
    *row = *from;
    row->next = was.next;
    row->id = was.id;
    row->epoch = s->epoch;
}

void run_row_drop(sqlite_store *s, const char *run)
{
    run_row **at = s->rows_cap == 0 ? NULL : run_row_slot(s, run), *row;

    if (at == NULL || (row = *at) == NULL)
        return;
    *at = row->next;
    run_row_free(s, row);
    s->rows_count--;
}

bool run_tail_find(sqlite_store *s, const char *run, run_tail *out)
{
    const run_row *held = run_row_cached(s, run);
    run_row row = { .no = out->no };

    if (held == NULL && !run_row_read(s, &row))
        return false;
    out->seq = held != NULL ? held->seq : row.seq;
    out->lsn = held != NULL ? held->lsn : row.lsn;
    return true;
}

/* ---- dropping (Q4) ------------------------------------------------------------------------- */

void caches_drop(sqlite_store *s)
{
    tail_clear(s);
    s->watermark = s->tail_lsn = 0;
    s->epoch++;
    s->caches_valid = false;
}

void caches_free(sqlite_store *s)
{
    for (size_t i = 0; i < s->rows_cap; i++)
        for (run_row *row = s->rows[i], *next; row != NULL; row = next) {
            next = row->next;
            run_row_free(s, row);
        }
    mem_free(&s->alloc, s->rows, s->rows_cap * sizeof *s->rows);
    mem_free(&s->alloc, s->tail, s->tail_cap * sizeof *s->tail);
}
