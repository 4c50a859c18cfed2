/* load.c - reads an agent file and the files that it names.
 *
 * Called by file_load(), on one thread. Owns nothing: everything is in the arena. Invariant: a file that leads to itself is refused. */
#include "file/load/load.h"
#include "file/read.h"
#include "graph/graph.h"

enum { CHANNEL_NAME_MAX = 64, JOB_NAME_MAX = 48, RETENTION_DIGITS_MAX = 9 };

const char *const file_key_names[] = {
    "name", "version", "description", "start", "state", "input", "nodes", "output", "defaults", "max_steps", "max_concurrency", "no_progress", "gate",
    "interrupt_before", "interrupt_after", "plugins", "jobs", "retention", "turns", "permissions", "hooks", "budget", "prices", "agent",
};
const size_t file_key_count = sizeof file_key_names / sizeof *file_key_names;

/* ---- state --------------------------------------------------------------------------------------------- */

/* The name of one secret: there is no pattern, and no list. */
static bool secret_named(loader *l, const doc *d, const char *kind, const char *text)
{
    const char *spec = load_fmt(l, "%s:%s", kind, text);

    if (strcmp(kind, "file") != 0 && !variable_name_valid(text))
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "secret", "`%s`: \"%.60s\" is no name of one variable: letters, digits, _ . and -, such as PUSH_TOKEN", kind,
                 text);
    else if (spec != NULL && !secret_valid(spec))
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "secret", "`file`: \"%.60s\" is no path of a file: it has control characters, or %d bytes or more", text,
                 SECRET_PLACE_BYTES);
    else
        return true;
    return false;
}

static void read_secret(loader *l, file_channel *c, const doc *d)
{
    static const char *const names[] = { "env", "file", "given" };
    const doc *one = NULL;
    const char *text;
    size_t kind = 0;

    keys_known(l, d, "`secret`", names, 3);
    while (kind < 3 && (one = doc_get(d, names[kind])) == NULL)
        kind++;
    if (one == NULL && d->kind == DOC_MAP && d->size > 0)
        return;                 /* its key was reported */
    if (d->kind != DOC_MAP || d->size != 1 || one == NULL)
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "secret", "`secret` is one of {env: NAME}, {file: PATH}, {given: NAME}: where its value is, never the value itself");
    else if (key_plain(l, one, names[kind], &text) && secret_named(l, one, names[kind], text))
        c->c.secret = load_fmt(l, "%s:%s", names[kind], text);
}

static void read_rule(loader *l, file_channel *c, const doc *d)
{
    static const char *const names[] = { "last", "single", "append", "sum", "min", "max", "union", "merge", "topic", "ephemeral", "barrier" };
    const char *word;

    if (!key_text(l, d, "merge", &word))
        return;
    for (int i = PAWL_RULE_LAST; i <= PAWL_RULE_BARRIER; i++)
        if (strcmp(word, pawl_rule_name((pawl_rule)i)) == 0) {
            c->c.rule = (pawl_rule)i;
            return;
        }
    c->unclear = true;
    fault_hint(l, d->at, "merge", "`merge` is one of last, single, append, sum, min, max, union, merge, topic, ephemeral, barrier, and not", word, names,
               sizeof names / sizeof *names);
}

static void read_first(loader *l, file_channel *c, const doc *d)
{
    const pawl_value *v = doc_value(d, l->mem, l->f);
    const char *due;
    buf b;

    if (v == NULL)
        return;
    if (!c->unclear && c->c.secret == NULL && (due = first_due(c->c.rule, pawl_value_type(v))) != NULL)
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "default", "`default` of channel \"%s\" is %s, for it has `merge: %s`, and this is %s", c->c.name,
                 strcmp(due, "an array") == 0 ? "a list" : strcmp(due, "an object") == 0 ? "a map" : due, pawl_rule_name(c->c.rule), doc_what(l, d));
    buf_init(&b, &l->mem->alloc);
    canon(&b, v);
    if (b.failed)
        l->mem->failed = true;
    else
        c->c.first = arena_strdup(l->mem, b.data, b.size);
    buf_free(&b);
}

