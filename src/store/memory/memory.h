/* memory.h - the structures that the files of the store in memory share: tables, runs, namespaces, and the verbs. Private to this folder.
 *
 * A store has namespaces, a namespace has runs: in a table by id, in an array by number, in two heaps by time. All handles of one store are used by
 * one thread at a time; there is no lock.
 * A verb that fails for want of memory has changed nothing: memory is allocated first, then the change cannot fail. */
#ifndef STORE_MEMORY_H
#define STORE_MEMORY_H

#include "base/id_index.h"
#include "store/store.h"

/* ---- table.c: a hash table of nodes, and a list of them in the order of insertion ----------------------------- */

typedef struct node {           /* first member of each struct in a table */
    struct node *prev, *next;
    const char *key;
    uint32_t hash;
    size_t bytes;               /* of the block that begins with this node */
} node;

typedef struct table {
    id_index by_key;
    size_t count;
    node *first, *last;
} table;

/* A zeroed block of `bytes` that begins with a node, with `key` copied behind it; NULL: no memory. */
void *node_new(const pawl_alloc *alloc, size_t bytes, const char *key);
void node_free(const pawl_alloc *alloc, void *n);                       /* may be NULL */
bool table_room(const pawl_alloc *alloc, table *t, size_t more);        /* so that table_put cannot fail `more` times; false: no memory */
void table_put(table *t, node *n);
node *table_find(const table *t, const char *key);
node *table_same(const table *t, const node *n);                        /* of the same key */
void table_remove(table *t, node *n);
void table_free(const pawl_alloc *alloc, table *t);                     /* and all its nodes */

/* ---- runs ------------------------------------------------------------------------------------------------- */

typedef struct stored_delivery {
    node at;                    /* by id; stays in the table when it was taken, so that it is recognized when it is sent again */
    struct stored_delivery *before, *after;     /* the mailbox, in order */
    void *block;                /* what `d` points to; NULL: taken */
    size_t block_bytes;
    hash digest;
    pawl_delivery d;
    bool taken_now;             /* named by the append that is being checked */
} stored_delivery;

typedef struct stored_wait {
    node at;                    /* by invocation id */
    pawl_bytes text;            /* open: its SPEC; closed: its answer. Behind the key */
    int64_t asked_ms;
    stored_delivery *answer;    /* in the mailbox, not taken yet */
} stored_wait;

typedef struct stored_blob { node at; pawl_bytes bytes; } stored_blob;  /* by digest */
typedef struct stored_attempts { node at; uint32_t count; int64_t first_ms, again_ms; } stored_attempts;       /* by invocation id */

typedef struct stored_loss { struct stored_loss *older; pawl_loss l; } stored_loss;     /* its texts are blocks of their own */

enum { BY_DUE, BY_WAKE, ORDERS };       /* the heaps of a namespace: by store_due_ms, by the first timer */

typedef struct stored_run {
    node at;                    /* by id */
    arena base_texts;           /* of `base` */
    store_base base;
    hash created;               /* of the base that it was created with: create with the same base again is success */
    pawl_bytes base_text, snapshot;
    buf text;                   /* the journal after the base */
    size_t *entry_ends;         /* where each entry ends in it */
    size_t nentries, entry_ends_cap;
    pawl_head head;             /* owner and parked are blocks of their own */
    uint64_t snapshot_seq;
    table open, over;           /* waits */
    table delivered, blobs, marks;
    stored_loss *losses;        /* newest first */
    stored_delivery *mail_first, *mail_last;
    uint32_t mail_count;
    struct { size_t text, entries, waits, blobs, marks; } need; /* room for the appends that are being staged; else 0 */
    int64_t key[ORDERS];
    size_t pos[ORDERS];         /* in its heap, from 1; 0: not in it */
} stored_run;

typedef struct heap_of_runs { stored_run **items; size_t count, cap; } heap_of_runs;

typedef struct memory_store {   /* shared by all handles */
    pawl_alloc alloc;
    int64_t (*now)(void *ctx);
    void *now_ctx;
    int64_t last_ms;
    uint64_t version, no, fence, delivery_no;
    uint32_t signals_max;
    size_t handles;
    table spaces;
} memory_store;

typedef struct memory_space {   /* a namespace */
    node at;                    /* by name */
    memory_store *all;
    pawl_alloc alloc;
    table runs;
    stored_run **order;         /* by number */
    size_t order_cap;
    heap_of_runs heaps[ORDERS];
} memory_space;

typedef struct memory_handle { pawl_store store; memory_space *m; } memory_handle;

static inline memory_space *space_of(pawl_store *s) { return ((memory_handle *)(void *)s)->m; }
static inline stored_run *run_of(node *n) { return (stored_run *)(void *)n; }

/* ---- order.c: the heaps ------------------------------------------------------------------------------------ */

