/* compile.c - compiles a graph to a machine: reports all faults at once, fills in defaults, computes the hash (G1, F5).
 *
 * Called by the author of a graph, once, on one thread. Invariant: a graph with a fault becomes no machine. */
#include "graph/graph.h"
#include "kernel/rights.h"
#include "kernel/machine.h"

#include <string.h>

enum { SUBGRAPH_DEPTH_MAX = 8 };        /* graphs inside each other: the path of a task stays under PATH_BYTES_MAX */

/* ---- the machine ----------------------------------------------------------------------------- */

static void graph_machine_free(pawl_machine *m)
{
    pawl_alloc mem = m->alloc;
    graph_machine *gm = (graph_machine *)m;

    pawl_graph_free(gm->g);
    mem_free(&mem, gm, sizeof *gm);
}

static const machine_ops graph_ops = { graph_drive, graph_machine_free, graph_kind };

/* ---- names, tables, places ------------------------------------------------------------------------------ */

typedef struct compiling {
    pawl_graph *root;
    pawl_report *report;
    machine_channel *channels;
    size_t nchannels;
    effect_decl *effects;       /* by name */
    size_t neffects;
} compiling;

/* In a graph without declared channels, nodes and inputs declare them. */
static bool compile_essay(pawl_graph *g)
{
    size_t given = g->nchannels;
    machine_channel *all;

    if (!g->essay)
        return true;
    if ((all = arena_get(&g->mem, (given + g->nnodes) * sizeof *all)) == NULL)
        return false;
    if (given > 0)
        memcpy(all, g->channels, given * sizeof *all);
    g->channels = all;
    g->channels_cap = given + g->nnodes;
    for (size_t i = 1; i < g->nnodes; i++) {
        const char *name = g->nodes[i]->name;

        if (graph_channel(g, name) != NULL)
            continue;
        if (!hash_index_add(&g->channel_names, &g->alloc, g->nodes[i]->hash, (uint32_t)g->nchannels))
            return false;
        all[g->nchannels++] = (machine_channel){ .c = { .name = name, .rule = PAWL_RULE_LAST }, .where = "" };
    }
    return true;
}

static const char *compile_where(pawl_graph *g, const char *name)
{
    size_t n = strlen(g->where), m = strlen(name);
    char *where = arena_get(&g->mem, n + m + 2);

    if (where == NULL)
        return NULL;
    memcpy(where, g->where, n);
    if (n > 0)
        where[n++] = '/';
    memcpy(where + n, name, m + 1);
    return where;
}

/* False: no memory, in this graph or a subgraph (g->failed). */
static bool compile_fill(compiling *c, pawl_graph *g, unsigned depth)
{
    bool good = !g->failed && compile_essay(g);

    for (size_t i = 0; good && i < g->nnodes; i++) {
        gnode *n = g->nodes[i];

        if (n->sub == NULL)
            continue;
        if (depth >= SUBGRAPH_DEPTH_MAX) {
            report_printf(c->report, PAWL_SEVERITY_FAULT, "limit", "", "%s: node \"%s\": more than %d graphs inside each other", c->root->name,
                       n->name, SUBGRAPH_DEPTH_MAX);
            return true;        /* ends the recursion; the fault is reported */
        }
        good = (n->sub->where = compile_where(g, n->name)) != NULL && compile_fill(c, n->sub, depth + 1);
    }
    for (size_t i = 0; good && i < g->nchannels; i++)
        g->channels[i].where = g->where;
    return good;
}

/* ---- channels and effects of all graphs ------------------------------------------------------------------ */

static void compile_count(const pawl_graph *g, size_t *channels, size_t *effects)
{
    *channels += g->nchannels;
    *effects += g->neffects;
    for (size_t i = 0; i < g->nnodes; i++)
        if (g->nodes[i]->sub != NULL)
            compile_count(g->nodes[i]->sub, channels, effects);
}

static bool same_retry(const pawl_retry *a, const pawl_retry *b)
{
    return a->max_attempts == b->max_attempts && a->initial_ms == b->initial_ms && a->max_ms == b->max_ms &&
           a->factor == b->factor && a->jitter == b->jitter;
}

