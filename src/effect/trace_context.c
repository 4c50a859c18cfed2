/* trace_context.c - the header `traceparent` of requests. Any thread; whether it is sent is atomic. */
#include "effect/trace_context.h"

#include <stdatomic.h>

static atomic_bool sent;

void trace_context_send(bool on) { atomic_store(&sent, on); }

bool trace_context_of(const pawl_job *job, char out[TRACEPARENT_BYTES])
{
    trace_id trace;
    span_id span;

    if (!atomic_load(&sent) || job->id == NULL)
        return false;
    if (!traceparent_read(job->trace, &trace, &span))
        trace = trace_id_of_run(job->id);
    span = span_id_of(job->id, 0, 0);
    traceparent_write(&trace, &span, out);
    return true;
}
