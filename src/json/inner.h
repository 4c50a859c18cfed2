/* inner.h - inside this layer: reading and making nodes, the order of keys, text without escapes.
 *
 * yyjson's own accessors compare whole tags, so NODE_REF would break them: these mask it. */
#ifndef JSON_INNER_H
#define JSON_INNER_H

#include "json/json.h"

#include <string.h>

enum {
    FORM_MASK = YYJSON_TYPE_MASK | YYJSON_SUBTYPE_MASK,
    FORM_TRUE = YYJSON_TYPE_BOOL | YYJSON_SUBTYPE_TRUE,
    FORM_UINT = YYJSON_TYPE_NUM | YYJSON_SUBTYPE_UINT,
    FORM_SINT = YYJSON_TYPE_NUM | YYJSON_SUBTYPE_SINT, /* negative only, so that equal numbers have the same form */
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
    v->uni.f64 = x == 0 ? 0 : x; /* K2: -0 has the same text as 0, so it must be the same state */
}
void node_set_string(yyjson_val *v, const char *text, size_t size); /* valid UTF-8, lent, ends in NUL */
void node_set_holder(yyjson_val *v, unsigned type, size_t members, const yyjson_val *end);

bool real_finite(double x);

/* Levels of arrays and objects in `v`; counted up to `most` + 1. */
size_t node_depth(const yyjson_val *v, size_t most);

/* ---- keys.c ---------------------------------------------------------------------------- */

/* Every string ends in NUL and no key contains one, so the first bytes may be read without a check. */
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

/* The first key of `object` that is not greater than the one before it, or NULL: sorted and distinct. */
const yyjson_val *keys_disorder(const yyjson_val *object);
void keys_sort(const yyjson_val **keys, size_t n); /* in place, O(n log n); equal keys by address */
void keys_list(const yyjson_val *object, const yyjson_val **keys);
/* *twin: a duplicate key in `object`, or NULL. False: no memory. */
bool keys_duplicate(const pawl_alloc *alloc, const yyjson_val *object, const yyjson_val **twin);

/* ---- text ------------------------------------------------------------------------------- */

/* Eight bytes at a time: bytes that need an escape get their high bit set. The subtraction borrows upward, so bytes after the first marked one may be
 * marked wrongly. */
static inline uint64_t text_marks(uint64_t x)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), highs = ones << 7;
    uint64_t quote = x ^ ones * '"', slash = x ^ ones * '\\';

    return (((x - ones * 0x20) & ~x) | ((quote - ones) & ~quote) | ((slash - ones) & ~slash)) & highs;
}
#if defined __GNUC__ && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define FIRST_MARK(marks) ((size_t)__builtin_ctzll(marks) / 8)  /* else byte by byte */
#endif

/* The number of bytes from `p` on that need no escape, by eights and then one by one. */
static inline size_t text_run(const char *p, const char *end)
{
    const char *start = p;
    uint64_t marks;

    for (; end - p >= 8; p += 8) {
        memcpy(&marks, p, 8);
        if ((marks = text_marks(marks)) == 0)
            continue;
#ifdef FIRST_MARK
        return (size_t)(p - start) + FIRST_MARK(marks);
#else
        break;
#endif
    }
    while (p < end && (unsigned char)*p >= 0x20 && *p != '"' && *p != '\\')
        p++;
    return (size_t)(p - start);
}

/* Whether none of `n` bytes needs an escape. Reads overlap, so that short names take one step. */
static inline bool text_plain(const char *p, size_t n)
{
    uint64_t x;
    uint32_t head, tail;

    if (n < 4)
        return text_run(p, p + n) == n;
    if (n < 8) {
        memcpy(&head, p, 4);
        memcpy(&tail, p + n - 4, 4);
        return text_marks((uint64_t)head << 32 | tail) == 0;
    }
    for (size_t i = 0; i + 8 < n; i += 8) {
        memcpy(&x, p + i, 8);
        if (text_marks(x) != 0)
            return false;
    }
    memcpy(&x, p + n - 8, 8);
    return text_marks(x) == 0;
}

enum { ESCAPE_TEXT_MAX = 6 };
size_t escape_char(char *out, unsigned char c); /* of a character that text_run() stops at; canonical.c */

#endif
