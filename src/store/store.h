/* store.h - inside the stores: what all of them need, and the one in memory for tests. */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "json/json.h"
#include "pawl/store.h"

enum {
    STORE_FORMAT = 1,           /* of a base (docs/INTERFACES.md) */
    STORE_RUN_BYTES_MAX = 128,
    STORE_LABELS_MAX = 16,
    STORE_ID_BYTES_MAX = 1024,  /* of a delivery's id, a command's, a wait's, an owner's */
    STORE_SIGNALS_MAX = 10000,  /* deliveries that wait for a run, where nothing else is said */
    STORE_LIST_LIMIT = 50
};

/* ---- shared.c: what is read from the bytes ------------------------------------------------------- */

typedef struct store_base {     /* texts live in the arena that was given; NULL: not there */
    const char *run, *machine, *context, *parent;
    const char *labels[STORE_LABELS_MAX];
    size_t nlabels;
    uint64_t life;
    uint64_t seq;               /* of a pruned journal; else 0 */
    int64_t created_ms;
    int32_t priority;
} store_base;

/* PAWL_INVALID: not a base, or one of a higher format; the error says what is wrong with it. */
pawl_code store_base_read(arena *a, pawl_bytes base, store_base *out, pawl_err *err);

bool store_run_valid(const char *run);          /* the form of a run's id; NULL: false */
bool store_id_valid(const char *id);            /* 1 to STORE_ID_BYTES_MAX bytes of UTF-8; NULL: false */
static inline bool store_line_is_record(pawl_bytes line) { return line.size > 0 && line.data[0] == '['; }

/* Whether `a` can be stored at all: each line a record or the entry whose turn it is, no newline in it, the snapshot after an
 * entry, waits and blobs well formed. `*entries`: how many of the lines are entries. PAWL_INVALID. */
pawl_code store_append_check(const pawl_append *a, uint64_t *entries, pawl_err *err);

/* Whether many can be claimed, renewed or let go of at all: else nobody is answered. PAWL_INVALID. */
pawl_code store_claim_check(const char *owner, int64_t ttl_ms, const pawl_claim *all, size_t n, pawl_err *err);
/* Whether run `run` can begin with all that `with` says; it may be NULL. PAWL_INVALID. */
pawl_code store_beginning_check(const pawl_alloc *alloc, const char *run, const pawl_beginning *with, pawl_err *err);
pawl_code store_holds_check(const pawl_hold *all, size_t n, pawl_err *err);

/* Whether `d` can be delivered at all: kind, id, name and outcome, and JSON where JSON is due. `alloc`: to
 * parse in, NULL malloc's. PAWL_INVALID. */
pawl_code store_delivery_check(const pawl_alloc *alloc, const char *run, const pawl_delivery *d, pawl_err *err);
/* Of all that makes two deliveries under one id the same: not `no`, `at_ms` and `trace`, which a repetition may have anew. */
void store_delivery_hash(const pawl_delivery *d, hash *out);

/* Whether the SPEC of wait `id` takes `value`: its schema, its options. PAWL_INVALID. */
pawl_code store_answer_check(const pawl_alloc *alloc, const char *run, const char *id, pawl_bytes spec, pawl_bytes value,
                             pawl_err *err);
/* PAWL_CONFLICT, and what the wait was answered first; {0}: it is over without an answer. */
pawl_code store_answer_late(const char *run, const char *id, pawl_bytes answer, const char *by, pawl_err *err);  /* by NULL: not known any more */

/* What a base's retention asks for (G10): NULL, "keep"; "delete"; "keep:N" and one of ms, s, m, h, d. *ms: kept so long after its
 * end, INT64_MAX for ever. False: it is none of these. */
bool store_retention_read(const char *text, int64_t *ms);
/* The hash that an entry's line begins with; false: it is no line of an entry. */
bool store_entry_hash(pawl_bytes line, hash *out);
/* What stands beside a snapshot, and has to fit when it is read: SHA-256 over the hash of its entry and the SHA-256 of its bytes. */
void store_snapshot_digest(const hash *entry, pawl_bytes snapshot, hash *out);
/* Whether a snapshot of entry `of` may stay when the journal begins at `seq`: it is of a later one, and none of its segments reaches
 * into what goes (K7). PAWL_NOMEM. */
