/* list.h - the value of a channel that grows: an array (append, topic, union, barrier), or the object of a merge with many members.
 *
 * Owned by a channel or the state; changed in a transaction only, which takes back what came to it (txn.c). Appending raises `used` and
 * `count`, taking back lowers them. Elements that a snapshot left in the journal are read when they are needed: `segment` of them stand before
 * nodes[1]. Invariants: floating <= count; digested <= segment + count - floating; seen_nodes <= used; an object has no segment. */
#ifndef KERNEL_LIST_H
#define KERNEL_LIST_H

#include "base/hash_index.h"
#include "json/json.h"

typedef struct list {
    yyjson_val *nodes;          /* nodes[0] is the array or object itself; NULL while nothing is in it */
    size_t used, cap;           /* of nodes */
    size_t count;               /* elements or members in nodes */
    arena strings;
    size_t segment;             /* elements not loaded; 0: none */
    uint64_t after, upto;       /* the entries that hold all elements before the snapshot */
    size_t floating;            /* the last elements of nodes, of a step that is being fed */
    hash digest;                /* rolling, over the first `digested` elements, none of them floating */
    size_t digested;
    size_t digested_nodes;      /* where the next one stands in nodes; 0: that has to be looked for */
    hash_index seen;            /* of elements by value, of members by key: where they stand in nodes; made when first needed */
    size_t seen_nodes;          /* the nodes before this one are in it */
    size_t text_bytes, stale_bytes; /* of strings; of those that no member has any more */
    bool object;
} list;

list *list_make(const pawl_alloc *alloc);       /* NULL: no memory */
void list_free(list *l);
/* Append one element, or one member that begins with its key: `n` nodes. `keep`: strings are copied. False: no memory. */
bool list_append(list *l, const yyjson_val *nodes, size_t n, bool keep);
/* Other nodes in place of those at `at`, as many. */
bool list_put_nodes(list *l, size_t at, const yyjson_val *nodes, size_t n, bool keep);
void list_shrink(list *l, size_t nodes, size_t count);     /* without the last elements */
const pawl_value *list_value(list *l);          /* lent until the list changes */
bool list_has(list *l, const pawl_value *v);    /* an element equal to `v` */
size_t list_key(list *l, const yyjson_val *key);    /* where the member of that name stands; 0: there is none */
void list_forget_index(list *l);                /* its nodes were moved by another */

#endif
