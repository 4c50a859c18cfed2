/* run_store.c - what a reader asks of its store: lines, blobs, and what the state of a reader with values needs.
 *
 * Called by reader.c and, through store_source, by the walk of that reader; on the reader's thread. The engine's lock covers its store; a store that
 * was lent is this thread's. Nothing is called back while that lock is held but the small functions below that copy a line. */
#include "stream/stream.h"

#include <string.h>

enum { READ_ENTRIES = 256, READ_BYTES = 1 << 18 };

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

static bool see_entry(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    (void)seq;
    if (kind != PAWL_LINE_ENTRY && kind != PAWL_LINE_RECORD)
        return true;
    buf_put(ctx, line.data, line.size);
    buf_char(ctx, '\n');
    return !((buf *)ctx)->failed && (kind == PAWL_LINE_RECORD || ((buf *)ctx)->size < READ_BYTES);
}

/* Entries are asked for one after another, so many are read at once. */
static pawl_code entry_load(void *ctx, uint64_t seq, pawl_bytes *entry, pawl_bytes *records, pawl_err *err)
{
    pawl_stream *r = ctx;
    pawl_code rc = PAWL_OK;

    if (seq != r->past_next || r->past_at == r->past.size) {
        buf_reset(&r->past);
        r->past_next = r->past_at = 0;
        rc = stream_read(r, seq - 1, seq - 1 + READ_ENTRIES, see_entry, &r->past, err);
        if (rc == PAWL_OK && r->past.failed)
            rc = fail(err, PAWL_NOMEM, "%s: no memory for entry %llu", r->run, (unsigned long long)seq);
    }
    for (size_t first = r->past_at, at = first; rc == PAWL_OK && at < r->past.size;) {
        const char *line = r->past.data + at, *nl = memchr(line, '\n', r->past.size - at);

        at = (size_t)(nl - r->past.data) + 1;
        if (*line == '[')
            continue;
        *records = (pawl_bytes){ r->past.data + first, (size_t)(line - r->past.data) - first };
        *entry = (pawl_bytes){ line, (size_t)(nl - line) };
        r->past_at = at;
        r->past_next = seq + 1;
        return PAWL_OK;
    }
    r->past_at = r->past.size;
    return rc == PAWL_OK ? fail(err, PAWL_GONE, "%s: there is no entry %llu", r->run, (unsigned long long)seq) : rc;
}

pawl_loader stream_loader(pawl_stream *r)
{
    return (pawl_loader){ .entry = entry_load, .blob = blob_load, .ctx = r };
}
