/* validate.c - checks the shape of a graph; each fault has the names involved and a path (G1). Called by compile.c and the check; pure. */
#include "graph/graph.h"
#include "kernel/machine.h"
#include "kernel/rights.h"

#include <math.h>
#include <string.h>

enum { HINT_BYTES = 96, SHAPE_BYTES_FIRST = 1024 };

#define NOWHERE UINT32_MAX

typedef struct shape {
    const pawl_graph *g;
    pawl_report *r;
    const char *label;          /* "essay", "essay/inner" */
    arena *mem;
    const char **names;         /* names of the nodes, for suggestions; without @start */
    const char **channels;
    uint32_t *from;             /* by node: the node it was reached from; NOWHERE: not reached */
    uint32_t *queue;            /* the reached nodes in breadth-first order */
    uint32_t nqueue;
    bool *source;               /* by node: it is a source of a join */
    join_index joins;
    uint32_t *reached;          /* by join: its sources that are reached */
    uint32_t *ripe, nripe;      /* joins that have as many as they need, in that order */
    hash_index join_names;      /* of the joins so far */
    uint32_t *edged;            /* by node: the last node with an edge to it + 1, to find duplicates */
    const join **waited;        /* by node: the last join with it as a source, to find duplicates */
    bool entry;                 /* @start has an edge */
} shape;

static bool is_end(const char *to) { return strcmp(to, PAWL_END) == 0; }

/* ---- suggestions and paths --------------------------------------------------------------------- */

static const char *hint_node(const shape *c, char *out, const char *name)
{
    return did_you_mean(out, HINT_BYTES, name, c->names, c->g->nnodes - 1);
}

static const char *hint_channel(const shape *c, char *out, const char *name)
{
    return did_you_mean(out, HINT_BYTES, name, c->channels, c->g->nchannels);
}

/* The node named `to`, or one with a similar name: a misspelled target is one fault, and its node must not also count as unreachable. -1: none. */
static int meant(const shape *c, const char *to)
{
    int at = node_index(c->g, to);
    char hint[HINT_BYTES];
    char *name, *end;

    if (at >= 0 || is_end(to) || *hint_node(c, hint, to) == '\0')
        return at;
    name = strchr(hint, '"') + 1;
    end = strrchr(hint, '"');
    *end = '\0';
    return node_index(c->g, name);
}

/* "@start -> a -> b", followed by `then` unless NULL. An unreachable node starts a path of its own. NULL: no memory. */
static const char *path_to(shape *c, uint32_t at, const char *then)
{
    uint32_t *steps = arena_get(c->mem, c->g->nnodes * sizeof *steps);
    const char *out = NULL;
    size_t n = 0;
    buf b;

    if (steps == NULL)
        return NULL;
    for (; n < c->g->nnodes; at = c->from[at]) {
        steps[n++] = at;
        if (at == START_INDEX || c->from[at] == NOWHERE)
            break;
    }
    buf_init(&b, &c->mem->alloc);
    while (n > 0) {
        buf_text(&b, c->g->nodes[steps[--n]]->name);
        if (n > 0)
            buf_text(&b, " -> ");
    }
    if (then != NULL) {
        buf_text(&b, " -> ");
        buf_text(&b, then);
    }
    if (!b.failed)
        out = arena_strdup(c->mem, b.data, b.size);
    buf_free(&b);
    return out;
}

#define SAY(c, kind, path, ...) report_printf((c)->r, PAWL_SEVERITY_FAULT, kind, path, __VA_ARGS__)
#define WARN(c, kind, path, ...) report_printf((c)->r, PAWL_SEVERITY_WARNING, kind, path, __VA_ARGS__)

/* ---- what is reached ------------------------------------------------------------------------------- */

typedef struct reaching { shape *c; uint32_t from; } reaching;

static void reach_to(void *ctx, const char *to, const way *w)
{
    reaching *r = ctx;
    int at = meant(r->c, to);

    (void)w;
    if (r->from == START_INDEX)
        r->c->entry = true;
    if (at < 1 || r->c->from[at] != NOWHERE)
        return;
    r->c->from[at] = r->from;
    r->c->queue[r->c->nqueue++] = (uint32_t)at;
}

