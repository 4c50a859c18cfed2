/* apart.h - blobs that an entry names are read through the loader and put in (S5). A loader's failure stands in st->load_failed. */
#ifndef KERNEL_JOURNAL_APART_H
#define KERNEL_JOURNAL_APART_H

#include "kernel/item.h"
#include "kernel/journal/blobs.h"
#include "kernel/state.h"

const pawl_value *blob_get(pawl_state *st, arena *a, const char *digest, pawl_err *err);   /* NULL: told, or no memory */
/* Into *v, for those of `beside` whose path lies below `under`; all of them are blobs. *bytes grows by theirs. */
pawl_code blobs_fill(pawl_state *st, arena *a, const pawl_value **v, const pawl_value *beside, const char *under, size_t *bytes, pawl_err *err);
pawl_code item_whole(pawl_state *st, pawl_entry *e, item *it, pawl_err *err);   /* one that has references of its own */
bool blobs_like(blob_set *k, arena *mem, const pawl_entry *e);     /* from here on it sets apart what the entry does; false: no memory */
pawl_loader step_loader(pawl_step *s);          /* of what the step has set apart */

#endif
