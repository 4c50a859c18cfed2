/* rights.c - a child may do no more than its parent may now (P1, E11): what its parent loses it loses, and does not get back.
 *
 * @rights is the mode that a child was told so far. The least of all of that counts, in whatever order it comes; its own mode never goes above
 * it, whoever sets it. @law is the rules that its parent goes by since: the newest of them are its own from then on. Grants are only ever added,
 * here as there. */
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

/* ---- what children are called --------------------------------------------------------------------------- */

const char *child_run_of(turn *t, uint32_t k)
{
    const agent_call *c = &t->calls[k];

    return child_run_name(t->mem, t->s->st->run, strlen(t->s->st->run), c->child != NULL ? c->child : c->id);
}

static const char *child_word(turn *t, const char *id)
{
    const char *run = child_run_name(t->mem, "", 0, *id != '\0' ? id : "call");  /* ".sub-ID", with the characters that a run may have */

    return run == NULL ? NULL : strncmp(run, ".sub-", 5) == 0 ? run + 5 : run + 1;
}

static bool word_taken(turn *t, const char *word)
{
    if (pawl_value_get(pawl_get(t->s, "@children"), word) != NULL)
        return true;
    for (uint32_t j = 0; j < t->ncalls; j++)    /* also by this event */
        if (t->calls[j].child != NULL && strcmp(t->calls[j].child, word) == 0)
            return true;
    return false;
}

/* Some providers count the calls of each answer anew: the id of one that has ended may come again, and its child is another one. */
bool child_named(turn *t, uint32_t k)
{
    const char *word = child_word(t, t->calls[k].id), *name = word, *other;
    uint64_t n;

    for (uint32_t j = 0; j < t->ncalls && word != NULL; j++) {
        if (j == k || t->calls[j].tool == NULL || t->calls[j].tool->own != PAWL_OWN_SPAWN_AGENT || t->calls[j].at != STAGE_RUNNING)
            continue;
        if ((other = child_word(t, t->calls[j].id)) != NULL && strcmp(other, word) == 0)
            return false;
    }
    n = word == NULL ? 0 : pawl_value_uint(pawl_value_get(pawl_get(t->s, "@children"), word)) + 1;
    for (name = n > 1 ? pawl_format(t->s, "%s-%llu", word, (unsigned long long)n) : word; name != NULL && word_taken(t, name);)
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

/* ---- what its children are told -------------------------------------------------------------------------- */

static bool child_at_work(const turn *t, uint32_t k)
{
    return t->calls[k].at == STAGE_RUNNING && t->calls[k].tool->own == PAWL_OWN_SPAWN_AGENT;
}

static bool child_given(turn *t, uint32_t k, const char *name, const pawl_value *v)
{
    return pawl_flow_call_with(t->s, "tell", "tell", pawl_pack(t->s, "{s:s,s:{s:v}}", "run", child_run_of(t, k), "update", name, v), NULL) == PAWL_OK;
}

/* It cannot be told what it may not do any more: then it may do nothing. */
static void child_ends(turn *t, uint32_t k)
{
    pawl_flow_drop(t->s, tag_of(t, "tool", k));
    call_fails(t, k, "The sub-agent could not be told what it may do now, and was ended");
}

static void children_lowered(turn *t, pawl_mode to)
{
    for (uint32_t k = 0; k < t->ncalls; k++) {
        if (!child_at_work(t, k) || t->calls[k].rights <= to)
            continue;
        t->calls[k].rights = to;
        if (!child_given(t, k, "@rights", pawl_pack(t->s, "s", pawl_mode_name(to))))
            child_ends(t, k);
    }
}

/* Numbered by the entry that says it, since they may come in any order: of two the newer holds. */
static void children_ruled(turn *t, const pawl_value *rules)
{
    for (uint32_t k = 0; k < t->ncalls; k++)
        if (child_at_work(t, k) && !child_given(t, k, "@law", pawl_pack(t->s, "{s:i,s:v}", "n", (int64_t)t->s->st->seq + 1, "policy", rules)))
            child_ends(t, k);
}

static void children_granted(turn *t, const pawl_value *grants)
{
    for (uint32_t k = 0; k < t->ncalls; k++)
        if (child_at_work(t, k))
            (void)child_given(t, k, "@grants", grants);  /* more: without it they ask */
}

/* ---- what it is told itself --------------------------------------------------------------------------------- */

const pawl_value *rules_now(turn *t)
{
    return t->rules != NULL ? t->rules : pawl_get(t->s, "@policy");
}

/* What this event brings as rules, from its parent or from somebody else; NULL: none. */
static const pawl_value *rules_told(turn *t)
{
    const pawl_value *law = pawl_value_get(t->h->value, "@law"), *rules = pawl_value_get(law, "policy");
    const uint64_t n = pawl_value_uint(pawl_value_get(law, "n"));

    if (rules == NULL || n <= t->law)
        return pawl_value_get(t->h->value, "@policy");
    t->law = n;
    t->rules = rules;
    pawl_set(t->s, "@policy", rules);
    return rules;
}

static void rules_pass(turn *t)
{
    const pawl_value *rules = rules_told(t), *grants = pawl_value_get(t->h->value, "@grants");

    if (rules != NULL)
        children_ruled(t, rules);
    if (grants != NULL)
        children_granted(t, grants);
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
    children_lowered(t, now);
    if (t->h->kind == PAWL_EV_UPDATE)
        rules_pass(t);
    if (t->at == PHASE_STOPPING)
        use_next(t);            /* perhaps that was the last */
}
