/* id_index.c - things by the hash of their ids: growing, adding, removing. See id_index.h.
 *
 * Used by tables of the engine and of the store in memory, on the thread of their owner. Pure but for memory. */
#include "base/id_index.h"

enum { ID_SLOTS_FIRST = 8 };

/* Eight bytes at a time: an id has some forty, and each event has several. */
uint32_t id_hash(const char *id)
{
    const uint64_t odd = UINT64_C(0x9E3779B97F4A7C15);
    size_t left = strlen(id);
    uint64_t h = left * odd, some;

    for (; left >= sizeof some; id += sizeof some, left -= sizeof some) {
        memcpy(&some, id, sizeof some);
        h = (h ^ some) * odd;
        h ^= h >> 32;
    }
    some = 0;
    for (size_t i = 0; i < left; i++)
        some = some << 8 | (uint8_t)id[i];
    h = (h ^ some) * odd;
    return (uint32_t)(h ^ h >> 32);
}

void id_index_put(id_index *x, uint32_t h, void *of)
{
    size_t i = id_index_first(x, h);

    PAWL_ASSERT(x->count + 1 < x->size, "a search ends at a free slot");
    while (x->slots[i].of != NULL)
        i = (i + 1) & (x->size - 1);
    x->slots[i] = (id_slot){ of, h };
    x->count++;
}

bool id_index_room(id_index *x, const pawl_alloc *alloc, size_t more)
{
    id_index grown = { .size = x->size == 0 ? ID_SLOTS_FIRST : x->size };

    if (more > SIZE_MAX / 8 / sizeof *grown.slots - x->count)
        return false;
    if (more == 0 || x->count + more <= x->size / 2)
        return true;
    while (grown.size / 2 < x->count + more)
        grown.size *= 2;
    if ((grown.slots = mem_new(alloc, grown.size * sizeof *grown.slots)) == NULL)
        return false;
    for (size_t i = 0; i < x->size; i++)
        if (x->slots[i].of != NULL)
            id_index_put(&grown, x->slots[i].hash, x->slots[i].of);
    mem_free(alloc, x->slots, x->size * sizeof *x->slots);
    *x = grown;
    return true;
}

bool id_index_add(id_index *x, const pawl_alloc *alloc, uint32_t h, void *of)
{
    if (!id_index_room(x, alloc, 1) && x->count + 1 >= x->size)
        return false;
    id_index_put(x, h, of);     /* without memory a search only takes longer */
    return true;
}

/* Moves later slots of the same stretch up if their own position allows it, so that a search never ends too early. */
static void id_slot_close(id_index *x, size_t gap)
{
    const size_t mask = x->size - 1;

    for (size_t i = (gap + 1) & mask; x->slots[i].of != NULL; i = (i + 1) & mask) {
        const size_t home = x->slots[i].hash & mask;

        if (((i - home) & mask) < ((i - gap) & mask))
            continue;
        x->slots[gap] = x->slots[i];
        gap = i;
    }
    x->slots[gap] = (id_slot){ NULL, 0 };
}

void id_index_remove(id_index *x, uint32_t h, const void *of)
{
    size_t i = id_index_first(x, h);

    PAWL_ASSERT(x->count > 0, "what is removed is there");
    while (x->slots[i].of != of) {
        PAWL_ASSERT(x->slots[i].of != NULL, "what is removed is there");
        i = (i + 1) & (x->size - 1);
    }
    id_slot_close(x, i);
    x->count--;
}

void id_index_free(id_index *x, const pawl_alloc *alloc)
{
    mem_free(alloc, x->slots, x->size * sizeof *x->slots);
    *x = (id_index){ NULL, 0, 0 };
}
