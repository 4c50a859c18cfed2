/* walk.c - looks back: the state of a run at an entry, and its entries one after the other.
 *
 * Owns nothing between two calls. Called by the program, the host, tests and the other files of this folder, on their thread, with a store of that thread;
 * no lock. Each call reads the journal completely or from the requested entry, and changes nothing. */
#include "history/history.h"
#include "kernel/journal/replay.h"

pawl_code pawl_history_state(pawl_store *s, const char *run, uint64_t seq, pawl_state **state, pawl_err *err)
{
    blobs_of blobs;
    buf text;
    pawl_code rc;

    if (state != NULL)
        *state = NULL;
    if (s == NULL || state == NULL)
        return fail(err, PAWL_INVALID, "a state is asked of no store, or has nowhere to go");
    buf_init(&text, NULL);
    blobs_begin(&blobs, s, run);
    rc = store_journal(s, run, seq, &text, NULL, err);
    if (rc == PAWL_OK)
        rc = journal_fold((pawl_bytes){ text.data, text.size }, seq, &blobs.loader, NULL, state, err);
    if (rc == PAWL_OK)
        pawl_state_loader(*state, NULL);
    blobs_end(&blobs);
    buf_free(&text);
    return rc;
}

typedef struct walking { pawl_history_fn *fn; void *ctx; pawl_step *step; pawl_code rc; pawl_err *err; } walking;

static bool walk_line(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    walking *w = ctx;
    pawl_entry *e;

    if (kind != PAWL_LINE_ENTRY && kind != PAWL_LINE_RECORD)
        return true;
    w->rc = pawl_entry_read(line, w->step, &e, w->err);
    return w->rc == PAWL_OK && w->fn(w->ctx, seq, e);
}

static bool base_at(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    (void)line;
    if (kind == PAWL_LINE_BASE)
        *(uint64_t *)ctx = seq;
    return false;
}

pawl_code pawl_history_walk(pawl_store *s, const char *run, uint64_t after, uint64_t upto, pawl_history_fn *fn, void *ctx, pawl_err *err)
{
    walking w = { fn, ctx, NULL, PAWL_OK, err };
    pawl_code rc = PAWL_OK;

    if (s == NULL || fn == NULL)
        return fail(err, PAWL_INVALID, "a history needs a store and a function: one of them is NULL");
    if ((w.step = pawl_step_new(NULL)) == NULL)
        return fail(err, PAWL_NOMEM, "no memory for a history");
    if (after == 0)
        rc = run == NULL ? fail(err, PAWL_INVALID, "a run has an id") : s->verbs->load(s, run, base_at, &after, err);
    if (rc == PAWL_OK)
        rc = s->verbs->read(s, run, after, upto, walk_line, &w, err);
    pawl_step_free(w.step);
    return rc == PAWL_OK ? w.rc : rc;
}
