/* user_sql.c - SQL of the caller in the transaction of an append (pawl_within): each work in a savepoint, behind a guard.
 *
 * Owns the guard: the authorizer, commit hook and progress handler of the connection. Called by append.c, on the thread that uses the handle.
 * Invariants: every work is done before the first line of any run is stored; a work never commits, and never touches the store's tables.
 * SQLite rolls back the whole transaction when a writing statement is interrupted, or asks for it (OR ROLLBACK). Then a new one begins, and all
 * work is done again but that which failed. After such a rollback a work could commit: the commit hook refuses. */
#include "store/sqlite/sqlite.h"

#include <stdio.h>
#include <time.h>

enum { GUARD_OPS = 500 };       /* steps of SQLite's virtual machine between two calls of the progress handler */

/* ---- the guard ------------------------------------------------------------------------------- */

static int64_t steady_ms(void)
{
    struct timespec t = { 0, 0 };

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static bool past_limit(sqlite_store *s)
{
    if (s->guard_until_ms > 0 && steady_ms() > s->guard_until_ms)
        s->user_sql_late = true;
    return s->user_sql_late;
}

static int guard_progress(void *ctx)
{
    sqlite_store *s = ctx;

    return past_limit(s) || sqlite3_get_autocommit(s->db);
}

static int guard_commit(void *ctx)
{
    return ((sqlite_store *)ctx)->txn == TXN_USER_SQL;
}

static int refuse(sqlite_store *s, const char *what, const char *name)
{
    if (s->user_sql_refused[0] == '\0')
        snprintf(s->user_sql_refused, sizeof s->user_sql_refused, "%s %.60s", what, name != NULL ? name : "");
    return SQLITE_DENY;
}

static bool is_among(const char *const *names, const char *name)
{
    for (; name != NULL && *names != NULL; names++)
        if (sqlite3_stricmp(*names, name) == 0)
            return true;
    return false;
}

/* NULL: the action concerns no table. */
static const char *table_of(int action, const char *a, const char *b)
{
    switch (action) {
    case SQLITE_CREATE_TABLE:
    case SQLITE_CREATE_TEMP_TABLE:
    case SQLITE_CREATE_VIEW:
    case SQLITE_CREATE_TEMP_VIEW:
    case SQLITE_CREATE_VTABLE:
    case SQLITE_DROP_TABLE:
    case SQLITE_DROP_TEMP_TABLE:
    case SQLITE_DROP_VIEW:
    case SQLITE_DROP_TEMP_VIEW:
    case SQLITE_DROP_VTABLE:
    case SQLITE_INSERT:
    case SQLITE_UPDATE:
    case SQLITE_DELETE:
    case SQLITE_READ: return a;
    case SQLITE_CREATE_INDEX:
    case SQLITE_CREATE_TEMP_INDEX:
    case SQLITE_CREATE_TRIGGER:
    case SQLITE_CREATE_TEMP_TRIGGER:
    case SQLITE_DROP_INDEX:
    case SQLITE_DROP_TEMP_INDEX:
    case SQLITE_DROP_TRIGGER:
    case SQLITE_DROP_TEMP_TRIGGER:
    case SQLITE_ALTER_TABLE: return b;
    default: return NULL;
    }
}

/* Called when a statement is prepared. Temporary tables are refused by name, too: SQLite would find them before the store's own. */
static int guard_authorize(void *ctx, int action, const char *a, const char *b, const char *schema, const char *by)
{
    static const char *const store_tables[] = { "meta", "spaces", "runs", "labels", "heads", "entries", "stones", "snapshots", "blobs", "waits",
                                        "deliveries", "marks", NULL };
    static const char *const pragmas[] = { "table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo",
                                           "foreign_key_list", "data_version", NULL };
    sqlite_store *s = ctx;
    const char *table;

    (void)schema, (void)by;
    if (s->txn != TXN_USER_SQL)
        return SQLITE_OK;
    switch (action) {
    case SQLITE_TRANSACTION: return refuse(s, a, NULL);
    case SQLITE_SAVEPOINT: return b != NULL && sqlite3_stricmp(b, "pawl") == 0 ? refuse(s, "savepoint", b) : SQLITE_OK;
    case SQLITE_ATTACH: return refuse(s, "ATTACH", NULL);
    case SQLITE_DETACH: return refuse(s, "DETACH", NULL);
    case SQLITE_ANALYZE: return refuse(s, "ANALYZE", NULL);
    case SQLITE_REINDEX: return refuse(s, "REINDEX", NULL);
    case SQLITE_PRAGMA: return is_among(pragmas, a) ? SQLITE_OK : refuse(s, "PRAGMA", a);
    case SQLITE_FUNCTION: return b != NULL && sqlite3_stricmp(b, "load_extension") == 0 ? refuse(s, "function", b) : SQLITE_OK;
    case SQLITE_ALTER_TABLE:
        if (a != NULL && sqlite3_stricmp(a, "temp") == 0)
            return refuse(s, "ALTER TABLE", a);
        break;
    }
    table = table_of(action, a, b);
    if (is_among(store_tables, table))
        return refuse(s, "the store's table", table);
    if (table != NULL && sqlite3_stricmp(table, "sqlite_sequence") == 0 && action != SQLITE_READ)
        return refuse(s, "the table", table);
    return SQLITE_OK;
}

/* The authorizer stays installed: SQLite prepares every statement again when it is set. */
static void guard_install(sqlite_store *s, int64_t limit_ms)
{
    if (!s->guard_installed) {
        sqlite3_set_authorizer(s->db, guard_authorize, s);
        sqlite3_commit_hook(s->db, guard_commit, s);
        s->guard_installed = true;
    }
    s->user_sql_refused[0] = '\0';
    s->user_sql_late = false;
    s->guard_until_ms = limit_ms > 0 ? store_time_add(steady_ms(), limit_ms) : 0;
    txn_move(s, TXN_USER_SQL);
    sqlite3_progress_handler(s->db, GUARD_OPS, guard_progress, s);
}

/* A statement that was not finished would make the commit fail. */
static void guard_remove(sqlite_store *s)
{
    txn_move(s, TXN_WRITE);
    sqlite3_progress_handler(s->db, 0, NULL, NULL);
    for (sqlite3_stmt *q = sqlite3_next_stmt(s->db, NULL); q != NULL; q = sqlite3_next_stmt(s->db, q))
        if (sqlite3_stmt_busy(q))
            sqlite3_reset(q);
}

/* ---- one work ------------------------------------------------------------------------------------- */

/* A full or rolled_backn disk is not the fault of the work: the whole append fails. */
static bool is_store_error(int rc)
{
    switch (rc & 0xff) {
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN: return true;
    default: return false;
    }
}

/* `rc`: the last result on the connection. */
static void result_set(sqlite_store *s, const char *run, pawl_within *w, pawl_code returned, int rc)
{
    bool failed = rc != SQLITE_OK && rc != SQLITE_ROW && rc != SQLITE_DONE, rolled_back = sqlite3_get_autocommit(s->db) != 0;
    int kind = rc & 0xff;

    w->rc = returned;
    if (past_limit(s))
        w->rc = fail(&w->why, PAWL_TIMEOUT, "%s: its SQL took longer than its limit allows; it was rolled back", run);
    else if (s->user_sql_refused[0] != '\0')
        w->rc = fail(&w->why, PAWL_INVALID, "%s: its SQL may not use %s here; it was rolled back", run, s->user_sql_refused);
    else if (is_store_error(rc))
        s->rc = rc;
    else if (kind == SQLITE_NOMEM || (failed && returned >= 0 && (kind == SQLITE_BUSY || kind == SQLITE_LOCKED)))
        w->rc = fail(&w->why, PAWL_TRANSIENT, "%s: its SQL was rolled back: %s", run, sqlite3_errmsg(s->db));
    else if (rolled_back && returned >= 0)
        w->rc = fail(&w->why, PAWL_INVALID, "%s: its SQL ended the transaction that it is part of (OR ROLLBACK?); it was rolled back", run);
    else if (failed && returned >= 0)
        w->rc = fail(&w->why, PAWL_EFFECT, "%s: its SQL left an error, and was rolled back: %s", run, sqlite3_errmsg(s->db));
    else if (returned > 0)
        w->rc = fail(&w->why, PAWL_INVALID, "%s: its function returned \"%s\", which is not a result of work", run, pawl_code_name(returned));
}

static void user_sql_one(sqlite_store *s, const char *run, pawl_within *w)
{
    pawl_code returned;

    sql_run(s, sql_use(s, SQL_SAVEPOINT));
    if (s->rc != SQLITE_OK)
        return;
    w->why = (pawl_err){ PAWL_OK, "" };
    guard_install(s, w->limit_ms);
    returned = w->work(w->ctx, s->db, &w->why);
    result_set(s, run, w, returned, sqlite3_extended_errcode(s->db));
    guard_remove(s);
    if (s->rc != SQLITE_OK || sqlite3_get_autocommit(s->db))
        return;
    if (w->rc < 0)
        sql_run(s, sql_use(s, SQL_SAVEPOINT_ROLLBACK));
    sql_run(s, sql_use(s, SQL_SAVEPOINT_RELEASE));
}

/* ---- all work of an append ----------------------------------------------------------------------------- */

/* So that no work is done for an append that will be refused; append_in checks again. */
static pawl_code user_sql_check(sqlite_store *s, const pawl_append *a)
{
    const run_row *row;

    if (!store_run_valid(a->run) || a->within->work == NULL || a->within->made == NULL)
        return PAWL_INVALID;
    if ((row = run_row_find(s, a->run)) == NULL)
        return PAWL_GONE;
    if (a->fence == 0 || row->fence != a->fence)
        return PAWL_FENCED;
    return a->seq == row->seq ? PAWL_OK : PAWL_CONFLICT;
}

/* Ends: each time that the transaction begins again, one more work has failed finally. */
void user_sql_run(sqlite_store *s, pawl_append *all, size_t n)
{
    bool rolled_back;

    for (size_t i = 0; i < n; i++)
        if (all[i].within != NULL)
            all[i].within->rc = PAWL_PENDING;
    do {
        rolled_back = false;
        for (size_t i = 0; i < n && s->rc == SQLITE_OK && !rolled_back; i++) {
            if (all[i].within == NULL || all[i].within->rc < 0 || (all[i].rc = user_sql_check(s, &all[i])) != PAWL_OK)
                continue;
            user_sql_one(s, all[i].run, all[i].within);
            rolled_back = s->rc == SQLITE_OK && sqlite3_get_autocommit(s->db);
        }
        if (rolled_back)
            sql_run(s, sql_use(s, SQL_BEGIN_WRITE));
    } while (rolled_back && s->rc == SQLITE_OK);
}

pawl_code user_sql_make_lines(sqlite_store *s, pawl_append *a)
{
    pawl_code rc;

    if (s->rc != SQLITE_OK)
        return PAWL_IO;         /* the end of the verb returns the error */
    if (a->within->rc == PAWL_PENDING)
        return a->rc;
    txn_move(s, TXN_USER_LINES);
    rc = a->within->made(a->within->ctx, a);
    txn_move(s, TXN_WRITE);
    return rc;
}
