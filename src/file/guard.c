/* guard.c - may a node do what it is about to do: the rules and hooks of its run, its mode, and a person (P1 to P5, W6).
 *
 * What the world said stands in receipts, what a person said in answers, and the rules in "@policy": so all of it is a function of the
 * journal. The answer, with its ground, stands with the command that it let in, or in the failure that it was. */
#include "file/guard.h"
#include "file/read.h"
#include "kernel/kernel.h"

enum {
    INPUT_BYTES_MAX = 16384,    /* of what is shown to who approves; of more there is the digest */
    PATHS_MAX = 64              /* of a command that are looked up; one with more is not read for sure anyway */
};

/* ---- what it calls -------------------------------------------------------------------------------------- */

/* What may change something in the world, as far as can be told from here. */
bool guard_acts(const file_node *n)
{
    return (n->kind == KIND_RUN || n->kind == KIND_SHELL || n->kind == KIND_PLUGIN || (n->kind == KIND_HTTP && !n->reads_only)) &&
           n->limits.cls != PAWL_PURE;
}

static pawl_permission class_by(const file_node *n, bool acts)
{
    if (!acts)
        return PAWL_READ;
    return n->kind == KIND_HTTP ? PAWL_NET : n->kind == KIND_PLUGIN ? PAWL_OTHER : PAWL_EXEC;
}

pawl_permission guard_class(const file_node *n)
{
    return class_by(n, guard_acts(n));
}

/* `pure` is the author's word for a request as it was written, and not for what a hook or a person made of it. */
static bool acts(const guard *g)
{
    return g->sc->n->kind == KIND_HTTP && g->changed ? file_request_writes(g->input) : guard_acts(g->sc->n);
}

static pawl_permission class_of(const guard *g)
{
    return class_by(g->sc->n, acts(g));
}

