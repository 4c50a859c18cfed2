/* tail_cache.c - what a handle remembers: the newest row of each run above the watermark (Q3), and the heads of runs it works on (Q4).
 *
 * Owns s->tail and s->held. Called by all files of the folder, inside a transaction, on the thread that uses the handle.
 * Invariants: Q3 (tail_refresh, watermark_move), Q4 (run_row_find compares epochs; tail_forget after a failed transaction). */
#include "store/sqlite/sqlite.h"

/* ---- the tail: run -> its newest row --------------------------------------------------------- */

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
    int64_t value = 0;

    sql_text(q, 1, name);
    if (sql_row(s, q)) {
        value = sql_get_int(q, 0);
        sql_end(q);
    }
    return value;
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
        s->watermark = s->seen = watermark;
    }
    q = sql_use(s, SQL_TAIL);
    sql_int(q, 1, s->seen);
    while (sql_row(s, q)) {
        run_tail p = { .no = sql_get_int(q, 1), .lsn = sql_get_int(q, 0), .changed_ms = sql_get_int(q, 3) };

        s->seen = p.lsn;
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

    PAWL_ASSERT(s->locked && s->seen >= s->watermark, "Q3: the watermark moves up, in a write transaction");
    for (size_t i = 0; i < s->tail_cap && s->rc == SQLITE_OK; i++) {
        const run_tail *p = &s->tail[i];

        if (p->no == 0 || p->headed)
            continue;
        q = sql_use(s, SQL_HEAD_PLACE);
        sql_int(q, 1, p->no);
        sql_int(q, 2, (int64_t)p->seq);
        sql_int(q, 3, p->lsn);
        sql_int(q, 4, p->changed_ms);
        sql_run(s, q);
    }
    q = sql_use(s, SQL_META_SET);
    sql_text(q, 1, "watermark");
    sql_int(q, 2, s->seen);
    sql_run(s, q);
    s->watermark = s->seen;
    tail_clear(s);
}

/* ---- runs that the handle works on ----------------------------------------------------------- */

static size_t id_hash(const char *id)
{
    uint64_t h = UINT64_C(0xCBF29CE484222325);

    for (; *id != '\0'; id++)
        h = (h ^ (unsigned char)*id) * UINT64_C(0x100000001B3);
    return (size_t)(h ^ h >> 29);
}

static run_row **run_row_link(const sqlite_store *s, const char *run)
{
    run_row **at = &s->held[id_hash(run) & (s->held_cap - 1)];

    while (*at != NULL && strcmp((*at)->id, run) != 0)
        at = &(*at)->next;
    return at;
}

static void run_row_free(sqlite_store *s, run_row *k)
{
    mem_free(&s->alloc, k, sizeof *k + strlen(k->id) + 1);
}

static bool held_grow(sqlite_store *s)
{
    size_t cap = s->held_cap == 0 ? 64 : s->held_cap * 2;
    run_row **table = mem_new(&s->alloc, cap * sizeof *table);

    if (table == NULL) {
        s->rc = SQLITE_NOMEM;
        return false;
    }
    for (size_t i = 0; i < s->held_cap; i++)
        for (run_row *k = s->held[i], *next; k != NULL; k = next) {
            run_row **at = &table[id_hash(k->id) & (cap - 1)];

            next = k->next;
            k->next = *at;
            *at = k;
        }
    mem_free(&s->alloc, s->held, s->held_cap * sizeof *table);
    s->held = table;
    s->held_cap = cap;
    return true;
}

