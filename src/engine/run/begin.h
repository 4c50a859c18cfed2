/* begin.h - checks the record that a run starts with (S7). Called by begin.c, forks and hosts on the driving thread; needs no lock. */
#ifndef ENGINE_BEGIN_H
#define ENGINE_BEGIN_H

#include "engine/engine.h"

/* Fills in life, seed and time when `info` has none. PAWL_IO: the system gives no random numbers. */
pawl_code info_draw(pawl_engine *e, pawl_run_info *info, pawl_err *err);
/* PAWL_INVALID or PAWL_LIMIT: a text, mode, retention, deadline or budget of the record is not valid. */
pawl_code record_check(const pawl_run_info *info, pawl_err *err);
/* PAWL_CONFLICT: `now` differs from the record that the run was started with. Overwrites the step `look`. */
pawl_code record_same(const pawl_state *st, pawl_step *look, const pawl_run_info *now, pawl_err *err);

#endif
