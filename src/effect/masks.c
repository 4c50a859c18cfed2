/* masks.c - finds what a sandbox must hide: the files of stores, and the folders of stores and settings; and what it must keep: hooks of git.
 *
 * Called by sandbox_view.c, on any thread. A command could make what is missing, as a journal that SQLite would then roll back into the store, so it is made
 * here first, empty, and hidden like the rest. It could also rename a folder above a mount, and put another one in its place, which the next process
 * outside would take for the real one; so these folders become mounts, too. */
#define _XOPEN_SOURCE 700       /* realpath */
#include "effect/masks.h"
#include "effect/reach.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Those of the machine are not in a sandbox, which has its own; the last ones and the home only in one that hides what it does not list. */
static const char *const replaced[] = { "/tmp", "/run", "/dev", "/proc", "/var/tmp" };
enum { REPLACED = sizeof replaced / sizeof *replaced, REPLACED_ALWAYS = 4, MODULES_DEEP = 16 /* folders of submodules in each other */ };

typedef struct mask_search {
    arena *mem;
    sandbox_folder *folders;    /* all that are shown, other than those of the system */
    size_t n;
    bool writes, hides;
    const char *home;
    masks *out;
    size_t cap, folders_cap;
} mask_search;

static bool lies_in(const char *path, const char *folder)
{
    const size_t n = strlen(folder);

    return strncmp(path, folder, n) == 0 && (path[n] == '/' || path[n] == '\0' || n == 1);
}

/* The innermost folder that contains a path; NULL: none. */
static const sandbox_folder *folder_of(const mask_search *f, const char *path)
{
    const sandbox_folder *best = NULL;

    for (size_t i = 0; i < f->n; i++)
        if (lies_in(path, f->folders[i].path) && (best == NULL || strlen(f->folders[i].path) > strlen(best->path)))
            best = &f->folders[i];
    return best;
}

static bool visible(const mask_search *f, const char *path)
{
    const sandbox_folder *folder = folder_of(f, path);
    bool own = f->hides && f->home != NULL && lies_in(path, f->home);

    for (size_t i = 0; i < (f->hides ? REPLACED : REPLACED_ALWAYS); i++)
        own = own || lies_in(path, replaced[i]);
    return !own || (folder != NULL && strcmp(folder->path, "/") != 0);
}

static bool writable(const mask_search *f, const char *path)
{
    const sandbox_folder *folder = folder_of(f, path);

    return f->writes && folder != NULL && !folder->read_only;
}

static void folder_put(mask_search *f, sandbox_folder one)
{
    void *all = f->out->folders;

    for (size_t i = 0; one.path != NULL && i < f->out->nfolders; i++)
        if (strcmp(f->out->folders[i].path, one.path) == 0)
            return;
    if (one.path != NULL && arena_room(f->mem, &all, &f->folders_cap, f->out->nfolders, sizeof *f->out->folders)) {
        f->out->folders = all;
        f->out->folders[f->out->nfolders++] = one;
    }
}

/* Folders above a mount, which a command must not rename. */
static void above_put(mask_search *f, const char *path)
{
    char *at = arena_text(f->mem, path);

    for (char *slash; at != NULL && (slash = strrchr(at, '/')) != at && slash != NULL;) {
        const sandbox_folder *around;

        *slash = '\0';
        around = folder_of(f, at);
        if (writable(f, at) && strcmp(around->path, at) != 0)
            folder_put(f, (sandbox_folder){ arena_text(f->mem, at), false });
    }
}

static void mask_put(mask_search *f, const char *path, bool folder)
{
    void *all = f->out->all;
    char *at;

    for (size_t i = 0; i < f->out->n; i++)
        if (strcmp(f->out->all[i].path, path) == 0 || (f->out->all[i].folder && lies_in(path, f->out->all[i].path)))
            return;
    if (!arena_room(f->mem, &all, &f->cap, f->out->n, sizeof *f->out->all) || (at = arena_text(f->mem, path)) == NULL)
        return;
    f->out->all = all;
    f->out->all[f->out->n++] = (mask){ at, folder };
    above_put(f, path);
}

/* ---- what there is ---------------------------------------------------------------------------------------- */

/* Creates the folders of `path` that are missing. False: one cannot be. */
static bool folders_make(char *path)
{
    for (char *at = path + 1; *at != '\0'; at++)
        if (*at == '/') {
            *at = '\0';
            if (mkdir(path, 0700) != 0 && errno != EEXIST)
                return false;
            *at = '/';
        }
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}

static void own_folder_mask(mask_search *f, own_folder which)
{
    char path[OWN_PATH_BYTES], real[PATH_MAX];

    if (!own_folder_path(which, path))
        return;
    if (realpath(path, real) == NULL && (errno != ENOENT || !writable(f, path) || !folders_make(path) || realpath(path, real) == NULL))
        return;
    if (visible(f, real))
        mask_put(f, real, true);
}

