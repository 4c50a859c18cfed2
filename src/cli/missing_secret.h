/* missing_secret.h - the secret for which a run waits: it is looked for where this process would find it. */
#ifndef CLI_MISSING_SECRET_H
#define CLI_MISSING_SECRET_H

#include "json/json.h"
#include "pawl/kernel.h"
#include "pawl/store.h"

/* "s needs the secret env:PUSH_TOKEN, which is not set"; NULL: no open command misses one, or no memory. */
const char *missing_secret(arena *mem, pawl_state *st);
const char *missing_secret_at(arena *mem, pawl_state *st, pawl_step *step, size_t i);    /* of its open command number `i` */
/* The same for a run of which only the store is open. */
const char *missing_secret_of(arena *mem, pawl_store *s, const char *run);

#endif