/* Reads the head from the file. False: the run is removed, or s->rc. */
static bool run_row_read(sqlite_store *s, run_row *k)
{
    sqlite3_stmt *q = sql_use(s, SQL_HEAD_STATE_OF);
    const run_tail *p = tail_find(s, k->no);

    sql_int(q, 1, k->no);
    if (!sql_row(s, q))
        return false;
    k->fence = (uint64_t)sql_get_int(q, 0);
    k->seq = p != NULL ? p->seq : (uint64_t)sql_get_int(q, 1);
    k->lsn = p != NULL ? p->lsn : sql_get_int(q, 2);
    k->wake_ms = sql_get_int(q, 3);
    k->waits = (uint32_t)sql_get_int(q, 4);
    k->status = (uint8_t)sql_get_int(q, 5);
    k->over = sql_get_int(q, 6) != 0;
    k->parked = sql_get_int(q, 7) != 0;
    k->leased = sql_get_int(q, 8) != 0;
    k->mail = sql_get_int(q, 9);
    k->work = sql_get_int(q, 10) != 0;
    k->epoch = s->epoch;
    sql_end(q);
    return true;
}

/* Memory for one more run; NULL: s->rc. */
static run_row *run_row_new(sqlite_store *s, const char *run)
{
    size_t size = strlen(run) + 1;
    run_row *k;

    if (s->held_count >= s->held_cap && !held_grow(s))
        return NULL;
    if ((k = mem_new(&s->alloc, sizeof *k + size)) == NULL)
        s->rc = SQLITE_NOMEM;
    else
        k->id = memcpy(k + 1, run, size);
    return k;
}

static run_row *run_row_add(sqlite_store *s, run_row *k)
{
    run_row **at = run_row_link(s, k->id);

    *at = k;
    s->held_count++;
    return k;
}

run_row *run_row_find(sqlite_store *s, const char *run)
{
    run_row *k = s->held_cap == 0 ? NULL : *run_row_link(s, run);

    if (k != NULL) {
        if (k->epoch == s->epoch || (k->no == run_no(s, run) && run_row_read(s, k)))
            return k;
        run_row_drop(s, run);
    }
    if ((k = run_row_new(s, run)) == NULL)
        return NULL;
    if ((k->no = run_no(s, run)) != 0 && run_row_read(s, k))
        return run_row_add(s, k);
    run_row_free(s, k);
    return NULL;
}

const run_row *run_row_peek(const sqlite_store *s, const char *run)
{
    const run_row *k = s->held_cap == 0 ? NULL : *run_row_link(s, run);

    return k != NULL && k->epoch == s->epoch ? k : NULL;
}

void run_row_put(sqlite_store *s, const char *run, const run_row *from)
{
    run_row *k = s->held_cap == 0 ? NULL : *run_row_link(s, run), was;

    if (k == NULL && (k = run_row_new(s, run)) != NULL)
        run_row_add(s, k);
    if (k == NULL)
        return;
    was = *k;
    *k = *from;
    k->next = was.next;
    k->id = was.id;
    k->epoch = s->epoch;
}

void run_row_drop(sqlite_store *s, const char *run)
{
    run_row **at = s->held_cap == 0 ? NULL : run_row_link(s, run), *k;

    if (at == NULL || (k = *at) == NULL)
        return;
    *at = k->next;
    run_row_free(s, k);
    s->held_count--;
}

bool run_tail_find(sqlite_store *s, const char *run, run_tail *out)
{
    const run_row *held = run_row_peek(s, run);
    run_row k = { .no = out->no };

    if (held == NULL && !run_row_read(s, &k))
        return false;
    out->seq = held != NULL ? held->seq : k.seq;
    out->lsn = held != NULL ? held->lsn : k.lsn;
    return true;
}

/* ---- forgetting (Q4) ------------------------------------------------------------------------- */

void tail_forget(sqlite_store *s)
{
    tail_clear(s);
    s->watermark = s->seen = 0;
    s->epoch++;
    s->fresh = false;
}

void tail_free(sqlite_store *s)
{
    for (size_t i = 0; i < s->held_cap; i++)
        for (run_row *k = s->held[i], *next; k != NULL; k = next) {
            next = k->next;
            run_row_free(s, k);
        }
    mem_free(&s->alloc, s->held, s->held_cap * sizeof *s->held);
    mem_free(&s->alloc, s->tail, s->tail_cap * sizeof *s->tail);
}
