/* template.c - cuts texts with expressions, such as "a {{EXPR}} b", into pieces.
 *
 * Pure; called while a file is read. */
#include "file/read.h"

typedef struct cutter {
    template *t;
    arena *mem;
    faults *f;
    const char *end;
    const char *seen;           /* `here` was computed up to this character; after a line end it stays at the beginning */
    source_place here;
    bool exact;
    size_t cap;
} cutter;

static const char *pair_find(const char *p, const char *end, char c)
{
    for (; end - p >= 2; p++)
        if (p[0] == c && p[1] == c)
            return p;
    return NULL;
}

static bool piece_add(cutter *c, const char *text, size_t size, expression *e)
{
    if (e == NULL && (text = arena_strdup(c->mem, text, size)) == NULL)
        return false;
    if (!arena_room(c->mem, (void **)&c->t->pieces, &c->cap, c->t->npieces, sizeof *c->t->pieces)) {
        c->mem->failed = true;
        return false;
    }
    c->t->pieces[c->t->npieces++] = (piece){ e == NULL ? text : NULL, e == NULL ? size : 0, e };
    return true;
}

static source_place cut_place(cutter *c, const char *at)
{
    if (c->exact && !place_move(&c->here, c->seen, (size_t)(at - c->seen))) {
        c->exact = false;
        c->here = c->t->at;
    }
    c->seen = at;
    return c->here;
}

static bool cut_fails(cutter *c, const char *at, const char *kind, const char *text)
{
    fault_at(c->f, cut_place(c, at), PAWL_SEVERITY_FAULT, kind, "%s", text);
    return false;
}

/* The expression after the `{{` at `open`; *close: the `}}` that ends it. */
static bool cut_expression(cutter *c, const char *open, const char **close)
{
    const char *start = open + 2;
    expression *e;
    source_place at;
    jq_lint_state l;
    bool good = lint_scan(&l, start, (size_t)(c->end - start), true);

    if (!good && pair_find(start, c->end, '}') != NULL)
        return cut_fails(c, start + l.wrong_at, "expression", l.wrong);
    if (!good || start + l.at == c->end)
        return cut_fails(c, open, "template", l.comment ? "`{{` has no `}}` behind it: a comment (`#`) goes on to the end of its line"
                                                        : "`{{` has no `}}` behind it; for the braces themselves write {{\"{{\"}}");
    if (l.empty)
        return cut_fails(c, open, "template", "`{{}}` has no expression in it; for the braces themselves write {{\"{{\"}}");
    *close = start + l.at;
    if ((e = arena_get(c->mem, sizeof *e)) == NULL)
        return false;
    at = cut_place(c, start);
    return expression_parse(e, c->mem, start, l.at, at, c->exact, c->f) && piece_add(c, NULL, 0, e);
}

bool template_parse(template *t, arena *mem, const char *text, size_t size, source_place at, bool exact, faults *f)
{
    const char *p = size == 0 ? "" : text, *open, *close;
    cutter c = { .t = t, .mem = mem, .f = f, .end = p + size, .seen = p, .here = at, .exact = exact };

    *t = (template){ .at = at };
    while ((open = pair_find(p, c.end, '{')) != NULL) {
        if (open > p && !piece_add(&c, p, (size_t)(open - p), NULL))
            return false;
        if (!cut_expression(&c, open, &close))
            return false;
        p = close + 2;
    }
    return p == c.end || piece_add(&c, p, (size_t)(c.end - p), NULL);
}

bool template_read(template *t, arena *mem, const char *text, size_t size, source_place at, faults *f)
{
    return template_parse(t, mem, text, size, at, true, f);
}

bool template_of(template *t, arena *mem, const doc *scalar, faults *f)
{
    const bool exact = scalar->text_at.line > 0;

    return template_parse(t, mem, scalar->text, scalar->size, exact ? scalar->text_at : scalar->at, exact, f);
}

expression *template_whole(const template *t)
{
    return t->npieces == 1 ? t->pieces[0].e : NULL;
}
