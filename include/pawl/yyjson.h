/* yyjson.h - values to and from yyjson, for programs that use it. The one header that shows what is inside.
 *
 * Beside the amalgamation include pawl.h first. */
#ifndef PAWL_YYJSON_H
#define PAWL_YYJSON_H

#ifndef PAWL_BASE_H
#include "pawl/base.h"
#endif
#include <yyjson.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A copy of `v` in `doc`, strings too; not put anywhere in it yet. NULL: no memory, or a NULL went in. */
PAWL_API yyjson_mut_val *pawl_to_yyjson(const pawl_value *v, yyjson_mut_doc *doc);

/* And back: a copy in one block, yours to free. Lent to pawl_set, pawl_pack and the like, it must live until their step
 * is used again. Refused as everywhere (PAWL_INVALID, PAWL_LIMIT): NaN, infinities, bad UTF-8, keys that stand there
 * twice, more than 128 levels. NULL: see err, or a NULL went in. `alloc` may be NULL (malloc). */
PAWL_API pawl_value *pawl_from_yyjson(const yyjson_val *v, const pawl_alloc *alloc, pawl_err *err);
PAWL_API pawl_value *pawl_from_yyjson_mut(const yyjson_mut_val *v, const pawl_alloc *alloc, pawl_err *err);
PAWL_API void pawl_yyjson_free(pawl_value *v, const pawl_alloc *alloc); /* the same `alloc`; `v` may be NULL */

#ifdef __cplusplus
}
#endif
#endif
