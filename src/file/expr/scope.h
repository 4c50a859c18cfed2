/* scope.h - values with expressions in them, in a visit (render.c). */
#ifndef FILE_EXPR_SCOPE_H
#define FILE_EXPR_SCOPE_H

#include "file/model.h"

typedef struct scope {          /* what expressions see, in one visit */
    pawl_step *s;
    const file_node *n;
    const pawl_value *values;   /* of n->body, in their order; NULL: there are none */
    struct render_item *standing;  /* what is to stand by reference */
    bool arguments;             /* what is made is a command's arguments; */
    bool showing;               /* to look at */
    const pawl_value *folders;  /* of a tool: {"directories", "read_only"}, in which it may work, too; NULL: none */
    pawl_code failed;           /* PAWL_OK: not yet; */
    const char *why;            /* and why; NULL: no memory */
    size_t at;                  /* of path: the JSON pointer in what is made; at its end it is longer than that */
    char path[512];
} scope;
pawl_code scope_begin(scope *sc, pawl_step *s, const file_node *n); /* evaluates n->body: PAWL_PENDING on the way out; below 0: it has failed */
pawl_code scope_fail(scope *sc, pawl_code code, const char *why);   /* the first of all is kept; what it returns */
const pawl_value *scope_value(scope *sc, const expression *e);      /* NULL: it has failed */
const pawl_value *form_render(scope *sc, const form *f);            /* NULL: the same */
/* The arguments of a command: with secrets and channels by reference in their places; the members of `over` (NULL: none) instead of its own, and
 * those of `more` that are not there yet. */
const pawl_value *form_args(scope *sc, const form *f, const pawl_value *over, const pawl_value *more);
const pawl_value *form_shown(scope *sc, const form *f);     /* the same to look at: all by value, and of secrets their names */
bool value_true(const pawl_value *v);                               /* as jq has it: neither null nor false */

#endif
