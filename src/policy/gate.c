/* gate.c - decides whether a tool may be called, or a node may act: deny rules, hooks, deny rules again on the input that the hooks made of it,
 * ask rules, the mode, a hook's allow, allow rules; and a person where none of them decides (P2, P4, P5, W6).
 *
 * Owns nothing: a gate is the caller's. Called by the agent (authorize.c, lifecycle_hooks.c) and the loader of agent files (permission.c), on the
 * thread that drives the run. Pure: whatever it needs is asked through gate_world, and the function runs again from the top when an answer is there. */
#include "policy/gate.h"
#include "policy/policy.h"

enum {
    INPUT_BYTES_MAX = 16384,    /* shown to the person who approves; of a longer input the digest is shown */
    PATHS_MAX = 64              /* resolved for a call; one with more paths is asked */
};

/* ---- rules and hooks of the run ---------------------------------------------------------------------------- */

const pawl_value *gate_rules(arena *mem, const pawl_value *policy, const pawl_value *grants)
{
    const pawl_value *allow = pawl_value_get(policy, "allow"), *one;
    pawl_iter it = pawl_iter_of(grants);

    if (pawl_value_size(grants) == 0)
        return pawl_value_type(policy) == PAWL_TYPE_OBJECT ? policy : NULL;
    if (pawl_value_type(policy) != PAWL_TYPE_OBJECT)
        policy = value_pack(mem, NULL, "{}");
    if (allow == NULL)
        allow = value_pack(mem, NULL, "[]");
    while ((one = pawl_iter_next(&it, NULL)) != NULL)   /* one list of rules for each approval */
        for (size_t i = 0; i < pawl_value_size(one); i++)
            allow = value_push(mem, allow, pawl_value_at(one, i));
    return value_with(mem, policy, "allow", allow);
}

pawl_policy *gate_policy(const pawl_alloc *alloc, const pawl_value *rules, pawl_err *err)
{
    pawl_policy *p = NULL;
    buf b;

    buf_init(&b, alloc);
    if (rules != NULL)
        canon(&b, rules);
    if (rules == NULL || b.failed)
        fail(err, PAWL_NOMEM, "no memory for the rules");
    else
        p = pawl_policy_read(alloc, b.data, b.size, err);
    buf_free(&b);
    return p;
}

pawl_code gate_hooks(arena *mem, const pawl_value *rules, hook_list *hooks, pawl_err *err)
{
    const pawl_value *one;
    pawl_iter it = pawl_iter_of(pawl_value_get(rules, "hooks"));
    pawl_code rc = PAWL_OK;

    *hooks = (hook_list){0};
    while (rc == PAWL_OK && (one = pawl_iter_next(&it, NULL)) != NULL) {
        const char *from = pawl_value_string(pawl_value_get(one, "from"));

        rc = hooks_read_in(mem, pawl_value_get(one, "hooks"), from != NULL ? from : "", pawl_value_string(pawl_value_get(one, "project")), hooks, err);
    }
    return rc;
}

/* ---- folders of the workspace ----------------------------------------------------------------------------------- */

/* An improbable file name: a rule that fits it fits everything in the folder. */
static bool edits_denied(arena *mem, const pawl_policy *p, const char *folder)
{
    static const char name[] = "/.pawl-any-file";
    const size_t n = strlen(folder);
    char *file = arena_get(mem, n + sizeof name);
    pawl_request q = { .tool = "Edit", .cls = PAWL_PERMISSION_EDIT };
    pawl_decision d;

    if (file == NULL)
        return true;
    memcpy(file, folder, n);
    memcpy(file + n, name, sizeof name);
    if ((q.args = value_pack(mem, NULL, "{s:s}", "file_path", file)) == NULL)
        return true;
    pawl_decide_first(p, &q, &d);
    return d.behavior == PAWL_BEHAVIOR_DENY;
}

