/* build.c - the builder: records declarations, and every mistake for pawl_graph_compile() to report (G1).
 *
 * Called by the author of a graph, on one thread. The graph owns everything in its arena; after compile the machine owns the graph. */
#include "graph/graph.h"
#include "kernel/rights.h"
#include "kernel/frame.h"
#include "kernel/laps.h"
#include "kernel/machine.h"
#include "kernel/names.h"

#include <string.h>

enum { GRAPH_BYTES_FIRST = 2048, MAX_STEPS = 1000, MAX_CALLS = 1000, MAX_TASKS = 100000 };

/* ---- tools -------------------------------------------------------------------------------------- */

static const char *keep(pawl_graph *g, const char *text)
{
    const char *copy = arena_text(&g->mem, text);

    if (copy == NULL && text != NULL)
        g->failed = true;
    return copy;
}

static void *keep_new(pawl_graph *g, size_t size)
{
    void *p = arena_zero(&g->mem, size);

    if (p == NULL)
        g->failed = true;
    return p;
}

/* Grows a vector in the arena; the old one stays in the arena unused. */
static bool keep_room(pawl_graph *g, void **items, size_t *cap, size_t count, size_t size)
{
    size_t more = *cap == 0 ? 8 : *cap * 2;
    void *grown;

    if (count < *cap)
        return true;
    if ((grown = keep_new(g, more * size)) == NULL)
        return false;
    if (count > 0)
        memcpy(grown, *items, count * size);
    *items = grown;
    *cap = more;
    return true;
}

void fault_add(pawl_graph *g, pawl_severity severity, const char *kind, const char *path, const char *fmt, ...)
{
    pawl_err text = {0};
    fault *f = keep_new(g, sizeof *f);
    va_list args;

    va_start(args, fmt);
    failv(&text, PAWL_INVALID, fmt, args);
    va_end(args);
    if (f == NULL)
        return;
    f->f = (pawl_finding){ .severity = severity, .kind = kind, .text = keep(g, text.text), .path = keep(g, path) };
    if (g->last_fault == NULL)
        g->faults = f;
    else
        g->last_fault->next = f;
    g->last_fault = f;
}

int node_index(const pawl_graph *g, const char *name)
{
    uint32_t h, at, i;

    if (name == NULL)
        return -1;
    h = name_hash(name);
    at = hash_index_first(&g->by_name, h);
    while ((i = hash_index_next(&g->by_name, h, &at)) != UINT32_MAX)
        if (strcmp(g->nodes[i]->name, name) == 0)
            return (int)i;
    return -1;
}

machine_channel *graph_channel(const pawl_graph *g, const char *name)
{
    const uint32_t h = name_hash(name);
    uint32_t at = hash_index_first(&g->channel_names, h), i;

    while ((i = hash_index_next(&g->channel_names, h, &at)) != UINT32_MAX)
        if (strcmp(g->channels[i].c.name, name) == 0)
            return &g->channels[i];
    return NULL;
}

gnode *node_find(const pawl_graph *g, const char *name)
{
    int i = node_index(g, name);

    return i < 0 ? NULL : g->nodes[i];
}

gnode *node_search(const pawl_graph *g, task *tk)
{
    char name[NAME_BYTES_MAX + 1];
    gnode *n;

    if (tk->node_size > NAME_BYTES_MAX)
        return NULL;
    memcpy(name, tk->name, tk->node_size);
    name[tk->node_size] = '\0';
    if ((n = node_find(g, name)) == NULL || n->kind == GNODE_START)
        return NULL;
    tk->node_hint = n->index;
    return n;
}

static gnode *node_new(pawl_graph *g, const char *name, gnode_kind kind)
{
    gnode *n;

    if (name == NULL || !keep_room(g, (void **)&g->nodes, &g->nodes_cap, g->nnodes, sizeof *g->nodes))
        return NULL;
    if ((n = keep_new(g, sizeof *n)) == NULL || (n->name = keep(g, name)) == NULL)
        return NULL;
    n->hash = name_hash(name);
    n->size = (uint32_t)strlen(name);
    n->kind = (uint8_t)kind;
    n->index = (uint32_t)g->nnodes;
    if (!hash_index_add(&g->by_name, &g->alloc, n->hash, n->index)) {
        g->failed = true;
        return NULL;
    }
    g->nodes[g->nnodes++] = n;
    return n;
}