static void check_secret(loader *l, const file_channel *c, const doc *d)
{
    static const char *const names[] = { "merge", "default", "keep", "accumulate" };

    for (size_t i = 0; i < 4; i++)
        for (size_t k = 0; k < d->size; k++)
            if (strcmp(d->keys[k]->text, names[i]) == 0)
                fault_at(l->f, d->keys[k]->at, PAWL_SEVERITY_FAULT, "secret", "channel \"%s\" is a secret, whose value is elsewhere: it has no `%s`", c->c.name,
                         names[i]);
}

static void read_channel(loader *l, file_channel *c, const doc *d)
{
    static const char *const names[] = { "merge", "default", "secret", "keep", "accumulate" };
    const doc *one;
    const char *word;

    c->c.rule = PAWL_RULE_LAST;
    if (d->kind == DOC_SCALAR && doc_type(d) == PAWL_TYPE_NULL)
        return;
    if (d->kind != DOC_MAP) {
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "type", "channel \"%s\" is a map such as {} or {merge: append, default: []}, and this is %s", c->c.name,
                 doc_what(l, d));
        return;
    }
    keys_known(l, d, "a channel", names, sizeof names / sizeof *names);
    if ((one = doc_get(d, "secret")) != NULL) {
        read_secret(l, c, one);
        check_secret(l, c, d);
        return;
    }
    if ((one = doc_get(d, "merge")) != NULL)
        read_rule(l, c, one);
    if ((one = doc_get(d, "default")) != NULL)
        read_first(l, c, one);
    if ((one = doc_get(d, "accumulate")) != NULL && key_bool(l, one, "accumulate", &c->c.accumulate) && c->c.accumulate && c->c.rule != PAWL_RULE_TOPIC &&
        !c->unclear)
        fault_at(l->f, one->at, PAWL_SEVERITY_FAULT, "misplaced", "`accumulate` is for `merge: topic`, and channel \"%s\" has `merge: %s`", c->c.name,
                 pawl_rule_name(c->c.rule));
    if ((one = doc_get(d, "keep")) != NULL && key_text(l, one, "keep", &word)) {
        c->c.keep = strcmp(word, "context") == 0;
        if (!c->c.keep)
            fault_at(l->f, one->at, PAWL_SEVERITY_FAULT, "keep", "`keep` is context, and not \"%.40s\": the channel begins with what the last completed run of its "
                     "context left", word);
    }
}

/* A channel with an invalid name is still declared: uses of it are no second mistake. */
static void read_state(loader *l, const doc *d)
{
    agent_file *a = l->a;

    if (d->kind == DOC_SCALAR && doc_type(d) == PAWL_TYPE_NULL)
        return;
    if (d->kind != DOC_MAP) {
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "type", "`state` is a map of channels, such as {files: {}, facts: {merge: append}}, and this is %s",
                 doc_what(l, d));
        return;
    }
    if ((a->channels = arena_zero(l->mem, (d->size + 1) * sizeof *a->channels)) == NULL)
        return;
    for (size_t i = 0; i < d->size; i++) {
        file_channel *c = &a->channels[a->nchannels++];

        (void)name_declare(l, d->keys[i], "channel", CHANNEL_NAME_MAX);
        c->c.name = d->keys[i]->text;
        c->at = d->keys[i]->at;
        read_channel(l, c, d->items[i]);
    }
}

/* ---- nodes ------------------------------------------------------------------------------------------------ */

static void check_name(loader *l, const doc *key)
{
    size_t n = strlen(key->text), m = strlen(CHOICE_SUFFIX);

    if (strcmp(key->text, "end") == 0)
        fault_at(l->f, key->at, PAWL_SEVERITY_FAULT, "bad-name", "`end` is where a run ends, and cannot be the name of a node: choose another name");
    else if (n > m && strcmp(key->text + n - m, CHOICE_SUFFIX) == 0)
        fault_at(l->f, key->at, PAWL_SEVERITY_FAULT, "bad-name", "node \"%.80s\": names that end in " CHOICE_SUFFIX " are Pawl's own", key->text);
    else
        (void)name_declare(l, key, "node", NODE_NAME_MAX);
}

