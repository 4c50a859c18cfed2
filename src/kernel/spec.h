/* spec.h - the SPEC of a command or a wait, canonical text of an object: written as it is made, and read back.
 *
 * Written by code that makes commands, inside a step (spec_write.c); read by anything that has a call (spec_read.c). */
#ifndef KERNEL_SPEC_H
#define KERNEL_SPEC_H

#include "kernel/step.h"

/* The SPEC of a call: {"args","class","effect","refs","retry","tag","timeouts"}. NULL: no memory, or the visit has an error. */
const char *spec_call(pawl_step *s, const char *effect, const pawl_value *args, const pawl_limits *limits, const char *tag, size_t *size);
typedef struct spawn_more { const char *name, *tag; } spawn_more;     /* of a reducer's child; each may be NULL */
const char *spec_spawn(pawl_step *s, const char *machine, const pawl_value *input, const pawl_caps *share, const spawn_more *more,
                       size_t *size);   /* `more` NULL: nothing */
/* The SPEC of a wait; `to` and `hold` for those of no visit. */
const char *spec_ask(pawl_step *s, const pawl_question *q, const char *slot, int64_t now, const char *name,
                     const char *to, const char *tag, bool hold, size_t *size);
/* Whether `v` refers to no channel and no secret, which only the arguments of a command may; false: the visit has an error. */
bool refs_none(pawl_step *s, const pawl_value *v);
bool is_no(const pawl_value *answer);           /* to an approval: false, or "no" */

void spec_limits(const pawl_value *spec, pawl_limits *out);
const pawl_value *spec_get(pawl_step *s, const call *c, const char *member);    /* of a call in doubt: of the question about it */

#endif
