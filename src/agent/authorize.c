/* authorize.c - permissions of tool calls, and the hooks after each call.
 *
 * All calls of an answer are decided in request order before any of them runs (A3). The gate (policy/gate.h) is a process that runs again from its
 * start with all answers received so far. When rules or mode changed since an answer was given, the gate starts without answers and asks again:
 * an approval covers one call under one policy (W6). */
#include "agent/agent.h"
#include "policy/usual_args.h"
#include "kernel/frame.h"
#include "kernel/spec.h"
#include "kernel/state.h"
#include "sign/sign.h"

/* ---- the gate's world --------------------------------------------------------------------------------- */

typedef struct asking { turn *t; uint32_t k; const char *tag; size_t next; } gate_context;

static bool answered_before(gate_context *a, const pawl_value **v, bool *failed)
{
    const agent_call *c = &a->t->calls[a->k];

    if (a->next >= c->nanswers)
        return false;
    *failed = c->answers[a->next].failed;
    *v = c->answers[a->next++].v;
    return true;
}

static pawl_code world_call(void *ctx, const char *effect, const pawl_value *args, const pawl_value **receipt)
{
    gate_context *a = ctx;
    bool failed;
    pawl_code rc;

    if (answered_before(a, receipt, &failed))
        return failed ? PAWL_EFFECT : PAWL_OK;
    rc = pawl_flow_call_with(a->t->s, a->tag, effect, args, NULL);
    if (rc == PAWL_LIMIT) {
        *receipt = pawl_pack(a->t->s, "{s:s,s:s}", "code", "limit", "text", "the budget has no room for it");
        return PAWL_EFFECT;
    }
    return rc == PAWL_OK ? PAWL_PENDING : rc;
}

static pawl_code world_signal(void *ctx, const char *name, const pawl_value **value)
{
    gate_context *a = ctx;
    bool failed;

    if (answered_before(a, value, &failed))
        return PAWL_OK;
    pawl_flow_ask(a->t->s, a->tag, &(pawl_question){ .kind = PAWL_WAIT_SIGNAL, .slot = name });
    return PAWL_PENDING;
}

static pawl_code world_ask(void *ctx, const gate_asks *q, const pawl_value **answer)
{
    static const char edits[] = "{\"anyOf\":[{\"type\":\"boolean\"},{\"additionalProperties\":false,\"properties\":{\"approve\":{\"type\":\"boolean\"},"
                                "\"input\":{\"type\":\"object\"},\"note\":{\"type\":\"string\"}},\"required\":[\"approve\"],\"type\":\"object\"}]}";
    gate_context *a = ctx;
    turn *t = a->t;
    pawl_question ask = { .kind = PAWL_WAIT_APPROVAL, .slot = t->calls[a->k].id, .about = q->about, .timeout_ms = q->timeout_ms,
                          .approvers = q->approvers };
    bool failed;

    if (answered_before(a, answer, &failed))
        return PAWL_OK;
    if (unasked_now(t)) {      /* no person is available: that is a no (P2), also for a question that is open already */
        pawl_flow_drop(t->s, a->tag);
        *answer = pawl_pack(t->s, "{s:b,s:s}", "approve", 0, "note", pawl_format(t->s, "Permission denied for tool: %s", t->calls[a->k].name));
        return *answer != NULL ? PAWL_OK : PAWL_NOMEM;
    }
    ask.prompt = pawl_pack(t->s, "s", q->prompt);
    ask.about = value_with(t->mem, q->about, "name", value_string(t->mem, t->calls[a->k].name, strlen(t->calls[a->k].name)));
    ask.schema = pawl_json(t->s, edits);
    ask.otherwise = q->timeout_ms > 0 ? value_bool(t->mem, false) : NULL;
    pawl_flow_ask(t->s, a->tag, &ask);
    t->calls[a->k].asked = true;
    flow_owner(t->s, a->tag);           /* both are taken back with the question */
    notify_hooks(t, "permission_prompt", pawl_format(t->s, "Permission is needed to use %s: %s", t->calls[a->k].name, q->prompt));
    pawl_emit(t->s, "permission_request", pawl_pack(t->s, "{s:s,s:v,s:s,s:s}", "action", q->prompt, "input",
                                                    pawl_value_get(q->about, "input") != NULL ? pawl_value_get(q->about, "input") : q->about,
                                            "tool_name", t->calls[a->k].name, "tool_use_id", t->calls[a->k].id));
    flow_owner(t->s, NULL);
    return PAWL_PENDING;
}

