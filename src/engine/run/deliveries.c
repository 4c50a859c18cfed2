/* deliveries.c - folds the deliveries of a run, in the order of its mailbox (E16).
 *
 * Called by drive.c and by the scheduler on the driving thread; the mailbox is read under the engine's lock. Invariant: a delivery is removed in the
 * transaction that stores the lines that it led to. */
#include "engine/child/child.h"
#include "engine/command/outbox.h"
#include "engine/run/delivery.h"
#include "engine/run/run.h"
#include "kernel/state.h"

#include <string.h>

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

pawl_code cancel_again(pawl_engine *e, cached_run *r, const pawl_event *ev, pawl_err *err)
{
    return ev->kind == PAWL_EV_CANCEL && state_canceling(r->st) ? outbox_end_all(e, r, err) : PAWL_OK;
}

pawl_code open_commands_known(pawl_engine *e, cached_run *r, pawl_err *err)
{
    return commands_due(r) && r->st->commands > 0 ? outbox_reconcile(e, r, NULL, err) : PAWL_OK;
}

/* Feeds one delivery. The next commit removes a delivery that was taken or ignored. It stays in the mailbox when it is a signal that no wait expects
 * yet, or when the machine cannot take it now. */
static pawl_code delivery_take(pawl_engine *e, cached_run *r, const pawl_delivery *d, pawl_err *err)
{
    const pawl_event ev = event_from_delivery(d);
    pawl_err why = { PAWL_OK, "" };
    pawl_code rc = cancel_again(e, r, &ev, &why);

    if (rc == PAWL_OK)
        rc = open_commands_known(e, r, &why);
    if (d->kind == PAWL_DELIVER_RECEIPT)
        child_end_came(r, d);
    if (rc == PAWL_OK)
        rc = answer_in_time(e, r, &ev, &why);
    if (rc == PAWL_OK)
        rc = run_feed(e, r, &ev, &why);
    if (rc == PAWL_CONFLICT && r->st != NULL && d->kind == PAWL_DELIVER_ANSWER && run_fits(r))
        rc = PAWL_IGNORED;              /* the wait was answered before, so this answer is ignored (W3) */
    if (rc == PAWL_NOMEM || rc == PAWL_IO || rc == PAWL_CORRUPT || rc == PAWL_CONFLICT || r->st == NULL)
        return fail(err, rc, "%s", why.text);
    if (d->kind == PAWL_DELIVER_RECEIPT)
        outbox_note_receipt(r, d->name);
    if (rc == PAWL_IGNORED && d->kind == PAWL_DELIVER_SIGNAL && !run_has_ended(r) && !BROKEN(BROKEN_SIGNAL_EARLY))
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

/* An update of Pawl's own channels, such as "@mode", is taken before the other deliveries, because it applies to them too. */
static bool is_setting(const pawl_delivery *d)
{
    return d->kind == PAWL_DELIVER_UPDATE && d->value.size > 3 && memcmp(d->value.data, "{\"@", 3) == 0;
}

/* The settings of the host that the run is to have from now on, as an update of the host's. */
static pawl_code settings_feed(pawl_engine *e, cached_run *r, pawl_err *err)
{
    pawl_event ev = { .kind = PAWL_EV_UPDATE, .by = "pawl" };
    pawl_code rc = e->settings(e->settings_ctx, r->st, &ev.value, err);

    if (rc < 0 || ev.value == NULL)
        return rc < 0 ? rc : PAWL_OK;
    rc = open_commands_known(e, r, err);
    if (rc == PAWL_OK)
        rc = run_feed(e, r, &ev, err);
    return rc < 0 ? rc : PAWL_OK;
}

/* Asked again after the start of a run, which brings its mode and its rules. */
pawl_code admission(pawl_engine *e, cached_run *r, pawl_err *err)
{
    const bool begun = pawl_state_status(r->st) != PAWL_STATUS_SUBMITTED;
    pawl_code rc = PAWL_OK;

    if (r->admitted || r->pass == PASS_OUT)
        return PAWL_OK;
    if (e->settings != NULL && begun && pawl_state_next(r->st) != PAWL_HALTED)
        rc = settings_feed(e, r, err);
    if (rc == PAWL_OK && e->admit != NULL)
        rc = e->admit(e->admit_ctx, r->st, err);
    r->admitted = rc >= 0 && begun;
    return rc < 0 ? rc : PAWL_OK;
}

/* Before its start a run takes only a start and a cancel; other deliveries stay in the mailbox. */
static bool too_early(const cached_run *r, const pawl_delivery *d)
{
    return r->st != NULL && pawl_state_status(r->st) == PAWL_STATUS_SUBMITTED && d->kind != PAWL_DELIVER_START && d->kind != PAWL_DELIVER_CANCEL;
}

static pawl_code all_take(pawl_engine *e, cached_run *r, const delivery_list *g, pawl_err *err)
{
    const bool begun = pawl_state_status(r->st) != PAWL_STATUS_SUBMITTED;
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

    if (r->mailbox == MAILBOX_EMPTY || (r->mailbox == MAILBOX_EMPTY_AT_APPEND && pawl_state_next(r->st) == PAWL_OK)) {
        mailbox_move(r, MAILBOX_UNREAD);        /* the next step reads the mailbox again */
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
        rc = fail(err, PAWL_NOMEM, "%s: no memory for its deliveries", r->id);
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
