/* engine.h - feeds events to machines, writes their journals, performs their commands.
 *
 * A run is driven on the thread that calls, until it ends or waits; then its lease is released, and any engine may go on with it. When another engine
 * holds the run, an event is delivered to its mailbox in the store. JSON goes in and out as text.
 * Threads: one thread at a time for an engine, but for the functions that say "from any thread". Texts that are passed in are copied. */
#ifndef PAWL_ENGINE_H
#define PAWL_ENGINE_H

#include "pawl/effect.h"
#include "pawl/kernel.h"
#include "pawl/store.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pawl_engine pawl_engine;

/* Owns `m` and `store` from now on, also on failure. NULL: see err; either argument may be NULL, then the engine is NULL and err as it was. */
PAWL_API pawl_engine *pawl_engine_new(pawl_machine *m, pawl_store *store, pawl_err *err);
/* Adds a machine whose runs it drives, and of which child runs may be (pawl_spawn); new runs are of the first machine. Owns `m`, also on failure.
 * PAWL_CONFLICT: it has a machine of that name. */
PAWL_API pawl_code pawl_engine_add(pawl_engine *e, pawl_machine *m, pawl_err *err);
/* Stops every handler, waits until all have returned and each job that is held is finished, and closes the store. Runs stay as they are stored. May be
 * NULL. */
PAWL_API void pawl_engine_free(pawl_engine *e);
/* Lent, as the machine below. Not for handlers: the engine may be using it meanwhile. */
PAWL_API pawl_store *pawl_engine_store(pawl_engine *e);
PAWL_API const pawl_machine *pawl_engine_machine(const pawl_engine *e);

/* ---- effects --------------------------------------------------------------------------------- */

/* Sets the handler of `effect`: see pawl/effect.h. `cls` must be the class that the machine declares for it, PAWL_CLASS_AT_LEAST_ONCE where it declares
 * none; else PAWL_INVALID (E5). The same effect again replaces the handler. `arg` is lent. */
PAWL_API pawl_code pawl_engine_effect(pawl_engine *e, const char *effect, pawl_handler_fn *fn, void *arg, pawl_class cls, pawl_err *err);
/* Sets the built-in handler of "tell", by which an agent sends to its children (pawl/agent.h): {"run","signal","value"?} or
 * {"run","update":{CHANNEL:VALUE}} is delivered to that run, once however often it is retried. Its result: whether the run exists. An update is
 * delivered before the step that issued the command is stored: a child never has more rights than its parent (E11). */
PAWL_API pawl_code pawl_engine_add_tell(pawl_engine *e, pawl_err *err);
/* Sets a handler that runs SQL of its own in the file of the engine's SQLite store: its rows and its receipt are committed together, so the effect
 * happens exactly once, whatever crashes. Any class may be declared; for `once` no attempt is counted before, since the outcome is never unknown.
 * Not for effects named in `on_unknown`.
 *
 * The function gets its connection by pawl_ctx_sql for the duration of the call, writes tables of its own (it may create them), and finalizes what
 * it prepares. It is called on the thread that commits, one at a time, while every other writer of the file waits: be short, and use neither engine
 * nor store. Its writes are rolled back when it returns a code below 0; and, as a failure, when it leaves an SQL error unhandled (PAWL_EFFECT;
 * PAWL_TRANSIENT when busy), exceeds `limit_ms` (0: 1 s) or a limit of the command (PAWL_TIMEOUT), replies with invalid JSON, or tries something
 * forbidden (PAWL_INVALID): BEGIN, COMMIT, ATTACH, a pragma that sets something, a table of Pawl. It is called again as the command's retry says,
 * and whenever the commit fails: side effects outside of the file must be repeatable. PAWL_INVALID: the store is not SQLite. */
PAWL_API pawl_code pawl_engine_sql(pawl_engine *e, const char *effect, pawl_handler_fn *fn, void *arg, int64_t limit_ms, pawl_err *err);
/* In a handler of pawl_engine_sql: the `sqlite3 *` of the store's file. NULL in any other. */
PAWL_API void *pawl_ctx_sql(const pawl_job *job);
/* A rate limit of one effect in one engine; 0 or NULL: none. Commands above it wait, without a thread, in order of arrival over all runs of this engine
 * (per key, where a key is full), and can be canceled meanwhile. */
