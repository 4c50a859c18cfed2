/* check.c - checks that the parts of an agent file agree: channels, nodes, edges, expressions.
 *
 * Called by load.c after a file was read, on one thread. Adds faults, and records which expressions each node evaluates. */
#include "file/load/load.h"
#include "file/read.h"
#include "graph/graph.h"

/* ---- names ----------------------------------------------------------------------------------------- */

/* Names of all nodes, and `end` last; NULL: no memory. */
static const char *const *node_names(loader *l, size_t *n)
{
    agent_file *a = l->a;

    *n = a->nnodes + 1;
    if (a->names != NULL || (a->names = arena_get(l->mem, *n * sizeof *a->names)) == NULL)
        return a->names;
    for (size_t i = 0; i < a->nnodes; i++)
        a->names[i] = a->nodes[i].name;
    a->names[a->nnodes] = "end";
    return a->names;
}

/* The node with that name, or the one of which it is a misspelling: then the nodes after it are not reported as unreachable. NULL: none. */
static file_node *node_meant(loader *l, const char *name)
{
    file_node *n = file_node_find(l->a, name);
    const char *const *names, *meant;
    size_t count;

    if (n != NULL || l->a->root->guesses++ >= GUESSES_MAX || (names = node_names(l, &count)) == NULL)
        return n;
    return (meant = name_meant(name, names, count)) != NULL ? file_node_find(l->a, meant) : NULL;
}

static bool end_meant(const char *name)
{
    static const char *const words[] = { "done", "END", "End", "finish", "finished", "stop", "exit", "__end__" };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(name, words[i]) == 0)
            return true;
    return false;
}

static bool node_exists(loader *l, const char *name, source_place at, const char *what, bool end)
{
    const char *const *names;
    size_t n;

    if (file_node_find(l->a, name) != NULL || (end && strcmp(name, "end") == 0))
        return true;
    l->a->bad_target = l->a->bad_target || node_meant(l, name) == NULL;
    if (strcmp(name, "end") == 0)
        fault_at(l->f, at, PAWL_SEVERITY_FAULT, "unknown-node", "%s: `end` is where the run ends, and no node", what);
    else if (end && end_meant(name))
        fault_at(l->f, at, PAWL_SEVERITY_FAULT, "unknown-node", "%s \"%s\": where the run ends is `end`", what, name);
    else if (l->a->nnodes > 0 && (names = node_names(l, &n)) != NULL)
        fault_hint(l, at, "unknown-node", what, name, names, end ? n : n - 1);
    return false;
}

/* ---- expressions ---------------------------------------------------------------------------------------- */

typedef struct expr_check {     /* where the expressions that are checked stand */
    loader *l;
    file_node *n;               /* NULL: of the file itself */
    bool secrets;               /* a secret may be here as a whole value */
    bool joined;                /* and as a part of a text, which the handler joins */
    bool collect;               /* expressions are evaluated before the node does anything */
} expr_check;

static bool is_given(const file_node *n, const char *name)
{
    for (size_t i = 0; n != NULL && i < n->ngiven; i++)
        if (strcmp(n->given[i], name) == 0)
            return true;
    return false;
}

static bool name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* jq reads `.my-file` as `.my` minus `file`. True: that is reported. */
static bool dash_meant(expr_check *v, const expression *e, size_t n)
{
    for (size_t i = 0; i < v->l->a->nchannels; i++) {
        const char *name = v->l->a->channels[i].c.name;
        size_t m = strlen(name);

        if (m <= n || name[n] != '-' || strncmp(e->text + 1, name, m) != 0 || name_char(e->text[1 + m]) || e->text[1 + m] == '-')
            continue;
        fault_at(v->l->f, e->at, PAWL_SEVERITY_FAULT, "unknown-channel", "in an expression `-` subtracts: write `.[\"%s\"]` for the channel \"%s\"",
            name, name);
        return true;
    }
    return false;
}

/* Reports a name that is neither a channel nor sent to the node. */
static void name_unknown(expr_check *v, const expression *e, const char *name)
{
    const agent_file *a = v->l->a;
    const size_t given = v->n != NULL ? v->n->ngiven : 0;
    const char **names = arena_get(v->l->mem, (a->nchannels + given + 1) * sizeof *names);
    size_t n = 0;

    for (size_t i = 0; names != NULL && i < a->nchannels; i++)
        names[n++] = a->channels[i].c.name;
    for (size_t i = 0; names != NULL && i < given; i++)
        names[n++] = v->n->given[i];
    if (names != NULL)
        channel_missing(v->l, e->at, "the state has no channel", name, names, n);
}

