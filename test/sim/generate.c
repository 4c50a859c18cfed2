/* generate.c - a seed becomes a graph that compiles: whatever is random, every node is reached and has a way on. */
#include "sim/generate.h"

#include <stdlib.h>
#include <string.h>

/* ---- chance -------------------------------------------------------------------------------- */

uint64_t sim_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);

    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

int sim_below(uint64_t *state, int n)
{
    return n <= 0 ? 0 : (int)(sim_random(state) % (uint64_t)n);
}

/* ---- the world ------------------------------------------------------------------------------ */

static int hash_text(const char *text)
{
    uint32_t h = 2166136261u;

    for (; *text != '\0'; text++)
        h = (h ^ (unsigned char)*text) * 16777619u;
    return (int)((h ^ h >> 15) % SIM_BELOW);
}

sim_reply sim_effect(sim_kind kind, const char *args)
{
    int h = hash_text(args);
    sim_reply r = { .n = 1, .items = { h } };

    if (kind == SIM_LISTING) {
        r.list = true;
        r.n = SIM_LIST;
        for (int i = 0; i < SIM_LIST; i++)
            r.items[i] = (h + i * i) % SIM_BELOW;
    }
    r.error = kind == SIM_ROUGH && h % 4 == 0;
    return r;
}

int sim_person(const char *prompt)
{
    return hash_text(prompt);
}

bool sim_lets_in(sim_gate gate, unsigned long superstep)
{
    return gate == SIM_YES || (gate == SIM_ODD_NO && superstep % 2 == 0);
}

/* ---- what a graph may contain -------------------------------------------------------------------- */

enum {
    HAS_LOOPS = 1 << 0, HAS_SENDS = 1 << 1, HAS_ROUTES = 1 << 2, HAS_JOINS = 1 << 3, HAS_CALLS = 1 << 4, HAS_GOTOS = 1 << 5,
    HAS_HALTS = 1 << 6, HAS_DEFER = 1 << 7, HAS_ASKS = 1 << 8, HAS_SLEEPS = 1 << 9, HAS_GATES = 1 << 10, HAS_BEFORE = 1 << 11,
    HAS_AFTER = 1 << 12, HAS_HOLDS = 1 << 13, HAS_RETRY = 1 << 14, HAS_FAILS = 1 << 15, HAS_SUBS = 1 << 16, HAS_BOUND = 1 << 17,
    HAS_WORK = 1 << 18, HAS_CANCEL = 1 << 19
};

typedef struct making {
    uint64_t random;
    unsigned has;
    sim_graph *g;
} making;

static int below(making *k, int n) { return sim_below(&k->random, n); }
static bool chance(making *k, int percent) { return below(k, 100) < percent; }
static bool has(const making *k, unsigned what) { return (k->has & what) != 0; }

sim_family sim_family_of(uint64_t seed)
{
    return (sim_family)(seed % SIM_FAMILIES);
}

static unsigned draw_features(making *k, sim_family family)
{
    static const struct { unsigned what; int percent[SIM_FAMILIES]; } all[] = {
        { HAS_LOOPS, { 50, 40, 40, 40 } },  { HAS_SENDS, { 50, 40, 40, 40 } }, { HAS_ROUTES, { 60, 40, 40, 40 } },
        { HAS_JOINS, { 50, 40, 30, 40 } },  { HAS_CALLS, { 70, 50, 70, 50 } }, { HAS_GOTOS, { 30, 30, 30, 30 } },
        { HAS_HALTS, { 10, 10, 10, 10 } },  { HAS_DEFER, { 25, 20, 20, 20 } }, { HAS_ASKS, { 0, 70, 20, 30 } },
        { HAS_SLEEPS, { 0, 30, 20, 20 } },  { HAS_GATES, { 0, 40, 20, 20 } },  { HAS_BEFORE, { 0, 40, 10, 20 } },
        { HAS_AFTER, { 0, 40, 10, 25 } },   { HAS_HOLDS, { 0, 40, 10, 25 } },  { HAS_RETRY, { 0, 10, 70, 25 } },
        { HAS_FAILS, { 3, 3, 35, 6 } },     { HAS_SUBS, { 0, 0, 0, 100 } },    { HAS_BOUND, { 25, 25, 25, 25 } },
        { HAS_WORK, { 30, 20, 20, 30 } },   { HAS_CANCEL, { 15, 10, 10, 10 } },
    };
    unsigned drawn = 0;

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (chance(k, all[i].percent[family]))
            drawn |= all[i].what;
    return drawn;
}

