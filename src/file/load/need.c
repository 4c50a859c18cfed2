/* need.c - joins with `need` that may not do what they say: a round that leaves a source out, a source behind the join, a way past the sources.
 *
 * Called by check.c, for a file whose nodes are all read. Owns nothing. Only what follows from the names of nodes is known here: whether a `when` holds is
 * not, so all it says are warnings. Invariant: a node is marked in a round when it was reached by the edges that the round follows. The work for all joins of
 * a file is bounded; joins that are left are named. */
#include "file/load/load.h"

#include <string.h>

enum { STEPS_MAX = 1 << 23 };   /* edges that are followed for all joins of a file */

/* Edges by node: to[first[i]] up to to[first[i + 1]]. */
typedef struct edge_list { size_t *first, *to; } edge_list;

typedef struct need_check {
    loader *l;
    edge_list surely, surely_back, perhaps, perhaps_back;
    size_t *mark, round;        /* by node: the last round in which it was marked */
    size_t *queue, n;           /* the nodes that this round has marked */
    size_t *under, *touched;    /* by node: how many sources follow on it; and those for which that is not 0 */
    size_t steps;
    bool failed;                /* no memory, or too many steps */
} need_check;

/* ---- edges ----------------------------------------------------------------------------------------------------------- */

static const char *sure_target(const file_node *n, size_t i)
{
    return n->each_at.line == 0 && n->nways == 0 && i < n->next.n ? n->next.names[i].name : NULL;
}

/* *more: there are further ones; a target in between may be NULL. */
static const char *target(const file_node *n, size_t i, bool *more)
{
    *more = true;
    if (i < n->next.n)
        return n->next.names[i].name;
    if ((i -= n->next.n) < n->nways)
        return n->ways[i].to;
    switch (i - n->nways) {
    case 0: return n->each_node;
    case 1: return n->on_no.name;
    case 2: return n->on_error.name;
    default: *more = false; return NULL;
    }
}

/* Adds the edges of `e` (first[] is 0 then) or counts them (to NULL): a way of counting and filling that needs no second table. */
static void edges_walk(const agent_file *a, edge_list *e, bool sure, bool back)
{
    for (size_t i = 0; i < a->nnodes; i++) {
        bool more = true;

        for (size_t k = 0; more; k++) {
            const char *name = target(&a->nodes[i], k, &more);
            const file_node *to;
            size_t at;

            if (sure)
                name = sure_target(&a->nodes[i], k);
            if (name == NULL || (to = file_node_find(a, name)) == NULL)
                continue;
            at = back ? (size_t)(to - a->nodes) : i;
            if (e->to == NULL)
                e->first[at + 2]++;
            else
                e->to[e->first[at + 1]++] = back ? i : (size_t)(to - a->nodes);
        }
    }
}

static bool edges_make(loader *l, edge_list *e, bool sure, bool back)
{
    const size_t nodes = l->a->nnodes;
    size_t *to;

    *e = (edge_list){ .first = arena_zero(l->mem, (nodes + 2) * sizeof *e->first) };
    if (e->first == NULL)
        return false;
    edges_walk(l->a, e, sure, back);
    for (size_t i = 2; i < nodes + 2; i++)
        e->first[i] += e->first[i - 1];
    if ((to = arena_get(l->mem, (e->first[nodes + 1] + 1) * sizeof *to)) == NULL)
        return false;
    e->to = to;
    edges_walk(l->a, e, sure, back);
    return true;
}

static bool need_new(need_check *c, loader *l)
{
    const size_t size = (l->a->nnodes + 1) * sizeof(size_t);

    *c = (need_check){ .l = l, .mark = arena_zero(l->mem, size), .queue = arena_get(l->mem, size), .under = arena_zero(l->mem, size),
        .touched = arena_get(l->mem, size) };
    return c->mark != NULL && c->queue != NULL && c->under != NULL && c->touched != NULL && edges_make(l, &c->surely, true, false) &&
           edges_make(l, &c->surely_back, true, true) && edges_make(l, &c->perhaps, false, false) && edges_make(l, &c->perhaps_back, false, true);
}

/* ---- rounds ------------------------------------------------------------------------------------------------------------ */

static void round_begin(need_check *c) { c->round++, c->n = 0; }
static bool marked(const need_check *c, size_t at) { return c->mark[at] == c->round; }

static void mark(need_check *c, size_t at)
{
    if (!marked(c, at))
        c->queue[c->n++] = at;
    c->mark[at] = c->round;
}

static void follow(need_check *c, const edge_list *e, size_t from)
{
    c->failed = c->failed || (c->steps += e->first[from + 1] - e->first[from] + 1) > STEPS_MAX;
    for (size_t k = e->first[from]; !c->failed && k < e->first[from + 1]; k++)
        mark(c, e->to[k]);
}

/* Marks all nodes that the marked ones lead to; `past` is marked and not followed. */
static void spread(need_check *c, const edge_list *e, size_t past)
{
    for (size_t i = 0; i < c->n && !c->failed; i++)
        if (c->queue[i] != past)
            follow(c, e, c->queue[i]);
}