static void read_nodes(loader *l, const doc *d)
{
    agent_file *a = l->a;

    if (d->kind != DOC_MAP || d->size == 0) {
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "type", "`nodes` is a map of nodes by name, {NAME: {run: [...], next: end}}, and this is %s",
                 doc_what(l, d));
        a->bad_target = true;
        return;
    }
    if ((a->nodes = arena_zero(l->mem, d->size * sizeof *a->nodes)) == NULL)
        return;
    for (size_t i = 0; i < d->size; i++) {
        file_node *n = &a->nodes[a->nnodes++];

        check_name(l, d->keys[i]);
        *n = (file_node){ .file = a, .name = d->keys[i]->text, .at = d->keys[i]->at };
        node_read(l, n, d->items[i]);
    }
}

/* ---- the top -------------------------------------------------------------------------------------------------- */

static void read_defaults(loader *l, const doc *d)
{
    static const char *const names[] = { "retry", "timeout", "model" };
    const doc *one;

    if (d->kind != DOC_MAP) {
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "type", "`defaults` is a map such as {retry: {max_attempts: 3}, timeout: 1m}, and this is %s",
            doc_what(l, d));
        return;
    }
    keys_known(l, d, "`defaults`", names, 3);
    if ((one = doc_get(d, "retry")) != NULL)
        l->a->has_retry = key_retry(l, one, &l->a->retry);
    if ((one = doc_get(d, "timeout")) != NULL)
        key_timeout(l, one, &l->a->attempt_ms, &l->a->total_ms);
    if ((one = doc_get(d, "model")) != NULL && key_plain(l, one, "model", &l->a->model))
        l->a->model_at = one->at;
}

/* "keep", "delete", "keep:7d", as stores read it. */
static bool retention_good(const char *text)
{
    static const char *const units[] = { "ms", "s", "m", "h", "d" };
    size_t n;

    if (strcmp(text, "keep") == 0 || strcmp(text, "delete") == 0)
        return true;
    if (strncmp(text, "keep:", 5) != 0 || text[5] < '1' || text[5] > '9' || (n = strspn(text + 5, "0123456789")) > RETENTION_DIGITS_MAX)
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(text + 5 + n, units[i]) == 0)
            return true;
    return false;
}

static void read_retention(loader *l, const doc *d)
{
    if (key_plain(l, d, "retention", &l->a->retention) && !retention_good(l->a->retention))
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "retention", "`retention` is keep, delete, or keep for a time such as keep:7d (ms, s, m, h, d), and not \"%.40s\"",
                 l->a->retention);
}

static void read_gate(loader *l, const doc *d)
{
    const char *word;

    if (!key_text(l, d, "gate", &word))
        return;
    l->a->gate_deny = strcmp(word, "deny") == 0;
    if (!l->a->gate_deny && strcmp(word, "ask") != 0)
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "gate", "`gate` is ask or deny, and not \"%.40s\": what happens to a node whose `requires` the mode does not permit",
                 word);
}

static void read_limits(loader *l, const doc *d)
{
    agent_file *a = l->a;
    const doc *one;

    if ((one = doc_get(d, "max_steps")) != NULL)
        key_count(l, one, "max_steps", 1, 10000000, &a->max_steps);
    if ((one = doc_get(d, "max_concurrency")) != NULL)
        key_count(l, one, "max_concurrency", 1, 100000, &a->max_concurrency);
    if ((one = doc_get(d, "no_progress")) != NULL)
        key_count(l, one, "no_progress", 1, 100, &a->no_progress);
    if ((one = doc_get(d, "gate")) != NULL)
        read_gate(l, one);
    if ((one = doc_get(d, "interrupt_before")) != NULL)
        key_names(l, one, "interrupt_before", &a->before);
    if ((one = doc_get(d, "interrupt_after")) != NULL)
        key_names(l, one, "interrupt_after", &a->after);
    if ((one = doc_get(d, "retention")) != NULL)
        read_retention(l, one);
    if ((one = doc_get(d, "turns")) != NULL && key_plain(l, one, "turns", &a->turns))
        a->turns_at = one->at;
}

