/* make.c - makes values of one node, and checks strings.
 *
 * Pure; values are in the caller's arena. */
#include "json/inner.h"

void node_set_string(yyjson_val *v, const char *text, size_t size)
{
    bool plain = text_run(text, text + size) == size;

    node_set(v, plain ? FORM_PLAIN : YYJSON_TYPE_STR, size);
    v->uni.str = text;
}

void node_set_holder(yyjson_val *v, unsigned type, size_t members, const yyjson_val *end)
{
    node_set(v, type, members);
    v->uni.ofs = (size_t)(end - v) * sizeof *v;
}

const pawl_value *value_null(arena *a)
{
    yyjson_val *v = arena_get(a, sizeof *v);

    if (v != NULL)
        node_set(v, YYJSON_TYPE_NULL, 0);
    return of_val(v);
}

const pawl_value *value_bool(arena *a, bool b)
{
    yyjson_val *v = arena_get(a, sizeof *v);

    if (v != NULL)
        node_set(v, b ? FORM_TRUE : YYJSON_TYPE_BOOL, 0);
    return of_val(v);
}

const pawl_value *value_int(arena *a, int64_t n)
{
    yyjson_val *v = arena_get(a, sizeof *v);

    if (v != NULL)
        node_set_int(v, n);
    return of_val(v);
}

const pawl_value *value_uint(arena *a, uint64_t n)
{
    yyjson_val *v = arena_get(a, sizeof *v);

    if (v != NULL)
        node_set_uint(v, n);
    return of_val(v);
}

const pawl_value *value_real(arena *a, double x)
{
    yyjson_val *v = real_finite(x) ? arena_get(a, sizeof *v) : NULL;

    if (v != NULL)
        node_set_real(v, x);
    return of_val(v);
}

/* Node and text in one block. */
const pawl_value *value_string(arena *a, const char *text, size_t size)
{
    yyjson_val *v;
    char *copy;

    if (text == NULL || size > TEXT_BYTES_MAX || !utf8_valid(text, size))
        return NULL;
    v = arena_get(a, sizeof *v + size + 1);
    if (v == NULL)
        return NULL;
    copy = (char *)(v + 1);
    text_copy(copy, text, size);
    copy[size] = '\0';
    node_set_string(v, copy, size);
    return of_val(v);
}

/* ---- one more ----------------------------------------------------------------------------- */

static void node_put(yyjson_val *out, size_t *used, const pawl_value *v)
{
    memcpy(out + *used, val_of(v), value_nodes(v) * sizeof *out);
    *used += value_nodes(v);
}

const pawl_value *value_with(arena *a, const pawl_value *object, const char *key, const pawl_value *v)
{
    const pawl_value *name, *at, *member;
    size_t used = 1, count = 0;
    bool put = false;
    pawl_iter it = pawl_iter_of(object);
    yyjson_val *out;

    if (object == NULL || v == NULL || (name = value_string(a, key, strlen(key))) == NULL)
        return NULL;
    if ((out = arena_get(a, (value_nodes(object) + value_nodes(v) + 1) * sizeof *out)) == NULL)
        return NULL;
    while ((member = pawl_iter_next(&it, &at)) != NULL) {
        bool here = strcmp(pawl_value_string(at), key) == 0;

        put = put || here;
        node_put(out, &used, at);
        node_put(out, &used, here ? v : member);
        count++;
    }
    if (!put) {
        node_put(out, &used, name);
        node_put(out, &used, v);
        count++;
    }
    node_set_holder(out, YYJSON_TYPE_OBJ, count, out + used);
    return of_val(out);
}

const pawl_value *value_with_all(arena *a, const pawl_value *object, const pawl_value *members)
{
    pawl_iter it = pawl_iter_of(members);
    const pawl_value *key, *v;

    while ((v = pawl_iter_next(&it, &key)) != NULL)
        object = value_with(a, object, pawl_value_string(key), v);
    return object;
}

const pawl_value *value_push(arena *a, const pawl_value *array, const pawl_value *v)
{
    size_t used, n = pawl_value_size(array);
    yyjson_val *out;

    if (array == NULL || v == NULL)
        return NULL;
    used = value_nodes(array);
    if ((out = arena_get(a, (used + value_nodes(v)) * sizeof *out)) == NULL)
        return NULL;
    memcpy(out, val_of(array), used * sizeof *out);
    node_put(out, &used, v);
    node_set_holder(out, YYJSON_TYPE_ARR, n + 1, out + used);
    return of_val(out);
}