/* Sources are resolved as targets are: a misspelled one is the node that it means. */
static bool joins_find(shape *c)
{
    size_t n = 1;
    uint32_t *nodes;

    for (const join *j = c->g->joins; j != NULL; j = j->next)
        n += j->nfrom;
    if ((nodes = arena_get(c->mem, n * sizeof *nodes)) == NULL)
        return false;
    n = 0;
    for (const join *j = c->g->joins; j != NULL; j = j->next)
        for (uint32_t i = 0; i < j->nfrom; i++) {
            const int at = meant(c, j->from[i]);

            nodes[n++] = at < 1 ? NOWHERE : (uint32_t)at;
        }
    if (!join_index_make(&c->joins, c->mem, c->g, nodes))
        return false;
    c->reached = arena_zero(c->mem, (c->joins.njoins + 1) * sizeof *c->reached);
    c->ripe = arena_get(c->mem, (c->joins.njoins + 1) * sizeof *c->ripe);
    return !c->mem->failed;
}

/* A source of these joins is reached. */
static void sources_reached(shape *c, uint32_t node)
{
    for (uint32_t i = c->joins.first[node]; i < c->joins.first[node + 1]; i++) {
        const uint32_t number = c->joins.numbers[i];

        if (++c->reached[number] == c->joins.joins[number]->k)
            c->ripe[c->nripe++] = number;
    }
}

/* The last of its sources that is reached. */
static uint32_t last_reached(const shape *c, const join *j)
{
    for (uint32_t i = j->nfrom; i-- > 0;) {
        const int at = meant(c, j->from[i]);

        if (at > 0 && c->from[at] != NOWHERE)
            return (uint32_t)at;
    }
    return START_INDEX;
}

static void reach_all(shape *c)
{
    uint32_t done = 0, joined = 0;

    for (size_t i = 0; i < c->g->nnodes; i++)
        c->from[i] = NOWHERE;
    each_target(c->g, c->g->nodes[START_INDEX], reach_to, &(reaching){ c, START_INDEX });
    while (done < c->nqueue || joined < c->nripe)
        if (done < c->nqueue) {
            sources_reached(c, c->queue[done]);
            each_target(c->g, c->g->nodes[c->queue[done]], reach_to, &(reaching){ c, c->queue[done] });
            done++;
        } else {
            const join *j = c->joins.joins[c->ripe[joined++]];

            reach_to(&(reaching){ c, last_reached(c, j) }, j->to, NULL);
        }
}

/* ---- ways on ------------------------------------------------------------------------------------------- */

static void check_target(shape *c, uint32_t at, const char *kind, const char *what, const char *to)
{
    const char *name = c->g->nodes[at]->name;
    char hint[HINT_BYTES];

    if (strcmp(to, PAWL_START) == 0)
        SAY(c, kind, path_to(c, at, to), "%s: node \"%s\": nothing leads back to \"%s\"", c->label, name, PAWL_START);
    else if (!is_end(to) && node_index(c->g, to) < 0)
        SAY(c, kind, path_to(c, at, to), "%s: node \"%s\": no node \"%.80s\"%s%s", c->label, name, to, what, hint_node(c, hint, to));
}

static bool way_leads(const way *w)
{
    return w->kind != WAY_ROUTE || w->ntargets > 0 || w->otherwise != NULL;
}

static void check_way_on(shape *c, uint32_t at)
{
    const gnode *n = c->g->nodes[at];
    bool leads = n->ngotos > 0;

    for (const way *w = n->ways; w != NULL && !leads; w = w->next)
        leads = way_leads(w);
    leads = leads || c->source[at];
    if (at == START_INDEX && !c->entry)
        SAY(c, "no-entry", "", "%s: no entry: give \"%s\" an edge", c->label, PAWL_START);
    else if (at != START_INDEX && !leads)
        SAY(c, "no-way-on", path_to(c, at, NULL), "%s: node \"%s\": no way on: give it an edge, to \"%s\" where the graph ends",
            c->label, n->name, PAWL_END);
}

