/* run_rules.c - the compiled rules of a run, for the handlers of its commands: what is decided again when a file is opened (P8).
 *
 * Owns the compiled policies. Called on the driving thread, without a lock; a handler reads a policy on its own thread, and its entry counts as a user
 * until it is freed. Policies are found again by their value, so many runs with the same rules share one.
 * Invariant: a policy with a user is not freed, also when its slot has another one. */
#include "engine/command/attempt.h"
#include "kernel/state.h"
#include "policy/gate.h"

typedef struct run_rules {
    arena mem;                  /* holds `value` */
    const pawl_value *value;
    pawl_policy *policy;        /* NULL: it cannot be read, and the run's machine refuses its calls */
    unsigned users;
    bool kept;                  /* it has a slot of the engine */
} run_rules;

static void rules_free(pawl_engine *e, run_rules *r)
{
    pawl_policy_free(r->policy);
    arena_free(&r->mem);
    mem_free(&e->alloc, r, sizeof *r);
}

static void slot_clear(pawl_engine *e, run_rules **slot)
{
    if (*slot == NULL)
        return;
    (*slot)->kept = false;
    if ((*slot)->users == 0)
        rules_free(e, *slot);
    *slot = NULL;
}

void run_rules_free(pawl_engine *e)
{
    for (size_t i = 0; i < RULES_KEPT; i++)
        slot_clear(e, &e->rules[i]);
}

static run_rules *rules_of(pawl_engine *e, const pawl_value *value)
{
    pawl_err err = {0};
    run_rules *r;

    for (size_t i = 0; i < RULES_KEPT; i++)
        if (e->rules[i] != NULL && pawl_value_equal(e->rules[i]->value, value))
            return e->rules[i];
    if ((r = mem_new(&e->alloc, sizeof *r)) == NULL)
        return NULL;
    *r = (run_rules){ .kept = true };
    arena_init(&r->mem, &e->alloc, 1024);
    if ((r->value = value_copy(&r->mem, value)) == NULL || ((r->policy = gate_policy(&e->alloc, r->value, &err)) == NULL && err.code == PAWL_NOMEM)) {
        rules_free(e, r);
        return NULL;
    }
    slot_clear(e, &e->rules[e->rules_next]);
    e->rules[e->rules_next] = r;
    e->rules_next = (e->rules_next + 1) % RULES_KEPT;
    return r;
}

void entry_rules_drop(pawl_engine *e, outbox_entry *entry)
{
    run_rules *r = entry->rules;

    entry->rules = NULL;
    entry->job.policy = NULL;
    if (r != NULL && --r->users == 0 && !r->kept)
        rules_free(e, r);
}

pawl_code entry_rules_set(pawl_engine *e, outbox_entry *entry, pawl_err *err)
{
    pawl_state *st = entry->run->st;
    const pawl_value *coming = pawl_state_coming(st, "@policy"), *now = coming != NULL ? coming : pawl_state_get(st, "@policy");
    run_rules *r;

    entry_rules_drop(e, entry);
    if (pawl_value_type(now) != PAWL_TYPE_OBJECT)
        return PAWL_OK;
    if ((r = rules_of(e, now)) == NULL)
        return fail(err, PAWL_NOMEM, "%s: no memory for the rules", entry->job.id);
    r->users++;
    entry->rules = r;
    entry->job.policy = r->policy;
    return PAWL_OK;
}