bool sim_is_list(sim_rule rule)
{
    return rule == SIM_APPEND || rule == SIM_UNION || rule == SIM_TOPIC || rule == SIM_HEAP;
}

/* ---- channels and numbers --------------------------------------------------------------------------- */

static void make_channels(making *k)
{
    static const sim_rule often[] = { SIM_LAST, SIM_APPEND, SIM_SUM, SIM_MAX, SIM_UNION, SIM_TOPIC, SIM_EPHEMERAL, SIM_APPEND,
                                      SIM_SUM, SIM_MIN, SIM_HEAP, SIM_LAST };

    k->g->nchannels = 3 + below(k, SIM_CHANNELS_MAX - 2);
    for (int i = 0; i < k->g->nchannels; i++) {
        sim_channel *c = &k->g->channels[i];

        c->rule = often[below(k, (int)(sizeof often / sizeof *often))];
        if (chance(k, 4))
            c->rule = SIM_SINGLE;
        c->has_first = chance(k, 35);
        c->first = below(k, SIM_BELOW);
        c->has_input = k->g->depth == 0 && chance(k, 30);
        c->input = below(k, SIM_BELOW);
    }
    k->g->channels[0] = (sim_channel){ .rule = SIM_SUM, .has_first = true };    /* what loops count with */
}

static int any_channel(making *k)
{
    return below(k, k->g->nchannels);
}

/* A channel of a list, or of none; SIM_NONE when there is none such. */
static int list_channel(making *k, bool many)
{
    for (int i = 0; i < 12; i++) {
        int c = any_channel(k);

        if (sim_is_list(k->g->channels[c].rule) == many)
            return c;
    }
    return SIM_NONE;
}

static sim_number make_number(making *k, bool in_node)
{
    sim_number n = { .from = SIM_CONST, .channel = any_channel(k), .plus = below(k, SIM_BELOW) };
    int at = below(k, 100);

    if (at < 50)
        n.from = SIM_READ;
    else if (at < 62)
        n.from = SIM_ARGS;
    else if (in_node && at < 77)
        n.from = SIM_GOT;
    else if (in_node && at < 82 && has(k, HAS_RETRY))
        n.from = SIM_VISIT;
    return n;
}

/* ---- programs --------------------------------------------------------------------------------------------- */

static int any_node(making *k) { return below(k, k->g->nnodes); }

/* A node behind `at`, now and then one before it when the graph may loop; or SIM_END. */
static int way_on(making *k, int at)
{
    int behind = k->g->nnodes - at - 1;

    if (has(k, HAS_LOOPS) && chance(k, 8))
        return any_node(k);
    if (behind <= 0 || chance(k, 12))
        return SIM_END;
    return at + 1 + below(k, behind);
}

static void make_asked(making *k, sim_op *op)
{
    sim_kind kinds[12];
    int n = 0;

    if (has(k, HAS_CALLS)) {
        kinds[n++] = SIM_CALL;
        kinds[n++] = SIM_CALL;
        kinds[n++] = SIM_LISTING;
        kinds[n++] = SIM_SPAWN;
    }
    if (has(k, HAS_FAILS))
        kinds[n++] = SIM_ROUGH;
    if (has(k, HAS_ASKS)) {
        kinds[n++] = SIM_ASK;
        kinds[n++] = SIM_ASK;
    }
    if (has(k, HAS_SLEEPS))
        kinds[n++] = SIM_SLEEP;
    op->nasked = n == 0 ? 0 : 1 + below(k, 100) / 60 + below(k, 100) / 80;
    op->catches = chance(k, 50);
    for (int i = 0; i < op->nasked; i++) {
        sim_asked *a = &op->asked[i];

        *a = (sim_asked){ .kind = kinds[below(k, n)], .about = make_number(k, true), .ref = SIM_NONE, .update = SIM_NONE };
        if (a->kind == SIM_CALL && k->g->depth == 0 && chance(k, 25))
            a->ref = any_channel(k);
        if (a->kind == SIM_ASK && chance(k, 25))
            a->update = any_channel(k), a->value = below(k, SIM_BELOW);
    }
}

