/* store_place.c - finds and makes the place of a project's store: $XDG_STATE_HOME/pawl/NAME-HASH/pawl.db.
 *
 * Called by locate.c and the verbs, on the main thread. NAME is the last part of the project's path, for people; HASH is of the whole path. A file
 * `project` beside the store has the path. */
#define _GNU_SOURCE             /* O_DIRECTORY */
#include "cli/store_place.h"
#include "effect/reach.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_LETTERS_MAX = 40, HASH_LETTERS = 12 };

/* ---- found ------------------------------------------------------------------------------------------------ */

static bool mine(const struct stat *st) { return st->st_uid == geteuid() || st->st_uid == 0; }

/* Into `at`: the next folder upward; false: it is the root. */
static bool folder_up(char *at)
{
    size_t n = strlen(at);

    if (n <= 1)
        return false;
    while (n > 1 && at[n - 1] != '/')
        n--;
    at[n > 1 ? n - 1 : 1] = '\0';
    return true;
}

static bool has(const char *folder, const char *name, struct stat *st)
{
    char path[STORE_URL_BYTES + 16];

    snprintf(path, sizeof path, "%s/%s", strcmp(folder, "/") == 0 ? "" : folder, name);
    return strlen(path) < STORE_URL_BYTES && stat(path, st) == 0;
}

static void project_find(char project[STORE_URL_BYTES], const char *from)
{
    char at[STORE_URL_BYTES];
    struct stat st;

    snprintf(project, STORE_URL_BYTES, "%s", from);
    snprintf(at, sizeof at, "%s", from);
    do {
        if ((has(at, ".pawl", &st) && S_ISDIR(st.st_mode) && mine(&st)) || (has(at, ".git", &st) && mine(&st))) {
            memcpy(project, at, sizeof at);
            return;
        }
    } while (folder_up(at));
}

static void old_find(store_place *p, const char *from)
{
    char at[STORE_URL_BYTES];
    struct stat st;

    snprintf(at, sizeof at, "%s", from);
    do {
        if (!has(at, OWN_STORE, &st) || !S_ISREG(st.st_mode))
            continue;
        snprintf(p->found, sizeof p->found, "%.*s/" OWN_STORE, (int)sizeof p->found - 16, strcmp(at, "/") == 0 ? "" : at);
        snprintf(p->owned, sizeof p->owned, "%s", mine(&st) ? "" : "another user");
        return;
    } while (folder_up(at));
}

static bool in_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

static void folder_name(const char *project, char out[NAME_LETTERS_MAX + HASH_LETTERS + 2])
{
    const char *last = strrchr(project, '/') + 1;
    char hex[HASH_HEX + 1];
    size_t n = 0;
    hash h;

    for (; *last != '\0' && n < NAME_LETTERS_MAX; last++)
        if (in_name(*last) && (n > 0 || *last != '.'))
            out[n++] = *last;
    if (n == 0)
        memcpy(out, "root", n = 4);
    hash_of(project, strlen(project), &h);
    hash_hex(&h, hex);
    snprintf(out + n, HASH_LETTERS + 2, "-%.*s", HASH_LETTERS, hex);
}

pawl_code store_place_find(store_place *p, pawl_err *err)
{
    char cwd[STORE_URL_BYTES], state[OWN_PATH_BYTES], name[NAME_LETTERS_MAX + HASH_LETTERS + 2];
    struct stat st;

    *p = (store_place){ .there = false };
    if (getcwd(cwd, sizeof cwd) == NULL)
        return fail(err, PAWL_IO, "the path of this folder is unknown: %s; name a store, --store sqlite:PATH", strerror(errno));
    project_find(p->project, cwd);
    old_find(p, cwd);
    folder_name(p->project, name);
    if (!own_folder_path(OWN_STATE, state) || strlen(state) + sizeof name + 64 > sizeof p->path)
        return PAWL_OK;
    snprintf(p->folder, sizeof p->folder, "%.4000s/%s", state, name);
    snprintf(p->path, sizeof p->path, "%.4070s/" OWN_STORE, p->folder);
    p->there = stat(p->path, &st) == 0;
    return PAWL_OK;
}

pawl_code store_place_needed(const store_place *p, pawl_err *err)
{
    return p->folder[0] != '\0' ? PAWL_OK
           : fail(err, PAWL_IO, "there is no place for the store: neither XDG_STATE_HOME nor HOME is set to an absolute path; set one of them, or name a store, "
                  "--store sqlite:PATH");
}