/* An expression that begins with `.name` begins with that channel, whatever follows. */
static void see_first(expr_check *v, const expression *e, const char *first, bool whole)
{
    const file_channel *c = file_channel_find(v->l->a, first);

    for (size_t i = 0; i < v->l->a->nunplaced; i++)
        if (strcmp(v->l->a->unplaced[i], first) == 0)
            return;
    if (is_given(v->n, first))
        return;
    if (c == NULL)
        name_unknown(v, e, first);
    else if (c->c.secret != NULL && !(v->secrets && (whole || (v->joined && e->path && e->nsteps == 1))))
        fault_at(v->l->f, e->at, PAWL_SEVERITY_FAULT, "secret", "channel \"%s\" is a secret: it stands as a whole argument, variable or stdin, \"{{.%s}}\", or in a "
                 "header, and nowhere else", first, first);
}

static void see_path(expr_check *v, const expression *e, bool whole)
{
    if (e->nsteps > 0 && e->steps[0].key == NULL)
        fault_at(v->l->f, e->at, PAWL_SEVERITY_FAULT, "expression", "`%.*s`: `.` is a map of all channels, and has no elements: name a channel first",
                 shown(e->text, strlen(e->text)), e->text);
    else if (e->nsteps > 0)
        see_first(v, e, e->steps[0].key, whole && e->nsteps == 1);
}

static void see_jq(expr_check *v, expression *e)
{
    file_node *n = v->n;
    size_t size = 0;
    const char *first;

    while (e->text[0] == '.' && name_char(e->text[1 + size]))
        size++;
    if (size > 0 && (e->text[1] < '0' || e->text[1] > '9') && !dash_meant(v, e, size) && (first = arena_strdup(v->l->mem, e->text + 1, size)) != NULL)
        see_first(v, e, first, false);
    if (v->collect && n != NULL && arena_room(v->l->mem, (void **)&n->body, &n->body_cap, n->nbody, sizeof *n->body))
        n->body[n->nbody++] = e;
}

static void see(void *ctx, expression *e, bool whole, bool keeps)
{
    (void)keeps;
    if (e->path)
        see_path(ctx, e, whole);
    else
        see_jq(ctx, e);
}

/* Places of a command where a secret may be: arguments, variables, stdin, headers, and any argument of a plug-in. */
static void see_call(expr_check *v, const form *args)
{
    static const char *const places[] = { "run", "env", "stdin", "headers", "with" };

    for (size_t i = 0; args != NULL && i < args->n; i++) {
        if (strcmp(args->keys[i], "undo") == 0) {
            see_call(v, args->items[i]);
            continue;
        }
        v->secrets = false;
        for (size_t k = 0; k < sizeof places / sizeof *places; k++)
            v->secrets = v->secrets || (v->n->kind != KIND_TOOL && strcmp(args->keys[i], places[k]) == 0);
        v->joined = v->n->kind == KIND_HTTP && strcmp(args->keys[i], "headers") == 0;
        form_each(args->items[i], see, v);
    }
    v->secrets = v->joined = false;
}

static void check_expressions(loader *l, file_node *n)
{
    expr_check v = { .l = l, .n = n, .collect = true };

    form_each(n->ask, see, &v);
    form_each(n->fail, see, &v);
    see_call(&v, n->call);
    form_each(n->cwd, see, &v);
    form_each(n->undo_cwd, see, &v);
    for (size_t i = 0; i < n->nsets; i++)
        form_each(n->sets[i].f, see, &v);
    form_each(n->until, see, &v);
    v.collect = false;
    n->chooses = n->chooses || (n->each_of != NULL && n->next.n > 1);       /* a route leads to one node only */
    for (size_t i = 0; i < n->nways; i++)
        if (n->ways[i].when != NULL)
            see(&v, n->ways[i].when, true, true);
    if (n->each_of != NULL)
        see(&v, n->each_of, true, true);
}

/* ---- elements that `each` sends to a task, by their names ------------------------------------------------------------------------- */

/* False: it was there already. */
static bool given_add(loader *l, file_node *n, const char *name)
{
    if (n == NULL || is_given(n, name) || !arena_room(l->mem, (void **)&n->given, &n->given_cap, n->ngiven, sizeof *n->given))
        return false;
    n->given[n->ngiven++] = name;
    return true;
}

