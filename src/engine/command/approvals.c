/* approvals.c - reads the signatures again that a command was approved with, before an attempt leaves (P11).
 *
 * Called by dispatch.c, sql_command.c and child/child.c, on the driving thread, without a lock. The signatures are those of the waits of its visit, and
 * that of the decision in its arguments, which an agent's command has ("decision", "signed"). A command that nobody had to sign costs a look at both. */
#include "engine/command/attempt.h"
#include "kernel/signed.h"
#include "kernel/state.h"

#include <string.h>

/* The keys of a proof are those that count on this machine. */
static pawl_code keys_count(const pawl_engine *e, const pawl_value *proof, pawl_err *err)
{
    pawl_iter it = pawl_iter_of(pawl_value_get(proof, "by"));
    const pawl_value *one;
    pawl_code rc = PAWL_OK;

    while (rc == PAWL_OK && e->approver != NULL && (one = pawl_iter_next(&it, NULL)) != NULL)
        rc = e->approver(e->approver_ctx, pawl_value_string(pawl_value_get(one, "name")), pawl_value_string(pawl_value_get(one, "key")), err);
    return rc;
}

/* The proof that its arguments carry is of this life of this run. */
static pawl_code carried_check(arena *mem, const outbox_entry *entry, const pawl_value *proof, pawl_err *err)
{
    const char *wait = pawl_value_string(pawl_value_get(proof, "wait")), *slash = strchr(entry->job.id, '/');
    const size_t n = slash != NULL ? (size_t)(slash - entry->job.id) + 1 : 0;

    if (wait == NULL || n == 0 || strncmp(wait, entry->job.id, n) != 0)
        return fail(err, PAWL_DENIED, "%s: its approval is of another run", entry->job.id);
    return proof_check(mem, proof, err);
}

/* The proof of a yes that its arguments carry. What else stands there is an argument like any other; NULL: none. */
static const pawl_value *carried_proof(const outbox_entry *entry)
{
    const pawl_value *v = pawl_value_get(pawl_value_get(entry->job.args, "decision"), "signed");

    return pawl_value_type(pawl_value_get(v, "by")) == PAWL_TYPE_ARRAY && pawl_value_string(pawl_value_get(v, "wait")) != NULL &&
           pawl_value_bool(pawl_value_get(v, "approve")) ? v : NULL;
}

static pawl_code approvals_check(const pawl_engine *e, const outbox_entry *entry, arena *mem, pawl_err *err)
{
    const pawl_value *carried = carried_proof(entry), *of_visit = NULL, *one;
    pawl_code rc = carried != NULL ? carried_check(mem, entry, carried, err) : PAWL_OK;
    pawl_iter it;

    if (rc == PAWL_OK && carried != NULL)
        rc = keys_count(e, carried, err);
    if (rc == PAWL_OK)
        rc = signed_of_command(entry->run->st, entry->job.id, mem, &of_visit, err);
    it = pawl_iter_of(of_visit);
    while (rc == PAWL_OK && (one = pawl_iter_next(&it, NULL)) != NULL)
        rc = keys_count(e, one, err);
    return rc;
}

/* *void_now: it does not count any more, and entry->reply says why. */
static pawl_code approvals_decide(pawl_engine *e, outbox_entry *entry, bool *void_now, pawl_err *err)
{
    pawl_err why = { PAWL_OK, "" };
    arena mem;
    pawl_code rc;

    arena_init(&mem, &e->alloc, 0);
    rc = approvals_check(e, entry, &mem, &why);
    if (mem.failed)
        rc = PAWL_NOMEM;
    arena_free(&mem);
    *void_now = rc != PAWL_OK && rc != PAWL_NOMEM;
    if (rc == PAWL_NOMEM)
        return fail(err, rc, "%s: no memory to look at its approval", entry->job.id);
    if (*void_now) {
        pawl_reply_untouched(&entry->reply);
        entry->rc = pawl_reply_fail(&entry->reply, PAWL_DENIED, "%s", why.text);
    }
    return PAWL_OK;
}

bool approval_ends(pawl_engine *e, outbox_entry *entry, pawl_code *rc, pawl_err *err)
{
    bool void_now = false;

    if ((*rc = approvals_decide(e, entry, &void_now, err)) != PAWL_OK || !void_now)
        return false;
    args_return(entry);
    receipt_make(e, entry);
    cost_report_unbegun(entry);
    return true;
}

bool child_approval_ends(pawl_engine *e, outbox_entry *entry, pawl_code *rc, pawl_err *err)
{
    pawl_err why = { PAWL_OK, "" };
    arena mem;

    arena_init(&mem, &e->alloc, 0);
    *rc = approvals_check(e, entry, &mem, &why);
    if (mem.failed || *rc == PAWL_NOMEM)
        *rc = fail(err, PAWL_NOMEM, "%s: no memory to look at its approval", entry->job.id);
    arena_free(&mem);
    if (*rc == PAWL_OK || *rc == PAWL_NOMEM)
        return false;
    *rc = PAWL_OK;
    entry_refuse(e, entry, PAWL_DENIED, why.text);
    return true;
}

pawl_code answer_counts(pawl_engine *e, const cached_run *r, const pawl_event *ev, pawl_err *err)
{
    const pawl_value *v;
    const char *name, *key;
    pawl_code rc = PAWL_OK;
    arena mem;

    if (ev->kind != PAWL_EV_ANSWER || e->approver == NULL || ev->value == NULL || r->st == NULL || !r->st->has_signed)
        return PAWL_OK;
    arena_init(&mem, &e->alloc, 512);
    v = value_parse(&mem, ev->value, ev->value_size > 0 ? ev->value_size : strlen(ev->value), "an answer", NULL);
    name = pawl_value_string(pawl_value_get(v, "name"));
    key = pawl_value_string(pawl_value_get(v, "key"));
    if (name != NULL && key != NULL && pawl_value_string(pawl_value_get(v, "signature")) != NULL)
        rc = e->approver(e->approver_ctx, name, key, err);
    arena_free(&mem);
    return rc;
}
