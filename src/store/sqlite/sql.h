/* sql.h - the statements of the SQLite store by number, and how they are bound, run and read. Implemented by sql.c, used by all files here. */
#ifndef STORE_SQLITE_SQL_H
#define STORE_SQLITE_SQL_H

#include "store/store.h"

#include <sqlite3.h>

typedef struct sqlite_store sqlite_store;      /* sqlite.h */

/* ---- statements ------------------------------------------------------------------------------ */

typedef enum sql_id {
    SQL_BEGIN, SQL_BEGIN_WRITE, SQL_COMMIT, SQL_ROLLBACK, SQL_SAVE, SQL_SAVE_BACK, SQL_SAVE_OVER, SQL_DATA_VERSION,
    SQL_META, SQL_META_SET, SQL_SPACE, SQL_SPACE_ADD, SQL_TAIL, SQL_NEWEST_LSN,
    SQL_RUN_FIND, SQL_RUN_ADD, SQL_HEAD_ADD, SQL_LABEL_ADD, SQL_HEAD_OF, SQL_HEAD_STATE_OF,
    SQL_CLAIM, SQL_RENEW, SQL_RELEASE,
    SQL_ENTRY_ADD, SQL_HEAD_MOVE, SQL_HEAD_PLACE, SQL_HEAD_WAITS, SQL_HEAD_STATE, SQL_HEAD_FREE,
    SQL_MAILBOX_ADD, SQL_MAILBOX_TAKE, SQL_MAILBOX_COUNT, SQL_SEEK_POINT_ADD,
    SQL_SNAPSHOT_PUT, SQL_BLOB_PUT, SQL_WAIT_ADD, SQL_WAIT_SET, SQL_WAIT_FREE, SQL_DELIVERY_KIND, SQL_TAKE, SQL_MARK, SQL_MARK_DELETE,
    SQL_MARKS, SQL_DELIVERY_FIND, SQL_WAIT_FIND, SQL_WAIT_ANSWER, SQL_DELIVERY_ADD, SQL_WAIT_DELIVERED, SQL_DELIVERIES,
    SQL_WAITS, SQL_WAITS_ALL,
    SQL_BASE, SQL_SNAPSHOT, SQL_SEEK_POINT, SQL_LINK, SQL_LINE, SQL_LINES, SQL_BLOB,
    SQL_LIST_ALL, SQL_LIST_MACHINE, SQL_LIST_CONTEXT, SQL_LIST_PARENT, SQL_LIST_LABEL, SQL_LIST_STATUS, SQL_LIST_WAITING,
    SQL_LIST_PARKED, SQL_LIST_HELD, SQL_LIST_BEGINS, SQL_LIST_CHANGED, SQL_LIST_ONE, SQL_DUE, SQL_DUE_THEN, SQL_NEXT_DUE,
    SQL_ENTRY_DELETE, SQL_ENTRY_FIRST_NOW, SQL_SEEK_POINTS_DELETE, SQL_BASE_SET, SQL_SNAPSHOT_DELETE, SQL_BLOBS_DELETE,
    SQL_WAITS_DELETE, SQL_DELIVERIES_DELETE, SQL_MARKS_DELETE, SQL_LABELS_DELETE, SQL_HEAD_DELETE, SQL_RUN_DELETE,
    SQL_HOLE_ADD, SQL_HOLE_DELETE, SQL_HOLES_DELETE,
    SQL_CHECK_FILE, SQL_CHECK_ROWS, SQL_CHECK_HEADS, SQL_CHECK_BLOBS, SQL_CHECK_SNAPSHOTS,
    SQL_COUNT
} sql_id;
extern const char *const sql_texts[SQL_COUNT];

/* ---- sql.c: statements and errors ------------------------------------------------------------ */

/* The statement, ready to be bound; NULL after an error (s->rc), and all below take NULL. */
sqlite3_stmt *sql_use(sqlite_store *s, sql_id id);
void sql_int(sqlite3_stmt *q, int at, int64_t n);
void sql_text(sqlite3_stmt *q, int at, const char *text);               /* NULL: NULL */
void sql_bytes(sqlite3_stmt *q, int at, const void *data, size_t size); /* lent until the statement is used again */
void sql_blank(sqlite3_stmt *q, int at);
/* True: a row is there. False: there is none (more), or s->rc; the statement is then reset. */
bool sql_row(sqlite_store *s, sqlite3_stmt *q);
void sql_end(sqlite3_stmt *q);                          /* when the rest is not wanted */
/* Run it to its end; how many rows it changed. */
int sql_run(sqlite_store *s, sqlite3_stmt *q);
int64_t sql_get_int(sqlite3_stmt *q, int at);
const char *sql_get_text(sqlite3_stmt *q, int at);      /* NULL: it is NULL; lent until the next row */
pawl_bytes sql_get_bytes(sqlite3_stmt *q, int at);
/* Through the handle's codecs. Of one row each value has a slot of its own; a value lives until its slot is used again. What
 * is not there (size 0, NULL) is NULL in the file. */
/* What is wrong with what was read sticks as an error of SQLite's does, and is told at the end of the verb. */
void sql_wrong(sqlite_store *s, pawl_code code, const char *format, ...) PAWL_PRINTF(3, 4);
void sql_pack(sqlite_store *s, sqlite3_stmt *q, int at, pawl_bytes plain, int slot);
void sql_pack_text(sqlite_store *s, sqlite3_stmt *q, int at, const char *text, int slot);
pawl_bytes sql_get_plain(sqlite_store *s, sqlite3_stmt *q, int at, const char *run, int slot);
const char *sql_get_plain_text(sqlite_store *s, sqlite3_stmt *q, int at, const char *run, int slot);
pawl_code sql_exec(sqlite_store *s, const char *sql, pawl_err *err);
/* s->rc as a code, told to `err`. PAWL_OK when there was no error. */
pawl_code sql_code(sqlite_store *s, pawl_err *err);
pawl_code sql_fail(sqlite_store *s, int rc, pawl_err *err);

#endif
