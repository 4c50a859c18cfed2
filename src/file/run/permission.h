/* permission.h - may a node do what it is about to do? */
#ifndef FILE_GUARD_H
#define FILE_GUARD_H

#include "file/expr/scope.h"
#include "policy/gate.h"

typedef struct guard {          /* of one visit */
    scope *sc;
    tool_gate gate;             /* `tool`: what its command is to the rules; NULL: it has none. `limits`: what is in "@policy", or about to come there */
    const pawl_value *shown;    /* the arguments that its author wrote, secrets hidden; NULL: nobody looks at them */
    const pawl_value *prompt;   /* what a person was asked last; NULL: nothing */
} guard;

/* Before anything else of a visit: the mode that it has from its beginning to its end, and the rules that it begins with. What was set in the
 * middle of a superstep holds for what begins after it. PAWL_PENDING on the way out. */
pawl_code guard_begin(guard *g, pawl_step *s);
/* PAWL_OK: it may; *left: a no led elsewhere, and the visit is over. Else as a visit ends, or waits. Rules that came while a person was asked
 * decide anew, and what they ask is asked once more. */
pawl_code guard_enter(guard *g, scope *sc, bool *left);
/* The arguments of its command, with what was decided. NULL: it has failed. */
const pawl_value *guard_args(guard *g, const pawl_value *more);
/* The hooks after it: *receipt may be another one then. *left: they said where to go on. */
pawl_code guard_leave(guard *g, const pawl_value **receipt, bool *left);

/* ---- of a node, before anything runs: for prove.c ------------------------------------------------------------ */

bool guard_acts(const file_node *n);                    /* what may change something in the world, as far as can be told from here */
const char *guard_tool(const file_node *n);             /* "Bash"; NULL: it calls nothing */
void guard_word(buf *b, const char *text, size_t size); /* one more word of a command, as a shell reads it */
pawl_request guard_request(const file_node *n, const char *tool, const pawl_value *args, pawl_mode mode);    /* before hooks and people */

#endif
