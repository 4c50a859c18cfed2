/* source.c - texts that an agent file names, each kept once, and expressions, each with a label and a number.
 *
 * Called while a file is read, on one thread. */
#include "file/load/load.h"

bool load_known(loader *l, expression *e, const char *label)
{
    agent_file *root = l->a->root;

    if (label == NULL || (e->label = load_fmt(l, "%s%s", l->a->prefix, label)) == NULL)
        return false;
    if (e->path)
        return true;
    if (root->njq == EXPRESSIONS_MAX) {
        fault_at(l->f, e->at, PAWL_SEVERITY_FAULT, "limit", "more than %d expressions that are no plain path (EXPRESSIONS_MAX)", EXPRESSIONS_MAX);
        return false;
    }
    if (!arena_room(l->mem, (void **)&root->jq, &root->jq_cap, root->njq, sizeof *root->jq))
        return false;
    e->number = (uint32_t)root->njq;
    root->jq[root->njq++] = e;
    return true;
}

expression *load_expression(loader *l, const doc *d, const char *label)
{
    expression *e = arena_zero(l->mem, sizeof *e);

    return e != NULL && expression_of(e, l->mem, d, l->f) && load_known(l, e, label) ? e : NULL;
}

bool load_source(loader *l, const char *name, source_place at, const char **path, pawl_bytes *text)
{
    agent_file *root = l->a != NULL ? l->a->root : NULL;
    const char *from = l->a != NULL ? l->a->path : NULL;
    pawl_err err = {0};
    file_source *s;

    if (l->reader->read(l->reader->ctx, l->mem, from, name, path, text, &err) != PAWL_OK) {
        fault_at(l->f, at, PAWL_SEVERITY_FAULT, "file", "%s", err.text);
        return false;
    }
    if (root == NULL)
        return true;
    for (s = root->sources; s != NULL; s = s->next)
        if (strcmp(s->path, *path) == 0)
            return true;
    if ((s = arena_zero(l->mem, sizeof *s)) == NULL)
        return false;
    *s = (file_source){ .path = *path, .text = *text };
    if (root->last_source == NULL)
        root->sources = s;
    else
        root->last_source->next = s;
    root->last_source = s;
    return true;
}
