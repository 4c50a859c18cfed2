/* blobs.c - large values of a step go to the store with the lines that name them, each content once (S5).
 *
 * Called on the driving thread; a blob is read under the engine's lock. Invariant: a blob is held here until the lines that name it are stored. */
#include "engine/run/run.h"

#include <string.h>

struct held_blob { char digest[HASH_HEX + 1]; char *data; size_t size; };

enum { KEPT_MAX = 1024 };       /* digests that are remembered for each run; for a forgotten one the store notices that it has the blob */

static const held_blob *held_find(const cached_run *r, const char *digest)
{
    for (size_t i = 0; i < r->nblobs; i++)
        if (strcmp(r->blobs[i].digest, digest) == 0)
            return &r->blobs[i];
    return NULL;
}

static bool is_kept(const cached_run *r, const char *digest)
{
    hash h;

    if (!hash_unhex(digest, strlen(digest), &h))
        return false;
    for (size_t i = 0; i < r->nkept; i++)
        if (hash_equal(&r->kept[i], &h))
            return true;
    return false;
}

/* Remembers that the store has this blob. */
static void keep(pawl_engine *e, cached_run *r, const char *digest)
{
    hash h;

    if (is_kept(r, digest) || !hash_unhex(digest, strlen(digest), &h))
        return;
    if (r->nkept == KEPT_MAX) {
        r->kept[r->kept_next++ % KEPT_MAX] = h;
        return;
    }
    if (mem_room(&e->alloc, (void **)&r->kept, &r->kept_cap, r->nkept, sizeof *r->kept))
        r->kept[r->nkept++] = h;        /* without memory the blob is given to the store once more */
}

pawl_code blobs_hold(pawl_engine *e, cached_run *r, const pawl_step *s)
{
    const char *digest;
    pawl_bytes bytes;

    for (size_t i = 0; (bytes = pawl_step_blob(s, i, &digest)).data != NULL; i++) {
        held_blob *b;

        if (is_kept(r, digest) || held_find(r, digest) != NULL)
            continue;
        if (!mem_room(&e->alloc, (void **)&r->blobs, &r->blobs_cap, r->nblobs, sizeof *r->blobs))
            return PAWL_NOMEM;
        b = &r->blobs[r->nblobs];
        memcpy(b->digest, digest, sizeof b->digest);
        b->size = bytes.size;
        if ((b->data = mem_grow(&e->alloc, NULL, 0, bytes.size + 1)) == NULL)
            return PAWL_NOMEM;
        memcpy(b->data, bytes.data, bytes.size);
        r->nblobs++;
        r->blobs_bytes += bytes.size;
        r->tail_bytes += bytes.size;
    }
    return PAWL_OK;
}

static void held_free(pawl_engine *e, cached_run *r)
{
    for (size_t i = 0; i < r->nblobs; i++)
        mem_free(&e->alloc, r->blobs[i].data, r->blobs[i].size + 1);
    r->nblobs = r->blobs_bytes = 0;
}

pawl_code blobs_fill_append(const cached_run *r, pawl_append *a, arena *mem)
{
    pawl_blob *all = r->nblobs == 0 ? NULL : arena_get(mem, r->nblobs * sizeof *all);

    if (r->nblobs > 0 && all == NULL)
        return PAWL_NOMEM;
    for (size_t i = 0; i < r->nblobs; i++)
        all[i] = (pawl_blob){ r->blobs[i].digest, { r->blobs[i].data, r->blobs[i].size } };
    a->blobs = all;
    a->nblobs = r->nblobs;
    return PAWL_OK;
}

void blobs_stored(pawl_engine *e, cached_run *r)
{
    for (size_t i = 0; i < r->nblobs; i++)
        keep(e, r, r->blobs[i].digest);
    held_free(e, r);
}

/* Drops blobs that are not stored, and all digests, since another run of that id may have been started. */
void blobs_drop(pawl_engine *e, cached_run *r)
{
    held_free(e, r);
    r->nkept = r->kept_next = 0;
    buf_free(&r->blob);
    buf_init(&r->blob, &e->alloc);
}

void blobs_free(pawl_engine *e, cached_run *r)
{
    held_free(e, r);
    buf_free(&r->blob);
    mem_free(&e->alloc, r->blobs, r->blobs_cap * sizeof *r->blobs);
    mem_free(&e->alloc, r->kept, r->kept_cap * sizeof *r->kept);
}

/* ---- read ------------------------------------------------------------------------------------ */

static bool blob_line(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    (void)kind, (void)seq;
    buf_put(ctx, line.data, line.size);
    return false;
}

pawl_code loader_blob(void *ctx, const char *digest, pawl_bytes *bytes, pawl_err *err)
{
    cached_run *r = ctx;
    pawl_engine *e = r->e;
    const held_blob *held = held_find(r, digest);
    pawl_code rc;

    if (held != NULL) {
        *bytes = (pawl_bytes){ held->data, held->size };
        return PAWL_OK;
    }
    buf_reset(&r->blob);
    pthread_mutex_lock(&e->lock);
    rc = e->store->verbs->blob(e->store, r->id, digest, blob_line, &r->blob, err);
    pthread_mutex_unlock(&e->lock);
    *bytes = (pawl_bytes){ r->blob.data, r->blob.size };
    if (rc != PAWL_OK)
        return rc;
    if (r->blob.failed)
        return fail(err, PAWL_NOMEM, "%s: no memory for a blob", r->id);
    keep(e, r, digest);
    return PAWL_OK;
}
