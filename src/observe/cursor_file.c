/* cursor_file.c - the SQLite file of a reader of journals: its tables, and a statement for each function.
 *
 * Called by the thread of one reader. Owns the connection and its statements. A rollback journal, not a WAL: the file is small, is written by one process
 * at a time, and is one file whenever nobody writes it. */
#include "observe/cursor_file.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <unistd.h>

enum { FILE_APPLICATION = 0x50777453, FILE_VERSION = 1, BUSY_MS = 2000 };

typedef enum file_sql {
    FILE_TIME_GET, FILE_TIME_SET, FILE_RUN_GET, FILE_RUN_PUT, FILE_RUN_REMOVE, FILE_RUNS, FILE_ADD, FILE_ADD_NEW, FILE_COUNT, FILE_NUMBERS,
    FILE_BATCH_PUT, FILE_BATCH_GET, FILE_BATCH_DROP, FILE_STATEMENTS
} file_sql;

static const char *const texts[FILE_STATEMENTS] = {
    [FILE_TIME_GET] = "SELECT ms FROM times WHERE which=?1",
    [FILE_TIME_SET] = "INSERT INTO times VALUES(?1,?2) ON CONFLICT(which) DO UPDATE SET ms=excluded.ms",
    [FILE_RUN_GET] = "SELECT seq,place,head_seq,changed_ms,over,life FROM runs WHERE no=?1",
    [FILE_RUN_PUT] = "INSERT OR REPLACE INTO runs VALUES(?1,?2,?3,?4,?5,?6,?7,?8)",
    [FILE_RUN_REMOVE] = "DELETE FROM runs WHERE no=?1",
    [FILE_RUNS] = "SELECT no,id FROM runs WHERE no>?1 ORDER BY no LIMIT ?2",
    [FILE_ADD] = "UPDATE numbers SET value=value+?4 WHERE family=?1 AND labels=?2 AND part=?3",
    [FILE_ADD_NEW] = "INSERT INTO numbers VALUES(?1,?2,?3,?4) ON CONFLICT(family,labels,part) DO UPDATE SET value=value+excluded.value",
    [FILE_COUNT] = "SELECT count(DISTINCT labels),max(labels=?2) FROM numbers WHERE family=?1",
    [FILE_NUMBERS] = "SELECT family,labels,part,value FROM numbers ORDER BY family,labels,part",
    [FILE_BATCH_PUT] = "INSERT INTO batches VALUES(?1,?2)",
    [FILE_BATCH_GET] = "SELECT body FROM batches WHERE name=?1",
    [FILE_BATCH_DROP] = "DELETE FROM batches WHERE name=?1",
};

static const char tables[] =
    "CREATE TABLE times(which INTEGER PRIMARY KEY, ms INTEGER NOT NULL);"
    "CREATE TABLE runs(no INTEGER PRIMARY KEY, id TEXT NOT NULL, seq INTEGER NOT NULL, place INTEGER NOT NULL, head_seq INTEGER NOT NULL,"
    " changed_ms INTEGER NOT NULL, over INTEGER NOT NULL, life INTEGER NOT NULL);"
    "CREATE TABLE numbers(family TEXT, labels TEXT, part INTEGER, value INTEGER NOT NULL, PRIMARY KEY(family,labels,part)) WITHOUT ROWID;"
    "CREATE TABLE batches(name TEXT PRIMARY KEY, body BLOB NOT NULL) WITHOUT ROWID;";

struct cursor_file {
    pawl_alloc alloc;
    sqlite3 *db;
    sqlite3_stmt *all[FILE_STATEMENTS];
    char *path;
};

static pawl_code sql_says(const cursor_file *f, int rc, pawl_err *err)
{
    if (rc == SQLITE_OK || rc == SQLITE_DONE || rc == SQLITE_ROW)
        return PAWL_OK;
    if ((rc & 0xff) == SQLITE_NOMEM)
        return fail(err, PAWL_NOMEM, "%s: no memory", f->path);
    if ((rc & 0xff) == SQLITE_BUSY || (rc & 0xff) == SQLITE_LOCKED)
        return fail(err, PAWL_HELD, "%s: another process has it", f->path);
    return fail(err, PAWL_IO, "%s: %s; remove it to begin anew", f->path, f->db != NULL ? sqlite3_errmsg(f->db) : sqlite3_errstr(rc));
}