bool order_room(memory_space *m);                               /* for one more run in the heaps and in `order`; false: no memory */
void order_update(memory_space *m, stored_run *r);              /* after each change of a lease, timer, mailbox or status */
void order_remove(memory_space *m, stored_run *r);
/* The verb due: runs in the order of BY_DUE, after position `after` (NULL: from the first). */
void order_walk(memory_space *m, int64_t asked_ms, int64_t now_ms, const pawl_due *after, size_t limit, pawl_head_fn *fn, void *ctx);

/* ---- run.c -------------------------------------------------------------------------------------------------- */

int64_t memory_now(pawl_store *s);                              /* never back, over all handles */
int64_t memory_wall_ms(void *ctx);                              /* the clock of a store that was given none */
/* PAWL_INVALID: no run can have such an id; PAWL_GONE: no such run. */
pawl_code run_find(memory_space *m, const char *id, stored_run **out, pawl_err *err);
/* The same, and PAWL_FENCED unless `fence` is its newest. */
pawl_code run_find_held(memory_space *m, const char *id, uint64_t fence, stored_run **out, pawl_err *err);
stored_run *run_new(memory_space *m, const store_base *b, pawl_bytes text);    /* NULL: no memory */
void run_add(memory_space *m, stored_run *r, int64_t now);
void run_unlink(memory_space *m, stored_run *r);                /* and free it */
void losses_free(memory_space *m, stored_loss *first);           /* and those before it; may be NULL */
void run_free(memory_space *m, stored_run *r);                  /* may be NULL */
size_t run_index(const memory_space *m, uint64_t no);           /* in `order`, of the first run with this number or a higher one */
size_t run_end_of(const stored_run *r, uint64_t seq);           /* where entry `seq` ends in the text; base.seq: 0 */
/* A copy with a NUL behind; {0} for none. False: no memory. */
bool bytes_copy(const pawl_alloc *alloc, pawl_bytes from, pawl_bytes *out);
void bytes_free(const pawl_alloc *alloc, pawl_bytes *b);
void text_free(const pawl_alloc *alloc, const char *text);

/* ---- lease.c ------------------------------------------------------------------------------------------------- */

pawl_code run_claim(memory_space *m, const char *owner, int64_t now, int64_t ttl_ms, pawl_claim *c, pawl_err *err);
void run_unlease(memory_space *m, stored_run *r);               /* order_update must follow */
pawl_code memory_losses(pawl_store *s, const char *id, pawl_loss_fn *fn, void *ctx, pawl_err *err);
pawl_code memory_claim(pawl_store *s, const char *owner, int64_t ttl_ms, pawl_claim *all, size_t n, pawl_err *err);
pawl_code memory_renew(pawl_store *s, int64_t ttl_ms, pawl_hold *all, size_t n, pawl_err *err);
pawl_code memory_release(pawl_store *s, pawl_hold *all, size_t n, pawl_err *err);

/* ---- write.c, deliver.c, read.c: the verbs --------------------------------------------------------------------- */

pawl_code memory_append(pawl_store *s, pawl_append *all, size_t n, pawl_err *err);
pawl_code memory_mark(pawl_store *s, pawl_mark *all, size_t n, pawl_err *err);
pawl_code memory_marks(pawl_store *s, const char *id, pawl_mark_fn *fn, void *ctx, pawl_err *err);
pawl_code memory_prune(pawl_store *s, const char *id, uint64_t fence, uint64_t seq, pawl_bytes base, pawl_err *err);
pawl_code memory_deliver(pawl_store *s, const char *id, pawl_delivery *d, pawl_err *err);
pawl_code memory_deliveries(pawl_store *s, const char *id, pawl_delivery_fn *fn, void *ctx, pawl_err *err);
void delivery_remove(memory_space *m, stored_run *r, stored_delivery *d);      /* from the mailbox: it was taken */
pawl_code memory_load(pawl_store *s, const char *id, pawl_line_fn *fn, void *ctx, pawl_err *err);
pawl_code memory_snapshot(pawl_store *s, const char *id, pawl_line_fn *fn, void *ctx, pawl_err *err);
pawl_code memory_read(pawl_store *s, const char *id, uint64_t after, uint64_t upto, pawl_line_fn *fn, void *ctx, pawl_err *err);
pawl_code memory_blob(pawl_store *s, const char *id, const char *digest, pawl_line_fn *fn, void *ctx, pawl_err *err);
pawl_code memory_head(pawl_store *s, const char *id, pawl_head *head, pawl_err *err);
pawl_code memory_look(pawl_store *s, const char *id, pawl_look *look, pawl_err *err);
pawl_code memory_list(pawl_store *s, const pawl_filter *f, pawl_head_fn *fn, void *ctx, pawl_err *err);
pawl_code memory_waits(pawl_store *s, const char *id, pawl_waiting_fn *fn, void *ctx, pawl_err *err);
pawl_code memory_due(pawl_store *s, int64_t now_ms, const pawl_due *after, size_t limit, pawl_head_fn *fn, void *ctx, pawl_err *err);
int64_t memory_next_due(pawl_store *s);
pawl_code memory_check(pawl_store *s, pawl_err *err);

#endif
