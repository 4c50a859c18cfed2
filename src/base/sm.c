/* sm.c - a state machine is a table; this reads it. */
#include "base/base.h"

bool sm_may(const sm_table *t, unsigned from, unsigned to)
{
    return from < t->count && to < t->count && to < 64 && (t->rows[from].to >> to & 1) != 0;
}
