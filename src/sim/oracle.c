/* oracle.c - folds what is durable, line by line as it is stored.
 *
 * Owns the folded states and the commands of all runs. Called by store.c after each write, and by writes.c after a power cut; on the thread of pawl_sim.
 * A line is checked before it is folded, against the state before it. */
#include "kernel/compensation.h"
#include "kernel/frame.h"
#include "kernel/item.h"
#include "kernel/journal/codec.h"
#include "kernel/machine.h"
#include "kernel/state.h"
#include "sim/sim.h"

#include <stdlib.h>
#include <string.h>

static sim_command *command_of_item(world *w, sim_run *y, const item *it, bool make)
{
    sim_command *d;
    buf b;

    buf_init(&b, &w->alloc);
    buf_fmt(&b, "%s~%016llx/", y->id, (unsigned long long)pawl_state_life(y->st));
    id_code(&b, it);
    buf_char(&b, '\0');
    if (b.failed)
        sim_nomem(w);
    d = b.failed ? NULL : command_find(w, y, b.data, make);
    buf_free(&b);
    return d;
}

/* ---- lines ------------------------------------------------------------------------------------------ */

/* Effect names need no escape and members are sorted, so this text is enough; a false match does no harm. */
static void effect_see(world *w, const item *it)
{
    static const char key[] = "\"effect\":\"";
    const char *at = it->spec, *end = at + it->spec_size, *quote;

    for (; at != NULL && at < end && (at = memchr(at, '"', (size_t)(end - at))) != NULL; at++) {
        if ((size_t)(end - at) < sizeof key || memcmp(at, key, sizeof key - 1) != 0)
            continue;
        at += sizeof key - 1;
        if ((quote = memchr(at, '"', (size_t)(end - at))) != NULL)
            effect_register(w, at, (size_t)(quote - at));
        return;
    }
}

/* Its outcome was unknown, and a person had it performed again. */
static void again_see(world *w, const sim_run *y, sim_command *d, const item *it)
{
    frame *in;
    const call *c = call_find(y->st, it->superstep, it->task, it->visit, it->n, &in, NULL);
    call asked;
    arena mem;

    if (c == NULL)
        return;
    asked = *c;
    sm_begin(&call_table, &asked.at, CALL_OPEN, &asked);
    arena_init(&mem, &w->alloc, 512);
    d->cleared = doubt_attempts_cleared(&mem, &asked);
    d->rest_until_ms = 0;
    arena_free(&mem);
}

static void receipt_see(world *w, sim_run *y, sim_command *d, const item *it)
{
    if (it->kind == ITEM_ANSWER && pawl_value_type(it->value) == PAWL_TYPE_STRING) {
        again_see(w, y, d, it);
        return;
    }
    d->receipts++;
    d->done = it->kind == ITEM_ANSWER ? pawl_value_get(it->value, "done") != NULL : it->outcome == PAWL_OUTCOME_DONE;
    sim_holds(w, PROMISE_E6, d->receipts == 1, y, d->id, "%s: a second receipt is stored", d->id);
    sim_holds(w, PROMISE_E6, d->durable, y, d->id, "%s: a receipt is stored for what was never asked", d->id);
    if (d->own) {
        sleep_check(w, y, d, it);
        return;
    }
    sim_holds(w, PROMISE_E6, it->outcome != PAWL_OUTCOME_DONE || d->performed > 0, y, d->id, "%s: it is stored as done, and nobody has performed it", d->id);
    if (it->outcome != PAWL_OUTCOME_DONE && !d->failed && !state_canceling(y->st))
        y->marred = true;
}

static void item_see(world *w, sim_run *y, const item *it)
{
    sim_command *d;

    if (it->kind != ITEM_CALL && it->kind != ITEM_SLEEP && it->kind != ITEM_SPAWN && it->kind != ITEM_RECEIPT && it->kind != ITEM_ANSWER)
        return;
    if ((d = command_of_item(w, y, it, it->kind != ITEM_ANSWER)) == NULL) {
        if (!w->over)
            answer_check(w, y, it);     /* an answer to a wait, not to a command */
        return;
    }
    if (it->kind == ITEM_RECEIPT || it->kind == ITEM_ANSWER) {
        receipt_see(w, y, d, it);
        return;
    }
    d->durable = true;
    d->own = it->kind != ITEM_CALL;
    d->due_ms = it->kind == ITEM_SLEEP ? it->at : 0;
    if (!d->own)
        effect_see(w, it);
}

/* The setup's own invariant (`stored`). */
static void setup_stored(world *w, sim_run *y, const pawl_entry *entry)
{
    const char *oracle = "own";
    pawl_err why = { PAWL_OK, "" };

    if (!w->over && w->setup->stored != NULL && !w->setup->stored(w->setup->ctx, y->st, entry, &oracle, &why))
        oracle_failed(w, oracle, y, NULL, "%s: at entry %llu %s", y->id, (unsigned long long)pawl_state_seq(y->st), why.text);
}