/* An element that was sent to a failed node is passed on to its `on_error` node, and so on. */
static void given_on(loader *l)
{
    agent_file *a = l->a;
    bool *due = arena_zero(l->mem, a->nnodes + 1);
    size_t *queue = arena_get(l->mem, (a->nnodes + 1) * sizeof *queue), first = 0, count = 0;

    for (size_t i = 0; due != NULL && queue != NULL && i < a->nnodes; i++)
        if (a->nodes[i].ngiven > 0 && a->nodes[i].on_error.name != NULL)
            queue[count++] = i, due[i] = true;
    while (count > 0) {
        const file_node *n = &a->nodes[queue[first]];
        file_node *to = n->on_error.name != NULL ? node_meant(l, n->on_error.name) : NULL;
        bool more = false;

        due[queue[first]] = false;
        first = (first + 1) % (a->nnodes + 1);
        count--;
        for (size_t k = 0; k < n->ngiven; k++)
            more = given_add(l, to, n->given[k]) || more;
        if (more && !due[to - a->nodes]) {
            due[to - a->nodes] = true;
            queue[(first + count++) % (a->nnodes + 1)] = (size_t)(to - a->nodes);
        }
    }
}

/* A graph receives an element in one of its channels. */
static void graph_given(loader *l, const file_node *to, const char *name, source_place at, const char *key)
{
    const char *what;

    if (to == NULL || to->inner == NULL || (what = load_fmt(l, "`%s`: graph \"%s\" has no channel for what it is sent,", key, to->name)) == NULL)
        return;
    (void)channel_in(l, to->inner, name, at, what);
}

static void check_given(loader *l)
{
    agent_file *a = l->a;

    if ((a->unplaced = arena_get(l->mem, (a->nnodes + 1) * sizeof *a->unplaced)) == NULL)
        return;
    for (size_t i = 0; i < a->nnodes; i++) {
        const file_node *n = &a->nodes[i];

        if (n->each_as != NULL && (n->each_node == NULL || node_meant(l, n->each_node) == NULL))
            a->unplaced[a->nunplaced++] = n->each_as;
        if (n->each_node != NULL) {
            given_add(l, node_meant(l, n->each_node), n->each_as);
            graph_given(l, file_node_find(a, n->each_node), n->each_as, n->each_as_at, "as");
            if (file_channel_find(a, n->each_as) != NULL)
                fault_at(l->f, n->each_as_at, PAWL_SEVERITY_FAULT, "each", "`as`: \"%s\" is a channel, and would hide it: take another name", n->each_as);
        }
        if (n->on_error.name != NULL)
            given_add(l, node_meant(l, n->on_error.name), "error");
    }
    given_on(l);
    for (size_t i = 0; i < a->nnodes; i++) {
        const named_place *to = &a->nodes[i].on_error;
        const file_node *graph = to->name != NULL ? file_node_find(a, to->name) : NULL;

        graph_given(l, graph, "error", to->at, "on_error");
        for (size_t k = 0; graph != NULL && k < a->nodes[i].ngiven; k++)
            graph_given(l, graph, a->nodes[i].given[k], to->at, "on_error");
    }
}

/* ---- where nodes lead --------------------------------------------------------------------------------------------- */

static void check_ways(loader *l, file_node *n)
{
    const char *what = load_fmt(l, "\"%s\" leads to no node", n->name);

    for (size_t i = 0; what != NULL && i < n->next.n; i++)
        node_exists(l, n->next.names[i].name, n->next.names[i].at, what, true);
    for (size_t i = 0; what != NULL && i < n->nways; i++)
        node_exists(l, n->ways[i].to, n->ways[i].at, what, true);
    if (what != NULL && n->each_node != NULL)
        node_exists(l, n->each_node, n->each_node_at, what, false);
    if (what != NULL && n->on_no.name != NULL)
        node_exists(l, n->on_no.name, n->on_no.at, what, true);
    if (what != NULL && n->on_error.name != NULL)
        node_exists(l, n->on_error.name, n->on_error.at, what, true);
    if (n->next_at.line != 0 || n->d->kind != DOC_MAP || n->d->size == 0 || n->kind == KIND_FAIL)
        return;
    l->a->bad_target = true;
    if (key_there(n->d, "next"))
        return;
    fault_at(l->f, n->at, PAWL_SEVERITY_FAULT, "no-way-on", n->each_at.line != 0 ? "\"%s\" has `each` and no `next`: say where an empty list goes" :
             "\"%s\" has no `next`: name the node that follows, or say `next: end`", n->name);
}

