/* spec.h - the SPEC of a command or a wait: the canonical text of an object with all its parameters.
 *
 * spec_write.c writes the SPEC inside a step, when a command is made; spec_read.c reads it for any caller that has a call. */
#ifndef KERNEL_SPEC_H
#define KERNEL_SPEC_H

#include "kernel/step.h"

/* The SPEC of a call: {"args","class","effect","refs","retry","tag","timeouts"}. NULL: no memory, or the visit has an error. */
const char *spec_call(pawl_step *s, const char *effect, const pawl_value *args, const pawl_limits *limits, const char *tag, size_t *size);
typedef struct spawn_more { const char *name, *tag; } spawn_more;     /* only for a child of a reducer; each may be NULL */
const char *spec_spawn(pawl_step *s, const char *machine, const pawl_value *input, const pawl_caps *share, const spawn_more *more,
                       size_t *size);   /* `more` may be NULL */
/* The SPEC of a wait; `to` and `hold` are for detached waits. */
const char *spec_ask(pawl_step *s, const pawl_question *q, const char *slot, int64_t now, const char *name,
                     const char *to, const char *tag, bool hold, size_t *size);
/* Checks that `v` has no reference to a channel or a secret, which only arguments of commands may have; false: the visit has the error. */
bool refs_none(pawl_step *s, const pawl_value *v);
bool is_no(const pawl_value *answer);           /* the answer to an approval is false or "no" */

void spec_limits(const pawl_value *spec, pawl_limits *out);
const pawl_value *spec_get(pawl_step *s, const call *c, const char *member);    /* of a call in doubt: of its question */

#endif
