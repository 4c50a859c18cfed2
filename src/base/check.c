/* check.c - a failed assertion: one line on stderr, then abort. The only output of a pure layer.
 *
 * Any thread, under any lock. See check.h. */
#include "base/check.h"

#include <stdio.h>
#include <stdlib.h>

void assertion_failed(const char *file, int line, const char *function, const char *text)
{
    fprintf(stderr, "%s:%d: %s: assertion failed: %s\n", file, line, function, text);
    abort();
}
