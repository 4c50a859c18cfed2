/* compensation.h - the folds of unknown outcomes, which a person decides, and of inverses (E5). Called inside a transaction. */
#ifndef KERNEL_COMPENSATION_H
#define KERNEL_COMPENSATION_H

#include "kernel/item.h"
#include "kernel/journal/blobs.h"
#include "kernel/txn.h"

#define UNDO_TASK "@undo"       /* the task path of every inverse */
static inline bool call_is_inverse(const call *c) { return c->task != NULL && strcmp(c->task, UNDO_TASK) == 0; }
/* The outcome that a person's answer states; false: the answer asks to perform the command again. */
bool doubt_answer_read(const pawl_value *answer, arena *a, pawl_outcome *outcome, const pawl_value **value);
/* The number of attempts that were made before a person asked to perform the command again; 0: no such answer. */
uint32_t doubt_attempts_cleared(arena *a, const call *c);
pawl_code fold_doubt(pawl_state *st, const item *it, pawl_err *err);
pawl_code undo_note(pawl_state *st, const item *it, const call *c, const pawl_value *receipt, pawl_err *err);
pawl_code undo_note_dropped(pawl_state *st, const frame *f, const task *tk, const char *path, pawl_err *err);  /* a visit is over: what is open of it */
/* The note to undo next: inverses run from the last note in task order to the first. NULL: no memory. Valid until the state changes. */
const pawl_value *undo_next(pawl_state *st, arena *mem);
void undo_order_free(pawl_state *st);            /* the notes are not what they were */
bool call_undoable(arena *a, const call *c);     /* it has an inverse */
pawl_code fold_unwind(pawl_state *st, const item *it, pawl_err *err);
pawl_code fold_inverse(pawl_state *st, pawl_err *err);  /* one was issued */
void unwind_code(pawl_state *st, buf *b, blob_set *apart, buf *beside);    /* members of a fold, each after a comma */
pawl_code ending_read(pawl_state *st, const pawl_value *fold, pawl_err *err);   /* before its open calls, which may be inverses */
pawl_code undo_read(pawl_state *st, const pawl_value *fold, pawl_err *err);     /* after them, which make notes, too */
static inline size_t undo_count(const pawl_state *st) { return st->undo != NULL ? st->undo->count : 0; }

#endif
