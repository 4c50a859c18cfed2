/* reduce.c - the transitions of an agent for each input in each phase, and the loop that runs its steps.
 *
 * agent_reduce() is the only way in: the reducer of flow/reducer.c calls it once for an event. It loads the turn, runs the transition for
 * (phase, input), then one step after another until none is chosen, and saves what changed. An input without a transition is ignored (K1). */
#include "agent/agent.h"

/* ---- the inputs ---------------------------------------------------------------------------------------- */

/* "tool:7.2": the call that a tag names; false: it is no call of the current answer. */
static bool of_call(turn *t, const char *tag, const char *what)
{
    const size_t n = strlen(what);
    const char *rest;
    uint64_t round, k;

    if (strncmp(tag, what, n) != 0 || (rest = digits_read(tag + n, &round)) == NULL || round != t->round || *rest != '.' ||
        digits_read(rest + 1, &k) == NULL || k >= t->ncalls)
        return false;
    t->k = (int)k;
    return true;
}

static agent_input input_of_tag(turn *t, const char *tag)
{
    static const struct { const char *tag; agent_input kind; } plain[] = {
        { "llm", INPUT_MODEL_REPLY }, { "compact", INPUT_SUMMARY }, { "retry", INPUT_RETRY_TIMER }, { "post-tools", INPUT_POST_TOOLS },
        { "input", INPUT_MESSAGE }, { "life", INPUT_LIFECYCLE_HOOK }, { "note", INPUT_NOTIFICATION }, { "note:claude", INPUT_NOTIFICATION },
    };
    static const struct { const char *tag; agent_input kind; } calls[] = {
        { "gate:", INPUT_GATE_ANSWER }, { "tool:", INPUT_TOOL_RESULT }, { "after:", INPUT_AFTER_HOOK },
    };

    for (size_t i = 0; tag != NULL && i < sizeof plain / sizeof *plain; i++)
        if (strcmp(plain[i].tag, tag) == 0)
            return plain[i].kind;
    for (size_t i = 0; tag != NULL && i < sizeof calls / sizeof *calls; i++)
        if (of_call(t, tag, calls[i].tag))
            return calls[i].kind;
    return INPUT_NONE;
}

static agent_input input_of(turn *t)
{
    static const struct { const char *name; agent_input kind; } signals[] = { { "input", INPUT_MESSAGE }, { "interrupt", INPUT_INTERRUPT },
                                                                            { "shutdown", INPUT_SHUTDOWN }, { "retry_turn", INPUT_RETRY_TURN } };

    switch (t->h->kind) {
    case PAWL_EV_START:  return INPUT_START;
    case PAWL_EV_UPDATE: return INPUT_UPDATE;
    case PAWL_EV_REOPEN: return INPUT_REOPEN;
    case PAWL_EV_SIGNAL:
        for (size_t i = 0; t->h->tag != NULL && i < sizeof signals / sizeof *signals; i++)
            if (strcmp(signals[i].name, t->h->tag) == 0)
                return signals[i].kind;
        return INPUT_NONE;
    default: return input_of_tag(t, t->h->tag);
    }
}

/* ---- and does ------------------------------------------------------------------------------------------------- */

static void report_bad_input(turn *t, const pawl_value *v)
{
    const char *once = pawl_get_string(t->s, "@once");
    pawl_err err = {0};

    if (pawl_agent_input(v, &err) == PAWL_OK)
        return;
    pawl_emit(t->s, "error", pawl_pack(t->s, "{s:s}", "message", err.text));
    if (once != NULL && strcmp(once, "run") == 0 && t->h->kind == PAWL_EV_START)
        t->rc = pawl_fail(t->s, PAWL_INVALID, "%s", err.text);      /* a one-shot gets no other input */
}

static void on_idle_message(turn *t)
{
    const pawl_value *m = message_of_input(t, t->h->value);

    if (m == NULL) {
        report_bad_input(t, t->h->value);
        if (t->h->kind == PAWL_EV_ANSWER)
            turn_wait(t);
        return;
    }
    if (t->h->kind == PAWL_EV_SIGNAL)
        pawl_flow_drop(t->s, "input");
    next_begin(t, m);
}

static void on_busy_message(turn *t)
{
    const pawl_value *m = message_of_input(t, t->h->value);

    if (m == NULL)
        report_bad_input(t, t->h->value);
    else
        queue_put(t, m);
}

static void on_start(turn *t)
{
    const pawl_value *input = pawl_value_get(t->h->value, "input"), *m = input != NULL ? message_of_input(t, input) : NULL;

    if (input != NULL && pawl_value_type(input) != PAWL_TYPE_NULL && m == NULL)
        report_bad_input(t, input);
    if (lifecycle_start(t, "startup", m))
        return;
    if (m != NULL)
        next_begin(t, m);
    else
        turn_wait(t);
}

static void on_nothing(turn *t) { (void)t; }

/* The last turn failed, and its message is in the conversation. */
static void on_idle_retry(turn *t)
{
    pawl_flow_drop(t->s, "input");
    next_step(t, STEP_AGAIN);
}

/* The attempt that is waited for is made now. */
static void on_waiting_retry(turn *t)
{
    pawl_flow_drop(t->s, "retry");
    on_retry_timer(t);
}