const pawl_value *gate_folders(arena *mem, const pawl_value *rules, const pawl_policy *p, const pawl_value *args)
{
    const pawl_value *folders = pawl_value_get(rules, "directories"), *only = value_pack(mem, NULL, "[]"), *one;
    pawl_iter it = pawl_iter_of(folders);

    if (pawl_value_size(folders) == 0)
        return args;
    while ((one = pawl_iter_next(&it, NULL)) != NULL)
        if (p != NULL && pawl_value_string(one) != NULL && edits_denied(mem, p, pawl_value_string(one)))
            only = value_push(mem, only, one);
    args = value_with(mem, args, "directories", folders);
    return pawl_value_size(only) > 0 ? value_with(mem, args, "read_only", only) : args;
}

/* ---- rules and mode -------------------------------------------------------------------------------------------------- */

static bool decided_by_rule(const pawl_decision *d)
{
    return d->ground == PAWL_GROUND_DENY_RULE || d->ground == PAWL_GROUND_ASK_RULE || d->ground == PAWL_GROUND_ALLOW_RULE;
}

void gate_decided(const pawl_policy *p, const pawl_request *q, const pawl_value *name, bool first, pawl_decision *out)
{
    pawl_request other = *q;
    pawl_decision by_name;

    other.tool = "Node";
    other.args = name;
    other.cls = PAWL_PERMISSION_READ;
    other.requires = PAWL_MODE_NONE;
    other.hook = PAWL_BEHAVIOR_OPEN;
    other.rewritten = false;
    if (first) {
        pawl_decide_first(p, q, out);
        if (name != NULL && out->behavior != PAWL_BEHAVIOR_DENY)
            pawl_decide_first(p, &other, out);
        return;
    }
    pawl_decide(p, q, out);
    if (p == NULL || name == NULL)
        return;
    pawl_decide(p, &other, &by_name);
    if (decided_by_rule(&by_name) && (by_name.behavior > out->behavior ||
                              (out->behavior == PAWL_BEHAVIOR_ASK && out->ground == PAWL_GROUND_DEFAULT && by_name.behavior == PAWL_BEHAVIOR_ALLOW)))
        *out = by_name;
}

static const char *tool_word(const tool_gate *g)
{
    return g->tool != NULL ? g->tool : "Node";
}

static pawl_request request_of(const tool_gate *g)
{
    const bool edited = g->edit != NULL;
    const bool placed = g->policy != NULL && g->policy->cwd != NULL;
    pawl_request q = { .tool = tool_word(g), .args = g->input, .links = g->at == NULL ? g->links : NULL, .cwd = g->at != NULL || !placed ? g->at : g->cwd,
                       .unlooked = g->unlooked, .cls = g->cls, .mode = g->mode, .read_only = g->read_only,
                       .edited = edited, .rewritten = edited && g->said.input != NULL, .hook = g->said.behavior,
                       .hook_name = g->hook != NULL ? g->hook->name : NULL, .hook_reason = g->said.reason, .time_ms = g->time_ms };

    if (g->world.request != NULL)
        g->world.request(g->world.ctx, &q);
    return q;
}

typedef struct linked_paths { arena *mem; const pawl_value *list; size_t n; bool more; } linked_paths;

static bool see_path(void *ctx, const char *name)
{
    linked_paths *p = ctx;

    for (size_t i = 0; i < p->n; i++)
        if (strcmp(pawl_value_string(pawl_value_at(p->list, i)), name) == 0)
            return true;
    if ((p->more = p->n == PATHS_MAX))
        return false;
    p->list = value_push(p->mem, p->list, value_string(p->mem, name, strlen(name)));
    p->n++;
    return p->list != NULL;
}

static pawl_code no_memory(const tool_gate *g, pawl_err *err)
{
    return fail(err, PAWL_NOMEM, "%s: no memory to decide on it", tool_word(g));
}

static pawl_code refused(tool_gate *g, const char *why)
{
    g->reason = arena_text(g->mem, why);
    return g->reason != NULL ? PAWL_DENIED : PAWL_NOMEM;
}

