/* rights.c - a sub-agent may never do more than its parent may do now (P1, E11).
 *
 * The parent sends @rights, a cap of the mode; the lowest cap that ever arrived counts, in whatever order caps arrive. It sends @law, its rules,
 * numbered by its entry; the newest count. Grants are only ever added. */
#include "agent/agent.h"
#include "kernel/names.h"
#include "kernel/state.h"
#include "kernel/step.h"

/* ---- what children are called --------------------------------------------------------------------------- */

static const char *child_name_base(turn *t, const char *id)
{
    const char *run = child_run_name(t->mem, "", 0, *id != '\0' ? id : "call");  /* ".sub-ID", reduced to the characters of a run id */

    return run == NULL ? NULL : strncmp(run, ".sub-", 5) == 0 ? run + 5 : run + 1;
}

static bool child_name_taken(turn *t, const char *word)
{
    if (pawl_value_get(pawl_get(t->s, "@children"), word) != NULL)
        return true;
    for (uint32_t j = 0; j < t->ncalls; j++)    /* names that this event assigned */
        if (t->calls[j].child != NULL && strcmp(t->calls[j].child, word) == 0)
            return true;
    return false;
}

/* Some providers reuse call ids in each answer: the same id may come again after its sub-agent has ended, and gets another name. */
bool child_assign_name(turn *t, uint32_t k)
{
    const char *word = child_name_base(t, t->calls[k].id), *name = word, *other;
    uint64_t n;

    for (uint32_t j = 0; j < t->ncalls && word != NULL; j++) {
        if (j == k || t->calls[j].tool == NULL || t->calls[j].tool->own != PAWL_OWN_SPAWN_AGENT || t->calls[j].at != STAGE_RUNNING)
            continue;
        if ((other = child_name_base(t, t->calls[j].id)) != NULL && strcmp(other, word) == 0)
            return false;
    }
    n = word == NULL ? 0 : pawl_value_uint(pawl_value_get(pawl_get(t->s, "@children"), word)) + 1;
    for (name = n > 1 ? pawl_format(t->s, "%s-%llu", word, (unsigned long long)n) : word; name != NULL && child_name_taken(t, name);)
        name = pawl_format(t->s, "%s-%llu", word, (unsigned long long)++n);
    if (name == NULL) {
        t->rc = PAWL_NOMEM;
        return true;
    }
    pawl_set(t->s, "@children", value_with(t->mem, value_pack(t->mem, NULL, "{}"), word, value_int(t->mem, (int64_t)n)));
    if (name != word)
        pawl_set(t->s, "@children", value_with(t->mem, value_pack(t->mem, NULL, "{}"), name, value_int(t->mem, 1)));
    t->calls[k].child = name;
    return true;
}

/* ---- updates to its children -------------------------------------------------------------------------- */

static bool child_at_work(const turn *t, uint32_t k)
{
    return t->calls[k].at == STAGE_RUNNING && t->calls[k].tool->own == PAWL_OWN_SPAWN_AGENT;
}

static bool child_send(turn *t, uint32_t k, const char *name, const pawl_value *v)
{
    return pawl_flow_call_with(t->s, "tell", "tell", pawl_pack(t->s, "{s:s,s:{s:v}}", "run", child_run_of(t, k), "update", name, v), NULL) == PAWL_OK;
}

/* The new limits could not be sent: end the sub-agent (fail closed). */
static void child_abort(turn *t, uint32_t k)
{
    pawl_flow_drop(t->s, tag_of(t, "tool", k));
    call_fail(t, k, "The sub-agent could not be told what it may do now, and was ended");
}

static void children_lower_mode(turn *t, pawl_mode to)
{
    for (uint32_t k = 0; k < t->ncalls; k++) {
        if (!child_at_work(t, k) || t->calls[k].rights <= to)
            continue;
        t->calls[k].rights = to;
        if (!child_send(t, k, "@rights", pawl_pack(t->s, "s", pawl_mode_name(to))))
            child_abort(t, k);
    }
}

/* Numbered by the entry of this event: deliveries may arrive in any order, and the newest rules count. */
static void children_send_rules(turn *t, const pawl_value *rules)
{
    for (uint32_t k = 0; k < t->ncalls; k++)
        if (child_at_work(t, k) && !child_send(t, k, "@law", pawl_pack(t->s, "{s:i,s:v}", "n", (int64_t)t->s->st->seq + 1, "policy", rules)))
            child_abort(t, k);
}

static void children_send_grants(turn *t, const pawl_value *grants)
{
    for (uint32_t k = 0; k < t->ncalls; k++)
        if (child_at_work(t, k))
            (void)child_send(t, k, "@grants", grants);  /* grants only add rights: without them a sub-agent asks */
}

/* ---- updates from its parent --------------------------------------------------------------------------------- */

/* Rules that this event brings, from the parent (@law) or from outside (@policy); NULL: none. */
static const pawl_value *rules_of_event(turn *t)
{
    const pawl_value *law = pawl_value_get(t->h->value, "@law"), *rules = pawl_value_get(law, "policy");
    const uint64_t n = pawl_value_uint(pawl_value_get(law, "n"));

    if (rules == NULL || n <= t->parent_entry)
        return pawl_value_get(t->h->value, "@policy");
    t->parent_entry = n;
    t->rules = rules;
    pawl_set(t->s, "@policy", rules);
    return rules;
}

static void rules_to_children(turn *t)
{
    const pawl_value *rules = rules_of_event(t), *grants = pawl_value_get(t->h->value, "@grants");

    if (rules != NULL)
        children_send_rules(t, rules);
    if (grants != NULL)
        children_send_grants(t, grants);
}

void rights_changed(turn *t)
{
    const pawl_mode now = mode_now(t);

    if (t->h->kind == PAWL_EV_UPDATE && pawl_value_get(t->h->value, "@mode") != NULL && pawl_value_get(pawl_get(t->s, "plan"), "from") != NULL)
        pawl_set(t->s, "plan", value_null(t->mem));     /* the mode was set from outside: plan_exit has no mode to return to */
    if (t->mode_set == PAWL_MODE_NONE && now < mode_in_channel(t, "@mode", PAWL_MODE_DEFAULT)) {
        pawl_set_string(t->s, "@mode", pawl_mode_name(now));
        pawl_emit(t->s, "status", pawl_pack(t->s, "{s:s}", "mode", pawl_mode_name(now)));
    }
    children_lower_mode(t, now);
    if (t->h->kind == PAWL_EV_UPDATE)
        rules_to_children(t);
}
