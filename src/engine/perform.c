/* perform.c - commands are carried out: each becomes an errand, which makes its attempts and comes back with a receipt. */
#include "engine/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SECRET_BYTES_MAX = 65536, BATCH_MS = 1 };

/* ---- errands ------------------------------------------------------------------------------------ */

static const handler *handler_of(const pawl_engine *e, const char *effect)
{
    for (const handler *h = e->handlers; h != NULL && effect != NULL; h = h->next)
        if (strcmp(h->name, effect) == 0)
            return h;
    return NULL;
}

static void errand_free(pawl_engine *e, errand *er)
{
    reply_free(&er->reply);
    arena_free(&er->mem);
    mem_free(&e->alloc, er, sizeof *er);
}

void errands_free(pawl_engine *e, live *r)
{
    for (errand *er = r->errands, *next; er != NULL; er = next) {
        next = er->next;
        er->stop = true;
        er->run = NULL;
        if (er->at != ERRAND_OUT)
            errand_free(e, er);
    }
    r->errands = NULL;
}

void errands_stale(live *r)
{
    r->commands_moved = true;
    for (errand *er = r->errands; er != NULL; er = er->next)
        er->fed = false;        /* what was folded with it is gone */
}

static errand *errand_find(const live *r, const char *id)
{
    for (errand *er = r->errands; er != NULL; er = er->next)
        if (strcmp(er->job.id, id) == 0)
            return er;
    return NULL;
}

static bool stop_asked(const pawl_job *job)
{
    errand *er = job->ctx;

    if (er->until_ms > 0 && steady_ms() > er->until_ms)
        er->overran = true;     /* the store's clock may be a little behind */
    return er->stop || er->overran;
}

static void beat(const pawl_job *job)
{
    errand *er = job->ctx;

    er->beats++;                /* the driving thread looks whether it changes */
}

static pawl_code errand_new(pawl_engine *e, live *r, const pawl_command *cmd, const pawl_value *secrets, errand **end, pawl_err *err)
{
    errand *er = mem_new(&e->alloc, sizeof *er);

    (void)secrets;
    if (er == NULL)
        return fail(err, PAWL_NOMEM, "%s: no memory to perform it", cmd->id);
    arena_init(&er->mem, &e->alloc, 512);
    reply_init(&er->reply, &e->alloc);
    er->job = (pawl_job){ .id = arena_strdup(&er->mem, cmd->id, strlen(cmd->id)), .canceled = stop_asked, .heartbeat = beat, .ctx = er };
    er->job.effect = cmd->effect == NULL ? NULL : arena_strdup(&er->mem, cmd->effect, strlen(cmd->effect));
    er->job.args = cmd->args == NULL ? NULL : value_copy(&er->mem, cmd->args);
    er->limits = cmd->limits;
    er->h = cmd->kind == PAWL_SPAWN ? NULL : handler_of(e, cmd->effect);
    er->open = true;
    er->run = r;
    if (er->mem.failed) {
        errand_free(e, er);
        return fail(err, PAWL_NOMEM, "%s: no memory to perform it", cmd->id);
    }
    *end = er;
    return PAWL_OK;
}

/* ---- secrets (K4) -------------------------------------------------------------------------------- */

static bool secret_file(const char *path, char *out, size_t size)
{
    FILE *f = fopen(path, "rb");
    size_t n;

    if (f == NULL)
        return false;
    n = fread(out, 1, size, f);
    fclose(f);
    if (n == size)
        return false;       /* half a secret is none */
    while (n > 0 && (out[n - 1] == '\n' || out[n - 1] == '\r'))
        n--;
    out[n] = '\0';
    return true;
}

