/* permission_keys.c - `permissions` and `hooks` of an agent file: rules and hooks of every run of it.
 *
 * Called by load.c and agent_keys.c, on one thread. */
#include "file/load/load.h"
#include "file/read.h"
#include "policy/gate.h"

/* Reports errors in the words of the rule parser. */
static void rule_check(loader *l, const doc *d, const char *behavior, const char *rule)
{
    const pawl_value *one = value_pack(l->mem, NULL, "{s:[{s:s,s:s}],s:s,s:s}", behavior, "base", "/", "rule", rule, "cwd", "/", "home", "/");
    pawl_err err = {0};
    pawl_policy *p = gate_policy(NULL, one, &err);

    if (p == NULL && one != NULL)
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "rule", "%s", err.text);
    pawl_policy_free(p);
}

static const pawl_value *texts(loader *l, const doc *d, const char *key, bool rules)
{
    const pawl_value *out = value_pack(l->mem, NULL, "[]");
    const char *text;

    if (d->kind != DOC_LIST) {
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "type", "`%s` is a list of texts, such as [%s], and this is %s", key,
                 rules ? "\"Bash(git diff:*)\"" : "../shared", doc_what(l, d));
        return NULL;
    }
    for (size_t i = 0; out != NULL && i < d->size; i++) {
        if (!key_plain(l, d->items[i], key, &text))
            continue;
        if (rules)
            rule_check(l, d->items[i], key, text);
        out = value_push(l->mem, out, value_string(l->mem, text, strlen(text)));
    }
    return out;
}

static void read_permissions(loader *l, const doc *d)
{
    static const char *const names[] = { "allow", "ask", "deny", "directories", "expires", "approvers" };
    const pawl_value *out = value_pack(l->mem, NULL, "{}"), *list;
    const doc *one;
    uint32_t ms = 0;

    if (d->kind != DOC_MAP) {
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "type", "`permissions` is a map of rules, {allow: [], ask: [], deny: []}, and this is %s",
            doc_what(l, d));
        return;
    }
    keys_known(l, d, "`permissions`", names, sizeof names / sizeof *names);
    for (size_t i = 0; i < 4; i++)
        if ((one = doc_get(d, names[i])) != NULL && (list = texts(l, one, names[i], i < 3)) != NULL)
            out = value_with(l->mem, out, names[i], list);
    if ((one = doc_get(d, "expires")) != NULL && key_duration(l, one, "expires", 1, &ms))
        out = value_with(l->mem, out, "expires_ms", value_int(l->mem, ms));
    if ((one = doc_get(d, "approvers")) != NULL && (list = read_approver_list(l, one)) != NULL)
        out = value_with(l->mem, out, "approvers", list);
    l->a->permissions = out;
}

static void read_hooks(loader *l, const doc *d)
{
    const pawl_value *v = doc_value(d, l->mem, l->f);
    hook_list all = {0};
    pawl_err err = {0};

    if (v == NULL)
        return;
    if (hooks_read(l->mem, v, "hooks", &all, &err) != PAWL_OK && err.code != PAWL_NOMEM)
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "hooks", "%s", err.text);
    for (size_t i = 0; i < all.count; i++) {
        l->a->reroutes = l->a->reroutes || all.items[i].point == HOOK_POST;
        if (all.items[i].point > HOOK_POST_FAILURE && l->a->moment == NULL)
            l->a->moment = hook_point_name(all.items[i].point);
    }
    l->a->moment_at = d->at;
    l->a->hooks = v;
}

void read_guards(loader *l, const doc *d)
{
    static const struct { const char *key; void (*read)(loader *l, const doc *d); } rows[] = {
        { "permissions", read_permissions }, { "hooks", read_hooks }, { "budget", read_budget }, { "prices", read_prices },
    };

    for (size_t i = 0; i < 4; i++) {
        const doc *one = doc_get(d, rows[i].key);

        if (one != NULL && l->a->above != NULL && doc_get(l->a->d, "agent") != NULL)
            fault_at(l->f, one->at, PAWL_SEVERITY_WARNING, "inner", "the caller of this agent decides what it may do and spend: its `%s` applies only when it is run by itself",
                     rows[i].key);
        else if (one != NULL && l->a->above != NULL)
            fault_at(l->f, one->at, PAWL_SEVERITY_FAULT, "inner",
                "`%s` stands in the file that is run, and this is a graph of it, to which that applies", rows[i].key);
        else if (one != NULL)
            rows[i].read(l, one);
    }
}
