/* edges.c - where a node leads: the keys next, each, join, on_no and on_error.
 *
 * Called by node_keys.c, on one thread. After an invalid target (`bad_target`) no node is reported as unreachable, because the target may have meant it. */
#include "file/load/load.h"

/* One entry of a list in `next`: a condition and its target. False: a fault was added. */
static bool read_way(loader *l, file_node *n, const doc *d, const char *label, bool last)
{
    static const char *const names[] = { "when", "to", "else" };
    const doc *when, *to, *other;
    way_out *w = &n->ways[n->nways];
    named_place target = { NULL, d->at };
    form *f = NULL;

    keys_known(l, d, "an entry of `next`", names, 3);
    when = doc_get(d, "when");
    to = doc_get(d, "to");
    other = doc_get(d, "else");
    if (other != NULL ? when != NULL || to != NULL : when == NULL || to == NULL) {
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "next", "an entry of `next` is {when: EXPRESSION, to: NODE}, and the last one may be {else: NODE}%s",
                 other != NULL ? "" : when == NULL && to == NULL ? "" : when == NULL ? ": `when` is missing" : ": `to` is missing");
        return false;
    }
    if (other != NULL && !last)
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "next", "`else` must be the last entry: those after it are never used");
    if (!key_name(l, other != NULL ? other : to, other != NULL ? "else" : "to", &target) ||
        (when != NULL && (f = form_expression(l, when, "when", label)) == NULL))
        return false;
    *w = (way_out){ .when = f != NULL ? f->e : NULL, .to = target.name, .at = target.at };
    n->chooses = n->chooses || (w->when != NULL && !w->when->path);
    n->nways++;
    return true;
}

static bool read_ways(loader *l, file_node *n, const doc *d, const char *label)
{
    bool good = true, otherwise = false;

    if ((n->ways = arena_zero(l->mem, d->size * sizeof *n->ways)) == NULL)
        return false;
    for (size_t i = 0; i < d->size; i++) {
        const char *under = load_fmt(l, "%s/%zu", label, i);

        good = under != NULL && read_way(l, n, d->items[i], under, i + 1 == d->size) && good;
        otherwise = otherwise || doc_get(d->items[i], "else") != NULL;
    }
    if (!otherwise && good)
        fault_at(l->f, d->at, PAWL_SEVERITY_WARNING, "no-else", "`next` of \"%s\" has no `else`: the run fails when no `when` holds", n->name);
    return good;
}

void read_next(loader *l, file_node *n, const doc *d, const char *label)
{
    size_t maps = 0;

    n->next_at = d->at;
    for (size_t i = 0; d->kind == DOC_LIST && i < d->size; i++)
        maps += d->items[i]->kind == DOC_MAP;
    if (d->kind == DOC_MAP || (maps > 0 && maps < d->size)) {
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "next", "`next` is a node, `end`, a list of nodes, or a list of {when: EXPRESSION, to: NODE} and {else: NODE}");
        l->a->bad_target = true;
    } else if (!(maps == 0 ? key_names(l, d, "next", &n->next) : read_ways(l, n, d, label))) {
        l->a->bad_target = true;
    }
}

void read_each(loader *l, file_node *n, const doc *d, const char *label)
{
    static const char *const names[] = { "of", "node", "as" };
    const doc *of, *node, *as;
    const bool bad_target = l->a->bad_target;
    named_place target, name;
    form *f;

    n->each_at = d->at;
    l->a->bad_target = true;        /* unless it turns out to be valid */
    keys_known(l, d, "`each`", names, 3);
    of = doc_get(d, "of");
    node = doc_get(d, "node");
    as = doc_get(d, "as");
    if (of == NULL || node == NULL || as == NULL) {
        if (as != NULL && as->kind == DOC_SCALAR)
            n->each_as = as->text;
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "missing", "`each` is {of: EXPRESSION that gives a list, node: NODE, as: NAME}%s%s%s",
                 of == NULL ? ", `of` is missing" : "", node == NULL ? ", `node` is missing" : "", as == NULL ? ", `as` is missing" : "");
        return;
    }
    f = form_expression(l, of, "of", label);
    if (!key_name(l, as, "as", &name))
        return;
    n->each_as = name.name;
    n->each_as_at = name.at;
    if (!key_name(l, node, "node", &target) || f == NULL)
        return;
    n->each_of = f->e;
    n->each_node = target.name;
    n->each_node_at = target.at;
    n->chooses = n->chooses || !f->e->path;
    l->a->bad_target = bad_target;
}

void read_join(loader *l, file_node *n, const doc *d, const char *label)
{
    static const char *const names[] = { "of", "need", "rest" };
    const doc *of, *need, *rest;
    const char *word;

    (void)label;
    n->join_at = d->at;
    keys_known(l, d, "`join`", names, 3);
    of = d->kind == DOC_MAP ? doc_get(d, "of") : d;
    need = doc_get(d, "need");
    rest = doc_get(d, "rest");
    if (of == NULL) {
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "missing", "`join` is a list of nodes, or {of: [NODE, ...], need: 1, rest: cancel}: `of` is missing");
        return;
    }
    if (key_names(l, of, "join", &n->join) && need != NULL)
        key_count(l, need, "need", 1, (uint32_t)n->join.n, &n->join_need);
    if (rest != NULL && key_text(l, rest, "rest", &word)) {
        n->join_cancel = strcmp(word, "cancel") == 0;
        if (!n->join_cancel && strcmp(word, "ignore") != 0)
            fault_at(l->f, rest->at, PAWL_SEVERITY_FAULT, "join", "`rest` is ignore or cancel, and not \"%.40s\": what happens to the sources that are not needed any more",
                     word);
    }
}

void read_on_no(loader *l, file_node *n, const doc *d, const char *label)
{
    (void)label;
    l->a->bad_target = !key_name(l, d, "on_no", &n->on_no) || l->a->bad_target;
}

void read_on_error(loader *l, file_node *n, const doc *d, const char *label)
{
    (void)label;
    l->a->bad_target = !key_name(l, d, "on_error", &n->on_error) || l->a->bad_target;
}
