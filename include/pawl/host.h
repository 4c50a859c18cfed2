/* host.h - agents in a program: a host drives them on a thread of its own, handles send messages to them and read them (A3 to A7).
 *
 *     pawl_host *h = pawl_host_new(engine, NULL, &err);
 *     if (pawl_host_spawn(h, "helper", "chat-1", "{\"input\":\"hello\"}", &a, &err) == PAWL_OK &&
 *         pawl_handle_wait(a, PAWL_UNTIL_RESTS, 30000, NULL, &err) == PAWL_OK)
 *         ...
 *     pawl_handle_free(a);
 *     pawl_host_free(h);
 *
 * A handle delivers messages to the run. A message is durable when the call returns; the process that drives the run takes it: this host or another
 * one. A handle reads what is stored, so it works whichever process drives the run, and also for an agent that began years ago.
 *
 *   engine   set its machines, handlers, threads and limits first; then the host owns it. Give it threads (pawl_engine_threads): without
 *            them one streaming model call blocks all other agents of the host
 *   threads  a pawl_host may be used from any thread, several at once; so may two handles, also of one run; one pawl_handle belongs to one
 *            thread at a time. A handler may use neither. A pawl_stream is its reader's alone (pawl/stream.h)
 *   order    free streams and handles before their host, and free the host when no thread is in one of its calls */
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

/* Writes the tools of a set into `out`, in their order, in the form of pawl_agent.tools: at most `most`. Returns how many it wrote. They point into the
 * set. Tools that the agent performs itself (todo, ask_user, spawn_agent, ...) are marked as its own. */
PAWL_API size_t pawl_host_tools(const pawl_tools *tools, pawl_agent_tool *out, size_t most);
/* Binds the handlers that an agent needs beside that of its model ("llm", see pawl/llm.h): "tool-NAME" for each tool in `tools` (may be NULL; must
 * outlive the engine), "hook" and "links" for its rules, and "tell" for messages to its children. Call it before pawl_host_new. A handler that is bound
 * later replaces one of these. PAWL_INVALID, PAWL_NOMEM. */
PAWL_API PAWL_MUST_USE pawl_code pawl_host_bind(pawl_engine *e, const pawl_tools *tools, pawl_err *err);
/* Makes an engine for an agent with all that it needs: the machine of `agent` with the tools of the set (in place of agent->tools), their handlers as by
 * pawl_host_bind, and for "llm" pawl_effect_llm with the settings of the environment, until another handler is bound. For pawl_host_new, or for pawl_run on
 * this thread. `tools` may be NULL, and must outlive the engine; owns `store`, also on failure. NULL: PAWL_INVALID (the agent), PAWL_NOMEM. */
PAWL_API pawl_engine *pawl_host_engine(const pawl_agent *agent, const pawl_tools *tools, pawl_store *store, pawl_err *err);
/* Starts to drive the due runs of the engine's store. Takes ownership of `engine` and `look`, also on failure. With `engine` NULL it returns NULL and
 * leaves `err` as it was. `look`: a second handle on the same store, which handles use while the engine uses its own. NULL, as a store in memory
 * requires: handles use the engine's under its lock, and wait for its commits. Returns NULL: PAWL_NOMEM, PAWL_IO (no thread). */
PAWL_API pawl_host *pawl_host_new(pawl_engine *engine, pawl_store *look, pawl_err *err);
/* Starts no new command, waits until the running ones end and are stored, and ends the host's thread. Handles still read and deliver; this host no
 * longer drives. */
PAWL_API void pawl_host_drain(pawl_host *h);
/* Frees the host at once: running commands are stopped as if the process had died (pawl_engine_abandon); after a drain there are none. Runs stay in the
 * state that is stored. NULL: does nothing. */
PAWL_API void pawl_host_free(pawl_host *h);
/* Why the host cannot drive now: the code with which pawl_work failed last. The host tries again by itself. PAWL_OK: it drives. */
PAWL_API pawl_code pawl_host_trouble(pawl_host *h, pawl_err *err);

