/* sqlite.h - the SQLite store: what its files share.
 *
 * Invariants, by number where they are kept:
 *   Q1 Every write transaction and every checkpoint holds PATH-lock. SQLite before 3.51.3 can damage a WAL file when two
 *      connections write and checkpoint at the same moment; so none ever do.
 *   Q2 The rows of a run are a chain: `prev` is the lsn of the one before, 0 at the base. Numbers of rows, runs, deliveries and
 *      fences are never given twice, also after a removal.
 *   Q3 heads(seq, lsn) is a lower bound of where a run ends. Whoever has a row above meta.watermark is found by reading
 *      what is above it; for all others the bound is exact.
 *   Q4 What a handle remembers holds while the file's data version is the one it remembers; else it is read again. A
 *      transaction that fails makes it forget all.
 *   Q5 heads.mail counts the deliveries not taken, heads.waits the waits not over. */
#ifndef STORE_SQLITE_SQLITE_H
#define STORE_SQLITE_SQLITE_H

#include "store/store.h"

#include <sqlite3.h>

enum {
    SCHEMA_VERSION = 4,
    APPLICATION_ID = 0x5061776c,        /* "Pawl" */
    PAGE_BYTES = 8192,
    CACHE_KIB = 16384,
    BUSY_MS = 5000,
    CHECKPOINT_PAGES = 1000,            /* of the WAL */
    TAIL_ROWS_MAX = 4096,               /* above the watermark before it is moved */
    STONE_ENTRIES = 64,                 /* every so many entries the head is written and a stone set */
    SLOTS = 4,                          /* values of one row that are coded */
    SLOT_BYTES_KEPT = 1 << 20,
    STONE_RUNS = 8                      /* in one batch, where runs go on side by side: not all, and their pages are the same */
};

/* ---- statements ------------------------------------------------------------------------------ */

typedef enum sql_id {
    SQL_BEGIN, SQL_BEGIN_WRITE, SQL_COMMIT, SQL_ROLLBACK, SQL_SAVE, SQL_SAVE_BACK, SQL_SAVE_OVER, SQL_DATA_VERSION,
    SQL_META, SQL_META_SET, SQL_SPACE, SQL_SPACE_ADD, SQL_TAIL, SQL_NEWEST_LSN,
    SQL_RUN_FIND, SQL_RUN_ADD, SQL_HEAD_ADD, SQL_LABEL_ADD, SQL_HEAD_OF, SQL_HEAD_STATE_OF,
    SQL_CLAIM, SQL_RENEW, SQL_RELEASE,
    SQL_ENTRY_ADD, SQL_HEAD_MOVE, SQL_HEAD_PLACE, SQL_HEAD_WAITS, SQL_HEAD_STATE, SQL_HEAD_FREE,
    SQL_MAIL_MORE, SQL_MAIL_LESS, SQL_MAIL, SQL_STONE_ADD,
    SQL_SNAPSHOT_PUT, SQL_BLOB_PUT, SQL_WAIT_ADD, SQL_WAIT_SET, SQL_WAIT_FREE, SQL_DELIVERY_KIND, SQL_TAKE, SQL_MARK, SQL_MARK_DELETE,
    SQL_MARKS, SQL_DELIVERY_FIND, SQL_WAIT_FIND, SQL_WAIT_ANSWER, SQL_DELIVERY_ADD, SQL_WAIT_DELIVERED, SQL_DELIVERIES,
    SQL_WAITS, SQL_WAITS_ALL,
    SQL_BASE, SQL_SNAPSHOT, SQL_STONE, SQL_LINK, SQL_LINE, SQL_LINES, SQL_BLOB,
    SQL_LIST_ALL, SQL_LIST_MACHINE, SQL_LIST_CONTEXT, SQL_LIST_PARENT, SQL_LIST_LABEL, SQL_LIST_STATUS, SQL_LIST_WAITING,
    SQL_LIST_PARKED, SQL_LIST_HELD, SQL_LIST_BEGINS, SQL_LIST_ONE, SQL_DUE, SQL_DUE_THEN, SQL_NEXT_DUE,
    SQL_ENTRY_DELETE, SQL_ENTRY_FIRST_NOW, SQL_STONES_DELETE, SQL_BASE_SET, SQL_SNAPSHOT_DELETE, SQL_BLOBS_DELETE,
    SQL_WAITS_DELETE, SQL_DELIVERIES_DELETE, SQL_MARKS_DELETE, SQL_LABELS_DELETE, SQL_HEAD_DELETE, SQL_RUN_DELETE,
    SQL_HOLE_ADD, SQL_HOLE_DELETE, SQL_HOLES_DELETE,
    SQL_CHECK_FILE, SQL_CHECK_ROWS, SQL_CHECK_HEADS, SQL_CHECK_BLOBS,
    SQL_COUNT
} sql_id;
extern const char *const sql_texts[SQL_COUNT];

