/* stream.h - the events of a run in order, from any cursor on (G11).
 *
 *     pawl_stream *r = pawl_stream_open(engine, NULL, "essay-1", &(pawl_stream_options){ .from = last_seen }, &err);
 *     while ((rc = pawl_stream_wait(r, 30000, &ev, &err)) == PAWL_OK)
 *         send(ev.cursor, ev.name, ev.json);
 *     pawl_stream_close(r);
 *
 * Durable events are read from the store only. Each has a position in its run, (seq, index), which is the same for every reader, in every
 * process, before and after a crash; docs/INTERFACES.md says how it is counted. A reader that continues from a cursor misses no durable event
 * and sees none twice.
 *
 * Live events (the output of handlers while they run, attempts that start) are not stored. Only readers on the engine get them. Each has the
 * cursor of the durable event before it, and a number of its own. A reader that is too slow gets an event that names the gap; it never misses
 * a durable event.
 *
 *   threads  a pawl_stream belongs to one thread at a time, which may be another than the engine's; only pawl_stream_stop may be called from any
 *            thread. On an engine it uses the engine's store, under its lock, or the handle that it was given. While it is open, do not use
 *            the handle of pawl_engine_store. Close it before its engine and its store. */
#ifndef PAWL_STREAM_H
#define PAWL_STREAM_H

#include "pawl/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pawl_stream pawl_stream;

typedef enum pawl_stream_kind {
    PAWL_STREAM_VALUES = 1,     /* after each entry: all channels, as one object; a secret by its name */
    PAWL_STREAM_UPDATES = 2,    /* writes of a node or of an input: [[CHANNEL,VALUE],[CHANNEL,VALUE,OP]...] */
    PAWL_STREAM_MESSAGES = 4,   /* emissions named "message": by pawl_emit, or live by a handler */
    PAWL_STREAM_TASKS = 8,      /* tasks that begin and end, commands and waits, receipts and answers; live: attempts */
    PAWL_STREAM_CUSTOM = 16,    /* emissions of any other name */
    PAWL_STREAM_DEBUG = 32,     /* each entry and task record as it is stored */
    PAWL_STREAM_GAP = 64        /* sent whatever `kinds` says: {"from","to"}, cursors; "live": the number of live events lost between them */
} pawl_stream_kind;

typedef struct pawl_stream_event {      /* texts are valid until the next call on the stream */
    pawl_stream_kind kind;
    const char *cursor;         /* "SEQ.INDEX": a reader that starts from it begins after this event */
    uint64_t seq, index;
    uint64_t live;              /* 0: durable; else its number, and the cursor is that of the durable event before it */
    const char *run;
    const char *name;           /* of the emission; else of the item: "leave", "call", "receipt", "started" ... */
    const char *path;           /* the task: "worker:3", "desk/1/1/check"; "" of the run itself */
    const char *node;           /* its node: "worker", "check"; "" */
    const char *id;             /* the invocation's, of what has one; else NULL */
    const char *json;           /* canonical JSON, by kind and name: docs/INTERFACES.md */
    int64_t time_ms;            /* 0: no time is stored with it */
    const pawl_delta *delta;    /* live, from pawl_job_say: the bytes from which `json` was made; else NULL */
} pawl_stream_event;

typedef struct pawl_stream_options {    /* NULL or 0: the default */
    const char *from;           /* a cursor: events after it; "now": events from now on; NULL: all */
    unsigned kinds;             /* of pawl_stream_kind; all but debug */
    void (*wake)(void *ctx);    /* on an engine: called on any thread when there may be an event; must not block or call the stream */
    void *wake_ctx;
} pawl_stream_options;

/* Opens a stream of `run`. `engine` may be NULL: then there are durable events only, read when they are asked for. `store` may be NULL: the engine's; else
 * it is lent, for this thread. Returns NULL: PAWL_GONE (there is no such run, or the cursor points into the pruned part), PAWL_INVALID (no cursor, or one
 * beyond the end). With `from` NULL on a pruned journal the first event is the gap. */
PAWL_API pawl_stream *pawl_stream_open(pawl_engine *engine, pawl_store *store, const char *run, const pawl_stream_options *options,
                                       pawl_err *err);
PAWL_API void pawl_stream_close(pawl_stream *r);

/* PAWL_OK: *ev is the next event. PAWL_PENDING: there is none now. PAWL_HALTED: there is none, and the run has ended; more come only if it is reopened.
 * Below 0 the position stays, and the call may be repeated: PAWL_GONE, the run was deleted before its last event was read, or pruned past this position. */
PAWL_API PAWL_MUST_USE pawl_code pawl_stream_next(pawl_stream *r, pawl_stream_event *ev, pawl_err *err);
/* The same, but waits for an event: PAWL_PENDING after `timeout_ms` (below 0: no limit), PAWL_CANCELED after pawl_stream_stop. Steps of this engine wake
 * it; for those of other engines it polls the store every 2 to 64 ms, less often the longer nothing came. */
PAWL_API PAWL_MUST_USE pawl_code pawl_stream_wait(pawl_stream *r, int64_t timeout_ms, pawl_stream_event *ev, pawl_err *err);
/* Makes the current or the next pawl_stream_wait return PAWL_CANCELED. */
PAWL_API void pawl_stream_stop(pawl_stream *r);
/* The cursor of the last event that was read. "7.0" is the start of what entry 7 closes, and stays valid after a prune at 6. */
PAWL_API const char *pawl_stream_cursor(pawl_stream *r);

/* Sets how many live events of all runs the engine keeps for its readers: 0: 4,096 events, 4 MiB. It keeps them from this call on, so that a late reader
 * gets the output of running attempts. PAWL_CONFLICT: the buffer exists already, since a stream was opened. */
PAWL_API PAWL_MUST_USE pawl_code pawl_engine_live(pawl_engine *engine, size_t events, size_t bytes, pawl_err *err);

#ifdef __cplusplus
}
#endif
#endif
