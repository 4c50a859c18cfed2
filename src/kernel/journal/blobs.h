/* blobs.h - what a step sets apart while it writes things down (S5). */
#ifndef KERNEL_BLOB_H
#define KERNEL_BLOB_H

#include "json/json.h"

typedef struct blob_out { char digest[HASH_HEX + 1]; pawl_bytes bytes; } blob_out;

typedef struct blob_set {
    arena *mem;                     /* where they lie */
    size_t limit;                   /* bytes of canonical text that may stand where they are; SIZE_MAX: any number */
    const pawl_value **like;        /* while a journal is verified: exactly what has these digests stands apart, whatever the limit */
    size_t nlike, like_cap;
    blob_out *list;
    size_t n, cap;
    size_t bytes;                   /* of all of them */
    buf text;
} blob_set;

void blobs_init(blob_set *k, const pawl_alloc *alloc, arena *mem);
void blobs_reset(blob_set *k);         /* keeps the limit, and what it is to be like */
void blobs_done(blob_set *k);
/* How long a text may be before blob_apart() is asked. */
static inline size_t blobs_most(const blob_set *k) { return k->nlike > 0 ? 0 : k->limit; }
/* What was written to `b` from `at` on is `v`: its large parts are taken out, so that null stands there, and `beside` gets a
 * reference for each, their paths below `prefix`. */
void blob_apart(blob_set *k, buf *b, size_t at, const pawl_value *v, const char *prefix, buf *beside);

#endif
