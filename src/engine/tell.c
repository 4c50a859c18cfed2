/* tell.c - one run tells another something, as a command: its child is interrupted, or has other rights. */
#include "engine/errand.h"

#include <stdio.h>
#include <string.h>

typedef struct tell { const char *run, *signal; const pawl_value *v; } tell;

static bool tell_read(const pawl_value *args, tell *t)
{
    *t = (tell){ pawl_value_string(pawl_value_get(args, "run")), pawl_value_string(pawl_value_get(args, "signal")), pawl_value_get(args, "update") };
    if (t->run == NULL || !run_id_valid(t->run) || (t->signal == NULL) != (t->v != NULL))
        return false;
    t->v = t->signal != NULL ? pawl_value_get(args, "value") : t->v;
    return true;
}

/* The same however often it is left: it has the command's id. And the digest of what it says, for a command that was not stored may have had
 * that id before, and said another thing. */
static pawl_code tell_leave(pawl_store *s, const pawl_alloc *alloc, const char *command, const tell *t, pawl_err *err)
{
    pawl_delivery d = { .kind = t->signal != NULL ? PAWL_DELIVER_SIGNAL : PAWL_DELIVER_UPDATE, .name = t->signal, .by = "@parent" };
    char id[ID_BYTES_MAX + 32], hex[HASH_HEX + 1];
    pawl_code rc;
    buf value;
    hash h;

    buf_init(&value, alloc);
    if (t->v != NULL)
        canon(&value, t->v);
    hash_of(value.data, value.size, &h);
    hash_hex(&h, hex);
    snprintf(id, sizeof id, "tell-%s-%.16s", command, hex);
    d.id = id;
    d.value = (pawl_bytes){ value.data, value.size };
    rc = value.failed ? PAWL_NOMEM : s->verbs->deliver(s, t->run, &d, err);
    buf_free(&value);
    return rc;
}

pawl_code tell_left(pawl_store *s, const pawl_alloc *alloc, const pawl_job *job, pawl_reply *reply)
{
    pawl_err why = { PAWL_OK, "" };
    pawl_code rc;
    tell t;

    if (!tell_read(job->args, &t))
        return pawl_reply_fail(reply, PAWL_INVALID, "tell: {\"run\"} and one of {\"signal\"} and {\"update\"} are needed");
    rc = tell_leave(s, alloc, job->id, &t, &why);
    if (rc == PAWL_OK || rc == PAWL_GONE)       /* it is no more: nobody has to be told */
        return pawl_reply_json(reply, rc == PAWL_OK ? "true" : "false");
    return pawl_reply_fail(reply, rc == PAWL_IO || rc == PAWL_NOMEM || rc == PAWL_LIMIT ? PAWL_TRANSIENT : rc, "%s", why.text);
}

static pawl_code tells(const pawl_job *job, pawl_reply *reply, void *arg)
{
    pawl_engine *e = arg;
    pawl_code rc;

    pthread_mutex_lock(&e->lock);
    rc = tell_left(e->store, &e->alloc, job, reply);
    pthread_mutex_unlock(&e->lock);
    return rc;
}

/* ---- before it is stored --------------------------------------------------------------------------------------- */

static bool entry_calls(const pawl_entry *entry)
{
    const item *it = entry->items;

    while (it != NULL && it->kind != ITEM_CALL)
        it = it->next;
    return it != NULL;
}

/* One that nobody has begun is made first: what is left for it then is there before its start. */
static pawl_code tell_early(pawl_engine *e, live *r, const pawl_command *cmd)
{
    pawl_code rc;
    tell t;

    if (!tell_read(cmd->args, &t) || t.signal != NULL)
        return PAWL_OK;
    pthread_mutex_lock(&e->lock);
    if ((rc = tell_leave(e->store, &e->alloc, cmd->id, &t, NULL)) == PAWL_GONE && child_make(e, r, t.run))
        rc = tell_leave(e->store, &e->alloc, cmd->id, &t, NULL);
    pthread_mutex_unlock(&e->lock);
    e->left = e->left || rc == PAWL_OK;
    return rc == PAWL_IO || rc == PAWL_NOMEM ? rc : PAWL_OK;
}

/* What children may not do any more they are told before the step is stored by which their parent may not: so whatever they begin after it is
 * there they begin under it. Killed in between they have lost what the parent did not yet, and no harm is done. */
pawl_code tells_early(pawl_engine *e, live *r)
{
    const handler *h = entry_calls(pawl_step_entry(e->step)) && pawl_machine_effect(r->m, "tell", NULL) ? handler_of(e, "tell") : NULL;
    pawl_code rc = PAWL_OK;
    pawl_command cmd;

    for (size_t i = 0; h != NULL && h->fn == tells && rc == PAWL_OK && i < pawl_state_commands(r->st); i++)
        if (pawl_state_command(r->st, i, e->lent, &cmd, NULL, NULL) == PAWL_OK && cmd.effect != NULL && strcmp(cmd.effect, "tell") == 0)
            rc = tell_early(e, r, &cmd);
    return rc;
}

pawl_code pawl_engine_tell(pawl_engine *e, pawl_err *err)
{
    return e == NULL ? PAWL_INVALID : pawl_engine_effect(e, "tell", tells, e, PAWL_AT_LEAST_ONCE, err);
}
