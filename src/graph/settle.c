/* settle.c - joins whose branches were not taken (G3): what can still come to a join, and which way passes its sources by.
 *
 * compile.c calls joins_prepare() once; next.c and search.c ask. Pure.
 *
 * A source that was not taken counts as done. So a way by a route or a goto to the target of a join, past sources that it might have led to, is held as
 * one who was here (JOIN_PASSED); and when nothing else is left to run, the joins that have begun fire with what they have. */
#include "graph/graph.h"

#include <string.h>

enum { SETTLE_BYTES_FIRST = 4096 };

/* The nodes that lead to each node, found once for all joins: those before node i are at from first[i] to first[i + 1]. */
typedef struct settle_back {
    const pawl_graph *g;
    uint32_t *first, *filled, *before;
    uint32_t *direct;           /* by node: how many of them lead to it by a way of their own; these come first */
    uint32_t at, *todo;         /* the node whose targets are listed; the nodes that are still to be examined */
    bool *source;               /* of the join in hand */
} settle_back;

static void settle_count(void *ctx, const char *to, const way *w)
{
    settle_back *b = ctx;
    const int at = node_index(b->g, to);

    (void)w;
    if (at > 0)
        b->first[at + 1]++;
}

static void settle_fill(void *ctx, const char *to, const way *w)
{
    settle_back *b = ctx;
    const int at = node_index(b->g, to);

    (void)w;
    if (at > 0)
        b->before[b->first[at] + b->filled[at]++] = b->at;
}

static void settle_each(settle_back *b, see_target_fn *see)
{
    for (b->at = START_INDEX + 1; b->at < b->g->nnodes; b->at++)
        each_target(b->g, b->g->nodes[b->at], see, b);
}

/* The direct ways to a node first: only they can pass a join by. Then the sources of the joins of the node. */
static bool settle_index(settle_back *b, arena *mem)
{
    const size_t n = b->g->nnodes;

    b->first = arena_zero(mem, (n + 1) * sizeof *b->first);
    b->filled = arena_zero(mem, n * sizeof *b->filled);
    b->direct = arena_get(mem, n * sizeof *b->direct);
    b->todo = arena_get(mem, n * sizeof *b->todo);
    b->source = arena_get(mem, n * sizeof *b->source);
    if (b->first == NULL || b->filled == NULL || b->direct == NULL || b->todo == NULL || b->source == NULL)
        return false;
    settle_each(b, settle_count);
    for (const join *j = b->g->joins; j != NULL; j = j->next)
        b->first[j->to_at + 1] += j->nfrom;
    for (size_t i = 0; i < n; i++)
        b->first[i + 1] += b->first[i];
    if ((b->before = arena_get(mem, (b->first[n] + 1) * sizeof *b->before)) == NULL)
        return false;
    settle_each(b, settle_fill);
    memcpy(b->direct, b->filled, n * sizeof *b->direct);
    for (const join *j = b->g->joins; j != NULL; j = j->next)
        for (uint32_t i = 0; i < j->nfrom; i++)
            b->before[b->first[j->to_at] + b->filled[j->to_at]++] = j->at[i];
    return true;
}

/* One search backward from the sources, not over the target. */
static bool join_prepare(pawl_graph *g, join *j, settle_back *b)
{
    uint32_t n = 0;

    j->leads = arena_zero(&g->mem, 2 * g->nnodes * sizeof *j->leads);
    if (j->leads == NULL)
        return false;
    j->passes = j->leads + g->nnodes;
    memset(b->source, 0, g->nnodes * sizeof *b->source);
    for (uint32_t i = 0; i < j->nfrom; i++) {
        const uint32_t at = j->at[i];

        b->source[at] = true;
        if (at != j->to_at && !j->leads[at])
            j->leads[b->todo[n++] = at] = true;
    }
    while (n > 0) {
        const uint32_t at = b->todo[--n];

        for (uint32_t i = b->first[at]; i < b->first[at + 1]; i++)
            if (b->before[i] != j->to_at && !j->leads[b->before[i]])
                j->leads[b->todo[n++] = b->before[i]] = true;
    }
    for (uint32_t i = 0; i < b->direct[j->to_at]; i++) {
        const uint32_t at = b->before[b->first[j->to_at] + i];

        j->passes[at] = at != j->to_at && j->leads[at] && !b->source[at];
    }
    return true;
}

/* Takes nodes times ways at most: this is done at each load of a file. */
bool joins_prepare(pawl_graph *g)
{
    settle_back b = { .g = g };
    arena mem;
    bool good;

    if (!g->settles || g->joins == NULL)
        return true;
    arena_init(&mem, &g->alloc, SETTLE_BYTES_FIRST);
    good = settle_index(&b, &mem);
    for (join *j = g->joins; j != NULL && good; j = j->next)
        good = join_prepare(g, j, &b);
    arena_free(&mem);
    return good;
}

bool join_later(const join *j, const join *other)
{
    return j != other && j->leads[other->to_at];
}
