/* yyjson.h - copies values to yyjson and back, for programs that use yyjson themselves. It is not part of pawl/pawl.h and needs yyjson's header.
 *
 * With the amalgamation include pawl.h before it. All functions are pure: any thread, for objects of its own. */
#ifndef PAWL_YYJSON_H
#define PAWL_YYJSON_H

#ifndef PAWL_BASE_H
#include "pawl/base.h"
#endif
#include <yyjson.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Copies `v`, with its strings, into the memory of `doc`; the result is not attached to any parent yet. NULL: no memory, or `v` is NULL. */
PAWL_API yyjson_mut_val *pawl_to_yyjson(const pawl_value *v, yyjson_mut_doc *doc);

/* Copies a yyjson value to a value that you free with pawl_yyjson_free. When you pass it to pawl_set, pawl_pack and the like, it must stay until their step
 * is used again. NULL: `v` is NULL; or, in err, PAWL_INVALID (NaN, an infinity, invalid UTF-8, a key twice in one object), PAWL_LIMIT (more than 128 levels)
 * or PAWL_NOMEM. `alloc` may be NULL: malloc. */
PAWL_API pawl_value *pawl_from_yyjson(const yyjson_val *v, const pawl_alloc *alloc, pawl_err *err);
PAWL_API pawl_value *pawl_from_yyjson_mut(const yyjson_mut_val *v, const pawl_alloc *alloc, pawl_err *err);
PAWL_API void pawl_yyjson_free(pawl_value *v, const pawl_alloc *alloc); /* with the same `alloc`; `v` may be NULL */

#ifdef __cplusplus
}
#endif
#endif