static bool same_name(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool same_cost(const pawl_cost *a, const pawl_cost *b)
{
    return a->calls == b->calls && a->micros == b->micros && a->tokens == b->tokens;
}

static bool same_limits(const pawl_limits *a, const pawl_limits *b)
{
    return same_name(a->inverse, b->inverse) && same_name(a->on_unknown, b->on_unknown) && a->cls == b->cls &&
           same_cost(&a->cost, &b->cost) && same_retry(&a->retry, &b->retry) && a->attempt_timeout_ms == b->attempt_timeout_ms &&
           a->total_timeout_ms == b->total_timeout_ms && a->heartbeat_ms == b->heartbeat_ms;
}

static void compile_effect(compiling *c, const pawl_graph *g, const effect_decl *e)
{
    size_t at = c->neffects;

    for (size_t i = 0; i < c->neffects; i++) {
        if (strcmp(c->effects[i].name, e->name) != 0)
            continue;
        if (!same_limits(&c->effects[i].limits, &e->limits))
            report_printf(c->report, PAWL_SEVERITY_FAULT, "effect-conflict", "", "%s%s%s: effect \"%s\": it has other limits elsewhere",
                       c->root->name, *g->where != '\0' ? "/" : "", g->where, e->name);
        return;
    }
    for (; at > 0 && strcmp(c->effects[at - 1].name, e->name) > 0; at--)
        c->effects[at] = c->effects[at - 1];
    c->effects[at] = *e;
    c->neffects++;
}

static void compile_collect(compiling *c, const pawl_graph *g)
{
    for (size_t i = 0; i < g->nchannels; i++)
        c->channels[c->nchannels++] = g->channels[i];
    for (size_t i = 0; i < g->neffects; i++)
        compile_effect(c, g, &g->effects[i]);
    for (size_t i = 0; i < g->nnodes; i++)
        if (g->nodes[i]->sub != NULL)
            compile_collect(c, g->nodes[i]->sub);
}

/* ---- defaults: only in a graph without a fault ------------------------------------------------------------ */

/* Puts the graph's hooks before each node's own. */
static bool compile_hooks(pawl_graph *g, gnode *n)
{
    hook *own = n->hooks, **at = &n->hooks;

    for (const hook *h = g->hooks; h != NULL; h = h->next) {
        hook *copy = arena_get(&g->mem, sizeof *copy);

        if (copy == NULL)
            return false;
        *copy = *h;
        *at = n->last_hook = copy;
        at = &copy->next;
    }
    *at = own;
    for (hook *h = own; h != NULL; h = h->next)
        n->last_hook = h;
    return true;
}

/* The limits of a work node's command: from the node or its graph, else from the declaration of the effect in any graph. */
static void compile_limits(const compiling *c, gnode *n)
{
    for (size_t i = 0; i < c->neffects; i++)
        if (strcmp(c->effects[i].name, n->effect) == 0)
            n->limits = c->effects[i].limits;
    if (n->has_retry)
        n->limits.retry = n->retry;
    if (n->has_limits)
        n->limits.attempt_timeout_ms = n->attempt_ms, n->limits.total_timeout_ms = n->total_ms;
}

static bool compile_node(const compiling *c, pawl_graph *g, gnode *n)
{
    if (!compile_hooks(g, n))
        return false;
    if (!n->has_retry && g->has_retry)
        n->retry = g->retry, n->has_retry = true;
    if (!n->has_limits && (g->attempt_ms > 0 || g->total_ms > 0))
        n->attempt_ms = g->attempt_ms, n->total_ms = g->total_ms, n->has_limits = true;
    if (n->kind == GNODE_WORK)
        compile_limits(c, n);
    else if (n->has_limits)     /* a default for commands whose effect declares no limits */
        n->limits.attempt_timeout_ms = n->attempt_ms, n->limits.total_timeout_ms = n->total_ms;
    n->asks = n->kind == GNODE_WORK || n->kind == GNODE_SUB || n->gate != NULL || n->before || n->hooks != NULL;
    return true;
}

/* Computes the flags that let frequent supersteps skip checks. */
static void compile_plain(pawl_graph *g)
{
    g->plain = g->joins == NULL;
    for (size_t i = 0; i < g->nchannels; i++)
        g->plain = g->plain && g->channels[i].c.rule != PAWL_RULE_CUSTOM;
    for (size_t i = 0; i < g->nnodes; i++) {
        gnode *n = g->nodes[i];

        g->plain = g->plain && !n->defer && !n->after;
        g->holds = g->holds || n->after;
        g->asks = g->asks || n->asks;
        g->has_routes = g->has_routes || n->has_routes;
        n->plain = n->ways != NULL && n->ways->next == NULL && n->ways->kind == WAY_EDGE;
        n->bare = n->kind == GNODE_PURE && n->hooks == NULL && n->gate == NULL && !n->before && !n->has_retry && !n->has_limits && !g->modes;
        for (way *w = n->ways; w != NULL; w = w->next)
            if (w->kind == WAY_EDGE && node_index(g, w->to) > 0)
                w->index = (uint32_t)node_index(g, w->to);
    }
    for (join *j = g->joins; j != NULL; j = j->next) {
        for (uint32_t i = 0; i < j->nfrom; i++)
            j->at[i] = (uint32_t)node_index(g, j->from[i]);
        j->to_at = (uint32_t)node_index(g, j->to);
    }
}

static bool compile_nodes(const compiling *c, pawl_graph *g)
{
    g->modes = c->root->modes;
    g->mode_denies = c->root->mode_denies;
    for (size_t i = START_INDEX + 1; i < g->nnodes; i++)
        if (!compile_node(c, g, g->nodes[i]) || (g->nodes[i]->sub != NULL && !compile_nodes(c, g->nodes[i]->sub)))
            return false;
    compile_plain(g);
    return joins_prepare(g);
}

static bool has_settling(const pawl_graph *g)
{
    bool any = g->settles;

    for (size_t i = START_INDEX + 1; i < g->nnodes && !any; i++)
        any = g->nodes[i]->sub != NULL && has_settling(g->nodes[i]->sub);
    return any;
}

/* A join with rounds: not all of its sources are needed, and its target leads back to one. joins_prepare() has found out. */
static bool has_rounds(const pawl_graph *g)
{
    bool any = false;

    for (const join *j = g->joins; j != NULL && !any; j = j->next)
        for (uint32_t i = 0; i < j->nfrom && j->again != NULL; i++)
            any = any || j->again[i];
    for (size_t i = START_INDEX + 1; i < g->nnodes && !any; i++)
        any = g->nodes[i]->sub != NULL && has_rounds(g->nodes[i]->sub);
    return any;
}

/* ---- the definition as canonical text: what the hash is of ---------------------------------------------- */
/* Keys are sorted bytewise. Functions have no stable bytes; the author's version number represents them. Members that only pawl_graph_check() reads
 * (writes) are left out, since they change no run. */

static void code_text(buf *b, const char *text)
{
    if (text == NULL)
        buf_text(b, "null");
    else
        canon_string(b, text, strlen(text));
}

static void code_names(buf *b, const char *const *names, uint32_t n)
{
    buf_char(b, '[');
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0)
            buf_char(b, ',');
        code_text(b, names[i]);
    }
    buf_char(b, ']');
}

