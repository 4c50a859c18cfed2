/* table.c - a hash table of nodes that are allocated before they are put, so that table_put cannot fail.
 *
 * A table owns its nodes. Called by the other files of the folder; one thread at a time. */
#include "store/memory/memory.h"

enum { SLOTS_FIRST = 8 };

static uint32_t key_hash(const char *key)
{
    uint32_t h = 2166136261u;

    for (; *key != '\0'; key++)
        h = (h ^ (uint8_t)*key) * 16777619u;
    return h;
}

void *node_new(const pawl_alloc *alloc, size_t bytes, const char *key)
{
    size_t n = strlen(key) + 1;
    char *block = mem_new(alloc, bytes + n);
    node head = { .bytes = bytes + n };

    if (block == NULL)
        return NULL;
    memcpy(block + bytes, key, n);
    head.key = block + bytes;
    head.hash = key_hash(key);
    memcpy(block, &head, sizeof head);
    return block;
}

void node_free(const pawl_alloc *alloc, void *n)
{
    if (n != NULL)
        mem_free(alloc, n, ((node *)n)->bytes);
}

static void slot_put(table *t, node *n)
{
    node **slot = &t->slots[n->hash & (t->nslots - 1)];

    n->chain = *slot;
    *slot = n;
}

bool table_room(const pawl_alloc *alloc, table *t, size_t more)
{
    table grown = *t;

    if (more > SIZE_MAX / 4 / sizeof(node *) - t->count)
        return false;
    if (grown.nslots == 0)
        grown.nslots = more == 0 ? 0 : SLOTS_FIRST;
    while (grown.nslots < t->count + more)
        grown.nslots *= 2;
    if (grown.nslots == t->nslots)
        return true;
    if ((grown.slots = mem_new(alloc, grown.nslots * sizeof *grown.slots)) == NULL)
        return false;
    for (node *n = t->first; n != NULL; n = n->next)
        slot_put(&grown, n);
    mem_free(alloc, t->slots, t->nslots * sizeof *t->slots);
    *t = grown;
    return true;
}

void table_put(table *t, node *n)
{
    slot_put(t, n);
    n->prev = t->last;
    n->next = NULL;
    if (t->last != NULL)
        t->last->next = n;
    else
        t->first = n;
    t->last = n;
    t->count++;
}

node *table_find(const table *t, const char *key)
{
    uint32_t h = key_hash(key);
    node *n = t->nslots == 0 ? NULL : t->slots[h & (t->nslots - 1)];

    while (n != NULL && (n->hash != h || strcmp(n->key, key) != 0))
        n = n->chain;
    return n;
}

void table_remove(table *t, node *n)
{
    node **at = &t->slots[n->hash & (t->nslots - 1)];

    while (*at != n)
        at = &(*at)->chain;
    *at = n->chain;
    *(n->prev != NULL ? &n->prev->next : &t->first) = n->next;
    *(n->next != NULL ? &n->next->prev : &t->last) = n->prev;
    n->chain = n->prev = n->next = NULL;
    t->count--;
}

void table_free(const pawl_alloc *alloc, table *t)
{
    for (node *n = t->first, *next; n != NULL; n = next) {
        next = n->next;
        node_free(alloc, n);
    }
    mem_free(alloc, t->slots, t->nslots * sizeof *t->slots);
    *t = (table){ .slots = NULL };
}
