/* reach.c - which files and folders are Pawl's own, so that no tool opens them, whatever name leads there (P9).
 *
 * Called by engines, which keep their store here, and by the tools and the sandbox, on any thread: the list of stores has a lock. A file is recognized by
 * its device and inode, so links of both kinds do not matter; a file that does not exist yet by its folder and its name. */
#define _XOPEN_SOURCE 700       /* realpath */
#include "effect/reach.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The names of the files that SQLite, the store and the readers of its journals put beside a file, and of the file itself. */
static const char *const ends[] = { "", "-wal", "-shm", "-journal", "-lock", ".metrics", ".metrics-journal", ".spans", ".spans-journal" };
enum { ENDS = sizeof ends / sizeof *ends };

/* ---- Pawl's own folders --------------------------------------------------------------------------------- */

bool own_folder_path(own_folder which, char out[OWN_PATH_BYTES])
{
    static const struct { const char *variable, *below; } all[OWN_FOLDERS] = {
        [OWN_STATE] = { "XDG_STATE_HOME", "/.local/state" },
        [OWN_CONFIG] = { "XDG_CONFIG_HOME", "/.config" },
    };
    const char *given = getenv(all[which].variable), *home = getenv("HOME"), *below = "";

    if (given == NULL || *given != '/') {
        given = home;
        below = all[which].below;
    }
    return given != NULL && *given == '/' && snprintf(out, OWN_PATH_BYTES, "%s%s/pawl", given, below) < OWN_PATH_BYTES;
}

/* ---- stores --------------------------------------------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static reach_store *stores;

void reach_keep(reach_store *s)
{
    pthread_mutex_lock(&lock);
    s->next = stores;
    stores = s;
    pthread_mutex_unlock(&lock);
}

void reach_drop(reach_store *s)
{
    pthread_mutex_lock(&lock);
    for (reach_store **at = &stores; *at != NULL; at = &(*at)->next)
        if (*at == s) {
            *at = s->next;
            break;
        }
    pthread_mutex_unlock(&lock);
}

/* The links of the folder are resolved; the file may not exist, as when somebody removed it. */
static const char *whole(arena *mem, const char *path, const char *end)
{
    const char *slash = strrchr(path, '/');
    char folder[PATH_MAX], real[PATH_MAX], out[PATH_MAX + NAME_MAX + 16];

    if (slash == NULL || (size_t)(slash - path) + 2 > sizeof folder)
        return NULL;
    snprintf(folder, sizeof folder, "%.*s/", (int)(slash - path), path);
    if (realpath(folder, real) == NULL || snprintf(out, sizeof out, "%s/%s%s", strcmp(real, "/") == 0 ? "" : real, slash + 1, end) >= (int)sizeof out)
        return NULL;
    return arena_text(mem, out);
}

static bool files_put(arena *mem, const char *store, bool alone, const char **out, size_t *n)
{
    for (size_t i = 0; i < (alone ? 1 : ENDS) && out != NULL; i++)
        if ((out[*n] = whole(mem, store, ends[i])) != NULL)
            ++*n;
    return !mem->failed;
}

const char **reach_files(arena *mem, const char *const *more, size_t nmore, size_t *n)
{
    const char **out;
    size_t count = nmore;

    *n = 0;
    pthread_mutex_lock(&lock);
    for (reach_store *s = stores; s != NULL; s = s->next)
        count++;
    out = arena_get(mem, (count * ENDS + 1) * sizeof *out);
    for (reach_store *s = stores; s != NULL && files_put(mem, s->path, s->alone, out, n);)
        s = s->next;
    pthread_mutex_unlock(&lock);
    for (size_t i = 0; i < nmore && files_put(mem, more[i], false, out, n); i++)
        continue;
    return mem->failed ? NULL : out;
}

/* ---- a look ---------------------------------------------------------------------------------------------- */

typedef struct known {
    dev_t dev, dir_dev;
    ino_t ino, dir_ino;         /* of the file, and of its folder */
    bool there, dir_there;
    const char *name;
} known;

struct reach_list {
    known *files;
    size_t n;
    struct stat folders[OWN_FOLDERS];
    bool folder_there[OWN_FOLDERS];
};

static void file_add(known *k, arena *mem, const char *path)
{
    const char *name = strrchr(path, '/') + 1;
    char *folder = arena_strdup(mem, path, (size_t)(name - path));
    struct stat st;

    *k = (known){ .name = name };
    if ((k->there = stat(path, &st) == 0)) {
        k->dev = st.st_dev;
        k->ino = st.st_ino;
    }
    if ((k->dir_there = folder != NULL && stat(folder, &st) == 0)) {
        k->dir_dev = st.st_dev;
        k->dir_ino = st.st_ino;
    }
}

