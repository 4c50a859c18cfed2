/* sandbox.h - what a command of plan mode is run by: everything can be read, nothing written, and there is no network. */
#ifndef CLI_SANDBOX_H
#define CLI_SANDBOX_H

#include "base/base.h"

enum { SANDBOX_SAID_BYTES = 4096 };

typedef enum sandbox_is { SANDBOX_WORKS, SANDBOX_MISSING, SANDBOX_REFUSED } sandbox_is;

/* Tried once in a process, with a command that does nothing; on any thread. `said`: why it is refused, NULL: not wanted. */
sandbox_is sandbox_try(char said[SANDBOX_SAID_BYTES]);
/* The same arguments of pawl_effect_command, to be run in it, and its folder is there, too. NULL: no memory. */
const pawl_value *sandboxed(arena *mem, const pawl_value *args);

#endif