static bool leads_sometimes(const file_node *from, const char *to)
{
    for (size_t i = 0; i < from->nways; i++)
        if (strcmp(from->ways[i].to, to) == 0)
            return true;
    return false;
}

static void check_join(loader *l, const file_node *n)
{
    const char *what = load_fmt(l, "`join` of \"%s\" names no node", n->name);

    for (size_t i = 0; what != NULL && i < n->join.n; i++) {
        const named_place *from = &n->join.names[i];
        const file_node *source = node_exists(l, from->name, from->at, what, false) ? file_node_find(l->a, from->name) : NULL;
        bool leads = source == NULL || source->next_at.line == 0;

        for (size_t k = 0; !leads && k < source->next.n; k++)
            leads = strcmp(source->next.names[k].name, n->name) == 0;
        if (source != NULL && source->each_at.line != 0)
            fault_at(l->f, from->at, PAWL_SEVERITY_FAULT, "join", "\"%s\" joins \"%s\", which has `each`: the node that its tasks lead to waits for all of them anyway, "
                     "without `join`", n->name, from->name);
        else if (!leads && leads_sometimes(source, n->name))
            fault_at(l->f, from->at, PAWL_SEVERITY_FAULT, "join",
                     "\"%s\" joins \"%s\", which leads there only when its `when` holds: a source must always lead to the join", n->name, from->name);
        else if (!leads && (source->nways > 0 || source->next.n > 0))
            fault_at(l->f, from->at, PAWL_SEVERITY_FAULT, "join", "\"%s\" joins \"%s\", whose `next` does not name it: say `next: %s` there", n->name,
                from->name,
                     n->name);
    }
}

typedef void see_way_fn(loader *l, const file_node *from, file_node *to, void *ctx);

static void see_way(loader *l, const file_node *from, const char *to, see_way_fn *see_to, void *ctx)
{
    file_node *n = to != NULL ? node_meant(l, to) : NULL;

    if (n != NULL)
        see_to(l, from, n, ctx);
}

static void each_way(loader *l, const file_node *n, see_way_fn *see_to, void *ctx)
{
    see_way(l, n, n->each_node, see_to, ctx);
    for (size_t k = 0; k < n->next.n; k++)
        see_way(l, n, n->next.names[k].name, see_to, ctx);
    for (size_t k = 0; k < n->nways; k++)
        see_way(l, n, n->ways[k].to, see_to, ctx);
    see_way(l, n, n->on_no.name, see_to, ctx);
    see_way(l, n, n->on_error.name, see_to, ctx);
}

enum { SEEN_FROM = 1, SEEN = 2, SEEN_REPORTED = 4, SEEN_LED = 8 };   /* from: a reached node leads to it; led: an unreached node leads to it */

/* What is known while edges are followed. By node: the joins that wait for it, joins[first[i]] up to joins[first[i + 1]]; how many of its sources a join
 * still waits for; and the node, plus 1, whose edges are followed and for which it waits. */
typedef struct reach_walk { unsigned char *seen; size_t *first, *joins, *missing, *source, *queue, n; } reach_walk;

/* By join and source, the node that is meant; NULL: none, or no memory. A name is looked up once: the guesses at misspelled ones are counted. */
static const file_node **sources_find(loader *l, size_t *total)
{
    const agent_file *a = l->a;
    const file_node **all;
    size_t n = 0;

    *total = 0;
    for (size_t i = 0; i < a->nnodes; i++)
        *total += a->nodes[i].join.n;
    if ((all = arena_get(l->mem, (*total + 1) * sizeof *all)) == NULL)
        return NULL;
    for (size_t i = 0; i < a->nnodes; i++)
        for (size_t k = 0; k < a->nodes[i].join.n; k++)
            all[n++] = node_meant(l, a->nodes[i].join.names[k].name);
    return all;
}

