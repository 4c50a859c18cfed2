/* ignore.c - what git leaves out: the rules of .gitignore, read and asked.
 *
 * Owns nothing: rules are in the arena of the caller. Called by git_rules.c; pure. A match costs at most the product of both lengths: only the last star
 * of a segment, and the last ** before it, are tried again. */
#include "effect/tool/ignore.h"

enum { RULES_MAX = 20000 };     /* of one file */

/* ---- one file --------------------------------------------------------------------------------------------- */

/* Blanks at the end are none of the pattern, unless a backslash precedes them. */
static size_t without_blanks(const char *line, size_t size)
{
    size_t end = 0;

    for (size_t i = 0; i < size; i++) {
        if (line[i] == '\\' && i + 1 < size)
            i++;
        else if (line[i] == ' ')
            continue;
        else if (line[i] == '\\')
            return size;
        end = i + 1;
    }
    return end;
}

/* Bytes before the first that is special. */
static size_t plain_size(const char *p, size_t size)
{
    size_t n = 0;

    while (n < size && p[n] != '*' && p[n] != '?' && p[n] != '[' && p[n] != '\\')
        n++;
    return n;
}

static ignore_rule rule_of(const char *line, size_t size)
{
    ignore_rule r = { .text = line, .size = size };

    if (r.size > 0 && *r.text == '!') {
        r.back = true;
        r.text++;
        r.size--;
    }
    if (r.size > 0 && r.text[r.size - 1] == '/') {
        r.folder = true;
        r.size--;
    }
    r.name = memchr(r.text, '/', r.size) == NULL;
    if (!r.name && *r.text == '/') {
        r.text++;
        r.size--;
    }
    r.plain = plain_size(r.text, r.size);
    r.end = r.name && r.size > 0 && *r.text == '*' && plain_size(r.text + 1, r.size - 1) == r.size - 1;
    return r;
}

bool ignore_read(arena *mem, const char *text, size_t size, ignore_list *out)
{
    const char *end = text + size;
    void *all = NULL;
    size_t cap = 0;

    out->n = 0;
    if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        text += 3;
    while (text < end && out->n < RULES_MAX) {
        const char *line = text, *close = memchr(text, '\n', (size_t)(end - text)), *nul;
        size_t n = (size_t)((close != NULL ? close : end) - line);

        text = close != NULL ? close + 1 : end;
        if (n == 0 || *line == '#')
            continue;
        n -= line[n - 1] == '\r';
        if ((nul = memchr(line, '\0', n)) != NULL)
            n = (size_t)(nul - line);
        if (!arena_room(mem, &all, &cap, out->n, sizeof *out->all))
            return false;
        ((ignore_rule *)all)[out->n++] = rule_of(line, without_blanks(line, n));
    }
    out->all = all;
    return true;
}

/* ---- a match ------------------------------------------------------------------------------------------------ */

