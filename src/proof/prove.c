/* prove.c - the search of the prover: breadth first over (nodes that run next, mode), so that the first hole found is one of the nearest.
 *
 * A graph inside a node is entered in one mode and keeps it, and nothing outside sees its steps. So it is searched by itself, once for each mode, and is
 * one step outside. Owns the states of the search, in the caller's arena. Called by `pawl prove` and tests; pure, one thread.
 * Invariant: whatever a value would decide is left open, so every run is covered by the search; a limit that is reached makes it undecided. */
#include "proof/prove_inner.h"

enum { APART_BYTES = 320 };

static const pawl_mode mode_order[] = { PAWL_MODE_DEFAULT, PAWL_MODE_ACCEPT_EDITS, PAWL_MODE_PLAN, PAWL_MODE_BYPASS };   /* modes in which a run may start */

static bool failed(proving *p, pawl_code rc)
{
    p->rc = p->rc == PAWL_OK ? rc : p->rc;
    return false;
}

static bool no_memory(proving *p)
{
    return failed(p, fail(p->err, PAWL_NOMEM, "no memory for the search"));
}

/* ---- nodes ------------------------------------------------------------------------------------------------- */

static bool excused(const proving *p, const seen_graph *g, const file_node *n)
{
    const size_t size = strlen(g->prefix);

    for (size_t i = 0; i < p->q->nexcept; i++)
        if (strncmp(p->q->except[i], g->prefix, size) == 0 && strcmp(p->q->except[i] + size, n->name) == 0)
            return true;
    return false;
}

/* ---- exits of a node ------------------------------------------------------------------------------------ */

typedef struct leaving {
    proving *p;
    seen_graph *g;
    const gnode *n;
    check_exit *exit;
    seen_node *seen;
    uint64_t *set;
} leaving;

static void to(leaving *l, const char *name)
{
    search_to(&l->g->s, l->set, l->n->index, name);
}

static void to_edge(leaving *l, const char *name)
{
    int at = node_index(l->g->g, name);

    if (at > 0)
        check_mark(l->set, (size_t)at);
}

/* A task of its own: not deferred. */
static void sent(leaving *l, const char *name)
{
    int at = strcmp(name, "end") == 0 ? 0 : node_index(l->g->g, name);

    if (at > 0)
        check_mark(l->set + l->g->s.words, (size_t)at);
}

static bool option(leaving *l, unsigned by)
{
    const size_t before = l->exit->options.count;
    uint32_t at = check_add(&l->exit->options, l->set, SIZE_MAX, &l->g->s.failed);
    unsigned char *grown;

    memset(l->set, 0, l->g->s.wide * sizeof *l->set);
    if (at == CHECK_NONE)
        return no_memory(l->p);
    if (l->exit->options.count == before)
        return true;
    if ((before & (before - 1)) == 0) {     /* full at 0, 1, 2, 4, ... */
        if ((grown = arena_zero(l->p->mem, before == 0 ? 1 : before * 2)) == NULL)
            return no_memory(l->p);
        if (before > 0)
            memcpy(grown, l->seen->ways, before);
        l->seen->ways = grown;
    }
    l->seen->ways[at] = (unsigned char)by;
    return true;
}

static bool option_to(leaving *l, const char *name, unsigned by)
{
    to(l, name);
    return option(l, by);
}

/* The ways that may be taken: until the first that is taken in every run. */
static bool options_of_ways(leaving *l, const file_node *n)
{
    for (size_t i = 0; i < n->nways; i++) {
        const constant_truth truth = constant_condition(l->p->mem, n->ways[i].when);

        if (truth != CONSTANT_NO && !option_to(l, n->ways[i].to, WAY_ON))
            return false;
        if (truth == CONSTANT_YES)
            break;
    }
    return true;
}

