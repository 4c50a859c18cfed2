/* variable.c - names of environment variables that a secret or a list of them may name.
 *
 * Pure; any thread. A name is one variable: there is no pattern, and getenv() would find a part of another variable by a name with "=". */
#include "base/base.h"

#include <string.h>

enum { VARIABLE_BYTES_MAX = 128 };

bool variable_name_valid(const char *name)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_", more[] = "0123456789.-";
    const size_t n = name != NULL ? strlen(name) : 0;
    size_t at = 0;

    while (at < n && (strchr(letters, name[at]) != NULL || (at > 0 && strchr(more, name[at]) != NULL)))
        at++;
    return n > 0 && n <= VARIABLE_BYTES_MAX && at == n;
}