static bool reach_new(loader *l, reach_walk *r)
{
    const agent_file *a = l->a;
    size_t nodes = a->nnodes, total;
    const file_node **sources = sources_find(l, &total);

    *r = (reach_walk){ .seen = arena_zero(l->mem, nodes + 1), .first = arena_zero(l->mem, (nodes + 2) * sizeof *r->first),
        .joins = arena_get(l->mem, (total + 1) * sizeof *r->joins), .missing = arena_zero(l->mem, (nodes + 1) * sizeof *r->missing),
        .source = arena_zero(l->mem, (nodes + 1) * sizeof *r->source), .queue = arena_get(l->mem, (nodes + 1) * sizeof *r->queue) };
    if (sources == NULL || r->seen == NULL || r->first == NULL || r->joins == NULL || r->missing == NULL || r->source == NULL || r->queue == NULL)
        return false;
    for (size_t i = 0; i < total; i++)
        if (sources[i] != NULL)
            r->first[sources[i] - a->nodes + 2]++;
    for (size_t i = 2; i < nodes + 2; i++)
        r->first[i] += r->first[i - 1];
    for (size_t i = 0, at = 0; i < nodes; i++) {
        const file_node *n = &a->nodes[i];
        const size_t spare = n->join_need > 0 && n->join_need < n->join.n ? n->join.n - n->join_need : 0;

        for (size_t k = 0; k < n->join.n; k++, at++)
            if (sources[at] != NULL) {
                r->joins[r->first[sources[at] - a->nodes + 1]++] = i;
                r->missing[i]++;
            }
        r->missing[i] -= r->missing[i] < spare ? r->missing[i] : spare;
    }
    return true;
}

static void reach_add(reach_walk *r, size_t at)
{
    if ((r->seen[at] & SEEN) != 0)
        return;
    r->seen[at] |= SEEN;
    r->queue[r->n++] = at;
    for (size_t k = r->first[at]; k < r->first[at + 1]; k++)
        r->missing[r->joins[k]] -= r->missing[r->joins[k]] > 0;
}

/* A join is reached when enough of its sources are, or by an edge that it does not wait for. */
static void reached(loader *l, const file_node *from, file_node *to, void *ctx)
{
    const agent_file *a = l->a;
    reach_walk *r = ctx;
    const size_t at = (size_t)(to - a->nodes);

    r->seen[at] |= SEEN_FROM;
    if (r->source[at] != (size_t)(from - a->nodes) + 1 || r->missing[at] == 0)
        reach_add(r, at);
}

typedef struct followers { unsigned char *seen; size_t *queue, n; } followers;

static void reported_add(loader *l, const file_node *from, file_node *to, void *ctx)
{
    followers *r = ctx;
    size_t at = (size_t)(to - l->a->nodes);

    (void)from;
    if ((r->seen[at] & (SEEN | SEEN_REPORTED)) != 0)
        return;
    r->seen[at] |= SEEN_REPORTED;
    r->queue[r->n++] = at;
}

/* Reports that node; those that it leads to are marked, so that they are not reported, too. */
static void unreached_report(loader *l, followers *r, size_t at)
{
    const unsigned char *seen = r->seen;
    const file_node *n = &l->a->nodes[at], *missing = NULL;

    for (size_t i = 0; i < n->join.n && missing == NULL; i++) {
        const file_node *source = node_meant(l, n->join.names[i].name);

        missing = source != NULL && (seen[source - l->a->nodes] & SEEN) == 0 ? source : NULL;
    }
    if ((seen[at] & SEEN_FROM) != 0 && missing != NULL)
        fault_at(l->f, n->join_at, PAWL_SEVERITY_FAULT, "join", "\"%s\" waits for \"%s\", to which nothing leads before \"%s\" has run", n->name, missing->name,
                 n->name);
    else
        fault_at(l->f, n->at, PAWL_SEVERITY_FAULT, "unreachable", "no path from the start leads to \"%s\": name it in a `next`, or remove it", n->name);
    r->n = 0;
    reported_add(l, NULL, &l->a->nodes[at], r);
    for (size_t i = 0; i < r->n; i++)
        each_way(l, &l->a->nodes[r->queue[i]], reported_add, r);
}

static void leads_to(loader *l, const file_node *from, file_node *to, void *ctx)
{
    unsigned char *seen = ctx;

    if (from != to)
        seen[to - l->a->nodes] |= SEEN_LED;
}

/* Reports joins that wait in vain, then nodes that nothing leads to, then one node of each remaining cycle; but no nodes after a reported one. */
static void check_unreached(loader *l, unsigned char *seen)
{
    followers r = { .seen = seen, .queue = arena_get(l->mem, (l->a->nnodes + 1) * sizeof *r.queue) };

    for (size_t i = 0; i < l->a->nnodes; i++)
        if ((seen[i] & SEEN) == 0)
            each_way(l, &l->a->nodes[i], leads_to, seen);
    for (unsigned round = 0; r.queue != NULL && round < 3; round++)
        for (size_t i = 0; i < l->a->nnodes; i++)
            if ((seen[i] & (SEEN | SEEN_REPORTED)) == 0 && (round == 2 || (round == 0 ? (seen[i] & SEEN_FROM) != 0 : (seen[i] & SEEN_LED) == 0)))
                unreached_report(l, &r, i);
}