/* Starts an agent: a run of `machine` (NULL: the engine's first) named `id`. `input`: a JSON object of channels such as
 * {"input":"hello","@mode":"plan"}; NULL: none. The run is durable when this returns. *out is a handle to free; `out` may be NULL. PAWL_CONFLICT: a run
 * with that id exists and is not changed; of several calls at once one succeeds. PAWL_INVALID: no such machine, no id, or a refused input. */
PAWL_API PAWL_MUST_USE pawl_code pawl_host_spawn(pawl_host *h, const char *machine, const char *id, const char *input, pawl_handle **out, pawl_err *err);
/* The same with a record (pawl_run_with), which includes the id. `info` is copied; it may have no dedupe key and no context. */
PAWL_API PAWL_MUST_USE pawl_code pawl_host_spawn_with(pawl_host *h, const char *machine, const pawl_run_info *info, const char *input, pawl_handle **out,
                                                      pawl_err *err);
/* A handle of an existing run, whichever program started it; free it. NULL: PAWL_GONE (there is no such run), PAWL_NOMEM, PAWL_IO. */
PAWL_API pawl_handle *pawl_host_get(pawl_host *h, const char *id, pawl_err *err);
/* Runs, newest first: all of the store, or what `filter` says (pawl/store.h). `fn` may not use the host. */
PAWL_API pawl_code pawl_host_list(pawl_host *h, const pawl_filter *filter, pawl_head_fn *fn, void *ctx, pawl_err *err);

/* ---- messages to an agent -------------------------------------------------------------------------------------- */

PAWL_API void pawl_handle_free(pawl_handle *a);         /* NULL: nothing; the agent goes on */
PAWL_API const char *pawl_handle_run(const pawl_handle *a);     /* its id */
/* The name that the journal records as the sender of this handle's messages. NULL, as at first: none. At most 255 bytes. */
PAWL_API pawl_code pawl_handle_by(pawl_handle *a, const char *by, pawl_err *err);

/* All of these calls: the message is durable on PAWL_OK, and messages are taken in the order in which they were delivered. PAWL_CONFLICT: the run has
 * ended; PAWL_GONE: it was removed, or another run has its id now; PAWL_LIMIT: its mailbox is full.
 *
 * Input, as JSON: a text, {"input": TEXT or BLOCKS}, or a message. During a turn it is queued (A4). PAWL_INVALID: it is no JSON, is empty, or has a block
 * that a user may not send (pawl_agent_input). */
PAWL_API PAWL_MUST_USE pawl_code pawl_handle_send(pawl_handle *a, const char *input, pawl_err *err);
PAWL_API PAWL_MUST_USE pawl_code pawl_handle_interrupt(pawl_handle *a, pawl_err *err);  /* A4; without effect between turns */
/* Tries the last turn again, which failed or reached a limit: the same message, without another input. During the wait for the next attempt of a request
 * that attempt is made now. A run that failed, as that of a one-shot, is opened again; only if pawl_agent.retry_total_ms is
 * set does it go on with its turn, else it waits for input. PAWL_INVALID: there is nothing to try again. */
PAWL_API PAWL_MUST_USE pawl_code pawl_handle_retry(pawl_handle *a, pawl_err *err);
PAWL_API PAWL_MUST_USE pawl_code pawl_handle_shutdown(pawl_handle *a, pawl_err *err);   /* ends the agent, in any state */
/* Answers a question or an approval of the agent, or of a child that it waits for, at any depth. `wait`: the wait's id (from pawl_handle_view or
 * pawl_handle_asks), its slot, or NULL for the only open one. An id is exact: a question that was asked again has another id. PAWL_CONFLICT: it was
 * answered before (err says how), or is no longer open; PAWL_INVALID: there was no such question, several are open, or its schema or options refuse
 * the answer (W3). */
PAWL_API PAWL_MUST_USE pawl_code pawl_handle_answer(pawl_handle *a, const char *wait, const char *json, pawl_err *err);
/* Answers an approval with yes or no. `note`: the reason, which the model receives; NULL: none. `input`, with a yes: an object that replaces the arguments
 * of the model and is decided once more (P2); NULL: the arguments of the model. `wait`: as above, for approvals only. */