/* False: a plug-in could not be opened, so the kinds of its nodes are unknown. */
static bool read_plugins(loader *l, const doc *d)
{
    bool good = true;

    if (d->kind != DOC_LIST) {
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "type", "`plugins` is a list of files, such as [./plugin.so], and this is %s", doc_what(l, d));
        return false;
    }
    for (size_t i = 0; i < d->size; i++) {
        const char *name;
        pawl_err err = {0};

        good = key_plain(l, d->items[i], "plugins", &name) && good;
        if (!good)
            continue;
        if (l->reader->plugin == NULL)
            fail(&err, PAWL_INVALID, "%.200s: plug-ins are not opened here", name);
        else
            (void)l->reader->plugin(l->reader->ctx, l->a->path, name, &err);
        if (err.code == PAWL_OK)
            continue;
        fault_at(l->f, d->items[i]->at, PAWL_SEVERITY_FAULT, "plugin", "%s", err.text);
        good = false;
    }
    return good;
}

/* Kinds of nodes that nobody performs here: a server gives them to workers. They are known after the plug-ins. */
static void read_jobs(loader *l, const doc *d)
{
    if (d->kind == DOC_LIST && d->size == 0) {
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "empty", "`jobs` is an empty list: name at least one job, such as [transcode]");
        return;
    }
    key_names(l, d, "jobs", &l->a->jobs);
    for (size_t i = 0; i < l->a->jobs.n; i++) {
        const named_place *at = &l->a->jobs.names[i];
        const char *word = load_fmt(l, FILE_JOB_PREFIX "%s", at->name), *taken = NULL;
        const size_t plain = strspn(at->name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");
        pawl_class cls;

        for (size_t k = 0; k < node_key_count; k++)
            if (strcmp(at->name, node_key_names[k]) == 0)
                taken = "a key of every node";
        if (strcmp(at->name, "jq") == 0 || strcmp(at->name, "undo") == 0)
            taken = "an effect of Pawl's own";
        if (l->reader->kind != NULL && word != NULL && (l->reader->kind(l->reader->ctx, at->name, &cls) || l->reader->kind(l->reader->ctx, word, &cls)))
            taken = "a kind of a plug-in";
        if (taken != NULL)
            fault_at(l->f, at->at, PAWL_SEVERITY_FAULT, "job", "`jobs`: `%.64s` is %s, so a job cannot have that name", at->name, taken);
        else if (plain == 0 || plain > JOB_NAME_MAX || at->name[plain] != '\0' || at->name[0] == '-')
            fault_at(l->f, at->at, PAWL_SEVERITY_FAULT, "job", "`jobs`: \"%.64s\" is no name: use A-Z, a-z, 0-9, _ and -, %d characters at most", at->name,
                     JOB_NAME_MAX);
    }
}

