/* display_state.c - the display state of an agent, for people (A3): eight states with the transitions of the source. Called at the end of an event, and by
 * hosts to read the state; pure.
 *
 * When two states that follow one another have no transition between them, `processing` is entered in between, and before it `idle` at the start
 * and after a turn that was done. */
#include "agent/agent.h"
#include "agent/states.h"
#include "kernel/channel.h"
#include "kernel/state.h"

#define TO(s) SM_TO(PAWL_SHOWN_##s)
const sm_row shown_rows[] = {
    [PAWL_SHOWN_NOTHING] = { "new", TO(IDLE), SM_FIRST },
    [PAWL_SHOWN_IDLE] = { "idle", TO(PROCESSING) | TO(DONE), 0 },
    [PAWL_SHOWN_PROCESSING] = { "processing", TO(EXECUTING_TOOL) | TO(WAITING_FOR_PERMISSION) | TO(WAITING_FOR_SUB_AGENT) | TO(WAITING_FOR_USER_INPUT) |
                                TO(IDLE) | TO(DONE) | TO(ERROR), 0 },
    [PAWL_SHOWN_WAITING_FOR_PERMISSION] = { "waiting_for_permission", TO(EXECUTING_TOOL) | TO(DONE) | TO(PROCESSING), 0 },
    [PAWL_SHOWN_EXECUTING_TOOL] = { "executing_tool", TO(PROCESSING) | TO(DONE) | TO(ERROR) | TO(WAITING_FOR_SUB_AGENT), 0 },
    [PAWL_SHOWN_WAITING_FOR_SUB_AGENT] = { "waiting_for_sub_agent", TO(PROCESSING) | TO(ERROR), 0 },
    [PAWL_SHOWN_WAITING_FOR_USER_INPUT] = { "waiting_for_user_input", TO(PROCESSING) | TO(DONE), 0 },
    [PAWL_SHOWN_DONE] = { "done", TO(IDLE), 0 },
    [PAWL_SHOWN_ERROR] = { "error", TO(IDLE) | TO(PROCESSING), 0 },
};
#undef TO
enum { SHOWN_STATES = PAWL_SHOWN_ERROR + 1 };
const sm_table shown_table = { "shown", shown_rows, SHOWN_STATES, NULL };

const char *pawl_shown_name(pawl_shown s)
{
    return (int)s > 0 && (int)s < SHOWN_STATES ? shown_rows[s].name : "";
}

pawl_badge pawl_shown_badge(pawl_shown s)
{
    static const pawl_badge badges[SHOWN_STATES] = {
        [PAWL_SHOWN_NOTHING] = { "", "gray" },
        [PAWL_SHOWN_IDLE] = { "Ready", "green" },
        [PAWL_SHOWN_PROCESSING] = { "Thinking", "blue" },
        [PAWL_SHOWN_WAITING_FOR_PERMISSION] = { "Permission needed", "yellow" },
        [PAWL_SHOWN_EXECUTING_TOOL] = { "Using tool", "purple" },
        [PAWL_SHOWN_WAITING_FOR_SUB_AGENT] = { "Sub-agent", "blue" },
        [PAWL_SHOWN_WAITING_FOR_USER_INPUT] = { "Question", "yellow" },
        [PAWL_SHOWN_DONE] = { "Complete", "gray" },
        [PAWL_SHOWN_ERROR] = { "Error", "red" },
    };

    return badges[(int)s >= 0 && (int)s < SHOWN_STATES ? (int)s : 0];
}

static pawl_shown shown_named(const char *name)
{
    for (int i = 1; name != NULL && i < SHOWN_STATES; i++)
        if (strcmp(shown_rows[i].name, name) == 0)
            return (pawl_shown)i;
    return PAWL_SHOWN_NOTHING;
}

/* ---- which of them --------------------------------------------------------------------------------------------- */

static bool call_displayed_as(const agent_call *c, pawl_shown as)
{
    if (as == PAWL_SHOWN_WAITING_FOR_PERMISSION)
        return c->asked && c->at == STAGE_CHECKING;
    if (c->tool == NULL || (c->at != STAGE_RUNNING && c->at != STAGE_AFTER_HOOKS))
        return false;
    if (as == PAWL_SHOWN_WAITING_FOR_USER_INPUT)
        return c->tool->own == PAWL_OWN_ASK_USER;
    if (as == PAWL_SHOWN_WAITING_FOR_SUB_AGENT)
        return c->tool->own == PAWL_OWN_SPAWN_AGENT;
    return true;
}

