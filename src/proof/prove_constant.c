/* prove_constant.c - conditions that no run can change: `false`, `1 == 2`, `.x and false`.
 *
 * A small part of jq: JSON values, plain paths, `not`, `and`, `or`, comparisons, brackets, and `|` between these. All other text is left open, and so is
 * what a path gives. Each such expression has exactly one value or fails, and then its run goes nowhere. Owns nothing beyond the caller's arena.
 * Called by prove.c; pure, one thread. */
#include "proof/prove_inner.h"

enum { CONSTANT_DEPTH_MAX = 32 };
static const double exact_max = 9007199254740992.0;    /* integers below are the same in every version of jq */

typedef struct constant_text {
    const char *at;
    arena *mem;
    unsigned depth;
    bool other;                     /* it has something that is not known here */
} constant_text;

typedef struct constant_value {
    constant_truth truth;
    const pawl_value *v;            /* NULL: a value that is not known, or of which only the truth is */
} constant_value;

static const constant_value open_value = { CONSTANT_OPEN, NULL };

static constant_value alternatives(constant_text *t, constant_value in);

static constant_value other(constant_text *t)
{
    t->other = true;
    return open_value;
}

static constant_value of_value(const pawl_value *v)
{
    const pawl_type type = pawl_value_type(v);
    const bool no = type == PAWL_TYPE_NULL || (type == PAWL_TYPE_BOOL && !pawl_value_bool(v));

    return v == NULL ? open_value : (constant_value){ no ? CONSTANT_NO : CONSTANT_YES, v };
}

static constant_value of_truth(constant_text *t, bool yes)
{
    return of_value(value_bool(t->mem, yes));
}

/* ---- words ---------------------------------------------------------------------------------------------------- */

static bool in_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == ':';
}

static void blanks(constant_text *t)
{
    t->at += strspn(t->at, " \t\r\n");
}

static bool word(constant_text *t, const char *name)
{
    const size_t n = strlen(name);

    blanks(t);
    if (strncmp(t->at, name, n) != 0 || (in_name(*name) && in_name(t->at[n])))
        return false;
    t->at += n;
    return true;
}

/* ---- values --------------------------------------------------------------------------------------------------- */

/* The end of a text, list or map that begins at `at`; NULL: it has none. */
static const char *literal_end(const char *at)
{
    size_t depth = 0;

    for (bool quoted = false; *at != '\0'; at++) {
        if (quoted && *at == '\\' && at[1] != '\0')
            at++;
        else if (*at == '"')
            quoted = !quoted;
        else if (!quoted && (*at == '[' || *at == '{'))
            depth++;
        else if (!quoted && (*at == ']' || *at == '}') && depth-- == 0)
            return NULL;
        if (!quoted && depth == 0)
            return at + 1;
    }
    return NULL;
}

/* A text that is no JSON may be an expression of jq: `{a: 1}`, `"\(.x)"`, `[.x]`. */
static constant_value literal(constant_text *t)
{
    const bool number = *t->at == '-' || (*t->at >= '0' && *t->at <= '9');
    const char *end = number ? t->at + 1 + strspn(t->at + 1, "0123456789.eE+-") : literal_end(t->at);
    const pawl_value *v = end != NULL ? value_parse(t->mem, t->at, (size_t)(end - t->at), "constant", NULL) : NULL;

    if (v == NULL || in_name(*end) || *end == '[' || *end == '.' || *end == '?')
        return other(t);
    t->at = end;
    return of_value(v);
}

/* `.`, `.a.b`: an object of a run has whatever it has. */
static constant_value path(constant_text *t, constant_value in)
{
    const char *from = t->at++;

    while (in_name(*t->at) || (*t->at == '.' && t->at[-1] != '.'))
        t->at++;
    if (t->at[-1] == '.' && t->at > from + 1)
        return other(t);
    if (*t->at == '[' || *t->at == '?' || *t->at == '.' || *t->at == '"' || (from[1] >= '0' && from[1] <= '9') || memchr(from, ':', (size_t)(t->at - from)))
        return other(t);
    return t->at == from + 1 ? in : open_value;
}

static constant_value term(constant_text *t, constant_value in)
{
    constant_value v;

    blanks(t);
    if (word(t, "true") || word(t, "false"))
        return of_truth(t, t->at[-2] == 'u');
    if (word(t, "null"))
        return of_value(value_null(t->mem));
    if (word(t, "not"))
        return in.truth == CONSTANT_OPEN ? open_value : of_truth(t, in.truth == CONSTANT_NO);
    if (*t->at == '.')
        return path(t, in);
    if (*t->at != '(')
        return literal(t);
    if (t->depth++ == CONSTANT_DEPTH_MAX)
        return other(t);
    t->at++;
    v = alternatives(t, in);
    t->depth--;
    return word(t, ")") && *t->at != '.' && *t->at != '[' && *t->at != '?' ? v : other(t);
}

