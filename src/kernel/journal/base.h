/* base.h - the first record of a journal, and snapshots: written (base.c, snapshot.c) and read (load.c, decls.c, frame_read.c). */
#ifndef KERNEL_JOURNAL_BASE_H
#define KERNEL_JOURNAL_BASE_H

#include "kernel/channel.h"
#include "kernel/journal/blobs.h"
#include "kernel/state.h"

typedef struct base_parts {
    const char *channels, *machine, *machine_hash, *lineage, *prev;
    uint32_t version, no_progress, progress_nodes;
    uint64_t seq;
    pawl_bytes fold;
} base_parts;
void base_code(buf *b, const pawl_run_info *info, const base_parts *p);
pawl_code base_read(pawl_state *st, pawl_bytes base, pawl_err *err);
pawl_code snapshot_read(pawl_state *st, pawl_bytes snapshot, pawl_err *err);
/* decls.c: a text of a base, kept as long as the state; NULL: it is none, or no memory. */
const char *fixed_text(pawl_state *st, const pawl_value *v);
pawl_code decls_read(pawl_state *st, const pawl_value *channels, pawl_err *err);
/* frame_read.c: the channels of a frame, and its tasks as the close that made them did; frame_restore() both, of a subgraph. */
pawl_code values_read(pawl_state *st, frame *f, const pawl_value *values, pawl_err *err);
pawl_code tasks_read(pawl_state *st, pawl_entry *e, const char *path, const pawl_value *fold, pawl_err *err);
pawl_code frame_restore(pawl_state *st, pawl_entry *e, frame *f, const char *path, const pawl_value *fold, pawl_err *err);
/* values.c: an object of the channels; `lists` false: not those that a snapshot names by entries; `secrets`: by their name; `own`: Pawl's own, too.
 * values_apart(): of a fold, with what stands apart of it. */
void values_code(pawl_state *st, const frame *f, buf *b, bool lists, bool secrets);
void values_apart(pawl_state *st, const frame *f, buf *b, bool lists, bool secrets, bool own, blob_set *apart, buf *beside);
/* Channels by name, so that the text is canonical whatever the order of their declaration; freed with channels_order_bytes(). NULL: no memory. */
uint32_t *channels_sorted(pawl_state *st, const frame *f);
size_t channels_order_bytes(const frame *f);
bool channel_by_entries(const channel *c);             /* a snapshot names its elements by entries */
/* A value of a fold, which lies there at prefix/name; `beside` gets what stands apart of it. */
void part_code(buf *b, blob_set *apart, buf *beside, const char *prefix, const char *name, const pawl_value *v);

#endif
