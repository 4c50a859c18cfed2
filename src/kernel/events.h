/* events.h - an event becomes an item, or is ignored, or refused. */
#ifndef KERNEL_EVENTS_H
#define KERNEL_EVENTS_H

#include "kernel/spec.h"

pawl_code take_event(pawl_step *s, pawl_err *err);      /* the event becomes an item */
bool call_open(pawl_state *st, const char *id);         /* whether a command or wait of that id is open */
/* {"as","by","note","update"}: what the event said of these; `as`: its name is a node. */
const pawl_value *event_said(pawl_step *s, const char *by, bool as);
/* From here on it is as if `m` had been adopted, with no entry that says so: for who asks what `m` would have said (F5).
 * PAWL_INVALID: it could not be, a channel of its is another one in the run. */
pawl_code state_under(const pawl_machine *m, pawl_state *st, pawl_step *s, pawl_err *err);

#endif
