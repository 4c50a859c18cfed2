/* lives.c - runs that are claimed, loaded and let go of; and the keeper, who renews what is held. */
#include "engine/engine.h"
#include "engine/owner.h"

#include <string.h>

/* ---- found ------------------------------------------------------------------------------------- */

static size_t slot_of(const char *run)
{
    uint32_t h = name_hash(run);

    return (h ^ h >> 16) % LIVE_SLOTS;
}

live *live_find(const pawl_engine *e, const char *run)
{
    for (live *r = e->lives[slot_of(run)]; r != NULL; r = r->next)
        if (strcmp(r->id, run) == 0)
            return r;
    return NULL;
}

live *live_of(pawl_engine *e, const char *run, pawl_err *err)
{
    live *r = live_find(e, run);
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
    buf_init(&r->lines, &e->alloc);
    buf_init(&r->snapshot, &e->alloc);
    buf_init(&r->cache, &e->alloc);
    pthread_mutex_lock(&e->lock);       /* the keeper reads along */
    r->next = e->lives[slot_of(run)];
    e->lives[slot_of(run)] = r;
    pthread_mutex_unlock(&e->lock);
    return r;
}

/* What is not stored never was: the state is loaded again when somebody asks (G9). Receipts of what was performed stay. */
void live_drop(pawl_engine *e, live *r)
{
    pawl_state_free(r->st);
    r->st = NULL;
    buf_reset(&r->lines);
    buf_reset(&r->snapshot);
    buf_reset(&r->cache);
    r->nlines = r->ntaken = 0;
    told_forget(e, r);
    for (size_t i = 0; i < r->nasked; i++)
        mem_free(&e->alloc, r->asked[i], strlen(r->asked[i]) + 1);
    r->nasked = 0;
    errands_stale(r);
}

void live_free(pawl_engine *e, live *r)
{
    live_drop(e, r);
    errands_free(e, r);
    buf_free(&r->lines);
    buf_free(&r->snapshot);
    buf_free(&r->cache);
    mem_free(&e->alloc, r->asked, r->asked_cap * sizeof *r->asked);
    mem_free(&e->alloc, r->taken, r->taken_cap * sizeof *r->taken);
    mem_free(&e->alloc, r->waits, r->waits_cap * sizeof *r->waits);
    mem_free(&e->alloc, r, sizeof *r + strlen(r->id) + 1);
}

void live_park(pawl_engine *e, live *r)
{
    live **at = &e->parked[e->parked_next % PARKED_MAX], *old = *at;

    if (r->parked)
        return;
    *at = r;
    r->parked = true;
    e->parked_next++;
    if (old != NULL)
        old->parked = false;
    if (old == NULL || old->fence != 0 || old->in_pass || old->shown || old->errands != NULL)
        return;
    pthread_mutex_lock(&e->lock);       /* the keeper goes through them */
    for (live **link = &e->lives[slot_of(old->id)]; *link != NULL; link = &(*link)->next)
        if (*link == old) {
            *link = old->next;
            break;
        }
    pthread_mutex_unlock(&e->lock);
    live_free(e, old);
}

/* ---- loaded --------------------------------------------------------------------------------------- */

typedef struct loading { buf base, snapshot, lines; } loading;  /* gathered first: folding may ask the store for more */

static bool load_line(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    loading *l = ctx;
    buf *b = kind == PAWL_LINE_BASE ? &l->base : kind == PAWL_LINE_SNAPSHOT ? &l->snapshot : &l->lines;

    (void)seq;
    buf_put(b, line.data, line.size);
    if (b == &l->lines)
        buf_char(b, '\n');
    return !b->failed;
}

/* ---- a loader for what a snapshot left in the journal ------------------------------------------------ */

static bool cache_line(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    live *r = ctx;

    if (kind != PAWL_LINE_ENTRY && kind != PAWL_LINE_RECORD)
        return true;
    if (kind == PAWL_LINE_ENTRY)
        r->cache_to = seq;
    buf_put(&r->cache, line.data, line.size);
    buf_char(&r->cache, '\n');
    return !r->cache.failed;
}

/* The lines of entry `seq` in the cache: its records, then itself. */
static bool cache_find(const live *r, uint64_t seq, pawl_bytes *entry, pawl_bytes *records)
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
    live *r = ctx;
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