static const char *secret_value(const pawl_engine *e, const char *spec, char *room, size_t size)
{
    if (strncmp(spec, "env:", 4) == 0)
        return getenv(spec + 4);
    if (strncmp(spec, "file:", 5) == 0)
        return secret_file(spec + 5, room, size) ? room : NULL;
    if (strncmp(spec, "given:", 6) == 0 && e->secret != NULL)
        return e->secret(e->secret_ctx, spec + 6);
    return NULL;
}

/* Each secret in its place; the command waits when one is missing, and `why` says which. */
static pawl_code secrets_put(pawl_engine *e, arena *mem, pawl_command *cmd, const pawl_value *secrets, bool *missing, pawl_err *why,
                             pawl_err *err)
{
    pawl_iter it = pawl_iter_of(secrets);
    char *room = secrets == NULL ? NULL : mem_new(&e->alloc, SECRET_BYTES_MAX);
    const pawl_value *one;
    pawl_code rc = secrets != NULL && room == NULL ? PAWL_NOMEM : PAWL_OK;

    while (rc == PAWL_OK && (one = pawl_iter_next(&it, NULL)) != NULL) {
        const char *spec = pawl_value_string(pawl_value_at(one, 1)), *value;

        value = spec == NULL ? NULL : secret_value(e, spec, room, SECRET_BYTES_MAX);
        if (value == NULL || !utf8_valid(value, strlen(value))) {
            *missing = true;
            fail(why, PAWL_PENDING, "%s: secret %s is %s; the command waits for it", cmd->id, spec != NULL ? spec : "",
                 value == NULL ? "missing" : "no UTF-8 text");
            break;
        }
        cmd->args = value_splice(mem, cmd->args, pawl_value_string(pawl_value_at(one, 0)), value_string(mem, value, strlen(value)));
        rc = cmd->args == NULL ? PAWL_NOMEM : PAWL_OK;
    }
    if (rc == PAWL_NOMEM)
        fail(err, rc, "%s: no memory for its secrets", cmd->id);
    if (room != NULL)
        memset(room, 0, SECRET_BYTES_MAX);
    mem_free(&e->alloc, room, room != NULL ? SECRET_BYTES_MAX : 0);
    return rc;
}

/* ---- errands meet the commands that are open ---------------------------------------------------------- */

static pawl_code errand_meets(pawl_engine *e, live *r, size_t i, errand ***end, pawl_err *why, pawl_err *err)
{
    const pawl_value *secrets = NULL;
    bool missing = false;
    pawl_command cmd;
    errand *er;
    arena mem;
    pawl_code rc = pawl_state_command(r->st, i, e->look, &cmd, &secrets, err);

    if (rc != PAWL_OK || cmd.kind == PAWL_SLEEP)
        return rc;
    if ((er = errand_find(r, cmd.id)) != NULL) {
        er->open = true;
        return PAWL_OK;
    }
    arena_init(&mem, &e->alloc, 1024);
    rc = secrets_put(e, &mem, &cmd, secrets, &missing, why, err);
    missing = missing && !r->st->canceling;     /* it is called off, not performed */
    if (rc == PAWL_OK && missing) {
        r->commands_moved = true;       /* to be looked at again */
    } else if (rc == PAWL_OK && (rc = errand_new(e, r, &cmd, secrets, *end, err)) == PAWL_OK) {
        *end = &(**end)->next;
    }
    arena_free(&mem);
    return rc;
}

/* Those whose command is over go; those that are out are told to stop, and go when they come back. */
static void errands_sift(pawl_engine *e, live *r)
{
    for (errand **at = &r->errands; *at != NULL;) {
        errand *er = *at;

        er->stop = er->stop || !er->open;
        if (er->open || er->at == ERRAND_OUT) {
            at = &er->next;
            continue;
        }
        *at = er->next;
        errand_free(e, er);
    }
}

void errands_leftover(pawl_engine *e, live *r, pawl_code next)
{
    if (next != PAWL_HALTED && next != PAWL_INTERRUPTED)
        return;
    for (errand *er = r->errands; er != NULL; er = er->next)
        er->open = false;
    errands_sift(e, r);
}

