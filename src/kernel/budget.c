/* budget.c - the ledger of a run: a command reserves, its receipt settles, over the whole tree of runs (A8).
 *
 * Called by the folds, inside a transaction. Invariant: used + reserved <= cap, because a command above the cap is refused before it is
 * made. Only a receipt above its reservation can break it; `over` then stops every further command. The whole share of a child is reserved in
 * the parent's ledger and settled by the child's total cost, so no check needs two ledgers. */
#include "kernel/compensation.h"
#include "kernel/visit.h"

#include <string.h>

static pawl_cost to_cost(const amounts *a) { return (pawl_cost){ .calls = a->n[0], .micros = a->n[1], .tokens = a->n[2] }; }

/* ---- what a command may cost ---------------------------------------------------------------- */

static bool is_undoing(const char *path) { return path != NULL && strcmp(path, UNDO_TASK) == 0; }

/* The amounts that a command with this spec reserves. *counted: its attempts count as calls. An inverse reserves nothing, since a
 * compensation is never refused. */
static amounts spec_due(unsigned kind, const char *path, const pawl_value *spec, bool *counted)
{
    pawl_limits l;
    pawl_caps share;

    *counted = true;
    if ((kind != CALL_CALL && kind != CALL_SPAWN) || is_undoing(path))
        return (amounts){0};
    if (kind == CALL_SPAWN)
        return share_of(spec, &share) ? share_due(&share) : (amounts){0};
    spec_limits(spec, &l);
    *counted = l.cls != PAWL_CLASS_PURE || l.cost.calls > 0;
    return cost_due(&l);
}

static pawl_code text_due(arena *a, unsigned kind, const char *path, const char *spec, size_t size, amounts *due, bool *counted)
{
    const pawl_value *v = value_read(a, spec, size, "a spec", NULL);

    if (v == NULL)
        return a->failed ? PAWL_NOMEM : PAWL_CORRUPT;
    *due = spec_due(kind, path, v, counted);
    return PAWL_OK;
}

/* ---- asked before ------------------------------------------------------------------------------- */

pawl_code budget_check_caps(const pawl_state *st, pawl_err *err)
{
    const ledger *l = st->budget;
    bool fits = l == NULL || !l->over;

    for (int i = 0; l != NULL && i < COSTS; i++)
        fits = fits && (l->cap.n[i] == 0 || cost_plus(l->used.n[i], l->reserved.n[i]) <= l->cap.n[i]);
    return fits ? PAWL_OK : fail(err, PAWL_LIMIT, "%s: its budget has no room for this command: raise it with an update of " BUDGET_CHANNEL, st->run);
}

/* ---- the folds ------------------------------------------------------------------------------------ */

pawl_code budget_reserve(pawl_state *st, const item *it, pawl_err *err)
{
    amounts due;
    bool counted;
    pawl_code rc = text_due(st->t->mem, it->kind == ITEM_SPAWN ? CALL_SPAWN : CALL_CALL, it->task, it->spec, it->spec_size, &due, &counted);

    if (rc != PAWL_OK)
        return rc == PAWL_NOMEM ? rc : fail(err, rc, "item \"%s\" of %s: its record cannot be read", item_name(it->kind), it->task);
    if (!TOUCH(st, st->budget))
        return PAWL_NOMEM;
    for (int i = 0; i < COSTS; i++)
        st->budget->reserved.n[i] = cost_plus(st->budget->reserved.n[i], due.n[i]);
    return PAWL_OK;
}

/* The ledger after the call ended with this outcome; *over: the receipt cost more than the command reserved. An amount that the receipt does
 * not name cost what was reserved; with an unknown outcome the amount stays reserved. Calls may exceed the reservation, since an attempt
 * that a crash interrupted is made again: they are compared with the cap only. So are all amounts of a receipt with `unseen`: each attempt that a
 * crash interrupted cost the whole reservation (A9). */
static pawl_code settled(arena *a, const ledger *l, const call *c, pawl_outcome outcome, const pawl_value *usage, ledger *out, bool *over)
{
    const bool undoes = is_undoing(c->task), more = pawl_value_int(pawl_value_get(usage, "unseen")) > 0, kept = outcome != PAWL_OUTCOME_DONE &&
        outcome != PAWL_OUTCOME_ERROR;
    amounts due;
    bool counted;
    pawl_code rc = text_due(a, c->kind, c->task, c->spec, c->spec_size, &due, &counted);

    *out = *l;
    *over = false;
    for (int i = 0; i < COSTS && rc == PAWL_OK; i++) {
        const pawl_value *told = i == COST_CALLS && !counted ? NULL : pawl_value_get(usage, cost_names[i]);
        int64_t held = due.n[i], bill = told != NULL ? pawl_value_int(told) : held;

        if (told == NULL && kept)
            continue;
        out->reserved.n[i] -= held < out->reserved.n[i] ? held : out->reserved.n[i];
        out->used.n[i] = cost_plus(out->used.n[i], bill);
        if (l->cap.n[i] > 0 && (undoes || more || i == COST_CALLS ? bill > 0 && cost_plus(out->used.n[i], out->reserved.n[i]) > l->cap.n[i] : bill > held))
            *over = true;
    }
    out->over = out->over || *over;
    return rc;
}

