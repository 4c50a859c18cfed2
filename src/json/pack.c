/* pack.c - builds values from a format: measures first, then fills one block of the arena.
 *
 * Pure. */
#include "json/inner.h"

#include <assert.h>

typedef struct packer {
    arena *a;
    pawl_err *err;
    const char *fmt, *at;
    yyjson_val *next; /* the next node to fill */
    char *text;       /* where the next string goes */
    pack_copied_fn *on_copy;
    void *ctx;
    va_list args;
} packer;

static pawl_code pack_value(packer *p, size_t depth);

/* ---- measuring -------------------------------------------------------------------------------- */

typedef struct pack_extent {
    size_t nodes, bytes; /* bytes of strings */
    bool nothing;        /* a NULL where a value is expected */
} pack_extent;

static void extent_add(pack_extent *e, char c, packer *p)
{
    const char *text;
    const pawl_value *v;

    switch (c) {
    case 's':
        text = va_arg(p->args, const char *);
        e->nothing |= text == NULL;
        e->bytes += text != NULL ? strlen(text) + 1 : 0;
        e->nodes++;
        return;
    case 'j': /* a value has at most one node for every two bytes of its text, rounded up */
        text = va_arg(p->args, const char *);
        e->nothing |= text == NULL;
        e->nodes += text != NULL ? (strlen(text) + 1) / 2 : 0;
        return;
    case 'v':
        v = va_arg(p->args, const pawl_value *);
        e->nothing |= v == NULL;
        e->nodes += value_nodes(v);
        return;
    case 'i': (void)va_arg(p->args, int64_t); break;
    case 'u': (void)va_arg(p->args, uint64_t); break;
    case 'f': (void)va_arg(p->args, double); break;
    case 'b': (void)va_arg(p->args, int); break;
    case 'n':
    case '{':
    case '[': break;
    default: return;
    }
    e->nodes++;
}

static pack_extent pack_measure(packer *p)
{
    pack_extent e = { 0, 0, false };

    for (const char *c = p->fmt; *c != '\0'; c++)
        extent_add(&e, *c, p);
    return e;
}

/* ---- laying out ------------------------------------------------------------------------------- */

static char format_peek(packer *p)
{
    while (*p->at == ' ' || *p->at == '\t' || *p->at == '\n')
        p->at++;
    return *p->at;
}

static bool format_take(packer *p, char c)
{
    if (format_peek(p) != c)
        return false;
    p->at++;
    return true;
}

static pawl_code format_fail(packer *p, const char *problem)
{
    return fail(p->err, PAWL_INVALID, "format %s: byte %zu: %s", p->fmt, (size_t)(p->at - p->fmt), problem);
}

static pawl_code pack_string(packer *p)
{
    const char *text = va_arg(p->args, const char *);
    size_t size = strlen(text);

    if (!utf8_valid(text, size))
        return format_fail(p, "the string is not UTF-8");
    memcpy(p->text, text, size + 1);
    node_set_string(p->next++, p->text, size);
    p->text += size + 1;
    return PAWL_OK;
}

static pawl_code pack_copy(packer *p, const pawl_value *v, size_t depth)
{
    size_t nodes = value_nodes(v), left = DEPTH_MAX - depth;

    if (nodes > left && node_depth(val_of(v), left) > left) /* fewer nodes cannot be deeper */
        return fail(p->err, PAWL_LIMIT, "format %s: byte %zu: more than %d levels (DEPTH_MAX)", p->fmt,
                    (size_t)(p->at - p->fmt), (int)DEPTH_MAX);
    memcpy(p->next, val_of(v), nodes * sizeof *p->next);
    if (p->on_copy != NULL)
        p->on_copy(p->ctx, v, of_val(p->next));
    p->next += nodes;
    return PAWL_OK;
}

static pawl_code pack_json(packer *p, size_t depth)
{
    const char *text = va_arg(p->args, const char *);
    pack_copied_fn *on_copy = p->on_copy;
    const pawl_value *v = value_parse(p->a, text, strlen(text), "format j", p->err);
    pawl_code rc;

    if (v == NULL)
        return PAWL_INVALID;
    p->on_copy = NULL; /* the caller knows nothing of a parsed value */
    rc = pack_copy(p, v, depth);
    p->on_copy = on_copy;
    return rc;
}

static pawl_code pack_real(packer *p)
{
    double x = va_arg(p->args, double);

    if (!real_finite(x))
        return format_fail(p, "the number is not finite");
    node_set_real(p->next++, x);
    return PAWL_OK;
}

typedef pawl_code pack_part_fn(packer *p, size_t depth);