/* As routing.c does; `chosen`: the choice is evaluated here. */
static bool options_on(leaving *l, const file_node *n, bool chosen)
{
    const constant_truth any = n->each_of != NULL ? constant_list(l->p->mem, n->each_of) : CONSTANT_NO;
    bool good = true;

    if (n->chooses && !chosen) {
        for (const way *w = l->n->ways; w != NULL && good; w = w->next)
            for (uint32_t i = 0; i < w->ntargets && good; i++)
                good = option_to(l, w->targets[i], WAY_ON);
        return good;
    }
    if (n->each_node != NULL && any != CONSTANT_NO) {
        sent(l, n->each_node);
        good = option(l, WAY_ON);
    }
    if (any == CONSTANT_YES || !good)
        return good;
    if (n->nways > 0)
        return options_of_ways(l, n);
    if (chosen || n->each_node != NULL)
        for (size_t i = 0; i < n->next.n; i++)
            to(l, n->next.names[i].name);
    for (const way *w = l->n->ways; !chosen && n->each_node == NULL && w != NULL; w = w->next)
        to_edge(l, w->to);           /* without those that a join waits for */
    return option(l, WAY_ON);
}

/* A hook may name any declared exit, or several. */
static bool options_routed(leaving *l)
{
    enum { GOTOS_MAX = 10 };
    const size_t n = l->n->ngotos;
    bool good = true;

    if (n > GOTOS_MAX)
        l->p->cut = "a hook may lead on to more than 10 nodes";
    for (size_t i = 0; i < (size_t)1 << (n > GOTOS_MAX ? GOTOS_MAX : n) && good; i++) {
        for (size_t k = 0; k < n; k++)
            if ((i >> k & 1) != 0)
                to(l, l->n->gotos[k]);
        good = option(l, WAY_ROUTED);
    }
    return good;
}

static bool options_make(leaving *l, const file_node *n)
{
    const unsigned ways = l->seen->v.ways;
    bool good = true;

    if (n->choice_of != NULL)
        return options_on(l, n, true);
    if ((ways & WAY_ON) != 0)
        good = options_on(l, n, false);
    if (good && (ways & WAY_NO) != 0)
        good = option_to(l, n->on_no.name, WAY_NO);
    if (good && (ways & WAY_ERROR) != 0) {
        sent(l, n->on_error.name);
        good = option(l, WAY_ERROR);
    }
    return good && ((ways & WAY_ROUTED) == 0 || options_routed(l));
}

/* ---- graphs ----------------------------------------------------------------------------------------------------- */

static seen_graph *graph_new(proving *p, const agent_file *a, const pawl_graph *g, const char *prefix)
{
    seen_graph *out = arena_zero(p->mem, sizeof *out);

    if (out == NULL)
        return NULL;
    *out = (seen_graph){ .a = a, .g = g, .prefix = prefix };
    out->s = (search){ .g = g, .label = g->name, .alloc = p->mem->alloc, .limit = p->limit, .apart = true };
    if (!search_prepare(&out->s))
        no_memory(p);
    out->s.work = p->limit > SIZE_MAX / 64 ? SIZE_MAX : p->limit * 64;
    out->exits = out->s.exits;
    out->inner = arena_zero(p->mem, g->nnodes * sizeof *out->inner);
    for (size_t m = 0; m < PROVE_MODES; m++)
        check_set_init(&out->in[m].states, &p->mem->alloc, out->s.states.width + 1);
    return out->inner != NULL && p->rc == PAWL_OK ? out : (no_memory(p), out);
}

static void graph_free(proving *p, seen_graph *g)
{
    if (g == NULL)
        return;
    for (size_t i = 0; g->inner != NULL && i < g->g->nnodes; i++)
        graph_free(p, g->inner[i]);
    for (size_t m = 0; m < PROVE_MODES; m++) {
        for (size_t i = 0; g->own[m] != NULL && i < g->g->nnodes; i++)
            if (g->own[m][i].options.width > 0)
                check_set_free(&g->own[m][i].options);
        check_set_free(&g->in[m].states);
        mem_free(&p->mem->alloc, g->in[m].parents, g->in[m].parents_cap * sizeof *g->in[m].parents);
        mem_free(&p->mem->alloc, g->in[m].depths, g->in[m].depths_cap * sizeof *g->in[m].depths);
    }
    g->s.exits = g->exits;
    search_free(&g->s);
}

