/* compare.c - compares two states of one run: one loaded from a snapshot, one folded from the base.
 *
 * Owns nothing. Called by judge.c, on the thread of pawl_sim. It reads the structs of both states, because the code that writes snapshots would omit the
 * same thing from both. Caches, allocation and the position of blobs are not part of a state. */
#include "kernel/frame.h"
#include "kernel/list.h"
#include "kernel/state.h"
#include "sim/sim.h"

#include <string.h>

static bool texts_equal(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool values_equal(const pawl_value *a, const pawl_value *b)
{
    return a == b || (a != NULL && b != NULL && pawl_value_equal(a, b));
}

/* A null receipt may be stored without a value. */
static bool results_equal(const void *a, const void *b)
{
    const pawl_value *x = a, *y = b;

    x = x != NULL && pawl_value_type(x) == PAWL_TYPE_NULL ? NULL : x;
    y = y != NULL && pawl_value_type(y) == PAWL_TYPE_NULL ? NULL : y;
    return values_equal(x, y);
}

static bool calls_equal(const call *a, const call *b)
{
    return a->kind == b->kind && a->at == b->at && a->outcome == b->outcome &&
           (!call_is_open(a) || a->time_ms == b->time_ms || a->kind == CALL_CALL || a->kind == CALL_SPAWN) &&
           texts_equal(a->task, b->task) && a->spec_size == b->spec_size && memcmp(a->spec, b->spec, a->spec_size) == 0 &&
           (a->doubt != NULL) == (b->doubt != NULL) && results_equal(a->value, b->value) && values_equal(a->update, b->update);
}

static const char *frames_differ(const frame *a, const frame *b);

static const char *tasks_differ(const task *a, const task *b)
{
    if (!texts_equal(a->name, b->name) || a->at != b->at || a->visit != b->visit)
        return "its tasks";
    if (!values_equal(a->args, b->args))
        return "arguments of its tasks";
    if (a->ncalls != b->ncalls)
        return "the number of its calls";
    for (uint32_t i = 0; i < a->ncalls; i++)
        if (!calls_equal(&a->calls[i], &b->calls[i]))
            return "its calls";
    if (a->nwins != b->nwins || a->racing != b->racing || (a->nwins > 0 && memcmp(a->wins, b->wins, a->nwins * sizeof *a->wins) != 0))
        return "its races";
    if ((a->child != NULL) != (b->child != NULL))
        return "its subgraphs";
    return a->child != NULL ? frames_differ(a->child, b->child) : NULL;
}

static const char *frames_differ(const frame *a, const frame *b)
{
    const char *where = NULL;
    const call *c;

    if (a->superstep != b->superstep || a->steps != b->steps)
        return "the number of its superstep";
    if (!values_equal(a->joins, b->joins))
        return "its join counters";
    if (!values_equal(a->defer, b->defer))
        return "its deferred nodes";
    if (a->ntasks != b->ntasks || a->nedges != b->nedges || a->ndetached != b->ndetached)
        return "the number of its tasks or loose calls";
    for (uint32_t at_a = 0, at_b = 0; (c = detached_next(a, &at_a)) != NULL;)
        if (!calls_equal(c, detached_next(b, &at_b)))
            return "its loose calls";
    for (uint32_t i = 0; i < a->ntasks && where == NULL; i++)
        where = tasks_differ(&a->tasks[i], &b->tasks[i]);
    return where;
}

static const pawl_value *list_of(list *l) { return l == NULL ? NULL : list_value(l); }

const char *states_differ(pawl_state *a, pawl_state *b)
{
    if (a->seq != b->seq || a->turn != b->turn || a->status != b->status)
        return "its place in the journal";
    if (a->commands != b->commands || a->waits != b->waits || a->people != b->people)
        return "the number of its open commands and waits";
    if (a->ending != b->ending || a->unwind != b->unwind || a->undone != b->undone)
        return "how far it is undone";
    if (!values_equal(list_of(a->undo), list_of(b->undo)))
        return "its undo notes";
    if (!values_equal(list_of(a->pending), list_of(b->pending)))
        return "its pending updates";
    if (!values_equal(a->reason, b->reason))
        return "its reason";
    return frames_differ(&a->root, &b->root);
}
