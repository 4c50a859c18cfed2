/* outbox.c - the outbox of a run: entries are made for its open commands, and dropped when those are over.
 *
 * Called by dispatch.c, by the drive loop and by the scheduler, on the driving thread, without a lock; stop_asked(), beat() and say() are
 * called by handlers, on their threads. Its entries meet the invariants O1 to O5 of entry.c. */
#include "engine/command/attempt.h"
#include "engine/run/stream_ring.h"

#include <string.h>

/* ---- freed ---------------------------------------------------------------------------------------------------- */

void entry_free(pawl_engine *e, outbox_entry *entry)
{
    stream_ring *h = ring_here(e);

    if (h != NULL && entry->job.id != NULL)
        ring_command_over(h, entry);
    budget_leave(e, entry);
    reply_free(&entry->reply);
    buf_free(&entry->cost.usage);
    buf_free(&entry->output);
    arena_free(&entry->mem);
    mem_free(&e->alloc, entry, sizeof *entry);
}

void entry_remove(pawl_engine *e, outbox_entry *entry)
{
    budget_leave(e, entry);
    outbox_take_out(entry);
    entry_free(e, entry);
}

void outbox_free(pawl_engine *e, cached_run *r)
{
    for (unsigned s = 0; s < ENTRY_STATES; s++)
        OUTBOX_EACH(r, entry, next, s) {
            entry->attempt.stop = true;
            if (!entry_is(entry, ENTRIES_RUNNING) || later_drop(entry)) {
                entry_remove(e, entry);
                continue;
            }
            outbox_take_out(entry);
            entry_move(entry, ENTRY_STRAY);
        }
    buf_reset(&r->outbox.received);
    mem_free(&e->alloc, r->outbox.index, r->outbox.index_cap * sizeof *r->outbox.index);
    r->outbox.index = NULL;
    r->outbox.index_cap = 0;
}

/* Nothing has happened with them: they are made again when somebody looks at the run again. */
void outbox_forget(pawl_engine *e, cached_run *r)
{
    const uint32_t may_go = ENTRIES_CALL_WAITS & ~ENTRY_IN(ENTRY_QUEUED);

    if (outbox_count(&r->outbox, ~may_go) > 0)
        return;
    for (unsigned s = 0; s < ENTRY_STATES; s++)
        OUTBOX_EACH(r, entry, next, s)
            if (entry->place.key != NULL || entry->job.attempt > 0 || entry->first_ms > 0 || entry->resolution == RESOLUTION_ASKING)
                return;
    if (r->outbox.count > 0)
        r->commands_moved = true;
    outbox_free(e, r);
}

/* ---- budgets, seen from a run ------------------------------------------------------------------------------------ */

void outbox_unqueue(pawl_engine *e, cached_run *r)
{
    OUTBOX_EACH(r, queued, next, ENTRY_QUEUED)
        budget_leave(e, queued);
    OUTBOX_EACH(r, granted, following, ENTRY_GRANTED)
        budget_leave(e, granted);
}

void outbox_postpone(pawl_engine *e, cached_run *r, int64_t now)
{
    OUTBOX_EACH(r, entry, next, ENTRY_QUEUED) {
        entry->not_before_ms = budget_guess(entry, now);
        budget_leave(e, entry);
        entry_wait(entry);
    }
}

/* ---- stopped ----------------------------------------------------------------------------------------------------- */

void attempt_stop(outbox_entry *entry)
{
    if (entry->attempt.stop_ms == 0)
        entry->attempt.stop_ms = steady_ms();
    entry->attempt.stop = true;
    if (entry_is(entry, ENTRIES_RUNNING))
        later_stop(entry);
}

void entry_stop(outbox_entry *entry)
{
    attempt_stop(entry);
    entry->run->outbox.stops = true;
}

/* On the lease thread: the entry's own thread, which drives, is in its handler. */
void entry_stop_here(outbox_entry *entry, const char *exceeded, bool lease_lost)
{
    if (exceeded != NULL)
        entry->attempt.exceeded = exceeded;
    if (lease_lost)
        entry->attempt.lease_lost = true;
    attempt_stop(entry);
}

