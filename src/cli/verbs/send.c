/* send.c - `pawl send`: sends a run input for its next turn, or a signal.
 *
 * Called by main.c on the main thread. Owns its session, which it frees; the engine is driven by run_driver.c. */
#include "cli/run_driver.h"
#include "cli/verbs.h"

/* For an agent: the text unchanged; an object or a list is a message, or blocks of one. */
static const pawl_value *agent_text(cli_call *c, const char *text)
{
    const pawl_value *v = *text == '{' || *text == '[' ? value_parse(&c->mem, text, strlen(text), "the value", NULL) : NULL;

    if (v == NULL)
        v = value_string(&c->mem, text, strlen(text));
    return pawl_value_type(v) == PAWL_TYPE_OBJECT ? v : value_pack(&c->mem, NULL, "{s:v}", "input", v);
}

static int send_run(cli_call *c)
{
    const char *name = cli_given(c, "signal");
    pawl_event ev = { .kind = name != NULL ? PAWL_EV_SIGNAL : PAWL_EV_INPUT, .name = name, .by = cli_by(c) };
    const pawl_value *v;
    pawl_err err = {0};
    session *s;
    buf json;
    int code;

    if (name == NULL && c->nargs < 2)
        return cli_missing(c);
    if (c->nargs == 2 && !utf8_valid(c->args[1], strlen(c->args[1])))
        return cli_usage(c, "the input is no UTF-8");
    if ((s = session_of_run(c, c->args[0], &code)) == NULL)
        return code;
    if (name == NULL && session_is_agent(s))
        v = agent_text(c, c->args[1]);
    else
        v = c->nargs < 2 ? value_null(&c->mem) : value_parse(&c->mem, c->args[1], strlen(c->args[1]), "the value", &err);
    if (v != NULL && name == NULL && session_is_agent(s) && pawl_agent_input(v, &err) != PAWL_OK) {
        code = cli_usage(c, "%s", err.text);
        session_free(s);
        return code;
    }
    if (v == NULL && name != NULL)      /* bare text is a string */
        v = value_string(&c->mem, c->args[1], strlen(c->args[1]));
    buf_init(&json, NULL);
    if (v != NULL)
        canon(&json, v);
    buf_char(&json, '\0');
    ev.value = json.data;
    if (v == NULL)
        code = cli_fail(c, PAWL_INVALID, &err);
    else if (c->once && c->delivery != NULL && delivered_under(s, s->run, c->delivery))
        code = left_print(s, s->run);
    else if (name == NULL && pawl_value_type(v) != PAWL_TYPE_OBJECT)
        code = cli_usage(c, "input is an object of channels, such as '{\"question\":\"why?\"}'");
    else
        code = json.failed ? EXIT_FAILED : event_send(s, &ev);
    buf_free(&json);
    session_free(s);
    return code;
}

static const cli_option options[] = {
    { "signal", "NAME", "a signal of that name; it is kept until a node waits for it" },
    OPTION_NO_RUN,
    OPTION_ANCHOR,
    OPTION_MODE,
    OPTION_RESULT_JSON,
    { NULL, NULL, NULL },
};

const cli_verb verb_send = {
    .name = "send", .form = "RUN [TEXT]", .what = "send input or a signal to a run", .options = options, .least = 1, .most = 2, .store = true,
    .answers = true, .acts = true, .run = send_run,
    .about = "An agent receives TEXT unchanged and starts a turn with it; during a turn it is\n"
             "queued. A graph that takes turns (`turns:`) receives JSON, an object of\n"
             "channels. With --signal, nodes that `wait: {signal: NAME}` receive the value.\n"
             "When an agent has answered, the exit code is 0.",
    .example = "pawl send helper-7k2m 'and now the tests'\npawl send talk-5m2x '{\"question\":\"and then?\"}'\npawl send nightly-8w2c --signal go",
};
