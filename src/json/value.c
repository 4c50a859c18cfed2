/* value.c - values as the public header shows them: read-only, NULL-safe; and copies.
 *
 * Pure; any thread. */
#include "json/inner.h"

/* ---- what it is ---------------------------------------------------------------------------- */

pawl_type pawl_value_type(const pawl_value *value)
{
    const yyjson_val *v = val_of(value);

    if (v == NULL)
        return PAWL_TYPE_NONE;
    switch (node_type(v)) {
    case YYJSON_TYPE_NULL: return PAWL_TYPE_NULL;
    case YYJSON_TYPE_BOOL: return PAWL_TYPE_BOOL;
    case YYJSON_TYPE_NUM: return node_form(v) == FORM_REAL ? PAWL_TYPE_REAL : PAWL_TYPE_INT;
    case YYJSON_TYPE_STR: return PAWL_TYPE_STRING;
    case YYJSON_TYPE_ARR: return PAWL_TYPE_ARRAY;
    case YYJSON_TYPE_OBJ: return PAWL_TYPE_OBJECT;
    }
    return PAWL_TYPE_NONE;
}

static bool value_is_form(const yyjson_val *v, unsigned form)
{
    return v != NULL && node_form(v) == form;
}

static bool value_is_type(const yyjson_val *v, unsigned type)
{
    return v != NULL && node_type(v) == type;
}

bool pawl_value_bool(const pawl_value *v)
{
    return value_is_form(val_of(v), FORM_TRUE);
}

int64_t pawl_value_int(const pawl_value *value)
{
    const yyjson_val *v = val_of(value);

    if (value_is_form(v, FORM_SINT) || (value_is_form(v, FORM_UINT) && v->uni.u64 <= INT64_MAX))
        return v->uni.i64;
    return 0;
}

uint64_t pawl_value_uint(const pawl_value *v)
{
    return value_is_form(val_of(v), FORM_UINT) ? val_of(v)->uni.u64 : 0;
}

double pawl_value_real(const pawl_value *value)
{
    const yyjson_val *v = val_of(value);

    if (value_is_form(v, FORM_REAL))
        return v->uni.f64;
    if (value_is_form(v, FORM_SINT))
        return (double)v->uni.i64;
    return value_is_form(v, FORM_UINT) ? (double)v->uni.u64 : 0;
}

const char *pawl_value_string(const pawl_value *v)
{
    return value_is_type(val_of(v), YYJSON_TYPE_STR) ? val_of(v)->uni.str : NULL;
}

size_t pawl_value_size(const pawl_value *v)
{
    return v != NULL && node_type(val_of(v)) >= YYJSON_TYPE_STR ? node_size(val_of(v)) : 0;
}

/* ---- what is in it ------------------------------------------------------------------------- */

const pawl_value *pawl_value_at(const pawl_value *array, size_t index)
{
    const yyjson_val *v = val_of(array);

    if (!value_is_type(v, YYJSON_TYPE_ARR) || index >= node_size(v))
        return NULL;
    if (node_count(v) == node_size(v) + 1) /* all elements have one node */
        return of_val(v + 1 + index);
    for (v++; index > 0; index--)
        v = node_next(v);
    return of_val(v);
}

static const yyjson_val *member_find(const yyjson_val *object, const char *key, size_t size)
{
    const yyjson_val *k = object + 1;

    for (size_t left = node_size(object); left > 0; left--, k = node_next(k + 1))
        if (node_size(k) == size && memcmp(k->uni.str, key, size) == 0)
            return k + 1;
    return NULL;
}

const pawl_value *pawl_value_get(const pawl_value *object, const char *key)
{
    if (!value_is_type(val_of(object), YYJSON_TYPE_OBJ) || key == NULL)
        return NULL;
    return of_val(member_find(val_of(object), key, strlen(key)));
}

pawl_iter pawl_iter_of(const pawl_value *v)
{
    if (v == NULL || !node_holds(val_of(v)))
        return (pawl_iter){ NULL, 0, false };
    return (pawl_iter){ of_val(val_of(v) + 1), node_size(val_of(v)),
                        value_is_type(val_of(v), YYJSON_TYPE_OBJ) };
}

const pawl_value *pawl_iter_next(pawl_iter *it, const pawl_value **key)
{
    const yyjson_val *v = val_of(it->next);

    if (key != NULL)
        *key = it->left > 0 && it->keyed ? it->next : NULL;
    if (it->left == 0)
        return NULL;
    if (it->keyed)
        v++;
    it->left--;
    it->next = of_val(node_next(v));
    return of_val(v);
}

/* ---- JSON pointers (RFC 6901) --------------------------------------------------------------- */

/* Whether a token of `size` bytes, with ~0 and ~1 for ~ and /, equals `key`. */
static bool token_is(const char *token, size_t size, const yyjson_val *key)
{
    size_t at = 0;

    for (size_t i = 0; i < size; i++, at++) {
        char c = token[i];
        if (c == '~') {
            if (++i == size || (token[i] != '0' && token[i] != '1'))
                return false;
            c = token[i] == '0' ? '~' : '/';
        }
        if (at == node_size(key) || key->uni.str[at] != c)
            return false;
    }
    return at == node_size(key);
}

