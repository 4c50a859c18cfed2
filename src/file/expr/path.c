/* path.c - expressions: parses and follows a plain path; any other text is jq's, and is only checked by jq_lint.c.
 *
 * Pure; called while a file is read, and in visits. */
#include "file/read.h"

/* ---- taken apart --------------------------------------------------------------------------------------- */

typedef struct cutting {
    expression *e;
    arena *mem;
    const char *at, *end;
    size_t cap;
} cutting;

static bool name_begins(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool name_goes_on(char c)
{
    return name_begins(c) || (c >= '0' && c <= '9');
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

static bool step_add(cutting *c, const char *key, int64_t index)
{
    if (!arena_room(c->mem, (void **)&c->e->steps, &c->cap, c->e->nsteps, sizeof *c->e->steps)) {
        c->mem->failed = true;
        return false;
    }
    c->e->steps[c->e->nsteps++] = (path_step){ key, index };
    return true;
}

static bool cut_name(cutting *c)
{
    const char *start = c->at, *key;

    if (c->at == c->end || !name_begins(*c->at))
        return false;
    while (c->at < c->end && name_goes_on(*c->at))
        c->at++;
    key = arena_strdup(c->mem, start, (size_t)(c->at - start));
    return key != NULL && step_add(c, key, 0);
}

/* A string as in JSON, except that jq allows newlines in it, and `\(`. */
static bool cut_text(cutting *c)
{
    const char *start = c->at++, *key;
    const pawl_value *v;

    while (c->at < c->end && *c->at != '"')
        c->at += *c->at == '\\' && c->end - c->at > 1 ? 2 : 1;
    if (c->at == c->end)
        return false;
    c->at++;
    v = value_parse(c->mem, start, (size_t)(c->at - start), "key", NULL);
    key = pawl_value_string(v);
    return key != NULL && strlen(key) == pawl_value_size(v) && step_add(c, key, 0);
}

static bool cut_index(cutting *c)
{
    const bool below = *c->at == '-';
    const char *digits;
    int64_t n = 0;

    c->at += below;
    digits = c->at;
    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++) {
        if (n > INT32_MAX)      /* longer than any list */
            return false;
        n = n * 10 + (*c->at - '0');
    }
    return c->at > digits && step_add(c, NULL, below ? -n : n);
}

static void cut_blanks(cutting *c)
{
    while (c->at < c->end && is_blank(*c->at))
        c->at++;
}

static bool cut_bracket(cutting *c)
{
    c->at++;
    cut_blanks(c);
    if (c->at == c->end || !(*c->at == '"' ? cut_text(c) : cut_index(c)))
        return false;
    cut_blanks(c);
    if (c->at == c->end || *c->at != ']')
        return false;
    c->at++;
    return true;
}

/* `.`, or steps: `.name`, `["text"]`, `[0]`; a point precedes the first bracket. */
static bool path_cut(expression *e, arena *mem, const char *text, size_t size)
{
    cutting c = { .e = e, .mem = mem, .at = text, .end = text + size };

    if (size == 0 || *text != '.')
        return false;
    if (size == 1)
        return true;
    if (text[1] == '[')
        c.at++;
    while (c.at < c.end) {
        if (*c.at == '[') {
            if (!cut_bracket(&c))
                return false;
        } else if (*c.at++ != '.' || !cut_name(&c)) {
            return false;
        }
    }
    return true;
}

/* ---- reading ---------------------------------------------------------------------------------------------- */

bool place_move(source_place *at, const char *text, size_t offset)
{
    uint32_t columns = 0;

    for (size_t i = 0; i < offset; i++) {
        if (text[i] == '\n' || text[i] == '\r')
            return false;
        columns += ((unsigned char)text[i] & 0xC0) != 0x80;
    }
    at->column += columns;
    return true;
}

static bool expression_scan(expression *e, arena *mem, const char *text, size_t size, bool exact, faults *f)
{
    source_place at = e->at;
    char *copy;
    jq_lint_state l;

    if (!lint_scan(&l, text, size, false)) {
        if (exact)
            (void)place_move(&at, text, l.wrong_at);
        fault_at(f, at, PAWL_SEVERITY_FAULT, "expression", "%s", l.wrong);
        return false;
    }
    if (l.empty) {
        fault_at(f, at, PAWL_SEVERITY_FAULT, "expression", "an expression is missing here: `.` is the whole state, `.name` one channel of it");
        return false;
    }
    if (l.comment && (copy = arena_get(mem, size + 2)) != NULL) {
        memcpy(copy, text, size);
        memcpy(copy + size, "\n", 2);
        e->text = copy;
    }
    return true;
}

bool expression_parse(expression *e, arena *mem, const char *text, size_t size, source_place at, bool exact, faults *f)
{
    size_t begin = 0;

    while (begin < size && is_blank(text[begin]))
        begin++;
    while (size > begin && is_blank(text[size - 1]))
        size--;
    exact = exact && place_move(&at, text, begin);
    text += begin;
    size -= begin;
    if (size > 0 && memchr(text, '\0', size) != NULL) {
        fault_at(f, at, PAWL_SEVERITY_FAULT, "expression", "a NUL character in an expression: remove it");
        return false;
    }
    *e = (expression){ .text = arena_strdup(mem, text, size), .at = at };
    e->path = e->text != NULL && path_cut(e, mem, e->text, size);
    if (!e->path) {
        e->steps = NULL;
        e->nsteps = 0;
    }
    return !mem->failed && (e->path || expression_scan(e, mem, text, size, exact, f)) && !mem->failed;
}

bool expression_read(expression *e, arena *mem, const char *text, source_place at, faults *f)
{
    return expression_parse(e, mem, text, strlen(text), at, true, f);
}

bool expression_of(expression *e, arena *mem, const doc *scalar, faults *f)
{
    const bool exact = scalar->text_at.line > 0;

    return expression_parse(e, mem, scalar->text, scalar->size, exact ? scalar->text_at : scalar->at, exact, f);
}

/* ---- following ---------------------------------------------------------------------------------------------- */

static const char *kind_of(const pawl_value *v)
{
    switch (pawl_value_type(v)) {
    case PAWL_TYPE_NONE:
    case PAWL_TYPE_NULL:
        break;
    case PAWL_TYPE_BOOL: return "a boolean";
    case PAWL_TYPE_INT:
    case PAWL_TYPE_REAL: return "a number";
    case PAWL_TYPE_STRING: return "a string";
    case PAWL_TYPE_ARRAY: return "a list";
    case PAWL_TYPE_OBJECT: return "an object";
    }
    return "null";
}

static bool is_name(const char *key)
{
    if (!name_begins(*key))
        return false;
    while (name_goes_on(*key))
        key++;
    return *key == '\0';
}

/* The path up to step `n`, for messages. */
static void path_write(buf *b, const expression *e, size_t n)
{
    if (n == 0 || e->steps[0].key == NULL || !is_name(e->steps[0].key))
        buf_char(b, '.');
    for (size_t i = 0; i < n; i++) {
        const char *key = e->steps[i].key;

        if (key == NULL)
            buf_fmt(b, "[%lld]", (long long)e->steps[i].index);
        else
            buf_fmt(b, is_name(key) ? ".%s" : "[\"%s\"]", key);
    }
    buf_char(b, '\0');
}

static const pawl_value *step_fails(const expression *e, size_t n, const pawl_value *v, pawl_err *err)
{
    const path_step *step = &e->steps[n];
    buf b;

    buf_init(&b, NULL);
    path_write(&b, e, n);
    if (b.failed)
        fail(err, PAWL_NOMEM, "no memory to say what is wrong with a path");
    else if (step->key != NULL)
        fail(err, PAWL_INVALID, "`%.100s`: its value is %s and has no member \"%.60s\"", b.data, kind_of(v), step->key);
    else
        fail(err, PAWL_INVALID, "`%.100s`: its value is %s and has no element %lld", b.data, kind_of(v), (long long)step->index);
    buf_free(&b);
    return NULL;
}

const pawl_value *path_follow(const expression *e, const pawl_value *root, pawl_err *err)
{
    static const yyjson_val null = { .tag = YYJSON_TYPE_NULL };
    const pawl_value *v = root;

    for (size_t i = 0; i < e->nsteps && v != NULL; i++) {
        const path_step *step = &e->steps[i];
        pawl_type type = pawl_value_type(v);
        int64_t size = (int64_t)pawl_value_size(v), index = step->index < 0 ? step->index + size : step->index;

        if (type != PAWL_TYPE_NULL && type != (step->key != NULL ? PAWL_TYPE_OBJECT : PAWL_TYPE_ARRAY))
            return step_fails(e, i, v, err);
        if (type == PAWL_TYPE_NULL)
            break;
        if (step->key != NULL)
            v = pawl_value_get(v, step->key);
        else
            v = index >= 0 ? pawl_value_at(v, (size_t)index) : NULL;
        if (v == NULL)
            v = of_val(&null);
    }
    return v;
}
