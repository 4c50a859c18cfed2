/* host.h - agents in a program: they are driven on a thread of the host's own, and spoken to by handles (A3 to A7).
 *
 *     pawl_host *h = pawl_host_new(engine, NULL, &err);
 *     if (pawl_host_spawn(h, "helper", "chat-1", "{\"input\":\"hello\"}", &a, &err) == PAWL_OK &&
 *         pawl_handle_wait(a, PAWL_UNTIL_RESTS, 30000, NULL, &err) == PAWL_OK)
 *         ...
 *     pawl_handle_free(a);
 *     pawl_host_free(h);
 *
 * What a handle says is left for the run, durable when the call returns, and taken by whoever drives it: this host, or another process. What
 * it reads is what is stored. So it does not matter who drives, and a handle is good for an agent that was begun years ago.
 *
 *   engine   its machines, handlers, threads and limits are set before it is given; from then on it is the host's. Give it threads
 *            (pawl_engine_threads): without them one model that speaks keeps all other agents of the host from going on
 *   threads  a pawl_host may be used from any thread, several at once; so may two handles, also of one run; one pawl_handle belongs to one
 *            thread at a time. A handler may use neither. A pawl_stream is its reader's alone (pawl/stream.h)
 *   order    streams and handles are let go of before their host; nobody may be in a call of it when it is freed */
#ifndef PAWL_HOST_H
#define PAWL_HOST_H

#include "pawl/agent.h"
#include "pawl/engine.h"
#include "pawl/stream.h"
#include "pawl/tool.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pawl_host pawl_host;
typedef struct pawl_handle pawl_handle;

/* The tools of a set as pawl_agent.tools has them, in their order, into `out`: `most` at most; how many there are in `out`. They point into the set. Tools
 * that an agent performs itself (todo, ask_user, spawn_agent, ...) are marked as its own. */
PAWL_API size_t pawl_host_tools(const pawl_tools *tools, pawl_agent_tool *out, size_t most);
/* Binds the handlers that runs of an agent need beside that of its model ("llm", see pawl/llm.h): "tool-NAME" of each tool in `tools` (may be NULL; it
 * outlives the engine), "hook" and "links", which its rules need, and "tell", by which it speaks to its children. Before pawl_host_new; a handler that
 * is bound after this takes the place of one. PAWL_INVALID, PAWL_NOMEM. */
PAWL_API PAWL_MUST_USE pawl_code pawl_host_bind(pawl_engine *e, const pawl_tools *tools, pawl_err *err);
/* Begins to drive what is due in the engine's store. Takes `engine` and `look`, also on failure; either may be NULL, with `engine` NULL so is
 * the host, `err` as it was. `look`: a second handle on the same store, by which handles read and write while the engine uses its own; NULL,
 * and for a store in memory it must be: they use the engine's, under its lock, and wait for its commits. NULL: PAWL_NOMEM, PAWL_IO (no thread). */
PAWL_API pawl_host *pawl_host_new(pawl_engine *engine, pawl_store *look, pawl_err *err);
/* Nothing more leaves, what is out ends and is stored, and the host's thread with it; handles still read and leave, and nobody here drives. */
PAWL_API void pawl_host_drain(pawl_host *h);
/* At once: what is out is told to stop, as if the process had died (pawl_engine_abandon); after a drain there is nothing. Runs stay where
 * they are. NULL: nothing. */
PAWL_API void pawl_host_free(pawl_host *h);
/* Why it cannot drive now: the code with which pawl_work failed last. It tries again by itself. PAWL_OK: it drives. */
PAWL_API pawl_code pawl_host_trouble(pawl_host *h, pawl_err *err);

/* A new agent: a run of `machine` (NULL: the engine's first) with that id, begun with `input`, an object of channels as JSON, such as
 * {"input":"hello","@mode":"plan"}; NULL: none. Durable when this returns. *out is its handle, to be freed; `out` may be NULL. PAWL_CONFLICT:
 * there is a run of that id, which stays as it is, running or over; of several who spawn it at once one succeeds. PAWL_INVALID: no
 * such machine, no id, or it refuses the input. */
PAWL_API PAWL_MUST_USE pawl_code pawl_host_spawn(pawl_host *h, const char *machine, const char *id, const char *input, pawl_handle **out, pawl_err *err);
/* The same with a record (pawl_run_with), `info->id` among it; `info` is copied, and it has no dedupe key and no context. */
PAWL_API PAWL_MUST_USE pawl_code pawl_host_spawn_with(pawl_host *h, const char *machine, const pawl_run_info *info, const char *input, pawl_handle **out,
                                                      pawl_err *err);