PAWL_API PAWL_MUST_USE pawl_code pawl_handle_permit(pawl_handle *a, const char *wait, bool yes, const char *note, const char *input, pawl_err *err);

/* Approves the call, and every later call that the same rules match: they are added to the grants of the agent, and of the child that asks, until
 * `until_ms` (ms since 1970; 0: as long as they run). The approval is delivered first: if the rules cannot be, err says why and only this call is allowed.
 * PAWL_INVALID: no allow rule could allow it (a rule, a hook or a signature asks), and err says why; PAWL_CONFLICT: it is not open. */
PAWL_API PAWL_MUST_USE pawl_code pawl_handle_allow(pawl_handle *a, const char *wait, int64_t until_ms, pawl_err *err);
/* Sets the mode of the agent and lowers that of its children; above `rights` of its run it becomes that. PAWL_INVALID: no such mode. */
PAWL_API PAWL_MUST_USE pawl_code pawl_handle_mode(pawl_handle *a, pawl_mode mode, pawl_err *err);
/* Changes the agent from outside: `update` is a JSON object with "@mode", "@policy" (docs/POLICY.md), "@grants" (a list of rules that is added) or "@config".
 * An open approval that the new rules decide is closed. PAWL_INVALID: another channel, no mode, or rules that cannot be read; nothing is delivered. */
PAWL_API PAWL_MUST_USE pawl_code pawl_handle_update(pawl_handle *a, const char *update, pawl_err *err);

/* ---- the state of an agent ---------------------------------------------------------------------------------------------- */

typedef struct pawl_handle_view {   /* a copy, for pawl_handle_view_free; what is not there is NULL */
    pawl_shown state;           /* an open request of a child that it waits for, at any depth, counts as its own; before its start: nothing */
    pawl_badge badge;
    pawl_status status;         /* of its run: input-required also when only a child that it waits for asks */
    bool over;                  /* `status` is terminal */
    bool has_mail;              /* the agent, or one of those children, has a message that it has not taken yet */
    const char *parked;         /* why no worker can drive it; NULL: it is not parked */
    uint64_t seq;               /* the entry that led to this state */
    int64_t time_ms;            /* the time of that entry */
    const char *tool_name, *tool_use_id;        /* of a running tool, a permission, a question, or a tool whose outcome is unknown */
    const char *input;          /* the arguments of that tool: JSON */
    const char *session_id;     /* the run of a sub-agent, or of the child that asks; NULL: the agent itself asks */
    const char *request_id;     /* the slot of a question or a permission */
    const char *wait;           /* the id of that wait, for pawl_handle_answer */
    const char *about;          /* what that wait is about, with everything that is known: JSON */
    const char *message;        /* the text of an error or of a question; of a permission: what the call would do */
    void *kept;
} pawl_handle_view;
/* Sets *out, which is to be freed, only with PAWL_OK. PAWL_INVALID: the run is not an agent. */
PAWL_API PAWL_MUST_USE pawl_code pawl_handle_state(pawl_handle *a, pawl_handle_view *out, pawl_err *err);
PAWL_API void pawl_handle_view_free(pawl_handle_view *v);

/* A channel of the agent as it is stored, as JSON text to free with free(): "messages" is the conversation, "output" the last answer; "null": it has no
 * value. NULL: PAWL_GONE, PAWL_NOMEM, or a code of the store. */
PAWL_API char *pawl_handle_channel(pawl_handle *a, const char *channel, pawl_err *err);
/* Lists all open questions and approvals, each with its run: first those of the agent, then those of the children that it waits for, at any depth. `w` is
 * lent for the call; pawl_handle_answer takes its id. `fn` returns false to stop, and may use the host. A request stays in the list until its answer is
 * taken. */
typedef bool pawl_asked_fn(void *ctx, const char *run, const pawl_wait *w);
PAWL_API pawl_code pawl_handle_asks(pawl_handle *a, pawl_asked_fn *fn, void *ctx, pawl_err *err);

