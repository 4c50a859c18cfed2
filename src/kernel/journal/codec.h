/* codec.h - items and entries to bytes (encode.c), and back (decode.c). Pure: any thread, memory of the caller's arenas only. */
#ifndef KERNEL_JOURNAL_CODEC_H
#define KERNEL_JOURNAL_CODEC_H

#include "kernel/item.h"
#include "kernel/journal/blobs.h"

/* `apart`: receives values that are too large for the entry; NULL: all values stay in the entry. */
void item_code(buf *b, const item *it, value_refs *held, blob_set *apart, buf *scratch);
void id_code(buf *b, const item *it);           /* the local part of an invocation id: 2.review.1.0 */
void entry_code(pawl_entry *e, buf *b, value_refs *held, blob_set *apart, buf *scratch);
void envelope_code(buf *b, const pawl_entry *e);

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
