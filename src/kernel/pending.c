/* pending.c - updates that come while the superstep of the run is open, and the order in which its close merges them (W4, W8).
 *
 * Called by folds, by the step loop and by the plan of a close, inside a transaction, on the thread that owns the state; pending_before(),
 * pending_any() and pending_newest() only read. Invariant: no update is late by more updates than are pending. */
#include "kernel/pending.h"
#include "kernel/channel.h"
#include "kernel/list.h"
#include "kernel/txn.h"

static size_t pending_count(const pawl_state *st)
{
    return st->pending != NULL ? pawl_value_size(list_value(st->pending)) : 0;
}

uint32_t pending_before(const pawl_state *st, const frame *f, const call *c)
{
    return f == &st->root && c->task == NULL ? (uint32_t)pending_count(st) : 0;
}

pawl_code pending_after(const item *it, const frame *f, uint32_t *after, pawl_err *err)
{
    const pawl_value *v = pawl_value_get(it->more, AFTER_MEMBER);
    const uint64_t n = pawl_value_uint(v);

    *after = 0;
    if (v == NULL)
        return PAWL_OK;
    if (n == 0 || n > UINT32_MAX || f->parent != NULL || pawl_value_get(it->more, "update") == NULL)
        return fail(err, PAWL_CORRUPT, "item \"answer\" of %s: \"%s\" counts the updates before that of an answer", it->task, AFTER_MEMBER);
    *after = (uint32_t)n;
    return PAWL_OK;
}

pawl_code pending_add(pawl_state *st, const pawl_value *update)
{
    if (st->pending == NULL) {
        list *l = list_new(st);

        if (l == NULL || !TOUCH(st, &st->pending))
            return PAWL_NOMEM;
        st->pending = l;
    }
    return list_push(st, st->pending, update) ? PAWL_OK : PAWL_NOMEM;
}

/* ---- the order ------------------------------------------------------------------------------------------- */

typedef bool late_fn(void *ctx, const call *c);

/* Visits the late updates in task order until `see` returns false. */
static void late_each(const pawl_state *st, late_fn *see, void *ctx)
{
    for (uint32_t i = 0; i < st->root.ntasks; i++)
        for (uint32_t k = 0; k < st->root.tasks[i].ncalls; k++)
            if (st->root.tasks[i].calls[k].after > 0 && !see(ctx, &st->root.tasks[i].calls[k]))
                return;
}

typedef struct late_places { uint32_t *at; size_t npending; uint32_t nlate; const pawl_value **of; bool broken; } late_places;

static bool late_count(void *ctx, const call *c)
{
    late_places *p = ctx;

    p->broken = p->broken || c->after > p->npending;
    p->nlate += !p->broken;
    if (!p->broken)
        p->at[c->after]++;
    return !p->broken;
}

static bool late_put(void *ctx, const call *c)
{
    late_places *p = ctx;

    p->of[p->at[c->after]++] = c->update;
    return true;
}

/* at[k], first the number of late updates behind pending update k (from 1), becomes the place of the first of them. */
static pawl_code pending_place(pawl_state *st, late_places *p, arena *mem, pawl_err *err)
{
    pawl_iter it = pawl_iter_of(list_value(st->pending));
    const pawl_value *update;
    uint32_t place = 0, behind;

    if ((p->at = arena_zero(mem, (p->npending + 1) * sizeof *p->at)) == NULL)
        return PAWL_NOMEM;
    late_each(st, late_count, p);
    if (p->broken)
        return fail(err, PAWL_CORRUPT, "%s: an answer's update follows more updates than are pending", st->run);
    if ((p->of = arena_get(mem, (p->npending + p->nlate) * sizeof *p->of)) == NULL)
        return PAWL_NOMEM;
    for (uint32_t k = 1; (update = pawl_iter_next(&it, NULL)) != NULL; k++) {
        p->of[place++] = update;
        behind = p->at[k];
        p->at[k] = place;
        place += behind;
    }
    PAWL_ASSERT(place == p->npending + p->nlate, "W8: each pending update and each late one has its place");
    late_each(st, late_put, p);
    return PAWL_OK;
}

pawl_code pending_order(pawl_state *st, arena *mem, pending_updates *out, pawl_err *err)
{
    late_places p = { .npending = pending_count(st) };
    pawl_code rc = p.npending > 0 ? pending_place(st, &p, mem, err) : PAWL_OK;

    *out = (pending_updates){ p.of, (uint32_t)p.npending + p.nlate };
    return rc;
}

/* ---- merged, and shown before that ------------------------------------------------------------------------- */

static pawl_code pending_write(pawl_state *st, pawl_err *err)
{
    pending_updates all;
    pawl_code rc = pending_order(st, st->t->mem, &all, err);

    for (uint32_t i = 0; i < all.n && rc == PAWL_OK; i++)
        rc = put_writes(st, &st->root, all.of[i], false, err);
    return rc;
}

pawl_code pending_merge(pawl_state *st, pawl_err *err)
{
    pawl_code rc = pending_write(st, err);

    if (rc != PAWL_OK)
        return rc;
    if (!TOUCH(st, &st->pending))
        return PAWL_NOMEM;
    st_list_free(st, st->pending);
    st->pending = NULL;
    return PAWL_OK;
}

pawl_code pending_show(pawl_state *st, pawl_err *err)
{
    pawl_code rc = PAWL_OK;

    for (uint32_t i = 0; i < st->root.ntasks && rc == PAWL_OK; i++)
        for (uint32_t k = 0; k < st->root.tasks[i].ncalls && rc == PAWL_OK; k++) {
            const call *c = &st->root.tasks[i].calls[k];

            if (c->update != NULL && c->after == 0)
                rc = put_writes(st, &st->root, c->update, false, err);
        }
    return rc == PAWL_OK ? pending_write(st, err) : rc;
}

bool pending_any(const pawl_state *st)
{
    if (status_is_terminal(st->status))
        return false;           /* a run that has ended merges nothing; one that is opened again shows them again */
    if (pending_count(st) > 0)
        return true;
    for (uint32_t i = 0; st->root.open && i < st->root.ntasks; i++)
        for (uint32_t k = 0; k < st->root.tasks[i].ncalls; k++)
            if (st->root.tasks[i].calls[k].update != NULL)
                return true;
    return false;
}

typedef struct newest { const char *name; const pawl_value *value; uint32_t after; } newest;

static bool late_newest(void *ctx, const call *c)
{
    newest *n = ctx;
    const pawl_value *v = c->after >= n->after ? pawl_value_get(c->update, n->name) : NULL;

    if (v != NULL) {
        n->value = v;
        n->after = c->after;
    }
    return true;
}

const pawl_value *pending_newest(const pawl_state *st, const char *name)
{
    newest n = { .name = name };
    pawl_iter it = pawl_iter_of(st->pending != NULL ? list_value(st->pending) : NULL);
    const pawl_value *update, *v;

    for (uint32_t k = 1; (update = pawl_iter_next(&it, NULL)) != NULL; k++)
        if ((v = pawl_value_get(update, name)) != NULL)
            n = (newest){ name, v, k };
    if (pending_count(st) > 0)
        late_each(st, late_newest, &n);
    return n.value;
}
