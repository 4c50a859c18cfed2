/* drive.c - supersteps: closes a superstep whose tasks are done, and opens the next one. frame_run.c runs the tasks.
 *
 * Called by the step loop of the kernel after the event's item was folded, inside the step's transaction. An event and its consequences are one entry
 * (E2): after an event that closes a superstep the next one is opened in the same step, and kept if it issues commands or waits. Otherwise the
 * opening is rolled back, and a tick makes it again, so an entry never has two whole supersteps. */
#include "graph/graph.h"
#include "kernel/events.h"
#include "kernel/frame.h"
#include "kernel/item.h"
#include "kernel/spec.h"
#include "kernel/state.h"
#include "kernel/step.h"
#include "kernel/txn.h"

#include <string.h>

/* ---- failure ------------------------------------------------------------------------------------------- */

static const task *first_failed(const frame *f)
{
    for (uint32_t i = 0; i < f->ntasks; i++) {
        const task *deep;

        if (f->tasks[i].at == TASK_FAILED)
            return &f->tasks[i];
        if (f->tasks[i].child != NULL && (deep = first_failed(f->tasks[i].child)) != NULL)
            return deep;
    }
    return NULL;
}

static pawl_code run_fails(pawl_step *s, pawl_err *err)
{
    const task *tk = first_failed(&s->st->root);
    const pawl_value *why = tk == NULL ? NULL : value_read(&s->mem, tk->fault, tk->fault_size, "a fault", err);
    const char *code = pawl_value_string(pawl_value_get(why, "code"));

    if (code == NULL)
        return s->mem.failed ? PAWL_NOMEM : fail(err, PAWL_CORRUPT, "%s: a task failed without a reason", s->st->run);
    return step_end(s, strcmp(code, "denied") == 0 ? PAWL_STATUS_REJECTED : PAWL_STATUS_FAILED, tk->fault, tk->fault_size, err);
}

/* The superstep cannot close, because of a merge, a route or a limit; no task has failed. */
static pawl_code close_fails(pawl_step *s, const pawl_err *why, pawl_err *err)
{
    size_t size = 0;
    const char *reason = reason_code(s, why->code, why->text, NULL, &size);

    return reason == NULL ? PAWL_NOMEM : step_end(s, PAWL_STATUS_FAILED, reason, size, err);
}

/* ---- closing ---------------------------------------------------------------------------------------------- */

static pawl_code close_items(pawl_step *s, const pawl_graph *g, const gnode *lone, pawl_err *err)
{
    frame *f = &s->st->root;
    closing *cl;
    item *it = step_close(s, &cl);
    uint64_t closed = f->superstep;
    held *h = NULL;
    bool holds = false;
    pawl_code rc;

    if (it == NULL)
        return PAWL_NOMEM;
    if (lone != NULL && plan_plain(g, f, lone, cl))
        return step_add(s, it, err);
    if ((rc = plan_next(s, g, f, "", cl, &holds, err)) != PAWL_OK)
        return rc;
    if (holds && (rc = holds_find(s, g, f, "", closed, &h, err)) != PAWL_OK)
        return rc;
    rc = step_add(s, it, err);
    return rc != PAWL_OK || h == NULL ? rc : holds_add(s, h, err);
}

/* Asks for the input of the next turn. */
static pawl_code input_asked(pawl_step *s, const pawl_graph *g, pawl_err *err)
{
    const pawl_question q = { .kind = PAWL_WAIT_INPUT, .prompt = value_string(&s->mem, g->turns, strlen(g->turns)) };
    item *it;

    if ((it = step_item(s, ITEM_ASK)) == NULL)
        return PAWL_NOMEM;
    it->spec = spec_ask(s, &q, "input", s->now, NULL, NULL, NULL, true, &it->spec_size);
    it->task = "@";
    it->hold = true;
    it->wait = PAWL_WAIT_INPUT;
    it->superstep = s->st->root.superstep;
    it->visit = 1;
    it->at = s->now;
    return it->spec == NULL ? PAWL_NOMEM : step_add(s, it, err);
}

