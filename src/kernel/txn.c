/* txn.c - a transaction of a state: changes that can be rolled back byte for byte (G9). See txn.h.
 *
 * The head of a state, with most of its root frame, is saved as a whole when a transaction begins, since almost every step changes it. Other
 * bytes are saved by touch() in a log; a rollback writes them back, newest first. A feed always rolls back, because it must leave the state
 * unchanged; an apply rolls back only on an error. Blocks are in the same log: a rollback frees the allocated ones, a commit frees the
 * dropped ones. */
#include "kernel/list.h"
#include "kernel/txn.h"

#include <string.h>

undo *txn_mark(pawl_state *st)
{
    undo *before = txn_position(st);

    (void)touch(st, (char *)st + HEAD_FROM, HEAD_BYTES);    /* without memory the arena has failed, and txn_end() rolls back everything */
    return before;
}

static undo *log_sized(pawl_state *st, size_t bytes, undo_kind kind, void *at, size_t size)
{
    txn *t = st->t;
    undo *u = arena_get(t->mem, bytes);

    if (u == NULL)
        return NULL;
    *u = (undo){ .before = t->log, .at = at, .what = (uint64_t)size << UNDO_KIND_BITS | kind };
    t->log = u;
    return u;
}

static inline undo *log_new(pawl_state *st, undo_kind kind, void *at, size_t size) { return log_sized(st, sizeof(undo), kind, at, size); }

static undo_more *log_more(pawl_state *st, undo_kind kind, void *at, size_t size, size_t saved)
{
    undo_more *u = (undo_more *)log_sized(st, sizeof *u + saved, kind, at, size);

    if (u != NULL)
        u->late = NULL;
    return u;
}

/* Also links the record into the list that txn_commit() visits. */
static undo_more *log_late(pawl_state *st, undo_kind kind, void *at, size_t size)
{
    undo_more *u = log_more(st, kind, at, size, 0);

    if (u == NULL)
        return NULL;
    u->late = st->t->late;
    st->t->late = u;
    return u;
}

static undo_kind kind_of(const undo *u) { return (undo_kind)(u->what & ((1u << UNDO_KIND_BITS) - 1)); }
static size_t size_of(const undo *u) { return (size_t)(u->what >> UNDO_KIND_BITS); }

static void undo_one(pawl_state *st, undo *u)
{
    undo_more *more = (undo_more *)u;           /* only of the kinds that are one */

    switch (kind_of(u)) {
    case UNDO_BYTES:
        memcpy(u->at, u + 1, size_of(u));
        break;
    case UNDO_ALLOC:
        mem_free(&st->alloc, u->at, size_of(u));
        break;
    case UNDO_GREW:
        st->t->late = more->late;
        list_shrink(u->at, size_of(u), more->count);
        break;
    case UNDO_SET:
        memcpy(((list *)u->at)->nodes + more->count, more + 1, size_of(u));
        break;
    case UNDO_BACK:
        more->how.back(u->at, more->count, more + 1);
        break;
    case UNDO_LIST_ALLOC:
        list_free(u->at);
        break;
    case UNDO_FREE:
    case UNDO_LIST_FREE:
    case UNDO_DROP:
        st->t->late = more->late;
        break;
    }
}

void txn_rollback(pawl_state *st, undo *to)
{
    st->t->task = NULL;
    while (st->t->log != to) {
        PAWL_ASSERT(st->t->log != NULL, "G9: a mark is of the transaction that goes back to it");
        undo_one(st, st->t->log);
        st->t->log = st->t->log->before;
    }
}

/* Keeps one block of SPARE_BYTES while the run goes on: a superstep of one task frees such a block and allocates another. */
static void block_free(pawl_state *st, void *ptr, size_t size)
{
    if (size == SPARE_BYTES && st->spare == NULL)
        st->spare = ptr;
    else
        mem_free(&st->alloc, ptr, size);
}

static void drop_now(pawl_state *st, const undo_more *u)
{
    const txn_mode mode = st->t->mode;

    st->t->mode = TXN_DROP;
    u->how.drop(st, u->u.at, u->count);
    st->t->mode = mode;
}

static void txn_commit(pawl_state *st)
{
    for (const undo_more *u = st->t->mode == TXN_ADVANCE ? st->t->late : NULL; u != NULL; u = u->late)
        if (kind_of(&u->u) == UNDO_GREW)
            ((list *)u->u.at)->floating = 0;    /* in a first pass, before any list is freed */
    for (const undo_more *u = st->t->late; u != NULL; u = u->late) {
        const undo_kind kind = kind_of(&u->u);

        if (kind == UNDO_FREE)
            block_free(st, u->u.at, size_of(&u->u));
        else if (kind == UNDO_LIST_FREE)
            list_free(u->u.at);
        else if (kind == UNDO_DROP)
            drop_now(st, u);
    }
}

