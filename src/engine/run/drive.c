/* drive.c - a run is driven: what comes in is folded, what comes of it is stored, and then what follows is done. */
#include "engine/child/child.h"
#include "engine/command/outbox.h"
#include "engine/run/delivery.h"
#include "engine/run/run.h"
#include "engine/run/stream_ring.h"

#include <string.h>

/* ---- one event -------------------------------------------------------------------------------- */

/* Of the state after all that is to be stored. A cache: where it cannot be made, a later one will do. */
static void snapshot_take(pawl_engine *e, cached_run *r)
{
    pawl_bytes bytes;

    buf_reset(&r->snapshot);
    if (r->nlines == 0 || r->ends_in_record || r->tail_bytes < e->tail_bytes_least || !pawl_state_snapshot_due(r->st) ||
        pawl_state_snapshot(r->st, e->look, &bytes, NULL) != PAWL_OK || blobs_hold(e, r, e->look) != PAWL_OK)
        return;
    r->tail_bytes = 0;
    buf_put(&r->snapshot, bytes.data, bytes.size);
    if (r->snapshot.failed)
        buf_reset(&r->snapshot);
}

static pawl_code interrupt_feed(pawl_engine *e, cached_run *r, const pawl_event *ev, pawl_err *err)
{
    pawl_event with = *ev;
    pawl_code rc;
    buf value;

    buf_init(&value, &e->alloc);
    if ((rc = partial_event_value(r, ev, &value, err)) == PAWL_OK) {
        with.value = value.size > 0 ? value.data : NULL;
        with.value_size = value.size;
        rc = pawl_advance(r->m, r->st, &with, e->step, err);
    }
    buf_free(&value);
    return rc;
}

/* Folded, and to be stored with the next commit. Below 0 nothing happened, but for PAWL_NOMEM and PAWL_IO after it was folded:
 * then the state was thrown away. */
pawl_code run_feed(pawl_engine *e, cached_run *r, const pawl_event *ev, pawl_err *err)
{
    pawl_code rc = r->borrowed ? args_copy_all(e, r, err) : PAWL_OK, next;
    pawl_bytes line;

    if (rc != PAWL_OK)
        return rc;
    next = partial_wanted(r, ev) ? interrupt_feed(e, r, ev, err) : pawl_advance(r->m, r->st, ev, e->step, err);
    line = pawl_step_bytes(e->step);
    if (next < 0 || next == PAWL_IGNORED)
        return next;
    if (r->nlines == 0 && e->durability == PAWL_DURABLE_ASYNC)
        r->gathers_since = steady_of(e);
    r->ends_in_record = pawl_entry_is_record(pawl_step_entry(e->step));
    buf_put(&r->lines, line.data, line.size);
    buf_char(&r->lines, '\n');
    r->nlines++;
    run_move(r, RUN_FOLDED);
    r->stepped = true;
    r->records_fed = pawl_entry_is_record(pawl_step_entry(e->step)) ? r->records_fed + 1 : 0;
    r->tail_bytes += line.size;
    rc = r->lines.failed ? PAWL_NOMEM : blobs_hold(e, r, e->step);
    if (rc == PAWL_OK)
        rc = wait_index_step(e, r);
    if (rc != PAWL_OK) {
        run_drop_state(e, r);
        return fail(err, rc, rc == PAWL_IO ? "%s: a child of it could not be told" : "%s: no memory for what a step came to", r->id);
    }
    return next;
}

/* ---- the commit ---------------------------------------------------------------------------------- */

/* Nobody has to do anything for it but the world, once this is stored: else its lease would run out. */
static bool may_release(const cached_run *r, bool naps)
{
    pawl_code next = pawl_state_next(r->st);

    if (outbox_count(&r->outbox, ENTRIES_RUNNING | ENTRY_IN(ENTRY_DONE)) > 0 || r->outbox.backoffs > 0 || r->outbox.take_backs > 0)
        return false;           /* the next holder goes by what is still to be stored of attempts (E7, E13) */
    return next == PAWL_HALTED || next == PAWL_INTERRUPTED || naps;
}

