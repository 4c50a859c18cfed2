/* lookup.c - finds the channels, nodes and prices of an agent file by name.
 *
 * Pure; called when a file is read, when its machine is built, and in visits. Invariant: names are distinct (duplicate keys are refused). */
#include "file/load/load.h"

#include <stdlib.h>

static const char *const mode_words[] = { "", "Plan", "Default", "AcceptEdits", "BypassPermissions" };

const char *mode_spoken(pawl_mode m) { return mode_words[m]; }

/* ---- by name --------------------------------------------------------------------------------------- */

static const char *name_at(const void *one, bool node)
{
    return node ? ((const file_node *)one)->name : ((const file_channel *)one)->c.name;
}

static int channel_order(const void *a, const void *b) { return strcmp(name_at(*(const void *const *)a, false), name_at(*(const void *const *)b, false)); }
static int node_order(const void *a, const void *b) { return strcmp(name_at(*(const void *const *)a, true), name_at(*(const void *const *)b, true)); }

void names_order(loader *l)
{
    agent_file *a = l->a;
    const void **channels = arena_get(l->mem, (a->nchannels + 1) * sizeof *channels), **nodes = arena_get(l->mem, (a->nnodes + 1) * sizeof *nodes);

    if (channels == NULL || nodes == NULL)
        return;
    for (size_t i = 0; i < a->nchannels; i++)
        channels[i] = &a->channels[i];
    for (size_t i = 0; i < a->nnodes; i++)
        nodes[i] = &a->nodes[i];
    if (a->nchannels > 0)
        qsort(channels, a->nchannels, sizeof *channels, channel_order);
    if (a->nnodes > 0)
        qsort(nodes, a->nnodes, sizeof *nodes, node_order);
    a->channel_order = channels;
    a->node_order = nodes;
}

static const void *find(const void *const *order, size_t n, const char *name, bool node)
{
    size_t from = 0, to = order != NULL ? n : 0;

    while (from < to) {
        size_t middle = from + (to - from) / 2;
        int c = strcmp(name_at(order[middle], node), name);

        if (c == 0)
            return order[middle];
        if (c < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return NULL;
}

file_channel *file_channel_find(const agent_file *a, const char *name)
{
    return (file_channel *)(uintptr_t)find(a->channel_order, a->nchannels, name, false);
}

file_node *file_node_find(const agent_file *a, const char *name)
{
    return (file_node *)(uintptr_t)find(a->node_order, a->nnodes, name, true);
}
