/* pattern.c - patterns of the tools glob and grep, as in .gitignore: braces are expanded, then base/glob.c compares.
 *
 * Owns nothing: texts are in the arena of the call. Called by glob.c and grep.c; pure. */
#include "base/glob.h"
#include "effect/tool/tool.h"

enum { BRACES_MAX = 8 };        /* nested */

/* ---- braces ------------------------------------------------------------------------------------------- */

/* Skips one element of a pattern. */
static const char *element_end(const char *p)
{
    const char *end;

    if (*p == '\\' && p[1] != '\0')
        return p + 2;
    if (*p == '[' && (end = glob_class_end(p, p + strlen(p))) != NULL)
        return end;
    return p + 1;
}

/* The closing brace for the one at p; NULL: none. */
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

/* HEAD{A,B}TAIL becomes HEADATAIL and HEADBTAIL, which are expanded further. */
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

/* Without a slash (except at its end) it matches at any depth; a slash at its end means everything inside. */
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

bool pattern_fits(const pattern *p, const char *path)
{
    const char *const end = path + strlen(path);

    for (size_t i = 0; i < p->n; i++)
        if (glob_path_fits(p->alts[i], p->alts[i] + strlen(p->alts[i]), path, end, 0))
            return true;
    return false;
}
