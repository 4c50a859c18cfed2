/* sql_command.c - performs commands in the transaction that stores their receipts: exactly once.
 *
 * sql_start() is called by dispatch.c, sql_into_append() by commit.c, on the driving thread. The store calls work() and made() in its transaction, on
 * the same thread, under the engine's lock. Invariant: a run has one such command at a time, so that it is open when its receipt is folded. */
#include "engine/command/attempt.h"
#include "kernel/names.h"

#include <string.h>

enum { SQL_LIMIT_MS = 1000 };

/* The declaration of the first machine that has one; when machines differ, adding the handler is refused. */
static pawl_class effect_class(const pawl_engine *e, const char *effect)
{
    pawl_class declared;

    for (size_t i = 0; i <= e->nmore; i++)
        if (pawl_machine_effect(i == 0 ? e->m : e->more[i - 1], effect, &declared))
            return declared;
    return PAWL_CLASS_AT_LEAST_ONCE;
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
    e->handlers->sql = true;    /* the newest handler is the first of the list */
    e->handlers->limit_ms = limit_ms > 0 ? limit_ms : SQL_LIMIT_MS;
    return PAWL_OK;
}

void *pawl_ctx_sql(const pawl_job *job) { return job == NULL ? NULL : job->sql; }

/* ---- chosen ----------------------------------------------------------------------------------- */

/* All commands of one commit together get at most a third of a lease, since no lease is renewed during the transaction. */
pawl_code sql_start(pawl_engine *e, cached_run *r, bool *did, pawl_err *err)
{
    int64_t now = engine_now(e);
    outbox_entry *entry = outbox_first(&r->outbox, ENTRY_SQL_READY);
    pawl_code rc;

    if (entry == NULL || (e->sql_ms > 0 && e->sql_ms + entry->h->limit_ms > e->ttl_ms / 3))
        return PAWL_OK;
    if (entry_has_expired(entry, now)) {        /* expired: entries_ask() makes its receipt */
        entry_move(entry, ENTRY_READY);
        *did = true;
        return PAWL_OK;
    }
    if ((rc = args_copy(e, entry, err)) != PAWL_OK)
        return rc;
    if ((*did = approval_ends(e, entry, &rc, err)) || rc != PAWL_OK)
        return rc;
    entry_move(entry, ENTRY_LEAVING);
    if ((rc = counts_store(e, r, now, err)) != PAWL_OK) {
        entry_move(entry, ENTRY_SQL_READY);
        return rc;
    }
    attempt_start(e, entry, now);
    e->sql_ms += entry->h->limit_ms;
    r->sql = entry;
    *did = true;
    return PAWL_OK;
}

/* ---- performed, in the store's transaction ------------------------------------------------------- */

static pawl_code work(void *ctx, void *sql, pawl_err *err)
{
    cached_run *r = ctx;
    outbox_entry *entry = r->sql;

    (void)err;
    entry->job.sql = sql;
    entry->rc = attempt_code(entry, attempt_run(entry));
    entry->job.sql = NULL;
    reply_limit(r->e, entry);      /* a reply that is too large must fail while the transaction can be rolled back */
    reply_check(r->e, entry);
    if (entry->reply.text.failed)
        entry->rc = PAWL_NOMEM;
    return entry->rc;
}

/* An error of the store has precedence over the result of the function. */
static void verdict(outbox_entry *entry, const pawl_within *w)
{
    int64_t left;
    const char *limit = nearest_limit(&entry->limits, entry->attempt.started_ms - entry->first_ms, &left);

    if (w->rc == PAWL_OK)
        return;
    if (w->why.code == PAWL_TIMEOUT)
        entry->rc = pawl_reply_fail(&entry->reply, PAWL_TIMEOUT, "%s: it took longer than its %s allows", entry->job.effect,
                                 limit != NULL && left < entry->h->limit_ms ? limit : "limit_ms");
    else if (w->why.code != PAWL_OK)
        entry->rc = pawl_reply_fail(&entry->reply, w->rc, "%s: %s", entry->job.effect, w->why.text);
    else if (w->rc == PAWL_NOMEM)
        entry->rc = pawl_reply_fail(&entry->reply, PAWL_TRANSIENT, "%s: no memory", entry->job.effect);
    else if (w->rc == PAWL_UNKNOWN)
        entry->rc = pawl_reply_fail(&entry->reply, PAWL_EFFECT, "%s: its function does not know what came of it", entry->job.effect);
    entry->reply.untouched = true;         /* the transaction was rolled back, so nothing has happened */
}

static pawl_code made(void *ctx, pawl_append *a)
{
    cached_run *r = ctx;
    outbox_entry *entry = r->sql;
    pawl_within *w = a->within;
    pawl_code rc;

    verdict(entry, w);
    cost_add(entry);
    if (!entry_retry(r->e, entry, engine_now(r->e))) {
        receipt_make(r->e, entry);
        rc = receipt_feed(r->e, r, entry, NULL);
        if (rc < 0 || rc == PAWL_IGNORED)
            return rc < 0 ? rc : PAWL_CONFLICT;
    }
    r->sql = NULL;
    rc = append_fill(r->e, r, r->within_release_sleeping, a, r->within_mem);
    a->within = w;
    return rc;
}

void sql_into_append(cached_run *r, bool release_sleeping, pawl_append *a, arena *mem)
{
    const outbox_entry *entry = r->sql;
    int64_t left;

    r->within = (pawl_within){ .work = work, .made = made, .ctx = r, .limit_ms = entry->h->limit_ms };
    if (nearest_limit(&entry->limits, entry->attempt.started_ms - entry->first_ms, &left) != NULL && left < r->within.limit_ms)
        r->within.limit_ms = left;
    r->within_mem = mem;
    r->within_release_sleeping = release_sleeping;
    a->within = &r->within;
}
