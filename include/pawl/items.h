/* items.h - a run as items: the things that a person sees in it, each with a stable id and a state, and the changes of these.
 *
 *     pawl_items *r = pawl_items_open(engine, NULL, "essay-1", &(pawl_items_options){ .from = last_cursor }, &err);
 *     while ((rc = pawl_items_wait(r, 30000, &change, &err)) == PAWL_OK)
 *         show(change.id, change.state, change.part, pawl_items_json(r, &err));
 *     pawl_items_close(r);
 *
 * For everything that shows runs: lists, transcripts, screens, protocols. An event of pawl/stream.h is one line as it was stored; a change here names the
 * thing that the line is about, and its state after it. Changes are made from the journal alone: every reader, in every process, before and after a crash,
 * gets the same changes with the same ids.
 *
 *   items    an item begins (ADDED), may change (UPDATED) and ends once (ENDED); one that is complete at once begins and ends in one change. When a run
 *            ends, its open items end as dropped. A run that is reopened, and a task that begins again after it failed, are added again with the same id.
 *            The item of the run itself changes its state and never ends
 *   ids      a command, wait or child run has its invocation id (RUN~LIFE/SUPERSTEP.TASK.VISIT.N), which is also the id to answer it by; other items
 *            have RUN~LIFE/KIND:KEY. An id is never used for another thing. After a prune while a tool call of an agent was open, that call is added
 *            with another id at its next change
 *   parts    what a change brought: for a stored one the name that the stream event at its place has ("call", "receipt", "leave", "writes"), or, from an
 *            agent, the name of an output ("text_complete", "tool_start"). When only the state changed: "state", of the run "status"
 *   cursors  "RUN:SEQ.INDEX", a place in the journal of the run as in pawl/stream.h; after the first K changes of a place that has more,
 *            "RUN:SEQ.INDEX.K". A cursor never expires, unless its place is pruned, and holds in any process: a reader that begins with it gets exactly
 *            the changes after it. A cursor of a stream, "SEQ.INDEX", is accepted too
 *   live     live changes, the output of handlers while they run, are not stored, change no state and have no cursor of their own. Only a reader that is
 *            opened on an engine gets them, each with a number; a reader that is too slow gets a change with PAWL_ITEM_GAP
 *   cost     a reader that begins with a cursor reads the journal up to it: a second for more than a million lines
 *   texts    are owned by the reader and valid until the next call on it
 *   errors   a failed call leaves the cursor as it was. After PAWL_NOMEM close the reader and open another one with pawl_items_cursor
 *   threads  a pawl_items belongs to one thread at a time, which may be another than the engine's; only pawl_items_stop may be called from any thread. It
 *            uses the store as a pawl_stream does. Close it before its engine and its store */
#ifndef PAWL_ITEMS_H
#define PAWL_ITEMS_H

#include "pawl/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum pawl_item_kind {   /* bits, for pawl_items_options.kinds */
    PAWL_ITEM_RUN = 1,          /* the run: its status, and events from outside. Its id is RUN~LIFE; name: its run id */
    PAWL_ITEM_MESSAGE = 2,      /* a message of a conversation, a model request with its answer, an emission "message". name: role or effect */
    PAWL_ITEM_TOOL_CALL = 4,    /* a tool call of a model, or any other command. name: the tool, else the effect */
    PAWL_ITEM_NODE = 8,         /* a node of the graph, with all its tasks. name: its path, "desk/check" */
    PAWL_ITEM_TASK = 16,        /* one node in one superstep. name: "worker:3" */
    PAWL_ITEM_WAIT = 32,        /* a wait, a timer, or an unknown outcome. name: approval question input signal sleep doubt */
    PAWL_ITEM_CHILD = 64,       /* a child run; `child` is its id. name: its machine */
    PAWL_ITEM_ARTIFACT = 128,   /* an emission that is kept with the run. name: its name */
    PAWL_ITEM_ERROR = 256,      /* why a task or the run failed. name: "fail", "end" or "error" */
    PAWL_ITEM_USAGE = 512,      /* the cost of a command, which is its parent */
    PAWL_ITEM_LINE = 1024       /* each line of the journal as it is stored; only if `kinds` has it. Its id is the run's */
} pawl_item_kind;

/* The states of items; each kind has some of them (the tables are in src/stream/item_table.c). From PAWL_ITEM_DONE on an item has ended. */
typedef enum pawl_item_state {
    PAWL_ITEM_PROPOSED,         /* a tool call that does not run yet; of a run: submitted */
    PAWL_ITEM_RUNNING,
    PAWL_ITEM_WAITING,          /* for a person, an answer or a time */
    PAWL_ITEM_IDLE,             /* a node without an open task */
    PAWL_ITEM_DONE,
    PAWL_ITEM_FAILED,
    PAWL_ITEM_DROPPED,          /* its result is not needed any more; of a run: canceled */
    PAWL_ITEM_REFUSED           /* not begun, because the budget did not suffice; of a run: rejected */
} pawl_item_state;

