/* tool_runs.c - approved calls run: tools that may run beside others side by side, all others one by one in request order (A3).
 *
 * Results go to the model in request order, whatever the order in which the tools finish. */
#include "agent/agent.h"

/* Report finished calls to the core; after the last one the core decides how the turn continues. */
static void core_report(turn *t)
{
    core_action action = CORE_WAIT_FOR_INPUT;
    uint32_t open = 0;
    bool mutating = false;

    for (uint32_t k = 0; k < t->ncalls; k++) {
        const agent_call *c = &t->calls[k];

        open += c->at != STAGE_DONE;
        mutating = mutating || (c->at == STAGE_DONE && !c->failed && c->tool != NULL && c->tool->mutates);
    }
    while (t->c.at == CORE_EXECUTING_TOOLS && t->c.open > open)
        action = core_feed(&t->c, &(core_input){ .event = CORE_TOOL_COMPLETED, .mutating = mutating }, NULL);
    if (t->c.at == CORE_EXECUTING_TOOLS)
        return;
    results_drop(t);
    next_act(t, action, NULL);
}

/* ---- begun ---------------------------------------------------------------------------------------------------- */

/* Add the folders in which the tool may work by the current rules. */
static const pawl_value *with_folders(turn *t, const pawl_value *args)
{
    const pawl_value *rules = rules_now(t);
    compiled_policy compiled;
    pawl_err err = {0};

    if (pawl_value_size(pawl_value_get(rules, "directories")) == 0)
        return args;
    if (step_policy(t->s, rules, &compiled, &err) != PAWL_OK)
        return err.code == PAWL_NOMEM ? NULL : args;        /* unreadable rules allow nothing and name no folders */
    return gate_folders(t->mem, rules, compiled.policy, args);
}

static void effect_begin(turn *t, uint32_t k)
{
    const agent_call *c = &t->calls[k];
    const char *effect = pawl_format(t->s, "tool-%s", c->name), *cwd = pawl_get_string(t->s, "@cwd");
    const pawl_value *args = pawl_pack(t->s, "{s:s,s:s,s:v,s:v,s:s}", "call", c->id, "cwd", cwd != NULL ? cwd : "", "decision",
                                       c->decision != NULL ? c->decision : value_null(t->mem), "input", c->input, "tool", c->name);
    pawl_code rc = PAWL_NOMEM;

    if ((args = with_folders(t, args)) != NULL && (args = with_seen(t, k, args)) != NULL)
        rc = pawl_flow_call_with(t->s, tag_of(t, "tool", k), effect, args, NULL);
    if (rc == PAWL_LIMIT)
        call_fail(t, k, "The budget has no room for it");
    else if (rc != PAWL_OK)
        t->rc = rc;
}

static void tool_begin(turn *t, uint32_t k)
{
    const agent_call *c = &t->calls[k];

    call_move(t, k, STAGE_RUNNING);
    pawl_emit(t->s, "tool_start", pawl_pack(t->s, "{s:v,s:s,s:s}", "input", c->input, "name", c->name, "tool_use_id", c->id));
    if (c->tool->own != PAWL_OWN_NOT)
        builtin_begin(t, k);
    else
        effect_begin(t, k);
}

/* Start the first call that may start now; false: none may. */
static bool tool_begin_one(turn *t)
{
    uint32_t busy = 0;

    for (uint32_t k = 0; k < t->ncalls && busy < BESIDE_MAX; k++) {
        const agent_call *c = &t->calls[k];

        if (c->at == STAGE_DONE)
            continue;
        if (c->at == STAGE_CHECKING || c->at == STAGE_PROPOSED)
            return false;       /* it is being decided again; later calls wait for it */
        if (c->at == STAGE_APPROVED && c->tool == &tool_gone) {
            call_fail(t, k, pawl_format(t->s, "Tool not found: %s", text_cut(t, c->name, 100)));
            return true;
        }
        if (c->at == STAGE_APPROVED && (c->tool->beside || busy == 0)) {
            tool_begin(t, k);
            return true;
        }
        if (!c->tool->beside)
            return false;       /* later calls wait for it */
        busy++;
    }
    return false;
}

void tools_start_next(turn *t)
{
    while (t->at == PHASE_TOOLS && t->rc == PAWL_OK && !t->reauthorize && tool_begin_one(t))
        continue;
    if (t->at == PHASE_STOPPING && calls_all_done(t)) {
        interrupt_end(t);
    } else if (t->at == PHASE_TOOLS && t->rc == PAWL_OK && t->reauthorize) {      /* a call changed the mode */
        t->reauthorize = false;
        authorize_again(t);
    } else if (t->at == PHASE_TOOLS && t->rc == PAWL_OK) {
        core_report(t);
    }
}

/* ---- results -------------------------------------------------------------------------------------------------------- */

static const char *why_not(turn *t)
{
    const char *text = pawl_value_string(pawl_value_get(t->h->value, "text"));

    if (t->h->outcome == PAWL_OUTCOME_TIMEOUT)
        return "Tool execution timed out";
    if (t->h->outcome == PAWL_OUTCOME_CANCELED)
        return "Interrupted";
    if (t->h->outcome == PAWL_OUTCOME_UNKNOWN)
        return "It was begun, and nobody knows what came of it";
    return text != NULL ? text_cut(t, text, 2000) : "Tool execution failed";
}

void on_tool_result(turn *t)
{
    const uint32_t k = (uint32_t)t->k;
    const agent_call *c = &t->calls[k];
    const pawl_value *result;
    bool failed, hooks = true;          /* hooks see the result before the call is done */

    if (c->at != STAGE_RUNNING)
        return;
    if (c->tool->own != PAWL_OWN_NOT) {
        hooks = builtin_result(t, k, &result, &failed);
    } else if (t->h->outcome != PAWL_OUTCOME_DONE) {
        result = content_text(t, why_not(t));
        failed = true;
    } else {
        result = t->h->value != NULL ? t->h->value : value_null(t->mem);
        failed = pawl_value_bool(pawl_value_get(t->h->value, "is_error"));
        seen_keep(t, k, result);
    }
    if (!hooks || after_begin(t, k, result, failed))
        tools_start_next(t);
}

/* While the turn is being interrupted: a sub-agent that could not be sent its new rights has ended, and may have been the last call. */
void on_update_stopping(turn *t)
{
    rights_changed(t);
    tools_start_next(t);
}
