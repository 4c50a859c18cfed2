/* base.h - the first record of a journal, and snapshots: written (state.c, snapshot.c) and read (load.c, decls.c, frame_read.c). */
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
bool unhex64(const char *text, uint64_t *n);     /* 16 digits; false: they are none */
pawl_code base_read(pawl_state *st, pawl_bytes base, pawl_err *err);
pawl_code snapshot_read(pawl_state *st, pawl_bytes snapshot, pawl_err *err);
/* decls.c: a text of a base, kept as long as the state; NULL: it is none, or no memory. */
const char *fixed_text(pawl_state *st, const pawl_value *v);
pawl_code decls_read(pawl_state *st, const pawl_value *channels, pawl_err *err);
/* frame_read.c: the channels of a frame, and its tasks as the close that made them did; frame_restore() both, of a subgraph. */
pawl_code values_read(pawl_state *st, frame *f, const pawl_value *values, pawl_err *err);
pawl_code tasks_read(pawl_state *st, pawl_entry *e, const char *path, const pawl_value *fold, pawl_err *err);
pawl_code frame_restore(pawl_state *st, pawl_entry *e, frame *f, const char *path, const pawl_value *fold, pawl_err *err);
/* An object of the channels; `lists` false: not those that a snapshot names by entries; `secrets`: by their name. */
void values_code(pawl_state *st, const frame *f, buf *b, bool lists, bool secrets);
/* A value of a fold, which lies there at prefix/name; `beside` gets what stands apart of it. */
void part_code(buf *b, blob_set *apart, buf *beside, const char *prefix, const char *name, const pawl_value *v);

#endif
