/* states.c - the tables of phases and of call stages, their movers, and the invariants of a turn. */
#include "agent/agent.h"

/* ---- the wrapper's states -------------------------------------------------------------------------------- */

#define TO(p) SM_TO(PHASE_##p)
const sm_row phase_rows[PHASES] = {
    [PHASE_IDLE] = { "idle", TO(IDLE) | TO(COMPACT) | TO(MODEL) | TO(LIFECYCLE) | TO(OVER), SM_FIRST },
    [PHASE_COMPACT] = { "compacting", TO(MODEL) | TO(RETRY) | TO(IDLE) | TO(LIFECYCLE) | TO(OVER), 0 },
    [PHASE_MODEL] = { "asking the model", TO(MODEL) | TO(COMPACT) | TO(RETRY) | TO(AUTHORIZE) | TO(IDLE) | TO(LIFECYCLE) | TO(OVER), 0 },
    [PHASE_RETRY] = { "waiting to ask again", TO(MODEL) | TO(COMPACT) | TO(IDLE) | TO(LIFECYCLE) | TO(OVER), 0 },
    [PHASE_AUTHORIZE] = { "settling permissions", TO(TOOLS) | TO(IDLE) | TO(LIFECYCLE) | TO(OVER), 0 },
    [PHASE_TOOLS] = { "using tools", TO(AFTER_TOOLS) | TO(MODEL) | TO(COMPACT) | TO(STOPPING) | TO(IDLE) | TO(LIFECYCLE) | TO(OVER), 0 },
    [PHASE_AFTER_TOOLS] = { "after tools", TO(MODEL) | TO(COMPACT) | TO(IDLE) | TO(LIFECYCLE) | TO(OVER), 0 },
    [PHASE_STOPPING] = { "stopping", TO(IDLE) | TO(LIFECYCLE) | TO(OVER), 0 },
    [PHASE_LIFECYCLE] = { "asking hooks", TO(LIFECYCLE) | TO(MODEL) | TO(COMPACT) | TO(AUTHORIZE) | TO(IDLE) | TO(OVER), 0 },
    [PHASE_OVER] = { "over", 0, SM_LAST },
};
#undef TO
const sm_table phase_table = { "agent", phase_rows, PHASES, NULL };

#define TO(p) SM_TO(STAGE_##p)
const sm_row stage_rows[STAGES] = {
    [STAGE_PROPOSED] = { "new", TO(CHECKING) | TO(APPROVED) | TO(DONE), SM_FIRST },
    [STAGE_CHECKING] = { "settling", TO(APPROVED) | TO(DONE), 0 },
    [STAGE_APPROVED] = { "ready", TO(RUNNING) | TO(CHECKING) | TO(DONE), 0 },
    [STAGE_RUNNING] = { "running", TO(AFTER_HOOKS) | TO(DONE), 0 },
    [STAGE_AFTER_HOOKS] = { "after", TO(DONE), 0 },
    [STAGE_DONE] = { "done", 0, SM_LAST },
};
#undef TO
const sm_table stage_table = { "tool call", stage_rows, STAGES, NULL };

/* ---- invariants ---------------------------------------------------------------------------------------------- */

/* A-1 While there are calls: the results of the first `delivered` of them are messages, and those calls are done.
 * A-2 Calls are decided and run only while there are calls.
 * A-3 A call runs, or waits for the hooks after it, only in PHASE_TOOLS and PHASE_STOPPING.
 * A-4 An approval is open only for a call that is being checked. */
static const char *call_wrong(const turn *t, uint32_t k)
{
    const agent_call *c = &t->calls[k];

    if (k < t->delivered && c->at != STAGE_DONE)
        return "A-1";
    if ((c->at == STAGE_RUNNING || c->at == STAGE_AFTER_HOOKS) && t->at != PHASE_TOOLS && t->at != PHASE_STOPPING)
        return "A-3";
    return c->asked && c->at != STAGE_CHECKING ? "A-4" : NULL;
}

static const char *turn_wrong(const turn *t)
{
    const char *wrong = NULL;

    if (t->ncalls > 0 && t->delivered > t->ncalls)
        return "A-1";
    if ((t->at == PHASE_AUTHORIZE || t->at == PHASE_TOOLS || t->at == PHASE_STOPPING) && t->ncalls == 0)
        return "A-2";
    for (uint32_t k = 0; k < t->ncalls && wrong == NULL; k++)
        wrong = call_wrong(t, k);
    return wrong;
}

/* After a move. Where an update from outside had broken the agent's channels before the event, the agent makes the best of it (K1). */
static void invariants_hold(turn *t, const char *wrong)
{
    if (wrong != NULL && t->sound && t->rc >= 0)
        t->rc = pawl_fail(t->s, PAWL_CORRUPT, "invariant %s of the agent does not hold in phase \"%s\"", wrong, phase_rows[t->at].name);
}

void turn_check_begin(turn *t) { t->sound = turn_wrong(t) == NULL; }
void turn_check(turn *t) { invariants_hold(t, turn_wrong(t)); }

/* ---- the only movers ------------------------------------------------------------------------------------------ */

static void illegal_move(turn *t, const char *what, const char *from, const char *to)
{
    if (t->rc == PAWL_OK)
        t->rc = pawl_fail(t->s, PAWL_CORRUPT, "%s: from %s to %s there is no way", what, from, to);
}

void phase_move(turn *t, phase to)
{
    if (!sm_may(&phase_table, t->at, to))
        illegal_move(t, phase_table.name, phase_rows[t->at].name, phase_rows[to].name);
    t->at = to;
    turn_check(t);
}

void phase_reset(turn *t)
{
    t->at = PHASE_IDLE;
    t->ncalls = 0;
    turn_check(t);
}

void call_move(turn *t, uint32_t k, call_stage to)
{
    if (!sm_may(&stage_table, t->calls[k].at, to))
        illegal_move(t, stage_table.name, stage_rows[t->calls[k].at].name, stage_rows[to].name);
    t->calls[k].at = to;
    invariants_hold(t, call_wrong(t, k));       /* the move of one call changes nothing that the others depend on */
}
