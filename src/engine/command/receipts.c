/* receipts.c - what handlers come to is fed, and stays until it is stored. */
#include "engine/command/attempt.h"

#include <stdio.h>
#include <string.h>

static pawl_outcome outcome_of(pawl_code rc)
{
    return rc >= 0 ? PAWL_DONE : rc == PAWL_TIMEOUT ? PAWL_TIMED_OUT : rc == PAWL_UNKNOWN ? PAWL_OUTCOME_UNKNOWN
           : rc == PAWL_CANCELED ? PAWL_CALLED_OFF : PAWL_ERROR;
}

/* Final, whatever it was: the same would come again (E13). */
void reply_limit(const pawl_engine *e, outbox_entry *entry)
{
    size_t bytes = entry->rc < 0 ? entry->reply.detail.size : entry->reply.text.size;

    if (bytes <= e->reply_bytes_max)
        return;
    entry->rc = pawl_reply_fail(&entry->reply, PAWL_LIMIT, "%s: %s: its reply has %zu bytes, which is over the limit of %zu (reply_bytes_max)", entry->job.id,
                             entry->job.effect, bytes, e->reply_bytes_max);
    buf_free(&entry->reply.detail);
    buf_init(&entry->reply.detail, &entry->reply.alloc);
}

/* What is no JSON is an error of the handler's. */
void reply_check(pawl_engine *e, outbox_entry *entry)
{
    buf *b = &entry->reply.text;
    arena mem;
    pawl_err wrong = {0};

    if (entry->rc >= 0 && b->size == 0)
        buf_text(b, "null");
    if (entry->rc < 0 || b->failed)
        return;
    arena_init(&mem, &e->alloc, 4096);
    if (value_parse(&mem, b->data, b->size, "the reply", &wrong) == NULL)
        entry->rc = wrong.code == PAWL_NOMEM ? PAWL_NOMEM : pawl_reply_fail(&entry->reply, wrong.code, "%s: %s", entry->job.effect, wrong.text);
    arena_free(&mem);
}

/* When it fails a person is asked, and may have it performed again: then what was counted counts no more. */
static bool is_inverse(const outbox_entry *entry)
{
    return strstr(entry->job.id, "." UNDO_TASK ".") != NULL;
}

/* What the handler said becomes the receipt's value. */
void receipt_make(pawl_engine *e, outbox_entry *entry)
{
    buf *b = &entry->reply.text;
    bool doubt;

    budget_leave(e, entry);
    if (entry->resolution == RESOLUTION_ASKING && !resolve_end(e, entry))
        return;
    reply_check(e, entry);
    if (b->failed || entry->rc == PAWL_NOMEM)      /* it has happened: what it said found no memory */
        entry->rc = pawl_reply_fail(&entry->reply, PAWL_UNKNOWN, "%s: its receipt found no memory", entry->job.effect);
    if (entry->limits.cls == PAWL_ONCE && is_retryable(entry->rc) && !entry->reply.untouched)
        entry->rc = PAWL_UNKNOWN;      /* it may have happened (E5) */
    doubt = entry->rc == PAWL_UNKNOWN && (entry->limits.cls == PAWL_ONCE || entry->limits.cls == PAWL_COMPENSABLE);
    if (doubt && resolve_begin(e, entry))
        return;
    entry->outcome = outcome_of(entry->rc);
    cost_report(entry);
    if (entry->rc < 0) {
        buf_reset(b);
        reply_failure(&entry->reply, entry->rc, doubt || is_inverse(entry) ? entry->job.attempt : 0, b);
    }
    entry_move(entry, ENTRY_DONE);
}

void entry_refuse(pawl_engine *e, outbox_entry *entry, pawl_code code, const char *text)
{
    entry->rc = pawl_reply_fail(&entry->reply, code, "%s", text);
    receipt_make(e, entry);
    cost_report_none(entry);
}

/* An attempt that runs is told to stop, and ends in its own receipt; so does a child, unless it is not waited for, in its own end. */
static void entry_cancel(pawl_engine *e, outbox_entry *entry, bool wait)
{
    if (entry_is(entry, ENTRIES_RUNNING))
        entry_stop(entry);
    entry->attempt.stop = true;
    if (!entry_is(entry, ENTRIES_CALL_WAITS | ENTRIES_CHILD) || (entry->child != NULL && child_cancel(e, entry) && wait))
        return;
    if (entry->in_doubt && entry->job.attempt > entry->cleared && entry->limits.cls != PAWL_PURE)
        entry->rc = pawl_reply_fail(&entry->reply, PAWL_UNKNOWN, "%s: it was begun, and nobody knows what came of it", entry->job.effect);
    else
        entry->rc = pawl_reply_fail(&entry->reply, PAWL_CANCELED, "%s: called off before it began", entry->job.effect != NULL ? entry->job.effect : "");
    if (entry->resolution == RESOLUTION_OPEN)
        resolution_move(entry, RESOLUTION_CLOSED);      /* nothing new begins */
    receipt_make(e, entry);
}