static void code_hooks(buf *b, const hook *h)
{
    buf_text(b, ",\"hooks\":[");
    for (const hook *at = h; at != NULL; at = at->next) {
        buf_text(b, at == h ? "[" : ",[");
        buf_text(b, at->phase == PAWL_PHASE_BEFORE ? "\"before\"," : "\"after\",");
        code_text(b, at->effect);
        if (at->state)
            buf_text(b, ",\"state\"");
        buf_char(b, ']');
    }
    buf_char(b, ']');
}

static void code_maps(buf *b, const map *m)
{
    buf_text(b, ",\"maps\":[");
    for (const map *at = m; at != NULL; at = at->next) {
        buf_text(b, at == m ? "[" : ",[");
        code_text(b, at->outer);
        buf_char(b, ',');
        code_text(b, at->inner);
        buf_fmt(b, ",%s,%s]", at->in ? "true" : "false", at->out ? "true" : "false");
    }
    buf_char(b, ']');
}

static void code_ways(buf *b, const way *w)
{
    buf_text(b, ",\"ways\":[");
    for (const way *at = w; at != NULL; at = at->next) {
        buf_text(b, at == w ? "[" : ",[");
        switch (at->kind) {
        case WAY_EDGE:
            buf_text(b, "\"edge\",");
            break;
        case WAY_WHEN:
            buf_text(b, at->when != NULL ? "\"when\"," : "\"else\",");
            break;
        case WAY_ROUTE:
            buf_text(b, "\"route\",");
            code_names(b, at->targets, at->ntargets);
            buf_char(b, ',');
            break;
        }
        code_text(b, at->kind == WAY_ROUTE ? at->otherwise : at->to);
        buf_char(b, ']');
    }
    buf_char(b, ']');
}

