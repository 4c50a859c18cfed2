/* anchor.h - where heads of journals are kept outside of the store (P12): a file that is only appended to, or a command that gets each line. */
#ifndef APP_ANCHOR_H
#define APP_ANCHOR_H

#include "app/app.h"

typedef struct app_anchor app_anchor;

/* What the caller, else PAWL_ANCHOR, else the person's settings name; a project has no say. *out NULL: nothing is named, or the caller drives no runs. The
 * file is made if it is missing, and out of reach for the tools of this process until anchor_close(). PAWL_INVALID, PAWL_IO. */
pawl_code anchor_open(const app_caller *caller, app_anchor **out, pawl_err *err);
void anchor_close(app_anchor *a);       /* may be NULL */
pawl_anchor_fn anchor_keep;             /* its ctx is the app_anchor */
/* The head of a run that is about to be removed by a person; nothing if `a` is NULL. */
pawl_code anchor_removed(app_anchor *a, pawl_store *store, const char *run, pawl_err *err);
/* Anchors the head of a run before the beginning of its journal is pruned. */
pawl_code anchor_pruned(app_anchor *a, pawl_store *store, const char *run, pawl_err *err);
/* What a command prints, for a reader of anchors. `command` without its "|". PAWL_IO: it failed. */
pawl_code anchor_printed(const char *command, buf *out, pawl_err *err);
/* The file or "|CMD" as anchor_open() finds it, in `mem`; NULL: see err, or none is named. */
const char *anchor_named(const app_caller *caller, arena *mem, pawl_err *err);

#endif