void txn_end(pawl_state *st, bool commit)
{
    PAWL_ASSERT_SLOW(st->t != NULL, "G9: a state changes in one transaction at a time");
    if (commit && txn_keeps(st)) {
        txn_commit(st);
    } else {
        txn_rollback(st, NULL);
        mem_copy((char *)st + HEAD_FROM, st->t->head, HEAD_BYTES);
    }
    if (st->spare != NULL && (st->commands > 0 || st->waits > 0 || st->root.ntasks == 0)) {
        mem_free(&st->alloc, st->spare, SPARE_BYTES);
        st->spare = NULL;
    }
    PAWL_ASSERT_SLOW(st->people <= st->waits, "W1: whoever is waited for stands in a wait");
    st->t = NULL;
}

void *st_alloc(pawl_state *st, size_t size)
{
    void *p;

    PAWL_ASSERT_SLOW(st->t != NULL, "G9: a state changes in a transaction only");
    if (!txn_keeps(st))
        return arena_zero(st->t->mem, size);
    if ((p = mem_new(&st->alloc, size)) == NULL)
        return NULL;
    if (log_new(st, UNDO_ALLOC, p, size) == NULL) {
        mem_free(&st->alloc, p, size);
        return NULL;
    }
    return p;
}

/* Cannot report an error and must not lose the block: without memory for the log record the arena is marked as failed, and the caller of
 * txn_end() rolls back. */
void st_free(pawl_state *st, const void *ptr, size_t size)
{
    union { const void *in; void *out; } p = { ptr };

    if (ptr == NULL || size == 0 || !txn_keeps(st))
        return;
    if (st->t->mode == TXN_DROP)
        mem_free(&st->alloc, p.out, size);
    else
        (void)log_late(st, UNDO_FREE, p.out, size);
}

void st_drop(pawl_state *st, void *of, size_t n, drop_fn *drop)
{
    undo_more *u;

    if (n == 0 || !txn_keeps(st))
        return;
    if (st->t->mode == TXN_DROP) {
        drop(st, of, n);
    } else if ((u = log_late(st, UNDO_DROP, of, 0)) != NULL) {
        u->count = n;
        u->how.drop = drop;
    }
}

bool touch_by(pawl_state *st, void *at, size_t count, const void *saved, size_t size, back_fn *back)
{
    undo_more *u = log_more(st, UNDO_BACK, at, size, size);

    if (u == NULL)
        return false;
    u->count = count;
    u->how.back = back;
    memcpy(u + 1, saved, size);
    return true;
}

const char *st_text(pawl_state *st, const char *text, size_t size)
{
    char *copy = st_alloc(st, size + 1);

    if (copy != NULL && size > 0)
        memcpy(copy, text, size);
    return copy;
}

const pawl_value *st_value(pawl_state *st, const pawl_value *v, size_t *bytes)
{
    void *block;

    *bytes = 0;
    if (v == NULL || !txn_keeps(st))
        return v;
    if ((block = st_alloc(st, value_block_bytes(v))) == NULL)
        return NULL;
    *bytes = value_block_bytes(v);
    return value_copy_to(block, v);
}

bool st_list_grew(pawl_state *st, list *l, size_t nodes, size_t count)
{
    undo_more *u = log_late(st, UNDO_GREW, l, nodes);

    if (u == NULL)
        return false;
    u->count = count;
    return true;
}

void st_list_grew_not(pawl_state *st, list *l)
{
    undo_more *u = (undo_more *)st->t->log;

    PAWL_ASSERT(u != NULL && kind_of(&u->u) == UNDO_GREW && u->u.at == l, "what is withdrawn is the newest of the log");
    (void)l;
    st->t->late = u->late;
    st->t->log = u->u.before;
}

bool st_list_changes(pawl_state *st, list *l, size_t at, size_t nodes)
{
    const size_t size = nodes * sizeof *l->nodes;
    undo_more *u = log_more(st, UNDO_SET, l, size, size);

    if (u == NULL)
        return false;
    u->count = at;
    memcpy(u + 1, l->nodes + at, size);
    return true;
}

bool st_list_alloc(pawl_state *st, list *l)
{
    return log_new(st, UNDO_LIST_ALLOC, l, 0) != NULL;
}

void st_list_free(pawl_state *st, list *l)
{
    if (l == NULL || !txn_keeps(st))
        return;
    if (st->t->mode == TXN_DROP)
        list_free(l);
    else
        (void)log_late(st, UNDO_LIST_FREE, l, 0);
}
