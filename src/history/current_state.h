/* current_state.h - a run as it stands now, by its snapshot and what came after it: what it costs does not grow with the journal.
 *
 *     current_state now;
 *     if ((rc = current_state_load(&now, store, run, &err)) == PAWL_OK)
 *         show(now.st);
 *     current_state_free(&now);
 *
 * The state reads from the store when it is asked for elements that the snapshot left in the journal, and for blobs: so it is of use only while the store
 * is, on that thread, and `now` must not move. What has to outlive the store is pawl_history_state(). */
#ifndef HISTORY_CURRENT_STATE_H
#define HISTORY_CURRENT_STATE_H

#include "engine/run/query.h"
#include "history/history.h"
#include "stream/entry_page.h"

typedef struct current_state {
    pawl_state *st;             /* NULL: it could not be loaded */
    pawl_err unfit;             /* why the snapshot was not used, and the whole journal was folded; code PAWL_OK: it was, or there is none */
    blobs_of blobs;
    entry_page entries;
} current_state;

/* `now` must always be freed, also after a failure. PAWL_GONE: no such run; PAWL_CORRUPT: the journal is damaged. */
pawl_code current_state_load(current_state *now, pawl_store *s, const char *run, pawl_err *err);
bool current_state_spawned(const current_state *now);      /* by another run; of one that was loaded */
/* The same; `seen` gets what it was loaded from, for an engine (run_load_seen), and is always to be freed. */
pawl_code current_state_seen(current_state *now, pawl_store *s, const char *run, run_seen *seen, pawl_err *err);
void run_seen_free(run_seen *seen);
void current_state_free(current_state *now);

#endif
