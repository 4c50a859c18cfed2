/* append.c - builds the append of a run for a commit: lines, waits, blobs, counts, first timer, and whether the lease is released.
 *
 * Called by commit.c, and by sql_command.c in the transaction of the store, on the driving thread. Invariant: everything that was folded since the
 * last commit is in one append (E2). */
#include "engine/child/child.h"
#include "engine/command/outbox.h"
#include "engine/run/run.h"

#include <string.h>

bool run_may_release(const cached_run *r, bool release_sleeping)
{
    pawl_code next = pawl_state_next(r->st);

    if (outbox_count(&r->outbox, ENTRIES_RUNNING | ENTRY_IN(ENTRY_DONE)) > 0 || r->outbox.backoffs > 0 || r->outbox.take_backs > 0)
        return false;           /* counts and back-offs must be stored first, since the next holder relies on them (E7, E13) */
    return next == PAWL_HALTED || next == PAWL_INTERRUPTED || release_sleeping;
}

pawl_code append_fill(pawl_engine *e, cached_run *r, bool release_sleeping, pawl_append *a, arena *mem)
{
    pawl_bytes *lines = arena_get(mem, (r->nlines + 1) * sizeof *lines);
    pawl_waiting *waits = arena_zero(mem, (r->nwaits + 1) * sizeof *waits);
    const char *at = r->lines.data;

    if (lines == NULL || waits == NULL)
        return PAWL_NOMEM;
    for (size_t i = 0; i < r->nlines; i++) {
        const char *nl = memchr(at, '\n', r->lines.size - (size_t)(at - r->lines.data));

        lines[i] = (pawl_bytes){ at, (size_t)(nl - at) };
        at = nl + 1;
    }
    PAWL_ASSERT(r->nlines == 0 || at == r->lines.data + r->lines.size, "E2: one commit holds every line that was folded");
    for (size_t i = 0; i < r->nwaits; i++) {
        const wait_change *w = &r->waits[i];
        pawl_bytes text = { w->text.data, w->text.size };

        waits[i] = (pawl_waiting){ .id = w->id, .over = w->over, .asked_ms = w->asked_ms };
        *(w->over ? &waits[i].answer : &waits[i].spec) = text;
    }
    *a = (pawl_append){ .run = r->id, .fence = r->fence, .seq = r->seq, .lines = lines, .nlines = r->nlines, .waits = waits, .nwaits = r->nwaits,
                        .taken = r->taken, .ntaken = r->ntaken, .snapshot = { r->snapshot.data, r->snapshot.size },
                        .nafter = r->snapshot.size > 0 ? 1 : 0, .status = (uint8_t)pawl_state_status(r->st) };
    if (blobs_fill_append(r, a, mem) != PAWL_OK || counts_in_commit(e, r, a, mem) != PAWL_OK)
        return PAWL_NOMEM;
    a->wake_ms = wait_index_wake(e, r, &a->work);
    if (BROKEN(BROKEN_TIMER))
        a->wake_ms = 0;
    a->over = pawl_status_terminal((pawl_status)a->status);
    a->moves = a->status != r->status || a->work != r->work ||
               (a->wake_ms != r->wake_ms && !BROKEN(BROKEN_TIMER_ALONE)) || r->head != HEAD_KNOWN;
    /* With an anchor the lease is released after the head was anchored, so a crash in between leaves the run to be claimed, and anchored. */
    a->release = e->anchor == NULL && run_may_release(r, release_sleeping && !a->work) && !(a->over && (run_is_retired(e, r) || child_must_notify(r)));
    return PAWL_OK;
}
