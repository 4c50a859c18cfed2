/* masks.h - what a sandbox hides of the folders that it shows: Pawl's own files (P9), and what a rule denies to read (P8). */
#ifndef EFFECT_MASKS_H
#define EFFECT_MASKS_H

#include "effect/sandbox.h"

typedef struct mask { const char *path; bool folder; } mask;    /* absolute, without links; it exists */
typedef struct masks {
    mask *all;
    size_t n;
    sandbox_folder *folders;    /* the given ones, and those between a writable one and a mask: mounted, so that no command can rename them */
    size_t nfolders;
} masks;

/* The stores in use with all that lies beside them, the folders of stores and settings, and a pawl.db in one of the folders. What does not exist, but could
 * be made by a command, is created empty. The folders of `ask` have no links. `home`: the real folder in whose place a private one may be; NULL: none.
 * PAWL_NOMEM. */
pawl_code masks_find(arena *mem, const sandbox_ask *ask, const char *home, masks *out);

#endif
