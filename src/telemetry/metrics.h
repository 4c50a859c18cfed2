/* metrics.h - spans as numbers, and numbers as text of Prometheus (format 0.0.4).
 *
 * Pure. A series is a family with labels; its value is a whole number: a count, or milliseconds. The values are kept by the caller, who gives them back in
 * the order of families, labels and parts. */
#ifndef TELEMETRY_METRICS_H
#define TELEMETRY_METRICS_H

#include "telemetry/spans.h"

typedef enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM } metric_type;

enum { METRIC_LABELS_BYTES = 600, METRIC_SERIES_MOST = 500 };   /* label sets of one family; those beyond it count as one */
extern const char metric_other[];       /* the labels of that one */

typedef struct metric_family {
    const char *name, *help;
    metric_type type;
    bool seconds;               /* the values are milliseconds */
    const int64_t *bounds;      /* of a histogram, in milliseconds, ascending; ends with 0 */
} metric_family;

/* A histogram has a part for each bound, then that of all above, then the sum. Other families have part 0. */
typedef void metric_add_fn(void *ctx, const metric_family *f, const char *labels, unsigned part, int64_t value);

/* What a span adds to counters and histograms. */
void metrics_of_span(const run_span *s, metric_add_fn *add, void *ctx);
/* `n` entries more in the journal of a run of that machine. */
void metrics_of_steps(const char *machine, uint64_t n, metric_add_fn *add, void *ctx);
/* The families of those; NULL: there is none of that name. */
const metric_family *metric_named(const char *name);
const metric_family *metric_at(size_t i);       /* NULL: behind the last */

typedef struct metric_text {    /* a text that is written; begin with { .out = ... } */
    buf *out;
    const metric_family *f;     /* whose head is written */
    char labels[METRIC_LABELS_BYTES];   /* of the histogram that is being written */
    unsigned part;              /* that comes next */
    int64_t count;
    bool open;                  /* a histogram */
} metric_text;

/* In the order of families, labels and parts. */
void metric_put(metric_text *t, const metric_family *f, const char *labels, unsigned part, int64_t value);
void metric_real(metric_text *t, const metric_family *f, const char *labels, double value);     /* of a gauge */
void metric_end(metric_text *t);
/* Appends `name="value"` to labels, with a comma before it unless it is the first; the value is escaped, and cut where there is no more room. */
void metric_label(char labels[METRIC_LABELS_BYTES], const char *name, const char *value);

/* The name of an effect without the digest of its node: "run-0a1b2c3d" is "run", of a tool call the tool. */
void effect_said(const run_span *s, char out[SPAN_TEXT_BYTES]);

#endif