/* ---- the gate -------------------------------------------------------------------------------------------- */

static const char *policy_key_now(turn *t, const pawl_policy *p)
{
    return pawl_format(t->s, "%s %s", pawl_mode_name(mode_now(t)), p != NULL ? pawl_policy_digest(p) : "-");
}

typedef struct opened { tool_gate g; compiled_policy rules; gate_context a; pawl_err err; } call_gate;

static pawl_code gate_open(call_gate *o, turn *t, uint32_t k, const char *what)
{
    const agent_call *c = &t->calls[k];
    const pawl_value *rules = rules_now(t);
    const pawl_code rc = step_policy(t->s, rules, &o->rules, &o->err);

    o->a = (gate_context){ t, k, tag_of(t, what, k), 0 };
    o->g = (tool_gate){ .mem = t->mem, .world = { .call = world_call, .signal = world_signal, .ask = world_ask, .ctx = &o->a },
                   .policy = o->rules.policy, .hooks = o->rules.hooks,
                   .limits = rules, .run = t->s->st->run, .cwd = pawl_get_string(t->s, "@cwd"), .tool = c->tool->rule,
                   .call = c->id, .graph = t->def->hash,
                   .cls = c->tool->cls, .mode = mode_now(t), .time_ms = pawl_now(t->s), .input = c->input };
    /* In plan mode the handler runs a shell in a read-only sandbox, or not at all. */
    o->g.read_only = c->tool->cls == PAWL_PERMISSION_READ || (c->tool->cls == PAWL_PERMISSION_EXEC && strcmp(c->tool->rule, "Bash") == 0);
    if (c->tool->own == PAWL_OWN_PLAN_EXIT && o->g.mode == PAWL_MODE_PLAN) {
        o->g.asks = true;
        o->g.prompt = pawl_value_string(pawl_value_get(c->input, "plan"));
    }
    return rc;
}

static void call_denied(turn *t, uint32_t k, const tool_gate *g)
{
    const pawl_agent *a = &t->def->a;
    const char *name = t->calls[k].name;
    const bool by_person = g->by_person && *g->reason == '\0', unasked = unasked_now(t);
    const bool ends = g->stops || a->denied == PAWL_DENIED_ENDS || (a->denied == PAWL_DENIED_AUTO && by_person && !unasked);

    if (by_person)
        call_fail(t, k, pawl_format(t->s, "User denied permission for: %s", name));
    else if (g->by_person)
        call_fail(t, k, g->reason);
    else
        call_fail(t, k, pawl_format(t->s, "Permission denied for tool: %s: %s", name, g->reason));
    if (!ends || t->at != PHASE_AUTHORIZE)         /* other tools of this answer ran already, so the turn continues */
        return;
    calls_abort(t, "Interrupted");
    next_end(t, g->stops ? "stop_hook" : "denial", NULL);
}

/* Restart the permission check under the current policy; drop questions that were asked under the old one. */
static void gate_restart(turn *t, uint32_t k, const char *under)
{
    agent_call *c = &t->calls[k];

    pawl_flow_drop(t->s, tag_of(t, "gate", k));
    gate_answers_clear(t, k);
    c->asked = c->refused = false;
    c->policy_key = under;
}

typedef struct asked_scan { turn *t; const char *tag; bool open; } asked_scan;

