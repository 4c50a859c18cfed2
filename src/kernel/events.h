/* events.h - turns an event into an item, or ignores or refuses the event. Called by the step loop, inside the step's transaction. */
#ifndef KERNEL_EVENTS_H
#define KERNEL_EVENTS_H

#include "kernel/spec.h"

pawl_code take_event(pawl_step *s, pawl_err *err);      /* adds the item of s->ev; PAWL_IGNORED: the event has no effect */
bool call_open(pawl_state *st, const char *id);         /* whether a command or wait of that id is open */
/* The object {"as","by","note","update"} with the members that the event has. `as`: the event's name is a node. */
const pawl_value *event_members(pawl_step *s, const char *by, bool as);
/* Puts the state under machine `m` as an adoption would, but without an entry: `pawl verify --against` asks what `m` would have done (F5).
 * PAWL_INVALID: `m` cannot be adopted, since a channel differs from the run's channel of that name. */
pawl_code state_under(const pawl_machine *m, pawl_state *st, pawl_step *s, pawl_err *err);

#endif
