/* sqlite.h - the SQLite store: what its files share.
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
    SCHEMA_VERSION = 5,
    APPLICATION_ID = 0x5061776c,        /* "Pawl" */
    PAGE_BYTES = 4096,
    CACHE_KIB = 16384,
    BUSY_MS = 5000,
    CHECKPOINT_PAGES = 1000,            /* of the WAL */
    TAIL_ROWS_MAX = 4096,               /* above the watermark before it is moved */
    TAIL_ROWS_CLOSED = 256,             /* above the watermark when the handle is closed: from so many on it is moved */
    FILE_LOOK_MS = 20,
    SEEK_POINT_ENTRIES = 64,            /* so many entries lie between two seek points; the head is written with each */
    SLOTS = 4,                          /* encoded values of one row */
    SLOT_BYTES_KEPT = 1 << 20,
    CHANGED_RUNS_MAX = 4096,            /* changed since a time; when there are more, the list goes along another index */
    SEEK_POINT_RUNS = 8                 /* runs that reach a seek point in the same batch, so that not all heads are written at once */
};

#define FILE_NEVER_SEEN (INT64_MIN / 2) /* of file_seen_ms: so it is looked for at once */

/* ---- the handle ------------------------------------------------------------------------------ */

typedef struct run_tail {       /* the newest row of a run */
    int64_t no;                 /* 0: a free slot */
    uint64_t seq;
    int64_t lsn;                /* of its newest row; 0: none after the base */
    int64_t changed_ms;         /* when that was written */
    bool headed;                /* the head row has it, too; false: not known */
    bool own;                   /* this handle wrote that row */
} run_tail;

typedef struct run_row {        /* the head of a run that this handle works on */
    struct run_row *next;
    int64_t no;
    uint64_t epoch;             /* s->epoch when it was read (Q4) */
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
    int64_t space;              /* number of the namespace; 0: not created yet */
    int lock_fd;                /* -1: not opened yet */
    int busy_ms;
    uint32_t signals_max;
    bool normal, open;
    bool locked, fresh;
    bool relaxed;               /* synchronous NORMAL, for a soft transaction */
    bool inside;                /* in this transaction SQL of the caller runs, or the lines that follow from it are made */
    bool guarded;               /* SQL of the caller runs now */
    bool hooked, overran;
    int64_t guard_until_ms;     /* by the steady clock; 0: no limit */
    char refused[96];           /* the forbidden action that it tried */
    store_codecs codecs;
    pawl_codec *own_codecs;     /* the copy that codecs.all points to */
    pawl_out packed[SLOTS], plain[SLOTS];
    pawl_err why;               /* where rc is SQLITE_ABORT: the error of a codec */
    int rc;                     /* the first SQLite error of this verb; later statements do nothing */
    int wal_pages, wal_pages_next;      /* pages in the WAL; at how many to checkpoint */
    int64_t last_ms;
    int64_t (*now)(void *ctx);  /* NULL: the clock on the wall */
    void *now_ctx;
    int64_t file_seen_ms;       /* by the steady clock: when the file was last seen where it was opened */
    int changes_before;
    uint64_t own_writes;

    uint32_t data_version;      /* Q4 */
    uint64_t epoch;             /* raised when another connection wrote */
    int64_t watermark, seen;    /* the tail holds rows above the one, up to the other */
    size_t tail_rows;
    run_tail *tail;             /* open addressing by no */
    size_t tail_cap, tail_count;
    run_row **held;             /* chains by the hash of id */
    size_t held_cap, held_count;

    arena mem;                  /* of one verb */
    arena lent;                 /* texts of a head, until the next call */
};

