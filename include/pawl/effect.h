/* effect.h - handlers: functions that perform commands, the job they get and the reply they make.
 *
 * Handlers are the only impure part of a run. A handler is called on any thread, several at once; between calls it may hold state only through `arg`.
 * Two come with the library: pawl_effect_command and pawl_effect_http. */
#ifndef PAWL_EFFECT_H
#define PAWL_EFFECT_H

#include "pawl/policy.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pawl_job pawl_job;
typedef struct pawl_reply pawl_reply;

/* The kind of a piece of a handler's output while it works: see pawl_job_say. */
typedef enum pawl_delta_kind {
    PAWL_DELTA_CUSTOM = 0,      /* JSON under a name of your own: what job->say() makes; pawl_job_say refuses it */
    PAWL_DELTA_BEGIN,           /* a model begins to answer: the pieces of an earlier attempt are void. `number`: the attempt; no bytes */
    PAWL_DELTA_TEXT,            /* text of a model's answer; after an interrupt the conversation keeps it (A4) */
    PAWL_DELTA_THINKING,        /* text of a model's thinking */
    PAWL_DELTA_TOOL_INPUT,      /* of the JSON input of a tool call. `number`: the block of the answer; the first piece has the call's `id` and `name` */
    PAWL_DELTA_TOOL_OUTPUT      /* output of a tool. `id`: that of the tool call */
} pawl_delta_kind;

/* One piece. `bytes`: UTF-8, whole characters, NULs allowed; lent for the call, without a NUL at the end. */
typedef struct pawl_delta {
    pawl_delta_kind kind;
    const char *bytes;
    size_t size;                /* in bytes */
    uint64_t number;
    const char *id, *name;      /* of the kinds that have them; else NULL */
} pawl_delta;

/* Called once when a job that is answered later must stop: see pawl_job.later. `id` is that of the job. */
typedef void pawl_stop_fn(void *ctx, const char *id);

/* Why what a job has left running must end: its run has ended, or the engine is freed; the mode of the run is plan; another engine took the run. */
typedef enum pawl_left_why { PAWL_LEFT_OVER, PAWL_LEFT_PLAN, PAWL_LEFT_LOST } pawl_left_why;

/* Ends what a job has left running; see pawl_job.outlive. */
typedef void pawl_end_fn(void *ctx, pawl_left_why why);

/* Frees what a handler has kept for a further attempt; see pawl_job.again. */
typedef void pawl_drop_fn(void *kept);

/* One attempt at one command; lent for the call, unless it is answered later. 0 or NULL: not given. Its functions use `ctx`, so a copy of the struct may
 * be passed to them. */
