/* jq_big.c - passes integers that a double cannot hold through libjq, see jq_big.h.
 *
 * Called by jq.c in the parent to find such integers, and by jq_child.c; the child is single-threaded. */
#include "effect/jq/jq_big.h"
#include "effect/jq/jq_wire.h"

#include <fenv.h>
#include <stdlib.h>

#define SIGN_BIT   (UINT64_C(1) << 63)
#define NAN_BITS   (UINT64_C(0x7FF) << 52)
#define QUIET_BIT  (UINT64_C(1) << 51)         /* of a NaN: set if an operation made it */
#define INDEX_BITS (QUIET_BIT - 1)

/* ---- into jq ---------------------------------------------------------------------------------------- */

/* Without its sign. */
static uint64_t size_of(const pawl_value *n)
{
    const int64_t x = pawl_value_int(n);

    return x < 0 ? 0 - (uint64_t)x : pawl_value_uint(n);
}

static bool put(jq_bigs *b, uint64_t size)
{
    if (b->n == b->cap) {
        const size_t cap = b->cap > 0 ? 2 * b->cap : 16;
        uint64_t *of = realloc(b->of, cap * sizeof *of);

        if (of == NULL)
            return false;
        b->of = of;
        b->cap = cap;
    }
    b->of[b->n++] = size;
    return true;
}

static bool collect(jq_bigs *b, const pawl_value *v)
{
    const pawl_type type = pawl_value_type(v);
    const pawl_value *key, *item;
    pawl_iter it;

    if (type == PAWL_TYPE_INT)
        return size_of(v) <= JQ_EXACT_MAX || put(b, size_of(v));
    if (type != PAWL_TYPE_ARRAY && type != PAWL_TYPE_OBJECT)
        return true;
    it = pawl_iter_of(v);
    while ((item = pawl_iter_next(&it, &key)) != NULL)
        if (!collect(b, item))
            return false;
    return true;
}

