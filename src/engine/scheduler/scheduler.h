/* scheduler.h - many runs at once, and the backlog of those with which nothing can be done now. */
#ifndef ENGINE_SCHEDULER_H
#define ENGINE_SCHEDULER_H

#include "engine/engine.h"

/* scheduler.c: drives the children of a run as far as they go now. *did: something was done; *wake: the first timer of a child; 0: none has one. */
pawl_code children_drive(pawl_engine *e, cached_run *r, bool *did, int64_t *wake, pawl_err *err);

/* Runs that pawl_work() drives at the moment; 0 while nothing is due. Any thread. */
unsigned engine_active(const pawl_engine *e);

/* backlog.c: runs that need not be tried again yet */
void backlog_put(pawl_engine *e, const cached_run *r, int64_t now_ms, int64_t stored_ms);
bool backlog_has(const pawl_engine *e, const pawl_head *h, int64_t now_ms);
void backlog_clear(pawl_engine *e);       /* all are tried again: a machine, a handler or a secret was added */
void backlog_free(pawl_engine *e);

#endif
