/* child.c - starts the child run of a spawn command (E11).
 *
 * The child's id and life follow from the invocation id, so the child is created once even when two engines try. It has the rights of its parent.
 * Called by dispatch.c on the driving thread; the store is used under the engine's lock. */
#include "engine/child/child.h"
#include "engine/command/handler.h"
#include "engine/command/outbox.h"
#include "engine/run/record_rights.h"
#include "engine/run/run.h"
#include "kernel/machine.h"
#include "kernel/rights.h"
#include "kernel/state.h"

#include <stdio.h>
#include <string.h>

bool children_open(const cached_run *r)
{
    return outbox_count(&r->outbox, ENTRIES_CHILD) > 0;
}

static pawl_code start_deliver(pawl_engine *e, const char *child, const buf *input, pawl_err *err)
{
    pawl_delivery d = { .id = "start", .kind = PAWL_DELIVER_START, .value = { input->data, input->size } };
    pawl_code rc;

    pthread_mutex_lock(&e->lock);
    rc = e->store->verbs->deliver(e->store, child, &d, err);
    pthread_mutex_unlock(&e->lock);
    e->delivered = true;
    return rc;
}

/* Delivers the start, and before it the rights, which may have changed since the command was made. */
static pawl_code child_start(pawl_engine *e, cached_run *r, const outbox_entry *entry, const buf *input, pawl_err *err)
{
    const pawl_code rc = rights_before_start(e, r, entry);

    return rc == PAWL_OK ? start_deliver(e, entry_child(entry), input, err) : fail(err, rc, "%s: its rights could not be delivered", entry_child(entry));
}

/* Creates the child run. When its machine refuses the start, the error becomes the receipt, and no run is created. */
static pawl_code child_create(pawl_engine *e, cached_run *r, outbox_entry *entry, const pawl_machine *m, const buf *input, pawl_err *err)
{
    pawl_err why = { PAWL_OK, "" };
    const int64_t now = engine_now(e);
    pawl_run_info info;
    pawl_state *st = NULL;
    pawl_code rc = pawl_state_info(r->st, e->look, &info, err);

    if (rc != PAWL_OK)
        return rc;
    if (charge_time_is_spent(r, now, &why)) {
        entry_refuse(e, entry, PAWL_LIMIT, why.text);
        return PAWL_OK;
    }
    info_of_child(&info, entry, now);
    if (machine_channel_find(r->m, "", "@mode") != NULL)
        info.mode = info.rights = mode_text(run_mode(r->st, true));
    if (child_approval_ends(e, entry, &rc, err) || rc != PAWL_OK)
        return rc;
    if ((rc = pawl_state_new(m, &info, 0, NULL, &st, &why)) == PAWL_OK)
        rc = start_try(m, st, (pawl_bytes){ input->data, input->size }, now, e->step, &why);
    if (rc == PAWL_NOMEM || rc == PAWL_IO)
        fail(err, rc, "%s", why.text);
    else if (rc < 0)
        entry_refuse(e, entry, rc, why.text);
    if (rc >= 0) {
        pthread_mutex_lock(&e->lock);
        rc = e->store->verbs->create(e->store, pawl_state_base(st), NULL, &why);
        pthread_mutex_unlock(&e->lock);
        if (rc != PAWL_OK && rc != PAWL_CONFLICT)       /* another engine created the child first: the next pass finds it */
            fail(err, rc, "%s", why.text);
        if (rc == PAWL_OK)
            rc = child_start(e, r, entry, input, err);
        if (rc == PAWL_OK)
            entry_child_started(entry);
    }
    pawl_state_free(st);
    return rc == PAWL_CONFLICT || entry_state_of(entry) == ENTRY_DONE ? PAWL_OK : rc;
}

/* A run of that id exists; perhaps it was not started. */
static pawl_code child_found(pawl_engine *e, cached_run *r, outbox_entry *entry, const pawl_head *head, bool mine, const buf *input, pawl_err *err)
{
    char text[2 * CHILD_NAME_BYTES + 64];
    pawl_code rc = PAWL_OK;

    if (!mine) {
        snprintf(text, sizeof text, "%s: a run of that id exists, and is no child of this run", entry_child(entry));
        entry_refuse(e, entry, PAWL_CONFLICT, text);
        return PAWL_OK;
    }
    if (head->seq == 0 && !head->over && (child_approval_ends(e, entry, &rc, err) || rc != PAWL_OK))
        return rc;
    if (head->seq == 0 && !head->over)      /* the start may be in its mailbox already: a repeated delivery counts once */
        rc = child_start(e, r, entry, input, err);
    else if (!head->over && (rc = rights_before_start(e, r, entry)) != PAWL_OK)   /* the engine that started the child may not have had these rights */
        fail(err, rc, "%s: its rights could not be delivered", entry_child(entry));
    if (rc == PAWL_OK)
        entry_child_started(entry);
    return rc;
}

