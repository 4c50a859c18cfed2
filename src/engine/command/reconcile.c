/* reconcile.c - compares the outbox of a run with the open commands of its state: makes and drops entries.
 *
 * Called by drive.c, the scheduler, dispatch.c and the commit, on the driving thread, without a lock. Invariant: after outbox_reconcile() each open command
 * that is no timer has an entry, except when its secret is missing; each entry without an open command still runs, or its receipt waits to be stored. */
#include "engine/command/attempt.h"
#include "kernel/events.h"
#include "kernel/state.h"

#include <string.h>

/* The command is not open any more. Stops a running attempt, which is dropped when it returns; a receipt stays until it is stored. */
static void entry_close(pawl_engine *e, outbox_entry *entry)
{
    if (entry->state == ENTRY_FED || entry->state == ENTRY_UNWANTED)
        return;
    if (entry->state != ENTRY_DONE && entry->child == NULL)
        charge_unbilled(entry);
    if (entry->state == ENTRY_CHILD_STARTED)
        (void)child_cancel(e, entry);
    if (entry->state != ENTRY_RUNNING) {
        entry_remove(e, entry);
        return;
    }
    entry_stop(entry);
    if (later_drop(entry))
        entry_remove(e, entry);
    else
        entry_move(entry, ENTRY_UNWANTED);
}

static void outbox_sweep(pawl_engine *e, cached_run *r)
{
    for (unsigned s = 0; s < ENTRY_STATES; s++)
        OUTBOX_EACH(r, entry, next, s)
            if (entry->seen != r->outbox.reconciled)
                entry_close(e, entry);
}

void outbox_drop_leftovers(pawl_engine *e, cached_run *r, pawl_code next)
{
    if ((next != PAWL_HALTED && next != PAWL_INTERRUPTED) || r->outbox.index.count == 0)
        return;
    r->outbox.reconciled++;
    outbox_sweep(e, r);
}

void outbox_note_receipt(cached_run *r, const char *id)
{
    buf *b = &r->outbox.received;

    if (id == NULL || outbox_find(r, id) == NULL)
        return;
    buf_put(b, id, strlen(id) + 1);
    r->commands_moved = r->commands_moved || b->failed;
}

/* After the receipts are stored, since a fold that is undone opens the command again; and then at once, so that no attempt starts any more (E4). */
void outbox_stored(pawl_engine *e, cached_run *r)
{
    buf *b = &r->outbox.received;

    r->outbox.stored = r->outbox.orders;
    OUTBOX_EACH(r, entry, next, ENTRY_FED)
        entry_remove(e, entry);
    for (const char *id = b->data; b->size > 0 && id < b->data + b->size; id += strlen(id) + 1) {
        outbox_entry *entry = outbox_find(r, id);

        if (entry != NULL && !call_open(r->st, id))
            entry_close(e, entry);
    }
    buf_reset(b);
}

/* The number of an open command, or its id; NULL: the number counts. */
typedef struct which { const char *id; size_t i; } which;

/* The command with all references resolved, and its secrets. */
static pawl_code command_whole(pawl_engine *e, cached_run *r, which w, arena *mem, pawl_command *cmd, const pawl_value **secrets, pawl_err *err)
{
    pawl_err why = { PAWL_OK, "" };
    bool open;
    pawl_code rc = w.id != NULL ? state_command_named(r->st, w.id, e->look, cmd, secrets, &open, &why)
                                : pawl_state_command(r->st, w.i, e->look, cmd, secrets, &why);

    if (rc == PAWL_GONE)
        return args_as_of(e, r, cmd->id, mem, cmd, secrets, err);
    return rc == PAWL_OK ? rc : fail(err, rc, "%s", why.text);
}

/* Makes the entry with its arguments. Arguments that refer only to the run's own state stay there (lazy_args.c). */
static pawl_code entry_make_whole(pawl_engine *e, cached_run *r, which w, pawl_err *why, pawl_err *err)
{
    const pawl_value *secrets = NULL;
    bool missing = false;
    pawl_command cmd;
    arena mem;
    pawl_code rc;

    arena_init(&mem, &e->alloc, 1024);
    if ((rc = command_whole(e, r, w, &mem, &cmd, &secrets, err)) == PAWL_OK && cmd.kind == PAWL_COMMAND_SPAWN && secrets != NULL)
        rc = fail(err, PAWL_INVALID, "%s: a secret is no input of a child run: name it in the child's own channels", cmd.id);
    if (rc == PAWL_OK)
        rc = secrets_put(e, &mem, &cmd, secrets, &missing, why, err);
    if (rc == PAWL_OK && missing && !state_canceling(r->st))  /* a canceled command needs no secret */
        r->commands_moved = true;       /* the next pass asks for the secret again */
    else if (rc == PAWL_OK)
        rc = entry_make(e, r, &cmd, false, secrets, err);
    arena_free(&mem);
    return rc;
}