static pawl_code marks_read(pawl_engine *e, live *r, pawl_err *err);

pawl_code errands_meet(pawl_engine *e, live *r, pawl_err *why, pawl_err *err)
{
    errand **end = &r->errands;
    pawl_code rc = PAWL_OK;

    if (!r->commands_moved)
        return marks_read(e, r, err);
    r->commands_moved = false;
    for (errand *er = r->errands; er != NULL; er = er->next) {
        er->open = false;
        end = &er->next;
    }
    for (size_t i = 0; i < pawl_state_commands(r->st) && rc == PAWL_OK; i++)
        rc = errand_meets(e, r, i, &end, why, err);
    if (rc == PAWL_OK)
        errands_sift(e, r);
    else
        r->commands_moved = true;
    return rc == PAWL_OK ? marks_read(e, r, err) : rc;
}

/* ---- attempts (E7, E8, E13) ------------------------------------------------------------------------------ */

static bool see_mark(void *ctx, const char *id, uint32_t attempts)
{
    errand *er = errand_find(ctx, id);

    if (er != NULL && er->at == ERRAND_READY && er->job.attempt < attempts) {
        er->job.attempt = attempts;
        er->first_ms = 0;
    }
    return true;
}

/* After another engine had it: attempts that were counted stay counted. */
static pawl_code marks_read(pawl_engine *e, live *r, pawl_err *err)
{
    pawl_code rc;

    if (r->marked_fence == r->fence)
        return PAWL_OK;
    pthread_mutex_lock(&e->lock);
    rc = e->store->verbs->marks(e->store, r->id, see_mark, r, err);
    pthread_mutex_unlock(&e->lock);
    if (rc == PAWL_OK)
        r->marked_fence = r->fence;
    return rc;
}

static int64_t delay_before(const pawl_retry *r, uint32_t attempt)
{
    double ms = r->initial_ms, factor = r->factor > 0 ? r->factor : 2, most = r->max_ms > 0 ? r->max_ms : 86400000.0;
    uint64_t drawn[2] = {0};

    for (uint32_t i = 1; i < attempt && ms < most; i++)
        ms *= factor;
    ms = ms < most ? ms : most;
    if (r->jitter && chance(drawn))
        ms = ms * (double)(drawn[1] >> 11) / 9007199254740992.0;
    return (int64_t)ms;
}

static bool tried_again(pawl_code code)
{
    return code == PAWL_TRANSIENT || code == PAWL_TIMEOUT || code == PAWL_IO;
}

static void receipt_make(pawl_engine *e, errand *er);

/* On any thread: it sees nothing but the errand. */
void errand_run(errand *er)
{
    pawl_code rc;

    reply_reset(&er->reply);
    rc = er->h->fn(&er->job, &er->reply, er->h->arg);
    if (rc > 0)
        rc = pawl_reply_fail(&er->reply, PAWL_INVALID, "%s: its handler returned \"%s\", which is no result", er->job.effect, pawl_code_name(rc));
    er->rc = rc;
}

/* The limit that it is over now; NULL: none. */
static const char *limit_over(const errand *er, int64_t now)
{
    const pawl_limits *l = &er->limits;
    const struct { const char *name; uint32_t ms; int64_t took; } limits[] = {
        { "total_timeout_ms", l->total_timeout_ms, now - er->first_ms },
        { "attempt_timeout_ms", l->attempt_timeout_ms, now - er->began_ms },
        { "heartbeat_ms", er->at == ERRAND_OUT ? l->heartbeat_ms : 0, now - er->beat_ms },
    };

    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        if (limits[i].ms > 0 && limits[i].took > limits[i].ms)
            return limits[i].name;
    }
    return NULL;
}

