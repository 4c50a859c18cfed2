/* checks.c - checks one write, one claim or one attempt.
 *
 * Owns nothing. Called by oracle.c for each line before it is folded, by store.c for each verb, and by remote.c for each attempt; on the thread of
 * pawl_sim. Everything is checked against durable data, never against what an engine remembers. */
#include "kernel/frame.h"
#include "kernel/item.h"
#include "kernel/journal/codec.h"
#include "kernel/names.h"
#include "kernel/spec.h"
#include "kernel/state.h"
#include "kernel/step.h"
#include "sim/sim.h"

#include <string.h>

enum { TOTAL_SLACK_MS = 20000 };        /* delays that may lie between the check of total_timeout_ms and the attempt */

/* ---- lines ------------------------------------------------------------------------------------------ */

/* E9: a sleep does not end before its time. */
void sleep_check(world *w, sim_run *y, const sim_command *d, const item *it)
{
    if (d->due_ms > 0 && !state_canceling(y->st))
        sim_holds(w, PROMISE_E9_EARLY, it->at >= d->due_ms, y, d->id, "%s: it sleeps until %lld, and its receipt is of %lld", d->id,
                  (long long)d->due_ms, (long long)it->at);
}

/* An answer that was delivered in time counts, whenever it is taken. */
static bool answered_before(world *w, const sim_run *y, const item *it, int64_t deadline_ms)
{
    bool before = false;
    buf b;

    buf_init(&b, &w->alloc);
    id_code(&b, it);
    for (const sim_answer *a = y->answers; a != NULL && !b.failed; a = a->next)
        before = before || (a->at_ms < deadline_ms && a->size > b.size && a->id[a->size - b.size - 1] == '/' &&
                            memcmp(a->id + a->size - b.size, b.data, b.size) == 0);
    if (b.failed)
        sim_nomem(w);
    buf_free(&b);
    return before;
}

/* W5: an answer after the deadline finds the default. */
void answer_check(world *w, sim_run *y, const item *it)
{
    frame *in;
    const call *c = call_find(y->st, it->superstep, it->task, it->visit, it->n, &in, NULL);
    const pawl_value *expires, *otherwise;

    if (c == NULL || c->kind != CALL_ASK || c->wait != PAWL_WAIT_APPROVAL)
        return;
    step_reset(w->look_specs);
    expires = spec_get(w->look_specs, c, "expires");
    otherwise = spec_get(w->look_specs, c, "otherwise");
    if (expires != NULL && otherwise != NULL && it->at >= pawl_value_int(expires) && !answered_before(w, y, it, pawl_value_int(expires)))
        sim_holds(w, PROMISE_W5, pawl_value_equal(it->value, otherwise), y, NULL,
                  "%s: an approval of task %s whose deadline was %lld has another answer at %lld", y->id, it->task,
                  (long long)pawl_value_int(expires), (long long)it->at);
}

/* "3.pay:1.2.0" comes after "3.pay:1.1.4"; tasks of the same superstep are not ordered. */
static bool comes_after(const char *a, const char *b)
{
    char path_a[PATH_BYTES_MAX + 1], path_b[PATH_BYTES_MAX + 1];
    uint64_t step_a, step_b;
    uint32_t visit_a, visit_b, n_a, n_b;

    if (!id_parse(a, path_a, &step_a, &visit_a, &n_a) || !id_parse(b, path_b, &step_b, &visit_b, &n_b))
        return false;
    if (step_a != step_b)
        return step_a > step_b;
    if (strcmp(path_a, path_b) != 0)
        return false;
    return visit_a != visit_b ? visit_a > visit_b : n_a > n_b;
}

/* E5: inverses are issued one at a time, the latest command first. */
void inverse_check(world *w, sim_run *y, const item *it)
{
    const pawl_value *spec, *args;
    const char *id;
    sim_command *d;
    arena mem;

    arena_init(&mem, &w->alloc, 512);
    spec = value_read(&mem, it->spec, it->spec_size, "a spec", NULL);
    args = pawl_value_get(spec, "args");
    id = pawl_value_string(pawl_value_get(args, "id"));
    if (id != NULL && strlen(id) < sizeof y->undone_id) {
        sim_holds(w, PROMISE_E5_ORDER, *y->undone_id == '\0' || !comes_after(id, y->undone_id), y, id,
                  "%s: %s is undone after %s, and was done after it", y->id, id, y->undone_id);
        memcpy(y->undone_id, id, strlen(id) + 1);
        if ((d = command_local(w, y, id)) != NULL)
            d->undone = true;
    }
    arena_free(&mem);
    sim_holds(w, PROMISE_E5_ORDER, pawl_state_commands(y->st) <= 1, y, id, "%s: an inverse leaves while %zu commands are open", y->id,
              pawl_state_commands(y->st));
}

