/* lazy_args.c - arguments that refer to the state stay there until their entry leaves, or the state changes: a conversation is long, and not copied.
 *
 * Called on the driving thread; args_keep() by a handler that answers later, on its thread. The store is read under the engine's lock. Invariant:
 * arguments are lent to an attempt on the driving thread only, and copied before the state changes. */
#include "engine/command/entry.h"
#include "kernel/item.h"
#include "kernel/journal/codec.h"
#include "kernel/journal/replay.h"
#include "kernel/state.h"
#include "store/store.h"

#include <string.h>

enum { WAIT_FEW = 32 };         /* up to so many entries, copying their arguments before an event costs less than lent_feed(), which folds it twice */

/* ---- as they were ---------------------------------------------------------------------------- */

typedef struct seeking { const char *code; buf text; pawl_step *look; uint64_t seq; } seeking;

/* Whether this entry made the command. */
static bool see_entry(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    seeking *sk = ctx;
    pawl_entry *e;

    if (kind != PAWL_LINE_ENTRY || pawl_entry_read(line, sk->look, &e, NULL) != PAWL_OK)
        return true;
    for (const item *it = e->items; it != NULL && sk->seq == 0; it = it->next) {
        if (it->kind != ITEM_CALL && it->kind != ITEM_SPAWN)
            continue;
        buf_reset(&sk->text);
        id_code(&sk->text, it);
        buf_char(&sk->text, '\0');
        if (!sk->text.failed && strcmp(sk->text.data, sk->code) == 0)
            sk->seq = seq;
    }
    return sk->seq == 0;
}

/* The state after that entry; *st stays NULL where it is gone, or there is none. */
static pawl_code state_then(pawl_engine *e, cached_run *r, const char *id, pawl_state **st, pawl_err *err)
{
    const pawl_loader loader = { .blob = loader_blob, .ctx = r };
    seeking sk = { .code = id + strlen(r->id) + strlen("~0123456789abcdef/"), .look = e->lent };
    pawl_code rc;
    buf text;

    buf_init(&sk.text, &e->alloc);
    buf_init(&text, &e->alloc);
    pthread_mutex_lock(&e->lock);
    if ((rc = e->store->verbs->read(e->store, r->id, 0, 0, see_entry, &sk, err)) == PAWL_OK && sk.seq > 0)
        rc = store_journal(e->store, r->id, sk.seq, &text, NULL, err);
    pthread_mutex_unlock(&e->lock);
    if (rc == PAWL_OK && sk.seq > 0)
        rc = journal_fold((pawl_bytes){ text.data, text.size }, sk.seq, &loader, NULL, st, err);
    buf_free(&text);
    buf_free(&sk.text);
    return rc;
}

pawl_code args_as_of(pawl_engine *e, cached_run *r, const char *id, arena *mem, pawl_command *cmd, const pawl_value **secrets, pawl_err *err)
{
    const char *name = arena_strdup(mem, id, strlen(id));       /* it may lie in the step that is used here */
    pawl_err why = { PAWL_OK, "" };
    pawl_state *st = NULL;
    bool open = false;
    pawl_code rc = name == NULL ? PAWL_NOMEM : state_then(e, r, name, &st, &why);

    if (rc == PAWL_OK && st != NULL)
        rc = state_command_named(st, name, e->lent, cmd, secrets, &open, &why);
    if (rc == PAWL_OK && open) {
        cmd->id = name;
        cmd->args = cmd->args != NULL ? value_copy(mem, cmd->args) : NULL;
    }
    pawl_state_free(st);
    if (mem->failed || rc == PAWL_NOMEM)
        return fail(err, PAWL_NOMEM, "%s: no memory to perform it", r->id);
    if (rc == PAWL_OK && open)
        return PAWL_OK;
    return fail(err, rc == PAWL_OK || rc == PAWL_GONE ? PAWL_CORRUPT : rc, "%s: what it refers to has changed, and what it was is not to be had: %s",
                name, why.code != PAWL_OK ? why.text : "the journal does not say");
}

/* ---- lent ------------------------------------------------------------------------------------ */

/* False while `on_unknown` is asked: the job has the arguments of that effect then. */
bool args_borrow(const outbox_entry *entry)
{
    return entry->args == ARGS_IN_STATE && entry->resolution != RESOLUTION_ASKING;
}

static pawl_code not_open(const outbox_entry *entry, pawl_err *err)
{
    return fail(err, PAWL_CORRUPT, "%s: it is to be performed, and is not open", entry->job.id);
}

