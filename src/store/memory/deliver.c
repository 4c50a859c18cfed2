/* deliver.c - deliveries of those who do not hold the run (E16).
 *
 * Owns the blocks of deliveries. Called through the verbs deliver and deliveries, and by create and append; one thread at a time. */
#include "store/memory/memory.h"

static size_t text_bytes(const char *text)
{
    return text == NULL ? 0 : strlen(text) + 1;
}

static void text_move(char **to, const char **text)
{
    size_t n = text_bytes(*text);

    if (n == 0)
        return;
    memcpy(*to, *text, n);
    *text = *to;
    *to += n;
}

static void bytes_move(char **to, pawl_bytes *b)
{
    if (b->size == 0) {
        *b = (pawl_bytes){0};
        return;
    }
    memcpy(*to, b->data, b->size);
    b->data = *to;
    *to += b->size;
    *(*to)++ = '\0';
}

static delivery *delivery_new(const pawl_alloc *alloc, const pawl_delivery *from)
{
    size_t bytes = from->value.size + from->update.size + 2 + text_bytes(from->name) + text_bytes(from->by) +
                   text_bytes(from->note) + text_bytes(from->trace);
    delivery *d = node_new(alloc, sizeof *d, from->id);
    char *to;

    if (d == NULL)
        return NULL;
    if ((d->block = to = mem_grow(alloc, NULL, 0, bytes)) == NULL) {
        node_free(alloc, d);
        return NULL;
    }
    d->block_bytes = bytes;
    d->d = *from;
    d->d.id = d->at.key;
    text_move(&to, &d->d.name);
    text_move(&to, &d->d.by);
    text_move(&to, &d->d.note);
    text_move(&to, &d->d.trace);
    bytes_move(&to, &d->d.value);
    bytes_move(&to, &d->d.update);
    return d;
}

static pawl_code answer_judge(memory *m, run *r, const pawl_delivery *d, waiting **out, pawl_err *err)
{
    waiting *w = (waiting *)table_find(&r->over, d->name);

    if (w != NULL)
        return store_answer_late(r->at.key, d->name, w->text, NULL, err);
    if ((w = (waiting *)table_find(&r->open, d->name)) == NULL)
        return fail(err, PAWL_INVALID, "%s: no wait %s was ever asked", r->at.key, d->name);
    if (w->given != NULL)
        return store_answer_late(r->at.key, d->name, w->given->d.value, w->given->d.by, err);
    *out = w;
    return store_answer_check(&m->alloc, r->at.key, d->name, w->text, d->value, err);
}

static void delivery_put(memory *m, run *r, delivery *made, waiting *w)
{
    made->before = r->last;
    *(r->last != NULL ? &r->last->after : &r->first) = made;
    r->last = made;
    r->ndeliveries++;
    if (w != NULL)
        w->given = made;
    table_put(&r->delivered, &made->at);
    order_set(m, r);
    m->all->version++;
}

pawl_code memory_deliver(pawl_store *s, const char *id, pawl_delivery *d, pawl_err *err)
{
    memory *m = memory_of(s);
    int64_t now = memory_now(s);
    delivery *old, *made;
    waiting *w = NULL;
    hash digest;
    pawl_code rc;
    run *r;

    if ((rc = store_delivery_check(&m->alloc, id, d, err)) != PAWL_OK || (rc = run_find(m, id, &r, err)) != PAWL_OK)
        return rc;
    store_delivery_hash(d, &digest);
    if ((old = (delivery *)table_find(&r->delivered, d->id)) != NULL && !BROKEN(BROKEN_DELIVERED_TWICE)) {
        if (!hash_equal(&digest, &old->digest))
            return fail(err, PAWL_CONFLICT, "%s: delivery %s was made before, with other bytes", id, d->id);
        d->no = old->d.no;
        d->at_ms = old->d.at_ms;
        return PAWL_OK;
    }
    if (d->kind == PAWL_DELIVER_ANSWER && (rc = answer_judge(m, r, d, &w, err)) != PAWL_OK)
        return rc;
    if (r->ndeliveries >= m->all->signals_max)
        return fail(err, PAWL_LIMIT, "%s: %lu deliveries wait for it (signals_max)", id, (unsigned long)r->ndeliveries);
    if (!table_room(&m->alloc, &r->delivered, 1) || (made = delivery_new(&m->alloc, d)) == NULL)
        return fail(err, PAWL_NOMEM, "%s: no memory for a delivery", id);
    made->digest = digest;
    made->d.no = d->no = ++m->all->delivery_no;
    made->d.at_ms = d->at_ms = now;
    delivery_put(m, r, made, w);
    return PAWL_OK;
}

/* Its id and digest stay: delivered again it is known. */
void delivery_take(memory *m, run *r, delivery *d)
{
    waiting *w = d->d.kind == PAWL_DELIVER_ANSWER ? (waiting *)table_find(&r->open, d->d.name) : NULL;
    pawl_delivery known = { .no = d->d.no, .id = d->at.key, .at_ms = d->d.at_ms };

    if (w != NULL && w->given == d)
        w->given = NULL;
    *(d->before != NULL ? &d->before->after : &r->first) = d->after;
    *(d->after != NULL ? &d->after->before : &r->last) = d->before;
    d->before = d->after = NULL;
    d->leaving = false;
    r->ndeliveries--;
    mem_free(&m->alloc, d->block, d->block_bytes);
    d->block = NULL;
    d->d = known;
}

pawl_code memory_deliveries(pawl_store *s, const char *id, pawl_delivery_fn *fn, void *ctx, pawl_err *err)
{
    run *r;
    pawl_code rc = run_find(memory_of(s), id, &r, err);

    if (rc == PAWL_OK && fn == NULL)
        return fail(err, PAWL_INVALID, "%s: its deliveries are told to nobody", id);
    for (const delivery *d = rc != PAWL_OK ? NULL : BROKEN(BROKEN_MAILBOX) ? r->last : r->first; d != NULL && fn(ctx, &d->d);)
        d = BROKEN(BROKEN_MAILBOX) ? d->before : d->after;
    return rc;
}
