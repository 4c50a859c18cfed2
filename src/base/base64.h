/* base64.h - bytes as text of RFC 4648 with its padding, and back. */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include "base/base.h"

#define BASE64_ROOM(n) (((n) + 2) / 3 * 4 + 1)  /* of n bytes, with the NUL */

void base64_code(const void *bytes, size_t n, char *out);      /* BASE64_ROOM(n) bytes */
void base64_put(buf *b, const void *bytes, size_t n);
/* *n bytes in `out`, which has room for size / 4 * 3 and may be `text`; false: no base64. Bits beyond the last byte are not looked at: code it again where
 * a text must be the only one. */
bool base64_read(const char *text, size_t size, void *out, size_t *n);

#endif
