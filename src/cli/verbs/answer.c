/* answer.c - `pawl answer`, `approve` and `deny`: answer an open wait of a run and continue the run.
 *
 * Called by main.c on the main thread. Owns its session, which it frees; the engine is driven by run_driver.c. */
#include "cli/run_driver.h"
#include "app/settings.h"
#include "app/signers.h"
#include "app/tokens.h"
#include "cli/verbs.h"
#include "cli/ui/view.h"
#include "history/index_check.h"
#include "net/net.h"

/* ---- for ever, or for a while ------------------------------------------------------------------------------ */

enum { ALWAYS_DEFAULT_DAYS = 30, GRANTS_ID_BYTES = 80 };

typedef struct always {
    char rules[PAWL_ALWAYS_MAX][PAWL_RULE_BYTES];
    size_t n;
    int64_t until_ms;
    bool project;
} always;

/* The rules are delivered under an id of their own: with an answer (a node's gate), or instead of one (an agent's). NULL: the call has no id. */
static const char *grants_id(const session *s, bool instead, char out[GRANTS_ID_BYTES])
{
    if (s->c->delivery == NULL)
        return NULL;
    snprintf(out, GRANTS_ID_BYTES, "%.60s-%s", s->c->delivery, instead ? "instead" : "always");
    return out;
}

static pawl_code grants_deliver(session *s, const char *run, const pawl_event *ev, const char *id, pawl_err *err)
{
    return delivered_under(s, run, id) ? PAWL_OK : session_deliver_under(s, run, ev, id, err);
}

/* Adds the rules to the run (and to the child that asks) or to the project's settings, and prints them first. The run that asks gets them last: when it
 * has them, all have. */
static pawl_code always_give(session *s, const char *run, const always *a, const char *id, pawl_err *err)
{
    pawl_event ev = { .kind = PAWL_EV_UPDATE, .by = cli_by(s->c) };
    const pawl_value *list = value_pack(&s->mem, NULL, "[]");
    char until[32], from[160];
    pawl_code rc = PAWL_OK;
    buf b;

    cli_time(until, a->until_ms);
    snprintf(from, sizeof from, "an approval by %s", cli_by(s->c));
    for (size_t i = 0; i < a->n && rc == PAWL_OK; i++) {
        cli_note(s->c, "from now on, %s, until %s: allow %s", a->project ? "in this project" : "in this run", until, a->rules[i]);
        list = value_push(&s->mem, list, value_pack(&s->mem, NULL, "{s:s,s:s,s:i}", "from", from, "rule", a->rules[i], "until", a->until_ms));
        if (a->project)
            rc = settings_allow(&s->mem, settings_project(&s->mem, s->folder), a->rules[i], a->until_ms, cli_by(s->c), err);
    }
    if (rc != PAWL_OK)
        return rc;
    buf_init(&b, NULL);
    buf_text(&b, "{\"@grants\":");
    if (list != NULL)
        canon(&b, list);
    buf_text(&b, "}");
    buf_char(&b, '\0');
    ev.value = b.data;
    rc = b.failed || list == NULL ? fail(err, PAWL_NOMEM, "%s: no memory", s->run) : PAWL_OK;
    if (rc == PAWL_OK && strcmp(run, s->run) != 0)
        rc = grants_deliver(s, s->run, &ev, id, err);
    if (rc == PAWL_OK)
        rc = grants_deliver(s, run, &ev, id, err);
    buf_free(&b);
    return rc;
}

/* Whether an agent's gate asks; else a node's. */
static bool is_agents(session *s, const ask *of)
{
    return ask_is_childs(of, s->run) ? pawl_value_get(of->w.about, "tool") != NULL && *of->w.node == '\0' : session_is_agent(s);
}

/* The request came before: it is the same, or its key came with another body. How long the rules are for is not compared: they end when the first said. */
static int always_again(session *s, const char *run)
{
    pawl_err err = {0};

    if (cli_given(s->c, "always") != NULL)
        return EXIT_DONE;
    fail(&err, PAWL_CONFLICT, "%s: this key came with --always before, and comes without it now", run);
    return cli_fail(s->c, PAWL_CONFLICT, &err);
}

