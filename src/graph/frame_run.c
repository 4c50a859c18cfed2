/* frame_run.c - runs the tasks of a superstep, and of the subgraphs inside them, until each has left, failed or waits.
 *
 * Called by drive.c for the run's own frame, inside the step's transaction. The supersteps of a subgraph are closed here, within its task. */
#include "graph/graph.h"
#include "kernel/frame.h"
#include "kernel/item.h"
#include "kernel/names.h"
#include "kernel/state.h"
#include "kernel/step.h"
#include "kernel/task_index.h"
#include "kernel/txn.h"

#include <string.h>

static bool may_run(const task *tk)
{
    if (tk->at == TASK_READY)
        return true;
    if (tk->at != TASK_OPEN)
        return false;
    return tk->child != NULL || tk->racing || task_ready(tk);
}

static pawl_code inner_close(pawl_step *s, const gnode *n, task *tk, const char *path, const char *prefix, pawl_err *err)
{
    item *close = step_item(s, ITEM_CLOSE);
    closing *cl = arena_zero(&s->mem, sizeof *cl);
    held *h = NULL;
    bool holds = false;
    pawl_code rc;

    if (close == NULL || cl == NULL)
        return PAWL_NOMEM;
    if ((rc = plan_next(s, n->sub, tk->child, path, cl, &holds, err)) != PAWL_OK)
        return rc;
    if (holds && (rc = holds_find(s, n->sub, tk->child, prefix, s->st->root.superstep, &h, err)) != PAWL_OK)
        return rc;
    close->task = path;
    close->closing = cl;
    if ((rc = step_add(s, close, err)) != PAWL_OK || (rc = holds_add(s, h, err)) != PAWL_OK)
        return rc;
    if (tk->child->ntasks > 0 && tk->child->steps >= n->sub->max_steps)
        return fail(err, PAWL_LIMIT, "%s: max_steps %u is reached, and \"%s\" is next", n->sub->name, (unsigned)n->sub->max_steps,
                    tk->child->tasks[0].name);
    return tk->child->ntasks == 0 && join_stuck(n->sub, tk->child, s->st->rounds, err) ? PAWL_INVALID : PAWL_OK;
}

static pawl_code sub_run(pawl_step *s, const gnode *n, task *tk, const char *path, reach *out, pawl_err *err)
{
    const char *prefix;
    pawl_err why = {0};
    pawl_code rc = PAWL_OK;

    *out = REACH_WAITS;
    while (rc == PAWL_OK) {
        frame *f = tk->child;
        undo *before;
        item *last;
        uint32_t count;

        if (f->ndetached > 0)
            return PAWL_OK;
        if (f->ntasks == 0) {
            *out = REACH_DONE;
            return PAWL_OK;
        }
        if (strlen(path) + 48 > PATH_BYTES_MAX)
            return fail(err, PAWL_LIMIT, "%s: a task's path is over %d bytes", s->st->run, PATH_BYTES_MAX);
        if ((prefix = path_below(s, path, tk)) == NULL)
            return PAWL_NOMEM;
        if ((rc = frame_run(s, n->sub, f, prefix, out, err)) != PAWL_OK || *out != REACH_DONE)
            return rc;
        *out = REACH_WAITS;
        before = txn_mark(s->st);
        last = s->entry.last;
        count = s->entry.count;
        rc = inner_close(s, n, tk, path, prefix, &why);
        if (sub_fault(rc)) {
            txn_rollback(s->st, before);
            step_cut(s, last, count);
            *out = REACH_FAILED;
            return sub_fails(s, tk, path, &why, err);
        }
    }
    return why.code != PAWL_OK ? fail(err, rc, "%s", why.text) : rc;
}

static pawl_code task_run(pawl_step *s, const pawl_graph *g, frame *f, task *tk, const char *path, reach *out, pawl_err *err)
{
    pawl_code rc = PAWL_OK;

    for (;;) {      /* a retry without back-off starts at once; max_attempts limits the visits */
        uint32_t visit_no = tk->visit;

        if (tk->child == NULL) {
            if ((rc = task_pass(s, g, f, tk, path, err)) != PAWL_OK)
                return rc;
        }
        if (tk->child != NULL && tk->at != TASK_FAILED) {
            const gnode *n = node_of_task(g, tk);

            if (n == NULL || n->sub == NULL)
                return fail(err, PAWL_CORRUPT, "%s: task \"%s\" is no subgraph in this machine", s->st->run, tk->name);
            if ((rc = sub_run(s, n, tk, path, out, err)) != PAWL_OK || *out != REACH_DONE)
                return rc;
            if (task_ready(tk) && (rc = task_pass(s, g, f, tk, path, err)) != PAWL_OK)
                return rc;
        }
        if (tk->visit == visit_no)
            break;
    }
    *out = reach_of(tk);
    return PAWL_OK;
}

/* Whether a task cannot continue: it failed, or in its subgraph a task failed and all others are done. */
static bool is_stuck(const task *tk)
{
    bool failed = tk->at == TASK_FAILED;

    for (uint32_t i = 0; tk->child != NULL && i < tk->child->ntasks; i++) {
        const task *in = &tk->child->tasks[i];

        if (in->at != TASK_LEFT && !is_stuck(in))
            return false;
        failed = failed || in->at != TASK_LEFT;
    }
    return failed;
}

/* The number of tasks from `i` on that can be skipped, a whole group or block; 0: visit the task. `full`: no ready task may start. */
static uint32_t many_pass(const task_index *x, uint32_t i, bool full)
{
    const task_sums *group = &x->groups[i / GROUP_TASKS], *block = &x->blocks[i / BLOCK_TASKS];

    if (i % GROUP_TASKS == 0 && group->runs == (full ? group->ready : 0))
        return GROUP_TASKS;
    return i % BLOCK_TASKS == 0 && block->runs == (full ? block->ready : 0) ? BLOCK_TASKS : 0;
}

