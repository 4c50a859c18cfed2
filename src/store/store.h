/* store.h - inside the stores. */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "base/base.h"
#include "pawl/store.h"

/* As pawl_store_memory, in memory that is given; NULL: malloc's. */
pawl_store *store_memory_in(const pawl_alloc *alloc, pawl_err *err);

/* Each may be repeated; each touches one run. */
pawl_code store_create(pawl_store *s, const char *run, pawl_bytes base, pawl_err *err);   /* PAWL_CONFLICT: it is there */
/* Lines without newline, in order, as one: all of them or none. */
pawl_code store_append(pawl_store *s, const char *run, const pawl_bytes *lines, size_t n, pawl_err *err);

#endif
