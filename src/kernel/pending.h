/* pending.h - updates that come while the superstep of the run is open, and the order in which its close merges them (W4, W8).
 *
 * The close merges the writes of its tasks first, each task's after the updates of the answers that it got. Then come the updates that arrived in
 * the open superstep, in the order of the journal. The update of an answer that came after some of them is late: it follows the last of these.
 * Late updates of one place are in task order, so that answers may come in any order. */
#ifndef KERNEL_PENDING_H
#define KERNEL_PENDING_H

#include "kernel/item.h"
#include "kernel/state.h"

#define AFTER_MEMBER "after"        /* of an answer: its update is late, behind so many pending updates; without it the update is merged with its task */

/* The number for AFTER_MEMBER of an answer with an update to a call in `f`; 0: the update is not late. */
uint32_t pending_before(const pawl_state *st, const frame *f, const call *c);
/* Reads AFTER_MEMBER of an answer. */
pawl_code pending_after(const item *it, const frame *f, uint32_t *after, pawl_err *err);

/* The updates that follow the writes of the tasks, in their order. `of` is in the arena. */
typedef struct pending_updates { const pawl_value **of; uint32_t n; } pending_updates;
pawl_code pending_order(pawl_state *st, arena *mem, pending_updates *out, pawl_err *err);
pawl_code pending_add(pawl_state *st, const pawl_value *update);    /* the state copies it */
/* Writes all of them into the channels, and forgets them. */
pawl_code pending_merge(pawl_state *st, pawl_err *err);
/* Writes every update that the open superstep has, those of answers included, into the channels: for a look at what comes, in a transaction that is
 * rolled back. Channels with a user's function keep their values, since only the machine can merge them. */
pawl_code pending_show(pawl_state *st, pawl_err *err);
/* The value that the last of these updates has for a channel. NULL: none has one. */
const pawl_value *pending_newest(const pawl_state *st, const char *name);
bool pending_any(const pawl_state *st);     /* whether pending_show() would change anything; walks the tasks of the run */

#endif