/* The limit that an attempt meets first, and what is left of it; NULL: none, and 0. */
static const char *limit_least(const pawl_limits *l, int64_t gone, int64_t *left)
{
    const char *name = l->total_timeout_ms > 0 ? "total_timeout_ms" : NULL;

    *left = l->total_timeout_ms > 0 ? l->total_timeout_ms - gone : 0;
    if (l->attempt_timeout_ms > 0 && (name == NULL || l->attempt_timeout_ms < *left)) {
        *left = l->attempt_timeout_ms;
        name = "attempt_timeout_ms";
    }
    if (name != NULL && *left < 1)
        *left = 1;
    return name;
}

/* What took too long counts for nothing, though it may have happened (E8). */
static void limits_look(errand *er, int64_t now)
{
    const char *over = er->late != NULL ? er->late : limit_over(er, now);
    int64_t left;

    if (over == NULL && er->overran)
        over = limit_least(&er->limits, er->began_ms - er->first_ms, &left);
    if (over != NULL)
        er->rc = pawl_reply_fail(&er->reply, PAWL_TIMEOUT, "%s: it took longer than its %s allows", er->job.effect, over);
}

/* Those that are out and over a limit are told to stop. */
static void errands_watch(live *r, int64_t now)
{
    for (errand *er = r->errands; er != NULL; er = er->next) {
        if (er->at != ERRAND_OUT || er->late != NULL)
            continue;
        if (er->beats != er->beats_seen) {
            er->beats_seen = er->beats;
            er->beat_ms = now;
        }
        er->late = limit_over(er, now);
        er->stop = er->stop || er->late != NULL;
    }
}

/* Nothing new begins; what is out ends in its own receipt (E10). */
static void errands_call_off(pawl_engine *e, live *r)
{
    for (errand *er = r->errands; er != NULL; er = er->next) {
        er->stop = true;
        if (er->at != ERRAND_READY)
            continue;
        er->rc = pawl_reply_fail(&er->reply, PAWL_CANCELED, "%s: called off before it began", er->job.effect != NULL ? er->job.effect : "");
        receipt_make(e, er);
    }
}

/* True: it is ready for another attempt, at its time. */
static bool again(errand *er, int64_t now)
{
    const pawl_limits *l = &er->limits;
    uint32_t most = l->retry.max_attempts > 0 ? l->retry.max_attempts : 1;
    int64_t delay = delay_before(&l->retry, er->job.attempt);

    if (er->rc >= 0 || !tried_again(er->rc) || er->job.attempt >= most ||
        (l->cls == PAWL_ONCE && !er->reply.untouched) || (er->stop && er->late == NULL))
        return false;
    if (er->reply.retry_after_ms > delay)
        delay = er->reply.retry_after_ms;
    if (l->total_timeout_ms > 0 && now + delay - er->first_ms > l->total_timeout_ms)
        return false;
    er->not_before_ms = now + delay;
    er->counted = false;
    er->at = ERRAND_READY;
    return true;
}

/* ---- receipts ---------------------------------------------------------------------------------------------- */

static pawl_outcome outcome_of(pawl_code rc)
{
    return rc >= 0 ? PAWL_DONE : rc == PAWL_TIMEOUT ? PAWL_TIMED_OUT : rc == PAWL_UNKNOWN ? PAWL_OUTCOME_UNKNOWN
           : rc == PAWL_CANCELED ? PAWL_CALLED_OFF : PAWL_ERROR;
}

