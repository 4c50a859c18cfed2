/* run_store.c - what a reader needs of its store: lines, blobs, and the loader of the state of a reader with values.
 *
 * Called by reader.c and, through store_source, by that reader's walk; on the reader's thread. The engine's lock protects its store; a store that was
 * lent is used by this thread only. Under that lock only the small functions below are called, which copy a line. */
#include "stream/stream.h"

void store_lock(pawl_stream *r)
{
    if (!r->lent)
        pthread_mutex_lock(&r->e->lock);
}

void store_unlock(pawl_stream *r)
{
    if (!r->lent)
        pthread_mutex_unlock(&r->e->lock);
}

pawl_code stream_read(pawl_stream *r, uint64_t after, uint64_t upto, pawl_line_fn *fn, void *ctx, pawl_err *err)
{
    pawl_code rc;

    store_lock(r);
    rc = r->store->verbs->read(r->store, r->run, after, upto, fn, ctx, err);
    store_unlock(r);
    return rc;
}

static bool see_blob(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes bytes)
{
    (void)kind, (void)seq;
    buf_put(ctx, bytes.data, bytes.size);
    return false;
}

static pawl_code blob_read(void *ctx, const char *digest, buf *out, pawl_err *err)
{
    pawl_stream *r = ctx;
    pawl_code rc;

    store_lock(r);
    rc = r->store->verbs->blob(r->store, r->run, digest, see_blob, out, err);
    store_unlock(r);
    return rc == PAWL_OK && out->failed ? fail(err, PAWL_NOMEM, "%s: no memory for a blob", r->run) : rc;
}

/* ---- lines that a walk asks for ----------------------------------------------------------------------------- */

static bool see_line(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    buf *out = ctx;

    (void)seq;
    if (kind == PAWL_LINE_BASE && out->size > 0)
        return true;            /* it is there already */
    buf_put(out, line.data, line.size);
    buf_char(out, '\n');
    return !out->failed;
}

static bool see_base(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    (void)see_line(ctx, kind, seq, line);
    return false;
}

static pawl_code lines_before(void *ctx, uint64_t after, uint64_t upto, buf *out, pawl_err *err)
{
    pawl_stream *r = ctx;
    pawl_code rc = PAWL_OK;

    if (after == r->w.base_seq) {
        store_lock(r);
        rc = r->store->verbs->load(r->store, r->run, see_base, out, err);
        store_unlock(r);
    }
    return rc == PAWL_OK && upto > after ? stream_read(r, after, upto, see_line, out, err) : rc;
}

const walk_source store_source = { .blob = blob_read, .lines = lines_before };

/* ---- what a state asks for ---------------------------------------------------------------------------------------- */

static pawl_code blob_load(void *ctx, const char *digest, pawl_bytes *bytes, pawl_err *err)
{
    pawl_stream *r = ctx;
    pawl_code rc;

    buf_reset(&r->blob);
    rc = blob_read(r, digest, &r->blob, err);
    *bytes = (pawl_bytes){ r->blob.data, r->blob.size };
    return rc;
}

static pawl_code entries_read(void *ctx, uint64_t after, uint64_t upto, pawl_line_fn *fn, void *fn_ctx, pawl_err *err)
{
    return stream_read(ctx, after, upto, fn, fn_ctx, err);
}

static pawl_code entry_load(void *ctx, uint64_t seq, pawl_bytes *entry, pawl_bytes *records, pawl_err *err)
{
    pawl_stream *r = ctx;

    return entry_page_get(&r->past, r->run, seq, entries_read, r, entry, records, err);
}

pawl_loader stream_loader(pawl_stream *r)
{
    return (pawl_loader){ .entry = entry_load, .blob = blob_load, .ctx = r };
}
