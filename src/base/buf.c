/* buf.c - a growing buffer of bytes; one check at the end tells whether all of them are there.
 *
 * Owned by its user; one thread at a time. See base.h. */
#include "base/base.h"

#include <stdio.h>

enum { BUF_BYTES_FIRST = 256 };

void buf_init(buf *b, const pawl_alloc *alloc)
{
    *b = (buf){ .alloc = mem_or_default(alloc) };
}

void buf_free(buf *b)
{
    mem_free(&b->alloc, b->data, b->cap);
    *b = (buf){ .alloc = b->alloc };
}

bool buf_room(buf *b, size_t more)
{
    size_t cap = b->cap == 0 ? BUF_BYTES_FIRST : b->cap;
    char *data = NULL;

    if (b->failed)
        return false;
    if (more <= b->cap - b->size)
        return true;
    while (cap <= PTRDIFF_MAX / 2 && more > cap - b->size)
        cap *= 2;
    if (more <= cap - b->size)
        data = mem_grow(&b->alloc, b->data, b->cap, cap);
    if (data == NULL) {
        b->failed = true;
        return false;
    }
    b->data = data;
    b->cap = cap;
    return true;
}

void buf_put(buf *b, const void *data, size_t size)
{
    if (size == 0 || (size > b->cap - b->size && !buf_room(b, size)))
        return;
    text_copy(b->data + b->size, data, size);
    b->size += size;
}

void buf_text(buf *b, const char *text)
{
    buf_put(b, text, strlen(text));
}

static size_t digits_of(uint64_t n)
{
    size_t size = 1;

    for (; n >= 10000; n /= 10000)
        size += 4;
    return size + (n >= 10) + (n >= 100) + (n >= 1000);
}

/* Two digits at a time, from the last to the first. */
size_t uint_text(uint64_t n, char out[UINT_TEXT_MAX])
{
    static const char pairs[] =
        "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
        "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
        "8081828384858687888990919293949596979899";
    const size_t size = digits_of(n);
    char *p = out + size;

    for (; n >= 10; n /= 100) {
        p -= 2;
        memcpy(p, pairs + n % 100 * 2, 2);
    }
    if (p > out)
        *out = (char)('0' + n);
    return size;
}

void buf_digits(buf *b, uint64_t n)
{
    if (UINT_TEXT_MAX <= b->cap - b->size || buf_room(b, UINT_TEXT_MAX))
        b->size += uint_text(n, b->data + b->size);
}

void buf_int(buf *b, int64_t n)
{
    if (n < 0)
        buf_char(b, '-');
    buf_uint(b, n < 0 ? 0 - (uint64_t)n : (uint64_t)n);
}

void buf_fmtv(buf *b, const char *fmt, va_list args)
{
    for (int tries = 0; tries < 2; tries++) { /* a first try that also measures */
        size_t room = b->cap - b->size;
        va_list copy;
        int n;

        va_copy(copy, args);
        n = vsnprintf(room > 0 ? b->data + b->size : NULL, room, fmt, copy);
        va_end(copy);
        if (n >= 0 && (size_t)n < room) {
            b->size += (size_t)n;
            return;
        }
        if (n < 0)
            b->failed = true;
        if (n < 0 || !buf_room(b, (size_t)n + 1))
            return;
    }
}

void buf_fmt(buf *b, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    buf_fmtv(b, fmt, args);
    va_end(args);
}
