/* ways.h - the two ways into a run of a session: it begins, or it goes on. Every verb takes one of these, so that rules, hooks, mode, budget and
 * retention are the same for all. */
#ifndef APP_WAYS_H
#define APP_WAYS_H

#include "app/session.h"

/* ---- begin.c ------------------------------------------------------------------------------------------ */

typedef struct beginning {
    pawl_run_info info;         /* given: id, created_by, context, labels. Settled: mode, retention, budget, and the first label of a plug-in */
    pawl_mode mode;             /* given, or PAWL_MODE_NONE; settled: that of the settings, else of the agent, else default */
    const pawl_value *input;    /* an object of channels; NULL: none */
    bool only;                  /* it is stored, and not driven */
    bool settled;
} beginning;

/* What the run begins with besides its input, by the file and the current settings; also s->policy. Once; session_begin does it if nobody has. */
PAWL_MUST_USE pawl_code session_settle(session *s, beginning *b, pawl_err *err);
/* Begins the run. Returns what pawl_run_with does, or with `only` pawl_begin_with. The session is open. */
PAWL_MUST_USE pawl_code session_begin(session *s, beginning *b, pawl_err *err);

/* ---- go_on.c ------------------------------------------------------------------------------------------ */

typedef struct going_on {
    pawl_mode mode;             /* given; PAWL_MODE_NONE: it stays */
    bool drives;                /* this process will drive the run: then bypassPermissions, which is not kept, must be given again (P1) */
    bool served;                /* the run is driven for another user, who began it and may have other settings: nothing that restricts it is removed */
    const app_caller *told;     /* gets the notes about settings of which something does not count; NULL: the session's caller */
    arena *mem;                 /* NULL: that of the session */
} going_on;

/* *update: what the run takes from now on, an object of "@mode" and "@policy" by the mode that is given and the current settings; NULL: it has all that.
 * PAWL_INVALID: see `drives`. The folder is the run's own. */
PAWL_MUST_USE pawl_code session_go_on(session *s, pawl_state *st, const going_on *g, const pawl_value **update, pawl_err *err);
/* The current mode of a run, or the one that is about to apply; NULL: it has none. */
const char *run_mode_of(pawl_state *st);

#endif
