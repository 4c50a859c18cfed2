/* command_rules.h - a command is decided again, where and when it runs (P8). */
#ifndef EFFECT_COMMAND_RULES_H
#define EFFECT_COMMAND_RULES_H

#include "effect/effect.h"

enum { COMMAND_WHY_BYTES = 400 };

/* Whether a rule now denies the command (a text, or a list of words) in that folder, by what its paths lead to; or asks about it, although the decision in
 * the arguments of the job was not a person's. `node`: it is a command of an agent file, not of a model. True: `why` says so in one line. */
bool command_denied(const pawl_job *job, const pawl_value *command, const char *cwd, bool node, char why[COMMAND_WHY_BYTES]);

#endif