/* Follows all edges until nothing new is reached. */
static void check_reach(loader *l)
{
    agent_file *a = l->a;
    reach_walk r;

    if (a->bad_target || !reach_new(l, &r))
        return;
    for (size_t i = 0; i < a->start.n; i++)
        if (node_meant(l, a->start.names[i].name) != NULL)
            reach_add(&r, (size_t)(node_meant(l, a->start.names[i].name) - a->nodes));
    for (size_t i = 0; i < r.n; i++) {
        for (size_t k = r.first[r.queue[i]]; k < r.first[r.queue[i] + 1]; k++)
            r.source[r.joins[k]] = r.queue[i] + 1;
        each_way(l, &a->nodes[r.queue[i]], reached, &r);
    }
    check_unreached(l, r.seen);
}

/* ---- channels ----------------------------------------------------------------------------------------------------- */

static void check_maps(loader *l, file_node *n)
{
    size_t shared = 0;

    for (size_t i = 0; i < n->nmaps; i++) {
        const mapping *m = &n->maps[i];
        const file_channel *outer = channel_in(l, l->a, m->outer, m->outer_at, "the state has no channel"), *inner;
        const char *what = n->inner != NULL ? load_fmt(l, "graph %s has no channel", n->inner->path) : NULL;

        inner = what != NULL ? channel_in(l, n->inner, m->inner, m->inner_at, what) : NULL;
        if ((outer != NULL && outer->c.secret != NULL) || (inner != NULL && inner->c.secret != NULL))
            fault_at(l->f, m->outer_at, PAWL_SEVERITY_FAULT, "secret", "`%s`: a secret is not passed on: declare it in the graph's own `state`, too",
                     m->in ? "in" : "out");
    }
    if (n->kind != KIND_GRAPH || n->inner == NULL || n->maps_given ||
        (n->maps = arena_zero(l->mem, (l->a->nchannels + 1) * sizeof *n->maps)) == NULL)
        return;
    for (size_t i = 0; i < l->a->nchannels; i++) {
        const file_channel *c = &l->a->channels[i], *inner = file_channel_find(n->inner, c->c.name);

        if (inner != NULL && c->c.secret == NULL && inner->c.secret == NULL)
            n->maps[shared++] = (mapping){ .outer = c->c.name, .inner = c->c.name, .outer_at = n->kind_at, .inner_at = n->kind_at, .in = true, .out = true };
    }
    n->nmaps = shared;
}

/* ---- one node -------------------------------------------------------------------------------------------------------- */

static source_place key_at(const file_node *n, const char *name)
{
    for (size_t i = 0; n->d->kind == DOC_MAP && i < n->d->size; i++)
        if (strcmp(n->d->keys[i]->text, name) == 0)
            return n->d->keys[i]->at;
    return n->at;
}

static void check_default(loader *l, const file_node *n, const doc *key)
{
    pawl_err err = {0};
    if (n->schema != NULL && schema_check(n->schema, n->otherwise, "`default`", &err) != PAWL_OK) {
        fault_at(l->f, key->at, PAWL_SEVERITY_FAULT, "default", "%s", err.text);
        return;
    }
    if (n->options != NULL && !value_one_of(n->options, n->otherwise))
        fault_at(l->f, key->at, PAWL_SEVERITY_FAULT, "default", "`default` is none of the `options`");
}

static void check_question(loader *l, const file_node *n)
{
    const doc *key = doc_get(n->d, "default"), *timeout = doc_get(n->d, "timeout");

    if (n->on_no.name != NULL || n->no_waits)
        fault_at(l->f, key_at(n, "on_no"), PAWL_SEVERITY_FAULT, "misplaced",
                 "`on_no` is for a gate: after a question `next` with `when` chooses by the answer");
    if (timeout != NULL && key == NULL)
        fault_at(l->f, key_at(n, "timeout"), PAWL_SEVERITY_FAULT, "default", "a question with `timeout` needs `default`, the answer when the time is over");
    if (key != NULL && timeout == NULL)
        fault_at(l->f, key_at(n, "default"), PAWL_SEVERITY_FAULT, "default",
                 "a question with `default` needs `timeout`, after which the default is the answer");
    if (key != NULL && n->otherwise != NULL)
        check_default(l, n, key);
}