static bool explore(proving *p, seen_graph *g, pawl_mode only);

/* The outcomes of the gate of a graph node. */
static bool sub_walk(proving *p, seen_graph *g, size_t at, pawl_mode mode, const file_node *n, seen_node *out)
{
    if (g->inner[at] == NULL) {
        const size_t size = strlen(g->prefix) + strlen(n->name) + 2;
        char *prefix = arena_get(p->mem, size);

        if (prefix == NULL)
            return no_memory(p);
        snprintf(prefix, size, "%s%s/", g->prefix, n->name);
        if ((g->inner[at] = graph_new(p, n->inner, g->g->nodes[at]->sub, prefix)) == NULL)
            return no_memory(p);
    }
    if (p->rc != PAWL_OK || !explore(p, g->inner[at], mode))
        return false;
    out->v.ways = g->inner[at]->in[mode].completes ? WAY_ON : 0;
    if (n->ask != NULL && n->on_no.name != NULL)
        out->v.ways |= WAY_NO;
    return true;
}

/* The model chooses tools and their arguments, so they are not searched: an agent may take any of its exits, and a proof must exclude it by name
 * unless its tools only read. */
static bool apart_walk(proving *p, const seen_graph *g, const file_node *n, seen_node *seen)
{
    const bool agent = n->kind == KIND_AGENT;
    char *why;

    seen->v.ways = WAY_ON | (n->on_no.name != NULL ? WAY_NO : 0u) | (n->on_error.name != NULL ? WAY_ERROR : 0u) |
                   (n->file->root->reroutes ? WAY_ROUTED : 0u);
    if (p->apart != NULL || excused(p, g, n) || (!agent && !guard_acts(n)))
        return true;
    if ((why = arena_get(p->mem, APART_BYTES)) == NULL)
        return no_memory(p);
    snprintf(why, APART_BYTES, agent ? "%s%s calls agent %s, whose model says what it does: --except %s%s proves the rest"
                                     : "%s%s uses tool %s, whose arguments are not searched: --except %s%s proves the rest", g->prefix, n->name,
             agent ? (n->helper != NULL ? n->helper->name : "") : n->tool->name, g->prefix, n->name);
    p->apart = why;
    return true;
}

/* Made when the node is first met in that mode. */
static bool node_walk(proving *p, seen_graph *g, size_t at, pawl_mode mode)
{
    seen_node *seen = &g->nodes[mode][at];
    const file_node *n = seen_file_node(g, at);
    leaving l = { .p = p, .g = g, .n = g->g->nodes[at], .exit = &g->own[mode][at], .seen = seen };
    pawl_code rc;

    if (seen->known)
        return true;
    seen->known = true;
    check_set_init(&l.exit->options, &p->mem->alloc, g->s.wide);
    l.exit->leads = g->exits[at].leads;
    l.exit->ends = g->exits[at].ends;
    if ((l.set = arena_zero(p->mem, g->s.wide * sizeof *l.set)) == NULL)
        return no_memory(p);
    if (n == NULL) {
        for (size_t i = 0; i < g->a->start.n; i++)
            to(&l, g->a->start.names[i].name);
        return option(&l, WAY_ON);
    }
    if (n->kind == KIND_GRAPH && !sub_walk(p, g, at, mode, n, seen))
        return false;
    if (n->kind == KIND_AGENT || n->kind == KIND_TOOL)
        return (n->choice_of != NULL || apart_walk(p, g, n, seen)) && options_make(&l, n);
    if (n->kind != KIND_GRAPH && n->choice_of == NULL) {
        if ((rc = call_judge(&p->rules, n, mode, &seen->j, p->err)) != PAWL_OK)
            return failed(p, rc);
        seen->j.acts = seen->j.acts && !excused(p, g, n);
        visit_explore(n, &seen->j, &seen->v);
        p->states += seen->v.states;
        p->transitions += seen->v.transitions;
    }
    return options_make(&l, n);
}

