/* run_settings.c - reads the copy of its agent file that a run keeps, and whether a run was undone.
 *
 * Any thread that has the state. */
#include "app/run_settings.h"
#include "kernel/list.h"
#include "kernel/state.h"

/* Updates during an open superstep are merged when it closes, except that Pawl's own channels count at once. */
const pawl_value *kept_value(pawl_state *st, const char *name)
{
    pawl_iter it = pawl_iter_of(st->pending != NULL ? list_value(st->pending) : NULL);
    const pawl_value *one, *last = NULL;

    while ((one = pawl_iter_next(&it, NULL)) != NULL)
        if (pawl_value_get(one, name) != NULL)
            last = pawl_value_get(one, name);
    return last != NULL ? last : pawl_state_get(st, name);
}

bool kept_undone(const pawl_state *st)
{
    return st->undone > 0;
}
