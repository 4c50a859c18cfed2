/* list.h - an array that grows at its end, of which a transaction takes back what it appended. */
#ifndef KERNEL_LIST_H
#define KERNEL_LIST_H

#include "json/json.h"

/* An array that grows at its end: append, topic, union, barrier. Appending in a transaction
 * only raises `used` and `count`, taking back lowers them. Elements that a snapshot left
 * in the journal are read when somebody looks: `segment` of them stand before nodes[1]. */
typedef struct list {
    yyjson_val *nodes;          /* nodes[0] is the array itself; NULL while nothing is in it */
    size_t used, cap;           /* of nodes */
    size_t count;               /* elements in nodes */
    arena strings;
    size_t segment;             /* elements not loaded; 0: none */
    uint64_t after, upto;       /* the entries that hold all elements before the snapshot */
    size_t floating;            /* the last elements of nodes, of a step that is being fed */
    hash digest;                /* rolling, over the first `digested` elements, none of them floating */
    size_t digested;
    size_t digested_nodes;      /* where the next one stands in nodes; 0: that has to be looked for */
} list;

#endif
