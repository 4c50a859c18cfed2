/* regex.c - converts common regular expressions to POSIX extended ones.
 *
 * Called by grep.c; pure. Expressions that would take the C library too long, or too much memory, are refused: repetitions are counted as written out,
 * and nesting is limited. */
#include "effect/tool/tool.h"

enum {
    REGEX_NESTED_MAX = 32,
    REGEX_TIMES_MAX = 255,      /* of one repetition */
    REGEX_SIZE_MAX = 4000       /* elements, with all repetitions written out */
};

typedef struct regex_reader {
    const char *p;
    buf *out;
    size_t size[REGEX_NESTED_MAX + 1];  /* of the group at each level */
    size_t last[REGEX_NESTED_MAX + 1];  /* of the last element in it; 0: none */
    unsigned depth;
    const char *wrong;
} regex_reader;

static const struct { char letter; const char *outside, *inside; } classes[] = {
    { 'd', "[0-9]", "0-9" }, { 'D', "[^0-9]", NULL }, { 'w', "[[:alnum:]_]", "[:alnum:]_" }, { 'W', "[^[:alnum:]_]", NULL },
    { 's', "[[:space:]]", "[:space:]" }, { 'S', "[^[:space:]]", NULL },
};

static const char *class_of(char letter, bool inside)
{
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (classes[i].letter == letter)
            return inside ? classes[i].inside : classes[i].outside;
    return NULL;
}

static void element(regex_reader *r)
{
    r->size[r->depth]++;
    r->last[r->depth] = 1;
}

/* ---- [...]: here a backslash is one to POSIX, so what it protects is written where it needs none ---------- */

typedef struct members { bool not, close, dash, caret; } members;

static bool is_range(const char *p)
{
    return p[0] == '-' && p[1] != ']' && p[1] != '\0';
}

/* One member of a set, at r->p; ranges unchanged. */
static void member(regex_reader *r, members *m, buf *list)
{
    const char *cls;
    char c = *r->p++;

    if (c == '[' && (*r->p == ':' || *r->p == '.' || *r->p == '=')) {
        const char end[] = { *r->p, ']', '\0' }, *close = strstr(r->p + 1, end);

        if (close == NULL) {
            r->wrong = "a [ is not closed";
            return;
        }
        buf_put(list, r->p - 1, (size_t)(close + 2 - (r->p - 1)));
        r->p = close + 2;
        return;
    }
    if (c == '\\' && *r->p != '\0') {
        c = *r->p++;
        if ((cls = class_of(c, true)) != NULL) {
            buf_text(list, cls);
            return;
        }
        if (class_of(c, false) != NULL) {
            r->wrong = "\\D, \\W and \\S do not stand in [...]";
            return;
        }
        c = c == 't' ? '\t' : c == 'r' ? '\r' : c == 'n' ? '\n' : c;
    }
    if (is_range(r->p)) {
        if (c == ']' || c == '^') {
            r->wrong = "a range in [...] begins with ] or ^";
            return;
        }
        buf_char(list, c);
        buf_char(list, '-');
        r->p++;
        if (*r->p == '\\' && r->p[1] != '\0')
            r->p++;
        buf_char(list, *r->p++);
    } else if (c == ']' || c == '-' || c == '^') {
        m->close |= c == ']';
        m->dash |= c == '-';
        m->caret |= c == '^';
    } else {
        buf_char(list, c);
    }
}

static void bracket(regex_reader *r)
{
    members m = { .not = r->p[1] == '^' };
    buf list;
    bool first = true;

    buf_init(&list, &r->out->alloc);
    r->p += m.not ? 2 : 1;
    for (; *r->p != '\0' && (*r->p != ']' || first) && r->wrong == NULL; first = false)
        member(r, &m, &list);
    if (*r->p != ']' && r->wrong == NULL)
        r->wrong = "a [ is not closed";
    r->p += *r->p == ']';
    if (m.caret && !m.not && !m.close && list.size == 0) {      /* as the first member ^ would negate */
        buf_text(r->out, m.dash ? "[-^]" : "\\^");
    } else {
        buf_text(r->out, m.not ? "[^" : "[");
        buf_text(r->out, m.close ? "]" : "");
        buf_put(r->out, list.data, list.size);
        buf_text(r->out, m.caret ? "^" : "");
        buf_text(r->out, m.dash ? "-]" : "]");
    }
    r->out->failed |= list.failed;
    buf_free(&list);
    element(r);
}