/* What the handler said becomes the receipt's value; what is no JSON is an error of the handler's. */
static void receipt_make(pawl_engine *e, errand *er)
{
    buf *b = &er->reply.text;
    arena mem;
    pawl_err wrong = {0};

    if (er->rc >= 0 && b->size == 0)
        buf_text(b, "null");
    if (er->rc >= 0 && !b->failed) {
        arena_init(&mem, &e->alloc, 4096);
        if (value_parse(&mem, b->data, b->size, "the reply", &wrong) == NULL)
            er->rc = wrong.code == PAWL_NOMEM ? PAWL_NOMEM : pawl_reply_fail(&er->reply, wrong.code, "%s: %s", er->job.effect, wrong.text);
        arena_free(&mem);
    }
    if (b->failed || er->rc == PAWL_NOMEM)      /* it has happened: what it said found no memory */
        er->rc = pawl_reply_fail(&er->reply, PAWL_UNKNOWN, "%s: its receipt found no memory", er->job.effect);
    if (er->limits.cls == PAWL_ONCE && tried_again(er->rc) && !er->reply.untouched)
        er->rc = PAWL_UNKNOWN;      /* it may have happened (E5) */
    er->outcome = outcome_of(er->rc);
    if (er->rc < 0) {
        buf_reset(b);
        reply_failure(&er->reply, er->rc, b);
    }
    er->at = ERRAND_DONE;
}

static void errand_gone(pawl_engine *e, live *r, errand *er)
{
    for (errand **at = &r->errands; *at != NULL; at = &(*at)->next)
        if (*at == er) {
            *at = er->next;
            errand_free(e, er);
            return;
        }
}