static pawl_code exec(const cursor_file *f, const char *sql, pawl_err *err) { return sql_says(f, sqlite3_exec(f->db, sql, NULL, NULL, NULL), err); }

static int64_t pragma(const cursor_file *f, const char *sql)
{
    sqlite3_stmt *q = NULL;
    int64_t n = -1;

    if (sqlite3_prepare_v2(f->db, sql, -1, &q, NULL) == SQLITE_OK && sqlite3_step(q) == SQLITE_ROW)
        n = sqlite3_column_int64(q, 0);
    sqlite3_finalize(q);
    return n;
}

/* ---- opened -------------------------------------------------------------------------------------------------------- */

static pawl_code tables_make(cursor_file *f, int64_t now_ms, pawl_err *err)
{
    char stamp[160];
    pawl_code rc = exec(f, "BEGIN IMMEDIATE", err);

    if (rc != PAWL_OK)
        return rc;
    if (pragma(f, "PRAGMA user_version") == 0) {        /* else another process was first */
        snprintf(stamp, sizeof stamp, "INSERT INTO times VALUES(%d,%lld),(%d,%lld); PRAGMA application_id=%d; PRAGMA user_version=%d", CURSOR_SINCE,
                 (long long)now_ms, CURSOR_SEEN, (long long)now_ms, FILE_APPLICATION, FILE_VERSION);
        if ((rc = exec(f, tables, err)) == PAWL_OK)
            rc = exec(f, stamp, err);
    }
    if (rc == PAWL_OK)
        rc = exec(f, "COMMIT", err);
    if (rc != PAWL_OK)
        cursor_rollback(f);
    return rc;
}

static pawl_code file_ready(cursor_file *f, bool alone, int64_t now_ms, pawl_err *err)
{
    pawl_code rc = exec(f, alone ? "PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT" : "PRAGMA locking_mode=NORMAL", err);

    if (rc == PAWL_OK && pragma(f, "PRAGMA user_version") == 0 && pragma(f, "SELECT count(*) FROM sqlite_schema") == 0)
        rc = tables_make(f, now_ms, err);
    if (rc == PAWL_OK && pragma(f, "PRAGMA application_id") != FILE_APPLICATION)
        rc = fail(err, PAWL_INVALID, "%s is no file of a reader of journals; remove it, or name another store", f->path);
    if (rc == PAWL_OK && pragma(f, "PRAGMA user_version") > FILE_VERSION)
        rc = fail(err, PAWL_INVALID, "%s was written by a newer Pawl; update Pawl", f->path);
    for (size_t i = 0; i < FILE_STATEMENTS && rc == PAWL_OK; i++)
        rc = sql_says(f, sqlite3_prepare_v3(f->db, texts[i], -1, SQLITE_PREPARE_PERSISTENT, &f->all[i], NULL), err);
    return rc;
}

cursor_file *cursor_file_open(const char *path, bool alone, int64_t now_ms, pawl_err *err)
{
    const pawl_alloc alloc = mem_or_default(NULL);
    cursor_file *f = mem_new(&alloc, sizeof *f);
    int fd;

    if (f == NULL || (f->path = mem_text(&alloc, path)) == NULL) {
        mem_free(&alloc, f, f != NULL ? sizeof *f : 0);
        fail(err, PAWL_NOMEM, "%s: no memory", path);
        return NULL;
    }
    f->alloc = alloc;
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);     /* SQLite would make it as the umask says */
    if (fd < 0) {
        fail(err, PAWL_IO, "%s: it cannot be opened or made", path);
        cursor_file_close(f);
        return NULL;
    }
    close(fd);
    if (sql_says(f, sqlite3_open_v2(path, &f->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL), err) != PAWL_OK ||
        sql_says(f, sqlite3_busy_timeout(f->db, alone ? 0 : BUSY_MS), err) != PAWL_OK || file_ready(f, alone, now_ms, err) != PAWL_OK) {
        cursor_file_close(f);
        return NULL;
    }
    return f;
}

void cursor_file_close(cursor_file *f)
{
    if (f == NULL)
        return;
    for (size_t i = 0; i < FILE_STATEMENTS; i++)
        sqlite3_finalize(f->all[i]);
    sqlite3_close(f->db);
    mem_free(&f->alloc, f->path, strlen(f->path) + 1);
    mem_free(&f->alloc, f, sizeof *f);
}

