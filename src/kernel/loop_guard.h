/* loop_guard.h - asks a person before a node repeats the same calls with the same results once more.
 *
 * Called inside a visit when a node makes a call, on the thread that owns the step. The guard is off when st->no_progress is 0. */
#ifndef KERNEL_LOOP_GUARD_H
#define KERNEL_LOOP_GUARD_H

#include "kernel/laps.h"

/* Checks the call with this SPEC before the node makes it. PAWL_OK: make the call. PAWL_INTERRUPTED: the question takes the number of the call
 * and is open. PAWL_DENIED: the person said no; the visit has the error. */
pawl_code loop_guard_check(pawl_step *s, const char *spec, size_t size);
/* The number of a command as its node counts: without the questions of the guard. */
uint32_t loop_guard_number(pawl_step *s, uint32_t n);
bool loop_guard_is_wait(pawl_step *s, const struct call *c);        /* whether the call is a question of the guard */

#endif
