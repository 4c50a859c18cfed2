/* doubt.h - turns a command with an unknown outcome into a question to a person (E5). Called by events.c when a receipt arrives. */
/* Whether this outcome of the call needs a person's decision. */
#ifndef KERNEL_DOUBT_H
#define KERNEL_DOUBT_H

#include "kernel/step.h"

bool doubt_due(const pawl_step *s, const call *c, pawl_outcome outcome);
pawl_code doubt_add(pawl_step *s, item *it, const call *c, pawl_err *err);     /* the caller has set kind, id and time of `it` */

#endif