/* Whether all messages are taken and the agent is in that state. False also when that cannot be read. is_processing: it is working, or about to start. */
PAWL_API bool pawl_handle_is_idle(pawl_handle *a);
PAWL_API bool pawl_handle_is_processing(pawl_handle *a);
PAWL_API bool pawl_handle_is_done(pawl_handle *a);
PAWL_API bool pawl_handle_is_error(pawl_handle *a);

typedef enum pawl_until {
    PAWL_UNTIL_IDLE = 1, PAWL_UNTIL_DONE = 2, PAWL_UNTIL_ERROR = 4,
    PAWL_UNTIL_ASKS = 8,        /* it, or a child at any depth, asks for a permission, an answer, or the unknown outcome of a command */
    PAWL_UNTIL_RESTS = 15,      /* any of these */
    PAWL_UNTIL_OVER = 16        /* it has ended; this ends every wait */
} pawl_until;
/* Waits until all messages are taken and the agent is in one of the states of `until` (a mask of pawl_until). PAWL_OK: it is, and *state (may be NULL)
 * says in which; PAWL_HALTED: the run has ended; PAWL_PENDING: `timeout_ms` passed (below 0: no limit), and err names the effects that it needs and this
 * engine has no handler for. Without a limit it returns PAWL_PENDING for such an effect, too, unless another process drives the run. PAWL_CONFLICT: the
 * run is parked, and err says why; PAWL_GONE. It may miss a state that lasts for a moment: pawl_handle_subscribe shows each. */
PAWL_API PAWL_MUST_USE pawl_code pawl_handle_wait(pawl_handle *a, unsigned until, int64_t timeout_ms, pawl_shown *state, pawl_err *err);
/* A stream of its events from a cursor on (pawl/stream.h), with the deltas of its model as they arrive. Close it before the host is freed. */
PAWL_API pawl_stream *pawl_handle_subscribe(pawl_handle *a, const pawl_stream_options *options, pawl_err *err);

/* ---- the output of an agent in chunks ------------------------------------------------------------------------------- */

/* The kinds, and the `json` of each. Live chunks are not stored: only readers that are connected get them. SubAgentOutput is live or durable as the chunk
 * that it contains; all others are durable. */
typedef enum pawl_chunk_kind {
    PAWL_CHUNK_TEXT_DELTA = 1,      /* {"text"}, live */
    PAWL_CHUNK_TEXT_COMPLETE,       /* {"text"} */
    PAWL_CHUNK_THINKING_DELTA,      /* {"thinking"}, live */
    PAWL_CHUNK_THINKING_COMPLETE,   /* {"thinking"} */
    PAWL_CHUNK_TOOL_START,          /* {"input","name","tool_use_id"} */
    PAWL_CHUNK_TOOL_PROGRESS,       /* {"output","tool_use_id"}, live: its output since the last such chunk */
    PAWL_CHUNK_TOOL_END,            /* {"is_error","name","result","tool_use_id"} */
    PAWL_CHUNK_PERMISSION_REQUEST,  /* {"action","input","tool_name","tool_use_id"} */
    PAWL_CHUNK_SUB_AGENT_SPAWNED,   /* {"agent_type","session_id","tool_use_id"} */
    PAWL_CHUNK_SUB_AGENT_OUTPUT,    /* {"chunk":{"index","kind","live","run","seq","value"},"session_id"} */
    PAWL_CHUNK_SUB_AGENT_COMPLETE,  /* {"result","session_id","succeeded","tool_use_id"}; all output of the child precedes it */
    PAWL_CHUNK_ASK_USER_QUESTION,   /* {"questions","request_id"} */
    PAWL_CHUNK_STATE_CHANGE,        /* as pawl_shown_at.value */
    PAWL_CHUNK_STATUS,              /* {"attempt"}, live: a model call starts, and the output of an earlier attempt is void;
                                     * {"gap":{"from","live"?,"to"},"why"}: this reader was too slow and missed live chunks, or the journal was pruned;
                                     * {"compact":{"from","method","to"}}, {"cache_break":{"cause"}}, {"again_in_ms","error","max_attempts"?,
                                     * "retries","status"?}: a request is made again, "status" is of HTTP; {"compacting"},
                                     * {"mode"}, {"note","tool_use_id"}, {"stop"} */
    PAWL_CHUNK_ERROR,               /* {"message"} */
    PAWL_CHUNK_DONE                 /* {"end"}: of a turn */
} pawl_chunk_kind;
PAWL_API const char *pawl_chunk_name(pawl_chunk_kind kind);     /* "TextDelta"; "" of none */