/* ---- the rest --------------------------------------------------------------------------------------------------- */

static void escape(regex_reader *r)
{
    char c = r->p[1];
    const char *cls = class_of(c, false);

    if (c == '\0') {
        r->wrong = "it ends in a backslash";
        return;
    }
    r->p += 2;
    if (c >= '1' && c <= '9')
        r->wrong = "what a group has found cannot be referred to";
    else if (cls != NULL)
        buf_text(r->out, cls);
    else if (c == 'b' || c == 'B' || c == '<' || c == '>')
        buf_fmt(r->out, "\\%c", c);
    else if (c == 't' || c == 'r')
        buf_char(r->out, c == 't' ? '\t' : '\r');
    else if (strchr("^$.[]|()?*+{}\\", c) != NULL)
        buf_fmt(r->out, "\\%c", c);
    else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '0')
        r->wrong = "a backslash stands before a letter that means nothing here";
    else
        buf_char(r->out, c);
    element(r);
}

static void open_group(regex_reader *r)
{
    if (r->depth == REGEX_NESTED_MAX) {
        r->wrong = "its groups are too deep";
        return;
    }
    if (r->p[1] == '?' && r->p[2] != ':') {
        r->wrong = "(?...) is known only as (?:...), and as (?i) at the beginning";
        return;
    }
    r->p += r->p[1] == '?' ? 3 : 1;
    buf_char(r->out, '(');
    r->depth++;
    r->size[r->depth] = r->last[r->depth] = 0;
}

static void close_group(regex_reader *r)
{
    size_t inner = r->size[r->depth] + 1;

    if (r->depth == 0) {
        r->wrong = "a ) closes nothing";
        return;
    }
    r->p++;
    buf_char(r->out, ')');
    r->depth--;
    r->size[r->depth] += inner;
    r->last[r->depth] = inner;
}

/* {n}, {n,}, {n,m} at p: its end, and its greatest number; NULL: a plain brace. */
static const char *interval(const char *p, size_t *most)
{
    size_t n[2] = { 0, 0 };
    int at = 0;
    const char *begin = ++p;

    for (; *p != '\0' && *p != '}'; p++) {
        if (*p == ',' && at == 0 && p > begin)
            at = 1;
        else if (*p < '0' || *p > '9')
            return NULL;
        else
            n[at] = n[at] > REGEX_TIMES_MAX ? n[at] : n[at] * 10 + (size_t)(*p - '0');
    }
    if (*p != '}' || p == begin)
        return NULL;
    *most = n[1] > n[0] ? n[1] : n[0];
    return p + 1;
}

/* * + ? {n,m}; lazy and possessive marks are dropped, since they do not change whether a line matches. */
static void repeat(regex_reader *r)
{
    size_t times = 1;
    const char *end = *r->p == '{' ? interval(r->p, &times) : r->p + 1;
    size_t *last = &r->last[r->depth];

    if (end == NULL) {
        buf_text(r->out, "\\{");
        r->p++;
        element(r);
        return;
    }
    if (*last == 0) {
        r->wrong = "a repetition has nothing to repeat";
        return;
    }
    if (times > REGEX_TIMES_MAX) {
        r->wrong = "a repetition is over 255 times";
        return;
    }
    buf_put(r->out, r->p, (size_t)(end - r->p));
    r->size[r->depth] += *last * (times > 1 ? times - 1 : 0);
    *last *= times > 1 ? times : 1;
    r->p = end;
    if (*r->p == '?' || *r->p == '+')
        r->p++;
    if (*r->p == '*' || *r->p == '+' || *r->p == '?')
        r->wrong = "a repetition is repeated";
}

static void next(regex_reader *r)
{
    switch (*r->p) {
    case '[': bracket(r); break;
    case '\\': escape(r); break;
    case '(': open_group(r); break;
    case ')': close_group(r); break;
    case '*':
    case '+':
    case '?':
    case '{': repeat(r); break;
    case '}': buf_text(r->out, "\\}"); r->p++; element(r); break;
    case '|':
    case '^': r->last[r->depth] = 0; r->size[r->depth]++; buf_char(r->out, *r->p++); break;
    default: buf_char(r->out, *r->p++); element(r); break;
    }
    if (r->wrong == NULL && r->size[r->depth] > REGEX_SIZE_MAX)
        r->wrong = "it is too large with all its repetitions";
}

