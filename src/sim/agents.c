/* agents.c - the simulation of agents: whatever a setup leaves out is made from the seed.
 *
 * Owns agents. Called by pawl_sim_agent, on its thread. */
#include "sim/agents.h"

#include <stdio.h>
#include <string.h>

/* ---- which machines are agents ---------------------------------------------------------------------------------- */

static pawl_code machines_check(agents *a, pawl_err *err)
{
    const pawl_sim_setup *given = a->given;
    pawl_err why = { PAWL_OK, "" };

    for (unsigned i = 0; i <= SIM_MACHINES_MAX; i++) {
        pawl_machine *m = i == 0 ? given->machine(given->ctx, &why) : given->more != NULL ? given->more(given->ctx, i - 1, &why) : NULL;
        const pawl_agent *is = agent_of(m);

        if (m == NULL)
            break;
        a->machines[i] = m;
        a->root = a->root || (i == 0 && is != NULL);
        if (is == NULL)
            continue;
        a->names[a->nknown] = pawl_machine_name(m);
        a->known[a->nknown++] = is;
    }
    if (why.code < 0)
        return fail(err, why.code, "%s", why.text);
    return a->machines[0] != NULL ? PAWL_OK : fail(err, PAWL_INVALID, "the setup makes no machine");
}

/* A new world: forget what was seen. */
static pawl_machine *machine_made(void *ctx, pawl_err *err)
{
    agents *a = ctx;

    a->seen.n = a->asked.n = 0;
    memset(a->requests, 0, sizeof a->requests);
    return a->given->machine(a->given->ctx, err);
}

static pawl_machine *more_made(void *ctx, unsigned index, pawl_err *err)
{
    const agents *a = ctx;

    return a->given->more(a->given->ctx, index, err);
}

/* ---- people ---------------------------------------------------------------------------------------------------------- */

static bool fits(const pawl_wait *wait, arena *mem, const buf *b)
{
    pawl_err err = { PAWL_OK, "" };
    const pawl_value *v = value_parse(mem, b->data, b->size, "the answer", &err);

    return v != NULL && (wait->schema == NULL || schema_check(wait->schema, v, "the answer", &err) == PAWL_OK);
}

/* A person's answer to an approval: mostly yes, some no, some with a reason, some with a changed call, some too late. */
static const char *permit(agents *a, const pawl_wait *wait, rng *c)
{
    const pawl_value *input = pawl_value_get(wait->about, "input");
    const uint64_t what = rng_below(c, 100);
    buf *b = &a->said;

    if (what < 4 && wait->expires_ms > 0)
        return "";
    if (what < 20) {
        buf_text(b, "false");
    } else if (what < 28) {
        buf_text(b, "{\"approve\":false,\"note\":\"not like that\"}");
    } else if (what < 38 && input != NULL) {
        buf_text(b, "{\"approve\":true,\"input\":");
        if (what < 36)
            canon(b, input);
        else
            buf_text(b, "{\"command\":\"rm -rf /\"}");
        buf_char(b, '}');
    } else {
        buf_text(b, "true");
    }
    if (!b->failed && !fits(wait, &a->mem, b)) {
        buf_reset(b);
        buf_text(b, "true");
    }
    return NULL;
}

static void permit_note(agents *a, const pawl_wait *wait)
{
    const pawl_value *digest = pawl_value_get(wait->about, "digest");

    if (strncmp(a->said.data, "true", 4) == 0 && digest != NULL)
        mark_set(a, &a->yes, mark_of("yes", "", digest));
    if (strncmp(a->said.data, "{\"approve\":true", 15) == 0)
        mark_set(a, &a->yes, mark_of("edit", wait->slot, NULL));
}

static const char *person_answer(void *ctx, const pawl_wait *wait)
{
    agents *a = ctx;
    rng c;
    const char *out = NULL;

    if (a->given->answer != NULL)
        return a->given->answer(a->given->ctx, wait);
    if (wait->kind == PAWL_WAIT_INPUT)
        return "";
    arena_reset(&a->mem);
    buf_reset(&a->said);
    c = (rng){ mark_of(wait->slot, "", wait->prompt) ^ mark_of("about", "", wait->about) ^ a->seed };
    if (wait->kind == PAWL_WAIT_APPROVAL)
        out = permit(a, wait, &c);
    else if (pawl_value_size(wait->options) > 0)
        canon(&a->said, value_option(pawl_value_at(wait->options, rng_below(&c, pawl_value_size(wait->options)))));
    else
        schema_value(&a->said, wait->schema, &c);
    buf_char(&a->said, '\0');
    a->no_memory = a->no_memory || a->said.failed;
    if (out == NULL && !a->said.failed && wait->kind == PAWL_WAIT_APPROVAL)
        permit_note(a, wait);
    return out != NULL || a->said.failed ? "" : a->said.data;
}