pawl_code append_fill(pawl_engine *e, cached_run *r, bool naps, pawl_append *a, arena *mem)
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
    for (size_t i = 0; i < r->nwaits; i++) {
        const wait_change *w = &r->waits[i];
        pawl_bytes text = { w->text.data, w->text.size };

        waits[i] = (pawl_waiting){ .id = w->id, .over = w->over, .asked_ms = w->asked_ms };
        *(w->over ? &waits[i].answer : &waits[i].spec) = text;
    }
    *a = (pawl_append){ .run = r->id, .fence = r->fence, .seq = r->seq, .lines = lines, .nlines = r->nlines, .waits = waits, .nwaits = r->nwaits,
                        .taken = r->taken, .ntaken = r->ntaken, .snapshot = { r->snapshot.data, r->snapshot.size },
                        .status = (uint8_t)pawl_state_status(r->st) };
    if (blobs_fill_append(r, a, mem) != PAWL_OK || counts_in_commit(e, r, a, mem) != PAWL_OK)
        return PAWL_NOMEM;
    a->wake_ms = wait_index_wake(e, r, &a->work);
    if (BROKEN(BROKEN_TIMER))
        a->wake_ms = 0;
    a->over = pawl_status_terminal((pawl_status)a->status);
    a->moves = a->status != r->status || a->over != r->over || a->work != r->work ||
               (a->wake_ms != r->wake_ms && !BROKEN(BROKEN_TIMER_ALONE)) || r->quarantined || r->unsure;
    a->release = may_release(r, naps && !a->work) && !(a->over && (run_is_retired(e, r) || child_must_notify(r)));
    return PAWL_OK;
}

static void tell_watcher(pawl_engine *e, cached_run *r)
{
    const char *at = r->lines.data, *end = r->nlines > 0 ? at + r->lines.size : at;

    for (const char *nl; e->watch != NULL && at < end; at = nl + 1) {
        pawl_entry *entry;

        nl = memchr(at, '\n', (size_t)(end - at));
        if (pawl_entry_read((pawl_bytes){ at, (size_t)(nl - at) }, e->look, &entry, NULL) == PAWL_OK &&
            pawl_entry_load(r->st, entry, NULL) != PAWL_NOMEM)
            e->watch(e->watch_ctx, r->st, entry);
    }
}

static void stored(pawl_engine *e, cached_run *r, const pawl_append *a)
{
    stream_ring *h = ring_here(e);
    uint64_t records = r->records;

    r->seq = r->head_seq = pawl_state_seq(r->st);
    r->records = r->records_fed;
    r->quiet = a->quiet;
    r->changed_ms = 0;
    r->refused = 0;
    if (a->moves) {
        r->quarantined = r->unsure = false;
        r->status = a->status;
        r->over = a->over;
        r->work = a->work;
        r->wake_ms = a->wake_ms;
    }
    if (h != NULL)
        ring_stored(h, r, a->seq, records);
    tell_watcher(e, r);
    blobs_stored(e, r);
    buf_reset(&r->lines);
    buf_reset(&r->snapshot);
    r->nlines = 0;
    run_move(r, RUN_LOADED);
    r->hurry = false;
    wait_index_clear(e, r);
    counts_committed(r, a);
    outbox_stored(e, r);
    if (r->st->canceling)
        outbox_stop_unstarted(r);       /* the cancel is stored: nothing begins from here on (E10) */
    outbox_drop_leftovers(e, r, pawl_state_next(r->st));     /* it may be let go of now: children that lost a race are called off here */
}

