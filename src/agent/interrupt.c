/* stop.c - an interrupt, and a shutdown (A4). Whatever it meets, every tool call of the conversation has its result afterwards, so that any
 * provider takes it; and the agent lives. */
#include "agent/agent.h"

static const char interrupted[] = "Interrupted";

static void marked_end(turn *t)
{
    message_add(t, pawl_pack(t->s, "{s:s,s:s}", "content", "User interrupted this message", "role", "user"));
    turn_end(t, "interrupt", NULL);
}

/* ---- while the model speaks ------------------------------------------------------------------------------- */

/* The text shown so far, as the event has it; thinking and calls that are not whole are not kept. */
static void keep_said(turn *t)
{
    pawl_iter it = pawl_iter_of(pawl_value_get(t->h->value, "said"));
    const pawl_value *text = pawl_iter_next(&it, NULL);

    if (pawl_value_size(text) > 0)
        message_add(t, pawl_pack(t->s, "{s:[{s:v,s:s}],s:s}", "content", "text", text, "type", "text", "role", "assistant"));
}

/* ---- while tools run --------------------------------------------------------------------------------------- */

static void child_told(turn *t, uint32_t k)
{
    if (pawl_flow_call_with(t->s, "tell", "tell", pawl_pack(t->s, "{s:s,s:s}", "run", child_run_of(t, k), "signal", "interrupt"), NULL) != PAWL_OK) {
        pawl_flow_drop(t->s, tag_of(t, "tool", k));
        call_fails(t, k, interrupted);
    }
}

/* One that edits is let finish, so that no file is left half changed; a child is interrupted alike, and ends. */
static void cut(turn *t, uint32_t k)
{
    const agent_call *c = &t->calls[k];

    if (c->at == STAGE_DONE)
        return;
    if (c->at == STAGE_RUNNING && c->tool->own == PAWL_OWN_SPAWN_AGENT) {
        child_told(t, k);
        return;
    }
    if ((c->at == STAGE_RUNNING || c->at == STAGE_AFTER) && c->tool->cls == PAWL_EDIT)
        return;
    pawl_flow_drop(t->s, tag_of(t, "gate", k));
    pawl_flow_drop(t->s, tag_of(t, "tool", k));
    pawl_flow_drop(t->s, tag_of(t, "after", k));
    call_fails(t, k, interrupted);
}

bool stopping_over(const turn *t)
{
    for (uint32_t k = 0; k < t->ncalls; k++)
        if (t->calls[k].at != STAGE_DONE)
            return false;
    return true;
}

void stopping_end(turn *t)
{
    marked_end(t);
}

static void tools_interrupted(turn *t)
{
    turn_phase(t, PHASE_STOPPING);
    for (uint32_t k = 0; k < t->ncalls; k++)
        cut(t, k);
    if (stopping_over(t))
        stopping_end(t);
}

/* ---- an interrupt ---------------------------------------------------------------------------------------------- */

void interrupt_told(turn *t)
{
    switch (t->at) {
    case PHASE_MODEL:
        pawl_flow_drop(t->s, "llm");
        keep_said(t);
        break;
    case PHASE_COMPACT: pawl_flow_drop(t->s, "compact"); break;
    case PHASE_RETRY: pawl_flow_drop(t->s, "retry"); break;
    case PHASE_HOOK: pawl_flow_drop(t->s, "post-tools"); break;
    case PHASE_TOOLS: tools_interrupted(t); return;
    case PHASE_ASKED:
        if (!life_in_turn(&t->life))
            return;
        (void)life_drop(t);
        calls_cut(t, interrupted);
        break;
    default:
        if (!BROKEN(BROKEN_RESULT))
            calls_cut(t, interrupted);
        break;      /* permissions are asked, or it is the second one */
    }
    marked_end(t);
}

/* ---- a shutdown -------------------------------------------------------------------------------------------------- */

void shutdown_told(turn *t)
{
    static const char *const tags[] = { "llm", "compact", "retry", "post-tools", "input" };

    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++)
        pawl_flow_drop(t->s, tags[i]);
    if (life_drop(t)) {         /* its last turn has ended, and readers know how: it only waits for no hook any more */
        run_closes(t);
        return;
    }
    if (t->at == PHASE_MODEL)
        keep_said(t);
    calls_cut(t, interrupted);
    t->end = "shutdown";
    t->error = NULL;
    t->ncalls = 0;
    (void)core_feed(&t->c, &(core_told){ .event = CORE_SHUTDOWN_REQUESTED }, NULL);
    readers_told(t, "done", pawl_pack(t->s, "{s:s}", "end", t->end));
    if (!life_end(t))
        run_closes(t);
}