static bool mode_prepare(proving *p, seen_graph *g, pawl_mode mode)
{
    if (g->own[mode] == NULL)
        g->own[mode] = arena_zero(p->mem, g->g->nnodes * sizeof *g->own[mode]);
    if (g->nodes[mode] == NULL)
        g->nodes[mode] = arena_zero(p->mem, g->g->nnodes * sizeof *g->nodes[mode]);
    return (g->own[mode] != NULL && g->nodes[mode] != NULL) || no_memory(p);
}

/* ---- states --------------------------------------------------------------------------------------------------------- */

static bool state_reach(proving *p, graph_search_result *f, const uint64_t *key, uint32_t parent)
{
    const size_t before = f->states.count;
    uint32_t at = check_add(&f->states, key, SIZE_MAX - 1, &(bool){false});

    p->transitions++;
    if (at == CHECK_NONE)
        return no_memory(p);
    if (f->states.count == before)
        return true;
    p->states++;
    if (!mem_room(&p->mem->alloc, (void **)&f->parents, &f->parents_cap, before, sizeof *f->parents) ||
        !mem_room(&p->mem->alloc, (void **)&f->depths, &f->depths_cap, before, sizeof *f->depths))
        return no_memory(p);
    f->parents[at] = parent;
    f->depths[at] = parent == CHECK_NONE ? 0 : f->depths[parent] + 1;
    return true;
}

static void hole(graph_search_result *f, uint32_t state, size_t node, size_t cost)
{
    if (f->broken && f->cost <= cost)
        return;
    f->broken = true;
    f->cost = cost;
    f->hole = state;
    f->node = node;
}

static bool nodes_walk(proving *p, seen_graph *g, graph_search_result *f, uint32_t at, pawl_mode mode)
{
    for (size_t i = 0; i < g->g->nnodes; i++) {
        if (!check_bit(g->s.now, i))
            continue;
        if (!node_walk(p, g, i, mode))
            return false;
        if (g->nodes[mode][i].v.broken)
            hole(f, at, i, f->depths[at] + 1);
        if (g->inner[i] != NULL && g->inner[i]->in[mode].broken)
            hole(f, at, i, f->depths[at] + 1 + g->inner[i]->in[mode].cost);
    }
    return true;
}

/* A superstep, and before it a change of the mode, which is in effect from the next one on. */
static bool expand(proving *p, seen_graph *g, graph_search_result *f, uint32_t at, pawl_mode only, uint64_t *key)
{
    const size_t width = g->s.states.width;
    const check_set *layer;
    pawl_mode mode;

    memcpy(key, check_item(&f->states, at), (width + 1) * sizeof *key);
    mode = (pawl_mode)key[width];
    for (size_t i = 0; only == PAWL_MODE_NONE && i < sizeof mode_order / sizeof *mode_order; i++) {
        key[width] = mode_order[i];
        if ((p->modes >> mode_order[i] & 1) != 0 && mode_order[i] != mode && f->depths[at] > 0 && !state_reach(p, f, key, at))
            return false;
    }
    search_enter(&g->s, key);
    if (search_rests(&g->s)) {
        if (!search_stuck(&g->s) && !f->completes) {
            f->completes = true;
            f->end = at;
        }
        return true;
    }
    if (!mode_prepare(p, g, mode) || !nodes_walk(p, g, f, at, mode))
        return false;
    g->s.exits = g->own[mode];
    search_enter(&g->s, key);
    layer = search_layer(&g->s);
    if (g->s.failed)
        return no_memory(p);
    for (size_t i = 0; i < layer->count; i++) {
        search_succeed(&g->s, check_item(layer, i));
        memcpy(key, g->s.after, width * sizeof *key);
        key[width] = mode;
        if (!state_reach(p, f, key, at))
            return false;
    }
    return true;
}