pawl_code cursor_begin(cursor_file *f, pawl_err *err) { return exec(f, "BEGIN IMMEDIATE", err); }
pawl_code cursor_commit(cursor_file *f, pawl_err *err) { return exec(f, "COMMIT", err); }

void cursor_rollback(cursor_file *f)
{
    if (sqlite3_get_autocommit(f->db) == 0)
        (void)sqlite3_exec(f->db, "ROLLBACK", NULL, NULL, NULL);
}

/* ---- statements ------------------------------------------------------------------------------------------------------ */

static int bind_text(sqlite3_stmt *q, int at, const char *text) { return sqlite3_bind_text(q, at, text, -1, SQLITE_STATIC); }

/* Steps once and resets. */
static pawl_code done(const cursor_file *f, sqlite3_stmt *q, pawl_err *err)
{
    const int rc = sqlite3_step(q);
    const pawl_code code = sql_says(f, rc, err);

    (void)sqlite3_reset(q);
    (void)sqlite3_clear_bindings(q);
    return code;
}

int64_t cursor_time_of(cursor_file *f, cursor_time which)
{
    sqlite3_stmt *q = f->all[FILE_TIME_GET];
    int64_t ms = 0;

    (void)sqlite3_bind_int(q, 1, (int)which);
    if (sqlite3_step(q) == SQLITE_ROW)
        ms = sqlite3_column_int64(q, 0);
    (void)sqlite3_reset(q);
    return ms;
}

pawl_code cursor_time_set(cursor_file *f, cursor_time which, int64_t ms, pawl_err *err)
{
    sqlite3_stmt *q = f->all[FILE_TIME_SET];

    (void)sqlite3_bind_int(q, 1, (int)which);
    (void)sqlite3_bind_int64(q, 2, ms);
    return done(f, q, err);
}

pawl_code cursor_run_get(cursor_file *f, uint64_t no, cursor_run *out, pawl_err *err)
{
    sqlite3_stmt *q = f->all[FILE_RUN_GET];
    pawl_code code;
    int rc;

    *out = (cursor_run){ .no = no };
    (void)sqlite3_bind_int64(q, 1, (int64_t)no);
    if ((rc = sqlite3_step(q)) == SQLITE_ROW) {
        out->seq = (uint64_t)sqlite3_column_int64(q, 0);
        out->index = (uint64_t)sqlite3_column_int64(q, 1);
        out->head_seq = (uint64_t)sqlite3_column_int64(q, 2);
        out->changed_ms = sqlite3_column_int64(q, 3);
        out->over = sqlite3_column_int(q, 4) != 0;
        out->life = (uint64_t)sqlite3_column_int64(q, 5);
    }
    code = rc == SQLITE_DONE ? PAWL_GONE : sql_says(f, rc, err);
    (void)sqlite3_reset(q);
    return code;
}

pawl_code cursor_run_put(cursor_file *f, const cursor_run *r, pawl_err *err)
{
    sqlite3_stmt *q = f->all[FILE_RUN_PUT];

    (void)sqlite3_bind_int64(q, 1, (int64_t)r->no);
    (void)bind_text(q, 2, r->id != NULL ? r->id : "");
    (void)sqlite3_bind_int64(q, 3, (int64_t)r->seq);
    (void)sqlite3_bind_int64(q, 4, (int64_t)r->index);
    (void)sqlite3_bind_int64(q, 5, (int64_t)r->head_seq);
    (void)sqlite3_bind_int64(q, 6, r->changed_ms);
    (void)sqlite3_bind_int(q, 7, r->over);
    (void)sqlite3_bind_int64(q, 8, (int64_t)r->life);
    return done(f, q, err);
}

pawl_code cursor_run_remove(cursor_file *f, uint64_t no, pawl_err *err)
{
    sqlite3_stmt *q = f->all[FILE_RUN_REMOVE];

    (void)sqlite3_bind_int64(q, 1, (int64_t)no);
    return done(f, q, err);
}

