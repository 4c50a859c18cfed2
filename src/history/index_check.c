/* index_check.c - compares the index of a run with the state that its journal gives (K11).
 *
 * Owns nothing between two calls. Called by verify, the program and the host, on the thread of the store's handle; nothing is written. Another
 * process may write meanwhile, so a difference counts only when the store did not change while it was read. */
#include "history/index_check.h"
#include "history/current_state.h"
#include "kernel/state.h"

enum { TRIES = 50 };

typedef struct row { const char *run; pawl_waiting w; } row;
typedef struct rows { arena *mem; const char *only; row *all; size_t n, cap; } rows;    /* `only`: the id of one wait; NULL: all */

static bool gather(void *ctx, const char *run, const pawl_waiting *w)
{
    rows *r = ctx;
    arena *a = r->mem;

    if (r->only != NULL && strcmp(r->only, w->id) != 0)
        return true;
    if (!arena_room(a, (void **)&r->all, &r->cap, r->n, sizeof *r->all))
        return false;
    r->all[r->n] = (row){ .run = r->n > 0 && strcmp(r->all[r->n - 1].run, run) == 0 ? r->all[r->n - 1].run : arena_text(a, run), .w = *w };
    r->all[r->n].w.id = arena_text(a, w->id);
    r->all[r->n].w.spec.data = arena_strdup(a, w->spec.data != NULL ? w->spec.data : "", w->spec.size);
    r->n++;
    return !a->failed;
}

static const pawl_waiting *find(const wait_list *l, const char *id)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->all[i].id, id) == 0)
            return &l->all[i];
    return NULL;
}

static const char *differs(const pawl_waiting *is, const pawl_waiting *due)
{
    if (due == NULL)
        return "no entry asked it, or it was answered";
    if (is->asked_ms != due->asked_ms)
        return "another time";
    return is->spec.size == due->spec.size && memcmp(is->spec.data, due->spec.data, due->spec.size) == 0 ? NULL : "another question than the entry asked";
}

static pawl_code wait_fault(const row *r, const char *what, pawl_err *err)
{
    return fail(err, PAWL_CORRUPT, "%s: wait %s: its row in the store has %s; nothing is answered; pawl replay %s --verify looks at all of it", r->run,
                r->w.id, what, r->run);
}

/* Rows `first` up to `end` are those of one run. */
static pawl_code rows_compare(pawl_store *s, const rows *r, size_t first, size_t end, bool *faults, pawl_err *fault, pawl_err *err)
{
    pawl_err why = { PAWL_OK, "" };
    current_state now;
    wait_list open = {0};
    pawl_code rc = current_state_load(&now, s, r->all[first].run, &why);
    const bool damaged = rc == PAWL_CORRUPT || rc == PAWL_INVALID;

    if (rc == PAWL_OK)
        rc = waits_open(now.st, r->mem, &open);
    for (size_t i = first; (rc == PAWL_OK || damaged) && i < end; i++) {
        const char *what = damaged ? "a journal that cannot be read" : differs(&r->all[i].w, find(&open, r->all[i].w.id));

        faults[i] = what != NULL;
        if (what != NULL && fault->code == PAWL_OK)
            (void)wait_fault(&r->all[i], what, fault);
    }
    current_state_free(&now);
    return rc == PAWL_OK || damaged || rc == PAWL_GONE ? PAWL_OK : fail(err, rc, "%s", why.text);    /* GONE: it was removed meanwhile */
}

/* All rows, compared; *settled: the store did not change meanwhile, or cannot say whether it did. */
static pawl_code rows_read(pawl_store *s, const char *run, rows *r, bool **faults, pawl_err *fault, bool *settled, pawl_err *err)
{
    const uint64_t version = s->verbs->version(s);
    pawl_code rc = s->verbs->waits(s, run, gather, r, err);

    *fault = (pawl_err){ PAWL_OK, "" };
    *faults = arena_zero(r->mem, r->n + 1);
    if (rc == PAWL_OK && (r->mem->failed || *faults == NULL))
        rc = fail(err, PAWL_NOMEM, "no memory for the open waits");
    for (size_t i = 0, end; rc == PAWL_OK && i < r->n; i = end) {
        for (end = i + 1; end < r->n && r->all[end].run == r->all[i].run; end++)
            ;
        rc = rows_compare(s, r, i, end, *faults, fault, err);
    }
    *settled = version == 0 || version == s->verbs->version(s);
    return rc;
}

