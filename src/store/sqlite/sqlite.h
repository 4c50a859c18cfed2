/* sqlite.h - what the files of the SQLite store share. Private to this folder (and `pawl doctor`, for SCHEMA_VERSION).
 *
 * A handle is used by one thread at a time; other handles, of this and other processes, use the same file meanwhile.
 *
 * Invariants, by number where they are kept:
 *   Q1 Every write transaction and every checkpoint holds PATH-lock. SQLite before 3.51.3 can damage a WAL file when two
 *      connections write and checkpoint at the same moment.
 *   Q2 The rows of a run are a chain: `prev` is the lsn of the row before, 0 at the base. Numbers of rows, runs, deliveries and
 *      fences are never assigned twice, also after a removal.
 *   Q3 heads(seq, lsn) is a lower bound of the newest row of a run. Runs with a row above meta.watermark are found by reading the
 *      rows above it; for all others the bound is exact.
 *   Q4 The caches of a handle are valid while the file's data version is the one that they were read at; else they are read again.
 *      A transaction that fails invalidates them.
 *   Q5 heads.mail counts the deliveries not taken, heads.waits the open waits.
 *   Q6 A snapshot is read only when its digest fits its bytes and the hash of the entry that it was taken at (K11). */
#ifndef STORE_SQLITE_SQLITE_H
#define STORE_SQLITE_SQLITE_H

#include "base/check.h"
#include "store/sqlite/sql.h"

enum {
    SCHEMA_VERSION = 6,
    APPLICATION_ID = 0x5061776c,        /* "Pawl" */
    PAGE_BYTES = 4096,
    CACHE_KIB = 16384,
    BUSY_MS = 5000,
    CHECKPOINT_PAGES = 1000,            /* a checkpoint when the WAL has so many pages */
    TAIL_ROWS_MAX = 4096,               /* rows above the watermark before it is moved */
    TAIL_ROWS_CLOSED = 256,             /* the same, when the handle is closed */
    FILE_CHECK_MS = 20,
    SEEK_POINT_ENTRIES = 64,            /* so many entries lie between two seek points; the head is written with each */
    SEEK_POINT_RUNS = 8,                /* so many runs reach a seek point in the same batch: not all heads are written at once */
    SLOTS = 4,                          /* encoded values of one row */
    SLOT_BYTES_KEPT = 1 << 20,          /* a larger buffer is freed after the transaction */
    CHANGED_RUNS_MAX = 4096             /* a list by change time uses its index up to so many runs */
};

#define FILE_UNCHECKED (INT64_MIN / 2)  /* file_checked_ms: check at once */

/* ---- the handle ------------------------------------------------------------------------------ */

/* The transaction of a handle (txn.c has the table). TXN_USER_SQL: a function of the caller uses the connection (pawl_within.work), and the store
 * may not be used; TXN_USER_LINES: its lines are made (pawl_within.made), and the store may be read in this transaction. */
typedef enum txn_state { TXN_NONE, TXN_READ, TXN_WRITE, TXN_USER_SQL, TXN_USER_LINES, TXN_STATES } txn_state;

typedef struct run_tail {       /* the newest row of a run, when it is above the watermark (Q3) */
    int64_t no;                 /* 0: a free slot */
    uint64_t seq;
    int64_t lsn;                /* 0: the run has no row after its base */
    int64_t changed_ms;         /* when that row was written */
    bool in_head;               /* the head row has it, too; false: not known */
    bool written_here;          /* by this handle */
} run_tail;

typedef struct run_row {        /* the head of a run that this handle works on (Q4) */
    struct run_row *next;
    int64_t no;
    uint64_t epoch;             /* s->epoch when it was read */
    uint64_t fence, seq;
    int64_t lsn, wake_ms;
    uint32_t waits;
    int64_t mail;
    uint8_t status;
    bool over, work, parked, leased;
    char *id;                   /* behind the struct */
} run_row;

struct sqlite_store {
    pawl_store verbs;
    pawl_alloc alloc;
    sqlite3 *db;
    sqlite3_stmt *stmts[SQL_COUNT];
    char *path, *lock_path, *space_name;
    char *id;                   /* identity.c; NULL: not read yet */
    int64_t space;              /* number of the namespace; 0: not created yet */
    int lock_fd;                /* -1: not opened yet */
    int busy_ms;
    uint32_t signals_max;
    bool normal;                /* synchronous NORMAL was asked for */
    bool open;                  /* the file was opened and has tables */
    bool locked;                /* PATH-lock is held (Q1) */
    bool relaxed;               /* synchronous is NORMAL for a TXN_UNSYNCED transaction */
    uint8_t txn;                /* txn_state; txn_move() changes it */
    bool guard_installed;
    bool user_sql_late;         /* it exceeded its limit */
    int64_t guard_until_ms;     /* by the monotonic clock; 0: no limit */
    char user_sql_refused[96];  /* the first forbidden action that it tried */
    store_codecs codecs;
    pawl_codec *own_codecs;     /* the copy that codecs.all points to */
    pawl_out encoded[SLOTS], decoded[SLOTS];
    int rc;                     /* the first SQLite error of this verb; later statements do nothing */
    pawl_err value_error;       /* the error behind rc SQLITE_ABORT: a codec refused, or a value is damaged */
    int wal_pages, wal_pages_next;      /* pages in the WAL; at how many to checkpoint */
    int64_t last_ms;
    int64_t (*now)(void *ctx);  /* NULL: store_system_ms */
    void *now_ctx;
    int64_t file_checked_ms;    /* by the monotonic clock: when the file was last found where it was opened */
    int changes_before;
    uint64_t own_writes;
    int64_t others;             /* PRAGMA data_version, which changes with commits of other connections; -1: it has changed since it was read */