/* --always and --for; EXIT_DONE: not given, or the rules were added. */
static int always_wanted(session *s, const ask *of)
{
    char id[GRANTS_ID_BYTES];
    const char *under = grants_id(s, is_agents(s, of), id), *word = cli_given(s->c, "always"), *span = cli_given(s->c, "for");
    int64_t ms = (int64_t)ALWAYS_DEFAULT_DAYS * 86400000;
    always a = {0};
    pawl_state *st = NULL;
    pawl_err err = {0};
    int code = EXIT_DONE;

    if (delivered_under(s, of->run, under))
        return always_again(s, of->run);
    if (word != NULL && delivered_before(s, of->run)) {
        fail(&err, PAWL_CONFLICT, "%s: this key came without --always before", of->run);
        return cli_fail(s->c, PAWL_CONFLICT, &err);
    }
    if (word != NULL && of->w.approvers != NULL) {
        fail(&err, PAWL_INVALID, "%s: a signature is for one call, and --always would allow calls that nobody signed: leave --always out", of->run);
        return cli_fail(s->c, PAWL_INVALID, &err);
    }
    if (word == NULL)
        return span == NULL ? EXIT_DONE : cli_usage(s->c, "--for belongs to --always run or --always project");
    if (strcmp(word, "run") != 0 && strcmp(word, "project") != 0)
        return cli_usage(s->c, "--always is run or project, and not \"%s\"", word);
    if (span != NULL && !cli_duration(span, &ms))
        return cli_usage(s->c, "--for is a duration such as 2h or 7d, and not \"%s\"", span);
    a.project = strcmp(word, "project") == 0;
    a.until_ms = epoch_ms() + ms;
    if (pawl_history_state(session_store(s), of->run, 0, &st, &err) != PAWL_OK ||
        ask_always(s->run, pawl_state_get(st, "@policy"), &of->w, a.rules, &a.n, &err) != PAWL_OK ||
        always_give(s, of->run, &a, under, &err) != PAWL_OK)
        code = cli_fail(s->c, err.code < 0 ? err.code : PAWL_IO, &err);
    pawl_state_free(st);
    return code;
}

/* ---- answers ------------------------------------------------------------------------------------------------- */

/* An approval with changed arguments. */
static bool input_given(session *s, const ask *of, buf *json, pawl_err *err)
{
    const char *text = cli_given(s->c, "input");
    const pawl_value *v = value_parse(&s->mem, text, strlen(text), "--input", err);

    if (v == NULL)
        return false;
    if (pawl_value_get(of->w.about, "tool") == NULL || (pawl_value_get(of->w.about, "policy") == NULL && !is_agents(s, of)) ||
        pawl_value_type(v) != PAWL_TYPE_OBJECT) {
        fail(err, PAWL_INVALID, pawl_value_type(v) != PAWL_TYPE_OBJECT ? "%s: --input is an object, such as '{\"command\":\"git push\"}'"
                                                                      : "%s: there are no rules by which other arguments could be decided: say no, and change the file", s->run);
        return false;
    }
    buf_text(json, "{\"approve\":true,\"input\":");
    canon(json, v);
    buf_text(json, "}");
    return true;
}

/* A denial with its reason, which an agent's model receives. */
static void reason_given(const char *reason, buf *json)
{
    buf_text(json, "{\"approve\":false,\"note\":");
    canon_string(json, reason, strlen(reason));
    buf_text(json, "}");
}

/* An agent decides the call again under its new rules, which allow it. */
static int let_in(session *s, const char *run)
{
    return cli_given(s->c, "no-run") != NULL ? left_print(s, run) : drive_run(s, drive_continue, NULL);
}

/* A child's question is answered through its topmost parent, which is then driven together with it. */
static session *session_of_top(cli_call *c, const char *given, char run[RUN_ID_BYTES], int *code)
{
    pawl_store *store = cli_store_of(c, given, run, code);

    if (store == NULL)
        return NULL;
    return cli_given(c, "file") == NULL ? session_of_top_in(c, store, run, code) : session_of_run_in(c, store, run, cli_given(c, "file"), code);
}

