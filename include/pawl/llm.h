/* llm.h - models: handlers of the effect "llm": over the network, by a script, from a record, or by a function of your own.
 *
 * One call is one answer. Its arguments and its reply are the same for every model, and docs/MODELS.md has them; in short
 *     {"model":"PROVIDER/NAME","messages":[...],"system"?,"tools"?,"tool_choice"?,"max_tokens"?,"temperature"?,"thinking"?,
 *      "schema"?,"stop"?,"cache"?,"retry"?: number of earlier requests}
 *     {"message":{"role":"assistant","content":[...]},"stop":"end_turn","usage":{...},"model":NAME,"request_id"?,"output"?}
 * While it arrives, pawl_job_say emits its pieces. Only a complete answer becomes a reply: one that ends early is PAWL_TRANSIENT. These
 * handlers do not retry. */
#ifndef PAWL_LLM_H
#define PAWL_LLM_H

#include "pawl/effect.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- over the network ------------------------------------------------------------------------------------ */

typedef struct pawl_llm_usage {     /* tokens; those read from a cache, or written to it, are not part of input */
    int64_t input, output, cache_read, cache_write;
} pawl_llm_usage;

/* The cost in millionths, 0: no price. `model` as in the arguments. Called on any thread. */
typedef int64_t pawl_llm_price_fn(void *ctx, const char *model, const pawl_llm_usage *usage);

/* The handler's `arg`, which may be NULL; lent as long as the engine, and not written to. 0 or NULL: the default. */
typedef struct pawl_llm {
    pawl_llm_price_fn *price;
    void *price_ctx;
    /* The setting of that name (ANTHROPIC_API_KEY), or NULL; lent until the handler returns. No function: the environment. Called on any thread. */
    const char *(*setting)(void *ctx, const char *name);
    void *setting_ctx;
    int64_t first_ms;               /* until the first byte of an answer: 10 minutes */
    int64_t idle_ms;                /* between two pieces of it: 2 minutes */
    const char *ca;                 /* as of pawl_effect_http */
} pawl_llm;

/* Requests an answer over Anthropic's API, or OpenAI's and compatible ones. The first part of `model` is the provider: anthropic, openai, ollama, or any
 * other PROVIDER with a setting PROVIDER_BASE_URL. PAWL_TRANSIENT: 408, 409, 5xx, a temporary 429, a failed connection, an incomplete or malformed
 * answer. PAWL_TIMEOUT. PAWL_DENIED: 401, 402, 403, a 429 of a quota or spending limit. PAWL_INVALID: wrong arguments, no key, unknown provider, any
 * other status. PAWL_LIMIT: the answer is too large. Keys are never part of an error text. */
PAWL_API pawl_code pawl_effect_llm(const pawl_job *job, pawl_reply *reply, void *arg);

/* ---- by a script ---------------------------------------------------------------------------------- */

/* A model that answers by the first fitting entry of a list (docs/MODELS.md). The answer depends on the arguments and job->attempt alone, so a replay
 * gets the same. Constant: any thread. */
typedef struct pawl_llm_script pawl_llm_script;
/* `list` is copied; `what` names it in errors. `price` may be NULL. NULL: PAWL_INVALID, the list is malformed, and err says where; PAWL_NOMEM. */
PAWL_API pawl_llm_script *pawl_llm_script_new(const pawl_value *list, const char *what, pawl_llm_price_fn *price, void *price_ctx,
                                              pawl_err *err);
PAWL_API void pawl_llm_script_free(pawl_llm_script *s);     /* NULL: nothing */
/* `arg` is a pawl_llm_script. With "prompt" in place of "messages" the reply is {"text"}. PAWL_EFFECT: no entry fits. */
PAWL_API pawl_code pawl_effect_script(const pawl_job *job, pawl_reply *reply, void *arg);

/* ---- from a record ----------------------------------------------------------------------------------- */

typedef enum pawl_record_mode {
    PAWL_RECORD_STRICT = 0,         /* a request that is not recorded fails */
    PAWL_RECORD_LIVE = 1,           /* a request that is not recorded is performed and recorded */
    PAWL_RECORD_SHADOW = 2          /* every request is performed and compared: job->say(job, "record", {"key","differs":...}); nothing is recorded */
} pawl_record_mode;

/* Recorded answers in a file of JSON lines (docs/INTERFACES.md), by the SHA-256 of the request without `cache`, `node`, `decision` and `retry`. */
typedef struct pawl_llm_record pawl_llm_record;
/* `fn` performs requests with `fn_arg` (lent); it may be NULL in strict mode. The whole file is read; LIVE creates a missing file and cuts off an
 * incomplete last line; several processes may append to one file. NULL: PAWL_INVALID, no `fn` outside of strict mode, or LIVE on what is not a regular
 * file; PAWL_IO, PAWL_CORRUPT with the line's number, PAWL_LIMIT, PAWL_NOMEM. */
PAWL_API pawl_llm_record *pawl_llm_record_open(const char *path, pawl_record_mode mode, pawl_handler_fn *fn, void *fn_arg, pawl_err *err);
PAWL_API void pawl_llm_record_close(pawl_llm_record *r);    /* NULL: nothing; no handler may be at work */
/* `arg` is a pawl_llm_record; any number of threads. A miss is PAWL_INVALID, with the model and the beginning of the last message. */
PAWL_API pawl_code pawl_effect_record(const pawl_job *job, pawl_reply *reply, void *arg);

/* ---- by a function of your own ------------------------------------------------------------------------------ */

typedef struct pawl_model_call pawl_model_call;

typedef struct pawl_model {
    /* Starts to answer `request`, the arguments of the effect, without blocking. PAWL_OK: the call must be ended once, by pawl_model_done or
     * pawl_model_failed, on any thread, also within start. Below 0: not started, and must not be ended. `request` is lent until the call is ended or
     * canceled. Called on any thread, several at once. */
    pawl_code (*start)(void *ctx, const pawl_value *request, pawl_model_call *call);
    /* The call was canceled or is over its deadline: `request` is not valid any more; end the call soon, or within cancel. May be NULL. It may run at the
     * same time as another thread ends the call, or just after: check under a lock of your own, and do nothing when the call has ended. */
    void (*cancel)(void *ctx, pawl_model_call *call);
    void *ctx;
} pawl_model;

/* Emits a piece of the answer: {"type":"text_delta","text":...} or another of docs/MODELS.md. Any thread; copied. After a cancel, and beyond 16 MiB that
 * the handler has not passed on yet, it is dropped: readers miss it, the answer does not. */
PAWL_API void pawl_model_delta(pawl_model_call *call, const char *json);
/* Ends the call, which is not valid any more, with the reply as above (copied); its `usage` is the cost in tokens. Any thread. */
PAWL_API void pawl_model_done(pawl_model_call *call, const char *reply);
/* Ends the call with a failure: `code` below 0, one line of text (copied); retry_after_ms 0: not given. Any thread. */
PAWL_API void pawl_model_failed(pawl_model_call *call, pawl_code code, const char *text, int64_t retry_after_ms);
/* `arg` is a pawl_model. */
PAWL_API pawl_code pawl_effect_model(const pawl_job *job, pawl_reply *reply, void *arg);

#ifdef __cplusplus
}
#endif
#endif
