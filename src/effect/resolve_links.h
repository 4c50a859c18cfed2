/* resolve_links.h - resolves the links of paths. */
#ifndef EFFECT_RESOLVE_LINKS_H
#define EFFECT_RESOLVE_LINKS_H

#include "json/json.h"

/* {PATH: target} for the texts in the list `paths` whose target differs, as pawl_request.links has it; `cwd` (NULL: all are absolute) is the base of
 * relative ones. NULL: no memory. */
const pawl_value *links_of(arena *mem, const char *cwd, const pawl_value *paths);

#endif