static void check_ask(loader *l, const file_node *n)
{
    static const char *const only_signal[] = { "to", "timeout" };

    if (n->kind == KIND_GRAPH && n->ask != NULL)
        for (size_t i = 0; i < n->ask->text.npieces; i++)
            if (n->ask->text.pieces[i].e != NULL)
                fault_at(l->f, n->ask->at, PAWL_SEVERITY_FAULT, "ask", "the gate of a graph is a plain text: put the question in a node before it");
    if (n->approvers != NULL && (n->kind == KIND_ASK || n->kind == KIND_GRAPH || n->kind == KIND_WAIT))
        fault_at(l->f, key_at(n, "approvers"), PAWL_SEVERITY_FAULT, "misplaced", "`approvers` sign the approval of a node that does something: %s",
                 n->kind == KIND_GRAPH ? "put a node with `ask` and `approvers` before this graph" : "a question and a wait take any answer");
    else if (n->approvers != NULL && n->ask == NULL && n->requires == PAWL_MODE_NONE && l->a->root->permissions == NULL)
        fault_at(l->f, key_at(n, "approvers"), PAWL_SEVERITY_FAULT, "misplaced", "nobody is asked at \"%s\", so nobody can sign: add `ask: TEXT`", n->name);
    if (n->kind == KIND_ASK)
        check_question(l, n);
    else if ((n->on_no.name != NULL || n->no_waits) && doc_get(n->d, "ask") == NULL && doc_get(n->d, "requires") == NULL)
        fault_at(l->f, key_at(n, "on_no"), PAWL_SEVERITY_FAULT, "misplaced",
            "`on_no` is the node after a denial, and nobody is asked at \"%s\": add `ask: TEXT`", n->name);
    for (size_t i = 0; n->kind == KIND_WAIT && !n->waits_for_signal && i < 2; i++)
        if (doc_get(n->d, only_signal[i]) != NULL)
            fault_at(l->f, key_at(n, only_signal[i]), PAWL_SEVERITY_FAULT, "misplaced",
                "`%s` is for a wait for a signal, {signal: NAME}: remove it", only_signal[i]);
}

static void check_effect(loader *l, file_node *n)
{
    if (n->limits.cls == PAWL_CLASS_COMPENSABLE && n->class_given && n->undo_effect == NULL)
        fault_at(l->f, n->effect_at, PAWL_SEVERITY_FAULT, "undo", "`effect: compensable` needs `undo: {run: [...]}`, the command that undoes it");
    if (n->undo_effect != NULL && n->limits.cls != PAWL_CLASS_COMPENSABLE)
        fault_at(l->f, key_at(n, "undo"), PAWL_SEVERITY_FAULT, "undo", "\"%s\" has `undo`: say `effect: compensable` with it", n->name);
    if ((n->kind == KIND_RUN || n->kind == KIND_SHELL || n->job || (n->kind == KIND_HTTP && !n->reads_only)) && doc_get(n->d, "effect") == NULL)
        fault_at(l->f, n->kind_at, PAWL_SEVERITY_WARNING, "effect",
                 "\"%s\" has no `effect`: after a crash it may run twice. Say `pure` (it changes nothing), `idempotent` (it uses %s) "
                 "or `once` (it must not, a person is asked)", n->name, n->job ? "the idempotency key of the job" : "PAWL_INVOCATION_ID");
}

/* ---- effects --------------------------------------------------------------------------------------------------------- */

static bool limits_plain(const pawl_limits *p)
{
    const pawl_limits none = {0};

    return p->cls == none.cls && p->retry.max_attempts <= 1 && p->attempt_timeout_ms == 0 && p->total_timeout_ms == 0 && p->heartbeat_ms == 0 &&
           p->inverse == NULL && p->on_unknown == NULL;
}

/* "run", or with limits of its own "run-" and eight digits of their digest: the same in every version of the file. */
static const char *effect_name(loader *l, const char *word, const pawl_limits *p)
{
    char hex[HASH_HEX + 1], factor[REAL_TEXT_MAX + 1];
    const char *text;
    hash h;

    if (limits_plain(p))
        return word;
    factor[real_text(p->retry.factor, factor)] = '\0';
    text = load_fmt(l, "%d %u %u %u %s %d %u %u %u %s", (int)p->cls, (unsigned)p->retry.max_attempts, (unsigned)p->retry.initial_ms,
                    (unsigned)p->retry.max_ms, factor, p->retry.jitter, (unsigned)p->attempt_timeout_ms, (unsigned)p->total_timeout_ms,
                    (unsigned)p->heartbeat_ms, p->inverse != NULL ? p->inverse : "");
    if (text == NULL)
        return NULL;
    hash_of(text, strlen(text), &h);
    hash_hex(&h, hex);
    return load_fmt(l, "%s-%.8s", word, hex);
}