static void file_mask(mask_search *f, const char *path)
{
    struct stat st;
    int fd;

    if (!visible(f, path))
        return;
    if (lstat(path, &st) == 0) {
        if (!S_ISDIR(st.st_mode))
            mask_put(f, path, false);
    } else if (errno == ENOENT && writable(f, path) && (fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)) >= 0) {
        close(fd);
        mask_put(f, path, false);
    }
}

static void denied_mask(mask_search *f, const char *path)
{
    struct stat st;

    if (visible(f, path) && lstat(path, &st) == 0 && !S_ISLNK(st.st_mode))
        mask_put(f, path, S_ISDIR(st.st_mode));
}

/* ---- git ------------------------------------------------------------------------------------------------- */

/* Not where the settings show that very file for writing. */
static void keep_put(mask_search *f, const char *path)
{
    if (!writable(f, path) || strcmp(folder_of(f, path)->path, path) == 0)
        return;
    folder_put(f, (sandbox_folder){ arena_text(f->mem, path), true });
    above_put(f, path);
}

/* Programs that git starts stand in hooks and config: who starts git there later, does so outside of the sandbox. `own`: what is missing is made. */
static void git_folder_keep(mask_search *f, const char *folder, bool own)
{
    char path[PATH_MAX];
    struct stat st;
    int fd;

    if (snprintf(path, sizeof path, "%s/hooks", folder) >= (int)sizeof path)
        return;
    if (stat(path, &st) == 0 || (own && writable(f, path) && mkdir(path, 0777) == 0))
        keep_put(f, path);
    if (snprintf(path, sizeof path, "%s/config.worktree", folder) < (int)sizeof path && stat(path, &st) == 0)
        keep_put(f, path);
    snprintf(path, sizeof path, "%s/config", folder);
    if (stat(path, &st) == 0)
        keep_put(f, path);
    else if (own && errno == ENOENT && writable(f, path) && (fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)) >= 0) {
        close(fd);
        keep_put(f, path);
    }
}

/* Calls `fn` for each folder in `folder`. */
typedef void git_folder_fn(mask_search *f, const char *folder, unsigned depth);
static void git_each(mask_search *f, const char *folder, unsigned depth, git_folder_fn *fn)
{
    char path[PATH_MAX];
    struct dirent *e;
    DIR *d = depth > 0 ? opendir(folder) : NULL;

    while (d != NULL && (e = readdir(d)) != NULL)
        if (e->d_name[0] != '.' && snprintf(path, sizeof path, "%s/%s", folder, e->d_name) < (int)sizeof path)
            fn(f, path, depth - 1);
    if (d != NULL)
        closedir(d);
}

/* A submodule is named by its path, and may have submodules. */
static void git_module_keep(mask_search *f, const char *folder, unsigned depth)
{
    char path[PATH_MAX];
    struct stat st;

    if (snprintf(path, sizeof path, "%s/HEAD", folder) >= (int)sizeof path)
        return;
    if (lstat(path, &st) != 0) {
        git_each(f, folder, depth, git_module_keep);
        return;
    }
    git_folder_keep(f, folder, false);
    if (snprintf(path, sizeof path, "%s/modules", folder) < (int)sizeof path)
        git_each(f, path, depth, git_module_keep);
}

/* A linked work tree: where it says that its repository is, and its configuration. */
static void git_tree_keep(mask_search *f, const char *folder, unsigned depth)
{
    static const char *const names[] = { "commondir", "config.worktree", "gitdir" };
    char path[PATH_MAX];
    struct stat st;

    (void)depth;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (snprintf(path, sizeof path, "%s/%s", folder, names[i]) < (int)sizeof path && stat(path, &st) == 0)
            keep_put(f, path);
}

/* The repository of a workspace; of a linked work tree the file that says where it is. */
static void git_keep(mask_search *f, const char *workspace)
{
    char git[PATH_MAX], head[PATH_MAX];
    struct stat st;

    if (snprintf(git, sizeof git, "%s/.git", workspace) >= (int)sizeof git || lstat(git, &st) != 0)
        return;
    if (S_ISREG(st.st_mode)) {
        keep_put(f, git);
        return;
    }
    if (realpath(git, head) == NULL)
        return;
    memcpy(git, head, sizeof git);
    if (snprintf(head, sizeof head, "%s/HEAD", git) >= (int)sizeof head)
        return;
    git_folder_keep(f, git, lstat(head, &st) == 0);
    if (snprintf(head, sizeof head, "%s/modules", git) < (int)sizeof head)
        git_each(f, head, MODULES_DEEP, git_module_keep);
    if (snprintf(head, sizeof head, "%s/worktrees", git) < (int)sizeof head)
        git_each(f, head, 1, git_tree_keep);
}

/* ---- settings of Claude Code ------------------------------------------------------------------------------- */

/* A folder of settings, with the hook scripts in it, which act outside of the sandbox. `made`: it is made if it is missing. */
static void settings_keep(mask_search *f, char path[PATH_MAX], bool made)
{
    char real[PATH_MAX];

    if (realpath(path, real) == NULL && (errno != ENOENT || !made || !writable(f, path) || !folders_make(path) || realpath(path, real) == NULL))
        return;
    keep_put(f, real);
}

