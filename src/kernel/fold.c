/* fold.c - the fold: applies each kind of item to a state; superstep_close.c has the close of a superstep.
 *
 * Called inside a transaction, while a step is fed and while a stored entry is applied. A fold needs no machine: items and base are complete.
 * An item that contradicts the state is PAWL_CORRUPT; each fold checks before it changes the state. */
#include "kernel/compensation.h"
#include "kernel/fold.h"
#include "kernel/journal/apart.h"
#include "kernel/journal/base.h"
#include "kernel/journal/codec.h"
#include "kernel/names.h"
#include "kernel/pending.h"
#include "kernel/references.h"
#include "kernel/rights.h"
#include "kernel/signed.h"
#include "kernel/task_index.h"

#include <string.h>

static pawl_code corrupt(pawl_err *err, const item *it, const char *what)
{
    return fail(err, PAWL_CORRUPT, "item \"%s\"%s%s: %s", item_name(it->kind), it->task != NULL && *it->task != '\0' ? " of " : "",
                it->task != NULL ? it->task : "", what);
}

/* ---- what came in --------------------------------------------------------------------------------- */

static pawl_code fold_start(pawl_state *st, const pawl_entry *e, const item *it, pawl_err *err)
{
    if (st->status != PAWL_STATUS_SUBMITTED)
        return corrupt(err, it, "the run has begun already");
    if (st->budget != NULL && budget_starts(st, e->time_ms) != PAWL_OK)
        return PAWL_NOMEM;
    return put_writes(st, &st->root, it->value, false, err);
}

/* The name of the snapshot of the entry before: it stands in the chain, and changes nothing (K11). */
static pawl_code fold_naming(const pawl_state *st, const item *it, pawl_err *err)
{
    const pawl_value *name = pawl_value_get(it->value, SNAPSHOT_MEMBER);
    const char *hex = pawl_value_string(pawl_value_get(name, "digest"));
    hash h;

    if (hex == NULL || !hash_unhex(hex, strlen(hex), &h) || pawl_value_size(it->value) != 1 || pawl_value_size(name) != 2 ||
        (!st->only && pawl_value_uint(pawl_value_get(name, "seq")) != st->seq))
        return corrupt(err, it, "the name of a snapshot is {\"digest\",\"seq\"}, of the entry before");
    return PAWL_OK;
}

/* A stored update that take_event() would have refused: somebody else has written it. */
static pawl_code settings_check(pawl_state *st, const item *it, const pawl_value *update, pawl_err *err)
{
    return st->t->mode != TXN_APPLY || rights_keep_signers(st, update) ? PAWL_OK : corrupt(err, it, SIGNERS_OTHER);
}

static pawl_code fold_update(pawl_state *st, const item *it, pawl_err *err)
{
    const pawl_value *v = it->value;
    pawl_code rc;

    if (pawl_value_get(v, SNAPSHOT_MEMBER) != NULL)
        return fold_naming(st, it, err);
    if ((rc = settings_check(st, it, v, err)) != PAWL_OK)
        return rc;
    rc = budget_update(st, &v, err);
    if (rc != PAWL_OK || (v != it->value && pawl_value_size(v) == 0))
        return rc;
    if (!st->root.open)
        return put_writes(st, &st->root, v, false, err);
    if ((rc = writes_check(st, &st->root, v, err)) != PAWL_OK)
        return rc;
    return pending_add(st, v);
}

static pawl_code fold_adopt(pawl_state *st, const item *it, pawl_err *err)
{
    const char *hex = pawl_value_string(pawl_value_get(it->value, "hash"));
    hash h;

    if (hex == NULL || !hash_unhex(hex, strlen(hex), &h))
        return corrupt(err, it, "no hash of a machine");
    if (!TOUCH(st, &st->machine_hash) || !TOUCH(st, &st->version))
        return PAWL_NOMEM;
    st->machine_hash = h;
    st->version = (uint32_t)pawl_value_uint(pawl_value_get(it->value, "version"));
    return decls_add(st, pawl_value_get(it->value, "channels"), err);
}