typedef struct pawl_budget {
    uint32_t running;             /* commands performed at once */
    const char *key;              /* a JSON pointer into the arguments, "/host", at most 256 bytes; NULL: none */
    uint32_t running_per_key;     /* performed at once for each value there; commands without a value count as one */
    double per_second;            /* attempts that begin in a second of the engine's clock, from 1e-6 to 1e6 */
    uint32_t burst;               /* how many may begin at once after a pause; 0: 1, or what fits in 10 ms */
} pawl_budget;
/* Sets the rate limit of `effect`, which need not have a handler yet; not for pawl_engine_sql, which is one at a time. NULL: no limit. Set again: holds
 * for commands dispatched from then on. PAWL_INVALID: a value out of range. */
PAWL_API pawl_code pawl_engine_budget(pawl_engine *e, const char *effect, const pawl_budget *budget, pawl_err *err);
/* Threads that perform commands in parallel. 0, the default: all are performed on the thread that drives; so is a lone command without limits in any case.
 * Cancel, a lost lease and a missed heartbeat reach it there as well. Nothing cuts off a handler on that thread: over a limit it is told to stop, and waited
 * for; then its command counts as timed out. A command with limits ends by its limit, and the grace, if there is a thread, or if it is answered later. */
PAWL_API void pawl_engine_threads(pawl_engine *e, unsigned threads);
/* The result of an attempt that is answered later (pawl_job.later in pawl/effect.h). 0 or NULL: not given. */
typedef struct pawl_result {
    const char *id;               /* the job's */
    uint32_t attempt;             /* the job's; 0: whichever is open */
    uint64_t fence;               /* the job's; 0: not compared */
    pawl_code code;               /* PAWL_OK, or below 0, as a handler returns it */
    const char *value;            /* of PAWL_OK: JSON; NULL: null */
    const char *text;             /* of a failure: its one line; copied, as all texts */
    const char *detail;           /* of a failure: any number of lines */
    int64_t retry_after_ms;       /* as pawl_reply_retry_after */
    bool untouched;               /* as pawl_reply_untouched */
    bool costs;                   /* as pawl_reply_cost: */
    int64_t tokens, micros;
} pawl_result;
/* Answers the attempt of that id, once; from any thread. PAWL_OK: accepted, and the thread that drives stores its receipt. Else it is refused, and counted
 * (pawl_engine_late):
 *   PAWL_GONE      no attempt of that id waits for an answer here: unknown, finished or given up, or another engine has the run now
 *   PAWL_CONFLICT  another attempt is open, or one under another fence
 *   PAWL_FENCED    the lease of the run was lost: the new holder performs the command
 * or the call may be repeated: PAWL_INVALID (no id, invalid JSON, a code above 0), PAWL_NOMEM. */
PAWL_API PAWL_MUST_USE pawl_code pawl_engine_reply(pawl_engine *e, const pawl_result *result, pawl_err *err);
/* A descriptor for an event loop of your own: readable when a result arrived from a thread or by pawl_engine_reply, and after pawl_engine_wake, until the
 * engine is driven. It belongs to the engine: neither read nor close it. Below 0: the system has none left. */
PAWL_API int pawl_engine_fd(pawl_engine *e);
/* The grace period of a handler that was canceled or exceeded a limit: how long its command waits for it. 10 s by default and below 0; 0: not at all. Then
 * a canceled command ends as `unknown` (`canceled` for class pure), one over its limit as timed out, and may be retried while the old handler still runs.
 * A second cancel does not wait. What the handler replies later is dropped and counted (pawl_engine_late); until it returns its job stays valid, and
 * another thread replaces its own. A handler on the thread that drives is stopped and waited for, however long that takes. */
PAWL_API void pawl_engine_grace(pawl_engine *e, int64_t ms);
/* How many replies came after their command had ended, or were refused by pawl_engine_reply. */
PAWL_API uint64_t pawl_engine_late(const pawl_engine *e);
/* The owner name of its leases (NULL: host, process and a number) and their duration (0: 30 s); they are renewed while the engine runs. */
PAWL_API void pawl_engine_lease(pawl_engine *e, const char *owner, int64_t ttl_ms);
/* When a step without outside effect is made durable (G9). In each mode everything is durable before a command that is not pure is dispatched, a wait
 * becomes visible, a delivery is removed or a run ends, and when pawl_run, pawl_work and the like return: a crash loses only steps without effect, and
 * they are repeated. */
