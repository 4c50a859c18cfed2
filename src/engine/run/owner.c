/* owner.c - see owner.h. Alone, since what it includes of the system has names that the kernel has, too. */
#include "engine/run/owner.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HOST_BYTES = 48 };

static void host_name(char host[static HOST_BYTES])
{
    memset(host, 0, HOST_BYTES);
    if (gethostname(host, HOST_BYTES - 1) != 0 || *host == '\0')
        memcpy(host, "here", 5);
}

void owner_name(char *out, size_t size, uint64_t number)
{
    char host[HOST_BYTES];

    host_name(host);
    snprintf(out, size, "%s:%ld:%08llx", host, (long)getpid(), (unsigned long long)(number >> 32));
}

/* Killed, and its parent has not asked for it yet: kill() still finds it. Where there is no /proc it counts as living. */
static bool unburied(long pid)
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
    paren = strrchr(line, ')');         /* after the name, which may hold anything */
    return paren != NULL && (strncmp(paren, ") Z", 3) == 0 || strncmp(paren, ") X", 3) == 0);
}

bool owner_dead(const char *owner)
{
    char host[HOST_BYTES];
    const char *colon = owner == NULL ? NULL : strchr(owner, ':');
    size_t n = colon == NULL ? 0 : (size_t)(colon - owner);
    long pid;

    host_name(host);
    if (colon == NULL || n >= HOST_BYTES || strncmp(owner, host, n) != 0 || host[n] != '\0')
        return false;
    pid = strtol(colon + 1, NULL, 10);
    if (pid <= 0 || pid == (long)getpid())
        return false;
    return kill((pid_t)pid, 0) != 0 ? errno == ESRCH : unburied(pid);
}