static pawl_code fold_records(pawl_state *st, const item *it, pawl_err *err)
{
    const char *hex = pawl_value_string(it->value);
    hash stored, now;

    if (it->n != st->nmarks || hex == NULL || !hash_unhex(hex, strlen(hex), &stored))
        return corrupt(err, it, "covers another number of records");
    marks_digest(st, &now);
    if (!hash_equal(&stored, &now))
        return corrupt(err, it, "the task records are not those that were covered");
    return marks_drop(st);
}

/* ---- visits ------------------------------------------------------------------------------------------ */

static inline pawl_code task_of(pawl_state *st, const item *it, task **tk, frame **f, pawl_err *err)
{
    if (it->place < st->root.ntasks && st->root.tasks[it->place].name == it->task) {
        *tk = &st->root.tasks[it->place];
        *f = &st->root;
    } else {
        *tk = task_find(st, it->task, f);
    }
    if (*tk == NULL)
        return corrupt(err, it, "there is no such task");
    if (it->kind != ITEM_VISIT && (*tk)->visit != it->visit)
        return corrupt(err, it, "that visit is over");
    return PAWL_OK;
}

/* Opens the superstep of this frame and of every frame around it. */
static inline pawl_code frame_opens(pawl_state *st, frame *f)
{
    for (; f != NULL && !f->open; f = f->parent) {
        PAWL_ASSERT(f->parent != NULL || f == &st->root, "G6: each frame is in the frame of the run");
        if (f->parent != NULL && !TOUCH(st, &f->open))
            return PAWL_NOMEM;
        f->open = true;
    }
    return PAWL_OK;
}

static pawl_code fold_visit(pawl_state *st, const item *it, pawl_err *err)
{
    frame *f;
    task *tk;
    pawl_code rc = task_of(st, it, &tk, &f, err);

    if (rc != PAWL_OK)
        return rc;
    if (it->visit != tk->visit && it->visit != tk->visit + 1)
        return corrupt(err, it, "visits come one by one");
    if (it->visit == tk->visit && tk->at != TASK_READY)
        return corrupt(err, it, "that visit has begun already");
    if (!task_may(tk, TASK_READY))
        return corrupt(err, it, "the task is done already");
    if ((rc = frame_opens(st, f)) != PAWL_OK)
        return rc;
    if ((rc = undo_note_dropped(st, f, tk, it->task, err)) != PAWL_OK)
        return rc;
    if (st->no_progress > 0 && (rc = progress_visit_end(st, tk)) != PAWL_OK)
        return rc;
    if (!task_touch(st, tk))
        return PAWL_NOMEM;
    visit_drop(st, tk);
    if (tk->at == TASK_FAILED)
        tk->since = tk->visit;
    tk->calls = NULL;
    tk->ncalls = tk->calls_cap = tk->nwins = tk->commands = tk->waits = 0;
    tk->wins = NULL;
    tk->racing = false;
    tk->left = tk->fault = NULL;
    tk->leave = NULL;
    tk->child = NULL;
    tk->visit = it->visit;
    tk->visit_ms = it->at;
    tk->timed = true;
    task_move(tk, TASK_READY);
    return PAWL_OK;
}

/* A visit that starts in an entry has the entry's time; in a task record, an earlier visit item has set the time. */
static void visit_time(const pawl_entry *e, task *tk)
{
    if (tk->at == TASK_READY && !tk->timed && !e->record)
        tk->visit_ms = e->time_ms;
}

/* The first value of a channel of a subgraph: a value, or the value of a channel of the surrounding graph. */
static const pawl_value *frame_input(pawl_state *st, arena *a, frame *outer, const task *tk, const item_write *w, pawl_err *err)
{
    const pawl_value *ref = pawl_value_at(w->refs.list, 0), *v;
    const char *form = pawl_value_string(pawl_value_at(ref, 1)), *from = pawl_value_string(pawl_value_at(ref, 2));
    channel *c;

    if (ref == NULL)
        return w->value;
    if (form == NULL || from == NULL || strcmp(form, "channel") != 0)
        return refs_resolve(st, a, tk, NULL, w->value, w->refs.list, NULL, err);
    c = channel_find(outer, from);
    if ((v = c == NULL ? NULL : channel_value(st, c)) == NULL)
        fail(err, PAWL_CORRUPT, "a subgraph begins with channel \"%s\", and there is nothing in it", from);
    return v;
}

