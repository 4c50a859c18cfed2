/* effect.h - handlers: what performs a command, the job it is given and the reply it makes.
 *
 * A handler is the only impure function there is. It runs on any thread, several at once, and keeps nothing between two
 * calls but what `arg` leads to. Two come with the library: a program that is run, and a request over HTTP. */
#ifndef PAWL_EFFECT_H
#define PAWL_EFFECT_H

#include "pawl/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pawl_job pawl_job;
typedef struct pawl_reply pawl_reply;

/* Called once when a job that is answered later is to stop: see pawl_job.later. `id` is the job's. */
typedef void pawl_stop_fn(void *ctx, const char *id);

/* One attempt at one command; lent for the call, unless it is answered later. What is 0 or NULL is not there. Its functions go by `ctx`, so that a
 * copy of the struct is as good. */
struct pawl_job {
    const char *id;               /* of the invocation: the idempotency key, the same at every attempt */
    const char *effect;
    const pawl_value *args;       /* secrets are in their places: keep them out of every text */
    uint64_t fence;               /* a greater one is a younger holder of the run (E15) */
    int64_t deadline_ms;          /* of this attempt, by the system's clock whatever the engine's is; then PAWL_TIMEOUT */
    uint32_t attempt;             /* from 1 */
    int cancel_fd;                /* above 0: readable as soon as it is canceled; else ask canceled() every 50 ms */
    bool (*canceled)(const pawl_job *job);      /* then stop, undo nothing, return PAWL_CANCELED */
    void (*heartbeat)(const pawl_job *job);     /* something moved: say so now and then */
    /* Tell those who read along (pawl/stream.h) how it goes: "message" what a model says, any other name what you like; `text`
     * is JSON. Kept nowhere; counts as a heartbeat. PAWL_INVALID: no name or no JSON; PAWL_LIMIT: more than is kept for readers. */
    pawl_code (*say)(const pawl_job *job, const char *name, const char *text);
    void *ctx;                    /* of whoever made the job */
    void *sql;                    /* see pawl_ctx_sql in engine.h */
    const char *mode;             /* the text in its run's channel "@mode" as this attempt begins, also one that only comes; NULL: none */
    /* Announces that this attempt is answered later (E17): called by the handler before it hands the job to another thread; then it returns
     * PAWL_PENDING, and holds no thread. The attempt is over when somebody calls `finish`, or pawl_engine_reply (pawl/engine.h) with the job's id. Limits,
     * heartbeats, cancel, budgets and retry hold as for any other. NULL: whoever made the job cannot wait; answer before you return.
     *   stop    called once, when the run is canceled, a limit has passed, the lease is lost or the engine is freed: then finish soon. With it the job
     *           is held: job, texts, arguments and reply stay valid until `finish`, and pawl_engine_free waits for that. It may be called on any thread,
     *           under a lock of the engine's: it does not block, takes no lock that is held where `finish` is called, and calls nothing of the engine but
     *           `finish`. None comes after `finish` has returned.
     *   NULL    keep nothing but the id; the engine forgets the job when its command goes on without it.
     * It may move the arguments: read job->args anew. PAWL_OK; PAWL_CANCELED, PAWL_NOMEM, PAWL_INVALID (announced before): return that code. A handler
     * that changes its mind returns another code than PAWL_PENDING, and nobody calls `finish`. */
    pawl_code (*later)(const pawl_job *job, pawl_stop_fn *stop, void *ctx);
    /* Ends an attempt that was announced, once, on any thread, also before its handler has returned: `code` is what a handler returns, the result is in
     * the reply that the handler was given. After it neither job nor reply is touched. */
    void (*finish)(const pawl_job *job, pawl_code code);
    bool alone;                   /* the driving thread calls, and nothing else is out: to answer later saves no thread, and costs a hand-over */
};

/* Perform `job`. Say the result with pawl_reply_... and return PAWL_OK; or return a code below 0: PAWL_TRANSIENT,
 * PAWL_TIMEOUT and PAWL_IO are tried again as the command's retry says, any other is final. PAWL_PENDING: it is answered later, see pawl_job.later. */
typedef pawl_code pawl_handler_fn(const pawl_job *job, pawl_reply *reply, void *arg);

