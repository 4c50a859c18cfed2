/* jq_lint.c - checks a jq expression without parsing it: its brackets and quotes close, so that it can be put in parentheses, and it names nothing
 * outside the state.
 *
 * Pure; called by path.c and template.c. It follows the scanner of all versions of jq: text in which these differ is refused. */
#include "file/read.h"

static bool lint_fails(jq_lint_state *l, size_t at, const char *fmt, ...) PAWL_PRINTF(3, 4);

static bool lint_fails(jq_lint_state *l, size_t at, const char *fmt, ...)
{
    pawl_err err = { PAWL_OK, "" };
    va_list args;

    va_start(args, fmt);
    failv(&err, PAWL_INVALID, fmt, args);
    va_end(args);
    memcpy(l->wrong, err.text, sizeof l->wrong - 1);
    l->wrong[sizeof l->wrong - 1] = '\0';
    l->wrong_at = at;
    return false;
}

static char peek(const jq_lint_state *l, size_t ahead)
{
    return ahead < l->size - l->at ? l->text[l->at + ahead] : '\0';
}

static bool name_begins(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* ---- what is refused ----------------------------------------------------------------------------------------- */

typedef struct refusal {
    const char *name, *instead;
} refusal;

static const refusal refusals[] = {
    { "now", "a node tells the time, such as `run: [date, +%s]`" },
    { "localtime", "use gmtime" },
    { "strflocaltime", "use strftime" },
    { "env", "the run's input brings in what it needs" },
    { "$ENV", "the run's input brings in what it needs" },
    { "input", "the run's input brings in what it needs" },
    { "inputs", "the run's input brings in what it needs" },
    { "input_filename", "the run's input brings in what it needs" },
    { "input_line_number", "the run's input brings in what it needs" },
    { "$__prog_args", "the run's input brings in what it needs" },
    { "$__loc__", "leave it out" },
    { "debug", "leave it out; `pawl show` has the state" },
    { "stderr", "leave it out; `pawl show` has the state" },
    { "halt", "`error(\"...\")` makes the node fail" },
    { "halt_error", "`error(\"...\")` makes the node fail" },
    { "import", "write out what is meant: there are no modules" },
    { "include", "write out what is meant: there are no modules" },
    { "modulemeta", "there are no modules" },
    { "get_search_list", "there are no modules" },
    { "get_prog_origin", "there are no modules" },
    { "get_jq_origin", "there are no modules" },
};

static bool name_check(jq_lint_state *l, size_t from, const char *mark, size_t start, size_t size)
{
    char name[32];

    if (size > sizeof name - 2)
        return true;
    name[0] = *mark;
    memcpy(name + strlen(mark), l->text + start, size);
    name[strlen(mark) + size] = '\0';
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        if (strcmp(name, refusals[i].name) == 0)
            return lint_fails(l, from, "`%s` is refused, for an expression depends on the state alone: %s", name, refusals[i].instead);
    return true;
}

/* ---- brackets ---------------------------------------------------------------------------------------------------- */

static struct lint_frame *top_of(jq_lint_state *l)
{
    return l->depth == 0 ? NULL : &l->frames[l->depth - 1];
}

static bool lint_open(jq_lint_state *l, char open, size_t at)
{
    if (l->depth == LINT_DEPTH_MAX)
        return lint_fails(l, at, "more than %d brackets in one another", LINT_DEPTH_MAX);
    l->frames[l->depth++] = (struct lint_frame){ .open = open, .key = open == '{', .at = at };
    return true;
}

static const char *frame_text(const struct lint_frame *f)
{
    return f->open == '(' ? "(" : f->open == '[' ? "[" : f->open == '{' ? "{" : f->open == '"' ? "\"" : "if";
}

static const char *frame_close(const struct lint_frame *f)
{
    return f->open == '(' ? ")" : f->open == '[' ? "]" : f->open == '{' ? "}" : f->open == '"' ? "\"" : "end";
}

static bool lint_close(jq_lint_state *l, char open, const char *close, size_t at)
{
    const struct lint_frame *top = top_of(l);

    if (top == NULL)
        return lint_fails(l, at, "`%s` closes nothing", close);
    if (top->open != open)
        return lint_fails(l, at, "`%s` stands where the `%s` that closes the last `%s` is due", close, frame_close(top), frame_text(top));
    l->depth--;
    return true;
}

/* ---- blanks and comments ------------------------------------------------------------------------------------------- */

/* Versions of jq differ in whether a backslash before a line end, or a CR, continues a comment. */
static bool lint_comment(jq_lint_state *l)
{
    size_t start = l->at;

    while (l->at < l->size && l->text[l->at] != '\n') {
        if (l->text[l->at] == '\r')
            return lint_fails(l, l->at, "a CR in a comment: end its line with a newline alone");
        l->at++;
    }
    if (l->text[l->at - 1] == '\\' && l->at - 1 > start)
        return lint_fails(l, l->at - 1, "a comment that ends in a backslash: remove it");
    l->comment = l->at == l->size;
    return true;
}

static bool lint_blanks(jq_lint_state *l)
{
    for (;; l->at++) {
        char c = peek(l, 0);

        if (c == '#' && !lint_comment(l))
            return false;
        if (l->at == l->size)
            return true;
        c = peek(l, 0);
        if (c != ' ' && c != '\t' && c != '\n')
            return true;
    }
}

/* ---- words ------------------------------------------------------------------------------------------------------------ */

static size_t name_size(const jq_lint_state *l, size_t ahead)
{
    size_t n = ahead;

    while (name_begins(peek(l, n)) || is_digit(peek(l, n)))
        n++;
    return n - ahead;
}

/* A variable, `$` and its name. */
static bool lint_variable(jq_lint_state *l)
{
    size_t from = l->at++, start, size;

    if (!lint_blanks(l))
        return false;
    start = l->at;
    size = name_begins(peek(l, 0)) ? name_size(l, 0) : 0;
    l->at += size;
    return name_check(l, from, "$", start, size);
}

/* A function, a keyword, or a key of an object. */
static bool lint_name(jq_lint_state *l)
{
    struct lint_frame *top = top_of(l);
    size_t start = l->at, size;

    l->at += name_size(l, 0);
    while (peek(l, 0) == ':' && peek(l, 1) == ':' && name_begins(peek(l, 2)))
        l->at += 2 + name_size(l, 2);
    size = l->at - start;
    if (top != NULL && top->open == '{' && top->key) {
        if (!lint_blanks(l))
            return false;
        if (peek(l, 0) == ':' || peek(l, 0) == ',' || peek(l, 0) == '}')
            return true;
    }
    if (size == 2 && memcmp(l->text + start, "if", 2) == 0)
        return lint_open(l, 'i', start);
    if (size == 3 && memcmp(l->text + start, "end", 3) == 0)
        return lint_close(l, 'i', "end", start);
    return name_check(l, start, "", start, size);
}

static void lint_digits(jq_lint_state *l)
{
    while (is_digit(peek(l, 0)))
        l->at++;
}

/* A literal integer that jq, whose numbers are doubles, would change. */
static bool too_large(const char *text, size_t size)
{
    static const char most[] = "9007199254740992";      /* 2^53 */
    const size_t n = strlen(most);

    while (size > 0 && *text == '0') {
        text++;
        size--;
    }
    return size > n || (size == n && memcmp(text, most, n) > 0);
}

static bool lint_number(jq_lint_state *l)
{
    const size_t start = l->at;
    size_t sign, size;

    lint_digits(l);
    size = l->at - start;
    if (peek(l, 0) == '.') {
        l->at++;
        lint_digits(l);
    }
    sign = peek(l, 1) == '+' || peek(l, 1) == '-';
    if ((peek(l, 0) == 'e' || peek(l, 0) == 'E') && is_digit(peek(l, 1 + sign))) {
        l->at += 1 + sign;
        lint_digits(l);
    }
    if (l->at == start + size && too_large(l->text + start, size))
        return lint_fails(l, start, "an integer beyond 2^53, which jq would change: write it as a text, or as a real number such as 1e17");
    return true;
}

static bool lint_dot(jq_lint_state *l)
{
    if (is_digit(peek(l, 1)))
        return lint_number(l);
    l->at += name_begins(peek(l, 1)) ? 1 + name_size(l, 1) : peek(l, 1) == '.' ? 2 : 1;
    return true;
}

/* ---- pieces --------------------------------------------------------------------------------------------------------------- */

static bool lint_string(jq_lint_state *l)
{
    char c = peek(l, 0);

    if (c == '"') {
        l->at++;
        return lint_close(l, '"', "\"", l->at - 1);
    }
    if (c == '\\' && peek(l, 1) == '(') {
        l->at += 2;
        return lint_open(l, '(', l->at - 1);
    }
    l->at += c == '\\' && l->at + 1 < l->size ? 2 : 1;
    return true;
}

static bool lint_bracket(jq_lint_state *l, char c)
{
    size_t at = l->at++;

    switch (c) {
    case ')':
        return lint_close(l, '(', ")", at);
    case ']':
        return lint_close(l, '[', "]", at);
    case '}':
        return lint_close(l, '{', "}", at);
    default:
        return lint_open(l, c, at);
    }
}

static bool lint_piece(jq_lint_state *l)
{
    struct lint_frame *top = top_of(l);
    char c = peek(l, 0);

    if (top != NULL && top->open == '"')
        return lint_string(l);
    if (c == ' ' || c == '\t' || c == '\n' || c == '#')
        return lint_blanks(l);
    if ((unsigned char)c < 0x20 || c == 0x7F)
        return lint_fails(l, l->at, "a control character (0x%02X) stands here: remove it", (unsigned)(unsigned char)c);
    l->empty = false;
    if (name_begins(c))
        return lint_name(l);
    if (strchr("\"([{)]}", c) != NULL)
        return lint_bracket(l, c);
    if (c == '$')
        return lint_variable(l);
    if (c == '.')
        return lint_dot(l);
    if (is_digit(c))
        return lint_number(l);
    if (c == '@')
        l->at += 1 + name_size(l, 1);
    else
        l->at++;
    if (top != NULL && top->open == '{' && (c == ',' || c == ':'))
        top->key = c == ',';
    return true;
}

bool lint_scan(jq_lint_state *l, const char *text, size_t size, bool braces)
{
    const struct lint_frame *top;

    *l = (jq_lint_state){ .text = text, .size = size, .empty = true };
    while (l->at < l->size) {
        if (braces && l->depth == 0 && peek(l, 0) == '}' && peek(l, 1) == '}')
            break;
        if (!lint_piece(l))
            return false;
    }
    if ((top = top_of(l)) != NULL)
        return lint_fails(l, top->at, "`%s` has no `%s` that closes it", frame_text(top), frame_close(top));
    return true;
}
