/* remote.c - the remote service: effects happen here, are counted, and are checked.
 *
 * Owns the replies that are on their way. Called by the engines as their handler, and by client.c and workers.c; on the thread of pawl_sim. What it has
 * done stays done, whatever happens to the worker. */
#include "engine/child/child.h"
#include "engine/run/run.h"
#include "kernel/compensation.h"
#include "kernel/machine.h"
#include "kernel/names.h"
#include "kernel/state.h"
#include "sim/sim.h"

#include <stdio.h>
#include <string.h>

/* ---- what may happen ------------------------------------------------------------------------------ */

static uint64_t fence_now(world *w, const sim_run *y)
{
    pawl_head head;

    return w->store->verbs->head(w->store, y->id, &head, NULL) == PAWL_OK ? head.fence : 0;
}

static void args_check(world *w, const sim_run *y, sim_command *d, const pawl_value *args)
{
    char hex[HASH_HEX + 1];
    hash digest;
    buf b;

    buf_init(&b, &w->alloc);
    if (args != NULL)
        canon(&b, args);
    if (b.failed) {
        buf_free(&b);
        sim_nomem(w);
        return;
    }
    hash_of(b.data, b.size, &digest);
    buf_free(&b);
    hash_hex(&digest, hex);
    if (d->args.hex[0] != '\0' && !w->lost_writes)
        sim_holds(w, PROMISE_E5_ARGS, strcmp(d->args.hex, hex) == 0, y, d->id, "%s: it has other arguments now", d->id);
    memcpy(d->args.hex, hex, sizeof hex);
}

static void attempt_check(world *w, const worker *k, sim_run *y, const sim_command *d, const pawl_job *job)
{
    const outbox_entry *entry = job->ctx;
    uint64_t fence = fence_now(w, y);

    if (entry_limits(entry)->cls != PAWL_CLASS_PURE || w->durability == PAWL_DURABLE_SYNC)      /* G9 */
        sim_holds(w, PROMISE_E1, d->durable, y, d->id, "%s: it is performed, and what asks for it is not durable", d->id);
    sim_holds(w, PROMISE_E4, d->receipts == 0 || job->fence != fence, y, d->id, "%s: it is performed by who holds the run, and its receipt is stored",
              d->id);
    sim_holds(w, PROMISE_E15, job->fence > 0 && job->fence <= fence, y, d->id, "%s: its fence %llu was never given", d->id,
              (unsigned long long)job->fence);
    if (y->cancel && y->st != NULL)
        sim_holds(w, PROMISE_E10, !state_canceling(y->st) || job->fence != fence || strstr(d->id, "." UNDO_TASK ".") != NULL, y, d->id,
                  "%s: it is performed by who holds the run, and that is called off", d->id);
    if (d->replied_to != NULL)
        sim_holds(w, PROMISE_E4_KEPT, d->replied_to != k || d->replied_life != k->life, y, d->id, "%s: it is performed by a worker that has its reply",
                  d->id);
    if (!w->lost_writes && entry_limits(entry)->cls == PAWL_CLASS_ONCE)
        sim_holds(w, PROMISE_E5_ONCE, d->performed == 0, y, d->id, "%s: it is of class once, and performed twice", d->id);
}

/* An inverse receives the receipt of its command. */
static void inverse_args_check(world *w, sim_run *y, const sim_command *d, const pawl_job *job)
{
    const char *slash = strchr(d->id, '/'), *local = pawl_value_string(pawl_value_get(job->args, "id"));
    const sim_command *of = NULL;
    const pawl_value *reply;
    arena mem;
    buf b;

    if (strstr(d->id, "." UNDO_TASK ".") == NULL || slash == NULL || local == NULL)
        return;
    buf_init(&b, &w->alloc);
    buf_put(&b, d->id, (size_t)(slash + 1 - d->id));
    buf_text(&b, local);
    buf_char(&b, '\0');
    if (!b.failed)
        of = command_find(w, y, b.data, false);
    buf_free(&b);
    if (of == NULL || !of->done || of->reply == NULL || w->lost_writes)
        return;
    arena_init(&mem, &w->alloc, 512);
    reply = value_parse(&mem, of->reply, of->reply_size, "a reply", NULL);
    sim_holds(w, PROMISE_E5_RECEIPT, reply == NULL || pawl_value_equal(pawl_value_get(job->args, "receipt"), reply), y, d->id,
              "%s: it undoes %s, and has another receipt than that", d->id, local);
    arena_free(&mem);
}

/* The setup's own invariant (`performed`). */
static void setup_performed(world *w, const sim_run *y, const sim_command *d, const pawl_job *job)
{
    const char *oracle = "own";
    pawl_err why = { PAWL_OK, "" };

    if (!w->over && w->setup->performed != NULL && !w->setup->performed(w->setup->ctx, job, &oracle, &why))
        oracle_failed(w, oracle, y, d->id, "%s: %s", d->id, why.text);
}

/* ---- what comes of it -------------------------------------------------------------------------------- */

static bool never(const pawl_job *job)
{
    (void)job;
    return false;
}

static void nothing(const pawl_job *job) { (void)job; }

