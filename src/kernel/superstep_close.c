/* superstep_close.c - the fold of a close: merges the writes of a superstep in task order and makes the next tasks (G2).
 *
 * Called by fold.c, inside a transaction, on the thread that owns the state. */
#include "kernel/fold.h"
#include "kernel/journal/codec.h"
#include "kernel/names.h"
#include "kernel/pending.h"
#include "kernel/references.h"
#include "kernel/task_index.h"

#include <string.h>

void leaves_begin(pawl_state *st, const frame *f)
{
    txn *t = st->t;

    if (t->leaves_of == f->tasks || f->ntasks < 2)
        return;
    t->leaves = arena_zero(t->mem, f->ntasks * sizeof *t->leaves);
    t->leaves_of = t->leaves != NULL ? f->tasks : NULL;
    t->nleaves = f->ntasks;
}

const leave *task_leave(pawl_state *st, task *tk, pawl_err *err)
{
    txn *t = st->t;
    const leave **kept = t->leaves_of != NULL && tk >= t->leaves_of && tk < t->leaves_of + t->nleaves ? &t->leaves[tk - t->leaves_of] : NULL;
    const leave *l = tk->leave != NULL ? tk->leave : kept != NULL ? *kept : NULL;

    if (l == NULL && (l = leave_parse(t->mem, tk->left, tk->left_size, err)) != NULL && kept != NULL)
        *kept = l;
    return l;
}

/* ---- merging ------------------------------------------------------------------------------ */

typedef struct merging {
    pawl_state *st;
    frame *f;
    task *tk;           /* the task whose writes are being merged */
    task **writers;     /* the writer of each channel in this superstep, for the rule single; made on first use */
    uint32_t nsends;    /* number of sends in the merged leaves */
    bool owns;          /* a task has something of its own to be freed */
    pawl_err *err;
} merging;

static pawl_code two_writers(const merging *m, const channel *c, const task *a, const task *b)
{
    return fail(m->err, PAWL_INVALID, "channel \"%s\" takes one writer a superstep: \"%s\" and \"%s\" both wrote it",
                c->d->name, a->name, b->name);
}

static inline pawl_code merge_write(merging *m, const char *name, uint32_t place, unsigned op, const pawl_value *v)
{
    channel *c = place < m->f->nchannels && m->f->channels[place].d->name == name ? &m->f->channels[place] : channel_find(m->f, name);

    if (c == NULL && m->st->only)
        return PAWL_OK;
    if (c == NULL)
        return fail(m->err, PAWL_INVALID, "there is no channel \"%s\"", name);
    if (c->d->rule == PAWL_RULE_SINGLE) {
        task **w;

        if (m->writers == NULL && (m->writers = arena_zero(m->st->t->mem, m->f->nchannels * sizeof *m->writers)) == NULL)
            return PAWL_NOMEM;
        w = &m->writers[c - m->f->channels];

        if (*w != NULL && *w != m->tk)
            return two_writers(m, c, *w, m->tk);
        *w = m->tk;
    }
    if (c->d->rule == PAWL_RULE_CUSTOM)
        return PAWL_OK;     /* the close item has the results of a user's function */
    return channel_write(m->st, c, op, v, m->err);
}

static pawl_code merge_object(merging *m, const pawl_value *object)
{
    pawl_iter it = pawl_iter_of(object);
    const pawl_value *key, *v;
    pawl_code rc = PAWL_OK;

    while (rc == PAWL_OK && (v = pawl_iter_next(&it, &key)) != NULL)
        rc = merge_write(m, pawl_value_string(key), 0, OP_MERGE, v);
    return rc;
}

