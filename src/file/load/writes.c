/* writes.c - channels by name, and what a node writes into them: the keys set, append and extend, and whether merge rules can take it.
 *
 * Called by node_keys.c and check.c, on one thread. Only what is known before a run is checked here; the kernel checks every write again (K3). */
#include "file/load/load.h"
#include "graph/graph.h"

/* ---- channels by name ------------------------------------------------------------------------------------------- */

void channel_missing(loader *l, source_place at, const char *what, const char *name, const char *const *names, size_t n)
{
    if (name_meant(name, names, n) != NULL || strlen(name) > 40)
        fault_hint(l, at, "unknown-channel", what, name, names, n);
    else
        fault_at(l->f, at, PAWL_SEVERITY_FAULT, "unknown-channel", "%s \"%s\": declare it there, `%s: {}`", what, name, name);
}

file_channel *channel_in(loader *l, const agent_file *a, const char *name, source_place at, const char *what)
{
    file_channel *c = file_channel_find(a, name);
    const char **names;

    if (c != NULL || (names = arena_get(l->mem, (a->nchannels + 1) * sizeof *names)) == NULL)
        return c;
    for (size_t i = 0; i < a->nchannels; i++)
        names[i] = a->channels[i].c.name;
    channel_missing(l, at, what, name, names, a->nchannels);
    return NULL;
}

/* ---- set, append, extend -------------------------------------------------------------------------------------- */

/* The V of {__overwrite__: V} and {__extend__: V}; else `v` itself. */
static const doc *written_in(loader *l, const doc *v, assignment *a)
{
    static const char *const names[] = { "__overwrite__", "__extend__" };

    for (size_t i = 0; v->kind == DOC_MAP && i < v->size; i++)
        if (strncmp(v->keys[i]->text, "__", 2) == 0) {
            const bool add = strcmp(v->keys[i]->text, names[1]) == 0;

            if (v->size > 1)
                fault_at(l->f, v->keys[i]->at, PAWL_SEVERITY_FAULT, "set", "`%.40s` stands alone: {%.40s: VALUE}", v->keys[i]->text, v->keys[i]->text);
            else
                keys_known(l, v, "what a channel is set to", names, 2);
            a->extend = add;
            a->overwrite = !add;    /* also of an unknown key, so that one mistake is one fault */
            return v->items[i];
        }
    return v;
}

static const doc *value_written(loader *l, const doc *v, const char *key, assignment *a)
{
    a->key = key;
    a->extend = strcmp(key, "extend") == 0;
    return strcmp(key, "set") == 0 ? written_in(l, v, a) : v;
}

/* `set`, `append`, `extend`: what each channel is given. */
static void read_writes(loader *l, file_node *n, const doc *d, const char *key, const char *label)
{
    assignment *grown;

    if (d->kind != DOC_MAP || d->size == 0) {
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "type", "`%s` is a map of channels and expressions, such as {total: '.a + .b'}, and this is %s", key,
                 doc_what(l, d));
        return;
    }
    if ((grown = arena_zero(l->mem, (n->nsets + d->size) * sizeof *grown)) == NULL)
        return;
    if (n->nsets > 0)
        memcpy(grown, n->sets, n->nsets * sizeof *grown);
    n->sets = grown;
    for (size_t i = 0; i < d->size; i++) {
        assignment *a = &n->sets[n->nsets++];
        const doc *from = value_written(l, d->items[i], key, a);
        const char *under = load_fmt(l, "%s/%s", label, d->keys[i]->text);

        a->channel = d->keys[i]->text;
        a->at = d->keys[i]->at;
        a->value_at = d->items[i]->at;
        if (under == NULL)
            return;
        if (from->kind == DOC_SCALAR && doc_type(from) == PAWL_TYPE_STRING && strstr(from->text, "{{") == NULL)
            a->f = form_expression(l, from, a->channel, under);
        else
            a->f = form_any(l, from, under);
    }
}

void read_set(loader *l, file_node *n, const doc *d, const char *label) { read_writes(l, n, d, "set", label); }
void read_append(loader *l, file_node *n, const doc *d, const char *label) { read_writes(l, n, d, "append", label); }
void read_extend(loader *l, file_node *n, const doc *d, const char *label) { read_writes(l, n, d, "extend", label); }

/* ---- types -------------------------------------------------------------------------------------------------------- */

static bool rule_adds(pawl_rule rule)
{
    return rule == PAWL_RULE_APPEND || rule == PAWL_RULE_UNION || rule == PAWL_RULE_TOPIC;
}

/* Older versions took it: a run that keeps such a file goes on. */
static pawl_severity newly(const loader *l)
{
    return l->reader->kept ? PAWL_SEVERITY_WARNING : PAWL_SEVERITY_FAULT;
}

/* The type that the merge rule takes, if a value of this type does not fit; NULL: it fits. */
static const char *write_due(pawl_rule rule, pawl_type type)
{
    if (rule_adds(rule) || type == PAWL_TYPE_NONE)
        return NULL;
    if (rule == PAWL_RULE_BARRIER)
        return type == PAWL_TYPE_STRING ? NULL : "a name";
    return first_due(rule, type);
}

static const char *type_words(pawl_type type)
{
    static const char *const words[] = { "nothing", "null", "a boolean", "a number", "a number", "a text", "a list", "a map" };

    return words[type];
}

