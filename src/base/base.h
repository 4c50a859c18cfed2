/* base.h - the tools that every layer uses: errors, memory, buffers, hashes. Assertions: base/check.h; life cycles: base/sm.h.
 *
 * Nothing here knows what a run or a JSON value is. Needs libc, and SHA-256 from nettle. */
#ifndef BASE_H
#define BASE_H

#include "base/broken.h"
#include "base/check.h"
#include "pawl/base.h"

#include <stdarg.h>
#include <stdint.h>
#include <string.h>

/* ---- limits (X2): name, value ------------------------------------------------------ */

enum {
    DEPTH_MAX = 128,            /* levels of arrays and objects in one value */
    READ_DEPTH_MAX = DEPTH_MAX + 16,    /* of texts that Pawl writes, in which values are some levels deep */
    ALIGN = 16                  /* of every piece of an arena */
};
#define TEXT_BYTES_MAX ((size_t)1 << 30) /* of one JSON text */

#if defined __GNUC__
#define APART __attribute__((noinline))     /* for rarely called functions: not inlined into hot ones */
#else
#define APART
#endif

/* ---- err.c --------------------------------------------------------------------------- */

/* Sets `err` (may be NULL) unless it has an error already; returns `code`. One line, the object first. */
pawl_code fail(pawl_err *err, pawl_code code, const char *fmt, ...) PAWL_PRINTF(3, 4);
static inline void err_begin(pawl_err *err) /* like {0}, without clearing the whole text */
{
    err->code = PAWL_OK;
    err->text[0] = '\0';
}
pawl_code failv(pawl_err *err, pawl_code code, const char *fmt, va_list args) PAWL_PRINTF(3, 0);
/* Append the name in `names` (n of them) that is most similar to `name`, as ` (did you mean "x"?)`, to `out` of `size` bytes; an empty text if none is
 * similar. Returns `out`. */
const char *did_you_mean(char *out, size_t size, const char *name, const char *const *names, size_t n);

/* ---- mem.c: the caller's allocator, or malloc ------------------------------------------ */

pawl_alloc mem_or_default(const pawl_alloc *alloc);     /* NULL: realloc and free */
void *mem_new(const pawl_alloc *alloc, size_t size);    /* zeroed; NULL: no memory, or size 0 */
void *mem_grow(const pawl_alloc *alloc, void *ptr, size_t old_size, size_t size);
char *mem_text(const pawl_alloc *alloc, const char *text);       /* a copy, strlen(text) + 1 bytes; NULL: no memory */
void mem_free(const pawl_alloc *alloc, void *ptr, size_t size); /* ptr may be NULL */
/* memset to 0 and memcpy as real calls: for a constant size gcc emits `rep stos`, which takes longer. For pieces of 64 to some hundred bytes in hot
 * code. */
void mem_zero(void *to, size_t size);
void mem_copy(void *to, const void *from, size_t size);
/* Make room for one more in a vector: `*cap` items of `item` bytes. False: no memory. */
bool mem_room(const pawl_alloc *alloc, void **items, size_t *cap, size_t count, size_t item);

/* ---- arena.c: bump allocation, given back all at once ---------------------------------- */

typedef struct arena_chunk arena_chunk;
typedef struct arena {
    pawl_alloc alloc;
    arena_chunk *first;     /* kept by arena_reset */
    arena_chunk *last;      /* the one being filled */
    char *at, *end;         /* the free part of `last` */
    size_t chunk_bytes;     /* of the next chunk; doubles up to 1 MiB */
    bool failed;            /* an allocation failed since the last reset */
} arena;

void arena_init(arena *a, const pawl_alloc *alloc, size_t first_bytes); /* allocates nothing yet */
/* Uses `room` first, existing memory that is aligned for any type. For short-lived arenas. */
void arena_init_in(arena *a, const pawl_alloc *alloc, void *room, size_t bytes);
void arena_reset(arena *a);         /* keeps the first chunk, drops its contents */
void arena_free(arena *a);
void *arena_slow(arena *a, size_t size);
bool arena_owns(const arena *a, const void *ptr);
char *arena_strdup(arena *a, const char *text, size_t size); /* NUL appended */
char *arena_text(arena *a, const char *text);               /* a copy of the whole text; NULL stays NULL */
pawl_bytes arena_bytes(arena *a, pawl_bytes b);             /* the same for bytes; `data` NULL: no memory, or it was NULL */
bool arena_widen(arena *a, void **items, size_t *cap, size_t count, size_t item);

/* Make room for one more item in a vector in the arena; the old block is abandoned. False: no memory. */
static inline bool arena_room(arena *a, void **items, size_t *cap, size_t count, size_t item)
{
    return count < *cap || arena_widen(a, items, cap, count, item);
}

/* `size` bytes aligned to ALIGN, not zeroed; NULL when there is no memory (and a->failed). */
static inline void *arena_get(arena *a, size_t size)
{
    if (size - 1 >= (size_t)(a->end - a->at)) /* size 0 goes there, too; both ends are aligned */
        return arena_slow(a, size);
    void *p = a->at;
    a->at += (size + (ALIGN - 1)) & ~(size_t)(ALIGN - 1);
    return p;
}
static inline void *arena_zero(arena *a, size_t size)
{
    void *p = arena_get(a, size);

    if (p != NULL)
        mem_zero(p, size);
    return p;
}

