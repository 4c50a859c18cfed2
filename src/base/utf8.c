/* utf8.c - checks whether bytes are UTF-8.
 *
 * Pure; any thread. */
#include "base/base.h"

/* Size of the character that starts with byte `lead`; *low and *high bound its second byte, which excludes overlong forms, surrogates and values above
 * U+10FFFF (Unicode, table 3-7). */
static size_t utf8_length(unsigned char lead, unsigned char *low, unsigned char *high)
{
    *low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    *high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (lead < 0x80)
        return 1;
    if (lead < 0xC2 || lead > 0xF4)
        return 0;
    return lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

static size_t ascii_run(const char *p, const char *end)
{
    const char *start = p;

    for (uint64_t x; end - p >= 8; p += 8) {
        memcpy(&x, p, 8);
        if ((x & UINT64_C(0x8080808080808080)) != 0)
            break;
    }
    while (p < end && (unsigned char)*p < 0x80)
        p++;
    return (size_t)(p - start);
}

bool utf8_valid(const char *text, size_t size)
{
    const char *p = text, *end = text + size;
    unsigned char low, high;

    while (p += ascii_run(p, end), p < end) {
        size_t n = utf8_length((unsigned char)*p, &low, &high);
        if (n == 0 || n > (size_t)(end - p) || (unsigned char)p[1] < low || (unsigned char)p[1] > high)
            return false;
        for (size_t i = 2; i < n; i++)
            if (((unsigned char)p[i] & 0xC0) != 0x80)
                return false;
        p += n;
    }
    return true;
}
