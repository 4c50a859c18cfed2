/* policy.c - `pawl policy`: the rules of this folder, how they decide a call, and whose folder is trusted.
 *
 * Called by main.c on the main thread. Owns nothing that outlives the call. */
#define _XOPEN_SOURCE 700       /* realpath */
#include "effect/resolve_links.h"
#include "app/trust.h"
#include "cli/open_session.h"
#include "cli/run_driver.h"
#include "cli/verbs.h"
#include "file/run/permission.h"
#include "net/net.h"
#include "policy/gate.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct policy_subject { cli_call *c; pawl_policy *p; buf out; size_t n; const pawl_value *list; } policy_subject;

/* ---- the rules of here -------------------------------------------------------------------------------------- */

static const char *folder_here(cli_call *c)
{
    char here[STORE_URL_BYTES];

    return getcwd(here, sizeof here) == NULL ? NULL : arena_text(&c->mem, here);
}

static pawl_policy *policy_of(const pawl_value *v, pawl_err *err)
{
    return v != NULL ? gate_policy(NULL, v, err) : pawl_policy_read(NULL, "{}", 2, err);
}

/* The rules of --file, of the person and of this folder's project. */
static pawl_policy *policy_here(cli_call *c, session **s, int *code)
{
    const char *path = cli_given(c, "file"), *folder = folder_here(c);
    const pawl_value *v = NULL;
    pawl_policy *p = NULL;
    pawl_err err = {0};

    *s = NULL;
    *code = EXIT_USAGE;
    if (path != NULL && (*s = session_of_file(c, path, code)) == NULL)
        return NULL;
    if (folder == NULL)
        fail(&err, PAWL_IO, "the current folder was removed");
    else
        v = settings_policy(&c->app, &c->mem, *s != NULL ? (*s)->file : NULL, folder, NULL, &err);
    if (err.code == PAWL_OK)
        p = policy_of(v, &err);
    if (p == NULL)
        *code = cli_fail(c, err.code, &err);
    return p;
}

/* ---- a call, as it is written: Tool(spec), Tool{JSON}, or a command line ---------------------------------------- */

typedef struct written { const char *tool; const pawl_value *args; pawl_permission cls; } written;

static const struct { const char *tool, *member; pawl_permission cls; } tools[] = {
    { "Bash", "command", PAWL_PERMISSION_EXEC }, { "Read", "file_path", PAWL_PERMISSION_READ }, { "Edit", "file_path", PAWL_PERMISSION_EDIT }, { "Write", "file_path", PAWL_PERMISSION_EDIT },
    { "MultiEdit", "file_path", PAWL_PERMISSION_EDIT }, { "NotebookEdit", "notebook_path", PAWL_PERMISSION_EDIT }, { "Glob", "path", PAWL_PERMISSION_READ },
    { "Grep", "path", PAWL_PERMISSION_READ }, { "LS", "path", PAWL_PERMISSION_READ }, { "WebFetch", "url", PAWL_PERMISSION_NET }, { "WebSearch",
        "query", PAWL_PERMISSION_NET },
    { "Agent", "subagent_type", PAWL_PERMISSION_OTHER }, { "Node", "name", PAWL_PERMISSION_READ },
};
enum { TOOLS = sizeof tools / sizeof *tools };

