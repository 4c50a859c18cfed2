/* memory.c - the store in memory: handles, namespaces, runs that are created, claimed, released and removed.
 *
 * Owns all runs; they live as long as the last handle. Called through the verbs, by one thread at a time over all handles of the store.
 * Invariants: fences and numbers of runs are never given twice; a verb that fails for want of memory has changed nothing. */
#include "store/memory/memory.h"

/* ---- time ------------------------------------------------------------------------------------------- */

static int64_t wall_ms(void *ctx)
{
    (void)ctx;
    return store_system_ms();
}

void store_memory_clock(pawl_store *s, int64_t (*now)(void *ctx), void *ctx)
{
    memory_of(s)->all->now = now != NULL ? now : wall_ms;
    memory_of(s)->all->now_ctx = ctx;
}

void store_memory_signals(pawl_store *s, uint32_t max)
{
    memory_of(s)->all->signals_max = max != 0 ? max : STORE_SIGNALS_MAX;
}

int64_t memory_now(pawl_store *s)
{
    memories *all = memory_of(s)->all;
    int64_t now = all->now(all->now_ctx);

    if (now > all->last_ms)
        all->last_ms = now;
    return all->last_ms;
}

static uint64_t memory_version(pawl_store *s) { return memory_of(s)->all->version; }

/* ---- bytes of their own -------------------------------------------------------------------------------- */

bool bytes_copy(const pawl_alloc *alloc, pawl_bytes from, pawl_bytes *out)
{
    char *data;

    *out = (pawl_bytes){0};
    if (from.size == 0)
        return true;
    if ((data = mem_grow(alloc, NULL, 0, from.size + 1)) == NULL)
        return false;
    memcpy(data, from.data, from.size);
    data[from.size] = '\0';
    *out = (pawl_bytes){ data, from.size };
    return true;
}

void bytes_free(const pawl_alloc *alloc, pawl_bytes *b)
{
    mem_free(alloc, (void *)(uintptr_t)b->data, b->size + 1);
    *b = (pawl_bytes){0};
}

void text_free(const pawl_alloc *alloc, const char *text)
{
    if (text != NULL)
        mem_free(alloc, (void *)(uintptr_t)text, strlen(text) + 1);
}

/* ---- runs -------------------------------------------------------------------------------------------------- */

pawl_code run_find(memory *m, const char *id, run **out, pawl_err *err)
{
    node *n;

    *out = NULL;                /* gcc 14 does not know that no failure is PAWL_OK */
    if (!store_run_valid(id))
        return fail(err, PAWL_INVALID, "no run has such an id");
    if ((n = table_find(&m->runs, id)) == NULL)
        return store_no_run(id, err);
    *out = run_of(n);
    return PAWL_OK;
}

pawl_code run_held(memory *m, const char *id, uint64_t fence, run **out, pawl_err *err)
{
    pawl_code rc = run_find(m, id, out, err);

    if (rc == PAWL_OK && (fence == 0 || fence != (*out)->head.fence))
        rc = store_fenced(id, fence, (*out)->head.fence, err);
    return rc;
}

void run_let_go(memory *m, run *r)
{
    text_free(&m->alloc, r->head.owner);
    r->head.owner = NULL;
    r->head.lease_ms = 0;
}

