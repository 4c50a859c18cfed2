/* memory.h - inside the store in memory: runs in a table, ordered two ways by time. */
#ifndef STORE_MEMORY_H
#define STORE_MEMORY_H

#include "store/store.h"

/* ---- memory_table.c: things found by their key, and walked in the order in which they came ------------- */

typedef struct node {           /* first member of whatever stands in a table */
    struct node *chain, *prev, *next;
    const char *key;
    uint32_t hash;
    size_t bytes;               /* of its block, which it heads */
} node;

typedef struct table {
    node **slots;
    size_t nslots, count;
    node *first, *last;
} table;

/* A block of `bytes` that a node heads, zeroed, with `key` copied behind them; NULL: no memory. */
void *node_new(const pawl_alloc *alloc, size_t bytes, const char *key);
void node_free(const pawl_alloc *alloc, void *n);                       /* may be NULL */
bool table_room(const pawl_alloc *alloc, table *t, size_t more);        /* so that `more` can be put; false: no memory */
void table_put(table *t, node *n);
node *table_find(const table *t, const char *key);
void table_take(table *t, node *n);
void table_free(const pawl_alloc *alloc, table *t);                     /* with all that stands in it */

/* ---- runs ------------------------------------------------------------------------------------------------- */

typedef struct delivery {
    node at;                    /* by id; it stays when it is taken */
    struct delivery *before, *after;    /* those that wait, in order */
    void *block;                /* what `d` points to; NULL: taken */
    size_t block_bytes;
    hash digest;
    pawl_delivery d;
    bool leaving;               /* named by the append at hand */
} delivery;

typedef struct waiting {
    node at;                    /* by invocation id */
    pawl_bytes text;            /* its SPEC; of one that is over its answer. Behind the key */
    int64_t asked_ms;
    delivery *given;            /* an answer that waits to be taken */
} waiting;

typedef struct blob { node at; pawl_bytes bytes; } blob;                /* by digest */
typedef struct attempts { node at; uint32_t count; int64_t first_ms, again_ms; } attempts;     /* by invocation id */

enum { BY_LOOK, BY_WAKE, ORDERS };      /* from when to look at it; first timer */

typedef struct run {
    node at;                    /* by id */
    arena fixed;                /* texts of `base` */
    store_base base;
    hash created;               /* of the base that it was created with */
    pawl_bytes base_text, snapshot;
    buf text;                   /* the journal after the base */
    size_t *ends;               /* where each entry ends in it */
    size_t nends, ends_cap;
    pawl_head head;             /* owner and parked are blocks of their own */
    uint64_t snapshot_seq;
    table open, over;           /* waits */
    table delivered, blobs, marks;
    delivery *first, *last;     /* those that wait */
    uint32_t ndeliveries;
    struct { size_t text, entries, waits, blobs, marks; } due; /* room that appends at hand need */
    int64_t key[ORDERS];
    size_t pos[ORDERS];         /* in its heap, from 1 on; 0: not in it */
} run;

typedef struct heap_of_runs { run **items; size_t count, cap; } heap_of_runs;

typedef struct memories {       /* all that is one store */
    pawl_alloc alloc;
    int64_t (*now)(void *ctx);
    void *now_ctx;
    int64_t last_ms;
    uint64_t version, no, fence, delivery_no;
    uint32_t signals_max;
    size_t handles;
    table spaces;
} memories;

typedef struct memory {         /* a namespace */
    node at;                    /* by name */
    memories *all;
    pawl_alloc alloc;
    table runs;
    run **order;                /* by number */
    size_t order_cap;
    heap_of_runs heaps[ORDERS];
} memory;

typedef struct memory_handle { pawl_store store; memory *m; } memory_handle;

static inline memory *memory_of(pawl_store *s) { return ((memory_handle *)(void *)s)->m; }
static inline run *run_of(node *n) { return (run *)(void *)n; }

int64_t memory_now(pawl_store *s);
/* PAWL_INVALID: no run has such an id; PAWL_GONE: none has it now. */
pawl_code run_find(memory *m, const char *id, run **out, pawl_err *err);
/* The same, and PAWL_FENCED unless `fence` is its newest. */
pawl_code run_held(memory *m, const char *id, uint64_t fence, run **out, pawl_err *err);
void run_let_go(memory *m, run *r);                     /* order_set after it */
void run_free(memory *m, run *r);
size_t run_index(const memory *m, uint64_t no);         /* of the first in `order` with that number or a higher one */
size_t run_end_of(const run *r, uint64_t seq);          /* where entry `seq` ends in the text; base.seq: 0 */
/* Bytes of their own, NUL behind; {0} for none. False: no memory. */
bool bytes_copy(const pawl_alloc *alloc, pawl_bytes from, pawl_bytes *out);
void bytes_free(const pawl_alloc *alloc, pawl_bytes *b);
void text_free(const pawl_alloc *alloc, const char *text);

/* ---- memory_order.c --------------------------------------------------------------------------------------- */

bool order_room(memory *m);                             /* for one more run everywhere; false: no memory */
void order_set(memory *m, run *r);                      /* after anything of it that has to do with time has changed */
void order_take(memory *m, run *r);

/* ---- memory_write.c, memory_deliver.c, memory_read.c: the verbs -------------------------------------------- */

pawl_code memory_append(pawl_store *s, pawl_append *all, size_t n, pawl_err *err);
pawl_code memory_mark(pawl_store *s, pawl_mark *all, size_t n, pawl_err *err);
pawl_code memory_marks(pawl_store *s, const char *id, pawl_mark_fn *fn, void *ctx, pawl_err *err);
pawl_code memory_prune(pawl_store *s, const char *id, uint64_t fence, uint64_t seq, pawl_bytes base, pawl_err *err);
pawl_code memory_deliver(pawl_store *s, const char *id, pawl_delivery *d, pawl_err *err);
pawl_code memory_deliveries(pawl_store *s, const char *id, pawl_delivery_fn *fn, void *ctx, pawl_err *err);
void delivery_take(memory *m, run *r, delivery *d);     /* it waits no more */
pawl_code memory_load(pawl_store *s, const char *id, pawl_line_fn *fn, void *ctx, pawl_err *err);
pawl_code memory_snapshot(pawl_store *s, const char *id, pawl_line_fn *fn, void *ctx, pawl_err *err);
pawl_code memory_read(pawl_store *s, const char *id, uint64_t after, uint64_t upto, pawl_line_fn *fn, void *ctx, pawl_err *err);
pawl_code memory_blob(pawl_store *s, const char *id, const char *digest, pawl_line_fn *fn, void *ctx, pawl_err *err);
pawl_code memory_head(pawl_store *s, const char *id, pawl_head *head, pawl_err *err);
pawl_code memory_list(pawl_store *s, const pawl_filter *f, pawl_head_fn *fn, void *ctx, pawl_err *err);
pawl_code memory_waits(pawl_store *s, const char *id, pawl_waiting_fn *fn, void *ctx, pawl_err *err);
pawl_code memory_due(pawl_store *s, int64_t now_ms, const pawl_due *after, size_t limit, pawl_head_fn *fn, void *ctx, pawl_err *err);
int64_t memory_next_due(pawl_store *s);
pawl_code memory_check(pawl_store *s, pawl_err *err);

#endif
