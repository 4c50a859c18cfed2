/* settle.c - may the tools be used? In request order, one after another, before any of them is (A3); and the hooks after each.
 *
 * The gate is a process that is run anew with all that it was told so far. Where rules or the mode have changed since, it begins from the
 * start, and what was asked is asked again: a yes is to one call under one policy (W6). */
#include "agent/agent.h"

/* ---- the gate's world --------------------------------------------------------------------------------- */

typedef struct asking { turn *t; uint32_t k; const char *tag; size_t next; } asking;

static bool asked_before(asking *a, const pawl_value **v, bool *failed)
{
    const agent_call *c = &a->t->calls[a->k];

    if (a->next >= c->ntold)
        return false;
    *failed = c->told[a->next].failed;
    *v = c->told[a->next++].v;
    return true;
}

static pawl_code world_call(void *ctx, const char *effect, const pawl_value *args, const pawl_value **receipt)
{
    asking *a = ctx;
    bool failed;
    pawl_code rc;

    if (asked_before(a, receipt, &failed))
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
    asking *a = ctx;
    bool failed;

    if (asked_before(a, value, &failed))
        return PAWL_OK;
    pawl_flow_ask(a->t->s, a->tag, &(pawl_question){ .kind = PAWL_WAIT_SIGNAL, .slot = name });
    return PAWL_PENDING;
}

