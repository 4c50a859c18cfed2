/* items_paged.h - a reader of items for a thread that may not stop: what is before its cursor is read in pages, and not when it is opened. */
#ifndef STREAM_ITEMS_PAGED_H
#define STREAM_ITEMS_PAGED_H

#include "pawl/items.h"

/* As pawl_items_open, without an engine. pawl_items_next() returns PAWL_INTERRUPTED when it has read a page of at most ITEMS_PAGE entries before the cursor,
 * and was not there yet: it is called again. A cursor beyond what the run has in its last entry is an error of pawl_items_next(). */
pawl_items *items_open_paged(pawl_store *store, const char *run, const pawl_items_options *options, pawl_err *err);
enum { ITEMS_PAGE = 256 };

#endif
