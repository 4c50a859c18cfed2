/* lookup.c - finds tasks, frames and calls by their names in a journal. Called by folds and by queries of a state; changes nothing, except in a
 * side state of lazy_list.c. */
#include "kernel/names.h"
#include "kernel/task_index.h"
#include "kernel/txn.h"

#include <string.h>

task *task_named(const frame *f, const char *name, size_t size)
{
    const char *colon = memchr(name, ':', size);

    if (colon != NULL) {
        uint64_t i = 0;

        for (const char *p = colon + 1; p < name + size && i < UINT32_MAX; p++)
            i = i * 10 + (uint64_t)(*p - '0');
        i += f->nedges;
        if (i >= f->ntasks || strncmp(f->tasks[i].name, name, size) != 0 || f->tasks[i].name[size] != '\0')
            return NULL;
        return &f->tasks[i];
    }
    if (f->index != NULL && f->index->names.size > 0) {
        const uint32_t h = name_hash_of(name, size);
        uint32_t at = hash_index_first(&f->index->names, h), i;

        while ((i = hash_index_next(&f->index->names, h, &at)) != UINT32_MAX)
            if (strncmp(f->tasks[i].name, name, size) == 0 && f->tasks[i].name[size] == '\0')
                return &f->tasks[i];
        return NULL;
    }
    for (uint32_t i = 0; i < f->nedges; i++)
        if (strncmp(f->tasks[i].name, name, size) == 0 && f->tasks[i].name[size] == '\0')
            return &f->tasks[i];
    return NULL;
}

/* In a side state (lazy_list.c) a task is made when an item first names it: the side state does not fold the sends that made the task, and the
 * order of the tasks is in their names. */
static task *side_task(pawl_state *st, const char *name)
{
    frame *f = &st->root;
    const char *colon = strchr(name, ':');
    size_t n = colon == NULL ? strlen(name) : (size_t)(colon - name);
    uint64_t i = f->nedges;
    task *grown;

    for (const char *p = colon; p != NULL && *++p != '\0' && i < 1u << 24; )
        i = i == f->nedges && p == colon + 1 ? f->nedges + (uint64_t)(*p - '0')
                                             : f->nedges + (i - f->nedges) * 10 + (uint64_t)(*p - '0');
    if (colon == NULL || i >= 1u << 24)
        return NULL;
    if (i >= f->ntasks) {
        uint32_t more = (uint32_t)i + 1 + f->ntasks;

        if ((grown = st_alloc(st, more * sizeof *grown)) == NULL)
            return NULL;
        if (f->ntasks > 0)
            memcpy(grown, f->tasks, f->ntasks * sizeof *grown);
        f->tasks = grown;
        f->index = NULL;        /* the old index covers the tasks before this one only */
        for (; f->ntasks < more; f->ntasks++)
            f->tasks[f->ntasks] = (task){ .name = "", .visit = 1 };
    }
    f->tasks[i].name = st_text(st, name, strlen(name));
    f->tasks[i].node_size = (uint32_t)n;
    return f->tasks[i].name == NULL ? NULL : &f->tasks[i];
}

uint64_t number_in(const char **at)
{
    uint64_t n = 0;

    while (**at >= '0' && **at <= '9' && n < UINT64_MAX / 10 - 1)
        n = n * 10 + (uint64_t)(*(*at)++ - '0');
    return n;
}

/* "outer/1/2/inner" is task inner in superstep 2 of the subgraph in visit 1 of task outer. */
task *task_find(pawl_state *st, const char *path, frame **in)
{
    frame *f = &st->root;

    if (f->nedges > 0 && strcmp(f->tasks[0].name, path) == 0) {     /* fast path: the first task, mostly the only one */
        *in = f;
        return &f->tasks[0];
    }
    for (;;) {
        const char *slash = strchr(path, '/');
        task *tk = task_named(f, path, slash != NULL ? (size_t)(slash - path) : strlen(path));

        *in = f;
        if (tk == NULL && slash == NULL && st->only)
            return side_task(st, path);
        if (tk == NULL || slash == NULL)
            return tk;
        path = slash + 1;
        uint64_t visit_no = number_in(&path);
        if (*path++ != '/' || tk->child == NULL || tk->visit != visit_no)
            return NULL;
        uint64_t superstep = number_in(&path);
        if (*path++ != '/' || tk->child->superstep != superstep)
            return NULL;
        f = tk->child;
    }
}

