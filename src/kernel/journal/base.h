/* base.h - the first record of a journal, and snapshots: written (base.c, snapshot.c) and read (load.c, decls.c, frame_read.c).
 *
 * Pure. Writers change nothing of a state but lists that they load; readers change a new state, in a transaction. */
#ifndef KERNEL_JOURNAL_BASE_H
#define KERNEL_JOURNAL_BASE_H

#include "kernel/channel.h"
#include "kernel/journal/blobs.h"
#include "kernel/state.h"

typedef struct base_parts {
    const char *channels, *machine, *machine_hash, *lineage, *prev;
    uint32_t version, no_progress, progress_nodes;
    bool shows_undo, settles, rounds;
    uint64_t seq;
    pawl_bytes fold;
} base_parts;
void base_code(buf *b, const pawl_run_info *info, const base_parts *p);
pawl_code base_read(pawl_state *st, pawl_bytes base, pawl_err *err);
pawl_code snapshot_read(pawl_state *st, pawl_bytes snapshot, pawl_err *err);
/* decls.c: copies a text of a base into st->fixed; NULL: `v` is no text, or no memory. */
const char *fixed_text(pawl_state *st, const pawl_value *v);
pawl_code decls_read(pawl_state *st, const pawl_value *channels, pawl_err *err);
/* frame_read.c: read the channels of a frame, and its tasks, which are made as by the close of a superstep; frame_restore() reads both, of a
 * subgraph. */
pawl_code values_read(pawl_state *st, frame *f, const pawl_value *values, pawl_err *err);
pawl_code tasks_read(pawl_state *st, pawl_entry *e, const char *path, const pawl_value *fold, pawl_err *err);
pawl_code frame_restore(pawl_state *st, pawl_entry *e, frame *f, const char *path, const pawl_value *fold, pawl_err *err);
/* values.c: writes the channels as an object. `lists` false: without the lists that a snapshot stores as a range of entries. `secrets`: with
 * the names of the secrets in place of their values. `own`: with Pawl's own channels (@NAME). values_apart() also moves large values to blobs. */
void values_code(pawl_state *st, const frame *f, buf *b, bool lists, bool secrets);
void values_apart(pawl_state *st, const frame *f, buf *b, bool lists, bool secrets, bool own, blob_set *apart, buf *beside);
/* The indexes of the channels, sorted by name, so that the text is canonical. The caller frees channels_order_bytes() bytes. NULL: no memory. */
uint32_t *channels_sorted(pawl_state *st, const frame *f);
size_t channels_order_bytes(const frame *f);
bool channel_by_entries(const channel *c);             /* a snapshot stores a range of entries in place of the channel's elements */
/* Writes the value at prefix/name of a stored state; references to blobs go to `beside`. */
void part_code(buf *b, blob_set *apart, buf *beside, const char *prefix, const char *name, const pawl_value *v);

#endif
