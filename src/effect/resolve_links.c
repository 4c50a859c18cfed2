/* resolve_links.c - resolves the links of paths in a command, because rules about paths apply to their targets.
 *
 * Called by app/handlers.c for the effect `links`, on any thread. Reads the file system, owns nothing. */
#define _XOPEN_SOURCE 700       /* realpath, readlink */
#include "effect/resolve_links.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LINKS_IN_A_ROW = 40,        /* as in the kernel */
    FOLDERS_MAX = 64            /* that one command may go to */
};

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
            if (++links > LINKS_IN_A_ROW)
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

/* ---- one path ------------------------------------------------------------------------------------------------- */

typedef struct linking {
    arena *mem;
    const char *home;           /* NULL: not given */
    const char *folders[FOLDERS_MAX];   /* into which a `cd` may lead, without links; the first is cwd */
    size_t nfolders;
    bool full;                  /* there are more */
    const pawl_value *out;
} linking;

static bool at_home(const linking *k, const char *path)
{
    return path[0] == '~' && (path[1] == '/' || path[1] == '\0') && k->home != NULL;
}

static bool begins_anywhere(const linking *k, const char *path)
{
    return *path == '/' || at_home(k, path);
}

/* `path` seen from `folder`. False: too long. */
static bool made_absolute(const linking *k, const char *folder, const char *path, char whole[PATH_MAX])
{
    const bool home = at_home(k, path);
    int n;

    if (home || *path == '/' || folder == NULL)
        n = snprintf(whole, PATH_MAX, "%s%s", home ? k->home : "", home ? path + 1 : path);
    else
        n = snprintf(whole, PATH_MAX, "%s/%s", folder, path);
    return n >= 0 && n < PATH_MAX;
}

/* Without //, . and .., as src/policy reads an absolute path. */
static void plainly(const char *from, char out[PATH_MAX])
{
    size_t n = 0;

    while (*from != '\0') {
        size_t m = strcspn(from, "/");

        if (m == 2 && from[0] == '.' && from[1] == '.') {
            while (n > 0 && out[--n] != '/')
                continue;
        } else if (m > 0 && !(m == 1 && *from == '.')) {
            out[n++] = '/';
            memcpy(out + n, from, m);
            n += m;
        }
        from += m + (from[m] == '/');
    }
    if (n == 0)
        out[n++] = '/';
    out[n] = '\0';
}

/* `key`: how the path is called in the answer; NULL: by its absolute path, and only where it leads elsewhere. */
static void path_look(linking *k, const char *folder, const char *path, const char *key)
{
    char whole[PATH_MAX], plain[PATH_MAX + 1];
    const pawl_value *led;
    const char *to;
    bool absolute, linked;

    if (!made_absolute(k, folder, path, whole))
        return;
    plainly(whole, plain);
    absolute = *whole == '/';
    if ((to = leads_to(k->mem, whole)) == NULL)
        return;
    linked = absolute && strcmp(to, plain) != 0;
    if (!linked && (key == NULL || strcmp(to, key) == 0))
        return;
    led = linked ? value_pack(k->mem, NULL, "{s:s}", "to", to) : value_string(k->mem, to, strlen(to));
    k->out = value_with(k->mem, k->out, key != NULL ? key : plain, led);
}

/* ---- folders into which a command may go ------------------------------------------------------------------------ */

static void folder_note(linking *k, const char *folder, const char *path)
{
    char whole[PATH_MAX];
    struct stat st;
    char *real;

    if (!made_absolute(k, folder, path, whole) || stat(whole, &st) != 0 || !S_ISDIR(st.st_mode) || (real = realpath(whole, NULL)) == NULL)
        return;
    for (size_t i = 0; i < k->nfolders; i++)
        if (strcmp(k->folders[i], real) == 0) {
            free(real);
            return;
        }
    k->full = k->full || k->nfolders == FOLDERS_MAX;
    if (!k->full)
        k->folders[k->nfolders++] = arena_text(k->mem, real);
    free(real);
}

/* The command is not read here: any folder that it names may be one that it goes to. */
static void folders_find(linking *k, const pawl_value *paths)
{
    const pawl_value *one;

    for (size_t i = 0; i < k->nfolders && !k->full && !k->mem->failed; i++) {
        pawl_iter it = pawl_iter_of(paths);

        while ((one = pawl_iter_next(&it, NULL)) != NULL)
            if (pawl_value_string(one) != NULL)
                folder_note(k, k->folders[i], pawl_value_string(one));
    }
}

static void folders_look(linking *k, const pawl_value *paths)
{
    const pawl_value *one;

    for (size_t i = 1; i < k->nfolders && !k->mem->failed; i++) {
        pawl_iter it = pawl_iter_of(paths);

        while ((one = pawl_iter_next(&it, NULL)) != NULL)
            if (pawl_value_string(one) != NULL && !begins_anywhere(k, pawl_value_string(one)))
                path_look(k, k->folders[i], pawl_value_string(one), NULL);
    }
}

const pawl_value *links_of(arena *mem, const char *cwd, const pawl_value *paths, pawl_err *err)
{
    linking k = { .mem = mem, .home = getenv("HOME"), .out = value_pack(mem, NULL, "{}") };
    pawl_iter it = pawl_iter_of(paths);
    const pawl_value *one;

    while ((one = pawl_iter_next(&it, NULL)) != NULL)
        if (pawl_value_string(one) != NULL)
            path_look(&k, cwd, pawl_value_string(one), pawl_value_string(one));
    if (cwd != NULL && *cwd == '/' && pawl_value_size(paths) > 1) {
        k.folders[k.nfolders++] = cwd;
        folders_find(&k, paths);
        folders_look(&k, paths);
    }
    if (!mem->failed && !k.full)
        return k.out;
    if (mem->failed)
        fail(err, PAWL_NOMEM, "links: no memory");
    else
        fail(err, PAWL_EFFECT, "links: the command names more than %d folders, into which it may go (FOLDERS_MAX)", FOLDERS_MAX);
    return NULL;
}
