/* interrupt.c - interrupts and shutdown (A4). Transitions of reduce.c; pure.
 *
 * Afterwards every tool call of the conversation has a result, so that any provider accepts the conversation, and the agent takes input again. */
#include "agent/agent.h"

static const char interrupted[] = "Interrupted";

void interrupt_end(turn *t)
{
    message_add(t, pawl_pack(t->s, "{s:s,s:s}", "content", "User interrupted this message", "role", "user"));
    next_end(t, "interrupt", NULL);
}

/* ---- while the model speaks ------------------------------------------------------------------------------- */

/* Keep the text that readers have seen, which the event carries; incomplete thinking and tool calls are dropped. */
static void keep_partial_text(turn *t)
{
    pawl_iter it = pawl_iter_of(pawl_value_get(t->h->value, "said"));
    const pawl_value *text = pawl_iter_next(&it, NULL);

    if (pawl_value_size(text) > 0)
        message_add(t, pawl_pack(t->s, "{s:[{s:v,s:s}],s:s}", "content", "text", text, "type", "text", "role", "assistant"));
}

/* ---- while tools run --------------------------------------------------------------------------------------- */

static void child_interrupt(turn *t, uint32_t k)
{
    if (pawl_flow_call_with(t->s, "tell", "tell", pawl_pack(t->s, "{s:s,s:s}", "run", child_run_of(t, k), "signal", "interrupt"), NULL) != PAWL_OK) {
        pawl_flow_drop(t->s, tag_of(t, "tool", k));
        call_fail(t, k, interrupted);
    }
}

/* A tool that edits finishes, so that no file stays half changed. A sub-agent is interrupted in the same way and ends. */
static void call_interrupt(turn *t, uint32_t k)
{
    const agent_call *c = &t->calls[k];

    if (c->at == STAGE_DONE)
        return;
    if (c->at == STAGE_RUNNING && c->tool->own == PAWL_OWN_SPAWN_AGENT) {
        child_interrupt(t, k);
        return;
    }
    if ((c->at == STAGE_RUNNING || c->at == STAGE_AFTER_HOOKS) && c->tool->cls == PAWL_PERMISSION_EDIT)
        return;
    call_drop_commands(t, k);
    call_fail(t, k, interrupted);
}

static void tools_interrupted(turn *t)
{
    phase_move(t, PHASE_STOPPING);
    for (uint32_t k = 0; k < t->ncalls; k++)
        call_interrupt(t, k);
    if (calls_all_done(t))
        interrupt_end(t);
}

/* ---- an interrupt ---------------------------------------------------------------------------------------------- */

void on_interrupt(turn *t)
{
    switch (t->at) {
    case PHASE_MODEL:
        pawl_flow_drop(t->s, "llm");
        keep_partial_text(t);
        break;
    case PHASE_COMPACT: pawl_flow_drop(t->s, "compact"); break;
    case PHASE_RETRY: pawl_flow_drop(t->s, "retry"); break;
    case PHASE_AFTER_TOOLS: pawl_flow_drop(t->s, "post-tools"); break;
    case PHASE_TOOLS: tools_interrupted(t); return;
    case PHASE_LIFECYCLE:
        if (!lifecycle_in_turn(&t->life))
            return;
        (void)lifecycle_drop(t);
        calls_abort(t, interrupted);
        break;
    default:
        if (!BROKEN(BROKEN_RESULT))
            calls_abort(t, interrupted);
        break;      /* PHASE_AUTHORIZE, or a second interrupt */
    }
    interrupt_end(t);
}

/* ---- a shutdown -------------------------------------------------------------------------------------------------- */

void on_shutdown(turn *t)
{
    static const char *const tags[] = { "llm", "compact", "retry", "post-tools", "input" };

    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++)
        pawl_flow_drop(t->s, tags[i]);
    if (lifecycle_drop(t)) {         /* the last turn has ended: only the hooks at the end were open */
        next_step(t, STEP_CLOSE);
        return;
    }
    if (t->at == PHASE_MODEL)
        keep_partial_text(t);
    calls_abort(t, interrupted);
    t->end = "shutdown";
    t->error = NULL;
    t->ncalls = 0;
    (void)core_feed(&t->c, &(core_input){ .event = CORE_SHUTDOWN_REQUESTED }, NULL);
    pawl_emit(t->s, "done", pawl_pack(t->s, "{s:s}", "end", t->end));
    if (!lifecycle_end(t))
        next_step(t, STEP_CLOSE);
}
