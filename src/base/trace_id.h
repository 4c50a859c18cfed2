/* trace_id.h - the ids of traces and spans, which follow from the ids of runs and commands (N5).
 *
 * Pure. Used by what tells of runs (src/telemetry), and by effects, which pass the ids on to whom they ask (`traceparent` of W3C Trace Context). So both
 * name the same span, without having spoken to each other, and after a crash, too. */
#ifndef BASE_TRACE_ID_H
#define BASE_TRACE_ID_H

#include "base/base.h"

enum { TRACE_ID_BYTES = 16, SPAN_ID_BYTES = 8, TRACEPARENT_BYTES = 56 };        /* the last with a NUL */

typedef struct trace_id { uint8_t b[TRACE_ID_BYTES]; } trace_id;
typedef struct span_id { uint8_t b[SPAN_ID_BYTES]; } span_id;

/* Of a run without a trace of its caller: `id` is an invocation id, or RUN~LIFE. What is behind its "/" does not count. */
trace_id trace_id_of_run(const char *id);
/* Of a thing with that id, such as an invocation id. `seq`, `index`: of its beginning, where an id may begin again; else 0. */
span_id span_id_of(const char *id, uint64_t seq, uint64_t index);
bool span_id_none(const span_id *s);

/* "00-TRACE-SPAN-FLAGS". False: it is malformed, or one of its ids is zero. */
bool traceparent_read(const char *text, trace_id *trace, span_id *span);
void traceparent_write(const trace_id *trace, const span_id *span, char out[TRACEPARENT_BYTES]);
void hex_write(const uint8_t *bytes, size_t n, char *out);      /* 2n digits, and a NUL */

#endif
