/* simple.h - the structures that the files of the store of three methods share: records, parts, the head of a run, the handle. Private to this folder.
 *
 * Keys, with SPACE the namespace, NO the number of a run in hexadecimal digits:
 *
 *     n                           the counter: numbers of runs and of blocks of fences, and the id of the store
 *     h~SPACE~RUN                 the head of a run: all that is true of it, or names what is
 *     m~SPACE~RUN~FACTS           a hint: what a list needs to know of a run at rest, true of the head in the version that the hint has
 *     p~SPACE~RUN~NO~oID          a part: large bytes that a head names. Written once
 *     p~SPACE~RUN~NO~bDIGEST      a blob
 *     p~SPACE~RUN~NO~dHASH        a delivery that was taken: its id is still recognized
 *     p~SPACE~RUN~NO~wHASH        a wait that is closed: its answer can still be quoted
 *
 * Invariants. Only a put of a head changes what is true. A part is in place before the head that names it, under an id that no other writer got (a put that
 * expects no record), so no writer ever replaces a part of another. Records d and w repeat what a stored head said, so they are true for every writer. The
 * version of a head is NO << 32 | count of its writes, that of a part the version of the head it was written for: no version of a key comes twice.
 *
 * A verb decodes the head, changes the copy and puts it; on PAWL_CONFLICT it begins again with the head that is there now. One thread at a time for each
 * handle; handles share nothing. */
#ifndef STORE_SIMPLE_H
#define STORE_SIMPLE_H

#include "base/hash_index.h"
#include "pawl/store_simple.h"
#include "store/store.h"

enum {
    SIMPLE_SPACE_BYTES_MAX = 20,
    SIMPLE_SIGNALS_MAX = 1000,
    SIMPLE_INLINE_BYTES_MAX = 2048,     /* a value up to this size is in the head itself */
    SIMPLE_TAIL_BYTES_MAX = 16384,      /* the newest lines are in the head up to this size; then they become a segment */
    SIMPLE_SEGMENTS_MAX = 64,           /* segments that a head names itself; then they become an index */
    SIMPLE_REST_MAX = 32,               /* taken deliveries, and closed waits, in a head */
    SIMPLE_MARKS_MAX = 128,
    SIMPLE_SHOWN_BYTES_MAX = 96,        /* of the answer of a closed wait: as much as an error shows */
    SIMPLE_CACHED_RUNS = 256,           /* heads that a handle remembers */
    SIMPLE_TRIES_MAX = 1000,            /* how often a verb begins again because others wrote */
    SIMPLE_FENCE_BITS = 20,             /* a block of fences; then another number is drawn */
    SIMPLE_SUM_BYTES = 16, SIMPLE_NONCE_BYTES = 16,     /* of a record: its checksum, and which put it was */
    SIMPLE_RECORD_HEAD_BYTES = 2 + SIMPLE_SUM_BYTES + SIMPLE_NONCE_BYTES
};

/* ---- record.c: records with a checksum, and the methods ------------------------------------------------- */

typedef struct simple_cached { char run[STORE_RUN_BYTES_MAX + 1]; buf bytes; uint64_t version; } simple_cached;

typedef struct simple_brief {   /* the head of a run as a list saw it last */
    char *block;                /* all that `head` points to */
    size_t block_bytes;
    pawl_head head;
    const char *labels[STORE_LABELS_MAX];
    size_t nlabels;
    uint64_t version;
    bool listed;
} simple_brief;

typedef struct simple_handle {
    pawl_store store;           /* first */
    pawl_alloc alloc;
    pawl_simple_methods methods;
    void *ctx;
    char space[SIMPLE_SPACE_BYTES_MAX + 1];
    char id[17 + SIMPLE_SPACE_BYTES_MAX + 1];
    uint32_t signals_max;
    int64_t last_ms;
    arena lent;                 /* what the last call gave out */
    arena work;                 /* decoded heads, until the end of the call */
    pawl_out in;                /* the record that was read last */
    buf out;                    /* the head that is being written */
    uint64_t life[2], puts;     /* random, and a count: the nonces of this handle */
    simple_cached *cached;      /* SIMPLE_CACHED_RUNS of them, by a hash of the id */
    buf hint; bool blind;       /* the hint that is being written; the last list gave no versions, so that hints are of no use */
    simple_brief *briefs;
    size_t nbriefs, briefs_cap;
    hash_index brief_index;
} simple_handle;

static inline simple_handle *simple_of(pawl_store *s) { return (simple_handle *)(void *)s; }