static bool call_read(cli_call *c, const char *text, written *out, pawl_err *err)
{
    const size_t name = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"), n = strlen(text);
    const bool whole = name > 0 && (text[name] == '\0' || (text[name] == '(' && text[n - 1] == ')') || (text[name] == '{' && text[n - 1] == '}'));
    const char *spec = "";
    size_t k = 0;

    *out = (written){ .tool = "Bash", .cls = PAWL_PERMISSION_OTHER };
    if (!whole || (text[name] == '\0' && strncmp(text, "mcp__", 5) != 0 && (*text < 'A' || *text > 'Z'))) {
        spec = text;
    } else {
        out->tool = arena_strdup(&c->mem, text, name);
        if (text[name] == '{') {
            out->args = value_parse(&c->mem, text + name, n - name, "the arguments of the call", err);
            if (out->args == NULL)
                return false;
        } else if (text[name] == '(') {
            spec = arena_strdup(&c->mem, text + name + 1, n - name - 2);
        }
    }
    while (k < TOOLS && out->tool != NULL && strcmp(tools[k].tool, out->tool) != 0)
        k++;
    if (k < TOOLS)
        out->cls = tools[k].cls;
    if (k < TOOLS && strcmp(out->tool, "Node") == 0 && spec != NULL && strncmp(spec, "name:", 5) == 0)
        spec += 5;
    if (k < TOOLS && strcmp(out->tool, "WebFetch") == 0 && spec != NULL && strncmp(spec, "domain:", 7) == 0) {
        buf b;

        buf_init(&b, NULL);
        buf_fmt(&b, "https://%s/", spec + 7);
        spec = b.failed ? NULL : arena_strdup(&c->mem, b.data, b.size);
        buf_free(&b);
    }
    if (out->args == NULL)
        out->args = k == TOOLS || spec == NULL || *spec == '\0' ? value_pack(&c->mem, err, "{}") : value_pack(&c->mem, err, "{s:s}", tools[k].member, spec);
    return out->args != NULL && out->tool != NULL ? true : fail(err, PAWL_NOMEM, "no memory for the call") == PAWL_OK;
}

typedef struct naming { arena *mem; const pawl_value *list; } naming;

static bool see_path(void *ctx, const char *path)
{
    naming *n = ctx;

    n->list = value_push(n->mem, n->list, value_string(n->mem, path, strlen(path)));
    return n->list != NULL;
}

/* Resolves links as a run does. */
static const pawl_value *links_here(cli_call *c, const pawl_policy *p, const pawl_request *q)
{
    naming n = { &c->mem, value_pack(&c->mem, NULL, "[]") };

    pawl_policy_paths(p, q, see_path, &n);
    return n.list == NULL ? NULL : links_of(&c->mem, folder_here(c), n.list, &(link_rules){ .policy = p, .time_ms = q->time_ms }, NULL);
}

/* ---- why ------------------------------------------------------------------------------------------------------------ */

static bool see_fit(void *ctx, size_t rule, const char *part, bool decides)
{
    policy_subject *l = ctx;
    const pawl_rule_info r = pawl_policy_rule(l->p, rule);
    arena *a = &l->c->mem;

    l->n++;
    if (l->c->json) {
        l->list = value_push(a, l->list, value_pack(a, NULL, "{s:s,s:b,s:s,s:s,s:s}", "behavior", pawl_behavior_name(r.behavior), "decides", (int)decides,
                                                    "from", r.from, "part", part, "rule", r.text));
        return true;
    }
    buf_fmt(&l->out, "  %-7s  %-5s  ", decides ? "decides" : "lost", pawl_behavior_name(r.behavior));
    cli_clean(&l->out, r.text, strlen(r.text));
    if (*part != '\0') {
        buf_text(&l->out, "  fits  ");
        cli_clean(&l->out, part, strlen(part));
    }
    if (*r.from != '\0') {
        buf_text(&l->out, "  of ");
        cli_clean(&l->out, r.from, strlen(r.from));
    }
    buf_char(&l->out, '\n');
    return true;
}

/* A node by its name in the file: its `requires` counts, and without a matching rule it runs. *calls: the tool name of the rules that apply besides. */
static void node_fill(cli_call *c, const session *s, pawl_request *q, const char **calls)
{
    const char *name = pawl_value_string(pawl_value_get(q->args, "name"));
    const file_node *n = s != NULL && name != NULL ? file_node_find(s->file, name) : NULL;
    const pawl_request of = n != NULL ? guard_request(n, NULL, NULL, q->mode) : (pawl_request){ .cls = PAWL_PERMISSION_READ };

    if (name != NULL)
        q->args = value_with(&c->mem, q->args, "node", value_string(&c->mem, name, strlen(name)));
    q->node = true;
    q->cls = of.cls;
    q->requires = of.requires;
    q->read_only = of.read_only;
    q->deny_gate = of.deny_gate;
    *calls = n != NULL ? guard_tool(n) : NULL;
}

