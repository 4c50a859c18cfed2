/* otlp.h - spans as OTLP in JSON: the body of a request to a collector (OTLP 1, /v1/traces).
 *
 * Pure: the same spans give the same bytes. Times are those of the journal; ids are hexadecimal, 64-bit numbers are strings, as OTLP has them in JSON. No
 * argument, prompt, result or text of an error is in it: they may be secrets. */
#ifndef TELEMETRY_OTLP_H
#define TELEMETRY_OTLP_H

#include "telemetry/semconv.h"
#include "telemetry/spans.h"

typedef struct otlp_attribute { const char *key, *value; } otlp_attribute;

typedef struct otlp_batch {     /* begin with otlp_begin() */
    buf body;
    const semconv *names;
    size_t spans;
} otlp_batch;

void otlp_begin(otlp_batch *b, const semconv *names, const otlp_attribute *resource, size_t n);
void otlp_span(otlp_batch *b, const run_span *s);       /* SPAN_BEGUN is none, and is left out */
void otlp_end(otlp_batch *b);   /* the body is whole */

#endif