/* With the lock: whoever renews must not take what was let go of for lost. */
static pawl_code append_all(pawl_engine *e, cached_run **runs, pawl_append *all, size_t n, pawl_err *err)
{
    pawl_code rc;

    pthread_mutex_lock(&e->lock);
    rc = e->store->verbs->append(e->store, all, n, err);
    for (size_t i = 0; i < n && rc == PAWL_OK; i++)
        if (all[i].rc == PAWL_OK && all[i].release)
            lease_move(runs[i], LEASE_NONE, 0);
    pthread_mutex_unlock(&e->lock);
    return rc;
}

/* A run that is not in the store yet: its base and its lease come with its first lines. */
static pawl_code create_with(pawl_engine *e, cached_run *r, pawl_append *a, pawl_err *err)
{
    pawl_beginning with = { .owner = e->owner, .ttl_ms = e->ttl_ms, .first = a };
    pawl_code rc;

    pthread_mutex_lock(&e->lock);
    rc = e->store->verbs->create(e->store, pawl_state_base(r->st), &with, err);
    if (rc == PAWL_OK) {
        run_claimed(e, r, &with.head);
        r->marked_fence = r->fence;     /* nobody has begun an attempt of it */
        if (a->release)
            lease_move(r, LEASE_NONE, 0);
    }
    pthread_mutex_unlock(&e->lock);
    return rc;
}

/* Made durable together. PAWL_OK; else the first that went wrong, and the states concerned were thrown away. `creates`: the one run is not
 * in the store yet. */
static pawl_code commit(pawl_engine *e, cached_run **runs, size_t n, bool naps, bool creates, pawl_err *err)
{
    pawl_append few[4], *all = few;
    pawl_err why = { PAWL_OK, "" };
    pawl_code rc = PAWL_OK, first = PAWL_OK;
    arena mem;

    arena_init(&mem, &e->alloc, 1024);
    if (n > sizeof few / sizeof *few && (all = arena_get(&mem, n * sizeof *all)) == NULL)
        rc = PAWL_NOMEM;
    if (e->waiting > 0 && !e->draining)
        budgets_grant(e, engine_now(e));
    for (size_t i = 0; BROKEN(BROKEN_COMMIT) && i < n && rc == PAWL_OK; i++)
        rc = dispatch(e, runs[i], false, &(bool){ false }, &why);
    for (size_t i = 0; i < n && rc == PAWL_OK; i++) {
        snapshot_take(e, runs[i]);
        if ((rc = append_fill(e, runs[i], naps, &all[i], &mem)) == PAWL_OK && runs[i]->sql != NULL)
            sql_into_append(runs[i], naps, &all[i], &mem);
    }
    if (rc == PAWL_OK)
        rc = creates ? create_with(e, runs[0], &all[0], &why) : append_all(e, runs, all, n, &why);
    e->sql_ms = 0;
    for (size_t i = 0; i < n; i++) {
        pawl_code one = rc == PAWL_OK ? all[i].rc : rc;

        if (one == PAWL_OK)
            stored(e, runs[i], &all[i]);
        else if (one == PAWL_FENCED)
            run_lease_lost(e, runs[i]);
        else {
            run_drop_state(e, runs[i]);
            runs[i]->unsure = true;
        }
        if (one == PAWL_OK && all[i].over && runs[i]->fence != 0 && may_release(runs[i], false) && !child_must_notify(runs[i]) && run_is_retired(e, runs[i]))
            (void)run_remove(e, runs[i], NULL);
        runs[i]->refused += rc == PAWL_OK && one != PAWL_OK && one != PAWL_FENCED;
        if (one != PAWL_OK && first == PAWL_OK)
            first = why.code != PAWL_OK ? fail(err, one, "%s", why.text)
                                        : fail(err, one, "%s: %s", runs[i]->id, one == PAWL_FENCED ? "somebody else works on it now" :
                                               one == PAWL_NOMEM ? "no memory for a commit" : pawl_code_name(one));
    }
    arena_free(&mem);
    return first;
}

pawl_code runs_commit(pawl_engine *e, cached_run **runs, size_t n, bool naps, pawl_err *err)
{
    return commit(e, runs, n, naps, false, err);
}

