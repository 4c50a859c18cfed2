/* txn.c - PATH-lock, transactions, checkpoints, and the store's clock.
 *
 * Owns the lock's descriptor and the state of the transaction (s->txn, s->rc, s->relaxed, s->data_version). Called by all files of the folder, on
 * the thread that uses the handle.
 * Invariants: Q1 (write_begin takes the lock, txn_finish releases it), Q4 (caches_validate compares the data version at each begin). */
#include "store/sqlite/sqlite.h"

#include "base/sm.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- time ------------------------------------------------------------------------------------ */

static int64_t clock_ms(clockid_t clock)
{
    struct timespec t = { 0, 0 };

    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t store_now(sqlite_store *s)
{
    int64_t now = s->now != NULL ? s->now(s->now_ctx) : clock_ms(CLOCK_REALTIME);

    if (now > s->last_ms)
        s->last_ms = now;
    return s->last_ms;
}

void store_sqlite_clock(pawl_store *st, int64_t (*now)(void *ctx), void *ctx)
{
    sqlite_of(st)->now = now;
    sqlite_of(st)->now_ctx = ctx;
}

/* ---- the lock (Q1) --------------------------------------------------------------------------- */

/* Whoever may write the file may lock it. */
static pawl_code lock_open(sqlite_store *s, pawl_err *err)
{
    const char *file = sqlite3_db_filename(s->db, "main");
    struct stat st;

    if (s->lock_fd >= 0)
        return PAWL_OK;
    s->lock_fd = open(s->lock_path, O_RDWR | O_CREAT | O_CLOEXEC, file != NULL && stat(file, &st) == 0 ? st.st_mode & 0666 : 0600);
    if (s->lock_fd >= 0)
        return PAWL_OK;
    if (errno == EMFILE || errno == ENFILE)
        return fail(err, PAWL_IO, "%s: too many files are open", s->lock_path);
    if (errno == ENOSPC)
        return fail(err, PAWL_IO, "%s: the disk is full", s->lock_path);
    return fail(err, PAWL_IO, "%s cannot be created; make its folder writable", s->lock_path);
}

pawl_code lock_take(sqlite_store *s, pawl_err *err)
{
    int64_t until = 0;
    long wait_us = 20;
    pawl_code rc = lock_open(s, err);

    if (rc != PAWL_OK)
        return rc;
    while (flock(s->lock_fd, LOCK_EX | LOCK_NB) != 0) {
        int64_t now = clock_ms(CLOCK_MONOTONIC);

        if (errno != EWOULDBLOCK && errno != EINTR)
            return fail(err, PAWL_IO, "%s cannot be locked; does its file system support locks?", s->lock_path);
        if (until == 0)
            until = now + s->busy_ms;
        else if (now >= until)
            return fail(err, PAWL_TRANSIENT, "%s: the store is busy, another process has been writing for %d ms; try again", s->path,
                        s->busy_ms);
        nanosleep(&(struct timespec){ 0, wait_us * 1000 }, NULL);
        wait_us = wait_us < 1000 ? wait_us * 2 : 1000;
    }
    s->locked = true;
    return PAWL_OK;
}

void lock_release(sqlite_store *s)
{
    if (s->locked)
        flock(s->lock_fd, LOCK_UN);
    s->locked = false;
}

/* ---- checkpoints ----------------------------------------------------------------------------- */

/* Pages that a reader still needs, or that do not fit on the disk, are checkpointed later. */
void checkpoint(sqlite_store *s, int mode)
{
    int left = 0, done = 0;

    PAWL_ASSERT(s->locked, "Q1: a checkpoint holds PATH-lock");
    sqlite3_wal_checkpoint_v2(s->db, "main", mode, &left, &done);
    s->wal_pages_next = left <= done ? CHECKPOINT_PAGES : s->wal_pages + CHECKPOINT_PAGES;
}

/* ---- transactions ---------------------------------------------------------------------------- */

static const sm_row txn_rows[TXN_STATES] = {
    [TXN_NONE] = { "none", SM_TO(TXN_READ) | SM_TO(TXN_WRITE), SM_FIRST | SM_LAST },
    [TXN_READ] = { "read", SM_TO(TXN_NONE), 0 },
    [TXN_WRITE] = { "write", SM_TO(TXN_NONE) | SM_TO(TXN_USER_SQL) | SM_TO(TXN_USER_LINES), 0 },
    [TXN_USER_SQL] = { "user_sql", SM_TO(TXN_WRITE), 0 },
    [TXN_USER_LINES] = { "user_lines", SM_TO(TXN_WRITE), 0 },
};

static const char *txn_wrong(const void *owner, unsigned state)
{
    const sqlite_store *s = owner;

    return state >= TXN_WRITE && !s->locked ? "Q1: a write transaction holds PATH-lock" : NULL;
}

static const sm_table txn_table = { "sqlite_txn", txn_rows, TXN_STATES, txn_wrong };

void txn_move(sqlite_store *s, txn_state to)
{
    sm_move(&txn_table, &s->txn, to, s);
}

/* Q4: the pager's counter, which changes with every commit; its value is stored after each commit of this handle. */
static uint32_t data_version(sqlite_store *s)
{
    unsigned v = 0;

    sqlite3_file_control(s->db, NULL, SQLITE_FCNTL_DATA_VERSION, &v);
    return v;
}

bool others_read(sqlite_store *s)
{
    sqlite3_stmt *q = sql_use(s, SQL_DATA_VERSION);

    s->others = -1;
    if (!sql_row(s, q))
        return false;
    s->others = sql_get_int(q, 0);
    sql_end(q);
    return true;
}

uint64_t version_known(const sqlite_store *s)
{
    return s->others < 0 ? 0 : ((uint64_t)s->others << 40) + s->own_writes + 1;
}

static void caches_validate(sqlite_store *s)
{
    uint32_t v = data_version(s);

    if (s->caches_valid && v == s->data_version)
        return;
    s->epoch++;
    tail_refresh(s);
    s->data_version = v;
    s->caches_valid = s->rc == SQLITE_OK;
}

static pawl_code namespace_find(sqlite_store *s)
{
    sqlite3_stmt *q;

    if (s->space == 0 && (q = sql_use(s, SQL_SPACE)) != NULL) {
        sql_text(q, 1, s->space_name);
        s->space = sql_number(s, q);
    }
    return s->rc == SQLITE_OK ? PAWL_OK : PAWL_IO;
}

/* Only between transactions. If FULL cannot be restored now, it is restored before the next synced commit. */
static void synchronous_set(sqlite_store *s, bool relaxed)
{
    int rc;

    if (s->normal || s->relaxed == relaxed || s->rc != SQLITE_OK)
        return;
    rc = sqlite3_exec(s->db, relaxed ? "PRAGMA synchronous=NORMAL" : "PRAGMA synchronous=FULL", NULL, NULL, NULL);
    if (rc != SQLITE_OK)
        s->rc = rc;
    else
        s->relaxed = relaxed;
}

/* Frees buffers that grew large for one value. */
static void slots_shrink(sqlite_store *s)
{
    for (int i = 0; i < SLOTS; i++) {
        if (s->encoded[i].b.cap > SLOT_BYTES_KEPT)
            buf_free(&s->encoded[i].b);
        if (s->decoded[i].b.cap > SLOT_BYTES_KEPT)
            buf_free(&s->decoded[i].b);
    }
}

static void txn_finish(sqlite_store *s)
{
    txn_move(s, TXN_NONE);
    slots_shrink(s);
    s->rc = SQLITE_OK;
    synchronous_set(s, false);
    lock_release(s);
    s->rc = SQLITE_OK;
}

/* S4: SQLite goes on writing into a file that was deleted or replaced, and everything is lost when the last handle is closed. The system call costs
 * nearly as much as a step, so it is made once in FILE_CHECK_MS, and before the end of a run is stored. */
static pawl_code file_check(sqlite_store *s, pawl_err *err)
{
    const int64_t now = clock_ms(CLOCK_MONOTONIC);
    int moved = 0;

    if (now - s->file_checked_ms < FILE_CHECK_MS)
        return PAWL_OK;
    s->file_checked_ms = now;
    if (sqlite3_file_control(s->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved) != SQLITE_OK || !moved)
        return PAWL_OK;
    s->file_checked_ms = FILE_UNCHECKED;        /* each later write fails, too */
    return fail(err, PAWL_IO, "%s was deleted or replaced while it was open; nothing more is written: put it back, or start with a new file", s->path);
}

pawl_code write_begin(sqlite_store *s, txn_kind kind, pawl_err *err)
{
    pawl_code rc;

    if (s->txn != TXN_NONE)
        return fail(err, PAWL_INVALID, "%s: a function that the store calls may not write through it", s->path);
    s->rc = SQLITE_OK;
    arena_reset(&s->mem);
    if (sqlite3_db_readonly(s->db, "main") == 1)
        return sql_fail(s, SQLITE_READONLY, err);
    if ((rc = file_check(s, err)) != PAWL_OK || (rc = lock_take(s, err)) != PAWL_OK)
        return rc;
    txn_move(s, TXN_WRITE);
    synchronous_set(s, kind == TXN_UNSYNCED);
    s->changes_before = sqlite3_total_changes(s->db);
    sql_run(s, sql_use(s, SQL_BEGIN_WRITE));
    if (s->rc == SQLITE_OK) {
        if (data_version(s) != s->data_version)
            s->others = -1;
        caches_validate(s);
    }
    if (namespace_find(s) != PAWL_OK)
        rc = write_end(s, PAWL_OK, err);
    return rc;
}

/* SQLite may have rolled back by itself, when the disk is full. The prepared statement may fail for want of memory: then again, without it. */
static void txn_roll_back(sqlite_store *s)
{
    s->rc = SQLITE_OK;
    if (!sqlite3_get_autocommit(s->db))
        sql_run(s, sql_use(s, SQL_ROLLBACK));
    if (!sqlite3_get_autocommit(s->db))
        sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    s->rc = SQLITE_OK;
}

/* When nothing was changed yet the caches stay valid: a refused write costs no reading. */
static void roll_back(sqlite_store *s)
{
    bool untouched = s->rc == SQLITE_OK && sqlite3_total_changes(s->db) == s->changes_before;

    txn_roll_back(s);
    if (!untouched)
        caches_drop(s);
}

pawl_code write_end(sqlite_store *s, pawl_code rc, pawl_err *err)
{
    PAWL_ASSERT(s->txn == TXN_WRITE, "Q1: what is committed is a write transaction");
    if (rc == PAWL_OK && s->rc == SQLITE_OK && s->tail_rows >= TAIL_ROWS_MAX)
        watermark_move(s);
    if (rc == PAWL_OK)
        sql_run(s, sql_use(s, SQL_COMMIT));
    if (rc == PAWL_OK)
        rc = sql_code(s, err);
    if (rc != PAWL_OK) {
        roll_back(s);
    } else {
        s->data_version = data_version(s);
        s->own_writes += sqlite3_total_changes(s->db) != s->changes_before;
        if (s->wal_pages >= s->wal_pages_next)
            checkpoint(s, SQLITE_CHECKPOINT_PASSIVE);
    }
    txn_finish(s);
    return rc;
}

pawl_code read_begin(sqlite_store *s, pawl_err *err)
{
    if (s->txn != TXN_NONE && s->txn != TXN_USER_LINES)
        return fail(err, PAWL_INVALID, "%s: a function that the store calls may not use it", s->path);
    arena_reset(&s->mem);
    if (s->txn == TXN_USER_LINES)
        return sql_code(s, err);
    txn_move(s, TXN_READ);
    s->rc = SQLITE_OK;
    sql_run(s, sql_use(s, SQL_BEGIN));
    (void)others_read(s);       /* SQLite begins to read with the first statement */
    if (s->rc == SQLITE_OK)
        caches_validate(s);
    return namespace_find(s) == PAWL_OK ? PAWL_OK : read_end(s, PAWL_OK, err);
}

pawl_code read_end(sqlite_store *s, pawl_code rc, pawl_err *err)
{
    if (rc == PAWL_OK)
        rc = sql_code(s, err);
    if (s->txn == TXN_USER_LINES)
        return rc;
    txn_roll_back(s);
    if (rc == PAWL_IO || rc == PAWL_CORRUPT || rc == PAWL_NOMEM)
        caches_drop(s);
    txn_finish(s);
    return rc;
}
