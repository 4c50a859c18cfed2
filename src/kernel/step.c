/* step.c - the step loop: pawl_feed() and pawl_advance(), the only entry points that feed an event (K1).
 *
 * Called by the owner of the state, on its thread. One feed is one transaction: events.c makes the event's item, the machine continues, the
 * step is written as bytes, and the transaction is committed (advance) or rolled back (feed, and every error). */
#include "kernel/channel.h"
#include "kernel/compensation.h"
#include "kernel/events.h"
#include "kernel/journal/codec.h"
#include "kernel/machine.h"
#include "kernel/names.h"

#include <string.h>

/* ---- a fork was asked about a command of the run that it comes from (K10) ------------------------------ */

/* The answer to the question whether a fork issues a command again. No: the fork ends. Yes: the visits of a graph make the command again; a
 * reducer does not run again, so the stored command is issued. */
static pawl_code step_again(pawl_step *s, const pawl_value *command, pawl_err *err)
{
    const char *kind = pawl_value_string(pawl_value_at(command, 0));
    item *it;
    size_t size;
    const char *reason;
    buf *b;
    pawl_code rc;

    if (!pawl_value_bool(s->value)) {
        reason = reason_code(s, PAWL_DENIED, "a command of the run that this is a fork of is not to be issued again", NULL, &size);
        rc = reason == NULL ? PAWL_NOMEM : step_drop(s, true, err);
        return rc == PAWL_OK ? step_end(s, PAWL_STATUS_REJECTED, reason, size, err) : rc;
    }
    if (s->st->root.superstep > 0)
        return s->m->ops->drive(s->m, s, err);
    if (kind == NULL || pawl_value_type(pawl_value_at(command, 1)) != PAWL_TYPE_OBJECT)
        return fail(err, PAWL_CORRUPT, "%s: a wait holds what is no command", s->st->run);
    if ((it = step_item(s, strcmp(kind, item_name(ITEM_SPAWN)) == 0 ? ITEM_SPAWN : ITEM_CALL)) == NULL)
        return PAWL_NOMEM;
    b = step_text(s);
    canon(b, pawl_value_at(command, 1));
    it->spec = step_copy(s, b, &it->spec_size);
    it->task = "@";
    it->visit = 1;
    it->superstep = s->st->seq + 1;
    if (it->spec == NULL)
        return PAWL_NOMEM;
    rc = step_add(s, it, err);
    return rc == PAWL_OK ? budget_check_caps(s->st, err) : rc;
}

/* ---- bytes --------------------------------------------------------------------------------------------- */

/* An entry covers the task records before it: adds a records item with their digest. */
static pawl_code records_cover(pawl_step *s, pawl_err *err)
{
    pawl_state *st = s->st;
    char hex[HASH_HEX + 1];
    item *it;
    hash h;

    if (st->nmarks == 0)
        return PAWL_OK;
    if ((it = step_item(s, ITEM_RECORDS)) == NULL)
        return fail(err, PAWL_NOMEM, "no memory for a step");
    marks_digest(st, &h);
    hash_hex(&h, hex);
    it->n = st->nmarks;
    it->value = value_string(&s->mem, hex, HASH_HEX);
    it->next = s->entry.items;
    s->entry.items = it;
    s->entry.count++;
    s->entry.kinds |= kind_bit(ITEM_RECORDS);
    if (s->entry.last == NULL)
        s->entry.last = it;
    return it->value == NULL ? PAWL_NOMEM : PAWL_OK;
}

/* Whether the state must store leave items as text: those that this entry does not merge. */
static bool text_needed(const pawl_entry *e)
{
    bool left = false;

    for (const item *it = (e->kinds & kind_bit(ITEM_LEAVE)) != 0 ? e->items : NULL; it != NULL; it = it->next) {
        if (it->kind == ITEM_LEAVE) {
            if (it->inner)
                return true;
            left = true;
        } else if (it->kind == ITEM_CLOSE && *it->task == '\0') {
            left = false;
        }
    }
    return left;
}