static pawl_code fold_frame(pawl_state *st, pawl_entry *e, const item *it, pawl_err *err)
{
    char where[PATH_BYTES_MAX];
    frame *f, *child;
    task *tk;
    pawl_code rc = task_of(st, it, &tk, &f, err);
    size_t n;

    if (rc != PAWL_OK)
        return rc;
    if (!task_may(tk, TASK_OPEN) || tk->child != NULL)
        return corrupt(err, it, "the subgraph was entered already");
    if (strlen(f->where) + tk->node_size + 2 > sizeof where)
        return corrupt(err, it, "too many subgraphs inside each other");
    n = strlen(f->where);
    memcpy(where, f->where, n);
    if (n > 0)
        where[n++] = '/';
    memcpy(where + n, tk->name, tk->node_size);
    where[n + tk->node_size] = '\0';
    if ((rc = frame_opens(st, f)) != PAWL_OK)
        return rc;
    if ((child = frame_new(st, f, where)) == NULL || !task_touch(st, tk))
        return PAWL_NOMEM;
    tk->child = child;
    visit_time(e, tk);
    child->now_ms = tk->visit_ms;
    task_move(tk, TASK_OPEN);
    for (uint32_t i = 0; i < it->nwrites && rc == PAWL_OK; i++) {
        channel *c = channel_find(child, it->writes[i].channel);
        const pawl_value *v;

        if (c == NULL && st->only)
            continue;
        if (c == NULL)
            return corrupt(err, it, "a channel that is not there");
        if ((v = frame_input(st, e->mem, f, tk, &it->writes[i], err)) == NULL)
            return e->mem->failed ? PAWL_NOMEM : PAWL_CORRUPT;
        rc = channel_write(st, c, OP_OVERWRITE, v, err);
    }
    return rc == PAWL_OK && it->more != NULL ? frame_restore(st, e, child, it->task, it->more, err) : rc;
}

/* ---- commands and waits --------------------------------------------------------------------------------- */

static bool calls_room(pawl_state *st, call **calls, uint32_t *cap, uint32_t count)
{
    uint32_t more = *cap == 0 ? 1 : *cap * 2;
    call *grown;

    PAWL_ASSERT(count <= *cap, "E1: calls are in their array");
    if (count < *cap)
        return true;
    if ((grown = st_alloc(st, more * sizeof *grown)) == NULL)
        return false;
    if (count > 0)
        memcpy(grown, *calls, count * sizeof *grown);
    st_free(st, *calls, *cap * sizeof *grown);
    *calls = grown;
    *cap = more;
    return true;
}

static pawl_code call_fill(pawl_state *st, task *tk, call *c, const item *it, pawl_err *err)
{
    pawl_code rc;

    if (it->spec_size > TEXT_BYTES_MAX)
        return fail(err, PAWL_LIMIT, "%s: a command of %zu bytes is over the limit of %zu (TEXT_BYTES_MAX)", it->task, it->spec_size, TEXT_BYTES_MAX);
    *c = (call){ .kind = it->kind == ITEM_ASK      ? CALL_ASK
                         : it->kind == ITEM_SLEEP  ? CALL_SLEEP
                         : it->kind == ITEM_SPAWN  ? CALL_SPAWN
                         : it->kind == ITEM_REFUSAL ? it->wait
                                                   : CALL_CALL,
                 .wait = it->wait, .superstep = it->superstep, .visit = it->visit, .n = it->n, .time_ms = it->at,
                 .spec_size = (uint32_t)it->spec_size };
    c->spec = st_text(st, it->spec, it->spec_size);
    if (c->spec == NULL)
        return PAWL_NOMEM;
    if (it->kind == ITEM_REFUSAL) {      /* a refused command was never issued: its value is the reason */
        c->outcome = PAWL_OUTCOME_ERROR;
        c->wait = 0;
        call_state_begin(st, tk, c, CALL_REFUSED);
        return (c->value = st_value(st, it->value, &c->value_bytes)) != NULL ? PAWL_OK : PAWL_NOMEM;
    }
    call_state_begin(st, tk, c, CALL_OPEN);
    if ((rc = approvers_note(st, c)) != PAWL_OK)
        return rc == PAWL_NOMEM ? rc : corrupt(err, it, "what it asks is damaged");
    return st->budget != NULL && (c->kind == CALL_CALL || c->kind == CALL_SPAWN) ? budget_reserve(st, it, err) : PAWL_OK;
}

