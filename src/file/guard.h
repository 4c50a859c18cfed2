/* guard.h - may a node do what it is about to do? */
#ifndef FILE_GUARD_H
#define FILE_GUARD_H

#include "file/model.h"
#include "policy/hook.h"

typedef struct guard {          /* of one visit */
    scope *sc;
    pawl_mode mode;
    pawl_policy *policy;        /* NULL: there are no rules */
    hook_list hooks;
    const char *tool;           /* what its command is to the rules: "Bash"; NULL: it has none */
    const pawl_value *shown;    /* the arguments that its author wrote, secrets hidden; NULL: it has none */
    const pawl_value *input;    /* of the tool, as hooks and people have made it */
    bool changed;               /* they have */
    const pawl_value *links;    /* where its paths lead; */
    const pawl_value *linked;   /* of which input that was asked */
    verdict said;               /* of the hooks before it; */
    const hook_entry *hook;     /* and which of them decided */
    pawl_decision decided;
    const pawl_value *digest;   /* of the call that a person let in; NULL: nobody was asked */
    const pawl_value *result;   /* a hook's: what the call came to; it is not made. NULL: it is */
} guard;

/* PAWL_OK: it may; *left: a no led elsewhere, and the visit is over. Else as a visit ends, or waits. guard_free in any case. */
pawl_code guard_enter(guard *g, scope *sc, bool *left);
/* The arguments of its command, with what was decided. NULL: it has failed. */
const pawl_value *guard_args(guard *g, const pawl_value *more);
/* The hooks after it: *receipt may be another one then. *left: they said where to go on. */
pawl_code guard_leave(guard *g, const pawl_value **receipt, bool *left);
void guard_free(guard *g);

#endif
