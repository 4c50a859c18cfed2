/* deliver.c - the mailboxes of a store in memory: deliveries from callers without the lease (E16), answers checked against their wait (W3).
 *
 * Owns the blocks of deliveries. Called through the verbs deliver and deliveries, and by create and append; one thread at a time.
 * Invariant: the number of a delivery is never assigned twice; a delivery that was taken is still found by its id. */
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

static stored_delivery *delivery_new(const pawl_alloc *alloc, const pawl_delivery *from)
{
    size_t bytes = from->value.size + from->update.size + 2 + text_bytes(from->name) + text_bytes(from->by) +
                   text_bytes(from->note) + text_bytes(from->trace);
    stored_delivery *d = node_new(alloc, sizeof *d, from->id);
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

static pawl_code answer_check(memory_space *m, stored_run *r, const pawl_delivery *d, stored_wait **out, pawl_err *err)
{
    stored_wait *w = (stored_wait *)table_find(&r->over, d->name);
    bool more = false;
    pawl_code rc;

    if (w != NULL)
        return store_answer_conflict(r->at.key, d->name, w->text, NULL, err);
    if ((w = (stored_wait *)table_find(&r->open, d->name)) == NULL)
        return fail(err, PAWL_INVALID, "%s: there never was a wait %s", r->at.key, d->name);
    if (w->answer != NULL)
        return store_answer_conflict(r->at.key, d->name, w->answer->d.value, w->answer->d.by, err);
    rc = store_answer_check(&m->alloc, r->at.key, d, w->text, &more, err);
    *out = more ? NULL : w;
    return rc;
}

static void mailbox_add(memory_space *m, stored_run *r, stored_delivery *added, stored_wait *w)
{
    added->before = r->mail_last;
    *(r->mail_last != NULL ? &r->mail_last->after : &r->mail_first) = added;
    r->mail_last = added;
    r->mail_count++;
    if (w != NULL)
        w->answer = added;
    table_put(&r->delivered, &added->at);
    order_update(m, r);
    m->all->version++;
}

pawl_code memory_deliver(pawl_store *s, const char *id, pawl_delivery *d, pawl_err *err)
{
    memory_space *m = space_of(s);
    int64_t now = memory_now(s);
    stored_delivery *old, *added;
    stored_wait *w = NULL;
    hash digest;
    pawl_code rc;
    stored_run *r;

    if ((rc = store_delivery_check(&m->alloc, id, d, err)) != PAWL_OK || (rc = run_find(m, id, &r, err)) != PAWL_OK)
        return rc;
    store_delivery_hash(d, &digest);
    if ((old = (stored_delivery *)table_find(&r->delivered, d->id)) != NULL && !BROKEN(BROKEN_DELIVERED_TWICE)) {
        if (!hash_equal(&digest, &old->digest))
            return fail(err, PAWL_CONFLICT, "%s: delivery %s was sent before with other bytes", id, d->id);
        d->no = old->d.no;
        d->at_ms = old->d.at_ms;
        return PAWL_OK;
    }
    if (d->kind == PAWL_DELIVER_ANSWER && (rc = answer_check(m, r, d, &w, err)) != PAWL_OK)
        return rc;
    if (r->mail_count >= m->all->signals_max)
        return fail(err, PAWL_LIMIT, "%s: its mailbox is full, with %lu deliveries (signals_max)", id, (unsigned long)r->mail_count);
    if (!table_room(&m->alloc, &r->delivered, 1) || (added = delivery_new(&m->alloc, d)) == NULL)
        return fail(err, PAWL_NOMEM, "%s: no memory for a delivery", id);
    added->digest = digest;
    added->d.no = d->no = ++m->all->delivery_no;
    added->d.at_ms = d->at_ms = now;
    mailbox_add(m, r, added, w);
    return PAWL_OK;
}

/* The id and the digest are kept, so that the same delivery again is success. */
void delivery_remove(memory_space *m, stored_run *r, stored_delivery *d)
{
    stored_wait *w = d->d.kind == PAWL_DELIVER_ANSWER ? (stored_wait *)table_find(&r->open, d->d.name) : NULL;
    pawl_delivery rest = { .no = d->d.no, .id = d->at.key, .at_ms = d->d.at_ms };

    if (w != NULL && w->answer == d)
        w->answer = NULL;
    *(d->before != NULL ? &d->before->after : &r->mail_first) = d->after;
    *(d->after != NULL ? &d->after->before : &r->mail_last) = d->before;
    d->before = d->after = NULL;
    d->taken_now = false;
    r->mail_count--;
    mem_free(&m->alloc, d->block, d->block_bytes);
    d->block = NULL;
    d->d = rest;
}

pawl_code memory_deliveries(pawl_store *s, const char *id, pawl_delivery_fn *fn, void *ctx, pawl_err *err)
{
    stored_run *r;
    pawl_code rc = run_find(space_of(s), id, &r, err);

    if (rc == PAWL_OK && fn == NULL)
        return fail(err, PAWL_INVALID, "%s: a list of deliveries needs a callback", id);
    for (const stored_delivery *d = rc != PAWL_OK ? NULL : BROKEN(BROKEN_MAILBOX) ? r->mail_last : r->mail_first; d != NULL && fn(ctx, &d->d);)
        d = BROKEN(BROKEN_MAILBOX) ? d->before : d->after;
    return rc;
}
