/* run_cache.c - claims, loads, caches and releases runs.
 *
 * Owns the ring of the runs that were released last. Called on the driving thread; the lease thread reads the table of cached runs under the
 * engine's lock, so a run is added to the table and removed from it under that lock. cached_run.c has the states. */
#include "engine/child/child.h"
#include "engine/run/anchor.h"
#include "engine/run/run.h"
#include "engine/run/owner.h"
#include "kernel/journal/codec.h"
#include "kernel/state.h"

#include <string.h>

/* ---- made and freed ---------------------------------------------------------------------------- */

cached_run *run_cached(pawl_engine *e, const char *run, pawl_err *err)
{
    cached_run *r = cached_run_find(e, run);
    size_t n = strlen(run) + 1;

    if (r != NULL)
        return r;
    if ((r = mem_new(&e->alloc, sizeof *r + n)) == NULL) {
        fail(err, PAWL_NOMEM, "%s: no memory for a run", run);
        return NULL;
    }
    memcpy(r->id, run, n);
    r->e = e;
    r->m = e->m;
    sm_begin(&cached_run_table, &r->state, RUN_EMPTY, r);
    sm_begin(&lease_table, &r->lease, LEASE_NONE, r);
    sm_begin(&head_table, &r->head, HEAD_KNOWN, r);
    sm_begin(&pass_table, &r->pass, PASS_OUT, r);
    sm_begin(&anchor_table, &r->anchor, ANCHOR_NONE, r);
    buf_init(&r->lines, &e->alloc);
    buf_init(&r->snapshot, &e->alloc);
    buf_init(&r->cache, &e->alloc);
    buf_init(&r->blob, &e->alloc);
    buf_init(&r->outbox.received, &e->alloc);
    buf_init(&r->outbox.made, &e->alloc);
    pthread_mutex_lock(&e->lock);       /* the lease thread reads the table */
    cached_run_add(e, r);
    pthread_mutex_unlock(&e->lock);
    return r;
}

/* Drops the state with all lines that are not stored; the state is loaded again when needed (G9). Receipts of performed commands stay. */
void run_drop_state(pawl_engine *e, cached_run *r)
{
    pawl_state_free(r->st);
    r->st = NULL;
    buf_reset(&r->lines);
    buf_reset(&r->snapshot);
    buf_reset(&r->cache);
    r->nlines = r->ntaken = 0;
    run_move(r, RUN_EMPTY);
    r->records = r->records_fed = 0;
    r->loaded_fence = r->rest_fence = 0;
    if (r->anchor == ANCHOR_DONE)
        anchor_move(r, ANCHOR_NONE);    /* what is loaded next may be newer */
    wait_index_clear(e, r);
    blobs_drop(e, r);
    wait_index_free(e, r);
    outbox_state_dropped(r);
}

void cached_run_free(pawl_engine *e, cached_run *r)
{
    run_drop_state(e, r);
    outbox_free(e, r);
    buf_free(&r->outbox.received);
    buf_free(&r->outbox.made);
    buf_free(&r->lines);
    buf_free(&r->snapshot);
    buf_free(&r->cache);
    blobs_free(e, r);
    mem_free(&e->alloc, r->taken, r->taken_cap * sizeof *r->taken);
    mem_free(&e->alloc, r->waits, r->waits_cap * sizeof *r->waits);
    mem_free(&e->alloc, r, sizeof *r + strlen(r->id) + 1);
}

void run_keep_released(pawl_engine *e, cached_run *r)
{
    cached_run **at = &e->released[e->released_next % RELEASED_MAX], *old = *at;

    if (r->in_ring)
        return;
    *at = r;
    r->in_ring = true;
    e->released_next++;
    if (old != NULL)
        old->in_ring = false;
    if (old == NULL || old->fence != 0 || old->pass != PASS_OUT || old->pinned || old->outbox.index.count > 0)
        return;
    pthread_mutex_lock(&e->lock);       /* the lease thread reads the table */
    cached_run_remove(e, old);
    pthread_mutex_unlock(&e->lock);
    cached_run_free(e, old);
}

