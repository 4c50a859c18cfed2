/* guard.h - may a node do what it is about to do? */
#ifndef FILE_GUARD_H
#define FILE_GUARD_H

#include "file/model.h"
#include "policy/hook.h"

typedef struct guard_yes {      /* of a person: */
    bool given;
    const pawl_value *digest;   /* to which call; NULL: to a node that has none */
    const char *law;            /* the digest of the rules that he was asked by; NULL: there were none */
} guard_yes;

typedef struct guard {          /* of one visit */
    scope *sc;
    pawl_mode mode;
    const pawl_value *laws;     /* what is in "@policy", or about to come there; NULL: nothing */
    pawl_policy *policy;        /* NULL: there are no rules */
    hook_list hooks;
    const char *tool;           /* what its command is to the rules: "Bash"; NULL: it has none */
    const pawl_value *shown;    /* the arguments that its author wrote, secrets hidden; NULL: it has none */
    const pawl_value *with;     /* of a command, what its text does not say; NULL: nothing */
    const pawl_value *input;    /* of the tool, as hooks and people have made it */
    bool changed;               /* they have */
    const pawl_value *edit;     /* what a person has made of it; NULL: nothing */
    guard_yes yes;
    const pawl_value *links;    /* where its paths lead; */
    const pawl_value *linked;   /* of which input that was asked */
    verdict said;               /* of the hooks before it; */
    const hook_entry *hook;     /* and which of them decided */
    pawl_decision decided;
    const pawl_value *digest;   /* of the call that a person let in; NULL: nobody was asked */
    const pawl_value *result;   /* a hook's: what the call came to; it is not made. NULL: it is */
} guard;

/* Before anything else of a visit: the mode that it has from its beginning to its end, and the rules that it begins with. What was set in the
 * middle of a superstep holds for what begins after it. PAWL_PENDING on the way out. */
pawl_code guard_begin(guard *g, pawl_step *s);
/* PAWL_OK: it may; *left: a no led elsewhere, and the visit is over. Else as a visit ends, or waits. Rules that came while a person was asked
 * decide anew, and what they ask is asked once more. guard_free in any case. */
pawl_code guard_enter(guard *g, scope *sc, bool *left);
/* The arguments of its command, with what was decided. NULL: it has failed. */
const pawl_value *guard_args(guard *g, const pawl_value *more);
/* The hooks after it: *receipt may be another one then. *left: they said where to go on. */
pawl_code guard_leave(guard *g, const pawl_value **receipt, bool *left);
void guard_free(guard *g);

/* ---- of a node, before anything runs: for prove.c ------------------------------------------------------------ */

/* What a run is decided by: `policy`, and what was allowed in it alone. NULL: there are no rules. */
const pawl_value *guard_rules(arena *mem, const pawl_value *policy, const pawl_value *grants);
bool guard_acts(const file_node *n);                    /* what may change something in the world, as far as can be told from here */
pawl_permission guard_class(const file_node *n);
const char *guard_tool(const file_node *n);             /* "Bash"; NULL: it calls nothing */
void guard_word(buf *b, const char *text, size_t size); /* one more word of a command, as a shell reads it */
pawl_request guard_request(const file_node *n, const char *tool, const pawl_value *args, pawl_mode mode);    /* before hooks and people */
/* Rules speak of its command, and of the node by its name, {"name"}; the stricter of the two counts, and an allow of either where nothing
 * else was said. `first`: the deny rules alone. */
void guard_decided(const pawl_policy *p, const pawl_request *tool, const pawl_value *name, bool first, pawl_decision *out);

#endif
