/* step_policies.h - the cache of compiled policies of a step. Agents and the nodes of agent files share it, so that a policy is compiled once for
 * all events that are fed with one step. */
#ifndef AGENT_STEP_POLICIES_H
#define AGENT_STEP_POLICIES_H

#include "pawl/kernel.h"
#include "policy/policy_cache.h"

/* The compiled rules and hooks of the run that `s` is fed for: `rules` with what its channel @grants allows. See policy_cache_get. */
PAWL_MUST_USE pawl_code step_policy(pawl_step *s, const pawl_value *rules, compiled_policy *out, pawl_err *err);

#endif