typedef struct reading { world *w; sim_run *y; size_t skip; buf lines; } reading;
typedef struct line_head { pawl_line_kind kind; uint64_t seq; size_t size; } line_head;

/* Collected first: their blobs are read from the same store. */
static bool line_gather(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    const line_head head = { kind, seq, line.size };
    reading *r = ctx;

    buf_put(&r->lines, &head, sizeof head);
    buf_put(&r->lines, line.data, line.size);
    return !r->lines.failed;
}

static bool blob_see(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes bytes)
{
    (void)kind, (void)seq;
    buf_put(ctx, bytes.data, bytes.size);
    return false;
}

static pawl_code sim_run_blob(void *ctx, const char *digest, pawl_bytes *bytes, pawl_err *err)
{
    sim_run *y = ctx;
    pawl_code rc;

    buf_reset(&y->blob);
    rc = y->of->store->verbs->blob(y->of->store, y->id, digest, blob_see, &y->blob, err);
    *bytes = (pawl_bytes){ y->blob.data, y->blob.size };
    return rc == PAWL_OK && y->blob.failed ? fail(err, PAWL_NOMEM, "%s: no memory for a blob", y->id) : rc;
}

pawl_loader sim_run_loader(world *w, sim_run *y)
{
    if (y->of == NULL)
        buf_init(&y->blob, &w->alloc);
    y->of = w;
    return (pawl_loader){ .blob = sim_run_blob, .ctx = y };
}

static bool line_see(reading *r, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    world *w = r->w;
    sim_run *y = r->y;
    const pawl_loader loader = sim_run_loader(w, y);
    pawl_err why = { PAWL_OK, "" };
    pawl_entry *entry;
    pawl_code rc;

    if (kind == PAWL_LINE_BASE && y->st != NULL) {
        rc = PAWL_OK;
    } else if (kind == PAWL_LINE_BASE) {
        if ((rc = pawl_state_load(line, (pawl_bytes){0}, &loader, NULL, &y->st, &why)) == PAWL_OK)
            setup_stored(w, y, NULL);
    } else if (kind == PAWL_LINE_RECORD && r->skip > 0) {
        r->skip--;
        return true;
    } else if ((rc = pawl_entry_read(line, w->look, &entry, &why)) == PAWL_OK && (rc = pawl_entry_load(y->st, entry, &why)) == PAWL_OK) {
        for (const item *it = entry->items; it != NULL && !w->over; it = it->next)
            item_see(w, y, it);
        if (!w->over)
            rc = pawl_apply(y->st, entry, &why);
        for (const item *it = entry->items; it != NULL && rc == PAWL_OK && !w->over; it = it->next)
            if (it->kind == ITEM_CALL && strcmp(it->task, UNDO_TASK) == 0)
                inverse_check(w, y, it);
        y->nrecords = entry->record ? y->nrecords + 1 : 0;
        if (rc == PAWL_OK)
            setup_stored(w, y, entry);
    }
    if (rc == PAWL_NOMEM)
        sim_nomem(w);
    else
        sim_holds(w, PROMISE_K8, rc == PAWL_OK, y, NULL, "%s: what is stored after entry %llu cannot be folded: %s", y->id, (unsigned long long)seq, why.text);
    return !w->over;
}

void sim_run_created(world *w, pawl_bytes base)
{
    store_base b;
    arena mem;
    sim_run *y;

    arena_init(&mem, &w->alloc, base.size);
    if (store_base_read(&mem, base, &b, NULL) == PAWL_OK && sim_run_find(w, b.run) == NULL) {
        if (w->nruns < SIM_RUNS_MAX) {
            y = &w->runs[w->nruns++];
            *y = (sim_run){ .child = true, .begun = true };
            memcpy(y->id, b.run, strlen(b.run) + 1);
        } else {
            oracle_failed(w, "limit", NULL, NULL, "%s: more than %d runs, children among them", b.run, (int)SIM_RUNS_MAX);
        }
    }
    arena_free(&mem);
}

