/* store.h - where journals live. Here: in memory, for as long as the process. */
#ifndef PAWL_STORE_H
#define PAWL_STORE_H

#include "pawl/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pawl_store pawl_store;

/* Journals in memory. NULL: no memory. */
PAWL_API pawl_store *pawl_store_memory(pawl_err *err);
PAWL_API void pawl_store_free(pawl_store *s);
/* The whole journal of `run`, base first, as docs/INTERFACES.md has it; lives until the run is written again. {0}: no such run. */
PAWL_API pawl_bytes pawl_store_journal(const pawl_store *s, const char *run);
/* The id of the index-th run, in the order in which they began; NULL after the last. */
PAWL_API const char *pawl_store_run(const pawl_store *s, size_t index);

#ifdef __cplusplus
}
#endif
#endif
