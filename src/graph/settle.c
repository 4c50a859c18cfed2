/* settle.c - joins whose branches were not taken (G3): what can still come to a join, and which way passes its sources by.
 *
 * compile.c calls joins_prepare() once; next.c, drive.c, frame_run.c and search.c ask. Pure.
 *
 * A join that does not need all of its sources, and leads back to some of them, has rounds: what comes again after it fired is of its next round.
 *
 * A source that was not taken counts as done. So a way by a route or a goto to the target of a join, past sources that it might have led to, is held as
 * one who was here (JOIN_PASSED); and when nothing else is left to run, the joins that have begun fire with what they have. */
#include "graph/graph.h"
#include "kernel/frame.h"
#include "kernel/names.h"
#include "kernel/state.h"

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

typedef struct settle_ahead { const pawl_graph *g; bool *been; uint32_t *todo, n; } settle_ahead;

static void settle_reach(void *ctx, const char *to, const way *w)
{
    settle_ahead *a = ctx;
    const int at = node_index(a->g, to);

    (void)w;
    if (at > 0 && !a->been[at])
        a->been[a->todo[a->n++] = (uint32_t)at] = true;
}

/* One search forward from the target, over ways and joins. */
static bool rounds_prepare(pawl_graph *g, join *j, arena *mem)
{
    settle_ahead a = { .g = g, .been = arena_zero(mem, g->nnodes * sizeof *a.been), .todo = arena_get(mem, g->nnodes * sizeof *a.todo) };

    if (a.been == NULL || a.todo == NULL || (j->again = arena_zero(&g->mem, j->nfrom * sizeof *j->again)) == NULL)
        return false;
    for (a.todo[a.n++] = j->to_at; a.n > 0;) {
        while (a.n > 0)
            each_target(g, g->nodes[a.todo[--a.n]], settle_reach, &a);
        for (const join *k = g->joins; k != NULL; k = k->next)
            for (uint32_t i = 0; i < k->nfrom && !a.been[k->to_at]; i++)
                if (a.been[k->at[i]])
                    settle_reach(&a, k->to, NULL);
    }
    for (uint32_t i = 0; i < j->nfrom; i++)
        j->again[i] = a.been[j->at[i]];
    return true;
}

/* Takes nodes times ways at most: this is done at each load of a file. */
bool joins_prepare(pawl_graph *g)
{
    settle_back b = { .g = g };
    arena mem;
    bool good;

    if (g->joins == NULL)
        return true;
    arena_init(&mem, &g->alloc, SETTLE_BYTES_FIRST);
    good = !g->settles || settle_index(&b, &mem);
    for (join *j = g->joins; j != NULL && good; j = j->next) {
        good = !g->settles || join_prepare(g, j, &b);
        if (good && j->k < j->nfrom)
            good = rounds_prepare(g, j, &mem);
    }
    arena_free(&mem);
    return good;
}

bool join_later(const join *j, const join *other)
{
    return j != other && j->leads[other->to_at];
}

/* ---- what a join has seen --------------------------------------------------------------------------------------- */

bool join_has(const pawl_value *seen, const char *name)
{
    pawl_iter it = pawl_iter_of(seen);
    const pawl_value *v;

    while ((v = pawl_iter_next(&it, NULL)) != NULL)
        if (strcmp(pawl_value_string(v), name) == 0)
            return true;
    return false;
}

bool join_has_again(const pawl_value *seen, const char *name)
{
    pawl_iter it = pawl_iter_of(seen);
    const pawl_value *v;

    while ((v = pawl_iter_next(&it, NULL)) != NULL)
        if (*pawl_value_string(v) == JOIN_AGAIN && strcmp(pawl_value_string(v) + 1, name) == 0)
            return true;
    return false;
}

uint32_t join_again(const pawl_value *seen)
{
    pawl_iter it = pawl_iter_of(seen);
    const pawl_value *v;
    uint32_t n = 0;

    while ((v = pawl_iter_next(&it, NULL)) != NULL)
        n += *pawl_value_string(v) == JOIN_AGAIN;
    return n;
}

bool join_begun(const pawl_value *seen)
{
    return pawl_value_size(seen) > 0 && (!join_has(seen, JOIN_FIRED) || join_again(seen) > 0);
}

static char *text_put(char *to, const char *text)
{
    const size_t n = strlen(text);

    memcpy(to, text, n + 1);
    return to + n;
}

/* The sources that have come in the round that the join waits for, or that have not, as many as fit. */
static void sources_text(const join *j, const pawl_value *seen, bool came, char *to, size_t size)
{
    const bool fired = join_has(seen, JOIN_FIRED);
    char *at = text_put(to, "none");

    for (uint32_t i = 0; i < j->nfrom; i++) {
        if ((fired ? join_has_again(seen, j->from[i]) : join_has(seen, j->from[i])) != came)
            continue;
        if ((size_t)(at - to) + strlen(j->from[i]) + sizeof ", \"\", ..." > size) {
            text_put(at, ", ...");
            break;
        }
        at = at == to + strlen("none") && *to == 'n' ? to : text_put(at, ", ");
        at = text_put(text_put(text_put(at, "\""), j->from[i]), "\"");
    }
}

static const char *first_missing(const join *j, const pawl_value *seen)
{
    const char *missing = "";

    for (uint32_t i = 0; i < j->nfrom; i++)
        if (!join_has(seen, j->from[i]))
            missing = j->from[i];
    return missing;
}

/* The text is journaled: for a run without `rounds` it stays as it was. */
bool join_stuck(const pawl_graph *g, const frame *f, bool rounds, pawl_err *err)
{
    char came[160], others[160];

    for (const join *j = g->joins; j != NULL; j = j->next) {
        const pawl_value *seen = pawl_value_get(f->joins, j->name);

        if (!join_begun(seen))
            continue;
        if (!rounds || j->k == j->nfrom) {
            fail(err, PAWL_INVALID, "%s: the join into \"%s\" waits for \"%s\", and nothing is left to run", g->name, j->to, first_missing(j, seen));
            return true;
        }
        sources_text(j, seen, true, came, sizeof came);
        sources_text(j, seen, false, others, sizeof others);
        fail(err, PAWL_INVALID, "%s: the join into \"%s\" needs %u of its sources in each round, and nothing is left to run: came %s; did not come %s; "
             "let a node lead to enough of them in every round", g->name, j->to, (unsigned)j->k, came, others);
        return true;
    }
    return false;
}
