/* agent_tools.c - the tools of an agent: those of the program by name, and programs of its own; checks that the parts of an agent agree.
 *
 * Called by agent_keys.c and load.c, on one thread. */
#include "file/load/load.h"

enum { TOOL_NAME_MAX = 56, TIMEOUT_DEFAULT_MS = 30000 };

bool key_words(loader *l, const doc *d, const char *key, const char ***out)
{
    const char **words;

    if (d->kind != DOC_LIST || d->size == 0 || d->size > FILE_TOOL_WORDS_MAX) {
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "type", "`%s` is a list: a program and its arguments, at most %d, and this is %s", key,
            FILE_TOOL_WORDS_MAX,
                 doc_what(l, d));
        return false;
    }
    if ((words = arena_zero(l->mem, (d->size + 1) * sizeof *words)) == NULL)
        return false;
    for (size_t i = 0; i < d->size; i++)
        if (!(i == 0 ? key_plain(l, d->items[i], key, &words[i]) : key_text(l, d->items[i], key, &words[i])))
            return false;
    *out = words;
    return true;
}

/* ---- those of the program ----------------------------------------------------------------------------------- */

static const pawl_agent_tool *builtin_at(const loader *l, size_t i)
{
    return l->reader->tool != NULL ? l->reader->tool(l->reader->ctx, i) : NULL;
}

static const pawl_agent_tool *builtin(const loader *l, const char *name)
{
    const pawl_agent_tool *t;

    for (size_t i = 0; (t = builtin_at(l, i)) != NULL; i++)
        if (strcmp(t->name, name) == 0)
            return t;
    return NULL;
}

static bool has_tool(const pawl_agent *a, const char *name)
{
    for (size_t i = 0; i < a->ntools; i++)
        if (strcmp(a->tools[i].name, name) == 0)
            return true;
    return false;
}

static void tool_put(loader *l, const pawl_agent_tool *t, source_place at)
{
    pawl_agent *a = &l->a->agent->a;

    if (has_tool(a, t->name))
        fault_at(l->f, at, PAWL_SEVERITY_FAULT, "twice", "tool \"%s\" is named twice", t->name);
    else if (a->ntools == FILE_TOOLS_MAX)
        fault_at(l->f, at, PAWL_SEVERITY_FAULT, "limit", "more than %d tools (FILE_TOOLS_MAX)", FILE_TOOLS_MAX);
    else
        ((pawl_agent_tool *)(uintptr_t)a->tools)[a->ntools++] = *t;
}

const pawl_agent_tool *key_tool(loader *l, const doc *d)
{
    const char *names[FILE_TOOLS_MAX], *name;
    const pawl_agent_tool *t;
    size_t n = 0;

    if (!key_plain(l, d, "tool", &name) || (t = builtin(l, name)) != NULL)
        return d->kind == DOC_SCALAR ? builtin(l, d->text) : NULL;
    while (n < FILE_TOOLS_MAX && (t = builtin_at(l, n)) != NULL)
        names[n++] = t->name;
    fault_hint(l, d->at, "tool", "no tool comes with Pawl that is called", name, names, n);
    return NULL;
}

static void read_builtin(loader *l, const doc *d)
{
    const pawl_agent_tool *t = key_tool(l, d);

    if (t != NULL)
        tool_put(l, t, d->at);
}

/* ---- its own -------------------------------------------------------------------------------------------------- */

static void read_class(loader *l, const doc *d, pawl_permission *out)
{
    static const char *const names[] = { "read", "edit", "exec", "net", "other" };
    const char *word;

    if (!key_text(l, d, "class", &word))
        return;
    for (int k = PAWL_PERMISSION_READ; k <= PAWL_PERMISSION_OTHER; k++)
        if (strcmp(pawl_permission_name((pawl_permission)k), word) == 0) {
            *out = (pawl_permission)k;
            return;
        }
    fault_hint(l, d->at, "class", "`class` is one of read, edit, exec, net, other, and not", word, names, 5);
}

static void read_tool_effect(loader *l, const doc *d, pawl_class *out)
{
    static const struct { const char *word; pawl_class cls; } rows[] = {
        { "pure", PAWL_CLASS_PURE }, { "idempotent", PAWL_CLASS_IDEMPOTENT }, { "at-least-once", PAWL_CLASS_AT_LEAST_ONCE }, { "once", PAWL_CLASS_ONCE },
    };
    static const char *const names[] = { "pure", "idempotent", "at-least-once", "once" };
    const char *word;

    if (!key_text(l, d, "effect", &word))
        return;
    for (size_t i = 0; i < 4; i++)
        if (strcmp(rows[i].word, word) == 0) {
            *out = rows[i].cls;
            return;
        }
    fault_hint(l, d->at, "effect", "`effect` of a tool is one of pure, idempotent, at-least-once, once, and not", word, names, 4);
}

