/* child.h - spawn commands: child runs (E11).
 *
 * Called on the driving thread, without a lock, unless a comment says otherwise. */
#ifndef ENGINE_CHILD_H
#define ENGINE_CHILD_H

#include "engine/engine.h"
#include "kernel/names.h"

enum { CHILD_NAME_BYTES = RUN_BYTES_MAX + 1 };

/* child_record.c: pure */
const char *child_name(arena *a, const char *invocation, const char *said);  /* `said`: the name that the parent gave; NULL: none */
/* Turns the parent's record in `info` into the child's: sets the members that differ. */
void info_of_child(pawl_run_info *info, const outbox_entry *entry, int64_t now);

/* child_cancel.c */
bool child_cancel(pawl_engine *e, outbox_entry *entry);  /* false: the run does not exist */
pawl_code children_cancel_dropped(pawl_engine *e, cached_run *r);       /* after a step was folded, before it is stored; PAWL_IO: a delivery failed */
bool child_reserve_named(pawl_engine *e, cached_run *r, const char *child);    /* of a child that was not started */

/* child_tell.c */
/* Delivers for the effect "tell", after a step was folded and before it is stored. PAWL_IO, PAWL_NOMEM. */
pawl_code children_update(pawl_engine *e, cached_run *r);
/* The same for a run whose machine has no effect "tell": delivers the mode, rules or grants that the step changed to the open children. */
pawl_code rights_before_commit(pawl_engine *e, cached_run *r);
/* Before the child's start: delivers the changes of rights that are pending in the open superstep. */
pawl_code rights_before_start(pawl_engine *e, cached_run *r, const outbox_entry *entry);
/* Performs the effect "tell" through a store. Safe to repeat, since the delivery has the command's id. Any thread. */
pawl_code tell_after_loss(pawl_store *s, const pawl_alloc *alloc, const pawl_job *job, pawl_reply *reply);

/* child_end.c */
bool child_must_notify(const cached_run *r);               /* a finished child whose end was not delivered to its parent */
bool child_was_notified(const cached_run *r);                 /* its end was delivered, but the store still lists the child as due */
void child_end_came(const cached_run *r, const pawl_delivery *d);        /* after the delivery of a child's end: the child needs no cancel any more */
pawl_code child_notify(pawl_engine *e, cached_run *r, pawl_err *err);

/* child.c */
bool children_open(const cached_run *r);      /* the run waits for a child run */
/* Starts the children that are not started. `why`: what is missing for a child that cannot start in this engine. */
pawl_code children_begin(pawl_engine *e, cached_run *r, pawl_err *why, pawl_err *err);
void children_why(pawl_engine *e, const cached_run *r, pawl_err *why);        /* what is missing for a child that cannot go on in this engine */

#endif
