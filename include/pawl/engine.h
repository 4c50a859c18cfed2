/* engine.h - takes events to machines, keeps their journals, performs their commands.
 *
 * This engine drives one run at a time on the thread that calls it. Each call goes on until the run is over
 * or waits for somebody. JSON goes in and out as text. */
#ifndef PAWL_ENGINE_H
#define PAWL_ENGINE_H

#include "pawl/kernel.h"
#include "pawl/store.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pawl_engine pawl_engine;
typedef struct pawl_reply pawl_reply;

/* Takes `m` and `store`, also on failure; either may be NULL, then so is the engine, `err` as it was. */
PAWL_API pawl_engine *pawl_engine_new(pawl_machine *m, pawl_store *store, pawl_err *err);
PAWL_API void pawl_engine_free(pawl_engine *e);
PAWL_API pawl_store *pawl_engine_store(pawl_engine *e);
PAWL_API const pawl_machine *pawl_engine_machine(const pawl_engine *e);

/* ---- effects --------------------------------------------------------------------------------- */

/* Perform `cmd`: its id is the key to send along, its args are lent for the call. Say the result with pawl_reply_...
 * and return PAWL_OK; or return a code below 0: PAWL_TRANSIENT, PAWL_TIMEOUT and PAWL_IO are tried again as
 * the command's retry says, any other is final. The only impure function. */
typedef pawl_code pawl_effect_fn(const pawl_command *cmd, pawl_reply *reply, void *arg);

/* `cls` is what the machine declares of the effect, PAWL_AT_LEAST_ONCE where it declares nothing: with another one the handler is
 * refused, PAWL_INVALID (E5). The same effect again: this handler takes the place of the one before. */
PAWL_API pawl_code pawl_engine_effect(pawl_engine *e, const char *effect, pawl_effect_fn *fn, void *arg, pawl_class cls, pawl_err *err);

/* The first three return PAWL_OK: `return pawl_reply_string(reply, text);` */
PAWL_API pawl_code pawl_reply_json(pawl_reply *r, const char *text);    /* the result; checked when the handler returns; NULL is none */
PAWL_API pawl_code pawl_reply_string(pawl_reply *r, const char *text);  /* NULL: null */
PAWL_API pawl_code pawl_reply_int(pawl_reply *r, int64_t n);
PAWL_API pawl_code pawl_reply_fail(pawl_reply *r, pawl_code code, const char *format, ...) PAWL_PRINTF(3, 4); /* returns code */

/* ---- runs -------------------------------------------------------------------------------------- */
/* All return how the run stands: PAWL_HALTED it is over, PAWL_INTERRUPTED somebody is asked, PAWL_PENDING a command
 * has no handler (err says which, with that code); or below 0. */

/* Start `run`, or go on with it where it stands. `input` may be NULL; a run that waits for input gets it, one that was begun
 * with another and asks for none refuses it: PAWL_CONFLICT (G10). */
PAWL_API PAWL_MUST_USE pawl_code pawl_run(pawl_engine *e, const char *run, const char *input, pawl_err *err);
/* `wait`: its id, its slot or the node's name; NULL: the only one. */
PAWL_API PAWL_MUST_USE pawl_code pawl_answer(pawl_engine *e, const char *run, const char *wait, const char *answer, pawl_err *err);
/* Any event, and then whatever follows. Its time is the engine's unless it has one. PAWL_IGNORED: nothing followed. */
PAWL_API PAWL_MUST_USE pawl_code pawl_event_send(pawl_engine *e, const char *run, const pawl_event *ev, pawl_err *err);
/* A new run `fork` from `run` as it stood at entry `seq` (0: now); it is not driven yet. */
PAWL_API PAWL_MUST_USE pawl_code pawl_run_fork(pawl_engine *e, const char *run, uint64_t seq, const char *fork, pawl_err *err);
/* The live state, for the getters of kernel.h; NULL: no such run. Lives as long as the engine. */
PAWL_API pawl_state *pawl_run_state(pawl_engine *e, const char *run, pawl_err *err);
/* A channel of a run as text: a string itself, any other value as JSON; "" when there is none. Lives until the next call. */
PAWL_API const char *pawl_run_get(pawl_engine *e, const char *run, const char *channel);
/* Why it failed or was rejected, as text; "" when it was not. Lives until the next call. */
PAWL_API const char *pawl_run_reason(pawl_engine *e, const char *run);
/* A step of the engine's own for those getters that want one. */
PAWL_API pawl_step *pawl_engine_step(pawl_engine *e);

/* ---- the world ----------------------------------------------------------------------------------- */

/* Called with every entry and task record, after it is stored and applied. */
typedef void pawl_watch_fn(void *ctx, const pawl_state *st, const pawl_entry *entry);
PAWL_API void pawl_engine_watch(pawl_engine *e, pawl_watch_fn *fn, void *ctx);

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
