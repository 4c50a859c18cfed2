/* items.h - a run as items: the things that a person sees in it, each with a stable id and a state, and what changes of them.
 *
 *     pawl_items *r = pawl_items_open(engine, NULL, "essay-1", &(pawl_items_options){ .from = last_cursor }, &err);
 *     while ((rc = pawl_items_wait(r, 30000, &change, &err)) == PAWL_OK)
 *         show(change.id, change.state, change.part, pawl_items_json(r, &err));
 *     pawl_items_close(r);
 *
 * One projection for everything that shows a run: lists, transcripts, screens, protocols. It is made from the journal alone: the same journal gives the
 * same changes with the same ids to every reader, in every process, before and after a crash. An event of pawl/stream.h is a line that was stored; a
 * change names the thing that the line is about, and has its state afterwards.
 *
 *   items    each begins (ADDED), may change (UPDATED, by a part), and ends once (ENDED). What is whole at once begins and ends in one change. What
 *            was open when its run ended ends with it, as dropped. A run that is reopened, and a task that begins again after it failed, are added again
 *            under the same id. PAWL_ITEM_RUN itself changes state and never leaves
 *   ids      made of the run's id, its life and what the item is about. A command, wait or child has its invocation id
 *            (RUN~LIFE/SUPERSTEP.TASK.VISIT.N), by which it is answered; others are RUN~LIFE/KIND:KEY. Ids are never given to another thing. Where a
 *            journal was pruned while an agent's tool call was open, that call is added anew at its next change, under another id
 *   parts    the name of what came: of a durable change the name that the stream event at its place has ("call", "receipt", "leave", "writes"), or of
 *            what is said by an agent ("text_complete", "tool_start"); "state" or, of the run, "status" when only that moved
 *   cursors  "RUN:SEQ.INDEX", a place in the journal of that run as in pawl/stream.h; behind the first K changes of a place that has more "RUN:SEQ.INDEX.K".
 *            It is good for ever, in any process. Reading from it gives exactly the changes after it. "SEQ.INDEX", a cursor of a stream, is taken too
 *   live     what handlers say while they work is at the end: it is stored nowhere, changes no state and is no part of a cursor. Only readers that
 *            are opened on an engine get it; each such change has a number, `live`. A reader that was too slow gets a GAP
 *   cost     a reader that begins at a cursor projects what is before it without giving it: a second for more than a million lines
 *   texts    belong to the reader and are valid until the next call on it
 *   errors   a call that failed leaves the cursor where it was. After PAWL_NOMEM close the reader, and open another one at pawl_items_cursor
 *   threads  a pawl_items belongs to one thread at a time, which may be another than the engine's; only pawl_items_stop may be called from any. The
 *            store is used as by pawl/stream.h. Close it before its engine and its store */
#ifndef PAWL_ITEMS_H
#define PAWL_ITEMS_H

#include "pawl/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum pawl_item_kind {   /* bits, to be chosen by */
    PAWL_ITEM_RUN = 1,          /* the run: what came in from outside, its status. Its id is RUN~LIFE */
    PAWL_ITEM_MESSAGE = 2,      /* a message of a conversation, a request to a model with its answer, "message" of a node. name: role or effect */
    PAWL_ITEM_TOOL_CALL = 4,    /* a tool that a model asked for; any other command. name: of the tool, else the effect */
    PAWL_ITEM_NODE = 8,         /* a node of the graph, however often it runs. name: its path, "desk/check" */
    PAWL_ITEM_TASK = 16,        /* one node in one superstep. name: "worker:3" */
    PAWL_ITEM_WAIT = 32,        /* a question, a signal, a timer, an outcome that is not known. name: approval question input signal sleep doubt */
    PAWL_ITEM_CHILD = 64,       /* a run that was spawned; `child` is its id. name: its machine */
    PAWL_ITEM_ARTIFACT = 128,   /* something emitted under a name, which is kept with the run */
    PAWL_ITEM_ERROR = 256,      /* why a task or the run failed. name: "fail", "end" or "error" */
    PAWL_ITEM_USAGE = 512,      /* what a command has used. parent: that command */
    PAWL_ITEM_LINE = 1024       /* each line of the journal as it is stored; not given unless asked for. Its id is the run's */
} pawl_item_kind;

/* Every kind has the states that make sense for it (src/stream/items.c has the tables). Those from PAWL_ITEM_DONE on end an item. */
typedef enum pawl_item_state {
    PAWL_ITEM_PROPOSED,         /* a tool that was asked for, and does not run yet; of a run: submitted */
    PAWL_ITEM_RUNNING,
    PAWL_ITEM_WAITING,          /* for a person, an answer, a time */
    PAWL_ITEM_IDLE,             /* a node of which no task is open */
    PAWL_ITEM_DONE,
    PAWL_ITEM_FAILED,
    PAWL_ITEM_DROPPED,          /* nobody waits for it any more; of a run: canceled */
    PAWL_ITEM_REFUSED           /* it never began: there was no budget for it; of a run: rejected */
} pawl_item_state;

