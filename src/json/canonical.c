/* canonical.c - writes the canonical text of a value (K2), which is hashed, stored and compared.
 *
 * Pure. Only the text is allocated, unless an object has many unsorted keys. Depth is limited where values are made, so recursion is limited here. */
#include "json/inner.h"

enum { KEYS_STACK = 24 }; /* keys of an object that are sorted on the stack */

/* A node on the path from the root to the node that is written, for the paths of references. */
typedef struct canon_frame {
    const struct canon_frame *up;
    const yyjson_val *key; /* NULL in an array */
    size_t index;
} canon_frame;

typedef struct canon_writer {
    buf *b;
    value_refs *refs;
    buf *list;          /* NULL: no refs are wanted */
    const char *prefix; /* of all their paths */
} canon_writer;

static void put_value(canon_writer *w, const yyjson_val *v, const canon_frame *up);

static inline bool room_for(buf *b, size_t more)
{
    return more <= b->cap - b->size || buf_room(b, more);
}

/* ---- strings -------------------------------------------------------------------------------- */

size_t escape_char(char *out, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";
    static const char letter[] = {
        ['"'] = '"', ['\\'] = '\\', ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r'
    };

    out[0] = '\\';
    out[1] = letter[c];
    if (letter[c] != 0)
        return 2;
    memcpy(out + 1, "u00", 3);
    out[4] = hex[c >> 4];
    out[5] = hex[c & 15];
    return 6;
}

/* Not inlined, so that the other branch keeps its registers. */
APART static void put_escaped(buf *b, const char *text, size_t size)
{
    const char *end = text + size;

    buf_char(b, '"');
    for (;;) {
        size_t run = text_run(text, end);

        if (!room_for(b, run + ESCAPE_TEXT_MAX))
            return;
        text_copy(b->data + b->size, text, run);
        b->size += run;
        text += run;
        if (text == end)
            break;
        b->size += escape_char(b->data + b->size, (unsigned char)*text++);
    }
    buf_char(b, '"');
}

void canon_string(buf *b, const char *text, size_t size)
{
    if (size + 2 > b->cap - b->size || !text_plain(text, size))
        put_escaped(b, text, size);
    else
        pen_end(b, pen_name(b->data + b->size, text, size));
}

/* Writes a string with a byte before and one after its quotes, such as `,"key":`. 0: none. */
static inline void put_string(buf *b, char before, const yyjson_val *v, char after)
{
    size_t size = node_size(v);
    char *out;

    if (node_form(v) != FORM_PLAIN || !room_for(b, size + 4)) {
        if (before != 0)
            buf_char(b, before);
        canon_string(b, v->uni.str, size);
        if (after != 0)
            buf_char(b, after);
        return;
    }
    out = b->data + b->size;
    *out = before;
    out += before != 0;
    *out++ = '"';
    text_copy(out, v->uni.str, size);
    out += size;
    *out++ = '"';
    *out = after;
    out += after != 0;
    b->size = (size_t)(out - b->data);
}

/* ---- refs ------------------------------------------------------------------------------------ */

static const value_ref *ref_of(value_refs *refs, const yyjson_val *v)
{
    for (size_t i = 0; i < refs->count; i++) {
        const value_ref *r = &refs->list[refs->next < refs->count ? refs->next : 0];

        refs->next = refs->next < refs->count ? refs->next + 1 : 1;
        if (val_of(r->node) == v)
            return r;
    }
    return NULL;
}

/* Tokens of a JSON pointer, the outermost first; then escaped as part of a string. */
static void put_path(buf *list, const canon_frame *f)
{
    if (f == NULL)
        return;
    put_path(list, f->up);
    buf_char(list, '/');
    if (f->key == NULL) {
        buf_uint(list, f->index);
        return;
    }
    for (const char *p = f->key->uni.str, *end = p + node_size(f->key); p < end; p++) {
        if (*p == '~' || *p == '/')
            buf_put(list, *p == '~' ? "~0" : "~1", 2);
        else if (text_run(p, p + 1) == 1)
            buf_char(list, *p);
        else if (room_for(list, 6))
            list->size += escape_char(list->data + list->size, (unsigned char)*p);
    }
}

static void put_ref(buf *list, const char *prefix, const value_ref *r, const canon_frame *up)
{
    if (list->size > 0 && list->data[list->size - 1] != '[')
        buf_char(list, ',');
    buf_put(list, "[\"", 2);
    buf_text(list, prefix);
    put_path(list, up);
    buf_put(list, "\",", 2);
    canon_string(list, r->form, strlen(r->form));
    buf_char(list, ',');
    canon_string(list, r->target, strlen(r->target));
    if (r->digest != NULL) {
        buf_char(list, ',');
        canon_string(list, r->digest, strlen(r->digest));
    }
    buf_char(list, ']');
}