static const yyjson_val *token_member(const yyjson_val *object, const char *token, size_t size)
{
    const yyjson_val *key = object + 1;

    if (memchr(token, '~', size) == NULL)
        return member_find(object, token, size);
    for (size_t left = node_size(object); left > 0; left--, key = node_next(key + 1))
        if (token_is(token, size, key))
            return key + 1;
    return NULL;
}

static const yyjson_val *token_element(const yyjson_val *array, const char *token, size_t size)
{
    size_t index = 0;

    if (size == 0 || size > 18 || (size > 1 && token[0] == '0')) /* 18 digits cannot overflow */
        return NULL;
    for (size_t i = 0; i < size; i++) {
        if (token[i] < '0' || token[i] > '9')
            return NULL;
        if (index > node_size(array))
            return NULL;
        index = index * 10 + (size_t)(token[i] - '0');
    }
    return val_of(pawl_value_at(of_val(array), index));
}

const pawl_value *pawl_value_find(const pawl_value *value, const char *path)
{
    const yyjson_val *v = val_of(value);

    if (path == NULL)
        return NULL;
    while (v != NULL && *path != '\0') {
        size_t size;
        if (*path++ != '/')
            return NULL;
        size = strcspn(path, "/");
        if (value_is_type(v, YYJSON_TYPE_OBJ))
            v = token_member(v, path, size);
        else
            v = value_is_type(v, YYJSON_TYPE_ARR) ? token_element(v, path, size) : NULL;
        path += size;
    }
    return of_val(v);
}

/* ---- equality ------------------------------------------------------------------------------- */

/* Nothing may be allocated here, and a value cannot be sorted in place. Members in another order are compared by sorting blocks of keys in a pool on the
 * stack; nested values get half of the remaining pool. */
enum { POOL_KEYS = 2048, POOL_LEAST = 8 };
typedef struct key_pool {
    const yyjson_val **keys;
    size_t room;
} key_pool;

static bool same_nodes(const yyjson_val *a, const yyjson_val *b, key_pool pool);

static const yyjson_val *sorted_find(const yyjson_val **keys, size_t n, const yyjson_val *key)
{
    size_t low = 0;

    while (n > 0) {
        int c = key_compare(keys[low + n / 2], key);
        if (c == 0)
            return keys[low + n / 2];
        if (c < 0) {
            low += n / 2 + 1;
            n -= n / 2 + 1;
        } else {
            n /= 2;
        }
    }
    return NULL;
}

/* Whether each of the n members from `a` on is among the n from `b` on; keys are distinct in each. */
static bool same_shuffled(const yyjson_val *a, const yyjson_val *b, size_t n, key_pool pool)
{
    size_t take = pool.room / 2 > POOL_LEAST ? pool.room / 2 : pool.room;
    key_pool below = { pool.keys + take, pool.room - take };
    const yyjson_val *last[POOL_LEAST];

    if (take == 0) {
        pool.keys = last;
        take = POOL_LEAST;
    }
    for (size_t left = n; left > 0;) {
        size_t some = 0, found = 0;
        for (; some < take && left > 0; some++, left--, a = node_next(a + 1))
            pool.keys[some] = a;
        keys_sort(pool.keys, some);
        const yyjson_val *key = b;
        for (size_t i = 0; i < n && found < some; i++, key = node_next(key + 1)) {
            const yyjson_val *twin = sorted_find(pool.keys, some, key);
            if (twin == NULL)
                continue;
            if (!same_nodes(twin + 1, key + 1, below))
                return false;
            found++;
        }
        if (found < some)
            return false;
    }
    return true;
}

static bool same_members(const yyjson_val *a, const yyjson_val *b, key_pool pool)
{
    size_t left = node_size(a);

    for (a++, b++; left > 0 && key_equal(a, b); left--) {
        if (!same_nodes(a + 1, b + 1, pool))
            return false;
        a = node_next(a + 1);
        b = node_next(b + 1);
    }
    return left == 0 || same_shuffled(a, b, left, pool);
}

static bool same_elements(const yyjson_val *a, const yyjson_val *b, key_pool pool)
{
    size_t left = node_size(a);

    for (a++, b++; left > 0; left--, a = node_next(a), b = node_next(b))
        if (!same_nodes(a, b, pool))
            return false;
    return true;
}

static bool same_nodes(const yyjson_val *a, const yyjson_val *b, key_pool pool)
{
    unsigned type = node_type(a);

    if (type != node_type(b) || node_size(a) != node_size(b) || node_count(a) != node_count(b))
        return false;
    if (type == YYJSON_TYPE_STR)
        return memcmp(a->uni.str, b->uni.str, node_size(a)) == 0;
    if (type == YYJSON_TYPE_ARR)
        return same_elements(a, b, pool);
    if (type == YYJSON_TYPE_OBJ)
        return same_members(a, b, pool);
    return node_form(a) == node_form(b) && (type != YYJSON_TYPE_NUM || a->uni.u64 == b->uni.u64);
}

