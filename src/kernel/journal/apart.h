/* apart.h - reads the blobs that an entry refers to and puts them into its values (S5).
 *
 * Called on the thread that owns the state. A failure of the loader is kept in st->load_failed, since the journal is not at fault. */
#ifndef KERNEL_JOURNAL_APART_H
#define KERNEL_JOURNAL_APART_H

#include "kernel/item.h"
#include "kernel/journal/blobs.h"
#include "kernel/state.h"

const pawl_value *blob_get(pawl_state *st, arena *a, const char *digest, pawl_err *err);   /* NULL: err is set, or no memory */
/* Puts into *v the blobs of the references `beside` whose path is below `under`. Adds their sizes to *bytes. */
pawl_code blobs_fill(pawl_state *st, arena *a, const pawl_value **v, const pawl_value *beside, const char *under, size_t *bytes, pawl_err *err);
pawl_code item_whole(pawl_state *st, pawl_entry *e, item *it, pawl_err *err);   /* resolves them all */
/* From here on `k` moves exactly those values to blobs that the entry has in blobs. False: no memory. */
bool blobs_like(blob_set *k, arena *mem, const pawl_entry *e);
pawl_loader step_loader(pawl_step *s);          /* a loader that finds the blobs of this step, which no store has yet */

#endif
