/* permission.c - may a node do what it is about to do: prepares the request for policy/gate.c, and handles the decision (P1 to P5, W6).
 *
 * Called by execute.c, in a step; pure. Results from outside are in receipts, those of a person in answers, and rules in "@policy", so the decision is a
 * function of the journal. The decision with its reason is stored with the command that it allowed, or in the failure. */
#include "agent/step_policies.h"
#include "file/run/permission.h"
#include "file/read.h"
#include "kernel/frame.h"
#include "kernel/spec.h"
#include "kernel/state.h"
#include "kernel/step.h"
#include "kernel/visit.h"

/* ---- the call of a node -------------------------------------------------------------------------------------- */

/* Nodes that may change something outside, as far as can be known here. */
bool guard_acts(const file_node *n)
{
    if (n->kind == KIND_TOOL)
        return n->tool->cls != PAWL_PERMISSION_READ;
    return (n->kind == KIND_RUN || n->kind == KIND_SHELL || n->kind == KIND_PLUGIN || (n->kind == KIND_HTTP && !n->reads_only)) &&
           n->limits.cls != PAWL_CLASS_PURE;
}

/* `pure` is the author's claim about the request as written, not as a hook or a person changed it. */
static bool acts(const guard *g)
{
    return g->sc->n->kind == KIND_HTTP && g->gate.changed ? file_request_writes(g->gate.input) : guard_acts(g->sc->n);
}

const char *guard_tool(const file_node *n)
{
    switch (n->kind) {
    case KIND_RUN: case KIND_SHELL: return "Bash";
    case KIND_HTTP: return "WebFetch";
    case KIND_PROMPT: return "Prompt";
    case KIND_AGENT: return "Agent";    /* its tool calls are decided one by one */
    case KIND_TOOL: return n->tool->rule != NULL ? n->tool->rule : n->tool->name;
    case KIND_PLUGIN: return n->word;
    default: return NULL;
    }
}

void guard_word(buf *b, const char *text, size_t size)
{
    static const char safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.:/@+,=%";

    if (b->size > 0)
        buf_char(b, ' ');
    if (size > 0 && strspn(text, safe) == size) {
        buf_put(b, text, size);
        return;
    }
    buf_char(b, '\'');
    for (size_t i = 0; i < size; i++)
        if (text[i] == '\'')
            buf_text(b, "'\\''");
        else
            buf_char(b, text[i]);
    buf_char(b, '\'');
}

static bool is_command(const file_node *n)
{
    return n->kind == KIND_RUN || n->kind == KIND_SHELL;
}

static const pawl_value *command_text(guard *g)
{
    arena *a = &g->sc->s->mem;
    const pawl_value *run = pawl_value_get(g->shown, "run"), *one, *out = NULL;
    pawl_iter it = pawl_iter_of(run);
    buf b;

    if (g->sc->n->kind == KIND_SHELL)
        return pawl_value_at(run, 2);
    buf_init(&b, &g->sc->s->alloc);
    while ((one = pawl_iter_next(&it, NULL)) != NULL)
        if (pawl_value_type(one) == PAWL_TYPE_STRING)
            guard_word(&b, pawl_value_string(one), pawl_value_size(one));
        else
            guard_word(&b, "?", 1);
    if (!b.failed)
        out = value_string(a, b.size > 0 ? b.data : "", b.size);
    buf_free(&b);
    return out;
}

/* In the form that tools have: {"command"}, {"url", ..}, or the arguments. */
static const pawl_value *input_of(guard *g)
{
    arena *a = &g->sc->s->mem;
    const pawl_value *command;

    if (!is_command(g->sc->n))
        return g->shown;
    command = command_text(g);
    return command == NULL ? NULL : value_with(a, value_pack(a, NULL, "{}"), "command", command);
}

/* The command that undoes the call, with its folder: a yes to the call is a yes to it. NULL: none, an older run, or it is in the input. */
static const pawl_value *undo_of(guard *g)
{
    const file_node *n = g->sc->n;
    const pawl_value *inverse = pawl_value_get(g->shown, "undo");

    if (inverse == NULL || !g->sc->s->st->shows_undo || (!is_command(n) && n->undo_cwd == NULL))
        return NULL;
    return n->undo_cwd == NULL ? inverse : value_with(&g->sc->s->mem, inverse, "cwd", form_shown(g->sc, n->undo_cwd));
}