pawl_code store_snapshot_stands(const pawl_alloc *alloc, pawl_bytes snapshot, uint64_t of, uint64_t seq, bool *stands);

/* ---- shared.c: rules ---------------------------------------------------------------------------------- */

/* Since (or from) when somebody has to look at a run; INT64_MAX: nobody has to. Of one that is held: from the end of its lease, unless
 * it is over and nothing came for it. Else the first of: its first timer; `delivered_ms`, the time of the oldest delivery that
 * waits (0: none); and, while it is not over and there is work to do, its last change. A parked one is left alone. */
int64_t store_look_ms(const pawl_head *h, int64_t delivered_ms);
/* Whether one that stands in that order is due: timers at the time that was asked for, leases at the store's own. */
bool store_is_due(const pawl_head *h, int64_t asked_ms, int64_t now_ms);
static inline bool store_held(const pawl_head *h, int64_t now_ms) { return h->lease_ms > now_ms; }
/* now_ms + ttl_ms, as far as the numbers go. */
int64_t store_until(int64_t now_ms, int64_t ttl_ms);
int64_t store_system_ms(void);                  /* the clock on the wall */

/* PAWL_GONE, as every verb says it. */
pawl_code store_no_run(const char *run, pawl_err *err);
pawl_code store_fenced(const char *run, uint64_t fence, uint64_t newest, pawl_err *err);

/* ---- journal_text.c ------------------------------------------------------------------------------------- */

/* The base and the lines after it up to entry `upto` (0: all), each with its newline, appended to `out`. `base_seq` may be NULL. PAWL_GONE: there is
 * no such run, or that entry was pruned. */
pawl_code store_journal(pawl_store *s, const char *run, uint64_t upto, buf *out, uint64_t *base_seq, pawl_err *err);

/* ---- codec.c: values as they stand in a file ------------------------------------------------------------- */

enum { STORE_CODECS_MAX = 64, STORE_CODEC_ID_MAX = 64, STORE_CODED = 1 };       /* first byte of what is coded: ID, NUL, bytes */

struct pawl_out { buf b; size_t head; };    /* the result begins at `head` */

typedef struct store_codecs {
    const pawl_codec *all, *encoder;        /* NULL: all stays as it is */
    size_t n;
} store_codecs;

pawl_code store_codecs_check(const pawl_codec *all, size_t n, pawl_err *err);   /* PAWL_INVALID, PAWL_LIMIT */
static inline bool store_is_coded(pawl_bytes b) { return b.size > 0 && b.data[0] == STORE_CODED; }
/* `*stored` is `plain` itself, or lies in `out`. */
pawl_code store_encode(const store_codecs *c, pawl_bytes plain, pawl_out *out, pawl_bytes *stored, pawl_err *err);
/* Of what store_is_coded; a NUL stands behind it. `file`, `run`: for the error. */
pawl_code store_decode(const store_codecs *c, const char *file, const char *run, pawl_bytes stored, pawl_out *out, pawl_bytes *plain,
                       pawl_err *err);

/* ---- short.c ---------------------------------------------------------------------------------------------- */

enum { STORE_SHORT = 2 };       /* how a line is coded, beside STORE_CODED */

bool store_short(pawl_bytes line, buf *out);    /* false: as it is, it is short enough (or there is no memory) */
bool store_long(pawl_bytes stored, buf *out);   /* false: it was never short; see out->failed */

/* ---- memory.c -------------------------------------------------------------------------------------------- */

/* As pawl_store_memory, in memory that is given; NULL: malloc's. */
pawl_store *store_memory_in(const pawl_alloc *alloc, pawl_err *err);
/* What time it is from now on; NULL: the clock on the wall. */
void store_memory_clock(pawl_store *s, int64_t (*now)(void *ctx), void *ctx);
/* The same of a handle on a SQLite file. */
void store_sqlite_clock(pawl_store *s, int64_t (*now)(void *ctx), void *ctx);
void store_memory_signals(pawl_store *s, uint32_t max);     /* 0: STORE_SIGNALS_MAX */

#endif