/* A text made from effect and arguments. */
static pawl_code reply_default(const pawl_job *job, pawl_reply *reply, const sim_command *d)
{
    buf b;
    pawl_code rc;

    buf_init(&b, NULL);
    buf_fmt(&b, "%s %.8s", job->effect, d->args.hex);
    buf_char(&b, '\0');
    rc = b.failed ? PAWL_NOMEM : pawl_reply_string(reply, b.data);
    buf_free(&b);
    return rc;
}

static pawl_code reply_make(world *w, const pawl_job *job, pawl_reply *reply, sim_command *d)
{
    const pawl_sim_effect *by = strcmp(job->effect, "tell") == 0 ? NULL : w->setup->otherwise;
    pawl_job copy = *job;
    pawl_code rc;

    copy.canceled = never;
    copy.heartbeat = nothing;
    copy.ctx = NULL;
    copy.cancel_fd = 0;
    copy.later = NULL;
    copy.finish = NULL;
    copy.deadline_ms = 0;
    for (size_t i = 0; i < w->setup->neffects; i++) {
        const pawl_sim_effect *e = &w->setup->effects[i];

        if (strcmp(e->name, job->effect) == 0)
            by = e;
    }
    if (by == NULL)
        return strcmp(job->effect, "tell") == 0 ? tell_after_loss(pawl_engine_store(w->auditor), &w->alloc, job, reply) : reply_default(job, reply, d);
    rc = by->fn(&copy, reply, by->arg);
    d->failed = d->failed || rc < 0;
    return rc;
}

static void reply_keep(world *w, sim_command *d, const pawl_reply *reply)
{
    if (d->reply != NULL || reply->text.failed || reply->text.size == 0)
        return;
    if ((d->reply = mem_grow(&w->alloc, NULL, 0, reply->text.size)) == NULL) {
        sim_nomem(w);
        return;
    }
    d->reply_size = reply->text.size;
    memcpy(d->reply, reply->text.data, d->reply_size);
}

void late_reply_put(world *w, const worker *k, sim_run *y, sim_command *d)
{
    if (d->reply == NULL || !mem_room(&w->alloc, (void **)&w->late, &w->late_cap, w->nlate, sizeof *w->late))
        return;
    w->late[w->nlate++] = (late_reply){ w->now + 1 + (int64_t)sim_below(w, (uint64_t)w->t.late_ms), y, d, ++w->late_no };
    w->report->late++;
    trace_line(w, k, "%s: the answer is to come by mail", d->id);
}

/* A worker has given it to a thread that will call its handler. */
static bool is_out(const world *w, const sim_run *y, const char *id)
{
    for (unsigned i = 0; i < w->nworkers; i++) {
        const cached_run *r = w->workers[i].e == NULL ? NULL : cached_run_find(w->workers[i].e, y->id);
        const outbox_entry *entry = r == NULL ? NULL : outbox_find(r, id);

        if (entry != NULL && entry_waits_for_thread(entry))
            return true;
    }
    return false;
}

/* The answer is {"done":V}, {"failed":TEXT} or "again". */
bool remote_outcome(world *w, const sim_run *y, const sim_command *d, buf *out)
{
    buf_reset(out);
    if (d->reply != NULL) {
        buf_text(out, "{\"done\":");
        buf_put(out, d->reply, d->reply_size);
        buf_char(out, '}');
    } else if (d->failed) {
        buf_text(out, "{\"failed\":\"it did not work\"}");
    } else if (w->depth > 1 || is_out(w, y, d->id)) {
        return false;           /* another worker is stopped right before it, or has a thread that will come to it */
    } else {
        buf_text(out, "\"again\"");
    }
    buf_char(out, '\0');
    if (out->failed)
        sim_nomem(w);
    return !out->failed;
}

static void late_reply_sent(world *w, const late_reply *l, uint64_t no)
{
    char life[SIM_LIFE_BYTES];

    trace_line(w, NULL, "%s: its answer comes", l->of->id);
    if (l->run->st == NULL)
        return;
    snprintf(life, sizeof life, "~%016llx/", (unsigned long long)pawl_state_life(l->run->st));
    if (strstr(l->of->id, life) != NULL || !mem_room(&w->alloc, (void **)&w->stale, &w->stale_cap, w->nstale, sizeof *w->stale))
        return;
    trace_line(w, NULL, "%s: it is of an earlier life of the run", l->of->id);
    w->stale[w->nstale++] = (stale_receipt){ no, l->run, strchr(l->of->id, '/') + 1 };
}

bool late_reply_send(world *w)
{
    pawl_store *mail = pawl_engine_store(w->auditor);

    for (size_t i = 0; i < w->nlate; i++) {
        late_reply l = w->late[i];
        char id[32] = "";
        buf name = { .data = id, .cap = sizeof id - 1 };
        pawl_delivery d = { .id = id, .kind = PAWL_DELIVER_RECEIPT, .name = l.of->id, .outcome = PAWL_OUTCOME_DONE,
                            .value = { l.of->reply, l.of->reply_size } };
        pawl_err err = { PAWL_OK, "" };

        if (l.at_ms > w->now || (l.run->st == NULL && !w->calm))        /* a run that was lost may be started again with another life */
            continue;
        buf_text(&name, "mail-");
        buf_uint(&name, l.no);
        w->late[i] = w->late[--w->nlate];
        if (mail->verbs->deliver(mail, l.run->id, &d, &err) != PAWL_OK)
            trace_line(w, NULL, "%s: its answer comes, and is refused: %s", l.of->id, err.text);
        else
            late_reply_sent(w, &l, d.no);
        return true;
    }
    return false;
}