static pawl_code writes_merge(merging *m, const leave *l)
{
    pawl_code rc = PAWL_OK;

    for (uint32_t i = 0; i < l->nwrites && rc == PAWL_OK; i++) {
        const item_write *w = &l->writes[i];
        const pawl_value *v = w->value;
        channel *c = &m->f->channels[w->place < m->f->nchannels ? w->place : 0];

        if (w->place < m->f->nchannels && channel_is(c, w->channel) && w->refs.list == NULL && write_is_plain(c, w->op, v)) {
            rc = write_plain(m->st, c, v);
            continue;
        }
        if (w->refs.list != NULL && (v = refs_resolve(m->st, m->st->t->mem, m->tk, NULL, v, w->refs.list, NULL, m->err)) == NULL)
            return m->st->t->mem->failed ? PAWL_NOMEM : PAWL_CORRUPT;
        rc = merge_write(m, w->channel, w->place, w->op, v);
    }
    return rc;
}

static pawl_code merge_task(merging *m)
{
    const leave *l = task_leave(m->st, m->tk, m->err);
    pawl_code rc = PAWL_OK;

    if (l == NULL)
        return m->st->t->mem->failed ? PAWL_NOMEM : PAWL_CORRUPT;
    m->nsends += l->nsends;
    for (uint32_t i = 0; i < m->tk->ncalls && rc == PAWL_OK; i++)
        if (m->tk->calls[i].update != NULL && m->tk->calls[i].after == 0)
            rc = merge_object(m, m->tk->calls[i].update);
    return rc == PAWL_OK ? writes_merge(m, l) : rc;
}

/* Clears channels that live for one superstep, before the writes of the superstep are merged. */
static pawl_code channels_expire(pawl_state *st, frame *f)
{
    pawl_code rc = PAWL_OK;

    for (uint32_t i = 0; i < f->nchannels && rc == PAWL_OK; i++)
        if (channel_is_set(&f->channels[i]) && decl_is_ephemeral(f->channels[i].d))
            rc = channel_clear(st, &f->channels[i]);
    return rc;
}

static inline bool task_owns(const task *tk)
{
    return tk->ncalls > 0 || tk->left != NULL || tk->fault != NULL || tk->history != NULL;
}

static pawl_code merge_all(pawl_state *st, frame *f, const closing *cl, uint32_t *nsends, bool *owns, pawl_err *err)
{
    merging m = { .st = st, .f = f, .err = err };
    pawl_code rc = PAWL_OK;

    if (f->open && f->has_ephemeral && (rc = channels_expire(st, f)) != PAWL_OK)
        return rc;
    for (uint32_t i = 0; i < f->ntasks && rc == PAWL_OK; i++) {
        m.tk = &f->tasks[i];
        m.owns = m.owns || task_owns(m.tk);
        if (m.tk->at == TASK_LEFT)
            rc = merge_task(&m);
    }
    for (uint32_t i = 0; i < cl->nmerged && rc == PAWL_OK; i++) {
        channel *c = channel_find(f, cl->merged[i].channel);
        const pawl_value *v = cl->merged[i].value;

        if (c == NULL && st->only)
            continue;
        if (cl->merged[i].refs.list != NULL)
            v = refs_resolve(st, st->t->mem, NULL, NULL, v, cl->merged[i].refs.list, NULL, err);
        rc = c == NULL || v == NULL ? PAWL_CORRUPT : channel_write(st, c, OP_OVERWRITE, v, err);
    }
    *nsends = m.nsends + cl->nsends;
    *owns = m.owns || st->no_progress > 0;
    return rc;
}

/* ---- the next tasks ----------------------------------------------------------------------------- */

typedef struct planned {
    uint32_t count, cap;
    const named **list;
    size_t bytes;               /* of arguments and names */
    const char *name;           /* name and size of the last send's node: mostly all sends go to one node */
    size_t name_size;
} planned;

static size_t round16(size_t n)
{
    return (n + 15) & ~(size_t)15;
}

static size_t digits(uint32_t n)
{
    size_t d = 1;

    for (; n >= 10; n /= 10)
        d++;
    return d;
}