/* Whether this signature stands in the journal: alone, or with those that it came to. */
static int signature_used(session *s, const ask *of, const pawl_event *ev)
{
    const pawl_stream_options from = { .kinds = PAWL_STREAM_TASKS };
    const pawl_value *mine = value_parse(&s->mem, ev->value, strlen(ev->value), "the answer", NULL);
    const char *signature = pawl_value_string(pawl_value_get(mine, "signature"));
    pawl_stream *r = pawl_stream_open(NULL, session_store(s), of->run, &from, NULL);
    pawl_stream_event said_now;
    pawl_err err = {0};
    bool found = false;

    while (r != NULL && signature != NULL && !found && pawl_stream_next(r, &said_now, NULL) == PAWL_OK)
        found = (strcmp(said_now.name, "answer") == 0 || strcmp(said_now.name, "sign") == 0) && said_now.json != NULL &&
                strstr(said_now.json, signature) != NULL;
    pawl_stream_close(r);
    if (found)
        return EXIT_DONE;
    fail(&err, PAWL_CONFLICT, "%s: the signature was not taken: its question was closed before, or the key is distrusted where the run is driven; `pawl show %s`",
         of->run, of->run);
    return cli_fail(s->c, PAWL_CONFLICT, &err);
}

/* The engine here did not take the answer: its wait may have had another answer before, or have been closed. Then this one is not used, which is
 * printed. */
static int answer_used(session *s, const ask *of, const pawl_event *ev)
{
    const pawl_value *mine = ev->value != NULL ? value_parse(&s->mem, ev->value, strlen(ev->value), "the answer", NULL) : NULL;
    pawl_err err = {0};
    past_answer first = {0};

    if (of->w.approvers != NULL)
        return signature_used(s, of, ev);
    if (mine == NULL || (of->w.kind != PAWL_WAIT_APPROVAL && of->w.kind != PAWL_WAIT_QUESTION))
        return EXIT_DONE;
    if (!past_answer_find(s, of->run, ev->id, &first))
        fail(&err, PAWL_CONFLICT, "%s: the answer came too late: its question was closed before; `pawl show %s` says what the run does now", of->run, of->run);
    else if (first.by == NULL || first.value == NULL || (strcmp(first.by, ev->by) == 0 && pawl_value_equal(first.value, mine)))
        return EXIT_DONE;
    else
        (void)past_answer_conflict(of->run, &first, &err);
    return cli_fail(s->c, PAWL_CONFLICT, &err);
}

static int answer_give(session *s, const ask *of, const pawl_event *ev)
{
    const int code = event_send(s, ev);
    int used = EXIT_DONE;

    if (!s->took && (s->left_no == 0 || s->left_taken) && (code == EXIT_DONE || code == EXIT_WAITS))
        used = answer_used(s, of, ev);
    return used == EXIT_DONE ? code : used;
}

/* --set: the update that goes with the answer, as text; empty: there is none. False: the usage error was printed. */
static bool update_given(session *s, const ask *of, buf *update, int *code)
{
    const pawl_value *set = set_values(s->c, code);

    if (set == NULL || (!ask_is_childs(of, s->run) && !set_fits(s, set, code)))
        return false;
    if (pawl_value_size(set) == 0)
        return true;
    if (is_agents(s, of) || cli_given(s->c, "always") != NULL) {
        *code = cli_usage(s->c, is_agents(s, of) ? "--set is for the nodes of a graph: an agent has no channels to set" : "--set and --always do not go together");
        return false;
    }
    canon(update, set);
    buf_char(update, '\0');
    return true;
}