static pawl_code fold_detached(pawl_state *st, frame *f, const pawl_entry *e, const item *given, pawl_err *err)
{
    item whole = *given, *it = &whole;
    call *c;
    pawl_code rc;

    if ((it->kind == ITEM_CALL || it->kind == ITEM_SPAWN) && (rc = spec_whole(st, e->in, &it->spec, &it->spec_size, err)) != PAWL_OK)
        return rc;
    if (!TOUCH(st, f) || !calls_room(st, &f->detached, &f->detached_cap, f->detached_used))
        return PAWL_NOMEM;
    c = &f->detached[f->detached_used];
    if ((rc = call_fill(st, NULL, c, it, err)) != PAWL_OK)
        return rc;
    if ((c->task = st_text(st, it->task, strlen(it->task))) == NULL)
        return PAWL_NOMEM;
    f->detached_mixed = f->detached_mixed || (f->detached_used > 0 && (c[-1].superstep > c->superstep || (c[-1].superstep == c->superstep && c[-1].n > c->n)));
    f->detached_used++;
    f->ndetached++;
    return PAWL_OK;
}

static pawl_code fold_call(pawl_state *st, const pawl_entry *e, const item *it, pawl_err *err)
{
    frame *f;
    task *tk;
    pawl_code rc;

    if (it->hold || *it->task == '@') {     /* detached: a reducer's command, an inverse, or a wait between two supersteps */
        if ((f = frame_above(st, it->task)) == NULL)
            return corrupt(err, it, "there is no such subgraph");
        if (strcmp(it->task, UNDO_TASK) == 0 && (rc = fold_inverse(st, err)) != PAWL_OK)
            return rc;
        return fold_detached(st, f, e, it, err);
    }
    if ((rc = task_of(st, it, &tk, &f, err)) != PAWL_OK)
        return rc;
    if (it->n != tk->ncalls || !task_may(tk, TASK_OPEN) || it->superstep != st->root.superstep)
        return corrupt(err, it, "commands come one by one while their visit lasts");
    if ((rc = frame_opens(st, f)) != PAWL_OK)
        return rc;
    if (!task_touch(st, tk) || !calls_room(st, &tk->calls, &tk->calls_cap, tk->ncalls))
        return PAWL_NOMEM;
    visit_time(e, tk);
    task_move(tk, TASK_OPEN);
    rc = call_fill(st, tk, &tk->calls[tk->ncalls], it, err);
    if (rc == PAWL_OK && it->kind == ITEM_CALL && st->no_progress > 0)
        rc = progress_call(st, tk, &tk->calls[tk->ncalls]);
    tk->ncalls += rc == PAWL_OK;
    PAWL_ASSERT(rc != PAWL_OK || tk->commands + tk->waits <= tk->ncalls, "E1: no more of a visit is open than it made");
    return rc;
}

/* Frees the place of a detached call. The other calls keep their places until half of the places are free, so that removing is O(1) on average. */
static pawl_code detached_remove(pawl_state *st, frame *f, call *c)
{
    const uint32_t cap = f->ndetached;     /* before the count goes down: room for one call more than remain */
    uint32_t used = 0;
    call *rest;

    PAWL_ASSERT(c >= f->detached && c < f->detached + f->detached_used && c->task != NULL, "E1: a call of no visit is in its frame");
    if (!TOUCH(st, f) || !TOUCH(st, c))
        return PAWL_NOMEM;
    call_drop(st, c);
    c->task = NULL;
    if (--f->ndetached >= f->detached_used / 2)
        return PAWL_OK;
    if ((rest = st_alloc(st, cap * sizeof *rest)) == NULL)
        return PAWL_NOMEM;
    for (uint32_t at = 0; (c = detached_next(f, &at)) != NULL;)
        rest[used++] = *c;
    st_free(st, f->detached, f->detached_cap * sizeof *rest);
    f->detached = rest;
    f->detached_cap = cap;
    f->detached_used = used;
    f->detached_mixed = f->detached_mixed && used > 0;
    return PAWL_OK;
}

