/* run_mode.c - delivers what a run takes before it is driven on: the mode that was given, and the current settings (P1).
 *
 * Called by the verbs that go on with a run, on the main thread, while the engine here drives nothing. What is due is decided by app/go_on.c. */
#include "cli/run_driver.h"
#include "app/tokens.h"
#include "app/ways.h"

bool mode_within(cli_call *c, pawl_mode mode, int *code)
{
    pawl_err err = {0};

    if (c->who == NULL || mode <= c->who->most)
        return true;
    fail(&err, PAWL_DENIED, "%s is above the mode of this token, which is %s", pawl_mode_name(mode), pawl_mode_name(c->who->most));
    *code = cli_fail(c, PAWL_DENIED, &err);
    return false;
}

bool mode_given(cli_call *c, int *code)
{
    const char *word = cli_given(c, "mode");

    *code = word == NULL || pawl_mode_named(word) != PAWL_MODE_NONE
                ? EXIT_DONE : cli_usage(c, "--mode is plan, default, acceptEdits or bypassPermissions, and not \"%s\"", word);
    return *code == EXIT_DONE && mode_within(c, pawl_mode_named(word), code);
}

static pawl_code due(session *s, pawl_state *st, bool drives, const pawl_value **update, pawl_err *err)
{
    return session_go_on(s, st, &(going_on){ .mode = pawl_mode_named(cli_given(s->c, "mode")), .drives = drives }, update, err);
}

pawl_code mode_deliver_quietly(session *s, pawl_state *st, bool drives, pawl_err *err)
{
    pawl_event ev = { .kind = PAWL_EV_UPDATE, .by = cli_by(s->c) };
    const pawl_value *update;
    pawl_code rc = due(s, st, drives, &update, err);
    buf b;

    if (rc != PAWL_OK || update == NULL)
        return rc;
    buf_init(&b, NULL);
    canon(&b, update);
    buf_char(&b, '\0');
    ev.value = b.data;
    rc = b.failed ? fail(err, PAWL_NOMEM, "%s: no memory for its mode and its rules", s->run) : session_deliver(s, &ev, err);
    buf_free(&b);
    return rc;
}

int mode_deliver(session *s, pawl_state *st, bool drives)
{
    pawl_err err = {0};
    pawl_code rc;
    int code;

    if (!mode_given(s->c, &code))
        return code;
    rc = mode_deliver_quietly(s, st, drives, &err);
    return rc == PAWL_OK ? EXIT_DONE : cli_fail(s->c, rc, &err);
}

int mode_with_reopen(session *s, const pawl_value **set)
{
    const pawl_value *update;
    pawl_err err = {0};
    pawl_state *st = pawl_run_state(s->engine, s->run, &err);
    pawl_code rc;
    int code;

    if (st == NULL)
        return cli_fail(s->c, err.code < 0 ? err.code : PAWL_IO, &err);
    if (!mode_given(s->c, &code) || pawl_state_next(st) != PAWL_HALTED)
        return code;
    if ((rc = due(s, st, cli_given(s->c, "no-run") == NULL, &update, &err)) != PAWL_OK)
        return cli_fail(s->c, rc, &err);
    *set = value_with_all(&s->mem, *set, update);
    if (*set != NULL)
        return EXIT_DONE;
    fail(&err, PAWL_NOMEM, "%s: no memory for its mode", s->run);
    return cli_fail(s->c, PAWL_NOMEM, &err);
}
