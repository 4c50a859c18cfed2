/* exporter.h - sends the spans of a store to a collector of OpenTelemetry, over OTLP/HTTP in JSON (N5).
 *
 * A thread of its own reads the journals and sends batches; no run waits for it. A batch is stored, with the places up to which it was read, before it is
 * sent, and dropped when the collector has taken it: after a crash the same bytes are sent again, so that a collector which knows spans by their ids has each
 * once. Of several processes on a store one sends; the others wait, and go on when it has ended. */
#ifndef OBSERVE_EXPORTER_H
#define OBSERVE_EXPORTER_H

#include "pawl/store.h"

typedef struct exporter exporter;

/* What was asked for, and OTEL_* of the environment. NULL: nothing is to be sent; then err has an error, or none. `url`: of --otlp, the base of the collector's
 * paths; NULL: OTEL_EXPORTER_OTLP_TRACES_ENDPOINT or OTEL_EXPORTER_OTLP_ENDPOINT. */
typedef struct exporter_plan exporter_plan;
exporter_plan *exporter_plan_new(const char *url, pawl_err *err);
void exporter_plan_free(exporter_plan *p);              /* NULL: nothing */
const char *exporter_plan_url(const exporter_plan *p);  /* without a user and a password */

/* Owns `store`; `plan` is lent until exporter_end(). `note` is called on the exporter's thread, with one line. NULL: see err; the store is closed. */
exporter *exporter_begin(const exporter_plan *plan, pawl_store *store, void (*note)(void *ctx, const char *text), void *ctx, pawl_err *err);
/* Sends what is there, for some seconds at most, and ends. What is not sent is sent by the next. NULL: nothing. */
void exporter_end(exporter *e);

#endif
