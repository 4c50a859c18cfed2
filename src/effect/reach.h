/* reach.h - the files of Pawl that no tool of an agent opens and no sandbox shows: stores, anchors, and what the person's settings folder has (P9). */
#ifndef EFFECT_REACH_H
#define EFFECT_REACH_H

#include "base/base.h"

#include <sys/stat.h>

enum { OWN_PATH_BYTES = 4096 };

#define OWN_STORE "pawl.db"     /* the name of a store that nobody named otherwise: it is Pawl's in every folder */

/* ---- Pawl's own folders --------------------------------------------------------------------------------- */

typedef enum own_folder {
    OWN_STATE,                  /* "$XDG_STATE_HOME/pawl", else "$HOME/.local/state/pawl": the stores of all projects */
    OWN_CONFIG,                 /* "$XDG_CONFIG_HOME/pawl", else "$HOME/.config/pawl": settings, trusted folders, keys */
    OWN_FOLDERS
} own_folder;
/* By the environment; the folder need not exist. False: neither variable has an absolute path of fewer than OWN_PATH_BYTES. */
bool own_folder_path(own_folder which, char out[OWN_PATH_BYTES]);

/* ---- stores --------------------------------------------------------------------------------------------- */

/* A store that this process uses; its -wal, -shm, -journal and -lock belong to it. `path`: absolute. `alone`: a file without others beside it, as that of
 * anchors (P12). */
typedef struct reach_store { struct reach_store *next; const char *path; bool alone; } reach_store;
/* From now on out of reach for the tools of this process, until reach_drop; `s` and its path are lent meanwhile. Any thread. */
void reach_keep(reach_store *s);
void reach_drop(reach_store *s);        /* nothing, if it is not kept */

/* The absolute paths of all files of the kept stores, and of `more` (nmore) others, also of files that do not exist; links of their folders are resolved.
 * In `mem`; NULL: no memory. */
const char **reach_files(arena *mem, const char *const *more, size_t nmore, size_t *n);

/* ---- a look ---------------------------------------------------------------------------------------------- */

typedef struct reach_list reach_list;
/* The files and folders that are out of reach now, by device and inode. For one call of a tool: it is not kept up to date. NULL: no memory. */
reach_list *reach_read(arena *mem);
/* Whether `name` in the open folder `dir`, with this stat (NULL: it does not exist), is out of reach: a file of a store under whatever name, the name
 * of one that does not exist yet, a pawl.db, or a folder of ours. */
bool reach_forbids(const reach_list *r, int dir, const char *name, const struct stat *st);
/* Whether the folder at this absolute path, without links, is one of ours or lies in one. */
bool reach_encloses(const reach_list *r, const char *folder);

#endif