static pawl_code world_ask(void *ctx, const gate_asks *q, const pawl_value **answer)
{
    static const char edits[] = "{\"anyOf\":[{\"type\":\"boolean\"},{\"additionalProperties\":false,\"properties\":{\"approve\":{\"type\":\"boolean\"},"
                                "\"input\":{\"type\":\"object\"},\"note\":{\"type\":\"string\"}},\"required\":[\"approve\"],\"type\":\"object\"}]}";
    asking *a = ctx;
    turn *t = a->t;
    pawl_question ask = { .kind = PAWL_WAIT_APPROVAL, .slot = t->calls[a->k].id, .about = q->about, .timeout_ms = q->timeout_ms };
    bool failed;

    if (asked_before(a, answer, &failed))
        return PAWL_OK;
    if (pawl_get_bool(t->s, "@unasked")) {      /* nobody is there: that is a no (P2), and the end of what was asked while somebody was */
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
    life_note(t, "permission_prompt", pawl_format(t->s, "Permission is needed to use %s: %s", t->calls[a->k].name, q->prompt));
    readers_told(t, "permission_request", pawl_pack(t->s, "{s:s,s:v,s:s,s:s}", "action", q->prompt, "input",
                                                    pawl_value_get(q->about, "input") != NULL ? pawl_value_get(q->about, "input") : q->about,
                                            "tool_name", t->calls[a->k].name, "tool_use_id", t->calls[a->k].id));
    return PAWL_PENDING;
}

/* ---- the gate -------------------------------------------------------------------------------------------- */

static const char *under_now(turn *t, const pawl_policy *p)
{
    return pawl_format(t->s, "%s %s", pawl_mode_name(mode_now(t)), p != NULL ? pawl_policy_digest(p) : "-");
}

typedef struct opened { tool_gate g; pawl_policy *policy; hook_list hooks; asking a; pawl_err err; } opened;

static pawl_code gate_open(opened *o, turn *t, uint32_t k, const char *what)
{
    const agent_call *c = &t->calls[k];
    const pawl_value *rules = rules_now(t);
    const pawl_code rc = gate_read(t->mem, rules, pawl_get(t->s, "@grants"), &o->policy, &o->hooks, &o->err);

    o->a = (asking){ t, k, tag_of(t, what, k), 0 };
    o->g = (tool_gate){ .mem = t->mem, .world = { .call = world_call, .signal = world_signal, .ask = world_ask, .ctx = &o->a },
                   .policy = o->policy, .hooks = &o->hooks, .limits = rules, .run = t->s->st->run, .cwd = pawl_get_string(t->s, "@cwd"), .tool = c->tool->rule,
                   .call = c->id, .graph = t->def->hash,
                   .cls = c->tool->cls, .mode = mode_now(t), .time_ms = pawl_now(t->s), .input = c->input };
    /* In plan mode a shell runs where it can only read, or not at all: its handler sees to that. */
    o->g.read_only = c->tool->cls == PAWL_READ || (c->tool->cls == PAWL_EXEC && strcmp(c->tool->rule, "Bash") == 0);
    if (c->tool->own == PAWL_OWN_PLAN_EXIT && o->g.mode == PAWL_PLAN) {
        o->g.asks = true;
        o->g.prompt = pawl_value_string(pawl_value_get(c->input, "plan"));
    }
    return rc;
}

static void denied(turn *t, uint32_t k, const tool_gate *g)
{
    const pawl_agent *a = &t->def->a;
    const char *name = t->calls[k].name;
    const bool by_person = g->by_person && *g->reason == '\0', unasked = pawl_get_bool(t->s, "@unasked");
    const bool ends = g->stops || a->denied == PAWL_DENIED_ENDS || (a->denied == PAWL_DENIED_AUTO && by_person && !unasked);

    if (by_person)
        call_fails(t, k, pawl_format(t->s, "User denied permission for: %s", name));
    else if (g->by_person)
        call_fails(t, k, g->reason);
    else
        call_fails(t, k, pawl_format(t->s, "Permission denied for tool: %s: %s", name, g->reason));
    if (!ends || t->at != PHASE_SETTLE)         /* some are used already: the model is told */
        return;
    calls_cut(t, "Interrupted");
    turn_end(t, g->stops ? "stop_hook" : "denial", NULL);
}

/* It is decided anew by the rules of now; what is still asked under the old ones is given up. */
static void begins_again(turn *t, uint32_t k, const char *under)
{
    agent_call *c = &t->calls[k];

    pawl_flow_drop(t->s, tag_of(t, "gate", k));
    gate_forgets(t, k);
    c->asked = c->refused = false;
    c->under = under;
}

typedef struct asked_look { turn *t; const char *tag; bool open; } asked_look;

static bool see_asked(void *ctx, const frame *f, const task *tk, const char *at, const call *c, uint32_t n)
{
    asked_look *o = ctx;
    const char *tag = c == o->t->s->answered ? NULL : pawl_value_string(spec_get(o->t->s, c, "tag"));

    (void)f, (void)tk, (void)at, (void)n;
    o->open = tag != NULL && strcmp(tag, o->tag) == 0;
    return !o->open;
}

/* It waits for somebody already, and this event is not what they say. Where a person was asked, and nobody is there any more, that is settled now. */
static bool asks_already(turn *t, uint32_t k)
{
    asked_look o = { .t = t, .tag = tag_of(t, "gate", k) };

    if (o.tag != NULL && !(t->calls[k].asked && pawl_get_bool(t->s, "@unasked")))
        state_each_call(t->s->st, see_asked, &o);
    return o.open;
}

/* What hooks and people make of an input has to fit the tool, too. */
static bool input_unfit(turn *t, uint32_t k, const pawl_value *input)
{
    const pawl_value *schema = pawl_json(t->s, t->calls[k].tool->schema);
    pawl_err err = {0};

    if (pawl_value_type(input) == PAWL_TYPE_OBJECT && schema_check(schema, input, "the input", &err) == PAWL_OK)
        return false;
    call_fails(t, k, pawl_format(t->s, "Invalid arguments: %s", err.code != PAWL_OK ? err.text : "they are no JSON object"));
    return true;
}

/* A person's no is to this very call, and stands whatever rules and mode have become since; a yes does not. */
static void refused_before(turn *t, uint32_t k, tool_gate *g)
{
    const agent_call *c = &t->calls[k];
    const char *note = c->ntold > 0 ? pawl_value_string(pawl_value_get(c->told[c->ntold - 1].v, "note")) : NULL;

    g->by_person = true;
    g->reason = note != NULL ? note : "";
    denied(t, k, g);
}

/* *pending: it waits for somebody. */
static void settle(turn *t, uint32_t k, bool *pending)
{
    agent_call *c = &t->calls[k];
    opened o = { .policy = NULL };
    const char *under;
    pawl_code rc;

    c->input = c->said;         /* the gate begins with what the model said, and is told the rest */
    c->changed = false;
    rc = gate_open(&o, t, k, "gate");
    under = rc == PAWL_OK ? under_now(t, o.policy) : "";

    *pending = rc == PAWL_OK && c->under != NULL && strcmp(c->under, under) == 0 && asks_already(t, k);
    if (*pending) {
        pawl_policy_free(o.policy);
        return;
    }
    if (rc == PAWL_OK && c->refused && c->under != NULL && strcmp(c->under, under) != 0) {
        refused_before(t, k, &o.g);
        pawl_policy_free(o.policy);
        return;
    }
    if (rc == PAWL_OK && c->under != NULL && strcmp(c->under, under) != 0)
        begins_again(t, k, under);
    c->under = under;
    c->asked = false;
    if (rc == PAWL_OK)
        rc = gate_enter(&o.g, &o.err);
    if (BROKEN(BROKEN_GATE) && rc == PAWL_DENIED)
        rc = PAWL_OK;
    if (rc == PAWL_OK && o.g.changed && input_unfit(t, k, o.g.input)) {
        ;                       /* told */
    } else if (rc == PAWL_OK) {
        c->input = o.g.input;
        c->changed = o.g.changed;
        c->why = gate_decision(&o.g);
        call_stage_to(t, k, STAGE_READY);
        if (o.g.result != NULL)     /* a hook's own: the tool is not used */
            call_done(t, k, pawl_value_get(o.g.result, "content") != NULL ? o.g.result : pawl_pack(t->s, "{s:v}", "content", o.g.result), false);
    } else if (rc == PAWL_PENDING) {
        *pending = true;
    } else if (rc == PAWL_DENIED) {
        denied(t, k, &o.g);
    } else if (rc == PAWL_NOMEM) {
        t->rc = rc;
    } else {
        call_fails(t, k, pawl_format(t->s, "Permission denied for tool: %s: %s", c->name, o.err.text));
    }
    pawl_policy_free(o.policy);
}

/* What the model gave is no call at all, and nobody has to be asked. */
static bool misses(turn *t, uint32_t k)
{
    const agent_call *c = &t->calls[k];
    const pawl_value *schema;
    pawl_err err = {0};

    if (c->tool == NULL) {
        call_fails(t, k, pawl_format(t->s, "Tool not found: %s", text_cut(t, c->name, 100)));
        return true;
    }
    schema = pawl_json(t->s, c->tool->schema);
    if (c->invalid != NULL || pawl_value_type(c->input) != PAWL_TYPE_OBJECT)
        call_fails(t, k, pawl_format(t->s, "Invalid arguments: they are no JSON object: %s", text_cut(t, c->invalid, 200)));
    else if (schema_check(schema, c->input, "the input", &err) != PAWL_OK)
        call_fails(t, k, pawl_format(t->s, "Invalid arguments: %s", err.text));
    else if (own_wrong(c->tool, c->input) != NULL)
        call_fails(t, k, own_wrong(c->tool, c->input));
    else
        return false;
    return true;
}

void settle_next(turn *t)
{
    bool pending = false;

    for (uint32_t k = 0; k < t->ncalls && !pending && t->at == PHASE_SETTLE && t->rc == PAWL_OK; k++) {
        if (t->calls[k].at == STAGE_NEW && !misses(t, k))
            call_stage_to(t, k, STAGE_SETTLING);
        if (t->at == PHASE_SETTLE && t->calls[k].at == STAGE_SETTLING)
            settle(t, k, &pending);
    }
    if (pending || t->at != PHASE_SETTLE || t->rc != PAWL_OK)
        return;
    turn_phase(t, PHASE_TOOLS);
    use_next(t);
}

/* No, or {"approve":false}. */
static bool says_no(const pawl_value *v)
{
    const pawl_value *approve = pawl_value_type(v) == PAWL_TYPE_OBJECT ? pawl_value_get(v, "approve") : v;

    return pawl_value_type(approve) == PAWL_TYPE_BOOL && !pawl_value_bool(approve);
}

static void hears(turn *t)
{
    agent_call *c = &t->calls[t->k];

    c->refused = c->refused || (c->asked && says_no(t->h->value));
    gate_hears(t, (uint32_t)t->k, t->h->value, t->h->kind == PAWL_EV_RECEIPT && t->h->outcome != PAWL_DONE);
}

void gate_told(turn *t)
{
    if (t->calls[t->k].at != STAGE_SETTLING)
        return;
    hears(t);
    settle_next(t);
}

void calls_unsettle(turn *t)
{
    for (uint32_t k = 0; k < t->ncalls; k++)
        if (t->calls[k].at == STAGE_READY)
            call_stage_to(t, k, STAGE_SETTLING);        /* it was let in under others: it looks */
}

/* The folder is another one: what was said of a call, and a yes to it, were of what it would have done in the old one (W6). */
static void folder_changed(turn *t)
{
    if (t->h->kind != PAWL_EV_UPDATE || pawl_value_get(t->h->value, "@cwd") == NULL)
        return;
    for (uint32_t k = 0; k < t->ncalls; k++)
        if (t->calls[k].at == STAGE_SETTLING)
            begins_again(t, k, NULL);
}

void rules_changed(turn *t)
{
    rights_changed(t);
    calls_unsettle(t);
    folder_changed(t);
    settle_next(t);             /* each call looks under what it was asked */
}

/* ---- while others are used already -------------------------------------------------------------------------- */

/* In request order, until one waits for somebody: those behind it wait, too. */
void settle_again(turn *t)
{
    bool pending = false;

    for (uint32_t k = 0; k < t->ncalls && !pending && t->rc == PAWL_OK; k++)
        if (t->calls[k].at == STAGE_SETTLING)
            settle(t, k, &pending);
    use_next(t);
}

void tools_changed(turn *t)
{
    rights_changed(t);
    calls_unsettle(t);
    folder_changed(t);
    questions_unasked(t);
    settle_again(t);
}

void gate_again(turn *t)
{
    if (t->calls[t->k].at != STAGE_SETTLING)
        return;
    hears(t);
    settle_again(t);
}

/* ---- after it ---------------------------------------------------------------------------------------------- */

static void after_look(turn *t, uint32_t k, const pawl_value *result, bool failed)
{
    opened o = { .policy = NULL };
    pawl_code rc = gate_open(&o, t, k, "after");
    const char *under = rc == PAWL_OK ? under_now(t, o.policy) : "";

    if (t->calls[k].ntold > 0 && t->calls[k].under != NULL && strcmp(t->calls[k].under, under) != 0) {
        pawl_flow_drop(t->s, tag_of(t, "after", k));    /* other hooks: what these said is nothing to them */
        gate_forgets(t, k);
    }
    t->calls[k].under = under;
    if (rc == PAWL_OK)
        rc = gate_leave(&o.g, failed, &result, &o.err);
    if (rc == PAWL_PENDING) {
        if (t->calls[k].at != STAGE_AFTER) {
            call_stage_to(t, k, STAGE_AFTER);
            result_put(t, k, result, failed);
        }
    } else if (rc == PAWL_NOMEM) {
        t->rc = rc;
    } else if (rc == PAWL_OK) {
        call_done(t, k, pawl_value_get(result, "content") != NULL ? result : pawl_pack(t->s, "{s:v}", "content", result), failed);
    } else {
        call_fails(t, k, pawl_format(t->s, "Hook denied: %s", rc == PAWL_DENIED ? o.g.reason : o.err.text));
    }
    if (o.g.stops && t->rc == PAWL_OK) {
        calls_cut(t, "Interrupted");
        turn_end(t, "stop_hook", NULL);
    }
    pawl_policy_free(o.policy);
}

void after_begin(turn *t, uint32_t k, const pawl_value *result, bool failed)
{
    gate_forgets(t, k);
    after_look(t, k, result, failed);
}

void after_told(turn *t)
{
    const uint32_t k = (uint32_t)t->k;
    const agent_call *c = &t->calls[k];

    if (c->at != STAGE_AFTER)
        return;
    hears(t);
    after_look(t, k, result_of(t, k), c->failed);
    use_next(t);
}
