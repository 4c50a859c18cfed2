/* resolve_links.h - where paths lead. */
#ifndef CLI_LINKS_H
#define CLI_LINKS_H

#include "json/json.h"

/* {PATH: where it leads} of those texts in the list `paths` that lead elsewhere than they say, as pawl_request.links has it; `cwd` (NULL: they are
 * in full) is where relative ones begin. NULL: no memory. */
const pawl_value *links_of(arena *mem, const char *cwd, const pawl_value *paths);

#endif
