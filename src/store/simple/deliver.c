/* deliver.c - the mailboxes of a store of three methods: deliveries from callers without the lease (E16), answers checked against their wait (W3).
 *
 * Called through the verbs deliver and deliveries, and by create.c. Invariant: a delivery is in the head from the put that makes it durable until the append
 * that takes it; a delivery that was taken is still found by its id. */
#include "store/simple/simple.h"

simple_wait *simple_wait_find(const simple_run *r, const char *id)
{
    for (size_t i = 0; i < r->nwaits; i++)
        if (strcmp(r->waits[i].id, id) == 0)
            return &r->waits[i];
    return NULL;
}

static pawl_code answered(simple_run *r, const simple_wait *w, pawl_err *err)
{
    pawl_bytes value;
    pawl_code rc;

    for (size_t i = 0; i < r->nmail; i++)
        if (r->mail[i].d.no == w->answer)
            return (rc = lump_get(r, &r->mail[i].value, &value, err)) != PAWL_OK ? rc
                 : store_answer_conflict(r->head.run, w->id, value, r->mail[i].d.by, err);
    return fail(err, PAWL_CORRUPT, "%s: the answer of wait %s is not in the mailbox", r->head.run, w->id);
}

static pawl_code answer_check(simple_run *r, const pawl_delivery *d, simple_wait **out, pawl_err *err)
{
    simple_wait *w = simple_wait_find(r, d->name);
    bool more = false;
    pawl_bytes bytes;
    pawl_code rc;

    if (w == NULL) {
        rc = rest_closed(r, d->name, &bytes, err);
        return rc == PAWL_OK ? store_answer_conflict(r->head.run, d->name, bytes, NULL, err)
             : rc == PAWL_GONE ? fail(err, PAWL_INVALID, "%s: there never was a wait %s", r->head.run, d->name) : rc;
    }
    if (w->answer != 0)
        return answered(r, w, err);
    if ((rc = lump_get(r, &w->spec, &bytes, err)) == PAWL_OK)
        rc = store_answer_check(&r->h->alloc, r->head.run, d, bytes, &more, err);
    *out = more ? NULL : w;
    return rc;
}

/* Whether a delivery of this id was made before: PAWL_IGNORED, or PAWL_CONFLICT with other bytes. */
static pawl_code sent_before(simple_run *r, pawl_delivery *d, const hash *digest, pawl_err *err)
{
    simple_taken old;
    pawl_code rc = PAWL_GONE;

    for (size_t i = 0; i < r->nmail && rc == PAWL_GONE; i++)
        if (strcmp(r->mail[i].d.id, d->id) == 0) {
            old = (simple_taken){ d->id, r->mail[i].digest, r->mail[i].d.no, r->mail[i].d.at_ms };
            rc = PAWL_OK;
        }
    if (rc == PAWL_GONE)
        rc = rest_taken(r, d->id, &old, err);
    if (rc != PAWL_OK)
        return rc == PAWL_GONE ? PAWL_OK : rc;
    if (!hash_equal(digest, &old.digest))
        return fail(err, PAWL_CONFLICT, "%s: delivery %s was sent before with other bytes", r->head.run, d->id);
    d->no = old.no;
    d->at_ms = old.at_ms;
    return PAWL_IGNORED;
}

pawl_code deliver_change(simple_run *r, pawl_delivery *d, pawl_err *err)
{
    simple_handle *h = r->h;
    simple_wait *w = NULL;
    simple_mail m = { .d = *d };
    pawl_code rc;

    store_delivery_hash(d, &m.digest);
    if ((rc = sent_before(r, d, &m.digest, err)) != PAWL_OK)
        return rc;
    if (d->kind == PAWL_DELIVER_ANSWER && (rc = answer_check(r, d, &w, err)) != PAWL_OK)
        return rc;
    if (r->nmail >= h->signals_max)
        return fail(err, PAWL_LIMIT, "%s: its mailbox is full, with %zu deliveries (signals_max)", r->head.run, r->nmail);
    if ((rc = lump_put(r, d->value, &m.value, err)) != PAWL_OK || (rc = lump_put(r, d->update, &m.update, err)) != PAWL_OK)
        return rc;
    if (!arena_room(&h->work, (void **)&r->mail, &r->mail_cap, r->nmail, sizeof m))
        return fail(err, PAWL_NOMEM, "%s: no memory for a delivery", r->head.run);
    m.d.no = d->no = ++r->sent;
    m.d.at_ms = d->at_ms = simple_now(&h->store);
    if (w != NULL)
        w->answer = d->no;
    r->mail[r->nmail++] = m;
    return PAWL_OK;
}

static pawl_code deliver_one(simple_run *r, void *ctx, pawl_err *err)
{
    return deliver_change(r, ctx, err);
}

pawl_code simple_deliver(pawl_store *s, const char *run, pawl_delivery *d, pawl_err *err)
{
    simple_handle *h = simple_of(s);
    pawl_code rc = store_delivery_check(&h->alloc, run, d, err);

    simple_begin(h);
    return rc == PAWL_OK ? run_change(h, run, deliver_one, d, err) : rc;
}

typedef struct mail_reading { pawl_delivery_fn *fn; void *ctx; } mail_reading;

static pawl_code mail_emit(simple_run *r, void *ctx, pawl_err *err)
{
    const mail_reading *g = ctx;
    pawl_code rc = PAWL_OK;

    for (size_t i = 0; i < r->nmail && rc == PAWL_OK; i++)      /* all of it, before the callback is called */
        if ((rc = lump_get(r, &r->mail[i].value, &r->mail[i].d.value, err)) == PAWL_OK)
            rc = lump_get(r, &r->mail[i].update, &r->mail[i].d.update, err);
    for (size_t i = 0; i < r->nmail && rc == PAWL_OK; i++)
        if (!g->fn(g->ctx, &r->mail[i].d))
            break;
    return rc;
}

pawl_code simple_deliveries(pawl_store *s, const char *run, pawl_delivery_fn *fn, void *ctx, pawl_err *err)
{
    mail_reading g = { fn, ctx };

    if (fn == NULL)
        return fail(err, PAWL_INVALID, "a list of deliveries needs a callback");
    simple_begin(simple_of(s));
    return run_query(simple_of(s), run, mail_emit, &g, err);
}
