/* sql.h - the statements of the SQLite store by number, and how they are bound, run and read. Private to this folder. */
#ifndef STORE_SQLITE_SQL_H
#define STORE_SQLITE_SQL_H

#include "store/store.h"

#include <sqlite3.h>

typedef struct sqlite_store sqlite_store;      /* sqlite.h */

/* ---- statements ------------------------------------------------------------------------------ */

typedef enum sql_id {
    SQL_BEGIN, SQL_BEGIN_WRITE, SQL_COMMIT, SQL_ROLLBACK, SQL_SAVEPOINT, SQL_SAVEPOINT_ROLLBACK, SQL_SAVEPOINT_RELEASE, SQL_DATA_VERSION,
    SQL_META, SQL_META_SET, SQL_META_ID, SQL_SPACE, SQL_SPACE_ADD, SQL_TAIL, SQL_NEWEST_LSN,
    SQL_RUN_FIND, SQL_RUN_ADD, SQL_HEAD_ADD, SQL_LABEL_ADD, SQL_HEAD_OF, SQL_HEAD_STATE_OF,
    SQL_CLAIM, SQL_RENEW, SQL_RELEASE, SQL_LOSS_ADD, SQL_LOSS_TAKEN, SQL_LOSSES_OLD, SQL_LOSSES,
    SQL_ENTRY_ADD, SQL_HEAD_MOVE, SQL_HEAD_CATCH_UP, SQL_HEAD_WAITS, SQL_HEAD_STATE, SQL_HEAD_RELEASE,
    SQL_MAILBOX_ADD, SQL_MAILBOX_TAKE, SQL_MAILBOX_COUNT, SQL_SEEK_POINT_ADD,
    SQL_SNAPSHOT_PUT, SQL_BLOB_PUT, SQL_WAIT_ADD, SQL_WAIT_SET, SQL_WAIT_UNANSWER, SQL_DELIVERY_KIND, SQL_TAKE, SQL_MARK, SQL_MARK_DELETE,
    SQL_MARKS, SQL_DELIVERY_FIND, SQL_WAIT_FIND, SQL_WAIT_ANSWER, SQL_DELIVERY_ADD, SQL_WAIT_DELIVERED, SQL_DELIVERIES,
    SQL_WAITS, SQL_WAITS_ALL,
    SQL_BASE, SQL_SNAPSHOT, SQL_SEEK_POINT, SQL_LINK, SQL_LINE, SQL_LINES, SQL_BLOB,
    SQL_LIST_ALL, SQL_LIST_MACHINE, SQL_LIST_CONTEXT, SQL_LIST_PARENT, SQL_LIST_LABEL, SQL_LIST_STATUS, SQL_LIST_WAITING,
    SQL_LIST_PARKED, SQL_LIST_HELD, SQL_LIST_PREFIX, SQL_LIST_CHANGED, SQL_LIST_ONE, SQL_DUE, SQL_DUE_SAME_TIME, SQL_NEXT_DUE,
    SQL_ENTRY_DELETE, SQL_ENTRY_SET_FIRST, SQL_SEEK_POINTS_DELETE, SQL_BASE_SET, SQL_SNAPSHOT_DELETE, SQL_BLOBS_DELETE,
    SQL_WAITS_DELETE, SQL_DELIVERIES_DELETE, SQL_MARKS_DELETE, SQL_LOSSES_DELETE, SQL_LABELS_DELETE, SQL_HEAD_DELETE, SQL_RUN_DELETE,
    SQL_HOLE_ADD, SQL_HOLE_DELETE, SQL_HOLES_DELETE,
    SQL_CHECK_FILE, SQL_CHECK_ROWS, SQL_CHECK_HEADS, SQL_CHECK_BLOBS, SQL_CHECK_SNAPSHOTS,
    SQL_COUNT
} sql_id;
extern const char *const sql_texts[SQL_COUNT];

/* ---- sql.c: the first error stays in s->rc; after it everything below does nothing -------------- */

sqlite3_stmt *sql_use(sqlite_store *s, sql_id id);      /* ready to be bound; NULL after an error, and all functions below take NULL */
void sql_int(sqlite3_stmt *q, int at, int64_t n);
void sql_text(sqlite3_stmt *q, int at, const char *text);               /* NULL: NULL */
void sql_bytes(sqlite3_stmt *q, int at, const void *data, size_t size); /* lent until the statement is used again */
void sql_null(sqlite3_stmt *q, int at);
bool sql_row(sqlite_store *s, sqlite3_stmt *q);         /* false: no more rows, or s->rc; the statement is reset then */
void sql_end(sqlite3_stmt *q);                          /* resets it before its last row */
int sql_run(sqlite_store *s, sqlite3_stmt *q);          /* to its end; how many rows it changed */
int64_t sql_number(sqlite_store *s, sqlite3_stmt *q);   /* the first column of the first row; 0: there is no row, or s->rc */
int64_t sql_get_int(sqlite3_stmt *q, int at);
const char *sql_get_text(sqlite3_stmt *q, int at);      /* lent until the next row */
pawl_bytes sql_get_bytes(sqlite3_stmt *q, int at);

/* Values through the handle's codecs. Each value of a row has its own slot, and is lent until that slot is used again. An empty value is NULL in
 * the file. A codec's error becomes s->rc. */
void sql_encode(sqlite_store *s, sqlite3_stmt *q, int at, pawl_bytes plain, int slot);
void sql_encode_text(sqlite_store *s, sqlite3_stmt *q, int at, const char *text, int slot);
pawl_bytes sql_decode(sqlite_store *s, sqlite3_stmt *q, int at, const char *run, int slot);
const char *sql_decode_text(sqlite_store *s, sqlite3_stmt *q, int at, const char *run, int slot);

/* Sets an error that is not SQLite's, such as a damaged value; as any other it is returned at the end of the verb. */
void sql_set_error(sqlite_store *s, pawl_code code, const char *format, ...) PAWL_PRINTF(3, 4);
pawl_code sql_exec(sqlite_store *s, const char *sql, pawl_err *err);
pawl_code sql_code(sqlite_store *s, pawl_err *err);     /* s->rc as a code, with its text in err */
pawl_code sql_fail(sqlite_store *s, int rc, pawl_err *err);

#endif