static bool see_asked(void *ctx, const frame *f, const task *tk, const char *at, const call *c, uint32_t n)
{
    asked_scan *o = ctx;
    const char *tag = c == o->t->s->answered ? NULL : pawl_value_string(spec_get(o->t->s, c, "tag"));

    (void)f, (void)tk, (void)at, (void)n;
    o->open = tag != NULL && strcmp(tag, o->tag) == 0;
    return !o->open;
}

/* Whether the gate has an open question that this event does not answer. An approval counts as closed when no person is available any more. */
static bool gate_waits(turn *t, uint32_t k)
{
    asked_scan o = { .t = t, .tag = tag_of(t, "gate", k) };

    if (o.tag != NULL && !(t->calls[k].asked && unasked_now(t)))
        state_each_call(t->s->st, see_asked, &o);
    return o.open;
}

/* Each input of a call is checked here once: the model's when it is proposed, and the one that hooks or people made of it when it is approved.
 * `pattern` is checked by the handler, because older versions left it out (K5). */
static bool input_fits(turn *t, uint32_t k, const pawl_value *input, pawl_err *err)
{
    const pawl_agent_tool *tool = t->calls[k].tool;
    const pawl_value *schema = tool == &tool_gone ? NULL : t->def->schemas[tool - t->def->a.tools];

    if (schema != NULL && tool->usual_args && tool->own == PAWL_OWN_NOT)
        input = args_needed(t->mem, schema, input);
    return schema == NULL || schema_check_loose(schema, input, "the input", err) == PAWL_OK;
}

static bool edited_input_invalid(turn *t, uint32_t k, const pawl_value *input)
{
    pawl_err err = {0};

    if (pawl_value_type(input) == PAWL_TYPE_OBJECT && input_fits(t, k, input, &err))
        return false;
    call_fail(t, k, pawl_format(t->s, "Invalid arguments: %s", err.code != PAWL_OK ? err.text : "they are no JSON object"));
    return true;
}

/* A person's no survives a change of rules and mode; a yes does not (W6). */
static void repeat_refusal(turn *t, uint32_t k, tool_gate *g)
{
    const agent_call *c = &t->calls[k];
    const char *note = c->nanswers > 0 ? pawl_value_string(pawl_value_get(c->answers[c->nanswers - 1].v, "note")) : NULL;

    g->by_person = true;
    g->reason = note != NULL ? note : "";
    call_denied(t, k, g);
}

/* The result with what hooks before and after the call say to the model. */
static const pawl_value *with_fed(turn *t, uint32_t k, const pawl_value *result, const char *more)
{
    if (t->calls[k].fed != NULL)
        result = result_fed(t, result, t->calls[k].fed);
    return more != NULL ? result_fed(t, result, more) : result;
}

