/* loop_guard.h - the same call with the same result again: before it leaves once more, somebody is asked.
 *
 * Called as a node makes a call, inside its visit; none is asked where it is off. */
#ifndef KERNEL_LOOP_GUARD_H
#define KERNEL_LOOP_GUARD_H

#include "kernel/laps.h"

/* Asked before the call of this SPEC is made. PAWL_INTERRUPTED: a wait stands in its place; PAWL_DENIED: told; PAWL_OK: it may be made. */
pawl_code progress_asks(pawl_step *s, const char *spec, size_t size);
/* The number of a command as its node counts them: these waits are none of its own. */
uint32_t progress_counted(pawl_step *s, uint32_t n);
bool progress_wait(pawl_step *s, const struct call *c);        /* whether it is such a wait */

#endif
