/* engine.c - makes, configures and frees an engine; sends events to its runs.
 *
 * The public functions of pawl/engine.h that have no file of their own. Called by hosts: on the driving thread, without a lock, but for
 * pawl_engine_stop(), _wake(), _drain() and _abandon(), which any thread may call. */
#include "engine/command/handler.h"
#include "engine/command/outbox.h"
#include "engine/run/delivery.h"
#include "engine/run/run.h"
#include "engine/run/stream_ring.h"
#include "engine/scheduler/scheduler.h"
#include "engine/run/owner.h"

#include <stdio.h>
#include <string.h>

/* ---- made ----------------------------------------------------------------------------------- */

enum {
    TTL_MS = 30000, GRACE_MS = 10000,
    BLOB_BYTES = 65536,         /* of a value in a line; a larger one becomes a blob */
    REPLY_BYTES_MAX = 67108864, /* of a handler's reply */
    TAIL_BYTES_LEAST = 65536    /* a shorter tail is cheaper to fold again than a snapshot is to store */
};

/* Recursive: a function that runs in the transaction of an append may call the store, whose lock its thread already has (sql_command.c). */
static void lock_init(pthread_mutex_t *lock)
{
    pthread_mutexattr_t attr;

    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(lock, &attr);
    pthread_mutexattr_destroy(&attr);
}

pawl_engine *pawl_engine_new(pawl_machine *m, pawl_store *store, pawl_err *err)
{
    pawl_alloc alloc = mem_or_default(NULL);
    pawl_engine *e = m == NULL || store == NULL ? NULL : mem_new(&alloc, sizeof *e);
    uint64_t drawn[2] = {0};

    if (m != NULL && store != NULL && e == NULL)
        fail(err, PAWL_NOMEM, "no memory for an engine");
    if (e == NULL) {
        pawl_machine_free(m);
        pawl_store_free(store);
        return NULL;
    }
    e->alloc = alloc;
    e->m = m;
    e->store = store;
    if (store->verbs->file != NULL && (e->reach.path = store->verbs->file(store)) != NULL)
        reach_keep(&e->reach);
    e->ttl_ms = TTL_MS;
    e->tries = 1;               /* no cached run was tried yet */
    e->tail_bytes_least = TAIL_BYTES_LEAST;
    e->grace_ms = GRACE_MS;
    pthread_mutex_init(&e->said_lock, NULL);
    pthread_mutex_init(&e->rouse_lock, NULL);
    pthread_mutex_init(&e->left_lock, NULL);
    cond_begin(&e->rouse);
    lock_init(&e->lock);
    buf_init(&e->text, &alloc);
    e->step = pawl_step_new(NULL);
    e->look = pawl_step_new(NULL);
    e->lent = pawl_step_new(NULL);
    e->reply_bytes_max = REPLY_BYTES_MAX;
    (void)chance(e, drawn);
    owner_name(e->owner, sizeof e->owner, drawn[0]);
    if (e->step == NULL || e->look == NULL || e->lent == NULL || !cached_runs_begin(e) || !completions_begin(e)) {
        fail(err, PAWL_NOMEM, "no memory for an engine");
        pawl_engine_free(e);
        return NULL;
    }
    pawl_engine_blobs(e, BLOB_BYTES);
    return e;
}

/* Runs stay in the store as they are: the next engine on the store continues them. */
void pawl_engine_free(pawl_engine *e)
{
    if (e == NULL)
        return;
    pawl_alloc alloc = e->alloc;

    e->draining = true;         /* an attempt that waits for a thread never starts, and is not canceled */
    for (size_t i = 0; i < e->run_slots; i++)
        for (cached_run *r = e->runs[i]; r != NULL; r = r->next)
            outbox_stop_all(r);
    outbox_end_pool(e);
    outbox_end_held(e);
    left_end_all(e);
    renewal_end(e);
#ifndef PAWL_NO_BUILTIN_EFFECTS
    http_forget();
#endif
    for (size_t i = 0; i < e->run_slots; i++)
        for (cached_run *r = e->runs[i], *next; r != NULL; r = next) {
            next = r->next;
            outbox_finish(e, r);
            (void)run_release(e, r, NULL);
            cached_run_free(e, r);
        }
    for (handler *h = e->handlers, *next; h != NULL; h = next) {
        next = h->next;
        mem_free(&alloc, h, sizeof *h + strlen(h->name) + 1);
    }
    cached_runs_end(e);
    run_rules_free(e);
    completions_end(e);
    ring_end(e);
    backlog_free(e);
    budgets_free(e);
    buf_free(&e->text);
    pawl_step_free(e->step);
    pawl_step_free(e->look);
    pawl_step_free(e->lent);
    pawl_machine_free(e->m);
    for (size_t i = 0; i < e->nmore; i++)
        pawl_machine_free(e->more[i]);
    mem_free(&alloc, e->more, e->more_cap * sizeof *e->more);
    reach_drop(&e->reach);
    pawl_store_free(e->store);
    pthread_mutex_destroy(&e->lock);
    pthread_mutex_destroy(&e->said_lock);
    pthread_cond_destroy(&e->rouse);
    pthread_mutex_destroy(&e->rouse_lock);
    pthread_mutex_destroy(&e->left_lock);
    mem_free(&alloc, e, sizeof *e);
}

void pawl_engine_blobs(pawl_engine *e, size_t limit)
{
    if (e == NULL)
        return;
    pawl_step_blobs(e->step, limit);
    pawl_step_blobs(e->look, limit);
}

void pawl_engine_reply_max(pawl_engine *e, size_t bytes)
{
    if (e != NULL)
        e->reply_bytes_max = bytes > 0 ? bytes : REPLY_BYTES_MAX;
}

