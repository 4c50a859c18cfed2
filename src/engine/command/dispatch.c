/* dispatch.c - commands are carried out: each becomes an errand, which makes its attempts and comes back with a receipt. */
#include "engine/command/outbox.h"
#include "engine/run/stream_ring.h"
#include "engine/scheduler/scheduler.h"

enum { BATCH_MS = 1, REST_MS = 20 };

/* ---- they come back ---------------------------------------------------------------------------- */

static void errand_back(pawl_engine *e, errand *er)
{
    int64_t now = engine_now(e);
    live *r = er->run;

    bool lost = er->lost || r->lease_lost || (e->abandoned && !er->refused);

    budget_leave(e, er);
    if (!er->refused) {
        errand_limits(e, er, now);
        reply_limit(e, er);
    }
    if (lost && er->rc < 0) {   /* stopped, or too late: whoever holds the run has it performed, under numbers that are not known here (S2, E13) */
        errand_gone(e, r, er);
        r->commands_moved = true;
        r->marked_fence = 0;
        return;
    }
    if (er->refused) {
        errand_unbegun(e, er);
        return;
    }
    cost_add(er);
    if (!errand_again(e, er, now))
        receipt_make(e, er);
    else if (ring_here(e) != NULL)
        ring_attempt_failed(ring_here(e), er);
}

/* Those of all runs that came back from the pool. */
bool errands_come(pawl_engine *e, int64_t wait_ms)
{
    errand *first = completions_take(e, wait_ms);

    for (errand *er = first, *next; er != NULL; er = next) {
        next = er->queued;
        e->late += er->stray && er->begun_ms > 0;
        if (er->run == NULL)
            errand_free(e, er);
        else if (!er->open)
            errand_gone(e, er->run, er);
        else
            errand_back(e, er);
    }
    return first != NULL;
}

/* ---- and leave ---------------------------------------------------------------------------------- */

static bool is_ready(const errand *er, int64_t now)
{
    return er->at == ERRAND_READY && er->h != NULL && er->not_before_ms <= now;
}

static unsigned ready_count(const live *r, int64_t now)
{
    unsigned n = 0;

    for (const errand *er = r->errands; er != NULL; er = er->next)
        n += is_ready(er, now) && er->place != PLACE_WAITS;
    return n;
}

static bool any_waits(const live *r)
{
    for (const errand *er = r->errands; er != NULL; er = er->next)
        if (er->place == PLACE_WAITS)
            return true;
    return false;
}

/* Those that must not begin any more end here; the others ask for a place. */
static pawl_code errands_ask(pawl_engine *e, live *r, int64_t now, pawl_err *err)
{
    for (errand *er = r->errands; er != NULL; er = er->next) {
        if (!is_ready(er, now))
            continue;
        if (is_unknown(er)) {
            er->rc = pawl_reply_fail(&er->reply, PAWL_UNKNOWN, "%s: it was begun, and nobody knows what came of it", er->job.effect);
            receipt_make(e, er);
        } else if (is_over(er, now)) {
            pawl_reply_untouched(&er->reply);
            er->rc = pawl_reply_fail(&er->reply, PAWL_TIMEOUT, "%s: it took longer than its total_timeout_ms allows", er->job.effect);
            receipt_make(e, er);
        } else if (!er->h->sql && !budget_enter(e, er)) {
            return fail(err, PAWL_NOMEM, "%s: no memory to have it wait", er->job.id);
        }
    }
    budgets_grant(e, now);
    for (errand *er = r->errands; er != NULL && e->waiting > 0; er = er->next)
        er->waited = er->waited || er->place == PLACE_WAITS;
    return PAWL_OK;
}

/* To the pool: all of them, or those alone that have a limit. */
static pawl_code errands_put(pawl_engine *e, live *r, bool all, int64_t now, pawl_err *err)
{
    pawl_code rc;

    for (errand *er = r->errands; er != NULL; er = er->next) {
        er->leaves = is_ready(er, now) && !er->h->sql && er->place != PLACE_WAITS && (all || has_limit(&er->limits));
        if (er->leaves && (rc = args_take(e, er, err)) != PAWL_OK)
            return rc;
    }
    if ((rc = leaving_mark(e, r, now, err)) != PAWL_OK)
        return rc;
    for (errand *er = r->errands; er != NULL; er = er->next)
        if (er->leaves) {
            errand_begin(e, er, now);
            pool_put(e, er);
        }
    return PAWL_OK;
}