/* Each checks the result of the method, and names store and key in `err`. */
pawl_code record_put(simple_handle *h, const char *key, uint64_t before, uint64_t version, buf *record, pawl_err *err);  /* PAWL_CONFLICT */
pawl_code record_remove(simple_handle *h, const char *key, uint64_t before, pawl_err *err);     /* PAWL_CONFLICT; none there: PAWL_OK */
pawl_code record_get(simple_handle *h, const char *key, pawl_bytes *body, uint64_t *version, pawl_err *err);  /* PAWL_GONE; lent until the next one */
void record_begin(buf *record);                 /* room for checksum and nonce; the body follows */
pawl_bytes record_body(const buf *record);      /* of one that was read, or begun */

typedef struct simple_key { uint64_t version; const char *key; } simple_key;
typedef struct simple_keys { simple_key *all; size_t n, cap; } simple_keys;
pawl_code record_list(simple_handle *h, const char *prefix, simple_keys *out, pawl_err *err);   /* in h->work, ordered by key */

uint32_t simple_hash(const char *text);
/* Writes or reads fields, by one description of both. */
typedef struct simple_coder {
    buf *out;                   /* NULL: reads */
    const char *at, *end;
    arena *mem;                 /* of what is read, but for texts and bytes, which are lent from the record */
    bool wrong;
} simple_coder;
void code_uint(simple_coder *c, uint64_t *n);
void code_int(simple_coder *c, int64_t *n);
void code_small(simple_coder *c, uint32_t *n);
void code_flag(simple_coder *c, bool *b);
void code_bytes(simple_coder *c, pawl_bytes *b);
void code_text(simple_coder *c, const char **text);
void code_hash(simple_coder *c, hash *h);
/* The count of a vector; when it is read, zeroed items for it. */
void code_count(simple_coder *c, void **items, size_t *n, size_t *cap, size_t item);

/* ---- head.c: what a head has ------------------------------------------------------------------------- */

typedef struct simple_part { uint64_t id; uint32_t at; } simple_part;           /* id 0: none; at: the low half of its version */
typedef struct simple_lump { pawl_bytes bytes; simple_part part; } simple_lump; /* part.id not 0: the bytes are in that part */
typedef struct simple_segment { simple_part part; uint64_t upto; } simple_segment;      /* lines up to entry `upto`, and records after it */
typedef struct simple_wait { const char *id; simple_lump spec; int64_t asked_ms; uint64_t answer; } simple_wait; /* answer: its delivery, 0: none */
typedef struct simple_closed { const char *id; pawl_bytes shown; uint64_t nth; } simple_closed;
typedef struct simple_mail { pawl_delivery d; simple_lump value, update; hash digest; bool taken_now; } simple_mail;
typedef struct simple_taken { const char *id; hash digest; uint64_t no; int64_t at_ms; } simple_taken;
/* How a count differs from that in `cold_marks`: `whole`, it replaces it; `removed`, there is none any more. */
typedef struct simple_mark { const char *id; uint32_t attempts; int64_t first_ms, again_ms; bool whole, removed; } simple_mark;

typedef struct simple_run {     /* a decoded head; its texts belong to the record or to h->work */
    simple_handle *h;
    uint64_t version;           /* of the record; 0: there is none */
    bool fresh;                 /* read in this call, not remembered */
    bool begun;                 /* false: a run that is being created, which nobody sees */
    const char *hint;           /* the key of the hint of the head that was read; NULL: that run was not at rest */
    bool overtaken;             /* another writer has put the head first: all of the change is made again */
    pawl_head head;             /* mail and look_ms are computed */
    hash created;               /* of the base with which it was created */
    const char *labels[STORE_LABELS_MAX];
    size_t nlabels;
    uint64_t base_seq, parts, sent, closings;   /* counters: of part ids, deliveries, closed waits */
    simple_lump base, snapshot;
    uint64_t snapshot_seq;
    hash snapshot_digest;
    simple_segment *indexes, *segments; size_t nindexes, indexes_cap, nsegments, segments_cap;
    uint64_t tail_after;        /* the entry before the tail */
    pawl_bytes tail;            /* lines, each with its newline */
    simple_wait *waits; size_t nwaits, waits_cap;
    simple_closed *closed; size_t nclosed, closed_cap;
    simple_mail *mail; size_t nmail, mail_cap;
    simple_taken *taken; size_t ntaken, taken_cap;
    simple_mark *marks; size_t nmarks, marks_cap;
    simple_part cold_marks;
    pawl_loss *losses; size_t nlosses, losses_cap;      /* oldest first */
    bool rests_taken, rests_closed;     /* there are records d, w */
    simple_part *made, *dropped; size_t nmade, made_cap, ndropped, dropped_cap;   /* parts of this change */
} simple_run;

