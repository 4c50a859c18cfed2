/* stream.h - what a run does, told event by event, from any place on (G11).
 *
 *     pawl_stream *r = pawl_stream_open(engine, NULL, "essay-1", &(pawl_stream_options){ .from = last_seen }, &err);
 *     while ((rc = pawl_stream_wait(r, 30000, &ev, &err)) == PAWL_OK)
 *         send(ev.cursor, ev.name, ev.json);
 *     pawl_stream_close(r);
 *
 * Durable events are read from what is stored and from nothing else. Each has a place of its own in its run, (seq, index),
 * which is the same for every reader, in every process, before and after a crash; docs/INTERFACES.md says how it is counted. So
 * whoever goes on from a cursor misses none and sees none twice.
 *
 * Live events - what handlers say while they work, attempts that begin - are stored nowhere. Only readers that are opened on the
 * engine get them; each carries the cursor of where it stands among the durable ones, and a number of its own. A reader that is too
 * slow for them is told of the gap; of durable events it never misses one.
 *
 *   threads  a pawl_stream belongs to one thread at a time, which may be another than the engine's; only pawl_stream_stop may
 *            be called from any. On an engine it uses that engine's store, under its lock, or a handle that it is lent; while it
 *            does, the handle of pawl_engine_store is the engine's alone. Close it before its engine and its store. */
#ifndef PAWL_STREAM_H
#define PAWL_STREAM_H

#include "pawl/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pawl_stream pawl_stream;

typedef enum pawl_stream_kind {
    PAWL_STREAM_VALUES = 1,     /* after each entry: all channels, as one object; a secret by its name */
    PAWL_STREAM_UPDATES = 2,    /* what a node wrote, or what came in: [[CHANNEL,VALUE],[CHANNEL,VALUE,OP]...] */
    PAWL_STREAM_MESSAGES = 4,   /* what is told under the name "message": by pawl_emit, or live by a handler */
    PAWL_STREAM_TASKS = 8,      /* tasks that begin and end, commands and waits, receipts and answers; live: attempts */
    PAWL_STREAM_CUSTOM = 16,    /* what is told under any other name */
    PAWL_STREAM_DEBUG = 32,     /* each entry and task record as it is stored */
    PAWL_STREAM_GAP = 64        /* told to all: {"from","to"}, cursors; "live": how many live events are lost between them */
} pawl_stream_kind;

typedef struct pawl_stream_event {      /* texts live until the next call on the stream */
    pawl_stream_kind kind;
    const char *cursor;         /* "SEQ.INDEX": go on from it, and this event is behind you */
    uint64_t seq, index;
    uint64_t live;              /* 0: durable; else its number, and the cursor says what stands before it */
    const char *run;
    const char *name;           /* of what is told; else of the item: "leave", "call", "receipt", "started" ... */
    const char *path;           /* the task: "worker:3", "desk/1/1/check"; "" of the run itself */
    const char *node;           /* its node: "worker", "check"; "" */
    const char *id;             /* the invocation's, of what has one; else NULL */
    const char *json;           /* canonical JSON, by kind and name: docs/INTERFACES.md */
    int64_t time_ms;            /* 0: of what no time is stored with */
    const pawl_delta *delta;    /* live, said by pawl_job_say: its bytes, of which `json` was made; else NULL */
} pawl_stream_event;

typedef struct pawl_stream_options {    /* NULL or 0: the default */
    const char *from;           /* a cursor: what comes after it; "now": what comes from now on; NULL: all */
    unsigned kinds;             /* of pawl_stream_kind; all but debug */
    void (*wake)(void *ctx);    /* on an engine: there may be something; on any thread, must not block or call the stream */
    void *wake_ctx;
} pawl_stream_options;

/* What `run` does, as `store` has it. `engine` may be NULL: then only what is stored, looked for when it is asked for. `store`
 * may be NULL: the engine's; else it is lent, for this thread. NULL: PAWL_GONE, there is no such run, or the cursor is
 * before what was pruned; PAWL_INVALID, it is no cursor, or lies beyond the end. From NULL on a journal that was
 * pruned, the first event is the gap. */
PAWL_API pawl_stream *pawl_stream_open(pawl_engine *engine, pawl_store *store, const char *run, const pawl_stream_options *options,
                                       pawl_err *err);
PAWL_API void pawl_stream_close(pawl_stream *r);

/* The next event. PAWL_OK: *ev is one. PAWL_PENDING: nothing is there now. PAWL_HALTED: nothing is, and the run is over; there
 * will be more only if it is reopened. Below 0 the place stays, and it may be asked again: PAWL_GONE, the run was deleted before
 * its end was told, or pruned past this place. */
PAWL_API PAWL_MUST_USE pawl_code pawl_stream_next(pawl_stream *r, pawl_stream_event *ev, pawl_err *err);
/* The same, and waits for one: PAWL_PENDING after `timeout_ms` (below 0: never), PAWL_CANCELED after pawl_stream_stop. It is woken by
 * what this engine does; for what others do it looks every 2 to 64 ms, the longer nothing came, the seldomer. */
PAWL_API PAWL_MUST_USE pawl_code pawl_stream_wait(pawl_stream *r, int64_t timeout_ms, pawl_stream_event *ev, pawl_err *err);
/* Whoever waits, or will, is told PAWL_CANCELED. */
PAWL_API void pawl_stream_stop(pawl_stream *r);
/* All up to here is behind it: a cursor as any other. "7.0" is the beginning of what entry 7 closes, and good after a prune at 6. */
PAWL_API const char *pawl_stream_cursor(pawl_stream *r);

/* How much the engine keeps for its readers, of all runs, until they come: 4,096 events, 4 MiB (0: these). PAWL_CONFLICT: it has
 * begun with the first stream. From then on it is kept, so that who comes later gets what running attempts have said. */
PAWL_API PAWL_MUST_USE pawl_code pawl_engine_live(pawl_engine *engine, size_t events, size_t bytes, pawl_err *err);

#ifdef __cplusplus
}
#endif
#endif