static sim_op_kind any_kind(making *k)
{
    static const struct { sim_op_kind kind; int weight; unsigned needs; } all[] = {
        { SIM_SET, 40, 0 },     { SIM_EXTEND, 10, 0 },         { SIM_COPY, 6, 0 },            { SIM_MOVE, 8, 0 },
        { SIM_OVERWRITE, 4, 0 },
        { SIM_KEEP, 4, HAS_CALLS }, { SIM_WORLD, 30, HAS_CALLS | HAS_ASKS | HAS_SLEEPS },    { SIM_SKIP, 8, 0 },
        { SIM_SEND, 14, HAS_SENDS }, { SIM_GOTO, 8, HAS_GOTOS }, { SIM_HALT, 3, HAS_HALTS },  { SIM_TRY, 12, HAS_RETRY },
        { SIM_FAIL, 3, HAS_FAILS },
    };
    int total = 0, at;

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        total += all[i].needs == 0 || has(k, all[i].needs) ? all[i].weight : 0;
    at = below(k, total);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        at -= all[i].needs == 0 || has(k, all[i].needs) ? all[i].weight : 0;
        if (at < 0)
            return all[i].kind;
    }
    return SIM_SET;
}

/* A channel whose value, whatever it is, `to` can be given as it is. */
static int movable_channel(making *k, int to)
{
    sim_rule rule = k->g->channels[to].rule;

    for (int i = 0; i < 8; i++) {
        int c = any_channel(k);
        sim_rule from = k->g->channels[c].rule;

        if (rule == SIM_LAST || rule == SIM_EPHEMERAL)
            return c;
        if (rule != SIM_SUM && (from == SIM_SUM || from == SIM_MIN || from == SIM_MAX))
            return c;           /* a number; a sum of sums would know no bounds */
    }
    return SIM_NONE;
}

static void make_op(making *k, int at, sim_op *op)
{
    *op = (sim_op){ .kind = any_kind(k), .channel = any_channel(k), .value = make_number(k, true), .mod = 1, .visits = 1 };
    switch (op->kind) {
    case SIM_EXTEND:
    case SIM_COPY:
        op->channel = list_channel(k, true);
        op->other = list_channel(k, true);
        if (op->channel == SIM_NONE || op->other == SIM_NONE)
            op->kind = SIM_SET, op->channel = any_channel(k);
        break;
    case SIM_OVERWRITE:
        if (k->g->depth > 0 && sim_is_list(k->g->channels[op->channel].rule))
            op->kind = SIM_SET;
        break;
    case SIM_KEEP:
        if (k->g->channels[op->channel].rule != SIM_LAST && k->g->channels[op->channel].rule != SIM_EPHEMERAL)
            op->kind = SIM_SET;
        break;
    case SIM_WORLD:
        make_asked(k, op);
        break;
    case SIM_SKIP:
        op->mod = 2 + below(k, 3);
        op->rest = below(k, op->mod);
        op->skip = 1 + below(k, 3);
        break;
    case SIM_SEND:
        op->node = way_on(k, at);
        op->form = below(k, 4);
        op->other = any_channel(k);
        if (op->node == SIM_END)
            op->kind = SIM_SET;
        break;
    case SIM_MOVE:
        op->other = movable_channel(k, op->channel);
        if (op->other == SIM_NONE)
            op->kind = SIM_SET;
        break;
    case SIM_GOTO:
        op->node = way_on(k, at);
        break;
    case SIM_TRY:
        op->visits = 1 + below(k, 3);
        break;
    case SIM_SET:
    case SIM_HALT:
    case SIM_FAIL:
    case SIM_HOLD:
    case SIM_OPS:
        break;
    }
}

static bool says(const sim_node *n, sim_op_kind kind)
{
    for (int i = 0; i < n->nops; i++)
        if (n->ops[i].kind == kind)
            return true;
    return false;
}

