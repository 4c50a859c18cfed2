/* tell.c - one run tells another something, as a command: its child is interrupted, or its rights become less. */
#include "engine/engine.h"

#include <stdio.h>
#include <string.h>

static pawl_code tell_wrong(pawl_reply *reply)
{
    return pawl_reply_fail(reply, PAWL_INVALID, "tell: {\"run\"} and one of {\"signal\"} and {\"update\"} are needed");
}

/* The same however often it is tried: its delivery has the command's id. */
static pawl_code tells(const pawl_job *job, pawl_reply *reply, void *arg)
{
    pawl_engine *e = arg;
    const char *run = pawl_value_string(pawl_value_get(job->args, "run")), *signal = pawl_value_string(pawl_value_get(job->args, "signal"));
    const pawl_value *v = pawl_value_get(job->args, signal != NULL ? "value" : "update");
    pawl_delivery d = { .kind = signal != NULL ? PAWL_DELIVER_SIGNAL : PAWL_DELIVER_UPDATE, .name = signal, .by = "@parent" };
    pawl_err why = { PAWL_OK, "" };
    char id[ID_BYTES_MAX + 8];
    pawl_code rc;
    buf value;

    if (run == NULL || !run_id_valid(run) || (signal == NULL) != (pawl_value_get(job->args, "update") != NULL))
        return tell_wrong(reply);
    snprintf(id, sizeof id, "tell-%s", job->id);
    d.id = id;
    buf_init(&value, &e->alloc);
    if (v != NULL)
        canon(&value, v);
    d.value = (pawl_bytes){ value.data, value.size };
    pthread_mutex_lock(&e->lock);
    rc = value.failed ? PAWL_NOMEM : e->store->verbs->deliver(e->store, run, &d, &why);
    pthread_mutex_unlock(&e->lock);
    buf_free(&value);
    if (rc == PAWL_OK || rc == PAWL_GONE)       /* it is no more: nobody has to be told */
        return pawl_reply_json(reply, rc == PAWL_OK ? "true" : "false");
    return pawl_reply_fail(reply, rc == PAWL_IO || rc == PAWL_NOMEM || rc == PAWL_LIMIT ? PAWL_TRANSIENT : rc, "%s", why.text);
}

pawl_code pawl_engine_tell(pawl_engine *e, pawl_err *err)
{
    return e == NULL ? PAWL_INVALID : pawl_engine_effect(e, "tell", tells, e, PAWL_AT_LEAST_ONCE, err);
}
