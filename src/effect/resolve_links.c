/* resolve_links.c - resolves the links of paths in a command, because rules about paths apply to their targets.
 *
 * Called by app/handlers.c for the effect `links`, on any thread. Reads the file system, owns nothing. */
#define _XOPEN_SOURCE 700       /* realpath, readlink */
#include "effect/resolve_links.h"
#include "effect/hard_links.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LINKS_IN_A_ROW = 40,        /* as in the kernel */
    FOLDERS_MAX = 256           /* that one command may go to */
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
    const link_rules *rules;    /* NULL: no rules, and no name but the path matters */
    denied_files *denied[2];    /* for what may not be read, and not be edited; NULL: not looked for yet */
    denied_ways *ways[2];       /* the same */
    char real_cwd[PATH_MAX];    /* cwd without links; "": as it is given */
    const char *cwd;
    const char *unknown;        /* a file with several names, of which it is not known whether a rule denies one; NULL: none */
    bool up;                    /* a path has .. in it: by that it may lead out of a folder that is not made yet */
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

/* The rest of a path that begins at the working folder of the process that opens it, which is not this one; NULL: it does not. */
static const char *from_own_folder(const char *path)
{
    static const char *const ways[] = { "/proc/self/cwd", "/proc/thread-self/cwd" };

    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        const size_t n = strlen(ways[i]);

        if (strncmp(path, ways[i], n) == 0 && (path[n] == '/' || path[n] == '\0'))
            return path + n + strspn(path + n, "/");
    }
    return NULL;
}

/* `path` seen from `folder`. False: too long. */
static bool made_absolute(const linking *k, const char *folder, const char *path, char whole[PATH_MAX])
{
    const bool home = at_home(k, path);
    int n;

    if (folder != NULL && from_own_folder(path) != NULL)
        path = from_own_folder(path);
    if (home || *path == '/' || folder == NULL)
        n = snprintf(whole, PATH_MAX, "%s%s", home ? k->home : "", home ? path + 1 : path);
    else
        n = snprintf(whole, PATH_MAX, "%s/%s", folder, path);
    return n >= 0 && n < PATH_MAX;
}

void path_plainly(const char *from, char *out)
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

/* Another name of the file, which a deny rule fits; NULL: none. What may not be read comes first, since it may not be edited either. */
static const char *denied_name(linking *k, const char *path)
{
    static const struct { const char *tool; pawl_permission cls; } uses[] = { { "Read", PAWL_PERMISSION_READ }, { "Edit", PAWL_PERMISSION_EDIT } };
    const char *twin = NULL;
    struct stat st;

    if (k->rules == NULL || k->rules->policy == NULL)
        return NULL;
    for (size_t i = 0; i < 2 && twin == NULL; i++) {
        const file_use u = { uses[i].tool, uses[i].cls, k->rules->time_ms };

        if (k->ways[i] == NULL && (k->ways[i] = denied_ways_find(k->mem, k->rules->policy, &u)) == NULL)
            return NULL;
        if ((twin = denied_ways_name(k->ways[i], k->mem, path)) != NULL || stat(path, &st) != 0 || !S_ISREG(st.st_mode) || st.st_nlink < 2)
            continue;
        if (k->denied[i] == NULL && (k->denied[i] = denied_files_find(k->mem, k->rules->policy, &u, k->rules->stop, k->rules->ctx)) == NULL)
            return NULL;
        twin = denied_files_twin(k->denied[i], &st);
        if (twin == NULL && denied_files_cut(k->denied[i]))
            k->unknown = arena_text(k->mem, path);
    }
    return twin;
}

/* A path below the working folder as it is given, though that has links: they lead nowhere else than the folder itself. */
static const char *seen_from_cwd(linking *k, const char *path)
{
    const size_t n = strlen(k->real_cwd);
    char whole[2 * PATH_MAX];

    if (n == 0 || strncmp(path, k->real_cwd, n) != 0 || (path[n] != '/' && path[n] != '\0'))
        return path;
    snprintf(whole, sizeof whole, "%s%s", k->cwd, path + n);
    return arena_text(k->mem, whole);
}

