/* faults.c - collects the faults of a file, sorted by line.
 *
 * Called by everything that reads a file, on one thread. Owns their texts. */
#include "file/file.h"

enum { FAULT_BYTES_MAX = 500 };     /* of one text; names in it come from outside */

void faults_init(faults *f, arena *mem)
{
    *f = (faults){ .mem = mem };
}

static int place_compare(const source_place *a, const source_place *b)
{
    int c = strcmp(a->file == NULL ? "" : a->file, b->file == NULL ? "" : b->file);

    if (c == 0)
        c = (a->line > b->line) - (a->line < b->line);
    return c != 0 ? c : (a->column > b->column) - (a->column < b->column);
}

static size_t char_bytes(unsigned char lead)
{
    return lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

/* Makes it one line of valid UTF-8, cut between characters: names in it come from outside. */
static size_t fault_text_settle(char *text, size_t size)
{
    size_t n;

    if (size > FAULT_BYTES_MAX) {
        size = FAULT_BYTES_MAX - 3;
        while (size > 0 && ((unsigned char)text[size] & 0xC0) == 0x80)
            size--;
        memcpy(text + size, "...", 3);
        size += 3;
    }
    for (size_t i = 0; i < size; i += n) {
        n = char_bytes((unsigned char)text[i]);
        if (n > size - i || !utf8_valid(text + i, n))
            n = 1, text[i] = '?';
        else if ((unsigned char)text[i] < 0x20 || text[i] == 0x7F)
            text[i] = '?';
    }
    return size;
}

static const char *fault_text(arena *mem, const char *fmt, va_list args)
{
    const char *text = NULL;
    buf b;

    buf_init(&b, &mem->alloc);
    buf_fmtv(&b, fmt, args);
    if (b.failed)
        mem->failed = true;
    else
        text = arena_strdup(mem, b.size == 0 ? "" : b.data, fault_text_settle(b.data, b.size));
    buf_free(&b);
    return text;
}

void fault_at(faults *f, source_place at, pawl_severity severity, const char *kind, const char *fmt, ...)
{
    file_fault **link = &f->first, *fault;
    va_list args;

    f->calls++;
    for (; *link != NULL && place_compare(&(*link)->at, &at) <= 0; link = &(*link)->next)
        if (place_compare(&(*link)->at, &at) == 0 && strcmp((*link)->kind, kind) == 0)
            return;
    f->count += severity == PAWL_SEVERITY_FAULT;
    f->warnings += severity == PAWL_SEVERITY_WARNING;
    if ((severity == PAWL_SEVERITY_FAULT ? f->count : f->warnings) > FILE_FAULTS_MAX || (fault = arena_get(f->mem, sizeof *fault)) == NULL)
        return;
    *fault = (file_fault){ .next = *link, .at = at, .severity = severity, .kind = kind };
    va_start(args, fmt);
    fault->text = fault_text(f->mem, fmt, args);
    va_end(args);
    if (fault->text != NULL)
        *link = fault;
}
