/* turn.c - a turn from its input to its answer: performs the actions of the core. Its functions are steps and transitions, called by reduce.c; pure. */
#include "agent/agent.h"
#include "kernel/step.h"

enum { TOKENS_MOST = 1000000000 };

static core_action core_event_fed(turn *t, core_input in)
{
    return core_feed(&t->c, &in, NULL);
}

/* ---- requests ------------------------------------------------------------------------------------------------- */

void turn_request(turn *t)
{
    const pawl_code rc = request_call(t, "llm", request_make(t, NULL));

    if (rc == PAWL_LIMIT) {
        next_end(t, "budget", NULL);
        return;
    }
    if (rc != PAWL_OK)
        t->rc = rc;
    phase_move(t, PHASE_MODEL);
}

void turn_send(turn *t)
{
    const int64_t fewer = pawl_value_int(pawl_value_get(pawl_get(t->s, "@config"), "max_iterations"));

    if (t->requests >= t->def->a.max_iterations || (fewer > 0 && t->requests >= fewer)) {
        next_end(t, "max_iterations", NULL);
        return;
    }
    t->requests++;
    if (!compact_due(t))
        turn_request(t);
    else if (!lifecycle_compact(t, false))
        compact_begin(t);
}

/* ---- what the core says ------------------------------------------------------------------------------------ */

/* The calls by reference, as the model made them; inputs that hooks or people changed are added. */
static const pawl_value *post_tools_args(turn *t)
{
    const pawl_value *all = value_pack(t->mem, NULL, "[]"), *one;
    const char *cwd = pawl_get_string(t->s, "@cwd");

    for (uint32_t i = 0; i < t->ncalls; i++) {
        const agent_call *c = &t->calls[i];

        one = value_pack(t->mem, NULL, "{s:b,s:s}", "succeeded", !c->failed, "tool_name", c->name);
        all = value_push(t->mem, all, c->changed ? value_with(t->mem, one, "tool_input", c->input) : one);
    }
    return pawl_pack(t->s, "{s:v,s:s,s:v}", "calls", pawl_ref(t->s, "@calls"), "cwd", cwd != NULL ? cwd : "", "tools", all);
}

static void post_tools(turn *t)
{
    phase_move(t, PHASE_AFTER_TOOLS);
    if (!t->def->a.post_tools || pawl_flow_call_with(t->s, "post-tools", "post-tools", post_tools_args(t), NULL) != PAWL_OK)
        next_act(t, core_event_fed(t, (core_input){ .event = CORE_POST_TOOLS_HOOK_COMPLETED }), NULL);
}

void turn_act(turn *t, core_action action, const char *why)
{
    switch (action) {
    case CORE_SEND_LLM_REQUEST: turn_send(t); return;
    case CORE_EXECUTE_TOOLS:
        phase_move(t, PHASE_AUTHORIZE);
        authorize_next(t);
        return;
    case CORE_RUN_POST_TOOLS_HOOK: post_tools(t); return;
    case CORE_DISPLAY_ERROR: next_end(t, "error", why); return;
    case CORE_WAIT_FOR_INPUT:
        if (t->c.at == CORE_WAITING_FOR_USER_INPUT && !lifecycle_stop(t))
            next_end(t, "answer", NULL);
        return;
    default: return;
    }
}

/* ---- its beginning -------------------------------------------------------------------------------------------- */

void turn_again(turn *t)
{
    t->requests = 0;
    t->stops = 0;
    t->note = NULL;
    t->end = "";
    t->error = NULL;
    t->overflowed = false;
    turn_act(t, core_event_fed(t, (core_input){ .event = CORE_USER_INPUT }), NULL);
}

void turn_open(turn *t, const pawl_value *message)
{
    t->first_message = t->nmessages;
    message_add(t, message);
    turn_again(t);
}

void turn_begin(turn *t, const pawl_value *message)
{
    if (pawl_get_bool(t->s, "@resumed")) {      /* the first input after a resume */
        pawl_set(t->s, "@resumed", value_bool(t->mem, false));
        if (lifecycle_start(t, "resume", message))
            return;
    }
    if (!lifecycle_prompt(t, message))
        turn_open(t, message);
}

void turn_continue(turn *t, const char *text)
{
    message_add(t, pawl_pack(t->s, "{s:s,s:s}", "content", text, "role", "user"));
    turn_act(t, core_event_fed(t, (core_input){ .event = CORE_USER_INPUT }), NULL);
}