static pawl_code step_finish(pawl_step *s, pawl_err *err)
{
    pawl_entry *e = &s->entry;
    pawl_state *st = s->st;
    bool open = st->root.open && !st->t->closed && (s->was_open || s->ev->kind == PAWL_EV_TICK);

    e->record = open && !s->whole && s->final < 0;
    e->kind = (uint8_t)s->ev->kind;
    e->turn = st->turn;
    e->status = (uint8_t)(s->final >= 0 ? s->final : (int)status_now(st));
    e->closes = st->t->closed;
    PAWL_ASSERT_SLOW(e->record || sm_may_hot(status_rows, st->status, e->status), "K1: the status of a run moves along its table");
    PAWL_ASSERT_SLOW(e->time_ms >= st->time_ms, "K2: the time of a run never goes back");
    s->next = next_of_state(st, e->status);
    if (!e->record) {
        e->seq = st->seq + 1;
        e->prev = st->head;
        if (records_cover(s, err) != PAWL_OK)
            return PAWL_NOMEM;
    }
    PAWL_ASSERT(!e->record || (s->final < 0 && st->root.open), "E2: a task record is of an open superstep");
    e->hashed = !st->no_journal;
    s->texts = text_needed(e);
    if (e->hashed || s->texts)
        entry_code(e, &s->out, &s->refs, e->hashed ? &s->blobs : NULL, &s->scratch);
    e->apart = s->blobs.bytes;
    if (s->out.failed || s->mem.failed)
        return fail(err, PAWL_NOMEM, "no memory for the bytes of a step");
    if (s->out.size > TEXT_BYTES_MAX)
        return fail(err, PAWL_LIMIT, "%s: a step of %zu bytes is over the limit of %zu (TEXT_BYTES_MAX)", st->run, s->out.size, TEXT_BYTES_MAX);
    s->has_entry = true;
    return PAWL_OK;
}

/* ---- feed ------------------------------------------------------------------------------------------------ */

static pawl_code machine_fits(const pawl_machine *m, const pawl_state *st, const pawl_event *ev, pawl_err *err)
{
    if (hash_equal(&m->hash, &st->machine_hash) && m->version == st->version)
        return PAWL_OK;
    if (strcmp(m->name, st->machine) == 0 && ev->kind == PAWL_EV_ADOPT)
        return PAWL_OK;
    return fail(err, PAWL_CONFLICT, "%s: it runs under machine %s %u, and this is another %s %u: adopt it, or feed the old one",
                st->run, st->machine, (unsigned)st->version, m->name, (unsigned)m->version);
}

/* Times never go back. A receipt keeps its own time, so that entries do not depend on the order of arrival; an entry after task records has
 * the latest of their times. */
static int64_t event_time(const pawl_state *st, const pawl_event *ev)
{
    int64_t least = st->time_ms;

    if (ev->kind == PAWL_EV_TICK && st->nmarks > 0)
        return st->record_ms > least ? st->record_ms : least;
    if (!st->root.open && st->record_ms > least)
        least = st->record_ms;
    return ev->time_ms > least ? ev->time_ms : least;
}

/* Puts the members into canonical order, the order of the journal, so that node code that iterates sees the same order at every replay (K2). */
static const pawl_value *event_value(pawl_step *s, const char *text, size_t size, const char *what, pawl_err *why)
{
    const pawl_value *v = value_parse(&s->mem, text, size, what, why);
    buf b;

    if (v == NULL || value_ordered(v))
        return v;
    buf_init(&b, &s->mem.alloc);
    canon(&b, v);
    v = b.failed ? NULL : value_parse(&s->mem, b.data, b.size, what, why);
    if (b.failed)
        fail(why, PAWL_NOMEM, "%s: no memory", what);
    buf_free(&b);
    return v;
}

static pawl_code event_parse(pawl_step *s, const pawl_event *ev, pawl_err *err)
{
    size_t size = ev->value_size > 0 || ev->value == NULL ? ev->value_size : strlen(ev->value);
    pawl_err why;

    err_begin(&why);
    if (ev->value != NULL && (s->value = event_value(s, ev->value, size, "the event's value", &why)) == NULL)
        return fail(err, why.code, "%s", why.text);
    if (ev->update != NULL) {
        s->update = event_value(s, ev->update, strlen(ev->update), "the event's update", &why);
        if (s->update == NULL)
            return fail(err, why.code, "%s", why.text);
        if (pawl_value_type(s->update) != PAWL_TYPE_OBJECT)
            return fail(err, PAWL_INVALID, "an update is an object of channels");
    }
    return PAWL_OK;
}

/* The rest of an apply after the folds of the items: the state keeps copies of values that the step owns, and the entry becomes the newest. */
static pawl_code feed_keep(pawl_step *s)
{
    pawl_entry *e = &s->entry;
    pawl_state *st = s->st;
    pawl_code rc = !e->record && st->nmarks > 0 ? marks_drop(st) : PAWL_OK;
    frame *in;

    for (const item *it = s->texts ? e->items : NULL; it != NULL; it = it->next) {
        task *tk = it->kind != ITEM_LEAVE ? NULL : task_find(st, it->task, &in);

        if (tk == NULL || tk->leave != it->leave)
            continue;
        if (!touch(st, &tk->leave, LEFT_BYTES))
            return PAWL_NOMEM;
        tk->leave = NULL;
        tk->left_size = it->text_size;
        if ((tk->left = st_text(st, e->items_text + it->text_at, it->text_size)) == NULL)
            return PAWL_NOMEM;
    }
    for (const item *it = e->record && e->hashed ? e->items : NULL; it != NULL && rc == PAWL_OK; it = it->next)
        rc = mark_add(st, it, e->items_text + it->text_at);
    PAWL_ASSERT(rc != PAWL_OK || e->record || st->nmarks == 0, "E2: an entry covers the records before it");
    if (rc == PAWL_OK)
        head_advance(st, e);
    return rc;
}