typedef struct pawl_chunk {         /* valid until the next call on the reader */
    pawl_chunk_kind kind;
    const char *run;                /* the run that it comes from */
    uint64_t seq, index;            /* its position in that run; of a live chunk and of SubAgentOutput: that of the last durable chunk before it */
    uint64_t live;                  /* 0: durable; else its number in the run (of SubAgentOutput: in this reader) */
    const char *cursor;             /* a position of the agent's own run, also for a child's chunk: continue from it */
    const char *json;               /* canonical JSON */
    const char *session_id;         /* of SubAgentOutput: the child's run */
    const struct pawl_chunk *chunk; /* of SubAgentOutput: the child's chunk, whose cursor is NULL (a grandchild's is nested once more); else NULL */
    int64_t time_ms;                /* 0: no time is stored with it */
} pawl_chunk;

typedef struct pawl_chunks pawl_chunks;

/* Opens a reader of the chunks of an agent and of all its descendants. `from`: a cursor (pawl_chunk.cursor or a stream's), NULL for all, or "now". Chunks of
 * one run come in order, and a child's after the chunk that announces the child. A child that was running at the cursor is read from its beginning (with
 * "now": from now on); a reader that continues from a cursor recognises what it has seen by (run, seq, index). A child whose call was cut off has a ToolEnd
 * and no SubAgentComplete, and more chunks of it may follow. A child that still runs after its parent got its end is read while it emits something each
 * second. One thread at a time may use the reader, except for pawl_chunks_stop. Close it before its host is freed. NULL: see err, as of pawl_stream_open. */
PAWL_API pawl_chunks *pawl_handle_chunks(pawl_handle *a, const char *from, pawl_err *err);
PAWL_API void pawl_chunks_close(pawl_chunks *c);        /* NULL: nothing */
/* PAWL_OK: *out is the next chunk. PAWL_PENDING: there is none now. PAWL_HALTED: the agent and its children have ended. Below 0: the position stays. */
PAWL_API PAWL_MUST_USE pawl_code pawl_chunks_next(pawl_chunks *c, pawl_chunk *out, pawl_err *err);
/* The same, but waits for a chunk: PAWL_PENDING after `timeout_ms` (below 0: no limit), PAWL_CANCELED after pawl_chunks_stop. */
PAWL_API PAWL_MUST_USE pawl_code pawl_chunks_wait(pawl_chunks *c, int64_t timeout_ms, pawl_chunk *out, pawl_err *err);
PAWL_API void pawl_chunks_stop(pawl_chunks *c); /* from any thread */

typedef struct pawl_shown_at {  /* lent for the call */
    pawl_shown state;
    uint64_t seq;               /* the entry that led to the state */
    int64_t time_ms;            /* the time of that entry */
    const pawl_value *value;    /* {"state", "tool_name"?, "tool_use_id"?, "session_id"?, "request_id"?, "message"?} */
} pawl_shown_at;
typedef bool pawl_shown_fn(void *ctx, const pawl_shown_at *s);  /* false: stop. It may not use the host */
/* Lists every shown state of the agent itself, without the requests of its children, from its start or since its journal was pruned. */
PAWL_API pawl_code pawl_handle_states(pawl_handle *a, pawl_shown_fn *fn, void *ctx, pawl_err *err);

#ifdef __cplusplus
}
#endif
#endif
