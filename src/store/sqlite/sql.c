/* sql.c - every SQL statement of the store, prepared at its first use; values through a codec; SQLite's errors as codes.
 *
 * Owns the prepared statements (s->stmts). Called by all files of the folder, on the thread that uses the handle.
 * Invariant: the first error of a verb stays in s->rc. The calls after it do nothing, and the end of the verb returns it once. */
#include "store/sqlite/sqlite.h"

#include <errno.h>
#include <stdarg.h>

#define HEAD_COLUMNS                                                                                         \
    "r.id,r.machine,r.context,r.parent,h.owner,h.parked,r.no,r.life,h.seq,h.fence,h.lease_ms,"               \
    "r.created_ms,h.changed_ms,h.wake_ms,h.waits,h.status,h.over,h.lsn,h.mail,h.work,h.look_ms"
#define HEAD_SELECT "SELECT " HEAD_COLUMNS " FROM "

/* A list goes along one index, newest first, and checks the rest of the filter run by run. */
#define LIST_REST                                                                                            \
    " AND (?3 IS NULL OR r.machine=?3) AND (?4 IS NULL OR r.context=?4) AND (?5 IS NULL OR r.parent=?5)"     \
    " AND (?6 IS NULL OR EXISTS(SELECT 1 FROM labels x WHERE x.space=?1 AND x.label=?6 AND x.run=r.no))"     \
    " AND (?7 IS NULL OR h.status=?7) AND (?8 IS NULL OR h.waits>0) AND (?9 IS NULL OR h.parked IS NOT NULL)"  \
    " AND (?10 IS NULL OR h.owner IS NOT NULL)"
#define LIST_RUNS_BY(index, where)                                                                           \
    HEAD_SELECT "runs r INDEXED BY " index " CROSS JOIN heads h ON h.no=r.no WHERE r.space=?1" where         \
    " AND r.no<?2" LIST_REST " ORDER BY r.no DESC"
#define LIST_HEADS_BY(index, where)                                                                          \
    HEAD_SELECT "heads h INDEXED BY " index " CROSS JOIN runs r ON r.no=h.no WHERE h.space=?1" where         \
    " AND h.no<?2" LIST_REST " ORDER BY h.no DESC"

#define DELETE_OF_RUN(table) "DELETE FROM " table " WHERE run=?1"

#define DUE(where)                                                                                           \
    HEAD_SELECT "heads h INDEXED BY heads_look CROSS JOIN runs r ON r.no=h.no WHERE h.space=?1 AND " where   \
    " AND (h.owner IS NULL OR h.lease_ms<=?3)"                                                               \
    " AND (h.owner IS NOT NULL OR h.mail>0 OR (h.work AND NOT h.over) OR h.wake_ms BETWEEN 1 AND ?2)"

