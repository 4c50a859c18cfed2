/* completions.c - finished attempts come back to the driving thread: from a pool thread, or by a later answer (E17).
 *
 * Owns: the queue of finished attempts, the table of the attempts that answer later (by invocation id), and the descriptor that
 * says that the queue is not empty. The driving thread takes them (completions_take); pool threads, handlers, and any thread that
 * answers put them. All of it is under one recursive lock, the innermost of the engine's: a holder's stop function is called under it,
 * and may finish its job there.
 *
 * Invariants:
 *   C1  an attempt is in the queue at most once, and only while its errand is out;
 *   C2  `out` counts the attempts that were put on the pool or answer later and were not taken; the driving thread alone changes it;
 *   C3  an attempt is in the table exactly while it can be answered by its id: later() was called, and it was neither answered nor given up;
 *   C4  `held` counts the attempts that answer later and have a stop function: their job and reply stay until finish(). */
#include "engine/command/outbox.h"
#include "engine/command/ready_fd.h"

#include <string.h>

enum { TABLE_LEAST = 64 };

struct completions {
    pthread_mutex_t lock;
    pthread_cond_t came;        /* the queue is not empty any more, or nothing is held */
    errand *first;              /* the queue, linked by `queued` */
    bool awaited;               /* the driving thread waits on `came` */
    unsigned out, held;
    errand **table;             /* open hashing by id, linked by `later.next` */
    size_t cap, count;
    atomic_int fd;              /* below 0: nobody asked for it */
};

bool completions_begin(pawl_engine *e)
{
    completions *c = mem_new(&e->alloc, sizeof *c);
    pthread_mutexattr_t attr;

    if (c == NULL)
        return false;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&c->lock, &attr);
    pthread_mutexattr_destroy(&attr);
    cond_begin(&c->came);
    c->fd = -1;
    e->completions = c;
    return true;
}

/* After the pool has ended and every handler was told to stop: waits for the jobs that are held, as the pool waits for its threads. */
void completions_wait(pawl_engine *e)
{
    completions *c = e->completions;

    if (c == NULL)
        return;
    pthread_mutex_lock(&c->lock);
    while (c->held > 0)
        pthread_cond_wait(&c->came, &c->lock);
    pthread_mutex_unlock(&c->lock);
    (void)errands_come(e, 0);
}

void completions_end(pawl_engine *e)
{
    completions *c = e->completions;

    if (c == NULL)
        return;
    ready_fd_close(c->fd);
    mem_free(&e->alloc, c->table, c->cap * sizeof *c->table);
    pthread_mutex_destroy(&c->lock);
    pthread_cond_destroy(&c->came);
    mem_free(&e->alloc, c, sizeof *c);
    e->completions = NULL;
}

/* ---- the queue ------------------------------------------------------------------------------------- */

/* Under the lock. */
static void queue_put(completions *c, errand *er)
{
    er->queued = c->first;
    c->first = er;
    if (er->queued == NULL)
        ready_fd_raise(c->fd);
    if (c->awaited)
        pthread_cond_signal(&c->came);
}

void completions_expect(pawl_engine *e, int n) { e->completions->out += (unsigned)n; }
unsigned completions_out(const pawl_engine *e) { return e->completions->out; }

void completions_wake(pawl_engine *e)
{
    completions *c = e->completions;

    pthread_mutex_lock(&c->lock);
    ready_fd_raise(c->fd);
    pthread_cond_signal(&c->came);
    pthread_mutex_unlock(&c->lock);
}

void completions_heard(pawl_engine *e)
{
    completions *c = e->completions;

    if (c->fd < 0)
        return;
    pthread_mutex_lock(&c->lock);
    if (c->first == NULL)
        ready_fd_lower(c->fd);
    pthread_mutex_unlock(&c->lock);
}

bool completions_any(pawl_engine *e)
{
    completions *c = e->completions;
    bool any;

    pthread_mutex_lock(&c->lock);
    any = c->first != NULL;
    pthread_mutex_unlock(&c->lock);
    return any;
}

errand *completions_take(pawl_engine *e, int64_t wait_ms)
{
    completions *c = e->completions;
    int64_t until_ms = wait_ms > 0 ? steady_ms() + wait_ms : 0;
    errand *done;

    if (c->out == 0)
        return NULL;
    pool_tend(e, wait_ms > 0);
    pthread_mutex_lock(&c->lock);
    c->awaited = true;
    while (c->first == NULL && until_ms > 0 && e->drawn == NULL && !e->roused && cond_wait(&c->came, &c->lock, until_ms))
        continue;
    c->awaited = false;
    if (until_ms > 0)
        e->roused = false;
    done = c->first;
    c->first = NULL;
    ready_fd_lower(c->fd);
    for (const errand *er = done; er != NULL; er = er->queued)
        c->out--;
    pthread_mutex_unlock(&c->lock);
    return done;
}

