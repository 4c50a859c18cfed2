/* jobs.h - jobs that workers elsewhere perform (E17): a queue between the engines of this process, whose handlers put commands in, and a server, which gives
 * them out under leases.
 *
 * A job is one attempt at one command. Its handler has returned and holds no thread; the attempt ends with the reply of the worker that has the lease, or
 * when the lease ends. Nothing is stored here: after a crash the engine decides by the class of the command (E4, E5). Any thread, but for jobs_new and
 * jobs_free. */
#ifndef APP_JOBS_H
#define APP_JOBS_H

#include "json/json.h"
#include "pawl/engine.h"

enum {
    JOB_ID_BYTES = 33, JOB_TOKEN_BYTES = 33,    /* hex digits, NUL */
    JOB_RUN_BYTES = 129,
    JOBS_NAMES_MAX = 16,        /* of one filter */
    JOBS_PLACES = 1000          /* attempts of one effect in an engine that are queued or given out */
};

typedef struct jobs jobs;

jobs *jobs_new(void);           /* NULL: no memory */
/* `came`: called on any thread, under locks, when a job came or has to end: it only wakes somebody, who calls jobs_look and gives jobs out. */
void jobs_hear(jobs *j, void (*came)(void *ctx), void *ctx);    /* NULL: nobody listens any more */
void jobs_free(jobs *j);        /* after every engine whose handlers have it; NULL: nothing */

/* ---- for handlers ------------------------------------------------------------------------------------------- */

/* Puts `job` in the queue as one of `name`. What a handler returns. */
pawl_code jobs_put(jobs *j, const char *name, pawl_class cls, const pawl_job *job, pawl_reply *reply);

/* ---- for a server ------------------------------------------------------------------------------------------- */

typedef struct jobs_filter {
    const char *names[JOBS_NAMES_MAX];
    size_t nnames;
    unsigned classes;           /* bits by pawl_class; 0: all */
} jobs_filter;

/* The oldest queued job after `*serial` (0: the first) that fits: its serial and its run. False: there is none. */
bool jobs_next(jobs *j, const jobs_filter *f, uint64_t *serial, char run[JOB_RUN_BYTES]);
/* Gives it to `by` for `lease_ms`, and writes what the worker gets as JSON. False: it is gone meanwhile, or no memory. */
bool jobs_lease(jobs *j, uint64_t serial, const char *by, int64_t lease_ms, buf *out);
size_t jobs_out(jobs *j, const char *by);       /* how many `by` has; NULL: everybody */
bool jobs_any(jobs *j);         /* queued or given out */

/* What a worker gives with its request; `by` is who asks. PAWL_FENCED: the job has ended, the lease has, or it is another's. */
typedef struct job_claim { const char *id, *token, *by; } job_claim;
/* Extends the lease by its length, and is a heartbeat of the command. *canceled: the worker should stop, and reply. */
PAWL_MUST_USE pawl_code jobs_beat(jobs *j, const job_claim *c, int64_t *lease_ms, bool *canceled, pawl_err *err);
/* Ends the job. `key`: the Idempotency-Key, NULL: none; `body` stands for what was asked. The same key for the same job again is PAWL_OK if `body` is the
 * same, else PAWL_CONFLICT. Of `r`, id, attempt and fence are not read. */
PAWL_MUST_USE pawl_code jobs_reply(jobs *j, const job_claim *c, const pawl_result *r, const char *key, const hash *body, pawl_err *err);

/* Ends what must end now: leases that are over, and jobs that were called off and that nobody has. */
void jobs_look(jobs *j);
void jobs_drain(jobs *j);       /* nothing is given out any more: what is queued goes back to the engine, as if it had never been here */
void jobs_end(jobs *j);         /* so does what is given out, whose workers are not heard any more; what comes later goes back at once */

#endif
