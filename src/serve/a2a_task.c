/* a2a_task.c - a task for a call: the items of its run, folded, with what the store knows and the journal does not have yet. Loop thread. */
#include "host/open_questions.h"
#include "serve/a2a_call.h"
#include "store/store.h"

#include <stdio.h>

/* ---- the record of a run ----------------------------------------------------------------------------------------------- */

/* The id of the message that began it, from its labels. */
typedef struct label_look { arena *mem; const char *message; } label_look;

static bool see_labels(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    label_look *l = ctx;
    store_base base;

    (void)seq;
    if (kind == PAWL_LINE_BASE && store_base_read(l->mem, line, &base, NULL) == PAWL_OK)
        for (size_t i = 0; i < base.nlabels; i++)
            if (strncmp(base.labels[i], "a2a:", 4) == 0)
                l->message = arena_text(l->mem, base.labels[i] + 4);
    return false;
}

bool a2a_open_task(a2a_call *c, const char *run)
{
    const pawl_items_options o = { .kinds = 4 * PAWL_ITEM_USAGE - 1 };  /* all, and lines */
    pawl_store *store = c->s->store;
    label_look l = { .mem = &c->mem };
    pawl_head head = { 0 };
    pawl_err err = { PAWL_OK, "" };
    pawl_code rc;

    if (run != c->run)
        snprintf(c->run, sizeof c->run, "%s", run);
    (void)store->verbs->load(store, c->run, see_labels, &l, NULL);
    pawl_items_close(c->items);
    a2a_task_free(c->t);
    c->items = NULL;
    c->t = NULL;
    if ((rc = store->verbs->head(store, c->run, &head, &err)) == PAWL_OK &&
        (c->t = a2a_task_new(&(a2a_task_of){ c->run, head.context, head.machine, l.message, head.life })) == NULL)
        rc = fail(&err, PAWL_NOMEM, "no memory for this task");
    if (rc == PAWL_OK && (c->items = pawl_items_open(NULL, store, c->run, &o, &err)) == NULL)
        rc = err.code;
    if (rc != PAWL_OK)
        a2a_fault_of(c, rc, err.text);
    return rc == PAWL_OK;
}

static const char *item_json(void *ctx) { return pawl_items_json(ctx, NULL); }

pawl_code a2a_read_task(a2a_call *c, size_t most, a2a_event_fn *fn, void *ctx)
{
    pawl_item_change ch;
    pawl_err err = { PAWL_OK, "" };
    pawl_code rc = PAWL_OK;

    for (size_t i = 0; i < most && (rc = pawl_items_next(c->items, &ch, &err)) == PAWL_OK; i++)
        a2a_task_take(c->t, &ch, item_json, c->items, fn, ctx);
    if (rc > PAWL_OK)
        a2a_task_rest(c->t, fn, ctx);
    if (rc < 0)
        a2a_fault_of(c, rc, err.text);
    else if (a2a_task_failed(c->t))
        rc = (a2a_fault_of(c, PAWL_NOMEM, "a part of this task cannot be read"), PAWL_NOMEM);
    return rc > PAWL_OK ? PAWL_PENDING : rc;
}

static bool see_wait(void *ctx, const char *run, const pawl_waiting *w)
{
    (void)run;
    if (w->answered)
        (void)a2a_task_answered(ctx, w->id);
    return true;
}

enum { CHILD_ASKS_MOST = 32 };
typedef struct answered_look { const char *id; bool answered; } answered_look;

static bool see_answered(void *ctx, const char *run, const pawl_waiting *w)
{
    answered_look *l = ctx;

    (void)run;
    l->answered = l->answered || (w->answered && strcmp(w->id, l->id) == 0);
    return !l->answered;
}

enum { COMING_MOST = 32 };
typedef struct coming_look { arena *mem; pawl_bytes values[COMING_MOST]; size_t n; bool input; } coming_look;

static bool see_coming(void *ctx, const pawl_delivery *d)
{
    coming_look *l = ctx;

    if (d->kind == PAWL_DELIVER_SIGNAL && d->name != NULL && strcmp(d->name, A2A_SIGNAL) == 0) {
        l->values[l->n] = arena_bytes(l->mem, d->value);
        l->n += l->values[l->n].data != NULL;
    }
    l->input = l->input || d->kind == PAWL_DELIVER_INPUT;
    return l->n < COMING_MOST;
}

/* Messages and input in its mailbox. */
static void look_at_coming(a2a_call *c, bool mail)
{
    coming_look l = { .n = 0 };
    arena mem;

    arena_init(&mem, NULL, 1024);
    l.mem = &mem;
    if (mail)
        (void)c->s->store->verbs->deliveries(c->s->store, c->run, see_coming, &l, NULL);
    a2a_task_coming(c->t, l.values, l.n);
    if (l.input)
        (void)a2a_task_answered(c->t, NULL);
    arena_free(&mem);
}

/* A run that waits for children has their questions. */
static void look_at_children(a2a_call *c)
{
    const char *waits[CHILD_ASKS_MOST], *kinds[CHILD_ASKS_MOST];
    pawl_store *store = c->s->store;
    pawl_bytes specs[CHILD_ASKS_MOST];
    asks all = { .works = true };
    size_t n = 0;
    arena mem;

    arena_init(&mem, NULL, 4096);
    if (a2a_task_has_children(c->t) && asks_read(store, &mem, c->run, &all, NULL) == PAWL_OK &&
        asks_status(&all, PAWL_STATUS_WORKING) == PAWL_STATUS_INPUT_REQUIRED)
        for (size_t i = 0; i < all.n && n < CHILD_ASKS_MOST; i++) {
            const ask *a = &all.all[i];
            answered_look l = { .id = a->w.id };

            if (!ask_is_childs(a, c->run) || (a->w.kind != PAWL_WAIT_APPROVAL && a->w.kind != PAWL_WAIT_QUESTION) ||
                store->verbs->waits(store, a->run, see_answered, &l, NULL) != PAWL_OK || l.answered)
                continue;
            waits[n] = a->w.id;
            kinds[n] = a->w.kind == PAWL_WAIT_APPROVAL ? "approval" : "question";
            specs[n++] = a->spec;
        }
    a2a_task_children(c->t, waits, kinds, specs, n);
    arena_free(&mem);
}

bool a2a_look_at_mail(a2a_call *c)
{
    pawl_store *store = c->s->store;
    pawl_err err = { PAWL_OK, "" };
    pawl_head head = { 0 };
    pawl_code rc = store->verbs->head(store, c->run, &head, &err);
    const bool mail = head.mail > 0;

    if (rc == PAWL_OK) {
        c->changed_ms = head.changed_ms;
        c->parked = head.parked != NULL;
        if (head.waits > 0)
            rc = store->verbs->waits(store, c->run, see_wait, c->t, &err);
    }
    if (rc != PAWL_OK)
        a2a_fault_of(c, rc, err.text);
    else
        look_at_children(c);
    if (rc == PAWL_OK)
        look_at_coming(c, mail);
    return rc == PAWL_OK;
}

void a2a_put_task(a2a_call *c, buf *b, bool artifacts)
{
    const a2a_view view = { .version = c->q.version, .history = c->q.history, .artifacts = artifacts, .time_ms = c->changed_ms };

    a2a_task_put(b, c->t, &view);
}
