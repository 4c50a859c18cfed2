/* llm.h - models: the handlers of the effect "llm", by wire, by a script, from a record, or by a function of yours.
 *
 * One call is one answer. Its arguments and its reply are the same for every model, and docs/MODELS.md has them; in short
 *     {"model":"PROVIDER/NAME","messages":[...],"system"?,"tools"?,"tool_choice"?,"max_tokens"?,"temperature"?,"thinking"?,
 *      "schema"?,"stop"?,"cache"?,"retry"?: so often it was asked before}
 *     {"message":{"role":"assistant","content":[...]},"stop":"end_turn","usage":{...},"model":NAME,"request_id"?,"output"?}
 * While it is made, job->say(job, "message", JSON) tells of it piece by piece. A reply is made of a whole answer and of nothing
 * else: what ends early is PAWL_TRANSIENT. Nothing is tried again here. */
#ifndef PAWL_LLM_H
#define PAWL_LLM_H

#include "pawl/effect.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- by wire ------------------------------------------------------------------------------------ */

typedef struct pawl_llm_usage {     /* tokens; those read from a cache, or written to it, are not part of input */
    int64_t input, output, cache_read, cache_write;
} pawl_llm_usage;

/* What that costs in millionths, 0 when there is no price; `model` as the arguments have it. On any thread. */
typedef int64_t pawl_llm_price_fn(void *ctx, const char *model, const pawl_llm_usage *usage);

/* The handler's `arg`, which may be NULL; it lives as long as the engine and is not written to. What is 0 or NULL is the default. */
typedef struct pawl_llm {
    pawl_llm_price_fn *price;
    void *price_ctx;
    /* The setting of that name (ANTHROPIC_API_KEY), or NULL; lent until the handler returns. NULL: the environment's. On any thread. */
    const char *(*setting)(void *ctx, const char *name);
    void *setting_ctx;
    int64_t first_ms;               /* until the first byte of an answer: 10 minutes */
    int64_t idle_ms;                /* between two pieces of it: 2 minutes */
    const char *ca;                 /* as of pawl_effect_http */
} pawl_llm;

/* Ask a model of Anthropic's API, or of OpenAI's and those like it. The first part of `model` says whom: anthropic, openai, ollama, or any
 * other PROVIDER of which the setting PROVIDER_BASE_URL is there. PAWL_TRANSIENT: 429 that passes, 408, 409, 5xx, a connection
 * that fails, an answer that ends early or is none. PAWL_TIMEOUT. PAWL_DENIED: 401, 402, 403, and 429 that does not pass: a quota, a limit
 * of money. PAWL_INVALID: other arguments, no key, no such provider, any other status. PAWL_LIMIT: more than is read. No text has a key in it. */
PAWL_API pawl_code pawl_effect_llm(const pawl_job *job, pawl_reply *reply, void *arg);

/* ---- by a script ---------------------------------------------------------------------------------- */

/* A model that answers by a list (docs/MODELS.md); the first entry that fits. What it says depends on nothing but the arguments and
 * job->attempt, so it is the same at every replay. Immutable: any number of threads. */
typedef struct pawl_llm_script pawl_llm_script;
/* `list` is copied; `what` names it in errors. `price` may be NULL. NULL: PAWL_INVALID, the list is none, and err says where; PAWL_NOMEM. */
PAWL_API pawl_llm_script *pawl_llm_script_new(const pawl_value *list, const char *what, pawl_llm_price_fn *price, void *price_ctx,
                                              pawl_err *err);
PAWL_API void pawl_llm_script_free(pawl_llm_script *s);     /* NULL: nothing */
/* `arg` is a pawl_llm_script. With "prompt" in place of "messages" the reply is {"text"}. PAWL_EFFECT: no entry fits. */
PAWL_API pawl_code pawl_effect_script(const pawl_job *job, pawl_reply *reply, void *arg);

/* ---- from a record ----------------------------------------------------------------------------------- */

typedef enum pawl_record_mode {
    PAWL_RECORD_STRICT = 0,         /* what is not there fails, by its key: nobody is asked */
    PAWL_RECORD_LIVE = 1,           /* what is not there is asked, and written down */
    PAWL_RECORD_SHADOW = 2          /* all is asked, and compared: job->say(job, "record", {"key","differs":...}). Nothing is written */
} pawl_record_mode;

/* Answers in a file of JSON lines (docs/INTERFACES.md), by the SHA-256 of the request without `cache`, `node`, `decision` and `retry`. */
typedef struct pawl_llm_record pawl_llm_record;
/* `fn`, which is asked with `fn_arg`, may be NULL when the mode is strict. The file is read whole; LIVE makes it when it is not there, and cuts off a
 * last line that is not whole; several processes may write to one. NULL: PAWL_IO, PAWL_CORRUPT with the line's number, PAWL_LIMIT, PAWL_NOMEM. */
PAWL_API pawl_llm_record *pawl_llm_record_open(const char *path, pawl_record_mode mode, pawl_handler_fn *fn, void *fn_arg, pawl_err *err);
PAWL_API void pawl_llm_record_close(pawl_llm_record *r);    /* NULL: nothing; no handler may be at work */
/* `arg` is a pawl_llm_record; any number of threads. A miss is PAWL_INVALID, by the model and the beginning of what was said last. */
PAWL_API pawl_code pawl_effect_record(const pawl_job *job, pawl_reply *reply, void *arg);

/* ---- by a function of yours ------------------------------------------------------------------------------ */

typedef struct pawl_model_call pawl_model_call;

typedef struct pawl_model {
    /* Begin to answer `request`, the arguments of the effect; do not wait. PAWL_OK: the call must be ended, once, by pawl_model_done or
     * pawl_model_failed, from any thread, also from in here. Below 0: it has not begun, and must not be. `request` is lent until the call is
     * ended or canceled. On any thread, several at once. */
    pawl_code (*start)(void *ctx, const pawl_value *request, pawl_model_call *call);
    /* Nobody waits any longer (cancel, deadline): `request` is no more; end the call soon, or in here. NULL: it is not told. It may come while another
     * thread tells the end, and just after: so look first, under a lock of yours, whether that has been told, and then do nothing. */
    void (*cancel)(void *ctx, pawl_model_call *call);
    void *ctx;
} pawl_model;

/* What is to be told of it now: {"type":"text_delta","text":...} or another of those in docs/MODELS.md. Any thread; copied. */
PAWL_API void pawl_model_delta(pawl_model_call *call, const char *json);
/* The end, and `call` is no more. The reply as above; `usage` in it is its cost in tokens. */
PAWL_API void pawl_model_done(pawl_model_call *call, const char *reply);
/* The end: `code` below 0, one line of text; retry_after_ms 0: it does not say. */
PAWL_API void pawl_model_failed(pawl_model_call *call, pawl_code code, const char *text, int64_t retry_after_ms);
/* `arg` is a pawl_model. */
PAWL_API pawl_code pawl_effect_model(const pawl_job *job, pawl_reply *reply, void *arg);

#ifdef __cplusplus
}
#endif
#endif