/* All that are ready leave: to the pool when there are several or other runs wait, else here, one after another while they are short. */
static pawl_code errands_leave(pawl_engine *e, live *r, bool wait, pawl_err *err)
{
    int64_t now = engine_now(e), begun = now;
    bool alone;
    pawl_code rc = e->draining ? PAWL_OK : counted_store(e, r, now, err);

    if (e->draining)
        unbegun_look(r);
    else if (ready_count(r, now) > 0)
        leases_check(e);
    if (rc == PAWL_OK && !e->draining)
        rc = errands_ask(e, r, now, err);
    if (rc == PAWL_OK && !e->draining && pool_size(e) > 0)
        rc = errands_put(e, r, !wait || ready_count(r, now) > 1 || any_waits(r) || any_out(r) || pawl_state_waits(r->st) > 0, now, err);
    alone = wait && ready_count(r, now) == 1 && !any_out(r);
    for (errand *er = r->errands, *next; er != NULL && rc == PAWL_OK && !e->draining; er = next) {
        bool once = er->limits.cls == PAWL_ONCE;
        pawl_code did;

        next = er->next;
        if (!is_ready(er, now) || er->h->sql || er->place == PLACE_WAITS)
            continue;
        if ((rc = args_lend(e, er, err)) != PAWL_OK || (rc = lone_mark(e, r, er, now, err)) != PAWL_OK) {
            args_return(er);
            break;
        }
        errand_begin(e, er, now);
        er->job.alone = alone;
        keeper_here(e, er);
        did = errand_run(er);
        keeper_here(e, NULL);
        args_return(er);
        if (attempt_returned(e, er, did))
            errand_back(e, er);
        else
            completions_expect(e, 1);
        now = engine_now(e);
        budgets_grant(e, now);
        if (now - begun >= BATCH_MS || once || r->lease_lost)
            break;              /* what came of it is stored before more is begun */
    }
    for (errand *er = r->errands; er != NULL && rc != PAWL_OK; er = er->next)
        er->leaves = false;
    return rc;
}

void errand_unbegun(pawl_engine *e, errand *er)
{
    if (er->run == NULL) {
        errand_free(e, er);
        return;
    }
    budget_leave(e, er);
    if (er->lost) {             /* others have counted since: nothing is taken back */
        er->run->commands_moved = true;
        er->run->marked_fence = 0;
        errand_gone(e, er->run, er);
        return;
    }
    er->at = ERRAND_READY;
    er->job.attempt--;
    er->counted = er->unmarks = er->marked;
    er->unsure = er->was_unsure;
    if (er->job.attempt == er->cleared)
        er->first_ms = 0;       /* it was not the first either */
}

/* ---- all of it --------------------------------------------------------------------------------- */

/* One is done that the keeper stopped: a cancel waits to be taken. */
static bool called(const live *r)
{
    for (const errand *er = r->errands; er != NULL; er = er->next)
        if (er->at == ERRAND_DONE && er->open && er->stop && er->late == NULL && !r->st->canceling)
            return true;
    return false;
}

static void say_why(pawl_engine *e, const live *r, pawl_err *why)
{
    for (const errand *er = r->errands; er != NULL; er = er->next)
        if (er->h == NULL && er->child == NULL)
            fail(why, PAWL_PENDING, "%s: no handler for effect \"%s\"", er->job.id, er->job.effect != NULL ? er->job.effect : "");
    children_why(e, r, why);
}

static int64_t sooner(int64_t a, int64_t b)
{
    return a == 0 || (b > 0 && b < a) ? b : a;
}

/* The first of its timers (`sleep`), back-offs, and of the tokens and time limits of those that wait for a place; 0: there is none. */
static int64_t soonest(const pawl_engine *e, const live *r, int64_t sleep)
{
    int64_t first = sleep;

    for (const errand *er = r->errands; er != NULL; er = er->next) {
        if (er->at != ERRAND_READY || er->h == NULL)
            continue;
        if (er->place != PLACE_WAITS)
            first = sooner(first, er->not_before_ms);
        else if (er->first_ms > 0 && er->limits.total_timeout_ms > 0)
            first = sooner(first, er->first_ms + er->limits.total_timeout_ms + 1);
    }
    return any_waits(r) ? sooner(first, budgets_next(e)) : first;
}

/* Nothing can be done now: until a timer, or somebody comes back; deliveries are looked for in between. `waits`: for a place, too. False:
 * there is nothing to wait for. */
