/* send.c - a run is told something: input for its next turn, or a signal. */
#include "cli/go.h"
#include "cli/verbs.h"

static int send_run(cli_call *c)
{
    const char *name = cli_given(c, "signal");
    pawl_event ev = { .kind = name != NULL ? PAWL_EV_SIGNAL : PAWL_EV_INPUT, .name = name, .by = go_who() };
    const pawl_value *v;
    pawl_err err = {0};
    session *s;
    buf json;
    int code;

    if (name == NULL && c->nargs < 2)
        return cli_usage(c, "the input is missing");
    v = c->nargs < 2 ? value_null(&c->mem) : value_parse(&c->mem, c->args[1], strlen(c->args[1]), "the value", &err);
    if (v == NULL && name != NULL)      /* bare text is a text */
        v = value_string(&c->mem, c->args[1], strlen(c->args[1]));
    if (v == NULL)
        return cli_fail(c, PAWL_INVALID, &err);
    if (name == NULL && pawl_value_type(v) != PAWL_TYPE_OBJECT)
        return cli_usage(c, "input is an object of channels, such as '{\"question\":\"why?\"}'");
    if ((s = session_of_run(c, c->args[0], &code)) == NULL)
        return code;
    buf_init(&json, NULL);
    canon(&json, v);
    buf_char(&json, '\0');
    ev.value = json.data;
    code = json.failed ? EXIT_FAILED : go_tell(s, &ev);
    buf_free(&json);
    session_free(s);
    return code;
}

static const cli_option options[] = {
    { "signal", "NAME", "a signal of that name; one that nobody waits for yet is kept" },
    { "no-run", NULL, "only say so; whoever drives the run takes it" },
    { "mode", "plan|default|acceptEdits|bypassPermissions", "what nodes may do without asking, from now on" },
    { "json", NULL, "the result, the final state or what it waits for as JSON" },
    { NULL, NULL, NULL },
};

const cli_verb verb_send = {
    .name = "send", .form = "RUN [JSON]", .what = "give a run input, or a signal", .options = options, .least = 1, .most = 2, .store = true,
    .run = send_run,
    .about = "A run that takes turns (`turns:`) and waits for input gets it. With --signal:\n"
             "nodes that `wait: {signal: NAME}` get the value.",
    .example = "pawl send talk-5m2x '{\"question\":\"and then?\"}'\npawl send nightly-8w2c --signal go",
};