/* The name of "dir/survey.yaml" is survey. */
static const char *name_of(loader *l, const char *path)
{
    const char *slash = strrchr(path, '/'), *from = slash != NULL ? slash + 1 : path, *dot = strrchr(from, '.');
    size_t n = dot != NULL && dot != from ? (size_t)(dot - from) : strlen(from);
    char *out = arena_strdup(l->mem, from, n > CHANNEL_NAME_MAX ? CHANNEL_NAME_MAX : n);

    for (char *c = out; c != NULL && *c != '\0'; c++)
        if (strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", *c) == NULL)
            *c = c == out ? 'x' : '-';
    return out != NULL && (*out == '-' || *out == '\0') ? "agent" : out;
}

static bool read_head(loader *l, const doc *d)
{
    agent_file *a = l->a;
    const doc *one;
    named_place name;

    if ((one = doc_get(d, "name")) != NULL && key_name(l, one, "name", &name))
        a->name = name.name;
    if ((one = doc_get(d, "version")) != NULL)
        key_count(l, one, "version", 1, UINT32_MAX, &a->version);
    if ((one = doc_get(d, "description")) != NULL)
        key_text(l, one, "description", &a->description);
    if ((one = doc_get(d, "defaults")) != NULL)
        read_defaults(l, one);
    read_limits(l, d);
    read_guards(l, d);
    if ((one = doc_get(d, "plugins")) != NULL && !read_plugins(l, one))
        return false;
    if ((one = doc_get(d, "jobs")) != NULL)
        read_jobs(l, one);
    if ((one = doc_get(d, "state")) != NULL)
        read_state(l, one);
    if ((one = doc_get(d, "input")) != NULL)
        key_schema(l, one, "input", &a->input);
    return true;
}

/* A file with `agent` has no keys of a graph. */
static void read_agent_top(loader *l, const doc *d, const doc *agent)
{
    static const char *const names[] = { "agent", "name", "version", "description", "permissions", "hooks", "budget", "prices", "retention" };
    const doc *one;
    named_place name;

    for (size_t i = 0; i < d->size; i++) {
        bool good = false, known = false;

        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            good = good || strcmp(d->keys[i]->text, names[k]) == 0;
        for (size_t k = 0; k < file_key_count; k++)
            known = known || strcmp(d->keys[i]->text, file_key_names[k]) == 0;
        if (known && !good)
            fault_at(l->f, d->keys[i]->at, PAWL_SEVERITY_FAULT, "misplaced",
                     "`%s` is of a graph, and this file is an agent: write the graph into a file of its own, whose nodes "
                     "call it by `agent: FILE`", d->keys[i]->text);
    }
    if ((one = doc_get(d, "name")) != NULL && key_name(l, one, "name", &name))
        l->a->name = name.name;
    if ((one = doc_get(d, "version")) != NULL)
        key_count(l, one, "version", 1, UINT32_MAX, &l->a->version);
    if ((one = doc_get(d, "description")) != NULL)
        key_text(l, one, "description", &l->a->description);
    if ((one = doc_get(d, "retention")) != NULL)
        read_retention(l, one);
    read_guards(l, d);
    read_agent(l, agent);
}

static bool among(const char *name, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* A key of `agent` may stand beside it, or in a file without one. */
static void file_keys_known(loader *l, const doc *d)
{
    for (size_t i = 0; d->kind == DOC_MAP && i < d->size; i++) {
        const doc *key = d->keys[i];

        if (among(key->text, file_key_names, file_key_count))
            continue;
        if (among(key->text, agent_key_names, agent_key_count))
            fault_at(l->f, key->at, PAWL_SEVERITY_FAULT, "unknown-key", "an agent file has no key \"%s\": it is a key of `agent`, and stands below it",
                     key->text);
        else
            key_unknown(l, (doc *)(uintptr_t)d, i, "an agent file has no key", file_key_names, file_key_count);
    }
}

static void read_top(loader *l, const doc *d)
{
    agent_file *a = l->a;
    const doc *one, *nodes, *start, *agent = doc_get(d, "agent");

    a->at = d->at;
    a->d = d;
    file_keys_known(l, d);
    if (agent != NULL) {
        read_agent_top(l, d, agent);
        return;
    }
    start = doc_get(d, "start");
    nodes = doc_get(d, "nodes");
    if (!key_there(d, "start") || !key_there(d, "nodes"))
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "missing", "%s: an agent file has `start: NODE` and `nodes: {NAME: {...}}`",
                 key_there(d, "start") ? "`nodes` is missing" : key_there(d, "nodes") ? "`start` is missing" : "`start` and `nodes` are missing");
    a->bad_target = start == NULL || nodes == NULL;
    if (!read_head(l, d)) {
        a->bad_target = true;
        return;
    }
    if (start != NULL) {
        a->start_at = start->at;
        a->bad_target = !key_names(l, start, "start", &a->start) || a->bad_target;
    }
    if (nodes != NULL)
        read_nodes(l, nodes);
    if ((one = doc_get(d, "output")) != NULL) {
        form *f = form_expression(l, one, "output", "output");

        a->output = f != NULL ? f->e : NULL;
    }
}

/* ---- files --------------------------------------------------------------------------------------------------------- */

/* A file that leads to itself would never end. */
static bool leads_round(const agent_file *above, const char *path)
{
    for (const agent_file *a = above; a != NULL; a = a->above)
        if (strcmp(a->path, path) == 0)
            return true;
    return false;
}

static agent_file *load_one(loader *l, const char *name, source_place at, agent_file *above, const char *prefix)
{
    agent_file *a = arena_zero(l->mem, sizeof *a);
    pawl_bytes text = {0};
    const char *path = NULL;
    const doc *d;
    loader in = *l;

    if (a == NULL || prefix == NULL || !load_source(l, name, at, &path, &text))
        return NULL;
    if (leads_round(above, path)) {
        fault_at(l->f, at, PAWL_SEVERITY_FAULT, "graph", "%s leads to itself: a graph cannot be a node of its own", path);
        return NULL;
    }
    *a = (agent_file){ .mem = l->mem, .faults = l->f, .path = path, .version = 1, .root = above != NULL ? above->root : a,
                       .depth = above != NULL ? above->depth + 1 : 0, .above = above,
                       .prefix = prefix };
    in.a = a;
    if (above == NULL) {
        a->sources = a->last_source = arena_zero(l->mem, sizeof *a->sources);
        if (a->sources == NULL)
            return NULL;
        *a->sources = (file_source){ .path = path, .text = text };
    }
    a->name = name_of(l, path);
    if ((d = doc_read(l->mem, path, text, l->f)) == NULL)
        return NULL;
    if (d->kind != DOC_MAP) {
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "type", "an agent file is a map with `start` and `nodes`, and this one is %s", doc_what(l, d));
        return NULL;
    }
    read_top(&in, d);
    if (a->agent != NULL)
        agent_check(&in);
    names_order(&in);
    if (doc_get(d, "agent") == NULL)
        file_check(&in);
    return a;
}