static const char *schema_text(loader *l, const doc *d)
{
    const pawl_value *v;
    const char *out = NULL;
    buf b;

    if (d == NULL)
        return "{\"type\":\"object\"}";
    if (!key_schema(l, d, "schema", &v))
        return NULL;
    if (pawl_value_type(v) != PAWL_TYPE_OBJECT) {
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "schema", "`schema` of a tool is that of an object: {type: object, properties: {...}}");
        return NULL;
    }
    buf_init(&b, &l->mem->alloc);
    canon(&b, v);
    if (!b.failed)
        out = arena_strdup(l->mem, b.data, b.size);
    l->mem->failed = l->mem->failed || out == NULL;
    buf_free(&b);
    return out;
}

/* In all files of a machine a name belongs to one program, because the handler is found by it. */
static void own_put(loader *l, const file_tool *made, source_place at)
{
    agent_file *root = l->a->root;
    file_tool *t;

    if (builtin(l, made->t.name) != NULL) {
        fault_at(l->f, at, PAWL_SEVERITY_FAULT, "twice", "tool \"%s\" comes with Pawl: call yours otherwise", made->t.name);
        return;
    }
    for (t = root->tools; t != NULL; t = t->next)
        if (strcmp(t->t.name, made->t.name) == 0 && strcmp(t->of->path, l->a->path) != 0) {
            fault_at(l->f, at, PAWL_SEVERITY_FAULT, "twice", "tool \"%s\" is made in %s, too: one of them needs another name", made->t.name, t->of->path);
            return;
        }
    if ((t = arena_zero(l->mem, sizeof *t)) == NULL)
        return;
    *t = *made;
    t->next = root->tools;
    root->tools = t;
    tool_put(l, &t->t, at);
}

bool key_env(loader *l, const doc *d, const char *of, const char ***out)
{
    const char **names;

    if (d->kind != DOC_LIST || d->size == 0 || d->size > FILE_TOOL_WORDS_MAX) {
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "type",
                 "`env` of %s is a list of variables that it gets, at most %d, such as [ANTHROPIC_API_KEY], and this is %s", of,
                 FILE_TOOL_WORDS_MAX, doc_what(l, d));
        return false;
    }
    if ((names = arena_zero(l->mem, (d->size + 1) * sizeof *names)) == NULL)
        return false;
    for (size_t i = 0; i < d->size; i++) {
        if (!key_plain(l, d->items[i], "env", &names[i]))
            return false;
        if (!variable_name_valid(names[i])) {
            fault_at(l->f, d->items[i]->at, PAWL_SEVERITY_FAULT, "type",
                "`env`: \"%.60s\" is no name of one variable: its value comes from the environment, and there is no pattern for several", names[i]);
            return false;
        }
    }
    *out = names;
    return true;
}

static void read_own(loader *l, const doc *d)
{
    static const char *const names[] = { "name", "description", "schema", "run", "class", "effect", "timeout", "beside", "rule", "mutates", "deferred", "hint",
                                         "env" };
    const doc *name = doc_get(d, "name"), *run, *one;
    file_tool t = { .of = l->a, .t = { .cls = PAWL_PERMISSION_OTHER, .effect = PAWL_CLASS_ONCE, .timeout_ms = TIMEOUT_DEFAULT_MS } };
    bool good;

    keys_known(l, d, "a tool", names, sizeof names / sizeof *names);
    name = doc_get(d, "name");
    run = doc_get(d, "run");
    if (name == NULL || run == NULL) {
        if (!key_there(d, "run") || name == NULL)
            fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "missing", "a tool has `name` and `run`, the program that is given its input as JSON on stdin");
        return;
    }
    good = key_text(l, name, "name", &t.t.name) && name_declare(l, name, "tool", TOOL_NAME_MAX);
    good = key_words(l, run, "run", &t.run) && good;
    if ((one = doc_get(d, "description")) != NULL)
        good = key_text(l, one, "description", &t.t.description) && good;
    if ((one = doc_get(d, "rule")) != NULL)
        good = key_plain(l, one, "rule", &t.t.rule) && good;
    if ((one = doc_get(d, "hint")) != NULL)
        good = key_text(l, one, "hint", &t.t.hint) && good;
    if ((one = doc_get(d, "env")) != NULL)
        good = key_env(l, one, "a tool", &t.env) && good;
    if ((one = doc_get(d, "class")) != NULL)
        read_class(l, one, &t.t.cls);
    t.t.effect = t.t.cls == PAWL_PERMISSION_READ ? PAWL_CLASS_AT_LEAST_ONCE : PAWL_CLASS_ONCE;
    if ((one = doc_get(d, "effect")) != NULL)
        read_tool_effect(l, one, &t.t.effect);
    if ((one = doc_get(d, "timeout")) != NULL)
        key_duration(l, one, "timeout", 1, &t.t.timeout_ms);
    if ((one = doc_get(d, "beside")) != NULL && key_bool(l, one, "beside", &t.t.beside))
        t.t.alone = !t.t.beside;
    if ((one = doc_get(d, "mutates")) != NULL)
        key_bool(l, one, "mutates", &t.t.mutates);
    if ((one = doc_get(d, "deferred")) != NULL)
        key_bool(l, one, "deferred", &t.t.deferred);
    if ((t.t.schema = schema_text(l, doc_get(d, "schema"))) != NULL && good)
        own_put(l, &t, d->at);
}