/* ---- the handle ------------------------------------------------------------------------------ */

typedef struct place {          /* where a run ends */
    int64_t no;                 /* 0: a free place in the table */
    uint64_t seq;
    int64_t lsn;                /* of its newest row; 0: none after the base */
    int64_t changed_ms;         /* when that was written */
    bool headed;                /* its head says so too */
} place;

typedef struct known {          /* a run that this handle works on */
    struct known *next;
    int64_t no;
    uint64_t epoch;             /* of the store when this was read: Q4 */
    uint64_t fence, seq;
    int64_t lsn, wake_ms;
    uint32_t waits;
    int64_t mail;
    uint8_t status;
    bool over, work, parked, leased;
    char *id;                   /* behind it */
} known;

typedef struct sqlite_store {
    pawl_store verbs;
    pawl_alloc alloc;
    sqlite3 *db;
    sqlite3_stmt *stmts[SQL_COUNT];
    char *path, *lock_path, *space_name;
    int64_t space;              /* 0: nobody has made it yet */
    int lock_fd;                /* -1: not opened yet */
    int busy_ms;
    uint32_t signals_max;
    bool normal, open;
    bool locked, fresh;
    bool relaxed;               /* synchronous NORMAL, for a soft transaction */
    bool inside;                /* work of the caller's own is called in this transaction, or what it made asks to read */
    bool guarded;               /* it is called now */
    bool hooked, overran;
    int64_t guard_until_ms;     /* by the steady clock; 0: no limit */
    char refused[96];           /* what it tried, and may not */
    store_codecs codecs;
    pawl_codec *own_codecs;     /* that is where they lie */
    pawl_out packed[SLOTS], plain[SLOTS];
    pawl_err why;               /* where rc is SQLITE_ABORT: what a codec found */
    int rc;                     /* the first SQLite error of this verb; nothing is done after it */
    int wal_pages, wal_pages_next;      /* in the WAL; when to checkpoint */
    int64_t last_ms;
    int changes_before;
    uint64_t own_writes;

    uint32_t data_version;      /* Q4 */
    uint64_t epoch;             /* raised when somebody else wrote */
    int64_t watermark, seen;    /* the tail holds rows above the one, up to the other */
    size_t tail_rows;
    place *tail;                /* open addressing by no */
    size_t tail_cap, tail_count;
    known **held;               /* chains by the hash of id */
    size_t held_cap, held_count;

    arena mem;                  /* of one verb */
    arena lent;                 /* texts of a head, until the next call */
} sqlite_store;

static inline sqlite_store *sqlite_of(pawl_store *s) { return (sqlite_store *)(void *)s; }

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

/* ---- schema.c -------------------------------------------------------------------------------- */

pawl_code schema_open(sqlite_store *s, pawl_err *err);  /* makes a new file, refuses a strange or a newer one */

/* ---- txn.c: locks, transactions, checkpoints ------------------------------------------------- */

typedef enum txn_kind { TXN_HARD, TXN_SOFT } txn_kind;  /* soft: not synced; the next hard one syncs it too */

pawl_code lock_take(sqlite_store *s, pawl_err *err);    /* Q1; PAWL_TRANSIENT: somebody else had it for busy_ms */
void lock_drop(sqlite_store *s);
pawl_code write_begin(sqlite_store *s, txn_kind kind, pawl_err *err);
/* Commit when `rc` is PAWL_OK and there was no error; else roll back. The first failure is what comes out. */
pawl_code write_end(sqlite_store *s, pawl_code rc, pawl_err *err);
pawl_code read_begin(sqlite_store *s, pawl_err *err);
pawl_code read_end(sqlite_store *s, pawl_code rc, pawl_err *err);
void checkpoint(sqlite_store *s, int mode);             /* with the lock held */
int64_t store_now(sqlite_store *s);

/* ---- tail.c: what the handle remembers ------------------------------------------------------- */

void tail_refresh(sqlite_store *s);                     /* in a transaction: Q3, Q4 */
const place *tail_find(const sqlite_store *s, int64_t no);
void tail_put(sqlite_store *s, const place *p);
void watermark_move(sqlite_store *s);                   /* in a write transaction */
void tail_forget(sqlite_store *s);
void tail_free(sqlite_store *s);
/* The run as it stands, or NULL: there is none (or s->rc). Lent until the transaction ends. */
known *known_find(sqlite_store *s, const char *run);
const known *known_peek(const sqlite_store *s, const char *run);        /* NULL: it is not known as it stands now */
void known_put(sqlite_store *s, const char *run, const known *from);    /* as it was just read: all but next, epoch and id */
void known_drop(sqlite_store *s, const char *run);