/* The files of the settings folder, because a hard link to one of them may be elsewhere. */
static const char *const settings_files[] = { "settings.json", "trusted.json", "approvers.json" };
enum { SETTINGS_FILES = sizeof settings_files / sizeof *settings_files };

static void settings_add(reach_list *r, arena *mem)
{
    char folder[OWN_PATH_BYTES], path[OWN_PATH_BYTES + 32];

    for (size_t i = 0; i < SETTINGS_FILES && own_folder_path(OWN_CONFIG, folder); i++) {
        const char *kept;

        snprintf(path, sizeof path, "%s/%s", folder, settings_files[i]);
        if ((kept = arena_text(mem, path)) != NULL)
            file_add(&r->files[r->n++], mem, kept);
    }
}

/* The keys of the person, each of which may have a hard link elsewhere, too. False: they are not known, so that no file may be opened. */
static bool keys_add(reach_list *r, arena *mem, size_t cap)
{
    char folder[OWN_PATH_BYTES], path[OWN_PATH_BYTES + NAME_MAX + 16];
    struct dirent *e;
    DIR *dir;
    bool good = true;

    if (!own_folder_path(OWN_CONFIG, folder))
        return true;
    snprintf(path, sizeof path, "%s/keys", folder);
    if ((dir = opendir(path)) == NULL)
        return errno == ENOENT || errno == ENOTDIR || errno == EACCES;       /* where this user may not look, none of its tools may */
    for (errno = 0; good && (e = readdir(dir)) != NULL; errno = 0) {
        const char *kept;

        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        snprintf(path, sizeof path, "%s/keys/%s", folder, e->d_name);
        good = (kept = arena_text(mem, path)) != NULL && arena_room(mem, (void **)&r->files, &cap, r->n, sizeof *r->files);
        if (good)
            file_add(&r->files[r->n++], mem, kept);
    }
    good = good && errno == 0;
    closedir(dir);
    return good;
}

reach_list *reach_read(arena *mem)
{
    char path[OWN_PATH_BYTES];
    reach_list *r = arena_zero(mem, sizeof *r);
    const char **files;
    size_t n;

    if (r == NULL || (files = reach_files(mem, NULL, 0, &n)) == NULL || (r->files = arena_get(mem, (n + SETTINGS_FILES) * sizeof *r->files)) == NULL)
        return NULL;
    for (r->n = 0; r->n < n; r->n++)
        file_add(&r->files[r->n], mem, files[r->n]);
    settings_add(r, mem);
    if (!keys_add(r, mem, n + SETTINGS_FILES))
        return NULL;
    for (int i = 0; i < OWN_FOLDERS; i++)
        r->folder_there[i] = own_folder_path((own_folder)i, path) && stat(path, &r->folders[i]) == 0;
    return mem->failed ? NULL : r;
}

static bool own(const reach_list *r, const struct stat *st)
{
    for (int i = 0; i < OWN_FOLDERS; i++)
        if (r->folder_there[i] && r->folders[i].st_dev == st->st_dev && r->folders[i].st_ino == st->st_ino)
            return true;
    return false;
}

static bool store_name(const char *name)
{
    const size_t n = sizeof OWN_STORE - 1;

    for (size_t i = 0; strncmp(name, OWN_STORE, n) == 0 && i < ENDS; i++)
        if (strcmp(name + n, ends[i]) == 0)
            return true;
    return false;
}

bool reach_forbids(const reach_list *r, int dir, const char *name, const struct stat *st)
{
    struct stat folder;

    if (st != NULL && S_ISDIR(st->st_mode))
        return own(r, st);
    if (store_name(name))
        return true;
    for (size_t i = 0; i < r->n; i++) {
        const known *k = &r->files[i];

        if (st != NULL && k->there && k->dev == st->st_dev && k->ino == st->st_ino)
            return true;
        if (k->dir_there && strcmp(name, k->name) == 0 && fstat(dir, &folder) == 0 && k->dir_dev == folder.st_dev && k->dir_ino == folder.st_ino)
            return true;
    }
    return false;
}

bool reach_encloses(const reach_list *r, const char *folder)
{
    char at[PATH_MAX];
    struct stat st;

    if (snprintf(at, sizeof at, "%s", folder) >= (int)sizeof at)
        return false;
    for (char *slash; at[0] != '\0'; *slash = '\0') {
        if (stat(at, &st) == 0 && own(r, &st))
            return true;
        slash = strrchr(at, '/');
    }
    return false;
}
