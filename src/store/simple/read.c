/* read.c - reads of one run of a store of three methods: its head, its journal, its snapshot, its blobs.
 *
 * Called through the verbs head, look, load, snapshot, read and blob. Invariant: all that a call gives is named by one head, so it is of one moment; when
 * another writer removes a part of it meanwhile, the call begins again, or fails if some of it was given already. */
#include "store/simple/simple.h"

typedef struct run_reading {
    pawl_line_fn *fn;
    void *ctx;
    uint64_t after, upto;
    bool load, stopped, emitted;
    const char *digest;
    pawl_look *look;
} run_reading;

static bool emit(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    run_reading *g = ctx;

    g->emitted = true;
    g->stopped = !g->fn(g->ctx, kind, seq, line);
    return !g->stopped;
}

static pawl_code lines_emit(simple_run *r, run_reading *g, uint64_t after, pawl_err *err)
{
    pawl_code rc = journal_read(r, after, g->upto, emit, g, err);

    if (rc == PAWL_GONE && g->emitted)
        return fail(err, PAWL_TRANSIENT, "%s: it was pruned or removed while it was read: read it again", r->head.run);
    return rc;
}

/* ---- snapshots ------------------------------------------------------------------------------------------- */

static bool find_entry(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    (void)seq;
    return kind != PAWL_LINE_ENTRY || !store_entry_hash(line, ctx);
}

/* PAWL_CORRUPT: it is damaged, or of another entry than that of the journal. */
static pawl_code snapshot_read(simple_run *r, pawl_bytes *out, pawl_err *err)
{
    hash entry = { { 0 } }, digest;
    pawl_code rc = lump_get(r, &r->snapshot, out, err);

    if (rc == PAWL_OK && r->snapshot_seq > r->base_seq)
        rc = journal_read(r, r->snapshot_seq - 1, r->snapshot_seq, find_entry, &entry, err);
    if (rc != PAWL_OK)
        return rc;
    store_snapshot_digest(&entry, *out, &digest);
    return hash_equal(&digest, &r->snapshot_digest) ? PAWL_OK
         : fail(err, PAWL_CORRUPT, "%s: its snapshot does not fit entry %llu", r->head.run, (unsigned long long)r->snapshot_seq);
}

static bool has_snapshot(const simple_run *r)
{
    return r->snapshot.part.id != 0 || r->snapshot.bytes.size > 0;
}

static pawl_code snapshot_emit(simple_run *r, void *ctx, pawl_err *err)
{
    run_reading *g = ctx;
    pawl_bytes bytes;
    pawl_code rc;

    if (!has_snapshot(r))
        return fail(err, PAWL_GONE, "%s: it has no snapshot", r->head.run);
    if ((rc = snapshot_read(r, &bytes, err)) == PAWL_OK)
        (void)emit(g, PAWL_LINE_SNAPSHOT, r->snapshot_seq, bytes);
    return rc;
}

/* ---- journals ---------------------------------------------------------------------------------------------- */

static pawl_code load_emit(simple_run *r, void *ctx, pawl_err *err)
{
    run_reading *g = ctx;
    pawl_err why = { PAWL_OK, "" };
    pawl_bytes base, snapshot;
    uint64_t seq = r->base_seq;
    pawl_code rc = lump_get(r, &r->base, &base, err), one = PAWL_CORRUPT;

    if (rc == PAWL_OK && has_snapshot(r) && (one = snapshot_read(r, &snapshot, &why)) != PAWL_OK && one != PAWL_CORRUPT)
        return why.code == PAWL_OK ? one : fail(err, one, "%s", why.text);
    if (rc != PAWL_OK || !emit(g, PAWL_LINE_BASE, seq, base))
        return rc;
    if (one == PAWL_OK) {               /* one that is damaged is left out */
        seq = r->snapshot_seq;
        if (!emit(g, PAWL_LINE_SNAPSHOT, seq, snapshot))
            return PAWL_OK;
    }
    return lines_emit(r, g, seq, err);
}

