/* text_limit.c - prepares text for a model: valid UTF-8, cut to a limit.
 *
 * Pure; called by the tools. */
#include "effect/tool/tool.h"

#define REPLACED "\xef\xbf\xbd"     /* U+FFFD */

/* Bytes of the character at p; 0: invalid, or NUL. */
static size_t character(const unsigned char *p, size_t left)
{
    size_t n = p[0] >= 0xF0 ? 4 : p[0] >= 0xE0 ? 3 : p[0] >= 0xC2 ? 2 : 1;

    if (n == 1)
        return p[0] > 0 && p[0] < 0x80 ? 1 : 0;
    return n <= left && utf8_valid((const char *)p, n) ? n : 0;
}

void plain_put(buf *b, const char *data, size_t size)
{
    size_t from = 0, at = 0, n;

    if (size == 0)
        return;
    if (utf8_valid(data, size) && memchr(data, '\0', size) == NULL) {
        buf_put(b, data, size);
        return;
    }
    while (at < size) {
        if ((n = character((const unsigned char *)data + at, size - at)) > 0) {
            at += n;
            continue;
        }
        buf_put(b, data + from, at - from);
        buf_text(b, REPLACED);
        from = ++at;
    }
    buf_put(b, data + from, at - from);
}

/* The limit holds for the parts of the text, not for the notes about what is left out. */
bool plain_cut(buf *out, const char *text, size_t size, size_t most, cut_where where, uint64_t lost)
{
    size_t head = where == CUT_MIDDLE ? most / 2 : most, tail = most - head;

    if (size <= most)
        return false;
    head = cut_end(text, head);
    tail -= cut_begin(text + size - tail, tail);
    buf_put(out, text, head);
    if (where == CUT_MIDDLE) {
        buf_fmt(out, "\n\n[... %llu bytes are left out here ...]\n\n", (unsigned long long)(size - head - tail + lost));
        buf_put(out, text + size - tail, tail);
    }
    buf_fmt(out, "\n[cut: %zu of %llu bytes are shown]", head + tail, (unsigned long long)(size + lost));
    return true;
}

bool plain_binary(const char *data, size_t size)
{
    return size > 0 && memchr(data, '\0', size < PROBE_BYTES ? size : PROBE_BYTES) != NULL;
}