const char *const sql_texts[SQL_COUNT] = {
    [SQL_BEGIN] = "BEGIN",
    [SQL_BEGIN_WRITE] = "BEGIN IMMEDIATE",
    [SQL_COMMIT] = "COMMIT",
    [SQL_ROLLBACK] = "ROLLBACK",
    [SQL_SAVEPOINT] = "SAVEPOINT pawl",
    [SQL_SAVEPOINT_ROLLBACK] = "ROLLBACK TO pawl",
    [SQL_SAVEPOINT_RELEASE] = "RELEASE pawl",
    [SQL_DATA_VERSION] = "PRAGMA data_version",
    [SQL_META] = "SELECT value FROM meta WHERE name=?1",
    [SQL_META_ID] = "INSERT OR IGNORE INTO meta VALUES('id',random()|1)",
    [SQL_META_SET] = "UPDATE meta SET value=?2 WHERE name=?1",
    [SQL_SPACE] = "SELECT no FROM spaces WHERE name=?1",
    [SQL_SPACE_ADD] = "INSERT INTO spaces(name) VALUES(?1) ON CONFLICT DO NOTHING",
    [SQL_TAIL] = "SELECT lsn,run,seq,at_ms FROM entries WHERE lsn>?1 ORDER BY lsn",
    [SQL_NEWEST_LSN] = "SELECT max(lsn) FROM entries",

    [SQL_RUN_FIND] = "SELECT no,born FROM runs WHERE space=?1 AND id=?2",
    [SQL_RUN_ADD] = "INSERT INTO runs(space,id,life,machine,context,parent,created_ms,priority,born,base_seq,base)"
                    " VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11)",
    [SQL_HEAD_ADD] = "INSERT INTO heads(no,space,seq,changed_ms,fence,owner,lease_ms) VALUES(?1,?2,?3,?4,?5,?6,?7)",
    [SQL_LABEL_ADD] = "INSERT INTO labels(space,label,run) VALUES(?1,?2,?3) ON CONFLICT DO NOTHING",
    [SQL_HEAD_OF] = HEAD_SELECT "runs r JOIN heads h ON h.no=r.no WHERE r.space=?1 AND r.id=?2",
    [SQL_HEAD_STATE_OF] = "SELECT fence,seq,lsn,wake_ms,waits,status,over,parked IS NOT NULL,owner IS NOT NULL,mail,work"
                          " FROM heads WHERE no=?1",
    [SQL_CLAIM] = "UPDATE heads SET fence=?2,owner=?3,lease_ms=?4 WHERE no=?1",
    [SQL_RENEW] = "UPDATE heads SET lease_ms=?3 WHERE no=?1 AND fence=?2 AND owner IS NOT NULL",
    [SQL_RELEASE] = "UPDATE heads SET owner=NULL,lease_ms=0,seq=?3,lsn=?4,free_ms=?5 WHERE no=?1 AND fence=?2",
    [SQL_LOSS_ADD] = "INSERT OR IGNORE INTO losses(run,fence,at_ms,died,owner) SELECT no,fence,?3,?4,owner FROM heads"
                     " WHERE no=?1 AND fence=?2 AND owner IS NOT NULL",
    [SQL_LOSS_TAKEN] = "UPDATE losses SET taker_fence=?3,taken_ms=?4,taker=?5 WHERE run=?1 AND fence=?2 AND taker IS NULL",
    [SQL_LOSSES_OLD] = "DELETE FROM losses WHERE run=?1 AND fence<=(SELECT fence FROM losses WHERE run=?1 ORDER BY fence DESC LIMIT 1 OFFSET ?2)",
    [SQL_LOSSES] = "SELECT fence,owner,at_ms,died,taker,taker_fence,taken_ms FROM losses WHERE run=?1 ORDER BY fence",

    [SQL_ENTRY_ADD] = "INSERT INTO entries(run,prev,seq,at_ms,codec,body) VALUES(?1,?2,?3,?4,?6,?5)",
    [SQL_HEAD_MOVE] = "UPDATE heads SET seq=?2,lsn=?3,changed_ms=?4 WHERE no=?1",
    [SQL_HEAD_CATCH_UP] = "UPDATE heads SET seq=?2,lsn=?3,changed_ms=max(changed_ms,?4) WHERE no=?1",
    [SQL_HEAD_WAITS] = "UPDATE heads SET seq=?2,lsn=?3,changed_ms=?4,waits=?5 WHERE no=?1",
    [SQL_HEAD_STATE] = "UPDATE heads SET seq=?2,lsn=?3,changed_ms=?4,waits=?5,status=?6,over=?7,wake_ms=?8,parked=?9,"
                       "work=?10 WHERE no=?1",
    [SQL_HEAD_RELEASE] = "UPDATE heads SET seq=?2,lsn=?3,changed_ms=?4,waits=?5,status=?6,over=?7,wake_ms=?8,parked=?9,"
                      "work=?10,owner=NULL,lease_ms=0,free_ms=?4 WHERE no=?1",
    [SQL_MAILBOX_ADD] = "UPDATE heads SET mail_ms=CASE WHEN mail>0 THEN mail_ms ELSE ?2 END,mail=mail+1 WHERE no=?1",
    [SQL_MAILBOX_TAKE] = "UPDATE heads SET mail=mail-?2,mail_ms=(SELECT at_ms FROM deliveries WHERE run=?1 AND taken=0"
                      " ORDER BY no LIMIT 1) WHERE no=?1",
    [SQL_MAILBOX_COUNT] = "SELECT mail FROM heads WHERE no=?1",
    [SQL_SEEK_POINT_ADD] = "INSERT INTO stones(run,seq,lsn) VALUES(?1,?2,?3)",
    [SQL_SNAPSHOT_PUT] = "INSERT INTO snapshots(run,seq,lsn,body,digest) VALUES(?1,?2,?3,?4,?5)"
                         " ON CONFLICT(run) DO UPDATE SET seq=?2,lsn=?3,body=?4,digest=?5",
    [SQL_BLOB_PUT] = "INSERT INTO blobs(run,digest,body) VALUES(?1,?2,?3) ON CONFLICT DO NOTHING",
    [SQL_WAIT_ADD] = "INSERT INTO waits(run,id,over,asked_ms,spec,answer) VALUES(?1,?2,?3,?4,?5,?6)",
    [SQL_WAIT_SET] = "UPDATE waits SET over=?2,asked_ms=CASE WHEN ?3=0 THEN asked_ms ELSE ?3 END,spec=coalesce(?4,spec),answer=?5,"
                     "delivery=CASE WHEN over=1 THEN NULL ELSE delivery END WHERE no=?1",
    [SQL_WAIT_UNANSWER] = "UPDATE waits SET delivery=NULL WHERE run=?1 AND id=?2 AND over=0 AND delivery=?3",
    [SQL_DELIVERY_KIND] = "SELECT kind,name FROM deliveries WHERE no=?1 AND run=?2 AND taken=0",
    [SQL_TAKE] = "UPDATE deliveries SET taken=1,value=NULL,upd=NULL,note=NULL WHERE no=?1 AND run=?2 AND taken=0",
    [SQL_MARK] = "INSERT INTO marks(run,id,attempts,first_ms,again_ms) SELECT ?1,?2,max(?6,0),?4,?5 FROM heads WHERE no=?1 AND fence=?3"
                 " ON CONFLICT DO UPDATE SET attempts=max(attempts+?6,0),"
                 "first_ms=CASE WHEN excluded.first_ms>0 THEN excluded.first_ms ELSE first_ms END,again_ms=excluded.again_ms",
    [SQL_MARK_DELETE] = "DELETE FROM marks WHERE run=?1 AND id=?2 AND attempts=0",
    [SQL_MARKS] = "SELECT id,attempts,first_ms,again_ms FROM marks WHERE run=?1 ORDER BY id",

    [SQL_DELIVERY_FIND] = "SELECT no,at_ms,digest FROM deliveries WHERE run=?1 AND id=?2",
    [SQL_WAIT_FIND] = "SELECT no,over,delivery,spec FROM waits WHERE run=?1 AND id=?2",
    [SQL_WAIT_ANSWER] = "SELECT w.answer,d.value,d.by FROM waits w LEFT JOIN deliveries d ON d.no=w.delivery WHERE w.no=?1",
    [SQL_DELIVERY_ADD] = "INSERT INTO deliveries(run,id,kind,name,outcome,value,upd,by,note,trace,at_ms,digest)"
                         " VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12)",
    [SQL_WAIT_DELIVERED] = "UPDATE waits SET delivery=?2 WHERE no=?1",
    [SQL_DELIVERIES] = "SELECT no,id,kind,name,outcome,value,upd,by,note,trace,at_ms,digest FROM deliveries"
                       " WHERE run=?1 AND taken=0 ORDER BY no",
    [SQL_WAITS] = "SELECT r.id,w.id,w.spec,w.asked_ms,w.delivery IS NOT NULL FROM waits w CROSS JOIN runs r ON r.no=w.run"
                  " WHERE r.space=?1 AND w.run=?2 AND w.over=0 ORDER BY w.no",
    [SQL_WAITS_ALL] = "SELECT r.id,w.id,w.spec,w.asked_ms,w.delivery IS NOT NULL FROM waits w CROSS JOIN runs r ON r.no=w.run"
                      " WHERE r.space=?1 AND w.over=0 ORDER BY w.run,w.no",

    [SQL_BASE] = "SELECT base_seq,life,base FROM runs WHERE no=?1",
    [SQL_SNAPSHOT] = "SELECT seq,lsn,digest,body FROM snapshots WHERE run=?1",
    [SQL_SEEK_POINT] = "SELECT lsn FROM stones WHERE run=?1 AND seq>=?2 ORDER BY seq LIMIT 1",
    [SQL_LINK] = "SELECT run,prev,seq FROM entries WHERE lsn=?1",
    [SQL_LINE] = "SELECT run,seq,codec,body FROM entries WHERE lsn=?1",
    [SQL_LINES] = "SELECT run,seq,codec,body FROM entries WHERE lsn BETWEEN ?1 AND ?2 AND run=?3 ORDER BY lsn",
    [SQL_BLOB] = "SELECT body FROM blobs WHERE run=?1 AND digest=?2",

    [SQL_LIST_ALL] = LIST_RUNS_BY("runs_space", ""),
    [SQL_LIST_MACHINE] = LIST_RUNS_BY("runs_machine", " AND r.machine=?3"),
    [SQL_LIST_CONTEXT] = LIST_RUNS_BY("runs_context", " AND r.context=?4"),
    [SQL_LIST_PARENT] = LIST_RUNS_BY("runs_parent", " AND r.parent=?5"),
    [SQL_LIST_LABEL] = HEAD_SELECT "labels l CROSS JOIN runs r ON r.no=l.run CROSS JOIN heads h ON h.no=l.run"
                       " WHERE l.space=?1 AND l.label=?6 AND l.run<?2" LIST_REST " ORDER BY l.run DESC",
    [SQL_LIST_STATUS] = LIST_HEADS_BY("heads_status", " AND h.status=?7"),
    [SQL_LIST_WAITING] = LIST_HEADS_BY("heads_waiting", " AND h.waits>0"),
    [SQL_LIST_PARKED] = LIST_HEADS_BY("heads_parked", " AND h.parked IS NOT NULL"),
    [SQL_LIST_HELD] = LIST_HEADS_BY("heads_held", " AND h.owner IS NOT NULL"),
    /* Ids have no byte above ~. */
    [SQL_LIST_PREFIX] = "SELECT no FROM runs INDEXED BY runs_id WHERE space=?1 AND id>=?3 AND id<?3||char(127) AND no<?2 ORDER BY no DESC",
    [SQL_LIST_CHANGED] = "SELECT no FROM heads INDEXED BY heads_changed WHERE space=?1 AND changed_ms>=?3 AND no<?2 LIMIT ?4",
    [SQL_LIST_ONE] = HEAD_SELECT "runs r CROSS JOIN heads h ON h.no=r.no WHERE r.no=?2 AND r.space=?1" LIST_REST,
    [SQL_DUE] = DUE("h.look_ms>?4 AND h.look_ms<=max(?2,?3)") " ORDER BY h.look_ms,h.no",
    [SQL_DUE_SAME_TIME] = DUE("h.look_ms=?4 AND h.no>?5 AND ?4<=max(?2,?3)") " ORDER BY h.no",
    [SQL_NEXT_DUE] = "SELECT wake_ms FROM heads INDEXED BY heads_wake WHERE space=?1 AND wake_ms>0 ORDER BY wake_ms LIMIT 1",

    [SQL_ENTRY_DELETE] = "DELETE FROM entries WHERE lsn=?1",
    [SQL_ENTRY_SET_FIRST] = "UPDATE entries SET prev=0 WHERE lsn=?1",
    [SQL_SEEK_POINTS_DELETE] = "DELETE FROM stones WHERE run=?1 AND seq<=?2",
    [SQL_BASE_SET] = "UPDATE runs SET base_seq=?2,base=?3 WHERE no=?1",
    [SQL_SNAPSHOT_DELETE] = DELETE_OF_RUN("snapshots"),
    [SQL_BLOBS_DELETE] = DELETE_OF_RUN("blobs"),
    [SQL_WAITS_DELETE] = DELETE_OF_RUN("waits"),
    [SQL_DELIVERIES_DELETE] = DELETE_OF_RUN("deliveries"),
    [SQL_MARKS_DELETE] = DELETE_OF_RUN("marks"),
    [SQL_LOSSES_DELETE] = DELETE_OF_RUN("losses"),
    [SQL_LABELS_DELETE] = DELETE_OF_RUN("labels"),
    [SQL_HEAD_DELETE] = "DELETE FROM heads WHERE no=?1",
    [SQL_RUN_DELETE] = "DELETE FROM runs WHERE no=?1",
    [SQL_HOLE_ADD] = "INSERT INTO entries(lsn,run,prev) SELECT ?1,0,0 WHERE NOT EXISTS(SELECT 1 FROM entries WHERE lsn=?1)",
    [SQL_HOLE_DELETE] = "DELETE FROM entries WHERE lsn=?1 AND run=0",
    [SQL_HOLES_DELETE] = "DELETE FROM entries WHERE run=0 AND lsn<(SELECT max(lsn) FROM entries)",

    [SQL_CHECK_FILE] = "PRAGMA integrity_check(1)",
    [SQL_CHECK_ROWS] = "SELECT lsn,run,prev,seq FROM entries WHERE run>0 ORDER BY lsn",
    [SQL_CHECK_HEADS] = "SELECT r.no,r.id,r.base_seq,h.no,h.seq,h.lsn,h.mail,h.waits,"
                        "(SELECT count(*) FROM deliveries d WHERE d.run=r.no AND d.taken=0),"
                        "(SELECT count(*) FROM waits w WHERE w.run=r.no AND w.over=0 AND w.no>0),"
                        "(SELECT s.seq FROM snapshots s WHERE s.run=r.no) FROM runs r LEFT JOIN heads h ON h.no=r.no",
    [SQL_CHECK_BLOBS] = "SELECT r.id,b.digest,b.body FROM blobs b JOIN runs r ON r.no=b.run",
    [SQL_CHECK_SNAPSHOTS] = "SELECT r.no,r.id FROM snapshots s JOIN runs r ON r.no=s.run",
};

