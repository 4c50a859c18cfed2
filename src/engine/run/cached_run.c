/* cached_run.c - the states of a cached run and of its lease as tables, their movers, and the search for a run.
 *
 * Called on the driving thread. The lease thread reads the table of cached runs and their leases under the engine's lock, so both change only
 * under that lock. Invariants, checked after each move: R1 and R2 below, and S2: the fence is that of the lease. */
#include "engine/run/anchor.h"
#include "engine/run/run.h"
#include "kernel/machine.h"
#include "kernel/names.h"
#include "kernel/state.h"

#include <string.h>

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static const sm_row cached_run_rows[RUN_STATES] = {
    [RUN_EMPTY] = { "empty", SM_TO(RUN_EMPTY) | SM_TO(RUN_LOADED), SM_FIRST | SM_LAST },
    [RUN_LOADED] = { "loaded", SM_TO(RUN_EMPTY) | SM_TO(RUN_LOADED) | SM_TO(RUN_FOLDED) | SM_TO(RUN_GONE), 0 },
    [RUN_FOLDED] = { "folded, not stored", SM_TO(RUN_EMPTY) | SM_TO(RUN_LOADED) | SM_TO(RUN_FOLDED) | SM_TO(RUN_URGENT), 0 },
    [RUN_URGENT] = { "folded, to be stored at once", SM_TO(RUN_EMPTY) | SM_TO(RUN_LOADED) | SM_TO(RUN_URGENT), 0 },
    [RUN_GONE] = { "removed", SM_TO(RUN_EMPTY), 0 },
};

static const char *run_wrong(const void *owner, unsigned state)
{
    const cached_run *r = owner;

    if ((state == RUN_EMPTY) != (r->st == NULL))
        return "R1: a run has a state exactly when it is loaded";
    if ((state == RUN_FOLDED || state == RUN_URGENT) != (r->nlines > 0))
        return "R2: lines wait to be stored exactly when something is folded";
    if (state == RUN_GONE && r->fence != 0)
        return "S2: nobody holds a run that was removed";
    return NULL;
}

const sm_table cached_run_table = { "cached run", cached_run_rows, RUN_STATES, run_wrong };

static const sm_row lease_rows[LEASE_STATES] = {
    [LEASE_NONE] = { "none", SM_TO(LEASE_HELD) | SM_TO(LEASE_LOST), SM_FIRST | SM_LAST },
    [LEASE_HELD] = { "held", SM_TO(LEASE_NONE) | SM_TO(LEASE_HELD) | SM_TO(LEASE_LOST), SM_LAST },
    [LEASE_LOST] = { "lost", SM_TO(LEASE_HELD) | SM_TO(LEASE_LOST), SM_LAST },
};

static const char *lease_wrong(const void *owner, unsigned state)
{
    const cached_run *r = owner;

    return (state == LEASE_HELD) != (r->fence != 0) ? "S2: a run is held under a fence, and under none when it is not" : NULL;
}

const sm_table lease_table = { "lease of a run", lease_rows, LEASE_STATES, lease_wrong };

static const sm_row head_rows[HEAD_STATES] = {
    [HEAD_KNOWN] = { "known", SM_TO(HEAD_KNOWN) | SM_TO(HEAD_PARKED) | SM_TO(HEAD_UNSURE), SM_FIRST | SM_LAST },
    [HEAD_PARKED] = { "parked", SM_TO(HEAD_KNOWN) | SM_TO(HEAD_PARKED), SM_LAST },
    [HEAD_UNSURE] = { "unsure", SM_TO(HEAD_KNOWN) | SM_TO(HEAD_PARKED), SM_LAST },
};

const sm_table head_table = { "head of a run", head_rows, HEAD_STATES, NULL };

static const sm_row pass_rows[PASS_STATES] = {
    [PASS_OUT] = { "out", SM_TO(PASS_IN), SM_FIRST | SM_LAST },
    [PASS_IN] = { "in a batch", SM_TO(PASS_OUT) | SM_TO(PASS_IN) | SM_TO(PASS_STEPPED), 0 },
    [PASS_STEPPED] = { "stepped", SM_TO(PASS_OUT) | SM_TO(PASS_IN) | SM_TO(PASS_STEPPED), 0 },
};

const sm_table pass_table = { "run in a batch", pass_rows, PASS_STATES, NULL };