pawl_code budget_settle(pawl_state *st, const call *c, pawl_outcome outcome, const pawl_value *more, pawl_err *err)
{
    ledger after;
    bool over;
    pawl_code rc;

    if (c->kind != CALL_CALL && c->kind != CALL_SPAWN)
        return PAWL_OK;
    if ((rc = settled(st->t->mem, st->budget, c, outcome, pawl_value_get(more, "usage"), &after, &over)) != PAWL_OK)
        return rc == PAWL_NOMEM ? rc : fail(err, rc, "item \"receipt\": the record of its command cannot be read");
    if (over != pawl_value_bool(pawl_value_get(more, "overdraft")))
        return fail(err, PAWL_CORRUPT, "item \"receipt\": its bill is %s what was reserved, and it says otherwise", over ? "above" : "not above");
    for (int i = 0; i < COSTS; i++)
        PAWL_ASSERT(after.reserved.n[i] >= 0 && after.reserved.n[i] <= st->budget->reserved.n[i], "A8: what is settled is reserved no more");
    if (!TOUCH(st, st->budget))
        return PAWL_NOMEM;
    *st->budget = after;
    return PAWL_OK;
}

const pawl_value *budget_bill(pawl_step *s, const call *c, pawl_outcome outcome, const pawl_value *usage)
{
    const pawl_value *bill = value_pack(&s->mem, NULL, "{s:v}", "usage", usage);
    ledger after;
    bool over = false;

    if (s->st->budget != NULL && settled(&s->mem, s->st->budget, c, outcome, usage, &after, &over) == PAWL_NOMEM)
        return NULL;
    return bill == NULL || !over ? bill : value_pack(&s->mem, NULL, "{s:b,s:v}", "overdraft", 1, "usage", usage);
}

/* ---- caps are changed --------------------------------------------------------------------------------- */

static const pawl_value *without(arena *a, const pawl_value *object, const char *name)
{
    const pawl_value *out = value_pack(a, NULL, "{}"), *key, *v;
    pawl_iter it = pawl_iter_of(object);

    while (out != NULL && (v = pawl_iter_next(&it, &key)) != NULL)
        if (strcmp(pawl_value_string(key), name) != 0)
            out = value_with(a, out, pawl_value_string(key), v);
    return out;
}

typedef struct open_dues { pawl_state *st; amounts sum; pawl_code rc; } open_dues;

static bool see_due(void *ctx, const frame *f, const task *tk, const char *path, const call *c, uint32_t n)
{
    open_dues *d = ctx;
    amounts due = {0};
    bool counted;

    (void)f, (void)tk, (void)path, (void)n;
    if (c->kind == CALL_CALL || c->kind == CALL_SPAWN)
        d->rc = text_due(d->st->t->mem, c->kind, c->task, c->spec, c->spec_size, &due, &counted);
    for (int i = 0; i < COSTS; i++)
        d->sum.n[i] = cost_plus(d->sum.n[i], due.n[i]);
    return d->rc == PAWL_OK;
}

/* A ledger that an update creates in the middle of a run: reserves for the open commands; earlier costs do not count. */
static pawl_code budget_made(pawl_state *st)
{
    open_dues d = { .st = st };
    ledger *l;

    state_each_call(st, see_due, &d);
    if (d.rc != PAWL_OK)
        return d.rc;
    if ((l = st_alloc(st, sizeof *l)) == NULL || !TOUCH(st, &st->budget))
        return PAWL_NOMEM;
    l->reserved = d.sum;
    l->since_ms = st->record_ms > st->time_ms ? st->record_ms : st->time_ms;
    st->budget = l;
    return PAWL_OK;
}

static bool is_raise(int64_t from, int64_t to) { return from > 0 && (to == 0 || to > from); }

static pawl_code caps_take(pawl_state *st, const pawl_value *said, pawl_err *err)
{
    ledger *l = st->budget;
    const pawl_value *ms = pawl_value_get(said, "ms"), *n;
    bool fits = true;

    for (int i = 0; i < COSTS; i++) {
        int64_t spent = cost_plus(l->used.n[i], l->reserved.n[i]);

        if ((n = pawl_value_get(said, cost_names[i])) == NULL) {
            fits = fits && (l->cap.n[i] == 0 || spent <= l->cap.n[i]);
            continue;
        }
        if (l->share && is_raise(l->cap.n[i], pawl_value_int(n)))
            return fail(err, PAWL_INVALID, BUDGET_CHANNEL ": %s of %s are a share of its parent's, and are not raised here", cost_names[i], st->run);
        l->cap.n[i] = pawl_value_int(n);
        if (l->cap.n[i] > 0 && spent > l->cap.n[i])
            return fail(err, PAWL_INVALID, BUDGET_CHANNEL ": %lld %s are below the %lld that are used and reserved", (long long)l->cap.n[i],
                        cost_names[i], (long long)spent);
    }
    if (ms != NULL && l->share && is_raise(l->cap_ms, pawl_value_int(ms)))
        return fail(err, PAWL_INVALID, BUDGET_CHANNEL ": ms of %s are a share of its parent's, and are not raised here", st->run);
    if (ms != NULL)
        l->cap_ms = pawl_value_int(ms);
    l->over = l->over && !fits;         /* the update names or fits every cap, so a person has seen the overdraft */
    return PAWL_OK;
}