/* The answer of a hold comes on its own, so its channel takes answers in any order. */
static int hold_channel(making *k)
{
    for (int i = 0; i < 8; i++) {
        int c = any_channel(k);
        sim_rule rule = k->g->channels[c].rule;

        if (rule == SIM_SUM || rule == SIM_MIN || rule == SIM_MAX)
            return c;
    }
    return SIM_NONE;
}

static void make_program(making *k, int at)
{
    sim_node *n = &k->g->nodes[at];

    n->nops = 1 + below(k, 4);
    for (int i = 0; i < n->nops; i++)
        make_op(k, at, &n->ops[i]);
    if (has(k, HAS_LOOPS) && chance(k, 60))
        n->ops[n->nops++] = (sim_op){ .kind = SIM_SET, .channel = 0, .value = { .from = SIM_CONST, .plus = 1 } };
    if (has(k, HAS_HOLDS) && !says(n, SIM_HALT) && chance(k, 25))
        n->ops[n->nops++] = (sim_op){ .kind = SIM_HOLD, .channel = hold_channel(k), .value = make_number(k, true) };
}

static void make_node(making *k, int at)
{
    sim_node *n = &k->g->nodes[at];

    n->of = k->g;
    n->work = n->gate_no = SIM_NONE;
    if (has(k, HAS_WORK) && chance(k, 20))
        n->work = any_channel(k);
    else
        make_program(k, at);
    n->defer = has(k, HAS_DEFER) && chance(k, 25);
    n->before = has(k, HAS_BEFORE) && chance(k, 25);
    n->after = has(k, HAS_AFTER) && chance(k, 30);
    if (has(k, HAS_GATES) && chance(k, 25)) {
        n->gate = chance(k, 45) ? SIM_YES : chance(k, 80) ? SIM_ODD_NO : SIM_NO;
        n->gate_no = chance(k, has(k, HAS_FAILS) ? 60 : 95) ? way_on(k, at) : SIM_NONE;
    }
    if (has(k, HAS_RETRY) && n->work == SIM_NONE && chance(k, 75)) {
        n->attempts = 2 + below(k, 3);
        n->backoff = below(k, 3) * 5;
    }
}

/* ---- ways on ------------------------------------------------------------------------------------------------ */

static void add_way(sim_node *n, sim_way w)
{
    if (n->nways < SIM_WAYS_MAX)
        n->ways[n->nways++] = w;
}

static sim_way edge_to(int to)
{
    return (sim_way){ .kind = SIM_EDGE, .to = to, .otherwise = SIM_NONE, .send = SIM_NONE };
}

static void make_route(making *k, sim_node *n, int at)
{
    sim_way w = { .kind = SIM_ROUTE, .about = make_number(k, false), .otherwise = SIM_NONE, .send = SIM_NONE };

    w.ntargets = 1 + below(k, SIM_TARGETS_MAX);
    for (int i = 0; i < w.ntargets; i++)
        w.targets[i] = way_on(k, at);
    if (!has(k, HAS_FAILS) || chance(k, 80))
        w.otherwise = way_on(k, at);
    if (at >= 0 && has(k, HAS_SENDS) && chance(k, 25))
        w.send = way_on(k, at) == SIM_END ? SIM_NONE : any_node(k);
    add_way(n, w);
}

static void make_whens(making *k, sim_node *n, int at)
{
    int count = 1 + below(k, 2);

    for (int i = 0; i < count; i++) {
        sim_way w = edge_to(way_on(k, at));

        w.kind = SIM_WHEN;
        w.about = make_number(k, false);
        w.mod = 2 + below(k, 3);
        w.rest = below(k, w.mod);
        if (has(k, HAS_LOOPS) && chance(k, 50)) {       /* a loop with a counter */
            w.about = (sim_number){ .from = SIM_READ, .channel = 0 };
            w.mod = 0;
            w.rest = 2 + below(k, 6);
            w.to = any_node(k);
        }
        add_way(n, w);
    }
    if (!has(k, HAS_FAILS) || chance(k, 80)) {
        sim_way w = edge_to(way_on(k, at));

        w.kind = SIM_WHEN;
        w.mod = -1;
        add_way(n, w);
    }
}