static inline sqlite_store *sqlite_of(pawl_store *s) { return (sqlite_store *)(void *)s; }

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
const run_tail *tail_find(const sqlite_store *s, int64_t no);
void tail_put(sqlite_store *s, const run_tail *p);
void watermark_move(sqlite_store *s);                   /* in a write transaction */
void tail_forget(sqlite_store *s);
void tail_free(sqlite_store *s);
/* The run as it stands, or NULL: there is none (or s->rc). Lent until the transaction ends. */
run_row *run_row_find(sqlite_store *s, const char *run);
const run_row *run_row_peek(const sqlite_store *s, const char *run);        /* NULL: it is not known as it stands now */
void run_row_put(sqlite_store *s, const char *run, const run_row *from);    /* as it was just read: all but next, epoch and id */
void run_row_drop(sqlite_store *s, const char *run);

/* ---- runs ------------------------------------------------------------------------------------ */

int64_t run_no(sqlite_store *s, const char *run);       /* 0: there is none, or s->rc */
void head_read(sqlite_store *s, sqlite3_stmt *q, pawl_head *head);   /* of HEAD_COLUMNS; texts live with the row */
/* Begin to read of a run for `told` (not NULL). When it is not PAWL_OK, nothing was begun. */
pawl_code read_run(sqlite_store *s, const char *run, bool told, int64_t *no, pawl_err *err);
/* Begin to write as the holder of a run; NULL: see *rc, and nothing was begun. */
run_row *write_run(sqlite_store *s, txn_kind kind, const char *run, uint64_t fence, pawl_code *rc, pawl_err *err);
/* Rows of a run after row `after_lsn` and entry `after_seq`, back from `lsn`, newest first, into s->mem. */
typedef struct chain { int64_t *lsns; size_t n, cap; } chain;
pawl_code chain_walk(sqlite_store *s, const char *run, const run_tail *from, int64_t after_lsn, uint64_t after_seq, chain *out,
                     pawl_err *err);
void lease_release(sqlite_store *s, run_row *k);             /* nobody holds it any more */
pawl_bytes line_plain(sqlite_store *s, sqlite3_stmt *q, const char *run);      /* of a row of SQL_LINE or SQL_LINES */
pawl_bytes blob_plain(sqlite_store *s, sqlite3_stmt *q, int at, const char *run, const hash *digest);
bool run_tail_find(sqlite_store *s, const char *run, run_tail *out);  /* where that run, out->no, ends; false: s->rc */

typedef struct snapshot { uint64_t seq; int64_t lsn; pawl_bytes body; sqlite3_stmt *row; } snapshot;
/* The snapshot of a run that fits its digest (Q6). PAWL_OK: its body is lent until sql_end(out->row). PAWL_GONE: there is none that has a
 * digest, or s->rc. PAWL_CORRUPT: it is damaged. */
pawl_code snapshot_find(sqlite_store *s, const char *run, int64_t no, snapshot *out, pawl_err *err);

/* ---- append.c, deliver.c: in a write transaction, all of it or nothing for that run -------------- */

pawl_code append_in(sqlite_store *s, pawl_append *a);
pawl_code deliver_in(sqlite_store *s, const char *run, pawl_delivery *d, pawl_err *err);

/* ---- within.c: work of the caller's own, in the transaction of an append ---------------------- */

/* All of it that the appends bring. Refused ones have their rc, and their within's is PAWL_PENDING. */
void within_work(sqlite_store *s, pawl_append *all, size_t n);
pawl_code within_made(sqlite_store *s, pawl_append *a);         /* its lines */

/* ---- the verbs ------------------------------------------------------------------------------- */

pawl_code sqlite_create(pawl_store *s, pawl_bytes base, pawl_beginning *with, pawl_err *err);
pawl_code sqlite_claim(pawl_store *s, const char *owner, int64_t ttl_ms, pawl_claim *all, size_t n, pawl_err *err);
pawl_code sqlite_renew(pawl_store *s, int64_t ttl_ms, pawl_hold *all, size_t n, pawl_err *err);
pawl_code sqlite_release(pawl_store *s, pawl_hold *all, size_t n, pawl_err *err);
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

#endif
