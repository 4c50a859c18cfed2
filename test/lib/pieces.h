/* pieces.h - a text that is read some bytes at a time, a pawl_source_fn: what is found must not depend on where it is cut. */
#ifndef TEST_LIB_PIECES_H
#define TEST_LIB_PIECES_H

#include "pawl/base.h"

typedef struct pieces { const char *text; size_t size, each; } pieces;

static inline bool piece(void *ctx, pawl_bytes *out)
{
    pieces *p = ctx;
    const size_t n = p->size < p->each ? p->size : p->each;

    *out = (pawl_bytes){ p->text, n };
    p->text += n;
    p->size -= n;
    return true;
}

#endif
