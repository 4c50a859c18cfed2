/* settle.c - joins whose branches were not taken (G3): what can still come to a join, and which way passes its sources by.
 *
 * compile.c calls joins_prepare() once; next.c and search.c ask. Pure.
 *
 * A source that was not taken counts as done. So a way by a route or a goto to the target of a join, past sources that it might have led to, is held as
 * one who was here (JOIN_PASSED); and when nothing else is left to run, the joins that have begun fire with what they have. */
#include "graph/graph.h"

#include <string.h>

typedef struct settle_lead { const pawl_graph *g; const join *j; bool leads, direct; } settle_lead;

static void settle_target(void *ctx, const char *to, const way *w)
{
    settle_lead *l = ctx;
    const int at = node_index(l->g, to);

    (void)w;
    if (at < 1)
        return;
    l->direct = l->direct || (uint32_t)at == l->j->to_at;
    l->leads = l->leads || ((uint32_t)at != l->j->to_at && l->j->leads[at]);
}

static bool settle_source(const join *j, uint32_t at)
{
    for (uint32_t i = 0; i < j->nfrom; i++)
        if (j->at[i] == at)
            return true;
    return false;
}

/* Also by the joins that the node is a source of. */
static settle_lead settle_look(const pawl_graph *g, const join *j, uint32_t at)
{
    settle_lead l = { g, j, false, false };

    each_target(g, g->nodes[at], settle_target, &l);
    for (const join *k = g->joins; k != NULL; k = k->next)
        if (k != j && k->to_at != j->to_at && j->leads[k->to_at] && settle_source(k, at))
            l.leads = true;
    return l;
}

static bool join_prepare(pawl_graph *g, join *j)
{
    bool more = true;

    j->leads = arena_zero(&g->mem, 2 * g->nnodes * sizeof *j->leads);
    if (j->leads == NULL)
        return false;
    j->passes = j->leads + g->nnodes;
    for (uint32_t i = 0; i < j->nfrom; i++)
        j->leads[j->at[i]] = j->at[i] != j->to_at;
    while (more) {
        more = false;
        for (uint32_t i = (uint32_t)g->nnodes - 1; i > 0; i--)
            if (i != j->to_at && !j->leads[i] && settle_look(g, j, i).leads)
                j->leads[i] = more = true;
    }
    for (uint32_t i = 1; i < g->nnodes; i++)
        j->passes[i] = i != j->to_at && j->leads[i] && !settle_source(j, i) && settle_look(g, j, i).direct;
    return true;
}

bool joins_prepare(pawl_graph *g)
{
    for (join *j = g->settles ? g->joins : NULL; j != NULL; j = j->next)
        if (!join_prepare(g, j))
            return false;
    return true;
}

bool join_later(const join *j, const join *other)
{
    return j != other && j->leads[other->to_at];
}
