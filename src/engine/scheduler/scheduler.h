/* scheduler.h - drives many runs at once; the backlog has the runs that cannot make progress in this engine now. On the driving thread. */
#ifndef ENGINE_SCHEDULER_H
#define ENGINE_SCHEDULER_H

#include "engine/engine.h"

/* scheduler.c: drives the children of a run as far as possible without waiting. *did: there was progress; *wake: the first timer of a child; 0: none. */
pawl_code children_drive(pawl_engine *e, cached_run *r, bool *did, int64_t *wake, pawl_err *err);

/* A run that is parked, and so not due: takes what was delivered to it and the settings of the host, and asks whether this engine may drive it, as pawl_work()
 * does. It may: it is parked no more, and pawl_work() drives it; else it is parked with the current reason. PAWL_OK in both cases. */
pawl_code parked_try(pawl_engine *e, const char *run, pawl_err *err);

/* Number of runs that pawl_work() drives at the moment; 0 while no run is due. Any thread. */
unsigned engine_active(const pawl_engine *e);

/* backlog.c */
void backlog_put(pawl_engine *e, const cached_run *r, int64_t now_ms, int64_t stored_ms);
bool backlog_has(const pawl_engine *e, const pawl_head *h, int64_t now_ms);
void backlog_clear(pawl_engine *e);       /* tries all runs again, after a machine, a handler or a secret was added */
void backlog_free(pawl_engine *e);

#endif
