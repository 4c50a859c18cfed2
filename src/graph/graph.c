/* graph.c - queries of a compiled graph: the graph of a machine, of a path of subgraphs, and the targets of a node. Read only; any thread. */
#include "graph/graph.h"
#include "kernel/machine.h"
#include "kernel/names.h"

#include <string.h>

const char graph_kind[] = "graph";

const pawl_graph *graph_of(const pawl_machine *m)
{
    return m != NULL && m->ops->kind == graph_kind ? ((const graph_machine *)m)->g : NULL;
}

const pawl_graph *graph_at(const pawl_machine *m, const char *where)
{
    const pawl_graph *g = graph_of(m);
    char name[NAME_BYTES_MAX + 1];

    while (g != NULL && *where != '\0') {
        size_t n = strcspn(where, "/");
        const gnode *sub;

        if (n > NAME_BYTES_MAX)
            return NULL;
        memcpy(name, where, n);
        name[n] = '\0';
        sub = node_find(g, name);
        g = sub != NULL ? sub->sub : NULL;
        where += where[n] == '/' ? n + 1 : n;
    }
    return g;
}

void each_target(const pawl_graph *g, const gnode *n, see_target_fn *see, void *ctx)
{
    (void)g;
    for (const way *w = n->ways; w != NULL; w = w->next) {
        if (w->kind != WAY_ROUTE)
            see(ctx, w->to, w);
        for (uint32_t i = 0; i < w->ntargets; i++)
            see(ctx, w->targets[i], w);
        if (w->otherwise != NULL)
            see(ctx, w->otherwise, w);
    }
    for (uint32_t i = 0; i < n->ngotos; i++)
        see(ctx, n->gotos[i], NULL);
    if (n->gate_no != NULL)
        see(ctx, n->gate_no, NULL);
}