/* Parts of a command that its text does not show: arguments of a shell, variables, stdin, a folder of its own, its inverse. NULL: none, or failed. */
static const pawl_value *beside(guard *g)
{
    static const char *const members[] = { "env", "stdin" };
    const file_node *n = g->sc->n;
    pawl_step *s = g->sc->s;
    const pawl_value *run = pawl_value_get(g->shown, "run"), *v = pawl_pack(s, "{}"), *args = pawl_pack(s, "[]"), *inverse = undo_of(g), *one;

    if (inverse != NULL)
        v = value_with(&s->mem, v, "undo", inverse);
    for (size_t i = 4; n->kind == KIND_SHELL && i < pawl_value_size(run); i++)
        args = value_push(&s->mem, args, pawl_value_at(run, i));
    if (pawl_value_size(args) > 0)
        v = value_with(&s->mem, v, "args", args);
    for (size_t i = 0; i < 2 && is_command(n); i++)
        if ((one = pawl_value_get(g->shown, members[i])) != NULL)
            v = value_with(&s->mem, v, members[i], one);
    if (n->cwd != NULL && is_command(n))
        v = value_with(&s->mem, v, "cwd", form_shown(g->sc, n->cwd));
    if (v == NULL)
        return scope_fail(g->sc, PAWL_NOMEM, NULL) == PAWL_OK ? NULL : NULL;
    return pawl_value_size(v) > 0 ? v : NULL;
}

/* The folder that the node names, as its command will have it; NULL: it names none, or it cannot be said. */
static const char *own_folder(guard *g)
{
    const pawl_value *v = is_command(g->sc->n) && g->sc->n->cwd != NULL ? form_shown(g->sc, g->sc->n->cwd) : NULL;
    const char *text = pawl_value_string(v);

    return text == NULL || *text == '/' || g->gate.cwd == NULL ? text : pawl_format(g->sc->s, "%s/%s", g->gate.cwd, text);
}

/* Renders the call for rules, hooks and people; skipped if there are none of these. */
static pawl_code show(guard *g)
{
    if (g->gate.tool == NULL || g->shown != NULL)
        return PAWL_OK;
    if ((g->shown = form_shown(g->sc, g->sc->n->call)) == NULL || (g->gate.input = input_of(g)) == NULL)
        return scope_fail(g->sc, PAWL_NOMEM, NULL);
    g->gate.with = beside(g);
    g->gate.at = own_folder(g);
    return g->sc->failed;
}

/* ---- the request for the rules ----------------------------------------------------------------------------- */

static void request_fill(const file_node *n, bool acts, pawl_request *q)
{
    q->cls = !acts ? PAWL_PERMISSION_READ : n->kind == KIND_TOOL ? n->tool->cls : n->kind == KIND_HTTP ? PAWL_PERMISSION_NET : n->kind == KIND_PLUGIN
        ? PAWL_PERMISSION_OTHER : PAWL_PERMISSION_EXEC;
    q->requires = n->requires;
    q->node = true;
    q->read_only = !acts;
    q->deny_gate = n->file->root->gate_deny;
}

pawl_request guard_request(const file_node *n, const char *tool, const pawl_value *args, pawl_mode mode)
{
    pawl_request q = { .tool = tool != NULL ? tool : "Node", .args = args, .mode = mode };

    request_fill(n, guard_acts(n), &q);
    return q;
}

static void world_request(void *ctx, pawl_request *q)
{
    guard *g = ctx;

    request_fill(g->sc->n, acts(g), q);
    if (g->gate.policy == NULL)
        q->tool = "Node";       /* no rules, so its words are not needed */
}

/* The current rules and hooks. */
static pawl_code rules_of(guard *g)
{
    pawl_step *s = g->sc->s;
    compiled_policy rules;
    pawl_err err = {0};
    const pawl_code rc = step_policy(s, g->gate.limits, &rules, &err);

    if (rc == PAWL_OK) {
        g->gate.policy = rules.policy;
        g->gate.hooks = rules.hooks;
        return rc;
    }
    return rc != PAWL_NOMEM ? pawl_fail(s, rc, "%s: %s", g->sc->n->name, err.text) : scope_fail(g->sc, PAWL_NOMEM, NULL);
}