/* Signed with a key of the person, or elsewhere (--signed). For a server the person's keys are never used: it is not the person who asks. */
static pawl_code value_sign(session *s, const ask *of, bool yes, pawl_event *ev, pawl_err *err)
{
    const char *given = cli_given(s->c, "signed");
    const pawl_value *v = given != NULL ? value_parse(&s->mem, given, strlen(given), "--signed", err) : NULL;
    bool says = false;

    if (given == NULL && of->w.approvers != NULL && s->c->served)
        return fail(err, PAWL_DENIED, "%s: this gate takes signed answers alone: send one as `signed`, made by `pawl approve --sign`", of->run);
    if (given == NULL)
        return signers_sign(&s->mem, &of->w, ev->value, ev->update, ev->note, cli_given(s->c, "key"), &ev->value, err);
    if (v == NULL)
        return err->code;
    if (of->w.approvers == NULL)
        return fail(err, PAWL_INVALID, "%s: its gate names no approvers, and takes no signature", of->run);
    says = pawl_value_bool(pawl_value_find(v, "/answer/approve"));
    if (pawl_value_find(v, "/answer/approve") == NULL || says != yes)
        return fail(err, PAWL_INVALID, "%s: what is signed is not %s", of->run, yes ? "an approval" : "a denial");
    ev->value = given;
    return PAWL_OK;
}

/* --sign: the signed answer goes to stdout, and nowhere else. */
static int signed_out(session *s, const ask *of, const pawl_event *ev)
{
    pawl_err err = {0};

    if (of->w.approvers == NULL) {
        fail(&err, PAWL_INVALID, "%s: its gate names no approvers, and takes no signature", of->run);
        return cli_fail(s->c, PAWL_INVALID, &err);
    }
    return cli_json(s->c, value_parse(&s->c->mem, ev->value, strlen(ev->value), "a signed answer", NULL)) ? EXIT_DONE : EXIT_FAILED;
}

static int answer_found(session *s, const ask *of, const char *text, const char *value)
{
    cli_call *c = s->c;
    pawl_event ev = { .kind = PAWL_EV_ANSWER, .id = of->w.id, .by = cli_by(s->c), .note = cli_given(c, "reason"), .value = value };
    const bool yes = value != NULL && strcmp(value, "true") == 0, told = value != NULL && !yes && ev.note != NULL && is_agents(s, of);
    const bool edits = (yes && cli_given(c, "input") != NULL) || told;
    pawl_err err = {0};
    int code = EXIT_DONE;
    buf json, update;

    buf_init(&json, NULL);
    buf_init(&update, NULL);
    if (!update_given(s, of, &update, &code)) {
        buf_free(&update);
        return code;
    }
    ev.update = update.size > 0 ? update.data : NULL;
    if (value == NULL && (doubt_is(&of->w) ? doubt_answer(s, &of->w, text, &json, &err) : view_answer(&of->w, text, &json, &err)) != PAWL_OK) {
        code = cli_fail(c, PAWL_INVALID, &err);
    } else if (yes && cli_given(c, "input") != NULL && !input_given(s, of, &json, &err)) {
        code = cli_fail(c, PAWL_INVALID, &err);
    } else {
        if (told)
            reason_given(ev.note, &json);
        buf_char(&json, '\0');
        if (value == NULL || edits)
            ev.value = json.data;
        if (value_sign(s, of, yes, &ev, &err) != PAWL_OK)
            code = cli_fail(c, err.code, &err);
        else if (cli_given(c, "sign") != NULL)
            code = signed_out(s, of, &ev);
        else if (!yes || (code = always_wanted(s, of)) == EXIT_DONE)
            code = yes && cli_given(c, "always") != NULL && is_agents(s, of) ? let_in(s, of->run) : answer_give(s, of, &ev);
    }
    buf_free(&json);
    buf_free(&update);
    return code;
}

/* The wait `id` as it was asked: in the state before its answer was taken, or in the newest one. The texts of *out are those of *st. */
static pawl_code asked_before(session *s, const char *run, const char *id, pawl_state **st, ask *out, pawl_err *err)
{
    const pawl_stream_options from = { .kinds = PAWL_STREAM_TASKS };
    pawl_stream *r = pawl_stream_open(NULL, session_store(s), run, &from, NULL);
    pawl_stream_event ev;
    uint64_t seq = 0;
    pawl_code rc;

    while (r != NULL && pawl_stream_next(r, &ev, NULL) == PAWL_OK)
        if (strcmp(ev.name, "answer") == 0 && ev.id != NULL && strcmp(ev.id, id) == 0)
            seq = ev.seq;
    pawl_stream_close(r);
    rc = pawl_history_state(session_store(s), run, seq > 1 ? seq - 1 : 0, st, err);
    *out = (ask){ .run = run };
    for (size_t i = 0; rc == PAWL_OK && i < pawl_state_waits(*st); i++)
        if (pawl_state_wait(*st, i, pawl_engine_step(s->engine), &out->w, NULL) == PAWL_OK && strcmp(out->w.id, id) == 0)
            return PAWL_OK;
    return rc != PAWL_OK ? rc : fail(err, PAWL_CONFLICT, "%s: this answer was stored before, and its question is in a part that was pruned", run);
}

