/* look.h - what a program that shares its store's handle with an engine asks of a run that the engine has looked at. */
#ifndef ENGINE_LOOK_H
#define ENGINE_LOOK_H

#include "base/base.h"
#include "pawl/engine.h"
#include "pawl/store_verbs.h"

/* A run as the engine's store had it at one moment: what the verb look gave for a load. */
typedef struct run_seen {
    buf base, snapshot, lines;  /* each line behind the base and the snapshot with its newline */
    uint64_t base_seq, version;
    pawl_head head;             /* of its texts only whether `owner` and `parked` are there */
} run_seen;
/* The run is looked at by that, and not read again while nobody writes. Copied; a run that is known here already stays as it is. */
void run_look_by(pawl_engine *e, const char *run, const run_seen *seen);
/* Nobody held the run when it was looked at here, and nobody has written since: no table is read. False: that is not known. */
bool run_is_free(pawl_engine *e, const char *run);
/* The number of the run's next entry, if nobody has written since it was looked at here, and no record follows its newest entry. 0: that is not known. */
uint64_t run_next_seq(pawl_engine *e, const char *run);

#endif
