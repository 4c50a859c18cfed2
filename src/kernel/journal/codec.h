/* codec.h - items and entries to bytes (encode.c), and back (decode.c). Pure: any thread, memory of the caller's arenas only. */
#ifndef KERNEL_JOURNAL_CODEC_H
#define KERNEL_JOURNAL_CODEC_H

#include "kernel/item.h"
#include "kernel/names.h"
#include "kernel/journal/blobs.h"

/* `apart`: receives values that are too large for the entry; NULL: all values stay in the entry. */
void item_code(buf *b, const item *it, value_refs *held, blob_set *apart, buf *scratch);
void id_code(buf *b, const item *it);           /* the local part of an invocation id: 2.review.1.0 */
void entry_code(pawl_entry *e, buf *b, value_refs *held, blob_set *apart, buf *scratch);
void envelope_code(buf *b, const pawl_entry *e);

/* snapshot.c: an entry after a snapshot names it, {"@snapshot":{"digest","seq"}}: so its digest stands in the chain, and one that was changed is not used
 * (K11). */
/* `lines`: those after the entry that the snapshot is of, each with a newline. Any error: the snapshot must not be used. PAWL_GONE: none names it;
 * PAWL_CORRUPT: the first names another. */
pawl_code snapshot_fits(pawl_bytes lines, pawl_bytes snapshot, pawl_step *s, pawl_err *err);
static inline bool snapshot_is_name(const item *it) { return it->kind == ITEM_UPDATE && pawl_value_get(it->value, SNAPSHOT_MEMBER) != NULL; }
static inline bool entry_names_snapshot(const pawl_entry *e) { return e->items != NULL && snapshot_is_name(e->items); }
void snapshot_naming(buf *out, const pawl_state *st);   /* the value of the update that names the snapshot that was made of `st` just now */
/* Before `line` is fed again: the state is as if it had made the snapshot that `line` names. False: no memory. */
bool snapshot_as_named(pawl_state *st, const pawl_entry *line);
bool snapshot_is_made(const pawl_state *st, const char *digest);    /* whether that is the digest of the snapshot that this state made last */

/* Reading. */
pawl_code entry_parse(pawl_entry *e, pawl_bytes line, pawl_err *err);  /* e->mem is set, the rest zero */
pawl_code items_parse(pawl_entry *e, const char *text, size_t size, pawl_err *err);
item *item_parse(arena *a, const char *text, size_t size, pawl_err *err);      /* it->spec points into `text` */
item *item_of_value(arena *a, const pawl_value *v, const char **text, pawl_err *err);  /* text: canonical, of text_size bytes */
bool names_valid(const pawl_value *names);       /* an array of texts */
bool joins_valid(const pawl_value *joins);       /* {JOIN: names} */
const leave *leave_parse(arena *a, const char *text, size_t size, pawl_err *err);
bool id_parse(const char *id, char *task, uint64_t *superstep, uint32_t *visit_no, uint32_t *n);

#endif
