/* yyjson_bridge.c - converts values to yyjson and back. Both copy, because nodes of values have bits that are not yyjson's.
 *
 * Pure. */
#include "json/inner.h"
#include "pawl/yyjson.h"

/* ---- to -------------------------------------------------------------------------------------- */

static bool bridge_fill(const pawl_value *v, yyjson_mut_val *out, yyjson_mut_doc *doc)
{
    pawl_iter it = pawl_iter_of(v);
    const pawl_value *key, *member;

    while ((member = pawl_iter_next(&it, &key)) != NULL) {
        yyjson_mut_val *copy = pawl_to_yyjson(member, doc), *name = key == NULL ? NULL : pawl_to_yyjson(key, doc);

        if (copy == NULL || (key != NULL && name == NULL))
            return false;
        if (key != NULL ? !yyjson_mut_obj_add(out, name, copy) : !yyjson_mut_arr_append(out, copy))
            return false;
    }
    return true;
}

yyjson_mut_val *pawl_to_yyjson(const pawl_value *v, yyjson_mut_doc *doc)
{
    yyjson_mut_val *out = NULL;

    switch (pawl_value_type(v)) {
    case PAWL_TYPE_NONE:
        return NULL;
    case PAWL_TYPE_NULL:
        return yyjson_mut_null(doc);
    case PAWL_TYPE_BOOL:
        return yyjson_mut_bool(doc, pawl_value_bool(v));
    case PAWL_TYPE_INT:
        return node_form(val_of(v)) == FORM_SINT ? yyjson_mut_sint(doc, pawl_value_int(v)) : yyjson_mut_uint(doc, pawl_value_uint(v));
    case PAWL_TYPE_REAL:
        return yyjson_mut_real(doc, pawl_value_real(v));
    case PAWL_TYPE_STRING:
        return yyjson_mut_strncpy(doc, pawl_value_string(v), pawl_value_size(v));
    case PAWL_TYPE_ARRAY:
        out = yyjson_mut_arr(doc);
        break;
    case PAWL_TYPE_OBJECT:
        out = yyjson_mut_obj(doc);
        break;
    }
    return out != NULL && bridge_fill(v, out, doc) ? out : NULL;
}

/* ---- and back ---------------------------------------------------------------------------------- */

typedef struct bridge_block {
    size_t size;                /* of the whole */
    _Alignas(ALIGN) char value[];
} bridge_block;

/* The allocator of yyjson's writer, on an arena: nothing is freed before the end. */
static void *bridge_new(void *ctx, size_t size)
{
    return arena_get(ctx, size);
}

static void *bridge_grow(void *ctx, void *ptr, size_t old_size, size_t size)
{
    void *grown = arena_get(ctx, size);

    if (grown != NULL)
        memcpy(grown, ptr, old_size < size ? old_size : size);
    return grown;
}

static void bridge_drop(void *ctx, void *ptr)
{
    (void)ctx;
    (void)ptr;
}

static pawl_value *bridge_block_new(const pawl_value *v, const pawl_alloc *alloc, pawl_err *err)
{
    size_t bytes = sizeof(bridge_block) + (v == NULL ? 0 : value_block_bytes(v));
    bridge_block *block = v == NULL ? NULL : mem_new(alloc, bytes);

    if (block == NULL) {
        if (v != NULL)
            fail(err, PAWL_NOMEM, "a yyjson value: no memory");
        return NULL;
    }
    block->size = bytes;
    value_copy_to(block->value, v);
    return (pawl_value *)(void *)block->value;
}

/* Converts through text, so that the same parser checks every value. */
static pawl_value *bridge_read(const yyjson_val *v, const yyjson_mut_val *mut, const pawl_alloc *given, pawl_err *err)
{
    pawl_alloc alloc = mem_or_default(given);
    pawl_value *out = NULL;
    yyjson_write_err why;
    size_t size = 0;
    char *text;
    arena mem;

    arena_init(&mem, &alloc, 1024);
    yyjson_alc alc = { bridge_new, bridge_grow, bridge_drop, &mem };
    text = v != NULL ? yyjson_val_write_opts(v, YYJSON_WRITE_NOFLAG, &alc, &size, &why)
                     : yyjson_mut_val_write_opts(mut, YYJSON_WRITE_NOFLAG, &alc, &size, &why);
    if (text != NULL)
        out = bridge_block_new(value_parse(&mem, text, size, "a yyjson value", err), &alloc, err);
    else if (mem.failed)
        fail(err, PAWL_NOMEM, "a yyjson value: no memory");
    else
        fail(err, PAWL_INVALID, "a yyjson value: %s", why.msg);
    arena_free(&mem);
    return out;
}

pawl_value *pawl_from_yyjson(const yyjson_val *v, const pawl_alloc *alloc, pawl_err *err)
{
    return v == NULL ? NULL : bridge_read(v, NULL, alloc, err);
}

pawl_value *pawl_from_yyjson_mut(const yyjson_mut_val *v, const pawl_alloc *alloc, pawl_err *err)
{
    return v == NULL ? NULL : bridge_read(NULL, v, alloc, err);
}

void pawl_yyjson_free(pawl_value *v, const pawl_alloc *given)
{
    pawl_alloc alloc = mem_or_default(given);
    bridge_block *block;

    if (v == NULL)
        return;
    block = (bridge_block *)(void *)((char *)(void *)v - offsetof(bridge_block, value));
    mem_free(&alloc, block, block->size);
}