/* No next tasks and no open waits: the run completes, or waits for the input of the next turn. */
static pawl_code run_completes(pawl_step *s, const pawl_graph *g, pawl_err *err)
{
    pawl_err why;

    PAWL_ASSERT(s->st->root.ntasks == 0 && s->st->root.ndetached == 0, "G1: a run completes when nothing is next and nobody is asked");
    err_begin(&why);
    if (join_stuck(g, &s->st->root, s->st->rounds, &why))
        return close_fails(s, &why, err);
    return g->turns != NULL ? input_asked(s, g, err) : step_end(s, PAWL_STATUS_COMPLETED, NULL, 0, err);
}

static APART pawl_code run_over(pawl_step *s, const pawl_graph *g, pawl_err *err)
{
    const frame *f = &s->st->root;
    pawl_err why;

    if (f->ntasks == 0)
        return run_completes(s, g, err);
    err_begin(&why);
    fail(&why, PAWL_LIMIT, "%s: max_steps %u is reached, and \"%s\" is next", g->name, (unsigned)g->max_steps, f->tasks[0].name);
    return close_fails(s, &why, err);
}

static inline pawl_code run_settles(pawl_step *s, const pawl_graph *g, pawl_err *err)
{
    const frame *f = &s->st->root;

    return f->ndetached > 0 || (f->ntasks > 0 && f->steps < g->max_steps) ? PAWL_OK : run_over(s, g, err);
}

/* Closes the superstep. `lone`: the node of its only task, when the task started and left in this step; else NULL. */
static pawl_code superstep_ends(pawl_step *s, const pawl_graph *g, const gnode *lone, reach how, pawl_err *err)
{
    undo *before = txn_position(s->st);    /* enough, since a refused close has not changed the head */
    item *last = s->entry.last;
    uint32_t count = s->entry.count;
    pawl_err why;
    pawl_code rc;

    if (how == REACH_FAILED)
        return run_fails(s, err);
    PAWL_ASSERT(how == REACH_DONE, "G2: a superstep closes when its tasks are done");
    err_begin(&why);
    rc = close_items(s, g, lone, &why);
    if (rc == PAWL_INVALID || rc == PAWL_LIMIT) {
        txn_rollback(s->st, before);
        step_cut(s, last, count);
        s->st->t->closed = false;
        return close_fails(s, &why, err);
    }
    if (rc != PAWL_OK)
        return fail(err, rc, "%s", why.text);
    return run_settles(s, g, err);
}

/* ---- what comes after an event ------------------------------------------------------------------------------- */

/* Fast path: the node of a lone ready task, when the node has only a function. NULL: another superstep. */
static inline const gnode *lone_node(const pawl_graph *g, const frame *f)
{
    const gnode *n = f->ntasks == 1 && f->tasks->at == TASK_READY ? node_of_task(g, f->tasks) : NULL;

    return n != NULL && n->bare ? n : NULL;
}

static inline pawl_code root_run(pawl_step *s, const pawl_graph *g, const gnode *lone, reach *how, pawl_err *err)
{
    frame *f = &s->st->root;
    pawl_code rc;

    if (lone == NULL)
        return frame_run(s, g, f, "", how, err);
    rc = bare_pass(s, g, lone, f, f->tasks, f->tasks->name, err);
    *how = reach_of(f->tasks);
    return rc;
}

/* Opens the next superstep; keeps it only if it has to wait for something. */
static pawl_code open_next(pawl_step *s, const pawl_graph *g, pawl_err *err)
{
    frame *f = &s->st->root;
    const gnode *lone = lone_node(g, f);
    undo *before = lone == NULL ? txn_mark(s->st) : txn_position(s->st);
    item *last = s->entry.last;
    uint32_t count = s->entry.count;
    reach how;
    pawl_code rc;

    PAWL_ASSERT(!f->open, "G2: a superstep begins when the one before it is closed");
    rc = lone == NULL ? frame_run(s, g, f, "", &how, err) : bare_try(s, g, lone, f, &how, err);

    if (rc == PAWL_OK && how != REACH_WAITS) {
        txn_rollback(s->st, before);
        step_cut(s, last, count);
    }
    return rc;
}