pawl_code run_create(pawl_engine *e, cached_run *r, pawl_err *err)
{
    return commit(e, &r, 1, false, true, err);
}

pawl_code run_quarantine(pawl_engine *e, cached_run *r, const char *reason, pawl_err *err)
{
    pawl_append a = { .run = r->id, .fence = r->fence, .seq = r->head_seq, .moves = true, .status = r->status, .over = r->over,
                      .work = r->work, .wake_ms = r->wake_ms, .parked = reason, .release = true };
    pawl_code rc = PAWL_OK;

    run_drop_state(e, r);
    r->refused = 0;
    if (r->fence != 0)
        rc = append_all(e, &r, &a, 1, err);
    if (rc == PAWL_OK && a.rc != PAWL_OK && r->fence != 0)
        run_lease_lost(e, r);        /* then it is for somebody else to see to */
    return rc;
}

/* ---- what was has_deliveries ----------------------------------------------------------------------------- */

typedef struct delivery_list { arena mem; pawl_delivery *list; size_t n, cap; } delivery_list;

static bool gather(void *ctx, const pawl_delivery *d)
{
    delivery_list *g = ctx;
    pawl_delivery *one;

    if (!arena_room(&g->mem, (void **)&g->list, &g->cap, g->n, sizeof *g->list))
        return false;
    one = &g->list[g->n++];
    *one = *d;
    one->id = arena_text(&g->mem, d->id);
    one->name = arena_text(&g->mem, d->name);
    one->by = arena_text(&g->mem, d->by);
    one->note = arena_text(&g->mem, d->note);
    one->value = arena_bytes(&g->mem, d->value);
    one->update = arena_bytes(&g->mem, d->update);
    return !g->mem.failed;
}

/* Called off again: nothing is waited for any more, and all that is out ends in its receipt before that (E10). */
static pawl_code hurry(pawl_engine *e, cached_run *r, const pawl_event *ev, pawl_err *err)
{
    return ev->kind == PAWL_EV_CANCEL && r->st->canceling ? outbox_end_all(e, r, err) : PAWL_OK;
}

/* What an event gives up is known by name before it is fed. */
static pawl_code open_known(pawl_engine *e, cached_run *r, pawl_err *err)
{
    return r->commands_moved && r->st->commands > 0 ? outbox_reconcile(e, r, NULL, err) : PAWL_OK;
}

/* Taken or ignored, it is gone with the commit. A signal that nobody waits for yet stays, and so does what this machine, or this
 * moment, cannot take. */
static pawl_code delivery_take(pawl_engine *e, cached_run *r, const pawl_delivery *d, pawl_err *err)
{
    const pawl_event ev = event_from_delivery(d);
    pawl_err why = { PAWL_OK, "" };
    pawl_code rc = hurry(e, r, &ev, &why);

    if (rc == PAWL_OK)
        rc = open_known(e, r, &why);
    if (d->kind == PAWL_DELIVER_RECEIPT)
        child_end_came(r, d);
    if (rc == PAWL_OK)
        rc = answer_in_time(e, r, &ev, &why);
    if (rc == PAWL_OK)
        rc = run_feed(e, r, &ev, &why);
    if (rc == PAWL_CONFLICT && r->st != NULL && d->kind == PAWL_DELIVER_ANSWER && run_fits(r))
        rc = PAWL_IGNORED;              /* it came too late: no fault of the run's (W3) */
    if (rc == PAWL_NOMEM || rc == PAWL_IO || rc == PAWL_CORRUPT || rc == PAWL_CONFLICT || r->st == NULL)
        return fail(err, rc, "%s", why.text);
    if (d->kind == PAWL_DELIVER_RECEIPT)
        outbox_note_receipt(r, d->name);
    if (rc == PAWL_IGNORED && d->kind == PAWL_DELIVER_SIGNAL && !r->over && !BROKEN(BROKEN_SIGNAL_EARLY))
        return PAWL_OK;
    if (BROKEN(BROKEN_SIGNAL_SECOND) && d->kind == PAWL_DELIVER_SIGNAL && r->ntaken > 0)
        return PAWL_OK;
    if (!mem_room(&e->alloc, (void **)&r->taken, &r->taken_cap, r->ntaken, sizeof *r->taken)) {
        run_drop_state(e, r);
        return fail(err, PAWL_NOMEM, "%s: no memory for a delivery", r->id);
    }
    r->taken[r->ntaken++] = d->no;
    return PAWL_OK;
}

