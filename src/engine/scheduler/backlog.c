/* backlog.c - due runs that cannot make progress in this engine now: a signal that no wait expects, a command without a handler, a machine that
 * this engine does not have. They are not tried again before something about them changes.
 *
 * Called by the scheduler, and by binding.c and engine.c when a machine, a handler or a secret is added, on the driving thread, without a lock. The
 * backlog is a cache: forgetting a run only costs one more try. */
#include "engine/run/run.h"
#include "engine/scheduler/scheduler.h"

#include <string.h>

enum { IDLE_MAX = 65536, RETRY_MS = 1000 };     /* largest number of runs; a missing secret is searched again after RETRY_MS */

struct backlog {                   /* what the store had of one run when it was tried */
    uint64_t no;                /* 0: a free place */
    uint64_t fence, seq;
    int64_t changed_ms;         /* 0: unknown */
    int64_t stored_ms;          /* time of the try by the store's clock */
    int64_t tried_ms;           /* the same by the engine's clock */
    int64_t again_ms;
    uint32_t mail;
};

static backlog *place_of(backlog *all, size_t cap, uint64_t no)
{
    size_t i = (size_t)(no * UINT64_C(0x9E3779B97F4A7C15) >> 32);

    while (all[i &= cap - 1].no != 0 && all[i].no != no)
        i++;
    return &all[i];
}

static bool backlog_room(pawl_engine *e)
{
    size_t cap = e->backlog_cap == 0 ? 64 : e->backlog_cap * 2;
    backlog *all;

    if (e->backlog_count * 2 < e->backlog_cap)
        return true;
    if (e->backlog_count >= IDLE_MAX) {    /* full: try all runs again rather than forget one */
        backlog_clear(e);
        return true;
    }
    if ((all = mem_new(&e->alloc, cap * sizeof *all)) == NULL)
        return false;
    for (size_t i = 0; i < e->backlog_cap; i++)
        if (e->backlog[i].no != 0)
            *place_of(all, cap, e->backlog[i].no) = e->backlog[i];
    mem_free(&e->alloc, e->backlog, e->backlog_cap * sizeof *all);
    e->backlog = all;
    e->backlog_cap = cap;
    return true;
}

void backlog_put(pawl_engine *e, const cached_run *r, int64_t now_ms, int64_t stored_ms)
{
    backlog *i = backlog_room(e) ? place_of(e->backlog, e->backlog_cap, r->no) : NULL;
    bool secret = r->st != NULL && run_fits(r) && pawl_state_next(r->st) == PAWL_PENDING && commands_due(r);

    if (i == NULL)
        return;                 /* no memory: the run is tried again needlessly */
    e->backlog_count += i->no == 0;
    *i = (backlog){ .no = r->no, .fence = r->last_fence, .seq = r->head_seq, .changed_ms = r->changed_ms, .stored_ms = stored_ms,
                 .tried_ms = now_ms, .again_ms = secret ? now_ms + RETRY_MS : INT64_MAX, .mail = r->mail };
    if (i->again_ms < e->backlog_again_ms)
        e->backlog_again_ms = i->again_ms;
}

/* Whether the run need not be tried. Under the same fence only a delivery or a timer can have changed the run. Under another fence the run is
 * unchanged when its number of lines and the time of its last change are, unless the change was in the same millisecond as the try. */
bool backlog_has(const pawl_engine *e, const pawl_head *h, int64_t now_ms)
{
    const backlog *i = e->backlog_count == 0 ? NULL : place_of(e->backlog, e->backlog_cap, h->no);

    if (i == NULL || i->no == 0 || h->mail != i->mail || now_ms >= i->again_ms || (h->wake_ms > i->tried_ms && h->wake_ms <= now_ms))
        return false;
    return h->fence == i->fence || (h->seq == i->seq && h->changed_ms == i->changed_ms && h->changed_ms < i->stored_ms);
}

void backlog_clear(pawl_engine *e)
{
    if (e->backlog_count > 0)
        memset(e->backlog, 0, e->backlog_cap * sizeof *e->backlog);
    e->backlog_count = 0;
    e->backlog_again_ms = INT64_MAX;
    e->backlog_cleared = true;
    e->tries++;
}

void backlog_free(pawl_engine *e)
{
    mem_free(&e->alloc, e->backlog, e->backlog_cap * sizeof *e->backlog);
    e->backlog = NULL;
    e->backlog_cap = e->backlog_count = 0;
}
