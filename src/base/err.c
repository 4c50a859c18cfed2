/* err.c - errors: reported once, in one line, to the caller.
 *
 * Pure; a pawl_err belongs to its caller's thread. */
#include "base/base.h"

#include <stdio.h>

const char *pawl_code_name(pawl_code code)
{
    switch (code) {
    case PAWL_OK: return "ok";
    case PAWL_PENDING: return "pending";
    case PAWL_INTERRUPTED: return "interrupted";
    case PAWL_HALTED: return "halted";
    case PAWL_IGNORED: return "ignored";
    case PAWL_NOMEM: return "nomem";
    case PAWL_INVALID: return "invalid";
    case PAWL_LIMIT: return "limit";
    case PAWL_CONFLICT: return "conflict";
    case PAWL_TRANSIENT: return "transient";
    case PAWL_IO: return "io";
    case PAWL_CORRUPT: return "corrupt";
    case PAWL_EFFECT: return "effect";
    case PAWL_TIMEOUT: return "timeout";
    case PAWL_CANCELED: return "canceled";
    case PAWL_DENIED: return "denied";
    case PAWL_GONE: return "gone";
    case PAWL_UNKNOWN: return "unknown";
    case PAWL_FENCED: return "fenced";
    case PAWL_HELD: return "held";
    }
    return "unnamed";
}

pawl_code pawl_code_named(const char *name)
{
    for (int code = PAWL_HELD; name != NULL && code <= PAWL_IGNORED; code++)
        if (strcmp(name, pawl_code_name((pawl_code)code)) == 0)
            return (pawl_code)code;
    return PAWL_INVALID;
}

/* Names in it come from outside: keep it to one line, cut between characters. */
static void text_one_line(char *text, size_t size, bool cut)
{
    size_t end = size;

    while (cut && end > 0 && ((unsigned char)text[end - 1] & 0xC0) == 0x80)
        end--;
    if (cut && end > 0 && (unsigned char)text[end - 1] >= 0xC0)
        end--;
    if (cut && utf8_valid(text + end, size - end))
        end = size;
    text[end] = '\0';
    for (size_t i = 0; i < end; i++)
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7F)
            text[i] = '?';
}

pawl_code failv(pawl_err *err, pawl_code code, const char *fmt, va_list args)
{
    int n;

    if (err == NULL || err->code < 0 || (code >= 0 && err->code != PAWL_OK))     /* an error replaces a note */
        return code;
    err->code = code;
    n = vsnprintf(err->text, sizeof err->text, fmt, args);
    if (n < 0)
        err->text[0] = '\0';
    text_one_line(err->text, strlen(err->text), n >= (int)sizeof err->text);
    return code;
}

pawl_code fail(pawl_err *err, pawl_code code, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    failv(err, code, fmt, args);
    va_end(args);
    return code;
}

/* ---- did you mean ------------------------------------------------------------------------ */

enum { NEAR_BYTES_MAX = 64 }; /* of a name that is compared */

static size_t least_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Number of edits (one byte inserted, deleted, changed, or two swapped) from `a` to `b`. */
static size_t edit_distance(const char *a, size_t m, const char *b, size_t n)
{
    size_t rows[3][NEAR_BYTES_MAX + 1];
    size_t *before = rows[0], *last = rows[1], *row = rows[2];

    for (size_t j = 0; j <= n; j++)
        before[j] = last[j] = j;
    for (size_t i = 1; i <= m; i++) {
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            row[j] = least_of(least_of(row[j - 1], last[j]) + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least_of(row[j], before[j - 2] + 1);
        }
        size_t *oldest = before;
        before = last;
        last = row;
        row = oldest;
    }
    return last[n];
}

const char *did_you_mean(char *out, size_t size, const char *name, const char *const *names, size_t n)
{
    const char *nearest = NULL;
    size_t len = name != NULL ? strlen(name) : 0;
    size_t bound = len < 6 ? 1 : len / 3;

    if (size > 0)
        out[0] = '\0';
    if (len == 0 || len > NEAR_BYTES_MAX)
        return out;
    for (size_t i = 0; i < n; i++) {
        size_t other = names[i] != NULL ? strlen(names[i]) : 0;
        if (other == 0 || other > NEAR_BYTES_MAX || other > len + bound || len > other + bound)
            continue;
        size_t d = edit_distance(name, len, names[i], other);
        if (d <= bound) {
            nearest = names[i];
            bound = d - (d > 0); /* only a more similar one replaces it */
            if (d == 0)
                break;
        }
    }
    if (nearest != NULL && strlen(nearest) + sizeof " (did you mean \"\"?)" <= size)
        snprintf(out, size, " (did you mean \"%s\"?)", nearest);
    return out;
}