int pawl_engine_fd(pawl_engine *e)
{
    completions *c = e == NULL ? NULL : e->completions;
    int fd;

    if (c == NULL)
        return -1;
    pthread_mutex_lock(&c->lock);
    if (c->fd < 0)
        c->fd = ready_fd_open(c->first != NULL);
    fd = c->fd;
    pthread_mutex_unlock(&c->lock);
    return fd;
}

/* ---- the table of those that answer later -------------------------------------------------------------- */

static errand **slot_of(const completions *c, const char *id)
{
    uint32_t h = name_hash(id);

    return &c->table[(h ^ h >> 16) & (c->cap - 1)];
}

static bool table_grow(pawl_engine *e, completions *c)
{
    size_t cap = c->cap, more = cap == 0 ? TABLE_LEAST : 2 * cap;
    errand **table = c->table;

    if (c->count < cap)
        return true;
    if ((c->table = mem_new(&e->alloc, more * sizeof *c->table)) == NULL) {
        c->table = table;
        return cap > 0;         /* longer chains, that is all */
    }
    c->cap = more;
    for (size_t i = 0; i < cap; i++)
        for (errand *er = table[i], *next; er != NULL; er = next) {
            errand **slot = slot_of(c, er->job.id);

            next = er->later.next;
            er->later.next = *slot;
            *slot = er;
        }
    mem_free(&e->alloc, table, cap * sizeof *table);
    return true;
}

static void table_put(completions *c, errand *er)
{
    errand **slot = slot_of(c, er->job.id);

    er->later.next = *slot;
    er->later.listed = true;
    *slot = er;
    c->count++;
}

static void table_take(completions *c, errand *er)
{
    if (!er->later.listed)
        return;
    for (errand **at = slot_of(c, er->job.id); *at != NULL; at = &(*at)->later.next)
        if (*at == er) {
            *at = er->later.next;
            break;
        }
    er->later.listed = false;
    c->count--;
}

/* ---- later answers: on the handler's side ------------------------------------------------------------- */

static bool is_held(const errand *er)
{
    return er->later.at != LATER_NOT && er->later.stop != NULL;
}

/* It is not answered later any more: under the lock. */
static void later_over(completions *c, errand *er, later_at at)
{
    table_take(c, er);
    if (is_held(er) && --c->held == 0)
        pthread_cond_signal(&c->came);
    er->later.stop = NULL;
    er->later.at = at;
}

pawl_code job_later(const pawl_job *job, pawl_stop_fn *stop, void *ctx)
{
    errand *er = job->ctx;
    completions *c = er->e->completions;
    pawl_code rc = PAWL_OK;

    if (args_own(er) != PAWL_OK)
        return pawl_reply_fail(&er->reply, PAWL_NOMEM, "%s: no memory to answer later", er->job.effect);
    pthread_mutex_lock(&c->lock);
    if (er->later.at != LATER_NOT)
        rc = pawl_reply_fail(&er->reply, PAWL_INVALID, "%s: its handler announced a later answer twice", er->job.effect);
    else if (er->stop)          /* whoever tells it to stop from now on finds its stop function */
        rc = pawl_reply_fail(&er->reply, PAWL_CANCELED, "%s: called off before it began", er->job.effect);
    else if (!table_grow(er->e, c))
        rc = pawl_reply_fail(&er->reply, PAWL_NOMEM, "%s: no memory to answer later", er->job.effect);
    if (rc == PAWL_OK) {
        er->later = (later){ .at = LATER_ANNOUNCED, .stop = stop, .ctx = ctx };
        c->held += stop != NULL;
        table_put(c, er);
    }
    pthread_mutex_unlock(&c->lock);
    return rc;
}

/* Under the lock. */
static void later_finish(completions *c, errand *er, pawl_code code)
{
    switch (er->later.at) {
    case LATER_ANNOUNCED:       /* its handler has not returned yet: attempt_returned() goes on with it */
        later_over(c, er, LATER_ANSWERED);
        er->rc = attempt_code(er, code);
        break;
    case LATER_PENDING:
        later_over(c, er, LATER_NOT);
        er->rc = attempt_code(er, code);
        queue_put(c, er);
        break;
    case LATER_NOT:
    case LATER_ANSWERED:
        break;                  /* it was answered: what comes after that is ignored */
    }
}

void job_finish(const pawl_job *job, pawl_code code)
{
    errand *er = job->ctx;
    completions *c = er->e->completions;

    pthread_mutex_lock(&c->lock);
    later_finish(c, er, code);
    pthread_mutex_unlock(&c->lock);
}

/* ---- and on the engine's ------------------------------------------------------------------------------- */

bool attempt_returned(pawl_engine *e, errand *er, pawl_code rc)
{
    completions *c = e->completions;
    bool finished = true;

    pthread_mutex_lock(&c->lock);
    switch (er->later.at) {
    case LATER_NOT:
        er->rc = attempt_code(er, rc);
        break;
    case LATER_ANNOUNCED:
        finished = rc != PAWL_PENDING;
        if (finished) {
            later_over(c, er, LATER_NOT);
            er->rc = attempt_code(er, rc);
        } else {
            er->later.at = LATER_PENDING;
        }
        break;
    case LATER_ANSWERED:
        er->later.at = LATER_NOT;
        break;
    case LATER_PENDING:
        break;
    }
    pthread_mutex_unlock(&c->lock);
    return finished;
}