/* To h->out, as a record, or from the body of one; PAWL_CORRUPT. */
pawl_code head_encode(simple_run *r, pawl_err *err);
pawl_code head_decode(simple_handle *h, const char *run, pawl_bytes body, uint64_t version, simple_run *out, pawl_err *err);
void head_compute(simple_run *r);               /* waits, mail, look_ms: what other fields say */
void head_key(const simple_handle *h, const char *run, char key[PAWL_KEY_BYTES_MAX + 1]);
void head_lend(simple_handle *h, const simple_run *r, pawl_head *out);  /* its texts in h->lent */
void code_segment(simple_coder *c, simple_segment *s);
void code_mark(simple_coder *c, simple_mark *m);

/* ---- part.c: bytes outside of the head ------------------------------------------------------------------ */

void part_key(const simple_run *r, char kind, const char *name, char key[PAWL_KEY_BYTES_MAX + 1]);
pawl_code part_put(simple_run *r, pawl_bytes bytes, simple_part *out, pawl_err *err);
void part_drop(simple_run *r, simple_part part);                /* is removed once the head does not name it any more */
/* `out` is lent until the next record is read. PAWL_GONE: another writer has removed it, read the head again. */
pawl_code part_get(simple_run *r, simple_part part, pawl_bytes *out, pawl_err *err);
void parts_clear(simple_run *r, bool committed);                /* removes those dropped, or those made */
pawl_code part_blob_put(simple_run *r, const pawl_blob *b, pawl_err *err);
pawl_code part_blob_get(simple_run *r, const char *digest, pawl_bytes *out, pawl_err *err);   /* PAWL_GONE with a text; lent until the next record is read */
pawl_code lump_put(simple_run *r, pawl_bytes bytes, simple_lump *out, pawl_err *err);
pawl_code lump_get(simple_run *r, const simple_lump *l, pawl_bytes *out, pawl_err *err);  /* in h->work */

/* ---- run.c: reading and changing a head ------------------------------------------------------------------ */

int64_t simple_now(pawl_store *s);
void simple_begin(simple_handle *h);            /* each verb begins with it */
/* PAWL_INVALID, PAWL_GONE. `fresh`: from the store, else what the handle remembers where it does. */
pawl_code run_open(simple_handle *h, const char *run, bool fresh, simple_run *out, pawl_err *err);
pawl_code run_commit(simple_run *r, pawl_err *err);     /* PAWL_CONFLICT: another writer was first */
void run_forget(simple_handle *h, const char *run);
pawl_code run_held(const simple_run *r, uint64_t fence, pawl_err *err);         /* PAWL_FENCED */
/* Decodes the head, calls `fn`, and puts it when that returns PAWL_OK; again while others write. PAWL_IGNORED from `fn`: PAWL_OK, and nothing is written.
 * What a remembered head refuses, or has done already, is looked at again with a fresh one: the run may be another one now. */
bool run_is_refused(pawl_code rc);              /* it is about this run, and says nothing of others */
typedef pawl_code simple_change_fn(simple_run *r, void *ctx, pawl_err *err);
pawl_code run_change(simple_handle *h, const char *run, simple_change_fn *fn, void *ctx, pawl_err *err);
/* With a fresh head; again when a part is gone because another writer was quicker. */
pawl_code run_query(simple_handle *h, const char *run, simple_change_fn *fn, void *ctx, pawl_err *err);
pawl_code counter_draw(simple_handle *h, uint64_t *no, pawl_err *err);
pawl_code counter_id(simple_handle *h, char id[17], pawl_err *err);

/* ---- hint.c: what a list need not read ---------------------------------------------------------------------- */

typedef struct simple_hint { int64_t wake_ms, changed_ms; uint32_t machine, context, parent; uint8_t status; bool waits, parked; } simple_hint;
const char *hint_key(simple_run *r);            /* in h->work; NULL: the run is not at rest, or there is no memory */
bool hint_read(const char *facts, simple_hint *out);    /* `facts`: the key after the run and its `~`. false: not of this form */
bool hint_may_fit(const simple_hint *t, const pawl_filter *f);  /* false: the run does not fit */
void hint_moved(simple_run *r, const char *before_key, uint64_t before);        /* the head was put, and replaced one with that hint and version */
bool hint_add(simple_run *r);                   /* of a head that was read, at rest or not; false: it could not be stored */

/* ---- journal.c ------------------------------------------------------------------------------------------------ */