/* The first state that applies. *of: the call with the lowest index that it is about, or NULL. */
static pawl_shown display_state_now(const turn *t, const agent_call **of)
{
    static const pawl_shown order[] = { PAWL_SHOWN_WAITING_FOR_PERMISSION, PAWL_SHOWN_WAITING_FOR_USER_INPUT, PAWL_SHOWN_WAITING_FOR_SUB_AGENT,
                                        PAWL_SHOWN_EXECUTING_TOOL };

    *of = NULL;
    if (t->at == PHASE_IDLE || t->at == PHASE_OVER) {
        if (t->error != NULL)
            return PAWL_SHOWN_ERROR;
        return t->at == PHASE_IDLE && (*t->end == '\0' || strcmp(t->end, "answer") == 0) ? PAWL_SHOWN_IDLE : PAWL_SHOWN_DONE;
    }
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        for (uint32_t k = 0; k < t->ncalls; k++)
            if (call_displayed_as(&t->calls[k], order[i])) {
                *of = &t->calls[k];
                return order[i];
            }
    return PAWL_SHOWN_PROCESSING;
}

static const pawl_value *display_event(turn *t, pawl_shown s, const agent_call *c, const char *id)
{
    const char *name = pawl_shown_name(s);

    if (s == PAWL_SHOWN_ERROR)
        return pawl_pack(t->s, "{s:s,s:s}", "message", t->error, "state", name);
    if (c == NULL)
        return pawl_pack(t->s, "{s:s}", "state", name);
    if (s == PAWL_SHOWN_WAITING_FOR_SUB_AGENT)
        return pawl_pack(t->s, "{s:s,s:s}", "session_id", id, "state", name);
    if (s == PAWL_SHOWN_WAITING_FOR_USER_INPUT)
        return pawl_pack(t->s, "{s:s,s:s}", "request_id", c->id, "state", name);
    return pawl_pack(t->s, "{s:s,s:s,s:s}", "state", name, "tool_name", c->name, "tool_use_id", c->id);
}

void display_update(turn *t)
{
    const agent_call *c;
    const pawl_shown now = display_state_now(t, &c), was = shown_named(t->shown);
    const char *id = c == NULL ? "" : now == PAWL_SHOWN_WAITING_FOR_SUB_AGENT ? child_run_of(t, (uint32_t)(c - t->calls)) : c->id;

    if (id == NULL || (now == was && strcmp(id, t->shown_id) == 0))
        return;
    for (pawl_shown at = was; !sm_may(&shown_table, at, now);) {
        at = sm_may(&shown_table, at, PAWL_SHOWN_PROCESSING) ? PAWL_SHOWN_PROCESSING : PAWL_SHOWN_IDLE;
        pawl_emit(t->s, "state", display_event(t, at, NULL, ""));
    }
    pawl_emit(t->s, "state", display_event(t, now, c, id));
    t->shown = pawl_shown_name(now);
    t->shown_id = id;
}

/* ---- looked at from outside ---------------------------------------------------------------------------------------- */

static void view_call(pawl_state *st, const char *id, pawl_agent_view *out)
{
    pawl_iter it = pawl_iter_of(pawl_state_get(st, "@calls"));
    const pawl_value *one;

    while ((one = pawl_iter_next(&it, NULL)) != NULL) {
        const char *own = pawl_value_string(pawl_value_get(one, "id"));

        if (own == NULL || strcmp(own, id) != 0)
            continue;
        out->tool_name = pawl_value_string(pawl_value_get(one, "name"));
        out->input = pawl_value_get(one, "input");
    }
}

bool pawl_agent_unknown(const pawl_wait *w)
{
    return w->kind == PAWL_WAIT_QUESTION && pawl_value_get(w->prompt, "known") != NULL && pawl_value_get(w->prompt, "outcome") != NULL;
}

const char *pawl_agent_core(pawl_state *st)
{
    return st == NULL ? "" : core_at_name(core_at_named(pawl_value_string(pawl_value_find(pawl_state_get(st, "@agent"), "/core/at"))));
}

const char *pawl_agent_call(pawl_state *st, size_t index, const pawl_value **said)
{
    pawl_iter it = pawl_iter_of(pawl_state_get(st, "@uses"));
    const pawl_value *one, *key;
    const char *rest, *at = NULL;
    uint64_t k;

    if (index >= pawl_value_uint(pawl_value_get(pawl_state_get(st, "@agent"), "calls")))
        return NULL;
    while (at == NULL && (one = pawl_iter_next(&it, &key)) != NULL)
        if ((rest = digits_read(pawl_value_string(key), &k)) != NULL && *rest == '\0' && k == index)
            at = pawl_value_string(pawl_value_get(one, "at"));
    if (said != NULL)
        *said = pawl_value_at(pawl_state_get(st, "@calls"), index);
    return at != NULL ? at : stage_rows[STAGE_PROPOSED].name;
}

