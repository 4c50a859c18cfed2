/* effect.h - inside the handlers: replies, arguments, text, processes. */
#ifndef EFFECT_EFFECT_H
#define EFFECT_EFFECT_H

#include "json/json.h"
#include "pawl/effect.h"
#include "pawl/tool.h"

/* ---- reply.c ----------------------------------------------------------------------------------- */

struct pawl_reply {
    pawl_alloc alloc;
    buf text;                   /* the result as JSON; failed: no memory for it */
    char *why;                  /* what went wrong; NULL: nothing was said. Apart, since few replies fail */
    buf detail;
    int64_t retry_after_ms;
    long status;                /* of HTTP, of an answer that is an error; 0: none */
    bool untouched;
    bool costs;                 /* a cost was reported: */
    int64_t tokens, micros;
};

void reply_init(pawl_reply *r, const pawl_alloc *alloc);
void reply_reset(pawl_reply *r);        /* before each attempt */
void reply_free(pawl_reply *r);
const char *reply_why(const pawl_reply *r);
void reply_status(pawl_reply *r, long status);          /* of an answer that is an error */
/* Append the receipt of a failure: {"attempts"?,"code","retry_after_ms"?,"status"?,"text","detail"?}; attempts 0: omitted. */
void reply_failure(const pawl_reply *r, pawl_code code, uint32_t attempts, buf *out);

/* ---- star.c -------------------------------------------------------------------------------------- */

/* Each place of the `size` bytes that is `secret` (NULL: none), in plain text, base64 or hex, becomes stars; the size stays. Returns how many there were;
 * without memory all of it is stars. */
size_t text_star(char *text, size_t size, const char *secret);

/* ---- delta.c ------------------------------------------------------------------------------------- */

const char *delta_name(const pawl_delta *d);    /* under which readers get it: "message", "tool_progress", or its own */
bool delta_valid(const pawl_delta *d);          /* of a kind that pawl_job_say takes, and UTF-8 */
void delta_json(buf *out, const pawl_delta *d); /* append its canonical JSON; of a custom one its bytes are that */
/* A delta of a "message" that was said as JSON; its bytes are of `v`. false: it is none of those kinds. */
bool delta_of_value(const pawl_value *v, pawl_delta *out);

/* ---- job.c: what jobs and arguments have in common ------------------------------------------------ */

enum {
    CANCEL_POLL_MS = 50,        /* interval at which a thread that waits for a job looks whether it is canceled */
    LATER_POLL_MS = 100,        /* interval of the loop: the engine tells it of a cancel at once, except when it is abandoned */
    HEARTBEAT_MS = 100          /* least interval between two heartbeats */
};

bool job_canceled(const pawl_job *job);
bool job_planned(const pawl_job *job);          /* the mode of its run has become plan */
void job_moved(const pawl_job *job, int64_t *last_ms);  /* sends a heartbeat, unless there was one just now */
/* The time by clock_ms at which the job must stop: its deadline or `timeout_ms` from now (0: none); INT64_MAX: never. *limit: the name of the limit that
 * ends it. */
int64_t job_until(const pawl_job *job, int64_t timeout_ms, const char **limit);

/* What an open request needs of its job. The first member of the structure that the request's `ctx` points to. */
typedef struct job_watch { const pawl_job *job; int64_t beat_ms; } job_watch;
struct net_request;
void request_watch(struct net_request *q, job_watch *w, const pawl_job *job);

/* Codes that replace two codes of a handler; 0: unchanged. */
typedef struct effect_codes { pawl_code effect, transient; } effect_codes;
pawl_code code_as(const effect_codes *as, pawl_code rc);
/* Announce that the job is answered later, by its finish(), if the caller of the handler supports that and gains by it (*later). Called first by a
 * handler, because it may move job->args. A cancel then makes the loop look at its jobs at once. Below 0: the code to return; `r` says that nothing was
 * done. When the handler has returned, `args` may be freed; the rest of the job stays valid. */
pawl_code answer_later(const pawl_job *job, pawl_reply *r, bool *later);

/* These report an error by the name of the argument, never by its value. */
pawl_code args_known(const pawl_job *job, pawl_reply *r, const char *const *names, size_t n);
/* A string without NUL; *out is unchanged if the argument is missing. */
pawl_code args_text(const pawl_job *job, pawl_reply *r, const char *name, const char **out);
pawl_code args_count(const pawl_job *job, pawl_reply *r, const char *name, int64_t most, int64_t *out);
pawl_code args_object(const pawl_job *job, pawl_reply *r, const char *name, const pawl_value **out);
bool text_whole(const pawl_value *v);   /* a string that contains no NUL */

/* ---- text.c --------------------------------------------------------------------------------------- */

/* Append `"NAME":"..."`, or `"NAME_base64":"..."` if it is not UTF-8. */
void text_member(buf *b, const char *name, const char *data, size_t size);
void text_ascii(char *data, size_t size);   /* replaces NUL by '?', and all bytes beyond ASCII if the text is not UTF-8 */
/* The length of a text that was cut at its end, or the start of one that was cut at its beginning, so that no character is incomplete. */
size_t cut_end(const char *data, size_t size);
size_t cut_begin(const char *data, size_t size);
/* The offset at which the last `lines` lines of `data` begin. */
size_t last_lines(const char *data, size_t size, unsigned lines);