/* Without rules a person decides. */
static bool asks_alone(const guard *g)
{
    const file_node *n = g->sc->n;
    const pawl_request q = guard_request(n, NULL, NULL, g->gate.mode);
    pawl_decision d;

    if (!g->gate.asks && n->requires == PAWL_MODE_NONE)
        return false;
    pawl_decide(NULL, &q, &d);
    return d.behavior == PAWL_BEHAVIOR_ASK || (d.behavior == PAWL_BEHAVIOR_ALLOW && g->gate.asks);
}

static pawl_code prepare(guard *g)
{
    const pawl_code rc = rules_of(g);

    return rc == PAWL_OK && (g->gate.policy != NULL || asks_alone(g)) ? show(g) : rc;
}

/* ---- the question to a person -------------------------------------------------------------------------------------------------------- */

/* The possible answers: yes, no, or yes with other arguments. */
static const pawl_value *schema_of(guard *g)
{
    static const char edits[] = "{\"anyOf\":[{\"type\":\"boolean\"},{\"additionalProperties\":false,\"properties\":{\"approve\":{\"const\":true},"
                                "\"input\":{\"type\":\"object\"}},\"required\":[\"approve\",\"input\"],\"type\":\"object\"}]}";

    return g->gate.policy != NULL && g->gate.tool != NULL ? pawl_json(g->sc->s, edits) : pawl_pack(g->sc->s, "{s:s}", "type", "boolean");
}

static const pawl_value *prompt_of(guard *g)
{
    const file_node *n = g->sc->n;
    pawl_step *s = g->sc->s;

    if (g->gate.asks)
        return form_render(g->sc, n->ask);
    if (g->gate.decided.ground == PAWL_GROUND_DEFAULT)
        return pawl_pack(s, "s", pawl_format(s, "%s requires %s, and the mode is %s: let it run?", n->name, pawl_mode_name(n->requires),
                                             pawl_mode_name(g->gate.mode)));
    return pawl_pack(s, "s", pawl_format(s, "%s: %s: let it run?", n->name, g->gate.decided.reason));
}

static pawl_code world_ask(void *ctx, const gate_asks *asked, const pawl_value **answer)
{
    guard *g = ctx;
    pawl_step *s = g->sc->s;
    const pawl_question q = { .kind = PAWL_WAIT_APPROVAL, .prompt = prompt_of(g), .schema = schema_of(g), .about = asked->about,
                              .otherwise = asked->timeout_ms > 0 ? value_bool(&s->mem, false) : NULL, .timeout_ms = asked->timeout_ms,
                              .approvers = asked->approvers };
    pawl_code rc;

    g->prompt = q.prompt;
    if (q.prompt == NULL || q.schema == NULL || (q.timeout_ms > 0 && q.otherwise == NULL))
        return scope_fail(g->sc, PAWL_NOMEM, NULL);
    do
        rc = pawl_ask_with(s, &q, answer);
    while (rc == PAWL_OK && g->sc->n->no_waits && !pawl_value_bool(*answer) && !pawl_value_bool(pawl_value_get(*answer, "approve")));   /* not now (W9) */
    return rc;
}

static pawl_code no(guard *g, bool *left)
{
    const file_node *n = g->sc->n;
    const char *prompt = pawl_value_string(g->prompt);

    *left = true;
    if (n->on_no.name != NULL)
        return pawl_goto(g->sc->s, strcmp(n->on_no.name, "end") == 0 ? PAWL_END : n->on_no.name);
    return pawl_fail(g->sc->s, PAWL_DENIED, "%s: no", prompt != NULL ? prompt : n->name);
}

/* ---- commands and signals for policy/gate.c -------------------------------------------------------------------------------------------- */

static pawl_code world_call(void *ctx, const char *effect, const pawl_value *args, const pawl_value **receipt)
{
    return pawl_call(((guard *)ctx)->sc->s, effect, args, receipt);
}

static pawl_code world_signal(void *ctx, const char *name, const pawl_value **value)
{
    return pawl_await_signal(((guard *)ctx)->sc->s, name, value);
}

/* ---- before the work of a node ------------------------------------------------------------------------------------------------------------- */

static bool same_laws(const pawl_value *a, const pawl_value *b)
{
    const bool none_a = pawl_value_type(a) != PAWL_TYPE_OBJECT, none_b = pawl_value_type(b) != PAWL_TYPE_OBJECT;

    return none_a || none_b ? none_a && none_b : pawl_value_equal(a, b);
}

