/* resolve_links.c - resolves the links of paths in a command, because rules about paths apply to their targets.
 *
 * Called by app/handlers.c for the effect `links`, on any thread. Reads the file system, owns nothing. */
#define _XOPEN_SOURCE 700       /* realpath, readlink */
#include "effect/resolve_links.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

enum { LINKS_MAX = 40 };        /* in a row, as in the kernel */

/* Replaces `whole` by the target of the link. False: it is not a link, or the target is too long. */
static bool link_follow(char whole[PATH_MAX])
{
    char to[PATH_MAX], made[PATH_MAX * 2];
    const ssize_t n = readlink(whole, to, sizeof to - 1);
    const char *slash = strrchr(whole, '/');

    if (n <= 0)
        return false;
    to[n] = '\0';
    if (*to == '/' || slash == NULL)
        snprintf(made, sizeof made, "%s", to);
    else
        snprintf(made, sizeof made, "%.*s/%s", (int)(slash - whole), whole, to);
    if (strlen(made) >= PATH_MAX)
        return false;
    memcpy(whole, made, strlen(made) + 1);
    return true;
}

/* The existing part is resolved, including dangling links; the rest is appended. */
static const char *leads_to(arena *mem, char whole[PATH_MAX])
{
    char tail[PATH_MAX] = "", longer[PATH_MAX * 2];
    char *real, *slash;
    const char *out;

    for (int links = 0; (real = realpath(whole, NULL)) == NULL;) {
        if (link_follow(whole)) {
            if (++links > LINKS_MAX)
                return NULL;
            continue;
        }
        if ((slash = strrchr(whole, '/')) == NULL)
            return NULL;
        snprintf(longer, sizeof longer, "%s%s", slash, tail);
        if (strlen(longer) >= sizeof tail)
            return NULL;
        memcpy(tail, longer, strlen(longer) + 1);
        slash[slash == whole] = '\0';
    }
    snprintf(longer, sizeof longer, "%s%s", strcmp(real, "/") == 0 && *tail != '\0' ? "" : real, tail);
    out = arena_text(mem, longer);
    free(real);
    return out;
}

const pawl_value *links_of(arena *mem, const char *cwd, const pawl_value *paths)
{
    const pawl_value *out = value_pack(mem, NULL, "{}"), *one;
    const char *home = getenv("HOME"), *to;
    pawl_iter it = pawl_iter_of(paths);
    char whole[PATH_MAX];

    while ((one = pawl_iter_next(&it, NULL)) != NULL) {
        const char *path = pawl_value_string(one);
        const bool at_home = path != NULL && path[0] == '~' && (path[1] == '/' || path[1] == '\0') && home != NULL;
        int n = 0;

        if (path == NULL)
            continue;
        if (at_home || *path == '/' || cwd == NULL)
            n = snprintf(whole, sizeof whole, "%s%s", at_home ? home : "", at_home ? path + 1 : path);
        else
            n = snprintf(whole, sizeof whole, "%s/%s", cwd, path);
        if (n < (int)sizeof whole && (to = leads_to(mem, whole)) != NULL && strcmp(to, path) != 0)
            out = value_with(mem, out, path, value_string(mem, to, strlen(to)));
    }
    return mem->failed ? NULL : out;
}