/* The person's own folder of settings, which needs no trust. True: there is one. */
static bool person_keep(mask_search *f)
{
    const char *own = getenv("CLAUDE_CONFIG_DIR"), *home = getenv("HOME");
    const bool given = own != NULL && *own == '/';
    char path[PATH_MAX];
    struct stat st;

    if ((!given && (home == NULL || *home != '/')) ||
        snprintf(path, sizeof path, "%s%s", given ? own : home, given ? "" : "/.claude") >= (int)sizeof path)
        return false;
    settings_keep(f, path, true);
    return stat(path, &st) == 0;
}

/* A person without settings of Claude Code gets no empty folders for them. */
static void claude_keep(mask_search *f, const sandbox_ask *ask)
{
    const bool person = person_keep(f);
    char path[PATH_MAX];

    for (size_t i = 0; i < ask->n; i++)
        if (!ask->folders[i].read_only && strcmp(ask->folders[i].path, "/") != 0 &&
            snprintf(path, sizeof path, "%s/.claude", ask->folders[i].path) < (int)sizeof path)
            settings_keep(f, path, person);
}

/* Folders of trusted projects, below or above the workspace. */
static void given_keep(mask_search *f, const char *const *keep)
{
    char path[PATH_MAX];

    for (size_t i = 0; keep != NULL && keep[i] != NULL; i++)
        if (snprintf(path, sizeof path, "%s", keep[i]) < (int)sizeof path)
            settings_keep(f, path, false);
}

/* ---- stores ---------------------------------------------------------------------------------------------- */

/* A pawl.db that is not in use would be the store of the next process that is started in that folder. */
static const char **stores_of(arena *mem, const sandbox_folder *folders, size_t n, size_t *found)
{
    const char **out = arena_get(mem, (n + 1) * sizeof *out);
    char path[PATH_MAX];
    struct stat st;

    *found = 0;
    for (size_t i = 0; out != NULL && i < n; i++)
        if (snprintf(path, sizeof path, "%s/" OWN_STORE, strcmp(folders[i].path, "/") == 0 ? "" : folders[i].path) < (int)sizeof path &&
            lstat(path, &st) == 0 && S_ISREG(st.st_mode) && (out[*found] = arena_text(mem, path)) != NULL)
            ++*found;
    return out;
}

static size_t listed(const char *const *paths)
{
    size_t n = 0;

    while (paths != NULL && paths[n] != NULL)
        n++;
    return n;
}

/* The folders of `ask`, and those that the settings show beside them. */
static bool folders_gather(mask_search *f, const sandbox_ask *ask)
{
    const size_t nwrite = f->hides ? listed(ask->hidden->write) : 0, nread = f->hides ? listed(ask->hidden->read) : 0;

    if ((f->folders = arena_get(f->mem, (ask->n + nwrite + nread + 1) * sizeof *f->folders)) == NULL)
        return false;
    for (size_t i = 0; i < ask->n; i++)
        folder_put(f, f->folders[f->n++] = ask->folders[i]);
    for (size_t i = 0; i < nwrite; i++)
        f->folders[f->n++] = (sandbox_folder){ ask->hidden->write[i], false };
    for (size_t i = 0; i < nread; i++)
        f->folders[f->n++] = (sandbox_folder){ ask->hidden->read[i], true };
    return true;
}

pawl_code masks_find(arena *mem, const sandbox_ask *ask, const char *home, masks *out)
{
    mask_search f = { .mem = mem, .writes = ask->kind == SANDBOX_WORKSPACE, .hides = ask->hidden != NULL, .home = home, .out = out };
    const char **more, **files;
    size_t nfiles, nmore;

    *out = (masks){0};
    for (size_t i = 0; i < ask->n; i++)
        f.hides = f.hides && strcmp(ask->folders[i].path, "/") != 0;
    if (!folders_gather(&f, ask))
        return PAWL_NOMEM;
    for (size_t i = 0; i < ask->n && f.writes; i++)
        if (!ask->folders[i].read_only)
            git_keep(&f, ask->folders[i].path);
        else
            above_put(&f, ask->folders[i].path);
    if (f.writes) {
        claude_keep(&f, ask);
        given_keep(&f, ask->keep);
    }
    own_folder_mask(&f, OWN_STATE);
    own_folder_mask(&f, OWN_CONFIG);
    if ((more = stores_of(mem, f.folders, f.n, &nmore)) == NULL || (files = reach_files(mem, more, nmore, &nfiles)) == NULL)
        return PAWL_NOMEM;
    for (size_t i = 0; i < nfiles; i++)
        file_mask(&f, files[i]);
    for (size_t i = 0; i < ask->ncovered; i++)
        denied_mask(&f, ask->covered[i]);
    return mem->failed ? PAWL_NOMEM : PAWL_OK;
}
