/* jq_reads.c - finds which members of its input a jq expression reads, so that only these are sent to the child that evaluates it.
 *
 * Pure; called by app/handlers.c for each evaluation. The text was accepted by lint_scan(). It is not parsed: where `.` may be the whole input, the
 * answer is "all of it", which is always correct.
 *
 * Invariant: J1  `root` is true wherever `.` may be the input itself. After a `|` it is what the left side gave, until the brackets around the pipe
 * close, or a `,` of an object, a `;` or a part of an `if` begins; `as`, `def` and the like, which keep `.`, count as reading all. */
#include "file/read.h"

typedef struct jq_scan {
    const char *at;
    bool root;                  /* J1 */
    bool term;                  /* a value ends here: a suffix or an operator follows */
    size_t depth;
    struct scan_frame { char open; bool root, key; } frames[LINT_DEPTH_MAX];    /* root: its value at the opening bracket; key: of `{`, a key must follow */
    jq_read_fn *read;
    void *ctx;
} jq_scan;

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static struct scan_frame *top_of(jq_scan *s)
{
    return s->depth > 0 ? &s->frames[s->depth - 1] : NULL;
}

static const char *blanks(const char *at)
{
    return at + strspn(at, " \t\n");
}

static bool open_frame(jq_scan *s, char open)
{
    if (s->depth == LINT_DEPTH_MAX)
        return false;
    s->frames[s->depth++] = (struct scan_frame){ .open = open, .root = s->root, .key = open == '{' };
    s->term = false;
    return true;
}

static bool close_frame(jq_scan *s)
{
    if (s->depth == 0)
        return false;
    s->root = s->frames[--s->depth].root;
    s->term = true;
    return true;
}

/* The left side no longer matters. */
static void part_begins(jq_scan *s)
{
    s->root = s->depth == 0 || s->frames[s->depth - 1].root;
    s->term = false;
}

static bool word_is(const char *text, size_t n, const char *const *words)
{
    for (; *words != NULL; words++)
        if (strlen(*words) == n && memcmp(*words, text, n) == 0)
            return true;
    return false;
}

/* False: it may read everything. */
static bool scan_name(jq_scan *s)
{
    static const char *const values[] = { "null", "true", "false", "empty", NULL }, *const links[] = { "and", "or", "try", "catch", NULL };
    static const char *const parts[] = { "then", "elif", "else", NULL }, *const calls[] = { "range", "first", "last", "limit", "isempty", "error", NULL };
    static const char *const ifs[] = { "if", NULL }, *const ends[] = { "end", NULL };
    struct scan_frame *top = top_of(s);
    const char *name = s->at, *next;
    size_t n = 0;

    while (is_name(name[n]))
        n++;
    s->at += n;
    next = blanks(s->at);
    if (top != NULL && top->open == '{' && top->key) {
        if (s->root && *next != ':' && !s->read(s->ctx, name, n))       /* {a} means {a: .a} */
            return false;
        s->term = true;
        return true;
    }
    if (word_is(name, n, ifs))
        return open_frame(s, 'i');
    if (word_is(name, n, ends))
        return close_frame(s);
    if (word_is(name, n, parts) && top != NULL && top->open == 'i') {
        part_begins(s);
        return true;
    }
    s->term = !word_is(name, n, links);
    return !s->root || !s->term || word_is(name, n, values) || (*next == '(' && word_is(name, n, calls));
}

static bool scan_dot(jq_scan *s)
{
    const bool reads = s->root && !s->term;
    const char *name = ++s->at;
    size_t n = 0;

    while (is_name(name[n]))
        n++;
    if (s->term && *name == '.')
        return false;
    s->at += n == 0 && *name == '.' ? 1 : n;
    s->term = true;
    return !reads || (n > 0 && ((name[0] >= '0' && name[0] <= '9') || s->read(s->ctx, name, n)));      /* .5 is a number */
}

/* Inside a string, up to its end or an interpolated expression. */
static bool string_piece(jq_scan *s)
{
    for (; *s->at != '\0'; s->at++) {
        if (*s->at == '"') {
            s->at++;
            return close_frame(s) && (!s->root || top_of(s) == NULL || top_of(s)->open != '{' || !top_of(s)->key || *blanks(s->at) == ':');
        }
        if (s->at[0] == '\\' && s->at[1] == '(') {
            s->at += 2;
            return open_frame(s, '(');
        }
        s->at += s->at[0] == '\\' && s->at[1] != '\0';
    }
    return false;
}

static bool scan_sign(jq_scan *s)
{
    const char c = *s->at++;
    const bool update = *s->at == '=' || (c == '/' && s->at[0] == '/' && s->at[1] == '=');      /* |= += //= and the like return all of `.` */
    struct scan_frame *top = top_of(s);

    s->term = c == '?' || (c == '$' && is_name(*s->at));
    switch (c) {
    case '|':
        if (s->root && update)
            return false;
        s->root = false;
        return true;
    case ',':
    case ':':
        if (top != NULL && top->open == '{') {
            if (c == ',')
                part_begins(s);
            top->key = c == ',';
        }
        return true;
    case ';': part_begins(s); return true;
    case '<': case '>': case '!': s->at += *s->at == '='; return true;
    case '=':
        if (*s->at != '=')
            return !s->root;
        s->at++;
        return true;
    case '+': case '-': case '*': case '/': case '%': return !s->root || !update;
    case '$': s->at += strspn(s->at, "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"); return true;
    default: return c == '?';
    }
}

static bool scan_piece(jq_scan *s)
{
    const char c = *s->at;

    if (s->depth > 0 && top_of(s)->open == '"')
        return string_piece(s);
    if (strchr(" \t\n", c) != NULL) {
        s->at++;
        return true;
    }
    if (strchr("([{\"", c) != NULL) {
        s->at++;
        return open_frame(s, c);
    }
    if (strchr(")]}", c) != NULL) {
        s->at++;
        return close_frame(s);
    }
    if (c == '.')
        return scan_dot(s);
    if (c >= '0' && c <= '9') {
        s->at += strspn(s->at, "0123456789.");
        s->term = true;
        return true;
    }
    if (c == '@' && !s->root) {         /* a format applies to `.` or to the string after it */
        s->at++;
        return true;
    }
    return is_name(c) ? scan_name(s) : scan_sign(s);
}

bool jq_reads(const char *text, jq_read_fn *read, void *ctx)
{
    jq_scan s = { .at = text, .root = true, .read = read, .ctx = ctx };

    while (*s.at != '\0')
        if (!scan_piece(&s))
            return false;
    return true;
}
