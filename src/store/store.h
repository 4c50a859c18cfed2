/* store.h - the parts that the stores in memory and in SQLite share: their common rules, codecs, short lines; and, for tests, a store in memory with
 * a given allocator and clock. Included by the files of this folder, src/engine and src/history; others use pawl/store.h.
 *
 * Everything here but store_journal and store_records is a pure function over the bytes that the caller gives: any thread, no lock. */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "json/json.h"
#include "pawl/store.h"

enum {
    STORE_FORMAT = 1,           /* of a base (docs/INTERFACES.md) */
    STORE_RUN_BYTES_MAX = 128,
    STORE_LABELS_MAX = 16,
    STORE_ID_BYTES_MAX = 1024,  /* ids of deliveries, commands and waits; owners */
    STORE_BY_BYTES_MAX = 1024,  /* the name of who speaks: of an event, a delivery, the creator of a run */
    STORE_SIGNALS_MAX = 10000,  /* deliveries in one mailbox, when the store was opened without a limit */
    STORE_LIST_LIMIT = 50
};

/* ---- run_base.c --------------------------------------------------------------------------------------- */

typedef struct store_base {     /* texts belong to the arena that was given; NULL: not in the base */
    const char *run, *machine, *context, *parent;
    const char *labels[STORE_LABELS_MAX];
    size_t nlabels;
    uint64_t life;
    uint64_t seq;               /* of a pruned journal; else 0 */
    int64_t created_ms;
    int32_t priority;
} store_base;

/* PAWL_INVALID: not a base, or one of a newer format; PAWL_NOMEM. */
pawl_code store_base_read(arena *a, pawl_bytes base, store_base *out, pawl_err *err);

/* ---- validate.c: input that every store refuses. PAWL_INVALID, or PAWL_NOMEM where there is an allocator (NULL: malloc) ------------ */

bool store_run_valid(const char *run);          /* the form of a run id; NULL: false */
bool store_id_valid(const char *id);            /* 1 to STORE_ID_BYTES_MAX bytes of UTF-8; NULL: false */
static inline bool store_line_is_record(pawl_bytes line) { return line.size > 0 && line.data[0] == '['; }

/* Lines are records, or entries numbered on from a->seq; no line has a newline; a snapshot follows an entry; waits and blobs are well formed.
 * *entries: how many of the lines are entries. */
pawl_code store_append_check(const pawl_append *a, uint64_t *entries, pawl_err *err);

pawl_code store_claim_check(const char *owner, int64_t ttl_ms, const pawl_claim *all, size_t n, pawl_err *err);
pawl_code store_leases_check(const pawl_hold *all, size_t n, pawl_err *err);
/* `with` may be NULL. */
pawl_code store_beginning_check(const pawl_alloc *alloc, const char *run, const pawl_beginning *with, pawl_err *err);

/* Kind, id, name and outcome fit each other; value and update are JSON. */
pawl_code store_by_check(const char *run, const char *by, pawl_err *err);       /* NULL and "": nobody. PAWL_INVALID */
pawl_code store_delivery_check(const pawl_alloc *alloc, const char *run, const pawl_delivery *d, pawl_err *err);
/* Equal for the same delivery sent again: without `no`, `at_ms` and `trace`, which may differ then. */
void store_delivery_hash(const pawl_delivery *d, hash *out);

/* Whether the schema and the options in the SPEC of the wait accept this answer, and, where the SPEC names approvers, whether one of them has signed it
 * (P11). *more: others may have to sign, too, so the wait stays open for further answers. */
pawl_code store_answer_check(const pawl_alloc *alloc, const char *run, const pawl_delivery *d, pawl_bytes spec, bool *more, pawl_err *err);
/* PAWL_CONFLICT with the first answer of the wait. {0}: it was closed without one; `by` NULL: not known. */
pawl_code store_answer_conflict(const char *run, const char *id, pawl_bytes answer, const char *by, pawl_err *err);

/* ---- snapshot.c ---------------------------------------------------------------------------------------- */

/* The hash at the beginning of an entry's line; false: not the line of an entry. */
bool store_entry_hash(pawl_bytes line, hash *out);
/* SHA-256 over the hash of the entry and the SHA-256 of the snapshot: stored with a snapshot, compared when it is read (Q6). */
void store_snapshot_digest(const hash *entry, pawl_bytes snapshot, hash *out);
/* *survives: whether the snapshot of entry `of` may be used when the journal begins at `seq`: it is of a later entry, and none of its segments
 * refers to deleted entries (K7). PAWL_NOMEM. */
pawl_code store_snapshot_survives(const pawl_alloc *alloc, pawl_bytes snapshot, uint64_t of, uint64_t seq, bool *survives);

/* ---- due.c ----------------------------------------------------------------------------------------------- */

