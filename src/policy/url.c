/* url.c - the host of a URL, when every client would read the same; a URL that clients read differently is refused.
 *
 * Owns nothing; pure, any thread. Called by match.c, and by rule.c for domain rules. */
#include "policy/policy.h"

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Four decimal numbers without leading zeros: the only form of an IPv4 address that all clients read alike. */
static bool plain_ipv4(const char *h)
{
    for (int i = 0; i < 4; i++) {
        unsigned n = 0, digits = 0;

        if (h[0] == '0' && is_digit(h[1]))
            return false;
        for (; is_digit(*h) && digits < 4; h++, digits++)
            n = n * 10 + (unsigned)(*h - '0');
        if (digits == 0 || n > 255 || (i < 3 ? *h++ != '.' : *h != '\0'))
            return false;
    }
    return true;
}

bool host_read(const char *text, size_t size, char *out, size_t out_size, bool wild)
{
    size_t n = 0, last = 0;

    if (size >= 2 && text[0] == '[') {
        if (text[size - 1] != ']' || size >= out_size || size == 2)
            return false;
        for (; n < size; n++) {
            out[n] = lower(text[n]);
            if (n > 0 && n + 1 < size && strchr("0123456789abcdef:.", out[n]) == NULL)
                return false;
        }
        out[n] = '\0';
        return memchr(text, ':', size) != NULL;
    }
    if (size > 0 && text[size - 1] == '.')
        size--;
    if (size == 0 || size >= out_size)
        return false;
    for (; n < size; n++) {
        char c = out[n] = lower(text[n]);

        if (wild && n == 0 && c == '*' && (size == 1 || text[1] == '.'))
            continue;
        if (!is_digit(c) && (c < 'a' || c > 'z') && c != '-' && c != '_' && c != '.')
            return false;
        if (c == '.' && (n == 0 || text[n - 1] == '.'))
            return false;
    }
    out[n] = '\0';
    for (size_t i = 0; i < n; i++)
        if (out[i] == '.')
            last = i + 1;
    return !is_digit(out[last]) || plain_ipv4(out);     /* some clients read 0x7f.1 and 2130706433 as addresses */
}

bool url_host(const char *url, size_t size, char *out, size_t out_size)
{
    const char *p = url, *end = url + size, *at;

    for (size_t i = 0; i < size; i++)
        if ((unsigned char)url[i] <= ' ' || (unsigned char)url[i] >= 0x7f || url[i] == '\\')
            return false;
    for (size_t i = 0; i < 4; i++)
        if (p == end || lower(*p++) != "http"[i])
            return false;
    if (p < end && lower(*p) == 's')
        p++;
    if (end - p < 3 || memcmp(p, "://", 3) != 0)
        return false;
    p += 3;
    for (at = p; at < end && *at != '/' && *at != '?' && *at != '#'; at++)
        ;
    end = at;
    if ((at = memchr(p, '@', (size_t)(end - p))) != NULL) {
        p = at + 1;
        if (memchr(p, '@', (size_t)(end - p)) != NULL)
            return false;
    }
    at = p < end && *p == '[' ? memchr(p, ']', (size_t)(end - p)) : p;
    at = at != NULL ? memchr(at, ':', (size_t)(end - at)) : NULL;
    if (at != NULL) {
        for (const char *q = at + 1; q < end; q++)
            if (!is_digit(*q))
                return false;
        end = at;
    }
    return host_read(p, (size_t)(end - p), out, out_size, false);
}

bool host_fits(const char *pattern, const char *host)
{
    size_t n, h = strlen(host);

    if (strcmp(pattern, "*") == 0)
        return true;
    if (*pattern != '*')
        return strcmp(pattern, host) == 0;
    n = strlen(++pattern);
    return h > n && strcmp(host + h - n, pattern) == 0;
}