typedef enum pawl_durability {
    PAWL_DURABLE_SYNC = 0,      /* before the next step; the default */
    PAWL_DURABLE_ASYNC = 1,     /* before anything is performed, and within 5 ms or 1000 steps */
    PAWL_DURABLE_EXIT = 2       /* when the run pauses or ends, or at 1000 steps or 1 MiB */
} pawl_durability;
PAWL_API void pawl_engine_durability(pawl_engine *e, pawl_durability mode);
/* Values whose canonical JSON has more bytes than `limit` are stored as blobs, once by content (S5). Default 64 KiB; 0: none. Stored values stay as
 * they are. */
PAWL_API void pawl_engine_blobs(pawl_engine *e, size_t limit);
/* The largest reply of a handler: default, and with 0, 64 MiB. A larger one is the final error PAWL_LIMIT of its command, without retry. */
PAWL_API void pawl_engine_reply_max(pawl_engine *e, size_t bytes);
/* Three ways to end, each from any thread or a signal handler, and final: a later call that drives takes results that arrived, stores them, and returns.
 * Runs stay as they are stored, and go on with another engine. */
/* Stop: the driving call returns when the current step is stored. Open commands are not canceled: the engine holds them and their runs until it is freed. */
PAWL_API void pawl_engine_stop(pawl_engine *e);
/* Drain: no command, attempt or child is dispatched any more. Running ones finish and are stored; then the driving call returns, and the leases are
 * released. A command that waited for a thread never started, and is not counted as an attempt. */
PAWL_API void pawl_engine_drain(pawl_engine *e);
/* Wakes the driving call, so that it reads the mailboxes now and not at its next poll; ends nothing. From any thread, not from a signal handler. */
PAWL_API void pawl_engine_wake(pawl_engine *e);
/* Abandon: running handlers are stopped, as if the process had died. The result of a finished one is stored; any other command stays open, and the next
 * holder decides by its class. The driving call returns; pawl_engine_free waits for handlers and releases their runs. May follow a drain. */
PAWL_API void pawl_engine_abandon(pawl_engine *e);

/* ---- runs -------------------------------------------------------------------------------------- */
/* All return the state of the run: PAWL_HALTED it ended (if not as completed, err says how and why), PAWL_INTERRUPTED it waits for an answer, PAWL_PENDING a
 * command has no handler (err names it); or below 0. After a stop, drain or abandon also PAWL_OK: a step is due, and PAWL_PENDING: a command is open. */

/* Starts `run`, or continues it. `input`: JSON, may be NULL; a run that waits for input gets it; one that was started with another input and asks for
 * none refuses it: PAWL_CONFLICT (G10). */
PAWL_API PAWL_MUST_USE pawl_code pawl_run(pawl_engine *e, const char *run, const char *input, pawl_err *err);
/* Creates a run for any worker of the store, without driving it: durable on return. A run that exists is treated as by pawl_run. */
PAWL_API PAWL_MUST_USE pawl_code pawl_begin(pawl_engine *e, const char *run, const char *input, pawl_err *err);

/* The same with a record (S7): `info` is copied; 0 or NULL in it: generated (life, seed, created_ms) or not given.
 *   dedupe_key   1 to 4096 bytes: starting with the same key again gives the same run. Its id follows from the key, so `id` is NULL:
 *                pawl_dedupe_run computes it. Later input is sent by pawl_event_send, not by starting again.
 *   context      channels that the machine declares with `keep` start with their final values of the newest completed run of the context
 *   deadline_ms  it is canceled then, with the reason "deadline" (pawl_run_reason)
 *   retention    after its end: "keep" (the default), "delete", or "keep:7d" (ms, s, m, h): then a worker removes it, or the start of a new run
 *                of that id. The engine that drove it to its end can still read its result until a run of the id is started (at most
 *                256 of those that pawl_work drove)
 *   mode         plan, default, acceptEdits or bypassPermissions (P1): its start writes it to "@mode", unless its input has a lower one.
 *                A machine without modes is refused plan mode; agents have them, and graphs with pawl_graph_modes
 *   rights       the highest mode that it may ever have, as a mode: no input, no update and no child exceeds it
 *   budget       what it and its children may spend (A8); pawl_state_spent has the balance
 * Texts have at most 4096 bytes, created_by 1024. A run that exists must agree with what is given of life, seed, context, parent, labels, mode, rights,
 * priority, budget, dedupe key, deadline and retention; else PAWL_CONFLICT, and err says which. Author, time and trace are not compared. */
