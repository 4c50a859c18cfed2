/* join_index.c - the joins of a graph by number, and by their sources. Used by validate.c, search.c and draw.c, each for its own time; pure but for memory. */
#include "graph/graph.h"

#include <string.h>

static void joins_number(join_index *x, arena *mem, const pawl_graph *g, size_t *sources)
{
    size_t n = 0;

    *sources = 0;
    for (const join *j = g->joins; j != NULL; j = j->next, n++)
        *sources += j->nfrom;
    if ((x->joins = arena_get(mem, (n + 1) * sizeof *x->joins)) == NULL)
        return;
    for (const join *j = g->joins; j != NULL; j = j->next)
        x->joins[x->njoins++] = j;
}

bool join_index_make(join_index *x, arena *mem, const pawl_graph *g, const uint32_t *meant)
{
    const size_t nnodes = g->nnodes;
    uint32_t *next;
    size_t n, at = 0;

    *x = (join_index){ .njoins = 0 };
    joins_number(x, mem, g, &n);
    x->first = arena_zero(mem, (nnodes + 2) * sizeof *x->first);
    x->numbers = arena_get(mem, (n + 1) * sizeof *x->numbers);
    if (mem->failed)
        return false;
    next = x->first + 1;        /* until all are in place: the next free place of each node */
    for (uint32_t k = 0; k < x->njoins; k++)
        for (uint32_t i = 0; i < x->joins[k]->nfrom; i++, at++) {
            const uint32_t source = meant != NULL ? meant[at] : x->joins[k]->at[i];

            if (source < nnodes)
                next[source + 1]++;
        }
    for (size_t i = 0; i < nnodes; i++)
        next[i + 1] += next[i];
    at = 0;
    for (uint32_t k = 0; k < x->njoins; k++)
        for (uint32_t i = 0; i < x->joins[k]->nfrom; i++, at++) {
            const uint32_t source = meant != NULL ? meant[at] : x->joins[k]->at[i];

            if (source < nnodes)
                x->numbers[next[source]++] = k;
        }
    return true;
}