struct pawl_job {
    const char *id;               /* the invocation id, which is the idempotency key: the same at each attempt */
    const char *effect;           /* its name: one handler may perform several effects */
    const pawl_value *args;       /* with the values of secrets: keep them out of every text */
    uint64_t fence;               /* the fence of the lease, for systems that can refuse an older holder: a later holder has a greater one (E15) */
    int64_t deadline_ms;          /* of this attempt, in ms since 1970 by the clock of the system; after it return PAWL_TIMEOUT */
    uint32_t attempt;             /* from 1 */
    int cancel_fd;                /* above 0: a descriptor that is readable once the job is canceled; else call canceled() every 50 ms */
    bool (*canceled)(const pawl_job *job);      /* true: stop, undo nothing, return PAWL_CANCELED */
    void (*heartbeat)(const pawl_job *job);     /* call it while there is progress, more often than heartbeat_ms of its limits */
    /* Emits a live event to stream subscribers (pawl/stream.h), not journaled: "message" for the output of a model, any other name as you like; `text` is
     * JSON, parsed at once: text that comes token by token is said by pawl_job_say. Counts as a heartbeat. PAWL_INVALID: no name or invalid JSON;
     * PAWL_LIMIT: larger than the buffer for subscribers. On any thread. */
    pawl_code (*say)(const pawl_job *job, const char *name, const char *text);
    void *ctx;                    /* for its functions */
    void *sql;                    /* for pawl_ctx_sql in engine.h */
    const char *mode;             /* the channel "@mode" of the run when this attempt begins; NULL: none */
    /* Announces that this attempt is answered later (E17): called by the handler before it hands the job to another thread; then it returns
     * PAWL_PENDING, and holds no thread. The attempt ends with `finish`, or with pawl_engine_reply (pawl/engine.h) and the job's id. Limits,
     * heartbeats, cancel, rate limits and retry apply as usual. NULL: not possible for this job; answer before returning.
     *   stop    called once, when the run is canceled, a limit has passed, the lease is lost or the engine is freed: then finish soon. With it the job
     *           is held: job, texts, arguments and reply stay valid until `finish`, and pawl_engine_free waits for that. It is called on any thread,
     *           under a lock of the engine: it must not block, must take no lock that is held around a call of `finish`, and may call only `finish`.
     *           It is never called after `finish` has returned.
     *   NULL    hold nothing but the id; the job is gone once its command goes on without it.
     * It may move the arguments: read job->args again. PAWL_OK; PAWL_CANCELED, PAWL_NOMEM, PAWL_INVALID (announced twice): return that code. A handler
     * may still return another code than PAWL_PENDING; then `finish` must not be called. */
    pawl_code (*later)(const pawl_job *job, pawl_stop_fn *stop, void *ctx);
    /* Ends an announced attempt, once, on any thread, also before its handler has returned: `code` is as the result of a handler, and the value is in
     * the reply. Job and reply may not be used afterwards. */
    void (*finish)(const pawl_job *job, pawl_code code);
    bool alone;                   /* called on the driving thread with no other command open: answering later saves no thread, and costs a hand-over */
    /* Used by pawl_job_say only: takes a delta if `say` was not replaced since the job was made, else returns PAWL_PENDING. May be NULL. */
    pawl_code (*delta)(const pawl_job *job, const pawl_delta *delta);
    /* The rules in the channel "@policy" of the run when this attempt begins, as long as the job: a handler that opens files decides by them on what it
     * has opened (P8). NULL: there are none. */
    const pawl_policy *policy;
    /* For what a handler leaves running for its run after it has returned, such as a program in the background: `end` is called when it must end. With
     * PAWL_LEFT_PLAN after each commit of the run in plan mode, so any number of times: what may write ends, the rest may go on. With another reason once,
     * and last. `end` does not block: it is called on the driving thread, and only starts the end. `ctx` must be valid until the last call. Call it in the
     * handler, before that returns. PAWL_OK; PAWL_CANCELED: the job must stop; PAWL_NOMEM. NULL: nothing may outlive this job. */
    pawl_code (*outlive)(const pawl_job *job, pawl_end_fn *end, void *ctx);
    /* True: the mode of the run has become plan since this attempt began, so what may write ends (P1). A handler asks as it asks canceled(); the outcome of
     * its command is its own. NULL: never. */
    bool (*planned)(const pawl_job *job);
    /* For a command that needs one more request, such as a server that must be asked in another way: has the handler called again, at once, as a further
     * attempt. That is counted, and charged to the budget of the run, before it begins (A9); it is none of the attempts of `retry`. Called in the handler,
     * or before `finish`; the attempt then ends with PAWL_TRANSIENT, its own cost and a text, which is the error of the command when there is no
     * further attempt because the job must stop. Without room in the budget the error is that of the budget.
     *   kept    is `kept` of every later attempt here, until a handler gives another one; not after a crash, nor in another engine. May be NULL
     *   drop    frees it: called once, on any thread, with no attempt under way. NULL: nothing to free
     * PAWL_OK: the engine has `kept`; PAWL_CANCELED: the job must stop, and PAWL_INVALID (asked twice): the caller has it still. NULL: not possible for
     * this job; make the request in this attempt. */
    pawl_code (*again)(const pawl_job *job, void *kept, pawl_drop_fn *drop);
    void *kept;                   /* NULL: nothing was kept */
    const char *trace;            /* the W3C trace context with which the run was begun; NULL: none */
};

/* Emits a piece of the output of a model or a tool, as say() does: not journaled, a heartbeat, on any thread; copied. It stays bytes until a reader asks
 * for JSON: the same as say() of {"type":"text_delta","text":...} and so on (docs/MODELS.md), or of "tool_progress" {"output","tool_use_id"}. In a copy of
 * a job with another say(), that function gets this JSON. Nothing is done where job->say is NULL. PAWL_INVALID: of no such kind, not UTF-8, or custom;
 * PAWL_LIMIT: larger than the buffer for subscribers; PAWL_NOMEM. */
PAWL_API pawl_code pawl_job_say(const pawl_job *job, const pawl_delta *delta);

/* Performs `job`. Returns PAWL_OK after a pawl_reply_... call has set the result (none: null), or a code below 0. PAWL_TRANSIENT, PAWL_TIMEOUT and PAWL_IO
 * are retried as the command says; a command of class once then has an unknown outcome instead, unless pawl_reply_untouched was called. Any other code is
 * final. PAWL_PENDING: answered later, see pawl_job.later. `arg` is that of pawl_engine_effect. Called on any thread, several at once. Over a limit it is
 * told to stop by canceled(), and is not cut off; pawl_engine_threads says whether its command waits for it. */