pawl_code cursor_runs_after(cursor_file *f, uint64_t no, arena *mem, cursor_run *out, size_t limit, size_t *n, pawl_err *err)
{
    sqlite3_stmt *q = f->all[FILE_RUNS];
    int rc;

    *n = 0;
    (void)sqlite3_bind_int64(q, 1, (int64_t)no);
    (void)sqlite3_bind_int64(q, 2, (int64_t)limit);
    while (*n < limit && (rc = sqlite3_step(q)) == SQLITE_ROW) {
        out[*n] = (cursor_run){ .no = (uint64_t)sqlite3_column_int64(q, 0), .id = arena_text(mem, (const char *)sqlite3_column_text(q, 1)) };
        ++*n;
    }
    (void)sqlite3_reset(q);
    return mem->failed ? fail(err, PAWL_NOMEM, "%s: no memory", f->path) : PAWL_OK;
}

/* ---- numbers ------------------------------------------------------------------------------------------------------------ */

static void number_bind(sqlite3_stmt *q, const char *family, const char *labels, unsigned part, int64_t value)
{
    (void)bind_text(q, 1, family);
    (void)bind_text(q, 2, labels);
    (void)sqlite3_bind_int(q, 3, (int)part);
    (void)sqlite3_bind_int64(q, 4, value);
}

/* Whether these labels are there, or there is room for them. */
static bool has_room(cursor_file *f, const char *family, const char *labels, size_t most)
{
    sqlite3_stmt *q = f->all[FILE_COUNT];
    bool room = true;

    (void)bind_text(q, 1, family);
    (void)bind_text(q, 2, labels);
    if (sqlite3_step(q) == SQLITE_ROW)
        room = sqlite3_column_int(q, 1) != 0 || (size_t)sqlite3_column_int64(q, 0) < most;
    (void)sqlite3_reset(q);
    return room;
}

pawl_code cursor_add(cursor_file *f, const char *family, const char *labels, unsigned part, int64_t value, size_t most, const char *other, pawl_err *err)
{
    pawl_code rc;

    number_bind(f->all[FILE_ADD], family, labels, part, value);
    rc = done(f, f->all[FILE_ADD], err);
    if (rc != PAWL_OK || sqlite3_changes(f->db) > 0)
        return rc;
    number_bind(f->all[FILE_ADD_NEW], family, has_room(f, family, labels, most) ? labels : other, part, value);
    return done(f, f->all[FILE_ADD_NEW], err);
}

pawl_code cursor_numbers(cursor_file *f, cursor_number_fn *fn, void *ctx, pawl_err *err)
{
    sqlite3_stmt *q = f->all[FILE_NUMBERS];
    pawl_code code;
    int rc;

    while ((rc = sqlite3_step(q)) == SQLITE_ROW)
        fn(ctx, (const char *)sqlite3_column_text(q, 0), (const char *)sqlite3_column_text(q, 1), (unsigned)sqlite3_column_int(q, 2),
           sqlite3_column_int64(q, 3));
    code = sql_says(f, rc, err);
    (void)sqlite3_reset(q);
    return code;
}

/* ---- the batch ----------------------------------------------------------------------------------------------------------- */

pawl_code cursor_batch_put(cursor_file *f, const char *name, pawl_bytes bytes, pawl_err *err)
{
    sqlite3_stmt *q = f->all[FILE_BATCH_PUT];

    (void)bind_text(q, 1, name);
    (void)sqlite3_bind_blob64(q, 2, bytes.data, bytes.size, SQLITE_STATIC);
    return done(f, q, err);
}

pawl_code cursor_batch_get(cursor_file *f, const char *name, buf *out, pawl_err *err)
{
    sqlite3_stmt *q = f->all[FILE_BATCH_GET];
    pawl_code code;
    int rc;

    (void)bind_text(q, 1, name);
    if ((rc = sqlite3_step(q)) == SQLITE_ROW)
        buf_put(out, sqlite3_column_blob(q, 0), (size_t)sqlite3_column_bytes(q, 0));
    code = rc == SQLITE_DONE ? PAWL_GONE : sql_says(f, rc, err);
    (void)sqlite3_reset(q);
    return code == PAWL_OK && out->failed ? fail(err, PAWL_NOMEM, "%s: no memory", f->path) : code;
}

pawl_code cursor_batch_drop(cursor_file *f, const char *name, pawl_err *err)
{
    sqlite3_stmt *q = f->all[FILE_BATCH_DROP];

    (void)bind_text(q, 1, name);
    return done(f, q, err);
}
