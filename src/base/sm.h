/* sm.h - a life cycle is a table: its states, which may follow which, and an invariant that must hold in each.
 *
 * Declare the rows as a constant, keep the state in one uint8_t of the owner, change it with sm_move() only:
 *
 *     static const sm_row door_rows[] = {
 *         [DOOR_OPEN] = { "open", SM_TO(DOOR_SHUT), SM_FIRST },
 *         [DOOR_SHUT] = { "shut", 0, SM_LAST },
 *     };
 *     static const char *door_wrong(const void *owner, unsigned state);
 *     static const sm_table door_table = { "door", door_rows, DOOR_STATES, door_wrong };
 *
 *     sm_begin(&door_table, &d->state, DOOR_OPEN, d);
 *     sm_move(&door_table, &d->state, DOOR_SHUT, d);
 *
 * A wrong move and a broken invariant are faults of this program: both abort, in every build, with the table's name, both states
 * and the place of the call. Where the order of events comes from outside, ask sm_may() first and return an error.
 * Nothing here locks: the lock of the owner covers its state. Pictures of tables: draw_sm() in graph/draw_tables.c. */
#ifndef BASE_SM_H
#define BASE_SM_H

#include "base/check.h"

#include <stddef.h>
#include <stdint.h>

enum { SM_FIRST = 1, SM_LAST = 2, SM_STATES_MAX = 64 };
#define SM_TO(state) (UINT64_C(1) << (state))

typedef struct sm_row {
    const char *name;
    uint64_t to;                /* a bit for each state that may come next; a state may follow itself only if its own bit is set */
    unsigned flags;             /* SM_FIRST: a life cycle may begin here; SM_LAST: it may end here */
} sm_row;

/* NULL when the owner may be in `state`; else the invariant that it breaks, in words. */
typedef const char *sm_invariant(const void *owner, unsigned state);

typedef struct sm_table {
    const char *name;
    const sm_row *rows;
    size_t count;               /* of rows; at most SM_STATES_MAX */
    sm_invariant *wrong;        /* called after each move, with the new state stored; NULL: none */
} sm_table;

/* Whether `to` may follow `from`; false for numbers that are no states. */
static inline bool sm_may(const sm_table *t, unsigned from, unsigned to)
{
    return from < t->count && to < t->count && to < SM_STATES_MAX && (t->rows[from].to >> to & 1) != 0;
}
/* The name of a state; "no state" for a number that is none. */
const char *sm_name(const sm_table *t, unsigned state);

/* `file` and `line` are those of the call: use the macros. `owner` goes to the invariant; NULL where the table has none. */
void sm_begin_at(const sm_table *t, uint8_t *state, unsigned first, const void *owner, const char *file, int line);
void sm_move_at(const sm_table *t, uint8_t *state, unsigned to, const void *owner, const char *file, int line);
/* What sm_move_at() comes to where there is no way. */
ASSERT_COLD void sm_no_way_at(const sm_table *t, unsigned from, unsigned to, const char *file, int line);
void sm_check_at(const sm_table *t, unsigned state, const void *owner, const char *file, int line);
#define sm_begin(table, state, first, owner) sm_begin_at(table, state, first, owner, __FILE__, __LINE__)
#define sm_move(table, state, to, owner) sm_move_at(table, state, to, owner, __FILE__, __LINE__)
/* sm_may() and sm_move() where a call is too dear: of a table whose rows are at hand, and of two states that are in it. The way is checked in every
 * build, the invariant where PAWL_ASSERT_SLOW is on. */
#define sm_may_hot(rows, from, next) (((rows)[from].to >> (next) & 1) != 0)
#define sm_move_hot(table, rows, state, next, owner)                                                                                 \
    (PAWL_SLOW_CHECKS ? sm_move_at(table, state, next, owner, __FILE__, __LINE__)                                                    \
     : ASSERT_LIKELY(sm_may_hot(rows, *(state), next)) ? (void)(*(state) = (uint8_t)(next))                                          \
                                                       : sm_no_way_at(table, *(state), next, __FILE__, __LINE__))
/* The invariant alone: where an owner is handed over between moves. */
#define sm_check(table, state, owner) sm_check_at(table, state, owner, __FILE__, __LINE__)

#endif
