/* visit.c - one pass of a node: its commands meet their receipts by number, its writes are collected until it leaves. See visit.h.
 *
 * The only effect of a pass that does not leave is its new commands. The next pass must make the same commands again, in the same order and
 * with the same bytes; otherwise the node is not pure (PAWL_CORRUPT). */
#include "kernel/budget_ask.h"
#include "kernel/visit.h"

#include <string.h>

pawl_code not_here(pawl_step *s, const char *what)
{
    if (!in_node(s))
        return PAWL_INVALID;
    return visit_wrong(s, PAWL_INVALID, "%s is for nodes; a reducer has pawl_flow_%s", what, what);
}

/* ---- commands --------------------------------------------------------------------------------- */

static item *command_new(pawl_step *s, unsigned kind, int64_t time_ms, unsigned wait, const char *spec, size_t size)
{
    visit *v = s->v;
    item *it;

    if (v->cursor >= v->max_calls) {
        visit_wrong(s, PAWL_LIMIT, "more than %u commands in one visit (max_calls)", (unsigned)v->max_calls);
        return NULL;
    }
    if ((it = step_item(s, kind)) == NULL)
        return NULL;
    PAWL_ASSERT(v->cursor >= v->task->ncalls, "E4: a command is made once");
    it->superstep = s->st->root.superstep;
    it->task = v->path;
    it->visit = v->task->visit;
    it->n = v->cursor++;
    it->at = time_ms;
    it->wait = (uint8_t)wait;
    it->spec = spec;
    it->spec_size = size;
    if (v->commands_last == NULL)
        v->commands = it;
    else
        v->commands_last->next = it;
    v->commands_last = it;
    return it;
}

static pawl_code not_made(const pawl_step *s)
{
    return s->v->err.code != PAWL_OK ? s->v->err.code : PAWL_NOMEM;
}

/* A refused command takes a number in the visit too, so that the next pass meets the refusal there, whatever the budget is then. */
static pawl_code command_refused(pawl_step *s, unsigned kind, const char *spec, size_t size, const char *why, const call **out)
{
    item *it = command_new(s, ITEM_REFUSAL, s->v->at, kind, spec, size);
    call *c = arena_zero(&s->mem, sizeof *c);

    if (it == NULL || c == NULL)
        return not_made(s);
    if ((it->value = value_pack(&s->mem, NULL, "{s:s,s:s}", "code", pawl_code_name(PAWL_LIMIT), "text", why)) == NULL)
        return PAWL_NOMEM;
    c->value = it->value;
    s->v->refusal = why;
    *out = c;
    return PAWL_LIMIT;
}

pawl_code visit_command(pawl_step *s, unsigned kind, int64_t time_ms, unsigned wait, const char *spec, size_t size,
                        const amounts *due, const call **out)
{
    static const uint8_t kinds[] = { [CALL_CALL] = ITEM_CALL, [CALL_SLEEP] = ITEM_SLEEP, [CALL_SPAWN] = ITEM_SPAWN,
                                     [CALL_ASK] = ITEM_ASK };
    visit *v = s->v;
    const char *why;
    const call *c;
    pawl_code rc;

    *out = NULL;
    if (spec == NULL)
        return not_made(s);
    if (v->reading)
        return visit_wrong(s, PAWL_INVALID, "a route makes no commands");
    if (v->cursor >= v->task->ncalls) {
        if (v->guard_asked && v->unanswered)
            return kind == CALL_ASK ? PAWL_INTERRUPTED : PAWL_PENDING;
        if (due != NULL && (rc = budget_check_command(s, due, &why)) != PAWL_OK)
            return rc == PAWL_LIMIT ? command_refused(s, kind, spec, size, why, out) : rc;
        if (command_new(s, kinds[kind], time_ms, wait, spec, size) == NULL)
            return not_made(s);
        v->unanswered = v->issued = true;
        return kind == CALL_ASK ? PAWL_INTERRUPTED : PAWL_PENDING;
    }
    c = &v->task->calls[v->cursor];
    if (c->kind != kind || c->spec_size != size || memcmp(c->spec, spec, size) != 0)
        return visit_wrong(s, PAWL_CORRUPT, "command %u of visit %u was %.60s, and now is %.60s: the node is not pure", (unsigned)v->cursor,
                           (unsigned)v->task->visit, c->spec, spec);
    v->cursor++;
    if (!call_has_outcome(c)) {
        v->unanswered = true;
        return kind == CALL_ASK ? PAWL_INTERRUPTED : PAWL_PENDING;
    }
    PAWL_ASSERT(v->cursor <= v->task->ncalls, "E4: a command meets its own receipt");
    *out = c;
    if (c->at == CALL_REFUSED) {
        v->refusal = pawl_value_string(pawl_value_get(c->value, "text"));
        return PAWL_LIMIT;
    }
    return c->outcome == PAWL_OUTCOME_DONE ? PAWL_OK : PAWL_EFFECT;
}