    uint32_t data_version;      /* of the file when the caches were valid (Q4) */
    bool caches_valid;
    uint64_t epoch;             /* raised when another connection wrote */
    int64_t watermark, tail_lsn;        /* the tail has the rows above the one, up to the other (Q3) */
    size_t tail_rows;
    run_tail *tail;             /* open addressing by no */
    size_t tail_cap, tail_count;
    run_row **rows;             /* chains by the hash of id */
    size_t rows_cap, rows_count;

    arena mem;                  /* of one verb */
    arena lent;                 /* texts of a head, until the next call */
};

static inline sqlite_store *sqlite_of(pawl_store *s) { return (sqlite_store *)(void *)s; }

/* ---- schema.c -------------------------------------------------------------------------------- */

pawl_code schema_open(sqlite_store *s, pawl_err *err);  /* creates or upgrades the tables; PAWL_INVALID: another program's file, or a newer one */

/* ---- txn.c: PATH-lock, transactions, checkpoints --------------------------------------------- */

typedef enum txn_kind { TXN_SYNCED, TXN_UNSYNCED } txn_kind;    /* unsynced: may be lost with the power; the next synced one syncs it too */

pawl_code lock_take(sqlite_store *s, pawl_err *err);    /* Q1; PAWL_TRANSIENT: another process had it for busy_ms */
void lock_release(sqlite_store *s);
/* PAWL_INVALID: called by a callback of the store. */
pawl_code write_begin(sqlite_store *s, txn_kind kind, pawl_err *err);
/* Commits when `rc` is PAWL_OK and there was no error; else rolls back. Returns the first failure. */
pawl_code write_end(sqlite_store *s, pawl_code rc, pawl_err *err);
pawl_code read_begin(sqlite_store *s, pawl_err *err);
pawl_code read_end(sqlite_store *s, pawl_code rc, pawl_err *err);
void txn_move(sqlite_store *s, txn_state to);
bool others_read(sqlite_store *s);                      /* commits of other connections, as of now; false: see s->rc */
uint64_t version_known(const sqlite_store *s);          /* the verb version, as of the last transaction; 0: not known */
void checkpoint(sqlite_store *s, int mode);             /* with PATH-lock held */
int64_t store_now(sqlite_store *s);                     /* never back within the handle */

/* ---- tail_cache.c: in a transaction (Q3, Q4) -------------------------------------------------- */

void tail_refresh(sqlite_store *s);
const run_tail *tail_find(const sqlite_store *s, int64_t no);   /* NULL: the head row is exact */
void tail_put(sqlite_store *s, const run_tail *p);
void watermark_move(sqlite_store *s);                   /* in a write transaction */
int64_t run_no(sqlite_store *s, const char *run);       /* 0: no such run, or s->rc */
/* The current head; NULL: no such run, or s->rc. Lent until the transaction ends. */
run_row *run_row_find(sqlite_store *s, const char *run);
const run_row *run_row_cached(const sqlite_store *s, const char *run);      /* NULL: not cached, or not valid any more */
void run_row_put(sqlite_store *s, const char *run, const run_row *from);    /* all members but next, epoch and id */
void run_row_drop(sqlite_store *s, const char *run);
bool run_tail_find(sqlite_store *s, const char *run, run_tail *out);    /* the newest row of run out->no; false: s->rc */
void caches_drop(sqlite_store *s);
void caches_free(sqlite_store *s);

/* ---- heads.c ----------------------------------------------------------------------------------- */

pawl_code run_id_check(const char *run, bool has_callback, pawl_err *err);     /* PAWL_INVALID */
void head_read(sqlite_store *s, sqlite3_stmt *q, pawl_head *head);      /* a row of HEAD_COLUMNS; texts are lent until the next row */
/* The same by id, with texts in s->lent. `row` (may be NULL) gets what a run_row has. False: no such run, or s->rc. */
bool head_load(sqlite_store *s, const char *run, pawl_head *head, run_row *row);
const char *text_lend(sqlite_store *s, const char *text);               /* a copy in s->lent; NULL for NULL, or s->rc */
/* Begins a transaction that reads one run. Not PAWL_OK: no transaction is open. */
pawl_code read_run(sqlite_store *s, const char *run, bool has_callback, int64_t *no, pawl_err *err);
/* The same with a statement whose ?1 is the run. */
pawl_code read_rows(sqlite_store *s, const char *run, bool has_callback, sql_id id, sqlite3_stmt **q, pawl_err *err);
/* Begins a transaction that writes one run as its holder. NULL: *rc is the reason, and no transaction is open. */
run_row *write_run(sqlite_store *s, txn_kind kind, const char *run, uint64_t fence, pawl_code *rc, pawl_err *err);
/* In a transaction: the run, when `fence` is its newest. NULL: *rc says why, or s->rc. */
run_row *run_row_held(sqlite_store *s, const char *run, uint64_t fence, pawl_code *rc, pawl_err *err);