/* A receipt that was delivered for an earlier life of the run, under the same local id, is taken from the mailbox: it must not end a command of this
 * life. */
void stale_receipts_check(world *w, sim_run *y, const pawl_append *a)
{
    for (size_t i = 0; i < a->ntaken && !w->over; i++)
        for (size_t k = 0; k < w->nstale; k++) {
            const sim_command *d = w->stale[k].no == a->taken[i] && w->stale[k].run == y ? command_local(w, y, w->stale[k].id) : NULL;

            if (d != NULL)
                sim_holds(w, PROMISE_E16, d->receipts == 0 || d->performed > 0, y, d->id, "%s: it has the receipt of an earlier life of the run", d->id);
        }
}

/* ---- timers ------------------------------------------------------------------------------------------- */

typedef struct first_timer { world *w; int64_t at; } first_timer;

static bool see_timer(void *ctx, const frame *f, const task *tk, const char *path, const call *c, uint32_t n)
{
    first_timer *t = ctx;
    int64_t at = 0;

    (void)f, (void)tk, (void)path, (void)n;
    if (call_is_open(c) && c->kind == CALL_SLEEP)
        at = c->time_ms;
    else if (call_is_open(c) && c->kind == CALL_ASK && spec_get(t->w->look_specs, c, "otherwise") != NULL)
        at = pawl_value_int(spec_get(t->w->look_specs, c, "expires"));
    if (at > 0 && (t->at == 0 || at < t->at))
        t->at = at;
    return true;
}

int64_t first_timer_ms(world *w, const sim_run *y)
{
    first_timer t = { .w = w };

    step_reset(w->look_specs);
    state_each_call(y->st, see_timer, &t);
    return t.at;
}

/* E9: the store wakes a run that nobody holds no later than at its first timer. */
void timers_check(world *w, sim_run *y)
{
    pawl_head head;
    int64_t at;

    if (w->over || y->st == NULL || pawl_status_terminal(pawl_state_status(y->st)) ||
        w->store->verbs->head(w->store, y->id, &head, NULL) != PAWL_OK || head.owner != NULL || head.parked != NULL)
        return;
    if ((at = first_timer_ms(w, y)) > 0)
        sim_holds(w, PROMISE_E9_STORED, head.work || head.mail > 0 || (head.wake_ms > 0 && head.wake_ms <= at), y, NULL,
                  "%s: nobody holds it, its first timer is due at %lld, and the store wakes it at %lld", y->id, (long long)at,
                  (long long)head.wake_ms);
}

/* ---- leases --------------------------------------------------------------------------------------------- */

/* S2: no claim succeeds while another owner's lease lasts. `before`: the heads before the claims. */
void claims_check(world *w, const char *owner, const pawl_claim *before, const pawl_claim *all, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const pawl_head *was = &before[i].head;
        bool anothers = before[i].rc == PAWL_OK && was->owner != NULL && strcmp(was->owner, owner) != 0 && store_held(was, w->now);

        if (all[i].rc == PAWL_OK || anothers)
            sim_holds(w, PROMISE_S2_CLAIM, all[i].rc != PAWL_OK || !anothers, sim_run_find(w, all[i].run), NULL,
                      "%s: %s claims it, and %s holds it for another %lld ms", all[i].run, owner, was->owner != NULL ? was->owner : "nobody",
                      (long long)(was->lease_ms - w->now));
    }
}