/* The arguments of a call of "mode" in an earlier pass of this visit; NULL: there was none. */
static const pawl_value *mode_call_args(pawl_step *s)
{
    const task *tk = s->v->task;
    const call *c = s->v->cursor < tk->ncalls ? &tk->calls[s->v->cursor] : NULL;
    const char *effect = c != NULL && c->kind == CALL_CALL ? pawl_value_string(spec_get(s, c, "effect")) : NULL;

    return effect != NULL && strcmp(effect, "mode") == 0 ? spec_get(s, c, "args") : NULL;
}

/* A mode or rules that are about to apply are stored as a receipt, so that a later pass of the visit uses the same, whatever changes meanwhile.
 * *changed: there were some. */
static pawl_code mode_receipt(pawl_step *s, const char **mode, const pawl_value **laws, bool *changed)
{
    const pawl_value *args = mode_call_args(s), *law = pawl_state_coming(s->st, "@policy"), *receipt = NULL, *one;
    const char *next = mode != NULL ? pawl_value_string(pawl_state_coming(s->st, "@mode")) : NULL;
    const bool passed = s->v->cursor < s->v->task->ncalls;
    pawl_code rc;

    *changed = false;
    if (next != NULL && *mode != NULL && strcmp(*mode, next) == 0)
        next = NULL;
    if (law != NULL && same_laws(*laws, law))
        law = NULL;
    if (args == NULL && (passed || (next == NULL && law == NULL)))
        return PAWL_OK;
    if (args == NULL)
        args = next == NULL ? pawl_pack(s, "{s:v}", "policy", law)
             : law == NULL ? pawl_pack(s, "{s:s}", "mode", next) : pawl_pack(s, "{s:s,s:v}", "mode", next, "policy", law);
    if ((rc = pawl_call(s, "mode", args, &receipt)) != PAWL_OK)
        return rc;
    *changed = true;
    if (mode != NULL && (one = pawl_value_get(receipt, "mode")) != NULL)
        *mode = pawl_value_string(one);
    if ((one = pawl_value_get(receipt, "policy")) != NULL)
        *laws = one;
    return PAWL_OK;
}

/* An approval is used by what follows it in this pass: until then, changed rules count (W6). */
static pawl_code world_renew(void *ctx, bool *changed)
{
    guard *g = ctx;
    bool more = true;
    pawl_code rc = PAWL_OK;

    *changed = false;
    while (rc == PAWL_OK && more) {
        rc = mode_receipt(g->sc->s, NULL, &g->gate.limits, &more);
        *changed = *changed || more;
    }
    return rc == PAWL_OK && *changed ? prepare(g) : rc;
}

pawl_code guard_begin(guard *g, pawl_step *s)
{
    static const hook_list none;        /* until the rules are read */
    const char *mode = pawl_get_string(s, "@mode");
    const pawl_value *laws = pawl_get(s, "@policy");
    bool changed;
    pawl_code rc = mode_receipt(s, &mode, &laws, &changed);

    *g = (guard){ .gate = { .mem = &s->mem, .hooks = &none, .limits = laws, .run = s->st->run, .cwd = pawl_get_string(s, "@cwd"),
                            .mode = pawl_mode_named(mode), .time_ms = pawl_now(s) } };
    g->gate.world = (gate_world){ .call = world_call, .signal = world_signal, .ask = world_ask, .ctx = g, .request = world_request, .renew = world_renew };
    if (g->gate.mode == PAWL_MODE_NONE)
        g->gate.mode = PAWL_MODE_DEFAULT;
    return rc;
}

static pawl_code denied(guard *g, bool *left)
{
    const file_node *n = g->sc->n;
    const tool_gate *t = &g->gate;
    const pawl_mode due = t->mode == PAWL_MODE_PLAN && acts(g) && n->requires < PAWL_MODE_DEFAULT ? PAWL_MODE_DEFAULT : n->requires;

    if (t->by_person)
        return no(g, left);
    if (t->decided.behavior == PAWL_BEHAVIOR_DENY && t->decided.ground == PAWL_GROUND_MODE)
        return pawl_fail(g->sc->s, PAWL_DENIED, "Node '%s' requires %s mode; current mode is %s.", n->name, mode_spoken(due), mode_spoken(t->mode));
    return pawl_fail(g->sc->s, PAWL_DENIED, "%s: %s", n->name, t->reason);
}

