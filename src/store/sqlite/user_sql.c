/* user_sql.c - work of the caller's own in the transaction of an append: each in a savepoint, behind a guard.
 *
 * All of it is done before the first line of any run is made. For when a statement that writes is interrupted, or asks for it (OR
 * ROLLBACK), SQLite gives up the whole transaction: then it is begun again, without the work that broke it. What a work does after
 * it broke the transaction can commit nothing, for the hook refuses. */
#include "store/sqlite/sqlite.h"

#include <stdio.h>
#include <time.h>

enum { GUARD_OPS = 500 };       /* of SQLite's machine, between two looks at the clock */

/* ---- the guard ------------------------------------------------------------------------------- */

static int64_t steady_ms(void)
{
    struct timespec t = { 0, 0 };

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static bool is_over(sqlite_store *s)
{
    if (s->guard_until_ms > 0 && steady_ms() > s->guard_until_ms)
        s->overran = true;
    return s->overran;
}

static int guard_progress(void *ctx)
{
    sqlite_store *s = ctx;

    return is_over(s) || sqlite3_get_autocommit(s->db);
}

static int guard_commit(void *ctx)
{
    return ((sqlite_store *)ctx)->guarded;
}

static int refuse(sqlite_store *s, const char *what, const char *name)
{
    if (s->refused[0] == '\0')
        snprintf(s->refused, sizeof s->refused, "%s %.60s", what, name != NULL ? name : "");
    return SQLITE_DENY;
}

static bool is_among(const char *const *names, const char *name)
{
    for (; name != NULL && *names != NULL; names++)
        if (sqlite3_stricmp(*names, name) == 0)
            return true;
    return false;
}

/* The table that an action is about; NULL: it is about none. */
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

/* Asked when a statement is prepared. A table of a temporary schema would be found before the store's own of that name. */
static int guard_authorize(void *ctx, int action, const char *a, const char *b, const char *schema, const char *by)
{
    static const char *const ours[] = { "meta", "spaces", "runs", "labels", "heads", "entries", "stones", "snapshots", "blobs", "waits",
                                        "deliveries", "marks", NULL };
    static const char *const pragmas[] = { "table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo",
                                           "foreign_key_list", "data_version", NULL };
    sqlite_store *s = ctx;
    const char *table;

    (void)schema, (void)by;
    if (!s->guarded)
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
    if (is_among(ours, table))
        return refuse(s, "the store's table", table);
    if (table != NULL && sqlite3_stricmp(table, "sqlite_sequence") == 0 && action != SQLITE_READ)
        return refuse(s, "the table", table);
    return SQLITE_OK;
}

/* Set once: with a new one SQLite prepares every statement anew. */
static void guard_up(sqlite_store *s, int64_t limit_ms)
{
    if (!s->hooked) {
        sqlite3_set_authorizer(s->db, guard_authorize, s);
        sqlite3_commit_hook(s->db, guard_commit, s);
        s->hooked = true;
    }
    s->refused[0] = '\0';
    s->overran = false;
    s->guard_until_ms = limit_ms > 0 ? store_until(steady_ms(), limit_ms) : 0;
    s->guarded = s->inside = true;
    sqlite3_progress_handler(s->db, GUARD_OPS, guard_progress, s);
}

/* A statement that was left in the middle would hold up the commit. */
static void guard_down(sqlite_store *s)
{
    s->guarded = s->inside = false;
    sqlite3_progress_handler(s->db, 0, NULL, NULL);
    for (sqlite3_stmt *q = sqlite3_next_stmt(s->db, NULL); q != NULL; q = sqlite3_next_stmt(s->db, q))
        if (sqlite3_stmt_busy(q))
            sqlite3_reset(q);
}

/* ---- one ------------------------------------------------------------------------------------- */

/* A disk that is full or broken is no fault of the work: the append fails, and all of it is done again. */
static bool is_everyones(int rc)
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

/* What is to be thought of what it returned: `rc` stands on the connection. */
static void judge(sqlite_store *s, const char *run, pawl_within *w, pawl_code said, int rc)
{
    bool wrong = rc != SQLITE_OK && rc != SQLITE_ROW && rc != SQLITE_DONE, broke = sqlite3_get_autocommit(s->db) != 0;
    int kind = rc & 0xff;

    w->rc = said;
    if (is_over(s))
        w->rc = fail(&w->why, PAWL_TIMEOUT, "%s: its SQL took longer than its limit allows; it was taken back", run);
    else if (s->refused[0] != '\0')
        w->rc = fail(&w->why, PAWL_INVALID, "%s: its SQL may not use %s here; it was taken back", run, s->refused);
    else if (is_everyones(rc))
        s->rc = rc;
    else if (kind == SQLITE_NOMEM || (wrong && said >= 0 && (kind == SQLITE_BUSY || kind == SQLITE_LOCKED)))
        w->rc = fail(&w->why, PAWL_TRANSIENT, "%s: its SQL was taken back: %s", run, sqlite3_errmsg(s->db));
    else if (broke && said >= 0)
        w->rc = fail(&w->why, PAWL_INVALID, "%s: its SQL ended the transaction that it is part of (OR ROLLBACK?); it was taken back", run);
    else if (wrong && said >= 0)
        w->rc = fail(&w->why, PAWL_EFFECT, "%s: its SQL left an error, and was taken back: %s", run, sqlite3_errmsg(s->db));
    else if (said > 0)
        w->rc = fail(&w->why, PAWL_INVALID, "%s: its function returned \"%s\", which is no result", run, pawl_code_name(said));
}

static void work_one(sqlite_store *s, const char *run, pawl_within *w)
{
    pawl_code said;

    sql_run(s, sql_use(s, SQL_SAVE));
    if (s->rc != SQLITE_OK)
        return;
    w->why = (pawl_err){ PAWL_OK, "" };
    guard_up(s, w->limit_ms);
    said = w->work(w->ctx, s->db, &w->why);
    judge(s, run, w, said, sqlite3_extended_errcode(s->db));
    guard_down(s);
    if (s->rc != SQLITE_OK || sqlite3_get_autocommit(s->db))
        return;
    if (w->rc < 0)
        sql_run(s, sql_use(s, SQL_SAVE_BACK));
    sql_run(s, sql_use(s, SQL_SAVE_OVER));
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* As append_may, which asks once more. */
static pawl_code may_work(sqlite_store *s, const pawl_append *a)
{
    const run_row *k;

    if (!store_run_valid(a->run) || a->within->work == NULL || a->within->made == NULL)
        return PAWL_INVALID;
    if ((k = run_row_find(s, a->run)) == NULL)
        return PAWL_GONE;
    if (a->fence == 0 || k->fence != a->fence)
        return PAWL_FENCED;
    return a->seq == k->seq ? PAWL_OK : PAWL_CONFLICT;
}

/* Each time that it is begun again, one more has failed for good. */
void within_work(sqlite_store *s, pawl_append *all, size_t n)
{
    bool broke;

    for (size_t i = 0; i < n; i++)
        if (all[i].within != NULL)
            all[i].within->rc = PAWL_PENDING;
    do {
        broke = false;
        for (size_t i = 0; i < n && s->rc == SQLITE_OK && !broke; i++) {
            if (all[i].within == NULL || all[i].within->rc < 0 || (all[i].rc = may_work(s, &all[i])) != PAWL_OK)
                continue;
            work_one(s, all[i].run, all[i].within);
            broke = s->rc == SQLITE_OK && sqlite3_get_autocommit(s->db);
        }
        if (broke)
            sql_run(s, sql_use(s, SQL_BEGIN_WRITE));
    } while (broke && s->rc == SQLITE_OK);
}

pawl_code within_made(sqlite_store *s, pawl_append *a)
{
    pawl_code rc;

    if (s->rc != SQLITE_OK)
        return PAWL_IO;         /* which one, the end of the verb tells */
    if (a->within->rc == PAWL_PENDING)
        return a->rc;
    s->inside = true;
    rc = a->within->made(a->within->ctx, a);
    s->inside = false;
    return rc;
}