/* Whether an earlier edge of the node leads there too; called for the edges of one node after another. */
static bool edge_before(shape *c, uint32_t at, const way *w)
{
    const gnode *n = c->g->nodes[at];
    const int to = node_index(c->g, w->to);

    if (to >= 0) {
        const bool before = c->edged[to] == at + 1;

        c->edged[to] = at + 1;
        return before;
    }
    for (const way *other = n->ways; other != w; other = other->next)
        if (other->kind == WAY_EDGE && strcmp(other->to, w->to) == 0)
            return true;
    return false;
}

static void check_ways(shape *c, uint32_t at)
{
    const gnode *n = c->g->nodes[at];
    bool when = false, otherwise = false;

    for (const way *w = n->ways; w != NULL; w = w->next) {
        if (w->kind == WAY_WHEN)
            when = true, otherwise = otherwise || w->when == NULL;
        if (w->kind != WAY_ROUTE)
            check_target(c, at, "unknown-target", "", w->to);
        for (uint32_t i = 0; i < w->ntargets; i++)
            check_target(c, at, "unknown-target", "", w->targets[i]);
        if (w->otherwise != NULL)
            check_target(c, at, "unknown-target", "", w->otherwise);
        if (w->kind == WAY_EDGE && edge_before(c, at, w))
            WARN(c, "duplicate-way", path_to(c, at, w->to), "%s: node \"%s\": more than one edge to \"%.80s\"", c->label, n->name,
                 w->to);
    }
    for (uint32_t i = 0; i < n->ngotos; i++)
        check_target(c, at, "undeclared-goto", " to go to", n->gotos[i]);
    if (n->gate_no != NULL)
        check_target(c, at, "unknown-target", "", n->gate_no);
    if (when && !otherwise)
        WARN(c, "no-else", path_to(c, at, NULL), "%s: node \"%s\": no else: the run fails when no condition holds", c->label, n->name);
    check_way_on(c, at);
}

/* ---- nodes -------------------------------------------------------------------------------------------------- */

/* The path to the reachable node that is furthest from @start. */
static const char *path_of_reach(shape *c)
{
    return path_to(c, c->nqueue > 0 ? c->queue[c->nqueue - 1] : START_INDEX, NULL);
}

static void check_retry(shape *c, const char *whose, const char *name, const pawl_retry *r)
{
    if (!isfinite(r->factor) || r->factor < 0)
        SAY(c, "bad-retry", "", "%s: %s%s%s: the factor of its retry is a number from 0 on", c->label, whose, name, *name != '\0' ? "\"" : "");
}

/* `inside` is the shape of the subgraph. */
static void check_maps(shape *c, const gnode *n, const shape *inside)
{
    char hint[HINT_BYTES];

    for (const map *m = n->maps; m != NULL; m = m->next) {
        if (graph_channel(c->g, m->outer) == NULL)
            SAY(c, "bad-map", "", "%s: map of \"%s\": no channel \"%.80s\" outside%s", c->label, n->name, m->outer,
                hint_channel(c, hint, m->outer));
        if (graph_channel(inside->g, m->inner) == NULL)
            SAY(c, "bad-map", "", "%s: map of \"%s\": no channel \"%.80s\" inside%s", c->label, n->name, m->inner,
                hint_channel(inside, hint, m->inner));
    }
}