static int why(cli_call *c, const session *s, pawl_policy *p, pawl_mode mode)
{
    policy_subject l = { .c = c, .p = p, .list = value_pack(&c->mem, NULL, "[]") };
    pawl_request q = { .mode = mode, .time_ms = epoch_ms() };
    const char *calls = NULL;
    pawl_decision d;
    pawl_err err = {0};
    written w;
    bool put;

    if (!call_read(c, c->args[1], &w, &err))
        return cli_fail(c, err.code < 0 ? err.code : PAWL_NOMEM, &err);
    q.tool = w.tool;
    q.args = w.args;
    q.cls = w.cls;
    if (strcmp(w.tool, "Node") == 0)
        node_fill(c, s, &q, &calls);
    q.links = links_here(c, p, &q);
    buf_init(&l.out, NULL);
    pawl_policy_why(p, &q, &d, see_fit, &l);
    if (c->json) {
        put = cli_json(c, value_pack(&c->mem, NULL, "{s:s,s:v,s:s,s:s,s:s,s:v,s:s}", "behavior", pawl_behavior_name(d.behavior), "fits", l.list, "ground",
                                     pawl_ground_name(d.ground), "mode", pawl_mode_name(mode), "reason", d.reason, "args", w.args, "tool", w.tool));
        buf_free(&l.out);
        return put ? EXIT_DONE : EXIT_FAILED;
    }
    {
        buf head;

        buf_init(&head, NULL);
        buf_fmt(&head, "%s, by %s: ", pawl_behavior_name(d.behavior), pawl_ground_name(d.ground));
        cli_clean(&head, d.reason, strlen(d.reason));
        buf_char(&head, '\n');
        buf_put(&head, l.out.size > 0 ? l.out.data : "", l.out.size);
        put = cli_put(c, &head);
        buf_free(&head);
    }
    buf_free(&l.out);
    if (calls != NULL)
        cli_note(c, "this follows from its name; rules for its effect, %s, apply too: deny before ask, and ask before allow", calls);
    return put ? EXIT_DONE : EXIT_FAILED;
}

/* ---- the others ------------------------------------------------------------------------------------------------------ */

static bool see_shadow(void *ctx, size_t rule, size_t by)
{
    policy_subject *l = ctx;
    const pawl_rule_info r = pawl_policy_rule(l->p, rule), w = pawl_policy_rule(l->p, by);
    arena *a = &l->c->mem;

    l->n++;
    if (l->c->json) {
        l->list = value_push(a, l->list, value_pack(a, NULL, "{s:s,s:s,s:s,s:s,s:s,s:s}", "behavior", pawl_behavior_name(r.behavior), "by", w.text,
                                                    "by_behavior", pawl_behavior_name(w.behavior), "by_from", w.from, "from", r.from, "rule", r.text));
        return true;
    }
    buf_fmt(&l->out, "%s ", pawl_behavior_name(r.behavior));
    cli_clean(&l->out, r.text, strlen(r.text));
    buf_fmt(&l->out, "%s%s never decides: %s ", *r.from != '\0' ? ", of " : "", r.from, pawl_behavior_name(w.behavior));
    cli_clean(&l->out, w.text, strlen(w.text));
    buf_fmt(&l->out, "%s%s comes before it\n", *w.from != '\0' ? ", of " : "", w.from);
    return true;
}

static int shadowed(cli_call *c, pawl_policy *p)
{
    policy_subject l = { .c = c, .p = p, .list = value_pack(&c->mem, NULL, "[]") };
    bool put;

    buf_init(&l.out, NULL);
    pawl_policy_shadowed(p, see_shadow, &l);
    put = c->json ? cli_json(c, l.list) : cli_put(c, &l.out);
    if (l.n == 0 && !c->json)
        cli_note(c, "each of %zu rules decides some call", pawl_policy_count(p));
    buf_free(&l.out);
    return !put ? EXIT_FAILED : l.n > 0 ? EXIT_FAILED : EXIT_DONE;
}

