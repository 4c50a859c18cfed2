/* query.h - queries of a run without its lease, for programs that share the store's handle with an engine. On the driving thread. */
#ifndef ENGINE_QUERY_H
#define ENGINE_QUERY_H

#include "base/base.h"
#include "pawl/engine.h"
#include "pawl/store_verbs.h"

/* A run as the store had it at one moment: the result of the store's verb look. */
typedef struct run_seen {
    buf base, snapshot, lines;  /* lines: those after the base and the snapshot, each with its newline */
    uint64_t base_seq, version;
    pawl_head head;             /* of its texts, only whether `owner` and `parked` are NULL is valid */
} run_seen;
/* Loads the run from `seen` (copied), so that it is not read again while no process writes. A run that is cached with a state stays as it is. */
void run_load_seen(pawl_engine *e, const char *run, const run_seen *seen);
/* True: no engine had the run's lease at the last look, and no process has written since. Reads no table. False: unknown. */
bool run_is_free(pawl_engine *e, const char *run);
/* The number of the run's next entry, when no process has written since the last look and no task record follows the newest entry. 0: unknown. */
uint64_t run_next_seq(pawl_engine *e, const char *run);
/* The number of the delivery that the last pawl_event_send left for another engine, which has the run; 0: it left none. */
uint64_t engine_left_no(const pawl_engine *e);

#endif
