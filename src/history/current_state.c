/* current_state.c - loads the current state of a run: base, snapshot, and the lines after it (K11).
 *
 * Called by the program and the host, on the thread of the store's handle; no lock, nothing is written. If the snapshot cannot be used, the whole
 * journal is folded instead. */
#include "history/current_state.h"
#include "kernel/journal/codec.h"
#include "kernel/state.h"

static bool see_line(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    run_seen *l = ctx;
    buf *to = kind == PAWL_LINE_BASE ? &l->base : kind == PAWL_LINE_SNAPSHOT ? &l->snapshot : &l->lines;

    if (kind == PAWL_LINE_BASE)
        l->base_seq = seq;
    buf_put(to, line.data, line.size);
    if (to == &l->lines)
        buf_char(to, '\n');
    return !to->failed;
}

static pawl_code entries_read(void *ctx, uint64_t after, uint64_t upto, pawl_line_fn *fn, void *fn_ctx, pawl_err *err)
{
    const blobs_of *b = ctx;

    return b->s->verbs->read(b->s, b->run, after, upto, fn, fn_ctx, err);
}

static pawl_code entry_load(void *ctx, uint64_t seq, pawl_bytes *entry, pawl_bytes *records, pawl_err *err)
{
    current_state *now = ctx;

    return entry_page_get(&now->entries, now->blobs.run, seq, entries_read, &now->blobs, entry, records, err);
}

static pawl_code blob_read(void *ctx, const char *digest, pawl_bytes *bytes, pawl_err *err)
{
    current_state *now = ctx;

    return now->blobs.loader.blob(now->blobs.loader.ctx, digest, bytes, err);
}

static pawl_code tail_apply(pawl_state *st, const buf *tail, pawl_step *step, pawl_err *err)
{
    const char *at = tail->data, *end = tail->size > 0 ? at + tail->size : at;
    pawl_code rc = PAWL_OK;

    while (rc == PAWL_OK && at < end) {
        const char *nl = memchr(at, '\n', (size_t)(end - at));
        pawl_entry *e;

        if ((rc = pawl_entry_read((pawl_bytes){ at, (size_t)(nl - at) }, step, &e, err)) == PAWL_OK)
            rc = pawl_apply(st, e, err);
        at = nl + 1;
    }
    return rc;
}

static pawl_code lines_load(current_state *now, const run_seen *l, pawl_err *err)
{
    const pawl_loader loader = { .entry = entry_load, .blob = blob_read, .ctx = now };
    const pawl_bytes snapshot = { l->snapshot.data, l->snapshot.size };
    pawl_step *step = pawl_step_new(NULL);
    pawl_code rc = step == NULL ? fail(err, PAWL_NOMEM, "no memory to load a run") : PAWL_OK;

    if (rc == PAWL_OK)
        rc = snapshot_fits((pawl_bytes){ l->lines.data, l->lines.size }, snapshot, step, err);
    if (rc == PAWL_OK)
        rc = pawl_state_load((pawl_bytes){ l->base.data, l->base.size }, snapshot, &loader, NULL, &now->st, err);
    if (rc == PAWL_OK)
        rc = tail_apply(now->st, &l->lines, step, err);
    pawl_step_free(step);
    if (rc != PAWL_OK) {
        pawl_state_free(now->st);
        now->st = NULL;
    }
    return rc;
}

void run_seen_free(run_seen *l)
{
    buf_free(&l->base);
    buf_free(&l->snapshot);
    buf_free(&l->lines);
}

pawl_code current_state_seen(current_state *now, pawl_store *s, const char *run, run_seen *l, pawl_err *err)
{
    pawl_look look = { .fn = see_line, .ctx = l, .load = true };
    pawl_err why = { PAWL_OK, "" };
    pawl_code rc;

    *now = (current_state){ .st = NULL };
    *l = (run_seen){ .base_seq = 0 };
    blobs_begin(&now->blobs, s, run);
    entry_page_init(&now->entries, NULL);
    buf_init(&l->base, NULL);
    buf_init(&l->snapshot, NULL);
    buf_init(&l->lines, NULL);
    rc = store_look(s, run, &look, &why);
    l->head = look.head;
    l->head.owner = look.head.owner != NULL ? "" : NULL;    /* its texts are lent until the store is used again */
    l->head.parked = look.head.parked != NULL ? "" : NULL;
    l->version = look.version;
    if (rc == PAWL_OK && (l->base.failed || l->snapshot.failed || l->lines.failed))
        rc = fail(&why, PAWL_NOMEM, "%s: no memory to load it", run);
    if (rc == PAWL_OK && (rc = lines_load(now, l, &why)) == PAWL_OK)
        return rc;
    if ((rc == PAWL_CORRUPT || (rc == PAWL_GONE && l->snapshot.size > 0)) && l->base.size > 0) {    /* also without a snapshot: its error is that of a fold */
        if (l->snapshot.size > 0)
            now->unfit = why;
        why = (pawl_err){ PAWL_OK, "" };
        rc = pawl_history_state(s, run, 0, &now->st, &why);
    }
    if (rc != PAWL_OK)
        fail(err, rc, "%s", why.text);
    return rc;
}

pawl_code current_state_load(current_state *now, pawl_store *s, const char *run, pawl_err *err)
{
    run_seen l;
    pawl_code rc = current_state_seen(now, s, run, &l, err);

    run_seen_free(&l);
    return rc;
}

bool current_state_spawned(const current_state *now) { return now->st->parent != NULL; }

void current_state_free(current_state *now)
{
    pawl_state_free(now->st);
    blobs_end(&now->blobs);
    entry_page_free(&now->entries);
}