static void check_node(shape *c, uint32_t at)
{
    const gnode *n = c->g->nodes[at];
    char hint[HINT_BYTES];

    if (at == START_INDEX && (n->gate != NULL || n->gate_no != NULL || n->gate_waits || n->before || n->after || n->defer || n->hooks != NULL ||
                              n->has_retry || n->has_limits || n->nwrites > 0 || n->requires != RANK_NONE))
        SAY(c, "bad-start", "", "%s: \"%s\" never runs: it has ways on, and nothing else", c->label, PAWL_START);
    check_ways(c, at);
    if (at != START_INDEX && c->entry && c->from[at] == NOWHERE)
        SAY(c, "unreachable", path_of_reach(c), "%s: node \"%s\": nothing reaches it", c->label, n->name);
    if (n->gate_no != NULL && n->gate_waits)
        SAY(c, "two-noes", "", "%s: node \"%s\": a no leads to \"%.80s\", and keeps it waiting: one of the two", c->label, n->name, n->gate_no);
    if (n->gate_waits && n->gate == NULL)
        WARN(c, "no-gate", "", "%s: node \"%s\": a no keeps it waiting, but nobody is asked: it has no gate", c->label, n->name);
    if (n->gate_no != NULL && n->gate == NULL)
        WARN(c, "no-gate", "", "%s: node \"%s\": a no leads to \"%.80s\", but nobody is asked: it has no gate", c->label, n->name,
             n->gate_no);
    if (n->has_retry)
        check_retry(c, "node \"", n->name, &n->retry);
    for (uint32_t i = 0; i < n->nwrites; i++)
        if (graph_channel(c->g, n->writes[i]) == NULL)
            SAY(c, "unknown-channel", "", "%s: node \"%s\": no channel \"%.80s\" to write%s", c->label, n->name, n->writes[i],
                hint_channel(c, hint, n->writes[i]));
}

/* ---- joins ----------------------------------------------------------------------------------------------------- */

static bool source_before(const join *j, uint32_t i)
{
    for (uint32_t k = 0; k < i; k++)
        if (strcmp(j->from[k], j->from[i]) == 0)
            return true;
    return false;
}

static void check_source(shape *c, const join *j, uint32_t i)
{
    int at = node_index(c->g, j->from[i]);
    char hint[HINT_BYTES];

    if (at >= 0 ? c->waited[at] == j : source_before(j, i)) {
        SAY(c, "join-never-fires", "", "%s: join \"%.100s\": source \"%.64s\" is declared twice", c->label, j->name, j->from[i]);
        return;
    }
    if (at >= 0)
        c->waited[at] = j;
    if (at == START_INDEX)
        SAY(c, "join-never-fires", "", "%s: join \"%.100s\": \"%s\" never runs, so it is never done", c->label, j->name, PAWL_START);
    else if (at < 0)
        SAY(c, "unknown-source", "", "%s: join \"%.100s\": no node \"%.64s\"%s", c->label, j->name, j->from[i],
            hint_node(c, hint, j->from[i]));
}

/* Reports unreachable sources when too few reachable ones are left; unknown names are reported elsewhere. */
static void check_sources_reached(shape *c, uint32_t number)
{
    const join *j = c->joins.joins[number];

    for (uint32_t i = 0; c->entry && i < j->nfrom; i++)
        if (meant(c, j->from[i]) < 1)
            return;
    if (!c->entry || c->reached[number] >= j->k)
        return;
    for (uint32_t i = 0; i < j->nfrom; i++) {
        int at = node_index(c->g, j->from[i]);

        if (at > 0 && c->from[at] == NOWHERE)
            SAY(c, "join-never-fires", path_of_reach(c), "%s: join \"%.100s\": nothing reaches its source \"%.64s\"", c->label, j->name,
                j->from[i]);
    }
}

/* Also notes its name. */
static bool join_is_twice(shape *c, uint32_t number)
{
    const char *name = c->joins.joins[number]->name;
    const uint32_t h = name_hash(name);
    uint32_t at = hash_index_first(&c->join_names, h), i;

    while ((i = hash_index_next(&c->join_names, h, &at)) != UINT32_MAX)
        if (strcmp(c->joins.joins[i]->name, name) == 0)
            return true;
    if (!hash_index_add(&c->join_names, &c->mem->alloc, h, number))
        c->mem->failed = true;
    return false;
}

static void check_join(shape *c, uint32_t number)
{
    const join *j = c->joins.joins[number];
    char hint[HINT_BYTES];

    if (join_is_twice(c, number))
        SAY(c, "duplicate-join", "", "%s: join \"%.100s\" is declared twice", c->label, j->name);
    for (uint32_t i = 0; i < j->nfrom; i++)
        check_source(c, j, i);
    if (is_end(j->to))
        SAY(c, "join-never-fires", "", "%s: join \"%.100s\": nothing runs at \"%s\"", c->label, j->name, PAWL_END);
    else if (node_index(c->g, j->to) < 1)
        SAY(c, "unknown-target", "", "%s: join \"%.100s\": no node \"%.64s\"%s", c->label, j->name, j->to, hint_node(c, hint, j->to));
    if (j->nfrom == 0)
        SAY(c, "join-never-fires", "", "%s: join \"%.100s\": it has no sources", c->label, j->name);
    else if (j->k == UINT32_MAX)
        SAY(c, "join-never-fires", "", "%s: join \"%.100s\": it waits for more than its %lu sources", c->label, j->name,
            (unsigned long)j->nfrom);
    else
        check_sources_reached(c, number);
}

