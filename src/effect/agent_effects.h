/* agent_effects.h - handlers that runs with a policy need, besides those of their own effects. */
#ifndef EFFECT_AGENT_EFFECTS_H
#define EFFECT_AGENT_EFFECTS_H

#include "json/json.h"
#include "pawl/effect.h"

/* "hook": runs one hook, a command or a request. "links": resolves the paths of a tool call. Their `arg` is not used. */
pawl_handler_fn effect_hook, effect_links;
/* The receipt of a hook that is a callback of a client (policy/hook.h) which cannot be asked, and `why`: a deny where something can still be stopped or
 * kept from the model, elsewhere a message for the person (P5). NULL: no memory. */
const pawl_value *hook_unheard(arena *mem, const char *name, const char *event, const char *why);
pawl_code hook_unheard_reply(const pawl_job *job, pawl_reply *reply, const char *why);     /* the same, as the reply of the handler of "hook" */

#endif
