/* anchor.h - heads of runs, kept outside of the store by a function of the host (P12). Each function does nothing for an engine without one.
 *
 * On the driving thread. */
#ifndef ENGINE_RUN_ANCHOR_H
#define ENGINE_RUN_ANCHOR_H

#include "engine/run/run.h"

/* Whether the newest stored head is anchored (anchor_table); of an engine that anchors. Changed only by anchor_move(). */
typedef enum anchor_state {
    ANCHOR_NONE,                /* not known to be: it is anchored before the lease is released */
    ANCHOR_DUE,                 /* the same, and before anything is dispatched */
    ANCHOR_DONE,                /* it is, or the holder before has released it, and nothing was stored since */
    ANCHOR_STATES
} anchor_state;
extern const sm_table anchor_table;
void anchor_move(cached_run *r, anchor_state to);

void anchor_unclean(pawl_engine *e, cached_run *r);             /* before a claim, under the engine's lock: was the last lease left, not released? */
void anchor_untouched(cached_run **runs, size_t n);             /* nothing was stored under their leases: the release needs no anchor, unless it is due */
/* Anchors the heads of those that are held, loaded and not anchored, in one call. */
pawl_code runs_anchor(pawl_engine *e, cached_run **runs, size_t n, pawl_err *err);

#endif