static gnode *node_add(pawl_graph *g, const char *name, gnode_kind kind)
{
    if (!name_valid(name)) {
        fault_add(g, PAWL_SEVERITY_FAULT, "bad-name", "", "%s: \"%.80s\" is no name of a node: [A-Za-z0-9_-]{1,64}", g->name, name != NULL ? name : "");
        return NULL;
    }
    if (node_find(g, name) != NULL) {
        fault_add(g, PAWL_SEVERITY_FAULT, "duplicate-node", "", "%s: node \"%s\" is declared twice", g->name, name);
        return NULL;
    }
    return node_new(g, name, kind);
}

/* The node of a declaration, which must be declared before. */
static gnode *node_named(pawl_graph *g, const char *name, const char *what)
{
    gnode *n = g == NULL ? NULL : node_find(g, name);

    if (g != NULL && n == NULL)
        fault_add(g, PAWL_SEVERITY_FAULT, "unknown-node", "", "%s: %s for node \"%.80s\", which is not declared before", g->name, what,
                  name != NULL ? name : "");
    return n;
}

/* ---- a graph ---------------------------------------------------------------------------------------- */

pawl_graph *pawl_graph_new_in(const char *name, uint32_t version, const pawl_alloc *alloc)
{
    pawl_alloc mem = mem_or_default(alloc);
    pawl_graph *g = mem_new(&mem, sizeof *g);

    if (g == NULL)
        return NULL;
    g->alloc = mem;
    arena_init(&g->mem, &mem, GRAPH_BYTES_FIRST);
    g->where = "";
    g->version = version;
    g->essay = true;
    g->max_steps = MAX_STEPS;
    g->max_calls = MAX_CALLS;
    g->max_tasks = MAX_TASKS;
    g->name = keep(g, name_valid(name) ? name : "graph");
    node_new(g, PAWL_START, GNODE_START);
    if (g->failed) {
        pawl_graph_free(g);
        return NULL;
    }
    if (!name_valid(name))
        fault_add(g, PAWL_SEVERITY_FAULT, "bad-name", "", "\"%.80s\" is no name of a graph: [A-Za-z0-9_-]{1,64}", name != NULL ? name : "");
    return g;
}

pawl_graph *pawl_graph_new(const char *name, uint32_t version)
{
    return pawl_graph_new_in(name, version, NULL);
}

void pawl_graph_free(pawl_graph *g)
{
    if (g == NULL)
        return;
    pawl_alloc mem = g->alloc;

    for (size_t i = 0; i < g->nnodes; i++)
        pawl_graph_free(g->nodes[i]->sub);
    hash_index_free(&g->by_name, &mem);
    hash_index_free(&g->channel_names, &mem);
    arena_free(&g->mem);
    mem_free(&mem, g, sizeof *g);
}

/* ---- channels ------------------------------------------------------------------------------------------ */

static void channel_add(pawl_graph *g, const pawl_channel *c)
{
    machine_channel *mc;

    if (graph_channel(g, c->name) != NULL) {
        fault_add(g, PAWL_SEVERITY_FAULT, "duplicate-channel", "", "%s: channel \"%s\" is declared twice", g->name, c->name);
        return;
    }
    if (!keep_room(g, (void **)&g->channels, &g->channels_cap, g->nchannels, sizeof *g->channels))
        return;
    mc = &g->channels[g->nchannels];
    *mc = (machine_channel){ .c = *c, .where = "" };
    mc->c.rule = c->rule == 0 ? PAWL_RULE_LAST : c->rule;
    mc->c.name = keep(g, c->name);
    mc->c.first = keep(g, c->first);
    mc->c.secret = keep(g, c->secret);
    g->failed = g->failed || !hash_index_add(&g->channel_names, &g->alloc, name_hash(mc->c.name), (uint32_t)g->nchannels);
    if (!g->failed)
        g->nchannels++;
}

void pawl_graph_channel_with(pawl_graph *g, const pawl_channel *c)
{
    if (g == NULL)
        return;
    if (c == NULL || !channel_name_valid(c->name)) {
        fault_add(g, PAWL_SEVERITY_FAULT, "bad-name", "", "%s: \"%.80s\" is no name of a channel: [A-Za-z0-9_-]{1,64}", g->name,
                  c != NULL && c->name != NULL ? c->name : "");
        return;
    }
    if (c->rule > PAWL_RULE_CUSTOM || (int)c->rule < 0 || (c->rule == PAWL_RULE_CUSTOM) != (c->merge != NULL)) {
        fault_add(g, PAWL_SEVERITY_FAULT, "bad-rule", "", "%s: channel \"%s\": a rule, and a function exactly with PAWL_RULE_CUSTOM", g->name, c->name);
        return;
    }
    g->essay = false;
    channel_add(g, c);
}

