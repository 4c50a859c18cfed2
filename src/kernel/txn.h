/* txn.h - a transaction of a state: changes that can be rolled back byte for byte (G9).
 *
 * pawl_feed() ends in txn_end(false), an apply or an advance in txn_end(true). In a transaction, touch() precedes every change and saves the old
 * bytes. Owned by a step or by the caller's stack, on the thread that owns the state. Invariant: st->t is the one open transaction, or NULL. */
#ifndef KERNEL_TXN_H
#define KERNEL_TXN_H

#include "kernel/state.h"
#include "base/base.h"

#include <string.h>

typedef enum undo_kind {
    UNDO_BYTES, UNDO_ALLOC, UNDO_LIST_ALLOC,            /* of an undo; the others of an undo_more */
    UNDO_FREE, UNDO_LIST_FREE, UNDO_GREW, UNDO_SET, UNDO_DROP, UNDO_BACK
} undo_kind;
typedef void drop_fn(pawl_state *st, void *of, size_t n);    /* frees what n members of an array own, with st_free() */
typedef void back_fn(void *at, size_t count, const void *saved);     /* puts back what was saved */
typedef struct undo {           /* small, since a wide superstep makes several for each task */
    struct undo *before;
    void *at;
    uint64_t what;              /* the kind, and above it the size: of the saved bytes, which follow; of a block; UNDO_GREW: nodes of the list before */
} undo;
typedef struct undo_more {
    undo u;
    struct undo_more *late;     /* next older record that a commit must visit (txn.late is the list) */
    size_t count;               /* UNDO_GREW: elements of the list before; UNDO_SET: index of the first node; UNDO_DROP: of members */
    union { drop_fn *drop; back_fn *back; } how;
} undo_more;
enum { UNDO_KIND_BITS = 8 };

typedef enum txn_mode {
    TXN_FEED,                   /* always rolled back: allocations come from the arena `mem` */
    TXN_APPLY,                  /* commits or rolls back: allocations are blocks of the state's allocator */
    TXN_ADVANCE,                /* as TXN_APPLY, for a feed that commits: the state copies values of the step at the end */
    TXN_DROP                    /* frees at once, without a log: the state is being freed */
} txn_mode;

typedef struct txn {
    char head[HEAD_BYTES];      /* saved head of the state. First member: the step aligns its txn to a cache line */
    arena *mem;
    txn_mode mode;
    bool closed;                /* this transaction has closed the run's superstep */
    bool swapped;               /* the spare block is in use; the block before it must stay until the end */
    undo *log;
    undo_more *late;
    struct task *task;          /* it was saved whole, and no mark was set since (task_touch) */
    struct task *leaves_of;     /* whose leaves it keeps, by their index, once they are parsed; NULL: nobody's */
    const struct leave **leaves;
    uint32_t nleaves;
} txn;

static inline void txn_begin(pawl_state *st, txn *t, arena *mem, txn_mode mode)
{
    PAWL_ASSERT(st->t == NULL, "G9: one transaction of a state at a time");
    t->mem = mem;
    t->mode = mode;
    t->closed = t->swapped = false;
    t->log = NULL;
    t->late = NULL;
    t->task = NULL;
    t->leaves_of = NULL;
    mem_copy(t->head, (char *)st + HEAD_FROM, HEAD_BYTES);
    mem->failed = false;
    st->nth_hint.calls = NULL;
    st->t = t;
}
/* Begins the transaction that frees the whole contents of a state: no saved head, no rollback. */
static inline void txn_begin_drop(pawl_state *st, txn *t)
{
    PAWL_ASSERT(st->t == NULL, "G9: one transaction of a state at a time");
    t->mem = NULL;
    t->mode = TXN_DROP;
    t->log = NULL;
    t->late = NULL;
    t->task = NULL;
    st->t = t;
}
static inline bool txn_keeps(const pawl_state *st) { return st->t->mode != TXN_FEED; }
undo *txn_mark(pawl_state *st);         /* a mark for one txn_rollback(); saves the head again */
/* As txn_mark(), without saving the head: for callers that change the head only after the last check that can fail. */
static inline undo *txn_position(const pawl_state *st)
{
    st->t->task = NULL;
    return st->t->log;
}
void txn_rollback(pawl_state *st, undo *to);      /* rolls back the changes after the mark */
void txn_end(pawl_state *st, bool commit);      /* a transaction of mode TXN_FEED is rolled back even with `commit` */
/* Saves the bytes that the caller is about to change; false: no memory, the caller must not change them. Not needed for the head of the state
 * and its root frame. */
static inline bool touch(pawl_state *st, void *at, size_t size)
{
    undo *u;

    PAWL_ASSERT_SLOW(st->t != NULL, "G9: a state changes in a transaction only");    /* in a build without this assertion the next line crashes */
    if ((u = arena_get(st->t->mem, sizeof *u + size)) == NULL)
        return false;
    u->before = st->t->log;
    u->at = at;
    u->what = (uint64_t)size << UNDO_KIND_BITS | UNDO_BYTES;
    if (size <= 64)
        memcpy(u + 1, at, size);
    else
        mem_copy(u + 1, at, size);
    st->t->log = u;
    return true;
}
#define TOUCH(st, object) touch((st), (object), sizeof *(object))
/* As touch() of the whole task. Several items of a step change one task after the other: the first saves it for all of them. */
static inline bool task_touch(pawl_state *st, task *tk)
{
    if (st->t->task == tk)
        return true;
    if (!TOUCH(st, tk))
        return false;
    st->t->task = tk;
    return true;
}
enum { SPARE_BYTES = 144 };     /* enough for a lone task with its name in most runs */
/* As touch() of several places in one record: `back` gets the `size` bytes at `saved` as they are now. */
bool touch_by(pawl_state *st, void *at, size_t count, const void *saved, size_t size, back_fn *back);
void *st_alloc(pawl_state *st, size_t size);    /* zeroed; freed by a rollback */
void st_free(pawl_state *st, const void *ptr, size_t size);    /* takes effect at commit */
/* As st_free() for all that the members of an array own, with one record for them all. The array itself is freed by an earlier st_free(): a commit
 * begins with the newest record. */
void st_drop(pawl_state *st, void *of, size_t n, drop_fn *drop);
bool st_list_grew(pawl_state *st, list *l, size_t nodes, size_t count);
void st_list_grew_not(pawl_state *st, list *l);  /* withdraws the last st_list_grew(): the list did not grow */
bool st_list_changes(pawl_state *st, list *l, size_t at, size_t nodes);         /* saves nodes that the caller is about to overwrite */
bool st_list_alloc(pawl_state *st, list *l);
void st_list_free(pawl_state *st, list *l);
const char *st_text(pawl_state *st, const char *text, size_t size);    /* a copy with a NUL; size + 1 bytes */
/* A copy of `v` for the state. In mode TXN_FEED `v` itself, and *bytes is 0: the step owns the value. */
const pawl_value *st_value(pawl_state *st, const pawl_value *v, size_t *bytes);

#endif
