/* anchor.c - keeps the heads of runs outside of the store, by a function of the host (P12).
 *
 * Called on the driving thread, by dispatch.c before commands leave and by run_cache.c before leases are released. The function of the host is called
 * without a lock, so that the lease thread renews the leases meanwhile. Invariant: a lease that this engine releases is that of a run whose newest
 * stored head is anchored. So a crash between a commit and its anchor leaves a lease behind, and who claims the run then anchors it first. */
#include "engine/run/anchor.h"
#include "kernel/state.h"

#include <string.h>

pawl_code pawl_engine_anchor(pawl_engine *e, pawl_anchor_fn *fn, void *ctx, pawl_err *err)
{
    const char *store = "-";

    if (e == NULL || fn == NULL)
        return fail(err, PAWL_INVALID, "an anchor needs an engine and a function");
    if (e->store->verbs->id != NULL) {
        pthread_mutex_lock(&e->lock);
        store = e->store->verbs->id(e->store, err);
        pthread_mutex_unlock(&e->lock);
    }
    if (store == NULL)
        return code_before(err);
    e->anchor = fn;
    e->anchor_ctx = ctx;
    e->anchor_store = store;
    return PAWL_OK;
}

/* ---- when ------------------------------------------------------------------------------------------------- */

void anchor_unclean(pawl_engine *e, cached_run *r)
{
    pawl_head head;

    if (e->anchor != NULL && e->store->verbs->head(e->store, r->id, &head, NULL) == PAWL_OK && head.owner != NULL)
        anchor_move(r, ANCHOR_DUE);
}

void anchor_untouched(cached_run **runs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (runs[i]->anchor == ANCHOR_NONE)
            anchor_move(runs[i], ANCHOR_DONE);
}

/* ---- one head ----------------------------------------------------------------------------------------------- */

static bool is_anchored(const cached_run *r) { return r->anchor == ANCHOR_DONE; }

/* A journal that cannot be read has no head: nothing is said about it. */
static bool head_there(const cached_run *r)
{
    return r->fence != 0 && !is_anchored(r) && !run_has_news(r) && r->st != NULL;
}

static pawl_code head_fill(pawl_engine *e, const cached_run *r, pawl_anchor *out, pawl_err *err)
{
    const pawl_status status = pawl_state_status(r->st);
    uint64_t found = 0;
    pawl_code rc;
    hash open;

    *out = (pawl_anchor){ .run = r->id, .life = r->st->life, .seq = r->seq, .records = r->records, .status = status,
                          .retention = pawl_status_terminal(status) ? r->st->retention : NULL };
    hash_hex(&r->st->head, out->head);
    if (r->records == 0)
        return PAWL_OK;
    pthread_mutex_lock(&e->lock);
    rc = store_records(e->store, r->id, r->seq, r->records, &found, &open, err);
    pthread_mutex_unlock(&e->lock);
    out->records = found;       /* fewer, if somebody took some away: then the anchor says so */
    if (rc == PAWL_OK && found > 0)
        hash_hex(&open, out->open);
    return rc;
}

/* ---- many -------------------------------------------------------------------------------------------------- */

static pawl_code heads_keep(pawl_engine *e, cached_run **runs, const pawl_anchor *heads, size_t n, pawl_err *err)
{
    pawl_err why = { PAWL_OK, "" };
    pawl_code rc;

    if (!e->draining)           /* an engine that is freed has ended the lease thread permanently */
        renewal_begin(e);
    rc = e->anchor(e->anchor_ctx, e->anchor_store, heads, n, &why);
    if (rc < 0)                 /* whatever the code, the machine of the run is not at fault: it is not parked */
        return fail(err, rc == PAWL_NOMEM || rc == PAWL_TRANSIENT ? rc : PAWL_IO, "%s: its head is stored, but cannot be anchored, so nothing more of it is performed: %s", runs[0]->id,
                    why.text[0] != '\0' ? why.text : pawl_code_name(rc));
    for (size_t i = 0; i < n; i++)
        anchor_move(runs[i], ANCHOR_DONE);
    return PAWL_OK;
}

pawl_code runs_anchor(pawl_engine *e, cached_run **runs, size_t n, pawl_err *err)
{
    pawl_code rc = PAWL_OK;
    pawl_anchor *heads;
    cached_run **those;
    size_t found = 0;
    arena mem;

    if (e->anchor == NULL || n == 0)
        return PAWL_OK;
    arena_init(&mem, &e->alloc, 1024);
    heads = arena_get(&mem, n * sizeof *heads);
    those = arena_get(&mem, n * sizeof *those);
    if (heads == NULL || those == NULL)
        rc = fail(err, PAWL_NOMEM, "%s: no memory to anchor its head", runs[0]->id);
    for (size_t i = 0; i < n && rc == PAWL_OK; i++)
        if (head_there(runs[i]) && (rc = head_fill(e, runs[i], &heads[found], err)) == PAWL_OK)
            those[found++] = runs[i];
    if (rc == PAWL_OK && found > 0)
        rc = heads_keep(e, those, heads, found, err);
    arena_free(&mem);
    return rc;
}