void pawl_graph_channel(pawl_graph *g, const char *name, pawl_rule rule)
{
    const pawl_channel c = { .name = name, .rule = rule };

    pawl_graph_channel_with(g, &c);
}

void pawl_graph_fields(pawl_graph *g, const pawl_field *fields, size_t n)
{
    for (size_t i = 0; i < n; i++)
        pawl_graph_channel_with(g, &fields[i].channel);
}

void pawl_graph_input(pawl_graph *g, const char *name, ...)
{
    va_list args;

    if (g == NULL)
        return;
    va_start(args, name);
    for (; name != NULL; name = va_arg(args, const char *)) {
        const pawl_channel c = { .name = name };

        if (name_valid(name))
            channel_add(g, &c);
        else
            pawl_graph_channel_with(g, &c);
    }
    va_end(args);
}

/* ---- nodes ------------------------------------------------------------------------------------------------ */

void pawl_graph_node(pawl_graph *g, const char *name, pawl_node_fn *fn, void *arg)
{
    gnode *n = g == NULL ? NULL : node_add(g, name, GNODE_PURE);

    if (n == NULL)
        return;
    if (fn == NULL)
        fault_add(g, PAWL_SEVERITY_FAULT, "no-function", "", "%s: node \"%s\" has no function", g->name, name);
    n->fn = fn;
    n->arg = arg;
}

void pawl_graph_work(pawl_graph *g, const char *name, const char *effect)
{
    gnode *n = g == NULL ? NULL : node_add(g, name, GNODE_WORK);

    if (n == NULL)
        return;
    if (!name_valid(effect))
        fault_add(g, PAWL_SEVERITY_FAULT, "bad-name", "", "%s: node \"%s\": \"%.80s\" is no name of an effect", g->name, name, effect != NULL ? effect : "");
    n->effect = keep(g, effect);
}

void pawl_graph_sub(pawl_graph *g, const char *name, pawl_graph *inner)
{
    gnode *n = g == NULL ? NULL : node_add(g, name, GNODE_SUB);

    if (n == NULL) {
        pawl_graph_free(inner);
        return;
    }
    if (inner == NULL)
        fault_add(g, PAWL_SEVERITY_FAULT, "no-graph", "", "%s: node \"%s\" has no graph", g->name, name);
    n->sub = inner;
}

void pawl_graph_map(pawl_graph *g, const char *sub, const char *outer, const char *inner, bool in, bool out)
{
    gnode *n = node_named(g, sub, "a map");
    map *m;

    if (n == NULL)
        return;
    if (n->kind != GNODE_SUB) {
        fault_add(g, PAWL_SEVERITY_FAULT, "no-graph", "", "%s: a map for node \"%s\", which is no subgraph", g->name, sub);
        return;
    }
    if ((m = keep_new(g, sizeof *m)) == NULL)
        return;
    *m = (map){ .outer = keep(g, outer != NULL ? outer : ""), .inner = keep(g, inner != NULL ? inner : outer != NULL ? outer : ""), .in = in, .out = out };
    if (n->maps == NULL) {
        n->maps = m;
    } else {
        map *last = n->maps;

        while (last->next != NULL)
            last = last->next;
        last->next = m;
    }
}

/* ---- ways on --------------------------------------------------------------------------------------------------- */

/* The source of an edge must be declared before the edge; its target may follow later. */
static way *way_add(pawl_graph *g, const char *from, way_kind kind)
{
    gnode *n = g == NULL ? NULL : node_find(g, from);
    way *w;

    if (g == NULL)
        return NULL;
    if (n == NULL) {
        fault_add(g, PAWL_SEVERITY_FAULT, "unknown-source", "", "%s: an edge or route from \"%.80s\", which is not declared before as a node", g->name,
            from != NULL ? from : "");
        return NULL;
    }
    if ((w = keep_new(g, sizeof *w)) == NULL)
        return NULL;
    w->kind = kind;
    if (n->last_way == NULL)
        n->ways = w;
    else
        n->last_way->next = w;
    n->last_way = w;
    n->has_routes = n->has_routes || kind != WAY_EDGE;
    return w;
}

void pawl_graph_edge(pawl_graph *g, const char *from, const char *to)
{
    way *w = way_add(g, from, WAY_EDGE);

    if (w != NULL)
        w->to = keep(g, to != NULL ? to : "");
}

