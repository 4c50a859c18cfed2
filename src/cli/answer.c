/* answer.c - what somebody waits for is given: an answer, a yes, a no. */
#include "cli/go.h"
#include "cli/verbs.h"
#include "cli/view.h"

/* `value` NULL: `text` has to be read as the wait wants it. */
static int answer_wait(cli_call *c, const char *run, const char *given, const char *text, const char *value, pawl_wait_kind kind)
{
    pawl_event ev = { .kind = PAWL_EV_ANSWER, .by = go_who(), .note = cli_given(c, "reason"), .value = value };
    pawl_err err = {0};
    pawl_state *st;
    pawl_wait w;
    session *s;
    buf json;
    int code;

    if ((s = session_of_run(c, run, &code)) == NULL)
        return code;
    buf_init(&json, NULL);
    if ((st = pawl_run_state(s->engine, s->run, &err)) == NULL || wait_find(s, st, given, &w, &err) != PAWL_OK) {
        code = cli_fail(c, err.code < 0 ? err.code : PAWL_IO, &err);
    } else if (value != NULL && w.kind != kind && kind != 0) {
        fail(&err, PAWL_INVALID, "%s waits at %s for an answer, and not for a yes or a no: pawl answer %s %s VALUE", s->run, w.node, s->run, w.slot);
        code = cli_fail(c, PAWL_INVALID, &err);
    } else if (value == NULL && (doubt_is(&w) ? doubt_answer(s, &w, text, &json, &err) : view_answer(&w, text, &json, &err)) != PAWL_OK) {
        code = cli_fail(c, PAWL_INVALID, &err);
    } else {
        buf_char(&json, '\0');
        ev.id = arena_strdup(&c->mem, w.id, strlen(w.id));
        if (value == NULL)
            ev.value = json.data;
        code = go_tell(s, &ev);
    }
    buf_free(&json);
    session_free(s);
    return code;
}

static int answer_run(cli_call *c)
{
    return answer_wait(c, c->args[0], c->nargs == 3 ? c->args[1] : NULL, c->args[c->nargs - 1], NULL, 0);
}

static int approve_run(cli_call *c)
{
    return answer_wait(c, c->args[0], c->nargs == 2 ? c->args[1] : NULL, NULL, "true", PAWL_WAIT_APPROVAL);
}

static int deny_run(cli_call *c)
{
    return answer_wait(c, c->args[0], c->nargs == 2 ? c->args[1] : NULL, NULL, "false", PAWL_WAIT_APPROVAL);
}

static const cli_option options[] = {
    { "reason", "TEXT", "a note that stands beside it in the journal" },
    { "file", "FILE", "go on by this file" },
    { "upgrade", NULL, "with --file: although it is another one now" },
    { "no-run", NULL, "only say so; whoever drives the run goes on" },
    { "mode", "plan|default|acceptEdits|bypassPermissions", "what nodes may do without asking, from now on" },
    { "json", NULL, "the result, the final state or what it waits for as JSON" },
    { NULL, NULL, NULL },
};

const cli_verb verb_answer = {
    .name = "answer", .form = "RUN [WAIT] VALUE", .what = "answer what a run asks, and go on with it", .options = options, .least = 2, .most = 3,
    .store = true, .run = answer_run,
    .about = "WAIT is the node that asks, or the wait's id; it is needed where several are\n"
             "open. VALUE is JSON; where a text or one of several options is wanted, the bare\n"
             "text or the number of the option. It is checked before anything changes, and\n"
             "taken once.\n"
             "\n"
             "What a command of class once came to whose process died in the middle of it is\n"
             "asked, too: done, done:TEXT (with what it printed), failed:WHY or again.",
    .example = "pawl answer @ 42\npawl answer review-9x3d verdict approve\npawl inbox                      # what waits, over all runs",
};

const cli_verb verb_approve = {
    .name = "approve", .form = "RUN [WAIT]", .what = "say yes at a gate, and go on", .options = options, .least = 1, .most = 2, .store = true,
    .run = approve_run, .about = "Who said so and when stands in the journal.", .example = "pawl approve @\npawl approve deploy-3fza migrate",
};

const cli_verb verb_deny = {
    .name = "deny", .form = "RUN [WAIT]", .what = "say no at a gate", .options = options, .least = 1, .most = 2, .store = true, .run = deny_run,
    .about = "The run goes on at the gate's `on_no:`, or ends rejected (exit 1).",
    .example = "pawl deny @ --reason 'not on a Friday'",
};
