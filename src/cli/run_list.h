/* run_list.h - the runs of a store, newest first, each with the waits of its children, as `show` has them of one run. */
#ifndef CLI_LISTED_H
#define CLI_LISTED_H

#include "cli/open_session.h"

/* As the store's `list`, and `fn` may use the handle. Of a run at work that waits for children the head says the status of all of it together,
 * and how many waits are open of them, too; and so does the filter take it. Only runs at work cost more than their heads, and with `ids` (nothing
 * but which runs they are is wanted) only where the filter asks for it. */
pawl_code runs_listed(pawl_store *store, const pawl_filter *f, bool ids, pawl_head_fn *fn, void *ctx, pawl_err *err);

#endif
