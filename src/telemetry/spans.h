/* spans.h - a run as spans: what it did, each with its time, made from the changes of its items (pawl/items.h).
 *
 * Pure: the same changes give the same spans, with the same ids, in the same order, in every process (N5). A reader gives the maker each change of a run
 * from its first one on, and says where a line of the journal ends; spans are complete only there. One maker belongs to one thread.
 *
 *   stretch   from the moment when a run has something to do, to its rest: it has ended, or nothing is left but waits, timers and child runs. It is the
 *             root of what was done in it, so that a run which waits for days keeps nothing back. Each is linked to the one before
 *   task      of a node in a superstep; one that is open when its stretch ends is cut there, and begins again in the next
 *   others    belong to the part of the task in which they began; their ids follow from their invocation ids */
#ifndef TELEMETRY_SPANS_H
#define TELEMETRY_SPANS_H

#include "base/trace_id.h"
#include "pawl/items.h"

typedef enum span_kind {
    SPAN_BEGUN,                 /* no span: the run has begun */
    SPAN_STRETCH,
    SPAN_TASK,
    SPAN_MODEL,                 /* a request to a model */
    SPAN_TOOL,                  /* a tool call of a model */
    SPAN_EFFECT,                /* another command */
    SPAN_WAIT,
    SPAN_CHILD,                 /* a child run */
    SPAN_KINDS
} span_kind;

enum { SPAN_TEXT_BYTES = 128, SPAN_ID_TEXT_BYTES = 512 };
typedef struct span_usage { int64_t input, output, cache_read, cache_write, micros; } span_usage;    /* -1: not known */
typedef struct span_link { trace_id trace; span_id span; } span_link;

/* What the maker knows of the run; texts are copied. */
typedef struct span_run {
    const char *run, *id;       /* id: RUN~LIFE */
    const char *machine;
    const char *context;        /* NULL: none */
    const char *parent;         /* the invocation id that began it; NULL: none */
    const char *trace, *parent_trace;   /* traceparents with which it and its parent were begun; NULL: none */
} span_run;

typedef struct run_span {           /* lent for the call of a span_fn; texts are never NULL, "" is none */
    const span_run *of;
    span_kind kind;
    pawl_item_state state;      /* of an item that has ended; of a task that was cut, and of a stretch: what it is in then */
    trace_id trace;
    span_id id, parent;         /* parent zero: none */
    span_link links[2];
    size_t nlinks;
    int64_t begin_ms, end_ms;
    uint64_t seq, index;        /* the place at which it ended */
    uint64_t stretch;           /* its number, from 1 */
    const char *item;           /* the id of the item */
    const char *name;           /* of a task: its path; of a tool call: the tool; of an effect: its name; of a wait: its kind */
    const char *node, *effect, *effect_class, *outcome, *error, *model, *stop, *child;
    span_usage usage;
} run_span;

typedef void span_fn(void *ctx, const run_span *s);
typedef struct span_maker span_maker;

span_maker *span_maker_new(const span_run *of, span_fn *fn, void *ctx);         /* NULL: no memory */
void span_maker_free(span_maker *m);
/* Whether its content is needed: pawl_items_json() may be costly. */
bool span_maker_needs(const pawl_item_change *c);
/* Every stored change in order, of all kinds with lines. `json`: its content, where it is needed; else NULL. False: no memory; give it up. */
bool span_maker_takes(span_maker *m, const pawl_item_change *c, const char *json);
/* The line is complete: the changes so far are all that its place and those before it gave. False: no memory. */
bool span_maker_line(span_maker *m);
/* Whether the change is the first of a line. */
bool span_line_begins(const pawl_item_change *c);
/* The place of the newest change; 0.0: there was none. */
void span_maker_place(const span_maker *m, uint64_t *seq, uint64_t *index);

#endif