PAWL_API PAWL_MUST_USE pawl_code pawl_run_with(pawl_engine *e, const pawl_run_info *info, const char *input, pawl_err *err);
PAWL_API PAWL_MUST_USE pawl_code pawl_begin_with(pawl_engine *e, const pawl_run_info *info, const char *input, pawl_err *err);
enum { PAWL_DEDUPE_RUN_BYTES = 40 };
/* The id of the run with dedupe key `key`. PAWL_INVALID: not a valid key. */
PAWL_API pawl_code pawl_dedupe_run(const char *key, char run[PAWL_DEDUPE_RUN_BYTES]);
/* Drives every due run of the store, many at once, until none is due before `until_ms` (the store's time; 0: now) or the engine is stopped. Skips runs
 * that another engine holds, of another machine, or with a command that has no handler here. A run whose journal contradicts itself, the machine or the
 * store is parked with the reason until pawl_run or an event tries it again. PAWL_OK; below 0: the store failed. */
PAWL_API PAWL_MUST_USE pawl_code pawl_work(pawl_engine *e, int64_t until_ms, pawl_err *err);
/* Answers a wait with JSON and drives the run. `wait`: its id, its slot or the name of its node; NULL: the only open one. */
PAWL_API PAWL_MUST_USE pawl_code pawl_answer(pawl_engine *e, const char *run, const char *wait, const char *answer, pawl_err *err);
/* Sends an event and drives the run. Its time is the engine's unless it has one. PAWL_IGNORED: it had no effect. */
PAWL_API PAWL_MUST_USE pawl_code pawl_event_send(pawl_engine *e, const char *run, const pawl_event *ev, pawl_err *err);
/* Creates the run `fork` from the state of `run` at entry `seq` (0: now), with its blobs (K10); it is not driven yet. */
PAWL_API PAWL_MUST_USE pawl_code pawl_run_fork(pawl_engine *e, const char *run, uint64_t seq, const char *fork, pawl_err *err);
/* The same with a change: `change`, an event of kind PAWL_EV_UPDATE (value: an object of channels; name, by and note optional), is its first entry. A
 * refused change creates no fork. A crash in between may leave a fork without entries that nobody drives: the same call again completes it.
 * PAWL_CONFLICT: `fork` exists, or `run` is of another machine. */
PAWL_API PAWL_MUST_USE pawl_code pawl_run_fork_with(pawl_engine *e, const char *run, uint64_t seq, const char *fork,
                                                    const pawl_event *change, pawl_err *err);
/* The stored state, for the getters of kernel.h; NULL: no such run. Lent until the next call about this run, which may load it again. */
PAWL_API pawl_state *pawl_run_state(pawl_engine *e, const char *run, pawl_err *err);
/* A channel of a run as text: a string itself, any other value as JSON; "": none. Lent until the next call. */
PAWL_API const char *pawl_run_get(pawl_engine *e, const char *run, const char *channel);
/* Why the run failed or was rejected; "": it was not. Lent until the next call. */
PAWL_API const char *pawl_run_reason(pawl_engine *e, const char *run);
/* A loader of the run's blobs, for pawl_verify_with and pawl_replay_with. Valid as long as the engine, on its thread. */
PAWL_API PAWL_MUST_USE pawl_code pawl_run_loader(pawl_engine *e, const char *run, pawl_loader *loader, pawl_err *err);
/* A scratch step of the engine, for getters that need one. */
PAWL_API pawl_step *pawl_engine_step(pawl_engine *e);

/* ---- watching, admission, clock, secrets ----------------------------------------------------------------------------------- */

/* Called with every entry and task record once it is stored, on the driving thread; `st` is the state after the commit. Both are lent. An entry of kind
 * PAWL_EV_UPDATE by "@engine" only names a snapshot. */
typedef void pawl_watch_fn(void *ctx, const pawl_state *st, const pawl_entry *entry);
PAWL_API void pawl_engine_watch(pawl_engine *e, pawl_watch_fn *fn, void *ctx);

/* Called on the driving thread, once for each run, with a code and one line, lent, when a snapshot is not used and the journal is folded instead (K11).
 * PAWL_GONE: no entry names it, as in stores of older versions; PAWL_CORRUPT: it is not the stored one. pawl_engine_refolds counts each time. */