static bool over_limit(proving *p, const seen_graph *g)
{
    if (p->states > p->limit)
        p->cut = "more states than are searched (PROVE_STATES_MAX)";
    else if (g->s.work == 0)
        p->cut = "more ways side by side than are searched (64 of each state)";
    return p->cut != NULL;
}

/* False: p->rc says why. Cut off: p->cut does. */
static bool explore(proving *p, seen_graph *g, pawl_mode only)
{
    graph_search_result *f = &g->in[only];
    uint64_t *key;

    if (f->known)
        return true;
    f->known = true;
    if ((key = arena_zero(p->mem, (g->s.states.width + 1) * sizeof *key)) == NULL)
        return no_memory(p);
    for (size_t i = 0; i < sizeof mode_order / sizeof *mode_order; i++) {
        memset(key, 0, (g->s.states.width + 1) * sizeof *key);
        check_mark(key, START_INDEX);
        key[g->s.states.width] = mode_order[i];
        if ((only == PAWL_MODE_NONE ? (p->modes >> mode_order[i] & 1) != 0 : mode_order[i] == only) && !state_reach(p, f, key, CHECK_NONE))
            return false;
    }
    for (uint32_t at = 0; at < f->states.count; at++) {
        if (only == PAWL_MODE_NONE && f->broken && f->depths[at] + 1 >= f->cost)
            return true;
        if (!expand(p, g, f, at, only, key))
            return false;
        if (over_limit(p, g))
            return true;
    }
    return true;
}

/* ---- the result --------------------------------------------------------------------------------------------------------- */

static const pawl_value *acting(proving *p, const agent_file *a, const char *prefix, const pawl_value *names)
{
    for (size_t i = 0; i < a->nnodes && names != NULL; i++) {
        const size_t size = strlen(prefix) + strlen(a->nodes[i].name) + 2;
        char *name = arena_get(p->mem, size);

        if (name == NULL)
            return NULL;
        snprintf(name, size, "%s%s", prefix, a->nodes[i].name);
        if (guard_acts(&a->nodes[i]) || a->nodes[i].kind == KIND_AGENT)
            names = value_push(p->mem, names, value_string(p->mem, name, strlen(name)));
        if (a->nodes[i].inner == NULL)
            continue;
        snprintf(name, size, "%s%s/", prefix, a->nodes[i].name);
        names = acting(p, a->nodes[i].inner, name, names);
    }
    return names;
}

static const pawl_value *policy_hash(proving *p)
{
    char hex[HASH_HEX + 1];
    hash h;
    buf b;

    if (p->rules.policy == NULL)
        return value_null(p->mem);
    buf_init(&b, &p->mem->alloc);
    canon(&b, p->rules.policy);
    if (!b.failed)
        hash_of(b.data, b.size, &h);
    hash_hex(&h, hex);
    p->mem->failed = p->mem->failed || b.failed;
    buf_free(&b);
    return value_string(p->mem, hex, HASH_HEX);
}

static const pawl_value *summary(proving *p, const pawl_machine *m, const prove_result *r)
{
    static const char property[] = "a command of a destructive node leaves only with a person's yes to that very call, given in its visit and used "
                                   "up with it";
    const pawl_value *none = value_pack(p->mem, NULL, "[]"), *modes = none, *except = none, *v;

    for (unsigned i = PAWL_MODE_PLAN; i <= PAWL_MODE_BYPASS; i++)
        if ((p->modes >> i & 1) != 0)
            modes = value_push(p->mem, modes, value_pack(p->mem, NULL, "s", pawl_mode_name((pawl_mode)i)));
    for (size_t i = 0; i < p->q->nexcept; i++)
        except = value_push(p->mem, except, value_string(p->mem, p->q->except[i], strlen(p->q->except[i])));
    v = value_pack(p->mem, NULL, "{s:v,s:v,s:s,s:s,s:v,s:v,s:b,s:u,s:u}", "destructive", acting(p, p->root->a, "", none), "except", except, "graph",
                   pawl_machine_hash(m), "hooks", p->q->hooks_ask ? "ask" : "any", "modes", modes, "policy", policy_hash(p), "proved",
                       r->verdict == PROVE_PROVED,
                   "states", r->states, "transitions", r->transitions);
    return v == NULL ? NULL : value_with(p->mem, v, "property", value_string(p->mem, property, sizeof property - 1));
}

