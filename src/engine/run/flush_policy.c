/* flush_policy.c - decides when folded lines are stored (G9).
 *
 * Called by drive.c, dispatch.c, dispatch_wait.c and the scheduler, on the driving thread, without a lock. Invariant: in every durability mode a line
 * is stored before a command, a reader or another run can depend on it. Other lines may be gathered: a crash loses only steps without an outside
 * effect, and the machine makes the same steps again. */
#include "engine/run/run.h"
#include "kernel/frame.h"
#include "kernel/spec.h"
#include "kernel/step.h"

#include <string.h>

enum { GATHER_LINES = 1000, GATHER_BYTES = 1 << 20, GATHER_MS = 5 };

void pawl_engine_durability(pawl_engine *e, pawl_durability mode)
{
    if (e != NULL && (unsigned)mode <= PAWL_DURABLE_EXIT)
        e->durability = mode;
}

typedef struct others { pawl_engine *e; bool any; } others;

static bool see_other(void *ctx, const frame *f, const task *tk, const char *path, const call *c, uint32_t n)
{
    others *o = ctx;
    const char *cls;

    (void)f, (void)tk, (void)path, (void)n;
    if (c->kind == CALL_ASK)
        return true;            /* a question was stored when it was asked */
    step_reset(o->e->look);
    cls = c->kind == CALL_CALL ? pawl_value_string(spec_get(o->e->look, c, "class")) : NULL;
    o->any = cls == NULL || strcmp(cls, pawl_class_name(PAWL_CLASS_PURE)) != 0;
    return !o->any;
}

/* Whether every open command may be performed again without any difference. */
static bool only_pure(pawl_engine *e, const cached_run *r)
{
    others o = { .e = e };

    state_each_call(r->st, see_other, &o);
    return !o.any;
}

bool store_due(pawl_engine *e, cached_run *r)
{
    pawl_code next;

    if (r->st == NULL || !run_has_news(r))
        return false;
    if (r->sql != NULL || e->durability == PAWL_DURABLE_SYNC || r->state == RUN_URGENT || r->ntaken > 0 || r->nwaits > 0 || r->nlines >= GATHER_LINES ||
        r->lines.size + r->blobs_bytes >= GATHER_BYTES)
        return true;
    next = pawl_state_next(r->st);
    if (e->durability == PAWL_DURABLE_ASYNC)
        return next != PAWL_OK || steady_of(e) - r->gathers_since >= GATHER_MS;
    return next != PAWL_OK && !(next == PAWL_PENDING && only_pure(e, r));
}

pawl_code store_as_due(pawl_engine *e, cached_run *r, pawl_err *err)
{
    if (!store_due(e, r)) {
        if (r->nlines > 0)
            renewal_begin(e);    /* no append renews the leases for a while, so the lease thread must */
        return PAWL_OK;
    }
    return runs_commit(e, &r, 1, false, err);
}

pawl_code store_all(pawl_engine *e, cached_run *r, pawl_err *err)
{
    return r->st != NULL && (r->nlines > 0 || r->ntaken > 0) ? runs_commit(e, &r, 1, false, err) : PAWL_OK;
}