/* Symbolic links are resolved by the effect "links": the gate does no I/O. */
static pawl_code links_decide(tool_gate *g, pawl_err *err)
{
    linked_paths p = { .mem = g->mem, .list = value_pack(g->mem, NULL, "[]") };
    const pawl_value *args;
    pawl_request q;
    pawl_code rc;

    if (g->policy == NULL || g->tool == NULL || g->linked == g->input)
        return PAWL_OK;
    g->links = NULL;
    g->linked = g->input;
    q = request_of(g);
    pawl_policy_paths(g->policy, &q, see_path, &p);
    if (p.list == NULL)
        return no_memory(g, err);
    g->unlooked = p.more;
    if (p.n == 0)
        return PAWL_OK;
    args = value_pack(g->mem, NULL, "{s:v,s:v}", "cwd", g->cwd != NULL ? value_string(g->mem, g->cwd, strlen(g->cwd)) : value_null(g->mem), "paths", p.list);
    if (args == NULL)
        return no_memory(g, err);
    rc = g->world.call(g->world.ctx, "links", args, &g->links);
    return rc == PAWL_EFFECT ? refused(g, "nobody could say where its paths lead") : rc;
}

static pawl_code decide(tool_gate *g, bool first, pawl_err *err)
{
    const pawl_code rc = links_decide(g, err);
    const pawl_value *name = NULL;
    pawl_request q;

    if (rc != PAWL_OK)
        return rc;
    if (g->node != NULL && (name = value_pack(g->mem, NULL, "{s:s}", "name", g->node)) == NULL)
        return no_memory(g, err);
    q = request_of(g);
    gate_decided(g->policy, &q, name, first, &g->decided);
    return g->decided.behavior == PAWL_BEHAVIOR_DENY ? refused(g, g->decided.reason) : PAWL_OK;
}

/* ---- hooks ---------------------------------------------------------------------------------------------------------- */

static const pawl_value *failed_of(arena *mem, const pawl_value *why)
{
    const char *code = pawl_value_string(pawl_value_get(why, "code")), *text = pawl_value_string(pawl_value_get(why, "text"));

    return value_pack(mem, NULL, "{s:s,s:s}", "failed", code != NULL ? code : "effect", "text", text != NULL ? text : "it failed");
}

/* For the handler of the effect "hook", beside the input. */
static const pawl_value *order_of(arena *mem, const hook_entry *h)
{
    const pawl_value *v = value_pack(mem, NULL, "{s:s,s:i}", "name", h->name, "timeout_ms", (int64_t)h->timeout_s * 1000);

    if (h->project != NULL)
        v = value_with(mem, v, "project", value_string(mem, h->project, strlen(h->project)));
    if (h->type == HOOK_CALLBACK)
        return value_with(mem, v, "callback", value_string(mem, h->callback, strlen(h->callback)));
    if (h->type == HOOK_HTTP) {
        v = value_with(mem, v, "url", value_string(mem, h->url, strlen(h->url)));
        return h->headers != NULL ? value_with(mem, v, "headers", h->headers) : v;
    }
    v = h->env != NULL ? value_with(mem, v, "env", h->env) : v;
    v = h->scripts != NULL ? value_with(mem, v, "scripts", h->scripts) : v;
    return value_with(mem, v, "run", h->command != NULL ? value_pack(mem, NULL, "[s,s,s]", "sh", "-c", h->command) : h->run);
}

static pawl_code hook_run(arena *mem, const gate_world *w, const hook_entry *h, const pawl_value *args, verdict *one, pawl_err *err)
{
    const pawl_value *receipt = NULL;
    pawl_code rc = args == NULL ? fail(err, PAWL_NOMEM, "%s: no memory to ask it", h->name) : w->call(w->ctx, "hook", args, &receipt);

    if (rc == PAWL_EFFECT)
        receipt = failed_of(mem, receipt);
    else if (rc != PAWL_OK)
        return rc;
    rc = hook_verdict(mem, h->profile, hook_point_name(h->point), receipt, one, err);
    if (rc == PAWL_OK && h->async)
        *one = (verdict){ .behavior = PAWL_BEHAVIOR_OPEN };
    if (rc == PAWL_OK && one->open && h->type == HOOK_CALLBACK)         /* the answer of a client that cannot be read lets nothing through */
        *one = (verdict){ .behavior = PAWL_BEHAVIOR_DENY, .reason = one->reason };
    return rc;
}

