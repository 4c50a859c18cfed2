/* schema.c - the tables, their versions and migrations, and whether a file may be opened.
 *
 * Owns nothing. Called once, by open.c. A new file and an older version are written with PATH-lock held (Q1).
 * The table `entries` has no index: the rows of a run are found by `prev` (Q2), and an append writes no index page. Columns that are read often come
 * before those that may be long. Columns with an index change seldom, so the frequent statements do not touch an index. */
#include "store/sqlite/sqlite.h"

#include <stdio.h>

#define NEVER "9223372036854775807"

/* store_due_ms in SQL, with the time of the last release for that of the last change. NULL: never. */
#define DUE_COLUMN                                                                                                      \
    "look_ms INTEGER AS (CASE WHEN parked IS NOT NULL THEN NULL"                                                         \
    " WHEN owner IS NOT NULL THEN CASE WHEN over AND mail=0 AND wake_ms=0 THEN NULL ELSE lease_ms END ELSE nullif(min("  \
    "CASE WHEN mail>0 THEN mail_ms ELSE " NEVER " END,CASE WHEN wake_ms>0 THEN wake_ms ELSE " NEVER " END,"              \
    "CASE WHEN work AND NOT over THEN free_ms ELSE " NEVER " END)," NEVER ") END)"
#define HELD_INDEX "CREATE INDEX heads_held ON heads(space) WHERE owner IS NOT NULL;"
#define LOSSES_TABLE                                                                                                      \
    "CREATE TABLE losses(run INTEGER, fence INTEGER, at_ms INTEGER NOT NULL, died INTEGER NOT NULL, owner TEXT NOT NULL," \
    " taker_fence INTEGER NOT NULL DEFAULT 0, taken_ms INTEGER NOT NULL DEFAULT 0, taker TEXT, PRIMARY KEY(run,fence))"   \
    " WITHOUT ROWID;"
#define CHANGED_INDEX "CREATE INDEX heads_changed ON heads(space,changed_ms);"
#define DUE_INDEX "CREATE INDEX heads_look ON heads(space,look_ms) WHERE look_ms IS NOT NULL;"

static const char tables[] =
    "CREATE TABLE meta(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;"
    "INSERT INTO meta VALUES('fence',0),('watermark',0),('hole',0),('id',random()|1);"
    "CREATE TABLE spaces(no INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);"

    "CREATE TABLE runs(no INTEGER PRIMARY KEY AUTOINCREMENT, space INTEGER NOT NULL, id TEXT NOT NULL, life INTEGER NOT NULL,"
    " machine TEXT, context TEXT, parent TEXT, created_ms INTEGER NOT NULL, priority INTEGER NOT NULL, born BLOB NOT NULL,"
    " base_seq INTEGER NOT NULL, base BLOB NOT NULL);"
    "CREATE UNIQUE INDEX runs_id ON runs(space,id);"
    "CREATE INDEX runs_space ON runs(space);"
    "CREATE INDEX runs_machine ON runs(space,machine);"
    "CREATE INDEX runs_context ON runs(space,context) WHERE context IS NOT NULL;"
    "CREATE INDEX runs_parent ON runs(space,parent) WHERE parent IS NOT NULL;"
    "CREATE TABLE labels(space INTEGER NOT NULL, label TEXT NOT NULL, run INTEGER NOT NULL, PRIMARY KEY(space,label,run))"
    " WITHOUT ROWID;"
    "CREATE INDEX labels_run ON labels(run);"

    "CREATE TABLE heads(no INTEGER PRIMARY KEY, space INTEGER NOT NULL, status INTEGER NOT NULL DEFAULT 0,"
    " over INTEGER NOT NULL DEFAULT 0, work INTEGER NOT NULL DEFAULT 0, waits INTEGER NOT NULL DEFAULT 0,"
    " mail INTEGER NOT NULL DEFAULT 0, fence INTEGER NOT NULL DEFAULT 0, seq INTEGER NOT NULL, lsn INTEGER NOT NULL DEFAULT 0,"
    " lease_ms INTEGER NOT NULL DEFAULT 0, wake_ms INTEGER NOT NULL DEFAULT 0, changed_ms INTEGER NOT NULL,"
    " free_ms INTEGER NOT NULL DEFAULT 0, mail_ms INTEGER, owner TEXT, parked TEXT, " DUE_COLUMN ");"
    "CREATE INDEX heads_status ON heads(space,status);"
    "CREATE INDEX heads_waiting ON heads(space) WHERE waits>0;"
    "CREATE INDEX heads_parked ON heads(space) WHERE parked IS NOT NULL;"
    "CREATE INDEX heads_wake ON heads(space,wake_ms) WHERE wake_ms>0;"
    HELD_INDEX
    DUE_INDEX
    CHANGED_INDEX

    "CREATE TABLE entries(lsn INTEGER PRIMARY KEY, run INTEGER NOT NULL, prev INTEGER NOT NULL, seq INTEGER, at_ms INTEGER,"
    " codec INTEGER, body BLOB);"
    "CREATE TABLE stones(run INTEGER, seq INTEGER, lsn INTEGER NOT NULL, PRIMARY KEY(run,seq)) WITHOUT ROWID;"
    "CREATE TABLE snapshots(run INTEGER PRIMARY KEY, seq INTEGER NOT NULL, lsn INTEGER NOT NULL, body BLOB NOT NULL,"
    " digest BLOB);"
    "CREATE TABLE blobs(no INTEGER PRIMARY KEY, run INTEGER NOT NULL, digest BLOB NOT NULL, body BLOB NOT NULL,"
    " UNIQUE(run,digest));"

    "CREATE TABLE waits(no INTEGER PRIMARY KEY, run INTEGER NOT NULL, id TEXT NOT NULL, asked_ms INTEGER NOT NULL,"
    " over INTEGER NOT NULL DEFAULT 0, delivery INTEGER, spec BLOB, answer BLOB, UNIQUE(run,id));"
    "CREATE INDEX waits_open ON waits(run) WHERE over=0;"
    "CREATE TABLE deliveries(no INTEGER PRIMARY KEY AUTOINCREMENT, run INTEGER NOT NULL, id TEXT NOT NULL, kind INTEGER NOT NULL,"
    " taken INTEGER NOT NULL DEFAULT 0, at_ms INTEGER NOT NULL, outcome INTEGER NOT NULL, digest BLOB NOT NULL, name TEXT,"
    " by TEXT, trace TEXT, note TEXT, value BLOB, upd BLOB, UNIQUE(run,id));"
    "CREATE INDEX deliveries_open ON deliveries(run) WHERE taken=0;"
    "CREATE TABLE marks(run INTEGER, id TEXT, attempts INTEGER NOT NULL, first_ms INTEGER NOT NULL DEFAULT 0,"
    " again_ms INTEGER NOT NULL DEFAULT 0, PRIMARY KEY(run,id)) WITHOUT ROWID;"
    LOSSES_TABLE;