static bool next_asks(const pawl_graph *g, const frame *f)
{
    for (uint32_t i = 0; g->asks && i < f->ntasks; i++) {
        const gnode *n = node_of_task(g, &f->tasks[i]);

        if (n != NULL && n->asks)
            return true;
    }
    return false;
}

static void count_calls(const frame *f, uint32_t *calls, uint32_t *visits)
{
    for (uint32_t i = 0; i < f->ntasks && *calls + *visits < 2; i++) {      /* the caller only needs to know whether there is exactly one */
        *calls += f->tasks[i].ncalls;
        *visits += f->tasks[i].visit > 1;       /* not `timed`, which a snapshot does not store */
        if (f->tasks[i].child != NULL)
            count_calls(f->tasks[i].child, calls, visits);
    }
}

/* Whether the superstep waited for a single call. Then the event that answers it also closes the superstep, since no order of arrival is possible. */
static bool one_thing(const pawl_step *s)
{
    uint32_t calls = 0, visits = 0;

    count_calls(&s->st->root, &calls, &visits);
    for (const item *it = (s->entry.kinds & kind_bit(ITEM_LEAVE)) != 0 ? s->entry.items : NULL; it != NULL; it = it->next)
        if (it->kind == ITEM_LEAVE && it->inner)
            calls += 2;             /* calls of a freed subgraph cannot be counted: assume several */
    return calls == 1 && visits == 0 && s->st->nmarks == 0;
}

static APART pawl_code go_on(pawl_step *s, const pawl_graph *g, pawl_err *err)
{
    frame *f = &s->st->root;
    bool tick = s->ev->kind == PAWL_EV_TICK;
    const gnode *lone;
    reach how;
    pawl_code rc;

    if (f->ndetached > 0)
        return PAWL_OK;
    if (f->ntasks == 0)
        return run_completes(s, g, err);
    if (!s->was_open) {     /* the last wait between supersteps was answered, or a run at its step limit was reopened */
        rc = run_settles(s, g, err);
        if (rc != PAWL_OK || s->final >= 0)
            return rc;
        if (!tick)
            return open_next(s, g, err);
    }
    lone = lone_node(g, f);
    if ((rc = root_run(s, g, lone, &how, err)) != PAWL_OK || how == REACH_WAITS)
        return rc;
    if (!tick && !one_thing(s))
        return PAWL_OK;             /* a task record; a tick closes the superstep */
    rc = superstep_ends(s, g, lone, how, err);
    if (rc != PAWL_OK || s->final >= 0 || !s->t.closed || f->ndetached > 0 || f->ntasks == 0)
        return rc;
    return !tick || s->st->nmarks > 0 || next_asks(g, f) ? open_next(s, g, err) : PAWL_OK;
}

/* ---- events -------------------------------------------------------------------------------------------------------- */

static APART pawl_code begin_turn(pawl_step *s, const pawl_graph *g, pawl_err *err)
{
    closing *cl;
    item *it = step_close(s, &cl);
    pawl_err why;
    pawl_code rc;

    if (it == NULL)
        return PAWL_NOMEM;
    err_begin(&why);
    rc = plan_start(s, g, &s->st->root, cl, &why);
    if (rc == PAWL_INVALID || rc == PAWL_LIMIT)
        return close_fails(s, &why, err);
    if (rc != PAWL_OK)
        return fail(err, rc, "%s", why.text);
    if ((rc = step_add(s, it, err)) != PAWL_OK)
        return rc;
    s->t.closed = false;
    if ((rc = run_settles(s, g, err)) != PAWL_OK || s->final >= 0)
        return rc;
    return s->st->root.ntasks > 0 ? open_next(s, g, err) : PAWL_OK;
}

