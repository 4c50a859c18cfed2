/* child_tell.c - the effect "tell": a run delivers an interrupt or changed rights to its child. For a graph the engine does so itself.
 *
 * tells() is the handler of the effect "tell", on any thread; the rest is called by run_feed.c and child.c on the driving thread. The store is used
 * under the engine's lock. */
#include "engine/child/child.h"
#include "engine/command/handler.h"
#include "engine/run/run.h"
#include "kernel/item.h"
#include "kernel/list.h"
#include "kernel/machine.h"
#include "kernel/names.h"
#include "kernel/rights.h"
#include "kernel/state.h"

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

/* The id of the delivery has the command's id, so that repeating it has no effect. It also has the digest of the value, since a command that was
 * never stored may have had the same id with another value. */
static pawl_code tell_deliver(pawl_store *s, const pawl_alloc *alloc, const char *command, const tell *t, pawl_err *err)
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

pawl_code tell_after_loss(pawl_store *s, const pawl_alloc *alloc, const pawl_job *job, pawl_reply *reply)
{
    pawl_err why = { PAWL_OK, "" };
    pawl_code rc;
    tell t;

    if (!tell_read(job->args, &t))
        return pawl_reply_fail(reply, PAWL_INVALID, "tell: {\"run\"} and one of {\"signal\"} and {\"update\"} are needed");
    rc = tell_deliver(s, alloc, job->id, &t, &why);
    if (rc == PAWL_OK || rc == PAWL_GONE)       /* PAWL_GONE: the child run was removed */
        return pawl_reply_json(reply, rc == PAWL_OK ? "true" : "false");
    return pawl_reply_fail(reply, rc == PAWL_IO || rc == PAWL_NOMEM || rc == PAWL_LIMIT ? PAWL_TRANSIENT : rc, "%s", why.text);
}

