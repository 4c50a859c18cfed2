/* index_check.h - the index of a run (its open waits, its head, its mailbox) compared with the state that its journal gives (K11).
 *
 * A store keeps these beside the journal, so that lists are quick. They are no part of the chain: somebody who can write the store can change them. So
 * what a person is shown, and what an answer opens, is compared with the state first. Called on the thread of the store's handle. */
#ifndef HISTORY_INDEX_CHECK_H
#define HISTORY_INDEX_CHECK_H

#include "pawl/history.h"
#include "store/store.h"

/* As the verb `waits`, but each wait is compared with the state of its run first; `fn` may use the handle. PAWL_CORRUPT: the row of a wait differs from
 * what its entry asked, err names run and wait; `fn` gets the others all the same. */
pawl_code waits_checked(pawl_store *s, const char *run, pawl_waiting_fn *fn, void *ctx, pawl_err *err);
/* One wait, of which `due` is what the state has. PAWL_OK also when the store has no open wait of that id. */
pawl_code wait_check(pawl_store *s, const char *run, const pawl_waiting *due, pawl_err *err);
/* Open waits, head and mailbox of a run, for verify. PAWL_CORRUPT: err names what differs. */
pawl_code index_check(pawl_store *s, const char *run, pawl_err *err);

#endif
