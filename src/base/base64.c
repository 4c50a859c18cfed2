/* base64.c - bytes as text of RFC 4648, and back. Pure; called from any layer. */
#include "base/base64.h"

#include <string.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Up to three bytes. */
static void four_code(const uint8_t *p, size_t n, char out[4])
{
    const uint32_t v = (uint32_t)p[0] << 16 | (n > 1 ? (uint32_t)p[1] << 8 : 0) | (n > 2 ? p[2] : 0u);

    out[0] = alphabet[v >> 18];
    out[1] = alphabet[v >> 12 & 63];
    out[2] = n > 1 ? alphabet[v >> 6 & 63] : '=';
    out[3] = n > 2 ? alphabet[v & 63] : '=';
}

void base64_code(const void *bytes, size_t n, char *out)
{
    const uint8_t *p = bytes;

    for (size_t i = 0; i < n; i += 3, out += 4)
        four_code(p + i, n - i, out);
    *out = '\0';
}

void base64_put(buf *b, const void *bytes, size_t n)
{
    const uint8_t *p = bytes;
    char four[4];

    for (size_t i = 0; i < n; i += 3) {
        four_code(p + i, n - i, four);
        buf_put(b, four, sizeof four);
    }
}

bool base64_read(const char *text, size_t size, void *bytes, size_t *n)
{
    uint8_t *out = bytes;
    size_t pad = 0, done = 0;

    if (size % 4 != 0)
        return false;
    while (pad < 2 && pad < size && text[size - 1 - pad] == '=')
        pad++;
    for (size_t at = 0; at < size; at += 4) {
        uint32_t v = 0;

        for (size_t k = at; k < at + 4; k++) {
            const char *digit = k >= size - pad ? alphabet : text[k] != '\0' ? strchr(alphabet, text[k]) : NULL;

            if (digit == NULL)
                return false;
            v = v << 6 | (uint32_t)(digit - alphabet);
        }
        for (size_t k = 0; k < 3 - (at + 4 == size ? pad : 0); k++)
            out[done++] = (uint8_t)(v >> (16 - 8 * k));
    }
    *n = done;
    return true;
}
