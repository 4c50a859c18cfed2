/* life_march.c - a run from its start to a fork, with each allocation refused once. */
#include "kernel/state.h"
#include "lib/life_march.h"

#include "lib/check.h"
#include "lib/heap.h"

typedef struct life { pawl_machine *m; const pawl_run_info *info; const pawl_event *events; size_t n; } life;

static pawl_code live(const life *l, const pawl_alloc *alloc, pawl_err *err)
{
    pawl_step *s = pawl_step_new(alloc), *look = pawl_step_new(alloc);
    pawl_state *st = NULL, *other = NULL;
    pawl_bytes shot = {0};
    pawl_code rc = s == NULL || look == NULL ? PAWL_NOMEM : pawl_state_new(l->m, l->info, 0, alloc, &st, err);

    for (size_t i = 0; i < l->n && rc >= 0; i++) {
        if ((rc = pawl_feed(l->m, st, &l->events[i], s, err)) >= 0 && pawl_step_entry(s) != NULL)
            rc = pawl_apply(st, pawl_step_entry(s), err);
        if (rc >= 0 && st->nmarks == 0 && (rc = pawl_state_snapshot(st, look, &shot, err)) == PAWL_OK &&
            (rc = pawl_state_load(pawl_state_base(st), shot, NULL, alloc, &other, err)) == PAWL_OK)
            pawl_state_free(other);
    }
    if (rc >= 0 && (rc = pawl_state_fork(st, &(pawl_run_info){ .id = "f", .life = 2, .created_ms = 99 }, look, &other, err)) == PAWL_OK)
        pawl_state_free(other);
    pawl_state_free(st);
    pawl_step_free(s);
    pawl_step_free(look);
    return rc;
}

size_t life_march(pawl_machine *m, const pawl_run_info *info, const pawl_event *events, size_t n)
{
    const life whole = { m, info, events, n };
    size_t tries = 0;
    heap h;

    heap_init(&h);
    for (h.fired = true; h.fired; tries++) {
        pawl_alloc alloc = heap_alloc(&h);
        pawl_err err = {0};
        pawl_code rc;

        heap_fail_at(&h, tries);
        rc = live(&whole, &alloc, &err);
        heap_check(&h);
        if (h.fired && rc != PAWL_NOMEM && rc != PAWL_OK)
            CHECK_FAIL("allocation %zu refused: %s", tries, err.text);
        if (!h.fired)
            CHECK_INT(rc, PAWL_OK);
    }
    return tries;
}