static bool has_time(const pawl_step *s, const visit *v)
{
    if (v->task == NULL || v->task->at != TASK_READY || v->task->timed)
        return false;
    return !s->whole && !s->t.closed && (s->was_open || s->ev->kind == PAWL_EV_TICK);
}

void visit_follows(const pawl_step *s, visit *v)
{
    if (v->frame->parent != NULL && has_time(s, v))
        v->now = v->at = v->frame->now_ms;
}

pawl_code visit_time_item(pawl_step *s, visit *v, pawl_err *err)
{
    item *it;

    if (!has_time(s, v))
        return PAWL_OK;
    if ((it = step_item(s, ITEM_VISIT)) == NULL)
        return PAWL_NOMEM;
    it->task = v->path;
    it->visit = v->task->visit;
    it->at = v->at;
    return step_add(s, it, err);
}

static pawl_code race_item(pawl_step *s, const visit *v, uint32_t k, uint32_t n, pawl_err *err)
{
    item *it = step_item(s, ITEM_SELECT);

    if (it == NULL)
        return PAWL_NOMEM;
    it->task = v->path;
    it->visit = v->task->visit;
    it->k = k;
    it->n = n;
    return step_add(s, it, err);
}

pawl_code visit_races(pawl_step *s, visit *v, pawl_err *err)
{
    uint32_t k = v->task->nwins;
    pawl_code rc = PAWL_OK;

    for (uint32_t i = 0; i < v->nwon && rc == PAWL_OK; i++)
        rc = race_item(s, v, k + i, v->won[i], err);
    return rc;
}

pawl_code visit_commands(pawl_step *s, visit *v, pawl_err *err)
{
    pawl_code rc = v->commands != NULL ? visit_time_item(s, v, err) : PAWL_OK;

    for (item *it = v->commands, *next; it != NULL && rc == PAWL_OK; it = next) {
        next = it->next;
        it->next = NULL;
        rc = step_add(s, it, err);
    }
    if (rc == PAWL_OK && v->racing && !v->task->racing)
        rc = race_item(s, v, v->task->nwins, UINT32_MAX, err);
    return rc;
}

pawl_code visit_leave(pawl_step *s, visit *v, pawl_err *err)
{
    item *it = step_item_with(s, ITEM_LEAVE, sizeof(leave));
    leave *l;

    PAWL_ASSERT(!v->reading && (!v->unanswered || v->raced), "E1: a node leaves when its commands are answered");
    if (it == NULL)
        return fail(err, PAWL_NOMEM, "no memory for a step");
    it->leave = l = (leave *)(void *)(it + 1);
    *l = (leave){ .writes = v->writes, .nwrites = (uint32_t)v->nwrites, .sends = v->sends, .nsends = (uint32_t)v->nsends,
                  .emits = v->emits, .nemits = (uint32_t)v->nemits, .gotos = v->gotos, .ngotos = (uint32_t)v->ngotos,
                  .halt = v->halt, .hold = v->hold };
    it->place = (uint32_t)(v->task - v->frame->tasks);
    it->inner = v->frame->parent != NULL;
    it->task = v->nemits > 0 ? arena_strdup(&s->mem, v->path, strlen(v->path)) : v->path;   /* stream readers read the entry after the task was freed */
    it->visit = v->task->visit;
    return it->task == NULL ? PAWL_NOMEM : step_add(s, it, err);
}