bool pawl_value_equal(const pawl_value *a, const pawl_value *b)
{
    const yyjson_val *keys[POOL_KEYS];

    if (a == NULL || b == NULL || a == b)
        return a == b;
    return same_nodes(val_of(a), val_of(b), (key_pool){ keys, POOL_KEYS });
}

static uint32_t hash_bytes(uint32_t h, const void *data, size_t size)
{
    const unsigned char *p = data;

    for (size_t i = 0; i < size; i++)
        h = (h ^ p[i]) * 16777619u;
    return h ^ h >> 15;
}

/* Hashes of members are added, so that their order does not matter. */
static uint32_t hash_nodes(const yyjson_val *v)
{
    const unsigned type = node_type(v);
    uint32_t h = hash_bytes(2166136261u, &(unsigned char){ (unsigned char)type }, 1);
    size_t left = node_holds(v) ? node_size(v) : 0;

    if (type == YYJSON_TYPE_STR)
        return hash_bytes(h, v->uni.str, node_size(v));
    if (type == YYJSON_TYPE_NUM)
        return hash_bytes(h, &v->uni.u64, sizeof v->uni.u64);
    for (v++; left > 0; left--, v = node_next(v)) {
        if (type == YYJSON_TYPE_OBJ) {
            uint32_t key = hash_bytes(2166136261u, v->uni.str, node_size(v));

            h += (key ^ hash_nodes(++v)) * 2654435761u;
        } else {
            h = (h ^ hash_nodes(v)) * 16777619u;
        }
    }
    return h;
}

uint32_t value_hash(const pawl_value *v) { return v == NULL ? 0 : hash_nodes(val_of(v)); }

const pawl_value *value_option(const pawl_value *option)
{
    const pawl_value *value = pawl_value_get(option, "value");

    return value != NULL ? value : option;
}

bool value_among(const pawl_value *list, const pawl_value *v)
{
    pawl_iter it = pawl_iter_of(list);
    const pawl_value *one;

    while ((one = pawl_iter_next(&it, NULL)) != NULL)
        if (pawl_value_equal(one, v))
            return true;
    return false;
}

bool value_one_of(const pawl_value *options, const pawl_value *v)
{
    pawl_iter it = pawl_iter_of(options);
    const pawl_value *o;

    while ((o = pawl_iter_next(&it, NULL)) != NULL)
        if (pawl_value_equal(value_option(o), v))
            return true;
    return false;
}

/* ---- copies --------------------------------------------------------------------------------- */

size_t value_nodes(const pawl_value *v)
{
    return v != NULL ? node_count(val_of(v)) : 0;
}

bool value_ordered(const pawl_value *v)
{
    const yyjson_val *at = val_of(v), *end = node_next(at);

    for (; at < end; at++)
        if (value_is_type(at, YYJSON_TYPE_OBJ) && keys_disorder(at) != NULL)
            return false;
    return true;
}

size_t node_depth(const yyjson_val *v, size_t most)
{
    const yyjson_val *ends[READ_DEPTH_MAX], *end = node_next(v);
    size_t depth = 0, deepest = 0;

    for (; v < end; v++) {
        if (!node_holds(v))
            continue;
        while (depth > 0 && v >= ends[depth - 1])
            depth--;
        if (depth == most || depth == READ_DEPTH_MAX)
            return most + 1;
        ends[depth++] = node_next(v);
        deepest = depth > deepest ? depth : deepest;
    }
    return deepest;
}

bool value_deeper(const pawl_value *v, size_t most)
{
    return value_nodes(v) > most && node_depth(val_of(v), most) > most;    /* fewer nodes cannot be deeper */
}

size_t value_block_bytes(const pawl_value *value)
{
    const yyjson_val *v = val_of(value);
    size_t nodes = value_nodes(value), bytes = nodes * sizeof *v;

    for (size_t i = 0; i < nodes; i++)
        if (node_type(&v[i]) == YYJSON_TYPE_STR)
            bytes += node_size(&v[i]) + 1;
    return bytes;
}

const pawl_value *value_copy_to(void *block, const pawl_value *value)
{
    size_t nodes = value_nodes(value);
    yyjson_val *to = block;
    char *text = (char *)(to + nodes);

    memcpy(to, val_of(value), nodes * sizeof *to);
    for (size_t i = 0; i < nodes; i++) {
        if (node_type(&to[i]) != YYJSON_TYPE_STR)
            continue;
        size_t size = node_size(&to[i]);
        text_copy(text, to[i].uni.str, size);
        text[size] = '\0';
        to[i].uni.str = text;
        text += size + 1;
    }
    return of_val(to);
}

const pawl_value *value_copy(arena *a, const pawl_value *v)
{
    void *block = v != NULL ? arena_get(a, value_block_bytes(v)) : NULL;

    return block != NULL ? value_copy_to(block, v) : NULL;
}
