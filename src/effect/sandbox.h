/* sandbox.h - what keeps a command from the rest of the machine: bubblewrap. */
#ifndef EFFECT_SANDBOX_H
#define EFFECT_SANDBOX_H

#include "base/base.h"

enum { SANDBOX_SAID_BYTES = 4096, SANDBOX_KINDS = 2 };

/* In both everything can be read, but what lies in /run and /tmp. */
typedef enum sandbox_kind {
    SANDBOX_READ_ONLY,          /* nothing can be written, and there is no network: for plan mode */
    SANDBOX_WORKSPACE           /* its folders and a /tmp of its own can be written, and the network is there */
} sandbox_kind;
typedef enum sandbox_is { SANDBOX_WORKS, SANDBOX_MISSING, SANDBOX_REFUSED } sandbox_is;

/* Tried once in a process and for a kind, with a command that does nothing; on any thread. `said`: why it is refused, NULL: not wanted. */
sandbox_is sandbox_try(sandbox_kind kind, char said[SANDBOX_SAID_BYTES]);
typedef struct sandbox_folder { const char *path; bool read_only; } sandbox_folder;      /* absolute, without links */
/* The words before a command that is to run in it, from bwrap to "--"; `folders` (n of them; the first is where it runs) are there, too,
 * and in a workspace can be written where they are not read_only, but for what is Pawl's own in them (.pawl): whichever of them lies in which. A vector that
 * ends in NULL; *count without that. NULL: no memory. */
const char **sandbox_words(arena *mem, sandbox_kind kind, const sandbox_folder *folders, size_t n, size_t *count);
/* The same arguments of pawl_effect_command, to be run in one that is read only, and its folder is there, too. NULL: no memory. */
const pawl_value *sandboxed(arena *mem, const pawl_value *args);

#endif
