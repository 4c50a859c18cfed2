/* fold.h - the fold: applies an item to a state.
 *
 * Called inside a transaction, by the step loop while it feeds an event and by pawl_apply() for a stored entry, on the thread that owns the
 * state. Invariant: the same items fold to the same state (K6). */
#ifndef KERNEL_FOLD_H
#define KERNEL_FOLD_H

#include "kernel/item.h"
#include "kernel/state.h"

/* PAWL_OK: the entry is the next one and its hash matches. PAWL_GONE: the same, but its body is erased. PAWL_CORRUPT: neither. */
pawl_code entry_follows(const pawl_state *st, const pawl_entry *e, pawl_err *err);
pawl_code item_fold(pawl_state *st, pawl_entry *e, item *it, pawl_err *err);
/* journal/marks.c */
pawl_code mark_add(pawl_state *st, const item *it, const char *text);
void marks_digest(pawl_state *st, hash *out);
void marks_free(pawl_state *st);
pawl_code marks_drop(pawl_state *st);           /* an entry has covered the records with its digest */
void head_advance(pawl_state *st, const pawl_entry *e);   /* makes the entry the newest of the state: seq, time, status, head hash */
/* superstep_close.c */
pawl_code fold_close(pawl_state *st, const item *it, pawl_err *err);
/* The leave of a done task, parsed when the state has only its text. NULL: no memory, or the text is corrupt. */
const leave *task_leave(pawl_state *st, task *tk, pawl_err *err);
/* From here on the transaction keeps the leaves of these tasks that it parses: a close needs each several times. */
void leaves_begin(pawl_state *st, const frame *f);

#endif