/* ---- loaded --------------------------------------------------------------------------------------- */

typedef struct loading { buf base, snapshot, lines; uint64_t base_seq; } loading;  /* read completely before folding, since a fold may call the store */

static bool load_line(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    loading *l = ctx;
    buf *b = kind == PAWL_LINE_BASE ? &l->base : kind == PAWL_LINE_SNAPSHOT ? &l->snapshot : &l->lines;

    if (kind == PAWL_LINE_BASE)
        l->base_seq = seq;
    buf_put(b, line.data, line.size);
    if (b == &l->lines)
        buf_char(b, '\n');
    return !b->failed;
}

/* ---- a loader for what a snapshot left in the journal ------------------------------------------------ */

static bool cache_line(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    cached_run *r = ctx;

    if (kind != PAWL_LINE_ENTRY && kind != PAWL_LINE_RECORD)
        return true;
    if (kind == PAWL_LINE_ENTRY)
        r->cache_to = seq;
    buf_put(&r->cache, line.data, line.size);
    buf_char(&r->cache, '\n');
    return !r->cache.failed;
}

/* The lines of entry `seq` in the cache: its task records, then the entry. */
static bool cache_find(const cached_run *r, uint64_t seq, pawl_bytes *entry, pawl_bytes *records)
{
    const char *at = r->cache.data, *end = at == NULL ? at : at + r->cache.size, *first = at;
    uint64_t now = r->cache_from;

    if (at == NULL || seq < r->cache_from || seq > r->cache_to)
        return false;
    if (seq >= r->cache_next && r->cache_next > 0) {
        at = first = r->cache.data + r->cache_at;
        now = r->cache_next;
    }
    while (at < end) {
        const char *nl = memchr(at, '\n', (size_t)(end - at));

        if (*at != '[' && now++ == seq) {
            *entry = (pawl_bytes){ at, (size_t)(nl - at) };
            *records = (pawl_bytes){ first, (size_t)(at - first) };
            return true;
        }
        if (*at != '[')
            first = nl + 1;
        at = nl + 1;
    }
    return false;
}

static pawl_code loader_entry(void *ctx, uint64_t seq, pawl_bytes *entry, pawl_bytes *records, pawl_err *err)
{
    cached_run *r = ctx;
    pawl_engine *e = r->e;
    pawl_code rc;

    if (!cache_find(r, seq, entry, records)) {
        buf_reset(&r->cache);
        r->cache_from = seq;
        r->cache_to = r->cache_next = r->cache_at = 0;
        pthread_mutex_lock(&e->lock);
        rc = e->store->verbs->read(e->store, r->id, seq - 1, seq + CACHE_ENTRIES, cache_line, r, err);
        pthread_mutex_unlock(&e->lock);
        if (rc != PAWL_OK)
            return rc;
        if (r->cache.failed)
            return fail(err, PAWL_NOMEM, "%s: no memory for entry %llu", r->id, (unsigned long long)seq);
        if (!cache_find(r, seq, entry, records))
            return fail(err, PAWL_GONE, "%s: there is no entry %llu", r->id, (unsigned long long)seq);
    }
    r->cache_next = seq + 1;
    r->cache_at = (size_t)(entry->data + entry->size + 1 - r->cache.data);
    return PAWL_OK;
}

pawl_code run_read_entry(cached_run *r, uint64_t seq, pawl_bytes *entry, pawl_bytes *records)
{
    return loader_entry(r, seq, entry, records, NULL);
}

/* ---- the state ---------------------------------------------------------------------------------------- */

static pawl_code lines_apply(pawl_engine *e, cached_run *r, const buf *lines, pawl_err *err)
{
    const char *at = lines->data, *end = lines->size > 0 ? at + lines->size : at;
    pawl_err why = { PAWL_OK, "" };
    pawl_code rc = PAWL_OK;

    while (rc == PAWL_OK && at < end) {
        const char *nl = memchr(at, '\n', (size_t)(end - at));
        pawl_entry *entry;

        rc = pawl_entry_read((pawl_bytes){ at, (size_t)(nl - at) }, e->look, &entry, &why);
        if (rc == PAWL_OK)
            rc = pawl_apply(r->st, entry, &why);
        if (rc == PAWL_CORRUPT)
            fail(err, rc, "%s: entry %llu: %s", r->id, (unsigned long long)pawl_state_seq(r->st) + 1, why.text);
        else if (rc != PAWL_OK)
            fail(err, rc, "%s", why.text);
        r->records = *at == '[' ? r->records + 1 : 0;
        at = nl + 1;
    }
    return rc;
}

