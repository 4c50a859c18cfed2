/* task_index.c - counts of what the tasks of a wide frame do. See task_index.h. */
#include "kernel/task_index.h"
#include "kernel/names.h"
#include "kernel/txn.h"

#include <string.h>

static size_t round_up(size_t n) { return (n + (ALIGN - 1)) & ~(size_t)(ALIGN - 1); }

static uint32_t blocks_of(uint32_t ntasks) { return (ntasks + BLOCK_TASKS - 1) / BLOCK_TASKS; }

static uint32_t groups_of(uint32_t ntasks) { return (ntasks + GROUP_TASKS - 1) / GROUP_TASKS; }

static size_t names_bytes(uint32_t nedges)
{
    return nedges < BLOCK_TASKS ? 0 : hash_index_size(nedges) * sizeof(hash_slot);
}

size_t task_index_bytes(uint32_t ntasks, uint32_t nedges)
{
    if (ntasks < TASKS_MANY)
        return 0;
    return round_up(sizeof(task_index)) + round_up(ntasks * sizeof(task_tally)) + round_up(blocks_of(ntasks) * sizeof(task_sums)) +
           round_up(groups_of(ntasks) * sizeof(task_sums)) + round_up(names_bytes(nedges));
}

task_index *task_index_new(void *room, const frame *f)
{
    char *at = room;
    task_index *x = room;

    x->tallies = (task_tally *)(void *)(at += round_up(sizeof *x));
    x->blocks = (task_sums *)(void *)(at += round_up(f->ntasks * sizeof *x->tallies));
    x->groups = (task_sums *)(void *)(at += round_up(blocks_of(f->ntasks) * sizeof *x->blocks));
    at += round_up(groups_of(f->ntasks) * sizeof *x->groups);
    for (uint32_t i = 0; i < f->ntasks; i++) {
        x->tallies[i] = (task_tally){ .at = TASK_READY, .runs = true };
        x->blocks[i / BLOCK_TASKS].runs = ++x->blocks[i / BLOCK_TASKS].ready;
        x->groups[i / GROUP_TASKS].runs = ++x->groups[i / GROUP_TASKS].ready;
    }
    x->all.runs = x->all.ready = f->ntasks;
    if (f->nedges < BLOCK_TASKS)
        return x;
    (void)hash_index_lent(&x->names, at, hash_index_size(f->nedges));
    for (uint32_t i = 0; i < f->nedges; i++)
        (void)hash_index_add(&x->names, NULL, name_hash(f->tasks[i].name), i);
    return x;
}

uint32_t frame_open(const frame *f, bool waits)
{
    const call *c;
    uint32_t n = 0;

    for (uint32_t at = 0; (c = detached_next(f, &at)) != NULL;)
        n += call_is_open(c) && call_asks(c) == waits;
    if (f->index != NULL)
        return n + (waits ? f->index->all.waits : f->index->all.commands);
    for (uint32_t i = 0; i < f->ntasks; i++) {
        n += waits ? f->tasks[i].waits : f->tasks[i].commands;
        n += f->tasks[i].child != NULL ? frame_open(f->tasks[i].child, waits) : 0;
    }
    return n;
}

/* Whether no task of the frame can go on before an outside event, and some task waits for one. */
static bool task_runs(const task *tk);
static bool frame_quiet(const frame *f)
{
    bool waits = false;

    if (f->ndetached > 0)
        return true;
    if (f->index != NULL)
        return f->index->all.runs == 0 && f->ntasks > f->index->all.left + f->index->all.failed;
    for (uint32_t i = 0; i < f->ntasks; i++) {
        if (task_runs(&f->tasks[i]))
            return false;
        waits = waits || f->tasks[i].at == TASK_READY || f->tasks[i].at == TASK_OPEN;
    }
    return waits;
}

static bool task_runs(const task *tk)
{
    if (tk->at != TASK_OPEN)
        return tk->at == TASK_READY;
    return tk->racing || (tk->child != NULL ? !frame_quiet(tk->child) : task_ready(tk));
}

static task_tally task_tally_of(const task *tk)
{
    task_tally t = { .commands = tk->commands, .waits = tk->waits, .at = tk->at, .runs = task_runs(tk) };

    if (tk->child != NULL) {
        t.commands += frame_open(tk->child, false);
        t.waits += frame_open(tk->child, true);
    }
    t.blocked = tk->at == TASK_OPEN && (!task_ready(tk) || (tk->child != NULL && frame_waits(tk->child)));
    return t;
}