void outbox_stop_all(cached_run *r)
{
    for (unsigned s = 0; s < ENTRY_STATES; s++)
        OUTBOX_EACH(r, entry, next, s)
            entry_stop(entry);
}

void outbox_stop_unstarted(cached_run *r)
{
    static const entry_state out[] = { ENTRY_RUNNING, ENTRY_UNWANTED };

    for (size_t i = 0; i < sizeof out / sizeof *out; i++)
        OUTBOX_EACH(r, entry, next, out[i])
            if (entry->attempt.called_ms == 0)
                entry_stop(entry);
}

/* The next holder counts on from what the store has, and takes back what it did not begin: what was read before is no longer true (E13). */
static void attempts_forget(outbox_entry *entry)
{
    count_clear(entry);
    if (!attempt_is_counted(entry))
        return;
    entry->job.attempt = entry->cleared;
    entry->first_ms = entry->not_before_ms = 0;
    entry->in_doubt = false;
    entry_wait(entry);
}

void outbox_lease_lost(cached_run *r)
{
    for (unsigned s = 0; s < ENTRY_STATES; s++)
        OUTBOX_EACH(r, entry, next, s)
            if (entry_is(entry, ENTRIES_RUNNING)) {
                entry->attempt.lease_lost = true;
                entry_stop(entry);
                if (later_drop(entry))
                    entry_remove(r->e, entry);
            } else {
                budget_leave(r->e, entry);
                if (entry_is(entry, ENTRIES_CALL_WAITS))
                    attempts_forget(entry);
            }
}

void outbox_state_dropped(cached_run *r)
{
    r->commands_moved = true;
    buf_reset(&r->outbox.received);
    OUTBOX_EACH(r, fed, next, ENTRY_FED)
        if (!BROKEN(BROKEN_RECEIPT_DROPPED))
            entry_move(fed, ENTRY_DONE);        /* its fold is gone, its receipt is not */
    OUTBOX_EACH(r, granted, following, ENTRY_GRANTED)
        if (granted->count == COUNT_IN_COMMIT)
            count_clear(granted);
    sql_state_dropped(r);
}

/* ---- what a handler may ask of its job, on its thread -------------------------------------------------------------- */

static bool stop_asked(const pawl_job *job)
{
    outbox_entry *entry = job->ctx;
    entry_attempt *a = &entry->attempt;

    if (a->until_ms > 0 && steady_ms() > a->until_ms)
        a->overran = true;      /* the store's clock may be a little behind */
    return a->stop || a->overran || (entry->e->abandoned && !entry->h->sql);    /* what is done in SQL is ended by the store's transaction */
}

static void beat(const pawl_job *job)
{
    outbox_entry *entry = job->ctx;

    entry->attempt.beats++;     /* the driving thread sees that it changes */
}

static pawl_code say(const pawl_job *job, const char *name, const char *text)
{
    outbox_entry *entry = job->ctx;

    entry->attempt.beats++;
    if (entry->keeps_output && name != NULL && text != NULL && strcmp(name, "message") == 0)
        partial_add(entry, text);
    return ring_say(ring_here(entry->e), entry, name, text);
}

/* ---- made ---------------------------------------------------------------------------------------------------------- */

static outbox_entry *entry_alloc(pawl_engine *e, const char *id, const char *effect, const pawl_value *args)
{
    outbox_entry *entry = mem_new(&e->alloc, sizeof *entry);

    if (entry == NULL)
        return NULL;
    arena_init(&entry->mem, &e->alloc, 512);
    reply_init(&entry->reply, &e->alloc);
    buf_init(&entry->cost.usage, &e->alloc);
    buf_init(&entry->output, &e->alloc);
    entry->job = (pawl_job){ .id = arena_strdup(&entry->mem, id, strlen(id)), .canceled = stop_asked, .heartbeat = beat, .say = say,
                             .finish = job_finish, .ctx = entry };
    entry->e = e;
    entry->job.effect = effect == NULL ? NULL : arena_strdup(&entry->mem, effect, strlen(effect));
    entry->job.args = args == NULL ? NULL : value_copy(&entry->mem, args);
    if (!entry->mem.failed)
        return entry;
    entry_free(e, entry);
    return NULL;
}