static const char *effect_put(loader *l, const char *word, const pawl_limits *p)
{
    agent_file *root = l->a->root;
    const char *name = effect_name(l, word, p);
    file_effect *e;

    for (e = root->effects; name != NULL && e != NULL; e = e->next)
        if (strcmp(e->name, name) == 0)
            return e->name;
    if (name == NULL || (e = arena_zero(l->mem, sizeof *e)) == NULL)
        return NULL;
    *e = (file_effect){ .name = name, .word = word, .limits = *p, .next = root->effects };
    root->effects = e;
    return name;
}

static void check_limits(loader *l, file_node *n)
{
    const agent_file *a = l->a;
    const pawl_limits once_more = { .retry = { .max_attempts = 3, .initial_ms = 1000, .max_ms = 30000, .factor = 2 } };
    const pawl_retry job_retry = { .max_attempts = 3, .initial_ms = 1000, .max_ms = 60000, .factor = 2 };
    const char *word = n->kind == KIND_SHELL ? "run" : n->job ? load_fmt(l, FILE_JOB_PREFIX "%s", n->word) : n->word;

    if (n->kind == KIND_TOOL && n->tool != NULL && (word = load_fmt(l, "tool-%s", n->tool->name)) != NULL)
        n->effect = effect_put(l, word, &n->limits);
    if ((n->kind & (unsigned)KINDS_CALL) == 0 || n->call == NULL)
        return;
    if (!n->retry_given && a->has_retry)
        n->limits.retry = a->retry;
    else if (!n->retry_given && n->job && n->limits.cls != PAWL_CLASS_ONCE)
        n->limits.retry = job_retry;    /* a worker may be lost */
    if (!n->timeout_given && (a->attempt_ms > 0 || a->total_ms > 0))
        n->limits.attempt_timeout_ms = a->attempt_ms, n->limits.total_timeout_ms = a->total_ms;
    if (n->undo_effect != NULL)
        n->limits.inverse = effect_put(l, "undo", &once_more);
    n->effect = effect_put(l, word, &n->limits);
}

/* ---- the file ---------------------------------------------------------------------------------------------------------- */

static void check_named(loader *l, const name_list *names, const char *what, bool before)
{
    for (size_t i = 0; i < names->n; i++) {
        file_node *n = file_node_find(l->a, names->names[i].name);

        if (!node_exists(l, names->names[i].name, names->names[i].at, what, false) || n == NULL)
            continue;
        if (before)
            n->before = true;
        else
            n->after = true;
    }
}

/* `on_no: wait` is the word, unless a node is called `wait`, as in older files. */
static void on_no_resolve(loader *l, file_node *n)
{
    if (n->on_no.name == NULL || strcmp(n->on_no.name, "wait") != 0 || file_node_find(l->a, "wait") != NULL)
        return;
    n->on_no.name = NULL;
    n->no_waits = true;
}

static void check_node(loader *l, file_node *n)
{
    on_no_resolve(l, n);
    check_ways(l, n);
    check_join(l, n);
    check_writes(l, n);
    check_maps(l, n);
    check_ask(l, n);
    check_effect(l, n);
    check_model(l, n);
    check_expressions(l, n);
    check_limits(l, n);
}

void file_check(loader *l)
{
    agent_file *a = l->a;
    expr_check v = { .l = l };

    check_given(l);
    for (size_t i = 0; i < a->start.n; i++)
        node_exists(l, a->start.names[i].name, a->start.names[i].at, "`start` names no node", false);
    check_named(l, &a->before, "`interrupt_before` names no node", true);
    check_named(l, &a->after, "`interrupt_after` names no node", false);
    for (size_t i = 0; i < a->nnodes; i++)
        check_node(l, &a->nodes[i]);
    check_reach(l);
    check_need(l);
    if (a->moment != NULL && a->root->helpers == NULL)
        fault_at(l->f, a->moment_at, PAWL_SEVERITY_WARNING, "hooks", "a hook at %s is for agents, and no node here is one: it is never called", a->moment);
    if (a->output != NULL)
        see(&v, a->output, true, true);
}
