/* run_end.c - the end of a run: completed, failed or canceled, with compensation before it (E5, E10).
 *
 * Called by machines and by the step loop, on the thread that owns the step. When a run ends otherwise than completed and has something to
 * undo, st->unwind is its coming status: commands in flight end first, then the inverses are issued one by one, each in an entry of its own. */
#include "kernel/compensation.h"
#include "kernel/machine.h"
#include "kernel/spec.h"

#include <string.h>

/* ---- undoing ------------------------------------------------------------------------------------ */

typedef struct undo_search { pawl_step *s; bool found; } undo_search;

static bool see_undoable(void *ctx, const frame *f, const task *tk, const char *path, const call *c, uint32_t n)
{
    undo_search *u = ctx;

    (void)f, (void)tk, (void)path, (void)n;
    u->found = call_undoable(&u->s->mem, c);
    return !u->found;
}

/* Whether inverses must run before the run ends. */
static bool undo_due(pawl_step *s)
{
    undo_search u = { .s = s };

    if (s->st->unwind != 0)
        return false;
    if (undo_count(s->st) > 0)
        return true;
    if (s->st->commands > 0 || s->st->waits > 0)     /* a command in doubt counts as a wait */
        state_each_call(s->st, see_undoable, &u);
    return u.found;
}

/* The references of the command to undo, moved below /args of the inverse's arguments. Only references to secrets are left. */
static pawl_code refs_move(pawl_step *s, const pawl_value *args, const pawl_value *stand)
{
    pawl_iter it = pawl_iter_of(stand);
    const pawl_value *ref;

    while ((ref = pawl_iter_next(&it, NULL)) != NULL) {
        const char *path = pawl_format(s, "/args%s", pawl_value_string(pawl_value_at(ref, 0)));
        union { const pawl_value *in; yyjson_val *out; } node;

        if (path == NULL)
            return PAWL_NOMEM;
        if ((node.in = pawl_value_find(args, path)) == NULL)
            return PAWL_CORRUPT;
        node.out->tag |= NODE_REF;
        if (step_ref(s, node.in, pawl_value_string(pawl_value_at(ref, 1)), pawl_value_string(pawl_value_at(ref, 2)), NULL) != PAWL_OK)
            return PAWL_NOMEM;
    }
    return PAWL_OK;
}

static pawl_code inverse_issue(pawl_step *s, pawl_err *err)
{
    const pawl_value *note = undo_next(s->st, &s->mem), *less = pawl_value_at(note, 2), *args = pawl_value_get(less, "args"), *given;
    const char *effect = pawl_value_string(pawl_value_get(less, "effect"));
    item *it = step_item(s, ITEM_CALL);
    pawl_code rc;

    if (note == NULL || it == NULL)
        return PAWL_NOMEM;
    given = value_pack(&s->mem, err, "{s:v,s:s,s:v}", "args", args != NULL ? args : value_null(&s->mem), "id", pawl_value_string(pawl_value_at(note, 1)),
                       "receipt", pawl_value_at(note, 3));
    if (given == NULL)
        return PAWL_NOMEM;
    if ((rc = refs_move(s, given, pawl_value_get(less, "refs"))) != PAWL_OK)
        return rc == PAWL_NOMEM ? rc : fail(err, rc, "%s: a secret at a place where there is nothing", s->st->run);
    PAWL_ASSERT(s->st->unwind != 0, "E5: inverses run on the way to the status of a run that did not complete");
    it->task = UNDO_TASK;
    it->visit = 1;
    it->superstep = s->st->seq + 1;
    it->spec = spec_call(s, effect, given, machine_limits(s->m, effect), NULL, &it->spec_size);
    s->whole = true;
    return it->spec == NULL ? PAWL_NOMEM : step_add(s, it, err);
}

static pawl_code unwind_next(pawl_step *s, pawl_err *err)
{
    const pawl_state *st = s->st;

    if ((st->commands > 0 || st->waits > 0) && !BROKEN(BROKEN_UNWIND_EARLY))
        return PAWL_OK;
    s->whole = true;
    if (st->undone < undo_count(st))
        return inverse_issue(s, err);
    PAWL_ASSERT(status_is_terminal(st->unwind) && st->unwind != PAWL_STATUS_COMPLETED, "E5: what was undone does not complete");
    s->final = st->unwind;
    return PAWL_OK;
}

static pawl_code unwind_begin(pawl_step *s, pawl_status status, const char *reason, size_t size, pawl_err *err)
{
    item *it = step_item(s, ITEM_UNWIND);
    pawl_code rc;

    PAWL_ASSERT(s->st->unwind == 0, "E5: a run is undone once");
    if (it == NULL)
        return fail(err, PAWL_NOMEM, "no memory for a step");
    s->whole = true;
    it->outcome = (uint8_t)status;
    it->spec = reason;
    it->spec_size = size;
    if ((rc = step_add(s, it, err)) != PAWL_OK || (rc = step_drop(s, false, err)) != PAWL_OK)
        return rc;
    return unwind_next(s, err);
}

/* ---- the end ------------------------------------------------------------------------------------ */

pawl_code step_end(pawl_step *s, pawl_status status, const char *reason, size_t size, pawl_err *err)
{
    item *it;

    if (status != PAWL_STATUS_COMPLETED && undo_due(s))
        return unwind_begin(s, status, reason, size, err);
    PAWL_ASSERT(status_is_terminal(status), "K1: a run ends with a terminal status");
    s->final = (int)status;
    if (reason == NULL)
        return PAWL_OK;
    if ((it = step_item(s, ITEM_END)) == NULL)
        return fail(err, PAWL_NOMEM, "no memory for a step");
    it->spec = reason;
    it->spec_size = size;
    return step_add(s, it, err);
}

/* The deadline in the base cancels the run: stores that as the reason. */
static pawl_code deadline_end(pawl_step *s, pawl_err *err)
{
    size_t size;
    const char *reason = reason_code(s, PAWL_TIMEOUT, "deadline", NULL, &size);
    item *it = reason == NULL ? NULL : step_item(s, ITEM_END);

    if (it == NULL)
        return PAWL_NOMEM;
    it->spec = reason;
    it->spec_size = size;
    return step_add(s, it, err);
}

/* Drops the open waits; commands in flight end in their own receipts, then inverses run, then the run gets its status (E10). A second cancel
 * drops the commands in flight too. */
pawl_code step_cancel(pawl_step *s, pawl_err *err)
{
    const pawl_state *st = s->st;
    bool now = s->ev->kind == PAWL_EV_CANCEL, again = now && s->was_canceling;
    pawl_code rc = now && !again && s->ev->by != NULL && strcmp(s->ev->by, BY_DEADLINE) == 0 ? deadline_end(s, err) : PAWL_OK;

    if (rc == PAWL_OK && state_canceling(st) && st->waits > 0)      /* else all that is open would be looked at after each receipt */
        rc = step_drop(s, false, err);
    if (rc != PAWL_OK || s->skips_machine || (st->commands > 0 && !again && !BROKEN(BROKEN_UNWIND_EARLY)))
        return rc;
    s->whole = true;
    if (again && st->commands > 0 && (st->unwind != 0 || undo_due(s)) && (rc = step_drop(s, true, err)) != PAWL_OK)
        return rc;
    if (st->unwind == 0 && undo_count(st) > 0)
        return unwind_begin(s, PAWL_STATUS_CANCELED, NULL, 0, err);
    if (st->unwind != 0)
        return unwind_next(s, err);
    s->final = PAWL_STATUS_CANCELED;
    return PAWL_OK;
}
