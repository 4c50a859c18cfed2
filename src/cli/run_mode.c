/* run_mode.c - delivers the mode and the rules with which a run continues (P1), before it is driven.
 *
 * Called by the verbs that drive a run, on the main thread, while this process does not drive the run. */
#include "cli/run_driver.h"
#include "app/settings.h"

/* ---- before it goes on -------------------------------------------------------------------------------- */

const char *go_mode_of(pawl_state *st)
{
    const pawl_value *coming = pawl_state_coming(st, "@mode");

    return pawl_value_string(coming != NULL ? coming : pawl_state_get(st, "@mode"));
}

/* The rules that apply from now on: the settings may have changed since the start. NULL: they have not. */
static int policy_due(session *s, pawl_state *st, const pawl_value **due)
{
    const pawl_value *coming = pawl_state_coming(st, "@policy"), *now = coming != NULL ? coming : pawl_state_get(st, "@policy"), *v;
    pawl_err err = {0};

    *due = NULL;
    v = s->file == NULL ? NULL : settings_policy(s->caller, &s->mem, s->file, s->folder, &err);
    if (err.code != PAWL_OK)
        return cli_fail(s->c, err.code, &err);
    if (v == NULL && (now == NULL || pawl_value_type(now) == PAWL_TYPE_NULL))
        return EXIT_DONE;
    if (v != NULL && now != NULL && pawl_value_equal(v, now))
        return EXIT_DONE;
    *due = v != NULL ? v : value_null(&s->mem);
    return EXIT_DONE;
}

/* The mode that was given; NULL: it stays. */
static int mode_due(session *s, pawl_state *st, const pawl_value **due)
{
    const char *word = cli_given(s->c, "mode"), *now = go_mode_of(st);
    pawl_err err = {0};

    *due = NULL;
    if (word == NULL) {
        if (now == NULL || pawl_mode_named(now) != PAWL_BYPASS)
            return EXIT_DONE;
        fail(&err, PAWL_INVALID, "%s was in bypassPermissions, which is not kept: say --mode bypassPermissions once more, or --mode default", s->run);
        return cli_fail(s->c, PAWL_INVALID, &err);
    }
    if (pawl_mode_named(word) == PAWL_MODE_NONE)
        return cli_usage(s->c, "--mode is plan, default, acceptEdits or bypassPermissions, and not \"%s\"", word);
    if (s->file != NULL && (now == NULL || strcmp(now, word) != 0))
        *due = value_string(&s->mem, word, strlen(word));
    return EXIT_DONE;
}

static int own_tell(session *s, const char *channel, const pawl_value *value)
{
    const pawl_value *all = value_with(&s->mem, value_pack(&s->mem, NULL, "{}"), channel, value);
    pawl_event ev = { .kind = PAWL_EV_UPDATE, .by = go_who() };
    pawl_err err = {0};
    pawl_code rc;
    buf b;

    buf_init(&b, NULL);
    canon(&b, all);
    buf_char(&b, '\0');
    ev.value = b.data;
    rc = all == NULL || b.failed ? fail(&err, PAWL_NOMEM, "%s: no memory for its %s", s->run, channel + 1) : session_tell(s, &ev, &err);
    buf_free(&b);
    return rc == PAWL_OK ? EXIT_DONE : cli_fail(s->c, rc, &err);
}

int go_mode(session *s, pawl_state *st)
{
    const pawl_value *mode, *policy;
    int code = mode_due(s, st, &mode);

    if (code == EXIT_DONE && mode != NULL)
        code = own_tell(s, "@mode", mode);
    if (code == EXIT_DONE)
        code = policy_due(s, st, &policy);
    return code == EXIT_DONE && policy != NULL ? own_tell(s, "@policy", policy) : code;
}

int go_mode_with(session *s, const pawl_value **set)
{
    const pawl_value *mode = NULL, *policy = NULL;
    pawl_err err = {0};
    pawl_state *st = pawl_run_state(s->engine, s->run, &err);
    int code;

    if (st == NULL)
        return cli_fail(s->c, err.code < 0 ? err.code : PAWL_IO, &err);
    if (pawl_state_next(st) != PAWL_HALTED || cli_given(s->c, "no-run") != NULL)
        return EXIT_DONE;
    if ((code = mode_due(s, st, &mode)) != EXIT_DONE || (code = policy_due(s, st, &policy)) != EXIT_DONE)
        return code;
    if (mode != NULL)
        *set = value_with(&s->mem, *set, "@mode", mode);
    if (policy != NULL)
        *set = value_with(&s->mem, *set, "@policy", policy);
    if (*set != NULL)
        return EXIT_DONE;
    fail(&err, PAWL_NOMEM, "%s: no memory for its mode", s->run);
    return cli_fail(s->c, PAWL_NOMEM, &err);
}
