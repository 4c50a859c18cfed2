/* scope.h - evaluates values with expressions, in a visit (render.c). */
#ifndef FILE_EXPR_SCOPE_H
#define FILE_EXPR_SCOPE_H

#include "file/model.h"

typedef struct scope {          /* what the expressions of one visit see */
    pawl_step *s;
    const file_node *n;
    const pawl_value *values;   /* results for n->body, in its order; NULL: none */
    struct render_item *standing;  /* references to be made */
    bool arguments;             /* a command's arguments are made */
    bool showing;               /* for display */
    const pawl_value *folders;  /* of a tool: {"directories", "read_only"}, further folders in which it may work; NULL: none */
    pawl_code failed;           /* PAWL_OK: it has not failed */
    const char *why;            /* the reason; NULL: no memory */
    size_t at;                  /* size of path: the JSON pointer to the current place; sizeof path: too long */
    char path[512];
} scope;
pawl_code scope_begin(scope *sc, pawl_step *s, const file_node *n); /* evaluates n->body: PAWL_PENDING until the receipt is there; below 0: it has failed */
pawl_code scope_fail(scope *sc, pawl_code code, const char *why);   /* keeps the first failure; returns its code */
const pawl_value *scope_value(scope *sc, const expression *e);      /* NULL: it has failed */
const pawl_value *form_render(scope *sc, const form *f);            /* NULL: the same */
/* The arguments of a command: secrets and channels by reference; members of `over` (NULL: none) replace its own, and members of `more` are added if they
 * are missing. */
const pawl_value *form_args(scope *sc, const form *f, const pawl_value *over, const pawl_value *more);
const pawl_value *form_shown(scope *sc, const form *f);     /* the same for display: everything by value, secrets by name */
bool value_true(const pawl_value *v);                               /* as in jq: neither null nor false */

#endif