/* ---- the model's answer ------------------------------------------------------------------------------------- */

static const char *type_of(const pawl_value *block)
{
    const char *type = pawl_value_string(pawl_value_get(block, "type"));

    return type != NULL ? type : "";
}

/* Tell readers about each completed block; the content is emitted by reference. */
static void blocks_emit(turn *t, const pawl_value *content)
{
    pawl_iter it = pawl_iter_of(content);
    const pawl_value *block;

    while ((block = pawl_iter_next(&it, NULL)) != NULL) {
        if (strcmp(type_of(block), "text") == 0 && pawl_value_get(block, "text") != NULL)
            pawl_emit(t->s, "text_complete", pawl_pack(t->s, "{s:v}", "text", pawl_value_get(block, "text")));
        else if (strcmp(type_of(block), "thinking") == 0 && pawl_value_get(block, "thinking") != NULL)
            pawl_emit(t->s, "thinking_complete", pawl_pack(t->s, "{s:v}", "thinking", pawl_value_get(block, "thinking")));
    }
}

static void output_set(turn *t, const pawl_value *content)
{
    pawl_iter it = pawl_iter_of(content);
    const pawl_value *block, *only = NULL;
    size_t texts = 0;
    buf *b = step_text(t->s);

    if (pawl_value_type(content) == PAWL_TYPE_STRING) {
        pawl_set(t->s, "output", t->output = content);
        return;
    }
    while ((block = pawl_iter_next(&it, NULL)) != NULL)
        if (strcmp(type_of(block), "text") == 0 && pawl_value_type(pawl_value_get(block, "text")) == PAWL_TYPE_STRING) {
            only = pawl_value_get(block, "text");
            buf_text(b, texts++ > 0 ? "\n\n" : "");
            buf_text(b, pawl_value_string(only));
        }
    t->output = texts == 1 ? only : value_string(t->mem, b->size > 0 ? b->data : "", b->size);
    pawl_set(t->s, "output", t->output);
}

static void usage_take(turn *t, const pawl_value *usage)
{
    static const char *const names[] = { "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens" };

    t->tokens = 0;
    for (size_t i = 0; i < 4; i++) {
        const int64_t n = pawl_value_int(pawl_value_get(usage, names[i]));

        t->tokens += n < 0 ? 0 : n > TOKENS_MOST ? TOKENS_MOST : n;     /* a provider may report anything */
    }
    t->messages_seen = t->nmessages;
    t->overflowed = false;
    if (t->tokens > 0 && (t->least_tokens < 0 || t->tokens < t->least_tokens))
        t->least_tokens = t->tokens;
}

/* ---- too long for the model ----------------------------------------------------------------------------------- */

/* Shorten the conversation and repeat the request until it fits; false: nothing is left to shorten. */
static bool overflows(turn *t)
{
    const bool again = t->overflowed;   /* the hooks were asked before the first attempt */

    if (!compact_can(t, true))
        return false;
    t->overflowed = true;
    core_resend(&t->c);
    if (again || !lifecycle_compact(t, true))
        compact_begin(t);
    return true;
}

static bool calls_tools(const pawl_value *content)
{
    pawl_iter it = pawl_iter_of(content);
    const pawl_value *block;

    while ((block = pawl_iter_next(&it, NULL)) != NULL)
        if (strcmp(type_of(block), "tool_use") == 0)
            return true;
    return false;
}

static void too_long(turn *t)
{
    const char *tried = t->overflowed ? "also after it was made shorter" : "and nothing of it can be left out", *sizes = compact_sizes(t);
    const char *text = t->h->outcome == PAWL_OUTCOME_DONE ? NULL : pawl_value_string(pawl_value_get(t->h->value, "text"));

    turn_act(t, core_event_fed(t, (core_input){ .event = CORE_LLM_ERROR, .permanent = true }),
             pawl_format(t->s, "LLM error: the conversation is too long for the model, %s: %s%s%s", tried, sizes != NULL ? sizes : "", text != NULL ? ": " : "",
                         text_cut(t, text, 500)));
}

