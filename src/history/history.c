/* history.c - verifies past runs, and replays them against another machine.
 *
 * Owns nothing between two calls. Called by the program, the host and tests, on their thread, with a store of that thread; no lock. Each call reads the
 * journal completely or from the requested entry, and changes nothing. */
#include "history/history.h"
#include "history/index_check.h"
#include "kernel/journal/replay.h"

/* ---- is it right? ---------------------------------------------------------------------------------- */

/* Compares with the number of entries in the store: a truncated journal has an intact chain. */
static pawl_code all_there(const char *run, uint64_t entries, uint64_t base_seq, journal_check *c, pawl_err *err)
{
    if (base_seq + c->v.entries >= entries)
        return PAWL_OK;
    c->v.seq = base_seq + c->v.entries + 1;
    return fail(err, PAWL_CORRUPT, "%s: its journal ends after entry %llu, and the store knows of %llu", run,
                (unsigned long long)(c->v.seq - 1), (unsigned long long)entries);
}

/* c->says must be freed. */
static pawl_code check_stored(pawl_store *s, const char *run, buf *text, uint64_t *base_seq, journal_check *c, pawl_err *err)
{
    pawl_head head;
    uint64_t entries;
    blobs_of blobs;
    pawl_code rc;

    c->v = (pawl_verdict){0};
    if (run == NULL)
        return fail(err, PAWL_INVALID, "a run has an id");
    if ((rc = s->verbs->head(s, run, &head, err)) != PAWL_OK)
        return rc;
    entries = head.seq;
    if ((rc = store_journal(s, run, 0, text, base_seq, err)) != PAWL_OK)
        return rc;
    blobs_begin(&blobs, s, run);
    c->loader = &blobs.loader;
    rc = journal_verify(c, (pawl_bytes){ text->data, text->size }, NULL, err);
    blobs_end(&blobs);
    return rc == PAWL_OK ? all_there(run, entries, *base_seq, c, err) : rc;
}

pawl_code pawl_history_verify(pawl_store *s, const pawl_machine *m, const char *run, pawl_verdict *v, pawl_err *err)
{
    journal_check c = { .m = m };
    pawl_err why = { PAWL_OK, "" };
    uint64_t base_seq = 0;
    pawl_code rc, snapshot;
    buf text;

    if (s == NULL || v == NULL)
        return fail(err, PAWL_INVALID, "verify: a store and room for a verdict are needed");
    buf_init(&text, NULL);
    buf_init(&c.says, NULL);
    rc = check_stored(s, run, &text, &base_seq, &c, err);
    if ((rc == PAWL_OK || rc == PAWL_CONFLICT) &&
        (snapshot = snapshot_check(s, run, (pawl_bytes){ text.data, text.size }, base_seq, &c.v.seq, &why)) != PAWL_OK)
        rc = fail(err, snapshot, "%s", why.text);
    else if (rc == PAWL_OK && (rc = index_check(s, run, &why)) != PAWL_OK)
        fail(err, rc, "%s", why.text);
    *v = c.v;
    buf_free(&c.says);
    buf_free(&text);
    return rc;
}

/* ---- against another machine (F5) --------------------------------------------------------------------- */

enum { PAGE = 64 };

typedef struct comparing {
    pawl_store *s;
    const pawl_machine *m;
    pawl_divergence_fn *fn;
    void *ctx;
    pawl_against sum;
    bool enough;
} comparing;

/* Errors of memory or store are failures; anything else is a result for the run. */
static pawl_code compare_run(comparing *k, const char *run, bool alone, pawl_err *err)
{
    journal_check c = { .m = k->m, .against = true };
    uint64_t base_seq = 0;
    pawl_err why = { PAWL_OK, "" };
    buf text;
    pawl_code rc;

    buf_init(&text, NULL);
    buf_init(&c.says, NULL);
    rc = check_stored(k->s, run, &text, &base_seq, &c, &why);
    if (rc == PAWL_NOMEM || rc == PAWL_IO || rc == PAWL_TRANSIENT || (alone && (rc == PAWL_CONFLICT || text.size == 0))) {
        fail(err, rc, "%s", why.text);
    } else if (rc == PAWL_GONE && text.size == 0) {
        rc = PAWL_OK;           /* it was removed since it was listed */
    } else {
        const pawl_divergence d = { .run = run, .seq = c.v.seq, .journaled = c.stored, .says = { c.says.data, c.says.size }, .code = rc,
                                    .text = why.text };

        k->sum.runs++;
        k->sum.same += rc == PAWL_OK;
        k->sum.diverged += rc != PAWL_OK && c.differs;
        k->sum.unread += rc != PAWL_OK && !c.differs;
        if (rc != PAWL_OK && k->fn != NULL)
            k->enough = !k->fn(k->ctx, &d);
        rc = PAWL_OK;
    }
    buf_free(&c.says);
    buf_free(&text);
    return rc;
}

typedef struct id_page { buf ids; size_t n; uint64_t last; bool all; } id_page;

static bool see_head(void *ctx, const pawl_head *head)
{
    id_page *p = ctx;

    p->last = head->no;
    p->n++;
    if (p->all || !head->over)
        buf_put(&p->ids, head->run, strlen(head->run) + 1);
    return !p->ids.failed;
}

static pawl_code compare_all(comparing *k, const pawl_filter *which, pawl_err *err)
{
    pawl_filter f = which != NULL ? *which : (pawl_filter){0};
    id_page p = { .all = which != NULL };
    pawl_code rc;

    f.machine = pawl_machine_name(k->m);
    f.before = 0;
    f.limit = PAGE;
    buf_init(&p.ids, NULL);
    do {
        buf_reset(&p.ids);
        p.n = 0;
        rc = k->s->verbs->list(k->s, &f, see_head, &p, err);
        if (rc == PAWL_OK && p.ids.failed)
            rc = fail(err, PAWL_NOMEM, "no memory for the runs of %s", f.machine);
        for (size_t at = 0; rc == PAWL_OK && !k->enough && at < p.ids.size; at += strlen(p.ids.data + at) + 1)
            rc = compare_run(k, p.ids.data + at, false, err);
        f.before = p.last;
    } while (rc == PAWL_OK && !k->enough && p.n == PAGE);
    buf_free(&p.ids);
    return rc;
}

pawl_code pawl_history_against(pawl_store *s, const pawl_machine *m, const char *run, const pawl_filter *which, pawl_divergence_fn *fn,
                               void *ctx, pawl_against *sum, pawl_err *err)
{
    comparing k = { .s = s, .m = m, .fn = fn, .ctx = ctx };
    pawl_code rc;

    if (s == NULL || m == NULL)
        return fail(err, PAWL_INVALID, "a replay needs a store and a machine");
    rc = run != NULL ? compare_run(&k, run, true, err) : compare_all(&k, which, err);
    if (sum != NULL)
        *sum = k.sum;
    return rc;
}
