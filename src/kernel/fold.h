/* fold.h - what each item does to a state.
 *
 * Called inside a transaction, by a step that is being fed and by an entry that is applied. The same items fold to the same state (K6). */
#ifndef KERNEL_FOLD_H
#define KERNEL_FOLD_H

#include "kernel/item.h"
#include "kernel/state.h"

/* Whether it is the next one, and its hash follows. PAWL_GONE: it is, but its body is erased. */
pawl_code entry_fits(const pawl_state *st, const pawl_entry *e, pawl_err *err);
pawl_code item_fold(pawl_state *st, pawl_entry *e, item *it, pawl_err *err);
/* journal/marks.c */
pawl_code mark_add(pawl_state *st, const item *it, const char *text);
void marks_digest(pawl_state *st, hash *out);
pawl_code marks_drop(pawl_state *st);           /* they are covered */
void head_moves(pawl_state *st, const pawl_entry *e);   /* the entry is the newest */
/* superstep_close.c */
pawl_code fold_close(pawl_state *st, const item *it, pawl_err *err);
const leave *task_leave(pawl_state *st, task *tk, pawl_err *err);      /* parsed when it must be */

#endif