static pawl_code failed_again(pawl_step *s, frame *f, const char *prefix, pawl_err *err)
{
    pawl_code rc = PAWL_OK;

    for (uint32_t i = 0; i < f->ntasks && rc == PAWL_OK; i++) {
        task *tk = &f->tasks[i];
        const char *path = path_join(s, prefix, tk->name);
        item *it = step_item(s, ITEM_VISIT);

        if (it == NULL || path == NULL)
            return PAWL_NOMEM;
        if (tk->at == TASK_FAILED) {
            it->task = path;
            it->visit = tk->visit + 1;
            it->at = s->now;
            rc = step_add(s, it, err);
        } else if (tk->child != NULL) {
            rc = failed_again(s, tk->child, path_below(s, path, tk), err);
        }
    }
    return rc;
}

/* A person reopens the run: finished tasks stay, failed tasks get a new visit (G4). */
static APART pawl_code reopened(pawl_step *s, const pawl_graph *g, pawl_err *err)
{
    reach how;
    pawl_code rc = failed_again(s, &s->st->root, "", err);

    if (rc == PAWL_OK && s->st->root.ntasks == 0)   /* the run failed before its first task or after its last one */
        return s->st->root.steps == 0 ? begin_turn(s, g, err) : run_settles(s, g, err);
    if (rc != PAWL_OK || !s->st->root.open)
        return rc;
    if ((rc = frame_run(s, g, &s->st->root, "", &how, err)) != PAWL_OK || how != REACH_FAILED)
        return rc;
    return run_fails(s, err);
}

static APART pawl_code update_as(pawl_step *s, const pawl_graph *g, pawl_err *err)
{
    const gnode *n = node_find(g, s->ev->name);
    frame *f = &s->st->root;
    closing *cl;
    item *it = step_item(s, ITEM_UPDATE), *close = step_close(s, &cl);
    pawl_code rc = PAWL_OK;

    if (it == NULL || close == NULL)
        return PAWL_NOMEM;
    if (n == NULL || n->kind == GNODE_START)
        return fail(err, PAWL_INVALID, "%s: no node \"%.64s\" to update as", s->st->run, s->ev->name);
    if (f->open)
        return fail(err, PAWL_INVALID, "%s: update as \"%s\": superstep %llu is open; answer what it waits for, or update without a node",
                    s->st->run, n->name, (unsigned long long)f->superstep);
    s->whole = true;
    it->value = s->value;
    it->more = event_members(s, s->ev->by, true);
    if (it->more == NULL || (rc = step_add(s, it, err)) != PAWL_OK || (rc = step_custom(s, "", s->value, err)) != PAWL_OK)
        return it->more == NULL ? PAWL_NOMEM : rc;
    if ((rc = plan_from(s, g, f, n, cl, err)) != PAWL_OK)
        return rc;
    if ((rc = step_add(s, close, err)) != PAWL_OK)
        return rc;
    s->t.closed = false;
    if ((rc = run_settles(s, g, err)) != PAWL_OK || s->final >= 0)
        return rc;
    return f->ntasks > 0 && f->ndetached == 0 ? open_next(s, g, err) : PAWL_OK;
}

pawl_code graph_drive(const pawl_machine *m, pawl_step *s, pawl_err *err)
{
    const pawl_graph *g = graph_of(m);

    switch (s->ev->kind) {
    case PAWL_EV_START:
        return begin_turn(s, g, err);
    case PAWL_EV_UPDATE:
        return s->ev->name != NULL ? update_as(s, g, err) : PAWL_OK;
    case PAWL_EV_REOPEN:
        return reopened(s, g, err);
    case PAWL_EV_ADOPT:
    case PAWL_EV_CANCEL:
        return PAWL_OK;
    case PAWL_EV_INPUT:
    case PAWL_EV_ANSWER:
        if (s->in != NULL && s->in->kind == ITEM_INPUT)
            return begin_turn(s, g, err);
        return go_on(s, g, err);
    case PAWL_EV_TICK:
    case PAWL_EV_RECEIPT:
    case PAWL_EV_TIMER:
    case PAWL_EV_SIGNAL:
        break;
    }
    return go_on(s, g, err);
}