void read_tools(loader *l, const doc *d)
{
    const bool all = d->kind == DOC_SCALAR && strcmp(d->text, "all") == 0;
    const pawl_agent_tool *t;

    if ((l->a->agent->a.tools = arena_zero(l->mem, (FILE_TOOLS_MAX + 1) * sizeof(pawl_agent_tool))) == NULL)
        return;
    if (!all && d->kind != DOC_LIST) {
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "type", "`tools` is `all`, or a list of tools, such as [read_file, grep], and this is %s",
            doc_what(l, d));
        return;
    }
    for (size_t i = 0; all && (t = builtin_at(l, i)) != NULL; i++)
        tool_put(l, t, d->at);
    for (size_t i = 0; !all && i < d->size; i++)
        if (d->items[i]->kind == DOC_MAP)
            read_own(l, d->items[i]);
        else
            read_builtin(l, d->items[i]);
}

/* ---- its parts ------------------------------------------------------------------------------------------------------ */

/* Tells the model which agents it can call. */
static const char *spawn_description(loader *l, const file_agent *f, const char *text)
{
    const char *out = load_fmt(l, "%s Agents:", text != NULL ? text : "");

    for (size_t i = 0; out != NULL && i < f->a.nhelpers; i++) {
        const char *what = f->a.helpers[i].description;

        out = load_fmt(l, "%s%s %s%s%s%s", out, i > 0 ? ";" : "", f->a.helpers[i].name, what != NULL ? " (" : "", what != NULL ? what : "",
                       what != NULL ? ")" : "");
    }
    return out;
}

/* An agent without `agents` calls itself. */
static void helpers_made(loader *l, file_agent *f)
{
    pawl_agent *a = &f->a;
    pawl_agent_helper *all = arena_zero(l->mem, (a->nhelpers + 1) * sizeof *all);
    pawl_agent_tool *spawn = NULL;
    const pawl_agent_tool *own;

    for (size_t i = 0; i < a->ntools; i++)
        if (a->tools[i].own == PAWL_OWN_SPAWN_AGENT)
            spawn = (pawl_agent_tool *)(uintptr_t)&a->tools[i];
    if (all == NULL || (spawn == NULL && a->nhelpers == 0))
        return;
    a->helpers = all;
    for (size_t i = 0; i < a->nhelpers; i++)
        all[i] = (pawl_agent_helper){ f->helpers[i]->name, f->helpers[i]->file != NULL ? f->helpers[i]->file->description : NULL };
    if (a->nhelpers == 0)
        all[a->nhelpers++] = (pawl_agent_helper){ a->name, l->a->description };
    if (spawn == NULL && (own = builtin(l, "spawn_agent")) != NULL) {
        if (a->tools == NULL)
            a->tools = arena_zero(l->mem, (FILE_TOOLS_MAX + 1) * sizeof *a->tools);
        if (a->tools == NULL)
            return;
        tool_put(l, own, f->at);
        spawn = (pawl_agent_tool *)(uintptr_t)&a->tools[a->ntools - 1];
    }
    if (spawn != NULL)
        spawn->description = spawn_description(l, f, spawn->description);
}

/* The schema of the input that a run may start with. */
static void input_made(loader *l)
{
    static const char schema[] = "{\"properties\":{\"input\":{\"type\":[\"string\",\"array\",\"object\"]}},\"type\":\"object\"}";
    agent_file *a = l->a;

    if ((a->channels = arena_zero(l->mem, sizeof *a->channels)) == NULL)
        return;
    a->channels[a->nchannels++] = (file_channel){ .c = { .name = "input", .rule = PAWL_RULE_LAST }, .at = a->agent->at };
    if ((a->input = value_parse(l->mem, schema, sizeof schema - 1, "input", NULL)) == NULL)
        l->mem->failed = true;
}

void agent_check(loader *l)
{
    agent_file *file = l->a;
    file_agent *f = file->agent;
    const model_price *price;

    f->a.name = file->name;
    f->a.version = file->version;
    if (f->a.model != NULL && model_read(l, f->a.model, f->model_at, &f->a.model) && (price = price_of(file, f->a.model)) != NULL)
        f->a.price_input = price->input, f->a.price_output = price->output;
    helpers_made(l, f);
    input_made(l);
}