static bool rest(pawl_engine *e, const live *r, int64_t until, bool waits)
{
    int64_t now = engine_now(e), left;
    bool given = e->clock.sleep_until != NULL;

    if (until > 0)
        until = sooner(until, deadline_ms(r));
    left = until - now;
    if (any_out(r) || (waits && until == 0 && completions_out(e) > 0)) {
        (void)errands_come(e, given || until == 0 || left > REST_MS ? REST_MS : left > 1 ? left : 1);
        return true;
    }
    if (until == 0 && !waits)
        return false;
    keeper_begin(e);
    engine_sleep(e, until > 0 && (given || left < REST_MS) ? until : now + REST_MS);
    return true;
}

/* Nothing leaves any more: what is out is waited for, and no timer. */
static pawl_code rest_drained(pawl_engine *e, live *r, bool *did, pawl_err *err)
{
    if (any_out(r))
        (void)errands_come(e, REST_MS);
    *did = true;                /* who drives sees whether all is back */
    return receipts_feed(e, r, did, err);
}

static pawl_code perform_held(pawl_engine *e, live *r, bool wait, bool *did, pawl_err *err)
{
    pawl_err why = { PAWL_OK, "" };
    int64_t sleep = 0, until, wake = 0;
    bool waits;
    bool came;
    pawl_code rc;

    *did = r->children_ask = false;
    if (!live_fits(r))          /* it could not take what came of it */
        return fail(err, PAWL_CONFLICT, "%s: it runs under machine %s %u, and this is another %s %u: adopt it before anything is performed",
                    r->id, r->st->machine, (unsigned)r->st->version, pawl_machine_name(r->m), (unsigned)pawl_machine_version(r->m));
    if ((rc = errands_meet(e, r, &why, err)) != PAWL_OK)
        return rc;
    if ((rc = rests_mark(e, r, err)) != PAWL_OK)        /* of those that came while others were looked after */
        return rc;
    handlers_look(e, r);
    if (!e->draining && (rc = children_begin(e, r, &why, err)) != PAWL_OK)
        return rc;
    if (r->st->canceling && !BROKEN(BROKEN_CANCEL))
        errands_call_off(e, r, true);
    errands_watch(e, r, engine_now(e));
    came = errands_give_up(e, r, e->grace_ms);
    if ((rc = receipts_feed(e, r, did, err)) != PAWL_OK || *did)        /* of an append that failed */
        return rc;
    if ((rc = timers_fire(e, r, &sleep, did, err)) != PAWL_OK || *did)
        return rc;
    if ((rc = errands_leave(e, r, wait, err)) != PAWL_OK)
        return rc;
    came = errands_come(e, 0) || came;
    if ((rc = rests_mark(e, r, err)) != PAWL_OK)
        return rc;
    if (r->lease_lost || called(r)) {
        *did = true;            /* what stopped it is looked at first */
        return PAWL_OK;
    }
    if ((rc = receipts_feed(e, r, did, err)) != PAWL_OK || *did ||
        (!e->draining && (rc = sql_choose(e, r, did, err)) != PAWL_OK) || *did || !wait)
        return rc;
    if (came || (ready_count(r, 0) > 0 && !e->draining)) {
        *did = true;
        return PAWL_OK;
    }
    until = soonest(e, r, sleep);
    waits = any_waits(r);
    if (children_open(r)) {
        errands_unqueue(e, r);  /* meanwhile it is they that are driven */
        if ((rc = children_drive(e, r, did, &wake, err)) != PAWL_OK || *did)
            return rc;
    }
    if (e->draining)
        return rest_drained(e, r, did, err);
    if ((until > 0 || wake > 0 || waits) && (rc = store_all(e, r, err)) != PAWL_OK)     /* it pauses */
        return rc;
    if (rest(e, r, sooner(until, wake), waits)) {
        *did = true;
        return receipts_feed(e, r, did, err);
    }
    say_why(e, r, &why);
    r->children_ask = why.code == PAWL_OK && children_open(r);
    if (why.code != PAWL_OK)
        fail(err, why.code, "%s", why.text);
    return PAWL_OK;
}

pawl_code perform(pawl_engine *e, live *r, bool wait, bool *did, pawl_err *err)
{
    pawl_code rc = perform_held(e, r, wait, did, err);

    if (rc == PAWL_FENCED)
        live_lost(e, r);        /* nothing more leaves, and what is out stops (S2) */
    return rc;
}