/* The answer to a wait between two supersteps. The spec may name a channel for the answer; the update is merged at once. */
static pawl_code hold_answered(pawl_state *st, frame *f, call *c, const item *it, pawl_err *err)
{
    const pawl_value *spec = value_read(st->t->mem, c->spec, c->spec_size, "a wait", err);
    const char *to = pawl_value_string(pawl_value_get(spec, "to"));
    const pawl_value *update = pawl_value_get(it->more, "update");
    channel *ch;
    pawl_code rc = PAWL_OK;

    if (spec == NULL)
        return st->t->mem->failed ? PAWL_NOMEM : PAWL_CORRUPT;
    if (to != NULL && it->value != NULL) {
        if ((ch = channel_find(f, to)) == NULL && !st->only)
            return corrupt(err, it, "its channel is not there");
        if (ch != NULL && ch->d->rule != PAWL_RULE_CUSTOM)   /* the merged result of a user's function is in a put item */
            rc = channel_write(st, ch, OP_MERGE, it->value, err);
    }
    if (rc == PAWL_OK && update != NULL)
        rc = put_writes(st, f, update, false, err);
    return rc == PAWL_OK ? detached_remove(st, f, c) : rc;
}

/* A person answered that the command is to be performed again: the command is open again. */
static pawl_code fold_again(pawl_state *st, task *tk, call *c)
{
    PAWL_ASSERT(c->at == CALL_IN_DOUBT, "E5: only what is in doubt is performed again");
    if (!TOUCH(st, c) || !call_touch(st, tk))
        return PAWL_NOMEM;
    call_state_move(st, tk, c, CALL_OPEN);
    return PAWL_OK;
}

static pawl_code fold_receipt(pawl_state *st, const item *it, pawl_err *err)
{
    frame *f;
    task *tk;
    call *c = call_find(st, it->superstep, it->task, it->visit, it->n, &f, &tk);
    const pawl_value *update = pawl_value_get(it->more, "update"), *value = it->value;
    pawl_outcome outcome = (pawl_outcome)it->outcome;
    uint32_t after;
    pawl_code rc;

    if (c == NULL || !call_is_open(c))
        return corrupt(err, it, "nothing of that id is open");
    if (c->at != CALL_IN_DOUBT && (c->kind == CALL_ASK) != (it->kind == ITEM_ANSWER))
        return corrupt(err, it, "a command ends in a receipt, a wait in an answer");
    if ((rc = signed_fold_check(st, c, it, err)) != PAWL_OK || (rc = settings_check(st, it, update, err)) != PAWL_OK)
        return rc;
    if (it->at > st->record_ms)
        st->record_ms = it->at;
    if (c->at == CALL_IN_DOUBT && it->kind == ITEM_ANSWER && !doubt_answer_read(it->value, st->t->mem, &outcome, &value))
        return fold_again(st, tk, c);
    if (st->budget != NULL && (rc = budget_settle(st, c, outcome, it->more, err)) != PAWL_OK)
        return rc;
    if (outcome != PAWL_OUTCOME_ERROR)      /* only an error proves that the command had no effect */
        if ((rc = undo_note(st, it, c, outcome == PAWL_OUTCOME_DONE ? value : NULL, err)) != PAWL_OK)
            return rc;
    if (c->task != NULL && *c->task != '@') {
        if (f->parent != NULL && !TOUCH(st, &f->now_ms))
            return PAWL_NOMEM;
        if (f->parent != NULL && it->at > f->now_ms)
            f->now_ms = it->at;
        return hold_answered(st, f, c, it, err);
    }
    if (c->task != NULL) {
        if (update != NULL && (rc = put_writes(st, f, update, false, err)) != PAWL_OK)
            return rc;
        return detached_remove(st, f, c);
    }
    if ((rc = pending_after(it, f, &after, err)) != PAWL_OK || (update != NULL && (rc = writes_check(st, f, update, err)) != PAWL_OK))
        return rc;
    if (!TOUCH(st, c) || !call_touch(st, tk))
        return PAWL_NOMEM;
    call_state_move(st, tk, c, CALL_ANSWERED);
    c->after = after;
    c->time_ms = it->at;
    c->outcome = (uint8_t)outcome;
    if (c->lap != NULL && (rc = progress_receipt(st, c, outcome, value, it->more)) != PAWL_OK)
        return rc;
    if (value != NULL && (c->value = st_value(st, value, &c->value_bytes)) == NULL)
        return PAWL_NOMEM;
    if (update != NULL && (c->update = st_value(st, update, &c->update_bytes)) == NULL)
        return PAWL_NOMEM;
    return PAWL_OK;
}