/* A copy in a block of its own, which goes with args_drop(). */
static bool own(outbox_entry *entry, const pawl_value *args)
{
    const size_t bytes = args != NULL ? value_block_bytes(args) : 0;
    void *block = bytes > 0 ? mem_new(&entry->e->alloc, bytes) : NULL;

    if (bytes > 0 && block == NULL)
        return false;
    entry->job.args = args != NULL ? value_copy_to(block, args) : NULL;
    entry->copied = block;
    entry->copied_bytes = bytes;
    args_move(entry, ARGS_OWN);
    return true;
}

void args_drop(outbox_entry *entry)
{
    if (entry->copied == NULL)
        return;
    mem_free(&entry->e->alloc, entry->copied, entry->copied_bytes);
    entry->copied = NULL;
    entry->job.args = NULL;
}

/* Copies the arguments out of the state. *open: the command is open; else nothing was copied. */
static pawl_code take(pawl_engine *e, outbox_entry *entry, bool *open, pawl_err *err)
{
    pawl_err why = { PAWL_OK, "" };
    pawl_command cmd;
    pawl_code rc = state_command_named(entry->run->st, entry->job.id, e->lent, &cmd, NULL, open, &why);

    if (rc == PAWL_GONE)
        rc = args_as_of(e, entry->run, entry->job.id, &entry->mem, &cmd, NULL, err);
    else if (rc != PAWL_OK)
        return fail(err, rc, "%s", why.text);
    else if (*open)
        return own(entry, cmd.args) ? PAWL_OK : fail(err, PAWL_NOMEM, "%s: no memory to perform it", entry->job.id);
    if (rc == PAWL_OK && *open) {
        entry->job.args = cmd.args;
        args_move(entry, ARGS_OWN);
    }
    return rc;
}

pawl_code args_copy(pawl_engine *e, outbox_entry *entry, pawl_err *err)
{
    bool open = true;
    pawl_code rc = args_borrow(entry) ? take(e, entry, &open, err) : PAWL_OK;

    return rc != PAWL_OK || open ? rc : not_open(entry, err);
}

/* An entry whose command is not open goes with the next reconciliation. */
pawl_code args_copy_all(pawl_engine *e, cached_run *r, pawl_err *err)
{
    pawl_code rc = PAWL_OK;
    bool open;

    for (unsigned s = 0; s < ENTRY_STATES; s++)
        if ((ENTRIES_CALL_WAITS >> s & 1) != 0)
            OUTBOX_EACH(r, entry, next, s)
                if (rc == PAWL_OK && args_borrow(entry))
                    rc = take(e, entry, &open, err);
    r->borrowed = rc != PAWL_OK;
    return rc;
}

/* ---- waiting ---------------------------------------------------------------------------------- */

bool args_wait(const cached_run *r)
{
    return r->borrowed && outbox_count(&r->outbox, ENTRIES_CALL_WAITS) > WAIT_FEW;
}

/* No item of these kinds changes the value of a channel. */
bool args_stay(const pawl_entry *entry)
{
    const uint32_t harmless = ENTRY_IN(ITEM_RECORDS) | ENTRY_IN(ITEM_VISIT) | ENTRY_IN(ITEM_CALL) | ENTRY_IN(ITEM_SLEEP) | ENTRY_IN(ITEM_SPAWN) |
                              ENTRY_IN(ITEM_ASK) | ENTRY_IN(ITEM_REFUSAL) | ENTRY_IN(ITEM_RECEIPT) | ENTRY_IN(ITEM_SELECT) | ENTRY_IN(ITEM_LEAVE) |
                              ENTRY_IN(ITEM_EMIT);
    const item *it = (entry->kinds & ~harmless) != 0 ? entry->items : NULL;

    while (it != NULL && ((UINT32_C(1) << it->kind & harmless) != 0 || snapshot_is_name(it)))
        it = it->next;
    return it == NULL;
}

pawl_code args_lend(pawl_engine *e, outbox_entry *entry, pawl_err *err)
{
    pawl_err why = { PAWL_OK, "" };
    pawl_command cmd;
    bool open;
    pawl_code rc;

    if (!args_borrow(entry))
        return PAWL_OK;
    if ((rc = state_command_named(entry->run->st, entry->job.id, e->lent, &cmd, NULL, &open, &why)) == PAWL_GONE)
        return args_copy(e, entry, err);
    if (rc != PAWL_OK || !open)
        return rc != PAWL_OK ? fail(err, rc, "%s", why.text) : not_open(entry, err);
    entry->job.args = cmd.args;
    args_move(entry, ARGS_LENT);
    return PAWL_OK;
}

pawl_code args_keep(outbox_entry *entry)
{
    return entry->args != ARGS_LENT || own(entry, entry->job.args) ? PAWL_OK : PAWL_NOMEM;
}

void args_return(outbox_entry *entry)
{
    if (entry->args != ARGS_LENT)
        return;
    entry->job.args = NULL;
    args_move(entry, ARGS_IN_STATE);
}
