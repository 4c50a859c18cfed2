/* record_rights.h - the mode and the rights of a run's record hold from its start on (P1, E11). */
#ifndef ENGINE_RECORD_RIGHTS_H
#define ENGINE_RECORD_RIGHTS_H

#include "engine/engine.h"

/* `ev` is about to be fed to a run of `m`. A start gets the mode and the rights of the record `base` (a base of a run) as input: the lower one counts, of
 * that mode and of one that the input has. An update never gives more than those rights. `text` holds the changed value, and is freed by the caller.
 * PAWL_INVALID: the machine has no modes, so plan mode cannot hold. */
pawl_code record_rights(const pawl_machine *m, pawl_bytes base, bool child, pawl_event *ev, buf *text, pawl_err *err);

/* Feeds the start of a run that is not stored yet, as the engine that drives it will: below 0, the machine refuses it. Every run begins with this call or
 * with run_feed(): what its record says of mode and rights holds either way. */
pawl_code start_try(const pawl_machine *m, pawl_state *st, pawl_bytes input, int64_t now, pawl_step *step, pawl_err *err);

#endif