static void check_type(loader *l, const file_channel *c, source_place at, const char *key, pawl_type type)
{
    const char *due = c != NULL && !c->unclear && c->c.secret == NULL ? write_due(c->c.rule, type) : NULL;

    if (due != NULL)
        fault_at(l->f, at, newly(l), "merge", "`%s` writes %s, and channel \"%s\" with `merge: %s` takes %s: write to another channel, or change "
                 "its `merge`", key, type_words(type), c->c.name, pawl_rule_name(c->c.rule), due);
}

/* The type of what it gives; PAWL_TYPE_NONE: known only in a run. */
static pawl_type form_type(const form *f)
{
    switch (f->kind) {
    case FORM_VALUE: return pawl_value_type(f->value);
    case FORM_TEXT: return PAWL_TYPE_STRING;
    case FORM_KEEP: return f->text.npieces > 1 || (f->text.npieces == 1 && f->text.pieces[0].e == NULL) ? PAWL_TYPE_STRING : PAWL_TYPE_NONE;
    case FORM_LIST: return PAWL_TYPE_ARRAY;
    case FORM_MAP: return PAWL_TYPE_OBJECT;
    case FORM_EXPRESSION: break;
    }
    return PAWL_TYPE_NONE;
}

/* ---- what a node writes ------------------------------------------------------------------------------------------ */

static const file_channel *check_write(loader *l, const named_place *to, const char *key, pawl_type type)
{
    const char *what = to->name != NULL ? load_fmt(l, "`%s`: the state has no channel", key) : NULL;
    const file_channel *c = what != NULL ? channel_in(l, l->a, to->name, to->at, what) : NULL;

    if (c != NULL && c->c.secret != NULL)
        fault_at(l->f, to->at, PAWL_SEVERITY_FAULT, "secret", "`%s`: channel \"%s\" is a secret, and is never written", key, to->name);
    check_type(l, c, to->at, key, type);
    return c;
}

/* A list that is written as it stands into a channel that adds: a reader may expect each of its elements. */
static void list_element_warn(loader *l, const file_channel *c, const assignment *a)
{
    const bool empty = a->f->kind == FORM_VALUE ? pawl_value_size(a->f->value) == 0 : a->f->n == 0;

    if (empty)
        fault_at(l->f, a->value_at, PAWL_SEVERITY_WARNING, "set", "`set` adds an empty list to \"%s\" as one element (`merge: %s`): `append` says the same, "
                 "and {__overwrite__: []} empties it", a->channel, pawl_rule_name(c->c.rule));
    else
        fault_at(l->f, a->value_at, PAWL_SEVERITY_WARNING, "set", "`set` adds this list to \"%s\" as one element (`merge: %s`): `append` says the same, and "
                 "`extend` adds each of its elements", a->channel, pawl_rule_name(c->c.rule));
}

static void check_assignment(loader *l, const assignment *a)
{
    const file_channel *c = check_write(l, &(named_place){ a->channel, a->at }, a->key, PAWL_TYPE_NONE);
    const pawl_type type = a->f != NULL ? form_type(a->f) : PAWL_TYPE_NONE;
    const bool set = strcmp(a->key, "set") == 0;
    const char *rule = c != NULL ? pawl_rule_name(c->c.rule) : "";

    if (c == NULL || c->unclear || c->c.secret != NULL)
        return;
    if (set && a->extend && first_due(c->c.rule, PAWL_TYPE_ARRAY) != NULL)
        fault_at(l->f, a->value_at, PAWL_SEVERITY_FAULT, "set", "`__extend__` adds to a list, and channel \"%s\" has `merge: %s`", a->channel, rule);
    else if (!set && !rule_adds(c->c.rule))
        fault_at(l->f, a->at, PAWL_SEVERITY_FAULT, "set",
                 "`%s` adds to a list, and channel \"%s\" has `merge: %s`: give it `merge: append`, or write `set`", a->key,
                 a->channel, rule);
    else if (a->extend && type != PAWL_TYPE_NONE && type != PAWL_TYPE_ARRAY)
        fault_at(l->f, a->value_at, set ? newly(l) : PAWL_SEVERITY_FAULT, "set", "what extends \"%s\" is a list, and this is %s: `append` adds one element",
                 a->channel, type_words(type));
    else if (set && !a->overwrite && !a->extend && type == PAWL_TYPE_ARRAY && rule_adds(c->c.rule))
        list_element_warn(l, c, a);
    else if (set && !a->overwrite && !a->extend)
        check_type(l, c, a->value_at, "set", type);
}

void check_writes(loader *l, const file_node *n)
{
    const file_channel *lines = n->lines.name != NULL ? file_channel_find(l->a, n->lines.name) : NULL;

    check_write(l, &n->to, "to", PAWL_TYPE_NONE);
    check_write(l, &n->text, "text", PAWL_TYPE_STRING);
    check_write(l, &n->lines, "lines", lines != NULL && rule_adds(lines->c.rule) ? PAWL_TYPE_NONE : PAWL_TYPE_ARRAY);
    check_write(l, &n->json, "json", PAWL_TYPE_NONE);
    check_write(l, &n->status, "status", PAWL_TYPE_INT);
    for (size_t i = 0; i < n->nsets; i++)
        check_assignment(l, &n->sets[i]);
}