typedef pawl_code pawl_handler_fn(const pawl_job *job, pawl_reply *reply, void *arg);

/* ---- replies --------------------------------------------------------------------------------- */

/* Texts are copied. The first three return PAWL_OK, for `return pawl_reply_string(reply, text);`. A reply belongs to the thread that works on the job. */
PAWL_API pawl_code pawl_reply_json(pawl_reply *r, const char *text);    /* the result; invalid JSON, or NULL, fails the command */
PAWL_API pawl_code pawl_reply_string(pawl_reply *r, const char *text);  /* NULL: the result null */
PAWL_API pawl_code pawl_reply_int(pawl_reply *r, int64_t n);
PAWL_API pawl_code pawl_reply_fail(pawl_reply *r, pawl_code code, const char *format, ...) PAWL_PRINTF(3, 4); /* sets one line of text, returns code */
/* The cost of this attempt, whether it succeeded or failed (A8): tokens, and money in millionths. Call it once; the attempts of a command add up. An
 * amount below 0 or above 2^53 is no cost: the attempt then costs its whole reservation, as without this call (A9). */
PAWL_API void pawl_reply_cost(pawl_reply *r, int64_t tokens, int64_t micros);
/* For a failure: any number of lines beside its one line of text. Ignored if it is not UTF-8. */
PAWL_API void pawl_reply_detail(pawl_reply *r, const char *text);
/* For a failure: the next attempt is not made earlier than in `ms` (E7). 0: no such limit. */
PAWL_API void pawl_reply_retry_after(pawl_reply *r, int64_t ms);
/* For a failure: nothing has happened outside, so that even a command of class once may be retried. */
PAWL_API void pawl_reply_untouched(pawl_reply *r);

/* ---- built-in handlers; `arg` is not used ------------------------------------------- */

#ifndef PAWL_NO_BUILTIN_EFFECTS     /* the engine as two files (tools/amalgamate --engine) has none */

/* Runs a program: {"run":[PROGRAM,ARGUMENT...], "stdin"?, "env"?, "cwd"?, "timeout_ms"?, "output_bytes"?, "check"?}.
 *   run           never a shell; the program is looked for in PATH unless it has a slash
 *   stdin         a string as it is, any other value as JSON; else there is none
 *   env           members are set, null ones removed; PAWL_INVOCATION_ID and PAWL_FENCE are set
 *   output_bytes  kept of each stream, 1 MiB: the beginning of stdout and the end of stderr
 *   check         a status other than 0 is PAWL_EFFECT, its detail the last 20 lines of stderr
 * Replies {"status":N,"stdout":"","stderr":""}; with "signal":N when one ended it, and then status is 128+N; with
 * "cut":true when there was more; with "stdout_base64" or "stderr_base64" instead of what is not UTF-8.
 * On timeout or cancel SIGTERM goes to its process group, and SIGKILL two seconds later; processes that it
 * left in its group get SIGKILL. PAWL_UNKNOWN: the host reaped the child, so its status is lost. */
PAWL_API pawl_code pawl_effect_command(const pawl_job *job, pawl_reply *reply, void *arg);

/* Sends an HTTP request: {"url", "method"?, "headers"?, "body"?, "timeout_ms"?, "response_bytes"?, "redirects"?, "ca"?}.
 *   method          GET, or POST with a body
 *   headers         an object of strings, or of arrays of strings that are joined; Idempotency-Key is the invocation id unless given
 *   body            a string as it is, any other value as JSON (then Content-Type: application/json)
 *   timeout_ms      for the whole request, 60 s
 *   response_bytes  kept of the body, 8 MiB
 *   redirects       followed, 5; 0: the redirect is the result. To another origin go no headers but those that
 *                   describe the body and what is accepted, and none leads from https to http
 *   ca              a PEM file of the trusted certificates, in place of the system's or of SSL_CERT_FILE. A certificate that is not
 *                   trusted, has expired, or is for another host is PAWL_EFFECT, and nothing was sent
 * Replies {"status":N,"headers":{},"body":""}: names in lower case, repeated ones joined by ", "; with "body_json" when it
 * is JSON and says so, "body_base64" when it is not UTF-8, "cut":true when there was more. 429 and 5xx are PAWL_TRANSIENT,
 * with their Retry-After, and so is a failed connection. A connection is reused for 4 s by requests to the same origin: at most 16 for
 * requests that hold a thread, 256 for those answered later; no request is sent twice because its connection broke.
 * Loads libcurl at the first call. */
PAWL_API pawl_code pawl_effect_http(const pawl_job *job, pawl_reply *reply, void *arg);
#endif

#ifdef __cplusplus
}
#endif
#endif