/* The answer was delivered before under the id of this call: what it was is made again, and the store compares both (E16). */
static int answer_again(session *s, const char *run, const char *id, const char *text, const char *value)
{
    pawl_state *st = NULL;
    pawl_err err = {0};
    ask of;
    const pawl_code rc = asked_before(s, run, id, &st, &of, &err);
    const int code = rc == PAWL_OK ? answer_found(s, &of, text, value) : cli_fail(s->c, rc, &err);

    pawl_state_free(st);
    return code;
}

/* Whether this call came before: its answer was delivered, or an agent got rules instead of one. The run of the wait `id` goes to `run`, if it is seen;
 * else `run` stays. */
static bool told_here(session *s, const char *id, char run[RUN_ID_BYTES], bool *rules)
{
    char of[RUN_ID_BYTES], under[GRANTS_ID_BYTES];
    pawl_err err = {0};
    bool sees = false;

    asks_run_of(id, of);
    if (asker_sees(s->c->who, session_store(s), of, &sees, &err) != PAWL_OK || !sees)
        return false;
    *rules = delivered_under(s, of, grants_id(s, true, under));
    if (!*rules && !delivered_before(s, of))
        return false;
    snprintf(run, RUN_ID_BYTES, "%s", of);
    return true;
}

/* An agent got rules before: its gate may be closed since, and the call gets the same reply. */
static int rules_again(session *s, const char *run)
{
    const int code = always_again(s, run);

    return code == EXIT_DONE ? let_in(s, run) : code;
}