void sim_run_follow(world *w, sim_run *y)
{
    reading r = { .w = w, .y = y, .skip = y->nrecords };
    uint64_t after = y->st != NULL ? pawl_state_seq(y->st) : 0;
    pawl_err why = { PAWL_OK, "" };
    bool goes_on = !w->over;
    line_head head;
    pawl_code rc;

    buf_init(&r.lines, &w->alloc);
    rc = w->over ? PAWL_OK : w->store->verbs->read(w->store, y->id, after, 0, line_gather, &r, &why);
    if (r.lines.failed)
        rc = PAWL_NOMEM;
    for (size_t at = 0; rc == PAWL_OK && goes_on && at < r.lines.size; at += sizeof head + head.size) {
        memcpy(&head, r.lines.data + at, sizeof head);
        goes_on = line_see(&r, head.kind, head.seq, (pawl_bytes){ r.lines.data + at + sizeof head, head.size });
    }
    buf_free(&r.lines);
    if (rc == PAWL_NOMEM)
        sim_nomem(w);
    else if (rc != PAWL_OK && rc != PAWL_GONE)
        sim_holds(w, PROMISE_K8, false, y, NULL, "%s: what was stored cannot be read: %s", y->id, why.text);
}

/* The run was lost whole and begins again with another life. What was performed for the lost one still replies, and no reply may be taken (E16). */
static void lost_run_replies(world *w, sim_run *y)
{
    for (sim_command *d = y->commands; d != NULL; d = d->next)
        late_reply_put(w, NULL, y, d);
}

void sim_run_refold(world *w, sim_run *y)
{
    const bool was_there = y->st != NULL;

    pawl_state_free(y->st);
    y->st = NULL;
    y->nrecords = 0;
    *y->undone_id = '\0';
    for (sim_command *d = y->commands; d != NULL; d = d->next) {
        d->durable = d->done = d->undone = false;
        d->receipts = 0;
    }
    sim_run_follow(w, y);
    if (was_there && y->st == NULL)
        lost_run_replies(w, y);
    y->begun = y->child || (y->st != NULL && pawl_state_seq(y->st) > 0);
    y->called_off = false;
    y->signals = 0;
}

void sim_run_answered(world *w, sim_run *y, const pawl_delivery *d)
{
    const size_t n = strlen(d->name);
    sim_answer *a = mem_new(&w->alloc, sizeof *a + n + 1);

    if (a == NULL) {
        sim_nomem(w);
        return;
    }
    *a = (sim_answer){ .next = y->answers, .at_ms = d->at_ms, .size = n };
    memcpy(a->id, d->name, n + 1);
    y->answers = a;
}

void sim_run_free(world *w, sim_run *y)
{
    pawl_state_free(y->st);
    for (sim_command *d = y->commands, *next; d != NULL; d = next) {
        next = d->next;
        mem_free(&w->alloc, d->reply, d->reply_size);
        mem_free(&w->alloc, d, sizeof *d + strlen(d->id) + 1);
    }
    for (sim_answer *a = y->answers, *next; a != NULL; a = next) {
        next = a->next;
        mem_free(&w->alloc, a, sizeof *a + a->size + 1);
    }
    if (y->json != NULL)
        mem_free(&w->alloc, y->json, y->json_size);
    if (y->of != NULL)
        buf_free(&y->blob);
}

/* ---- how it stands -------------------------------------------------------------------------------------- */

typedef struct left { bool signals, others; } left;

static bool see_delivery(void *ctx, const pawl_delivery *d)
{
    *(d->kind == PAWL_DELIVER_SIGNAL ? &((left *)ctx)->signals : &((left *)ctx)->others) = true;
    return true;
}

/* It waits for somebody who will never come. */
static bool waits_for_nobody(world *w, sim_run *y)
{
    left l = { false, false };
    bool will = false;
    buf room;

    if (pawl_state_next(y->st) != PAWL_INTERRUPTED || (!y->child && y->signals < w->setup->nsignals))
        return false;
    (void)w->store->verbs->deliveries(w->store, y->id, see_delivery, &l, NULL);
    will = w->m->hears && l.signals;
    buf_init(&room, &w->alloc);
    for (size_t i = 0; i < pawl_state_waits(y->st) && !will; i++) {
        pawl_wait wait;

        if (pawl_state_wait(y->st, i, w->look, &wait, NULL) != PAWL_OK)
            break;
        will = command_find(w, y, wait.id, false) != NULL || (wait.expires_ms > 0 && wait.otherwise != NULL) ||
            (wait.kind == PAWL_WAIT_SIGNAL ? l.signals : answer_to(w, &wait, &room) != NULL);
    }
    buf_free(&room);
    return !will && !l.others;
}

bool sim_run_settled(world *w, sim_run *y)
{
    pawl_head head;

    if (y->st == NULL || pawl_state_seq(y->st) == 0)
        return y->child && y->st == NULL;       /* nobody needs it any more */
    if (pawl_state_next(y->st) == PAWL_HALTED)      /* until the parent is notified, the end of a child has a due timer */
        return !y->child || !w->calm || (w->store->verbs->head(w->store, y->id, &head, NULL) == PAWL_OK && head.wake_ms == 0);
    return (!y->cancel || w->plain || y->called_off) && waits_for_nobody(w, y);
}
