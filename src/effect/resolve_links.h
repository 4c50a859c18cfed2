/* resolve_links.h - resolves the links of paths. */
#ifndef EFFECT_RESOLVE_LINKS_H
#define EFFECT_RESOLVE_LINKS_H

#include "json/json.h"
#include "pawl/policy.h"

typedef struct link_rules {     /* whose denied files count by any of their names */
    const pawl_policy *policy;  /* NULL: none */
    int64_t time_ms;            /* now */
    bool (*stop)(void *ctx);    /* true: stop looking; NULL: never */
    void *ctx;
} link_rules;
/* Where the texts in the list `paths` lead, as pawl_request.links has it; `cwd` (NULL: all are absolute) is the base of relative ones. A command may go to
 * one of the folders among them first: the target of a path from there is listed under the absolute path. `rules` may be NULL.
 * NULL: see err. */
const pawl_value *links_of(arena *mem, const char *cwd, const pawl_value *paths, const link_rules *rules, pawl_err *err);

/* An absolute path without //, . and .., by its text alone, as src/policy reads it. `out`: as large as `from`, and at least 2 bytes. */
void path_plainly(const char *from, char *out);

#endif