/* S2: when a handler begins, its worker has the lease, under the fence that the handler is given. */
void holder_check(world *w, const worker *k, const sim_run *y, const pawl_job *job)
{
    pawl_head head;
    bool held;

    if (w->store->verbs->head(w->store, y->id, &head, NULL) != PAWL_OK)
        return;
    held = head.owner != NULL && strcmp(head.owner, k->name) == 0 && store_held(&head, w->now);
    sim_holds(w, PROMISE_S2_BEGIN, head.fence == job->fence && held, y, job->id,
              "%s: its handler begins with fence %llu; %s has the run with fence %llu, until %lld", job->id, (unsigned long long)job->fence,
              head.owner != NULL ? head.owner : "nobody", (unsigned long long)head.fence, (long long)head.lease_ms);
}

/* ---- attempts ------------------------------------------------------------------------------------------- */

static void attempts_check(world *w, const sim_run *y, const sim_command *d, const pawl_job *job, const pawl_limits *limits)
{
    uint32_t most = limits->retry.max_attempts > 0 ? limits->retry.max_attempts : 1;

    if (limits->retry.max_attempts > 0 || limits->cls == PAWL_CLASS_ONCE)
        sim_holds(w, PROMISE_E7_ATTEMPTS, job->attempt <= d->cleared + most, y, d->id, "%s: attempt %u is made, %u are allowed", d->id,
                  (unsigned)(job->attempt - d->cleared), (unsigned)most);
}

/* Only a holder that knows of the back-off keeps it: the one whose attempt failed, or a later one if that one released the run properly. */
static void backoff_check(world *w, const sim_run *y, const sim_command *d, const pawl_job *job)
{
    bool known = d->rest_until_ms > 0 && (job->fence == d->rest_fence || (d->rest_handed_on && job->fence > d->rest_fence));

    if (known)
        sim_holds(w, PROMISE_E7_BACKOFF, w->now >= d->rest_until_ms, y, d->id, "%s: attempt %u is made at %lld, and its back-off lasts until %lld",
                  d->id, (unsigned)job->attempt, (long long)w->now, (long long)d->rest_until_ms);
}

/* Attempts of other commands are not counted before dispatch, so a crash may repeat their numbers (E13). */
static bool is_counted(const pawl_limits *limits)
{
    return limits->cls == PAWL_CLASS_ONCE || limits->cls == PAWL_CLASS_COMPENSABLE || limits->retry.max_attempts > 1;
}

void attempt_number_check(world *w, const sim_run *y, sim_command *d, const pawl_job *job, const pawl_limits *limits)
{
    uint64_t bit = UINT64_C(1) << job->attempt % 64;

    if (d->first_ms == 0)
        d->first_ms = w->now;
    if (!w->lost_writes && is_counted(limits))
        sim_holds(w, PROMISE_E13, (d->attempts & bit) == 0, y, d->id, "%s: attempt %u is made twice", d->id, (unsigned)job->attempt);
    if (!w->lost_writes) {
        attempts_check(w, y, d, job, limits);
        backoff_check(w, y, d, job);
    }
    if (!w->lost_writes && limits->total_timeout_ms > 0 && d->cleared == 0 && d->attempts != 0)
        sim_holds(w, PROMISE_E8, w->now - d->first_ms <= limits->total_timeout_ms + TOTAL_SLACK_MS, y, d->id,
                  "%s: attempt %u is made %lld ms after the first, and %u are allowed in all", d->id, (unsigned)job->attempt,
                  (long long)(w->now - d->first_ms), (unsigned)limits->total_timeout_ms);
    d->attempts |= bit;
    d->rest_until_ms = 0;
}

void backoff_begin(world *w, const worker *k, sim_command *d, const pawl_job *job, const pawl_limits *limits)
{
    const pawl_retry *r = &limits->retry;
    double ms = r->initial_ms, factor = r->factor > 0 ? r->factor : 2, most = r->max_ms > 0 ? r->max_ms : 86400000.0;

    for (uint32_t i = 1; i < job->attempt - d->cleared && ms < most; i++)
        ms *= factor;
    d->rest_until_ms = r->jitter || job->attempt - d->cleared >= r->max_attempts ? 0 : w->now + (int64_t)(ms < most ? ms : most);
    d->rest_fence = job->fence;
    d->rest_faults = k->faults;
    d->rest_handed_on = false;
}

void backoffs_handed_on(const worker *k, sim_run *y, uint64_t fence)
{
    for (sim_command *d = y->commands; d != NULL; d = d->next)
        d->rest_handed_on = d->rest_handed_on || (d->rest_until_ms > 0 && d->rest_fence == fence && d->rest_faults == k->faults);
}
