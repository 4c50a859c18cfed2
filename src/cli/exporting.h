/* exporting.h - the spans of a store are sent while a verb is at work: --otlp of `serve` and `worker`. */
#ifndef CLI_EXPORTING_H
#define CLI_EXPORTING_H

#include "cli/cli.h"
#include "observe/exporter.h"

#define OPTION_OTLP { "otlp", "URL", "send spans to this collector of OpenTelemetry (http://HOST:4318); else OTEL_EXPORTER_OTLP_ENDPOINT" }

typedef struct spans_out { exporter_plan *plan; exporter *of; } spans_out;

/* By --otlp and the environment; nothing, if neither names a collector. EXIT_DONE, or the error was printed. */
int exporting_begin(spans_out *x, cli_call *c);
void exporting_end(spans_out *x);       /* sends what is there, for some seconds */

#endif
