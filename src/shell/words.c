/* words.c - reads one word of a command line as the program gets it, and finds the end of quotes and brackets.
 *
 * Owns nothing: words are written to the caller's struct shell. Called by split.c and parts.c; pure, any thread.
 * Invariant: every substitution in a word is queued as a nested command; a word with an unknown value is marked. */
#include "shell/shell.h"

static void word_put(shell *s, shell_pen *pen, char c)
{
    if (pen->at == pen->end) {
        shell_lost(s, "it has too many words", NULL);
        return;
    }
    if (c == '\0')
        shell_lost(s, "a word has a NUL", NULL);
    else if (c == WORD_BLANK)
        shell_doubt(s, "a word has a control character", NULL);
    *pen->at++ = c == ' ' ? WORD_BLANK : c;
}

static void word_doubt(shell_pen *pen, uint32_t flag)
{
    if ((pen->flags & (WORD_UNKNOWN | WORD_GLOB)) == 0)
        pen->known = (uint32_t)(pen->at - pen->from);
    pen->flags |= flag;
}

static void word_raw(shell *s, shell_pen *pen, const char *p, const char *end)
{
    for (; p < end; p++)
        word_put(s, pen, *p);
}

/* ---- ends of quotes and brackets -------------------------------------------------------------------------------- */

typedef struct skipper {
    const char *p, *end;
    char open[SHELL_NEST_MAX];
    size_t n;
    const char *line;               /* a here-document begins after this line */
    size_t line_size;
    bool first;                     /* a word may begin here */
} skipper;

static bool skip_push(skipper *k, char c, size_t bytes)
{
    k->p += bytes;
    k->first = true;
    if (k->n == SHELL_NEST_MAX)
        return false;
    k->open[k->n++] = c;
    return true;
}

static const char *skip_quote(const char *p, const char *end, bool escapes)     /* behind the ' that ends it */
{
    for (; p < end; p++) {
        if (*p == '\'')
            return p + 1;
        if (*p == '\\' && escapes)
            p++;
    }
    return NULL;
}

static void skip_here_name(skipper *k)
{
    char quote = '\0';

    k->p += 2;
    if (k->p < k->end && *k->p == '<') {
        k->p++;
        return;
    }
    if (k->p < k->end && *k->p == '-')
        k->p++;
    k->p = shell_blanks(k->p, k->end);
    if (k->p < k->end && (*k->p == '\'' || *k->p == '"'))
        quote = *k->p++;
    else if (k->p < k->end && *k->p == '\\')
        k->p++;
    k->line = k->p;
    while (k->p < k->end && (quote != '\0' ? *k->p != quote : strchr(" \t\n;&|()<>", *k->p) == NULL))
        k->p++;
    k->line_size = (size_t)(k->p - k->line);
    if (k->line_size == 0)
        k->line = NULL;
    if (quote != '\0' && k->p < k->end)
        k->p++;
}

static void skip_here_lines(skipper *k)     /* p: the first of them */
{
    while (k->p < k->end) {
        const char *line = k->p, *nl;

        while (line < k->end && *line == '\t')
            line++;
        nl = memchr(line, '\n', (size_t)(k->end - line));
        if (nl == NULL)
            nl = k->end;
        k->p = nl < k->end ? nl + 1 : nl;
        if ((size_t)(nl - line) == k->line_size && memcmp(line, k->line, k->line_size) == 0)
            break;
    }
    k->line = NULL;
}

static bool skip_in_command(skipper *k, char c)
{
    bool first = k->first;

    k->first = c == ' ' || c == '\t' || c == '\n' || strchr(";&|()", c) != NULL;
    switch (c) {
    case '\'':
        return (k->p = skip_quote(k->p + 1, k->end, false)) != NULL;
    case '(':
        return skip_push(k, '(', 1);
    case ')':
        k->n--;
        k->p++;
        k->first = false;
        return true;
    case '#':
        if (!first)
            break;
        while (k->p < k->end && *k->p != '\n')
            k->p++;
        return true;
    case '<':
        if (k->end - k->p >= 2 && k->p[1] == '<' && k->line == NULL) {
            skip_here_name(k);
            return true;
        }
        break;
    case '\n':
        k->p++;
        if (k->line != NULL)
            skip_here_lines(k);
        return true;
    }
    k->p++;
    return true;
}