/* Finds the machine by name, since it may have been added after the run was cached. */
static void machine_choose(const pawl_engine *e, cached_run *r)
{
    const pawl_machine *m = machine_named(e, r->st->machine);

    if (m != NULL)
        r->m = m;
}

static pawl_code state_load(pawl_engine *e, cached_run *r, loading *l, pawl_err *err)
{
    const pawl_loader loader = { .entry = loader_entry, .blob = loader_blob, .ctx = r };
    const pawl_bytes snapshot = { l->snapshot.data, l->snapshot.size };
    pawl_code rc = snapshot_fits((pawl_bytes){ l->lines.data, l->lines.size }, snapshot, e->look, err);

    if (rc == PAWL_OK)
        rc = pawl_state_load((pawl_bytes){ l->base.data, l->base.size }, snapshot, &loader, NULL, &r->st, err);
    if (rc == PAWL_OK)
        rc = lines_apply(e, r, &l->lines, err);
    if (rc != PAWL_OK) {
        pawl_state_free(r->st);
        r->st = NULL;
        return rc;
    }
    run_move(r, RUN_LOADED);
    machine_choose(e, r);
    r->seq = pawl_state_seq(r->st);
    r->records_fed = r->records;
    r->tail_bytes = l->lines.size;
    return PAWL_OK;
}

void run_init(pawl_engine *e, cached_run *r, pawl_state *st)
{
    const pawl_loader loader = { .entry = loader_entry, .blob = loader_blob, .ctx = r };

    run_drop_state(e, r);
    anchor_move(r, ANCHOR_NONE);
    r->st = st;
    run_move(r, RUN_LOADED);
    r->m = e->m;
    pawl_state_loader(st, &loader);
    r->seq = pawl_state_seq(st);
    r->last_fence = 0;
    r->tail_bytes = 0;
    r->status = (uint8_t)PAWL_STATUS_SUBMITTED;
    r->wake_ms = 0;
    r->work = r->parent_notified = r->admitted = false;
    head_move(r, HEAD_KNOWN);
}

/* A journal in a newer format is not damaged; this version leaves it alone (K5). */
static bool is_newer(pawl_engine *e, const loading *l)
{
    arena mem;
    const pawl_value *v;
    bool newer;

    arena_init(&mem, &e->alloc, l->base.size);
    v = value_parse(&mem, l->base.data, l->base.size, "a base", NULL);
    newer = pawl_value_uint(pawl_value_get(v, "format")) > STORE_FORMAT;
    arena_free(&mem);
    return newer;
}

static bool load_tail(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    return kind == PAWL_LINE_BASE || load_line(ctx, kind, seq, line);
}

/* Loads a state. When the snapshot cannot be used, folds the whole journal instead (K11); an error of the journal itself remains. */
static pawl_code load_without_snapshot(pawl_engine *e, cached_run *r, loading *l, pawl_err *why)
{
    pawl_code rc;

    buf_reset(&l->snapshot);
    buf_reset(&l->lines);
    pthread_mutex_lock(&e->lock);
    rc = e->store->verbs->read(e->store, r->id, l->base_seq, 0, load_tail, l, why);
    pthread_mutex_unlock(&e->lock);
    if (rc == PAWL_OK && l->lines.failed)
        rc = fail(why, PAWL_NOMEM, "%s: no memory to load it", r->id);
    return rc == PAWL_OK ? state_load(e, r, l, why) : rc;
}

static bool snapshot_unfit(pawl_code rc, const loading *l) { return l->snapshot.size > 0 && (rc == PAWL_CORRUPT || rc == PAWL_GONE); }