/* ---- runs ------------------------------------------------------------------------------------ */

int64_t run_no(sqlite_store *s, const char *run);       /* 0: there is none, or s->rc */
void head_read(sqlite_store *s, sqlite3_stmt *q, pawl_head *head);   /* of HEAD_COLUMNS; texts live with the row */
/* Begin to read of a run for `told` (not NULL). When it is not PAWL_OK, nothing was begun. */
pawl_code read_run(sqlite_store *s, const char *run, bool told, int64_t *no, pawl_err *err);
/* Begin to write as the holder of a run; NULL: see *rc, and nothing was begun. */
known *write_run(sqlite_store *s, txn_kind kind, const char *run, uint64_t fence, pawl_code *rc, pawl_err *err);
/* Rows of a run after row `after_lsn` and entry `after_seq`, back from `lsn`, newest first, into s->mem. */
typedef struct chain { int64_t *lsns; size_t n, cap; } chain;
pawl_code chain_walk(sqlite_store *s, const char *run, const place *from, int64_t after_lsn, uint64_t after_seq, chain *out,
                     pawl_err *err);
void lease_free(sqlite_store *s, known *k);             /* nobody holds it any more */
pawl_bytes line_plain(sqlite_store *s, sqlite3_stmt *q, const char *run);      /* of a row of SQL_LINE or SQL_LINES */
pawl_bytes blob_plain(sqlite_store *s, sqlite3_stmt *q, int at, const char *run, const hash *digest);
bool place_find(sqlite_store *s, const char *run, place *out);  /* where that run, out->no, ends; false: s->rc */

/* ---- within.c: work of the caller's own, in the transaction of an append ---------------------- */

/* All of it that the appends bring. Refused ones have their rc, and their within's is PAWL_PENDING. */
void within_work(sqlite_store *s, pawl_append *all, size_t n);
pawl_code within_made(sqlite_store *s, pawl_append *a);         /* its lines */

/* ---- the verbs ------------------------------------------------------------------------------- */

pawl_code sqlite_create(pawl_store *s, pawl_bytes base, pawl_err *err);
pawl_code sqlite_claim(pawl_store *s, const char *owner, int64_t ttl_ms, pawl_claim *all, size_t n, pawl_err *err);
pawl_code sqlite_renew(pawl_store *s, int64_t ttl_ms, pawl_hold *all, size_t n, pawl_err *err);
pawl_code sqlite_release(pawl_store *s, pawl_hold *all, size_t n, pawl_err *err);
pawl_code sqlite_append(pawl_store *s, pawl_append *all, size_t n, pawl_err *err);
pawl_code sqlite_mark(pawl_store *s, pawl_mark *all, size_t n, pawl_err *err);
pawl_code sqlite_marks(pawl_store *s, const char *run, pawl_mark_fn *fn, void *ctx, pawl_err *err);
pawl_code sqlite_deliver(pawl_store *s, const char *run, pawl_delivery *d, pawl_err *err);
pawl_code sqlite_deliveries(pawl_store *s, const char *run, pawl_delivery_fn *fn, void *ctx, pawl_err *err);
pawl_code sqlite_load(pawl_store *s, const char *run, pawl_line_fn *fn, void *ctx, pawl_err *err);
pawl_code sqlite_read(pawl_store *s, const char *run, uint64_t after, uint64_t upto, pawl_line_fn *fn, void *ctx, pawl_err *err);
pawl_code sqlite_blob(pawl_store *s, const char *run, const char *digest, pawl_line_fn *fn, void *ctx, pawl_err *err);
pawl_code sqlite_head(pawl_store *s, const char *run, pawl_head *head, pawl_err *err);
pawl_code sqlite_list(pawl_store *s, const pawl_filter *f, pawl_head_fn *fn, void *ctx, pawl_err *err);
pawl_code sqlite_waits(pawl_store *s, const char *run, pawl_waiting_fn *fn, void *ctx, pawl_err *err);
pawl_code sqlite_due(pawl_store *s, int64_t now_ms, const pawl_due *after, size_t limit, pawl_head_fn *fn, void *ctx, pawl_err *err);
int64_t sqlite_next_due(pawl_store *s);
pawl_code sqlite_prune(pawl_store *s, const char *run, uint64_t fence, uint64_t seq, pawl_bytes base, pawl_err *err);
pawl_code sqlite_remove(pawl_store *s, const char *run, uint64_t fence, pawl_err *err);
pawl_code sqlite_check(pawl_store *s, pawl_err *err);
pawl_code sqlite_backup(pawl_store *s, const char *path, pawl_err *err);
pawl_code sqlite_vacuum(pawl_store *s, pawl_err *err);

#endif