static const pawl_value *hook_args(arena *mem, const hook_entry *h, const hook_call *what)
{
    const pawl_value *input = hook_input(mem, what), *order = order_of(mem, h);

    return input == NULL || order == NULL ? NULL : value_pack(mem, NULL, "{s:v,s:v}", "hook", order, "input", input);
}

/* ---- hooks in the manner of Claude Code: what they get, and what becomes of what they say ------------------------ */

static const char *mode_for_hook(const hook_entry *h, pawl_mode mode, bool unasked)
{
    return h->project != NULL && unasked && mode == PAWL_MODE_DEFAULT ? "dontAsk" : pawl_mode_name(mode);
}

/* The input with an absolute path, as there. */
static const pawl_value *input_there(const tool_gate *g)
{
    const pawl_value *file = pawl_value_get(g->input, "file_path");
    path at;

    if (pawl_value_type(file) != PAWL_TYPE_STRING || g->cwd == NULL || !path_set(&at, pawl_value_string(file), pawl_value_size(file), g->cwd, NULL))
        return g->input;
    return value_with(g->mem, g->input, "file_path", value_string(g->mem, at.text, at.size));
}

/* The result with the members that scripts read there: of a command its output, of an edit the path. */
static const pawl_value *response_there(const tool_gate *g, const pawl_value *response)
{
    const pawl_value *content = pawl_value_get(response, "content"), *file = pawl_value_get(input_there(g), "file_path");
    const pawl_value *out = pawl_value_type(response) == PAWL_TYPE_OBJECT ? response : value_pack(g->mem, NULL, "{s:v}", "content", response);

    if (strcmp(tool_word(g), "Bash") == 0) {
        out = value_with(g->mem, out, "stdout", pawl_value_type(content) == PAWL_TYPE_STRING ? content : value_string(g->mem, "", 0));
        out = value_with(g->mem, out, "stderr", value_string(g->mem, "", 0));
        out = value_with(g->mem, out, "interrupted", value_bool(g->mem, false));
    }
    if (g->cls == PAWL_PERMISSION_EDIT && file != NULL)
        out = value_with(g->mem, out, "filePath", file);
    return g->cls == PAWL_PERMISSION_EDIT ? value_with(g->mem, out, "success", value_bool(g->mem, true)) : out;
}

static const char *text_joined(tool_gate *g, const char *before, const char *who, const char *text)
{
    const char *out = NULL;
    buf b;

    buf_init(&b, &g->mem->alloc);
    buf_fmt(&b, "%s%s%s: %s", before != NULL ? before : "", before != NULL ? "\n\n" : "", who, text);
    if (!b.failed)
        out = arena_strdup(g->mem, b.data, b.size);
    g->mem->failed = g->mem->failed || b.failed;
    buf_free(&b);
    return out;
}

/* What the hook says beside its decision. For hooks of Pawl's own settings this stays in the journal. */
static void heard_there(tool_gate *g, const hook_entry *h, const verdict *one)
{
    if (h->project == NULL)
        return;
    if (one->context != NULL)
        g->fed = text_joined(g, g->fed, hook_words(g->mem, "%s hook", hook_point_name(h->point)), one->context);
    if (one->message != NULL)
        g->shown = text_joined(g, g->shown, h->name, one->message);
    if (one->open)
        g->shown = text_joined(g, g->shown, h->name, hook_words(g->mem, "it failed, and was let through: %s", one->reason != NULL ? one->reason : ""));
}

static pawl_code hook_asked(tool_gate *g, const hook_entry *h, const pawl_value *response, verdict *one, pawl_err *err)
{
    const char *text = response == NULL || h->point != HOOK_POST_FAILURE ? NULL : pawl_value_string(pawl_value_get(response, "content"));
    const hook_call what = { .point = h->point, .run = g->run, .node = g->node, .cwd = g->cwd,
                             .mode = mode_for_hook(h, g->mode, pawl_value_bool(pawl_value_get(g->limits, "unasked"))),
                             .tool = h->project != NULL ? hook_tool_elsewhere(tool_word(g)) : tool_word(g),
                             .tool_use_id = g->call, .input = h->project != NULL ? input_there(g) : g->input, .error = text, .duration_ms = -1,
                             .response = h->point != HOOK_POST ? NULL : h->project != NULL ? response_there(g, response) : response };
    const pawl_value *told = NULL;
    pawl_code rc = hook_run(g->mem, &g->world, h, hook_args(g->mem, h, &what), one, err);

    if (rc != PAWL_OK || !one->defers)
        return rc;
    if ((rc = g->world.signal(g->world.ctx, one->defer_name != NULL ? one->defer_name : "verdict", &told)) != PAWL_OK)
        return rc;
    if ((rc = hook_verdict(g->mem, HOOK_STRICT, hook_point_name(h->point), told, one, err)) == PAWL_OK && one->defers)
        *one = (verdict){ .behavior = PAWL_BEHAVIOR_DENY, .reason = "it defers again" };
    return rc;
}