static void answer_taken(turn *t, const pawl_value *v, const pawl_value *message)
{
    const pawl_value *content = pawl_value_get(message, "content");
    const char *stop = pawl_value_string(pawl_value_get(v, "stop"));

    stop = stop != NULL ? stop : "end_turn";
    if (reply_too_long(t) && (!t->overflowed || pawl_value_size(content) == 0) && overflows(t))
        return;                 /* after a shortening, a truncated answer counts as an answer */
    if (reply_too_long(t) && pawl_value_size(content) == 0) {
        too_long(t);
        return;
    }
    blocks_emit(t, content);
    if (pawl_value_size(content) > 0)
        message_add(t, message);
    usage_take(t, pawl_value_get(v, "usage"));
    if (strcmp(stop, "pause_turn") == 0 && !calls_tools(content)) {     /* the model continues when it gets its own text back */
        t->c.retries = 0;
        turn_send(t);
        return;
    }
    turn_calls(t, content);
    output_set(t, content);
    if (strcmp(stop, "end_turn") != 0 && strcmp(stop, "tool_use") != 0 && strcmp(stop, "stop_sequence") != 0)
        pawl_emit(t->s, "status", pawl_pack(t->s, "{s:s}", "stop", stop));
    if (!lifecycle_answer(t))
        turn_use_answer(t);
}

void turn_use_answer(turn *t)
{
    turn_act(t, core_event_fed(t, (core_input){ .event = CORE_COMPLETED, .calls = t->ncalls }), NULL);
}

static void failed(turn *t, const char *wrong)
{
    const char *why = pawl_format(t->s, "LLM error: %s", wrong != NULL ? text_cut(t, wrong, 1000) : reply_error(t));
    core_action then;

    if (!retry_later(t, &why, &then))
        turn_act(t, then, why);
}

void on_model_reply(turn *t)
{
    const pawl_value *message = NULL;
    const char *wrong = NULL;

    if (t->h->outcome == PAWL_OUTCOME_DONE && (message = message_of_answer(t, pawl_value_get(t->h->value, "message"), &wrong)) == NULL && wrong == NULL)
        t->rc = PAWL_NOMEM;
    else if (message != NULL)
        answer_taken(t, t->h->value, message);
    else if (!reply_too_long(t))
        failed(t, wrong);
    else if (!overflows(t))
        too_long(t);
}

void on_retry_timer(turn *t)
{
    const core_action then = core_event_fed(t, (core_input){ .event = CORE_RETRY_TIMEOUT_FIRED });

    if (t->retry_summary) {
        compact_again(t);
        return;
    }
    t->requests -= t->requests > 0;   /* a retry is no new request */
    turn_act(t, then, NULL);
}

void on_post_tools(turn *t)
{
    turn_act(t, core_event_fed(t, (core_input){ .event = CORE_POST_TOOLS_HOOK_COMPLETED }), NULL);
}

/* ---- its end --------------------------------------------------------------------------------------------------- */

/* A sub-agent, a node or a one-shot: the run ends, and its parent gets the output. */
void run_close(turn *t)
{
    const bool shutdown = strcmp(t->end, "shutdown") == 0;

    if (t->error != NULL && !shutdown) {
        t->rc = pawl_fail(t->s, PAWL_EFFECT, "%s", t->error);
        return;
    }
    if (strcmp(t->end, "answer") != 0 && !shutdown)
        pawl_set(t->s, "output", pawl_pack(t->s, "s", pawl_format(t->s, "It ended without an answer: %s.", t->end)));
    phase_move(t, PHASE_OVER);
}

void turn_wait(turn *t)
{
    phase_move(t, PHASE_IDLE);
    pawl_flow_ask(t->s, "input", &(pawl_question){ .kind = PAWL_WAIT_INPUT, .slot = "input" });
}

void turn_end(turn *t, const char *how, const char *error)
{
    const char *once = pawl_get_string(t->s, "@once");
    const pawl_value *next;

    t->end = how;
    t->error = error;
    t->ncalls = 0;
    core_rest(&t->c);
    results_drop(t);
    if (error != NULL)
        pawl_emit(t->s, "error", pawl_pack(t->s, "{s:s}", "message", error));
    pawl_emit(t->s, "done", pawl_pack(t->s, "{s:s}", "end", how));
    if (once != NULL && strcmp(once, "run") == 0) {
        if (!lifecycle_end(t))
            run_close(t);
        return;
    }
    phase_move(t, PHASE_IDLE);
    display_update(t);              /* readers see `done` even if the next turn starts in this event */
    if ((next = queue_take(t)) != NULL) {
        next_begin(t, next);
        return;
    }
    turn_wait(t);
    notify_hooks(t, "idle_prompt", "It waits for input");
}