/* From each version to the next. */
static const char *const migrations[SCHEMA_VERSION] = {
    /* 1 had no column work. Where it cannot be known it is set: the first worker that claims the run corrects it. */
    [1] = "DROP INDEX heads_look;"
          "ALTER TABLE heads DROP COLUMN look_ms;"
          "ALTER TABLE heads ADD COLUMN work INTEGER NOT NULL DEFAULT 0;"
          "UPDATE heads SET work=1 WHERE status=1 AND NOT over;"
          "ALTER TABLE heads ADD COLUMN " DUE_COLUMN ";"
          DUE_INDEX,
    /* 2 had no times of attempts. */
    [2] = "ALTER TABLE marks ADD COLUMN first_ms INTEGER NOT NULL DEFAULT 0;"
          "ALTER TABLE marks ADD COLUMN again_ms INTEGER NOT NULL DEFAULT 0;",
    /* 3 had no index of held runs. */
    [3] = HELD_INDEX,
    /* 4 had no digests of snapshots (one without is not used, and is replaced by the next) and no index on changed_ms. */
    [4] = "ALTER TABLE snapshots ADD COLUMN digest BLOB;"
          CHANGED_INDEX,
    /* 5 had no losses: nobody knows those of before. */
    [5] = LOSSES_TABLE,
};

static pawl_code query_int(sqlite_store *s, const char *sql, int64_t *out, pawl_err *err)
{
    sqlite3_stmt *q = NULL;
    pawl_code rc = PAWL_OK;

    if (sqlite3_prepare_v2(s->db, sql, -1, &q, NULL) == SQLITE_OK && sqlite3_step(q) == SQLITE_ROW)
        *out = sqlite3_column_int64(q, 0);
    else
        rc = sql_fail(s, sqlite3_extended_errcode(s->db), err);
    sqlite3_finalize(q);
    return rc;
}

