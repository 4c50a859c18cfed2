/* sandbox.h - keeps a command from the rest of the machine: bubblewrap, and in plan mode a filter of ours inside it. */
#ifndef EFFECT_SANDBOX_H
#define EFFECT_SANDBOX_H

#include "effect/effect.h"

enum { SANDBOX_SAID_BYTES = 4096, SANDBOX_KINDS = 2 };

/* In both everything can be read except the contents of /run and /tmp. */
typedef enum sandbox_kind {
    SANDBOX_READ_ONLY,          /* nothing can be written, including pipes and sockets; no network: for plan mode */
    SANDBOX_WORKSPACE           /* its folders and a private /tmp can be written; with network */
} sandbox_kind;
typedef enum sandbox_is { SANDBOX_WORKS, SANDBOX_MISSING, SANDBOX_REFUSED } sandbox_is;

/* Tested once in a process for each kind, with a command that does nothing; any thread. `said`: the reason if it is refused; may be NULL. */
sandbox_is sandbox_try(sandbox_kind kind, char said[SANDBOX_SAID_BYTES]);
/* The error of a command in plan mode if there is no sandbox. */
pawl_code sandbox_refuses(pawl_reply *r, sandbox_is is, const char *said);

typedef struct sandbox_folder { const char *path; bool read_only; } sandbox_folder;      /* absolute */
typedef struct sandbox {
    const char **words;         /* placed before the command, from bwrap to "--"; ends in NULL */
    size_t n;                   /* their number, without the NULL */
    int inside;                 /* for the program's `third`; 0: none. Owned by this */
} sandbox;
/* `folders` (n; the first is the working folder) are visible, and in a workspace writable unless read_only, except Pawl's own .pawl in them; they may
 * contain each other in any order. The words live as long as `mem`. PAWL_NOMEM, PAWL_TRANSIENT: the reply has the error. */
pawl_code sandbox_open(arena *mem, sandbox_kind kind, const sandbox_folder *folders, size_t n, sandbox *out, pawl_err *err);
void sandbox_close(sandbox *s);

/* pawl_effect_command in plan mode, with other codes: in a read-only sandbox that includes its folder. PAWL_DENIED: no sandbox can be made here. */
pawl_code sandbox_command(const pawl_job *job, pawl_reply *r, effect_codes as);

#endif