/* A tick has no item: it lets the machine continue where no outside event is needed. */
static inline pawl_code take_tick(const pawl_state *st)
{
    return st->status != PAWL_STATUS_SUBMITTED && !status_is_terminal(st->status) && state_runnable(st) ? PAWL_OK : PAWL_IGNORED;
}

static inline pawl_code feed_in(pawl_step *s, pawl_err *err)
{
    const pawl_value *again;
    pawl_code rc;

    if ((rc = s->ev->kind == PAWL_EV_TICK ? take_tick(s->st) : take_event(s, err)) != PAWL_OK)
        return rc;
    again = s->answered != NULL && s->answered->task != NULL ? spec_get(s, s->answered, "command") : NULL;
    if (state_canceling(s->st) || (s->st->unwind != 0 && !status_is_terminal(s->st->status)))
        rc = step_cancel(s, err);
    else if (s->skips_machine)
        rc = PAWL_OK;
    else
        rc = again != NULL ? step_again(s, again, err) : s->m->ops->drive(s->m, s, err);
    if (rc != PAWL_OK)
        return rc;
    return step_finish(s, err);
}

/* Any other error may be a consequence of missing memory, so PAWL_NOMEM has precedence. */
static pawl_code feed_error(const pawl_step *s, const pawl_state *st, const pawl_event *ev, pawl_code rc, const pawl_err *why, pawl_err *err)
{
    size_t n = strlen(st->run);

    if (rc == PAWL_NOMEM || s->mem.failed)
        return fail(err, PAWL_NOMEM, "%s: no memory for a step", st->run);
    if (st->load_failed != PAWL_OK)
        return fail(err, st->load_failed, "%s: what is committed could not be read", st->run);
    if (why->code != PAWL_OK && strncmp(why->text, st->run, n) == 0 && why->text[n] == ':')
        return fail(err, rc, "%s", why->text);
    return fail(err, rc, "%s: %s: %s", st->run, kind_names[ev->kind], why->code != PAWL_OK ? why->text : pawl_code_name(rc));
}

static pawl_code feed(const pawl_machine *m, pawl_state *st, const pawl_event *ev, bool keep, pawl_step *s, pawl_err *err)
{
    pawl_err why;
    pawl_code rc;

    if (m == NULL || st == NULL || ev == NULL || s == NULL)
        return fail(err, PAWL_INVALID, "feed: a machine, a state, an event and a step are needed");
    step_reset(s);
    if (ev->kind < PAWL_EV_START || ev->kind > PAWL_EV_REOPEN)
        return fail(err, PAWL_INVALID, "%s: event kind %d is none", st->run, (int)ev->kind);
    why.code = PAWL_OK;
    why.text[0] = '\0';
    st->load_failed = PAWL_OK;
    if ((rc = machine_fits(m, st, ev, &why)) == PAWL_OK && (ev->value != NULL || ev->update != NULL))
        rc = event_parse(s, ev, &why);
    if (rc != PAWL_OK)
        return feed_error(s, st, ev, rc, &why, err);
    s->st = st;
    s->m = m;
    s->ev = ev;
    s->was_open = st->root.open;
    s->was_canceling = state_canceling(st);
    s->now = s->entry.time_ms = event_time(st, ev);
    txn_begin(st, &s->t, &s->mem, keep ? TXN_ADVANCE : TXN_FEED);
    rc = feed_in(s, &why);
    if (keep && rc == PAWL_OK)
        rc = feed_keep(s);
    txn_end(st, rc == PAWL_OK && !s->mem.failed && st->load_failed == PAWL_OK);
    s->v = NULL;
    if (rc < 0 || s->mem.failed || st->load_failed != PAWL_OK)
        rc = feed_error(s, st, ev, rc, &why, err);
    PAWL_ASSERT(rc != PAWL_IGNORED || !s->has_entry, "K1: what is ignored makes no entry");
    if (rc == PAWL_OK)
        return s->next;
    s->has_entry = false;
    blobs_reset(&s->blobs);
    st->ignored += rc == PAWL_IGNORED;
    return rc;
}

pawl_code pawl_feed(const pawl_machine *m, pawl_state *st, const pawl_event *ev, pawl_step *s, pawl_err *err)
{
    return feed(m, st, ev, false, s, err);
}

pawl_code pawl_advance(const pawl_machine *m, pawl_state *st, const pawl_event *ev, pawl_step *s, pawl_err *err)
{
    return feed(m, st, ev, true, s, err);
}
