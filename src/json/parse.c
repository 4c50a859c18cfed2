/* parse.c - parses JSON text into the arena (X3). yyjson reads; what it accepts wrongly is refused here.
 *
 * Pure. */
#include "json/inner.h"

/* yyjson's memory in the arena: the newest block grows and shrinks in place. */
typedef struct parse_piece {
    arena *a;
    char *newest;
} parse_piece;

static void *piece_new(void *ctx, size_t size)
{
    parse_piece *p = ctx;

    p->newest = arena_get(p->a, size);
    return p->newest;
}

static void *piece_resize(void *ctx, void *ptr, size_t old_size, size_t size)
{
    parse_piece *p = ctx;
    void *to;

    if (ptr == p->newest && size <= (size_t)(p->a->end - p->newest)) {
        p->a->at = p->newest + (size + (ALIGN - 1)) / ALIGN * ALIGN;
        return ptr;
    }
    to = piece_new(ctx, size);
    if (to != NULL)
        memcpy(to, ptr, old_size < size ? old_size : size);
    return to;
}

static void piece_free(void *ctx, void *ptr)
{
    (void)ctx; /* on failure value_parse() frees everything at once */
    (void)ptr;
}

/* ---- what yyjson lets pass -------------------------------------------------------------------- */

/* The offset of the bracket that opens one level too many: nodes have no offsets, so the text is searched. */
static size_t depth_at(const char *text, size_t size, size_t most)
{
    size_t depth = 0, at = 0;
    bool quoted = false;

    for (; at < size; at++) {
        if (quoted && text[at] == '\\')
            at++;
        else if (text[at] == '"')
            quoted = !quoted;
        else if (!quoted && (text[at] == '[' || text[at] == '{') && ++depth > most)
            break;
        else if (!quoted && (text[at] == ']' || text[at] == '}'))
            depth--;
    }
    return at;
}

typedef struct parse_reading {
    const char *text, *what;
    size_t size, most;      /* levels */
    const yyjson_doc *doc;
    const pawl_alloc *alloc;
    pawl_err *err;
} parse_reading;

static pawl_code parse_fail_key(const parse_reading *r, const yyjson_val *key, const char *problem)
{
    const int shown = 64; /* bytes of a key that an error shows */
    int size = node_size(key) < (size_t)shown ? (int)node_size(key) : shown;

    while (size == shown && size > 0 && ((unsigned char)key->uni.str[size] & 0xC0) == 0x80)
        size--;
    return fail(r->err, PAWL_INVALID, "%s: byte %zu: key \"%.*s\" %s", r->what,
                (size_t)(key->uni.str - r->doc->str_pool) - 1, size, key->uni.str, problem);
}

static pawl_code check_keys(const parse_reading *r, const yyjson_val *object)
{
    const yyjson_val *key = object + 1, *twin;

    for (size_t left = node_size(object); left > 0; left--, key = node_next(key + 1))
        if (node_form(key) != FORM_PLAIN && memchr(key->uni.str, '\0', node_size(key)) != NULL)
            return parse_fail_key(r, key, "holds a NUL");
    if (!keys_duplicate(r->alloc, object, &twin))
        return fail(r->err, PAWL_NOMEM, "%s: no memory to check its keys", r->what);
    return twin != NULL ? parse_fail_key(r, twin, "stands there twice") : PAWL_OK;
}

/* -0 is 0 in canonical text, so also in memory (K2). */
static void number_settle(yyjson_val *v)
{
    if (node_form(v) == FORM_REAL)
        node_set_real(v, v->uni.f64);
    else if (v->uni.u64 == 0)
        node_set_uint(v, 0);
}

static pawl_code check_nodes(const parse_reading *r)
{
    const yyjson_val *ends[READ_DEPTH_MAX];
    yyjson_val *v = r->doc->root, *end = v + node_count(v);
    size_t depth = 0;
    pawl_code rc;

    for (; v < end; v++) {
        if (node_type(v) == YYJSON_TYPE_NUM)
            number_settle(v);
        if (!node_holds(v))
            continue;
        while (depth > 0 && v >= ends[depth - 1])
            depth--;
        if (depth == r->most)
            return fail(r->err, PAWL_LIMIT, "%s: byte %zu: more than %zu levels (DEPTH_MAX)", r->what,
                        depth_at(r->text, r->size, r->most), r->most);
        ends[depth++] = node_next(v);
        if (node_type(v) == YYJSON_TYPE_OBJ && (rc = check_keys(r, v)) != PAWL_OK)
            return rc;
    }
    return PAWL_OK;
}

/* ---- reading ---------------------------------------------------------------------------------- */

static pawl_code parse_fail(const parse_reading *r, const yyjson_read_err *e)
{
    if (e->code == YYJSON_READ_ERROR_MEMORY_ALLOCATION)
        return fail(r->err, PAWL_NOMEM, "%s: no memory for %zu bytes of JSON", r->what, r->size);
    return fail(r->err, PAWL_INVALID, "%s: byte %zu: %s", r->what, e->pos, e->msg);
}

static bool parse_size_ok(const parse_reading *r)
{
    if (r->text == NULL || r->size == 0)
        fail(r->err, PAWL_INVALID, "%s: byte 0: no JSON there", r->what);
    else if (r->size > TEXT_BYTES_MAX)
        fail(r->err, PAWL_LIMIT, "%s: %zu bytes are more than %zu (TEXT_BYTES_MAX)", r->what, r->size,
             TEXT_BYTES_MAX);
    else
        return true;
    return false;
}

static const pawl_value *parse_to(arena *a, const char *text, size_t size, size_t most, const char *what, pawl_err *err)
{
    parse_reading r = { text, what != NULL ? what : "value", size, most, NULL, &a->alloc, err };
    arena_chunk *chunk = a->last;
    char *at = a->at;
    parse_piece p = { a, NULL };
    yyjson_alc alc = { piece_new, piece_resize, piece_free, &p };
    yyjson_read_err e;
    const yyjson_val *root;

    if (!parse_size_ok(&r))
        return NULL;
    /* Despite its type the text is not written to without YYJSON_READ_INSITU. */
    r.doc = yyjson_read_opts((char *)(uintptr_t)text, size, YYJSON_READ_NOFLAG, &alc, &e);
    if (r.doc == NULL)
        parse_fail(&r, &e);
    if (r.doc == NULL || check_nodes(&r) != PAWL_OK) {
        if (a->last == chunk)
            a->at = at;
        return NULL;
    }
    root = r.doc->root;
    if (p.newest == (const char *)r.doc) /* gives back what yyjson reserved too much */
        a->at = (char *)(r.doc->root + node_count(root));
    return of_val(root);
}

const pawl_value *value_parse(arena *a, const char *text, size_t size, const char *what, pawl_err *err)
{
    return parse_to(a, text, size, DEPTH_MAX, what, err);
}

const pawl_value *value_read(arena *a, const char *text, size_t size, const char *what, pawl_err *err)
{
    return parse_to(a, text, size, READ_DEPTH_MAX, what, err);
}
