/* usual_args.h - arguments of the library's tools by the names that models know from other programs. */
#ifndef POLICY_USUAL_ARGS_H
#define POLICY_USUAL_ARGS_H

#include "json/json.h"

/* `input` of the tool `tool`, with usual names of arguments replaced by those of its schema, and numbers beyond their limit by it. A name stays where
 * its own one is given, too. `input` itself where nothing changes; NULL: no memory. */
const pawl_value *args_usual(arena *mem, const char *tool, const pawl_value *input);
/* `input` without members that the schema does not know and that only decorate, such as "explanation". NULL: no memory. */
const pawl_value *args_needed(arena *mem, const pawl_value *schema, const pawl_value *input);

#endif
