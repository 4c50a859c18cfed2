/* open.c - handles and namespaces of a store in memory, the table of its verbs, and the verbs that create and remove runs.
 *
 * Owns memory_store and its namespaces, which are freed with the last handle. One thread at a time over all handles of the store.
 * Invariant: a create that fails has added no run. */
#include "store/memory/memory.h"

/* ---- creating and removing runs -------------------------------------------------------------------- */

static pawl_code beginning_store(pawl_store *s, const stored_run *r, pawl_beginning *with, pawl_err *err)
{
    pawl_claim claim = { .run = r->at.key };
    pawl_code rc = PAWL_OK;

    if (with->owner != NULL) {
        if (with->fence != 0 && with->fence != r->head.fence)
            return store_fenced(r->at.key, with->fence, r->head.fence, err);
        rc = run_claim(space_of(s), with->owner, memory_now(s), with->ttl_ms, &claim, err);
        with->head = claim.head;
        with->head.owner = with->owner;     /* the caller's text, since that of the run is freed when its first lines end it */
    }
    if (rc == PAWL_OK && with->first != NULL) {
        with->first->run = r->at.key;
        with->first->fence = claim.head.fence;
        if ((rc = memory_append(s, with->first, 1, err)) == PAWL_OK && (rc = with->first->rc) != PAWL_OK)
            fail(err, rc, "%s: its first lines cannot be stored: %s", r->at.key, pawl_code_name(rc));
    }
    return rc == PAWL_OK && with->left != NULL ? memory_deliver(s, r->at.key, with->left, err) : rc;
}

static pawl_code memory_create(pawl_store *s, pawl_bytes base, pawl_beginning *with, pawl_err *err)
{
    memory_space *m = space_of(s);
    stored_run *r = NULL;
    bool exists;
    store_base b;
    arena mem;
    hash created;
    pawl_code rc;

    arena_init(&mem, &m->alloc, base.size);
    if ((rc = store_base_read(&mem, base, &b, err)) != PAWL_OK || (rc = store_beginning_check(&m->alloc, b.run, with, err)) != PAWL_OK)
        goto out;
    hash_of(base.data, base.size, &created);
    exists = run_find(m, b.run, &r, NULL) == PAWL_OK;
    if (exists && !hash_equal(&created, &r->created))
        rc = fail(err, PAWL_CONFLICT, "%s: a run of this id exists, with another base", b.run);
    else if (!exists && (r = run_new(m, &b, base)) == NULL)
        rc = fail(err, PAWL_NOMEM, "%s: no memory for a run", b.run);
    else if (!exists)
        run_add(m, r, memory_now(s));
    if (rc == PAWL_OK && with != NULL && (rc = beginning_store(s, r, with, err)) != PAWL_OK && !exists)
        run_unlink(m, r);
out:
    arena_free(&mem);
    return rc;
}

static pawl_code memory_remove(pawl_store *s, const char *id, uint64_t fence, pawl_err *err)
{
    stored_run *r;
    pawl_code rc = run_find_held(space_of(s), id, fence, &r, err);

    if (rc == PAWL_OK)
        run_unlink(space_of(s), r);
    return rc;
}

/* ---- handles ------------------------------------------------------------------------------------------------- */

static pawl_code memory_backup(pawl_store *s, const char *path, pawl_err *err)
{
    (void)s;
    (void)path;
    return fail(err, PAWL_INVALID, "a store in memory has no backup");
}

static pawl_code memory_vacuum(pawl_store *s, pawl_err *err)
{
    memory_space *m = space_of(s);

    (void)err;
    for (size_t i = 0; i < m->runs.count; i++) {
        buf *text = &m->order[i]->text;
        char *data = text->size == 0 ? NULL : mem_grow(&text->alloc, text->data, text->cap, text->size);

        if (text->size == 0)
            buf_free(text);
        else if (data != NULL)
            *text = (buf){ .alloc = text->alloc, .data = data, .size = text->size, .cap = text->size };
    }
    return PAWL_OK;
}