/* ---- operators ------------------------------------------------------------------------------------------------- */

static bool is_number(const pawl_value *v)
{
    return pawl_value_type(v) == PAWL_TYPE_INT || pawl_value_type(v) == PAWL_TYPE_REAL;
}

static bool canon_same(arena *mem, const pawl_value *a, const pawl_value *b)
{
    buf x, y;
    bool same;

    buf_init(&x, &mem->alloc);
    buf_init(&y, &mem->alloc);
    canon(&x, a);
    canon(&y, b);
    same = x.size == y.size && memcmp(x.data, y.data, x.size) == 0;
    mem->failed = mem->failed || x.failed || y.failed;
    buf_free(&x);
    buf_free(&y);
    return same;
}

/* Which of two comes first: below 0, 0, above 0. False: jq's order of them is left open. */
static bool compared(const pawl_value *a, const pawl_value *b, int *out)
{
    const char *x = pawl_value_string(a), *y = pawl_value_string(b);

    if (x != NULL && y != NULL) {
        *out = strcmp(x, y);
        return strlen(x) == pawl_value_size(a) && strlen(y) == pawl_value_size(b);
    }
    if (pawl_value_type(a) == PAWL_TYPE_INT && pawl_value_type(b) == PAWL_TYPE_INT) {
        const double p = pawl_value_real(a), q = pawl_value_real(b);

        *out = p < q ? -1 : p > q;
        return p > -exact_max && p < exact_max && q > -exact_max && q < exact_max;
    }
    return false;
}

static constant_value comparison(constant_text *t, constant_value in)
{
    static const char *const signs[] = { "==", "!=", "<=", ">=", "<", ">" };
    constant_value a = term(t, in), b;
    bool same, plain;
    size_t sign = 0;
    int order = 0;

    while (sign < 6 && (t->other || !word(t, signs[sign])))
        sign++;
    if (sign == 6)
        return a;
    b = term(t, in);
    if (a.v == NULL || b.v == NULL || t->other)
        return open_value;
    if (compared(a.v, b.v, &order))
        return of_truth(t, sign == 0 ? order == 0 : sign == 1 ? order != 0 : sign == 2 ? order <= 0 : sign == 3 ? order >= 0
                           : sign == 4 ? order < 0 : order > 0);
    if (sign > 1)
        return open_value;
    /* texts that differ may be of one value: 1 and 1.0, alone or in a list */
    same = canon_same(t->mem, a.v, b.v);
    plain = !is_number(a.v) && !is_number(b.v) && pawl_value_type(a.v) != PAWL_TYPE_OBJECT && pawl_value_type(a.v) != PAWL_TYPE_ARRAY;
    return same || plain ? of_truth(t, same == (sign == 0)) : open_value;
}

static constant_value both(constant_text *t, constant_value in)
{
    constant_value a = comparison(t, in), b;

    while (!t->other && word(t, "and")) {
        b = comparison(t, in);
        a = a.truth == CONSTANT_NO || b.truth == CONSTANT_NO ? of_truth(t, false) : a.truth == CONSTANT_OPEN || b.truth == CONSTANT_OPEN
            ? open_value : of_truth(t, true);
    }
    return a;
}

static constant_value either(constant_text *t, constant_value in)
{
    constant_value a = both(t, in), b;

    while (!t->other && word(t, "or")) {
        b = both(t, in);
        a = a.truth == CONSTANT_YES || b.truth == CONSTANT_YES ? of_truth(t, true) : a.truth == CONSTANT_OPEN || b.truth == CONSTANT_OPEN
            ? open_value : of_truth(t, false);
    }
    return a;
}

static constant_value alternatives(constant_text *t, constant_value in)
{
    constant_value v = either(t, in);

    while (!t->other && strncmp(t->at, "|=", 2) != 0 && word(t, "|"))
        v = either(t, v);
    return v;
}

static constant_value evaluated(arena *mem, const expression *e)
{
    constant_text t = { .at = e->text, .mem = mem };
    constant_value v = e->path ? open_value : alternatives(&t, open_value);

    blanks(&t);
    return e->path || t.other || *t.at != '\0' ? open_value : v;
}

constant_truth constant_condition(arena *mem, const expression *e)
{
    return e == NULL ? CONSTANT_YES : evaluated(mem, e).truth;
}

constant_truth constant_list(arena *mem, const expression *e)
{
    constant_value v = evaluated(mem, e);

    return v.v == NULL || pawl_value_type(v.v) != PAWL_TYPE_ARRAY ? CONSTANT_OPEN : pawl_value_size(v.v) > 0 ? CONSTANT_YES : CONSTANT_NO;
}