/* The contents of brackets, up to `close`. */
static pawl_code pack_parts(packer *p, size_t depth, pack_part_fn *part, char close, size_t *count)
{
    pawl_code rc;

    *count = 0;
    if (format_take(p, close))
        return PAWL_OK;
    do {
        if ((rc = part(p, depth)) != PAWL_OK)
            return rc;
        ++*count;
    } while (format_take(p, ','));
    return format_take(p, close) ? PAWL_OK : format_fail(p, close == ']' ? "',' or ']' is missing" : "',' or '}' is missing");
}

static pawl_code pack_array(packer *p, size_t depth)
{
    yyjson_val *array = p->next++;
    size_t count;
    pawl_code rc = pack_parts(p, depth, pack_value, ']', &count);

    if (rc != PAWL_OK)
        return rc;
    node_set_holder(array, YYJSON_TYPE_ARR, count, p->next);
    return PAWL_OK;
}

static pawl_code pack_member(packer *p, size_t depth)
{
    pawl_code rc;

    if (!format_take(p, 's'))
        return format_fail(p, "a key is an s");
    if ((rc = pack_string(p)) != PAWL_OK)
        return rc;
    if (!format_take(p, ':'))
        return format_fail(p, "':' is missing");
    return pack_value(p, depth);
}

static pawl_code pack_object(packer *p, size_t depth)
{
    yyjson_val *object = p->next++;
    const yyjson_val *twin;
    size_t count;
    pawl_code rc = pack_parts(p, depth, pack_member, '}', &count);

    if (rc != PAWL_OK)
        return rc;
    node_set_holder(object, YYJSON_TYPE_OBJ, count, p->next);
    if (!keys_duplicate(&p->a->alloc, object, &twin))
        return fail(p->err, PAWL_NOMEM, "format %s: no memory to check its keys", p->fmt);
    if (twin == NULL)
        return PAWL_OK;
    return fail(p->err, PAWL_INVALID, "format %s: byte %zu: key \"%s\" stands there twice", p->fmt,
                (size_t)(p->at - p->fmt), twin->uni.str);
}

static pawl_code pack_holder(packer *p, size_t depth)
{
    bool array = *p->at == '[';

    if (depth == DEPTH_MAX)
        return format_fail(p, "too many levels (DEPTH_MAX)");
    p->at++;
    return array ? pack_array(p, depth + 1) : pack_object(p, depth + 1);
}

static pawl_code pack_value(packer *p, size_t depth)
{
    switch (format_peek(p)) {
    case '{':
    case '[': return pack_holder(p, depth);
    case 's': p->at++; return pack_string(p);
    case 'f': p->at++; return pack_real(p);
    case 'j': p->at++; return pack_json(p, depth);
    case 'v': p->at++; return pack_copy(p, va_arg(p->args, const pawl_value *), depth);
    case 'i': node_set_int(p->next++, va_arg(p->args, int64_t)); break;
    case 'u': node_set_uint(p->next++, va_arg(p->args, uint64_t)); break;
    case 'b': node_set(p->next++, va_arg(p->args, int) ? FORM_TRUE : YYJSON_TYPE_BOOL, 0); break;
    case 'n': node_set(p->next++, YYJSON_TYPE_NULL, 0); break;
    default: return format_fail(p, "no value begins like this");
    }
    p->at++;
    return PAWL_OK;
}

static const pawl_value *pack_all(packer *p, const pack_extent *e)
{
    yyjson_val *root = arena_get(p->a, e->nodes * sizeof *root + e->bytes);

    if (root == NULL) {
        fail(p->err, PAWL_NOMEM, "format %s: no memory for %zu values", p->fmt, e->nodes);
        return NULL;
    }
    p->at = p->fmt;
    p->next = root;
    p->text = (char *)(root + e->nodes);
    if (pack_value(p, 0) != PAWL_OK)
        return NULL;
    if (format_peek(p) != '\0') {
        format_fail(p, "something follows the value");
        return NULL;
    }
    assert(p->next <= root + e->nodes);
    return of_val(root);
}

const pawl_value *value_packv(arena *a, pack_copied_fn *on_copy, void *ctx, pawl_err *err, const char *fmt,
                              va_list args)
{
    packer p = { .a = a, .err = err, .fmt = fmt, .at = fmt, .on_copy = on_copy, .ctx = ctx };
    const pawl_value *v = NULL;
    pack_extent e;

    va_copy(p.args, args);
    e = pack_measure(&p);
    va_end(p.args);
    if (e.nothing)
        return NULL;
    va_copy(p.args, args);
    v = pack_all(&p, &e);
    va_end(p.args);
    return v;
}

const pawl_value *value_pack(arena *a, pawl_err *err, const char *fmt, ...)
{
    const pawl_value *v;
    va_list args;

    va_start(args, fmt);
    v = value_packv(a, NULL, NULL, err, fmt, args);
    va_end(args);
    return v;
}
