/* sandbox.h - what keeps a command from the rest of the machine: bubblewrap, and in plan mode a filter of our own inside of it. */
#ifndef EFFECT_SANDBOX_H
#define EFFECT_SANDBOX_H

#include "effect/effect.h"

enum { SANDBOX_SAID_BYTES = 4096, SANDBOX_KINDS = 2 };

/* In both everything can be read, but what lies in /run and /tmp. */
typedef enum sandbox_kind {
    SANDBOX_READ_ONLY,          /* nothing can be written, no pipe and no socket either, and there is no network: for plan mode */
    SANDBOX_WORKSPACE           /* its folders and a /tmp of its own can be written, and the network is there */
} sandbox_kind;
typedef enum sandbox_is { SANDBOX_WORKS, SANDBOX_MISSING, SANDBOX_REFUSED } sandbox_is;

/* Tried once in a process and for a kind, with a command that does nothing; on any thread. `said`: why it is refused, NULL: not wanted. */
sandbox_is sandbox_try(sandbox_kind kind, char said[SANDBOX_SAID_BYTES]);
/* What whoever wanted it in plan mode is told, where it does not work. */
pawl_code sandbox_refuses(pawl_reply *r, sandbox_is is, const char *said);

typedef struct sandbox_folder { const char *path; bool read_only; } sandbox_folder;      /* absolute */
typedef struct sandbox {
    const char **words;         /* before the command, from bwrap to "--"; ends in NULL */
    size_t n;                   /* without that */
    int inside;                 /* the program's `third`; 0: none. Ours */
} sandbox;
/* `folders` (n of them; the first is where it runs) are in it, too, and in a workspace can be written where they are not read_only, but for what is
 * Pawl's own in them (.pawl): whichever of them lies in which. The words live as long as `mem`. PAWL_NOMEM, PAWL_TRANSIENT: told. */
pawl_code sandbox_open(arena *mem, sandbox_kind kind, const sandbox_folder *folders, size_t n, sandbox *out, pawl_err *err);
void sandbox_close(sandbox *s);

/* pawl_effect_command in plan mode, with other codes: in a read-only sandbox that has its folder. PAWL_DENIED: none can be made here. */
pawl_code sandbox_command(const pawl_job *job, pawl_reply *r, effect_codes as);

#endif