/* Unsigned sums wrap, so subtracting (by == UINT32_MAX) before adding gives the right result. */
static void sums_change(task_sums *s, const task_tally *t, uint32_t by)
{
    s->commands += t->commands * by;
    s->waits += t->waits * by;
    s->runs += t->runs * by;
    s->blocked += t->blocked * by;
    s->ready += (t->at == TASK_READY) * by;
    s->left += (t->at == TASK_LEFT) * by;
    s->failed += (t->at == TASK_FAILED) * by;
}

enum { CHECKED_TASKS_MAX = 4096 };      /* the check is quadratic: a fan-out of 100,000 tasks would take an hour */

/* Compares the sums with a count of all tasks. Only in test builds (PAWL_ASSERT_SLOW). */
static bool index_is_right(const frame *f)
{
    task_sums all = {0};

    if (f->ntasks > CHECKED_TASKS_MAX)
        return true;
    for (uint32_t i = 0; i < f->ntasks; i++) {
        const task_tally t = task_tally_of(&f->tasks[i]);

        sums_change(&all, &t, 1);
    }
    return memcmp(&all, &f->index->all, sizeof all) == 0;
}

static void tally_set(task_index *x, uint32_t i, task_tally now)
{
    const task_tally was = x->tallies[i];
    task_sums *sums[3] = { &x->blocks[i / BLOCK_TASKS], &x->groups[i / GROUP_TASKS], &x->all };

    for (int k = 0; k < 3; k++) {
        sums_change(sums[k], &was, UINT32_MAX);
        sums_change(sums[k], &now, 1);
    }
    x->tallies[i] = now;
}

static void tally_back(void *at, size_t i, const void *saved)
{
    task_tally was;

    memcpy(&was, saved, sizeof was);
    tally_set(at, (uint32_t)i, was);
}

static pawl_code task_count(pawl_state *st, frame *f, const task *tk)
{
    const uint32_t i = (uint32_t)(tk - f->tasks);
    task_index *x = f->index;
    const task_tally now = task_tally_of(tk), *was = &x->tallies[i];

    if (now.commands == was->commands && now.waits == was->waits && now.at == was->at && now.runs == was->runs && now.blocked == was->blocked)
        return PAWL_OK;
    if (!touch_by(st, x, i, was, sizeof *was, tally_back))      /* one record: the sums follow from the tallies */
        return PAWL_NOMEM;
    tally_set(x, i, now);
    PAWL_ASSERT(x->all.left + x->all.failed <= f->ntasks && x->all.runs <= f->ntasks, "no more tasks are counted than there are");
    PAWL_ASSERT_SLOW(index_is_right(f), "each sum is that of the tasks");
    return PAWL_OK;
}

/* Counts the tasks along a path, innermost first, since the tally of a task includes its subgraph. */
static pawl_code path_count(pawl_state *st, frame *f, const char *path)
{
    const char *slash = strchr(path, '/'), *rest = slash;
    task *tk = task_named(f, path, slash != NULL ? (size_t)(slash - path) : strlen(path));
    pawl_code rc = PAWL_OK;

    if (tk == NULL)
        return PAWL_OK;
    for (int i = 0; i < 2 && rest != NULL; i++)     /* skip the visit and the superstep */
        rest = strchr(rest + 1, '/');
    if (rest != NULL && tk->child != NULL)
        rc = path_count(st, tk->child, rest + 1);
    return rc == PAWL_OK && f->index != NULL ? task_count(st, f, tk) : rc;
}

pawl_code task_index_update(pawl_state *st, const item *it)
{
    switch ((item_kind)it->kind) {
    case ITEM_VISIT:
    case ITEM_FRAME:
    case ITEM_CALL:
    case ITEM_SLEEP:
    case ITEM_SPAWN:
    case ITEM_ASK:
    case ITEM_RECEIPT:
    case ITEM_ANSWER:
    case ITEM_SELECT:
    case ITEM_LEAVE:
    case ITEM_FAIL:
    case ITEM_CLOSE:
    case ITEM_DROP:
    case ITEM_DOUBT:
    case ITEM_REFUSAL:
    case ITEM_SIGN:
        break;
    case ITEM_START:
    case ITEM_INPUT:
    case ITEM_UPDATE:
    case ITEM_SIGNAL:
    case ITEM_CANCEL:
    case ITEM_REOPEN:
    case ITEM_ADOPT:
    case ITEM_RECORDS:
    case ITEM_PUT:
    case ITEM_EMIT:
    case ITEM_TURN:
    case ITEM_END:
    case ITEM_UNWIND:
    case ITEM_KINDS:
        return PAWL_OK;
    }
    if (it->place < st->root.ntasks && st->root.tasks[it->place].name == it->task)
        return st->root.index != NULL ? task_count(st, &st->root, &st->root.tasks[it->place]) : PAWL_OK;
    return path_count(st, &st->root, it->task);
}