/* Decide one call. *pending: it waits for an answer. */
static void authorize_call(turn *t, uint32_t k, bool *pending)
{
    agent_call *c = &t->calls[k];
    call_gate o = { .err = {0} };
    const char *under;
    pawl_code rc;

    c->input = c->proposed;         /* the gate starts with the input of the model and replays the answers */
    c->changed = false;
    rc = gate_open(&o, t, k, "gate");
    under = rc == PAWL_OK ? policy_key_now(t, o.rules.policy) : "";

    *pending = rc == PAWL_OK && c->policy_key != NULL && strcmp(c->policy_key, under) == 0 && gate_waits(t, k);
    if (*pending)
        return;
    flow_withdraw(t->s, tag_of(t, "gate", k));      /* decided earlier in this event, under another mode: its question would stay open beside the new one */
    if (rc == PAWL_OK && c->refused && c->policy_key != NULL && strcmp(c->policy_key, under) != 0) {
        repeat_refusal(t, k, &o.g);
        return;
    }
    if (rc == PAWL_OK && c->policy_key != NULL && strcmp(c->policy_key, under) != 0)
        gate_restart(t, k, under);
    c->policy_key = under;
    c->asked = false;
    if (rc == PAWL_OK)
        rc = gate_enter(&o.g, &o.err);
    if (BROKEN(BROKEN_GATE) && rc == PAWL_DENIED)
        rc = PAWL_OK;
    if (rc == PAWL_OK && o.g.changed && edited_input_invalid(t, k, o.g.input)) {
        ;                       /* the call has failed already */
    } else if (rc == PAWL_OK) {
        c->input = o.g.input;
        c->changed = o.g.changed;
        c->decision = gate_decision(&o.g);
        c->fed = o.g.fed;
        report_hook_text(t, HOOK_PRE, o.g.shown);
        call_move(t, k, STAGE_APPROVED);
        if (o.g.result != NULL)     /* a hook replaced the result: the tool does not run */
            call_done(t, k, with_fed(t, k, pawl_value_get(o.g.result, "content") != NULL ? o.g.result : pawl_pack(t->s, "{s:v}", "content", o.g.result), NULL),
                      false);
    } else if (rc == PAWL_PENDING) {
        *pending = true;
    } else if (rc == PAWL_DENIED) {
        report_hook_text(t, HOOK_PRE, o.g.shown);
        call_denied(t, k, &o.g);
    } else if (rc == PAWL_NOMEM) {
        t->rc = rc;
    } else {
        pawl_flow_drop(t->s, tag_of(t, "gate", k));     /* asked under rules that could be read */
        call_fail(t, k, pawl_format(t->s, "Permission denied for tool: %s: %s", c->name, o.err.text));
    }
}

/* Calls that are invalid whatever the policy says: no such tool, or input that does not fit the schema. */
static bool call_invalid(turn *t, uint32_t k)
{
    const agent_call *c = &t->calls[k];
    pawl_err err = {0};

    if (c->tool == NULL) {
        call_fail(t, k, pawl_format(t->s, "Tool not found: %s", text_cut(t, c->name, 100)));
        return true;
    }
    if (c->invalid != NULL || pawl_value_type(c->input) != PAWL_TYPE_OBJECT)
        call_fail(t, k, pawl_format(t->s, "Invalid arguments: they are no JSON object: %s", text_cut(t, c->invalid, 200)));
    else if (!input_fits(t, k, c->input, &err))
        call_fail(t, k, pawl_format(t->s, "Invalid arguments: %s", err.text));
    else if (builtin_input_error(c->tool, c->input) != NULL)
        call_fail(t, k, builtin_input_error(c->tool, c->input));
    else
        return false;
    return true;
}

void authorize_next(turn *t)
{
    bool pending = false;

    for (uint32_t k = 0; k < t->ncalls && !pending && !next_chosen(t) && t->rc == PAWL_OK; k++) {
        if (t->calls[k].at == STAGE_PROPOSED && !call_invalid(t, k))
            call_move(t, k, STAGE_CHECKING);
        if (t->calls[k].at == STAGE_CHECKING)
            authorize_call(t, k, &pending);
    }
    if (pending || next_chosen(t) || t->rc != PAWL_OK)     /* a step is chosen: a denial ends the turn */
        return;
    phase_move(t, PHASE_TOOLS);
    next_step(t, STEP_START_TOOLS);
}

static void gate_answer_take(turn *t)
{
    agent_call *c = &t->calls[t->k];

    c->refused = c->refused || (c->asked && answer_is_no(t->h->value));
    gate_answer_add(t, (uint32_t)t->k, t->h->value, t->h->kind == PAWL_EV_RECEIPT && t->h->outcome != PAWL_OUTCOME_DONE);
}

void on_gate_answer(turn *t)
{
    if (t->calls[t->k].at != STAGE_CHECKING)
        return;
    gate_answer_take(t);
    authorize_next(t);
}