/* Of channels of Pawl's own, "@mode": they hold for all that was has_deliveries, and are taken first. */
static bool is_setting(const pawl_delivery *d)
{
    return d->kind == PAWL_DELIVER_UPDATE && d->value.size > 3 && memcmp(d->value.data, "{\"@", 3) == 0;
}

pawl_code admission(pawl_engine *e, cached_run *r, pawl_err *err)
{
    pawl_code rc = r->admitted || !r->in_pass || e->admit == NULL ? PAWL_OK : e->admit(e->admit_ctx, r->st, err);

    r->admitted = rc >= 0;
    return rc < 0 ? rc : PAWL_OK;
}

/* Before its start there is nothing that could take it: it stays. */
static bool too_early(const cached_run *r, const pawl_delivery *d)
{
    return r->st != NULL && pawl_state_status(r->st) == PAWL_SUBMITTED && d->kind != PAWL_DELIVER_START && d->kind != PAWL_DELIVER_CANCEL;
}

static pawl_code all_take(pawl_engine *e, cached_run *r, const delivery_list *g, pawl_err *err)
{
    const bool begun = pawl_state_status(r->st) != PAWL_SUBMITTED;
    pawl_code rc = PAWL_OK;

    for (size_t i = 0; i < g->n && rc == PAWL_OK; i++)
        if (begun && is_setting(&g->list[i]))
            rc = delivery_take(e, r, &g->list[i], err);
    if (rc == PAWL_OK)
        rc = admission(e, r, err);
    for (size_t i = 0; i < g->n && rc == PAWL_OK; i++)
        if (!(begun && is_setting(&g->list[i])) && !too_early(r, &g->list[i]))
            rc = delivery_take(e, r, &g->list[i], err);
    return rc;
}

pawl_code deliveries_feed(pawl_engine *e, cached_run *r, pawl_err *err)
{
    const pawl_store_verbs *v = e->store->verbs;
    delivery_list g = { .n = 0 };
    size_t before = r->nlines;
    uint64_t now;
    pawl_code rc;

    if (r->fresh || (r->quiet && pawl_state_next(r->st) == PAWL_OK)) {  /* its next step will look again */
        r->fresh = r->quiet = false;
        return PAWL_OK;
    }
    if (!run_fits(r))
        return PAWL_OK;
    pthread_mutex_lock(&e->lock);
    now = v->version(e->store);
    rc = now != 0 && now == r->heard ? PAWL_IGNORED : PAWL_OK;
    if (rc == PAWL_OK) {
        arena_init(&g.mem, &e->alloc, 512);
        rc = v->deliveries(e->store, r->id, gather, &g, err);
    }
    pthread_mutex_unlock(&e->lock);
    if (rc == PAWL_IGNORED)
        return PAWL_OK;
    if (rc == PAWL_OK && g.mem.failed)
        rc = fail(err, PAWL_NOMEM, "%s: no memory for what was has_deliveries", r->id);
    if (rc == PAWL_OK)
        rc = all_take(e, r, &g, err);
    arena_free(&g.mem);
    r->mail = (uint32_t)(g.n - r->ntaken);
    if (rc == PAWL_OK && r->nlines == before && r->ntaken == 0)
        r->heard = now;
    return rc;
}

pawl_code deliveries_take(pawl_engine *e, cached_run *r, pawl_err *err)
{
    size_t before = r->nlines;
    pawl_code rc = deliveries_feed(e, r, err);

    return rc == PAWL_OK && (r->nlines > before || r->ntaken > 0) ? runs_commit(e, &r, 1, false, err) : rc;
}

