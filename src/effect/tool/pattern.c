/* pattern.c - globs, as .gitignore has them. A star is gone back to only if it is the last one seen: so a match costs the product of both
 * lengths at most, at either level. */
#include "effect/tool/tool.h"

enum { BRACES_MAX = 8 };        /* one inside another */

/* ---- braces ------------------------------------------------------------------------------------------- */

/* The end of a class that begins at p ("["), past its "]"; NULL: it has none. */
static const char *class_end(const char *p)
{
    p++;
    if (*p == '!' || *p == '^')
        p++;
    if (*p == ']')
        p++;
    for (; *p != '\0' && *p != '/'; p++) {
        if (*p == '\\' && p[1] != '\0')
            p++;
        else if (*p == ']')
            return p + 1;
    }
    return NULL;
}

/* Past one element of a pattern. */
static const char *element_end(const char *p)
{
    const char *end;

    if (*p == '\\' && p[1] != '\0')
        return p + 2;
    if (*p == '[' && (end = class_end(p)) != NULL)
        return end;
    return p + 1;
}

/* Of the brace at p: where it closes; NULL: nowhere. */
static const char *brace_end(const char *p)
{
    unsigned depth = 0;

    while (*p != '\0') {
        if (*p == '{')
            depth++;
        else if (*p == '}' && --depth == 0)
            return p;
        p = element_end(p);
    }
    return NULL;
}

static const char *alt_add(arena *mem, const char *text, size_t size, pattern *out)
{
    if (out->n == PATTERN_ALTS_MAX)
        return "it has too many alternatives";
    if ((out->alts[out->n] = arena_strdup(mem, text, size)) == NULL)
        return "no memory";
    out->n++;
    return NULL;
}

/* HEAD{A,B}TAIL becomes HEADATAIL and HEADBTAIL, and so on with these. */
static const char *expand(arena *mem, const char *text, unsigned depth, pattern *out)
{
    const char *open = text, *close, *from, *wrong = NULL;
    unsigned level = 0;

    while (*open != '\0' && *open != '{')
        open = element_end(open);
    if (*open == '\0')
        return alt_add(mem, text, strlen(text), out);
    if ((close = brace_end(open)) == NULL)
        return "a { is not closed";
    if (depth == BRACES_MAX)
        return "it has too many braces";
    from = open + 1;
    for (const char *p = from; wrong == NULL && p <= close; p = p < close ? element_end(p) : p + 1) {
        size_t head = (size_t)(open - text), n, tail = strlen(close + 1);
        char *one;

        if (*p == '{')
            level++;
        if (*p == '}' && p < close)
            level--;
        if (p < close && (*p != ',' || level > 0))
            continue;
        n = (size_t)(p - from);
        if ((one = arena_get(mem, head + n + tail + 1)) == NULL)
            return "no memory";
        memcpy(one, text, head);
        memcpy(one + head, from, n);
        memcpy(one + head + n, close + 1, tail + 1);
        wrong = expand(mem, one, depth + 1, out);
        from = p + 1;
    }
    return wrong;
}

/* ---- made ----------------------------------------------------------------------------------------------- */

/* Without a slash but at its end it may stand at any depth; a slash at its end means all that is inside. */
static const char *anchor(arena *mem, const char *text)
{
    size_t n = strlen(text), from = text[0] == '/';
    const bool inside = n > from && text[n - 1] == '/';
    const char *slash;
    buf b;

    while (n > from && text[n - 1] == '/')
        n--;
    slash = memchr(text, '/', n);
    buf_init(&b, &mem->alloc);
    if (slash == NULL)
        buf_text(&b, "**/");
    buf_put(&b, text + from, n - from);
    if (inside)
        buf_text(&b, "/**");
    text = b.failed ? NULL : arena_strdup(mem, b.data, b.size);
    mem->failed |= b.failed;
    buf_free(&b);
    return text;
}

