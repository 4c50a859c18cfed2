/* child.h - commands that are runs of their own (E11).
 *
 * All of it is called on the driving thread, without a lock, unless said. */
#ifndef ENGINE_CHILD_H
#define ENGINE_CHILD_H

#include "engine/engine.h"

enum { CHILD_NAME_BYTES = RUN_BYTES_MAX + 1 };

/* child_record.c: pure */
const char *child_name(arena *a, const char *invocation, const char *said);  /* `said`: what its parent calls it; NULL: nothing */
/* `info` comes with the record of the parent: what differs in the child is set. */
void info_of_child(pawl_run_info *info, const outbox_entry *entry, int64_t now);

/* child_cancel.c */
bool child_cancel(pawl_engine *e, outbox_entry *entry);  /* false: there is no such run */
pawl_code children_cancel_dropped(pawl_engine *e, cached_run *r);       /* after a step was folded, before it is stored; PAWL_IO: a delivery failed */
bool child_reserve_named(pawl_engine *e, cached_run *r, const char *child);    /* makes the run of a child that was not begun */

/* child_tell.c */
pawl_code tells_before_commit(pawl_engine *e, cached_run *r); /* of the effect "tell", after a step was folded, before it is stored; PAWL_IO, PAWL_NOMEM */
/* The same for a run whose machine does not do it: a mode, rules or grants that the step brought are left for its children at work. */
pawl_code rights_before_commit(pawl_engine *e, cached_run *r);
/* Before the child's start: the rights that came while the superstep is open. */
pawl_code rights_before_start(pawl_engine *e, cached_run *r, const outbox_entry *entry);
/* What the effect "tell" does, by a store: the same however often it is tried, for its delivery has the command's id. Any thread. */
pawl_code tell_left(pawl_store *s, const pawl_alloc *alloc, const pawl_job *job, pawl_reply *reply);

/* child_end.c */
bool child_must_notify(const cached_run *r);               /* it is a child, it is over, and its end was not delivered */
bool child_was_notified(const cached_run *r);                 /* its end was delivered, and the store has it as due still */
void child_end_came(const cached_run *r, const pawl_delivery *d);        /* a receipt was delivered: the child that sent it needs no cancel any more */
pawl_code child_notify(pawl_engine *e, cached_run *r, pawl_err *err);

/* child.c */
bool children_open(const cached_run *r);      /* a child run is waited for */
/* Begins those that are not begun. `why`: what a child waits for that cannot be begun here. */
pawl_code children_begin(pawl_engine *e, cached_run *r, pawl_err *why, pawl_err *err);
void children_why(pawl_engine *e, const cached_run *r, pawl_err *why);        /* a child could go on, and cannot here: what is missing */

#endif