/* `if`: a rule that the call must fit. One that cannot be read was reported when the hooks were read; then the hook is asked. */
static bool rule_fits(tool_gate *g, const hook_entry *h)
{
    const pawl_value *home = pawl_value_get(g->limits, "home"), *only;
    const pawl_request q = request_of(g);
    pawl_policy *p;
    pawl_decision d;
    bool fits = true;

    if (h->rule == NULL || g->cwd == NULL)
        return true;
    only = value_pack(g->mem, NULL, "{s:s,s:[{s:s,s:s}]}", "cwd", g->cwd, "deny", "base", g->cwd, "rule", h->rule);
    if (home != NULL)
        only = value_with(g->mem, only, "home", home);
    if ((p = gate_policy(&g->mem->alloc, only, NULL)) != NULL) {
        pawl_decide_first(p, &q, &d);
        fits = d.behavior == PAWL_BEHAVIOR_DENY;
    }
    pawl_policy_free(p);
    return fits;
}

static bool wanted(tool_gate *g, const hook_entry *h, hook_point point)
{
    return hook_wanted(h, point, g->node, g->tool) && rule_fits(g, h);
}

/* In the order of registration; each sees the input as the hooks before it changed it. */
static pawl_code hooks_before(tool_gate *g, pawl_err *err)
{
    pawl_code rc = PAWL_OK;

    g->said = (verdict){0};
    g->fed = g->shown = NULL;
    for (size_t i = 0; i < g->hooks->count && rc == PAWL_OK && g->said.behavior != PAWL_BEHAVIOR_DENY; i++) {
        const hook_entry *h = &g->hooks->items[i];
        verdict one = {0};

        if (!wanted(g, h, HOOK_PRE) || (rc = hook_asked(g, h, NULL, &one, err)) != PAWL_OK)
            continue;
        heard_there(g, h, &one);
        if (one.input != NULL && g->tool != NULL) {
            g->input = one.input;
            g->changed = true;
        }
        if (one.behavior > g->said.behavior)
            g->hook = h;
        rc = hook_merge(g->mem, &g->said, &one);
    }
    g->stops = g->stops || g->said.stops;
    if (rc == PAWL_OK && g->said.stops)
        return refused(g, g->said.reason != NULL ? g->said.reason : "a hook ended the run");
    return rc;
}

/* ---- a person -------------------------------------------------------------------------------------------------------- */

/* The digest of the whole call, because an approval is bound to the call (W6). NULL: no memory. */
static const pawl_value *digest_of(tool_gate *g, const pawl_value *input)
{
    const pawl_value *all = value_pack(g->mem, NULL, "{s:v,s:s}", "input", input, "tool", g->tool), *out = NULL;
    char hex[HASH_HEX + 1];
    hash h;
    buf b;

    if (g->with != NULL)
        all = value_with(g->mem, all, "with", g->with);
    if (all == NULL)
        return NULL;
    buf_init(&b, &g->mem->alloc);
    canon(&b, all);
    if (!b.failed) {
        hash_of(b.data, b.size, &h);
        hash_hex(&h, hex);
        out = value_string(g->mem, hex, HASH_HEX);
    }
    buf_free(&b);
    return out;
}

static const pawl_value *text_with(arena *mem, const pawl_value *v, const char *key, const char *text)
{
    return text == NULL ? v : value_with(mem, v, key, value_string(mem, text, strlen(text)));
}

