/* cgroup.c - makes a control group for one command below the group of this process, and removes it.
 *
 * Called by tool/bash.c, on any thread. In v2 a group with processes of its own gives its children no limits, so the new group may also be made beside the
 * group of this process. Whoever may not write there has no group: limits of each process hold all the same (src/inside/). */
#define _GNU_SOURCE             /* O_PATH */
#include "effect/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MOUNT "/sys/fs/cgroup"
enum { LINE_SIZE = PATH_MAX + 64, REMOVE_TIMES = 105, REMOVE_FIRST_NS = 50000, REMOVE_WAIT_NS = 2000000, LEFT_SECONDS = 600 };

/* ---- files of a group ---------------------------------------------------------------------------------- */

static bool file_of(const char *folder, const char *name, char path[PATH_MAX])
{
    return snprintf(path, PATH_MAX, "%s/%s", folder, name) < PATH_MAX;
}

static bool write_number(const char *folder, const char *name, uint64_t number)
{
    char path[PATH_MAX], text[24];
    const int n = snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    const int fd = file_of(folder, name, path) ? open(path, O_WRONLY | O_CLOEXEC) : -1;
    const bool good = fd >= 0 && write(fd, text, (size_t)n) == n;

    if (fd >= 0)
        close(fd);
    return good;
}

static bool has_word(const char *folder, const char *name, const char *word)
{
    char path[PATH_MAX], text[512], *at;
    FILE *f = file_of(folder, name, path) ? fopen(path, "re") : NULL;
    bool found = false;

    if (f == NULL)
        return false;
    if (fgets(text, sizeof text, f) != NULL)
        for (char *rest = text; !found && (at = strtok_r(rest, " \n", &rest)) != NULL;)
            found = strcmp(at, word) == 0;
    fclose(f);
    return found;
}

/* ---- left behind ----------------------------------------------------------------------------------------- */

/* A process that was killed leaves its group, which is empty then. Only those that are old: a new one may belong to a process that cannot be seen here. */
static void remove_left(const char *parent)
{
    DIR *dir = opendir(parent);
    const struct dirent *one;
    struct stat st;
    char path[PATH_MAX];

    while (dir != NULL && (one = readdir(dir)) != NULL) {
        const long pid = strncmp(one->d_name, "pawl-", 5) == 0 ? strtol(one->d_name + 5, NULL, 10) : 0;

        if (pid > 1 && kill((pid_t)pid, 0) != 0 && errno == ESRCH && file_of(parent, one->d_name, path) && stat(path, &st) == 0 &&
            st.st_ctime + LEFT_SECONDS < time(NULL))
            (void)rmdir(path);
    }
    if (dir != NULL)
        closedir(dir);
}

/* ---- made ------------------------------------------------------------------------------------------------ */

/* A new folder in `parent`, with its file `entry` open. */
static bool folder_make(cgroup *g, const char *parent, const char *entry)
{
    static atomic_uint count;
    static atomic_flag looked[CGROUP_FOLDERS_MAX] = { ATOMIC_FLAG_INIT, ATOMIC_FLAG_INIT };
    char *folder = g->folders[g->n], path[PATH_MAX];

    if (!atomic_flag_test_and_set(&looked[g->n]))
        remove_left(parent);
    if (snprintf(folder, PATH_MAX, "%s/pawl-%ld-%u", parent, (long)getpid(), atomic_fetch_add(&count, 1)) >= PATH_MAX || mkdir(folder, 0700) != 0)
        return false;
    if (!file_of(folder, entry, path) || (g->entries[g->n] = open(path, O_WRONLY | O_CLOEXEC)) < 0) {
        (void)rmdir(folder);
        return false;
    }
    g->n++;
    return true;
}