const char *pattern_make(arena *mem, const char *text, pattern *out)
{
    const char *wrong;

    out->n = 0;
    while (text[0] == '.' && text[1] == '/')
        text += 2;
    if (text[0] == '\0')
        return "it is empty";
    if (strlen(text) > PATTERN_BYTES_MAX)
        return "it is too long";
    if ((wrong = expand(mem, text, 0, out)) != NULL)
        return wrong;
    for (size_t i = 0; i < out->n; i++)
        if ((out->alts[i] = anchor(mem, out->alts[i])) == NULL)
            return "no memory";
    return NULL;
}

/* ---- matched ---------------------------------------------------------------------------------------------- */

/* Bytes of the character at p: one that is torn counts as a byte. */
static size_t wide(const char *p, const char *end)
{
    unsigned char c = (unsigned char)*p;
    size_t n = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : c >= 0xC0 ? 2 : 1;

    return n <= (size_t)(end - p) && utf8_valid(p, n) ? n : 1;
}

/* Whether the class at *p ("[") holds the character at `at`; *p goes past it. What has no end is a plain "[". */
static bool class_fits(const char **p, const char *at, size_t n)
{
    const char *end = class_end(*p), *q = *p + 1;
    bool not, in = false;

    if (end == NULL) {
        ++*p;
        return *at == '[';
    }
    not = *q == '!' || *q == '^';
    q += not;
    for (bool first = true; q < end - 1 || first; first = false) {
        const char *low = *q == '\\' ? q + 1 : q, *high;
        size_t m = wide(low, end), k = m;

        q = high = low + m;
        if (*q == '-' && q + 1 < end - 1) {
            high = q + 1;
            k = wide(high, end);
            q = high + k;
        } else {
            high = low;
        }
        /* UTF-8 is in the order of its characters */
        if ((n > m || (n == m && memcmp(at, low, n) >= 0)) && (n < k || (n == k && memcmp(at, high, n) <= 0)))
            in = true;
    }
    *p = end;
    return in != not;
}

/* One name, with stars that do not leave it. */
static bool name_fits(const char *p, const char *p_end, const char *t, const char *t_end)
{
    const char *star = NULL, *back = NULL;

    while (t < t_end || p < p_end) {
        if (p < p_end && *p == '*') {
            star = ++p;
            back = t;
            continue;
        }
        if (p < p_end && t < t_end) {
            size_t n = wide(t, t_end);
            const char *next = p;
            bool fits;

            if (*p == '?') {
                next = p + 1;
                fits = true;
            } else if (*p == '[') {
                fits = class_fits(&next, t, n);
            } else {
                next = *p == '\\' && p + 1 < p_end ? p + 1 : p;
                n = 1;
                fits = *next++ == *t;
            }
            if (fits) {
                p = next;
                t += n;
                continue;
            }
        }
        if (star == NULL || back == t_end)
            return false;
        p = star;
        t = back += wide(back, t_end);
    }
    return true;
}

static const char *slash_or_end(const char *p)
{
    return p + strcspn(p, "/");
}

/* Names, and ** for any number of them; at the end for one at least. */
static bool path_fits(const char *p, const char *t)
{
    const char *star = NULL, *back = NULL;

    for (;;) {
        const char *p_end = slash_or_end(p), *t_end = slash_or_end(t);

        if (p_end - p == 2 && p[0] == '*' && p[1] == '*') {
            if (*p_end == '\0')
                return *t != '\0';
            star = p = p_end + 1;
            back = t;
            continue;
        }
        if (*t != '\0' && *p != '\0' && name_fits(p, p_end, t, t_end)) {
            if (*p_end == '\0' && *t_end == '\0')
                return true;
            if (*p_end == '/' && *t_end == '/') {
                p = p_end + 1;
                t = t_end + 1;
                continue;
            }
        }
        if (star == NULL || *(back = slash_or_end(back)) == '\0')
            return false;
        p = star;
        t = ++back;
    }
}

bool pattern_fits(const pattern *p, const char *path)
{
    for (size_t i = 0; i < p->n; i++)
        if (path_fits(p->alts[i], path))
            return true;
    return false;
}