static int list(cli_call *c, pawl_policy *p)
{
    policy_subject l = { .c = c, .p = p, .list = value_pack(&c->mem, NULL, "[]") };
    bool put;

    buf_init(&l.out, NULL);
    for (size_t i = 0; i < pawl_policy_count(p); i++) {
        const pawl_rule_info r = pawl_policy_rule(p, i);

        l.list = value_push(&c->mem, l.list, value_pack(&c->mem, NULL, "{s:s,s:s,s:s,s:i}", "behavior", pawl_behavior_name(r.behavior), "from", r.from, "rule",
                                                        r.text, "until_ms", r.until_ms));
        buf_fmt(&l.out, "%-5s  ", pawl_behavior_name(r.behavior));
        cli_clean(&l.out, r.text, strlen(r.text));
        buf_fmt(&l.out, "%s%s\n", *r.from != '\0' ? "  of " : "", r.from);
    }
    put = c->json ? cli_json(c, l.list) : cli_put(c, &l.out);
    if (pawl_policy_count(p) == 0 && !c->json)
        cli_note(c, "there are no rules here; they belong in settings.json in %s or .pawl: {\"permissions\": {\"deny\": [\"Bash(git push:*)\"]}}",
                 settings_of_person(&c->mem) != NULL ? settings_of_person(&c->mem) : "~/.config/pawl");
    buf_free(&l.out);
    return put ? EXIT_DONE : EXIT_FAILED;
}

static bool see_difference(void *ctx, const char *tool, const char *spec, const pawl_decision *a, const pawl_decision *b)
{
    policy_subject *l = ctx;
    arena *m = &l->c->mem;

    l->n++;
    if (l->c->json) {
        l->list = value_push(m, l->list, value_pack(m, NULL, "{s:s,s:s,s:s,s:s,s:s,s:s}", "a", pawl_behavior_name(a->behavior), "a_reason", a->reason, "b",
                                                    pawl_behavior_name(b->behavior), "b_reason", b->reason, "spec", spec, "tool", tool));
        return true;
    }
    cli_clean(&l->out, tool, strlen(tool));
    buf_char(&l->out, '(');
    cli_clean(&l->out, spec, strlen(spec));
    buf_fmt(&l->out, ")\n- %-5s  ", pawl_behavior_name(a->behavior));
    cli_clean(&l->out, a->reason, strlen(a->reason));
    buf_fmt(&l->out, "\n+ %-5s  ", pawl_behavior_name(b->behavior));
    cli_clean(&l->out, b->reason, strlen(b->reason));
    buf_char(&l->out, '\n');
    return true;
}

static int differences(cli_call *c, pawl_mode mode)
{
    policy_subject l = { .c = c, .list = value_pack(&c->mem, NULL, "[]") };
    pawl_policy *both[2] = { NULL, NULL };
    pawl_err err = {0};
    pawl_code rc = PAWL_OK;
    bool put = false;

    for (size_t i = 0; i < 2 && err.code == PAWL_OK; i++) {
        const pawl_value *v = settings_of_file(&c->mem, c->args[1 + i], folder_here(c), &err);

        both[i] = v != NULL ? policy_of(v, &err) : NULL;
    }
    buf_init(&l.out, NULL);
    if (both[0] != NULL && both[1] != NULL && (rc = pawl_policy_diff(both[0], both[1], mode, see_difference, &l)) == PAWL_OK) {
        put = c->json ? cli_json(c, l.list) : cli_put(c, &l.out);
        if (l.n == 0 && !c->json)
            cli_note(c, "every call that their rules name is decided the same");
    }
    if (rc != PAWL_OK)
        fail(&err, rc, "no memory to compare them");
    buf_free(&l.out);
    pawl_policy_free(both[0]);
    pawl_policy_free(both[1]);
    if (err.code != PAWL_OK)
        return cli_fail(c, err.code, &err);
    return put && l.n == 0 ? EXIT_DONE : EXIT_FAILED;
}

static int modes(cli_call *c)
{
    buf out;
    bool put;

    buf_init(&out, NULL);
    buf_fmt(&out, "%-18s", "");
    for (int k = PAWL_PERMISSION_READ; k <= PAWL_PERMISSION_OTHER; k++)
        buf_fmt(&out, "%-*s", k == PAWL_PERMISSION_EDIT ? 22 : 7, k == PAWL_PERMISSION_EDIT ? "edit (in, outside)" : pawl_permission_name((pawl_permission)k));
    buf_char(&out, '\n');
    for (int m = PAWL_MODE_PLAN; m <= PAWL_MODE_BYPASS; m++) {
        buf_fmt(&out, "%-18s", pawl_mode_name((pawl_mode)m));
        for (int k = PAWL_PERMISSION_READ; k <= PAWL_PERMISSION_OTHER; k++) {
            buf_fmt(&out, "%-7s", pawl_behavior_name(pawl_mode_decision((pawl_mode)m, (pawl_permission)k, true)));
            if (k == PAWL_PERMISSION_EDIT)
                buf_fmt(&out, "%-15s", pawl_behavior_name(pawl_mode_decision((pawl_mode)m, PAWL_PERMISSION_EDIT, false)));
        }
        buf_char(&out, '\n');
    }
    put = cli_put(c, &out);
    buf_free(&out);
    return put ? EXIT_DONE : EXIT_FAILED;
}

