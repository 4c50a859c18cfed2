/* sm.c - the only function that moves a life cycle (see sm.h): checks the move, then the invariant.
 *
 * Under the lock of the owner. */
#include "base/sm.h"

#include "base/base.h"

const char *sm_name(const sm_table *t, unsigned state)
{
    return state < t->count ? t->rows[state].name : "no state";
}

static ASSERT_COLD void sm_fail(const char *file, int line, const char *fmt, ...) PAWL_PRINTF(3, 4);

static void sm_fail(const char *file, int line, const char *fmt, ...)
{
    pawl_err err = { PAWL_OK, "" };
    va_list args;

    va_start(args, fmt);
    (void)failv(&err, PAWL_CORRUPT, fmt, args);
    va_end(args);
    assertion_failed(file, line, "sm_move", err.text);
}

void sm_check_at(const sm_table *t, unsigned state, const void *owner, const char *file, int line)
{
    const char *why;

    if (state >= t->count)
        sm_fail(file, line, "%s: %u is no state", t->name, state);
    if (t->wrong != NULL && (why = t->wrong(owner, state)) != NULL)
        sm_fail(file, line, "%s: in state \"%s\": %s", t->name, sm_name(t, state), why);
}

void sm_begin_at(const sm_table *t, uint8_t *state, unsigned first, const void *owner, const char *file, int line)
{
    if (first >= t->count || (t->rows[first].flags & SM_FIRST) == 0)
        sm_fail(file, line, "%s: \"%s\" is no first state", t->name, sm_name(t, first));
    *state = (uint8_t)first;
    sm_check_at(t, first, owner, file, line);
}

void sm_no_way_at(const sm_table *t, unsigned from, unsigned to, const char *file, int line)
{
    sm_fail(file, line, "%s: from \"%s\" to \"%s\" there is no way", t->name, sm_name(t, from), sm_name(t, to));
}

void sm_move_at(const sm_table *t, uint8_t *state, unsigned to, const void *owner, const char *file, int line)
{
    if (!sm_may(t, *state, to))
        sm_no_way_at(t, *state, to, file, line);
    *state = (uint8_t)to;
    sm_check_at(t, to, owner, file, line);
}