static bool see_any(void *ctx, const pawl_delivery *d)
{
    (void)d;
    *(bool *)ctx = true;
    return false;
}

bool has_deliveries(pawl_engine *e, const cached_run *r)
{
    const pawl_store_verbs *v = e->store->verbs;
    bool any = false;
    uint64_t now;

    pthread_mutex_lock(&e->lock);
    now = v->version(e->store);
    if (now == 0 || now != r->heard)
        (void)v->deliveries(e->store, r->id, see_any, &any, NULL);
    pthread_mutex_unlock(&e->lock);
    return any;
}

/* ---- one run ------------------------------------------------------------------------------------------- */

static pawl_code feed_one(pawl_engine *e, cached_run *r, const pawl_event *ev, pawl_err *err)
{
    pawl_code rc = open_known(e, r, err), next = rc == PAWL_OK ? run_feed(e, r, ev, err) : rc;

    if (next < 0 || next == PAWL_IGNORED)
        return next;
    rc = runs_commit(e, &r, 1, false, err);
    return rc == PAWL_OK ? next : rc;
}

/* One thing is done for it: *next is how it stands then; *did, whether anything was. */
static pawl_code drive_once(pawl_engine *e, cached_run *r, pawl_code *next, bool *did, pawl_err *err)
{
    pawl_event tick = { .kind = PAWL_EV_TICK };
    bool late = false;
    pawl_code rc;

    *did = true;
    *next = pawl_state_next(r->st);
    outbox_drop_leftovers(e, r, *next);
    if (*next == PAWL_PENDING) {
        rc = dispatch(e, r, true, did, err);
        if (rc == PAWL_OK && !*did && r->children_ask)
            *next = PAWL_INTERRUPTED;
        return rc == PAWL_OK ? store_as_due(e, r, err) : rc;
    }
    if (*next == PAWL_HALTED && child_must_notify(r))
        return (rc = child_notify(e, r, err)) == PAWL_OK ? runs_commit(e, &r, 1, false, err) : rc;
    if (*next != PAWL_OK) {
        int64_t first;

        *did = false;
        rc = *next == PAWL_INTERRUPTED ? timers_fire(e, r, &first, did, err) : PAWL_OK;
        return rc == PAWL_OK && *did ? runs_commit(e, &r, 1, false, err) : rc;
    }
    if ((rc = deadline_keep(e, r, &late, err)) != PAWL_OK || late)
        return rc == PAWL_OK ? runs_commit(e, &r, 1, false, err) : rc;
    tick.time_ms = engine_now(e);
    rc = run_feed(e, r, &tick, err);
    if (rc == PAWL_IGNORED)
        return fail(err, PAWL_CORRUPT, "%s: it says there is something to do, and does nothing", r->id);
    return rc < 0 ? rc : store_as_due(e, r, err);
}

/* It was parked, and can be driven: nothing that was stored has said so yet. */
static pawl_code unquarantine(pawl_engine *e, cached_run *r, pawl_err *err)
{
    return r->quarantined && r->fence != 0 && r->st != NULL && run_fits(r) ? runs_commit(e, &r, 1, false, err) : PAWL_OK;
}

pawl_code drive_failed(pawl_engine *e, cached_run *r, pawl_code rc, const pawl_err *why, pawl_err *err)
{
    if (r->fence != 0 && outbox_is_idle(r)) {
        run_drop_state(e, r);
        if (rc == PAWL_CORRUPT)
            (void)run_quarantine(e, r, why->text, NULL);
        (void)run_release(e, r, NULL);
    }
    return why->code == PAWL_OK ? rc : fail(err, rc, "%s", why->text);
}

/* Drained, it is driven on while something is out, for what that comes to. */
static bool goes_on(const pawl_engine *e, const cached_run *r)
{
    return !e->stopping && !(e->draining && outbox_tree_idle(e, r));
}

