/* file_rules.c - see file_rules.h.
 *
 * Owns nothing; pure, any thread. Called by src/effect when a file is opened; a call as a whole is decided by decide.c. */
#include "policy/file_rules.h"
#include "policy/policy.h"

/* The parts of a call that rule_for() reads. */
static void use_read(policy_call *c, const pawl_policy *p, pawl_request *q, const file_use *u)
{
    *q = (pawl_request){ .tool = u->tool, .cls = u->cls, .time_ms = u->time_ms };
    c->p = p;
    c->q = q;
    c->tool = u->tool;
    c->command = c->net = c->at.linked = c->at.shared = false;
    c->has_path = true;
    c->reads = tool_reads(u->tool);
    c->edits = tool_edits(u->tool);
}

static bool denies_by_path(const policy_call *c, const policy_rule *r)
{
    return r->spec == SPEC_PATH && rule_active(r, c->q->time_ms) && rule_for(r, c);
}

const char *file_rule_denies(const pawl_policy *p, const file_use *u, const char *at)
{
    pawl_request q;
    policy_call c;

    if (p == NULL || p->deny_end == 0)
        return NULL;
    use_read(&c, p, &q, u);
    if (!path_set(&c.at.given, at, strlen(at), NULL, NULL))
        return NULL;
    for (size_t i = 0; i < p->deny_end; i++)
        if (denies_by_path(&c, &p->rules[i]) && rule_fits_place(&p->rules[i], &c.at, true))
            return p->rules[i].info.text;
    return NULL;
}

/* The bytes of a pattern before the first name with a wildcard. */
static size_t plain_bytes(const path_pattern *t)
{
    size_t n = 0;

    while (t->anchored && n < t->size) {
        const char *end = memchr(t->text + n, '/', t->size - n);
        const size_t m = end != NULL ? (size_t)(end - t->text) - n : t->size - n;

        for (size_t i = 0; i < m; i++)
            if (strchr("*?[\\", t->text[n + i]) != NULL)
                return n > 0 ? n - 1 : 0;
        n += m + (end != NULL);
    }
    return n < t->size ? n : t->size;
}

void file_rule_places(const pawl_policy *p, const file_use *u, file_place_fn *fn, void *ctx)
{
    char place[PATH_BYTES];
    pawl_request q;
    policy_call c;
    bool on = true;

    if (p == NULL)
        return;
    use_read(&c, p, &q, u);
    for (size_t i = 0; i < p->deny_end && on; i++) {
        const path_pattern *t = &p->rules[i].path;
        size_t n;

        if (!denies_by_path(&c, &p->rules[i]))
            continue;
        n = plain_bytes(t);
        if (t->base_size + n + 2 > sizeof place)
            continue;
        memcpy(place, t->base, t->base_size);
        place[t->base_size] = '/';
        memcpy(place + t->base_size + 1, t->text, n);
        place[t->base_size + 1 + n] = '\0';
        on = fn(ctx, place);
    }
}

/* Instructions of a project are kept, too, but belong to no agent: a checkout may bring others. */
void file_own_places(const pawl_policy *p, file_place_fn *fn, void *ctx)
{
    for (size_t i = 0; p != NULL && i < p->nkept; i++) {
        const char *name = strrchr(p->kept[i], '/') + 1;

        if (strcmp(name, "AGENTS.md") != 0 && strcmp(name, "CLAUDE.md") != 0 && !fn(ctx, p->kept[i]))
            return;
    }
}
