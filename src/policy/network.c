/* network.c - which hosts a command in the sandbox may connect to: the rules Network(host:port) (P13).
 *
 * Called by src/effect for each connection, on any thread. Pure. Nobody can be asked there, so an ask rule denies. */
#include "policy/network.h"
#include "policy/policy.h"

static bool is_network(const policy_rule *r) { return strcmp(r->tool, "Network") == 0; }

static bool fits(const policy_rule *r, const char *host, uint16_t port, int64_t time_ms)
{
    return is_network(r) && rule_active(r, time_ms) && (r->spec == SPEC_NONE || (host_fits(r->text, host) && (r->port == 0 || r->port == port)));
}

bool pawl_policy_network(const pawl_policy *p, const char *host, uint16_t port, int64_t time_ms, bool *by_name)
{
    char clean[256];
    bool allowed = false;

    *by_name = false;
    if (p == NULL || !host_read(host, strlen(host), clean, sizeof clean, false))
        return false;
    for (size_t i = 0; i < p->ask_end; i++)
        if (fits(&p->rules[i], clean, port, time_ms))
            return false;
    for (size_t i = p->ask_end; i < p->count; i++)
        if (fits(&p->rules[i], clean, port, time_ms)) {
            allowed = true;
            *by_name = *by_name || (p->rules[i].spec == SPEC_DOMAIN && strcmp(p->rules[i].text, clean) == 0);
        }
    return allowed;
}

/* ---- for a command that outlives the call ------------------------------------------------------------------ */

static void rule_put(buf *b, const pawl_rule_info *rule)
{
    buf_text(b, b->data[b->size - 1] == '[' ? "{\"rule\":" : ",{\"rule\":");
    canon_string(b, rule->text, strlen(rule->text));
    if (rule->until_ms > 0)
        buf_fmt(b, ",\"until\":%lld", (long long)rule->until_ms);
    buf_char(b, '}');
}

pawl_policy *policy_of_networks(const pawl_policy *p, pawl_err *err)
{
    static const char *const lists[] = { "{\"deny\":[", "],\"ask\":[", "],\"allow\":[" };
    const size_t ends[] = { p != NULL ? p->deny_end : 0, p != NULL ? p->ask_end : 0, pawl_policy_count(p) };
    pawl_policy *out;
    size_t at = 0;
    buf b;

    buf_init(&b, NULL);
    for (size_t k = 0; k < 3; k++) {
        buf_text(&b, lists[k]);
        for (; at < ends[k] && !b.failed; at++)
            if (is_network(&p->rules[at]))
                rule_put(&b, &p->rules[at].info);
    }
    buf_text(&b, "]}");
    out = b.failed ? NULL : pawl_policy_read(NULL, b.data, b.size, err);
    if (b.failed)
        fail(err, PAWL_NOMEM, "no memory for a policy");
    buf_free(&b);
    return out;
}

bool pawl_policy_networks(const pawl_policy *p)
{
    for (size_t i = p != NULL ? p->ask_end : 0; p != NULL && i < p->count; i++)
        if (is_network(&p->rules[i]))
            return true;
    return false;
}