static pawl_code tell_perform(const pawl_job *job, pawl_reply *reply, void *arg)
{
    pawl_engine *e = arg;
    pawl_code rc;

    pthread_mutex_lock(&e->lock);
    rc = tell_after_loss(e->store, &e->alloc, job, reply);
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

/* Creates a child that does not exist, so that the delivery is in its mailbox before its start. */
static pawl_code child_update(pawl_engine *e, cached_run *r, const pawl_command *cmd)
{
    pawl_code rc;
    tell t;

    if (!tell_read(cmd->args, &t) || t.signal != NULL)
        return PAWL_OK;
    pthread_mutex_lock(&e->lock);
    if ((rc = tell_deliver(e->store, &e->alloc, cmd->id, &t, NULL)) == PAWL_GONE && child_reserve_named(e, r, t.run))
        rc = tell_deliver(e->store, &e->alloc, cmd->id, &t, NULL);
    pthread_mutex_unlock(&e->lock);
    e->delivered = e->delivered || rc == PAWL_OK;
    return rc == PAWL_IO || rc == PAWL_NOMEM ? rc : PAWL_OK;
}

/* Delivers reduced rights to the children before the step is stored, so that a child starts nothing under the old rights after the step. After a
 * crash in between, a child has fewer rights than its parent, which is safe. */
pawl_code children_update(pawl_engine *e, cached_run *r)
{
    const handler *h = entry_calls(pawl_step_entry(e->step)) && pawl_machine_effect(r->m, "tell", NULL) ? handler_of(e, "tell") : NULL;
    pawl_code rc = PAWL_OK;
    pawl_command cmd;

    for (size_t i = 0; h != NULL && h->fn == tell_perform && rc == PAWL_OK && i < pawl_state_commands(r->st); i++)
        if (pawl_state_command(r->st, i, e->lent, &cmd, NULL, NULL) == PAWL_OK && cmd.effect != NULL && strcmp(cmd.effect, "tell") == 0)
            rc = child_update(e, r, &cmd);
    return rc;
}

/* ---- for a run whose machine has no effect "tell": a graph ------------------------------------------------- */

static pawl_code right_deliver(pawl_engine *e, const char *command, const char *child, const char *name, const pawl_value *v)
{
    pawl_code rc;
    arena mem;

    arena_init(&mem, &e->alloc, 512);
    tell t = { .run = child, .v = v == NULL ? NULL : value_with(&mem, value_pack(&mem, NULL, "{}"), name, v) };
    pthread_mutex_lock(&e->lock);
    rc = t.v == NULL ? PAWL_NOMEM : tell_deliver(e->store, &e->alloc, command, &t, NULL);
    pthread_mutex_unlock(&e->lock);
    e->delivered = e->delivered || rc == PAWL_OK;
    arena_free(&mem);
    return rc;
}

/* An unknown mode counts as "default", as it does for nodes. */
static const char *mode_meant(const pawl_value *mode)
{
    const mode_rank rank = mode_ranked(pawl_value_string(mode));

    return mode_text(rank != RANK_NONE ? rank : RANK_DEFAULT);
}

/* In the form that agent/rights.c reads: a mode is the upper bound of the child's mode; rules have a number, the highest counts; grants as given. */
static pawl_code rights_deliver(pawl_engine *e, const char *command, const char *child, const pawl_value *update, int64_t n)
{
    const pawl_value *mode = pawl_value_get(update, "@mode"), *rules = pawl_value_get(update, "@policy"), *grants = pawl_value_get(update, "@grants");
    pawl_code rc = PAWL_OK;
    arena mem;

    arena_init(&mem, &e->alloc, 512);
    if (mode != NULL)
        rc = right_deliver(e, command, child, "@rights", value_pack(&mem, NULL, "s", mode_meant(mode)));
    if (rc == PAWL_OK && rules != NULL)
        rc = right_deliver(e, command, child, "@law", value_pack(&mem, NULL, "{s:i,s:v}", "n", n, "policy", rules));
    if (rc == PAWL_OK && grants != NULL)
        rc = right_deliver(e, command, child, "@grants", grants);
    arena_free(&mem);
    return rc;
}

/* Pending updates of a superstep are numbered in their order; an update that is merged at once has a number above those of the entry before. */
static int64_t number_pending(const pawl_state *st, size_t i) { return (int64_t)((st->seq + 1) << 20) + (int64_t)i + 1; }
static int64_t number_merged(const pawl_state *st) { return (int64_t)((st->seq + 1) << 20) - 1; }

static bool passes_on(const cached_run *r) { return !pawl_machine_effect(r->m, "tell", NULL); }

/* Whether the machine has a channel for rights; true for a machine that this engine does not have. */
static bool has_rights(const pawl_engine *e, const char *machine)
{
    const pawl_machine *m = machine_named(e, machine);

    return m == NULL || machine_channel_find(m, "", "@rights") != NULL;
}

/* The last update of rights in the entry; NULL: none. */
static const pawl_value *rights_in(const pawl_entry *entry)
{
    const pawl_value *v, *out = NULL;

    for (const item *it = entry->items; it != NULL; it = it->next) {
        v = it->kind == ITEM_UPDATE ? it->value : it->kind == ITEM_ANSWER ? pawl_value_get(it->more, "update") : NULL;
        if (pawl_value_get(v, "@mode") != NULL || pawl_value_get(v, "@policy") != NULL || pawl_value_get(v, "@grants") != NULL)
            out = v;
    }
    return out;
}

pawl_code rights_before_commit(pawl_engine *e, cached_run *r)
{
    const pawl_value *update = r->st->commands > 0 && passes_on(r) ? rights_in(pawl_step_entry(e->step)) : NULL;
    const size_t pending = r->st->pending != NULL ? pawl_value_size(list_value(r->st->pending)) : 0;
    pawl_code rc = PAWL_OK;
    pawl_command cmd;
    const char *child;
    bool refers;
    arena mem;

    arena_init(&mem, &e->alloc, 512);
    for (size_t i = 0; update != NULL && rc == PAWL_OK && i < pawl_state_commands(r->st); i++) {
        if ((rc = state_command_bare(r->st, i, e->lent, &cmd, &refers, NULL)) != PAWL_OK || cmd.kind != PAWL_COMMAND_SPAWN || !has_rights(e, cmd.effect))
            continue;
        if ((child = child_name(&mem, cmd.id, cmd.child)) == NULL)
            rc = PAWL_NOMEM;
        else
            rc = rights_deliver(e, cmd.id, child, update, pending > 0 ? number_pending(r->st, pending - 1) : number_merged(r->st));
        rc = rc == PAWL_GONE || rc == PAWL_CONFLICT ? PAWL_OK : rc;     /* no child yet: its start brings them */
    }
    arena_free(&mem);
    return rc == PAWL_OK || rc == PAWL_NOMEM ? rc : PAWL_IO;
}

pawl_code rights_before_start(pawl_engine *e, cached_run *r, const outbox_entry *entry)
{
    pawl_iter it = pawl_iter_of(r->st->pending != NULL && passes_on(r) && has_rights(e, entry_effect(entry)) ? list_value(r->st->pending) : NULL);
    const pawl_value *update;
    pawl_code rc = PAWL_OK;

    for (size_t i = 0; rc == PAWL_OK && (update = pawl_iter_next(&it, NULL)) != NULL; i++)
        rc = rights_deliver(e, entry_id(entry), entry_child(entry), update, number_pending(r->st, i));
    return rc == PAWL_CONFLICT ? PAWL_OK : rc;
}

pawl_code pawl_engine_add_tell(pawl_engine *e, pawl_err *err)
{
    return e == NULL ? PAWL_INVALID : pawl_engine_effect(e, "tell", tell_perform, e, PAWL_CLASS_AT_LEAST_ONCE, err);
}