pawl_code live_entry(live *r, uint64_t seq, pawl_bytes *entry, pawl_bytes *records)
{
    return loader_entry(r, seq, entry, records, NULL);
}

static bool blob_line(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    live *r = ctx;

    (void)kind, (void)seq;
    buf_put(&r->cache, line.data, line.size);
    return false;
}

static pawl_code loader_blob(void *ctx, const char *digest, pawl_bytes *bytes, pawl_err *err)
{
    live *r = ctx;
    pawl_code rc;

    buf_reset(&r->cache);
    r->cache_from = r->cache_to = 0;
    pthread_mutex_lock(&r->e->lock);
    rc = r->e->store->verbs->blob(r->e->store, r->id, digest, blob_line, r, err);
    pthread_mutex_unlock(&r->e->lock);
    *bytes = (pawl_bytes){ r->cache.data, r->cache.size };
    return rc == PAWL_OK && r->cache.failed ? fail(err, PAWL_NOMEM, "%s: no memory for a blob", r->id) : rc;
}

/* ---- the state ---------------------------------------------------------------------------------------- */

static pawl_code lines_apply(pawl_engine *e, live *r, const buf *lines, pawl_err *err)
{
    const char *at = lines->data, *end = lines->size > 0 ? at + lines->size : at;
    pawl_code rc = PAWL_OK;

    while (rc == PAWL_OK && at < end) {
        const char *nl = memchr(at, '\n', (size_t)(end - at));
        pawl_entry *entry;

        rc = pawl_entry_read((pawl_bytes){ at, (size_t)(nl - at) }, e->look, &entry, err);
        if (rc == PAWL_OK)
            rc = pawl_apply(r->st, entry, err);
        at = nl + 1;
    }
    return rc;
}

static pawl_code state_load(pawl_engine *e, live *r, loading *l, pawl_err *err)
{
    const pawl_loader loader = { .entry = loader_entry, .blob = loader_blob, .ctx = r };
    pawl_code rc = pawl_state_load((pawl_bytes){ l->base.data, l->base.size }, (pawl_bytes){ l->snapshot.data, l->snapshot.size },
                                   &loader, NULL, &r->st, err);

    if (rc == PAWL_OK)
        rc = lines_apply(e, r, &l->lines, err);
    if (rc != PAWL_OK) {
        pawl_state_free(r->st);
        r->st = NULL;
        return rc;
    }
    r->seq = pawl_state_seq(r->st);
    r->tail_bytes = l->lines.size;
    return PAWL_OK;
}

pawl_code live_load(pawl_engine *e, live *r, pawl_err *err)
{
    loading l;
    pawl_code rc;

    if (r->st != NULL)
        return PAWL_OK;
    buf_init(&l.base, &e->alloc);
    buf_init(&l.snapshot, &e->alloc);
    buf_init(&l.lines, &e->alloc);
    pthread_mutex_lock(&e->lock);
    rc = e->store->verbs->load(e->store, r->id, load_line, &l, err);
    pthread_mutex_unlock(&e->lock);
    if (rc == PAWL_OK && (l.base.failed || l.snapshot.failed || l.lines.failed))
        rc = fail(err, PAWL_NOMEM, "%s: no memory to load it", r->id);
    if (rc == PAWL_OK)
        rc = state_load(e, r, &l, err);
    if (rc == PAWL_OK)
        rc = told_begin(e, r) == PAWL_OK ? PAWL_OK : fail(err, PAWL_NOMEM, "%s: no memory to load it", r->id);
    if (rc != PAWL_OK)
        live_drop(e, r);
    buf_free(&l.base);
    buf_free(&l.snapshot);
    buf_free(&l.lines);
    return rc;
}

/* ---- claimed --------------------------------------------------------------------------------------------- */

