/* child_end.c - delivers the end of a child run to its parent, as the receipt of the spawn command (E11).
 *
 * Until the end is delivered, the child is due like a run with a timer, so that no crash in between keeps the parent waiting. Called by drive.c and
 * the scheduler, on the driving thread; the store is used under the engine's lock. */
#include "engine/child/child.h"
#include "engine/command/outbox.h"
#include "engine/run/run.h"
#include "kernel/machine.h"
#include "kernel/state.h"

#include <stdio.h>
#include <string.h>

bool child_must_notify(const cached_run *r)
{
    return r->st != NULL && r->st->parent != NULL && !r->parent_notified && pawl_status_terminal((pawl_status)r->st->status);
}

bool child_was_notified(const cached_run *r)
{
    return r->st->parent != NULL && run_has_ended(r) && r->parent_notified && r->wake_ms == PARENT_UNNOTIFIED_MS;
}

void child_end_came(const cached_run *r, const pawl_delivery *d)
{
    outbox_entry *entry = strncmp(d->id, "end-", 4) == 0 ? outbox_find(r, d->name) : NULL;

    if (entry != NULL && (ENTRY_IN(entry_state_of(entry)) & ENTRIES_CHILD) != 0)
        entry_child_released(entry);
}

static void end_error(const cached_run *r, const char *code, const char *text, buf *out)
{
    buf_text(out, "{\"code\":");
    canon_string(out, code, strlen(code));
    buf_fmt(out, ",\"run\":\"%s\",\"status\":\"%s\",\"text\":", r->id, pawl_status_name(pawl_state_status(r->st)));
    canon_string(out, text, strlen(text));
    buf_char(out, '}');
}

/* The value of the receipt. Of a completed child: the channel that its machine names as output, else all channels. Else the reason of its end. */
static pawl_outcome end_value(pawl_engine *e, cached_run *r, buf *out)
{
    pawl_status status = pawl_state_status(r->st);
    const pawl_value *why = pawl_state_reason(r->st);
    const char *text = pawl_value_string(pawl_value_get(why, "text")), *code = pawl_value_string(pawl_value_get(why, "code"));

    if (status == PAWL_STATUS_COMPLETED && r->m != NULL && r->m->output != NULL) {
        const pawl_value *v = pawl_state_get(r->st, r->m->output);

        if (v != NULL)
            canon(out, v);
        else
            buf_text(out, "null");
        return PAWL_OUTCOME_DONE;
    }
    if (status == PAWL_STATUS_COMPLETED) {
        const char *json = pawl_state_json(r->st, e->look, NULL);

        out->failed = out->failed || json == NULL;
        buf_text(out, json != NULL ? json : "");
        return PAWL_OUTCOME_DONE;
    }
    code = code != NULL ? code : pawl_code_name(status == PAWL_STATUS_CANCELED ? PAWL_CANCELED : PAWL_EFFECT);
    end_error(r, code, text != NULL ? text : pawl_status_name(status), out);
    return status == PAWL_STATUS_CANCELED ? PAWL_OUTCOME_CANCELED : PAWL_OUTCOME_ERROR;
}

static pawl_code end_deliver(pawl_engine *e, const char *parent, pawl_delivery *d, const buf *value, pawl_err *err)
{
    pawl_code rc;

    d->value = (pawl_bytes){ value->data, value->size };
    pthread_mutex_lock(&e->lock);
    rc = value->failed ? PAWL_NOMEM : e->store->verbs->deliver(e->store, parent, d, err);
    pthread_mutex_unlock(&e->lock);
    return rc;
}

pawl_code child_notify(pawl_engine *e, cached_run *r, pawl_err *err)
{
    pawl_err why = { PAWL_OK, "" };
    char id[CHILD_NAME_BYTES + 32], parent[CHILD_NAME_BYTES];
    pawl_delivery d = { .id = id, .kind = PAWL_DELIVER_RECEIPT, .name = r->st->parent };
    size_t n = strcspn(r->st->parent, "~");
    pawl_code rc;
    buf value, usage;

    if (n >= sizeof parent || r->st->parent[n] == '\0') {
        r->parent_notified = true;     /* the parent in the record was set by hand: no command waits for this child */
        return PAWL_OK;
    }
    memcpy(parent, r->st->parent, n);
    parent[n] = '\0';
    snprintf(id, sizeof id, "end-%s~%016llx", r->id, (unsigned long long)r->st->life);
    buf_init(&value, &e->alloc);
    buf_init(&usage, &e->alloc);
    d.outcome = (int)end_value(e, r, &value);
    cost_of_run(r, &usage);
    d.update = (pawl_bytes){ usage.data, usage.size };
    value.failed = value.failed || usage.failed;
    if ((rc = end_deliver(e, parent, &d, &value, &why)) == PAWL_INVALID) {    /* the output is nested too deep for a channel: the error becomes the receipt */
        buf_reset(&value);
        end_error(r, pawl_code_name(PAWL_LIMIT), why.text, &value);
        d.outcome = PAWL_OUTCOME_ERROR;
        rc = end_deliver(e, parent, &d, &value, NULL);
    }
    buf_free(&value);
    buf_free(&usage);
    if (rc == PAWL_GONE || rc == PAWL_CONFLICT || rc == PAWL_INVALID)
        rc = PAWL_OK;           /* the parent was removed, or has the delivery already */
    r->parent_notified = rc == PAWL_OK;
    e->delivered = e->delivered || rc == PAWL_OK;
    return rc == PAWL_OK || why.code == PAWL_OK ? rc : fail(err, rc, "%s", why.text);
}