static pawl_code fold_drop(pawl_state *st, const item *it, pawl_err *err)
{
    frame *f;
    task *tk;
    call *c = call_find(st, it->superstep, it->task, it->visit, it->n, &f, &tk);
    pawl_code rc;

    if (c == NULL || !call_is_open(c))
        return corrupt(err, it, "nothing of that id is open");
    if ((rc = undo_note(st, it, c, NULL, err)) != PAWL_OK)
        return rc;
    if (c->task != NULL)
        return detached_remove(st, f, c);
    if (!TOUCH(st, c) || !call_touch(st, tk))
        return PAWL_NOMEM;
    call_state_move(st, tk, c, CALL_DROPPED);
    return PAWL_OK;
}

static pawl_code fold_select(pawl_state *st, const item *it, pawl_err *err)
{
    frame *f;
    task *tk;
    pawl_code rc = task_of(st, it, &tk, &f, err);
    uint32_t *wins;

    if (rc != PAWL_OK)
        return rc;
    if (it->k != tk->nwins || (it->n >= tk->ncalls && it->n != UINT32_MAX))
        return corrupt(err, it, "races are won one by one, by a command of the visit");
    if (!task_touch(st, tk))
        return PAWL_NOMEM;
    tk->racing = it->n == UINT32_MAX;
    if (tk->racing)
        return PAWL_OK;
    if ((wins = st_alloc(st, (it->k + 1) * sizeof *wins)) == NULL)
        return PAWL_NOMEM;
    if (it->k > 0)
        memcpy(wins, tk->wins, it->k * sizeof *wins);
    wins[it->k] = it->n;
    st_free(st, tk->wins, tk->nwins * sizeof *wins);
    tk->wins = wins;
    tk->nwins++;
    return PAWL_OK;
}

/* ---- leaving ------------------------------------------------------------------------------------------------- */

static APART pawl_code fold_leave(pawl_state *st, pawl_entry *e, const item *it, pawl_err *err)
{
    frame *f;
    task *tk;
    pawl_code rc = task_of(st, it, &tk, &f, err);

    if (rc != PAWL_OK)
        return rc;
    if (!task_may(tk, TASK_LEFT))
        return corrupt(err, it, "the task is done already");
    if ((rc = frame_opens(st, f)) != PAWL_OK)
        return rc;
    if (st->t->task != tk && !touch(st, &tk->leave, LEFT_BYTES))
        return PAWL_NOMEM;
    if ((rc = undo_note_dropped(st, f, tk, it->task, err)) != PAWL_OK)
        return rc;
    if (st->no_progress > 0 && (rc = progress_visit_end(st, tk)) != PAWL_OK)
        return rc;
    if (!task_ready(tk) && !call_touch(st, tk))
        return PAWL_NOMEM;
    for (uint32_t i = 0; i < tk->ncalls && !task_ready(tk); i++) {      /* calls that lost a race are dropped */
        if (!call_is_open(&tk->calls[i]))
            continue;
        if (!TOUCH(st, &tk->calls[i]))
            return PAWL_NOMEM;
        call_state_move(st, tk, &tk->calls[i], CALL_DROPPED);
    }
    PAWL_ASSERT(task_ready(tk), "T1: nothing of a task that left is open");
    if (tk->child != NULL) {
        if (!TOUCH(st, &tk->visit_ms))
            return PAWL_NOMEM;
        tk->visit_ms = task_time(tk);   /* keeps the latest time of the subgraph, whose frame is freed next */
        frame_drop(st, tk->child);
        tk->child = NULL;
    }
    task_move(tk, TASK_LEFT);
    if (st->t->mode == TXN_FEED || st->t->mode == TXN_ADVANCE || (e->closes && !st->t->closed && f == &st->root)) {
        tk->leave = it->leave;      /* the leave of the step is used only before the step is emptied */
        return PAWL_OK;
    }
    tk->left_size = it->text_size;
    tk->left = st_text(st, e->items_text + it->text_at, it->text_size);
    return tk->left == NULL ? PAWL_NOMEM : PAWL_OK;
}