static pawl_code command_reconcile(pawl_engine *e, cached_run *r, which w, pawl_err *why, pawl_err *err)
{
    bool refers, open = true;
    pawl_command cmd;
    outbox_entry *entry;
    pawl_code rc = w.id != NULL ? state_command_bare_named(r->st, w.id, e->look, &cmd, &refers, &open, err)
                                : state_command_bare(r->st, w.i, e->look, &cmd, &refers, err);

    if (rc != PAWL_OK || !open || cmd.kind == PAWL_COMMAND_SLEEP)
        return rc;
    if ((entry = outbox_find(r, cmd.id)) != NULL) {
        entry->seen = r->outbox.reconciled;
        r->borrowed = r->borrowed || entry->args != ARGS_OWN;
        r->commands_moved = r->commands_moved || entry->state == ENTRY_FED;     /* open again: another entry is made when this receipt is stored */
        if (entry->state == ENTRY_UNWANTED)
            entry_move(entry, ENTRY_RUNNING);
        return PAWL_OK;
    }
    if (!refers || cmd.kind != PAWL_COMMAND_CALL)
        return entry_make_whole(e, r, w, why, err);
    r->borrowed = true;
    return entry_make(e, r, &cmd, true, NULL, err);
}

void outbox_note_made(cached_run *r, const char *id)
{
    buf *b = &r->outbox.made;

    if (r->commands_moved)
        return;                 /* all open commands are looked at anyway */
    buf_put(b, id, strlen(id) + 1);
    r->commands_moved = b->failed;
}

/* Entries for the commands that were made since the last comparison, when nothing else has changed: others may be open, and very many. */
static pawl_code made_reconcile(pawl_engine *e, cached_run *r, pawl_err *why, pawl_err *err)
{
    const buf *b = &r->outbox.made;
    pawl_code rc = PAWL_OK;

    for (const char *id = b->data; b->size > 0 && id < b->data + b->size && rc == PAWL_OK; id += strlen(id) + 1)
        rc = command_reconcile(e, r, (which){ .id = id }, why, err);
    return rc;
}

static pawl_code all_reconcile(pawl_engine *e, cached_run *r, pawl_err *why, pawl_err *err)
{
    pawl_code rc = PAWL_OK;

    r->commands_moved = false;
    r->outbox.reconciled++;
    for (size_t i = 0; i < pawl_state_commands(r->st) && rc == PAWL_OK; i++)
        rc = command_reconcile(e, r, (which){ .i = i }, why, err);
    return rc;
}

enum { CHECKED_COMMANDS_MAX = 256 };    /* the check looks at all of them */

/* For PAWL_ASSERT_SLOW: each open command that is no timer has an entry. */
static bool is_complete(pawl_engine *e, const cached_run *r)
{
    const size_t n = pawl_state_commands(r->st) <= CHECKED_COMMANDS_MAX ? pawl_state_commands(r->st) : 0;
    bool refers, good = true;
    pawl_command cmd;

    for (size_t i = 0; i < n && good; i++)
        good = state_command_bare(r->st, i, e->look, &cmd, &refers, NULL) != PAWL_OK || cmd.kind == PAWL_COMMAND_SLEEP || outbox_find(r, cmd.id) != NULL;
    return good;
}

pawl_code outbox_reconcile(pawl_engine *e, cached_run *r, pawl_err *why, pawl_err *err)
{
    const bool all = r->commands_moved;
    pawl_code rc;

    if (!commands_due(r))
        return counts_read(e, r, err);
    rc = all ? all_reconcile(e, r, why, err) : made_reconcile(e, r, why, err);
    buf_reset(&r->outbox.made);
    if (r->nlines == 0)
        r->outbox.stored = r->outbox.orders;
    if (rc != PAWL_OK)
        r->commands_moved = true;
    else if (all)
        outbox_sweep(e, r);
    PAWL_ASSERT_SLOW(rc != PAWL_OK || r->commands_moved || is_complete(e, r), "E1: an open command has an entry");
    return rc == PAWL_OK ? counts_read(e, r, err) : rc;
}

void handlers_find(const pawl_engine *e, cached_run *r)
{
    OUTBOX_EACH(r, entry, next, ENTRY_UNHANDLED)
        if ((entry->h = handler_of(e, entry->job.effect)) != NULL)
            entry_wait(entry);
}
