/* mark_verbs.c - the verbs mark and marks of a store of three methods (E13).
 *
 * Invariant: all marks of a run in one call are stored by one put of its head. */
#include "store/simple/simple.h"

typedef struct marking { pawl_mark *all; size_t n, from; } marking;

/* All marks of the run that the mark `from` is of. */
static pawl_code marks_change(simple_run *r, void *ctx, pawl_err *err)
{
    const marking *g = ctx;
    bool changed = false;
    pawl_code rc = rest_store(r, err);

    for (size_t i = g->from; i < g->n && rc == PAWL_OK; i++) {
        pawl_mark *m = &g->all[i];

        if (m->run == NULL || strcmp(m->run, r->head.run) != 0)
            continue;
        m->rc = store_id_valid(m->id) && m->first_ms >= 0 && m->again_ms >= 0 ? PAWL_OK : PAWL_INVALID;
        if (m->rc == PAWL_OK)
            m->rc = run_held(r, m->fence, r->fresh ? err : NULL);
        if (m->rc == PAWL_FENCED && !r->fresh)
            return PAWL_FENCED;         /* a fresh head may say otherwise */
        if (m->rc != PAWL_OK)
            continue;
        rc = mark_change(r, m, err);
        changed = true;
    }
    return rc == PAWL_OK && !changed ? PAWL_IGNORED : rc;
}

pawl_code simple_set_marks(pawl_store *s, pawl_mark *all, size_t n, pawl_err *err)
{
    simple_handle *h = simple_of(s);
    pawl_code rc = PAWL_OK;

    if (n > 0 && all == NULL)
        return fail(err, PAWL_INVALID, "a count of marks without an array");
    for (size_t i = 0; i < n; i++)
        all[i].rc = PAWL_PENDING;
    for (size_t i = 0; i < n; i++) {
        marking g = { all, n, i };
        pawl_code one;

        if (all[i].rc != PAWL_PENDING)
            continue;
        if (rc == PAWL_OK) {
            simple_begin(h);
            one = run_change(h, all[i].run, marks_change, &g, err);
            if (one != PAWL_OK && !run_is_refused(one))
                rc = one;
        } else {
            one = rc;
        }
        for (size_t k = i; k < n && one != PAWL_OK; k++)
            if (k == i || (all[k].run != NULL && all[i].run != NULL && strcmp(all[k].run, all[i].run) == 0))
                all[k].rc = one;
    }
    return rc;
}

typedef struct mark_reading { pawl_mark_fn *fn; void *ctx; } mark_reading;

static pawl_code marks_emit(simple_run *r, void *ctx, pawl_err *err)
{
    const mark_reading *g = ctx;
    simple_mark *all;
    size_t n;
    pawl_code rc = marks_all(r, &all, &n, err);

    for (size_t i = 0; i < n && rc == PAWL_OK; i++)
        if (!g->fn(g->ctx, &(pawl_mark){ .id = all[i].id, .first_ms = all[i].first_ms, .again_ms = all[i].again_ms, .attempts = all[i].attempts }))
            break;
    return rc;
}

pawl_code simple_marks(pawl_store *s, const char *run, pawl_mark_fn *fn, void *ctx, pawl_err *err)
{
    mark_reading g = { fn, ctx };

    if (fn == NULL)
        return fail(err, PAWL_INVALID, "a list of marks needs a callback");
    simple_begin(simple_of(s));
    return run_query(simple_of(s), run, marks_emit, &g, err);
}
