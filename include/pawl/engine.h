/* engine.h - takes events to machines, keeps their journals, performs their commands.
 *
 * A run is driven on the thread that calls, until it is over or waits for somebody; then it is let go of, and anybody may go on
 * with it. Who finds it held by another leaves what he has to say in the store. JSON goes in and out as text. */
#ifndef PAWL_ENGINE_H
#define PAWL_ENGINE_H

#include "pawl/effect.h"
#include "pawl/kernel.h"
#include "pawl/store.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pawl_engine pawl_engine;

/* Takes `m` and `store`, also on failure; either may be NULL, then so is the engine, `err` as it was. */
PAWL_API pawl_engine *pawl_engine_new(pawl_machine *m, pawl_store *store, pawl_err *err);
/* Another machine whose runs it drives, and that children may be of (pawl_spawn); runs are begun of the first. Takes `m`, also on
 * failure. PAWL_CONFLICT: it has one of that name. */
PAWL_API pawl_code pawl_engine_add(pawl_engine *e, pawl_machine *m, pawl_err *err);
/* Tells every handler to stop, and waits until all have returned, and until each job that is held is finished. Runs stay where they are. NULL does nothing. */
PAWL_API void pawl_engine_free(pawl_engine *e);
/* Nothing for handlers: while one is called, the engine may be using it. */
PAWL_API pawl_store *pawl_engine_store(pawl_engine *e);
PAWL_API const pawl_machine *pawl_engine_machine(const pawl_engine *e);

/* ---- effects --------------------------------------------------------------------------------- */

/* Who performs `effect`: see pawl/effect.h. `cls` is what the machine declares of it, PAWL_AT_LEAST_ONCE where it declares
 * nothing: with another one the handler is refused, PAWL_INVALID (E5). The same effect again: this one takes the place of the one before. */
PAWL_API pawl_code pawl_engine_effect(pawl_engine *e, const char *effect, pawl_handler_fn *fn, void *arg, pawl_class cls, pawl_err *err);
/* Who performs "tell", by which an agent speaks to its children (pawl/agent.h): {"run","signal","value"?} or {"run","update":{CHANNEL:VALUE}} is
 * left for that run, once however often it is tried. True: it was; false: there is no such run any more. An update is left before the step is
 * stored that makes the command: no child has more rights than its parent where that step can be seen. */
PAWL_API pawl_code pawl_engine_tell(pawl_engine *e, pawl_err *err);
/* Who performs `effect` with SQL of its own in the file of the engine's SQLite store: its rows and its receipt are committed
 * together, so that it happens exactly once, whatever dies when. So any class will do that the machine declares; of `once` no
 * attempt is counted before it, for it never ends unknown. Not for what is named in `on_unknown`.
 *
 * The function gets its connection by pawl_ctx_sql, keeps it for the call alone, and writes tables of its own (it may make them); it
 * finalizes what it prepares. It is called on the thread that commits, one at a time, while everybody else waits who writes to that
 * file: so be short, and use neither engine nor store. When it returns a code below 0 what it wrote is taken back, and so it is, as
 * a failure, when it leaves an SQL error unhandled (PAWL_EFFECT; PAWL_TRANSIENT when busy), is over `limit_ms` (0: 1 s) or a
 * limit of the command (PAWL_TIMEOUT), replies what is no JSON, or tries what it may not (PAWL_INVALID): BEGIN, COMMIT, ATTACH, a
 * pragma that sets something, a table of Pawl's. It is tried again as the command's retry says, and as often as the commit fails; of the
 * process, not of the file, it may do nothing that may not be done twice. PAWL_INVALID: the store is not SQLite. */
PAWL_API pawl_code pawl_engine_sql(pawl_engine *e, const char *effect, pawl_handler_fn *fn, void *arg, int64_t limit_ms, pawl_err *err);
/* The `sqlite3 *` of the file that the engine's store is, in a function of pawl_engine_sql; NULL in any other. */
PAWL_API void *pawl_ctx_sql(const pawl_job *job);
/* How much of an effect one engine performs at a time; 0 or NULL: no bound. What is over it waits, without a thread, in order of
 * arrival over all runs of this engine (of each key, where a key has no place free), and can be called off meanwhile. */
typedef struct pawl_budget {
    uint32_t running;             /* commands that are out at once */
    const char *key;              /* a JSON pointer into the arguments, "/host", of at most 256 bytes: */
    uint32_t running_per_key;     /* so many at once of each value there; those without one are one */
    double per_second;            /* attempts that begin in a second of the engine's clock, from 1e-6 to 1e6 */
    uint32_t burst;               /* of them at once after a rest; 0: 1, or what comes in 10 ms */
} pawl_budget;
/* Of `effect`, bound or not, but not to pawl_engine_sql, which is one at a time; NULL: no bound. The same effect again: holds for whatever leaves from then
 * on. PAWL_INVALID. */
