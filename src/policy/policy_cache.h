/* policy_cache.h - compiled policies and hooks, found again by the values that they were read from.
 *
 * A run decides many calls under the same rules. The cache keeps the last few policies together with copies of their rules and grants, so
 * a policy is compiled once and not for each call. It is a cache of a pure function: what it returns depends on its arguments alone.
 * Threads: a cache belongs to the thread that uses it. */
#ifndef POLICY_POLICY_CACHE_H
#define POLICY_POLICY_CACHE_H

#include "policy/hook.h"

typedef struct policy_cache policy_cache;

policy_cache *policy_cache_new(const pawl_alloc *alloc);        /* NULL: no memory */
void policy_cache_free(void *cache);                            /* a policy_cache, or NULL */

typedef struct compiled_policy {
    const pawl_policy *policy;  /* NULL: there are no rules */
    const hook_list *hooks;     /* never NULL */
} compiled_policy;

/* The policy of `rules` (the value of a channel such as @policy; NULL: none) together with what was allowed in this run alone (`grants`, a list
 * of lists of allow rules; NULL: none), and its hooks. `out` is owned by the cache and stays valid until POLICY_CACHE_ENTRIES other policies
 * were asked for. PAWL_INVALID or PAWL_LIMIT: the rules cannot be read, `err` says why; PAWL_NOMEM. */
enum { POLICY_CACHE_ENTRIES = 8 };
PAWL_MUST_USE pawl_code policy_cache_get(policy_cache *cache, const pawl_value *rules, const pawl_value *grants, compiled_policy *out, pawl_err *err);

/* How many policies the cache has compiled since it was made: for tests. */
uint64_t policy_cache_compiled(const policy_cache *cache);

#endif
