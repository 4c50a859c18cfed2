/* create.c - how a run of a store of three methods begins: its base, its lease, its first lines and what waits for it, in one put of its head.
 *
 * Called through the verb create. Invariant: nobody sees a run before that put. Large bytes need a head before them, so such a run has one that is not begun;
 * a later creator of a run with this id continues from there, or finds that another was faster. */
#include "store/simple/simple.h"

static pawl_code begin_with(simple_run *r, pawl_beginning *with, pawl_err *err)
{
    pawl_code rc = PAWL_IGNORED, one = PAWL_IGNORED;

    if (with->owner != NULL) {
        if (with->fence != 0 && with->fence != r->head.fence)
            return store_fenced(r->head.run, with->fence, r->head.fence, err);
        rc = claim_change(r, with->owner, simple_now(&r->h->store), with->ttl_ms, err);
        head_compute(r);
        if (rc == PAWL_OK || rc == PAWL_HELD)
            head_lend(r->h, r, &with->head);
        if (rc == PAWL_OK && r->h->lent.failed)
            rc = fail(err, PAWL_NOMEM, "%s: no memory for a claim", r->head.run);
        if (rc != PAWL_OK)
            return rc;
    }
    if (with->first != NULL) {
        pawl_err why = { PAWL_OK, "" };

        with->first->run = with->head.run;
        with->first->fence = r->head.fence;
        one = append_change(r, with->first, &why);
        if (one == PAWL_GONE && why.code == PAWL_OK)
            return one;
        with->first->rc = one == PAWL_IGNORED ? PAWL_OK : one;
        if (with->first->rc != PAWL_OK)
            return fail(err, one, "%s: its first lines cannot be stored: %s", r->head.run, why.code != PAWL_OK ? why.text : pawl_code_name(one));
        rc = rc == PAWL_OK ? rc : one;
    }
    if (with->left != NULL && (one = deliver_change(r, with->left, err)) != PAWL_IGNORED)
        rc = one;
    return rc;
}

typedef struct creation { pawl_bytes text; const store_base *base; hash created; pawl_beginning *with; } creation;

static pawl_code exists_change(simple_run *r, void *ctx, pawl_err *err)
{
    const creation *g = ctx;

    if (!hash_equal(&g->created, &r->created))
        return fail(err, PAWL_CONFLICT, "%s: a run of this id exists, with another base", r->head.run);
    return g->with == NULL ? PAWL_IGNORED : begin_with(r, g->with, err);
}

/* `r` is empty, or a head that is not begun: its number stays. */
static pawl_code fresh_begin(simple_run *r, const creation *g, pawl_err *err)
{
    const store_base *b = g->base;
    simple_handle *h = r->h;
    uint64_t no = r->head.no, version = r->version;
    pawl_code rc = version != 0 ? PAWL_OK : counter_draw(h, &no, err);

    if (rc != PAWL_OK)
        return rc;
    *r = (simple_run){ .h = h, .version = version, .fresh = true, .begun = true, .created = g->created, .base_seq = b->seq, .tail_after = b->seq,
                       .nlabels = b->nlabels };
    r->head = (pawl_head){ .run = b->run, .machine = b->machine, .context = b->context, .parent = b->parent, .no = no, .life = b->life, .seq = b->seq,
                           .created_ms = b->created_ms, .changed_ms = simple_now(&h->store) };
    if (r->head.created_ms == 0)
        r->head.created_ms = r->head.changed_ms;
    memcpy(r->labels, b->labels, sizeof r->labels);
    if ((rc = lump_put(r, g->text, &r->base, err)) == PAWL_OK && g->with != NULL && (rc = begin_with(r, g->with, err)) == PAWL_IGNORED)
        rc = PAWL_OK;
    return rc == PAWL_OK ? run_commit(r, err) : rc;
}

/* A head that was left behind by this create; another create that goes on from it finds that it is gone, and begins again. */
static void fresh_end(simple_run *r)
{
    char key[PAWL_KEY_BYTES_MAX + 1];

    parts_clear(r, false);
    head_key(r->h, r->head.run, key);
    if (r->version != 0)
        (void)record_remove(r->h, key, r->version, NULL);
}

/* *again: another writer was quicker. */
static pawl_code create_once(simple_handle *h, creation *g, bool *again, pawl_err *err)
{
    simple_run r;
    pawl_err why = { PAWL_OK, "" };
    pawl_code rc = run_open(h, g->base->run, true, &r, &why);

    if (rc == PAWL_OK) {
        rc = run_change(h, g->base->run, exists_change, g, err);
        *again = rc == PAWL_GONE;
        return rc;
    }
    if (rc != PAWL_GONE)
        return fail(err, rc, "%s", why.text);
    run_forget(h, g->base->run);
    rc = fresh_begin(&r, g, err);
    *again = rc != PAWL_OK && r.overtaken;
    if (rc != PAWL_OK && run_is_refused(rc) && !*again)
        fresh_end(&r);
    return rc;
}

pawl_code simple_create(pawl_store *s, pawl_bytes base, pawl_beginning *with, pawl_err *err)
{
    simple_handle *h = simple_of(s);
    creation g = { .text = base, .with = with };
    pawl_err why = { PAWL_OK, "" };
    bool again = true;
    store_base b;
    arena mem;
    pawl_code rc;

    arena_init(&mem, &h->alloc, base.size);
    g.base = &b;
    if ((rc = store_base_read(&mem, base, &b, err)) != PAWL_OK || (rc = store_beginning_check(&h->alloc, b.run, with, err)) != PAWL_OK)
        goto out;
    hash_of(base.data, base.size, &g.created);
    for (int i = 0; i < SIMPLE_TRIES_MAX && again; i++) {
        why = (pawl_err){ PAWL_OK, "" };
        simple_begin(h);
        again = false;
        rc = create_once(h, &g, &again, &why);
    }
    if (rc != PAWL_OK)
        fail(err, again ? PAWL_TRANSIENT : rc, "%s", why.text);
out:
    arena_free(&mem);
    return again && rc != PAWL_OK && why.code != PAWL_OK ? PAWL_TRANSIENT : rc;
}
