/* glob.c - the only matcher of patterns with * and similar.
 *
 * Owns nothing; pure, any thread. Called by src/policy for rules, and by the tools glob and grep for file names. */
#include "base/base.h"
#include "base/glob.h"

const char *glob_class_end(const char *p, const char *pend)
{
    p++;
    if (p < pend && (*p == '!' || *p == '^'))
        p++;
    if (p < pend && *p == ']')
        p++;
    for (; p < pend && *p != '/'; p++) {
        if (*p == '\\' && pend - p >= 2)
            p++;
        else if (*p == ']')
            return p + 1;
    }
    return NULL;
}

/* Size of the character at t. */
static size_t glob_wide(const char *t, const char *tend, unsigned rules)
{
    const unsigned char c = (unsigned char)*t;
    const size_t n = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : c >= 0xC0 ? 2 : 1;

    return n == 1 || (rules & (GLOB_BYTES | GLOB_STARS)) != 0 || n > (size_t)(tend - t) || !utf8_valid(t, n) ? 1 : n;
}

/* The byte order of UTF-8 is the order of its characters. */
static int glob_order(const char *a, size_t an, const char *b, size_t bn)
{
    return an != bn ? (an < bn ? -1 : 1) : memcmp(a, b, an);
}

/* Whether the class from p ("[") to `end` contains the character of n bytes at t. */
static bool glob_class_has(const char *p, const char *end, const char *t, size_t n, unsigned rules)
{
    const char *const close = end - 1;
    bool in = false;
    const bool not = *++p == '!' || *p == '^';

    p += not;
    do {                        /* a ] at the beginning is a member */
        const char *low = *p == '\\' ? p + 1 : p, *high = low;
        size_t low_n = glob_wide(low, close, rules), high_n = low_n;

        p = low + low_n;
        if (*p == '-' && p + 1 < close) {
            high = p[1] == '\\' ? p + 2 : p + 1;
            high_n = glob_wide(high, close, rules);
            p = high + high_n;
        }
        in = in || (glob_order(t, n, low, low_n) >= 0 && glob_order(t, n, high, high_n) <= 0);
    } while (p < close);
    return in != not;
}

/* Matches the pattern element at *p, not a star, with the text at t: returns the number of bytes, and moves *p past the element; 0: no match. */
static size_t glob_element(const char **p, const char *pend, const char *t, const char *tend, unsigned rules)
{
    const char *at = *p, *end;
    const bool stars = (rules & GLOB_STARS) != 0;
    size_t n;

    if (*at == '?' && !stars) {
        *p = at + 1;
        return glob_wide(t, tend, rules);
    }
    if (*at == '[' && !stars && (end = glob_class_end(at, pend)) != NULL) {
        n = glob_wide(t, tend, rules);
        *p = end;
        return glob_class_has(at, end, t, n, rules) ? n : 0;
    }
    if (*at == '\\' && pend - at >= 2 && (!stars || at[1] == '*' || at[1] == '\\'))
        at++;
    *p = at + 1;
    return *at == *t || (*at == ' ' && *t == GLOB_BLANK && (rules & GLOB_BLANKS) != 0);
}

static bool glob_over(const char *t, const char *tend, unsigned rules)
{
    return t == tend || ((rules & GLOB_MORE_WORDS) != 0 && (*t == ' ' || (*t == GLOB_BLANK && (rules & GLOB_BLANKS) != 0)));
}

bool glob_fits(const char *p, const char *pend, const char *t, const char *tend, unsigned rules)
{
    const char *star = NULL, *back = NULL;

    for (;;) {
        const char *next = p;
        size_t n;

        if (p < pend && *p == '*') {
            star = ++p;
            back = t;
            if (p == pend && (rules & GLOB_MORE_WORDS) == 0)
                return true;
            continue;
        }
        if (p == pend && glob_over(t, tend, rules))
            return true;
        if (p < pend && t < tend && (n = glob_element(&next, pend, t, tend, rules)) > 0) {
            p = next;
            t += n;
            continue;
        }
        if (star == NULL || back == tend)
            return false;
        p = star;
        t = back += glob_wide(back, tend, rules);
    }
}

static const char *glob_segment(const char *p, const char *end)
{
    const char *slash = p < end ? memchr(p, '/', (size_t)(end - p)) : NULL;

    return slash != NULL ? slash : end;
}

static const char *glob_behind(const char *segment_end, const char *end)
{
    return segment_end < end ? segment_end + 1 : end;
}

bool glob_path_fits(const char *p, const char *pend, const char *t, const char *tend, unsigned rules)
{
    const char *deep = NULL, *back = NULL;

    for (;;) {
        const char *pe = glob_segment(p, pend), *te = glob_segment(t, tend);

        if (pe - p == 2 && p[0] == '*' && p[1] == '*') {
            if (pe == pend)
                return t < tend;
            deep = p = pe + 1;
            back = t;
            continue;
        }
        if (p >= pend && t >= tend)
            return true;
        if (p < pend && t < tend && glob_fits(p, pe, t, te, rules)) {
            p = glob_behind(pe, pend);
            t = glob_behind(te, tend);
            continue;
        }
        if (deep == NULL)
            return false;
        back = t = glob_behind(glob_segment(back, tend), tend);
        p = deep;
        if (t >= tend)
            return false;
    }
}