static pawl_code fold_fail(pawl_state *st, const item *it, pawl_err *err)
{
    frame *f;
    task *tk;
    pawl_code rc = task_of(st, it, &tk, &f, err);

    if (rc != PAWL_OK)
        return rc;
    if (!task_may(tk, TASK_FAILED))
        return corrupt(err, it, "the task is done already");
    if ((rc = frame_opens(st, f)) != PAWL_OK)
        return rc;
    if (!task_touch(st, tk))
        return PAWL_NOMEM;
    tk->fault_size = (uint32_t)it->spec_size;
    if ((tk->fault = st_text(st, it->spec, it->spec_size)) == NULL)
        return PAWL_NOMEM;
    task_move(tk, TASK_FAILED);
    return PAWL_OK;
}

static pawl_code fold_put(pawl_state *st, const item *it, const pawl_value *in, pawl_err *err)
{
    const frame *f = frame_above(st, it->task);
    pawl_code rc = f != NULL ? PAWL_OK : corrupt(err, it, "there is no such subgraph");

    for (uint32_t i = 0; i < it->nwrites && rc == PAWL_OK; i++) {
        channel *c = channel_find(f, it->writes[i].channel);
        const pawl_value *v = it->writes[i].value;

        if (c == NULL && st->only)
            continue;
        if (c == NULL)
            return corrupt(err, it, "a channel that is not there");
        if (it->writes[i].refs.list != NULL &&
            (v = refs_resolve(st, st->t->mem, NULL, in, v, it->writes[i].refs.list, NULL, err)) == NULL)
            return PAWL_CORRUPT;
        rc = channel_write(st, c, it->writes[i].op, v, err);
    }
    return rc;
}

static pawl_code fold_turn(pawl_state *st)
{
    if (!TOUCH(st, st))
        return PAWL_NOMEM;
    st->turn++;
    st->root.steps = 0;
    st_free(st, st->root.joins, st->root.joins_bytes);
    st->root.joins = NULL;
    st->root.joins_bytes = 0;
    for (uint32_t i = 0; i < st->root.nchannels; i++)
        if (st->root.channels[i].d->rule == PAWL_RULE_EPHEMERAL || st->root.channels[i].d->rule == PAWL_RULE_BARRIER)
            if (channel_clear(st, &st->root.channels[i]) != PAWL_OK)
                return PAWL_NOMEM;
    return PAWL_OK;
}

static pawl_code fold_cancel(pawl_state *st)
{
    if (!TOUCH(st, &st->ending))
        return PAWL_NOMEM;
    ending_move(st, st->unwind != 0 ? ENDING_WAIT : ENDING_CANCEL);
    return PAWL_OK;
}

static pawl_code fold_end(pawl_state *st, const item *it)
{
    const pawl_value *v = value_read(st->t->mem, it->spec, it->spec_size, "a reason", NULL);

    if (v == NULL || !TOUCH(st, st))
        return PAWL_NOMEM;
    st_free(st, st->reason, st->reason_bytes);
    st->reason = st_value(st, v, &st->reason_bytes);
    return st->reason == NULL ? PAWL_NOMEM : PAWL_OK;
}

/* Pending updates are older than this update but are merged later, at the close of the superstep. So the members for Pawl's own channels (@NAME)
 * are appended to the pending updates too, and the newest value wins. */
static pawl_code settings_last(pawl_state *st, const pawl_value *update)
{
    const pawl_value *own = value_pack(st->t->mem, NULL, "{}"), *key, *v;
    pawl_iter it = pawl_iter_of(update);

    while ((v = pawl_iter_next(&it, &key)) != NULL) {
        const channel *c = *pawl_value_string(key) == '@' ? channel_find(&st->root, pawl_value_string(key)) : NULL;

        if (c != NULL && c->d->rule == PAWL_RULE_LAST)
            own = value_with(st->t->mem, own, pawl_value_string(key), v);
    }
    if (own == NULL)
        return PAWL_NOMEM;
    return pawl_value_size(own) == 0 ? PAWL_OK : pending_add(st, own);
}

