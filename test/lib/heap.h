/* heap.h - memory that is counted, poisoned, and refused on demand.
 *
 *     for (size_t n = 0;; n++) {          every allocation fails once
 *         heap_fail_at(&h, n);
 *         ...
 *         heap_check(&h);                 nothing leaked, no size misreported
 *         if (!h.fired)
 *             break;
 *     }                                                                            */
#ifndef TEST_LIB_HEAP_H
#define TEST_LIB_HEAP_H

#include "pawl/base.h"

typedef struct heap {
    size_t blocks, bytes; /* allocated now */
    size_t bytes_most;
    size_t calls;   /* allocations since the last heap_fail_...() */
    size_t fail_at; /* the number of the allocation to refuse, from 0 */
    bool fail_on;   /* refuses every later one, too */
    bool fired;     /* one was refused */
    size_t wrong;   /* blocks resized or freed with a wrong size */
} heap;

void heap_init(heap *h); /* refuses nothing */
pawl_alloc heap_alloc(heap *h);
void heap_fail_at(heap *h, size_t n);   /* refuses the n-th call from now, from 0 */
void heap_fail_from(heap *h, size_t n); /* and every later one */
void heap_fail_never(heap *h);
void heap_check(const heap *h); /* fails the test unless every block was freed with its size */

#endif