/* It was stopped in between: as it stands now. Drained, it is anybody's. */
static pawl_code left_there(pawl_engine *e, cached_run *r, pawl_code *next, pawl_err *err)
{
    if (r->st != NULL)
        *next = pawl_state_next(r->st);
    counts_take_back(r);
    (void)backoffs_store(e, r, NULL);
    return r->fence != 0 && e->draining && !e->abandoned && outbox_tree_idle(e, r) ? run_release(e, r, err) : PAWL_OK;
}

/* `stored`: what came in is, by the caller. */
static pawl_code drive_on(pawl_engine *e, cached_run *r, const pawl_event *first, bool stored, pawl_code *next, pawl_err *err)
{
    pawl_code rc = stored ? PAWL_OK : run_hold(e, r, err);
    bool did = true;

    if (rc == PAWL_OK && first != NULL && (rc = deliveries_take(e, r, err)) == PAWL_OK && (rc = run_hold(e, r, err)) == PAWL_OK) {
        pawl_event ev = *first;

        if (ev.time_ms == 0)
            ev.time_ms = engine_now(e);
        if (ev.kind == PAWL_EV_RECEIPT)
            outbox_note_receipt(r, ev.id);
        if ((rc = hurry(e, r, &ev, err)) == PAWL_OK && (rc = answer_in_time(e, r, &ev, err)) == PAWL_OK)
            rc = feed_one(e, r, &ev, err);
        if (rc == PAWL_IGNORED && r->nlines > 0)
            rc = runs_commit(e, &r, 1, false, err);    /* the last receipt ended it */
        if (rc == PAWL_IGNORED && (rc = unquarantine(e, r, err)) == PAWL_OK) {
            if (outbox_is_idle(r))
                (void)run_release(e, r, NULL);
            *next = PAWL_IGNORED;
            return PAWL_OK;
        }
    }
    while (rc >= 0 && did && goes_on(e, r)) {
        if (r->fence == 0 && r->st != NULL && !has_deliveries(e, r)) {
            *next = pawl_state_next(r->st);     /* it was let go of: over, or somebody is asked */
            return PAWL_OK;
        }
        if ((rc = run_hold(e, r, err)) == PAWL_HELD && (first != NULL || stored)) {
            *err = (pawl_err){ PAWL_OK, "" };   /* what came in is stored, and is not to be left for him once more */
            *next = PAWL_PENDING;
            return PAWL_OK;
        }
        if (rc == PAWL_OK && (rc = deliveries_take(e, r, err)) == PAWL_OK && r->fence != 0)
            rc = drive_once(e, r, next, &did, err);
    }
    if (rc >= 0)
        rc = store_all(e, r, err);      /* who called may look at it now */
    else
        (void)store_all(e, r, NULL);
    if (rc >= 0)
        rc = unquarantine(e, r, err);
    if (rc >= 0 && did)
        rc = left_there(e, r, next, err);
    if (rc >= 0 && r->fence != 0 && (*next == PAWL_HALTED || *next == PAWL_INTERRUPTED || !did))
        rc = run_release(e, r, err);
    return rc;
}

static pawl_code drive_from(pawl_engine *e, cached_run *r, const pawl_event *first, bool stored, pawl_err *err)
{
    pawl_err why = { PAWL_OK, "" };
    pawl_code next = PAWL_PENDING, rc;

    completions_heard(e);
    rc = drive_on(e, r, first, stored, &next, &why);

    outbox_unqueue(e, r);
    if (rc < 0)
        return drive_failed(e, r, rc, &why, err);
    if (why.code != PAWL_OK)
        fail(err, why.code, "%s", why.text);
    return next;
}

pawl_code drive(pawl_engine *e, cached_run *r, const pawl_event *first, pawl_err *err)
{
    return drive_from(e, r, first, false, err);
}

pawl_code drive_begun(pawl_engine *e, cached_run *r, pawl_err *err)
{
    return drive_from(e, r, NULL, true, err);
}