/* One character, or the quote or bracket that it opens. False: not closed. */
static bool skip_one(skipper *k)
{
    char c = *k->p, in = k->open[k->n - 1], next = k->end - k->p >= 2 ? k->p[1] : '\0';

    if (c == '\\') {
        k->p += next != '\0' ? 2 : 1;
        k->first = false;
        return true;
    }
    if (in == '`' || (in == '"' && c == '"') || (in == '{' && c == '}')) {
        if (in != '`' || c == '`')
            k->n--;
        k->p++;
        k->first = false;
        return true;
    }
    if (c == '`' || c == '"')
        return skip_push(k, c, 1);
    if (c == '$' && (next == '(' || next == '{'))
        return skip_push(k, next, 2);
    if (c == '$' && next == '\'' && in != '"')
        return (k->p = skip_quote(k->p + 2, k->end, true)) != NULL;
    if (in == '(')
        return skip_in_command(k, c);
    if (in == '{' && c == '\'')
        return (k->p = skip_quote(k->p + 1, k->end, false)) != NULL;
    k->p++;
    return true;
}

const char *shell_skip(const char *p, const char *end, char open)
{
    skipper k;

    k.p = p;
    k.end = end;
    k.open[0] = open;
    k.n = 1;
    k.line = NULL;
    k.line_size = 0;
    k.first = true;
    while (k.n > 0)
        if (k.p >= k.end || !skip_one(&k))
            return NULL;
    return k.p;
}

/* ---- expansions ---------------------------------------------------------------------------------- */

/* In `...` a backslash before ` $ and \\ is removed; any other stays for the command inside. */
static void queue_ticks(shell *s, const char *p, const char *end)
{
    char *to = s->aside + s->aside_used, *from = to, *limit = s->aside + SHELL_ASIDE_BYTES;

    for (; p < end; p++) {
        if (*p == '\\' && end - p >= 2 && (p[1] == '`' || p[1] == '\\' || p[1] == '$'))
            p++;
        if (to == limit) {
            shell_lost(s, "a command substitution is too long", from);
            return;
        }
        *to++ = *p;
    }
    s->aside_used = (size_t)(to - s->aside);
    shell_queue(s, from, (size_t)(to - from), false);
}

/* At a ` or $( or ${: queues its content and returns its end. */
static const char *substitution(shell *s, const char *p, const char *end)
{
    bool tick = *p == '`', braces = !tick && p[1] == '{';
    const char *in = p + (tick ? 1 : 2), *out = shell_skip(in, end, tick ? '`' : p[1]);

    if (out == NULL) {
        shell_lost(s, braces ? "an expansion has no end" : "a command substitution has no end", p);
        shell_queue(s, in, (size_t)(end - in), false);
        return end;
    }
    shell_doubt(s, braces ? "it has an expansion" : "it has a command substitution", p);
    if (tick)
        queue_ticks(s, in, out - 1);
    else if (braces)
        shell_inner(s, in, out - 1);
    else
        shell_queue(s, in, (size_t)(out - 1 - in), false);
    return out;
}

void shell_inner(shell *s, const char *p, const char *end)
{
    while (p < end) {
        if (*p == '\\' && end - p >= 2)
            p += 2;
        else if (*p == '`' || (end - p >= 2 && (*p == '$' || *p == '<' || *p == '>') && p[1] == '('))
            p = *p == '<' || *p == '>' ? p + 1 : substitution(s, p, end);
        else
            p++;
    }
}