#define TO(state) SM_TO(MAILBOX_##state)
static const sm_row mailbox_rows[MAILBOX_STATES] = {
    [MAILBOX_UNREAD] = { "unread", TO(UNREAD) | TO(EMPTY) | TO(EMPTY_AT_APPEND), SM_FIRST | SM_LAST },
    [MAILBOX_EMPTY] = { "empty at the claim", TO(UNREAD) | TO(EMPTY_AT_APPEND), SM_LAST },
    [MAILBOX_EMPTY_AT_APPEND] = { "empty at the last append", TO(UNREAD) | TO(EMPTY_AT_APPEND), SM_LAST },
};
#undef TO

const sm_table mailbox_table = { "mailbox of a run", mailbox_rows, MAILBOX_STATES, NULL };

static const sm_row anchor_rows[ANCHOR_STATES] = {
    [ANCHOR_NONE] = { "not anchored", SM_TO(ANCHOR_NONE) | SM_TO(ANCHOR_DUE) | SM_TO(ANCHOR_DONE), SM_FIRST | SM_LAST },
    [ANCHOR_DUE] = { "to be anchored before a command leaves", SM_TO(ANCHOR_NONE) | SM_TO(ANCHOR_DUE) | SM_TO(ANCHOR_DONE), SM_LAST },
    [ANCHOR_DONE] = { "anchored", SM_TO(ANCHOR_NONE) | SM_TO(ANCHOR_DUE), SM_LAST },
};

const sm_table anchor_table = { "anchor of a run", anchor_rows, ANCHOR_STATES, NULL };

void run_move(cached_run *r, cached_run_state to) { sm_move(&cached_run_table, &r->state, to, r); }
void head_move(cached_run *r, head_state to) { sm_move(&head_table, &r->head, to, r); }
void pass_move(cached_run *r, pass_state to) { sm_move(&pass_table, &r->pass, to, r); }
void mailbox_move(cached_run *r, mailbox_state to) { sm_move(&mailbox_table, &r->mailbox, to, r); }
void anchor_move(cached_run *r, anchor_state to) { sm_move(&anchor_table, &r->anchor, to, r); }

void run_mark_urgent(cached_run *r)
{
    if (r->state == RUN_FOLDED)
        run_move(r, RUN_URGENT);
}

void lease_move(cached_run *r, lease_state to, uint64_t fence)
{
    r->fence = fence;
    sm_move(&lease_table, &r->lease, to, r);
}

/* ---- found ------------------------------------------------------------------------------------------------------- */

static cached_run **slot_of_run(cached_run **runs, size_t slots, const char *run)
{
    uint32_t h = name_hash(run);

    return &runs[(h ^ h >> 16) & (slots - 1)];
}

bool cached_runs_begin(pawl_engine *e)
{
    if ((e->runs = mem_new(&e->alloc, RUN_SLOTS_FIRST * sizeof *e->runs)) == NULL)
        return false;
    e->run_slots = RUN_SLOTS_FIRST;
    return true;
}

void cached_runs_end(pawl_engine *e)
{
    mem_free(&e->alloc, e->runs, e->run_slots * sizeof *e->runs);
}

/* Without memory the chains become longer, which does no harm. */
static void slots_double(pawl_engine *e)
{
    const size_t slots = 2 * e->run_slots;
    cached_run **runs = mem_new(&e->alloc, slots * sizeof *runs);

    if (runs == NULL)
        return;
    for (size_t i = 0; i < e->run_slots; i++)
        for (cached_run *r = e->runs[i], *next; r != NULL; r = next) {
            cached_run **slot = slot_of_run(runs, slots, r->id);

            next = r->next;
            r->next = *slot;
            *slot = r;
        }
    cached_runs_end(e);
    e->runs = runs;
    e->run_slots = slots;
}

void cached_run_add(pawl_engine *e, cached_run *r)
{
    cached_run **slot;

    if (e->nruns >= e->run_slots)
        slots_double(e);
    slot = slot_of_run(e->runs, e->run_slots, r->id);
    r->next = *slot;
    *slot = r;
    e->nruns++;
}

void cached_run_remove(pawl_engine *e, const cached_run *r)
{
    cached_run **link = slot_of_run(e->runs, e->run_slots, r->id);

    while (*link != r)
        link = &(*link)->next;
    *link = r->next;
    e->nruns--;
}

cached_run *cached_run_find(const pawl_engine *e, const char *run)
{
    for (cached_run *r = *slot_of_run(e->runs, e->run_slots, run); r != NULL; r = r->next)
        if (strcmp(r->id, run) == 0)
            return r;
    return NULL;
}

bool run_fits(const cached_run *r)
{
    return hash_equal(&r->m->hash, &r->st->machine_hash) && r->m->version == r->st->version;
}
