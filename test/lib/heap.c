/* heap.c - see heap.h. Each block moves when it is resized and is overwritten when it is freed, so that a pointer that is used too late reads poison
 * even without a sanitizer. */
#include "lib/heap.h"
#include "lib/check.h"

#include <stdlib.h>
#include <string.h>

enum { HEAD_BYTES = 32, POISON_NEW = 0xA5, POISON_FREED = 0x5A };

typedef struct head {
    size_t size;
    uint64_t mark; /* marks an allocated block of this heap */
} head;
#define MARK UINT64_C(0x70617763686c6b21)

static head *head_of(void *ptr)
{
    return (head *)(void *)((char *)ptr - HEAD_BYTES);
}

static void *block_new(heap *h, size_t size)
{
    char *block = malloc(HEAD_BYTES + size);
    head mine = { size, MARK };

    if (block == NULL)
        abort();
    memcpy(block, &mine, sizeof mine);
    memset(block + HEAD_BYTES, POISON_NEW, size);
    h->blocks++;
    h->bytes += size;
    if (h->bytes > h->bytes_most)
        h->bytes_most = h->bytes;
    return block + HEAD_BYTES;
}

static void block_free(heap *h, void *ptr)
{
    head *mine = head_of(ptr);

    h->blocks--;
    h->bytes -= mine->size;
    mine->mark = 0;
    memset(ptr, POISON_FREED, mine->size);
    free(mine);
}

static bool refuses(heap *h)
{
    size_t call = h->calls++;
    bool refused = call == h->fail_at || (h->fail_on && call > h->fail_at);

    h->fired |= refused;
    return refused;
}

static void *heap_resize(void *ctx, void *ptr, size_t old_size, size_t size)
{
    heap *h = ctx;
    void *to = NULL;

    if (ptr != NULL && head_of(ptr)->mark != MARK)
        abort();
    if (old_size != (ptr != NULL ? head_of(ptr)->size : 0))
        h->wrong++;
    if (size > 0 && refuses(h))
        return NULL;
    if (size > 0)
        to = block_new(h, size);
    if (to != NULL && ptr != NULL)
        memcpy(to, ptr, head_of(ptr)->size < size ? head_of(ptr)->size : size);
    if (ptr != NULL)
        block_free(h, ptr);
    return to;
}

void heap_init(heap *h)
{
    *h = (heap){ .fail_at = SIZE_MAX };
}

pawl_alloc heap_alloc(heap *h)
{
    return (pawl_alloc){ heap_resize, h };
}

void heap_fail_at(heap *h, size_t n)
{
    h->calls = 0;
    h->fail_at = n;
    h->fail_on = false;
    h->fired = false;
}

void heap_fail_from(heap *h, size_t n)
{
    heap_fail_at(h, n);
    h->fail_on = true;
}

void heap_fail_never(heap *h)
{
    heap_fail_at(h, SIZE_MAX);
}

void heap_check(const heap *h)
{
    CHECK_INT(h->blocks, 0);
    CHECK_INT(h->bytes, 0);
    CHECK_INT(h->wrong, 0);
}