static int by_size(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

bool jq_bigs_of(jq_bigs *b, const pawl_value *v)
{
    size_t n = 0;

    b->n = 0;
    if (!collect(b, v))
        return false;
    if (b->n > 0)
        qsort(b->of, b->n, sizeof *b->of, by_size);
    for (size_t i = 0; i < b->n; i++)
        if (i == 0 || b->of[i] != b->of[n - 1])
            b->of[n++] = b->of[i];
    b->n = n;
    return true;
}

static jv number(const jq_bigs *b, const jq_api *api, const pawl_value *v)
{
    const uint64_t size = size_of(v), *is;
    uint64_t bits;
    double x;

    if (pawl_value_type(v) != PAWL_TYPE_INT || size <= JQ_EXACT_MAX)
        return api->number(pawl_value_real(v));
    is = bsearch(&size, b->of, b->n, sizeof *b->of, by_size);
    bits = NAN_BITS | ((uint64_t)(is - b->of) + 1) | (pawl_value_int(v) < 0 ? SIGN_BIT : 0);
    memcpy(&x, &bits, sizeof x);
    return api->number(x);
}

jv jq_bigs_value(const jq_bigs *b, const jq_api *api, const pawl_value *v)
{
    const pawl_value *key, *item;
    pawl_iter it;
    jv made;

    switch (pawl_value_type(v)) {
    case PAWL_TYPE_NONE:
    case PAWL_TYPE_NULL:
        return api->null();
    case PAWL_TYPE_BOOL:
        return api->truth(pawl_value_bool(v));
    case PAWL_TYPE_INT:
    case PAWL_TYPE_REAL:
        return number(b, api, v);
    case PAWL_TYPE_STRING:
        return api->sized_string(pawl_value_string(v), (int)pawl_value_size(v));
    case PAWL_TYPE_ARRAY:
        made = api->array();
        it = pawl_iter_of(v);
        while ((item = pawl_iter_next(&it, &key)) != NULL)
            made = api->append(made, jq_bigs_value(b, api, item));
        return made;
    case PAWL_TYPE_OBJECT:
        made = api->object();
        it = pawl_iter_of(v);
        while ((item = pawl_iter_next(&it, &key)) != NULL)
            made = api->set(made, jq_bigs_value(b, api, key), jq_bigs_value(b, api, item));
        return made;
    }
    return api->null();
}

/* ---- at work ---------------------------------------------------------------------------------------- */

/* On a machine without the flag no such integer passes. */
void jq_bigs_watch(void)
{
#ifdef FE_INVALID
    feclearexcept(FE_INVALID);
#endif
}

bool jq_bigs_touched(const jq_bigs *b)
{
#ifdef FE_INVALID
    return b->n > 0 && fetestexcept(FE_INVALID) != 0;
#else
    return b->n > 0;
#endif
}

/* ---- out of jq -------------------------------------------------------------------------------------- */

static jq_text plain(const jq_api *api, jv v, buf *out)
{
    jv text = api->dump(v, 0);

    buf_put(out, api->string(text), (size_t)api->string_bytes(api->copy(text)));
    api->free(text);
    return JQ_TEXT_WHOLE;
}

static jq_text number_text(const jq_bigs *b, const jq_api *api, jv v, buf *out)
{
    const double x = api->number_value(v);
    uint64_t bits, index, size;

    memcpy(&bits, &x, sizeof bits);
    index = bits & INDEX_BITS;
    if ((bits & NAN_BITS) != NAN_BITS || index == 0)
        return plain(api, v, out);
    size = index <= b->n ? b->of[index - 1] : 0;
    api->free(v);
    if ((bits & QUIET_BIT) != 0 || size == 0 || ((bits & SIGN_BIT) != 0 && size > UINT64_C(1) << 63))
        return JQ_TEXT_CHANGED;
    if ((bits & SIGN_BIT) != 0)
        buf_char(out, '-');
    buf_digits(out, size);
    return JQ_TEXT_WHOLE;
}

static jq_text text_of(const jq_bigs *b, const jq_api *api, jv v, size_t levels, buf *out);

static jq_text array_text(const jq_bigs *b, const jq_api *api, jv v, size_t levels, buf *out)
{
    const int n = api->length(api->copy(v));
    jq_text came = JQ_TEXT_WHOLE;

    buf_char(out, '[');
    for (int i = 0; i < n && came == JQ_TEXT_WHOLE; i++) {
        if (i > 0)
            buf_char(out, ',');
        came = text_of(b, api, api->at(api->copy(v), i), levels, out);
    }
    buf_char(out, ']');
    api->free(v);
    return came;
}

static jq_text object_text(const jq_bigs *b, const jq_api *api, jv v, size_t levels, buf *out)
{
    jq_text came = JQ_TEXT_WHOLE;
    bool first = true;

    buf_char(out, '{');
    for (int at = api->iter(v); api->iter_valid(v, at) && came == JQ_TEXT_WHOLE; at = api->iter_next(v, at)) {
        if (!first)
            buf_char(out, ',');
        first = false;
        plain(api, api->iter_key(v, at), out);
        buf_char(out, ':');
        came = text_of(b, api, api->iter_value(v, at), levels, out);
    }
    buf_char(out, '}');
    api->free(v);
    return came;
}

/* Takes `v`; at most `levels` more levels. */
static jq_text text_of(const jq_bigs *b, const jq_api *api, jv v, size_t levels, buf *out)
{
    const jv_kind kind = api->kind(v);

    if (kind == JV_KIND_NUMBER)
        return number_text(b, api, v, out);
    if (kind != JV_KIND_ARRAY && kind != JV_KIND_OBJECT)
        return plain(api, v, out);
    if (levels == 0) {
        api->free(v);
        return JQ_TEXT_DEEP;
    }
    return kind == JV_KIND_ARRAY ? array_text(b, api, v, levels - 1, out) : object_text(b, api, v, levels - 1, out);
}

jq_text jq_bigs_text(const jq_bigs *b, const jq_api *api, jv v, buf *out)
{
    return b->n == 0 ? plain(api, v, out) : text_of(b, api, v, DEPTH_MAX, out);
}
