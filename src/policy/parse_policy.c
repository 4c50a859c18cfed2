/* parse_policy.c - makes a pawl_policy from its JSON, with every rule compiled, and frees it.
 *
 * Owns the policy: its arena holds all texts and rules. Once read it is constant, so any thread may use it.
 * Invariant: rules are stored deny, ask, allow; deny_end and ask_end are the bounds. */
#include "policy/gate.h"
#include "policy/policy.h"

static const char *const policy_keys[] = { "allow", "ask", "deny", "cwd", "directories", "home", "hooks", "expires_ms", "protected", "approvers", "signers",
                                          "keeps_signers", "whole", "unasked", "unasked_always", "no_bypass" };
static const char *const rule_keys[] = { "rule", "from", "base", "until" };

static bool keys_known(const pawl_value *v, const char *const *names, size_t n, const char *what, pawl_err *err)
{
    pawl_iter it = pawl_iter_of(v);
    const pawl_value *key;

    while (pawl_iter_next(&it, &key) != NULL) {
        const char *name = pawl_value_string(key);
        char hint[80];
        bool known = false;

        for (size_t i = 0; i < n; i++)
            known = known || strcmp(name, names[i]) == 0;
        if (!known) {
            fail(err, PAWL_INVALID, "%s: no member \"%.40s\"%s", what, name, did_you_mean(hint, sizeof hint, name, names, n));
            return false;
        }
    }
    return true;
}

/* Without NUL; NULL: see err. */
static const char *member_text(const pawl_value *v, const char *what, pawl_err *err)
{
    const char *text = pawl_value_string(v);

    if (text == NULL || strlen(text) != pawl_value_size(v)) {
        fail(err, PAWL_INVALID, "policy: %s must be a text", what);
        return NULL;
    }
    return text;
}

static const char *folder_of(pawl_policy *p, const pawl_value *v, const char *what, pawl_err *err)
{
    const char *text = member_text(v, what, err);
    char *folder;
    path at;

    if (text == NULL)
        return NULL;
    if (*text != '/' || !path_set(&at, text, strlen(text), NULL, NULL)) {
        fail(err, PAWL_INVALID, "policy: %s \"%.100s\" must be an absolute path of less than 4096 bytes", what, text);
        return NULL;
    }
    if ((folder = arena_strdup(&p->mem, at.text, at.size)) == NULL)
        fail(err, PAWL_NOMEM, "no memory for a policy");
    return folder;
}

static bool read_folders(pawl_policy *p, const pawl_value *v, pawl_err *err)
{
    const pawl_value *cwd = pawl_value_get(v, "cwd"), *home = pawl_value_get(v, "home"), *more = pawl_value_get(v, "directories");
    size_t n = pawl_value_size(more);

    if (more != NULL && pawl_value_type(more) != PAWL_TYPE_ARRAY) {
        fail(err, PAWL_INVALID, "policy: directories must be a list of texts");
        return false;
    }
    if (n >= POLICY_FOLDERS_MAX) {
        fail(err, PAWL_LIMIT, "policy: %zu directories; %d are the most", n, POLICY_FOLDERS_MAX - 1);
        return false;
    }
    if ((p->folders = arena_get(&p->mem, (n + 1) * sizeof *p->folders)) == NULL) {
        fail(err, PAWL_NOMEM, "no memory for a policy");
        return false;
    }
    if (cwd != NULL && (p->folders[p->nfolders++] = p->cwd = folder_of(p, cwd, "cwd", err)) == NULL)
        return false;
    for (size_t i = 0; i < n; i++)
        if ((p->folders[p->nfolders++] = folder_of(p, pawl_value_at(more, i), "a directory", err)) == NULL)
            return false;
    return home == NULL || (p->home = folder_of(p, home, "home", err)) != NULL;
}

static bool read_kept(pawl_policy *p, const pawl_value *paths, pawl_err *err)
{
    const size_t n = pawl_value_size(paths);

    if (paths == NULL)
        return true;
    if (pawl_value_type(paths) != PAWL_TYPE_ARRAY || n > POLICY_PROTECTED_MAX) {
        fail(err, PAWL_INVALID, "policy: protected must be a list of at most %d absolute paths", POLICY_PROTECTED_MAX);
        return false;
    }
    if (n > 0 && (p->kept = arena_get(&p->mem, n * sizeof *p->kept)) == NULL) {
        fail(err, PAWL_NOMEM, "no memory for a policy");
        return false;
    }
    for (; p->nkept < n; p->nkept++)
        if ((p->kept[p->nkept] = folder_of(p, pawl_value_at(paths, p->nkept), "a path of \"protected\"", err)) == NULL)
            return false;
    return true;
}