/* A handle of a run that is there, whoever began it; to be freed. NULL: PAWL_GONE, there is none; or PAWL_NOMEM, PAWL_IO. */
PAWL_API pawl_handle *pawl_host_get(pawl_host *h, const char *id, pawl_err *err);
/* Runs, newest first: all of the store, or what `filter` says (pawl/store.h). `fn` may not use the host. */
PAWL_API pawl_code pawl_host_list(pawl_host *h, const pawl_filter *filter, pawl_head_fn *fn, void *ctx, pawl_err *err);

/* ---- what is said to it --------------------------------------------------------------------------------------- */

PAWL_API void pawl_handle_free(pawl_handle *a);         /* NULL: nothing; the agent goes on */
PAWL_API const char *pawl_handle_run(const pawl_handle *a);     /* its id */
/* In whose name this handle speaks: it stands in the journal with what it says. NULL: nobody's, as at first. At most 255 bytes. */
PAWL_API pawl_code pawl_handle_by(pawl_handle *a, const char *by, pawl_err *err);

/* All of these: durable on PAWL_OK, taken in the order in which they were left. PAWL_CONFLICT: the run is over; PAWL_GONE: it was removed,
 * or another was begun under its id; PAWL_LIMIT: too much waits for it.
 *
 * Input, as JSON: a text, {"input": TEXT or BLOCKS}, or a message; while a turn is under way it queues (A4). PAWL_INVALID: it is no JSON,
 * there is no word in it, or a block that a user may not say (pawl_agent_input). */
PAWL_API PAWL_MUST_USE pawl_code pawl_handle_send(pawl_handle *a, const char *input, pawl_err *err);
PAWL_API PAWL_MUST_USE pawl_code pawl_handle_interrupt(pawl_handle *a, pawl_err *err);  /* A4; when nothing is under way: nothing */
PAWL_API PAWL_MUST_USE pawl_code pawl_handle_shutdown(pawl_handle *a, pawl_err *err);   /* its end, from wherever it stands */
/* `wait`: the wait's id (pawl_handle_view and pawl_handle_asks have it), its slot, or NULL: the only question or approval that is open, of the
 * agent or of a child that it waits for, at any depth: whose it is does not matter, an id says it. An id is exact: what
 * has been asked anew since is another wait. PAWL_CONFLICT: it was answered before, and err says how, or nobody waits any more;
 * PAWL_INVALID: never asked, several are open, or its schema or options refuse the answer (W3). */
PAWL_API PAWL_MUST_USE pawl_code pawl_handle_answer(pawl_handle *a, const char *wait, const char *json, pawl_err *err);
/* To an approval: yes or no; why, which the model is told (NULL: not said); and with a yes, an object that the tool is given instead of what
 * the model said (NULL: that), and which is decided once more (P2). `wait` as above, but of approvals alone. */
PAWL_API PAWL_MUST_USE pawl_code pawl_handle_permit(pawl_handle *a, const char *wait, bool yes, const char *note, const char *input, pawl_err *err);

/* ---- how it stands ---------------------------------------------------------------------------------------------- */

typedef struct pawl_handle_view {   /* a copy, for pawl_handle_view_free; what is not there is NULL */
    pawl_shown state;           /* nothing: it has not begun. What a child asks that it waits for, at any depth, is what it waits for itself */
    pawl_badge badge;
    pawl_status status;         /* of its run, with the children that it waits for: input-required when only they ask, */
    bool over;                  /* which is */
    bool told;                  /* something was said to it, or to one of those children, that it has not taken yet */
    const char *parked;         /* why nobody can drive it */
    uint64_t seq;               /* of the entry after which it stands so, */
    int64_t time_ms;            /* and when that was */
    const char *tool_name, *tool_use_id;        /* of a tool, of a permission, of a question, and of a tool that was cut off, of which somebody is asked, */
    const char *input;          /* what the tool would be given: JSON */
    const char *session_id;     /* of a sub-agent: its run; of what is asked: the run of the child that asks, NULL where it is the agent itself */
    const char *request_id;     /* of a question or a permission: its slot, */
    const char *wait;           /* and its id, for an answer to this very one */
    const char *about;          /* of that: what is asked, and all that is known, JSON */
    const char *message;        /* of an error; of a permission: what it would do; of a question: its text */
    void *kept;
} pawl_handle_view;
/* *out is set, and to be freed, only with PAWL_OK. PAWL_INVALID: it is no agent's. */
PAWL_API PAWL_MUST_USE pawl_code pawl_handle_state(pawl_handle *a, pawl_handle_view *out, pawl_err *err);
PAWL_API void pawl_handle_view_free(pawl_handle_view *v);