sqlite3_stmt *sql_use(sqlite_store *s, sql_id id)
{
    if (s->rc == SQLITE_OK && s->stmts[id] == NULL)
        s->rc = sqlite3_prepare_v3(s->db, sql_texts[id], -1, SQLITE_PREPARE_PERSISTENT, &s->stmts[id], NULL);
    return s->rc == SQLITE_OK ? s->stmts[id] : NULL;
}

/* SQLITE_STATIC: nothing is copied, so binding cannot fail. */
void sql_int(sqlite3_stmt *q, int at, int64_t n)
{
    if (q != NULL)
        sqlite3_bind_int64(q, at, n);
}

void sql_text(sqlite3_stmt *q, int at, const char *text)
{
    if (q != NULL)
        sqlite3_bind_text(q, at, text, -1, SQLITE_STATIC);
}

void sql_bytes(sqlite3_stmt *q, int at, const void *data, size_t size)
{
    if (q != NULL)
        sqlite3_bind_blob64(q, at, data == NULL ? "" : data, size, SQLITE_STATIC);
}

void sql_null(sqlite3_stmt *q, int at)
{
    if (q != NULL)
        sqlite3_bind_null(q, at);
}

bool sql_row(sqlite_store *s, sqlite3_stmt *q)
{
    int rc;

    if (q == NULL)
        return false;
    rc = sqlite3_step(q);
    if (rc == SQLITE_ROW)
        return true;
    if (rc != SQLITE_DONE && s->rc == SQLITE_OK)
        s->rc = sqlite3_extended_errcode(s->db);
    sqlite3_reset(q);
    return false;
}