void pawl_graph_chain(pawl_graph *g, const char *from, const char *to, ...)
{
    va_list args;

    va_start(args, to);
    for (; to != NULL; to = va_arg(args, const char *)) {
        pawl_graph_edge(g, from, to);
        from = to;
    }
    va_end(args);
}

void pawl_graph_sequence(pawl_graph *g, const pawl_sequence *nodes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        pawl_graph_node(g, nodes[i].name, nodes[i].fn, nodes[i].arg);
    for (size_t i = 0; i < n; i++)
        pawl_graph_edge(g, i == 0 ? PAWL_START : nodes[i - 1].name, nodes[i].name);
    if (n > 0)
        pawl_graph_edge(g, nodes[n - 1].name, PAWL_END);
}

static const char **names_keep(pawl_graph *g, const char **names, uint32_t *count, const char *name)
{
    const uint32_t n = *count;

    if ((n & (n - 1)) == 0) {       /* full: the capacity is a power of two */
        const char **grown = keep_new(g, (n == 0 ? 1 : (size_t)n * 2) * sizeof *grown);

        if (grown == NULL)
            return names;
        if (n > 0)
            memcpy(grown, names, n * sizeof *grown);
        names = grown;
    }
    names[(*count)++] = keep(g, name);
    return names;
}

static way *route_add(pawl_graph *g, const char *from, pawl_route_fn *fn, void *arg, const char *otherwise)
{
    way *w = way_add(g, from, WAY_ROUTE);

    if (w == NULL)
        return NULL;
    if (fn == NULL)
        fault_add(g, PAWL_SEVERITY_FAULT, "no-function", "", "%s: a route from \"%s\" without a function", g->name, from);
    w->route = fn;
    w->arg = arg;
    w->otherwise = keep(g, otherwise);
    return w;
}

void pawl_graph_route(pawl_graph *g, const char *from, pawl_route_fn *fn, void *arg, const char *otherwise, ...)
{
    way *w = route_add(g, from, fn, arg, otherwise);
    const char *to;
    va_list args;

    va_start(args, otherwise);
    while (w != NULL && (to = va_arg(args, const char *)) != NULL)
        w->targets = names_keep(g, w->targets, &w->ntargets, to);
    va_end(args);
}

void pawl_graph_route_of(pawl_graph *g, const char *from, pawl_route_fn *fn, void *arg, const char *otherwise, const char *const *to, size_t n)
{
    way *w = route_add(g, from, fn, arg, otherwise);

    for (size_t i = 0; w != NULL && i < n; i++)
        w->targets = names_keep(g, w->targets, &w->ntargets, to[i]);
}

void pawl_graph_when(pawl_graph *g, const char *from, pawl_when_fn *fn, void *arg, const char *to)
{
    way *w = way_add(g, from, WAY_WHEN);

    if (w == NULL)
        return;
    w->when = fn;
    w->arg = arg;
    w->to = keep(g, to != NULL ? to : "");
}

void pawl_graph_goto(pawl_graph *g, const char *from, const char *to, ...)
{
    gnode *n = node_named(g, from, "targets");
    va_list args;

    va_start(args, to);
    for (; n != NULL && to != NULL; to = va_arg(args, const char *))
        n->gotos = names_keep(g, n->gotos, &n->ngotos, to);
    va_end(args);
}

void graph_goto_after(pawl_graph *g, const char *node, bool no, const char *to)
{
    gnode *n = node_named(g, node, "targets");

    pawl_graph_goto(g, node, to, NULL);
    if (n != NULL)
        *(no ? &n->no_to : &n->error_to) = keep(g, to);
}

void pawl_graph_writes(pawl_graph *g, const char *node, const char *name, ...)
{
    gnode *n = node_named(g, node, "a writer");
    va_list args;

    va_start(args, name);
    for (; n != NULL && name != NULL; name = va_arg(args, const char *))
        n->writes = names_keep(g, n->writes, &n->nwrites, name);
    va_end(args);
}