/* Ends the visit with that failure. */
static pawl_code gate_failed(guard *g, pawl_code rc, const pawl_err *err)
{
    if (rc >= 0 || err->code == PAWL_OK)
        return rc;
    return scope_fail(g->sc, rc, rc == PAWL_NOMEM ? NULL : pawl_format(g->sc->s, "%s", err->text));
}

pawl_code guard_enter(guard *g, scope *sc, bool *left)
{
    const file_node *n = sc->n;
    char graph[HASH_HEX + 1];
    pawl_err err = {0};
    pawl_code rc;

    *left = false;
    g->sc = sc;
    g->gate.node = n->name;
    g->gate.tool = n->call != NULL ? guard_tool(n) : NULL;
    g->gate.asks = n->kind != KIND_ASK && n->ask != NULL;
    g->gate.approvers = n->approvers;
    hash_hex(&sc->s->st->machine_hash, graph);
    g->gate.graph = graph;
    if ((rc = prepare(g)) != PAWL_OK)
        return rc;
    rc = gate_enter(&g->gate, &err);
    g->gate.graph = NULL;
    if (rc == PAWL_OK && n->kind == KIND_TOOL && g->gate.policy != NULL &&
        (sc->folders = gate_folders(&sc->s->mem, g->gate.limits, g->gate.policy, pawl_pack(sc->s, "{}"))) == NULL)
        return scope_fail(sc, PAWL_NOMEM, NULL);
    return rc == PAWL_DENIED && g->gate.reason != NULL ? denied(g, left) : gate_failed(g, rc, &err);
}

/* ---- its command ------------------------------------------------------------------------------------------------------ */

/* Members that hooks or a person have replaced. */
static const pawl_value *over(guard *g)
{
    pawl_step *s = g->sc->s;
    const pawl_value *command = pawl_value_get(g->gate.input, "command"), *run, *rest = pawl_value_get(g->shown, "run");

    if (!g->gate.changed || !is_command(g->sc->n))
        return g->gate.changed ? g->gate.input : NULL;
    if (pawl_value_string(command) == NULL)
        return scope_fail(g->sc, PAWL_INVALID, "what a hook or a person made of it has no `command`") == PAWL_OK ? NULL : NULL;
    run = pawl_pack(s, "[s,s,v]", "sh", "-c", command);
    for (size_t i = 3; g->sc->n->kind == KIND_SHELL && i < pawl_value_size(rest); i++)
        run = value_push(&s->mem, run, pawl_value_at(rest, i));
    return run == NULL ? NULL : value_with(&s->mem, value_pack(&s->mem, NULL, "{}"), "run", run);
}

const pawl_value *guard_args(guard *g, const pawl_value *more)
{
    const pawl_value *others = over(g), *why;

    if (g->sc->failed != PAWL_OK || (g->gate.changed && others == NULL))
        return NULL;
    if (g->gate.policy != NULL || g->gate.digest != NULL) {
        if ((why = gate_decision(&g->gate)) == NULL || more == NULL)
            return NULL;
        more = value_with(&g->sc->s->mem, more, "decision", why);
    }
    return form_args(g->sc, g->sc->n->call, others, more);
}

/* ---- after the decision ------------------------------------------------------------------------------------------------------------ */

static pawl_code go_there(guard *g, const pawl_value *names, bool *left)
{
    pawl_iter it = pawl_iter_of(names);
    const pawl_value *one;
    pawl_code rc = PAWL_OK;

    *left = true;
    while (rc == PAWL_OK && (one = pawl_iter_next(&it, NULL)) != NULL) {
        const char *name = pawl_value_string(one);

        rc = pawl_goto(g->sc->s, name != NULL && strcmp(name, "end") == 0 ? PAWL_END : name);
    }
    return rc;
}

pawl_code guard_leave(guard *g, const pawl_value **receipt, bool *left)
{
    const verdict *said = &g->gate.said;
    pawl_err err = {0};
    const pawl_code rc = gate_leave(&g->gate, false, receipt, &err);

    *left = false;
    if (rc == PAWL_DENIED && g->gate.reason != NULL)
        return pawl_fail(g->sc->s, PAWL_DENIED, "%s: after it, %s: %s", g->sc->n->name, g->gate.hook->name, said->reason != NULL ? said->reason : "denied");
    if (rc != PAWL_OK)
        return gate_failed(g, rc, &err);
    return said->go != NULL ? go_there(g, said->go, left) : PAWL_OK;
}
