/* exporter_plan.h - what exporter_plan.c reads, for exporter.c. */
#ifndef OBSERVE_EXPORTER_PLAN_H
#define OBSERVE_EXPORTER_PLAN_H

#include "json/json.h"
#include "observe/exporter.h"
#include "telemetry/otlp.h"

enum { PLAN_HEADERS_MOST = 32, PLAN_ATTRIBUTES_MOST = 64 };

struct exporter_plan {
    arena mem;
    const char *url;            /* of the traces */
    char shown[300];            /* its origin */
    const char *ca;             /* NULL: the usual certificates */
    const char *headers[PLAN_HEADERS_MOST + 1];        /* ends in NULL */
    size_t nheaders;
    otlp_attribute resource[PLAN_ATTRIBUTES_MOST];
    size_t nresource;
    const semconv *names;
    int64_t timeout_ms;
};

#endif
