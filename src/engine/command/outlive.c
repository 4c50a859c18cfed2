/* outlive.c - what handlers leave running for their runs: it is ended when the run has ended, with the engine, and when another engine took the run; and what
 * may write of it in plan mode, as what they run themselves (A10, P1).
 *
 * Owns the list engine.left, under its own lock, which is held around no call of `end` and no other lock. job_outlive() is called on the thread of a
 * handler, the rest on the driving thread. Invariant: what is in the list is of a run that has not ended: a job that is stopped enters nothing, and a run
 * that ends has stopped its jobs. */
#include "engine/command/attempt.h"
#include "kernel/names.h"
#include "kernel/rights.h"
#include "kernel/state.h"

#include <stdio.h>
#include <string.h>

typedef struct left_running {
    struct left_running *next;
    pawl_end_fn *end;
    void *ctx;
    uint64_t fence;             /* of this engine's last claim of the run; under left_lock */
    bool lost;                  /* another engine had the run since; under left_lock */
    uint64_t mail;              /* the newest delivery that a look has found in its mailbox */
    char run[];                 /* its id: when one life of it has ended, what is left of an earlier one has to end, too */
} left_running;

pawl_code job_outlive(const pawl_job *job, pawl_end_fn *end, void *ctx)
{
    const outbox_entry *entry = job->ctx;
    pawl_engine *e = entry->e;
    size_t size = strcspn(job->id, "/");        /* RUN~LIFE/... */
    left_running *one;
    bool stopped;

    while (size > 0 && job->id[size] != '~')
        size--;
    if ((one = mem_new(&e->alloc, sizeof *one + size + 1)) == NULL)
        return PAWL_NOMEM;
    *one = (left_running){ .end = end, .ctx = ctx, .fence = job->fence };
    memcpy(one->run, job->id, size);
    one->run[size] = '\0';
    pthread_mutex_lock(&e->left_lock);
    stopped = job->canceled(job);
    if (!stopped) {
        one->next = e->left;
        e->left = one;
    }
    pthread_mutex_unlock(&e->left_lock);
    if (stopped)
        mem_free(&e->alloc, one, sizeof *one + size + 1);
    return stopped ? PAWL_CANCELED : PAWL_OK;
}

static bool is_of_run(const left_running *one, const char *run) { return strcmp(one->run, run) == 0; }

static bool is_lost(const left_running *one, const char *none)
{
    (void)none;
    return one->lost;
}

static bool is_any(const left_running *one, const char *none)
{
    (void)one, (void)none;
    return true;
}

typedef bool left_is_fn(const left_running *one, const char *run);

/* Takes the first one that fits out of the list. */
static left_running *left_take(pawl_engine *e, left_is_fn *fits, const char *run)
{
    left_running **at = &e->left, *one;

    pthread_mutex_lock(&e->left_lock);
    while (*at != NULL && !fits(*at, run))
        at = &(*at)->next;
    if ((one = *at) != NULL)
        *at = one->next;
    pthread_mutex_unlock(&e->left_lock);
    return one;
}

static void left_end_those(pawl_engine *e, left_is_fn *fits, const char *run, pawl_left_why why)
{
    for (left_running *one; (one = left_take(e, fits, run)) != NULL; ) {
        one->end(one->ctx, why);
        mem_free(&e->alloc, one, sizeof *one + strlen(one->run) + 1);
    }
}

/* The list as it is now. It can be walked without the lock: only the driving thread takes out of it, and others add in front. */
static left_running *left_first(pawl_engine *e)
{
    left_running *one;

    pthread_mutex_lock(&e->left_lock);
    one = e->left;
    pthread_mutex_unlock(&e->left_lock);
    return one;
}