/* Every question and every approval that is open: of the agent, and then of the children that it waits for, at any depth, each with its run. `w` is
 * lent for the call; its id is what pawl_handle_answer takes. `fn` returns false to stop, and may use the host. An answer that was left and not taken
 * yet leaves its request in the list. */
typedef bool pawl_asked_fn(void *ctx, const char *run, const pawl_wait *w);
PAWL_API pawl_code pawl_handle_asks(pawl_handle *a, pawl_asked_fn *fn, void *ctx, pawl_err *err);

/* Of what was said to it by anybody all is taken, and it stands so. False also where that cannot be said. is_processing: it is at work, or has to begin. */
PAWL_API bool pawl_handle_is_idle(pawl_handle *a);
PAWL_API bool pawl_handle_is_processing(pawl_handle *a);
PAWL_API bool pawl_handle_is_done(pawl_handle *a);
PAWL_API bool pawl_handle_is_error(pawl_handle *a);

typedef enum pawl_until {
    PAWL_UNTIL_IDLE = 1, PAWL_UNTIL_DONE = 2, PAWL_UNTIL_ERROR = 4,
    PAWL_UNTIL_ASKS = 8,        /* for a permission, a question, or what came of a command that was cut off; or a child does, at any depth */
    PAWL_UNTIL_RESTS = 15,      /* any of these */
    PAWL_UNTIL_OVER = 16        /* which ends every wait */
} pawl_until;
/* Until all is taken that was said to it, and it stands as one of `until` (of pawl_until) says. PAWL_OK: so it does, and *state (may be
 * NULL) is how; PAWL_HALTED: it is over; PAWL_PENDING: `timeout_ms` passed (below 0: never), and err
 * names the effects for which it waits and this engine has no handler. A wait without limit returns it as well, unless another
 * process drives the run. Below 0: PAWL_CONFLICT, it is parked, and err
 * says why; PAWL_GONE. What it passes through between two looks is not waited for: pawl_handle_subscribe tells all. */
PAWL_API PAWL_MUST_USE pawl_code pawl_handle_wait(pawl_handle *a, unsigned until, int64_t timeout_ms, pawl_shown *state, pawl_err *err);
/* What it does, from a cursor on (pawl/stream.h), also what its model says as it says it; to be closed before the host is freed. */
PAWL_API pawl_stream *pawl_handle_subscribe(pawl_handle *a, const pawl_stream_options *options, pawl_err *err);

/* ---- what it says, piece by piece ------------------------------------------------------------------------------- */

/* The kinds, and the `json` of each. What is live is seen by who reads along, and stored nowhere; SubAgentOutput is as durable as what is in it; all
 * others are durable. */
typedef enum pawl_chunk_kind {
    PAWL_CHUNK_TEXT_DELTA = 1,      /* {"text"}, live */
    PAWL_CHUNK_TEXT_COMPLETE,       /* {"text"} */
    PAWL_CHUNK_THINKING_DELTA,      /* {"thinking"}, live */
    PAWL_CHUNK_THINKING_COMPLETE,   /* {"thinking"} */
    PAWL_CHUNK_TOOL_START,          /* {"input","name","tool_use_id"} */
    PAWL_CHUNK_TOOL_PROGRESS,       /* {"output","tool_use_id"}, live: what it has written since the last one */
    PAWL_CHUNK_TOOL_END,            /* {"is_error","name","result","tool_use_id"} */
    PAWL_CHUNK_PERMISSION_REQUEST,  /* {"action","input","tool_name","tool_use_id"} */
    PAWL_CHUNK_SUB_AGENT_SPAWNED,   /* {"agent_type","session_id","tool_use_id"} */
    PAWL_CHUNK_SUB_AGENT_OUTPUT,    /* {"chunk":{"index","kind","live","run","seq","value"},"session_id"} */
    PAWL_CHUNK_SUB_AGENT_COMPLETE,  /* {"result","session_id","succeeded","tool_use_id"}; before it comes all that the child has said */
    PAWL_CHUNK_ASK_USER_QUESTION,   /* {"questions","request_id"} */
    PAWL_CHUNK_STATE_CHANGE,        /* as pawl_shown_at.value */
    PAWL_CHUNK_STATUS,              /* {"attempt"}, live: the model begins, and what it said in an attempt before is void;
                                     * {"gap":{"from","live"?,"to"},"why"}: this reader was too slow for so many live ones, or the journal was pruned;
                                     * {"compact":{"from","method","to"}}, {"cache_break":{"cause"}}, {"again_in_ms","error","retries"}, {"compacting"},
                                     * {"mode"}, {"note","tool_use_id"}, {"stop"} */
    PAWL_CHUNK_ERROR,               /* {"message"} */
    PAWL_CHUNK_DONE                 /* {"end"}: of a turn */
} pawl_chunk_kind;
PAWL_API const char *pawl_chunk_name(pawl_chunk_kind kind);     /* "TextDelta"; "" of none */

