/* template_value.c - values of a file with expressions in them.
 *
 * Called while a file is read, on one thread; a form belongs to the file's arena. */
#include "file/load/load.h"

static form *form_new(loader *l, form_kind kind, source_place at)
{
    form *f = arena_zero(l->mem, sizeof *f);

    if (f != NULL) {
        f->kind = kind;
        f->at = at;
    }
    return f;
}

/* A label names an expression in journals: "total/set/report". */
form *form_text(loader *l, const doc *d, form_kind kind, const char *key, const char *label)
{
    form *f = form_new(l, kind, d->at);
    size_t number = 0;

    if (f == NULL || label == NULL)
        return NULL;
    if (d->kind != DOC_SCALAR || (d->plain && d->size == 0)) {
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "type", "`%s` takes a text, and this is %s%s", key, doc_what(l, d),
                 d->kind == DOC_SCALAR ? ": \"\" is an empty text" : "");
        return NULL;
    }
    if (!template_of(&f->text, l->mem, d, l->f))
        return NULL;
    for (size_t i = 0; i < f->text.npieces; i++) {
        expression *e = f->text.pieces[i].e;

        if (e != NULL && !load_known(l, e, load_fmt(l, "%s/%zu", label, number++)))
            return NULL;
    }
    return f;
}

form *form_expression(loader *l, const doc *d, const char *key, const char *label)
{
    form *f = form_new(l, FORM_EXPRESSION, d->at);

    if (f == NULL)
        return NULL;
    if (d->kind != DOC_SCALAR) {
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "type", "`%s` takes an expression, and this is %s", key, doc_what(l, d));
        return NULL;
    }
    if (strncmp(d->text, "{{", 2) == 0) {
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "expression", "`%s` takes an expression as it is, without {{ and }} around it", key);
        return NULL;
    }
    f->e = load_expression(l, d, label);
    return f->e != NULL ? f : NULL;
}

form *form_literal(loader *l, const pawl_value *v, source_place at)
{
    form *f = v != NULL ? form_new(l, FORM_VALUE, at) : NULL;

    if (f != NULL)
        f->value = v;
    return f;
}

form *form_map(loader *l, source_place at)
{
    return form_new(l, FORM_MAP, at);
}

bool form_put(loader *l, form *map, const char *key, form *f)
{
    size_t cap = map != NULL ? map->cap : 0;

    if (map == NULL || f == NULL || !arena_room(l->mem, (void **)&map->keys, &cap, map->n, sizeof *map->keys) ||
        !arena_room(l->mem, (void **)&map->items, &map->cap, map->n, sizeof *map->items))
        return false;
    map->keys[map->n] = key;
    map->items[map->n++] = f;
    return true;
}

static form *form_list(loader *l, const doc *d, const char *label, const char *words)
{
    form *f = form_new(l, FORM_LIST, d->at);
    bool good = f != NULL && (f->items = arena_zero(l->mem, (d->size + 1) * sizeof *f->items)) != NULL;

    for (size_t i = 0; good && i < d->size; i++) {
        const char *at = load_fmt(l, "%s/%zu", label, i);
        form *one = at == NULL ? NULL : words != NULL ? form_text(l, d->items[i], FORM_TEXT, words, at) : form_any(l, d->items[i], at);

        if (one != NULL)
            f->items[f->n++] = one;
    }
    return good && f->n == d->size ? f : NULL;
}

form *form_words(loader *l, const doc *d, const char *key, const char *label)
{
    if (d->kind == DOC_LIST && d->size > 0)
        return label != NULL ? form_list(l, d, label, key) : NULL;
    fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "type", "`%s` is a list of texts, %s, and this is %s", key,
             strcmp(key, "run") == 0 ? "[program, argument, ...]" : "[\"{{.a}}\", ...]", doc_what(l, d));
    return NULL;
}

static form *form_members(loader *l, const doc *d, const char *label, const char *words)
{
    form *f = form_new(l, FORM_MAP, d->at);
    size_t due = 0;

    for (size_t i = 0; f != NULL && i < d->size; i++) {
        const char *at = load_fmt(l, "%s/%s", label, d->keys[i]->text);
        form *one = at == NULL ? NULL : words != NULL ? form_text(l, d->items[i], FORM_TEXT, words, at) : form_any(l, d->items[i], at);

        due += form_put(l, f, d->keys[i]->text, one);
    }
    return f != NULL && due == d->size ? f : NULL;
}

form *form_table(loader *l, const doc *d, const char *key, const char *label)
{
    if (d->kind == DOC_MAP)
        return label != NULL ? form_members(l, d, label, key) : NULL;
    fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "type", "`%s` is a map of names and texts, and this is %s", key, doc_what(l, d));
    return NULL;
}

static bool has_templates(const doc *d)
{
    bool any = d->kind == DOC_SCALAR && strstr(d->text, "{{") != NULL;

    for (size_t i = 0; d->kind != DOC_SCALAR && i < d->size && !any; i++)
        any = has_templates(d->items[i]);
    return any;
}

form *form_any(loader *l, const doc *d, const char *label)
{
    if (label == NULL)
        return NULL;
    if (!has_templates(d))
        return form_literal(l, doc_value(d, l->mem, l->f), d->at);
    if (d->kind == DOC_LIST)
        return form_list(l, d, label, NULL);
    if (d->kind == DOC_MAP)
        return form_members(l, d, label, NULL);
    if (doc_type(d) == PAWL_TYPE_STRING)
        return form_text(l, d, FORM_KEEP, "a value", label);
    return form_literal(l, doc_value(d, l->mem, l->f), d->at);
}

void form_each(const form *f, form_see_fn *see, void *ctx)
{
    if (f == NULL)
        return;
    switch (f->kind) {
    case FORM_VALUE:
        return;
    case FORM_EXPRESSION:
        see(ctx, f->e, true, true);
        return;
    case FORM_TEXT:
    case FORM_KEEP:
        for (size_t i = 0; i < f->text.npieces; i++)
            if (f->text.pieces[i].e != NULL)
                see(ctx, f->text.pieces[i].e, f->text.npieces == 1, f->kind == FORM_KEEP);
        return;
    case FORM_LIST:
    case FORM_MAP:
        for (size_t i = 0; i < f->n; i++)
            form_each(f->items[i], see, ctx);
        return;
    }
}