PAWL_API pawl_code pawl_engine_budget(pawl_engine *e, const char *effect, const pawl_budget *budget, pawl_err *err);
/* Threads that perform side by side, where several commands are out; 0, as at first: all are performed on the thread that drives,
 * as a lone command always is: a cancel, a lost lease and a missed heartbeat reach it there as well. */
PAWL_API void pawl_engine_threads(pawl_engine *e, unsigned threads);
/* What an attempt that is answered later (pawl_job.later in pawl/effect.h) came to. What is 0 or NULL is not there. */
typedef struct pawl_result {
    const char *id;               /* the job's */
    uint32_t attempt;             /* the job's; 0: whichever is out */
    uint64_t fence;               /* the job's; 0: it is not compared */
    pawl_code code;               /* PAWL_OK, or below 0, as a handler returns it */
    const char *value;            /* of PAWL_OK: JSON; NULL: null */
    const char *text;             /* of a failure: its one line; copied, as all texts */
    const char *detail;           /* of a failure: any number of lines */
    int64_t retry_after_ms;       /* as pawl_reply_retry_after */
    bool untouched;               /* as pawl_reply_untouched */
    bool costs;                   /* as pawl_reply_cost: */
    int64_t tokens, micros;
} pawl_result;
/* Answers the attempt of that id, from any thread, once: PAWL_OK: it was taken, and the thread that drives stores its receipt. Else nothing was taken, and
 * it is counted (pawl_engine_late):
 *   PAWL_GONE      no attempt of that id waits for an answer here: it is unknown, was finished or given up, or its run is another engine's now
 *   PAWL_CONFLICT  another attempt of it is out, or one under another fence
 *   PAWL_FENCED    the lease of its run was lost: the command is for whoever holds the run
 * or it may be tried again: PAWL_INVALID (no id, no JSON, a code above 0), PAWL_NOMEM. */
PAWL_API PAWL_MUST_USE pawl_code pawl_engine_reply(pawl_engine *e, const pawl_result *result, pawl_err *err);
/* A descriptor to wait for in a loop of your own: readable while something came back from a thread or was answered, and was not taken yet, and after
 * pawl_engine_wake, until somebody drives. The engine's: neither read nor close it. Below 0: the system has none left. */
PAWL_API int pawl_engine_fd(pawl_engine *e);
/* How long what is called off, or over a limit, may take to come back before its command goes on without it: 10 s; 0: not at all; below
 * 0: 10 s again. What is called off is `unknown` then, but for one of class pure, which is `canceled`; what is over a limit has timed out,
 * and may be tried again while the handler is still there. Somebody who cancels again does not wait either. What the
 * handler says later is dropped, and counted; until it returns its job stays as it is, and another thread takes the place of its
 * own. That holds for the threads of pawl_engine_threads: a handler on the thread that drives is told to stop, and waited for. */
PAWL_API void pawl_engine_grace(pawl_engine *e, int64_t ms);
/* Replies that came when their command had ended without them, and those that pawl_engine_reply refused. */
PAWL_API uint64_t pawl_engine_late(const pawl_engine *e);
/* By what name it holds runs (NULL: host, process and a number) and for how long at a time (0: 30 s); renewed while it lives. */
PAWL_API void pawl_engine_lease(pawl_engine *e, const char *owner, int64_t ttl_ms);
/* When a step that nobody acts on yet is made durable (G9). In every mode all is durable before a command that is not of class pure leaves,
 * before a wait is seen, a delivery is gone or a run is over, and when pawl_run, pawl_work and their kin return: a crash
 * takes away no more than steps that had no effect, and they are taken again. */
typedef enum pawl_durability {
    PAWL_DURABLE_SYNC = 0,      /* before the next step; as at first */
    PAWL_DURABLE_ASYNC = 1,     /* before anything is performed, and within 5 ms or 1000 steps */
    PAWL_DURABLE_EXIT = 2       /* when it pauses and when it is over, or before 1000 steps or 1 MiB wait */
} pawl_durability;
PAWL_API void pawl_engine_durability(pawl_engine *e, pawl_durability mode);
/* Values whose canonical JSON has more bytes than `limit` are stored beside the run's journal, once by content (S5): 64 KiB, as at
 * first; 0: none is. What is stored stays as it is. */