static void entry_begin(outbox_entry *entry, entry_state first, entry_args args, entry_resolution resolution)
{
    sm_begin(&count_table, &entry->count, COUNT_NONE, entry);
    sm_begin(&args_table, &entry->args, args, entry);
    sm_begin(&resolution_table, &entry->resolution, resolution, entry);
    sm_begin(&later_table, &entry->later.state, LATER_NOT, entry);
    sm_begin(&entry_table, &entry->state, first, entry);
}

outbox_entry *entry_copy(pawl_engine *e, const outbox_entry *entry)
{
    const bool asking = entry->resolution == RESOLUTION_ASKING;
    const entry_args args = asking || entry->args == ARGS_OWN ? ARGS_OWN : ARGS_IN_STATE;
    pawl_limits limits;
    uint32_t attempt;
    outbox_entry *copy = entry_alloc(e, entry->job.id, resolve_origin(entry, &limits, &attempt), asking || args == ARGS_IN_STATE ? NULL : entry->job.args);

    if (copy == NULL)
        return NULL;
    copy->job.attempt = attempt;
    copy->cleared = entry->cleared;
    copy->cost.reported = entry->cost.reported;
    copy->cost.known = entry->cost.known;
    copy->cost.tokens = entry->cost.tokens;
    copy->cost.micros = entry->cost.micros;
    copy->first_ms = entry->first_ms;
    copy->limits = limits;
    copy->limits.on_unknown = limits.on_unknown == NULL ? NULL : arena_strdup(&copy->mem, limits.on_unknown, strlen(limits.on_unknown));
    copy->h = entry->h;
    copy->order = entry->order;
    entry_begin(copy, ENTRY_READY, args, entry->resolution == RESOLUTION_OPEN && !entry->run->st->canceling ? RESOLUTION_OPEN : RESOLUTION_CLOSED);
    if (!copy->mem.failed)
        return copy;
    entry_free(e, copy);
    return NULL;
}

/* `in_state`: its arguments refer to what the state has, and stay there. */
static pawl_code entry_make(pawl_engine *e, cached_run *r, const pawl_command *cmd, bool in_state, pawl_err *err)
{
    outbox_entry *entry = entry_alloc(e, cmd->id, cmd->effect, cmd->args);
    const bool spawn = cmd->kind == PAWL_SPAWN;
    bool good = entry != NULL;

    if (good) {
        entry->limits = cmd->limits;
        entry->limits.inverse = NULL;
        if (cmd->limits.on_unknown != NULL)
            entry->limits.on_unknown = arena_strdup(&entry->mem, cmd->limits.on_unknown, strlen(cmd->limits.on_unknown));
        entry->job.attempt = entry->cleared = cmd->cleared;
        entry->share = cmd->share;
        entry->h = spawn ? NULL : handler_of(e, cmd->effect);
        entry->child = spawn ? child_name(&entry->mem, cmd->id, cmd->child) : NULL;
        entry->keeps_output = r->m->interrupt != NULL && cmd->kind == PAWL_CALL;
        entry_begin(entry, spawn && entry->child != NULL ? ENTRY_CHILD_NEW : entry->h == NULL ? ENTRY_UNHANDLED : ENTRY_READY,
                    in_state ? ARGS_IN_STATE : ARGS_OWN, RESOLUTION_OPEN);
        good = !entry->mem.failed && outbox_add(r, entry) == PAWL_OK;
    }
    if (good)
        return PAWL_OK;
    if (entry != NULL)
        entry_free(e, entry);
    return fail(err, PAWL_NOMEM, "%s: no memory to perform it", cmd->id);
}

/* ---- reconciled with the open commands ------------------------------------------------------------------------------- */