void completions_put(pawl_engine *e, errand *er)
{
    completions *c = e->completions;

    pthread_mutex_lock(&c->lock);
    queue_put(c, er);
    pthread_mutex_unlock(&c->lock);
}

void later_stop(errand *er)
{
    completions *c = er->e->completions;

    pthread_mutex_lock(&c->lock);
    if (is_held(er) && !er->later.stopped) {
        er->later.stopped = true;
        er->later.stop(er->later.ctx, er->job.id);
    }
    pthread_mutex_unlock(&c->lock);
}

bool later_drop(errand *er)
{
    completions *c = er->e->completions;
    bool dropped;

    pthread_mutex_lock(&c->lock);
    dropped = er->later.at == LATER_PENDING && er->later.stop == NULL;
    if (dropped)
        later_over(c, er, LATER_NOT);
    pthread_mutex_unlock(&c->lock);
    c->out -= dropped;
    return dropped;
}

void later_unlist(errand *er)
{
    completions *c = er->e->completions;

    pthread_mutex_lock(&c->lock);
    table_take(c, er);
    pthread_mutex_unlock(&c->lock);
}

/* ---- answered by its id ----------------------------------------------------------------------------------- */

static pawl_code result_check(pawl_engine *e, const pawl_result *r, pawl_err *err)
{
    pawl_code rc = PAWL_OK;
    arena mem;

    if (r == NULL || r->id == NULL || r->code > 0)
        return fail(err, PAWL_INVALID, "a reply needs the id of its command, and a code that is PAWL_OK or below 0");
    if (r->code < 0 || r->value == NULL)
        return PAWL_OK;
    arena_init(&mem, &e->alloc, 4096);
    if (value_parse(&mem, r->value, strlen(r->value), "the reply", err) == NULL)
        rc = mem.failed ? PAWL_NOMEM : PAWL_INVALID;
    arena_free(&mem);
    return rc;
}

static bool reply_fill(pawl_reply *to, const pawl_result *r)
{
    reply_reset(to);
    if (r->code == PAWL_OK)
        (void)pawl_reply_json(to, r->value != NULL ? r->value : "null");
    else
        (void)pawl_reply_fail(to, r->code, "%s", r->text != NULL ? r->text : pawl_code_name(r->code));
    if (r->code < 0)
        pawl_reply_detail(to, r->detail);
    pawl_reply_retry_after(to, r->retry_after_ms);
    if (r->untouched)
        pawl_reply_untouched(to);
    if (r->costs)
        pawl_reply_cost(to, r->tokens, r->micros);
    return !to->text.failed && !to->detail.failed;
}

/* Under the lock. */
static pawl_code reply_take(pawl_engine *e, const pawl_result *r, pawl_err *err)
{
    completions *c = e->completions;
    errand *er = c->cap == 0 ? NULL : *slot_of(c, r->id);

    while (er != NULL && strcmp(er->job.id, r->id) != 0)
        er = er->later.next;
    if (er == NULL) {
        e->late++;
        return fail(err, PAWL_GONE, "%s: no attempt of it waits for a reply here: it is unknown, finished, given up, or its run is another engine's", r->id);
    }
    if ((r->attempt != 0 && r->attempt != er->job.attempt) || (r->fence != 0 && r->fence != er->job.fence)) {
        e->late++;
        return fail(err, PAWL_CONFLICT, "%s: the reply is to attempt %lu under fence %llu, and attempt %lu under fence %llu is out", r->id,
                    (unsigned long)r->attempt, (unsigned long long)r->fence, (unsigned long)er->job.attempt, (unsigned long long)er->job.fence);
    }
    if (er->lost) {
        e->late++;
        later_finish(c, er, pawl_reply_fail(&er->reply, PAWL_CANCELED, "%s: the lease of its run was lost", er->job.effect));
        return fail(err, PAWL_FENCED, "%s: the lease of its run was lost, and its command is for whoever holds the run now", r->id);
    }
    if (!reply_fill(&er->reply, r)) {
        reply_reset(&er->reply);
        return fail(err, PAWL_NOMEM, "%s: no memory for its reply", r->id);
    }
    later_finish(c, er, r->code);
    return PAWL_OK;
}

pawl_code pawl_engine_reply(pawl_engine *e, const pawl_result *result, pawl_err *err)
{
    pawl_code rc = e == NULL ? code_before(err) : result_check(e, result, err);

    if (rc != PAWL_OK)
        return rc;
    pthread_mutex_lock(&e->completions->lock);
    rc = reply_take(e, result, err);
    pthread_mutex_unlock(&e->completions->lock);
    return rc;
}