void sql_end(sqlite3_stmt *q)
{
    if (q != NULL)
        sqlite3_reset(q);
}

int sql_run(sqlite_store *s, sqlite3_stmt *q)
{
    while (sql_row(s, q))
        continue;
    return q == NULL || s->rc != SQLITE_OK ? 0 : sqlite3_changes(s->db);
}

int64_t sql_number(sqlite_store *s, sqlite3_stmt *q)
{
    int64_t n = 0;

    if (sql_row(s, q)) {
        n = sql_get_int(q, 0);
        sql_end(q);
    }
    return n;
}

int64_t sql_get_int(sqlite3_stmt *q, int at)
{
    return sqlite3_column_int64(q, at);
}

const char *sql_get_text(sqlite3_stmt *q, int at)
{
    return (const char *)sqlite3_column_text(q, at);
}

pawl_bytes sql_get_bytes(sqlite3_stmt *q, int at)
{
    pawl_bytes b = { sqlite3_column_blob(q, at), 0 };

    b.size = (size_t)sqlite3_column_bytes(q, at);
    return b;
}

/* ---- values through a codec ------------------------------------------------------------------------- */

void sql_set_error(sqlite_store *s, pawl_code code, const char *format, ...)
{
    va_list args;

    if (s->rc != SQLITE_OK)
        return;
    s->rc = SQLITE_ABORT;
    s->value_error = (pawl_err){ PAWL_OK, "" };
    va_start(args, format);
    failv(&s->value_error, code, format, args);
    va_end(args);
}