/* ---- keys.c ------------------------------------------------------------------------------------------ */

/* The member "env" for a program that gets no key of a model and no secret of a run (NAME_API_KEY, PAWL_SECRET_NAME) except those in `names` (may be
 * NULL; ends in NULL): {NAME: null}. NULL: no memory. */
const pawl_value *env_keyless(arena *mem, const char *const *names);
/* `env` with {NAME: TEXT} of `more` (may be NULL), without its keys and secrets except those in `names`. NULL: no memory, or no `env`. */
const pawl_value *env_more(arena *mem, const pawl_value *env, const pawl_value *more, const char *const *names);

/* ---- http.c --------------------------------------------------------------------------------------- */

void http_forget(void);     /* closes idle connections; any thread */
pawl_code http_request(const pawl_job *job, pawl_reply *r, effect_codes as);    /* pawl_effect_http, with other codes */

/* ---- command.c --------------------------------------------------------------------------------------- */

struct sandbox;
/* pawl_effect_command in a sandbox (NULL: in none), with other codes. The caller closes the sandbox when this returns. */
pawl_code command_run(const pawl_job *job, pawl_reply *r, const struct sandbox *in, effect_codes as);
/* pawl_effect_command of a tool that may write: PAWL_DENIED when it was ended because the mode became plan. */
pawl_code command_until_plan(const pawl_job *job, pawl_reply *r);

/* ---- process.c ------------------------------------------------------------------------------------- */

typedef enum stopped_by { STOPPED_NOT, STOPPED_TIMEOUT, STOPPED_CANCEL, STOPPED_PLAN } stopped_by;

typedef struct process {
    /* in */
    const pawl_job *job;
    char **argv, **envp;
    const char *cwd;            /* NULL: that of the host */
    int third, fourth;          /* descriptors that the program gets as its 3 and 4 (spawn.h); 0: none */
    const int *groups;          /* ngroups control groups (cgroup.h) that it belongs to */
    size_t ngroups;
    bool until_plan;            /* it may write: it ends when the mode of its run becomes plan (P1) */
    bool confined;              /* it may not change what runs may do (spawn_is_confined) */
    const char *in;             /* NULL: /dev/null */
    size_t in_size;
    size_t output_bytes;        /* maximum kept of each stream */
    void (*heard)(void *ctx, const char *data, size_t size);    /* gets the output as it arrives; NULL: nobody */
    void (*began)(void *ctx);   /* called once the program was started, by process_run(); NULL: nothing */
    void *heard_ctx;            /* of both */
    bool joined;                /* stderr goes to the same place as stdout: `out` has the beginning of both, `err` the end of what is not in `out` */
    int64_t until_ms;           /* by clock_ms; INT64_MAX: no limit */
    const char *limit;          /* name of the limit */
    /* out */
    buf out, err;               /* the beginning of stdout, the end of stderr */
    bool out_cut, err_cut;      /* joined: err_cut says whether anything was lost */
    uint64_t said;              /* bytes that it wrote, with those that are not kept */
    stopped_by stopped;
    int status, signal;         /* signal 0: it exited by itself */
} process;

/* Run it to its end. PAWL_OK, also if it was stopped; PAWL_INVALID, PAWL_LIMIT, PAWL_TRANSIENT: it did not start; PAWL_UNKNOWN: its outcome cannot be
 * known. `err` begins with the program's name. */
pawl_code process_run(process *p, pawl_err *err);
/* The same without waiting. PAWL_PENDING: `done` will be called once, on the loop thread, with what process_run() would have returned; `p` and what it
 * refers to must be valid until then; `err` is lent for that call. Any other code: it did not start. A cancel is seen at once after io_poke(). */
typedef void process_done_fn(void *ctx, pawl_code rc, const pawl_err *err);
pawl_code process_start(process *p, process_done_fn *done, void *ctx, pawl_err *err);

/* ---- tool/opened.c ----------------------------------------------------------------------------------------- */

enum { TOOL_PATH_BYTES = 4096 };        /* of a path */
bool fd_path(int fd, char out[TOOL_PATH_BYTES]);       /* the path of an open file or folder now; false: it is not to be had */

/* ---- tool/registry.c: the built-in tools as they were ----------------------------------------------------- */

/* Their names, schemas and descriptions are part of an agent's machine: a run keeps the number of the set that it was begun with. */
enum { TOOLSET_FIRST = 1, TOOLSET_SEEN = 4, TOOLSET_NOW = 4 };
/* Adds all built-in tools of a set. As pawl_tools_add_builtin(). */
PAWL_MUST_USE pawl_code tools_add_set(pawl_tools *t, unsigned set, pawl_err *err);

/* What the program gives the model's commands beside their sandbox. */
typedef struct tools_beside {
    const char *const *keep;    /* absolute paths that none of them writes, wherever they lie: settings that act outside; ends in NULL; NULL: none */
    /* {NAME: TEXT}: variables of commands in that folder; NULL: none, or see err. Any thread. */
    const pawl_value *(*env)(void *ctx, arena *mem, const char *cwd, pawl_err *err);
    void *ctx;
} tools_beside;
void tools_beside_give(pawl_tools *t, const tools_beside *b);   /* before the first call; its lists are lent as long as the set */

#endif
