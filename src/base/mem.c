/* mem.c - memory from the caller's function, or malloc. Sizes are checked here, once.
 *
 * Thread safety is that of the caller's function. */
#include "base/base.h"

#include <stdlib.h>

enum { ROOM_FIRST = 8 }; /* first capacity of a vector */

static void *default_resize(void *ctx, void *ptr, size_t old_size, size_t size)
{
    (void)ctx;
    (void)old_size;
    if (size != 0)
        return ptr == NULL ? malloc(size) : realloc(ptr, size);
    free(ptr);
    return NULL;
}

pawl_alloc mem_or_default(const pawl_alloc *alloc)
{
    return alloc != NULL && alloc->resize != NULL ? *alloc : (pawl_alloc){ default_resize, NULL };
}

void *mem_new(const pawl_alloc *alloc, size_t size)
{
    void *p = mem_grow(alloc, NULL, 0, size);

    return p != NULL ? memset(p, 0, size) : NULL;
}

void *mem_grow(const pawl_alloc *alloc, void *ptr, size_t old_size, size_t size)
{
    if (size == 0 || size > PTRDIFF_MAX) /* a size that overflowed in a computation is refused here */
        return NULL;
    return alloc->resize(alloc->ctx, ptr, old_size, size);
}

char *mem_text(const pawl_alloc *alloc, const char *text)
{
    const size_t size = strlen(text) + 1;
    char *copy = mem_grow(alloc, NULL, 0, size);

    return copy == NULL ? NULL : memcpy(copy, text, size);
}

void mem_free(const pawl_alloc *alloc, void *ptr, size_t size)
{
    if (ptr != NULL)
        alloc->resize(alloc->ctx, ptr, size, 0);
}

void mem_zero(void *to, size_t size) { memset(to, 0, size); }
void mem_copy(void *to, const void *from, size_t size) { memcpy(to, from, size); }

bool mem_room(const pawl_alloc *alloc, void **items, size_t *cap, size_t count, size_t item)
{
    size_t more = *cap == 0 ? ROOM_FIRST : *cap * 2;
    void *p;

    if (count < *cap)
        return true;
    if (item == 0 || more > PTRDIFF_MAX / item)
        return false;
    p = mem_grow(alloc, *items, *cap * item, more * item);
    if (p == NULL)
        return false;
    *items = p;
    *cap = more;
    return true;
}