typedef void pawl_notice_fn(void *ctx, const char *run, pawl_code code, const char *text);
PAWL_API void pawl_engine_notice(pawl_engine *e, pawl_notice_fn *fn, void *ctx);
PAWL_API uint64_t pawl_engine_refolds(const pawl_engine *e);

/* Called by pawl_work for each run that it claims, before it drives it; updates of reserved channels (@mode) are taken before. Below 0, with a reason:
 * the run is parked with it, until pawl_run. */
typedef pawl_code pawl_admit_fn(void *ctx, pawl_state *st, pawl_err *err);
PAWL_API void pawl_engine_admit(pawl_engine *e, pawl_admit_fn *fn, void *ctx);
/* Called before that for the same run, once it has started: *update becomes an object of reserved channels that it takes before a command of it leaves, such
 * as {"@policy":...} of settings that have changed, lent until the next call; NULL: none. Below 0: the run is parked with the reason. */
typedef pawl_code pawl_settings_fn(void *ctx, pawl_state *st, const char **update, pawl_err *err);
PAWL_API void pawl_engine_settings(pawl_engine *e, pawl_settings_fn *fn, void *ctx);

/* The clock of the engine; NULL: the system's. */
typedef struct pawl_clock {
    int64_t (*now_ms)(void *ctx);
    void (*sleep_until)(void *ctx, int64_t time_ms);
    void *ctx;
} pawl_clock;
PAWL_API void pawl_engine_clock(pawl_engine *e, const pawl_clock *clock);

/* Whether the key of an approver counts on this machine (P11): asked when an answer that it signed is taken, and before a command leaves that it approved.
 * PAWL_OK, or PAWL_DENIED with why. NULL, as at first: every key counts that the wait names. On the driving thread. */
typedef pawl_code pawl_approver_fn(void *ctx, const char *name, const char *key, pawl_err *err);
PAWL_API void pawl_engine_approvers(pawl_engine *e, pawl_approver_fn *fn, void *ctx);

/* The value of a secret "given:NAME" ("env:NAME" and "file:PATH" are built in); lent until the next call. NULL: unknown, and the command waits. */
typedef const char *pawl_secret_fn(void *ctx, const char *name);
PAWL_API void pawl_engine_secret(pawl_engine *e, pawl_secret_fn *fn, void *ctx);

/* ---- anchors (P12) --------------------------------------------------------------------------------------------------------- */

/* The newest stored head of a run, to be kept where somebody who can write the store cannot change it. Texts are lent for the call. */
typedef struct pawl_anchor {
    const char *run;
    uint64_t life;
    uint64_t seq;               /* of the newest entry; 0: there is none, and `head` is the hash of the base */
    char head[65];              /* its hash, 64 hex digits */
    uint64_t records;           /* task records after it, of the open superstep */
    char open[65];              /* SHA-256 of these lines, each with its newline; "" without records */
    pawl_status status;
    const char *retention;      /* of a run that has ended: its retention; NULL: none, or it has not ended */
    bool removed;               /* the run is about to be removed by a person */
} pawl_anchor;
/* Keeps `n` heads of runs in `store` (store_verbs.id) before it returns PAWL_OK. Below 0 with a reason: none may be relied on. It blocks the thread that
 * drives, so it should return within seconds; leases are renewed meanwhile. It may not use the engine or its store. */
typedef pawl_code pawl_anchor_fn(void *ctx, const char *store, const pawl_anchor *heads, size_t n, pawl_err *err);
/* From now on a head is kept by `fn` before the lease of its run is released (the run ended, waits, was parked, or is left to others), and before anything
 * is dispatched after an answer, an update, a signal or an input. Steps in between are not. When `fn` fails, the call that drives returns PAWL_IO (or
 * PAWL_TRANSIENT or PAWL_NOMEM, as `fn` did), nothing more of the run is dispatched, and its lease is kept: the next call that drives it tries again; when
 * this process has ended, the engine that claims the run anchors it first. The same head may be kept twice. Set it before runs are driven. PAWL_INVALID:
 * no function; a code of the store: its id cannot be read. */
PAWL_API PAWL_MUST_USE pawl_code pawl_engine_anchor(pawl_engine *e, pawl_anchor_fn *fn, void *ctx, pawl_err *err);

#ifdef __cplusplus
}
#endif
#endif
