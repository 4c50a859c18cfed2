/* network.c - which hosts a command in the sandbox may connect to: the rules Network(host:port) (P13).
 *
 * Called by src/effect for each connection, on any thread. Pure. Nobody can be asked there, so an ask rule denies. */
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

bool pawl_policy_networks(const pawl_policy *p)
{
    for (size_t i = p != NULL ? p->ask_end : 0; p != NULL && i < p->count; i++)
        if (is_network(&p->rules[i]))
            return true;
    return false;
}
