/* outbox.c - errands meet the commands that are open. */
#include "engine/command/outbox.h"
#include "engine/run/stream_ring.h"

#include <string.h>

const handler *handler_of(const pawl_engine *e, const char *effect)
{
    for (const handler *h = e->handlers; h != NULL && effect != NULL; h = h->next)
        if (strcmp(h->name, effect) == 0)
            return h;
    return NULL;
}

void errand_free(pawl_engine *e, errand *er)
{
    stream_ring *h = ring_here(e);

    if (h != NULL && er->job.id != NULL)
        ring_command_over(h, er);
    budget_leave(e, er);
    reply_free(&er->reply);
    buf_free(&er->usage);
    buf_free(&er->said);
    arena_free(&er->mem);
    mem_free(&e->alloc, er, sizeof *er);
}

void errands_free(pawl_engine *e, live *r)
{
    for (errand *er = r->errands, *next; er != NULL; er = next) {
        next = er->next;
        er->stop = true;
        er->run = NULL;
        if (er->at != ERRAND_OUT || later_drop(er))
            errand_free(e, er);
    }
    r->errands = NULL;
}

void errands_unqueue(pawl_engine *e, live *r)
{
    for (errand *er = r->errands; er != NULL; er = er->next)
        if (er->at == ERRAND_READY)
            budget_leave(e, er);
}

bool errands_wait(const live *r)
{
    bool any = false;

    for (const errand *er = r->errands; er != NULL; er = er->next) {
        if (er->at != ERRAND_READY || er->place == PLACE_HELD || (er->place == PLACE_NONE && er->h != NULL && er->not_before_ms == 0))
            return false;
        any = any || er->place == PLACE_WAITS;
    }
    return any && pawl_state_next(r->st) == PAWL_PENDING;
}

void errands_postpone(pawl_engine *e, live *r, int64_t now)
{
    for (errand *er = r->errands; er != NULL; er = er->next)
        if (er->place == PLACE_WAITS) {
            er->not_before_ms = budget_guess(er, now);
            budget_leave(e, er);
        }
}

/* Nothing has happened with them: they are made again when somebody looks at the run again. */
void errands_forget(pawl_engine *e, live *r)
{
    for (const errand *er = r->errands; er != NULL; er = er->next)
        if (er->at != ERRAND_READY || er->place != PLACE_NONE || er->job.attempt > 0 || er->first_ms > 0 || er->settling != NULL || er->child != NULL)
            return;
    if (r->errands != NULL)
        r->commands_moved = true;
    errands_free(e, r);
}

void told_to_stop(errand *er)
{
    if (er->told_ms == 0)
        er->told_ms = steady_ms();
    er->stop = true;
    if (er->at == ERRAND_OUT)
        later_stop(er);
}

void errands_lost(live *r)
{
    for (errand **at = &r->errands; *at != NULL;) {
        errand *er = *at;

        if (er->at == ERRAND_OUT) {
            er->lost = true;
            told_to_stop(er);
        } else {
            budget_leave(r->e, er);
            er->counted = er->unmarks = false;  /* whoever comes next reads how many were counted */
        }
        if (er->at == ERRAND_OUT && later_drop(er)) {
            *at = er->next;
            errand_free(r->e, er);
        } else {
            at = &er->next;
        }
    }
}

void errands_stale(live *r)
{
    r->commands_moved = true;
    for (errand *er = r->errands; er != NULL; er = er->next)
        er->fed = er->fed && BROKEN(BROKEN_RECEIPT_DROPPED);    /* what was folded with it is gone */
    sql_stale(r);
}

errand *errand_find(const live *r, const char *id)
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
    return er->stop || er->overran || (er->e->abandoned && !er->h->sql);       /* the store's transaction ends it, or it never was */
}

static void beat(const pawl_job *job)
{
    errand *er = job->ctx;

    er->beats++;                /* the driving thread looks whether it changes */
}

