/* trace_context.h - the header `traceparent` of requests: which span of which trace asks (W3C Trace Context, N5). */
#ifndef EFFECT_TRACE_CONTEXT_H
#define EFFECT_TRACE_CONTEXT_H

#include "base/trace_id.h"
#include "pawl/effect.h"

/* Any thread: from now on requests have the header. A process that sends spans turns it on: an id that nobody can look up is of no use to whom it is given. */
void trace_context_send(bool on);
/* Of the command of `job`. False: it is off, or the job has no id. */
bool trace_context_of(const pawl_job *job, char out[TRACEPARENT_BYTES]);

#endif