/* `key`: how the path is called in the answer; NULL: by its absolute path, and only where it leads elsewhere. */
static void path_resolve(linking *k, const char *folder, const char *path, const char *key)
{
    char whole[PATH_MAX], plain[PATH_MAX + 1];
    const pawl_value *led;
    const char *to, *same, *here;
    bool absolute, linked;

    if (!made_absolute(k, folder, path, whole))
        return;
    path_plainly(whole, plain);
    absolute = *whole == '/';
    if ((to = leads_to(k->mem, whole)) != NULL && absolute && strstr(to, "/..") != NULL && strlen(to) < PATH_MAX) {
        path_plainly(to, whole);        /* its .. leave a folder that is not there yet */
        to = leads_to(k->mem, whole);
    }
    if (to == NULL)
        return;
    if ((here = seen_from_cwd(k, to)) == NULL)
        return;
    linked = absolute && strcmp(here, plain) != 0;
    if ((same = denied_name(k, to)) == NULL && here != to)
        same = to;
    to = here;
    if (!linked && same == NULL && (key == NULL || strcmp(to, key) == 0))
        return;
    if (!linked && same == NULL)
        led = value_string(k->mem, to, strlen(to));
    else
        led = linked ? value_pack(k->mem, NULL, "{s:s}", "to", to) : value_pack(k->mem, NULL, "{}");
    if (same != NULL)
        led = value_with(k->mem, led, "same", value_string(k->mem, same, strlen(same)));
    k->out = value_with(k->mem, k->out, key != NULL ? key : plain, led);
}

/* ---- folders into which a command may go ------------------------------------------------------------------------ */

static void folder_add(linking *k, const char *path)
{
    for (size_t i = 0; i < k->nfolders; i++)
        if (strcmp(k->folders[i], path) == 0)
            return;
    k->full = k->full || k->nfolders == FOLDERS_MAX;
    if (!k->full)
        k->folders[k->nfolders++] = arena_text(k->mem, path);
}

static void folder_note(linking *k, size_t from, const char *path)
{
    char whole[PATH_MAX], plain[PATH_MAX + 1], *real;
    struct stat st;

    if (!made_absolute(k, k->folders[from], path, whole))
        return;
    if (stat(whole, &st) == 0) {
        if (S_ISDIR(st.st_mode) && (real = realpath(whole, NULL)) != NULL) {
            folder_add(k, real);
            free(real);
        }
    } else if (k->up && from == 0) {
        path_plainly(whole, plain);
        folder_add(k, plain);
    }
}

/* The command is not read here: any folder that it names may be one that it goes to. */
static void folders_find(linking *k, const pawl_value *paths)
{
    const pawl_value *one;

    for (size_t i = 0; i < k->nfolders && !k->full && !k->mem->failed; i++) {
        pawl_iter it = pawl_iter_of(paths);

        while ((one = pawl_iter_next(&it, NULL)) != NULL)
            if (pawl_value_string(one) != NULL)
                folder_note(k, i, pawl_value_string(one));
    }
}

static void folders_resolve(linking *k, const pawl_value *paths)
{
    const pawl_value *one;

    for (size_t i = 1; i < k->nfolders && !k->mem->failed; i++) {
        pawl_iter it = pawl_iter_of(paths);

        while ((one = pawl_iter_next(&it, NULL)) != NULL)
            if (pawl_value_string(one) != NULL && !begins_anywhere(k, pawl_value_string(one)))
                path_resolve(k, k->folders[i], pawl_value_string(one), NULL);
    }
}

const pawl_value *links_of(arena *mem, const char *cwd, const pawl_value *paths, const link_rules *rules, pawl_err *err)
{
    linking k = { .mem = mem, .rules = rules, .home = getenv("HOME"), .out = value_pack(mem, NULL, "{}") };
    pawl_iter it = pawl_iter_of(paths);
    char plain[PATH_MAX + 1];
    const pawl_value *one;

    if (cwd != NULL && *cwd == '/' && strlen(cwd) < PATH_MAX) {
        path_plainly(cwd, plain);
        if (realpath(cwd, k.real_cwd) == NULL || strcmp(k.real_cwd, plain) == 0)
            k.real_cwd[0] = '\0';
        k.cwd = arena_text(mem, plain);
    }
    while ((one = pawl_iter_next(&it, NULL)) != NULL)
        if (pawl_value_string(one) != NULL) {
            path_resolve(&k, cwd, pawl_value_string(one), pawl_value_string(one));
            k.up = k.up || strstr(pawl_value_string(one), "..") != NULL;
        }
    if (cwd != NULL && *cwd == '/' && pawl_value_size(paths) > 1) {
        k.folders[k.nfolders++] = cwd;
        folders_find(&k, paths);
        folders_resolve(&k, paths);
    }
    if (!mem->failed && !k.full && k.unknown == NULL)
        return k.out;
    if (mem->failed)
        fail(err, PAWL_NOMEM, "links: no memory");
    else if (k.unknown != NULL)
        fail(err, PAWL_EFFECT, "links: %.200s has several names, and there are too many names below the places of the deny rules to look for them "
                               "(DENIED_SEEN_MAX, %d)", k.unknown, DENIED_SEEN_MAX);
    else
        fail(err, PAWL_EFFECT, "links: the command names more than %d folders, into which it may go (FOLDERS_MAX)", FOLDERS_MAX);
    return NULL;
}
