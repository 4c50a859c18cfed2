/* use.c - tools are used: those that may run beside others side by side, all others one by one in request order (A3); and what comes of them
 * goes to the model in request order. */
#include "agent/agent.h"

const pawl_value *content_text(turn *t, const char *text)
{
    return text == NULL ? NULL : value_pack(t->mem, NULL, "{s:s}", "content", text);
}

const char *text_cut(turn *t, const char *text, size_t most)
{
    size_t n = text != NULL ? strlen(text) : 0;

    if (n <= most)
        return text != NULL ? text : "";
    for (n = most; n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80; n--)
        continue;
    text = arena_strdup(t->mem, text, n);
    return text != NULL ? text : "";
}

/* ---- done ------------------------------------------------------------------------------------------------ */

/* A text as it is, blocks as they are, anything else as JSON: also a list of what is no block, which no provider would take, with all that follows it. */
static const pawl_value *content_of(turn *t, const pawl_value *result, bool failed)
{
    const pawl_value *v = pawl_value_get(result, "content");
    const char *text;

    v = v != NULL ? v : result != NULL ? result : value_null(t->mem);
    if (pawl_value_type(v) == PAWL_TYPE_ARRAY && pawl_value_get(result, "content") != NULL && blocks_check(v, NULL) == PAWL_OK)
        return v;
    text = pawl_value_string(v);
    if (text != NULL && (!failed || strcmp(text, "Interrupted") == 0))
        return v;
    text = text != NULL ? text : pawl_text(t->s, v);
    return pawl_pack(t->s, "s", failed && text != NULL ? pawl_format(t->s, "Error: %s", text) : text);
}

static void message_give(turn *t, uint32_t k)
{
    const agent_call *c = &t->calls[k];
    const pawl_value *content = content_of(t, result_of(t, k), c->failed);

    if (c->failed)
        message_add(t, pawl_pack(t->s, "{s:v,s:b,s:s,s:s,s:s}", "content", content, "is_error", 1, "name", c->name, "role", "tool", "tool_call_id", c->id));
    else
        message_add(t, pawl_pack(t->s, "{s:v,s:s,s:s,s:s}", "content", content, "name", c->name, "role", "tool", "tool_call_id", c->id));
}

void call_done(turn *t, uint32_t k, const pawl_value *result, bool failed)
{
    agent_call *c = &t->calls[k];
    const pawl_value *note = pawl_value_get(result, "note");

    call_stage_to(t, k, STAGE_DONE);
    c->asked = false;
    result_put(t, k, result, failed);
    if (note != NULL)
        readers_told(t, "status", pawl_pack(t->s, "{s:v,s:s}", "note", note, "tool_use_id", c->id));
    readers_told(t, "tool_end", pawl_pack(t->s, "{s:b,s:s,s:v,s:s}", "is_error", failed, "name", c->name, "result", content_of(t, result, failed),
                                          "tool_use_id", c->id));
    while (t->given < t->ncalls && t->calls[t->given].at == STAGE_DONE)
        message_give(t, t->given++);
}

void call_fails(turn *t, uint32_t k, const char *text)
{
    call_done(t, k, content_text(t, text), true);
}

void calls_cut(turn *t, const char *text)
{
    for (uint32_t k = 0; k < t->ncalls; k++) {
        if (t->calls[k].at == STAGE_DONE)
            continue;
        pawl_flow_drop(t->s, tag_of(t, "gate", k));
        pawl_flow_drop(t->s, tag_of(t, "tool", k));
        pawl_flow_drop(t->s, tag_of(t, "after", k));
        call_fails(t, k, text);
    }
}

/* The core is told of those that are done; once it knows of all, it says what follows. */
static void core_hears(turn *t)
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
        action = core_feed(&t->c, &(core_told){ .event = CORE_TOOL_COMPLETED, .mutating = mutating }, NULL);
    if (t->c.at == CORE_EXECUTING_TOOLS)
        return;
    results_drop(t);
    turn_act(t, action, NULL);
}

/* ---- begun ---------------------------------------------------------------------------------------------------- */