pawl_code journal_add(simple_run *r, const pawl_append *a, pawl_err *err);      /* moves head.seq */
/* The lines after entry `after`, up to entry `upto` (0: all). */
pawl_code journal_read(simple_run *r, uint64_t after, uint64_t upto, pawl_line_fn *fn, void *ctx, pawl_err *err);
pawl_code journal_cut(simple_run *r, uint64_t seq, pawl_err *err);              /* what is up to entry `seq` goes */
pawl_code journal_index(simple_run *r, const simple_segment *index, simple_segment **out, size_t *n, pawl_err *err);   /* its segments, in h->work */

/* ---- lease.c, append.c, marks.c, rest.c, deliver.c: changes of one run --------------------------------------------- */

pawl_code claim_change(simple_run *r, const char *owner, int64_t now, int64_t ttl_ms, pawl_err *err);
void lease_end(simple_run *r);
pawl_code append_change(simple_run *r, pawl_append *a, pawl_err *err);
pawl_code deliver_change(simple_run *r, pawl_delivery *d, pawl_err *err);
pawl_code mark_change(simple_run *r, const pawl_mark *mark, pawl_err *err);
pawl_code marks_all(simple_run *r, simple_mark **out, size_t *n, pawl_err *err);
pawl_code rest_store(simple_run *r, pawl_err *err);     /* moves old taken deliveries and closed waits out of the head */
/* PAWL_GONE: never taken, never closed. Texts in h->work. */
pawl_code rest_taken(simple_run *r, const char *id, simple_taken *out, pawl_err *err);
pawl_code rest_closed(simple_run *r, const char *id, pawl_bytes *shown, pawl_err *err);
simple_wait *simple_wait_find(const simple_run *r, const char *id);

/* ---- the verbs ------------------------------------------------------------------------------------------------------ */

pawl_code simple_create(pawl_store *s, pawl_bytes base, pawl_beginning *with, pawl_err *err);
pawl_code simple_claim(pawl_store *s, const char *owner, int64_t ttl_ms, pawl_claim *all, size_t n, pawl_err *err);
pawl_code simple_renew(pawl_store *s, int64_t ttl_ms, pawl_hold *all, size_t n, pawl_err *err);
pawl_code simple_release(pawl_store *s, pawl_hold *all, size_t n, pawl_err *err);
pawl_code simple_losses(pawl_store *s, const char *run, pawl_loss_fn *fn, void *ctx, pawl_err *err);
pawl_code simple_append(pawl_store *s, pawl_append *all, size_t n, pawl_err *err);
pawl_code simple_set_marks(pawl_store *s, pawl_mark *all, size_t n, pawl_err *err);
pawl_code simple_marks(pawl_store *s, const char *run, pawl_mark_fn *fn, void *ctx, pawl_err *err);
pawl_code simple_deliver(pawl_store *s, const char *run, pawl_delivery *d, pawl_err *err);
pawl_code simple_deliveries(pawl_store *s, const char *run, pawl_delivery_fn *fn, void *ctx, pawl_err *err);
pawl_code simple_load(pawl_store *s, const char *run, pawl_line_fn *fn, void *ctx, pawl_err *err);
pawl_code simple_snapshot(pawl_store *s, const char *run, pawl_line_fn *fn, void *ctx, pawl_err *err);
pawl_code simple_read(pawl_store *s, const char *run, uint64_t after, uint64_t upto, pawl_line_fn *fn, void *ctx, pawl_err *err);
pawl_code simple_blob(pawl_store *s, const char *run, const char *digest, pawl_line_fn *fn, void *ctx, pawl_err *err);
pawl_code simple_head(pawl_store *s, const char *run, pawl_head *head, pawl_err *err);
pawl_code simple_look(pawl_store *s, const char *run, pawl_look *look, pawl_err *err);
pawl_code simple_list(pawl_store *s, const pawl_filter *f, pawl_head_fn *fn, void *ctx, pawl_err *err);
pawl_code simple_waits(pawl_store *s, const char *run, pawl_waiting_fn *fn, void *ctx, pawl_err *err);
pawl_code simple_due(pawl_store *s, int64_t now_ms, const pawl_due *after, size_t limit, pawl_head_fn *fn, void *ctx, pawl_err *err);
int64_t simple_next_due(pawl_store *s);
pawl_code simple_prune(pawl_store *s, const char *run, uint64_t fence, uint64_t seq, pawl_bytes base, pawl_err *err);
pawl_code simple_remove(pawl_store *s, const char *run, uint64_t fence, pawl_err *err);
pawl_code simple_check(pawl_store *s, pawl_err *err);
pawl_code simple_vacuum(pawl_store *s, pawl_err *err);
void briefs_free(simple_handle *h);
pawl_code hints_complete(simple_handle *h, pawl_err *err);      /* each run at rest has its hint, as far as they can be stored */

#endif
