/* agent_effects.h - handlers that runs with a policy need, besides those of their own effects. */
#ifndef EFFECT_AGENT_EFFECTS_H
#define EFFECT_AGENT_EFFECTS_H

#include "pawl/effect.h"

/* "hook": runs one hook, a command or a request. "links": resolves the paths of a tool call. Their `arg` is not used. */
pawl_handler_fn effect_hook, effect_links;

#endif
