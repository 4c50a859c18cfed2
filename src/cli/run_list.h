/* run_list.h - the runs of a store, newest first, each with the waits of its children, as `show` has them of one run. */
#ifndef CLI_RUN_LIST_H
#define CLI_RUN_LIST_H

#include "cli/open_session.h"

/* Like the store's `list`; `fn` may use the handle. The head of a working run with waiting children has the status of all of them together, and includes
 * their waits in its number; the filter is applied to these values. Only working runs cost more than reading their heads, and with `ids` (only ids are
 * wanted) only if the filter needs their status. `want` (may be NULL), which may use the handle, too, gets each head as it is stored, and returns false for a
 * run that is left out before more of it is read. */
pawl_code runs_listed(pawl_store *store, const pawl_filter *f, bool ids, pawl_head_fn *want, pawl_head_fn *fn, void *ctx, pawl_err *err);

#endif
