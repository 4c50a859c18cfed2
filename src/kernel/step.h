/* step.h - a step: the items, bytes and blobs that one event leads to.
 *
 * Owned by the caller of pawl_feed() or pawl_advance(); one thread at a time. While an event is fed, st->t is the step's transaction. */
#ifndef KERNEL_STEP_H
#define KERNEL_STEP_H

#include "kernel/fold.h"
#include "kernel/item.h"
#include "kernel/journal/blobs.h"
#include "kernel/txn.h"
#include "pawl/kernel.h"

struct visit;

/* Each event writes `entry` and the head in `t` with the widest stores of the CPU. One store across a page boundary costs as much as a tenth of a
 * superstep, and the address of a malloc() block is chance: so the step, `entry` and `t` start at a cache line. */
enum { CACHE_LINE = 64 };

struct pawl_step {
    pawl_alloc alloc;
    arena mem;
    pawl_state *st;             /* while an event is fed */
    const pawl_machine *m;
    void *block;                /* the allocated block, which contains this step */
    _Alignas(CACHE_LINE) pawl_entry entry;      /* step_reset() zeroes the members from here to `ev` */
    bool has_entry;
    struct visit *v;
    const pawl_value *value, *update;   /* of the event, parsed */
    const item *in;             /* the item of the event */
    call *answered;             /* a copy of the call that this event answers */
    const pawl_event *ev;
    value_refs refs;            /* nodes of this step that are references */
    size_t refs_cap;
    buf out, scratch, text;
    blob_set blobs;                /* values that are stored apart from the entry */
    _Alignas(CACHE_LINE) txn t;
    int64_t now;                /* the event's time, raised to the time of the last entry */
    bool whole;                 /* this event makes an entry, never a task record */
    bool skips_machine;              /* the machine is not called for this event: open calls stay open */
    bool was_open;              /* a superstep was open before this event */
    bool was_canceling;
    bool texts;                 /* the state stores some of its leave items as text */
    int final;                  /* the terminal status that this step leads to; -1: none */
    pawl_code next;             /* the result of pawl_feed() */
    struct { char *at; size_t left; } side;    /* room for further items side by side, of a step that has many (step_item_with) */
    bool early_update;          /* set by a replay: an older version stored this answer, and merged its update with its task */
    /* A cache of the layer above, such as a compiled policy; its contents depend on values only. `at` NULL: empty. */
    struct { void *at; void (*free)(void *at); } derived;
};

enum { ITEMS_FEW = 64 };
void *step_side(pawl_step *s, size_t size);     /* step_memory.c: behind what it gave before */

/* A new item, zeroed, with `more` bytes after it, which are not; NULL: no memory. All items are walked several times, and those of a wide step are more than
 * a cache holds: they are side by side, so that the CPU fetches the next ones ahead. */
static inline item *step_item_with(pawl_step *s, unsigned kind, size_t more)
{
    item *it = s->entry.count < ITEMS_FEW ? arena_get(&s->mem, sizeof *it + more) : step_side(s, sizeof *it + more);

    if (it != NULL) {
        item_zero(it);
        it->kind = (uint8_t)kind;
        it->task = "";
    }
    return it;
}
static inline item *step_item(pawl_step *s, unsigned kind) { return step_item_with(s, kind, 0); }
static inline item *step_close(pawl_step *s, closing **cl)      /* a close of the run's superstep; *cl is to be filled in */
{
    item *it = step_item_with(s, ITEM_CLOSE, sizeof **cl);

    if (it != NULL) {
        it->closing = *cl = (closing *)(void *)(it + 1);
        **cl = (closing){0};
    }
    return it;
}
/* Add an item to the step and fold it. */
static inline pawl_code step_add(pawl_step *s, item *it, pawl_err *err)
{
    pawl_entry *e = &s->entry;
    pawl_code rc;

    if (it == NULL)
        return fail(err, PAWL_NOMEM, "no memory for a step");
    if ((rc = item_fold(s->st, e, it, err)) != PAWL_OK)
        return rc;
    *(e->last == NULL ? &e->items : &e->last->next) = it;
    e->last = it;
    e->count++;
    e->kinds |= kind_bit(it->kind);
    return PAWL_OK;
}

/* step_memory.c: below the fold. */
void step_reset(pawl_step *s);
buf *step_text(pawl_step *s);                   /* an empty buffer that the step owns */
const char *step_copy(pawl_step *s, const buf *b, size_t *size);       /* into the arena; NULL: no memory */
pawl_code step_ref(pawl_step *s, const pawl_value *node, const char *form, const char *target, const char *digest);
const value_ref *step_ref_of(const pawl_step *s, const pawl_value *node);       /* the reference that the node is; NULL: a plain value */
/* {"code","text"} as canonical text in the arena. */
const char *reason_code(pawl_step *s, pawl_code code, const char *text, const pawl_value *more, size_t *size);

/* step_items.c: below the events. */
void step_cut(pawl_step *s, item *last, uint32_t count);        /* forgets the items after `last`, whose folds were rolled back */
pawl_code step_drop(pawl_step *s, bool commands, pawl_err *err); /* drops the open waits; `commands`: open commands too */
pawl_code step_drop_tagged(pawl_step *s, const char *tag, pawl_err *err);      /* drops the open calls with this tag */
/* Adds a put item with the merged results of channels that have a user's function, for values from an event. `path`: of the answered wait in a
 * subgraph; else "". */
pawl_code step_custom(pawl_step *s, const char *path, const pawl_value *object, pawl_err *err);

/* run_end.c: called by machines and by the step loop. */
/* Ends the run with a terminal status. `reason`: of a failed or rejected run, canonical text of {"code","text"}; else NULL. */
pawl_code step_end(pawl_step *s, pawl_status status, const char *reason, size_t size, pawl_err *err);
pawl_code step_cancel(pawl_step *s, pawl_err *err);      /* continues a cancel or a compensation */

#endif
