/* hash_index.h - an index by hash, with open addressing, for tables that are searched by name or by value.
 *
 * It has a hash and a number for each thing, but not the thing itself: the owner compares. It is a cache of the owner's vector, and can be dropped and
 * built again. Owned and locked by the owner. Invariant: at most half of the slots are in use. */
#ifndef BASE_HASH_INDEX_H
#define BASE_HASH_INDEX_H

#include "base/base.h"

typedef struct hash_slot { uint32_t hash, number; } hash_slot;     /* number: the position + 1; 0: free */

typedef struct hash_index {
    hash_slot *slots;           /* NULL: none yet */
    uint32_t size, count;       /* slots, a power of two; those in use */
} hash_index;

/* `number` is below UINT32_MAX. False: no memory, and the index is unchanged. */
bool hash_index_add(hash_index *x, const pawl_alloc *alloc, uint32_t h, uint32_t number);
void hash_index_remove(hash_index *x, uint32_t h, uint32_t number);     /* does nothing if it is not there */
void hash_index_free(hash_index *x, const pawl_alloc *alloc);           /* empty again */

/* An index of `size` zeroed slots in the owner's memory, if the number of things is known before. False: `slots` is NULL. */
static inline uint32_t hash_index_size(uint32_t count)
{
    uint32_t size = 16;

    while (size / 2 <= count)
        size *= 2;
    return size;
}
static inline bool hash_index_lent(hash_index *x, void *slots, uint32_t size)
{
    *x = (hash_index){ slots, slots != NULL ? size : 0, 0 };
    return slots != NULL;
}

/* The positions for one hash, one by one: `at` starts as hash_index_first(); UINT32_MAX after the last. */
static inline uint32_t hash_index_first(const hash_index *x, uint32_t h) { return x->size > 0 ? h & (x->size - 1) : 0; }
static inline uint32_t hash_index_next(const hash_index *x, uint32_t h, uint32_t *at)
{
    if (x->size == 0)
        return UINT32_MAX;
    for (;;) {
        const hash_slot *slot = &x->slots[*at];

        if (slot->number == 0)
            return UINT32_MAX;
        *at = (*at + 1) & (x->size - 1);
        if (slot->hash == h)
            return slot->number - 1;
    }
}

#endif