/* The mode is passed on after each commit, since a handler that began before the change may have left something running after it (P1). */
void left_committed(pawl_engine *e, const char *run, pawl_state *st)
{
    left_running *one = left_first(e);
    bool asked = false;

    if (one != NULL && status_is_terminal(st->status)) {
        left_end_those(e, is_of_run, run, PAWL_LEFT_OVER);
        return;
    }
    for (; one != NULL; one = one->next) {
        if (!is_of_run(one, run))
            continue;
        if (!asked && run_mode(st, true) != RANK_PLAN)
            return;
        asked = true;
        one->end(one->ctx, PAWL_LEFT_PLAN);
    }
}

/* An attempt that begins in plan mode is told, too: its handler knows the mode, and nothing of it may write. */
void outbox_plan_mark(cached_run *r)
{
    if (!outbox_any_running(r) || run_mode(r->st, true) != RANK_PLAN)
        return;
    OUTBOX_EACH(r, entry, next, ENTRY_RUNNING)
        entry->attempt.planned = true;
    OUTBOX_EACH(r, unwanted, following, ENTRY_UNWANTED)
        unwanted->attempt.planned = true;
}

void left_lost(pawl_engine *e, const char *run)
{
    left_end_those(e, is_of_run, run, PAWL_LEFT_LOST);
}

void left_claimed(pawl_engine *e, const char *run, const pawl_head *head)
{
    pthread_mutex_lock(&e->left_lock);
    for (left_running *one = e->left; one != NULL; one = one->next) {
        if (!is_of_run(one, run))
            continue;
        one->lost = one->lost || one->fence != head->fence_before;
        one->fence = head->fence;
    }
    pthread_mutex_unlock(&e->left_lock);
}

void left_end_lost(pawl_engine *e)
{
    left_end_those(e, is_lost, NULL, PAWL_LEFT_LOST);
}

void left_check_leases(pawl_engine *e)
{
    for (left_running *one = left_first(e); one != NULL; one = one->next) {
        pawl_head head;
        pawl_code rc;

        pthread_mutex_lock(&e->lock);
        rc = e->store->verbs->head(e->store, one->run, &head, NULL);
        pthread_mutex_unlock(&e->lock);
        pthread_mutex_lock(&e->left_lock);
        one->lost = one->lost || rc == PAWL_GONE || (rc == PAWL_OK && head.fence != one->fence);
        pthread_mutex_unlock(&e->left_lock);
    }
    left_end_lost(e);
}

static bool see_newest(void *ctx, const pawl_delivery *d)
{
    uint64_t *newest = ctx;

    *newest = d->no;
    return true;
}

/* Whether no engine drives the run, and its mailbox has something newer than `*mail`: a count would hide what came when others were taken. */
static bool has_got_mail(pawl_engine *e, const char *run, uint64_t *mail)
{
    const pawl_store_verbs *v = e->store->verbs;
    uint64_t newest = 0;
    bool has = false;
    pawl_head head;

    pthread_mutex_lock(&e->lock);
    if (v->head(e->store, run, &head, NULL) == PAWL_OK && head.owner == NULL && head.mail > 0)
        has = v->deliveries(e->store, run, see_newest, &newest, NULL) == PAWL_OK && newest > *mail;
    pthread_mutex_unlock(&e->lock);
    if (has)
        *mail = newest;
    return has;
}

bool left_has_mail(pawl_engine *e, const char *also, char run[RUN_BYTES_MAX + 1])
{
    left_running *one = left_first(e);
    bool has;

    if (strcmp(e->rest_run, also) != 0) {
        snprintf(e->rest_run, sizeof e->rest_run, "%s", also);
        e->rest_mail = 0;
    }
    has = one != NULL && has_got_mail(e, also, &e->rest_mail);
    if (has)
        snprintf(run, RUN_BYTES_MAX + 1, "%s", also);
    for (; one != NULL && !has; one = one->next)
        if ((has = strcmp(one->run, also) != 0 && has_got_mail(e, one->run, &one->mail)))
            snprintf(run, RUN_BYTES_MAX + 1, "%s", one->run);
    return has;
}

void left_end_all(pawl_engine *e)
{
    left_end_those(e, is_any, NULL, PAWL_LEFT_OVER);
}