static pawl_code read_emit(simple_run *r, void *ctx, pawl_err *err)
{
    run_reading *g = ctx;
    pawl_bytes base;
    pawl_code rc;

    if (g->after < r->base_seq)
        return fail(err, PAWL_GONE, "%s: what is before entry %llu was pruned", r->head.run, (unsigned long long)r->base_seq + 1);
    if (g->after == 0) {
        if ((rc = lump_get(r, &r->base, &base, err)) != PAWL_OK || !emit(g, PAWL_LINE_BASE, 0, base))
            return rc;
    }
    return lines_emit(r, g, g->after, err);
}

static pawl_code blob_emit(simple_run *r, void *ctx, pawl_err *err)
{
    run_reading *g = ctx;
    pawl_bytes bytes;
    pawl_code rc = part_blob_get(r, g->digest, &bytes, err);

    if (rc == PAWL_OK)
        (void)emit(g, (pawl_line_kind)0, 0, bytes);
    return rc;
}

/* ---- the verbs ----------------------------------------------------------------------------------------------- */

static pawl_code query(pawl_store *s, const char *run, simple_change_fn *fn, run_reading *g, pawl_err *err)
{
    if (g->fn == NULL)
        return fail(err, PAWL_INVALID, "a read needs a callback");
    simple_begin(simple_of(s));
    return run_query(simple_of(s), run, fn, g, err);
}

pawl_code simple_load(pawl_store *s, const char *run, pawl_line_fn *fn, void *ctx, pawl_err *err)
{
    return query(s, run, load_emit, &(run_reading){ .fn = fn, .ctx = ctx }, err);
}

pawl_code simple_snapshot(pawl_store *s, const char *run, pawl_line_fn *fn, void *ctx, pawl_err *err)
{
    return query(s, run, snapshot_emit, &(run_reading){ .fn = fn, .ctx = ctx }, err);
}

pawl_code simple_read(pawl_store *s, const char *run, uint64_t after, uint64_t upto, pawl_line_fn *fn, void *ctx, pawl_err *err)
{
    return query(s, run, read_emit, &(run_reading){ .fn = fn, .ctx = ctx, .after = after, .upto = upto }, err);
}

pawl_code simple_blob(pawl_store *s, const char *run, const char *digest, pawl_line_fn *fn, void *ctx, pawl_err *err)
{
    if (digest == NULL)
        return fail(err, PAWL_INVALID, "a blob has a digest");
    return query(s, run, blob_emit, &(run_reading){ .fn = fn, .ctx = ctx, .digest = digest }, err);
}

static pawl_code head_give(simple_run *r, void *ctx, pawl_err *err)
{
    head_lend(r->h, r, ctx);
    return r->h->lent.failed ? fail(err, PAWL_NOMEM, "%s: no memory for its head", r->head.run) : PAWL_OK;
}

pawl_code simple_head(pawl_store *s, const char *run, pawl_head *head, pawl_err *err)
{
    if (head == NULL)
        return fail(err, PAWL_INVALID, "a head needs a place");
    simple_begin(simple_of(s));
    return run_query(simple_of(s), run, head_give, head, err);
}

/* A run that was pruned further gives its head, too. */
static pawl_code look_emit(simple_run *r, void *ctx, pawl_err *err)
{
    run_reading *g = ctx;
    pawl_err why = { PAWL_OK, "" };
    pawl_code rc = g->fn == NULL ? PAWL_OK : g->load ? load_emit(r, g, &why) : read_emit(r, g, &why), one = PAWL_OK;

    if (rc == PAWL_OK || (rc == PAWL_GONE && why.code == PAWL_GONE))
        one = head_give(r, &g->look->head, err);
    if (one != PAWL_OK)
        return one;
    return why.code == PAWL_OK ? rc : fail(err, why.code, "%s", why.text);
}

pawl_code simple_look(pawl_store *s, const char *run, pawl_look *look, pawl_err *err)
{
    run_reading g = { .look = look };

    if (look == NULL)
        return fail(err, PAWL_INVALID, "a look needs a place");
    look->head = (pawl_head){ .run = NULL };
    look->version = 0;
    g.fn = look->fn;
    g.ctx = look->ctx;
    g.load = look->load;
    g.after = look->after;
    g.upto = look->load ? 0 : look->upto;
    simple_begin(simple_of(s));
    return run_query(simple_of(s), run, look_emit, &g, err);
}