/* `path` is what /proc/self/cgroup says of v2: the group itself, or the one that it is in. */
static bool v2_make(cgroup *g, const char *path, uint64_t processes, uint64_t memory)
{
    char parent[PATH_MAX], *slash;

    if (snprintf(parent, sizeof parent, MOUNT "%s", strcmp(path, "/") == 0 ? "" : path) >= (int)sizeof parent)
        return false;
    for (int i = 0; i < 2; i++) {
        if (has_word(parent, "cgroup.subtree_control", "pids") && folder_make(g, parent, "cgroup.procs")) {
            if (write_number(g->folders[0], "pids.max", processes)) {
                (void)write_number(g->folders[0], "memory.max", memory);
                return true;
            }
            cgroup_end(g);
        }
        if (strlen(parent) <= sizeof MOUNT - 1 || (slash = strrchr(parent, '/')) == NULL)
            return false;
        *slash = '\0';
    }
    return false;
}

/* Entered by `tasks`: the kernel moves a thread that moves itself at once. By `cgroup.procs` it first waits, up to 10 ms, until no process of the machine
 * starts or ends a thread. */
static bool v1_make(cgroup *g, const char *kind, const char *path, const char *file, uint64_t most)
{
    char parent[PATH_MAX];

    if (g->n == CGROUP_FOLDERS_MAX || snprintf(parent, sizeof parent, MOUNT "/%s%s", kind, strcmp(path, "/") == 0 ? "" : path) >= (int)sizeof parent)
        return false;
    if (!folder_make(g, parent, "tasks"))
        return false;
    if (write_number(g->folders[g->n - 1], file, most))
        return true;
    g->n--;
    close(g->entries[g->n]);
    (void)rmdir(g->folders[g->n]);
    return false;
}

bool cgroup_make(cgroup *g, uint64_t processes, uint64_t memory)
{
    char line[LINE_SIZE], v2[LINE_SIZE] = "";
    FILE *f = fopen("/proc/self/cgroup", "re");
    bool counted = false;

    g->n = 0;
    if (f == NULL)
        return false;
    while (fgets(line, sizeof line, f) != NULL) {
        char *kind = strchr(line, ':'), *path = kind != NULL ? strchr(kind + 1, ':') : NULL;

        if (path == NULL)
            continue;
        *path++ = '\0';
        path[strcspn(path, "\n")] = '\0';
        if (kind[1] == '\0')
            memcpy(v2, path, strlen(path) + 1);
        else if (strcmp(kind + 1, "pids") == 0)
            counted = v1_make(g, "pids", path, "pids.max", processes);
        else if (strcmp(kind + 1, "memory") == 0)
            (void)v1_make(g, "memory", path, "memory.limit_in_bytes", memory);
    }
    fclose(f);
    if (counted)
        return true;
    cgroup_end(g);
    return v2[0] != '\0' && v2_make(g, v2, processes, memory);
}

/* ---- ended ------------------------------------------------------------------------------------------------ */

static void kill_all(const char *folder)
{
    char path[PATH_MAX], line[32];
    FILE *f;

    if (write_number(folder, "cgroup.kill", 1) || !file_of(folder, "cgroup.procs", path) || (f = fopen(path, "re")) == NULL)
        return;
    while (fgets(line, sizeof line, f) != NULL) {
        const long pid = strtol(line, NULL, 10);

        if (pid > 1)
            (void)kill((pid_t)pid, SIGKILL);
    }
    fclose(f);
}

/* The last process of a sandbox ends a moment after the one that is waited for: usually within the first of these waits. */
static void folder_remove(const char *folder)
{
    struct timespec moment = { .tv_nsec = REMOVE_FIRST_NS };

    for (int i = 0; rmdir(folder) != 0 && errno == EBUSY && i < REMOVE_TIMES; i++) {
        kill_all(folder);
        nanosleep(&moment, NULL);
        moment.tv_nsec = 2 * moment.tv_nsec < REMOVE_WAIT_NS ? 2 * moment.tv_nsec : REMOVE_WAIT_NS;
    }
}

void cgroup_end(cgroup *g)
{
    for (size_t i = 0; i < g->n; i++) {
        close(g->entries[i]);
        folder_remove(g->folders[i]);
    }
    g->n = 0;
}