static size_t args_bytes(const pawl_value *v)
{
    return v != NULL ? round16(value_block_bytes(v)) : 0;
}

static size_t name_bytes(planned *p, const char *name)
{
    if (name != p->name) {
        p->name = name;
        p->name_size = strlen(name);
    }
    return p->name_size;
}

static pawl_code plan_add(pawl_state *st, planned *p, const task *tk, const named *send, pawl_err *err)
{
    named *whole;

    if (p->count == p->cap) {
        uint32_t cap = p->cap == 0 ? 16 : p->cap * 2;
        const named **grown = arena_get(st->t->mem, cap * sizeof *grown);

        if (grown == NULL)
            return PAWL_NOMEM;
        if (p->count > 0)
            memcpy(grown, p->list, p->count * sizeof *grown);
        p->list = grown;
        p->cap = cap;
    }
    if (send->refs.list != NULL) {
        if ((whole = arena_get(st->t->mem, sizeof *whole)) == NULL)
            return PAWL_NOMEM;
        *whole = *send;
        whole->value = refs_resolve(st, st->t->mem, tk, NULL, send->value, send->refs.list, NULL, err);
        if (whole->value == NULL)
            return st->t->mem->failed ? PAWL_NOMEM : PAWL_CORRUPT;
        send = whole;
    }
    PAWL_ASSERT(p->count < p->cap, "G2: a planned task has its place");
    p->bytes += args_bytes(send->value) + round16(name_bytes(p, send->name) + 2 + digits(p->count));
    p->list[p->count++] = send;
    return PAWL_OK;
}

/* Whether send `index` is dropped. The drops are sorted and `index` ascends from call to call, so *at only moves forward. */
static bool is_dropped(const closing *cl, uint32_t index, uint32_t *at)
{
    while (*at < cl->ndrop && cl->drop[*at] < index)
        (*at)++;
    return cl->drop_all || (*at < cl->ndrop && cl->drop[*at] == index);
}

/* Plans the sends in task order, each sender's own before those of its routes, without those that a join or a halt dropped. */
static pawl_code plan_sends(pawl_state *st, frame *f, const closing *cl, planned *p, pawl_err *err)
{
    uint32_t seen = 0, at = 0, drop = 0;
    pawl_code rc = PAWL_OK;

    for (uint32_t i = 0; i < f->ntasks && rc == PAWL_OK; i++) {
        const leave *l = NULL;

        if (f->tasks[i].at != TASK_LEFT)
            continue;           /* only in a side state (lazy_list.c) */
        if ((l = task_leave(st, &f->tasks[i], err)) == NULL)
            return st->t->mem->failed ? PAWL_NOMEM : PAWL_CORRUPT;
        for (uint32_t j = 0; j < l->nsends && rc == PAWL_OK; j++, seen++)
            if (!is_dropped(cl, seen, &drop))
                rc = plan_add(st, p, &f->tasks[i], &l->sends[j], err);
        for (; at < cl->nsends && cl->sends[at].sender == i && rc == PAWL_OK; at++, seen++)
            if (!is_dropped(cl, seen, &drop))
                rc = plan_add(st, p, &f->tasks[i], &cl->sends[at], err);
    }
    for (; at < cl->nsends && rc == PAWL_OK; at++)  /* sends without a sender: of a start or a fork */
        rc = plan_add(st, p, NULL, &cl->sends[at], err);
    return rc;
}

static char *name_put(char *at, task *tk, const char *node, size_t size)
{
    tk->name = memcpy(at, node, size);
    tk->node_size = (uint32_t)size;
    return at + size;
}

static char *number_put(char *at, uint32_t number)
{
    size_t d = digits(number);

    *at++ = ':';
    for (size_t i = d; i > 0; i--, number /= 10)
        at[i - 1] = (char)('0' + number % 10);
    return at + d;
}

