/* dead_owner.c - releases the leases of dead processes of this machine, so that no engine waits for their end (S2).
 *
 * Called by pawl_work() every RECLAIM_MS, on the driving thread; the store is used under the engine's lock. */
#include "engine/run/anchor.h"
#include "engine/run/run.h"
#include "engine/run/owner.h"

#include <stdio.h>
#include <string.h>

enum { PAGE = 256 };

typedef struct reclaim {
    pawl_engine *e;
    int64_t now_ms;
    arena mem;
    pawl_hold holds[PAGE];
    size_t n, seen;
    uint64_t last;              /* the number of the last run that was visited */
    char owner[OWNER_BYTES];    /* the owner of that run and whether it is dead, since one owner mostly has many runs */
    bool dead;
} reclaim;

static bool see_held(void *ctx, const pawl_head *h)
{
    reclaim *b = ctx;

    b->seen++;
    b->last = h->no;
    if (h->owner == NULL)
        return true;
    if (strcmp(b->owner, h->owner) != 0) {
        snprintf(b->owner, sizeof b->owner, "%s", h->owner);
        b->dead = owner_dead(h->owner);
    }
    if (b->dead || (b->e->anchor != NULL && h->over && h->lease_ms <= b->now_ms))     /* nobody claims a run that has ended, so nobody else anchors it */
        b->holds[b->n++] = (pawl_hold){ .run = arena_strdup(&b->mem, h->run, strlen(h->run)), .fence = h->fence, .died = b->dead };
    return b->n < PAGE && !b->mem.failed;
}

/* The heads of these runs may not be anchored: each is claimed, anchored and released. */
static pawl_code anchor_left(pawl_engine *e, const reclaim *b, pawl_err *err)
{
    pawl_code rc = PAWL_OK;

    for (size_t i = 0; i < b->n && rc == PAWL_OK; i++) {
        cached_run *r = run_cached(e, b->holds[i].run, err);
        pawl_claim one;

        if (r == NULL)
            return PAWL_NOMEM;
        if (r->fence != 0 || r->pass != PASS_OUT)
            continue;
        rc = runs_claim(e, &r, &one, 1, err);
        if (rc == PAWL_OK && one.rc == PAWL_OK)
            rc = run_release(e, r, err);
        run_keep_released(e, r);
    }
    return rc;
}

pawl_code dead_owners_release(pawl_engine *e, pawl_err *err)
{
    reclaim *b = mem_new(&e->alloc, sizeof *b);
    pawl_code rc = b == NULL ? fail(err, PAWL_NOMEM, "no memory to look for leases of dead processes") : PAWL_OK;

    if (b == NULL)
        return rc;
    b->e = e;
    arena_init(&b->mem, &e->alloc, 1024);
    do {
        pawl_filter f = { .held = true, .before = b->last, .limit = PAGE };

        b->n = b->seen = 0;
        pthread_mutex_lock(&e->lock);
        b->now_ms = e->store->verbs->now(e->store);
        rc = e->store->verbs->list(e->store, &f, see_held, b, err);
        if (rc == PAWL_OK && b->mem.failed)
            rc = fail(err, PAWL_NOMEM, "no memory to look for leases of dead processes");
        if (rc == PAWL_OK && b->n > 0 && e->anchor == NULL)     /* one that was claimed since the list was read has another fence, and stays as it is */
            rc = e->store->verbs->release(e->store, b->holds, b->n, NULL);
        pthread_mutex_unlock(&e->lock);
        if (rc == PAWL_OK && b->n > 0 && e->anchor != NULL)
            rc = anchor_left(e, b, err);
    } while (rc == PAWL_OK && b->seen == PAGE);
    arena_free(&b->mem);
    mem_free(&e->alloc, b, sizeof *b);
    return rc;
}