frame *frame_find(pawl_state *st, const char *path)
{
    frame *in;
    task *tk;

    if (*path == '\0')
        return &st->root;
    tk = task_find(st, path, &in);
    return tk != NULL ? tk->child : NULL;
}

/* Binary search: index of the first detached call of that superstep and number. Free places keep their old numbers, so the order is intact. */
static uint32_t detached_from(const frame *f, uint64_t superstep, uint32_t n)
{
    uint32_t from = 0, to = f->detached_used;

    while (from < to) {
        const uint32_t mid = from + (to - from) / 2;
        const call *c = &f->detached[mid];

        if (c->superstep < superstep || (c->superstep == superstep && c->n < n))
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

static call *detached_find(frame *f, uint64_t superstep, const char *path, uint32_t visit_no, uint32_t n)
{
    call *c;

    if (f == NULL || f->ndetached == 0)
        return NULL;
    for (uint32_t at = f->detached_mixed ? 0 : detached_from(f, superstep, n); (c = detached_next(f, &at)) != NULL;) {
        if (c->superstep == superstep && c->visit == visit_no && c->n == n && strcmp(c->task, path) == 0)
            return c;
        if (!f->detached_mixed && (c->superstep != superstep || c->n != n))
            return NULL;
    }
    return NULL;
}

/* See frame.h. */
frame *frame_above(pawl_state *st, const char *path)
{
    const char *slash = strrchr(path, '/');
    char above[PATH_BYTES_MAX];
    size_t n;

    if (slash == NULL)
        return &st->root;
    for (int i = 0; i < 2; i++)     /* skip the superstep and the visit */
        do
            slash--;
        while (slash > path && *slash != '/');
    n = (size_t)(slash - path);
    if (n == 0 || n >= sizeof above)
        return NULL;
    memcpy(above, path, n);
    above[n] = '\0';
    return frame_find(st, above);
}

call *call_find(pawl_state *st, uint64_t superstep, const char *path, uint32_t visit_no, uint32_t n, frame **in, task **of)
{
    call *c = detached_find(*in = frame_above(st, path), superstep, path, visit_no, n);
    task *tk;

    if (of != NULL)
        *of = NULL;
    if (c != NULL)
        return c;
    tk = task_find(st, path, in);
    if (tk == NULL || superstep != st->root.superstep || tk->visit != visit_no || n >= tk->ncalls)
        return NULL;
    if (of != NULL)
        *of = tk;
    return &tk->calls[n];
}

int64_t task_time(const task *tk)
{
    int64_t t = tk->child != NULL && tk->child->now_ms > tk->visit_ms ? tk->child->now_ms : tk->visit_ms;

    for (uint32_t i = 0; i < tk->ncalls; i++)
        if (call_has_outcome(&tk->calls[i]) && tk->calls[i].time_ms > t)
            t = tk->calls[i].time_ms;
    return t;
}

int64_t frame_time(const frame *f)
{
    int64_t t = f->now_ms;

    for (uint32_t i = 0; i < f->ntasks; i++)
        if (task_time(&f->tasks[i]) > t)
            t = task_time(&f->tasks[i]);
    return t;
}

bool frame_waits(const frame *f)
{
    if (f->ndetached > 0)
        return true;
    if (f->index != NULL)
        return f->index->all.blocked > 0;
    for (uint32_t i = 0; i < f->ntasks; i++) {
        const task *tk = &f->tasks[i];

        if (tk->at == TASK_OPEN && (!task_ready(tk) || (tk->child != NULL && frame_waits(tk->child))))
            return true;
    }
    return false;
}
