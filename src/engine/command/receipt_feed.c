/* receipt_feed.c - folds receipts; their entries stay in the outbox until the receipts are stored.
 *
 * Called by dispatch.c, cancel.c and sql_command.c on the driving thread; the store is used under the engine's lock. Invariant: a receipt is
 * folded once (E4), and a receipt that cannot be folded now is delivered to its run, so that no outcome is lost (E13). */
#include "engine/command/attempt.h"

#include <stdio.h>
#include <string.h>

static bool receipt_deliver(pawl_engine *e, const cached_run *r, const outbox_entry *entry)
{
    char hex[HASH_HEX + 1], id[HASH_HEX + 16];
    pawl_delivery d = { .id = id, .kind = PAWL_DELIVER_RECEIPT, .name = entry->job.id, .outcome = (int)entry->outcome,
                        .value = { entry->reply.text.data, entry->reply.text.size }, .update = { entry->cost.usage.data, entry->cost.usage.size } };
    pawl_code rc;
    hash h;

    hash_of(entry->job.id, strlen(entry->job.id), &h);
    hash_hex(&h, hex);
    snprintf(id, sizeof id, "receipt-%s", hex);
    pthread_mutex_lock(&e->lock);
    rc = e->store->verbs->deliver(e->store, r->id, &d, NULL);
    pthread_mutex_unlock(&e->lock);
    return rc == PAWL_OK || rc == PAWL_CONFLICT;        /* CONFLICT: delivered before; the first delivery counts */
}

/* Delivers receipts that cannot be folded now to the run, like receipts from outside, for the engine that can take them (E13). A receipt that cannot
 * be delivered stays here. */
static void receipts_deliver(pawl_engine *e, cached_run *r)
{
    static const entry_state states[] = { ENTRY_DONE, ENTRY_FED };

    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        OUTBOX_EACH(r, entry, next, states[i])
            if (receipt_deliver(e, r, entry))
                entry_remove(e, entry);
}

pawl_code receipt_feed(pawl_engine *e, cached_run *r, outbox_entry *entry, pawl_err *err)
{
    const pawl_event ev = { .kind = PAWL_EV_RECEIPT, .id = entry->job.id, .outcome = entry->outcome, .value = entry->reply.text.data,
                            .value_size = entry->reply.text.size, .time_ms = engine_now(e),
                            .update = entry->cost.usage.size > 0 && !entry->cost.usage.failed ? entry->cost.usage.data : NULL };
    pawl_code rc;

    PAWL_ASSERT(entry->state == ENTRY_DONE, "E4: a receipt is folded once");
    rc = run_feed(e, r, &ev, err);
    if (rc >= 0 && rc != PAWL_IGNORED)
        entry_move(entry, ENTRY_FED);
    return rc;
}

/* Keeps the entry until its receipt is stored, so that a failed append does not make a command run again. */
pawl_code receipts_feed(pawl_engine *e, cached_run *r, bool *did, pawl_err *err)
{
    pawl_code rc = PAWL_OK;
    outbox_entry *entry;

    while (rc >= 0 && (entry = outbox_first(&r->outbox, ENTRY_DONE)) != NULL) {
        rc = receipt_feed(e, r, entry, err);
        if (rc == PAWL_IGNORED || rc == PAWL_INVALID) {
            entry_remove(e, entry);
            rc = PAWL_OK;
        } else if (rc >= 0) {
            if (entry->limits.cls != PAWL_CLASS_PURE)
                run_mark_urgent(r);
            *did = true;
        }
    }
    if (rc < 0)
        receipts_deliver(e, r);
    return rc < 0 ? rc : PAWL_OK;
}