static void code_graph(buf *b, const pawl_graph *g);

static void code_node(buf *b, const gnode *n)
{
    static const char *const kinds[] = { "start", "pure", "work", "graph" };

    buf_fmt(b, "{\"after\":%s,\"before\":%s,\"defer\":%s", n->after ? "true" : "false", n->before ? "true" : "false",
            n->defer ? "true" : "false");
    buf_text(b, ",\"effect\":");
    code_text(b, n->effect);
    buf_text(b, ",\"gate\":");
    code_text(b, n->gate);
    buf_text(b, ",\"gate_no\":");
    code_text(b, n->gate_no);
    if (n->gate_waits)
        buf_text(b, ",\"gate_waits\":true");       /* only where it is so: the hash of other graphs stays */
    buf_text(b, ",\"goto\":");
    code_names(b, n->gotos, n->ngotos);
    if (n->sub != NULL) {
        buf_text(b, ",\"graph\":");
        code_graph(b, n->sub);
    }
    code_hooks(b, n->hooks);
    buf_fmt(b, ",\"kind\":\"%s\"", kinds[n->kind]);
    if (n->kind == GNODE_WORK) {
        buf_text(b, ",\"limits\":");
        limits_code(b, &n->limits);
    }
    code_maps(b, n->maps);
    buf_text(b, ",\"name\":");
    code_text(b, n->name);
    if (n->requires != RANK_NONE)
        buf_fmt(b, ",\"requires\":\"%s\"", mode_text((mode_rank)n->requires));
    if (n->has_retry) {
        buf_text(b, ",\"retry\":");
        retry_code(b, &n->retry);
    }
    if (n->has_limits)
        buf_fmt(b, ",\"timeouts\":[%lu,%lu]", (unsigned long)n->attempt_ms, (unsigned long)n->total_ms);
    code_ways(b, n->ways);
    buf_char(b, '}');
}

static void code_graph(buf *b, const pawl_graph *g)
{
    buf_text(b, "{\"joins\":[");
    for (const join *j = g->joins; j != NULL; j = j->next) {
        buf_text(b, j == g->joins ? "[" : ",[");
        code_names(b, j->from, j->nfrom);
        buf_fmt(b, ",%lu,%s,", (unsigned long)j->k, j->rest == PAWL_JOIN_CANCELS_REST ? "true" : "false");
        code_text(b, j->to);
        buf_char(b, ']');
    }
    buf_fmt(b, "],\"max\":{\"calls\":%lu,\"concurrency\":%lu,\"steps\":%lu,\"tasks\":%lu},\"name\":", (unsigned long)g->max_calls,
            (unsigned long)g->max_concurrency, (unsigned long)g->max_steps, (unsigned long)g->max_tasks);
    code_text(b, g->name);
    if (g->modes && *g->where == '\0')
        buf_fmt(b, ",\"modes\":\"%s\"", g->mode_denies ? "deny" : "ask");
    if (g->no_progress > 0)
        buf_fmt(b, ",\"no_progress\":%lu", (unsigned long)g->no_progress);
    buf_text(b, ",\"nodes\":[");
    for (size_t i = 0; i < g->nnodes; i++) {
        if (i > 0)
            buf_char(b, ',');
        code_node(b, g->nodes[i]);
    }
    if (g->source != NULL) {
        buf_text(b, "],\"source\":");
        code_text(b, g->source);
        buf_text(b, ",\"turns\":");
    } else {
        buf_text(b, "],\"turns\":");
    }
    code_text(b, g->turns);
    buf_fmt(b, ",\"version\":%lu}", (unsigned long)g->version);
}

static bool compile_hash(pawl_machine *m, const pawl_graph *g)
{
    buf b;
    bool good;

    buf_init(&b, &g->alloc);
    buf_text(&b, "{\"channels\":");
    buf_text(&b, m->channel_json);
    buf_text(&b, ",\"effects\":[");
    for (uint32_t i = 0; i < m->neffects; i++) {
        buf_text(&b, i > 0 ? ",[" : "[");
        code_text(&b, m->effects[i].name);
        buf_char(&b, ',');
        limits_code(&b, &m->effects[i].limits);
        buf_char(&b, ']');
    }
    buf_text(&b, "],\"graph\":");
    code_graph(&b, g);
    buf_char(&b, '}');
    good = !b.failed;
    if (good) {
        hash_of(b.data, b.size, &m->hash);
        hash_hex(&m->hash, m->hash_hex);
    }
    buf_free(&b);
    return good;
}