/* A run that failed continues where it can take input; with a total for its requests, with the turn that failed. */
static void on_reopen(turn *t)
{
    const bool open = t->at != PHASE_IDLE && t->at != PHASE_LIFECYCLE;
    const bool again = t->def->a.retry_total_ms > 0 && (open || turn_may_retry(t)) && t->nmessages > t->first_message;
    const pawl_value *next = t->life.message;

    (void)lifecycle_drop(t);
    calls_abort(t, "Interrupted");
    phase_reset(t);
    core_begin(&t->c, t->def->a.max_retries);
    results_drop(t);
    if (next == NULL && again)
        next_step(t, STEP_AGAIN);
    else if (next != NULL || (next = queue_take(t)) != NULL)
        next_begin(t, next);
    else
        turn_wait(t);
}

#define ALWAYS [INPUT_REOPEN] = on_reopen, [INPUT_NOTIFICATION] = on_notification
#define OPEN ALWAYS, [INPUT_MESSAGE] = on_busy_message, [INPUT_INTERRUPT] = on_interrupt, [INPUT_SHUTDOWN] = on_shutdown
typedef void transition(turn *t);
static transition *const transitions[PHASES][AGENT_INPUTS] = {      /* NULL: the input is ignored */
    [PHASE_IDLE] = { ALWAYS, [INPUT_UPDATE] = rights_changed, [INPUT_START] = on_start, [INPUT_MESSAGE] = on_idle_message, [INPUT_INTERRUPT] = on_nothing,
                     [INPUT_SHUTDOWN] = on_shutdown, [INPUT_RETRY_TURN] = on_idle_retry },
    [PHASE_COMPACT] = { OPEN, [INPUT_UPDATE] = rights_changed, [INPUT_SUMMARY] = on_summary },
    [PHASE_MODEL] = { OPEN, [INPUT_UPDATE] = rights_changed, [INPUT_MODEL_REPLY] = on_model_reply },
    [PHASE_RETRY] = { OPEN, [INPUT_UPDATE] = rights_changed, [INPUT_RETRY_TIMER] = on_retry_timer, [INPUT_RETRY_TURN] = on_waiting_retry },
    [PHASE_AUTHORIZE] = { OPEN, [INPUT_UPDATE] = on_update_authorizing, [INPUT_GATE_ANSWER] = on_gate_answer },
    [PHASE_TOOLS] = { OPEN, [INPUT_UPDATE] = on_update_using_tools, [INPUT_GATE_ANSWER] = on_gate_answer_using_tools, [INPUT_TOOL_RESULT] = on_tool_result,
                      [INPUT_AFTER_HOOK] = on_after_hook },
    [PHASE_AFTER_TOOLS] = { OPEN, [INPUT_UPDATE] = rights_changed, [INPUT_POST_TOOLS] = on_post_tools },
    [PHASE_STOPPING] = { OPEN, [INPUT_UPDATE] = on_update_stopping, [INPUT_TOOL_RESULT] = on_tool_result, [INPUT_AFTER_HOOK] = on_after_hook },
    [PHASE_LIFECYCLE] = { OPEN, [INPUT_UPDATE] = on_lifecycle_update, [INPUT_LIFECYCLE_HOOK] = on_lifecycle_hook },
    [PHASE_OVER] = { ALWAYS, [INPUT_UPDATE] = on_nothing },
};
#undef OPEN
#undef ALWAYS

/* ---- steps ----------------------------------------------------------------------------------------------------- */

static void step_run(turn *t, const chosen_step *now)
{
    switch (now->step) {
    case STEP_BEGIN: turn_begin(t, now->message); return;
    case STEP_OPEN: turn_open(t, now->message); return;
    case STEP_AGAIN: turn_again(t); return;
    case STEP_CONTINUE: turn_continue(t, now->text); return;
    case STEP_ACT: turn_act(t, now->action, now->text); return;
    case STEP_SEND: turn_send(t); return;
    case STEP_REQUEST: turn_request(t); return;
    case STEP_USE_ANSWER: turn_use_answer(t); return;
    case STEP_COMPACT: compact_begin(t); return;
    case STEP_COMPACTED: compact_continue(t); return;
    case STEP_START_TOOLS: tools_start_next(t); return;
    case STEP_END: turn_end(t, now->text, now->error); return;
    case STEP_WAIT: turn_wait(t); return;
    case STEP_CLOSE: run_close(t); return;
    case STEP_NONE:
    case TURN_STEPS: break;
    }
    PAWL_UNREACHABLE("a step of the agent that nothing chooses");
}

/* It ends: a step waits for an event, ends the run, or takes an input of the queue, which no event fills while it takes. */
static void steps_run(turn *t)
{
    while (next_chosen(t)) {
        const chosen_step now = t->next;

        t->next.step = STEP_NONE;
        step_run(t, &now);
    }
}

/* ---- entry point ---------------------------------------------------------------------------------------------- */

pawl_code agent_reduce(pawl_step *s, const pawl_input_event *h, void *arg)
{
    turn t;
    pawl_code rc = turn_load(&t, s, arg, h);
    const phase from = t.at;
    agent_input input;

    if (rc != PAWL_OK)
        return rc;
    input = input_of(&t);
    if (transitions[from][input] == NULL || (from == PHASE_IDLE && input == INPUT_RETRY_TURN && !turn_may_retry(&t)))
        return PAWL_IGNORED;
    turn_check_begin(&t);
    transitions[from][input](&t);
    steps_run(&t);
    turn_check(&t);
    display_update(&t);
    turn_save(&t);
    if (t.rc < 0)
        return t.rc;
    return t.at == PHASE_OVER && from != PHASE_OVER ? pawl_flow_complete(s) : PAWL_OK;
}