/* Its command is not open any more. A running attempt is told to stop, and dropped when it returns; a receipt stays until it is stored. */
static void entry_close(pawl_engine *e, outbox_entry *entry)
{
    if (entry->state == ENTRY_FED || entry->state == ENTRY_UNWANTED)
        return;
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
    if ((next != PAWL_HALTED && next != PAWL_INTERRUPTED) || r->outbox.count == 0)
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

/* Not before they are stored: a fold that is taken back opens the command again. But then at once, so that no attempt begins any more (E4). */
void outbox_stored(pawl_engine *e, cached_run *r)
{
    buf *b = &r->outbox.received;

    OUTBOX_EACH(r, entry, next, ENTRY_FED)
        entry_remove(e, entry);
    for (const char *id = b->data; b->size > 0 && id < b->data + b->size; id += strlen(id) + 1) {
        outbox_entry *entry = outbox_find(r, id);

        if (entry != NULL && !call_open(r->st, id))
            entry_close(e, entry);
    }
    buf_reset(b);
}

/* With all that it refers to, and secrets to be put in. */
static pawl_code command_whole(pawl_engine *e, cached_run *r, size_t i, arena *mem, pawl_command *cmd, const pawl_value **secrets, pawl_err *err)
{
    pawl_err why = { PAWL_OK, "" };
    pawl_code rc = pawl_state_command(r->st, i, e->look, cmd, secrets, &why);

    if (rc == PAWL_GONE)
        return args_as_of(e, r, cmd->id, mem, cmd, secrets, err);
    return rc == PAWL_OK ? rc : fail(err, rc, "%s", why.text);
}

/* With its arguments. What refers to nothing but the run's own stays where it is: lazy_args.c. */
static pawl_code entry_make_whole(pawl_engine *e, cached_run *r, size_t i, pawl_err *why, pawl_err *err)
{
    const pawl_value *secrets = NULL;
    bool missing = false;
    pawl_command cmd;
    arena mem;
    pawl_code rc;

    arena_init(&mem, &e->alloc, 1024);
    if ((rc = command_whole(e, r, i, &mem, &cmd, &secrets, err)) == PAWL_OK && cmd.kind == PAWL_SPAWN && secrets != NULL)
        rc = fail(err, PAWL_INVALID, "%s: a secret is no input of a child run: name it in the child's own channels", cmd.id);
    if (rc == PAWL_OK)
        rc = secrets_put(e, &mem, &cmd, secrets, &missing, why, err);
    if (rc == PAWL_OK && missing && !r->st->canceling)  /* else it is called off, not performed */
        r->commands_moved = true;       /* to be looked at again */
    else if (rc == PAWL_OK)
        rc = entry_make(e, r, &cmd, false, err);
    arena_free(&mem);
    return rc;
}

static pawl_code command_reconcile(pawl_engine *e, cached_run *r, size_t i, pawl_err *why, pawl_err *err)
{
    bool refers;
    pawl_command cmd;
    outbox_entry *entry;
    pawl_code rc = state_command_bare(r->st, i, e->look, &cmd, &refers, err);

    if (rc != PAWL_OK || cmd.kind == PAWL_SLEEP)
        return rc;
    if ((entry = outbox_find(r, cmd.id)) != NULL) {
        entry->seen = r->outbox.reconciled;
        r->borrowed = r->borrowed || entry->args != ARGS_OWN;
        r->commands_moved = r->commands_moved || entry->state == ENTRY_FED;     /* it is open anew: another entry, when that receipt is stored */
        if (entry->state == ENTRY_UNWANTED)
            entry_move(entry, ENTRY_RUNNING);
        return PAWL_OK;
    }
    if (!refers || cmd.kind != PAWL_CALL)
        return entry_make_whole(e, r, i, why, err);
    r->borrowed = true;
    return entry_make(e, r, &cmd, true, err);
}

pawl_code outbox_reconcile(pawl_engine *e, cached_run *r, pawl_err *why, pawl_err *err)
{
    pawl_code rc = PAWL_OK;

    if (!r->commands_moved)
        return counts_read(e, r, err);
    r->commands_moved = false;
    r->outbox.reconciled++;
    for (size_t i = 0; i < pawl_state_commands(r->st) && rc == PAWL_OK; i++)
        rc = command_reconcile(e, r, i, why, err);
    if (rc == PAWL_OK)
        outbox_sweep(e, r);
    else
        r->commands_moved = true;
    return rc == PAWL_OK ? counts_read(e, r, err) : rc;
}

void handlers_find(const pawl_engine *e, cached_run *r)
{
    OUTBOX_EACH(r, entry, next, ENTRY_UNHANDLED)
        if ((entry->h = handler_of(e, entry->job.effect)) != NULL)
            entry_wait(entry);
}