const char *guard_tool(const file_node *n)
{
    switch (n->kind) {
    case KIND_RUN: case KIND_SHELL: return "Bash";
    case KIND_HTTP: return "WebFetch";
    case KIND_PROMPT: return "Prompt";
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

/* As people know it from tools: {"command"}, {"url", ..}, or the arguments. */
static const pawl_value *input_of(guard *g)
{
    arena *a = &g->sc->s->mem;
    const pawl_value *command;

    if (strcmp(g->tool, "Bash") != 0)
        return g->shown;
    command = command_text(g);
    return command == NULL ? NULL : value_with(a, value_pack(a, NULL, "{}"), "command", command);
}

/* A command is more than its text: arguments of a shell, variables, stdin, and a folder of its own. NULL: nothing, or failed. */
static const pawl_value *beside(guard *g)
{
    static const char *const members[] = { "env", "stdin" };
    const file_node *n = g->sc->n;
    pawl_step *s = g->sc->s;
    const pawl_value *run = pawl_value_get(g->shown, "run"), *v = pawl_pack(s, "{}"), *args = pawl_pack(s, "[]"), *one;

    if (strcmp(g->tool, "Bash") != 0)
        return NULL;
    for (size_t i = 4; n->kind == KIND_SHELL && i < pawl_value_size(run); i++)
        args = value_push(&s->mem, args, pawl_value_at(run, i));
    if (pawl_value_size(args) > 0)
        v = value_with(&s->mem, v, "args", args);
    for (size_t i = 0; i < 2; i++)
        if ((one = pawl_value_get(g->shown, members[i])) != NULL)
            v = value_with(&s->mem, v, members[i], one);
    if (n->cwd != NULL)
        v = value_with(&s->mem, v, "cwd", form_shown(g->sc, n->cwd));
    if (v == NULL)
        return scope_fail(g->sc, PAWL_NOMEM, NULL) == PAWL_OK ? NULL : NULL;
    return pawl_value_size(v) > 0 ? v : NULL;
}

/* Of all of it, since an approval is bound to the call, and not to a part (W6). */
static const pawl_value *digest_of(guard *g, const char *tool, const pawl_value *input)
{
    const pawl_value *both = pawl_pack(g->sc->s, "{s:v,s:s}", "input", input, "tool", tool);
    char hex[HASH_HEX + 1];
    hash h;
    buf b;

    if (both != NULL && g->with != NULL)
        both = value_with(&g->sc->s->mem, both, "with", g->with);
    if (both == NULL)
        return NULL;
    buf_init(&b, &g->sc->s->alloc);
    canon(&b, both);
    if (!b.failed)
        hash_of(b.data, b.size, &h);
    hash_hex(&h, hex);
    both = b.failed ? NULL : value_string(&g->sc->s->mem, hex, HASH_HEX);
    buf_free(&b);
    return both;
}

/* ---- rules and hooks of the run ---------------------------------------------------------------------------- */

const pawl_value *guard_rules(arena *mem, const pawl_value *policy, const pawl_value *grants)
{
    const pawl_value *allow = pawl_value_get(policy, "allow"), *one;
    pawl_iter it = pawl_iter_of(grants);

    if (pawl_value_size(grants) == 0)
        return pawl_value_type(policy) == PAWL_TYPE_OBJECT ? policy : NULL;
    if (pawl_value_type(policy) != PAWL_TYPE_OBJECT)
        policy = value_pack(mem, NULL, "{}");
    if (allow == NULL)
        allow = value_pack(mem, NULL, "[]");
    while ((one = pawl_iter_next(&it, NULL)) != NULL)   /* of each approval its rules */
        for (size_t i = 0; i < pawl_value_size(one); i++)
            allow = value_push(mem, allow, pawl_value_at(one, i));
    return value_with(mem, policy, "allow", allow);
}

static pawl_code hooks_of(guard *g, const pawl_value *rules)
{
    pawl_iter it = pawl_iter_of(pawl_value_get(rules, "hooks"));
    const pawl_value *one;
    pawl_err err = {0};

    while ((one = pawl_iter_next(&it, NULL)) != NULL) {
        const char *from = pawl_value_string(pawl_value_get(one, "from"));

        if (hooks_read(&g->sc->s->mem, pawl_value_get(one, "hooks"), from != NULL ? from : "", &g->hooks, &err) != PAWL_OK)
            return pawl_fail(g->sc->s, err.code, "%s: %s", g->sc->n->name, err.text);
    }
    return PAWL_OK;
}

static pawl_code rules_of(guard *g)
{
    pawl_step *s = g->sc->s;
    const pawl_value *rules = guard_rules(&s->mem, g->laws, pawl_get(s, "@grants"));
    pawl_err err = {0};
    buf b;

    guard_free(g);
    g->hooks = (hook_list){0};
    if (rules == NULL)
        return PAWL_OK;
    buf_init(&b, &s->alloc);
    canon(&b, rules);
    g->policy = b.failed ? NULL : pawl_policy_read(&s->alloc, b.data, b.size, &err);
    buf_free(&b);
    if (g->policy == NULL)
        return err.code < 0 && err.code != PAWL_NOMEM ? pawl_fail(s, err.code, "%s: %s", g->sc->n->name, err.text) : scope_fail(g->sc, PAWL_NOMEM, NULL);
    return hooks_of(g, rules);
}

/* ---- decided -------------------------------------------------------------------------------------------------- */

pawl_request guard_request(const file_node *n, const char *tool, const pawl_value *args, pawl_mode mode)
{
    return (pawl_request){ .tool = tool != NULL ? tool : "Node", .args = args, .cls = guard_class(n), .mode = mode, .requires = n->requires, .node = true,
                           .read_only = !guard_acts(n), .deny_gate = n->file->root->gate_deny };
}

static pawl_request request_of(const guard *g, bool edited)
{
    pawl_request q = guard_request(g->sc->n, g->policy != NULL ? g->tool : NULL, g->input, g->mode);       /* no rules: no words to read */

    q.cls = class_of(g);
    q.read_only = !acts(g);
    q.links = g->links;
    q.edited = edited;
    q.rewritten = edited && g->said.input != NULL;
    q.hook = g->said.behavior;
    q.hook_name = g->hook != NULL ? g->hook->name : NULL;
    q.hook_reason = g->said.reason;
    q.time_ms = pawl_now(g->sc->s);
    return q;
}

static bool by_rule(const pawl_decision *d)
{
    return d->ground == PAWL_BY_DENY_RULE || d->ground == PAWL_BY_ASK_RULE || d->ground == PAWL_BY_ALLOW_RULE;
}

typedef struct paths { guard *g; const pawl_value *list; size_t n; } paths;

static bool see_path(void *ctx, const char *path)
{
    paths *p = ctx;
    arena *a = &p->g->sc->s->mem;

    for (size_t i = 0; i < p->n; i++)
        if (strcmp(pawl_value_string(pawl_value_at(p->list, i)), path) == 0)
            return true;
    p->list = value_push(a, p->list, value_string(a, path, strlen(path)));
    return p->list != NULL && ++p->n < PATHS_MAX;
}

/* Links are the world's: where the paths of a command lead is a receipt. */
static pawl_code links_look(guard *g)
{
    pawl_step *s = g->sc->s;
    paths p = { .g = g, .list = value_pack(&s->mem, NULL, "[]") };
    const pawl_value *args, *cwd = pawl_get(s, "@cwd");
    pawl_request q;
    pawl_code rc;

    if (g->policy == NULL || g->tool == NULL || g->linked == g->input)
        return PAWL_OK;
    g->links = NULL;
    g->linked = g->input;
    q = request_of(g, false);
    pawl_policy_paths(g->policy, &q, see_path, &p);
    if (p.list == NULL)
        return scope_fail(g->sc, PAWL_NOMEM, NULL);
    if (p.n == 0)
        return PAWL_OK;
    if ((args = pawl_pack(s, "{s:v,s:v}", "cwd", cwd != NULL ? cwd : value_null(&s->mem), "paths", p.list)) == NULL)
        return scope_fail(g->sc, PAWL_NOMEM, NULL);
    rc = pawl_call(s, "links", args, &g->links);
    return rc == PAWL_EFFECT ? pawl_fail(s, PAWL_DENIED, "%s: nobody could say where its paths lead", g->sc->n->name) : rc;
}

/* Rules speak of its command, and of the node by its name; the stricter of the two counts, and an allow of either where nothing else was said. */
void guard_decided(const pawl_policy *p, const pawl_request *tool, const pawl_value *name, bool first, pawl_decision *out)
{
    pawl_request other = *tool;
    pawl_decision by_name;

    other.tool = "Node";
    other.args = name;
    other.cls = PAWL_READ;
    other.requires = PAWL_MODE_NONE;
    other.hook = PAWL_OPEN;
    other.rewritten = false;
    if (first) {
        pawl_decide_first(p, tool, out);
        if (out->behavior != PAWL_DENY)
            pawl_decide_first(p, &other, out);
        return;
    }
    pawl_decide(p, tool, out);
    if (p == NULL)
        return;
    pawl_decide(p, &other, &by_name);
    if (by_rule(&by_name) && (by_name.behavior > out->behavior ||
                              (out->behavior == PAWL_ASK && out->ground == PAWL_BY_DEFAULT && by_name.behavior == PAWL_ALLOW)))
        *out = by_name;
}

static pawl_code decide(guard *g, bool edited, bool first)
{
    const pawl_code rc = links_look(g);
    const pawl_request tool = request_of(g, edited);

    if (rc == PAWL_OK)
        guard_decided(g->policy, &tool, pawl_pack(g->sc->s, "{s:s}", "name", g->sc->n->name), first, &g->decided);
    return rc;
}

static pawl_code denied(guard *g)
{
    const file_node *n = g->sc->n;
    pawl_mode due = n->requires > PAWL_DEFAULT ? n->requires : PAWL_DEFAULT;

    if (g->decided.ground == PAWL_BY_MODE)
        return pawl_fail(g->sc->s, PAWL_DENIED, "Node '%s' requires %s mode; current mode is %s.", n->name, mode_spoken(g->mode == PAWL_PLAN && acts(g) ? due : n->requires),
                         mode_spoken(g->mode));
    return pawl_fail(g->sc->s, PAWL_DENIED, "%s: %s", n->name, g->decided.reason);
}

/* ---- hooks --------------------------------------------------------------------------------------------------------- */

/* As whoever called it is told of a call that failed: a hook that did not come to anything. */
static const pawl_value *failed_of(pawl_step *s, const pawl_value *error)
{
    const char *code = pawl_value_string(pawl_value_get(error, "code")), *text = pawl_value_string(pawl_value_get(error, "text"));

    return pawl_pack(s, "{s:s,s:s}", "failed", code != NULL ? code : "effect", "text", text != NULL ? text : "it failed");
}

/* What whoever performs it has to know; the input goes beside it. */
static const pawl_value *order_of(pawl_step *s, const hook_entry *h)
{
    const pawl_value *v = pawl_pack(s, "{s:s,s:i}", "name", h->name, "timeout_ms", (int64_t)h->timeout_s * 1000);

    if (h->type == HOOK_HTTP) {
        v = value_with(&s->mem, v, "url", pawl_pack(s, "s", h->url));
        return h->headers != NULL ? value_with(&s->mem, v, "headers", h->headers) : v;
    }
    return value_with(&s->mem, v, "run", h->command != NULL ? pawl_pack(s, "[s,s,s]", "sh", "-c", h->command) : h->run);
}

static pawl_code verdict_of(guard *g, const hook_entry *h, hook_profile profile, const pawl_value *receipt, verdict *one)
{
    pawl_err err = {0};
    pawl_code rc = hook_verdict(&g->sc->s->mem, profile, hook_point_name(h->point), receipt, one, &err);

    return rc == PAWL_OK ? rc : scope_fail(g->sc, rc, rc == PAWL_NOMEM ? NULL : pawl_format(g->sc->s, "%s", err.text));
}

static pawl_code hook_ask(guard *g, const hook_entry *h, const pawl_value *response, verdict *one)
{
    pawl_step *s = g->sc->s;
    const hook_call what = { .point = h->point, .run = s->st->run, .node = g->sc->n->name, .cwd = pawl_get_string(s, "@cwd"), .mode = pawl_mode_name(g->mode),
                             .tool = g->tool != NULL ? g->tool : "Node", .input = g->input, .response = response, .duration_ms = -1 };
    const pawl_value *input = hook_input(&s->mem, &what), *order = order_of(s, h);
    const pawl_value *args = input == NULL || order == NULL ? NULL : pawl_pack(s, "{s:v,s:v}", "hook", order, "input", input), *receipt = NULL, *told;
    pawl_code rc;

    if (args == NULL)
        return scope_fail(g->sc, PAWL_NOMEM, NULL);
    rc = pawl_call(s, "hook", args, &receipt);
    if (rc == PAWL_EFFECT)
        receipt = failed_of(s, receipt);
    else if (rc != PAWL_OK)
        return rc;
    if ((rc = verdict_of(g, h, h->profile, receipt, one)) != PAWL_OK || !one->defers)
        return rc;
    if ((rc = pawl_await_signal(s, one->defer_name != NULL ? one->defer_name : "verdict", &told)) != PAWL_OK)
        return rc;
    if ((rc = verdict_of(g, h, HOOK_STRICT, told, one)) == PAWL_OK && one->defers)
        *one = (verdict){ .behavior = PAWL_DENY, .reason = "it defers again" };
    return rc;
}

/* `if`: one rule that the call has to fit. One that cannot be read was told when the hooks were read, and has the hook asked. */
static bool rule_fits(guard *g, const hook_entry *h)
{
    const pawl_value *home = pawl_value_get(g->laws, "home"), *cwd = pawl_get(g->sc->s, "@cwd");
    const pawl_value *only = h->rule == NULL || cwd == NULL ? NULL : pawl_pack(g->sc->s, "{s:v,s:[{s:v,s:s}]}", "cwd", cwd, "deny", "base", cwd, "rule", h->rule);
    const pawl_request q = request_of(g, false);
    pawl_policy *p = NULL;
    pawl_decision d;
    bool fits = true;
    buf b;

    if (only == NULL)
        return true;
    if (home != NULL)
        only = value_with(&g->sc->s->mem, only, "home", home);
    buf_init(&b, &g->sc->s->alloc);
    canon(&b, only);
    if (!b.failed && (p = pawl_policy_read(&g->sc->s->alloc, b.data, b.size, NULL)) != NULL) {
        pawl_decide_first(p, &q, &d);
        fits = d.behavior == PAWL_DENY;
    }
    pawl_policy_free(p);
    buf_free(&b);
    return fits;
}

static bool wanted(guard *g, const hook_entry *h, hook_point point)
{
    return hook_wanted(h, point, h->nodes, h->nodes || g->tool == NULL ? g->sc->n->name : g->tool) && (h->nodes || g->tool != NULL) && rule_fits(g, h);
}

/* In the order in which they were registered; each sees what those before it made of the input. */
static pawl_code hooks_before(guard *g)
{
    pawl_code rc = PAWL_OK;

    g->said = (verdict){0};
    for (size_t i = 0; i < g->hooks.count && rc == PAWL_OK && g->said.behavior != PAWL_DENY; i++) {
        verdict one = {0};

        if (!wanted(g, &g->hooks.items[i], HOOK_PRE) || (rc = hook_ask(g, &g->hooks.items[i], NULL, &one)) != PAWL_OK)
            continue;
        if (one.input != NULL && g->tool != NULL) {
            g->input = one.input;
            g->changed = true;
        }
        if (one.behavior > g->said.behavior)
            g->hook = &g->hooks.items[i];
        rc = hook_merge(&g->sc->s->mem, &g->said, &one);
    }
    if (rc == PAWL_OK && g->said.stops)
        return pawl_fail(g->sc->s, PAWL_DENIED, "%s: %s", g->sc->n->name, g->said.reason != NULL ? g->said.reason : "a hook ended the run");
    return rc;
}

/* Its call, to be looked at by rules, hooks and people: where there are none, it is not made. */
static pawl_code show(guard *g)
{
    if (g->tool == NULL || g->shown != NULL)
        return PAWL_OK;
    if ((g->shown = form_shown(g->sc, g->sc->n->call)) == NULL || (g->input = input_of(g)) == NULL)
        return scope_fail(g->sc, PAWL_NOMEM, NULL);
    g->with = beside(g);
    return g->sc->failed;
}

/* ---- a person -------------------------------------------------------------------------------------------------------- */

static const pawl_value *about(guard *g)
{
    pawl_step *s = g->sc->s;
    const pawl_decision *d = &g->decided;
    const pawl_value *v;
    char graph[HASH_HEX + 1];
    buf b;

    if (g->tool == NULL)
        return NULL;
    hash_hex(&s->st->machine_hash, graph);
    v = pawl_pack(s, "{s:v,s:s,s:s,s:s,s:s}", "digest", g->digest, "graph", graph, "mode", pawl_mode_name(g->mode), "risk", pawl_permission_name(class_of(g)),
                  "tool", g->tool);
    buf_init(&b, &s->alloc);
    canon(&b, g->input);
    if (g->with != NULL)
        canon(&b, g->with);
    if (!b.failed && b.size <= INPUT_BYTES_MAX) {
        v = value_with(&s->mem, v, "input", g->input);
        if (g->with != NULL)
            v = value_with(&s->mem, v, "with", g->with);
    }
    buf_free(&b);
    if (g->policy != NULL)
        v = value_with(&s->mem, v, "policy", pawl_pack(s, "s", pawl_policy_digest(g->policy)));
    if (g->yes.given)
        v = value_with(&s->mem, v, "again", value_bool(&s->mem, true));
    if (d->behavior == PAWL_ASK) {
        v = value_with(&s->mem, v, "ground", pawl_pack(s, "s", pawl_ground_name(d->ground)));
        v = value_with(&s->mem, v, "reason", pawl_pack(s, "s", d->reason));
    }
    return v;
}

/* What may be asked of: yes, no, or yes with other arguments. */
static const pawl_value *schema_of(guard *g)
{
    static const char edits[] = "{\"anyOf\":[{\"type\":\"boolean\"},{\"additionalProperties\":false,\"properties\":{\"approve\":{\"const\":true},"
                                "\"input\":{\"type\":\"object\"}},\"required\":[\"approve\",\"input\"],\"type\":\"object\"}]}";

    return g->policy != NULL && g->tool != NULL ? pawl_json(g->sc->s, edits) : pawl_pack(g->sc->s, "{s:s}", "type", "boolean");
}

static const pawl_value *prompt_of(guard *g)
{
    const file_node *n = g->sc->n;
    pawl_step *s = g->sc->s;

    if (n->kind != KIND_ASK && n->ask != NULL)
        return form_render(g->sc, n->ask);
    if (g->decided.ground == PAWL_BY_DEFAULT)
        return pawl_pack(s, "s", pawl_format(s, "%s requires %s, and the mode is %s: let it run?", n->name, pawl_mode_name(n->requires), pawl_mode_name(g->mode)));
    return pawl_pack(s, "s", pawl_format(s, "%s: %s: let it run?", n->name, g->decided.reason));
}

static pawl_code no(guard *g, const pawl_value *prompt, bool *left)
{
    const file_node *n = g->sc->n;

    *left = true;
    if (n->on_no.name != NULL)
        return pawl_goto(g->sc->s, strcmp(n->on_no.name, "end") == 0 ? PAWL_END : n->on_no.name);
    return pawl_fail(g->sc->s, PAWL_DENIED, "%s: no", pawl_value_string(prompt) != NULL ? pawl_value_string(prompt) : n->name);
}

/* NULL: there are no rules. */
static const char *law_of(const guard *g)
{
    return g->policy != NULL ? pawl_policy_digest(g->policy) : NULL;
}

/* *left: he said no. Else g->yes is what he said yes to, and g->edit what he made of it. */
static pawl_code person(guard *g, bool *left)
{
    pawl_step *s = g->sc->s;
    pawl_question q = { .kind = PAWL_WAIT_APPROVAL, .timeout_ms = pawl_value_int(pawl_value_get(g->laws, "expires_ms")) };
    const pawl_value *answer;
    pawl_code rc;

    if ((rc = show(g)) != PAWL_OK)
        return rc;
    g->digest = g->tool == NULL ? NULL : digest_of(g, g->tool, g->input);
    if ((q.prompt = prompt_of(g)) == NULL || (q.schema = schema_of(g)) == NULL || (g->tool != NULL && (q.about = about(g)) == NULL))
        return scope_fail(g->sc, PAWL_NOMEM, NULL);
    if (q.timeout_ms > 0 && (q.otherwise = value_bool(&s->mem, false)) == NULL)
        return scope_fail(g->sc, PAWL_NOMEM, NULL);
    if ((rc = pawl_ask_with(s, &q, &answer)) != PAWL_OK)
        return rc;
    g->yes = (guard_yes){ .given = true, .digest = g->digest, .law = law_of(g) != NULL ? arena_strdup(&s->mem, law_of(g), HASH_HEX) : NULL };
    if (pawl_value_type(answer) != PAWL_TYPE_OBJECT || g->tool == NULL)
        return pawl_value_bool(answer) ? PAWL_OK : no(g, q.prompt, left);
    g->edit = pawl_value_get(answer, "input");
    g->yes.digest = digest_of(g, g->tool, g->edit);
    return g->yes.digest != NULL ? PAWL_OK : scope_fail(g->sc, PAWL_NOMEM, NULL);
}

/* A yes is to one call, under the rules that he was asked by (W6). */
static bool said_yes(guard *g)
{
    const pawl_value *digest = NULL;
    const char *law = law_of(g);

    if (!g->yes.given || (law == NULL) != (g->yes.law == NULL) || (law != NULL && strcmp(law, g->yes.law) != 0))
        return false;
    if (g->tool != NULL && ((digest = digest_of(g, g->tool, g->input)) == NULL || !pawl_value_equal(digest, g->yes.digest)))
        return false;
    g->digest = digest;
    return true;
}

/* ---- in ------------------------------------------------------------------------------------------------------------- */

static bool same_laws(const pawl_value *a, const pawl_value *b)
{
    const bool none_a = pawl_value_type(a) != PAWL_TYPE_OBJECT, none_b = pawl_value_type(b) != PAWL_TYPE_OBJECT;

    return none_a || none_b ? none_a && none_b : pawl_value_equal(a, b);
}

/* The arguments of a call of "mode" that an earlier pass has made here; NULL: it made none. */
static const pawl_value *told_here(pawl_step *s)
{
    const task *tk = s->v->task;
    const call *c = s->v->cursor < tk->ncalls ? &tk->calls[s->v->cursor] : NULL;
    const char *effect = c != NULL && c->kind == CALL_CALL ? pawl_value_string(spec_get(s, c, "effect")) : NULL;

    return effect != NULL && strcmp(effect, "mode") == 0 ? spec_get(s, c, "args") : NULL;
}

/* What is about to come, a mode (where `mode` is not NULL) or rules, stands in a receipt, so that a later pass of the visit has the same,
 * whatever has come since. *changed: it did. */
static pawl_code told(pawl_step *s, const char **mode, const pawl_value **laws, bool *changed)
{
    const pawl_value *args = told_here(s), *law = pawl_state_coming(s->st, "@policy"), *receipt = NULL, *one;
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

pawl_code guard_begin(guard *g, pawl_step *s)
{
    const char *mode = pawl_get_string(s, "@mode");
    const pawl_value *laws = pawl_get(s, "@policy");
    bool changed;
    pawl_code rc = told(s, &mode, &laws, &changed);

    *g = (guard){ .mode = pawl_mode_named(mode), .laws = laws };
    if (g->mode == PAWL_MODE_NONE)
        g->mode = PAWL_DEFAULT;
    return rc;
}

static pawl_code prepare(guard *g)
{
    pawl_code rc;

    if ((rc = rules_of(g)) != PAWL_OK || (g->tool = guard_tool(g->sc->n)) == NULL)
        return rc;
    if (g->sc->n->call == NULL)
        g->tool = NULL;
    return g->policy != NULL ? show(g) : PAWL_OK;
}

/* Deny rules, hooks, and then all of it. What a person made of the arguments is decided as if it had been the first, and no hook changes
 * it any more (P2). */
static pawl_code decide_all(guard *g)
{
    const bool edits = g->edit != NULL;
    pawl_code rc;

    g->said = (verdict){0};
    g->hook = NULL;
    g->linked = g->digest = NULL;
    g->changed = edits;
    g->input = edits ? g->edit : g->shown != NULL ? input_of(g) : NULL;
    if (g->shown != NULL && g->input == NULL)
        return scope_fail(g->sc, PAWL_NOMEM, NULL);
    if (g->policy != NULL) {
        if ((rc = decide(g, edits, true)) != PAWL_OK)
            return rc;
        if (g->decided.behavior == PAWL_DENY)
            return denied(g);
        if ((rc = hooks_before(g)) != PAWL_OK)
            return rc;
    }
    if ((rc = decide(g, edits, false)) != PAWL_OK)
        return rc;
    return g->decided.behavior == PAWL_DENY ? denied(g) : PAWL_OK;
}

/* A yes is used up by what follows it in this pass: until then, rules that have come count (W6). */
static pawl_code laws_of_now(guard *g, bool *changed)
{
    bool more = true;
    pawl_code rc = PAWL_OK;

    *changed = false;
    while (rc == PAWL_OK && more) {
        rc = told(g->sc->s, NULL, &g->laws, &more);
        *changed = *changed || more;
    }
    return rc == PAWL_OK && *changed ? prepare(g) : rc;
}

static bool asks(const guard *g)
{
    return g->decided.behavior == PAWL_ASK || (g->sc->n->kind != KIND_ASK && g->sc->n->ask != NULL);
}

pawl_code guard_enter(guard *g, scope *sc, bool *left)
{
    bool changed = true;
    pawl_code rc;

    g->sc = sc;
    *left = false;
    rc = prepare(g);
    while (rc == PAWL_OK && changed) {
        const pawl_value *edit = g->edit;

        if ((rc = decide_all(g)) != PAWL_OK || said_yes(g) || !asks(g) || (rc = person(g, left)) != PAWL_OK || *left)
            break;
        rc = laws_of_now(g, &changed);
        changed = changed || g->edit != edit;
    }
    g->result = rc == PAWL_OK && !*left ? g->said.result : NULL;
    return rc;
}

/* ---- its command ------------------------------------------------------------------------------------------------------ */

/* Members that are not the author's any more. */
static const pawl_value *over(guard *g)
{
    pawl_step *s = g->sc->s;
    const char *command = pawl_value_string(pawl_value_get(g->input, "command"));
    const pawl_value *run, *rest = pawl_value_get(g->shown, "run");

    if (!g->changed || strcmp(g->tool, "Bash") != 0)
        return g->changed ? g->input : NULL;
    if (command == NULL)
        return scope_fail(g->sc, PAWL_INVALID, "what a hook or a person made of it has no `command`") == PAWL_OK ? NULL : NULL;
    run = pawl_pack(s, "[s,s,v]", "sh", "-c", pawl_value_get(g->input, "command"));
    for (size_t i = 3; g->sc->n->kind == KIND_SHELL && i < pawl_value_size(rest); i++)
        run = value_push(&s->mem, run, pawl_value_at(rest, i));
    return run == NULL ? NULL : value_with(&s->mem, value_pack(&s->mem, NULL, "{}"), "run", run);
}

/* How it came to be allowed, for the journal. */
static const pawl_value *decision(guard *g)
{
    pawl_step *s = g->sc->s;
    const pawl_decision *d = &g->decided;
    const pawl_value *v = pawl_pack(s, "{s:s,s:s}", "behavior", g->digest != NULL ? "approved" : pawl_behavior_name(d->behavior), "ground", pawl_ground_name(d->ground));

    if (d->rule != SIZE_MAX && g->policy != NULL)
        v = value_with(&s->mem, v, "rule", pawl_pack(s, "s", pawl_policy_rule(g->policy, d->rule).text));
    if (g->digest != NULL)
        v = value_with(&s->mem, v, "digest", g->digest);
    if (g->policy != NULL)
        v = value_with(&s->mem, v, "policy", pawl_pack(s, "s", pawl_policy_digest(g->policy)));
    if (g->said.open && g->said.reason != NULL)
        v = value_with(&s->mem, v, "failed_open", pawl_pack(s, "s", g->said.reason));
    return v;
}

const pawl_value *guard_args(guard *g, const pawl_value *more)
{
    const pawl_value *others = over(g), *why;

    if (g->sc->failed != PAWL_OK || (g->changed && others == NULL))
        return NULL;
    if (g->policy != NULL || g->digest != NULL) {
        if ((why = decision(g)) == NULL || more == NULL)
            return NULL;
        more = value_with(&g->sc->s->mem, more, "decision", why);
    }
    return form_args(g->sc, g->sc->n->call, others, more);
}

/* ---- and out ------------------------------------------------------------------------------------------------------------ */

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
    verdict all = {0};
    pawl_code rc;

    *left = false;
    for (size_t i = 0; i < g->hooks.count; i++) {
        verdict one = {0};

        if (!wanted(g, &g->hooks.items[i], HOOK_POST))
            continue;
        rc = hook_ask(g, &g->hooks.items[i], *receipt != NULL ? *receipt : value_null(&g->sc->s->mem), &one);
        if (rc != PAWL_OK || (rc = hook_merge(&g->sc->s->mem, &all, &one)) != PAWL_OK)
            return rc;
        if (one.result != NULL)
            *receipt = one.result;
        if (all.behavior == PAWL_DENY || all.stops)
            return pawl_fail(g->sc->s, PAWL_DENIED, "%s: after it, %s: %s", g->sc->n->name, g->hooks.items[i].name, all.reason != NULL ? all.reason : "denied");
    }
    return all.go != NULL ? go_there(g, all.go, left) : PAWL_OK;
}

void guard_free(guard *g)
{
    pawl_policy_free(g->policy);
    g->policy = NULL;
}