/* Fast path: one task, reached by an edge. Its name follows it in the block. */
static void task_begin(task *tk, const closing *cl, size_t name_size)
{
    tk->name = memcpy((char *)tk + round16(sizeof *tk), cl->next[0], name_size + 1);
    tk->node_size = (uint32_t)name_size;
    tk->node_hint = cl->hints != NULL ? cl->hints[0] : 0;
    tk->visit = 1;
}

static pawl_code task_new(pawl_state *st, frame *f, const closing *cl)
{
    size_t n = strlen(cl->next[0]), bytes = round16(sizeof(task)) + n + 1;

    f->tasks_bytes = bytes < SPARE_BYTES ? SPARE_BYTES : bytes;
    if ((f->tasks = st_alloc(st, f->tasks_bytes)) == NULL)
        return PAWL_NOMEM;
    task_begin(f->tasks, cl, n);
    f->ntasks = f->nedges = 1;
    return PAWL_OK;
}

/* Makes the tasks with their arguments and names in one block. An event finds one task of many, so the name of a sent task is beside its arguments. */
static pawl_code tasks_new(pawl_state *st, frame *f, const closing *cl, planned *p)
{
    uint32_t n = cl->nnext + p->count;
    char *at;

    if (n == 0)
        return PAWL_OK;
    if (n == 1 && cl->nnext == 1)
        return task_new(st, f, cl);
    const size_t index_bytes = st->only ? 0 : task_index_bytes(n, cl->nnext), tasks_bytes = round16(n * sizeof(task));

    f->tasks_bytes = tasks_bytes + index_bytes + p->bytes;
    for (uint32_t i = 0; i < cl->nnext; i++)
        f->tasks_bytes += strlen(cl->next[i]) + 1;
    if ((f->tasks = st_alloc(st, f->tasks_bytes)) == NULL)
        return PAWL_NOMEM;
    at = (char *)f->tasks + tasks_bytes + index_bytes;
    for (uint32_t i = 0; i < p->count; i++) {
        task *tk = &f->tasks[cl->nnext + i];
        const named *send = p->list[i];
        char *name = at + args_bytes(send->value);

        if (send->value != NULL)
            tk->args = value_copy_to(at, send->value);
        at += args_bytes(send->value) + round16((size_t)(number_put(name_put(name, tk, send->name, name_bytes(p, send->name)), i) - name) + 1);
        tk->node_hint = send->hint;
        tk->visit = 1;
    }
    for (uint32_t i = 0; i < cl->nnext; i++) {
        at = name_put(at, &f->tasks[i], cl->next[i], strlen(cl->next[i])) + 1;
        f->tasks[i].node_hint = cl->hints != NULL ? cl->hints[i] : 0;
        f->tasks[i].visit = 1;
    }
    PAWL_ASSERT((size_t)(at - (char *)f->tasks) <= f->tasks_bytes, "G2: the block of the tasks holds their arguments and names");
    f->ntasks = n;
    f->nedges = cl->nnext;
    if (index_bytes > 0) {
        f->index = task_index_new((char *)f->tasks + tasks_bytes, f);
        st->many_tasks = true;
    }
    return PAWL_OK;
}

/* ---- joins and deferred nodes ------------------------------------------------------------------------ */