static void refold_notice(pawl_engine *e, cached_run *r, const pawl_err *why)
{
    e->refolds++;
    if (e->notice != NULL && !r->noticed)
        e->notice(e->notice_ctx, r->id, why->code, why->text);
    r->noticed = true;
}

pawl_code run_load(pawl_engine *e, cached_run *r, pawl_err *err)
{
    pawl_err why = { PAWL_OK, "" }, unfit;
    loading l = { .base_seq = 0 };
    pawl_code rc;

    if (r->st != NULL) {
        machine_choose(e, r);
        return PAWL_OK;
    }
    buf_init(&l.base, &e->alloc);
    buf_init(&l.snapshot, &e->alloc);
    buf_init(&l.lines, &e->alloc);
    pthread_mutex_lock(&e->lock);
    rc = e->store->verbs->load(e->store, r->id, load_line, &l, err);
    pthread_mutex_unlock(&e->lock);
    if (rc == PAWL_OK && (l.base.failed || l.snapshot.failed || l.lines.failed))
        rc = fail(err, PAWL_NOMEM, "%s: no memory to load it", r->id);
    if (rc == PAWL_OK && snapshot_unfit(rc = state_load(e, r, &l, &why), &l)) {
        unfit = why;
        if ((rc = load_without_snapshot(e, r, &l, &why)) == PAWL_OK)
            refold_notice(e, r, &unfit);
    }
    if (rc != PAWL_OK && why.code != PAWL_OK)
        rc = fail(err, rc == PAWL_CORRUPT && is_newer(e, &l) ? PAWL_INVALID : rc, "%s", why.text);
    if (rc == PAWL_OK)
        rc = wait_index_load(e, r) == PAWL_OK ? PAWL_OK : fail(err, PAWL_NOMEM, "%s: no memory to load it", r->id);
    if (rc != PAWL_OK)
        run_drop_state(e, r);
    buf_free(&l.base);
    buf_free(&l.snapshot);
    buf_free(&l.lines);
    return rc;
}

pawl_code run_load_by(pawl_engine *e, cached_run *r, const run_seen *seen)
{
    loading l = { seen->base, seen->snapshot, seen->lines, seen->base_seq };    /* the caller owns the buffers */
    pawl_code rc = state_load(e, r, &l, NULL);

    if (rc == PAWL_OK)
        rc = wait_index_load(e, r);
    if (rc != PAWL_OK)
        run_drop_state(e, r);
    return rc;
}

/* ---- claimed --------------------------------------------------------------------------------------------- */

void run_claimed(pawl_engine *e, cached_run *r, const pawl_head *head)
{
    if (head->fence_before != r->last_fence)
        outbox_lease_lost(r);        /* another holder has counted attempts since: those that still run here have an old number (E13) */
    left_claimed(e, r->id, head);
    if (run_is_gone(r))
        run_drop_state(e, r);        /* a new run with the id of a removed one */
    else if (r->st != NULL && !BROKEN(BROKEN_STALE) &&
             ((head->fence_before != r->last_fence && !run_loaded_under(r, head->fence_before)) || head->seq != r->seq))
        run_drop_state(e, r);        /* another engine has written since */
    r->loaded_fence = r->rest_fence = 0;
    r->last_fence = head->fence;
    lease_move(r, LEASE_HELD, head->fence);
    r->lease_ms = head->lease_ms;
    r->no = head->no;
    r->head_seq = head->seq;
    r->changed_ms = head->changed_ms;
    r->mail = head->mail;
    head_move(r, head->parked != NULL ? HEAD_PARKED : HEAD_KNOWN);      /* HEAD_UNSURE ends: the store refuses an append under the earlier fence from here on */
    r->lease_lost = false;
    mailbox_move(r, MAILBOX_UNREAD);
    r->status = head->status;
    r->work = head->work;
    r->wake_ms = head->wake_ms;
}