pawl_store *pawl_engine_store(pawl_engine *e) { return e == NULL ? NULL : e->store; }
const pawl_machine *pawl_engine_machine(const pawl_engine *e) { return e == NULL ? NULL : e->m; }
pawl_step *pawl_engine_step(pawl_engine *e) { return e == NULL ? NULL : e->look; }

void pawl_engine_threads(pawl_engine *e, unsigned threads)
{
    if (e == NULL)
        return;
    outbox_end_pool(e);
    pool_begin(e, threads);
}

void pawl_engine_lease(pawl_engine *e, const char *owner, int64_t ttl_ms)
{
    if (e == NULL)
        return;
    if (owner != NULL && *owner != '\0')
        snprintf(e->owner, sizeof e->owner, "%s", owner);
    if (ttl_ms > 0)
        e->ttl_ms = ttl_ms;
}

void pawl_engine_grace(pawl_engine *e, int64_t ms)
{
    if (e != NULL)
        e->grace_ms = ms < 0 ? GRACE_MS : ms;
}

uint64_t pawl_engine_late(const pawl_engine *e) { return e == NULL ? 0 : e->late; }

void pawl_engine_stop(pawl_engine *e)
{
    if (e != NULL)
        e->stopping = true;
}

void pawl_engine_wake(pawl_engine *e)
{
    if (e == NULL)
        return;
    e->roused = true;
    pthread_mutex_lock(&e->rouse_lock);
    pthread_cond_signal(&e->rouse);
    pthread_mutex_unlock(&e->rouse_lock);
    completions_wake(e);
}

void pawl_engine_drain(pawl_engine *e)
{
    if (e != NULL)
        e->draining = true;
}

void pawl_engine_abandon(pawl_engine *e)
{
    if (e == NULL)
        return;
    e->draining = true;         /* before `abandoned`: a stopped attempt must not be made again */
    e->abandoned = true;
    e->stopping = true;
}

void pawl_engine_admit(pawl_engine *e, pawl_admit_fn *fn, void *ctx)
{
    if (e == NULL)
        return;
    e->admit = fn;
    e->admit_ctx = ctx;
}

void pawl_engine_settings(pawl_engine *e, pawl_settings_fn *fn, void *ctx)
{
    if (e == NULL)
        return;
    e->settings = fn;
    e->settings_ctx = ctx;
}

void pawl_engine_notice(pawl_engine *e, pawl_notice_fn *fn, void *ctx)
{
    if (e == NULL)
        return;
    e->notice = fn;
    e->notice_ctx = ctx;
}

uint64_t pawl_engine_refolds(const pawl_engine *e) { return e == NULL ? 0 : e->refolds; }

void pawl_engine_watch(pawl_engine *e, pawl_watch_fn *fn, void *ctx)
{
    if (e == NULL)
        return;
    e->watch = fn;
    e->watch_ctx = ctx;
}

void pawl_engine_clock(pawl_engine *e, const pawl_clock *clock)
{
    if (e != NULL)
        e->clock = clock != NULL ? *clock : (pawl_clock){0};
}

void pawl_engine_approvers(pawl_engine *e, pawl_approver_fn *fn, void *ctx)
{
    if (e == NULL)
        return;
    e->approver = fn;
    e->approver_ctx = ctx;
}

void pawl_engine_secret(pawl_engine *e, pawl_secret_fn *fn, void *ctx)
{
    if (e == NULL)
        return;
    e->secret = fn;
    e->secret_ctx = ctx;
    backlog_clear(e);
}

/* ---- runs -------------------------------------------------------------------------------------- */

/* Another engine has the lease of the run: stores a delivery, which that engine takes. Durable when this returns. */
static pawl_code deliver(pawl_engine *e, const char *run, const pawl_event *ev, pawl_err *err)
{
    uint64_t drawn[2];
    char id[40];
    pawl_delivery d;
    pawl_code rc;

    if (!delivery_from_event(ev, &d))
        return fail(err, PAWL_HELD, "%s: another engine holds it, and this event cannot be delivered", run);
    d.id = id;
    if (ev->kind == PAWL_EV_ANSWER && (d.name = wait_named(e, run, ev->id, err)) == NULL)
        return code_before(err);
    if (!chance(e, drawn))
        return fail(err, PAWL_IO, "%s: the system gives no random numbers", run);
    snprintf(id, sizeof id, "d-%016llx%016llx", (unsigned long long)drawn[0], (unsigned long long)drawn[1]);
    pthread_mutex_lock(&e->lock);
    rc = e->store->verbs->deliver(e->store, run, &d, err);
    pthread_mutex_unlock(&e->lock);
    if (rc != PAWL_OK)
        return rc;
    e->left_no = d.no;
    return PAWL_PENDING;
}

pawl_code pawl_event_send(pawl_engine *e, const char *run, const pawl_event *ev, pawl_err *err)
{
    pawl_err why = { PAWL_OK, "" };
    cached_run *r = NULL;
    pawl_code rc = e == NULL ? code_before(err) : run_known(e, run, &r, err);

    if (rc != PAWL_OK)
        return rc;
    e->left_no = 0;
    if ((rc = store_by_check(run, ev->by, err)) != PAWL_OK)
        return rc;
    rc = drive(e, r, ev, &why);
    if (rc == PAWL_HELD && r->fence == 0)
        return deliver(e, run, ev, err);
    if (why.code != PAWL_OK)
        fail(err, why.code, "%s", why.text);
    return rc;
}

pawl_code pawl_answer(pawl_engine *e, const char *run, const char *wait, const char *answer, pawl_err *err)
{
    const pawl_event ev = { .kind = PAWL_EV_ANSWER, .id = wait, .value = answer };

    return pawl_event_send(e, run, &ev, err);
}