static void space_clear(memory_space *m)
{
    for (size_t i = 0; i < m->runs.count; i++)
        run_free(m, m->order[i]);
    for (int by = 0; by < ORDERS; by++)
        mem_free(&m->alloc, m->heaps[by].items, m->heaps[by].cap * sizeof(stored_run *));
    mem_free(&m->alloc, m->order, m->order_cap * sizeof(stored_run *));
    id_index_free(&m->runs.by_key, &m->alloc);
}

static void memory_store_free(memory_store *all)
{
    pawl_alloc alloc = all->alloc;

    for (node *n = all->spaces.first; n != NULL; n = n->next)
        space_clear((memory_space *)(void *)n);
    table_free(&alloc, &all->spaces);
    mem_free(&alloc, all, sizeof *all);
}

static void memory_close(pawl_store *s)
{
    memory_store *all = space_of(s)->all;

    mem_free(&all->alloc, s, sizeof(memory_handle));
    if (--all->handles == 0)
        memory_store_free(all);
}

static uint64_t memory_version(pawl_store *s) { return space_of(s)->all->version; }

static const pawl_store_verbs verbs = {
    .name = "memory", .close = memory_close, .now = memory_now, .version = memory_version,
    .create = memory_create, .claim = memory_claim, .renew = memory_renew, .release = memory_release,
    .append = memory_append, .mark = memory_mark, .marks = memory_marks,
    .deliver = memory_deliver, .deliveries = memory_deliveries,
    .load = memory_load, .snapshot = memory_snapshot, .read = memory_read, .blob = memory_blob, .head = memory_head, .list = memory_list,
    .waits = memory_waits, .due = memory_due, .next_due = memory_next_due,
    .prune = memory_prune, .remove = memory_remove, .check = memory_check,
    .backup = memory_backup, .vacuum = memory_vacuum, .look = memory_look,
    .losses = memory_losses,
};

pawl_store *pawl_store_memory(pawl_err *err)
{
    return store_memory_in(NULL, err);
}

static memory_space *space_open(memory_store *all, const char *name)
{
    memory_space *m = (memory_space *)(void *)table_find(&all->spaces, name);

    if (m != NULL || !table_room(&all->alloc, &all->spaces, 1) || (m = node_new(&all->alloc, sizeof *m, name)) == NULL)
        return m;
    m->all = all;
    m->alloc = all->alloc;
    table_put(&all->spaces, &m->at);
    return m;
}

static pawl_store *handle_open(memory_store *all, const char *name, pawl_err *err)
{
    memory_space *m = space_open(all, name);
    memory_handle *h = m == NULL ? NULL : mem_new(&all->alloc, sizeof *h);

    if (h == NULL) {
        fail(err, PAWL_NOMEM, "no memory for a store");
        return NULL;
    }
    *h = (memory_handle){ { &verbs }, m };
    all->handles++;
    return &h->store;
}

pawl_store *pawl_store_memory_again(pawl_store *s, const char *space, pawl_err *err)
{
    if (s != NULL && s->verbs == &verbs)
        return handle_open(space_of(s)->all, space != NULL ? space : "", err);
    fail(err, PAWL_INVALID, "another handle needs a store in memory, not %s", s == NULL ? "none" : "another store");
    return NULL;
}

pawl_store *store_memory_in(const pawl_alloc *given, pawl_err *err)
{
    pawl_alloc alloc = mem_or_default(given);
    memory_store *all = mem_new(&alloc, sizeof *all);
    pawl_store *s;

    if (all == NULL) {
        fail(err, PAWL_NOMEM, "no memory for a store");
        return NULL;
    }
    *all = (memory_store){ .alloc = alloc, .now = memory_wall_ms, .version = 1, .signals_max = STORE_SIGNALS_MAX };
    if ((s = handle_open(all, "", err)) == NULL)
        memory_store_free(all);
    return s;
}