/* Releases the leases of dead processes and claims these runs again. */
static pawl_code claim_of_dead(pawl_engine *e, pawl_claim *all, size_t n, arena *mem, pawl_err *err)
{
    const pawl_store_verbs *v = e->store->verbs;
    pawl_claim *again = NULL;
    pawl_hold *holds = NULL;
    size_t *at = NULL, dead = 0;
    pawl_code rc;

    for (size_t i = 0; i < n; i++) {
        if (all[i].rc != PAWL_HELD || !owner_dead(all[i].head.owner))
            continue;
        if (at == NULL && ((at = arena_get(mem, n * sizeof *at)) == NULL || (again = arena_get(mem, n * sizeof *again)) == NULL ||
                           (holds = arena_get(mem, n * sizeof *holds)) == NULL))
            return fail(err, PAWL_NOMEM, "%s: no memory for a claim", all[i].run);
        holds[dead] = (pawl_hold){ .run = all[i].run, .fence = all[i].head.fence, .died = true };
        again[dead] = (pawl_claim){ .run = all[i].run };
        at[dead++] = i;
    }
    if (dead == 0)
        return PAWL_OK;
    if ((rc = v->release(e->store, holds, dead, NULL)) == PAWL_OK)
        rc = v->claim(e->store, e->owner, e->ttl_ms, again, dead, err);
    for (size_t i = 0; i < dead && rc == PAWL_OK; i++)
        all[at[i]] = again[i];
    return rc;
}

pawl_code runs_claim(pawl_engine *e, cached_run **runs, pawl_claim *all, size_t n, pawl_err *err)
{
    pawl_err held = { PAWL_OK, "" }, why = { PAWL_OK, "" };
    arena mem;
    pawl_code rc;

    arena_init(&mem, &e->alloc, 1024);
    for (size_t i = 0; i < n; i++)
        all[i] = (pawl_claim){ .run = runs[i]->id };
    pthread_mutex_lock(&e->lock);
    for (size_t i = 0; i < n; i++)
        anchor_unclean(e, runs[i]);
    rc = e->store->verbs->claim(e->store, e->owner, e->ttl_ms, all, n, &held);
    if (rc == PAWL_OK)
        rc = claim_of_dead(e, all, n, &mem, &why);
    for (size_t i = 0; i < n && rc == PAWL_OK; i++)
        if (all[i].rc == PAWL_OK)
            run_claimed(e, runs[i], &all[i].head);
    pthread_mutex_unlock(&e->lock);
    left_end_lost(e);
    arena_free(&mem);
    if (why.code == PAWL_OK && (rc != PAWL_OK || n > 1 || all[0].rc != PAWL_OK))
        why = held;
    if (why.code != PAWL_OK)
        fail(err, why.code, "%s", why.text);
    return rc;
}

/* Loads a run that was just claimed. Removes the run when its retention has passed. */
pawl_code run_enter(pawl_engine *e, cached_run *r, pawl_err *err)
{
    pawl_code rc = run_load(e, r, err);

    if (rc != PAWL_OK)
        return rc;
    r->parent_notified = run_has_ended(r) && r->wake_ms != PARENT_UNNOTIFIED_MS;
    if (!child_must_notify(r) && run_is_retired(e, r) && (rc = run_remove(e, r, err)) == PAWL_OK)
        rc = fail(err, PAWL_GONE, "%s: there is no such run: it is over, and its retention has removed it", r->id);
    return rc;
}

pawl_code run_hold(pawl_engine *e, cached_run *r, pawl_err *err)
{
    pawl_claim one;
    pawl_code rc = PAWL_OK;
    bool fresh;

    if (r->fence != 0 && r->lease_lost)
        run_lease_lost(e, r);
    fresh = r->fence == 0;
    if (fresh && (rc = runs_claim(e, &r, &one, 1, err)) == PAWL_OK)
        rc = one.rc;
    if (rc != PAWL_OK)
        return rc;
    return fresh ? run_enter(e, r, err) : run_load(e, r, err);
}