/* ---- made ------------------------------------------------------------------------------------------------- */

pawl_code private_folder_make(const char *folder, pawl_err *err)
{
    char path[STORE_URL_BYTES];

    snprintf(path, sizeof path, "%s", folder);
    for (char *at = path + 1;; at++) {
        const char was = *at;

        if (was != '/' && was != '\0')
            continue;
        *at = '\0';
        if (mkdir(path, 0700) != 0 && errno != EEXIST)
            return fail(err, PAWL_IO, "%.120s cannot be made, for the store: %s; set XDG_STATE_HOME to a folder that can be written, or name a store, "
                        "--store sqlite:PATH", path, strerror(errno));
        if ((*at = was) == '\0')
            return PAWL_OK;
    }
}

/* The path in a file `project`; false: it cannot be read. */
static bool project_read(int folder, char out[STORE_URL_BYTES])
{
    const int fd = openat(folder, "project", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    const ssize_t n = fd < 0 ? -1 : read(fd, out, STORE_URL_BYTES - 1);

    if (fd >= 0)
        close(fd);
    if (n < 1 || out[n - 1] != '\n')
        return false;
    out[n - 1] = '\0';
    return true;
}

static pawl_code project_write(int folder, const store_place *p, pawl_err *err)
{
    const int fd = openat(folder, "project", O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    const bool good = fd >= 0 && dprintf(fd, "%s\n", p->project) > 0;

    if (fd >= 0)
        close(fd);
    return good ? PAWL_OK : fail(err, PAWL_IO, "%.160s/project cannot be written: %s", p->folder, strerror(errno));
}

pawl_code store_place_make(const store_place *p, pawl_err *err)
{
    char project[STORE_URL_BYTES];
    pawl_code rc = store_place_needed(p, err);
    int folder;

    if (rc != PAWL_OK || (rc = private_folder_make(p->folder, err)) != PAWL_OK)
        return rc;
    if ((folder = open(p->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
        return fail(err, PAWL_IO, "%.160s cannot be opened: %s", p->folder, strerror(errno));
    if (!project_read(folder, project))
        rc = project_write(folder, p, err);
    else if (strcmp(project, p->project) != 0)
        rc = fail(err, PAWL_CONFLICT, "%.120s has the store of another project, %.120s; name a store, --store sqlite:PATH", p->folder, project);
    close(folder);
    return rc;
}

/* ---- all of them -------------------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

static char **names_of(arena *mem, DIR *dir, size_t *n)
{
    void *names = NULL;
    size_t cap = 0;
    struct dirent *e;

    while ((e = readdir(dir)) != NULL && !mem->failed)
        if (e->d_name[0] != '.' && arena_room(mem, &names, &cap, *n, sizeof(char *)))
            ((char **)names)[(*n)++] = arena_text(mem, e->d_name);
    if (*n > 0 && !mem->failed)
        qsort(names, *n, sizeof(char *), by_name);
    return names;
}

pawl_code store_places(arena *mem, store_place_fn *fn, void *ctx, pawl_err *err)
{
    char state[OWN_PATH_BYTES], path[OWN_PATH_BYTES + 300], project[STORE_URL_BYTES];
    DIR *dir = NULL;
    char **names;
    size_t n = 0;
    struct stat st;

    if (!own_folder_path(OWN_STATE, state))
        return store_place_needed(&(store_place){ .there = false }, err);
    if ((dir = opendir(state)) == NULL)
        return errno == ENOENT ? PAWL_OK : fail(err, PAWL_IO, "%.160s cannot be read: %s", state, strerror(errno));
    names = names_of(mem, dir, &n);
    for (size_t i = 0; i < n && !mem->failed; i++) {
        const int folder = openat(dirfd(dir), names[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        if (folder >= 0 && fstatat(folder, OWN_STORE, &st, 0) == 0) {
            snprintf(path, sizeof path, "%s/%.255s/" OWN_STORE, state, names[i]);
            if (!fn(ctx, project_read(folder, project) ? project : names[i], path))
                n = 0;
        }
        if (folder >= 0)
            close(folder);
    }
    closedir(dir);
    return mem->failed ? fail(err, PAWL_NOMEM, "no memory for the stores") : PAWL_OK;
}
