/* agent_effects.h - handlers that runs with a policy need, whatever their agent is. */
#ifndef EFFECT_AGENT_EFFECTS_H
#define EFFECT_AGENT_EFFECTS_H

#include "pawl/effect.h"

/* "hook": one hook is asked, a command or a request. "links": where the paths of a tool call lead. Their `arg` is not used. */
pawl_handler_fn effect_hook, effect_links;

#endif