/* `value` NULL: `text` must be converted to what the wait expects. */
static int answer_wait(cli_call *c, const char *given, const char *which, const char *text, const char *value, pawl_wait_kind kind)
{
    char run[RUN_ID_BYTES];
    pawl_err err = {0};
    session *s;
    bool rules;
    int code;
    ask of;

    if (c->delivery != NULL && (which == NULL || strchr(which, '~') == NULL))
        return cli_usage(c, "an answer that may come again names its wait by the whole id, as `pawl inbox --json` has it");
    if ((s = session_of_top(c, given, run, &code)) == NULL)
        return code;
    if (c->delivery != NULL && told_here(s, which, run, &rules))
        code = c->once ? left_print(s, run) : rules ? rules_again(s, run) : answer_again(s, run, which, text, value);
    else if (wait_find(s, run, which, &of, &err) != PAWL_OK ||
        wait_check(session_store(s), of.run, &(pawl_waiting){ .id = of.w.id, .spec = of.spec, .asked_ms = of.w.asked_ms }, &err) != PAWL_OK) {
        code = cli_fail(c, err.code < 0 ? err.code : PAWL_IO, &err);
    } else if (value != NULL && of.w.kind != kind && kind != 0) {
        fail(&err, PAWL_INVALID, of.w.kind == PAWL_WAIT_INPUT ? "%s waits%s%s for input, and not for a yes or a no: pawl send %s TEXT"
                                                              : "%s waits%s%s for an answer, and not for a yes or a no: pawl answer %s %s VALUE",
             of.run, *of.w.node != '\0' ? " at " : "", of.w.node, of.run, of.w.slot);
        code = cli_fail(c, PAWL_INVALID, &err);
    } else {
        code = answer_found(s, &of, text, value);
    }
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

#define OPTION_KEY { "key", "NAME", "at a gate with `approvers`: sign with this key of yours (`pawl key`)" }

#define OPTION_SIGN \
    { "sign", NULL, "print the signed answer as JSON, for --signed or a server, and store nothing" }, \
    { "signed", "JSON", "the signed answer of an approver, made by --sign, perhaps on another machine" }

static const cli_option answer_options[] = {
    OPTION_KEY,
    { "reason", "TEXT", "a note that is stored with the answer in the journal" },
    { "set", "CHANNEL=JSON...", "change the state with the answer; it is merged after every change before it" },
    OPTIONS_CONTINUE,
    { NULL, NULL, NULL },
};

static const cli_option deny_options[] = {
    OPTION_KEY,
    { "reason", "TEXT", "a note that is stored with the answer in the journal" },
    OPTION_SIGN,
    { "set", "CHANNEL=JSON...", "change the state with the answer; it is merged after every change before it" },
    OPTIONS_CONTINUE,
    { NULL, NULL, NULL },
};

static const cli_option approve_options[] = {
    { "always", "run|project", "also approve every call that the same rules match, in this run or in the project" },
    { "for", "DURATION", "with --always: for how long; 30d" },
    OPTION_KEY,
    { "input", "JSON", "approve with these arguments instead; the rules decide them, too" },
    { "reason", "TEXT", "a note that is stored with the answer in the journal" },
    { "set", "CHANNEL=JSON...", "change the state with the answer; it is merged after every change before it" },
    OPTION_SIGN,
    OPTIONS_CONTINUE,
    { NULL, NULL, NULL },
};

const cli_verb verb_answer = {
    .name = "answer", .form = "RUN [WAIT] VALUE", .what = "answer a question of a run, and continue it", .options = answer_options, .least = 2, .most = 3,
    .store = true, .answers = true, .acts = true, .run = answer_run,
    .about = "WAIT is the node that asks, or the id of the wait; it is required if several\n"
             "waits are open. VALUE is JSON. For a question that expects a text or one of\n"
             "several options, it is the plain text or the number of the option; for a\n"
             "question of an agent that accepts several options, their numbers separated by\n"
             "commas; for several questions, an object with one answer each, by their headers.\n"
             "The value is checked before anything changes, and accepted once.\n"
             "\n"
             "The outcome of a command of class once whose process died while it ran is a\n"
             "question, too: done, done:TEXT (with its output), failed:WHY or again.\n"
             "\n"
             "If the answer ends the turn of an agent, the exit code is 0, or 1 if the turn\n"
             "has no answer.",
    .example = "pawl answer @ 42\npawl answer review-9x3d verdict approve\npawl inbox                      # what waits, over all runs",
};

const cli_verb verb_approve = {
    .name = "approve", .form = "RUN [WAIT]", .what = "approve at a gate, and continue the run", .options = approve_options, .least = 1, .most = 2,
    .store = true, .answers = true, .acts = true, .run = approve_run,
    .example = "pawl approve @\npawl approve deploy-3fza migrate\npawl approve @ --always run --for 2h",
    .about = "The journal records who approved and when. An approval is bound to the digest of\n"
             "the call that is shown, and is valid once: other arguments need a new approval.\n"
             "At a gate with `approvers:` it is signed, with the one of your keys that the\n"
             "gate names or with --key; the run goes on when as many have signed as it needs.\n"
             "--always prints the allow rules that it adds. Questions of a child run can be\n"
             "answered by its id or the id of its parent, also with `pawl answer` and `deny`;\n"
             "then both continue. If the approval ends the turn of an agent, the exit code is\n"
             "0, or 1 if the turn has no answer.",
};

const cli_verb verb_deny = {
    .name = "deny", .form = "RUN [WAIT]", .what = "deny at a gate, and continue the run", .options = deny_options, .least = 1, .most = 2,
    .store = true, .answers = true, .acts = true, .run = deny_run,
    .about = "The run continues at the gate's `on_no:`, goes on waiting (`on_no: wait`, exit\n"
             "3), or ends rejected (exit 1). For an agent the turn ends (exit 1), or the model\n"
             "receives the denial and continues, as its file says. At a gate with\n"
             "`approvers:` one signed denial is enough.",
    .example = "pawl deny @ --reason 'not on a Friday'",
};
