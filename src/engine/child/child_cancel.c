/* child_cancel.c - cancels a child run by a delivery; a child that does not exist yet is created first, so that it has a mailbox.
 *
 * Called by reconcile.c, cancel.c and run_feed.c on the driving thread; the store is used under the engine's lock. */
#include "engine/child/child.h"
#include "engine/command/outbox.h"
#include "engine/run/run.h"
#include "kernel/events.h"
#include "kernel/names.h"

#include <stdio.h>
#include <string.h>

/* Whether a run of that id exists and is not the child of this command. */
static bool child_is_foreign(pawl_engine *e, const outbox_entry *entry)
{
    pawl_head head;
    bool strange;

    if (entry_state_of(entry) != ENTRY_CHILD_NEW)
        return false;
    pthread_mutex_lock(&e->lock);
    strange = e->store->verbs->head(e->store, entry_child(entry), &head, NULL) == PAWL_OK && (head.parent == NULL || strcmp(head.parent, entry_id(entry)) != 0);
    pthread_mutex_unlock(&e->lock);
    return strange;
}

/* Delivers the cancel. The child then ends on its own, and its end is the receipt. False: the run does not exist. */
bool child_cancel(pawl_engine *e, outbox_entry *entry)
{
    pawl_delivery d = { .kind = PAWL_DELIVER_CANCEL, .by = "@parent" };
    char id[ID_BYTES_MAX + 16];
    pawl_code rc;

    if (entry_state_of(entry) == ENTRY_CHILD_RELEASED)
        return true;
    if (child_is_foreign(e, entry))
        return false;
    snprintf(id, sizeof id, "cancel-%s", entry_id(entry));
    d.id = id;
    pthread_mutex_lock(&e->lock);
    rc = e->store->verbs->deliver(e->store, entry_child(entry), &d, NULL);
    pthread_mutex_unlock(&e->lock);
    if (rc == PAWL_OK) {
        entry_child_released(entry);    /* the run exists, so some engine drives it to its end */
        e->delivered = true;
    }
    return rc != PAWL_GONE;
}

/* Creates a child that does not exist, so that the cancel reaches it: an earlier holder of this run may be about to create it. */
static pawl_code child_reserve(pawl_engine *e, cached_run *r, outbox_entry *entry)
{
    const pawl_machine *m = machine_named(e, entry_effect(entry));
    pawl_run_info info;
    pawl_state *st = NULL;
    pawl_code rc = m == NULL ? PAWL_PENDING : pawl_state_info(r->st, e->look, &info, NULL);

    if (rc != PAWL_OK)
        return rc;
    info_of_child(&info, entry, engine_now(e));
    if ((rc = pawl_state_new(m, &info, 0, NULL, &st, NULL)) == PAWL_OK) {
        pthread_mutex_lock(&e->lock);
        rc = e->store->verbs->create(e->store, pawl_state_base(st), NULL, NULL);
        pthread_mutex_unlock(&e->lock);
    }
    pawl_state_free(st);
    return rc == PAWL_CONFLICT ? PAWL_OK : rc;
}

bool child_reserve_named(pawl_engine *e, cached_run *r, const char *child)
{
    for (outbox_entry *entry = outbox_first(&r->outbox, ENTRY_CHILD_NEW); entry != NULL; entry = entry_next(entry))
        if (strcmp(entry_child(entry), child) == 0)
            return child_reserve(e, r, entry) == PAWL_OK;
    return false;
}

/* Cancels the children that a step drops, before the step is stored. After a crash in between, the parent drops them again or gets their end. In
 * the other order a crash would leave them without a cancel. */
pawl_code children_cancel_dropped(pawl_engine *e, cached_run *r)
{
    static const entry_state states[] = { ENTRY_CHILD_STARTED, ENTRY_CHILD_NEW };      /* a released child has its cancel already */
    outbox_entry *next;

    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        for (outbox_entry *entry = outbox_first(&r->outbox, states[i]); entry != NULL; entry = next) {
            next = entry_next(entry);
            if (call_open(r->st, entry_id(entry)) || child_is_foreign(e, entry))
                continue;
            if (!child_cancel(e, entry) && child_reserve(e, r, entry) == PAWL_OK)
                (void)child_cancel(e, entry);
            if (entry_state_of(entry) != ENTRY_CHILD_RELEASED && machine_named(e, entry_effect(entry)) != NULL)
                return PAWL_IO;
        }
    return PAWL_OK;
}