pawl_code waits_checked(pawl_store *s, const char *run, pawl_waiting_fn *fn, void *ctx, pawl_err *err)
{
    pawl_err fault = { PAWL_OK, "" };
    bool *faults = NULL, settled = false;
    pawl_code rc = PAWL_OK;
    arena mem;
    rows r = { .mem = &mem };

    arena_init(&mem, NULL, 4096);
    for (int i = 0; i < TRIES && rc == PAWL_OK && !settled; i++) {
        arena_reset(&mem);
        r = (rows){ .mem = &mem };
        rc = rows_read(s, run, &r, &faults, &fault, &settled, err);
        settled = settled || fault.code == PAWL_OK;
    }
    for (size_t i = 0; rc == PAWL_OK && i < r.n; i++)
        if (!faults[i] && !fn(ctx, r.all[i].run, &r.all[i].w))
            break;
    arena_free(&mem);
    return rc == PAWL_OK && fault.code != PAWL_OK ? fail(err, fault.code, "%s", fault.text) : rc;
}

pawl_code wait_check(pawl_store *s, const char *run, const pawl_waiting *due, pawl_err *err)
{
    const char *what;
    arena mem;
    rows r = { .mem = &mem, .only = due->id };
    pawl_code rc;

    arena_init(&mem, NULL, 4096);
    rc = s->verbs->waits(s, run, gather, &r, err);
    if (rc == PAWL_OK && mem.failed)
        rc = fail(err, PAWL_NOMEM, "%s: no memory for its wait", run);
    for (size_t i = 0; rc == PAWL_OK && i < r.n; i++)
        if ((what = differs(&r.all[i].w, due)) != NULL)
            rc = wait_fault(&r.all[i], what, err);
    arena_free(&mem);
    return rc;
}

/* ---- verify ---------------------------------------------------------------------------------------------------- */

typedef struct mailbox { size_t n; } mailbox;

static bool count_mail(void *ctx, const pawl_delivery *d)
{
    (void)d;
    ((mailbox *)ctx)->n++;
    return true;
}

static bool same(const char *a, const char *b) { return strcmp(a != NULL ? a : "", b != NULL ? b : "") == 0; }

/* A fork that nobody has driven: its head says that it is submitted, whatever its state was forked at. */
static bool fork_untouched(const pawl_head *h, const pawl_state *st)
{
    bool forked;
    arena mem;

    if (h->status != PAWL_STATUS_SUBMITTED || h->over || h->seq > 1)
        return false;
    arena_init(&mem, NULL, 1024);
    forked = pawl_value_get(value_read(&mem, st->base.data, st->base.size, "a base", NULL), "lineage") != NULL;
    arena_free(&mem);
    return forked;
}

static pawl_code head_compare(const pawl_head *h, const pawl_state *st, const pawl_run_info *info, size_t waits, size_t mail, pawl_err *err)
{
    const bool untouched = fork_untouched(h, st);
    const char *what = h->life != info->life ? "life"
                       : !same(h->machine, st->machine) ? "machine"
                       : !same(h->context, info->context) ? "context"
                       : !same(h->parent, info->parent) ? "parent"
                       : !untouched && h->status != pawl_state_status(st) ? "status"
                       : !untouched && h->over != pawl_status_terminal(pawl_state_status(st)) ? "end"
                       : h->waits != waits ? "number of open waits"
                       : h->mail != mail ? "number of deliveries" : NULL;

    return what == NULL ? PAWL_OK : fail(err, PAWL_CORRUPT, "%s: its head in the store has another %s than its journal", h->run, what);
}