/* ---- what is said unasked ------------------------------------------------------------------------------------------------ */

static void signals_make(agents *a, rng *c)
{
    static const char *const modes[] = { "plan", "default", "acceptEdits", "bypassPermissions" };
    const size_t n = rng_below(c, AGENT_SIGNALS_MAX + 1);

    for (size_t i = 0; i < n; i++) {
        const uint64_t what = rng_below(c, 100);
        char *text = a->signal_text[i];

        a->signals[i] = (pawl_sim_signal){ .name = what < 45 ? "input" : what < 80 ? "interrupt" : what < 95 ? NULL : "shutdown" };
        if (what < 45)
            snprintf(text, sizeof a->signal_text[i], "\"input %zu\"", i);
        else if (what >= 80 && what < 95)
            snprintf(text, sizeof a->signal_text[i], "{\"@mode\":\"%s\"}", modes[rng_below(c, 4)]);
        a->signals[i].value = *text != '\0' ? text : NULL;
    }
}

static void budget_make(agents *a, rng *c)
{
    if (rng_below(c, 4) != 0)
        return;
    a->budget.calls = 1 + (int64_t)rng_below(c, 20);
    if (rng_below(c, 2) == 0)
        a->budget.tokens = 1000 + (int64_t)rng_below(c, 100000);
}

static bool budget_given(const pawl_caps *b)
{
    return b->calls > 0 || b->tokens > 0 || b->micros > 0 || b->ms > 0;
}

/* ---- all of it ------------------------------------------------------------------------------------------------------------ */

static pawl_sim_setup setup_make(agents *a, const pawl_sim_effect *otherwise)
{
    pawl_sim_setup setup = *a->given;
    rng c = { a->seed ^ UINT64_C(0xA6E47) };

    a->same_ids = rng_below(&c, 8) == 0;
    signals_make(a, &c);
    a->budget = a->given->budget;
    if (!budget_given(&a->budget) && a->root)
        budget_make(a, &c);
    setup.machine = machine_made;
    setup.more = a->given->more != NULL ? more_made : NULL;
    setup.answer = person_answer;
    setup.otherwise = otherwise;
    setup.performed = agents_performed;
    setup.stored = agents_stored;
    setup.budget = a->budget;
    setup.loose = true;
    setup.ctx = a;
    if (setup.signals == NULL && a->root) {
        setup.signals = a->signals;
        while (setup.nsignals < AGENT_SIGNALS_MAX && (a->signals[setup.nsignals].name != NULL || a->signals[setup.nsignals].value != NULL))
            setup.nsignals++;
    }
    if (setup.cancel == 0)
        setup.cancel = 60;
    return setup;
}

static void agents_free(agents *a)
{
    marks *all[] = { &a->yes, &a->seen, &a->asked };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        mem_free(&a->alloc, all[i]->all, all[i]->cap * sizeof *all[i]->all);
    for (unsigned i = 0; i <= SIM_MACHINES_MAX; i++)
        pawl_machine_free(a->machines[i]);
    buf_free(&a->said);
    pawl_step_free(a->step);
    arena_free(&a->mem);
    mem_free(&a->alloc, a, sizeof *a);
}

pawl_code pawl_sim_agent(const pawl_sim_setup *setup, uint64_t seed, pawl_sim_report *report, pawl_err *err)
{
    const pawl_alloc alloc = mem_or_default(NULL);
    agents *a = setup != NULL && setup->machine != NULL ? mem_new(&alloc, sizeof *a) : NULL;
    pawl_sim_effect otherwise = { .fn = agents_act, .arg = a };
    pawl_sim_report own;
    pawl_sim_setup made;
    pawl_code rc;

    report = report != NULL ? report : &own;
    *report = (pawl_sim_report){ .seed = seed };
    if (a == NULL)
        return setup == NULL || setup->machine == NULL ? fail(err, PAWL_INVALID, "a simulation needs a machine")
        : fail(err, PAWL_NOMEM, "no memory to simulate");
    *a = (agents){ .given = setup, .seed = seed, .alloc = alloc, .report = report };
    arena_init(&a->mem, &a->alloc, 4096);
    buf_init(&a->said, &a->alloc);
    rc = (a->step = pawl_step_new(&a->alloc)) != NULL ? machines_check(a, err) : fail(err, PAWL_NOMEM, "no memory to simulate");
    if (rc == PAWL_OK) {
        made = setup_make(a, &otherwise);
        rc = pawl_sim(&made, seed, report, err);
        if (rc == PAWL_OK && a->no_memory)
            rc = fail(err, PAWL_NOMEM, "no memory to simulate");
    }
    agents_free(a);
    if (report == &own)
        pawl_sim_report_free(&own);
    return rc;
}