static void make_ways(making *k, sim_node *n, int at)
{
    int count = at < 0 ? 1 + below(k, 3) : chance(k, 15) ? 0 : 1 + below(k, 100) / 75;

    for (int i = 0; i < count; i++) {
        if (has(k, HAS_ROUTES) && chance(k, at < 0 ? 10 : 25))
            make_route(k, n, at);
        else if (has(k, HAS_ROUTES) && chance(k, at < 0 ? 10 : 25))
            make_whens(k, n, at);
        else
            add_way(n, edge_to(at < 0 ? below(k, (k->g->nnodes + 1) / 2) : way_on(k, at)));
    }
}

static bool join_to(const sim_graph *g, int to)
{
    for (int i = 0; i < g->njoins; i++)
        if (g->joins[i].to == to)
            return true;
    return false;
}

static void make_joins(making *k)
{
    int count = has(k, HAS_JOINS) && k->g->nnodes >= 4 ? 1 + below(k, 2) : 0;

    for (int i = 0; i < count; i++) {
        sim_join j = { .to = k->g->nnodes - 1 - below(k, k->g->nnodes / 2), .nfrom = 2 + below(k, 2) };

        for (int s = 0; s < j.nfrom; s++) {
            bool again;

            do {
                j.from[s] = any_node(k);
                again = j.from[s] == j.to;
                for (int other = 0; other < s; other++)
                    again = again || j.from[other] == j.from[s];
            } while (again);
        }
        j.k = chance(k, 60) ? j.nfrom : 1 + below(k, j.nfrom);
        j.cancel = has(k, HAS_CANCEL) && j.k < j.nfrom && chance(k, 60);
        if (!join_to(k->g, j.to))
            k->g->joins[k->g->njoins++] = j;
    }
}

/* ---- what compile demands -------------------------------------------------------------------------------------- */

bool sim_declares(const sim_node *n, int to)
{
    for (int i = 0; i < n->nops; i++)
        if ((n->ops[i].kind == SIM_SEND || n->ops[i].kind == SIM_GOTO) && n->ops[i].node == to)
            return true;
    for (int i = 0; i < n->nways; i++)
        if (n->ways[i].send == to && to != SIM_NONE)
            return true;
    return false;
}

bool sim_leads(const sim_node *n, int to)
{
    for (int i = 0; i < n->nways; i++) {
        const sim_way *w = &n->ways[i];

        if (w->kind != SIM_ROUTE && w->to == to)
            return true;
        if (w->kind == SIM_ROUTE && w->otherwise == to)
            return true;
        for (int t = 0; w->kind == SIM_ROUTE && t < w->ntargets; t++)
            if (w->targets[t] == to)
                return true;
    }
    return sim_declares(n, to) || (n->gate != SIM_OPEN && n->gate_no == to);
}

static void find_reached(const sim_graph *g, bool *reached)
{
    bool more = true;

    memset(reached, 0, SIM_NODES_MAX * sizeof *reached);
    while (more) {
        more = false;
        for (int to = 0; to < g->nnodes; to++) {
            bool now = reached[to] || sim_leads(&g->start, to);

            for (int i = 0; i < g->nnodes; i++)
                now = now || (reached[i] && sim_leads(&g->nodes[i], to));
            for (int j = 0; j < g->njoins; j++) {
                int seen = 0;

                for (int s = 0; s < g->joins[j].nfrom; s++)
                    seen += reached[g->joins[j].from[s]];
                now = now || (g->joins[j].to == to && seen >= g->joins[j].k);
            }
            more = more || now != reached[to];
            reached[to] = now;
        }
    }
}

static void reach_all(making *k)
{
    bool reached[SIM_NODES_MAX];

    for (int i = 0; i < k->g->nnodes; i++) {
        int from;

        find_reached(k->g, reached);
        if (reached[i])
            continue;
        from = below(k, k->g->nnodes);
        if (reached[from] && from < i && k->g->nodes[from].nways < SIM_WAYS_MAX - 1)
            add_way(&k->g->nodes[from], edge_to(i));
        else
            add_way(&k->g->start, edge_to(i));
    }
}

