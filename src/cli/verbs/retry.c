/* retry.c - `pawl retry`: gives the failed tasks of a failed run new attempts (G4), and tries the failed turn of an agent again.
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

/* ---- the turn of an agent ------------------------------------------------------------------------------------ */

/* Why there is no turn to try again, and what goes on instead. */
static int nothing_failed(session *s, pawl_state *st)
{
    pawl_err err = {0};

    if (pawl_agent_idle(st))
        fail(&err, PAWL_INVALID, "%s: its last turn has not failed, and there is nothing to try again; `pawl send %s TEXT` starts the next turn", s->run,
             s->run);
    else
        fail(&err, PAWL_INVALID, "%s: its turn has not failed, it goes on or waits; `pawl resume %s` continues it", s->run, s->run);
    return cli_fail(s->c, PAWL_INVALID, &err);
}

/* `set`: a change of the state, which is left first. */
static int turn_retry(session *s, pawl_state *st, const pawl_value *set)
{
    const pawl_event ev = { .kind = PAWL_EV_SIGNAL, .name = "retry_turn", .by = cli_by(s->c) };
    pawl_event update = { .kind = PAWL_EV_UPDATE, .by = cli_by(s->c) };
    pawl_code rc = PAWL_OK;
    pawl_err err = {0};
    buf b;

    if (!pawl_agent_can_retry(st))
        return nothing_failed(s, st);
    buf_init(&b, NULL);
    if (pawl_value_size(set) > 0) {
        canon(&b, set);
        buf_char(&b, '\0');
        update.value = b.data;
        rc = b.failed ? fail(&err, PAWL_NOMEM, "%s: no memory", s->run) : session_deliver(s, &update, &err);
    }
    buf_free(&b);
    return rc == PAWL_OK ? event_send(s, &ev) : cli_fail(s->c, rc, &err);
}

/* Whether it is an agent that has not ended: then *code is of its turn. */
static bool is_turn(session *s, const pawl_value *set, int *code)
{
    pawl_err err = {0};
    pawl_state *st = session_is_agent(s) ? pawl_run_state(s->engine, s->run, &err) : NULL;

    if (st == NULL || pawl_state_next(st) == PAWL_HALTED)
        return false;
    *code = turn_retry(s, st, set);
    return true;
}

/* ---- a failed run ----------------------------------------------------------------------------------------------- */

static int run_retry(session *s, const pawl_value *set)
{
    pawl_event ev = { .kind = PAWL_EV_REOPEN, .by = cli_by(s->c) };
    pawl_err err = {0};
    int code;
    buf text;

    buf_init(&text, NULL);
    if ((code = mode_with_reopen(s, &set)) == EXIT_DONE && !s->upgraded)
        canon(&text, set);
    else if (code == EXIT_DONE && !session_upgraded(s, set, &text, &err))
        code = cli_fail(s->c, err.code, &err);
    buf_char(&text, '\0');
    if (pawl_value_size(set) > 0 || s->upgraded)
        ev.update = text.data;
    if (code == EXIT_DONE)
        code = event_send(s, &ev);
    buf_free(&text);
    return code;
}

static int retry_run(cli_call *c)
{
    const pawl_value *given, *set, *caps;
    session *s;
    int code = EXIT_DONE;

    if ((set = set_values(c, &code)) == NULL || (code = budget_bounds(c, "budget", &caps)) != EXIT_DONE)
        return code;
    given = set;
    if (pawl_value_size(caps) > 0)
        set = value_with(&c->mem, set, "@budget", caps);
    if ((s = session_of_run(c, c->args[0], &code)) == NULL)
        return code;
    if (delivered_before(s, s->run))         /* it may have failed again since: that is not tried again */
        code = left_print(s, s->run);
    else if (set_fits(s, given, &code) && !is_turn(s, set, &code))
        code = run_retry(s, set);
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
    .name = "retry", .form = "RUN", .what = "retry a failed run, or the failed turn of an agent", .options = options, .least = 1, .most = 1,
    .store = true, .answers = true, .acts = true, .run = retry_run,
    .about = "Runs only the failed tasks again, with new attempts; results of the other tasks\n"
             "are kept. A run whose compensation (`undo:`) has run cannot be retried.\n"
             "\n"
             "Of an agent: the turn that failed, or that reached its budget or\n"
             "`max_iterations`, goes on with the message that it has; nothing is typed again.\n"
             "While it waits to ask a busy model again, it asks now.",
    .example = "pawl retry survey-7k2m\npawl retry survey-7k2m --set 'dir=\"src\"'\npawl retry helper-7k2m --budget calls=200",
};
