/* doubt.h - a command whose outcome nobody knows becomes a question about it (E5). Called as a receipt comes in (events.c). */
#ifndef KERNEL_DOUBT_H
#define KERNEL_DOUBT_H

#include "kernel/step.h"

bool doubt_due(const pawl_step *s, const call *c, pawl_outcome outcome);
pawl_code doubt_add(pawl_step *s, item *it, const call *c, pawl_err *err);     /* `it`: its kind, id and time are set */

#endif
