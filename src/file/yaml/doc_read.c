/* doc_read.c - reads a text as a document: refuses characters that no file may contain, then parses JSON or YAML.
 *
 * Pure; called by load.c and budget_keys.c, and by tests. */
#include "file/read.h"

/* ---- what may not stand in any file --------------------------------------------------------------------- */

static size_t char_size(unsigned char lead)
{
    return lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

static uint32_t char_code(const char *p, size_t size)
{
    uint32_t code = size == 1 ? (unsigned char)*p : (unsigned char)*p & (0x7Fu >> size);

    for (size_t i = 1; i < size; i++)
        code = code << 6 | ((unsigned char)p[i] & 0x3Fu);
    return code;
}

/* Characters that YAML allows as escapes only; and NEL, LS, PS, which end a line only for libyaml. */
static bool yaml_escape_only(uint32_t code)
{
    return (code < 0x20 && code != '\t' && code != '\n' && code != '\r') || (code >= 0x7F && code < 0xA0) ||
           code == 0x2028 || code == 0x2029 || code == 0xFEFF || code == 0xFFFE || code == 0xFFFF;
}

static bool text_check(doc_reading r, bool json)
{
    size_t n;

    for (const char *p = r.text; p < r.end; p += n) {
        unsigned char c = (unsigned char)*p;
        uint32_t code;

        n = char_size(c);
        if ((c >= 0x20 && c < 0x7F) || c == '\n')
            continue;
        code = n <= (size_t)(r.end - p) && utf8_valid(p, n) ? char_code(p, n) : UINT32_MAX;
        if (code != UINT32_MAX && code != 0 && (json || !yaml_escape_only(code)))
            continue;
        reading_to(&r, p);
        if (code == UINT32_MAX)
            fault_at(r.f, reading_place(&r), PAWL_SEVERITY_FAULT, "encoding", "byte 0x%02X is not UTF-8: save the file as UTF-8", c);
        else if (code == 0)
            fault_at(r.f, reading_place(&r), PAWL_SEVERITY_FAULT, "encoding", "a NUL character: an agent file is text, save it as UTF-8");
        else
            fault_at(r.f, reading_place(&r), PAWL_SEVERITY_FAULT, "encoding",
                     "character U+%04X cannot stand in YAML as it is: write it as \"\\u%04x\", in double quotes", (unsigned)code, (unsigned)code);
        return false;
    }
    return true;
}

/* ---- reading -------------------------------------------------------------------------------------------- */

/* By its first non-blank character; `{{` is not JSON, but an unquoted template. */
static bool is_json(const doc_reading *r)
{
    const char *p = r->text;

    while (p < r->end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r'))
        p++;
    return p < r->end && (*p == '[' || (*p == '{' && (p + 1 == r->end || p[1] != '{')));
}

doc *doc_read(arena *mem, const char *file, pawl_bytes text, faults *f)
{
    const size_t calls = f->calls;
    doc_reading r = { .mem = mem, .f = f, .file = file, .text = text.size == 0 ? "" : text.data };
    doc *d;
    bool json;

    r.end = r.text + text.size;
    if (text.size >= 3 && memcmp(r.text, "\xEF\xBB\xBF", 3) == 0)
        r.text += 3;
    reading_begin(&r);
    if (text.size > FILE_BYTES_MAX) {
        fault_at(f, reading_place(&r), PAWL_SEVERITY_FAULT, "too-large",
                 "%zu bytes are more than an agent file may have, %d (FILE_BYTES_MAX): keep data in files of their own", text.size, FILE_BYTES_MAX);
        return NULL;
    }
    json = is_json(&r);
    if (!text_check(r, json))
        return NULL;
    d = json ? json_read(&r) : yaml_read(&r);
    return f->calls == calls ? d : NULL;
}