/* ---- compile ---------------------------------------------------------------------------------------------- */

/* A node of it or of a graph in it requires a mode, or a graph in it has modes. */
static bool has_requires(const pawl_graph *g, unsigned depth)
{
    for (size_t i = 0; i < g->nnodes; i++)
        if (g->nodes[i]->requires != RANK_NONE ||
            (g->nodes[i]->sub != NULL && depth < SUBGRAPH_DEPTH_MAX && (g->nodes[i]->sub->modes || has_requires(g->nodes[i]->sub, depth + 1))))
            return true;
    return false;
}

/* Resolves names, collects channels and effects, and validates. False: no memory. */
static bool compile_shape(compiling *c)
{
    pawl_graph *g = c->root;
    size_t channels = 0, effects = 0;

    if (!g->modes && has_requires(g, 0))
        pawl_graph_modes(g, PAWL_GATE_ASKS);
    if (!compile_fill(c, g, 0))
        return false;
    if (c->report->count > 0)
        return true;
    if (!graph_validate(g, g->name, c->report))
        return false;
    compile_count(g, &channels, &effects);
    c->channels = arena_get(&g->mem, (channels + 1) * sizeof *c->channels);
    c->effects = arena_get(&g->mem, (effects + 1) * sizeof *c->effects);
    if (c->channels == NULL || c->effects == NULL)
        return false;
    compile_collect(c, g);
    return true;
}

/* The graph has no fault, so names, first values and classes are valid. */
static pawl_machine *compile_machine(const compiling *c)
{
    pawl_graph *g = c->root;
    graph_machine *gm = mem_new(&g->alloc, sizeof *gm);
    pawl_machine *m;

    if (gm == NULL)
        return NULL;
    m = &gm->m;
    *m = (pawl_machine){ .ops = &graph_ops, .alloc = g->alloc, .name = g->name, .version = g->version, .channels = c->channels,
                         .nchannels = (uint32_t)c->nchannels, .effects = c->effects, .neffects = (uint32_t)c->neffects,
                         .no_progress = g->no_progress, .turns = g->turns != NULL, .modes = g->modes,
                         .patterns = g->patterns, .settles = has_settling(g) };
    for (uint32_t i = 0; i < m->neffects; i++)
        m->shows_undo = m->shows_undo || (g->shows_undo && m->effects[i].limits.inverse != NULL);
    gm->g = g;
    m->channel_json = compile_nodes(c, g) ? channels_code(&g->mem, c->channels, c->nchannels, NULL) : NULL;
    m->rounds = m->settles || has_rounds(g);
    if (m->channel_json == NULL || !compile_hash(m, g)) {
        mem_free(&g->alloc, gm, sizeof *gm);
        return NULL;
    }
    return m;
}

static const char *compile_fault(const pawl_report *r)
{
    for (const fault *f = r->first; f != NULL; f = f->next)
        if (f->f.severity == PAWL_SEVERITY_FAULT)
            return f->f.text;
    return NULL;
}

pawl_machine *pawl_graph_compile_report(pawl_graph *g, pawl_report **report, pawl_err *err)
{
    compiling c = { .root = g, .report = g != NULL ? report_new(&g->alloc) : NULL };
    pawl_machine *m = NULL;
    bool memory = c.report != NULL && compile_shape(&c) && !c.report->mem.failed;
    const char *first = memory ? compile_fault(c.report) : NULL;

    if (memory && first == NULL)
        memory = (m = compile_machine(&c)) != NULL;
    if (!memory)
        fail(err, PAWL_NOMEM, "%s: no memory to compile it", g != NULL ? g->name : "graph");
    else if (first != NULL)
        fail(err, PAWL_INVALID, "%s", first);
    if (m == NULL)
        pawl_graph_free(g);
    if (report != NULL)
        *report = memory ? c.report : NULL;
    if (report == NULL || !memory)
        pawl_report_free(c.report);
    return m;
}

pawl_machine *pawl_graph_compile(pawl_graph *g, pawl_err *err)
{
    return pawl_graph_compile_report(g, NULL, err);
}
