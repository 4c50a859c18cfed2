/* keys.c - the order of an object's keys, and duplicate keys (K2).
 *
 * Pure. Input is hostile, so nothing here is quadratic except for a handful of members. */
#include "json/inner.h"

enum { KEYS_FEW = 16 };

const yyjson_val *keys_disorder(const yyjson_val *object)
{
    const yyjson_val *key = object + 1, *next;

    for (size_t left = node_size(object); left > 1; left--, key = next) {
        next = node_next(key + 1);
        if (key_compare(key, next) >= 0)
            return next;
    }
    return NULL;
}

void keys_list(const yyjson_val *object, const yyjson_val **keys)
{
    const yyjson_val *key = object + 1;

    for (size_t i = 0, n = node_size(object); i < n; i++, key = node_next(key + 1))
        keys[i] = key;
}

/* ---- sorting ------------------------------------------------------------------------------ */

static bool key_below(const yyjson_val *a, const yyjson_val *b)
{
    int c = key_compare(a, b);

    return c < 0 || (c == 0 && a < b);
}

static void sift_down(const yyjson_val **keys, size_t at, size_t n)
{
    const yyjson_val *key = keys[at];

    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && key_below(keys[child], keys[child + 1]))
            child++;
        if (!key_below(key, keys[child]))
            break;
        keys[at] = keys[child];
    }
    keys[at] = key;
}

static void sort_many(const yyjson_val **keys, size_t n)
{
    for (size_t i = n / 2; i-- > 0;)
        sift_down(keys, i, n);
    for (size_t last = n - 1; last > 0; last--) {
        const yyjson_val *top = keys[0];
        keys[0] = keys[last];
        keys[last] = top;
        sift_down(keys, 0, last);
    }
}

static void sort_few(const yyjson_val **keys, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        const yyjson_val *key = keys[i];
        size_t at = i;
        for (; at > 0 && key_below(key, keys[at - 1]); at--)
            keys[at] = keys[at - 1];
        keys[at] = key;
    }
}

void keys_sort(const yyjson_val **keys, size_t n)
{
    if (n <= KEYS_FEW)
        sort_few(keys, n);
    else
        sort_many(keys, n);
}

/* ---- duplicates ---------------------------------------------------------------------------- */

static const yyjson_val *duplicate_of_few(const yyjson_val *object)
{
    const yyjson_val *keys[KEYS_FEW];
    size_t n = node_size(object);

    keys_list(object, keys);
    for (size_t i = 1; i < n; i++)
        for (size_t j = 0; j < i; j++)
            if (key_equal(keys[i], keys[j]))
                return keys[i];
    return NULL;
}

static const yyjson_val *duplicate_of_many(const yyjson_val *object, const yyjson_val **keys, size_t n)
{
    keys_list(object, keys);
    keys_sort(keys, n);
    for (size_t i = 1; i < n; i++)
        if (key_equal(keys[i], keys[i - 1]))
            return keys[i];
    return NULL;
}

bool keys_duplicate(const pawl_alloc *alloc, const yyjson_val *object, const yyjson_val **twin)
{
    size_t n = node_size(object), bytes = n * sizeof *twin;
    const yyjson_val **keys;

    *twin = NULL;
    if (keys_disorder(object) == NULL) /* always so in canonical text */
        return true;
    if (n <= KEYS_FEW) {
        *twin = duplicate_of_few(object);
        return true;
    }
    keys = mem_grow(alloc, NULL, 0, bytes);
    if (keys == NULL)
        return false;
    *twin = duplicate_of_many(object, keys, n);
    mem_free(alloc, keys, bytes);
    return true;
}
