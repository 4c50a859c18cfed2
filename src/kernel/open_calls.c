/* open_calls.c - visits the open commands and waits of a run in task order. See frame.h.
 *
 * Called by folds, the step loop and queries of a state, on the thread that owns the state; changes nothing. Skips blocks of tasks without open
 * calls. */
#include "kernel/names.h"
#include "kernel/state.h"
#include "kernel/task_index.h"

#include <string.h>

static bool each_in(const frame *f, const char *prefix, see_call_fn *see, void *ctx);
static inline bool is_open(const call *c) { return call_is_open(c) || BROKEN(BROKEN_RECEIPT); }

static bool open_below(const task *tk)
{
    return tk->child != NULL || !task_ready(tk) || (BROKEN(BROKEN_RECEIPT) && tk->ncalls > 0);
}

static bool each_of_task(const frame *f, const task *tk, const char *prefix, see_call_fn *see, void *ctx)
{
    char path[PATH_BYTES_MAX + 64];
    size_t n, m;
    buf b;

    if (!open_below(tk) || (n = strlen(prefix)) + (m = strlen(tk->name)) + 1 > sizeof path)
        return true;
    memcpy(path, prefix, n);
    memcpy(path + n, tk->name, m + 1);
    for (uint32_t i = 0; i < tk->ncalls; i++)
        if (is_open(&tk->calls[i]) && !see(ctx, f, tk, path, &tk->calls[i], i))
            return false;
    if (tk->child == NULL || n + m + 44 > sizeof path)
        return true;
    b = (buf){ .data = path, .size = n + m, .cap = sizeof path };
    buf_char(&b, '/');
    buf_uint(&b, tk->visit);
    buf_char(&b, '/');
    buf_uint(&b, tk->child->superstep);
    buf_char(&b, '/');
    path[b.size] = '\0';
    return each_in(tk->child, path, see, ctx);
}

/* Whether a whole block of tasks has no open call. */
static bool block_is_quiet(const frame *f, uint32_t i)
{
    const task_sums *sums = f->index == NULL || i % BLOCK_TASKS != 0 || BROKEN(BROKEN_RECEIPT) ? NULL : &f->index->blocks[i / BLOCK_TASKS];

    return sums != NULL && sums->commands + sums->waits == 0;
}

static bool each_in(const frame *f, const char *prefix, see_call_fn *see, void *ctx)
{
    const call *c;

    for (uint32_t at = 0; (c = detached_next(f, &at)) != NULL;)
        if (!see(ctx, f, NULL, c->task, c, c->n))
            return false;
    for (uint32_t i = 0; i < f->ntasks; i++)
        if (block_is_quiet(f, i))
            i += BLOCK_TASKS - 1;
        else if (!each_of_task(f, &f->tasks[i], prefix, see, ctx))
            return false;
    return true;
}

bool task_each_call(const frame *f, const task *tk, const char *path, see_call_fn *see, void *ctx)
{
    char prefix[PATH_BYTES_MAX + 64];
    size_t n = strlen(path), m = strlen(tk->name);

    if (n < m || n - m >= sizeof prefix)
        return true;
    memcpy(prefix, path, n - m);
    prefix[n - m] = '\0';
    return each_of_task(f, tk, prefix, see, ctx);
}

bool state_each_call(const pawl_state *st, see_call_fn *see, void *ctx)
{
    return each_in(&st->root, "", see, ctx);
}