size_t run_index(const memory *m, uint64_t no)
{
    size_t low = 0, high = m->runs.count;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (m->order[mid]->head.no < no)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

size_t run_end_of(const run *r, uint64_t seq)
{
    return seq == r->base.seq ? 0 : r->ends[seq - r->base.seq - 1];
}

void run_free(memory *m, run *r)
{
    if (r == NULL)
        return;
    for (delivery *d = r->first; d != NULL; d = d->after)
        mem_free(&m->alloc, d->block, d->block_bytes);
    table_free(&m->alloc, &r->open);
    table_free(&m->alloc, &r->over);
    table_free(&m->alloc, &r->delivered);
    table_free(&m->alloc, &r->blobs);
    table_free(&m->alloc, &r->marks);
    text_free(&m->alloc, r->head.owner);
    text_free(&m->alloc, r->head.parked);
    bytes_free(&m->alloc, &r->base_text);
    bytes_free(&m->alloc, &r->snapshot);
    mem_free(&m->alloc, r->ends, r->ends_cap * sizeof *r->ends);
    buf_free(&r->text);
    arena_free(&r->fixed);
    node_free(&m->alloc, r);
}

static bool text_keep(arena *a, const char *text, const char **out)
{
    *out = text == NULL ? NULL : arena_strdup(a, text, strlen(text));
    return text == NULL || *out != NULL;
}

static bool base_keep(run *r, const store_base *b)
{
    arena *a = &r->fixed;
    bool kept = text_keep(a, b->machine, &r->base.machine) && text_keep(a, b->context, &r->base.context) &&
                text_keep(a, b->parent, &r->base.parent);

    r->base.run = r->at.key;
    for (size_t i = 0; kept && i < b->nlabels; i++)
        kept = text_keep(a, b->labels[i], &r->base.labels[i]);
    return kept;
}

static run *run_new(memory *m, const store_base *b, pawl_bytes text)
{
    run *r = node_new(&m->alloc, sizeof *r, b->run);

    if (r == NULL)
        return NULL;
    buf_init(&r->text, &m->alloc);
    arena_init(&r->fixed, &m->alloc, 0);
    r->base = *b;
    hash_of(text.data, text.size, &r->created);
    if (!base_keep(r, b) || !bytes_copy(&m->alloc, text, &r->base_text) || !order_room(m) || !table_room(&m->alloc, &m->runs, 1)) {
        run_free(m, r);
        return NULL;
    }
    r->head = (pawl_head){
        .run = r->at.key, .machine = r->base.machine, .context = r->base.context, .parent = r->base.parent,
        .life = b->life, .seq = b->seq, .created_ms = b->created_ms,
    };
    return r;
}

static void run_put(memory *m, run *r, int64_t now)
{
    r->head.no = ++m->all->no;
    r->head.changed_ms = now;
    if (r->head.created_ms == 0)
        r->head.created_ms = now;
    m->order[m->runs.count] = r;
    table_put(&m->runs, &r->at);
    order_set(m, r);
    m->all->version++;
}

static void run_take(memory *m, run *r)
{
    size_t i = run_index(m, r->head.no);

    memmove(m->order + i, m->order + i + 1, (m->runs.count - i - 1) * sizeof *m->order);
    table_take(&m->runs, &r->at);
    order_take(m, r);
    run_free(m, r);
    m->all->version++;
}

static pawl_code memory_remove(pawl_store *s, const char *id, uint64_t fence, pawl_err *err)
{
    run *r;
    pawl_code rc = run_held(memory_of(s), id, fence, &r, err);

    if (rc == PAWL_OK)
        run_take(memory_of(s), r);
    return rc;
}

/* ---- who holds a run --------------------------------------------------------------------------------------- */

static pawl_code claim_one(memory *m, const char *owner, int64_t now, int64_t ttl_ms, pawl_claim *c, pawl_err *err)
{
    pawl_bytes text = {0};
    pawl_code rc;
    run *r;

    if ((rc = run_find(m, c->run, &r, err)) != PAWL_OK)
        return rc;
    if (r->head.owner != NULL && store_held(&r->head, now + (BROKEN(BROKEN_LEASE_EARLY) ? ttl_ms / 2 : 0)) && strcmp(r->head.owner, owner) != 0) {
        c->head = r->head;
        return fail(err, PAWL_HELD, "%s: %s holds it for another %lld ms", c->run, r->head.owner, (long long)(r->head.lease_ms - now));
    }
    if (!bytes_copy(&m->alloc, (pawl_bytes){ owner, strlen(owner) }, &text))
        return fail(err, PAWL_NOMEM, "%s: no memory for a claim", c->run);
    text_free(&m->alloc, r->head.owner);
    r->head.owner = text.data;
    r->head.lease_ms = store_until(now, ttl_ms);
    r->head.fence_before = r->head.fence;
    r->head.fence = ++m->all->fence;
    order_set(m, r);
    m->all->version++;
    c->head = r->head;
    return PAWL_OK;
}

static pawl_code memory_claim(pawl_store *s, const char *owner, int64_t ttl_ms, pawl_claim *all, size_t n, pawl_err *err)
{
    int64_t now = memory_now(s);
    pawl_code rc = store_claim_check(owner, ttl_ms, all, n, err);

    for (size_t i = 0; i < n && rc == PAWL_OK; i++)
        all[i].rc = claim_one(memory_of(s), owner, now, ttl_ms, &all[i], err);
    return rc;
}

static pawl_code renew_one(memory *m, pawl_hold *h, int64_t until_ms, pawl_err *err)
{
    run *r;
    pawl_code rc = run_held(m, h->run, h->fence, &r, err);

    if (rc != PAWL_OK)
        return rc;
    if (r->head.owner == NULL)
        return fail(err, PAWL_FENCED, "%s: it was let go of: claim it again", h->run);
    r->head.lease_ms = until_ms;
    order_set(m, r);
    m->all->version++;
    return PAWL_OK;
}

static pawl_code memory_renew(pawl_store *s, int64_t ttl_ms, pawl_hold *all, size_t n, pawl_err *err)
{
    int64_t until = store_until(memory_now(s), ttl_ms);
    pawl_code rc = store_holds_check(all, n, err);

    if (rc == PAWL_OK && ttl_ms <= 0)
        rc = fail(err, PAWL_INVALID, "a lease lasts longer than %lld ms", (long long)ttl_ms);
    for (size_t i = 0; i < n && rc == PAWL_OK; i++)
        all[i].rc = renew_one(memory_of(s), &all[i], until, err);
    return rc;
}

static pawl_code release_one(memory *m, pawl_hold *h, pawl_err *err)
{
    run *r;
    pawl_code rc = run_held(m, h->run, h->fence, &r, err);

    if (rc == PAWL_OK && r->head.owner != NULL) {
        run_let_go(m, r);
        order_set(m, r);
        m->all->version++;
    }
    return rc;
}

static pawl_code memory_release(pawl_store *s, pawl_hold *all, size_t n, pawl_err *err)
{
    pawl_code rc = store_holds_check(all, n, err);

    for (size_t i = 0; i < n && rc == PAWL_OK; i++)
        all[i].rc = release_one(memory_of(s), &all[i], err);
    return rc;
}

/* ---- created, and all that it begins with -------------------------------------------------------------------- */

static pawl_code begin_in(pawl_store *s, const run *r, pawl_beginning *with, pawl_err *err)
{
    pawl_claim claim = { .run = r->at.key };
    pawl_code rc = PAWL_OK;

    if (with->owner != NULL) {
        rc = claim_one(memory_of(s), with->owner, memory_now(s), with->ttl_ms, &claim, err);
        with->head = claim.head;
        with->head.owner = with->owner;     /* the run's own text goes when its first lines end it */
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
    memory *m = memory_of(s);
    run *r = NULL;
    bool there;
    store_base b;
    arena mem;
    hash created;
    pawl_code rc;

    arena_init(&mem, &m->alloc, base.size);
    if ((rc = store_base_read(&mem, base, &b, err)) != PAWL_OK || (rc = store_beginning_check(&m->alloc, b.run, with, err)) != PAWL_OK)
        goto out;
    hash_of(base.data, base.size, &created);
    there = run_find(m, b.run, &r, NULL) == PAWL_OK;
    if (there && !hash_equal(&created, &r->created))
        rc = fail(err, PAWL_CONFLICT, "%s: there is such a run, and it began otherwise", b.run);
    else if (!there && (r = run_new(m, &b, base)) == NULL)
        rc = fail(err, PAWL_NOMEM, "%s: no memory for a run", b.run);
    else if (!there)
        run_put(m, r, memory_now(s));
    if (rc == PAWL_OK && with != NULL && (rc = begin_in(s, r, with, err)) != PAWL_OK && !there)
        run_take(m, r);
out:
    arena_free(&mem);
    return rc;
}

/* ---- the store ------------------------------------------------------------------------------------------------- */

static pawl_code memory_backup(pawl_store *s, const char *path, pawl_err *err)
{
    (void)s;
    (void)path;
    return fail(err, PAWL_INVALID, "a store in memory has no backup");
}

static pawl_code memory_vacuum(pawl_store *s, pawl_err *err)
{
    memory *m = memory_of(s);

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

static void space_clear(memory *m)
{
    for (size_t i = 0; i < m->runs.count; i++)
        run_free(m, m->order[i]);
    for (int by = 0; by < ORDERS; by++)
        mem_free(&m->alloc, m->heaps[by].items, m->heaps[by].cap * sizeof(run *));
    mem_free(&m->alloc, m->order, m->order_cap * sizeof(run *));
    mem_free(&m->alloc, m->runs.slots, m->runs.nslots * sizeof *m->runs.slots);
}

static void memories_free(memories *all)
{
    pawl_alloc alloc = all->alloc;

    for (node *n = all->spaces.first; n != NULL; n = n->next)
        space_clear((memory *)(void *)n);
    table_free(&alloc, &all->spaces);
    mem_free(&alloc, all, sizeof *all);
}

/* With the last handle all of it is gone. */
static void memory_close(pawl_store *s)
{
    memories *all = memory_of(s)->all;

    mem_free(&all->alloc, s, sizeof(memory_handle));
    if (--all->handles == 0)
        memories_free(all);
}

static const pawl_store_verbs verbs = {
    .name = "memory", .close = memory_close, .now = memory_now, .version = memory_version,
    .create = memory_create, .claim = memory_claim, .renew = memory_renew, .release = memory_release,
    .append = memory_append, .mark = memory_mark, .marks = memory_marks,
    .deliver = memory_deliver, .deliveries = memory_deliveries,
    .load = memory_load, .snapshot = memory_snapshot, .read = memory_read, .blob = memory_blob, .head = memory_head, .list = memory_list,
    .waits = memory_waits, .due = memory_due, .next_due = memory_next_due,
    .prune = memory_prune, .remove = memory_remove, .check = memory_check,
    .backup = memory_backup, .vacuum = memory_vacuum,
};

pawl_store *pawl_store_memory(pawl_err *err)
{
    return store_memory_in(NULL, err);
}

static memory *space_of(memories *all, const char *name)
{
    memory *m = (memory *)(void *)table_find(&all->spaces, name);

    if (m != NULL || !table_room(&all->alloc, &all->spaces, 1) || (m = node_new(&all->alloc, sizeof *m, name)) == NULL)
        return m;
    m->all = all;
    m->alloc = all->alloc;
    table_put(&all->spaces, &m->at);
    return m;
}

static pawl_store *handle_on(memories *all, const char *name, pawl_err *err)
{
    memory *m = space_of(all, name);
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
        return handle_on(memory_of(s)->all, space != NULL ? space : "", err);
    fail(err, PAWL_INVALID, "another handle is asked of %s", s == NULL ? "no store" : "a store that is not in memory");
    return NULL;
}

pawl_store *store_memory_in(const pawl_alloc *given, pawl_err *err)
{
    pawl_alloc alloc = mem_or_default(given);
    memories *all = mem_new(&alloc, sizeof *all);
    pawl_store *s;

    if (all == NULL) {
        fail(err, PAWL_NOMEM, "no memory for a store");
        return NULL;
    }
    *all = (memories){ .alloc = alloc, .now = wall_ms, .version = 1, .signals_max = STORE_SIGNALS_MAX };
    if ((s = handle_on(all, "", err)) == NULL)
        memories_free(all);
    return s;
}