static pawl_code child_begin(pawl_engine *e, cached_run *r, outbox_entry *entry, pawl_err *why, pawl_err *err)
{
    const pawl_machine *m = machine_named(e, entry_effect(entry));
    pawl_head head;
    bool mine;
    buf input;
    pawl_code rc;

    buf_init(&input, &e->alloc);
    if (entry_args_of(entry) != NULL && pawl_value_type(entry_args_of(entry)) != PAWL_TYPE_NULL)
        canon(&input, entry_args_of(entry));
    pthread_mutex_lock(&e->lock);
    rc = input.failed ? PAWL_NOMEM : e->store->verbs->head(e->store, entry_child(entry), &head, NULL);
    mine = rc == PAWL_OK && head.parent != NULL && strcmp(head.parent, entry_id(entry)) == 0;
    pthread_mutex_unlock(&e->lock);
    if (rc == PAWL_OK)
        rc = child_found(e, r, entry, &head, mine, &input, err);
    else if (rc == PAWL_GONE && m == NULL)
        rc = (fail(why, PAWL_PENDING, "%s: no machine \"%s\" here for a child run", entry_id(entry), entry_effect(entry)), PAWL_OK);
    else if (rc == PAWL_GONE)
        rc = child_create(e, r, entry, m, &input, err);
    else
        fail(err, rc, "%s: the head of its child %s cannot be read from the store", r->id, entry_child(entry));
    buf_free(&input);
    return rc;
}

pawl_code children_begin(pawl_engine *e, cached_run *r, pawl_err *why, pawl_err *err)
{
    outbox_entry *entry = state_canceling(r->st) ? NULL : outbox_first(&r->outbox, ENTRY_CHILD_NEW), *next;
    pawl_code rc = PAWL_OK;

    for (; entry != NULL && rc == PAWL_OK; entry = next) {
        next = entry_next(entry);
        rc = child_begin(e, r, entry, why, err);
    }
    return rc;
}

/* Whether the child can go on, by its head in the store, since another engine may hold its lease. */
static bool child_stands(pawl_engine *e, const char *child)
{
    pawl_head head;
    bool stands;

    pthread_mutex_lock(&e->lock);
    stands = e->store->verbs->head(e->store, child, &head, NULL) == PAWL_OK && !head.over && head.waits == 0;
    pthread_mutex_unlock(&e->lock);
    return stands;
}

static void command_why(pawl_engine *e, const pawl_command *cmd, pawl_err *why);

static void child_why(pawl_engine *e, const char *child, const pawl_command *cmd, pawl_err *why)
{
    cached_run *r = cached_run_find(e, child);
    size_t n = r != NULL && r->st != NULL ? pawl_state_commands(r->st) : 0;
    pawl_command of;

    if (!child_stands(e, child))
        return;
    if (machine_named(e, cmd->effect) == NULL)
        fail(why, PAWL_PENDING, "%s: no machine \"%s\" here for a child run", cmd->id, cmd->effect);
    for (size_t i = 0; i < n && why->code == PAWL_OK; i++)
        if (pawl_state_command(r->st, i, e->look, &of, NULL, NULL) == PAWL_OK)
            command_why(e, &of, why);
}

static void command_why(pawl_engine *e, const pawl_command *cmd, pawl_err *why)
{
    arena mem;
    const char *child;

    if (cmd->kind == PAWL_COMMAND_CALL && handler_of(e, cmd->effect) == NULL)
        fail(why, PAWL_PENDING, "%s: no handler for effect \"%s\"", cmd->id, cmd->effect);
    if (cmd->kind != PAWL_COMMAND_SPAWN)
        return;
    arena_init(&mem, &e->alloc, 0);
    if ((child = child_name(&mem, cmd->id, cmd->child)) != NULL)
        child_why(e, child, cmd, why);
    arena_free(&mem);
}

void children_why(pawl_engine *e, const cached_run *r, pawl_err *why)
{
    static const entry_state started[] = { ENTRY_CHILD_STARTED, ENTRY_CHILD_RELEASED };

    for (size_t i = 0; i < sizeof started / sizeof *started; i++)
        for (const outbox_entry *entry = outbox_first(&r->outbox, started[i]); entry != NULL && why->code == PAWL_OK; entry = entry_next(entry))
            child_why(e, entry_child(entry), &(pawl_command){ .id = entry_id(entry), .kind = PAWL_COMMAND_SPAWN, .effect = entry_effect(entry) }, why);
}