/* The running call of that tool; NULL when several are running. */
const pawl_value *pawl_agent_unknown_call(pawl_state *st, const pawl_wait *w)
{
    const char *effect = pawl_agent_unknown(w) ? pawl_value_string(pawl_value_get(w->prompt, "effect")) : NULL, *at, *name;
    const pawl_value *said, *found = NULL;
    size_t n = 0;

    if (effect == NULL || strncmp(effect, "tool-", 5) != 0)
        return NULL;
    for (size_t i = 0; (at = pawl_agent_call(st, i, &said)) != NULL; i++) {
        name = pawl_value_string(pawl_value_get(said, "name"));
        if (name == NULL || strcmp(at, stage_rows[STAGE_RUNNING].name) != 0 || strcmp(name, effect + 5) != 0)
            continue;
        found = said;
        n++;
    }
    return n == 1 ? found : NULL;
}

/* A run that failed or was canceled ended without its machine: the stored display state is out of date. */
static pawl_code view_ended(const pawl_state *st, pawl_agent_view *out)
{
    const pawl_status status = pawl_state_status(st);

    out->state = status == PAWL_STATUS_FAILED || status == PAWL_STATUS_REJECTED ? PAWL_SHOWN_ERROR : PAWL_SHOWN_DONE;
    if (out->state == PAWL_SHOWN_ERROR)
        out->message = pawl_value_string(pawl_value_get(pawl_state_reason(st), "text"));
    return PAWL_OK;
}

static void view_retry(const pawl_value *agent, pawl_agent_view *out)
{
    out->again_ms = pawl_value_int(pawl_value_get(agent, "again_ms"));
    if (out->again_ms == 0)
        return;
    out->attempt = (uint32_t)pawl_value_uint(pawl_value_get(pawl_value_get(agent, "core"), "retries")) + 1;
    out->max_attempts = (uint32_t)pawl_value_uint(pawl_value_get(agent, "again_of"));
    out->again_why = pawl_value_string(pawl_value_get(agent, "again_why"));
}

pawl_code pawl_agent_display(pawl_state *st, pawl_agent_view *out, pawl_err *err)
{
    const pawl_value *v = st != NULL ? pawl_state_get(st, "@agent") : NULL;
    const char *id = pawl_value_string(pawl_value_get(v, "shown_id"));

    if (out == NULL)
        return fail(err, PAWL_INVALID, "%s: the display state needs a place: `out` is NULL", st != NULL ? pawl_state_run(st) : "no run");
    *out = (pawl_agent_view){ .state = PAWL_SHOWN_NOTHING };
    if (st == NULL || channel_find(&st->root, "@agent") == NULL)
        return fail(err, PAWL_INVALID, "%s: the run is no agent's: it has no display state", st != NULL ? pawl_state_run(st) : "no run");
    if (pawl_status_terminal(pawl_state_status(st)))
        return view_ended(st, out);
    out->state = shown_named(pawl_value_string(pawl_value_get(v, "shown")));
    if (out->state == PAWL_SHOWN_ERROR)
        out->message = pawl_value_string(pawl_value_get(v, "error"));
    view_retry(v, out);
    if (id == NULL)
        return PAWL_OK;
    if (out->state == PAWL_SHOWN_WAITING_FOR_SUB_AGENT) {
        out->session_id = id;
        return PAWL_OK;
    }
    out->tool_use_id = id;
    view_call(st, id, out);
    if (out->state == PAWL_SHOWN_WAITING_FOR_USER_INPUT || out->state == PAWL_SHOWN_WAITING_FOR_PERMISSION)
        out->request_id = id;
    return PAWL_OK;
}

bool pawl_agent_can_retry(pawl_state *st)
{
    const pawl_value *v = st != NULL && !pawl_status_terminal(pawl_state_status(st)) ? pawl_state_get(st, "@agent") : NULL;
    const char *at = pawl_value_string(pawl_value_get(v, "phase"));

    if (at != NULL && strcmp(at, phase_rows[PHASE_RETRY].name) == 0)
        return true;
    return pawl_agent_idle(st) && end_may_retry(pawl_value_string(pawl_value_get(v, "end")), pawl_value_get(v, "error") != NULL) &&
           pawl_value_size(pawl_state_get(st, "messages")) > pawl_value_uint(pawl_value_get(v, "begun"));
}

bool pawl_agent_idle(pawl_state *st)
{
    pawl_agent_view v;

    return st != NULL && pawl_state_status(st) == PAWL_STATUS_INPUT_REQUIRED && pawl_state_waits(st) == 1 && pawl_agent_display(st, &v, NULL) == PAWL_OK &&
           (v.state == PAWL_SHOWN_IDLE || v.state == PAWL_SHOWN_DONE || v.state == PAWL_SHOWN_ERROR);
}
