/* doc.c - documents: a tree of lists, maps and scalars with their places; conversion to JSON values.
 *
 * Pure; called by the parsers of this folder and by all readers of keys. */
#include "file/read.h"

#include <stdlib.h>

/* ---- places ----------------------------------------------------------------------------------------- */

void reading_to(doc_reading *r, const char *at)
{
    while (r->at < at) {
        char c = *r->at++;

        if (((unsigned char)c & 0xC0) == 0x80)
            continue;
        r->index++;
        if (c == '\n' || (c == '\r' && (r->at == r->end || *r->at != '\n'))) {
            r->line++;
            r->column = 1;
        } else if (c != '\r') {
            r->column++;
        }
    }
}

static const char *char_end(const char *p, const char *end)
{
    for (p++; p < end && ((unsigned char)*p & 0xC0) == 0x80; p++)
        ;
    return p;
}

void reading_begin(doc_reading *r)
{
    r->at = r->text;
    r->index = 0;
    r->line = r->column = 1;
}

void reading_to_index(doc_reading *r, size_t index)
{
    if (index < r->index)
        reading_begin(r);
    while (r->index < index && r->at < r->end)
        reading_to(r, char_end(r->at, r->end));
}

const char *reading_line(const doc_reading *r, uint32_t line)
{
    const char *p = r->text;

    for (; line > 1 && p < r->end; p++)
        line -= *p == '\n' || (*p == '\r' && (p + 1 == r->end || p[1] != '\n'));
    return p;
}

int shown(const char *text, size_t size)
{
    const size_t most = 40;
    const char *p = text, *end = text + size;

    for (size_t n = 0; n < most && p < end && (unsigned char)*p >= 0x20; n++)
        p = char_end(p, end);
    return (int)(p - text);
}

/* ---- nodes ------------------------------------------------------------------------------------------ */

doc *doc_new(arena *mem, doc_kind kind, source_place at)
{
    doc *d = arena_zero(mem, sizeof *d);

    if (d != NULL) {
        d->kind = kind;
        d->at = at;
        d->text = "";
    }
    return d;
}

bool doc_text_set(doc *d, arena *mem, const char *text, size_t size, bool plain)
{
    d->text = arena_strdup(mem, text, size);
    d->size = size;
    d->plain = plain;
    return d->text != NULL;
}

bool doc_add(doc *to, arena *mem, size_t *cap, doc *key, doc *item)
{
    size_t keys_cap = *cap;

    if (key != NULL) {
        if (!arena_room(mem, (void **)&to->keys, &keys_cap, to->size, sizeof(doc *)))
            return false;
        to->keys[to->size] = key;
    }
    if (!arena_room(mem, (void **)&to->items, cap, to->size, sizeof(doc *)))
        return false;
    to->items[to->size++] = item;
    return true;
}

static int key_order(const void *a, const void *b)
{
    const doc *x = *(doc *const *)a, *y = *(doc *const *)b;
    int c = strcmp(x->text, y->text);

    if (c == 0)
        c = (x->at.line > y->at.line) - (x->at.line < y->at.line);
    return c != 0 ? c : (x->at.column > y->at.column) - (x->at.column < y->at.column);
}

bool doc_keys_check(const doc *map, arena *mem, faults *f)
{
    doc **sorted, *first;

    if (map->size < 2)
        return true;
    if ((sorted = arena_get(mem, map->size * sizeof(doc *))) == NULL)
        return false;
    memcpy(sorted, map->keys, map->size * sizeof(doc *));
    qsort(sorted, map->size, sizeof(doc *), key_order);
    first = sorted[0];
    for (size_t i = 1; i < map->size; i++) {
        if (strcmp(sorted[i]->text, first->text) != 0)
            first = sorted[i];
        else
            fault_at(f, sorted[i]->at, PAWL_SEVERITY_FAULT, "duplicate-key", "key \"%.*s\" is already in line %u of this map: keep one of them",
                     shown(first->text, first->size), first->text, (unsigned)first->at.line);
    }
    return true;
}

const doc *doc_get(const doc *map, const char *key)
{
    if (map == NULL || map->kind != DOC_MAP)
        return NULL;
    for (size_t i = 0; i < map->size; i++)
        if (strcmp(map->keys[i]->text, key) == 0)
            return map->items[i];
    return NULL;
}

/* ---- types ------------------------------------------------------------------------------------------------ */

static const char *digits(const char *p)
{
    while (*p >= '0' && *p <= '9')
        p++;
    return p;
}

static const char *sign(const char *p)
{
    return p + (*p == '-' || *p == '+');
}

static bool one_of(const char *text, const char *const *words)
{
    for (; *words != NULL; words++)
        if (strcmp(text, *words) == 0)
            return true;
    return false;
}

static bool is_int(const char *text)
{
    const char *p = sign(text);

    if (text[0] == '0' && (text[1] == 'o' || text[1] == 'x') && text[2] != '\0')
        return text[2 + strspn(text + 2, text[1] == 'o' ? "01234567" : "0123456789abcdefABCDEF")] == '\0';
    return *p != '\0' && *digits(p) == '\0';
}

static bool is_unbounded(const char *text)
{
    static const char *const inf[] = { ".inf", ".Inf", ".INF", NULL }, *const nan[] = { ".nan", ".NaN", ".NAN", NULL };

    return one_of(sign(text), inf) || one_of(text, nan);
}