void sql_encode(sqlite_store *s, sqlite3_stmt *q, int at, pawl_bytes plain, int slot)
{
    pawl_err why = { PAWL_OK, "" };

    if (q == NULL)
        return;
    if (plain.size == 0)
        sql_null(q, at);
    else if (store_encode(&s->codecs, plain, &s->encoded[slot], &plain, &why) != PAWL_OK)
        sql_set_error(s, why.code, "%s", why.text);
    else
        sql_bytes(q, at, plain.data, plain.size);
}

void sql_encode_text(sqlite_store *s, sqlite3_stmt *q, int at, const char *text, int slot)
{
    if (s->codecs.encoder == NULL || text == NULL || *text == '\0')
        sql_text(q, at, text);
    else
        sql_encode(s, q, at, (pawl_bytes){ text, strlen(text) }, slot);
}

pawl_bytes sql_decode(sqlite_store *s, sqlite3_stmt *q, int at, const char *run, int slot)
{
    pawl_bytes b = sql_get_bytes(q, at);
    pawl_err why = { PAWL_OK, "" };

    if (!store_is_encoded(b))
        return b;
    if (store_decode(&s->codecs, s->path, run, b, &s->decoded[slot], &b, &why) == PAWL_OK)
        return b;
    sql_set_error(s, why.code, "%s", why.text);
    return (pawl_bytes){ NULL, 0 };
}

