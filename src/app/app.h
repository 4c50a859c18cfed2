/* app.h - what src/app needs of its caller: a function that prints a line for a person, and a few options.
 *
 * The program `pawl` fills one in for each call of a verb; a server or a binding fills in its own. src/app knows no verb and no terminal. */
#ifndef APP_APP_H
#define APP_APP_H

#include "json/json.h"
#include "pawl/engine.h"

enum { RUN_ID_BYTES = 129 };    /* of the id of a run, with its NUL */

/* One line for a person, without a newline; it may hold anything that a file or a model wrote, so it is cleaned before it is shown. */
typedef void app_note_fn(void *ctx, const char *text);

typedef struct app_caller {
    app_note_fn *note;          /* NULL: nobody reads it */
    void *ctx;
    bool models;                /* models are called here, so a record of their answers applies */
    bool anchors;               /* runs are driven here, so their heads are anchored if the person has set it (P12) */
    const char *anchor;         /* where; NULL: PAWL_ANCHOR, else the person's settings say */
    const char *store;          /* the store that is open, by a name without a password: transcripts are kept apart by it; NULL: one in memory */
    unsigned without_sources;   /* settings that widen nothing for this call: bits 1 the person's, 2 the project's, 4 its local ones */
    struct jobs *jobs;          /* gets the jobs of files (jobs.h); NULL: no worker elsewhere is reached from here, and they wait */
    const char *record, *record_mode;   /* file and mode of that record; NULL: PAWL_RECORD and PAWL_RECORD_MODE give them */
} app_caller;

/* Formats a line and gives it to `caller` (may be NULL). */
void app_note(const app_caller *caller, const char *fmt, ...) PAWL_PRINTF(2, 3);

#endif
