/* job.c - what handlers need of their job: cancel, deadline, heartbeat, answering later; and reading arguments.
 *
 * Called by every handler, on the handler's thread or the loop's. Owns nothing. */
#include "effect/effect.h"
#include "net/io_loop.h"
#include "net/net.h"

bool job_canceled(const pawl_job *job)
{
    return job->canceled != NULL && job->canceled(job);
}

bool job_planned(const pawl_job *job) { return job->planned != NULL && job->planned(job); }

void job_moved(const pawl_job *job, int64_t *last_ms)
{
    int64_t now = clock_ms();

    if (job->heartbeat == NULL || now - *last_ms < HEARTBEAT_MS)
        return;
    *last_ms = now;
    job->heartbeat(job);
}

static bool request_stops(void *ctx)
{
    return job_canceled(((const job_watch *)ctx)->job);
}

static void request_moved(void *ctx)
{
    job_watch *w = ctx;

    job_moved(w->job, &w->beat_ms);
}

void request_watch(net_request *q, job_watch *w, const pawl_job *job)
{
    *w = (job_watch){ .job = job };
    q->ctx = w;
    q->moved = request_moved;
    q->stop_fd = job->cancel_fd;
    if (job->canceled == NULL)
        return;
    q->stop = request_stops;
    q->poll_ms = job->later != NULL ? LATER_POLL_MS : CANCEL_POLL_MS;
}

pawl_code code_as(const effect_codes *as, pawl_code rc)
{
    if (rc == PAWL_EFFECT && as->effect != PAWL_OK)
        return as->effect;
    return rc == PAWL_TRANSIENT && as->transient != PAWL_OK ? as->transient : rc;
}

/* Called by the engine under its locks, so it only wakes the loop, which then asks canceled() of each job. */
static void on_stop(void *ctx, const char *id)
{
    (void)ctx;
    (void)id;
    io_poke();
}

pawl_code answer_later(const pawl_job *job, pawl_reply *r, bool *later)
{
    pawl_code rc;

    *later = job->later != NULL && !job->alone;
    if (!*later || (rc = job->later(job, on_stop, NULL)) == PAWL_OK)
        return PAWL_OK;
    pawl_reply_untouched(r);
    return pawl_reply_fail(r, rc, rc == PAWL_CANCELED ? "%s: canceled before it began" : "%s: no memory to answer it later", job->effect);
}

int64_t job_until(const pawl_job *job, int64_t timeout_ms, const char **limit)
{
    int64_t now = clock_ms(), until = timeout_ms > 0 ? now + timeout_ms : INT64_MAX;

    *limit = "its timeout_ms";
    if (job->deadline_ms > 0) {
        int64_t left = job->deadline_ms - epoch_ms();

        if (left < until - now) {
            until = now + (left > 0 ? left : 0);
            *limit = "the time of this attempt";
        }
    }
    return until;
}

/* ---- arguments ------------------------------------------------------------------------------------- */

pawl_code args_known(const pawl_job *job, pawl_reply *r, const char *const *names, size_t n)
{
    pawl_iter it = pawl_iter_of(job->args);
    const pawl_value *key;
    char hint[96];

    if (pawl_value_type(job->args) != PAWL_TYPE_OBJECT)
        return pawl_reply_fail(r, PAWL_INVALID, "%s: its arguments are no object", job->effect);
    while (pawl_iter_next(&it, &key) != NULL) {
        const char *name = pawl_value_string(key);
        size_t i = 0;

        while (i < n && strcmp(names[i], name) != 0)
            i++;
        if (i == n)
            return pawl_reply_fail(r, PAWL_INVALID, "%s: no argument \"%s\"%s", job->effect, name,
                                   did_you_mean(hint, sizeof hint, name, names, n));
    }
    return PAWL_OK;
}

bool text_whole(const pawl_value *v)
{
    const char *text = pawl_value_string(v);

    return text != NULL && strlen(text) == pawl_value_size(v);
}

pawl_code args_text(const pawl_job *job, pawl_reply *r, const char *name, const char **out)
{
    const pawl_value *v = pawl_value_get(job->args, name);

    if (v == NULL)
        return PAWL_OK;
    if (!text_whole(v))
        return pawl_reply_fail(r, PAWL_INVALID, "%s: \"%s\" is no string, or holds NUL", job->effect, name);
    *out = pawl_value_string(v);
    return PAWL_OK;
}

pawl_code args_count(const pawl_job *job, pawl_reply *r, const char *name, int64_t most, int64_t *out)
{
    const pawl_value *v = pawl_value_get(job->args, name);

    if (v == NULL)
        return PAWL_OK;
    if (pawl_value_type(v) != PAWL_TYPE_INT || pawl_value_uint(v) > (uint64_t)most || pawl_value_int(v) < 0)
        return pawl_reply_fail(r, PAWL_INVALID, "%s: \"%s\" is no whole number from 0 to %lld", job->effect, name, (long long)most);
    *out = pawl_value_int(v);
    return PAWL_OK;
}

pawl_code args_object(const pawl_job *job, pawl_reply *r, const char *name, const pawl_value **out)
{
    const pawl_value *v = pawl_value_get(job->args, name);

    if (v == NULL)
        return PAWL_OK;
    if (pawl_value_type(v) != PAWL_TYPE_OBJECT)
        return pawl_reply_fail(r, PAWL_INVALID, "%s: \"%s\" is no object", job->effect, name);
    *out = v;
    return PAWL_OK;
}
