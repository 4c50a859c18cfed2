/* script_digest.h - the digest of a file that a hook runs, as it is when somebody looks (P9). */
#ifndef EFFECT_SCRIPT_DIGEST_H
#define EFFECT_SCRIPT_DIGEST_H

#include "json/json.h"

enum { SCRIPT_DIGEST_BYTES = 7 + HASH_HEX + 1, SCRIPT_BYTES_MAX = 1 << 26 };

#define SCRIPT_MISSING "missing"        /* in place of a digest: there is no such file */

/* "sha256:HEX" of the file; SCRIPT_MISSING; or "unreadable": it is no file, has more than SCRIPT_BYTES_MAX, or cannot be read. */
void script_digest(const char *path, char out[SCRIPT_DIGEST_BYTES]);
void text_digest(const void *data, size_t size, char out[SCRIPT_DIGEST_BYTES]);
/* The path of the first of {PATH: DIGEST} whose digest differs now, or cannot be computed; NULL: none. */
const char *script_changed(const pawl_value *scripts);

#endif