static pawl_code claim(pawl_engine *e, live *r, pawl_err *err)
{
    const pawl_store_verbs *v = e->store->verbs;
    pawl_err why = { PAWL_OK, "" };
    pawl_head head;
    pawl_code rc = v->claim(e->store, r->id, e->owner, e->ttl_ms, &head, &why);

    if (rc == PAWL_HELD && owner_dead(head.owner)) {
        uint64_t dead = head.fence;

        why = (pawl_err){ PAWL_OK, "" };
        rc = v->release(e->store, r->id, dead, &why);
        if (rc == PAWL_OK || rc == PAWL_FENCED) {
            why = (pawl_err){ PAWL_OK, "" };
            rc = v->claim(e->store, r->id, e->owner, e->ttl_ms, &head, &why);
        }
    }
    if (rc != PAWL_OK)
        return fail(err, rc, "%s", why.text);
    if (r->st != NULL && (head.fence_before != r->last_fence || head.seq != r->seq))
        live_drop(e, r);        /* somebody else has had it since */
    r->fence = r->last_fence = head.fence;
    r->lease_ms = head.lease_ms;
    r->lease_lost = r->quiet = false;
    r->status = head.status;
    r->over = head.over;
    r->wake_ms = head.wake_ms;
    return PAWL_OK;
}

bool live_fits(const live *r)
{
    return hash_equal(&r->m->hash, &r->st->machine_hash) && r->m->version == r->st->version;
}

pawl_code live_hold(pawl_engine *e, live *r, pawl_err *err)
{
    pawl_code rc;

    if (r->fence != 0 && r->lease_lost)
        live_lost(e, r);
    pthread_mutex_lock(&e->lock);
    rc = r->fence != 0 ? PAWL_OK : claim(e, r, err);
    pthread_mutex_unlock(&e->lock);
    return rc == PAWL_OK ? live_load(e, r, err) : rc;
}

pawl_code live_let_go(pawl_engine *e, live *r, pawl_err *err)
{
    pawl_code rc = PAWL_OK;

    if (r->fence == 0)
        return rc;
    pthread_mutex_lock(&e->lock);
    rc = e->store->verbs->release(e->store, r->id, r->fence, err);
    r->fence = 0;
    pthread_mutex_unlock(&e->lock);
    if (rc == PAWL_FENCED)
        live_drop(e, r);
    return rc;
}

void live_lost(pawl_engine *e, live *r)
{
    pthread_mutex_lock(&e->lock);
    r->fence = 0;
    pthread_mutex_unlock(&e->lock);
    errands_lost(r);
    live_drop(e, r);
}

/* ---- the keeper ------------------------------------------------------------------------------------------------ */

struct keeper {
    pawl_engine *e;
    pthread_t thread;
    pthread_cond_t wake;
    bool over;
};

static void renew_all(pawl_engine *e)
{
    int64_t now = e->store->verbs->now(e->store);

    for (size_t i = 0; i < LIVE_SLOTS; i++)
        for (live *r = e->lives[i]; r != NULL; r = r->next) {
            if (r->fence == 0 || r->lease_ms - now > e->ttl_ms * 2 / 3)
                continue;
            if (e->store->verbs->renew(e->store, r->id, r->fence, e->ttl_ms, NULL) == PAWL_OK)
                r->lease_ms = now + e->ttl_ms;
            else
                r->lease_lost = true;   /* whoever drives sees it before anything leaves */
        }
}

static void *keep(void *arg)
{
    keeper *k = arg;
    pawl_engine *e = k->e;

    pthread_mutex_lock(&e->lock);
    while (!k->over) {
        (void)cond_wait(&k->wake, &e->lock, steady_ms() + e->ttl_ms / 3);
        if (!k->over)
            renew_all(e);
    }
    pthread_mutex_unlock(&e->lock);
    return NULL;
}

/* Begun with the first handler that is called: until then the driving thread renews by appending. */
void keeper_begin(pawl_engine *e)
{
    keeper *k = e->keeper != NULL ? NULL : mem_new(&e->alloc, sizeof *k);

    if (k == NULL)
        return;                 /* without one a lease may run out under a long effect: the fence finds it */
    k->e = e;
    cond_begin(&k->wake);
    if (pthread_create(&k->thread, NULL, keep, k) == 0) {
        e->keeper = k;
        return;
    }
    pthread_cond_destroy(&k->wake);
    mem_free(&e->alloc, k, sizeof *k);
}

void keeper_end(pawl_engine *e)
{
    keeper *k = e->keeper;

    if (k == NULL)
        return;
    pthread_mutex_lock(&e->lock);
    k->over = true;
    pthread_cond_signal(&k->wake);
    pthread_mutex_unlock(&e->lock);
    pthread_join(k->thread, NULL);
    pthread_cond_destroy(&k->wake);
    mem_free(&e->alloc, k, sizeof *k);
    e->keeper = NULL;
}