static const pawl_value *about_of(tool_gate *g)
{
    arena *mem = g->mem;
    const pawl_value *v = value_pack(mem, NULL, "{s:v,s:s,s:s,s:s}", "digest", g->digest, "mode", pawl_mode_name(g->mode), "risk",
                                     pawl_permission_name(request_of(g).cls), "tool", g->tool);
    buf b;

    v = text_with(mem, v, "graph", g->graph);
    v = text_with(mem, v, "call", g->call);
    v = text_with(mem, v, "policy", g->policy != NULL ? pawl_policy_digest(g->policy) : NULL);
    if (g->yes.given)
        v = value_with(mem, v, "again", value_bool(mem, true));
    if (g->decided.behavior == PAWL_BEHAVIOR_ASK) {
        v = text_with(mem, v, "ground", pawl_ground_name(g->decided.ground));
        v = text_with(mem, v, "reason", g->decided.reason);
    }
    buf_init(&b, &mem->alloc);
    canon(&b, g->input);
    if (g->with != NULL)
        canon(&b, g->with);
    if (!b.failed && b.size <= INPUT_BYTES_MAX) {
        v = value_with(mem, v, "input", g->input);
        v = g->with != NULL ? value_with(mem, v, "with", g->with) : v;
    }
    buf_free(&b);
    return v;
}

/* Who has to sign, with the keys that the run keeps since its beginning. False: *missing has no key, or (NULL) no memory. */
static bool approvers_of(tool_gate *g, const pawl_value **out, const char **missing)
{
    const pawl_value *due = g->approvers != NULL ? g->approvers : pawl_value_get(g->limits, "approvers"), *keys = value_pack(g->mem, NULL, "[]"), *name;
    pawl_iter it = pawl_iter_of(pawl_value_get(due, "of"));

    *out = NULL;
    *missing = NULL;
    if (due == NULL)
        return true;
    while ((name = pawl_iter_next(&it, NULL)) != NULL) {
        const pawl_value *key = pawl_value_get(pawl_value_get(g->limits, "signers"), pawl_value_string(name));

        if (key == NULL) {
            *missing = pawl_value_string(name);
            return false;
        }
        keys = value_push(g->mem, keys, value_pack(g->mem, NULL, "{s:v,s:v}", "key", key, "name", name));
    }
    *out = value_pack(g->mem, NULL, "{s:v,s:v}", "keys", keys, "need", pawl_value_get(due, "need"));
    return *out != NULL;
}

/* Approved: g->yes says what, and g->edit the input as the person changed it. */
static pawl_code person(tool_gate *g, pawl_err *err)
{
    gate_asks q = { .prompt = g->prompt != NULL ? g->prompt : g->decided.reason, .timeout_ms = pawl_value_int(pawl_value_get(g->limits, "expires_ms")) };
    const char *law = g->policy != NULL ? pawl_policy_digest(g->policy) : NULL, *note;
    const pawl_value *answer = NULL, *input;
    const char *missing;
    pawl_code rc;

    if (!approvers_of(g, &q.approvers, &missing))
        return missing == NULL ? no_memory(g, err) : fail(err, PAWL_INVALID, "%s: the run has no key of the approver %s, so nobody "
                                                          "can approve it", tool_word(g), missing);
    if (g->tool != NULL && ((g->digest = digest_of(g, g->input)) == NULL || (q.about = about_of(g)) == NULL))
        return no_memory(g, err);
    if ((rc = g->world.ask(g->world.ctx, &q, &answer)) != PAWL_OK)
        return rc;
    if (!pawl_value_bool(answer) && !pawl_value_bool(pawl_value_get(answer, "approve"))) {
        note = pawl_value_string(pawl_value_get(answer, "note"));
        g->by_person = true;
        return refused(g, note != NULL ? note : "");
    }
    if (q.approvers != NULL && pawl_value_get(answer, "signed") == NULL)
        return fail(err, PAWL_CORRUPT, "%s: a yes that nobody has signed", tool_word(g));
    g->yes = (gate_yes){ .given = true, .digest = g->digest, .law = law != NULL ? arena_strdup(g->mem, law, HASH_HEX) : NULL,
                          .proof = pawl_value_get(answer, "signed") };
    if ((input = pawl_value_get(answer, "input")) == NULL)
        return PAWL_OK;
    g->edit = input;
    g->yes.digest = digest_of(g, input);
    return g->yes.digest != NULL ? PAWL_OK : no_memory(g, err);
}