PAWL_API void pawl_engine_blobs(pawl_engine *e, size_t limit);
/* The largest reply of a handler: 64 MiB, as at first and with 0. A larger one is its command's final error, PAWL_LIMIT, which names the
 * command and the bytes; it is not tried again. */
PAWL_API void pawl_engine_reply_max(pawl_engine *e, size_t bytes);
/* Three ways to an end, each from any thread, or a signal's handler, and not to be taken back: who drives with this engine later takes what
 * comes in, stores it, and returns. Runs stay where they are, and go on with another engine. */
/* What drives returns when the step under way is stored. What is out is told nothing: the engine keeps it, and its run, until it is freed. */
PAWL_API void pawl_engine_stop(pawl_engine *e);
/* Nothing more leaves: no command, no other attempt, no child. What is out comes back and is stored; then what drives returns, and its runs
 * are let go of. What had left and waited for a thread never began, and is not counted as an attempt. Nothing is waited for but that. */
PAWL_API void pawl_engine_drain(pawl_engine *e);
/* No end: something was left in the store, and who drives with this engine looks there at once, not in some milliseconds. From any thread,
 * but not from a signal's handler. */
PAWL_API void pawl_engine_wake(pawl_engine *e);
/* At once: what is out is told to stop, as if the process had died. What it comes to is stored if it was done, and nothing otherwise:
 * whoever goes on with the run decides by its class. What drives returns; handlers of the pool are waited for, and
 * their runs let go of, by pawl_engine_free. It may follow a drain. */
PAWL_API void pawl_engine_abandon(pawl_engine *e);

/* ---- runs -------------------------------------------------------------------------------------- */
/* All return how the run stands: PAWL_HALTED it is over, PAWL_INTERRUPTED somebody is asked, PAWL_PENDING a command
 * has no handler (err says which, with that code); or below 0. When the engine was stopped in between, drained or abandoned, PAWL_OK as well:
 * a step is due, and PAWL_PENDING: a command is open. */

/* Start `run`, or go on with it where it stands. `input` may be NULL; a run that waits for input gets it, one that was begun
 * with another and asks for none refuses it: PAWL_CONFLICT (G10). */
PAWL_API PAWL_MUST_USE pawl_code pawl_run(pawl_engine *e, const char *run, const char *input, pawl_err *err);
/* Begin a run and leave it for whoever works on the store: durable when this returns. One that is there is as with pawl_run. */
PAWL_API PAWL_MUST_USE pawl_code pawl_begin(pawl_engine *e, const char *run, const char *input, pawl_err *err);

/* The same with a record (S7): `info` is copied, and what is 0 or NULL in it is drawn (life, seed, created_ms) or is not there.
 *   dedupe_key   of 1 to 4096 bytes: as often as a run is begun with it, there is one. Its id follows from the key, so `id` is left
 *                out: pawl_dedupe_run says it. An input that it waits for is given by pawl_event_send, not by beginning again.
 *   context      channels that the machine declares with `keep` begin with what they were at the end of the run that was begun last of
 *                those of the context that were completed
 *   deadline_ms  then it is canceled, with the reason "deadline" (pawl_run_reason)
 *   retention    what becomes of it when it is over, however it ended: "keep", as when nothing is said; "delete"; "keep:7d", or with
 *                ms, s, m or h, and then it is removed by whoever works on the store, or begins one of that id. The id is free then. What it came
 *                to can still be read from the engine that drove it to its end, as long as that begins no run of the id (at most
 *                256 are remembered of those that pawl_work drove)
 *   mode         plan, default, acceptEdits or bypassPermissions
 *   budget       what it and its children may spend (A8); how it stands says pawl_state_spent
 * Texts have 4096 bytes at most. A run that is there must have been begun with what is said now of life, seed, context, parent, labels,
 * mode, rights, priority, budget, dedupe key, deadline and retention; else PAWL_CONFLICT, and err says which. What is not said is as it was; who
 * asks again, when, and in which trace, is no matter. */
PAWL_API PAWL_MUST_USE pawl_code pawl_run_with(pawl_engine *e, const pawl_run_info *info, const char *input, pawl_err *err);
PAWL_API PAWL_MUST_USE pawl_code pawl_begin_with(pawl_engine *e, const pawl_run_info *info, const char *input, pawl_err *err);
enum { PAWL_DEDUPE_RUN_BYTES = 40 };
/* The id of the run that is begun with dedupe key `key`. PAWL_INVALID: that is none. */
PAWL_API pawl_code pawl_dedupe_run(const char *key, char run[PAWL_DEDUPE_RUN_BYTES]);
/* Drive every run of the store that has something to do, many at once, until nothing is left to do before `until_ms` (by the store's
 * time; 0: now) or it is stopped. Runs that somebody else holds, of another machine, or with a command that has no handler here are
 * left to who can. One whose journal contradicts itself, the machine or the store is parked with the reason, and left alone until
 * pawl_run or an event tries it again. PAWL_OK; below 0: the store is not there. */