static bool is_source(const sim_graph *g, int node)
{
    for (int j = 0; j < g->njoins; j++)
        for (int s = 0; s < g->joins[j].nfrom; s++)
            if (g->joins[j].from[s] == node)
                return true;
    return false;
}

static void end_all(making *k)
{
    for (int i = 0; i < k->g->nnodes; i++) {
        sim_node *n = &k->g->nodes[i];
        bool declares = false;

        for (int to = 0; to < k->g->nnodes; to++)
            declares = declares || sim_declares(n, to);
        if (n->nways == 0 && !declares && !is_source(k->g, i))
            add_way(n, edge_to(way_on(k, i)));
    }
}

/* ---- subgraphs ---------------------------------------------------------------------------------------------------- */

static sim_graph *make_graph(making *k, uint64_t seed, int depth);

/* Maps are of one rule on both sides. What goes both ways is no queue: what it would have added is gone. */
static void make_maps(making *k, sim_node *n)
{
    bool taken[SIM_CHANNELS_MAX] = { true };    /* the counter is everybody's own */

    for (int i = 0; i < 4 * SIM_MAPS_MAX && n->nmaps < SIM_MAPS_MAX; i++) {
        sim_map m = { .outer = any_channel(k), .inner = below(k, n->sub->nchannels), .in = chance(k, 75), .out = chance(k, 75) };
        sim_rule rule = k->g->channels[m.outer].rule;

        if (taken[m.inner] || rule != n->sub->channels[m.inner].rule)
            continue;
        taken[m.inner] = true;
        if (rule == SIM_TOPIC || rule == SIM_HEAP || rule == SIM_EPHEMERAL)
            m.in = false;
        n->maps[n->nmaps++] = m;
    }
}

static void make_sub(making *k, int at)
{
    sim_node *n = &k->g->nodes[at];
    making inner = { .random = sim_random(&k->random), .has = k->has };

    if (k->g->depth > 0)
        inner.has &= ~(unsigned)HAS_SUBS;
    if (chance(k, 50))
        inner.has &= ~(unsigned)(HAS_LOOPS | HAS_SENDS);
    n->work = SIM_NONE;
    n->nops = 0;
    n->attempts = 0;
    n->sub = make_graph(&inner, k->g->seed, k->g->depth + 1);
    make_maps(k, n);
}

/* ---- a graph -------------------------------------------------------------------------------------------------------- */

static sim_graph *make_graph(making *k, uint64_t seed, int depth)
{
    sim_graph *g = calloc(1, sizeof *g);

    if (g == NULL)
        abort();
    k->g = g;
    g->seed = seed;
    g->depth = depth;
    g->nnodes = depth == 0 ? 2 + below(k, SIM_NODES_MAX - 2) : 1 + below(k, 4);
    g->max_steps = 3 + below(k, depth == 0 ? 14 : 8);
    g->max_tasks = depth == 0 ? 20 : 10;
    g->max_concurrency = has(k, HAS_BOUND) ? 1 + below(k, 3) : 0;
    g->start.work = g->start.gate_no = SIM_NONE;
    make_channels(k);
    for (int i = 0; i < g->nnodes; i++)
        make_node(k, i);
    for (int i = 0; i < g->nnodes; i++)
        if (has(k, HAS_SUBS) && chance(k, depth == 0 ? 35 : 25))
            make_sub(k, i);
    make_joins(k);
    make_ways(k, &g->start, -1);
    for (int i = 0; i < g->nnodes; i++)
        make_ways(k, &g->nodes[i], i);
    end_all(k);
    reach_all(k);
    return g;
}

sim_graph *sim_generate(uint64_t seed)
{
    making k = { .random = seed * UINT64_C(0x9FB21C651E98DF25) };

    sim_graph *g;

    k.has = draw_features(&k, sim_family_of(seed));
    g = make_graph(&k, seed, 0);
    g->reopens = chance(&k, 50) ? below(&k, 3) : 0;
    g->updates = chance(&k, 30);
    return g;
}

void sim_free(sim_graph *g)
{
    for (int i = 0; g != NULL && i < g->nnodes; i++)
        sim_free(g->nodes[i].sub);
    free(g);
}