static pawl_code joins_put(pawl_state *st, frame *f, const pawl_value *changed)
{
    const pawl_value *all = changed, *key, *v;
    size_t n = value_nodes(changed) + (f->joins != NULL ? value_nodes(f->joins) : 0), used = 1, count = 0;
    yyjson_val *out = arena_get(st->t->mem, n * sizeof *out);

    if (out == NULL)
        return PAWL_NOMEM;
    for (int pass = 0; pass < 2; pass++) {
        pawl_iter it = pawl_iter_of(pass == 0 ? f->joins : changed);

        while ((v = pawl_iter_next(&it, &key)) != NULL) {
            if (pass == 0 && pawl_value_get(changed, pawl_value_string(key)) != NULL)
                continue;
            if (pawl_value_size(v) == 0)
                continue;           /* the join has seen no source any more: leave it out */
            out[used++] = *val_of(key);
            memcpy(out + used, val_of(v), value_nodes(v) * sizeof *out);
            used += value_nodes(v);
            count++;
        }
    }
    PAWL_ASSERT(used <= n, "G3: the joins are in their block");
    out[0].tag = (uint64_t)count << YYJSON_TAG_BIT | YYJSON_TYPE_OBJ;
    out[0].uni.ofs = used * sizeof *out;
    all = count == 0 ? NULL : of_val(out);
    st_free(st, f->joins, f->joins_bytes);
    f->joins_bytes = 0;
    f->joins = all;
    if (all != NULL && (f->joins = st_value(st, all, &f->joins_bytes)) == NULL)
        return PAWL_NOMEM;
    return PAWL_OK;
}

static pawl_code defer_put(pawl_state *st, frame *f, const pawl_value *defer)
{
    st_free(st, f->defer, f->defer_bytes);
    f->defer = NULL;
    f->defer_bytes = 0;
    if (pawl_value_size(defer) == 0)
        return PAWL_OK;
    f->defer = st_value(st, defer, &f->defer_bytes);
    return f->defer == NULL ? PAWL_NOMEM : PAWL_OK;
}

static bool all_left(const frame *f) { return f->index != NULL && f->index->all.left == f->ntasks; }

static pawl_code closing_check(const pawl_state *st, const frame *f, const item *it, pawl_err *err)
{
    if (st->only)
        return PAWL_OK;
    for (uint32_t i = 0; f->open && !all_left(f) && i < f->ntasks; i++)     /* the close of a superstep that has not started only replaces its tasks */
        if (f->tasks[i].at != TASK_LEFT)
            return fail(err, PAWL_CORRUPT, "superstep %llu is closed while task \"%s\" is not done",
                        (unsigned long long)f->superstep, f->tasks[i].name);
    return it->closing != NULL ? PAWL_OK : fail(err, PAWL_CORRUPT, "a close that says nothing");
}

static void tasks_drop(pawl_state *st, void *of, size_t n)
{
    task *tasks = of;

    for (size_t i = 0; i < n; i++)
        task_drop(st, &tasks[i]);
}

/* Frees the tasks of this superstep and makes those of the next. */
static pawl_code tasks_change(pawl_state *st, frame *f, const closing *cl, planned *p, bool owns)
{
    task *last = f->tasks;
    const size_t last_bytes = f->tasks_bytes;
    const uint32_t n = f->ntasks;
    pawl_code rc;

    if (st->only)
        tasks_drop(st, last, n);        /* with calls that are open: they are counted at once */
    f->tasks = NULL;
    f->index = NULL;
    f->ntasks = f->nedges = 0;
    f->tasks_bytes = 0;
    if ((rc = tasks_new(st, f, cl, p)) != PAWL_OK)
        return rc;
    st_free(st, last, last_bytes);
    if (owns && !st->only)
        st_drop(st, last, n, tasks_drop);
    return PAWL_OK;
}

/* The most frequent close: a lone task left and one task is next. Returns the bytes of the next task's name; 0: another close. */
static inline size_t lone_name(const pawl_state *st, const frame *f, const closing *cl)
{
    const task *tk;
    size_t size;

    if (f != &st->root || f->ntasks != 1 || st->pending != NULL || cl == NULL || cl->nnext != 1)
        return 0;
    tk = f->tasks;
    if (tk->at != TASK_LEFT || tk->leave == NULL || tk->left != NULL || tk->history != NULL || cl->joins != NULL || cl->defer != NULL ||
        (tk->ncalls | tk->leave->nsends | cl->nmerged | cl->nsends) > 0)
        return 0;
    size = strlen(cl->next[0]);
    return size < SPARE_BYTES - round16(sizeof *tk) ? size : 0;
}

