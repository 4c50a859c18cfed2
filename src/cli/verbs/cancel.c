/* cancel.c - `pawl cancel` and `pawl interrupt`: cancels a run, or ends the turn of an agent (E10, A4).
 *
 * Called by main.c on the main thread. Owns its session, which it frees; the engine is driven by run_driver.c. */
#include "cli/run_driver.h"
#include "cli/verbs.h"

static bool canceled_already(session *s)
{
    pawl_state *st = pawl_run_state(s->engine, s->run, NULL);

    return st != NULL && pawl_state_status(st) == PAWL_STATUS_CANCELED;
}

static int cancel_run(cli_call *c)
{
    pawl_event ev = { .kind = PAWL_EV_CANCEL, .by = cli_by(c), .note = cli_given(c, "reason") };
    int code;
    session *s = session_of_run(c, c->args[0], &code);

    if (s == NULL)
        return code;
    if (canceled_already(s)) {
        cli_note(c, "%s is canceled already", s->run);
        code = left_print(s, s->run);
    } else {
        code = event_send(s, &ev);
    }
    session_free(s);
    return code == EXIT_CANCELED ? EXIT_DONE : code;
}

static const cli_option options[] = {
    { "reason", "TEXT", "the reason, stored in the journal" },
    OPTION_ANCHOR,
    OPTION_NO_RUN,
    { "json", NULL, "the open waits as JSON, if the run is not over yet" },
    { NULL, NULL, NULL },
};

const cli_verb verb_cancel = {
    .name = "cancel", .form = "RUN", .what = "cancel a run", .options = options, .least = 1, .most = 1, .store = true, .acts = true, .run = cancel_run,
    .about = "Nothing new starts, running commands are told to stop, compensable commands are\n"
             "undone, and then the run is canceled. A second cancel does not wait for running\n"
             "commands.",
    .example = "pawl cancel @\npawl cancel deploy-3fza --reason 'wrong branch'",
};

/* Ends the current turn; the run continues to take input. */
static int interrupt_run(cli_call *c)
{
    pawl_event ev = { .kind = PAWL_EV_SIGNAL, .name = "interrupt", .by = cli_by(c), .value = "null" };
    pawl_err err = {0};
    int code;
    session *s = session_of_run(c, c->args[0], &code);

    if (s == NULL)
        return code;
    if (!session_is_agent(s)) {
        fail(&err, PAWL_INVALID, "%s is a run of a graph and has no turn: `pawl cancel %s` cancels it", s->run, s->run);
        code = cli_fail(c, PAWL_INVALID, &err);
    } else {
        code = event_send(s, &ev);
    }
    session_free(s);
    return code == EXIT_WAITS ? EXIT_DONE : code;
}

static const cli_option interrupt_options[] = {
    OPTION_ANCHOR,
    OPTION_NO_RUN,
    OPTION_MODE,
    { "json", NULL, "the state after it, as JSON" },
    { NULL, NULL, NULL },
};

const cli_verb verb_interrupt = {
    .name = "interrupt", .form = "RUN", .what = "interrupt the turn of an agent", .options = interrupt_options, .least = 1, .most = 1, .store = true,
    .acts = true, .run = interrupt_run,
    .about = "The text that the model has produced so far is kept, running tools are stopped\n"
             "(a tool that is changing a file ends first; a second interrupt does not wait),\n"
             "and open questions are withdrawn. The agent then waits for input. An idle agent\n"
             "is not affected.",
    .example = "pawl interrupt @\npawl send @ 'do it otherwise'",
};