const char *sql_decode_text(sqlite_store *s, sqlite3_stmt *q, int at, const char *run, int slot)
{
    return sqlite3_column_type(q, at) == SQLITE_BLOB ? sql_decode(s, q, at, run, slot).data : sql_get_text(q, at);
}

pawl_code sql_exec(sqlite_store *s, const char *sql, pawl_err *err)
{
    int rc = sqlite3_exec(s->db, sql, NULL, NULL, NULL);

    return rc == SQLITE_OK ? PAWL_OK : sql_fail(s, sqlite3_extended_errcode(s->db), err);
}

pawl_code sql_code(sqlite_store *s, pawl_err *err)
{
    if (s->rc == SQLITE_ABORT && s->value_error.code != PAWL_OK)
        return fail(err, s->value_error.code, "%s", s->value_error.text);
    return s->rc == SQLITE_OK ? PAWL_OK : sql_fail(s, s->rc, err);
}

pawl_code sql_fail(sqlite_store *s, int rc, pawl_err *err)
{
    const char *file = s->path;

    if (rc == SQLITE_IOERR_SHMSIZE || ((rc & 0xff) == SQLITE_IOERR && s->db != NULL && sqlite3_system_errno(s->db) == ENOSPC))
        rc = SQLITE_FULL;
    switch (rc & 0xff) {
    case SQLITE_NOMEM: return fail(err, PAWL_NOMEM, "%s: no memory", file);
    case SQLITE_FULL: return fail(err, PAWL_IO, "%s: the disk is full; nothing was written, free some space and go on", file);
    case SQLITE_READONLY: return fail(err, PAWL_IO, "%s is read-only; make the file and its folder writable", file);
    case SQLITE_CANTOPEN:
        return fail(err, PAWL_IO, "%s: the file cannot be opened; does its folder exist, and is it writable?", file);
    case SQLITE_PERM:
    case SQLITE_AUTH: return fail(err, PAWL_IO, "%s may not be read or written by this user", file);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return fail(err, PAWL_TRANSIENT, "%s: the store is busy, another program has it locked; try again", file);
    case SQLITE_CORRUPT: return fail(err, PAWL_CORRUPT, "%s is damaged: %s; restore a backup", file, sqlite3_errstr(rc));
    case SQLITE_NOTADB: return fail(err, PAWL_CORRUPT, "%s is not a SQLite file, or its header is damaged", file);
    case SQLITE_TOOBIG: return fail(err, PAWL_LIMIT, "%s: a row would have more than SQLite's limit of bytes", file);
    case SQLITE_IOERR:
        if (rc == SQLITE_IOERR_WRITE || rc == SQLITE_IOERR_TRUNCATE)
            return fail(err, PAWL_IO, "%s cannot be written (%d): look at the disk, its quota, and the limit of a file's size (ulimit -f)", file, rc);
        return fail(err, PAWL_IO, "%s: SQLite says \"%s\" (%d)", file, sqlite3_errstr(rc), rc);
    default: return fail(err, PAWL_IO, "%s: SQLite says \"%s\" (%d)", file, sqlite3_errstr(rc), rc);
    }
}