/* The block of the next task. Swaps the spare block and the last task's block. The head of the state has both pointers, so a rollback restores
 * them without a log record. Only once in a transaction, since a rollback needs the contents of the last block. */
static inline task *lone_block(pawl_state *st, frame *f)
{
    task *next = st->spare, *last = f->tasks;

    if (next != NULL && f->tasks_bytes == SPARE_BYTES && txn_keeps(st) && !st->t->swapped) {
        st->spare = last;
        st->t->swapped = true;
        mem_zero(next, sizeof *next);
    } else if ((next = st_alloc(st, SPARE_BYTES)) != NULL) {
        st_free(st, last, f->tasks_bytes);
        f->tasks_bytes = SPARE_BYTES;
    }
    return next;
}

static inline pawl_code lone_close(pawl_state *st, frame *f, const closing *cl, size_t name_size, pawl_err *err)
{
    merging m = { .st = st, .f = f, .tk = f->tasks, .err = err };
    task *next;
    pawl_code rc = f->open && f->has_ephemeral ? channels_expire(st, f) : PAWL_OK;

    if (rc != PAWL_OK || (rc = writes_merge(&m, f->tasks->leave)) != PAWL_OK)
        return rc;
    if ((next = lone_block(st, f)) == NULL)
        return PAWL_NOMEM;
    task_begin(next, cl, name_size);
    PAWL_ASSERT(f->ntasks == 1 && f->tasks_bytes >= round16(sizeof *next) + name_size + 1, "G2: a lone task follows a lone task, in a block of its size");
    f->tasks = next;
    f->nedges = 1;
    f->superstep++;
    f->steps += f->open;
    f->open = false;
    st->t->closed = true;
    return PAWL_OK;
}

static APART pawl_code close_any(pawl_state *st, frame *f, const item *it, pawl_err *err)
{
    const closing *cl = it->closing;
    planned p = {0};
    uint32_t nsends = 0;
    bool owns = false;
    pawl_code rc;

    if (f == NULL)
        return fail(err, PAWL_CORRUPT, "a superstep is closed in \"%s\", which is no subgraph", it->task);
    if ((rc = closing_check(st, f, it, err)) != PAWL_OK)
        return rc;
    if (f->parent != NULL && !TOUCH(st, f))
        return PAWL_NOMEM;
    leaves_begin(st, f);
    if ((rc = merge_all(st, f, cl, &nsends, &owns, err)) != PAWL_OK)
        return rc;
    if (st->no_progress > 0 && (rc = progress_close(st, f)) != PAWL_OK)
        return rc;
    if (nsends > 0 && (rc = plan_sends(st, f, cl, &p, err)) != PAWL_OK)
        return rc;
    if (f == &st->root && st->pending != NULL && (rc = pending_merge(st, err)) != PAWL_OK)
        return rc;
    /* From here on only memory can fail, so the head may change (see txn_position()). */
    if (f->parent != NULL)
        f->now_ms = frame_time(f);
    if ((rc = tasks_change(st, f, cl, &p, owns)) != PAWL_OK)
        return rc;
    if (cl->joins != NULL && (rc = joins_put(st, f, cl->joins)) != PAWL_OK)
        return rc;
    if (cl->defer != NULL && (rc = defer_put(st, f, cl->defer)) != PAWL_OK)
        return rc;
    f->superstep++;
    f->steps += f->open;
    f->open = false;
    if (f == &st->root)
        st->t->closed = true;
    return PAWL_OK;
}

pawl_code fold_close(pawl_state *st, const item *it, pawl_err *err)
{
    frame *f = *it->task == '\0' ? &st->root : frame_find(st, it->task);

    size_t name_size = lone_name(st, f, it->closing);

    return name_size > 0 ? lone_close(st, f, it->closing, name_size, err) : close_any(st, f, it, err);
}
