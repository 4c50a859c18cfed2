/* go_on.c - the one function that decides what a run takes before it continues: the given mode, and the current settings (P1, P2).
 *
 * Called by every verb that goes on with a run, and by a worker for each run that it claims, on the thread that drives the session. Writes nothing. */
#include "app/run_settings.h"
#include "app/settings.h"
#include "app/ways.h"

const char *run_mode_of(pawl_state *st)
{
    const pawl_value *coming = pawl_state_coming(st, "@mode");

    return pawl_value_string(coming != NULL ? coming : pawl_state_get(st, "@mode"));
}

static pawl_code mode_due(const session *s, pawl_state *st, const going_on *g, const pawl_value **update, pawl_err *err)
{
    const char *now = run_mode_of(st), *word = g->mode != PAWL_MODE_NONE ? pawl_mode_name(g->mode) : NULL;
    const char *run = pawl_state_run(st);

    if (word == NULL && g->drives && now != NULL && pawl_mode_named(now) == PAWL_MODE_BYPASS)
        return fail(err, PAWL_INVALID, "%s was in bypassPermissions, which is not kept: say --mode bypassPermissions once more, or --mode default", run);
    if (g->mode == PAWL_MODE_BYPASS) {
        const char *cwd = pawl_value_string(kept_value(st, "@cwd"));
        const pawl_code rc = settings_bypass(g->mem, s->file, cwd != NULL ? cwd : s->folder, NULL, err);

        if (rc != PAWL_OK)
            return rc;
    }
    if (word == NULL || (now != NULL && strcmp(now, word) == 0))
        return PAWL_OK;
    if (!session_has(s, "@mode"))
        return fail(err, PAWL_INVALID, "%s: its machine has no modes, so no mode can be enforced: leave --mode out", run);
    *update = value_with(g->mem, *update, "@mode", value_string(g->mem, word, strlen(word)));
    return PAWL_OK;
}

/* ---- rules ------------------------------------------------------------------------------------------------ */

/* The rules of the run, and what the settings here add to deny, ask and look. */
static const pawl_value *restricted(arena *mem, const pawl_value *was, const pawl_value *here)
{
    static const char *const names[] = { "ask", "deny", "hooks" }, *const marks[] = { "unasked", "unasked_always", "no_bypass" };
    const pawl_value *out = was, *one;

    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (pawl_value_bool(pawl_value_get(here, marks[i])))
            out = value_with(mem, out, marks[i], value_bool(mem, true));

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const pawl_value *list = pawl_value_get(was, names[i]);
        pawl_iter it = pawl_iter_of(pawl_value_get(here, names[i]));

        while ((one = pawl_iter_next(&it, NULL)) != NULL) {
            if (value_among(list, one))
                continue;
            list = value_push(mem, list != NULL ? list : value_pack(mem, NULL, "[]"), one);
            out = value_with(mem, out, names[i], list);
        }
    }
    return out;
}

/* Whether the settings that the rules come from are those of the user of this process. */
static bool is_of_another(const pawl_value *was, const pawl_value *here)
{
    const pawl_value *home = pawl_value_get(was, "home");

    return pawl_value_type(was) == PAWL_TYPE_OBJECT && (here == NULL || home == NULL || !pawl_value_equal(home, pawl_value_get(here, "home")));
}

static pawl_code policy_due(const session *s, pawl_state *st, const going_on *g, const pawl_value **update, pawl_err *err)
{
    const pawl_value *coming = pawl_state_coming(st, "@policy"), *was = coming != NULL ? coming : pawl_state_get(st, "@policy"), *v;
    const char *cwd = pawl_value_string(kept_value(st, "@cwd"));

    if (!session_has(s, "@policy"))
        return PAWL_OK;
    v = settings_policy_again(g->told != NULL ? g->told : s->caller, g->mem, s->file, cwd != NULL ? cwd : s->folder, was, err);
    if (err->code != PAWL_OK)
        return err->code;
    if (given_add(s, g->mem, was, &v, err) != PAWL_OK)
        return err->code;
    if (g->served && is_of_another(was, v))
        v = restricted(g->mem, was, v);
    if (v == NULL && (was == NULL || pawl_value_type(was) == PAWL_TYPE_NULL))
        return PAWL_OK;
    if (v != NULL && was != NULL && pawl_value_equal(v, was))
        return PAWL_OK;
    *update = value_with(g->mem, *update, "@policy", v != NULL ? v : value_null(g->mem));
    return PAWL_OK;
}

pawl_code session_go_on(session *s, pawl_state *st, const going_on *given, const pawl_value **update, pawl_err *err)
{
    going_on g = *given;
    pawl_err why = {0};         /* the functions below tell by it whether there was an error */
    const pawl_value *all;
    pawl_code rc;

    if (g.mem == NULL)
        g.mem = &s->mem;
    *update = NULL;
    all = value_pack(g.mem, NULL, "{}");
    if ((rc = mode_due(s, st, &g, &all, &why)) != PAWL_OK || (rc = policy_due(s, st, &g, &all, &why)) != PAWL_OK)
        return fail(err, rc, "%s", why.text);
    if (all == NULL)
        return fail(err, PAWL_NOMEM, "%s: no memory for its mode and its rules", pawl_state_run(st));
    *update = pawl_value_size(all) > 0 ? all : NULL;
    return PAWL_OK;
}