/* Runs `sql` and stamps the version, in one transaction. */
static pawl_code schema_write(sqlite_store *s, const char *sql, int64_t version, pawl_err *err)
{
    char stamp[160];
    pawl_code rc = sql_exec(s, "BEGIN IMMEDIATE", err);

    if (rc != PAWL_OK)
        return rc;
    snprintf(stamp, sizeof stamp, "PRAGMA application_id=%d; PRAGMA user_version=%lld", (int)APPLICATION_ID, (long long)version);
    if ((rc = sql_exec(s, sql, err)) != PAWL_OK || (rc = sql_exec(s, stamp, err)) != PAWL_OK ||
        (rc = sql_exec(s, "COMMIT", err)) != PAWL_OK)
        sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    return rc;
}

/* SQLite takes the page size only before WAL, and both before there are tables. */
static pawl_code schema_create(sqlite_store *s, pawl_err *err)
{
    char sql[160];
    pawl_code rc;

    snprintf(sql, sizeof sql, "PRAGMA page_size=%d; PRAGMA journal_mode=WAL", (int)PAGE_BYTES);
    rc = sql_exec(s, sql, err);
    return rc == PAWL_OK ? schema_write(s, tables, SCHEMA_VERSION, err) : rc;
}

/* A copy of the file may not be in WAL mode any more. */
static pawl_code schema_upgrade(sqlite_store *s, int64_t version, pawl_err *err)
{
    pawl_code rc = sql_exec(s, "PRAGMA journal_mode=WAL", err);

    for (; rc == PAWL_OK && version < SCHEMA_VERSION; version++)
        rc = schema_write(s, migrations[version], version + 1, err);
    return rc;
}

/* *found: the version of the tables; 0: an empty file. PAWL_INVALID: not a store, or a newer one. */
static pawl_code schema_version_read(sqlite_store *s, int64_t *found, pawl_err *err)
{
    int64_t objects = 0, app = 0, version = 0;
    pawl_code rc;

    *found = 0;
    if ((rc = query_int(s, "SELECT count(*) FROM sqlite_schema", &objects, err)) != PAWL_OK ||
        (rc = query_int(s, "PRAGMA application_id", &app, err)) != PAWL_OK ||
        (rc = query_int(s, "PRAGMA user_version", &version, err)) != PAWL_OK)
        return rc;
    if (objects == 0 && app == 0 && version == 0)
        return PAWL_OK;
    if (app != APPLICATION_ID)
        return fail(err, PAWL_INVALID, "%s is another program's database; name a new file", s->path);
    if (version > SCHEMA_VERSION)
        return fail(err, PAWL_INVALID,
                    "%s was written by a newer Pawl: its tables are version %lld, this one knows up to %d; update Pawl", s->path,
                    (long long)version, (int)SCHEMA_VERSION);
    if (version < 1 || objects == 0)
        return fail(err, PAWL_CORRUPT, "%s: its tables are version %lld, which does not exist", s->path, (long long)version);
    *found = version;
    return PAWL_OK;
}

static bool is_wal(sqlite_store *s)
{
    sqlite3_stmt *q = NULL;
    bool wal = sqlite3_prepare_v2(s->db, "PRAGMA journal_mode", -1, &q, NULL) == SQLITE_OK && sqlite3_step(q) == SQLITE_ROW &&
               strcmp((const char *)sqlite3_column_text(q, 0), "wal") == 0;

    sqlite3_finalize(q);
    return wal;
}

pawl_code schema_open(sqlite_store *s, pawl_err *err)
{
    char sql[160];
    int64_t found = 0;
    pawl_code rc;

    /* secure_delete: on in Debian's build; it would overwrite deleted rows with zeros. */
    snprintf(sql, sizeof sql, "PRAGMA synchronous=%s; PRAGMA secure_delete=0; PRAGMA wal_autocheckpoint=0; PRAGMA cache_size=-%d",
             s->normal ? "NORMAL" : "FULL", (int)CACHE_KIB);
    if ((rc = sql_exec(s, sql, err)) != PAWL_OK || (rc = schema_version_read(s, &found, err)) != PAWL_OK || (found == SCHEMA_VERSION && is_wal(s)))
        return rc;
    if (sqlite3_db_readonly(s->db, "main") == 1) {
        if (found == 0)
            return sql_fail(s, SQLITE_READONLY, err);
        return found == SCHEMA_VERSION ? PAWL_OK
               : fail(err, PAWL_IO, "%s is read-only, and was written by an older Pawl: its tables are version %lld, and must be upgraded to %d; "
                      "make the file and its folder writable", s->path, (long long)found, (int)SCHEMA_VERSION);
    }
    if ((rc = lock_take(s, err)) != PAWL_OK)
        return rc;
    if ((rc = schema_version_read(s, &found, err)) == PAWL_OK) /* another process may have created it meanwhile */
        rc = found != 0 ? schema_upgrade(s, found, err) : schema_create(s, err);
    lock_release(s);
    return rc;
}
