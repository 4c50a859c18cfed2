/* inner.h - what the files of this layer share and nobody above them needs: how a
 * node is read and made, how keys are ordered, and text that needs no escape.
 *
 * yyjson's own accessors compare whole tags, so NODE_REF would break them: these mask. */
#ifndef BASE_INNER_H
#define BASE_INNER_H

#include "base/base.h"

#include <string.h>

enum {
    FORM_MASK = YYJSON_TYPE_MASK | YYJSON_SUBTYPE_MASK,
    FORM_TRUE = YYJSON_TYPE_BOOL | YYJSON_SUBTYPE_TRUE,
    FORM_UINT = YYJSON_TYPE_NUM | YYJSON_SUBTYPE_UINT,
    FORM_SINT = YYJSON_TYPE_NUM | YYJSON_SUBTYPE_SINT, /* below 0 only, so that equal means same form */
    FORM_REAL = YYJSON_TYPE_NUM | YYJSON_SUBTYPE_REAL,
    FORM_PLAIN = YYJSON_TYPE_STR | YYJSON_SUBTYPE_NOESC /* a string known to need no escape */
};

static inline unsigned node_type(const yyjson_val *v) { return (unsigned)(v->tag & YYJSON_TYPE_MASK); }
static inline unsigned node_form(const yyjson_val *v) { return (unsigned)(v->tag & FORM_MASK); }
static inline size_t node_size(const yyjson_val *v) { return (size_t)(v->tag >> YYJSON_TAG_BIT); }
static inline bool node_holds(const yyjson_val *v) { return (v->tag & YYJSON_TYPE_ARR) == YYJSON_TYPE_ARR; }
static inline bool node_is_ref(const yyjson_val *v) { return (v->tag & NODE_REF) != 0; }
static inline size_t node_count(const yyjson_val *v)
{
    return node_holds(v) ? v->uni.ofs / sizeof *v : 1;
}
static inline const yyjson_val *node_next(const yyjson_val *v) { return v + node_count(v); }

static inline void node_set(yyjson_val *v, unsigned form, size_t size)
{
    v->tag = (uint64_t)size << YYJSON_TAG_BIT | form;
    v->uni.u64 = 0;
}
static inline void node_set_uint(yyjson_val *v, uint64_t n)
{
    node_set(v, FORM_UINT, 0);
    v->uni.u64 = n;
}
static inline void node_set_int(yyjson_val *v, int64_t n)
{
    node_set(v, n < 0 ? FORM_SINT : FORM_UINT, 0);
    v->uni.i64 = n;
}
static inline void node_set_real(yyjson_val *v, double x)
{
    node_set(v, FORM_REAL, 0);
    v->uni.f64 = x == 0 ? 0 : x; /* K2: a state must not tell -0 from 0, its text does not */
}
void node_set_string(yyjson_val *v, const char *text, size_t size); /* valid UTF-8, lent, ends in NUL */
void node_set_holder(yyjson_val *v, unsigned type, size_t members, const yyjson_val *end);

bool real_finite(double x);

/* Levels of arrays and objects in `v`; counting stops one above `most`. */
size_t node_depth(const yyjson_val *v, size_t most);

/* ---- keys.c ---------------------------------------------------------------------------- */

/* Every string ends in NUL and no key holds one, so the first bytes may always be looked at. */
static inline int key_compare(const yyjson_val *a, const yyjson_val *b)
{
    size_t m = node_size(a), n = node_size(b);
    int c = (unsigned char)a->uni.str[0] - (unsigned char)b->uni.str[0];

    if (c == 0)
        c = memcmp(a->uni.str, b->uni.str, m < n ? m : n);
    return c != 0 ? c : (m > n) - (m < n);
}
static inline bool key_equal(const yyjson_val *a, const yyjson_val *b)
{
    return node_size(a) == node_size(b) && a->uni.str[0] == b->uni.str[0] &&
           memcmp(a->uni.str, b->uni.str, node_size(a)) == 0;
}

/* The first key of `object` that is not above the one before it, or NULL: sorted, and no twins. */
const yyjson_val *keys_disorder(const yyjson_val *object);
void keys_sort(const yyjson_val **keys, size_t n); /* in place, O(n log n), equal ones by address */
void keys_list(const yyjson_val *object, const yyjson_val **keys);
/* *twin: a key that stands in `object` a second time, or NULL. False: no memory to find out. */
bool keys_twin(const pawl_alloc *alloc, const yyjson_val *object, const yyjson_val **twin);

/* ---- text ------------------------------------------------------------------------------- */

/* How many bytes from `p` on need no escape, counted in eights and then one by one. */
static inline size_t text_run(const char *p, const char *end)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), highs = ones << 7;
    const char *start = p;

    for (; end - p >= 8; p += 8) {
        uint64_t x, quote, slash;
        memcpy(&x, p, 8);
        quote = x ^ ones * '"';
        slash = x ^ ones * '\\';
        if ((((x - ones * 0x20) & ~x) | ((quote - ones) & ~quote) | ((slash - ones) & ~slash)) & highs)
            break;
    }
    while (p < end && (unsigned char)*p >= 0x20 && *p != '"' && *p != '\\')
        p++;
    return (size_t)(p - start);
}

/* memcpy for the short pieces that names and words are: no call, no loop. */
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

#endif