void pawl_graph_join_of(pawl_graph *g, const char *to, const char *const *from, size_t n, size_t k, pawl_join_rest rest)
{
    join *j = g == NULL ? NULL : keep_new(g, sizeof *j);
    buf name;

    if (j == NULL)
        return;
    buf_init(&name, &g->alloc);
    j->to = keep(g, to != NULL ? to : "");
    for (size_t i = 0; i < n; i++) {
        j->from = names_keep(g, j->from, &j->nfrom, from[i] != NULL ? from[i] : "");
        if (i > 0)
            buf_char(&name, '+');
        buf_text(&name, from[i] != NULL ? from[i] : "");
    }
    j->k = k == 0 ? (uint32_t)n : k > n ? UINT32_MAX : (uint32_t)k;
    j->rest = (uint8_t)rest;
    j->at = keep_new(g, (n + 1) * sizeof *j->at);
    buf_char(&name, ':');
    buf_text(&name, j->to != NULL ? j->to : "");
    buf_char(&name, '\0');
    j->name = name.failed ? NULL : keep(g, name.data);
    g->failed = g->failed || j->name == NULL;
    buf_free(&name);
    if (g->last_join == NULL)
        g->joins = j;
    else
        g->last_join->next = j;
    g->last_join = j;
}

enum { JOIN_SOURCES_MAX = 256 };

void pawl_graph_join(pawl_graph *g, const char *to, const char *from, ...)
{
    const char *sources[JOIN_SOURCES_MAX];
    size_t n = 0;
    va_list args;

    va_start(args, from);
    for (; from != NULL && n < JOIN_SOURCES_MAX; from = va_arg(args, const char *))
        sources[n++] = from;
    va_end(args);
    if (g != NULL && from != NULL)
        fault_add(g, PAWL_SEVERITY_FAULT, "limit", "", "%s: a join of more than %d sources: use pawl_graph_join_of", g->name, JOIN_SOURCES_MAX);
    pawl_graph_join_of(g, to, sources, n, 0, PAWL_JOIN_IGNORES_REST);
}

/* ---- pauses, hooks, limits ------------------------------------------------------------------------------------------ */

void pawl_graph_gate(pawl_graph *g, const char *node, const char *prompt)
{
    gnode *n = node_named(g, node, "a gate");

    if (n != NULL)
        n->gate = keep(g, prompt != NULL ? prompt : "Go on?");
}

void pawl_graph_gate_no(pawl_graph *g, const char *node, const char *to)
{
    gnode *n = node_named(g, node, "a gate's no");

    if (n != NULL)
        n->gate_no = keep(g, to);
}

void pawl_graph_gate_waits(pawl_graph *g, const char *node)
{
    gnode *n = node_named(g, node, "a gate's no");

    if (n != NULL)
        n->gate_waits = true;
}

void pawl_graph_interrupt_before(pawl_graph *g, const char *node)
{
    gnode *n = node_named(g, node, "an interrupt");

    if (n != NULL)
        n->before = true;
}

void pawl_graph_interrupt_after(pawl_graph *g, const char *node)
{
    gnode *n = node_named(g, node, "an interrupt");

    if (n != NULL)
        n->after = true;
}

void pawl_graph_modes(pawl_graph *g, pawl_mode_gate otherwise)
{
    static const pawl_channel own[] = { { .name = "@mode" }, { .name = "@rights", .rule = PAWL_RULE_UNION } };

    if (g == NULL)
        return;
    g->mode_denies = otherwise == PAWL_GATE_DENIES;
    for (size_t i = 0; !g->modes && i < sizeof own / sizeof *own; i++)
        channel_add(g, &own[i]);
    g->modes = true;
}

void pawl_graph_requires(pawl_graph *g, const char *node, const char *mode)
{
    gnode *n = node_named(g, node, "a mode");

    if (n == NULL)
        return;
    n->requires = (uint8_t)mode_ranked(mode);
    if (n->requires == RANK_NONE)
        fault_add(g, PAWL_SEVERITY_FAULT, "bad-mode", "",
                  "%s: node \"%s\" requires \"%.40s\", which is none of plan, default, acceptEdits, bypassPermissions", g->name,
                  n->name, mode != NULL ? mode : "");
}

static void hook_add(pawl_graph *g, const char *node, pawl_phase phase, const char *effect, bool state)
{
    gnode *n = node == NULL || g == NULL ? NULL : node_named(g, node, "a hook");
    hook *h;

    if (g == NULL || (node != NULL && n == NULL))
        return;
    if (!name_valid(effect) || (phase != PAWL_PHASE_BEFORE && phase != PAWL_PHASE_AFTER)) {
        fault_add(g, PAWL_SEVERITY_FAULT, "bad-name", "", "%s: a hook \"%.80s\": a name of an effect, and a phase", g->name, effect != NULL ? effect : "");
        return;
    }
    if ((h = keep_new(g, sizeof *h)) == NULL)
        return;
    h->effect = keep(g, effect);
    h->phase = (uint8_t)phase;
    h->state = state;
    hook **first = n != NULL ? &n->hooks : &g->hooks, **last = n != NULL ? &n->last_hook : &g->last_hook;
    if (*last == NULL)
        *first = h;
    else
        (*last)->next = h;
    *last = h;
}

