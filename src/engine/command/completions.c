/* completions.c - finished attempts come back to the driving thread: from a pool thread, or by a later answer (E17).
 *
 * Owns: the queue of finished attempts, the table of the attempts that answer later (by invocation id), and the descriptor that
 * says that the queue is not empty. The driving thread takes them (completions_take); pool threads, handlers, and any thread that
 * answers put them. All of it is under one recursive lock, the innermost of the engine's: a holder's stop function is called under it,
 * and may finish its job there.
 *
 * Invariants:
 *   C1  an attempt is in the queue at most once, and only while its entry runs;
 *   C2  `out` counts the attempts that were put on the pool or answer later and were not taken; the driving thread alone changes it;
 *   C3  an attempt is in the table exactly while it can be answered by its id: later() was called, and it was neither answered nor given up;
 *   C4  `held` counts the attempts that answer later and have a stop function: their job and reply stay until finish(). */
#include "engine/command/attempt.h"
#include "engine/command/ready_fd.h"
#include "kernel/names.h"

#include <string.h>

enum { TABLE_LEAST = 64 };

struct completions {
    pthread_mutex_t lock;
    pthread_cond_t came;        /* signalled when the queue gets an entry, or no job is held any more */
    outbox_entry *first;              /* the queue, linked by `queued`; the newest first */
    bool awaited;               /* the driving thread waits on `came` */
    unsigned out, held;
    outbox_entry **table;             /* chained hash table by id, linked by `later.next` */
    size_t cap, count;
    atomic_int fd;              /* below 0: the host does not use it */
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

/* After the pool has ended and every handler was stopped: waits for the jobs that handlers still have, as the pool waits for its threads. */
void completions_wait(pawl_engine *e)
{
    completions *c = e->completions;

    if (c == NULL)
        return;
    pthread_mutex_lock(&c->lock);
    while (c->held > 0)
        pthread_cond_wait(&c->came, &c->lock);
    pthread_mutex_unlock(&c->lock);
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

pawl_code attempt_code(outbox_entry *entry, pawl_code rc)
{
    return rc <= 0 ? rc : pawl_reply_fail(&entry->reply, PAWL_INVALID, "%s: its handler returned \"%s\", which is no result%s", entry->job.effect,
                                          pawl_code_name(rc), rc == PAWL_PENDING ? ": it announced no later answer" : "");
}

/* ---- the queue ------------------------------------------------------------------------------------- */

/* Under the lock. */
static void queue_put(completions *c, outbox_entry *entry)
{
    entry->queued = c->first;
    c->first = entry;
    if (entry->queued == NULL)
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

outbox_entry *completions_take(pawl_engine *e, int64_t wait_ms)
{
    completions *c = e->completions;
    int64_t until_ms = wait_ms > 0 ? steady_ms() + wait_ms : 0;
    outbox_entry *taken, *done = NULL;

    if (c->out == 0)
        return NULL;
    pthread_mutex_lock(&c->lock);
    c->awaited = true;
    while (c->first == NULL && until_ms > 0 && e->drawn == NULL && !e->roused && cond_wait(&c->came, &c->lock, until_ms))
        continue;
    c->awaited = false;
    if (until_ms > 0)
        e->roused = false;
    taken = c->first;
    c->first = NULL;
    ready_fd_lower(c->fd);
    pthread_mutex_unlock(&c->lock);
    for (outbox_entry *next; taken != NULL; taken = next) {     /* reverses the list: oldest first */
        next = taken->queued;
        taken->queued = done;
        done = taken;
        PAWL_ASSERT(c->out > 0, "C2: an attempt that comes back was counted as out");
        c->out--;
    }
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

static outbox_entry **slot_of(const completions *c, const char *id)
{
    uint32_t h = name_hash(id);

    return &c->table[(h ^ h >> 16) & (c->cap - 1)];
}

static bool table_grow(pawl_engine *e, completions *c)
{
    size_t cap = c->cap, more = cap == 0 ? TABLE_LEAST : 2 * cap;
    outbox_entry **table = c->table;

    if (c->count < cap)
        return true;
    if ((c->table = mem_new(&e->alloc, more * sizeof *c->table)) == NULL) {
        c->table = table;
        return cap > 0;         /* without memory the chains only get longer */
    }
    c->cap = more;
    for (size_t i = 0; i < cap; i++)
        for (outbox_entry *entry = table[i], *next; entry != NULL; entry = next) {
            outbox_entry **slot = slot_of(c, entry->job.id);

            next = entry->later.next;
            entry->later.next = *slot;
            *slot = entry;
        }
    mem_free(&e->alloc, table, cap * sizeof *table);
    return true;
}

static void table_put(completions *c, outbox_entry *entry)
{
    outbox_entry **slot = slot_of(c, entry->job.id);

    entry->later.next = *slot;
    entry->later.listed = true;
    *slot = entry;
    c->count++;
}

static void table_take(completions *c, outbox_entry *entry)
{
    if (!entry->later.listed)
        return;
    for (outbox_entry **at = slot_of(c, entry->job.id); *at != NULL; at = &(*at)->later.next)
        if (*at == entry) {
            *at = entry->later.next;
            break;
        }
    entry->later.listed = false;
    c->count--;
}

/* ---- later answers: on the handler's side ------------------------------------------------------------- */

static bool is_held(const outbox_entry *entry)
{
    return entry->later.state != LATER_NOT && entry->later.stop != NULL;
}

/* The attempt will not be answered later any more; under the lock. */
static void later_over(completions *c, outbox_entry *entry, later_state to)
{
    table_take(c, entry);
    if (is_held(entry) && --c->held == 0)
        pthread_cond_signal(&c->came);
    entry->later.stop = NULL;
    later_move(entry, to);
}

pawl_code job_later(const pawl_job *job, pawl_stop_fn *stop, void *ctx)
{
    outbox_entry *entry = job->ctx;
    completions *c = entry->e->completions;
    pawl_code rc = PAWL_OK;

    if (args_keep(entry) != PAWL_OK)
        return pawl_reply_fail(&entry->reply, PAWL_NOMEM, "%s: no memory to answer later", entry->job.effect);
    pthread_mutex_lock(&c->lock);
    if (entry->later.state != LATER_NOT)
        rc = pawl_reply_fail(&entry->reply, PAWL_INVALID, "%s: its handler announced a later answer twice", entry->job.effect);
    else if (entry->attempt.stop)          /* a stop from here on, under the lock, finds the stop function */
        rc = pawl_reply_fail(&entry->reply, PAWL_CANCELED, "%s: called off before it began", entry->job.effect);
    else if (!table_grow(entry->e, c))
        rc = pawl_reply_fail(&entry->reply, PAWL_NOMEM, "%s: no memory to answer later", entry->job.effect);
    if (rc == PAWL_OK) {
        entry->later.stop = stop;
        entry->later.ctx = ctx;
        entry->later.stopped = false;
        later_move(entry, LATER_ANNOUNCED);
        c->held += stop != NULL;
        table_put(c, entry);
    }
    pthread_mutex_unlock(&c->lock);
    return rc;
}

/* Under the lock. */
static void later_finish(completions *c, outbox_entry *entry, pawl_code code)
{
    switch ((later_state)entry->later.state) {
    case LATER_ANNOUNCED:       /* the handler has not returned yet: attempt_returned() continues */
        later_over(c, entry, LATER_ANSWERED);
        entry->rc = attempt_code(entry, code);
        break;
    case LATER_PENDING:
        later_over(c, entry, LATER_NOT);
        entry->rc = attempt_code(entry, code);
        queue_put(c, entry);
        break;
    case LATER_NOT:
    case LATER_ANSWERED:
    case LATER_STATES:
        break;                  /* answered before: a second answer is ignored */
    }
}

void job_finish(const pawl_job *job, pawl_code code)
{
    outbox_entry *entry = job->ctx;
    completions *c = entry->e->completions;

    pthread_mutex_lock(&c->lock);
    later_finish(c, entry, code);
    pthread_mutex_unlock(&c->lock);
}

/* ---- and on the engine's ------------------------------------------------------------------------------- */

bool attempt_returned(pawl_engine *e, outbox_entry *entry, pawl_code rc)
{
    completions *c = e->completions;
    bool finished = true;

    pthread_mutex_lock(&c->lock);
    switch ((later_state)entry->later.state) {
    case LATER_NOT:
        entry->rc = attempt_code(entry, rc);
        break;
    case LATER_ANNOUNCED:
        finished = rc != PAWL_PENDING;
        if (finished) {
            later_over(c, entry, LATER_NOT);
            entry->rc = attempt_code(entry, rc);
        } else {
            later_move(entry, LATER_PENDING);
        }
        break;
    case LATER_ANSWERED:
        later_move(entry, LATER_NOT);
        break;
    case LATER_PENDING:
    case LATER_STATES:
        break;
    }
    pthread_mutex_unlock(&c->lock);
    return finished;
}

void completions_put(pawl_engine *e, outbox_entry *entry)
{
    completions *c = e->completions;

    pthread_mutex_lock(&c->lock);
    queue_put(c, entry);
    pthread_mutex_unlock(&c->lock);
}

void later_stop(outbox_entry *entry)
{
    completions *c = entry->e->completions;

    pthread_mutex_lock(&c->lock);
    if (is_held(entry) && !entry->later.stopped) {
        entry->later.stopped = true;
        entry->later.stop(entry->later.ctx, entry->job.id);
    }
    pthread_mutex_unlock(&c->lock);
}

bool later_unheld(outbox_entry *entry)
{
    completions *c = entry->e->completions;
    bool unheld;

    pthread_mutex_lock(&c->lock);
    unheld = entry->later.state == LATER_PENDING && entry->later.stop == NULL;
    pthread_mutex_unlock(&c->lock);
    return unheld;
}

bool later_drop(outbox_entry *entry)
{
    completions *c = entry->e->completions;
    bool dropped;

    pthread_mutex_lock(&c->lock);
    dropped = entry->later.state == LATER_PENDING && entry->later.stop == NULL;
    if (dropped)
        later_over(c, entry, LATER_NOT);
    pthread_mutex_unlock(&c->lock);
    c->out -= dropped;
    return dropped;
}

void later_unlist(outbox_entry *entry)
{
    completions *c = entry->e->completions;

    pthread_mutex_lock(&c->lock);
    table_take(c, entry);
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
    outbox_entry *entry = c->cap == 0 ? NULL : *slot_of(c, r->id);

    while (entry != NULL && strcmp(entry->job.id, r->id) != 0)
        entry = entry->later.next;
    if (entry == NULL) {
        e->late++;
        return fail(err, PAWL_GONE, "%s: no attempt of it waits for a reply here: it is unknown, finished, given up, or its run is another engine's", r->id);
    }
    if ((r->attempt != 0 && r->attempt != entry->job.attempt) || (r->fence != 0 && r->fence != entry->job.fence)) {
        e->late++;
        return fail(err, PAWL_CONFLICT, "%s: the reply is to attempt %lu under fence %llu, and attempt %lu under fence %llu is out", r->id,
                    (unsigned long)r->attempt, (unsigned long long)r->fence, (unsigned long)entry->job.attempt, (unsigned long long)entry->job.fence);
    }
    if (entry->attempt.lease_lost) {
        e->late++;
        later_finish(c, entry, pawl_reply_fail(&entry->reply, PAWL_CANCELED, "%s: the lease of its run was lost", entry->job.effect));
        return fail(err, PAWL_FENCED, "%s: the lease of its run was lost, and its command is for whoever holds the run now", r->id);
    }
    if (!reply_fill(&entry->reply, r)) {
        reply_reset(&entry->reply);
        return fail(err, PAWL_NOMEM, "%s: no memory for its reply", r->id);
    }
    later_finish(c, entry, r->code);
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
