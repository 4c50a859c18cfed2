/* sql_command.c - commands that are performed in the transaction which stores their receipt: exactly once.
 *
 * Of a run one at a time: that its command is still open when its receipt is fed is certain then. */
#include "engine/command/outbox.h"

#include <string.h>

enum { SQL_LIMIT_MS = 1000 };

/* As the first machine says that says it; where they differ, binding is refused. */
static pawl_class effect_class(const pawl_engine *e, const char *effect)
{
    pawl_class declared;

    for (size_t i = 0; i <= e->nmore; i++)
        if (pawl_machine_effect(i == 0 ? e->m : e->more[i - 1], effect, &declared))
            return declared;
    return PAWL_AT_LEAST_ONCE;
}

pawl_code pawl_engine_sql(pawl_engine *e, const char *effect, pawl_handler_fn *fn, void *arg, int64_t limit_ms, pawl_err *err)
{
    pawl_code rc;

    if (e == NULL)
        return PAWL_INVALID;
    if (!name_valid(effect) || fn == NULL || limit_ms < 0)
        return fail(err, PAWL_INVALID, "\"%.64s\": a function with SQL needs the name of its effect, and a limit of 0 ms or more",
                    effect != NULL ? effect : "");
    if (e->store->verbs->sql == NULL || strcmp(e->store->verbs->sql, "sqlite") != 0)
        return fail(err, PAWL_INVALID, "%s: effect \"%s\" wants SQL in the store's transaction, and a store of kind \"%s\" has none: open a SQLite store",
                    pawl_machine_name(e->m), effect, e->store->verbs->name);
    if ((rc = pawl_engine_effect(e, effect, fn, arg, effect_class(e, effect), err)) != PAWL_OK)
        return rc;
    e->handlers->sql = true;    /* the newest is the first */
    e->handlers->limit_ms = limit_ms > 0 ? limit_ms : SQL_LIMIT_MS;
    return PAWL_OK;
}

void *pawl_ctx_sql(const pawl_job *job) { return job == NULL ? NULL : job->sql; }

/* ---- chosen ----------------------------------------------------------------------------------- */

/* All of a commit together stay well below a lease, which nobody can renew meanwhile. */
pawl_code sql_choose(pawl_engine *e, live *r, bool *did, pawl_err *err)
{
    int64_t now = engine_now(e);

    for (errand *er = r->errands; er != NULL; er = er->next) {
        pawl_code rc;

        if (er->at != ERRAND_READY || er->h == NULL || !er->h->sql || er->not_before_ms > now)
            continue;
        if (e->sql_ms > 0 && e->sql_ms + er->h->limit_ms > e->ttl_ms / 3)
            return PAWL_OK;
        if ((rc = args_take(e, er, err)) != PAWL_OK)
            return rc;
        er->leaves = true;
        if ((rc = leaving_mark(e, r, now, err)) != PAWL_OK) {
            er->leaves = false;
            return rc;
        }
        errand_begin(e, er, now);
        e->sql_ms += er->h->limit_ms;
        r->sql = er;
        *did = true;
        return PAWL_OK;
    }
    return PAWL_OK;
}

/* It never happened: it is done again, and this attempt is not counted twice. */
void sql_stale(live *r)
{
    r->sql = NULL;
    for (errand *er = r->errands; er != NULL; er = er->next)
        if (er->h != NULL && er->h->sql && er->at != ERRAND_READY) {
            er->at = ERRAND_READY;
            er->stop = er->lost = false;
            er->job.attempt--;
            cost_take_back(er);
            er->counted = true;
        }
}

/* ---- performed, in the store's transaction ------------------------------------------------------- */

static pawl_code work(void *ctx, void *sql, pawl_err *err)
{
    live *r = ctx;
    errand *er = r->sql;

    (void)err;
    er->job.sql = sql;
    er->rc = attempt_code(er, errand_run(er));
    er->job.sql = NULL;
    reply_limit(r->e, er);      /* what cannot be its receipt is an error while it can be taken back */
    reply_check(r->e, er);
    if (er->reply.text.failed)
        er->rc = PAWL_NOMEM;
    return er->rc;
}

/* What the store found wrong counts for more than what the function said. */
static void verdict(errand *er, const pawl_within *w)
{
    int64_t left;
    const char *limit = limit_least(&er->limits, er->began_ms - er->first_ms, &left);

    if (w->rc == PAWL_OK)
        return;
    if (w->why.code == PAWL_TIMEOUT)
        er->rc = pawl_reply_fail(&er->reply, PAWL_TIMEOUT, "%s: it took longer than its %s allows", er->job.effect,
                                 limit != NULL && left < er->h->limit_ms ? limit : "limit_ms");
    else if (w->why.code != PAWL_OK)
        er->rc = pawl_reply_fail(&er->reply, w->rc, "%s: %s", er->job.effect, w->why.text);
    else if (w->rc == PAWL_NOMEM)
        er->rc = pawl_reply_fail(&er->reply, PAWL_TRANSIENT, "%s: no memory", er->job.effect);
    else if (w->rc == PAWL_UNKNOWN)
        er->rc = pawl_reply_fail(&er->reply, PAWL_EFFECT, "%s: its function does not know what came of it", er->job.effect);
    er->reply.untouched = true;         /* it was taken back, whatever it did */
}

static pawl_code made(void *ctx, pawl_append *a)
{
    live *r = ctx;
    errand *er = r->sql;
    pawl_within *w = a->within;
    pawl_code rc;

    verdict(er, w);
    cost_add(er);
    if (!errand_again(r->e, er, engine_now(r->e))) {
        receipt_make(r->e, er);
        rc = receipt_feed(r->e, r, er, NULL);
        if (rc < 0 || rc == PAWL_IGNORED)
            return rc < 0 ? rc : PAWL_CONFLICT;
    }
    r->sql = NULL;
    rc = append_fill(r->e, r, r->within_naps, a, r->within_mem);
    a->within = w;
    return rc;
}

void sql_within(live *r, bool naps, pawl_append *a, arena *mem)
{
    const errand *er = r->sql;
    int64_t left;

    r->within = (pawl_within){ .work = work, .made = made, .ctx = r, .limit_ms = er->h->limit_ms };
    if (limit_least(&er->limits, er->began_ms - er->first_ms, &left) != NULL && left < r->within.limit_ms)
        r->within.limit_ms = left;
    r->within_mem = mem;
    r->within_naps = naps;
    a->within = &r->within;
}
