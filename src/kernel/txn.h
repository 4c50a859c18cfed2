/* txn.h - changes to a state that can be taken back, byte for byte (G9).
 *
 * A feed ends in txn_end(false), an apply in txn_end(true). Between them each change is preceded by touch() of the bytes that it changes.
 * One transaction at a time: st->t points to it, and is NULL outside of one. */
#ifndef KERNEL_TXN_H
#define KERNEL_TXN_H

#include "kernel/state.h"
#include "base/base.h"

#include <string.h>

typedef enum undo_kind { UNDO_BYTES, UNDO_BORN, UNDO_DEAD, UNDO_GREW, UNDO_SET, UNDO_LIST_BORN, UNDO_LIST_DEAD } undo_kind;
typedef struct undo {
    struct undo *before;
    void *at;
    size_t size;                /* of bytes, which follow, or of a block; of a list that grew: nodes */
    size_t count;               /* of a list that grew: elements; of nodes in it that were set: where they stand */
    struct undo *late;          /* the one before of those that commit looks at */
    undo_kind kind;
} undo;

typedef enum txn_mode {
    TXN_FEED,                   /* all of it is taken back: what is allocated lies in `mem` */
    TXN_APPLY,                  /* what is allocated stays, when it is committed */
    TXN_ADVANCE,                /* the same, and it is fed, too: what the step lends is copied at its end */
    TXN_DROP                    /* what is dropped is freed at once: nobody goes back */
} txn_mode;

typedef struct txn {
    char head[HEAD_BYTES];      /* of the state, as it was. First, since a step has its txn at the beginning of a cache line */
    arena *mem;
    txn_mode mode;
    bool closed;                /* the run's superstep was closed in it */
    bool swapped;               /* the spare block is in use, and the block before it is what has to be kept */
    undo *log, *late;
} txn;

static inline void txn_begin(pawl_state *st, txn *t, arena *mem, txn_mode mode)
{
    PAWL_ASSERT(st->t == NULL, "G9: one transaction of a state at a time");
    t->mem = mem;
    t->mode = mode;
    t->closed = t->swapped = false;
    t->log = t->late = NULL;
    mem_copy(t->head, (char *)st + HEAD_FROM, HEAD_BYTES);
    mem->failed = false;
    st->nth_hint.calls = NULL;
    st->t = t;
}
/* To free what is in the state, all of it and at once: nothing is kept, and nobody goes back. */
static inline void txn_begin_drop(pawl_state *st, txn *t)
{
    PAWL_ASSERT(st->t == NULL, "G9: one transaction of a state at a time");
    t->mem = NULL;
    t->mode = TXN_DROP;
    t->log = t->late = NULL;
    st->t = t;
}
static inline bool txn_keeps(const pawl_state *st) { return st->t->mode != TXN_FEED; }
undo *txn_mark(pawl_state *st);         /* to go back to, once; the head is kept again */
/* The same for what leaves the head alone until nothing but memory can be wrong. */
static inline undo *txn_place(const pawl_state *st) { return st->t->log; }
void txn_back(pawl_state *st, undo *to);      /* take back what came after the mark */
void txn_end(pawl_state *st, bool commit);      /* commit only with keep; else all is taken back */
/* About to change these bytes; false: no memory, and they must stay. Not for the head of the state, nor for its root frame. */
static inline bool touch(pawl_state *st, void *at, size_t size)
{
    undo *u;

    PAWL_ASSERT_SLOW(st->t != NULL, "G9: a state changes in a transaction only");    /* without one the next line is a fault, too */
    if ((u = arena_get(st->t->mem, sizeof *u + size)) == NULL)
        return false;
    u->before = st->t->log;
    u->kind = UNDO_BYTES;
    u->at = at;
    u->size = size;
    if (size <= 64)
        memcpy(u + 1, at, size);
    else
        mem_copy(u + 1, at, size);
    st->t->log = u;
    return true;
}
#define TOUCH(st, object) touch((st), (object), sizeof *(object))
enum { SPARE_BYTES = 144 };     /* of a lone task and its name, mostly */
void *st_alloc(pawl_state *st, size_t size);    /* zeroed; lives as the transaction says */
void st_free(pawl_state *st, const void *ptr, size_t size);    /* at commit */
bool st_list_grew(pawl_state *st, list *l, size_t nodes, size_t count);
void st_list_grew_not(pawl_state *st, list *l);  /* what was said last did not happen */
bool st_list_changes(pawl_state *st, list *l, size_t at, size_t nodes);         /* these nodes of it are about to */
bool st_list_born(pawl_state *st, list *l);
void st_list_dies(pawl_state *st, list *l);
const char *st_text(pawl_state *st, const char *text, size_t size);    /* a copy with a NUL; size + 1 bytes */
/* A copy of `v` as the transaction keeps it; *bytes 0 when it is lent by the step. */
const pawl_value *st_value(pawl_state *st, const pawl_value *v, size_t *bytes);

#endif