/* *holds: the approval is of this very call, under these rules (W6). */
static pawl_code yes_check(tool_gate *g, bool *holds, pawl_err *err)
{
    const char *law = g->policy != NULL ? pawl_policy_digest(g->policy) : NULL;
    const pawl_value *digest = NULL;

    *holds = g->yes.given && (law == NULL) == (g->yes.law == NULL) && (law == NULL || strcmp(law, g->yes.law) == 0);
    if (!*holds || g->tool == NULL)
        return PAWL_OK;
    if ((digest = digest_of(g, g->input)) == NULL)
        return no_memory(g, err);
    *holds = pawl_value_equal(digest, g->yes.digest);
    g->digest = *holds ? digest : NULL;
    return PAWL_OK;
}

/* ---- before and after the call ------------------------------------------------------------------------------------------------------- */

/* Input that a person changed is decided as if it had been the first one, and no hook may change it any more (P2). */
static pawl_code decide_all(tool_gate *g, const pawl_value *given, pawl_err *err)
{
    pawl_code rc;

    g->said = (verdict){0};
    g->hook = NULL;
    g->links = g->linked = g->digest = NULL;
    g->unlooked = false;
    g->changed = g->edit != NULL;
    g->input = g->edit != NULL ? g->edit : given;
    if (g->policy != NULL && ((rc = decide(g, true, err)) != PAWL_OK || (rc = hooks_before(g, err)) != PAWL_OK))
        return rc;
    return decide(g, false, err);
}

pawl_code gate_enter(tool_gate *g, pawl_err *err)
{
    const pawl_value *const given = g->input, *edit;
    bool again = true, holds;
    pawl_code rc = PAWL_OK;

    while (rc == PAWL_OK && again) {
        edit = g->edit;
        if ((rc = decide_all(g, given, err)) != PAWL_OK || (rc = yes_check(g, &holds, err)) != PAWL_OK)
            break;
        if (holds || (g->decided.behavior != PAWL_BEHAVIOR_ASK && !g->asks) || (rc = person(g, err)) != PAWL_OK)
            break;
        again = false;
        if (g->world.renew != NULL)
            rc = g->world.renew(g->world.ctx, &again);
        again = again || g->edit != edit;
    }
    g->result = rc == PAWL_OK ? g->said.result : NULL;
    return rc;
}

pawl_code gate_leave(tool_gate *g, bool failed, const pawl_value **result, pawl_err *err)
{
    const hook_point point = failed ? HOOK_POST_FAILURE : HOOK_POST;
    pawl_code rc;

    g->said = (verdict){0};
    for (size_t i = 0; i < g->hooks->count; i++) {
        verdict one = {0};

        g->hook = &g->hooks->items[i];
        if (!wanted(g, g->hook, point))
            continue;
        rc = hook_asked(g, g->hook, *result != NULL ? *result : value_null(g->mem), &one, err);
        if (rc != PAWL_OK || (rc = hook_merge(g->mem, &g->said, &one)) != PAWL_OK)
            return rc;
        heard_there(g, g->hook, &one);
        if (one.result != NULL)
            *result = one.result;
        g->stops = g->stops || g->said.stops;
        if (g->said.behavior == PAWL_BEHAVIOR_DENY || g->said.stops)
            return refused(g, g->said.reason != NULL ? g->said.reason : "a hook denied what came of it");
    }
    return PAWL_OK;
}

/* The target of the path of a tool, as it was decided on: its handler compares it with what it opens (P8). In the answers of older programs links are texts;
 * then it is left out, as they did. NULL: it has no links, or it is a command. */
static const char *led_to(const tool_gate *g)
{
    const pawl_request q = request_of(g);
    policy_call c;

    if (g->tool == NULL || q.links == NULL || strcmp(g->tool, "Bash") == 0)
        return NULL;
    call_read(&c, g->policy, &q);
    if (!c.has_path || !c.at.given.sure || !c.at.linked || pawl_value_type(pawl_value_get(q.links, c.at.given.text)) != PAWL_TYPE_OBJECT)
        return NULL;
    return arena_text(g->mem, c.at.real.text);
}

