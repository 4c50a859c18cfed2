/* receipts.c - what handlers come to is fed, and stays until it is stored. */
#include "engine/command/outbox.h"

#include <stdio.h>
#include <string.h>

static pawl_outcome outcome_of(pawl_code rc)
{
    return rc >= 0 ? PAWL_DONE : rc == PAWL_TIMEOUT ? PAWL_TIMED_OUT : rc == PAWL_UNKNOWN ? PAWL_OUTCOME_UNKNOWN
           : rc == PAWL_CANCELED ? PAWL_CALLED_OFF : PAWL_ERROR;
}

/* Final, whatever it was: the same would come again (E13). */
void reply_limit(const pawl_engine *e, errand *er)
{
    size_t bytes = er->rc < 0 ? er->reply.detail.size : er->reply.text.size;

    if (bytes <= e->reply_bytes_max)
        return;
    er->rc = pawl_reply_fail(&er->reply, PAWL_LIMIT, "%s: %s: its reply has %zu bytes, which is over the limit of %zu (reply_bytes_max)", er->job.id,
                             er->job.effect, bytes, e->reply_bytes_max);
    buf_free(&er->reply.detail);
    buf_init(&er->reply.detail, &er->reply.alloc);
}

/* What is no JSON is an error of the handler's. */
void reply_check(pawl_engine *e, errand *er)
{
    buf *b = &er->reply.text;
    arena mem;
    pawl_err wrong = {0};

    if (er->rc >= 0 && b->size == 0)
        buf_text(b, "null");
    if (er->rc < 0 || b->failed)
        return;
    arena_init(&mem, &e->alloc, 4096);
    if (value_parse(&mem, b->data, b->size, "the reply", &wrong) == NULL)
        er->rc = wrong.code == PAWL_NOMEM ? PAWL_NOMEM : pawl_reply_fail(&er->reply, wrong.code, "%s: %s", er->job.effect, wrong.text);
    arena_free(&mem);
}

/* When it fails a person is asked, and may have it performed again: then what was counted counts no more. */
static bool is_inverse(const errand *er)
{
    return strstr(er->job.id, "." UNDO_TASK ".") != NULL;
}

/* What the handler said becomes the receipt's value. */
void receipt_make(pawl_engine *e, errand *er)
{
    buf *b = &er->reply.text;
    bool doubt;

    budget_leave(e, er);
    if (er->settling != NULL && !settle_end(e, er))
        return;
    reply_check(e, er);
    if (b->failed || er->rc == PAWL_NOMEM)      /* it has happened: what it said found no memory */
        er->rc = pawl_reply_fail(&er->reply, PAWL_UNKNOWN, "%s: its receipt found no memory", er->job.effect);
    if (er->limits.cls == PAWL_ONCE && tried_again(er->rc) && !er->reply.untouched)
        er->rc = PAWL_UNKNOWN;      /* it may have happened (E5) */
    doubt = er->rc == PAWL_UNKNOWN && (er->limits.cls == PAWL_ONCE || er->limits.cls == PAWL_COMPENSABLE);
    if (doubt && settle_begin(e, er))
        return;
    er->outcome = outcome_of(er->rc);
    cost_say(er);
    if (er->rc < 0) {
        buf_reset(b);
        reply_failure(&er->reply, er->rc, doubt || is_inverse(er) ? er->job.attempt : 0, b);
    }
    er->at = ERRAND_DONE;
}

void errands_call_off(pawl_engine *e, live *r, bool wait)
{
    for (errand *er = r->errands; er != NULL; er = er->next) {
        if (er->at == ERRAND_OUT)
            told_to_stop(er);
        er->stop = true;
        if (er->at != ERRAND_READY || (er->child != NULL && child_cancel(e, er) && wait))
            continue;
        if (er->unsure && er->job.attempt > er->cleared && er->limits.cls != PAWL_PURE)
            er->rc = pawl_reply_fail(&er->reply, PAWL_UNKNOWN, "%s: it was begun, and nobody knows what came of it", er->job.effect);
        else
            er->rc = pawl_reply_fail(&er->reply, PAWL_CANCELED, "%s: called off before it began", er->job.effect != NULL ? er->job.effect : "");
        er->asks_settled = false;       /* nothing new begins */
        receipt_make(e, er);
    }
}

static void end_called_off(pawl_engine *e, const errand *er, errand *end)
{
    if (er->begun_ms == 0)
        end->rc = pawl_reply_fail(&end->reply, PAWL_CANCELED, "%s: called off before it began", end->job.effect);
    else if (end->limits.cls == PAWL_PURE)
        end->rc = pawl_reply_fail(&end->reply, PAWL_CANCELED, "%s: called off, and not waited for", end->job.effect);
    else
        end->rc = pawl_reply_fail(&end->reply, PAWL_UNKNOWN, "%s: called off, it did not stop in time, and nobody knows what comes of it",
                                  end->job.effect);
    receipt_make(e, end);
}

/* Over a limit (E8): as if it had come back now. */
static void end_late(pawl_engine *e, const errand *er, errand *end)
{
    if (er->settling != NULL) {
        end->rc = pawl_reply_fail(&end->reply, PAWL_UNKNOWN, "%s: who was asked what came of it does not answer", end->job.effect);
    } else {
        end->rc = pawl_reply_fail(&end->reply, PAWL_TIMEOUT, "%s: it took longer than its %s allows, and did not stop", end->job.effect, er->late);
        end->asks_settled = er->asks_settled;
    }
    if (!errand_again(e, end, engine_now(e)))
        receipt_make(e, end);
}