enum {                          /* what a change is: bits of pawl_item_change.what */
    PAWL_ITEM_ADDED = 1,
    PAWL_ITEM_UPDATED = 2,
    PAWL_ITEM_ENDED = 4,
    PAWL_ITEM_EMITTED = 16,     /* the run emitted it; part is the name of the emission */
    PAWL_ITEM_GAP = 8           /* of the run: something cannot be read. part: "pruned", "slow" or "erased"; the JSON is that of a stream's gap */
};

typedef struct pawl_item_change {       /* texts are never NULL unless it says so */
    pawl_item_kind kind;
    pawl_item_state state;      /* after this change */
    unsigned what;              /* bits: PAWL_ITEM_ADDED and the like */
    const char *id;
    const char *parent;         /* the id of the item that it belongs to: a task, a tool call, a message, or the run */
    const char *name;           /* by its kind, see pawl_item_kind */
    const char *part;           /* see the head of this file; "" if it was only added */
    const char *call;           /* the invocation id of the command or wait that it is about; NULL: none */
    const char *child;          /* the child run of a PAWL_ITEM_CHILD, or of a tool call while that run is open; else NULL */
    const char *path;           /* the task: "worker:3"; "": none */
    const char *node;           /* the node of that task; "" */
    const char *run;
    const char *cursor;         /* a reader that begins with it gets what comes after this change */
    uint64_t seq, index;        /* its place in the journal */
    uint64_t live;              /* 0: stored; else the number of a live change, whose cursor is that of the stored change before it */
    int64_t time_ms;            /* 0: no time is stored with it */
    const pawl_delta *delta;    /* of a live change from pawl_job_say: the bytes from which its JSON is made; else NULL */
} pawl_item_change;

typedef struct pawl_items_options {     /* NULL or 0: the default */
    const char *from;           /* a cursor: changes after it; "now": changes from now on; NULL: all */
    unsigned kinds;             /* bits of pawl_item_kind; by default all but PAWL_ITEM_LINE */
    void (*wake)(void *ctx);    /* on an engine: called on any thread when there may be a change; must not block or call the reader */
    void *wake_ctx;
} pawl_items_options;

typedef struct pawl_items pawl_items;

/* Opens a reader of the items of `run`; close it. `engine` may be NULL: then there are no live changes. `store` may be NULL: the engine's; else it is lent,
 * for this thread. NULL: PAWL_GONE, there is no such run, or the cursor points into the pruned part; PAWL_INVALID, it is no cursor of this run, or is
 * beyond the end, or `kinds` has unknown bits; PAWL_NOMEM; or an error of the store. */
PAWL_API pawl_items *pawl_items_open(pawl_engine *engine, pawl_store *store, const char *run, const pawl_items_options *options, pawl_err *err);
PAWL_API void pawl_items_close(pawl_items *r);  /* NULL: does nothing */

/* Reads the next change. PAWL_OK: *change is set. PAWL_PENDING: there is none now. PAWL_HALTED: there is none, and the run has ended. Below 0 the cursor
 * stays: PAWL_GONE, the run was deleted before its last change was read; PAWL_CORRUPT, a line of the journal is damaged. */
PAWL_API PAWL_MUST_USE pawl_code pawl_items_next(pawl_items *r, pawl_item_change *change, pawl_err *err);
/* The same, but waits for a change: PAWL_PENDING after `timeout_ms` (below 0: no limit), PAWL_CANCELED after pawl_items_stop. */
PAWL_API PAWL_MUST_USE pawl_code pawl_items_wait(pawl_items *r, int64_t timeout_ms, pawl_item_change *change, pawl_err *err);
/* Makes the current or the next pawl_items_wait return PAWL_CANCELED. From any thread. */
PAWL_API void pawl_items_stop(pawl_items *r);

/* The content of the change that was read last, as canonical JSON; it is made by this call. For a part that is the name of a stream event: the JSON of that
 * event (docs/INTERFACES.md); for a complete message: the message; for a usage: {"calls","micros","tokens"} as far as they are known, and "model", the
 * usage as the model reported it; for a change of state alone: null. NULL: see err. */
PAWL_API const char *pawl_items_json(pawl_items *r, pawl_err *err);
/* The cursor after the change that was read last; when all was read, after all that is stored: it holds when the entries before it are pruned. */
PAWL_API const char *pawl_items_cursor(pawl_items *r);

PAWL_API const char *pawl_item_kind_name(pawl_item_kind kind);      /* "tool_call"; "": no such kind. Static */
/* The name of a state, "running"; of a running message "streaming", of a run its status. Static. */
PAWL_API const char *pawl_item_state_name(pawl_item_kind kind, pawl_item_state state);

#ifdef __cplusplus
}
#endif
#endif