/* The project that is meant: of the folders with Pawl's and with Claude Code's settings the nearer one, which is the longer path. */
static const char *project_meant(cli_call *c, const char *folder, pawl_err *err)
{
    const char *own = settings_project(&c->mem, folder), *other = settings_project_claude(&c->mem, folder, err);

    if (own == NULL || err->code != PAWL_OK)
        return NULL;
    return other != NULL && (!trust_there(&c->mem, own) || strlen(other) > strlen(own)) ? other : own;
}

/* Prints how the project differs from what was trusted: a line each, or JSON. *changed: something differs. False: see err. */
static bool trust_shown(cli_call *c, const char *project, const pawl_value *all, bool trusted, bool *changed)
{
    const pawl_value *list = value_pack(&c->mem, NULL, "[]"), *one;
    pawl_iter it = pawl_iter_of(all);
    bool put;
    buf out;

    buf_init(&out, NULL);
    *changed = false;
    while ((one = pawl_iter_next(&it, NULL)) != NULL) {
        const char *was = pawl_value_string(pawl_value_get(one, "was")), *path = pawl_value_string(pawl_value_get(one, "path"));

        list = value_push(&c->mem, list, one);
        *changed = *changed || strcmp(was, "trusted") != 0;
        buf_fmt(&out, "%-8s ", was);
        cli_clean(&out, path, strlen(path));
        buf_char(&out, '\n');
    }
    put = c->json ? cli_json(c, value_pack(&c->mem, NULL, "{s:v,s:s,s:b}", "files", list, "folder", project, "trusted", (int)trusted)) : cli_put(c, &out);
    buf_free(&out);
    return put;
}

/* `trusted`: shows what was trusted and is otherwise now, and changes nothing. */
static int trust_show(cli_call *c, const char *project, const char *cwd)
{
    pawl_err err = {0};
    const bool named = trust_named(&c->mem, project, TRUST_OWN, &err) || trust_named(&c->mem, project, TRUST_CLAUDE, &err);
    const pawl_value *all = err.code == PAWL_OK ? trust_list(&c->mem, project, cwd, &err) : NULL;
    bool changed;

    if (all == NULL)
        return cli_fail(c, err.code < 0 ? err.code : PAWL_NOMEM, &err);
    if (!trust_shown(c, project, all, named, &changed))
        return EXIT_FAILED;
    if (!named)
        cli_note(c, "%s is not trusted: only deny and ask rules of its settings (.pawl, .claude) apply", project);
    else if (changed)
        cli_note(c, "%s was trusted, and has changed: look at it, then pawl policy trust %s", project, project);
    return named && !changed ? EXIT_DONE : EXIT_FAILED;
}

static int trust_give(cli_call *c, const char *project, const char *cwd, bool trusted)
{
    pawl_err err = {0};
    const pawl_value *all = trusted ? trust_list(&c->mem, project, cwd, &err) : value_pack(&c->mem, NULL, "[]");
    bool changed;

    if (all == NULL || trust_set(&c->mem, project, cwd, trusted, &err) != PAWL_OK)
        return cli_fail(c, err.code < 0 ? err.code : PAWL_NOMEM, &err);
    if (!trust_shown(c, project, all, trusted, &changed))
        return EXIT_FAILED;
    cli_note(c, trusted ? "%s is trusted as it is now: allow rules and hooks of its settings (.pawl, .claude) apply, until it changes" :
                          "%s is not trusted: only deny and ask rules of its settings (.pawl, .claude) apply", project);
    return EXIT_DONE;
}

