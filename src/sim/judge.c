/* judge.c - checks of a whole run: when a snapshot is stored, and at the end of a world.
 *
 * Owns nothing. Called by the store's handle and by sim.c, on the thread of pawl_sim. */
#include "kernel/state.h"
#include "sim/sim.h"

#include <stdlib.h>
#include <string.h>

/* The state that a worker would load, from the newest snapshot and the lines after it, compared with the fold from the base. */
void sim_run_audit(world *w, sim_run *y)
{
    pawl_err why = { PAWL_OK, "" };
    pawl_state *st = w->over ? NULL : pawl_run_state(w->auditor, y->id, &why);
    const char *is, *due, *differ;

    if (w->over || y->st == NULL)
        return;
    if (!sim_holds(w, PROMISE_K6, st != NULL, y, NULL, "%s: it cannot be loaded: %s", y->id, why.text))
        return;
    is = pawl_state_json(st, pawl_engine_step(w->auditor), &why);
    due = pawl_state_json(y->st, w->look, &why);
    if (why.code == PAWL_NOMEM) {
        sim_nomem(w);
        return;
    }
    if (!sim_holds(w, PROMISE_K6, is != NULL && due != NULL, y, NULL, "%s: it cannot be read: %s", y->id, why.text) ||
        !sim_holds(w, PROMISE_K6, strcmp(is, due) == 0, y, NULL, "%s: loaded from its snapshot it stands at entry %llu with %.80s, and is at %llu with %.80s",
                   y->id, (unsigned long long)pawl_state_seq(st), is, (unsigned long long)pawl_state_seq(y->st), due))
        return;
    differ = states_differ(st, y->st);
    sim_holds(w, PROMISE_K6, differ == NULL, y, NULL, "%s: loaded from its snapshot at entry %llu %s differ from what is folded", y->id,
              (unsigned long long)pawl_state_seq(st), differ != NULL ? differ : "");
    sim_holds(w, PROMISE_K11, pawl_engine_refolds(w->auditor) == 0, y, NULL, "%s: its snapshot is not the one that the journal names", y->id);
}

/* At every entry: a snapshot of it gives the folded state. */
void sim_run_snapshot_check(world *w, sim_run *y)
{
    const pawl_loader loader = sim_run_loader(w, y);
    pawl_err why = { PAWL_OK, "" };
    pawl_state *st = NULL;
    pawl_bytes bytes;
    const char *differ;
    pawl_code rc;

    if (w->over || y->st == NULL || y->nrecords > 0 || y->st->nmarks > 0)
        return;
    rc = pawl_state_snapshot(y->st, w->look, &bytes, &why);
    if (rc == PAWL_OK)
        rc = pawl_state_load(y->st->base, bytes, &loader, NULL, &st, &why);
    if (rc == PAWL_NOMEM) {
        sim_nomem(w);
        return;
    }
    differ = rc == PAWL_OK ? states_differ(st, y->st) : why.text;
    sim_holds(w, PROMISE_K6, differ == NULL, y, NULL, "%s: in a snapshot at entry %llu %s differ from what is folded", y->id,
              (unsigned long long)pawl_state_seq(y->st), differ != NULL ? differ : "");
    pawl_state_free(st);
}

static void head_check(world *w, sim_run *y)
{
    pawl_head head;
    pawl_err why = { PAWL_OK, "" };
    bool over = pawl_status_terminal(pawl_state_status(y->st));

    if (!sim_holds(w, PROMISE_S6, w->store->verbs->head(w->store, y->id, &head, &why) == PAWL_OK, y, NULL, "%s: the store does not know it: %s", y->id,
                   why.text) ||
        !sim_holds(w, PROMISE_S6, head.status == pawl_state_status(y->st) && head.over == over && head.seq == pawl_state_seq(y->st) &&
                       head.waits == pawl_state_waits(y->st), y, NULL,
                   "%s: the store says %s at entry %llu, %u waits; the journal %s at %llu, %zu", y->id, pawl_status_name((pawl_status)head.status),
                   (unsigned long long)head.seq, (unsigned)head.waits, pawl_status_name(pawl_state_status(y->st)),
                   (unsigned long long)pawl_state_seq(y->st), pawl_state_waits(y->st)))
        return;
    sim_holds(w, PROMISE_S6, !over || head.wake_ms == 0, y, NULL, "%s: it is over, and the store keeps a timer for it", y->id);
}

static void journal_judge(world *w, sim_run *y)
{
    pawl_err why = { PAWL_OK, "" };
    pawl_bytes journal = pawl_store_journal(w->store, y->id, &why);
    union { const char *in; void *out; } bytes = { journal.data };
    const pawl_loader loader = sim_run_loader(w, y);
    pawl_verdict v = {0};

    if (sim_holds(w, PROMISE_K5, journal.data != NULL, y, NULL, "%s: its journal cannot be read: %s", y->id, why.text)) {
        pawl_code rc = pawl_verify_with(machine_of(w, pawl_state_machine(y->st, NULL)), journal, &loader, NULL, &v, &why);

        sim_holds(w, PROMISE_K5, rc == PAWL_OK, y, NULL, "%s: entry %llu of its journal: %s", y->id, (unsigned long long)v.seq, why.text);
    }
    free(bytes.out);
}

/* The result of a child is part of its parent's. */
static bool any_marred(const world *w, const sim_run *y)
{
    for (unsigned i = 0; i < w->nruns; i++)
        if (w->runs[i].marred && (w->runs[i].child || &w->runs[i] == y))
            return true;
    return false;
}

static void end_check(world *w, sim_run *y)
{
    const char *json = pawl_state_json(y->st, w->look, &w->err);
    pawl_status is = pawl_state_status(y->st);

    if (json == NULL) {
        sim_nomem(w);
        return;
    }
    w->report->marred += y->marred;
    for (const sim_command *d = y->commands; d != NULL && pawl_status_terminal(is) && is != PAWL_STATUS_COMPLETED; d = d->next)
        if (d->durable && d->done && d->has_inverse)
            sim_holds(w, PROMISE_E5_UNDONE, d->undone, y, d->id, "%s: it was done, the run ends %s, and it was not undone", d->id,
                      pawl_status_name(is));
    if (w->setup->loose || y->child || any_marred(w, y) || (y->cancel && is == PAWL_STATUS_CANCELED))
        return;
    if (sim_holds(w, PROMISE_G2, is == (pawl_status)y->status, y, NULL, "%s: it ends %s, undisturbed it ends %s", y->id, pawl_status_name(is),
                  pawl_status_name((pawl_status)y->status)))
        sim_holds(w, PROMISE_G2, strcmp(json, y->json) == 0, y, NULL, "%s: it ends with %.100s, undisturbed with %.100s", y->id, json, y->json);
}

void sim_run_judge(world *w, sim_run *y)
{
    if (y->st == NULL)
        return;
    sim_run_audit(w, y);
    if (!w->over)
        journal_judge(w, y);
    if (!w->over)
        head_check(w, y);
    if (!w->over)
        end_check(w, y);
}
