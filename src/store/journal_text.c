/* journal_text.c - a run's journal as one text, as the kernel folds it (journal_fold).
 *
 * Called by src/engine/command (arguments of an earlier state) and src/history. Reads through the store's verbs alone; the caller owns the store's
 * handle while it runs. */
#include "store/store.h"

typedef struct gathering { buf *out; uint64_t base_seq; bool base; } gathering;

static bool gather_base(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    gathering *g = ctx;

    g->base = kind == PAWL_LINE_BASE;
    g->base_seq = seq;
    buf_put(g->out, line.data, line.size);
    buf_char(g->out, '\n');
    return false;
}

static bool gather_line(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    gathering *g = ctx;

    (void)seq;
    if (kind == PAWL_LINE_BASE)
        return true;
    buf_put(g->out, line.data, line.size);
    buf_char(g->out, '\n');
    return !g->out->failed;
}

pawl_code store_journal(pawl_store *s, const char *run, uint64_t upto, buf *out, uint64_t *base_seq, pawl_err *err)
{
    gathering g = { .out = out };
    pawl_code rc = run == NULL ? fail(err, PAWL_INVALID, "a run has an id") : s->verbs->load(s, run, gather_base, &g, err);

    if (rc == PAWL_OK && !g.base)
        rc = fail(err, PAWL_CORRUPT, "%s: its journal has no base", run);
    if (rc != PAWL_OK)
        return rc;
    if (upto != 0 && upto < g.base_seq)
        return fail(err, PAWL_GONE, "%s: entry %llu was pruned, it begins at %llu", run, (unsigned long long)upto,
                    (unsigned long long)g.base_seq);
    rc = s->verbs->read(s, run, g.base_seq, upto, gather_line, &g, err);
    if (rc == PAWL_OK && out->failed)
        rc = fail(err, PAWL_NOMEM, "%s: no memory for its journal", run);
    if (base_seq != NULL)
        *base_seq = g.base_seq;
    return rc;
}
