/* hash_index.c - positions by hash: growing, adding, removing. See hash_index.h.
 *
 * Used by tables of the kernel and others, on the thread of their owner. Pure but for memory. */
#include "base/hash_index.h"

enum { SLOTS_FIRST = 16 };

static void slot_put(hash_slot *slots, uint32_t size, hash_slot what)
{
    uint32_t i = what.hash & (size - 1);

    while (slots[i].number != 0)
        i = (i + 1) & (size - 1);
    slots[i] = what;
}

static bool index_grow(hash_index *x, const pawl_alloc *alloc)
{
    uint32_t size = x->size == 0 ? SLOTS_FIRST : x->size * 2;
    hash_slot *slots;

    if (size < x->size || (slots = mem_new(alloc, size * sizeof *slots)) == NULL)
        return false;
    for (uint32_t i = 0; i < x->size; i++)
        if (x->slots[i].number != 0)
            slot_put(slots, size, x->slots[i]);
    mem_free(alloc, x->slots, x->size * sizeof *slots);
    x->slots = slots;
    x->size = size;
    return true;
}

bool hash_index_add(hash_index *x, const pawl_alloc *alloc, uint32_t h, uint32_t number)
{
    PAWL_ASSERT(number < UINT32_MAX, "a position fits its slot");
    if (x->count >= x->size / 2 && !index_grow(x, alloc))
        return false;
    slot_put(x->slots, x->size, (hash_slot){ h, number + 1 });
    x->count++;
    return true;
}

/* Moves later slots of the same stretch up if their own position allows it, so that a search never ends too early. */
static void slot_close(hash_index *x, uint32_t gap)
{
    const uint32_t mask = x->size - 1;

    for (uint32_t i = (gap + 1) & mask; x->slots[i].number != 0; i = (i + 1) & mask) {
        uint32_t home = x->slots[i].hash & mask;

        if (((i - home) & mask) < ((i - gap) & mask))
            continue;
        x->slots[gap] = x->slots[i];
        gap = i;
    }
    x->slots[gap] = (hash_slot){ 0, 0 };
}

void hash_index_remove(hash_index *x, uint32_t h, uint32_t number)
{
    uint32_t i = hash_index_first(x, h);

    for (; x->size > 0 && x->slots[i].number != 0; i = (i + 1) & (x->size - 1))
        if (x->slots[i].hash == h && x->slots[i].number == number + 1) {
            slot_close(x, i);
            x->count--;
            return;
        }
}

void hash_index_free(hash_index *x, const pawl_alloc *alloc)
{
    mem_free(alloc, x->slots, x->size * sizeof *x->slots);
    *x = (hash_index){ NULL, 0, 0 };
}