enum {                          /* what a change is: bits of pawl_item_change.what */
    PAWL_ITEM_ADDED = 1,
    PAWL_ITEM_UPDATED = 2,
    PAWL_ITEM_ENDED = 4,
    PAWL_ITEM_EMITTED = 16,     /* the run said it: part is the name that it was emitted under */
    PAWL_ITEM_GAP = 8           /* of the run: something cannot be read. part: "pruned", "slow" or "erased"; JSON as of the stream's gap */
};

typedef struct pawl_item_change {
    pawl_item_kind kind;
    pawl_item_state state;      /* after this change */
    unsigned what;              /* of PAWL_ITEM_ADDED and so on */
    const char *id;
    const char *parent;         /* the id of the item that it belongs to: a task, a tool call, a message; else the run's */
    const char *name;           /* by kind, above; never NULL */
    const char *part;           /* what came; "" when it is only added */
    const char *call;           /* the invocation id of the command or wait that it is about; else NULL */
    const char *child;          /* of a PAWL_ITEM_CHILD, and of a tool call while it has a child at work: the child's run; else NULL */
    const char *path;           /* the task that this place of the journal is about: "worker:3"; "" */
    const char *node;           /* its node; "" */
    const char *run;
    const char *cursor;         /* go on from it, and this change is behind you */
    uint64_t seq, index;        /* its place in the journal */
    uint64_t live;              /* 0: durable; else its number, and the cursor is that of the last durable change before it */
    int64_t time_ms;            /* 0: no time is stored with it */
    const pawl_delta *delta;    /* live, said by pawl_job_say: its bytes, valid as long as the texts; else NULL */
} pawl_item_change;

typedef struct pawl_items_options {     /* NULL or 0: the default */
    const char *from;           /* a cursor: what comes after it; "now": what comes from now on; NULL: all */
    unsigned kinds;             /* of pawl_item_kind; all but PAWL_ITEM_LINE */
    void (*wake)(void *ctx);    /* on an engine: there may be something; on any thread, must not block or call the reader */
    void *wake_ctx;
} pawl_items_options;

typedef struct pawl_items pawl_items;

/* The items of `run`. `engine` may be NULL: only what is stored. `store` may be NULL: the engine's; else it is lent, for this thread. NULL: see err.
 * PAWL_GONE: there is no such run, or the cursor lies before what was pruned; PAWL_INVALID: it is no cursor of this run, or lies beyond its end. */
PAWL_API pawl_items *pawl_items_open(pawl_engine *engine, pawl_store *store, const char *run, const pawl_items_options *options, pawl_err *err);
PAWL_API void pawl_items_close(pawl_items *r);  /* NULL: nothing */

/* The next change. PAWL_OK: *change is one. PAWL_PENDING: there is none now. PAWL_HALTED: there is none, and the run is over. Below 0 the place
 * stays: PAWL_GONE, the run was deleted before its end was given; PAWL_CORRUPT, a line of the journal is damaged. */
PAWL_API PAWL_MUST_USE pawl_code pawl_items_next(pawl_items *r, pawl_item_change *change, pawl_err *err);
/* The same, and waits for one: PAWL_PENDING after `timeout_ms` (below 0: never), PAWL_CANCELED after pawl_items_stop. */
PAWL_API PAWL_MUST_USE pawl_code pawl_items_wait(pawl_items *r, int64_t timeout_ms, pawl_item_change *change, pawl_err *err);
PAWL_API void pawl_items_stop(pawl_items *r);

/* What came with the change that was given last, canonical JSON; it is made when it is asked for. Of a part with the name of a stream event what
 * docs/INTERFACES.md says of that event; of a message that is whole the message; of a usage {"calls","micros","tokens"} as far as
 * they are known, and in "model" what the model said of its tokens; of what is only added, moved or dropped "null". NULL: see err. */
PAWL_API const char *pawl_items_json(pawl_items *r, pawl_err *err);
/* All up to here is behind it: a cursor as any other. */
PAWL_API const char *pawl_items_cursor(pawl_items *r);

PAWL_API const char *pawl_item_kind_name(pawl_item_kind kind);      /* "tool_call"; "" of none */
/* "running", or by kind: of a message "streaming", of a run its status. */
PAWL_API const char *pawl_item_state_name(pawl_item_kind kind, pawl_item_state state);

#ifdef __cplusplus
}
#endif
#endif
