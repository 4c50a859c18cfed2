/* run.c - runs of a store in memory: found, added and removed; the store's clock; bytes that are copied into the store.
 *
 * Owns all runs of a namespace, which are freed with the last handle of the store. Called by the other files of the folder, by one thread at a time
 * over all handles of the store.
 * Invariants: the number of a run is never assigned twice; run_new allocates all that run_add needs, so that adding cannot fail. */
#include "store/memory/memory.h"

/* ---- time ------------------------------------------------------------------------------------------- */

int64_t memory_wall_ms(void *ctx)
{
    (void)ctx;
    return store_system_ms();
}

void store_memory_clock(pawl_store *s, int64_t (*now)(void *ctx), void *ctx)
{
    space_of(s)->all->now = now != NULL ? now : memory_wall_ms;
    space_of(s)->all->now_ctx = ctx;
}

void store_memory_signals(pawl_store *s, uint32_t max)
{
    space_of(s)->all->signals_max = max != 0 ? max : STORE_SIGNALS_MAX;
}

int64_t memory_now(pawl_store *s)
{
    memory_store *all = space_of(s)->all;
    int64_t now = all->now(all->now_ctx);

    if (now > all->last_ms)
        all->last_ms = now;
    return all->last_ms;
}

/* ---- copies -------------------------------------------------------------------------------- */

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

pawl_code run_find(memory_space *m, const char *id, stored_run **out, pawl_err *err)
{
    node *n;

    *out = NULL;                /* gcc 14 does not see that fail() never returns PAWL_OK, and warns */
    if (!store_run_valid(id))
        return fail(err, PAWL_INVALID, "no run has such an id");
    if ((n = table_find(&m->runs, id)) == NULL)
        return store_run_missing(id, err);
    *out = run_of(n);
    return PAWL_OK;
}

pawl_code run_find_held(memory_space *m, const char *id, uint64_t fence, stored_run **out, pawl_err *err)
{
    pawl_code rc = run_find(m, id, out, err);

    if (rc == PAWL_OK && (fence == 0 || fence != (*out)->head.fence))
        rc = store_fenced(id, fence, (*out)->head.fence, err);
    return rc;
}

size_t run_index(const memory_space *m, uint64_t no)
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

size_t run_end_of(const stored_run *r, uint64_t seq)
{
    return seq == r->base.seq ? 0 : r->entry_ends[seq - r->base.seq - 1];
}

void losses_free(memory_space *m, stored_loss *first)
{
    for (stored_loss *older; first != NULL; first = older) {
        older = first->older;
        text_free(&m->alloc, first->l.owner);
        text_free(&m->alloc, first->l.taker);
        mem_free(&m->alloc, first, sizeof *first);
    }
}

void run_free(memory_space *m, stored_run *r)
{
    if (r == NULL)
        return;
    for (stored_delivery *d = r->mail_first; d != NULL; d = d->after)
        mem_free(&m->alloc, d->block, d->block_bytes);
    table_free(&m->alloc, &r->open);
    table_free(&m->alloc, &r->over);
    table_free(&m->alloc, &r->delivered);
    table_free(&m->alloc, &r->blobs);
    table_free(&m->alloc, &r->marks);
    losses_free(m, r->losses);
    text_free(&m->alloc, r->head.owner);
    text_free(&m->alloc, r->head.parked);
    bytes_free(&m->alloc, &r->base_text);
    bytes_free(&m->alloc, &r->snapshot);
    mem_free(&m->alloc, r->entry_ends, r->entry_ends_cap * sizeof *r->entry_ends);
    buf_free(&r->text);
    arena_free(&r->base_texts);
    node_free(&m->alloc, r);
}

static bool base_text_copy(arena *a, const char *text, const char **out)
{
    *out = arena_text(a, text);
    return text == NULL || *out != NULL;
}

static bool base_copy(stored_run *r, const store_base *b)
{
    arena *a = &r->base_texts;
    bool ok = base_text_copy(a, b->machine, &r->base.machine) && base_text_copy(a, b->context, &r->base.context) &&
                base_text_copy(a, b->parent, &r->base.parent);

    r->base.run = r->at.key;
    for (size_t i = 0; ok && i < b->nlabels; i++)
        ok = base_text_copy(a, b->labels[i], &r->base.labels[i]);
    return ok;
}

stored_run *run_new(memory_space *m, const store_base *b, pawl_bytes text)
{
    stored_run *r = node_new(&m->alloc, sizeof *r, b->run);

    if (r == NULL)
        return NULL;
    buf_init(&r->text, &m->alloc);
    arena_init(&r->base_texts, &m->alloc, 0);
    r->base = *b;
    hash_of(text.data, text.size, &r->created);
    if (!base_copy(r, b) || !bytes_copy(&m->alloc, text, &r->base_text) || !order_room(m) || !table_room(&m->alloc, &m->runs, 1)) {
        run_free(m, r);
        return NULL;
    }
    r->head = (pawl_head){
        .run = r->at.key, .machine = r->base.machine, .context = r->base.context, .parent = r->base.parent,
        .life = b->life, .seq = b->seq, .created_ms = b->created_ms,
    };
    return r;
}

void run_add(memory_space *m, stored_run *r, int64_t now)
{
    r->head.no = ++m->all->no;
    r->head.changed_ms = now;
    if (r->head.created_ms == 0)
        r->head.created_ms = now;
    m->order[m->runs.count] = r;
    table_put(&m->runs, &r->at);
    order_update(m, r);
    m->all->version++;
}

void run_unlink(memory_space *m, stored_run *r)
{
    size_t i = run_index(m, r->head.no);

    memmove(m->order + i, m->order + i + 1, (m->runs.count - i - 1) * sizeof *m->order);
    table_remove(&m->runs, &r->at);
    order_remove(m, r);
    run_free(m, r);
    m->all->version++;
}