static bool class_has(const char *name, size_t size, unsigned char c)
{
    static const char *const names[] = { "alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "xdigit" };
    const bool lower = c >= 'a' && c <= 'z', upper = c >= 'A' && c <= 'Z', digit = c >= '0' && c <= '9', graph = c > ' ' && c < 127;
    const bool in[] = { lower || upper || digit, lower || upper, c == ' ' || c == '\t', c < ' ' || c == 127, digit, graph, lower, graph || c == ' ',
                        graph && !lower && !upper && !digit, c == ' ' || (c >= '\t' && c <= '\r'), upper,
                        digit || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == size && memcmp(names[i], name, size) == 0)
            return in[i];
    return false;
}

static bool class_known(const char *name, size_t size)
{
    for (unsigned c = 1; c < 128; c++)
        if (class_has(name, size, (unsigned char)c))
            return true;
    return false;
}

typedef struct ignore_set { const char *p, *end; unsigned char c, before; bool in, wrong; } ignore_set;

/* [:name:] at s->p, which is at its [. False: it is none, and the [ is a plain member. */
static bool named_class(ignore_set *s)
{
    const char *from = s->p + 2, *close = memchr(from, ']', (size_t)(s->end - from));

    if (close == NULL) {
        s->wrong = true;
        return true;
    }
    if (close == from || close[-1] != ':')
        return false;
    if (close - 1 == from || !class_known(from, (size_t)(close - 1 - from)))
        s->wrong = true;
    s->in |= class_has(from, (size_t)(close - 1 - from), s->c);
    s->p = close;
    s->before = 0;
    return true;
}

/* One member of a set, at s->p, which is left at its last byte. */
static void set_member(ignore_set *s)
{
    const bool range = *s->p == '-' && s->before != 0 && s->p + 1 < s->end && s->p[1] != ']';

    if (*s->p == '[' && s->p + 1 < s->end && s->p[1] == ':' && named_class(s))
        return;
    if (range)
        s->p++;
    if (*s->p == '\\' && ++s->p == s->end) {
        s->wrong = true;
        return;
    }
    s->in |= range ? s->c >= s->before && s->c <= (unsigned char)*s->p : s->c == (unsigned char)*s->p;
    s->before = range ? 0 : (unsigned char)*s->p;
}

/* Whether the set at *p, its [, has the byte c; *p is left behind it. A set that is not closed has none. */
static bool set_has(const char **p, const char *end, unsigned char c)
{
    ignore_set s = { .p = *p + 1, .end = end, .c = c };
    const bool not = s.p < end && (*s.p == '!' || *s.p == '^');

    s.p += not;
    do {
        if (s.p >= end)
            return false;
        set_member(&s);
        if (s.wrong)
            return false;
        s.p++;
    } while (s.p >= end || *s.p != ']');
    *p = s.p + 1;
    return s.in != not && c != '/';
}

/* Whether the element at *p, no star, has the byte c; *p is left behind it. */
static bool element_has(const char **p, const char *end, unsigned char c)
{
    if (**p == '[')
        return set_has(p, end, c);
    if (**p == '?') {
        ++*p;
        return c != '/';
    }
    if (**p == '\\' && ++*p == end)
        return false;
    return (unsigned char)*(*p)++ == c;
}

/* Whether the stars from `p` to `q` are a ** between slashes. */
static bool whole_segments(const char *begin, const char *p, const char *q, const char *end)
{
    return q - p > 1 && (p == begin || p[-1] == '/') && (q == end || *q == '/' || (*q == '\\' && q + 1 < end && q[1] == '/'));
}

static bool wild_fits(const char *p, const char *end, const char *t, const char *tend)
{
    const char *const begin = p;
    const char *star = NULL, *back = NULL, *deep = NULL, *deep_back = NULL;

    for (;;) {
        if (p < end && *p == '*') {
            const char *q = p;

            while (q < end && *q == '*')
                q++;
            if (!whole_segments(begin, p, q, end)) {
                star = p = q;
                back = t;
                continue;
            }
            if (q == end)
                return true;
            deep = q;
            deep_back = t;
            star = NULL;
            p = *q == '/' ? q + 1 : q;  /* it stands for no folder, too */
            continue;
        }
        if (p == end && t == tend)
            return true;
        if (p < end && t < tend && element_has(&p, end, (unsigned char)*t)) {
            t++;
        } else if (star != NULL && back < tend && *back != '/') {
            p = star;
            t = ++back;
        } else if (deep != NULL && deep_back < tend) {
            star = NULL;
            p = deep;
            t = deep_back++;
        } else {
            return false;
        }
    }
}

static bool rule_fits(const ignore_rule *r, const char *path, size_t size, const char *name)
{
    const char *t = r->name ? name : path;
    const size_t n = r->name ? size - (size_t)(name - path) : size;

    if (r->end)
        return r->size - 1 <= n && memcmp(r->text + 1, t + n - (r->size - 1), r->size - 1) == 0;
    if (n < r->plain || memcmp(r->text, t, r->plain) != 0)
        return false;
    if (r->plain == r->size)
        return n == r->size;
    /* git compares a name with all of the pattern, and of a path only what follows the plain part */
    return r->name ? wild_fits(r->text, r->text + r->size, t, t + n) : wild_fits(r->text + r->plain, r->text + r->size, t + r->plain, t + n);
}

bool ignore_fits(const ignore_list *l, const char *path, size_t size, bool folder)
{
    const char *name = path + size;

    while (name > path && name[-1] != '/')
        name--;
    for (; l != NULL; l = l->up)
        for (size_t i = l->n; i-- > 0;) {
            const ignore_rule *r = &l->all[i];

            if ((folder || !r->folder) && rule_fits(r, path + l->base, size - l->base, name))
                return !r->back;
        }
    return false;
}