static pawl_code release_some(pawl_engine *e, cached_run **runs, pawl_hold *all, size_t n, pawl_err *err)
{
    size_t held = 0;
    pawl_code rc;

    pthread_mutex_lock(&e->lock);
    for (size_t i = 0; i < n; i++)
        if (runs[i]->fence != 0)
            all[held++] = (pawl_hold){ .run = runs[i]->id, .fence = runs[i]->fence };
    rc = held == 0 ? PAWL_OK : e->store->verbs->release(e->store, all, held, err);
    if (rc == PAWL_OK && n == 1 && held == 1)
        rc = all[0].rc;
    for (size_t i = 0; i < n; i++)
        if (runs[i]->fence != 0)
            lease_move(runs[i], LEASE_NONE, 0);         /* also after an error, since this engine stops renewing these leases */
    pthread_mutex_unlock(&e->lock);
    for (size_t i = 0, k = 0; i < n && k < held; i++)
        if (runs[i]->id == all[k].run && all[k++].rc != PAWL_OK)
            run_drop_state(e, runs[i]);
    return rc;
}

/* The head of a run without a state, as after a failed commit, is known once it is loaded. A journal that is damaged has none; one that cannot be read now
 * may have one that is not anchored. */
static pawl_code heads_load(pawl_engine *e, cached_run **runs, size_t n, pawl_err *err)
{
    for (size_t i = 0; i < n && e->anchor != NULL; i++)
        if (runs[i]->fence != 0 && runs[i]->anchor != ANCHOR_DONE) {
            pawl_err why = { PAWL_OK, "" };
            const pawl_code rc = run_load(e, runs[i], &why);

            if (rc == PAWL_NOMEM || rc == PAWL_IO || rc == PAWL_TRANSIENT)
                return fail(err, rc, "%s", why.text);
        }
    return PAWL_OK;
}

/* One call of the store, or several without memory. A refused release means that another engine has the lease. Heads that cannot be anchored: the leases
 * are kept, for the next try here, or for who claims the runs when this process has ended (P12). */
pawl_code runs_release(pawl_engine *e, cached_run **runs, size_t n, pawl_err *err)
{
    pawl_hold few[4], *all = n <= sizeof few / sizeof *few ? few : mem_new(&e->alloc, n * sizeof *all);
    size_t room = all == NULL ? sizeof few / sizeof *few : n;
    pawl_err why = { PAWL_OK, "" };
    pawl_code anchored, rc;

    if ((rc = heads_load(e, runs, n, &why)) == PAWL_OK)
        rc = runs_anchor(e, runs, n, &why);
    anchored = rc;
    for (size_t i = 0; i < n && anchored == PAWL_OK; i += room) {
        pawl_code some = release_some(e, runs + i, all == NULL ? few : all, n - i < room ? n - i : room, &why);

        rc = rc == PAWL_OK ? some : rc;
    }
    if (all != few)
        mem_free(&e->alloc, all, n * sizeof *all);
    return rc == PAWL_OK ? rc : fail(err, rc, "%s", why.text);
}

pawl_code run_release(pawl_engine *e, cached_run *r, pawl_err *err)
{
    return runs_release(e, &r, 1, err);
}

/* Removes the run from the store; its last state stays readable here. After an error the run's timer in the store is due, so an engine tries again. */
pawl_code run_remove(pawl_engine *e, cached_run *r, pawl_err *err)
{
    pawl_code rc = runs_anchor(e, &r, 1, err);      /* that it has ended, and its retention, stand outside before it is gone */

    if (rc != PAWL_OK)
        return rc;
    pthread_mutex_lock(&e->lock);
    rc = e->store->verbs->remove(e->store, r->id, r->fence, err);
    if (rc == PAWL_OK)
        lease_move(r, LEASE_NONE, 0);
    pthread_mutex_unlock(&e->lock);
    if (rc == PAWL_OK)
        run_move(r, RUN_GONE);
    if (rc != PAWL_OK)
        (void)run_release(e, r, NULL);
    return rc;
}

void run_lease_lost(pawl_engine *e, cached_run *r)
{
    pthread_mutex_lock(&e->lock);
    lease_move(r, LEASE_LOST, 0);
    pthread_mutex_unlock(&e->lock);
    outbox_lease_lost(r);
    left_lost(e, r->id);
    run_drop_state(e, r);
}
