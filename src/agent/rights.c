/* rights.c - a child may do no more than its parent may now (P1, E11): what its parent loses it loses, and does not get back.
 *
 * @rights is what a child was told so far. The least of all of that counts, in whatever order it comes; its own mode never goes above it,
 * whoever sets it. */
#include "agent/agent.h"

static pawl_mode mode_said(turn *t, const char *where, pawl_mode otherwise)
{
    const pawl_mode m = pawl_mode_named(pawl_get_string(t->s, where));

    return m != PAWL_MODE_NONE ? m : otherwise;
}

pawl_mode mode_most(turn *t)
{
    const pawl_mode told = mode_said(t, "@rights", PAWL_BYPASS);

    return told < t->most ? told : t->most;
}

pawl_mode mode_now(turn *t)
{
    const pawl_mode own = t->mode_set != PAWL_MODE_NONE ? t->mode_set : mode_said(t, "@mode", PAWL_DEFAULT), most = t->most;

    return own < most ? own : most;
}

const char *child_run_of(turn *t, uint32_t k)
{
    return child_run_name(t->mem, t->s->st->run, strlen(t->s->st->run), t->calls[k].id);
}

static void child_lowered(turn *t, uint32_t k, pawl_mode to)
{
    agent_call *c = &t->calls[k];

    if (c->at != STAGE_RUNNING || c->tool->own != PAWL_OWN_SPAWN_AGENT || c->rights <= to)
        return;
    c->rights = to;
    if (pawl_flow_call_with(t->s, "tell", "tell", pawl_pack(t->s, "{s:s,s:{s:s}}", "run", child_run_of(t, k), "update", "@rights", pawl_mode_name(to)), NULL) != PAWL_OK) {
        pawl_flow_drop(t->s, tag_of(t, "tool", k));     /* it cannot be told: then it may do nothing */
        call_fails(t, k, "The sub-agent could not be told what it may do now, and was ended");
    }
}

void rights_changed(turn *t)
{
    const pawl_mode now = mode_now(t);

    if (t->h->kind == PAWL_EV_UPDATE && pawl_value_get(t->h->value, "@mode") != NULL && pawl_value_get(pawl_get(t->s, "plan"), "from") != NULL)
        pawl_set(t->s, "plan", value_null(t->mem));     /* somebody has set the mode: there is none to go back to */
    if (t->mode_set == PAWL_MODE_NONE && now < mode_said(t, "@mode", PAWL_DEFAULT)) {
        pawl_set_string(t->s, "@mode", pawl_mode_name(now));
        readers_told(t, "status", pawl_pack(t->s, "{s:s}", "mode", pawl_mode_name(now)));
    }
    for (uint32_t k = 0; k < t->ncalls; k++)
        child_lowered(t, k, now);
    if (t->at == PHASE_STOPPING)
        use_next(t);            /* perhaps that was the last */
}