void outbox_cancel(pawl_engine *e, cached_run *r, bool wait)
{
    static const entry_state last[] = { ENTRY_CHILD_RELEASED, ENTRY_CHILD_STARTED, ENTRY_CHILD_NEW };

    for (unsigned s = 0; s < ENTRY_STATES; s++)
        if ((ENTRIES_CHILD >> s & 1) == 0)
            OUTBOX_EACH(r, entry, next, s)
                entry_cancel(e, entry, wait);
    for (size_t i = wait ? 1 : 0; i < sizeof last / sizeof *last; i++)
        OUTBOX_EACH(r, child, following, last[i])
            entry_cancel(e, child, wait);
}

static void end_called_off(pawl_engine *e, const outbox_entry *entry, outbox_entry *end)
{
    if (entry->attempt.called_ms == 0)
        end->rc = pawl_reply_fail(&end->reply, PAWL_CANCELED, "%s: called off before it began", end->job.effect);
    else if (end->limits.cls == PAWL_PURE)
        end->rc = pawl_reply_fail(&end->reply, PAWL_CANCELED, "%s: called off, and not waited for", end->job.effect);
    else
        end->rc = pawl_reply_fail(&end->reply, PAWL_UNKNOWN, "%s: called off, it did not stop in time, and nobody knows what comes of it",
                                  end->job.effect);
    receipt_make(e, end);
}

/* Over a limit (E8): as if it had come back now. */
static void end_late(pawl_engine *e, const outbox_entry *entry, outbox_entry *end)
{
    if (entry->resolution == RESOLUTION_ASKING) {
        end->rc = pawl_reply_fail(&end->reply, PAWL_UNKNOWN, "%s: who was asked what came of it does not answer", end->job.effect);
    } else {
        end->rc = pawl_reply_fail(&end->reply, PAWL_TIMEOUT, "%s: it took longer than its %s allows, and did not stop", end->job.effect,
                                  entry->attempt.exceeded);
    }
    if (!entry_retry(e, end, engine_now(e)))
        receipt_make(e, end);
}

/* What it says when it comes back finds nobody: another entry takes its place in the outbox, or none, when the run was lost meanwhile.
 * False: no memory, it is waited for on. */
static bool entry_give_up(pawl_engine *e, cached_run *r, outbox_entry *entry)
{
    const bool lost = entry->attempt.lease_lost && !r->st->canceling;
    outbox_entry *end = lost ? NULL : entry_copy(e, entry);

    if (!lost && end == NULL)
        return false;
    outbox_take_out(entry);
    entry_move(entry, ENTRY_STRAY);
    if (lost) {                 /* the holder of the run performs it */
        r->commands_moved = true;
        r->marked_fence = 0;
    } else {
        (void)outbox_add(r, end);       /* its index has room: one entry went */
        if (r->st->canceling)
            end_called_off(e, entry, end);
        else
            end_late(e, entry, end);
    }
    budget_leave(e, entry);
    if (later_drop(entry))
        entry_free(e, entry);   /* nobody will ever come back with it */
    else
        later_unlist(entry);
    pool_replace(e);
    return true;
}

bool outbox_give_up(pawl_engine *e, cached_run *r, int64_t grace_ms)
{
    bool moved = outbox_any_running(r) && outbox_collect(e, 0);         /* what is back is not given up */
    int64_t now;

    if (!r->outbox.stops && !r->st->canceling)
        return moved;
    now = steady_ms();
    OUTBOX_EACH(r, entry, next, ENTRY_RUNNING) {
        const entry_attempt *a = &entry->attempt;
        const bool due = a->stop_ms > 0 && now - a->stop_ms >= grace_ms && (a->exceeded != NULL || a->lease_lost || r->st->canceling);

        moved = (due && entry_give_up(e, r, entry)) || moved;
    }
    r->outbox.stops = outbox_any_running(r);
    return moved;
}

pawl_code outbox_end_all(pawl_engine *e, cached_run *r, pawl_err *err)
{
    bool did = false;
    pawl_code rc = outbox_reconcile(e, r, NULL, err);

    if (rc != PAWL_OK)
        return rc;
    outbox_cancel(e, r, false);
    (void)outbox_give_up(e, r, 0);
    return receipts_feed(e, r, &did, err);
}

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
    return rc == PAWL_OK || rc == PAWL_CONFLICT;        /* delivered before: the first one stands */
}

/* They cannot be taken now: they are delivered to the run like what comes from outside, so that what happened is known to whoever can
 * take it (E13). One that cannot be delivered stays here. */
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

/* An entry stays until its receipt is stored, so that nothing is performed again for a failed append. */
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
            r->hurry = r->hurry || entry->limits.cls != PAWL_PURE;
            *did = true;
        }
    }
    if (rc < 0)
        receipts_deliver(e, r);
    return rc < 0 ? rc : PAWL_OK;
}

void outbox_finish(pawl_engine *e, cached_run *r)
{
    bool did = false;

    if (r->fence == 0 || r->st == NULL || r->lease_lost)
        return;
    OUTBOX_EACH(r, entry, next, ENTRY_DONE)
        if (entry->outcome != PAWL_DONE && entry->attempt.stop)
            entry_remove(e, entry);
    (void)backoffs_store(e, r, NULL);   /* what did not begin is not to be in doubt */
    if (receipts_feed(e, r, &did, NULL) == PAWL_OK && r->nlines > 0)
        (void)runs_commit(e, &r, 1, false, NULL);
}