const pawl_value *gate_decision(const tool_gate *g)
{
    const pawl_decision *d = &g->decided;
    arena *mem = g->mem;
    const pawl_value *v = value_pack(mem, NULL, "{s:s,s:s}", "behavior", g->digest != NULL ? "approved" : pawl_behavior_name(d->behavior), "ground",
                                     pawl_ground_name(d->ground));

    if (d->rule != SIZE_MAX && g->policy != NULL)
        v = text_with(mem, v, "rule", pawl_policy_rule(g->policy, d->rule).text);
    if (g->digest != NULL)
        v = value_with(mem, v, "digest", g->digest);
    if (g->policy != NULL)
        v = text_with(mem, v, "policy", pawl_policy_digest(g->policy));
    if (g->said.open)
        v = text_with(mem, v, "failed_open", g->said.reason);
    if (g->digest != NULL && g->yes.proof != NULL)
        v = value_with(mem, v, "signed", g->yes.proof);
    return text_with(mem, v, "leads_to", led_to(g));
}

/* ---- life cycle hooks of an agent ------------------------------------------------------------------------------- */

const char *moment_of(hook_point point, const pawl_value *about)
{
    static const char *const members[HOOK_POINTS] = { [HOOK_SUBAGENT_STOP] = "agent_type", [HOOK_PRE_COMPACT] = "trigger", [HOOK_SESSION_START] = "source",
                                                      [HOOK_SESSION_END] = "reason", [HOOK_NOTICE] = "notification_type" };

    return members[point] == NULL ? NULL : pawl_value_string(pawl_value_get(about, members[point]));
}

bool moment_wanted(const moment_gate *g)
{
    for (size_t i = 0; i < g->hooks->count; i++)
        if (hook_wanted_at(&g->hooks->items[i], g->point, moment_of(g->point, g->about)))
            return true;
    return false;
}

const pawl_value *moment_order(const moment_gate *g, const hook_entry *h)
{
    const hook_call what = { .point = g->point, .run = g->run, .cwd = g->cwd, .mode = mode_for_hook(h, g->mode, g->unasked), .moment = g->about,
                             .duration_ms = -1 };

    return hook_args(g->mem, h, &what);
}

/* Where nothing can be prevented any more, a deny is shown to the person. */
static pawl_code no_to_message(moment_gate *g, const hook_entry *h, verdict *one)
{
    const char *why = one->reason != NULL ? one->reason : "it says no";

    if (hook_point_may_deny(g->point) || one->behavior != PAWL_BEHAVIOR_DENY || one->stops)
        return PAWL_OK;
    *one = (verdict){ .behavior = PAWL_BEHAVIOR_OPEN, .context = one->context, .message = hook_words(g->mem, "%s: %s", h->name, why) };
    return one->message != NULL ? PAWL_OK : PAWL_NOMEM;
}

pawl_code gate_moment(moment_gate *g, pawl_err *err)
{
    pawl_code rc = PAWL_OK;

    g->said = (verdict){0};
    for (size_t i = 0; i < g->hooks->count && rc == PAWL_OK && g->said.behavior != PAWL_BEHAVIOR_DENY; i++) {
        const hook_entry *h = &g->hooks->items[i];
        const pawl_value *prompt;
        verdict one = {0};

        if (!hook_wanted_at(h, g->point, moment_of(g->point, g->about)) ||
            (rc = hook_run(g->mem, &g->world, h, moment_order(g, h), &one, err)) != PAWL_OK || (rc = no_to_message(g, h, &one)) != PAWL_OK)
            continue;
        if ((prompt = pawl_value_get(one.input, "prompt")) != NULL) {
            g->about = value_with(g->mem, g->about, "prompt", prompt);
            g->changed = true;
        }
        rc = hook_merge(g->mem, &g->said, &one);
    }
    return rc == PAWL_OK && g->mem->failed ? PAWL_NOMEM : rc;
}
