/* kernel.h - durable agent state machines: the kernel.
 *
 * A machine is a pure function. Fed one event, it answers with one step: what changes in
 * the state, the commands to carry out, what to tell the readers, and whether the run is
 * over. It does no I/O, reads no clock, draws no random number: time arrives in the event,
 * effects leave as commands. So a run folded again from its journal stands, byte for byte,
 * where it stood - after a crash, on another host, inside a test.
 *
 * The loop that drives a run, whole, as the engine does it:
 *
 *     pawl_advance(machine, state, &event, step, &err);    the machine says what happens, and the state has moved on
 *     store base, pawl_step_bytes(step) in one transaction  durable from here on; refused: drop the state, load it again
 *     perform pawl_state_command(state, i, ...)             effects; each ends in a receipt event
 *
 * Killed anywhere in between, load what is stored with pawl_state_load and go on. Whoever wants to keep a state that the store refused
 * feeds it with pawl_feed, which leaves it as it was, and folds the entry with pawl_apply once it is stored. */
#ifndef PAWL_KERNEL_H
#define PAWL_KERNEL_H

#include "pawl/kernel/names.h"
#include "pawl/kernel/channel.h"
#include "pawl/kernel/run.h"
#include "pawl/kernel/command.h"
#include "pawl/kernel/step.h"
#include "pawl/kernel/node.h"
#include "pawl/kernel/machine.h"

#endif