/* ---- channels, effects -------------------------------------------------------------------------------------------- */

const char *first_due(pawl_rule rule, pawl_type type)
{
    switch (rule) {
    case PAWL_RULE_APPEND:
    case PAWL_RULE_UNION:
    case PAWL_RULE_TOPIC:
    case PAWL_RULE_BARRIER:
        return type == PAWL_TYPE_ARRAY ? NULL : "an array";
    case PAWL_RULE_SUM:
        return type == PAWL_TYPE_INT || type == PAWL_TYPE_REAL ? NULL : "a number";
    case PAWL_RULE_MIN:
    case PAWL_RULE_MAX:
        return type == PAWL_TYPE_INT || type == PAWL_TYPE_REAL || type == PAWL_TYPE_STRING ? NULL : "a number or a string";
    case PAWL_RULE_MERGE:
        return type == PAWL_TYPE_OBJECT ? NULL : "an object";
    case PAWL_RULE_LAST:
    case PAWL_RULE_SINGLE:
    case PAWL_RULE_EPHEMERAL:
    case PAWL_RULE_CUSTOM:
        break;
    }
    return NULL;
}

/* No text on several lines, nor an endless one. */
static bool is_place(const char *text)
{
    for (const char *at = text; *at != '\0'; at++)
        if ((unsigned char)*at < ' ' || *at == 127)
            return false;
    return *text != '\0' && strlen(text) < SECRET_PLACE_BYTES;
}

bool secret_valid(const char *secret)
{
    static const char *const forms[] = { "env:", "file:", "given:" };

    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (strncmp(secret, forms[i], strlen(forms[i])) == 0)
            return i == 0 ? variable_name_valid(secret + strlen(forms[i])) : is_place(secret + strlen(forms[i]));
    return false;
}

static void check_channel(shape *c, const pawl_channel *ch)
{
    pawl_err err = {0};
    const pawl_value *first;
    const char *due;

    if (ch->secret != NULL && (ch->first != NULL || ch->rule != PAWL_RULE_LAST))
        SAY(c, "bad-secret", "", "%s: channel \"%s\": a secret has the rule last, and no first value", c->label, ch->name);
    else if (ch->secret != NULL && !secret_valid(ch->secret))
        SAY(c, "bad-secret", "", "%s: channel \"%s\": a secret is \"env:NAME\" of one variable, \"file:PATH\" or \"given:NAME\"", c->label, ch->name);
    if (ch->first == NULL)
        return;
    first = value_parse(c->mem, ch->first, strlen(ch->first), "its first value", &err);
    if (first == NULL && err.code == PAWL_NOMEM)
        c->r->mem.failed = true;
    else if (first == NULL)
        SAY(c, "bad-first", "", "%s: channel \"%s\": %s", c->label, ch->name, err.text);
    else if (first != NULL && (due = first_due(ch->rule, pawl_value_type(first))) != NULL)
        SAY(c, "bad-first", "", "%s: channel \"%s\": its first value is %s, by the rule %s", c->label, ch->name, due,
            pawl_rule_name(ch->rule));
}

static void check_effect(shape *c, const effect_decl *e)
{
    const char *why;

    check_retry(c, "effect \"", e->name, &e->limits.retry);
    if ((int)e->limits.cls < 0 || e->limits.cls > PAWL_CLASS_ONCE)
        SAY(c, "bad-class", "", "%s: effect \"%s\": %d is no class", c->label, e->name, (int)e->limits.cls);
    else if ((why = limits_error(&e->limits)) != NULL)
        SAY(c, "bad-class", "", "%s: effect \"%s\": %s", c->label, e->name, why);
}