/* Answers were given for calls in the old working folder; after a change of @cwd they do not count (W6). */
static void folder_change_recheck(turn *t)
{
    if (t->h->kind != PAWL_EV_UPDATE || pawl_value_get(t->h->value, "@cwd") == NULL)
        return;
    for (uint32_t k = 0; k < t->ncalls; k++)
        if (t->calls[k].at == STAGE_CHECKING)
            gate_restart(t, k, NULL);
}

void on_update_authorizing(turn *t)
{
    rights_changed(t);
    calls_reauthorize(t);
    folder_change_recheck(t);
    authorize_next(t);             /* each call compares its policy key */
}

/* ---- while others are used already -------------------------------------------------------------------------- */

/* In request order until one call has to wait; the calls after it wait, too. */
void authorize_again(turn *t)
{
    bool pending = false;

    for (uint32_t k = 0; k < t->ncalls && !pending && t->rc == PAWL_OK; k++)
        if (t->calls[k].at == STAGE_CHECKING)
            authorize_call(t, k, &pending);
    next_step(t, STEP_START_TOOLS);
}

void on_update_using_tools(turn *t)
{
    rights_changed(t);
    calls_reauthorize(t);
    folder_change_recheck(t);
    questions_unasked(t);
    authorize_again(t);
}

void on_gate_answer_using_tools(turn *t)
{
    if (t->calls[t->k].at != STAGE_CHECKING)
        return;
    gate_answer_take(t);
    authorize_again(t);
}

/* ---- after it ---------------------------------------------------------------------------------------------- */

/* False: a hook ends the turn. */
static bool after_hooks(turn *t, uint32_t k, const pawl_value *result, bool failed)
{
    call_gate o = { .err = {0} };
    pawl_code rc = gate_open(&o, t, k, "after");
    const char *under = rc == PAWL_OK ? policy_key_now(t, o.rules.policy) : "";

    if (t->calls[k].nanswers > 0 && t->calls[k].policy_key != NULL && strcmp(t->calls[k].policy_key, under) != 0) {
        pawl_flow_drop(t->s, tag_of(t, "after", k));    /* the hooks changed: their answers do not count any more */
        gate_answers_clear(t, k);
    }
    t->calls[k].policy_key = under;
    if (rc == PAWL_OK)
        rc = gate_leave(&o.g, failed, &result, &o.err);
    if (rc == PAWL_PENDING) {
        if (t->calls[k].at != STAGE_AFTER_HOOKS) {
            call_move(t, k, STAGE_AFTER_HOOKS);
            result_put(t, k, result, failed);
        }
    } else if (rc == PAWL_NOMEM) {
        t->rc = rc;
    } else if (rc == PAWL_OK || (rc == PAWL_DENIED && o.g.stops && o.g.hook->project != NULL)) {      /* the tool has run: its result stays */
        report_hook_text(t, failed ? HOOK_POST_FAILURE : HOOK_POST, o.g.shown);
        call_done(t, k, with_fed(t, k, pawl_value_get(result, "content") != NULL ? result : pawl_pack(t->s, "{s:v}", "content", result), o.g.fed), failed);
    } else {
        call_fail(t, k, pawl_format(t->s, "Hook denied: %s", rc == PAWL_DENIED ? o.g.reason : o.err.text));
    }
    if (!o.g.stops || t->rc != PAWL_OK)
        return true;
    if (o.g.hook->project != NULL)
        t->note = pawl_format(t->s, "%s", o.g.reason);
    calls_abort(t, "Interrupted");
    next_end(t, "stop_hook", NULL);
    return false;
}

bool after_begin(turn *t, uint32_t k, const pawl_value *result, bool failed)
{
    gate_answers_clear(t, k);
    return after_hooks(t, k, result, failed);
}

void on_after_hook(turn *t)
{
    const uint32_t k = (uint32_t)t->k;
    const agent_call *c = &t->calls[k];

    if (c->at != STAGE_AFTER_HOOKS)
        return;
    gate_answer_take(t);
    if (after_hooks(t, k, result_of(t, k), c->failed))
        next_step(t, STEP_START_TOOLS);
}