/* ---- buf.c: bytes that grow -------------------------------------------------------------- */

typedef struct buf {
    pawl_alloc alloc;
    char *data;
    size_t size, cap;
    bool failed;            /* sticky: later writes are dropped; check once, at the end */
} buf;

void buf_init(buf *b, const pawl_alloc *alloc);
void buf_free(buf *b);
bool buf_room(buf *b, size_t more);             /* make room for `more`; false: failed is set */
void buf_put(buf *b, const void *data, size_t size);
void buf_text(buf *b, const char *text);
void buf_int(buf *b, int64_t n);
void buf_digits(buf *b, uint64_t n);
void buf_fmt(buf *b, const char *fmt, ...) PAWL_PRINTF(2, 3); /* no floating point in `fmt` */
void buf_fmtv(buf *b, const char *fmt, va_list args) PAWL_PRINTF(2, 0);
static inline void buf_reset(buf *b) { b->size = 0; b->failed = false; }
static inline void buf_char(buf *b, char c)
{
    if (b->size < b->cap || buf_room(b, 1))
        b->data[b->size++] = c;
}
/* memcpy for short pieces such as names: no call, no loop. */
static inline void text_copy(char *to, const char *from, size_t n)
{
    if (n > 16) {
        memcpy(to, from, n);
    } else if (n >= 8) {
        char tail[8];
        memcpy(tail, from + n - 8, 8);
        memcpy(to, from, 8);
        memcpy(to + n - 8, tail, 8);
    } else if (n >= 4) {
        char tail[4];
        memcpy(tail, from + n - 4, 4);
        memcpy(to, from, 4);
        memcpy(to + n - 4, tail, 4);
    } else {
        for (size_t i = 0; i < n; i++)
            to[i] = from[i];
    }
}

enum { UINT_TEXT_MAX = 20 };
size_t uint_text(uint64_t n, char out[UINT_TEXT_MAX]); /* no NUL */

/* A word whose size the compiler knows. */
static inline void buf_word(buf *b, const char *word)
{
    const size_t n = strlen(word);

    if (n > b->cap - b->size && !buf_room(b, n))
        return;
    memcpy(b->data + b->size, word, n);
    b->size += n;
}
static inline void buf_uint(buf *b, uint64_t n)
{
    if (n < 10)
        buf_char(b, (char)('0' + n));
    else
        buf_digits(b, n);
}

/* A pen, for many short pieces in a row: room is made once, each piece returns where the next one begins, and the buffer gets its size at the end. (The
 * compiler must assume that bytes written through a buffer may alias the buffer itself, and would reload it each time.) */
static inline char *pen_begin(buf *b, size_t room)      /* NULL: no memory */
{
    return room <= b->cap - b->size || buf_room(b, room) ? b->data + b->size : NULL;
}
static inline void pen_end(buf *b, const char *pen) { b->size = (size_t)(pen - b->data); }
static inline char *pen_word(char *pen, const char *word)
{
    const size_t n = strlen(word);

    memcpy(pen, word, n);
    return pen + n;
}
static inline char *pen_uint(char *pen, uint64_t n)
{
    if (n >= 10)
        return pen + uint_text(n, pen);
    *pen = (char)('0' + n);
    return pen + 1;
}
static inline char *pen_int(char *pen, int64_t n)
{
    if (n < 0)
        *pen++ = '-';
    return pen_uint(pen, n < 0 ? 0 - (uint64_t)n : (uint64_t)n);
}
static inline char *pen_name(char *pen, const char *name, size_t size) /* in quotes, without escapes */
{
    *pen++ = '"';
    text_copy(pen, name, size);
    pen[size] = '"';
    return pen + size + 1;
}

/* ---- hash.c: SHA-256 ----------------------------------------------------------------------- */

enum { HASH_BYTES = 32, HASH_HEX = 64 };
typedef struct hash { uint8_t b[HASH_BYTES]; } hash;

void hash_parts(const pawl_bytes *parts, size_t n, hash *out); /* of the concatenated parts */
void hash_of(const void *data, size_t size, hash *out);
void hash_hex(const hash *h, char out[HASH_HEX + 1]);
bool hash_unhex(const char *text, size_t size, hash *out);  /* false: not 64 lower-case digits */
static inline uint64_t hash_word(const hash *h, size_t i)
{
    uint64_t word;

    memcpy(&word, h->b + i * sizeof word, sizeof word);
    return word;
}
static inline bool hash_equal(const hash *a, const hash *b)
{
    return ((hash_word(a, 0) ^ hash_word(b, 0)) | (hash_word(a, 1) ^ hash_word(b, 1)) |
            (hash_word(a, 2) ^ hash_word(b, 2)) | (hash_word(a, 3) ^ hash_word(b, 3))) == 0;
}

/* ---- utf8.c --------------------------------------------------------------------------- */

/* Whether the `size` bytes at `text` are UTF-8: no overlong form, no surrogate, nothing above U+10FFFF. */
bool utf8_valid(const char *text, size_t size);

/* ---- variable.c ----------------------------------------------------------------------- */

/* The name of one environment variable: letters, digits, _ . and -, not first one of the last three kinds; at most 128 bytes. */
bool variable_name_valid(const char *name);

#endif