/* False: there are too many files; reported. */
static bool room_for_one(loader *l, source_place at)
{
    agent_file *root = l->a->root;

    if (l->a->depth + 1 > FILE_GRAPH_DEPTH_MAX || root->graphs == FILE_GRAPHS_MAX) {
        fault_at(l->f, at, PAWL_SEVERITY_FAULT, "limit", "more than %d graphs inside each other (FILE_GRAPH_DEPTH_MAX), or %d in all (FILE_GRAPHS_MAX)",
                 FILE_GRAPH_DEPTH_MAX, FILE_GRAPHS_MAX);
        return false;
    }
    root->graphs++;
    return true;
}

/* An agent that is named only by its file has the name in that file. */
static bool helper_name(loader *l, file_helper *h, source_place at)
{
    for (const file_helper *one = l->a->root->helpers; one != NULL; one = one->next)
        if (one != h && strcmp(one->name, h->file->name) == 0) {
            fault_at(l->f, at, PAWL_SEVERITY_FAULT, "twice", "agent \"%s\" is %s elsewhere, and here it is %s: one of them needs another name",
                one->name, one->path,
                     h->path);
            return false;
        }
    if (strcmp(l->a->root->name, h->file->name) == 0) {
        fault_at(l->f, at, PAWL_SEVERITY_FAULT, "twice", "%s is called \"%s\", as the file is that calls it: one of them needs another name", h->path,
            h->file->name);
        return false;
    }
    h->name = h->file->name;
    return true;
}

