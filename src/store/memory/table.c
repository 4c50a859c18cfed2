/* table.c - a hash table of nodes that are allocated before they are put, so that table_put cannot fail.
 *
 * A table owns its nodes. Called by the other files of the folder; one thread at a time. */
#include "store/memory/memory.h"

void *node_new(const pawl_alloc *alloc, size_t bytes, const char *key)
{
    size_t n = strlen(key) + 1;
    char *block = mem_new(alloc, bytes + n);
    node head = { .bytes = bytes + n };

    if (block == NULL)
        return NULL;
    memcpy(block + bytes, key, n);
    head.key = block + bytes;
    head.hash = id_hash(key);
    memcpy(block, &head, sizeof head);
    return block;
}

void node_free(const pawl_alloc *alloc, void *n)
{
    if (n != NULL)
        mem_free(alloc, n, ((node *)n)->bytes);
}

bool table_room(const pawl_alloc *alloc, table *t, size_t more) { return id_index_room(&t->by_key, alloc, more); }

void table_put(table *t, node *n)
{
    id_index_put(&t->by_key, n->hash, n);
    n->prev = t->last;
    n->next = NULL;
    if (t->last != NULL)
        t->last->next = n;
    else
        t->first = n;
    t->last = n;
    t->count++;
}

static node *keyed(const table *t, const char *key, uint32_t h)
{
    size_t at = id_index_first(&t->by_key, h);
    node *n;

    while ((n = id_index_next(&t->by_key, h, &at)) != NULL && strcmp(n->key, key) != 0)
        ;
    return n;
}

node *table_find(const table *t, const char *key) { return keyed(t, key, id_hash(key)); }
node *table_same(const table *t, const node *n) { return keyed(t, n->key, n->hash); }

void table_remove(table *t, node *n)
{
    id_index_remove(&t->by_key, n->hash, n);
    *(n->prev != NULL ? &n->prev->next : &t->first) = n->next;
    *(n->next != NULL ? &n->next->prev : &t->last) = n->prev;
    n->prev = n->next = NULL;
    t->count--;
}

void table_free(const pawl_alloc *alloc, table *t)
{
    for (node *n = t->first, *next; n != NULL; n = next) {
        next = n->next;
        node_free(alloc, n);
    }
    id_index_free(&t->by_key, alloc);
    *t = (table){ .count = 0 };
}