/* The number of tasks under way; a stuck task counts as runnable in the index, so it is subtracted. */
static uint32_t busy_of_many(const frame *f)
{
    const task_index *x = f->index;
    uint32_t n = f->ntasks - x->all.ready - x->all.left - x->all.failed;

    for (uint32_t i = 0, passed; i < f->ntasks; i++)
        if ((passed = many_pass(x, i, true)) > 0)
            i += passed - 1;
        else
            n -= x->tallies[i].runs && f->tasks[i].at == TASK_OPEN && is_stuck(&f->tasks[i]);
    return n;
}

static uint32_t busy_tasks(const frame *f)
{
    uint32_t n = 0;

    if (f->index != NULL)
        return busy_of_many(f);
    for (uint32_t i = 0; i < f->ntasks; i++)
        n += f->tasks[i].at == TASK_OPEN && !is_stuck(&f->tasks[i]);
    return n;
}

static pawl_code task_go(pawl_step *s, const pawl_graph *g, frame *f, task *tk, const char *prefix, reach *out, pawl_err *err)
{
    const char *path = *prefix == '\0' ? tk->name : path_join(s, prefix, tk->name);

    return path == NULL ? PAWL_NOMEM : task_run(s, g, f, tk, path, out, err);
}

static inline reach reach_tasks(bool waits, bool failed)
{
    return waits ? REACH_WAITS : failed ? REACH_FAILED : REACH_DONE;
}

/* With a limit on the number of tasks under way (max_concurrency). */
static pawl_code frame_run_few(pawl_step *s, const pawl_graph *g, frame *f, const char *prefix, reach *out, pawl_err *err)
{
    bool waits = false, failed = false;
    uint32_t busy = busy_tasks(f);

    for (uint32_t i = 0; i < f->ntasks; i++) {
        task *tk = &f->tasks[i];
        reach one = reach_of(tk);
        bool fresh = tk->at == TASK_READY;
        pawl_code rc;

        if (may_run(tk) && !(fresh && busy >= g->max_concurrency)) {
            uint32_t before = busy + fresh;

            if ((rc = task_go(s, g, f, tk, prefix, &one, err)) != PAWL_OK)
                return rc;
            busy = one != REACH_WAITS ? busy_tasks(f) : before;
            if (busy < before && !fresh)
                i = UINT32_MAX;     /* a place is free: start again, for ready tasks before this one */
        }
        waits = i != UINT32_MAX && (waits || one == REACH_WAITS);
        failed = i != UINT32_MAX && (failed || one == REACH_FAILED);
    }
    *out = reach_tasks(waits, failed);
    return PAWL_OK;
}

/* The same for many tasks, with or without a limit: visits only tasks that can go on. */
static pawl_code frame_run_many(pawl_step *s, const pawl_graph *g, frame *f, const char *prefix, reach *out, pawl_err *err)
{
    const task_index *x = f->index;
    const uint32_t most = g->max_concurrency;
    uint32_t busy = most > 0 ? busy_tasks(f) : 0, passed;
    uint32_t open = 0;          /* number of tasks that were run and still wait */
    bool waits = false, failed = false;
    pawl_code rc;

    for (uint32_t i = 0; i < f->ntasks; i++) {
        const bool full = most > 0 && busy >= most;
        bool fresh;
        uint32_t before;
        reach one;

        if ((passed = many_pass(x, i, full)) > 0) {
            i += passed - 1;
            continue;
        }
        fresh = x->tallies[i].at == TASK_READY;         /* of the tally: the task itself is most often far from the cache */
        before = busy + fresh;
        if (!x->tallies[i].runs || (full && fresh))
            continue;
        if ((rc = task_go(s, g, f, &f->tasks[i], prefix, &one, err)) != PAWL_OK)
            return rc;
        open += reach_of(&f->tasks[i]) == REACH_WAITS;
        waits |= one == REACH_WAITS;
        failed |= one == REACH_FAILED;
        if (most == 0)
            continue;
        busy = one != REACH_WAITS ? busy_tasks(f) : before;
        if (busy < before && !fresh) {  /* a place is free: start again, for ready tasks before this one */
            i = UINT32_MAX;
            open = 0;
            waits = failed = false;
        }
    }
    PAWL_ASSERT(f->ntasks >= x->all.left + x->all.failed + open, "a task is done, failed or open");
    *out = reach_tasks(waits || f->ntasks - x->all.left - x->all.failed > open, failed || x->all.failed > 0);
    return PAWL_OK;
}

pawl_code frame_run(pawl_step *s, const pawl_graph *g, frame *f, const char *prefix, reach *out, pawl_err *err)
{
    bool waits = false, failed = false;
    pawl_code rc;

    if (f->index != NULL)
        return frame_run_many(s, g, f, prefix, out, err);
    if (g->max_concurrency > 0)
        return frame_run_few(s, g, f, prefix, out, err);
    for (uint32_t i = 0; i < f->ntasks; i++) {
        reach one = reach_of(&f->tasks[i]);

        if (may_run(&f->tasks[i]) && (rc = task_go(s, g, f, &f->tasks[i], prefix, &one, err)) != PAWL_OK)
            return rc;
        waits |= one == REACH_WAITS;
        failed |= one == REACH_FAILED;
    }
    *out = reach_tasks(waits, failed);
    return PAWL_OK;
}