/* trust, untrust, trusted */
static int trust(cli_call *c, const char *word)
{
    const char *given = c->nargs > 1 ? c->args[1] : ".";
    char *real = realpath(given, NULL);
    pawl_err err = {0};
    const char *project, *cwd;

    if (real == NULL) {
        fail(&err, PAWL_INVALID, "%s: there is no such folder", given);
        return cli_fail(c, PAWL_INVALID, &err);
    }
    cwd = arena_text(&c->mem, real);
    project = project_meant(c, cwd, &err);
    free(real);
    if (cwd == NULL || project == NULL)
        return cli_fail(c, err.code < 0 ? err.code : PAWL_NOMEM, &err);
    if (strcmp(word, "trust") == 0 && !trust_there(&c->mem, project)) {
        fail(&err, PAWL_INVALID, "%.300s has no .pawl/settings.json and no .claude/settings.json, so there is nothing to trust: write one first", project);
        return cli_fail(c, PAWL_INVALID, &err);
    }
    return strcmp(word, "trusted") == 0 ? trust_show(c, project, cwd) : trust_give(c, project, cwd, strcmp(word, "trust") == 0);
}

/* ---- the verb -------------------------------------------------------------------------------------------------------- */

static int policy_run(cli_call *c)
{
    static const struct { const char *word; size_t least, most; } words[] = {
        { "list", 1, 1 }, { "why", 2, 2 }, { "shadowed", 1, 1 }, { "diff", 3, 3 }, { "modes", 1, 1 }, { "trust", 1, 2 }, { "untrust", 1, 2 },
        { "trusted", 1, 2 },
    };
    const char *word = c->nargs > 0 ? c->args[0] : "list", *given = cli_given(c, "mode");
    pawl_mode mode = given != NULL ? pawl_mode_named(given) : PAWL_MODE_DEFAULT;
    pawl_policy *p;
    session *s;
    size_t i = 0;
    int code;

    while (i < 8 && strcmp(words[i].word, word) != 0)
        i++;
    if (i == 8 || (c->nargs > 0 && (c->nargs < words[i].least || c->nargs > words[i].most)))
        return cli_usage(c, "policy list, why CALL, shadowed, diff A B, modes, trust [FOLDER], untrust [FOLDER] or trusted [FOLDER]");
    if (!mode_given(c, &code))
        return code;
    if (i == 3)
        return differences(c, mode);
    if (i >= 4)
        return i == 4 ? modes(c) : trust(c, word);
    if ((p = policy_here(c, &s, &code)) != NULL) {
        code = i == 0 ? list(c, p) : i == 1 ? why(c, s, p, mode) : shadowed(c, p);
        pawl_policy_free(p);
    }
    session_free(s);
    return code;
}

static const cli_option options[] = {
    { "file", "FILE", "include the rules of that agent file" },
    { "mode", "plan|default|acceptEdits|bypassPermissions", "the mode in which the call is made; default" },
    { "json", NULL, "one JSON value" },
    { NULL, NULL, NULL },
};

const cli_verb verb_policy = {
    .name = "policy", .form = "[WORD [ARG...]]", .what = "show the rules of allow, ask and deny", .options = options, .most = 3,
    .acts = true, .run = policy_run,
    .about = "`list`, the default: the rules that apply in this folder, and where each comes\n"
             "from. `why CALL`: the rule that decides a call, and the rules that it overrides;\n"
             "CALL is Bash(git push), Edit(src/a.c), WebFetch(https://a.org/), Tool{JSON}, a\n"
             "command line, or Node(NAME), a node of --file. `shadowed`: rules that never\n"
             "decide (exit 1). `diff A B`: calls that two settings files decide differently\n"
             "(exit 1). `modes`: what each mode decides for each class of tools.\n"
             "\n"
             "Rules come from the agent file (`permissions:`), from settings.json in\n"
             "~/.config/pawl, and from .pawl/settings.json of the project. Deny beats\n"
             "everything, then ask, then allow. A project's allow rules and hooks apply only\n"
             "if its folder is trusted: `trust [FOLDER]`, and `untrust [FOLDER]`. You trust\n"
             "its settings and the scripts of its hooks as they are then: `trusted [FOLDER]`\n"
             "shows what has changed since (exit 1). For agents the settings of Claude Code\n"
             "(.claude) apply, too: docs/POLICY.md.",
    .example = "pawl policy why 'git diff && git push'\npawl policy why 'Edit(/etc/hosts)' --mode acceptEdits\npawl policy shadowed",
};