pawl_code budget_update(pawl_state *st, const pawl_value **v, pawl_err *err)
{
    const pawl_value *said = pawl_value_get(*v, BUDGET_CHANNEL);
    const char *wrong = said == NULL ? NULL : caps_error(said);
    pawl_code rc;

    if (said == NULL)
        return PAWL_OK;
    if (wrong != NULL)
        return fail(err, PAWL_INVALID, BUDGET_CHANNEL ": %s", wrong);
    if ((*v = without(st->t->mem, *v, BUDGET_CHANNEL)) == NULL)
        return PAWL_NOMEM;
    if (st->only)
        return PAWL_OK;
    if (st->budget == NULL && (rc = budget_made(st)) != PAWL_OK)
        return rc;
    return TOUCH(st, st->budget) ? caps_take(st, said, err) : PAWL_NOMEM;
}

/* ---- made, asked ----------------------------------------------------------------------------------------- */

pawl_code budget_begin(pawl_state *st, const pawl_caps *caps, bool share)
{
    if (caps_none(caps))
        return PAWL_OK;
    if ((st->budget = st_alloc(st, sizeof *st->budget)) == NULL)
        return PAWL_NOMEM;
    st->budget->cap = share_due(caps);
    st->budget->cap_ms = caps->ms;
    st->budget->share = share;
    return PAWL_OK;
}

pawl_code budget_starts(pawl_state *st, int64_t time_ms)
{
    if (!TOUCH(st, st->budget))
        return PAWL_NOMEM;
    st->budget->since_ms = time_ms;
    return PAWL_OK;
}

bool pawl_state_spent(const pawl_state *st, pawl_spent *out)
{
    const ledger *l = st->budget;

    *out = (pawl_spent){0};
    if (l == NULL)
        return false;
    *out = (pawl_spent){ .caps = { .tokens = l->cap.n[COST_TOKENS], .calls = l->cap.n[COST_CALLS], .micros = l->cap.n[COST_MICROS],
                                   .ms = l->cap_ms },
                         .used = to_cost(&l->used), .reserved = to_cost(&l->reserved), .since_ms = l->since_ms, .overdraft = l->over };
    return true;
}

/* ---- written down, and read ------------------------------------------------------------------------------- */

void budget_code(buf *b, const ledger *l, bool fork)
{
    buf_text(b, "{\"caps\":");
    amounts_code(b, &l->cap, l->cap_ms);
    buf_text(b, l->over ? ",\"over\":true" : "");
    if (!fork) {
        buf_text(b, ",\"reserved\":");
        amounts_code(b, &l->reserved, 0);
    }
    if (!fork && l->since_ms != 0)
        buf_fmt(b, ",\"since\":%lld", (long long)l->since_ms);
    buf_text(b, ",\"used\":");
    amounts_code(b, &l->used, 0);
    buf_char(b, '}');
}

static amounts amounts_read(const pawl_value *v)
{
    pawl_caps caps;

    caps_read(v, &caps);
    return share_due(&caps);
}

pawl_code budget_read(pawl_state *st, const pawl_value *v, int64_t since_ms, bool *whole, pawl_err *err)
{
    const pawl_value *caps = pawl_value_get(v, "caps"), *used = pawl_value_get(v, "used"), *reserved = pawl_value_get(v, "reserved");
    const pawl_value *since = pawl_value_get(v, "since");
    ledger *l = st->budget;

    *whole = reserved != NULL;
    if (caps_error(caps) != NULL || usage_error(used) != NULL || (*whole && usage_error(reserved) != NULL))
        return fail(err, PAWL_CORRUPT, "a folded state: budget is {\"caps\",\"over\",\"reserved\",\"since\",\"used\"}, of whole numbers");
    if (l == NULL && (l = st_alloc(st, sizeof *l)) == NULL)
        return PAWL_NOMEM;
    l->cap = amounts_read(caps);
    l->cap_ms = pawl_value_int(pawl_value_get(caps, "ms"));
    l->used = amounts_read(used);
    l->reserved = amounts_read(reserved);
    l->over = pawl_value_bool(pawl_value_get(v, "over"));
    l->since_ms = *whole || since != NULL ? pawl_value_int(since) : since_ms;
    st->budget = l;
    return PAWL_OK;
}