PAWL_API PAWL_MUST_USE pawl_code pawl_work(pawl_engine *e, int64_t until_ms, pawl_err *err);
/* `wait`: its id, its slot or the node's name; NULL: the only one. */
PAWL_API PAWL_MUST_USE pawl_code pawl_answer(pawl_engine *e, const char *run, const char *wait, const char *answer, pawl_err *err);
/* Any event, and then whatever follows. Its time is the engine's unless it has one. PAWL_IGNORED: nothing followed. */
PAWL_API PAWL_MUST_USE pawl_code pawl_event_send(pawl_engine *e, const char *run, const pawl_event *ev, pawl_err *err);
/* A new run `fork` from `run` as it stood at entry `seq` (0: now); it is not driven yet. Its blobs go along (K10). */
PAWL_API PAWL_MUST_USE pawl_code pawl_run_fork(pawl_engine *e, const char *run, uint64_t seq, const char *fork, pawl_err *err);
/* The same with another state: `change`, an event of kind PAWL_EV_UPDATE (value: an object of channels; name, by and note may be there), is
 * its first entry, before anything runs. A change that is refused leaves no fork behind; killed in between, or left by the store, it may
 * leave one that is not driven and has no entry: the same call again completes it. PAWL_CONFLICT: there is such a run, or `run` is another machine's. */
PAWL_API PAWL_MUST_USE pawl_code pawl_run_fork_with(pawl_engine *e, const char *run, uint64_t seq, const char *fork,
                                                    const pawl_event *change, pawl_err *err);
/* The state as it is stored, for the getters of kernel.h; NULL: no such run. It lives until this run is driven, told anything or looked at
 * again: then somebody else may have gone on with it, and it is loaded anew. */
PAWL_API pawl_state *pawl_run_state(pawl_engine *e, const char *run, pawl_err *err);
/* A channel of a run as text: a string itself, any other value as JSON; "" when there is none. Lives until the next call. */
PAWL_API const char *pawl_run_get(pawl_engine *e, const char *run, const char *channel);
/* Why it failed or was rejected, as text; "" when it was not. Lives until the next call. */
PAWL_API const char *pawl_run_reason(pawl_engine *e, const char *run);
/* What finds the blobs of a run, for pawl_verify_with and pawl_replay_with of its journal. Lives as long as the engine, on whose thread
 * it is asked. */
PAWL_API PAWL_MUST_USE pawl_code pawl_run_loader(pawl_engine *e, const char *run, pawl_loader *loader, pawl_err *err);
/* A step of the engine's own for those getters that want one. */
PAWL_API pawl_step *pawl_engine_step(pawl_engine *e);

/* ---- the world ----------------------------------------------------------------------------------- */

/* Called with every entry and task record, after it is stored; `st` is the state after all that was stored with it. */
typedef void pawl_watch_fn(void *ctx, const pawl_state *st, const pawl_entry *entry);
PAWL_API void pawl_engine_watch(pawl_engine *e, pawl_watch_fn *fn, void *ctx);

/* Asked by pawl_work of each run that it has taken up, with its state, before anything of it is done. What was delivered for its own
 * channels (@mode) alone is taken before. Below 0, with a reason: it is parked with that, for somebody who may go on with it (pawl_run). */
typedef pawl_code pawl_admit_fn(void *ctx, pawl_state *st, pawl_err *err);
PAWL_API void pawl_engine_admit(pawl_engine *e, pawl_admit_fn *fn, void *ctx);

/* Time, and waiting for it; the default is the system's. */
typedef struct pawl_clock {
    int64_t (*now_ms)(void *ctx);
    void (*sleep_until)(void *ctx, int64_t time_ms);
    void *ctx;
} pawl_clock;
PAWL_API void pawl_engine_clock(pawl_engine *e, const pawl_clock *clock);

/* Where a secret's value comes from: "env:NAME" and "file:PATH" are the engine's own, "given:NAME" is asked here. NULL:
 * there is none, and the command waits. */
typedef const char *pawl_secret_fn(void *ctx, const char *name);
PAWL_API void pawl_engine_secret(pawl_engine *e, pawl_secret_fn *fn, void *ctx);

#ifdef __cplusplus
}
#endif
#endif
