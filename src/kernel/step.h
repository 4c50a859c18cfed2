/* step.h - the answer to one event, made item by item.
 *
 * Owned by the caller of pawl_feed; one thread at a time. While it is fed, st->t is its transaction. */
#ifndef KERNEL_STEP_H
#define KERNEL_STEP_H

#include "kernel/fold.h"
#include "kernel/item.h"
#include "kernel/journal/blobs.h"
#include "kernel/txn.h"
#include "pawl/kernel.h"

struct visit;

/* Each event writes `entry` and the head in `t` with the widest stores there are. One of them that goes over the end of a page costs as much as a tenth
 * of a superstep, and where malloc() puts a step is chance: so a step begins at a cache line, as those two do. */
enum { CACHE_LINE = 64 };

struct pawl_step {
    pawl_alloc alloc;
    arena mem;
    pawl_state *st;             /* while it is fed */
    const pawl_machine *m;
    void *block;                /* that was allocated, and that it lies in */
    _Alignas(CACHE_LINE) pawl_entry entry;      /* step_reset() zeroes it, and the rest up to `ev` */
    bool some;                  /* there is an entry */
    struct visit *v;
    const pawl_value *value, *update;   /* of the event, parsed */
    const item *in;             /* what came in */
    call *answered;             /* by this event */
    const pawl_event *ev;
    value_refs refs;            /* nodes of this step that stand for something else */
    size_t refs_cap;
    buf out, scratch, text;
    blob_set blobs;                /* what this step set apart */
    _Alignas(CACHE_LINE) txn t;
    int64_t now;                /* the event's time, never before the last */
    bool whole;                 /* this event makes an entry, whatever comes of it */
    bool waits_on;              /* and asks nothing of the machine: what is open stays so */
    bool was_open;              /* a superstep was open when it came */
    bool was_canceling;
    bool texts;                 /* the state keeps leaves of it as text */
    int final;                  /* the terminal status that the machine came to; -1: none */
    pawl_code next;             /* what pawl_feed returns */
    struct { void *at; void (*free)(void *at); } derived;       /* a cache of the layer above: a function of values alone; `at` NULL: none */
};

/* A new item, zeroed, with `more` bytes after it; NULL: no memory. */
static inline item *step_item_with(pawl_step *s, unsigned kind, size_t more)
{
    item *it = arena_zero(&s->mem, sizeof *it + more);

    if (it != NULL) {
        it->kind = (uint8_t)kind;
        it->task = "";
    }
    return it;
}
static inline item *step_item(pawl_step *s, unsigned kind) { return step_item_with(s, kind, 0); }
static inline item *step_close(pawl_step *s, closing **cl)      /* a close of the run's superstep, and what it will say */
{
    item *it = step_item_with(s, ITEM_CLOSE, sizeof **cl);

    if (it != NULL)
        it->closing = *cl = (closing *)(void *)(it + 1);
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
    return PAWL_OK;
}

/* step_memory.c: below the fold. */
void step_reset(pawl_step *s);
buf *step_text(pawl_step *s);                   /* an empty buffer of the step's own */
const char *step_copy(pawl_step *s, const buf *b, size_t *size);       /* into the arena; NULL: no memory */
pawl_code step_ref(pawl_step *s, const pawl_value *node, const char *form, const char *target, const char *digest);
const value_ref *step_ref_of(const pawl_step *s, const pawl_value *node);       /* what it stands for; NULL: for itself */
/* {"code","text"} as canonical text in the arena. */
const char *reason_code(pawl_step *s, pawl_code code, const char *text, const pawl_value *more, size_t *size);

/* step_items.c: below the events. */
void step_cut(pawl_step *s, item *last, uint32_t count);        /* forget the items after this one, already taken back */
pawl_code step_drop(pawl_step *s, bool commands, pawl_err *err); /* drops the waits that are open, or all that is */
pawl_code step_drop_tagged(pawl_step *s, const char *tag, pawl_err *err);      /* all that is open under it */
/* Results of the channels with a user's function, as a put item: for what came in from outside. `path`: of the wait in a
 * subgraph that it answers; else "". */
pawl_code step_custom(pawl_step *s, const char *path, const pawl_value *object, pawl_err *err);

/* run_end.c: of a machine, and of the step loop. */
/* The run is over: failed or rejected with its reason (canonical text of {"code","text"}), or NULL. */
pawl_code step_end(pawl_step *s, pawl_status status, const char *reason, size_t size, pawl_err *err);
pawl_code step_cancel(pawl_step *s, pawl_err *err);      /* goes on with a cancel, or with what undoes a run */

#endif