/* Done, and its receipt is fed; it stays until that is stored, so that nothing is performed again for a failed append. */
static pawl_code receipts_feed(pawl_engine *e, live *r, bool *did, pawl_err *err)
{
    pawl_code rc = PAWL_OK;

    for (errand *er = r->errands, *next; er != NULL && rc >= 0; er = next) {
        pawl_event ev = { .kind = PAWL_EV_RECEIPT, .id = er->job.id };

        next = er->next;
        if (er->at != ERRAND_DONE || er->fed)
            continue;
        ev.outcome = er->outcome;
        ev.value = er->reply.text.data;
        ev.value_size = er->reply.text.size;
        ev.time_ms = engine_now(e);
        rc = run_feed(e, r, &ev, err);
        if (rc == PAWL_IGNORED || rc == PAWL_INVALID) {     /* nobody waits for it any more */
            errand_gone(e, r, er);
            rc = PAWL_OK;
        } else if (rc >= 0) {
            er->fed = true;
            *did = true;
        }
    }
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

/* ---- performing ------------------------------------------------------------------------------------------------ */

/* Attempts that somebody will want to know of are counted before they leave. */
static bool counts(const errand *er)
{
    return er->limits.cls == PAWL_ONCE || er->limits.cls == PAWL_COMPENSABLE || er->limits.retry.max_attempts > 1;
}

static pawl_code count_attempt(pawl_engine *e, live *r, errand *er, pawl_err *err)
{
    pawl_mark one = { .run = r->id, .fence = r->fence, .id = er->job.id };
    pawl_code rc = PAWL_OK;

    if (!er->counted && counts(er)) {
        pthread_mutex_lock(&e->lock);
        rc = e->store->verbs->mark(e->store, &one, 1, err);
        pthread_mutex_unlock(&e->lock);
        if (rc == PAWL_OK)
            rc = one.rc;
    }
    er->counted = false;
    return rc == PAWL_FENCED ? fail(err, rc, "%s: somebody else works on it now", r->id) : rc;
}

static bool has_limit(const pawl_limits *l)
{
    return l->attempt_timeout_ms > 0 || l->total_timeout_ms > 0 || l->heartbeat_ms > 0;
}

static pawl_code errand_begin(pawl_engine *e, live *r, errand *er, int64_t now, pawl_err *err)
{
    pawl_code rc = r->lease_lost ? fail(err, PAWL_FENCED, "%s: its lease ran out", r->id) : count_attempt(e, r, er, err);
    int64_t left;

    if (rc != PAWL_OK)
        return rc;
    keeper_begin(e);
    er->job.attempt++;
    er->job.fence = r->fence;
    er->began_ms = now;
    if (er->first_ms == 0)
        er->first_ms = now;
    er->until_ms = limit_least(&er->limits, now - er->first_ms, &left) != NULL ? steady_ms() + left : 0;
    er->overran = false;
    er->beat_ms = now;
    er->late = NULL;
    er->stop = false;
    er->job.deadline_ms = er->limits.attempt_timeout_ms > 0 ? now + er->limits.attempt_timeout_ms : 0;
    er->at = ERRAND_OUT;
    return PAWL_OK;
}

static void errand_back(pawl_engine *e, errand *er)
{
    int64_t now = engine_now(e);

    limits_look(er, now);
    if (!again(er, now))
        receipt_make(e, er);
}

/* A command of class once that was counted by somebody who is gone: whether it happened cannot be known (E5). */
static bool is_unknown(const errand *er)
{
    return er->limits.cls == PAWL_ONCE && er->first_ms == 0 && er->job.attempt > 0;
}

static unsigned ready_count(const live *r, int64_t now)
{
    unsigned n = 0;

    for (const errand *er = r->errands; er != NULL; er = er->next)
        n += er->at == ERRAND_READY && er->h != NULL && er->not_before_ms <= now;
    return n;
}

static bool any_out(const live *r)
{
    for (const errand *er = r->errands; er != NULL; er = er->next)
        if (er->at == ERRAND_OUT)
            return true;
    return false;
}

/* All that are ready leave: to the pool when there are several or other runs wait, else here, one after another while they are short. */
static pawl_code errands_leave(pawl_engine *e, live *r, bool wait, pawl_err *err)
{
    int64_t now = engine_now(e), begun = now;
    bool pooled = pool_size(e) > 0 && (!wait || ready_count(r, now) > 1 || any_out(r));

    for (errand *er = r->errands, *next; er != NULL; er = next) {
        pawl_code rc;

        next = er->next;
        if (er->at != ERRAND_READY || er->h == NULL || er->not_before_ms > now)
            continue;
        if (is_unknown(er)) {
            er->rc = pawl_reply_fail(&er->reply, PAWL_UNKNOWN, "%s: it was begun, and nobody knows what came of it", er->job.effect);
            receipt_make(e, er);
            continue;
        }
        if ((rc = errand_begin(e, r, er, now, err)) != PAWL_OK)
            return rc;
        if ((pooled || has_limit(&er->limits)) && pool_put(e, er))
            continue;
        errand_run(er);
        errand_back(e, er);
        now = engine_now(e);
        if (now - begun >= BATCH_MS || er->limits.cls == PAWL_ONCE)
            break;              /* what came of it is stored before more is begun */
    }
    return PAWL_OK;
}

bool errands_quiet(const live *r)
{
    for (const errand *er = r->errands; er != NULL; er = er->next)
        if (er->at != ERRAND_READY)
            return false;
    return true;
}

/* It was put, and no thread took it. */
void errand_unbegun(pawl_engine *e, errand *er)
{
    if (er->run == NULL) {
        errand_free(e, er);
        return;
    }
    er->at = ERRAND_READY;
    er->job.attempt--;
    er->counted = true;
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
    if (receipts_feed(e, r, &did, NULL) == PAWL_OK && r->nlines > 0)
        (void)runs_commit(e, &r, 1, NULL);
}

/* Those of all runs that came back from the pool. */
void errands_back(pawl_engine *e, int64_t until_ms)
{
    for (errand *er = pool_take(e, until_ms), *next; er != NULL; er = next) {
        next = er->queued;
        if (er->run == NULL)
            errand_free(e, er);
        else if (!er->open)
            errand_gone(e, er->run, er);
        else
            errand_back(e, er);
    }
}

/* ---- timers -------------------------------------------------------------------------------------------------------- */

typedef struct due_timer { pawl_engine *e; int64_t now, first; char id[ID_BYTES_MAX + 1]; bool due; } due_timer;

static bool see_due(void *ctx, const frame *f, const task *tk, const char *path, const call *c, uint32_t n)
{
    due_timer *t = ctx;
    int64_t at = timer_at(t->e, c);

    (void)f;
    if (at == 0)
        return true;
    if (t->first == 0 || at < t->first)
        t->first = at;
    if (at > t->now)
        return true;
    snprintf(t->id, sizeof t->id, "%llu.%s.%u.%u", (unsigned long long)c->superstep, path, (unsigned)(tk != NULL ? tk->visit : c->visit), (unsigned)n);
    t->due = true;
    return false;
}

pawl_code timers_fire(pawl_engine *e, live *r, int64_t *first, bool *did, pawl_err *err)
{
    due_timer t = { .e = e, .now = engine_now(e) };
    pawl_code rc = PAWL_OK;

    do {
        t.due = false;
        t.first = 0;
        state_each_call(r->st, see_due, &t);
        if (t.due) {
            const pawl_event ev = { .kind = PAWL_EV_TIMER, .id = t.id, .time_ms = t.now };

            rc = run_feed(e, r, &ev, err);
            *did = *did || rc >= 0;
        }
    } while (t.due && rc >= 0 && rc != PAWL_IGNORED);
    *first = t.first;
    return rc < 0 ? rc : PAWL_OK;
}

/* ---- all of it ------------------------------------------------------------------------------------------------------- */

static void say_why(const live *r, pawl_err *why)
{
    for (const errand *er = r->errands; er != NULL; er = er->next)
        if (er->h == NULL)
            fail(why, PAWL_PENDING, "%s: no handler for effect \"%s\"", er->job.id, er->job.effect != NULL ? er->job.effect : "");
}

static void handlers_look(const pawl_engine *e, live *r)
{
    for (errand *er = r->errands; er != NULL; er = er->next)
        if (er->h == NULL && er->at == ERRAND_READY)
            er->h = handler_of(e, er->job.effect);
}

static int64_t soonest(const live *r, int64_t sleep)
{
    int64_t first = sleep;

    for (const errand *er = r->errands; er != NULL; er = er->next)
        if (er->at == ERRAND_READY && er->h != NULL && (first == 0 || er->not_before_ms < first))
            first = er->not_before_ms;
    return first;
}

pawl_code perform(pawl_engine *e, live *r, bool wait, bool *did, pawl_err *err)
{
    pawl_err why = { PAWL_OK, "" };
    int64_t sleep = 0, until, nap;
    pawl_code rc;

    *did = false;
    if ((rc = errands_meet(e, r, &why, err)) != PAWL_OK)
        return rc;
    handlers_look(e, r);
    if (r->st->canceling)
        errands_call_off(e, r);
    errands_watch(r, engine_now(e));
    if ((rc = receipts_feed(e, r, did, err)) != PAWL_OK || *did)        /* of an append that failed */
        return rc;
    if ((rc = timers_fire(e, r, &sleep, did, err)) != PAWL_OK || *did)
        return rc;
    if ((rc = errands_leave(e, r, wait, err)) != PAWL_OK)
        return rc;
    errands_back(e, 0);
    if ((rc = receipts_feed(e, r, did, err)) != PAWL_OK || *did || !wait)
        return rc;
    if (ready_count(r, 0) > 0) {
        *did = true;
        return PAWL_OK;
    }
    until = soonest(r, sleep);
    if (any_out(r)) {
        errands_back(e, engine_now(e) + 20);  /* deliveries are looked for in between */
        *did = true;
        return receipts_feed(e, r, did, err);
    }
    if (until > 0) {
        keeper_begin(e);
        nap = engine_now(e) + 20;       /* deliveries are looked for in between */
        engine_sleep(e, e->clock.sleep_until != NULL || until < nap ? until : nap);
        *did = true;
        return PAWL_OK;
    }
    say_why(r, &why);
    if (why.code != PAWL_OK)
        fail(err, why.code, "%s", why.text);
    return PAWL_OK;
}