/* ---- one attempt ----------------------------------------------------------------------------------------- */

static bool is_limited(const pawl_limits *l)
{
    return l->attempt_timeout_ms > 0 || l->total_timeout_ms > 0 || l->heartbeat_ms > 0;
}

static pawl_code act(world *w, worker *k, sim_run *y, sim_command *d, const pawl_job *job, pawl_reply *reply)
{
    const outbox_entry *entry = job->ctx;
    const pawl_limits *declared = machine_limits(y->st != NULL ? machine_of(w, pawl_state_machine(y->st, NULL)) : w->m, job->effect);
    bool more = job->attempt < entry_limits(entry)->retry.max_attempts;
    pawl_code rc;

    run_served(y);
    attempt_number_check(w, y, d, job, entry_limits(entry));
    if (w->over)
        return PAWL_IO;
    if ((more || (w->setup->loose && entry_limits(entry)->retry.max_attempts > 1)) && sim_happens(w, w->t.refuse)) {
        w->report->refused++;
        backoff_begin(w, k, d, job, entry_limits(entry));
        trace_line(w, k, "%s: attempt %u is refused", d->id, (unsigned)job->attempt);
        pawl_reply_untouched(reply);
        return pawl_reply_fail(reply, PAWL_TRANSIENT, "busy");
    }
    args_check(w, y, d, job->args);
    attempt_check(w, k, y, d, job);
    inverse_args_check(w, y, d, job);
    setup_performed(w, y, d, job);
    if (w->over)
        return PAWL_IO;
    trace_line(w, k, "%s: performed, attempt %u, fence %llu", d->id, (unsigned)job->attempt, (unsigned long long)job->fence);
    w->report->performed++;
    w->report->repeated += d->performed > 0;
    d->performed++;
    d->has_inverse = declared != NULL && declared->inverse != NULL;
    rc = reply_make(w, job, reply, d);
    if (rc >= 0)
        reply_keep(w, d, reply);
    if (rc >= 0 && sim_happens(w, w->t.late))
        late_reply_put(w, k, y, d);
    if (sim_happens(w, w->t.slow)) {
        w->report->slow++;
        w->now += 1 + (int64_t)sim_below(w, (uint64_t)w->t.slow_ms);
    }
    if (more && entry_limits(entry)->cls != PAWL_CLASS_ONCE && sim_happens(w, w->t.lose)) {
        w->report->lost++;
        backoff_begin(w, k, d, job, entry_limits(entry));
        trace_line(w, k, "%s: its answer is lost", d->id);
        return pawl_reply_fail(reply, PAWL_TRANSIENT, "the line went dead");
    }
    if (rc >= 0 && !is_limited(entry_limits(entry)) && entry_limits(entry)->cls != PAWL_CLASS_PURE) {      /* a pure command may not be durable yet (G9) */
        d->replied_to = k;
        d->replied_life = k->life;
    }
    return rc;
}

/* The effect that finds out the outcome of another one. */
static pawl_code find_out(world *w, const sim_run *y, const sim_command *d, pawl_reply *reply)
{
    pawl_code rc = PAWL_TRANSIENT;
    buf b;

    buf_init(&b, &w->alloc);
    if (remote_outcome(w, y, d, &b))
        rc = pawl_reply_json(reply, b.data);
    else
        pawl_reply_fail(reply, rc, "nobody knows yet");
    buf_free(&b);
    return rc;
}

pawl_code remote_act(const pawl_job *job, pawl_reply *reply, void *arg)
{
    const outbox_entry *entry = job->ctx;
    worker *k = arg;
    world *w = k->w;
    const char *tilde = strchr(job->id, '~');
    char run[RUN_BYTES_MAX + 1] = "";
    sim_run *y;
    sim_command *d;
    pawl_code rc;

    if (tilde != NULL && (size_t)(tilde - job->id) < sizeof run)
        memcpy(run, job->id, (size_t)(tilde - job->id));
    if ((y = sim_run_find(w, run)) != NULL && !k->dead)
        holder_check(w, k, y, job);
    if (!point(k))
        return pawl_reply_fail(reply, PAWL_IO, "nobody is there to perform it");
    if (y == NULL || (d = command_find(w, y, job->id, true)) == NULL)
        return pawl_reply_fail(reply, PAWL_IO, "no such run");
    rc = entry_is_resolving(entry) ? find_out(w, y, d, reply) : act(w, k, y, d, job, reply);
    if (!point(k))
        return pawl_reply_fail(reply, PAWL_IO, "nobody is there to hear of it");
    return rc;
}