/* ---- lease.c: in a write transaction ------------------------------------------------------------- */

/* *fence: the newest fence of the file (0: not read yet), raised when it is used; fence_store() must follow then. */
pawl_code lease_claim(sqlite_store *s, pawl_claim *c, const char *owner, int64_t ttl_ms, uint64_t *fence, pawl_err *err);
/* The first claim of a run that is added in this transaction, before its head is written: `h` has what its base says. */
void lease_begin(sqlite_store *s, pawl_head *h, const char *owner, int64_t ttl_ms);
void fence_store(sqlite_store *s, uint64_t newest);
void lease_release(sqlite_store *s, run_row *row);

/* ---- read.c: in a transaction -------------------------------------------------------------------- */

typedef struct chain { int64_t *lsns; size_t n, cap; } chain;
/* The rows of a run above row `after_lsn` and entry `after_seq`, back from `from`, newest first, in s->mem. */
pawl_code chain_walk(sqlite_store *s, const char *run, const run_tail *from, int64_t after_lsn, uint64_t after_seq, chain *out,
                     pawl_err *err);
pawl_bytes line_read(sqlite_store *s, sqlite3_stmt *q, const char *run);       /* of a row of SQL_LINE or SQL_LINES */
pawl_bytes blob_read(sqlite_store *s, sqlite3_stmt *q, int at, const char *run, const hash *digest);

typedef struct snapshot { uint64_t seq; int64_t lsn; pawl_bytes body; sqlite3_stmt *row; } snapshot;
/* The snapshot of a run (Q6). PAWL_OK: its body is lent until sql_end(out->row). PAWL_GONE: there is none with a digest, or s->rc.
 * PAWL_CORRUPT: it does not fit its digest. */
pawl_code snapshot_find(sqlite_store *s, const char *run, int64_t no, snapshot *out, pawl_err *err);

/* ---- append.c, deliver.c: in a write transaction, whole or not at all for that run -------------- */

pawl_code append_in(sqlite_store *s, pawl_append *a);
pawl_code deliver_in(sqlite_store *s, const char *run, pawl_delivery *d, pawl_err *err);

/* ---- user_sql.c: SQL of the caller in the transaction of an append ----------------------------- */

/* Runs the work of all appends. One that is refused has its rc, and its within PAWL_PENDING. */
void user_sql_run(sqlite_store *s, pawl_append *all, size_t n);
pawl_code user_sql_make_lines(sqlite_store *s, pawl_append *a);

/* ---- the verbs ------------------------------------------------------------------------------- */

pawl_code sqlite_create(pawl_store *s, pawl_bytes base, pawl_beginning *with, pawl_err *err);
pawl_code sqlite_claim(pawl_store *s, const char *owner, int64_t ttl_ms, pawl_claim *all, size_t n, pawl_err *err);
pawl_code sqlite_renew(pawl_store *s, int64_t ttl_ms, pawl_hold *all, size_t n, pawl_err *err);
pawl_code sqlite_release(pawl_store *s, pawl_hold *all, size_t n, pawl_err *err);
pawl_code sqlite_losses(pawl_store *s, const char *run, pawl_loss_fn *fn, void *ctx, pawl_err *err);
pawl_code sqlite_append(pawl_store *s, pawl_append *all, size_t n, pawl_err *err);
pawl_code sqlite_mark(pawl_store *s, pawl_mark *all, size_t n, pawl_err *err);
pawl_code sqlite_marks(pawl_store *s, const char *run, pawl_mark_fn *fn, void *ctx, pawl_err *err);
pawl_code sqlite_deliver(pawl_store *s, const char *run, pawl_delivery *d, pawl_err *err);
pawl_code sqlite_deliveries(pawl_store *s, const char *run, pawl_delivery_fn *fn, void *ctx, pawl_err *err);
pawl_code sqlite_load(pawl_store *s, const char *run, pawl_line_fn *fn, void *ctx, pawl_err *err);
pawl_code sqlite_snapshot(pawl_store *s, const char *run, pawl_line_fn *fn, void *ctx, pawl_err *err);
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
const char *sqlite_id(pawl_store *s, pawl_err *err);
pawl_code sqlite_look(pawl_store *s, const char *run, pawl_look *look, pawl_err *err);

#endif