/* ---- joins ------------------------------------------------------------------------------------------------------------------ */

static size_t number_of(const need_check *c, const file_node *n) { return (size_t)(n - c->l->a->nodes); }
static const file_node *source(const need_check *c, const file_node *n, size_t i) { return file_node_find(c->l->a, n->join.names[i].name); }

static bool in_loop(need_check *c, const file_node *n)
{
    round_begin(c);
    follow(c, &c->perhaps, number_of(c, n));
    spread(c, &c->perhaps, SIZE_MAX);
    return marked(c, number_of(c, n));
}

/* The node that most sources follow on: the first of several. */
static size_t root_of(need_check *c, size_t touched)
{
    size_t best = c->touched[0];

    for (size_t i = 1; i < touched; i++)
        if (c->under[c->touched[i]] > c->under[best] || (c->under[c->touched[i]] == c->under[best] && c->touched[i] < best))
            best = c->touched[i];
    return best;
}

/* A source that a round may leave out: no node is followed by all of the sources. NULL: every round has all of them. */
static const file_node *left_out(need_check *c, const file_node *n)
{
    size_t touched = 0, root = 0;
    bool all;

    for (size_t i = 0; i < n->join.n && !c->failed; i++) {
        round_begin(c);
        if (source(c, n, i) != NULL)
            mark(c, number_of(c, source(c, n, i)));
        spread(c, &c->surely_back, SIZE_MAX);
        for (size_t k = 0; k < c->n; k++)
            if (c->under[c->queue[k]]++ == 0)
                c->touched[touched++] = c->queue[k];
    }
    if (touched > 0)
        root = root_of(c, touched);
    all = touched == 0 || c->under[root] == n->join.n;
    for (size_t i = 0; i < touched; i++)
        c->under[c->touched[i]] = 0;
    if (all)
        return NULL;
    round_begin(c);
    mark(c, root);
    spread(c, &c->surely, SIZE_MAX);
    for (size_t i = 0; i < n->join.n; i++)
        if (source(c, n, i) != NULL && !marked(c, number_of(c, source(c, n, i))))
            return source(c, n, i);
    return NULL;
}

static void check_behind(need_check *c, const file_node *n)
{
    const agent_file *a = c->l->a;

    round_begin(c);
    for (size_t i = 0; i < a->start.n; i++)
        if (file_node_find(a, a->start.names[i].name) != NULL)
            mark(c, number_of(c, file_node_find(a, a->start.names[i].name)));
    spread(c, &c->perhaps, number_of(c, n));
    for (size_t i = 0; i < n->join.n && !c->failed; i++)
        if (source(c, n, i) != NULL && !marked(c, number_of(c, source(c, n, i))))
            fault_at(c->l->f, n->join.names[i].at, PAWL_SEVERITY_WARNING, "need", "\"%s\" runs only after \"%s\", which joins it: it never counts for `need`; "
                     "take it out of `of`", n->join.names[i].name, n->name);
}

static void check_past(need_check *c, const file_node *n)
{
    const edge_list *e = &c->perhaps_back;
    const size_t at = number_of(c, n);

    round_begin(c);
    for (size_t i = 0; i < n->join.n; i++)
        if (source(c, n, i) != NULL)
            mark(c, number_of(c, source(c, n, i)));
    for (size_t k = e->first[at]; k < e->first[at + 1]; k++) {
        if (!marked(c, e->to[k]))
            fault_at(c->l->f, n->join_at, PAWL_SEVERITY_WARNING, "need", "\"%s\" has `need`, and \"%s\" leads to it past its sources: it runs once more for that "
                     "way; join all of its sources, or lead elsewhere", n->name, c->l->a->nodes[e->to[k]].name);
        mark(c, e->to[k]);      /* it may lead there twice */
    }
}

static void check_loop(need_check *c, const file_node *n)
{
    const file_node *missing = in_loop(c, n) ? left_out(c, n) : NULL;

    if (missing != NULL && !c->failed)
        fault_at(c->l->f, n->join_at, PAWL_SEVERITY_WARNING, "need", "\"%s\" has `need` in a loop, and a round may leave out \"%s\": the next round then runs "
                 "\"%s\" only when nothing else is left to run; let one node lead to all sources in every round", n->name, missing->name, n->name);
}

static bool needs(const file_node *n) { return n->join_need > 0 && n->join_need < n->join.n; }

void check_need(loader *l)
{
    const agent_file *a = l->a;
    need_check c;
    size_t i = 0;

    while (i < a->nnodes && !needs(&a->nodes[i]))
        i++;
    if (i == a->nnodes || a->bad_target || !need_new(&c, l))
        return;
    for (; i < a->nnodes && !c.failed; i++)
        if (needs(&a->nodes[i])) {
            check_behind(&c, &a->nodes[i]);
            check_past(&c, &a->nodes[i]);
            check_loop(&c, &a->nodes[i]);
            if (c.failed)
                fault_at(l->f, a->nodes[i].join_at, PAWL_SEVERITY_WARNING, "need", "\"%s\" and the joins with `need` after it were not checked for rounds that "
                         "leave out a source: the file has too many edges", a->nodes[i].name);
        }
}