/* What it says when it comes back finds nobody: another errand has its place in the run, or none, when the run was lost meanwhile.
 * False: no memory, it is waited for on. */
static bool stray(pawl_engine *e, live *r, errand **at)
{
    errand *er = *at, *end = NULL;

    if (er->lost && !r->st->canceling) {        /* whoever holds the run has it performed */
        r->commands_moved = true;
        r->marked_fence = 0;
    } else if ((end = errand_copy(e, er)) == NULL) {
        return false;
    } else if (r->st->canceling) {
        end_called_off(e, er, end);
    } else {
        end_late(e, er, end);
    }
    if (end != NULL)
        end->next = er->next;
    *at = end != NULL ? end : er->next;
    er->next = NULL;
    er->run = NULL;
    er->stray = true;
    budget_leave(e, er);        /* its place is another's */
    if (later_drop(er))
        errand_free(e, er);     /* nobody will ever come back with it */
    else
        later_unlist(er);
    pool_replace(e);
    return end != NULL;
}

bool errands_give_up(pawl_engine *e, live *r, int64_t grace_ms)
{
    int64_t now = steady_ms();
    bool moved = any_out(r) && errands_come(e, 0);      /* what is back is not given up */

    for (errand **at = &r->errands; *at != NULL;) {
        errand *er = *at;
        bool due = er->at == ERRAND_OUT && er->open && er->told_ms > 0 && now - er->told_ms >= grace_ms;

        if (!due || (er->late == NULL && !er->lost && !r->st->canceling) || stray(e, r, at) || *at == er)
            at = &(*at)->next;
        else
            moved = true;
    }
    return moved;
}

pawl_code errands_end(pawl_engine *e, live *r, pawl_err *err)
{
    bool did = false;
    pawl_code rc = errands_meet(e, r, NULL, err);

    if (rc != PAWL_OK)
        return rc;
    errands_call_off(e, r, false);
    (void)errands_give_up(e, r, 0);
    return receipts_feed(e, r, &did, err);
}

/* They cannot be taken now: they are left for the run like what comes from outside, so that what happened is known to whoever can
 * (E13). One that cannot be left stays here. */
static void receipts_leave(pawl_engine *e, live *r)
{
    for (errand *er = r->errands, *next; er != NULL; er = next) {
        char hex[HASH_HEX + 1], id[HASH_HEX + 16];
        pawl_delivery d = { .id = id, .kind = PAWL_DELIVER_RECEIPT, .name = er->job.id, .outcome = (int)er->outcome,
                            .value = { er->reply.text.data, er->reply.text.size }, .update = { er->usage.data, er->usage.size } };
        pawl_code rc;
        hash h;

        next = er->next;
        if (er->at != ERRAND_DONE)
            continue;
        hash_of(er->job.id, strlen(er->job.id), &h);
        hash_hex(&h, hex);
        snprintf(id, sizeof id, "receipt-%s", hex);
        pthread_mutex_lock(&e->lock);
        rc = e->store->verbs->deliver(e->store, r->id, &d, NULL);
        pthread_mutex_unlock(&e->lock);
        if (rc == PAWL_OK || rc == PAWL_CONFLICT)       /* left before: the first one stands */
            errand_gone(e, r, er);
    }
}

pawl_code receipt_feed(pawl_engine *e, live *r, errand *er, pawl_err *err)
{
    const pawl_event ev = { .kind = PAWL_EV_RECEIPT, .id = er->job.id, .outcome = er->outcome, .value = er->reply.text.data,
                            .value_size = er->reply.text.size, .time_ms = engine_now(e),
                            .update = er->usage.size > 0 && !er->usage.failed ? er->usage.data : NULL };
    pawl_code rc = run_feed(e, r, &ev, err);

    er->fed = er->fed || (rc >= 0 && rc != PAWL_IGNORED);
    return rc;
}

/* Done, and its receipt is fed; it stays until that is stored, so that nothing is performed again for a failed append. */
pawl_code receipts_feed(pawl_engine *e, live *r, bool *did, pawl_err *err)
{
    pawl_code rc = PAWL_OK;

    for (errand *er = r->errands, *next; er != NULL && rc >= 0; er = next) {
        next = er->next;
        if (er->at != ERRAND_DONE || er->fed)
            continue;
        rc = receipt_feed(e, r, er, err);
        if (rc == PAWL_IGNORED || rc == PAWL_INVALID) {
            errand_gone(e, r, er);
            rc = PAWL_OK;
        } else if (rc >= 0) {
            r->hurry = r->hurry || er->limits.cls != PAWL_PURE;
            *did = true;
        }
    }
    if (rc < 0)
        receipts_leave(e, r);
    return rc < 0 ? rc : PAWL_OK;
}

void errands_stored(pawl_engine *e, live *r)
{
    for (errand *er = r->errands, *next; er != NULL; er = next) {
        next = er->next;
        if (er->at == ERRAND_DONE && er->fed)
            errand_gone(e, r, er);
    }
}

void errands_keep(pawl_engine *e, live *r)
{
    bool did = false;

    if (r->fence == 0 || r->st == NULL || r->lease_lost)
        return;
    for (errand *er = r->errands, *next; er != NULL; er = next) {
        next = er->next;
        if (er->at == ERRAND_DONE && er->outcome != PAWL_DONE && er->stop && !er->fed)
            errand_gone(e, r, er);
    }
    (void)rests_mark(e, r, NULL);       /* what never began is not to be in doubt */
    if (receipts_feed(e, r, &did, NULL) == PAWL_OK && r->nlines > 0)
        (void)runs_commit(e, &r, 1, false, NULL);
}
