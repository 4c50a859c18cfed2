/* json.c - JSON as a tree with places.
 *
 * Called by doc_read.c. yyjson decides whether the text is valid, but keeps no places, so the text is walked again. */
#include "file/read.h"

/* ---- yyjson ------------------------------------------------------------------------------------------- */

static void *scratch_new(void *ctx, size_t size)
{
    return arena_get(ctx, size);
}

static void *scratch_grow(void *ctx, void *ptr, size_t old_size, size_t size)
{
    void *grown = arena_get(ctx, size);

    if (grown != NULL)
        memcpy(grown, ptr, old_size < size ? old_size : size);
    return grown;
}

static void scratch_drop(void *ctx, void *ptr)
{
    (void)ctx; /* freed with the arena */
    (void)ptr;
}

static bool json_valid(const doc_reading *r)
{
    yyjson_read_err e = { 0 };
    doc_reading where = *r;
    arena scratch;
    yyjson_doc *all;
    bool valid;

    arena_init(&scratch, &r->mem->alloc, 4096);
    yyjson_alc alc = { scratch_new, scratch_grow, scratch_drop, &scratch };
    /* Despite its type the text is not written to without YYJSON_READ_INSITU. */
    all = yyjson_read_opts((char *)(uintptr_t)r->text, (size_t)(r->end - r->text), YYJSON_READ_NOFLAG, &alc, &e);
    valid = all != NULL;
    if (!valid && (scratch.failed || e.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION)) {
        r->mem->failed = true;
    } else if (!valid) {
        reading_to(&where, r->text + e.pos < r->end ? r->text + e.pos : r->end);
        fault_at(r->f, reading_place(&where), PAWL_SEVERITY_FAULT, "syntax",
                 "not JSON: %s (a file that begins with a bracket is read as JSON; for YAML, begin it with a key)", e.msg);
    }
    arena_free(&scratch);
    return valid;
}

/* ---- the walk: over what is known to be valid --------------------------------------------------------------- */

static char json_next(doc_reading *r)
{
    const char *p = r->at;

    while (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r')
        p++;
    reading_to(r, p);
    return *p;
}

/* Escapes are decoded when the value is read. */
static doc *json_string(doc_reading *r)
{
    const char *start = r->at + 1, *p = start;
    doc *d = doc_new(r->mem, DOC_SCALAR, reading_place(r));
    const pawl_value *v;
    bool escapes = false;

    if (d == NULL)
        return NULL;
    for (; *p != '"'; p++) {
        escapes |= *p == '\\';
        p += *p == '\\';
    }
    reading_to(r, p + 1);
    if (!escapes) {
        d->text_at = d->at;
        d->text_at.column++;
        return doc_text_set(d, r->mem, start, (size_t)(p - start), false) ? d : NULL;
    }
    if ((v = value_parse(r->mem, start - 1, (size_t)(p - start) + 2, "text", NULL)) == NULL)
        return NULL;
    d->text = pawl_value_string(v);
    d->size = pawl_value_size(v);
    if (strlen(d->text) != d->size) {
        fault_at(r->f, d->at, PAWL_SEVERITY_FAULT, "encoding", "a text with a NUL character (\\u0000): no argument and no name can hold it, remove it");
        d->size = strlen(d->text);
    }
    return d;
}

static doc *json_word(doc_reading *r)
{
    const char *start = r->at, *p = start;
    doc *d = doc_new(r->mem, DOC_SCALAR, reading_place(r));

    while (p < r->end && strchr(",]} \t\r\n", *p) == NULL)
        p++;
    reading_to(r, p);
    if (d != NULL)
        d->text_at = d->at;
    return d != NULL && doc_text_set(d, r->mem, start, (size_t)(p - start), true) ? d : NULL;
}

static doc *json_node(doc_reading *r, size_t depth);

static doc *json_holder(doc_reading *r, size_t depth)
{
    const char close = *r->at == '{' ? '}' : ']';
    doc *d = doc_new(r->mem, close == '}' ? DOC_MAP : DOC_LIST, reading_place(r)), *key = NULL, *item;
    size_t cap = 0;

    if (d == NULL)
        return NULL;
    if (depth == FILE_DEPTH_MAX) {
        fault_at(r->f, d->at, PAWL_SEVERITY_FAULT, "too-deep", "more than %d lists and maps in one another (FILE_DEPTH_MAX)", FILE_DEPTH_MAX);
        return NULL;
    }
    reading_to(r, r->at + 1);
    while (json_next(r) != close) {
        if (*r->at == ',') {
            reading_to(r, r->at + 1);
            continue;
        }
        if (close == '}') {
            if ((key = json_string(r)) == NULL)
                return NULL;
            json_next(r);
            reading_to(r, r->at + 1);       /* the colon */
            json_next(r);
        }
        if ((item = json_node(r, depth + 1)) == NULL || !doc_add(d, r->mem, &cap, key, item))
            return NULL;
    }
    reading_to(r, r->at + 1);
    return close == ']' || doc_keys_check(d, r->mem, r->f) ? d : NULL;
}

static doc *json_node(doc_reading *r, size_t depth)
{
    switch (json_next(r)) {
    case '{':
    case '[':
        return json_holder(r, depth);
    case '"':
        return json_string(r);
    default:
        return json_word(r);
    }
}

doc *json_read(doc_reading *r)
{
    return json_valid(r) ? json_node(r, 0) : NULL;
}