static pawl_code fold_reopen(pawl_state *st, const item *it, pawl_err *err)
{
    const pawl_value *update = pawl_value_get(it->value, "update");
    pawl_code rc;

    if (st->status != PAWL_STATUS_FAILED)
        return corrupt(err, it, "only a failed run is opened again");
    if ((rc = settings_check(st, it, update, err)) != PAWL_OK)
        return rc;
    if ((rc = budget_update(st, &update, err)) != PAWL_OK)
        return rc;
    if (!TOUCH(st, st))
        return PAWL_NOMEM;
    st_free(st, st->reason, st->reason_bytes);
    st->reason = NULL;
    st->reason_bytes = 0;
    st->unwind = 0;
    ending_move(st, ENDING_NONE);
    status_move(st, PAWL_STATUS_WORKING);
    if (update == NULL || (rc = put_writes(st, &st->root, update, false, err)) != PAWL_OK || st->pending == NULL)
        return update == NULL ? PAWL_OK : rc;
    return settings_last(st, update);
}

static APART pawl_code rest_fold(pawl_state *st, pawl_entry *e, item *it, pawl_err *err)
{
    pawl_code rc = it->refs.list != NULL ? item_whole(st, e, it, err) : PAWL_OK;

    if (rc != PAWL_OK)
        return rc;
    if (it->kind <= ITEM_SIGNAL || it->kind == ITEM_RECEIPT || it->kind == ITEM_ANSWER)
        e->in = it->value;
    switch ((item_kind)it->kind) {
    case ITEM_START:   return fold_start(st, e, it, err);
    case ITEM_INPUT:
        rc = settings_check(st, it, it->value, err);
        return rc == PAWL_OK ? put_writes(st, &st->root, it->value, false, err) : rc;
    case ITEM_UPDATE:  return fold_update(st, it, err);
    case ITEM_ADOPT:   return fold_adopt(st, it, err);
    case ITEM_REOPEN:  return fold_reopen(st, it, err);
    case ITEM_RECORDS: return fold_records(st, it, err);
    case ITEM_VISIT:   return fold_visit(st, it, err);
    case ITEM_FRAME:   return fold_frame(st, e, it, err);
    case ITEM_CALL:
    case ITEM_SLEEP:
    case ITEM_SPAWN:
    case ITEM_ASK:
    case ITEM_REFUSAL:  return fold_call(st, e, it, err);
    case ITEM_RECEIPT:
    case ITEM_ANSWER:  return fold_receipt(st, it, err);
    case ITEM_SELECT:  return fold_select(st, it, err);
    case ITEM_FAIL:    return fold_fail(st, it, err);
    case ITEM_PUT:     return fold_put(st, it, e->in, err);
    case ITEM_DROP:    return fold_drop(st, it, err);
    case ITEM_TURN:    return fold_turn(st);
    case ITEM_END:     return fold_end(st, it);
    case ITEM_CANCEL:  return fold_cancel(st);
    case ITEM_DOUBT:   return fold_doubt(st, it, err);
    case ITEM_UNWIND:  return fold_unwind(st, it, err);
    case ITEM_SIGN:    return fold_sign(st, it, err);
    case ITEM_LEAVE:
    case ITEM_CLOSE:
    case ITEM_SIGNAL:
    case ITEM_EMIT:
    case ITEM_KINDS:
        break;
    }
    return PAWL_OK;
}

/* Folds an item and updates the task counts of wide frames. */
static APART pawl_code counted_fold(pawl_state *st, pawl_entry *e, item *it, pawl_err *err)
{
    pawl_code rc = it->kind == ITEM_LEAVE ? fold_leave(st, e, it, err)
                   : it->kind == ITEM_CLOSE ? fold_close(st, it, err)
                                            : rest_fold(st, e, it, err);

    return rc == PAWL_OK ? task_index_update(st, it) : rc;
}

pawl_code item_fold(pawl_state *st, pawl_entry *e, item *it, pawl_err *err)
{
    PAWL_ASSERT_SLOW(st->t != NULL, "K6: an item is folded in a transaction");
    if (st->many_tasks)
        return counted_fold(st, e, it, err);
    if (it->kind == ITEM_LEAVE)
        return fold_leave(st, e, it, err);
    if (it->kind == ITEM_CLOSE)
        return fold_close(st, it, err);         /* a close builds the index of its new tasks itself */
    return rest_fold(st, e, it, err);
}
