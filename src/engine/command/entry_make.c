/* entry_make.c - makes an outbox entry, from an open command or from an entry that is given up.
 *
 * Called by reconcile.c and cancel.c on the driving thread, without a lock; stop_asked(), became_plan() and beat() are called by handlers, on their threads.
 * A new entry meets the invariants O1 to O5 of entry.c. */
#include "engine/command/attempt.h"
#include "kernel/machine.h"
#include "kernel/state.h"

#include <string.h>

/* ---- what a handler may ask of its job, on its thread ------------------------------------------------------------ */

static bool stop_asked(const pawl_job *job)
{
    outbox_entry *entry = job->ctx;
    entry_attempt *a = &entry->attempt;

    if (a->until_ms > 0 && steady_of(entry->e) > a->until_ms)
        a->overran = true;      /* noted here, since the store's clock may be a little behind */
    return a->stop || a->overran || (entry->e->abandoned && !entry->h->sql);    /* the store's transaction ends a command in SQL */
}

static bool became_plan(const pawl_job *job)
{
    const outbox_entry *entry = job->ctx;

    return entry->attempt.planned;
}

static void beat(const pawl_job *job)
{
    outbox_entry *entry = job->ctx;

    entry->attempt.beats++;     /* the driving thread notices the change */
}

/* ---- made -------------------------------------------------------------------------------------------------------- */

/* There may be very many entries: one block each, as large as what is known at the beginning. */
static size_t texts_bytes(const char *id, const char *effect, const pawl_value *args)
{
    return 4 * ALIGN + strlen(id) + 1 + (effect != NULL ? strlen(effect) + 1 : 0) + (args != NULL ? value_block_bytes(args) : 0);
}

static outbox_entry *entry_alloc(pawl_engine *e, const char *id, const char *effect, const pawl_value *args)
{
    const size_t room = texts_bytes(id, effect, args);
    outbox_entry *entry = mem_new(&e->alloc, sizeof *entry + room);

    if (entry == NULL)
        return NULL;
    entry->bytes = sizeof *entry + room;
    arena_init_in(&entry->mem, &e->alloc, entry + 1, room);
    reply_init(&entry->reply, &e->alloc);
    buf_init(&entry->cost.usage, &e->alloc);
    buf_init(&entry->output, &e->alloc);
    entry->job = (pawl_job){ .id = arena_strdup(&entry->mem, id, strlen(id)), .canceled = stop_asked, .heartbeat = beat, .say = job_say,
                             .delta = job_delta, .finish = job_finish, .outlive = job_outlive, .planned = became_plan, .ctx = entry };
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
    copy->further = entry->further;
    copy->charged = entry->charged;
    copy->cost.reported = entry->cost.reported;
    copy->cost.last_unsaid = entry->cost.last_unsaid;
    copy->cost.known = entry->cost.known;
    copy->cost.tokens = entry->cost.tokens;
    copy->cost.micros = entry->cost.micros;
    copy->first_ms = entry->first_ms;
    copy->limits = limits;
    copy->limits.on_unknown = limits.on_unknown == NULL ? NULL : arena_strdup(&copy->mem, limits.on_unknown, strlen(limits.on_unknown));
    copy->h = entry->h;
    copy->order = entry->order;
    if (!secrets_copy(copy, entry))
        copy->mem.failed = true;
    entry_begin(copy, ENTRY_READY, args, entry->resolution == RESOLUTION_OPEN && !state_canceling(entry->run->st) ? RESOLUTION_OPEN : RESOLUTION_CLOSED);
    if (!copy->mem.failed)
        return copy;
    entry_free(e, copy);
    return NULL;
}

pawl_code entry_make(pawl_engine *e, cached_run *r, const pawl_command *cmd, bool in_state, const pawl_value *secrets, pawl_err *err)
{
    outbox_entry *entry = entry_alloc(e, cmd->id, cmd->effect, cmd->args);
    const bool spawn = cmd->kind == PAWL_COMMAND_SPAWN;
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
        entry->keeps_output = r->m->interrupt != NULL && cmd->kind == PAWL_COMMAND_CALL;
        entry_begin(entry, spawn && entry->child != NULL ? ENTRY_CHILD_NEW : entry->h == NULL ? ENTRY_UNHANDLED : ENTRY_READY,
                    in_state ? ARGS_IN_STATE : ARGS_OWN, RESOLUTION_OPEN);
        good = (secrets == NULL || secrets_keep(entry, cmd->args, secrets)) && !entry->mem.failed && outbox_add(r, entry) == PAWL_OK;
    }
    if (good)
        return PAWL_OK;
    if (entry != NULL)
        entry_free(e, entry);
    return fail(err, PAWL_NOMEM, "%s: no memory to perform it", cmd->id);
}