/* The time since when, or from when on, a worker has work to do for a run; INT64_MAX: never.
 * Claimed: when the lease ends, unless the run ended and nothing was delivered. Else the earliest of: its first timer; `delivered_ms`, the time
 * of the oldest delivery in the mailbox (0: empty); its last change, while it has not ended and has work left. Parked: never. */
int64_t store_due_ms(const pawl_head *h, int64_t delivered_ms);
/* Whether a run with such a time is due: timers at the time that the caller asked for, leases at the store's own time. */
bool store_is_due(const pawl_head *h, int64_t asked_ms, int64_t now_ms);
static inline bool store_held(const pawl_head *h, int64_t now_ms) { return h->lease_ms > now_ms; }
int64_t store_time_add(int64_t now_ms, int64_t ttl_ms);        /* INT64_MAX where the sum would overflow */
int64_t store_system_ms(void);                                  /* CLOCK_REALTIME */

pawl_code store_run_missing(const char *run, pawl_err *err);   /* PAWL_GONE */
pawl_code store_fenced(const char *run, uint64_t fence, uint64_t newest, pawl_err *err);       /* PAWL_FENCED */

/* ---- retention.c ------------------------------------------------------------------------------------------ */

/* The retention in a base (G10): NULL, "keep", "delete", or "keep:N" with a unit of ms, s, m, h, d. *ms: how long the run is kept after its end;
 * INT64_MAX: for ever. False: none of these. */
bool store_retention_read(const char *text, int64_t *ms);

/* ---- store.c: over the verbs, for any store --------------------------------------------------------------- */

/* Appends to `out` the base and the lines after it up to entry `upto` (0: all), each with its newline. `base_seq` may be NULL. PAWL_GONE: no
 * such run, or that entry was pruned. On the thread that uses the handle. */
pawl_code store_journal(pawl_store *s, const char *run, uint64_t upto, buf *out, uint64_t *base_seq, pawl_err *err);

/* SHA-256 of the task records after entry `seq`, each with its newline: of the first `n` in the order in which they became durable (P12). *found: how many
 * there are, at most n. On the thread that uses the handle. */
pawl_code store_records(pawl_store *s, const char *run, uint64_t seq, uint64_t n, uint64_t *found, hash *out, pawl_err *err);

/* The verb look, of any store. On the thread that uses the handle. */
pawl_code store_look(pawl_store *s, const char *run, pawl_look *look, pawl_err *err);

/* ---- codec.c: values in a file ----------------------------------------------------------------------------- */

enum { STORE_CODECS_MAX = 64, STORE_CODEC_ID_MAX = 64, STORE_ENCODED = 1 };     /* first byte of an encoded value: ID, NUL, bytes */

struct pawl_out { buf b; size_t head; };    /* the result begins at `head` */

typedef struct store_codecs {
    const pawl_codec *all, *encoder;        /* encoder NULL: values are written as they are */
    size_t n;
} store_codecs;

pawl_code store_codecs_check(const pawl_codec *all, size_t n, pawl_err *err);   /* PAWL_INVALID, PAWL_LIMIT */
static inline bool store_is_encoded(pawl_bytes b) { return b.size > 0 && b.data[0] == STORE_ENCODED; }
/* *stored: `plain` itself when there is no encoder; else lent from `out`. */
pawl_code store_encode(const store_codecs *c, pawl_bytes plain, pawl_out *out, pawl_bytes *stored, pawl_err *err);
/* `stored` must be store_is_encoded. *plain is lent from `out`, with a NUL behind it. `file` and `run` are named in errors. */
pawl_code store_decode(const store_codecs *c, const char *file, const char *run, pawl_bytes stored, pawl_out *out, pawl_bytes *plain,
                       pawl_err *err);

/* ---- short_line.c --------------------------------------------------------------------------------------------- */

enum { STORE_SHORTENED = 2 };   /* in the column codec, beside STORE_ENCODED and 0 */

bool store_line_shorten(pawl_bytes line, buf *out);     /* false: store the line as it is (it gets no shorter, or no memory) */
bool store_line_restore(pawl_bytes stored, buf *out);   /* false: not a shortened line; see out->failed for want of memory */

/* ---- memory/: for tests ----------------------------------------------------------------------------------------- */

pawl_store *store_memory_in(const pawl_alloc *alloc, pawl_err *err);    /* as pawl_store_memory, with an allocator; NULL: malloc */
void store_memory_clock(pawl_store *s, int64_t (*now)(void *ctx), void *ctx);  /* NULL: store_system_ms */
void store_sqlite_clock(pawl_store *s, int64_t (*now)(void *ctx), void *ctx);  /* the same of a handle on a SQLite file */
void store_memory_signals(pawl_store *s, uint32_t max);     /* mailbox limit; 0: STORE_SIGNALS_MAX */

#endif
