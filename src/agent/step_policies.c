/* step_policies.c - see step_policies.h. The step owns the cache and frees it. */
#include "agent/step_policies.h"
#include "kernel/step.h"

pawl_code step_policy(pawl_step *s, const pawl_value *rules, compiled_policy *out, pawl_err *err)
{
    if (s->derived.at == NULL && (s->derived.at = policy_cache_new(&s->alloc)) == NULL)
        return fail(err, PAWL_NOMEM, "no memory for the rules");
    s->derived.free = policy_cache_free;
    return policy_cache_get(s->derived.at, rules, pawl_get(s, "@grants"), out, err);
}
