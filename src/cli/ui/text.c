/* text.c - text for terminals: removes control characters and counts columns.
 *
 * Called on any thread. Pure except cli_columns, which asks the terminal. */
#include "cli/cli.h"

#include <stdio.h>
#include <sys/ioctl.h>
#include <time.h>

int cli_columns(int fd)
{
    struct winsize w = { 0 };

    if (ioctl(fd, TIOCGWINSZ, &w) != 0 || w.ws_col == 0)
        return CLI_COLUMNS;
    return w.ws_col < CLI_COLUMNS_LEAST ? CLI_COLUMNS_LEAST : w.ws_col;
}

/* ---- characters ------------------------------------------------------------------------------ */

/* The character at `p`, of `n` bytes; 0 bytes: it is not UTF-8. */
static uint32_t char_at(const char *p, size_t size, size_t *n)
{
    const unsigned char *u = (const unsigned char *)p;

    *n = u[0] < 0x80 ? 1 : u[0] < 0xe0 ? 2 : u[0] < 0xf0 ? 3 : 4;
    if (*n > size || (*n > 1 && !utf8_valid(p, *n))) {
        *n = 0;
        return 0;
    }
    switch (*n) {
    case 1: return u[0];
    case 2: return (uint32_t)(u[0] & 0x1f) << 6 | (u[1] & 0x3f);
    case 3: return (uint32_t)(u[0] & 0x0f) << 12 | (uint32_t)(u[1] & 0x3f) << 6 | (u[2] & 0x3f);
    default:
        return (uint32_t)(u[0] & 0x07) << 18 | (uint32_t)(u[1] & 0x3f) << 12 | (uint32_t)(u[2] & 0x3f) << 6 | (u[3] & 0x3f);
    }
}

/* Control characters of both sets, and marks that change the direction of text, so that it shows something else than it contains. */
static bool is_order(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c || c == 0x200e || c == 0x200f || (c >= 0x2028 && c <= 0x202e) ||
           (c >= 0x2066 && c <= 0x2069);
}

typedef struct code_range { uint32_t first, last; } code_range;

static bool among(uint32_t c, const code_range *all, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (c >= all[i].first && c <= all[i].last)
            return true;
    return false;
}

static size_t char_width(uint32_t c)
{
    static const code_range none[] = { { 0x300, 0x36f }, { 0x483, 0x489 }, { 0x591, 0x5bd }, { 0x610, 0x61a }, { 0x64b, 0x65f },
                                 { 0x1ab0, 0x1aff }, { 0x1dc0, 0x1dff }, { 0x200b, 0x200d }, { 0x20d0, 0x20ff },
                                 { 0xfe00, 0xfe0f }, { 0xfe20, 0xfe2f }, { 0xe0100, 0xe01ef } };
    static const code_range wide[] = { { 0x1100, 0x115f }, { 0x2e80, 0x303e }, { 0x3041, 0xa4cf }, { 0xac00, 0xd7a3 },
                                 { 0xf900, 0xfaff }, { 0xfe30, 0xfe6f }, { 0xff00, 0xff60 }, { 0xffe0, 0xffe6 },
                                 { 0x1f300, 0x1f64f }, { 0x1f680, 0x1f6ff }, { 0x1f900, 0x1faff }, { 0x20000, 0x3fffd } };

    if (c < 0x300)
        return 1;
    return among(c, none, sizeof none / sizeof *none) ? 0 : among(c, wide, sizeof wide / sizeof *wide) ? 2 : 1;
}

/* Appends one character, or one invalid byte, in a form that is safe on a terminal; returns its bytes in `p`. */
static size_t clean_one(buf *out, const char *p, size_t size)
{
    size_t n;
    uint32_t c = char_at(p, size, &n);

    if (n == 0)
        buf_fmt(out, "\\x%02x", (unsigned)(unsigned char)*p);
    else if (!is_order(c))
        buf_put(out, p, n);
    else if (c == '\n' || c == '\t')
        buf_word(out, c == '\n' ? "\\n" : "\\t");
    else
        buf_fmt(out, c < 0x80 ? "\\x%02x" : "\\u%04x", (unsigned)c);
    return n == 0 ? 1 : n;
}

void cli_clean(buf *out, const char *text, size_t size)
{
    for (size_t i = 0; i < size;)
        i += clean_one(out, text + i, size - i);
}

size_t cli_width(const char *text, size_t size)
{
    size_t columns = 0, n;

    for (size_t i = 0; i < size; i += n == 0 ? 1 : n)
        columns += char_width(char_at(text + i, size - i, &n));
    return columns;
}

/* `cut`: where the text is cut if it turns out too long. Text far beyond that is not read. */
void cli_cut(buf *out, const char *text, size_t size, size_t columns)
{
    size_t from = out->size, cut = from, width = 0, i = 0;

    while (i < size && width <= columns) {
        size_t at = out->size;

        i += clean_one(out, text + i, size - i);
        if (out->failed)
            return;
        width += cli_width(out->data + at, out->size - at);
        if (width + 3 <= columns)
            cut = out->size;
    }
    if (width <= columns)
        return;
    out->size = cut;
    for (size_t dots = columns < 3 ? columns : 3; dots > 0; dots--)
        buf_char(out, '.');
}

void cli_cell(buf *out, const char *text, size_t columns)
{
    size_t at = out->size;

    cli_cut(out, text, strlen(text), columns);
    if (out->failed)
        return;
    for (size_t width = cli_width(out->data + at, out->size - at); width < columns; width++)
        buf_char(out, ' ');
}

void cli_short(buf *out, const pawl_value *v, size_t columns)
{
    buf text;

    if (pawl_value_string(v) != NULL) {
        cli_cut(out, pawl_value_string(v), pawl_value_size(v), columns);
        return;
    }
    buf_init(&text, NULL);
    if (v == NULL)
        buf_char(&text, '-');
    else
        canon(&text, v);
    if (text.failed)
        out->failed = true;
    else
        cli_cut(out, text.data, text.size, columns);
    buf_free(&text);
}

/* ---- time ------------------------------------------------------------------------------------ */

void cli_time(char out[32], int64_t time_ms)
{
    time_t seconds = (time_t)(time_ms / 1000);
    struct tm t;

    if (time_ms == 0 || localtime_r(&seconds, &t) == NULL || strftime(out, 32, "%Y-%m-%d %H:%M:%S", &t) == 0)
        memcpy(out, "-", 2);
}

void cli_ago(char out[16], int64_t ms)
{
    static const struct { int64_t ms; const char *unit; } units[] = {
        { INT64_C(86400000), "d" }, { 3600000, "h" }, { 60000, "min" }, { 1000, "s" } };
    size_t i = 0;
    int64_t n;

    while (i < 3 && ms < units[i].ms)
        i++;
    n = ms < 0 ? 0 : ms / units[i].ms;
    snprintf(out, 16, "%u %s", (unsigned)(n > UINT32_MAX ? UINT32_MAX : n), units[i].unit);
}