static pawl_code open_compare(const char *run, const rows *r, const wait_list *open, pawl_err *err)
{
    for (size_t i = 0; i < r->n; i++) {
        const char *what = differs(&r->all[i].w, find(open, r->all[i].w.id));

        if (what != NULL)
            return fail(err, PAWL_CORRUPT, "%s: wait %s: its row in the store has %s", run, r->all[i].w.id, what);
    }
    for (size_t i = 0; i < open->n; i++) {
        bool found = false;

        for (size_t k = 0; k < r->n && !found; k++)
            found = strcmp(r->all[k].w.id, open->all[i].id) == 0;
        if (!found)
            return fail(err, PAWL_CORRUPT, "%s: wait %s is open by its journal, and the store does not list it", run, open->all[i].id);
    }
    return PAWL_OK;
}

typedef struct losses { uint64_t newest, last; const char *bad; } losses;

/* Losses are shown and nothing more: that they can be true is all that can be checked. */
static bool loss_compare(void *ctx, const pawl_loss *l)
{
    losses *g = ctx;

    if (l->fence <= g->last || l->fence > g->newest || l->owner == NULL)
        g->bad = "no lease of the run";
    else if (l->taker != NULL && (l->taker_fence <= l->fence || l->taker_fence > g->newest))     /* the clocks may be two */
        g->bad = "taken over before it was lost";
    g->last = l->fence;
    return g->bad == NULL;
}

static pawl_code losses_compare(pawl_store *s, const char *run, uint64_t newest, pawl_err *err)
{
    losses g = { .newest = newest };
    pawl_code rc = s->verbs->losses == NULL ? PAWL_OK : s->verbs->losses(s, run, loss_compare, &g, err);

    return rc != PAWL_OK || g.bad == NULL ? rc : fail(err, PAWL_CORRUPT, "%s: the store has a lost lease, fence %llu, that is %s", run,
                                                      (unsigned long long)g.last, g.bad);
}

static pawl_code index_compare(pawl_store *s, const char *run, const pawl_state *st, arena *mem, pawl_err *err)
{
    pawl_step *step = pawl_step_new(NULL);
    wait_list open = {0};
    rows r = { .mem = mem };
    mailbox mail = {0};
    pawl_run_info info;
    pawl_head head;
    pawl_code rc = step == NULL ? PAWL_NOMEM : pawl_state_info(st, step, &info, err);

    if (rc == PAWL_OK)
        rc = waits_open(st, mem, &open);
    if (rc == PAWL_OK)
        rc = s->verbs->waits(s, run, gather, &r, err);
    if (rc == PAWL_OK)
        rc = s->verbs->deliveries(s, run, count_mail, &mail, err);
    if (rc == PAWL_OK && mem->failed)
        rc = fail(err, PAWL_NOMEM, "%s: no memory for its index", run);
    if (rc == PAWL_OK)
        rc = open_compare(run, &r, &open, err);
    if (rc == PAWL_OK)
        rc = s->verbs->head(s, run, &head, err);
    if (rc == PAWL_OK)
        rc = head_compare(&head, st, &info, open.n, mail.n, err);
    if (rc == PAWL_OK)
        rc = losses_compare(s, run, head.fence, err);
    pawl_step_free(step);
    return rc;
}

pawl_code index_check(pawl_store *s, const char *run, pawl_err *err)
{
    pawl_err why = { PAWL_OK, "" };
    bool settled = false;
    pawl_code rc = PAWL_CORRUPT;
    arena mem;

    arena_init(&mem, NULL, 4096);
    for (int i = 0; i < TRIES && rc == PAWL_CORRUPT && !settled; i++) {
        const uint64_t version = s->verbs->version(s);
        pawl_state *st = NULL;

        arena_reset(&mem);
        why = (pawl_err){ PAWL_OK, "" };
        if ((rc = pawl_history_state(s, run, 0, &st, &why)) == PAWL_OK)
            rc = index_compare(s, run, st, &mem, &why);
        pawl_state_free(st);
        settled = version == 0 || version == s->verbs->version(s);
    }
    arena_free(&mem);
    return rc == PAWL_OK ? rc : fail(err, rc, "%s", why.text);
}
