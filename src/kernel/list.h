/* list.h - a growing channel value: an array (append, topic, union, barrier), or an object of the rule merge with many members.
 *
 * Owned by a channel or the state; changes only inside a transaction, whose rollback lowers `used` and `count` again (txn.c). Elements that a
 * snapshot left in the journal are loaded on demand: `segment` of them come before nodes[1].
 * Invariants: floating <= count; digested <= segment + count - floating; seen_nodes <= used; an object has no segment. */
#ifndef KERNEL_LIST_H
#define KERNEL_LIST_H

#include "base/hash_index.h"
#include "json/json.h"

typedef struct list {
    yyjson_val *nodes;          /* nodes[0] is the array or object itself; NULL: empty */
    size_t used, cap;           /* of nodes */
    size_t count;               /* elements or members in nodes */
    arena strings;
    size_t segment;             /* number of elements that are not loaded */
    uint64_t after, upto;       /* the unloaded elements are in the entries after+1 to upto */
    size_t floating;            /* number of last elements that a step being fed has added; the step owns their strings */
    hash digest;                /* rolling, over the first `digested` elements; never over floating ones */
    size_t digested;
    size_t digested_nodes;      /* index in nodes of the first element that is not digested; 0: unknown */
    hash_index seen;            /* index in nodes, of elements by value, of members by key; built on first use */
    size_t seen_nodes;          /* nodes below this index are in `seen` */
    size_t text_bytes, stale_bytes; /* bytes of strings; of these, bytes of replaced strings */
    bool object;
} list;

list *list_make(const pawl_alloc *alloc);       /* NULL: no memory */
void list_free(list *l);
/* Append one element, or one member that begins with its key: `n` nodes. `keep`: strings are copied. False: no memory. */
bool list_append(list *l, const yyjson_val *nodes, size_t n, bool keep);
/* Overwrites `n` nodes from `at` on. */
bool list_put_nodes(list *l, size_t at, const yyjson_val *nodes, size_t n, bool keep);
void list_shrink(list *l, size_t nodes, size_t count);     /* drops the last elements */
const pawl_value *list_value(list *l);          /* valid until the list changes */
bool list_has(list *l, const pawl_value *v);    /* an element equal to `v` */
size_t list_key(list *l, const yyjson_val *key);    /* index in nodes of the member with this key; 0: none */
void list_forget_index(list *l);                /* call after moving nodes directly: `seen` is built again on next use */

#endif