static pawl_code say(const pawl_job *job, const char *name, const char *text)
{
    errand *er = job->ctx;

    er->beats++;
    if (er->listened && name != NULL && text != NULL && strcmp(name, "message") == 0)
        said_add(er, text);
    return ring_say(ring_here(er->e), er, name, text);
}

static errand *errand_made(pawl_engine *e, const char *id, const char *effect, const pawl_value *args)
{
    errand *er = mem_new(&e->alloc, sizeof *er);

    if (er == NULL)
        return NULL;
    arena_init(&er->mem, &e->alloc, 512);
    reply_init(&er->reply, &e->alloc);
    buf_init(&er->usage, &e->alloc);
    buf_init(&er->said, &e->alloc);
    er->job = (pawl_job){ .id = arena_strdup(&er->mem, id, strlen(id)), .canceled = stop_asked, .heartbeat = beat, .say = say,
                         .finish = job_finish, .ctx = er };
    er->e = e;
    er->job.effect = effect == NULL ? NULL : arena_strdup(&er->mem, effect, strlen(effect));
    er->job.args = args == NULL ? NULL : value_copy(&er->mem, args);
    er->open = true;
    if (!er->mem.failed)
        return er;
    errand_free(e, er);
    return NULL;
}

errand *errand_copy(pawl_engine *e, const errand *er)
{
    pawl_limits limits;
    uint32_t attempt;
    errand *copy = errand_made(e, er->job.id, settle_was(er, &limits, &attempt), er->settling == NULL ? er->job.args : NULL);

    if (copy == NULL)
        return NULL;
    copy->job.attempt = attempt;
    copy->cleared = er->cleared;
    copy->billed = er->billed;
    copy->costs = er->costs;
    copy->tokens = er->tokens;
    copy->micros = er->micros;
    copy->first_ms = er->first_ms;
    copy->limits = limits;
    copy->limits.on_unknown = limits.on_unknown == NULL ? NULL : arena_strdup(&copy->mem, limits.on_unknown, strlen(limits.on_unknown));
    copy->h = er->h;
    copy->run = er->run;
    if (copy->mem.failed) {
        errand_free(e, copy);
        return NULL;
    }
    return copy;
}

static pawl_code errand_new(pawl_engine *e, live *r, const pawl_command *cmd, errand **end, pawl_err *err)
{
    errand *er = errand_made(e, cmd->id, cmd->effect, cmd->args);

    if (er == NULL)
        return fail(err, PAWL_NOMEM, "%s: no memory to perform it", cmd->id);
    er->limits = cmd->limits;
    er->limits.inverse = NULL;
    if (cmd->limits.on_unknown != NULL)
        er->limits.on_unknown = arena_strdup(&er->mem, cmd->limits.on_unknown, strlen(cmd->limits.on_unknown));
    er->asks_settled = true;
    er->job.attempt = er->cleared = cmd->cleared;
    er->share = cmd->share;
    er->h = cmd->kind == PAWL_SPAWN ? NULL : handler_of(e, cmd->effect);
    er->run = r;
    er->listened = r->m->interrupt != NULL && cmd->kind == PAWL_CALL;
    if (cmd->kind == PAWL_SPAWN && (er->child = child_name(&er->mem, cmd->id, cmd->child)) == NULL) {
        errand_free(e, er);
        return fail(err, PAWL_NOMEM, "%s: no memory to perform it", cmd->id);
    }
    *end = er;
    return PAWL_OK;
}

