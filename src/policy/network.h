/* network.h - the rules about the network, apart from the rest. */
#ifndef POLICY_NETWORK_H
#define POLICY_NETWORK_H

#include "json/json.h"
#include "pawl/policy.h"

/* The rules Network(...) of `p` (may be NULL) alone, for who needs them longer than `p` exists. Free it with pawl_policy_free. NULL: see err. */
pawl_policy *policy_of_networks(const pawl_policy *p, pawl_err *err);

#endif