static bool read_rule(pawl_policy *p, const pawl_value *v, pawl_behavior b, pawl_err *err)
{
    policy_rule *r = &p->rules[p->count];
    const pawl_value *text = v, *from = NULL, *base = NULL, *until = NULL;

    *r = (policy_rule){ .info = { .behavior = b, .from = "" } };
    if (pawl_value_type(v) == PAWL_TYPE_OBJECT) {
        if (!keys_known(v, rule_keys, sizeof rule_keys / sizeof *rule_keys, "rule", err))
            return false;
        text = pawl_value_get(v, "rule");
        from = pawl_value_get(v, "from");
        base = pawl_value_get(v, "base");
        until = pawl_value_get(v, "until");
    }
    if ((r->info.text = member_text(text, "a rule", err)) == NULL ||
        (from != NULL && (r->info.from = member_text(from, "from of a rule", err)) == NULL))
        return false;
    if (strlen(r->info.text) >= PAWL_RULE_BYTES) {
        fail(err, PAWL_LIMIT, "rule \"%.60s...\": it has %zu bytes, and %d are the most", r->info.text, strlen(r->info.text), PAWL_RULE_BYTES - 1);
        return false;
    }
    if (base != NULL && (r->base = folder_of(p, base, "base of a rule", err)) == NULL)
        return false;
    if (until != NULL && (r->info.until_ms = pawl_value_int(until)) <= 0) {
        fail(err, PAWL_INVALID, "rule \"%.90s\": until must be a time in milliseconds since 1970", r->info.text);
        return false;
    }
    if (!rule_compile(r, p, &p->mem, err))
        return false;
    p->count++;
    return true;
}

static bool read_rules(pawl_policy *p, const pawl_value *v, pawl_err *err)
{
    static const struct { const char *key; pawl_behavior b; } kinds[] = { { "deny", PAWL_BEHAVIOR_DENY }, { "ask", PAWL_BEHAVIOR_ASK }, { "allow",
        PAWL_BEHAVIOR_ALLOW } };
    size_t n = 0;

    for (size_t k = 0; k < 3; k++) {
        const pawl_value *lists = pawl_value_get(v, kinds[k].key);

        if (lists != NULL && pawl_value_type(lists) != PAWL_TYPE_ARRAY) {
            fail(err, PAWL_INVALID, "policy: %s must be a list of rules", kinds[k].key);
            return false;
        }
        n += pawl_value_size(lists);
    }
    if (n > POLICY_RULES_MAX) {
        fail(err, PAWL_LIMIT, "policy: %zu rules; %d are the most", n, POLICY_RULES_MAX);
        return false;
    }
    if (n > 0 && (p->rules = arena_get(&p->mem, n * sizeof *p->rules)) == NULL) {
        fail(err, PAWL_NOMEM, "no memory for a policy");
        return false;
    }
    for (size_t k = 0; k < 3; k++) {
        const pawl_value *lists = pawl_value_get(v, kinds[k].key);

        for (size_t i = 0; i < pawl_value_size(lists); i++)
            if (!read_rule(p, pawl_value_at(lists, i), kinds[k].b, err))
                return false;
        if (k == 0)
            p->deny_end = p->count;
        if (k <= 1)
            p->ask_end = p->count;
    }
    return true;
}

static bool digest(pawl_policy *p, const pawl_value *v, pawl_err *err)
{
    hash h;
    buf b;

    buf_init(&b, &p->alloc);
    canon(&b, v);
    if (!b.failed) {
        hash_of(b.data, b.size, &h);
        hash_hex(&h, p->digest);
    } else {
        fail(err, PAWL_NOMEM, "no memory for a policy");
    }
    buf_free(&b);
    return p->digest[0] != '\0';
}

pawl_policy *pawl_policy_read(const pawl_alloc *alloc, const char *json, size_t size, pawl_err *err)
{
    const pawl_alloc a = mem_or_default(alloc);
    pawl_policy *p = mem_new(&a, sizeof *p);
    const pawl_value *v;

    if (p == NULL) {
        fail(err, PAWL_NOMEM, "no memory for a policy");
        return NULL;
    }
    p->alloc = a;
    arena_init(&p->mem, &p->alloc, 4096);
    v = value_parse(&p->mem, json, size, "policy", err);
    if (v == NULL)
        goto out;
    if (pawl_value_type(v) != PAWL_TYPE_OBJECT) {
        fail(err, PAWL_INVALID, "policy: it must be an object with lists \"allow\", \"ask\", \"deny\"");
        goto out;
    }
    if (keys_known(v, policy_keys, sizeof policy_keys / sizeof *policy_keys, "policy", err) && read_folders(p, v, err) &&
        read_kept(p, pawl_value_get(v, "protected"), err) && read_rules(p, v, err) &&
        digest(p, v, err)) {
        p->whole = pawl_value_bool(pawl_value_get(v, "whole"));
        return p;
    }
out:
    pawl_policy_free(p);
    return NULL;
}

void pawl_policy_free(pawl_policy *p)
{
    pawl_alloc a;

    if (p == NULL)
        return;
    a = p->alloc;
    arena_free(&p->mem);
    mem_free(&a, p, sizeof *p);
}

const char *pawl_policy_digest(const pawl_policy *p) { return p->digest; }

size_t pawl_policy_count(const pawl_policy *p) { return p != NULL ? p->count : 0; }

pawl_rule_info pawl_policy_rule(const pawl_policy *p, size_t index)
{
    static const pawl_rule_info none = { PAWL_BEHAVIOR_OPEN, "", "", 0 };

    return p != NULL && index < p->count ? p->rules[index].info : none;
}
