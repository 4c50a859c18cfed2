/* signatures.h - whether the signatures in a journal count on this machine (P11). */
#ifndef CLI_SIGNATURES_H
#define CLI_SIGNATURES_H

#include "cli/cli.h"

/* A journal is good whatever this machine trusts; but who reads it here has to know that a signature of it would not count. PAWL_DENIED: err names the key,
 * and *seq is the entry of the first such signature (0: of the open superstep). */
pawl_code signatures_trusted(const pawl_value *known, pawl_store *store, const char *run, uint64_t *seq, pawl_err *err);

#endif