/* ---- one graph, and those inside -------------------------------------------------------------------------------------- */

/* Adds the mistakes that the builder recorded. Texts of a subgraph start with its own name, which is replaced by its path. */
static void check_kept(shape *c)
{
    size_t own = strlen(c->g->name);

    for (const fault *f = c->g->faults; f != NULL; f = f->next) {
        bool inner = *c->g->where != '\0', leads = strncmp(f->f.text, c->g->name, own) == 0 && f->f.text[own] == ':';

        report_printf(c->r, f->f.severity, f->f.kind, f->f.path, "%s%s%s", inner ? c->label : "", inner && !leads ? ": " : "",
                   f->f.text + (inner && leads ? own : 0));
    }
}

static bool shape_names(shape *c, const pawl_graph *g)
{
    c->g = g;
    c->names = arena_get(c->mem, g->nnodes * sizeof *c->names);
    c->channels = arena_get(c->mem, (g->nchannels + 1) * sizeof *c->channels);
    if (c->names == NULL || c->channels == NULL)
        return false;
    for (size_t i = 1; i < g->nnodes; i++)
        c->names[i - 1] = g->nodes[i]->name;
    for (size_t i = 0; i < g->nchannels; i++)
        c->channels[i] = g->channels[i].c.name;
    return true;
}

static void check_inner(shape *c, const gnode *n)
{
    shape inside = { .r = c->r, .mem = c->mem };        /* only its names are used */
    size_t outer = strlen(c->label), name = strlen(n->name);
    char *label = arena_get(c->mem, outer + name + 2);

    if (label == NULL || !shape_names(&inside, n->sub))
        return;
    memcpy(label, c->label, outer);
    label[outer] = '/';
    memcpy(label + outer + 1, n->name, name + 1);
    check_maps(c, n, &inside);
    if (n->sub->turns != NULL)
        SAY(c, "turns-in-subgraph", "", "%s: turns are the run's own, and this is a subgraph", label);
    if (!graph_validate(n->sub, label, c->r))
        c->r->mem.failed = true;
}

static void sources_mark(shape *c)
{
    for (const join *j = c->g->joins; j != NULL; j = j->next)
        for (uint32_t i = 0; i < j->nfrom; i++) {
            const int at = node_index(c->g, j->from[i]);

            if (at >= 0)
                c->source[at] = true;
        }
}

bool graph_validate(const pawl_graph *g, const char *label, pawl_report *r)
{
    arena mem;
    shape c = { .r = r, .label = label, .mem = &mem };
    bool good;

    arena_init(&mem, &g->alloc, SHAPE_BYTES_FIRST);
    good = shape_names(&c, g) && (c.from = arena_get(&mem, g->nnodes * sizeof *c.from)) != NULL &&
           (c.queue = arena_get(&mem, g->nnodes * sizeof *c.queue)) != NULL && (c.source = arena_zero(&mem, g->nnodes)) != NULL &&
           (c.edged = arena_zero(&mem, g->nnodes * sizeof *c.edged)) != NULL &&
           (c.waited = arena_zero(&mem, g->nnodes * sizeof *c.waited)) != NULL && joins_find(&c);
    if (good) {
        sources_mark(&c);
        check_kept(&c);
        for (size_t i = 0; i < g->nchannels; i++)
            check_channel(&c, &g->channels[i].c);
        for (size_t i = 0; i < g->neffects; i++)
            check_effect(&c, &g->effects[i]);
        if (g->has_retry)
            check_retry(&c, "the retry of every node", "", &g->retry);
        reach_all(&c);
        for (uint32_t i = 0; i < g->nnodes; i++)
            check_node(&c, i);
        for (uint32_t i = 0; i < c.joins.njoins; i++)
            check_join(&c, i);
        for (size_t i = 0; i < g->nnodes; i++)
            if (g->nodes[i]->sub != NULL)
                check_inner(&c, g->nodes[i]);
    }
    hash_index_free(&c.join_names, &mem.alloc);
    good = good && !mem.failed && !r->mem.failed;
    arena_free(&mem);
    return good;
}
