/* retry.c - `pawl retry`: gives the failed tasks of a failed run new attempts (G4).
 *
 * Called by main.c on the main thread. Owns its session, which it frees; the engine is driven by run_driver.c. */
#include "cli/run_driver.h"
#include "cli/verbs.h"

/* --set CHANNEL=JSON... as one object; bare text is a string. NULL: the usage error was printed. */
const pawl_value *set_values(cli_call *c, int *code)
{
    const pawl_value *out = value_pack(&c->mem, NULL, "{}");
    const char *one;

    for (size_t i = 0; (one = cli_given_at(c, "set", i)) != NULL && out != NULL; i++) {
        const char *eq = strchr(one, '=');
        char *name = eq != NULL ? arena_strdup(&c->mem, one, (size_t)(eq - one)) : NULL;
        const pawl_value *v;

        if (name == NULL || *name == '\0' || *name == '@') {
            *code = cli_usage(c, "--set CHANNEL=JSON, and not \"%s\"", one);
            return NULL;
        }
        if ((v = value_parse(&c->mem, eq + 1, strlen(eq + 1), name, NULL)) == NULL)
            v = value_string(&c->mem, eq + 1, strlen(eq + 1));
        out = value_with(&c->mem, out, name, v);
    }
    if (out == NULL)
        *code = cli_usage(c, "--set: a value is no UTF-8");
    return out;
}

bool set_fits(session *s, const pawl_value *set, int *code)
{
    pawl_err err = {0};

    if (session_is_agent(s) || channels_known(s, set, "--set", &err))
        return true;
    *code = cli_fail(s->c, PAWL_INVALID, &err);
    return false;
}

static int retry_run(cli_call *c)
{
    pawl_event ev = { .kind = PAWL_EV_REOPEN, .by = go_who() };
    const pawl_value *given, *set, *caps;
    pawl_err err = {0};
    session *s;
    buf text;
    int code = EXIT_DONE;

    if ((set = set_values(c, &code)) == NULL || (code = budget_bounds(c, "budget", &caps)) != EXIT_DONE)
        return code;
    given = set;
    if (pawl_value_size(caps) > 0)
        set = value_with(&c->mem, set, "@budget", caps);
    if ((s = session_of_run(c, c->args[0], &code)) == NULL)
        return code;
    buf_init(&text, NULL);
    if (!set_fits(s, given, &code))
        goto out;
    if ((code = go_mode_with(s, &set)) == EXIT_DONE && !s->upgraded)
        canon(&text, set);
    else if (code == EXIT_DONE && !session_upgraded(s, set, &text, &err))
        code = cli_fail(c, err.code, &err);
    buf_char(&text, '\0');
    if (pawl_value_size(set) > 0 || s->upgraded)
        ev.update = text.data;
    if (code == EXIT_DONE)
        code = go_tell(s, &ev);
out:
    buf_free(&text);
    session_free(s);
    return code;
}

static const cli_option options[] = {
    { "set", "CHANNEL=JSON...", "change the state first" },
    { "budget", "BOUND=N...", "change the limits first: calls=200, tokens=500000, money=2.50, time=1h" },
    OPTIONS_CONTINUE,
    { NULL, NULL, NULL },
};

const cli_verb verb_retry = {
    .name = "retry", .form = "RUN", .what = "retry a failed run", .options = options, .least = 1, .most = 1, .store = true, .acts = true, .run = retry_run,
    .about = "Runs only the failed tasks again, with new attempts; results of the other tasks\n"
             "are kept. A run whose compensation (`undo:`) has run cannot be retried.",
    .example = "pawl retry survey-7k2m\npawl retry survey-7k2m --set 'dir=\"src\"'",
};
