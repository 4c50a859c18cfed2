/* fuzz_doc.c - any bytes as an agent file: refused with words and places, or a tree whose texts stand where it says, and
 * whose value, of JSON, is what the reader of values makes of the same bytes. */
#include "file/file.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void faults_hold(const faults *f)
{
    const file_fault *last = NULL;

    for (const file_fault *x = f->first; x != NULL; last = x, x = x->next) {
        must(x->at.line > 0 && x->at.column > 0 && *x->text != '\0' && *x->kind != '\0');
        must(utf8_valid(x->text, strlen(x->text)) && strchr(x->text, '\n') == NULL);
        must(last == NULL || last->at.line < x->at.line || (last->at.line == x->at.line && last->at.column <= x->at.column));
    }
}

/* The byte that stands at a place of a text: counted here in another way than by those who read. */
static const char *byte_at(pawl_bytes text, source_place at)
{
    const char *p = text.data, *end = p + text.size;
    uint32_t column = 1;

    if (text.size >= 3 && memcmp(p, "\xEF\xBB\xBF", 3) == 0)
        p += 3;
    for (uint32_t line = 1; line < at.line && p < end; p++)
        line += *p == '\n' || (*p == '\r' && (p + 1 == end || p[1] != '\n'));
    for (; p < end && column < at.column; column++)
        for (p++; p < end && ((unsigned char)*p & 0xC0) == 0x80; p++)
            ;
    return p;
}

static void tree_holds(const doc *d, pawl_bytes text, size_t depth)
{
    must(d->at.line > 0 && d->at.column > 0 && depth <= FILE_DEPTH_MAX);
    if (d->kind == DOC_SCALAR) {
        must(strlen(d->text) == d->size && utf8_valid(d->text, d->size));
        if (d->text_at.line > 0 && text.size < 4096) {
            const char *p = byte_at(text, d->text_at);
            must((size_t)(text.data + text.size - p) >= d->size && memcmp(p, d->text, d->size) == 0);
        }
        return;
    }
    must(depth < FILE_DEPTH_MAX);
    for (size_t i = 0; i < d->size; i++) {
        if (d->kind == DOC_MAP) {
            must(d->keys[i]->kind == DOC_SCALAR);
            must(doc_get(d, d->keys[i]->text) == d->items[i] || d->size > 1000);
            tree_holds(d->keys[i], text, depth + 1);
        }
        tree_holds(d->items[i], text, depth + 1);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const pawl_bytes text = { (const char *)data, size };
    const pawl_value *v, *same;
    arena mem;
    faults f;
    doc *d;

    arena_init(&mem, NULL, 4096);
    faults_init(&f, &mem);
    d = doc_read(&mem, "fuzz", text, &f);
    must((d == NULL) == (f.count > 0) && !mem.failed);
    if (d != NULL) {
        tree_holds(d, text, 0);
        v = doc_value(d, &mem, &f);
        must((v == NULL) == (f.count > 0) && !mem.failed);
        same = v != NULL && (*text.data == '{' || *text.data == '[') ? value_parse(&mem, text.data, text.size, "fuzz", NULL) : NULL;
        must(same == NULL || pawl_value_equal(v, same));
    }
    faults_hold(&f);
    arena_free(&mem);
    return 0;
}
