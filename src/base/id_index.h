/* id_index.h - an index of things by their ids: open addressing, with the hash of each id beside the pointer.
 *
 * A search looks at a thing only if its hash is the one that is searched: where there are very many, each look at another thing would be memory far from
 * the cache. The owner compares the ids. Owned and locked by the owner. Invariant: one slot at least is free. */
#ifndef BASE_ID_INDEX_H
#define BASE_ID_INDEX_H

#include "base/base.h"

typedef struct id_slot { void *of; uint32_t hash; } id_slot;    /* `of` NULL: free */

typedef struct id_index {
    id_slot *slots;             /* NULL: none yet */
    size_t size, count;         /* slots, a power of two; those in use, at most half unless there was no memory */
} id_index;

uint32_t id_hash(const char *id);                /* in memory only: it may be another one in another version */
bool id_index_room(id_index *x, const pawl_alloc *alloc, size_t more);  /* for so many more, at most half of all slots; false: no memory */
bool id_index_add(id_index *x, const pawl_alloc *alloc, uint32_t h, void *of);  /* false: no memory, and the index is unchanged */
void id_index_put(id_index *x, uint32_t h, void *of);           /* where there is room */
void id_index_remove(id_index *x, uint32_t h, const void *of);  /* it is there */
void id_index_free(id_index *x, const pawl_alloc *alloc);       /* empty again */

/* The things of one hash, one by one: `at` starts as id_index_first(); NULL after the last. */
static inline size_t id_index_first(const id_index *x, uint32_t h) { return x->size > 0 ? h & (x->size - 1) : 0; }
static inline void *id_index_next(const id_index *x, uint32_t h, size_t *at)
{
    if (x->size == 0)
        return NULL;
    for (;;) {
        const id_slot *slot = &x->slots[*at];

        *at = (*at + 1) & (x->size - 1);
        if (slot->of == NULL || slot->hash == h)
            return slot->of;
    }
}

#endif
