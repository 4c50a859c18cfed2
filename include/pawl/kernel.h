/* kernel.h - the kernel: runs of pure machines, their states and their journals.
 *
 * A machine is a pure function. For one event it returns one step: the changes of the state, the commands to perform, the emissions for readers, and
 * whether the run has ended. It does no I/O, reads no clock and draws no random number: time is a member of the event, and effects leave as commands.
 * So a run that is folded from its journal again has the same state to the byte: after a crash, on another host, in a test.
 *
 * Most programs use pawl/engine.h, which drives runs. This is the loop that it runs, for programs that drive them themselves:
 *
 *     pawl_advance(machine, state, &event, step, &err);     the machine decides, and the state changes
 *     store pawl_step_bytes(step) in one transaction        durable from here on. The first time together with pawl_state_base(state).
 *                                                           When this fails: free the state, load it again
 *     perform each pawl_state_command(state, i, ...)        effects; each ends in a receipt, which is the next event
 *
 * When the process is killed anywhere in this loop, the next one loads what is stored (pawl_state_load, then pawl_apply for each entry) and continues.
 * A caller that cannot load a state again uses pawl_feed, which does not change it, and pawl_apply once the entry is stored.
 *
 *   threads    a machine may be shared; a state and a step belong to one thread at a time
 *   ownership  what a function puts into a step is valid until that step is used again */
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
