/* agent_facts.c - what the simulation of agents remembers and looks up: digests that were seen, agents and tools by name.
 *
 * Owns the sets of digests. Called by agents.c, model.c and rules.c, on the thread of pawl_sim. */
#include "sim/agents.h"

#include <string.h>

/* ---- chance, and what was seen ------------------------------------------------------------------------------ */

uint64_t mark_of(const char *kind, const char *text, const pawl_value *v)
{
    uint64_t out = 0;
    hash h;
    buf b;

    buf_init(&b, NULL);
    buf_fmt(&b, "%s %s ", kind, text);
    if (v != NULL)
        canon(&b, v);
    if (!b.failed)
        hash_of(b.data, b.size, &h);
    for (size_t i = 0; i < sizeof out && !b.failed; i++)
        out = out << 8 | h.b[i];
    buf_free(&b);
    return out;
}

rng rng_of(const agents *a, const char *what, const pawl_value *v)
{
    return (rng){ mark_of(what, "", v) ^ a->seed * UINT64_C(0x9E3779B97F4A7C15) };
}

bool mark_is(const marks *m, uint64_t one)
{
    for (size_t i = m->n; i > 0; i--)
        if (m->all[i - 1] == one)
            return true;
    return false;
}

void mark_set(agents *a, marks *m, uint64_t one)
{
    if (mark_is(m, one))
        return;
    if (mem_room(&a->alloc, (void **)&m->all, &m->cap, m->n, sizeof *m->all))
        m->all[m->n++] = one;
    else
        a->no_memory = true;
}

/* ---- which machines are agents ---------------------------------------------------------------------------------- */

const pawl_agent *agent_named(const agents *a, const char *machine)
{
    for (unsigned i = 0; i < a->nknown; i++)
        if (strcmp(a->names[i], machine) == 0)
            return a->known[i];
    return NULL;
}

const pawl_agent_tool *agent_tool(const pawl_agent *of, const char *name)
{
    for (size_t i = 0; i < of->ntools; i++)
        if (strcmp(of->tools[i].name, name) == 0)
            return &of->tools[i];
    return NULL;
}