typedef struct pawl_chunk {         /* texts and what is in it live until the next call on the reader */
    pawl_chunk_kind kind;
    const char *run;                /* that says it, */
    uint64_t seq, index;            /* and its place there; of a live one and of SubAgentOutput that of the last durable one before it */
    uint64_t live;                  /* 0: durable; else its number in the run, and of SubAgentOutput in this reader */
    const char *cursor;             /* of the agent's own run, whoever says it: go on from it */
    const char *json;               /* canonical JSON */
    const char *session_id;         /* of SubAgentOutput: the child's run, */
    const struct pawl_chunk *chunk; /* and what it said; what a grandchild said is a SubAgentOutput of the child's. Else NULL. Its cursor is NULL */
    int64_t time_ms;                /* 0: of what no time is stored with */
} pawl_chunk;

typedef struct pawl_chunks pawl_chunks;

/* What an agent and all that it has spawned say from a cursor on (pawl_chunk.cursor, or a stream's): NULL, all; "now". Each says it in its order, and no
 * child before the chunk that tells of it. A child that was at work at the cursor is told from its beginning, and with "now" from now on: who goes on
 * from a cursor knows what he has seen of it by (run, seq, index). A child whose call was cut off has a ToolEnd and no SubAgentComplete, and may say more;
 * one that is not over though its parent was told so is waited for no longer than it says something within a second. As a stream it belongs to one thread at a
 * time, but for pawl_chunks_stop, and is to be closed before its host is freed. NULL: see err, as of pawl_stream_open. */
PAWL_API pawl_chunks *pawl_handle_chunks(pawl_handle *a, const char *from, pawl_err *err);
PAWL_API void pawl_chunks_close(pawl_chunks *c);        /* NULL: nothing */
/* PAWL_OK: *out is the next one. PAWL_PENDING: nothing is there now. PAWL_HALTED: the agent is over, and its children are. Below 0 the place stays. */
PAWL_API PAWL_MUST_USE pawl_code pawl_chunks_next(pawl_chunks *c, pawl_chunk *out, pawl_err *err);
/* The same, and waits for one: PAWL_PENDING after `timeout_ms` (below 0: never), PAWL_CANCELED after pawl_chunks_stop. */
PAWL_API PAWL_MUST_USE pawl_code pawl_chunks_wait(pawl_chunks *c, int64_t timeout_ms, pawl_chunk *out, pawl_err *err);
PAWL_API void pawl_chunks_stop(pawl_chunks *c); /* from any thread */

typedef struct pawl_shown_at {  /* lent for the call */
    pawl_shown state;
    uint64_t seq;               /* the entry that came to it, */
    int64_t time_ms;            /* and when */
    const pawl_value *value;    /* {"state", "tool_name"?, "tool_use_id"?, "session_id"?, "request_id"?, "message"?} */
} pawl_shown_at;
typedef bool pawl_shown_fn(void *ctx, const pawl_shown_at *s);  /* false: enough. It may not use the host */
/* Every state that was shown of it alone, without what its children asked, from its beginning, or since its journal was pruned. */
PAWL_API pawl_code pawl_handle_states(pawl_handle *a, pawl_shown_fn *fn, void *ctx, pawl_err *err);

#ifdef __cplusplus
}
#endif
#endif
