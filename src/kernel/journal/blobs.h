/* blobs.h - the blobs of a step: large parts of values that are stored apart from the entry, once by content (S5).
 *
 * Owned by a step or by one writer, on its thread. */
#ifndef KERNEL_BLOB_H
#define KERNEL_BLOB_H

#include "json/json.h"

typedef struct blob_out { char digest[HASH_HEX + 1]; pawl_bytes bytes; } blob_out;

typedef struct blob_set {
    arena *mem;                     /* arena of the digests and bytes */
    size_t limit;                   /* largest canonical text in bytes that stays in the entry; SIZE_MAX: no limit */
    const pawl_value **like;        /* while a journal is verified: exactly the values with these digests become blobs, whatever the limit */
    size_t nlike, like_cap;
    blob_out *list;
    size_t n, cap;
    size_t bytes;                   /* sum of the sizes of all blobs */
    buf text;
} blob_set;

void blobs_init(blob_set *k, const pawl_alloc *alloc, arena *mem);
void blobs_reset(blob_set *k);         /* empties the list; keeps `limit` and `like` */
void blobs_done(blob_set *k);
/* A text of at most so many bytes needs no call of blob_apart(). */
static inline size_t blobs_most(const blob_set *k) { return k->nlike > 0 ? 0 : k->limit; }
/* The text of `b` from `at` on is the value `v`. Replaces the large parts of the text by null, adds them to `k`, and writes a reference for
 * each to `beside`, with its path below `prefix`. */
void blob_apart(blob_set *k, buf *b, size_t at, const pawl_value *v, const char *prefix, buf *beside);

#endif
