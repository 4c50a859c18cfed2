/* permission.h - may a node do what it is about to do? */
#ifndef FILE_RUN_PERMISSION_H
#define FILE_RUN_PERMISSION_H

#include "file/expr/scope.h"
#include "policy/gate.h"

typedef struct guard {          /* of one visit */
    scope *sc;
    tool_gate gate;             /* `tool`: the name of its command in rules; NULL: no command. `limits`: the value of "@policy", or the one about to apply */
    const pawl_value *shown;    /* the author's arguments without secrets; NULL: nobody needs them */
    const pawl_value *prompt;   /* the last question to a person; NULL: none */
} guard;

/* Called first in a visit: determines the mode for the whole visit, and the rules at its beginning. A change during a superstep applies to what begins
 * after it. PAWL_PENDING until its receipt is there. */
pawl_code guard_begin(guard *g, pawl_step *s);
/* PAWL_OK: allowed; *left: a denial leads to another node, and the visit is over. Else the visit ends, or waits. If rules changed while a person was
 * asked, they decide again, and may ask again. */
pawl_code guard_enter(guard *g, scope *sc, bool *left);
/* The arguments of its command, with the decision. NULL: it has failed. */
const pawl_value *guard_args(guard *g, const pawl_value *more);
/* The hooks after it, which may replace *receipt. *left: they chose the next node. */
pawl_code guard_leave(guard *g, const pawl_value **receipt, bool *left);

/* ---- of a node, before anything runs: for prove.c ------------------------------------------------------------ */

bool guard_acts(const file_node *n);                    /* may change something outside, as far as can be known here */
const char *guard_tool(const file_node *n);             /* "Bash"; NULL: it has no command */
void guard_word(buf *b, const char *text, size_t size); /* appends a word of a command, quoted for a shell */
pawl_request guard_request(const file_node *n, const char *tool, const pawl_value *args, pawl_mode mode);    /* before hooks and people */

#endif