static pawl_code result(proving *p, const pawl_machine *m, prove_result *out)
{
    const graph_search_result *f = &p->root->in[0];
    const char *why = p->cut != NULL ? p->cut : p->apart;
    const pawl_value *steps;

    *out = (prove_result){ .verdict = f->broken ? PROVE_BROKEN : why != NULL ? PROVE_UNDECIDED : PROVE_PROVED, .states = p->states,
                           .transitions = p->transitions,
                           .why = why };
    if ((out->json = summary(p, m, out)) == NULL)
        return fail(p->err, PAWL_NOMEM, "no memory for the proof");
    if (out->verdict == PROVE_UNDECIDED)
        out->json = value_with(p->mem, out->json, "undecided", value_pack(p->mem, NULL, "s", why));
    if (!f->broken)
        return out->json != NULL ? PAWL_OK : fail(p->err, PAWL_NOMEM, "no memory for the proof");
    if ((steps = path_steps(p, p->root, f, true, value_pack(p->mem, NULL, "[]"))) == NULL)
        return p->rc != PAWL_OK ? p->rc : fail(p->err, PAWL_NOMEM, "no memory for the path");
    out->json = value_with(p->mem, out->json, "path", steps);
    out->why = pawl_value_string(pawl_value_get(pawl_value_at(steps, pawl_value_size(steps) - 1), "text"));
    return out->json != NULL && out->why != NULL ? PAWL_OK : fail(p->err, PAWL_NOMEM, "no memory for the path");
}

/* ---- entry ------------------------------------------------------------------------------------------------------------------ */

static const file_node *node_at(const agent_file *a, const char *path)
{
    const char *slash = strchr(path, '/');
    char name[NODE_NAME_MAX + 1];
    const file_node *n;

    if (slash == NULL)
        return file_node_find(a, path);
    if ((size_t)(slash - path) > NODE_NAME_MAX)
        return NULL;
    memcpy(name, path, (size_t)(slash - path));
    name[slash - path] = '\0';
    return (n = file_node_find(a, name)) != NULL && n->inner != NULL ? node_at(n->inner, slash + 1) : NULL;
}

pawl_code file_prove(const agent_file *a, const pawl_machine *m, const prove_ask *q, arena *mem, prove_result *out, pawl_err *err)
{
    proving p = { .q = q, .rules = { .mem = mem, .q = q }, .mem = mem, .err = err, .limit = q->states_max != 0 ? q->states_max : PROVE_STATES_MAX,
                  .modes = q->modes != 0 ? q->modes : 1u << PAWL_MODE_PLAN | 1u << PAWL_MODE_DEFAULT | 1u << PAWL_MODE_ACCEPT_EDITS };

    *out = (prove_result){0};
    for (size_t i = 0; i < q->nexcept; i++)
        if (node_at(a, q->except[i]) == NULL)
            return fail(err, PAWL_INVALID, "there is no node \"%.100s\" to be left out: of an inner graph it is NODE/NODE%s", q->except[i],
                        strchr(q->except[i], ',') != NULL ? "; give the option once for each node" : "");
    if (graph_of(m) == NULL)
        return fail(err, PAWL_INVALID, "%s is no graph: its code decides what it does, and nothing is proved of that", pawl_machine_name(m));
    if ((p.rc = rules_read(&p.rules, err)) != PAWL_OK)
        return p.rc;
    if ((p.root = graph_new(&p, a, graph_of(m), "")) != NULL && p.rc == PAWL_OK && explore(&p, p.root, PAWL_MODE_NONE))
        p.rc = result(&p, m, out);
    else if (p.rc == PAWL_OK)
        no_memory(&p);
    graph_free(&p, p.root);
    return p.rc;
}