static bool put_as_ref(canon_writer *w, const yyjson_val *v, const canon_frame *up)
{
    const value_ref *r = ref_of(w->refs, v);

    if (r == NULL)
        return false;
    put_ref(w->list, w->prefix, r, up);
    buf_put(w->b, "null", 4);
    return true;
}

/* ---- values ----------------------------------------------------------------------------------- */

static void put_number(buf *b, const yyjson_val *v)
{
    if (!room_for(b, REAL_TEXT_MAX))
        return;
    if (node_form(v) == FORM_REAL)
        b->size += real_text(v->uni.f64, b->data + b->size);
    else if (node_form(v) == FORM_SINT)
        buf_int(b, v->uni.i64);
    else if (v->uni.u64 < 10)
        b->data[b->size++] = (char)('0' + v->uni.u64);
    else
        b->size += uint_text(v->uni.u64, b->data + b->size);
}

static void put_array(canon_writer *w, const yyjson_val *v, const canon_frame *up)
{
    canon_frame f = { up, NULL, 0 };
    size_t n = node_size(v);

    buf_char(w->b, '[');
    for (v++; f.index < n && !w->b->failed; f.index++, v = node_next(v)) {
        if (f.index > 0)
            buf_char(w->b, ',');
        put_value(w, v, &f);
    }
    buf_char(w->b, ']');
}

static void put_sorted(canon_writer *w, const yyjson_val *object, const yyjson_val **keys,
                       const canon_frame *up)
{
    canon_frame f = { up, NULL, 0 };
    size_t n = node_size(object);

    keys_list(object, keys);
    keys_sort(keys, n);
    for (size_t i = 0; i < n && !w->b->failed; i++) {
        f.key = keys[i];
        put_string(w->b, i > 0 ? ',' : 0, keys[i], ':');
        put_value(w, keys[i] + 1, &f);
    }
}

static void put_few(canon_writer *w, const yyjson_val *object, const canon_frame *up)
{
    const yyjson_val *keys[KEYS_STACK];

    put_sorted(w, object, keys, up);
}

static void put_many(canon_writer *w, const yyjson_val *object, const canon_frame *up)
{
    size_t bytes = node_size(object) * sizeof object;
    const yyjson_val **keys = mem_grow(&w->b->alloc, NULL, 0, bytes);

    if (keys != NULL)
        put_sorted(w, object, keys, up);
    else
        w->b->failed = true;
    mem_free(&w->b->alloc, (void *)keys, bytes);
}

static void put_in_order(canon_writer *w, const yyjson_val *object, const canon_frame *up)
{
    canon_frame f = { up, object + 1, 0 };
    char before = 0;

    for (size_t left = node_size(object); left > 0 && !w->b->failed; left--) {
        put_string(w->b, before, f.key, ':');
        put_value(w, f.key + 1, &f);
        f.key = node_next(f.key + 1);
        before = ',';
    }
}

static void put_object(canon_writer *w, const yyjson_val *object, const canon_frame *up)
{
    buf_char(w->b, '{');
    if (keys_disorder(object) == NULL)
        put_in_order(w, object, up);
    else if (node_size(object) <= KEYS_STACK)
        put_few(w, object, up);
    else
        put_many(w, object, up);
    buf_char(w->b, '}');
}

static void put_value(canon_writer *w, const yyjson_val *v, const canon_frame *up)
{
    if (w->list != NULL && node_is_ref(v) && put_as_ref(w, v, up))
        return;
    switch (node_type(v)) {
    case YYJSON_TYPE_STR: put_string(w->b, 0, v, 0); return;
    case YYJSON_TYPE_NUM: put_number(w->b, v); return;
    case YYJSON_TYPE_OBJ: put_object(w, v, up); return;
    case YYJSON_TYPE_ARR: put_array(w, v, up); return;
    case YYJSON_TYPE_BOOL:
        if (node_form(v) == FORM_TRUE)
            buf_put(w->b, "true", 4);
        else
            buf_put(w->b, "false", 5);
        return;
    }
    buf_put(w->b, "null", 4);
}

void canon(buf *b, const pawl_value *v)
{
    canon_refs(b, v, NULL, NULL);
}

void canon_refs(buf *b, const pawl_value *v, value_refs *refs, buf *list)
{
    canon_refs_below(b, v, refs, list, "");
}

void canon_refs_below(buf *b, const pawl_value *v, value_refs *refs, buf *list, const char *prefix)
{
    canon_writer w = { b, refs, refs != NULL && refs->count > 0 ? list : NULL, prefix };

    if (v != NULL)
        put_value(&w, val_of(v), NULL);
}
