/* arena.c - memory of one step: taken by moving a pointer, freed all at once.
 *
 * Owned by its user; one thread at a time. See base.h. */
#include "base/base.h"

enum { CHUNK_BYTES_MIN = 256, CHUNK_BYTES_MAX = 1 << 20, WIDE_ITEM = 32 };

struct arena_chunk {
    arena_chunk *next;
    size_t bytes; /* of the block that this chunk heads */
};

static char *chunk_start(arena_chunk *c)
{
    return (char *)(c + 1) + (0 - (uintptr_t)(c + 1)) % ALIGN;
}

static char *chunk_end(arena_chunk *c)
{
    size_t room = (size_t)((char *)c + c->bytes - chunk_start(c));

    return chunk_start(c) + room / ALIGN * ALIGN;
}

void arena_init(arena *a, const pawl_alloc *alloc, size_t first_bytes)
{
    *a = (arena){ .alloc = mem_or_default(alloc) };
    a->chunk_bytes = first_bytes < CHUNK_BYTES_MIN ? CHUNK_BYTES_MIN : first_bytes;
}

void arena_init_in(arena *a, const pawl_alloc *alloc, void *room, size_t bytes)
{
    arena_init(a, alloc, bytes);
    a->at = (char *)room + (0 - (uintptr_t)room) % ALIGN;
    a->end = a->at + (bytes - ALIGN) / ALIGN * ALIGN;
}

static void fill_from(arena *a, arena_chunk *c)
{
    a->last = c;
    a->at = c != NULL ? chunk_start(c) : NULL;
    a->end = c != NULL ? chunk_end(c) : NULL;
}

static void free_from(arena *a, arena_chunk *c)
{
    while (c != NULL) {
        arena_chunk *next = c->next;
        mem_free(&a->alloc, c, c->bytes);
        c = next;
    }
}

/* chunk_bytes keeps its grown size: the next step like this one needs at most one more chunk. */
void arena_reset(arena *a)
{
    if (a->first != NULL && a->first == a->last) {      /* the usual case: its end stays the same */
        a->at = chunk_start(a->first);
        a->failed = false;
        return;
    }
    if (a->first != NULL) {
        free_from(a, a->first->next);
        a->first->next = NULL;
    }
    fill_from(a, a->first);
    a->failed = false;
}

void arena_free(arena *a)
{
    free_from(a, a->first);
    a->first = NULL;
    arena_reset(a);
}

void *arena_slow(arena *a, size_t size)
{
    size_t head = sizeof(arena_chunk) + 2 * ALIGN; /* to align the first piece and round the last */
    size_t bytes = size > a->chunk_bytes ? size : a->chunk_bytes;
    arena_chunk *c = NULL;

    if (size == 0)
        return arena_get(a, 1);
    if (bytes <= PTRDIFF_MAX - head)
        c = mem_grow(&a->alloc, NULL, 0, bytes + head);
    if (c == NULL) {
        a->failed = true;
        return NULL;
    }
    c->next = NULL;
    c->bytes = bytes + head;
    if (a->last != NULL)
        a->last->next = c;
    else
        a->first = c;
    fill_from(a, c);
    if (a->chunk_bytes < CHUNK_BYTES_MAX)
        a->chunk_bytes *= 2;
    return arena_get(a, size);
}

bool arena_owns(const arena *a, const void *ptr)
{
    uintptr_t p = (uintptr_t)ptr;

    for (arena_chunk *c = a->first; c != NULL; c = c->next)
        if (p >= (uintptr_t)chunk_start(c) && p < (uintptr_t)chunk_end(c))
            return true;
    return false;
}

char *arena_strdup(arena *a, const char *text, size_t size)
{
    char *p = size < PTRDIFF_MAX ? arena_get(a, size + 1) : NULL;

    if (p == NULL)
        return NULL;
    if (size > 0)
        memcpy(p, text, size);
    p[size] = '\0';
    return p;
}

char *arena_text(arena *a, const char *text)
{
    return text != NULL ? arena_strdup(a, text, strlen(text)) : NULL;
}

pawl_bytes arena_bytes(arena *a, pawl_bytes b)
{
    return b.data != NULL ? (pawl_bytes){ arena_strdup(a, b.data, b.size), b.size } : b;
}

bool arena_widen(arena *a, void **items, size_t *cap, size_t count, size_t item)
{
    size_t more = *cap == 0 ? (item > WIDE_ITEM ? 2 : 4) : *cap * 2;
    void *grown;

    if ((more | item) >> 31 != 0 || (grown = arena_get(a, more * item)) == NULL)   /* no division: this is called often */
        return false;
    if (count > 0)
        memcpy(grown, *items, count * item);
    *items = grown;
    *cap = more;
    return true;
}