const char *regex_make(const char *text, buf *out, bool *icase, size_t *size)
{
    regex_reader r = { .p = text, .out = out };

    if (strlen(text) > REGEX_BYTES_MAX)
        return "it is too long";
    if (strncmp(text, "(?i)", 4) == 0) {
        *icase = true;
        r.p += 4;
    }
    while (*r.p != '\0' && r.wrong == NULL)
        next(&r);
    if (r.wrong == NULL && r.depth > 0)
        r.wrong = "a ( is not closed";
    if (r.wrong == NULL && out->size == 0)
        r.wrong = "it is empty";
    *size = r.size[0];
    return r.wrong;
}

/* ---- what each match contains ------------------------------------------------------------------------------- */

typedef struct literal_run { char *best; size_t n, most; char text[REGEX_LITERAL_BYTES]; } literal_run;

static void run_end(literal_run *l)
{
    if (l->n > l->most) {
        memcpy(l->best, l->text, l->n);
        l->most = l->n;
    }
    l->n = 0;
}

static void run_add(literal_run *l, char c)
{
    if (c == ' ' || l->n == REGEX_LITERAL_BYTES) {
        run_end(l);
        if (c == ' ')
            return;
    }
    l->text[l->n++] = c;
}

/* The last character may be missing: all bytes of it, whatever the locale takes for one. */
static void run_drop(literal_run *l)
{
    bool wide;

    do {
        wide = l->n > 0 && (unsigned char)l->text[l->n - 1] >= 0x80;
        l->n -= l->n > 0;
    } while (wide && l->n > 0 && (unsigned char)l->text[l->n - 1] >= 0x80);
    run_end(l);
}

/* After the set at p. */
static const char *past_set(const char *p)
{
    p += p[1] == '^' ? 2 : 1;
    if (*p == ']')
        p++;
    while (*p != '\0' && *p != ']') {
        if (*p == '[' && p[1] == ':' && strstr(p + 2, ":]") != NULL)
            p = strstr(p + 2, ":]") + 2;
        else
            p += *p == '\\' && p[1] != '\0' ? 2 : 1;
    }
    return *p == ']' ? p + 1 : p;
}

/* After the group at p. */
static const char *past_group(const char *p)
{
    size_t depth = 0;

    while (*p != '\0') {
        if (*p == '[') {
            p = past_set(p);
            continue;
        }
        depth += *p == '(';
        if (*p == ')' && --depth == 0)
            return p + 1;
        p += *p == '\\' && p[1] != '\0' ? 2 : 1;
    }
    return p;
}

/* One element at p: returns where the next one begins. */
static const char *literal_element(literal_run *l, const char *p)
{
    switch (*p) {
    case '[': run_end(l); return past_set(p);
    case '(': run_end(l); return past_group(p);
    case '*':
    case '?': run_drop(l); return p + 1;
    case '{':
        run_drop(l);
        return strchr(p, '}') != NULL ? strchr(p, '}') + 1 : p + 1;
    case '\\':
        if (p[1] != '\0' && strchr("^$.[]|()?*+{}\\/-", p[1]) != NULL)
            run_add(l, p[1]);
        else
            run_end(l);
        return p[1] != '\0' ? p + 2 : p + 1;
    case '.':
    case '^':
    case '$':
    case '}':
    case ')': run_end(l); return p + 1;
    case '+':
        if (p[1] != '\0' && strchr("*?{", p[1]) != NULL)
            run_drop(l);        /* x+{0,1} fits nothing, too */
        run_end(l);
        return p + 1;
    default: run_add(l, *p); return p + 1;
    }
}

size_t regex_literal(const char *text, char out[REGEX_LITERAL_BYTES])
{
    literal_run l = { .best = out };

    if (strchr(text, '|') != NULL || strncmp(text, "(?i)", 4) == 0)
        return 0;
    while (*text != '\0')
        text = literal_element(&l, text);
    run_end(&l);
    return l.most;
}