/* Agents may call each other and themselves: each is read once and found by its name. */
static file_helper *load_helper(loader *l, const char *name, const char *file, source_place at)
{
    agent_file *root = l->a->root;
    const char *path;
    pawl_bytes text;
    file_helper *h;

    if (!load_source(l, file, at, &path, &text))
        return NULL;
    for (h = root->helpers; h != NULL; h = h->next) {
        if (name == NULL && strcmp(h->path, path) == 0)
            return h;
        if (name == NULL || strcmp(h->name, name) != 0)
            continue;
        if (strcmp(h->path, path) == 0)
            return h;
        fault_at(l->f, at, PAWL_SEVERITY_FAULT, "twice", "agent \"%s\" is %s elsewhere, and here it is %s: one of them needs another name", name,
            h->path, path);
        return NULL;
    }
    if (leads_round(l->a, path) && (name == NULL || strcmp(root->path, path) != 0 || strcmp(root->name, name) != 0)) {
        fault_at(l->f, at, PAWL_SEVERITY_FAULT, "agent", "%s leads to itself: call it by the name that it has", path);
        return NULL;
    }
    if (!room_for_one(l, at) || (h = arena_zero(l->mem, sizeof *h)) == NULL)
        return NULL;
    *h = (file_helper){ .next = root->helpers, .name = name != NULL ? name : "", .path = path };
    root->helpers = h;
    h->file = leads_round(l->a, path) ? root : load_one(l, file, at, l->a, load_fmt(l, "%s/", h->name));
    if (h->file == NULL)
        return NULL;
    if (name == NULL && !helper_name(l, h, at))
        return NULL;
    name = h->name;
    if (h->file->agent == NULL) {
        if (doc_get(h->file->d, "agent") == NULL)
            fault_at(l->f, at, PAWL_SEVERITY_FAULT, "agent", "%s is a graph, and no agent: it has no `agent`", path);
        return NULL;
    }
    h->file->name = name;
    h->file->agent->a.name = name;
    return h;
}

static agent_file *load_graph(loader *l, const char *node, const char *name, source_place at)
{
    agent_file *inner = room_for_one(l, at) ? load_one(l, name, at, l->a, load_fmt(l, "%s%s/", l->a->prefix, node)) : NULL;

    if (inner == NULL || doc_get(inner->d, "agent") == NULL)
        return inner;
    fault_at(l->f, at, PAWL_SEVERITY_FAULT, "graph", "%s is an agent, and no graph: say `agent: %s`", inner->path, inner->path);
    return NULL;
}

/* The file, or one that it names as a graph, has a channel of that name: all expressions are compiled at once. */
static bool channel_above(const agent_file *a, const char *name)
{
    bool has = file_channel_find(a, name) != NULL;

    for (size_t i = 0; i < a->nnodes && !has; i++)
        has = a->nodes[i].inner != NULL && channel_above(a->nodes[i].inner, name);
    return has;
}

static void jq_fault(void *to, size_t number, const char *text)
{
    const agent_file *a = to;
    const expression *e = a->jq[number];
    const char *slash = strstr(text, "/0 is not defined");
    char name[64] = "";

    if (slash != NULL && (size_t)(slash - text) < sizeof name)
        memcpy(name, text, (size_t)(slash - text));
    if (*name != '\0' && channel_above(a, name))
        fault_at(a->faults, e->at, PAWL_SEVERITY_FAULT, "expression", "`%.*s`: \"%s\" without a dot is a function of jq: the channel is .%s",
                 shown(e->text, strlen(e->text)), e->text, name, name);
    else
        fault_at(a->faults, e->at, PAWL_SEVERITY_FAULT, "expression", "`%.*s`: %s", shown(e->text, strlen(e->text)), e->text, text);
}

agent_file *file_load(arena *mem, const char *name, const file_reader *reader, faults *f)
{
    loader l = { .mem = mem, .f = f, .reader = reader, .graph = load_graph, .helper = load_helper };
    agent_file *a = load_one(&l, name, (source_place){ name, 1, 1 }, NULL, "");
    pawl_err err = {0};
    pawl_code rc;

    if (a == NULL || a->njq == 0 || reader->compile == NULL)
        return a;
    rc = reader->compile(reader->ctx, a->jq, a->njq, jq_fault, a, &err);
    if (rc != PAWL_OK && rc != PAWL_INVALID)
        fault_at(f, a->jq[0]->at, PAWL_SEVERITY_FAULT, "expression", "%s", err.text);
    return a;
}
