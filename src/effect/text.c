/* text.c - bytes from outside as text that JSON can hold.
 *
 * Pure; called by the handlers. */
#include "base/base64.h"
#include "effect/effect.h"

void text_member(buf *b, const char *name, const char *data, size_t size)
{
    bool text = size == 0 || utf8_valid(data, size);

    buf_char(b, '"');
    buf_text(b, name);
    buf_text(b, text ? "\":" : "_base64\":\"");
    if (text) {
        canon_string(b, size > 0 ? data : "", size);
        return;
    }
    base64_put(b, data, size);
    buf_char(b, '"');
}

static bool goes_on(char c)
{
    return ((unsigned char)c & 0xC0) == 0x80;
}

void text_ascii(char *data, size_t size)
{
    bool text = size == 0 || utf8_valid(data, size);

    for (size_t i = 0; i < size; i++)
        if (data[i] == '\0' || (!text && (unsigned char)data[i] >= 0x80))
            data[i] = '?';
}

size_t cut_end(const char *data, size_t size)
{
    size_t lead = size, whole;

    while (lead > 0 && size - lead < 3 && goes_on(data[lead - 1]))
        lead--;
    if (lead == 0 || (unsigned char)data[lead - 1] < 0xC0)
        return size;
    lead--;
    whole = (unsigned char)data[lead] >= 0xF0 ? 4 : (unsigned char)data[lead] >= 0xE0 ? 3 : 2;
    return size - lead < whole ? lead : size;
}

size_t cut_begin(const char *data, size_t size)
{
    size_t at = 0;

    while (at < size && at < 3 && goes_on(data[at]))
        at++;
    return at;
}

size_t last_lines(const char *data, size_t size, unsigned lines)
{
    size_t at = size > 0 && data[size - 1] == '\n' ? size - 1 : size;

    while (at > 0 && (data[at - 1] != '\n' || --lines > 0))
        at--;
    return at;
}