void pawl_graph_hook(pawl_graph *g, const char *node, pawl_phase phase, const char *effect) { hook_add(g, node, phase, effect, false); }
void pawl_graph_hook_state(pawl_graph *g, const char *node, pawl_phase phase, const char *effect) { hook_add(g, node, phase, effect, true); }

void pawl_graph_effect(pawl_graph *g, const char *effect, const pawl_limits *limits)
{
    effect_decl *e;

    if (g == NULL)
        return;
    if (!name_valid(effect)) {
        fault_add(g, PAWL_SEVERITY_FAULT, "bad-name", "", "%s: \"%.80s\" is no name of an effect", g->name, effect != NULL ? effect : "");
        return;
    }
    if (!keep_room(g, (void **)&g->effects, &g->effects_cap, g->neffects, sizeof *g->effects))
        return;
    e = &g->effects[g->neffects++];
    *e = (effect_decl){ .name = keep(g, effect), .limits = limits != NULL ? *limits : (pawl_limits){0} };
    e->limits.inverse = e->limits.inverse != NULL ? keep(g, e->limits.inverse) : NULL;
    e->limits.on_unknown = e->limits.on_unknown != NULL ? keep(g, e->limits.on_unknown) : NULL;
}

void pawl_graph_retry(pawl_graph *g, const char *node, const pawl_retry *retry)
{
    gnode *n = node == NULL || g == NULL ? NULL : node_named(g, node, "a retry");

    if (g == NULL || retry == NULL || (node != NULL && n == NULL))
        return;
    if (n != NULL)
        n->retry = *retry, n->has_retry = true;
    else
        g->retry = *retry, g->has_retry = true;
}

void pawl_graph_timeout(pawl_graph *g, const char *node, uint32_t attempt_ms, uint32_t total_ms)
{
    gnode *n = node == NULL || g == NULL ? NULL : node_named(g, node, "a timeout");

    if (n != NULL)
        n->attempt_ms = attempt_ms, n->total_ms = total_ms, n->has_limits = true;
    else if (g != NULL && node == NULL)
        g->attempt_ms = attempt_ms, g->total_ms = total_ms;
}

void pawl_graph_defer(pawl_graph *g, const char *node)
{
    gnode *n = node_named(g, node, "a defer");

    if (n != NULL)
        n->defer = true;
}

void pawl_graph_note(pawl_graph *g, const char *node, const char *note)
{
    gnode *n = node_named(g, node, "a note");

    if (n != NULL)
        n->note = keep(g, note);
}

void pawl_graph_source(pawl_graph *g, pawl_bytes source)
{
    char hex[HASH_HEX + 1];
    hash h;

    if (g == NULL)
        return;
    hash_of(source.data, source.size, &h);
    hash_hex(&h, hex);
    g->source = keep(g, hex);
}

void pawl_graph_turns(pawl_graph *g, const char *prompt)
{
    if (g != NULL)
        g->turns = keep(g, prompt != NULL ? prompt : "");
}

void pawl_graph_max_steps(pawl_graph *g, uint32_t n) { if (g != NULL) g->max_steps = n > 0 ? n : MAX_STEPS; }
void pawl_graph_max_concurrency(pawl_graph *g, uint32_t n) { if (g != NULL) g->max_concurrency = n; }
void pawl_graph_max_calls(pawl_graph *g, uint32_t n) { if (g != NULL) g->max_calls = n > 0 ? n : MAX_CALLS; }
void pawl_graph_max_tasks(pawl_graph *g, uint32_t n) { if (g != NULL) g->max_tasks = n > 0 ? n : MAX_TASKS; }

void graph_shows_undo(pawl_graph *g) { if (g != NULL) g->shows_undo = true; }
void graph_settles(pawl_graph *g) { if (g != NULL) g->settles = true; }
void graph_patterns(pawl_graph *g) { if (g != NULL) g->patterns = true; }

void pawl_graph_no_progress(pawl_graph *g, uint32_t n)
{
    if (g == NULL)
        return;
    if (n > NO_PROGRESS_MAX)
        fault_add(g, PAWL_SEVERITY_FAULT, "range", "", "%s: no_progress is %lu: up to %d is possible", g->name, (unsigned long)n, NO_PROGRESS_MAX);
    g->no_progress = n;
}