static bool name_char(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

/* The end of a plain ${NAME}; NULL: not plain. */
static const char *plain_braces(const char *p, const char *end)
{
    const char *q = p + 2;

    while (q < end && name_char(*q))
        q++;
    return q < end && q > p + 2 && *q == '}' ? q + 1 : NULL;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static void put_utf8(shell *s, shell_pen *pen, uint32_t c)
{
    if (c < 0x80) {
        word_put(s, pen, (char)c);
        return;
    }
    if (c >= 0x10000) {
        word_put(s, pen, (char)(0xf0 | (c >> 18 & 7)));
        word_put(s, pen, (char)(0x80 | (c >> 12 & 63)));
    } else if (c >= 0x800) {
        word_put(s, pen, (char)(0xe0 | c >> 12));
    }
    if (c >= 0x800)
        word_put(s, pen, (char)(0x80 | (c >> 6 & 63)));
    else
        word_put(s, pen, (char)(0xc0 | c >> 6));
    word_put(s, pen, (char)(0x80 | (c & 63)));
}

/* p: after the backslash of an escape in $'...'. Returns the end of the escape. */
static const char *ansi_escape(shell *s, shell_pen *pen, const char *p, const char *end)
{
    static const char names[] = "abefnrtvE\\'\"?", codes[] = "\a\b\033\f\n\r\t\v\033\\'\"?";
    const char *at = strchr(names, *p);
    size_t most = *p == 'x' ? 2 : *p == 'u' ? 4 : *p == 'U' ? 8 : 0;
    uint32_t c = 0;

    if (*p != '\0' && at != NULL) {
        word_put(s, pen, codes[at - names]);
        return p + 1;
    }
    if (most > 0) {
        bool bytes = *p++ == 'x';

        for (; most > 0 && p < end && hex_digit(*p) >= 0; most--)
            c = c << 4 | (uint32_t)hex_digit(*p++);
        if (!bytes && c >= 0x80)
            word_doubt(pen, WORD_UNKNOWN);      /* other bytes in another locale */
        if (bytes)
            word_put(s, pen, (char)c);
        else
            put_utf8(s, pen, c);
        return p;
    }
    if (*p >= '0' && *p <= '7') {
        for (most = 3; most > 0 && p < end && *p >= '0' && *p <= '7'; most--)
            c = c << 3 | (uint32_t)(*p++ - '0');
        word_put(s, pen, (char)c);
        return p;
    }
    shell_doubt(s, "an escape in $'...' is not known", p);
    word_put(s, pen, '\\');
    word_put(s, pen, *p);
    return p + 1;
}

static const char *ansi_quote(shell *s, shell_pen *pen, const char *p, const char *end)
{
    const char *from = p;

    for (p += 2; p < end; ) {
        if (*p == '\'')
            return p + 1;
        if (*p == '\\' && end - p >= 2)
            p = ansi_escape(s, pen, p + 1, end);
        else
            word_put(s, pen, *p++);
    }
    shell_lost(s, "a quote has no end", from);
    return end;
}

/* At a $, which may be a plain character. */
static const char *dollar(shell *s, shell_pen *pen, const char *p, const char *end)
{
    char next = end - p >= 2 ? p[1] : '\0';
    const char *out;

    if (next == '(' || (next == '{' && (out = plain_braces(p, end)) == NULL)) {
        word_doubt(pen, WORD_UNKNOWN);
        out = substitution(s, p, end);
    } else if (next == '{') {
        word_doubt(pen, WORD_UNKNOWN);
        out = plain_braces(p, end);
    } else if (next != '\0' && (name_char(next) || strchr("@*#?-$!", next) != NULL)) {
        word_doubt(pen, WORD_UNKNOWN);
        out = p + 2;
        if (name_char(next) && (next < '0' || next > '9'))
            while (out < end && name_char(*out))
                out++;
    } else {
        if (next == '[') {
            word_doubt(pen, WORD_UNKNOWN);
            shell_doubt(s, "it has arithmetic", p);
        } else if (next == '\\' && end - p >= 3 && p[2] == '\n') {      /* the shell joins the lines before it looks for expansions */
            word_doubt(pen, WORD_UNKNOWN);
            shell_lost(s, "a line is continued within a word", p);
        }
        out = p + 1;
    }
    word_raw(s, pen, p, out);
    return out;
}

static const char *double_quote(shell *s, shell_pen *pen, const char *p, const char *end)
{
    const char *from = p, *out;

    for (p++; p < end; ) {
        if (*p == '"')
            return p + 1;
        if (*p == '\\' && end - p >= 2) {
            if (p[1] != '\n' && strchr("$`\"\\", p[1]) == NULL)
                word_put(s, pen, '\\');
            if (p[1] != '\n')
                word_put(s, pen, p[1]);
            p += 2;
        } else if (*p == '$') {
            p = dollar(s, pen, p, end);
        } else if (*p == '`') {
            word_doubt(pen, WORD_UNKNOWN);
            out = substitution(s, p, end);
            word_raw(s, pen, p, out);
            p = out;
        } else {
            word_put(s, pen, *p++);
        }
    }
    shell_lost(s, "a quote has no end", from);
    return end;
}

/* ---- a word --------------------------------------------------------------------------------------------- */

const char *shell_blanks(const char *p, const char *end)
{
    for (; p < end; p++) {
        if (*p == '\\' && end - p >= 2 && p[1] == '\n')
            p++;
        else if (*p != ' ' && *p != '\t')
            break;
    }
    return p;
}

static const char *word_quoted(shell *s, shell_pen *pen, const char *p, const char *end)
{
    const char *out;

    pen->quoted = true;
    switch (*p) {
    case '\\':
        if (end - p < 2) {
            shell_lost(s, "it ends with a backslash", p);
            return end;
        }
        if (p[1] != '\n')
            word_put(s, pen, p[1]);
        return p + 2;
    case '\'':
        if ((out = skip_quote(p + 1, end, false)) == NULL) {
            shell_lost(s, "a quote has no end", p);
            return end;
        }
        word_raw(s, pen, p + 1, out - 1);
        return out;
    case '"':
        return double_quote(s, pen, p, end);
    case '$':
        if (end - p >= 2 && p[1] == '\'')
            return ansi_quote(s, pen, p, end);
        if (end - p >= 2 && p[1] == '"') {
            shell_doubt(s, "a quote is translated", p);
            word_doubt(pen, WORD_UNKNOWN);
            return double_quote(s, pen, p + 1, end);
        }
        return dollar(s, pen, p, end);
    }
    word_doubt(pen, WORD_UNKNOWN);      /* ` */
    out = substitution(s, p, end);
    word_raw(s, pen, p, out);
    return out;
}

static bool class_begins(const char *p, const char *end)    /* a [ without its ] in this word is a plain character */
{
    while (p < end && strchr(" \t\n;&|()<>", *p) == NULL)
        if (*p++ == ']')
            return true;
    return false;
}

/* {word} without a comma, dots, quotes and expansions is plain text, unless another } follows in the word: HEAD@{1}, but x{a},b} is xa} xb. Returns
 * its end; NULL: it may be expanded. */
static const char *braces_plain(const char *p, const char *end)
{
    for (p++; p < end && (name_char(*p) || *p == '/' || *p == '-' || *p == '^' || *p == '@'); p++)
        ;
    return p < end && *p == '}' ? p + 1 : NULL;
}

static void word_brace(shell_pen *pen, uint32_t known)
{
    if ((pen->flags & (WORD_UNKNOWN | WORD_GLOB)) == 0 || known < pen->known)
        pen->known = known;
    pen->flags |= WORD_GLOB | WORD_BRACE;
}

/* A ~ at the start of a word, or of a value. ~ and ~/x are the home folder; ~+, ~- and ~name are other folders. */
static void word_tilde(shell_pen *pen, const char *from, const char *p, const char *end)
{
    const bool home = p + 1 == end || strchr("/ \t\n;&|()<>", p[1]) != NULL;

    if (p == from)
        pen->flags |= WORD_TILDE;
    if (p == from ? !home : p[-1] == '=' || p[-1] == ':')
        word_doubt(pen, WORD_UNKNOWN);
}

const char *shell_word_read(shell *s, shell_pen *pen, const char *p, const char *end)
{
    const char *from = p, *plain = NULL;    /* the end of the first plain {word} */
    uint32_t before = 0;                    /* bytes of the word before it */

    pen->from = pen->at;
    pen->known = pen->flags = 0;
    pen->quoted = false;
    while (p < end && strchr(" \t\n;&|()<>", *p) == NULL) {
        if (*p == '\\' && p > from && end - p >= 2 && p[1] == '\n')
            shell_lost(s, "a line is continued within a word", p);     /* wh\ ile is a reserved word */
        switch (*p) {
        case '\\': case '\'': case '"': case '$': case '`':
            p = word_quoted(s, pen, p, end);
            continue;
        case '{':
            if (plain == NULL && (plain = braces_plain(p, end)) != NULL)    /* or {} of find and xargs */
                before = (uint32_t)(pen->at - pen->from);
            else
                word_brace(pen, (uint32_t)(pen->at - pen->from));
            break;
        case '[':
            if (!class_begins(p, end))
                break;
            word_doubt(pen, WORD_GLOB);
            break;
        case '*': case '?':
            word_doubt(pen, WORD_GLOB);
            break;
        case '~':
            word_tilde(pen, from, p, end);
            break;
        }
        word_put(s, pen, *p++);
    }
    if (plain != NULL && memchr(plain, '}', (size_t)(p - plain)) != NULL)
        word_brace(pen, before);
    if ((pen->flags & (WORD_UNKNOWN | WORD_GLOB)) == 0)
        pen->known = (uint32_t)(pen->at - pen->from);
    return p;
}
