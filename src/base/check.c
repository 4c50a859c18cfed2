/* check.c - what a failed assertion does: one line on stderr, then abort. The only output that a pure layer makes, and its last. */
#include "base/check.h"

#include <stdio.h>
#include <stdlib.h>

void assertion_failed(const char *file, int line, const char *function, const char *text)
{
    fprintf(stderr, "%s:%d: %s: assertion failed: %s\n", file, line, function, text);
    abort();
}