/* In which folders it may work, by the rules of now. */
static const pawl_value *with_folders(turn *t, const pawl_value *args)
{
    const pawl_value *rules = rules_now(t);
    pawl_policy *p;
    pawl_err err = {0};

    if (pawl_value_size(pawl_value_get(rules, "directories")) == 0)
        return args;
    if ((p = gate_policy(&t->mem->alloc, rules, &err)) == NULL)
        return err.code == PAWL_NOMEM ? NULL : args;        /* rules that cannot be read let nobody in, and give no folders */
    args = gate_folders(t->mem, rules, p, args);
    pawl_policy_free(p);
    return args;
}

static void effect_begin(turn *t, uint32_t k)
{
    const agent_call *c = &t->calls[k];
    const char *effect = pawl_format(t->s, "tool-%s", c->name), *cwd = pawl_get_string(t->s, "@cwd");
    const pawl_value *args = pawl_pack(t->s, "{s:s,s:s,s:v,s:v,s:s}", "call", c->id, "cwd", cwd != NULL ? cwd : "", "decision",
                                       c->why != NULL ? c->why : value_null(t->mem), "input", c->input, "tool", c->name);
    pawl_code rc = PAWL_NOMEM;

    if ((args = with_folders(t, args)) != NULL)
        rc = pawl_flow_call_with(t->s, tag_of(t, "tool", k), effect, args, NULL);
    if (rc == PAWL_LIMIT)
        call_fails(t, k, "The budget has no room for it");
    else if (rc != PAWL_OK)
        t->rc = rc;
}

static void use_begin(turn *t, uint32_t k)
{
    const agent_call *c = &t->calls[k];

    call_stage_to(t, k, STAGE_RUNNING);
    readers_told(t, "tool_start", pawl_pack(t->s, "{s:v,s:s,s:s}", "input", c->input, "name", c->name, "tool_use_id", c->id));
    if (c->tool->own != PAWL_OWN_NOT)
        own_begin(t, k);
    else
        effect_begin(t, k);
}

/* The first that may begin now; false: none may. */
static bool begin_one(turn *t)
{
    uint32_t busy = 0;

    for (uint32_t k = 0; k < t->ncalls && busy < BESIDE_MAX; k++) {
        const agent_call *c = &t->calls[k];

        if (c->at == STAGE_DONE)
            continue;
        if (c->at == STAGE_SETTLING || c->at == STAGE_NEW)
            return false;       /* it is decided anew; or somebody has set @agent to what it never is */
        if (c->at == STAGE_READY && c->tool == &tool_gone) {
            call_fails(t, k, pawl_format(t->s, "Tool not found: %s", text_cut(t, c->name, 100)));
            return true;
        }
        if (c->at == STAGE_READY && (c->tool->beside || busy == 0)) {
            use_begin(t, k);
            return true;
        }
        if (!c->tool->beside)
            return false;       /* what follows waits for it */
        busy++;
    }
    return false;
}

void use_next(turn *t)
{
    while (t->at == PHASE_TOOLS && t->rc == PAWL_OK && !t->unsettled && begin_one(t))
        continue;
    if (t->unsettled && t->at == PHASE_TOOLS && t->rc == PAWL_OK) {     /* one of them has changed the mode */
        t->unsettled = false;
        settle_again(t);
        return;
    }
    if (t->at == PHASE_TOOLS && t->rc == PAWL_OK)
        core_hears(t);
    if (t->at == PHASE_STOPPING && stopping_over(t))
        stopping_end(t);
}

/* ---- told -------------------------------------------------------------------------------------------------------- */

static const char *why_not(turn *t)
{
    const char *text = pawl_value_string(pawl_value_get(t->h->value, "text"));

    if (t->h->outcome == PAWL_TIMED_OUT)
        return "Tool execution timed out";
    if (t->h->outcome == PAWL_CALLED_OFF)
        return "Interrupted";
    if (t->h->outcome == PAWL_OUTCOME_UNKNOWN)
        return "It was begun, and nobody knows what came of it";
    return text != NULL ? text_cut(t, text, 2000) : "Tool execution failed";
}

void use_told(turn *t)
{
    const uint32_t k = (uint32_t)t->k;
    agent_call *c = &t->calls[k];

    if (c->at != STAGE_RUNNING)
        return;
    if (c->tool->own != PAWL_OWN_NOT)
        own_told(t, k);
    else if (t->h->outcome != PAWL_DONE)
        after_begin(t, k, content_text(t, why_not(t)), true);
    else
        after_begin(t, k, t->h->value != NULL ? t->h->value : value_null(t->mem), pawl_value_bool(pawl_value_get(t->h->value, "is_error")));
    use_next(t);
}
