/* need.c - joins with `need` that may not do what they say: a round that leaves a source out, a source behind the join, a way past its sources.
 *
 * Called by check.c, for a file whose nodes are all read. Owns nothing. Only what follows from the names of nodes is known here: whether a `when` holds is
 * not, so all it says are warnings. Invariant: a node that is marked was reached by ways of the kind that is followed. */
#include "file/load/load.h"

#include <string.h>

typedef bool follow_fn(const file_node *from, const file_node *to, const void *ctx);
typedef struct node_marks { bool *at; size_t *queue, n; } node_marks;     /* by node */

static size_t number_of(const loader *l, const file_node *n) { return (size_t)(n - l->a->nodes); }

static bool among(const name_list *names, const char *name)
{
    for (size_t i = 0; i < names->n; i++)
        if (strcmp(names->names[i].name, name) == 0)
            return true;
    return false;
}

/* Each run of `from` is followed by one of `to`. */
static bool surely(const file_node *from, const file_node *to, const void *ctx)
{
    (void)ctx;
    return from->each_at.line == 0 && from->nways == 0 && among(&from->next, to->name);
}

static bool is(const char *name, const file_node *to) { return name != NULL && strcmp(name, to->name) == 0; }

static bool perhaps(const file_node *from, const file_node *to, const void *ctx)
{
    if (from == ctx)            /* the join: what is behind it is not asked for */
        return false;
    for (size_t i = 0; i < from->nways; i++)
        if (is(from->ways[i].to, to))
            return true;
    return among(&from->next, to->name) || is(from->each_node, to) || is(from->on_no.name, to) || is(from->on_error.name, to);
}

static void mark(node_marks *m, size_t at)
{
    if (!m->at[at])
        m->queue[m->n++] = at;
    m->at[at] = true;
}

/* All nodes that the marked ones lead to, or with `back`, that lead to them. */
static void spread(loader *l, node_marks *m, bool back, follow_fn *follows, const void *ctx)
{
    const agent_file *a = l->a;

    for (size_t i = 0; i < m->n; i++)
        for (size_t k = 0; k < a->nnodes; k++)
            if (back ? follows(&a->nodes[k], &a->nodes[m->queue[i]], ctx) : follows(&a->nodes[m->queue[i]], &a->nodes[k], ctx))
                mark(m, k);
}

static bool marks_new(loader *l, node_marks *m)
{
    *m = (node_marks){ .at = arena_zero(l->mem, l->a->nnodes + 1), .queue = arena_get(l->mem, (l->a->nnodes + 1) * sizeof *m->queue) };
    return m->at != NULL && m->queue != NULL;
}

static const file_node *source(const loader *l, const file_node *n, size_t i) { return file_node_find(l->a, n->join.names[i].name); }

static bool in_loop(loader *l, const file_node *n)
{
    node_marks m;

    if (!marks_new(l, &m))
        return false;
    for (size_t k = 0; k < l->a->nnodes; k++)
        if (perhaps(n, &l->a->nodes[k], NULL))
            mark(&m, k);
    spread(l, &m, false, perhaps, NULL);
    return m.at[number_of(l, n)];
}

/* A source that a round may leave out: no node is followed by all of the sources. NULL: every round has all of them. */
static const file_node *left_out(loader *l, const file_node *n)
{
    const agent_file *a = l->a;
    size_t *under = arena_zero(l->mem, (a->nnodes + 1) * sizeof *under), most = 0;
    node_marks m;

    for (size_t i = 0; under != NULL && i < n->join.n; i++) {
        if (source(l, n, i) == NULL || !marks_new(l, &m))
            return NULL;
        mark(&m, number_of(l, source(l, n, i)));
        spread(l, &m, true, surely, NULL);
        for (size_t k = 0; k < a->nnodes; k++)
            under[k] += m.at[k];
    }
    for (size_t k = 1; under != NULL && k < a->nnodes; k++)
        most = under[k] > under[most] ? k : most;
    if (under == NULL || a->nnodes == 0 || under[most] == n->join.n)
        return NULL;
    if (!marks_new(l, &m))
        return NULL;
    mark(&m, most);
    spread(l, &m, false, surely, NULL);
    for (size_t i = 0; i < n->join.n; i++)
        if (!m.at[number_of(l, source(l, n, i))])
            return source(l, n, i);
    return NULL;
}

static void check_behind(loader *l, const file_node *n)
{
    node_marks m;

    if (!marks_new(l, &m))
        return;
    for (size_t i = 0; i < l->a->start.n; i++)
        if (file_node_find(l->a, l->a->start.names[i].name) != NULL)
            mark(&m, number_of(l, file_node_find(l->a, l->a->start.names[i].name)));
    spread(l, &m, false, perhaps, n);
    for (size_t i = 0; i < n->join.n; i++)
        if (source(l, n, i) != NULL && !m.at[number_of(l, source(l, n, i))])
            fault_at(l->f, n->join.names[i].at, PAWL_SEVERITY_WARNING, "need", "\"%s\" runs only after \"%s\", which joins it: it never counts for `need`; "
                     "take it out of `of`", n->join.names[i].name, n->name);
}

void check_need(loader *l, const file_node *n)
{
    const file_node *missing;

    if (n->join_need == 0 || n->join_need >= n->join.n || l->a->bad_target)
        return;
    check_behind(l, n);
    for (size_t k = 0; k < l->a->nnodes; k++)
        if (!among(&n->join, l->a->nodes[k].name) && perhaps(&l->a->nodes[k], n, NULL))
            fault_at(l->f, n->join_at, PAWL_SEVERITY_WARNING, "need", "\"%s\" has `need`, and \"%s\" leads to it past its sources: it runs once more for that "
                     "way; join all of its sources, or lead elsewhere", n->name, l->a->nodes[k].name);
    if (in_loop(l, n) && (missing = left_out(l, n)) != NULL)
        fault_at(l->f, n->join_at, PAWL_SEVERITY_WARNING, "need", "\"%s\" has `need` in a loop, and a round may leave out \"%s\": that round never ends, and in "
                 "the next one \"%s\" may not run; let one node lead to all sources in every round", n->name, missing->name, n->name);
}
