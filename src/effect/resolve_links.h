/* resolve_links.h - resolves the links of paths. */
#ifndef EFFECT_RESOLVE_LINKS_H
#define EFFECT_RESOLVE_LINKS_H

#include "json/json.h"

/* Where the texts in the list `paths` lead, as pawl_request.links has it; `cwd` (NULL: all are absolute) is the base of relative ones. A command may go to
 * one of the folders among them first: what a path leads to from there is told by the absolute path. NULL: see err. */
const pawl_value *links_of(arena *mem, const char *cwd, const pawl_value *paths, pawl_err *err);

#endif
