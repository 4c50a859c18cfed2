/* owner.c - the name of an engine in its leases, and whether the process of such a name is dead (S2).
 *
 * Called on any thread, without a lock: reads the system and keeps no state. A file of its own, because the system's headers have names that the
 * kernel has too.
 *
 * Invariant: a process is called dead only when its name says that it was of this host, this boot and this PID namespace, and no process has
 * its number now. A number of another namespace, as of another container with the same host name, says nothing here. */
#include "engine/run/owner.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HOST_BYTES = 48, BOOT_BYTES = 13, SPACE_BYTES = 48 };    /* BOOT_BYTES: the first 12 hex digits of the boot id */

static void host_name(char host[static HOST_BYTES])
{
    memset(host, 0, HOST_BYTES);
    if (gethostname(host, HOST_BYTES - 1) != 0 || *host == '\0')
        memcpy(host, "here", 5);
    for (char *at = host; *at != '\0'; at++)
        if (*at == ':')
            *at = '_';
}

static bool boot_id(char boot[static BOOT_BYTES])
{
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "rb");
    size_t n = 0;

    for (int c; f != NULL && n < BOOT_BYTES - 1 && (c = fgetc(f)) != EOF && c != '\n';)
        if (c != '-')
            boot[n++] = (char)c;
    boot[n] = '\0';
    if (f != NULL)
        fclose(f);
    return n > 0;
}

/* "BOOT.NAMESPACE", in which a process number is valid; "": the system does not provide it. */
static void pid_space(char space[static SPACE_BYTES])
{
    char boot[BOOT_BYTES];
    struct stat st;

    *space = '\0';
    if (boot_id(boot) && stat("/proc/self/ns/pid", &st) == 0)
        snprintf(space, SPACE_BYTES, "%s.%llu", boot, (unsigned long long)st.st_ino);
}

void owner_name(char *out, size_t size, uint64_t number)
{
    char host[HOST_BYTES], space[SPACE_BYTES];

    host_name(host);
    pid_space(space);
    snprintf(out, size, "%s:%ld:%08llx:%s", host, (long)getpid(), (unsigned long long)(number >> 32), space);
}

/* Whether the process is a zombie, which kill() still finds. Without /proc it counts as alive. */
static bool is_zombie(long pid)
{
    char path[48], line[256];
    const char *paren;
    FILE *f;
    size_t n;

    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    if ((f = fopen(path, "rb")) == NULL)
        return false;
    n = fread(line, 1, sizeof line - 1, f);
    fclose(f);
    line[n] = '\0';
    paren = strrchr(line, ')');         /* the name before the last ')' may contain any byte */
    return paren != NULL && (strncmp(paren, ") Z", 3) == 0 || strncmp(paren, ") X", 3) == 0);
}

/* The process number in `owner`; 0: of another host, boot or namespace, or a name of an older version without boot and namespace. */
static long process_here(const char *owner)
{
    char host[HOST_BYTES], space[SPACE_BYTES];
    const char *behind;
    size_t n;

    if (owner == NULL)
        return 0;
    host_name(host);
    pid_space(space);
    n = strlen(host);
    if (*space == '\0' || strncmp(owner, host, n) != 0 || owner[n] != ':')
        return 0;
    behind = strrchr(owner, ':') + 1;
    return strcmp(behind, space) == 0 ? strtol(owner + n + 1, NULL, 10) : 0;
}

bool owner_is_own(const char *owner)
{
    return process_here(owner) == (long)getpid();
}

bool owner_dead(const char *owner)
{
    long pid = process_here(owner);

    if (pid <= 0 || pid == (long)getpid())
        return false;
    return kill((pid_t)pid, 0) != 0 ? errno == ESRCH : is_zombie(pid);
}