/* ---- replies --------------------------------------------------------------------------------- */

/* The first three return PAWL_OK: `return pawl_reply_string(reply, text);` */
PAWL_API pawl_code pawl_reply_json(pawl_reply *r, const char *text);    /* the result; checked when the handler returns; NULL is none */
PAWL_API pawl_code pawl_reply_string(pawl_reply *r, const char *text);  /* NULL: null */
PAWL_API pawl_code pawl_reply_int(pawl_reply *r, int64_t n);
PAWL_API pawl_code pawl_reply_fail(pawl_reply *r, pawl_code code, const char *format, ...) PAWL_PRINTF(3, 4); /* returns code */
/* What this attempt has cost, of a result as of a failure (A8): tokens, and money in millionths. Once; attempts add up. */
PAWL_API void pawl_reply_cost(pawl_reply *r, int64_t tokens, int64_t micros);
/* Of a failure, next to its one line: any number of lines, UTF-8. */
PAWL_API void pawl_reply_detail(pawl_reply *r, const char *text);
/* Of a failure: not to be tried again sooner (E7). 0: takes it back. */
PAWL_API void pawl_reply_retry_after(pawl_reply *r, int64_t ms);
/* Of a failure: nothing has reached the far end, so that even a command of class once may be tried again. */
PAWL_API void pawl_reply_untouched(pawl_reply *r);

/* ---- handlers of the library's own; `arg` is not used ------------------------------------------- */

/* Run a program: {"run":[PROGRAM,ARGUMENT...], "stdin"?, "env"?, "cwd"?, "timeout_ms"?, "output_bytes"?, "check"?}.
 *   run           never a shell; the program is looked for in PATH unless it has a slash
 *   stdin         a string as it is, any other value as JSON; else there is none
 *   env           members are set, those that are null taken away; PAWL_INVOCATION_ID and PAWL_FENCE are there
 *   output_bytes  kept of each stream, 1 MiB: the beginning of stdout and the end of stderr
 *   check         a status other than 0 is PAWL_EFFECT, its detail the last 20 lines of stderr
 * Replies {"status":N,"stdout":"","stderr":""}; with "signal":N when one ended it, and then status is 128+N; with
 * "cut":true when there was more; with "stdout_base64" or "stderr_base64" instead of what is not UTF-8.
 * On timeout or cancel SIGTERM goes to its process group, and SIGKILL two seconds later; what the program leaves
 * behind in its group gets SIGKILL. PAWL_UNKNOWN: the host took the status away, by waiting for any child. */
PAWL_API pawl_code pawl_effect_command(const pawl_job *job, pawl_reply *reply, void *arg);

/* A request: {"url", "method"?, "headers"?, "body"?, "timeout_ms"?, "response_bytes"?, "redirects"?, "ca"?}.
 *   method          GET, or POST with a body
 *   headers         an object of strings; Idempotency-Key is the invocation's id unless it is among them
 *   body            a string as it is, any other value as JSON (then Content-Type: application/json)
 *   timeout_ms      of all of it, 60 s
 *   response_bytes  kept of the body, 8 MiB
 *   redirects       followed, 5; 0: the redirect is the result. To another origin go no headers but those that
 *                   describe the body and what is accepted, and none leads from https to http
 *   ca              a file of certificates (PEM): who is trusted in place of the system's, or of those in SSL_CERT_FILE of the environment.
 *                   A certificate that is not trusted, has expired, or is another host's is PAWL_EFFECT, and nothing was sent
 * Replies {"status":N,"headers":{},"body":""}: names in lower case, repeated ones joined by ", "; with "body_json" when it
 * is JSON and says so, "body_base64" when it is not UTF-8, "cut":true when there was more. 429 and 5xx are PAWL_TRANSIENT,
 * with their Retry-After, and so is a connection that fails. A connection is kept for 4 s for the next request to its origin: 16 of
 * them at most by requests whose caller waits, 256 by those that are answered later; no request is sent twice for one that died.
 * Needs libcurl when it is first called. */
PAWL_API pawl_code pawl_effect_http(const pawl_job *job, pawl_reply *reply, void *arg);

#ifdef __cplusplus
}
#endif
#endif