/* Those whose command is over go; those that are out are told to stop, and go when they come back. */
static void errands_sift(pawl_engine *e, live *r)
{
    for (errand **at = &r->errands; *at != NULL;) {
        errand *er = *at;

        if (!er->open)
            told_to_stop(er);
        if (!er->open && er->began && er->at == ERRAND_READY)
            (void)child_cancel(e, er);      /* it was left to itself */
        if (er->open || (er->at == ERRAND_OUT && !later_drop(er))) {
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

/* With all that it refers to, and secrets to be put in. */
static pawl_code command_whole(pawl_engine *e, live *r, size_t i, arena *mem, pawl_command *cmd, const pawl_value **secrets, pawl_err *err)
{
    pawl_err why = { PAWL_OK, "" };
    pawl_code rc = pawl_state_command(r->st, i, e->look, cmd, secrets, &why);

    if (rc == PAWL_GONE)
        return args_then(e, r, cmd->id, mem, cmd, secrets, err);
    return rc == PAWL_OK ? rc : fail(err, rc, "%s", why.text);
}

/* What refers to nothing but the run's own stays where it is: borrow.c. */
static pawl_code errand_adds(pawl_engine *e, live *r, size_t i, errand **end, pawl_err *why, pawl_err *err)
{
    const pawl_value *secrets = NULL;
    bool missing = false;
    pawl_command cmd;
    arena mem;
    pawl_code rc;

    arena_init(&mem, &e->alloc, 1024);
    if ((rc = command_whole(e, r, i, &mem, &cmd, &secrets, err)) == PAWL_OK && cmd.kind == PAWL_SPAWN && secrets != NULL)
        rc = fail(err, PAWL_INVALID, "%s: a secret is no input of a child run: name it in the child's own channels", cmd.id);
    if (rc == PAWL_OK)
        rc = secrets_put(e, &mem, &cmd, secrets, &missing, why, err);
    if (rc == PAWL_OK && missing && !r->st->canceling)  /* else it is called off, not performed */
        r->commands_moved = true;       /* to be looked at again */
    else if (rc == PAWL_OK)
        rc = errand_new(e, r, &cmd, end, err);
    arena_free(&mem);
    return rc;
}

static pawl_code errand_meets(pawl_engine *e, live *r, size_t i, errand ***end, pawl_err *why, pawl_err *err)
{
    bool refers;
    pawl_command cmd;
    errand *er;
    pawl_code rc = state_command_bare(r->st, i, e->look, &cmd, &refers, err);

    if (rc != PAWL_OK || cmd.kind == PAWL_SLEEP)
        return rc;
    if ((er = errand_find(r, cmd.id)) != NULL) {
        er->open = true;
        r->borrowed = r->borrowed || er->refers;
        return PAWL_OK;
    }
    if (!refers || cmd.kind != PAWL_CALL)
        rc = errand_adds(e, r, i, *end, why, err);
    else if ((rc = errand_new(e, r, &cmd, *end, err)) == PAWL_OK)
        (**end)->refers = r->borrowed = true;
    if (**end != NULL)
        *end = &(**end)->next;
    return rc;
}

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

void handlers_look(const pawl_engine *e, live *r)
{
    for (errand *er = r->errands; er != NULL; er = er->next)
        if (er->h == NULL && er->child == NULL && er->at == ERRAND_READY)
            er->h = handler_of(e, er->job.effect);
}

void errand_gone(pawl_engine *e, live *r, errand *er)
{
    for (errand **at = &r->errands; *at != NULL; at = &(*at)->next)
        if (*at == er) {
            *at = er->next;
            errand_free(e, er);
            return;
        }
}

bool any_out(const live *r)
{
    for (const errand *er = r->errands; er != NULL; er = er->next)
        if (er->at == ERRAND_OUT)
            return true;
    return false;
}

bool errands_quiet(const live *r)
{
    for (const errand *er = r->errands; er != NULL; er = er->next)
        if (er->at != ERRAND_READY)
            return false;
    return true;
}

bool errands_back(const live *r)
{
    for (const errand *er = r->errands; er != NULL; er = er->next)
        if (er->open && er->at != ERRAND_READY)
            return false;
    return true;
}

bool errands_home(const pawl_engine *e, const live *r)
{
    if (!errands_back(r))
        return false;
    for (const errand *er = r->errands; er != NULL; er = er->next) {
        const live *child = er->child == NULL || !er->began ? NULL : live_find(e, er->child);

        if (child != NULL && child->fence != 0 && child->st != NULL && !errands_home(e, child))
            return false;
    }
    return true;
}