static bool is_real(const char *text)
{
    const char *whole = sign(text), *p = digits(whole);
    size_t count = (size_t)(p - whole);

    if (*p == '.') {
        const char *part = p + 1;
        p = digits(part);
        count += (size_t)(p - part);
    }
    if (count > 0 && (*p == 'e' || *p == 'E')) {
        const char *power = sign(p + 1);
        p = digits(power);
        if (p == power)
            return false;
    }
    return (count > 0 && *p == '\0') || is_unbounded(text);
}

static bool is_true(const char *text)
{
    static const char *const words[] = { "true", "True", "TRUE", NULL };

    return one_of(text, words);
}

pawl_type doc_type(const doc *d)
{
    static const char *const nulls[] = { "", "~", "null", "Null", "NULL", NULL }, *const no[] = { "false", "False", "FALSE", NULL };

    if (d == NULL)
        return PAWL_TYPE_NONE;
    if (d->kind != DOC_SCALAR)
        return d->kind == DOC_LIST ? PAWL_TYPE_ARRAY : PAWL_TYPE_OBJECT;
    if (!d->plain)
        return PAWL_TYPE_STRING;
    if (one_of(d->text, nulls))
        return PAWL_TYPE_NULL;
    if (is_true(d->text) || one_of(d->text, no))
        return PAWL_TYPE_BOOL;
    return is_int(d->text) ? PAWL_TYPE_INT : is_real(d->text) ? PAWL_TYPE_REAL : PAWL_TYPE_STRING;
}

/* ---- values: written as JSON, so that there is one judge of what is a value ------------------------------------ */

static bool int_write(buf *b, const char *text)
{
    const bool below = *text == '-';
    const unsigned base = text[0] == '0' && text[1] == 'x' ? 16 : text[0] == '0' && text[1] == 'o' ? 8 : 10;
    const uint64_t most = below ? (uint64_t)1 << 63 : UINT64_MAX;
    uint64_t n = 0;

    for (const char *p = base == 10 ? sign(text) : text + 2; *p != '\0'; p++) {
        unsigned digit = (unsigned)(*p <= '9' ? *p - '0' : (*p | 0x20) - 'a' + 10);

        if (n > (most - digit) / base)
            return false;
        n = n * base + digit;
    }
    if (below && n > 0)
        buf_char(b, '-');
    buf_uint(b, n);
    return true;
}

typedef struct doc_writer {
    buf b;
    faults *f;
    arena scratch;              /* to check that a real is finite */
} doc_writer;

/* JSON requires digits on both sides of the point, and no leading zero. */
static bool real_write(doc_writer *w, const char *text)
{
    const char *p = sign(text), *end;
    buf *b = &w->b;
    size_t from = b->size;

    if (is_unbounded(text))
        return false;
    if (*text == '-')
        buf_char(b, '-');
    while (*p == '0')
        p++;
    end = digits(p);
    if (p == end)
        buf_char(b, '0');
    buf_put(b, p, (size_t)(end - p));
    if (*end == '.') {
        p = end + 1;
        end = digits(p);
        buf_char(b, '.');
        buf_put(b, p, (size_t)(end - p));
        if (p == end)
            buf_char(b, '0');
    }
    buf_text(b, end);
    arena_reset(&w->scratch);
    return b->failed || value_parse(&w->scratch, b->data + from, b->size - from, "number", NULL) != NULL || w->scratch.failed;
}

static void scalar_write(doc_writer *w, const doc *d)
{
    buf *b = &w->b;
    bool good = true;

    switch (doc_type(d)) {
    case PAWL_TYPE_NULL:
        buf_word(b, "null");
        break;
    case PAWL_TYPE_BOOL:
        buf_text(b, is_true(d->text) ? "true" : "false");
        break;
    case PAWL_TYPE_INT:
        good = int_write(b, d->text);
        break;
    case PAWL_TYPE_REAL:
        good = real_write(w, d->text);
        break;
    case PAWL_TYPE_NONE:
    case PAWL_TYPE_STRING:
    case PAWL_TYPE_ARRAY:
    case PAWL_TYPE_OBJECT:
        canon_string(b, d->text, d->size);
        break;
    }
    if (!good)
        fault_at(w->f, d->at, PAWL_SEVERITY_FAULT, "number",
                 "%.*s is no number that a value can hold (integers have 64 bits, reals are finite): put it in quotes to keep it as text",
                 shown(d->text, d->size), d->text);
}

static void doc_write(doc_writer *w, const doc *d)
{
    buf *b = &w->b;

    if (d->kind == DOC_SCALAR) {
        scalar_write(w, d);
        return;
    }
    buf_char(b, d->kind == DOC_LIST ? '[' : '{');
    for (size_t i = 0; i < d->size; i++) {
        if (i > 0)
            buf_char(b, ',');
        if (d->kind == DOC_MAP) {
            canon_string(b, d->keys[i]->text, d->keys[i]->size);
            buf_char(b, ':');
        }
        doc_write(w, d->items[i]);
    }
    buf_char(b, d->kind == DOC_LIST ? ']' : '}');
}

const pawl_value *doc_value(const doc *d, arena *mem, faults *f)
{
    const size_t calls = f->calls;
    const pawl_value *v = NULL;
    doc_writer w = { .f = f };

    buf_init(&w.b, &mem->alloc);
    arena_init(&w.scratch, &mem->alloc, 0);
    doc_write(&w, d);
    if (w.b.failed || w.scratch.failed)
        mem->failed = true;
    else if (f->calls == calls)
        v = value_parse(mem, w.b.data, w.b.size, "value", NULL);
    arena_free(&w.scratch);
    buf_free(&w.b);
    return v;
}
