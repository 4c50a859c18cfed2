/* schema_parts.c - numbers and patterns of JSON Schema. See schema_parts.h. */
#include "json/schema_parts.h"
#include "base/regexp.h"
#include "json/inner.h"

#include <stdlib.h>

/* ---- numbers, exactly ----------------------------------------------------------------------- */

static const double schema_whole_most = 18446744073709551616.0; /* 2^64 */

bool schema_is_number(const pawl_value *v)
{
    return pawl_value_type(v) == PAWL_TYPE_INT || pawl_value_type(v) == PAWL_TYPE_REAL;
}

schema_number schema_number_of(const pawl_value *v)
{
    double x = pawl_value_real(v);
    schema_number n = { (x > 0) - (x < 0), pawl_value_uint(v), 0 };

    if (pawl_value_type(v) == PAWL_TYPE_INT) {
        if (n.sign < 0)
            n.whole = 0 - (uint64_t)pawl_value_int(v);
        return n;
    }
    x = x < 0 ? -x : x;
    n.whole = x < schema_whole_most ? (uint64_t)x : UINT64_MAX;
    n.rest = x < schema_whole_most ? x - (double)n.whole : x;
    return n;
}

/* Compares `a` with `b`. */
unsigned schema_order(schema_number a, schema_number b)
{
    int c = a.sign - b.sign;

    if (c == 0 && a.whole != b.whole)
        c = a.whole > b.whole ? a.sign : -a.sign;
    else if (c == 0 && a.rest != b.rest)
        c = a.rest > b.rest ? a.sign : -a.sign;
    return c < 0 ? SCHEMA_LESS : c > 0 ? SCHEMA_MORE : SCHEMA_SAME;
}

bool schema_is_whole(const pawl_value *v)
{
    schema_number n = schema_number_of(v);

    return schema_is_number(v) && (n.rest == 0 || n.rest >= 1);
}

/* Without its sign; a real by its decimal text, so that 0.3 is 3 times 0.1. */
schema_decimal schema_decimal_of(const pawl_value *v)
{
    schema_decimal d = { schema_number_of(v).whole, 0 };
    char text[REAL_TEXT_MAX + 1];
    int zeros = 0;
    bool behind = false;
    const char *p = text;

    if (pawl_value_type(v) == PAWL_TYPE_INT)
        return d;
    text[real_text(pawl_value_real(v), text)] = '\0';
    d.digits = 0;
    for (p += *p == '-'; *p != '\0' && *p != 'e'; p++) {
        if (*p == '.') {
            behind = true;
            continue;
        }
        d.power -= behind;
        zeros++;
        if (*p == '0')
            continue;
        for (; zeros > 0; zeros--) /* at most 17 significant digits, so it fits */
            d.digits *= 10;
        d.digits += (uint64_t)(*p - '0');
    }
    d.power += zeros + (*p == 'e' ? (int)strtol(p + 1, NULL, 10) : 0);
    return d;
}

bool schema_is_multiple(schema_decimal a, schema_decimal of)
{
    int shift = a.power - of.power;
    uint64_t rest, sum;

    if (a.digits == 0)
        return true;
    for (; shift < 0; shift++) {
        if (of.digits > a.digits / 10)
            return false;
        of.digits *= 10;
    }
    for (rest = a.digits % of.digits; shift > 0 && rest > 0; shift--) {
        sum = 0;
        for (int i = 0; i < 10; i++)
            sum = sum >= of.digits - rest ? sum - (of.digits - rest) : sum + rest;
        rest = sum;
    }
    return rest == 0;
}

/* ---- patterns -------------------------------------------------------------------------------- */

/* A pattern without NUL; else NULL. */
static const char *pattern_text(const pawl_value *pattern)
{
    const char *text = pawl_value_string(pattern);

    return text != NULL && strlen(text) == pawl_value_size(pattern) ? text : NULL;
}

const char *schema_pattern_error(const pawl_value *pattern)
{
    const char *text = pattern_text(pattern), *why = NULL;
    re_program p;

    if (text == NULL)
        return "it holds NUL";
    return re_compile(&p, text, true, &why) ? NULL : why;
}

bool schema_pattern_found(const pawl_value *pattern, const pawl_value *v, size_t most, size_t *steps)
{
    const char *text = pattern_text(pattern), *why;
    re_program p;

    if (text == NULL || !re_compile(&p, text, true, &why))
        return true;
    *steps = p.n * (pawl_value_size(v) + 1);
    return *steps <= most && re_found(&p, pawl_value_string(v), pawl_value_size(v));
}
